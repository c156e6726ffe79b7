// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Norms in the paper's formats, forward and backward, with and without transpose. What they read and write beside their
// matrices is counted too: weights, row values, weight gradients.
#include "operator_case.cuh"

#include <gesso/operator/norm.cuh>

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
using weight_type = __nv_bfloat16;
template<class... Views>
using operands = std::tuple<Views...>;

// Weights, row values (two of a row), column sums and the workspace of an operator.
template<class Operator>
struct vectors {
    static constexpr int row_values = Operator::given + Operator::saved;
    bench::device_memory parameters;
    bench::device_memory rows;
    bench::device_memory sums;
    bench::device_memory workspace;
    row_memory<Operator, weight_type> memory;

    explicit vectors(matrix_shape shape)
        : parameters(shape.columns * detail::at_least_one(Operator::parameters) * index_t{sizeof(weight_type)})
        , rows(shape.rows * row_values * 4)
        , sums(shape.columns * detail::at_least_one(Operator::column_sums) * 4)
        , workspace(by_rows_workspace_bytes<Operator>(shape.rows, shape.columns))
    {
        bench::fill_normal(parameters.data<weight_type>(), shape.columns * Operator::parameters, 1.0f, 5);
        bench::fill_normal(rows.data<float>(), shape.rows * row_values, 1.0f, 6);
        for (int i = 0; i < Operator::parameters; ++i) {
            memory.parameters[i] = parameters.data<weight_type>() + i * shape.columns;
        }
        for (int i = 0; i < Operator::given; ++i) memory.given[i] = rows.data<float>() + i * shape.rows;
        for (int i = 0; i < Operator::saved; ++i) memory.saved[i] = rows.data<float>() + i * shape.rows;
        for (int i = 0; i < Operator::column_sums; ++i) memory.column_sums[i] = sums.data<float>() + i * shape.columns;
        memory.epsilon = 1e-5f;
    }
    static index_t bytes(matrix_shape shape)
    {
        return shape.columns * (Operator::parameters * index_t{sizeof(weight_type)} + Operator::column_sums * 4)
               + shape.rows * row_values * 4;
    }
};

template<class Operator, class Sources, class Sinks>
void add_norm(const char* name, matrix_shape shape, output wanted = output::plain)
{
    bench::add_operator<Sources, Sinks>(
        name, shape, wanted, [](matrix_shape of, const auto&) { return std::make_unique<vectors<Operator>>(of); },
        [](const vectors<Operator>& beside, const auto& memory, cudaStream_t stream) {
            check(by_rows(memory.from(), beside.memory, memory.to(), beside.workspace.data(), stream), "by_rows");
        },
        [](matrix_shape of) { return vectors<Operator>::bytes(of); });
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using one = operands<saved_source>;
    using with_gradient = operands<saved_source, bf16_source>;
    for (const matrix_shape shape : bench::matrix_shapes()) {
        add_norm<rms_norm, one, operands<bf16_sink>>("rms_norm", shape);
        add_norm<rms_norm, one, operands<saved_sink>>("rms_norm", shape);
        add_norm<rms_norm, operands<bf16_source>, operands<saved_sink>>("rms_norm", shape);
        add_norm<layer_norm<true>, one, operands<saved_sink>>("layer_norm", shape);
        add_norm<layer_norm<false>, one, operands<saved_sink>>("layer_norm_without_parameters", shape);
        add_norm<rms_norm_backward, with_gradient, operands<bf16_sink>>("rms_norm_backward", shape);
        add_norm<layer_norm_backward<true>, with_gradient, operands<bf16_sink>>("layer_norm_backward", shape);
        add_norm<layer_norm_backward<false>, with_gradient, operands<bf16_sink>>(
            "layer_norm_without_parameters_backward", shape);
        for (const output wanted : {output::plain, output::both}) {
            add_norm<rms_norm, one, operands<product>>("rms_norm", shape, wanted);
            add_norm<layer_norm<true>, one, operands<product>>("layer_norm", shape, wanted);
            add_norm<layer_norm<false>, one, operands<product>>("layer_norm_without_parameters", shape, wanted);
            add_norm<rms_norm_backward, with_gradient, operands<gradient>>("rms_norm_backward", shape, wanted);
        }
    }
    return bench::run(argument_count, arguments);
}
