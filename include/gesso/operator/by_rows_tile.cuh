// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with rows of an operator by rows: a row lives in the registers of the block's threads (or is read
// again for each sweep where it is longer), its sums are taken in an order that depends on the shape alone, and sums of
// columns stay with the threads over the block's rows.
#pragma once

#include <gesso/operator/by_rows_sums.cuh>

namespace gesso {

namespace detail {

// Pieces: of a thread, in registers. IsLong: a row is read again in each sweep, Pieces at a time: it has more pieces than the
// block's threads hold, or the sinks cut it in another way than its sums do. IsMany: a block takes several rows, and asks for
// the next one before it works on one.
template<class Operator, class Parameter, class Sources, class Sinks, int Pieces, bool IsLong, bool IsMany>
struct rows_tile {
    static constexpr index_t width = sinks_traits<Sinks>::width;
    using pieces_type = row_pieces<width, sum_items>;
    using sum_pieces_type = row_pieces<0, sum_items>;
    static constexpr int items = pieces_type::items;
    static constexpr int pieces = Pieces;
    static constexpr int lanes = width == 0 ? 1 : static_cast<int>(pieces_type::lanes);
    static_assert(lanes <= 256,
        "gesso::by_rows: a group of 1 x G has at most 2048 elements on the device; use a smaller G, or the host level");
    static constexpr bool is_aligned = width == 0 || pieces_type::padded_width == width;
    // Do the sinks cut a row as its sums do?
    static constexpr bool cuts_alike = is_aligned && items == sum_items && lanes <= 32;
    static_assert(IsLong || cuts_alike);
    static constexpr bool is_long = IsLong;
    static constexpr bool is_many = IsMany;
    static constexpr int column_sums = Operator::column_sums;
    // Is there room for the next row beside the sums of columns?
    static constexpr bool asks_early = column_sums * Pieces * items <= 32;
    using function_type = rows_function<Operator, Parameter>;
    using loaded_type = loaded_sources<Sources, items, is_aligned>;
    using column_type = typename function_type::template column_state<items>;
    using row_type = typename function_type::row_state;
    using storage = reduction_storage<amax_statistic, lanes, row_block_threads>;
    using sinks_type = row_sinks<Sinks, items, row_block_threads>;
    struct shared_type {
        block_sums<Operator::sums> sums;
        uint32_t maxima[row_block_threads / 32];
        storage groups[static_cast<unsigned>(Pieces)][static_cast<unsigned>(Operator::outputs)][1];
    };

    // How a block takes a row of `columns`: the threads that sum it, and the sweeps of sums and of outputs.
    struct cut {
        pieces_type in_row;  // of a matrix of one row
        sum_pieces_type sum_in_row;
        int sum_threads;
        int sum_sweeps;
        int sweeps;
    };
    // Threads of a block: a multiple of those that share a group.
    static int threads(int summing) { return static_cast<int>(round_up(summing, lanes > 32 ? lanes : 32)); }
    static cut cut_of(index_t columns, int summing)
    {
        const pieces_type in_row = pieces_type::of(1, columns);
        return {in_row, sum_pieces_type::of(1, columns), summing,
            static_cast<int>(parts(parts(columns, sum_items), summing)),
            static_cast<int>(parts(in_row.in_row, index_t{threads(summing)} * Pieces))};
    }

    const function_type& function;
    const Sources& sources;
    const Sinks& sinks;
    const cut& row_cut;
    shared_type& shared;
    float* column_partials;  // this block's, (column_sums, stride)
    index_t partial_stride;
    sinks_type state;
    int turn = 0;
    float sums_of_columns[static_cast<unsigned>(Pieces)][static_cast<unsigned>(items)][at_least_one(column_sums)];

    using loaded_pieces_of_row = loaded_type[static_cast<unsigned>(Pieces)];

    // Piece `at` of a row. (row_pieces has the same for matrices, with what rows cost.)
    template<class Cut>
    static __device__ __forceinline__ typename Cut::place piece_at(const Cut& cut, index_t at)
    {
        typename Cut::place result{0, at * Cut::items, 0};
        index_t end = cut.columns;
        if constexpr (Cut::padded_width != Cut::tile_width && Cut::tile_width != 1) {
            const index_t tile = at / Cut::lanes;
            result.column = tile * Cut::tile_width + at % Cut::lanes * Cut::items;
            end = smaller(end, (tile + 1) * Cut::tile_width);
        }
        result.valid = valid_of(result.column, end, Cut::items);
        return result;
    }
    __device__ __forceinline__ typename pieces_type::place place(int piece, int sweep) const
    {
        return piece_at(row_cut.in_row, (index_t{sweep} * Pieces + piece) * blockDim.x + threadIdx.x);
    }
    __device__ __forceinline__ void load(loaded_pieces_of_row& to, index_t row, int sweep) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            const auto at = place(i, sweep);
            to[i].load(sources, row, at.column, at.valid);
        }
    }
    // visit(numbers, parameters, item) for each element of a piece. Parameters are asked of the cache where they are used:
    // registers are what limits the loads in flight.
    template<int Items, class Loaded, class Place, class Visit>
    __device__ __forceinline__ void each(const Loaded& loaded, const Place& at, const Visit& visit)
    {
        typename function_type::template column_state<Items> of_columns;
        function.load_columns(of_columns, at.column, at.valid);
        float in[static_cast<unsigned>(Operator::inputs)][static_cast<unsigned>(Items)];
        loaded.get(in);
        GESSO_UNROLL
        for (int j = 0; j < Items; ++j) {
            if (j >= at.valid) continue;
            float of_item[static_cast<unsigned>(Operator::inputs)];
            float parameters[at_least_one(Operator::parameters)];
            GESSO_UNROLL
            for (int k = 0; k < Operator::inputs; ++k) of_item[k] = in[k][j];
            function_type::parameters_of(of_columns, j, parameters);
            visit(of_item, parameters, j);
        }
    }
    template<int Stage>
    __device__ __forceinline__ void sum(loaded_pieces_of_row& loaded, index_t row, row_type& of_row)
    {
        if constexpr (Stage < Operator::stages) {
            float sums[1][at_least_one(Operator::sums)] = {};
            const auto accumulate = [&](const auto& in, const auto& parameters, int) {
                Operator::template accumulate<Stage>(in, parameters, of_row.values, sums[0]);
            };
            if constexpr (IsLong) {
                for (int sweep = 0; sweep < row_cut.sum_sweeps; ++sweep) {
                    auto at = piece_at(row_cut.sum_in_row, index_t{sweep} * row_cut.sum_threads + threadIdx.x);
                    if (static_cast<int>(threadIdx.x) >= row_cut.sum_threads) at.valid = 0;
                    loaded_sources<Sources, sum_items, true> piece;
                    piece.load(sources, row, at.column, at.valid);
                    each<sum_items>(piece, at, accumulate);
                }
            } else {
                GESSO_UNROLL
                for (int i = 0; i < Pieces; ++i) each<items>(loaded[i], place(i, 0), accumulate);
            }
            shared.sums.reduce(sums, turn, static_cast<int>(blockDim.x) / 32);
            turn ^= 1;
            Operator::template finish<Stage>(sums[0], row_cut.in_row.columns, function.memory.epsilon, of_row.values);
            sum<Stage + 1>(loaded, row, of_row);
        }
    }

    // A row, of which the pieces are loaded unless it is long. All threads of the block.
    __device__ __forceinline__ void run(loaded_pieces_of_row& loaded, index_t row, bool is_first)
    {
        row_type of_row;
        function.load_given(of_row, row);
        sum<0>(loaded, row, of_row);
        if (threadIdx.x == 0) function.store_row(of_row, row);
        for (int sweep = 0; sweep < (IsLong ? row_cut.sweeps : 1); ++sweep) {
            if constexpr (IsLong) load(loaded, row, sweep);
            if constexpr (IsLong && column_sums > 0) start_columns(sweep, is_first);
            GESSO_UNROLL
            for (int i = 0; i < Pieces; ++i) {
                auto at = place(i, sweep);
                if constexpr (column_sums > 0) {
                    each<items>(loaded[i], at, [&](const auto& in, const auto& parameters, int j) {
                        Operator::contribute(in, parameters, of_row.values, sums_of_columns[i][j]);
                    });
                }
                column_type of_columns;
                function.load_columns(of_columns, at.column, at.valid);
                packed_elements<float, items> numbers[static_cast<unsigned>(Operator::outputs)];
                apply_to_piece(function, of_columns, of_row, loaded[i], numbers);
                clear_missing(numbers, at.valid);
                at.row = row;
                state.put(numbers, at, sinks, shared.groups[i]);
            }
            if constexpr (IsLong && column_sums > 0) store_columns(sweep);
            if constexpr (IsLong && lanes > 32) __syncthreads();  // the next sweep takes the same storage
        }
    }

    // After the last row: the largest magnitudes, to the partial maxima. All threads of the block.
    __device__ __forceinline__ void finish(const partial_maxima& partials)
    {
        state.finish(partials, [&](uint32_t bits) { return largest_of_all_warps(bits, shared.maxima); });
    }

    // Sums of columns: zeros before a block's first row, and to memory after its last one (or sweep by sweep).
    __device__ __forceinline__ void clear_columns()
    {
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            GESSO_UNROLL
            for (int j = 0; j < items; ++j) {
                GESSO_UNROLL
                for (int k = 0; k < column_sums; ++k) sums_of_columns[i][j][k] = 0.0f;
            }
        }
    }
    __device__ __forceinline__ void start_columns(int sweep, bool is_first)
    {
        clear_columns();
        if (is_first) return;
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            const auto at = place(i, sweep);
            GESSO_UNROLL
            for (int k = 0; k < column_sums; ++k) {
                packed_elements<float, items> known;
                load_some<items>(column_partials + (k * partial_stride + at.column), at.valid, known.words);
                GESSO_UNROLL
                for (int j = 0; j < items; ++j) sums_of_columns[i][j][k] = known.get(j);
            }
        }
    }
    __device__ __forceinline__ void store_columns(int sweep) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            const auto at = place(i, sweep);
            GESSO_UNROLL
            for (int k = 0; k < column_sums; ++k) {
                packed_elements<float, items> known;
                GESSO_UNROLL
                for (int j = 0; j < items; ++j) known.words[j] = bits_of(sums_of_columns[i][j][k]);
                store_some<items>(column_partials + (k * partial_stride + at.column), at.valid, known.words);
            }
        }
    }
};

// Rows [blockIdx.x * rows_of_block, ...) of `rows`.
template<class Tile, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(row_block_threads)
    rows_kernel(const typename Tile::function_type function, const Sources sources, const Sinks sinks,
        const typename Tile::cut row_cut, const index_t rows, const index_t rows_of_block, float* const column_partials,
        const index_t partial_stride, const partial_maxima partials)
{
    __shared__ typename Tile::shared_type shared;
    wait_for_earlier();
    let_later_start();
    Tile tile{function, sources, sinks, row_cut, shared,
        column_partials + blockIdx.x * (Tile::column_sums * partial_stride), partial_stride};
    const index_t begin = blockIdx.x * rows_of_block;
    const index_t end = smaller(begin + rows_of_block, rows);
    if constexpr (Tile::is_long) {
        typename Tile::loaded_pieces_of_row loaded;
        for (index_t row = begin; row < end; ++row) tile.run(loaded, row, row == begin);
    } else {
        tile.clear_columns();
        typename Tile::loaded_pieces_of_row loaded;
        tile.load(loaded, begin, 0);
        if constexpr (!Tile::is_many) {
            tile.run(loaded, begin, true);
        } else {
            for (index_t row = begin; row < end; ++row) {
                if constexpr (Tile::asks_early) {
                    typename Tile::loaded_pieces_of_row next;
                    if (row + 1 < end) tile.load(next, row + 1, 0);
                    tile.run(loaded, row, false);
                    GESSO_UNROLL
                    for (int i = 0; i < Tile::pieces; ++i) loaded[i] = next[i];
                } else {
                    tile.run(loaded, row, false);
                    if (row + 1 < end) tile.load(loaded, row + 1, 0);
                }
            }
        }
        if constexpr (Tile::column_sums > 0) tile.store_columns(0);
    }
    tile.finish(partials);
}

}  // namespace detail

}  // namespace gesso
