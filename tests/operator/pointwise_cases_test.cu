// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of elements on the device: cases of public fault reports, and the oracle with other types.
#include "operator_runner.hpp"

using namespace gesso;
using support::codes_by;
using support::compressed_memory;
using support::elements;
using support::matrix_memory;
using support::quantized_memory;

namespace {

using runner = support::device_operators<>;
template<class... Each>
using list = std::tuple<Each...>;
template<class Operator, class Sources, class Sinks>
using trial = support::pointwise_trial<runner, Operator, Sources, Sinks>;
using geglu_mixed = trial<geglu<>, list<elements<fp16>, codes_by<product_codec>>,
    list<compressed_memory<codec<e4m3, identity, per_tile<1, 32>, e8m0>>>>;
using gelu_tanh = trial<gelu<gelu_kind::tanh>, list<elements<float>>, list<quantized_memory<product_codec>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(pointwise_numbers, geglu_mixed, gelu_tanh);
TEST_CASE_TEMPLATE_INVOKE(a01_gelu_tanh, runner);
TEST_CASE_TEMPLATE_INVOKE(no_faults, runner);
TEST_CASE_TEMPLATE_INVOKE(a08_same_numbers, runner);
TEST_CASE_TEMPLATE_INVOKE(a09_no_drift, runner);

}  // namespace support
