// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The codes of one thread, packed in registers, and a codec's arithmetic on them in either math mode. This is where the
// device's instructions are; the warp, block and device levels and the optimizers are made of it.
#pragma once

#include <gesso/layout.hpp>

namespace gesso {

// Items codes of Format in 32-bit words, the first in the lowest bits. All indices must be known when loops are unrolled.
template<class Format, int Items>
struct packed_codes {
    static_assert(Format::bits == 8 || Format::bits == 16 || Format::bits == 32,
        "gesso::packed_codes: codes of 8, 16 or 32 bits; narrower formats are for the host level");
    static constexpr int per_word = 32 / Format::bits;
    static constexpr int word_count = (Items + per_word - 1) / per_word;
    uint32_t words[static_cast<unsigned>(word_count)];

    __device__ __forceinline__ typename Format::code_type get(int item) const
    {
        return static_cast<typename Format::code_type>(words[item / per_word] >> (item % per_word * Format::bits));
    }
    // Codes are set in order: the first of a word clears it.
    __device__ __forceinline__ void set(int item, typename Format::code_type code)
    {
        const uint32_t shifted = uint32_t{code} << (item % per_word * Format::bits);
        words[item / per_word] = item % per_word == 0 ? shifted : words[item / per_word] | shifted;
    }
};

namespace detail {

// What one thread's items add to a statistic, kept in the form that takes the fewest instructions: amax by the float
// maximum, which skips NaN; amin by the unsigned minimum of 2 * bits - 1, which drops the sign and puts zero last.
// Preconditions: no denormals. An infinity shows as amax = infinity: the caller must look for it.
template<bool NeedsAmin>
struct quick_statistic {
    float amax = 0.0f;
    uint32_t doubled_amin = 0xFFFFFFFFu;

    __device__ __forceinline__ void observe(float value)
    {
        amax = fmaxf(amax, fabsf(value));
        if constexpr (NeedsAmin) {
            const uint32_t doubled = 2u * bits_of(value) - 1u;
            doubled_amin = doubled < doubled_amin ? doubled : doubled_amin;
        }
    }
};
template<bool NeedsAmin>
using statistic_for = standard::conditional_t<NeedsAmin, range_statistic, amax_statistic>;

__device__ __forceinline__ range_statistic known(const quick_statistic<true>& quick)
{
    return {bits_of(quick.amax), quick.doubled_amin == 0xFFFFFFFFu ? 0x7F800000u : (quick.doubled_amin >> 1) + 1u};
}
__device__ __forceinline__ amax_statistic known(const quick_statistic<false>& quick) { return {bits_of(quick.amax)}; }

// item -> its random bits, for Items elements from `first` on (a multiple of 4, or Items is below 4): one hash for four.
template<int Items>
struct item_hashes {
    uint32_t hashes[(Items + 3) / 4];

    __device__ __forceinline__ stochastic_bits operator()(int item) const
    {
        return stochastic::draw(hashes[item / 4], static_cast<uint32_t>(item % 4));
    }
};
struct no_bits {
    __device__ __forceinline__ stochastic_bits operator()(int) const { return {0u}; }
};
template<int Items>
__device__ __forceinline__ item_hashes<Items> item_bits(const stochastic& source, index_t first)
{
    item_hashes<Items> result;
    GESSO_UNROLL
    for (int i = 0; i < (Items + 3) / 4; ++i) {
        result.hashes[i] = source.hash_of_block((static_cast<uint64_t>(first) >> 2) + static_cast<uint64_t>(i));
    }
    return result;
}
template<int Items, class Rounding>
__device__ __forceinline__ no_bits item_bits(const Rounding&, index_t)
{
    return {};
}

// A codec's arithmetic on the packed codes of one thread. Exact math here; hardware math in level/hardware_group.cuh.
//   load    stored bytes of a group -> reader        fit   statistic (and numerator_of it) -> writer
//   decode  codes, reader -> values                  encode  values, writer, random bits -> codes
template<class Codec, class Math>
struct packed_group;

// Exact arithmetic: the codec's own functions, element by element.
template<class Codec>
struct packed_group<Codec, exact_math> {
    using format = typename Codec::format;
    using reader = typename Codec::parameters;
    using writer = typename Codec::parameters;

    static __device__ __forceinline__ reader load(typename Codec::scale_code_type scale, uint8_t exponent)
    {
        return Codec::load(scale, exponent);
    }
    static __device__ __forceinline__ int numerator_of(const typename Codec::statistic&) { return 0; }
    static __device__ __forceinline__ writer fit(const typename Codec::statistic& known, int) { return Codec::fit(known); }
    static __device__ __forceinline__ typename Codec::scale_code_type scale_code(const writer& with)
    {
        return Codec::scale_code(with);
    }
    static __device__ __forceinline__ uint8_t exponent_code(const writer& with) { return Codec::exponent_code(with); }

    template<int Items>
    static __device__ __forceinline__ void decode(
        const packed_codes<format, Items>& codes, const reader& with, float (&values)[Items])
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) values[i] = Codec::decode(codes.get(i), with);
    }
    template<class Rounding, class Underflow, int Items, class Random>
    static __device__ __forceinline__ void encode(
        const float (&values)[Items], const writer& with, packed_codes<format, Items>& codes, Random random)
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if constexpr (standard::is_same_v<Rounding, stochastic>) {
                codes.set(i, Codec::encode(values[i], with, random(i), Underflow{}));
            } else {
                codes.set(i, Codec::encode(values[i], with, nearest_even{}, Underflow{}));
            }
        }
    }
};

}  // namespace detail

}  // namespace gesso
