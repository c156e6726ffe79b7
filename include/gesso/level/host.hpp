// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The host level: one CPU thread, groups in memory. The CPU path of the library, and what a machine without a GPU runs.
// Results are valid when the call returns. The same codec, so the same bytes as every other level in exact arithmetic.
#pragma once

#include <gesso/encoding/element.hpp>
#include <gesso/matrix_layout.hpp>

// NVRTC compiles device code alone: there this header is empty.
#if !defined(__CUDACC_RTC__)

namespace gesso {

// The codec's verbs on tensors in memory. T is any element type (encoding/element.hpp). Rounding is nearest_even, upward,
// or `stochastic{seed, step}`, which takes each element's bits by its index in the whole tensor (row * columns + column in
// a matrix). No alignment is needed beyond that of the types. On any status but success nothing has been written.
// Snippet: examples/03_scale_a_group.cpp
template<class Codec>
struct host_codec {
    using statistic = typename Codec::statistic;
    using parameters = typename Codec::parameters;

    // Stage one: `count` values of one group (or of a part of it) to their statistic.
    template<class T>
    static statistic observe(const T* values, index_t count)
    {
        statistic known;
        for (index_t i = 0; i < count; ++i) known.observe(element<T>::load(values[i]));
        return known;
    }

    // Stage two.
    static parameters fit(const statistic& known) { return Codec::fit(known); }

    // values (to.count) to codes, with the parameters that `to` already holds: given, delayed or shared scales.
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual>
    [[nodiscard]] static status encode(
        const T* values, const compressed_ref<View>& to, const Rounding& rounding = {}, Underflow underflow = {})
    {
        require_same_codec<View>();
        return each_group(values, to, [&](index_t group, index_t begin, index_t end) {
            encode_group(values, begin, end, to.load(group), to, rounding, underflow);
        });
    }

    // Observe, fit and encode in a row: values (to.count) to codes, scales and exponents.
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual>
    [[nodiscard]] static status compress(
        const T* values, const compressed_ref<View>& to, const Rounding& rounding = {}, Underflow underflow = {})
    {
        require_same_codec<View>();
        return each_group(values, to, [&](index_t group, index_t begin, index_t end) {
            const parameters with = fit(observe(values + begin, end - begin));
            to.store(group, with);
            encode_group(values, begin, end, with, to, rounding, underflow);
        });
    }

    // Codes to values (from.count), rounded to nearest where T is narrower than fp32.
    template<class View, class T>
    [[nodiscard]] static status decode(const compressed_ref<View>& from, T* values)
    {
        require_same_codec<const View, const Codec>();
        return each_group(values, from, [&](index_t group, index_t begin, index_t end) {
            const parameters with = from.load(group);
            for (index_t i = begin; i < end; ++i) {
                values[i] = element<T>::store(Codec::decode(load_code<typename Codec::format>(from.codes, i), with));
            }
        });
    }

    // The same for matrices; T may be const.
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual>
    [[nodiscard]] static status encode(const matrix_ref<T>& values, const compressed_matrix<View>& to,
        const Rounding& rounding = {}, Underflow underflow = {})
    {
        require_same_codec<View>();
        return each_tile(values, to, [&](index_t tile_row, index_t tile_column, const tile& within) {
            encode_tile(values, within, to.load(tile_row, tile_column), to, rounding, underflow);
        });
    }
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual>
    [[nodiscard]] static status compress(const matrix_ref<T>& values, const compressed_matrix<View>& to,
        const Rounding& rounding = {}, Underflow underflow = {})
    {
        require_same_codec<View>();
        return each_tile(values, to, [&](index_t tile_row, index_t tile_column, const tile& within) {
            statistic known;
            for (index_t row = within.row_begin; row < within.row_end; ++row) {
                known.merge(observe(values.data + row * values.stride + within.column_begin,
                    within.column_end - within.column_begin));
            }
            const parameters with = fit(known);
            to.store(tile_row, tile_column, with);
            encode_tile(values, within, with, to, rounding, underflow);
        });
    }
    template<class View, class T>
    [[nodiscard]] static status decode(const compressed_matrix<View>& from, const matrix_ref<T>& values)
    {
        require_same_codec<const View, const Codec>();
        return each_tile(values, from, [&](index_t tile_row, index_t tile_column, const tile& within) {
            const parameters with = from.load(tile_row, tile_column);
            for (index_t row = within.row_begin; row < within.row_end; ++row) {
                for (index_t column = within.column_begin; column < within.column_end; ++column) {
                    values.data[row * values.stride + column] =
                        element<T>::store(Codec::decode(from.codes[row * from.stride + column], with));
                }
            }
        });
    }

private:
    // Views are template parameters so that a flat view is never formed from a matrix codec, nor the reverse.
    template<class View, class Expected = Codec>
    static void require_same_codec()
    {
        static_assert(standard::is_same_v<View, Expected>,
            "gesso::host_codec: the view is of another codec, or is one that only reads; use host_codec of its codec");
    }

    struct tile {
        index_t row_begin, row_end, column_begin, column_end;
    };

    template<class T, class View, class Act>
    static status each_group(const T* values, const View& view, Act act)
    {
        const status checked = detail::check(view);
        if (checked != status::success) return checked;
        if (view.count != 0 && values == nullptr) return status::null_pointer;
        const detail::flat_groups groups = view.groups();
        const index_t number = groups.groups();
        for (index_t group = 0; group < number; ++group) act(group, groups.begin(group), groups.end(group));
        return status::success;
    }

    template<class T, class View, class Act>
    static status each_tile(const matrix_ref<T>& values, const View& view, Act act)
    {
        const status checked = detail::check(values, view);
        if (checked != status::success || view.rows == 0 || view.columns == 0) return checked;
        const index_t height = view.tile_rows();
        const index_t width = view.tile_columns();
        for (index_t row = 0, tile_row = 0; row < view.rows; row += height, ++tile_row) {
            for (index_t column = 0, tile_column = 0; column < view.columns; column += width, ++tile_column) {
                act(tile_row, tile_column,
                    tile{row, detail::smaller(row + height, view.rows), column,
                        detail::smaller(column + width, view.columns)});
            }
        }
        return status::success;
    }

    template<class T, class Rounding, class Underflow>
    static void encode_group(const T* values, index_t begin, index_t end, const parameters& with,
        const compressed_ref<Codec>& to, const Rounding& rounding, Underflow underflow)
    {
        for (index_t i = begin; i < end; ++i) {
            store_code<typename Codec::format>(to.codes, i,
                Codec::encode(element<T>::load(values[i]), with, detail::rounding_at(rounding, to.first + i), underflow));
        }
    }

    template<class T, class Rounding, class Underflow>
    static void encode_tile(const matrix_ref<T>& values, const tile& within, const parameters& with,
        const compressed_matrix<Codec>& to, const Rounding& rounding, Underflow underflow)
    {
        using value_type = standard::remove_const_t<T>;
        for (index_t row = within.row_begin; row < within.row_end; ++row) {
            for (index_t column = within.column_begin; column < within.column_end; ++column) {
                to.codes[row * to.stride + column] =
                    Codec::encode(element<value_type>::load(values.data[row * values.stride + column]), with,
                        detail::rounding_at(rounding, row * to.columns + column), underflow);
            }
        }
    }
};

}  // namespace gesso

#endif
