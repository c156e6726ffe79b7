// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The codec: what the bytes of a compressed tensor mean, and nothing else. The one name to learn.
//
//   codec<e4m3, identity, per_tile<1, 16>, bfloat16>     an activation in groups of 16 with a bf16 scale
//   codec<e4m3, dynamic_power<>, per_group<128>>         a moment with range expansion
//   codec<float32, identity, unscaled>                   a moment kept in fp32
//
// A codec is a set of static functions on single elements; how elements get together is the business of a level
// (level/host.hpp, level/thread.hpp, ...). Three verbs: observe values into a statistic, fit parameters to a statistic,
// encode values with parameters.
#pragma once

#include <gesso/encoding/convert.hpp>
#include <gesso/expansion/power.hpp>
#include <gesso/granularity/group.hpp>
#include <gesso/granularity/statistic.hpp>

namespace gesso {

namespace detail {

// The smallest power of two not below amax / Format's max, as an E8M0 code: exponents and significands of the bits. NaN of
// a NaN amax.
template<class Format>
constexpr GESSO_HOST_DEVICE uint32_t power_of_two_scale(uint32_t amax_bits)
{
    if (amax_bits > 0x7F800000u) return e8m0::nan_code;
    const bool above = (amax_bits & 0x7FFFFFu) > (Format::max_bits & 0x7FFFFFu);
    const int exponent = static_cast<int>(amax_bits >> 23) - static_cast<int>(Format::max_bits >> 23) + (above ? 1 : 0);
    const int code = exponent + 127;
    return static_cast<uint32_t>(code < 0 ? 0 : code);
}

// A scale as it is stored: fp32 to nearest (it is fp32 already), every narrower format upward.
template<class ScaleFormat>
constexpr GESSO_HOST_DEVICE typename ScaleFormat::code_type store_scale(float scale)
{
    if constexpr (standard::is_same_v<ScaleFormat, float32>) return bits_of(scale);
    else return encode<ScaleFormat>(scale, upward{});
}

// No scale: the code is the number.
template<class Format>
struct unscaled_group {
    struct parameters {};

    static GESSO_HOST_DEVICE parameters fit(const amax_statistic&) { return {}; }

    template<class Rounding, class Underflow, class Math>
    static GESSO_HOST_DEVICE typename Format::code_type encode(
        float value, const parameters&, Rounding rounding, Underflow underflow, Math)
    {
        if (!is_finite(value)) return code_for_nan<Format>();
        return gesso::encode<Format>(value, rounding, underflow, saturating{});
    }
    template<class Math>
    static GESSO_HOST_DEVICE float decode(typename Format::code_type code, const parameters&, Math)
    {
        return gesso::decode<Format>(code);
    }
};

// A scale and nothing else.
template<class Format, class ScaleFormat>
struct scaled_group {
    using scale_code_type = typename ScaleFormat::code_type;

    // scale: the decode multiplier, in units of the value per unit of the code's value. encode_factor: 1 / scale.
    struct parameters {
        float scale = 0.0f;
        float encode_factor = 0.0f;
    };

    // Below this amax the scale stays: 2^-126, so that scale and factor are normal numbers for every group.
    static constexpr uint32_t floor_bits = Format::max_bits - (uint32_t{126} << 23);

    static GESSO_HOST_DEVICE parameters fit(const amax_statistic& known)
    {
        const uint32_t amax_bits = known.amax_bits < floor_bits ? floor_bits : known.amax_bits;
        if constexpr (!ScaleFormat::has_zero) {
            return load(static_cast<scale_code_type>(power_of_two_scale<Format>(amax_bits)));
        } else {
            return load(store_scale<ScaleFormat>(divide(float_of(amax_bits), (Format::max)())));
        }
    }
    // A given scale: static, delayed or shared. Anything but a number from 2^-127 up is a mistake that must not look
    // like data: every element then encodes to and decodes as NaN (a zero scale decodes to zero: zero bytes are zeros).
    static GESSO_HOST_DEVICE parameters fit(float given_scale) { return load(store_given(given_scale)); }

    static GESSO_HOST_DEVICE scale_code_type store_given(float scale)
    {
        const uint32_t bits = bits_of(scale);
        if (bits == 0 && ScaleFormat::has_zero) return static_cast<scale_code_type>(0);
        if (bits < 0x00400000u || bits >= 0x7F800000u) return ScaleFormat::nan_code;
        return store_scale<ScaleFormat>(scale);
    }
    static GESSO_HOST_DEVICE parameters load(scale_code_type scale_code)
    {
        const float scale = gesso::decode<ScaleFormat>(scale_code);
        const uint32_t bits = bits_of(scale);
        if (bits >= 0x00400000u && bits < 0x7F800000u) return {scale, divide(1.0f, scale)};
        return {(bits & 0x7FFFFFFFu) == 0 ? 0.0f : float_of(0x7FFFFFFFu), float_of(0x7FFFFFFFu)};
    }
    static GESSO_HOST_DEVICE scale_code_type scale_code(const parameters& with)
    {
        return store_scale<ScaleFormat>(with.scale);
    }

    template<class Rounding, class Underflow, class Math>
    static GESSO_HOST_DEVICE typename Format::code_type encode(
        float value, const parameters& with, Rounding rounding, Underflow, Math)
    {
        const float scaled = multiply(value, with.encode_factor);
        if (!is_finite(value) || is_nan(scaled)) return code_for_nan<Format>();
        const bool negative = (bits_of(value) >> 31) != 0;
        if (Format::sign_bits == 0 && negative) return 0;
        const cut at = cut_to<Format>(magnitude_bits(scaled), negative);
        const uint32_t code = at.code + (rounding.rounds_away(at) ? 1u : 0u);
        return finish<Format, Underflow, saturating>(code, negative, magnitude_bits(value) != 0);
    }
    template<class Math>
    static GESSO_HOST_DEVICE float decode(typename Format::code_type code, const parameters& with, Math)
    {
        const float value = multiply(gesso::decode<Format>(code), with.scale);
        if constexpr (ScaleFormat::bits == 32) return value;
        // A scale that was rounded up can lift the largest numbers of all past fp32's; NaN and a NaN scale stay NaN.
        else return magnitude_bits(value) == 0x7F800000u ? float_of(bits_of(value) - 1u) : value;
    }
};

// amax and the exponent of an expansion.
template<class Format, class Expansion, class ScaleFormat>
struct expanded_group {
    using scale_code_type = typename ScaleFormat::code_type;
    using statistic = standard::conditional_t<Expansion::needs_amin, range_statistic, amax_statistic>;

    // amax: what the largest code stands for; 0 for an all-zero group. log2_amax: its log2 in units of 2^-23.
    // numerator: k in units of 1 / Expansion::denominator. curvature: 1 - 1/k, for stochastic rounding.
    struct parameters {
        float amax = 0.0f;
        int32_t log2_amax = 0;
        int numerator = 0;
        float curvature = 0.0f;
    };

    static GESSO_HOST_DEVICE parameters fit(const statistic& known)
    {
        if (known.amax_bits < 0x00800000u) return {};
        const scale_code_type amax_code = store_scale<ScaleFormat>(known.amax());
        if constexpr (Expansion::needs_amin) {
            const uint32_t amax_bits = bits_of(gesso::decode<ScaleFormat>(amax_code));
            const int32_t spread = log2_fixed(amax_bits) - log2_fixed(known.amin_bits);
            return load(amax_code, static_cast<uint8_t>(Expansion::template sixteenths<Format>(spread)));
        } else {
            return load(amax_code, uint8_t{0});
        }
    }
    // The stored exponent byte holds k in sixteenths (dynamic_power); for a fixed power it does not exist and is ignored.
    static GESSO_HOST_DEVICE parameters load(scale_code_type amax_code, uint8_t exponent)
    {
        const float amax = gesso::decode<ScaleFormat>(amax_code);
        const uint32_t bits = bits_of(amax);
        int numerator = exponent;
        if constexpr (!Expansion::needs_amin) numerator = Expansion::numerator;
        if ((bits & 0x7FFFFFFFu) < 0x00800000u) return {};
        if (bits >= 0x7F800000u || numerator == 0) return {float_of(0x7FFFFFFFu), 0, 1, 0.0f};
        const float curvature = divide(static_cast<float>(numerator - Expansion::denominator), static_cast<float>(numerator));
        return {amax, log2_fixed(bits), numerator, curvature};
    }
    static GESSO_HOST_DEVICE scale_code_type scale_code(const parameters& with)
    {
        return store_scale<ScaleFormat>(with.amax);
    }
    static GESSO_HOST_DEVICE uint8_t exponent_code(const parameters& with)
    {
        return static_cast<uint8_t>(with.numerator);
    }

    template<class Rounding, class Underflow, class Math>
    static GESSO_HOST_DEVICE typename Format::code_type encode(
        float value, const parameters& with, Rounding rounding, Underflow, Math math)
    {
        const uint32_t magnitude = magnitude_bits(value);
        const bool negative = (bits_of(value) >> 31) != 0;
        if (magnitude >= 0x7F800000u) return code_for_nan<Format>();
        if (Format::sign_bits == 0 && negative) return 0;
        // A denormal is a zero.
        if (magnitude < 0x00800000u) return finish<Format, gradual, saturating>(0u, negative, false);
        // An element above zero in a group of amax 0 or NaN: parameters of other data. It must not become a number.
        if (!is_positive(with.amax)) return code_for_nan<Format>();
        if (magnitude >= bits_of(with.amax)) {
            return finish<Format, gradual, saturating>(uint32_t{Format::max_code}, negative, true);
        }
        const float bent = bend<Format>(magnitude, with.log2_amax, with.numerator, Expansion::denominator);
        const cut at = cut_to<Format>(bits_of(bent), negative);
        const uint32_t code = at.code + (moves_away(rounding, at, bent, magnitude, with, math) ? 1u : 0u);
        return finish<Format, Underflow, saturating>(code, negative, true);
    }
    template<class Math>
    static GESSO_HOST_DEVICE float decode(typename Format::code_type code, const parameters& with, Math)
    {
        const uint32_t value = bits_of(gesso::decode<Format>(code));
        const uint32_t magnitude = value & 0x7FFFFFFFu;
        if (magnitude >= 0x7F800000u || magnitude == 0) return float_of(value);
        const uint32_t sign = value & 0x80000000u;
        if (!is_positive(with.amax)) return float_of(sign | bits_of(with.amax));  // zero, or NaN
        return float_of(sign | bits_of(unbend<Format>(magnitude, with.amax, with.numerator, Expansion::denominator)));
    }

private:
    template<class Rounding, class Math>
    static GESSO_HOST_DEVICE bool moves_away(
        Rounding rounding, const cut& at, float bent, uint32_t magnitude, const parameters& with, Math math)
    {
        if constexpr (!standard::is_same_v<Rounding, stochastic_bits>) {
            return rounding.rounds_away(at);
        } else if (at.code >= uint32_t{Format::min_normal_code}) {
            const float significand = static_cast<float>((bits_of(bent) & 0x7FFFFFu) | 0x800000u);
            const float half_step = divide(static_cast<float>(uint32_t{1} << at.shift), multiply(significand, 2.0f));
            return rounds_away_bent(rounding, at, with.curvature, half_step);
        } else {
            // Between subnormals one step is no longer small beside the number: decode both neighbours.
            if (at.remainder == 0 || rounding.bits == 0) return false;
            const float low = decode(static_cast<typename Format::code_type>(at.code), with, math);
            const float high = decode(static_cast<typename Format::code_type>(at.code + 1u), with, math);
            const float probability = divide(add(float_of(magnitude), negate(low)), add(high, negate(low)));
            return is_below(multiply(static_cast<float>(~rounding.bits >> 8), 0x1p-24f), probability);
        }
    }
};

template<class Format, class Expansion, class Granularity, class ScaleFormat>
struct select_group {
    using type = expanded_group<Format, Expansion, ScaleFormat>;
};
template<class Format, class Granularity, class ScaleFormat>
struct select_group<Format, identity, Granularity, ScaleFormat> {
    using type = scaled_group<Format, ScaleFormat>;
};
template<class Format, class ScaleFormat>
struct select_group<Format, identity, unscaled, ScaleFormat> {
    using type = unscaled_group<Format>;
};

}  // namespace detail

// What the bytes mean.
//   Format       what a code stands for: e4m3, e5m2, bfloat16, float32, a user's (encoding/format.hpp)
//   Expansion    identity, power<N, D>, dynamic_power<Rule> (expansion/power.hpp)
//   Granularity  per_group<N>, per_tile<R, C>, per_row, per_tensor, unscaled (granularity/group.hpp)
//   ScaleFormat  how a group's scale is stored: float32, bfloat16, e8m0
// Plain group: code = round(x * (1 / scale)), x = value(code) * scale, scale = round_up(max(amax, floor) / max(Format)).
// Expanded group: code = round(max (|x| / amax)^k), x = amax (value(code) / max)^(1 / k), sign kept; denormals are zero.
// Elements above the largest number saturate; NaN and infinity become NaN and take no part in the statistic; zero decodes
// to exactly zero. Everything is stateless; parameters are trivially copyable and valid on host and device.
// Source: COAT, sections 3 and 4; docs/numerics.md has the arithmetic and its error bounds.
template<class Format, class Expansion, class Granularity, class ScaleFormat = float32>
struct codec {
    static_assert(detail::is_flat<Granularity> || detail::is_tiled<Granularity>,
        "gesso::codec: Granularity must have `group_size` (flat tensors) or `tile_rows` and `tile_columns` (matrices)");
    static_assert(ScaleFormat::has_nan,
        "gesso::codec: ScaleFormat needs a NaN, so that a missing scale is not taken for a number; use float32, "
        "bfloat16 or e8m0");
    static_assert(!standard::is_same_v<Granularity, unscaled> || standard::is_same_v<Expansion, identity>,
        "gesso::codec: an expansion needs a group to take its range from; use per_group<N>, or identity with unscaled");
    static_assert(standard::is_same_v<Expansion, identity> || Format::has_zero,
        "gesso::codec: an expanded group needs a format with zero");
    static_assert(standard::is_same_v<Expansion, identity> || ScaleFormat::has_zero,
        "gesso::codec: an expanded group stores its amax, and zero for an all-zero group; use float32 or bfloat16");
    static_assert(Format::exponent_bits < 8 || standard::is_same_v<Granularity, unscaled>,
        "gesso::codec: a format with 8 exponent bits spans fp32's whole range and takes no scale; use unscaled");

    using group = typename detail::select_group<Format, Expansion, Granularity, ScaleFormat>::type;

    using format = Format;
    using expansion = Expansion;
    using granularity = Granularity;
    using scale_format = ScaleFormat;
    using code_type = typename Format::code_type;
    using scale_code_type = typename ScaleFormat::code_type;
    using parameters = typename group::parameters;
    using statistic = standard::conditional_t<Expansion::needs_amin, range_statistic, amax_statistic>;

    static constexpr bool has_scale = !standard::is_same_v<Granularity, unscaled>;
    static constexpr bool has_exponent = Expansion::needs_amin;

    // statistic of a group -> its parameters. An empty or all-zero group is valid; a NaN amax makes a NaN scale and every
    // element NaN.
    static GESSO_HOST_DEVICE parameters fit(const statistic& known) { return group::fit(known); }

    // A scale from elsewhere -> parameters (plain groups). Unit: value per unit of a code's value. Values that exceed it
    // saturate. A scale that is negative, NaN, infinite or below 2^-127 makes every element NaN.
    static GESSO_HOST_DEVICE parameters fit(float given_scale)
    {
        static_assert(has_scale && standard::is_same_v<Expansion, identity>,
            "gesso::codec: only a plain group can take a given scale; an expanded group is fitted to a statistic");
        return group::fit(given_scale);
    }

    // Stored bytes of a group -> its parameters, and back. Zero bytes are a group of zeros.
    static GESSO_HOST_DEVICE parameters load(scale_code_type scale_code, uint8_t exponent = 0)
    {
        if constexpr (!has_scale) {
            return {};
        } else if constexpr (standard::is_same_v<Expansion, identity>) {
            return group::load(scale_code);
        } else {
            return group::load(scale_code, exponent);
        }
    }
    static GESSO_HOST_DEVICE scale_code_type scale_code(const parameters& with)
    {
        if constexpr (has_scale) return group::scale_code(with);
        else return scale_code_type{0};
    }
    static GESSO_HOST_DEVICE uint8_t exponent_code(const parameters& with)
    {
        if constexpr (has_exponent) return group::exponent_code(with);
        else return uint8_t{0};
    }

    // value -> its code in a group with these parameters. rounding: nearest_even, upward or stochastic_bits (unbiased in
    // the decoded value, also through an expansion). underflow: gradual, keep or flush. Always saturates.
    template<class Rounding = nearest_even, class Underflow = gradual, class Math = exact_math>
    static GESSO_HOST_DEVICE code_type encode(
        float value, const parameters& with, Rounding rounding = {}, Underflow underflow = {}, Math math = {})
    {
        return group::encode(value, with, rounding, underflow, math);
    }

    // A code -> its value in a group with these parameters.
    template<class Math = exact_math>
    static GESSO_HOST_DEVICE float decode(code_type code, const parameters& with, Math math = {})
    {
        return group::decode(code, with, math);
    }
};

}  // namespace gesso
