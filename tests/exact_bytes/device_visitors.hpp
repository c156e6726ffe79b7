// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device's half of the comparison, in two files that compile apart.
#pragma once

#include "hash.hpp"

namespace exact_bytes {

void add_sweeps_of_device(hash_list& hashes);
void add_adamw_of_device(hash_list& hashes);

// Cases that a kernel does not take: group sizes of which neither divides the other.
constexpr const char* left_out_on_device = "adamw.fp32.expanded_96_scaled_128.";

}  // namespace exact_bytes
