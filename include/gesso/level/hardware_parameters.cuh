// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What hardware math finds once for many elements: the parameters of a group as logarithms and reciprocals, its exponent,
// and facts of a format that are looked up for four codes at a time.
#pragma once

#include <gesso/codec.hpp>
#include <gesso/encoding/hardware.cuh>

namespace gesso {

namespace detail {

// How values are made of codes in hardware math, for a group with parameters known.
template<class Codec, class Expansion = typename Codec::expansion>
struct hardware_reader {
    float inverse_k;
    float log2_amax;

    static __device__ __forceinline__ hardware_reader load(typename Codec::scale_code_type amax, uint8_t exponent)
    {
        float log2_amax;
        // NaN stays NaN in its way through hardware math; no need to find it.
        if constexpr (standard::is_same_v<typename Codec::scale_format, float32>)
            log2_amax = hardware_log2(float_of(amax));
        else log2_amax = hardware_log2(gesso::decode<typename Codec::scale_format>(amax));
        if constexpr (Expansion::needs_amin) {
            // Zero bytes are zeros: there k must only be finite.
            const float sixteenths = static_cast<float>(exponent == 0 ? uint8_t{1} : exponent);
            return {hardware_reciprocal(sixteenths) * Expansion::denominator, log2_amax};
        } else {
            return {static_cast<float>(Expansion::denominator) / Expansion::numerator, log2_amax};
        }
    }
};
template<class Codec>
struct hardware_reader<Codec, identity> {
    typename Codec::parameters with;

    static __device__ __forceinline__ hardware_reader load(typename Codec::scale_code_type scale, uint8_t)
    {
        if constexpr (Codec::has_scale) {
            hardware_reader result;
            result.with.scale = gesso::decode<typename Codec::scale_format>(scale);
            return result;
        } else {
            return {};
        }
    }
};

// How codes are made of values in hardware math: bent = 2^(k log2|x| + offset).
template<class Codec, class Expansion = typename Codec::expansion>
struct hardware_writer {
    float k;
    float offset;
    float curvature;     // 1 - 1/k
    uint32_t amax_bits;  // as stored: 0 for an all-zero group
    int numerator;
    bool reaches_subnormals;  // may a bent element be rounded to a subnormal code or to zero?
};
template<class Codec>
struct hardware_writer<Codec, identity> {
    typename Codec::parameters with;
};

// 16 k of dynamic_power::sixteenths, the same for every group: by the special-function unit where its error cannot matter,
// else by the integer way. amax_bits >= amin_bits >= 2^-126.
template<class Format, class Expansion>
__device__ __forceinline__ int sixteenths_of(uint32_t amax_bits, uint32_t amin_bits)
{
    const auto fraction = [](uint32_t bits) { return hardware_log2(float_of((bits & 0x7FFFFFu) | 0x3F800000u)); };
    const float whole = static_cast<float>(static_cast<int>(amax_bits >> 23) - static_cast<int>(amin_bits >> 23));
    const float spread = whole + (fraction(amax_bits) - fraction(amin_bits));
    constexpr float bound =
        static_cast<float>(Expansion::rule::template log2_bound<Format>()) * 0x1p-19f;  // 16 log2(bound)
    const float inverse = hardware_reciprocal(spread);
    const float quotient = hardware_fused_multiply_add(bound, inverse, 0x1p-13f);
    // |error of spread| < 6e-7 + 2e-7 spread, and three roundings: a distance of less than this from a whole number is not
    // to be trusted.
    const float doubt = quotient * (1.5e-6f * inverse + 1e-6f);
    // To the nearest whole number by adding 1.5 * 2^23; the special-function unit would do it, but has enough to do.
    const float limited = fminf(quotient, 300.0f);
    const float based = limited + 0x1.8p23f;
    const float nearest = based - 0x1.8p23f;
    if (fabsf(limited - nearest) < doubt && limited < 256.5f) {
        return Expansion::template sixteenths<Format>(log2_fixed(amax_bits) - log2_fixed(amin_bits));
    }
    const int floored = static_cast<int>(bits_of(based) - 0x4B400000u) - (nearest > limited ? 1 : 0);
    const int raised = floored < Expansion::rule::min_sixteenths ? Expansion::rule::min_sixteenths : floored;
    return raised > Expansion::rule::max_sixteenths ? Expansion::rule::max_sixteenths : raised;
}

// Nonzero in the top bit of a byte: the word has codes that the short way to decode does not take: zero, subnormal,
// infinity or NaN. May say yes too often, never no. Format has 8 bits.
template<class Format>
__device__ __forceinline__ uint32_t special_codes(uint32_t word)
{
    constexpr uint32_t bytes = 0x01010101u;
    if constexpr (Format::sign_bits == 1) {
        const uint32_t magnitudes = word & (Format::magnitude_mask * bytes);
        const uint32_t below_normal = magnitudes - (bytes << Format::mantissa_bits);
        return below_normal | (magnitudes + (0x7Fu - Format::max_code) * bytes);
    } else {
        static_assert(Format::special_values == special::finite_nan);
        constexpr uint32_t exponent_mask = (Format::magnitude_mask & ~((1u << Format::mantissa_bits) - 1u)) * bytes;
        const uint32_t field = word & exponent_mask;
        const uint32_t below_normal = field - (bytes << Format::mantissa_bits);
        return (below_normal & ~field) | ((~word - bytes) & word);
    }
}

// The logarithms of four codes in a word, without the special-function unit: by table, from the mantissa alone, beside the
// exponent. Format has 8 bits and at most 4 of mantissa, a code is in the normal range. A logarithm is a float that holds
// 2^23 + fixed, where fixed = 2^scale_bits (log2 value + bias): its bytes are 0x4B, the head of the code, and a table entry
// of 16 bits.
template<class Format>
struct code_logarithms {
    // With up to 3 bits of mantissa behind a sign the code itself is the head, and the entry is what log2(1 + f) is above f;
    // else the exponent is the head and the entry is all of log2(1 + f).
    static constexpr bool keeps_code = Format::sign_bits == 1 && Format::mantissa_bits <= 3;
    static constexpr int scale_bits = keeps_code ? 16 + Format::mantissa_bits : 16;
    static constexpr float scale = static_cast<float>(1 << scale_bits);
    // What is to be taken from a logarithm in units of log2: 2^23 and the bias.
    static constexpr float base = 0x1p23f / scale + static_cast<float>(Format::bias);

    // fixed + 2^23 of four codes.
    static __device__ __forceinline__ void of(uint32_t word, float (&logarithms)[4])
    {
        constexpr uint32_t bytes = 0x01010101u;
        uint32_t heads = word & (Format::magnitude_mask * bytes);
        if constexpr (!keeps_code)
            heads = word >> Format::mantissa_bits & ((Format::magnitude_mask >> Format::mantissa_bits) * bytes);
        const uint32_t low = entries(word, 0);
        const uint32_t high = entries(word, 1);
        const uint32_t first_pair = __byte_perm(low, high, 0x5140);
        const uint32_t second_pair = __byte_perm(low, high, 0x7362);
        const uint32_t first_heads = __byte_perm(heads, 0x4B4B4B4Bu, 0x4140);
        const uint32_t second_heads = __byte_perm(heads, 0x4B4B4B4Bu, 0x4342);
        logarithms[0] = float_of(__byte_perm(first_pair, first_heads, 0x5410));
        logarithms[1] = float_of(__byte_perm(first_pair, first_heads, 0x7632));
        logarithms[2] = float_of(__byte_perm(second_pair, second_heads, 0x5410));
        logarithms[3] = float_of(__byte_perm(second_pair, second_heads, 0x7632));
    }

private:
    static constexpr GESSO_HOST_DEVICE uint32_t entry(int mantissa)
    {
        const uint32_t fraction = static_cast<uint32_t>(mantissa) << (23 - Format::mantissa_bits) & 0x7FFFFFu;
        const uint32_t logarithm = static_cast<uint32_t>(log2_fixed(0x3F800000u | fraction));
        constexpr int shift = 23 - scale_bits;
        return ((keeps_code ? logarithm - fraction : logarithm) + (1u << (shift - 1))) >> shift;
    }
    // Byte `byte` of four entries, in a word.
    static constexpr GESSO_HOST_DEVICE uint32_t table(int first, int byte)
    {
        uint32_t word = 0;
        for (int i = 0; i < 4; ++i) word |= ((entry(first + i) >> (8 * byte)) & 0xFFu) << (8 * i);
        return word;
    }
    // Byte `byte` of the entries of four codes.
    static __device__ __forceinline__ uint32_t entries(uint32_t word, int byte)
    {
        // One nibble a code selects from eight bytes (with fewer mantissa bits, from the first of them).
        constexpr uint32_t mantissa_bits = Format::mantissa_bits < 3 ? Format::mantissa_bits : 3;
        uint32_t selector = word & (((1u << mantissa_bits) - 1u) * 0x01010101u);
        selector = __byte_perm(selector | (selector >> 4), 0u, 0x4420);
        const uint32_t lower = __byte_perm(table(0, byte), table(4, byte), selector);
        if constexpr (Format::mantissa_bits < 4) {
            return lower;
        } else {
            const uint32_t upper = __byte_perm(table(8, byte), table(12, byte), selector);
            // A byte of ones where the fourth bit is set: the instruction can repeat a sign, __byte_perm() cannot.
            uint32_t is_upper;
            asm("prmt.b32 %0, %1, 0, 0xBA98;" : "=r"(is_upper) : "r"(word << 4));
            return (upper & is_upper) | (lower & ~is_upper);
        }
    }
};

// A code of 8 bits to its value by one product: the code's fields, put where fp32 has its own, are the value times a
// power of two, a denormal where the code is subnormal.
template<class Format>
__device__ __forceinline__ float decode_by_product(uint32_t code)
{
    const uint32_t magnitude = code & Format::magnitude_mask;
    const uint32_t sign = (code & Format::sign_mask) << (32 - Format::bits);
    constexpr uint32_t lift = static_cast<uint32_t>(254 - Format::bias) << 23;
    const float value = multiply(float_of(sign | (magnitude << (23 - Format::mantissa_bits))), float_of(lift));
    return magnitude > uint32_t{Format::max_code} ? float_of(0x7FFFFFFFu) : value;
}

// The value whose nearest code is what Underflow wants: its own code in the normal range.
template<class Format, class Underflow>
__device__ __forceinline__ float settle_underflow(float scaled, bool nonzero)
{
    if constexpr (standard::is_same_v<Underflow, keep>) {
        constexpr float smallest = Format::min_positive();
        return nonzero && fabsf(scaled) < smallest ? copysignf(smallest, scaled) : scaled;
    } else if constexpr (standard::is_same_v<Underflow, flush>) {
        // Half a step below the smallest normal number rounds up to it.
        constexpr float edge = Format::min_normal() - 0.5f * Format::min_positive();
        return fabsf(scaled) < edge ? scaled * 0.0f : scaled;
    } else {
        return scaled;
    }
}

// The value of a code nearest to `scaled` and not above it in magnitude, so that rounding leaves it there.
template<class Format, class Underflow>
__device__ __forceinline__ float toward_zero_code(float scaled)
{
    const float magnitude = fabsf(scaled);
    if (magnitude >= Format::min_normal())
        return float_of(bits_of(scaled) & ~((1u << (23 - Format::mantissa_bits)) - 1u));
    if constexpr (standard::is_same_v<Underflow, flush>) return scaled * 0.0f;
    // Beside this number the last bit is one subnormal step.
    constexpr float base = Format::min_positive() * 0x1p23f;
    return copysignf(__fadd_rz(magnitude, base) - base, scaled);
}

}  // namespace detail

}  // namespace gesso
