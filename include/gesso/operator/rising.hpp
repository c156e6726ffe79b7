// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The largest magnitude of an operator's outputs without computing them all, where the operator says from where on it rises
// with its input (`rises_from`, operator/pointwise.hpp): what a first pass over a tensor keeps is one word.
//
// With the top bit it is the greatest input, of those that are at least rises_from and make a finite output; else the largest
// magnitude of a finite output. The largest word of any parts is that of the whole, so neither the grid nor the cut can show.
#pragma once

#include <gesso/encoding/arithmetic.hpp>

namespace gesso {

namespace detail {

// Has T a rises_from?
template<class T, class = void>
constexpr bool is_rising = false;
template<class T>
constexpr bool is_rising<T, standard::void_t<decltype(T::rises_from)>> = true;

template<class Operator>
constexpr GESSO_HOST_DEVICE void require_rising()
{
    if constexpr (is_rising<Operator>) {
        static_assert(Operator::inputs == 1 && Operator::outputs == 1 && Operator::rises_from >= 0.0f,
            "gesso::pointwise: rises_from, a number from zero up, is for operators of one input and one output; remove "
            "it");
    }
}

constexpr uint32_t rising_bit = 0x80000000u;

// The larger of two; of a number and NaN the number.
GESSO_HOST_DEVICE inline float larger_number(float a, float b)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return is_nan(a) || b > a ? b : a;
#endif
}

// The word of one input. A NaN or an infinity, as input or output, takes no part.
template<class Operator>
GESSO_HOST_DEVICE uint32_t rising_word(float input)
{
    require_rising<Operator>();
    const float in[1] = {input};
    float out[1];
    Operator::apply(in, out);
    if (!is_finite(input) || !is_finite(out[0])) return 0;
    return input >= Operator::rises_from ? bits_of(input) | rising_bit : magnitude_bits(out[0]);
}
// The word of the first `valid` of a piece's inputs. Of a whole piece the greatest input nearly always decides.
template<class Operator, unsigned Items>
GESSO_HOST_DEVICE uint32_t rising_word(const float (&inputs)[Items], int valid)
{
    if (valid == static_cast<int>(Items)) {
        float greatest = inputs[0];
        GESSO_UNROLL
        for (unsigned i = 1; i < Items; ++i) greatest = larger_number(greatest, inputs[i]);
        const uint32_t word = rising_word<Operator>(greatest);
        if ((word & rising_bit) != 0) return word;
    }
    uint32_t word = 0;
    GESSO_UNROLL
    for (int i = 0; i < static_cast<int>(Items); ++i) {
        const uint32_t own = i < valid ? rising_word<Operator>(inputs[i]) : 0u;
        word = own > word ? own : word;
    }
    return word;
}
// The largest magnitude that a word stands for, as the bits of an fp32 number.
template<class Operator>
GESSO_HOST_DEVICE uint32_t amax_bits_of_word(uint32_t word)
{
    if ((word & rising_bit) == 0) return word;
    const float greatest[1] = {float_of(word & ~rising_bit)};
    float out[1];
    Operator::apply(greatest, out);
    return magnitude_bits(out[0]);
}

}  // namespace detail

}  // namespace gesso
