// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators by rows in device memory: those of operator/norm.hpp, or a user's own struct like them (operator/by_rows.hpp).
#pragma once

#include <gesso/operator/by_rows_columns.cuh>

namespace gesso {

namespace detail {

// Where an operator by rows keeps what it needs twice: maxima of outputs, values of rows, partial sums of columns.
template<class Operator>
struct by_rows_workspace {
    static constexpr index_t maxima_bytes = index_t{Operator::outputs} * max_partials * 4;
    // Blocks that take equal runs of rows. Where they sum columns the order of the sums depends on it: never a tuning.
    static constexpr index_t most_blocks = Operator::column_sums > 0 ? 256 : max_partials;
    index_t rows;
    index_t columns;

    index_t rows_of_block() const { return parts(rows, most_blocks); }
    index_t blocks() const { return rows == 0 ? 0 : parts(rows, rows_of_block()); }
    index_t stride() const { return round_up(columns, 4); }
    index_t row_values_bytes() const { return round_up(rows * Operator::row_values, 4) * 4; }
    index_t bytes() const
    {
        return maxima_bytes + row_values_bytes() + blocks() * Operator::column_sums * stride() * 4;
    }
    float* row_values(void* workspace) const
    {
        return reinterpret_cast<float*>(static_cast<unsigned char*>(workspace) + maxima_bytes);
    }
    float* column_partials(void* workspace) const { return row_values(workspace) + row_values_bytes() / 4; }
};

template<class T>
struct type_of {
    using type = T;
};

template<class Tile, class Function, class Sources, class Sinks>
cudaError_t launch_rows_kernel(int summing, const Function& function, const Sources& sources, const Sinks& sinks,
    index_t blocks, index_t rows_of_block, float* column_partials, index_t stride, const partial_maxima& partials,
    cudaStream_t stream)
{
    const extent of = extent_of(sources.first);
    if (!fits_grid(blocks)) return cudaErrorInvalidValue;
    return launch_early(&rows_kernel<Tile, Sources, Sinks>, blocks, Tile::threads(summing), stream, function, sources,
        sinks, Tile::cut_of(of.columns, summing), of.rows, rows_of_block, column_partials, stride, partials);
}

template<class Operator, class Tuning, class Parameter, class Sources, class Sinks>
cudaError_t launch_by_rows(const Sources& sources, const row_memory<Operator, Parameter>& memory, const Sinks& sinks,
    void* workspace, cudaStream_t stream)
{
    const extent of = extent_of(sources.first);
    const by_rows_workspace<Operator> kept{of.rows, of.columns};
    constexpr bool has_tensor = sinks_traits<Sinks>::has_tensor;
    constexpr bool has_column_sums = Operator::column_sums > 0;
    constexpr bool is_many = has_tensor || has_column_sums;
    const index_t rows_of_block = is_many ? kept.rows_of_block() : 1;
    const index_t blocks = is_many ? kept.blocks() : of.rows;
    const rows_function<Operator, Parameter> function{memory, has_tensor ? kept.row_values(workspace) : nullptr};
    float* const column_partials = has_column_sums ? kept.column_partials(workspace) : nullptr;
    partial_maxima partials{static_cast<uint32_t*>(workspace), static_cast<int>(is_many ? blocks : 0)};
    cudaError_t error = cudaSuccess;
    if (!of.is_empty()) {
        // Sums of columns take registers: fewer pieces where they suffice. How many decides how a row is summed, and so may
        // depend on its length, but not on the sinks.
        constexpr int few = has_column_sums ? 2 : 4;
        constexpr int many = has_column_sums ? 3 : 4;
        using lying = rows_tile<Operator, Parameter, Sources, Sinks, 1, true, is_many>;
        const auto launch = [&](auto tile, int summing) {
            return launch_rows_kernel<typename decltype(tile)::type>(summing, function, sources, sinks, blocks,
                rows_of_block, column_partials, kept.stride(), partials, stream);
        };
        const auto launch_pieces = [&](auto pieces) {
            constexpr int count = decltype(pieces)::value;
            constexpr int items = flat_items<Operator, Sources, Sinks>;
            constexpr bool can_be_flat = can_all_be_flat<Sources, items> && can_all_be_flat<Sinks, items>;
            bool is_flat = false;
            if constexpr (can_be_flat && (!has_column_sums || Operator::stages == 1)) {
                is_flat = are_flat_rows<items, Operator, Parameter>(sources, memory, sinks);
            }
            bool fits = false;
            // One of the kernels of flat rows, unless one before it was launched.
            const auto try_flat = [&](auto is_whole, auto together) {
                if constexpr (can_be_flat && !has_column_sums) {
                    return launch_flat_rows<count, decltype(is_whole)::value>(
                        function, sources, sinks, partials, stream, fits);
                } else if constexpr (can_be_flat && Operator::stages == 1) {
                    return launch_column_rows<count, decltype(is_whole)::value, decltype(together)::value>(function,
                        sources, sinks, blocks, rows_of_block, column_partials, kept.stride(), partials, stream, fits);
                } else {
                    return cudaSuccess;
                }
            };
            using standard::integral_constant;
            using yes = integral_constant<bool, true>;
            using no = integral_constant<bool, false>;
            cudaError_t flat_error = is_flat ? try_flat(yes{}, integral_constant<int, 2>{}) : cudaSuccess;
            if (flat_error == cudaSuccess && is_flat && !fits) {
                flat_error = try_flat(no{}, integral_constant<int, 2>{});
            }
            if constexpr (has_column_sums) {
                if (flat_error == cudaSuccess && is_flat && !fits) {
                    flat_error = try_flat(no{}, integral_constant<int, 1>{});
                }
            }
            if (flat_error != cudaSuccess || fits) return flat_error;
            const int summing = row_accumulators<count>(of.columns);
            if constexpr (lying::cuts_alike) {
                return launch(
                    type_of<rows_tile<Operator, Parameter, Sources, Sinks, count, false, is_many>>{}, summing);
            } else {
                return launch(type_of<lying>{}, summing);
            }
        };
        using standard::integral_constant;
        if (are_enough_accumulators<few>(of.columns)) error = launch_pieces(integral_constant<int, few>{});
        else if (are_enough_accumulators<many>(of.columns)) error = launch_pieces(integral_constant<int, many>{});
        else error = launch(type_of<lying>{}, row_block_threads);
    }
    if constexpr (has_tensor) {
        if (error == cudaSuccess && !of.is_empty()) {
            error = launch_operator_tiles<Tuning>(function, sources, sinks, partials, stream);
        }
    }
    if constexpr (has_column_sums) {
        if (error == cudaSuccess) {
            column_sum_targets<Operator::column_sums> targets;
            for (int i = 0; i < Operator::column_sums; ++i) targets.to[i] = memory.column_sums[i];
            error = launch_early(&column_sums_kernel<Operator::column_sums>, parts(of.columns, 32), 1024, stream,
                column_partials, kept.blocks(), kept.stride(), of.columns, targets);
        }
    }
    return error == cudaSuccess && !of.is_empty() ? launch_paddings(sinks, stream) : error;
}

}  // namespace detail

// Bytes of device memory, aligned to 16, that by_rows() of an operator needs on (rows, columns) where an output has one exact
// scale for all, or where sums of columns are wanted. Written before it is read. One for each stream.
template<class Operator>
index_t by_rows_workspace_bytes(index_t rows, index_t columns)
{
    return detail::by_rows_workspace<Operator>{rows, columns}.bytes();
}

// An operator by rows on its sources (rows, columns), its outputs to the sinks; sources, sinks, passes over them and errors as
// of pointwise() (operator/pointwise.cuh).
//   memory     what it reads and writes beside its matrices (operator/by_rows.hpp), in device memory
//   workspace  by_rows_workspace_bytes<Operator>(rows, columns); null where no output has one scale for all and there are no
//              sums of columns
// A row of up to 16,384 elements is read once; longer ones are read once for each stage and once more.
// Deterministic: sums are taken in an order that depends on the shape alone, those of columns through partial sums of at
// least rows / 256 rows each, in the workspace. Tuning: operator_tuning, of which an operator by rows has the tiles alone.
template<class Tuning = void, class Operator, class Parameter, class... Sources, class... Sinks>
[[nodiscard]] cudaError_t by_rows(const source_pack<Sources...>& sources, const row_memory<Operator, Parameter>& memory,
    const sink_pack<Sinks...>& sinks, void* workspace, cudaStream_t stream)
{
    using source_type = source_pack<Sources...>;
    using sink_type = sink_pack<Sinks...>;
    detail::require_operands<Operator, source_type, sink_type>();
    const detail::extent of = detail::extent_of(sources.first);
    status checked = detail::check_operands(of, sources);
    if (checked == status::success) checked = detail::check_operands(of, sinks);
    if (checked == status::success) checked = detail::check_row_memory(of, memory);
    if (checked != status::success) return detail::error_of(checked);
    if (of.columns == 0 || (of.rows == 0 && Operator::column_sums == 0)) return cudaSuccess;
    constexpr bool needs_workspace = detail::sinks_traits<sink_type>::has_tensor || Operator::column_sums > 0;
    if (needs_workspace && workspace == nullptr) return cudaErrorInvalidValue;
    if (!detail::can_write(sinks)) return cudaErrorNotSupported;
    return detail::launch_by_rows<Operator, detail::operator_tuning_of<Tuning, source_type, sink_type>>(
        sources, memory, sinks, workspace, stream);
}

}  // namespace gesso
