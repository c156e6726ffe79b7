// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the device, one scale a tensor: the cases of the host.
#include "quantize_device.hpp"

using namespace gesso;
using support::plain_codec;
using support::trial;

namespace {

using runner = support::device_runner<false>;
using of_rows = trial<runner, bf16, plain_codec<e4m3, per_tensor>, per_row>;
using of_tiles = trial<runner, float, plain_codec<e5m2, per_tensor, bfloat16>, per_tile<1, 16>>;
using of_blocks = trial<runner, fp16, plain_codec<e4m3, per_tensor>, per_tile<128, 128>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, of_rows, of_tiles, of_blocks);
TEST_CASE_TEMPLATE_INVOKE(quantize_stochastic, of_rows);
TEST_CASE_TEMPLATE_INVOKE(quantize_nan, of_rows, of_tiles);
TEST_CASE_TEMPLATE_INVOKE(quantize_two_stages, of_rows, of_tiles, of_blocks);
TEST_CASE_TEMPLATE_INVOKE(quantize_given, of_rows, of_tiles);
TEST_CASE_TEMPLATE_INVOKE(dequantize_numbers, of_rows, of_blocks);
TEST_CASE_TEMPLATE_INVOKE(transpose_codes, of_rows);

}  // namespace support
