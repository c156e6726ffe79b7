// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of elements at the host level: what a device runs too (operator_runs.hpp, operator_cases.hpp), the oracle's own
// derivatives, and what is refused.
#include <gesso/operator/pointwise.hpp>

#include "operator_host.hpp"

using namespace gesso;
using support::codes_by;
using support::compressed_memory;
using support::elements;
using support::host_operators;
using support::matrix_memory;
using support::pointwise_trial;
using support::quantized_memory;

namespace {

using activation_16 = elementwise_codec;
using rows_of_128 = codec<e4m3, identity, per_tile<1, 128>>;
using microscaled = codec<e4m3, identity, per_tile<1, 32>, e8m0>;
template<class... Each>
using list = std::tuple<Each...>;
template<class Operator, class Sources, class Sinks>
using trial = pointwise_trial<host_operators, Operator, Sources, Sinks>;

// The paper's combinations, and others until every kind of source and sink has been somewhere.
using silu_paper = trial<silu, list<codes_by<activation_16>>, list<compressed_memory<activation_16>>>;
using silu_tensor = trial<silu, list<elements<bf16>>, list<quantized_memory<product_codec>>>;
using silu_gradient =
    trial<silu_backward, list<codes_by<activation_16>, elements<bf16>>, list<quantized_memory<gradient_codec>>>;
using gelu_erf = trial<gelu<>, list<codes_by<activation_16>>, list<quantized_memory<product_codec>>>;
using gelu_erf_gradient =
    trial<gelu_backward<>, list<elements<fp16>, codes_by<gradient_codec>>, list<matrix_memory<bf16>>>;
using gelu_tanh = trial<gelu<gelu_kind::tanh>, list<elements<float>>, list<compressed_memory<rows_of_128>>>;
using gelu_tanh_gradient =
    trial<gelu_backward<gelu_kind::tanh>, list<elements<float>, elements<float>>, list<matrix_memory<fp16>>>;
using swiglu_paper =
    trial<swiglu, list<codes_by<activation_16>, codes_by<activation_16>>, list<quantized_memory<product_codec>>>;
using swiglu_gradient = trial<swiglu_backward, list<codes_by<activation_16>, codes_by<activation_16>, elements<bf16>>,
    list<quantized_memory<gradient_codec>, quantized_memory<gradient_codec>>>;
using geglu_mixed = trial<geglu<>, list<elements<fp16>, codes_by<product_codec>>, list<quantized_memory<microscaled>>>;
using geglu_gradient =
    trial<geglu_backward<gelu_kind::tanh>, list<elements<bf16>, elements<float>, codes_by<rows_of_128>>,
        list<matrix_memory<bf16>, compressed_memory<activation_16>>>;
using add_paper = trial<residual_add<>, list<elements<bf16>, elements<bf16>>,
    list<matrix_memory<bf16>, compressed_memory<activation_16>>>;
using add_gradient = trial<residual_add_backward<>, list<elements<bf16>, codes_by<activation_16>>,
    list<matrix_memory<bf16>, quantized_memory<gradient_codec>>>;
using add_unrounded = trial<residual_add<float32>, list<elements<float>, elements<fp16>>,
    list<matrix_memory<float>, quantized_memory<product_codec>>>;
using add_halves = trial<residual_add<float16>, list<elements<fp16>, elements<fp16>>,
    list<matrix_memory<fp16>, compressed_memory<activation_16>>>;

}  // namespace

namespace support {

TEST_CASE_TEMPLATE_INVOKE(pointwise_numbers, silu_paper, silu_tensor, silu_gradient, gelu_erf, gelu_erf_gradient,
    gelu_tanh, gelu_tanh_gradient, swiglu_paper, swiglu_gradient, geglu_mixed, geglu_gradient, add_paper, add_gradient,
    add_unrounded, add_halves);

TEST_CASE_TEMPLATE_INVOKE(a01_gelu_tanh, host_operators);
TEST_CASE_TEMPLATE_INVOKE(no_faults, host_operators);
TEST_CASE_TEMPLATE_INVOKE(a08_same_numbers, host_operators);
TEST_CASE_TEMPLATE_INVOKE(a09_no_drift, host_operators);
TEST_CASE_TEMPLATE_INVOKE(rising_scales, host_operators);

}  // namespace support

TEST_CASE("the oracle's slopes are the differences of its values")
{
    support::tally failures;
    const auto try_one = [&](auto at, const char* name) {
        for (double x = -12; x <= 12; x += 0.01) {
            const double step = 1e-5;
            const double difference = (at(x + step).value.value - at(x - step).value.value) / (2 * step);
            failures.expect(std::fabs(at(x).slope.value - difference) < 1e-8,
                [&](auto& out) { out << name << " at " << x << ": " << at(x).slope.value << ", " << difference; });
        }
    };
    try_one([](double x) { return oracle::silu(x); }, "silu");
    try_one([](double x) { return oracle::gelu_erf(x); }, "gelu erf");
    try_one([](double x) { return oracle::gelu_tanh(x); }, "gelu tanh");
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE("activations rise from where they say, and are smaller below")
{
    support::tally failures;
    const auto try_one = [&](auto function, const char* name) {
        using function_type = decltype(function);
        constexpr float from = function_type::rises_from;
        const float there = function_type::value(from);
        float before = there;
        for (float x = from; x < 30; x += 1.0f / 512) {
            failures.expect(function_type::value(x) >= before, [&](auto& out) { out << name << " falls at " << x; });
            before = function_type::value(x);
        }
        for (float x = from; x > -30; x -= 1.0f / 512) {
            failures.expect(
                std::fabs(function_type::value(x)) <= there, [&](auto& out) { out << name << " is large at " << x; });
        }
    };
    try_one(silu_function{}, "silu");
    try_one(gelu_function<gelu_kind::erf>{}, "gelu");
    try_one(gelu_function<gelu_kind::tanh>{}, "gelu by tanh");
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE("the formulas of hardware math with the host's exp keep their bounds")
{
    support::tally failures;
    for (double x = -13; x <= 13; x += 1.0 / 1024) {
        const float value = static_cast<float>(x);
        const double tail = 0.5 * std::erfc(std::fabs(x) * std::sqrt(0.5));
        const double tail_bound = std::fabs(x) <= 6.5 ? 0x1p-16 * tail : 0x1p-48;
        const float got_tail = upper_tail<hardware_math>(value);
        failures.expect(std::fabs(static_cast<double>(got_tail) - tail) <= tail_bound,
            [&](auto& out) { out << "tail at " << x << ": " << got_tail << ", expected " << tail; });
        const double density = std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846);
        if (density < 0x1p-100) continue;
        const float got_density = normal_density<hardware_math>(value);
        failures.expect(std::fabs(static_cast<double>(got_density) / density - 1) <= (6 + x * x) * 0x1p-23,
            [&](auto& out) { out << "density at " << x << ": " << got_density << ", expected " << density; });
        const double s = 1 / (1 + std::exp(-x));
        failures.expect(
            std::fabs(static_cast<double>(sigmoid<hardware_math>(value)) / s - 1) <= (6 + std::fabs(x)) * 0x1p-23,
            [&](auto& out) { out << "sigmoid at " << x; });
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

namespace {

// A sound call with two inputs and two outputs, to be made unsound.
struct sound_call {
    matrix_memory<float> a{4, 40};
    compressed_memory<activation_16> b{4, 40};
    matrix_memory<bf16> sum{4, 40};
    compressed_memory<activation_16> plain{4, 40};
    compressed_memory<transposed_codec<activation_16>> transposed{40, 4};

    template<class Change>
    status answer(Change change)
    {
        auto first = a.view();
        auto second = b.view();
        auto stored = sum.view();
        quantized_matrix<activation_16> codes{plain.view(), transposed.view()};
        change(first, second, stored, codes);
        const status answered = host_pointwise<residual_add<>>(sources_of(first, second), sinks_of(stored, codes));
        if (answered != status::success) {
            for (index_t row = 0; row < 4; ++row) {
                for (index_t column = 0; column < 40; ++column) {
                    REQUIRE(sum.get(row, column).bits == 0xC7C7u);
                    REQUIRE(plain.code(row, column) == 0xC7u);
                    REQUIRE(transposed.code(column, row) == 0xC7u);
                }
            }
            REQUIRE(plain.scale(0) == 0xC7C7u);
            REQUIRE(transposed.scale(0) == 0xC7C7u);
        }
        return answered;
    }
};

}  // namespace

TEST_CASE("misuse of an operator is answered, and nothing is written")
{
    sound_call call;
    const auto answer = [&](auto change) { return call.answer(change); };
    CHECK(answer([](auto& a, auto&, auto&, auto&) { a.data = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto& b, auto&, auto&) { b.codes = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto& b, auto&, auto&) { b.scales = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto&, auto& sum, auto&) { sum.data = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto&, auto&, auto& to) { to.transposed.scales = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto&, auto&, auto& to) { to.plain.codes = nullptr, to.transposed.codes = nullptr; })
          == status::null_pointer);
    CHECK(answer([](auto& a, auto&, auto&, auto&) { a.rows = -1; }) == status::negative_count);
    CHECK(answer([](auto& a, auto&, auto&, auto&) { a.rows = 3; }) == status::size_mismatch);
    CHECK(answer([](auto& a, auto&, auto&, auto&) { a.stride = 39; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& b, auto&, auto&) { b.columns = 39; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto&, auto& sum, auto&) { sum.columns = 41; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto&, auto& sum, auto&) { sum.stride = 39; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto&, auto&, auto& to) { to.plain.rows = 5; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto&, auto&, auto& to) { std::swap(to.transposed.rows, to.transposed.columns); })
          == status::size_mismatch);
    CHECK(answer([](auto&, auto&, auto&, auto& to) { to.plain.order = scale_order::cublaslt; })
          == status::invalid_scale_order);
    CHECK(answer([](auto&, auto&, auto&, auto&) {}) == status::success);
}
