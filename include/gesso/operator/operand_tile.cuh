// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The operands of an operator in the registers of a thread: pieces of sources, whatever they are stored as, become fp32
// numbers, and what a sink is decides which stage of a kernel writes it.
#pragma once

#include <gesso/operator/pointwise.hpp>
#include <gesso/operator/row_tile.cuh>

namespace gesso {

namespace detail {

// Piece `piece` of Items elements of an operand that is one whole vector: in the widest words, or zeros.
template<int Items, class E, unsigned Words>
__device__ __forceinline__ void load_whole(const E* from, uint32_t piece, bool exists, uint32_t (&words)[Words])
{
    const E* const first = from + index_t{piece} * Items;
    if (exists) {
        if constexpr (Words == 1) words[0] = *reinterpret_cast<const uint32_t*>(first);
        else load_items<true>(first, Items, words);
    } else {
        GESSO_UNROLL
        for (uint32_t& word : words) word = 0u;
    }
}
template<int Items, class E, unsigned Words>
__device__ __forceinline__ void store_whole(E* to, uint32_t piece, bool exists, const uint32_t (&words)[Words])
{
    E* const first = to + index_t{piece} * Items;
    if (!exists) return;
    if constexpr (Words == 1) *reinterpret_cast<uint32_t*>(first) = words[0];
    else store_items<true>(first, Items, words);
}

// Items neighbours in a row of a source. Aligned: their first column is a multiple of Items.
//   load()       from (row, column) on, `valid` of them; any address
//   load_flat()  piece `piece` of an operand that is one whole vector: its rows lie end to end, pieces are whole and aligned
//                to their vectors, scales are those of 1 x G elements in row-major order, or one
template<class View, int Items, bool Aligned>
struct loaded_source;

template<class T, int Items, bool Aligned>
struct loaded_source<matrix_ref<const T>, Items, Aligned> {
    static constexpr int bytes = static_cast<int>(sizeof(T));
    packed_elements<T, Items> elements;

    __device__ __forceinline__ void load(const matrix_ref<const T>& from, index_t row, index_t column, int valid)
    {
        load_some<Items>(from.data + (row * from.stride + column), valid, elements.words);
    }
    __device__ __forceinline__ void load_flat(const matrix_ref<const T>& from, uint32_t piece, bool exists)
    {
        load_whole<Items>(from.data, piece, exists, elements.words);
    }
    __device__ __forceinline__ void get(item_values<Items>& values) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) values[i] = elements.get(i);
    }
};

template<class Codec, int Items, bool Aligned>
struct loaded_source<compressed_matrix<const Codec>, Items, Aligned> {
    using format = typename Codec::format;
    using granularity = typename Codec::granularity;
    using code_type = typename Codec::code_type;
    using scale_code_type = typename Codec::scale_code_type;
    static constexpr int bytes = static_cast<int>(sizeof(code_type));
    static constexpr index_t height = Codec::has_scale ? index_t{granularity::tile_rows} : 0;
    static constexpr index_t width = Codec::has_scale ? index_t{granularity::tile_columns} : 0;
    // Neighbours that share a scale for sure.
    static constexpr int same = width == 0 ? Items
                                : Aligned  ? static_cast<int>(greatest_common_divisor(width, Items))
                                           : 1;
    packed_codes<format, Items> codes;
    scale_code_type scales[static_cast<unsigned>(Items / same)];

    __device__ __forceinline__ void load(
        const compressed_matrix<const Codec>& from, index_t row, index_t column, int valid)
    {
        const code_type* codes_at = from.codes + (row * from.stride + column);
        load_some<Items>(codes_at, valid, codes.words);
        GESSO_UNROLL
        for (int i = 0; i < Items; i += same) {
            scales[i / same] = {};
            if constexpr (Codec::has_scale) {
                if (i < valid) {
                    scales[i / same] = from.scales[from.scale_index(tile_of<height>(row), tile_of<width>(column + i))];
                }
            }
        }
    }
    __device__ __forceinline__ void load_flat(const compressed_matrix<const Codec>& from, uint32_t piece, bool exists)
    {
        load_whole<Items>(from.codes, piece, exists, codes.words);
        if constexpr (!Codec::has_scale) {
            scales[0] = {};
        } else if constexpr (width == 0) {
            scales[0] = from.scales[0];
        } else if constexpr (width >= Items) {
            scales[0] = exists ? from.scales[piece / static_cast<uint32_t>(width / Items)] : scale_code_type{};
        } else {
            constexpr uint32_t count = static_cast<uint32_t>(Items / same);
            const scale_code_type* first = from.scales + index_t{piece} * count;
            GESSO_UNROLL
            for (uint32_t i = 0; i < count; ++i) scales[i] = exists ? first[i] : scale_code_type{};
        }
    }
    __device__ __forceinline__ void get(item_values<Items>& values) const
    {
        if constexpr (is_quick) {
            float of_scales[static_cast<unsigned>(Items / same)];
            bool is_usual = true;
            GESSO_UNROLL
            for (int i = 0; i < Items / same; ++i) {
                of_scales[i] = matrix_group<Codec>::number_of(scales[i]);
                is_usual = is_usual && bits_of(of_scales[i]) - 0x00400000u < largest_usual - 0x00400000u;
            }
            if (is_usual) {
                GESSO_UNROLL
                for (int i = 0; i < Items; i += 4) {
                    float numbers[4];
                    decode_word<format>(codes.words[i / 4], numbers);
                    GESSO_UNROLL
                    for (int j = 0; j < 4; ++j) values[i + j] = multiply(numbers[j], of_scales[(i + j) / same]);
                }
                return;
            }
        }
        get_any(values);
    }

private:
    // Scales that are normal numbers which no code lifts past fp32's: nearly all. (A format with infinities is for the other
    // way.)
    static constexpr bool is_quick = Codec::has_scale && format::bits == 8 && !format::has_infinity
                                     && hardware_format<format> != converts_as::nothing && Items % 4 == 0;
    static constexpr uint32_t largest_usual = 0x7B000000u;  // 2^119, of 448 at most
    static_assert(!is_quick || (format::max)() < 512.0f);

    __device__ __forceinline__ void get_any(item_values<Items>& values) const
    {
        if constexpr (!Codec::has_scale || format::bits != 8) {
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) values[i] = Codec::decode(codes.get(i), Codec::load(scales[i / same]));
        } else {
            using group = typename matrix_group<Codec>::group;
            GESSO_UNROLL
            for (int i = 0; i < Items; i += same) {
                const auto with = matrix_group<Codec>::stored(scales[i / same]);
                group::template decode_some<true, true, same>(codes, i, {with.with}, values);
            }
            GESSO_UNROLL
            for (int i = 0; i < Items; i += same) {
                keep_finite<Codec, Items>(matrix_group<Codec>::stored(scales[i / same]).with.scale, values);
            }
        }
    }
};

// The same of all sources.
template<class Sources, int Items, bool Aligned>
struct loaded_sources;
template<int Items, bool Aligned>
struct loaded_sources<source_pack<>, Items, Aligned> {
    static constexpr int bytes = 0;
    static constexpr int widest = 0;
    __device__ __forceinline__ void load(const source_pack<>&, index_t, index_t, int) {}
    __device__ __forceinline__ void load_flat(const source_pack<>&, uint32_t, bool) {}
    template<int Index, unsigned Inputs>
    __device__ __forceinline__ void get(float (&)[Inputs][static_cast<unsigned>(Items)]) const
    {}
};
template<class First, class... Rest, int Items, bool Aligned>
struct loaded_sources<source_pack<First, Rest...>, Items, Aligned> {
    using first_type = loaded_source<First, Items, Aligned>;
    using rest_type = loaded_sources<source_pack<Rest...>, Items, Aligned>;
    // Bytes of an element of all sources, and of the widest.
    static constexpr int bytes = first_type::bytes + rest_type::bytes;
    static constexpr int widest = first_type::bytes > rest_type::widest ? first_type::bytes : rest_type::widest;
    first_type first;
    rest_type rest;

    __device__ __forceinline__ void load(
        const source_pack<First, Rest...>& from, index_t row, index_t column, int valid)
    {
        first.load(from.first, row, column, valid);
        rest.load(from.rest, row, column, valid);
    }
    __device__ __forceinline__ void load_flat(const source_pack<First, Rest...>& from, uint32_t piece, bool exists)
    {
        first.load_flat(from.first, piece, exists);
        rest.load_flat(from.rest, piece, exists);
    }
    // Source `Index` and the ones after it to in[Index] and on.
    template<int Index = 0, unsigned Inputs>
    __device__ __forceinline__ void get(float (&in)[Inputs][static_cast<unsigned>(Items)]) const
    {
        first.get(in[Index]);
        rest.template get<Index + 1>(in);
    }
};

// What a kernel must know of a sink.
//   codec          of its codes; void where it has elements
//   is_tensor      one exact scale for all: written in stage two
//   width          columns that share a scale where it is written by rows; 0: none
template<class View>
struct sink_traits;
template<class T>
struct sink_traits<matrix_ref<T>> {
    using codec = void;
    static constexpr bool is_tensor = false;
    static constexpr index_t width = 0;
    static constexpr int bytes = static_cast<int>(sizeof(T));
};
template<class Codec>
struct sink_traits<compressed_matrix<Codec>> {
    using codec = Codec;
    using granularity = typename Codec::granularity;
    static constexpr bool is_tensor = Codec::has_scale && is_per_tensor<Codec>;
    static constexpr index_t width = Codec::has_scale ? index_t{granularity::tile_columns} : 0;
    static constexpr int bytes = static_cast<int>(sizeof(typename Codec::code_type));
    static_assert(is_tensor || !Codec::has_scale || (granularity::tile_rows == 1 && width > 0),
        "gesso::pointwise: on the device an output's scale belongs to 1 x G elements, to the whole tensor, or there is "
        "none; "
        "write bf16 and quantize() it for other tiles, or use the host level");
    static_assert(!is_tensor || Codec::format::bits == 8, "gesso::pointwise: on the device an output with one scale "
                                                          "has codes of 8 bits; use a format of 8 bits, or the host "
                                                          "level");
};
template<class Codec, class TransposedCodec>
struct sink_traits<quantized_matrix<Codec, TransposedCodec>> : sink_traits<compressed_matrix<Codec>> {
    static_assert(standard::is_same_v<TransposedCodec, transposed_codec<Codec>>,
        "gesso::pointwise: both forms of an output have the same scales on the device: the transposed one is of "
        "transposed_codec; transpose with scales of its own by quantize()");
};

// The plain and the transposed form of a sink; null codes where it has none.
template<class Codec>
GESSO_HOST_DEVICE const compressed_matrix<Codec>& plain_of(const compressed_matrix<Codec>& sink)
{
    return sink;
}
template<class Codec, class TransposedCodec>
GESSO_HOST_DEVICE const compressed_matrix<Codec>& plain_of(const quantized_matrix<Codec, TransposedCodec>& sink)
{
    return sink.plain;
}
template<class Codec>
GESSO_HOST_DEVICE compressed_matrix<transposed_codec<Codec>> transposed_of(const compressed_matrix<Codec>&)
{
    return {};
}
template<class Codec>
GESSO_HOST_DEVICE const compressed_matrix<transposed_codec<Codec>>& transposed_of(const quantized_matrix<Codec>& sink)
{
    return sink.transposed;
}

// The same of all sinks: the one width of those with scales by rows, and the widest element of what is written by rows.
template<class Sinks>
struct sinks_traits;
template<>
struct sinks_traits<sink_pack<>> {
    static constexpr bool has_tensor = false;
    static constexpr bool has_rows = false;
    static constexpr index_t width = 0;
    static constexpr int widest = 0;
};
template<class First, class... Rest>
struct sinks_traits<sink_pack<First, Rest...>> {
    using own = sink_traits<First>;
    using rest = sinks_traits<sink_pack<Rest...>>;
    static constexpr bool has_tensor = own::is_tensor || rest::has_tensor;
    static constexpr bool has_rows = !own::is_tensor || rest::has_rows;
    static constexpr index_t width = own::width != 0 ? own::width : rest::width;
    static constexpr int widest = !own::is_tensor && own::bytes > rest::widest ? own::bytes : rest::widest;
    static_assert(own::width == 0 || rest::width == 0 || own::width == rest::width,
        "gesso::pointwise: outputs with scales of 1 x G elements share one G in a call; use a call for each G");
};

}  // namespace detail

}  // namespace gesso
