// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The parts of an operator by rows in kernels: its functions with the memory that they read, and sums over a block's threads
// and over blocks, in an order that depends on the shape alone.
#pragma once

#include <gesso/operator/by_rows.hpp>
#include <gesso/operator/operator_tile.cuh>

namespace gesso {

namespace detail {

// An operator by rows as kernels take it, once the values of its rows are known: `row_values` (rows, Operator::row_values).
template<class Operator, class Parameter>
struct rows_function {
    static constexpr int inputs = Operator::inputs;
    static constexpr int outputs = Operator::outputs;
    static constexpr int registers = 4 * Operator::row_values + 16 * Operator::parameters;
    struct row_state {
        float values[at_least_one(Operator::row_values)];
    };
    template<int Items>
    struct column_state {
        packed_elements<Parameter, Items> parameters[at_least_one(Operator::parameters)];
    };
    row_memory<Operator, Parameter> memory;
    float* row_values;

    template<int Items>
    __device__ __forceinline__ void load_columns(column_state<Items>& to, index_t column, int valid) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Operator::parameters; ++i) {
            load_some<Items>(memory.parameters[i] + column, valid, to.parameters[i].words);
        }
    }
    // All values of a row, from where store_row() left them.
    __device__ __forceinline__ void load_row(row_state& to, index_t row, bool exists) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Operator::row_values; ++i) {
            to.values[i] = exists ? row_values[row * Operator::row_values + i] : 0.0f;
        }
    }
    __device__ __forceinline__ void load_given(row_state& to, index_t row) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Operator::given; ++i) to.values[i] = memory.given[i][row];
    }
    // By one thread: what is saved, and all values where they are wanted again.
    __device__ __forceinline__ void store_row(const row_state& from, index_t row) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Operator::saved; ++i) {
            if (memory.saved[i] != nullptr) memory.saved[i][row] = from.values[i];
        }
        if (row_values == nullptr) return;
        GESSO_UNROLL
        for (int i = 0; i < Operator::row_values; ++i) row_values[row * Operator::row_values + i] = from.values[i];
    }
    template<int Items>
    static __device__ __forceinline__ void parameters_of(
        const column_state<Items>& columns, int item, float (&to)[at_least_one(Operator::parameters)])
    {
        if constexpr (Operator::parameters == 0) to[0] = 0.0f;
        GESSO_UNROLL
        for (int i = 0; i < Operator::parameters; ++i) to[i] = columns.parameters[i].get(item);
    }
    template<int Items>
    __device__ __forceinline__ void apply(const float (&in)[static_cast<unsigned>(inputs)],
        const column_state<Items>& columns, int item, const row_state& row,
        float (&out)[static_cast<unsigned>(outputs)]) const
    {
        float parameters[at_least_one(Operator::parameters)];
        parameters_of(columns, item, parameters);
        Operator::apply(in, parameters, row.values, out);
    }
};

// The most threads of a block, and the most accumulators of a row.
constexpr int row_block_threads = 512;

// The order in which a row is summed depends on its length alone, whatever is read and written: a row is cut into pieces of
// 8 elements, and of a row's accumulators, a multiple of 64, one takes every so manieth piece in turn. Then neighbouring
// accumulators are added, and neighbouring pairs of them, up to 64 in all; the sums of 64 are added from the first on. A
// thread has one accumulator, or a few neighbouring ones where it takes longer pieces.
constexpr int sum_items = 8;

// Accumulators of a row of so many pieces each, at most, and whether these take all of it.
template<int Pieces>
int row_accumulators(index_t columns)
{
    const index_t wanted = round_up(parts(parts(columns, sum_items), Pieces), 64);
    return static_cast<int>(smaller(wanted, row_block_threads));
}
template<int Pieces>
bool are_enough_accumulators(index_t columns)
{
    return parts(columns, sum_items) <= index_t{row_accumulators<Pieces>(columns)} * Pieces;
}

// Sums over the threads of a block, or of each warp alone where a row has no more threads: each has `Accumulators` neighbouring
// ones. One barrier; two storages in turn make a second one needless.
template<int Count>
struct block_sums {
    alignas(16) float words[2][row_block_threads / 32][at_least_one(Count)];

    // sums[0]: the accumulators of this thread; then of all.
    template<unsigned Accumulators>
    __device__ __forceinline__ void reduce(float (&sums)[Accumulators][at_least_one(Count)], int turn, int warps)
    {
        static_assert(Accumulators == 1 || Accumulators == 2);
        GESSO_UNROLL
        for (int i = 0; i < Count; ++i) {
            if constexpr (Accumulators == 2) sums[0][i] = add(sums[0][i], sums[1][i]);
            GESSO_UNROLL
            for (int distance = 1; distance < 32; distance *= 2) {
                sums[0][i] = add(sums[0][i], __shfl_xor_sync(0xFFFFFFFFu, sums[0][i], distance));
            }
        }
        if (warps == 1) return;
        auto& of_warps = words[turn];
        if (threadIdx.x % 32 == 0) {
            GESSO_UNROLL
            for (int i = 0; i < Count; ++i) of_warps[threadIdx.x / 32][i] = sums[0][i];
        }
        __syncthreads();
        // 64 accumulators are those of a warp, or of two.
        constexpr int step = Accumulators == 2 ? 1 : 2;
        for (int warp = 0; warp < warps; warp += step) {
            GESSO_UNROLL
            for (int i = 0; i < Count; ++i) {
                float sum = of_warps[warp][i];
                if constexpr (step == 2) sum = add(sum, of_warps[warp + 1][i]);
                sums[0][i] = warp == 0 ? sum : add(sums[0][i], sum);
            }
        }
    }
};

// The largest of a block's words, whose threads are a number known at run time; `shared` has one word for each warp.
__device__ __forceinline__ uint32_t largest_of_all_warps(uint32_t bits, uint32_t* shared)
{
    amax_statistic known{bits};
    reduce_lanes<32>(known);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = known.amax_bits;
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x / 32; ++i) known.merge(amax_statistic{shared[i]});
    return known.amax_bits;
}

// Sums of columns from the blocks' partial ones, in the order of blocks: a thread takes every 32nd of a column, and of its 32
// threads the sums are added in order.
template<int Count>
struct column_sum_targets {
    float* to[at_least_one(Count)];
};
template<int Count>
GESSO_KERNEL void __launch_bounds__(1024) column_sums_kernel(const float* const partials, const index_t blocks,
    const index_t stride, const index_t columns, const column_sum_targets<Count> targets)
{
    __shared__ float shared[32][33];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const index_t column = index_t{blockIdx.x} * 32 + lane;
    wait_for_earlier();
    GESSO_UNROLL
    for (int k = 0; k < Count; ++k) {
        float sum = 0.0f;
        for (index_t block = warp; column < columns && block < blocks; block += 32) {
            sum = add(sum, partials[(block * Count + k) * stride + column]);
        }
        shared[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && column < columns) {
            float all = shared[0][lane];
            for (int i = 1; i < 32; ++i) all = add(all, shared[i][lane]);
            targets.to[k][column] = all;
        }
        __syncthreads();
    }
}

}  // namespace detail

}  // namespace gesso
