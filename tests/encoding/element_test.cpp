// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Load and store of the element types against the oracle of their formats.
#include <doctest/doctest.h>

#include <gesso/encoding/element.hpp>

#include "../support/formats.hpp"
#include "../support/generators.hpp"
#include "../support/tally.hpp"

#include <ios>
#include <type_traits>
#include <vector>

namespace {

template<class Element>
std::uint32_t bits_of_element(Element value)
{
    return value.bits;
}

}  // namespace

static_assert(sizeof(gesso::bf16) == 2 && alignof(gesso::bf16) == 2, "bf16 is stored in two bytes");
static_assert(sizeof(gesso::fp16) == 2 && alignof(gesso::fp16) == 2, "fp16 is stored in two bytes");
static_assert(std::is_trivially_copyable<gesso::bf16>::value, "elements may be copied as bytes");

TEST_CASE_TEMPLATE(
    "every half-precision number loads exactly and stores back", Element, gesso::bf16, gesso::fp16)
{
    using format = typename gesso::element<Element>::format;
    const oracle::format& facts = oracle_of<format>();
    support::tally tally;
    for (std::uint32_t code = 0; code < 0x10000u; ++code) {
        const float value = gesso::element<Element>::load(Element{static_cast<std::uint16_t>(code)});
        const double wanted = facts.decode(code);
        const bool loads =
            std::isnan(wanted) ? std::isnan(value) : gesso::bits_of(value) == oracle::bits_of_value(wanted);
        const std::uint32_t again = bits_of_element(gesso::element<Element>::store(value));
        const std::uint32_t wanted_again = std::isnan(wanted) ? std::uint32_t{format::nan_code} : code;
        tally.expect(loads && again == wanted_again,
            [&](auto& out) { out << std::hex << code << " -> " << value << " -> " << again; });
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE_TEMPLATE("a store rounds as asked and overflows to infinity", Element, gesso::bf16, gesso::fp16)
{
    using format = typename gesso::element<Element>::format;
    const oracle::format& facts = oracle_of<format>();
    std::vector<std::uint32_t> patterns = generator::boundary_patterns(facts);
    for (const auto& more : {generator::edge_patterns(), generator::strided_patterns(256)}) {
        patterns.insert(patterns.end(), more.begin(), more.end());
    }
    support::tally tally;
    for (std::uint32_t bits : patterns) {
        const float x = gesso::float_of(bits);
        const double value = oracle::value_of_bits(bits);
        const std::uint32_t nearest = bits_of_element(gesso::element<Element>::store(x));
        const std::uint32_t up = bits_of_element(gesso::element<Element>::store(x, gesso::upward{}));
        tally.expect(nearest == facts.encode(value, oracle::direction::nearest_even, false)
                         && up == facts.encode(value, oracle::direction::upward, false),
            [&](auto& out) { out << std::hex << bits << " -> " << nearest << ", upward " << up; });
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE_TEMPLATE(
    "a stochastic store of a parameter lands on a neighbour", Element, gesso::bf16, gesso::fp16)
{
    const oracle::format& facts = oracle_of<typename gesso::element<Element>::format>();
    support::tally tally;
    int ups = 0;
    constexpr int count = 20000;
    for (int i = 0; i < count; ++i) {
        const float x = 1.0f + 0x1p-12f;
        const oracle::neighbours around = facts.around(double{x});
        const std::uint32_t code =
            bits_of_element(gesso::element<Element>::store(x, gesso::stochastic{3, 1}.at(i)));
        tally.expect(
            code == around.lower || code == around.upper, [&](auto& out) { out << std::hex << code; });
        ups += code == around.upper ? 1 : 0;
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
    const double probability = facts.around(1.0 + 0x1p-12).fraction;
    CHECK(std::abs(ups - count * probability) < 5 * std::sqrt(count * probability * (1 - probability)));
}

TEST_CASE("fp32 loads and stores as it is")
{
    for (std::uint32_t bits : generator::edge_patterns()) {
        const float x = gesso::float_of(bits);
        if (gesso::is_nan(x)) {
            CHECK(gesso::is_nan(gesso::element<float>::store(x)));
            continue;
        }
        CHECK(gesso::bits_of(gesso::element<float>::load(x)) == bits);
        CHECK(gesso::bits_of(gesso::element<float>::store(x)) == bits);
    }
}
