// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What device_ptx.cmake must refuse: each kernel does something that --use_fast_math or contraction changes.

__global__ void contracted(float* x) { x[3] = x[0] * x[1] + x[2]; }
__global__ void divided(float* x) { x[2] = x[0] / x[1]; }
__global__ void rooted(float* x) { x[1] = sqrtf(x[0]); }
__global__ void intrinsic(float* x) { x[2] = __fmul_rn(x[0], x[1]); }
__global__ void compared(float* x, int* y) { y[0] = x[0] < x[1] ? 1 : 0; }
__global__ void converted(float* x, double* y) { x[0] = static_cast<float>(y[0]); }
