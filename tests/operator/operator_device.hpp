// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators on the device against the host: what an operator makes as fp32 is compared with the host's numbers within a
// bound, and its codes with those of quantizing these very numbers, byte for byte.
#pragma once

#include "quantize_device.hpp"

#include <gesso/operator/quantize.hpp>

#include <cmath>
#include <memory>
#include <random>

namespace support {

// Where a matrix lies: its stride and the bytes past an aligned address.
struct odd_place {
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t padding = 0;
    std::size_t offset = 0;
};
// Whole vectors; odd everything; one row; one column; more than a tile either way.
inline std::vector<odd_place> odd_places()
{
    if (is_small()) return {{3, 37, 1, 2}, {130, 72, 0, 0}};
    return {{64, 256}, {1, 1}, {3, 37, 1, 2}, {5, 40, 8, 0}, {1, 1000}, {300, 1}, {129, 200}, {257, 136, 24, 0},
        {130, 515, 5, 4}, {16, 4096}};
}

// Normal numbers, among them zeros, huge and tiny ones; where `has_faults`, a NaN and an infinity too.
template<class T>
void fill(matrix_memory<T>& memory, unsigned seed, bool has_faults = false, float deviation = 2.0f)
{
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0f, deviation);
    const auto view = memory.view();
    for (std::int64_t row = 0; row < view.rows; ++row) {
        for (std::int64_t column = 0; column < view.columns; ++column) {
            const float number = normal(engine);
            const unsigned kind = static_cast<unsigned>(engine()) % 64u;
            const float special = kind == 0 ? 0.0f : kind == 1 ? number * 20.0f : kind == 2 ? number * 1e-6f : number;
            memory.set(row, column, gesso::element<T>::store(special));
        }
    }
    if (has_faults && view.rows > 2) {
        memory.set(1, view.columns / 2, gesso::element<T>::store(std::nanf("")));
        memory.set(2, view.columns - 1, gesso::element<T>::store(-std::numeric_limits<float>::infinity()));
    }
    memory.poison_padding();
}

// A source in host memory and on the device: elements, or codes of elements.
template<class View>
class operand;
template<class T>
class operand<gesso::matrix_ref<const T>> {
public:
    operand(const odd_place& at, unsigned seed, bool has_faults)
        : memory_(at.rows, at.columns, at.columns + at.padding, at.offset * sizeof(T))
    {
        fill(memory_, seed, has_faults);
        device_ = std::make_unique<device_block>(memory_.block());
    }
    gesso::matrix_ref<const T> host() { return gesso::detail::reading(memory_.view()); }
    gesso::matrix_ref<const T> device() const { return gesso::detail::reading(memory_.view_at(device_->base())); }

private:
    matrix_memory<T> memory_;
    std::unique_ptr<device_block> device_;
};
template<class Codec>
class operand<gesso::compressed_matrix<const Codec>> {
public:
    operand(const odd_place& at, unsigned seed, bool has_faults)
        : memory_(at.rows, at.columns, {at.padding, at.padding / 2, at.offset, gesso::scale_order::row_major})
    {
        matrix_memory<float> values(at.rows, at.columns);
        fill(values, seed, has_faults);
        REQUIRE(gesso::host_quantize(values.view(), gesso::quantized_matrix<Codec>{memory_.view(), {}})
                == gesso::status::success);
        device_ = std::make_unique<device_compressed<Codec>>(&memory_);
    }
    gesso::compressed_matrix<const Codec> host() { return memory_.view(); }
    gesso::compressed_matrix<const Codec> device() const { return device_->view(); }

private:
    compressed_memory<Codec> memory_;
    std::unique_ptr<device_compressed<Codec>> device_;
};

// A sink on the device; back() brings its bytes to the host, bytes_of(values) are those that the host makes of these numbers.
template<class View>
class result;
template<class T>
class result<gesso::matrix_ref<T>> {
public:
    explicit result(const odd_place& at)
        : memory_(at.rows, at.columns, at.columns + at.padding, at.offset * sizeof(T))
        , device_(memory_.block())
    {}
    gesso::matrix_ref<T> device() const { return memory_.view_at(device_.base()); }
    void back()
    {
        device_.back();
        CHECK(memory_.is_intact());
    }
    matrix_memory<T>& memory() { return memory_; }
    // The place of the first element that is not what the host stores of these numbers; -1 where there is none.
    std::int64_t first_difference(matrix_memory<float>& numbers)
    {
        const auto view = memory_.view();
        for (std::int64_t i = 0; i < view.rows * view.columns; ++i) {
            const T wanted = gesso::element<T>::store(numbers.get(i / view.columns, i % view.columns));
            const T found = memory_.get(i / view.columns, i % view.columns);
            const bool both_nan = std::isnan(gesso::element<T>::load(wanted)) && std::isnan(gesso::element<T>::load(found));
            if (!both_nan && std::memcmp(&wanted, &found, sizeof found) != 0) return i;
        }
        return -1;
    }
    std::vector<unsigned char> bytes() { return {memory_.block().base(), memory_.block().base() + memory_.block().whole_size()}; }

private:
    matrix_memory<T> memory_;
    device_block device_;
};
template<class Codec>
class result<gesso::compressed_matrix<Codec>> {
public:
    explicit result(const odd_place& at)
        : memory_(at.rows, at.columns, {at.padding, at.padding / 2, at.offset, gesso::scale_order::row_major})
        , device_(&memory_)
    {}
    gesso::compressed_matrix<Codec> device() const { return device_.view(); }
    void back()
    {
        device_.back();
        CHECK(memory_.is_intact());
    }
    std::int64_t first_difference(matrix_memory<float>& numbers)
    {
        const auto view = memory_.view();
        compressed_memory<Codec> wanted(view.rows, view.columns);
        REQUIRE(gesso::host_quantize(numbers.view(), gesso::quantized_matrix<Codec>{wanted.view(), {}})
                == gesso::status::success);
        return compare(wanted);
    }
    std::int64_t compare(compressed_memory<Codec>& wanted)
    {
        const auto view = memory_.view();
        for (std::int64_t i = 0; i < view.rows * view.columns; ++i) {
            if (wanted.code(i / view.columns, i % view.columns) != memory_.code(i / view.columns, i % view.columns)) return i;
        }
        return scales_of(wanted) == scales_of(memory_) ? -1 : 0;
    }
    compressed_memory<Codec>& memory() { return memory_; }
    std::vector<unsigned char> bytes()
    {
        std::vector<unsigned char> all{memory_.code_block().base(), memory_.code_block().base() + memory_.code_block().whole_size()};
        all.insert(all.end(), memory_.scale_block().base(), memory_.scale_block().base() + memory_.scale_block().whole_size());
        return all;
    }

private:
    compressed_memory<Codec> memory_;
    device_compressed<Codec> device_;
};
template<class Codec>
class result<gesso::quantized_matrix<Codec>> {
public:
    using turned_codec = gesso::transposed_codec<Codec>;

    explicit result(const odd_place& at)
        : plain_(at)
        , transposed_({at.columns, at.rows, at.padding, at.offset})
    {}
    gesso::quantized_matrix<Codec> device() const { return {plain_.device(), transposed_.device()}; }
    void back()
    {
        plain_.back();
        transposed_.back();
    }
    std::int64_t first_difference(matrix_memory<float>& numbers)
    {
        const auto view = numbers.view();
        compressed_memory<Codec> plain(view.rows, view.columns);
        compressed_memory<turned_codec> transposed(view.columns, view.rows);
        REQUIRE(gesso::host_quantize(numbers.view(), gesso::quantized_matrix<Codec>{plain.view(), transposed.view()})
                == gesso::status::success);
        const std::int64_t found = plain_.compare(plain);
        return found >= 0 ? found : transposed_.compare(transposed);
    }
    std::vector<unsigned char> bytes()
    {
        std::vector<unsigned char> all = plain_.bytes();
        const std::vector<unsigned char> turned = transposed_.bytes();
        all.insert(all.end(), turned.begin(), turned.end());
        return all;
    }

private:
    result<gesso::compressed_matrix<Codec>> plain_;
    result<gesso::compressed_matrix<turned_codec>> transposed_;
};

// |found - wanted| within `relative` of the wanted number plus `absolute`, or both NaN, or the same infinity.
inline bool is_near(float found, float wanted, double relative, double absolute)
{
    if (std::isnan(wanted) || std::isnan(found)) return std::isnan(wanted) && std::isnan(found);
    if (std::isinf(wanted) || std::isinf(found)) return wanted == found;
    const double difference = std::fabs(static_cast<double>(found) - static_cast<double>(wanted));
    return difference <= relative * std::fabs(static_cast<double>(wanted)) + absolute;
}

}  // namespace support
