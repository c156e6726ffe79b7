// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The codes of one thread, packed in registers, and a codec's arithmetic on them in either math mode. This is where the
// device's instructions are; the warp, block and device levels and the optimizers are made of it.
#pragma once

#include <gesso/layout.hpp>

namespace gesso {

namespace detail {

// Items numbers of one thread. (The bound is unsigned, or compilers warn of its sign.)
template<int Items>
using item_values = float[static_cast<unsigned>(Items)];

}  // namespace detail

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
    // The same for 8-bit codes by one byte permutation; a code that is not to be used may have more bits.
    __device__ __forceinline__ void append(int item, uint32_t code)
    {
        uint32_t& word = words[item / 4];
        word = item % 4 == 0 ? code : __byte_perm(word, code, item % 4 == 1 ? 0x7740 : item % 4 == 2 ? 0x7410 : 0x4210);
    }
    // The same where the code is in the top byte of a word.
    __device__ __forceinline__ void append_top(int item, uint32_t code)
    {
        uint32_t& word = words[item / 4];
        if (item % 4 == 0) word = code >> 24;
        else word = __byte_perm(word, code, item % 4 == 1 ? 0x7770 : item % 4 == 2 ? 0x7710 : 0x7210);
    }
    // Replaces one 8-bit code that was set before.
    __device__ __forceinline__ void replace(int item, uint32_t code)
    {
        uint32_t& word = words[item / 4];
        word = (word & ~(0xFFu << (8 * (item % 4)))) | (code << (8 * (item % 4)));
    }
};

namespace detail {

// What one thread's items add to a statistic, by the fewest instructions: float maximum and minimum of magnitudes, which
// skip NaN; or, for values that are never negative (Signed false), unsigned ones of bits, of which one instruction takes
// two. Preconditions: no denormals. Zeros and infinities are not skipped: where has_infinity() the values must be observed
// again, one by one, and where has_zero() skip_zeros() must be called.
template<bool NeedsAmin, bool Signed>
struct quick_statistic {
    uint32_t amax_bits = 0;
    uint32_t amin_bits = 0x7F800000u;

    __device__ __forceinline__ void observe(float value)
    {
        if constexpr (Signed) {
            amax_bits = bits_of(fmaxf(float_of(amax_bits), fabsf(value)));
            if constexpr (NeedsAmin) amin_bits = bits_of(fminf(float_of(amin_bits), fabsf(value)));
        } else {
            const uint32_t bits = bits_of(value);
            amax_bits = bits > amax_bits ? bits : amax_bits;
            if constexpr (NeedsAmin) amin_bits = bits < amin_bits ? bits : amin_bits;
        }
    }
    __device__ __forceinline__ bool has_infinity() const { return amax_bits >= 0x7F800000u; }
    __device__ __forceinline__ bool has_zero() const { return NeedsAmin && amin_bits == 0; }
    // The smallest magnitude again, of the same values and zeros among them skipped.
    template<unsigned Items>
    __device__ __forceinline__ void skip_zeros(const float (&values)[Items])
    {
        uint32_t below = 0x7F800000u - 1u;  // one less than the smallest: zero becomes the largest
        GESSO_UNROLL
        for (unsigned i = 0; i < Items; ++i) {
            const uint32_t bits = (Signed ? magnitude_bits(values[i]) : bits_of(values[i])) - 1u;
            below = bits < below ? bits : below;
        }
        amin_bits = below + 1u;
    }
    __device__ __forceinline__ auto known() const
    {
        if constexpr (NeedsAmin) return range_statistic{amax_bits, amin_bits};
        else return amax_statistic{amax_bits};
    }
};

// item -> its random bits, for elements that share a hash: a product each.
struct shared_hash_bits {
    uint32_t hash;
    uint32_t first_factor;

    __device__ __forceinline__ stochastic_bits operator()(int item) const
    {
        return {hash * (first_factor + static_cast<uint32_t>(item) * stochastic::factor_step)};
    }
};
// The same for elements from `first` on, wherever that is.
struct per_item_bits {
    stochastic source;
    index_t first;

    __device__ __forceinline__ stochastic_bits operator()(int item) const { return source.at(first + item); }
};
struct no_bits {
    __device__ __forceinline__ stochastic_bits operator()(int) const { return {0u}; }
};
// Do Items items that begin at a multiple of their number share a hash?
template<int Items>
constexpr bool shares_hash = Items <= stochastic::block_elements && (Items & (Items - 1)) == 0;
// The random bits of a thread's items, the first of which is element `first`: a multiple of Items where they share a hash.
template<int Items>
__device__ __forceinline__ no_bits bits_from(const nearest_even&, index_t)
{
    return {};
}
template<int Items>
__device__ __forceinline__ auto bits_from(const stochastic& source, index_t first)
{
    if constexpr (shares_hash<Items>) {
        const uint32_t hash = source.hash_of_block(static_cast<uint64_t>(first / stochastic::block_elements));
        // All of a block's elements: its factors are constants.
        if constexpr (Items == stochastic::block_elements) return shared_hash_bits{hash, stochastic::first_factor};
        const uint32_t within = static_cast<uint32_t>(first) % static_cast<uint32_t>(stochastic::block_elements);
        return shared_hash_bits{hash, stochastic::first_factor + stochastic::factor_step * within};
    } else {
        return per_item_bits{source, first};
    }
}

// Are all values numbers that have a code in the normal range of Format's groups: finite, not zero, and not below zero where
// it has no sign?
template<class Format, unsigned Items>
__device__ __forceinline__ bool are_regular(const float (&values)[Items])
{
    float smallest = 1.0f;
    float largest = 1.0f;
    GESSO_UNROLL
    for (unsigned i = 0; i < Items; ++i) {
        const float magnitude = fabsf(values[i]);
        smallest = fminf(smallest, Format::sign_bits == 0 ? values[i] : magnitude);
        largest = values[i] == values[i] ? fmaxf(largest, magnitude) : float_of(0x7F800000u);
    }
    return smallest > 0.0f && largest < float_of(0x7F800000u);
}

// A codec's arithmetic on the packed codes of one thread. Exact math here; hardware math in level/hardware_group.cuh.
//   load    stored bytes of a group -> reader        fit   statistic (and numerator_of it) -> writer
//   decode  codes, reader -> values                  encode  values, writer, random bits -> codes
//   decode_some  a part of them, by the way that are_special() asks for
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
    static __device__ __forceinline__ writer fit(const typename Codec::statistic& known, int)
    {
        return Codec::fit(known);
    }
    static __device__ __forceinline__ typename Codec::scale_code_type scale_code(const writer& with)
    {
        return Codec::scale_code(with);
    }
    static __device__ __forceinline__ uint8_t exponent_code(const writer& with) { return Codec::exponent_code(with); }

    template<int Items>
    static __device__ __forceinline__ bool are_special(const packed_codes<format, Items>&)
    {
        return false;
    }
    template<bool Signed, bool Any, int Count, int Items>
    static __device__ __forceinline__ void decode_some(
        const packed_codes<format, Items>& codes, int begin, const reader& with, item_values<Items>& values)
    {
        GESSO_UNROLL
        for (int i = begin; i < begin + Count; ++i) {
            const float value = Codec::decode(codes.get(i), with);
            values[i] = Signed ? value : float_of(magnitude_bits(value));
        }
    }
    template<bool Signed = true, int Items>
    static __device__ __forceinline__ void decode(
        const packed_codes<format, Items>& codes, const reader& with, item_values<Items>& values)
    {
        decode_some<Signed, true, Items>(codes, 0, with, values);
    }
    template<class Rounding, class Underflow, bool Signed = true, int Items, class Random>
    static __device__ __forceinline__ void encode(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, Random random, uint32_t settles = 0, bool = false)
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if ((settles >> i & 1u) != 0) {
                codes.set(i, Codec::encode(values[i], with, toward_zero{}, Underflow{}));
            } else if constexpr (standard::is_same_v<Rounding, stochastic>) {
                codes.set(i, Codec::encode(values[i], with, random(i), Underflow{}));
            } else {
                codes.set(i, Codec::encode(values[i], with, nearest_even{}, Underflow{}));
            }
        }
    }
};

}  // namespace detail

}  // namespace gesso
