// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How a number between two codes becomes one of them: rounding, and what happens below the normal range and above the
// largest number. All are arguments of the act of encoding, never part of a stored type, so the same bytes are one type
// whoever wrote them.
#pragma once

#include <gesso/config.hpp>

namespace gesso {

// A magnitude cut at the last bit that a format keeps: the code below it and what was cut off, in units of which one
// step between neighbouring codes is 2^shift. 0 <= remainder < 2^shift, shift <= 31. The code is not yet limited to the
// format's largest number.
struct cut {
    uint32_t code;
    uint32_t remainder;
    int shift;
    bool negative;
};

// A rounding answers two questions: rounds_away(cut), does the magnitude move to the next code; and passes_max(negative),
// may a finite number become infinity where one does not saturate.

// To the nearer code, ties to the even one.
struct nearest_even {
    static constexpr GESSO_HOST_DEVICE bool passes_max(bool) { return true; }
    constexpr GESSO_HOST_DEVICE bool rounds_away(const cut& at) const
    {
        const uint32_t twice = at.remainder << 1;
        const uint32_t step = uint32_t{1} << at.shift;
        return twice > step || (twice == step && (at.code & 1u) != 0);
    }
};

// Toward zero.
struct toward_zero {
    static constexpr GESSO_HOST_DEVICE bool passes_max(bool) { return false; }
    constexpr GESSO_HOST_DEVICE bool rounds_away(const cut&) const { return false; }
};

// Toward plus infinity: for scales, which must not come out too small.
struct upward {
    static constexpr GESSO_HOST_DEVICE bool passes_max(bool negative) { return !negative; }
    constexpr GESSO_HOST_DEVICE bool rounds_away(const cut& at) const { return at.remainder != 0 && !at.negative; }
};

// Away from zero with probability remainder / 2^shift, so the expected value is the number itself. `bits` are 32 uniform
// random bits; a representable number never moves, and zero bits move nothing. The probability is exact to 2^-32.
// (What is cut off plus the random bits below it carries into the code: a kernel does it by one addition.)
// Through an expansion the same bits are used with the probability that makes the *decoded* value unbiased: see
// expansion/power.hpp.
struct stochastic_bits {
    uint32_t bits;

    static constexpr GESSO_HOST_DEVICE bool passes_max(bool) { return true; }
    constexpr GESSO_HOST_DEVICE bool rounds_away(const cut& at) const
    {
        return at.shift != 0 && ~bits < at.remainder << (32 - at.shift);
    }
};

namespace detail {

// A bijection of 32 bits in which every output bit depends on every input bit (xor-shift-multiply; the two constants
// are the ones published by C. Wellons for low bias).
constexpr GESSO_HOST_DEVICE uint32_t mix(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x7FEB352Du;
    value ^= value >> 15;
    value *= 0x846CA68Bu;
    value ^= value >> 16;
    return value;
}

}  // namespace detail

// The source of random bits for stochastic rounding: a hash of (seed, step, stream, global index of the element), so the
// bits are the same on host and device and depend on no grid, shard or order. Streams keep apart what is rounded at the
// same element. Nothing is stored between steps; resuming needs the seed and the step alone.
// Sixteen neighbours share one hash and take it times odd numbers that grow by a constant: any two of them are uncorrelated
// in the upper bits, which decide (tests/encoding/rounding_test), and a kernel pays one hash for them and a product for each.
struct stochastic {
    uint32_t low;
    uint32_t high;

    constexpr GESSO_HOST_DEVICE stochastic(uint64_t seed, uint64_t step)
        : low(detail::mix(detail::mix(detail::mix(static_cast<uint32_t>(seed >> 32)) ^ static_cast<uint32_t>(seed))
                          ^ detail::mix(static_cast<uint32_t>(step >> 32)) ^ static_cast<uint32_t>(step)))
        , high(detail::mix(low + 0x9E3779B9u))
    {
    }

    // The same source with other bits at every element; stream 0 is the source itself.
    constexpr GESSO_HOST_DEVICE stochastic stream(uint32_t number) const
    {
        stochastic other = *this;
        other.low ^= detail::mix(number);
        other.high += number * 0xC2B2AE35u;
        return other;
    }

    // The hash that the elements from block_elements * block on share.
    static constexpr index_t block_elements = 16;
    constexpr GESSO_HOST_DEVICE uint32_t hash_of_block(uint64_t block) const
    {
        const uint32_t rest = static_cast<uint32_t>(block >> 32) * 0x85EBCA6Bu;
        return detail::mix((static_cast<uint32_t>(block) ^ low) + rest) + (high ^ rest);
    }
    // What it is taken times at its first element, and how much more at each after it.
    static constexpr uint32_t first_factor = 0x9E3779B1u;
    static constexpr uint32_t factor_step = 0x85EBCA76u;

    constexpr GESSO_HOST_DEVICE stochastic_bits at(index_t element) const
    {
        const uint32_t factor = first_factor + factor_step * static_cast<uint32_t>(element % block_elements);
        return {hash_of_block(static_cast<uint64_t>(element / block_elements)) * factor};
    }
};

namespace detail {

// What rounds at one element: a source, which has `at(element)`, is asked for that element's; anything else is itself.
template<class Rounding>
constexpr GESSO_HOST_DEVICE auto rounding_at(const Rounding& rounding, index_t element, int)
    -> decltype(rounding.at(element))
{
    return rounding.at(element);
}
template<class Rounding>
constexpr GESSO_HOST_DEVICE Rounding rounding_at(const Rounding& rounding, index_t, long)
{
    return rounding;
}
template<class Rounding>
constexpr GESSO_HOST_DEVICE auto rounding_at(const Rounding& rounding, index_t element)
{
    return rounding_at(rounding, element, 0);
}

}  // namespace detail

// Below the normal range: the format's own subnormals and zero. For activations and weights.
struct gradual {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE uint32_t adjust(uint32_t code, bool)
    {
        return code;
    }
};

// A number above zero never becomes zero: it gets the smallest code, whatever the rounding. For second moments, whose
// root divides the update.
struct keep {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE uint32_t adjust(uint32_t code, bool nonzero)
    {
        return nonzero && code == 0 ? uint32_t{Format::min_positive_code} : code;
    }
};

// A code below the normal range becomes zero, the sign is kept. For first moments: under nearest rounding the subnormal
// codes would never decay.
struct flush {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE uint32_t adjust(uint32_t code, bool)
    {
        if constexpr (Format::min_normal_code == 0) return code;
        else return code < uint32_t{Format::min_normal_code} ? 0u : code;
    }
};

// Above the largest number, infinity included: the largest number.
struct saturating {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE uint32_t limit(uint32_t code)
    {
        return code > uint32_t{Format::max_code} ? uint32_t{Format::max_code} : code;
    }
};

// Above the largest number after rounding, infinity included: infinity where the format has one, else NaN, else (a
// format without either) the largest number.
struct nonsaturating {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE uint32_t limit(uint32_t code)
    {
        return code > uint32_t{Format::max_code} ? uint32_t{Format::infinity_code} : code;
    }
};

}  // namespace gesso
