// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Compressing and decoding flat tensors over group sizes.
#include "codec_case.cuh"

namespace {

template<class Expansion, gesso::index_t Size>
void add_group_size()
{
    using codec = gesso::codec<gesso::e4m3, Expansion, gesso::per_group<Size>>;
    bench::add_codec<codec, __nv_bfloat16, bench::operation::compress>(28);
    bench::add_codec<codec, __nv_bfloat16, bench::operation::decode>(28);
}

template<class Expansion, gesso::index_t... Sizes>
void add_group_sizes()
{
    (add_group_size<Expansion, Sizes>(), ...);
}

}  // namespace

int main(int argument_count, char** arguments)
{
    // 128 is in codec_bench.cu.
    add_group_sizes<gesso::dynamic_power<>, 32, 64, 256, 512, 1024, 2048>();
    add_group_sizes<gesso::identity, 32, 64, 256, 512, 1024, 2048>();
    return bench::run(argument_count, arguments);
}
