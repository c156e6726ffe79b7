// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// AdamW with compressed moments: the arithmetic of one element, which every level shares, and the step of one tensor on
// the host. Semantics are torch's (torch.optim.AdamW, amsgrad and maximize off):
//   p <- p (1 - lr wd);  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  p <- p - lr/c1 m / (sqrt(v) / sqrt(c2) + eps)
// with c1 = 1 - b1^t, c2 = 1 - b2^t. The update uses the new moments before they are compressed. Source: Loshchilov and
// Hutter, Decoupled weight decay regularization, algorithm 2; COAT, section 4.
#pragma once

#include <gesso/encoding/element.hpp>
#include <gesso/level/host.hpp>
#include <gesso/optimizer/step_state.hpp>

namespace gesso {

// The default codecs of the two moments: 1 byte and 5/128 a moment and parameter. docs/numerics.md says how they were chosen
// and what others there are: v has no sign, so its bit goes to the mantissa; e4m3 for v is a little faster on a device.
using default_first_moment = codec<e4m3, dynamic_power<>, per_group<128>>;
using default_second_moment = codec<unsigned_e4m4, dynamic_power<>, per_group<128>>;

// How a moment is rounded when it is compressed again. Nearest rounding loses every change below half a code, each step
// anew: where 1 - beta is small a moment freezes. `automatic` rounds to nearest where that is safe and stochastically
// where it is not: the first moment above beta1 0.93, the second above beta2 0.98 (docs/numerics.md has the figures).
enum class moment_rounding { automatic, nearest, stochastic };

// How the results of a step are rounded. Parameters narrower than fp32 may be rounded stochastically too, which lets
// bf16 parameters move where the learning rate is below half their spacing.
struct adamw_rounding {
    moment_rounding first = moment_rounding::automatic;
    moment_rounding second = moment_rounding::automatic;
    bool stochastic_parameters = false;
};

constexpr double first_moment_threshold = 0.93;
constexpr double second_moment_threshold = 0.98;

// Does a moment in this codec round stochastically under this decay? Beside the threshold, which holds for the exponents
// that dynamic ranges have, a fixed exponent k says by itself where nearest rounding freezes: a decay of 1 - beta must
// exceed half the relative spacing of the codes, 2^-(mantissa bits + 1) / k at its widest. (0.7: the mean of the spacing.)
template<class Codec>
GESSO_HOST_DEVICE bool rounds_stochastically(moment_rounding rounding, double beta, double threshold)
{
    if (rounding != moment_rounding::automatic) return rounding == moment_rounding::stochastic;
    if (beta > threshold) return true;
    if constexpr (Codec::has_exponent) {
        return false;
    } else {
        double k = 1.0;
        if constexpr (!standard::is_same_v<typename Codec::expansion, identity>) {
            k = static_cast<double>(Codec::expansion::numerator) / Codec::expansion::denominator;
        }
        return detail::one_minus(beta) < 0.7 / (k * static_cast<double>(uint32_t{2} << Codec::format::mantissa_bits));
    }
}

// The scalars of one step in fp32, each computed in double and rounded once.
struct adamw_scalars {
    float gradient_multiplier = 0;      // clip_factor / gradient_scale
    float beta1 = 0;
    float one_minus_beta1 = 0;
    float beta2 = 0;
    float one_minus_beta2 = 0;
    float step_size = 0;                // lr / c1
    float decay_rate = 0;               // lr wd
    float inverse_root_correction = 0;  // 1 / sqrt(c2)
    float epsilon = 0;                  // at least 2^-126, so that no denominator is zero
};

// Precondition: is_valid(with) and state.step >= 1 (after advance()).
inline GESSO_HOST_DEVICE adamw_scalars scalars_of(const adamw_configuration& with, const step_state& state)
{
    adamw_scalars result;
    result.gradient_multiplier =
        detail::to_float(detail::to_double(state.clip_factor) / detail::to_double(state.gradient_scale));
    result.beta1 = detail::to_float(with.beta1);
    result.one_minus_beta1 = detail::to_float(detail::one_minus(with.beta1));
    result.beta2 = detail::to_float(with.beta2);
    result.one_minus_beta2 = detail::to_float(detail::one_minus(with.beta2));
    result.step_size = detail::to_float(with.learning_rate / state.first_correction);
    result.decay_rate = detail::to_float(with.learning_rate * with.weight_decay);
#if defined(__CUDA_ARCH__)
    result.inverse_root_correction = detail::to_float(1.0 / __dsqrt_rn(state.second_correction));
#else
    result.inverse_root_correction = detail::to_float(1.0 / std::sqrt(state.second_correction));
#endif
    result.epsilon = detail::to_float(with.epsilon < 0x1p-126 ? 0x1p-126 : with.epsilon);
    return result;
}

// What one tensor makes of the step's scalars.
struct adamw_rates {
    float step_size;  // lr / c1, scaled
    float decay;      // 1 - lr wd, scaled
};
GESSO_HOST_DEVICE inline adamw_rates rates_of(
    const adamw_scalars& with, float learning_rate_scale, float weight_decay_scale)
{
    const float rate = multiply(with.decay_rate, learning_rate_scale);
    return {multiply(with.step_size, learning_rate_scale), fused_multiply_add(negate(rate), weight_decay_scale, 1.0f)};
}

// One element of a tensor: its parameter and moments.
struct adamw_element {
    float parameter;
    float first;
    float second;
};

// A stored gradient as it enters the moments; a denormal counts as zero, before and after.
GESSO_HOST_DEVICE inline float scaled_gradient(float gradient, const adamw_scalars& with)
{
    return flush_denormal(multiply(flush_denormal(gradient), with.gradient_multiplier));
}

// The step of one element, in exact arithmetic. A denormal gradient or moment counts as zero. A NaN or infinite gradient
// makes this element NaN (parameter and moments) and no other; so does a gradient whose square passes fp32. A sign on the
// old second moment is dropped. Where there has never been a gradient the update is zero, whatever epsilon is.
GESSO_HOST_DEVICE inline adamw_element adamw_update(
    const adamw_element& old, float gradient, const adamw_scalars& with, const adamw_rates& rates)
{
    const float g = scaled_gradient(gradient, with);
    const float old_second = flush_denormal(float_of(magnitude_bits(old.second)));
    adamw_element result;
    result.first = flush_denormal(
        fused_multiply_add(with.beta1, flush_denormal(old.first), multiply(with.one_minus_beta1, g)));
    result.second = flush_denormal(
        fused_multiply_add(with.beta2, old_second, multiply(multiply(with.one_minus_beta2, g), g)));
    const float denominator =
        fused_multiply_add(square_root(result.second), with.inverse_root_correction, with.epsilon);
    const float update = divide(result.first, denominator);
    result.parameter = fused_multiply_add(negate(rates.step_size), update, multiply(old.parameter, rates.decay));
    if (!is_finite(result.first) || !is_finite(result.second)) {
        result = {float_of(0x7FFFFFFFu), float_of(0x7FFFFFFFu), float_of(0x7FFFFFFFu)};
    }
    return result;
}

// One tensor of an AdamW step. The moments say how many elements there are and where the tensor or shard begins.
template<class Parameter, class Gradient, class FirstCodec, class SecondCodec>
struct adamw_tensor {
    Parameter* parameters = nullptr;
    const Gradient* gradients = nullptr;
    compressed_ref<FirstCodec> first_moment;
    compressed_ref<SecondCodec> second_moment;
    float learning_rate_scale = 1.0f;
    float weight_decay_scale = 1.0f;
    uint32_t number = 0;  // of this tensor among those of a step: keeps the random bits of tensors apart
};

// Is this tensor fit for a step?
template<class Parameter, class Gradient, class FirstCodec, class SecondCodec>
GESSO_HOST_DEVICE status check(const adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>& tensor)
{
    const auto is_scale = [](float value) { return value >= 0.0f && is_finite(value); };
    if (!is_scale(tensor.learning_rate_scale) || !is_scale(tensor.weight_decay_scale)) {
        return status::invalid_configuration;
    }
    const compressed_ref<FirstCodec>& first = tensor.first_moment;
    const compressed_ref<SecondCodec>& second = tensor.second_moment;
    if (first.count != second.count || first.first != second.first || first.row_length != second.row_length) {
        return status::size_mismatch;
    }
    if (const status checked = detail::check(first); checked != status::success) return checked;
    if (const status checked = detail::check(second); checked != status::success) return checked;
    const bool missing = first.count != 0 && (tensor.parameters == nullptr || tensor.gradients == nullptr);
    return missing ? status::null_pointer : status::success;
}

// The step on the host; NVRTC compiles device code alone.
#if !defined(__CUDACC_RTC__)

namespace detail {

// The rounding of first moments: toward zero where there is no gradient. There m only decays, and to nearest it would
// decay by the codes' spacing instead of beta1, so that a dead parameter moved further than with fp32 state.
struct settling_nearest {
    bool settles;

    static constexpr GESSO_HOST_DEVICE bool passes_max(bool) { return true; }
    constexpr GESSO_HOST_DEVICE bool rounds_away(const cut& at) const
    {
        return !settles && nearest_even{}.rounds_away(at);
    }
};
template<class Source>
struct settling {
    Source source;
    const bool* settles;  // for the elements from `first` on
    index_t first;

    GESSO_HOST_DEVICE auto at(index_t element) const
    {
        const bool settles_here = settles[element - first];
        // Bits that are all zeros round nothing away from zero.
        if constexpr (standard::is_same_v<Source, nearest_even>) return settling_nearest{settles_here};
        else return stochastic_bits{settles_here ? 0u : source.at(element).bits};
    }
};

// Compresses one part of a moment.
template<class Codec, class Rounding, class Underflow>
void compress_moment(
    const float* values, const compressed_ref<Codec>& part, const Rounding& rounding, Underflow underflow)
{
    const status done = host_codec<Codec>::compress(values, part, rounding, underflow);
    static_cast<void>(done);  // the whole view was checked before the first part
}

}  // namespace detail

// One AdamW step of one tensor on the host, in exact arithmetic: the bytes are the same on every machine and compiler.
// `with` and `state` after advance(). FirstUnderflow and SecondUnderflow: what a moment below the normal range becomes;
// the defaults let a dead first moment end at zero and never let a live second moment become zero.
// With state.skip set nothing is read or written. On any status but success nothing has been written.
// Snippet: examples/04_write_a_policy.cpp
template<class FirstUnderflow = flush, class SecondUnderflow = keep, class Parameter, class Gradient, class FirstCodec,
    class SecondCodec>
[[nodiscard]] status host_adamw_step(const adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>& tensor,
    const adamw_configuration& with, const step_state& state, const adamw_rounding& rounding = {})
{
    constexpr index_t first_size = FirstCodec::granularity::group_size;
    constexpr index_t second_size = SecondCodec::granularity::group_size;
    // Both moments of a chunk are whole groups.
    constexpr index_t chunk_size = first_size / detail::greatest_common_divisor(first_size, second_size) * second_size;
    static_assert(chunk_size <= 1 << 16,
        "gesso::host_adamw_step: the least common multiple of the two group sizes is at most 65536; choose sizes of which "
        "one divides the other");

    const compressed_ref<FirstCodec>& first = tensor.first_moment;
    const compressed_ref<SecondCodec>& second = tensor.second_moment;
    if (!is_valid(with) || (!state.skip && !is_valid(state))) return status::invalid_configuration;
    if (const status checked = check(tensor); checked != status::success) return checked;
    if (first.count == 0 || state.skip) return status::success;

    const adamw_scalars scalars = scalars_of(with, state);
    const adamw_rates rates = rates_of(scalars, tensor.learning_rate_scale, tensor.weight_decay_scale);
    const stochastic source = stochastic(state.seed, static_cast<uint64_t>(state.step));
    const stochastic for_second = source.stream(3 * tensor.number);
    const stochastic for_first = source.stream(3 * tensor.number + 1);
    const stochastic for_parameter = source.stream(3 * tensor.number + 2);
    const bool first_is_stochastic = rounds_stochastically<FirstCodec>(rounding.first, with.beta1, first_moment_threshold);
    const bool second_is_stochastic = rounds_stochastically<SecondCodec>(rounding.second, with.beta2, second_moment_threshold);

    constexpr unsigned buffer_size = static_cast<unsigned>(chunk_size);
    float new_first[buffer_size];
    float new_second[buffer_size];
    bool settles[buffer_size];
    const detail::flat_groups chunks{first.first, first.count, first.row_length, chunk_size};
    const index_t number = chunks.groups();
    for (index_t chunk = 0; chunk < number; ++chunk) {
        const index_t begin = chunks.begin(chunk);
        const index_t count = chunks.end(chunk) - begin;
        const compressed_ref<FirstCodec> first_part = first.part(begin, count);
        const compressed_ref<SecondCodec> second_part = second.part(begin, count);
        static_cast<void>(host_codec<FirstCodec>::decode(first_part, new_first));
        static_cast<void>(host_codec<SecondCodec>::decode(second_part, new_second));
        for (index_t i = 0; i < count; ++i) {
            Parameter& parameter = tensor.parameters[begin + i];
            const float gradient = element<Gradient>::load(tensor.gradients[begin + i]);
            const adamw_element updated = adamw_update(
                {element<Parameter>::load(parameter), new_first[i], new_second[i]}, gradient, scalars, rates);
            settles[i] = is_zero(scaled_gradient(gradient, scalars));
            new_first[i] = updated.first;
            new_second[i] = updated.second;
            parameter = rounding.stochastic_parameters
                ? element<Parameter>::store(updated.parameter, for_parameter.at(first.first + begin + i))
                : element<Parameter>::store(updated.parameter);
        }
        if (first_is_stochastic) {
            const detail::settling<stochastic> settling{for_first, settles, first_part.first};
            detail::compress_moment(new_first, first_part, settling, FirstUnderflow{});
        } else {
            const detail::settling<nearest_even> settling{nearest_even{}, settles, first_part.first};
            detail::compress_moment(new_first, first_part, settling, FirstUnderflow{});
        }
        if (second_is_stochastic) detail::compress_moment(new_second, second_part, for_second, SecondUnderflow{});
        else detail::compress_moment(new_second, second_part, nearest_even{}, SecondUnderflow{});
    }
    return status::success;
}

#endif

}  // namespace gesso
