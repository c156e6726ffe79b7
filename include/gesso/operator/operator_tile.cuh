// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with a tile of an operator whose outputs have one scale for all: stage two, where the operator is
// computed again and its codes go out plain, transposed or both.
#pragma once

#include <gesso/operator/operator_rows.cuh>
#include <gesso/operator/transpose_tile.cuh>

namespace gesso {

namespace detail {

// Where a thread's piece of a row lies. In any matrix: some of its elements, at any address.
struct place_in_matrix {
    index_t row;
    index_t column;
    int valid;

    template<class Loaded, class Sources>
    __device__ __forceinline__ void load(Loaded& to, const Sources& from) const
    {
        to.load(from, row, column, valid);
    }
    template<int Items, class Code, unsigned Words>
    __device__ __forceinline__ void store(Code* to, index_t stride, const uint32_t (&codes)[Words]) const
    {
        store_some<Items>(to + (row * stride + column), valid, codes);
    }
};
// Where all matrices are whole vectors and so is each row: a piece of one (operator_flat.cuh).
struct place_in_vector {
    uint32_t piece;
    bool exists;

    template<class Loaded, class Sources>
    __device__ __forceinline__ void load(Loaded& to, const Sources& from) const
    {
        to.load_flat(from, piece, exists);
    }
    template<int Items, class Code, unsigned Words>
    __device__ __forceinline__ void store(Code* to, index_t, const uint32_t (&codes)[Words]) const
    {
        store_whole<Items>(to, piece, exists, codes);
    }
};

// One sink of a tile, in a thread that has four rows of Items neighbours; nothing where it was written in stage one.
template<class View, int Items, int Threads, bool IsTensor = sink_traits<View>::is_tensor>
struct tile_sink {
    static constexpr int count = 0;
    template<class Function>
    __device__ __forceinline__ void prepare(const Function&, const View&, const partial_maxima&, uint32_t*)
    {}
    template<class Place>
    __device__ __forceinline__ void put(const View&, const packed_elements<float, Items>&, int, const Place&)
    {}
    template<class Transposer>
    __device__ __forceinline__ void turn(const View&, Transposer*) const
    {}
    template<bool IsFlat, class Transposer, class Place>
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
    template<class Function>
    __device__ __forceinline__ void prepare(
        const Function& function, const View& to, const partial_maxima& partials, uint32_t* shared)
    {
        with = group::fit(amax_statistic{amax_bits_of(&function, partials.template largest<Threads>(shared))});
        if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
            store_tensor_scale<group>(with, plain_of(to), transposed_of(to));
        }
    }
    // Row `i` of the thread to codes, which go to the plain output.
    template<class Place>
    __device__ __forceinline__ void put(
        const View& to, const packed_elements<float, Items>& numbers, int i, const Place& at)
    {
        packed_elements<float, Items> own = numbers;
        observe_and_mark(own);
        const auto some = group::template encode<Items>(own, 0, with, nearest_even{}, 0, false);
        GESSO_UNROLL
        for (int word = 0; word < Items / 4; ++word) codes[i][word] = some.words[word];
        const auto& plain = plain_of(to);
        if (plain.codes != nullptr) at.template store<Items>(plain.codes, plain.stride, codes[i]);
    }
    // All four to shared memory, and after a barrier the block's to the transposed output.
    template<class Transposer>
    __device__ __forceinline__ void turn(const View& to, Transposer* shared) const
    {
        if (transposed_of(to).codes != nullptr) shared->put(0, codes);
    }
    template<bool IsFlat, class Transposer, class Place>
    __device__ __forceinline__ void write(const View& to, const Transposer* shared, const Place& first) const
    {
        const auto& transposed = transposed_of(to);
        if (transposed.codes == nullptr) return;
        if constexpr (IsFlat) {
            shared->write_whole(
                transposed.codes, transposed.stride, transposed.columns, transposed.rows, first.row, first.column);
        } else {
            shared->write(
                transposed.codes, transposed.stride, transposed.columns, transposed.rows, first.row, first.column);
        }
    }
};

// All sinks in turn; `Index` is the operator's output that the first takes.
template<class Sinks, int Items, int Threads, int Index = 0>
struct tile_sinks;
template<int Items, int Threads, int Index>
struct tile_sinks<sink_pack<>, Items, Threads, Index> {
    static constexpr int count = 0;
    using none = sink_pack<>;
    template<class Function>
    __device__ __forceinline__ void prepare(const Function&, const none&, const partial_maxima&, uint32_t*)
    {}
    template<class Numbers, class Place>
    __device__ __forceinline__ void put(const none&, const Numbers&, int, const Place&)
    {}
    template<class Transposer>
    __device__ __forceinline__ void turn(const none&, Transposer*) const
    {}
    template<bool IsFlat, class Transposer, class Place>
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

    template<class Function>
    __device__ __forceinline__ void prepare(
        const Function& function, const pack& to, const partial_maxima& partials, uint32_t* shared)
    {
        first.prepare(function, to.first, partials.of_output(Index), shared);
        rest.prepare(function, to.rest, partials, shared);
    }
    template<class Numbers, class Place>
    __device__ __forceinline__ void put(const pack& to, const Numbers& numbers, int i, const Place& at)
    {
        first.put(to.first, numbers[Index], i, at);
        rest.put(to.rest, numbers, i, at);
    }
    template<class Transposer>
    __device__ __forceinline__ void turn(const pack& to, Transposer* shared) const
    {
        first.turn(to.first, shared);
        rest.turn(to.rest, shared + first_type::count);
    }
    template<bool IsFlat, class Transposer, class Place>
    __device__ __forceinline__ void write(const pack& to, const Transposer* shared, const Place& at) const
    {
        first.template write<IsFlat>(to.first, shared, at);
        rest.template write<IsFlat>(to.rest, shared + first_type::count, at);
    }
};

template<class Function, class Sources, class Sinks, class Tuning>
struct tile_operator {
    static constexpr int threads = Tuning::tile_threads;
    // 16 bytes of a row in one load, where registers suffice.
    static constexpr bool is_light = Function::inputs == 1 && Function::registers <= 32;
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
    static constexpr int resident_blocks = (items == 8 && registers <= 96 ? 4
                                               : registers <= 128         ? 2
                                                                          : 1)
                                           * 256 / threads;
};

// Row `i` of the thread whose first is (row, column).
template<bool IsFlat, class Tile>
__device__ __forceinline__ auto place_of_row(
    const typename Tile::places_type& places, index_t row, index_t column, int i)
{
    constexpr int items = Tile::items;
    if constexpr (IsFlat) {
        const uint32_t in_row = static_cast<uint32_t>(places.columns) / items;
        const uint32_t first = static_cast<uint32_t>(row) * in_row + static_cast<uint32_t>(column) / items;
        return place_in_vector{
            first + static_cast<uint32_t>(i) * in_row, column < places.columns && row + i < places.rows};
    } else {
        const int valid = valid_of(column, places.columns, items);
        return place_in_matrix{row + i, column, row + i < places.rows ? valid : 0};
    }
}

// A block's tile, from the last one on. Flat: the grid has an axis for columns and one for rows, and nothing is divided.
template<bool IsFlat, class Places>
__device__ __forceinline__ typename Places::place first_of_tile(const Places& places)
{
    if constexpr (IsFlat) {
        return {index_t{gridDim.y - 1 - blockIdx.y} * 128, index_t{gridDim.x - 1 - blockIdx.x} * Places::tile_columns};
    } else {
        return places.at(index_t{gridDim.x} - 1 - blockIdx.x);
    }
}

// IsFlat: all matrices are whole vectors, and a row is a number of whole pieces.
template<bool IsFlat, class Tile, class Function, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Tile::threads, Tile::resident_blocks) tile_operator_kernel(const Function function,
    const Sources sources, const Sinks sinks, const typename Tile::places_type places, const partial_maxima partials)
{
    constexpr int items = Tile::items;
    using transposer = typename Tile::transposer;
    __shared__ transposer shared[static_cast<unsigned>(Tile::sinks_type::count)];
    __shared__ uint32_t warps[Tile::threads / 32];
    // Stage one ended with the last tiles: the cache still has them. (It started when the sources were there.)
    const auto first = first_of_tile<IsFlat>(places);
    const index_t row = first.row + transposer::row();
    const index_t column = first.column + transposer::column(0);
    typename Tile::loaded_type loaded[4];
    GESSO_UNROLL
    for (int i = 0; i < 4; ++i) place_of_row<IsFlat, Tile>(places, row, column, i).load(loaded[i], sources);
    typename Function::template column_state<items> of_columns;
    function.load_columns(of_columns, column, valid_of(column, places.columns, items));
    wait_for_earlier();
    typename Function::row_state of_rows[4];
    GESSO_UNROLL
    for (int i = 0; i < 4; ++i) function.load_row(of_rows[i], row + i, row + i < places.rows);
    typename Tile::sinks_type state;
    state.prepare(function, sinks, partials, warps);
    GESSO_UNROLL
    for (int i = 0; i < 4; ++i) {
        packed_elements<float, items> numbers[static_cast<unsigned>(Function::outputs)];
        apply_to_piece(function, of_columns, of_rows[i], loaded[i], numbers);
        state.put(sinks, numbers, i, place_of_row<IsFlat, Tile>(places, row, column, i));
    }
    state.turn(sinks, shared);
    __syncthreads();
    state.template write<IsFlat>(sinks, shared, first);
}

}  // namespace detail

}  // namespace gesso
