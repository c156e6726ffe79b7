// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Where the bytes of a compressed matrix lie: an activation as it is saved for backward. Views are non-owning, trivially
// copyable and passed by value, into kernels too; `compressed_matrix<const Codec>` reads.
#pragma once

#include <gesso/layout.hpp>

namespace gesso {

namespace detail {

// The tiles of a matrix (rows, columns): `height` x `width` elements each, less at the lower and right edge. An empty matrix
// has no tiles. The one place that counts tiles.
struct tile_grid {
    index_t rows;
    index_t columns;
    index_t height;
    index_t width;

    constexpr GESSO_HOST_DEVICE bool is_empty() const { return rows == 0 || columns == 0; }
    // Rows of tiles, and tiles in a row of them.
    constexpr GESSO_HOST_DEVICE index_t down() const { return is_empty() ? 0 : parts(rows, height); }
    constexpr GESSO_HOST_DEVICE index_t across() const { return is_empty() ? 0 : parts(columns, width); }
};
template<class Granularity>
constexpr GESSO_HOST_DEVICE tile_grid tiles_of(index_t rows, index_t columns)
{
    return {rows, columns, Granularity::tile_rows == 0 ? rows : index_t{Granularity::tile_rows},
        Granularity::tile_columns == 0 ? columns : index_t{Granularity::tile_columns}};
}

}  // namespace detail

// How the scales of a matrix's tiles lie.
//   row_major  a row of tiles after the other, `scale_stride` scales apart
//   cublaslt   what cuBLASLt reads in its block-scaled modes (VEC32_UE8M0: tiles of 1 x 32, E8M0): the matrix of scales in
//              blocks of 128 x 4, a block after the other in row-major order, 512 bytes each; scale (r, c) of a block is
//              byte (r % 32) * 16 + r / 32 * 4 + c. Rows of scales are padded to 128, columns to 4. For one-byte scales.
// Source: cuBLAS manual, "1D block scaling factors layout".
enum class scale_order { row_major, cublaslt };

namespace detail {

constexpr index_t block_rows = 128;
constexpr index_t block_columns = 4;

constexpr GESSO_HOST_DEVICE index_t round_up(index_t number, index_t multiple)
{
    return parts(number, multiple) * multiple;
}

// The matrix of scales (rows, columns) as it lies in memory: edge blocks whole.
struct scale_extent {
    index_t rows;
    index_t columns;
};
constexpr GESSO_HOST_DEVICE scale_extent padded_scales(const tile_grid& tiles, scale_order order)
{
    if (order == scale_order::row_major) return {tiles.down(), tiles.across()};
    return {round_up(tiles.down(), block_rows), round_up(tiles.across(), block_columns)};
}

// The place of scale (row, column).
constexpr GESSO_HOST_DEVICE index_t place_of_scale(index_t row, index_t column, index_t scale_stride, scale_order order)
{
    if (order == scale_order::row_major) return row * scale_stride + column;
    const index_t block =
        row / block_rows * block_rows * scale_stride + column / block_columns * block_columns * block_rows;
    return block + row % 32 * 16 + row % block_rows / 32 * 4 + column % block_columns;
}

}  // namespace detail

// A matrix of T: rows of `columns` elements, the next row `stride` elements further (stride >= columns).
template<class T>
struct matrix_ref {
    T* data = nullptr;
    index_t rows = 0;
    index_t columns = 0;
    index_t stride = 0;
};

// A compressed matrix (rows, columns).
//   codes         row-major, `stride` codes from row to row; null: "not wanted", where a function has several outputs
//   scales        one for each tile, in Codec::scale_format, in `order`; null where the codec has none
//   exponents     one byte for each tile in the same order; null where the codec has none
//   scale_stride  scales from one row of tiles to the next; in cublaslt's order the scales in a row of blocks, a multiple of
//                 4 (both as matrix_layout binds them)
// Padding between columns and stride, and between tiles and scale_stride, is never read or written. The padding inside
// cublaslt's edge blocks is never read either; who writes the scales of all tiles (compress, quantize, transpose, fit)
// writes it as zero bytes, since a matrix product may read it.
template<class Codec>
struct compressed_matrix {
    using codec_type = standard::remove_const_t<Codec>;
    using granularity = typename codec_type::granularity;
    static_assert(detail::is_tiled<granularity>,
        "gesso::compressed_matrix: the codec's granularity must have `tile_rows` and `tile_columns`, as per_tile<R, C>; for "
        "groups of a flat tensor use gesso::compressed_ref");

    detail::like<Codec, typename codec_type::code_type>* codes = nullptr;
    detail::like<Codec, typename codec_type::scale_code_type>* scales = nullptr;
    detail::like<Codec, uint8_t>* exponents = nullptr;
    index_t rows = 0;
    index_t columns = 0;
    index_t stride = 0;
    index_t scale_stride = 0;
    scale_order order = scale_order::row_major;

    // Rows and columns of a tile that is not cut off.
    constexpr GESSO_HOST_DEVICE index_t tile_rows() const { return tiles().height; }
    constexpr GESSO_HOST_DEVICE index_t tile_columns() const { return tiles().width; }
    constexpr GESSO_HOST_DEVICE detail::tile_grid tiles() const { return detail::tiles_of<granularity>(rows, columns); }

    // A view that writes is also one that reads.
    template<class Reader, standard::enable_if_t<detail::reads<Codec, Reader>, int> = 0>
    constexpr GESSO_HOST_DEVICE operator compressed_matrix<Reader>() const
    {
        return {codes, scales, exponents, rows, columns, stride, scale_stride, order};
    }
    // Where the scale and the exponent of a tile lie in their arrays. Preconditions: 0 <= tile_row < tiles().down(),
    // 0 <= tile_column < tiles().across(), or a place of the edge blocks' padding.
    constexpr GESSO_HOST_DEVICE index_t scale_index(index_t tile_row, index_t tile_column) const
    {
        return detail::place_of_scale(tile_row, tile_column, scale_stride, order);
    }
    // The parameters of a tile, and storing them.
    GESSO_HOST_DEVICE typename codec_type::parameters load(index_t tile_row, index_t tile_column) const
    {
        const index_t tile = scale_index(tile_row, tile_column);
        return codec_type::load(codec_type::has_scale ? scales[tile] : typename codec_type::scale_code_type{},
            codec_type::has_exponent ? exponents[tile] : uint8_t{0});
    }
    GESSO_HOST_DEVICE void store(
        index_t tile_row, index_t tile_column, const typename codec_type::parameters& with) const
    {
        const index_t tile = scale_index(tile_row, tile_column);
        if constexpr (codec_type::has_scale) scales[tile] = codec_type::scale_code(with);
        if constexpr (codec_type::has_exponent) exponents[tile] = codec_type::exponent_code(with);
    }
    // Writes zero to the scale at a place of the edge blocks' padding.
    GESSO_HOST_DEVICE void store_padding(index_t tile_row, index_t tile_column) const
    {
        const index_t tile = scale_index(tile_row, tile_column);
        if constexpr (codec_type::has_scale) scales[tile] = typename codec_type::scale_code_type{0};
        if constexpr (codec_type::has_exponent) exponents[tile] = uint8_t{0};
    }
};

// The bytes of a compressed matrix without padding of its rows, in one piece of memory: codes, scales, exponents, each
// aligned to 16. bytes() is what a saved activation holds.
template<class Codec>
struct matrix_layout {
    static_assert(Codec::format::bits >= 8,
        "gesso::matrix_layout: packed formats of less than 8 bits are for flat tensors; use gesso::storage_layout");

    index_t rows = 0;
    index_t columns = 0;
    scale_order order = scale_order::row_major;

    // Tiles in a row of tiles, and in all.
    constexpr GESSO_HOST_DEVICE index_t row_tiles() const { return grid().across(); }
    constexpr GESSO_HOST_DEVICE index_t tiles() const { return grid().down() * grid().across(); }
    // Scales that are stored: one for each tile, and in cublaslt's order the padding of its edge blocks.
    constexpr GESSO_HOST_DEVICE index_t stored_scales() const
    {
        const detail::scale_extent stored = detail::padded_scales(grid(), order);
        return stored.rows * stored.columns;
    }
    constexpr GESSO_HOST_DEVICE index_t scales_offset() const
    {
        return detail::align_up(detail::code_bytes<typename Codec::format>(rows * columns));
    }
    constexpr GESSO_HOST_DEVICE index_t exponents_offset() const
    {
        const index_t scale_bytes = static_cast<index_t>(sizeof(typename Codec::scale_code_type));
        return scales_offset() + (Codec::has_scale ? detail::align_up(stored_scales() * scale_bytes) : 0);
    }
    // Bytes that bind() needs: codes, scales and exponents, all padding included.
    constexpr GESSO_HOST_DEVICE index_t bytes() const
    {
        return exponents_offset() + (Codec::has_exponent ? detail::align_up(stored_scales()) : 0);
    }
    // A view on user memory of bytes() bytes, aligned to 16. Zeroed memory is a matrix of zeros.
    GESSO_HOST_DEVICE compressed_matrix<Codec> bind(void* memory) const
    {
        unsigned char* base = static_cast<unsigned char*>(memory);
        compressed_matrix<Codec> bound;
        bound.rows = rows;
        bound.columns = columns;
        bound.stride = columns;
        bound.scale_stride = detail::padded_scales(grid(), order).columns;
        bound.order = order;
        if (grid().is_empty()) return bound;
        bound.codes = reinterpret_cast<typename Codec::code_type*>(base);
        if (Codec::has_scale) {
            bound.scales = reinterpret_cast<typename Codec::scale_code_type*>(base + scales_offset());
        }
        if (Codec::has_exponent) bound.exponents = reinterpret_cast<uint8_t*>(base + exponents_offset());
        return bound;
    }

private:
    constexpr GESSO_HOST_DEVICE detail::tile_grid grid() const
    {
        return detail::tiles_of<typename Codec::granularity>(rows, columns);
    }
};

namespace detail {

template<class Codec>
struct select_transposed_codec;
template<class Format, class Expansion, class Granularity, class ScaleFormat>
struct select_transposed_codec<codec<Format, Expansion, Granularity, ScaleFormat>> {
    using type = codec<Format, Expansion, transposed_granularity<Granularity>, ScaleFormat>;
};

}  // namespace detail

// The same codec of the transposed matrix: the same elements share a scale, so its codes are the transposed codes.
template<class Codec>
using transposed_codec = typename detail::select_transposed_codec<Codec>::type;

// What a quantizer makes of a matrix X (rows, columns): its compressed form, that of X^T (columns, rows), or both; an output
// with null codes is not wanted. Each is the compressed form of its own matrix in its own tiles. With transposed_codec both
// have the same scales; another TransposedCodec (1 x 128 both ways, say) has scales of its own.
template<class Codec, class TransposedCodec = transposed_codec<Codec>>
struct quantized_matrix {
    compressed_matrix<Codec> plain;
    compressed_matrix<TransposedCodec> transposed;
};

namespace detail {

// Can the parameters of this view's tiles be written and read?
template<class Codec>
constexpr GESSO_HOST_DEVICE status check_parameters(const compressed_matrix<Codec>& view)
{
    using codec_type = typename compressed_matrix<Codec>::codec_type;
    const bool is_blocked = view.order == scale_order::cublaslt;
    if (view.rows < 0 || view.columns < 0) return status::negative_count;
    if (is_blocked && (!codec_type::has_scale || sizeof(typename codec_type::scale_code_type) != 1)) {
        return status::invalid_scale_order;
    }
    const tile_grid tiles = view.tiles();
    if (tiles.is_empty()) return status::success;
    if ((is_blocked || tiles.down() > 1) && view.scale_stride < tiles.across()) return status::size_mismatch;
    if (is_blocked && view.scale_stride % block_columns != 0) return status::invalid_scale_order;
    const bool missing = (codec_type::has_scale && !view.scales) || (codec_type::has_exponent && !view.exponents);
    return missing ? status::null_pointer : status::success;
}

// Is this view fit for use by a function that walks its tiles?
template<class Codec>
constexpr GESSO_HOST_DEVICE status check(const compressed_matrix<Codec>& view)
{
    const status checked = check_parameters(view);
    if (checked != status::success || view.tiles().is_empty()) return checked;
    if (view.rows > 1 && view.stride < view.columns) return status::size_mismatch;
    return view.codes == nullptr ? status::null_pointer : status::success;
}

template<class T>
constexpr GESSO_HOST_DEVICE status check(const matrix_ref<T>& values)
{
    if (values.rows < 0 || values.columns < 0) return status::negative_count;
    if (values.rows == 0 || values.columns == 0) return status::success;
    if (values.rows > 1 && values.stride < values.columns) return status::size_mismatch;
    return values.data == nullptr ? status::null_pointer : status::success;
}

template<class T, class Codec>
constexpr GESSO_HOST_DEVICE status check(const matrix_ref<T>& values, const compressed_matrix<Codec>& view)
{
    const status checked = check(values);
    if (checked != status::success) return checked;
    if (values.rows != view.rows || values.columns != view.columns) return status::size_mismatch;
    return check(view);
}

// The same for a quantizer's outputs. One at least must be wanted, unless there is nothing to write.
template<class T, class Codec, class TransposedCodec>
constexpr GESSO_HOST_DEVICE status check(
    const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to)
{
    status checked = check(values);
    if (checked != status::success) return checked;
    if (to.plain.codes == nullptr && to.transposed.codes == nullptr) {
        return values.rows == 0 || values.columns == 0 ? status::success : status::null_pointer;
    }
    if (to.plain.codes != nullptr) checked = check(values, to.plain);
    if (checked != status::success || to.transposed.codes == nullptr) return checked;
    return check(matrix_ref<T>{values.data, values.columns, values.rows, values.rows}, to.transposed);
}

}  // namespace detail

}  // namespace gesso
