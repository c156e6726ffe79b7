// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What one block does at the device level: a tile of a flat tensor, from memory to codes or back.
#pragma once

#include <gesso/level/block.cuh>
#include <gesso/level/elements.cuh>

namespace gesso {

// How the device level is cut into blocks. Derive and override to change one thing:
//   struct mine : gesso::device_tuning<> { static constexpr int items_per_thread = 16; };
// A block takes block_threads threads, or more where a group needs them; a thread takes items_per_thread
// contiguous elements (2, 4, 8 or 16), or fewer where a group has no more.
template<class Math = hardware_math>
struct device_tuning {
    // 16 bytes of bf16 in one load. Exact arithmetic is long: few elements a thread keep it in registers.
    static constexpr int items_per_thread = standard::is_same_v<Math, exact_math> ? 4 : 8;
    static constexpr int block_threads = 256;
};

namespace detail {

template<class Codec, class Math, class Tuning>
struct device_tile {
    static constexpr int wanted_items = Tuning::items_per_thread;
    static_assert(wanted_items == 2 || wanted_items == 4 || wanted_items == 8 || wanted_items == 16,
        "gesso::device_codec: the tuning's items_per_thread is 2, 4, 8 or 16");

    // Without a scale nothing is shared and hardware math has nothing to bend.
    using math = standard::conditional_t<Codec::has_scale, Math, exact_math>;
    static constexpr bool is_exact = standard::is_same_v<math, exact_math>;
    static constexpr bool is_expanded = !standard::is_same_v<typename Codec::expansion, identity>;

    static constexpr index_t group_size = Codec::has_scale ? Codec::granularity::group_size : 1;
    // Groups that end early, or whose size is no power of two, are padded to one; 16-bit elements come in
    // pairs.
    static constexpr index_t padded_size = padded(group_size < 2 ? 2 : group_size);
    static constexpr int items =
        Codec::has_scale && padded_size < wanted_items ? static_cast<int>(padded_size) : wanted_items;
    static constexpr index_t lanes = Codec::has_scale ? padded_size / items : 1;
    static_assert(lanes <= 1024,
        "gesso::device_codec: the group is larger than a block's registers; raise the tuning's "
        "items_per_thread or use smaller groups");
    static constexpr int threads =
        static_cast<int>(lanes < Tuning::block_threads ? Tuning::block_threads : lanes);
    static constexpr index_t elements = index_t{items} * threads;

    using format = typename Codec::format;
    using scale_code_type = typename Codec::scale_code_type;
    using statistic = typename Codec::statistic;
    using group = packed_group<Codec, math>;
    using codes_type = packed_codes<format, items>;
    using values_type = item_values<items>;
    template<class Statistic>
    using storage = reduction_storage<Statistic, static_cast<int>(lanes), threads>;

    // How many tiles cover a tensor.
    static index_t tiles(const flat_groups& groups)
    {
        return is_direct(groups) ? parts(groups.count, elements)
                                 : parts(groups.groups() * padded_size, elements);
    }

    // All threads of the block: a tile of values to codes. Fits: observe and fit first, and store the
    // parameters; else they are read.
    template<bool Fits, class Underflow, class T, class Rounding>
    static __device__ __forceinline__ void encode(const T* values, const compressed_ref<Codec>& to,
        const Rounding& rounding, storage<statistic>& shared)
    {
        const place at = place_of(to.groups());
        const bool is_whole =
            at.valid == items && is_aligned(values + at.element) && is_aligned(to.codes + at.element);
        values_type numbers;
        load_values(values + at.element, at.valid, is_whole, numbers);
        typename group::writer with;
        if constexpr (Fits) {
            statistic known = observe_items<statistic>(numbers);
            if constexpr (Codec::has_scale) reduce_threads<static_cast<int>(lanes), threads>(known, shared);
            with = group::fit(known, group::numerator_of(known));
            if (Codec::has_scale && threadIdx.x % lanes == 0 && at.valid > 0) {
                if constexpr (Codec::has_scale) to.scales[at.group] = group::scale_code(with);
                if constexpr (Codec::has_exponent) to.exponents[at.group] = group::exponent_code(with);
            }
        } else {
            observe_items<statistic>(numbers);
            with = stored_writer(stored_parameters(to, at), numbers);
        }
        encode_items<Underflow>(numbers, with, rounding, to.codes, to.first, at, is_whole);
    }

    // A tile of codes to values.
    template<class T>
    static __device__ __forceinline__ void decode(const compressed_ref<const Codec>& from, T* values)
    {
        const place at = place_of(from.groups());
        const bool is_whole =
            at.valid == items && is_aligned(values + at.element) && is_aligned(from.codes + at.element);
        codes_type codes;
        if (is_whole) load_items<true>(from.codes + at.element, items, codes.words);
        else load_items<false>(from.codes + at.element, at.valid, codes.words);
        const stored with = stored_parameters(from, at);
        values_type numbers;
        group::decode(codes, group::load(with.scale, with.exponent), numbers);
        if constexpr (!is_exact) mend(codes, with, numbers);
        packed_elements<T, items> elements_of_thread;
        GESSO_UNROLL
        for (int i = 0; i < items; i += 2) elements_of_thread.set_pair(i, numbers[i], numbers[i + 1]);
        if (is_whole) store_items<true>(values + at.element, items, elements_of_thread.words);
        else store_items<false>(values + at.element, at.valid, elements_of_thread.words);
    }

    // The statistics of a tile's groups to memory; `amin` is for range_statistic alone.
    template<class Statistic, class T>
    static __device__ __forceinline__ void observe(
        const T* values, const flat_groups& groups, float* amax, float* amin, storage<Statistic>& shared)
    {
        const place at = place_of(groups);
        values_type numbers;
        load_values(
            values + at.element, at.valid, at.valid == items && is_aligned(values + at.element), numbers);
        Statistic known = observe_items<Statistic>(numbers);
        reduce_threads<static_cast<int>(lanes), threads>(known, shared);
        if (threadIdx.x % lanes == 0 && at.valid > 0) {
            amax[at.group] = float_of(known.amax_bits);
            constexpr bool has_amin = standard::is_same_v<Statistic, range_statistic>;
            if constexpr (has_amin) amin[at.group] = float_of(known.amin_bits);
        }
    }

private:
    // A thread's elements, [element, element + valid) of one group; valid <= items.
    struct place {
        index_t element;
        index_t group;
        int valid;
    };
    // A group's parameters as they lie in memory; zeros for a thread without elements.
    struct stored {
        scale_code_type scale;
        uint8_t exponent;
    };

    // Position and element are the same: no group ends early but the last.
    static GESSO_HOST_DEVICE bool is_direct(const flat_groups& groups)
    {
        return !Codec::has_scale
               || (padded_size == group_size
                   && (groups.row_length == 0 || groups.row_length % group_size == 0));
    }
    static __device__ __forceinline__ place place_of(const flat_groups& groups)
    {
        const index_t position =
            static_cast<index_t>(blockIdx.x) * elements + static_cast<index_t>(threadIdx.x) * items;
        place at{position, position / group_size, 0};
        index_t end = groups.count;
        if (!is_direct(groups)) {
            at.group = position / padded_size;
            const bool exists = at.group < groups.groups();
            at.element = exists ? groups.begin(at.group) + position % padded_size : 0;
            end = exists ? groups.end(at.group) : 0;
        }
        const index_t left = end - at.element;
        at.valid = static_cast<int>(left < 0 ? 0 : left < items ? left : items);
        return at;
    }

    // May load_items and store_items take `items` elements from here as vectors?
    template<class E>
    static __device__ __forceinline__ bool is_aligned(const E* from)
    {
        constexpr int words = words_of<E, items>;
        constexpr uint32_t bytes = words % 4 == 0 ? 16u : words == 2 ? 8u : 1u;
        return static_cast<uint32_t>(reinterpret_cast<uint64_t>(from)) % bytes == 0;
    }

    // Zeros stand where no element is: they take no part in any statistic.
    template<class T>
    static __device__ __forceinline__ void load_values(
        const T* from, int valid, bool is_whole, values_type& values)
    {
        packed_elements<T, items> loaded;
        if (is_whole) load_items<true>(from, items, loaded.words);
        else load_items<false>(from, valid, loaded.words);
        GESSO_UNROLL
        for (int i = 0; i < items; ++i) values[i] = loaded.get(i);
    }

    template<class View>
    static __device__ __forceinline__ stored stored_parameters(const View& view, const place& at)
    {
        stored with{};
        if (at.valid > 0) {
            if constexpr (Codec::has_scale) with.scale = view.scales[at.group];
            if constexpr (Codec::has_exponent) with.exponent = view.exponents[at.group];
        }
        return with;
    }

    // The statistic of a thread's values. In hardware math the values then are what packed_group's encode()
    // asks for: infinity is NaN, a denormal of an expanded group zero, and so is what an unsigned format
    // cannot hold.
    template<class Statistic>
    static __device__ __forceinline__ Statistic observe_items(values_type& values)
    {
        Statistic known;
        if constexpr (is_exact) {
            GESSO_UNROLL
            for (int i = 0; i < items; ++i) known.observe(values[i]);
        } else {
            constexpr bool needs_amin = standard::is_same_v<Statistic, range_statistic>;
            // An expanded group asks for the smallest in any case, to see whether there are denormals.
            quick_statistic<needs_amin || is_expanded, true> quick;
            GESSO_UNROLL
            for (int i = 0; i < items; ++i) quick.observe(values[i]);
            if (quick.amax_bits < 0x7F800000u && quick.amin_bits >= 0x00800000u) {
                if constexpr (needs_amin) known.amin_bits = quick.amin_bits;
                known.amax_bits = quick.amax_bits;
            } else {
                GESSO_UNROLL
                for (int i = 0; i < items; ++i) {
                    known.observe(values[i]);
                    const uint32_t bits = bits_of(values[i]);
                    const uint32_t magnitude = bits & 0x7FFFFFFFu;
                    if (magnitude >= 0x7F800000u) values[i] = float_of(0x7FFFFFFFu);
                    else if (is_expanded && magnitude < 0x00800000u) values[i] = float_of(bits & 0x80000000u);
                }
            }
            if constexpr (format::sign_bits == 0) {
                GESSO_UNROLL
                for (int i = 0; i < items; ++i) {
                    if (values[i] < 0.0f) values[i] = 0.0f;
                }
            }
        }
        return known;
    }

    // An expanded group's amax and exponent are numbers that elements above zero can have.
    static __device__ __forceinline__ bool is_usable(const stored& with)
    {
        const uint32_t amax_bits = bits_of(gesso::decode<typename Codec::scale_format>(with.scale));
        return amax_bits - 0x00800000u < 0x7F000000u && (!Codec::has_exponent || with.exponent != 0);
    }

    // The writer for parameters that were stored, and values that fit it: elements above amax saturate; where
    // the parameters are of other data, elements above zero become NaN.
    static __device__ __forceinline__ typename group::writer stored_writer(
        const stored& with, values_type& values)
    {
        if constexpr (is_exact) {
            return Codec::load(with.scale, with.exponent);
        } else if constexpr (!is_expanded) {
            return {Codec::load(with.scale)};
        } else {
            const bool usable = is_usable(with);
            statistic known;
            known.amax_bits = usable ? bits_of(gesso::decode<typename Codec::scale_format>(with.scale)) : 0u;
            typename group::writer result = group::fit(known, usable ? int{with.exponent} : 16);
            // Elements of this group may be smaller than those it was fitted to.
            result.reaches_subnormals = true;
            const float amax = float_of(result.amax_bits);
            const float instead = usable ? amax : float_of(0x7FFFFFFFu);
            GESSO_UNROLL
            for (int i = 0; i < items; ++i) {
                if (fabsf(values[i]) > amax) values[i] = copysignf(instead, values[i]);
            }
            return result;
        }
    }

    template<class Underflow, class Rounding>
    static __device__ __forceinline__ void encode_items(const values_type& values,
        const typename group::writer& with, const Rounding& rounding, typename Codec::code_type* codes_begin,
        index_t first, const place& at, bool is_whole)
    {
        codes_type codes;
        const bool regular = are_regular<format>(values);
        const index_t global = first + at.element;
        if constexpr (standard::is_same_v<Rounding, stochastic>) {
            // Neighbours share a hash, where they lie as the hash counts.
            if (shares_hash<items> && global % items == 0) {
                group::template encode<Rounding, Underflow>(
                    values, with, codes, bits_from<items>(rounding, global), 0u, regular);
            } else {
                group::template encode<Rounding, Underflow>(
                    values, with, codes, per_item_bits{rounding, global}, 0u, regular);
            }
        } else {
            group::template encode<Rounding, Underflow>(values, with, codes, no_bits{}, 0u, regular);
        }
        if (is_whole) store_items<true>(codes_begin + at.element, items, codes.words);
        else store_items<false>(codes_begin + at.element, at.valid, codes.words);
    }

    // Where hardware math's decoding differs from the codec's: parameters that no group is fitted to, and
    // what a scale that was rounded up lifts past fp32's numbers. Rare.
    static __device__ __forceinline__ void mend(
        const codes_type& codes, const stored& with, values_type& values)
    {
        using scale_format = typename Codec::scale_format;
        if constexpr (is_expanded) {
            const bool is_zero_group = magnitude_bits(gesso::decode<scale_format>(with.scale)) < 0x00800000u;
            if (is_zero_group || is_usable(with)) return;
            GESSO_UNROLL
            for (int i = 0; i < items; ++i) {
                const uint32_t code = codes.get(i);
                const uint32_t zero = (code & format::sign_mask) != 0 ? 0x80000000u : 0u;
                values[i] = float_of((code & format::magnitude_mask) == 0 ? zero : 0x7FFFFFFFu);
            }
        } else if constexpr (scale_format::bits != 32) {
            const float largest = multiply((format::max)(), gesso::decode<scale_format>(with.scale));
            if (!format::has_infinity && is_finite(largest)) return;
            GESSO_UNROLL
            for (int i = 0; i < items; ++i) {
                if (magnitude_bits(values[i]) == 0x7F800000u) values[i] = float_of(bits_of(values[i]) - 1u);
            }
        }
    }
};

}  // namespace detail

}  // namespace gesso
