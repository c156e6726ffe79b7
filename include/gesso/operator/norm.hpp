// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// RMSNorm and LayerNorm, forward and backward. Here the arithmetic, for host and device alike, and the host level;
// operator/norm.cuh runs the same structs on a stream. What the members mean: operator/by_rows.hpp.
#pragma once

#include <gesso/operator/by_rows.hpp>

namespace gesso {

// x -> x rstd w with rstd = 1 / sqrt(mean(x^2) + epsilon). Saved: rstd. A row whose sum of squares passes fp32 (an element
// of 1.8e19 does) becomes NaN: rstd is then NaN, for a row of zeros would hide it. epsilon may be 0; a row of zeros is then NaN.
struct rms_norm {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static constexpr int parameters = 1;
    static constexpr int row_values = 1;
    static constexpr int given = 0;
    static constexpr int saved = 1;
    static constexpr int stages = 1;
    static constexpr int sums = 1;
    static constexpr int column_sums = 0;

    template<int Stage>
    static GESSO_HOST_DEVICE void accumulate(
        const float (&in)[1], const float (&)[1], const float (&)[1], float (&totals)[1])
    {
        totals[0] = fused_multiply_add(in[0], in[0], totals[0]);
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&totals)[1], index_t columns, float epsilon, float (&row)[1])
    {
        row[0] = root_of_mean(totals[0], columns, epsilon);
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[1], const float (&weights)[1], const float (&row)[1], float (&out)[1])
    {
        out[0] = multiply(multiply(in[0], row[0]), weights[0]);
    }

    // 1 / sqrt(sum / columns + epsilon); NaN of a sum that is not finite.
    static GESSO_HOST_DEVICE float root_of_mean(float sum, index_t columns, float epsilon)
    {
        if (!is_finite(sum)) return float_of(0x7FFFFFFFu);
        return reciprocal_root(add(divide(sum, static_cast<float>(columns)), epsilon));
    }
};

// x, dy; w; rstd -> dx = rstd (dy w - n mean(dy w n)) with n = x rstd; column sums dw = sum over rows of dy n.
struct rms_norm_backward {
    static constexpr int inputs = 2;
    static constexpr int outputs = 1;
    static constexpr int parameters = 1;
    static constexpr int row_values = 2;
    static constexpr int given = 1;
    static constexpr int saved = 0;
    static constexpr int stages = 1;
    static constexpr int sums = 1;
    static constexpr int column_sums = 1;

    template<int Stage>
    static GESSO_HOST_DEVICE void accumulate(
        const float (&in)[2], const float (&weights)[1], const float (&row)[2], float (&totals)[1])
    {
        totals[0] = fused_multiply_add(multiply(in[1], weights[0]), multiply(in[0], row[0]), totals[0]);
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&totals)[1], index_t columns, float, float (&row)[2])
    {
        row[1] = divide(totals[0], static_cast<float>(columns));
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[2], const float (&weights)[1], const float (&row)[2], float (&out)[1])
    {
        const float normed = multiply(in[0], row[0]);
        out[0] = multiply(row[0], fused_multiply_add(negate(normed), row[1], multiply(in[1], weights[0])));
    }
    static GESSO_HOST_DEVICE void contribute(
        const float (&in)[2], const float (&)[1], const float (&row)[2], float (&column)[1])
    {
        column[0] = fused_multiply_add(in[1], multiply(in[0], row[0]), column[0]);
    }
};

// x -> (x - mean) rstd w + b with rstd = 1 / sqrt(mean((x - mean)^2) + epsilon), or without w and b. Saved: mean, rstd. The
// squares are of centred numbers, in a stage of their own: a large mean takes nothing from them. Ranges as of rms_norm.
template<bool HasParameters = true>
struct layer_norm {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static constexpr int parameters = HasParameters ? 2 : 0;
    static constexpr int row_values = 2;
    static constexpr int given = 0;
    static constexpr int saved = 2;
    static constexpr int stages = 2;
    static constexpr int sums = 1;
    static constexpr int column_sums = 0;
    using parameter_array = float[HasParameters ? 2u : 1u];

    template<int Stage>
    static GESSO_HOST_DEVICE void accumulate(
        const float (&in)[1], const parameter_array&, const float (&row)[2], float (&totals)[1])
    {
        if constexpr (Stage == 0) {
            totals[0] = add(totals[0], in[0]);
        } else {
            const float centred = add(in[0], negate(row[0]));
            totals[0] = fused_multiply_add(centred, centred, totals[0]);
        }
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&totals)[1], index_t columns, float epsilon, float (&row)[2])
    {
        if constexpr (Stage == 0) row[0] = divide(totals[0], static_cast<float>(columns));
        else row[1] = rms_norm::root_of_mean(totals[0], columns, epsilon);
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[1], const parameter_array& weights, const float (&row)[2], float (&out)[1])
    {
        const float normed = multiply(add(in[0], negate(row[0])), row[1]);
        if constexpr (HasParameters) out[0] = fused_multiply_add(normed, weights[0], weights[1]);
        else out[0] = normed;
    }
};

// x, dy; w; mean, rstd -> dx = rstd (g - mean(g) - n mean(g n)) with n = (x - mean) rstd and g = dy w (dy without
// parameters); column sums dw = sum over rows of dy n, db = of dy.
template<bool HasParameters = true>
struct layer_norm_backward {
    static constexpr int inputs = 2;
    static constexpr int outputs = 1;
    static constexpr int parameters = HasParameters ? 1 : 0;
    static constexpr int row_values = 4;
    static constexpr int given = 2;
    static constexpr int saved = 0;
    static constexpr int stages = 1;
    static constexpr int sums = 2;
    static constexpr int column_sums = HasParameters ? 2 : 0;

    template<int Stage>
    static GESSO_HOST_DEVICE void accumulate(
        const float (&in)[2], const float (&weights)[1], const float (&row)[4], float (&totals)[2])
    {
        const float gradient = weighted(in, weights);
        totals[0] = add(totals[0], gradient);
        totals[1] = fused_multiply_add(gradient, normed(in, row), totals[1]);
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&totals)[2], index_t columns, float, float (&row)[4])
    {
        row[2] = divide(totals[0], static_cast<float>(columns));
        row[3] = divide(totals[1], static_cast<float>(columns));
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[2], const float (&weights)[1], const float (&row)[4], float (&out)[1])
    {
        const float centred = add(weighted(in, weights), negate(row[2]));
        out[0] = multiply(row[1], fused_multiply_add(negate(normed(in, row)), row[3], centred));
    }
    static GESSO_HOST_DEVICE void contribute(const float (&in)[2], const float (&)[1], const float (&row)[4],
        float (&column)[detail::at_least_one(column_sums)])
    {
        if constexpr (HasParameters) {
            column[0] = fused_multiply_add(in[1], normed(in, row), column[0]);
            column[1] = add(column[1], in[1]);
        }
    }

private:
    static GESSO_HOST_DEVICE float normed(const float (&in)[2], const float (&row)[4])
    {
        return multiply(add(in[0], negate(row[0])), row[1]);
    }
    static GESSO_HOST_DEVICE float weighted(const float (&in)[2], const float (&weights)[1])
    {
        if constexpr (HasParameters) return multiply(in[1], weights[0]);
        else return in[1];
    }
};

// row_memory by the names that the norms have for its parts.
template<class Weight>
GESSO_HOST_DEVICE row_memory<rms_norm, Weight> rms_norm_memory(const Weight* weight, float epsilon, float* rstd)
{
    return {{weight}, {}, {rstd}, {}, epsilon};
}
template<class Weight>
GESSO_HOST_DEVICE row_memory<rms_norm_backward, Weight> rms_norm_backward_memory(
    const Weight* weight, const float* rstd, float* dweight)
{
    return {{weight}, {rstd}, {}, {dweight}, 0.0f};
}
template<class Weight>
GESSO_HOST_DEVICE row_memory<layer_norm<true>, Weight> layer_norm_memory(
    const Weight* weight, const Weight* bias, float epsilon, float* mean, float* rstd)
{
    return {{weight, bias}, {}, {mean, rstd}, {}, epsilon};
}
GESSO_HOST_DEVICE inline row_memory<layer_norm<false>, float> layer_norm_memory(float epsilon, float* mean, float* rstd)
{
    return {{}, {}, {mean, rstd}, {}, epsilon};
}
template<class Weight>
GESSO_HOST_DEVICE row_memory<layer_norm_backward<true>, Weight> layer_norm_backward_memory(
    const Weight* weight, const float* mean, const float* rstd, float* dweight, float* dbias)
{
    return {{weight}, {mean, rstd}, {}, {dweight, dbias}, 0.0f};
}
GESSO_HOST_DEVICE inline row_memory<layer_norm_backward<false>, float> layer_norm_backward_memory(
    const float* mean, const float* rstd)
{
    return {{}, {mean, rstd}, {}, {}, 0.0f};
}

// NVRTC compiles device code alone: what follows is the host level.
#if !defined(__CUDACC_RTC__)

// y = x rstd w, each (rows, columns); weight (columns) of any element type; rstd (rows) is saved for backward, null: not
// wanted. x is a source and y a sink (operator/operands.hpp). Errors as of host_by_rows; bounds in docs/numerics.md.
// Source: RMSNorm (arXiv 1910.07467); COAT, section 5: x in 1x16 codes, y per tensor with its transpose.
template<class Source, class Weight, class Sink>
[[nodiscard]] status host_rms_norm(const Source& x, const Weight* weight, float epsilon, const Sink& y, float* rstd)
{
    return host_by_rows(sources_of(x), rms_norm_memory(weight, epsilon, rstd), sinks_of(y));
}
// dx (rows, columns) and dweight (columns, fp32) from x, dy and what the forward pass saved. The weight gradient is
// written, not added to, and is the same in every run.
template<class Source, class Weight, class Gradient, class Sink>
[[nodiscard]] status host_rms_norm_backward(
    const Source& x, const Weight* weight, const float* rstd, const Gradient& dy, const Sink& dx, float* dweight)
{
    return host_by_rows(sources_of(x, dy), rms_norm_backward_memory(weight, rstd, dweight), sinks_of(dx));
}

// y = (x - mean) rstd w + b, or without w and b; mean and rstd (rows) are saved. Source: LayerNorm (arXiv 1607.06450); the
// form without parameters is OLMo's.
template<class Source, class Weight, class Sink>
[[nodiscard]] status host_layer_norm(
    const Source& x, const Weight* weight, const Weight* bias, float epsilon, const Sink& y, float* mean, float* rstd)
{
    return host_by_rows(sources_of(x), layer_norm_memory(weight, bias, epsilon, mean, rstd), sinks_of(y));
}
template<class Source, class Sink>
[[nodiscard]] status host_layer_norm(const Source& x, float epsilon, const Sink& y, float* mean, float* rstd)
{
    return host_by_rows(sources_of(x), layer_norm_memory(epsilon, mean, rstd), sinks_of(y));
}
template<class Source, class Weight, class Gradient, class Sink>
[[nodiscard]] status host_layer_norm_backward(const Source& x, const Weight* weight, const float* mean,
    const float* rstd, const Gradient& dy, const Sink& dx, float* dweight, float* dbias)
{
    const auto memory = layer_norm_backward_memory(weight, mean, rstd, dweight, dbias);
    return host_by_rows(sources_of(x, dy), memory, sinks_of(dx));
}
template<class Source, class Gradient, class Sink>
[[nodiscard]] status host_layer_norm_backward(
    const Source& x, const float* mean, const float* rstd, const Gradient& dy, const Sink& dx)
{
    return host_by_rows(sources_of(x, dy), layer_norm_backward_memory(mean, rstd), sinks_of(dx));
}

#endif

}  // namespace gesso
