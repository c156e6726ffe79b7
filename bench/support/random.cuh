// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Normal random numbers, made where the benchmarks need them.
#pragma once

#include "event_timer.hpp"

#include <gesso/encoding/element.hpp>

namespace bench {

// A 32-bit hash of a 64-bit counter (the finalizer of MurmurHash3).
inline __device__ unsigned hash_of(unsigned long long value)
{
    value ^= value >> 33;
    value *= 0xFF51AFD7ED558CCDull;
    value ^= value >> 33;
    value *= 0xC4CEB9FE1A85EC53ull;
    return static_cast<unsigned>(value >> 32);
}

template<class T>
__global__ void fill_normal_kernel(
    T* values, long long count, float deviation, int nonzero_of_8, unsigned long long seed)
{
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        const unsigned long long counter = (seed << 40) + static_cast<unsigned long long>(i) * 2;
        const unsigned angle = hash_of(counter + 1);
        // Box and Muller's transform; the logarithm's argument is never 0.
        const float uniform = (static_cast<float>(hash_of(counter) >> 8) + 1.0f) * 0x1p-24f;
        const float normal =
            sqrtf(-2.0f * __logf(uniform)) * cospif(static_cast<float>(angle >> 8) * 0x1p-23f);
        const bool is_zero = static_cast<int>(angle & 7u) >= nonzero_of_8;
        values[i] = gesso::element<T>::store(is_zero ? 0.0f : normal * deviation);
    }
}

// values[0, count): normal numbers; of 8 neighbours about nonzero_of_8 are not zero.
template<class T>
void fill_normal(T* values, long long count, float deviation, unsigned long long seed, int nonzero_of_8 = 8)
{
    fill_normal_kernel<<<4096, 256, 0, event_timer::instance().stream()>>>(
        values, count, deviation, nonzero_of_8, seed);
    check(cudaGetLastError(), "fill_normal");
}

template<class T>
__global__ void count_not_finite_kernel(const T* values, long long count, unsigned* result)
{
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count && !isfinite(gesso::element<T>::load(values[i]))) atomicAdd(result, 1u);
}

// A result that is not finite would be measured on paths that no user's data takes.
template<class T>
void require_finite(const T* values, long long count)
{
    const long long looked_at = count < (1 << 20) ? count : 1 << 20;
    const device_memory result(sizeof(unsigned));
    result.fill(0);
    const unsigned blocks = static_cast<unsigned>((looked_at + 255) / 256);
    count_not_finite_kernel<<<blocks, 256>>>(values, looked_at, result.data<unsigned>());
    unsigned bad = 0;
    check(cudaMemcpy(&bad, result.data(), sizeof bad, cudaMemcpyDeviceToHost), "require_finite");
    if (bad != 0) throw std::runtime_error("the result has values that are not finite");
}

}  // namespace bench
