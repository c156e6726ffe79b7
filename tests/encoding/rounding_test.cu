// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Stochastic rounding on the device, by 10^8 draws: the mean of what is stored is the number, also where
// codes are subnormal and in the top binade; through an expansion the mean of the decoded number is;
// elements, steps and seeds are independent.
#include <doctest/doctest.h>

#include "../support/device.hpp"

#include <gesso/level/warp.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace gesso;
using support::device_array;

namespace {

constexpr int threads = 256;
constexpr int draws_a_thread = 1024;

// How often a number became the code above it, and how often neither that nor the one below it.
struct counts {
    unsigned long long up;
    unsigned long long other;
};

__device__ void add(counts* all, unsigned up, unsigned other)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        up += __shfl_down_sync(0xFFFFFFFFu, up, distance);
        other += __shfl_down_sync(0xFFFFFFFFu, other, distance);
    }
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(&all->up, static_cast<unsigned long long>(up));
    if (other != 0) atomicAdd(&all->other, static_cast<unsigned long long>(other));
}

template<class Format>
__global__ void draw_kernel(float value, stochastic source, counts* all)
{
    const index_t first = (blockIdx.x * index_t{threads} + threadIdx.x) * draws_a_thread;
    const uint32_t lower = encode<Format>(value, toward_zero{});
    unsigned up = 0;
    unsigned other = 0;
    for (int i = 0; i < draws_a_thread; ++i) {
        const uint32_t code = encode<Format>(value, source.at(first + i));
        up += code == lower + 1u ? 1u : 0u;
        other += code != lower + 1u && code != lower ? 1u : 0u;
    }
    add(all, up, other);
}

// The same through a codec, four elements at a time.
template<class Codec, class Math>
__global__ void draw_in_group_kernel(
    float value, typename Codec::statistic known, uint32_t lower, stochastic source, counts* all)
{
    using level = warp_codec<Codec, 4, Math>;
    const index_t first = (blockIdx.x * index_t{threads} + threadIdx.x) * draws_a_thread;
    const typename level::writer with = level::fit(known);
    const float values[4] = {value, value, value, value};
    unsigned up = 0;
    unsigned other = 0;
    for (int i = 0; i < draws_a_thread; i += 4) {
        const auto codes = level::encode(values, with, source, gradual{}, first + i);
        for (int j = 0; j < 4; ++j) {
            up += codes.get(j) == lower + 1u ? 1u : 0u;
            other += codes.get(j) != lower + 1u && codes.get(j) != lower ? 1u : 0u;
        }
    }
    add(all, up, other);
}

// Draws below a probability at two elements each, and at both.
struct joint_counts {
    unsigned long long first;
    unsigned long long second;
    unsigned long long both;
};
__global__ void joint_kernel(
    stochastic a, stochastic b, index_t distance, uint32_t threshold, joint_counts* all)
{
    const index_t begin = (blockIdx.x * index_t{threads} + threadIdx.x) * draws_a_thread;
    unsigned first = 0;
    unsigned second = 0;
    unsigned both = 0;
    for (index_t i = begin; i < begin + draws_a_thread; ++i) {
        const bool is_first = a.at(i).bits < threshold;
        const bool is_second = b.at(i + distance).bits < threshold;
        first += is_first ? 1u : 0u;
        second += is_second ? 1u : 0u;
        both += is_first && is_second ? 1u : 0u;
    }
    atomicAdd(&all->first, static_cast<unsigned long long>(first));
    atomicAdd(&all->second, static_cast<unsigned long long>(second));
    atomicAdd(&all->both, static_cast<unsigned long long>(both));
}

template<class Counts, class Launch>
Counts counted(Launch&& launch)
{
    device_array<Counts> all(1);
    all.clear();
    launch(all.data());
    GESSO_CUDA(cudaGetLastError());
    return all.values()[0];
}

// 10^8, or few under a sanitizer.
unsigned block_count() { return support::size_of_run(382u, 1u); }
double draw_count() { return static_cast<double>(block_count()) * threads * draws_a_thread; }

// Is the share of ups what the number's place between two codes wants, within 4 standard errors and `bias`
// steps?
void check_share(const counts& got, double probability, double bias)
{
    const double error = std::sqrt(probability * (1 - probability) / draw_count());
    const double share = static_cast<double>(got.up) / draw_count();
    CAPTURE(share);
    CAPTURE(probability);
    CHECK(got.other == 0);
    CHECK(std::fabs(share - probability) <= 4 * error + bias);
}

template<class Format>
void check_format()
{
    const stochastic source(11, 5);
    // Subnormal codes and the step to zero, the smallest normal number, the middle, the top binade.
    const uint32_t codes[] = {0, 1, 2, uint32_t{Format::min_normal_code} - 1u, Format::min_normal_code,
        uint32_t{Format::max_code} / 2, uint32_t{Format::max_code} - 2u, uint32_t{Format::max_code} - 1u};
    for (uint32_t code : codes) {
        const double low = double{decode<Format>(static_cast<typename Format::code_type>(code))};
        const double high = double{decode<Format>(static_cast<typename Format::code_type>(code + 1u))};
        for (double part : {0.001, 0.3, 0.5, 0.9}) {
            for (double sign : {1.0, -1.0}) {
                const float value = static_cast<float>(sign * (low + part * (high - low)));
                CAPTURE(value);
                // What fp32 made of it.
                const double probability = (std::fabs(double{value}) - low) / (high - low);
                if (probability <= 0 || probability >= 1) continue;
                check_share(counted<counts>([&](counts* all) {
                    draw_kernel<Format><<<block_count(), threads>>>(value, source, all);
                }),
                    probability, 0);
            }
        }
    }
}

// relative_bias: of the number, what the correction to second order leaves at k = 1/2, the smallest there is.
// bias: in steps between codes.
template<class Codec, class Math>
void check_codec(double relative_bias, double bias)
{
    using format = typename Codec::format;
    const stochastic source(11, 5);
    const float amax = 3e-3f;
    for (double ratio : {1.0, 0x1p-4, 0x1p-15, 0x1p-29, 0x1p-60}) {
        typename Codec::statistic known;
        known.observe(amax);
        known.observe(static_cast<float>(double{amax} * ratio));
        const auto with = Codec::fit(known);
        CAPTURE(with.numerator);
        for (uint32_t code : {uint32_t{format::min_normal_code} - 2u, uint32_t{format::min_normal_code},
                 uint32_t{format::max_code} / 2, uint32_t{format::max_code} - 1u}) {
            const double low = double{Codec::decode(static_cast<typename format::code_type>(code), with)};
            const double high =
                double{Codec::decode(static_cast<typename format::code_type>(code + 1u), with)};
            for (double part : {0.1, 0.5, 0.9}) {
                const float value = static_cast<float>(low + part * (high - low));
                // A large k puts neighbours closer than fp32 does.
                if (double{value} - low < 0.05 * (high - low) || high - double{value} < 0.05 * (high - low))
                    continue;
                if (high - low < 0x1p-16 * high) continue;
                // Hardware math knows of a group that none of its elements is bent below the normal range.
                const bool is_of_the_group = value >= float_of(known.amin_bits);
                if (standard::is_same_v<Math, hardware_math> && !is_of_the_group) continue;
                CAPTURE(code);
                CAPTURE(part);
                check_share(counted<counts>([&](counts* all) {
                    draw_in_group_kernel<Codec, Math>
                        <<<block_count(), threads>>>(value, known, code, source, all);
                }),
                    (double{value} - low) / (high - low),
                    bias + relative_bias * double{value} / (high - low));
            }
        }
    }
}

template<class Format>
using expanded = codec<Format, dynamic_power<>, per_group<128>>;

}  // namespace

TEST_CASE("the mean of 10^8 draws is the number, subnormals and top binade included, heavy")
{
    SUBCASE("e4m3") { check_format<e4m3>(); }
    SUBCASE("e5m2") { check_format<e5m2>(); }
    SUBCASE("bfloat16") { check_format<bfloat16>(); }
}

TEST_CASE("through an expansion the mean of the decoded number is the number, within its bound, heavy")
{
    // docs/numerics.md has these bounds. Hardware math finds the correction's 1/s by a polynomial.
    SUBCASE("exact e4m3") { check_codec<expanded<e4m3>, exact_math>(8.8e-5, 0); }
    SUBCASE("exact e5m2") { check_codec<expanded<e5m2>, exact_math>(6.5e-4, 0); }
    SUBCASE("hardware e4m3") { check_codec<expanded<e4m3>, hardware_math>(8.8e-5, 3e-4); }
    SUBCASE("hardware e5m2") { check_codec<expanded<e5m2>, hardware_math>(6.5e-4, 5e-4); }
}

TEST_CASE("draws at other elements, steps, seeds and streams are uncorrelated")
{
    const stochastic source(11, 5);
    const auto correlation = [&](const stochastic& other, index_t distance, double p) {
        const joint_counts got = counted<joint_counts>([&](joint_counts* all) {
            joint_kernel<<<block_count(), threads>>>(
                source, other, distance, static_cast<uint32_t>(p * 0x1p32), all);
        });
        const double n = draw_count();
        const double first = static_cast<double>(got.first) / n;
        const double second = static_cast<double>(got.second) / n;
        CHECK(std::fabs(first - p) < 5 * std::sqrt(p / n));
        return (static_cast<double>(got.both) / n - first * second) / (p * (1 - p));
    };
    const double bound = 5 / std::sqrt(draw_count());
    for (double p : {0.5, 0.25, 0.01}) {
        CAPTURE(p);
        // Three of four neighbours share a hash with the one before: nearly uncorrelated.
        for (index_t distance : {1, 2, 3}) CHECK(std::fabs(correlation(source, distance, p)) < 0.02 + bound);
        for (index_t distance :
            {index_t{4}, index_t{8}, index_t{128}, index_t{1} << 20, index_t{1} << 34, index_t{1} << 36}) {
            CAPTURE(distance);
            CHECK(std::fabs(correlation(source, distance, p)) < bound);
        }
        for (const stochastic& other : {stochastic(11, 6), stochastic(12, 5),
                 stochastic(11 + (uint64_t{1} << 32), 5), stochastic(11, 5 + (uint64_t{1} << 32)),
                 source.stream(1), source.stream(2), source.stream(48)}) {
            CHECK(std::fabs(correlation(other, 0, p)) < bound);
        }
    }
}
