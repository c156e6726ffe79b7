// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Norms of the device in other types, without parameters, and in groups that cut a row otherwise than its sums do.
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
using rms_groups =
    trial<norm_kind::root_mean_square, fp16, elements<float>, compressed_memory<codec<e5m2, identity, per_tile<1, 12>>>,
        elements<float>, compressed_memory<codec<e4m3, identity, per_tile<1, 512>>>>;
using olmo = trial<norm_kind::layer_without_parameters, float, elements<float>, quantized_memory<product_codec>,
    elements<fp16>, matrix_memory<bf16>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(norm_numbers, rms_groups, olmo);

}  // namespace support
