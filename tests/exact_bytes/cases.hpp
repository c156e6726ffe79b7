// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What is computed to compare compilers, machines, host and device: sweeps over single elements and groups,
// and AdamW runs. Inputs are put together from integers, so they are the same bits everywhere; everything
// that is computed runs on host and device. A program calls for_each_case() with a visitor:
//
//   visitor.sweep(name, sweep)  `sweep.at(i, words)` writes sweep.words 32-bit words, for each i below
//                               sweep.count; any thread may do it
//   visitor.adamw(name, run)    run.steps AdamW steps of a tensor of run.shape, from zero moments
//
// and hashes the words in order, or the bytes that the run leaves (hash.hpp).
#pragma once

#include <gesso/level/thread.hpp>
#include <gesso/optimizer/adamw.hpp>

#include <string>

namespace exact_bytes {

using namespace gesso;

// 32 bits that look random. The library's own hash is another one, so the two cannot hide each other's
// faults.
constexpr GESSO_HOST_DEVICE uint32_t scrambled(uint32_t a, uint32_t b)
{
    uint32_t value = a * 0x9E3779B9u + b * 0x7F4A7C15u + 0x1B873593u;
    for (int i = 0; i < 3; ++i) {
        value ^= value >> 15;
        value *= 0x2C1B3C6Du;
        value ^= value >> 13;
    }
    return value;
}

// Which NaN an arithmetic operation returns is the processor's choice; the library never relies on it.
constexpr GESSO_HOST_DEVICE uint32_t without_payload(float value)
{
    return is_nan(value) ? 0x7FFFFFFFu : bits_of(value);
}

// All signs and exponents and the first 8 bits of the fraction; below them zeros, ties of several formats or
// noise.
constexpr GESSO_HOST_DEVICE float swept_number(index_t i)
{
    const uint32_t index = static_cast<uint32_t>(i);
    const uint32_t noise = scrambled(index, 1u);
    constexpr uint32_t ties[3] = {0u, 0x1000u, 0x4000u};
    const uint32_t choice = noise >> 30;
    const uint32_t low = choice < 3u ? ties[choice] : noise & 0x7FFFu;
    return float_of((index << 15) | low);
}

constexpr uint64_t sweep_seed = 0x0123456789ABCDEFu;
constexpr uint64_t sweep_step = 77;

// How one element is rounded.
struct by_nearest {
    static constexpr GESSO_HOST_DEVICE nearest_even of() { return {}; }
    static constexpr GESSO_HOST_DEVICE nearest_even at(index_t) { return {}; }
};
struct by_upward {
    static constexpr GESSO_HOST_DEVICE upward of() { return {}; }
    static constexpr GESSO_HOST_DEVICE upward at(index_t) { return {}; }
};
struct by_stochastic {
    static constexpr GESSO_HOST_DEVICE stochastic of() { return {sweep_seed, sweep_step}; }
    static constexpr GESSO_HOST_DEVICE stochastic_bits at(index_t i) { return of().at(i); }
};

template<class Format, class Rounding, class Underflow, class Saturation>
struct encode_sweep {
    static constexpr index_t count = index_t{1} << 17;
    static constexpr int words = 1;
    static GESSO_HOST_DEVICE void at(index_t i, uint32_t* to)
    {
        to[0] = encode<Format>(swept_number(i), Rounding::at(i), Underflow{}, Saturation{});
    }
};

template<class Format>
struct decode_sweep {
    // Every code, or a stride through those of fp32.
    static constexpr index_t count = index_t{1} << (Format::bits < 16 ? Format::bits : 16);
    static constexpr int words = 1;
    static GESSO_HOST_DEVICE void at(index_t i, uint32_t* to)
    {
        const uint32_t code = static_cast<uint32_t>(i) * (Format::bits > 16 ? 65521u : 1u);
        to[0] = bits_of(decode<Format>(static_cast<typename Format::code_type>(code)));
    }
};

struct log2_sweep {
    static constexpr index_t count = index_t{1} << 18;
    static constexpr int words = 1;
    static GESSO_HOST_DEVICE void at(index_t i, uint32_t* to)
    {
        // The normal numbers are 0x00800000 to 0x7F7FFFFF.
        const uint32_t bits =
            0x00800000u + static_cast<uint32_t>(i) * (0x7F000000u / static_cast<uint32_t>(count));
        to[0] = static_cast<uint32_t>(log2_fixed(bits + (scrambled(static_cast<uint32_t>(i), 2u) & 0xFFu)));
    }
};

struct exp2_sweep {
    static constexpr index_t count = index_t{1} << 18;
    static constexpr int words = 1;
    static GESSO_HOST_DEVICE void at(index_t i, uint32_t* to)
    {
        // From 2^-130 to almost 2^126, every whole exponent among them.
        const int64_t exponent = int64_t{-130} * (1 << 27) + ((i * 256) << 27) / count;
        const uint32_t noise = scrambled(static_cast<uint32_t>(i), 3u);
        to[0] = bits_of(exp2_fixed(exponent + (i % 8 == 0 ? 0 : static_cast<int64_t>(noise & 0x1FFFFu))));
    }
};

// The five operations, on numbers near each other and on any two; denormals, zeros and infinities among them.
struct arithmetic_sweep {
    static constexpr index_t count = index_t{1} << 15;
    static constexpr int words = 5;
    static GESSO_HOST_DEVICE void at(index_t i, uint32_t* to)
    {
        const uint32_t index = static_cast<uint32_t>(i);
        const uint32_t a_bits = scrambled(index, 4u);
        const uint32_t exponent_of_a = a_bits & 0x7F800000u;
        const uint32_t near = i % 4 != 0 ? 1u : 0u;
        const uint32_t b_bits = scrambled(index, 5u);
        const float a = float_of(a_bits);
        const float b = float_of(near != 0 ? (b_bits & 0x807FFFFFu) | exponent_of_a : b_bits);
        const float c =
            float_of(near != 0 ? bits_of(multiply(a, b)) ^ 0x80000000u ^ (b_bits >> 28) : b_bits * 3u);
        to[0] = without_payload(add(a, b));
        to[1] = without_payload(multiply(a, b));
        to[2] = without_payload(fused_multiply_add(a, b, is_finite(c) ? c : a));
        to[3] = without_payload(divide(a, b));
        to[4] = without_payload(square_root(a));
    }
};

// Element i of a group: groups of every size of number, narrow and wide, constant, empty, with denormals,
// NaN, infinity.
constexpr GESSO_HOST_DEVICE float group_number(index_t group, int i)
{
    const uint32_t number = static_cast<uint32_t>(group);
    const uint32_t noise = scrambled(number * 64u + static_cast<uint32_t>(i), 6u);
    const uint32_t kind = scrambled(number, 7u);
    const uint32_t top = 1u + kind % 254u;                                  // exponent of the largest
    const uint32_t below = (noise >> 24) % (1u + (kind >> 8) % 50u);        // so far below it
    const uint32_t field = top > below ? top - below : 0u;
    // Two in three groups have the few fraction bits of bf16, for then ties happen.
    const uint32_t fraction = number % 3u == 0u ? noise & 0x7FFFFFu : noise & 0x7F0000u;
    const uint32_t sign = (noise << 8) & 0x80000000u;
    const uint32_t bits = sign | (field << 23) | fraction;
    switch (kind >> 27) {
    case 0: return float_of((top << 23) | (kind & 0x7FFFFFu));              // constant
    case 1: return float_of(i == 3 ? bits : sign);                          // one among zeros
    case 2: return float_of(i == 2 ? 0x7FC00123u : bits);                   // a NaN
    case 3: return float_of(i == 1 ? sign | 0x7F800000u : bits);            // an infinity
    case 4: return float_of(noise % 4u == 0u ? sign : bits);                // zeros
    default: return float_of(bits);
    }
}

// B14: bf16 numbers x below a bf16 amax, from 32 to 512: many are exact ties, which a reciprocal that is off by one
// unit in its last place would move. 39 in a group of amax 104 or 52 is one.
struct tie_sweep {
    static constexpr index_t count = index_t{1} << 18;
    static constexpr int words = 1;
    static GESSO_HOST_DEVICE void at(index_t i, uint32_t* to)
    {
        using tied = codec<e4m3, identity, per_group<4>>;
        const uint32_t amax = 0x4200u + (static_cast<uint32_t>(i) >> 9);
        const uint32_t below = static_cast<uint32_t>(i) & 0x1FFu;
        amax_statistic known;
        known.observe(float_of(amax << 16));
        to[0] = tied::encode(float_of((amax - below) << 16), tied::fit(known));
    }
};

// A group of 4 in one thread: fit, encode, decode. Words: codes, scale, exponent, decoded numbers.
template<class Codec, class Rounding, class Underflow>
struct group_sweep {
    static constexpr int items = 4;
    static constexpr index_t count = index_t{1} << 13;
    static constexpr int words = 2 * items + 2;
    static GESSO_HOST_DEVICE void at(index_t group, uint32_t* to)
    {
        using level = thread_codec<Codec, items>;
        float values[items];
        for (int i = 0; i < items; ++i) values[i] = group_number(group, i);
        typename Codec::code_type codes[items] = {};
        // A ragged group now and then.
        const int valid = group % 7 == 0 ? 3 : items;
        const auto with =
            level::compress(values, codes, Rounding::of(), Underflow{}, group * items, valid);
        to[items] = Codec::scale_code(with);
        to[items + 1] = Codec::exponent_code(with);
        // Read back with what was stored.
        float decoded[items] = {};
        level::decode(
            codes, Codec::load(Codec::scale_code(with), Codec::exponent_code(with)), decoded, valid);
        for (int i = 0; i < items; ++i) {
            to[i] = codes[i];
            to[items + 2 + i] = bits_of(decoded[i]);
        }
    }
};

// The numbers of a run. Parameters between 2^-8 and 2, gradients with a long tail below 1/4, both signs.
constexpr GESSO_HOST_DEVICE float run_number(uint32_t noise, uint32_t top_field)
{
    uint32_t below = 0;
    while (below < 16u && ((noise >> below) & 1u) == 0u) ++below;  // geometric
    return float_of((noise & 0x80000000u) | ((top_field - below) << 23) | ((noise << 4) & 0x7FFFFFu));
}
constexpr GESSO_HOST_DEVICE float initial_parameter(index_t i)
{
    return run_number(scrambled(static_cast<uint32_t>(i), 8u) | 0x100u, 127u);
}
// 100 steps. Elements 256 to 383 never have a gradient after the tenth step, one in 32 has none now and then,
// every other one shrinks 16 times from the middle on.
constexpr GESSO_HOST_DEVICE float gradient(int64_t step, index_t i)
{
    const uint32_t noise = scrambled(static_cast<uint32_t>(i) * 128u + static_cast<uint32_t>(step), 9u);
    if (step > 10 && i >= 256 && i < 384) return 0.0f;
    if (scrambled(noise, 10u) % 32u == 0u) return float_of(noise & 0x80000000u);
    return run_number(noise, step > 50 && i % 2 == 1 ? 120u : 124u);
}

struct run_shape {
    index_t count;
    index_t row_length;
    index_t first;
};

// A run whose types are Parameter, Gradient and the two codecs.
template<class Parameter, class Gradient, class FirstCodec, class SecondCodec>
struct adamw_run {
    using parameter = Parameter;
    using gradient = Gradient;
    using first_codec = FirstCodec;
    using second_codec = SecondCodec;
    static constexpr int64_t steps = 100;

    run_shape shape;
    adamw_configuration configuration;
    adamw_rounding rounding;
    float learning_rate_scale = 1.0f;
    float weight_decay_scale = 1.0f;

    // Before the first step; advance() it before each.
    step_state state() const
    {
        step_state now;
        now.seed = 0xFEDCBA9876543210u;
        now.gradient_scale = 3.0f;
        now.clip_factor = 0.7f;
        return now;
    }
};

// A user's formats beside the library's.
struct e3m4 : float_format<1, 3, 4, special::finite_nan> {};
struct e2m1 : float_format<1, 2, 1, special::none> {};

template<class Format, int Size>
using scaled = codec<Format, identity, per_group<Size>>;
template<class Format, int Size, class Rule = exponent_rule<>>
using expanded = codec<Format, dynamic_power<Rule>, per_group<Size>>;

template<class Format, class Visitor>
void visit_format(Visitor& visitor, const std::string& format)
{
    visitor.sweep("decode." + format, decode_sweep<Format>{});
    visitor.sweep("encode." + format + ".nearest", encode_sweep<Format, by_nearest, gradual, saturating>{});
    visitor.sweep("encode." + format + ".upward", encode_sweep<Format, by_upward, gradual, saturating>{});
    visitor.sweep(
        "encode." + format + ".stochastic", encode_sweep<Format, by_stochastic, gradual, saturating>{});
    visitor.sweep("encode." + format + ".nearest.nonsaturating",
        encode_sweep<Format, by_nearest, gradual, nonsaturating>{});
    visitor.sweep("encode." + format + ".upward.nonsaturating",
        encode_sweep<Format, by_upward, gradual, nonsaturating>{});
    if constexpr (Format::has_zero) {
        visitor.sweep(
            "encode." + format + ".nearest.flush", encode_sweep<Format, by_nearest, flush, saturating>{});
        visitor.sweep(
            "encode." + format + ".stochastic.keep", encode_sweep<Format, by_stochastic, keep, saturating>{});
    }
}

template<class Codec, class Visitor>
void visit_codec(Visitor& visitor, const std::string& codec)
{
    visitor.sweep("group." + codec + ".nearest", group_sweep<Codec, by_nearest, gradual>{});
    visitor.sweep("group." + codec + ".upward", group_sweep<Codec, by_upward, flush>{});
    visitor.sweep("group." + codec + ".stochastic", group_sweep<Codec, by_stochastic, keep>{});
}

// Three ragged shapes (a flat tensor, rows, a shard far into a tensor), three roundings, two sets of rates.
template<class Parameter, class Gradient, class FirstCodec, class SecondCodec, class Visitor>
void visit_moments(Visitor& visitor, const std::string& types)
{
    const adamw_rounding nearest{moment_rounding::nearest, moment_rounding::nearest, false};
    const adamw_rounding automatic{moment_rounding::automatic, moment_rounding::automatic, true};
    const adamw_rounding random{moment_rounding::stochastic, moment_rounding::stochastic, true};
    const adamw_configuration slow{1e-3, 0.9, 0.999, 1e-8, 0.1};
    const adamw_configuration fast{3e-2, 0.95, 0.95, 1e-12, 0.01};
    // A multiple of the least common multiple of all the group sizes.
    const index_t far = (index_t{1} << 40) / 384 * 384;
    using run = adamw_run<Parameter, Gradient, FirstCodec, SecondCodec>;
    visitor.adamw("adamw." + types + ".flat", run{{1000, 0, 0}, slow, nearest});
    visitor.adamw("adamw." + types + ".rows", run{{900, 387, 0}, slow, automatic, 0.7f, 1.3f});
    visitor.adamw("adamw." + types + ".shard", run{{515, 0, far}, fast, random});
}

template<class Visitor>
void for_each_case(Visitor& visitor)
{
    visitor.sweep("log2_fixed", log2_sweep{});
    visitor.sweep("exp2_fixed", exp2_sweep{});
    visitor.sweep("arithmetic", arithmetic_sweep{});
    visitor.sweep("ties", tie_sweep{});

    visit_format<e4m3>(visitor, "e4m3");
    visit_format<e5m2>(visitor, "e5m2");
    visit_format<unsigned_e4m4>(visitor, "unsigned_e4m4");
    visit_format<bfloat16>(visitor, "bfloat16");
    visit_format<float16>(visitor, "float16");
    visit_format<float32>(visitor, "float32");
    visit_format<e8m0>(visitor, "e8m0");
    visit_format<e3m4>(visitor, "e3m4");
    visit_format<e2m1>(visitor, "e2m1");

    visit_codec<codec<float32, identity, unscaled>>(visitor, "float32");
    visit_codec<codec<bfloat16, identity, unscaled>>(visitor, "bfloat16");
    visit_codec<scaled<e4m3, 4>>(visitor, "e4m3");
    visit_codec<scaled<e5m2, 4>>(visitor, "e5m2");
    visit_codec<scaled<unsigned_e4m4, 4>>(visitor, "unsigned_e4m4");
    visit_codec<scaled<e2m1, 4>>(visitor, "e2m1");
    visit_codec<codec<e4m3, identity, per_group<4>, bfloat16>>(visitor, "e4m3.bfloat16_scale");
    visit_codec<codec<e4m3, identity, per_group<4>, e8m0>>(visitor, "e4m3.e8m0_scale");
    visit_codec<expanded<e4m3, 4>>(visitor, "e4m3.expanded");
    visit_codec<expanded<e5m2, 4>>(visitor, "e5m2.expanded");
    visit_codec<expanded<unsigned_e4m4, 4>>(visitor, "unsigned_e4m4.expanded");
    visit_codec<expanded<e3m4, 4>>(visitor, "e3m4.expanded");
    visit_codec<expanded<e4m3, 4, reference_rule>>(visitor, "e4m3.reference");
    visit_codec<expanded<e4m3, 4, exponent_rule<full_range_bound, 1>>>(visitor, "e4m3.full_range");
    visit_codec<codec<e4m3, dynamic_power<>, per_group<4>, bfloat16>>(
        visitor, "e4m3.expanded.bfloat16_scale");
    visit_codec<codec<e4m3, power<2>, per_group<4>>>(visitor, "e4m3.squared");
    visit_codec<codec<unsigned_e4m4, power<1, 2>, per_group<4>>>(visitor, "unsigned_e4m4.root");

    using fp32_moment = codec<float32, identity, unscaled>;
    using bf16_moment = codec<bfloat16, identity, unscaled>;
    visit_moments<float, float, fp32_moment, fp32_moment>(visitor, "fp32.moments_fp32");
    visit_moments<bf16, bf16, bf16_moment, bf16_moment>(visitor, "bf16.moments_bf16");
    visit_moments<fp16, fp16, scaled<e4m3, 128>, scaled<e5m2, 128>>(visitor, "fp16.scaled");
    visit_moments<float, float, expanded<e4m3, 128>, expanded<e4m3, 128>>(visitor, "fp32.expanded");
    visit_moments<bf16, bf16, expanded<e4m3, 128>, expanded<e4m3, 128>>(visitor, "bf16.expanded");
    visit_moments<fp16, float, expanded<e5m2, 64>, expanded<unsigned_e4m4, 128>>(
        visitor, "fp16.expanded_64_128");
    visit_moments<float, bf16, expanded<e4m3, 96>, scaled<unsigned_e4m4, 128>>(
        visitor, "fp32.expanded_96_scaled_128");
}

}  // namespace exact_bytes
