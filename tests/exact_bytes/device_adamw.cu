// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The AdamW runs of cases.hpp on the device, in exact math.
#include "cases.hpp"
#include "device_visitors.hpp"

#include "../support/device.hpp"

#include <gesso/optimizer/adamw.cuh>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exact_bytes {

namespace of_device {

template<class First, class Second, class Parameter>
struct rounding_policy : adamw_policy<exact_math> {
    using first_rounding = First;
    using second_rounding = Second;
    using parameter_rounding = Parameter;
};

struct adamw_visitor {
    hash_list& hashes;

    template<class Sweep>
    void sweep(const std::string&, const Sweep&)
    {}

    template<class Run>
    void adamw(const std::string& name, const Run& run)
    {
        constexpr index_t first_size = Run::first_codec::granularity::group_size;
        constexpr index_t second_size = Run::second_codec::granularity::group_size;
        if constexpr (first_size % second_size == 0 || second_size % first_size == 0) {
            // What the host decides at run time, the kernel knows when it is compiled.
            const bool first = rounds_stochastically<typename Run::first_codec>(
                run.rounding.first, run.configuration.beta1, first_moment_threshold);
            const bool second = rounds_stochastically<typename Run::second_codec>(
                run.rounding.second, run.configuration.beta2, second_moment_threshold);
            const bool parameter = run.rounding.stochastic_parameters;
            const int number = (first ? 1 : 0) + (second ? 2 : 0) + (parameter ? 4 : 0);
            if (number == 0) train<rounding_policy<nearest_even, nearest_even, nearest_even>>(name, run);
            else if (number == 6) train<rounding_policy<nearest_even, stochastic, stochastic>>(name, run);
            else if (number == 7) train<rounding_policy<stochastic, stochastic, stochastic>>(name, run);
            else CHECK_MESSAGE(false, name << " rounds in a way that has no policy here: " << number);
        }
    }

private:
    template<class Policy, class Run>
    void train(const std::string& name, const Run& run)
    {
        using parameter_type = typename Run::parameter;
        using gradient_type = typename Run::gradient;
        const std::size_t count = static_cast<std::size_t>(run.shape.count);
        const storage_layout<typename Run::first_codec> first_layout{run.shape.count, run.shape.row_length};
        const storage_layout<typename Run::second_codec> second_layout{run.shape.count, run.shape.row_length};
        support::device_memory first(static_cast<std::size_t>(first_layout.bytes()));
        support::device_memory second(static_cast<std::size_t>(second_layout.bytes()));
        first.clear();
        second.clear();
        std::vector<parameter_type> initial;
        for (index_t i = 0; i < run.shape.count; ++i) {
            initial.push_back(element<parameter_type>::store(initial_parameter(i)));
        }
        const support::device_array<parameter_type> parameters(initial);
        support::device_array<gradient_type> gradients(count);

        adamw_tensor<parameter_type, gradient_type, typename Run::first_codec, typename Run::second_codec>
            tensor;
        tensor.parameters = parameters.data();
        tensor.gradients = gradients.data();
        tensor.first_moment = first_layout.bind(first.data());
        tensor.second_moment = second_layout.bind(second.data());
        tensor.first_moment.first = tensor.second_moment.first = run.shape.first;
        tensor.learning_rate_scale = run.learning_rate_scale;
        tensor.weight_decay_scale = run.weight_decay_scale;
        adamw_device_state start;
        start.configuration = run.configuration;
        start.state = run.state();
        const support::device_array<adamw_device_state> state(std::vector<adamw_device_state>{start});
        std::vector<gradient_type> values(count);
        for (int64_t step = 1; step <= Run::steps; ++step) {
            for (std::size_t i = 0; i < count; ++i) {
                values[i] = element<gradient_type>::store(gradient(step, static_cast<index_t>(i)));
            }
            gradients.upload(values);
            GESSO_CUDA(adamw_advance(state.data(), nullptr));
            GESSO_CUDA(adamw_step<Policy>(tensor, state.data(), nullptr));
        }
        support::synchronize();
        for (bool intact :
            {first.is_intact(), second.is_intact(), parameters.is_intact(), gradients.is_intact()}) {
            CHECK_MESSAGE(intact, name << " wrote beside its memory");
        }
        const std::vector<unsigned char> all[] = {parameters.bytes(), first.bytes(), second.bytes()};
        hashes.add(name + ".parameters", all[0].data(), all[0].size());
        hashes.add(name + ".first_moment", all[1].data(), all[1].size());
        hashes.add(name + ".second_moment", all[2].data(), all[2].size());
    }
};

}  // namespace of_device

void add_adamw_of_device(hash_list& hashes)
{
    of_device::adamw_visitor visitor{hashes};
    for_each_case(visitor);
}

}  // namespace exact_bytes
