// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Number formats: what a code means, as facts that the compiler knows. No arithmetic here.
#pragma once

#include <gesso/config.hpp>

namespace gesso {

// What the codes at the upper end of a format stand for.
enum class special {
    none,                // every code is a finite number (E2M1)
    finite_nan,          // all magnitude bits set is NaN, there is no infinity (E4M3)
    ieee,                // the top exponent holds infinity (fraction 0) and NaN (E5M2, bfloat16)
    finite_nan_no_zero,  // exponent field 0 is an ordinary power of two: no zero, no subnormals (E8M0)
};

// An fp32 number and its bits.
constexpr GESSO_HOST_DEVICE uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
constexpr GESSO_HOST_DEVICE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

namespace detail {

template<int Bits>
struct unsigned_of_bits {
    using type = standard::conditional_t<Bits <= 8, uint8_t, standard::conditional_t<Bits <= 16, uint16_t, uint32_t>>;
};

// The fp32 bits of significand * 2^exponent for 1 <= significand < 2^24 whose value is in fp32's range.
constexpr GESSO_HOST_DEVICE uint32_t float_bits(uint32_t significand, int exponent)
{
    while (significand < 0x800000u && exponent > -149) {
        significand <<= 1;
        --exponent;
    }
    const uint32_t field = significand < 0x800000u ? 0u : static_cast<uint32_t>(exponent + 150);
    return (field << 23) | (significand & 0x7FFFFFu);
}

}  // namespace detail

// A binary floating-point format of SignBits (0 or 1) + ExponentBits + MantissaBits bits, most significant first.
//
// value(code) = (-1)^sign * 2^(exponent - bias) * 1.mantissa, or 2^(1 - bias) * 0.mantissa where the exponent field is
// zero (not in finite_nan_no_zero formats); bias = 2^(ExponentBits - 1) - 1. Every value is an fp32 number.
// To add a format derive from it: `struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};`
// Source: OCP 8-bit floating point specification (OFP8), OCP microscaling formats (E8M0).
template<int SignBits, int ExponentBits, int MantissaBits, special Special>
struct float_format {
    static_assert(SignBits == 0 || SignBits == 1, "gesso::float_format: SignBits is 0 or 1; write 0 for an unsigned format");
    static_assert(ExponentBits >= 2 && ExponentBits <= 8,
        "gesso::float_format: ExponentBits is 2 to 8, so that every value is an fp32 number; use fewer exponent bits");
    static_assert(MantissaBits >= 0 && MantissaBits <= 23,
        "gesso::float_format: MantissaBits is 0 to 23, so that every value is an fp32 number; use fewer mantissa bits");
    static_assert(Special != special::ieee || MantissaBits >= 1,
        "gesso::float_format: an ieee format needs a mantissa bit to tell NaN from infinity; use special::finite_nan");
    static_assert(Special != special::finite_nan_no_zero || (MantissaBits == 0 && SignBits == 0),
        "gesso::float_format: a format without zero is unsigned and has no mantissa; use SignBits 0 and MantissaBits 0");
    static_assert(ExponentBits < 8 || Special == special::ieee || Special == special::finite_nan_no_zero,
        "gesso::float_format: with 8 exponent bits the top exponent passes fp32's range; use special::ieee");

    static constexpr int sign_bits = SignBits;
    static constexpr int exponent_bits = ExponentBits;
    static constexpr int mantissa_bits = MantissaBits;
    static constexpr int bits = SignBits + ExponentBits + MantissaBits;
    static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
    static constexpr special special_values = Special;

    using code_type = typename detail::unsigned_of_bits<bits>::type;

    static constexpr uint32_t magnitude_mask = (uint32_t{1} << (ExponentBits + MantissaBits)) - 1;
    static constexpr uint32_t sign_mask = SignBits == 0 ? 0u : magnitude_mask + 1u;
    static constexpr bool has_nan = Special != special::none;
    static constexpr bool has_infinity = Special == special::ieee;
    static constexpr bool has_zero = Special != special::finite_nan_no_zero;

    // The one NaN that encoding writes: all magnitude bits, no sign. Formats without NaN write the largest number.
    static constexpr code_type nan_code = static_cast<code_type>(magnitude_mask);
    static constexpr code_type infinity_code = static_cast<code_type>(
        has_infinity ? magnitude_mask & ~((uint32_t{1} << MantissaBits) - 1) : magnitude_mask);
    // The largest finite number: below infinity in an ieee format, below NaN elsewhere.
    static constexpr code_type max_code = static_cast<code_type>(
        has_infinity ? uint32_t{infinity_code} - 1u : (has_nan ? magnitude_mask - 1u : magnitude_mask));
    static constexpr code_type min_normal_code = static_cast<code_type>(has_zero ? uint32_t{1} << MantissaBits : 0u);
    // The smallest code above zero.
    static constexpr code_type min_positive_code = static_cast<code_type>(has_zero ? 1u : 0u);

    // The same facts as fp32 bit patterns. (E4M3: max 448 = 1.75 * 2^8, min normal 2^-6, min subnormal 2^-9.)
    static constexpr uint32_t max_bits = detail::float_bits(
        (uint32_t{max_code} & ((uint32_t{1} << MantissaBits) - 1)) | (uint32_t{1} << MantissaBits),
        static_cast<int>(uint32_t{max_code} >> MantissaBits) - bias - MantissaBits);
    static constexpr uint32_t min_normal_bits = detail::float_bits(1u, (has_zero ? 1 : 0) - bias);
    static constexpr uint32_t min_positive_bits = detail::float_bits(1u, has_zero ? 1 - bias - MantissaBits : -bias);

    // (In parentheses where a macro may be called max: `(Format::max)()`.)
    static constexpr GESSO_HOST_DEVICE float(max)() { return float_of(max_bits); }
    static constexpr GESSO_HOST_DEVICE float min_normal() { return float_of(min_normal_bits); }
    static constexpr GESSO_HOST_DEVICE float min_positive() { return float_of(min_positive_bits); }
};

struct e4m3 : float_format<1, 4, 3, special::finite_nan> {};           // max 448, min normal 2^-6, min subnormal 2^-9
struct e5m2 : float_format<1, 5, 2, special::ieee> {};                 // max 57344, min normal 2^-14, min subnormal 2^-16
struct unsigned_e4m4 : float_format<0, 4, 4, special::finite_nan> {};  // max 480, min normal 2^-6, min subnormal 2^-10
struct bfloat16 : float_format<1, 8, 7, special::ieee> {};
struct float16 : float_format<1, 5, 10, special::ieee> {};
struct float32 : float_format<1, 8, 23, special::ieee> {};
struct e8m0 : float_format<0, 8, 0, special::finite_nan_no_zero> {};   // powers of two from 2^-127 to 2^127: scales

}  // namespace gesso
