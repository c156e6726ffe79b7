// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does in an AdamW step: a tile of one tensor.
#pragma once

#include <gesso/optimizer/adamw_threads.cuh>

namespace gesso {

namespace detail {

// A tile of one tensor: what a block steps at a time.
template<class Policy, class Parameter, class Gradient, class FirstCodec, class SecondCodec>
struct adamw_tile {
    static constexpr int items = items_of<Policy, Parameter, Gradient, FirstCodec, SecondCodec>();
    static constexpr index_t elements = index_t{items} * Policy::block_threads;
    using tensor = adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>;
    using first = moment_tile<FirstCodec, Policy, items, true>;
    using second = moment_tile<SecondCodec, Policy, items, false>;

    static constexpr index_t large_size =
        first::group_size > second::group_size ? first::group_size : second::group_size;
    static constexpr index_t small_size =
        first::group_size > second::group_size ? second::group_size : first::group_size;
    static constexpr index_t padded_size = padded(large_size);
    static_assert(padded_size <= elements,
        "gesso::adamw_step: a group is larger than a tile; raise the policy's block_threads or items_per_thread");
    static_assert(large_size % small_size == 0 && (small_size == large_size || padded(small_size) == small_size),
        "gesso::adamw_step: the smaller of two group sizes must be a power of two that divides the larger");

    static constexpr bool bends = FirstCodec::has_exponent || SecondCodec::has_exponent;
    // As many as registers allow without spilling: 80 a thread, and more for random bits, for fp32 parameters (which wait for
    // memory anyway) and for reductions of a block.
    static constexpr bool is_exact = standard::is_same_v<typename Policy::math, exact_math>;
    template<class Rounding>
    static constexpr bool draws = standard::is_same_v<Rounding, stochastic>;
    static constexpr bool is_random =
        draws<typename Policy::
                first_rounding> || draws<typename Policy::second_rounding> || draws<typename Policy::parameter_rounding>;
    static constexpr int blocks_of_128 = padded_size > 32 * items ? 4 : is_random || sizeof(Parameter) == 4 ? 5 : 6;
    static constexpr int blocks_per_multiprocessor = is_exact ? 1 : blocks_of_128 * 128 / Policy::block_threads;

    // Edges take fewer elements a thread, as few as the largest group allows: their code must not cost the others registers.
    static constexpr int edge_items =
        static_cast<int>(padded_size / Policy::block_threads > 4 ? padded_size / Policy::block_threads
                         : items < 4                             ? items
                                                                 : 4);
    using whole_threads = adamw_threads<Policy, Parameter, Gradient, FirstCodec, SecondCodec, items>;
    using edge_threads = adamw_threads<Policy, Parameter, Gradient, FirstCodec, SecondCodec, edge_items>;

    union storage {
        struct {
            typename whole_threads::stage stages[2];
            typename whole_threads::storage reduction;
        } whole;
        struct {
            typename edge_threads::stage stage;
            typename edge_threads::storage reduction;
        } edge;
    };

    // How many tiles a tensor has.
    static GESSO_HOST_DEVICE index_t tiles(const tensor& of)
    {
        const flat_groups groups = large_groups(of);
        return is_direct(groups) ? parts(groups.count, elements) : parts(groups.groups() * padded_size, elements);
    }

    // How many tiles a block takes of a tensor, or a list, that has so many. Each is asked for while the one before it is
    // worked on, so several hide the latency of memory; but work that is light has little to hide, and the more blocks there
    // are, the better multiprocessors of unlike speed share them: measured, see docs/benchmarks.md.
    static constexpr index_t most_tiles_of_block = bends && sizeof(Parameter) < 4 ? 8 : 2;
    static GESSO_HOST_DEVICE index_t tiles_of_block(index_t all_tiles)
    {
        if (Policy::tiles_per_block > 0) return Policy::tiles_per_block;
        const index_t shared_by_all = all_tiles / 1024;
        return shared_by_all < 1 ? 1 : smaller(shared_by_all, most_tiles_of_block);
    }
    // The blocks that share a tensor, and which of them this is: it takes tiles block, block + blocks and so on. What is under
    // way at a time then lies together, as memory likes it.
    struct share {
        uint32_t block;
        uint32_t blocks;
        uint32_t tiles;
    };

    // All threads of the block: its share of a tensor.
    static __device__ __forceinline__ void run(
        const tensor& of, const share& mine, const adamw_device_state* device, storage& shared)
    {
        const flat_groups groups = large_groups(of);
        uint32_t tile = mine.block;
        // Only a tensor's last tile is not whole, where any is.
        if constexpr (!is_exact && whole_threads::can_copy) {
            if (is_direct(groups) && is_aligned(of) && tile < whole_tiles(of)) {
                if (!run_whole(of, tile, mine, device, shared)) return;
            }
        }
        if (tile >= mine.tiles) return;
        const adamw_device_state::launch_scalars launch = load_launch(device);
        if (launch.is_active == 0) return;
        for (; tile < mine.tiles; tile += mine.blocks) {
            const index_t begin = tile * elements;
            for (index_t part = begin; part < begin + elements; part += edge_items * Policy::block_threads) {
                __syncthreads();  // the storage was used before
                run_edge(of, groups, part + static_cast<index_t>(threadIdx.x) * edge_items, launch, shared);
            }
        }
    }

private:
    static __device__ __forceinline__ adamw_device_state::launch_scalars load_launch(const adamw_device_state* device)
    {
        struct vectors {
            uint4 all[3];
        };
        return __builtin_bit_cast(
            adamw_device_state::launch_scalars, *reinterpret_cast<const vectors*>(&device->launch));
    }

    static __device__ __forceinline__ adamw_factors<typename Policy::math> factors_of(
        const adamw_device_state::launch_scalars& launch, const tensor& of)
    {
        return adamw_factors<typename Policy::math>::of(
            launch.scalars, rates_of(launch.scalars, of.learning_rate_scale, of.weight_decay_scale));
    }

    // Whole tiles from `tile` on, each asked for while the one before it is worked on. Is the step active?
    static __device__ __forceinline__ bool run_whole(
        const tensor& of, uint32_t& tile, const share& mine, const adamw_device_state* device, storage& shared)
    {
        using threads = whole_threads;
        const auto place_of = [](uint32_t number) {
            return typename threads::template place<true>{
                number * elements, threadIdx.x * static_cast<uint32_t>(items), items};
        };
        uint32_t stage = 0;
        typename threads::group_bytes next = threads::fetch(of, place_of(tile), shared.whole.stages[stage]);
        const adamw_device_state::launch_scalars launch = load_launch(device);
        const typename threads::factors with = factors_of(launch, of);
        for (; tile < whole_tiles(of); tile += mine.blocks, stage ^= 1u) {
            const typename threads::group_bytes bytes = next;
            wait_for_copies();
            if (launch.is_active == 0) return false;
            __syncwarp();
            if (tile + mine.blocks < whole_tiles(of)) {
                next = threads::fetch(of, place_of(tile + mine.blocks), shared.whole.stages[stage ^ 1u]);
            }
            threads::step(
                of, place_of(tile), shared.whole.stages[stage], bytes, with, launch.source, shared.whole.reduction);
            // Where both moments are reduced by the block, the barrier of one protects the storage of the other.
            if constexpr ((threads::first::lanes > 32) != (threads::second::lanes > 32)) __syncthreads();
        }
        return true;
    }

    // A thread's elements from a position on, one by one. Groups that end early (at a row's end, or of a size that is no
    // power of two) are padded to one: there a position is not an element.
    static __device__ __forceinline__ void run_edge(const tensor& of, const flat_groups& groups, index_t position,
        const adamw_device_state::launch_scalars& launch, storage& shared)
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
        const typename edge_threads::template place<false> at{valid > 0 ? element : 0, 0u, valid};
        const typename edge_threads::group_bytes bytes = edge_threads::fetch(of, at, shared.edge.stage);
        edge_threads::step(
            of, at, shared.edge.stage, bytes, factors_of(launch, of), launch.source, shared.edge.reduction);
    }

    static __device__ __forceinline__ uint32_t whole_tiles(const tensor& of)
    {
        return static_cast<uint32_t>(static_cast<uint64_t>(of.first_moment.count) / static_cast<uint64_t>(elements));
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
        return together % 16 == 0 && of.first_moment.first % stochastic::block_elements == 0;
    }
};

}  // namespace detail

}  // namespace gesso
