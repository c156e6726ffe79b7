// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device's own approximations and conversions, for hardware_math. Denormals are flushed, as everywhere in moments.
// Errors are those of the PTX instructions: lg2 2^-22 absolute on [1/2, 2] and relative beyond, ex2 2^-22, rcp and sqrt
// within one unit in the last place or two. Source: PTX ISA, section Floating point instructions.
#pragma once

#include <gesso/encoding/convert.hpp>

namespace gesso {

namespace detail {

__device__ __forceinline__ float hardware_log2(float value)
{
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
__device__ __forceinline__ float hardware_exp2(float value)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
__device__ __forceinline__ float hardware_reciprocal(float value)
{
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
__device__ __forceinline__ float hardware_square_root(float value)
{
    float result;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}
__device__ __forceinline__ float hardware_multiply(float a, float b)
{
    float result;
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
__device__ __forceinline__ float hardware_add(float a, float b)
{
    float result;
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
__device__ __forceinline__ float hardware_fused_multiply_add(float a, float b, float c)
{
    float result;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
}

// The smaller number; NaN where one is NaN (fminf takes the other).
__device__ __forceinline__ float minimum_or_nan(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a < b ? a : (b == b ? (a == a ? b : a) : b);
#endif
}

// The format of the conversion instruction that Format's is, if any.
enum class converts_as { nothing, e4m3, e5m2 };
template<class Format>
constexpr converts_as hardware_format =
    Format::sign_bits != 1 ? converts_as::nothing
    : Format::exponent_bits == 4 && Format::mantissa_bits == 3 && Format::special_values == special::finite_nan
        ? converts_as::e4m3
    : Format::exponent_bits == 5 && Format::mantissa_bits == 2 && Format::special_values == special::ieee
        ? converts_as::e5m2
        : converts_as::nothing;

// Where the software path is to be taken even on a device that has the instruction: for tests and comparisons.
struct software_conversion {};
struct hardware_conversion {};

// Two numbers to two 8-bit codes, `low` in the low byte: to nearest, gradual, saturating. By the device's instruction
// where there is one (sm_89 and later), else by encode(); the codes are the same.
template<class Format, class Conversion = hardware_conversion>
__device__ __forceinline__ uint32_t encode_pair(float low, float high)
{
    static_assert(Format::bits == 8);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    constexpr bool by_instruction = standard::is_same_v<Conversion, hardware_conversion>;
    if constexpr (by_instruction && hardware_format<Format> == converts_as::e4m3) {
        uint16_t codes;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
        return codes;
    } else if constexpr (by_instruction && hardware_format<Format> == converts_as::e5m2) {
        uint16_t codes;
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
        return codes;
    } else
#endif
    {
        return uint32_t{encode<Format>(low)} | (uint32_t{encode<Format>(high)} << 8);
    }
}

__device__ __forceinline__ float decode_fp16(uint32_t code)
{
    float result;
    asm("{.reg .b16 c; cvt.u16.u32 c, %1; cvt.f32.f16 %0, c;}" : "=f"(result) : "r"(code));
    return result;
}

// Two 8-bit codes, the first in the low byte, to their numbers: by the device's instruction where there is one (sm_89 and
// later), else by decode(); the numbers are the same.
struct number_pair {
    float low, high;
};
template<class Format, class Conversion = hardware_conversion>
__device__ __forceinline__ number_pair decode_pair(uint32_t codes)
{
    static_assert(Format::bits == 8);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if constexpr (standard::is_same_v<Conversion,
                      hardware_conversion> && hardware_format<Format> != converts_as::nothing) {
        number_pair pair;
        if constexpr (hardware_format<Format> == converts_as::e4m3) {
            asm("{.reg .b16 c, l, h; .reg .b32 p; cvt.u16.u32 c, %2; cvt.rn.f16x2.e4m3x2 p, c; mov.b32 {l, h}, p; "
                "cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
                : "=f"(pair.low), "=f"(pair.high)
                : "r"(codes));
        } else {
            asm("{.reg .b16 c, l, h; .reg .b32 p; cvt.u16.u32 c, %2; cvt.rn.f16x2.e5m2x2 p, c; mov.b32 {l, h}, p; "
                "cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
                : "=f"(pair.low), "=f"(pair.high)
                : "r"(codes));
        }
        return pair;
    } else
#endif
    {
        return {decode<Format>(static_cast<typename Format::code_type>(codes & 0xFFu)),
            decode<Format>(static_cast<typename Format::code_type>(codes >> 8 & 0xFFu))};
    }
}

// The same of the four codes of a word: the instruction takes a word's upper half as it is.
template<class Format>
__device__ __forceinline__ void decode_word(uint32_t codes, float* values)
{
    static_assert(Format::bits == 8);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if constexpr (hardware_format<Format> == converts_as::e4m3) {
        asm("{.reg .b16 a, b; .reg .b32 p, q; mov.b32 {a, b}, %4; cvt.rn.f16x2.e4m3x2 p, a; cvt.rn.f16x2.e4m3x2 q, b; "
            "mov.b32 {a, b}, p; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; "
            "mov.b32 {a, b}, q; cvt.f32.f16 %2, a; cvt.f32.f16 %3, b;}"
            : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
            : "r"(codes));
        return;
    } else if constexpr (hardware_format<Format> == converts_as::e5m2) {
        asm("{.reg .b16 a, b; .reg .b32 p, q; mov.b32 {a, b}, %4; cvt.rn.f16x2.e5m2x2 p, a; cvt.rn.f16x2.e5m2x2 q, b; "
            "mov.b32 {a, b}, p; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; "
            "mov.b32 {a, b}, q; cvt.f32.f16 %2, a; cvt.f32.f16 %3, b;}"
            : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
            : "r"(codes));
        return;
    }
#endif
    const number_pair low = decode_pair<Format>(codes);
    const number_pair high = decode_pair<Format>(codes >> 16);
    values[0] = low.low;
    values[1] = low.high;
    values[2] = high.low;
    values[3] = high.high;
}

// a / Format's max, correctly rounded, without a division: one step of Newton's from the product with the reciprocal
// (Markstein's theorem: the reciprocal of a constant is correctly rounded). a is at least the floor of scaled groups.
template<class Format>
__device__ __forceinline__ float divide_by_max(float a)
{
    constexpr float reciprocal = 1.0f / (Format::max)();
    const float quotient = multiply(a, reciprocal);
    return fused_multiply_add(fused_multiply_add(negate(quotient), (Format::max)(), a), reciprocal, quotient);
}
// 1 / a, correctly rounded.
__device__ __forceinline__ float reciprocal_of(float a)
{
    float result;
    asm("rcp.rn.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
}

// The same where neither a nor 1 / a is denormal, zero or infinite; NaN stays NaN.
__device__ __forceinline__ float reciprocal_of_normal(float a)
{
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return fused_multiply_add(result, fused_multiply_add(-a, result, 1.0f), result);
}

// fp32 to two bf16 in one word, `low` in the low half: to nearest. NaN becomes 0x7FFF, as encode() makes it.
__device__ __forceinline__ uint32_t encode_bf16_pair(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t codes;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(codes) : "f"(high), "f"(low));
    return codes;
#else
    return uint32_t{encode<bfloat16>(low, nearest_even{}, gradual{}, nonsaturating{})}
           | (uint32_t{encode<bfloat16>(high, nearest_even{}, gradual{}, nonsaturating{})} << 16);
#endif
}
__device__ __forceinline__ uint32_t encode_fp16_pair(float low, float high)
{
    uint32_t codes;
    asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
        : "=r"(codes)
        : "f"(low), "f"(high));
    return codes;
}
}  // namespace detail

}  // namespace gesso
