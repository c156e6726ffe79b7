// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with a tile of an operator whose outputs have one scale for all: stage two, where the operator is
// computed again and its codes go out plain, transposed or both.
#pragma once

#include <gesso/operator/operator_rows.cuh>
#include <gesso/operator/transpose_tile.cuh>

namespace gesso {

namespace detail {

// One sink of a tile, in a thread that has four rows of Items neighbours; nothing where it was written in stage one.
template<class View, int Items, int Threads, bool IsTensor = sink_traits<View>::is_tensor>
struct tile_sink {
    static constexpr int count = 0;
    __device__ __forceinline__ void prepare(const View&, const partial_maxima&, uint32_t*) {}
    __device__ __forceinline__ void put(const View&, const packed_elements<float, Items>&, int, index_t, index_t, int)
    {}
    template<class Transposer>
    __device__ __forceinline__ void turn(const View&, Transposer*) const
    {}
    template<class Transposer, class Place>
    __device__ __forceinline__ void write(const View&, const Transposer*, const Place&) const
    {}
};
template<class View, int Items, int Threads>
struct tile_sink<View, Items, Threads, true> {
    using codec = typename sink_traits<View>::codec;
    using group = matrix_group<codec>;
    static constexpr int count = 1;
    typename group::writer with;
    uint32_t codes[4][static_cast<unsigned>(Items / 4)];

    // The tensor's writer, from what stage one left. All threads of the block.
    __device__ __forceinline__ void prepare(const View& to, const partial_maxima& partials, uint32_t* shared)
    {
        with = partials.template writer<group, Threads>(shared);
        if (blockIdx.x == 0 && threadIdx.x == 0) store_tensor_scale<group>(with, plain_of(to), transposed_of(to));
    }
    // Row `i` of the thread to codes, which go to the plain output.
    __device__ __forceinline__ void put(
        const View& to, const packed_elements<float, Items>& numbers, int i, index_t row, index_t column, int valid)
    {
        const bool is_special = largest_magnitude<Items>(numbers, 0) >= infinity_bits;
        const auto some = group::template encode<Items>(numbers, 0, with, nearest_even{}, 0, is_special);
        GESSO_UNROLL
        for (int word = 0; word < Items / 4; ++word) codes[i][word] = some.words[word];
        const auto& plain = plain_of(to);
        if (plain.codes != nullptr) store_some<Items>(plain.codes + (row * plain.stride + column), valid, codes[i]);
    }
    // All four to shared memory, and after a barrier the block's to the transposed output.
    template<class Transposer>
    __device__ __forceinline__ void turn(const View& to, Transposer* shared) const
    {
        if (transposed_of(to).codes != nullptr) shared->put(0, codes);
    }
    template<class Transposer, class Place>
    __device__ __forceinline__ void write(const View& to, const Transposer* shared, const Place& first) const
    {
        const auto& transposed = transposed_of(to);
        if (transposed.codes == nullptr) return;
        shared->write(
            transposed.codes, transposed.stride, transposed.columns, transposed.rows, first.row, first.column);
    }
};

// All sinks in turn; `Index` is the operator's output that the first takes.
template<class Sinks, int Items, int Threads, int Index = 0>
struct tile_sinks;
template<int Items, int Threads, int Index>
struct tile_sinks<sink_pack<>, Items, Threads, Index> {
    static constexpr int count = 0;
    using none = sink_pack<>;
    __device__ __forceinline__ void prepare(const none&, const partial_maxima&, uint32_t*) {}
    template<class Numbers>
    __device__ __forceinline__ void put(const none&, const Numbers&, int, index_t, index_t, int)
    {}
    template<class Transposer>
    __device__ __forceinline__ void turn(const none&, Transposer*) const
    {}
    template<class Transposer, class Place>
    __device__ __forceinline__ void write(const none&, const Transposer*, const Place&) const
    {}
};
template<class First, class... Rest, int Items, int Threads, int Index>
struct tile_sinks<sink_pack<First, Rest...>, Items, Threads, Index> {
    using pack = sink_pack<First, Rest...>;
    using first_type = tile_sink<First, Items, Threads>;
    using rest_type = tile_sinks<sink_pack<Rest...>, Items, Threads, Index + 1>;
    static constexpr int count = first_type::count + rest_type::count;
    first_type first;
    rest_type rest;

    __device__ __forceinline__ void prepare(const pack& to, const partial_maxima& partials, uint32_t* shared)
    {
        first.prepare(to.first, partials.of_output(Index), shared);
        rest.prepare(to.rest, partials, shared);
    }
    template<class Numbers>
    __device__ __forceinline__ void put(
        const pack& to, const Numbers& numbers, int i, index_t row, index_t column, int valid)
    {
        first.put(to.first, numbers[Index], i, row, column, valid);
        rest.put(to.rest, numbers, i, row, column, valid);
    }
    template<class Transposer>
    __device__ __forceinline__ void turn(const pack& to, Transposer* shared) const
    {
        first.turn(to.first, shared);
        rest.turn(to.rest, shared + first_type::count);
    }
    template<class Transposer, class Place>
    __device__ __forceinline__ void write(const pack& to, const Transposer* shared, const Place& at) const
    {
        first.write(to.first, shared, at);
        rest.write(to.rest, shared + first_type::count, at);
    }
};

template<class Function, class Sources, class Sinks, class Tuning>
struct tile_operator {
    static constexpr int threads = Tuning::tile_threads;
    // 16 bytes of a row in one load, where registers suffice.
    static constexpr bool is_light = Function::inputs * 16 + Function::registers <= 48;
    static constexpr int items = loaded_sources<Sources, 8, true>::widest == 1 && is_light ? 16 : 8;
    static constexpr int columns = 8 * items * (threads / 256);
    using transposer = byte_transposer<columns, threads, items>;
    static_assert(transposer::panels == 1);
    using places_type = tile_places<columns>;
    using loaded_type = loaded_sources<Sources, items, true>;
    using sinks_type = tile_sinks<Sinks, items, threads>;

    // Registers of a thread: the four rows that are loaded, their codes, a row's numbers and what the loop takes. As many
    // blocks as these leave room for.
    static constexpr int loaded_words = loaded_type::bytes * items;
    static constexpr int registers = loaded_words + sinks_type::count * items
                                     + (Function::inputs + Function::outputs) * items / 2 + Function::registers / 2
                                     + 40;
    static constexpr int resident_blocks = registers <= 64    ? 4 * 256 / threads
                                           : registers <= 80  ? 3 * 256 / threads
                                           : registers <= 128 ? 2 * 256 / threads
                                                              : 1;
};

template<class Tile, class Function, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Tile::threads, Tile::resident_blocks) tile_operator_kernel(const Function function,
    const Sources sources, const Sinks sinks, const typename Tile::places_type places, const partial_maxima partials)
{
    constexpr int items = Tile::items;
    using transposer = typename Tile::transposer;
    __shared__ transposer shared[static_cast<unsigned>(Tile::sinks_type::count)];
    __shared__ uint32_t warps[Tile::threads / 32];
    // Stage one ended here: the cache still has its last tiles. (It started when the sources were there.)
    const auto first = places.at(index_t{gridDim.x} - 1 - blockIdx.x);
    const index_t row = first.row + transposer::row();
    const index_t column = first.column + transposer::column(0);
    const int valid = valid_of(column, places.columns, items);
    typename Tile::loaded_type loaded[4];
    GESSO_UNROLL
    for (int i = 0; i < 4; ++i) loaded[i].load(sources, row + i, column, row + i < places.rows ? valid : 0);
    typename Function::template column_state<items> of_columns;
    function.load_columns(of_columns, column, valid);
    wait_for_earlier();
    typename Function::row_state of_rows[4];
    GESSO_UNROLL
    for (int i = 0; i < 4; ++i) function.load_row(of_rows[i], row + i, row + i < places.rows);
    typename Tile::sinks_type state;
    state.prepare(sinks, partials, warps);
    GESSO_UNROLL
    for (int i = 0; i < 4; ++i) {
        packed_elements<float, items> numbers[static_cast<unsigned>(Function::outputs)];
        apply_to_piece(function, of_columns, of_rows[i], loaded[i], numbers);
        state.put(sinks, numbers, i, row + i, column, row + i < places.rows ? valid : 0);
    }
    state.turn(sinks, shared);
    __syncthreads();
    state.write(sinks, shared, first);
}

}  // namespace detail

}  // namespace gesso
