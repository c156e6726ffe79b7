// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the threads of a block do in an AdamW step: each reads, updates and writes a few contiguous elements.
#pragma once

#include <gesso/level/block.cuh>
#include <gesso/level/elements.cuh>
#include <gesso/level/staged.cuh>
#include <gesso/optimizer/adamw_policy.cuh>

namespace gesso {

namespace detail {

// The tile's part of a moment: who shares a group, and where its bytes are.
template<class Codec, class Policy, int Items, bool IsSigned>
struct moment_tile {
    static constexpr bool is_signed = IsSigned;  // second moments are never negative
    static constexpr bool is_grouped = Codec::has_scale;
    static constexpr index_t group_size = is_grouped ? Codec::granularity::group_size : 1;
    static constexpr int lanes = static_cast<int>(padded(group_size) < Items ? 1 : padded(group_size) / Items);
    using group = packed_group<Codec, typename Policy::math>;
    using codes = packed_codes<typename Codec::format, Items>;
    using staged = staged_items<typename Codec::code_type, Items, Policy::block_threads>;
    using statistic = typename Codec::statistic;
    using storage = reduction_storage<statistic, lanes, Policy::block_threads>;
};

// 2^n elements of a tile that a thread holds: at most what the policy says, no more than a group, and no more than shared
// memory takes twice without a special wish (48 KiB, some of it for reductions).
template<class Policy, class Parameter, class Gradient, class First, class Second>
constexpr int items_of()
{
    constexpr index_t element_bytes = static_cast<index_t>(
        sizeof(Parameter) + sizeof(Gradient) + sizeof(typename First::code_type) + sizeof(typename Second::code_type));
    index_t items = Policy::items_per_thread;
    while (items > 2 && 2 * items * element_bytes * Policy::block_threads > 40 * 1024) items /= 2;
    if (First::has_scale && padded(First::granularity::group_size) < items)
        items = padded(First::granularity::group_size);
    if (Second::has_scale && padded(Second::granularity::group_size) < items)
        items = padded(Second::granularity::group_size);
    return static_cast<int>(items);
}

// The step of `Items` contiguous elements of each thread of a block.
template<class Policy, class Parameter, class Gradient, class FirstCodec, class SecondCodec, int Items>
struct adamw_threads {
    static constexpr int items = Items;
    static constexpr int threads = Policy::block_threads;
    static constexpr bool is_exact = standard::is_same_v<typename Policy::math, exact_math>;

    using factors = adamw_factors<typename Policy::math>;
    using tensor = adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>;
    using first = moment_tile<FirstCodec, Policy, items, true>;
    using second = moment_tile<SecondCodec, Policy, items, false>;

    // What a tile's elements lie in between global memory and registers.
    struct stage {
        staged_items<Parameter, items, threads> parameters;
        staged_items<Gradient, items, threads> gradients;
        typename first::staged first_codes;
        typename second::staged second_codes;
    };
    static constexpr bool can_copy = decltype(stage::parameters)::can_copy && decltype(stage::gradients)::can_copy
                                     && first::staged::can_copy && second::staged::can_copy;

    struct storage {
        typename first::storage first_storage;
        typename second::storage second_storage;
    };

    // The stored parameters of the groups of a thread's elements.
    struct group_bytes {
        typename FirstCodec::scale_code_type first_scale{};
        typename SecondCodec::scale_code_type second_scale{};
        uint8_t first_exponent = 0;
        uint8_t second_exponent = 0;
    };

    // Where a thread's elements are: [begin + local, begin + local + valid) of a tensor; valid <= items. Whole: all elements
    // exist, vectors are aligned, no group ends early, and `begin` is the same for the block and starts a group (addresses
    // are then one 32-bit addition from a common base).
    template<bool Whole>
    struct place {
        index_t begin;
        uint32_t local;
        int valid;
    };

    // Asks for all that a step reads.
    template<bool Whole>
    static __device__ __forceinline__ group_bytes fetch(const tensor& whole, const place<Whole>& at, stage& into)
    {
        if constexpr (Whole) {
            into.parameters.copy_in(whole.parameters + at.begin);
            into.gradients.copy_in(whole.gradients + at.begin);
            into.first_codes.copy_in(whole.first_moment.codes + at.begin);
            into.second_codes.copy_in(whole.second_moment.codes + at.begin);
        } else {
            into.parameters.load_part(whole.parameters + at.begin, at.valid);
            into.gradients.load_part(whole.gradients + at.begin, at.valid);
            into.first_codes.load_part(whole.first_moment.codes + at.begin, at.valid);
            into.second_codes.load_part(whole.second_moment.codes + at.begin, at.valid);
        }
        group_bytes bytes;
        if (Whole || at.valid > 0) {
            read_group<first, FirstCodec>(whole.first_moment, at, bytes.first_scale, bytes.first_exponent);
            read_group<second, SecondCodec>(whole.second_moment, at, bytes.second_scale, bytes.second_exponent);
        }
        return bytes;
    }

    // The step of what fetch() brought. Every thread comes through here: there are shuffles and barriers below.
    template<bool Whole>
    static __device__ __forceinline__ void step(const tensor& whole, const place<Whole>& at, stage& staged,
        const group_bytes& bytes, const factors& with, const stochastic& source, storage& shared)
    {
        registers held;
        staged.first_codes.get(0, held.first_codes.words);
        staged.second_codes.get(0, held.second_codes.words);
        held.first_reader = first::group::load(bytes.first_scale, bytes.first_exponent);
        held.second_reader = second::group::load(bytes.second_scale, bytes.second_exponent);
        if constexpr (!is_exact) {
            held.first_reader = first::group::decayed(held.first_reader, with.log2_beta1);
            held.second_reader = second::group::decayed(held.second_reader, with.log2_beta2);
        }

        const auto bits = bits_at<Whole, typename Policy::parameter_rounding>(
            source.stream(3 * whole.number + 2), whole.first_moment.first + at.begin + at.local);
        const bool special =
            first::group::are_special(held.first_codes) || second::group::are_special(held.second_codes);
        const bool has_zero_gradient =
            special ? update<true>(held, staged, with, bits) : update<false>(held, staged, with, bits);
        const uint32_t settles = has_zero_gradient ? settle(staged, with) : 0u;
        if constexpr (Whole) {
            __syncwarp();
            staged.parameters.copy_out(whole.parameters + at.begin);
        } else {
            staged.parameters.store_part(whole.parameters + at.begin, at.valid);
        }

        if constexpr (first::is_grouped) reduce_threads<first::lanes, threads>(held.first_known, shared.first_storage);
        if constexpr (second::is_grouped)
            reduce_threads<second::lanes, threads>(held.second_known, shared.second_storage);
        const auto [first_numerator, second_numerator] = numerators(held);
        compress<first, typename Policy::first_rounding, typename Policy::first_underflow>(whole.first_moment, at,
            held.first_values, first::group::fit(held.first_known, first_numerator),
            source.stream(3 * whole.number + 1), settles, held.first_is_regular);
        compress<second, typename Policy::second_rounding, typename Policy::second_underflow>(whole.second_moment, at,
            held.second_values, second::group::fit(held.second_known, second_numerator),
            source.stream(3 * whole.number), 0u, held.second_is_regular);
    }

private:
    // What a thread holds of the tensor.
    struct registers {
        typename first::codes first_codes;
        typename second::codes second_codes;
        typename first::group::reader first_reader;
        typename second::group::reader second_reader;
        item_values<items> first_values;
        item_values<items> second_values;
        typename first::statistic first_known;
        typename second::statistic second_known;
        bool first_is_regular = false;  // no zeros and nothing that is not finite among the values
        bool second_is_regular = false;
    };

    // The group of an element in a moment. Groups without rows count by shifts.
    template<class Moment, class Codec, bool Whole>
    static __device__ __forceinline__ index_t group_of(const compressed_ref<Codec>& view, const place<Whole>& at)
    {
        if constexpr (Whole) {
            return at.begin / Moment::group_size + at.local / static_cast<uint32_t>(Moment::group_size);
        } else {
            return view.groups().group_of(at.begin + at.local);
        }
    }
    template<class Moment, class Codec, bool Whole>
    static __device__ __forceinline__ void read_group(const compressed_ref<Codec>& view, const place<Whole>& at,
        typename Codec::scale_code_type& scale, uint8_t& exponent)
    {
        if constexpr (Codec::has_scale) {
            const index_t group = group_of<Moment>(view, at);
            scale = view.scales[group];
            if constexpr (Codec::has_exponent) exponent = view.exponents[group];
        }
    }

    // The exponents of both moments' groups. Where both are found in the same way, neighbouring lanes share the work: even
    // ones take the first moment's, odd ones the second's.
    struct both_numerators {
        int of_first;
        int of_second;
    };
    static __device__ __forceinline__ both_numerators numerators(const registers& held)
    {
        constexpr bool shares =
            !is_exact && FirstCodec::has_exponent && first::lanes > 1 && second::lanes > 1
            && standard::is_same_v<typename FirstCodec::format,
                typename SecondCodec::
                    format> && standard::is_same_v<typename FirstCodec::expansion, typename SecondCodec::expansion>;
        if constexpr (shares) {
            const bool is_odd = threadIdx.x % 2 != 0;
            range_statistic mine = held.first_known;
            if (is_odd) mine = held.second_known;
            const int numerator = first::group::numerator_of(mine);
            const int other = __shfl_xor_sync(0xFFFFFFFFu, numerator, 1);
            return {is_odd ? other : numerator, is_odd ? numerator : other};
        } else {
            return {first::group::numerator_of(held.first_known), second::group::numerator_of(held.second_known)};
        }
    }

    template<bool Whole, class Rounding>
    static __device__ __forceinline__ auto bits_at(const stochastic& source, index_t global)
    {
        if constexpr (!standard::is_same_v<Rounding, stochastic>) return no_bits{};
        else if constexpr (Whole) return bits_from<items>(source, global);
        else return per_item_bits{source, global};
    }

    // The arithmetic of the step: parameters and moments become new, and their statistics known. Is there an item without
    // gradient?
    template<bool Any, class Bits>
    static __device__ __forceinline__ bool update(registers& held, stage& staged, const factors& with, Bits bits)
    {
        // Elements at a time; and vectors of shared memory hold up to twice as many.
        constexpr int chunk = items < 4 ? items : 4;
        constexpr int vector = items < 8 ? items : 8;
        packed_elements<Parameter, vector> parameters;
        packed_elements<Gradient, vector> gradients;
        quick_statistic<FirstCodec::has_exponent, true> first_quick;
        quick_statistic<SecondCodec::has_exponent, false> second_quick;
        float smallest_gradient = float_of(0x7F800000u);
        float poison = 0.0f;
        GESSO_UNROLL
        for (int begin = 0; begin < items; begin += chunk) {
            if (begin % vector == 0) {
                staged.parameters.get(begin, parameters.words);
                staged.gradients.get(begin, gradients.words);
            }
            first::group::template decode_some<true, Any, chunk>(
                held.first_codes, begin, held.first_reader, held.first_values);
            second::group::template decode_some<false, Any, chunk>(
                held.second_codes, begin, held.second_reader, held.second_values);
            item_values<chunk> updated;
            GESSO_UNROLL
            for (int j = 0; j < chunk; ++j) {
                float& m = held.first_values[begin + j];
                float& v = held.second_values[begin + j];
                const float parameter = parameters.get(begin % vector + j);
                const float gradient = gradients.get(begin % vector + j);
                if constexpr (is_exact) {
                    const adamw_element result = adamw_update({parameter, m, v}, gradient, with.scalars, with.rates);
                    updated[j] = result.parameter;
                    smallest_gradient = fminf(smallest_gradient, fabsf(gradient));
                    m = result.first;
                    v = result.second;
                    held.first_known.observe(m);
                    held.second_known.observe(v);
                } else {
                    updated[j] = hardware_update(parameter, m, v, gradient, with);
                    smallest_gradient = fminf(smallest_gradient, fabsf(gradient));
                    first_quick.observe(m);
                    second_quick.observe(v);
                    // A NaN or an infinity of a gradient is seen in the second moment's statistic; special codes bring one in too.
                    if constexpr (Any) poison = hardware_fused_multiply_add(m + v, 0.0f, poison);
                }
            }
            GESSO_UNROLL
            for (int j = 0; j < chunk; j += 2) {
                const int item = begin % vector + j;
                if constexpr (standard::is_same_v<Bits, no_bits>) {
                    parameters.set_pair(item, updated[j], updated[j + 1]);
                } else {
                    parameters.set_pair(item, updated[j], updated[j + 1], bits(begin + j), bits(begin + j + 1));
                }
            }
            if ((begin + chunk) % vector == 0) staged.parameters.put(begin + chunk - vector, parameters.words);
        }
        if constexpr (!is_exact) {
            if (is_nan(poison) || first_quick.has_infinity() || second_quick.has_infinity()) {
                isolate(held, staged);
                return true;  // there may be zeros beside a NaN
            }
            held.first_is_regular = !first_quick.has_zero();
            held.second_is_regular = !second_quick.has_zero();
            if (!held.first_is_regular) first_quick.skip_zeros(held.first_values);
            if (!held.second_is_regular) second_quick.skip_zeros(held.second_values);
            held.first_known = first_quick.known();
            held.second_known = second_quick.known();
        }
        return with.is_gradient_zero(smallest_gradient);
    }

    // Bit i: item i has no gradient, and its first moment rounds toward zero.
    static __device__ __forceinline__ uint32_t settle(const stage& staged, const factors& with)
    {
        packed_elements<Gradient, items> gradients;
        staged.gradients.get(0, gradients.words);
        uint32_t settles = 0;
        GESSO_UNROLL
        for (int i = 0; i < items; ++i) {
            if (with.is_gradient_zero(gradients.get(i))) settles |= 1u << i;
        }
        return settles;
    }

    // adamw_update() by the special-function unit, for moments that are decayed already where their codec can do it. Denormals
    // are flushed by every operation; a moment that is not finite is left as it is.
    static __device__ __forceinline__ float hardware_update(
        float parameter, float& m, float& v, float gradient, const factors& with)
    {
        const float g = hardware_multiply(gradient, with.multiplier);
        if constexpr (first::group::is_decayed) m = hardware_fused_multiply_add(with.one_minus_beta1, g, m);
        else m = hardware_fused_multiply_add(with.beta1, m, hardware_multiply(with.one_minus_beta1, g));
        if constexpr (!second::group::is_decayed) v = hardware_multiply(with.beta2, v);
        v = hardware_fused_multiply_add(hardware_multiply(with.one_minus_beta2, g), g, v);
        const float denominator = hardware_fused_multiply_add(hardware_square_root(v), with.root, with.epsilon);
        return hardware_fused_multiply_add(
            -m, hardware_reciprocal(denominator), hardware_multiply(parameter, with.decay));
    }

    // A moment that is not finite: its element becomes NaN, parameter and moments, and no other does. The statistics are
    // taken anew. Rare.
    static __device__ __forceinline__ void isolate(registers& held, stage& staged)
    {
        const float nan = float_of(0x7FFFFFFFu);
        held.first_is_regular = held.second_is_regular = false;
        held.first_known = {};
        held.second_known = {};
        GESSO_UNROLL
        for (int i = 0; i < items; ++i) {
            float& m = held.first_values[i];
            float& v = held.second_values[i];
            if (!is_finite(m) || !is_finite(v)) {
                m = v = nan;
                staged.parameters.set(i, element<Parameter>::store(nan));
            }
            held.first_known.observe(m);
            held.second_known.observe(v);
        }
    }

    // Fit, encode and store one moment of this thread's elements; the first thread of a group stores its parameters.
    template<class Moment, class Rounding, class Underflow, class Codec, bool Whole>
    static __device__ __forceinline__ void compress(const compressed_ref<Codec>& view, const place<Whole>& at,
        const item_values<items>& values, const typename Moment::group::writer& with, const stochastic& source,
        uint32_t settles, bool are_regular)
    {
        using group = typename Moment::group;
        typename Moment::codes codes;
        group::template encode<Rounding, Underflow, Moment::is_signed>(values, with, codes,
            bits_at<Whole, Rounding>(source, view.first + at.begin + at.local), settles, are_regular);
        store_items<Whole>(view.codes + at.begin + at.local, at.valid, codes.words);
        if constexpr (Codec::has_scale) {
            if (static_cast<int>(threadIdx.x) % Moment::lanes == 0 && (Whole || at.valid > 0)) {
                const index_t group_index = group_of<Moment>(view, at);
                view.scales[group_index] = group::scale_code(with);
                if constexpr (Codec::has_exponent) view.exponents[group_index] = group::exponent_code(with);
            }
        }
    }
};

}  // namespace detail

}  // namespace gesso
