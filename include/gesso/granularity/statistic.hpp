// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What must be known of a group before it can be encoded. A statistic starts empty, observes elements and merges with
// others; the order changes nothing, so results do not depend on lanes, blocks or grids. All comparisons are of bits.
// What a NaN or an infinity does to a statistic is an argument of the act: ignore_nan, propagate_nan or flag_nan.
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
    // Only where propagate_nan observed, or where a stored amax was one.
    GESSO_HOST_DEVICE bool is_nan() const { return amax_bits > 0x7F800000u; }
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
    GESSO_HOST_DEVICE bool is_nan() const { return amax_bits > 0x7F800000u; }
};

// NaN policies: what an element that is NaN or infinite does besides becoming the NaN code itself. Each has one function,
// `observe(statistic, value)`; how statistics merge does not depend on it. A user's policy is a struct with the same.

// Nothing: the statistic is that of the finite elements.
struct ignore_nan {
    template<class Statistic>
    GESSO_HOST_DEVICE void observe(Statistic& known, float value) const
    {
        known.observe(value);
    }
};

// It makes the group's amax NaN (0x7FFFFFFF, which no merge can lose): the scale is then NaN and the whole group decodes as
// NaN, a group per tensor as a tensor of NaN. For those who want a fault to be seen at once, as torch's casts show it.
struct propagate_nan {
    template<class Statistic>
    GESSO_HOST_DEVICE void observe(Statistic& known, float value) const
    {
        if (is_finite(value)) known.observe(value);
        else known.amax_bits = 0x7FFFFFFFu;
    }
};

// As ignore_nan, and *flag becomes 1. The library never clears it: one flag can watch a whole step. `flag` points to memory
// of the side that observes; many threads may write the same 1.
struct flag_nan {
    uint32_t* flag = nullptr;

    template<class Statistic>
    GESSO_HOST_DEVICE void observe(Statistic& known, float value) const
    {
        if (!is_finite(value)) *flag = 1u;
        known.observe(value);
    }
};

namespace detail {

// Can this policy be used? Only flag_nan needs something.
template<class NanPolicy>
constexpr GESSO_HOST_DEVICE status check_policy(const NanPolicy&)
{
    return status::success;
}
constexpr GESSO_HOST_DEVICE status check_policy(const flag_nan& policy)
{
    return policy.flag == nullptr ? status::null_pointer : status::success;
}

}  // namespace detail

}  // namespace gesso
