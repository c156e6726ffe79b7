// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The exponent of a group against the exact comparison of whole numbers, and the two bent functions against
// long double.
#include <doctest/doctest.h>

#include <gesso/expansion/power.hpp>

#include "../support/generators.hpp"
#include "../support/power_oracle.hpp"
#include "../support/tally.hpp"

#include <cmath>
#include <vector>

using gesso::bits_of;
using gesso::dynamic_power;
using gesso::e4m3;
using gesso::exponent_rule;

namespace {

using default_power = dynamic_power<>;
using reference_power = dynamic_power<gesso::reference_rule>;
using full_range_power = dynamic_power<exponent_rule<gesso::full_range_bound>>;

template<class Expansion>
int sixteenths(float amax, float amin)
{
    return Expansion::template sixteenths<e4m3>(
        gesso::log2_fixed(bits_of(amax)) - gesso::log2_fixed(bits_of(amin)));
}

// The library may differ from the exact exponent only where the quotient is nearer to a whole number than the
// allowance of 2^-13 and the error of the logarithms (0.51 units each, at both ends of the group and of the
// bound).
template<class Expansion>
void expect_exact_exponent(support::tally& tally, float amax, float amin, double bound)
{
    const int got = sixteenths<Expansion>(amax, amin);
    const int exact = oracle::exact_exponent(
        double{amax}, double{amin}, bound, Expansion::rule::min_sixteenths, Expansion::rule::max_sixteenths);
    bool holds = got == exact;
    if (!holds && amax > amin) {
        const long double quotient = oracle::exponent_quotient(double{amax}, double{amin}, bound);
        const long double spread = (oracle::log2_of(double{amax}) - oracle::log2_of(double{amin})) * 0x1p23L;
        const long double log_error = (quotient * 1.02L + 16 * 2.04L + 1) / spread;
        const long double next = exact + 1;
        holds = (got == exact + 1 && quotient + 0x1p-13L + log_error >= next)
                || (got == exact - 1 && quotient - log_error <= exact);
    }
    tally.expect(
        holds, [&](auto& out) { out << amax << " / " << amin << " -> " << got << ", exactly " << exact; });
}

}  // namespace

TEST_CASE_TEMPLATE("the exponent is the largest that the bound allows", Expansion, default_power,
    reference_power, full_range_power)
{
    const double bound = std::is_same<Expansion, default_power>::value     ? 448.0 * 64
                         : std::is_same<Expansion, reference_power>::value ? 448.0 * 448 / 2
                                                                           : 448.0 * 512;
    support::tally tally;
    generator::random_source random(11);
    for (int i = 0; i < 1200; ++i) {
        // From nearly constant groups to the whole range of fp32.
        const double spread = std::exp2(-22 + 29 * random.uniform());
        const double top = -120 + 240 * random.uniform();
        const float amax = static_cast<float>(std::exp2(top));
        const float amin = static_cast<float>(std::exp2(std::max(-125.9, top - spread)));
        if (amin > amax) continue;
        expect_exact_exponent<Expansion>(tally, amax, amin, bound);
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE("D09 where the quotient is a whole number the exponent is that number")
{
    // 28672 and its square are fp32 numbers, so these quotients are whole without any rounding.
    CHECK(sixteenths<default_power>(28672.0f, 1.0f) == 16);
    CHECK(sixteenths<default_power>(28672.0f * 28672.0f, 1.0f) == 8);
    CHECK(sixteenths<default_power>(28672.0f * 0x1p-60f, 0x1p-60f) == 16);
    CHECK(sixteenths<reference_power>(100352.0f, 1.0f) == 16);
    CHECK(sixteenths<reference_power>(316.78384f, 1.0f) == 32);
    CHECK(sixteenths<reference_power>(46.47f, 1.0f) == 48);
    // The group that decoding makes of a bent range ends a little beside the bound: the allowance keeps its
    // exponent.
    for (int exponent = 9; exponent < 255; ++exponent) {
        CAPTURE(exponent);
        const long double ratio = oracle::exp2_of(16 * oracle::log2_of(28672.0) / exponent);
        const float nearest = static_cast<float>(ratio);
        CHECK(sixteenths<default_power>(nearest, 1.0f) == exponent);
    }
}

TEST_CASE("D06 the exponent is never below the smallest of its rule")
{
    CHECK(sixteenths<default_power>(0x1p127f, 0x1p-126f) == 8);
    CHECK(sixteenths<reference_power>(0x1p127f, 0x1p-126f) == 1);
    CHECK(sixteenths<default_power>(1e6f, 1.0f) >= 8);
    using whole_steps = dynamic_power<exponent_rule<gesso::reference_bound, 16, 240>>;
    CHECK(sixteenths<whole_steps>(1e6f, 1.0f) == 16);
}

TEST_CASE("D08 the exponent of a nearly constant group is the largest that fits its byte")
{
    CHECK(sixteenths<default_power>(1.0f, 1.0f) == 255);
    CHECK(sixteenths<default_power>(1.0f + 0x1p-23f, 1.0f) == 255);
    CHECK(sixteenths<default_power>(1.001f, 1.0f) == 255);
    CHECK(sixteenths<reference_power>(2.0f, 1.0f) == 255);  // 16.6 without the limit
    CHECK(sixteenths<default_power>(2.0f, 1.0f) == 236);    // 14.807
}

TEST_CASE("a wider group never gets a larger exponent")
{
    support::tally tally;
    int before = 255;
    for (std::int32_t spread = 0; spread >= 0 && spread < 2000000000; spread += 1 + spread / 512) {
        const int exponent = default_power::sixteenths<e4m3>(spread);
        tally.expect(exponent <= before,
            [&](auto& out) { out << spread << " -> " << exponent << " after " << before; });
        before = exponent;
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE("the bent functions follow the formula to a few parts in a million")
{
    support::tally tally;
    generator::random_source random(5);
    double worst_bend = 0;
    double worst_unbend = 0;
    for (int i = 0; i < 200000; ++i) {
        const int exponent = 1 + static_cast<int>(random.below(255));
        const long double k = exponent / 16.0L;
        const float amax = static_cast<float>(std::exp2(-120 + 240 * random.uniform()));
        const double log2_size =
            std::max(-126.0, std::log2(double{amax}) - 40 * random.uniform() * random.uniform());
        const float size = std::min(amax, static_cast<float>(std::exp2(log2_size)));
        const float bent =
            gesso::detail::bend<e4m3>(bits_of(size), gesso::log2_fixed(bits_of(amax)), exponent, 16);
        const long double wanted = oracle::bend(double{size}, double{amax}, k, 448);
        // Two logarithms of 0.51 units, times k; one rounding of exp2 and one of the product.
        const long double allowed = wanted * (static_cast<long double>(k) * 1.03L * 0.7L + 1.2L) * 0x1p-23L;
        if (wanted > 0x1p-116L) {
            worst_bend = std::max(worst_bend, static_cast<double>(std::abs(bent - wanted) / wanted));
            tally.expect(std::abs(bent - wanted) <= allowed, [&](auto& out) {
                out << "bend " << size << " of " << amax << ", exponent " << exponent << " -> " << bent
                    << ", not " << static_cast<double>(wanted);
            });
        } else {
            tally.expect(bent <= 0x1p-115f, [&](auto& out) { out << "bend " << size << " -> " << bent; });
        }

        const std::uint8_t code = static_cast<std::uint8_t>(1 + random.below(0x7E));
        const float value = gesso::decode<e4m3>(code);
        const float back = gesso::detail::unbend<e4m3>(bits_of(value), amax, exponent, 16);
        const long double wanted_back = oracle::unbend(double{value}, double{amax}, k, 448);
        const long double allowed_back = wanted_back * (1.03L * 0.7L / k + 1.7L) * 0x1p-23L;
        if (wanted_back >= 0x1.0001p-126L) {
            worst_unbend =
                std::max(worst_unbend, static_cast<double>(std::abs(back - wanted_back) / wanted_back));
            tally.expect(std::abs(back - wanted_back) <= allowed_back, [&](auto& out) {
                out << "unbend " << value << " in " << amax << ", exponent " << exponent << " -> " << back
                    << ", not " << static_cast<double>(wanted_back);
            });
        } else if (wanted_back < 0x1.FFFEp-127L) {
            tally.expect(
                back == 0.0f, [&](auto& out) { out << "a denormal result must be zero, not " << back; });
        }
    }
    INFO("worst relative error: bend ", worst_bend, ", unbend ", worst_unbend);
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE("the largest element and the largest code belong together exactly")
{
    for (float amax : {0x1p-126f, 1.1754945e-38f, 1e-30f, 0.1f, 1.0f, 3.0f, 0x1.FFFFFEp127f}) {
        for (int exponent : {1, 8, 16, 17, 100, 255}) {
            CAPTURE(amax);
            CAPTURE(exponent);
            CHECK(gesso::detail::bend<e4m3>(bits_of(amax), gesso::log2_fixed(bits_of(amax)), exponent, 16)
                  == 448.0f);
            CHECK(gesso::detail::unbend<e4m3>(bits_of(448.0f), amax, exponent, 16) == amax);
        }
    }
}
