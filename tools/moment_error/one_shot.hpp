// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// One-shot error, as the paper's table has it: a good fp32 moment is encoded once and decoded. Says what a format can
// hold, and nothing about a state that is encoded anew at every step (trajectory.hpp).
#pragma once

#include <gesso/level/host.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace moment_error {

inline void require_success(gesso::status status)
{
    if (status != gesso::status::success) {
        throw std::runtime_error(std::string("the library refused: ") + gesso::describe(status));
    }
}

// Which elements of which tensor are meant: random bits and groups are counted in the whole tensor. Groups never cross
// a row, so rows of N elements make groups of N under a codec whose groups are larger: the tool tries every group size
// without compiling it. row_length 0: groups of the codec's own size.
struct placement {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t row_length = 0;
};

// The memory of one compressed moment; a new one is all zeros.
template<class Codec>
class moment_memory {
public:
    explicit moment_memory(const placement& where)
        : layout_{where.count, where.row_length}
        , memory_(static_cast<std::size_t>(layout_.bytes()))
        , view_(layout_.bind(memory_.data()))
    {
        view_.first = where.first;
    }
    moment_memory(const moment_memory&) = delete;  // the view points into the memory
    moment_memory& operator=(const moment_memory&) = delete;

    const gesso::compressed_ref<Codec>& view() const { return view_; }

    void decode(float* values) const
    {
        const gesso::compressed_ref<const Codec> reading = view_;
        require_success(gesso::host_codec<Codec>::decode(reading, values));
    }

private:
    gesso::storage_layout<Codec> layout_;
    std::vector<unsigned char> memory_;
    gesso::compressed_ref<Codec> view_;
};

// Bytes of a whole tensor's moment, padding between the arrays included.
template<class Codec>
std::int64_t moment_bytes(std::int64_t count, std::int64_t row_length)
{
    return gesso::storage_layout<Codec>{count, row_length}.bytes();
}

// values (where.count) -> decoded (where.count). `source`: of stochastic rounding; null rounds to nearest.
template<class Codec, class Underflow>
void encode_once(const float* values, const placement& where, const gesso::stochastic* source, float* decoded)
{
    const moment_memory<Codec> memory(where);
    require_success(source != nullptr ? gesso::host_codec<Codec>::compress(values, memory.view(), *source, Underflow{})
                                      : gesso::host_codec<Codec>::compress(
                                          values, memory.view(), gesso::nearest_even{}, Underflow{}));
    memory.decode(decoded);
}

}  // namespace moment_error
