// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device level against the host: every verb, any count, row length, shard, alignment and element type.
#include <doctest/doctest.h>

#include "group_runs.hpp"

#include <gesso/level/device.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace gesso;
using support::device_array;
using support::group_results;

namespace {

struct shape {
    index_t count = 0;
    index_t row_length = 0;
    index_t first = 0;
    std::size_t value_offset = 0;
    std::size_t code_offset = 0;
};

template<class T, class Codec, class Math>
struct level_case {
    using element_type = T;
    using codec_type = Codec;
    using level = device_codec<Codec, Math>;
    static constexpr bool is_exact = std::is_same_v<Math, exact_math>;
};

template<class Codec>
compressed_ref<Codec> view_of(const shape& of, typename Codec::code_type* codes,
    typename Codec::scale_code_type* scales, std::uint8_t* exponents)
{
    compressed_ref<Codec> view;
    view.codes = codes;
    view.scales = scales;
    view.exponents = exponents;
    view.count = of.count;
    view.first = of.first;
    view.row_length = of.row_length;
    return view;
}

template<class Codec, class T, class Rounding, class Underflow>
group_results<Codec> on_host(
    const shape& of, const std::vector<T>& values, const Rounding& rounding, Underflow underflow)
{
    const std::size_t groups =
        static_cast<std::size_t>(view_of<Codec>(of, nullptr, nullptr, nullptr).groups().groups());
    group_results<Codec> result;
    result.codes.resize(values.size());
    result.scales.resize(groups);
    result.exponents.resize(groups);
    result.decoded.resize(values.size());
    const auto view = view_of<Codec>(of, result.codes.data(), result.scales.data(), result.exponents.data());
    REQUIRE(host_codec<Codec>::compress(values.data(), view, rounding, underflow) == status::success);
    const compressed_ref<const Codec> from = view;
    REQUIRE(host_codec<Codec>::decode(from, result.decoded.data()) == status::success);
    return result;
}

template<class Case>
void compare_with_host(const shape& of)
{
    using codec_type = typename Case::codec_type;
    using level = typename Case::level;
    using element_type = typename Case::element_type;
    CAPTURE(of.count);
    CAPTURE(of.row_length);
    CAPTURE(of.first);
    CAPTURE(of.value_offset);
    CAPTURE(of.code_offset);
    std::vector<element_type> values;
    const index_t kind_size = codec_type::has_scale ? codec_type::granularity::group_size : 64;
    for (float value : support::group_numbers(
             static_cast<std::size_t>(of.count), static_cast<std::size_t>(kind_size), Case::is_exact)) {
        values.push_back(element<element_type>::store(value));
    }
    const std::size_t groups =
        static_cast<std::size_t>(view_of<codec_type>(of, nullptr, nullptr, nullptr).groups().groups());
    const device_array<element_type> from(values, of.value_offset);
    const device_array<typename codec_type::code_type> codes(values.size(), of.code_offset);
    device_array<typename codec_type::scale_code_type> scales(groups);
    device_array<std::uint8_t> exponents(groups, of.code_offset);
    const device_array<float> decoded(values.size(), of.value_offset);
    exponents.clear();
    const auto view = view_of<codec_type>(of, codes.data(), scales.data(), exponents.data());
    const compressed_ref<const codec_type> reader = view;
    const auto results = [&] {
        GESSO_CUDA(level::decode(reader, decoded.data(), nullptr));
        support::synchronize();
        return group_results<codec_type>{codes.values(),
            codec_type::has_scale ? scales.values() : decltype(scales.values())(groups), exponents.values(),
            decoded.values()};
    };
    const stochastic source(7, 3);
    GESSO_CUDA(level::compress(from.data(), view, source, keep{}, nullptr));
    support::compare_groups(results(), on_host<codec_type>(of, values, source, keep{}), Case::is_exact);
    GESSO_CUDA(level::compress(from.data(), view, nearest_even{}, flush{}, nullptr));
    const auto flushed = results();
    support::compare_groups(
        flushed, on_host<codec_type>(of, values, nearest_even{}, flush{}), Case::is_exact);

    // The stages one by one have the same bytes.
    if constexpr (codec_type::has_scale) {
        const device_array<float> amax(groups);
        const device_array<float> amin(groups);
        scales.clear();
        exponents.clear();
        auto shape_alone = view_of<codec_type>(of, nullptr, nullptr, nullptr);
        if constexpr (codec_type::has_exponent) {
            GESSO_CUDA(level::observe(from.data(), shape_alone, amax.data(), amin.data(), nullptr));
            GESSO_CUDA(level::fit(amax.data(), amin.data(), view, nullptr));
        } else {
            GESSO_CUDA(level::observe(from.data(), shape_alone, amax.data(), nullptr));
            GESSO_CUDA(level::fit(amax.data(), nullptr, view, nullptr));
        }
        GESSO_CUDA(level::encode(from.data(), view, nearest_even{}, flush{}, nullptr));
        const auto staged = results();
        CHECK(staged.codes == flushed.codes);
        CHECK(staged.scales == flushed.scales);
        CHECK(staged.exponents == flushed.exponents);
        CHECK(amax.is_intact());
        CHECK(amin.is_intact());
    }
    for (bool intact : {from.is_intact(), codes.is_intact(), scales.is_intact(), exponents.is_intact(),
             decoded.is_intact()}) {
        CHECK(intact);
    }
}

using nv_bf16 = __nv_bfloat16;
template<class Format, int Size>
using plain = codec<Format, identity, per_group<Size>>;
template<class Format, int Size>
using expanded = codec<Format, dynamic_power<>, per_group<Size>>;
template<class Math>
using moments = level_case<float, expanded<e4m3, 128>, Math>;
template<class Math>
using small_groups = level_case<nv_bf16, plain<e4m3, 16>, Math>;
template<class Math>
using odd_groups = level_case<__half, expanded<e5m2, 96>, Math>;
template<class Math>
using large_groups = level_case<nv_bf16, codec<e5m2, identity, per_group<2048>, bfloat16>, Math>;
template<class Math>
using no_groups = level_case<float, codec<bfloat16, identity, unscaled>, Math>;

#define GESSO_TEST_LEVELS                                                                                    \
    moments<exact_math>, moments<hardware_math>, small_groups<exact_math>, small_groups<hardware_math>,      \
        odd_groups<exact_math>, odd_groups<hardware_math>, large_groups<hardware_math>,                      \
        no_groups<hardware_math>

}  // namespace

TEST_CASE_TEMPLATE(
    "device_codec gives the host's bytes, in hardware math codes at most one away", Case, GESSO_TEST_LEVELS)
{
    for (index_t count : {1, 15, 16, 17, 127, 128, 129, 2047, 2048, 2049, 17 * 128, 33 * 128,
             support::size_of_run(500003, 5003)}) {
        compare_with_host<Case>({count, 0, 0});
    }
    // T02
    for (index_t row_length : {1075, 1076, 1368, 2048, 46, 1}) {
        compare_with_host<Case>({row_length * (row_length < 100 ? 45 : 3), row_length, 0});
    }
    const index_t far = (index_t{1} << 40) / 6144 * 6144;
    compare_with_host<Case>({5000, 0, far});
    compare_with_host<Case>({5 * 333, 333, 333000});
    // T04
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
            const std::size_t offsets[] = {0, 1, 2, 8};
            compare_with_host<Case>({4099, 0, 0, offsets[i], offsets[j]});
            compare_with_host<Case>({230, 46, 0, offsets[i], offsets[j]});
        }
    }
}

TEST_CASE("T07 nothing is a success without a launch, and what is refused leaves no error")
{
    using level = device_codec<expanded<e4m3, 128>>;
    compressed_ref<expanded<e4m3, 128>> view;
    const float* none = nullptr;
    CHECK(level::compress(none, view, nullptr) == cudaSuccess);
    CHECK(level::encode(none, view, nullptr) == cudaSuccess);
    CHECK(level::observe(none, view, nullptr, nullptr, nullptr) == cudaSuccess);
    CHECK(level::fit(nullptr, nullptr, view, nullptr) == cudaSuccess);
    view.count = 5;
    CHECK(level::compress(none, view, nullptr) == cudaErrorInvalidValue);
    CHECK(level::fit(nullptr, nullptr, view, nullptr) == cudaErrorInvalidValue);
    view.first = 3;
    CHECK(level::compress(none, view, nullptr) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
}
