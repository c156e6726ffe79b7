// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Cases of public fault reports on the device's quantizers.
#include "quantize_device.hpp"

namespace support {

using runner = device_runner<false>;

TEST_CASE_TEMPLATE_INVOKE(s13_bf16_scale, runner);
TEST_CASE_TEMPLATE_INVOKE(s14_outlier, runner);
TEST_CASE_TEMPLATE_INVOKE(s17_scale_never_set, runner);
TEST_CASE_TEMPLATE_INVOKE(s18_given_scale, runner);
TEST_CASE_TEMPLATE_INVOKE(t01_tile_counts, runner);
TEST_CASE_TEMPLATE_INVOKE(t02_row_lengths, runner);
TEST_CASE_TEMPLATE_INVOKE(t04_addresses, runner);
TEST_CASE_TEMPLATE_INVOKE(t05_strides, runner);
TEST_CASE_TEMPLATE_INVOKE(t07_empty, runner);
TEST_CASE_TEMPLATE_INVOKE(t10_rectangles, runner);
TEST_CASE_TEMPLATE_INVOKE(t12_exact_size, runner);
TEST_CASE_TEMPLATE_INVOKE(t13_tile_sizes, runner);
TEST_CASE_TEMPLATE_INVOKE(t15_transposed, runner);
TEST_CASE_TEMPLATE_INVOKE(r05_tiles_in_turn, runner);
TEST_CASE_TEMPLATE_INVOKE(r06_batches, runner);

}  // namespace support
