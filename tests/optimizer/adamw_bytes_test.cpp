// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// AdamW to the byte: the stored moments are those of the host codec, a shard has the bytes of the whole
// tensor, a resumed run those of an uninterrupted one, and a step that is skipped or refused writes nothing.
#include <doctest/doctest.h>

#include "../support/generators.hpp"
#include "training_state.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

using gesso::adamw_configuration;
using gesso::adamw_rounding;
using gesso::bf16;
using gesso::index_t;
using gesso::moment_rounding;
using gesso::status;
using gesso::step_state;
using support::configuration;
using support::rounding_of;
using support::same_bytes;
using support::state_at;
using support::stored_as;
using support::training_state;

namespace {

std::vector<float> gradient_values(std::size_t count, std::uint64_t seed)
{
    return generator::log_normal_values(count, 1e-3, 2.0, true, seed);
}

// Parameters and gradients are bf16 in most tests, so that each pair of moments is instantiated once.
template<class Parameter, class Pair>
void train(training_state<Parameter, Pair>& state, std::int64_t from, std::int64_t to,
    const adamw_configuration& with, const adamw_rounding& rounding)
{
    for (std::int64_t step = from; step <= to; ++step) {
        const auto gradients =
            stored_as<bf16>(gradient_values(state.parameters.size(), static_cast<std::uint64_t>(step)));
        REQUIRE(state.step(gradients, with, state_at(step, with, 99), rounding) == status::success);
    }
}

// The values of a moment, put into a moment of another kind.
template<class From, class To>
void copy_moment(support::owned_moment<From>& from, support::owned_moment<To>& to)
{
    const std::vector<float> values = from.decoded();
    REQUIRE(gesso::host_codec<To>::compress(values.data(), to.view()) == status::success);
}

template<class Codec, class Underflow>
void store(support::owned_moment<support::fp32_moment>& from, support::owned_moment<Codec>& to,
    bool is_stochastic, const gesso::stochastic& source, Underflow underflow)
{
    const std::vector<float> values = from.decoded();
    const status done = is_stochastic
        ? gesso::host_codec<Codec>::compress(values.data(), to.view(), source, underflow)
        : gesso::host_codec<Codec>::compress(values.data(), to.view(), gesso::nearest_even{}, underflow);
    REQUIRE(done == status::success);
}

// Every rounding of moments and parameters that a caller can ask for.
template<class Act>
void for_each_rounding(Act&& act)
{
    for (bool stochastic_parameters : {false, true}) {
        for (moment_rounding moments :
            {moment_rounding::automatic, moment_rounding::nearest, moment_rounding::stochastic}) {
            CAPTURE(static_cast<int>(moments));
            CAPTURE(stochastic_parameters);
            act(rounding_of(moments, stochastic_parameters));
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE("moments are stored as the host codec stores them, from the streams of their tensor", Pair,
    GESSO_TEST_PAIRS)
{
    using first_codec = typename Pair::first;
    using second_codec = typename Pair::second;
    const adamw_configuration with = configuration(1e-2, 0.1);
    for (std::size_t row_length : {std::size_t{0}, std::size_t{130}}) {
        for_each_rounding([&](const adamw_rounding& rounding) {
            training_state<bf16, Pair> state(generator::normal_values(1000, 1.0, 5), row_length);
            for (std::int64_t step = 1; step <= 4; ++step) {
                const std::uint32_t number = step < 3 ? 0u : 17u;
                // The same step with fp32 moments gives the values before compression.
                training_state<bf16, support::pair_fp32> expected(std::vector<float>(1000), row_length);
                expected.parameters = state.parameters;
                copy_moment(state.first, expected.first);
                copy_moment(state.second, expected.second);
                std::vector<float> values = gradient_values(1000, static_cast<std::uint64_t>(step));
                // Others every step, so that there is a moment to round.
                const std::size_t from = static_cast<std::size_t>(step % 3);
                for (std::size_t e = from; e < 1000; e += 3) values[e] = 0.0f;
                const auto gradients = stored_as<bf16>(values);
                const step_state steps = state_at(step, with, 0x123456789ABCDEFu);
                auto expected_tensor = expected.tensor(gradients);
                expected_tensor.number = number;
                REQUIRE(gesso::host_adamw_step(expected_tensor, with, steps, rounding) == status::success);
                auto tensor = state.tensor(gradients);
                tensor.number = number;
                REQUIRE(gesso::host_adamw_step(tensor, with, steps, rounding) == status::success);
                CHECK(same_bytes(state.parameters, expected.parameters));

                support::owned_moment<first_codec> first(1000, row_length);
                support::owned_moment<second_codec> second(1000, row_length);
                const gesso::stochastic source(steps.seed, static_cast<std::uint64_t>(step));
                // beta1 is 0.9 and beta2 0.999.
                store(expected.first, first, rounding.first == moment_rounding::stochastic,
                    source.stream(3 * number + 1), gesso::flush{});
                store(expected.second, second, rounding.second != moment_rounding::nearest,
                    source.stream(3 * number), gesso::keep{});
                CHECK(same_bytes(state.second.memory, second.memory));
                // Where there is no gradient, m rounds toward zero.
                support::owned_moment<first_codec> settled(1000, row_length);
                const std::vector<float> new_first = expected.first.decoded();
                REQUIRE(gesso::host_codec<first_codec>::compress(
                            new_first.data(), settled.view(), gesso::toward_zero{}, gesso::flush{})
                        == status::success);
                for (std::size_t e = from; e < 1000; e += 3) first.view().codes[e] = settled.view().codes[e];
                CHECK(same_bytes(state.first.memory, first.memory));
            }
        });
    }
}

TEST_CASE("stochastic parameters draw from the third stream of their tensor at the global index")
{
    const adamw_configuration with = configuration(1e-3, 0);
    const std::vector<float> gradients = gradient_values(1000, 1);
    const step_state steps = state_at(1, with, 77);
    const index_t first = (index_t{1} << 40) + 384;
    for (std::uint32_t number : {0u, 1u, 1000u}) {
        training_state<float, support::pair_fp32> in_float(std::vector<float>(1000, 1.0f));
        training_state<bf16, support::pair_fp32> in_bf16(std::vector<float>(1000, 1.0f));
        auto float_tensor = in_float.tensor(gradients);
        auto bf16_tensor = in_bf16.tensor(gradients);
        for (auto* view : {&float_tensor.first_moment, &float_tensor.second_moment}) view->first = first;
        for (auto* view : {&bf16_tensor.first_moment, &bf16_tensor.second_moment}) view->first = first;
        bf16_tensor.number = number;
        REQUIRE(gesso::host_adamw_step(float_tensor, with, steps) == status::success);
        REQUIRE(gesso::host_adamw_step(bf16_tensor, with, steps, rounding_of(moment_rounding::nearest, true))
                == status::success);
        const gesso::stochastic source = gesso::stochastic(77, 1).stream(3 * number + 2);
        for (std::size_t e = 0; e < 1000; ++e) {
            const bf16 expected = gesso::element<bf16>::store(
                in_float.parameters[e], source.at(first + static_cast<index_t>(e)));
            CHECK(in_bf16.parameters[e].bits == expected.bits);
        }
    }
}

TEST_CASE_TEMPLATE("O17 a byte dump reloaded after 5 steps ends as 10 steps do", Pair, GESSO_TEST_PAIRS)
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    for_each_rounding([&](const adamw_rounding& rounding) {
        const std::vector<float> values = generator::normal_values(700, 1.0, 8);
        training_state<bf16, Pair> straight(values, 300);
        train(straight, 1, 10, with, rounding);

        training_state<bf16, Pair> before(values, 300);
        train(before, 1, 5, with, rounding);
        std::vector<unsigned char> dump(before.parameters.size() * sizeof(bf16));
        std::memcpy(dump.data(), before.parameters.data(), dump.size());
        const std::size_t first_at = dump.size();
        dump.insert(dump.end(), before.first.memory.begin(), before.first.memory.end());
        const std::size_t second_at = dump.size();
        dump.insert(dump.end(), before.second.memory.begin(), before.second.memory.end());

        training_state<bf16, Pair> after(std::vector<float>(700), 300);
        std::memcpy(after.parameters.data(), dump.data(), first_at);
        std::memcpy(after.first.memory.data(), dump.data() + first_at, second_at - first_at);
        std::memcpy(after.second.memory.data(), dump.data() + second_at, dump.size() - second_at);
        train(after, 6, 10, with, rounding);
        CHECK(same_bytes(straight, after));
    });
}

TEST_CASE_TEMPLATE("O19 aligned shards have the bytes of the whole tensor", Pair, GESSO_TEST_PAIRS)
{
    // 3072 is a multiple of every group size here, and of the least common one of 96 and 128.
    const adamw_configuration with = configuration(1e-2, 0.1);
    for (index_t row_length : {index_t{0}, index_t{1536}, index_t{2048}, index_t{6144}}) {
        CAPTURE(row_length);
        // In rows of 2048 the cut lies 1024 into the second, where no group of 96 begins.
        if (row_length == 2048 && std::is_same_v<Pair, support::pair_96_128>) continue;
        for_each_rounding([&](const adamw_rounding& rounding) {
            const std::vector<float> values = generator::normal_values(6144, 1.0, 9);
            training_state<bf16, Pair> whole(values, static_cast<std::size_t>(row_length));
            training_state<bf16, Pair> parts(values, static_cast<std::size_t>(row_length));
            for (std::int64_t step = 1; step <= 3; ++step) {
                const auto gradients =
                    stored_as<bf16>(gradient_values(6144, static_cast<std::uint64_t>(step)));
                const step_state steps = state_at(step, with, 42);
                REQUIRE(whole.step(gradients, with, steps, rounding) == status::success);
                const auto all = parts.tensor(gradients);
                for (index_t begin : {index_t{3072}, index_t{0}}) {
                    auto part = all;
                    part.parameters += begin;
                    part.gradients += begin;
                    part.first_moment = all.first_moment.part(begin, 3072);
                    part.second_moment = all.second_moment.part(begin, 3072);
                    CHECK(part.first_moment.first == begin);
                    REQUIRE(gesso::host_adamw_step(part, with, steps, rounding) == status::success);
                }
            }
            CHECK(same_bytes(whole, parts));
        });
    }
}

TEST_CASE("O19 a cut between rows is a cut between groups, whatever the row length")
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    const adamw_rounding rounding = rounding_of(moment_rounding::stochastic, true);
    training_state<bf16, support::pair_96_128> whole(generator::normal_values(7 * 333, 1.0, 9), 333);
    training_state<bf16, support::pair_96_128> parts = whole;
    for (std::int64_t step = 1; step <= 3; ++step) {
        const auto gradients = stored_as<bf16>(gradient_values(7 * 333, static_cast<std::uint64_t>(step)));
        const step_state steps = state_at(step, with, 42);
        REQUIRE(whole.step(gradients, with, steps, rounding) == status::success);
        const auto all = parts.tensor(gradients);
        const index_t cuts[] = {0, 333, 3 * 333, 7 * 333};
        for (std::size_t i = 0; i < 3; ++i) {
            auto part = all;
            part.parameters += cuts[i];
            part.gradients += cuts[i];
            part.first_moment = all.first_moment.part(cuts[i], cuts[i + 1] - cuts[i]);
            part.second_moment = all.second_moment.part(cuts[i], cuts[i + 1] - cuts[i]);
            REQUIRE(gesso::host_adamw_step(part, with, steps, rounding) == status::success);
        }
    }
    CHECK(same_bytes(whole, parts));
}

TEST_CASE("O19 an unaligned shard is refused and nothing is written")
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    training_state<bf16, support::pair_expanded> state(generator::normal_values(6144, 1.0, 9));
    train(state, 1, 2, with, {});
    const auto before = state;
    const auto gradients = stored_as<bf16>(gradient_values(6144, 3));
    for (index_t first : {1, 127, 129, 3000}) {
        auto part = state.tensor(gradients);
        part.first_moment.first = part.second_moment.first = first;
        part.first_moment.count = part.second_moment.count = 3000;
        CHECK(gesso::host_adamw_step(part, with, state_at(3, with)) == status::unaligned_shard);
        CHECK(same_bytes(state, before));
    }
    // Aligned for one of the two moments is not enough.
    training_state<float, support::pair_96_128> both(std::vector<float>(500, 1.0f));
    const auto both_before = both;
    const std::vector<float> both_gradients(500, 1.0f);
    for (index_t first : {96, 128, 192, 256, 288}) {
        auto part = both.tensor(both_gradients);
        part.first_moment.first = part.second_moment.first = first;
        CHECK(gesso::host_adamw_step(part, with, state_at(1, with)) == status::unaligned_shard);
        CHECK(same_bytes(both, both_before));
    }
    auto part = both.tensor(both_gradients);
    part.first_moment.first = part.second_moment.first = 384;
    CHECK(gesso::host_adamw_step(part, with, state_at(1, with)) == status::success);
}

TEST_CASE_TEMPLATE("O10 a skipped step changes no byte and does not count, with and without a gradient scale",
    Pair, GESSO_TEST_PAIRS)
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    training_state<bf16, Pair> state(generator::normal_values(500, 1.0, 10));
    train(state, 1, 3, with, {});
    const auto before = state;
    std::vector<bf16> gradients(500, gesso::element<bf16>::store(1.0f));
    gradients[5] = gesso::element<bf16>::store(std::numeric_limits<float>::infinity());
    for (float gradient_scale : {1.0f, 1024.0f}) {
        step_state steps = state_at(3, with);
        steps.gradient_scale = gradient_scale;
        steps.skip = true;
        gesso::advance(steps, with);
        CHECK(steps.step == 3);
        CHECK(state.step(gradients, with, steps) == status::success);
        CHECK(same_bytes(state, before));
    }
    // A skip of the very first step, before any has counted.
    step_state steps;
    steps.skip = true;
    gesso::advance(steps, with);
    CHECK(state.step(gradients, with, steps) == status::success);
    CHECK(same_bytes(state, before));
}

TEST_CASE("every bad input has its status, and nothing is written")
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    training_state<float, support::pair_expanded> state(generator::normal_values(300, 1.0, 11));
    train(state, 1, 2, with, {});
    const auto before = state;
    const std::vector<float> gradients = gradient_values(300, 3);
    const step_state steps = state_at(3, with);
    const auto refuses = [&](auto spoil, status expected) {
        auto tensor = state.tensor(gradients);
        spoil(tensor);
        CHECK(gesso::host_adamw_step(tensor, with, steps) == expected);
        CHECK(same_bytes(state, before));
    };
    refuses([](auto& tensor) { tensor.parameters = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.gradients = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.first_moment.codes = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.first_moment.scales = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.first_moment.exponents = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.second_moment.codes = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.second_moment.scales = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.second_moment.exponents = nullptr; }, status::null_pointer);
    refuses([](auto& tensor) { tensor.first_moment.count = tensor.second_moment.count = -1; },
        status::negative_count);
    refuses([](auto& tensor) { tensor.first_moment.first = tensor.second_moment.first = -128; },
        status::negative_count);
    refuses([](auto& tensor) { tensor.first_moment.row_length = tensor.second_moment.row_length = -1; },
        status::negative_count);
    refuses([](auto& tensor) { tensor.first_moment.count = 299; }, status::size_mismatch);
    refuses([](auto& tensor) { tensor.second_moment.count = 0; }, status::size_mismatch);
    refuses([](auto& tensor) { tensor.second_moment.first = 128; }, status::size_mismatch);
    refuses([](auto& tensor) { tensor.first_moment.row_length = 128; }, status::size_mismatch);
    refuses([](auto& tensor) { tensor.first_moment.first = tensor.second_moment.first = 64; },
        status::unaligned_shard);

    for (const adamw_configuration& wrong :
        {configuration(-1e-3, 0), configuration(nan, 0), configuration(1e-3, -0.1),
            configuration(1e-3, 0, 1.0), configuration(1e-3, 0, -0.1), configuration(1e-3, 0, 0.9, 1.0),
            configuration(1e-3, 0, 0.9, nan), configuration(1e-3, 0, 0.9, 0.999, -1e-8)}) {
        CHECK(state.step(gradients, wrong, steps) == status::invalid_configuration);
        CHECK(same_bytes(state, before));
    }
    CHECK(state.step(gradients, with, step_state{}) == status::invalid_configuration);
    CHECK(same_bytes(state, before));

    const float wrong_scales[] = {-1.0f, static_cast<float>(nan), std::numeric_limits<float>::infinity()};
    for (float wrong : wrong_scales) {
        refuses([&](auto& tensor) { tensor.learning_rate_scale = wrong; }, status::invalid_configuration);
        refuses([&](auto& tensor) { tensor.weight_decay_scale = wrong; }, status::invalid_configuration);
        step_state spoiled = steps;
        spoiled.gradient_scale = wrong;
        CHECK(state.step(gradients, with, spoiled) == status::invalid_configuration);
        spoiled = steps;
        spoiled.clip_factor = wrong;
        CHECK(state.step(gradients, with, spoiled) == status::invalid_configuration);
    }
    step_state spoiled = steps;
    spoiled.gradient_scale = 0.0f;
    CHECK(state.step(gradients, with, spoiled) == status::invalid_configuration);
    CHECK(same_bytes(state, before));
}

TEST_CASE("an empty tensor needs no memory")
{
    gesso::adamw_tensor<float, float, support::pair_expanded::first, support::pair_expanded::second> nothing;
    CHECK(gesso::host_adamw_step(nothing, {}, state_at(1, {})) == status::success);
}

TEST_CASE_TEMPLATE("O22 a NaN or infinite gradient changes no neighbour", Pair, GESSO_TEST_PAIRS)
{
    using first_format = typename Pair::first::format;
    using second_format = typename Pair::second::format;
    const adamw_configuration with = configuration(1e-2, 0.1);
    const float infinity = std::numeric_limits<float>::infinity();
    // The last one is finite, but its square is not.
    for (float poison : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 1e30f}) {
        CAPTURE(poison);
        for_each_rounding([&](const adamw_rounding& rounding) {
            // A zero gradient takes no part in amax and amin either, so the clean run has one there.
            training_state<bf16, Pair> clean(generator::normal_values(256, 1.0, 12));
            training_state<bf16, Pair> hit = clean;
            std::vector<float> gradients = generator::log_normal_values(256, 1e-2, 1.0, true, 13);
            gradients[5] = 0.0f;
            for (std::int64_t step = 1; step <= 5; ++step) {
                REQUIRE(clean.step(stored_as<bf16>(gradients), with, state_at(step, with, 3), rounding)
                        == status::success);
                std::vector<float> poisoned = gradients;
                // Once is enough; a NaN must not spread later either.
                if (step == 1) poisoned[5] = poison;
                REQUIRE(hit.step(stored_as<bf16>(poisoned), with, state_at(step, with, 3), rounding)
                        == status::success);
                CHECK(std::isnan(hit.parameter(5)));
                CHECK(hit.first.view().codes[5] == first_format::nan_code);
                CHECK(hit.second.view().codes[5] == second_format::nan_code);
                training_state<bf16, Pair> mended = hit;
                mended.parameters[5] = clean.parameters[5];
                mended.first.view().codes[5] = clean.first.view().codes[5];
                mended.second.view().codes[5] = clean.second.view().codes[5];
                CHECK(same_bytes(mended, clean));
            }
        });
    }
}

TEST_CASE_TEMPLATE("O22 the case as reported: 127 gradients of one and a bad one", Pair, GESSO_TEST_PAIRS)
{
    const adamw_configuration with = configuration(1e-2, 0);
    for (float poison : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        training_state<bf16, Pair> clean(std::vector<float>(128, 0.5f));
        training_state<bf16, Pair> hit(std::vector<float>(128, 0.5f));
        std::vector<float> gradients(128, 1.0f);
        REQUIRE(clean.step(stored_as<bf16>(gradients), with, state_at(1, with)) == status::success);
        gradients[5] = poison;
        REQUIRE(hit.step(stored_as<bf16>(gradients), with, state_at(1, with)) == status::success);
        for (std::size_t e = 0; e < 128; ++e) {
            if (e == 5) continue;
            CHECK(hit.parameter(e) == clean.parameter(e));
            CHECK(hit.first.view().codes[e] == clean.first.view().codes[e]);
            CHECK(hit.second.view().codes[e] == clean.second.view().codes[e]);
        }
        CHECK(std::isnan(hit.parameter(5)));
    }
}

TEST_CASE_TEMPLATE("O20 the sign of a stored second moment is dropped", Pair, support::pair_plain,
    support::pair_plain_e5m2, support::pair_expanded, support::pair_expanded_e5m2)
{
    const adamw_configuration with = configuration(1e-2, 0.1);
    training_state<bf16, Pair> state(generator::normal_values(256, 1.0, 14));
    train(state, 1, 5, with, {});
    const std::uint8_t largest = Pair::second::format::max_code;
    training_state<bf16, Pair> positive = state;
    training_state<bf16, Pair> negative = state;
    std::size_t at = 3;
    for (std::uint8_t code : {std::uint8_t{0x00}, std::uint8_t{0x01}, std::uint8_t{0x2A}, largest}) {
        positive.second.view().codes[at] = code;
        negative.second.view().codes[at] = static_cast<std::uint8_t>(code | 0x80u);
        at += 50;
    }
    const std::vector<float> gradients = gradient_values(256, 6);
    REQUIRE(positive.step(stored_as<bf16>(gradients), with, state_at(6, with)) == status::success);
    REQUIRE(negative.step(stored_as<bf16>(gradients), with, state_at(6, with)) == status::success);
    CHECK(same_bytes(positive, negative));
    for (std::size_t e = 0; e < 256; ++e) CHECK(gesso::is_finite(negative.parameter(e)));
}

TEST_CASE_TEMPLATE("O20 no second moment is ever stored with a sign", Pair, GESSO_TEST_NARROW_PAIRS)
{
    using format = typename Pair::second::format;
    const adamw_configuration with = configuration(1e-2, 0.1);
    for_each_rounding([&](const adamw_rounding& rounding) {
        training_state<bf16, Pair> state(generator::normal_values(300, 1.0, 15));
        for (std::int64_t step = 1; step <= 100; ++step) {
            std::vector<float> gradients = gradient_values(300, static_cast<std::uint64_t>(step));
            for (std::size_t e = 0; e < 300; e += 7) gradients[e] = -0.0f;
            REQUIRE(state.step(stored_as<bf16>(gradients), with, state_at(step, with), rounding)
                    == status::success);
            bool has_sign = false;
            for (std::size_t e = 0; e < 300; ++e) {
                has_sign = has_sign || (std::uint32_t{state.second.view().codes[e]} & format::sign_mask) != 0;
            }
            CHECK_FALSE(has_sign);
        }
    });
}
