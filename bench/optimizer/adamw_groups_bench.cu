// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The AdamW step of one tensor over group sizes, with the default formats of the moments.
#include "adamw_case.cuh"

namespace {

template<gesso::index_t... Sizes>
void add_group_sizes()
{
    using bfloat = __nv_bfloat16;
    (bench::add_adamw<gesso::adamw_nearest_policy<>, bfloat, bfloat,
         gesso::codec<gesso::default_first_moment::format, gesso::dynamic_power<>, gesso::per_group<Sizes>>,
         gesso::codec<gesso::default_second_moment::format, gesso::dynamic_power<>, gesso::per_group<Sizes>>>(
         28),
        ...);
}

}  // namespace

int main(int argument_count, char** arguments)
{
    // 128, the default, is in adamw_bench.cu.
    add_group_sizes<32, 64, 256, 512, 1024, 2048>();
    return bench::run(argument_count, arguments);
}
