// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Matrices and compressed matrices in memory for tests: of any stride and at any address, with canaries around and
// between the rows, and the same views on another base address, so that a runner can copy a whole block to a device
// and back and a canary that was written there is found here.
#pragma once

#include <gesso/encoding/element.hpp>
#include <gesso/matrix_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace support {

constexpr unsigned char matrix_canary = 0xC7;

// `size` bytes after `margin` canary bytes; the first of them has the address `offset` modulo 256.
class memory_block {
public:
    static constexpr std::size_t margin = 256;

    explicit memory_block(std::size_t size = 0, std::size_t offset = 0)
        : size_(size)
        , offset_(offset)
        , bytes_(size == 0 ? 0 : size + offset + 3 * margin, matrix_canary)
    {}

    // The bytes from an address aligned to 256 on: what a runner copies to an equally aligned address.
    unsigned char* base()
    {
        if (size_ == 0) return nullptr;
        const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(bytes_.data());
        return bytes_.data() + (margin - address % margin) % margin;
    }
    std::size_t whole_size() const { return size_ == 0 ? 0 : size_ + offset_ + 2 * margin; }

    // Where the data begin in a copy of the block at `base`; null where there are none.
    template<class T>
    T* data_at(unsigned char* base) const
    {
        return size_ == 0 ? nullptr : reinterpret_cast<T*>(base + margin + offset_);
    }
    template<class T>
    T* data()
    {
        return data_at<T>(base());
    }
    std::size_t size() const { return size_; }

    // Are the bytes before and after the data what they were?
    bool is_intact()
    {
        if (size_ == 0) return true;
        const unsigned char* bytes = base();
        const std::size_t begin = margin + offset_;
        for (std::size_t i = 0; i < begin; ++i) {
            if (bytes[i] != matrix_canary || bytes[begin + size_ + i % margin] != matrix_canary) return false;
        }
        return true;
    }

private:
    std::size_t size_;
    std::size_t offset_;
    std::vector<unsigned char> bytes_;
};

// A matrix of T with rows `stride` apart, `offset` bytes past an aligned address.
template<class T>
class matrix_memory {
public:
    matrix_memory(std::int64_t rows, std::int64_t columns, std::int64_t stride = 0, std::size_t offset = 0)
        : shape_{nullptr, rows, columns, stride == 0 ? columns : stride}
        , block_(columns == 0 ? 0 : static_cast<std::size_t>(rows * shape_.stride) * sizeof(T), offset)
    {}

    memory_block& block() { return block_; }
    // The view on a copy of the block at `base`, and on the block itself.
    gesso::matrix_ref<T> view_at(unsigned char* base) const
    {
        return {block_.template data_at<T>(base), shape_.rows, shape_.columns, shape_.stride};
    }
    gesso::matrix_ref<T> view() { return view_at(block_.base()); }

    T get(std::int64_t row, std::int64_t column)
    {
        T value;
        std::memcpy(&value, at(row, column), sizeof value);
        return value;
    }
    void set(std::int64_t row, std::int64_t column, T value)
    {
        std::memcpy(at(row, column), &value, sizeof value);
    }
    float number(std::int64_t row, std::int64_t column) { return gesso::element<T>::load(get(row, column)); }

    // Fills the padding between the rows with a number that any statistic would show: huge and NaN in turn.
    void poison_padding()
    {
        each_padding([&](std::int64_t row, std::int64_t column) {
            const float poison = (row + column) % 2 == 0 ? 3e38f : gesso::float_of(0x7FFFFFFFu);
            set(row, column, gesso::element<T>::store(poison));
        });
    }
    // For an output: is everything but the elements what it was?
    bool is_intact()
    {
        bool intact = block_.is_intact();
        each_padding([&](std::int64_t row, std::int64_t column) {
            T expected;
            std::memset(static_cast<void*>(&expected), matrix_canary, sizeof expected);
            const T found = get(row, column);
            intact = intact && std::memcmp(&expected, &found, sizeof found) == 0;
        });
        return intact;
    }

private:
    // Not inlined: a compiler that sees the size of an empty block warns of writes that never happen.
    [[gnu::noinline]] T* at(std::int64_t row, std::int64_t column)
    {
        return block_.template data<T>() + row * shape_.stride + column;
    }
    template<class Act>
    void each_padding(Act act)
    {
        if (block_.size() == 0) return;
        for (std::int64_t row = 0; row < shape_.rows; ++row) {
            for (std::int64_t column = shape_.columns; column < shape_.stride; ++column) act(row, column);
        }
    }

    gesso::matrix_ref<T> shape_;
    memory_block block_;
};

// A compressed matrix in blocks of its own for codes and scales. Paddings are elements more than needed, from row
// to row of codes and of (row-major) scales; a multiple of 4 for scales in blocks.
template<class Codec>
class compressed_memory {
public:
    using code_type = typename Codec::code_type;
    using scale_code_type = typename Codec::scale_code_type;

    struct placement {
        std::int64_t code_padding = 0;
        std::int64_t scale_padding = 0;
        std::size_t code_offset = 0;
        gesso::scale_order order = gesso::scale_order::row_major;
    };

    compressed_memory(std::int64_t rows, std::int64_t columns, const placement& where = {})
    {
        const gesso::matrix_layout<Codec> layout{rows, columns, where.order};
        shape_.rows = rows;
        shape_.columns = columns;
        shape_.stride = columns + where.code_padding;
        shape_.order = where.order;
        if (layout.tiles() == 0) return;
        const bool is_blocked = where.order == gesso::scale_order::cublaslt;
        const std::int64_t across = is_blocked ? (layout.row_tiles() + 3) / 4 * 4 : layout.row_tiles();
        const std::int64_t down = layout.tiles() / layout.row_tiles();
        shape_.scale_stride = across + where.scale_padding;
        codes_ = memory_block(static_cast<std::size_t>(rows * shape_.stride) * sizeof(code_type), where.code_offset);
        const std::int64_t scale_rows = is_blocked ? (down + 127) / 128 * 128 : down;
        scales_ = memory_block(static_cast<std::size_t>(scale_rows * shape_.scale_stride) * sizeof(scale_code_type));
    }

    memory_block& code_block() { return codes_; }
    memory_block& scale_block() { return scales_; }
    gesso::compressed_matrix<Codec> view_at(unsigned char* code_base, unsigned char* scale_base) const
    {
        gesso::compressed_matrix<Codec> view = shape_;
        view.codes = codes_.template data_at<code_type>(code_base);
        if (Codec::has_scale) view.scales = scales_.template data_at<scale_code_type>(scale_base);
        return view;
    }
    gesso::compressed_matrix<Codec> view() { return view_at(codes_.base(), scales_.base()); }

    std::uint32_t code(std::int64_t row, std::int64_t column) { return view().codes[row * shape_.stride + column]; }
    std::uint32_t scale(std::size_t place) { return view().scales[place]; }
    std::size_t stored_scales() const { return scales_.size() / sizeof(scale_code_type); }
    static std::uint32_t scale_canary()
    {
        return static_cast<std::uint32_t>(static_cast<scale_code_type>(0xC7C7C7C7u));
    }

    // Is all that lies around the codes, between their rows and around the scales what it was?
    bool is_intact()
    {
        bool intact = codes_.is_intact() && scales_.is_intact();
        if (codes_.size() == 0) return intact;
        for (std::int64_t row = 0; row < shape_.rows; ++row) {
            for (std::int64_t column = shape_.columns; column < shape_.stride; ++column) {
                intact = intact && code(row, column) == static_cast<code_type>(0xC7C7C7C7u);
            }
        }
        return intact;
    }

private:
    gesso::compressed_matrix<Codec> shape_;
    memory_block codes_;
    memory_block scales_;
};

}  // namespace support
