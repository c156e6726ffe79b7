// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The functions that operators are made of, on fp32 numbers: sigmoid, the normal distribution, a power's reciprocal root.
//
// Math is exact_math (the host's exp and erfc, IEEE division) or hardware_math (the special-function unit on a device; on
// the host the same formulas with exp and division, so that they can be tested there). The default is what the compiled
// side has. Errors, relative unless stated, for results of at least 2^-100 (below, results may be flushed to zero):
//   exponential       exact 2^-23; hardware (3 + |x|) 2^-23
//   sigmoid           exact 2^-22; hardware (6 + |x|) 2^-23
//   density           exact 2^-21; hardware (6 + x^2) 2^-23
//   upper_tail        exact 2^-21; hardware 2^-16 up to |x| = 6.5, beyond 2^-48 absolutely (it is below 2^-34 there)
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

// 2^value. Zero at minus infinity, infinity from 128 up.
template<class Math = operator_math>
GESSO_HOST_DEVICE inline float power_of_two(float value)
{
#if defined(__CUDA_ARCH__)
    if constexpr (standard::is_same_v<Math, hardware_math>) {
        float result;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
        return result;
    } else {
        return exp2f(value);
    }
#elif defined(__CUDACC_RTC__)
    return value;  // never called: NVRTC compiles device code alone
#else
    return std::exp2(value);
#endif
}

// e^(sign value), sign 1 or -1: on a device a sign is free in the product. Zero where that is minus infinity, infinity from
// 88.8 up.
template<class Math = operator_math, int Sign = 1>
GESSO_HOST_DEVICE inline float exponential(float value)
{
    constexpr float sign = static_cast<float>(Sign);
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
    if constexpr (standard::is_same_v<Math, hardware_math>)
        return power_of_two<Math>(multiply(value, sign * 1.44269504f));
    else return expf(multiply(value, sign));
#else
    return std::exp(multiply(value, sign));
#endif
}

// 1 / (1 + e^-value): 1 from 17 up, 0 from -89 down, infinities included.
template<class Math = operator_math>
GESSO_HOST_DEVICE inline float sigmoid(float value)
{
    return reciprocal<Math>(add(1.0f, exponential<Math, -1>(value)));
}

// |value|. (A device's own instruction, since it goes into one that takes it where it can.)
GESSO_HOST_DEVICE inline float magnitude(float value)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("abs.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
#else
    return float_of(magnitude_bits(value));
#endif
}

// The larger of value and 0; 0 for NaN.
GESSO_HOST_DEVICE inline float positive_part(float value)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("max.f32 %0, %1, 0f00000000;" : "=f"(result) : "f"(value));
    return result;
#else
    return value > 0.0f ? value : 0.0f;
#endif
}

// 1 - value, rounded once. (On a device a sign costs nothing in a fused operation.)
GESSO_HOST_DEVICE inline float complement(float value) { return fused_multiply_add(value, -1.0f, 1.0f); }

// The share of a standard normal distribution above |value|: Q(|x|).
// Hardware: 2^P(|x|) with P of degree 7, the minimax of the error of log2 Q on [0, 6.5]. Beyond, P falls as Q does, and faster
// at last: one exponential, no division, no range to ask for. (Degree 5 leaves 12 bits, enough for what goes into 8 or 16; it
// was 6 % faster from codes to codes, but fp32 results are asked for as well.) NaN at the infinities.
template<class Math = operator_math>
GESSO_HOST_DEVICE inline float upper_tail(float value)
{
    const float x = magnitude(value);
#if !defined(__CUDA_ARCH__) && !defined(__CUDACC_RTC__)
    if constexpr (standard::is_same_v<Math, exact_math>) {
        return multiply(0.5f, std::erfc(multiply(x, 0.707106781f)));
    }
#endif
    float power = -1.757776090016705e-06f;
    power = fused_multiply_add(power, x, 5.993656668579206e-05f);
    power = fused_multiply_add(power, x, -0.000916362798307091f);
    power = fused_multiply_add(power, x, 0.008447384461760521f);
    power = fused_multiply_add(power, x, -0.05382449924945831f);
    power = fused_multiply_add(power, x, -0.4586157202720642f);
    power = fused_multiply_add(power, x, -1.1511801481246948f);
    power = fused_multiply_add(power, x, -1.0000038146972656f);
    return power_of_two<Math>(power);
}

// Its density at value: e^(-x^2 / 2) / sqrt(2 pi).
template<class Math = operator_math>
GESSO_HOST_DEVICE inline float normal_density(float value)
{
    const float square = multiply(value, value);
    if constexpr (standard::is_same_v<Math, exact_math>) {
        return multiply(exponential<Math>(multiply(square, -0.5f)), 0.398942280f);
    } else {
        return power_of_two<Math>(fused_multiply_add(square, -0.721347520f, -1.32574806f));
    }
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
