// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// adamw_step() in hardware math in the long run: the same bytes in every run and for every way of cutting a
// tensor into blocks, threads and shards, and after 100 steps no further from fp32 state than exact math is.
#include <doctest/doctest.h>

#include "device_training.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using gesso::adamw_configuration;
using gesso::bf16;
using gesso::index_t;
using gesso::nearest_even;
using gesso::stochastic;
using support::configuration;
using support::device_shape;
using support::device_steps;
using support::device_training;
using support::hardware_policy;
using support::stored_as;

namespace {

constexpr std::uint64_t seed = 0x0123456789ABCDEFu;

}  // namespace

// How a tensor is cut into blocks and threads.
namespace support {

template<int BlockThreads, int Items, int Tiles = 0>
struct cut_policy : hardware_policy<gesso::nearest_even, gesso::stochastic, gesso::stochastic> {
    static constexpr int block_threads = BlockThreads;
    static constexpr int items_per_thread = Items;
    static constexpr int tiles_per_block = Tiles;
};

}  // namespace support

namespace {

template<class Policy, class Pair = support::pair_expanded>
std::uint64_t hash_of_run(const device_shape& shape, const std::vector<std::vector<bf16>>& gradients,
    const std::vector<std::size_t>& cuts = {})
{
    device_training<bf16, bf16, Pair> device(
        shape, generator::normal_values(static_cast<std::size_t>(shape.count), 0.5, 3));
    device_steps state(configuration(1e-2, 0.1), seed);
    for (const auto& values : gradients) {
        device.gradients.upload(values);
        state.advance();
        const auto whole = device.tensor();
        std::size_t begin = 0;
        for (std::size_t i = 0; i <= cuts.size(); ++i) {
            const std::size_t end = i < cuts.size() ? cuts[i] : static_cast<std::size_t>(shape.count);
            auto part = whole;
            part.parameters += begin;
            part.gradients += begin;
            part.first_moment =
                whole.first_moment.part(static_cast<index_t>(begin), static_cast<index_t>(end - begin));
            part.second_moment =
                whole.second_moment.part(static_cast<index_t>(begin), static_cast<index_t>(end - begin));
            GESSO_CUDA(gesso::adamw_step<Policy>(part, state.data(), nullptr));
            begin = end;
        }
    }
    support::synchronize();
    std::uint64_t hash = 0xCBF29CE484222325u;
    const auto add = [&hash](const std::vector<unsigned char>& bytes) {
        for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001B3u;
    };
    add(device.parameters.bytes());
    add(device.first.codes.bytes());
    add(device.first.scales.bytes());
    add(device.first.exponents.bytes());
    add(device.second.codes.bytes());
    add(device.second.scales.bytes());
    add(device.second.exponents.bytes());
    return hash;
}

std::vector<std::vector<bf16>> gradients_of_run(std::size_t count, int steps)
{
    std::vector<std::vector<bf16>> result;
    for (int step = 1; step <= steps; ++step) {
        result.push_back(stored_as<bf16>(support::gradient_values(count, static_cast<std::uint64_t>(step))));
        // Some elements have no gradient for long, so that their codes become zero.
        if (step > 2) {
            for (std::size_t i = 0; i < count; i += 53) result.back()[i] = {};
        }
    }
    return result;
}

}  // namespace

TEST_CASE("R06 one hash over 20 runs")
{
    const std::size_t count = support::size_of_run<std::size_t>(300007, 5003);
    const device_shape shape{static_cast<index_t>(count), 0, 0};
    const auto gradients = gradients_of_run(count, 10);
    using policy = support::cut_policy<128, 16>;
    const std::uint64_t hash = hash_of_run<policy>(shape, gradients);
    for (int run = 1; run < 20; ++run) CHECK(hash_of_run<policy>(shape, gradients) == hash);
}

TEST_CASE("R06 one hash over 3 grids, any alignment and any cut")
{
    const std::size_t count = support::size_of_run<std::size_t>(300007, 5003);
    const device_shape shape{static_cast<index_t>(count), 0, 0};
    const auto gradients = gradients_of_run(count, 10);
    const std::uint64_t hash = hash_of_run<support::cut_policy<128, 16>>(shape, gradients);
    CHECK(hash_of_run<support::cut_policy<256, 8>>(shape, gradients) == hash);
    CHECK(hash_of_run<support::cut_policy<64, 4>>(shape, gradients) == hash);
    CHECK(hash_of_run<support::cut_policy<128, 16>>(shape, gradients, {128, 2048, 2176, 4992}) == hash);
    CHECK(hash_of_run<support::cut_policy<128, 16>>({static_cast<index_t>(count), 0, 0, 1, 1, 1}, gradients)
          == hash);
}

TEST_CASE("R06 one hash however many tiles a block takes, groups of a warp and of a block")
{
    const std::size_t count = support::size_of_run<std::size_t>(300007, 9003);
    const device_shape shape{static_cast<index_t>(count), 0, 0};
    const auto gradients = gradients_of_run(count, 4);
    using one = support::cut_policy<128, 16, 1>;
    using three = support::cut_policy<128, 16, 3>;
    using all = support::cut_policy<128, 16, 1000>;
    const std::uint64_t hash = hash_of_run<one>(shape, gradients);
    CHECK(hash_of_run<three>(shape, gradients) == hash);
    CHECK(hash_of_run<all>(shape, gradients) == hash);
    using block_and_warp = support::pair_sizes<gesso::e4m3, 2048, 32>;
    const std::uint64_t other_hash = hash_of_run<one, block_and_warp>(shape, gradients);
    CHECK(hash_of_run<three, block_and_warp>(shape, gradients) == other_hash);
    CHECK(hash_of_run<all, block_and_warp>(shape, gradients) == other_hash);
}

namespace {

// One step of a tensor on the device, from the state it has.
template<class Policy, class Training>
void step_once(Training& training, device_steps& state)
{
    state.advance();
    GESSO_CUDA(gesso::adamw_step<Policy>(training.tensor(), state.data(), nullptr));
    support::synchronize();
}

// Decoded moments after a run, and the update m / (sqrt(v) + epsilon) that they stand for.
template<class Policy, class Pair>
std::vector<double> updates_after(
    std::size_t count, const std::vector<std::vector<bf16>>& gradients, const adamw_configuration& with)
{
    const device_shape shape{static_cast<index_t>(count), 0, 0};
    device_training<bf16, bf16, Pair> device(shape, std::vector<float>(count, 1.0f));
    device_steps state(with, seed);
    for (const auto& values : gradients) {
        device.gradients.upload(values);
        step_once<Policy>(device, state);
    }
    auto result = device.on_host();
    const std::vector<float> m = result.first.decoded(shape);
    const std::vector<float> v = result.second.decoded(shape);
    std::vector<double> updates(count);
    for (std::size_t i = 0; i < count; ++i) updates[i] = double{m[i]} / (std::sqrt(double{v[i]}) + 1e-12);
    return updates;
}

double mean_square(const std::vector<double>& of, const std::vector<double>& from)
{
    double sum = 0;
    for (std::size_t i = 0; i < of.size(); ++i) sum += (of[i] - from[i]) * (of[i] - from[i]);
    return sum / static_cast<double>(of.size());
}

template<class First, class Second>
void compare_trajectories()
{
    const std::size_t count = support::size_of_run<std::size_t>(1 << 18, 1 << 12);
    const int steps = support::size_of_run(100, 10);
    std::vector<std::vector<bf16>> gradients;
    for (int step = 1; step <= steps; ++step) {
        gradients.push_back(stored_as<bf16>(
            generator::log_normal_values(count, 1e-3, 1.5, true, static_cast<std::uint64_t>(step))));
    }
    const adamw_configuration with = configuration(1e-3, 0.0);
    const auto fp32 = updates_after<support::exact_policy<>, support::pair_fp32>(count, gradients, with);
    const auto exact =
        updates_after<support::exact_policy<First, Second>, support::pair_expanded>(count, gradients, with);
    const auto hardware =
        updates_after<hardware_policy<First, Second>, support::pair_expanded>(count, gradients, with);
    const double error_of_exact = mean_square(exact, fp32);
    const double error_of_hardware = mean_square(hardware, fp32);
    MESSAGE("mean square error against fp32 state: exact " << error_of_exact << ", hardware "
                                                           << error_of_hardware);
    CHECK(error_of_hardware <= 1.05 * error_of_exact);
    CHECK(error_of_hardware >= error_of_exact / 1.05);
}

}  // namespace

TEST_CASE("after 100 steps hardware math is as near to fp32 state as exact math, heavy")
{
    SUBCASE("v stochastic") { compare_trajectories<nearest_even, stochastic>(); }
    SUBCASE("nearest") { compare_trajectories<nearest_even, nearest_even>(); }
}
