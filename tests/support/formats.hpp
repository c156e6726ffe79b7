// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The formats that the tests run through, each beside its oracle. The last three are what a user might
// define.
#pragma once

#include "format_oracle.hpp"

#include <gesso/encoding/format.hpp>

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
struct e3m2 : gesso::float_format<1, 3, 2, gesso::special::none> {};

// (format) -> the oracle of it. Float32 has none: its table would have 2^31 entries and its conversion is the
// identity.
template<class Format>
const oracle::format& oracle_of()
{
    constexpr oracle::specials special =
        Format::special_values == gesso::special::none         ? oracle::specials::none
        : Format::special_values == gesso::special::finite_nan ? oracle::specials::finite_nan
        : Format::special_values == gesso::special::ieee       ? oracle::specials::ieee
                                                               : oracle::specials::finite_nan_no_zero;
    static const oracle::format facts(
        Format::sign_bits, Format::exponent_bits, Format::mantissa_bits, special);
    return facts;
}

#define GESSO_TEST_FORMATS                                                                                   \
    gesso::e4m3, gesso::e5m2, gesso::unsigned_e4m4, gesso::bfloat16, gesso::float16, gesso::e8m0, e3m4,      \
        e2m1, e3m2
