// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with a tile of values whose codes are wanted transposed, or whose scales belong to several rows.
#pragma once

#include <gesso/operator/transpose_tile.cuh>

namespace gesso {

namespace detail {

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
    static constexpr int tiles_across = fits ? columns / static_cast<int>(tile_divisor(width)) : 1;
    static constexpr int tiles_down = fits ? rows / static_cast<int>(tile_divisor(height)) : 1;
    static_assert(!fits || (tiles_across * width == columns && tiles_down * height == rows));

    // Does each tile have a scale in memory? They are asked for with the values.
    static constexpr bool reads_scales = From == scales_from::memory && Codec::has_scale && !is_per_tensor<Codec>;
    static constexpr unsigned scale_panels = reads_scales ? panels : 1;
    static constexpr unsigned scale_rows = reads_scales ? 4 / same_rows : 1;
    static constexpr unsigned scale_columns = reads_scales ? items / same_columns : 1;
    // Registers of a thread that spill nothing, for so many blocks that enough loads are in flight. Measured on sm_90; below
    // sm_89 the conversion by software takes what it needs.
#if defined(__CUDA_ARCH__)
    static constexpr int architecture = __CUDA_ARCH__;
#else
    static constexpr int architecture = 900;
#endif
    static constexpr bool has_many_scales = height != 0 && width != 0 && same_rows * same_columns < 8;
    static constexpr bool is_light = panels == 1 && From == scales_from::memory && !reads_scales && sizeof(T) == 2
                                     && architecture == 900 && hardware_format<format> != converts_as::nothing;
    static constexpr int registers = has_many_scales ? 120
                                     : is_light      ? 48
                                     : panels == 1   ? (sizeof(T) == 2 ? 64 : 80)
                                                     : (sizeof(T) == 2 && height % 16 == 0 ? 80 : 120);
    static constexpr int resident_blocks = architecture < 890 ? 1 : 65536 / (registers * threads);

    struct storage {
        transposer bytes;
        uint32_t amax[static_cast<unsigned>(fits ? tiles_across * tiles_down : 1)];
    };
    struct loaded_type {
        typename places_type::place first;
        packed_elements<T, items> elements[static_cast<unsigned>(panels)][4];
        typename Codec::scale_code_type scales[scale_panels][scale_rows][scale_columns];
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

    // The scales that encode() needs, of the plain output where it is wanted. After load(), so that all are in flight.
    template<class TransposedCodec>
    static __device__ __forceinline__ void load_scales(loaded_type& loaded, const compressed_matrix<Codec>& plain,
        const compressed_matrix<TransposedCodec>& transposed, index_t matrix_rows, index_t matrix_columns)
    {
        if constexpr (reads_scales) {
            GESSO_UNROLL
            for (int p = 0; p < panels; ++p) {
                GESSO_UNROLL
                for (int i = 0; i < 4; i += same_rows) {
                    GESSO_UNROLL
                    for (int c = 0; c < items; c += same_columns) {
                        const index_t row = loaded.first.row + transposer::row() + i;
                        const index_t column = loaded.first.column + transposer::column(p) + c;
                        auto& code = loaded.scales[p][i / same_rows][c / same_columns];
                        code = {};
                        if (row >= matrix_rows || column >= matrix_columns) continue;
                        const index_t tile_row = tile_of<height>(row);
                        const index_t tile_column = tile_of<width>(column);
                        if (plain.codes != nullptr) code = plain.scales[plain.scale_index(tile_row, tile_column)];
                        else code = transposed.scales[transposed.scale_index(tile_column, tile_row)];
                    }
                }
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
                        with = writer_of(loaded, p, i, c, tensor, shared);
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
        constexpr int tall = static_cast<int>(tile_divisor(height));
        constexpr int wide = static_cast<int>(tile_divisor(width));
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

    static __device__ __forceinline__ writer writer_of(
        const loaded_type& loaded, int panel, int row, int column, const writer& tensor, storage& shared)
    {
        if constexpr (reads_scales) {
            return group::stored(loaded.scales[panel][row / same_rows][column / same_columns]);
        } else if constexpr (fits) {
            const uint32_t known = amax_at(shared, transposer::row() + row, transposer::column(panel) + column);
            return group::fit(amax_statistic{known});
        } else {
            return tensor;
        }
    }
};

}  // namespace detail

}  // namespace gesso
