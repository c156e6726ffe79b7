// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Cases of pointwise operators on the device; a test program instantiates them for its operators and operands.
#pragma once

#include "operator_device.hpp"

#include <gesso/operator/pointwise.cuh>

#include <memory>
#include <tuple>
#include <utility>

namespace support {

using gesso::compressed_matrix;
using gesso::matrix_ref;
using gesso::quantized_matrix;

// An operator with the types of its operands.
template<class Operator, class Sources, class Sinks>
struct operator_trial;
template<class Operator, class... Sources, class... Sinks>
struct operator_trial<Operator, std::tuple<Sources...>, std::tuple<Sinks...>> {
    using operator_type = Operator;
    static constexpr std::size_t outputs = sizeof...(Sinks);

    std::tuple<std::unique_ptr<operand<Sources>>...> sources;
    std::tuple<std::unique_ptr<result<Sinks>>...> sinks;
    odd_place place;
    device_memory workspace{static_cast<std::size_t>(gesso::pointwise_workspace_bytes<Operator>)};

    template<std::size_t... I>
    operator_trial(const odd_place& at, bool has_faults, std::index_sequence<I...>)
        : sources(std::make_unique<operand<Sources>>(at, static_cast<unsigned>(7 * I + 1), has_faults && I == 0)...)
        , sinks(std::make_unique<result<Sinks>>(at)...)
        , place(at)
    {}
    operator_trial(const odd_place& at, bool has_faults)
        : operator_trial(at, has_faults, std::index_sequence_for<Sources...>{})
    {}

    auto device_sources()
    {
        return std::apply([](auto&... each) { return gesso::sources_of(each->device()...); }, sources);
    }
    template<class Tuning = void>
    cudaError_t run(cudaStream_t stream = nullptr)
    {
        const auto to = std::apply([](auto&... each) { return gesso::sinks_of(each->device()...); }, sinks);
        return gesso::pointwise<Operator, Tuning>(device_sources(), to, workspace.data(), stream);
    }
    void back()
    {
        GESSO_CUDA(cudaDeviceSynchronize());
        std::apply([](auto&... each) { (each->back(), ...); }, sinks);
        CHECK(workspace.is_intact());
    }
    std::vector<unsigned char> bytes()
    {
        std::vector<unsigned char> all;
        std::apply(
            [&](auto&... each) {
                const auto append = [&](const std::vector<unsigned char>& some) { all.insert(all.end(), some.begin(), some.end()); };
                (append(each->bytes()), ...);
            },
            sinks);
        return all;
    }

    // The fp32 results on the device and on the host, each an array of matrices.
    using numbers = std::vector<std::unique_ptr<result<matrix_ref<float>>>>;
    numbers device_numbers()
    {
        return std::apply([&](auto... each) { return numbers_of(each...); }, output_indices(std::make_index_sequence<outputs>{}));
    }
    std::vector<matrix_memory<float>> host_numbers()
    {
        std::vector<matrix_memory<float>> made;
        for (std::size_t i = 0; i < outputs; ++i) made.emplace_back(place.rows, place.columns);
        const auto from = std::apply([](auto&... each) { return gesso::sources_of(each->host()...); }, sources);
        std::apply(
            [&](auto... index) {
                REQUIRE(gesso::host_pointwise<Operator>(from, gesso::sinks_of(made[index].view()...))
                        == gesso::status::success);
            },
            output_indices(std::make_index_sequence<outputs>{}));
        return made;
    }

private:
    template<std::size_t... I>
    static auto output_indices(std::index_sequence<I...>)
    {
        return std::make_tuple(I...);
    }
    template<class... Index>
    numbers numbers_of(Index... index)
    {
        numbers made;
        for (std::size_t i = 0; i < outputs; ++i) {
            made.push_back(std::make_unique<result<matrix_ref<float>>>(odd_place{place.rows, place.columns}));
        }
        GESSO_CUDA(gesso::pointwise<Operator>(
            device_sources(), gesso::sinks_of(made[index]->device()...), nullptr, nullptr));
        GESSO_CUDA(cudaDeviceSynchronize());
        for (auto& each : made) each->back();
        return made;
    }
};

// The bound of an operator's fp32 results on the device against the host's: relative and absolute (docs/numerics.md). The
// absolute part covers products of a small factor that cancel in one and not in the other.
constexpr double operator_relative = 1e-5;
constexpr double operator_absolute = 2e-6;

TEST_CASE_TEMPLATE_DEFINE("numbers are the host's within the bound, codes those of quantizing them", Trial, pointwise_bytes)
{
    for (const odd_place& at : odd_places()) {
        for (const bool has_faults : {false, true}) {
            CAPTURE(at.rows);
            CAPTURE(at.columns);
            CAPTURE(has_faults);
            Trial trial(at, has_faults);
            auto numbers = trial.device_numbers();
            auto wanted = trial.host_numbers();
            for (std::size_t i = 0; i < Trial::outputs; ++i) {
                std::int64_t far = 0;
                for (std::int64_t j = 0; j < at.rows * at.columns; ++j) {
                    const std::int64_t row = j / at.columns;
                    const float found = numbers[i]->memory().get(row, j % at.columns);
                    const float on_host = wanted[i].get(row, j % at.columns);
                    if (!is_near(found, on_host, operator_relative, operator_absolute)) {
                        if (++far == 1) MESSAGE("output " << i << " at " << row << ", " << j % at.columns << ": " << found << " for " << on_host);
                    }
                }
                CHECK(far == 0);
            }
            GESSO_CUDA(trial.run());
            trial.back();
            std::size_t output = 0;
            std::apply(
                [&](auto&... each) {
                    const auto compare = [&](auto& sink) {
                        CHECK(sink.first_difference(numbers[output++]->memory()) == -1);
                    };
                    (compare(*each), ...);
                },
                trial.sinks);
        }
    }
}

// Cuts of the work that differ in all they may.
struct narrow_cut {
    static constexpr int row_items = 4;
    static constexpr int row_pieces = 3;
    static constexpr int row_threads = 128;
    static constexpr int scan_pieces = 1;
    static constexpr int scan_threads = 64;
    static constexpr int scan_blocks = 7;
    static constexpr int tile_threads = 512;
};
struct wide_cut {
    static constexpr int row_items = 8;
    static constexpr int row_pieces = 1;
    static constexpr int row_threads = 512;
    static constexpr int scan_pieces = 4;
    static constexpr int scan_threads = 512;
    static constexpr int scan_blocks = 1000;
    static constexpr int tile_threads = 256;
};

TEST_CASE_TEMPLATE_DEFINE("the same bytes in 20 runs of 3 tunings, and from a graph", Trial, pointwise_repeats)
{
    const odd_place at = is_small() ? odd_place{65, 72, 3, 1} : odd_place{515, 1032, 3, 1};
    Trial trial(at, true);
    GESSO_CUDA(trial.run());
    trial.back();
    const std::vector<unsigned char> first = trial.bytes();
    const auto is_same = [&] {
        trial.back();
        return trial.bytes() == first;
    };
    for (int run = 0; run < size_of_run(20, 2); ++run) {
        GESSO_CUDA(trial.run());
        REQUIRE(is_same());
        GESSO_CUDA(trial.template run<narrow_cut>());
        REQUIRE(is_same());
        GESSO_CUDA(trial.template run<wide_cut>());
        REQUIRE(is_same());
    }
    cudaStream_t stream;
    GESSO_CUDA(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    GESSO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    GESSO_CUDA(trial.run(stream));
    GESSO_CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable;
    GESSO_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int run = 0; run < 2; ++run) {
        GESSO_CUDA(cudaGraphLaunch(executable, stream));
        REQUIRE(is_same());
    }
    GESSO_CUDA(cudaGraphExecDestroy(executable));
    GESSO_CUDA(cudaGraphDestroy(graph));
    GESSO_CUDA(cudaStreamDestroy(stream));
}

}  // namespace support
