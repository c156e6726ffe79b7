// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What is compared: every format with every expansion, rounding and underflow, as values that a loop can walk over.
#pragma once

#include "trajectory.hpp"

#include <string>
#include <vector>

namespace moment_error {

// A way to keep one moment. The functions are those of trajectory.hpp for its codec.
struct candidate {
    moment which = moment::first;
    std::string format;      // E4M3, E5M2, unsigned E4M4
    std::string bound;       // none (no expansion), min_normal, reference (the paper's), full_range
    int min_sixteenths = 0;  // lower limit of 16 k; 0 without expansion
    gesso::moment_rounding rounding = gesso::moment_rounding::nearest;  // nearest or stochastic
    std::string underflow;                                              // gradual, flush, keep

    moment_track (*replay)(const std::vector<float>& gradients, const placement& where, const replay_settings& settings,
        gesso::moment_rounding rounding, const std::vector<float>* reference) = nullptr;
    void (*encode_once)(
        const float* values, const placement& where, const gesso::stochastic* source, float* decoded) = nullptr;
    bool (*is_rounded_stochastically)(gesso::moment_rounding rounding, double beta) = nullptr;
    std::int64_t (*bytes)(std::int64_t count, std::int64_t row_length) = nullptr;

    bool is_stochastic() const { return rounding == gesso::moment_rounding::stochastic; }
    // Is its rounding the one that `automatic` stands for at this beta?
    bool is_rounded_automatically(double beta) const
    {
        return is_stochastic() == is_rounded_stochastically(gesso::moment_rounding::automatic, beta);
    }
    std::string rounding_name() const { return is_stochastic() ? "stochastic" : "nearest"; }
};

// The library's default pair is E4M3 for m and this for v, both with the default bound.
inline constexpr const char* default_second_format = "unsigned E4M4";

// What a bound is used with unless another setting is being tried: the library's default flushes small first moments;
// the other bounds place elements among the subnormal codes, and plain FP8 is what the name says.
inline std::string usual_underflow(moment which, const std::string& bound)
{
    if (which == moment::second) {
        return "keep";
    }
    return bound == "min_normal" ? "flush" : "gradual";
}
inline int usual_min_sixteenths(const std::string& bound)
{
    return bound == "none" ? 0 : (bound == "reference" ? 1 : 8);
}
inline bool is_usual_but_for_rounding(const candidate& which)
{
    return which.underflow == usual_underflow(which.which, which.bound)
           && which.min_sixteenths == usual_min_sixteenths(which.bound);
}
namespace detail {

// The granularity only sets the largest group; rows make the groups (one_shot.hpp).
using any_group = gesso::per_group<2048>;

template<class Bound, int MinSixteenths>
using expansion_of = gesso::dynamic_power<gesso::exponent_rule<Bound, MinSixteenths>>;

struct candidate_names {
    moment which;
    std::string format;
    std::string bound;
    int min_sixteenths;
    std::string underflow;
};

template<moment Which, class Format, class Expansion, class Underflow>
void add(std::vector<candidate>& candidates, const candidate_names& names)
{
    using codec = gesso::codec<Format, Expansion, any_group>;
    for (const auto rounding : {gesso::moment_rounding::nearest, gesso::moment_rounding::stochastic}) {
        candidates.push_back({Which, names.format, names.bound, names.min_sixteenths, rounding, names.underflow,
            &replay<Which, codec, Underflow>, &moment_error::encode_once<codec, Underflow>,
            &moment_error::is_rounded_stochastically<Which, codec>, &moment_bytes<codec>});
    }
}

template<moment Which, class Format, class Underflow>
void add_bounds(std::vector<candidate>& candidates, const std::string& format, const std::string& underflow)
{
    add<Which, Format, gesso::identity, Underflow>(candidates, {Which, format, "none", 0, underflow});
    add<Which, Format, expansion_of<gesso::min_normal_bound, 8>, Underflow>(
        candidates, {Which, format, "min_normal", 8, underflow});
    add<Which, Format, expansion_of<gesso::reference_bound, 1>, Underflow>(
        candidates, {Which, format, "reference", 1, underflow});
    add<Which, Format, expansion_of<gesso::full_range_bound, 8>, Underflow>(
        candidates, {Which, format, "full_range", 8, underflow});
}

// The default bound with other lower limits of k.
template<moment Which, class Format, class Underflow>
void add_limits(std::vector<candidate>& candidates, const std::string& format, const std::string& underflow)
{
    add<Which, Format, expansion_of<gesso::min_normal_bound, 1>, Underflow>(
        candidates, {Which, format, "min_normal", 1, underflow});
    add<Which, Format, expansion_of<gesso::min_normal_bound, 4>, Underflow>(
        candidates, {Which, format, "min_normal", 4, underflow});
    add<Which, Format, expansion_of<gesso::min_normal_bound, 16>, Underflow>(
        candidates, {Which, format, "min_normal", 16, underflow});
}

template<class Format>
void add_first_moments(std::vector<candidate>& candidates, const std::string& format)
{
    add_bounds<moment::first, Format, gesso::flush>(candidates, format, "flush");
    add_bounds<moment::first, Format, gesso::gradual>(candidates, format, "gradual");
    add_limits<moment::first, Format, gesso::flush>(candidates, format, "flush");
}

template<class Format>
void add_second_moments(std::vector<candidate>& candidates, const std::string& format)
{
    add_bounds<moment::second, Format, gesso::keep>(candidates, format, "keep");
    add_limits<moment::second, Format, gesso::keep>(candidates, format, "keep");
    // What a conversion without thought does: small v become zero.
    add<moment::second, Format, gesso::identity, gesso::gradual>(
        candidates, {moment::second, format, "none", 0, "gradual"});
}

}  // namespace detail

inline std::vector<candidate> all_candidates(moment which)
{
    std::vector<candidate> candidates;
    if (which == moment::first) {
        detail::add_first_moments<gesso::e4m3>(candidates, "E4M3");
        detail::add_first_moments<gesso::e5m2>(candidates, "E5M2");
    } else {
        detail::add_second_moments<gesso::e4m3>(candidates, "E4M3");
        detail::add_second_moments<gesso::e5m2>(candidates, "E5M2");
        detail::add_second_moments<gesso::unsigned_e4m4>(candidates, "unsigned E4M4");
    }
    return candidates;
}

}  // namespace moment_error
