// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The four kinds of moments that the demo compares, behind one interface. All are the library's AdamW on the
// host; they differ in the codecs of the two moments, in their rounding, and in what a first moment below the
// normal range becomes.
#pragma once

#include "layers.hpp"
#include "model.hpp"

#include <gesso/codec.hpp>
#include <gesso/optimizer/adamw.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace training {

enum class moments { fp32, fp8, fp8_paper, fp8_expanded };

inline constexpr std::array<moments, 4> all_moments{
    moments::fp32, moments::fp8, moments::fp8_paper, moments::fp8_expanded};

inline const char* name_of(moments kind)
{
    switch (kind) {
    case moments::fp32: return "fp32";
    case moments::fp8: return "fp8";
    case moments::fp8_paper: return "fp8_paper";
    case moments::fp8_expanded: return "fp8_expanded";
    }
    return "unknown";
}

struct optimizer_settings {
    double beta1;
    double beta2;
    double weight_decay;  // of matrices; the weights of norms do not decay
    std::uint64_t seed;   // of stochastic rounding
};

// Parameters, gradients and decoded moments are flat vectors of the whole model.
class optimizer {
public:
    virtual ~optimizer() = default;
    virtual void step(
        double learning_rate, column_vector<float>& parameters, const column_vector<float>& gradient) = 0;
    virtual void decode(column_vector<float>& first, column_vector<float>& second) const = 0;
    virtual std::int64_t state_bytes() const = 0;
};

namespace detail {

inline void require_success(gesso::status status, const std::string& what)
{
    if (status != gesso::status::success) {
        throw std::runtime_error(what + ": " + gesso::describe(status));
    }
}

// A compressed moment of one tensor and its memory.
template<class Codec>
class moment {
public:
    explicit moment(std::int64_t count)
        : layout_{count}
        , memory_(static_cast<std::size_t>(layout_.bytes()))  // zero bytes are zero moments
    {}

    gesso::compressed_ref<Codec> view() { return layout_.bind(memory_.data()); }
    gesso::compressed_ref<const Codec> view() const
    {
        // A layout binds memory that may be written; the reading view that is handed out cannot.
        return layout_.bind(const_cast<unsigned char*>(memory_.data()));
    }

    std::int64_t bytes() const { return layout_.bytes(); }

private:
    gesso::storage_layout<Codec> layout_;
    std::vector<unsigned char> memory_;
};

// Kind: `first_codec` and `second_codec` of the moments, `first_underflow`, and the `rounding` of both.
template<class Kind>
class adamw_optimizer : public optimizer {
public:
    adamw_optimizer(const std::vector<layer>& layers, const optimizer_settings& settings)
        : layers_(layers)
        , settings_(settings)
    {
        for (const layer& current : layers) {
            first_.emplace_back(current.size());
            second_.emplace_back(current.size());
        }
    }

    void step(
        double learning_rate, column_vector<float>& parameters, const column_vector<float>& gradient) override
    {
        gesso::adamw_configuration configuration;
        configuration.learning_rate = learning_rate;
        configuration.beta1 = settings_.beta1;
        configuration.beta2 = settings_.beta2;
        state_.seed = settings_.seed;
        gesso::advance(state_, configuration);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const layer& current = layers_[i];
            configuration.weight_decay = current.is_norm() ? 0 : settings_.weight_decay;
            gesso::adamw_tensor<float, float, first_codec, second_codec> tensor;
            tensor.parameters = parameters.data() + current.offset;
            tensor.gradients = gradient.data() + current.offset;
            tensor.first_moment = first_[i].view();
            tensor.second_moment = second_[i].view();
            tensor.number = static_cast<std::uint32_t>(i);  // its own random bits
            require_success(gesso::host_adamw_step<typename Kind::first_underflow, gesso::keep>(
                                tensor, configuration, state_, {Kind::rounding, Kind::rounding}),
                current.name);
        }
    }

    void decode(column_vector<float>& first, column_vector<float>& second) const override
    {
        const std::int64_t parameters = layers_.back().offset + layers_.back().size();
        first.resize(parameters);
        second.resize(parameters);
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const layer& current = layers_[i];
            require_success(
                gesso::host_codec<first_codec>::decode(first_[i].view(), first.data() + current.offset),
                current.name);
            require_success(
                gesso::host_codec<second_codec>::decode(second_[i].view(), second.data() + current.offset),
                current.name);
        }
    }

    std::int64_t state_bytes() const override
    {
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            bytes += first_[i].bytes() + second_[i].bytes();
        }
        return bytes;
    }

private:
    using first_codec = typename Kind::first_codec;
    using second_codec = typename Kind::second_codec;

    std::vector<layer> layers_;
    optimizer_settings settings_;
    gesso::step_state state_;
    std::vector<moment<first_codec>> first_;
    std::vector<moment<second_codec>> second_;
};

struct fp32_moments {
    using first_codec = gesso::codec<gesso::float32, gesso::identity, gesso::unscaled>;
    using second_codec = first_codec;
    using first_underflow = gesso::gradual;
    static constexpr gesso::moment_rounding rounding = gesso::moment_rounding::nearest;
};

// Plain FP8: a scale for 128 elements. Its second moment is kept above zero, else it would diverge.
struct fp8_moments {
    using first_codec = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
    using second_codec = first_codec;
    using first_underflow = gesso::gradual;
    static constexpr gesso::moment_rounding rounding = gesso::moment_rounding::nearest;
};

// The paper's rule: its bound places the smallest element of a group among the subnormal codes, so they must
// count.
struct fp8_paper_moments {
    using first_codec =
        gesso::codec<gesso::e4m3, gesso::dynamic_power<gesso::reference_rule>, gesso::per_group<128>>;
    using second_codec = first_codec;
    using first_underflow = gesso::gradual;
    static constexpr gesso::moment_rounding rounding = gesso::moment_rounding::nearest;
};

// The library's defaults.
struct fp8_expanded_moments {
    using first_codec = gesso::default_first_moment;
    using second_codec = gesso::default_second_moment;
    using first_underflow = gesso::flush;
    static constexpr gesso::moment_rounding rounding = gesso::moment_rounding::automatic;
};

}  // namespace detail

inline std::unique_ptr<optimizer> make_optimizer(
    moments kind, const std::vector<layer>& layers, const optimizer_settings& settings)
{
    using namespace detail;
    switch (kind) {
    case moments::fp32: return std::make_unique<adamw_optimizer<fp32_moments>>(layers, settings);
    case moments::fp8: return std::make_unique<adamw_optimizer<fp8_moments>>(layers, settings);
    case moments::fp8_paper: return std::make_unique<adamw_optimizer<fp8_paper_moments>>(layers, settings);
    case moments::fp8_expanded:
        return std::make_unique<adamw_optimizer<fp8_expanded_moments>>(layers, settings);
    }
    throw std::invalid_argument("an unknown kind of moments");
}

}  // namespace training
