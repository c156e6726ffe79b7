// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The layers of the demo's model, forward and backward, by hand on Eigen matrices. Rows are tokens: (tokens,
// features), where tokens = sequences * context. Backward functions add to the gradient of a weight and write
// that of an input.
//
// Templates on the scalar, so that the test can check the gradients in double.
#pragma once

#include "text.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstdint>

namespace training {

template<class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template<class Scalar>
using row_vector = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;
template<class Scalar>
using column_vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

template<class Scalar>
using const_weight = Eigen::Map<const matrix<Scalar>>;
template<class Scalar>
using weight_gradient = Eigen::Map<matrix<Scalar>>;

// ---- linear: y = x W^T, with W of (outputs, inputs)

template<class Scalar>
void linear_forward(const matrix<Scalar>& x, const const_weight<Scalar>& weight, matrix<Scalar>& y)
{
    y.noalias() = x * weight.transpose();
}

template<class Scalar>
void linear_backward(const matrix<Scalar>& x, const const_weight<Scalar>& weight, const matrix<Scalar>& dy,
    matrix<Scalar>& dx, weight_gradient<Scalar> dweight)
{
    dx.noalias() = dy * weight;
    dweight.noalias() += dy.transpose() * x;
}

// ---- root mean square norm: y = x / sqrt(mean(x^2) + epsilon) * w, row by row, with w of (1, features)

template<class Scalar>
void norm_forward(const matrix<Scalar>& x, const const_weight<Scalar>& weight,
    column_vector<Scalar>& inverse_root, matrix<Scalar>& y)
{
    const Scalar epsilon = Scalar(1e-5);
    inverse_root = ((x.rowwise().squaredNorm() / Scalar(x.cols())).array() + epsilon).rsqrt();
    y = x.array().colwise() * inverse_root.array();
    y.array().rowwise() *= weight.row(0).array();
}

// Adds to dx: the input of a norm also runs past it, along the residual path.
template<class Scalar>
void norm_backward(const matrix<Scalar>& x, const const_weight<Scalar>& weight,
    const column_vector<Scalar>& inverse_root, const matrix<Scalar>& dy, matrix<Scalar>& dx,
    weight_gradient<Scalar> dweight)
{
    row_vector<Scalar> normed(x.cols());
    row_vector<Scalar> dnormed(x.cols());
    for (Eigen::Index row = 0; row < x.rows(); ++row) {
        normed = x.row(row) * inverse_root(row);
        dnormed = dy.row(row).cwiseProduct(weight.row(0));
        dweight.row(0) += dy.row(row).cwiseProduct(normed);
        const Scalar projection = dnormed.dot(normed) / Scalar(x.cols());
        dx.row(row) += inverse_root(row) * (dnormed - projection * normed);
    }
}

// ---- GELU, the form with tanh

template<class Scalar>
void gelu_forward(const matrix<Scalar>& x, matrix<Scalar>& tanh_of_inner, matrix<Scalar>& y)
{
    const Scalar slope = Scalar(0.7978845608028654);  // sqrt(2 / pi)
    const Scalar cubic = Scalar(0.044715);
    const auto& values = x.array();
    tanh_of_inner = (slope * values * (Scalar(1) + cubic * values.square())).tanh();
    y = Scalar(0.5) * values * (Scalar(1) + tanh_of_inner.array());
}

// In place: `gradient` is that of the output before, that of the input after.
template<class Scalar>
void gelu_backward(const matrix<Scalar>& x, const matrix<Scalar>& tanh_of_inner, matrix<Scalar>& gradient)
{
    const Scalar slope = Scalar(0.7978845608028654);
    const Scalar cubic = Scalar(0.044715);
    const auto& values = x.array();
    const auto& tanh = tanh_of_inner.array();
    gradient.array() *= Scalar(0.5)
                        * (Scalar(1) + tanh
                            + values * (Scalar(1) - tanh.square()) * slope
                                  * (Scalar(1) + Scalar(3) * cubic * values.square()));
}

// ---- causal attention. A row of `mixed` holds the query, the key and the value of a token, head after head.

struct attention_shape {
    int sequences;
    int context;
    int width;
    int heads;

    int head_width() const { return width / heads; }
};

// probabilities: (sequences * heads * context, context), zero where a token would look ahead.
template<class Scalar>
void attention_forward(const attention_shape& shape, const matrix<Scalar>& mixed,
    matrix<Scalar>& probabilities, matrix<Scalar>& output)
{
    const int length = shape.context;
    const int depth = shape.head_width();
    const Scalar scale = Scalar(1) / std::sqrt(Scalar(depth));
    matrix<Scalar> scores(length, length);
    probabilities.resize(static_cast<Eigen::Index>(shape.sequences) * shape.heads * length, length);
    output.resize(mixed.rows(), shape.width);
    for (int sequence = 0; sequence < shape.sequences; ++sequence) {
        for (int head = 0; head < shape.heads; ++head) {
            const auto part = [&](int which) {
                return mixed.block(sequence * length, which * shape.width + head * depth, length, depth);
            };
            auto probability = probabilities.middleRows((sequence * shape.heads + head) * length, length);
            scores.noalias() = part(0) * part(1).transpose();
            probability.setZero();
            for (int row = 0; row < length; ++row) {
                const auto visible = scores.row(row).head(row + 1);
                auto result = probability.row(row).head(row + 1);
                result = (scale * (visible.array() - visible.maxCoeff())).exp();
                result /= result.sum();
            }
            output.block(sequence * length, head * depth, length, depth).noalias() = probability * part(2);
        }
    }
}

template<class Scalar>
void attention_backward(const attention_shape& shape, const matrix<Scalar>& mixed,
    const matrix<Scalar>& probabilities, const matrix<Scalar>& doutput, matrix<Scalar>& dmixed)
{
    const int length = shape.context;
    const int depth = shape.head_width();
    const Scalar scale = Scalar(1) / std::sqrt(Scalar(depth));
    matrix<Scalar> dscores(length, length);
    column_vector<Scalar> mean(length);
    dmixed.resize(mixed.rows(), mixed.cols());
    for (int sequence = 0; sequence < shape.sequences; ++sequence) {
        for (int head = 0; head < shape.heads; ++head) {
            const auto part = [&](const matrix<Scalar>& whole, int which) {
                return whole.block(sequence * length, which * shape.width + head * depth, length, depth);
            };
            const auto dpart = [&](int which) {
                return dmixed.block(sequence * length, which * shape.width + head * depth, length, depth);
            };
            const auto probability =
                probabilities.middleRows((sequence * shape.heads + head) * length, length);
            const auto dresult = doutput.block(sequence * length, head * depth, length, depth);

            dscores.noalias() = dresult * part(mixed, 2).transpose();
            mean = dscores.cwiseProduct(probability).rowwise().sum();
            dscores.colwise() -= mean;
            dscores.array() *= scale * probability.array();

            dpart(0).noalias() = dscores * part(mixed, 1);
            dpart(1).noalias() = dscores.transpose() * part(mixed, 0);
            dpart(2).noalias() = probability.transpose() * dresult;
        }
    }
}

// ---- cross-entropy: the mean over all tokens of -ln p(target). Turns the logits into their gradient.

template<class Scalar>
double cross_entropy(const token_batch& batch, matrix<Scalar>& logits)
{
    const Scalar share = Scalar(1) / Scalar(logits.rows());
    double loss = 0;
    for (int sequence = 0; sequence < batch.sequences; ++sequence) {
        for (int position = 0; position < batch.context; ++position) {
            auto row = logits.row(sequence * batch.context + position);
            const Eigen::Index target = batch.target(sequence, position);
            row.array() -= row.maxCoeff();
            const Scalar of_target = row(target);
            row = row.array().exp();
            const Scalar sum = row.sum();
            loss += static_cast<double>(std::log(sum) - of_target);
            row *= share / sum;
            row(target) -= share;
        }
    }
    return loss / static_cast<double>(logits.rows());
}

}  // namespace training
