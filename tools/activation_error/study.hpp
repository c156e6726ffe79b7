// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What 8-bit activations do to a model: each scheme keeps the activations of the demo's model in its own codes, and the
// logits' loss, the weight gradients and the bytes are compared with those of fp32 activations.
#pragma once

#include <gesso/operator/quantize.hpp>

#include "model.hpp"
#include "moments.hpp"
#include "text.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace activation_error {

using training::activation_use;
using training::column_vector;
using training::matrix;

template<class Granularity, class ScaleFormat>
using e4m3_codec = gesso::codec<gesso::e4m3, gesso::identity, Granularity, ScaleFormat>;

// Replaces an activation by what its codes stand for; adds the bytes that they take.
template<class Codec>
void through_codes(matrix<float>& values, std::int64_t& bytes)
{
    const gesso::matrix_layout<Codec> layout{values.rows(), values.cols()};
    std::vector<unsigned char> memory(static_cast<std::size_t>(layout.bytes()) + 16);
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto codes = layout.bind(memory.data() + (16 - address % 16) % 16);
    const gesso::matrix_ref<float> view{values.data(), values.rows(), values.cols(), values.cols()};
    const gesso::status kept = gesso::host_quantize(view, gesso::quantized_matrix<Codec>{codes, {}});
    training::detail::require_success(kept, "host_quantize");
    training::detail::require_success(gesso::host_dequantize(codes, view), "host_dequantize");
    bytes += layout.bytes();
}

// How activations are kept.
struct scheme {
    std::string name;
    void (*elementwise)(matrix<float>&, std::int64_t&);
    void (*product)(matrix<float>&, std::int64_t&);
};

// A scheme against fp32 activations, over all batches that were added.
struct comparison {
    double activation_error =
        0;                       // of each activation as it is kept: sum of squares of the error / of the numbers, mean
    double gradient_error = 0;   // of each weight matrix, the same
    double loss_difference = 0;  // mean of the loss minus that of fp32 activations
    double bytes_per_number = 0;
};

inline std::vector<scheme> schemes()
{
    using gesso::bfloat16;
    using gesso::float32;
    using gesso::per_tensor;
    using gesso::per_tile;
    const auto group_4 = through_codes<e4m3_codec<per_tile<1, 4>, bfloat16>>;
    const auto group_8 = through_codes<e4m3_codec<per_tile<1, 8>, bfloat16>>;
    const auto group_16 = through_codes<e4m3_codec<per_tile<1, 16>, bfloat16>>;
    const auto group_32 = through_codes<e4m3_codec<per_tile<1, 32>, bfloat16>>;
    const auto group_64 = through_codes<e4m3_codec<per_tile<1, 64>, bfloat16>>;
    const auto group_128 = through_codes<e4m3_codec<per_tile<1, 128>, float32>>;
    const auto tensor = through_codes<e4m3_codec<per_tensor, float32>>;
    const auto sixteen_bits = through_codes<gesso::codec<bfloat16, gesso::identity, gesso::unscaled>>;
    return {{"1x4", group_4, group_4}, {"1x8", group_8, group_8}, {"1x16", group_16, group_16},
        {"1x32", group_32, group_32}, {"1x64", group_64, group_64}, {"1x128", group_128, group_128},
        {"per tensor", tensor, tensor}, {"1x16, products per tensor", group_16, tensor},
        {"bf16", sixteen_bits, sixteen_bits}};
}

inline double relative_square(const float* got, const float* wanted, std::int64_t count)
{
    double error = 0;
    double size = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const double difference = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
        error += difference * difference;
        size += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    }
    return size == 0 ? 0 : error / size;
}

// The scheme on one batch.
inline comparison compare(training::language_model<float>& model, const column_vector<float>& parameters,
    const training::token_batch& batch, const scheme& with)
{
    column_vector<float> exact;
    column_vector<float> gradient;
    const double exact_loss = model.loss_and_gradient(parameters, batch, exact);
    comparison result;
    std::int64_t bytes = 0;
    std::int64_t numbers = 0;
    std::int64_t activations = 0;
    const auto keep = [&](const char*, activation_use use, matrix<float>& values) {
        const matrix<float> before = values;
        (use == activation_use::product ? with.product : with.elementwise)(values, bytes);
        result.activation_error += relative_square(values.data(), before.data(), before.size());
        numbers += before.size();
        ++activations;
    };
    result.loss_difference = model.loss_and_gradient(parameters, batch, gradient, keep) - exact_loss;
    result.activation_error /= static_cast<double>(activations);
    result.bytes_per_number = static_cast<double>(bytes) / static_cast<double>(numbers);
    int weights = 0;
    for (const training::layer& layer : model.layers()) {
        if (layer.is_norm()) continue;
        result.gradient_error +=
            relative_square(gradient.data() + layer.offset, exact.data() + layer.offset, layer.size());
        ++weights;
    }
    result.gradient_error /= weights;
    return result;
}

inline comparison mean_of(const std::vector<comparison>& all)
{
    comparison result;
    for (const comparison& one : all) {
        const double share = 1 / static_cast<double>(all.size());
        result.activation_error += share * one.activation_error;
        result.gradient_error += share * one.gradient_error;
        result.loss_difference += share * one.loss_difference;
        result.bytes_per_number += share * one.bytes_per_number;
    }
    return result;
}

}  // namespace activation_error
