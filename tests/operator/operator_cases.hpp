// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Cases of public fault reports on operators, for the host and a device alike: the ids A.., T.. and R.. name them. A test
// program instantiates each for its runner (operator_runs.hpp): TEST_CASE_TEMPLATE_INVOKE(a01_gelu_tanh, runner);
#pragma once

#include "operator_runs.hpp"

namespace support {

// A user's operator: the number itself.
struct copy_operator {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1]) { out[0] = in[0]; }
};

// One-input, one-output calls of a runner.
template<class Operator, class Runner, class Source, class Sink>
bool run_on(Source& from, Sink& to)
{
    return Runner::template pointwise<Operator>(std::tuple<Source&>(from), std::tuple<Sink&>(to));
}
template<class Operator, class Runner, class First, class Second, class... Sinks>
bool run_on_two(First& first, Second& second, Sinks&... to)
{
    return Runner::template pointwise<Operator>(
        std::tuple<First&, Second&>(first, second), std::tuple<Sinks&...>(to...));
}
// RMSNorm; rstd is left in `saved`.
template<class Runner, class Weight, class Source, class Sink>
bool run_rms_norm(
    Source& x, const std::vector<Weight>& weight, float epsilon, Sink& y, std::vector<float>* saved = nullptr)
{
    row_vectors<Weight> vectors;
    vectors.parameters = {weight};
    vectors.saved = {std::vector<float>(static_cast<std::size_t>(x.view().rows))};
    vectors.epsilon = epsilon;
    const bool done = Runner::template by_rows<gesso::rms_norm>(std::tuple<Source&>(x), vectors, std::tuple<Sink&>(y));
    if (saved != nullptr) *saved = vectors.saved[0];
    return done;
}

TEST_CASE_TEMPLATE_DEFINE("A01 GELU by tanh is a number wherever its input is one", Runner, a01_gelu_tanh)
{
    const double inputs[] = {-13.24, -13, 11, 15, 40, -40, 1, 0.5, -0.75, 3e38, -3e38};
    const double by_tanh[] = {0, 0, 11, 15, 40, 0, 0.841192, 0.345714, -0.170039, 3e38, 0};
    const double by_erf[] = {0, 0, 11, 15, 40, 0, 0.841345, 0.345731, -0.169971, 3e38, 0};
    const auto try_type = [&](auto zero, double tolerance) {
        using value_type = decltype(zero);
        matrix_memory<value_type> values =
            matrix_of<value_type>(1, 11, [&](int, int column) { return inputs[column]; });
        matrix_memory<float> y(1, 11);
        REQUIRE(run_on<gesso::gelu<gesso::gelu_kind::tanh>, Runner>(values, y));
        for (int i = 0; i < 11; ++i) {
            CHECK(
                std::fabs(static_cast<double>(y.number(0, i)) - by_tanh[i]) <= tolerance * (1 + std::fabs(by_tanh[i])));
        }
        CHECK(std::signbit(y.number(0, 5)));
        REQUIRE(run_on<gesso::gelu<gesso::gelu_kind::erf>, Runner>(values, y));
        for (int i = 0; i < 11; ++i) {
            CHECK(std::fabs(static_cast<double>(y.number(0, i)) - by_erf[i]) <= tolerance * (1 + std::fabs(by_erf[i])));
        }
    };
    try_type(0.0f, 1e-6);
    try_type(bf16{}, 5e-3);  // the inputs are rounded

    // In codes: 40 is the largest of its group, -13.24 a zero of either sign.
    matrix_memory<float> group = matrix_of<float>(1, 16, [&](int, int column) { return inputs[column % 9]; });
    compressed_memory<groups_of_16> codes(1, 16);
    REQUIRE(run_on<gesso::gelu<gesso::gelu_kind::tanh>, Runner>(group, codes));
    CHECK(codes.code(0, 4) == 0x7E);
    CHECK((codes.code(0, 0) & 0x7Fu) == 0);
    CHECK((codes.code(0, 5) & 0x7Fu) == 0);
}

TEST_CASE_TEMPLATE_DEFINE("an infinite or NaN input never becomes a number, a finite one never NaN", Runner, no_faults)
{
    const double infinity = std::numeric_limits<double>::infinity();
    const double inputs[] = {
        infinity, -infinity, std::nan(""), 3.4e38, -3.4e38, 1e-45, -1e-45, 0, -0.0, 88, -88, -104, 1e30, -1e30};
    matrix_memory<float> x = matrix_of<float>(1, 14, [&](int, int column) { return inputs[column]; });
    matrix_memory<float> ones = matrix_of<float>(1, 14, [](int, int) { return 1.0; });
    matrix_memory<float> y(1, 14);
    matrix_memory<float> dup(1, 14);
    const auto check = [&](const char* name, matrix_memory<float>& results) {
        CAPTURE(name);
        for (int i = 0; i < 14; ++i) {
            CAPTURE(inputs[i]);
            CHECK(std::isfinite(results.number(0, i)) == (i >= 3));
        }
    };
    const auto try_function = [&](auto function, const char* name) {
        using function_type = decltype(function);
        REQUIRE(run_on<gesso::activation<function_type>, Runner>(x, y));
        check(name, y);
        REQUIRE(run_on_two<gesso::activation_backward<function_type>, Runner>(x, ones, y));
        check(name, y);
        REQUIRE(run_on_two<gesso::gate_product<function_type>, Runner>(x, ones, y));
        check(name, y);
        REQUIRE(Runner::template pointwise<gesso::gate_product_backward<function_type>>(
            std::tie(x, ones, ones), std::tie(y, dup)));
        check(name, y);
        check(name, dup);
    };
    try_function(gesso::silu_function{}, "silu");
    try_function(gesso::gelu_function<gesso::gelu_kind::erf>{}, "gelu erf");
    try_function(gesso::gelu_function<gesso::gelu_kind::tanh>{}, "gelu tanh");
    REQUIRE(run_on_two<gesso::residual_add<gesso::float32>, Runner>(x, ones, y, dup));
    check("residual add", y);
    check("residual add", dup);
}

TEST_CASE_TEMPLATE_DEFINE("A04 sums of squares are fp32, whatever the input is", Runner, a04_fp16_squares)
{
    const auto try_rows = [](double size, int columns) {
        matrix_memory<gesso::fp16> x = matrix_of<gesso::fp16>(
            2, columns, [&](int row, int column) { return (row + column) % 2 == 0 ? size : -size; });
        compressed_memory<groups_of_128> codes(2, columns);
        matrix_memory<gesso::fp16> y(2, columns);
        const std::vector<float> ones(static_cast<std::size_t>(columns), 1.0f);
        REQUIRE(run_rms_norm<Runner>(x, ones, 1e-6f, y));
        REQUIRE(run_rms_norm<Runner>(x, ones, 1e-6f, codes));
        bool all = true;
        for (std::int64_t row = 0; row < 2; ++row) {
            for (std::int64_t column = 0; column < columns; ++column) {
                const bool is_negative = (row + column) % 2 != 0;
                all = all && y.get(row, column).bits == (is_negative ? 0xBC00u : 0x3C00u);
                all = all && codes.code(row, column) == (is_negative ? 0xFEu : 0x7Eu);
            }
        }
        CHECK(all);
    };
    try_rows(300, 512);
    try_rows(1000, 512);
    try_rows(16, 65536);
    try_rows(65504, 4096);
}

TEST_CASE_TEMPLATE_DEFINE("A05 every element of a row counts, whatever its length", Runner, a05_row_lengths)
{
    for (const int columns : {1, 3, 31, 33, 45, 180, 257, 1000, 1440, 1600, 2880, 4097}) {
        CAPTURE(columns);
        const std::vector<float> ones(static_cast<std::size_t>(columns), 1.0f);
        matrix_memory<float> x = matrix_of<float>(2, columns, [](int, int) { return 1.0; });
        matrix_memory<float> y(2, columns);
        compressed_memory<groups_of_128> codes(2, columns);
        REQUIRE(run_rms_norm<Runner>(x, ones, 0.0f, y));
        REQUIRE(run_rms_norm<Runner>(x, ones, 0.0f, codes));
        bool all = true;
        for (std::int64_t column = 0; column < columns; ++column) {
            all = all && y.number(0, column) == 1.0f && y.number(1, column) == 1.0f && codes.code(1, column) == 0x7E;
        }
        CHECK(all);
        // All of the energy in one place: nothing else may be lost or found.
        for (const int place : {0, columns / 2, columns - 1}) {
            const double root = std::sqrt(static_cast<double>(columns));
            matrix_memory<float> peak =
                matrix_of<float>(1, columns, [&](int, int column) { return column == place ? root : 0.0; });
            matrix_memory<float> normed(1, columns);
            REQUIRE(run_rms_norm<Runner>(peak, ones, 1e-6f, normed));
            bool others = true;
            for (std::int64_t column = 0; column < columns; ++column) {
                others = others && (column == place || normed.number(0, column) == 0.0f);
            }
            CHECK(others);
            CHECK(std::fabs(static_cast<double>(normed.number(0, place)) / root - 1) < 2e-6);
        }
    }
}

TEST_CASE_TEMPLATE_DEFINE("A07 codes are of the fp32 result: fused is quantizing it, byte for byte", Runner, a07_fused)
{
    // 1.0625001 lies just above the middle of two codes; rounded to bf16 first it would be the lower one.
    matrix_memory<float> x = matrix_of<float>(1, 2, [](int, int column) { return column == 0 ? 1.0625001 : 448.0; });
    compressed_memory<whole_tensor> codes(1, 2);
    REQUIRE(run_on<copy_operator, Runner>(x, codes));
    CHECK(codes.code(0, 0) == 0x39);
    CHECK(scales_of(codes) == std::vector<std::uint32_t>{fp32_scale(1.0)});

    tally failures;
    matrix_memory<bf16> values(300, 300);
    fill(values, kind_of_values::mild, 3);
    matrix_memory<float> y(300, 300);
    quantized_memory<whole_tensor> to{{300, 300}, {300, 300}};
    REQUIRE(run_on<gesso::silu, Runner>(values, y));
    REQUIRE(run_on<gesso::silu, Runner>(values, to));
    expect_sink(to, y, failures);
    const std::vector<bf16> weight(300, gesso::element<bf16>::store(0.75f));
    REQUIRE(run_rms_norm<Runner>(values, weight, 1e-5f, y));
    REQUIRE(run_rms_norm<Runner>(values, weight, 1e-5f, to));
    expect_sink(to, y, failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE(
    "A08 amax and codes are of the same numbers: of the stored sum where a sum is stored", Runner, a08_same_numbers)
{
    // fp32 1.005859375 is stored as 1.0078125.
    matrix_memory<float> a = matrix_of<float>(1, 16, [](int, int column) { return column == 3 ? 1.0 : 0.5; });
    matrix_memory<float> b = matrix_of<float>(1, 16, [](int, int column) { return column == 3 ? 0.005859375 : 0.0; });
    matrix_memory<bf16> sum(1, 16);
    compressed_memory<groups_of_16> codes(1, 16);
    REQUIRE(run_on_two<gesso::residual_add<>, Runner>(a, b, sum, codes));
    CHECK(sum.get(0, 3).bits == 0x3F81);
    CHECK(codes.code(0, 3) == 0x7E);
    CHECK(scales_of(codes) == std::vector<std::uint32_t>{fp32_scale(1.0078125 / 448)});

    tally failures;
    matrix_memory<bf16> x(130, 259);
    matrix_memory<bf16> y(130, 259);
    const oracle::dense_matrix of_x = fill(x, kind_of_values::mild, 5);
    fill(y, kind_of_values::mild, 6);
    matrix_memory<bf16> stored(130, 259);
    compressed_memory<saved_activation> saved(130, 259);
    REQUIRE(run_on_two<gesso::residual_add<>, Runner>(x, y, stored, saved));
    oracle::dense_matrix numbers = of_x;
    for (std::int64_t row = 0; row < 130; ++row) {
        for (std::int64_t column = 0; column < 259; ++column) {
            numbers.values[static_cast<std::size_t>(row * 259 + column)] =
                static_cast<double>(stored.number(row, column));
        }
    }
    expect_bytes(saved, oracle::quantize(numbers, format_of<saved_activation>()), failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("A09 the residual add rounds to nearest, and so has no drift", Runner, a09_no_drift)
{
    constexpr int count = 1000;
    generator::random_source random(1);
    matrix_memory<float> a(count, count);
    matrix_memory<float> b(count, count);
    for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t column = 0; column < count; ++column) {
            a.set(row, column, static_cast<float>(random.normal()));
            b.set(row, column, static_cast<float>(random.normal()));
        }
    }
    matrix_memory<bf16> sum(count, count);
    compressed_memory<saved_activation> codes(count, count);
    REQUIRE(run_on_two<gesso::residual_add<>, Runner>(a, b, sum, codes));
    double mean = 0;
    double square = 0;
    for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t column = 0; column < count; ++column) {
            const double exact =
                static_cast<double>(a.number(row, column)) + static_cast<double>(b.number(row, column));
            // The sign of the sum: truncation always shrinks.
            const double error = (static_cast<double>(sum.number(row, column)) - exact) * (exact < 0 ? -1 : 1);
            mean += error / count / count;
            square += error * error / count / count;
        }
    }
    CHECK(std::fabs(mean) < 3 * std::sqrt(square) / count);
}

TEST_CASE_TEMPLATE_DEFINE("A11 an fp32 weight keeps its digits beside bf16 activations", Runner, a11_weight_type)
{
    matrix_memory<bf16> x = matrix_of<bf16>(1, 8, [](int, int) { return 1.0; });
    matrix_memory<float> y(1, 8);
    REQUIRE(run_rms_norm<Runner>(x, std::vector<float>(8, 1.00390625f), 0.0f, y));
    CHECK(y.number(0, 7) == 1.00390625f);
    REQUIRE(run_rms_norm<Runner>(x, std::vector<bf16>(8, gesso::element<bf16>::store(1.00390625f)), 0.0f, y));
    CHECK(y.number(0, 7) == 1.0f);
}

TEST_CASE_TEMPLATE_DEFINE(
    "T02 rows of any length: every width from 1 to 257, and those of the report", Runner, t02_widths)
{
    tally failures;
    std::vector<int> widths{1075, 1076, 1368};
    for (int width = 1; width <= 257; ++width) widths.push_back(width);
    for (const int width : widths) {
        matrix_memory<bf16> x = matrix_of<bf16>(3, width, [](int row, int column) { return row - 1 + column / 200.0; });
        matrix_memory<float> y(3, width);
        compressed_memory<saved_activation> to(3, width);
        quantized_memory<gesso::product_codec> both{{3, width}, {width, 3}};
        failures.expect(run_on<gesso::silu, Runner>(x, y) && run_on<gesso::silu, Runner>(x, to)
                            && run_on<gesso::silu, Runner>(x, both),
            [&](auto& out) { out << "failed at width " << width; });
        expect_sink(to, y, failures);
        expect_sink(both, y, failures);
        const std::vector<float> weight(static_cast<std::size_t>(width), 1.5f);
        failures.expect(run_rms_norm<Runner>(x, weight, 1e-5f, y) && run_rms_norm<Runner>(x, weight, 1e-5f, to)
                            && run_rms_norm<Runner>(x, weight, 1e-5f, both),
            [&](auto& out) { out << "failed at width " << width; });
        expect_sink(to, y, failures);
        expect_sink(both, y, failures);
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T05 a column slice of a wider matrix gives what its packed copy gives", Runner, t05_slices)
{
    tally failures;
    for (const std::int64_t stride : {128, 129, 256}) {
        matrix_memory<float> x(4, 128, stride);
        fill(x, kind_of_values::wild, 9);
        matrix_memory<float> packed(4, 128);
        for (std::int64_t row = 0; row < 4; ++row) {
            for (std::int64_t column = 0; column < 128; ++column) packed.set(row, column, x.get(row, column));
        }
        const std::vector<float> weight(128, 0.5f);
        matrix_memory<float> y(4, 128);
        compressed_memory<saved_activation> strided(4, 128, {7, 2, 3});
        REQUIRE(run_on<gesso::gelu<>, Runner>(packed, y));
        REQUIRE(run_on<gesso::gelu<>, Runner>(x, strided));
        expect_sink(strided, y, failures);
        REQUIRE(run_rms_norm<Runner>(packed, weight, 1e-5f, y));
        REQUIRE(run_rms_norm<Runner>(x, weight, 1e-5f, strided));
        expect_sink(strided, y, failures);
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

// A user's operator that rises from zero on.
struct rising_square {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static constexpr float rises_from = 0.0f;
    static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1])
    {
        const float positive = in[0] < 0.0f ? 0.0f : in[0];
        out[0] = positive * positive;
    }
};

// The scale of a tensor is of its largest magnitude, wherever in it that is and whatever is beside it; packed rows and others
// have the same bytes.
template<class Operator, class Runner>
void try_rising(const char* name, tally& failures)
{
    const float infinity = gesso::float_of(0x7F800000u);
    const float nan = gesso::float_of(0x7FC00000u);
    constexpr int rows = 5;
    constexpr int columns = 208;
    const auto try_one = [&](const char* what, auto value) {
        matrix_memory<float> x(rows, columns);
        matrix_memory<float> wide(rows, columns, columns + 3);
        for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < columns; ++column) {
                x.set(row, column, value(row, column));
                wide.set(row, column, value(row, column));
            }
        }
        matrix_memory<float> y(rows, columns);
        compressed_memory<gesso::product_codec> codes(rows, columns);
        compressed_memory<gesso::product_codec> of_wide(rows, columns);
        REQUIRE(run_on<Operator, Runner>(x, y));
        REQUIRE(run_on<Operator, Runner>(x, codes));
        REQUIRE(run_on<Operator, Runner>(wide, of_wide));
        double amax = 0;
        for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < columns; ++column) {
                const double magnitude = std::fabs(static_cast<double>(y.number(row, column)));
                if (std::isfinite(magnitude)) amax = std::fmax(amax, magnitude);
                failures.expect(codes.code(row, column) == of_wide.code(row, column), [&](auto& out) {
                    out << name << ", " << what << ": code (" << row << ", " << column << ") depends on the stride";
                });
            }
        }
        const auto scale_of = [](auto& memory) { return static_cast<double>(gesso::float_of(memory.scale(0))); };
        const double expected = std::fmax(amax / 448, 0x1p-126);
        failures.expect(codes.scale(0) == of_wide.scale(0),
            [&](auto& out) { out << name << ", " << what << ": the scale depends on the stride"; });
        failures.expect(std::fabs(scale_of(codes) / expected - 1) < 0x1p-20, [&](auto& out) {
            out << name << ", " << what << ": scale " << scale_of(codes) << ", expected " << expected;
        });
    };
    const auto below = [](int row, int column) { return -0.01f * static_cast<float>(row * 31 + column % 50); };
    try_one("all below", below);
    try_one("small", [](int row, int column) { return 1e-3f * static_cast<float>((row * 7 + column) % 11 - 5); });
    try_one("one above, first", [&](int row, int column) { return row + column == 0 ? 3.0f : below(row, column); });
    try_one("one above, last", [&](int row, int column) {
        return row == rows - 1 && column == columns - 1 ? 700.0f : below(row, column);
    });
    try_one("many above", [](int row, int column) { return static_cast<float>((row * 53 + column * 17) % 97) * 0.25f - 9; });
    try_one("faults beside", [&](int row, int column) {
        if (column % 16 == 3) return row % 2 == 0 ? infinity : -infinity;
        if (column % 16 == 9) return nan;
        return column == 100 ? 2.5f : below(row, column);
    });
    try_one("one output beyond fp32", [&](int row, int column) {
        return column == 77 && row == 2 ? 3e38f : static_cast<float>((row * 53 + column * 17) % 97) * 0.25f - 9;
    });
    try_one("faults alone", [&](int, int column) { return column % 2 == 0 ? nan : infinity; });
}

TEST_CASE_TEMPLATE_DEFINE("operators that rise: a tensor's scale is of its greatest input", Runner, rising_scales)
{
    tally failures;
    try_rising<gesso::silu, Runner>("silu", failures);
    try_rising<gesso::gelu<>, Runner>("gelu", failures);
    try_rising<gesso::gelu<gesso::gelu_kind::tanh>, Runner>("gelu by tanh", failures);
    try_rising<rising_square, Runner>("square", failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("T12 memory of exactly the size, with whatever lies beside it", Runner, t12_operators)
{
    matrix_memory<float> x = matrix_of<float>(1, 3, [](int, int column) { return column - 1.0; });
    compressed_memory<saved_activation> to(1, 3);
    REQUIRE(run_on<gesso::silu, Runner>(x, to));
    CHECK(to.is_intact());
    // Padding of rows holds NaN and huge numbers in turn: it may enter no sum, no scale and no result.
    matrix_memory<bf16> padded = matrix_of<bf16>(
        5, 130, [](int, int) { return 2.0; }, 132);
    matrix_memory<bf16> y(5, 130, 132);
    REQUIRE(run_rms_norm<Runner>(padded, std::vector<float>(130, 1.0f), 0.0f, y));
    CHECK(y.is_intact());
    for (std::int64_t row = 0; row < 5; ++row) CHECK(y.number(row, 129) == 1.0f);
}

TEST_CASE_TEMPLATE_DEFINE("R06 a row's bytes depend neither on the batch nor on the run", Runner, r06_operators)
{
    const auto row_in_batch = [](std::int64_t rows, std::int64_t place) {
        matrix_memory<bf16> x(rows, 333);
        fill(x, kind_of_values::mild, 20);
        generator::random_source random(4);
        for (std::int64_t column = 0; column < 333; ++column) {
            x.set(place, column, gesso::element<bf16>::store(static_cast<float>(random.normal())));
        }
        matrix_memory<float> y(rows, 333);
        compressed_memory<saved_activation> codes(rows, 333);
        std::vector<float> rstd;
        REQUIRE(run_rms_norm<Runner>(x, std::vector<float>(333, 1.0f), 1e-5f, y, &rstd));
        REQUIRE(run_rms_norm<Runner>(x, std::vector<float>(333, 1.0f), 1e-5f, codes));
        std::vector<std::uint32_t> bits{gesso::bits_of(rstd[static_cast<std::size_t>(place)])};
        for (std::int64_t column = 0; column < 333; ++column) {
            bits.push_back(gesso::bits_of(y.get(place, column)));
            bits.push_back(codes.code(place, column));
        }
        return bits;
    };
    const std::vector<std::uint32_t> alone = row_in_batch(1, 0);
    for (int run = 0; run < Runner::runs; ++run) {
        CHECK(row_in_batch(1, 0) == alone);
        CHECK(row_in_batch(8, 7) == alone);
        CHECK(row_in_batch(1200, 1000) == alone);
    }
    // Weight gradients: the same in every run.
    matrix_memory<bf16> x(700, 65);
    matrix_memory<bf16> dy(700, 65);
    fill(x, kind_of_values::mild, 1);
    fill(dy, kind_of_values::mild, 2);
    std::vector<float> first;
    for (int run = 0; run <= Runner::runs; ++run) {
        matrix_memory<bf16> dx(700, 65);
        row_vectors<float> vectors;
        vectors.parameters = {std::vector<float>(65, 1.0f)};
        vectors.given = {std::vector<float>(700, 0.8f)};
        vectors.column_sums = {std::vector<float>(65, -1.0f)};
        REQUIRE(Runner::template by_rows<gesso::rms_norm_backward>(std::tie(x, dy), vectors, std::tie(dx)));
        if (run == 0) first = vectors.column_sums[0];
        CHECK(vectors.column_sums[0] == first);
    }
}

TEST_CASE_TEMPLATE_DEFINE(
    "rows of zeros, of one number and out of range: a number, or NaN for all to see", Runner, norm_edges)
{
    const auto by_rows = [](auto norm, double size, float epsilon, std::int64_t columns) {
        using operator_type = decltype(norm);
        matrix_memory<float> x = matrix_of<float>(1, static_cast<int>(columns), [&](int, int) { return size; });
        matrix_memory<float> y(1, columns);
        row_vectors<float> vectors;
        vectors.parameters.assign(
            operator_type::parameters, std::vector<float>(static_cast<std::size_t>(columns), 1.0f));
        vectors.saved.assign(operator_type::saved, std::vector<float>(1));
        vectors.epsilon = epsilon;
        REQUIRE(Runner::template by_rows<operator_type>(std::tie(x), vectors, std::tie(y)));
        return y.number(0, columns - 1);
    };
    const gesso::rms_norm rms;
    const gesso::layer_norm<false> layer;
    CHECK(by_rows(rms, 0, 1e-5f, 100) == 0.0f);
    CHECK(by_rows(layer, 0, 1e-5f, 100) == 0.0f);
    CHECK(std::isnan(by_rows(rms, 0, 0.0f, 100)));  // 0 / 0
    CHECK(by_rows(rms, 3, 0.0f, 100) == 1.0f);
    CHECK(by_rows(rms, -3, 0.0f, 1) == -1.0f);
    CHECK(by_rows(rms, 1e-30, 1e-5f, 100) == doctest::Approx(1e-30 / std::sqrt(1e-5)));
    CHECK(by_rows(rms, 1e17, 1e-5f, 100) == doctest::Approx(1.0));
    // The sum of squares passes fp32: not zeros, which 1 / infinity would make of the row.
    CHECK(std::isnan(by_rows(rms, 1e30, 1e-5f, 100)));
    // A constant row is its mean; what the mean loses is small beside epsilon.
    CHECK(by_rows(layer, 512, 1e-5f, 100) == 0.0f);
    CHECK(std::fabs(by_rows(layer, 0.1, 1e-5f, 100)) < 1e-4f);
    CHECK(by_rows(layer, 7, 1e-5f, 1) == 0.0f);

    // A large mean takes nothing from the variance: 10000 +- 1.
    matrix_memory<float> x = matrix_of<float>(1, 1000, [](int, int column) { return column % 2 == 0 ? 10001 : 9999; });
    matrix_memory<float> y(1, 1000);
    row_vectors<float> vectors;
    vectors.saved.assign(2, std::vector<float>(1));
    REQUIRE(Runner::template by_rows<gesso::layer_norm<false>>(std::tie(x), vectors, std::tie(y)));
    CHECK(vectors.saved[0][0] == 10000.0f);
    CHECK(vectors.saved[1][0] == 1.0f);
    CHECK(y.number(0, 0) == 1.0f);
    CHECK(y.number(0, 999) == -1.0f);

    // One element that is no number: its row is NaN, and no other.
    for (const float fault : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        matrix_memory<float> rows = matrix_of<float>(3, 50, [](int row, int column) { return row + column; });
        rows.set(1, 20, fault);
        matrix_memory<float> out(3, 50);
        REQUIRE(run_rms_norm<Runner>(rows, std::vector<float>(50, 1.0f), 1e-5f, out));
        for (std::int64_t column = 0; column < 50; ++column) {
            CHECK(std::isnan(out.number(1, column)));
            CHECK(std::isfinite(out.number(0, column)));
            CHECK(std::isfinite(out.number(2, column)));
        }
    }
}

}  // namespace support
