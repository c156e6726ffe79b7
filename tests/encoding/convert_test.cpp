// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Number to code and back, for every format, rounding, underflow and saturation, against the oracle of the
// formats. The inputs are all bf16 and fp16 numbers, every rounding boundary with its neighbours, and a
// stride through fp32. With GESSO_EXHAUSTIVE=1 in the environment all 2^32 fp32 numbers are tried as well
// (minutes a format).
#include <doctest/doctest.h>

#include <gesso/encoding/convert.hpp>

#include "../support/formats.hpp"
#include "../support/generators.hpp"
#include "../support/tally.hpp"

#include <cmath>
#include <cstdlib>
#include <ios>
#include <limits>
#include <vector>

#if __has_include(<cuda_fp8.h>)
#include <cuda_fp8.h>
#define GESSO_TEST_VENDOR_CONVERSION 1
#endif

using gesso::decode;
using gesso::e4m3;
using gesso::e5m2;
using gesso::encode;
using gesso::float_of;
using gesso::gradual;
using gesso::nearest_even;
using gesso::nonsaturating;
using gesso::saturating;
using gesso::upward;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<std::uint32_t> every_half_precision_number()
{
    std::vector<std::uint32_t> patterns;
    for (std::uint32_t code = 0; code < 0x10000u; ++code) {
        patterns.push_back(code << 16);  // bf16 is the upper half of fp32
        patterns.push_back(oracle::bits_of_value(oracle::float16().decode(code)));
    }
    return patterns;
}

template<class Format>
std::vector<std::uint32_t> inputs()
{
    std::vector<std::uint32_t> patterns = every_half_precision_number();
    for (const auto& more : {generator::edge_patterns(), generator::strided_patterns(64),
             generator::boundary_patterns(oracle_of<Format>())}) {
        patterns.insert(patterns.end(), more.begin(), more.end());
    }
    return patterns;
}

// The tags of the library beside the words of the oracle.
constexpr oracle::direction name_of(nearest_even) { return oracle::direction::nearest_even; }
constexpr oracle::direction name_of(upward) { return oracle::direction::upward; }
constexpr oracle::small_results name_of(gradual) { return oracle::small_results::gradual; }
constexpr oracle::small_results name_of(gesso::keep) { return oracle::small_results::keep; }
constexpr oracle::small_results name_of(gesso::flush) { return oracle::small_results::flush; }
constexpr bool name_of(saturating) { return true; }
constexpr bool name_of(nonsaturating) { return false; }

template<class Format, class Rounding, class Underflow, class Saturation>
void expect_oracle_code(support::tally& tally, std::uint32_t bits)
{
    const std::uint32_t got = encode<Format>(float_of(bits), Rounding{}, Underflow{}, Saturation{});
    const std::uint32_t wanted = oracle_of<Format>().encode(
        oracle::value_of_bits(bits), name_of(Rounding{}), name_of(Saturation{}), name_of(Underflow{}));
    tally.expect(got == wanted, [&](auto& out) {
        out << std::hex << "fp32 " << bits << " -> " << got << ", not " << wanted << "; rounding "
            << static_cast<int>(name_of(Rounding{})) << ", underflow "
            << static_cast<int>(name_of(Underflow{})) << ", saturating " << name_of(Saturation{});
    });
}

template<class Format, class Rounding, class Underflow>
void compare_with_oracle(const std::vector<std::uint32_t>& patterns)
{
    support::tally tally;
    for (std::uint32_t bits : patterns) {
        expect_oracle_code<Format, Rounding, Underflow, saturating>(tally, bits);
        expect_oracle_code<Format, Rounding, Underflow, nonsaturating>(tally, bits);
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

template<class Format>
std::uint32_t code_of(float x)
{
    return encode<Format>(x);
}

template<class Format>
std::uint32_t unsaturated_code_of(float x)
{
    return encode<Format>(x, nearest_even{}, gradual{}, nonsaturating{});
}

}  // namespace

TEST_CASE_TEMPLATE("C14 every code decodes to its value", Format, GESSO_TEST_FORMATS)
{
    support::tally tally;
    const oracle::format& facts = oracle_of<Format>();
    for (std::uint32_t code = 0; code < facts.code_count(); ++code) {
        const std::uint32_t got =
            gesso::bits_of(decode<Format>(static_cast<typename Format::code_type>(code)));
        const double value = facts.decode(code);
        const std::uint32_t wanted = std::isnan(value) ? 0x7FFFFFFFu : oracle::bits_of_value(value);
        tally.expect(got == wanted,
            [&](auto& out) { out << std::hex << code << " -> " << got << ", not " << wanted; });
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE_TEMPLATE("every way to encode agrees with the oracle", Format, GESSO_TEST_FORMATS)
{
    const std::vector<std::uint32_t> patterns = inputs<Format>();
    compare_with_oracle<Format, nearest_even, gradual>(patterns);
    compare_with_oracle<Format, nearest_even, gesso::keep>(patterns);
    compare_with_oracle<Format, nearest_even, gesso::flush>(patterns);
    compare_with_oracle<Format, upward, gradual>(patterns);
    compare_with_oracle<Format, upward, gesso::keep>(patterns);
    compare_with_oracle<Format, upward, gesso::flush>(patterns);
}

TEST_CASE_TEMPLATE("C15 every code survives decode and encode", Format, GESSO_TEST_FORMATS)
{
    support::tally tally;
    const oracle::format& facts = oracle_of<Format>();
    for (std::uint32_t code = 0; code < facts.code_count(); ++code) {
        const float value = decode<Format>(static_cast<typename Format::code_type>(code));
        const std::uint32_t wanted = facts.is_nan(code) ? std::uint32_t{Format::nan_code} : code;
        for (std::uint32_t again :
            {std::uint32_t{encode<Format>(value, nearest_even{}, gradual{}, nonsaturating{})},
                std::uint32_t{encode<Format>(value, upward{}, gradual{}, nonsaturating{})}}) {
            tally.expect(
                again == wanted, [&](auto& out) { out << std::hex << code << " came back as " << again; });
        }
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE_TEMPLATE("a larger number never has a smaller code", Format, GESSO_TEST_FORMATS)
{
    support::tally tally;
    std::uint32_t before = encode<Format>(0.0f);
    for (std::uint32_t bits = 0; bits < 0x7F800000u; bits += 4099) {
        const std::uint32_t code = encode<Format>(float_of(bits));
        tally.expect(code >= before,
            [&](auto& out) { out << std::hex << bits << " -> " << code << " after " << before; });
        before = code;
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
}

TEST_CASE("fp32 as a format is the number itself")
{
    support::tally tally;
    for (std::uint32_t bits : generator::strided_patterns(512)) {
        const float x = float_of(bits);
        const std::uint32_t wanted = gesso::is_nan(x) ? 0x7FFFFFFFu : bits;
        const std::uint32_t code = encode<gesso::float32>(x, nearest_even{}, gradual{}, nonsaturating{});
        tally.expect(code == wanted && gesso::bits_of(decode<gesso::float32>(code)) == wanted,
            [&](auto& out) { out << std::hex << bits << " -> " << code; });
    }
    CHECK_MESSAGE(tally.passed(), tally.report());
    CHECK(encode<gesso::float32>(infinity) == gesso::float32::max_code);
    CHECK(encode<gesso::float32>(-infinity, nearest_even{}, gradual{}, nonsaturating{}) == 0xFF800000u);
}

TEST_CASE("C01 E4M3 upper edge: 448, 464, 465")
{
    for (float x : {448.0f, 449.0f, 464.0f, float_of(0x43E80001u), 465.0f, 480.0f, 1000.0f, 3e10f,
             float_of(0x7F7FFFFFu), float_of(0x5BF80000u)}) {
        CAPTURE(x);
        CHECK(code_of<e4m3>(x) == 0x7Eu);
        CHECK(code_of<e4m3>(-x) == 0xFEu);
        CHECK(unsaturated_code_of<e4m3>(x) == (x <= 464.0f ? 0x7Eu : 0x7Fu));
    }
    CHECK(code_of<e4m3>(-465.0f) == 0xFEu);
    CHECK(unsaturated_code_of<e4m3>(-465.0f) == 0xFFu);
}

TEST_CASE("C03 infinity saturates, or becomes NaN or infinity; never zero")
{
    CHECK(code_of<e4m3>(infinity) == 0x7Eu);
    CHECK(code_of<e4m3>(-infinity) == 0xFEu);
    CHECK(unsaturated_code_of<e4m3>(infinity) == 0x7Fu);
    CHECK(unsaturated_code_of<e4m3>(-infinity) == 0xFFu);
    CHECK(code_of<e5m2>(infinity) == 0x7Bu);
    CHECK(code_of<e5m2>(-infinity) == 0xFBu);
    CHECK(unsaturated_code_of<e5m2>(infinity) == 0x7Cu);
    CHECK(unsaturated_code_of<e5m2>(-infinity) == 0xFCu);
}

TEST_CASE("C04 every NaN, quiet or signalling, of either sign, becomes the one NaN code")
{
    for (std::uint32_t bits :
        {0x7FC00000u, 0x7FFFFFFFu, 0x7F800001u, 0x7FA00000u, 0xFFC00000u, 0xFF800001u, 0x7F810000u}) {
        CAPTURE(bits);
        CHECK(code_of<e4m3>(float_of(bits)) == 0x7Fu);
        CHECK(unsaturated_code_of<e4m3>(float_of(bits)) == 0x7Fu);
        CHECK(code_of<e5m2>(float_of(bits)) == 0x7Fu);
        CHECK(unsaturated_code_of<e5m2>(float_of(bits)) == 0x7Fu);
        CHECK(encode<e4m3>(float_of(bits), upward{}, gesso::keep{}) == 0x7Fu);
        CHECK(encode<e4m3>(float_of(bits), nearest_even{}, gesso::flush{}) == 0x7Fu);
    }
    for (std::uint32_t code : {0x7C01u, 0xFE00u}) {
        CHECK(code_of<e4m3>(decode<gesso::float16>(static_cast<std::uint16_t>(code))) == 0x7Fu);
    }
}

TEST_CASE("C06 E4M3 subnormals round to the nearest, ties to even")
{
    struct pair {
        float x;
        std::uint32_t code;
    };
    for (const pair& expected : {pair{0.000104143f, 0x00}, pair{0.000538887f, 0x00}, pair{0.00083075f, 0x00},
             pair{0.00103349f, 0x01}, pair{0.00112769f, 0x01}, pair{0x1p-10f, 0x00},
             pair{float_of(0x3A800001u), 0x01}, pair{3 * 0x1p-10f, 0x02}, pair{5 * 0x1p-10f, 0x02},
             pair{7 * 0x1p-10f, 0x04}, pair{15 * 0x1p-10f, 0x08}, pair{0x1p-6f, 0x08}}) {
        CAPTURE(expected.x);
        CHECK(code_of<e4m3>(expected.x) == expected.code);
    }
}

TEST_CASE("C08 no double rounding by way of a half format")
{
    CHECK(code_of<e4m3>(float_of(0x3F880001u)) == 0x39u);
    CHECK(code_of<e4m3>(1.0625f) == 0x38u);
    CHECK(code_of<e5m2>(float_of(0x3F900001u)) == 0x3Du);
    CHECK(code_of<e5m2>(1.125f) == 0x3Cu);
}

TEST_CASE("C09 all bits below the cut decide, not the first one")
{
    CHECK(code_of<e4m3>(float_of(0x3FE815A5u)) == 0x3Fu);
    CHECK(code_of<e4m3>(1.8125f) == 0x3Eu);
}

TEST_CASE("C10 ties go to the even code in both formats")
{
    CHECK(code_of<e4m3>(4.25f) == 0x48u);
    CHECK(code_of<e4m3>(4.75f) == 0x4Au);
    CHECK(code_of<e4m3>(1.0625f) == 0x38u);
    CHECK(code_of<e4m3>(1.1875f) == 0x3Au);
    CHECK(code_of<e5m2>(9.0f) == 0x48u);
    CHECK(code_of<e5m2>(11.0f) == 0x4Au);
    CHECK(code_of<e5m2>(1.125f) == 0x3Cu);
    CHECK(code_of<e5m2>(1.375f) == 0x3Eu);
    CHECK(code_of<e5m2>(1.625f) == 0x3Eu);
}

TEST_CASE("C12 E5M2: ties, subnormals, sign of zero and finite overflow")
{
    CHECK(code_of<e5m2>(1.125f) == 0x3Cu);
    CHECK(code_of<e5m2>(1.625f) == 0x3Eu);
    CHECK(code_of<e5m2>(0x1p-16f) == 0x01u);
    CHECK(code_of<e5m2>(1e-5f) == 0x01u);
    CHECK(code_of<e5m2>(0x1p-17f) == 0x00u);
    CHECK(code_of<e5m2>(float_of(0x37000001u)) == 0x01u);
    CHECK(code_of<e5m2>(3 * 0x1p-17f) == 0x02u);
    CHECK(code_of<e5m2>(-0.0f) == 0x80u);
    CHECK(code_of<e5m2>(65504.0f) == 0x7Bu);
    CHECK(unsaturated_code_of<e5m2>(65504.0f) == 0x7Cu);
}

TEST_CASE("C13 a negative zero keeps its sign, and tiny negatives become it")
{
    for (float x : {-0.0f, -1e-30f, -0x1p-11f}) {
        CAPTURE(x);
        CHECK(code_of<e4m3>(x) == 0x80u);
        CHECK(code_of<e5m2>(-1e-30f) == 0x80u);
    }
    CHECK(gesso::bits_of(decode<e4m3>(0x80)) == 0x80000000u);
}

TEST_CASE("C16 eight conversions in a row equal eight single ones")
{
    float values[8];
    for (int i = 0; i < 8; ++i) values[i] = (static_cast<float>(i) + 0.3f) * 0x1p-9f;
    std::uint8_t codes[8];
    for (int i = 0; i < 8; ++i) codes[i] = encode<e4m3>(values[i]);
    for (int i = 0; i < 8; ++i) CHECK(codes[i] == i);
}

#if defined(GESSO_TEST_VENDOR_CONVERSION)
TEST_CASE("nearest-even agrees with the vendor's host conversion")
{
    support::tally tally;
    const auto compare = [&tally](float x) {
        const bool same = encode<e4m3>(x) == __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)
                          && unsaturated_code_of<e4m3>(x) == __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3)
                          && encode<e5m2>(x) == __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2)
                          && unsaturated_code_of<e5m2>(x) == __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
        tally.expect(same, [&](auto& out) { out << std::hexfloat << x; });
    };
    for (std::uint32_t bits : inputs<e4m3>()) compare(float_of(bits));
    for (std::uint32_t bits : inputs<e5m2>()) compare(float_of(bits));
    CHECK_MESSAGE(tally.passed(), tally.report());
}
#endif

TEST_CASE("all 2^32 fp32 numbers, on request")
{
    if (std::getenv("GESSO_EXHAUSTIVE") == nullptr) {
        MESSAGE("skipped: set GESSO_EXHAUSTIVE=1 to run it");
        return;
    }
    support::tally tally;
    std::uint32_t bits = 0;
    do {
        expect_oracle_code<e4m3, nearest_even, gradual, saturating>(tally, bits);
        expect_oracle_code<e4m3, nearest_even, gesso::flush, nonsaturating>(tally, bits);
        expect_oracle_code<e5m2, nearest_even, gradual, nonsaturating>(tally, bits);
        expect_oracle_code<gesso::bfloat16, nearest_even, gradual, nonsaturating>(tally, bits);
        expect_oracle_code<gesso::bfloat16, upward, gradual, saturating>(tally, bits);
        expect_oracle_code<gesso::float16, nearest_even, gradual, nonsaturating>(tally, bits);
        expect_oracle_code<gesso::unsigned_e4m4, nearest_even, gesso::keep, saturating>(tally, bits);
        expect_oracle_code<gesso::e8m0, upward, gradual, saturating>(tally, bits);
    } while (++bits != 0);
    CHECK_MESSAGE(tally.passed(), tally.report());
}
