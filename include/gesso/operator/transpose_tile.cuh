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

    static __device__ __forceinline__ int band() { return static_cast<int>(threadIdx.x) / 32 % bands; }
    static __device__ __forceinline__ int lane_column() { return static_cast<int>(threadIdx.x) % 8; }
    static __device__ __forceinline__ int lane_row() { return static_cast<int>(threadIdx.x) % 32 / 8; }
    // A thread's first row and, in its panel, first column within the block's tile.
    static __device__ __forceinline__ int row() { return band() * 16 + lane_row() * 4; }
    static __device__ __forceinline__ int column(int panel)
    {
        const int group = static_cast<int>(threadIdx.x) / (32 * bands);
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

    // After a barrier: the block's columns to rows of `to`, a matrix (columns, rows) with `stride`, from (column, row) on.
    template<class Code>
    __device__ __forceinline__ void write(Code* to, index_t stride, index_t matrix_rows, index_t matrix_columns,
        index_t first_row, index_t first_column) const
    {
        static_assert(sizeof(Code) == 1);
        GESSO_UNROLL
        for (int i = 0; i < vectors; ++i) {
            const int vector = static_cast<int>(threadIdx.x) + i * Threads;
            const int column_of_tile = vector / bands;
            const int slot = vector % bands;
            const int stored_at = slot ^ (column_of_tile / ThreadColumns % 8);
            const uint4 loaded = memory[column_of_tile * bands + stored_at];
            const uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
            const index_t target_row = first_column + column_of_tile;
            const index_t target_column = first_row + slot * 16;
            const index_t left = target_row < matrix_columns ? matrix_rows - target_column : 0;
            Code* const target = to + (target_row * stride + target_column);
            store_some<16>(target, static_cast<int>(left < 0 ? 0 : left < 16 ? left : 16), words);
        }
    }
};

// Where a block's tile lies: tiles in row-major order.
template<int Columns>
struct tile_places {
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

// Values of a tile to codes, plain, transposed or both (an output without codes is not written). Codec is that of the
// matrix as it lies.
template<class Codec, class T, class Tuning, scales_from From>
struct tile_quantizer {
    using granularity = typename Codec::granularity;
    using format = typename Codec::format;
    static constexpr index_t height = Codec::has_scale ? index_t{granularity::tile_rows} : 0;
    static constexpr index_t width = Codec::has_scale ? index_t{granularity::tile_columns} : 0;
    static constexpr int rows = 128;
    // A block takes whole tiles where it fits the parameters.
    static constexpr int columns = From == scales_from::tile && width > Tuning::tile_columns ? static_cast<int>(width)
                                                                                             : Tuning::tile_columns;
    static constexpr int threads = Tuning::tile_threads;
    static constexpr int items = 8;
    static_assert(format::bits == 8);

    using transposer = byte_transposer<columns, threads, items>;
    static constexpr int panels = transposer::panels;
    using group = matrix_group<Codec>;
    using writer = typename group::writer;
    using places_type = tile_places<columns>;

    // Neighbours that share parameters for sure: rows of a thread's four, columns of its eight.
    static constexpr int same_rows = height == 0 || height % 4 == 0 ? 4 : height % 2 == 0 ? 2 : 1;
    static constexpr int same_columns = width == 0 || width % 8 == 0 ? 8 : width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1;

    // Tiles of the codec in a block's tile, where it fits them.
    static constexpr bool fits = From == scales_from::tile && Codec::has_scale;
    static constexpr int tiles_across = fits ? columns / static_cast<int>(width == 0 ? 1 : width) : 1;
    static constexpr int tiles_down = fits ? rows / static_cast<int>(height == 0 ? 1 : height) : 1;
    static_assert(!fits || (tiles_across * width == columns && tiles_down * height == rows));

    struct storage {
        transposer bytes;
        uint32_t amax[static_cast<unsigned>(fits ? tiles_across * tiles_down : 1)];
    };
    struct loaded_type {
        typename places_type::place first;
        packed_elements<T, items> elements[static_cast<unsigned>(panels)][4];
    };

    static __device__ __forceinline__ void load(
        loaded_type& loaded, const matrix_ref<const T>& values, const places_type& places, index_t tile)
    {
        loaded.first = places.at(tile);
        const index_t row = loaded.first.row + transposer::row();
        GESSO_UNROLL
        for (int p = 0; p < panels; ++p) {
            const index_t column = loaded.first.column + transposer::column(p);
            const T* from = values.data + (row * values.stride + column);
            const int valid = valid_of(column, values.columns, items);
            GESSO_UNROLL
            for (int i = 0; i < 4; ++i) {
                load_some<items>(from, row + i < values.rows ? valid : 0, loaded.elements[p][i].words);
                from += values.stride;
            }
        }
    }

    // All threads of the block. `tensor`: the writer of the one tile, where there is one.
    template<class TransposedCodec, class NanPolicy, class Rounding>
    static __device__ __forceinline__ void encode(const loaded_type& loaded, const compressed_matrix<Codec>& plain,
        const compressed_matrix<TransposedCodec>& transposed, index_t matrix_rows, index_t matrix_columns,
        const writer& tensor, const NanPolicy& nan, const Rounding& rounding, storage& shared)
    {
        const index_t row = loaded.first.row + transposer::row();
        uint32_t special = 0;  // bit 4 p + i: row i of panel p has a NaN or an infinity
        if constexpr (fits) {
            observe(loaded, nan, special, shared);
            store_scales(loaded, plain, transposed, matrix_rows, matrix_columns, shared);
        } else {
            GESSO_UNROLL
            for (int p = 0; p < panels; ++p) {
                GESSO_UNROLL
                for (int i = 0; i < 4; ++i) {
                    bool is_special = false;
                    if constexpr (From == scales_from::tile) {
                        observe_packed<items>(loaded.elements[p][i], 0, nan, is_special);
                    } else {
                        is_special = largest_magnitude<items>(loaded.elements[p][i], 0) >= infinity_bits;
                    }
                    if (is_special) special |= 1u << (4 * p + i);
                }
            }
        }
        GESSO_UNROLL
        for (int p = 0; p < panels; ++p) {
            const index_t column = loaded.first.column + transposer::column(p);
            uint32_t codes[4][2];
            GESSO_UNROLL
            for (int c = 0; c < items; c += same_columns) {
                writer with = tensor;
                GESSO_UNROLL
                for (int i = 0; i < 4; ++i) {
                    if (i % same_rows == 0) {
                        with = writer_of(row + i, column + c, transposer::row() + i, transposer::column(p) + c, plain,
                            transposed, matrix_rows, matrix_columns, tensor, shared);
                    }
                    const auto some = group::template encode<same_columns>(loaded.elements[p][i], c, with, rounding,
                        (row + i) * matrix_columns + column + c, (special >> (4 * p + i) & 1u) != 0);
                    put(codes[i], c, some);
                }
            }
            if (plain.codes != nullptr) {
                auto* to = plain.codes + (row * plain.stride + column);
                const int valid = valid_of(column, matrix_columns, items);
                GESSO_UNROLL
                for (int i = 0; i < 4; ++i) {
                    store_some<items>(to, row + i < matrix_rows ? valid : 0, codes[i]);
                    to += plain.stride;
                }
            }
            if (transposed.codes != nullptr) shared.bytes.put(p, codes);
        }
        if (transposed.codes != nullptr) {
            __syncthreads();
            shared.bytes.write(transposed.codes, transposed.stride, matrix_rows, matrix_columns, loaded.first.row,
                loaded.first.column);
        }
    }

private:
    static __device__ __forceinline__ void put(
        uint32_t (&row)[2], int column, const packed_codes<format, same_columns>& codes)
    {
        if constexpr (same_columns == 8) {
            row[0] = codes.words[0];
            row[1] = codes.words[1];
        } else if constexpr (same_columns == 4) {
            row[column / 4] = codes.words[0];
        } else {
            const uint32_t mask = (1u << (8 * same_columns)) - 1u;
            const uint32_t shifted = (codes.words[0] & mask) << (8 * (column % 4));
            row[column / 4] = column % 4 == 0 ? shifted : row[column / 4] | shifted;
        }
    }

    static __device__ __forceinline__ uint32_t& amax_at(storage& shared, int row, int column)
    {
        constexpr int tall = static_cast<int>(height == 0 ? 1 : height);
        constexpr int wide = static_cast<int>(width == 0 ? 1 : width);
        return shared.amax[row / tall * tiles_across + column / wide];
    }

    // The largest magnitudes of the block's tiles, to shared memory. Maximum: the order of the atomics changes nothing.
    template<class NanPolicy>
    static __device__ __forceinline__ void observe(
        const loaded_type& loaded, const NanPolicy& nan, uint32_t& special, storage& shared)
    {
        for (int i = static_cast<int>(threadIdx.x); i < tiles_across * tiles_down; i += threads) shared.amax[i] = 0;
        __syncthreads();
        GESSO_UNROLL
        for (int p = 0; p < panels; ++p) {
            GESSO_UNROLL
            for (int c = 0; c < items; c += same_columns) {
                amax_statistic known;
                GESSO_UNROLL
                for (int i = 0; i < 4; ++i) {
                    bool is_special = false;
                    if (i % same_rows == 0) known = {};
                    known.merge(observe_packed<same_columns>(loaded.elements[p][i], c, nan, is_special));
                    if (is_special) special |= 1u << (4 * p + i);
                    if (i % same_rows != same_rows - 1) continue;
                    share<(height % 16 == 0 ? 4 : 1), width % 64 == 0 ? 8 : 1>(known);
                    const bool is_first = (height % 16 != 0 || transposer::lane_row() == 0)
                                          && (width % 64 != 0 || transposer::lane_column() == 0);
                    if (is_first && known.amax_bits != 0) {
                        atomicMax(&amax_at(shared, transposer::row() + i, transposer::column(p) + c), known.amax_bits);
                    }
                }
            }
        }
        __syncthreads();
    }
    // Lanes of a warp that hold one tile agree before one of them goes to shared memory.
    template<int LaneRows, int LaneColumns>
    static __device__ __forceinline__ void share(amax_statistic& known)
    {
        if constexpr (LaneRows == 4 && LaneColumns == 8) {
            reduce_lanes<32>(known);
        } else if constexpr (LaneColumns == 8) {
            reduce_lanes<8>(known);
        } else if constexpr (LaneRows == 4) {
            GESSO_UNROLL
            for (int distance = 8; distance < 32; distance *= 2) {
                known.merge(amax_statistic{__shfl_xor_sync(0xFFFFFFFFu, known.amax_bits, distance)});
            }
        }
    }

    template<class TransposedCodec>
    static __device__ __forceinline__ void store_scales(const loaded_type& loaded,
        const compressed_matrix<Codec>& plain, const compressed_matrix<TransposedCodec>& transposed,
        index_t matrix_rows, index_t matrix_columns, storage& shared)
    {
        for (int i = static_cast<int>(threadIdx.x); i < tiles_across * tiles_down; i += threads) {
            const index_t tile_row = loaded.first.row / height + i / tiles_across;
            const index_t tile_column = loaded.first.column / width + i % tiles_across;
            if (tile_row * height >= matrix_rows || tile_column * width >= matrix_columns) continue;
            const auto code = group::scale_code(group::fit(amax_statistic{shared.amax[i]}));
            if (plain.codes != nullptr) plain.scales[plain.scale_index(tile_row, tile_column)] = code;
            if (transposed.codes != nullptr) transposed.scales[transposed.scale_index(tile_column, tile_row)] = code;
        }
    }

    template<class TransposedCodec>
    static __device__ __forceinline__ writer writer_of(index_t row, index_t column, int row_of_tile, int column_of_tile,
        const compressed_matrix<Codec>& plain, const compressed_matrix<TransposedCodec>& transposed,
        index_t matrix_rows, index_t matrix_columns, const writer& tensor, storage& shared)
    {
        if constexpr (From == scales_from::tensor || is_per_tensor<Codec> || !Codec::has_scale) {
            return tensor;
        } else if constexpr (fits) {
            return group::fit(amax_statistic{amax_at(shared, row_of_tile, column_of_tile)});
        } else {
            if (row >= matrix_rows || column >= matrix_columns) return tensor;
            const index_t tile_row = height == 0 ? 0 : row / (height == 0 ? 1 : height);
            const index_t tile_column = width == 0 ? 0 : column / (width == 0 ? 1 : width);
            return group::stored(plain.codes != nullptr
                                     ? plain.scales[plain.scale_index(tile_row, tile_column)]
                                     : transposed.scales[transposed.scale_index(tile_column, tile_row)]);
        }
    }
};

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
