// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Which kernels an operator launches, by its operands. Everything was checked before.
#pragma once

#include <gesso/operator/matrix_launch.cuh>
#include <gesso/operator/operator_tile.cuh>

namespace gesso {

// The tuning of an operator on a stream: derive and override to change one thing, and give it as the template argument
// Tuning. It changes how long a kernel takes, never a byte of what it writes.
// Not yet tuned by runs: the numbers are what the quantizers were found to want.
template<class Sources, class Sinks>
struct operator_tuning {
    static constexpr int source_bytes = detail::loaded_sources<Sources, 8, true>::bytes;
    static constexpr int widest_source = detail::loaded_sources<Sources, 8, true>::widest;
    static constexpr int widest_sink = detail::sinks_traits<Sinks>::widest;
    // Elements of a row in one piece of a thread: 16 bytes of the widest operand, or 32 of fp32.
    static constexpr int row_items = widest_source == 1 && widest_sink <= 1 ? 16 : 8;
    // Such pieces of a thread, all loaded before the first is used: 32 bytes.
    static constexpr int row_pieces = row_items * source_bytes >= 32 ? 1 : 2;
    static constexpr int row_threads = 256;
    // The same in stage one of a tensor's scale, whose blocks take many tiles (at most 1024 blocks).
    static constexpr int scan_pieces = row_items * source_bytes >= 64 ? 1 : 2;
    static constexpr int scan_threads = 256;
    static constexpr int scan_blocks = 1024;
    // Threads of a block that writes codes and their transpose (256 or a multiple).
    static constexpr int tile_threads = 256;
};

namespace detail {

template<class Tuning, class Sources, class Sinks>
using operator_tuning_of =
    standard::conditional_t<standard::is_same_v<Tuning, void>, operator_tuning<Sources, Sinks>, Tuning>;

template<class Tuning>
struct cut_for_scan {
    static constexpr int row_items = Tuning::row_items;
    static constexpr int row_pieces = Tuning::scan_pieces;
    static constexpr int row_threads = Tuning::scan_threads;
};

// Operands whose rows lie end to end are one long row. A sink that is not written by rows does not matter.
template<class T>
bool is_dense_operand(const matrix_ref<T>& view)
{
    return is_dense(view);
}
template<class Codec>
bool is_dense_operand(const compressed_matrix<Codec>& view)
{
    constexpr index_t width = standard::remove_const_t<Codec>::granularity::tile_columns;
    return is_dense<Codec, padded(width < 2 ? 2 : width)>(view);
}
template<class Codec, class TransposedCodec>
bool is_dense_operand(const quantized_matrix<Codec, TransposedCodec>& view)
{
    return is_dense_operand(view.plain);
}
template<class Codec, class TransposedCodec>
quantized_matrix<Codec, TransposedCodec> as_one_row(const quantized_matrix<Codec, TransposedCodec>& view)
{
    return {as_one_row(view.plain), {}};
}
inline bool are_dense(const source_pack<>&) { return true; }
template<class First, class... Rest>
bool are_dense(const source_pack<First, Rest...>& pack)
{
    return is_dense_operand(pack.first) && are_dense(pack.rest);
}
inline bool are_dense(const sink_pack<>&) { return true; }
template<class First, class... Rest>
bool are_dense(const sink_pack<First, Rest...>& pack)
{
    return (sink_traits<First>::is_tensor || is_dense_operand(pack.first)) && are_dense(pack.rest);
}
inline source_pack<> as_one_row(const source_pack<>&) { return {}; }
template<class First, class... Rest>
source_pack<First, Rest...> as_one_row(const source_pack<First, Rest...>& pack)
{
    return {as_one_row(pack.first), as_one_row(pack.rest)};
}
inline sink_pack<> as_one_row(const sink_pack<>&) { return {}; }
template<class First, class... Rest>
sink_pack<First, Rest...> as_one_row(const sink_pack<First, Rest...>& pack)
{
    return {as_one_row(pack.first), as_one_row(pack.rest)};
}

// Can the device write these sinks? A transpose goes with one scale for all.
inline bool can_write(const sink_pack<>&) { return true; }
template<class First, class... Rest>
bool can_write(const sink_pack<First, Rest...>& pack)
{
    if constexpr (!sink_traits<First>::is_tensor && !standard::is_same_v<typename sink_traits<First>::codec, void>) {
        if (transposed_of(pack.first).codes != nullptr) return false;
    }
    return can_write(pack.rest);
}

// Zeroes what matrix products may read beside the scales that were written.
inline cudaError_t launch_paddings(const sink_pack<>&, cudaStream_t) { return cudaSuccess; }
template<class First, class... Rest>
cudaError_t launch_paddings(const sink_pack<First, Rest...>& pack, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if constexpr (!standard::is_same_v<typename sink_traits<First>::codec, void>) {
        if (plain_of(pack.first).codes != nullptr) error = launch_scale_padding(plain_of(pack.first), stream);
        if (error == cudaSuccess && transposed_of(pack.first).codes != nullptr) {
            error = launch_scale_padding(transposed_of(pack.first), stream);
        }
    }
    return error == cudaSuccess ? launch_paddings(pack.rest, stream) : error;
}

// Stage two of an operator: the codes of the outputs with one scale for all.
template<class Tuning, class Function, class Sources, class Sinks>
cudaError_t launch_operator_tiles(const Function& function, const Sources& sources, const Sinks& sinks,
    const partial_maxima& partials, cudaStream_t stream)
{
    using tile = tile_operator<Function, Sources, Sinks, Tuning>;
    const extent of = extent_of(sources.first);
    const auto places = tile::places_type::of(of.rows, of.columns);
    if (!fits_grid(places.count())) return cudaErrorInvalidValue;
    return launch_early(&tile_operator_kernel<tile, Function, Sources, Sinks>, places.count(), tile::threads, stream,
        function, sources, sinks, places, partials);
}

template<class Operator, class Tuning, class Sources, class Sinks>
cudaError_t launch_pointwise(const Sources& sources, const Sinks& sinks, void* workspace, cudaStream_t stream)
{
    const bool is_one_row = are_dense(sources) && are_dense(sinks);
    const Sources as_read = is_one_row ? as_one_row(sources) : sources;
    const Sinks as_written = is_one_row ? as_one_row(sinks) : sinks;
    const extent of = extent_of(as_read.first);
    cudaError_t error = cudaSuccess;
    if constexpr (!sinks_traits<Sinks>::has_tensor) {
        using rows = row_operator<Operator, Sources, Sinks, Tuning>;
        const auto pieces = rows::pieces_type::of(of.rows, of.columns);
        const index_t blocks = rows::tiles(pieces);
        if (!fits_grid(blocks)) return cudaErrorInvalidValue;
        row_operator_kernel<rows>
            <<<static_cast<unsigned>(blocks), rows::threads, 0, stream>>>(as_read, as_written, pieces);
        error = launched();
    } else {
        static_assert(Tuning::scan_blocks <= max_partials,
            "gesso::operator_tuning: scan_blocks is at most 1024, for which there is room in a workspace");
        using rows = row_operator<Operator, Sources, Sinks, cut_for_scan<Tuning>>;
        const auto pieces = rows::pieces_type::of(of.rows, of.columns);
        const index_t tiles = rows::tiles(pieces);
        partial_maxima partials{static_cast<uint32_t*>(workspace), 0};
        partials.blocks = static_cast<int>(smaller(tiles, Tuning::scan_blocks));
        error = launch_early(&row_operator_scan_kernel<rows, Sources, Sinks>, partials.blocks, rows::threads, stream,
            as_read, as_written, pieces, tiles, partials);
        if (error == cudaSuccess) {
            error = launch_operator_tiles<Tuning>(pointwise_function<Operator>{}, sources, sinks, partials, stream);
        }
    }
    return error == cudaSuccess ? launch_paddings(sinks, stream) : error;
}

}  // namespace detail

}  // namespace gesso
