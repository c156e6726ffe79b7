// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Matrices in device memory to 8 bits and back, at the speed of memory: the functions of operator/quantize.hpp on a stream,
// with the same bytes.
//
//   just in time  quantize              scales from the data; per tensor in two launches, or quantize_one_launch
//   two stages    observe, fit, encode  the same bytes; stage one can hide in the kernel that makes the data
//   given scale   encode                a scale from elsewhere: static, shared, or delayed by fit of a history of amax
//
// All of them: nothing is allocated, nothing waits, every call can be captured in a graph, results are valid when the stream
// gets there. Deterministic: the same bytes for any grid, tuning and run, and the host's. Any shape: no rows or columns, odd
// ones, more than 65,535 rows of tiles, more than 2^31 elements; rows may be strided and start at any address (16-byte
// aligned rows are the fast way). Padding is never read into a statistic, nor written. T is float, a 16-bit type or a
// user's element type; codecs are plain ones (expansion `identity`); Tuning is void (matrix_tuning<T>) or a type like it.
#pragma once

#include <gesso/operator/matrix_launch.cuh>

namespace gesso {

// Bytes of device memory, aligned to 16, that quantize() and fit() of a per_tensor codec need. Written before it is read:
// nothing has to be cleared, ever. One for each stream.
constexpr index_t matrix_workspace_bytes = index_t{detail::max_partials} * 4;

// values (rows, columns) to codes and scales, just in time: each tile of each wanted output gets the scale of its own amax.
//   to         plain (rows, columns), transposed (columns, rows), or both; null codes: not wanted. Outputs must not overlap.
//   rounding   nearest_even, or stochastic{seed, step}: bits by the element's index row * columns + column, in both outputs
//   nan        ignore_nan, propagate_nan or flag_nan{flag in device memory}; a user's policy is asked only about elements
//              that are NaN or infinite, and about those that a thread holds with them
//   workspace  matrix_workspace_bytes; null where no output is per tensor
// Errors: cudaErrorInvalidValue for what host_quantize refuses or a missing workspace, cudaErrorNotSupported for a transpose
// of codes that have not 8 bits, and launch errors; nothing is written then. Speed: one pass over the values where a block holds a tile (1 x G to G = 4096; R x C where both are powers of two up
// to 128), else two. Source: COAT, section 5. Snippet: examples/06_save_activations.cpp has the host's twin.
template<class Tuning = void, class T, class Codec, class TransposedCodec, class Rounding, class Nan>
[[nodiscard]] cudaError_t quantize(const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to,
    const Rounding& rounding, const Nan& nan, void* workspace, cudaStream_t stream)
{
    using tuning = detail::matrix_tuning_of<Tuning, T>;
    status checked = detail::check(values, to);
    if (checked == status::success) checked = detail::check_policy(nan);
    if (checked != status::success) return detail::error_of(checked);
    if (values.rows == 0 || values.columns == 0) return cudaSuccess;
    const bool wants_plain = to.plain.codes != nullptr;
    const bool wants_transposed = to.transposed.codes != nullptr;
    const bool needs_workspace = (wants_plain && detail::needs_workspace<Codec>)
                                 || (wants_transposed && detail::needs_workspace<TransposedCodec>);
    if (needs_workspace && workspace == nullptr) return cudaErrorInvalidValue;
    const auto elements = detail::reading(values);
    if constexpr (standard::is_same_v<TransposedCodec, transposed_codec<Codec>>) {
        return detail::launch_quantize<Codec, tuning>(
            elements, to.plain, to.transposed, nan, rounding, workspace, stream);
    } else {
        // Scales of their own: each output by itself.
        if (wants_plain) {
            const cudaError_t error = detail::launch_quantize<Codec, tuning>(
                elements, to.plain, compressed_matrix<transposed_codec<Codec>>{}, nan, rounding, workspace, stream);
            if (error != cudaSuccess || !wants_transposed) return error;
        }
        using lying = transposed_codec<TransposedCodec>;
        return detail::launch_quantize<lying, tuning>(
            elements, compressed_matrix<lying>{}, to.transposed, nan, rounding, workspace, stream);
    }
}
template<class Tuning = void, class T, class Codec, class TransposedCodec>
[[nodiscard]] cudaError_t quantize(const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to,
    void* workspace, cudaStream_t stream)
{
    return quantize<Tuning>(values, to, nearest_even{}, ignore_nan{}, workspace, stream);
}

// quantize() of a per_tensor codec in one launch: a cooperative one, whose blocks meet between the stages. The same bytes.
// Errors: also cudaErrorNotSupported where the device has no cooperative launches.
template<class Tuning = void, class T, class Codec, class Rounding, class Nan>
[[nodiscard]] cudaError_t quantize_one_launch(const matrix_ref<T>& values, const quantized_matrix<Codec>& to,
    const Rounding& rounding, const Nan& nan, void* workspace, cudaStream_t stream)
{
    static_assert(detail::is_per_tensor<Codec> && Codec::has_scale,
        "gesso::quantize_one_launch: only a scale per tensor needs two stages that meet; use quantize");
    using tuning = detail::matrix_tuning_of<Tuning, T>;
    status checked = detail::check(values, to);
    if (checked == status::success) checked = detail::check_policy(nan);
    if (checked != status::success) return detail::error_of(checked);
    if (values.rows == 0 || values.columns == 0) return cudaSuccess;
    if (workspace == nullptr) return cudaErrorInvalidValue;
    return detail::launch_in_one<Codec, tuning>(
        detail::reading(values), to.plain, to.transposed, nan, rounding, workspace, stream);
}

// values (rows, columns) to codes, with the parameters that the outputs hold already: given, delayed or shared scales, or
// those of fit(). Scales are read, not written; with transposed_codec both outputs hold the same ones, and those of the plain
// output are read where it is wanted. Numbers beyond a scale's range saturate; a scale that is no scale (codec::fit says
// which) makes codes of NaN. Needs no workspace; arguments and errors otherwise as of quantize().
template<class Tuning = void, class T, class Codec, class TransposedCodec, class Rounding>
[[nodiscard]] cudaError_t encode(const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to,
    const Rounding& rounding, cudaStream_t stream)
{
    using tuning = detail::matrix_tuning_of<Tuning, T>;
    constexpr auto from = detail::scales_from::memory;
    const status checked = detail::check(values, to);
    if (checked != status::success) return detail::error_of(checked);
    if (values.rows == 0 || values.columns == 0) return cudaSuccess;
    const auto elements = detail::reading(values);
    const detail::partial_maxima none{};
    if constexpr (standard::is_same_v<TransposedCodec, transposed_codec<Codec>>) {
        return detail::launch_codes<Codec, tuning, from>(
            elements, to.plain, to.transposed, ignore_nan{}, rounding, none, stream);
    } else {
        if (to.plain.codes != nullptr) {
            const cudaError_t error =
                detail::launch_rows<Codec, tuning, from>(elements, to.plain, ignore_nan{}, rounding, none, stream);
            if (error != cudaSuccess || to.transposed.codes == nullptr) return error;
        }
        using lying = transposed_codec<TransposedCodec>;
        return detail::launch_codes<lying, tuning, from>(
            elements, compressed_matrix<lying>{}, to.transposed, ignore_nan{}, rounding, none, stream);
    }
}
template<class Tuning = void, class T, class Codec, class TransposedCodec>
[[nodiscard]] cudaError_t encode(
    const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to, cudaStream_t stream)
{
    return encode<Tuning>(values, to, nearest_even{}, stream);
}

// Codes to values (rows, columns), rounded to nearest where T is narrower than fp32. Errors as of quantize().
template<class Tuning = void, class Codec, class T>
[[nodiscard]] cudaError_t dequantize(
    const compressed_matrix<Codec>& from, const matrix_ref<T>& values, cudaStream_t stream)
{
    using codec_type = standard::remove_const_t<Codec>;
    using tile = detail::row_dequantizer<codec_type, T, detail::matrix_tuning_of<Tuning, T>>;
    const status checked = detail::check(values, from);
    if (checked != status::success) return detail::error_of(checked);
    if (values.rows == 0 || values.columns == 0) return cudaSuccess;
    compressed_matrix<const codec_type> codes = from;
    matrix_ref<T> to = values;
    if (detail::is_dense(values) && detail::is_dense<const codec_type, tile::pieces_type::padded_width>(codes)) {
        codes = detail::as_one_row(codes);
        to = detail::as_one_row(values);
    }
    const auto pieces = tile::pieces_type::of(to.rows, to.columns);
    const index_t blocks = tile::blocks(pieces);
    if (!detail::fits_grid(blocks)) return cudaErrorInvalidValue;
    detail::row_dequantize_kernel<tile, codec_type>
        <<<static_cast<unsigned>(blocks), tile::threads, 0, stream>>>(codes, to, pieces);
    return detail::launched();
}

// Codes and parameters of X (rows, columns) to those of X^T (columns, rows): the same numbers, nothing is rounded. Codes have
// 8 bits; the orders of the scales may differ; `from` and `to` must not overlap. Errors as of quantize().
template<class Tuning = transpose_tuning, class Codec, class TransposedCodec>
[[nodiscard]] cudaError_t transpose(
    const compressed_matrix<Codec>& from, const compressed_matrix<TransposedCodec>& to, cudaStream_t stream)
{
    using codec_type = standard::remove_const_t<Codec>;
    detail::require_transposed<Codec, TransposedCodec>();
    static_assert(codec_type::format::bits == 8,
        "gesso::transpose: codes on the device have 8 bits; use a format of 8 bits, or the host level");
    using tile = detail::tile_transposer<typename codec_type::code_type, Tuning>;
    status checked = detail::check(from);
    if (checked == status::success) checked = detail::check(to);
    if (checked == status::success && (from.rows != to.columns || from.columns != to.rows))
        checked = status::size_mismatch;
    if (checked != status::success) return detail::error_of(checked);
    const auto places = tile::places_type::of(from.rows, from.columns);
    if (places.count() == 0) return cudaSuccess;
    if (!detail::fits_grid(places.count())) return cudaErrorInvalidValue;
    const compressed_matrix<const codec_type> source = from;
    detail::transpose_kernel<tile, codec_type>
        <<<static_cast<unsigned>(places.count()), tile::threads, 0, stream>>>(source, to, places);
    const cudaError_t error = detail::launched();
    return error == cudaSuccess ? detail::launch_scale_padding(to, stream) : error;
}

// Stage one: the amax of each unit of values (rows, columns). Unit is a granularity: per_tile<1, 16>, per_tile<128, 128>,
// per_row, ...; amax (units down, units across) is float, or the format of the values, so that nothing is rounded.
// Every amax is written, none is added to: nothing has to be reset. A kernel that makes the data can write them itself, by
// observe() of warp_codec or block_codec, and save this pass. (One unit is one block's work: per_tensor is slow here.)
// Errors as of quantize(): a matrix of amax of another shape is an invalid value.
template<class Unit, class Tuning = void, class T, class Amax, class Nan>
[[nodiscard]] cudaError_t observe(
    const matrix_ref<T>& values, const matrix_ref<Amax>& amax, const Nan& nan, cudaStream_t stream)
{
    detail::require_exact_amax<T, Amax>();
    status checked = detail::check(values);
    if (checked == status::success) checked = detail::check(amax);
    if (checked == status::success) checked = detail::check_policy(nan);
    if (checked != status::success) return detail::error_of(checked);
    const detail::tile_grid units = detail::tiles_of<Unit>(values.rows, values.columns);
    if (units.is_empty()) return cudaSuccess;
    if (amax.rows != units.down() || amax.columns != units.across()) return cudaErrorInvalidValue;
    return detail::launch_units<Unit, detail::matrix_tuning_of<Tuning, T>>(
        detail::reading(values), nan, detail::amax_sink<Amax>{amax}, stream);
}
template<class Unit, class Tuning = void, class T, class Amax>
[[nodiscard]] cudaError_t observe(const matrix_ref<T>& values, const matrix_ref<Amax>& amax, cudaStream_t stream)
{
    return observe<Unit, Tuning>(values, amax, ignore_nan{}, stream);
}

// Stage two: the scales of the tiles of `to`; its codes are not touched and may be null.
//   per_tensor  from the largest amax of all, of any units, or of a history of amax (delayed scaling)
//   otherwise   from the amax of each tile: `amax` has the shape of the tiles
// Both outputs of a per_tensor codec may point to one scale: then it is fitted once for both.
// workspace: matrix_workspace_bytes for a per_tensor codec, else null. Errors as of quantize().
template<class A, class Codec>
[[nodiscard]] cudaError_t fit(
    const matrix_ref<A>& amax, const compressed_matrix<Codec>& to, void* workspace, cudaStream_t stream)
{
    detail::require_amax_alone<Codec>();
    const status checked = detail::check_fit(amax, to);
    if (checked != status::success || to.tiles().is_empty()) return detail::error_of(checked);
    const auto known = detail::reading(amax);
    cudaError_t error = cudaSuccess;
    if constexpr (detail::is_per_tensor<Codec>) {
        if (workspace == nullptr) return cudaErrorInvalidValue;
        error = detail::launch_tensor_fit(known, to, workspace, stream);
    } else {
        const index_t blocks = detail::parts(amax.rows * amax.columns, 256);
        if (!detail::fits_grid(blocks)) return cudaErrorInvalidValue;
        detail::fit_tiles_kernel<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(known, to);
        error = detail::launched();
    }
    return error == cudaSuccess ? detail::launch_scale_padding(to, stream) : error;
}

}  // namespace gesso
