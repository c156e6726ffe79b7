// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The functions that operators are made of, on fp32 numbers: sigmoid, the normal distribution, a power's reciprocal root.
//
// Math is exact_math (the host's exp and erfc, IEEE division) or hardware_math (the special-function unit on a device; on
// the host the same formulas with exp and division, so that they can be tested there). The default is what the compiled
// side has. Errors, relative unless stated, for results of at least 2^-100 (below, results may be flushed to zero):
//   exponential       exact 2^-23; hardware (3 + |x|) 2^-23
//   sigmoid           exact 2^-22; hardware (6 + |x|) 2^-23
//   upper_tail        exact 2^-21; hardware (10 + x^2) 2^-23
// Every NaN stays NaN. docs/numerics.md, section Operators.
#pragma once

#include <gesso/encoding/convert.hpp>

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace gesso {

#if defined(__CUDA_ARCH__)
using operator_math = hardware_math;
#else
using operator_math = exact_math;
#endif

// 1 / value. Zero becomes infinity, infinity zero.
template<class Math = operator_math>
GESSO_HOST_DEVICE inline float reciprocal(float value)
{
#if defined(__CUDA_ARCH__)
    if constexpr (standard::is_same_v<Math, hardware_math>) {
        float result;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
        return result;
    } else
#endif
    {
        return divide(1.0f, value);
    }
}

// e^(sign value), sign 1 or -1: on a device a sign is free in the product. Zero where that is minus infinity, infinity from
// 88.8 up.
template<class Math = operator_math, int Sign = 1>
GESSO_HOST_DEVICE inline float exponential(float value)
{
#if defined(__CUDA_ARCH__)
    if constexpr (standard::is_same_v<Math, hardware_math>) {
        float result;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(multiply(value, Sign * 1.44269504f)));
        return result;
    } else {
        return expf(multiply(value, static_cast<float>(Sign)));
    }
#elif defined(__CUDACC_RTC__)
    return value;  // never called: NVRTC compiles device code alone
#else
    return std::exp(multiply(value, static_cast<float>(Sign)));
#endif
}

// 1 / (1 + e^-value): 1 from 17 up, 0 from -89 down, infinities included.
template<class Math = operator_math>
GESSO_HOST_DEVICE inline float sigmoid(float value)
{
    return reciprocal<Math>(add(1.0f, exponential<Math, -1>(value)));
}

// 1 - value, rounded once. (On a device a sign costs nothing in a fused operation.)
GESSO_HOST_DEVICE inline float complement(float value) { return fused_multiply_add(value, -1.0f, 1.0f); }

// The share of a standard normal distribution above |value|, and its density there: Q(|x|) and e^(-x^2 / 2) / sqrt(2 pi).
struct normal_at {
    float upper_tail;
    float density;

    // Its share below `value`, which must be the number that this is of.
    GESSO_HOST_DEVICE float below(float value) const
    {
        return value < 0.0f ? upper_tail : complement(upper_tail);
    }
};
// Hardware: Q(x) = e^(-x^2 / 2) t P(t) with t = 1 / (1 + 0.23 x) and P of degree 7, the minimax of the relative error on
// [0, 14] (1.8e-7; beyond, the result is below fp32). One exponential serves both numbers.
template<class Math = operator_math>
GESSO_HOST_DEVICE inline normal_at normal_distribution(float value)
{
    const float x = float_of(magnitude_bits(value));
    const float bell = exponential<Math>(multiply(multiply(x, x), -0.5f));
    const float density = multiply(bell, 0.398942280f);
#if !defined(__CUDA_ARCH__) && !defined(__CUDACC_RTC__)
    if constexpr (standard::is_same_v<Math, exact_math>) {
        return {multiply(0.5f, std::erfc(multiply(x, 0.707106781f))), density};
    }
#endif
    const float t = reciprocal<Math>(fused_multiply_add(x, 0.23f, 1.0f));
    float sum = -0.07299259305000305f;
    sum = fused_multiply_add(sum, t, 0.26498016715049744f);
    sum = fused_multiply_add(sum, t, -0.22797800600528717f);
    sum = fused_multiply_add(sum, t, 0.24676261842250824f);
    sum = fused_multiply_add(sum, t, 0.0031373733654618263f);
    sum = fused_multiply_add(sum, t, 0.10483385622501373f);
    sum = fused_multiply_add(sum, t, 0.08936507999897003f);
    sum = fused_multiply_add(sum, t, 0.0918915793299675f);
    return {multiply(multiply(bell, t), sum), density};
}

// 1 / sqrt(value), by the exact operations on both sides: within one unit in the last place. Once a row, so never a cost.
GESSO_HOST_DEVICE inline float reciprocal_root(float value) { return divide(1.0f, square_root(value)); }

// value rounded to nearest in Format (bfloat16, float16, float32), as storing it does: infinite beyond its range.
template<class Format>
GESSO_HOST_DEVICE inline float rounded_to(float value)
{
    if constexpr (standard::is_same_v<Format, float32>) {
        return value;
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        if constexpr (standard::is_same_v<Format, bfloat16>) {
            uint32_t pair;
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(value), "f"(0.0f));
            return float_of(pair & 0xFFFF0000u);
        }
#endif
        return decode<Format>(encode<Format>(value, nearest_even{}, gradual{}, nonsaturating{}));
    }
}

}  // namespace gesso
