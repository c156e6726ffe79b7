// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of the device in one pass: elements, and codes with a scale each 1 x G.
#include "pointwise_device.hpp"

using namespace gesso;

namespace {

using saved = elementwise_codec;
using e8 = codec<e4m3, identity, per_tile<1, 32>, e8m0>;
using by_12 = codec<e5m2, identity, per_tile<1, 12>>;
using by_300 = codec<e4m3, identity, per_tile<1, 300>>;
template<class T>
using elements = matrix_ref<T>;

// The paper's: 1x16 to 1x16; bf16 and bf16 to bf16 and 1x16.
using silu_trial = support::operator_trial<silu, std::tuple<compressed_matrix<const saved>>, std::tuple<compressed_matrix<saved>>>;
using add_trial = support::operator_trial<residual_add<>, std::tuple<elements<const bf16>, elements<const bf16>>,
    std::tuple<elements<bf16>, compressed_matrix<saved>>>;
// Scales of tiles, odd groups, groups larger than a warp, blocked scales, 16-bit types.
using square_trial = support::operator_trial<silu_backward,
    std::tuple<compressed_matrix<const codec<e4m3, identity, per_tile<16, 4>>>, elements<const float>>,
    std::tuple<compressed_matrix<by_12>>>;
using long_trial = support::operator_trial<gelu<gelu_kind::tanh>, std::tuple<compressed_matrix<const e8>>,
    std::tuple<compressed_matrix<by_300>>>;
using half_trial = support::operator_trial<geglu_backward<>,
    std::tuple<elements<const fp16>, compressed_matrix<const codec<e5m2, identity, per_row>>, elements<const bf16>>,
    std::tuple<elements<fp16>, compressed_matrix<e8>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(pointwise_bytes, silu_trial, add_trial, square_trial, long_trial, half_trial);
TEST_CASE_TEMPLATE_INVOKE(pointwise_repeats, silu_trial, half_trial);

}  // namespace support
