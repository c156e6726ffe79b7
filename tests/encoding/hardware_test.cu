// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device's conversion instructions against the software conversion and CUDA's own types, and the short
// ways of hardware math against the exact ones: on every input where there are no more than 2^32.
#include <doctest/doctest.h>

#include "../support/device.hpp"
#include "../support/generators.hpp"

#include <gesso/level/hardware_parameters.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <ios>
#include <sstream>
#include <vector>

using namespace gesso;
using support::device_array;
using support::device_tally;
using support::report_failure;

namespace {

constexpr int threads = 256;

// cuda_fp8.h's conversion to Format, saturating.
template<class Format>
constexpr __nv_fp8_interpretation_t cuda_format = Format::exponent_bits == 4 ? __NV_E4M3 : __NV_E5M2;
template<class Format>
__host__ __device__ uint32_t encode_by_cuda(float value)
{
    return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, cuda_format<Format>);
}

// The library and CUDA agree but for NaN, where the library always writes 0x7F: so does the instruction.
template<class Format>
__global__ void encode_kernel(uint64_t count, uint32_t stride, device_tally* tally)
{
    const uint64_t i = blockIdx.x * uint64_t{threads} + threadIdx.x;
    if (i >= count) return;
    const uint32_t bits = static_cast<uint32_t>(i) * stride;
    const float value = float_of(bits);
    // The neighbour is another number, in the high and in the low place.
    const float other = float_of(bits * 0x9E3779B1u + 77u);
    const uint32_t hardware = detail::encode_pair<Format>(value, other);
    const uint32_t swapped = detail::encode_pair<Format>(other, value);
    const uint32_t software = detail::encode_pair<Format, detail::software_conversion>(value, other);
    const uint32_t cuda = encode_by_cuda<Format>(value);
    if (hardware != software || (swapped >> 8) != (software & 0xFFu) || (software & 0xFFu) != cuda) {
        report_failure(tally, bits, (uint64_t{hardware} << 32) | (software << 16) | cuda);
    }
}

template<class Format>
__global__ void decode_kernel(device_tally* tally)
{
    const uint32_t codes = blockIdx.x * threads + threadIdx.x;
    const detail::number_pair hardware = detail::decode_pair<Format>(codes);
    const detail::number_pair software = detail::decode_pair<Format, detail::software_conversion>(codes);
    const auto by_cuda = [](uint32_t code) {
        return __half2float(
            __half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), cuda_format<Format>)));
    };
    const auto same = [](float a, float b) { return bits_of(a) == bits_of(b) || (is_nan(a) && is_nan(b)); };
    if (!same(hardware.low, software.low) || !same(hardware.high, software.high)
        || !same(software.low, by_cuda(codes & 0xFFu)) || !same(software.high, by_cuda(codes >> 8))) {
        report_failure(tally, codes, (uint64_t{bits_of(hardware.low)} << 32) | bits_of(software.low));
    }
}

// bf16 and fp16 to nearest, against encode() and CUDA's types.
__global__ void encode_halves_kernel(uint64_t count, uint32_t stride, device_tally* tally)
{
    const uint64_t i = blockIdx.x * uint64_t{threads} + threadIdx.x;
    if (i >= count) return;
    const uint32_t bits = static_cast<uint32_t>(i) * stride;
    const float value = float_of(bits);
    const float other = float_of(bits * 0x9E3779B1u + 77u);
    const auto code = [](auto format, float number) {
        return uint32_t{encode<decltype(format)>(number, nearest_even{}, gradual{}, nonsaturating{})};
    };
    const uint32_t expected_bf16 = code(bfloat16{}, value) | (code(bfloat16{}, other) << 16);
    const uint32_t expected_fp16 = code(float16{}, value) | (code(float16{}, other) << 16);
    const uint32_t cuda_bf16 = __bfloat16_as_ushort(__float2bfloat16_rn(value));
    const uint32_t cuda_fp16 = __half_as_ushort(__float2half_rn(value));
    if (detail::encode_bf16_pair(value, other) != expected_bf16 || (expected_bf16 & 0xFFFFu) != cuda_bf16) {
        report_failure(tally, bits, (uint64_t{detail::encode_bf16_pair(value, other)} << 32) | expected_bf16);
    }
    if (detail::encode_fp16_pair(value, other) != expected_fp16 || (expected_fp16 & 0xFFFFu) != cuda_fp16) {
        report_failure(tally, bits, (uint64_t{detail::encode_fp16_pair(value, other)} << 32) | expected_fp16);
    }
}

template<class Format>
__global__ void encode_values_kernel(const float* values, uint32_t count, uint32_t* codes)
{
    const uint32_t i = blockIdx.x * threads + threadIdx.x;
    if (i < count) codes[i] = detail::encode_pair<Format>(values[i], -values[i]);
}

// All significands at one exponent.
template<class Format>
__global__ void divide_kernel(uint32_t first_bits, uint32_t count, device_tally* tally)
{
    const uint32_t i = blockIdx.x * threads + threadIdx.x;
    if (i >= count) return;
    const float a = float_of(first_bits + i);
    const float quotient = detail::divide_by_max<Format>(a);
    const float expected = divide(a, (Format::max)());
    if (bits_of(quotient) != bits_of(expected)) {
        report_failure(tally, bits_of(a), (uint64_t{bits_of(quotient)} << 32) | bits_of(expected));
    }
    const float reciprocal = detail::reciprocal_of(expected);
    if (bits_of(reciprocal) != bits_of(divide(1.0f, expected))) {
        report_failure(tally, bits_of(expected), (uint64_t{bits_of(reciprocal)} << 32) | 1u);
    }
    // What a group's scale may be, and any other normal number.
    if (bits_of(detail::reciprocal_of(a)) != bits_of(divide(1.0f, a))) {
        report_failure(tally, bits_of(a), (uint64_t{bits_of(detail::reciprocal_of(a))} << 32) | 2u);
    }
}

__device__ uint32_t scrambled(uint32_t a, uint32_t b)
{
    uint32_t value = a * 0x9E3779B9u + b * 0x7F4A7C15u + 0x1B873593u;
    for (int i = 0; i < 3; ++i) {
        value ^= value >> 15;
        value *= 0x2C1B3C6Du;
        value ^= value >> 13;
    }
    return value;
}

template<class Format, class Expansion>
__device__ void check_sixteenths(uint32_t amax, uint32_t amin, device_tally* tally)
{
    if (amin < 0x00800000u || amax > 0x7F7FFFFFu || amax < amin) return;
    const int got = detail::sixteenths_of<Format, Expansion>(amax, amin);
    const int expected = Expansion::template sixteenths<Format>(log2_fixed(amax) - log2_fixed(amin));
    if (got != expected) {
        report_failure(tally, (uint64_t{amax} << 32) | amin,
            (static_cast<uint64_t>(got) << 32) | static_cast<uint64_t>(expected));
    }
}

// Random pairs: any two numbers; two within a few binades; and, for the exponent 16 k = n, the amin whose
// ratio is nearest to bound^(16 / n), with 64 neighbours.
template<class Format, class Expansion>
__global__ void sixteenths_kernel(uint32_t count, device_tally* tally)
{
    const uint32_t i = blockIdx.x * threads + threadIdx.x;
    if (i >= count) return;
    const uint32_t a = 0x00800000u + scrambled(i, 1u) % 0x7F000000u;
    const uint32_t b = 0x00800000u + scrambled(i, 2u) % 0x7F000000u;
    check_sixteenths<Format, Expansion>(a > b ? a : b, a > b ? b : a, tally);
    const uint32_t near = a - scrambled(i, 3u) % (1u << (4 + i % 25));
    check_sixteenths<Format, Expansion>(a, near, tally);
    check_sixteenths<Format, Expansion>(a, a, tally);
    check_sixteenths<Format, Expansion>(a, a - 1u - i % 8u, tally);
    // Where 16 k steps from n - 1 to n.
    const int n = 1 + static_cast<int>(i % 255u);
    constexpr int64_t bound = Expansion::rule::template log2_bound<Format>();
    const int64_t spread = 16 * bound / n;
    const int64_t log2_amin = int64_t{log2_fixed(a)} - spread;
    if (log2_amin < int64_t{-126} * (1 << 23)) return;
    const uint32_t edge = bits_of(exp2_fixed(log2_amin * 16));
    for (uint32_t j = 0; j < 65u; ++j) check_sixteenths<Format, Expansion>(a, edge - 32u + j, tally);
}

class counted {
public:
    counted() { all_.clear(); }
    device_tally* data() const { return all_.data(); }
    void check(const char* what)
    {
        GESSO_CUDA(cudaGetLastError());
        const device_tally tally = all_.values()[0];
        std::ostringstream one;
        one << std::hex << tally.first[0] << " gave " << tally.first[1];
        CHECK_MESSAGE(tally.failed == 0, what << ": " << tally.failed << " failed, one: " << one.str());
        all_.clear();
    }

private:
    device_array<device_tally> all_{1};
};

// The host's codes of numbers against the device's.
template<class Format>
void compare_with_host(const std::vector<float>& values)
{
    const uint32_t count = static_cast<uint32_t>(values.size());
    const device_array<float> on_device(values);
    const device_array<uint32_t> codes(values.size());
    encode_values_kernel<Format>
        <<<support::blocks_for(count, threads), threads>>>(on_device.data(), count, codes.data());
    GESSO_CUDA(cudaGetLastError());
    const std::vector<uint32_t> got = codes.values();
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const uint32_t low = encode<Format>(values[i]);
        const uint32_t high = encode<Format>(negate(values[i]));
        // CUDA's header has a conversion of its own for the host.
        wrong += got[i] != (low | (high << 8)) || low != encode_by_cuda<Format>(values[i]) ? 1 : 0;
    }
    CHECK(wrong == 0);
}

template<class Format>
void compare_every_input(const char* name)
{
    counted tally;
    const uint64_t count = support::size_of_run<uint64_t>(uint64_t{1} << 32, 1 << 16);
    const uint32_t stride = static_cast<uint32_t>((uint64_t{1} << 32) / count) | 1u;
    encode_kernel<Format>
        <<<support::blocks_for(static_cast<int64_t>(count), threads), threads>>>(count, stride, tally.data());
    tally.check(name);
}

}  // namespace

TEST_CASE("the instruction, the software conversion and cuda_fp8.h agree on all 2^32 numbers, heavy")
{
    compare_every_input<e4m3>("e4m3");
    compare_every_input<e5m2>("e5m2");
}

TEST_CASE("the instructions to bf16 and fp16 agree with encode() on all 2^32 numbers, heavy")
{
    counted tally;
    const uint64_t count = support::size_of_run<uint64_t>(uint64_t{1} << 32, 1 << 16);
    const uint32_t stride = static_cast<uint32_t>((uint64_t{1} << 32) / count) | 1u;
    encode_halves_kernel<<<support::blocks_for(static_cast<int64_t>(count), threads), threads>>>(
        count, stride, tally.data());
    tally.check("bf16 and fp16");
}

TEST_CASE("decoding by the instruction agrees on all pairs of codes")
{
    counted tally;
    decode_kernel<e4m3><<<65536 / threads, threads>>>(tally.data());
    tally.check("e4m3");
    decode_kernel<e5m2><<<65536 / threads, threads>>>(tally.data());
    tally.check("e5m2");
}

TEST_CASE("the host's codes are the device's: edges, boundaries and a stride through all numbers")
{
    std::vector<float> values;
    const auto take = [&values](const std::vector<std::uint32_t>& patterns) {
        for (std::uint32_t pattern : patterns) values.push_back(float_of(pattern));
    };
    take(generator::edge_patterns());
    take(generator::boundary_patterns(oracle::e4m3()));
    take(generator::boundary_patterns(oracle::e5m2()));
    take(generator::strided_patterns(support::size_of_run(2048u, 16u)));
    compare_with_host<e4m3>(values);
    compare_with_host<e5m2>(values);
}

TEST_CASE("C16 eight numbers in the subnormal range have codes 0 to 7")
{
    std::vector<float> values;
    for (int i = 0; i < 1024; ++i) values.push_back((static_cast<float>(i % 8) + 0.3f) * 0x1p-9f);
    const device_array<float> on_device(values);
    const device_array<uint32_t> codes(values.size());
    encode_values_kernel<e4m3><<<4, threads>>>(on_device.data(), 1024, codes.data());
    GESSO_CUDA(cudaGetLastError());
    const std::vector<uint32_t> got = codes.values();
    for (uint32_t i = 0; i < 1024; ++i) CHECK(got[i] == ((i % 8) | ((0x80u | (i % 8)) << 8)));
}

TEST_CASE("a quotient without division and a reciprocal are correctly rounded, for every significand")
{
    counted tally;
    const uint32_t count = support::size_of_run(1u << 23, 1u << 12);
    const auto check = [&](auto format, const char* name) {
        using form = decltype(format);
        using plain = codec<form, identity, per_group<128>>;
        constexpr uint32_t floor_bits = plain::group::floor_bits;
        // From the floor of an amax up, at exponents from there to the largest. (Above 2^126 a scale's
        // reciprocal is a denormal only where the scale is: amax / max is below 2^120.)
        for (uint32_t first : {floor_bits, floor_bits + 0x00800000u, 0x10000000u, 0x2F800000u, 0x3F800000u,
                 0x40000000u, 0x43000000u, 0x5A000000u, 0x7E000000u}) {
            const uint32_t left = 0x7F800000u - first;
            const uint32_t here = left < count ? left : count;
            divide_kernel<form><<<support::blocks_for(here, threads), threads>>>(first, here, tally.data());
            tally.check(name);
        }
        const uint32_t top = 0x7F000000u;
        divide_kernel<form><<<support::blocks_for(count, threads), threads>>>(top, count, tally.data());
        tally.check(name);
    };
    check(e4m3{}, "e4m3");
    check(e5m2{}, "e5m2");
    check(unsigned_e4m4{}, "unsigned_e4m4");
}

TEST_CASE("the exponent of a group by the special-function unit is the integer one, over 10^8 pairs, heavy")
{
    counted tally;
    const uint32_t count = support::size_of_run(1u << 22, 1u << 10);
    const unsigned blocks = support::blocks_for(count, threads);
    sixteenths_kernel<e4m3, dynamic_power<>><<<blocks, threads>>>(count, tally.data());
    tally.check("e4m3");
    sixteenths_kernel<e5m2, dynamic_power<>><<<blocks, threads>>>(count, tally.data());
    tally.check("e5m2");
    sixteenths_kernel<unsigned_e4m4, dynamic_power<>><<<blocks, threads>>>(count, tally.data());
    tally.check("unsigned_e4m4");
    sixteenths_kernel<e4m3, dynamic_power<reference_rule>><<<blocks, threads>>>(count, tally.data());
    tally.check("e4m3, reference");
    sixteenths_kernel<e4m3, dynamic_power<exponent_rule<full_range_bound, 1>>>
        <<<blocks, threads>>>(count, tally.data());
    tally.check("e4m3, full range");
}
