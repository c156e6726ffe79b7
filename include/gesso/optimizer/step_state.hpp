// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What an optimizer step needs to know beside the tensors, and how it goes from one step to the next. In double
// precision, once a step, so that kernels need no powers and no host sees a rounded 1 - beta.
#pragma once

#include <gesso/encoding/arithmetic.hpp>

namespace gesso {

// Hyperparameters of AdamW, in torch's terms and with torch's defaults.
struct adamw_configuration {
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;  // outside the root, after bias correction
    double weight_decay = 1e-2;  // decoupled: applied to the parameter before the update
};

// A configuration is valid when 0 <= beta < 1, everything is finite and nothing is negative. epsilon may be 0.
inline GESSO_HOST_DEVICE bool is_valid(const adamw_configuration& with)
{
    const double largest = 1.7976931348623157e308;
    return with.learning_rate >= 0 && with.learning_rate <= largest && with.epsilon >= 0 && with.epsilon <= largest
        && with.weight_decay >= 0 && with.weight_decay <= largest && with.beta1 >= 0 && with.beta1 < 1
        && with.beta2 >= 0 && with.beta2 < 1;
}

// What changes from step to step. Zero steps have been taken at first; advance() comes before the step's kernels.
struct step_state {
    int64_t step = 0;              // the number of the step that is being taken, from 1
    uint64_t seed = 0;             // of stochastic rounding
    float gradient_scale = 1.0f;   // gradients were multiplied by this (loss scaling): they are divided by it
    float clip_factor = 1.0f;      // gradients are then multiplied by this (clipping by global norm)
    bool skip = false;             // a skipped step changes no byte and does not count
    double first_correction = 0;   // 1 - beta1^step
    double second_correction = 0;  // 1 - beta2^step
};

namespace detail {

// base^exponent by squaring: products alone, the same bits everywhere. exponent >= 0.
inline GESSO_HOST_DEVICE double power_of(double base, int64_t exponent)
{
    double result = 1.0;
    for (; exponent > 0; exponent >>= 1) {
#if defined(__CUDA_ARCH__)
        if ((exponent & 1) != 0) result = __dmul_rn(result, base);
        base = __dmul_rn(base, base);
#else
        if ((exponent & 1) != 0) result = result * base;
        base = base * base;
#endif
    }
    return result;
}

// 1 - power, where power may be a product that a compiler would like to contract with the subtraction.
inline GESSO_HOST_DEVICE double one_minus(double power)
{
#if defined(__CUDA_ARCH__)
    return __dsub_rn(1.0, power);
#else
    volatile double rounded = power;
    return 1.0 - rounded;
#endif
}

// Conversions that keep denormals under --use_fast_math too.
inline GESSO_HOST_DEVICE float to_float(double value)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(result) : "d"(value));
    return result;
#else
    return static_cast<float>(value);
#endif
}
inline GESSO_HOST_DEVICE double to_double(float value)
{
#if defined(__CUDA_ARCH__)
    double result;
    asm("cvt.f64.f32 %0, %1;" : "=d"(result) : "f"(value));
    return result;
#else
    return static_cast<double>(value);
#endif
}

}  // namespace detail

// A state is valid for a step when it was advanced and its factors are usable: scale above zero, clip factor not below.
inline GESSO_HOST_DEVICE bool is_valid(const step_state& state)
{
    return state.step >= 1 && is_positive(state.gradient_scale) && is_finite(state.gradient_scale)
        && is_finite(state.clip_factor) && (is_positive(state.clip_factor) || is_zero(state.clip_factor));
}

// The state for the next step: the count goes up by one and the bias corrections follow. With `skip` set nothing changes.
inline GESSO_HOST_DEVICE void advance(step_state& state, const adamw_configuration& with)
{
    if (state.skip) return;
    ++state.step;
    state.first_correction = detail::one_minus(detail::power_of(with.beta1, state.step));
    state.second_correction = detail::one_minus(detail::power_of(with.beta2, state.step));
}

}  // namespace gesso
