// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device's operators with the arguments of operator_runs.hpp: blocks of memory go to the device whole, canaries
// included, and come back after the call.
#pragma once

#include "operator_cases.hpp"
#include "quantize_device.hpp"

#include <gesso/operator/norm.cuh>
#include <gesso/operator/pointwise.cuh>

#include <memory>

namespace support {

// A memory of a test on the device.
template<class Memory>
class on_device;
template<class T>
class on_device<matrix_memory<T>> {
public:
    explicit on_device(matrix_memory<T>& memory)
        : memory_(memory)
        , block_(memory.block())
    {}
    gesso::matrix_ref<T> view() const { return memory_.view_at(block_.base()); }
    void back() { block_.back(); }

private:
    matrix_memory<T>& memory_;
    device_block block_;
};
template<class Codec>
class on_device<compressed_memory<Codec>> {
public:
    explicit on_device(compressed_memory<Codec>& memory)
        : copy_(&memory)
    {}
    gesso::compressed_matrix<Codec> view() const { return copy_.view(); }
    void back() { copy_.back(); }

private:
    device_compressed<Codec> copy_;
};
template<class Codec, class TransposedCodec>
class on_device<quantized_memory<Codec, TransposedCodec>> {
public:
    explicit on_device(quantized_memory<Codec, TransposedCodec>& memory)
        : plain_(memory.wants_plain ? &memory.plain : nullptr)
        , transposed_(memory.wants_transposed ? &memory.transposed : nullptr)
    {}
    gesso::quantized_matrix<Codec, TransposedCodec> view() const { return {plain_.view(), transposed_.view()}; }
    void back()
    {
        plain_.back();
        transposed_.back();
    }

private:
    device_compressed<Codec> plain_;
    device_compressed<TransposedCodec> transposed_;
};

// Tuning: void, or a way to cut the work that changes no byte.
template<class Tuning = void>
struct device_operators {
    static inline const int runs = size_of_run(20, 2);

    template<class Operator, class... Sources, class... Sinks>
    static bool pointwise(const std::tuple<Sources&...>& from, const std::tuple<Sinks&...>& to)
    {
        const device_memory workspace(static_cast<std::size_t>(gesso::pointwise_workspace_bytes<Operator>));
        return with_operands(from, to, [&](const auto& sources, const auto& sinks) {
            const cudaError_t error = gesso::pointwise<Operator, Tuning>(sources, sinks, workspace.data(), nullptr);
            GESSO_CUDA(cudaDeviceSynchronize());
            CHECK(workspace.is_intact());
            return error;
        });
    }
    template<class Operator, class Parameter, class... Sources, class... Sinks>
    static bool by_rows(
        const std::tuple<Sources&...>& from, row_vectors<Parameter>& vectors, const std::tuple<Sinks&...>& to)
    {
        gesso::row_memory<Operator, Parameter> memory;
        const auto parameters = uploaded(vectors.parameters, memory.parameters);
        const auto given = uploaded(vectors.given, memory.given);
        const auto saved = uploaded(vectors.saved, memory.saved);
        const auto column_sums = uploaded(vectors.column_sums, memory.column_sums);
        memory.epsilon = vectors.epsilon;
        const bool succeeded = with_operands(from, to, [&](const auto& sources, const auto& sinks) {
            const gesso::detail::extent of = gesso::detail::extent_of(sources.first);
            const device_memory workspace(
                static_cast<std::size_t>(gesso::by_rows_workspace_bytes<Operator>(of.rows, of.columns)));
            const cudaError_t error = gesso::by_rows<Tuning>(sources, memory, sinks, workspace.data(), nullptr);
            GESSO_CUDA(cudaDeviceSynchronize());
            CHECK(workspace.is_intact());
            return error;
        });
        for (std::size_t i = 0; i < saved.size(); ++i) vectors.saved[i] = saved[i].values();
        for (std::size_t i = 0; i < column_sums.size(); ++i) vectors.column_sums[i] = column_sums[i].values();
        for (const auto& each : saved) CHECK(each.is_intact());
        for (const auto& each : column_sums) CHECK(each.is_intact());
        return succeeded;
    }

private:
    // Vectors on the device, and their pointers.
    template<class T, class Pointer, std::size_t Count>
    static std::vector<device_array<T>> uploaded(const std::vector<std::vector<T>>& vectors, Pointer (&pointers)[Count])
    {
        std::vector<device_array<T>> arrays;
        for (std::size_t i = 0; i < vectors.size(); ++i) {
            arrays.emplace_back(vectors[i]);
            pointers[i] = arrays.back().data();
        }
        return arrays;
    }
    template<class... Sources, class... Sinks, class Act>
    static bool with_operands(const std::tuple<Sources&...>& from, const std::tuple<Sinks&...>& to, Act act)
    {
        const auto moved = [](auto&... each) {
            return std::make_tuple(std::make_unique<on_device<std::decay_t<decltype(each)>>>(each)...);
        };
        const auto sources = std::apply(moved, from);
        const auto sinks = std::apply(moved, to);
        const cudaError_t error =
            act(std::apply([](const auto&... each) { return gesso::sources_of(each->view()...); }, sources),
                std::apply([](const auto&... each) { return gesso::sinks_of(each->view()...); }, sinks));
        std::apply([](const auto&... each) { (each->back(), ...); }, sinks);
        return error == cudaSuccess;
    }
};

}  // namespace support
