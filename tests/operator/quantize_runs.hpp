// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the tests of quantizers run through, on the host and on a device alike: matrices of every kind against the
// oracle. A test program brings a runner, a struct of static functions with the arguments of host_runner in
// quantize_test.cpp, and instantiates the cases here for it:
//   TEST_CASE_TEMPLATE_INVOKE(quantize_bytes, support::trial<runner, float, codec, unit>, ...);
#pragma once

#include "../support/generators.hpp"
#include "../support/quantize_oracle.hpp"
#include "../support/tally.hpp"
#include "matrix_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace support {

// One combination to try: elements of Value, a codec, the codec of the transposed matrix, and a unit of stage one
// from which the codec's scales can be fitted.
template<class Runner, class Value, class Codec, class Unit = typename Codec::granularity,
    class TransposedCodec = gesso::transposed_codec<Codec>>
struct trial {
    using runner = Runner;
    using value_type = Value;
    using codec_type = Codec;
    using unit = Unit;
    using transposed_type = TransposedCodec;
};

template<class Codec>
oracle::matrix_format format_of()
{
    using scale_format = typename Codec::scale_format;
    const oracle::format& codes =
        std::is_same<typename Codec::format, gesso::e4m3>::value ? oracle::e4m3() : oracle::e5m2();
    const oracle::scale_kind scales = std::is_same<scale_format, gesso::float32>::value ? oracle::scale_kind::float32
                                      : std::is_same<scale_format, gesso::bfloat16>::value
                                          ? oracle::scale_kind::bfloat16
                                          : oracle::scale_kind::e8m0;
    return {&codes, scales, Codec::granularity::tile_rows, Codec::granularity::tile_columns};
}

// mild: what activations look like. wild: stretches of constants, zeros of both signs, one outlier, denormals, tiny
// and huge numbers. faulty: wild, with NaN and infinities.
enum class kind_of_values { mild, wild, faulty };

inline double number_for(kind_of_values kind, std::int64_t row, std::int64_t column, generator::random_source& random)
{
    const double normal = random.normal();
    if (kind == kind_of_values::mild) return normal * std::exp(1.5 * random.normal());
    if (kind == kind_of_values::faulty && random.below(150) == 0) {
        const double infinity = std::numeric_limits<double>::infinity();
        return random.below(3) == 0 ? infinity : random.below(2) == 0 ? -infinity : std::nan("");
    }
    switch ((row / 3 + column / 16) % 8) {
    case 0: return column % 2 == 0 ? 0.0 : -0.0;
    case 1: return -0.75;
    case 2: return column % 16 == 7 ? 60000.0 : normal * 0.01;
    case 3: return normal * 1e-40;
    case 4: return normal * 1e-7;
    case 5: return normal * 1e-37;
    case 6: return normal * 1e37;
    default: return normal;
    }
}

// Fills the elements and poisons the padding; what the elements hold is returned. Huge numbers stay finite in T.
template<class T>
oracle::dense_matrix fill(matrix_memory<T>& memory, kind_of_values kind, std::uint64_t seed)
{
    oracle::dense_matrix dense;
    dense.rows = memory.view().rows;
    dense.columns = memory.view().columns;
    generator::random_source random(seed);
    for (std::int64_t row = 0; row < dense.rows; ++row) {
        for (std::int64_t column = 0; column < dense.columns; ++column) {
            const float wanted = static_cast<float>(number_for(kind, row, column, random));
            T value = gesso::element<T>::store(wanted);
            if (std::isfinite(wanted) && !std::isfinite(gesso::element<T>::load(value))) {
                value = gesso::element<T>::store(std::copysign(65504.0f, wanted));
            }
            memory.set(row, column, value);
            dense.values.push_back(static_cast<double>(memory.number(row, column)));
        }
    }
    memory.poison_padding();
    return dense;
}

// The random bits of each element, by its index in the matrix. (Where they come from has tests of its own.)
inline void draw(oracle::dense_matrix& dense, const gesso::stochastic& source)
{
    dense.random_bits.clear();
    for (std::int64_t i = 0; i < dense.rows * dense.columns; ++i) dense.random_bits.push_back(source.at(i).bits);
}

// Are these the codes and scales of `wanted`, and is all else what it was? Padding of edge blocks is zero where the
// scales were written, and canaries where they were not.
template<class Codec>
void expect_bytes(
    compressed_memory<Codec>& got, const oracle::compressed& wanted, tally& failures, bool scales_were_written = true)
{
    const auto view = got.view();
    failures.expect(got.is_intact(), [](auto& out) { out << "padding of codes was written"; });
    for (std::int64_t row = 0; row < view.rows; ++row) {
        for (std::int64_t column = 0; column < view.columns; ++column) {
            const std::uint32_t code = got.code(row, column);
            const std::uint32_t expected = wanted.codes[static_cast<std::size_t>(row * view.columns + column)];
            failures.expect(code == expected, [&](auto& out) {
                out << "code (" << row << ", " << column << ") of " << view.rows << " x " << view.columns << ": "
                    << code << ", expected " << expected;
            });
        }
    }
    const bool is_blocked = view.order == gesso::scale_order::cublaslt;
    std::vector<std::int64_t> expected(got.stored_scales(), -1);
    if (is_blocked && scales_were_written && wanted.down > 0) {
        for (std::int64_t row = 0; row < (wanted.down + 127) / 128 * 128; ++row) {
            for (std::int64_t column = 0; column < (wanted.across + 3) / 4 * 4; ++column) {
                expected[oracle::blocked_place(row, column, view.scale_stride)] = 0;
            }
        }
    }
    for (std::int64_t row = 0; row < wanted.down; ++row) {
        for (std::int64_t column = 0; column < wanted.across; ++column) {
            const std::size_t place = is_blocked ? oracle::blocked_place(row, column, view.scale_stride)
                                                 : static_cast<std::size_t>(row * view.scale_stride + column);
            expected[place] = wanted.scales[static_cast<std::size_t>(row * wanted.across + column)];
        }
    }
    for (std::size_t place = 0; place < expected.size(); ++place) {
        const std::int64_t canary = compressed_memory<Codec>::scale_canary();
        const std::int64_t should_be = expected[place] < 0 ? canary : expected[place];
        failures.expect(std::int64_t{got.scale(place)} == should_be, [&](auto& out) {
            out << "scale " << place << " of " << view.rows << " x " << view.columns << ": " << got.scale(place)
                << ", expected " << should_be;
        });
    }
}

// Copies the scales of `wanted` into memory, as somebody else's: given, delayed or shared.
template<class Codec>
void give_scales(compressed_memory<Codec>& to, const oracle::compressed& wanted)
{
    const auto view = to.view();
    for (std::int64_t row = 0; row < wanted.down; ++row) {
        for (std::int64_t column = 0; column < wanted.across; ++column) {
            view.scales[view.scale_index(row, column)] = static_cast<typename Codec::scale_code_type>(
                wanted.scales[static_cast<std::size_t>(row * wanted.across + column)]);
        }
    }
}

struct shape {
    std::int64_t rows;
    std::int64_t columns;
};
constexpr shape shapes[] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 17}, {17, 1}, {3, 33}, {130, 259}};

// A matrix and its outputs at some place in memory: packed at aligned addresses, or strided at odd ones.
template<class Trial>
struct quantizer_run {
    using value_type = typename Trial::value_type;
    using codec_type = typename Trial::codec_type;
    using transposed_type = typename Trial::transposed_type;
    static constexpr bool is_one_byte = sizeof(typename codec_type::scale_code_type) == 1;

    matrix_memory<value_type> values;
    compressed_memory<codec_type> plain;
    compressed_memory<transposed_type> transposed;

    template<class Codec>
    static typename compressed_memory<Codec>::placement placed(bool is_strided, gesso::scale_order order)
    {
        if (!is_strided) return {0, 0, 0, order};
        return {5, order == gesso::scale_order::cublaslt ? 4 : 3, 3 * sizeof(typename Codec::code_type), order};
    }
    quantizer_run(shape size, bool is_strided, gesso::scale_order order = gesso::scale_order::row_major)
        : values(size.rows, size.columns, is_strided ? size.columns + 3 : 0, is_strided ? sizeof(value_type) : 0)
        , plain(size.rows, size.columns, placed<codec_type>(is_strided, order))
        , transposed(size.columns, size.rows, placed<transposed_type>(is_strided, order))
    {}

    void expect(const oracle::dense_matrix& dense, oracle::nan_policy policy, bool with_plain, bool with_transposed,
        tally& failures)
    {
        if (with_plain) expect_bytes(plain, oracle::quantize(dense, format_of<codec_type>(), policy), failures);
        if (with_transposed) {
            expect_bytes(
                transposed, oracle::quantize(dense.transposed(), format_of<transposed_type>(), policy), failures);
        }
    }
};

template<class Trial>
std::vector<gesso::scale_order> orders_of()
{
    if (quantizer_run<Trial>::is_one_byte) return {gesso::scale_order::row_major, gesso::scale_order::cublaslt};
    return {gesso::scale_order::row_major};
}

// act(run, shape, seed) for every shape at every kind of place.
template<class Trial, class Act>
void each_run(Act act)
{
    std::uint64_t seed = 1;
    for (const shape& size : shapes) {
        for (const bool is_strided : {false, true}) {
            for (const gesso::scale_order order : orders_of<Trial>()) {
                act([&] { return quantizer_run<Trial>(size, is_strided, order); }, ++seed);
            }
        }
    }
}

TEST_CASE_TEMPLATE_DEFINE(
    "quantize gives the oracle's bytes: plain, with transpose, transpose alone", Trial, quantize_bytes)
{
    using runner = typename Trial::runner;
    tally failures;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        for (const bool with_plain : {true, false}) {
            for (const bool with_transposed : {true, false}) {
                if (!with_plain && !with_transposed) continue;
                auto run = make();
                const oracle::dense_matrix dense =
                    fill(run.values, seed % 2 == 0 ? kind_of_values::mild : kind_of_values::wild, seed);
                REQUIRE(runner::quantize(run.values, with_plain ? &run.plain : nullptr,
                    with_transposed ? &run.transposed : nullptr, gesso::nearest_even{}, gesso::ignore_nan{}));
                run.expect(dense, oracle::nan_policy::ignore, with_plain, with_transposed, failures);
                failures.expect(run.values.block().is_intact(), [](auto& out) { out << "the values were written"; });
            }
        }
    });
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE(
    "stochastic rounding takes the bits of the element's index, in both outputs", Trial, quantize_stochastic)
{
    using runner = typename Trial::runner;
    tally failures;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        auto run = make();
        oracle::dense_matrix dense = fill(run.values, kind_of_values::mild, seed);
        const gesso::stochastic source{seed, 7};
        draw(dense, source);
        REQUIRE(runner::quantize(run.values, &run.plain, &run.transposed, source, gesso::ignore_nan{}));
        run.expect(dense, oracle::nan_policy::ignore, true, true, failures);
    });
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE(
    "NaN and infinity are ignored, propagated or flagged, as the policy says", Trial, quantize_nan)
{
    using runner = typename Trial::runner;
    tally failures;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        auto run = make();
        const oracle::dense_matrix dense = fill(run.values, kind_of_values::faulty, seed);
        REQUIRE(runner::quantize(run.values, &run.plain, &run.transposed, gesso::nearest_even{}, gesso::ignore_nan{}));
        run.expect(dense, oracle::nan_policy::ignore, true, true, failures);

        auto propagating = make();
        fill(propagating.values, kind_of_values::faulty, seed);
        REQUIRE(runner::quantize(propagating.values, &propagating.plain, &propagating.transposed, gesso::nearest_even{},
            gesso::propagate_nan{}));
        propagating.expect(dense, oracle::nan_policy::propagate, true, true, failures);

        auto flagging = make();
        fill(flagging.values, kind_of_values::faulty, seed);
        const bool has_fault =
            oracle::observe(dense, format_of<typename Trial::codec_type>(), oracle::nan_policy::ignore).has_fault;
        for (const std::uint32_t before : {0u, 1u}) {
            std::uint32_t flag = before;
            REQUIRE(runner::quantize(
                flagging.values, &flagging.plain, &flagging.transposed, gesso::nearest_even{}, gesso::flag_nan{&flag}));
            const std::uint32_t expected = has_fault ? 1u : before;
            failures.expect(flag == expected, [&](auto& out) { out << "flag " << flag << ", expected " << expected; });
        }
        flagging.expect(dense, oracle::nan_policy::ignore, true, true, failures);
    });
    CHECK_MESSAGE(failures.passed(), failures.report());
}

// Stage one gives the oracle's amax, stage two and encode the bytes of one pass. (Where the codec is per tensor the unit
// may be anything.)
template<class Trial, class Amax>
void two_stages(kind_of_values kind, bool propagates, tally& failures)
{
    using runner = typename Trial::runner;
    using unit_codec = gesso::codec<gesso::e4m3, gesso::identity, typename Trial::unit>;
    const oracle::nan_policy policy = propagates ? oracle::nan_policy::propagate : oracle::nan_policy::ignore;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        auto run = make();
        const oracle::dense_matrix dense = fill(run.values, kind, seed);
        const oracle::compressed known = oracle::observe(dense, format_of<unit_codec>(), policy);
        matrix_memory<Amax> amax(known.down, known.across, known.across + static_cast<std::int64_t>(seed % 2));
        const bool observed =
            propagates ? runner::template observe<typename Trial::unit>(run.values, amax, gesso::propagate_nan{})
                       : runner::template observe<typename Trial::unit>(run.values, amax, gesso::ignore_nan{});
        REQUIRE(observed);
        for (std::int64_t row = 0; row < known.down; ++row) {
            for (std::int64_t column = 0; column < known.across; ++column) {
                const double got = static_cast<double>(amax.number(row, column));
                const double wanted = known.amax[static_cast<std::size_t>(row * known.across + column)];
                failures.expect(std::isnan(wanted) ? std::isnan(got) : got == wanted, [&](auto& out) {
                    out << "amax (" << row << ", " << column << "): " << got << ", expected " << wanted;
                });
            }
        }
        failures.expect(amax.is_intact(), [](auto& out) { out << "padding of the amax was written"; });
        REQUIRE(runner::fit(amax, run.plain));
        REQUIRE(runner::encode(run.values, &run.plain,
            static_cast<compressed_memory<typename Trial::transposed_type>*>(nullptr), gesso::nearest_even{}));
        run.expect(dense, policy, true, false, failures);
    });
}

TEST_CASE_TEMPLATE_DEFINE(
    "two stages give the amax of every unit and the bytes of one pass", Trial, quantize_two_stages)
{
    using value_type = typename Trial::value_type;
    tally failures;
    two_stages<Trial, float>(kind_of_values::mild, false, failures);
    two_stages<Trial, float>(kind_of_values::faulty, true, failures);
    two_stages<Trial, value_type>(kind_of_values::wild, false, failures);
    two_stages<Trial, value_type>(kind_of_values::faulty, true, failures);
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("encode takes the scales that it finds and leaves them alone", Trial, quantize_given)
{
    using runner = typename Trial::runner;
    using codec_type = typename Trial::codec_type;
    using transposed_type = typename Trial::transposed_type;
    tally failures;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        auto run = make();
        oracle::dense_matrix dense = fill(run.values, kind_of_values::faulty, seed);
        // Scales of other data, some far too small for these, so that much saturates.
        oracle::dense_matrix other = dense;
        for (double& value : other.values) value *= seed % 2 == 0 ? 1.0 / 64 : 3.0;
        const auto give = [&](auto& to, const oracle::dense_matrix& from, const oracle::dense_matrix& scaled_by,
                              const oracle::matrix_format& how) {
            oracle::compressed wanted = oracle::quantize(scaled_by, how);
            give_scales(to, wanted);
            oracle::encode(from, how, wanted);
            return wanted;
        };
        draw(dense, gesso::stochastic{seed, 3});
        const oracle::compressed plain = give(run.plain, dense, other, format_of<codec_type>());
        const oracle::compressed transposed =
            give(run.transposed, dense.transposed(), other.transposed(), format_of<transposed_type>());
        REQUIRE(runner::encode(run.values, &run.plain, &run.transposed, gesso::stochastic{seed, 3}));
        expect_bytes(run.plain, plain, failures, false);
        expect_bytes(run.transposed, transposed, failures, false);
    });
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE(
    "dequantize gives the oracle's numbers, rounded to the type asked for", Trial, dequantize_numbers)
{
    using runner = typename Trial::runner;
    using value_type = typename Trial::value_type;
    using codec_type = typename Trial::codec_type;
    const oracle::matrix_format how = format_of<codec_type>();
    tally failures;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        auto run = make();
        const oracle::dense_matrix dense = fill(run.values, kind_of_values::wild, seed);
        oracle::compressed wanted = oracle::quantize(dense, how);
        // Every code, and scales that are none, besides those of the data.
        for (std::size_t tile = 0; tile < wanted.scales.size(); ++tile) {
            if (tile % 7 == 3) wanted.scales[tile] = oracle::scale_code_of(std::nan(""), how);
            if (tile % 7 == 5 && how.scales != oracle::scale_kind::e8m0) wanted.scales[tile] = 0;
        }
        give_scales(run.plain, wanted);
        const auto view = run.plain.view();
        for (std::int64_t row = 0; row < view.rows; ++row) {
            for (std::int64_t column = 0; column < view.columns; ++column) {
                view.codes[row * view.stride + column] =
                    static_cast<typename codec_type::code_type>(row * view.columns + column);
            }
        }
        matrix_memory<value_type> back(
            view.rows, view.columns, view.columns + static_cast<std::int64_t>(seed % 3), seed % 2 * sizeof(value_type));
        REQUIRE(runner::dequantize(run.plain, back));
        failures.expect(back.is_intact(), [](auto& out) { out << "padding of the values was written"; });
        for (std::int64_t row = 0; row < view.rows; ++row) {
            for (std::int64_t column = 0; column < view.columns; ++column) {
                const double scale =
                    oracle::scale_of(wanted.scales[oracle::tile_of(row, column, dense, wanted, how)], how);
                const std::uint32_t code = run.plain.code(row, column);
                double number = oracle::number_of(code, scale, how);
                if (!std::isnan(number) && sizeof(value_type) == 2) {
                    const bool is_bf16 = gesso::element<value_type>::format::exponent_bits == 8;
                    const oracle::format& narrow = is_bf16 ? oracle::bfloat16() : oracle::float16();
                    number = narrow.decode(narrow.encode(number, oracle::direction::nearest_even, false));
                }
                const double got = static_cast<double>(back.number(row, column));
                const bool agrees =
                    std::isnan(number) ? std::isnan(got) : got == number && std::signbit(got) == std::signbit(number);
                failures.expect(agrees, [&](auto& out) {
                    out << "code " << code << " with scale " << scale << ": " << got << ", expected " << number;
                });
            }
        }
    });
    CHECK_MESSAGE(failures.passed(), failures.report());
}

TEST_CASE_TEMPLATE_DEFINE("transpose moves codes and scales, between any orders of scales", Trial, transpose_codes)
{
    using runner = typename Trial::runner;
    using codec_type = typename Trial::codec_type;
    using target_type = gesso::transposed_codec<codec_type>;
    tally failures;
    each_run<Trial>([&](auto make, std::uint64_t seed) {
        for (const gesso::scale_order order : orders_of<Trial>()) {
            auto run = make();
            const oracle::dense_matrix dense = fill(run.values, kind_of_values::faulty, seed);
            REQUIRE(runner::quantize(run.values, &run.plain,
                static_cast<compressed_memory<typename Trial::transposed_type>*>(nullptr), gesso::nearest_even{},
                gesso::ignore_nan{}));
            compressed_memory<target_type> turned(
                dense.columns, dense.rows, quantizer_run<Trial>::template placed<target_type>(seed % 2 == 0, order));
            REQUIRE(runner::transpose(run.plain, turned));
            expect_bytes(turned, oracle::quantize(dense.transposed(), format_of<target_type>()), failures);
        }
    });
    CHECK_MESSAGE(failures.passed(), failures.report());
}

}  // namespace support
