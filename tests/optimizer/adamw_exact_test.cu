// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// adamw_step() in exact math gives the host's bytes: for every kind of moment, any count, row length,
// alignment and shard, and writes nothing beside its memory.
#include <doctest/doctest.h>

#include "device_training.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using gesso::adamw_configuration;
using gesso::bf16;
using gesso::index_t;
using gesso::nearest_even;
using gesso::status;
using gesso::step_state;
using gesso::stochastic;
using support::configuration;
using support::device_shape;
using support::device_steps;
using support::device_training;
using support::exact_policy;
using support::stored_as;

namespace {

constexpr std::uint64_t seed = 0x0123456789ABCDEFu;

// The types of a step, and how it rounds.
template<class Policy, class Parameter, class Gradient, class Pair>
struct step_case {
    using policy = Policy;
    using parameter = Parameter;
    using gradient = Gradient;
    using pair = Pair;
};

template<class Case>
void compare_with_host(const device_shape& shape, const adamw_configuration& with, int steps = 3)
{
    using parameter = typename Case::parameter;
    using gradient = typename Case::gradient;
    using policy = typename Case::policy;
    CAPTURE(shape.count);
    CAPTURE(shape.row_length);
    CAPTURE(shape.first);
    CAPTURE(shape.parameter_offset);
    CAPTURE(shape.gradient_offset);
    CAPTURE(shape.code_offset);
    const std::size_t count = static_cast<std::size_t>(shape.count);
    device_training<parameter, gradient, typename Case::pair> device(
        shape, generator::normal_values(count, 0.5, 3));
    auto host = device.on_host();
    device_steps device_state(with, seed);
    step_state host_state;
    host_state.seed = seed;
    for (int step = 1; step <= steps; ++step) {
        const auto values = stored_as<gradient>(
            support::gradient_values(count, static_cast<std::uint64_t>(step + shape.row_length)));
        device.gradients.upload(values);
        auto device_tensor = device.tensor();
        auto host_tensor = host.tensor(values);
        device_tensor.number = host_tensor.number = 5;
        device_tensor.learning_rate_scale = host_tensor.learning_rate_scale = 0.75f;
        device_tensor.weight_decay_scale = host_tensor.weight_decay_scale = 1.5f;
        device_state.advance();
        GESSO_CUDA(gesso::adamw_step<policy>(device_tensor, device_state.data(), nullptr));
        gesso::advance(host_state, with);
        REQUIRE(gesso::host_adamw_step(host_tensor, with, host_state, support::rounding_of_policy<policy>())
                == status::success);
    }
    support::synchronize();
    const auto result = device.on_host();
    CHECK(support::same_bytes(result.parameters, host.parameters));
    CHECK(result.first.codes == host.first.codes);
    CHECK(result.first.scales == host.first.scales);
    CHECK(result.first.exponents == host.first.exponents);
    CHECK(result.second.codes == host.second.codes);
    CHECK(result.second.scales == host.second.scales);
    CHECK(result.second.exponents == host.second.exponents);
    CHECK(device.is_intact());
}

using all_nearest = exact_policy<>;
using usual = exact_policy<nearest_even, stochastic, stochastic>;
using all_stochastic = exact_policy<stochastic, stochastic, stochastic>;
using nv_bf16 = __nv_bfloat16;
using support::expanded_moment;
using support::moment_pair;
using support::plain_moment;

// Every element type and every kind of moment once, with group sizes from 8 to 2048.
using fp32_moments = step_case<all_nearest, float, float, support::pair_fp32>;
using bf16_moments = step_case<all_stochastic, bf16, bf16, support::pair_bf16>;
using usual_moments = step_case<usual, nv_bf16, nv_bf16, support::pair_expanded>;
using plain_moments = step_case<all_nearest, __half, __half, support::pair_plain>;
using e5m2_moments = step_case<all_stochastic, float, nv_bf16, support::pair_plain_e5m2>;
using unsigned_moments = step_case<usual, nv_bf16, float, support::pair_expanded_unsigned>;
using mixed_moments = step_case<all_nearest, gesso::fp16, float, support::pair_mixed>;
using mixed_back_moments = step_case<usual, bf16, bf16, support::pair_mixed_back>;
// Of 128 and 32.
using power_moments = step_case<all_nearest, bf16, bf16, support::pair_fixed_power>;
using sizes_64_128 = step_case<all_stochastic, bf16, bf16, support::pair_64_128>;
using sizes_96 = step_case<all_stochastic, bf16, float, support::pair_sizes<gesso::e5m2, 96, 96>>;
using sizes_8_16 = step_case<all_nearest, bf16, bf16, support::pair_sizes<gesso::e4m3, 8, 16>>;
using sizes_2048 = step_case<usual, float, float, support::pair_sizes<gesso::e4m3, 2048, 512>>;

#define GESSO_TEST_STEPS                                                                                     \
    fp32_moments, bf16_moments, usual_moments, plain_moments, e5m2_moments, unsigned_moments, mixed_moments, \
        mixed_back_moments, power_moments, sizes_64_128, sizes_96, sizes_8_16, sizes_2048

}  // namespace

TEST_CASE_TEMPLATE("exact steps have the host's bytes for any count and row length", Case, GESSO_TEST_STEPS)
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    for (index_t count : {0, 1, 127, 128, 129, 2047, 2048, 2049, support::size_of_run(100003, 5003)}) {
        device_shape shape;
        shape.count = count;
        compare_with_host<Case>(shape, with);
    }
    // T02: rows of models split over devices, and short ones.
    for (index_t row_length : {1075, 1076, 1368, 2048, 46, 1}) {
        device_shape shape;
        shape.row_length = row_length;
        shape.count = row_length * (row_length < 100 ? 45 : 3);
        compare_with_host<Case>(shape, with);
    }
}

TEST_CASE_TEMPLATE("O19 exact steps of shards have the host's bytes", Case, GESSO_TEST_STEPS)
{
    const adamw_configuration with = configuration(1e-2, 0.1, 0.95, 0.95);
    // A multiple of every group size here.
    const index_t far = (index_t{1} << 40) / 6144 * 6144;
    for (const device_shape& shape : {device_shape{6144, 0, 6144}, device_shape{5000, 0, far},
             device_shape{515, 0, far}, device_shape{3000, 6144, far}, device_shape{5 * 333, 333, 333000},
             device_shape{2 * 6144, 6144, far}}) {
        compare_with_host<Case>(shape, with);
    }
}

TEST_CASE_TEMPLATE("T04 exact steps have the host's bytes wherever the pointers point", Case, fp32_moments,
    usual_moments, unsigned_moments, sizes_8_16)
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    const std::size_t offsets[] = {0, 1, 2, 8};
    for (index_t row_length : {0, 46}) {
        for (std::size_t i = 0; i < 4; ++i) {
            for (std::size_t j = 0; j < 4; ++j) {
                device_shape shape;
                shape.count = row_length == 0 ? 4099 : 46 * 5;
                shape.row_length = row_length;
                shape.parameter_offset = offsets[i];
                shape.gradient_offset = offsets[j];
                shape.code_offset = i == j ? 0 : offsets[(i + j) % 4];
                compare_with_host<Case>(shape, with, 2);
            }
        }
        // Only the codes are off, by every number of bytes below a vector.
        for (std::size_t offset = 1; offset < 16; ++offset) {
            device_shape shape;
            shape.count = row_length == 0 ? 4099 : 46 * 5;
            shape.row_length = row_length;
            shape.code_offset = offset;
            compare_with_host<Case>(shape, with, 2);
        }
    }
}

TEST_CASE("T01 numbers of groups beside those of whole blocks")
{
    for (index_t groups : {1, 15, 16, 17, 31, 33}) {
        device_shape shape;
        shape.count = groups * 128;
        compare_with_host<usual_moments>(shape, configuration(1e-2, 0.1));
    }
}

TEST_CASE("100 exact steps have the host's bytes, heavy")
{
    const adamw_configuration with = configuration(1e-3, 0.1);
    const int steps = support::size_of_run(100, 10);
    for (const device_shape& shape : {device_shape{10007, 0, 0}, device_shape{7 * 1075, 1075, 0},
             device_shape{2049, 0, index_t{1} << 40}}) {
        compare_with_host<usual_moments>(shape, with, steps);
        compare_with_host<plain_moments>(shape, with, steps);
    }
}
