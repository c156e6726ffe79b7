// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The AdamW step of one tensor: formats of the moments, types of parameters and gradients, sizes.
#include "adamw_case.cuh"

namespace {

using bfloat = __nv_bfloat16;
using policy = gesso::adamw_nearest_policy<>;
using group = gesso::per_group<128>;
using dynamic = gesso::dynamic_power<>;
using expanded = gesso::codec<gesso::e4m3, dynamic, group>;
using without_sign = gesso::codec<gesso::unsigned_e4m4, dynamic, group>;
using wide = gesso::codec<gesso::e5m2, dynamic, group>;
using plain = gesso::codec<gesso::e4m3, gesso::identity, group>;
using single = gesso::codec<gesso::float32, gesso::identity, gesso::unscaled>;

// Types and sizes of one pair of codecs; 2^32 elements are more than 32 bits count.
template<class Second>
void add_types_and_sizes()
{
    bench::add_adamw<policy, bfloat, bfloat, expanded, Second>(28);
    bench::add_adamw<bench::stochastic_second_policy, bfloat, bfloat, expanded, Second>(28);
    bench::add_adamw<policy, float, bfloat, expanded, Second>(28);
    bench::add_adamw<policy, float, float, expanded, Second>(28);
    // A step knows elements without gradient and treats their moments apart (an embedding has many).
    bench::add_adamw<policy, bfloat, bfloat, expanded, Second>(28, 4);
    if (bench::is_small()) return;
    for (int exponent : {20, 22, 24, 26, 30, 32}) {
        bench::add_adamw<policy, bfloat, bfloat, expanded, Second>(exponent);
    }
}

}  // namespace

int main(int argument_count, char** arguments)
{
    add_types_and_sizes<expanded>();
    add_types_and_sizes<without_sign>();
    bench::add_adamw<policy, bfloat, bfloat, plain, plain>(28);
    bench::add_adamw<policy, bfloat, bfloat, expanded, wide>(28);
    bench::add_adamw<policy, bfloat, bfloat, single, single>(28);
    return bench::run(argument_count, arguments);
}
