// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Where the bytes of a compressed flat tensor lie: how many are needed, and views on them. Nothing here owns memory. Views
// are trivially copyable and passed by value, into kernels too; `compressed_ref<const Codec>` reads. Matrices are in
// matrix_layout.hpp.
#pragma once

#include <gesso/codec.hpp>

namespace gesso {

namespace detail {

template<class Codec, class T>
using like = standard::conditional_t<standard::is_const_v<Codec>, const T, T>;

template<class Codec, class Reader>
constexpr bool reads = standard::is_same_v<Reader, const Codec> && !standard::is_const_v<Codec>;

constexpr GESSO_HOST_DEVICE index_t smaller(index_t a, index_t b) { return a < b ? a : b; }

// The groups of `count` elements that start at element `first` of a tensor whose rows have `row_length` elements (0: one
// row of all). A group is `group_size` elements of one row, less at the row's end. The one place that counts groups.
struct flat_groups {
    index_t first;
    index_t count;
    index_t row_length;
    index_t group_size;

    constexpr GESSO_HOST_DEVICE index_t global_group(index_t element) const
    {
        if (row_length == 0) return element / group_size;
        return element / row_length * parts(row_length, group_size) + element % row_length / group_size;
    }
    constexpr GESSO_HOST_DEVICE index_t groups() const
    {
        return count == 0 ? 0 : global_group(first + count - 1) - global_group(first) + 1;
    }
    // The local index of a group's first element, and of the element after its last.
    constexpr GESSO_HOST_DEVICE index_t begin(index_t group) const
    {
        const index_t global = global_group(first) + group;
        if (row_length == 0) return global * group_size - first;
        const index_t in_row = parts(row_length, group_size);
        return global / in_row * row_length + global % in_row * group_size - first;
    }
    constexpr GESSO_HOST_DEVICE index_t end(index_t group) const
    {
        const index_t start = begin(group);
        const index_t to_row_end = row_length == 0 ? group_size : row_length - (first + start) % row_length;
        return smaller(start + smaller(group_size, to_row_end), count);
    }
    // The local index of the group that holds a local element.
    constexpr GESSO_HOST_DEVICE index_t group_of(index_t element) const
    {
        return global_group(first + element) - global_group(first);
    }
    constexpr GESSO_HOST_DEVICE bool starts_a_group() const
    {
        return (row_length == 0 ? first : first % row_length) % group_size == 0;
    }
};

constexpr GESSO_HOST_DEVICE index_t align_up(index_t bytes) { return (bytes + 15) / 16 * 16; }

// Bytes of `count` codes of Format, packed.
template<class Format>
constexpr GESSO_HOST_DEVICE index_t code_bytes(index_t count)
{
    return parts(count * Format::bits, 8);
}

}  // namespace detail

// Code `index` of an array in which codes lie at bit offset index * bits, least significant bit first. Formats of 8, 16
// and 32 bits are plain arrays; narrower ones (E2M1: two a byte) are packed.
template<class Format>
constexpr GESSO_HOST_DEVICE typename Format::code_type load_code(const typename Format::code_type* codes, index_t index)
{
    if constexpr (Format::bits == 8 * sizeof(typename Format::code_type)) {
        return codes[index];
    } else {
        static_assert(Format::bits == 1 || Format::bits == 2 || Format::bits == 4,
            "gesso::load_code: a packed format has 1, 2 or 4 bits; pad the format to 8, 16 or 32 bits");
        const uint32_t mask = (uint32_t{1} << Format::bits) - 1u;
        const index_t bit = index * Format::bits;
        return static_cast<typename Format::code_type>((uint32_t{codes[bit / 8]} >> (bit % 8)) & mask);
    }
}
// Writes code `index`. Packed codes of one byte share it: not for two threads at once.
template<class Format>
constexpr GESSO_HOST_DEVICE void store_code(
    typename Format::code_type* codes, index_t index, typename Format::code_type code)
{
    if constexpr (Format::bits == 8 * sizeof(typename Format::code_type)) {
        codes[index] = code;
    } else {
        static_assert(Format::bits == 1 || Format::bits == 2 || Format::bits == 4,
            "gesso::store_code: a packed format has 1, 2 or 4 bits; pad the format to 8, 16 or 32 bits");
        const uint32_t mask = (uint32_t{1} << Format::bits) - 1u;
        const index_t bit = index * Format::bits;
        const uint32_t others = uint32_t{codes[bit / 8]} & ~(mask << (bit % 8));
        codes[bit / 8] = static_cast<typename Format::code_type>(others | (uint32_t{code} << (bit % 8)));
    }
}

// A compressed flat tensor, or a shard of one.
//   codes      count codes (packed where a code has less than 8 bits)
//   scales     one for each group, in Codec::scale_format; null where the codec has none
//   exponents  one byte for each group: k in sixteenths; null where the codec has none
//   count      number of elements; 0 is valid and needs no memory
//   first      index of the first element in the whole tensor: stochastic rounding and groups count from there. It must be
//              the first element of a group, and a shard ends where a group ends or the tensor does: then the bytes are
//              the whole tensor's.
//   row_length groups never cross a row of this many elements; 0: the tensor is one row.
template<class Codec>
struct compressed_ref {
    using codec_type = standard::remove_const_t<Codec>;
    static_assert(detail::is_flat<typename codec_type::granularity>,
        "gesso::compressed_ref: the codec's granularity must have `group_size`, as per_group<N>; for tiles of a matrix use "
        "gesso::compressed_matrix");

    static_assert(codec_type::granularity::group_size * codec_type::format::bits % 8 == 0,
        "gesso::compressed_ref: a group must fill its bytes, or a shard could not begin at one; use an even group size for "
        "packed codes");

    detail::like<Codec, typename codec_type::code_type>* codes = nullptr;
    detail::like<Codec, typename codec_type::scale_code_type>* scales = nullptr;
    detail::like<Codec, uint8_t>* exponents = nullptr;
    index_t count = 0;
    index_t first = 0;
    index_t row_length = 0;

    constexpr GESSO_HOST_DEVICE detail::flat_groups groups() const
    {
        return {first, count, row_length, codec_type::granularity::group_size};
    }
    // A view that writes is also one that reads.
    template<class Reader, standard::enable_if_t<detail::reads<Codec, Reader>, int> = 0>
    constexpr GESSO_HOST_DEVICE operator compressed_ref<Reader>() const
    {
        return {codes, scales, exponents, count, first, row_length};
    }
    // The view of `number` elements from local element `begin`, which must be the first of a group; so must the element
    // after the last, or it is the end. (Packed codes: begin must lie at a byte.)
    constexpr GESSO_HOST_DEVICE compressed_ref part(index_t begin, index_t number) const
    {
        compressed_ref result = *this;
        const index_t group = count == 0 ? 0 : groups().group_of(begin);
        result.codes += detail::code_bytes<typename codec_type::format>(begin)
                      / static_cast<index_t>(sizeof(typename codec_type::code_type));
        if (codec_type::has_scale) result.scales += group;
        if (codec_type::has_exponent) result.exponents += group;
        result.count = number;
        result.first = first + begin;
        return result;
    }
    // The parameters of a group, and storing them. 0 <= group < groups().groups().
    GESSO_HOST_DEVICE typename codec_type::parameters load(index_t group) const
    {
        return codec_type::load(codec_type::has_scale ? scales[group] : typename codec_type::scale_code_type{},
            codec_type::has_exponent ? exponents[group] : uint8_t{0});
    }
    GESSO_HOST_DEVICE void store(index_t group, const typename codec_type::parameters& with) const
    {
        if constexpr (codec_type::has_scale) scales[group] = codec_type::scale_code(with);
        if constexpr (codec_type::has_exponent) exponents[group] = codec_type::exponent_code(with);
    }
};

// The bytes of a compressed flat tensor in one piece of memory: codes, then scales, then exponents, each aligned to 16.
template<class Codec>
struct storage_layout {
    index_t count = 0;
    index_t row_length = 0;

    constexpr GESSO_HOST_DEVICE index_t groups() const
    {
        return detail::flat_groups{0, count, row_length, Codec::granularity::group_size}.groups();
    }
    constexpr GESSO_HOST_DEVICE index_t scales_offset() const
    {
        return detail::align_up(detail::code_bytes<typename Codec::format>(count));
    }
    constexpr GESSO_HOST_DEVICE index_t exponents_offset() const
    {
        const index_t scale_bytes = static_cast<index_t>(sizeof(typename Codec::scale_code_type));
        return scales_offset() + (Codec::has_scale ? detail::align_up(groups() * scale_bytes) : 0);
    }
    // Bytes that bind() needs.
    constexpr GESSO_HOST_DEVICE index_t bytes() const
    {
        return exponents_offset() + (Codec::has_exponent ? detail::align_up(groups()) : 0);
    }
    // A view on user memory of bytes() bytes, aligned to 16. Zeroed memory is a tensor of zeros.
    GESSO_HOST_DEVICE compressed_ref<Codec> bind(void* memory) const
    {
        unsigned char* base = static_cast<unsigned char*>(memory);
        compressed_ref<Codec> bound;
        if (count == 0) return bound;
        bound.codes = reinterpret_cast<typename Codec::code_type*>(base);
        if (Codec::has_scale) {
            bound.scales = reinterpret_cast<typename Codec::scale_code_type*>(base + scales_offset());
        }
        if (Codec::has_exponent) bound.exponents = reinterpret_cast<uint8_t*>(base + exponents_offset());
        bound.count = count;
        bound.row_length = row_length;
        return bound;
    }
};

namespace detail {

// Is this view fit for use by a function that walks its groups?
template<class Codec>
constexpr GESSO_HOST_DEVICE status check(const compressed_ref<Codec>& view)
{
    using codec_type = typename compressed_ref<Codec>::codec_type;
    if (view.count < 0 || view.first < 0 || view.row_length < 0) return status::negative_count;
    if (!view.groups().starts_a_group()) return status::unaligned_shard;
    if (view.count == 0) return status::success;
    const bool missing = view.codes == nullptr || (codec_type::has_scale && view.scales == nullptr)
                      || (codec_type::has_exponent && view.exponents == nullptr);
    return missing ? status::null_pointer : status::success;
}

}  // namespace detail

}  // namespace gesso
