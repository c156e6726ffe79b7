// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// One of two translation units that use every header; nvcc compiles it as CUDA.
#include "instantiate_all.hpp"

float second_unit(float value);

int main()
{
    const float first = instantiate_all::on_host(1.5f);
    const float second = second_unit(1.5f);
    // A failed verb of the host level adds 1e30.
    return first == second && first < 1e29f ? 0 : 1;
}
