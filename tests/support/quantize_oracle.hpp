// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Oracle of compressed matrices, written apart from the library and sharing no code with it: scales, codes and
// decoded numbers of a dense matrix, by double-precision arithmetic that is exact before its one rounding.
//
// Why the roundings are right: a quotient of two fp32 numbers rounded to double and then to a normal fp32 number
// is correctly rounded (53 >= 2 * 24 + 2 bits); a product of two fp32 numbers fits a double without rounding; and
// a comparison with max * 2^e is exact in double.
#pragma once

#include "format_oracle.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace oracle {

enum class scale_kind { float32, bfloat16, e8m0 };
enum class nan_policy { ignore, propagate };

// How a matrix is to be compressed. A tile size of 0 is the whole extent.
struct matrix_format {
    const format* codes;
    scale_kind scales;
    std::int64_t tile_rows;
    std::int64_t tile_columns;
};

// A dense matrix of fp32 numbers (as doubles), with the random bits of each element; no bits: to nearest.
struct dense_matrix {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<double> values;
    std::vector<std::uint32_t> random_bits;

    double at(std::int64_t row, std::int64_t column) const
    {
        return values[static_cast<std::size_t>(row * columns + column)];
    }
    dense_matrix transposed() const
    {
        dense_matrix result;
        result.rows = columns;
        result.columns = rows;
        for (std::int64_t column = 0; column < columns; ++column) {
            for (std::int64_t row = 0; row < rows; ++row) {
                result.values.push_back(at(row, column));
                if (random_bits.empty()) continue;
                result.random_bits.push_back(random_bits[static_cast<std::size_t>(row * columns + column)]);
            }
        }
        return result;
    }
};

// The stored scale of a tile whose largest magnitude is `amax` (NaN: a fault that the policy lets through).
inline std::uint32_t scale_code_of(double amax, const matrix_format& how)
{
    if (std::isnan(amax)) {
        return how.scales == scale_kind::float32 ? 0x7FFFFFFFu : how.scales == scale_kind::bfloat16 ? 0x7FFFu : 0xFFu;
    }
    const double least = how.codes->max() * std::ldexp(1.0, -126);
    const double size = amax < least ? least : amax;
    if (how.scales == scale_kind::e8m0) {
        int exponent = -127;
        while (std::ldexp(how.codes->max(), exponent) < size) ++exponent;
        return static_cast<std::uint32_t>(exponent + 127);
    }
    const std::uint32_t nearest = bits_of_value(size / how.codes->max());
    if (how.scales == scale_kind::float32) return nearest;
    return bfloat16().encode(value_of_bits(nearest), direction::upward);
}

inline double scale_of(std::uint32_t code, const matrix_format& how)
{
    switch (how.scales) {
    case scale_kind::float32: return value_of_bits(code);
    case scale_kind::bfloat16: return bfloat16().decode(code);
    case scale_kind::e8m0: return code == 0xFFu ? std::nan("") : std::ldexp(1.0, static_cast<int>(code) - 127);
    }
    return 0;
}

// A scale that can divide: a number from 2^-127 up.
inline bool is_usable(double scale)
{
    return scale >= std::ldexp(1.0, -127) && scale <= static_cast<double>(std::numeric_limits<float>::max());
}

inline std::uint32_t code_of(double x, double scale, const format& codes, const std::uint32_t* random_bits)
{
    if (!std::isfinite(x) || !is_usable(scale)) return codes.nan_code();
    const double factor = static_cast<double>(static_cast<float>(1.0 / scale));
    const double scaled = static_cast<double>(static_cast<float>(x * factor));
    if (random_bits == nullptr) return codes.encode(scaled);
    const neighbours near = codes.around(scaled);
    const double threshold = std::floor(near.fraction * 0x1p32);
    return static_cast<double>(~*random_bits) < threshold ? near.upper : near.lower;
}

inline double number_of(std::uint32_t code, double scale, const matrix_format& how)
{
    if (scale != 0 && !is_usable(scale)) return std::nan("");
    const float rounded = static_cast<float>(how.codes->decode(code) * scale);
    if (!std::isinf(rounded) || how.scales == scale_kind::float32) return static_cast<double>(rounded);
    return std::copysign(static_cast<double>(std::numeric_limits<float>::max()), static_cast<double>(rounded));
}

// A compressed matrix: codes and decoded numbers (rows x columns), stored scales and amax (down x across), dense.
struct compressed {
    std::int64_t down = 0;
    std::int64_t across = 0;
    std::vector<std::uint32_t> codes;
    std::vector<std::uint32_t> scales;
    std::vector<double> amax;
    std::vector<double> decoded;
    bool has_fault = false;
};

// What tile an element belongs to, counted element by element.
inline compressed empty_tiles(std::int64_t rows, std::int64_t columns, const matrix_format& how)
{
    compressed result;
    if (rows == 0 || columns == 0) return result;
    const std::int64_t height = how.tile_rows == 0 ? rows : how.tile_rows;
    const std::int64_t width = how.tile_columns == 0 ? columns : how.tile_columns;
    result.down = (rows - 1) / height + 1;
    result.across = (columns - 1) / width + 1;
    result.amax.assign(static_cast<std::size_t>(result.down * result.across), 0.0);
    return result;
}
inline std::size_t tile_of(
    std::int64_t row, std::int64_t column, const dense_matrix& from, const compressed& of, const matrix_format& how)
{
    const std::int64_t height = how.tile_rows == 0 ? from.rows : how.tile_rows;
    const std::int64_t width = how.tile_columns == 0 ? from.columns : how.tile_columns;
    return static_cast<std::size_t>(row / height * of.across + column / width);
}

// Stage one: the amax of each tile.
inline compressed observe(const dense_matrix& from, const matrix_format& how, nan_policy policy)
{
    compressed result = empty_tiles(from.rows, from.columns, how);
    for (std::int64_t row = 0; row < from.rows; ++row) {
        for (std::int64_t column = 0; column < from.columns; ++column) {
            double& amax = result.amax[tile_of(row, column, from, result, how)];
            const double size = std::fabs(from.at(row, column));
            if (!std::isfinite(size)) {
                result.has_fault = true;
                if (policy == nan_policy::propagate) amax = std::nan("");
            } else if (size > amax) {  // never true beside NaN
                amax = size;
            }
        }
    }
    return result;
}

// Codes and decoded numbers for the scales that `result` holds.
inline void encode(const dense_matrix& from, const matrix_format& how, compressed& result)
{
    result.codes.clear();
    result.decoded.clear();
    for (std::int64_t row = 0; row < from.rows; ++row) {
        for (std::int64_t column = 0; column < from.columns; ++column) {
            const std::size_t element = static_cast<std::size_t>(row * from.columns + column);
            const double scale = scale_of(result.scales[tile_of(row, column, from, result, how)], how);
            const std::uint32_t* bits = from.random_bits.empty() ? nullptr : &from.random_bits[element];
            result.codes.push_back(code_of(from.at(row, column), scale, *how.codes, bits));
            result.decoded.push_back(number_of(result.codes.back(), scale, how));
        }
    }
}

inline compressed quantize(const dense_matrix& from, const matrix_format& how, nan_policy policy = nan_policy::ignore)
{
    compressed result = observe(from, how, policy);
    for (double amax : result.amax) result.scales.push_back(scale_code_of(amax, how));
    encode(from, how, result);
    return result;
}

// The place of scale (row, column) of `across` scales a row in cuBLASLt's order, as its manual draws it: blocks of
// 128 rows by 4 columns, 512 bytes each, block after block along the row; inside, 32 lines of 16 bytes, line r % 32
// holding rows r % 32, + 32, + 64, + 96 with their 4 columns.
inline std::size_t blocked_place(std::int64_t row, std::int64_t column, std::int64_t across)
{
    const std::int64_t blocks_across = across / 4 + (across % 4 == 0 ? 0 : 1);
    const std::int64_t block = (row / 128) * blocks_across + column / 4;
    const std::int64_t in_block = row % 128;
    return static_cast<std::size_t>(512 * block + 16 * (in_block % 32) + 4 * (in_block / 32) + column % 4);
}

}  // namespace oracle
