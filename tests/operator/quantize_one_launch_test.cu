// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Just in time per tensor in one launch: the cases of the host.
#include "quantize_device.hpp"

using namespace gesso;
using support::plain_codec;
using support::trial;

namespace {

using runner = support::device_runner<true>;
using of_rows = trial<runner, bf16, plain_codec<e4m3, per_tensor>, per_row>;
using of_tiles = trial<runner, float, plain_codec<e5m2, per_tensor, bfloat16>, per_tile<1, 16>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, of_rows, of_tiles);
TEST_CASE_TEMPLATE_INVOKE(quantize_stochastic, of_rows);
TEST_CASE_TEMPLATE_INVOKE(quantize_nan, of_rows);

}  // namespace support
