// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Walk, step 1: one number to one 8-bit code and back, and what the three arguments of encoding do.
// Build: any C++17 compiler, no CUDA needed.
#include <gesso/encoding/convert.hpp>
#include <gesso/encoding/element.hpp>

#include <cstdio>

// A format of one's own: three exponent bits, four mantissa bits, NaN at the outer code.
struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};

int main()
{
    // [encode]
    const gesso::uint8_t code = gesso::encode<gesso::e4m3>(0.3f);  // to nearest, ties to even, saturating
    const float back = gesso::decode<gesso::e4m3>(code);           // 0.3125
    // [encode]
    std::printf("0.3 in E4M3 is code 0x%02X, which is %g\n", static_cast<unsigned>(code), static_cast<double>(back));

    // How a number is encoded is an argument of the act: rounding, underflow, saturation.
    using namespace gesso;
    const float tiny = 1e-4f;  // below E4M3's smallest number
    std::printf("%g: gradual 0x%02X, keep 0x%02X, upward 0x%02X\n", static_cast<double>(tiny),
        unsigned{encode<e4m3>(tiny)}, unsigned{encode<e4m3>(tiny, nearest_even{}, keep{})},
        unsigned{encode<e4m3>(tiny, upward{})});
    std::printf("1000: saturating 0x%02X, nonsaturating 0x%02X (NaN)\n", unsigned{encode<e4m3>(1000.0f)},
        unsigned{encode<e4m3>(1000.0f, nearest_even{}, gradual{}, nonsaturating{})});

    // Stochastic rounding takes its random bits from (seed, step, element): 1.03 lies between 1 and 1.125 and its mean
    // over many elements is 1.03.
    const stochastic source(/*seed=*/7, /*step=*/1);
    double sum = 0;
    constexpr int draws = 100000;
    for (int i = 0; i < draws; ++i) {
        sum += static_cast<double>(decode<e4m3>(encode<e4m3>(1.03f, source.at(i))));
    }
    std::printf("1.03 rounded stochastically: mean %.4f; to nearest: %g\n", sum / draws,
        static_cast<double>(decode<e4m3>(encode<e4m3>(1.03f))));

    // The same functions serve a user's format, and 16-bit elements are read and written through element<T>.
    std::printf("largest E3M4 is %g; 0.3 becomes %g\n", static_cast<double>(e3m4::max()),
        static_cast<double>(decode<e3m4>(encode<e3m4>(0.3f))));
    const bf16 half_precision = element<bf16>::store(0.3f);
    std::printf("0.3 in bf16 is %g\n", static_cast<double>(element<bf16>::load(half_precision)));

    const bool as_said = back == 0.3125f && encode<e4m3>(tiny) == 0 && encode<e4m3>(1000.0f) == 0x7E
                      && sum / draws > 1.029 && sum / draws < 1.031;
    return as_said ? 0 : 1;
}
