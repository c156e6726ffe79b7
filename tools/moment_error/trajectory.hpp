// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Trajectory error: a state kept in 8 bits and stepped on recorded gradients, beside an fp32 state that sees the same
// ones. Every step is the library's own AdamW step.
//
// Given the gradients, m and v do not know of each other. So each is replayed alone (the other is fp32 and not looked
// at), and any m can be held beside any v afterwards: the work is that of the moments, not of their pairs.
#pragma once

#include "comparison.hpp"
#include "one_shot.hpp"

#include <gesso/optimizer/adamw.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace moment_error {

using fp32_codec = gesso::codec<gesso::float32, gesso::identity, gesso::unscaled>;

enum class moment { first, second };

struct replay_settings {
    double beta1 = 0.9;
    double beta2 = 0.999;
    std::uint64_t seed = 1;                 // of stochastic rounding
    std::uint32_t tensor = 0;               // its number in the model: keeps the random bits of tensors apart
    std::vector<std::int64_t> checkpoints;  // steps, counted from 1, ascending
};

// Random bits of an encoding outside a step: m and v of an element draw different ones.
template<moment Which>
gesso::stochastic source_of(const replay_settings& settings, std::int64_t step)
{
    return gesso::stochastic(settings.seed, static_cast<std::uint64_t>(step))
        .stream(2 * settings.tensor + (Which == moment::first ? 1 : 0));
}

template<moment Which, class Codec>
bool is_rounded_stochastically(gesso::moment_rounding rounding, double beta)
{
    return gesso::rounds_stochastically<Codec>(
        rounding, beta, Which == moment::first ? gesso::first_moment_threshold : gesso::second_moment_threshold);
}

// Steps in the second half of a run, the last one among them. Before that the moments still fill up.
inline std::vector<std::int64_t> checkpoints_of(std::int64_t steps, std::int64_t steps_between = 20)
{
    std::vector<std::int64_t> checkpoints;
    for (std::int64_t step = steps; 2 * step > steps; step -= steps_between) {
        checkpoints.push_back(step);
    }
    std::reverse(checkpoints.begin(), checkpoints.end());
    return checkpoints;
}

// What the codes did in the replay of one moment. Counted from the first checkpoint on.
struct code_sums {
    std::int64_t unchanged = 0;  // codes that a step left as they were
    std::int64_t codes = 0;      // of those that were not zero before the step
    // Groups by 16 k at the checkpoints; an all-zero group is at 0, and without expansion nothing is counted.
    std::array<std::int64_t, 256> exponents{};

    void merge(const code_sums& other)
    {
        unchanged += other.unchanged;
        codes += other.codes;
        for (std::size_t i = 0; i < exponents.size(); ++i) {
            exponents[i] += other.exponents[i];
        }
    }
    double unchanged_share() const { return static_cast<double>(unchanged) / static_cast<double>(codes); }
};

// One moment at the checkpoints: (checkpoints, elements).
struct moment_track {
    std::vector<float> trajectory;
    std::vector<float> one_shot;  // of the fp32 moment; empty in the fp32 track itself
    code_sums codes;
};

namespace detail {

template<class Codec>
void count_unchanged(const typename Codec::code_type* before, const typename Codec::code_type* after,
    std::int64_t count, code_sums& sums)
{
    std::int64_t codes = 0;
    std::int64_t unchanged = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t counts = (std::uint32_t{before[i]} & Codec::format::magnitude_mask) != 0 ? 1 : 0;
        codes += counts;
        unchanged += before[i] == after[i] ? counts : 0;
    }
    sums.codes += codes;
    sums.unchanged += unchanged;
}

template<class Codec>
void count_exponents(const gesso::compressed_ref<Codec>& view, code_sums& sums)
{
    if constexpr (Codec::has_exponent) {
        const std::int64_t groups = view.groups().groups();
        for (std::int64_t group = 0; group < groups; ++group) {
            ++sums.exponents[view.exponents[group]];
        }
    }
}

}  // namespace detail

// One moment stepped on the gradients (steps, where.count) of some elements, from zero. `reference`: the trajectory of
// the same moment in fp32, which is encoded once at every checkpoint; null for the fp32 replay itself.
template<moment Which, class Codec, class Underflow>
moment_track replay(const std::vector<float>& gradients, const placement& where, const replay_settings& settings,
    gesso::moment_rounding rounding, const std::vector<float>* reference)
{
    using other_codec = fp32_codec;
    const std::size_t count = static_cast<std::size_t>(where.count);
    const std::int64_t steps = static_cast<std::int64_t>(gradients.size() / count);
    const bool is_stochastic =
        is_rounded_stochastically<Which, Codec>(rounding, Which == moment::first ? settings.beta1 : settings.beta2);

    gesso::adamw_configuration configuration;
    configuration.beta1 = settings.beta1;
    configuration.beta2 = settings.beta2;
    gesso::step_state state;
    state.seed = settings.seed;

    const moment_memory<Codec> memory(where);
    const moment_memory<other_codec> other(where);
    std::vector<float> parameters(count);  // their values change no moment
    std::vector<typename Codec::code_type> codes_before(count);
    moment_track track;
    track.trajectory.resize(settings.checkpoints.size() * count);
    track.one_shot.resize(reference != nullptr ? track.trajectory.size() : 0);

    std::size_t checkpoint = 0;
    for (std::int64_t step = 1; step <= steps && checkpoint < settings.checkpoints.size(); ++step) {
        gesso::advance(state, configuration);
        const float* const gradient = gradients.data() + (step - 1) * where.count;
        const bool is_counted = step > settings.checkpoints.front();
        if (is_counted) {
            std::copy_n(memory.view().codes, count, codes_before.data());
        }
        if constexpr (Which == moment::first) {
            gesso::adamw_tensor<float, float, Codec, other_codec> tensor{
                parameters.data(), gradient, memory.view(), other.view()};
            tensor.number = settings.tensor;
            require_success(
                gesso::host_adamw_step<Underflow, gesso::gradual>(tensor, configuration, state, {rounding, rounding}));
        } else {
            gesso::adamw_tensor<float, float, other_codec, Codec> tensor{
                parameters.data(), gradient, other.view(), memory.view()};
            tensor.number = settings.tensor;
            require_success(
                gesso::host_adamw_step<gesso::gradual, Underflow>(tensor, configuration, state, {rounding, rounding}));
        }
        if (is_counted) {
            detail::count_unchanged<Codec>(codes_before.data(), memory.view().codes, where.count, track.codes);
        }
        if (step != settings.checkpoints[checkpoint]) {
            continue;
        }
        memory.decode(track.trajectory.data() + checkpoint * count);
        detail::count_exponents(memory.view(), track.codes);
        if (reference != nullptr) {
            const gesso::stochastic source = source_of<Which>(settings, step);
            encode_once<Codec, Underflow>(reference->data() + checkpoint * count, where,
                is_stochastic ? &source : nullptr, track.one_shot.data() + checkpoint * count);
        }
        ++checkpoint;
    }
    if (checkpoint != settings.checkpoints.size()) {
        throw std::runtime_error("a checkpoint at step " + std::to_string(settings.checkpoints[checkpoint])
                                 + " of a recording of " + std::to_string(steps) + " steps");
    }
    return track;
}

template<moment Which>
moment_track replay_fp32(const std::vector<float>& gradients, const placement& where, const replay_settings& settings)
{
    // Groups mean nothing here.
    return replay<Which, fp32_codec, gesso::gradual>(
        gradients, {where.first, where.count, 0}, settings, gesso::moment_rounding::nearest, nullptr);
}

// The figures of one pair of codecs on the gradients of one tensor.
struct trajectory_result {
    double mean_square = 0;  // of the error of m / sqrt(v), over elements and checkpoints
    double median = 0;       // of its magnitude
    double flushed_share = 0;
    double v_ratio = 0;  // geometric mean of v / fp32 v
    code_sums first_codes, second_codes;
};

// Steps a state of these codecs and an fp32 state on gradients (steps, where.count) and compares the two at the
// checkpoints. With where.row_length 0 the groups are the codecs' own.
template<class FirstCodec, class SecondCodec, class FirstUnderflow = gesso::flush, class SecondUnderflow = gesso::keep>
trajectory_result simulate(const std::vector<float>& gradients, const placement& where, const replay_settings& settings,
    const gesso::adamw_rounding& rounding = {})
{
    const moment_track first_fp32 = replay_fp32<moment::first>(gradients, where, settings);
    const moment_track second_fp32 = replay_fp32<moment::second>(gradients, where, settings);
    const moment_track first = replay<moment::first, FirstCodec, FirstUnderflow>(
        gradients, where, settings, rounding.first, &first_fp32.trajectory);
    const moment_track second = replay<moment::second, SecondCodec, SecondUnderflow>(
        gradients, where, settings, rounding.second, &second_fp32.trajectory);

    second_sums of_second;
    pair_sums of_pair;
    std::vector<float> root;
    for (std::size_t i = 0; i < settings.checkpoints.size(); ++i) {
        const std::size_t offset = i * static_cast<std::size_t>(where.count);
        const reference_ratio reference(
            first_fp32.trajectory.data() + offset, second_fp32.trajectory.data() + offset, where.count);
        observe_second(reference, second.trajectory.data() + offset, of_second, root);
        observe_pair(reference, first.trajectory.data() + offset, root, of_pair);
    }
    return {of_pair.mean_square(), of_pair.median(), of_second.flushed_share(), of_second.v_ratio(), first.codes,
        second.codes};
}

}  // namespace moment_error
