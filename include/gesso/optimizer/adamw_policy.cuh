// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What a user chooses of an AdamW step on the device, what the step reads in device memory, and the numbers that its
// arithmetic takes from there.
#pragma once

#include <gesso/encoding/hardware.cuh>
#include <gesso/optimizer/adamw.hpp>

namespace gesso {

// How a step rounds, computes and is cut into blocks. Derive (in a namespace that has a name) and override to change one
// thing: `struct mine : gesso::adamw_policy<> { using parameter_rounding = gesso::stochastic; };`
// Roundings are nearest_even or stochastic. v is rounded stochastically by default, which is right at every beta2; below
// beta2 0.98 nearest_even is right too and faster: rounds_stochastically<Codec>() says what `automatic` stands for.
// In hardware math a step size (lr / c1) below 2^-100 counts as zero.
template<class Math = hardware_math>
struct adamw_policy {
    using math = Math;
    using first_rounding = nearest_even;
    using second_rounding = stochastic;
    using parameter_rounding = nearest_even;
    using first_underflow = flush;
    using second_underflow = keep;
    static constexpr bool is_exact = standard::is_same_v<Math, exact_math>;
    // Exact arithmetic is long: few elements a thread keep it in registers.
    static constexpr int items_per_thread = is_exact ? 4 : 16;
    static constexpr int block_threads = is_exact ? 512 : 128;
    // Tiles of block_threads * items_per_thread elements that a block takes, one after the other; 0: what was measured to be
    // good.
    static constexpr int tiles_per_block = 0;
};
// For beta2 up to 0.98.
template<class Math = hardware_math>
struct adamw_nearest_policy : adamw_policy<Math> {
    using second_rounding = nearest_even;
};

// What the kernels of a step read, in device memory. The user writes configuration and state (all but the step and the two
// corrections, at any time between steps); adamw_advance() keeps the rest.
struct adamw_device_state {
    adamw_configuration configuration;
    step_state state;
    double gradient_norm = 0;  // of the last adamw_clip()
    // What a step reads, in three vectors of 16 bytes.
    struct alignas(16) launch_scalars {
        adamw_scalars scalars;
        uint32_t is_active = 0;  // not skipped, and what the user wrote is in range: else a step changes no byte
        stochastic source{0, 0};
    } launch;
};
static_assert(sizeof(adamw_device_state::launch_scalars) == 48);  // three vectors

namespace detail {

// What the arithmetic of a step needs of a tensor, found once a block. Exact math: adamw_update()'s own.
template<class Math>
struct adamw_factors {
    adamw_scalars scalars;
    adamw_rates rates;

    static __device__ __forceinline__ adamw_factors of(const adamw_scalars& scalars, const adamw_rates& rates)
    {
        return {scalars, rates};
    }
    __device__ __forceinline__ bool is_gradient_zero(float gradient) const
    {
        return is_zero(scaled_gradient(gradient, scalars));
    }
};
// Hardware math: two products of scalars for one of each element.
//   g <- c g;  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g g;  p <- decay p - m / (root sqrt(v) + epsilon)
template<>
struct adamw_factors<hardware_math> {
    float multiplier;  // c
    float beta1;
    float one_minus_beta1;
    float log2_beta1;
    float beta2;
    float one_minus_beta2;
    float log2_beta2;
    float root;  // 1 / sqrt(c2), and this and the next over the step size
    float epsilon;
    float decay;

    static __device__ __forceinline__ adamw_factors of(const adamw_scalars& scalars, const adamw_rates& rates)
    {
        adamw_factors result;
        result.multiplier = scalars.gradient_multiplier;
        result.beta1 = scalars.beta1;
        result.one_minus_beta1 = scalars.one_minus_beta1;
        result.log2_beta1 = log2f(scalars.beta1);
        result.beta2 = scalars.beta2;
        result.one_minus_beta2 = scalars.one_minus_beta2;
        result.log2_beta2 = log2f(scalars.beta2);
        // A step below 2^-100 moves nothing, as one of zero: its inverse would leave fp32's range.
        const bool is_moving = rates.step_size >= 0x1p-100f;
        result.root = is_moving ? divide(scalars.inverse_root_correction, rates.step_size) : 0.0f;
        result.epsilon = is_moving ? divide(scalars.epsilon, rates.step_size) : float_of(0x7F800000u);
        result.decay = rates.decay;
        return result;
    }
    __device__ __forceinline__ bool is_gradient_zero(float gradient) const
    {
        return hardware_multiply(gradient, multiplier) == 0.0f;
    }
};

}  // namespace detail

}  // namespace gesso
