// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Who shares a scale.
#pragma once

#include <gesso/config.hpp>

namespace gesso {

// GroupSize elements in a row of a flat tensor share a scale: optimizer moments. Groups never cross a row and the last
// group of a row may be shorter. A user's granularity for moments is a struct with the same member.
template<int GroupSize>
struct per_group {
    static_assert(GroupSize >= 1, "gesso::per_group: a group has at least one element");
    static constexpr index_t group_size = GroupSize;
};

// Tiles of Rows x Columns elements of a matrix share a scale: activations. Tiles at the lower and right edge are cut off.
template<int Rows, int Columns>
struct per_tile {
    static_assert(Rows >= 1 && Columns >= 1, "gesso::per_tile: a tile has at least one row and one column");
    static constexpr index_t tile_rows = Rows;
    static constexpr index_t tile_columns = Columns;
};

// One scale a row of a matrix. A tile size of 0 stands for the whole extent.
struct per_row {
    static constexpr index_t tile_rows = 1;
    static constexpr index_t tile_columns = 0;
};

// One scale for the whole matrix.
struct per_tensor {
    static constexpr index_t tile_rows = 0;
    static constexpr index_t tile_columns = 0;
};

// No scale at all: the codes are the numbers, as in moments kept in fp32 or bf16. Works flat and as a matrix.
struct unscaled {
    static constexpr index_t group_size = 1;
    static constexpr index_t tile_rows = 1;
    static constexpr index_t tile_columns = 1;
};

namespace detail {

template<class Granularity, class = void>
constexpr bool is_flat = false;
template<class Granularity>
constexpr bool is_flat<Granularity, standard::void_t<decltype(Granularity::group_size)>> = true;

template<class Granularity, class = void>
constexpr bool is_tiled = false;
template<class Granularity>
constexpr bool is_tiled<Granularity, standard::void_t<decltype(Granularity::tile_rows + Granularity::tile_columns)>> =
    true;

// How many parts of `size` cover `extent`.
constexpr GESSO_HOST_DEVICE index_t parts(index_t extent, index_t size)
{
    return extent / size + (extent % size != 0 ? 1 : 0);
}

}  // namespace detail

}  // namespace gesso
