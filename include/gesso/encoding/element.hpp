// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Element types of parameters, gradients and activations: how one is read as fp32 and written from it.
#pragma once

#include <gesso/encoding/convert.hpp>

// CUDA's own 16-bit types, known here by name only: using one is including its header.
struct __nv_bfloat16;
struct __half;

namespace gesso {

// A number held as its code, for hosts without CUDA's types and for NVRTC. Trivially copyable, no arithmetic.
template<class Format>
struct stored {
    typename Format::code_type bits;
};
using bf16 = stored<bfloat16>;
using fp16 = stored<float16>;

// element<T>: the one trait that knows how T is read and written. A member `format`, `load(T) -> float` (exact) and
// `store(float, rounding = nearest_even{}) -> T`; a number above T's range becomes infinity, as a cast makes it.
// To add a type (torch's, say) derive from element_of_format:
//   template<> struct gesso::element<c10::BFloat16> : gesso::element_of_format<c10::BFloat16, gesso::bfloat16> {};
template<class T, class Format>
struct element_of_format {
    static_assert(Format::bits == 8 * sizeof(typename Format::code_type),
        "gesso::element_of_format: an element fills its bytes; formats of other widths are codes of a codec");
    using format = Format;

    static GESSO_HOST_DEVICE float load(T value)
    {
        static_assert(sizeof(T) == sizeof(typename Format::code_type),
            "gesso::element_of_format: the type and the format have different sizes; name the format of this type");
        return decode<Format>(__builtin_bit_cast(typename Format::code_type, value));
    }
    template<class Rounding = nearest_even>
    static GESSO_HOST_DEVICE T store(float value, Rounding rounding = {})
    {
        return __builtin_bit_cast(T, encode<Format>(value, rounding, gradual{}, nonsaturating{}));
    }
};

template<class T>
struct element {
    static_assert(!standard::is_same_v<T, T>,
        "gesso::element: no element type; specialise gesso::element<T> from gesso::element_of_format<T, Format>");
};

template<>
struct element<float> {
    using format = float32;

    static GESSO_HOST_DEVICE float load(float value) { return value; }
    template<class Rounding = nearest_even>
    static GESSO_HOST_DEVICE float store(float value, Rounding = {})
    {
        return value;
    }
};

template<class Format>
struct element<stored<Format>> : element_of_format<stored<Format>, Format> {};
template<>
struct element<__nv_bfloat16> : element_of_format<__nv_bfloat16, bfloat16> {};
template<>
struct element<__half> : element_of_format<__half, float16> {};

}  // namespace gesso
