// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The exact probability of a stochastic rounding, without sampling: the random bits only enter by a
// comparison, so there is one threshold among the 2^32 possible bit patterns, and bisection finds it in 32
// trials.
#pragma once

#include <cstdint>

namespace support {

struct rounding_law {
    bool is_threshold;          // the outcome changes once at most as the bits rise
    double upward_probability;  // over all 2^32 bit patterns
};

// `goes_up(bits)` says what one pattern of random bits does to a fixed number.
template<class GoesUp>
rounding_law law_of(GoesUp&& goes_up)
{
    const bool at_lowest = goes_up(0u);
    const bool at_highest = goes_up(0xFFFFFFFFu);
    int changes = 0;
    bool before = at_lowest;
    for (std::uint32_t bits = 0x00C0FFEEu; bits < 0xFD000000u; bits += 0x01FFFFFBu) {
        changes += goes_up(bits) != before ? 1 : 0;
        before = goes_up(bits);
    }
    changes += before != at_highest ? 1 : 0;
    if (at_lowest == at_highest) return {changes == 0, at_lowest ? 1.0 : 0.0};

    std::uint32_t same_as_lowest = 0u;
    std::uint32_t same_as_highest = 0xFFFFFFFFu;
    while (same_as_highest - same_as_lowest > 1u) {
        const std::uint32_t middle = same_as_lowest + (same_as_highest - same_as_lowest) / 2u;
        (goes_up(middle) == at_lowest ? same_as_lowest : same_as_highest) = middle;
    }
    const double share_of_lowest = static_cast<double>(same_as_highest) * 0x1p-32;
    return {changes == 1, at_lowest ? share_of_lowest : 1 - share_of_lowest};
}

}  // namespace support
