// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of the device whose outputs have one scale for all: plain and transposed.
#include "pointwise_device.hpp"

using namespace gesso;

namespace {

using saved = compressed_matrix<const elementwise_codec>;
using product = quantized_matrix<product_codec>;
using gradient = quantized_matrix<gradient_codec>;

using swiglu_trial = support::operator_trial<swiglu, std::tuple<saved, saved>, std::tuple<product>>;
using swiglu_backward_trial = support::operator_trial<swiglu_backward,
    std::tuple<saved, saved, matrix_ref<const bf16>>, std::tuple<gradient, gradient>>;
using gelu_trial = support::operator_trial<gelu<>, std::tuple<saved>, std::tuple<compressed_matrix<product_codec>>>;
using add_trial = support::operator_trial<residual_add_backward<>,
    std::tuple<matrix_ref<const bf16>, matrix_ref<const float>>, std::tuple<matrix_ref<bf16>, gradient>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(pointwise_bytes, swiglu_trial, swiglu_backward_trial, gelu_trial, add_trial);
TEST_CASE_TEMPLATE_INVOKE(pointwise_repeats, swiglu_backward_trial, add_trial);

}  // namespace support
