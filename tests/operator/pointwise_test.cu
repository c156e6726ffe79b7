// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of the device in one pass: elements, and codes with a scale each 1 x G.
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
template<class Format, class Granularity, class Scale = float32>
using plain = codec<Format, identity, Granularity, Scale>;
using activation_16 = elementwise_codec;
using blocked = plain<e4m3, per_tile<1, 32>, e8m0>;

// The paper's: 1x16 to 1x16; bf16 and bf16 to bf16 and 1x16.
using silu_from = list<codes_by<activation_16>>;
using silu_to = list<compressed_memory<activation_16>>;
using silu_trial = support::pointwise_trial<runner, silu, silu_from, silu_to>;
using add_trial = support::pointwise_trial<runner, residual_add<>, list<elements<bf16>, elements<bf16>>,
    list<matrix_memory<bf16>, compressed_memory<activation_16>>>;
// Scales of tiles and rows, groups of 12 and larger than a warp, 16-bit types.
using square_trial =
    support::pointwise_trial<runner, silu_backward, list<codes_by<plain<e4m3, per_tile<16, 4>>>, elements<float>>,
        list<compressed_memory<plain<e5m2, per_tile<1, 12>>>>>;
using long_trial = support::pointwise_trial<runner, gelu<gelu_kind::tanh>, list<codes_by<blocked>>,
    list<compressed_memory<plain<e4m3, per_tile<1, 300>>>>>;
using half_from = list<elements<fp16>, codes_by<plain<e5m2, per_row>>, elements<bf16>>;
using half_to = list<matrix_memory<fp16>, compressed_memory<blocked>>;
using half_trial = support::pointwise_trial<runner, geglu_backward<>, half_from, half_to>;

using silu_runs = support::repeated<silu, silu_from, silu_to>;
using half_runs = support::repeated<geglu_backward<>, half_from, half_to>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(pointwise_numbers, silu_trial, add_trial, square_trial, long_trial, half_trial);
TEST_CASE_TEMPLATE_INVOKE(pointwise_vectors, silu_trial, add_trial, square_trial, long_trial, half_trial);
TEST_CASE_TEMPLATE_INVOKE(pointwise_repeats, silu_runs, half_runs);

}  // namespace support
