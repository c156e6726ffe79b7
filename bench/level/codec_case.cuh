// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Benchmarks of device_codec on one flat tensor: compress, encode with stored parameters, decode.
#pragma once

#include "../support/event_timer.hpp"
#include "../support/names.hpp"
#include "../support/random.cuh"

#include <gesso/level/device.cuh>

#include <cuda_bf16.h>

namespace bench {

enum class operation { compress, compress_stochastic, encode, decode };

constexpr const char* name_of(operation done)
{
    switch (done) {
    case operation::compress: return "compress";
    case operation::compress_stochastic: return "compress_stochastic";
    case operation::encode: return "encode";
    case operation::decode: return "decode";
    }
    return "";
}

template<class Codec, class T, operation Done>
void codec_case(benchmark::State& state, index_t count)
{
    event_timer& timer = event_timer::instance();
    // Each operation reads or writes values, codes, scales and exponents once.
    const index_t bytes = count * index_t{sizeof(T)} + compressed_bytes<Codec>(count);
    const double copy_seconds = timer.copy_seconds(bytes);

    const gesso::storage_layout<Codec> layout{count};
    const device_memory values(count * index_t{sizeof(T)});
    const device_memory memory(layout.bytes());
    const gesso::compressed_ref<Codec> compressed = layout.bind(memory.data());
    using codec = gesso::device_codec<Codec>;
    T* const elements = values.data<T>();

    fill_normal(elements, count, 1e-3f, 1);
    check(codec::compress(elements, compressed, timer.stream()), "compress");
    report(state, count, bytes, copy_seconds, [&] {
        if constexpr (Done == operation::compress) {
            check(codec::compress(elements, compressed, timer.stream()), "compress");
        } else if constexpr (Done == operation::compress_stochastic) {
            check(codec::compress(
                      elements, compressed, gesso::stochastic{1, 1}, gesso::gradual{}, timer.stream()),
                "compress");
        } else if constexpr (Done == operation::encode) {
            check(codec::encode(elements, compressed, timer.stream()), "encode");
        } else {
            check(codec::decode(compressed, elements, timer.stream()), "decode");
        }
    });
    check(codec::decode(compressed, elements, timer.stream()), "decode");
    require_finite(elements, count);
}

// Adds codec/<operation>/format:.../expansion:.../values:.../group:.../elements:2^exponent.
template<class Codec, class T, operation Done>
void add_codec(int exponent)
{
    if (is_small()) exponent = 20;
    add(std::string("codec/operation:") + name_of(Done) + "/format:" + format_name<typename Codec::format>()
            + "/expansion:" + (Codec::has_exponent ? "dynamic" : "none")
            + "/values:" + type_name<T> + "/group:" + std::to_string(Codec::granularity::group_size)
            + "/elements:2^" + std::to_string(exponent),
        [=](benchmark::State& state) { codec_case<Codec, T, Done>(state, index_t{1} << exponent); });
}

}  // namespace bench
