// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Rows of an operator by rows where nothing has to be checked: operands whose rows lie end to end, in whole and aligned
// pieces. The same bytes as by_rows_tile.cuh writes, which takes all others.
#pragma once

#include <gesso/operator/by_rows_copy.cuh>

namespace gesso {

namespace detail {

// The sinks of flat rows: lanes of a warp at most share a group, so that nothing is stored between them.
template<class Operator, class Sinks, int Items>
struct flat_row_sinks {
    static constexpr index_t width = sinks_traits<Sinks>::width;
    static constexpr int lanes = width <= Items ? 1 : static_cast<int>(width / Items);
    using storage = reduction_storage<amax_statistic, lanes, row_block_threads>;
    flat_sinks<Sinks, Items, row_block_threads, false> state;

    template<class Numbers>
    __device__ __forceinline__ void put(const Numbers& numbers, uint32_t piece, bool exists, const Sinks& to)
    {
        storage none[static_cast<unsigned>(Operator::outputs)][1];
        state.put(numbers, piece, exists, to, none);
    }
    template<class Reduce>
    __device__ __forceinline__ void finish(const partial_maxima& partials, const Reduce& reduce) const
    {
        state.finish(partials, reduce);
    }
};

// The shape as a kernel of flat rows has it.
struct flat_shape {
    uint32_t rows;
    uint32_t in_row;  // pieces of a row
    int threads;      // that share a row
    index_t columns;
};

// Numbers of a piece in registers.
template<int Inputs, int Items>
struct decoded_piece {
    float numbers[static_cast<unsigned>(Inputs)][static_cast<unsigned>(Items)];

    __device__ __forceinline__ void get(float (&to)[static_cast<unsigned>(Inputs)][static_cast<unsigned>(Items)]) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Inputs; ++i) {
            GESSO_UNROLL
            for (int j = 0; j < Items; ++j) to[i][j] = numbers[i][j];
        }
    }
};

// A row arrives in shared memory while the one before it is worked on. Of one source it lives in the registers of its threads
// as numbers then; of more sources it stays where it is, and is decoded again for each of its sums and once more for the
// outputs. Pieces: of a thread. Whole: every thread has all of them.
template<class Operator, class Parameter, class Sources, class Sinks, int Pieces, bool Whole>
struct flat_rows {
    static constexpr int items = flat_items<Operator, Sources, Sinks>;
    static constexpr unsigned accumulators = items / sum_items;
    static constexpr bool has_tensor = sinks_traits<Sinks>::has_tensor;
    static constexpr bool keeps_numbers = Operator::inputs == 1;
    static constexpr uint32_t halves = keeps_numbers ? 1 : 2;  // of the copies: one is free as soon as a row was read
    // Threads of a multiprocessor, by the registers that a thread wants.
    static constexpr int wanted_threads = keeps_numbers ? (items == 16 ? 512 : 896) : 1024;
    using function_type = rows_function<Operator, Parameter>;
    using loaded_type = loaded_sources<Sources, items, true>;
    using copy_type = copied_row<Sources, items>;
    using piece_type = decoded_piece<Operator::inputs, items>;
    using column_type = typename function_type::template column_state<items>;
    using row_type = typename function_type::row_state;
    struct shared_type {
        block_sums<Operator::sums> sums;
        uint32_t maxima[row_block_threads / 32];
    };
    static GESSO_HOST_DEVICE index_t copied_bytes(uint32_t in_row)
    {
        return index_t{halves} * copy_type::bytes(in_row);
    }

    const function_type& function;
    const Sources& sources;
    const Sinks& sinks;
    const flat_shape& shape;
    shared_type& shared;
    unsigned char* copied;
    uint32_t thread;  // of the row's
    flat_row_sinks<Operator, Sinks, items> state;
    int turn = 0;
    uint32_t half = 0;                                  // of the copies, where the row is
    loaded_type loaded[static_cast<unsigned>(Pieces)];  // of which the scales are kept
    piece_type pieces[static_cast<unsigned>(Pieces)];

    __device__ __forceinline__ uint32_t place(int i) const
    {
        return thread + static_cast<uint32_t>(i) * static_cast<uint32_t>(shape.threads);
    }
    __device__ __forceinline__ bool exists(int i) const { return Whole || place(i) < shape.in_row; }
    // A piece that is there, for threads that have none: so loads need no branch.
    __device__ __forceinline__ uint32_t safe_place(int i) const { return exists(i) ? place(i) : shape.in_row - 1; }
    // Addresses are computed again where they are needed: compilers would keep them all in registers.
    __device__ __forceinline__ void forget_places() { asm("" : "+r"(thread)); }
    // Starts the way of a row to one of the halves; its scales arrive in registers.
    __device__ __forceinline__ void ask(uint32_t row, uint32_t to, loaded_type (&scales)[static_cast<unsigned>(Pieces)])
    {
        if (row >= shape.rows) return;
        forget_places();
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            const uint32_t at = safe_place(i);
            const uint32_t piece = row * shape.in_row + at;
            scales[i].load_flat(sources, piece, true);
            if (exists(i)) {
                copy_type::copy(sources, piece, at, shape.in_row, copied + to * copy_type::bytes(shape.in_row));
            }
        }
    }
    __device__ __forceinline__ void read(int i, piece_type& to)
    {
        // (A thread reads what it copied, and no other's.)
        copy_type::read(loaded[i], place(i), shape.in_row, exists(i), copied + half * copy_type::bytes(shape.in_row));
        loaded[i].get(to.numbers);
    }
    __device__ __forceinline__ void load_columns(column_type& to, int i) const
    {
        GESSO_UNROLL
        for (int k = 0; k < Operator::parameters; ++k) {
            load_whole<items>(function.memory.parameters[k], safe_place(i), true, to.parameters[k].words);
        }
    }
    template<int Stage>
    __device__ __forceinline__ void sum(row_type& of_row)
    {
        if constexpr (Stage < Operator::stages) {
            float sums[accumulators][at_least_one(Operator::sums)] = {};
            GESSO_UNROLL
            for (int i = 0; i < Pieces; ++i) {
                if (!exists(i)) continue;
                column_type of_columns;
                load_columns(of_columns, i);
                if constexpr (!keeps_numbers) read(i, pieces[i]);
                GESSO_UNROLL
                for (int j = 0; j < items; ++j) {
                    float of_item[static_cast<unsigned>(Operator::inputs)];
                    float parameters[at_least_one(Operator::parameters)];
                    GESSO_UNROLL
                    for (int k = 0; k < Operator::inputs; ++k) of_item[k] = pieces[i].numbers[k][j];
                    function_type::parameters_of(of_columns, j, parameters);
                    Operator::template accumulate<Stage>(of_item, parameters, of_row.values, sums[j / sum_items]);
                }
            }
            shared.sums.reduce(sums, turn, shape.threads / 32);
            turn ^= 1;
            Operator::template finish<Stage>(sums[0], shape.columns, function.memory.epsilon, of_row.values);
            sum<Stage + 1>(of_row);
        }
    }
    // A row that was asked for, while `next` comes.
    __device__ __forceinline__ void run(uint32_t row, uint32_t next)
    {
        row_type of_row;
        function.load_given(of_row, row);
        wait_for_copies();
        loaded_type asked[static_cast<unsigned>(Pieces)];
        if constexpr (keeps_numbers) {
            GESSO_UNROLL
            for (int i = 0; i < Pieces; ++i) read(i, pieces[i]);
        }
        ask(next, half ^ (halves - 1u), asked);
        // The parameters of a piece are asked for while the one before it is worked on.
        column_type of_columns;
        load_columns(of_columns, 0);
        sum<0>(of_row);
        if (thread == 0) function.store_row(of_row, row);
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            forget_places();
            // Whole warps: lanes share groups.
            if (!Whole && (place(i) & ~31u) >= shape.in_row) continue;
            column_type of_next;
            if (i + 1 < Pieces) load_columns(of_next, i + 1);
            if constexpr (!keeps_numbers) read(i, pieces[i]);
            packed_elements<float, items> numbers[static_cast<unsigned>(Operator::outputs)];
            apply_to_piece(function, of_columns, of_row, pieces[i], numbers);
            state.put(numbers, row * shape.in_row + place(i), exists(i), sinks);
            if (i + 1 < Pieces) of_columns = of_next;
        }
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) loaded[i] = asked[i];
        half ^= halves - 1u;
    }
};

// The rows of a block's first threads, of its second, and so on; then those of the next block. Blocks that are resident at
// once take all rows. Where rows have more than one warp a block takes one at a time, for it has one barrier.
template<class Rows, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(Rows::wanted_threads) flat_rows_kernel(const typename Rows::function_type function,
    const Sources sources, const Sinks sinks, const flat_shape shape, const partial_maxima partials)
{
    __shared__ typename Rows::shared_type shared;
    extern __shared__ uint4 dynamic_shared_memory[];
    wait_for_earlier();
    let_later_start();
    const bool is_warp = shape.threads == 32;
    const uint32_t number = is_warp ? threadIdx.x / 32 : 0u;
    const uint32_t together = is_warp ? blockDim.x / 32 : 1u;
    unsigned char* const copied =
        reinterpret_cast<unsigned char*>(dynamic_shared_memory) + number * Rows::copied_bytes(shape.in_row);
    Rows rows{function, sources, sinks, shape, shared, copied, is_warp ? threadIdx.x % 32 : threadIdx.x};
    const uint32_t step = gridDim.x * together;
    uint32_t row = blockIdx.x * together + number;
    rows.ask(row, 0, rows.loaded);
    for (; row < shape.rows; row += step) rows.run(row, row + step);
    rows.state.finish(partials, [&](uint32_t bits) { return largest_of_all_warps(bits, shared.maxima); });
}

// Launches it where its rows fit into shared memory (and are whole); else `fits` becomes false.
template<int Pieces, bool Whole, class Operator, class Parameter, class Sources, class Sinks>
cudaError_t launch_flat_rows(const rows_function<Operator, Parameter>& function, const Sources& sources,
    const Sinks& sinks, partial_maxima& partials, cudaStream_t stream, bool& fits)
{
    using rows = flat_rows<Operator, Parameter, Sources, Sinks, Pieces, Whole>;
    const extent of = extent_of(sources.first);
    const int row_threads = row_accumulators<Pieces>(of.columns) / static_cast<int>(rows::accumulators);
    const flat_shape shape{
        static_cast<uint32_t>(of.rows), static_cast<uint32_t>(of.columns / rows::items), row_threads, of.columns};
    if (Whole && index_t{shape.in_row} != index_t{row_threads} * Pieces) {
        fits = false;
        return cudaSuccess;
    }
    const index_t together = row_threads == 32 ? smaller(4, of.rows) : 1;
    const int threads = row_threads * static_cast<int>(together);
    const index_t bytes = together * rows::copied_bytes(shape.in_row);
    const auto kernel = &flat_rows_kernel<rows, Sources, Sinks>;
    const cudaError_t error = allow_copies(kernel, bytes + index_t{sizeof(typename rows::shared_type)}, bytes, fits);
    if (error != cudaSuccess || !fits) return error;
    // Stage one leaves as many maxima as it has blocks.
    index_t blocks = 0;
    const cudaError_t counted = resident_blocks(kernel, threads, bytes, blocks);
    if (counted != cudaSuccess) return counted;
    blocks = smaller(parts(of.rows, together), blocks);
    if constexpr (rows::has_tensor) {
        blocks = smaller(blocks, max_partials);
        partials.blocks = static_cast<int>(blocks);
    }
    return launch_early_with_memory(
        kernel, dim3(static_cast<unsigned>(blocks)), threads, bytes, stream, function, sources, sinks, shape, partials);
}

}  // namespace detail

}  // namespace gesso
