// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The thread level: a group, or a part of one, in the registers of one thread. No storage, no barrier; results are valid
// in the calling thread. Runs on host and device.
#pragma once

#include <gesso/codec.hpp>

namespace gesso {

// The codec's verbs on ItemsPerThread fp32 values of one thread. The first `valid` of them exist; the others are neither
// read nor written. All indices are known when the loops are unrolled, so the arrays stay in registers. In a group that
// several threads share, merge() their statistics before fit().
// Snippet: examples/03_scale_a_group.cpp
template<class Codec, int ItemsPerThread>
struct thread_codec {
    static_assert(ItemsPerThread >= 1, "gesso::thread_codec: ItemsPerThread is at least 1");
    using statistic = typename Codec::statistic;
    using parameters = typename Codec::parameters;
    using code_type = typename Codec::code_type;
    using items = float[static_cast<unsigned>(ItemsPerThread)];
    using codes = code_type[static_cast<unsigned>(ItemsPerThread)];

    static GESSO_HOST_DEVICE statistic observe(const items& values, int valid = ItemsPerThread)
    {
        statistic known;
        GESSO_UNROLL
        for (int i = 0; i < ItemsPerThread; ++i) {
            if (i < valid) known.observe(values[i]);
        }
        return known;
    }

    static GESSO_HOST_DEVICE parameters fit(const statistic& known) { return Codec::fit(known); }

    // values to codes. rounding: nearest_even, upward, or stochastic{seed, step}, for which `first_element` is the index of
    // values[0] in the whole tensor.
    template<class Rounding = nearest_even, class Underflow = gradual>
    static GESSO_HOST_DEVICE void encode(const items& values, const parameters& with,
        codes& to, const Rounding& rounding = {}, Underflow underflow = {},
        index_t first_element = 0, int valid = ItemsPerThread)
    {
        GESSO_UNROLL
        for (int i = 0; i < ItemsPerThread; ++i) {
            if (i < valid) {
                to[i] = Codec::encode(values[i], with, detail::rounding_at(rounding, first_element + i), underflow);
            }
        }
    }

    // Observe, fit and encode in a row, for a group that lives in this thread alone.
    template<class Rounding = nearest_even, class Underflow = gradual>
    static GESSO_HOST_DEVICE parameters compress(const items& values,
        codes& to, const Rounding& rounding = {}, Underflow underflow = {},
        index_t first_element = 0, int valid = ItemsPerThread)
    {
        const parameters with = fit(observe(values, valid));
        encode(values, with, to, rounding, underflow, first_element, valid);
        return with;
    }

    static GESSO_HOST_DEVICE void decode(const codes& from, const parameters& with,
        items& values, int valid = ItemsPerThread)
    {
        GESSO_UNROLL
        for (int i = 0; i < ItemsPerThread; ++i) {
            if (i < valid) values[i] = Codec::decode(from[i], with);
        }
    }
};

}  // namespace gesso
