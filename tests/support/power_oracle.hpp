// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Oracle of dynamic range expansion, written apart from the library and sharing no code with it.
//
// The real-valued functions are the textbook formulas in long double. The exponent of a group also has an
// oracle in whole numbers of any length: floor(16 log(bound) / log(amax / amin)) is the largest n for which
// amax^n <= bound^16 amin^n, and both sides are integers once the powers of two are cleared away.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace oracle {

inline long double log2_of(double x) { return std::log2(static_cast<long double>(x)); }
inline long double exp2_of(long double x) { return std::exp2(x); }

// Where abs(x) of a group lands among the magnitudes of a format: max (abs(x) / amax)^k.
inline long double bend(double size, double amax, long double k, double format_max)
{
    if (size == 0) return 0;
    return format_max * exp2_of(k * (log2_of(size) - log2_of(amax)));
}

// The way back: amax (value / max)^(1/k).
inline long double unbend(double code_value, double amax, long double k, double format_max)
{
    if (code_value == 0) return 0;
    return amax * exp2_of((log2_of(code_value) - log2_of(format_max)) / k);
}

// A whole number of any length: as much of it as powers and comparisons need.
class whole_number {
public:
    explicit whole_number(std::uint32_t value)
        : digits_{value}
    {}

    void multiply(std::uint32_t factor)
    {
        std::uint64_t carry = 0;
        for (std::uint32_t& digit : digits_) {
            carry += std::uint64_t{digit} * factor;
            digit = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) digits_.push_back(static_cast<std::uint32_t>(carry));
    }

    void multiply_by_power(std::uint32_t base, int exponent)
    {
        for (int i = 0; i < exponent; ++i) multiply(base);
    }

    void double_times(int count)
    {
        for (; count > 31; count -= 31) multiply(1u << 31);
        multiply(1u << count);
    }

    bool operator<=(const whole_number& other) const
    {
        if (digits_.size() != other.digits_.size()) return digits_.size() < other.digits_.size();
        return !std::lexicographical_compare(
            other.digits_.rbegin(), other.digits_.rend(), digits_.rbegin(), digits_.rend());
    }

private:
    std::vector<std::uint32_t> digits_;  // base 2^32, lowest first, no leading zero
};

// A positive number as a whole number of 24 bits times a power of two.
struct scaled_integer {
    std::uint32_t integer;
    int exponent;
};

inline scaled_integer exact_parts(double x)
{
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);  // fp32 values: 24 bits are enough
    return {static_cast<std::uint32_t>(std::ldexp(fraction, 24)), exponent - 24};
}

// True if n sixteenths of log(amax/amin) fit under the bound: amax^n <= bound^16 amin^n, decided exactly.
inline bool exponent_fits(double amax, double amin, double bound, int n)
{
    const scaled_integer high = exact_parts(amax);
    const scaled_integer low = exact_parts(amin);
    const scaled_integer limit = exact_parts(bound);
    whole_number left(1);
    whole_number right(1);
    left.multiply_by_power(high.integer, n);
    right.multiply_by_power(low.integer, n);
    right.multiply_by_power(limit.integer, 16);
    const int twos = n * (high.exponent - low.exponent) - 16 * limit.exponent;
    (twos > 0 ? left : right).double_times(std::abs(twos));
    return left <= right;
}

// floor(16 log(bound) / log(amax / amin)), exactly, between the two limits. A constant group gets the upper
// one.
inline int exact_exponent(double amax, double amin, double bound, int lowest, int highest)
{
    int fits = 0;
    int fails = highest + 1;
    while (fails - fits > 1) {
        const int middle = (fits + fails) / 2;
        (exponent_fits(amax, amin, bound, middle) ? fits : fails) = middle;
    }
    return std::max(fits, lowest);
}

// The same quotient before it is cut to a whole number: tells how near a group is to the next exponent.
inline long double exponent_quotient(double amax, double amin, double bound)
{
    return 16 * log2_of(bound) / (log2_of(amax) - log2_of(amin));
}

}  // namespace oracle
