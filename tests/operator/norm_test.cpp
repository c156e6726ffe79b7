// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Norms at the host level: what a device runs too (operator_runs.hpp, operator_cases.hpp), the oracle's own gradients, and
// what is refused.
#include <gesso/operator/norm.hpp>

#include "operator_host.hpp"

using namespace gesso;
using support::codes_by;
using support::compressed_memory;
using support::elements;
using support::host_operators;
using support::matrix_memory;
using support::norm_kind;
using support::quantized_memory;

namespace {

using rows_of_128 = codec<e4m3, identity, per_tile<1, 128>>;
template<norm_kind Kind, class Weight, class Source, class Sink, class Gradient, class GradientSink>
using trial = support::norm_trial<host_operators, Kind, Weight, Source, Sink, Gradient, GradientSink>;

// The paper's: x in 1x16 codes, y per tensor with its transpose, dx in bf16. Others until each has been somewhere.
using rms_paper = trial<norm_kind::root_mean_square, float, codes_by<elementwise_codec>,
    quantized_memory<product_codec>, elements<bf16>, matrix_memory<bf16>>;
using rms_16 = trial<norm_kind::root_mean_square, bf16, elements<bf16>, compressed_memory<elementwise_codec>,
    codes_by<gradient_codec>, quantized_memory<gradient_codec>>;
using rms_fp32 = trial<norm_kind::root_mean_square, fp16, elements<float>, matrix_memory<fp16>, elements<float>,
    compressed_memory<rows_of_128>>;
using layer_paper = trial<norm_kind::layer, float, elements<bf16>, quantized_memory<product_codec>, elements<bf16>,
    matrix_memory<bf16>>;
using layer_codes = trial<norm_kind::layer, bf16, codes_by<elementwise_codec>, compressed_memory<elementwise_codec>,
    codes_by<rows_of_128>, quantized_memory<gradient_codec>>;
using olmo = trial<norm_kind::layer_without_parameters, float, elements<float>, quantized_memory<product_codec>,
    elements<fp16>, matrix_memory<bf16>>;
using olmo_codes = trial<norm_kind::layer_without_parameters, float, codes_by<product_codec>, matrix_memory<float>,
    elements<float>, compressed_memory<elementwise_codec>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(norm_numbers, rms_paper, rms_16, rms_fp32, layer_paper, layer_codes, olmo, olmo_codes);

TEST_CASE_TEMPLATE_INVOKE(a04_fp16_squares, host_operators);
TEST_CASE_TEMPLATE_INVOKE(a05_row_lengths, host_operators);
TEST_CASE_TEMPLATE_INVOKE(a07_fused, host_operators);
TEST_CASE_TEMPLATE_INVOKE(a11_weight_type, host_operators);
TEST_CASE_TEMPLATE_INVOKE(t02_widths, host_operators);
TEST_CASE_TEMPLATE_INVOKE(t05_slices, host_operators);
TEST_CASE_TEMPLATE_INVOKE(t12_operators, host_operators);
TEST_CASE_TEMPLATE_INVOKE(r06_operators, host_operators);
TEST_CASE_TEMPLATE_INVOKE(norm_edges, host_operators);

}  // namespace support

TEST_CASE("the oracle's gradients of norms are the differences of its values")
{
    support::tally failures;
    generator::random_source random(5);
    oracle::dense_matrix x;
    x.rows = 3;
    x.columns = 7;
    oracle::dense_matrix dy = x;
    std::vector<double> weight;
    std::vector<double> bias;
    for (int i = 0; i < 21; ++i) x.values.push_back(random.normal() + 0.5);
    for (int i = 0; i < 21; ++i) dy.values.push_back(random.normal());
    for (int i = 0; i < 7; ++i) weight.push_back(1 + 0.3 * random.normal());
    for (int i = 0; i < 7; ++i) bias.push_back(random.normal());
    for (const bool is_centred : {false, true}) {
        const auto loss = [&](const oracle::dense_matrix& at, const std::vector<double>& w,
                              const std::vector<double>& b) {
            const oracle::norm_forward there = oracle::norm(at, is_centred, w, b, 0.01);
            double sum = 0;
            for (std::size_t i = 0; i < 21; ++i) sum += there.y[i].value * dy.values[i];
            return sum;
        };
        const oracle::norm_backward got = oracle::backward_of_norm(x, dy, is_centred, weight, 0.01);
        const double step = 1e-5;
        const auto try_one = [&](double& number, double found, const char* what) {
            const double kept = number;
            number = kept + step;
            const double above = loss(x, weight, bias);
            number = kept - step;
            const double difference = (above - loss(x, weight, bias)) / (2 * step);
            number = kept;
            failures.expect(std::fabs(found - difference) < 1e-8 * (1 + std::fabs(difference)),
                [&](auto& out) { out << what << ": " << found << ", difference " << difference; });
        };
        for (std::size_t i = 0; i < 21; ++i) try_one(x.values[i], got.dx[i].value, "dx");
        for (std::size_t i = 0; i < 7; ++i) try_one(weight[i], got.dweight[i].value, "dweight");
        for (std::size_t i = 0; i < 7; ++i) try_one(bias[i], got.dbias[i].value, "dbias");
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

namespace {

// Where the named functions, all of them, give what host_by_rows gives.
struct norm_call {
    matrix_memory<float> x{3, 20};
    matrix_memory<bf16> dy{3, 20};
    matrix_memory<float> y{3, 20};
    compressed_memory<elementwise_codec> codes{3, 20};
    std::vector<float> weight = std::vector<float>(20, 1.25f);
    std::vector<float> bias = std::vector<float>(20, 0.5f);
    std::vector<float> mean = std::vector<float>(3, -7.0f);
    std::vector<float> rstd = std::vector<float>(3, -7.0f);
    std::vector<float> dweight = std::vector<float>(20, -7.0f);
    std::vector<float> dbias = std::vector<float>(20, -7.0f);

    norm_call()
    {
        support::fill(x, support::kind_of_values::mild, 1);
        support::fill(dy, support::kind_of_values::mild, 2);
    }
    bool is_untouched()
    {
        bool untouched = true;
        for (const auto* values : {&mean, &rstd, &dweight, &dbias}) {
            for (const float value : *values) untouched = untouched && value == -7.0f;
        }
        for (index_t row = 0; row < 3; ++row) {
            for (index_t column = 0; column < 20; ++column) {
                untouched = untouched && bits_of(y.get(row, column)) == 0xC7C7C7C7u && codes.code(row, column) == 0xC7u;
            }
        }
        return untouched;
    }
};

}  // namespace

TEST_CASE("the norms by name give the numbers of the oracle")
{
    support::tally failures;
    norm_call call;
    const auto numbers = [&](auto& memory) {
        oracle::dense_matrix dense;
        dense.rows = 3;
        dense.columns = 20;
        for (index_t i = 0; i < 60; ++i) dense.values.push_back(static_cast<double>(memory.number(i / 20, i % 20)));
        return dense;
    };
    const oracle::dense_matrix x = numbers(call.x);
    const oracle::dense_matrix dy = numbers(call.dy);
    const std::vector<double> weight(20, 1.25);
    const std::vector<double> bias(20, 0.5);
    const double epsilon = static_cast<double>(1e-5f);

    REQUIRE(
        host_rms_norm(call.x.view(), call.weight.data(), 1e-5f, call.y.view(), call.rstd.data()) == status::success);
    expect_numbers(call.y, oracle::norm(x, false, weight, {}, epsilon).y, failures);
    REQUIRE(host_rms_norm_backward(
                call.x.view(), call.weight.data(), call.rstd.data(), call.dy.view(), call.y.view(), call.dweight.data())
            == status::success);
    const oracle::norm_backward of_rms = oracle::backward_of_norm(x, dy, false, weight, epsilon);
    expect_numbers(call.y, of_rms.dx, failures);
    support::expect_numbers(call.dweight, of_rms.dweight, "dweight", failures);

    REQUIRE(host_layer_norm(call.x.view(), call.weight.data(), call.bias.data(), 1e-5f, call.y.view(), call.mean.data(),
                call.rstd.data())
            == status::success);
    expect_numbers(call.y, oracle::norm(x, true, weight, bias, epsilon).y, failures);
    REQUIRE(host_layer_norm_backward(call.x.view(), call.weight.data(), call.mean.data(), call.rstd.data(),
                call.dy.view(), call.y.view(), call.dweight.data(), call.dbias.data())
            == status::success);
    const oracle::norm_backward of_layer = oracle::backward_of_norm(x, dy, true, weight, epsilon);
    expect_numbers(call.y, of_layer.dx, failures);
    support::expect_numbers(call.dweight, of_layer.dweight, "dweight", failures);
    support::expect_numbers(call.dbias, of_layer.dbias, "dbias", failures);

    REQUIRE(
        host_layer_norm(call.x.view(), 1e-5f, call.y.view(), call.mean.data(), call.rstd.data()) == status::success);
    expect_numbers(call.y, oracle::norm(x, true, {}, {}, epsilon).y, failures);
    REQUIRE(host_layer_norm_backward(call.x.view(), call.mean.data(), call.rstd.data(), call.dy.view(), call.y.view())
            == status::success);
    expect_numbers(call.y, oracle::backward_of_norm(x, dy, true, {}, epsilon).dx, failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE("misuse of norms is answered, and nothing is written")
{
    norm_call call;
    const float* const none = nullptr;
    const auto forward = [&](const float* weight, float epsilon, auto change) {
        auto x = call.x.view();
        auto y = call.codes.view();
        change(x, y);
        const status answered = host_rms_norm(x, weight, epsilon, y, call.rstd.data());
        CHECK(call.is_untouched());
        return answered;
    };
    const auto as_is = [](auto&, auto&) {};
    const float* const weight = call.weight.data();
    CHECK(forward(none, 1e-5f, as_is) == status::null_pointer);
    CHECK(forward(weight, -1e-5f, as_is) == status::invalid_configuration);
    CHECK(forward(weight, std::numeric_limits<float>::infinity(), as_is) == status::invalid_configuration);
    CHECK(forward(weight, std::numeric_limits<float>::quiet_NaN(), as_is) == status::invalid_configuration);
    CHECK(forward(weight, 1e-5f, [](auto& x, auto&) { x.data = nullptr; }) == status::null_pointer);
    CHECK(forward(weight, 1e-5f, [](auto&, auto& y) { y.scales = nullptr; }) == status::null_pointer);
    CHECK(forward(weight, 1e-5f, [](auto& x, auto&) { x.rows = -3; }) == status::negative_count);
    CHECK(forward(weight, 1e-5f, [](auto& x, auto&) { x.columns = 19; }) == status::size_mismatch);
    CHECK(forward(weight, 1e-5f, [](auto&, auto& y) { y.rows = 4; }) == status::size_mismatch);
    const auto backward = [&](const float* rstd, float* dweight, auto change) {
        auto dy = call.dy.view();
        auto dx = call.y.view();
        change(dy, dx);
        const status answered = host_rms_norm_backward(call.x.view(), weight, rstd, dy, dx, dweight);
        CHECK(call.is_untouched());
        return answered;
    };
    CHECK(backward(nullptr, call.dweight.data(), as_is) == status::null_pointer);
    CHECK(backward(call.rstd.data(), nullptr, as_is) == status::null_pointer);
    CHECK(
        backward(call.rstd.data(), call.dweight.data(), [](auto& dy, auto&) { dy.rows = 2; }) == status::size_mismatch);
    CHECK(backward(call.rstd.data(), call.dweight.data(), [](auto&, auto& dx) { dx.stride = 2; })
          == status::size_mismatch);
    CHECK(host_layer_norm(call.x.view(), weight, none, 1e-5f, call.y.view(), call.mean.data(), call.rstd.data())
          == status::null_pointer);
    CHECK(call.is_untouched());
    // What is saved may be not wanted.
    CHECK(host_layer_norm(call.x.view(), 1e-5f, call.y.view(), nullptr, nullptr) == status::success);
    // The weight gradient of no rows is zero; of no columns nothing is needed.
    const matrix_ref<const float> nothing{nullptr, 0, 20, 20};
    CHECK(host_rms_norm_backward(
              nothing, weight, nullptr, nothing, matrix_ref<float>{nullptr, 0, 20, 20}, call.dweight.data())
          == status::success);
    CHECK(call.dweight == std::vector<float>(20, 0.0f));
    const matrix_ref<const float> no_columns{nullptr, 3, 0, 0};
    CHECK(host_rms_norm(no_columns, none, 1e-5f, matrix_ref<float>{nullptr, 3, 0, 0}, call.rstd.data())
          == status::success);
    CHECK(call.rstd == std::vector<float>(3, -7.0f));
}
