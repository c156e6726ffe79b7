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

// One scale a column of a matrix.
struct per_column {
    static constexpr index_t tile_rows = 0;
    static constexpr index_t tile_columns = 1;
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

constexpr GESSO_HOST_DEVICE index_t greatest_common_divisor(index_t a, index_t b)
{
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

// A user's granularity with rows and columns exchanged.
template<class Granularity>
struct exchanged {
    static constexpr index_t tile_rows = Granularity::tile_columns;
    static constexpr index_t tile_columns = Granularity::tile_rows;
};

template<class Granularity>
struct select_transposed {
    static_assert(is_tiled<Granularity>,
        "gesso::transposed_granularity: groups of a flat tensor have no transpose; use a granularity with `tile_rows` and "
        "`tile_columns`, as per_tile<R, C>");
    using type = exchanged<Granularity>;
};
template<class Granularity>
struct select_transposed<exchanged<Granularity>> {
    using type = Granularity;
};
template<int Rows, int Columns>
struct select_transposed<per_tile<Rows, Columns>> {
    using type = per_tile<Columns, Rows>;
};
template<>
struct select_transposed<per_row> {
    using type = per_column;
};
template<>
struct select_transposed<per_column> {
    using type = per_row;
};
template<>
struct select_transposed<per_tensor> {
    using type = per_tensor;
};
template<>
struct select_transposed<unscaled> {
    using type = unscaled;
};

}  // namespace detail

// Who shares a scale in the transposed matrix: the same elements. per_tile<R, C> becomes per_tile<C, R>, per_row
// per_column; per_tensor and unscaled stay. Applied twice it is the granularity itself.
template<class Granularity>
using transposed_granularity = typename detail::select_transposed<Granularity>::type;

}  // namespace gesso
