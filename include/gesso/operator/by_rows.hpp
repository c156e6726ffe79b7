// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators by rows, as the norms in operator/norm.hpp and a user's own: sums over a row first, in one or two stages, then
// numbers of an element. Here what such an operator is given beside its matrices, and the host level. It is a struct with
//
//   inputs, outputs   numbers of an element, in and out
//   parameters        numbers of a column that it reads (a weight, a bias); 0 is valid
//   row_values        numbers of a row: the first `given` are read, each stage adds its own; the first `saved` are written
//   stages, sums      how often a row is summed, and how many sums at once
//   column_sums       sums over all rows that it leaves (weight gradients); 0 is valid
//   accumulate<Stage>(in, parameters, row, sums)     adds an element to the sums of a stage
//   finish<Stage>(sums, columns, epsilon, row)       the row values that these sums make
//   apply(in, parameters, row, out)                  an element's outputs
//   contribute(in, parameters, row, column)          adds an element to the sums of its column
//
// An array of no numbers has one that means nothing. Sums are fp32 (the host adds pieces of 128 in double), in an order that
// depends on the shape alone.
#pragma once

#include <gesso/operator/functions.hpp>
#include <gesso/operator/host_sinks.hpp>

#if !defined(__CUDACC_RTC__)
#include <vector>
#endif

namespace gesso {

// What an operator by rows reads and writes beside its matrices, in memory of the side that runs it.
//   parameters   (columns) each, all of one element type (fp32 weights with bf16 activations are computed in fp32)
//   given        (rows) each: row values that a forward pass saved
//   saved        (rows) each: row values that are written; null: not wanted
//   column_sums  (columns) each, fp32: weight gradients, written, not added to; the order of the sum depends on the shape
//                alone
template<class Operator, class Parameter>
struct row_memory {
    const Parameter* parameters[detail::at_least_one(Operator::parameters)] = {};
    const float* given[detail::at_least_one(Operator::given)] = {};
    float* saved[detail::at_least_one(Operator::saved)] = {};
    float* column_sums[detail::at_least_one(Operator::column_sums)] = {};
    float epsilon = 0.0f;
};

namespace detail {

// An epsilon is a number from zero up; nothing that is needed is missing.
template<class Operator, class Parameter>
constexpr GESSO_HOST_DEVICE status check_row_memory(const extent& of, const row_memory<Operator, Parameter>& memory)
{
    if (!is_finite(memory.epsilon) || (bits_of(memory.epsilon) >> 31) != 0) return status::invalid_configuration;
    bool missing = false;
    if (of.columns != 0) {
        for (int i = 0; i < Operator::parameters; ++i) missing = missing || memory.parameters[i] == nullptr;
        for (int i = 0; i < Operator::column_sums; ++i) missing = missing || memory.column_sums[i] == nullptr;
    }
    if (!of.is_empty()) {
        for (int i = 0; i < Operator::given; ++i) missing = missing || memory.given[i] == nullptr;
    }
    return missing ? status::null_pointer : status::success;
}

}  // namespace detail

// NVRTC compiles device code alone: what follows is the host level.
#if !defined(__CUDACC_RTC__)

namespace detail {

// Sums of `Count` numbers over `extent` elements: pieces of 128 in fp32, the pieces in double. add(i, float (&)[...]).
template<int Count, class Add>
void sum_pieces(index_t extent, float (&result)[at_least_one(Count)], Add add)
{
    double totals[at_least_one(Count)] = {};
    for (index_t begin = 0; begin < extent; begin += 128) {
        float piece[at_least_one(Count)] = {};
        for (index_t i = begin; i < smaller(begin + 128, extent); ++i) add(i, piece);
        for (unsigned i = 0; i < at_least_one(Count); ++i) totals[i] += static_cast<double>(piece[i]);
    }
    for (unsigned i = 0; i < at_least_one(Count); ++i) result[i] = static_cast<float>(totals[i]);
}

// An operator by rows on the host. Preconditions: everything was checked.
template<class Operator, class Sources, class Parameter>
class host_rows {
public:
    host_rows(const Sources& from, const row_memory<Operator, Parameter>& memory, const extent& of)
        : from_(from)
        , memory_(memory)
        , extent_(of)
        , row_values_(static_cast<std::size_t>(of.rows))
    {
        for (index_t row = 0; row < of.rows; ++row) find_row_values(row);
    }

    void operator()(index_t row, index_t column, float (&out)[Operator::outputs]) const
    {
        const numbers at(*this, row, column);
        Operator::apply(at.in, at.parameters, row_values(row), out);
    }
    void write_column_sums() const
    {
        if constexpr (Operator::column_sums > 0) {
            for (index_t column = 0; column < extent_.columns; ++column) {
                float sums[Operator::column_sums];
                sum_pieces<Operator::column_sums>(extent_.rows, sums, [&](index_t row, auto& to) {
                    const numbers at(*this, row, column);
                    Operator::contribute(at.in, at.parameters, row_values(row), to);
                });
                for (int i = 0; i < Operator::column_sums; ++i) memory_.column_sums[i][column] = sums[i];
            }
        }
    }
    void write_saved() const
    {
        for (int i = 0; i < Operator::saved; ++i) {
            for (index_t row = 0; memory_.saved[i] != nullptr && row < extent_.rows; ++row) {
                memory_.saved[i][row] = row_values(row)[i];
            }
        }
    }

private:
    using row_array = float[at_least_one(Operator::row_values)];
    struct values_of_row {
        row_array at = {};
    };

    // What an element and its column hold.
    struct numbers {
        float in[Operator::inputs];
        float parameters[at_least_one(Operator::parameters)] = {};

        numbers(const host_rows& of, index_t row, index_t column)
        {
            gather(of.from_, row, column, in);
            for (int i = 0; i < Operator::parameters; ++i) {
                parameters[i] = element<Parameter>::load(of.memory_.parameters[i][column]);
            }
        }
    };

    const row_array& row_values(index_t row) const { return row_values_[static_cast<std::size_t>(row)].at; }
    void find_row_values(index_t row)
    {
        row_array& known = row_values_[static_cast<std::size_t>(row)].at;
        for (int i = 0; i < Operator::given; ++i) known[i] = memory_.given[i][row];
        find_stage<0>(row, known);
    }
    template<int Stage>
    void find_stage(index_t row, row_array& known) const
    {
        if constexpr (Stage < Operator::stages) {
            float sums[at_least_one(Operator::sums)];
            sum_pieces<Operator::sums>(extent_.columns, sums, [&](index_t column, auto& to) {
                const numbers at(*this, row, column);
                Operator::template accumulate<Stage>(at.in, at.parameters, known, to);
            });
            Operator::template finish<Stage>(sums, extent_.columns, memory_.epsilon, known);
            find_stage<Stage + 1>(row, known);
        }
    }

    const Sources& from_;
    const row_memory<Operator, Parameter>& memory_;
    extent extent_;
    std::vector<values_of_row> row_values_;
};

}  // namespace detail

// An operator by rows on its sources (rows, columns), its outputs to the sinks. Everything else as of host_pointwise, and:
//   memory    what the operator reads and writes beside its matrices; outputs overlap no input
//   errors    invalid_configuration too: an epsilon below zero or not finite
//   rows of 0 columns have no sums and nothing is saved for them; the column sums of no rows are zeros
// Allocates one fp32 number for each row and row value.
template<class Operator, class Parameter, class... Sources, class... Sinks>
[[nodiscard]] status host_by_rows(
    const source_pack<Sources...>& from, const row_memory<Operator, Parameter>& memory, const sink_pack<Sinks...>& to)
{
    detail::require_operands<Operator, source_pack<Sources...>, sink_pack<Sinks...>>();
    const detail::extent extent = detail::extent_of(from.first);
    status checked = detail::check_operands(extent, from);
    if (checked == status::success) checked = detail::check_operands(extent, to);
    if (checked == status::success) checked = detail::check_row_memory(extent, memory);
    if (checked != status::success || extent.columns == 0) return checked;
    const detail::host_rows<Operator, source_pack<Sources...>, Parameter> rows(from, memory, extent);
    rows.write_column_sums();
    if (extent.is_empty()) return checked;
    rows.write_saved();
    detail::write_sinks<Operator::outputs>(rows, extent.columns, to);
    return status::success;
}

#endif

}  // namespace gesso
