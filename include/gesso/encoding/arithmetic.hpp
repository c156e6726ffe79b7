// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The operations that give the same bits under any compiler and any flags: five named fp32 operations that are never
// contracted, reordered or flushed, and log2 and exp2 in integers.
//
// On the device the five are PTX instructions without .ftz and with their rounding spelled out, which --use_fast_math
// cannot reach. On the host they are the plain operators, and the rule that keeps a compiler from contracting them is
// the caller's: a product that goes into a sum is written as fused_multiply_add, never as add(multiply(a, b), c).
#pragma once

#include <gesso/config.hpp>
#include <gesso/encoding/format.hpp>

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace gesso {

// How the two transcendental functions of an expansion are computed. `exact_math`: in integers, the same bits
// everywhere. `hardware_math`: the special-function unit on a device (the same as exact on the host).
struct exact_math {};
struct hardware_math {};

// |value| as bits: ordered like the magnitudes, infinity 0x7F800000, every NaN above it.
constexpr GESSO_HOST_DEVICE uint32_t magnitude_bits(float value) { return bits_of(value) & 0x7FFFFFFFu; }
constexpr GESSO_HOST_DEVICE bool is_finite(float value) { return magnitude_bits(value) < 0x7F800000u; }
constexpr GESSO_HOST_DEVICE bool is_nan(float value) { return magnitude_bits(value) > 0x7F800000u; }

// Sign changes and comparisons on the bits: under --use_fast_math a device's own would flush denormals.
constexpr GESSO_HOST_DEVICE float negate(float value) { return float_of(bits_of(value) ^ 0x80000000u); }
constexpr GESSO_HOST_DEVICE bool is_zero(float value) { return magnitude_bits(value) == 0; }
// Above zero, infinity included, NaN not.
constexpr GESSO_HOST_DEVICE bool is_positive(float value) { return bits_of(value) - 1u < 0x7F800000u; }
// Is a below b? Precondition: a is zero or positive and not -0; neither is NaN. b may be negative.
constexpr GESSO_HOST_DEVICE bool is_below(float a, float b)
{
    return static_cast<int32_t>(bits_of(a)) < static_cast<int32_t>(bits_of(b));
}

// value, with a denormal number turned into a zero of its sign. Decided on the bits, so that a flushing mode of the
// processor cannot change what follows.
constexpr GESSO_HOST_DEVICE float flush_denormal(float value)
{
    return magnitude_bits(value) < 0x00800000u ? float_of(bits_of(value) & 0x80000000u) : value;
}

namespace detail {

// Host -ffast-math lets the compiler split an fma and replace a division, so no order of operations is safe in it.
template<class>
constexpr bool host_arithmetic_is_exact =
#if defined(__CUDA_ARCH__)
    true;
#elif defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(_M_FP_FAST)
    false;
#else
    true;
#endif

template<class Tag>
constexpr GESSO_HOST_DEVICE void require_exact_host_arithmetic()
{
    static_assert(host_arithmetic_is_exact<Tag>,
        "gesso: exact arithmetic cannot be compiled for the host with -ffast-math or -Ofast; drop the flag for this file");
}

}  // namespace detail

// a * b, correctly rounded.
template<class Tag = exact_math>
GESSO_HOST_DEVICE inline float multiply(float a, float b)
{
    detail::require_exact_host_arithmetic<Tag>();
#if defined(__CUDA_ARCH__)
    float result;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a * b;
#endif
}

// a + b, correctly rounded. Never of a product: see the head of this file.
template<class Tag = exact_math>
GESSO_HOST_DEVICE inline float add(float a, float b)
{
    detail::require_exact_host_arithmetic<Tag>();
#if defined(__CUDA_ARCH__)
    float result;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a + b;
#endif
}

// a * b + c with one rounding.
template<class Tag = exact_math>
GESSO_HOST_DEVICE inline float fused_multiply_add(float a, float b, float c)
{
    detail::require_exact_host_arithmetic<Tag>();
#if defined(__CUDA_ARCH__)
    float result;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
#else
    return std::fma(a, b, c);
#endif
}

// a / b, correctly rounded.
template<class Tag = exact_math>
GESSO_HOST_DEVICE inline float divide(float a, float b)
{
    detail::require_exact_host_arithmetic<Tag>();
#if defined(__CUDA_ARCH__)
    float result;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a / b;
#endif
}

// The square root of a, correctly rounded; NaN below zero.
template<class Tag = exact_math>
GESSO_HOST_DEVICE inline float square_root(float a)
{
    detail::require_exact_host_arithmetic<Tag>();
#if defined(__CUDA_ARCH__)
    float result;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
#else
    return std::sqrt(a);
#endif
}

namespace detail {

// Row j, for the centre c = 1 + (j + 1/2) / 32 of the j-th of 32 slices of [1, 2):
//   reciprocal = round(2^15 / c), negative_log2 = round(-log2(reciprocal / 2^15) * 2^31).
// The logarithm is of the rounded reciprocal, so the rounding costs nothing. tests/encoding/arithmetic_test derives it.
struct log2_row {
    uint32_t reciprocal;
    uint32_t negative_log2;
};

struct log2_table {
    log2_row rows[32];
};
constexpr GESSO_HOST_DEVICE log2_table make_log2_table()
{
    return {{
        {32264, 48022694u}, {31301, 141903296u}, {30394, 233004268u}, {29537, 321616424u},
        {28728, 407656955u}, {27962, 491387351u}, {27236, 572890187u}, {26546, 652390781u},
        {25891, 729794255u}, {25267, 805377750u}, {24672, 879207616u}, {24105, 951239029u},
        {23564, 1021564762u}, {23046, 1090430458u}, {22550, 1157837685u}, {22075, 1223795489u},
        {21620, 1288320747u}, {21183, 1351584757u}, {20764, 1413480668u}, {20361, 1474202860u},
        {19973, 1533811365u}, {19600, 1592217318u}, {19240, 1649651458u}, {18893, 1706037925u},
        {18559, 1761298751u}, {18236, 1815693787u}, {17924, 1869159006u}, {17623, 1921628675u},
        {17332, 1973214231u}, {17050, 2024037443u}, {16777, 2074045847u}, {16513, 2123185675u},
    }};
}

// Row j: round(2^(j / 32) * 2^31).
struct exp2_table {
    uint32_t rows[32];
};
constexpr GESSO_HOST_DEVICE exp2_table make_exp2_table()
{
    return {{
        2147483648u, 2194507417u, 2242560872u, 2291666561u, 2341847524u, 2393127307u, 2445529972u, 2499080105u,
        2553802834u, 2609723834u, 2666869345u, 2725266179u, 2784941738u, 2845924021u, 2908241642u, 2971923842u,
        3037000500u, 3103502151u, 3171459999u, 3240905930u, 3311872529u, 3384393094u, 3458501653u, 3534232978u,
        3611622603u, 3690706840u, 3771522796u, 3854108391u, 3938502376u, 4024744348u, 4112874773u, 4202935003u,
    }};
}

// At run time a row is read from one static table: a local one would be copied to each thread's stack. (C++17 allows no
// static variable in a constexpr function, hence two functions.)
GESSO_HOST_DEVICE inline log2_row static_log2_row(uint32_t slice)
{
    static constexpr log2_table table = make_log2_table();
    return table.rows[slice];
}
GESSO_HOST_DEVICE inline uint32_t static_exp2_row(uint32_t slice)
{
    static constexpr exp2_table table = make_exp2_table();
    return table.rows[slice];
}
constexpr GESSO_HOST_DEVICE log2_row log2_row_of(uint32_t slice)
{
    if (__builtin_is_constant_evaluated()) return make_log2_table().rows[slice];
    return static_log2_row(slice);
}
constexpr GESSO_HOST_DEVICE uint32_t exp2_row_of(uint32_t slice)
{
    if (__builtin_is_constant_evaluated()) return make_exp2_table().rows[slice];
    return static_exp2_row(slice);
}

}  // namespace detail

// log2 of a positive normal fp32 number, given as its bits: a signed fixed-point number in units of 2^-23.
// Precondition: 0x00800000 <= bits < 0x7F800000. Error at most 0.51 units; exact for powers of two; monotone.
constexpr GESSO_HOST_DEVICE int32_t log2_fixed(uint32_t bits)
{
    const int32_t exponent = static_cast<int32_t>(bits >> 23) - 127;
    const uint32_t significand = (bits & 0x7FFFFFu) | 0x800000u;
    const detail::log2_row row = detail::log2_row_of((bits >> 18) & 31u);
    // significand * reciprocal = 2^38 * (1 + r) with |r| < 2^-5.9; r in units of 2^-31.
    const int64_t product = static_cast<int64_t>(uint64_t{significand} * row.reciprocal) - (int64_t{1} << 38);
    const int64_t r = product >> 7;
    // log2(1 + r) = r / ln 2 * (1 - r/2 + r^2/3 - r^3/4), coefficients in units of 2^-30; the next term is below 2^-31.
    int64_t sum = -387270501;
    sum = 516360668 + ((r * sum) >> 31);
    sum = -774541002 + ((r * sum) >> 31);
    sum = 1549082005 + ((r * sum) >> 31);
    const int64_t fraction = int64_t{row.negative_log2} + ((r * sum) >> 30);
    return exponent * (int32_t{1} << 23) + static_cast<int32_t>((fraction + 128) >> 8);
}

// 2 to the power of `exponent`, a signed fixed-point number in units of 2^-27. Zero below 2^-126.
// Precondition: the result is below 2^128. Error at most 0.51 units in the last place; exact for whole exponents.
constexpr GESSO_HOST_DEVICE float exp2_fixed(int64_t exponent)
{
    const int64_t whole = exponent >> 27;
    if (whole < -126) return 0.0f;
    const uint32_t fraction = static_cast<uint32_t>(exponent & 0x7FFFFFF);
    const uint64_t power = detail::exp2_row_of(fraction >> 22);
    // 2^u for u < 2^-5 by four terms of the exponential series in z = u ln 2: sums in units of 2^-31, z and the growth
    // 2^u - 1 in units of 2^-36.
    const uint64_t z = (uint64_t{fraction & 0x3FFFFFu} * 1488522236u) >> 22;
    uint64_t sum = (uint64_t{1} << 31) + (z >> 7);
    sum = (uint64_t{1} << 31) + ((z * sum) >> 36) / 3u;
    sum = (uint64_t{1} << 31) + ((z * sum) >> 37);
    const uint64_t growth = (z * sum) >> 31;
    const uint64_t significand = power + ((power * growth + (uint64_t{1} << 35)) >> 36);
    const uint32_t rounded = static_cast<uint32_t>((significand + 128u) >> 8);
    return float_of((static_cast<uint32_t>(whole + 126) << 23) + rounded);
}

}  // namespace gesso
