// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A codec's arithmetic on packed codes in hardware math: from the same state at most one code away from exact math, with
// the same statistics, exponents and scales.
#pragma once

#include <gesso/level/hardware_parameters.cuh>
#include <gesso/level/packed.cuh>

namespace gesso {

namespace detail {

// The codec's arithmetic on packed codes of one thread, hardware math.
template<class Codec>
struct packed_group<Codec, hardware_math> {
    using format = typename Codec::format;
    using expansion = typename Codec::expansion;
    using reader = hardware_reader<Codec>;
    using writer = hardware_writer<Codec>;
    static constexpr bool is_expanded = !standard::is_same_v<expansion, identity>;
    static constexpr float log2_max = static_cast<float>(log2_fixed(format::max_bits)) * 0x1p-23f;

    static __device__ __forceinline__ reader load(typename Codec::scale_code_type scale, uint8_t exponent)
    {
        return reader::load(scale, exponent);
    }

    static __device__ __forceinline__ int numerator_of(const typename Codec::statistic& known)
    {
        if constexpr (Codec::has_exponent) {
            return sixteenths_of<format, expansion>(known.amax_bits, known.amin_bits);
        } else {
            return 0;
        }
    }
    // `numerator` is numerator_of(known): apart, so that lanes can share that work.
    static __device__ __forceinline__ writer fit(const typename Codec::statistic& known, int numerator)
    {
        if constexpr (!is_expanded) {
            if constexpr (Codec::has_scale && standard::is_same_v<typename Codec::scale_format, float32>) {
                // Codec::fit() without its divisions; the same bits.
                constexpr uint32_t floor_bits = Codec::group::floor_bits;
                writer result;
                result.with.scale =
                    divide_by_max<format>(float_of(known.amax_bits < floor_bits ? floor_bits : known.amax_bits));
                result.with.encode_factor = reciprocal_of(result.with.scale);
                return result;
            } else {
                return {Codec::fit(known)};
            }
        } else {
            using scale_format = typename Codec::scale_format;
            if constexpr (!Codec::has_exponent) numerator = expansion::numerator;
            const float amax = gesso::decode<scale_format>(store_scale<scale_format>(known.amax()));
            const bool is_zero_group = known.amax_bits < 0x00800000u;
            writer result;
            result.k = static_cast<float>(numerator) * (1.0f / expansion::denominator);
            // An all-zero group: every log2 is minus infinity, and so must stay the exponent.
            result.offset =
                is_zero_group ? -1e30f : hardware_fused_multiply_add(-result.k, hardware_log2(amax), log2_max);
            result.curvature = 1.0f - hardware_reciprocal(result.k);
            result.amax_bits = is_zero_group ? 0u : bits_of(amax);
            result.numerator = is_zero_group ? 0 : numerator;
            result.reaches_subnormals = true;
            if constexpr (Codec::has_exponent) {
                // A bound up to max / smallest normal number keeps elements in the normal range, but for the limit of k.
                using rule = typename expansion::rule;
                if constexpr (rule::template log2_bound<format>() <= min_normal_bound::log2_bound<format>()) {
                    result.reaches_subnormals = numerator == rule::min_sixteenths;
                }
            }
            return result;
        }
    }
    static __device__ __forceinline__ typename Codec::scale_code_type scale_code(const writer& with)
    {
        if constexpr (!Codec::has_scale) return {};
        else if constexpr (!is_expanded) return Codec::scale_code(with.with);
        else return store_scale<typename Codec::scale_format>(float_of(with.amax_bits));
    }
    static __device__ __forceinline__ uint8_t exponent_code(const writer& with)
    {
        if constexpr (Codec::has_exponent) return static_cast<uint8_t>(with.numerator);
        else return 0;
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
        if constexpr (!is_expanded && Codec::has_scale && format::bits == 8 && Count % 2 == 0) {
            GESSO_UNROLL
            for (int i = begin; i < begin + Count; i += 2) {
                const number_pair pair = decode_pair<format>(codes.words[i / 4] >> (8 * (i % 4)));
                values[i] = multiply(Signed ? pair.low : fabsf(pair.low), with.with.scale);
                values[i + 1] = multiply(Signed ? pair.high : fabsf(pair.high), with.with.scale);
            }
        } else {
            GESSO_UNROLL
            for (int i = begin; i < begin + Count; ++i) {
                if constexpr (!is_expanded) values[i] = decode_plain(codes, i, with);
                else if constexpr (has_short_way) values[i] = decode_shortly<Signed, Any>(codes, i, with);
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

    // values to codes. random(i): the bits for item i, asked under stochastic rounding alone. Item i rounds toward zero where
    // bit i of `settles` is set. Values are finite or NaN and no denormals.
    template<class Rounding, class Underflow, int Items, class Random>
    static __device__ __forceinline__ void encode(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, Random random, uint32_t settles = 0)
    {
        if constexpr (format::bits != 8) {
            static_assert(!is_expanded, "gesso::packed_group: an expanded group has codes of 8 bits");
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) {
                codes.set(i, encode_one<Rounding, Underflow>(values[i], with, random, i, settles));
            }
        } else if constexpr (!is_expanded && (is_stochastic<Rounding> || !Codec::has_scale)) {
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) {
                codes.set(i, encode_one<Rounding, Underflow>(values[i], with, random, i, settles));
            }
        } else if constexpr (is_stochastic<Rounding>) {
            encode_stochastically<Underflow>(values, with, codes, random, settles);
        } else {
            encode_nearest<Underflow>(values, with, codes, settles);
        }
    }

private:
    template<class Rounding>
    static constexpr bool is_stochastic = standard::is_same_v<Rounding, stochastic>;
    static constexpr int fraction_bits = 23 - format::mantissa_bits;

    // Where the logarithm of a code can be had without the special-function unit: see decode_normal().
    static constexpr bool has_short_way =
        is_expanded && format::bits == 8 && format::mantissa_bits <= 4
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

    // The same for a code of an 8-bit format, in the normal range unless Any. The logarithm of a code is linear in the code but for an
    // excess that the mantissa alone decides: no conversion and no logarithm are asked of the special-function unit, which
    // is what binds an optimizer step. (What four codes share is written for each and computed once.)
    template<bool Signed, bool Any, int Items>
    static __device__ __forceinline__ float decode_shortly(
        const packed_codes<format, Items>& codes, int i, const reader& with)
    {
        // fixed = 65536 (log2 value + bias) as an integer below 2^23, read as the float 2^23 + fixed.
        constexpr float bias_and_base = static_cast<float>(format::bias) + 128.0f;
        const float slope = with.inverse_k * 0x1p-16f;
        const float offset = hardware_fused_multiply_add(-(log2_max + bias_and_base), with.inverse_k, with.log2_amax);
        const uint32_t word = codes.words[i / 4];
        const uint32_t low = log2_excess_of<format>(word, 0);
        const uint32_t high = log2_excess_of<format>(word, 1);
        const uint32_t pair = __byte_perm(low, high, i % 4 < 2 ? 0x5140 : 0x7362);
        const uint32_t based = __byte_perm(pair, 0x4B00u, i % 2 == 0 ? 0x5410 : 0x5432);
        const uint32_t magnitudes = word & (format::magnitude_mask * 0x01010101u);
        const uint32_t code = __byte_perm(magnitudes, 0u, 0x4440u | static_cast<uint32_t>(i % 4));
        const uint32_t fixed = code * (65536u >> format::mantissa_bits) + based;
        float logarithm = float_of(fixed);
        if constexpr (Any) {
            // Zero, a subnormal code or NaN; a code has one value, whatever codes are beside it.
            if (code < uint32_t{format::min_normal_code} || code > uint32_t{format::max_code}) {
                constexpr float base = static_cast<float>(format::bias) * 65536.0f + 0x1p23f;
                logarithm = hardware_fused_multiply_add(hardware_log2(decode_by_product<format>(code)), 65536.0f, base);
            }
        }
        const float power = hardware_exp2(hardware_fused_multiply_add(logarithm, slope, offset));
        if constexpr (!Signed || format::sign_bits == 0) return power;
        else return float_of(bits_of(power) | ((word << (24 - 8 * (i % 4))) & 0x80000000u));
    }

    static __device__ __forceinline__ float bent(float value, const writer& with)
    {
        if constexpr (format::sign_bits == 0) {
            // NaN below zero: such a value is not in the normal range and is done apart.
            return hardware_exp2(hardware_fused_multiply_add(hardware_log2(value), with.k, with.offset));
        } else {
            const float power =
                hardware_exp2(hardware_fused_multiply_add(hardware_log2(fabsf(value)), with.k, with.offset));
            return float_of(bits_of(power) | (bits_of(value) & 0x80000000u));
        }
    }

    template<class Underflow, int Items>
    static __device__ __forceinline__ void encode_nearest(
        const item_values<Items>& values, const writer& with, packed_codes<format, Items>& codes, uint32_t settles)
    {
        bool is_rare = settles != 0;
        if constexpr (is_expanded && !standard::is_same_v<Underflow, gradual>) {
            is_rare = is_rare || with.reaches_subnormals;
        }
        if constexpr (is_expanded && format::sign_bits == 0 && hardware_format<format> == converts_as::nothing) {
            encode_normal<Underflow>(values, with, codes, settles);
        } else if (is_rare) encode_nearest_words<Underflow, true>(values, with, codes, settles);
        else encode_nearest_words<Underflow, false>(values, with, codes, 0u);
    }

    // Bent values to codes of an unsigned format that has no conversion instruction, to nearest with ties upward (a bent
    // value is a tie by chance alone). Items that settle or are not in the normal range are then done again, one by one.
    template<class Underflow, int Items>
    static __device__ __forceinline__ void encode_normal(
        const item_values<Items>& values, const writer& with, packed_codes<format, Items>& codes, uint32_t settles)
    {
        constexpr uint32_t to_code = (1u << (fraction_bits - 1)) - (static_cast<uint32_t>(127 - format::bias) << 23);
        float smallest = (format::max)();
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const float power = bent(values[i], with);
            smallest = minimum_or_nan(smallest, power);
            codes.append(i, (bits_of(power) + to_code) >> fraction_bits);
        }
        if (settles == 0 && smallest >= format::min_normal()) return;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const bool is_normal = bent(values[i], with) >= format::min_normal();
            if (is_normal && (settles >> i & 1u) == 0) continue;
            codes.replace(i, gesso::encode<format>(scaled<Underflow, true>(values[i], with, settles >> i)));
        }
    }
    // Rare: elements may settle, and bent ones may fall below the normal range.
    template<class Underflow, bool Rare, int Items>
    static __device__ __forceinline__ void encode_nearest_words(
        const item_values<Items>& values, const writer& with, packed_codes<format, Items>& codes, uint32_t settles)
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; i += 2) {
            const float low = scaled<Underflow, Rare>(values[i], with, settles >> i);
            const float high = i + 1 < Items ? scaled<Underflow, Rare>(values[(i + 1) % Items], with, settles >> (i + 1)) : 0.0f;
            const uint32_t pair = encode_pair<format>(low, high);
            codes.words[i / 4] = i % 4 == 0 ? pair : codes.words[i / 4] | (pair << 16);
        }
    }

    // A value in the units of its code, such that rounding to nearest gives what Underflow and bit 0 of `settles` want.
    template<class Underflow, bool Rare>
    static __device__ __forceinline__ float scaled(float value, const writer& with, uint32_t settles)
    {
        float result;
        if (format::sign_bits == 0 && Rare && value < 0.0f) return 0.0f;
        if constexpr (is_expanded) {
            result = bent(value, with);
            if constexpr (Rare) result = settle_underflow<format, Underflow>(result, value != 0.0f);
        } else {
            result = settle_underflow<format, Underflow>(multiply(value, with.with.encode_factor), value != 0.0f);
            if constexpr (format::sign_bits == 0) result = result < 0.0f ? 0.0f : result;  // NaN stays
        }
        if (Rare && (settles & 1u) != 0) result = toward_zero_code<format, Underflow>(result);
        return result;
    }

    template<class Rounding, class Underflow, class Random>
    static __device__ __forceinline__ typename format::code_type encode_one(
        float value, const writer& with, Random random, int item, uint32_t settles)
    {
        if ((settles >> item & 1u) != 0) return Codec::encode(value, with.with, toward_zero{}, Underflow{});
        if constexpr (is_stochastic<Rounding>) return Codec::encode(value, with.with, random(item), Underflow{});
        else return Codec::encode(value, with.with, nearest_even{}, Underflow{});
    }

    // Bits that are all zeros round nothing away from zero.
    template<class Random>
    static __device__ __forceinline__ uint32_t drawn(Random random, int item, uint32_t settles)
    {
        return random(item).bits & ((settles >> item & 1u) - 1u);
    }

    // Stochastic rounding of bent values, unbiased in the decoded value as rounds_away_bent() is: what is cut off, moved by
    // the correction, plus a random number below one step carries into the code or does not.
    template<class Underflow, int Items, class Random>
    static __device__ __forceinline__ void encode_stochastically(
        const item_values<Items>& values, const writer& with, packed_codes<format, Items>& codes, Random random,
        uint32_t settles)
    {
        constexpr uint32_t step = 1u << fraction_bits;
        constexpr uint32_t exponent_base = static_cast<uint32_t>(127 - format::bias) << 23;
        // (hi - lo) / (2 q) = 2^-mantissa_bits / (2 s) for the significand s in [1, 2); 1/s by a parabola, within 0.0074.
        const float weight = with.curvature * (0.5f / (1 << format::mantissa_bits)) * static_cast<float>(step);
        const float square = 0.343146f * weight;
        const float slope = -1.514719f * weight;
        const float start = 2.164214f * weight;
        float smallest = (format::max)();
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const float power = fabsf(bent(values[i], with));
            smallest = minimum_or_nan(smallest, power);
            const uint32_t bits = bits_of(fminf(power, (format::max)()));
            const float one_plus_p = float_of(0x3F800000u | ((bits << format::mantissa_bits) & 0x7FFFFFu));
            const float significand = float_of(0x3F800000u | (bits & 0x7FFFFFu));
            const float variance = hardware_fused_multiply_add(3.0f - one_plus_p, one_plus_p, -2.0f);  // p (1 - p)
            // Added to 2^23 * 1.5 the correction is an integer in the low bits of a float.
            const float scaled_inverse = hardware_fused_multiply_add(
                hardware_fused_multiply_add(significand, square, slope), significand, start);
            const float moved = hardware_fused_multiply_add(variance, scaled_inverse, 0x1.8p23f);
            constexpr uint32_t constant = 0u - 0x4B400000u - exponent_base;
            const uint32_t carried =
                bits + bits_of(moved) + ((drawn(random, i, settles) >> (32 - fraction_bits)) + constant);
            uint32_t code = carried >> fraction_bits;
            if constexpr (format::sign_bits == 1) code |= (bits_of(values[i]) >> 24) & 0x80u;
            codes.append(i, code);
        }
        if (smallest >= format::min_normal()) return;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (fabsf(bent(values[i], with)) >= format::min_normal()) continue;
            codes.replace(i, stochastic_subnormal<Underflow>(values[i], with, {drawn(random, i, settles)}));
        }
    }

    // The same for a value below the normal range, where both neighbours are decoded; and for NaN.
    template<class Underflow>
    static __device__ __forceinline__ typename format::code_type stochastic_subnormal(
        float value, const writer& with, stochastic_bits random)
    {
        if (!is_finite(value)) return code_for_nan<format>();
        if (format::sign_bits == 0 && value < 0.0f) return 0;
        const bool negative = format::sign_bits == 1 && (bits_of(value) >> 31) != 0;
        if (with.amax_bits == 0 || is_zero(value)) return finish<format, gradual, saturating>(0u, negative, false);
        const cut at = cut_to<format>(magnitude_bits(bent(value, with)), negative);
        bool moves = false;
        if (at.remainder != 0 && random.bits != 0) {
            const float inverse_k = hardware_reciprocal(with.k);
            const auto value_of = [&](uint32_t code) {
                const float distance = hardware_log2(decode_by_product<format>(code)) - log2_max;
                return hardware_multiply(float_of(with.amax_bits), hardware_exp2(distance * inverse_k));
            };
            const float low = value_of(at.code);
            const float high = value_of(at.code + 1u);
            moves = static_cast<float>(~random.bits >> 8) * 0x1p-24f * (high - low) < fabsf(value) - low;
        }
        return finish<format, Underflow, saturating>(at.code + (moves ? 1u : 0u), negative, true);
    }
};

}  // namespace detail

}  // namespace gesso
