// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A user's kernel with a format of its own: residual + dropout(x) in registers, then observe, fit and encode
// by warps. Exits with 1 if a byte is not the host level's, with 77 without a GPU.
#include <gesso/level/host.hpp>
#include <gesso/level/warp.cuh>

#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>

namespace studio {

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
using kept = gesso::codec<e3m4, gesso::identity, gesso::per_group<64>, gesso::bfloat16>;

GESSO_HOST_DEVICE float with_dropout(
    float x, float residual, gesso::stochastic source, gesso::index_t element)
{
    const bool drops = source.at(element).bits < 0x20000000u;  // an eighth
    return gesso::add(residual, drops ? 0.0f : gesso::multiply(x, 8.0f / 7.0f));
}

__global__ void keep(const float* x, const float* residual, const gesso::stochastic source,
    const gesso::compressed_ref<kept> to)
{
    using warp = gesso::warp_codec<kept, 4>;
    const gesso::index_t begin = 4 * (static_cast<gesso::index_t>(blockIdx.x) * blockDim.x + threadIdx.x);
    const gesso::index_t left = to.count - begin;
    const int valid = static_cast<int>(left < 0 ? 0 : left < 4 ? left : 4);
    float y[4] = {};
    for (int i = 0; i < 4; ++i) {
        if (i < valid) y[i] = with_dropout(x[begin + i], residual[begin + i], source, begin + i);
    }
    const warp::writer with = warp::fit(warp::observe(y, valid));
    const warp::codes codes = warp::encode(y, with);
    for (int i = 0; i < 4; ++i) {
        if (i < valid) to.codes[begin + i] = codes.get(i);
    }
    const bool leads = threadIdx.x % warp::lanes == 0;
    if (valid > 0 && leads) to.scales[begin / warp::group_size] = warp::scale_code(with);
}

}  // namespace studio

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU: the kernel was built and not run\n");
        return 77;
    }
    constexpr std::size_t count = 1001;
    const gesso::stochastic source{7, 1};
    const gesso::storage_layout<studio::kept> layout{count};
    const std::size_t bytes = static_cast<std::size_t>(layout.bytes());
    std::vector<float> x(count), residual(count), y(count);
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>(i * 37 % 101) - 50.0f;
        residual[i] = 0.01f * static_cast<float>(i % 13);
        y[i] = studio::with_dropout(x[i], residual[i], source, static_cast<gesso::index_t>(i));
    }
    std::vector<unsigned char> wanted(bytes), found(bytes);
    using host = gesso::host_codec<studio::kept>;
    bool good = host::compress(y.data(), layout.bind(wanted.data())) == gesso::status::success;

    float* inputs = nullptr;
    void* memory = nullptr;
    constexpr std::size_t input = count * sizeof(float);
    good = good && cudaMalloc(&inputs, 2 * input) == cudaSuccess;
    good = good && cudaMalloc(&memory, bytes) == cudaSuccess && cudaMemset(memory, 0, bytes) == cudaSuccess;
    good = good && cudaMemcpy(inputs, x.data(), input, cudaMemcpyHostToDevice) == cudaSuccess;
    good = good && cudaMemcpy(inputs + count, residual.data(), input, cudaMemcpyHostToDevice) == cudaSuccess;
    if (good) studio::keep<<<3, 128>>>(inputs, inputs + count, source, layout.bind(memory));
    good = good && cudaMemcpy(found.data(), memory, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    cudaFree(inputs);
    cudaFree(memory);
    good = good && found == wanted;
    std::printf("%s: the kernel writes the host level's bytes\n", good ? "ok" : "WRONG");
    return good ? 0 : 1;
}
