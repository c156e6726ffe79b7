// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the tests of the warp and block levels run through: groups of every kind, ragged ones among them,
// compressed and decoded by a level on the device and by the host.
#pragma once

#include "../support/device.hpp"
#include "../support/generators.hpp"

#include <gesso/level/host.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

namespace support {

// What one way of encoding makes of all groups.
template<class Codec>
struct group_results {
    std::vector<typename Codec::code_type> codes;
    std::vector<typename Codec::scale_code_type> scales;
    std::vector<std::uint8_t> exponents;
    std::vector<float> decoded;
};

// The same in device memory, with pointers for a kernel. `seen_amax` has a word for each thread that held
// elements.
template<class Codec>
struct group_pointers {
    typename Codec::code_type* codes;
    typename Codec::scale_code_type* scales;
    std::uint8_t* exponents;
    float* decoded;
    std::uint32_t* seen_amax;
};
template<class Codec>
struct group_arrays {
    device_array<typename Codec::code_type> codes;
    device_array<typename Codec::scale_code_type> scales;
    device_array<std::uint8_t> exponents;
    device_array<float> decoded;
    device_array<std::uint32_t> seen_amax;

    group_arrays(std::size_t count, std::size_t groups, std::size_t threads)
        : codes(count)
        , scales(groups)
        , exponents(groups)
        , decoded(count)
        , seen_amax(threads)
    {
        seen_amax.clear();
    }
    group_pointers<Codec> pointers() const
    {
        return {codes.data(), scales.data(), exponents.data(), decoded.data(), seen_amax.data()};
    }
    group_results<Codec> results() const
    {
        return {codes.values(), scales.values(), exponents.values(), decoded.values()};
    }
    bool is_intact() const
    {
        return codes.is_intact() && scales.is_intact() && exponents.is_intact() && decoded.is_intact()
               && seen_amax.is_intact();
    }
};

// `count` numbers in groups: of all sizes, narrow and wide, with zeros of both signs, constant, alone among
// zeros, empty, with NaN; with denormals and infinities if `is_exact`.
inline std::vector<float> group_numbers(std::size_t count, std::size_t group_size, bool is_exact)
{
    generator::random_source random(group_size);
    std::vector<float> values(count);
    for (std::size_t begin = 0, group = 0; begin < count; begin += group_size, ++group) {
        const std::size_t end = std::min(begin + group_size, count);
        // fp32's range but for the ends, where hardware math may flush what exact math keeps.
        const double size = std::ldexp(1.0, static_cast<int>(random.below(200)) - (is_exact ? 120 : 80));
        const double spread = 0.1 + 4 * random.uniform();
        for (std::size_t i = begin; i < end; ++i) {
            double value = size * std::exp(spread * random.normal());
            if (random.below(2) == 0) value = -value;
            if (group % 8 == 1) value = size;
            if (group % 8 == 2 && random.below(4) == 0) value = 0.0;
            if (group % 8 == 3) value = i == begin + group % group_size ? value : -0.0;
            if (group % 8 == 4) value = 0.0;
            values[i] = static_cast<float>(value);
            if (std::isinf(values[i])) values[i] = 1e38f;
            if (!is_exact) values[i] = gesso::flush_denormal(values[i]);
        }
        const std::size_t some = begin + random.below(end - begin);
        if (group % 8 == 5) values[some] = std::numeric_limits<float>::quiet_NaN();
        if (is_exact && group % 8 == 6) values[some] = -std::numeric_limits<float>::infinity();
        if (is_exact && group % 8 == 7) values[some] = 0x1p-130f;
    }
    return values;
}

template<class Codec, class Rounding, class Underflow>
group_results<Codec> compress_on_host(
    const std::vector<float>& values, gesso::index_t first, const Rounding& rounding, Underflow underflow)
{
    const gesso::storage_layout<Codec> layout{static_cast<gesso::index_t>(values.size()), 0};
    const std::size_t groups = static_cast<std::size_t>(layout.groups());
    group_results<Codec> result;
    result.codes.resize(values.size());
    result.scales.resize(groups);
    result.exponents.resize(groups);
    result.decoded.resize(values.size());
    gesso::compressed_ref<Codec> view;
    view.codes = result.codes.data();
    view.scales = result.scales.data();
    view.exponents = result.exponents.data();
    view.count = layout.count;
    view.first = first;
    REQUIRE(gesso::host_codec<Codec>::compress(values.data(), view, rounding, underflow)
            == gesso::status::success);
    const gesso::compressed_ref<const Codec> from = view;
    REQUIRE(gesso::host_codec<Codec>::decode(from, result.decoded.data()) == gesso::status::success);
    return result;
}

// Exact math gives the host's bytes. Hardware math gives the host's scales and exponents, codes at most one
// away, and only so many of another value: a thousandth in the large, under stochastic rounding and to
// nearest.
template<class Codec>
void compare_groups(const group_results<Codec>& got, const group_results<Codec>& expected, bool is_exact)
{
    using format = typename Codec::format;
    CHECK(got.scales == expected.scales);
    if (Codec::has_exponent) CHECK(got.exponents == expected.exponents);
    if (is_exact) {
        CHECK(got.codes == expected.codes);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.decoded.size(); ++i) {
            wrong += gesso::bits_of(got.decoded[i]) != gesso::bits_of(expected.decoded[i]) ? 1u : 0u;
        }
        CHECK(wrong == 0);
        return;
    }
    std::size_t different = 0;
    std::size_t far = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.codes.size(); ++i) {
        const auto place = [](std::uint32_t code) {
            const int magnitude = static_cast<int>(code & format::magnitude_mask);
            return (code & format::sign_mask) != 0 ? -magnitude : magnitude;
        };
        different += got.codes[i] != expected.codes[i] ? 1u : 0u;
        far += std::abs(place(got.codes[i]) - place(expected.codes[i])) > 1 ? 1u : 0u;
        if (got.codes[i] != expected.codes[i]) continue;
        const double a = double{got.decoded[i]};
        const double b = double{expected.decoded[i]};
        if (std::isnan(a) != std::isnan(b)) ++wrong;
        if (!std::isnan(b) && std::fabs(a - b) > 1e-4 * std::fabs(b) + 0x1p-126) ++wrong;
    }
    CAPTURE(different);
    CHECK(far == 0);
    CHECK(wrong == 0);
    CHECK(static_cast<double>(different) <= 1e-3 * static_cast<double>(got.codes.size()) + 2);
}

}  // namespace support
