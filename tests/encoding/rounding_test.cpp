// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Stochastic rounding: its exact probability for every format, what it must leave alone, and the quality of
// the bits that feed it.
#include <doctest/doctest.h>

#include <gesso/encoding/convert.hpp>
#include <gesso/encoding/rounding.hpp>

#include "../support/formats.hpp"
#include "../support/generators.hpp"
#include "../support/tally.hpp"
#include "../support/thresholds.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using gesso::encode;
using gesso::stochastic;
using gesso::stochastic_bits;

namespace {

template<class Format>
std::uint32_t code_with_bits(float x, std::uint32_t bits)
{
    return encode<Format>(x, stochastic_bits{bits});
}

// Random numbers over the whole range of a format, its subnormals included.
template<class Format>
std::vector<float> numbers_in_range(int count, std::uint64_t seed)
{
    generator::random_source random(seed);
    const double lowest = std::log2(double{Format::min_positive()}) - 3;
    const double highest = std::log2(double{Format::max()});
    std::vector<float> numbers;
    for (int i = 0; i < count; ++i) {
        const double size = std::exp2(lowest + (highest - lowest) * random.uniform());
        numbers.push_back(static_cast<float>(i % 2 == 0 ? size : -size));
    }
    return numbers;
}

double unit(std::uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }

// Correlation of two sequences of uniform numbers, in standard deviations of what chance would give.
template<class First, class Second>
double correlation(First first, Second second, int count)
{
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += (unit(first(i)) - 0.5) * (unit(second(i)) - 0.5) * 12;
    return sum / std::sqrt(static_cast<double>(count));
}

}  // namespace

TEST_CASE_TEMPLATE(
    "stochastic rounding goes up with the probability of the remainder", Format, GESSO_TEST_FORMATS)
{
    support::tally tally;
    const oracle::format& facts = oracle_of<Format>();
    double worst = 0;
    for (float x : numbers_in_range<Format>(3000, 7)) {
        const oracle::neighbours around = facts.around(double{x});
        bool stays_beside = true;
        const support::rounding_law law = support::law_of([&](std::uint32_t bits) {
            const std::uint32_t code = code_with_bits<Format>(x, bits);
            stays_beside = stays_beside && (code == around.lower || code == around.upper);
            return code != around.lower;
        });
        const double error = std::abs(law.upward_probability - around.fraction);
        worst = std::max(worst, error);
        // At least 16 random bits decide: the error of the mean is below 2^-16 of the gap between two codes.
        tally.expect(stays_beside && law.is_threshold && error <= 0x1p-16, [&](auto& out) {
            out << x << " goes up with " << law.upward_probability << ", not " << around.fraction;
        });
    }
    INFO("worst error of a probability: ", worst);
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE_TEMPLATE("stochastic rounding leaves every code where it is", Format, GESSO_TEST_FORMATS)
{
    support::tally tally;
    const oracle::format& facts = oracle_of<Format>();
    for (std::uint32_t code = 0; code < facts.code_count(); ++code) {
        if (facts.is_nan(code) || facts.is_infinity(code)) continue;
        const float value = gesso::decode<Format>(static_cast<typename Format::code_type>(code));
        for (std::uint32_t bits : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFEu, 0xFFFFFFFFu}) {
            const std::uint32_t again = code_with_bits<Format>(value, bits);
            tally.expect(
                again == code, [&](auto& out) { out << code << " became " << again << " by bits " << bits; });
        }
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE_TEMPLATE(
    "stochastic rounding stays on the maximum, and sends NaN to NaN", Format, GESSO_TEST_FORMATS)
{
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float beyond = std::min(Format::max() * 1.0039f, std::numeric_limits<float>::max());
    const std::uint32_t negative_max =
        Format::sign_bits != 0 ? Format::sign_mask | std::uint32_t{Format::max_code} : 0u;
    for (std::uint32_t bits : {0u, 0x80000000u, 0xFFFFFFFFu}) {
        CAPTURE(bits);
        for (float x : {Format::max(), beyond, std::numeric_limits<float>::max(), infinity}) {
            CAPTURE(x);
            CHECK(code_with_bits<Format>(x, bits) == Format::max_code);
            CHECK(code_with_bits<Format>(-x, bits) == negative_max);
        }
        CHECK(code_with_bits<Format>(nan, bits) == Format::nan_code);
        CHECK(code_with_bits<Format>(-nan, bits) == Format::nan_code);
        if (Format::has_zero) {
            CHECK(code_with_bits<Format>(0.0f, bits) == 0);
            CHECK(code_with_bits<Format>(-0.0f, bits) == Format::sign_mask);
        }
    }
}

TEST_CASE("stochastic rounding keeps or flushes what is small, as asked")
{
    const float small = 0.25f * gesso::e4m3::min_positive();
    const float subnormal = 2.5f * gesso::e4m3::min_positive();
    const float just_normal = 7.5f * gesso::e4m3::min_positive();
    for (std::uint32_t bits = 0; bits < 0xF0000000u; bits += 0x0FFFFFFFu) {
        CAPTURE(bits);
        CHECK(encode<gesso::e4m3>(small, stochastic_bits{bits}, gesso::keep{}) == 0x01);
        CHECK(encode<gesso::e4m3>(small, stochastic_bits{bits}, gesso::flush{}) == 0x00);
        CHECK(encode<gesso::e4m3>(-small, stochastic_bits{bits}, gesso::flush{}) == 0x80);
        CHECK(encode<gesso::e4m3>(subnormal, stochastic_bits{bits}, gesso::flush{}) == 0x00);
        // The rounded code decides: what reaches the smallest normal number stays.
        const std::uint32_t gradual_code = encode<gesso::e4m3>(just_normal, stochastic_bits{bits});
        const std::uint32_t wanted = gradual_code == 0x08u ? 0x08u : 0x00u;
        CHECK(encode<gesso::e4m3>(just_normal, stochastic_bits{bits}, gesso::flush{}) == wanted);
    }
}

TEST_CASE("a stochastic rounding depends on seed, step, element and stream, and on nothing else")
{
    const stochastic policy{42, 7};
    CHECK(policy.at(5).bits == stochastic{42, 7}.at(5).bits);
    CHECK(policy.at(5).bits != policy.at(6).bits);
    CHECK(policy.at(5).bits != policy.stream(1).at(5).bits);
    CHECK(policy.stream(0).at(5).bits == policy.at(5).bits);
    CHECK(policy.stream(1).at(5).bits != policy.stream(2).at(5).bits);
    CHECK(policy.at(5).bits != stochastic{42, 8}.at(5).bits);
    CHECK(policy.at(5).bits != stochastic{43, 7}.at(5).bits);
    CHECK(stochastic{1, 2}.at(3).bits != stochastic{2, 1}.at(3).bits);
    // The whole 64-bit index counts, and so does the whole seed.
    CHECK(policy.at(5).bits != policy.at(5 + (gesso::index_t{1} << 32)).bits);
    CHECK(policy.at(5).bits != policy.at(5 + (gesso::index_t{1} << 40)).bits);
    CHECK(policy.at(5).bits != stochastic{42 + (std::uint64_t{1} << 32), 7}.at(5).bits);
}

TEST_CASE("random bits are uniform over elements, steps, seeds and streams")
{
    constexpr int count = 1 << 18;
    const auto check_uniform = [&](const char* over, auto bits_at) {
        INFO("over ", std::string(over));
        double sum = 0;
        int ones[32] = {};
        int buckets[256] = {};
        for (int i = 0; i < count; ++i) {
            const std::uint32_t bits = bits_at(i);
            sum += unit(bits) - 0.5;
            for (int position = 0; position < 32; ++position)
                ones[position] += static_cast<int>((bits >> position) & 1u);
            ++buckets[bits >> 24];
        }
        // Five standard deviations of chance.
        CHECK(std::abs(sum / count) < 5 * std::sqrt(1.0 / 12 / count));
        for (int position = 0; position < 32; ++position) {
            CAPTURE(position);
            CHECK(std::abs(ones[position] - count / 2) < 5 * std::sqrt(count / 4.0));
        }
        double chi_squared = 0;
        for (int bucket : buckets)
            chi_squared += (bucket - count / 256.0) * (bucket - count / 256.0) / (count / 256.0);
        CHECK(std::abs(chi_squared - 255) < 5 * std::sqrt(2 * 255.0));
    };
    check_uniform("elements", [](int i) { return stochastic{1, 1}.at(i).bits; });
    check_uniform("elements a stride apart", [](int i) {
        return stochastic{1, 1}.at(gesso::index_t{i} * 4096).bits;
    });
    check_uniform("steps", [](int i) { return stochastic{1, static_cast<std::uint32_t>(i)}.at(17).bits; });
    check_uniform("seeds", [](int i) { return stochastic{static_cast<std::uint32_t>(i), 1}.at(17).bits; });
}

TEST_CASE("any two of the elements that share a hash have noise that is not related")
{
    constexpr int count = 1 << 16;
    const stochastic source{3, 7};
    const int sharing = static_cast<int>(stochastic::block_elements);
    for (int first = 0; first < sharing; ++first) {
        for (int second = 0; second < first; ++second) {
            CAPTURE(first);
            CAPTURE(second);
            const auto at = [&](int within) {
                return [&source, sharing, within](int i) { return source.at(i * sharing + within).bits; };
            };
            CHECK(std::abs(correlation(at(first), at(second), count)) < 5);
        }
    }
}

TEST_CASE("O14 noise of neighbours in element, step, seed and stream is not related")
{
    constexpr int count = 1 << 18;
    const auto base = [](int i) { return stochastic{1, 100}.at(i).bits; };
    const auto check_unrelated = [&](const char* to, auto other) {
        INFO("to ", std::string(to));
        CHECK(std::abs(correlation(base, other, count)) < 5);
    };
    for (int lag : {1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 32, 128, 4096}) {
        CAPTURE(lag);
        check_unrelated("a later element", [lag](int i) { return stochastic{1, 100}.at(i + lag).bits; });
    }
    check_unrelated("the next step", [](int i) { return stochastic{1, 101}.at(i).bits; });
    check_unrelated("the next seed", [](int i) { return stochastic{2, 100}.at(i).bits; });
    check_unrelated("the next stream", [](int i) { return stochastic{1, 100}.stream(1).at(i).bits; });
    // A hash that adds its inputs repeats the noise along diagonals.
    check_unrelated("the next step of the next element", [](int i) {
        return stochastic{1, 101}.at(i + 1).bits;
    });
    check_unrelated("the next step of the element before", [](int i) {
        return stochastic{1, 101}.at(i - 1).bits;
    });
    check_unrelated("the next stream of the next element", [](int i) {
        return stochastic{1, 100}.stream(1).at(i + 1).bits;
    });
    check_unrelated("the next seed of the step before", [](int i) { return stochastic{2, 99}.at(i).bits; });
    // All 64 bits of a seed and of an index count: a constant added to the same noise would not be enough.
    for (int position : {32, 33, 40, 63}) {
        CAPTURE(position);
        const std::uint64_t seed = 1 + (std::uint64_t{1} << position);
        check_unrelated("a seed that differs in its upper half", [seed](int i) {
            return stochastic{seed, 100}.at(i).bits;
        });
    }
    for (int position : {31, 32, 34, 36, 40}) {
        CAPTURE(position);
        const gesso::index_t distance = gesso::index_t{1} << position;
        check_unrelated("an element far away", [distance](int i) {
            return stochastic{1, 100}.at(i + distance).bits;
        });
    }
}

// Neighbours share a hash, so more than pairs must be looked at: the number of them that go up would vary too
// much or too little if their noise were related, and the mean error of a group with it.
TEST_CASE("the roundings of neighbours vary together as independent ones do")
{
    for (double probability : {0.01, 0.1, 0.25, 0.5, 0.75, 0.99}) {
        for (int neighbours : {2, 4, 8, 128}) {
            CAPTURE(probability);
            CAPTURE(neighbours);
            const int blocks = (1 << 20) / neighbours;
            double squares = 0;
            for (int block = 0; block < blocks; ++block) {
                double ups = 0;
                for (int i = 0; i < neighbours; ++i) {
                    ups += unit(stochastic{3, 14}.at(block * neighbours + i).bits) < probability ? 1 : 0;
                }
                squares += (ups - neighbours * probability) * (ups - neighbours * probability);
            }
            const double variance = squares / blocks / (neighbours * probability * (1 - probability));
            // Chance, with the larger fourth moment of rare events, and two parts in a hundred.
            const double chance =
                std::sqrt((2 + 1 / (neighbours * probability * (1 - probability))) / blocks);
            CHECK(std::abs(variance - 1) < 5 * chance + 0.02);
        }
    }
}

TEST_CASE("one flipped bit of seed, step or index flips half of the random bits that decide")
{
    const auto check_avalanche = [](const char* of, int lowest_bit, int input_bits, auto bits_at) {
        INFO("of ", std::string(of));
        for (int position = lowest_bit; position < input_bits; ++position) {
            CAPTURE(position);
            int flipped = 0;
            constexpr int count = 4000;
            for (int i = 0; i < count; ++i) {
                const std::uint64_t input = static_cast<std::uint64_t>(i) * 7919u;
                std::uint32_t change =
                    (bits_at(input) ^ bits_at(input ^ (std::uint64_t{1} << position))) >> 16;
                for (; change != 0; change &= change - 1u) ++flipped;
            }
            CHECK(std::abs(flipped / (16.0 * count) - 0.5) < 0.02);
        }
    };
    check_avalanche("index", 2, 40, [](std::uint64_t i) {
        return stochastic{1, 1}.at(static_cast<gesso::index_t>(i)).bits;
    });
    check_avalanche("step", 0, 24, [](std::uint64_t i) { return stochastic{1, i}.at(9).bits; });
    check_avalanche("seed", 0, 64, [](std::uint64_t i) { return stochastic{i, 1}.at(9).bits; });
}
