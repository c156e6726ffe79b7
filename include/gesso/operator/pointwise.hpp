// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators on single elements: the arithmetic of activations, gates and the residual add, forward and backward. Here the
// arithmetic, for host and device alike, and the host level; operator/pointwise.cuh runs the same structs on a stream.
//
// An operator is a struct with two counts and one function from the numbers of an element to numbers of an element:
//
//   struct relu_squared {
//       static constexpr int inputs = 1;
//       static constexpr int outputs = 1;
//       static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1])
//       {
//           const float positive = in[0] < 0.0f ? 0.0f : in[0];  // NaN stays NaN
//           out[0] = positive * positive;
//       }
//   };
//
// Load, decode, statistic, encode and transpose come from the library. An operator of one input and one output may also say
//
//       static constexpr float rises_from = 0.0f;
//
// from zero or another positive number on: there its output rises with its input, and nowhere below is an output's magnitude
// larger than there. Then the largest magnitude of a tensor, which its one scale is made of, is that of the greatest input,
// and a device need not compute the operator twice.
//
// Formulas below: s(x) = 1 / (1 + e^-x), Phi the normal
// distribution and phi its density. A finite input never makes NaN unless the exact result passes fp32's range on the way;
// an input of NaN or +-infinity makes NaN or infinity (silu(-infinity) is NaN, as torch has it), so no fault turns into a
// number. Errors are in docs/numerics.md, section Operators. Source: COAT, section 5 (which of them is saved in what).
#pragma once

#include <gesso/operator/functions.hpp>
#include <gesso/operator/host_sinks.hpp>
#include <gesso/operator/rising.hpp>

namespace gesso {

// y and dy / dx of an activation at x.
struct value_and_slope {
    float value;
    float slope;
};

// Activations: what silu, gelu and the gate products are made of. A user's has the same two functions.
struct silu_function {
    static constexpr float rises_from = 0.5f;  // 0.311; the minimum is -0.278
    // x s(x)
    static GESSO_HOST_DEVICE float value(float x) { return multiply(x, sigmoid(x)); }
    // s + x s (1 - s)
    static GESSO_HOST_DEVICE value_and_slope with_slope(float x)
    {
        const float s = sigmoid(x);
        const float value = multiply(x, s);
        return {value, fused_multiply_add(value, complement(s), s)};
    }
};

// erf: x Phi(x), the definition. tanh: x s(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3), the common approximation of it.
enum class gelu_kind { erf, tanh };

// Of both: 0.185 at 0.3, the minimum is -0.170.
struct gelu_shape {
    static constexpr float rises_from = 0.3f;
};

template<gelu_kind Kind>
struct gelu_function;
template<>
struct gelu_function<gelu_kind::erf> : gelu_shape {
    static GESSO_HOST_DEVICE float value(float x) { return value_of(x, upper_tail(x)); }
    // Phi + x phi
    static GESSO_HOST_DEVICE value_and_slope with_slope(float x)
    {
        const float tail = upper_tail(x);
        const float below = x < 0.0f ? tail : complement(tail);
        return {value_of(x, tail), fused_multiply_add(x, normal_density(x), below)};
    }

private:
    // x Phi(x) from Q(|x|): x - x Q above zero, x Q below, without a cancellation.
    static GESSO_HOST_DEVICE float value_of(float x, float tail)
    {
        return fused_multiply_add(-magnitude(x), tail, positive_part(x));
    }
};
template<>
struct gelu_function<gelu_kind::tanh> : gelu_shape {
    // (Where x^2 is infinite, s is 0 or 1.)
    static GESSO_HOST_DEVICE float value(float x) { return multiply(x, sigmoid(exponent(x, multiply(x, x)))); }
    // s + x s (1 - s) (2 u)'
    static GESSO_HOST_DEVICE value_and_slope with_slope(float x)
    {
        const float square = square_of(x);
        const float s = sigmoid(exponent(x, square));
        const float value = multiply(x, s);
        const float inner = fused_multiply_add(square, 0.214064479f, 1.59576912f);
        return {value, fused_multiply_add(multiply(value, complement(s)), inner, s)};
    }

private:
    // x^2, at most 256: from |x| = 16 on, s is 0 or 1 whatever is added, and no product may become 0 times infinity.
    static GESSO_HOST_DEVICE float square_of(float x)
    {
        const float square = multiply(x, x);
        return square < 256.0f ? square : 256.0f;
    }
    // 2 u = x (2 sqrt(2 / pi) + 2 sqrt(2 / pi) 0.044715 x^2)
    static GESSO_HOST_DEVICE float exponent(float x, float square)
    {
        return multiply(x, fused_multiply_add(square, 0.0713548163f, 1.59576912f));
    }
};

namespace detail {

template<class Function, bool = is_rising<Function>>
struct rising_part {};
template<class Function>
struct rising_part<Function, true> {
    static constexpr float rises_from = Function::rises_from;
};

}  // namespace detail

// x -> f(x)
template<class Function>
struct activation : detail::rising_part<Function> {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1]) { out[0] = Function::value(in[0]); }
};
// x, dy -> dx = dy f'(x)
template<class Function>
struct activation_backward {
    static constexpr int inputs = 2;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[2], float (&out)[1])
    {
        out[0] = multiply(in[1], Function::with_slope(in[0]).slope);
    }
};
// gate, up -> f(gate) up
template<class Function>
struct gate_product {
    static constexpr int inputs = 2;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[2], float (&out)[1])
    {
        out[0] = multiply(Function::value(in[0]), in[1]);
    }
};
// gate, up, dy -> dgate = dy up f'(gate), dup = dy f(gate). f(gate) is computed again, not stored.
template<class Function>
struct gate_product_backward {
    static constexpr int inputs = 3;
    static constexpr int outputs = 2;
    static GESSO_HOST_DEVICE void apply(const float (&in)[3], float (&out)[2])
    {
        const value_and_slope at = Function::with_slope(in[0]);
        out[0] = multiply(multiply(in[2], in[1]), at.slope);
        out[1] = multiply(in[2], at.value);
    }
};

// The paper's operators.
using silu = activation<silu_function>;
using silu_backward = activation_backward<silu_function>;
template<gelu_kind Kind = gelu_kind::erf>
using gelu = activation<gelu_function<Kind>>;
template<gelu_kind Kind = gelu_kind::erf>
using gelu_backward = activation_backward<gelu_function<Kind>>;
using swiglu = gate_product<silu_function>;
using swiglu_backward = gate_product_backward<silu_function>;
template<gelu_kind Kind = gelu_kind::erf>
using geglu = gate_product<gelu_function<Kind>>;
template<gelu_kind Kind = gelu_kind::erf>
using geglu_backward = gate_product_backward<gelu_function<Kind>>;

// a, b -> a + b, twice: one sink keeps the stream (bf16), the other its codes. Both are of the sum as it is stored: rounded
// to nearest in Stored first. So the codes are those of quantizing the stored sum, byte for byte, and their scales hold for
// it. Stored is float32 where the codes are to be of the unrounded sum. Exact: the same bits on host and device.
template<class Stored = bfloat16>
struct residual_add {
    static constexpr int inputs = 2;
    static constexpr int outputs = 2;
    static GESSO_HOST_DEVICE void apply(const float (&in)[2], float (&out)[2])
    {
        out[0] = rounded_to<Stored>(add(in[0], in[1]));
        out[1] = out[0];
    }
};
// The gradients of both ways, a and b -> a + b, twice: the same arithmetic. (bf16, and per-tensor codes.)
template<class Stored = bfloat16>
using residual_add_backward = residual_add<Stored>;

// NVRTC compiles device code alone: what follows is the host level.
#if !defined(__CUDACC_RTC__)

// One operator on every element of its sources (rows, columns), its outputs to the sinks. Outputs in codes are those of
// quantizing the fp32 results (of host_quantize with its defaults), byte for byte; a result that is NaN or infinite becomes
// the NaN code and takes no part in a scale.
// Errors: null_pointer, negative_count, size_mismatch (every view has the first source's shape), invalid_scale_order; then
// nothing is written. An empty matrix is a success without bytes. Padding is neither read nor written. Deterministic.
// Snippet: examples/07_write_an_operator.cpp
template<class Operator, class... Sources, class... Sinks>
[[nodiscard]] status host_pointwise(const source_pack<Sources...>& from, const sink_pack<Sinks...>& to)
{
    detail::require_operands<Operator, source_pack<Sources...>, sink_pack<Sinks...>>();
    detail::require_rising<Operator>();
    const detail::extent extent = detail::extent_of(from.first);
    status checked = detail::check_operands(extent, from);
    if (checked == status::success) checked = detail::check_operands(extent, to);
    if (checked != status::success || extent.is_empty()) return checked;
    const auto compute = [&](index_t row, index_t column, float(&out)[Operator::outputs]) {
        float in[Operator::inputs];
        detail::gather(from, row, column, in);
        Operator::apply(in, out);
    };
    detail::write_sinks<Operator::outputs>(compute, extent.columns, to);
    return status::success;
}

#endif

}  // namespace gesso
