// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// One AdamW step against the double oracle: for each element and moment type, each shape, each rounding, and
// the single-element cases in which implementations are known to differ.
#include <doctest/doctest.h>

#include "../support/adamw_oracle.hpp"
#include "../support/generators.hpp"
#include "../support/tally.hpp"
#include "training_state.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <limits>
#include <string>
#include <vector>

using gesso::adamw_configuration;
using gesso::adamw_rounding;
using gesso::bf16;
using gesso::element;
using gesso::fp16;
using gesso::moment_rounding;
using gesso::status;
using gesso::step_state;
using support::configuration;
using support::rounding_of;
using support::state_at;
using support::training_state;

namespace {

oracle::adamw_settings settings_of(const adamw_configuration& with)
{
    return {with.learning_rate, with.beta1, with.beta2, with.epsilon, with.weight_decay};
}

// Gradients as real ones are: heavy tails, both signs, exact zeros among them.
std::vector<float> gradient_values(std::size_t count, std::uint64_t seed)
{
    std::vector<float> values = generator::log_normal_values(count, 1e-3, 2.0, true, seed);
    generator::random_source random(seed + 1);
    for (float& value : values) {
        if (random.below(17) == 0) value = random.below(2) == 0 ? 0.0f : -0.0f;
    }
    return values;
}

// The distance from one number of Element to the next near `value`: relative 2^-mantissa_bits, and the
// subnormal step.
template<class Element>
double spacing(double value)
{
    using format = typename element<Element>::format;
    const double relative = std::ldexp(std::fabs(value), -format::mantissa_bits);
    return std::fmax(relative, static_cast<double>(format::min_positive()));
}

// What fp32 arithmetic may lose: every term of a sum is good to a few units of 2^-24.
constexpr double fp32_loss = 0x1p-21;

// Ten steps of `count` elements; before each, the moments are read back, so that what the codec has lost
// before does not count. The parameters must be those of the oracle with the *new, uncompressed* moments.
template<class Parameter, class Gradient, class Pair>
void compare_with_oracle(std::size_t count, std::size_t row_length, const adamw_rounding& rounding)
{
    const adamw_configuration with = configuration(1e-2, 0.1, 0.9, 0.99);
    training_state<Parameter, Pair> state(generator::normal_values(count, 0.5, 3), row_length);
    step_state steps;
    steps.seed = 5;
    support::tally tally;
    for (int i = 0; i < 10; ++i) {
        gesso::advance(steps, with);
        const auto gradients =
            support::stored_as<Gradient>(gradient_values(count, static_cast<std::uint64_t>(i)));
        const std::vector<float> first = state.first.decoded();
        const std::vector<float> second = state.second.decoded();
        const std::vector<Parameter> before = state.parameters;
        REQUIRE(state.step(gradients, with, steps, rounding) == status::success);
        for (std::size_t e = 0; e < count; ++e) {
            const double gradient = static_cast<double>(element<Gradient>::load(gradients[e]));
            const oracle::adamw_element old{static_cast<double>(element<Parameter>::load(before[e])),
                static_cast<double>(first[e]), static_cast<double>(second[e])};
            const oracle::adamw_element expected =
                oracle::adamw_step(old, gradient, steps.step, settings_of(with));
            // The size of the terms that make the update, before they cancel.
            const double terms =
                with.beta1 * std::fabs(old.first_moment) + (1 - with.beta1) * std::fabs(gradient);
            const double update = std::fabs(expected.parameter - old.parameter * (1 - 1e-3));
            const double scale =
                expected.first_moment == 0.0 ? 0.0 : update * terms / std::fabs(expected.first_moment);
            const double steps_off = std::is_same_v<Parameter, float> ? 0.0
                                     : rounding.stochastic_parameters ? 1.0
                                                                      : 0.5;
            const double allowed = fp32_loss * (std::fabs(old.parameter) + scale)
                                 + steps_off * 1.01 * spacing<Parameter>(expected.parameter);
            const double got = static_cast<double>(state.parameter(e));
            tally.expect(std::fabs(got - expected.parameter) <= allowed, [&](auto& text) {
                text << "step " << steps.step << " element " << e << ": " << std::hexfloat << got
                     << ", expected " << expected.parameter << " within " << allowed;
            });
        }
    }
    CHECK_MESSAGE((tally.passed() || count == 0), tally.report());
}

template<class Parameter, class Gradient, class Pair>
struct tensor_types {
    using parameter = Parameter;
    using gradient = Gradient;
    using pair = Pair;
};

}  // namespace

TEST_CASE_TEMPLATE("the parameters are the oracle's with the new moments before compression", Types,
    tensor_types<float, float, support::pair_fp32>, tensor_types<bf16, bf16, support::pair_fp32>,
    tensor_types<fp16, fp16, support::pair_bf16>, tensor_types<float, bf16, support::pair_plain>,
    tensor_types<bf16, float, support::pair_plain>, tensor_types<float, float, support::pair_expanded>,
    tensor_types<bf16, bf16, support::pair_expanded>,
    tensor_types<fp16, fp16, support::pair_expanded_unsigned>, tensor_types<bf16, bf16, support::pair_96_128>,
    tensor_types<float, fp16, support::pair_mixed>)
{
    for (bool stochastic_parameters : {false, true}) {
        for (moment_rounding moments :
            {moment_rounding::automatic, moment_rounding::nearest, moment_rounding::stochastic}) {
            CAPTURE(static_cast<int>(moments));
            CAPTURE(stochastic_parameters);
            compare_with_oracle<typename Types::parameter, typename Types::gradient, typename Types::pair>(
                1000, 0, rounding_of(moments, stochastic_parameters));
        }
    }
}

TEST_CASE_TEMPLATE("any count and any row length", Pair, GESSO_TEST_PAIRS)
{
    for (std::size_t count : {0u, 1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u, 383u, 384u, 385u, 1000u}) {
        for (std::size_t row_length : {0u, 1u, 100u, 128u, 257u, 2000u}) {
            CAPTURE(count);
            CAPTURE(row_length);
            compare_with_oracle<float, float, Pair>(count, row_length, {});
        }
    }
}

TEST_CASE_TEMPLATE(
    "the first step moves parameters the same whatever the moments are stored in", Pair, GESSO_TEST_PAIRS)
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    const std::vector<float> values = generator::normal_values(500, 1.0, 21);
    const std::vector<float> gradients = gradient_values(500, 22);
    training_state<float, support::pair_fp32> plain(values);
    training_state<float, Pair> compressed(values);
    REQUIRE(plain.step(gradients, with, state_at(1, with)) == status::success);
    REQUIRE(compressed.step(gradients, with, state_at(1, with)) == status::success);
    CHECK(support::same_bytes(plain.parameters, compressed.parameters));
}

TEST_CASE("the moments of fp32 state are the oracle's")
{
    const adamw_configuration with = configuration(1e-2, 0.1, 0.9, 0.99);
    const std::size_t count = 1000;
    training_state<float, support::pair_fp32> state(generator::normal_values(count, 0.5, 3));
    std::vector<oracle::adamw_element> expected(count);
    for (std::size_t e = 0; e < count; ++e) expected[e].parameter = static_cast<double>(state.parameter(e));
    support::tally tally;
    for (std::int64_t step = 1; step <= 50; ++step) {
        const std::vector<float> gradients = gradient_values(count, static_cast<std::uint64_t>(step));
        REQUIRE(state.step(gradients, with, state_at(step, with)) == status::success);
        const std::vector<float> first = state.first.decoded();
        const std::vector<float> second = state.second.decoded();
        for (std::size_t e = 0; e < count; ++e) {
            expected[e] = oracle::adamw_step(
                expected[e], static_cast<double>(gradients[e]), step, settings_of(with));
            // The first moment cancels: its error is that of the largest gradient so far, at most 2 here.
            const double root = std::sqrt(expected[e].second_moment);
            const double first_off = std::fabs(static_cast<double>(first[e]) - expected[e].first_moment);
            const double second_off = std::fabs(static_cast<double>(second[e]) - expected[e].second_moment);
            tally.expect(first_off <= 0x1p-18 * root && second_off <= 0x1p-18 * expected[e].second_moment,
                [&](auto& text) {
                    text << "step " << step << " element " << e << ": m off by " << first_off << " at "
                         << expected[e].first_moment << ", v off by " << second_off << " at "
                         << expected[e].second_moment;
                });
        }
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE("O03 the first three steps of one element")
{
    const adamw_configuration with = configuration(1e-3, 0.01);
    training_state<float, support::pair_fp32> state({1.0f});
    const std::vector<float> gradients{0.5f};
    const double parameters[] = {0.9989900000, 0.9979800101, 0.9969700304};
    const double first[] = {0.05, 0.095, 0.1355};
    const double second[] = {2.5e-4, 4.9975e-4, 7.4925e-4};
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(
            state.step(gradients, with, state_at(static_cast<std::int64_t>(i) + 1, with)) == status::success);
        CHECK(state.parameter(0) == doctest::Approx(parameters[i]).epsilon(2e-7));
        CHECK(state.first.decoded()[0] == doctest::Approx(first[i]).epsilon(1e-6));
        CHECK(state.second.decoded()[0] == doctest::Approx(second[i]).epsilon(1e-4));
    }
}

TEST_CASE("O03 step 0 is refused")
{
    training_state<float, support::pair_expanded> state({1.0f});
    const auto before = state;
    for (std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
        step_state steps;
        steps.step = step;
        CHECK(state.step(std::vector<float>{0.5f}, {}, steps) == status::invalid_configuration);
        CHECK(support::same_bytes(state, before));
    }
}

TEST_CASE("O04 late steps move as far as their corrections say")
{
    const adamw_configuration with = configuration(1e-3, 0);
    for (std::int64_t step : {std::int64_t{255}, std::int64_t{256}, std::int64_t{257}, std::int64_t{258},
             std::int64_t{1000}, std::int64_t{16777216}, std::int64_t{16777217}, std::int64_t{2147483647}}) {
        CAPTURE(step);
        training_state<float, support::pair_expanded> state(std::vector<float>(128, 0.0f));
        REQUIRE(state.step(std::vector<float>(128, 1.0f), with, state_at(step, with)) == status::success);
        const oracle::adamw_element expected = oracle::adamw_step({}, 1.0, step, settings_of(with));
        CHECK(state.parameter(77) == doctest::Approx(expected.parameter).epsilon(1e-6));
    }
}

TEST_CASE("O06 decay comes before the update")
{
    // With decay after the update the parameter would be 0.855.
    const adamw_configuration with = configuration(0.1, 0.5, 0.9, 0.999, 0.0);
    const step_state first_step = state_at(1, with);
    training_state<float, support::pair_fp32> in_float({1.0f});
    training_state<bf16, support::pair_expanded> in_bf16({1.0f});
    training_state<fp16, support::pair_plain> in_fp16({1.0f});
    const std::vector<float> gradients{3.0f};
    REQUIRE(in_float.step(gradients, with, first_step) == status::success);
    REQUIRE(in_bf16.step(gradients, with, first_step) == status::success);
    REQUIRE(in_fp16.step(gradients, with, first_step) == status::success);
    CHECK(std::fabs(in_float.parameter(0) - 0.85f) <= 2e-7f);
    CHECK(in_bf16.parameters[0].bits == element<bf16>::store(0.85f).bits);
    CHECK(in_fp16.parameters[0].bits == element<fp16>::store(0.85f).bits);
}

TEST_CASE("the decay does not depend on the gradient, and a zero gradient decays too")
{
    const adamw_configuration with = configuration(0.1, 0.5);
    training_state<float, support::pair_expanded> state({1.0f, -2.0f});
    REQUIRE(state.step(std::vector<float>{0.0f, 0.0f}, with, state_at(1, with)) == status::success);
    CHECK(state.parameter(0) == 0.95f);
    CHECK(state.parameter(1) == -1.9f);
}

TEST_CASE("O08 epsilon stands outside the root, after the correction")
{
    const adamw_configuration with = configuration(1e-3, 0);
    for (const auto& [gradient, expected] : {std::pair{1e-8f, 5.000e-4}, {1e-4f, 9.99900e-4}, {0.0f, 0.0}}) {
        training_state<float, support::pair_fp32> state({0.0f});
        REQUIRE(state.step(std::vector<float>{gradient}, with, state_at(1, with)) == status::success);
        CHECK(-state.parameter(0) == doctest::Approx(expected).epsilon(1e-5));
    }
}

TEST_CASE("O09 epsilon does not underflow beside fp16 parameters, and may be zero")
{
    for (double epsilon : {1e-8, 0.0}) {
        CAPTURE(epsilon);
        const adamw_configuration with = configuration(1e-3, 0, 0.9, 0.999, epsilon);
        training_state<fp16, support::pair_plain> one({0.75f});
        REQUIRE(one.step(support::stored_as<fp16>({0.0f}), with, state_at(1, with)) == status::success);
        CHECK(one.parameter(0) == 0.75f);

        std::vector<float> values(128, 0.0f);
        values[9] = 1.0f;
        training_state<fp16, support::pair_expanded> group(std::vector<float>(128, 0.75f));
        for (std::int64_t step = 1; step <= 20; ++step) {
            REQUIRE(
                group.step(support::stored_as<fp16>(values), with, state_at(step, with)) == status::success);
        }
        for (std::size_t e = 0; e < 128; ++e) {
            if (e != 9) CHECK(group.parameter(e) == 0.75f);
        }
        CHECK(group.parameter(9) < 0.75f);
        CHECK(group.parameter(9) > 0.7f);
    }
}

TEST_CASE("O12 the gradient scale is divided out once, before everything else")
{
    const adamw_configuration with = configuration(1e-3, 0);
    training_state<float, support::pair_fp32> unscaled({0.0f});
    training_state<float, support::pair_fp32> scaled({0.0f});
    step_state steps = state_at(1, with);
    REQUIRE(unscaled.step(std::vector<float>{1e-8f}, with, steps) == status::success);
    steps.gradient_scale = 1024.0f;
    REQUIRE(scaled.step(std::vector<float>{1e-8f * 1024.0f}, with, steps) == status::success);
    CHECK(-unscaled.parameter(0) == doctest::Approx(5.000e-4).epsilon(1e-4));
    CHECK(support::same_bytes(unscaled, scaled));
}

TEST_CASE_TEMPLATE("O12 a power of two as gradient scale changes no byte", Pair, GESSO_TEST_PAIRS)
{
    const adamw_configuration with = configuration(1e-3, 0.1);
    const std::vector<float> values = generator::normal_values(300, 1.0, 31);
    training_state<float, Pair> unscaled(values);
    training_state<float, Pair> scaled(values);
    training_state<float, Pair> clipped(values);
    for (std::int64_t step = 1; step <= 5; ++step) {
        std::vector<float> gradients = gradient_values(300, static_cast<std::uint64_t>(step));
        step_state steps = state_at(step, with);
        REQUIRE(unscaled.step(gradients, with, steps) == status::success);
        for (float& gradient : gradients) gradient *= 65536.0f;
        steps.gradient_scale = 65536.0f;
        REQUIRE(scaled.step(gradients, with, steps) == status::success);
        steps.gradient_scale = 16384.0f;
        steps.clip_factor = 0.25f;
        REQUIRE(clipped.step(gradients, with, steps) == status::success);
    }
    CHECK(support::same_bytes(unscaled, scaled));
    CHECK(support::same_bytes(unscaled, clipped));
}

TEST_CASE("a clip factor multiplies the gradient")
{
    const adamw_configuration with = configuration(1e-3, 0);
    training_state<float, support::pair_fp32> state({0.0f});
    step_state steps = state_at(1, with);
    steps.gradient_scale = 3.0f;
    steps.clip_factor = 0.3f;
    REQUIRE(state.step(std::vector<float>{5.0f}, with, steps) == status::success);
    CHECK(state.first.decoded()[0] == doctest::Approx(0.1 * 0.5).epsilon(1e-6));
    CHECK(state.second.decoded()[0] == doctest::Approx(0.001 * 0.25).epsilon(1e-6));
}

TEST_CASE("the learning rate scale of a tensor scales the update and the decay")
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    const adamw_configuration half = configuration(5e-3, 0.1);
    const std::vector<float> values = generator::normal_values(300, 1.0, 41);
    const std::vector<float> gradients = gradient_values(300, 42);
    training_state<float, support::pair_expanded> scaled(values);
    training_state<float, support::pair_expanded> direct(values);
    auto tensor = scaled.tensor(gradients);
    tensor.learning_rate_scale = 0.5f;
    REQUIRE(gesso::host_adamw_step(tensor, with, state_at(1, with)) == status::success);
    REQUIRE(direct.step(gradients, half, state_at(1, half)) == status::success);
    CHECK(support::same_bytes(scaled, direct));
}

TEST_CASE("the weight decay scale of a tensor scales the decay alone")
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    const adamw_configuration without = configuration(1e-2, 0);
    const std::vector<float> values = generator::normal_values(300, 1.0, 41);
    const std::vector<float> gradients = gradient_values(300, 42);
    training_state<float, support::pair_expanded> scaled(values);
    training_state<float, support::pair_expanded> direct(values);
    auto tensor = scaled.tensor(gradients);
    tensor.weight_decay_scale = 0.0f;
    REQUIRE(gesso::host_adamw_step(tensor, with, state_at(1, with)) == status::success);
    REQUIRE(direct.step(gradients, without, state_at(1, without)) == status::success);
    CHECK(support::same_bytes(scaled, direct));
}

TEST_CASE("v takes a gradient whose square overflows before (1 - beta2) is in it, not after")
{
    // (1 - beta2) (g g) would overflow here; ((1 - beta2) g) g does not.
    const adamw_configuration with = configuration(1e-3, 0);
    training_state<float, support::pair_fp32> state({0.0f});
    REQUIRE(state.step(std::vector<float>{1e20f}, with, state_at(1, with)) == status::success);
    CHECK(state.second.decoded()[0] == doctest::Approx(1e37).epsilon(1e-4));
    CHECK(-state.parameter(0) == doctest::Approx(1e-3).epsilon(1e-5));
}

TEST_CASE("denormal gradients and moments count as zero")
{
    const adamw_configuration with = configuration(1e-3, 0, 0.9, 0.999, 0.0);
    training_state<float, support::pair_fp32> state({0.5f, 0.5f});
    // The moments hold denormals, as a run without gradient leaves them.
    state.first.view().codes[1] = 0x00000123u;
    state.second.view().codes[1] = 0x007FFFFFu;
    REQUIRE(state.step(std::vector<float>{1e-40f, -0.0f}, with, state_at(1, with)) == status::success);
    for (std::size_t e : {std::size_t{0}, std::size_t{1}}) {
        CHECK(state.parameter(e) == 0.5f);
        CHECK(state.first.decoded()[e] == 0.0f);
        CHECK(state.second.decoded()[e] == 0.0f);
    }
}

TEST_CASE("automatic rounding is stochastic above 0.93 for m and above 0.98 for v, and nearest below")
{
    struct row {
        double beta1, beta2;
        bool first, second;
    };
    for (const row& at :
        {row{0.9, 0.95, false, false}, row{0.93, 0.98, false, false}, row{0.9, 0.99, false, true},
            row{0.9, 0.999, false, true}, row{0.95, 0.95, true, false}, row{0.99, 0.999, true, true}}) {
        CAPTURE(at.beta1);
        CAPTURE(at.beta2);
        const adamw_configuration with = configuration(1e-3, 0.1, at.beta1, at.beta2);
        const std::vector<float> values = generator::normal_values(1000, 1.0, 51);
        training_state<float, support::pair_expanded> automatic(values);
        training_state<float, support::pair_expanded> explicitly(values);
        training_state<float, support::pair_expanded> otherwise(values);
        const auto of = [](bool stochastic) {
            return stochastic ? moment_rounding::stochastic : moment_rounding::nearest;
        };
        adamw_rounding same;
        same.first = of(at.first);
        same.second = of(at.second);
        adamw_rounding other;
        other.first = of(!at.first);
        other.second = of(!at.second);
        const std::vector<float> gradients = gradient_values(1000, 52);
        const step_state steps = state_at(1, with, 53);
        REQUIRE(automatic.step(gradients, with, steps) == status::success);
        REQUIRE(explicitly.step(gradients, with, steps, same) == status::success);
        REQUIRE(otherwise.step(gradients, with, steps, other) == status::success);
        CHECK(support::same_bytes(automatic, explicitly));
        CHECK_FALSE(support::same_bytes(automatic.first.memory, otherwise.first.memory));
        CHECK_FALSE(support::same_bytes(automatic.second.memory, otherwise.second.memory));
    }
}

TEST_CASE_TEMPLATE("a live second moment is kept above zero and a dead first moment ends at zero", Pair,
    support::pair_plain, support::pair_plain_e5m2, support::pair_plain_unsigned, support::pair_expanded,
    support::pair_expanded_unsigned)
{
    // One element has gradients 10^12 below its neighbours': far under the range of any of the formats.
    for (moment_rounding moments : {moment_rounding::nearest, moment_rounding::stochastic}) {
        const adamw_configuration with = configuration(1e-3, 0);
        std::vector<float> gradients(128, 1.0f);
        gradients[40] = 1e-12f;
        training_state<float, Pair> state(std::vector<float>(128, 0.0f));
        for (std::int64_t step = 1; step <= 30; ++step) {
            REQUIRE(state.step(gradients, with, state_at(step, with), rounding_of(moments, false))
                    == status::success);
            CHECK(state.second.decoded()[40] > 0.0f);
            CHECK(state.second.decoded()[41] > 0.0f);
            CHECK(gesso::is_finite(state.parameter(40)));
        }
        // A quotient of two live moments is at most a learning rate or so in every step.
        CHECK(std::fabs(state.parameter(40)) <= 30 * 1.1e-3f);
        if (std::is_same_v<Pair, support::pair_plain>) CHECK(state.first.decoded()[40] == 0.0f);
    }
}

TEST_CASE("the underflow of either moment can be chosen")
{
    using gesso::flush;
    using gesso::gradual;
    using gesso::keep;
    const adamw_configuration with = configuration(1e-3, 0);
    // m lies between the subnormal codes 1 and 2 of E4M3, nearer to 2; v lies far below code 1.
    std::vector<float> gradients(128, 1.0f);
    gradients[3] = 0.9f * 0x1p-17f;
    const auto codes_after = [&](auto first_underflow, auto second_underflow) {
        training_state<float, support::pair_plain> state(std::vector<float>(128, 0.0f));
        const status done = gesso::host_adamw_step<decltype(first_underflow), decltype(second_underflow)>(
            state.tensor(gradients), with, state_at(1, with), rounding_of(moment_rounding::nearest, false));
        REQUIRE(done == status::success);
        return std::pair{state.first.view().codes[3], state.second.view().codes[3]};
    };
    CHECK(codes_after(flush{}, keep{}) == std::pair{std::uint8_t{0}, std::uint8_t{1}});
    training_state<float, support::pair_plain> by_default(std::vector<float>(128, 0.0f));
    REQUIRE(by_default.step(gradients, with, state_at(1, with), rounding_of(moment_rounding::nearest, false))
            == status::success);
    CHECK(by_default.first.view().codes[3] == 0);
    CHECK(by_default.second.view().codes[3] == 1);
    CHECK(codes_after(gradual{}, gradual{}) == std::pair{std::uint8_t{2}, std::uint8_t{0}});
    CHECK(codes_after(keep{}, flush{}) == std::pair{std::uint8_t{2}, std::uint8_t{0}});
}
