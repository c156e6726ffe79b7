// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How fast quantizers are cut one way or another: where matrix_tuning comes from. The first shape alone.
#include "quantize_case.cuh"

// (A kernel that is named for a type of an unnamed namespace is no kernel of the library: nvcc warns.)
namespace bench {

template<int Items, int Pieces, int Threads, class T = __nv_bfloat16>
struct rows_cut : gesso::matrix_tuning<T> {
    static constexpr int row_items = Items;
    static constexpr int row_pieces = Pieces;
    static constexpr int row_threads = Threads;
    static constexpr int decode_items = Items;
    static constexpr int decode_pieces = Pieces;
    static constexpr int decode_threads = Threads;
};
template<int Columns, int Threads>
struct tiles_cut : gesso::matrix_tuning<__nv_bfloat16> {
    static constexpr int tile_columns = Columns;
    static constexpr int tile_threads = Threads;
};
template<int Blocks, int Threads, int Pieces>
struct scan_cut : gesso::matrix_tuning<__nv_bfloat16> {
    static constexpr int scan_blocks = Blocks;
    static constexpr int scan_threads = Threads;
    static constexpr int scan_pieces = Pieces;
};

}  // namespace bench

namespace {

using namespace gesso;
using bench::check;
using bench::matrix_codec;
using bench::matrix_shape;
using bench::output;
using bfloat = __nv_bfloat16;

template<int Items, int Pieces, int Threads>
void add_rows(matrix_shape shape)
{
    using tuning = bench::rows_cut<Items, Pieces, Threads>;
    const std::string suffix =
        "/items:" + std::to_string(Items) + "/pieces:" + std::to_string(Pieces) + "/threads:" + std::to_string(Threads);
    const auto by_tile = [](const auto& memory, const auto& to, cudaStream_t stream) {
        check(quantize<tuning>(memory.elements(), to, memory.workspace.data(), stream), "quantize");
    };
    bench::add_quantizer<matrix_codec<per_tile<1, 16>>, bfloat>("quantize", shape, output::plain, 1, by_tile, suffix);
    bench::add_quantizer<matrix_codec<per_tile<1, 128>>, bfloat>("quantize", shape, output::plain, 1, by_tile, suffix);
    bench::add_quantizer<matrix_codec<per_tensor>, bfloat>(
        "encode", shape, output::plain, 1,
        [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(encode<tuning>(memory.elements(), to, stream), "encode");
        },
        suffix);
    bench::add_quantizer<matrix_codec<per_tile<1, 16>>, bfloat>(
        "dequantize", shape, output::plain, 1,
        [](const auto& memory, const auto&, cudaStream_t stream) {
            check(dequantize<tuning>(memory.both().plain, memory.elements(), stream), "dequantize");
        },
        suffix);
}
template<int Items, int Pieces, int Threads>
void add_rows_of_floats(matrix_shape shape)
{
    using tuning = bench::rows_cut<Items, Pieces, Threads, float>;
    bench::add_quantizer<matrix_codec<per_tile<1, 16>>, float>(
        "quantize", shape, output::plain, 1,
        [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(quantize<tuning>(memory.elements(), to, memory.workspace.data(), stream), "quantize");
        },
        "/items:" + std::to_string(Items) + "/pieces:" + std::to_string(Pieces)
            + "/threads:" + std::to_string(Threads));
}
template<int Columns, int Threads>
void add_tiles(matrix_shape shape)
{
    bench::add_quantizer<matrix_codec<per_tensor>, bfloat>(
        "encode", shape, output::both, 1,
        [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(encode<bench::tiles_cut<Columns, Threads>>(memory.elements(), to, stream), "encode");
        },
        "/tile_columns:" + std::to_string(Columns) + "/threads:" + std::to_string(Threads));
}
template<int Blocks, int Threads, int Pieces>
void add_scan(matrix_shape shape)
{
    bench::add_quantizer<matrix_codec<per_tensor>, bfloat>(
        "quantize", shape, output::plain, 2,
        [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(quantize<bench::scan_cut<Blocks, Threads, Pieces>>(
                      memory.elements(), to, memory.workspace.data(), stream),
                "quantize");
        },
        "/scan_blocks:" + std::to_string(Blocks) + "/scan_threads:" + std::to_string(Threads)
            + "/scan_pieces:" + std::to_string(Pieces));
}

}  // namespace

int main(int argument_count, char** arguments)
{
    const matrix_shape shape = bench::matrix_shapes().front();
    add_rows<8, 1, 256>(shape);
    add_rows<8, 2, 128>(shape);
    add_rows<8, 2, 256>(shape);
    add_rows<8, 2, 512>(shape);
    add_rows<8, 4, 128>(shape);
    add_rows<8, 4, 256>(shape);
    add_rows<16, 1, 128>(shape);
    add_rows<16, 1, 256>(shape);
    add_rows<16, 1, 512>(shape);
    add_rows<16, 2, 128>(shape);
    add_rows<16, 2, 256>(shape);
    add_rows_of_floats<4, 2, 256>(shape);
    add_rows_of_floats<8, 1, 256>(shape);
    add_rows_of_floats<8, 2, 128>(shape);
    add_tiles<64, 256>(shape);
    add_tiles<128, 256>(shape);
    add_tiles<128, 512>(shape);
    add_tiles<256, 1024>(shape);
    add_scan<264, 512, 4>(shape);
    add_scan<528, 512, 4>(shape);
    add_scan<528, 256, 8>(shape);
    add_scan<1024, 256, 4>(shape);
    add_scan<1024, 512, 2>(shape);
    return bench::run(argument_count, arguments);
}
