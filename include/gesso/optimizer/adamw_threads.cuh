// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the threads of a block do in an AdamW step: each reads, updates and writes a few contiguous elements.
#pragma once

#include <gesso/level/block.cuh>
#include <gesso/level/elements.cuh>
#include <gesso/optimizer/adamw.hpp>

namespace gesso {

// How a step rounds, computes and is cut into blocks. Derive (in a namespace that has a name) and override to change one
// thing: `struct mine : gesso::adamw_policy<> { using parameter_rounding = gesso::stochastic; };`
// Roundings are nearest_even or stochastic. v is rounded stochastically by default, which is right at every beta2; below
// beta2 0.98 nearest_even is right too and faster: rounds_stochastically<Codec>() says what `automatic` stands for.
template<class Math = hardware_math>
struct adamw_policy {
    using math = Math;
    using first_rounding = nearest_even;
    using second_rounding = stochastic;
    using parameter_rounding = nearest_even;
    using first_underflow = flush;
    using second_underflow = keep;
    static constexpr bool is_exact = standard::is_same_v<Math, exact_math>;
    // Exact arithmetic is long: few elements a thread keep it in registers.
    static constexpr int items_per_thread = is_exact ? 4 : 16;
    static constexpr int block_threads = is_exact ? 512 : 128;
};
// For beta2 up to 0.98.
template<class Math = hardware_math>
struct adamw_nearest_policy : adamw_policy<Math> {
    using second_rounding = nearest_even;
};

// What the kernels of a step read, in device memory. The user writes configuration and state (all but the step and the two
// corrections, at any time between steps); adamw_advance() keeps the rest.
struct adamw_device_state {
    adamw_configuration configuration;
    step_state state;
    double gradient_norm = 0;  // of the last adamw_clip()
    // What a step reads, in three vectors of 16 bytes.
    struct alignas(16) launch_scalars {
        adamw_scalars scalars;
        uint32_t is_active = 0;  // not skipped, and what the user wrote is in range: else a step changes no byte
        stochastic source{0, 0};
    } launch;
};
static_assert(sizeof(adamw_device_state::launch_scalars) == 48);  // three vectors

namespace detail {

// The tile's part of a moment: who shares a group, and where its bytes are.
template<class Codec, class Policy, int Items>
struct moment_tile {
    static constexpr bool is_grouped = Codec::has_scale;
    static constexpr index_t group_size = is_grouped ? Codec::granularity::group_size : 1;
    static constexpr int lanes = static_cast<int>(padded(group_size) < Items ? 1 : padded(group_size) / Items);
    using group = packed_group<Codec, typename Policy::math>;
    using codes = packed_codes<typename Codec::format, Items>;
    using statistic = typename Codec::statistic;
    using storage = reduction_storage<statistic, lanes, Policy::block_threads>;
};

// 2^n elements of a tile that a thread holds: at most what the policy says, and no more than a group.
template<class Policy, class First, class Second, int ElementBytes>
constexpr int items_of()
{
    index_t items = ElementBytes > 4 && Policy::items_per_thread > 8 ? 8 : Policy::items_per_thread;
    if (First::has_scale && padded(First::granularity::group_size) < items) items = padded(First::granularity::group_size);
    if (Second::has_scale && padded(Second::granularity::group_size) < items) items = padded(Second::granularity::group_size);
    return static_cast<int>(items);
}

// The step of `Items` contiguous elements of each thread of a block.
template<class Policy, class Parameter, class Gradient, class FirstCodec, class SecondCodec, int Items>
struct adamw_threads {
    static constexpr int items = Items;
    static constexpr int threads = Policy::block_threads;
    static constexpr bool is_exact = standard::is_same_v<typename Policy::math, exact_math>;

    using tensor = adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>;
    using first = moment_tile<FirstCodec, Policy, items>;
    using second = moment_tile<SecondCodec, Policy, items>;

    struct storage {
        typename first::storage first_storage;
        typename second::storage second_storage;
    };

    // One thread's elements [begin + local, begin + local + valid); valid <= items. Every thread comes through here: there
    // are shuffles and barriers below. Whole: all elements exist, vectors are aligned, no group ends early, and `begin`
    // is the same for the block and starts a group (addresses are then one 32-bit addition from a common base).
    template<bool Whole>
    static __device__ __forceinline__ void step(const tensor& whole, index_t begin, uint32_t local, int valid,
        const adamw_device_state* device, storage& shared)
    {
        // All that is read is asked for before the first answer is needed, the flag among it: nothing waits twice.
        const adamw_device_state::launch_scalars launch = load_launch(device);
        const adamw_scalars& scalars = launch.scalars;
        const stochastic& source = launch.source;
        registers held;
        load_items<Whole>(whole.parameters + begin + local, valid, held.parameters.words);
        load_items<Whole>(whole.gradients + begin + local, valid, held.gradients.words);
        load_items<Whole>(whole.first_moment.codes + begin + local, valid, held.first_codes.words);
        load_items<Whole>(whole.second_moment.codes + begin + local, valid, held.second_codes.words);
        held.first_reader = reader_of<first, FirstCodec, Whole>(whole.first_moment, begin, local, valid);
        held.second_reader = reader_of<second, SecondCodec, Whole>(whole.second_moment, begin, local, valid);

        const adamw_rates rates = rates_of(scalars, whole.learning_rate_scale, whole.weight_decay_scale);
        const auto bits = bits_at<Whole, typename Policy::parameter_rounding>(
            source.stream(3 * whole.number + 2), whole.first_moment.first + begin + local);
        const bool special =
            first::group::are_special(held.first_codes) || second::group::are_special(held.second_codes);
        // An inactive step computes and stores nothing: no block waits for the flag before it asks for its data.
        const bool is_active = launch.is_active != 0;
        const target to{whole.parameters + begin, local, is_active ? (Whole ? items : valid) : 0};
        const bool has_zero_gradient = special ? update<Whole, true>(held, scalars, rates, bits, to)
                                               : update<Whole, false>(held, scalars, rates, bits, to);
        if (!is_active) return;
        const uint32_t settles = has_zero_gradient ? settle<Whole>(whole.gradients + begin + local, valid, scalars) : 0u;

        if constexpr (first::is_grouped) reduce_threads<first::lanes, threads>(held.first_known, shared.first_storage);
        if constexpr (second::is_grouped) reduce_threads<second::lanes, threads>(held.second_known, shared.second_storage);
        const auto [first_numerator, second_numerator] = numerators(held);
        compress<Whole, first, typename Policy::first_rounding, typename Policy::first_underflow>(whole.first_moment, begin,
            local, valid, held.first_values, first::group::fit(held.first_known, first_numerator),
            source.stream(3 * whole.number + 1), settles);
        compress<Whole, second, typename Policy::second_rounding, typename Policy::second_underflow>(
            whole.second_moment, begin, local, valid, held.second_values,
            second::group::fit(held.second_known, second_numerator), source.stream(3 * whole.number), 0u);
    }

private:
    static __device__ __forceinline__ adamw_device_state::launch_scalars load_launch(const adamw_device_state* device)
    {
        struct vectors {
            uint4 all[3];
        };
        return __builtin_bit_cast(adamw_device_state::launch_scalars, *reinterpret_cast<const vectors*>(&device->launch));
    }

    // What a thread holds of the tensor.
    struct registers {
        packed_elements<Parameter, items> parameters;
        packed_elements<Gradient, items> gradients;
        typename first::codes first_codes;
        typename second::codes second_codes;
        typename first::group::reader first_reader;
        typename second::group::reader second_reader;
        item_values<items> first_values;
        item_values<items> second_values;
        typename first::statistic first_known;
        typename second::statistic second_known;
    };

    // Where a thread's parameters go; valid is 0 where nothing is to be written. (The base is the block's: a thread keeps 32
    // bits of address.)
    struct target {
        Parameter* base;
        uint32_t local;
        int valid;

        __device__ __forceinline__ Parameter* parameters() const { return base + local; }
    };

    // The group of an element in a moment. Groups without rows count by shifts.
    template<class Moment, class Codec, bool Whole>
    static __device__ __forceinline__ index_t group_of(const compressed_ref<Codec>& view, index_t begin, uint32_t local)
    {
        if constexpr (Whole) return begin / Moment::group_size + local / static_cast<uint32_t>(Moment::group_size);
        else return view.groups().group_of(begin + local);
    }
    template<class Moment, class Codec, bool Whole>
    static __device__ __forceinline__ typename Moment::group::reader reader_of(
        const compressed_ref<Codec>& view, index_t begin, uint32_t local, int valid)
    {
        typename Codec::scale_code_type scale{};
        uint8_t exponent = 0;
        if constexpr (Codec::has_scale) {
            if (Whole || valid > 0) {
                const index_t group = group_of<Moment, Codec, Whole>(view, begin, local);
                scale = view.scales[group];
                if constexpr (Codec::has_exponent) exponent = view.exponents[group];
            }
        }
        return Moment::group::load(scale, exponent);
    }

    // The exponents of both moments' groups. Where both are found in the same way, neighbouring lanes share the work: even
    // ones take the first moment's, odd ones the second's.
    struct both_numerators {
        int of_first;
        int of_second;
    };
    static __device__ __forceinline__ both_numerators numerators(const registers& held)
    {
        constexpr bool shares = !is_exact && FirstCodec::has_exponent && first::lanes > 1 && second::lanes > 1
                             && standard::is_same_v<typename FirstCodec::format, typename SecondCodec::format>
                             && standard::is_same_v<typename FirstCodec::expansion, typename SecondCodec::expansion>;
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
        else if constexpr (Whole && items % 4 == 0) return bits_from(source, global);
        else return per_item_bits{source, global};
    }

    // The arithmetic of the step: parameters and moments become new, and their statistics known. Is there an item without
    // gradient?
    template<bool Whole, bool Any, class Bits>
    static __device__ __forceinline__ bool update(registers& held, const adamw_scalars& scalars,
        const adamw_rates& rates, Bits bits, const target& to)
    {
        constexpr int chunk = items < 4 ? items : 4;
        // 16-bit parameters are stored as soon as a vector is full, which frees its registers. (fp32 vectors that are written
        // apart in time cost more than that: 84 against 94 % of copy. And for sm_100 the compiler needs no help.)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200
        constexpr bool stores_early = false;
#else
        constexpr bool stores_early = sizeof(Parameter) == 2 && items % 8 == 0;
#endif
        quick_statistic<FirstCodec::has_exponent, true> first_quick;
        quick_statistic<SecondCodec::has_exponent, false> second_quick;
        float smallest_gradient = 1.0f;
        float poison = 0.0f;
        GESSO_UNROLL
        for (int begin = 0; begin < items; begin += chunk) {
            first::group::template decode_some<true, Any, chunk>(
                held.first_codes, begin, held.first_reader, held.first_values);
            second::group::template decode_some<false, Any, chunk>(
                held.second_codes, begin, held.second_reader, held.second_values);
            item_values<chunk> updated;
            GESSO_UNROLL
            for (int j = 0; j < chunk; ++j) {
                float& m = held.first_values[begin + j];
                float& v = held.second_values[begin + j];
                const float parameter = held.parameters.get(begin + j);
                const float gradient = held.gradients.get(begin + j);
                if constexpr (is_exact) {
                    const adamw_element result = adamw_update({parameter, m, v}, gradient, scalars, rates);
                    updated[j] = result.parameter;
                    smallest_gradient = fminf(smallest_gradient, fabsf(scaled_gradient(gradient, scalars)));
                    m = result.first;
                    v = result.second;
                    held.first_known.observe(m);
                    held.second_known.observe(v);
                } else {
                    const float g = hardware_multiply(gradient, scalars.gradient_multiplier);
                    updated[j] = hardware_update(parameter, m, v, g, scalars, rates);
                    smallest_gradient = minimum_or_nan(smallest_gradient, fabsf(g));
                    first_quick.observe(m);
                    second_quick.observe(v);
                    // Beside gradients only special codes bring a NaN in.
                    if constexpr (Any) poison = hardware_fused_multiply_add(m + v, 0.0f, poison);
                }
            }
            GESSO_UNROLL
            for (int j = 0; j < chunk; j += 2) {
                if constexpr (standard::is_same_v<Bits, no_bits>) {
                    held.parameters.set_pair(begin + j, updated[j], updated[j + 1]);
                } else {
                    held.parameters.set_pair(
                        begin + j, updated[j], updated[j + 1], bits(begin + j), bits(begin + j + 1));
                }
            }
            if constexpr (Whole && stores_early) store_vector(held, begin + chunk, to);
        }
        if (!(Whole && stores_early) && (!Whole || to.valid != 0)) {
            store_items<Whole>(to.parameters(), to.valid, held.parameters.words);
        }
        if constexpr (!is_exact) {
            held.first_known = first_quick.known();
            held.second_known = second_quick.known();
            const bool is_regular = first_quick.is_regular() && second_quick.is_regular();
            if (is_nan(smallest_gradient) || is_nan(poison) || !is_regular) {
                isolate(held, to);
                return true;  // there may be zeros beside a NaN
            }
        }
        return is_zero(smallest_gradient);
    }

    // Bit i: item i has no gradient, and its first moment rounds toward zero. The gradients are read again: this is rare, and
    // keeping them would cost every thread their registers.
    template<bool Whole>
    static __device__ __forceinline__ uint32_t settle(
        const Gradient* from, int valid, const adamw_scalars& scalars)
    {
        packed_elements<Gradient, items> gradients;
        load_items<Whole>(from, valid, gradients.words);
        uint32_t settles = 0;
        GESSO_UNROLL
        for (int i = 0; i < items; ++i) {
            if (is_zero(scaled_gradient(gradients.get(i), scalars))) settles |= 1u << i;
        }
        return settles;
    }

    // adamw_update() by the special-function unit, for a scaled gradient. Denormals are flushed by every operation; a moment
    // that is not finite is left as it is.
    static __device__ __forceinline__ float hardware_update(
        float parameter, float& m, float& v, float g, const adamw_scalars& scalars, const adamw_rates& rates)
    {
        m = hardware_fused_multiply_add(scalars.beta1, m, hardware_multiply(scalars.one_minus_beta1, g));
        v = hardware_fused_multiply_add(
            scalars.beta2, v, hardware_multiply(hardware_multiply(scalars.one_minus_beta2, g), g));
        const float denominator = hardware_fused_multiply_add(
            hardware_square_root(v), scalars.inverse_root_correction, scalars.epsilon);
        const float ratio = hardware_multiply(m, hardware_reciprocal(denominator));
        return hardware_fused_multiply_add(-rates.step_size, ratio, hardware_multiply(parameter, rates.decay));
    }

    // A moment that is not finite: its element becomes NaN, parameter and moments, and no other does. The statistics are
    // taken anew. Rare.
    static __device__ __forceinline__ void isolate(registers& held, const target& to)
    {
        const float nan = float_of(0x7FFFFFFFu);
        held.first_known = {};
        held.second_known = {};
        GESSO_UNROLL
        for (int i = 0; i < items; ++i) {
            float& m = held.first_values[i];
            float& v = held.second_values[i];
            if (!is_finite(m) || !is_finite(v)) {
                m = v = nan;
                if (i < to.valid) to.parameters()[i] = element<Parameter>::store(nan);
            }
            held.first_known.observe(m);
            held.second_known.observe(v);
        }
    }

    // The vector of 8 parameters that ends at item `end`, if one does.
    static __device__ __forceinline__ void store_vector(const registers& held, int end, const target& to)
    {
        if (end % 8 != 0 || to.valid == 0) return;
        const uint32_t(&words)[static_cast<unsigned>(words_of<Parameter, items>)] = held.parameters.words;
        reinterpret_cast<uint4*>(to.parameters())[end / 8 - 1] =
            make_uint4(words[end / 2 - 4], words[end / 2 - 3], words[end / 2 - 2], words[end / 2 - 1]);
    }

    // Fit, encode and store one moment of this thread's elements; the first thread of a group stores its parameters.
    template<bool Whole, class Moment, class Rounding, class Underflow, class Codec>
    static __device__ __forceinline__ void compress(const compressed_ref<Codec>& view, index_t begin, uint32_t local,
        int valid, const item_values<items>& values, const typename Moment::group::writer& with, const stochastic& source,
        uint32_t settles)
    {
        using group = typename Moment::group;
        typename Moment::codes codes;
        group::template encode<Rounding, Underflow>(
            values, with, codes, bits_at<Whole, Rounding>(source, view.first + begin + local), settles);
        store_items<Whole>(view.codes + begin + local, valid, codes.words);
        if constexpr (Codec::has_scale) {
            if (static_cast<int>(threadIdx.x) % Moment::lanes == 0 && (Whole || valid > 0)) {
                const index_t group_index = group_of<Moment, Codec, Whole>(view, begin, local);
                view.scales[group_index] = group::scale_code(with);
                if constexpr (Codec::has_exponent) view.exponents[group_index] = group::exponent_code(with);
            }
        }
    }
};

}  // namespace detail

}  // namespace gesso
