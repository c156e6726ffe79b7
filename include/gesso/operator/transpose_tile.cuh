// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with a tile of 128 rows whose codes it transposes: bytes change places in registers, four by four, and
// words in shared memory, without bank conflicts; both sides of global memory are met in pieces of 16 bytes.
#pragma once

#include <gesso/operator/matrix_statistic.cuh>
#include <gesso/operator/matrix_tuning.hpp>

namespace gesso {

namespace detail {

// Codes (128, Columns) of one byte on their way to (Columns, 128). A warp holds a band of 16 rows by a panel of
// 8 * ThreadColumns columns: lane l has rows 4 (l / 8) and three more, columns ThreadColumns (l % 8) and on.
template<int Columns, int Threads, int ThreadColumns>
struct byte_transposer {
    static constexpr int rows = 128;
    static constexpr int bands = rows / 16;
    static constexpr int panel_columns = 8 * ThreadColumns;
    static constexpr int groups =
        Threads < 32 * bands ? 1 : Threads / (32 * bands);           // panels that the block holds at once
    static constexpr int panels = Columns / panel_columns / groups;  // of a thread
    static constexpr int words_of_row = ThreadColumns / 4;           // of a thread
    static constexpr int vectors = Columns * bands / Threads;        // of 16 bytes, of a thread
    static_assert(Threads % (32 * bands) == 0 && groups * panels * panel_columns == Columns
                      && vectors * Threads == Columns * bands,
        "gesso::matrix_tuning: tile_threads is a multiple of 256, and tile_columns one of 64 (128 for transpose()) for "
        "each 256 threads");

    // A column of 128 codes is 8 vectors of 16 bytes, of which column c keeps vector v at v xor its thread's number: then
    // neither the words of a warp's column nor the vectors of a column meet in a bank.
    uint4 memory[static_cast<unsigned>(Columns * bands)];

    // (Unsigned until the end: divisions by constants are shifts.)
    static __device__ __forceinline__ int band() { return static_cast<int>(threadIdx.x / 32 % unsigned{bands}); }
    static __device__ __forceinline__ int lane_column() { return static_cast<int>(threadIdx.x % 8); }
    static __device__ __forceinline__ int lane_row() { return static_cast<int>(threadIdx.x % 32 / 8); }
    // A thread's first row and, in its panel, first column within the block's tile.
    static __device__ __forceinline__ int row() { return band() * 16 + lane_row() * 4; }
    static __device__ __forceinline__ int column(int panel)
    {
        const int group = static_cast<int>(threadIdx.x / unsigned{32 * bands});
        return (panel * groups + group) * panel_columns + lane_column() * ThreadColumns;
    }

    // A thread's 4 rows of codes of a panel, transposed, to shared memory.
    __device__ __forceinline__ void put(int panel, const uint32_t (&codes)[4][static_cast<unsigned>(words_of_row)])
    {
        uint32_t* const words = reinterpret_cast<uint32_t*>(memory);
        const int place = ((band() ^ lane_column()) * 4 + lane_row());
        GESSO_UNROLL
        for (int word = 0; word < words_of_row; ++word) {
            const uint32_t upper_low = __byte_perm(codes[0][word], codes[1][word], 0x5140);
            const uint32_t upper_high = __byte_perm(codes[0][word], codes[1][word], 0x7362);
            const uint32_t lower_low = __byte_perm(codes[2][word], codes[3][word], 0x5140);
            const uint32_t lower_high = __byte_perm(codes[2][word], codes[3][word], 0x7362);
            uint32_t* const to = words + (column(panel) + word * 4) * (rows / 4) + place;
            to[0] = __byte_perm(upper_low, lower_low, 0x5410);
            to[rows / 4] = __byte_perm(upper_low, lower_low, 0x7632);
            to[2 * (rows / 4)] = __byte_perm(upper_high, lower_high, 0x5410);
            to[3 * (rows / 4)] = __byte_perm(upper_high, lower_high, 0x7632);
        }
    }

    // After a barrier: vector `i` of a thread, and where in the tile it belongs: `column` of the tile, rows from `row` on.
    struct turned_vector {
        uint4 codes;
        int column;
        int row;
    };
    __device__ __forceinline__ turned_vector turned(int i) const
    {
        const unsigned vector = threadIdx.x + static_cast<unsigned>(i * Threads);
        const unsigned column_of_tile = vector / unsigned{bands};
        const unsigned slot = vector % unsigned{bands};
        const unsigned stored_at = slot ^ (column_of_tile / unsigned{ThreadColumns} % 8);
        return {
            memory[column_of_tile * bands + stored_at], static_cast<int>(column_of_tile), static_cast<int>(slot * 16)};
    }

    // The same to a matrix in whole vectors: its rows are multiples of 16 codes apart, and `matrix_rows` is one.
    template<class Code>
    __device__ __forceinline__ void write_whole(Code* to, index_t stride, index_t matrix_rows, index_t matrix_columns,
        index_t first_row, index_t first_column) const
    {
        const int rows_left = static_cast<int>(smaller(matrix_rows - first_row, index_t{rows}));
        const int columns_left = static_cast<int>(smaller(matrix_columns - first_column, index_t{Columns}));
        Code* const first = to + (first_column * stride + first_row);
        GESSO_UNROLL
        for (int i = 0; i < vectors; ++i) {
            const turned_vector at = turned(i);
            if (at.column < columns_left && at.row < rows_left) {
                *reinterpret_cast<uint4*>(first + (at.column * stride + at.row)) = at.codes;
            }
        }
    }

    // The block's columns to rows of `to`, a matrix (columns, rows) with `stride`, from (column, row) on.
    template<class Code>
    __device__ __forceinline__ void write(Code* to, index_t stride, index_t matrix_rows, index_t matrix_columns,
        index_t first_row, index_t first_column) const
    {
        static_assert(sizeof(Code) == 1);
        GESSO_UNROLL
        for (int i = 0; i < vectors; ++i) {
            const turned_vector at = turned(i);
            const uint32_t words[4] = {at.codes.x, at.codes.y, at.codes.z, at.codes.w};
            const index_t target_row = first_column + at.column;
            const index_t target_column = first_row + at.row;
            const index_t left = target_row < matrix_columns ? matrix_rows - target_column : 0;
            Code* const target = to + (target_row * stride + target_column);
            store_some<16>(target, static_cast<int>(left < 0 ? 0 : left < 16 ? left : 16), words);
        }
    }
};

// Where a block's tile lies: tiles in row-major order.
template<int Columns>
struct tile_places {
    static constexpr int tile_columns = Columns;
    index_t rows;
    index_t columns;
    index_t across;

    static GESSO_HOST_DEVICE tile_places of(index_t rows, index_t columns)
    {
        return {rows, columns, parts(columns, index_t{Columns})};
    }
    GESSO_HOST_DEVICE index_t count() const { return parts(rows, 128) * across; }
    struct place {
        index_t row;
        index_t column;
    };
    __device__ __forceinline__ place at(index_t tile) const
    {
        const divided found = divide_position(tile, across);
        return {found.quotient * 128, found.rest * Columns};
    }
};

// How many of `items` elements from `begin` on lie before `end`.
__device__ __forceinline__ int valid_of(index_t begin, index_t end, int items)
{
    const index_t left = end - begin;
    return static_cast<int>(left < 0 ? 0 : left < items ? left : items);
}

// Codes of a tile to the transposed matrix.
template<class Code, class Tuning>
struct tile_transposer {
    static constexpr int columns = Tuning::tile_columns;
    static constexpr int threads = Tuning::tile_threads;
    static constexpr int items = 16;
    using transposer = byte_transposer<columns, threads, items>;
    using places_type = tile_places<columns>;

    static __device__ __forceinline__ void move(const Code* from, index_t from_stride, Code* to, index_t to_stride,
        const places_type& places, transposer& shared)
    {
        const auto first = places.at(blockIdx.x);
        const index_t row = first.row + transposer::row();
        uint32_t codes[static_cast<unsigned>(transposer::panels)][4][4];
        GESSO_UNROLL
        for (int p = 0; p < transposer::panels; ++p) {
            const index_t column = first.column + transposer::column(p);
            const Code* source = from + (row * from_stride + column);
            const int valid = valid_of(column, places.columns, items);
            GESSO_UNROLL
            for (int i = 0; i < 4; ++i) {
                load_some<items>(source, row + i < places.rows ? valid : 0, codes[p][i]);
                source += from_stride;
            }
        }
        GESSO_UNROLL
        for (int p = 0; p < transposer::panels; ++p) shared.put(p, codes[p]);
        __syncthreads();
        shared.write(to, to_stride, places.rows, places.columns, first.row, first.column);
    }
};

}  // namespace detail

}  // namespace gesso
