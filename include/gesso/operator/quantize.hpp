// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Matrices to 8 bits and back: an activation as it is saved for backward, plain, transposed or both. Here the host level;
// operator/quantize.cuh has the same functions on a stream, with the same bytes.
//
//   one pass    host_quantize                             scales from the data, just in time
//   two stages  host_observe, host_fit, host_encode       the same bytes; stage one can hide in the producer of the data
//   given scale host_encode                               a scale from elsewhere: static, shared, or delayed by host_fit of
//                                                         a history of amax
#pragma once

#include <gesso/level/host.hpp>

namespace gesso {

namespace detail {

// What observe() and fit() say about their types, on the host and on a device.
template<class T, class Amax>
constexpr GESSO_HOST_DEVICE void require_exact_amax()
{
    using amax_format = typename element<standard::remove_const_t<Amax>>::format;
    static_assert(standard::is_same_v<amax_format, float32>
                      || standard::is_same_v<amax_format, typename element<standard::remove_const_t<T>>::format>,
        "gesso::observe: an amax must hold the values' own numbers, or two stages would not give the bytes of one; store it "
        "as float or in the format of the values");
}
template<class Codec>
constexpr GESSO_HOST_DEVICE void require_amax_alone()
{
    static_assert(Codec::has_scale && standard::is_same_v<typename Codec::statistic, amax_statistic>,
        "gesso::fit: an amax is not all that this codec must know of a group (dynamic_power), or it has no scale "
        "(unscaled); use quantize");
}
template<class Source, class Target>
constexpr GESSO_HOST_DEVICE void require_transposed()
{
    static_assert(standard::is_same_v<standard::remove_const_t<Target>, transposed_codec<standard::remove_const_t<Source>>>
                      && !standard::is_const_v<Target>,
        "gesso::transpose: the output must be a writable view of transposed_codec of the input's codec, or its codes would "
        "have other scales; decode and quantize instead");
}

// The statistic that a stored amax stands for. Anything but a number from zero up is a mistake that must not look like data:
// it counts as NaN. So stage two is the unsigned maximum of all bits, and this.
constexpr GESSO_HOST_DEVICE amax_statistic known_of_amax(uint32_t amax_bits)
{
    return {amax_bits < 0x7F800000u ? amax_bits : 0x7FFFFFFFu};
}

// One scale for the whole matrix: fit() takes the maximum over all it is given.
template<class Codec>
constexpr bool is_per_tensor = Codec::granularity::tile_rows == 0 && Codec::granularity::tile_columns == 0;

// Is this matrix of amax what the view's tiles can be fitted to?
template<class A, class Codec>
constexpr GESSO_HOST_DEVICE status check_fit(const matrix_ref<A>& amax, const compressed_matrix<Codec>& to)
{
    status checked = check(amax);
    if (checked == status::success) checked = check_parameters(to);
    if (checked != status::success || to.tiles().is_empty() || is_per_tensor<Codec>) return checked;
    const bool is_one_each = amax.rows == to.tiles().down() && amax.columns == to.tiles().across();
    return is_one_each ? status::success : status::size_mismatch;
}

}  // namespace detail

// NVRTC compiles device code alone: what follows is the host level.
#if !defined(__CUDACC_RTC__)

// values (rows, columns) to codes and scales, just in time: each tile of each wanted output gets the scale of its own amax.
//   T         any element type, const or not; rows may be strided, the padding between them is never read
//   to        plain (rows, columns), transposed (columns, rows), or both; null codes: not wanted. The memory of the outputs
//             must not overlap, nor that of the values.
//   rounding  nearest_even, upward, or stochastic{seed, step}: bits by the element's index row * columns + column in
//             `values`, in both outputs, so that with transposed_codec the transposed codes are the codes transposed
//   nan       ignore_nan, propagate_nan or flag_nan{flag} (granularity/statistic.hpp)
// Errors: null_pointer, negative_count, size_mismatch, invalid_scale_order; then nothing is written, nor a flag. An empty
// matrix is a success without bytes. Error bound of a number that is not saturated: half a step of its code times the scale
// (docs/numerics.md); deterministic, the same bytes as on a device.
// Source: COAT, section 5 (mixed-granularity activations). Snippet: examples/06_save_activations.cpp
template<class T, class Codec, class TransposedCodec, class Rounding = nearest_even, class Nan = ignore_nan>
[[nodiscard]] status host_quantize(const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to,
    const Rounding& rounding = {}, const Nan& nan = {})
{
    status checked = detail::check(values, to);
    if (checked == status::success) checked = detail::check_policy(nan);
    if (checked != status::success) return checked;
    const auto grid = detail::grid_of(values);
    if (to.plain.codes) detail::host_tiles<Codec>::compress(grid, to.plain, rounding, gradual{}, nan);
    if (to.transposed.codes) {
        detail::host_tiles<TransposedCodec>::compress(grid.transposed(), to.transposed, rounding, gradual{}, nan);
    }
    return status::success;
}

// values (rows, columns) to codes, with the parameters that the outputs hold already: given, delayed or shared scales, or
// those of host_fit. Numbers beyond a scale's range saturate; a scale that is no scale (codec::fit says which) makes codes
// of NaN. Scales are read, not written; arguments and errors otherwise as of host_quantize.
template<class T, class Codec, class TransposedCodec, class Rounding = nearest_even>
[[nodiscard]] status host_encode(const matrix_ref<T>& values, const quantized_matrix<Codec, TransposedCodec>& to,
    const Rounding& rounding = {})
{
    const status checked = detail::check(values, to);
    if (checked != status::success) return checked;
    const auto grid = detail::grid_of(values);
    if (to.plain.codes) detail::host_tiles<Codec>::encode(grid, to.plain, rounding, gradual{});
    if (to.transposed.codes) {
        detail::host_tiles<TransposedCodec>::encode(grid.transposed(), to.transposed, rounding, gradual{});
    }
    return status::success;
}

// Codes to values (rows, columns), rounded to nearest where T is narrower than fp32. Padding between the rows of `values` is
// not written. Errors as of host_quantize.
template<class Codec, class T>
[[nodiscard]] status host_dequantize(const compressed_matrix<Codec>& from, const matrix_ref<T>& values)
{
    return host_codec<standard::remove_const_t<Codec>>::decode(from, values);
}

// Codes and parameters of X (rows, columns) to those of X^T (columns, rows): the same numbers, nothing is rounded. The
// orders of the scales may differ. `from` and `to` must not overlap. Errors as of host_quantize.
template<class Codec, class TransposedCodec>
[[nodiscard]] status host_transpose(
    const compressed_matrix<Codec>& from, const compressed_matrix<TransposedCodec>& to)
{
    detail::require_transposed<Codec, TransposedCodec>();
    status checked = detail::check(from);
    if (checked == status::success) checked = detail::check(to);
    if (checked != status::success) return checked;
    if (from.rows != to.columns || from.columns != to.rows) return status::size_mismatch;
    using codec_type = standard::remove_const_t<Codec>;
    detail::each_tile(from.tiles(), [&](index_t tile_row, index_t tile_column, const detail::tile_range& within) {
        const index_t read = from.scale_index(tile_row, tile_column);
        const index_t written = to.scale_index(tile_column, tile_row);
        if constexpr (codec_type::has_scale) to.scales[written] = from.scales[read];
        if constexpr (codec_type::has_exponent) to.exponents[written] = from.exponents[read];
        within.each_element([&](index_t row, index_t column) {
            to.codes[column * to.stride + row] = from.codes[row * from.stride + column];
        });
    });
    detail::clear_scale_padding(to);
    return status::success;
}

// Stage one: the amax of each unit of values (rows, columns). Unit is a granularity: per_tile<1, 16>, per_row, per_tensor.
//   amax  (units down, units across), as many as Unit's tiles cover the matrix; Amax is float, or the format of the values,
//         so that nothing is rounded; its rows may be strided
//   nan   under propagate_nan the amax of a unit with a NaN or an infinity is NaN
// Errors as of host_quantize: a matrix of amax of another shape is a size_mismatch.
template<class Unit, class T, class Amax, class Nan = ignore_nan>
[[nodiscard]] status host_observe(const matrix_ref<T>& values, const matrix_ref<Amax>& amax, const Nan& nan = {})
{
    detail::require_exact_amax<T, Amax>();
    status checked = detail::check(values);
    if (checked == status::success) checked = detail::check(amax);
    if (checked == status::success) checked = detail::check_policy(nan);
    if (checked != status::success) return checked;
    const detail::tile_grid units = detail::tiles_of<Unit>(values.rows, values.columns);
    if (units.is_empty()) return status::success;
    if (amax.rows != units.down() || amax.columns != units.across()) return status::size_mismatch;
    const auto grid = detail::grid_of(values);
    detail::each_tile(units, [&](index_t row, index_t column, const detail::tile_range& within) {
        const auto known = detail::observe_tile<amax_statistic>(grid, within, nan);
        amax.data[row * amax.stride + column] = element<Amax>::store(known.amax());
    });
    return status::success;
}

// Stage two: the scales of the tiles of `to`; its codes are not touched and may be null.
//   per_tensor    from the largest amax of all, of any units, or of a history of amax (delayed scaling): any shape of
//                 `amax`, and none at all is the scale of zeros
//   otherwise     from the amax of each tile: `amax` has the shape of the tiles
// An amax that is no number from zero up (NaN, infinite, negative) makes a NaN scale. Errors as of host_quantize.
template<class A, class Codec>
[[nodiscard]] status host_fit(const matrix_ref<A>& amax, const compressed_matrix<Codec>& to)
{
    detail::require_amax_alone<Codec>();
    const status checked = detail::check_fit(amax, to);
    if (checked != status::success || to.tiles().is_empty()) return checked;
    const auto bits_at = [&](index_t row, index_t column) {
        return bits_of(element<standard::remove_const_t<A>>::load(amax.data[row * amax.stride + column]));
    };
    const detail::tile_range all{0, amax.rows, 0, amax.columns};
    if constexpr (detail::is_per_tensor<Codec>) {
        uint32_t largest = 0;
        all.each_element([&](index_t row, index_t column) {
            const uint32_t bits = bits_at(row, column);
            if (bits > largest) largest = bits;
        });
        to.store(0, 0, Codec::fit(detail::known_of_amax(largest)));
    } else {
        all.each_element([&](index_t row, index_t column) {
            to.store(row, column, Codec::fit(detail::known_of_amax(bits_at(row, column))));
        });
    }
    detail::clear_scale_padding(to);
    return status::success;
}

#endif

}  // namespace gesso
