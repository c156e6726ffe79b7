// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the host level: what a device runs too (quantize_runs.hpp, quantize_cases.hpp), and what is refused.
#include <gesso/operator/quantize.hpp>

#include "quantize_cases.hpp"

#include <utility>

using namespace gesso;
using support::compressed_memory;
using support::matrix_memory;
using support::trial;

namespace {

// The host's functions with the arguments of the runs; each answers whether it succeeded.
struct host_runner {
    // How often to repeat what chance could hide: here nothing could.
    static constexpr int runs = 2;

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

using support::plain_codec;

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
TEST_CASE_TEMPLATE_INVOKE(
    quantize_stochastic, tensor_of_rows, columns, tiles_16, tiles_100, microscaled_fp32, both_ways);
TEST_CASE_TEMPLATE_INVOKE(
    quantize_nan, tensor_of_rows, tensor_of_tiles, rows, columns, tiles_16, squares, microscaled, both_ways_128);
TEST_CASE_TEMPLATE_INVOKE(quantize_two_stages, tensor_of_rows, tensor_of_tiles, tensor_of_blocks, rows, columns,
    tiles_4, tiles_16, tiles_128, squares, microscaled);
TEST_CASE_TEMPLATE_INVOKE(
    quantize_given, tensor_of_rows, tensor_of_tiles, rows, tiles_16, squares_of_8, microscaled, both_ways);
TEST_CASE_TEMPLATE_INVOKE(
    dequantize_numbers, tensor_of_rows, tensor_of_blocks, columns, tiles_4, tiles_16_fp32, tiles_128, microscaled);
TEST_CASE_TEMPLATE_INVOKE(transpose_codes, tensor_of_rows, rows, columns, tiles_16, tiles_100, squares, microscaled);

TEST_CASE_TEMPLATE_INVOKE(s13_bf16_scale, host_runner);
TEST_CASE_TEMPLATE_INVOKE(s14_outlier, host_runner);
TEST_CASE_TEMPLATE_INVOKE(s17_scale_never_set, host_runner);
TEST_CASE_TEMPLATE_INVOKE(s18_given_scale, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t01_tile_counts, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t02_row_lengths, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t04_addresses, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t05_strides, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t07_empty, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t10_rectangles, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t12_exact_size, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t13_tile_sizes, host_runner);
TEST_CASE_TEMPLATE_INVOKE(t15_transposed, host_runner);
TEST_CASE_TEMPLATE_INVOKE(r05_tiles_in_turn, host_runner);
TEST_CASE_TEMPLATE_INVOKE(r06_batches, host_runner);

}  // namespace support

namespace {

using activation = support::saved_activation;
using scaled_by_powers = plain_codec<e4m3, per_tile<1, 32>, e8m0>;

// A sound call of host_quantize with both outputs, to be made unsound.
struct quantizer_call {
    matrix_memory<float> values{4, 40};
    compressed_memory<activation> plain{4, 40};
    compressed_memory<transposed_codec<activation>> transposed{40, 4};

    // The answer to the call after `change`; whatever it is but success, nothing may have been written.
    template<class Change>
    status answer(Change change)
    {
        matrix_ref<const float> from{values.view().data, 4, 40, 40};
        quantized_matrix<activation> to{plain.view(), transposed.view()};
        change(from, to);
        const status answered = host_quantize(from, to, nearest_even{}, propagate_nan{});
        if (answered != status::success) {
            CHECK(host_encode(from, to) == answered);
            CHECK(is_untouched(plain));
            CHECK(is_untouched(transposed));
        }
        return answered;
    }
    template<class Codec>
    static bool is_untouched(compressed_memory<Codec>& memory)
    {
        for (const std::uint32_t code : support::codes_of(memory)) {
            if (code != support::matrix_canary) return false;
        }
        for (const std::uint32_t scale : support::scales_of(memory)) {
            if (scale != compressed_memory<Codec>::scale_canary()) return false;
        }
        return true;
    }
};

}  // namespace

TEST_CASE("misuse of quantize and encode is answered, and nothing is written, neither output nor flag")
{
    quantizer_call call;
    const auto answer = [&](auto change) { return call.answer(change); };
    CHECK(answer([](auto& from, auto&) { from.data = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto& to) { to.plain.codes = nullptr, to.transposed.codes = nullptr; })
          == status::null_pointer);
    CHECK(answer([](auto&, auto& to) { to.plain.scales = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto& to) { to.transposed.scales = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto& from, auto&) { from.rows = -1; }) == status::negative_count);
    CHECK(answer([](auto& from, auto&) { from.columns = -1; }) == status::negative_count);
    CHECK(answer([](auto& from, auto&) { from.rows = 3; }) == status::size_mismatch);
    CHECK(answer([](auto& from, auto&) { from.stride = 39; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.plain.columns = 39; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.plain.stride = 39; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.plain.scale_stride = 2; }) == status::size_mismatch);
    // The transposed output last: the plain one, which is sound, must not have been written either.
    CHECK(
        answer([](auto&, auto& to) { std::swap(to.transposed.rows, to.transposed.columns); }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.transposed.stride = 3; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.transposed.scale_stride = 3; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.transposed.order = scale_order::cublaslt; }) == status::invalid_scale_order);
    CHECK(answer([](auto&, auto& to) { to.plain.order = scale_order::cublaslt; }) == status::invalid_scale_order);

    const quantized_matrix<activation> sound{call.plain.view(), {}};
    CHECK(host_quantize(call.values.view(), sound, nearest_even{}, flag_nan{}) == status::null_pointer);
    CHECK(quantizer_call::is_untouched(call.plain));
    call.values.set(3, 39, std::numeric_limits<float>::infinity());
    std::uint32_t flag = 0;
    quantized_matrix<activation> unsound = sound;
    unsound.plain.stride = 1;
    CHECK(host_quantize(call.values.view(), unsound, nearest_even{}, flag_nan{&flag}) == status::size_mismatch);
    CHECK(flag == 0);
    CHECK(host_quantize(call.values.view(), sound, nearest_even{}, flag_nan{&flag}) == status::success);
    CHECK(flag == 1);
}

TEST_CASE("misuse of dequantize, transpose, observe and fit is answered, and nothing is written")
{
    matrix_memory<float> values(4, 40);
    compressed_memory<activation> plain(4, 40);
    compressed_memory<transposed_codec<activation>> transposed(40, 4);
    matrix_memory<float> amax(4, 3);

    CHECK(host_dequantize(plain.view(), matrix_ref<float>{nullptr, 4, 40, 40}) == status::null_pointer);
    CHECK(host_dequantize(plain.view(), matrix_ref<float>{values.view().data, 4, 39, 40}) == status::size_mismatch);
    const auto transpose = [&](auto change) {
        auto from = plain.view();
        auto to = transposed.view();
        change(from, to);
        return host_transpose(from, to);
    };
    CHECK(transpose([](auto& from, auto&) { from.codes = nullptr; }) == status::null_pointer);
    CHECK(transpose([](auto&, auto& to) { to.codes = nullptr; }) == status::null_pointer);
    CHECK(transpose([](auto& from, auto&) { from.rows = 3; }) == status::size_mismatch);
    CHECK(transpose([](auto&, auto& to) { std::swap(to.rows, to.columns); }) == status::size_mismatch);
    CHECK(transpose([](auto&, auto& to) { to.rows = -40; }) == status::negative_count);

    using unit = per_tile<1, 16>;
    const auto observe = [&](auto change) {
        auto from = values.view();
        auto to = amax.view();
        change(from, to);
        return host_observe<unit>(from, to);
    };
    CHECK(observe([](auto& from, auto&) { from.data = nullptr; }) == status::null_pointer);
    CHECK(observe([](auto&, auto& to) { to.data = nullptr; }) == status::null_pointer);
    CHECK(observe([](auto&, auto& to) { to.columns = 2; }) == status::size_mismatch);
    CHECK(observe([](auto&, auto& to) { to.rows = 5; }) == status::size_mismatch);
    CHECK(observe([](auto&, auto& to) { to.stride = 2; }) == status::size_mismatch);
    CHECK(observe([](auto&, auto& to) { to.rows = -1; }) == status::negative_count);
    CHECK(host_observe<unit>(values.view(), amax.view(), flag_nan{}) == status::null_pointer);
    CHECK(amax.is_intact());
    CHECK(bits_of(amax.number(0, 0)) == 0xC7C7C7C7u);

    const auto fit = [&](auto change) {
        auto from = amax.view();
        auto to = plain.view();
        change(from, to);
        return host_fit(from, to);
    };
    CHECK(fit([](auto& from, auto&) { from.data = nullptr; }) == status::null_pointer);
    CHECK(fit([](auto&, auto& to) { to.scales = nullptr; }) == status::null_pointer);
    CHECK(fit([](auto& from, auto&) { from.columns = 2; }) == status::size_mismatch);
    CHECK(fit([](auto& from, auto&) { from.rows = 5; }) == status::size_mismatch);
    CHECK(fit([](auto&, auto& to) { to.scale_stride = 2; }) == status::size_mismatch);
    CHECK(quantizer_call::is_untouched(plain));
    CHECK(quantizer_call::is_untouched(transposed));
    // Scales may be fitted before there is memory for codes.
    CHECK(fit([](auto&, auto& to) { to.codes = nullptr; }) == status::success);
}

TEST_CASE("scales in cuBLASLt's order: what is written, and what is left, of blocks and of padding")
{
    matrix_memory<float> values = support::matrix_of<float>(
        130, 200, [](int row, int column) { return std::ldexp(1.0, row % 20 - column / 32); });
    // The matrix of scales is 130 x 7, so 2 x 2 blocks, and one block a row more than needed.
    compressed_memory<scaled_by_powers> to(130, 200, {0, 4, 0, scale_order::cublaslt});
    REQUIRE(host_runner::quantize(values, &to, support::no_transpose<scaled_by_powers>, nearest_even{}, ignore_nan{}));
    CHECK(to.stored_scales() == 2 * 3 * 512);
    // amax 2^(19 - 6) / 448 rounds up to 2^5, code 132; the place is counted by hand: row 39 is in the first block row,
    // on line 7 of 32, second quarter; column 6 in the second block, third place.
    CHECK(to.scale(512 + 7 * 16 + 4 + 2) == 132);
    // Row 129, column 0: fourth block (three a row), line 1. amax 2^9 / 448 is above 1, so 2^1.
    CHECK(to.scale(3 * 512 + 16) == 128);
    CHECK(to.scale(512 + 3) == 0);                       // column 7: padding of an edge block
    CHECK(to.scale(3 * 512 + 2 * 16) == 0);              // row 130: padding of an edge block
    CHECK(to.scale(2 * 512) == support::matrix_canary);  // the block that nobody owns
    // Encode reads scales and writes none: padding stays what it is.
    to.view().scales[512 + 3] = 0xFF;
    REQUIRE(host_runner::encode(values, &to, support::no_transpose<scaled_by_powers>, nearest_even{}));
    CHECK(to.scale(512 + 3) == 0xFF);
}

TEST_CASE_TEMPLATE("a number comes back within half a step of its code", Trial, tensor_of_tiles, tiles_16_fp32,
    tiles_100, microscaled_fp32)
{
    using codec_type = typename Trial::codec_type;
    using format = typename codec_type::format;
    support::tally failures;
    for (const support::kind_of_values kind : {support::kind_of_values::mild, support::kind_of_values::wild}) {
        matrix_memory<float> values(130, 259);
        const oracle::dense_matrix dense = support::fill(values, kind, 11);
        compressed_memory<codec_type> to(130, 259);
        matrix_memory<float> back(130, 259);
        REQUIRE(host_runner::quantize(values, &to, support::no_transpose<codec_type>, nearest_even{}, ignore_nan{}));
        REQUIRE(host_runner::dequantize(to, back));
        const oracle::matrix_format how = support::format_of<codec_type>();
        const auto view = to.view();
        for (index_t row = 0; row < 130; ++row) {
            for (index_t column = 0; column < 259; ++column) {
                const index_t place = view.scale_index(row / view.tile_rows(), column / view.tile_columns());
                const double scale = oracle::scale_of(to.scale(static_cast<std::size_t>(place)), how);
                const double x = dense.at(row, column);
                const double error = std::fabs(static_cast<double>(back.number(row, column)) - x);
                const double half_step = std::fmax(std::ldexp(std::fabs(x), -format::mantissa_bits - 1),
                    static_cast<double>(format::min_positive()) / 2 * scale);
                failures.expect(error <= half_step + std::fabs(x) * 3 * 0x1p-24 + 0x1p-149,
                    [&](auto& out) { out << x << " came back with an error of " << error << ", bound " << half_step; });
            }
        }
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}
