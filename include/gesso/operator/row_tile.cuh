// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with pieces of rows: values to codes and back, where no transpose is asked for. Registers and shuffles
// alone; shared memory only where a group is larger than a warp.
#pragma once

#include <gesso/operator/matrix_statistic.cuh>
#include <gesso/operator/matrix_tuning.hpp>

namespace gesso {

namespace detail {

// A matrix as pieces of Items elements: a tile of `width` columns (0: the whole row) starts a piece, and is padded to 2^n
// elements. `lanes` neighbouring pieces hold a tile's row.
template<index_t Width, int WantedItems>
struct row_pieces {
    static constexpr index_t padded_width = Width == 0 ? WantedItems : padded(Width < 2 ? 2 : Width);
    static constexpr int items = padded_width < WantedItems ? static_cast<int>(padded_width) : WantedItems;
    static constexpr index_t lanes = padded_width / items;
    static constexpr index_t tile_width = Width == 0 ? 1 : Width;  // what a column is divided by

    index_t rows;
    index_t columns;
    index_t in_row;  // pieces in a row

    static GESSO_HOST_DEVICE row_pieces of(index_t rows, index_t columns)
    {
        return {rows, columns, Width == 0 ? parts(columns, items) : parts(columns, tile_width) * lanes};
    }
    GESSO_HOST_DEVICE index_t count() const { return rows * in_row; }

    // A thread's elements (row, column) and on, `valid` of them.
    struct place {
        index_t row;
        index_t column;
        int valid;
    };
    // The block's first piece, and the piece that is `offset` (less than 2^31) further.
    __device__ __forceinline__ divided begin_of(index_t piece) const
    {
        if (rows == 1) return {0, piece};
        return divide_position(piece, in_row);
    }
    __device__ __forceinline__ place at(const divided& begin, uint32_t offset) const
    {
        index_t row = begin.quotient;
        index_t piece = begin.rest + offset;
        if (piece >= in_row && rows != 1) {
            const divided further = divide_position(piece, in_row);
            row += further.quotient;
            piece = further.rest;
        }
        place result{row, piece * items, 0};
        index_t end = columns;
        if constexpr (Width != 0 && padded_width != Width) {
            const index_t tile = piece / lanes;
            result.column = tile * Width + piece % lanes * items;
            end = smaller(end, (tile + 1) * Width);
        }
        // Nearly always all of them.
        if (row < rows && result.column + items <= end) result.valid = items;
        else if (row < rows && result.column < end) result.valid = static_cast<int>(end - result.column);
        return result;
    }
};

// Pieces of T in the registers of a thread.
template<class T, class Pieces, int Number, int Threads>
struct loaded_pieces {
    static constexpr int items = Pieces::items;
    packed_elements<T, items> elements[static_cast<unsigned>(Number)];
    typename Pieces::place places[static_cast<unsigned>(Number)];

    // Zeros stand where no element is: they take no part in any statistic.
    __device__ __forceinline__ void load(const matrix_ref<const T>& values, const Pieces& pieces, index_t block)
    {
        const divided begin = pieces.begin_of(block * (index_t{Threads} * Number));
        GESSO_UNROLL
        for (int i = 0; i < Number; ++i) {
            const typename Pieces::place at = pieces.at(begin, threadIdx.x + static_cast<uint32_t>(i * Threads));
            const T* from = values.data + (at.row * values.stride + at.column);
            places[i] = at;
            load_some<items>(from, at.valid, elements[i].words);
        }
    }
};

// Values to codes. Codec's tiles have one row where the parameters come from the tile.
template<class Codec, class T, class Tuning, scales_from From>
struct row_quantizer {
    using granularity = typename Codec::granularity;
    // Without a tile to share, a row is cut as it comes.
    static constexpr index_t width = Codec::has_scale ? index_t{granularity::tile_columns} : 0;
    using pieces_type = row_pieces<width, Tuning::row_items>;
    static constexpr int items = pieces_type::items;
    static constexpr int number = Tuning::row_pieces;
    // One scale, which is the writer `tensor`.
    static constexpr bool is_whole = From == scales_from::tensor || is_per_tensor<Codec>;
    static constexpr int lanes = From == scales_from::tile ? static_cast<int>(pieces_type::lanes) : 1;
    static constexpr int threads = lanes > Tuning::row_threads ? lanes : Tuning::row_threads;
    static_assert(threads <= 1024);
    using group = matrix_group<Codec>;
    using writer = typename group::writer;
    using storage = reduction_storage<amax_statistic, lanes, threads>;
    using loaded_type = loaded_pieces<T, pieces_type, number, threads>;

    static index_t blocks(const pieces_type& pieces) { return parts(pieces.count(), index_t{threads} * number); }

    // `tensor`: the writer of the one tile, where there is one. `shared` has a storage for each piece.
    template<class NanPolicy, class Rounding>
    static __device__ __forceinline__ void encode(loaded_type& loaded, const compressed_matrix<Codec>& to,
        const writer& tensor, const NanPolicy& nan, const Rounding& rounding,
        storage (&shared)[static_cast<unsigned>(number)])
    {
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) {
            const auto& at = loaded.places[i];
            const auto& elements = loaded.elements[i];
            bool is_special = false;
            writer with = tensor;
            if constexpr (From == scales_from::tile) {
                amax_statistic known = observe_packed<items>(elements, 0, nan, is_special);
                if constexpr (Codec::has_scale) {
                    reduce_threads<lanes, threads>(known, shared[i]);
                    with = group::fit(known);
                    if (threadIdx.x % lanes == 0 && at.valid > 0) {
                        to.scales[to.scale_index(at.row, tile_of<width>(at.column))] = group::scale_code(with);
                    }
                }
            } else {
                is_special = largest_magnitude<items>(elements, 0) >= infinity_bits;
                if constexpr (!is_whole && Codec::has_scale) {
                    if (at.valid > 0) {
                        const index_t tile_row = tile_of<granularity::tile_rows>(at.row);
                        with = group::stored(to.scales[to.scale_index(tile_row, tile_of<width>(at.column))]);
                    }
                }
            }
            const auto codes =
                group::template encode<items>(elements, 0, with, rounding, at.row * to.columns + at.column, is_special);
            auto* const target = to.codes + (at.row * to.stride + at.column);
            store_some<items>(target, at.valid, codes.words);
        }
    }
};

// Codes to values.
template<class Codec, class T, class Tuning>
struct row_dequantizer {
    using granularity = typename Codec::granularity;
    using code_type = typename Codec::code_type;
    using format = typename Codec::format;
    static constexpr index_t width = Codec::has_scale ? index_t{granularity::tile_columns} : 0;
    using pieces_type = row_pieces<width, Tuning::decode_items>;
    static constexpr int items = pieces_type::items;
    static constexpr int number = Tuning::decode_pieces;
    static constexpr int threads = Tuning::decode_threads;
    using group = typename matrix_group<Codec>::group;

    static index_t blocks(const pieces_type& pieces) { return parts(pieces.count(), index_t{threads} * number); }

    static __device__ __forceinline__ void decode(const compressed_matrix<const Codec>& from,
        const matrix_ref<T>& values, const pieces_type& pieces, index_t block)
    {
        packed_codes<format, items> codes[static_cast<unsigned>(number)];
        typename Codec::scale_code_type scales[static_cast<unsigned>(number)];
        typename pieces_type::place places[static_cast<unsigned>(number)];
        const divided begin = pieces.begin_of(block * (index_t{threads} * number));
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) {
            const auto at = pieces.at(begin, threadIdx.x + static_cast<uint32_t>(i * threads));
            const code_type* source = from.codes + (at.row * from.stride + at.column);
            places[i] = at;
            load_some<items>(source, at.valid, codes[i].words);
            scales[i] = {};
            if constexpr (Codec::has_scale) {
                const index_t tile_row = tile_of<granularity::tile_rows>(at.row);
                const index_t tile_column = tile_of<width>(at.column);
                if (at.valid > 0) scales[i] = from.scales[from.scale_index(tile_row, tile_column)];
            }
        }
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) {
            item_values<items> numbers;
            decode_items(codes[i], scales[i], numbers);
            packed_elements<T, items> elements;
            GESSO_UNROLL
            for (int j = 0; j < items; j += 2) elements.set_pair(j, numbers[j], numbers[j + 1]);
            T* const target = values.data + (places[i].row * values.stride + places[i].column);
            store_some<items>(target, places[i].valid, elements.words);
        }
    }

private:
    static __device__ __forceinline__ void decode_items(
        const packed_codes<format, items>& codes, typename Codec::scale_code_type scale, item_values<items>& numbers)
    {
        if constexpr (!Codec::has_scale || format::bits != 8) {
            const typename Codec::parameters with = Codec::load(scale);
            GESSO_UNROLL
            for (int j = 0; j < items; ++j) numbers[j] = Codec::decode(codes.get(j), with);
        } else {
            const auto with = matrix_group<Codec>::stored(scale);
            group::decode(codes, {with.with}, numbers);
            keep_finite<Codec, items>(with.with.scale, numbers);
        }
    }
};

}  // namespace detail

}  // namespace gesso
