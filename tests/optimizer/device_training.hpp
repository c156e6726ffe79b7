// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the device tests of the optimizer train: a tensor in device memory, each array an allocation of its
// own between canaries, beside the same tensor on the host.
#pragma once

#include "../support/device.hpp"
#include "../support/generators.hpp"
#include "training_state.hpp"

#include <gesso/optimizer/adamw.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace support {

using pair_half_power = moment_pair<gesso::codec<gesso::e4m3, gesso::power<2>, gesso::per_group<128>>,
    gesso::codec<gesso::e4m3, gesso::power<1, 2>, gesso::per_group<128>>>;
template<class Format, int FirstSize, int SecondSize>
using pair_sizes = moment_pair<expanded_moment<Format, FirstSize>, expanded_moment<gesso::e4m3, SecondSize>>;

// A policy whose roundings are named. (In a named namespace, so that kernels have linkage to hide.)
template<class Math, class First = gesso::nearest_even, class Second = gesso::nearest_even,
    class Parameter = gesso::nearest_even>
struct device_policy : gesso::adamw_policy<Math> {
    using first_rounding = First;
    using second_rounding = Second;
    using parameter_rounding = Parameter;
};
template<class First = gesso::nearest_even, class Second = gesso::nearest_even,
    class Parameter = gesso::nearest_even>
using exact_policy = device_policy<gesso::exact_math, First, Second, Parameter>;
template<class First = gesso::nearest_even, class Second = gesso::nearest_even,
    class Parameter = gesso::nearest_even>
using hardware_policy = device_policy<gesso::hardware_math, First, Second, Parameter>;

// The same roundings as the host is told.
template<class Policy>
gesso::adamw_rounding rounding_of_policy()
{
    gesso::adamw_rounding result;
    using gesso::moment_rounding;
    using gesso::stochastic;
    result.first = std::is_same_v<typename Policy::first_rounding, stochastic> ? moment_rounding::stochastic
                                                                               : moment_rounding::nearest;
    result.second = std::is_same_v<typename Policy::second_rounding, stochastic> ? moment_rounding::stochastic
                                                                                 : moment_rounding::nearest;
    result.stochastic_parameters = std::is_same_v<typename Policy::parameter_rounding, stochastic>;
    return result;
}

// What is stepped: `count` elements in rows of `row_length`, from element `first` of the whole tensor on; and
// how many elements the pointers of parameters, gradients and codes lie past an aligned address.
struct device_shape {
    gesso::index_t count = 0;
    gesso::index_t row_length = 0;
    gesso::index_t first = 0;
    std::size_t parameter_offset = 0;
    std::size_t gradient_offset = 0;
    std::size_t code_offset = 0;
};

template<class Codec>
struct device_moment {
    using code_type = typename Codec::code_type;
    using scale_code_type = typename Codec::scale_code_type;

    device_shape shape;
    std::size_t groups;
    device_array<code_type> codes;
    device_array<scale_code_type> scales;
    device_array<std::uint8_t> exponents;

    explicit device_moment(const device_shape& of)
        : shape(of)
        , groups(static_cast<std::size_t>(view_of(nullptr, nullptr, nullptr).groups().groups()))
        , codes(static_cast<std::size_t>(of.count), of.code_offset)
        , scales(Codec::has_scale ? groups : 0)
        , exponents(Codec::has_exponent ? groups : 0, of.code_offset)
    {
        codes.clear();
        scales.clear();
        exponents.clear();
    }
    gesso::compressed_ref<Codec> view() const
    {
        return view_of(codes.data(), scales.data(), exponents.data());
    }

    bool is_intact() const { return codes.is_intact() && scales.is_intact() && exponents.is_intact(); }

private:
    gesso::compressed_ref<Codec> view_of(code_type* c, scale_code_type* s, std::uint8_t* e) const
    {
        gesso::compressed_ref<Codec> result;
        result.codes = c;
        result.scales = s;
        result.exponents = e;
        result.count = shape.count;
        result.first = shape.first;
        result.row_length = shape.row_length;
        return result;
    }
};

// A moment's arrays on the host, to compare with.
template<class Codec>
struct host_moment {
    std::vector<typename Codec::code_type> codes;
    std::vector<typename Codec::scale_code_type> scales;
    std::vector<std::uint8_t> exponents;

    host_moment() = default;
    explicit host_moment(const device_moment<Codec>& of)
        : codes(of.codes.values())
        , scales(of.scales.values())
        , exponents(of.exponents.values())
    {}
    void upload_to(device_moment<Codec>& to) const
    {
        to.codes.upload(codes);
        to.scales.upload(scales);
        to.exponents.upload(exponents);
    }
    gesso::compressed_ref<Codec> view(const device_shape& shape)
    {
        gesso::compressed_ref<Codec> result;
        result.codes = codes.data();
        result.scales = scales.data();
        result.exponents = exponents.data();
        result.count = shape.count;
        result.first = shape.first;
        result.row_length = shape.row_length;
        return result;
    }
    std::vector<float> decoded(const device_shape& shape)
    {
        std::vector<float> values(codes.size());
        const gesso::compressed_ref<const Codec> from = view(shape);
        REQUIRE(gesso::host_codec<Codec>::decode(from, values.data()) == gesso::status::success);
        return values;
    }
    bool operator==(const host_moment& other) const
    {
        return codes == other.codes && scales == other.scales && exponents == other.exponents;
    }
};

// A whole tensor on the host: parameters and both moments.
template<class Parameter, class Pair>
struct host_training {
    device_shape shape;
    std::vector<Parameter> parameters;
    host_moment<typename Pair::first> first;
    host_moment<typename Pair::second> second;

    template<class Gradient>
    auto tensor(const std::vector<Gradient>& gradients)
    {
        gesso::adamw_tensor<Parameter, Gradient, typename Pair::first, typename Pair::second> result;
        result.parameters = parameters.data();
        result.gradients = gradients.data();
        result.first_moment = first.view(shape);
        result.second_moment = second.view(shape);
        return result;
    }
};
template<class Parameter, class Pair>
bool same_bytes(const host_training<Parameter, Pair>& left, const host_training<Parameter, Pair>& right)
{
    return same_bytes(left.parameters, right.parameters) && left.first == right.first
           && left.second == right.second;
}

template<class Parameter, class Gradient, class Pair>
struct device_training {
    device_shape shape;
    device_array<Parameter> parameters;
    device_array<Gradient> gradients;
    device_moment<typename Pair::first> first;
    device_moment<typename Pair::second> second;

    device_training(const device_shape& of, const std::vector<float>& values)
        : shape(of)
        , parameters(stored_as<Parameter>(values), of.parameter_offset)
        , gradients(values.size(), of.gradient_offset)
        , first(of)
        , second(of)
    {
        REQUIRE(static_cast<gesso::index_t>(values.size()) == of.count);
    }
    auto tensor() const
    {
        gesso::adamw_tensor<Parameter, Gradient, typename Pair::first, typename Pair::second> result;
        result.parameters = parameters.data();
        result.gradients = gradients.data();
        result.first_moment = first.view();
        result.second_moment = second.view();
        return result;
    }
    host_training<Parameter, Pair> on_host() const
    {
        return {shape, parameters.values(), host_moment(first), host_moment(second)};
    }
    void upload(const host_training<Parameter, Pair>& from)
    {
        parameters.upload(from.parameters);
        from.first.upload_to(first);
        from.second.upload_to(second);
    }
    bool is_intact() const
    {
        return parameters.is_intact() && gradients.is_intact() && first.is_intact() && second.is_intact();
    }
};

// The step's state in device memory, and what a host does with it.
class device_steps {
public:
    explicit device_steps(const gesso::adamw_configuration& with, std::uint64_t seed = 0)
    {
        gesso::adamw_device_state start;
        start.configuration = with;
        start.state.seed = seed;
        set(start);
    }
    gesso::adamw_device_state* data() const { return state_.data(); }
    gesso::adamw_device_state get() const { return state_.values()[0]; }
    void set(const gesso::adamw_device_state& to)
    {
        state_.upload(std::vector<gesso::adamw_device_state>{to});
    }
    template<class Change>
    void change(Change&& change)
    {
        gesso::adamw_device_state now = get();
        change(now);
        set(now);
    }
    void advance(cudaStream_t stream = nullptr) { GESSO_CUDA(gesso::adamw_advance(state_.data(), stream)); }

private:
    device_array<gesso::adamw_device_state> state_{1};
};

// Gradients with a long tail, zeros among them.
inline std::vector<float> gradient_values(std::size_t count, std::uint64_t seed, double size = 1e-3)
{
    std::vector<float> values = generator::log_normal_values(count, size, 2.0, true, seed);
    for (std::size_t i = seed % 7; i < count; i += 31) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
    return values;
}

// How two moments of one shape differ.
struct code_difference {
    std::size_t codes = 0;      // how many codes are not the same
    std::uint32_t largest = 0;  // by how many codes at most
    std::size_t scales = 0;
    std::size_t exponents = 0;
};
template<class Codec>
code_difference difference(const host_moment<Codec>& left, const host_moment<Codec>& right)
{
    using format = typename Codec::format;
    code_difference result;
    for (std::size_t i = 0; i < left.codes.size(); ++i) {
        // Codes in the order of their values: magnitudes, negative ones below zero.
        const auto place = [](std::uint32_t code) {
            const std::int64_t magnitude = code & format::magnitude_mask;
            return (code & format::sign_mask) != 0 ? -magnitude : magnitude;
        };
        const std::int64_t apart = std::abs(place(left.codes[i]) - place(right.codes[i]));
        result.codes += left.codes[i] != right.codes[i] ? 1u : 0u;
        if (apart > result.largest) result.largest = static_cast<std::uint32_t>(apart);
    }
    for (std::size_t i = 0; i < left.scales.size(); ++i)
        result.scales += left.scales[i] != right.scales[i] ? 1u : 0u;
    for (std::size_t i = 0; i < left.exponents.size(); ++i) {
        result.exponents += left.exponents[i] != right.exponents[i] ? 1u : 0u;
    }
    return result;
}

}  // namespace support
