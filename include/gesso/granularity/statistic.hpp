// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What must be known of a group before it can be encoded. A statistic starts empty, observes elements and merges with
// others; the order changes nothing, so results do not depend on lanes, blocks or grids. All comparisons are of bits.
#pragma once

#include <gesso/encoding/arithmetic.hpp>

namespace gesso {

// The largest finite magnitude of a group; 0 for an empty one. NaN and infinity take no part.
struct amax_statistic {
    uint32_t amax_bits = 0;

    GESSO_HOST_DEVICE void observe(float value)
    {
        const uint32_t magnitude = magnitude_bits(value);
        if (magnitude < 0x7F800000u && magnitude > amax_bits) amax_bits = magnitude;
    }
    GESSO_HOST_DEVICE void merge(const amax_statistic& other)
    {
        if (other.amax_bits > amax_bits) amax_bits = other.amax_bits;
    }
    GESSO_HOST_DEVICE float amax() const { return float_of(amax_bits); }
};

// The largest and the smallest magnitude of a group, over its finite elements of at least 2^-126 (smaller ones count as
// zero, and zeros take no part). Empty, or all zeros: amax 0.
struct range_statistic {
    uint32_t amax_bits = 0;
    uint32_t amin_bits = 0x7F800000u;

    GESSO_HOST_DEVICE void observe(float value)
    {
        const uint32_t magnitude = magnitude_bits(value);
        if (magnitude >= 0x7F800000u || magnitude < 0x00800000u) return;
        if (magnitude > amax_bits) amax_bits = magnitude;
        if (magnitude < amin_bits) amin_bits = magnitude;
    }
    GESSO_HOST_DEVICE void merge(const range_statistic& other)
    {
        if (other.amax_bits > amax_bits) amax_bits = other.amax_bits;
        if (other.amin_bits < amin_bits) amin_bits = other.amin_bits;
    }
    GESSO_HOST_DEVICE float amax() const { return float_of(amax_bits); }
    GESSO_HOST_DEVICE float amin() const { return float_of(amin_bits); }
};

}  // namespace gesso
