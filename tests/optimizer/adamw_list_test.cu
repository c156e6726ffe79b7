// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A list of tensors is stepped as its tensors are one by one, byte for byte, whatever became of the host's
// memory; and the norm of its gradients.
#include <doctest/doctest.h>

#include "device_training.hpp"

#include <gesso/optimizer/adamw_list.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

using gesso::adamw_device_state;
using gesso::bf16;
using gesso::index_t;
using gesso::nearest_even;
using gesso::stochastic;
using support::configuration;
using support::device_shape;
using support::device_steps;
using support::stored_as;

namespace {

using training = support::device_training<bf16, bf16, support::pair_expanded>;
using tensor_type = decltype(std::declval<training>().tensor());
using hardware = support::hardware_policy<nearest_even, stochastic, stochastic>;
using exact = support::exact_policy<nearest_even, stochastic, stochastic>;

// Of all sizes from nothing to many tiles, a few in rows, some not aligned.
std::vector<training> tensors_of(std::size_t number, std::uint64_t seed)
{
    generator::random_source random(seed);
    std::vector<training> result;
    for (std::size_t i = 0; i < number; ++i) {
        device_shape shape;
        shape.count = static_cast<index_t>(i % 17 == 3   ? 0
                                           : i % 50 == 7 ? 40000 + random.below(60000)
                                                         : random.below(i % 3 == 0 ? 40 : 5000));
        if (i % 11 == 5) {
            shape.row_length = 1 + static_cast<index_t>(random.below(300));
            shape.count = shape.row_length * 7;
        }
        if (i % 13 == 1) shape.parameter_offset = 1 + random.below(7);
        if (i % 13 == 2) shape.code_offset = 1 + random.below(15);
        const std::size_t count = static_cast<std::size_t>(shape.count);
        result.emplace_back(shape, generator::normal_values(count, 0.5, seed + i));
        result.back().gradients.upload(stored_as<bf16>(support::gradient_values(count, seed + i)));
    }
    return result;
}

std::vector<tensor_type> views_of(const std::vector<training>& of)
{
    std::vector<tensor_type> result;
    for (std::size_t i = 0; i < of.size(); ++i) {
        result.push_back(of[i].tensor());
        result.back().learning_rate_scale = i % 2 == 0 ? 1.0f : 0.5f;
        result.back().weight_decay_scale = i % 5 == 0 ? 0.0f : 1.0f;
    }
    return result;
}

// A list in device memory. Nothing of the host's is left when the constructor returns.
template<class Policy>
struct owned_list {
    support::device_memory memory;
    gesso::adamw_list<tensor_type> list;

    explicit owned_list(const std::vector<training>& of)
    {
        std::vector<tensor_type> tensors = views_of(of);
        const gesso::adamw_list_layout<Policy, tensor_type> layout(
            tensors.data(), static_cast<index_t>(tensors.size()));
        REQUIRE(layout.checked() == gesso::status::success);
        std::vector<std::uint64_t> host(static_cast<std::size_t>(layout.bytes() + 7) / 8);
        REQUIRE(layout.write(host.data()) == gesso::status::success);
        memory = support::device_memory(static_cast<std::size_t>(layout.bytes()));
        memory.upload(host.data());
        list = layout.bind(memory.data());
        std::memset(host.data(), 0xFF, host.size() * 8);
        for (tensor_type& tensor : tensors) tensor = {};
    }
};

template<class Policy>
void step_each(const std::vector<training>& of, device_steps& state)
{
    std::vector<tensor_type> tensors = views_of(of);
    state.advance();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i].number = static_cast<std::uint32_t>(i);
        GESSO_CUDA(gesso::adamw_step<Policy>(tensors[i], state.data(), nullptr));
    }
}

void check_same(const std::vector<training>& left, const std::vector<training>& right)
{
    std::size_t different = 0;
    std::size_t damaged = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        different += support::same_bytes(left[i].on_host(), right[i].on_host()) ? 0u : 1u;
        damaged += left[i].is_intact() ? 0u : 1u;
    }
    CHECK(different == 0);
    CHECK(damaged == 0);
}

template<class Policy>
void compare_list_with_tensors(std::size_t number)
{
    const auto together = tensors_of(number, 1);
    const auto apart = tensors_of(number, 1);
    const owned_list<Policy> list(together);
    device_steps list_state(configuration(1e-2, 0.1), 9);
    device_steps state(configuration(1e-2, 0.1), 9);
    for (int step = 1; step <= 3; ++step) {
        list_state.advance();
        GESSO_CUDA(gesso::adamw_step<Policy>(list.list, list_state.data(), nullptr));
        step_each<Policy>(apart, state);
    }
    support::synchronize();
    check_same(together, apart);
}

__global__ void wait_kernel(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

struct own_stream {
    cudaStream_t stream = nullptr;

    own_stream() { GESSO_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    ~own_stream() { static_cast<void>(cudaStreamDestroy(stream)); }
    own_stream(const own_stream&) = delete;
    own_stream& operator=(const own_stream&) = delete;
};

double norm_of(const std::vector<training>& of)
{
    double sum = 0;
    for (const training& one : of) {
        for (float value : support::loaded(one.gradients.values())) sum += double{value} * double{value};
    }
    return std::sqrt(sum);
}

}  // namespace

TEST_CASE("a list's bytes are those of its tensors stepped one by one")
{
    SUBCASE("hardware") { compare_list_with_tensors<hardware>(support::size_of_run<std::size_t>(1000, 40)); }
    SUBCASE("exact") { compare_list_with_tensors<exact>(support::size_of_run<std::size_t>(1000, 40)); }
    SUBCASE("one") { compare_list_with_tensors<hardware>(1); }
}

TEST_CASE("T07 a list of nothing is a success, and what is refused writes nothing")
{
    device_steps state(configuration(1e-2, 0.1));
    const gesso::adamw_list_layout<hardware, tensor_type> none(nullptr, 0);
    CHECK(none.checked() == gesso::status::success);
    CHECK(
        gesso::adamw_step<hardware>(gesso::adamw_list<tensor_type>{}, state.data(), nullptr) == cudaSuccess);
    const tensor_type empty[3] = {};
    const gesso::adamw_list_layout<hardware, tensor_type> empties(empty, 3);
    std::vector<std::uint64_t> host(static_cast<std::size_t>(empties.bytes() + 7) / 8);
    CHECK(empties.write(host.data()) == gesso::status::success);
    CHECK(gesso::adamw_step<hardware>(empties.bind(nullptr), state.data(), nullptr) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);

    tensor_type bad[2] = {};
    bad[1].first_moment.count = bad[1].second_moment.count = 5;
    const gesso::adamw_list_layout<hardware, tensor_type> refused(bad, 2);
    CHECK(refused.checked() == gesso::status::null_pointer);
    CHECK(refused.write(host.data()) == gesso::status::null_pointer);
}

TEST_CASE("R07 two lists on two streams, back to back, after the host's memory is gone, heavy")
{
    const std::size_t number = support::size_of_run<std::size_t>(1000, 20);
    const int repeats = support::size_of_run(1000, 5);
    const std::vector<training> first = tensors_of(number, 100);
    const std::vector<training> second = tensors_of(number, 20000);
    const std::vector<training> first_alone = tensors_of(number, 100);
    const std::vector<training> second_alone = tensors_of(number, 20000);
    device_steps first_state(configuration(1e-3, 0.1), 1);
    device_steps second_state(configuration(1e-3, 0.1), 2);
    const own_stream streams[2];
    {
        const owned_list<hardware> first_list(first);
        const owned_list<hardware> second_list(second);
        support::synchronize();
        for (const own_stream& one : streams) {
            wait_kernel<<<1, 1, 0, one.stream>>>(support::size_of_run(10000000LL, 100000LL));
        }
        for (int repeat = 0; repeat < repeats; ++repeat) {
            GESSO_CUDA(gesso::adamw_advance(first_state.data(), streams[0].stream));
            GESSO_CUDA(gesso::adamw_step<hardware>(first_list.list, first_state.data(), streams[0].stream));
            GESSO_CUDA(gesso::adamw_advance(second_state.data(), streams[1].stream));
            GESSO_CUDA(gesso::adamw_step<hardware>(second_list.list, second_state.data(), streams[1].stream));
        }
        support::synchronize();
    }
    device_steps first_alone_state(configuration(1e-3, 0.1), 1);
    device_steps second_alone_state(configuration(1e-3, 0.1), 2);
    for (int repeat = 0; repeat < repeats; ++repeat) {
        step_each<hardware>(first_alone, first_alone_state);
        step_each<hardware>(second_alone, second_alone_state);
    }
    support::synchronize();
    check_same(first, first_alone);
    check_same(second, second_alone);
}

TEST_CASE("the norm of a list's gradients, and what it does to the step, in a graph too")
{
    const auto tensors = tensors_of(support::size_of_run<std::size_t>(300, 30), 7);
    const owned_list<hardware> list(tensors);
    const double norm = norm_of(tensors);
    support::device_memory workspace(static_cast<std::size_t>(gesso::adamw_clip_workspace(list.list)));
    device_steps state(configuration(1e-2, 0.1), 9);
    const auto clip = [&](double max_norm) {
        GESSO_CUDA(gesso::adamw_clip(list.list, max_norm, true, workspace.data(), state.data(), nullptr));
        support::synchronize();
        return state.get();
    };
    for (float scale : {1.0f, 1024.0f}) {
        state.change([&](adamw_device_state& now) { now.state.gradient_scale = scale; });
        const double true_norm = norm / double{scale};
        const adamw_device_state clipped = clip(true_norm / 4);
        CHECK(clipped.gradient_norm == doctest::Approx(true_norm).epsilon(1e-6));
        CHECK(clipped.state.clip_factor
              == doctest::Approx(0.25 * true_norm / (true_norm + 1e-6)).epsilon(1e-6));
        CHECK(!clipped.state.skip);
        CHECK(clip(true_norm * 2 + 1).state.clip_factor == 1.0f);
        // The same to the bit each time.
        for (int i = 0; i < 10; ++i) {
            const adamw_device_state again = clip(true_norm / 4);
            CHECK(again.gradient_norm == clipped.gradient_norm);
            CHECK(again.state.clip_factor == clipped.state.clip_factor);
        }
    }

    // One gradient that is not finite: the step is skipped, and the next one is not.
    std::size_t some = 0;
    while (tensors[some].shape.count < 100) ++some;
    const std::vector<bf16> good = tensors[some].gradients.values();
    cudaStream_t stream = nullptr;
    GESSO_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    GESSO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GESSO_CUDA(gesso::adamw_clip(list.list, 1.0, true, workspace.data(), state.data(), stream));
    GESSO_CUDA(gesso::adamw_advance(state.data(), stream));
    GESSO_CUDA(gesso::adamw_step<hardware>(list.list, state.data(), stream));
    GESSO_CUDA(cudaStreamEndCapture(stream, &graph));
    GESSO_CUDA(cudaGraphInstantiate(&runnable, graph, 0));
    const auto before = tensors[some].on_host();
    for (float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<bf16> values = good;
        values[99] = gesso::element<bf16>::store(bad);
        GESSO_CUDA(cudaMemcpy(
            tensors[some].gradients.data(), values.data(), 2 * values.size(), cudaMemcpyHostToDevice));
        GESSO_CUDA(cudaGraphLaunch(runnable, stream));
        GESSO_CUDA(cudaStreamSynchronize(stream));
        CHECK(state.get().state.skip);
        CHECK(state.get().state.step == 0);
        CHECK(support::same_bytes(tensors[some].on_host(), before));
    }
    GESSO_CUDA(
        cudaMemcpy(tensors[some].gradients.data(), good.data(), 2 * good.size(), cudaMemcpyHostToDevice));
    GESSO_CUDA(cudaGraphLaunch(runnable, stream));
    GESSO_CUDA(cudaStreamSynchronize(stream));
    CHECK(!state.get().state.skip);
    CHECK(state.get().state.step == 1);
    CHECK(!support::same_bytes(tensors[some].on_host(), before));
    CHECK(workspace.is_intact());
    GESSO_CUDA(cudaGraphExecDestroy(runnable));
    GESSO_CUDA(cudaGraphDestroy(graph));
    GESSO_CUDA(cudaStreamDestroy(stream));
}
