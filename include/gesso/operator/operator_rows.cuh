// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does with pieces of rows of a pointwise operator: elements and codes with a scale each 1 x G go out, and
// of outputs with one scale for all the largest magnitude stays with the block (stage one).
#pragma once

#include <gesso/operator/matrix_kernels.cuh>
#include <gesso/operator/operand_tile.cuh>

namespace gesso {

namespace detail {

// The largest magnitude of a piece, of which NaN and infinities are no part; the infinities become NaN, as which they are
// encoded.
template<int Items>
__device__ __forceinline__ amax_statistic observe_and_mark(packed_elements<float, Items>& numbers)
{
    amax_statistic known{largest_magnitude<Items>(numbers, 0)};
    if (known.amax_bits >= infinity_bits) {
        known.amax_bits = 0;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (is_finite(numbers.get(i))) known.observe(numbers.get(i));
            else numbers.words[i] = 0x7FFFFFFFu;
        }
    }
    return known;
}

// How row_quantizer is to cut a piece that is in registers already: as it is.
template<int Items, int Threads>
struct cut_as_it_is {
    static constexpr int row_items = Items;
    static constexpr int row_pieces = 1;
    static constexpr int row_threads = Threads;
};

// Numbers of a piece to one sink by rows. `storage`: of one piece, in shared memory.
template<class View, int Items, int Threads>
struct row_sink;
template<class T, int Items, int Threads>
struct row_sink<matrix_ref<T>, Items, Threads> {
    template<class Place, class Storage>
    static __device__ __forceinline__ void put(
        const packed_elements<float, Items>& numbers, const Place& at, const matrix_ref<T>& to, Storage&)
    {
        packed_elements<T, Items> elements;
        GESSO_UNROLL
        for (int j = 0; j < Items; j += 2) elements.set_pair(j, numbers.get(j), numbers.get(j + 1));
        store_some<Items>(to.data + (at.row * to.stride + at.column), at.valid, elements.words);
    }
};
template<class Codec, int Items, int Threads>
struct row_sink<compressed_matrix<Codec>, Items, Threads> {
    using quantizer = row_quantizer<Codec, float, cut_as_it_is<Items, Threads>, scales_from::tile>;
    static_assert(quantizer::items == Items && quantizer::threads == Threads);

    template<class Place, class Storage>
    static __device__ __forceinline__ void put(const packed_elements<float, Items>& numbers, const Place& at,
        const compressed_matrix<Codec>& to, Storage& storage)
    {
        typename quantizer::loaded_type loaded;
        loaded.elements[0] = numbers;
        loaded.places[0] = {at.row, at.column, at.valid};
        if constexpr (Codec::has_scale) {
            quantizer::encode(loaded, to, {}, ignore_nan{}, nearest_even{}, storage);
        } else {
            typename quantizer::storage none[1];
            quantizer::encode(loaded, to, {}, ignore_nan{}, nearest_even{}, none);
        }
    }
};
template<class Codec, class TransposedCodec, int Items, int Threads>
struct row_sink<quantized_matrix<Codec, TransposedCodec>, Items, Threads>
    : row_sink<compressed_matrix<Codec>, Items, Threads> {};

// All sinks in turn; `Index` is the operator's output that the first takes. put(): those written by rows are written, and of
// the others the thread's largest magnitude is kept. finish(): the block's largest, to the partial maxima of its output;
// reduce(bits) is the largest of the block's.
template<class Sinks, int Items, int Threads, int Index = 0>
struct row_sinks;
template<int Items, int Threads, int Index>
struct row_sinks<sink_pack<>, Items, Threads, Index> {
    template<class Numbers, class Place, class Storage>
    __device__ __forceinline__ void put(const Numbers&, const Place&, const sink_pack<>&, Storage&)
    {}
    template<class Reduce>
    __device__ __forceinline__ void finish(const partial_maxima&, const Reduce&) const
    {}
};
template<class First, class... Rest, int Items, int Threads, int Index>
struct row_sinks<sink_pack<First, Rest...>, Items, Threads, Index> {
    static constexpr bool is_tensor = sink_traits<First>::is_tensor;
    amax_statistic known;
    row_sinks<sink_pack<Rest...>, Items, Threads, Index + 1> rest;

    template<class Numbers, class Place, class Storage>
    __device__ __forceinline__ void put(
        const Numbers& numbers, const Place& at, const sink_pack<First, Rest...>& to, Storage& storage)
    {
        if constexpr (is_tensor) {
            bool is_special = false;
            known.merge(observe_packed<Items>(numbers[Index], 0, ignore_nan{}, is_special));
        } else if constexpr (standard::is_same_v<typename sink_traits<First>::codec, void>) {
            row_sink<First, Items, Threads>::put(numbers[Index], at, to.first, storage[0]);
        } else {
            row_sink<First, Items, Threads>::put(numbers[Index], at, plain_of(to.first), storage[Index]);
        }
        rest.put(numbers, at, to.rest, storage);
    }
    template<class Reduce>
    __device__ __forceinline__ void finish(const partial_maxima& partials, const Reduce& reduce) const
    {
        if constexpr (is_tensor) {
            const uint32_t bits = reduce(known.amax_bits);
            if (threadIdx.x == 0) partials.of_output(Index).amax_bits[blockIdx.x] = bits;
        }
        rest.finish(partials, reduce);
    }
};

// A pointwise operator as kernels take it: of nothing but the numbers of an element. An operator by rows has row values and
// parameters beside them (by_rows_sums.cuh).
template<class Operator>
struct pointwise_function {
    static constexpr int inputs = Operator::inputs;
    static constexpr int outputs = Operator::outputs;
    static constexpr int registers = 0;  // that a thread has beside the numbers of its elements, about
    struct row_state {};
    template<int Items>
    struct column_state {};

    template<int Items>
    __device__ __forceinline__ void load_columns(column_state<Items>&, index_t, int) const
    {}
    __device__ __forceinline__ void load_row(row_state&, index_t, bool) const {}
    template<int Items>
    __device__ __forceinline__ void apply(const float (&in)[static_cast<unsigned>(inputs)], const column_state<Items>&,
        int, const row_state&, float (&out)[static_cast<unsigned>(outputs)]) const
    {
        Operator::apply(in, out);
    }
};

// Numbers of a piece by a function, from sources in registers.
template<int Items, class Function, class Columns, class Row, class Loaded>
__device__ __forceinline__ void apply_to_piece(const Function& function, const Columns& of_columns, const Row& of_row,
    const Loaded& loaded, packed_elements<float, Items> (&numbers)[static_cast<unsigned>(Function::outputs)])
{
    float in[static_cast<unsigned>(Function::inputs)][static_cast<unsigned>(Items)];
    loaded.get(in);
    GESSO_UNROLL
    for (int j = 0; j < Items; ++j) {
        float of_item[static_cast<unsigned>(Function::inputs)];
        float made[static_cast<unsigned>(Function::outputs)];
        GESSO_UNROLL
        for (int k = 0; k < Function::inputs; ++k) of_item[k] = in[k][j];
        function.apply(of_item, of_columns, j, of_row, made);
        GESSO_UNROLL
        for (int k = 0; k < Function::outputs; ++k) numbers[k].words[j] = bits_of(made[k]);
    }
}
// Zeros where no element is: they take no part in any statistic.
template<int Items, unsigned Outputs>
__device__ __forceinline__ void clear_missing(packed_elements<float, Items> (&numbers)[Outputs], int valid)
{
    if (valid == Items) return;
    GESSO_UNROLL
    for (int j = 0; j < Items; ++j) {
        GESSO_UNROLL
        for (unsigned k = 0; k < Outputs; ++k) numbers[k].words[j] = j < valid ? numbers[k].words[j] : 0u;
    }
}

// The amax that a word of stage one stands for: of an operator that rises as rising.hpp has it, else the word itself.
template<class Function>
__device__ __forceinline__ uint32_t amax_bits_of(const Function*, uint32_t word)
{
    return word;
}
template<class Operator>
__device__ __forceinline__ uint32_t amax_bits_of(const pointwise_function<Operator>*, uint32_t word)
{
    if constexpr (is_rising<Operator>) return amax_bits_of_word<Operator>(word);
    else return word;
}
// The word of a piece of an operator that rises.
template<class Operator, int Items, class Loaded>
__device__ __forceinline__ uint32_t observe_rising(const Loaded& loaded, int valid)
{
    float in[1][static_cast<unsigned>(Items)];
    loaded.get(in);
    return rising_word<Operator>(in[0], valid);
}

template<class Operator, class Sources, class Sinks, class Tuning>
struct row_operator {
    static constexpr index_t width = sinks_traits<Sinks>::width;
    using pieces_type = row_pieces<width, Tuning::row_items>;
    static constexpr int items = pieces_type::items;
    static constexpr int number = Tuning::row_pieces;
    static constexpr int lanes = width == 0 ? 1 : static_cast<int>(pieces_type::lanes);
    static constexpr int threads = lanes > Tuning::row_threads ? lanes : Tuning::row_threads;
    static_assert(threads <= 1024,
        "gesso::pointwise: a group of 1 x G is larger than a block's registers; use a smaller G, or the host level");
    static constexpr bool is_aligned = width == 0 || pieces_type::padded_width == width;
    using loaded_type = loaded_sources<Sources, items, is_aligned>;
    using storage = reduction_storage<amax_statistic, lanes, threads>;
    using storages = storage[static_cast<unsigned>(Operator::outputs)][1];

    static index_t tiles(const pieces_type& pieces) { return parts(pieces.count(), index_t{threads} * number); }

    // Tile `tile`. `shared` has storages for each piece.
    template<class State>
    static __device__ __forceinline__ void run(const Sources& sources, const Sinks& sinks, const pieces_type& pieces,
        index_t tile, State& state, storages (&shared)[static_cast<unsigned>(number)])
    {
        loaded_type loaded[static_cast<unsigned>(number)];
        typename pieces_type::place places[static_cast<unsigned>(number)];
        const divided begin = pieces.begin_of(tile * (index_t{threads} * number));
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) {
            places[i] = pieces.at(begin, threadIdx.x + static_cast<uint32_t>(i * threads));
            loaded[i].load(sources, places[i].row, places[i].column, places[i].valid);
        }
        GESSO_UNROLL
        for (int i = 0; i < number; ++i) {
            if constexpr (is_rising<Operator> && sinks_traits<Sinks>::has_tensor) {
                state.known.merge(amax_statistic{observe_rising<Operator, items>(loaded[i], places[i].valid)});
                continue;
            }
            packed_elements<float, items> numbers[static_cast<unsigned>(Operator::outputs)];
            const pointwise_function<Operator> function{};
            apply_to_piece(function, typename pointwise_function<Operator>::template column_state<items>{},
                typename pointwise_function<Operator>::row_state{}, loaded[i], numbers);
            clear_missing(numbers, places[i].valid);
            state.put(numbers, places[i], sinks, shared[i]);
        }
    }
};

// One pass: a tile a block.
template<class Rows, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Rows::threads)
    row_operator_kernel(const Sources sources, const Sinks sinks, const typename Rows::pieces_type pieces)
{
    __shared__ typename Rows::storages shared[static_cast<unsigned>(Rows::number)];
    row_sinks<Sinks, Rows::items, Rows::threads> state;
    Rows::run(sources, sinks, pieces, blockIdx.x, state, shared);
}

// Stage one: the same, by blocks that each take every gridDim-th tile and leave the largest magnitudes.
template<class Rows, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Rows::threads, 1) row_operator_scan_kernel(const Sources sources, const Sinks sinks,
    const typename Rows::pieces_type pieces, const index_t tiles, const partial_maxima partials)
{
    __shared__ typename Rows::storages shared[static_cast<unsigned>(Rows::number)];
    __shared__ uint32_t warps[Rows::threads / 32];
    wait_for_earlier();
    let_later_start();
    row_sinks<Sinks, Rows::items, Rows::threads> state;
    for (index_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Rows::run(sources, sinks, pieces, tile, state, shared);
        if constexpr (Rows::lanes > 32) __syncthreads();  // the next tile takes the same storage
    }
    state.finish(partials, [&](uint32_t bits) { return largest_of_block<Rows::threads>(bits, warps); });
}

}  // namespace detail

}  // namespace gesso
