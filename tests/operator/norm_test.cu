// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Norms of the device in the paper's formats, forward and backward, against the oracle.
#include "operator_runner.hpp"

using namespace gesso;
using support::codes_by;
using support::compressed_memory;
using support::elements;
using support::matrix_memory;
using support::norm_kind;
using support::quantized_memory;

namespace {

using runner = support::device_operators<>;
template<norm_kind Kind, class Weight, class Source, class Sink, class Gradient, class GradientSink>
using trial = support::norm_trial<runner, Kind, Weight, Source, Sink, Gradient, GradientSink>;
using rms_paper = trial<norm_kind::root_mean_square, float, codes_by<elementwise_codec>,
    quantized_memory<product_codec>, elements<bf16>, matrix_memory<bf16>>;
using layer_codes = trial<norm_kind::layer, bf16, codes_by<elementwise_codec>, compressed_memory<elementwise_codec>,
    codes_by<codec<e4m3, identity, per_tile<1, 128>>>, quantized_memory<gradient_codec>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(norm_numbers, rms_paper, layer_codes);

}  // namespace support
