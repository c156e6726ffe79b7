// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the tests of operators run through, on the host and on a device alike. A test program brings a runner, a struct
// with the static functions of host_runner in pointwise_test.cpp:
//   template<class Operator, class... Sources, class... Sinks>
//   static bool pointwise(const std::tuple<Sources&...>& from, const std::tuple<Sinks&...>& to);
//   template<class Operator, class Parameter, class... Sources, class... Sinks>
//   static bool by_rows(const std::tuple<Sources&...>& from, row_vectors<Parameter>& memory,
//       const std::tuple<Sinks&...>& to);
// Sources are matrix_memory and compressed_memory, sinks these and quantized_memory.
//
// Two steps. fp32 results are held against the oracle in its bound. All other sinks are held against those fp32 results
// bit for bit: rounded as their element type rounds, or compressed by the quantizers' oracle.
#pragma once

#include "../support/operator_oracle.hpp"
#include "quantize_cases.hpp"

#include <gesso/operator/norm.hpp>
#include <gesso/operator/pointwise.hpp>

#include <tuple>

namespace support {

// Codes of a matrix and of its transpose; either may be not wanted.
template<class Codec, class TransposedCodec = gesso::transposed_codec<Codec>>
struct quantized_memory {
    compressed_memory<Codec> plain;
    compressed_memory<TransposedCodec> transposed;
    bool wants_plain = true;
    bool wants_transposed = true;

    gesso::quantized_matrix<Codec, TransposedCodec> view()
    {
        gesso::quantized_matrix<Codec, TransposedCodec> to;
        if (wants_plain) to.plain = plain.view();
        if (wants_transposed) to.transposed = transposed.view();
        return to;
    }
};

// What an operator by rows reads and writes beside its matrices; empty saved vectors are not wanted.
template<class Parameter>
struct row_vectors {
    std::vector<std::vector<Parameter>> parameters;
    std::vector<std::vector<float>> given;
    std::vector<std::vector<float>> saved;
    std::vector<std::vector<float>> column_sums;
    float epsilon = 0;
};

// How a matrix lies: packed at an aligned address, or strided at an odd one.
template<class T>
matrix_memory<T> placed(const shape& of, bool is_packed)
{
    return is_packed ? matrix_memory<T>(of.rows, of.columns)
                     : matrix_memory<T>(of.rows, of.columns, of.columns + 3, sizeof(T) * 5);
}
template<class Codec>
compressed_memory<Codec> placed_codes(const shape& of, bool is_packed)
{
    return is_packed ? compressed_memory<Codec>(of.rows, of.columns)
                     : compressed_memory<Codec>(of.rows, of.columns, {3, 1, 5});
}

// ---- sources: what they hold, and as which memory

template<class T>
struct elements {
    using memory = matrix_memory<T>;

    static memory make(
        const shape& of, kind_of_values kind, std::uint64_t seed, bool is_packed, oracle::dense_matrix& numbers)
    {
        memory result = placed<T>(of, is_packed);
        numbers = fill(result, kind, seed);
        return result;
    }
};
template<class Codec>
struct codes_by {
    using memory = compressed_memory<Codec>;

    static memory make(
        const shape& of, kind_of_values kind, std::uint64_t seed, bool is_packed, oracle::dense_matrix& numbers)
    {
        matrix_memory<float> values(of.rows, of.columns);
        numbers = fill(values, kind, seed);
        const oracle::compressed wanted = oracle::quantize(numbers, format_of<Codec>());
        numbers.values = wanted.decoded;
        memory result = placed_codes<Codec>(of, is_packed);
        if (of.rows == 0 || of.columns == 0) return result;
        give_scales(result, wanted);
        const auto view = result.view();
        for (std::int64_t row = 0; row < of.rows; ++row) {
            for (std::int64_t column = 0; column < of.columns; ++column) {
                view.codes[row * view.stride + column] = static_cast<typename Codec::code_type>(
                    wanted.codes[static_cast<std::size_t>(row * of.columns + column)]);
            }
        }
        return result;
    }
};

// ---- sinks: how they lie, and what they should hold where the fp32 results are known

template<class T>
matrix_memory<T> make_sink(const shape& of, bool is_packed, const matrix_memory<T>*)
{
    return placed<T>(of, is_packed);
}
template<class Codec>
compressed_memory<Codec> make_sink(const shape& of, bool is_packed, const compressed_memory<Codec>*)
{
    return placed_codes<Codec>(of, is_packed);
}
template<class Codec, class TransposedCodec>
quantized_memory<Codec, TransposedCodec> make_sink(
    const shape& of, bool is_packed, const quantized_memory<Codec, TransposedCodec>*)
{
    // Packed: both outputs. Strided: the transposed one alone.
    return {placed_codes<Codec>(of, is_packed), placed_codes<TransposedCodec>({of.columns, of.rows}, is_packed),
        is_packed, true};
}

inline oracle::dense_matrix numbers_of(matrix_memory<float>& results)
{
    oracle::dense_matrix dense;
    dense.rows = results.view().rows;
    dense.columns = results.view().columns;
    for (std::int64_t row = 0; row < dense.rows; ++row) {
        for (std::int64_t column = 0; column < dense.columns; ++column) {
            dense.values.push_back(static_cast<double>(results.number(row, column)));
        }
    }
    return dense;
}

template<class T>
void expect_sink(matrix_memory<T>& got, matrix_memory<float>& results, tally& failures)
{
    failures.expect(got.is_intact(), [](auto& out) { out << "padding of a sink was written"; });
    for (std::int64_t row = 0; row < got.view().rows; ++row) {
        for (std::int64_t column = 0; column < got.view().columns; ++column) {
            const float result = results.number(row, column);
            const float found = got.number(row, column);
            const float wanted = gesso::element<T>::load(gesso::element<T>::store(result));
            const bool agrees =
                std::isnan(wanted) ? std::isnan(found) : gesso::bits_of(wanted) == gesso::bits_of(found);
            failures.expect(agrees, [&](auto& out) {
                out << "element (" << row << ", " << column << ") of " << got.view().rows << " x " << got.view().columns
                    << " is " << found << ", the fp32 result is " << result;
            });
        }
    }
}
template<class Codec>
void expect_sink(compressed_memory<Codec>& got, matrix_memory<float>& results, tally& failures)
{
    expect_bytes(got, oracle::quantize(numbers_of(results), format_of<Codec>()), failures);
}
template<class Codec, class TransposedCodec>
void expect_sink(quantized_memory<Codec, TransposedCodec>& got, matrix_memory<float>& results, tally& failures)
{
    if (got.wants_plain) expect_sink(got.plain, results, failures);
    if (!got.wants_transposed) return;
    const oracle::dense_matrix turned = numbers_of(results).transposed();
    expect_bytes(got.transposed, oracle::quantize(turned, format_of<TransposedCodec>()), failures);
}

// A result against what it should be. Where fp32 cannot hold a number on the way, infinity and NaN are right too; where the
// exact result is no number, nothing else is.
inline bool agrees(double got, const oracle::expectation& wanted)
{
    constexpr double largest = 3.4028234663852886e38;
    if (!std::isfinite(wanted.value) || std::fabs(wanted.value) > largest) return !std::isfinite(got);
    if (std::fabs(got - wanted.value) <= wanted.bound) return true;
    return wanted.passage > largest / 2 && !std::isfinite(got);
}

inline void expect_numbers(matrix_memory<float>& got, const std::vector<oracle::expectation>& wanted, tally& failures)
{
    for (std::int64_t row = 0; row < got.view().rows; ++row) {
        for (std::int64_t column = 0; column < got.view().columns; ++column) {
            const oracle::expectation& at = wanted[static_cast<std::size_t>(row * got.view().columns + column)];
            const float found = got.number(row, column);
            failures.expect(agrees(static_cast<double>(found), at), [&](auto& out) {
                out << "result (" << row << ", " << column << ") of " << got.view().rows << " x " << got.view().columns
                    << " is " << found << ", expected " << at.value << " within " << at.bound;
            });
        }
    }
}
inline void expect_numbers(
    const std::vector<float>& got, const std::vector<oracle::expectation>& wanted, const char* what, tally& failures)
{
    failures.expect(got.size() == wanted.size(), [&](auto& out) { out << what << ": " << got.size() << " numbers"; });
    for (std::size_t i = 0; i < got.size() && i < wanted.size(); ++i) {
        failures.expect(agrees(static_cast<double>(got[i]), wanted[i]), [&](auto& out) {
            out << what << " " << i << " is " << got[i] << ", expected " << wanted[i].value << " within "
                << wanted[i].bound;
        });
    }
}

// ---- which oracle an operator has: expectations of its outputs from the numbers of its inputs

template<class Operator>
struct oracle_of;

// Infinities and NaN: the formula in double gives no number where the library promises none.
inline oracle::expectation or_no_number(const oracle::expectation& of, bool is_number)
{
    return is_number ? of : oracle::expectation{std::nan(""), 0, 0};
}

template<class Function>
struct activation_oracle;
template<>
struct activation_oracle<gesso::silu_function> {
    static oracle::activation at(double x) { return oracle::silu(x); }
};
template<>
struct activation_oracle<gesso::gelu_function<gesso::gelu_kind::erf>> {
    static oracle::activation at(double x) { return oracle::gelu_erf(x); }
};
template<>
struct activation_oracle<gesso::gelu_function<gesso::gelu_kind::tanh>> {
    static oracle::activation at(double x) { return oracle::gelu_tanh(x); }
};

template<class Function>
struct oracle_of<gesso::activation<Function>> {
    static void apply(const double (&in)[1], oracle::expectation (&out)[1])
    {
        out[0] = or_no_number(oracle::times(1, activation_oracle<Function>::at(in[0]).value), std::isfinite(in[0]));
    }
};
template<class Function>
struct oracle_of<gesso::activation_backward<Function>> {
    static void apply(const double (&in)[2], oracle::expectation (&out)[1])
    {
        const bool is_number = std::isfinite(in[0]) && std::isfinite(in[1]);
        out[0] = or_no_number(oracle::times(in[1], activation_oracle<Function>::at(in[0]).slope), is_number);
    }
};
template<class Function>
struct oracle_of<gesso::gate_product<Function>> {
    static void apply(const double (&in)[2], oracle::expectation (&out)[1])
    {
        const bool is_number = std::isfinite(in[0]) && std::isfinite(in[1]);
        out[0] = or_no_number(oracle::times(in[1], activation_oracle<Function>::at(in[0]).value), is_number);
    }
};
template<class Function>
struct oracle_of<gesso::gate_product_backward<Function>> {
    static void apply(const double (&in)[3], oracle::expectation (&out)[2])
    {
        const oracle::activation gate = activation_oracle<Function>::at(in[0]);
        const bool has_gate = std::isfinite(in[0]) && std::isfinite(in[2]);
        out[0] = or_no_number(oracle::times(in[2] * in[1], gate.slope), has_gate && std::isfinite(in[1]));
        // A product that is below fp32 is a zero.
        out[0].bound += 0x1p-120 * (1 + std::fabs(gate.slope.value));
        out[1] = or_no_number(oracle::times(in[2], gate.value), has_gate);
    }
};
template<class Stored>
struct oracle_of<gesso::residual_add<Stored>> {
    static void apply(const double (&in)[2], oracle::expectation (&out)[2])
    {
        const oracle::format* stored = std::is_same<Stored, gesso::float32>::value    ? nullptr
                                       : std::is_same<Stored, gesso::bfloat16>::value ? &oracle::bfloat16()
                                                                                      : &oracle::float16();
        out[0] = {oracle::stored_sum(in[0], in[1], stored), 0, std::fabs(in[0]) + std::fabs(in[1])};
        out[1] = out[0];
    }
};

// ---- the runs on pointwise operators

// Operator with sources of these kinds and sinks of these memories.
template<class Runner, class Operator, class Sources, class Sinks>
struct pointwise_trial;
template<class Runner, class Operator, class... Sources, class... Sinks>
struct pointwise_trial<Runner, Operator, std::tuple<Sources...>, std::tuple<Sinks...>> {
    static constexpr std::size_t inputs = sizeof...(Sources);
    static constexpr std::size_t outputs = sizeof...(Sinks);

    static void run(const shape& of, kind_of_values kind, bool is_packed, tally& failures)
    {
        oracle::dense_matrix numbers[inputs];
        std::size_t made = 0;
        const auto next = [&](auto tag) {
            using source = decltype(tag);
            const std::size_t i = made++;
            return source::make(of, kind, 7 + i, is_packed, numbers[i]);
        };
        std::tuple<typename Sources::memory...> from{next(Sources{})...};
        const auto sources = std::apply([](auto&... each) { return std::tie(each...); }, from);

        // In fp32, against the oracle.
        matrix_memory<float> results[] = {fp32_result<Sinks>(of, is_packed)...};
        failures.expect(Runner::template pointwise<Operator>(sources, tied(results, indices{})),
            [&](auto& out) { out << "failed at " << of.rows << " x " << of.columns; });
        std::vector<oracle::expectation> wanted[outputs];
        for (std::size_t i = 0; i < numbers[0].values.size(); ++i) {
            double in[inputs];
            for (std::size_t j = 0; j < inputs; ++j) in[j] = numbers[j].values[i];
            oracle::expectation out[outputs];
            oracle_of<Operator>::apply(in, out);
            for (std::size_t j = 0; j < outputs; ++j) wanted[j].push_back(out[j]);
        }
        for (std::size_t j = 0; j < outputs; ++j) {
            expect_numbers(results[j], wanted[j], failures);
            failures.expect(results[j].is_intact(), [](auto& out) { out << "padding of a result was written"; });
        }

        // In the wanted sinks, against the fp32 results.
        std::tuple<Sinks...> to{make_sink(of, is_packed, static_cast<Sinks*>(nullptr))...};
        const auto sinks = std::apply([](auto&... each) { return std::tie(each...); }, to);
        failures.expect(Runner::template pointwise<Operator>(sources, sinks),
            [&](auto& out) { out << "failed at " << of.rows << " x " << of.columns << " in codes"; });
        std::size_t checked = 0;
        std::apply([&](auto&... each) { (expect_sink(each, results[checked++], failures), ...); }, to);
    }

private:
    template<class Sink>
    static matrix_memory<float> fp32_result(const shape& of, bool is_packed)
    {
        return placed<float>(of, is_packed);
    }
    using indices = std::make_index_sequence<outputs>;
    template<std::size_t... Index>
    static auto tied(matrix_memory<float> (&results)[outputs], std::index_sequence<Index...>)
    {
        return std::tie(results[Index]...);
    }
};

TEST_CASE_TEMPLATE_DEFINE("operators of elements against the oracle, in every kind of memory", Trial, pointwise_numbers)
{
    tally failures;
    for (const shape& of : shapes) {
        for (const kind_of_values kind : {kind_of_values::mild, kind_of_values::wild, kind_of_values::faulty}) {
            for (const bool is_packed : {true, false}) Trial::run(of, kind, is_packed, failures);
        }
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

// ---- the runs on norms

// Which norm, with which parameters, sources and sinks; Weight is the element type of weight and bias.
enum class norm_kind { root_mean_square, layer, layer_without_parameters };

template<norm_kind Kind>
struct norm_operators;
template<>
struct norm_operators<norm_kind::root_mean_square> {
    using forward = gesso::rms_norm;
    using backward = gesso::rms_norm_backward;
};
template<>
struct norm_operators<norm_kind::layer> {
    using forward = gesso::layer_norm<true>;
    using backward = gesso::layer_norm_backward<true>;
};
template<>
struct norm_operators<norm_kind::layer_without_parameters> {
    using forward = gesso::layer_norm<false>;
    using backward = gesso::layer_norm_backward<false>;
};

template<class Runner, norm_kind Kind, class Weight, class Source, class Sink, class Gradient, class GradientSink>
struct norm_trial {
    static constexpr bool is_centred = Kind != norm_kind::root_mean_square;
    static constexpr bool has_weight = Kind != norm_kind::layer_without_parameters;
    static constexpr bool has_bias = Kind == norm_kind::layer;
    using forward = typename norm_operators<Kind>::forward;
    using backward = typename norm_operators<Kind>::backward;

    static void run(const shape& of, kind_of_values kind, bool is_packed, float epsilon, tally& failures)
    {
        oracle::dense_matrix x;
        auto x_memory = Source::make(of, kind, 7, is_packed, x);
        oracle::dense_matrix dy;
        // Faults one at a time: in x in one run and in dy, whose numbers are mild else, in another.
        auto dy_memory = Gradient::make(of, kind_of_values::mild, 8, is_packed, dy);
        std::vector<double> weight;
        std::vector<double> bias;
        std::vector<Weight> stored_weight;
        std::vector<Weight> stored_bias;
        generator::random_source random(3);
        for (std::int64_t column = 0; column < of.columns; ++column) {
            stored_weight.push_back(gesso::element<Weight>::store(static_cast<float>(1 + 0.3 * random.normal())));
            stored_bias.push_back(gesso::element<Weight>::store(static_cast<float>(0.1 * random.normal())));
            if (has_weight) weight.push_back(static_cast<double>(gesso::element<Weight>::load(stored_weight.back())));
            if (has_bias) bias.push_back(static_cast<double>(gesso::element<Weight>::load(stored_bias.back())));
        }
        const std::size_t rows = static_cast<std::size_t>(of.rows);
        const std::size_t columns = static_cast<std::size_t>(of.columns);

        row_vectors<Weight> there;
        if (has_weight) there.parameters.push_back(stored_weight);
        if (has_bias) there.parameters.push_back(stored_bias);
        there.saved.assign(is_centred ? 2 : 1, std::vector<float>(rows, -7.0f));
        there.epsilon = epsilon;
        matrix_memory<float> y = placed<float>(of, is_packed);
        failures.expect(Runner::template by_rows<forward>(std::tie(x_memory), there, std::tie(y)),
            [&](auto& out) { out << "forward failed at " << of.rows << " x " << of.columns; });
        const oracle::norm_forward wanted = oracle::norm(x, is_centred, weight, bias, static_cast<double>(epsilon));
        expect_numbers(y, wanted.y, failures);
        failures.expect(y.is_intact(), [](auto& out) { out << "padding of y was written"; });
        if (of.columns > 0) {
            if (is_centred) expect_numbers(there.saved[0], wanted.mean, "mean", failures);
            expect_numbers(there.saved.back(), wanted.rstd, "rstd", failures);
        }
        Sink to = make_sink(of, is_packed, static_cast<Sink*>(nullptr));
        row_vectors<Weight> unsaved = there;
        unsaved.saved.clear();
        failures.expect(Runner::template by_rows<forward>(std::tie(x_memory), unsaved, std::tie(to)),
            [&](auto& out) { out << "forward failed at " << of.rows << " x " << of.columns << " in codes"; });
        expect_sink(to, y, failures);

        // Backward, with what forward saved.
        row_vectors<Weight> back;
        if (has_weight) back.parameters.push_back(stored_weight);
        back.given = there.saved;
        back.column_sums.assign(has_bias ? 2 : has_weight ? 1 : 0, std::vector<float>(columns, -7.0f));
        matrix_memory<float> dx = placed<float>(of, is_packed);
        failures.expect(Runner::template by_rows<backward>(std::tie(x_memory, dy_memory), back, std::tie(dx)),
            [&](auto& out) { out << "backward failed at " << of.rows << " x " << of.columns; });
        const oracle::norm_backward gradients =
            oracle::backward_of_norm(x, dy, is_centred, weight, static_cast<double>(epsilon));
        expect_numbers(dx, gradients.dx, failures);
        if (has_weight) expect_numbers(back.column_sums[0], gradients.dweight, "dweight", failures);
        if (has_bias) expect_numbers(back.column_sums[1], gradients.dbias, "dbias", failures);
        GradientSink dx_to = make_sink(of, is_packed, static_cast<GradientSink*>(nullptr));
        const row_vectors<Weight> sums = back;
        failures.expect(Runner::template by_rows<backward>(std::tie(x_memory, dy_memory), back, std::tie(dx_to)),
            [&](auto& out) { out << "backward failed at " << of.rows << " x " << of.columns << " in codes"; });
        expect_sink(dx_to, dx, failures);
        for (std::size_t i = 0; i < sums.column_sums.size(); ++i) {
            for (std::size_t j = 0; j < columns; ++j) {
                failures.expect(gesso::bits_of(sums.column_sums[i][j]) == gesso::bits_of(back.column_sums[i][j]),
                    [&](auto& out) { out << "a weight gradient depends on the sink of dx"; });
            }
        }
    }
};

TEST_CASE_TEMPLATE_DEFINE("norms against the oracle, in every kind of memory", Trial, norm_numbers)
{
    tally failures;
    for (const shape& of : shapes) {
        for (const kind_of_values kind : {kind_of_values::mild, kind_of_values::wild, kind_of_values::faulty}) {
            for (const bool is_packed : {true, false}) Trial::run(of, kind, is_packed, 1e-5f, failures);
        }
    }
    for (const shape& of : {shape{3, 1}, shape{2, 4097}, shape{700, 5}, shape{1, 65536}}) {
        Trial::run(of, kind_of_values::mild, true, 1e-5f, failures);
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

}  // namespace support
