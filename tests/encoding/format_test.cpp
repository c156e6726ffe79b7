// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The facts of every format against the table of its values, and the public figures of the well-known ones.
#include <doctest/doctest.h>

#include <gesso/encoding/format.hpp>

#include "../support/formats.hpp"

#include <type_traits>

namespace {

// The public specifications, word for word.
static_assert(
    gesso::e4m3::max_code == 0x7E && gesso::e4m3::nan_code == 0x7F && gesso::e4m3::sign_mask == 0x80u, "");
static_assert(gesso::e4m3::min_normal_code == 0x08 && gesso::e4m3::min_positive_code == 0x01, "");
static_assert(!gesso::e4m3::has_infinity && gesso::e4m3::bias == 7, "");
static_assert(
    gesso::e5m2::max_code == 0x7B && gesso::e5m2::infinity_code == 0x7C && gesso::e5m2::bias == 15, "");
static_assert(gesso::bfloat16::max_bits == 0x7F7F0000u && gesso::bfloat16::nan_code == 0x7FFF, "");
static_assert(gesso::float32::max_bits == 0x7F7FFFFFu && gesso::float32::nan_code == 0x7FFFFFFFu, "");
static_assert(gesso::float32::infinity_code == 0x7F800000u && gesso::float32::min_positive_bits == 1u, "");
static_assert(std::is_same<gesso::e4m3::code_type, std::uint8_t>::value, "");
static_assert(std::is_same<gesso::unsigned_e4m4::code_type, std::uint8_t>::value, "");
static_assert(std::is_same<gesso::float16::code_type, std::uint16_t>::value, "");
static_assert(std::is_same<gesso::float32::code_type, std::uint32_t>::value, "");

}  // namespace

TEST_CASE_TEMPLATE("every fact of a format agrees with the table of its values", Format, GESSO_TEST_FORMATS)
{
    const oracle::format& facts = oracle_of<Format>();
    CHECK(Format::bits == facts.bits());
    CHECK(Format::sign_mask == facts.sign_mask());
    CHECK(Format::magnitude_mask == facts.magnitude_mask());
    CHECK(Format::max_code == facts.max_code());
    CHECK(Format::min_normal_code == facts.min_normal_code());
    CHECK(Format::has_zero == facts.has_zero());
    if (Format::has_nan) CHECK(Format::nan_code == facts.nan_code());
    if (Format::has_infinity) CHECK(facts.is_infinity(Format::infinity_code));

    CHECK(Format::max_bits == oracle::bits_of_value(facts.max()));
    CHECK(Format::min_normal_bits == oracle::bits_of_value(facts.min_normal()));
    CHECK(Format::min_positive_bits == oracle::bits_of_value(facts.min_positive()));
    CHECK(double{Format::max()} == facts.max());
    CHECK(double{Format::min_normal()} == facts.min_normal());
    CHECK(double{Format::min_positive()} == facts.min_positive());
}

TEST_CASE("S16 the maximum is that of the format, not of a neighbour")
{
    CHECK(gesso::e4m3::max() == 448.0f);
    CHECK(gesso::e5m2::max() == 57344.0f);
    CHECK(gesso::unsigned_e4m4::max() == 480.0f);
    CHECK(gesso::float16::max() == 65504.0f);
    CHECK(e2m1::max() == 6.0f);
    CHECK(e3m4::max() == 30.0f);
}
