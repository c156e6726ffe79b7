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

namespace detail {

// The elements of a matrix in memory, or of its transpose, and the index of each in the matrix itself: random bits go by
// that index, whichever way the elements are walked. What only reads takes any grid with load() and index(): elements may
// also be computed as they are asked for (operator/host_sinks.hpp).
template<class T>
struct element_grid {
    T* data;
    index_t rows, columns;
    index_t row_step, column_step;
    index_t row_index_step, column_index_step;

    T& at(index_t row, index_t column) const { return data[row * row_step + column * column_step]; }
    float load(index_t row, index_t column) const { return element<standard::remove_const_t<T>>::load(at(row, column)); }
    index_t index(index_t row, index_t column) const { return row * row_index_step + column * column_index_step; }
    element_grid transposed() const
    {
        return {data, columns, rows, column_step, row_step, column_index_step, row_index_step};
    }
};
template<class T>
element_grid<T> grid_of(const matrix_ref<T>& matrix)
{
    return {matrix.data, matrix.rows, matrix.columns, matrix.stride, 1, matrix.columns, 1};
}

// The elements of one tile, the ends not included.
struct tile_range {
    index_t row_begin, row_end, column_begin, column_end;

    template<class Act>
    void each_element(Act act) const
    {
        for (index_t row = row_begin; row < row_end; ++row) {
            for (index_t column = column_begin; column < column_end; ++column) act(row, column);
        }
    }
};

// act(tile_row, tile_column, range) for each tile.
template<class Act>
void each_tile(const tile_grid& tiles, Act act)
{
    for (index_t down = 0; down < tiles.down(); ++down) {
        for (index_t across = 0; across < tiles.across(); ++across) {
            const index_t row = down * tiles.height;
            const index_t column = across * tiles.width;
            act(down, across,
                tile_range{row, smaller(row + tiles.height, tiles.rows), column,
                    smaller(column + tiles.width, tiles.columns)});
        }
    }
}

// The statistic of a tile's elements.
template<class Statistic, class Grid, class Nan>
Statistic observe_tile(const Grid& values, const tile_range& within, const Nan& nan)
{
    Statistic known;
    within.each_element([&](index_t row, index_t column) {
        nan.observe(known, values.load(row, column));
    });
    return known;
}

// Zeroes the padding of the scales' edge blocks.
template<class Codec>
void clear_scale_padding(const compressed_matrix<Codec>& to)
{
    const tile_grid tiles = to.tiles();
    const scale_extent stored = padded_scales(tiles, to.order);
    for (index_t row = 0; row < stored.rows; ++row) {
        for (index_t column = row < tiles.down() ? tiles.across() : 0; column < stored.columns; ++column) {
            to.store_padding(row, column);
        }
    }
}

// The codec's verbs on all tiles of a matrix. Preconditions: the views were checked and have the grid's shape.
template<class Codec>
struct host_tiles {
    template<class Grid, class Rounding, class Underflow>
    static void encode(const Grid& values, const compressed_matrix<Codec>& to, const Rounding& rounding,
        Underflow underflow)
    {
        each_tile(to.tiles(), [&](index_t tile_row, index_t tile_column, const tile_range& within) {
            encode_tile(values, within, to.load(tile_row, tile_column), to, rounding, underflow);
        });
    }
    template<class Grid, class Rounding, class Underflow, class Nan>
    static void compress(const Grid& values, const compressed_matrix<Codec>& to, const Rounding& rounding,
        Underflow underflow, const Nan& nan)
    {
        each_tile(to.tiles(), [&](index_t tile_row, index_t tile_column, const tile_range& within) {
            const auto with = Codec::fit(observe_tile<typename Codec::statistic>(values, within, nan));
            to.store(tile_row, tile_column, with);
            encode_tile(values, within, with, to, rounding, underflow);
        });
        clear_scale_padding(to);
    }
    template<class T>
    static void decode(const compressed_matrix<const Codec>& from, const element_grid<T>& values)
    {
        each_tile(from.tiles(), [&](index_t tile_row, index_t tile_column, const tile_range& within) {
            const auto with = from.load(tile_row, tile_column);
            within.each_element([&](index_t row, index_t column) {
                values.at(row, column) = element<T>::store(Codec::decode(from.codes[row * from.stride + column], with));
            });
        });
    }

private:
    template<class Grid, class Rounding, class Underflow>
    static void encode_tile(const Grid& values, const tile_range& within,
        const typename Codec::parameters& with, const compressed_matrix<Codec>& to, const Rounding& rounding,
        Underflow underflow)
    {
        within.each_element([&](index_t row, index_t column) {
            to.codes[row * to.stride + column] = Codec::encode(
                values.load(row, column), with, rounding_at(rounding, values.index(row, column)), underflow);
        });
    }
};

}  // namespace detail

// The codec's verbs on tensors in memory. T is any element type (encoding/element.hpp). Rounding is nearest_even, upward,
// or `stochastic{seed, step}`, which takes each element's bits by its index in the whole tensor (row * columns + column in
// a matrix). Nan says what a NaN or an infinity does to a statistic: ignore_nan, propagate_nan, flag_nan{flag}. No alignment
// is needed beyond that of the types. On any status but success nothing has been written.
// Snippet: examples/03_scale_a_group.cpp
template<class Codec>
struct host_codec {
    using statistic = typename Codec::statistic;
    using parameters = typename Codec::parameters;

    // Stage one: `count` values of one group (or of a part of it) to their statistic.
    template<class T, class Nan = ignore_nan>
    static statistic observe(const T* values, index_t count, const Nan& nan = {})
    {
        statistic known;
        for (index_t i = 0; i < count; ++i) nan.observe(known, element<T>::load(values[i]));
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
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual, class Nan = ignore_nan>
    [[nodiscard]] static status compress(const T* values, const compressed_ref<View>& to, const Rounding& rounding = {},
        Underflow underflow = {}, const Nan& nan = {})
    {
        require_same_codec<View>();
        const status usable = detail::check_policy(nan);
        if (usable != status::success) return usable;
        return each_group(values, to, [&](index_t group, index_t begin, index_t end) {
            const parameters with = fit(observe(values + begin, end - begin, nan));
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

    // The same for matrices; T may be const. Who writes the scales of all tiles also zeroes the padding between them
    // (compressed_matrix says where there is any).
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual>
    [[nodiscard]] static status encode(const matrix_ref<T>& values, const compressed_matrix<View>& to,
        const Rounding& rounding = {}, Underflow underflow = {})
    {
        require_same_codec<View>();
        const status checked = detail::check(values, to);
        if (checked == status::success) detail::host_tiles<Codec>::encode(detail::grid_of(values), to, rounding, underflow);
        return checked;
    }
    template<class T, class View, class Rounding = nearest_even, class Underflow = gradual, class Nan = ignore_nan>
    [[nodiscard]] static status compress(const matrix_ref<T>& values, const compressed_matrix<View>& to,
        const Rounding& rounding = {}, Underflow underflow = {}, const Nan& nan = {})
    {
        require_same_codec<View>();
        status checked = detail::check(values, to);
        if (checked == status::success) checked = detail::check_policy(nan);
        if (checked != status::success) return checked;
        detail::host_tiles<Codec>::compress(detail::grid_of(values), to, rounding, underflow, nan);
        return status::success;
    }
    template<class View, class T>
    [[nodiscard]] static status decode(const compressed_matrix<View>& from, const matrix_ref<T>& values)
    {
        require_same_codec<const View, const Codec>();
        const status checked = detail::check(values, from);
        if (checked == status::success) detail::host_tiles<Codec>::decode(from, detail::grid_of(values));
        return checked;
    }

private:
    // Views are template parameters so that a flat view is never formed from a matrix codec, nor the reverse.
    template<class View, class Expected = Codec>
    static void require_same_codec()
    {
        static_assert(standard::is_same_v<View, Expected>,
            "gesso::host_codec: the view is of another codec, or is one that only reads; use host_codec of its codec");
    }

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

    template<class T, class Rounding, class Underflow>
    static void encode_group(const T* values, index_t begin, index_t end, const parameters& with,
        const compressed_ref<Codec>& to, const Rounding& rounding, Underflow underflow)
    {
        for (index_t i = begin; i < end; ++i) {
            store_code<typename Codec::format>(to.codes, i,
                Codec::encode(element<T>::load(values[i]), with, detail::rounding_at(rounding, to.first + i), underflow));
        }
    }
};

}  // namespace gesso

#endif
