// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Flat rows of an operator by rows that sums columns. A block takes many rows; sums of columns and parameters fill the
// registers, so rows wait in shared memory, where the next ones arrive while some are worked on.
#pragma once

#include <gesso/operator/by_rows_flat.cuh>

namespace gesso {

namespace detail {

// Pieces: of a thread, of a row. Whole: every thread has all of them. Together: rows that are summed at once, so that there are
// fewer barriers.
template<class Operator, class Parameter, class Sources, class Sinks, int Pieces, bool Whole, int Together>
struct column_rows {
    static constexpr int items = flat_items<Operator, Sources, Sinks>;
    static_assert(items == sum_items);
    static_assert(Operator::stages == 1);  // two storages of sums in turn are enough for one stage a turn
    static constexpr uint32_t together = Together;
    static constexpr int column_sums = Operator::column_sums;
    using function_type = rows_function<Operator, Parameter>;
    using loaded_type = loaded_sources<Sources, items, true>;
    using copy_type = copied_row<Sources, items>;
    using column_type = typename function_type::template column_state<items>;
    using row_type = typename function_type::row_state;
    struct shared_type {
        block_sums<Together * Operator::sums> sums;
        uint32_t maxima[row_block_threads / 32];
    };
    // Two halves: rows that are worked on, and those that arrive.
    static GESSO_HOST_DEVICE index_t copied_bytes(uint32_t in_row)
    {
        return index_t{2 * Together} * copy_type::bytes(in_row);
    }

    const function_type& function;
    const Sources& sources;
    const Sinks& sinks;
    const flat_shape& shape;
    shared_type& shared;
    unsigned char* copies;
    uint32_t end;  // of the block's rows
    flat_row_sinks<Operator, Sinks, items> state;
    int turn = 0;
    column_type columns[static_cast<unsigned>(Pieces)];
    float sums_of_columns[static_cast<unsigned>(Pieces)][static_cast<unsigned>(items)][at_least_one(column_sums)];
    // What is known of rows before their elements are: given values and scales.
    struct rows_type {
        row_type values[static_cast<unsigned>(Together)];
        loaded_type loaded[static_cast<unsigned>(Together)][static_cast<unsigned>(Pieces)];
    };

    __device__ __forceinline__ uint32_t place(int i) const
    {
        return threadIdx.x + static_cast<uint32_t>(i) * static_cast<uint32_t>(shape.threads);
    }
    __device__ __forceinline__ bool exists(int i) const { return Whole || place(i) < shape.in_row; }
    __device__ __forceinline__ unsigned char* copy_of(int row) const
    {
        return copies + static_cast<uint32_t>(turn * Together + row) * copy_type::bytes(shape.in_row);
    }
    __device__ __forceinline__ void start()
    {
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            GESSO_UNROLL
            for (int k = 0; k < Operator::parameters; ++k) {
                load_whole<items>(function.memory.parameters[k], place(i), exists(i), columns[i].parameters[k].words);
            }
            GESSO_UNROLL
            for (int j = 0; j < items; ++j) {
                GESSO_UNROLL
                for (int k = 0; k < column_sums; ++k) sums_of_columns[i][j][k] = 0.0f;
            }
        }
    }
    // Starts the way of the rows from `first` on to this turn's half.
    __device__ __forceinline__ void ask(rows_type& rows, uint32_t first) const
    {
        GESSO_UNROLL
        for (int row = 0; row < Together; ++row) {
            if (first + static_cast<uint32_t>(row) >= end) continue;
            function.load_given(rows.values[row], first + static_cast<uint32_t>(row));
            GESSO_UNROLL
            for (int i = 0; i < Pieces; ++i) {
                const uint32_t piece = (first + static_cast<uint32_t>(row)) * shape.in_row + place(i);
                // (Of which the scales alone are used.)
                rows.loaded[row][i].load_flat(sources, piece, exists(i));
                if (exists(i)) copy_type::copy(sources, piece, place(i), shape.in_row, copy_of(row));
            }
        }
    }
    // visit(numbers, parameters, item) for each element of a piece of a row.
    template<class Visit>
    __device__ __forceinline__ void each(rows_type& rows, int row, int i, const Visit& visit)
    {
        loaded_type& loaded = rows.loaded[row][i];
        copy_type::read(loaded, place(i), shape.in_row, exists(i), copy_of(row));
        float in[static_cast<unsigned>(Operator::inputs)][static_cast<unsigned>(items)];
        loaded.get(in);
        GESSO_UNROLL
        for (int j = 0; j < items; ++j) {
            float of_item[static_cast<unsigned>(Operator::inputs)];
            float parameters[at_least_one(Operator::parameters)];
            GESSO_UNROLL
            for (int k = 0; k < Operator::inputs; ++k) of_item[k] = in[k][j];
            function_type::parameters_of(columns[i], j, parameters);
            visit(of_item, parameters, j);
        }
    }
    template<int Stage>
    __device__ __forceinline__ void sum(rows_type& rows, uint32_t first)
    {
        if constexpr (Stage < Operator::stages) {
            constexpr int count = Operator::sums;
            float all[1][at_least_one(Together * count)] = {};
            GESSO_UNROLL
            for (int row = 0; row < Together; ++row) {
                if (first + static_cast<uint32_t>(row) >= end) continue;
                float sums[at_least_one(count)] = {};
                GESSO_UNROLL
                for (int i = 0; i < Pieces; ++i) {
                    if (!exists(i)) continue;
                    each(rows, row, i, [&](const auto& in, const auto& parameters, int) {
                        Operator::template accumulate<Stage>(in, parameters, rows.values[row].values, sums);
                    });
                }
                GESSO_UNROLL
                for (int k = 0; k < count; ++k) all[0][row * count + k] = sums[k];
            }
            shared.sums.reduce(all, turn, shape.threads / 32);
            GESSO_UNROLL
            for (int row = 0; row < Together; ++row) {
                float sums[at_least_one(count)] = {};
                GESSO_UNROLL
                for (int k = 0; k < count; ++k) sums[k] = all[0][row * count + k];
                Operator::template finish<Stage>(sums, shape.columns, function.memory.epsilon, rows.values[row].values);
            }
        }
    }
    // Rows from `first` on, which have arrived in this turn's half.
    __device__ __forceinline__ void run(rows_type& rows, uint32_t first)
    {
        sum<0>(rows, first);
        GESSO_UNROLL
        for (int row = 0; row < Together; ++row) {
            if (first + static_cast<uint32_t>(row) >= end) continue;
            const row_type& of_row = rows.values[row];
            if (threadIdx.x == 0) function.store_row(of_row, first + static_cast<uint32_t>(row));
            GESSO_UNROLL
            for (int i = 0; i < Pieces; ++i) {
                // Whole warps: lanes share groups.
                if (!Whole && (place(i) & ~31u) >= shape.in_row) continue;
                packed_elements<float, items> numbers[static_cast<unsigned>(Operator::outputs)];
                each(rows, row, i, [&](const auto& in, const auto& parameters, int j) {
                    Operator::contribute(in, parameters, of_row.values, sums_of_columns[i][j]);
                    float made[static_cast<unsigned>(Operator::outputs)];
                    Operator::apply(in, parameters, of_row.values, made);
                    GESSO_UNROLL
                    for (int k = 0; k < Operator::outputs; ++k) numbers[k].words[j] = bits_of(made[k]);
                });
                state.put(numbers, (first + static_cast<uint32_t>(row)) * shape.in_row + place(i), exists(i), sinks);
            }
        }
    }
    __device__ __forceinline__ void store_columns(float* to, index_t stride) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Pieces; ++i) {
            GESSO_UNROLL
            for (int k = 0; k < column_sums; ++k) {
                packed_elements<float, items> known;
                GESSO_UNROLL
                for (int j = 0; j < items; ++j) known.words[j] = bits_of(sums_of_columns[i][j][k]);
                store_whole<items>(to + k * stride, place(i), exists(i), known.words);
            }
        }
    }
};

// Rows [blockIdx.x * rows_of_block, ...) of all.
template<class Rows, class Sources, class Sinks>
GESSO_KERNEL void __launch_bounds__(row_block_threads, 1)
    column_rows_kernel(const typename Rows::function_type function, const Sources sources, const Sinks sinks,
        const flat_shape shape, const uint32_t rows_of_block, float* const column_partials,
        const index_t partial_stride, const partial_maxima partials)
{
    __shared__ typename Rows::shared_type shared;
    extern __shared__ uint4 dynamic_shared_memory[];
    wait_for_earlier();
    let_later_start();
    const uint32_t begin = blockIdx.x * rows_of_block;
    const uint32_t end = begin + rows_of_block < shape.rows ? begin + rows_of_block : shape.rows;
    Rows tile{function, sources, sinks, shape, shared, reinterpret_cast<unsigned char*>(dynamic_shared_memory), end};
    tile.start();
    typename Rows::rows_type next;
    tile.ask(next, begin);
    for (uint32_t row = begin; row < end; row += Rows::together) {
        typename Rows::rows_type rows = next;
        wait_for_copies();
        tile.turn ^= 1;
        tile.ask(next, row + Rows::together);
        tile.turn ^= 1;
        tile.run(rows, row);
        tile.turn ^= 1;
    }
    tile.store_columns(column_partials + index_t{blockIdx.x} * (Rows::column_sums * partial_stride), partial_stride);
    tile.state.finish(partials, [&](uint32_t bits) { return largest_of_all_warps(bits, shared.maxima); });
}

// Launches it where its rows fit into shared memory (and are whole); else `fits` becomes false.
template<int Pieces, bool Whole, int Together, class Operator, class Parameter, class Sources, class Sinks>
cudaError_t launch_column_rows(const rows_function<Operator, Parameter>& function, const Sources& sources,
    const Sinks& sinks, index_t blocks, index_t rows_of_block, float* column_partials, index_t stride,
    const partial_maxima& partials, cudaStream_t stream, bool& fits)
{
    using rows = column_rows<Operator, Parameter, Sources, Sinks, Pieces, Whole, Together>;
    const extent of = extent_of(sources.first);
    const int threads = row_accumulators<Pieces>(of.columns);
    const flat_shape shape{
        static_cast<uint32_t>(of.rows), static_cast<uint32_t>(of.columns / rows::items), threads, of.columns};
    if (Whole && index_t{shape.in_row} != index_t{threads} * Pieces) {
        fits = false;
        return cudaSuccess;
    }
    const auto kernel = &column_rows_kernel<rows, Sources, Sinks>;
    const index_t bytes = rows::copied_bytes(shape.in_row);
    const cudaError_t error = allow_copies(kernel, bytes + index_t{sizeof(typename rows::shared_type)}, bytes, fits);
    if (error != cudaSuccess || !fits) return error;
    return launch_early_with_memory(kernel, dim3(static_cast<unsigned>(blocks)), threads, bytes, stream, function,
        sources, sinks, shape, static_cast<uint32_t>(rows_of_block), column_partials, stride, partials);
}

}  // namespace detail

}  // namespace gesso
