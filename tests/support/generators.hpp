// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Test data that is the same on every machine and in every run: random groups like those of optimizer states
// and activations, and the lists of numbers at which conversions go wrong.
#pragma once

#include "format_oracle.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

namespace generator {

// A counter put through the splitmix64 finaliser; the library's own hash is another one.
class random_source {
public:
    explicit random_source(std::uint64_t seed)
        : state_(seed * 0x9E3779B97F4A7C15u + 1u)
    {}

    std::uint64_t bits()
    {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    std::uint64_t below(std::uint64_t limit) { return bits() % limit; }

    // In (0, 1): never an end, so that a logarithm may follow.
    double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

    double normal()
    {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    std::uint64_t state_;
};

inline std::vector<float> normal_values(std::size_t count, double deviation, std::uint64_t seed)
{
    random_source random(seed);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(deviation * random.normal());
    return values;
}

// Heavy tails: median `middle`, and `spread` standard deviations of ln(abs(x)). Half of them are negative if
// signed.
inline std::vector<float> log_normal_values(
    std::size_t count, double middle, double spread, bool is_signed, std::uint64_t seed)
{
    random_source random(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        const double size = middle * std::exp(spread * random.normal());
        value = static_cast<float>(is_signed && random.below(2) == 0 ? -size : size);
    }
    return values;
}

// fp32 patterns that have broken conversions: both zeros, both ends of the denormals and of the normals,
// infinities, quiet and signalling NaN of either sign with several payloads, and neighbours of one.
inline std::vector<std::uint32_t> edge_patterns()
{
    std::vector<std::uint32_t> patterns;
    for (std::uint32_t magnitude : {0x00000000u, 0x00000001u, 0x00000002u, 0x00400000u, 0x007FFFFFu,
             0x00800000u, 0x00800001u, 0x3F7FFFFFu, 0x3F800000u, 0x3F800001u, 0x7F7FFFFEu, 0x7F7FFFFFu,
             0x7F800000u, 0x7F800001u, 0x7FA00000u, 0x7FBFFFFFu, 0x7FC00000u, 0x7FFFFFFFu}) {
        patterns.push_back(magnitude);
        patterns.push_back(magnitude | 0x80000000u);
    }
    return patterns;
}

inline std::vector<float> powers_of_two(int lowest = -149, int highest = 127)
{
    std::vector<float> values;
    for (int exponent = lowest; exponent <= highest; ++exponent) {
        values.push_back(static_cast<float>(std::ldexp(1.0, exponent)));
    }
    return values;
}

// Every code, every midpoint of two neighbouring codes, and one fp32 step to both sides of each; both signs.
// The value past the largest code is among them, for there lies the edge between the maximum and overflow.
inline std::vector<std::uint32_t> boundary_patterns(const oracle::format& format)
{
    std::vector<std::uint32_t> patterns;
    const auto add_with_neighbours = [&patterns](double value) {
        if (value > static_cast<double>(std::numeric_limits<float>::max())) return;
        const std::uint32_t bits = oracle::bits_of_value(value);
        for (std::uint32_t near : {bits - 1u, bits, bits + 1u}) {
            if (near > 0x7F800000u) continue;  // one below zero
            patterns.push_back(near);
            patterns.push_back(near | 0x80000000u);
        }
    };
    for (std::uint32_t code = 0; code <= format.max_code(); ++code) {
        const double value = format.magnitude(code);
        const double next = format.magnitude(code + 1u);
        add_with_neighbours(value);
        add_with_neighbours((value + next) / 2);
    }
    add_with_neighbours(format.magnitude(format.max_code() + 1u));
    return patterns;
}

// Every sign and exponent of fp32, each with `per_binade` mantissas that differ from binade to binade.
inline std::vector<std::uint32_t> strided_patterns(std::uint32_t per_binade)
{
    std::vector<std::uint32_t> patterns;
    random_source random(per_binade);
    for (std::uint32_t binade = 0; binade < 512u; ++binade) {
        for (std::uint32_t i = 0; i < per_binade; ++i) {
            const std::uint32_t width = 0x800000u / per_binade;
            const std::uint32_t mantissa = i * width + static_cast<std::uint32_t>(random.below(width));
            patterns.push_back((binade << 23) | mantissa);
        }
    }
    return patterns;
}

}  // namespace generator
