// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How kernels on matrices are cut into blocks: plain numbers, picked by element type and group, so that a user can override
// one. They change how long a kernel takes, never a byte of what it writes.
#pragma once

#include <gesso/encoding/element.hpp>

namespace gesso {

// The tuning of quantize(), encode(), dequantize(), transpose() and observe() on matrices of T. Derive and override to
// change one thing, and give it as the last template argument:
//   struct mine : gesso::matrix_tuning<float> { static constexpr int row_items = 4; };
//   gesso::quantize<mine>(values, to, stream);
// Source: the sweep of bench/operator/quantize_bench, docs/benchmarks.md.
template<class T>
struct matrix_tuning {
    // A row's elements in one piece of a thread (2, 4, 8 or 16): 32 bytes in two loads. Fewer where a group has no more.
    static constexpr int row_items = sizeof(T) == 4 ? 8 : 16;
    // Such pieces of a thread, all loaded before the first is used.
    static constexpr int row_pieces = 1;
    // Threads of a block; more where a group needs them.
    static constexpr int row_threads = 256;

    // The same for codes that become elements: a thread stores 16 bytes at once, and no more side by side (stores with gaps
    // between the lanes are slow).
    static constexpr int decode_items = sizeof(T) == 4 ? 4 : 8;
    static constexpr int decode_pieces = 2;
    static constexpr int decode_threads = 256;

    // Where a block transposes: 128 rows by this many columns (64 or a multiple), by 256 threads or a multiple.
    static constexpr int tile_columns = 64;
    static constexpr int tile_threads = 256;

    // Stage one over a whole tensor: blocks that each leave one amax (at most 1024), their threads, and the elements and
    // pieces of a thread at a time.
    static constexpr int scan_blocks = 528;
    static constexpr int scan_threads = 512;
    static constexpr int scan_items = sizeof(T) == 4 ? 4 : 8;
    static constexpr int scan_pieces = 4;
};

// The tuning of transpose(): 128 rows by this many columns of codes (128 or a multiple), by 256 threads or a multiple.
struct transpose_tuning {
    static constexpr int tile_columns = 128;
    static constexpr int tile_threads = 256;
};

namespace detail {

// The most partial maxima that stage one of a tensor leaves in its workspace.
constexpr int max_partials = 1024;

}  // namespace detail

}  // namespace gesso
