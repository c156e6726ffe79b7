// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers by tiles, to given scales and just in time per tensor, and the way back.
#include "quantize_case.cuh"

namespace {

using namespace gesso;
using bench::check;
using bench::matrix_codec;
using bench::matrix_shape;
using bench::output;
using bfloat = __nv_bfloat16;

template<class Codec, class T = bfloat>
void add_quantize(matrix_shape shape, output wanted)
{
    constexpr int reads = Codec::granularity::tile_rows == 0 ? 2 : 1;
    bench::add_quantizer<Codec, T>(
        "quantize", shape, wanted, reads, [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(quantize(memory.elements(), to, memory.workspace.data(), stream), "quantize");
        });
}
template<class Codec>
void add_one_launch(matrix_shape shape, output wanted)
{
    bench::add_quantizer<Codec, bfloat>(
        "quantize_one_launch", shape, wanted, 2, [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(quantize_one_launch(
                      memory.elements(), to, nearest_even{}, ignore_nan{}, memory.workspace.data(), stream),
                "quantize_one_launch");
        });
}
template<class Codec, class T = bfloat>
void add_encode(matrix_shape shape, output wanted)
{
    bench::add_quantizer<Codec, T>(
        "encode", shape, wanted, 1, [](const auto& memory, const auto& to, cudaStream_t stream) {
            check(encode(memory.elements(), to, stream), "encode");
        });
}
template<class Codec, class T = bfloat>
void add_dequantize(matrix_shape shape)
{
    bench::add_quantizer<Codec, T>(
        "dequantize", shape, output::plain, 1, [](const auto& memory, const auto&, cudaStream_t stream) {
            check(dequantize(memory.both().plain, memory.elements(), stream), "dequantize");
        });
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using by_16 = matrix_codec<per_tile<1, 16>>;
    using by_128 = matrix_codec<per_tile<1, 128>>;
    using by_32 = matrix_codec<per_tile<1, 32>, e8m0>;
    using by_square = matrix_codec<per_tile<128, 128>>;
    using by_tensor = matrix_codec<per_tensor>;
    for (const matrix_shape shape : bench::matrix_shapes()) {
        add_quantize<by_16>(shape, output::plain);
        add_quantize<by_128>(shape, output::plain);
        add_quantize<by_32>(shape, output::plain);
        add_quantize<by_square>(shape, output::plain);
        add_quantize<by_square>(shape, output::both);
        add_quantize<by_16, float>(shape, output::plain);
        add_quantize<by_128>(shape, output::both);
        add_quantize<by_tensor>(shape, output::plain);
        add_quantize<by_tensor>(shape, output::both);
        add_one_launch<by_tensor>(shape, output::plain);
        add_one_launch<by_tensor>(shape, output::both);
        add_encode<by_tensor>(shape, output::plain);
        add_encode<by_tensor>(shape, output::both);
        add_encode<by_tensor>(shape, output::transposed);
        add_encode<by_16>(shape, output::both);
        add_dequantize<by_16>(shape);
        add_dequantize<by_128>(shape);
        add_dequantize<by_32>(shape);
        add_dequantize<by_tensor>(shape);
        add_dequantize<by_16, float>(shape);
    }
    return bench::run(argument_count, arguments);
}
