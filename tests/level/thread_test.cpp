// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The thread level gives the codes of the codec itself, for groups that fill the registers and for those that
// do not.
#include <doctest/doctest.h>

#include <gesso/level/thread.hpp>

#include "../support/generators.hpp"

#include <vector>

using namespace gesso;

namespace {

using moment = codec<e4m3, dynamic_power<>, per_group<32>>;
using plain_moment = codec<e4m3, identity, per_group<32>>;
using activation = codec<e4m3, identity, per_tile<1, 32>, bfloat16>;

constexpr int items = 32;
constexpr std::uint8_t untouched_code = 0xA5;
constexpr float untouched_value = -77.0f;

}  // namespace

TEST_CASE_TEMPLATE("a group in one thread has the codec's codes", Codec, moment, plain_moment, activation)
{
    using level = thread_codec<Codec, items>;
    for (int valid : {0, 1, 5, 31, 32}) {
        CAPTURE(valid);
        // What lies behind the valid items is large and not even a number: it must take no part.
        float values[items];
        for (int i = 0; i < items; ++i) values[i] = i % 2 == 0 ? 1e30f : float_of(0x7FFFFFFFu);
        const std::vector<float> random =
            generator::log_normal_values(items, 1e-3, 2.0, true, static_cast<std::uint64_t>(valid));
        for (int i = 0; i < valid; ++i) values[i] = random[static_cast<std::size_t>(i)];

        typename Codec::statistic known;
        for (int i = 0; i < valid; ++i) known.observe(values[i]);
        const auto wanted = Codec::fit(known);

        std::uint8_t codes[items];
        for (std::uint8_t& code : codes) code = untouched_code;
        const auto with = level::compress(values, codes, nearest_even{}, gradual{}, 0, valid);
        CHECK(Codec::scale_code(with) == Codec::scale_code(wanted));
        CHECK(Codec::exponent_code(with) == Codec::exponent_code(wanted));

        float decoded[items];
        for (float& value : decoded) value = untouched_value;
        level::decode(codes, with, decoded, valid);
        for (int i = 0; i < items; ++i) {
            CHECK(codes[i] == (i < valid ? Codec::encode(values[i], wanted) : untouched_code));
            CHECK(decoded[i] == (i < valid ? Codec::decode(codes[i], wanted) : untouched_value));
        }
    }
}

TEST_CASE("two threads that merge their statistics encode one group")
{
    const std::vector<float> random = generator::normal_values(2 * items, 0.3, 4);
    float first[items];
    float second[items];
    range_statistic whole;
    for (std::size_t i = 0; i < items; ++i) {
        first[i] = random[i];
        second[i] = random[items + i];
    }
    for (float value : random) whole.observe(value);
    using level = thread_codec<moment, items>;
    range_statistic merged = level::observe(second);
    merged.merge(level::observe(first));
    CHECK(merged.amax_bits == whole.amax_bits);
    CHECK(merged.amin_bits == whole.amin_bits);
    std::uint8_t codes[items];
    level::encode(second, level::fit(merged), codes);
    for (int i = 0; i < items; ++i) CHECK(codes[i] == moment::encode(second[i], moment::fit(whole)));
}

TEST_CASE("stochastic rounding takes its bits by the index in the whole tensor")
{
    using level = thread_codec<moment, items>;
    const std::vector<float> random = generator::normal_values(items, 1.0, 9);
    float values[items];
    for (std::size_t i = 0; i < items; ++i) values[i] = random[i];
    const stochastic source{5, 12};
    const index_t first_element = (index_t{1} << 32) + 64;
    std::uint8_t codes[items];
    const auto with = level::compress(values, codes, source, keep{}, first_element);
    for (int i = 0; i < items; ++i)
        CHECK(codes[i] == moment::encode(values[i], with, source.at(first_element + i), keep{}));
}
