// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Oracle of the operators, written apart from the library and sharing no code with it: textbook formulas in double
// precision, and for each number the error that fp32 arithmetic is allowed (docs/numerics.md, section Operators).
#pragma once

#include "quantize_oracle.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace oracle {

// What a result should be, and how far it may be from it. `passage`: the largest number on the way, for whoever must
// know whether fp32 could hold it.
struct expectation {
    double value = 0;
    double bound = 0;
    double passage = 0;
};

constexpr double unit = 0x1p-23;

// An activation and its derivative at x.
struct activation {
    expectation value;
    expectation slope;
};

inline activation silu(double x)
{
    const double s = 1 / (1 + std::exp(-x));
    const double bend = x * s * (1 - s);
    const double growth = 8 + std::fmin(std::fabs(x), 100.0);
    // 1 - s loses the digits of s where s is near 1; from 18 on s is 1.
    const double lost = 2 * std::fmax(0.0, std::fmin(x, 18.0)) + 2;
    activation result;
    result.value = {x * s, unit * growth * std::fabs(x * s), std::fabs(x)};
    result.slope = {s + bend, unit * (growth * (s + std::fabs(bend)) + lost * s), std::fabs(x)};
    return result;
}
// How far a device's upper tail of the normal distribution at x >= 0 may be from its value; the host's is a part of `growth`.
inline double device_tail_error([[maybe_unused]] double x)
{
#if defined(__CUDACC__)
    return x <= 6.5 ? 0x1p-16 * 0.5 * std::erfc(x * std::sqrt(0.5)) : 0x1p-48;
#else
    return 0;
#endif
}
inline activation gelu_erf(double x)
{
    const double below = 0.5 * std::erfc(-x * std::sqrt(0.5));
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846);
    const double growth = 16 + std::fmin(x * x, 200.0);
    const double tail = device_tail_error(std::fabs(x));
    activation result;
    result.value = {x * below, unit * growth * std::fabs(x * below) + std::fabs(x) * tail, std::fabs(x)};
    result.slope = {below + x * density, unit * growth * (below + std::fabs(x * density)) + tail, std::fabs(x)};
    return result;
}
inline activation gelu_tanh(double x)
{
    const double root = std::sqrt(2 / 3.14159265358979323846);
    const double u = root * (x + 0.044715 * x * x * x);
    const double below = 1 / (1 + std::exp(-2 * u));  // (1 + tanh u) / 2, without losing the lower tail
    const double inner = 2 * root * (1 + 3 * 0.044715 * x * x);
    const double above = 1 / (1 + std::exp(2 * u));
    const double bend = std::isfinite(inner) && below * above > 0 ? x * below * above * inner : 0;
    const double growth = 12 + 2 * std::fmin(std::fabs(2 * u), 200.0);
    const double lost = x > 0 ? 2 * std::fmin(std::fabs(x * inner), 60.0) : 0;
    activation result;
    result.value = {x * below, unit * growth * std::fabs(x * below), std::fabs(x)};
    result.slope = {below + bend, unit * (growth * (below + std::fabs(bend)) + lost), std::fabs(x)};
    return result;
}

// factor * of, where the factor is exact but the products are rounded, and numbers below 2^-100 may be flushed.
inline expectation times(double factor, const expectation& of)
{
    expectation result;
    result.value = factor * of.value;
    result.bound = std::fabs(factor) * (of.bound + 0x1p-100) + 4 * unit * std::fabs(result.value) + 0x1p-120;
    result.passage = std::fmax(std::fabs(factor), std::fmax(of.passage, std::fabs(factor) * std::fabs(of.value)));
    return result;
}

// The sum of two numbers, stored in a format: exact but for the one rounding (to fp32 first, as the hardware adds).
inline double stored_sum(double a, double b, const format* stored)
{
    const float sum = static_cast<float>(a + b);
    if (stored == nullptr || !std::isfinite(sum)) return static_cast<double>(sum);
    return stored->decode(stored->encode(static_cast<double>(sum), direction::nearest_even, false));
}

// ---- norms. Matrices are (rows, columns); everything else is a vector.

struct norm_forward {
    std::vector<expectation> y;     // (rows, columns)
    std::vector<expectation> mean;  // (rows)
    std::vector<expectation> rstd;  // (rows)
};
struct norm_backward {
    std::vector<expectation> dx;       // (rows, columns)
    std::vector<expectation> dweight;  // (columns)
    std::vector<expectation> dbias;    // (columns)
};

// What a sum over a row may lose.
constexpr double of_sum = 0x1p-18;

// RMSNorm where centred is false. No weight is all ones; no bias zeros.
inline norm_forward norm(const dense_matrix& x, bool centred, const std::vector<double>& weight,
    const std::vector<double>& bias, double epsilon)
{
    norm_forward result;
    const double n = static_cast<double>(x.columns);
    for (std::int64_t row = 0; row < x.rows && x.columns > 0; ++row) {
        double total = 0;
        double size = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            total += x.at(row, i);
            size += std::fabs(x.at(row, i));
        }
        const double mean = centred ? total / n : 0;
        const double mean_error = centred ? of_sum * size / n : 0;
        double squares = 0;
        double largest = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double distance = x.at(row, i) - mean;
            squares += distance * distance;
            largest = std::fmax(largest, std::fabs(x.at(row, i)));
        }
        const double rstd = 1 / std::sqrt(squares / n + epsilon);
        // A mean that is off by d adds d^2 to the variance.
        const double off = mean_error * rstd;
        const double relative = of_sum + off * off;
        const double passage = std::fmax(squares, size);
        result.mean.push_back({mean, mean_error, size});
        result.rstd.push_back({rstd, relative * rstd, passage});
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double w = weight.empty() ? 1 : weight[static_cast<std::size_t>(i)];
            const double b = bias.empty() ? 0 : bias[static_cast<std::size_t>(i)];
            const double normed = (x.at(row, i) - mean) * rstd;
            const double error = relative * std::fabs(normed) + off + 2 * unit * std::fabs(x.at(row, i)) * rstd;
            const double y = normed * w + b;
            result.y.push_back({y, error * std::fabs(w) + 4 * unit * std::fabs(b) + 0x1p-120,
                std::fmax(passage, std::fmax(rstd, std::fabs(y)))});
        }
    }
    return result;
}

// Gradients of sum(y dy) by x, weight and bias: the chain rule by way of mean and variance, not the closed form.
inline norm_backward backward_of_norm(
    const dense_matrix& x, const dense_matrix& dy, bool centred, const std::vector<double>& weight, double epsilon)
{
    norm_backward result;
    const double n = static_cast<double>(x.columns);
    result.dweight.resize(static_cast<std::size_t>(x.columns));
    result.dbias.resize(static_cast<std::size_t>(x.columns));
    for (std::int64_t row = 0; row < x.rows && x.columns > 0; ++row) {
        double mean = 0;
        double size = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            mean += centred ? x.at(row, i) / n : 0;
            size += std::fabs(x.at(row, i)) / n;
        }
        double variance = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            variance += (x.at(row, i) - mean) * (x.at(row, i) - mean) / n;
        }
        const double rstd = 1 / std::sqrt(variance + epsilon);
        // d/d rstd of the loss, and d/d mean through the numerators; then rstd's own dependence on x.
        double by_rstd = 0;
        double by_mean = 0;
        double gradient_size = 0;
        double product_size = 0;
        double weighted_error = 0;
        const double off = centred ? of_sum * size * rstd : 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double w = weight.empty() ? 1 : weight[static_cast<std::size_t>(i)];
            const double g = dy.at(row, i) * w;
            const double distance = x.at(row, i) - mean;
            by_rstd += g * distance;
            by_mean -= centred ? g * rstd : 0;
            gradient_size += std::fabs(g) / n;
            product_size += std::fabs(g * distance * rstd) / n;
            weighted_error += std::fabs(g) * off / n;
        }
        const double by_variance = -0.5 * by_rstd * rstd * rstd * rstd;
        const double passage = n * std::fmax(variance, std::fmax(size, std::fmax(gradient_size, product_size)));
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const std::size_t column = static_cast<std::size_t>(i);
            const double w = weight.empty() ? 1 : weight[column];
            const double g = dy.at(row, i) * w;
            const double distance = x.at(row, i) - mean;
            const double normed = distance * rstd;
            const double dx = g * rstd + by_variance * 2 * distance / n + by_mean / n;
            const double normed_error =
                (of_sum + off * off) * std::fabs(normed) + off + 2 * unit * std::fabs(x.at(row, i)) * rstd;
            const double error =
                (of_sum + off * off) * (std::fabs(g) + gradient_size + std::fabs(normed) * product_size)
                + normed_error * product_size + std::fabs(normed) * weighted_error;
            result.dx.push_back({dx, 2 * rstd * error + 0x1p-120, std::fmax(passage, std::fmax(rstd, std::fabs(dx)))});
            expectation& by_weight = result.dweight[column];
            by_weight.value += dy.at(row, i) * normed;
            by_weight.bound += std::fabs(dy.at(row, i)) * (normed_error + of_sum * std::fabs(normed)) + 0x1p-120;
            by_weight.passage += std::fabs(dy.at(row, i) * normed) + passage;
            expectation& by_bias = result.dbias[column];
            by_bias.value += dy.at(row, i);
            by_bias.bound += of_sum * std::fabs(dy.at(row, i)) + 0x1p-120;
            by_bias.passage += std::fabs(dy.at(row, i));
        }
    }
    return result;
}

}  // namespace oracle
