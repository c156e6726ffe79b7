// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What changes from step to step: the count, the two bias corrections, the scalars of a step. The oracle is
// the exponential form of 1 - beta^t in extended precision, which does not cancel where beta is close to one.
#include <doctest/doctest.h>

#include "training_state.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

using gesso::adamw_configuration;
using gesso::adamw_scalars;
using gesso::advance;
using gesso::is_valid;
using gesso::scalars_of;
using gesso::step_state;
using support::configuration;
using support::state_at;

namespace {

double correction(double beta, std::int64_t step)
{
    return static_cast<double>(
        -std::expm1(static_cast<long double>(step) * std::log(static_cast<long double>(beta))));
}

bool near(double value, double expected, double relative)
{
    return std::fabs(value - expected) <= relative * std::fabs(expected);
}

}  // namespace

TEST_CASE("a new state has taken no step and scales nothing")
{
    const step_state state;
    CHECK(state.step == 0);
    CHECK(state.seed == 0);
    CHECK(state.gradient_scale == 1.0f);
    CHECK(state.clip_factor == 1.0f);
    CHECK_FALSE(state.skip);
}

TEST_CASE("O03 the first step is number one and its corrections are 1 - beta")
{
    step_state state;
    const adamw_configuration with;
    advance(state, with);
    CHECK(state.step == 1);
    CHECK(state.first_correction == 1.0 - 0.9);
    CHECK(state.second_correction == 1.0 - 0.999);
}

TEST_CASE("O04 the corrections follow 1 - beta^t at steps where narrow counters stop")
{
    const std::int64_t int_max = std::numeric_limits<std::int32_t>::max();
    for (double beta1 : {0.8, 0.9, 0.95, 0.99}) {
        for (double beta2 : {0.9, 0.95, 0.99, 0.999, 0.9999, 0.9999999}) {
            const adamw_configuration with = configuration(1e-3, 0, beta1, beta2);
            for (std::int64_t step : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{255},
                     std::int64_t{256}, std::int64_t{257}, std::int64_t{258}, std::int64_t{1000},
                     std::int64_t{10000}, std::int64_t{16777216}, std::int64_t{16777217}, int_max,
                     int_max + 1, std::int64_t{1} << 40}) {
                CAPTURE(beta1);
                CAPTURE(beta2);
                CAPTURE(step);
                const step_state state = state_at(step, with);
                CHECK(state.step == step);
                CHECK(near(state.first_correction, correction(beta1, step), 1e-9));
                CHECK(near(state.second_correction, correction(beta2, step), 1e-9));
                CHECK(state.first_correction <= 1.0);
                CHECK(state.second_correction <= 1.0);
            }
        }
    }
}

TEST_CASE("O04 the reported corrections of beta 0.999")
{
    const adamw_configuration with;
    CHECK(near(state_at(256, with).second_correction, 0.22596, 5e-5));
    CHECK(near(state_at(257, with).second_correction, 0.22673, 5e-5));
    CHECK(near(state_at(1000, with).second_correction, 0.63230, 5e-5));
    CHECK(near(state_at(10000, with).second_correction, 0.99995, 5e-5));
    CHECK(state_at((std::int64_t{1} << 24) + 1, with).first_correction == 1.0);
    CHECK(state_at((std::int64_t{1} << 24) + 1, with).second_correction == 1.0);
}

TEST_CASE("O04 300 advances in place count to 300, and arrive where a jump to step 300 arrives")
{
    const adamw_configuration with;
    step_state state;
    double before = 0;
    for (int i = 0; i < 300; ++i) {
        advance(state, with);
        CHECK(state.second_correction > before);
        before = state.second_correction;
    }
    CHECK(state.step == 300);
    // No product is carried from step to step, so a resumed run has the corrections of an uninterrupted one.
    CHECK(state.first_correction == state_at(300, with).first_correction);
    CHECK(state.second_correction == state_at(300, with).second_correction);
}

TEST_CASE("O10 a skipped step does not count")
{
    const adamw_configuration with;
    step_state state = state_at(7, with, 11);
    const step_state before = state;
    state.skip = true;
    advance(state, with);
    CHECK(state.step == 7);
    CHECK(state.first_correction == before.first_correction);
    CHECK(state.second_correction == before.second_correction);
    state.skip = false;
    advance(state, with);
    CHECK(state.step == 8);
    CHECK(state.second_correction == state_at(8, with).second_correction);
}

TEST_CASE("a configuration is valid within its ranges only")
{
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(is_valid(adamw_configuration{}));
    CHECK(is_valid(configuration(0, 0, 0, 0, 0)));
    for (double wrong : {-1e-9, nan, infinity, -infinity}) {
        CAPTURE(wrong);
        CHECK_FALSE(is_valid(configuration(wrong, 0.01)));
        CHECK_FALSE(is_valid(configuration(1e-3, wrong)));
        CHECK_FALSE(is_valid(configuration(1e-3, 0.01, wrong)));
        CHECK_FALSE(is_valid(configuration(1e-3, 0.01, 0.9, wrong)));
        CHECK_FALSE(is_valid(configuration(1e-3, 0.01, 0.9, 0.999, wrong)));
    }
    for (double wrong : {1.0, 1.5}) {
        CHECK_FALSE(is_valid(configuration(1e-3, 0.01, wrong)));
        CHECK_FALSE(is_valid(configuration(1e-3, 0.01, 0.9, wrong)));
    }
}

TEST_CASE("each scalar of a step is its double value rounded once")
{
    for (double beta2 : {0.95, 0.99, 0.999, 0.9999}) {
        for (std::int64_t step : {1, 2, 10, 256, 100000}) {
            CAPTURE(beta2);
            CAPTURE(step);
            const adamw_configuration with = configuration(3e-4, 0.1, 0.9, beta2, 1e-8);
            step_state state = state_at(step, with);
            state.gradient_scale = 3.0f;
            state.clip_factor = 0.7f;
            const adamw_scalars scalars = scalars_of(with, state);
            CHECK(scalars.beta1 == 0.9f);
            CHECK(scalars.beta2 == static_cast<float>(beta2));
            // Not 1.0f - beta, which is off by as much as one part in ten thousand.
            CHECK(scalars.one_minus_beta1 == static_cast<float>(1.0 - 0.9));
            CHECK(scalars.one_minus_beta2 == static_cast<float>(1.0 - beta2));
            CHECK(scalars.epsilon == 1e-8f);
            // Half a unit in the last place is 2^-24, and the corrections themselves are good to 2^-29.
            const double bound = 0x1.1p-24;
            CHECK(near(static_cast<double>(scalars.decay_rate), 3e-4 * 0.1, bound));
            CHECK(near(static_cast<double>(scalars.step_size), 3e-4 / correction(0.9, step), bound));
            CHECK(near(static_cast<double>(scalars.inverse_root_correction),
                1.0 / std::sqrt(correction(beta2, step)), bound));
            CHECK(near(static_cast<double>(scalars.gradient_multiplier),
                static_cast<double>(0.7f) / static_cast<double>(3.0f), bound));
        }
    }
}

TEST_CASE("a tensor's scales multiply the learning rate and the decay")
{
    const adamw_configuration with = configuration(3e-4, 0.1);
    const adamw_scalars scalars = scalars_of(with, state_at(1, with));
    const gesso::adamw_rates plain = gesso::rates_of(scalars, 1.0f, 1.0f);
    CHECK(plain.step_size == scalars.step_size);
    CHECK(plain.decay == static_cast<float>(1.0 - 3e-5));
    const gesso::adamw_rates scaled = gesso::rates_of(scalars, 0.25f, 8.0f);
    CHECK(scaled.step_size == 0.25f * scalars.step_size);
    CHECK(near(static_cast<double>(scaled.decay), 1.0 - 0.25 * 8.0 * 3e-5, 0x1.1p-24));
    CHECK(gesso::rates_of(scalars, 1.0f, 0.0f).decay == 1.0f);
    CHECK(gesso::rates_of(scalars, 0.0f, 1.0f).decay == 1.0f);
    CHECK(gesso::rates_of(scalars, 0.0f, 1.0f).step_size == 0.0f);
}

TEST_CASE("epsilon may be zero or below fp32 without a zero denominator")
{
    for (double epsilon : {0.0, 1e-45, 1e-300}) {
        const adamw_configuration with = configuration(1e-3, 0, 0.9, 0.999, epsilon);
        CHECK(scalars_of(with, state_at(1, with)).epsilon == 0x1p-126f);
    }
}
