// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Walk, step 4: a format, a rule for k and a granularity of one's own, each a few lines outside the library, together in a
// codec that every level and the optimizer take.
// Build: any C++17 compiler, no CUDA needed.
#include <gesso/optimizer/adamw.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace mine {

// [policies]
// Six exponent bits, two mantissa bits, no sign: for second moments that span many decades.
struct unsigned_e6m2 : gesso::float_format<0, 6, 2, gesso::special::finite_nan> {};

// Bend each group to half of the format's binades, k between 1 and 8.
struct half_range {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE gesso::int32_t log2_bound()
    {
        return gesso::min_normal_bound::log2_bound<Format>() / 2;
    }
};
using rule = gesso::exponent_rule<half_range, 16, 128>;

// One head of an attention layer shares a scale.
struct per_head {
    static constexpr gesso::index_t group_size = 96;
};

using second_moment = gesso::codec<unsigned_e6m2, gesso::dynamic_power<rule>, per_head>;
// [policies]

}  // namespace mine

int main()
{
    using namespace gesso;
    using first_moment = codec<e4m3, dynamic_power<>, per_group<32>>;
    constexpr index_t count = 960;
    std::vector<float> parameters(count, 1.0f);
    std::vector<float> gradients(count);

    const storage_layout<first_moment> first_layout{count};
    const storage_layout<mine::second_moment> second_layout{count};
    std::vector<unsigned char> first(static_cast<std::size_t>(first_layout.bytes()));
    std::vector<unsigned char> second(static_cast<std::size_t>(second_layout.bytes()));

    adamw_tensor<float, float, first_moment, mine::second_moment> tensor;
    tensor.parameters = parameters.data();
    tensor.gradients = gradients.data();
    tensor.first_moment = first_layout.bind(first.data());
    tensor.second_moment = second_layout.bind(second.data());

    adamw_configuration configuration;
    configuration.learning_rate = 0.05;
    configuration.weight_decay = 0;
    step_state state;
    for (int step = 0; step < 200; ++step) {
        // The gradient of (p - i / count)^2 / 2: each parameter has a place of its own to go to.
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            gradients[i] = parameters[i] - static_cast<float>(i) / count;
        }
        // [step]
        advance(state, configuration);
        const status stepping = host_adamw_step(tensor, configuration, state);
        // [step]
        if (stepping != status::success) {
            std::fprintf(stderr, "step %d: %s\n", step, describe(stepping));
            return 1;
        }
    }
    float worst = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        worst = std::fmax(worst, std::fabs(parameters[i] - static_cast<float>(i) / count));
    }
    std::printf("after 200 steps the farthest of %lld parameters is %g from its minimum\n",
        static_cast<long long>(count), static_cast<double>(worst));
    return worst < 0.02f ? 0 : 1;
}
