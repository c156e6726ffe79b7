// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the host level: the cases that a device runs too, and what is refused.
#include <gesso/operator/quantize.hpp>

#include "quantize_runs.hpp"

using namespace gesso;
using support::compressed_memory;
using support::matrix_memory;
using support::trial;

namespace {

// The host's functions with the arguments of the runs; each answers whether it succeeded.
struct host_runner {
    template<class T, class Codec, class TransposedCodec, class Rounding, class Nan>
    static bool quantize(matrix_memory<T>& values, compressed_memory<Codec>* plain,
        compressed_memory<TransposedCodec>* transposed, const Rounding& rounding, const Nan& nan)
    {
        return host_quantize(values.view(), outputs(plain, transposed), rounding, nan) == status::success;
    }
    template<class T, class Codec, class TransposedCodec, class Rounding>
    static bool encode(matrix_memory<T>& values, compressed_memory<Codec>* plain,
        compressed_memory<TransposedCodec>* transposed, const Rounding& rounding)
    {
        return host_encode(values.view(), outputs(plain, transposed), rounding) == status::success;
    }
    template<class Codec, class T>
    static bool dequantize(compressed_memory<Codec>& from, matrix_memory<T>& values)
    {
        return host_dequantize(from.view(), values.view()) == status::success;
    }
    template<class Codec, class TransposedCodec>
    static bool transpose(compressed_memory<Codec>& from, compressed_memory<TransposedCodec>& to)
    {
        const compressed_matrix<const Codec> reading = from.view();
        return host_transpose(reading, to.view()) == status::success;
    }
    template<class Unit, class T, class Amax, class Nan>
    static bool observe(matrix_memory<T>& values, matrix_memory<Amax>& amax, const Nan& nan)
    {
        return host_observe<Unit>(values.view(), amax.view(), nan) == status::success;
    }
    template<class Amax, class Codec>
    static bool fit(matrix_memory<Amax>& amax, compressed_memory<Codec>& to)
    {
        return host_fit(amax.view(), to.view()) == status::success;
    }

private:
    template<class Codec, class TransposedCodec>
    static quantized_matrix<Codec, TransposedCodec> outputs(
        compressed_memory<Codec>* plain, compressed_memory<TransposedCodec>* transposed)
    {
        quantized_matrix<Codec, TransposedCodec> to;
        if (plain != nullptr) to.plain = plain->view();
        if (transposed != nullptr) to.transposed = transposed->view();
        return to;
    }
};

template<class Format, class Granularity, class ScaleFormat = float32>
using plain_codec = codec<Format, identity, Granularity, ScaleFormat>;

// Which codecs, element types and units of stage one are tried together; every one of each occurs.
using tensor_of_rows = trial<host_runner, bf16, plain_codec<e4m3, per_tensor>, per_row>;
using tensor_of_tiles = trial<host_runner, float, plain_codec<e5m2, per_tensor, bfloat16>, per_tile<1, 16>>;
using tensor_of_blocks = trial<host_runner, fp16, plain_codec<e4m3, per_tensor>, per_tile<128, 128>>;
using rows = trial<host_runner, fp16, plain_codec<e4m3, per_row>>;
using columns = trial<host_runner, bf16, plain_codec<e5m2, per_column>>;
using tiles_4 = trial<host_runner, fp16, plain_codec<e5m2, per_tile<1, 4>, bfloat16>>;
using tiles_16 = trial<host_runner, bf16, plain_codec<e4m3, per_tile<1, 16>, bfloat16>>;
using tiles_16_fp32 = trial<host_runner, float, plain_codec<e4m3, per_tile<1, 16>, bfloat16>>;
using tiles_100 = trial<host_runner, float, plain_codec<e4m3, per_tile<1, 100>>>;
using tiles_128 = trial<host_runner, bf16, plain_codec<e4m3, per_tile<1, 128>>>;
using squares = trial<host_runner, bf16, plain_codec<e4m3, per_tile<128, 128>>>;
using squares_of_8 = trial<host_runner, float, plain_codec<e5m2, per_tile<8, 8>>>;
using microscaled = trial<host_runner, bf16, plain_codec<e4m3, per_tile<1, 32>, e8m0>>;
using microscaled_fp32 = trial<host_runner, float, plain_codec<e5m2, per_tile<1, 32>, e8m0>>;
// Tiles along the rows of both outputs: what two block-scaled products of the same matrix take.
using both_ways = trial<host_runner, bf16, plain_codec<e4m3, per_tile<1, 32>, e8m0>, per_tile<1, 32>,
    plain_codec<e4m3, per_tile<1, 32>, e8m0>>;
using both_ways_128 = trial<host_runner, float, plain_codec<e4m3, per_tile<1, 128>>, per_tile<1, 128>,
    plain_codec<e4m3, per_tile<1, 128>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, tensor_of_rows, tensor_of_tiles, tensor_of_blocks, rows, columns, tiles_4,
    tiles_16, tiles_16_fp32, tiles_100, tiles_128, squares, squares_of_8, microscaled, microscaled_fp32, both_ways,
    both_ways_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_stochastic, tensor_of_rows, columns, tiles_16, tiles_100, microscaled_fp32, both_ways);
TEST_CASE_TEMPLATE_INVOKE(
    quantize_nan, tensor_of_rows, tensor_of_tiles, rows, columns, tiles_16, squares, microscaled, both_ways_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_two_stages, tensor_of_rows, tensor_of_tiles, tensor_of_blocks, rows, columns, tiles_4,
    tiles_16, tiles_128, squares, microscaled);
TEST_CASE_TEMPLATE_INVOKE(quantize_given, tensor_of_rows, tensor_of_tiles, rows, tiles_16, squares_of_8, microscaled, both_ways);
TEST_CASE_TEMPLATE_INVOKE(
    dequantize_numbers, tensor_of_rows, tensor_of_blocks, columns, tiles_4, tiles_16_fp32, tiles_128, microscaled);
TEST_CASE_TEMPLATE_INVOKE(transpose_codes, tensor_of_rows, rows, columns, tiles_16, tiles_100, squares, microscaled);

}  // namespace support
