// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Flat rows on their way through shared memory: which operands are flat, and how a thread copies the pieces that it reads.
#pragma once

#include <gesso/level/staged.cuh>
#include <gesso/operator/by_rows_tile.cuh>
#include <gesso/operator/operator_launch.cuh>

namespace gesso {

namespace detail {

// Elements of a piece: 16 where nothing wider than a code is written by rows, or stores of 16 bytes would leave gaps between
// neighbouring threads, and where registers allow it.
template<class Operator, class Sources, class Sinks>
constexpr int flat_items =
    Operator::column_sums == 0 && Operator::inputs == 1 && loaded_sources<Sources, sum_items, true>::widest <= 2
            && sinks_traits<Sinks>::widest <= 1
        ? 16
        : 8;

// Can an operand be flat? (Everything that can be said of its type.)
template<class View>
constexpr bool can_be_flat = true;
template<class Codec>
constexpr bool can_be_flat<compressed_matrix<Codec>> =
    Codec::format::bits == 8 * sizeof(typename Codec::code_type)
    && (!Codec::has_scale
        || is_per_tensor<
            Codec> || (Codec::granularity::tile_rows == 1 && Codec::granularity::tile_columns >= 2 && padded(Codec::granularity::tile_columns) == Codec::granularity::tile_columns));
template<class Codec, class TransposedCodec>
constexpr bool can_be_flat<quantized_matrix<Codec, TransposedCodec>> = can_be_flat<compressed_matrix<Codec>>;
// Lanes of a warp can share a group of an output.
template<class View, int Items>
constexpr bool can_be_flat_sink = can_be_flat<View>&& sink_traits<View>::width <= 32 * Items;
template<class Pack, int Items>
constexpr bool can_all_be_flat = true;
template<class First, class... Rest, int Items>
constexpr bool can_all_be_flat<source_pack<First, Rest...>, Items> =
    can_be_flat<First>&& can_all_be_flat<source_pack<Rest...>, Items>;
template<class First, class... Rest, int Items>
constexpr bool can_all_be_flat<sink_pack<First, Rest...>, Items> =
    (sink_traits<First>::is_tensor || can_be_flat_sink<First, Items>)&&can_all_be_flat<sink_pack<Rest...>, Items>;
// Where a source's elements or codes lie; and a piece of them from a copy.
template<class T>
__device__ __forceinline__ const T* items_of(const matrix_ref<const T>& from)
{
    return from.data;
}
template<class Codec>
__device__ __forceinline__ auto items_of(const compressed_matrix<const Codec>& from)
{
    return from.codes;
}
template<class T, int Items>
__device__ __forceinline__ void read_items(
    loaded_source<matrix_ref<const T>, Items, true>& loaded, uint32_t place, bool exists, const unsigned char* from)
{
    load_whole<Items>(reinterpret_cast<const T*>(from), place, exists, loaded.elements.words);
}
template<class Codec, int Items>
__device__ __forceinline__ void read_items(loaded_source<compressed_matrix<const Codec>, Items, true>& loaded,
    uint32_t place, bool exists, const unsigned char* from)
{
    using code_type = typename Codec::code_type;
    load_whole<Items>(reinterpret_cast<const code_type*>(from), place, exists, loaded.codes.words);
}

// A row of all sources in shared memory, one after the other, each as it lies in memory. A thread copies what it reads, so
// that no barrier is needed. (Scales are not copied: few bytes, which are loaded into registers at the same time.)
template<class Sources, int Items>
struct copied_row;
template<int Items>
struct copied_row<source_pack<>, Items> {
    using none = source_pack<>;
    static GESSO_HOST_DEVICE uint32_t bytes(uint32_t) { return 0; }
    static __device__ __forceinline__ void copy(const none&, uint32_t, uint32_t, uint32_t, unsigned char*) {}
    static __device__ __forceinline__ void read(
        loaded_sources<none, Items, true>&, uint32_t, uint32_t, bool, const unsigned char*)
    {}
};
template<class First, class... Rest, int Items>
struct copied_row<source_pack<First, Rest...>, Items> {
    using pack = source_pack<First, Rest...>;
    using rest = copied_row<source_pack<Rest...>, Items>;
    static constexpr uint32_t piece_bytes = Items * static_cast<uint32_t>(loaded_source<First, Items, true>::bytes);
    static_assert(piece_bytes % 8 == 0);
    using vector_type = standard::conditional_t<piece_bytes % 16 == 0, uint4, uint2>;
    static constexpr uint32_t vector_bytes = sizeof(vector_type);

    static GESSO_HOST_DEVICE uint32_t own_bytes(uint32_t in_row) { return (in_row * piece_bytes + 15u) / 16u * 16u; }
    // Of a row of `in_row` pieces.
    static GESSO_HOST_DEVICE uint32_t bytes(uint32_t in_row) { return own_bytes(in_row) + rest::bytes(in_row); }
    // Starts the copy of piece `piece` of the sources, which is piece `place` of its row.
    static __device__ __forceinline__ void copy(
        const pack& from, uint32_t piece, uint32_t place, uint32_t in_row, unsigned char* to)
    {
        const auto* const source =
            reinterpret_cast<const unsigned char*>(items_of(from.first)) + index_t{piece} * piece_bytes;
        GESSO_UNROLL
        for (uint32_t i = 0; i < piece_bytes; i += vector_bytes) {
            copy_vector<vector_type>(source + i, to + place * piece_bytes + i);
        }
        rest::copy(from.rest, piece, place, in_row, to + own_bytes(in_row));
    }
    // The piece again; scales stay what they are.
    static __device__ __forceinline__ void read(loaded_sources<pack, Items, true>& loaded, uint32_t place,
        uint32_t in_row, bool exists, const unsigned char* from)
    {
        read_items(loaded.first, place, exists, from);
        rest::read(loaded.rest, place, in_row, exists, from + own_bytes(in_row));
    }
};

inline bool is_aligned_to_vectors(const void* pointer) { return reinterpret_cast<uint64_t>(pointer) % 16 == 0; }
// May the rows of these operands be taken as flat ones?
template<int Items, class Operator, class Parameter, class Sources, class Sinks>
bool are_flat_rows(const Sources& sources, const row_memory<Operator, Parameter>& memory, const Sinks& sinks)
{
    const extent of = extent_of(sources.first);
    bool aligned = of.columns % Items == 0 && of.rows * (of.columns / Items) < (index_t{1} << 31);
    for (int i = 0; i < Operator::parameters; ++i) aligned = aligned && is_aligned_to_vectors(memory.parameters[i]);
    return aligned && are_flat_matrices<Items>(sources) && are_flat_matrices<Items>(sinks);
}

// Lets a kernel have `bytes` of dynamic shared memory, `all` with its own. fits: can the device give them?
template<class Kernel>
cudaError_t allow_copies(Kernel kernel, index_t all, index_t bytes, bool& fits)
{
    int device = 0;
    int most_bytes = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) {
        error = cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    fits = error == cudaSuccess && all <= most_bytes;
    if (!fits) return error;
    return cudaFuncSetAttribute(
        reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace detail

}  // namespace gesso
