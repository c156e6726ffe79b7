// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Packed codes to values in hardware math.
#pragma once

#include <gesso/level/hardware_parameters.cuh>
#include <gesso/level/packed.cuh>

namespace gesso {

namespace detail {

// The decoding half of a codec's arithmetic on packed codes of one thread, hardware math: see packed_group.
template<class Codec>
struct hardware_decoding {
    using format = typename Codec::format;
    using expansion = typename Codec::expansion;
    using reader = hardware_reader<Codec>;
    static constexpr bool is_expanded = !standard::is_same_v<expansion, identity>;
    static constexpr float log2_max = static_cast<float>(log2_fixed(format::max_bits)) * 0x1p-23f;

    static __device__ __forceinline__ reader load(typename Codec::scale_code_type scale, uint8_t exponent)
    {
        return reader::load(scale, exponent);
    }

    // What decodes to `decay` times the values, where that costs nothing: is_decayed says where. log2_decay of 0 is -infinity.
    static constexpr bool is_decayed = is_expanded;
    static __device__ __forceinline__ reader decayed(reader with, float log2_decay)
    {
        if constexpr (is_decayed) with.log2_amax += log2_decay;
        return with;
    }

    // Do these codes need decode_some<..., Any = true>?
    template<int Items>
    static __device__ __forceinline__ bool are_special(const packed_codes<format, Items>& codes)
    {
        uint32_t special = 0;
        if constexpr (has_short_way) {
            GESSO_UNROLL
            for (const uint32_t word : codes.words) special |= special_codes<format>(word);
        }
        return (special & 0x80808080u) != 0;
    }
    // Codes [begin, begin + Count) to values; to their magnitudes where Signed is false, which is less work.
    template<bool Signed, bool Any, int Count, int Items>
    static __device__ __forceinline__ void decode_some(
        const packed_codes<format, Items>& codes, int begin, const reader& with, item_values<Items>& values)
    {
        if constexpr (!is_expanded && Codec::has_scale && format::bits == 8 && Count % 4 == 0) {
            GESSO_UNROLL
            for (int i = begin; i < begin + Count; i += 4) {
                float of_word[4];
                decode_word<format>(codes.words[i / 4], of_word);
                GESSO_UNROLL
                for (int j = 0; j < 4; ++j) {
                    values[i + j] = multiply(Signed ? of_word[j] : fabsf(of_word[j]), with.with.scale);
                }
            }
        } else if constexpr (!is_expanded && Codec::has_scale && format::bits == 8 && Count % 2 == 0) {
            GESSO_UNROLL
            for (int i = begin; i < begin + Count; i += 2) {
                const number_pair pair = decode_pair<format>(codes.words[i / 4] >> (8 * (i % 4)));
                values[i] = multiply(Signed ? pair.low : fabsf(pair.low), with.with.scale);
                values[i + 1] = multiply(Signed ? pair.high : fabsf(pair.high), with.with.scale);
            }
        } else if constexpr (has_short_way) {
            // A word is decoded at once; what a thread does not have of it costs nothing.
            GESSO_UNROLL
            for (int i = begin; i < begin + Count; i += 4 - i % 4) {
                float of_word[4];
                decode_shortly<Signed, Any>(codes.words[i / 4], with, of_word);
                GESSO_UNROLL
                for (int j = i % 4; j < 4; ++j) {
                    if (i - i % 4 + j < begin + Count) values[i - i % 4 + j] = of_word[j];
                }
            }
        } else {
            GESSO_UNROLL
            for (int i = begin; i < begin + Count; ++i) {
                if constexpr (!is_expanded) values[i] = decode_plain(codes, i, with);
                else values[i] = decode_any(codes, i, with);
                if constexpr (!Signed) values[i] = fabsf(values[i]);
            }
        }
    }
    template<bool Signed = true, int Items>
    static __device__ __forceinline__ void decode(
        const packed_codes<format, Items>& codes, const reader& with, item_values<Items>& values)
    {
        if (are_special(codes)) decode_some<Signed, true, Items>(codes, 0, with, values);
        else decode_some<Signed, false, Items>(codes, 0, with, values);
    }

private:
    // Where the logarithm of a code can be had without the special-function unit: see decode_normal().
    static constexpr bool has_short_way = is_expanded && format::bits == 8 && format::mantissa_bits <= 4
                                          && (format::sign_bits == 1 || format::special_values == special::finite_nan);

    template<int Items>
    static __device__ __forceinline__ float decode_plain(
        const packed_codes<format, Items>& codes, int i, const reader& with)
    {
        float value;
        if constexpr (format::bits == 8) value = decode_by_product<format>(codes.get(i));
        else value = gesso::decode<format>(codes.get(i));
        if constexpr (Codec::has_scale) return multiply(value, with.with.scale);
        else return value;
    }

    // amax 2^((log2 value - log2 max) / k), any code.
    template<int Items>
    static __device__ __forceinline__ float decode_any(
        const packed_codes<format, Items>& codes, int i, const reader& with)
    {
        const float offset = hardware_fused_multiply_add(-log2_max, with.inverse_k, with.log2_amax);
        float value;
        if constexpr (format::bits == 8) value = decode_by_product<format>(codes.get(i));
        else value = gesso::decode<format>(codes.get(i));
        const float power =
            hardware_exp2(hardware_fused_multiply_add(hardware_log2(fabsf(value)), with.inverse_k, offset));
        return float_of(bits_of(power) | (bits_of(value) & 0x80000000u));
    }

    // The same for the four codes of a word, in the normal range unless Any. No conversion and no logarithm are asked of the
    // special-function unit, which is what binds an optimizer step.
    template<bool Signed, bool Any>
    static __device__ __forceinline__ void decode_shortly(uint32_t word, const reader& with, float (&values)[4])
    {
        using logarithms_of = code_logarithms<format>;
        const float slope = with.inverse_k * (1.0f / logarithms_of::scale);
        const float offset =
            hardware_fused_multiply_add(-(log2_max + logarithms_of::base), with.inverse_k, with.log2_amax);
        float logarithms[4];
        logarithms_of::of(word, logarithms);
        if constexpr (Any) set_special_logarithms(word, logarithms);
        GESSO_UNROLL
        for (int i = 0; i < 4; ++i) {
            values[i] = hardware_exp2(hardware_fused_multiply_add(logarithms[i], slope, offset));
            if constexpr (Signed && format::sign_bits == 1) {
                values[i] = float_of(bits_of(values[i]) | ((word << (24 - 8 * i)) & 0x80000000u));
            }
        }
    }

    // Zero, subnormal codes and NaN; a code has one value, whatever codes are beside it. Zeros are many where others are few:
    // they take no branch.
    static __device__ __forceinline__ void set_special_logarithms(uint32_t word, float (&logarithms)[4])
    {
        using logarithms_of = code_logarithms<format>;
        bool is_odd = false;
        GESSO_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t code = word >> (8 * i) & format::magnitude_mask;
            const bool is_zero_code = code == 0;
            logarithms[i] = is_zero_code ? float_of(0xFF800000u) : logarithms[i];
            is_odd = is_odd || (!is_zero_code && code < uint32_t{format::min_normal_code})
                     || code > uint32_t{format::max_code};
        }
        if (!is_odd) return;
        GESSO_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t code = word >> (8 * i) & format::magnitude_mask;
            if (code >= uint32_t{format::min_normal_code} && code <= uint32_t{format::max_code}) continue;
            logarithms[i] = hardware_fused_multiply_add(hardware_log2(decode_by_product<format>(code)),
                logarithms_of::scale, logarithms_of::base * logarithms_of::scale);
        }
    }
};

}  // namespace detail

}  // namespace gesso
