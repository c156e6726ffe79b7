// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The whole matrix of parameter, gradient and moment types: each combination is instantiated and steps.
#include <doctest/doctest.h>

#include "training_state.hpp"

#include <cstddef>
#include <vector>

using gesso::adamw_configuration;
using gesso::bf16;
using gesso::fp16;
using gesso::status;
using support::configuration;
using support::state_at;
using support::training_state;

TEST_CASE_TEMPLATE("O21 every combination of types writes its parameter back", Pair, GESSO_TEST_PAIRS)
{
    const adamw_configuration with = configuration(0x1p-5, 0);
    const auto check = [&](auto parameter_type, auto gradient_type) {
        using parameter = decltype(parameter_type);
        using gradient = decltype(gradient_type);
        training_state<parameter, Pair> state(std::vector<float>(200, 0.5f));
        const auto gradients = support::stored_as<gradient>(std::vector<float>(200, 1.0f));
        REQUIRE(state.step(gradients, with, state_at(1, with)) == status::success);
        for (std::size_t e : {std::size_t{0}, std::size_t{127}, std::size_t{128}, std::size_t{199}}) {
            CHECK(state.parameter(e) == doctest::Approx(0.5 - 0x1p-5).epsilon(1e-6));
        }
    };
    check(float{}, float{});
    check(float{}, bf16{});
    check(float{}, fp16{});
    check(bf16{}, float{});
    check(bf16{}, bf16{});
    check(bf16{}, fp16{});
    check(fp16{}, float{});
    check(fp16{}, bf16{});
    check(fp16{}, fp16{});
}
