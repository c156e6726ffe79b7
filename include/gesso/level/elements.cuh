// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The elements of one thread between memory and registers: vectors of up to 16 bytes where they are whole and aligned, one
// by one where they are not.
#pragma once

#include <gesso/encoding/element.hpp>
#include <gesso/encoding/hardware.cuh>

namespace gesso {

namespace detail {

// Words of Bytes bytes in all.
template<class T, int Items>
constexpr int words_of = (Items * static_cast<int>(sizeof(T)) + 3) / 4;

// Items of T from `from`: all of them in the widest vectors, or the first `valid` one by one and zeros after them.
template<bool Whole, class T, unsigned Words>
__device__ __forceinline__ void load_items(const T* from, int valid, uint32_t (&words)[Words])
{
    constexpr int size = static_cast<int>(sizeof(T));
    if constexpr (Whole && Words % 4 == 0) {
        GESSO_UNROLL
        for (unsigned i = 0; i < Words; i += 4) {
            const uint4 loaded = reinterpret_cast<const uint4*>(from)[i / 4];
            words[i] = loaded.x;
            words[i + 1] = loaded.y;
            words[i + 2] = loaded.z;
            words[i + 3] = loaded.w;
        }
    } else if constexpr (Whole && Words == 2) {
        const uint2 loaded = *reinterpret_cast<const uint2*>(from);
        words[0] = loaded.x;
        words[1] = loaded.y;
    } else if constexpr (size == 4) {
        GESSO_UNROLL
        for (unsigned i = 0; i < Words; ++i) {
            words[i] = static_cast<int>(i) < valid ? __builtin_bit_cast(uint32_t, from[i]) : 0u;
        }
    } else {
        using code_type = standard::conditional_t<size == 2, uint16_t, uint8_t>;
        constexpr int per_word = 4 / size;
        GESSO_UNROLL
        for (unsigned i = 0; i < Words; ++i) {
            words[i] = 0u;
            GESSO_UNROLL
            for (int j = 0; j < per_word; ++j) {
                const int item = static_cast<int>(i) * per_word + j;
                if (item < valid) words[i] |= uint32_t{__builtin_bit_cast(code_type, from[item])} << (8 * size * j);
            }
        }
    }
}

template<bool Whole, class T, unsigned Words>
__device__ __forceinline__ void store_items(T* to, int valid, const uint32_t (&words)[Words])
{
    constexpr int size = static_cast<int>(sizeof(T));
    if constexpr (Whole && Words % 4 == 0) {
        GESSO_UNROLL
        for (unsigned i = 0; i < Words; i += 4) {
            reinterpret_cast<uint4*>(to)[i / 4] = make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
        }
    } else if constexpr (Whole && Words == 2) {
        *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    } else if constexpr (size == 4) {
        GESSO_UNROLL
        for (unsigned i = 0; i < Words; ++i) {
            if (static_cast<int>(i) < valid) to[i] = __builtin_bit_cast(T, words[i]);
        }
    } else {
        using code_type = standard::conditional_t<size == 2, uint16_t, uint8_t>;
        constexpr int per_word = 4 / size;
        GESSO_UNROLL
        for (unsigned i = 0; i < Words; ++i) {
            GESSO_UNROLL
            for (int j = 0; j < per_word; ++j) {
                const int item = static_cast<int>(i) * per_word + j;
                if (item < valid) to[item] = __builtin_bit_cast(T, static_cast<code_type>(words[i] >> (8 * size * j)));
            }
        }
    }
}

// Items numbers of element type T in registers.
template<class T, int Items>
struct packed_elements {
    using format = typename element<T>::format;
    static_assert(format::bits == 16 || format::bits == 32, "gesso: elements of kernels have 16 or 32 bits");
    static_assert(Items % 2 == 0 || format::bits == 32, "gesso: 16-bit elements come in pairs");
    uint32_t words[static_cast<unsigned>(words_of<T, Items>)];

    __device__ __forceinline__ float get(int item) const
    {
        if constexpr (format::bits == 32) {
            return float_of(words[item]);
        } else if constexpr (standard::is_same_v<format, bfloat16>) {
            return float_of(item % 2 == 0 ? words[item / 2] << 16 : words[item / 2] & 0xFFFF0000u);
        } else if constexpr (standard::is_same_v<format, float16>) {
            return decode_fp16(item % 2 == 0 ? words[item / 2] & 0xFFFFu : words[item / 2] >> 16);
        } else {
            const uint32_t code = item % 2 == 0 ? words[item / 2] & 0xFFFFu : words[item / 2] >> 16;
            return decode<format>(static_cast<typename format::code_type>(code));
        }
    }
    // Two neighbours, the first of them even, to nearest.
    __device__ __forceinline__ void set_pair(int item, float low, float high)
    {
        if constexpr (format::bits == 32) {
            words[item] = bits_of(low);
            words[item + 1] = bits_of(high);
        } else if constexpr (standard::is_same_v<format, bfloat16>) {
            words[item / 2] = encode_bf16_pair(low, high);
        } else if constexpr (standard::is_same_v<format, float16>) {
            words[item / 2] = encode_fp16_pair(low, high);
        } else {
            words[item / 2] = code(low, nearest_even{}) | (code(high, nearest_even{}) << 16);
        }
    }
    // The same stochastically.
    __device__ __forceinline__ void set_pair(
        int item, float low, float high, stochastic_bits low_bits, stochastic_bits high_bits)
    {
        if constexpr (format::bits == 32) set_pair(item, low, high);
        else words[item / 2] = code(low, low_bits) | (code(high, high_bits) << 16);
    }

private:
    template<class Rounding>
    static __device__ __forceinline__ uint32_t code(float value, Rounding rounding)
    {
        return encode<format>(value, rounding, gradual{}, nonsaturating{});
    }
};

}  // namespace detail

}  // namespace gesso
