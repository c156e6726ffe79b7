// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The kernels on what belongs to a tile and not to an element: the amax of units (stage one), the scales fitted to them
// (stage two), and the padding of scales.
#pragma once

#include <gesso/operator/matrix_kernels.cuh>

namespace gesso {

namespace detail {

// Where stage one leaves what it knows of a unit: as an amax, or at once as the scales of the outputs that are wanted.
template<class Amax>
struct amax_sink {
    matrix_ref<Amax> amax;

    __device__ __forceinline__ void put(index_t row, index_t column, const amax_statistic& known) const
    {
        amax.data[row * amax.stride + column] = element<Amax>::store(known.amax());
    }
};
template<class Codec, class TransposedCodec>
struct scale_sink {
    compressed_matrix<Codec> plain;
    compressed_matrix<TransposedCodec> transposed;

    __device__ __forceinline__ void put(index_t row, index_t column, const amax_statistic& known) const
    {
        const auto code = matrix_group<Codec>::scale_code(matrix_group<Codec>::fit(known));
        if (plain.codes != nullptr) plain.scales[plain.scale_index(row, column)] = code;
        if (transposed.codes != nullptr) transposed.scales[transposed.scale_index(column, row)] = code;
    }
};

// Units of one row that the lanes of a block hold: as many threads as share a unit.
template<index_t Width, class T, class Tuning>
struct row_units {
    using pieces_type = row_pieces<Width, Tuning::row_items>;
    static constexpr int items = pieces_type::items;
    static constexpr int number = Tuning::row_pieces;
    static constexpr int lanes = static_cast<int>(pieces_type::lanes);
    static constexpr int threads = lanes > Tuning::row_threads ? lanes : Tuning::row_threads;
    using storage = reduction_storage<amax_statistic, lanes, threads>;
    using loaded_type = loaded_pieces<T, pieces_type, number, threads>;
};
template<class Units, class T, class NanPolicy, class Sink>
GESSO_KERNEL void __launch_bounds__(Units::threads) row_units_kernel(
    const matrix_ref<const T> values, const typename Units::pieces_type pieces, const NanPolicy nan, const Sink sink)
{
    __shared__ typename Units::storage shared[static_cast<unsigned>(Units::number)];
    typename Units::loaded_type loaded;
    loaded.load(values, pieces, blockIdx.x);
    GESSO_UNROLL
    for (int i = 0; i < Units::number; ++i) {
        bool is_special = false;
        amax_statistic known = observe_packed<Units::items>(loaded.elements[i], 0, nan, is_special);
        reduce_threads<Units::lanes, Units::threads>(known, shared[i]);
        const auto& at = loaded.places[i];
        if (threadIdx.x % Units::lanes == 0 && at.valid > 0) {
            sink.put(at.row, at.column / Units::pieces_type::tile_width, known);
        }
    }
}

// Any other unit: a block each, in the row-major order of units.
template<class Tuning, class T, int Threads, class NanPolicy, class Sink>
GESSO_KERNEL void __launch_bounds__(Threads)
    block_units_kernel(const matrix_ref<const T> values, const tile_grid units, const NanPolicy nan, const Sink sink)
{
    constexpr int items = Tuning::row_items;
    constexpr int number = Tuning::row_pieces;
    __shared__ uint32_t shared[Threads / 32];
    const divided at = divide_position(blockIdx.x, units.across());
    const index_t row = at.quotient * units.height;
    const index_t column = at.rest * units.width;
    const index_t row_end = smaller(row + units.height, units.rows);
    const index_t column_end = smaller(column + units.width, units.columns);
    const index_t in_row = parts(column_end - column, items);
    const index_t pieces = (row_end - row) * in_row;
    amax_statistic known;
    for (index_t first = threadIdx.x; first < pieces; first += index_t{Threads} * number) {
        packed_elements<T, items> elements[static_cast<unsigned>(number)];
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) {
            const index_t piece = first + i * Threads;
            const divided place = divide_position(piece, in_row);
            const index_t begin = column + place.rest * items;
            const T* from = values.data + ((row + place.quotient) * values.stride + begin);
            load_some<items>(from, piece < pieces ? valid_of(begin, column_end, items) : 0, elements[i].words);
        }
        bool is_special = false;
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) known.merge(observe_packed<items>(elements[i], 0, nan, is_special));
    }
    known.amax_bits = largest_of_block<Threads>(known.amax_bits, shared);
    if (threadIdx.x == 0) sink.put(at.quotient, at.rest, known);
}

// Units of one column: a block takes 32 columns side by side, a lane each, and its warps take turns at the rows.
template<class T, class NanPolicy, class Sink>
GESSO_KERNEL void __launch_bounds__(1024)
    column_units_kernel(const matrix_ref<const T> values, const tile_grid units, const NanPolicy nan, const Sink sink)
{
    __shared__ uint32_t shared[32][33];
    const index_t strips = parts(units.columns, 32);
    const divided at = divide_position(blockIdx.x, strips);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const index_t column = at.rest * 32 + lane;
    const index_t row_end = smaller((at.quotient + 1) * units.height, units.rows);
    amax_statistic known;
    if (column < units.columns) {
        for (index_t row = at.quotient * units.height + warp; row < row_end; row += 32) {
            nan.observe(known, element<T>::load(values.data[row * values.stride + column]));
        }
    }
    shared[warp][lane] = known.amax_bits;
    __syncthreads();
    amax_statistic all{shared[lane][warp]};
    reduce_lanes<32>(all);
    if (lane == 0 && at.rest * 32 + warp < units.columns) sink.put(at.quotient, at.rest * 32 + warp, all);
}

// Stage two, tile by tile.
template<class Codec, class Amax>
GESSO_KERNEL void __launch_bounds__(256)
    fit_tiles_kernel(const matrix_ref<const Amax> amax, const compressed_matrix<Codec> to)
{
    const index_t tile = index_t{blockIdx.x} * 256 + threadIdx.x;
    if (tile >= amax.rows * amax.columns) return;
    const divided at = divide_position(tile, amax.columns);
    const uint32_t bits = bits_of(element<Amax>::load(amax.data[at.quotient * amax.stride + at.rest]));
    to.store(at.quotient, at.rest, Codec::fit(known_of_amax(bits)));
}

// Stage two of a tensor: amax of any units to its one scale, by one block.
template<class Codec, class Scan, class Amax, int Threads>
GESSO_KERNEL void __launch_bounds__(Threads) fit_tensor_kernel(
    const matrix_ref<const Amax> amax, const typename Scan::pieces_type pieces, const compressed_matrix<Codec> to)
{
    __shared__ uint32_t shared[Threads / 32];
    wait_for_earlier();
    let_later_start();
    const uint32_t bits = Scan::largest(amax, pieces, stored_amax{}, shared);
    if (threadIdx.x == 0) to.store(0, 0, Codec::fit(known_of_amax(bits)));
}
// The same from partial maxima of amax.
template<class Codec>
GESSO_KERNEL void __launch_bounds__(256)
    fit_partials_kernel(const partial_maxima partials, const compressed_matrix<Codec> to)
{
    __shared__ uint32_t shared[256 / 32];
    wait_for_earlier();
    let_later_start();
    const uint32_t bits = partials.template largest<256>(shared);
    if (threadIdx.x == 0) to.store(0, 0, Codec::fit(known_of_amax(bits)));
}

// Zero bytes where the edge blocks of scales in cublaslt's order have no tile: right of the tiles, then below them.
template<class Codec>
GESSO_KERNEL void __launch_bounds__(256)
    scale_padding_kernel(const compressed_matrix<Codec> to, const scale_extent stored)
{
    const tile_grid grid = to.tiles();
    const index_t right = stored.columns - grid.across();
    const index_t at_right = grid.down() * right;
    const index_t i = index_t{blockIdx.x} * 256 + threadIdx.x;
    if (i < at_right) {
        to.store_padding(i / right, grid.across() + i % right);
    } else if (i - at_right < (stored.rows - grid.down()) * stored.columns) {
        to.store_padding(grid.down() + (i - at_right) / stored.columns, (i - at_right) % stored.columns);
    }
}

}  // namespace detail

}  // namespace gesso
