// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The warp level: 2^n lanes share a group that lives in their registers. No storage; every function is for all 32 lanes of
// a converged warp, and results are valid in every lane.
#pragma once

#include <gesso/level/hardware_group.cuh>

namespace gesso {

namespace detail {

// The statistic of Lanes neighbouring lanes, in each of them. Maximum and minimum: the order changes nothing.
template<int Lanes>
__device__ __forceinline__ void reduce_lanes(amax_statistic& known)
{
    GESSO_UNROLL
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, known.amax_bits, distance);
        known.amax_bits = other > known.amax_bits ? other : known.amax_bits;
    }
}
template<int Lanes>
__device__ __forceinline__ void reduce_lanes(range_statistic& known)
{
    GESSO_UNROLL
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        const uint32_t amax = __shfl_xor_sync(0xFFFFFFFFu, known.amax_bits, distance);
        const uint32_t amin = __shfl_xor_sync(0xFFFFFFFFu, known.amin_bits, distance);
        known.amax_bits = amax > known.amax_bits ? amax : known.amax_bits;
        known.amin_bits = amin < known.amin_bits ? amin : known.amin_bits;
    }
}

// The smallest power of two that is not below `size`.
constexpr GESSO_HOST_DEVICE index_t padded(index_t size)
{
    index_t result = 1;
    while (result < size) result *= 2;
    return result;
}

// What the warp and the block level share: all of a group's work on the items of one thread but the statistic of several.
// Documented here, called as members of gesso::warp_codec and gesso::block_codec. No barrier.
template<class Codec, int ItemsPerThread, class Math>
struct register_codec {
    using codec_type = Codec;
    using statistic = typename Codec::statistic;
    using group = packed_group<Codec, Math>;
    using reader = typename group::reader;  // parameters for decoding
    using writer = typename group::writer;  // parameters for encoding
    using codes = packed_codes<typename Codec::format, ItemsPerThread>;
    using values_type = item_values<ItemsPerThread>;

    // Stage two: what encode() needs, and the bytes of it that are stored once a group.
    static __device__ __forceinline__ writer fit(const statistic& known)
    {
        return group::fit(known, group::numerator_of(known));
    }
    static __device__ __forceinline__ typename Codec::scale_code_type scale_code(const writer& with)
    {
        return group::scale_code(with);
    }
    static __device__ __forceinline__ uint8_t exponent_code(const writer& with) { return group::exponent_code(with); }

    // values to codes; they are of the group that `with` was fitted to. rounding: nearest_even, or stochastic{seed, step} with
    // the index of values[0] in the whole tensor, a multiple of ItemsPerThread (of anything, where that is no power of two up
    // to 16). In hardware math a denormal counts as zero and an infinity must have been made NaN.
    template<class Rounding = nearest_even, class Underflow = gradual>
    static __device__ __forceinline__ codes encode(const values_type& values, const writer& with,
        const Rounding& rounding = {}, Underflow = {}, index_t first_element = 0)
    {
        codes result;
        group::template encode<Rounding, Underflow>(values, with, result,
            bits_from<ItemsPerThread>(rounding, first_element), 0u, are_regular<typename Codec::format>(values));
        return result;
    }

    // Stored bytes of the group to parameters, and codes to values.
    static __device__ __forceinline__ reader load(typename Codec::scale_code_type scale, uint8_t exponent = 0)
    {
        return group::load(scale, exponent);
    }
    static __device__ __forceinline__ void decode(const codes& from, const reader& with, values_type& values)
    {
        group::decode(from, with, values);
    }

protected:
    // The statistic of this thread's items alone.
    static __device__ __forceinline__ statistic observe_own(const values_type& values, int valid)
    {
        statistic known;
        GESSO_UNROLL
        for (int i = 0; i < ItemsPerThread; ++i) {
            if (i < valid) known.observe(values[i]);
        }
        return known;
    }
};

}  // namespace detail

// The codec's verbs for a group of Codec::granularity::group_size elements in the registers of `lanes` neighbouring lanes,
// ItemsPerThread contiguous elements each: lane l of a group holds elements l * ItemsPerThread and on. A warp holds
// 32 / lanes groups side by side. Codes are packed_codes; `exact_math` gives the host's bytes, `hardware_math` is fast.
// All 32 lanes must call; lanes without elements (a ragged last group, no group at all) pass `valid` = 0 or what they have.
// Storage: none. Barrier: the shuffles of observe() converge the warp. Snippet: examples/05_write_a_kernel.cu
template<class Codec, int ItemsPerThread, class Math = hardware_math>
struct warp_codec : detail::register_codec<Codec, ItemsPerThread, Math> {
    static constexpr index_t group_size = Codec::granularity::group_size;
    static constexpr int lanes = static_cast<int>(detail::padded(detail::parts(group_size, ItemsPerThread)));
    static_assert(lanes <= 32, "gesso::warp_codec: the group is larger than a warp's registers; raise ItemsPerThread "
                               "or use gesso::block_codec");

    using base = detail::register_codec<Codec, ItemsPerThread, Math>;
    using typename base::codes;
    using typename base::statistic;
    using typename base::values_type;
    using typename base::writer;

    // Stage one: the group's statistic, in every lane of the group. Values may be anything.
    static __device__ __forceinline__ statistic observe(const values_type& values, int valid = ItemsPerThread)
    {
        statistic known = base::observe_own(values, valid);
        detail::reduce_lanes<lanes>(known);
        return known;
    }

    // Observe, fit and encode in a row; `with` receives the parameters to store.
    template<class Rounding = nearest_even, class Underflow = gradual>
    static __device__ __forceinline__ codes compress(const values_type& values, writer& with,
        const Rounding& rounding = {}, Underflow underflow = {}, index_t first_element = 0, int valid = ItemsPerThread)
    {
        with = base::fit(observe(values, valid));
        return base::encode(values, with, rounding, underflow, first_element);
    }
};

}  // namespace gesso
