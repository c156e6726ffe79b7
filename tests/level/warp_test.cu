// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The warp level against the host: every verb, group sizes from 8 to 512, ragged groups, both math modes.
#include <doctest/doctest.h>

#include "group_runs.hpp"

#include <gesso/level/warp.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace gesso;
using support::group_arrays;
using support::group_pointers;

namespace {

constexpr int block_threads = 128;
constexpr index_t first_element = (index_t{1} << 33) / 768 * 768;

// Every group of `values`, the last one ragged, by compress(); or by the verbs one after another if InSteps.
template<class Level, int Items, bool InSteps, class Rounding, class Underflow>
__global__ void compress_kernel(const float* values, index_t count, index_t groups, Rounding rounding,
    Underflow underflow, group_pointers<typename Level::codec_type> to)
{
    const index_t thread = blockIdx.x * index_t{block_threads} + threadIdx.x;
    const index_t group = thread / Level::lanes;
    const index_t in_group = thread % Level::lanes * Items;
    const index_t begin = group * Level::group_size + in_group;
    const index_t left = (begin < count ? count : begin) - begin;
    const index_t in_this = in_group < Level::group_size ? Level::group_size - in_group : 0;
    const index_t here = left < in_this ? left : in_this;
    const int valid = static_cast<int>(here < Items ? here : Items);
    // What does not exist must not count.
    float items[Items];
    for (int i = 0; i < Items; ++i) items[i] = i < valid ? values[begin + i] : 1e37f;

    typename Level::writer with;
    typename Level::codes codes;
    if constexpr (InSteps) {
        const typename Level::statistic known = Level::observe(items, valid);
        if (valid > 0) to.seen_amax[thread] = known.amax_bits;
        with = Level::fit(known);
        codes = Level::encode(items, with, rounding, underflow, first_element + begin);
    } else {
        codes = Level::compress(items, with, rounding, underflow, first_element + begin, valid);
    }
    const auto scale = Level::scale_code(with);
    const uint8_t exponent = Level::exponent_code(with);
    float decoded[Items];
    Level::decode(codes, Level::load(scale, exponent), decoded);
    for (int i = 0; i < Items; ++i) {
        if (i < valid) {
            to.codes[begin + i] = codes.get(i);
            to.decoded[begin + i] = decoded[i];
        }
    }
    if (group < groups && in_group == 0) {
        to.scales[group] = scale;
        to.exponents[group] = exponent;
    }
}

template<class Codec, int Items, class Math>
struct warp_case {
    using codec_type = Codec;
    using math = Math;
    using level = warp_codec<Codec, Items, Math>;
    static constexpr int items = Items;
};

template<class Case, bool InSteps, class Rounding, class Underflow>
support::group_results<typename Case::codec_type> compress(
    const std::vector<float>& values, const Rounding& rounding, Underflow underflow)
{
    using codec_type = typename Case::codec_type;
    using level = typename Case::level;
    const index_t count = static_cast<index_t>(values.size());
    const index_t groups = detail::parts(count, level::group_size);
    const index_t threads = detail::parts(groups * level::lanes, block_threads) * block_threads;
    const support::device_array<float> from(values);
    const group_arrays<codec_type> to(
        values.size(), static_cast<std::size_t>(groups), static_cast<std::size_t>(threads));
    compress_kernel<level, Case::items, InSteps>
        <<<support::blocks_for(threads, block_threads), block_threads>>>(
            from.data(), count, groups, rounding, underflow, to.pointers());
    GESSO_CUDA(cudaGetLastError());
    support::synchronize();
    CHECK(to.is_intact());
    if constexpr (InSteps) {
        // The statistic is in every lane of the group.
        const std::vector<uint32_t> seen = to.seen_amax.values();
        index_t wrong = 0;
        for (index_t group = 0; group < groups; ++group) {
            typename codec_type::statistic known;
            const index_t end = std::min((group + 1) * level::group_size, count);
            for (index_t i = group * level::group_size; i < end; ++i)
                known.observe(values[static_cast<std::size_t>(i)]);
            for (index_t i = group * level::group_size; i < end; i += Case::items) {
                const index_t lane = group * level::lanes + (i - group * level::group_size) / Case::items;
                wrong += seen[static_cast<std::size_t>(lane)] != known.amax_bits ? 1 : 0;
            }
        }
        CHECK(wrong == 0);
    }
    return to.results();
}

template<class Format, int Size>
using plain = codec<Format, identity, per_group<Size>>;
template<class Format, int Size>
using expanded = codec<Format, dynamic_power<>, per_group<Size>>;

template<class Math>
using size_8 = warp_case<expanded<e4m3, 8>, 8, Math>;  // T13: a group in one thread
template<class Math>
using size_16 = warp_case<plain<e4m3, 16>, 4, Math>;
template<class Math>
using size_32 = warp_case<expanded<e5m2, 32>, 4, Math>;
template<class Math>
using size_64 = warp_case<codec<e4m3, identity, per_group<64>, bfloat16>, 4, Math>;
template<class Math>
using size_96 = warp_case<expanded<e4m3, 96>, 4, Math>;  // 24 of 32 lanes
template<class Math>
using size_128 = warp_case<expanded<e4m3, 128>, 16, Math>;
template<class Math>
using size_128_wide = warp_case<expanded<unsigned_e4m4, 128>, 4, Math>;
template<class Math>
using size_256 = warp_case<plain<e5m2, 256>, 8, Math>;
template<class Math>
using size_512 = warp_case<codec<e4m3, power<1, 2>, per_group<512>>, 16, Math>;

#define GESSO_TEST_LEVELS(math)                                                                              \
    size_8<math>, size_16<math>, size_32<math>, size_64<math>, size_96<math>, size_128<math>,                \
        size_128_wide<math>, size_256<math>, size_512<math>

template<class Case>
void compare_with_host()
{
    using codec_type = typename Case::codec_type;
    constexpr bool is_exact = std::is_same_v<typename Case::math, exact_math>;
    constexpr std::size_t size = static_cast<std::size_t>(Case::level::group_size);
    const std::size_t groups =
        support::size_of_run<std::size_t>(std::size_t{1} << 17, std::size_t{1} << 12) / size;
    const stochastic source(7, 3);
    // Whole, and ragged by one element, a part of a thread's, half a group, all but one.
    for (std::size_t count : {groups * size, (groups - 1) * size + 1, (groups - 1) * size + 3,
             (groups - 1) * size + size / 2 + 1, groups * size - 1, std::size_t{1}, size - 1, size + 1}) {
        CAPTURE(count);
        const std::vector<float> values = support::group_numbers(count, size, is_exact);
        support::compare_groups(compress<Case, true>(values, nearest_even{}, flush{}),
            support::compress_on_host<codec_type>(values, first_element, nearest_even{}, flush{}), is_exact);
        support::compare_groups(compress<Case, false>(values, source, keep{}),
            support::compress_on_host<codec_type>(values, first_element, source, keep{}), is_exact);
        support::compare_groups(compress<Case, false>(values, nearest_even{}, gradual{}),
            support::compress_on_host<codec_type>(values, first_element, nearest_even{}, gradual{}),
            is_exact);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("warp_codec in exact math gives the host's bytes", Case, GESSO_TEST_LEVELS(exact_math))
{
    compare_with_host<Case>();
}

TEST_CASE_TEMPLATE("warp_codec in hardware math: the host's scales and exponents, codes at most one away",
    Case, GESSO_TEST_LEVELS(hardware_math))
{
    compare_with_host<Case>();
}

TEST_CASE_TEMPLATE(
    "S08 a NaN becomes NaN and changes nothing else, wherever it lies", Math, exact_math, hardware_math)
{
    using tested = warp_case<plain<e4m3, 128>, 4, Math>;
    std::vector<float> values;
    // Every position in a whole group, and those of a tail of 40.
    for (std::size_t where = 0; where < 128 + 40; ++where) {
        std::vector<float> group(where < 128 ? 128 : 40);
        const std::size_t place = where < 128 ? where : where - 128;
        const float rest[] = {1.0f, 2.0f, 3.0f};
        for (std::size_t i = 0, next = 0; next < 3; ++i) {
            if (i != place) group[i] = rest[next++];
        }
        group[place] = std::numeric_limits<float>::quiet_NaN();
        const auto got = compress<tested, true>(group, nearest_even{}, gradual{});
        CHECK(float_of(got.scales[0]) == 3.0f / 448.0f);
        const uint8_t expected[] = {0x71, 0x79, 0x7E};
        for (std::size_t i = 0, next = 0; i < group.size(); ++i) {
            const uint32_t code = i == place ? 0x7Fu : next < 3 ? expected[next] : 0u;
            next += i != place ? 1 : 0;
            if (got.codes[i] != code)
                FAIL_CHECK("NaN at " << place << ", element " << i << ": code " << +got.codes[i]);
        }
    }
}

TEST_CASE_TEMPLATE("S10 amax never takes a sign for a size", Math, exact_math, hardware_math)
{
    using tested = warp_case<plain<e4m3, 128>, 4, Math>;
    for (const auto& [values, amax] : {std::pair<std::vector<float>, float>{{-0.0f}, 0.0f},
             {{3.0f, -0.0f}, 3.0f}, {{-5.0f, 3.0f}, 5.0f}, {{-0.0f, -0.0f, -1e-3f}, 1e-3f}}) {
        const auto got = compress<tested, true>(values, nearest_even{}, gradual{});
        const float scale = float_of(got.scales[0]);
        CHECK(scale == divide(std::fmax(amax, (e4m3::max)() * 0x1p-126f), (e4m3::max)()));
        for (std::size_t i = 0; i < values.size(); ++i) {
            CHECK((got.codes[i] >> 7) == (std::signbit(values[i]) ? 1 : 0));
        }
    }
}

TEST_CASE_TEMPLATE("T13 neighbouring groups in a warp do not see each other", Math, exact_math, hardware_math)
{
    using tested = warp_case<plain<e4m3, 16>, 4, Math>;
    std::vector<float> values(16, 100.0f);
    values.resize(32, 1.0f);
    const auto got = compress<tested, true>(values, nearest_even{}, gradual{});
    CHECK(float_of(got.scales[0]) == 100.0f / 448.0f);
    CHECK(float_of(got.scales[1]) == 1.0f / 448.0f);
    for (uint8_t code : got.codes) CHECK(code == 0x7E);
}
