// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Cases of public fault reports on quantizers, for the host and a device alike: the ids S.., T.. and R.. name them. A
// test program instantiates each for its runner: TEST_CASE_TEMPLATE_INVOKE(s14_outlier, runner);
#pragma once

#include "quantize_runs.hpp"

namespace support {

using gesso::bf16;
using gesso::index_t;
template<class Format, class Granularity, class ScaleFormat = gesso::float32>
using plain_codec = gesso::codec<Format, gesso::identity, Granularity, ScaleFormat>;
using groups_of_128 = plain_codec<gesso::e4m3, gesso::per_tile<1, 128>>;
using groups_of_16 = plain_codec<gesso::e4m3, gesso::per_tile<1, 16>>;
using whole_tensor = plain_codec<gesso::e4m3, gesso::per_tensor>;
using saved_activation = plain_codec<gesso::e4m3, gesso::per_tile<1, 16>, gesso::bfloat16>;

// number(row, column) of ints: the number at a place, rounded to T.
template<class T, class Number>
matrix_memory<T> matrix_of(
    std::int64_t rows, std::int64_t columns, Number number, std::int64_t stride = 0, std::size_t offset = 0)
{
    matrix_memory<T> memory(rows, columns, stride, offset);
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            memory.set(row, column,
                gesso::element<T>::store(static_cast<float>(number(static_cast<int>(row), static_cast<int>(column)))));
        }
    }
    memory.poison_padding();
    return memory;
}

template<class Codec>
std::vector<std::uint32_t> codes_of(compressed_memory<Codec>& memory)
{
    std::vector<std::uint32_t> codes;
    for (std::int64_t row = 0; row < memory.view().rows; ++row) {
        for (std::int64_t column = 0; column < memory.view().columns; ++column)
            codes.push_back(memory.code(row, column));
    }
    return codes;
}
template<class Codec>
std::vector<std::uint32_t> scales_of(compressed_memory<Codec>& memory)
{
    const auto view = memory.view();
    std::vector<std::uint32_t> scales;
    for (std::int64_t row = 0; row < view.tiles().down(); ++row) {
        for (std::int64_t column = 0; column < view.tiles().across(); ++column) {
            scales.push_back(memory.scale(static_cast<std::size_t>(view.scale_index(row, column))));
        }
    }
    return scales;
}
inline std::uint32_t fp32_scale(double scale) { return oracle::bits_of_value(scale); }

// No transposed output, for runners, which deduce its codec.
template<class Codec>
constexpr compressed_memory<gesso::transposed_codec<Codec>>* no_transpose = nullptr;

template<class Runner, class Codec, class T, class Rounding = gesso::nearest_even>
bool quantize_plain(matrix_memory<T>& values, compressed_memory<Codec>& to, const Rounding& rounding = {})
{
    return Runner::quantize(values, &to, no_transpose<Codec>, rounding, gesso::ignore_nan{});
}

TEST_CASE_TEMPLATE_DEFINE("S13 a bf16 scale is rounded up: no amax passes the largest code", Runner, s13_bf16_scale)
{
    // Every bf16 amax of one binade is a row of its own; the fp32 amax of the report is the last one.
    const auto amax_of = [](int row, int) { return row < 128 ? 1 + row / 128.0 : 1.7568359375; };
    const auto try_format = [&](auto format, std::uint32_t largest) {
        using codec_type = plain_codec<decltype(format), gesso::per_row, gesso::bfloat16>;
        matrix_memory<float> values = matrix_of<float>(129, 1, amax_of);
        compressed_memory<codec_type> to(129, 1);
        REQUIRE(quantize_plain<Runner>(values, to));
        CHECK(codes_of(to) == std::vector<std::uint32_t>(129, largest));
        // Not by luck: no scale is too small.
        for (int row = 0; row < 129; ++row) {
            const double scale = oracle::bfloat16().decode(to.scale(static_cast<std::size_t>(row)));
            CHECK(scale * static_cast<double>((decltype(format)::max)()) >= static_cast<double>(values.number(row, 0)));
        }
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            REQUIRE(quantize_plain<Runner>(values, to, gesso::stochastic{seed, 1}));
            for (const std::uint32_t code : codes_of(to)) CHECK((code == largest || code + 1 == largest));
        }
    };
    try_format(gesso::e4m3{}, 0x7E);
    try_format(gesso::e5m2{}, 0x7B);
}

TEST_CASE_TEMPLATE_DEFINE(
    "S14 one huge outlier costs its own tile only, also at the last place of a tile", Runner, s14_outlier)
{
    for (const std::int64_t outlier : {5, 127}) {
        matrix_memory<float> values = matrix_of<float>(1, 256, [&](int, int column) {
            return column == outlier ? 448000.0 : column == 20 ? 0.97 : column == 21 ? 2.0 : column == 22 ? 10.0 : 1.0;
        });
        compressed_memory<groups_of_128> tiles(1, 256);
        compressed_memory<whole_tensor> tensor(1, 256);
        REQUIRE(quantize_plain<Runner>(values, tiles));
        REQUIRE(quantize_plain<Runner>(values, tensor));
        CHECK(scales_of(tiles) == std::vector<std::uint32_t>{fp32_scale(1000.0), fp32_scale(1.0 / 448)});
        for (std::int64_t column = 0; column < 256; ++column) {
            const std::uint32_t beside = column == 20 ? 0x00u : column == 22 ? 0x05u : 0x01u;
            const std::uint32_t in_tensor = column == outlier ? 0x7Eu : beside;
            CHECK(tensor.code(0, column) == in_tensor);
            CHECK(tiles.code(0, column) == (column < 128 ? in_tensor : 0x7Eu));
        }
    }
}

TEST_CASE_TEMPLATE_DEFINE(
    "S17 a scale that was never set becomes NaN, not garbage that looks like data", Runner, s17_scale_never_set)
{
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double scale : {-3.4028234663852886e38, -1.0, infinity, std::nan(""), 0.0, -0.0}) {
        CAPTURE(scale);
        matrix_memory<float> values = matrix_of<float>(2, 20, [](int, int column) { return column - 5.0; });
        compressed_memory<whole_tensor> to(2, 20);
        to.view().scales[0] = oracle::bits_of_value(scale);
        REQUIRE(Runner::encode(values, &to, no_transpose<whole_tensor>, gesso::nearest_even{}));
        CHECK(codes_of(to) == std::vector<std::uint32_t>(40, 0x7Fu));
        CHECK(scales_of(to) == std::vector<std::uint32_t>{oracle::bits_of_value(scale)});
        matrix_memory<float> back(2, 20);
        REQUIRE(Runner::dequantize(to, back));
        for (std::int64_t column = 0; column < 20; ++column) CHECK(std::isnan(back.number(1, column)));
    }
}

TEST_CASE_TEMPLATE_DEFINE(
    "S18 a given scale that is too small saturates, and so does a delayed one", Runner, s18_given_scale)
{
    const double numbers[5] = {10, -10, 4.6, 4.65, 0.01};
    const auto number = [&](int, int column) { return numbers[column]; };
    const std::vector<std::uint32_t> expected{0x7E, 0xFE, 0x7E, 0x7E, 0x38};
    matrix_memory<float> values = matrix_of<float>(1, 5, number);
    compressed_memory<whole_tensor> to(1, 5);
    compressed_memory<whole_tensor> turned(5, 1);
    to.view().scales[0] = turned.view().scales[0] = fp32_scale(static_cast<double>(0.01f));
    REQUIRE(Runner::encode(values, &to, &turned, gesso::nearest_even{}));
    CHECK(codes_of(to) == expected);
    CHECK(codes_of(turned) == expected);

    // Delayed scaling: the scale of the largest amax of the last steps, none of which has seen a 10.
    matrix_memory<float> history = matrix_of<float>(1, 4, [](int, int step) { return 1.12 * (step + 1); });
    compressed_memory<whole_tensor> delayed(1, 5);
    REQUIRE(Runner::fit(history, delayed));
    CHECK(scales_of(delayed) == std::vector<std::uint32_t>{fp32_scale(static_cast<double>(4.48f) / 448)});
    REQUIRE(Runner::encode(values, &delayed, no_transpose<whole_tensor>, gesso::nearest_even{}));
    CHECK(codes_of(delayed) == expected);
    // No history at all is the scale of zeros; a NaN in it is not lost.
    matrix_memory<float> nothing(0, 0);
    REQUIRE(Runner::fit(nothing, delayed));
    CHECK(scales_of(delayed) == std::vector<std::uint32_t>{fp32_scale(std::ldexp(1.0, -126))});
    history.set(0, 1, std::numeric_limits<float>::quiet_NaN());
    REQUIRE(Runner::fit(history, delayed));
    CHECK(scales_of(delayed) == std::vector<std::uint32_t>{0x7FFFFFFFu});
    for (const float wrong : {std::numeric_limits<float>::infinity(), -1.0f}) {
        history.set(0, 1, wrong);
        REQUIRE(Runner::fit(history, delayed));
        CHECK(scales_of(delayed) == std::vector<std::uint32_t>{0x7FFFFFFFu});
    }
}

// One matrix through quantize with both outputs, against the oracle.
template<class Runner, class T, class Codec>
void expect_oracle(
    matrix_memory<T>& values, tally& failures, std::size_t plain_offset = 0, std::size_t turned_offset = 0)
{
    using target_type = gesso::transposed_codec<Codec>;
    const auto view = values.view();
    oracle::dense_matrix dense;
    dense.rows = view.rows;
    dense.columns = view.columns;
    for (std::int64_t row = 0; row < view.rows; ++row) {
        for (std::int64_t column = 0; column < view.columns; ++column) {
            dense.values.push_back(static_cast<double>(values.number(row, column)));
        }
    }
    compressed_memory<Codec> plain(view.rows, view.columns, {0, 0, plain_offset, gesso::scale_order::row_major});
    compressed_memory<target_type> turned(
        view.columns, view.rows, {0, 0, turned_offset, gesso::scale_order::row_major});
    REQUIRE(Runner::quantize(values, &plain, &turned, gesso::nearest_even{}, gesso::ignore_nan{}));
    expect_bytes(plain, oracle::quantize(dense, format_of<Codec>()), failures);
    expect_bytes(turned, oracle::quantize(dense.transposed(), format_of<target_type>()), failures);
    failures.expect(values.block().is_intact(), [](auto& out) { out << "the values were written"; });
}

TEST_CASE_TEMPLATE_DEFINE(
    "T01 any number of tiles: none is left out and nothing beyond the last is touched", Runner, t01_tile_counts)
{
    tally failures;
    for (const std::int64_t tiles : {1, 15, 16, 17, 31, 33}) {
        const auto number = [](int row, int column) { return 1.0 + static_cast<double>(row * 5 + column); };
        matrix_memory<bf16> in_a_row = matrix_of<bf16>(1, tiles * 128, number);
        matrix_memory<bf16> in_a_column = matrix_of<bf16>(tiles, 128, number);
        expect_oracle<Runner, bf16, groups_of_128>(in_a_row, failures);
        expect_oracle<Runner, bf16, groups_of_128>(in_a_column, failures);
        expect_oracle<Runner, bf16, saved_activation>(in_a_column, failures);
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T02 rows of any length, their starts at odd addresses", Runner, t02_row_lengths)
{
    tally failures;
    const auto number = [](int row, int column) { return static_cast<double>(row * 1000 + column); };
    for (const std::int64_t columns : {1, 1075, 1076, 1368}) {
        matrix_memory<bf16> values = matrix_of<bf16>(3, columns, number);
        expect_oracle<Runner, bf16, saved_activation>(values, failures);
        expect_oracle<Runner, bf16, whole_tensor>(values, failures);
        expect_oracle<Runner, bf16, groups_of_128>(values, failures);
    }
    for (std::int64_t columns = 1; columns <= 257; ++columns) {
        matrix_memory<bf16> values = matrix_of<bf16>(3, columns, number);
        expect_oracle<Runner, bf16, saved_activation>(values, failures);
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T04 every pair of addresses of input and outputs", Runner, t04_addresses)
{
    tally failures;
    const auto number = [](int row, int column) { return static_cast<double>(row * 46 + column - 700); };
    for (const std::size_t from : {0u, 2u, 4u, 8u}) {
        for (const std::size_t to : {0u, 1u, 2u, 4u, 8u}) {
            matrix_memory<bf16> values = matrix_of<bf16>(37, 46, number, 0, from);
            expect_oracle<Runner, bf16, saved_activation>(values, failures, to, to == 0 ? 1 : 0);
            expect_oracle<Runner, bf16, whole_tensor>(values, failures, to, to);
        }
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T05 a slice of columns is read by its parent's stride", Runner, t05_strides)
{
    tally failures;
    const auto number = [](int row, int column) { return static_cast<double>(row * 256 + column); };
    for (const std::int64_t stride : {128, 129, 256}) {
        matrix_memory<float> values = matrix_of<float>(4, 128, number, stride);
        expect_oracle<Runner, float, groups_of_128>(values, failures);
        expect_oracle<Runner, float, groups_of_16>(values, failures);
        expect_oracle<Runner, float, whole_tensor>(values, failures);
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T07 empty matrices are a success that needs no memory", Runner, t07_empty)
{
    const auto try_shape = [](std::int64_t rows, std::int64_t columns) {
        matrix_memory<float> values(rows, columns);
        compressed_memory<whole_tensor> tensor(rows, columns);
        compressed_memory<whole_tensor> turned(columns, rows);
        compressed_memory<groups_of_128> tiles(rows, columns);
        matrix_memory<float> amax(0, 0);
        CHECK(values.view().data == nullptr);
        CHECK(Runner::quantize(values, &tensor, &turned, gesso::nearest_even{}, gesso::propagate_nan{}));
        CHECK(Runner::encode(values, &tensor, &turned, gesso::nearest_even{}));
        CHECK(quantize_plain<Runner>(values, tiles));
        CHECK(Runner::transpose(tensor, turned));
        CHECK(Runner::dequantize(tiles, values));
        CHECK(Runner::template observe<gesso::per_row>(values, amax, gesso::ignore_nan{}));
        CHECK(Runner::fit(amax, tensor));
        CHECK(Runner::fit(amax, tiles));
    };
    try_shape(0, 128);
    try_shape(4, 0);
    try_shape(0, 0);
}

TEST_CASE_TEMPLATE_DEFINE(
    "T10 transposed stores of rectangles: no element left out, none outside", Runner, t10_rectangles)
{
    tally failures;
    const shape rectangles[] = {{32, 256}, {256, 32}, {2, 4}, {96, 160}};
    for (const shape& size : rectangles) {
        // Every row of 16 has codes that differ from their neighbours'.
        matrix_memory<float> values = matrix_of<float>(size.rows, size.columns,
            [](int row, int column) { return static_cast<double>((row * 7 + column * 3) % 61 - 30); });
        expect_oracle<Runner, float, whole_tensor>(values, failures);
        expect_oracle<Runner, float, groups_of_16>(values, failures);
        compressed_memory<whole_tensor> plain(size.rows, size.columns);
        compressed_memory<whole_tensor> turned(size.columns, size.rows);
        REQUIRE(quantize_plain<Runner>(values, plain));
        REQUIRE(Runner::transpose(plain, turned));
        for (std::int64_t row = 0; row < size.rows; ++row) {
            for (std::int64_t column = 0; column < size.columns; ++column) {
                failures.expect(turned.code(column, row) == plain.code(row, column),
                    [&](auto& out) { out << "code (" << column << ", " << row << ") of the transpose"; });
            }
        }
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T12 memory of the exact size, and padded rows whose padding stays", Runner, t12_exact_size)
{
    tally failures;
    const auto number = [](int row, int column) { return static_cast<double>(row + column); };
    for (const std::int64_t columns : {3, 130}) {
        for (const std::int64_t padding : {0, 2}) {
            matrix_memory<float> values = matrix_of<float>(5, columns, number, columns + padding);
            expect_oracle<Runner, float, groups_of_128>(values, failures);
            compressed_memory<groups_of_128> to(5, columns, {padding, padding, 0, gesso::scale_order::row_major});
            matrix_memory<float> back(5, columns, columns + padding);
            REQUIRE(quantize_plain<Runner>(values, to));
            REQUIRE(Runner::dequantize(to, back));
            CHECK(to.is_intact());
            CHECK(back.is_intact());
        }
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

template<class Runner, int Size>
void rising_groups(tally& failures)
{
    // The report's two groups of 16, and then one amax for each group.
    using codec_type = plain_codec<gesso::e4m3, gesso::per_tile<1, Size>>;
    matrix_memory<float> values =
        matrix_of<float>(2, 9 * Size + 1, [](int row, int column) { return static_cast<double>(row * 1000 + column); });
    expect_oracle<Runner, float, codec_type>(values, failures);
    matrix_memory<float> constants =
        matrix_of<float>(1, 2 * Size, [](int, int column) { return column < Size ? 100.0 : 1.0; });
    compressed_memory<codec_type> to(1, 2 * Size);
    REQUIRE(quantize_plain<Runner>(constants, to));
    CHECK(scales_of(to) == std::vector<std::uint32_t>{fp32_scale(100.0 / 448), fp32_scale(1.0 / 448)});
    CHECK(codes_of(to) == std::vector<std::uint32_t>(2 * Size, 0x7Eu));
}
TEST_CASE_TEMPLATE_DEFINE("T13 tiles smaller and larger than a warp have each its own amax", Runner, t13_tile_sizes)
{
    tally failures;
    rising_groups<Runner, 4>(failures);
    rising_groups<Runner, 8>(failures);
    rising_groups<Runner, 16>(failures);
    rising_groups<Runner, 32>(failures);
    rising_groups<Runner, 64>(failures);
    rising_groups<Runner, 128>(failures);
    rising_groups<Runner, 256>(failures);
    rising_groups<Runner, 512>(failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE(
    "T15 the transposed bytes are the plain bytes transposed, run after run", Runner, t15_transposed)
{
    generator::random_source random(15);
    const auto number = [&](int, int) { return random.normal(); };
    const auto try_codec = [&](auto codec, std::int64_t rows, int runs) {
        using codec_type = decltype(codec);
        using target_type = gesso::transposed_codec<codec_type>;
        matrix_memory<bf16> values = matrix_of<bf16>(rows, 1000, number);
        for (int run = 0; run < runs; ++run) {
            compressed_memory<codec_type> plain(rows, 1000);
            compressed_memory<target_type> turned(1000, rows);
            compressed_memory<target_type> moved(1000, rows);
            REQUIRE(Runner::quantize(values, &plain, &turned, gesso::stochastic{5, static_cast<std::uint64_t>(run)},
                gesso::propagate_nan{}));
            REQUIRE(Runner::transpose(plain, moved));
            CHECK(codes_of(turned) == codes_of(moved));
            CHECK(scales_of(turned) == scales_of(moved));
        }
    };
    try_codec(whole_tensor{}, 1024, Runner::runs);
    try_codec(saved_activation{}, 1000, Runner::runs);
}

TEST_CASE_TEMPLATE_DEFINE(
    "R05 many tiles one after the other, huge and small in turn: each scale its own", Runner, r05_tiles_in_turn)
{
    const auto size_of = [](int tile) { return std::ldexp(1.0, tile % 2 == 0 ? tile : -tile); };
    matrix_memory<float> values = matrix_of<float>(
        64, 512, [&](int row, int column) { return size_of(row) * (column == (row * 37) % 512 ? 1 : 0.25); });
    std::vector<std::uint32_t> scales;
    for (int row = 0; row < 64; ++row) scales.push_back(fp32_scale(size_of(row) / 448));
    for (int run = 0; run < Runner::runs; ++run) {
        compressed_memory<plain_codec<gesso::e4m3, gesso::per_row>> to(64, 512);
        REQUIRE(quantize_plain<Runner>(values, to));
        CHECK(scales_of(to) == scales);
    }
}

TEST_CASE_TEMPLATE_DEFINE("R06 a row has the same bytes in every run, alone and in any batch", Runner, r06_batches)
{
    const auto row_of = [](std::int64_t which, auto codec, std::int64_t rows) {
        using codec_type = decltype(codec);
        generator::random_source random(6);
        std::vector<double> row(200);
        for (double& value : row) value = random.normal();
        matrix_memory<bf16> values = matrix_of<bf16>(rows, 200,
            [&](int at, int column) { return at == which ? row[static_cast<std::size_t>(column)] : at % 17 - column; });
        compressed_memory<codec_type> to(rows, 200);
        REQUIRE(quantize_plain<Runner>(values, to));
        std::vector<std::uint32_t> bytes;
        for (std::int64_t column = 0; column < 200; ++column) bytes.push_back(to.code(which, column));
        const auto view = to.view();
        for (std::int64_t tile = 0; tile < view.tiles().across(); ++tile) {
            bytes.push_back(to.scale(static_cast<std::size_t>(view.scale_index(which, tile))));
        }
        return bytes;
    };
    const auto try_codec = [&](auto codec) {
        const std::vector<std::uint32_t> alone = row_of(0, codec, 1);
        for (int run = 0; run < Runner::runs; ++run) CHECK(row_of(7, codec, 8) == alone);
        CHECK(row_of(1000, codec, 4096) == alone);
    };
    try_codec(saved_activation{});
    try_codec(plain_codec<gesso::e4m3, gesso::per_row>{});
}

}  // namespace support
