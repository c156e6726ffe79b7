// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How an operator's results reach its sinks on the host: computed as they are asked for, so that no matrix of them is ever
// in memory. A sink with scales asks twice, for the statistic and for the codes; a transposed one asks by columns.
#pragma once

#include <gesso/level/host.hpp>
#include <gesso/operator/operands.hpp>

// NVRTC compiles device code alone: there this header is empty.
#if !defined(__CUDACC_RTC__)

namespace gesso {

namespace detail {

// Output number `Output` of each element, as a grid (level/host.hpp). compute(row, column, float (&out)[Outputs]).
template<int Output, int Outputs, class Compute>
struct computed_grid {
    const Compute& compute;
    index_t columns;
    bool is_transposed;

    float load(index_t row, index_t column) const
    {
        float out[static_cast<unsigned>(Outputs)];
        if (is_transposed) compute(column, row, out);
        else compute(row, column, out);
        return out[Output];
    }
    index_t index(index_t row, index_t column) const
    {
        return is_transposed ? column * columns + row : row * columns + column;
    }
    computed_grid transposed() const { return {compute, columns, !is_transposed}; }
};

template<class Grid, class T>
void write_sink(const Grid& results, const matrix_ref<T>& to)
{
    const tile_range all{0, to.rows, 0, to.columns};
    all.each_element([&](index_t row, index_t column) {
        to.data[row * to.stride + column] = element<T>::store(results.load(row, column));
    });
}
template<class Grid, class Codec>
void write_sink(const Grid& results, const compressed_matrix<Codec>& to)
{
    host_tiles<Codec>::compress(results, to, nearest_even{}, gradual{}, ignore_nan{});
}
template<class Grid, class Codec, class TransposedCodec>
void write_sink(const Grid& results, const quantized_matrix<Codec, TransposedCodec>& to)
{
    if (to.plain.codes) write_sink(results, to.plain);
    if (to.transposed.codes) write_sink(results.transposed(), to.transposed);
}

// All outputs to their sinks. Precondition: the sinks were checked and are not empty.
template<int Outputs, int Output = 0, class Compute, class... Sinks>
void write_sinks(const Compute& compute, index_t columns, const sink_pack<Sinks...>& to)
{
    if constexpr (sizeof...(Sinks) > 0) {
        write_sink(computed_grid<Output, Outputs, Compute>{compute, columns, false}, to.first);
        write_sinks<Outputs, Output + 1>(compute, columns, to.rest);
    }
}

}  // namespace detail

}  // namespace gesso

#endif
