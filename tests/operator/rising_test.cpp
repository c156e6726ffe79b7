// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The word that a first pass keeps of an operator that rises: of any parts the same, and worth the largest output.
#include "../support/generators.hpp"
#include "../support/tally.hpp"

#include <gesso/operator/pointwise.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace gesso;

namespace {

struct cube {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static constexpr float rises_from = 0.0f;
    static void apply(const float (&in)[1], float (&out)[1])
    {
        const float positive = in[0] < 0.0f ? 0.0f : in[0];
        out[0] = positive * positive * positive;
    }
};

// The word of numbers [begin, end), by pieces of Items, the last of them cut off.
template<class Operator, unsigned Items>
std::uint32_t word_of(const std::vector<float>& numbers, std::size_t begin, std::size_t end)
{
    std::uint32_t word = 0;
    for (std::size_t i = begin; i < end; i += Items) {
        float piece[Items] = {};
        const std::size_t valid = std::min<std::size_t>(Items, end - i);
        std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(i), valid, piece);
        word = std::max(word, detail::rising_word<Operator>(piece, static_cast<int>(valid)));
    }
    return word;
}

template<class Operator>
void try_numbers(const char* name, const std::vector<float>& numbers, support::tally& failures)
{
    const std::uint32_t word = word_of<Operator, 16>(numbers, 0, numbers.size());
    double expected = 0;
    for (const float number : numbers) {
        const float in[1] = {number};
        float out[1];
        Operator::apply(in, out);
        if (std::isfinite(number) && std::isfinite(out[0])) {
            expected = std::fmax(expected, std::fabs(static_cast<double>(out[0])));
        }
    }
    const double got = static_cast<double>(float_of(detail::amax_bits_of_word<Operator>(word)));
    failures.expect(std::fabs(got - expected) <= 0x1p-22 * expected,
        [&](auto& out) { out << name << ": " << got << ", expected " << expected; });
    for (std::size_t cut = 0; cut <= numbers.size(); cut += 7) {
        const std::uint32_t first = word_of<Operator, 4>(numbers, 0, cut);
        const std::uint32_t second = word_of<Operator, 8>(numbers, cut, numbers.size());
        failures.expect(
            std::max(first, second) == word, [&](auto& out) { out << name << ": cut at " << cut << ", another word"; });
    }
}

template<class Operator>
void try_operator(const char* name, support::tally& failures)
{
    const float infinity = float_of(0x7F800000u);
    const float nan = float_of(0x7FC00000u);
    try_numbers<Operator>(name, {}, failures);
    for (const float largest : {-1.0f, 0.0f, 1e-3f, 0.29f, 0.3f, 0.31f, 0.5f, 1.0f, 40.0f, 1e20f, 3e38f}) {
        for (std::uint32_t seed = 1; seed <= 8; ++seed) {
            std::vector<float> numbers(61);
            std::uint32_t state = seed * 2654435761u;
            for (float& number : numbers) {
                state = state * 1664525u + 1013904223u;
                number = std::min(largest, static_cast<float>(state >> 8) * 0x1p-20f - 12.0f);
            }
            numbers[seed * 5] = largest;
            if (seed % 2 == 0) numbers[3] = nan;
            if (seed % 3 == 0) numbers[seed * 5 + 1] = infinity;
            if (seed % 4 == 0) numbers[60] = -infinity;
            try_numbers<Operator>(name, numbers, failures);
        }
    }
    try_numbers<Operator>(name, std::vector<float>(33, nan), failures);
    try_numbers<Operator>(name, std::vector<float>(16, infinity), failures);
    try_numbers<Operator>(name, std::vector<float>(16, -0.0f), failures);
}

}  // namespace

TEST_CASE("the word of an operator that rises does not depend on parts, and is worth its largest output")
{
    support::tally failures;
    try_operator<silu>("silu", failures);
    try_operator<gelu<>>("gelu", failures);
    try_operator<gelu<gelu_kind::tanh>>("gelu by tanh", failures);
    try_operator<cube>("cube", failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}
