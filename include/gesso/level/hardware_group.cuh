// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A codec's arithmetic on packed codes in hardware math: from the same state at most one code away from exact math, with
// the same statistics, exponents and scales.
#pragma once

#include <gesso/level/hardware_decode.cuh>

namespace gesso {

namespace detail {

// The codec's arithmetic on packed codes of one thread, hardware math.
template<class Codec>
struct packed_group<Codec, hardware_math> : hardware_decoding<Codec> {
    using base = hardware_decoding<Codec>;
    using base::is_expanded;
    using base::log2_max;
    using typename base::expansion;
    using typename base::format;
    using writer = hardware_writer<Codec>;

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

    // values to codes. random(i): the bits for item i, asked under stochastic rounding alone. Item i rounds toward zero where
    // bit i of `settles` is set. Values are finite or NaN and no denormals; none is below zero where Signed is false, which
    // is less work. are_regular: none is zero or NaN, which is less work too.
    template<class Rounding, class Underflow, bool Signed = true, int Items, class Random>
    static __device__ __forceinline__ void encode(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, Random random, uint32_t settles = 0, bool are_regular = false)
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
            encode_stochastically<Underflow, Signed>(values, with, codes, random, settles, are_regular);
        } else {
            encode_nearest<Underflow, Signed>(values, with, codes, settles, are_regular);
        }
    }

private:
    template<class Rounding>
    static constexpr bool is_stochastic = standard::is_same_v<Rounding, stochastic>;
    static constexpr int fraction_bits = 23 - format::mantissa_bits;

    template<bool Signed>
    static __device__ __forceinline__ float bent(float value, const writer& with)
    {
        if constexpr (!Signed || format::sign_bits == 0) {
            // NaN below zero: such a value is not in the normal range and is done apart.
            return hardware_exp2(hardware_fused_multiply_add(hardware_log2(value), with.k, with.offset));
        } else {
            const float power =
                hardware_exp2(hardware_fused_multiply_add(hardware_log2(fabsf(value)), with.k, with.offset));
            return float_of(bits_of(power) | (bits_of(value) & 0x80000000u));
        }
    }

    // Is a value encoded in the normal range? The same, whatever values are beside it.
    template<bool Signed>
    static __device__ __forceinline__ bool is_above_subnormals(float value, const writer& with)
    {
        const bool is_regular = (Signed && format::sign_bits == 1 ? fabsf(value) : value) > 0.0f;
        return is_regular && (!with.reaches_subnormals || fabsf(bent<Signed>(value, with)) >= format::min_normal());
    }

    template<class Underflow, bool Signed, int Items>
    static __device__ __forceinline__ void encode_nearest(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, uint32_t settles, bool are_regular)
    {
        bool is_rare = settles != 0;
        if constexpr (is_expanded && !standard::is_same_v<Underflow, gradual>) {
            is_rare = is_rare || with.reaches_subnormals;
        }
        if constexpr (is_expanded && format::sign_bits == 0 && hardware_format<format> == converts_as::nothing) {
            encode_normal<Underflow>(values, with, codes, settles, are_regular);
        } else if (is_rare) encode_nearest_words<Underflow, Signed, true>(values, with, codes, settles);
        else encode_nearest_words<Underflow, Signed, false>(values, with, codes, 0u);
        if constexpr (Codec::has_exponent && !Signed) {
            if (with.reaches_subnormals) settle_ties<Underflow>(values, with, codes, settles);
        }
    }

    // Of values that are never negative, as second moments: under the smallest k, 1/2 by default, squares of numbers of
    // few bits are bent to numbers of few bits, of which many lie in the middle between two codes. There the unit's error
    // would decide; here the exact way does. (Other exponents make no such ties. A loop, not unrolled: the exact way is
    // long, and such items are few.)
    template<class Underflow, int Items>
    static __device__ __forceinline__ void settle_ties(
        const item_values<Items>& values, const writer& with, packed_codes<format, Items>& codes, uint32_t settles)
    {
        constexpr uint32_t half = 1u << (fraction_bits - 1);
        constexpr uint32_t doubt = 64;
        uint32_t ties = 0;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const uint32_t fraction = bits_of(bent<false>(values[i], with)) & (2u * half - 1u);
            ties |= fraction - (half - doubt) < 2u * doubt ? 1u << i : 0u;
        }
        for (ties &= ~settles; ties != 0; ties &= ties - 1u) {
            const int item = __ffs(static_cast<int>(ties)) - 1;
            float value = 0.0f;
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) value = i == item ? values[i] : value;
            const uint32_t code =
                Codec::encode(value, Codec::load(scale_code(with), exponent_code(with)), nearest_even{}, Underflow{});
            GESSO_UNROLL
            for (int word = 0; word < packed_codes<format, Items>::word_count; ++word) {
                const int shift = 8 * (item % 4);
                const uint32_t replaced = (codes.words[word] & ~(0xFFu << shift)) | (code << shift);
                codes.words[word] = word == item / 4 ? replaced : codes.words[word];
            }
        }
    }

    // Bent values to codes of an unsigned format that has no conversion instruction, to nearest with ties upward (a bent
    // value is a tie by chance alone). Items that settle or are not in the normal range are then done again, one by one.
    template<class Underflow, int Items>
    static __device__ __forceinline__ void encode_normal(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, uint32_t settles, bool are_regular)
    {
        constexpr uint32_t to_code = (1u << (fraction_bits - 1)) - (static_cast<uint32_t>(127 - format::bias) << 23);
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            codes.append(i, (bits_of(bent<false>(values[i], with)) + to_code) >> fraction_bits);
        }
        if (settles == 0 && are_regular && !with.reaches_subnormals) return;
        encode_others<false>(values, with, codes, settles, [&](int i) {
            return uint32_t{gesso::encode<format>(scaled<Underflow, true, true>(values[i], with, settles >> i))};
        });
    }
    // Codes of the items that are not above the subnormals, or settle: zeros, which may be many, by a select, and others, which
    // are few, as encode_one(item) does it.
    template<bool Signed, int Items, class EncodeOne>
    static __device__ __forceinline__ void encode_others(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, uint32_t settles, EncodeOne encode_one)
    {
        bool is_odd = settles != 0;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const bool is_zero = values[i] == 0.0f;
            const uint32_t sign = Signed && format::sign_bits == 1 ? bits_of(values[i]) >> 24 & 0x80u : 0u;
            const uint32_t keeps = is_zero ? ~(0xFFu << (8 * (i % 4))) : 0xFFFFFFFFu;
            codes.words[i / 4] = (codes.words[i / 4] & keeps) | (sign << (8 * (i % 4)));
            is_odd = is_odd || (!is_zero && !is_above_subnormals<Signed>(values[i], with));
        }
        if (!is_odd) return;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (is_above_subnormals<Signed>(values[i], with) && (settles >> i & 1u) == 0) continue;
            codes.replace(i, encode_one(i));
        }
    }
    // Rare: elements may settle, and bent ones may fall below the normal range.
    template<class Underflow, bool Signed, bool Rare, int Items>
    static __device__ __forceinline__ void encode_nearest_words(
        const item_values<Items>& values, const writer& with, packed_codes<format, Items>& codes, uint32_t settles)
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; i += 2) {
            const float low = scaled<Underflow, Signed, Rare>(values[i], with, settles >> i);
            const float high = i + 1 < Items
                                   ? scaled<Underflow, Signed, Rare>(values[(i + 1) % Items], with, settles >> (i + 1))
                                   : 0.0f;
            const uint32_t pair = encode_pair<format>(low, high);
            codes.words[i / 4] = i % 4 == 0 ? pair : codes.words[i / 4] | (pair << 16);
        }
    }

    // A value in the units of its code, such that rounding to nearest gives what Underflow and bit 0 of `settles` want.
    template<class Underflow, bool Signed, bool Rare>
    static __device__ __forceinline__ float scaled(float value, const writer& with, uint32_t settles)
    {
        float result;
        if (format::sign_bits == 0 && Rare && value < 0.0f) return 0.0f;
        if constexpr (is_expanded) {
            result = bent<Signed>(value, with);
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
    template<class Underflow, bool Signed, int Items, class Random>
    static __device__ __forceinline__ void encode_stochastically(const item_values<Items>& values, const writer& with,
        packed_codes<format, Items>& codes, Random random, uint32_t settles, bool are_regular)
    {
        // The bits of a float are shifted so that its code is the top byte and the fraction that is cut off lies below it.
        constexpr int shift = 24 - fraction_bits;
        constexpr uint32_t exponent_base = static_cast<uint32_t>(127 - format::bias) << 23 << shift;
        constexpr float codes_of_binade = static_cast<float>(1 << format::mantissa_bits);
        // (hi - lo) / (2 q) = 2^-mantissa_bits / (2 s) for the significand s in [1, 2); 1/s by a parabola, within 0.0074. In
        // units of the fraction's last bit.
        const float weight = with.curvature * (0.5f / codes_of_binade) * 0x1p24f;
        const float square = 0.343146f / (codes_of_binade * codes_of_binade) * weight;
        const float slope = -1.514719f / codes_of_binade * weight;
        const float start = 2.164214f * weight;
        // The largest element must not be bent above the format's max by an error of the units.
        writer below = with;
        below.offset -= fabsf(with.offset) * 0x1p-22f + 0x1p-20f;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const uint32_t bits = bits_of(fabsf(bent<Signed>(values[i], below)));
            // The significand in units of a code's last bit, and how far it is from the middle between two codes. (What is
            // added leaves a float that has no bits for fractions.)
            constexpr uint32_t exponent = static_cast<uint32_t>(127 + format::mantissa_bits) << 23;
            constexpr float without_fraction = 0x1p23f - 0.5f;
            const float significand = float_of((bits & 0x7FFFFFu) | exponent);
            const float middle = hardware_add(hardware_add(significand, without_fraction), -without_fraction);
            const float distance = hardware_add(significand, -middle);
            const float variance = hardware_fused_multiply_add(distance, -distance, 0.25f);  // p (1 - p)
            const float scaled_inverse = hardware_fused_multiply_add(
                hardware_fused_multiply_add(significand, square, slope), significand, start);
            // Added to 2^23 * 1.5 the correction is an integer in the low bits of a float.
            const float moved = hardware_fused_multiply_add(variance, scaled_inverse, 0x1.8p23f);
            constexpr uint32_t constant = 0u - 0x4B400000u - exponent_base;
            codes.append_top(i, (bits << shift) + bits_of(moved) + ((drawn(random, i, settles) >> 8) + constant));
            if constexpr (Signed && format::sign_bits == 1) {
                codes.words[i / 4] |= (bits_of(values[i]) & 0x80000000u) >> (24 - 8 * (i % 4));
            }
        }
        if (are_regular && !with.reaches_subnormals) return;
        encode_others<Signed>(values, with, codes, 0u, [&](int i) {
            return uint32_t{stochastic_subnormal<Underflow>(values[i], with, {drawn(random, i, settles)})};
        });
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
        const cut at = cut_to<format>(magnitude_bits(bent<true>(value, with)), negative);
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
