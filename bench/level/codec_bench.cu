// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Compressing and decoding flat tensors: formats, types, sizes.
#include "codec_case.cuh"

namespace {

using bench::operation;
using bfloat = __nv_bfloat16;
using group = gesso::per_group<128>;
using dynamic = gesso::dynamic_power<>;

template<class Codec, class T>
void add_operations(int exponent)
{
    bench::add_codec<Codec, T, operation::compress>(exponent);
    bench::add_codec<Codec, T, operation::decode>(exponent);
}

template<class Format>
void add_format()
{
    add_operations<gesso::codec<Format, gesso::identity, group>, bfloat>(28);
    add_operations<gesso::codec<Format, gesso::identity, group>, float>(28);
    add_operations<gesso::codec<Format, dynamic, group>, bfloat>(28);
    add_operations<gesso::codec<Format, dynamic, group>, float>(28);
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using expanded = gesso::codec<gesso::e4m3, dynamic, group>;
    using plain = gesso::codec<gesso::e4m3, gesso::identity, group>;
    add_format<gesso::e4m3>();
    add_format<gesso::e5m2>();
    bench::add_codec<expanded, bfloat, operation::encode>(28);
    bench::add_codec<plain, bfloat, operation::encode>(28);
    bench::add_codec<expanded, bfloat, operation::compress_stochastic>(28);
    bench::add_codec<plain, bfloat, operation::compress_stochastic>(28);
    if (!bench::is_small()) {
        for (int exponent : {20, 22, 24, 26, 30}) {
            add_operations<expanded, bfloat>(exponent);
            add_operations<plain, bfloat>(exponent);
        }
    }
    return bench::run(argument_count, arguments);
}
