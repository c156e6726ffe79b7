// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the benchmarks call the library's types, and how many bytes they count for them.
#pragma once

#include <gesso/layout.hpp>

namespace bench {

using gesso::index_t;

template<class T>
constexpr const char* type_name = sizeof(T) == 4 ? "fp32" : "bf16";

template<class Format>
constexpr const char* format_name()
{
    using gesso::standard::is_same_v;
    if (is_same_v<Format, gesso::e4m3>) return "e4m3";
    if (is_same_v<Format, gesso::unsigned_e4m4>) return "unsigned_e4m4";
    if (is_same_v<Format, gesso::e5m2>) return "e5m2";
    if (is_same_v<Format, gesso::bfloat16>) return "bf16";
    if (is_same_v<Format, gesso::float32>) return "fp32";
    return "other";
}

// What a compressed tensor occupies: codes, scales and exponents, without the layout's padding.
template<class Codec>
index_t compressed_bytes(index_t count)
{
    const index_t groups = gesso::storage_layout<Codec>{count}.groups();
    return gesso::detail::code_bytes<typename Codec::format>(count)
           + (Codec::has_scale ? groups * index_t{sizeof(typename Codec::scale_code_type)} : 0)
           + (Codec::has_exponent ? groups : 0);
}

}  // namespace bench
