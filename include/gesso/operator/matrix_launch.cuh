// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Which kernels a quantizer launches, by what is asked of it. Everything was checked before.
#pragma once

#include <gesso/level/launch.cuh>
#include <gesso/operator/matrix_scales.cuh>
#include <gesso/operator/operands.hpp>

namespace gesso {

namespace detail {

template<class Tuning, class T>
using matrix_tuning_of =
    standard::conditional_t<standard::is_same_v<Tuning, void>, matrix_tuning<standard::remove_const_t<T>>, Tuning>;

// A matrix whose rows lie end to end, and whose tiles do not cross them, is one long row.
template<class T>
bool is_dense(const matrix_ref<T>& values)
{
    return values.rows == 1 || values.stride == values.columns;
}
template<class T>
matrix_ref<T> as_one_row(const matrix_ref<T>& values)
{
    return {values.data, 1, values.rows * values.columns, values.rows * values.columns};
}
template<class Codec, index_t PaddedWidth>
bool is_dense(const compressed_matrix<Codec>& view)
{
    using granularity = typename compressed_matrix<Codec>::granularity;
    constexpr index_t height = granularity::tile_rows;
    constexpr index_t width = granularity::tile_columns;
    if (view.rows != 1 && view.stride != view.columns) return false;
    if (!compressed_matrix<Codec>::codec_type::has_scale || (height == 0 && width == 0)) return true;
    return height == 1 && width == PaddedWidth && view.columns % PaddedWidth == 0
           && view.order == scale_order::row_major
           && (view.rows == 1 || view.scale_stride == view.columns / PaddedWidth);
}
template<class Codec>
compressed_matrix<Codec> as_one_row(const compressed_matrix<Codec>& view)
{
    const index_t columns = view.rows * view.columns;
    return {
        view.codes, view.scales, view.exponents, 1, columns, columns, view.tiles().across() * view.rows, view.order};
}

inline cudaError_t launched() { return cudaGetLastError(); }

// Zeroes the padding of the scales' edge blocks, where there is any.
template<class Codec>
cudaError_t launch_scale_padding(const compressed_matrix<Codec>& to, cudaStream_t stream)
{
    const tile_grid grid = to.tiles();
    if (to.order != scale_order::cublaslt || to.scales == nullptr || grid.is_empty()) return cudaSuccess;
    const scale_extent stored = padded_scales(grid, to.order);
    const index_t count = stored.rows * stored.columns - grid.down() * grid.across();
    if (count == 0) return cudaSuccess;
    scale_padding_kernel<<<static_cast<unsigned>(parts(count, 256)), 256, 0, stream>>>(to, stored);
    return launched();
}

// Blocks of a scan over a matrix, as many as there is work for.
template<class Scan>
int scan_blocks(const typename Scan::pieces_type& pieces, int most)
{
    return static_cast<int>(smaller(Scan::tiles(pieces), most));
}
template<class Tuning, class T, class NanPolicy>
cudaError_t launch_tensor_scan(
    const matrix_ref<const T>& values, const NanPolicy& nan, partial_maxima& partials, cudaStream_t stream)
{
    static_assert(Tuning::scan_blocks <= max_partials,
        "gesso::matrix_tuning: scan_blocks is at most 1024, for which there is room in a workspace");
    constexpr int threads = Tuning::scan_threads;
    using scan = tensor_scan<T, Tuning, threads>;
    const matrix_ref<const T> as_read = is_dense(values) ? as_one_row(values) : values;
    const auto pieces = scan::pieces_type::of(as_read.rows, as_read.columns);
    partials.blocks = scan_blocks<scan>(pieces, Tuning::scan_blocks);
    return launch_early(&tensor_scan_kernel<scan, T, threads, NanPolicy>, partials.blocks, threads, stream, as_read,
        pieces, nan, partials);
}

// The amax of units to a sink.
template<class Unit, class Tuning, class T, class NanPolicy, class Sink>
cudaError_t launch_units(const matrix_ref<const T>& values, const NanPolicy& nan, const Sink& sink, cudaStream_t stream)
{
    constexpr index_t height = Unit::tile_rows;
    constexpr index_t width = Unit::tile_columns;
    constexpr index_t most = index_t{1024} * Tuning::row_items;
    const tile_grid units = tiles_of<Unit>(values.rows, values.columns);
    if constexpr (height == 1 && width > 0 && padded(width < 2 ? 2 : width) <= most) {
        using kernel_units = row_units<width, T, Tuning>;
        const auto pieces = kernel_units::pieces_type::of(values.rows, values.columns);
        const index_t blocks = parts(pieces.count(), index_t{kernel_units::threads} * kernel_units::number);
        if (!fits_grid(blocks)) return cudaErrorInvalidValue;
        row_units_kernel<kernel_units, T>
            <<<static_cast<unsigned>(blocks), kernel_units::threads, 0, stream>>>(values, pieces, nan, sink);
    } else if constexpr (width == 1) {
        const index_t blocks = parts(values.columns, 32) * units.down();
        if (!fits_grid(blocks)) return cudaErrorInvalidValue;
        column_units_kernel<T><<<static_cast<unsigned>(blocks), 1024, 0, stream>>>(values, units, nan, sink);
    } else {
        // A small unit has work for one warp.
        constexpr bool is_tensor = height == 0 && width == 0;
        constexpr bool is_small = height > 0 && width > 0 && height * width <= 1024;
        constexpr int threads = is_tensor ? 1024 : is_small ? 32 : 256;
        const index_t blocks = units.down() * units.across();
        if (!fits_grid(blocks)) return cudaErrorInvalidValue;
        block_units_kernel<Tuning, T, threads>
            <<<static_cast<unsigned>(blocks), threads, 0, stream>>>(values, units, nan, sink);
    }
    return launched();
}

// A kernel that may follow another stage starts early; one that fits its own tiles has none before it.
template<scales_from From, class... Parameters, class... Arguments>
cudaError_t launch_stage(
    void (*kernel)(Parameters...), index_t blocks, int threads, cudaStream_t stream, const Arguments&... arguments)
{
    if constexpr (From == scales_from::tile) {
        kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(arguments...);
        return launched();
    } else {
        return launch_early(kernel, blocks, threads, stream, arguments...);
    }
}

// Values to codes by rows: plain output alone.
template<class Codec, class Tuning, scales_from From, class T, class NanPolicy, class Rounding>
cudaError_t launch_rows(const matrix_ref<const T>& values, const compressed_matrix<Codec>& to, const NanPolicy& nan,
    const Rounding& rounding, const partial_maxima& partials, cudaStream_t stream)
{
    using tile = row_quantizer<Codec, T, Tuning, From>;
    const bool is_one_row = is_dense(values) && is_dense<Codec, tile::pieces_type::padded_width>(to);
    const matrix_ref<const T> as_read = is_one_row ? as_one_row(values) : values;
    const compressed_matrix<Codec> as_written = is_one_row ? as_one_row(to) : to;
    const auto pieces = tile::pieces_type::of(as_read.rows, as_read.columns);
    const index_t blocks = tile::blocks(pieces);
    if (!fits_grid(blocks)) return cudaErrorInvalidValue;
    const auto kernel = &row_quantize_kernel<tile, From, Codec, T, NanPolicy, Rounding>;
    return launch_stage<From>(
        kernel, blocks, tile::threads, stream, as_read, as_written, pieces, nan, rounding, partials);
}

// Values to codes by tiles of 128 rows: transposed output, with or without the plain one.
template<class Codec, class Tuning, scales_from From, class T, class NanPolicy, class Rounding>
cudaError_t launch_tiles(const matrix_ref<const T>& values, const compressed_matrix<Codec>& plain,
    const compressed_matrix<transposed_codec<Codec>>& transposed, const NanPolicy& nan, const Rounding& rounding,
    const partial_maxima& partials, cudaStream_t stream)
{
    using tile = tile_quantizer<Codec, T, Tuning, From>;
    const auto places = tile::places_type::of(values.rows, values.columns);
    if (!fits_grid(places.count())) return cudaErrorInvalidValue;
    const auto kernel = &tile_quantize_kernel<tile, From, Codec, transposed_codec<Codec>, T, NanPolicy, Rounding>;
    return launch_stage<From>(
        kernel, places.count(), tile::threads, stream, values, plain, transposed, places, nan, rounding, partials);
}

// Values to codes with the parameters from `From`, by rows or by tiles.
template<class Codec, class Tuning, scales_from From, class T, class NanPolicy, class Rounding>
cudaError_t launch_codes(const matrix_ref<const T>& values, const compressed_matrix<Codec>& plain,
    const compressed_matrix<transposed_codec<Codec>>& transposed, const NanPolicy& nan, const Rounding& rounding,
    const partial_maxima& partials, cudaStream_t stream)
{
    if (transposed.codes == nullptr) {
        return launch_rows<Codec, Tuning, From>(values, plain, nan, rounding, partials, stream);
    }
    if constexpr (Codec::format::bits == 8) {
        return launch_tiles<Codec, Tuning, From>(values, plain, transposed, nan, rounding, partials, stream);
    } else {
        return cudaErrorNotSupported;
    }
}

// May a block of 128 rows hold whole tiles of R x C?
template<class Codec, class Tuning>
constexpr bool fits_block_tile()
{
    constexpr index_t height = Codec::granularity::tile_rows;
    constexpr index_t width = Codec::granularity::tile_columns;
    if constexpr (height <= 0 || width <= 0 || width > 128) return false;
    else if constexpr (width > Tuning::tile_columns) return 128 % height == 0 && width % Tuning::tile_columns == 0;
    else return 128 % height == 0 && Tuning::tile_columns % width == 0;
}
template<class Codec, class Tuning>
constexpr bool fits_row_block()
{
    constexpr index_t width = Codec::granularity::tile_columns;
    return Codec::granularity::tile_rows == 1 && width > 0
           && padded(width < 2 ? 2 : width) <= index_t{1024} * Tuning::row_items;
}

// Values to codes and scales, just in time. Codec is that of the matrix as it lies, also where the transpose is wanted alone.
template<class Codec, class Tuning, class T, class NanPolicy, class Rounding>
cudaError_t launch_quantize(const matrix_ref<const T>& values, const compressed_matrix<Codec>& plain,
    const compressed_matrix<transposed_codec<Codec>>& transposed, const NanPolicy& nan, const Rounding& rounding,
    void* workspace, cudaStream_t stream)
{
    partial_maxima partials{static_cast<uint32_t*>(workspace), 0};
    const auto write = [&](auto from) {
        return launch_codes<Codec, Tuning, decltype(from)::value>(
            values, plain, transposed, nan, rounding, partials, stream);
    };
    using standard::integral_constant;
    cudaError_t error = cudaSuccess;
    if constexpr (!Codec::has_scale) {
        error = write(integral_constant<scales_from, scales_from::tile>{});
    } else if constexpr (is_per_tensor<Codec>) {
        error = launch_tensor_scan<Tuning, T>(values, nan, partials, stream);
        if (error == cudaSuccess) error = write(integral_constant<scales_from, scales_from::tensor>{});
    } else {
        constexpr bool by_rows = fits_row_block<Codec, Tuning>();
        constexpr bool by_tiles = fits_block_tile<Codec, Tuning>() && Codec::format::bits == 8;
        bool is_done = false;
        if constexpr (by_rows) {
            if (transposed.codes == nullptr) {
                error = launch_rows<Codec, Tuning, scales_from::tile>(values, plain, nan, rounding, partials, stream);
                is_done = true;
            }
        }
        if constexpr (by_tiles) {
            if (!is_done) {
                error = launch_tiles<Codec, Tuning, scales_from::tile>(
                    values, plain, transposed, nan, rounding, partials, stream);
            }
        } else {
            // Tiles that no block holds: their scales first.
            if (!is_done) {
                const scale_sink<Codec, transposed_codec<Codec>> sink{plain, transposed};
                error = launch_units<typename Codec::granularity, Tuning, T>(values, nan, sink, stream);
                if (error == cudaSuccess) error = write(integral_constant<scales_from, scales_from::memory>{});
            }
        }
    }
    if (error == cudaSuccess && plain.codes != nullptr) error = launch_scale_padding(plain, stream);
    if (error == cudaSuccess && transposed.codes != nullptr) error = launch_scale_padding(transposed, stream);
    return error;
}

// The same per tensor by one cooperative launch, of as many blocks as are resident together.
template<class Kernel>
cudaError_t launch_resident(
    Kernel kernel, int threads, index_t tiles, partial_maxima& partials, void** arguments, cudaStream_t stream)
{
    int device = 0;
    int is_supported = 0;
    index_t blocks = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&is_supported, cudaDevAttrCooperativeLaunch, device);
    if (error == cudaSuccess && is_supported == 0) return cudaErrorNotSupported;
    if (error == cudaSuccess) error = resident_blocks(kernel, threads, 0, blocks);
    if (error != cudaSuccess) return error;
    partials.blocks = static_cast<int>(smaller(smaller(blocks, max_partials), tiles));
    return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
        dim3(static_cast<unsigned>(partials.blocks)), dim3(static_cast<unsigned>(threads)), arguments, 0, stream);
}
template<class Codec, class Tuning, class T, class NanPolicy, class Rounding>
cudaError_t launch_in_one(matrix_ref<const T> values, compressed_matrix<Codec> plain,
    compressed_matrix<transposed_codec<Codec>> transposed, NanPolicy nan, Rounding rounding, void* workspace,
    cudaStream_t stream)
{
    partial_maxima partials{static_cast<uint32_t*>(workspace), 0};
    if (transposed.codes == nullptr) {
        using tile = row_quantizer<Codec, T, Tuning, scales_from::tensor>;
        using scan = tensor_scan<T, Tuning, tile::threads>;
        if (is_dense(values) && is_dense<Codec, tile::pieces_type::padded_width>(plain)) {
            values = as_one_row(values);
            plain = as_one_row(plain);
        }
        auto scan_pieces = scan::pieces_type::of(values.rows, values.columns);
        auto pieces = tile::pieces_type::of(values.rows, values.columns);
        index_t blocks = tile::blocks(pieces);
        void* arguments[] = {&values, &scan_pieces, &plain, &pieces, &blocks, &nan, &rounding, &partials};
        return launch_resident(&one_launch_row_kernel<scan, tile, Codec, T, NanPolicy, Rounding>, tile::threads, blocks,
            partials, arguments, stream);
    } else {
        using tile = tile_quantizer<Codec, T, Tuning, scales_from::tensor>;
        using scan = tensor_scan<T, Tuning, tile::threads>;
        auto scan_pieces = scan::pieces_type::of(values.rows, values.columns);
        auto places = tile::places_type::of(values.rows, values.columns);
        void* arguments[] = {&values, &scan_pieces, &plain, &transposed, &places, &nan, &rounding, &partials};
        return launch_resident(
            &one_launch_tile_kernel<scan, tile, Codec, transposed_codec<Codec>, T, NanPolicy, Rounding>, tile::threads,
            places.count(), partials, arguments, stream);
    }
}

// Stage two of a tensor: one block where the amax are few, else one block for the maxima of many.
template<class Amax, class Codec>
cudaError_t launch_tensor_fit(
    const matrix_ref<const Amax>& amax, const compressed_matrix<Codec>& to, void* workspace, cudaStream_t stream)
{
    using tuning = matrix_tuning<Amax>;
    constexpr int threads = 1024;
    constexpr index_t few = 65536;
    const matrix_ref<const Amax> as_read = is_dense(amax) ? as_one_row(amax) : amax;
    if (amax.rows * amax.columns <= few) {
        using scan = tensor_scan<Amax, tuning, threads>;
        const auto pieces = scan::pieces_type::of(as_read.rows, as_read.columns);
        return launch_early(&fit_tensor_kernel<Codec, scan, Amax, threads>, 1, threads, stream, as_read, pieces, to);
    }
    partial_maxima partials{static_cast<uint32_t*>(workspace), 0};
    const cudaError_t error = launch_tensor_scan<tuning, Amax>(amax, stored_amax{}, partials, stream);
    if (error != cudaSuccess) return error;
    return launch_early(&fit_partials_kernel<Codec>, 1, 256, stream, partials, to);
}

// Does a codec of X need a workspace to be fitted just in time?
template<class Codec>
constexpr bool needs_workspace = Codec::has_scale&& is_per_tensor<Codec>;

}  // namespace detail

}  // namespace gesso
