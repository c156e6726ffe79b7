// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The block level: a whole block, or 2^n of its threads, share a group that lives in their registers. CUB's protocol: the
// caller gives TempStorage in shared memory to the constructor and the members act; every member that has a barrier says
// so, and all threads of the block must call it.
#pragma once

#include <gesso/level/warp.cuh>

namespace gesso {

namespace detail {

// Shared memory for the statistics of the warps of a block; nothing where a group fits into a warp. (Shared memory holds
// no constructors, a statistic has one: its words are kept.)
template<class Statistic, int Lanes, int BlockThreads>
struct warp_statistics {
    uint32_t words[static_cast<unsigned>(BlockThreads / 32)][sizeof(Statistic) / 4];
};
__device__ __forceinline__ void put(uint32_t (&words)[1], const amax_statistic& known) { words[0] = known.amax_bits; }
__device__ __forceinline__ void put(uint32_t (&words)[2], const range_statistic& known)
{
    words[0] = known.amax_bits;
    words[1] = known.amin_bits;
}
__device__ __forceinline__ amax_statistic get(const uint32_t (&words)[1]) { return {words[0]}; }
__device__ __forceinline__ range_statistic get(const uint32_t (&words)[2]) { return {words[0], words[1]}; }
template<class Statistic>
struct no_statistics {};
template<class Statistic, int Lanes, int BlockThreads>
using reduction_storage =
    standard::conditional_t<(Lanes > 32), warp_statistics<Statistic, Lanes, BlockThreads>, no_statistics<Statistic>>;

// The statistic of Lanes neighbouring threads, in each of them. With Lanes above 32 it has one barrier, and the storage
// may be used again after the next barrier of the block.
template<int Lanes, int BlockThreads, class Statistic>
__device__ __forceinline__ void reduce_threads(
    Statistic& known, reduction_storage<Statistic, Lanes, BlockThreads>& storage)
{
    static_assert(BlockThreads % 32 == 0 && BlockThreads % Lanes == 0,
        "gesso: the threads of a block are a multiple of 32 and of the threads that share a group");
    if constexpr (Lanes <= 32) {
        reduce_lanes<Lanes>(known);
    } else {
        reduce_lanes<32>(known);
        const int warp = static_cast<int>(threadIdx.x) / 32;
        if (threadIdx.x % 32 == 0) put(storage.words[warp], known);
        __syncthreads();
        constexpr int warps = Lanes / 32;
        const int first = warp / warps * warps;
        GESSO_UNROLL
        for (int i = 0; i < warps; ++i) known.merge(get(storage.words[first + i]));
    }
}

}  // namespace detail

// The codec's verbs for a group in the registers of `threads` neighbouring threads of a block of BlockThreads threads,
// ItemsPerThread contiguous elements each. For groups that fit into a warp it is warp_codec without shared memory.
// All threads of the block must call; threads without elements pass `valid` = 0.
// Storage: TempStorage, in shared memory. Barrier: observe() and compress() have one __syncthreads() where a group is
// larger than a warp; put another between two uses of the same storage. Snippet: examples/05_write_a_kernel.cu
template<class Codec, int BlockThreads, int ItemsPerThread, class Math = hardware_math>
class block_codec : public detail::register_codec<Codec, ItemsPerThread, Math> {
public:
    static constexpr index_t group_size = Codec::granularity::group_size;
    static constexpr int threads = static_cast<int>(detail::padded(detail::parts(group_size, ItemsPerThread)));
    static_assert(threads <= BlockThreads,
        "gesso::block_codec: the group is larger than the block's registers; raise BlockThreads or ItemsPerThread");

    using base = detail::register_codec<Codec, ItemsPerThread, Math>;
    using typename base::codes;
    using typename base::statistic;
    using typename base::values_type;
    using typename base::writer;
    using TempStorage = detail::reduction_storage<statistic, threads, BlockThreads>;

    explicit __device__ __forceinline__ block_codec(TempStorage& storage) : storage_(storage) {}

    // Stage one: the group's statistic, in every thread of the group.
    __device__ __forceinline__ statistic observe(const values_type& values, int valid = ItemsPerThread)
    {
        statistic known = base::observe_own(values, valid);
        detail::reduce_threads<threads, BlockThreads>(known, storage_);
        return known;
    }

    // Observe, fit and encode in a row; `with` receives the parameters to store.
    template<class Rounding = nearest_even, class Underflow = gradual>
    __device__ __forceinline__ codes compress(const values_type& values, writer& with,
        const Rounding& rounding = {}, Underflow underflow = {}, index_t first_element = 0, int valid = ItemsPerThread)
    {
        with = base::fit(observe(values, valid));
        return base::encode(values, with, rounding, underflow, first_element);
    }

private:
    TempStorage& storage_;
};

}  // namespace gesso
