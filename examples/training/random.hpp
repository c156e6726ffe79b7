// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Random numbers that are the same with every standard library: std's engines are portable, its distributions
// are not.
#pragma once

#include <cstdint>
#include <random>

namespace training {

class random_source {
public:
    // Streams of one seed are independent: the parameters must not depend on how many batches were drawn.
    random_source(std::uint64_t seed, std::uint32_t stream)
        : engine_(mixed(seed, stream))
    {}

    // In [0, 1).
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

    // In [0, limit). The bias of scaling is limit * 2^-53: nothing for a text.
    std::int64_t below(std::int64_t limit)
    {
        return static_cast<std::int64_t>(uniform() * static_cast<double>(limit));
    }

private:
    static std::mt19937_64 mixed(std::uint64_t seed, std::uint32_t stream)
    {
        std::seed_seq sequence{
            static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream};
        return std::mt19937_64(sequence);
    }

    std::mt19937_64 engine_;
};

}  // namespace training
