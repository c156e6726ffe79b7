// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The block level against the host: group sizes from 64 to 2048, ragged groups, many groups in a loop over
// the same shared memory, both math modes.
#include <doctest/doctest.h>

#include "group_runs.hpp"

#include <gesso/level/block.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace gesso;
using support::group_arrays;
using support::group_pointers;

namespace {

constexpr index_t first_element = (index_t{1} << 33) / 6144 * 6144;
constexpr unsigned blocks = 5;

// A loop over all groups, several at once in a block where they fit. Verbs one after another if InSteps.
template<class Level, int BlockThreads, int Items, bool InSteps, class Rounding, class Underflow>
__global__ void compress_kernel(const float* values, index_t count, index_t groups, Rounding rounding,
    Underflow underflow, group_pointers<typename Level::codec_type> to)
{
    __shared__ typename Level::TempStorage storage;
    Level level(storage);
    constexpr index_t at_once = BlockThreads / Level::threads;
    for (index_t base = blockIdx.x * at_once; base < groups; base += gridDim.x * at_once) {
        const index_t group = base + threadIdx.x / Level::threads;
        const index_t in_group = index_t{threadIdx.x % Level::threads} * Items;
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
            with = level.fit(level.observe(items, valid));
            codes = level.encode(items, with, rounding, underflow, first_element + begin);
        } else {
            codes = level.compress(items, with, rounding, underflow, first_element + begin, valid);
        }
        // R05: the next round writes to the same storage.
        __syncthreads();
        const auto scale = level.scale_code(with);
        const uint8_t exponent = level.exponent_code(with);
        float decoded[Items];
        level.decode(codes, level.load(scale, exponent), decoded);
        for (int i = 0; i < Items; ++i) {
            if (i < valid) {
                to.codes[begin + i] = codes.get(i);
                to.decoded[begin + i] = decoded[i];
            }
        }
        if (valid > 0 && in_group == 0) {
            to.scales[group] = scale;
            to.exponents[group] = exponent;
        }
    }
}

template<class Codec, int BlockThreads, int Items, class Math>
struct block_case {
    using codec_type = Codec;
    using math = Math;
    using level = block_codec<Codec, BlockThreads, Items, Math>;
    static constexpr int items = Items;
    static constexpr int threads = BlockThreads;
};

template<class Case, bool InSteps, class Rounding, class Underflow>
support::group_results<typename Case::codec_type> compress(
    const std::vector<float>& values, const Rounding& rounding, Underflow underflow)
{
    using level = typename Case::level;
    const index_t count = static_cast<index_t>(values.size());
    const index_t groups = detail::parts(count, level::group_size);
    const support::device_array<float> from(values);
    const group_arrays<typename Case::codec_type> to(values.size(), static_cast<std::size_t>(groups), 1);
    compress_kernel<level, Case::threads, Case::items, InSteps>
        <<<blocks, Case::threads>>>(from.data(), count, groups, rounding, underflow, to.pointers());
    GESSO_CUDA(cudaGetLastError());
    support::synchronize();
    CHECK(to.is_intact());
    return to.results();
}

template<class Format, int Size>
using plain = codec<Format, identity, per_group<Size>>;
template<class Format, int Size>
using expanded = codec<Format, dynamic_power<>, per_group<Size>>;

template<class Math>
using size_64 = block_case<expanded<e4m3, 64>, 128, 4, Math>;  // within a warp, eight at once
template<class Math>
using size_256 = block_case<expanded<e4m3, 256>, 128, 4, Math>;  // two warps, two at once
template<class Math>
using size_768 = block_case<plain<e5m2, 768>, 256, 4, Math>;  // 192 of 256 threads
template<class Math>
using size_1024 = block_case<expanded<unsigned_e4m4, 1024>, 64, 16, Math>;
template<class Math>
using size_2048 = block_case<codec<e4m3, power<2>, per_group<2048>>, 1024, 8, Math>;

#define GESSO_TEST_LEVELS(math)                                                                              \
    size_64<math>, size_256<math>, size_768<math>, size_1024<math>, size_2048<math>

template<class Case>
void compare_with_host()
{
    using codec_type = typename Case::codec_type;
    constexpr bool is_exact = std::is_same_v<typename Case::math, exact_math>;
    constexpr std::size_t size = static_cast<std::size_t>(Case::level::group_size);
    const std::size_t groups =
        support::size_of_run<std::size_t>(std::size_t{1} << 18, std::size_t{1} << 14) / size;
    const stochastic source(7, 3);
    for (std::size_t count : {groups * size, (groups - 1) * size + 1, (groups - 1) * size + size / 2 + 3,
             groups * size - 1, std::size_t{1}, size + 1}) {
        CAPTURE(count);
        const std::vector<float> values = support::group_numbers(count, size, is_exact);
        support::compare_groups(compress<Case, true>(values, nearest_even{}, flush{}),
            support::compress_on_host<codec_type>(values, first_element, nearest_even{}, flush{}), is_exact);
        support::compare_groups(compress<Case, false>(values, source, keep{}),
            support::compress_on_host<codec_type>(values, first_element, source, keep{}), is_exact);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("block_codec in exact math gives the host's bytes", Case, GESSO_TEST_LEVELS(exact_math))
{
    compare_with_host<Case>();
}

TEST_CASE_TEMPLATE("block_codec in hardware math: the host's scales and exponents, codes at most one away",
    Case, GESSO_TEST_LEVELS(hardware_math))
{
    compare_with_host<Case>();
}

TEST_CASE("R05 a loop over groups of alternating size reuses the shared memory behind a barrier, 1000 times")
{
    using tested = size_256<hardware_math>;
    const std::size_t groups = 64;
    std::vector<float> values(groups * 256);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t group = i / 256;
        const double amax =
            std::ldexp(1.0, group % 2 == 0 ? static_cast<int>(group) : -static_cast<int>(group));
        // The largest lies in another warp each time.
        values[i] = static_cast<float>(i % 256 == (group * 37) % 256 ? amax : amax / 3);
    }
    const auto first = compress<tested, true>(values, nearest_even{}, flush{});
    for (std::size_t group = 0; group < groups; ++group) {
        CHECK(float_of(first.scales[group])
              == std::ldexp(1.0f, group % 2 == 0 ? static_cast<int>(group) : -static_cast<int>(group)));
    }
    int different = 0;
    for (int repeat = 0; repeat < support::size_of_run(1000, 3); ++repeat) {
        const auto again = compress<tested, true>(values, nearest_even{}, flush{});
        different += again.codes != first.codes || again.scales != first.scales ? 1 : 0;
    }
    CHECK(different == 0);
}
