// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators by rows: RMSNorm and LayerNorm, forward and backward. Here the arithmetic, for host and device alike, and the
// host level; operator/norm.cuh runs the same structs on a stream.
//
// An operator by rows takes sums over a row first, in one or two stages, and then maps the numbers of an element:
//
//   inputs, outputs   numbers of an element, in and out
//   parameters        numbers of a column that it reads (a weight, a bias); 0 is valid
//   row_values        numbers of a row: the first `given` are read, each stage adds its own; the first `saved` are written
//   stages, sums      how often a row is summed, and how many sums at once
//   column_sums       sums over all rows that it leaves (weight gradients); 0 is valid
//   accumulate<Stage>(in, parameters, row, sums)     adds an element to the sums of a stage
//   finish<Stage>(sums, columns, epsilon, row)       the row values that these sums make
//   apply(in, parameters, row, out)                  an element's outputs
//   contribute(in, parameters, row, column)          adds an element to the sums of its column
//
// An array of no numbers has one that means nothing. Sums are fp32, in an order that depends on the shape alone.
#pragma once

#include <gesso/operator/pointwise.hpp>

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
        const float (&in)[1], const float (&)[1], const float (&)[1], float (&sums)[1])
    {
        sums[0] = fused_multiply_add(in[0], in[0], sums[0]);
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&sums)[1], index_t columns, float epsilon, float (&row)[1])
    {
        row[0] = root_of_mean(sums[0], columns, epsilon);
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[1], const float (&parameters)[1], const float (&row)[1], float (&out)[1])
    {
        out[0] = multiply(multiply(in[0], row[0]), parameters[0]);
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
        const float (&in)[2], const float (&parameters)[1], const float (&row)[2], float (&sums)[1])
    {
        sums[0] = fused_multiply_add(multiply(in[1], parameters[0]), multiply(in[0], row[0]), sums[0]);
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&sums)[1], index_t columns, float, float (&row)[2])
    {
        row[1] = divide(sums[0], static_cast<float>(columns));
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[2], const float (&parameters)[1], const float (&row)[2], float (&out)[1])
    {
        const float normed = multiply(in[0], row[0]);
        out[0] = multiply(row[0], fused_multiply_add(negate(normed), row[1], multiply(in[1], parameters[0])));
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
        const float (&in)[1], const parameter_array&, const float (&row)[2], float (&sums)[1])
    {
        if constexpr (Stage == 0) {
            sums[0] = add(sums[0], in[0]);
        } else {
            const float centred = add(in[0], negate(row[0]));
            sums[0] = fused_multiply_add(centred, centred, sums[0]);
        }
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&sums)[1], index_t columns, float epsilon, float (&row)[2])
    {
        if constexpr (Stage == 0) row[0] = divide(sums[0], static_cast<float>(columns));
        else row[1] = rms_norm::root_of_mean(sums[0], columns, epsilon);
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[1], const parameter_array& parameters, const float (&row)[2], float (&out)[1])
    {
        const float normed = multiply(add(in[0], negate(row[0])), row[1]);
        if constexpr (HasParameters) out[0] = fused_multiply_add(normed, parameters[0], parameters[1]);
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
        const float (&in)[2], const float (&parameters)[1], const float (&row)[4], float (&sums)[2])
    {
        const float gradient = weighted(in, parameters);
        sums[0] = add(sums[0], gradient);
        sums[1] = fused_multiply_add(gradient, normed(in, row), sums[1]);
    }
    template<int Stage>
    static GESSO_HOST_DEVICE void finish(const float (&sums)[2], index_t columns, float, float (&row)[4])
    {
        row[2] = divide(sums[0], static_cast<float>(columns));
        row[3] = divide(sums[1], static_cast<float>(columns));
    }
    static GESSO_HOST_DEVICE void apply(
        const float (&in)[2], const float (&parameters)[1], const float (&row)[4], float (&out)[1])
    {
        const float centred = add(weighted(in, parameters), negate(row[2]));
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
    static GESSO_HOST_DEVICE float weighted(const float (&in)[2], const float (&parameters)[1])
    {
        if constexpr (HasParameters) return multiply(in[1], parameters[0]);
        else return in[1];
    }
};

// What an operator by rows reads and writes beside its matrices, in memory of the side that runs it.
//   parameters   (columns) each, all of one element type (fp32 weights with bf16 activations are computed in fp32)
//   given        (rows) each: row values that a forward pass saved
//   saved        (rows) each: row values that are written; null: not wanted
//   column_sums  (columns) each, fp32: weight gradients, written, not added to; the order of the sum depends on the shape
//                alone
template<class Operator, class Parameter>
struct row_memory {
    const Parameter* parameters[detail::at_least_one(Operator::parameters)] = {};
    const float* given[detail::at_least_one(Operator::given)] = {};
    float* saved[detail::at_least_one(Operator::saved)] = {};
    float* column_sums[detail::at_least_one(Operator::column_sums)] = {};
    float epsilon = 0.0f;
};

namespace detail {

// An epsilon is a number from zero up; nothing that is needed is missing.
template<class Operator, class Parameter>
constexpr GESSO_HOST_DEVICE status check_row_memory(const extent& of, const row_memory<Operator, Parameter>& memory)
{
    if (!is_finite(memory.epsilon) || (bits_of(memory.epsilon) >> 31) != 0) return status::invalid_configuration;
    bool missing = false;
    if (of.columns != 0) {
        for (int i = 0; i < Operator::parameters; ++i) missing = missing || memory.parameters[i] == nullptr;
        for (int i = 0; i < Operator::column_sums; ++i) missing = missing || memory.column_sums[i] == nullptr;
    }
    if (!of.is_empty()) {
        for (int i = 0; i < Operator::given; ++i) missing = missing || memory.given[i] == nullptr;
    }
    return missing ? status::null_pointer : status::success;
}

}  // namespace detail

}  // namespace gesso
