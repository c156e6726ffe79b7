// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the optimizer tests train: a tensor with its two compressed moments in memory of its own, and the
// moment codecs that they go through.
#pragma once

#include <gesso/optimizer/adamw.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace support {

using fp32_moment = gesso::codec<gesso::float32, gesso::identity, gesso::unscaled>;
using bf16_moment = gesso::codec<gesso::bfloat16, gesso::identity, gesso::unscaled>;
template<class Format, int GroupSize = 128>
using plain_moment = gesso::codec<Format, gesso::identity, gesso::per_group<GroupSize>>;
template<class Format, int GroupSize = 128>
using expanded_moment = gesso::codec<Format, gesso::dynamic_power<>, gesso::per_group<GroupSize>>;

template<class First, class Second>
struct moment_pair {
    using first = First;
    using second = Second;
};

using pair_fp32 = moment_pair<fp32_moment, fp32_moment>;
using pair_bf16 = moment_pair<bf16_moment, bf16_moment>;
using pair_plain = moment_pair<plain_moment<gesso::e4m3>, plain_moment<gesso::e4m3>>;
using pair_plain_e5m2 = moment_pair<plain_moment<gesso::e4m3>, plain_moment<gesso::e5m2>>;
using pair_plain_unsigned = moment_pair<plain_moment<gesso::e5m2>, plain_moment<gesso::unsigned_e4m4>>;
using pair_expanded = moment_pair<expanded_moment<gesso::e4m3>, expanded_moment<gesso::e4m3>>;
using pair_expanded_e5m2 = moment_pair<expanded_moment<gesso::e4m3>, expanded_moment<gesso::e5m2>>;
using pair_expanded_unsigned =
    moment_pair<expanded_moment<gesso::e4m3>, expanded_moment<gesso::unsigned_e4m4>>;
// Group sizes that divide each other, and two that do not.
using pair_64_128 = moment_pair<expanded_moment<gesso::e5m2, 64>, expanded_moment<gesso::unsigned_e4m4, 128>>;
using pair_96_128 = moment_pair<expanded_moment<gesso::e4m3, 96>, plain_moment<gesso::unsigned_e4m4, 128>>;
// One moment with a scale and one without.
using pair_mixed = moment_pair<fp32_moment, expanded_moment<gesso::unsigned_e4m4>>;
using pair_mixed_back = moment_pair<plain_moment<gesso::e4m3>, bf16_moment>;
using pair_fixed_power = moment_pair<gesso::codec<gesso::e4m3, gesso::power<2>, gesso::per_group<128>>,
    gesso::codec<gesso::e4m3, gesso::power<1, 2>, gesso::per_group<32>>>;

#define GESSO_TEST_NARROW_PAIRS \
    support::pair_plain, support::pair_plain_e5m2, support::pair_plain_unsigned, support::pair_expanded, \
        support::pair_expanded_e5m2, support::pair_expanded_unsigned, support::pair_64_128, \
        support::pair_96_128
#define GESSO_TEST_PAIRS \
    support::pair_fp32, support::pair_bf16, support::pair_mixed, support::pair_mixed_back, \
        support::pair_fixed_power, GESSO_TEST_NARROW_PAIRS

// The bytes of one moment. All zero at first: a moment of zeros.
template<class Codec>
struct owned_moment {
    gesso::storage_layout<Codec> layout;
    std::vector<unsigned char> memory;

    owned_moment(std::size_t count, std::size_t row_length)
        : layout{static_cast<gesso::index_t>(count), static_cast<gesso::index_t>(row_length)}
        , memory(static_cast<std::size_t>(layout.bytes()))
    {
    }
    gesso::compressed_ref<Codec> view() { return layout.bind(memory.data()); }

    std::vector<float> decoded()
    {
        std::vector<float> values(static_cast<std::size_t>(layout.count));
        const gesso::compressed_ref<const Codec> from = view();
        if (gesso::host_codec<Codec>::decode(from, values.data()) != gesso::status::success) values.clear();
        return values;
    }
};

template<class Element>
std::vector<Element> stored_as(const std::vector<float>& values)
{
    std::vector<Element> elements;
    elements.reserve(values.size());
    for (float value : values) elements.push_back(gesso::element<Element>::store(value));
    return elements;
}

template<class Element>
std::vector<float> loaded(const std::vector<Element>& elements)
{
    std::vector<float> values;
    values.reserve(elements.size());
    for (const Element& one : elements) values.push_back(gesso::element<Element>::load(one));
    return values;
}

template<class Element>
bool same_bytes(const std::vector<Element>& left, const std::vector<Element>& right)
{
    return left.size() == right.size()
        && (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(Element)) == 0);
}

template<class Parameter, class Pair>
struct training_state {
    using first_codec = typename Pair::first;
    using second_codec = typename Pair::second;

    std::vector<Parameter> parameters;
    owned_moment<first_codec> first;
    owned_moment<second_codec> second;

    explicit training_state(const std::vector<float>& values, std::size_t row_length = 0)
        : parameters(stored_as<Parameter>(values))
        , first(values.size(), row_length)
        , second(values.size(), row_length)
    {
    }

    template<class Gradient>
    gesso::adamw_tensor<Parameter, Gradient, first_codec, second_codec> tensor(
        const std::vector<Gradient>& gradients)
    {
        gesso::adamw_tensor<Parameter, Gradient, first_codec, second_codec> all;
        all.parameters = parameters.data();
        all.gradients = gradients.data();
        all.first_moment = first.view();
        all.second_moment = second.view();
        // An empty tensor has no memory to point at, and still a row length.
        all.first_moment.row_length = first.layout.row_length;
        all.second_moment.row_length = second.layout.row_length;
        return all;
    }

    template<class Gradient>
    gesso::status step(const std::vector<Gradient>& gradients, const gesso::adamw_configuration& with,
        const gesso::step_state& state, const gesso::adamw_rounding& rounding = {})
    {
        return gesso::host_adamw_step(tensor(gradients), with, state, rounding);
    }

    float parameter(std::size_t index) const { return gesso::element<Parameter>::load(parameters[index]); }
};

template<class Parameter, class Pair>
bool same_bytes(const training_state<Parameter, Pair>& left, const training_state<Parameter, Pair>& right)
{
    return same_bytes(left.parameters, right.parameters) && same_bytes(left.first.memory, right.first.memory)
        && same_bytes(left.second.memory, right.second.memory);
}

inline gesso::adamw_configuration configuration(double learning_rate, double weight_decay, double beta1 = 0.9,
    double beta2 = 0.999, double epsilon = 1e-8)
{
    gesso::adamw_configuration with;
    with.learning_rate = learning_rate;
    with.beta1 = beta1;
    with.beta2 = beta2;
    with.epsilon = epsilon;
    with.weight_decay = weight_decay;
    return with;
}

inline gesso::adamw_rounding rounding_of(gesso::moment_rounding moments, bool stochastic_parameters)
{
    gesso::adamw_rounding rounding;
    rounding.first = moments;
    rounding.second = moments;
    rounding.stochastic_parameters = stochastic_parameters;
    return rounding;
}

// The state at step number `step`.
inline gesso::step_state state_at(
    std::int64_t step, const gesso::adamw_configuration& with, std::uint64_t seed = 0)
{
    gesso::step_state state;
    state.seed = seed;
    state.step = step - 1;
    gesso::advance(state, with);
    return state;
}

}  // namespace support
