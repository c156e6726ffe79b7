// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Range expansion: f(x) = sign(x) |x|^k bends a group's range until it fills the format's, and f^-1 brings it back.
// Here: which k, and the two functions. Source: COAT, section 4.1 (dynamic range expansion); the centring by
// sqrt(min max) of the paper cancels out and is not needed.
#pragma once

#include <gesso/encoding/convert.hpp>

namespace gesso {

// No expansion: a group has a scale and nothing else. `needs_amin`: must the smallest magnitude of a group be known?
struct identity {
    static constexpr bool needs_amin = false;
};

// A fixed exponent k = Numerator / Denominator: power<2>, power<1, 2> (square root), power<3, 2>.
template<int Numerator, int Denominator = 1>
struct power {
    static_assert(Numerator >= 1 && Denominator >= 1 && Numerator <= 255 && Denominator <= 255,
        "gesso::power: the exponent Numerator / Denominator has whole parts from 1 to 255");
    static constexpr bool needs_amin = false;
    static constexpr int numerator = Numerator;
    static constexpr int denominator = Denominator;
};

// Bounds: the ratio of largest to smallest element that the group's own ratio is bent to, as log2 in units of 2^-23.
// A user's bound is a struct with the same member.

// max / smallest normal number (28672 for E4M3): the smallest element lands on a code with all mantissa bits, and
// re-encoding settles. The default.
struct min_normal_bound {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE int32_t log2_bound()
    {
        return log2_fixed(Format::max_bits) - log2_fixed(Format::min_normal_bits);
    }
};
// max^2 / 2: the paper's and its public implementation's.
struct reference_bound {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE int32_t log2_bound()
    {
        return 2 * log2_fixed(Format::max_bits) - (int32_t{1} << 23);
    }
};
// max / smallest subnormal number: every code is used.
struct full_range_bound {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE int32_t log2_bound()
    {
        return log2_fixed(Format::max_bits) - log2_fixed(Format::min_positive_bits);
    }
};

// A rule for k: the bound, and limits of k in sixteenths. With k below 1/2 one dead element would take the precision of
// all its neighbours; 255 / 16 is what the stored byte holds.
template<class Bound = min_normal_bound, int MinSixteenths = 8, int MaxSixteenths = 255>
struct exponent_rule : Bound {
    static_assert(1 <= MinSixteenths && MinSixteenths <= MaxSixteenths && MaxSixteenths <= 255,
        "gesso::exponent_rule: limits of k are sixteenths with 1 <= MinSixteenths <= MaxSixteenths <= 255");
    static constexpr int min_sixteenths = MinSixteenths;
    static constexpr int max_sixteenths = MaxSixteenths;
};
// The paper's rule: its bound, and no limit below the byte's.
struct reference_rule : exponent_rule<reference_bound, 1, 255> {};

// k chosen for each group from its largest and smallest magnitude, a multiple of 1/16 that is stored in a byte.
template<class Rule = exponent_rule<>>
struct dynamic_power {
    static_assert(1 <= Rule::min_sixteenths && Rule::min_sixteenths <= Rule::max_sixteenths && Rule::max_sixteenths <= 255,
        "gesso::dynamic_power: a rule's limits are sixteenths with 1 <= min_sixteenths <= max_sixteenths <= 255");
    static constexpr bool needs_amin = true;
    using rule = Rule;
    static constexpr int denominator = 16;

    // 16 k for a group whose log2(amax) - log2(amin) is `spread` units of 2^-23: floor(16 log2(bound) / spread + 2^-13)
    // within the limits; the largest k for a constant group. spread >= 0.
    template<class Format>
    static constexpr GESSO_HOST_DEVICE int sixteenths(int32_t spread)
    {
        if (spread == 0) return Rule::max_sixteenths;
        constexpr int64_t bound = Rule::template log2_bound<Format>();
        static_assert(bound > 0, "gesso::dynamic_power: log2_bound of the rule must be positive for this format");
        const int64_t quotient = (16 * bound + (spread >> 13)) / spread;
        if (quotient < Rule::min_sixteenths) return Rule::min_sixteenths;
        if (quotient > Rule::max_sixteenths) return Rule::max_sixteenths;
        return static_cast<int>(quotient);
    }
};

namespace detail {

// Format's max * (magnitude / amax)^(numerator / denominator), for 2^-126 <= magnitude <= amax.
template<class Format>
GESSO_HOST_DEVICE inline float bend(uint32_t magnitude, int32_t log2_amax, int numerator, int denominator)
{
    const int64_t distance = int64_t{log2_fixed(magnitude)} - log2_amax;
    return multiply((Format::max)(), exp2_fixed(distance * (16 * numerator) / denominator));
}

// amax * (value / Format's max)^(denominator / numerator), for the bits of a code's value > 0. A denormal result is 0.
template<class Format>
GESSO_HOST_DEVICE inline float unbend(uint32_t value_bits, float amax, int numerator, int denominator)
{
    const int64_t distance = int64_t{log2_fixed(value_bits)} - log2_fixed(Format::max_bits);
    int64_t exponent = distance * (16 * denominator) / numerator;
    // Small k reaches below 2^-126 although amax lifts the product back: take the way in steps of 2^-100. A step from
    // below 2^-26 gives a denormal, and so would the whole product.
    constexpr int64_t step = int64_t{100} << 27;
    for (int i = 0; i < 2 && exponent < -step; ++i) {
        amax = multiply(amax, 0x1p-100f);
        exponent += step;
    }
    return flush_denormal(multiply(amax, exp2_fixed(exponent)));
}

// Stochastic rounding through an expansion: does the bent value at `at` move up, so that the *decoded* value is
// unbiased? The probability is not the remainder p, since x^(1/k) bends between the two codes; to second order it is
// p + p (1 - p) (1 - 1/k) (hi - lo) / (2 q) for a value q between the codes lo and hi. `curvature` is 1 - 1/k and
// `half_step` is (hi - lo) / (2 q). Bias of the decoded value: see docs/numerics.md.
GESSO_HOST_DEVICE inline bool rounds_away_bent(stochastic_bits random, const cut& at, float curvature, float half_step)
{
    if (at.remainder == 0 || random.bits == 0) return false;
    const float p = multiply(static_cast<float>(at.remainder << (24 - at.shift)), 0x1p-24f);
    const float variance = multiply(p, add(1.0f, negate(p)));
    const float corrected = fused_multiply_add(variance, multiply(curvature, half_step), p);
    return is_below(multiply(static_cast<float>(~random.bits >> 8), 0x1p-24f), corrected);
}

}  // namespace detail

}  // namespace gesso
