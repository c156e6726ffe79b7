// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does in an AdamW step: a tile of one tensor.
#pragma once

#include <gesso/optimizer/adamw_threads.cuh>

namespace gesso {

namespace detail {

// A tile of one tensor: what a block steps.
template<class Policy, class Parameter, class Gradient, class FirstCodec, class SecondCodec>
struct adamw_tile {
    static constexpr int items = items_of<Policy, FirstCodec, SecondCodec, static_cast<int>(sizeof(Parameter) + sizeof(Gradient))>();
    static constexpr index_t elements = index_t{items} * Policy::block_threads;
    using tensor = adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>;
    using first = moment_tile<FirstCodec, Policy, items>;
    using second = moment_tile<SecondCodec, Policy, items>;

    static constexpr index_t large_size = first::group_size > second::group_size ? first::group_size : second::group_size;
    static constexpr index_t small_size = first::group_size > second::group_size ? second::group_size : first::group_size;
    static constexpr index_t padded_size = padded(large_size);
    static_assert(padded_size <= elements,
        "gesso::adamw_step: a group is larger than a tile; raise the policy's block_threads or items_per_thread");
    static_assert(large_size % small_size == 0 && (small_size == large_size || padded(small_size) == small_size),
        "gesso::adamw_step: the smaller of two group sizes must be a power of two that divides the larger");

    // As many as registers allow without spilling: 72 a thread for 16 items of expanded E4M3 to nearest, 64 for 8, and
    // more for random bits and for formats that are converted by arithmetic.
    static constexpr bool is_exact = standard::is_same_v<typename Policy::math, exact_math>;
    static constexpr bool is_random = standard::is_same_v<typename Policy::first_rounding, stochastic>
                                   || standard::is_same_v<typename Policy::second_rounding, stochastic>
                                   || standard::is_same_v<typename Policy::parameter_rounding, stochastic>;
    static constexpr bool is_light = FirstCodec::has_exponent && SecondCodec::has_exponent && !is_random
                                  && hardware_format<typename FirstCodec::format> != converts_as::nothing
                                  && hardware_format<typename SecondCodec::format> != converts_as::nothing;
    static constexpr int blocks_per_multiprocessor =
        is_exact ? 1
                 : (items > 8 ? (is_light ? 7 : is_random || padded_size > 32 * items ? 5 : 6) : (is_light ? 8 : 6)) * 128
                       / Policy::block_threads;

    // Edges take fewer elements a thread, as few as the largest group allows: their code must not cost the others registers.
    static constexpr int edge_items = static_cast<int>(
        padded_size / Policy::block_threads > 4 ? padded_size / Policy::block_threads : items < 4 ? items : 4);
    using whole_threads = adamw_threads<Policy, Parameter, Gradient, FirstCodec, SecondCodec, items>;
    using edge_threads = adamw_threads<Policy, Parameter, Gradient, FirstCodec, SecondCodec, edge_items>;

    union storage {
        typename whole_threads::storage whole;
        typename edge_threads::storage edge;
    };

    // How many tiles a tensor has.
    static GESSO_HOST_DEVICE index_t tiles(const tensor& of)
    {
        const flat_groups groups = large_groups(of);
        return is_direct(groups) ? parts(groups.count, elements) : parts(groups.groups() * padded_size, elements);
    }

    // All threads of the block, one tile.
    static __device__ __forceinline__ void run(
        const tensor& of, index_t tile, const adamw_device_state* device, storage& shared)
    {
        const flat_groups groups = large_groups(of);
        const index_t begin = tile * elements;
        if (is_direct(groups) && begin + elements <= groups.count && is_aligned(of)) {
            whole_threads::template step<true>(
                of, begin, threadIdx.x * static_cast<uint32_t>(items), items, device, shared.whole);
        } else {
            for (index_t part = begin; part < begin + elements; part += edge_items * Policy::block_threads) {
                run_edge(of, groups, part + static_cast<index_t>(threadIdx.x) * edge_items, device, shared.edge);
                __syncthreads();  // before the storage is used again
            }
        }
    }

private:
    // A thread's elements from a position on, one by one. Groups that end early (at a row's end, or of a size that is no
    // power of two) are padded to one: there a position is not an element.
    static __device__ __forceinline__ void run_edge(const tensor& of, const flat_groups& groups, index_t position,
        const adamw_device_state* device, typename edge_threads::storage& shared)
    {
        index_t element = position;
        index_t end = groups.count;
        if (!is_direct(groups)) {
            const index_t group = position / padded_size;
            const bool exists = group < groups.groups();
            element = exists ? groups.begin(group) + position % padded_size : 0;
            end = exists ? groups.end(group) : 0;
        }
        const index_t left = end - element;
        const int valid = static_cast<int>(left < 0 ? 0 : left < edge_items ? left : edge_items);
        edge_threads::template step<false>(of, valid > 0 ? element : 0, 0u, valid, device, shared);
    }

    static GESSO_HOST_DEVICE flat_groups large_groups(const tensor& of)
    {
        return {of.first_moment.first, of.first_moment.count, of.first_moment.row_length, large_size};
    }
    // Position and element are the same: no group ends early but the last.
    static GESSO_HOST_DEVICE bool is_direct(const flat_groups& groups)
    {
        return padded_size == large_size && (groups.row_length == 0 || groups.row_length % large_size == 0);
    }
    static __device__ __forceinline__ bool is_aligned(const tensor& of)
    {
        const auto address = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
        const uint64_t together = address(of.parameters) | address(of.gradients) | address(of.first_moment.codes)
                                | address(of.second_moment.codes);
        return together % 16 == 0 && of.first_moment.first % 4 == 0;  // random bits come four by four
    }
};

}  // namespace detail

}  // namespace gesso
