// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// One number to one code of a format, and back. Integer arithmetic on the bits throughout.
#pragma once

#include <gesso/encoding/arithmetic.hpp>
#include <gesso/encoding/format.hpp>
#include <gesso/encoding/rounding.hpp>

namespace gesso {

namespace detail {

// The magnitude (fp32 bits below NaN) cut to Format's precision. Rounding up adds one to the code: codes are ordered
// like their magnitudes, so a carry into the exponent is right by itself.
template<class Format>
constexpr GESSO_HOST_DEVICE cut cut_to(uint32_t magnitude, bool negative)
{
    if constexpr (!Format::has_zero) {
        // Code c is 2^(c - bias). An fp32 denormal lies at or above the smallest code's 2^-127 or is raised to it.
        static_assert(Format::bias == 127, "gesso::encode: a format without zero has 8 exponent bits, as E8M0 has");
        if (magnitude < 0x00800000u) {
            return {0u, magnitude > 0x00400000u ? magnitude - 0x00400000u : 0u, 22, negative};
        }
        return {magnitude >> 23, magnitude & 0x7FFFFFu, 23, negative};
    } else {
        const uint32_t field = magnitude >> 23;
        uint32_t significand = (magnitude & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0u);
        const int target = (field != 0 ? static_cast<int>(field) : 1) - 127 + Format::bias;
        int shift = 23 - Format::mantissa_bits + (target < 1 ? 1 - target : 0);
        if (shift > 31) {
            // Far below the smallest code: what is lost here is kept as one sticky bit.
            const int excess = shift - 31;
            const uint32_t kept = excess > 24 ? 0u : significand >> excess;
            significand = kept | ((excess > 24 ? significand : significand ^ (kept << excess)) != 0 ? 1u : 0u);
            shift = 31;
        }
        const uint32_t exponent_part = static_cast<uint32_t>(target < 1 ? 0 : target - 1) << Format::mantissa_bits;
        return {exponent_part + (significand >> shift), significand & ((uint32_t{1} << shift) - 1u), shift, negative};
    }
}

// The code for NaN. A format without NaN stores its largest number.
template<class Format>
constexpr GESSO_HOST_DEVICE typename Format::code_type code_for_nan()
{
    return Format::has_nan ? Format::nan_code : Format::max_code;
}

// The code of a magnitude that was rounded to `code`: underflow, limit, sign.
template<class Format, class Underflow, class Saturation>
constexpr GESSO_HOST_DEVICE typename Format::code_type finish(uint32_t code, bool negative, bool nonzero)
{
    const uint32_t limited = Saturation::template limit<Format>(Underflow::template adjust<Format>(code, nonzero));
    return static_cast<typename Format::code_type>(limited | (negative ? Format::sign_mask : 0u));
}

}  // namespace detail

// value -> the code of Format that stands for it.
//   rounding    nearest_even (default), upward, or stochastic_bits
//   underflow   gradual (default), keep or flush
//   saturation  saturating (default) or nonsaturating
// NaN becomes nan_code (0x7F in E4M3 and E5M2; sign and payload are dropped). -0 and negative numbers that round to zero
// keep their sign; an unsigned format writes the smallest code for everything below zero. The denormals of fp32 count.
// Valid as a return value on host and device; the same bits everywhere. Source: OFP8, section 5.2 (conversion).
template<class Format, class Rounding = nearest_even, class Underflow = gradual, class Saturation = saturating>
constexpr GESSO_HOST_DEVICE typename Format::code_type encode(
    float value, Rounding rounding = {}, Underflow = {}, Saturation = {})
{
    const uint32_t magnitude = magnitude_bits(value);
    if (magnitude > 0x7F800000u) return detail::code_for_nan<Format>();
    const bool negative = (bits_of(value) >> 31) != 0;
    if (Format::sign_bits == 0 && negative) return 0;
    const cut at = detail::cut_to<Format>(magnitude, negative);
    const uint32_t code = at.code + (rounding.rounds_away(at) ? 1u : 0u);
    if (!rounding.passes_max(negative) && magnitude != 0x7F800000u) {
        return detail::finish<Format, Underflow, saturating>(code, negative, magnitude != 0);
    }
    return detail::finish<Format, Underflow, Saturation>(code, negative, magnitude != 0);
}

// code -> the number that it stands for, exact. NaN becomes the bits 0x7FFFFFFF.
template<class Format>
constexpr GESSO_HOST_DEVICE float decode(typename Format::code_type code)
{
    const uint32_t magnitude = uint32_t{code} & Format::magnitude_mask;
    const uint32_t sign = (uint32_t{code} & Format::sign_mask) != 0 ? 0x80000000u : 0u;
    if (Format::has_infinity && magnitude == uint32_t{Format::infinity_code}) return float_of(sign | 0x7F800000u);
    if (Format::has_nan && magnitude > uint32_t{Format::max_code}) return float_of(0x7FFFFFFFu);
    const uint32_t field = magnitude >> Format::mantissa_bits;
    uint32_t mantissa = magnitude & ((uint32_t{1} << Format::mantissa_bits) - 1u);
    constexpr int to_fp32 = 23 - Format::mantissa_bits;
    if constexpr (!Format::has_zero) {
        return float_of(field == 0 ? 0x00400000u : field << 23);
    } else if constexpr (Format::exponent_bits == 8) {
        return float_of(sign | (magnitude << to_fp32));  // the exponent fields are fp32's, subnormals included
    } else {
        if (field != 0) {
            return float_of(sign | ((field + uint32_t{127 - Format::bias}) << 23) | (mantissa << to_fp32));
        }
        if (mantissa == 0) return float_of(sign);
        // A subnormal: shift until the leading bit is the implicit one.
        uint32_t exponent = uint32_t{128 - Format::bias};
        while ((mantissa >> Format::mantissa_bits) == 0) {
            mantissa <<= 1;
            --exponent;
        }
        mantissa &= (uint32_t{1} << Format::mantissa_bits) - 1u;
        return float_of(sign | (exponent << 23) | (mantissa << to_fp32));
    }
}

}  // namespace gesso
