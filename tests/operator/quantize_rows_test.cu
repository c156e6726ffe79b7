// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the device, tiles along rows: the cases of the host.
#include "quantize_device.hpp"

using namespace gesso;
using support::plain_codec;
using support::trial;

namespace {

using runner = support::device_runner<false>;
using tiles_4 = trial<runner, fp16, plain_codec<e5m2, per_tile<1, 4>, bfloat16>>;
using tiles_16 = trial<runner, bf16, plain_codec<e4m3, per_tile<1, 16>, bfloat16>>;
using tiles_16_fp32 = trial<runner, float, plain_codec<e4m3, per_tile<1, 16>, bfloat16>>;
using tiles_100 = trial<runner, float, plain_codec<e4m3, per_tile<1, 100>>>;
using tiles_128 = trial<runner, bf16, plain_codec<e4m3, per_tile<1, 128>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, tiles_4, tiles_16, tiles_16_fp32, tiles_100, tiles_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_stochastic, tiles_16, tiles_100);
TEST_CASE_TEMPLATE_INVOKE(quantize_nan, tiles_16);
TEST_CASE_TEMPLATE_INVOKE(quantize_two_stages, tiles_4, tiles_16, tiles_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_given, tiles_16);
TEST_CASE_TEMPLATE_INVOKE(dequantize_numbers, tiles_4, tiles_16_fp32, tiles_128);
TEST_CASE_TEMPLATE_INVOKE(transpose_codes, tiles_16, tiles_100);

}  // namespace support
