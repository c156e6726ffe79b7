// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What an operator reads and writes: packs of views, for the host and for kernels. A pack is an aggregate, trivially
// copyable and passed by value; its views are told apart by their types, so one kernel serves every combination of
// formats and granularities.
#pragma once

#include <gesso/encoding/element.hpp>
#include <gesso/matrix_layout.hpp>

namespace gesso {

// The paper's formats: 1x16 with a bf16 scale where the consumer is not linear, per tensor where it is a matrix product;
// E4M3 forward, E5M2 for gradients.
using elementwise_codec = codec<e4m3, identity, per_tile<1, 16>, bfloat16>;
using product_codec = codec<e4m3, identity, per_tensor>;
using gradient_codec = codec<e5m2, identity, per_tensor>;

// Views in a row. `first` and `rest` rather than a standard tuple, which device code has not.
template<class... Views>
struct source_pack {
    static constexpr int count = 0;
};
template<class First, class... Rest>
struct source_pack<First, Rest...> {
    static constexpr int count = 1 + static_cast<int>(sizeof...(Rest));
    First first;
    source_pack<Rest...> rest;
};
template<class... Views>
struct sink_pack {
    static constexpr int count = 0;
};
template<class First, class... Rest>
struct sink_pack<First, Rest...> {
    static constexpr int count = 1 + static_cast<int>(sizeof...(Rest));
    First first;
    sink_pack<Rest...> rest;
};

namespace detail {

// Every view of a source reads.
template<class T>
constexpr GESSO_HOST_DEVICE matrix_ref<const T> reading(const matrix_ref<T>& view)
{
    return {view.data, view.rows, view.columns, view.stride};
}
template<class Codec>
constexpr GESSO_HOST_DEVICE compressed_matrix<const standard::remove_const_t<Codec>> reading(
    const compressed_matrix<Codec>& view)
{
    return view;
}
template<class View>
constexpr GESSO_HOST_DEVICE void reading(const View&)
{
    static_assert(!standard::is_same_v<View, View>, "gesso::sources_of: a source is a matrix_ref or a "
                                                    "compressed_matrix; name the half of a quantized_matrix to read");
}

template<class View>
constexpr bool is_sink = false;
template<class T>
constexpr bool is_sink<matrix_ref<T>> = !standard::is_const_v<T>;
template<class Codec>
constexpr bool is_sink<compressed_matrix<Codec>> = !standard::is_const_v<Codec>;
template<class Codec, class TransposedCodec>
constexpr bool is_sink<quantized_matrix<Codec, TransposedCodec>> =
    !standard::is_const_v<Codec> && !standard::is_const_v<TransposedCodec>;

}  // namespace detail

// The inputs of an operator, each (rows, columns): matrix_ref<T> of fp32, bf16, fp16 or a user's element type, or
// compressed_matrix<Codec> of any codec, which is decoded as it is read.
constexpr GESSO_HOST_DEVICE source_pack<> sources_of() { return {}; }
template<class First, class... Rest>
constexpr GESSO_HOST_DEVICE auto sources_of(const First& first, const Rest&... rest)
    -> source_pack<decltype(detail::reading(first)), decltype(detail::reading(rest))...>
{
    return {detail::reading(first), sources_of(rest...)};
}

// The outputs of an operator, each (rows, columns): matrix_ref<T> is rounded to nearest; compressed_matrix<Codec> and
// quantized_matrix<Codec, TransposedCodec> (plain, transposed or both; null codes: not wanted) get scales just in time,
// from the operator's fp32 results. Outputs overlap neither each other nor an input.
constexpr GESSO_HOST_DEVICE sink_pack<> sinks_of() { return {}; }
template<class First, class... Rest>
constexpr GESSO_HOST_DEVICE sink_pack<First, Rest...> sinks_of(const First& first, const Rest&... rest)
{
    static_assert(detail::is_sink<First>,
        "gesso::sinks_of: a sink is a writable matrix_ref, compressed_matrix or quantized_matrix; remove the const");
    return {first, sinks_of(rest...)};
}

namespace detail {

// As many views as the operator has inputs and outputs?
template<class Operator, class Sources, class Sinks>
constexpr GESSO_HOST_DEVICE void require_operands()
{
    static_assert(Sources::count == Operator::inputs, "gesso::pointwise: as many sources as the operator has inputs; "
                                                      "name them in sources_of, in the operator's order");
    static_assert(Sinks::count == Operator::outputs,
        "gesso::pointwise: as many sinks as the operator has outputs; name them in sinks_of, in the operator's order");
}

struct extent {
    index_t rows;
    index_t columns;

    constexpr GESSO_HOST_DEVICE bool is_empty() const { return rows == 0 || columns == 0; }
};

template<class View>
constexpr GESSO_HOST_DEVICE extent extent_of(const View& view)
{
    return {view.rows, view.columns};
}

// Does a source have this extent, and can it be read? A sink: can it be written?
template<class View>
constexpr GESSO_HOST_DEVICE status check_operand(const extent& of, const View& view)
{
    const status checked = check(view);
    if (checked != status::success) return checked;
    return view.rows == of.rows && view.columns == of.columns ? status::success : status::size_mismatch;
}
template<class Codec, class TransposedCodec>
constexpr GESSO_HOST_DEVICE status check_operand(const extent& of, const quantized_matrix<Codec, TransposedCodec>& view)
{
    if (view.plain.codes == nullptr && view.transposed.codes == nullptr) {
        return of.is_empty() ? status::success : status::null_pointer;
    }
    if (view.plain.codes != nullptr) {
        const status checked = check_operand(of, view.plain);
        if (checked != status::success) return checked;
    }
    if (view.transposed.codes == nullptr) return status::success;
    return check_operand({of.columns, of.rows}, view.transposed);
}

template<template<class...> class Pack>
constexpr GESSO_HOST_DEVICE status check_operands(const extent&, const Pack<>&)
{
    return status::success;
}
template<template<class...> class Pack, class First, class... Rest>
constexpr GESSO_HOST_DEVICE status check_operands(const extent& of, const Pack<First, Rest...>& pack)
{
    const status checked = check_operand(of, pack.first);
    return checked == status::success ? check_operands(of, pack.rest) : checked;
}

// View `Index` of a pack.
template<int Index, class Pack>
constexpr GESSO_HOST_DEVICE const auto& view_of(const Pack& pack)
{
    if constexpr (Index == 0) return pack.first;
    else return view_of<Index - 1>(pack.rest);
}

// One element of a source. For hosts and tests: a kernel loads vectors and a tile's parameters once.
template<class T>
GESSO_HOST_DEVICE float load_element(const matrix_ref<const T>& from, index_t row, index_t column)
{
    return element<T>::load(from.data[row * from.stride + column]);
}
template<class Codec>
GESSO_HOST_DEVICE float load_element(const compressed_matrix<const Codec>& from, index_t row, index_t column)
{
    return Codec::decode(
        from.codes[row * from.stride + column], from.load(row / from.tile_rows(), column / from.tile_columns()));
}

// The numbers of one element of all sources, in their order.
GESSO_HOST_DEVICE inline void gather(const source_pack<>&, index_t, index_t, float*) {}
template<class First, class... Rest>
GESSO_HOST_DEVICE void gather(const source_pack<First, Rest...>& from, index_t row, index_t column, float* to)
{
    *to = load_element(from.first, row, column);
    gather(from.rest, row, column, to + 1);
}

// The length of an array of `count` numbers, of which there may be none.
constexpr GESSO_HOST_DEVICE unsigned at_least_one(int count) { return count < 1 ? 1u : static_cast<unsigned>(count); }

}  // namespace detail

}  // namespace gesso
