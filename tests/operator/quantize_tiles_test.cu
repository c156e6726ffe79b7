// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the device, whole rows and columns and tiles of several rows: the cases of the host.
#include "quantize_device.hpp"

using namespace gesso;
using support::plain_codec;
using support::trial;

namespace {

using runner = support::device_runner<false>;
using rows = trial<runner, fp16, plain_codec<e4m3, per_row>>;
using columns = trial<runner, bf16, plain_codec<e5m2, per_column>>;
using squares = trial<runner, bf16, plain_codec<e4m3, per_tile<128, 128>>>;
using squares_of_8 = trial<runner, float, plain_codec<e5m2, per_tile<8, 8>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, rows, columns, squares, squares_of_8);
TEST_CASE_TEMPLATE_INVOKE(quantize_stochastic, columns);
TEST_CASE_TEMPLATE_INVOKE(quantize_nan, rows, columns, squares);
TEST_CASE_TEMPLATE_INVOKE(quantize_two_stages, rows, columns, squares);
TEST_CASE_TEMPLATE_INVOKE(quantize_given, rows, squares_of_8);
TEST_CASE_TEMPLATE_INVOKE(dequantize_numbers, columns);
TEST_CASE_TEMPLATE_INVOKE(transpose_codes, rows, columns, squares);

}  // namespace support
