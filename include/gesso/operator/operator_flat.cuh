// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Pointwise operators whose operands are whole vectors: rows lie end to end, every piece of a thread is whole and aligned,
// scales are in row-major order. Nearly every call is one, and nothing is asked for each piece but whether it exists. Other
// operands go through operator_rows.cuh; the bytes are the same.
#pragma once

#include <gesso/operator/operator_rows.cuh>

namespace gesso {

namespace detail {

// Numbers of a piece to one sink. State: what the sink keeps from piece to piece.
//   IsSecond  the second pass over the operands: sinks with one scale for all are written, the others were in the first
template<class View, int Items, int Threads, bool IsSecond, bool IsTensor = sink_traits<View>::is_tensor>
struct flat_sink;

template<class T, int Items, int Threads>
struct flat_sink<matrix_ref<T>, Items, Threads, false, false> {
    static constexpr int lanes = 1;
    template<class Storage>
    __device__ __forceinline__ void put(
        const packed_elements<float, Items>& numbers, uint32_t piece, bool exists, const matrix_ref<T>& to, Storage&)
    {
        packed_elements<T, Items> elements;
        GESSO_UNROLL
        for (int j = 0; j < Items; j += 2) elements.set_pair(j, numbers.get(j), numbers.get(j + 1));
        store_whole<Items>(to.data, piece, exists, elements.words);
    }
};
// Codes with a scale each 1 x G, or without scales. A thread has several groups, one, or a part of one.
template<class View, int Items, int Threads>
struct flat_sink<View, Items, Threads, false, false> {
    using codec = typename sink_traits<View>::codec;
    using format = typename codec::format;
    using group = matrix_group<codec>;
    static constexpr int width = codec::has_scale ? static_cast<int>(sink_traits<View>::width) : Items;
    static constexpr int count = width < Items ? width : Items;  // elements of a group in a thread
    static constexpr int lanes = width / count;

    template<class Storage>
    __device__ __forceinline__ void put(
        const packed_elements<float, Items>& numbers, uint32_t piece, bool exists, const View& sink, Storage& storage)
    {
        const compressed_matrix<codec>& to = plain_of(sink);
        packed_codes<format, Items> codes;
        GESSO_UNROLL
        for (int begin = 0; begin < Items; begin += count) {
            packed_elements<float, count> own;
            GESSO_UNROLL
            for (int j = 0; j < count; ++j) own.words[j] = numbers.words[begin + j];
            amax_statistic known = observe_and_mark(own);
            typename group::writer with{};
            if constexpr (codec::has_scale) {
                reduce_threads<lanes, Threads>(known, storage[0]);
                with = group::fit(known);
                if (exists && threadIdx.x % lanes == 0) {
                    to.scales[lanes > 1 ? index_t{piece / unsigned{lanes}}
                                        : index_t{piece} * (Items / count) + begin / count] = group::scale_code(with);
                }
            }
            const auto some = group::template encode<count>(own, 0, with, nearest_even{}, 0, false);
            constexpr int per_word = packed_codes<format, Items>::per_word;
            if constexpr (count % per_word == 0) {
                GESSO_UNROLL
                for (int j = 0; j < count / per_word; ++j) codes.words[begin / per_word + j] = some.words[j];
            } else {
                GESSO_UNROLL
                for (int j = 0; j < count; ++j) codes.set(begin + j, some.get(j));
            }
        }
        store_whole<Items>(to.codes, piece, exists, codes.words);
    }
};
// One scale for all, first pass: the largest magnitude.
template<class View, int Items, int Threads>
struct flat_sink<View, Items, Threads, false, true> {
    amax_statistic known;

    template<class Storage>
    __device__ __forceinline__ void put(
        const packed_elements<float, Items>& numbers, uint32_t, bool exists, const View&, Storage&)
    {
        packed_elements<float, Items> own = numbers;
        const amax_statistic of_piece = observe_and_mark(own);
        if (exists) known.merge(of_piece);
    }
};
// Second pass: its codes.
template<class View, int Items, int Threads>
struct flat_sink<View, Items, Threads, true, true> {
    using group = matrix_group<typename sink_traits<View>::codec>;
    typename group::writer with;

    __device__ __forceinline__ void put(
        const packed_elements<float, Items>& numbers, uint32_t piece, bool exists, const View& to) const
    {
        packed_elements<float, Items> own = numbers;
        observe_and_mark(own);
        const auto codes = group::template encode<Items>(own, 0, with, nearest_even{}, 0, false);
        store_whole<Items>(plain_of(to).codes, piece, exists, codes.words);
    }
};

// All sinks in turn; `Index` is the operator's output that the first takes.
template<class Sinks, int Items, int Threads, bool IsSecond, int Index = 0>
struct flat_sinks;
template<int Items, int Threads, bool IsSecond, int Index>
struct flat_sinks<sink_pack<>, Items, Threads, IsSecond, Index> {
    template<class... Arguments>
    __device__ __forceinline__ void put(const Arguments&...) const
    {}
    template<class... Arguments>
    __device__ __forceinline__ void finish(const Arguments&...) const
    {}
    template<class... Arguments>
    __device__ __forceinline__ void prepare(const Arguments&...) const
    {}
};
template<class First, class... Rest, int Items, int Threads, bool IsSecond, int Index>
struct flat_sinks<sink_pack<First, Rest...>, Items, Threads, IsSecond, Index> {
    using pack = sink_pack<First, Rest...>;
    static constexpr bool is_tensor = sink_traits<First>::is_tensor;
    static constexpr bool is_here = is_tensor || !IsSecond;
    standard::conditional_t<is_here, flat_sink<First, Items, Threads, IsSecond && is_here>, sink_pack<>> first;
    flat_sinks<sink_pack<Rest...>, Items, Threads, IsSecond, Index + 1> rest;

    // `storage`: of one piece, in shared memory, for groups of several threads.
    template<class Numbers, class... Storage>
    __device__ __forceinline__ void put(
        const Numbers& numbers, uint32_t piece, bool exists, const pack& to, Storage&... storage)
    {
        if constexpr (is_here) first.put(numbers[Index], piece, exists, to.first, storage[Index]...);
        rest.put(numbers, piece, exists, to.rest, storage...);
    }
    // First pass: the block's largest magnitudes, to the partial maxima of their outputs.
    template<class Reduce>
    __device__ __forceinline__ void finish(const partial_maxima& partials, const Reduce& reduce) const
    {
        if constexpr (is_tensor) {
            const uint32_t bits = reduce(first.known.amax_bits);
            if (threadIdx.x == 0) partials.of_output(Index).amax_bits[blockIdx.x] = bits;
        }
        rest.finish(partials, reduce);
    }
    // Second pass: the writers, from what the first left. All threads of the block.
    template<class Function>
    __device__ __forceinline__ void prepare(
        const Function* function, const pack& to, const partial_maxima& partials, uint32_t* shared)
    {
        if constexpr (is_tensor) {
            using group = matrix_group<typename sink_traits<First>::codec>;
            const uint32_t word = partials.of_output(Index).template largest<Threads>(shared);
            first.with = group::fit(amax_statistic{amax_bits_of(function, word)});
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                store_tensor_scale<group>(first.with, plain_of(to.first), transposed_of(to.first));
            }
        }
        rest.prepare(function, to.rest, partials, shared);
    }
};

// A block's tile: Number pieces of each thread, all loaded before the first is used.
template<class Operator, class Sources, class Sinks, class Tuning, int Number, int Threads>
struct flat_operator {
    static constexpr index_t width = sinks_traits<Sinks>::width;
    using pieces_type = row_pieces<width, Tuning::row_items>;
    static constexpr bool is_supported = width == 0 || pieces_type::padded_width == width;
    static constexpr int items = pieces_type::items;
    static constexpr int lanes = width == 0 ? 1 : static_cast<int>(pieces_type::lanes);
    static constexpr int threads = lanes > Threads ? lanes : Threads;
    static constexpr int number = Number;
    static constexpr uint32_t tile_pieces = static_cast<uint32_t>(threads * Number);
    using function_type = pointwise_function<Operator>;
    using loaded_type = loaded_sources<Sources, items, true>;
    using storages = reduction_storage<amax_statistic, lanes, threads>[static_cast<unsigned>(Operator::outputs)][1];

    // Sources of few bytes: what binds is computing, and there are registers for the next tile.
    static constexpr bool is_light = loaded_type::bytes <= 3;

    loaded_type loaded[static_cast<unsigned>(Number)];

    static __device__ __forceinline__ uint32_t piece_of(uint32_t tile, int i)
    {
        return tile * tile_pieces + threadIdx.x + static_cast<uint32_t>(i * threads);
    }
    __device__ __forceinline__ void load(const Sources& sources, uint32_t tile, uint32_t pieces)
    {
        GESSO_UNROLL
        for (int i = 0; i < Number; ++i) loaded[i].load_flat(sources, piece_of(tile, i), piece_of(tile, i) < pieces);
    }
    // Is the largest magnitude all that is wanted, of an operator that rises?
    static constexpr bool is_rising_scan = is_rising<Operator> && sinks_traits<Sinks>::has_tensor;
    __device__ __forceinline__ uint32_t observe_rising_piece(uint32_t tile, uint32_t pieces, int i) const
    {
        return observe_rising<Operator, items>(loaded[i], piece_of(tile, i) < pieces ? items : 0);
    }
    // visit(numbers, piece, exists, i) for each of a thread's pieces.
    template<class Visit>
    __device__ __forceinline__ void each(uint32_t tile, uint32_t pieces, const Visit& visit) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Number; ++i) {
            packed_elements<float, items> numbers[static_cast<unsigned>(Operator::outputs)];
            apply_to_piece(function_type{}, typename function_type::template column_state<items>{},
                typename function_type::row_state{}, loaded[i], numbers);
            visit(numbers, piece_of(tile, i), piece_of(tile, i) < pieces, i);
        }
    }
};

// Tiles of a block: every gridDim-th, the next one on its way while one is worked on. work(flat, tile).
template<class Flat, class Sources, class Work>
__device__ __forceinline__ void walk_tiles(
    const Sources& sources, uint32_t pieces, uint32_t tiles, Flat& flat, const Work& work)
{
    for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Flat next;
        next.load(sources, tile + gridDim.x, pieces);
        work(flat, tile);
        flat = next;
    }
}

// One pass: a tile a block.
template<class Flat, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Flat::threads)
    flat_operator_kernel(const Sources sources, const Sinks sinks, const uint32_t pieces)
{
    __shared__ typename Flat::storages shared[static_cast<unsigned>(Flat::number)];
    flat_sinks<Sinks, Flat::items, Flat::threads, false> state;
    Flat flat;
    flat.load(sources, blockIdx.x, pieces);
    flat.each(blockIdx.x, pieces, [&](const auto& numbers, uint32_t piece, bool exists, int i) {
        state.put(numbers, piece, exists, sinks, shared[i]);
    });
}

// First of two passes.
template<class Flat, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Flat::threads) flat_operator_scan_kernel(const Sources sources, const Sinks sinks,
    const uint32_t pieces, const uint32_t tiles, const partial_maxima partials)
{
    __shared__ typename Flat::storages shared[static_cast<unsigned>(Flat::number)];
    __shared__ uint32_t warps[Flat::threads / 32];
    wait_for_earlier();
    let_later_start();
    flat_sinks<Sinks, Flat::items, Flat::threads, false> state;
    Flat flat;
    flat.load(sources, blockIdx.x, pieces);
    walk_tiles(sources, pieces, tiles, flat, [&](const Flat& loaded, uint32_t tile) {
        if constexpr (Flat::is_rising_scan) {
            GESSO_UNROLL
            for (int i = 0; i < Flat::number; ++i) {
                state.first.known.merge(amax_statistic{loaded.observe_rising_piece(tile, pieces, i)});
            }
        } else {
            loaded.each(tile, pieces, [&](const auto& numbers, uint32_t piece, bool exists, int i) {
                state.put(numbers, piece, exists, sinks, shared[i]);
            });
        }
        if constexpr (Flat::lanes > 32) __syncthreads();  // the next tile takes the same storage
    });
    state.finish(partials, [&](uint32_t bits) { return largest_of_block<Flat::threads>(bits, warps); });
}

// Second pass where no output is transposed: the first one's last tiles first, which the cache still has.
template<class Flat, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Flat::threads) flat_operator_codes_kernel(const Sources sources, const Sinks sinks,
    const uint32_t pieces, const uint32_t tiles, const partial_maxima partials)
{
    __shared__ uint32_t warps[Flat::threads / 32];
    flat_sinks<Sinks, Flat::items, Flat::threads, true> state;
    Flat flat;
    flat.load(sources, tiles - 1 - blockIdx.x, pieces);
    wait_for_earlier();
    const typename Flat::function_type function{};
    state.prepare(&function, sinks, partials, warps);
    const auto put = [&](const auto& numbers, uint32_t piece, bool exists, int) {
        state.put(numbers, piece, exists, sinks);
    };
    if constexpr (!Flat::is_light) {
        flat.each(tiles - 1 - blockIdx.x, pieces, put);
    } else {
        for (uint32_t turn = blockIdx.x; turn < tiles; turn += gridDim.x) {
            const uint32_t tile = tiles - 1 - turn;
            Flat next;
            next.load(sources, tile - gridDim.x, turn + gridDim.x < tiles ? pieces : 0u);
            flat.each(tile, pieces, put);
            flat = next;
        }
    }
}

}  // namespace detail

}  // namespace gesso
