// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// One benchmark of the AdamW step: what it runs on, and what it counts.
#pragma once

#include "../support/event_timer.hpp"
#include "../support/names.hpp"
#include "../support/random.cuh"

#include <gesso/optimizer/adamw.cuh>

#include <cuda_bf16.h>

namespace bench {

struct stochastic_second_policy : gesso::adamw_policy<> {
    using second_rounding = gesso::stochastic;
};

// Parameters, gradients and moments have the sizes of a model in training.
constexpr float parameter_deviation = 0.02f;
constexpr float gradient_deviation = 1e-3f;
constexpr int steps_before_timing = 6;

template<class Policy>
constexpr bool is_stochastic_v =
    gesso::standard::is_same_v<typename Policy::second_rounding, gesso::stochastic>;

// first:e4m3/second:e4m3/expansion:dynamic/second_rounding:nearest/parameters:bf16/gradients:bf16/group:128
template<class Policy, class Parameter, class Gradient, class First, class Second>
std::string attributes()
{
    const char* expansion = First::has_exponent ? "dynamic" : "none";
    const std::string group = First::has_scale ? std::to_string(First::granularity::group_size) : "none";
    return std::string("first:") + format_name<typename First::format>()
           + "/second:" + format_name<typename Second::format>() + "/expansion:" + expansion
           + "/second_rounding:" + (is_stochastic_v<Policy> ? "stochastic" : "nearest")
           + "/parameters:" + type_name<Parameter> + "/gradients:" + type_name<Gradient> + "/group:" + group;
}

// Bytes that a step reads and writes: the parameters and the moments twice, the gradients once.
template<class Parameter, class Gradient, class First, class Second>
index_t step_bytes(index_t count)
{
    return count * index_t{2 * sizeof(Parameter) + sizeof(Gradient)}
           + 2 * (compressed_bytes<First>(count) + compressed_bytes<Second>(count));
}

// The device's state of a training run. The decays are those at which the policy would be chosen by
// `automatic`.
template<class Policy>
gesso::adamw_device_state initial_state()
{
    gesso::adamw_device_state result;
    result.configuration.learning_rate = 1e-4;
    result.configuration.beta2 = is_stochastic_v<Policy> ? 0.999 : 0.95;
    result.state.seed = 1;
    return result;
}

// A benchmark of adamw_step() on one tensor of `count` elements.
template<class Policy, class Parameter, class Gradient, class First, class Second>
void adamw_case(benchmark::State& state, index_t count, int nonzero_of_8 = 8)
{
    event_timer& timer = event_timer::instance();
    const index_t bytes = step_bytes<Parameter, Gradient, First, Second>(count);
    const double copy_seconds = timer.copy_seconds(bytes);

    const gesso::storage_layout<First> first_layout{count};
    const gesso::storage_layout<Second> second_layout{count};
    const device_memory parameters(count * index_t{sizeof(Parameter)});
    const device_memory gradients(count * index_t{sizeof(Gradient)});
    const device_memory first(first_layout.bytes());
    const device_memory second(second_layout.bytes());
    const device_memory device(sizeof(gesso::adamw_device_state));
    first.fill(0);
    second.fill(0);
    const gesso::adamw_device_state initial = initial_state<Policy>();
    check(cudaMemcpy(device.data(), &initial, sizeof initial, cudaMemcpyHostToDevice), "cudaMemcpy");

    gesso::adamw_tensor<Parameter, Gradient, First, Second> tensor;
    tensor.parameters = parameters.data<Parameter>();
    tensor.gradients = gradients.data<Gradient>();
    tensor.first_moment = first_layout.bind(first.data());
    tensor.second_moment = second_layout.bind(second.data());
    const auto step = [&] {
        check(gesso::adamw_step<Policy>(tensor, device.data<gesso::adamw_device_state>(), timer.stream()),
            "adamw_step");
    };

    fill_normal(parameters.data<Parameter>(), count, parameter_deviation, 1);
    for (unsigned i = 0; i < steps_before_timing; ++i) {
        fill_normal(gradients.data<Gradient>(), count, gradient_deviation, 2 + i, nonzero_of_8);
        check(
            gesso::adamw_advance(device.data<gesso::adamw_device_state>(), timer.stream()), "adamw_advance");
        step();
    }
    report(state, count, bytes, copy_seconds, step);
    require_finite(parameters.data<Parameter>(), count);
}

// Adds adamw/<attributes>/elements:2^exponent; with zeros among the gradients also /nonzero_gradients:<of 8>.
template<class Policy, class Parameter, class Gradient, class First, class Second>
void add_adamw(int exponent, int nonzero_of_8 = 8)
{
    if (is_small()) exponent = 20;
    std::string name = "adamw/" + attributes<Policy, Parameter, Gradient, First, Second>() + "/elements:2^"
                       + std::to_string(exponent);
    if (nonzero_of_8 != 8) name += "/nonzero_gradients:" + std::to_string(nonzero_of_8) + "of8";
    add(name, [=](benchmark::State& state) {
        adamw_case<Policy, Parameter, Gradient, First, Second>(state, index_t{1} << exponent, nonzero_of_8);
    });
}

}  // namespace bench
