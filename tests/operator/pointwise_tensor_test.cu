// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of the device whose outputs have one scale for all: plain, transposed and both.
#include "operator_cases.hpp"
#include "pointwise_device.hpp"

using namespace gesso;
using support::codes_by;
using support::compressed_memory;
using support::elements;
using support::matrix_memory;
using support::quantized_memory;

namespace {

template<class... Each>
using list = std::tuple<Each...>;
using runner = support::device_operators<>;
using saved = codes_by<elementwise_codec>;
using product = quantized_memory<product_codec>;
using gradient = quantized_memory<gradient_codec>;

using swiglu_trial = support::pointwise_trial<runner, swiglu, list<saved, saved>, list<product>>;
using gradient_from = list<saved, saved, elements<bf16>>;
using gradient_to = list<gradient, gradient>;
using swiglu_gradient = support::pointwise_trial<runner, swiglu_backward, gradient_from, gradient_to>;
using gelu_trial = support::pointwise_trial<runner, gelu<>, list<saved>, list<compressed_memory<product_codec>>>;
using add_from = list<elements<bf16>, elements<float>>;
using add_to = list<matrix_memory<bf16>, gradient>;
using add_trial = support::pointwise_trial<runner, residual_add_backward<>, add_from, add_to>;

using gradient_runs = support::repeated<swiglu_backward, gradient_from, gradient_to>;
using gelu_runs = support::repeated<gelu<>, list<saved>, list<product>>;
using add_runs = support::repeated<residual_add_backward<>, add_from, add_to>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(pointwise_numbers, swiglu_trial, swiglu_gradient, gelu_trial, add_trial);
TEST_CASE_TEMPLATE_INVOKE(pointwise_vectors, swiglu_trial, swiglu_gradient, gelu_trial, add_trial);
TEST_CASE_TEMPLATE_INVOKE(pointwise_repeats, gradient_runs, add_runs, gelu_runs);
TEST_CASE_TEMPLATE_INVOKE(rising_scales, runner);

}  // namespace support
