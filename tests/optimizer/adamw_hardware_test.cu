// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// adamw_step() in hardware math beside exact math: from the same state at most one code away; and one
// element that is not finite concerns no other.
#include <doctest/doctest.h>

#include "device_training.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using gesso::adamw_configuration;
using gesso::bf16;
using gesso::index_t;
using gesso::nearest_even;
using gesso::step_state;
using gesso::stochastic;
using support::configuration;
using support::device_shape;
using support::device_steps;
using support::device_training;
using support::hardware_policy;
using support::stored_as;

namespace {

constexpr std::uint64_t seed = 0x0123456789ABCDEFu;

// One step of a tensor on the device, from the state it has.
template<class Policy, class Training>
void step_once(Training& training, device_steps& state)
{
    state.advance();
    GESSO_CUDA(gesso::adamw_step<Policy>(training.tensor(), state.data(), nullptr));
    support::synchronize();
}

// How far two lists of numbers are apart, relative to the size of each but for `absolute`, which is what a
// difference of two larger numbers leaves.
double largest_relative_difference(
    const std::vector<float>& left, const std::vector<float>& right, double absolute = 0)
{
    double largest = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        const double size = std::fmax(std::fabs(double{left[i]}), std::fabs(double{right[i]}));
        const double apart = std::fabs(double{left[i]} - double{right[i]}) - absolute;
        if (!(apart <= 0)) largest = std::fmax(largest, apart / size);
    }
    return largest;
}

// `Thousandths` of the codes may differ.
template<class Parameter, class Gradient, class Pair, class First, class Second, int Thousandths = 1>
struct step_case {
    static constexpr double share = Thousandths * 1e-3;

    using parameter = Parameter;
    using gradient = Gradient;
    using pair = Pair;
    using policy = hardware_policy<First, Second>;
    using expected_policy = support::exact_policy<First, Second>;
};

// From a state of zeros the moments are the same to the bit, so statistics, exponents and scales are.
template<class Case>
void compare_first_step(const device_shape& shape)
{
    CAPTURE(shape.count);
    CAPTURE(shape.row_length);
    using gradient = typename Case::gradient;
    using training_type = device_training<typename Case::parameter, gradient, typename Case::pair>;
    const std::size_t count = static_cast<std::size_t>(shape.count);
    const adamw_configuration with = configuration(1e-2, 0.1);
    training_type device(shape, generator::normal_values(count, 0.5, 3));
    auto expected = device.on_host();
    const auto values = stored_as<gradient>(support::gradient_values(count, 11));
    device.gradients.upload(values);
    device_steps state(with, seed);
    step_once<typename Case::policy>(device, state);
    step_state host_state;
    host_state.seed = seed;
    gesso::advance(host_state, with);
    REQUIRE(gesso::host_adamw_step(expected.tensor(values), with, host_state,
                support::rounding_of_policy<typename Case::policy>())
            == gesso::status::success);
    const auto result = device.on_host();
    CHECK(device.is_intact());
    const auto check = [&](const support::code_difference& apart) {
        CAPTURE(apart.codes);
        CHECK(apart.largest <= 1);
        CHECK(static_cast<double>(apart.codes) <= Case::share * static_cast<double>(count) + 3);
        CHECK(apart.scales == 0);
        CHECK(apart.exponents == 0);
    };
    check(support::difference(result.first, expected.first));
    check(support::difference(result.second, expected.second));
    // One unit in the last place of a 16-bit parameter.
    CHECK(largest_relative_difference(
              support::loaded(result.parameters), support::loaded(expected.parameters), 1e-7)
          <= (sizeof(typename Case::parameter) == 4 ? 1e-5 : 0x1p-7));
}

// From a state that is not zero, decoding differs by a few units of fp32 already, and so do amax and scale.
template<class Case>
void compare_later_step(const device_shape& shape)
{
    CAPTURE(shape.count);
    CAPTURE(shape.row_length);
    using gradient = typename Case::gradient;
    using training_type = device_training<typename Case::parameter, gradient, typename Case::pair>;
    const std::size_t count = static_cast<std::size_t>(shape.count);
    const adamw_configuration with = configuration(1e-2, 0.1);
    training_type device(shape, generator::normal_values(count, 0.5, 3));
    device_steps state(with, seed);
    for (std::uint64_t step = 1; step <= 5; ++step) {
        device.gradients.upload(stored_as<gradient>(support::gradient_values(count, step)));
        step_once<typename Case::expected_policy>(device, state);
    }
    auto expected = device.on_host();
    const gesso::adamw_device_state before = state.get();
    const auto values = stored_as<gradient>(support::gradient_values(count, 11));
    device.gradients.upload(values);
    step_once<typename Case::policy>(device, state);
    const auto result = device.on_host();
    device.upload(expected);
    state.set(before);
    step_once<typename Case::expected_policy>(device, state);
    expected = device.on_host();
    const auto check = [&](auto& got, auto& wanted) {
        const support::code_difference apart = support::difference(got, wanted);
        CAPTURE(apart.codes);
        CAPTURE(apart.exponents);
        MESSAGE("of ", got.codes.size(), " codes apart: ", apart.codes, "; of ", got.exponents.size(),
            " exponents apart: ", apart.exponents);
        CHECK(static_cast<double>(apart.codes) <= 1e-3 * static_cast<double>(count));
        CHECK(static_cast<double>(apart.exponents) <= 1e-3 * static_cast<double>(got.exponents.size()));
        std::vector<float> got_scales, wanted_scales;
        for (auto scale : got.scales) got_scales.push_back(gesso::float_of(scale));
        for (auto scale : wanted.scales) wanted_scales.push_back(gesso::float_of(scale));
        CHECK(largest_relative_difference(got_scales, wanted_scales) <= 1e-4);
    };
    auto got = result;
    check(got.first, expected.first);
    check(got.second, expected.second);
}

using nv_bf16 = __nv_bfloat16;
using usual_moments = step_case<nv_bf16, nv_bf16, support::pair_expanded, nearest_even, stochastic>;
using nearest_moments = step_case<nv_bf16, float, support::pair_expanded, nearest_even, nearest_even>;
// In the first step v is the square of a gradient of 8 bits. Bent by k = 1/2 it is that gradient in
// proportion to the largest one, which now and then lies in the middle between two codes.
using tied_moments = step_case<nv_bf16, nv_bf16, support::pair_expanded, nearest_even, nearest_even>;
using tied_unsigned_moments =
    step_case<nv_bf16, nv_bf16, support::pair_expanded_unsigned, nearest_even, nearest_even>;
using plain_moments = step_case<__half, __half, support::pair_plain, nearest_even, nearest_even>;
using e5m2_moments = step_case<float, nv_bf16, support::pair_expanded_e5m2, stochastic, stochastic>;
using unsigned_moments = step_case<float, float, support::pair_expanded_unsigned, nearest_even, stochastic>;
using fp32_moments = step_case<float, float, support::pair_fp32, nearest_even, nearest_even>;
using bf16_moments = step_case<bf16, bf16, support::pair_bf16, stochastic, stochastic>;
using mixed_moments = step_case<bf16, float, support::pair_mixed, nearest_even, nearest_even>;
using power_moments = step_case<bf16, float, support::pair_fixed_power, nearest_even, nearest_even>;
using sizes_2048 =
    step_case<bf16, bf16, support::pair_sizes<gesso::e4m3, 2048, 32>, nearest_even, nearest_even>;
using sizes_96 = step_case<bf16, float, support::pair_sizes<gesso::e5m2, 96, 96>, nearest_even, nearest_even>;
using sizes_8 = step_case<bf16, bf16, support::pair_sizes<gesso::e4m3, 8, 8>, nearest_even, nearest_even>;

#define GESSO_TEST_STEPS                                                                                     \
    usual_moments, nearest_moments, tied_moments, tied_unsigned_moments, plain_moments, e5m2_moments, unsigned_moments,             \
        fp32_moments, bf16_moments, mixed_moments, power_moments, sizes_2048, sizes_96, sizes_8

}  // namespace

TEST_CASE_TEMPLATE(
    "the first hardware step: k and amax are exact, codes at most one away on 0.1 %", Case, GESSO_TEST_STEPS)
{
    for (index_t count : {0, 1, 127, 128, 129, 2047, 2048, 2049}) compare_first_step<Case>({count, 0, 0});
    compare_first_step<Case>({support::size_of_run(1000003, 20003), 0, 0});
    for (index_t row_length : {1075, 1076, 1368, 46, 1})
        compare_first_step<Case>({40 * row_length, row_length, 0});
    compare_first_step<Case>({5000, 0, (index_t{1} << 40) / 6144 * 6144});
    compare_first_step<Case>({4099, 0, 0, 1, 2, 1});
    compare_first_step<Case>({4099, 0, 0, 0, 0, 3});
}

TEST_CASE_TEMPLATE("a later hardware step is near the exact one", Case, usual_moments, nearest_moments,
    plain_moments, unsigned_moments, bf16_moments)
{
    compare_later_step<Case>({support::size_of_run(1000003, 20003), 0, 0});
}

TEST_CASE_TEMPLATE("O22 one gradient that is not finite makes its own element NaN and changes no other", Case,
    usual_moments, nearest_moments, plain_moments, unsigned_moments, sizes_2048)
{
    using gradient = typename Case::gradient;
    using training_type = device_training<typename Case::parameter, gradient, typename Case::pair>;
    const device_shape shape{4096 + 100, 0, 0};
    const std::size_t count = static_cast<std::size_t>(shape.count);
    const adamw_configuration with = configuration(1e-2, 0.1);
    const float infinity = std::numeric_limits<float>::infinity();
    // In a whole tile and in the tail; in the first step and in the third, from a state with zeros and
    // without.
    for (std::size_t where : {std::size_t{5}, std::size_t{127}, std::size_t{2048}, count - 1}) {
        for (float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
            for (std::uint64_t when : {1u, 3u}) {
                training_type clean(shape, generator::normal_values(count, 0.5, 3));
                training_type hit(shape, generator::normal_values(count, 0.5, 3));
                device_steps clean_state(with, seed);
                device_steps hit_state(with, seed);
                for (std::uint64_t step = 1; step <= 4; ++step) {
                    std::vector<float> values = support::gradient_values(count, step);
                    // The element has no part in the clean run, so that both have the same statistics.
                    values[where] = 0.0f;
                    clean.gradients.upload(stored_as<gradient>(values));
                    if (step == when) values[where] = bad;
                    hit.gradients.upload(stored_as<gradient>(values));
                    step_once<typename Case::policy>(clean, clean_state);
                    step_once<typename Case::policy>(hit, hit_state);
                }
                auto expected = clean.on_host();
                const auto got = hit.on_host();
                CHECK(std::isnan(gesso::element<typename Case::parameter>::load(got.parameters[where])));
                using first_format = typename Case::pair::first::format;
                using second_format = typename Case::pair::second::format;
                CHECK(got.first.codes[where] == first_format::nan_code);
                CHECK(got.second.codes[where] == second_format::nan_code);
                expected.parameters[where] = got.parameters[where];
                expected.first.codes[where] = got.first.codes[where];
                expected.second.codes[where] = got.second.codes[where];
                CHECK(support::same_bytes(expected.parameters, got.parameters));
                const support::code_difference first = support::difference(got.first, expected.first);
                const support::code_difference second = support::difference(got.second, expected.second);
                CHECK(first.codes == 0);
                CHECK(second.codes == 0);
                CHECK(got.first == expected.first);
                CHECK(got.second == expected.second);
            }
        }
    }
}
