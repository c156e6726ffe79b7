// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The kernels of operator/quantize.cuh on values and codes, and where they read the scale of a whole tensor. Blocks lie on one
// axis, since the other axes end at 65,535.
#pragma once

#include <gesso/level/launch.cuh>
#include <gesso/operator/quantize_tile.cuh>
#include <gesso/operator/row_tile.cuh>

#include <cooperative_groups.h>

namespace gesso {

namespace detail {

// Stage one over a whole tensor: `blocks` maxima, each written by its block and none added to, so that nothing has to be
// reset. Stage two is a part of whoever reads them.
struct partial_maxima {
    uint32_t* amax_bits;
    int blocks;

    // Those of one of several tensors that are made at once.
    GESSO_HOST_DEVICE partial_maxima of_output(int output) const { return {amax_bits + output * max_partials, blocks}; }

    // All threads of the block: the largest of all. Two barriers; `shared` has Threads / 32 words.
    template<int Threads>
    __device__ __forceinline__ uint32_t largest(uint32_t* shared) const
    {
        // All of a thread's loads at once.
        constexpr int number = (max_partials + Threads - 1) / Threads;
        amax_statistic known;
        GESSO_UNROLL
        for (int k = 0; k < number; ++k) {
            const int i = static_cast<int>(threadIdx.x) + k * Threads;
            if (i < blocks) known.merge(amax_statistic{amax_bits[i]});
        }
        return largest_of_block<Threads>(known.amax_bits, shared);
    }
    // The writer of the tensor's one tile.
    template<class Group, int Threads>
    __device__ __forceinline__ typename Group::writer writer(uint32_t* shared) const
    {
        return Group::fit(amax_statistic{largest<Threads>(shared)});
    }
};

// The scale of a whole tensor to the outputs that are wanted, by one thread.
template<class Group, class Codec, class TransposedCodec>
__device__ __forceinline__ void store_tensor_scale(const typename Group::writer& with,
    const compressed_matrix<Codec>& plain, const compressed_matrix<TransposedCodec>& transposed)
{
    if (plain.codes != nullptr) plain.scales[plain.scale_index(0, 0)] = Group::scale_code(with);
    if (transposed.codes != nullptr) transposed.scales[transposed.scale_index(0, 0)] = Group::scale_code(with);
}

// Is there one scale for all, in memory?
template<class Codec, scales_from From>
constexpr bool is_stored_tensor = From == scales_from::memory&& is_per_tensor<Codec>&& Codec::has_scale;

// A block's part of stage one: every `blocks`-th tile of pieces.
template<class T, class Tuning, int Threads>
struct tensor_scan {
    static constexpr int number = Tuning::scan_pieces;
    using pieces_type = row_pieces<0, Tuning::scan_items>;
    using loaded_type = loaded_pieces<T, pieces_type, number, Threads>;

    static GESSO_HOST_DEVICE index_t tiles(const pieces_type& pieces)
    {
        return parts(pieces.count(), index_t{Threads} * number);
    }
    // All threads of the block, valid in each: the largest of the block's part.
    template<class NanPolicy>
    static __device__ __forceinline__ uint32_t largest(
        const matrix_ref<const T>& values, const pieces_type& pieces, const NanPolicy& nan, uint32_t* shared)
    {
        const index_t end = tiles(pieces);
        amax_statistic known;
        for (index_t tile = blockIdx.x; tile < end; tile += gridDim.x) {
            loaded_type loaded;
            loaded.load(values, pieces, tile);
            bool is_special = false;
            GESSO_UNROLL
            for (int i = 0; i < number; ++i) {
                known.merge(observe_packed<loaded_type::items>(loaded.elements[i], 0, nan, is_special));
            }
        }
        return largest_of_block<Threads>(known.amax_bits, shared);
    }
    template<class NanPolicy>
    static __device__ __forceinline__ void observe(const matrix_ref<const T>& values, const pieces_type& pieces,
        const NanPolicy& nan, const partial_maxima& partials, uint32_t* shared)
    {
        const uint32_t bits = largest(values, pieces, nan, shared);
        if (threadIdx.x == 0) partials.amax_bits[blockIdx.x] = bits;
    }
};

template<class Scan, class T, int Threads, class NanPolicy>
GESSO_KERNEL void __launch_bounds__(Threads) tensor_scan_kernel(const matrix_ref<const T> values,
    const typename Scan::pieces_type pieces, const NanPolicy nan, const partial_maxima partials)
{
    __shared__ uint32_t shared[Threads / 32];
    wait_for_earlier();
    let_later_start();
    Scan::observe(values, pieces, nan, partials, shared);
}

template<class Tile, scales_from From, class Codec, class T, class NanPolicy, class Rounding>
GESSO_KERNEL void __launch_bounds__(Tile::threads) row_quantize_kernel(const matrix_ref<const T> values,
    const compressed_matrix<Codec> to, const typename Tile::pieces_type pieces, const NanPolicy nan,
    const Rounding rounding, const partial_maxima partials)
{
    __shared__ typename Tile::storage shared[static_cast<unsigned>(Tile::number)];
    typename Tile::loaded_type loaded;
    typename Tile::writer with{};
    if constexpr (From == scales_from::tensor) {
        // Stage one ended here: the cache still has its last tiles. (It started when the values were there.)
        loaded.load(values, pieces, index_t{gridDim.x} - 1 - blockIdx.x);
        wait_for_earlier();
        __shared__ uint32_t warps[Tile::threads / 32];
        with = partials.template writer<typename Tile::group, Tile::threads>(warps);
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            store_tensor_scale<typename Tile::group>(with, to, compressed_matrix<Codec>{});
        }
    } else {
        if constexpr (From == scales_from::memory) wait_for_earlier();
        loaded.load(values, pieces, blockIdx.x);
        if constexpr (is_stored_tensor<Codec, From>) with = Tile::group::stored(to.scales[to.scale_index(0, 0)]);
    }
    Tile::encode(loaded, to, with, nan, rounding, shared);
}

template<class Tile, class Codec, class T>
GESSO_KERNEL void __launch_bounds__(Tile::threads) row_dequantize_kernel(
    const compressed_matrix<const Codec> from, const matrix_ref<T> values, const typename Tile::pieces_type pieces)
{
    Tile::decode(from, values, pieces, blockIdx.x);
}

template<class Tile, scales_from From, class Codec, class TransposedCodec, class T, class NanPolicy, class Rounding>
GESSO_KERNEL void __launch_bounds__(Tile::threads, Tile::resident_blocks)
    tile_quantize_kernel(const matrix_ref<const T> values, const compressed_matrix<Codec> plain,
        const compressed_matrix<TransposedCodec> transposed, const typename Tile::places_type places,
        const NanPolicy nan, const Rounding rounding, const partial_maxima partials)
{
    __shared__ typename Tile::storage shared;
    typename Tile::loaded_type loaded;
    typename Tile::writer with{};
    if constexpr (From == scales_from::tensor) {
        Tile::load(loaded, values, places, index_t{gridDim.x} - 1 - blockIdx.x);
        wait_for_earlier();
        __shared__ uint32_t warps[Tile::threads / 32];
        with = partials.template writer<typename Tile::group, Tile::threads>(warps);
        if (blockIdx.x == 0 && threadIdx.x == 0) store_tensor_scale<typename Tile::group>(with, plain, transposed);
    } else {
        if constexpr (From == scales_from::memory) wait_for_earlier();
        Tile::load(loaded, values, places, blockIdx.x);
        Tile::load_scales(loaded, plain, transposed, places.rows, places.columns);
        if constexpr (is_stored_tensor<Codec, From>) {
            const index_t place = plain.codes != nullptr ? plain.scale_index(0, 0) : transposed.scale_index(0, 0);
            with = Tile::group::stored(plain.codes != nullptr ? plain.scales[place] : transposed.scales[place]);
        }
    }
    Tile::encode(loaded, plain, transposed, places.rows, places.columns, with, nan, rounding, shared);
}

// The parameters of tile (row, column) of `from`.
template<class Codec, class TransposedCodec>
__device__ __forceinline__ void move_scale(const compressed_matrix<const Codec>& from,
    const compressed_matrix<TransposedCodec>& to, index_t row, index_t column)
{
    const index_t source = from.scale_index(row, column);
    const index_t target = to.scale_index(column, row);
    to.scales[target] = from.scales[source];
    if constexpr (Codec::has_exponent) to.exponents[target] = from.exponents[source];
}
// Codes, and with them the scales: some of the tiles' for each thread.
template<class Tile, class Codec, class TransposedCodec>
GESSO_KERNEL void __launch_bounds__(Tile::threads) transpose_kernel(const compressed_matrix<const Codec> from,
    const compressed_matrix<TransposedCodec> to, const typename Tile::places_type places)
{
    __shared__ typename Tile::transposer shared;
    Tile::move(from.codes, from.stride, to.codes, to.stride, places, shared);
    if constexpr (Codec::has_scale) {
        constexpr index_t height = Codec::granularity::tile_rows;
        constexpr index_t width = Codec::granularity::tile_columns;
        if constexpr (height > 0 && width > 0 && 128 % tile_divisor(height) == 0
                      && Tile::columns % tile_divisor(width) == 0) {
            // Those of the block's own tile: lanes write neighbours, and what they read between them is whole sectors.
            constexpr int down = static_cast<int>(128 / height);
            constexpr int across = static_cast<int>(Tile::columns / width);
            const auto first = places.at(blockIdx.x);
            for (int i = static_cast<int>(threadIdx.x); i < down * across; i += Tile::threads) {
                const index_t row = first.row / height + i % down;
                const index_t column = first.column / width + i / down;
                if (row * height < places.rows && column * width < places.columns) move_scale(from, to, row, column);
            }
        } else {
            const tile_grid grid = to.tiles();
            const index_t count = grid.down() * grid.across();
            const index_t threads = index_t{gridDim.x} * Tile::threads;
            for (index_t i = index_t{blockIdx.x} * Tile::threads + threadIdx.x; i < count; i += threads) {
                const divided at = divide_position(i, grid.across());
                move_scale(from, to, at.rest, at.quotient);
            }
        }
    }
}

// Just in time per tensor in one launch: all blocks of the grid are resident and meet between the stages.
template<class Scan, class Tile, class Codec, class TransposedCodec, class T, class NanPolicy, class Rounding>
GESSO_KERNEL void __launch_bounds__(Tile::threads) one_launch_tile_kernel(const matrix_ref<const T> values,
    const typename Scan::pieces_type pieces, const compressed_matrix<Codec> plain,
    const compressed_matrix<TransposedCodec> transposed, const typename Tile::places_type places, const NanPolicy nan,
    const Rounding rounding, const partial_maxima partials)
{
    __shared__ typename Tile::storage shared;
    __shared__ uint32_t warps[Tile::threads / 32];
    Scan::observe(values, pieces, nan, partials, warps);
    cooperative_groups::this_grid().sync();
    const auto with = partials.template writer<typename Tile::group, Tile::threads>(warps);
    if (blockIdx.x == 0 && threadIdx.x == 0) store_tensor_scale<typename Tile::group>(with, plain, transposed);
    for (index_t tile = places.count() - 1 - blockIdx.x; tile >= 0; tile -= gridDim.x) {
        typename Tile::loaded_type loaded;
        Tile::load(loaded, values, places, tile);
        __syncthreads();  // the tile before has left shared memory
        Tile::encode(loaded, plain, transposed, places.rows, places.columns, with, nan, rounding, shared);
    }
}
template<class Scan, class Tile, class Codec, class T, class NanPolicy, class Rounding>
GESSO_KERNEL void __launch_bounds__(Tile::threads)
    one_launch_row_kernel(const matrix_ref<const T> values, const typename Scan::pieces_type pieces,
        const compressed_matrix<Codec> to, const typename Tile::pieces_type row_pieces, const index_t blocks,
        const NanPolicy nan, const Rounding rounding, const partial_maxima partials)
{
    __shared__ typename Tile::storage shared[static_cast<unsigned>(Tile::number)];
    __shared__ uint32_t warps[Tile::threads / 32];
    Scan::observe(values, pieces, nan, partials, warps);
    cooperative_groups::this_grid().sync();
    const auto with = partials.template writer<typename Tile::group, Tile::threads>(warps);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        store_tensor_scale<typename Tile::group>(with, to, compressed_matrix<Codec>{});
    }
    for (index_t tile = blocks - 1 - blockIdx.x; tile >= 0; tile -= gridDim.x) {
        typename Tile::loaded_type loaded;
        loaded.load(values, row_pieces, tile);
        Tile::encode(loaded, to, with, nan, rounding, shared);
    }
}

}  // namespace detail

}  // namespace gesso
