// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the device with E8M0 scales, in rows and in the order of cuBLASLt, and with tiles along the rows
// of both outputs: the cases of the host.
#include "quantize_device.hpp"

using namespace gesso;
using support::plain_codec;
using support::trial;

namespace {

using runner = support::device_runner<false>;
using microscaled = trial<runner, bf16, plain_codec<e4m3, per_tile<1, 32>, e8m0>>;
using microscaled_fp32 = trial<runner, float, plain_codec<e5m2, per_tile<1, 32>, e8m0>>;
using both_ways = trial<runner, bf16, plain_codec<e4m3, per_tile<1, 32>, e8m0>, per_tile<1, 32>,
    plain_codec<e4m3, per_tile<1, 32>, e8m0>>;
using both_ways_128 =
    trial<runner, float, plain_codec<e4m3, per_tile<1, 128>>, per_tile<1, 128>, plain_codec<e4m3, per_tile<1, 128>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, microscaled, microscaled_fp32, both_ways, both_ways_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_stochastic, microscaled_fp32, both_ways);
TEST_CASE_TEMPLATE_INVOKE(quantize_nan, microscaled, both_ways_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_two_stages, microscaled);
TEST_CASE_TEMPLATE_INVOKE(quantize_given, microscaled, both_ways);
TEST_CASE_TEMPLATE_INVOKE(dequantize_numbers, microscaled);
TEST_CASE_TEMPLATE_INVOKE(transpose_codes, microscaled);

}  // namespace support
