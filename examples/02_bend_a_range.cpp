// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Walk, step 2: range expansion. Second moments of a group span little of what FP8 can span, so most codes are wasted.
// f(x) = x^k with k above 1 stretches the group over the whole format and errors shrink k-fold.
// Build: any C++17 compiler, no CUDA needed.
#include <gesso/codec.hpp>

#include <cmath>
#include <cstdio>

namespace {

// The largest relative error of a group of values under a codec.
template<class Codec>
double worst_error(const float* values, int count)
{
    typename Codec::statistic known;
    for (int i = 0; i < count; ++i) known.observe(values[i]);
    const typename Codec::parameters with = Codec::fit(known);
    double worst = 0;
    for (int i = 0; i < count; ++i) {
        const float back = Codec::decode(Codec::encode(values[i], with), with);
        worst = std::fmax(worst, std::fabs(static_cast<double>(back / values[i]) - 1.0));
    }
    return worst;
}

}  // namespace

int main()
{
    // 128 numbers over one decade, as a group of second moments may be.
    constexpr int count = 128;
    float values[count];
    for (int i = 0; i < count; ++i) values[i] = 1e-8f * std::pow(10.0f, static_cast<float>(i) / count);

    // [codecs]
    using namespace gesso;
    using plain = codec<e4m3, identity, per_group<128>>;
    using squared = codec<e4m3, power<2>, per_group<128>>;
    using expanded = codec<e4m3, dynamic_power<>, per_group<128>>;  // k from the group's own range
    // [codecs]
    const double plain_error = worst_error<plain>(values, count);
    const double squared_error = worst_error<squared>(values, count);
    const double expanded_error = worst_error<expanded>(values, count);

    expanded::statistic known;
    for (const float value : values) known.observe(value);
    std::printf("k of this group: %g\n", expanded::fit(known).numerator / 16.0);
    std::printf("worst relative error: plain %.2f %%, k = 2 %.2f %%, dynamic k %.2f %%\n", 100 * plain_error,
        100 * squared_error, 100 * expanded_error);
    return expanded_error < squared_error && squared_error < plain_error ? 0 : 1;
}
