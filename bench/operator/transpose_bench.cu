// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Transposing codes, and the tilings of a block that transposes: where transpose_tuning comes from.
#include "quantize_case.cuh"

// (A kernel that is named for a type of an unnamed namespace is no kernel of the library: nvcc warns.)
namespace bench {

template<int Columns, int Threads>
struct tiling {
    static constexpr int tile_columns = Columns;
    static constexpr int tile_threads = Threads;
};

}  // namespace bench

namespace {

using namespace gesso;
using bench::check;
using bench::matrix_codec;
using bench::matrix_shape;
using bench::output;

// Adds transpose/... for a codec; codes are counted once read and once written.
template<class Codec, class Tuning = transpose_tuning>
void add_transpose(matrix_shape shape, const std::string& suffix = "")
{
    // A value of one byte in place of the code that is read.
    bench::add("transpose/tile:" + bench::tile_name<typename Codec::granularity>()
                   + "/scale:" + bench::scale_name<Codec>() + shape.name() + suffix,
        [=](benchmark::State& state) {
            bench::event_timer& timer = bench::event_timer::instance();
            const matrix_layout<Codec> layout{shape.rows, shape.columns};
            const index_t bytes =
                2 * (shape.elements() + layout.tiles() * index_t{sizeof(typename Codec::scale_code_type)});
            const double copy_seconds = timer.copy_seconds(bytes);
            const bench::quantizer_memory<Codec, __nv_bfloat16> memory(shape);
            const quantized_matrix<Codec> to = memory.both();
            bench::report(state, shape.elements(), bytes, copy_seconds,
                [&] { check(transpose<Tuning>(to.plain, to.transposed, timer.stream()), "transpose"); });
        });
}

template<int Columns, int Threads>
void add_tiling(matrix_shape shape)
{
    add_transpose<matrix_codec<per_tensor>, bench::tiling<Columns, Threads>>(
        shape, "/tile_columns:" + std::to_string(Columns) + "/threads:" + std::to_string(Threads));
}

}  // namespace

int main(int argument_count, char** arguments)
{
    for (const matrix_shape shape : bench::matrix_shapes()) {
        add_transpose<matrix_codec<per_tensor>>(shape);
        add_transpose<matrix_codec<per_tile<1, 128>>>(shape);
        add_transpose<matrix_codec<per_tile<1, 16>>>(shape);
    }
    const matrix_shape shape = bench::matrix_shapes().front();
    add_tiling<128, 256>(shape);
    add_tiling<256, 256>(shape);
    add_tiling<256, 512>(shape);
    return bench::run(argument_count, arguments);
}
