// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators on single elements in the paper's formats, forward and backward, with and without transpose.
#include "operator_case.cuh"

namespace {

using namespace gesso;
using bench::bf16_sink;
using bench::bf16_source;
using bench::check;
using bench::matrix_shape;
using bench::output;
using bench::saved_sink;
using bench::saved_source;
using product = quantized_matrix<product_codec>;
using gradient = quantized_matrix<gradient_codec>;
template<class... Views>
using operands = std::tuple<Views...>;

template<class Operator, class Sources, class Sinks>
void add_pointwise(const char* name, matrix_shape shape, output wanted = output::plain)
{
    bench::add_operator<Sources, Sinks>(
        name, shape, wanted,
        [](matrix_shape, const auto&) {
            return std::make_unique<bench::device_memory>(pointwise_workspace_bytes<Operator>);
        },
        [](const bench::device_memory& workspace, const auto& memory, cudaStream_t stream) {
            check(pointwise<Operator>(memory.from(), memory.to(), workspace.data(), stream), "pointwise");
        },
        [](matrix_shape) { return index_t{0}; });
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using one = operands<saved_source>;
    using two = operands<saved_source, saved_source>;
    using two_and_gradient = operands<saved_source, saved_source, bf16_source>;
    using with_gradient = operands<saved_source, bf16_source>;
    using added = operands<bf16_source, bf16_source>;
    for (const matrix_shape shape : bench::matrix_shapes()) {
        add_pointwise<silu, one, operands<saved_sink>>("silu", shape);
        add_pointwise<gelu<>, one, operands<saved_sink>>("gelu", shape);
        add_pointwise<gelu<gelu_kind::tanh>, one, operands<saved_sink>>("gelu_tanh", shape);
        add_pointwise<silu_backward, with_gradient, operands<bf16_sink>>("silu_backward", shape);
        add_pointwise<residual_add<>, added, operands<bf16_sink, saved_sink>>("residual_add", shape);
        for (const output wanted : {output::plain, output::both}) {
            add_pointwise<gelu<>, one, operands<product>>("gelu", shape, wanted);
            add_pointwise<gelu<gelu_kind::tanh>, one, operands<product>>("gelu_tanh", shape, wanted);
            add_pointwise<swiglu, two, operands<product>>("swiglu", shape, wanted);
            add_pointwise<geglu<>, two, operands<product>>("geglu", shape, wanted);
            add_pointwise<silu_backward, with_gradient, operands<gradient>>("silu_backward", shape, wanted);
            add_pointwise<gelu_backward<>, with_gradient, operands<gradient>>("gelu_backward", shape, wanted);
            add_pointwise<swiglu_backward, two_and_gradient, operands<gradient, gradient>>(
                "swiglu_backward", shape, wanted);
            add_pointwise<residual_add_backward<>, added, operands<bf16_sink, gradient>>(
                "residual_add_backward", shape, wanted);
        }
    }
    return bench::run(argument_count, arguments);
}
