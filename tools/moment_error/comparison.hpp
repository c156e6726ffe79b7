// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How far two decoded moments are from the two fp32 ones: the error of m / sqrt(v).
//
// The moments are compared as they are stored, without bias correction and epsilon: the correction would multiply both
// sides by the same number, so it changes no comparison of candidates. Elements whose fp32 v is zero have no ratio and
// are left out. Elements whose fp32 v is above zero and whose decoded v is zero have no ratio either,
// but that is the fault of the compression: they are counted apart ("flushed") and are in no mean.
#pragma once

#include <gesso/encoding/arithmetic.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace moment_error {

// Counts of magnitudes, sixteen bins to a factor of two: a median without keeping the numbers, within 2 %.
class magnitude_histogram {
public:
    void add(float value)
    {
        const int bin = static_cast<int>(gesso::magnitude_bits(value) >> shift) - first_bin;
        ++counts_[static_cast<std::size_t>(std::clamp(bin, 0, bins - 1))];
    }

    void merge(const magnitude_histogram& other)
    {
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            counts_[i] += other.counts_[i];
        }
    }

    // NaN of nothing. Zero where the median lies below all bins (2^-48).
    double median() const
    {
        std::uint64_t total = 0;
        for (const std::uint64_t count : counts_) {
            total += count;
        }
        if (total == 0) {
            return std::nan("");
        }
        std::uint64_t below = 0;
        std::size_t bin = 0;
        while (2 * (below + counts_[bin]) < total) {
            below += counts_[bin++];
        }
        if (bin == 0) {
            return 0;
        }
        const double share =
            (static_cast<double>(total) / 2 - static_cast<double>(below)) / static_cast<double>(counts_[bin]);
        return edge(bin) + share * (edge(bin + 1) - edge(bin));
    }

private:
    static constexpr int shift = 23 - 4;
    static constexpr int first_bin = (127 - 48) << 4;
    static constexpr int bins = 64 << 4;

    static double edge(std::size_t bin)
    {
        return static_cast<double>(gesso::float_of((static_cast<std::uint32_t>(bin) + first_bin) << shift));
    }

    std::array<std::uint64_t, bins> counts_{};
};

// m and v of the same elements in fp32, as ratios: zero where there is none.
class reference_ratio {
public:
    reference_ratio(const float* first, const float* second, std::int64_t count)
        : ratio_(static_cast<std::size_t>(count))
        , second_(second, second + count)
    {
        for (std::size_t i = 0; i < ratio_.size(); ++i) {
            if (is_live(i)) {
                ratio_[i] = first[i] / std::sqrt(second[i]);
            }
        }
    }

    std::size_t count() const { return ratio_.size(); }
    // A denormal counts as zero everywhere in the library, so here as well.
    bool is_live(std::size_t i) const { return !gesso::is_zero(gesso::flush_denormal(second_[i])); }
    float ratio(std::size_t i) const { return ratio_[i]; }
    float second(std::size_t i) const { return second_[i]; }

private:
    std::vector<float> ratio_;
    std::vector<float> second_;
};

// What is summed over a second moment.
struct second_sums {
    double logarithms = 0;  // of decoded v / fp32 v
    std::int64_t live = 0;
    std::int64_t flushed = 0;

    void merge(const second_sums& other)
    {
        logarithms += other.logarithms;
        live += other.live;
        flushed += other.flushed;
    }
    double v_ratio() const { return std::exp(logarithms / static_cast<double>(live - flushed)); }
    double flushed_share() const { return static_cast<double>(flushed) / static_cast<double>(live); }
};

// What is summed over a pair of moments.
struct pair_sums {
    double squares = 0;
    std::int64_t compared = 0;
    magnitude_histogram errors;

    void merge(const pair_sums& other)
    {
        squares += other.squares;
        compared += other.compared;
        errors.merge(other.errors);
    }
    double mean_square() const { return squares / static_cast<double>(compared); }
    double median() const { return errors.median(); }
};

// Adds a decoded v to the sums; `root` becomes sqrt(v), zero where there is no ratio.
inline void observe_second(
    const reference_ratio& reference, const float* second, second_sums& sums, std::vector<float>& root)
{
    root.assign(reference.count(), 0.0f);
    for (std::size_t i = 0; i < reference.count(); ++i) {
        if (!reference.is_live(i)) {
            continue;
        }
        ++sums.live;
        if (gesso::is_zero(second[i])) {
            ++sums.flushed;
            continue;
        }
        sums.logarithms += std::log(static_cast<double>(second[i]) / static_cast<double>(reference.second(i)));
        root[i] = std::sqrt(second[i]);
    }
}

// Adds a decoded m beside the v of `root` to the sums. The one place where the error is formed; divided as the
// reference is, so that equal moments have exactly no error.
inline void observe_pair(
    const reference_ratio& reference, const float* first, const std::vector<float>& root, pair_sums& sums)
{
    double squares = 0;
    std::int64_t compared = 0;
    for (std::size_t i = 0; i < reference.count(); ++i) {
        if (root[i] == 0.0f) {
            continue;
        }
        const float error = first[i] / root[i] - reference.ratio(i);
        squares += static_cast<double>(error) * static_cast<double>(error);
        sums.errors.add(error);
        ++compared;
    }
    sums.squares += squares;
    sums.compared += compared;
}

}  // namespace moment_error
