// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What is known of a group: only finite elements count, zeros never make a minimum, and neither the position
// of an element nor the order of merging changes anything.
#include <doctest/doctest.h>

#include <gesso/granularity/statistic.hpp>

#include "../support/generators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using gesso::amax_statistic;
using gesso::range_statistic;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template<class Statistic>
Statistic observe(const std::vector<float>& values)
{
    Statistic known;
    for (float value : values) known.observe(value);
    return known;
}

bool same(const amax_statistic& a, const amax_statistic& b) { return a.amax_bits == b.amax_bits; }
bool same(const range_statistic& a, const range_statistic& b)
{
    return a.amax_bits == b.amax_bits && a.amin_bits == b.amin_bits;
}

}  // namespace

TEST_CASE_TEMPLATE("the largest magnitude, whatever its sign", Statistic, amax_statistic, range_statistic)
{
    CHECK(observe<Statistic>({1.0f, -3.0f, 2.0f}).amax() == 3.0f);
    CHECK(observe<Statistic>({}).amax_bits == 0u);
    CHECK(observe<Statistic>({0.0f, -0.0f}).amax_bits == 0u);
}

TEST_CASE_TEMPLATE(
    "S10 the stored amax never has its sign bit set", Statistic, amax_statistic, range_statistic)
{
    CHECK(observe<Statistic>({-0.0f}).amax_bits == 0u);
    CHECK(observe<Statistic>({3.0f, -0.0f}).amax() == 3.0f);
    CHECK(observe<Statistic>({-5.0f, 3.0f}).amax() == 5.0f);
    // The published case lets infinity into amax; here infinity is an error of one element and takes no part.
    CHECK(observe<Statistic>({-infinity, 1.0f}).amax() == 1.0f);
}

TEST_CASE_TEMPLATE(
    "S08 NaN and infinity take no part, wherever they lie", Statistic, amax_statistic, range_statistic)
{
    const std::vector<float> clean = {1.0f, 0.0f, -2.0f, 3.0f, 0.25f};
    const Statistic wanted = observe<Statistic>(clean);
    for (float intruder : {not_a_number, -not_a_number, infinity, -infinity, 0.0f, -0.0f}) {
        for (std::size_t position = 0; position <= clean.size(); ++position) {
            std::vector<float> values = clean;
            values.insert(values.begin() + static_cast<std::ptrdiff_t>(position), intruder);
            CHECK(same(observe<Statistic>(values), wanted));
        }
    }
    CHECK(same(observe<Statistic>({not_a_number, infinity}), Statistic{}));
}

TEST_CASE("D04 the smallest magnitude is over the elements that are not zero")
{
    for (std::size_t position : {0u, 1u, 31u, 32u, 64u, 127u}) {
        std::vector<float> values(128, 0.01f);
        values[5] = -1e-3f;
        values[6] = 1.0f;
        values[position] = 0.0f;
        const range_statistic known = observe<range_statistic>(values);
        CHECK(known.amax() == 1.0f);
        CHECK(known.amin() == 1e-3f);
    }
    // Numbers below 2^-126 count as zero in an expansion.
    CHECK(observe<range_statistic>({1.0f, 0x1p-127f, 0x1p-149f}).amin() == 1.0f);
    CHECK(observe<range_statistic>({1.0f, 0x1p-126f}).amin() == 0x1p-126f);
    CHECK(observe<range_statistic>({0x1p-127f}).amax_bits == 0u);
}

TEST_CASE_TEMPLATE(
    "merging in any order and grouping equals observing in a row", Statistic, amax_statistic, range_statistic)
{
    generator::random_source random(3);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<float> values =
            generator::log_normal_values(97, 1e-6, 3.0, true, static_cast<std::uint64_t>(trial));
        values[random.below(97)] = 0.0f;
        values[random.below(97)] = not_a_number;
        const Statistic wanted = observe<Statistic>(values);

        std::vector<Statistic> parts;
        for (float value : values) parts.push_back(observe<Statistic>({value}));
        parts.emplace_back();  // a lane without a value
        while (parts.size() > 1) {
            const std::size_t from = random.below(parts.size());
            Statistic part = parts[from];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(from));
            parts[random.below(parts.size())].merge(part);
        }
        CHECK(same(parts[0], wanted));
    }
}

TEST_CASE_TEMPLATE("a NaN policy says what a fault does to a statistic, in any order", Statistic, amax_statistic,
    range_statistic)
{
    const float infinity = std::numeric_limits<float>::infinity();
    const auto observe_by = [](const auto& policy, const std::vector<float>& values) {
        Statistic known;
        for (float value : values) policy.observe(known, value);
        return known;
    };
    const Statistic sound = observe<Statistic>({2.0f, 3.0f});
    CHECK(same(observe_by(gesso::propagate_nan{}, {2.0f, 3.0f}), sound));
    for (float fault : {not_a_number, -not_a_number, infinity, -infinity, gesso::float_of(0x7F800001u)}) {
        for (const std::vector<float>& values :
            {std::vector<float>{fault, 2.0f, 3.0f}, {2.0f, fault, 3.0f}, {2.0f, 3.0f, fault}}) {
            CHECK(same(observe_by(gesso::ignore_nan{}, values), sound));
            CHECK(observe_by(gesso::propagate_nan{}, values).amax_bits == 0x7FFFFFFFu);
            CHECK(observe_by(gesso::propagate_nan{}, values).is_nan());
            std::uint32_t flag = 0;
            CHECK(same(observe_by(gesso::flag_nan{&flag}, values), sound));
            CHECK(flag == 1);
        }
        // No merge loses it.
        Statistic merged = sound;
        merged.merge(observe_by(gesso::propagate_nan{}, {fault}));
        CHECK(merged.is_nan());
        merged = observe_by(gesso::propagate_nan{}, {fault});
        merged.merge(sound);
        CHECK(merged.is_nan());
    }
    std::uint32_t flag = 0;
    CHECK(same(observe_by(gesso::flag_nan{&flag}, {2.0f, 3.0f}), sound));
    CHECK(flag == 0);
    CHECK(gesso::detail::check_policy(gesso::flag_nan{}) == gesso::status::null_pointer);
    CHECK(gesso::detail::check_policy(gesso::flag_nan{&flag}) == gesso::status::success);
}
