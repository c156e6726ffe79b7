// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Oracle of the small float formats, written apart from the library and sharing no code with it.
//
// The library converts by shifting and masking bits. This oracle does what a person would do by hand: it
// writes down the value of every code in rising order, finds the two codes around a number, and compares
// distances. Every quantity in it (fp32 inputs, code values, the distance of a number from the code below,
// the gap between two codes) fits a double without rounding, because no fp32 or code has more than 24
// significant bits and all of them are multiples of 2^-149. So the comparisons are exact, and so is the
// probability of stochastic rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace oracle {

enum class specials { none, finite_nan, ieee, finite_nan_no_zero };
enum class direction { nearest_even, upward, toward_zero };
enum class small_results { gradual, keep, flush };

inline double value_of_bits(std::uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
}

inline std::uint32_t bits_of_value(double value)
{
    const float narrow = static_cast<float>(value);
    std::uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

// Two neighbouring codes around a number, and how far the number lies between them: 0 on `lower`, below 1.
// `lower` is the code nearer to zero; both carry the sign.
struct neighbours {
    std::uint32_t lower;
    std::uint32_t upper;
    double fraction;
};

class format {
public:
    format(int sign_bits, int exponent_bits, int mantissa_bits, specials special)
        : sign_bits_(sign_bits)
        , exponent_bits_(exponent_bits)
        , mantissa_bits_(mantissa_bits)
        , special_(special)
    {
        // One value past the largest code: rounding looks at it as if the format went on.
        for (std::uint32_t magnitude = 0; magnitude <= finite_codes(); ++magnitude) {
            values_.push_back(magnitude_value(magnitude));
        }
    }

    int bits() const { return sign_bits_ + exponent_bits_ + mantissa_bits_; }
    bool is_signed() const { return sign_bits_ != 0; }
    bool has_zero() const { return special_ != specials::finite_nan_no_zero; }
    std::uint32_t code_count() const { return 1u << bits(); }
    std::uint32_t sign_mask() const { return is_signed() ? 1u << (exponent_bits_ + mantissa_bits_) : 0u; }
    std::uint32_t magnitude_mask() const { return (1u << (exponent_bits_ + mantissa_bits_)) - 1u; }
    std::uint32_t max_code() const { return finite_codes() - 1u; }
    std::uint32_t min_normal_code() const { return has_zero() ? 1u << mantissa_bits_ : 0u; }
    std::uint32_t nan_code() const { return special_ == specials::none ? max_code() : magnitude_mask(); }
    // What a number past the end becomes when it may not saturate.
    std::uint32_t overflow_code() const { return special_ == specials::none ? max_code() : finite_codes(); }

    double max() const { return values_[max_code()]; }
    double min_normal() const { return values_[min_normal_code()]; }
    double min_positive() const { return values_[has_zero() ? 1u : 0u]; }
    // The finite magnitudes in rising order; the index is the code.
    double magnitude(std::uint32_t code) const { return values_[code]; }

    bool is_nan(std::uint32_t code) const
    {
        const std::uint32_t magnitude = code & magnitude_mask();
        return special_ != specials::none && magnitude > max_code() && !is_infinity(code);
    }
    bool is_infinity(std::uint32_t code) const
    {
        return special_ == specials::ieee && (code & magnitude_mask()) == finite_codes();
    }

    double decode(std::uint32_t code) const
    {
        if (is_nan(code)) return std::numeric_limits<double>::quiet_NaN();
        const double magnitude =
            is_infinity(code) ? std::numeric_limits<double>::infinity() : values_[code & magnitude_mask()];
        return (code & sign_mask()) != 0 ? -magnitude : magnitude;
    }

    std::uint32_t encode(double x, direction rounding = direction::nearest_even, bool saturating = true,
        small_results small = small_results::gradual) const
    {
        if (std::isnan(x)) return nan_code();
        const bool negative = std::signbit(x);
        if (negative && !is_signed()) return 0;
        const std::uint32_t sign = negative ? sign_mask() : 0u;
        const double size = std::abs(x);
        if (std::isinf(x)) return sign | (saturating ? max_code() : overflow_code());
        if (size < values_[0]) return 0;  // only a format without zero starts above zero

        const std::uint32_t lower = index_below(size);
        const double fraction = fraction_above(size, lower);
        bool outward = false;
        if (rounding == direction::nearest_even) {
            outward = fraction > 0.5 || (fraction == 0.5 && lower % 2 == 1);
        } else if (rounding == direction::upward) {
            outward = fraction > 0 && !negative;
        }
        const std::uint32_t result = lower + (outward ? 1u : 0u);

        if (result > max_code()) {
            // Rounding a negative number upward stops at -max; it never runs away to -infinity.
            const bool stops = saturating || (rounding == direction::upward && negative);
            return sign | (stops ? max_code() : overflow_code());
        }
        return sign | after_underflow(result, size, small);
    }

    // The codes on both sides of a finite number: where stochastic rounding may go, and with what probability
    // it goes to `upper`. A number at or past the maximum stays on the maximum.
    neighbours around(double x) const
    {
        const double size = std::abs(x);
        const std::uint32_t sign = std::signbit(x) ? sign_mask() : 0u;
        if ((std::signbit(x) && !is_signed()) || size < values_[0]) return {0, 0, 0.0};
        if (size >= max()) return {sign | max_code(), sign | max_code(), 0.0};
        const std::uint32_t lower = index_below(size);
        return {sign | lower, sign | (lower + 1u), fraction_above(size, lower)};
    }

    std::uint32_t after_underflow(std::uint32_t magnitude, double size, small_results small) const
    {
        if (!has_zero()) return magnitude;
        if (small == small_results::keep && magnitude == 0 && size > 0) return 1;
        if (small == small_results::flush && magnitude < min_normal_code()) return 0;
        return magnitude;
    }

private:
    std::uint32_t finite_codes() const
    {
        switch (special_) {
        case specials::none: return magnitude_mask() + 1u;
        case specials::ieee: return ((1u << exponent_bits_) - 1u) << mantissa_bits_;
        default: return magnitude_mask();
        }
    }

    double magnitude_value(std::uint32_t magnitude) const
    {
        const int bias = (1 << (exponent_bits_ - 1)) - 1;
        const int field = static_cast<int>(magnitude >> mantissa_bits_);
        const int mantissa = static_cast<int>(magnitude & ((1u << mantissa_bits_) - 1u));
        if (field == 0 && has_zero()) return std::ldexp(mantissa, 1 - bias - mantissa_bits_);
        return std::ldexp((1 << mantissa_bits_) + mantissa, field - bias - mantissa_bits_);
    }

    // The last code whose value is not above `size`; the code past the end counts, so that overflow shows.
    std::uint32_t index_below(double size) const
    {
        const auto above = std::upper_bound(values_.begin(), values_.end(), size);
        return static_cast<std::uint32_t>(above - values_.begin()) - 1u;
    }

    double fraction_above(double size, std::uint32_t lower) const
    {
        if (lower + 1u >= values_.size()) return 0.0;
        return (size - values_[lower]) / (values_[lower + 1u] - values_[lower]);  // the gap is a power of two
    }

    int sign_bits_;
    int exponent_bits_;
    int mantissa_bits_;
    specials special_;
    std::vector<double> values_;
};

inline const format& e4m3()
{
    static const format facts(1, 4, 3, specials::finite_nan);
    return facts;
}

inline const format& e5m2()
{
    static const format facts(1, 5, 2, specials::ieee);
    return facts;
}

inline const format& bfloat16()
{
    static const format facts(1, 8, 7, specials::ieee);
    return facts;
}

inline const format& float16()
{
    static const format facts(1, 5, 10, specials::ieee);
    return facts;
}

inline const format& e8m0()
{
    static const format facts(0, 8, 0, specials::finite_nan_no_zero);
    return facts;
}

}  // namespace oracle
