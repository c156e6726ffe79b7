// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Which kernels an operator launches, by its operands. Everything was checked before.
#pragma once

#include <gesso/operator/matrix_launch.cuh>
#include <gesso/operator/operator_flat.cuh>
#include <gesso/operator/operator_tile.cuh>

namespace gesso {

// The tuning of an operator on a stream: derive and override to change one thing, and give it as the template argument
// Tuning. It changes how long a kernel takes, never a byte of what it writes.
// Source: runs of bench/operator/pointwise_bench, docs/benchmarks.md.
template<class Sources, class Sinks>
struct operator_tuning {
    static constexpr int source_bytes = detail::loaded_sources<Sources, 8, true>::bytes;
    static constexpr int widest_source = detail::loaded_sources<Sources, 8, true>::widest;
    static constexpr int widest_sink = detail::sinks_traits<Sinks>::widest;
    // Elements of a row in one piece of a thread: 16 bytes of a code, 32 of what is wider.
    static constexpr int row_items = widest_source <= 2 && widest_sink <= 2 ? 16 : 8;
    // Such pieces of a thread, all loaded before the first is used: 32 bytes.
    static constexpr int row_pieces = row_items * source_bytes >= 32 ? 1 : 2;
    static constexpr int row_threads = 256;
    // The same in stage one of a tensor's scale, whose blocks take many tiles (at most 1024 blocks).
    static constexpr int scan_pieces = row_items * source_bytes >= 32 ? 1 : 2;
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

// Is an operand that is one row a whole vector, in pieces of Items?
template<int Items, class E>
bool is_whole_vector(const E* from, index_t count)
{
    constexpr uint64_t words = words_of<E, Items>;
    constexpr uint64_t alignment = words % 4 == 0 ? 16 : words <= 2 ? 4 * words : sizeof(E);
    return count % Items == 0 && reinterpret_cast<uint64_t>(from) % alignment == 0;
}
template<int Items, class T>
bool is_flat_operand(const matrix_ref<T>& row)
{
    return is_whole_vector<Items>(row.data, row.columns);
}
template<int Items, class Codec>
bool is_flat_operand(const compressed_matrix<Codec>& row)
{
    return is_whole_vector<Items>(row.codes, row.columns);
}
template<int Items, class Codec, class TransposedCodec>
bool is_flat_operand(const quantized_matrix<Codec, TransposedCodec>& row)
{
    return row.plain.codes == nullptr || is_flat_operand<Items>(row.plain);
}
template<int Items, template<class...> class Pack>
bool are_flat(const Pack<>&)
{
    return true;
}
template<int Items, template<class...> class Pack, class First, class... Rest>
bool are_flat(const Pack<First, Rest...>& pack)
{
    return is_flat_operand<Items>(pack.first) && are_flat<Items>(pack.rest);
}

// The same of matrices: are they dense, and as one row whole vectors?
template<int Items, template<class...> class Pack, class... Views>
bool are_flat_matrices(const Pack<Views...>& pack)
{
    return are_dense(pack) && are_flat<Items>(as_one_row(pack));
}

// Are transposed outputs whole vectors of 16 bytes?
inline bool are_transposes_whole(const sink_pack<>&) { return true; }
template<class First, class... Rest>
bool are_transposes_whole(const sink_pack<First, Rest...>& pack)
{
    if constexpr (sink_traits<First>::is_tensor) {
        const auto& view = transposed_of(pack.first);
        const uint64_t address = reinterpret_cast<uint64_t>(view.codes);
        if (view.codes != nullptr && (address % 16 != 0 || view.stride % 16 != 0 || view.columns % 16 != 0)) {
            return false;
        }
    }
    return are_transposes_whole(pack.rest);
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
    const index_t down = parts(of.rows, 128);
    const bool is_flat = of.columns % tile::items == 0 && of.rows * (of.columns / tile::items) < 0x7FFFFFFF
                         && down <= 65535 && are_flat_matrices<tile::items>(sources)
                         && are_flat_matrices<tile::items>(sinks) && are_transposes_whole(sinks);
    if (is_flat) {
        return launch_early(&tile_operator_kernel<true, tile, Function, Sources, Sinks>,
            dim3(static_cast<unsigned>(places.across), static_cast<unsigned>(down)), tile::threads, stream, function,
            sources, sinks, places, partials);
    }
    return launch_early(&tile_operator_kernel<false, tile, Function, Sources, Sinks>, places.count(), tile::threads,
        stream, function, sources, sinks, places, partials);
}

// Is a transposed output wanted?
inline bool wants_transpose(const sink_pack<>&) { return false; }
template<class First, class... Rest>
bool wants_transpose(const sink_pack<First, Rest...>& pack)
{
    if constexpr (sink_traits<First>::is_tensor) {
        if (transposed_of(pack.first).codes != nullptr) return true;
    }
    return wants_transpose(pack.rest);
}

// An operator on whole vectors. `sources` and `sinks`: as one row; `matrices_from` and `matrices_to`: as they are.
template<class Operator, class Tuning, class Sources, class Sinks>
cudaError_t launch_flat(const Sources& sources, const Sinks& sinks, const Sources& matrices_from,
    const Sinks& matrices_to, void* workspace, cudaStream_t stream)
{
    using flat = flat_operator<Operator, Sources, Sinks, Tuning, Tuning::row_pieces, Tuning::row_threads>;
    const auto pieces = static_cast<uint32_t>(extent_of(sources.first).columns / flat::items);
    const auto tiles = static_cast<uint32_t>(parts(pieces, flat::tile_pieces));
    if constexpr (!sinks_traits<Sinks>::has_tensor) {
        flat_operator_kernel<flat><<<tiles, flat::threads, 0, stream>>>(sources, sinks, pieces);
        return launched();
    } else {
        using scan = flat_operator<Operator, Sources, Sinks, Tuning, Tuning::scan_pieces, Tuning::scan_threads>;
        index_t blocks = 0;
        const auto scan_tiles = static_cast<uint32_t>(parts(pieces, scan::tile_pieces));
        const auto scan_kernel = &flat_operator_scan_kernel<scan, Sources, Sinks>;
        cudaError_t error = resident_blocks(scan_kernel, scan::threads, 0, blocks);
        if (error != cudaSuccess) return error;
        const partial_maxima partials{static_cast<uint32_t*>(workspace),
            static_cast<int>(smaller(smaller(blocks, Tuning::scan_blocks), scan_tiles))};
        error = launch_early(
            scan_kernel, partials.blocks, scan::threads, stream, sources, sinks, pieces, scan_tiles, partials);
        if (error != cudaSuccess) return error;
        if (wants_transpose(matrices_to)) {
            return launch_operator_tiles<Tuning>(
                pointwise_function<Operator>{}, matrices_from, matrices_to, partials, stream);
        }
        const auto kernel = &flat_operator_codes_kernel<flat, Sources, Sinks>;
        blocks = tiles;
        if constexpr (flat::is_light) {
            error = resident_blocks(kernel, flat::threads, 0, blocks);
            blocks = smaller(blocks, tiles);
        }
        if (error != cudaSuccess) return error;
        return launch_early(kernel, blocks, flat::threads, stream, sources, sinks, pieces, tiles, partials);
    }
}

template<class Operator, class Tuning, class Sources, class Sinks>
cudaError_t launch_pointwise(const Sources& sources, const Sinks& sinks, void* workspace, cudaStream_t stream)
{
    const bool is_one_row = are_dense(sources) && are_dense(sinks);
    const Sources as_read = is_one_row ? as_one_row(sources) : sources;
    const Sinks as_written = is_one_row ? as_one_row(sinks) : sinks;
    const extent of = extent_of(as_read.first);
    using flat = flat_operator<Operator, Sources, Sinks, Tuning, Tuning::row_pieces, Tuning::row_threads>;
    if constexpr (flat::is_supported) {
        // (Pieces are counted in 32 bits, with room for a tile more.)
        if (is_one_row && are_flat<flat::items>(as_read) && are_flat<flat::items>(as_written)
            && of.columns / flat::items < 0x7FFFFFFF) {
            const cudaError_t error =
                launch_flat<Operator, Tuning>(as_read, as_written, sources, sinks, workspace, stream);
            return error == cudaSuccess ? launch_paddings(sinks, stream) : error;
        }
    }
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
