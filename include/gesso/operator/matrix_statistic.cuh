// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the kernels on matrices share: where a thread's elements lie, their largest magnitude under a NaN policy, and a plain
// group's parameters and codes, byte for byte the host's.
#pragma once

#include <gesso/level/block.cuh>
#include <gesso/level/elements.cuh>
#include <gesso/operator/quantize.hpp>

namespace gesso {

namespace detail {

constexpr uint32_t infinity_bits = 0x7F800000u;

// The larger magnitude of two, of two pairs for 16-bit formats; NaN where one is NaN. Signs are not to be used.
__device__ __forceinline__ uint32_t larger_magnitude_fp32(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(fabsf(float_of(a))), "f"(fabsf(float_of(b))));
    return bits_of(result);
#else
    a &= 0x7FFFFFFFu;
    b &= 0x7FFFFFFFu;
    return a > b ? a : b;
#endif
}
template<class Format>
__device__ __forceinline__ uint32_t larger_magnitudes(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
    // One instruction, whose result has the exclusive or of the signs.
    uint32_t result;
    if constexpr (standard::is_same_v<Format, bfloat16>) {
        asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    } else {
        asm("max.NaN.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    }
    return result;
#else
    // The bits of magnitudes are ordered as they are, NaN above all.
    const uint32_t low = (a & 0x7FFFu) > (b & 0x7FFFu) ? a & 0x7FFFu : b & 0x7FFFu;
    const uint32_t high = (a & 0x7FFF0000u) > (b & 0x7FFF0000u) ? a & 0x7FFF0000u : b & 0x7FFF0000u;
    return high | low;
#endif
}

// The largest magnitude of Count elements from `begin`, as the bits of an fp32 number: at least infinity_bits where one of
// them is NaN or infinite.
template<int Count, class T, int Items>
__device__ __forceinline__ uint32_t largest_magnitude(const packed_elements<T, Items>& elements, int begin)
{
    using format = typename element<T>::format;
    constexpr bool is_pair =
        Count % 2 == 0 && (standard::is_same_v<format, bfloat16> || standard::is_same_v<format, float16>);
    if constexpr (is_pair) {
        uint32_t largest = elements.words[begin / 2];
        GESSO_UNROLL
        for (int i = 1; i < Count / 2; ++i) {
            largest = larger_magnitudes<format>(largest, elements.words[begin / 2 + i]);
        }
        packed_elements<T, 2> both;
        both.words[0] = largest;
        return larger_magnitude_fp32(bits_of(both.get(0)), bits_of(both.get(1)));
    } else {
        uint32_t largest = magnitude_bits(elements.get(begin));
        GESSO_UNROLL
        for (int i = 1; i < Count; ++i) largest = larger_magnitude_fp32(largest, bits_of(elements.get(begin + i)));
        return largest;
    }
}

// The same as a statistic under a NaN policy, which is asked only where there is a NaN or an infinity; `is_special` becomes
// true there. A policy may be any with observe(statistic, value) that treats finite values as the statistic does.
template<int Count, class T, int Items, class NanPolicy>
__device__ __forceinline__ amax_statistic observe_packed(
    const packed_elements<T, Items>& elements, int begin, const NanPolicy& nan, bool& is_special)
{
    amax_statistic known{largest_magnitude<Count>(elements, begin)};
    if (known.amax_bits >= infinity_bits) {
        is_special = true;
        known.amax_bits = 0;
        GESSO_UNROLL
        for (int i = 0; i < Count; ++i) nan.observe(known, elements.get(begin + i));
    }
    return known;
}

// A policy for amax that stage one left: they are no numbers below zero, and what is none counts as NaN.
struct stored_amax {};
template<int Count, class T, int Items>
__device__ __forceinline__ amax_statistic observe_packed(
    const packed_elements<T, Items>& elements, int begin, const stored_amax&, bool&)
{
    amax_statistic known;
    GESSO_UNROLL
    for (int i = 0; i < Count; ++i) known.merge(amax_statistic{bits_of(elements.get(begin + i))});
    return known;
}

// The largest of a block's words, in every thread; NaN has the largest bits. One barrier before and one after `shared`
// (Threads / 32 words) is used, so that it can be used again.
template<int Threads>
__device__ __forceinline__ uint32_t largest_of_block(uint32_t bits, uint32_t* shared)
{
    amax_statistic known{bits};
    reduce_lanes<32>(known);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = known.amax_bits;
    __syncthreads();
    constexpr int warps = Threads / 32;
    amax_statistic all;
    GESSO_UNROLL
    for (int i = 0; i < warps; ++i) all.merge(amax_statistic{shared[i]});
    __syncthreads();
    return all.amax_bits;
}

// What a scale that was rounded up lifts past fp32's numbers is the largest number, as Codec::decode() has it.
template<class Codec, int Items>
__device__ __forceinline__ void keep_finite(float scale, item_values<Items>& values)
{
    using format = typename Codec::format;
    if constexpr (Codec::scale_format::bits != 32) {
        if (!format::has_infinity && is_finite(multiply((format::max)(), scale))) return;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (magnitude_bits(values[i]) == infinity_bits) values[i] = float_of(bits_of(values[i]) - 1u);
        }
    }
}

// A plain group's arithmetic on the registers of a thread: exact, with the host's bytes.
template<class Codec>
struct matrix_group {
    static_assert(standard::is_same_v<typename Codec::expansion, identity>,
        "gesso::quantize: matrices on the device are of plain codecs; use expansion `identity`, or the host level");
    using format = typename Codec::format;
    using scale_format = typename Codec::scale_format;
    using scale_code_type = typename Codec::scale_code_type;
    // Hardware math of a plain group is exact; without a scale there is nothing to multiply.
    using group = packed_group<Codec, standard::conditional_t<Codec::has_scale, hardware_math, exact_math>>;
    using writer = typename group::writer;

    static constexpr bool is_power_of_two = Codec::has_scale && !scale_format::has_zero;  // E8M0
    // (A format of numbers below 2 could lift a scale past the largest number.)
    static constexpr bool is_bf16 =
        Codec::has_scale && standard::is_same_v<scale_format, bfloat16> && (format::max)() >= 2.0f;

    // Codec::fit() by few instructions; the same bits.
    static __device__ __forceinline__ writer fit(const amax_statistic& known)
    {
        if constexpr (!is_power_of_two && !is_bf16) {
            return group::fit(known, 0);
        } else {
            constexpr uint32_t floor_bits = Codec::group::floor_bits;
            const uint32_t amax_bits = known.amax_bits < floor_bits ? floor_bits : known.amax_bits;
            if constexpr (is_power_of_two) {
                return stored(static_cast<scale_code_type>(power_of_two_scale<format>(amax_bits)));
            } else {
                // Upward: a scale is a normal number above zero.
                const uint32_t scale = bits_of(divide_by_max<format>(float_of(amax_bits)));
                const uint32_t code = known.is_nan() ? uint32_t{bfloat16::nan_code} : (scale + 0xFFFFu) >> 16;
                if constexpr ((format::max)() < 8.0f) {
                    return stored(static_cast<scale_code_type>(code));
                } else {
                    // Neither it nor its reciprocal is denormal, so that nothing has to be asked.
                    writer result;
                    result.with.scale = float_of(code << 16);
                    result.with.encode_factor = reciprocal_of_normal(result.with.scale);
                    return result;
                }
            }
        }
    }
    // Codec::load() without its division; the same bits.
    static __device__ __forceinline__ writer stored(scale_code_type code)
    {
        if constexpr (!Codec::has_scale) {
            return {};
        } else {
            writer result;
            const float scale = number_of(code);
            if (bits_of(scale) - 0x00400000u < infinity_bits - 0x00400000u) {
                result.with.scale = scale;
                result.with.encode_factor = reciprocal_of(scale);
            } else {
                result.with.scale = bits_of(scale) << 1 == 0 ? 0.0f : float_of(0x7FFFFFFFu);
                result.with.encode_factor = float_of(0x7FFFFFFFu);
            }
            return result;
        }
    }
    static __device__ __forceinline__ float number_of(scale_code_type code)
    {
        if constexpr (standard::is_same_v<scale_format, bfloat16>) return float_of(uint32_t{code} << 16);
        else return gesso::decode<scale_format>(code);
    }
    // A scale is one that was stored or fitted: the upper bits of an fp32 number, NaN included.
    static __device__ __forceinline__ scale_code_type scale_code(const writer& with)
    {
        if constexpr (is_power_of_two) return static_cast<scale_code_type>(bits_of(with.with.scale) >> 23);
        else if constexpr (is_bf16) return static_cast<scale_code_type>(bits_of(with.with.scale) >> 16);
        else return group::scale_code(with);
    }

    // Elements [begin, begin + Count) to codes. `index` is that of the first of them in the matrix, for stochastic rounding.
    // is_special: there may be infinities, which become NaN.
    template<int Count, class T, int Items, class Rounding>
    static __device__ __forceinline__ packed_codes<format, Count> encode(const packed_elements<T, Items>& elements,
        int begin, const writer& with, const Rounding& rounding, index_t index, bool is_special)
    {
        static_assert(standard::is_same_v<Rounding, nearest_even> || standard::is_same_v<Rounding, stochastic>,
            "gesso::quantize: on the device values are rounded by nearest_even or stochastic{seed, step}; other "
            "roundings are "
            "for the host level");
        item_values<Count> values;
        GESSO_UNROLL
        for (int i = 0; i < Count; ++i) values[i] = elements.get(begin + i);
        if (is_special) {
            GESSO_UNROLL
            for (int i = 0; i < Count; ++i) {
                if (magnitude_bits(values[i]) >= infinity_bits) values[i] = float_of(0x7FFFFFFFu);
            }
        }
        packed_codes<format, Count> codes;
        if constexpr (standard::is_same_v<Rounding, stochastic>) {
            // Neighbours share a hash, where they lie as the hash counts.
            if (index % Count == 0) {
                group::template encode<Rounding, gradual>(values, with, codes, bits_from<Count>(rounding, index));
            } else {
                group::template encode<Rounding, gradual>(values, with, codes, per_item_bits{rounding, index});
            }
        } else {
            group::template encode<Rounding, gradual>(values, with, codes, no_bits{});
        }
        return codes;
    }
};

// A thread's Items elements between memory and registers: in vectors where all of them are there and the address allows it
// (16 bytes, or all of them where they are fewer), else the first `valid`, with zeros after them in registers.
template<int Items, class E>
__device__ __forceinline__ bool is_vector(const E* from)
{
    constexpr int words = words_of<E, Items>;
    constexpr uint32_t bytes = words % 4 == 0 ? 16u : words <= 2 ? 4u * words : 1u;
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(from)) % bytes == 0;
}
template<int Items, class E, unsigned Words>
__device__ __forceinline__ void load_some(const E* from, int valid, uint32_t (&words)[Words])
{
    if (valid == Items && is_vector<Items>(from)) {
        if constexpr (Words == 1 && Items * sizeof(E) == 4) words[0] = *reinterpret_cast<const uint32_t*>(from);
        else load_items<true>(from, Items, words);
    } else {
        load_items<false>(from, valid, words);
    }
}
template<int Items, class E, unsigned Words>
__device__ __forceinline__ void store_some(E* to, int valid, const uint32_t (&words)[Words])
{
    if (valid == Items && is_vector<Items>(to)) {
        if constexpr (Words == 1 && Items * sizeof(E) == 4) *reinterpret_cast<uint32_t*>(to) = words[0];
        else store_items<true>(to, Items, words);
    } else {
        store_items<false>(to, valid, words);
    }
}

// position / length and the rest, in 32 bits where they suffice.
struct divided {
    index_t quotient;
    index_t rest;
};
__device__ __forceinline__ divided divide_position(index_t position, index_t length)
{
    if (((position | length) >> 32) == 0) {
        const uint32_t narrow = static_cast<uint32_t>(position);
        const uint32_t quotient = narrow / static_cast<uint32_t>(length);
        return {index_t{quotient}, index_t{narrow - quotient * static_cast<uint32_t>(length)}};
    }
    const index_t quotient = position / length;
    return {quotient, position - quotient * length};
}

// A tile's height or width as a divisor of constants, also where it is 0 and stands for the whole extent.
constexpr GESSO_HOST_DEVICE index_t tile_divisor(index_t size) { return size == 0 ? 1 : size; }

// The tile of a row or a column.
template<index_t Size>
__device__ __forceinline__ index_t tile_of(index_t position)
{
    return Size == 0 ? 0 : position / tile_divisor(Size);
}

// From where a quantizer has the parameters of a tile.
//   tile    from its elements, which a block holds    memory  from the output's scales
//   tensor  from the partial maxima of stage one: one tile, the tensor
enum class scales_from { tile, memory, tensor };

}  // namespace detail

}  // namespace gesso
