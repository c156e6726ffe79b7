// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A codec's arithmetic on packed codes in hardware math: from the same state at most one code away from exact math, with
// the same statistics, exponents and scales.
#pragma once

#include <gesso/encoding/hardware.cuh>
#include <gesso/level/packed.cuh>

namespace gesso {

namespace detail {

// Are there codes in this word that the short way to decode does not take: zero, subnormal, infinity or NaN? May say yes
// too often, never no.
template<class Format>
__device__ __forceinline__ bool has_special_codes(uint32_t word)
{
    constexpr uint32_t bytes = 0x01010101u;
    constexpr uint32_t exponent_mask = (Format::magnitude_mask & ~((1u << Format::mantissa_bits) - 1u)) * bytes;
    if constexpr (Format::sign_bits == 1) {
        const uint32_t below_normal = (word & exponent_mask) - (bytes << Format::mantissa_bits);
        const uint32_t above_max = (word & (Format::magnitude_mask * bytes)) + (0x7Fu - Format::max_code) * bytes;
        return ((below_normal | above_max) & (0x80u * bytes)) != 0;
    } else {
        const uint32_t field = word & exponent_mask;
        const uint32_t from_nan = ~word;
        return ((((field - bytes) & ~field) | ((from_nan - bytes) & ~from_nan)) & (0x80u * bytes)) != 0;
    }
}

// Byte `byte` of log2(1 + f) - f in units of 2^-16, for four fractions f = (first + i) / 2^MantissaBits in a word: a
// table that one byte permutation looks up for four codes.
template<class Format>
constexpr GESSO_HOST_DEVICE uint32_t log2_excess_bytes(int first, int byte)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t fraction = static_cast<uint32_t>(first + i) << (23 - Format::mantissa_bits) & 0x7FFFFFu;
        const uint32_t excess = (static_cast<uint32_t>(log2_fixed(0x3F800000u | fraction)) - fraction + 64u) >> 7;
        word |= ((excess >> (8 * byte)) & 0xFFu) << (8 * i);
    }
    return word;
}

// How values are made of codes in hardware math, for a group with parameters known.
template<class Codec, class Expansion = typename Codec::expansion>
struct hardware_reader {
    float inverse_k;
    float log2_amax;

    static __device__ __forceinline__ hardware_reader load(typename Codec::scale_code_type amax, uint8_t exponent)
    {
        const float log2_amax = hardware_log2(gesso::decode<typename Codec::scale_format>(amax));
        if constexpr (Expansion::needs_amin) {
            // Zero bytes are zeros: there k must only be finite.
            const float sixteenths = static_cast<float>(exponent == 0 ? uint8_t{1} : exponent);
            return {hardware_reciprocal(sixteenths) * Expansion::denominator, log2_amax};
        } else {
            return {static_cast<float>(Expansion::denominator) / Expansion::numerator, log2_amax};
        }
    }
};
template<class Codec>
struct hardware_reader<Codec, identity> {
    typename Codec::parameters with;

    static __device__ __forceinline__ hardware_reader load(typename Codec::scale_code_type scale, uint8_t)
    {
        if constexpr (Codec::has_scale) {
            hardware_reader result;
            result.with.scale = gesso::decode<typename Codec::scale_format>(scale);
            return result;
        } else {
            return {};
        }
    }
};

// How codes are made of values in hardware math: bent = 2^(k log2|x| + offset).
template<class Codec, class Expansion = typename Codec::expansion>
struct hardware_writer {
    float k;
    float offset;
    float curvature;     // 1 - 1/k
    uint32_t amax_bits;  // as stored: 0 for an all-zero group
    int numerator;
    bool reaches_subnormals;  // may a bent element be rounded to a subnormal code or to zero?
};
template<class Codec>
struct hardware_writer<Codec, identity> {
    typename Codec::parameters with;
};

// 16 k of dynamic_power::sixteenths, the same for every group: by the special-function unit where its error cannot matter,
// else by the integer way. amax_bits >= amin_bits >= 2^-126.
template<class Format, class Expansion>
__device__ __forceinline__ int sixteenths_of(uint32_t amax_bits, uint32_t amin_bits)
{
    const auto fraction = [](uint32_t bits) { return hardware_log2(float_of((bits & 0x7FFFFFu) | 0x3F800000u)); };
    const float whole = static_cast<float>(static_cast<int>(amax_bits >> 23) - static_cast<int>(amin_bits >> 23));
    const float spread = whole + (fraction(amax_bits) - fraction(amin_bits));
    constexpr float bound = static_cast<float>(Expansion::rule::template log2_bound<Format>()) * 0x1p-19f;  // 16 log2(bound)
    const float inverse = hardware_reciprocal(spread);
    const float quotient = hardware_fused_multiply_add(bound, inverse, 0x1p-13f);
    // |error of spread| < 6e-7 + 2e-7 spread, and three roundings: a distance of less than this from a whole number is not
    // to be trusted.
    const float doubt = quotient * (1.5e-6f * inverse + 1e-6f);
    const float nearest = rintf(quotient);
    if (quotient < 256.5f && fabsf(quotient - nearest) < doubt) {
        return Expansion::template sixteenths<Format>(log2_fixed(amax_bits) - log2_fixed(amin_bits));
    }
    const int floored = quotient < 256.5f ? static_cast<int>(quotient) : 256;
    const int raised = floored < Expansion::rule::min_sixteenths ? Expansion::rule::min_sixteenths : floored;
    return raised > Expansion::rule::max_sixteenths ? Expansion::rule::max_sixteenths : raised;
}

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
            return {Codec::fit(known)};
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
            if constexpr (Codec::has_exponent) {
                const float smallest = hardware_fused_multiply_add(
                    result.k, hardware_log2(float_of(known.amin_bits)), result.offset);
                // Half a step below the smallest normal number rounds up to it; the margin covers the approximations.
                constexpr float log2_min_normal = static_cast<float>(log2_fixed(format::min_normal_bits)) * 0x1p-23f;
                result.reaches_subnormals = smallest < log2_min_normal - 0.5f / (1 << format::mantissa_bits);
            } else {
                result.reaches_subnormals = true;
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

    template<int Items>
    static __device__ __forceinline__ void decode(
        const packed_codes<format, Items>& codes, const reader& with, float (&values)[Items])
    {
        if constexpr (!is_expanded) {
            decode_plain(codes, with, values);
        } else {
            bool special = false;
            if constexpr (format::bits == 8) {
                GESSO_UNROLL
                for (const uint32_t word : codes.words) special = special || has_special_codes<format>(word);
            } else {
                special = true;
            }
            if (special) decode_any(codes, with, values);
            else decode_normal(codes, with, values);
        }
    }

    // values to codes. random(i): the bits for item i, asked under stochastic rounding alone. Values are finite or NaN and
    // no denormals.
    template<class Rounding, class Underflow, int Items, class Random>
    static __device__ __forceinline__ void encode(
        const float (&values)[Items], const writer& with, packed_codes<format, Items>& codes, Random random)
    {
        if constexpr (format::bits != 8) {
            static_assert(!is_expanded, "gesso::packed_group: an expanded group has codes of 8 bits");
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) codes.set(i, encode_one<Rounding, Underflow>(values[i], with, random, i));
        } else if constexpr (!is_expanded && is_stochastic<Rounding>) {
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) codes.set(i, encode_one<Rounding, Underflow>(values[i], with, random, i));
        } else if constexpr (is_stochastic<Rounding>) {
            encode_stochastically<Underflow>(values, with, codes, random);
        } else {
            encode_nearest<Underflow>(values, with, codes);
        }
    }

private:
    template<class Rounding>
    static constexpr bool is_stochastic = standard::is_same_v<Rounding, stochastic>;
    static constexpr int fraction_bits = 23 - format::mantissa_bits;

    template<int Items>
    static __device__ __forceinline__ void decode_plain(
        const packed_codes<format, Items>& codes, const reader& with, float (&values)[Items])
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            float value;
            if constexpr (hardware_format<format> == converts_as::nothing) {
                value = gesso::decode<format>(codes.get(i));
            } else {
                value = decode_by_product(codes.get(i));
            }
            if constexpr (Codec::has_scale) values[i] = multiply(value, with.with.scale);
            else values[i] = value;
        }
    }

    // A code of 8 bits to its value by one product: the code's fields, put where fp32 has its own, are the value times a
    // power of two, a denormal where the code is subnormal.
    static __device__ __forceinline__ float decode_by_product(uint32_t code)
    {
        const uint32_t magnitude = code & format::magnitude_mask;
        const uint32_t sign = (code & format::sign_mask) << (32 - format::bits);
        constexpr uint32_t lift = static_cast<uint32_t>(254 - format::bias) << 23;
        const float value = multiply(float_of(sign | (magnitude << fraction_bits)), float_of(lift));
        return magnitude > uint32_t{format::max_code} ? float_of(0x7FFFFFFFu) : value;
    }

    // amax 2^((log2 value - log2 max) / k), any code.
    template<int Items>
    static __device__ __forceinline__ void decode_any(
        const packed_codes<format, Items>& codes, const reader& with, float (&values)[Items])
    {
        const float offset = hardware_fused_multiply_add(-log2_max, with.inverse_k, with.log2_amax);
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            float value;
            if constexpr (format::bits == 8) value = decode_by_product(codes.get(i));
            else value = gesso::decode<format>(codes.get(i));
            const float power =
                hardware_exp2(hardware_fused_multiply_add(hardware_log2(fabsf(value)), with.inverse_k, offset));
            values[i] = float_of(bits_of(power) | (bits_of(value) & 0x80000000u));
        }
    }

    // The same for codes in the normal range of an 8-bit format. The logarithm of a code is linear in the code but for an
    // excess that the mantissa alone decides: no conversion and no logarithm are asked of the special-function unit, which
    // is what binds an optimizer step.
    template<int Items>
    static __device__ __forceinline__ void decode_normal(
        const packed_codes<format, Items>& codes, const reader& with, float (&values)[Items])
    {
        if constexpr (format::bits != 8 || format::mantissa_bits > 3 || format::sign_bits == 0) {
            decode_any(codes, with, values);
        } else {
            // fixed = 65536 (log2 value + bias) as an integer below 2^23, read as the float 2^23 + fixed.
            constexpr float bias_and_base = static_cast<float>(format::bias) + 128.0f;
            const float slope = with.inverse_k * 0x1p-16f;
            const float offset =
                hardware_fused_multiply_add(-(log2_max + bias_and_base), with.inverse_k, with.log2_amax);
            constexpr uint32_t mantissa_mask = ((1u << format::mantissa_bits) - 1u) * 0x01010101u;
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) {
                const uint32_t word = codes.words[i / 4];
                // One nibble a code selects from eight bytes (for two mantissa bits, from the first four).
                uint32_t selector = word & mantissa_mask;
                selector = __byte_perm(selector | (selector >> 4), 0u, 0x4420);
                const uint32_t low =
                    __byte_perm(log2_excess_bytes<format>(0, 0), log2_excess_bytes<format>(4, 0), selector);
                const uint32_t high =
                    __byte_perm(log2_excess_bytes<format>(0, 1), log2_excess_bytes<format>(4, 1), selector);
                const uint32_t pair = __byte_perm(low, high, i % 4 < 2 ? 0x5140 : 0x7362);
                const uint32_t based = __byte_perm(pair, 0x4B00u, i % 2 == 0 ? 0x5410 : 0x5432);
                const uint32_t code = __byte_perm(word & 0x7F7F7F7Fu, 0u, 0x4440u | static_cast<uint32_t>(i % 4));
                const uint32_t fixed = code * (65536u >> format::mantissa_bits) + based;
                const float power = hardware_exp2(hardware_fused_multiply_add(float_of(fixed), slope, offset));
                values[i] = float_of(bits_of(power) | ((word << (24 - 8 * (i % 4))) & 0x80000000u));
            }
        }
    }

    // The value whose nearest code is what Underflow wants: its own code in the normal range.
    template<class Underflow>
    static __device__ __forceinline__ float settle_underflow(float scaled, bool nonzero)
    {
        if constexpr (standard::is_same_v<Underflow, keep>) {
            constexpr float smallest = format::min_positive();
            return nonzero && fabsf(scaled) < smallest ? copysignf(smallest, scaled) : scaled;
        } else if constexpr (standard::is_same_v<Underflow, flush>) {
            // Half a step below the smallest normal number rounds up to it.
            constexpr float edge = format::min_normal() - 0.5f * format::min_positive();
            return fabsf(scaled) < edge ? scaled * 0.0f : scaled;
        } else {
            return scaled;
        }
    }

    static __device__ __forceinline__ float bent(float value, const writer& with)
    {
        const float power =
            hardware_exp2(hardware_fused_multiply_add(hardware_log2(fabsf(value)), with.k, with.offset));
        if constexpr (format::sign_bits == 0) return power;
        else return float_of(bits_of(power) | (bits_of(value) & 0x80000000u));
    }

    template<class Underflow, int Items>
    static __device__ __forceinline__ void encode_nearest(
        const float (&values)[Items], const writer& with, packed_codes<format, Items>& codes)
    {
        float scaled[Items];
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if constexpr (is_expanded) {
                scaled[i] = bent(values[i], with);
            } else {
                scaled[i] = settle_underflow<Underflow>(
                    multiply(values[i], with.with.encode_factor), values[i] != 0.0f);
                if (format::sign_bits == 0) scaled[i] = fmaxf(scaled[i], 0.0f);
            }
        }
        if constexpr (is_expanded && !standard::is_same_v<Underflow, gradual>) {
            if (with.reaches_subnormals) {
                GESSO_UNROLL
                for (int i = 0; i < Items; ++i) {
                    scaled[i] = settle_underflow<Underflow>(scaled[i], values[i] != 0.0f);
                }
            }
        }
        GESSO_UNROLL
        for (int i = 0; i < Items; i += 2) {
            const uint32_t pair = encode_pair<format>(scaled[i], i + 1 < Items ? scaled[(i + 1) % Items] : 0.0f);
            codes.words[i / 4] = i % 4 == 0 ? pair : codes.words[i / 4] | (pair << 16);
        }
    }

    template<class Rounding, class Underflow, class Random>
    static __device__ __forceinline__ typename format::code_type encode_one(
        float value, const writer& with, Random random, int item)
    {
        if constexpr (is_stochastic<Rounding>) return Codec::encode(value, with.with, random(item), Underflow{});
        else return Codec::encode(value, with.with, nearest_even{}, Underflow{});
    }

    // Stochastic rounding of bent values, unbiased in the decoded value as rounds_away_bent() is: what is cut off, moved by
    // the correction, plus a random number below one step carries into the code or does not.
    template<class Underflow, int Items, class Random>
    static __device__ __forceinline__ void encode_stochastically(
        const float (&values)[Items], const writer& with, packed_codes<format, Items>& codes, Random random)
    {
        constexpr uint32_t step = 1u << fraction_bits;
        constexpr uint32_t exponent_base = static_cast<uint32_t>(127 - format::bias) << 23;
        // (hi - lo) / (2 q) = 2^-mantissa_bits / (2 s) for the significand s in [1, 2); 1/s by a line, within 0.043.
        const float weight = with.curvature * (0.5f / (1 << format::mantissa_bits)) * static_cast<float>(step);
        bool has_nan = false;
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            const float power = fabsf(bent(values[i], with));
            has_nan = has_nan || power != power;
            const uint32_t bits = bits_of(fminf(power, (format::max)()));
            const float one_plus_p = float_of(0x3F800000u | ((bits << format::mantissa_bits) & 0x7FFFFFu));
            const float significand = float_of(0x3F800000u | (bits & 0x7FFFFFu));
            const float variance = hardware_fused_multiply_add(3.0f - one_plus_p, one_plus_p, -2.0f);  // p (1 - p)
            const float inverse = hardware_fused_multiply_add(significand, -0.5f, 1.4571f);
            // Added to 2^23 * 1.5 the correction is an integer in the low bits of a float.
            const float moved = hardware_fused_multiply_add(hardware_multiply(variance, inverse), weight, 0x1.8p23f);
            const uint32_t carried =
                bits + (bits_of(moved) - 0x4B400000u) + (step - 1u - (random(i).bits >> (32 - fraction_bits)));
            uint32_t code = (carried - exponent_base) >> fraction_bits;
            // A representable value stays: the correction is zero there, and so is what is cut off.
            if constexpr (format::sign_bits == 1) code |= (bits_of(values[i]) >> 24) & 0x80u;
            codes.words[i / 4] = i % 4 == 0 ? code : codes.words[i / 4] | (code << (8 * (i % 4)));
        }
        if (with.reaches_subnormals || with.amax_bits == 0 || has_nan) {
            GESSO_UNROLL
            for (int i = 0; i < Items; ++i) codes.set(i, stochastic_any<Underflow>(values[i], with, random(i)));
        }
    }

    // The same for one value wherever it lies: between subnormal codes both neighbours are decoded.
    template<class Underflow>
    static __device__ __forceinline__ typename format::code_type stochastic_any(
        float value, const writer& with, stochastic_bits random)
    {
        if (!is_finite(value)) return code_for_nan<format>();
        const bool negative = format::sign_bits == 1 && (bits_of(value) >> 31) != 0;
        if (with.amax_bits == 0 || is_zero(value)) return finish<format, gradual, saturating>(0u, negative, false);
        const float power = fminf(fabsf(bent(value, with)), (format::max)());
        const cut at = cut_to<format>(bits_of(power), negative);
        bool moves = false;
        if (at.code >= uint32_t{format::min_normal_code}) {
            const float significand = static_cast<float>((bits_of(power) & 0x7FFFFFu) | 0x800000u);
            moves = rounds_away_bent(random, at, with.curvature,
                hardware_multiply(static_cast<float>(1u << at.shift) * 0.5f, hardware_reciprocal(significand)));
        } else if (at.remainder != 0) {
            const float inverse_k = hardware_reciprocal(with.k);
            const auto value_of = [&](uint32_t code) {
                const float distance = hardware_log2(decode_by_product(code)) - log2_max;
                return hardware_multiply(float_of(with.amax_bits), hardware_exp2(distance * inverse_k));
            };
            const float low = value_of(at.code);
            const float high = value_of(at.code + 1u);
            moves = static_cast<float>(random.bits >> 8) * 0x1p-24f * (high - low) < fabsf(value) - low;
        }
        return finish<format, Underflow, saturating>(at.code + (moves ? 1u : 0u), negative, true);
    }
};

}  // namespace detail

}  // namespace gesso
