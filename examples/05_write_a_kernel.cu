// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Walk, step 5: a kernel of one's own that ends in Gesso's verbs. y = residual + dropout(x) is found in
// registers and leaves them as codes and scales, so y itself never goes to memory. Once with the warp level
// (groups of 128: a warp shares one), once with the block level (groups of 2048: a block shares one).
// Build: nvcc -std=c++17. Runs on a GPU; without one it says so and exits with 77.
#include <gesso/level/block.cuh>
#include <gesso/level/host.hpp>

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// [element]
// An element of y. An element is dropped by random bits that its index alone decides: the same on host and
// device, for any grid. The named operations keep compilers from fusing them, so the bits are the same too.
struct dropout_residual {
    gesso::stochastic source;
    float probability;
    float factor;  // 1 / (1 - probability)

    GESSO_HOST_DEVICE float operator()(float x, float residual, gesso::index_t element) const
    {
        const float draw = static_cast<float>(source.at(element).bits >> 8) * 0x1p-24f;
        const float kept = draw < probability ? 0.0f : gesso::multiply(x, factor);
        return gesso::add(residual, kept);
    }
};
// [element]

// [warp]
// Plain groups of 128, as activations are kept: 32 lanes with 4 elements each.
using activation = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;

__global__ void with_warps(const float4* x, const float4* residual, const dropout_residual act,
    const gesso::compressed_ref<activation> to)
{
    using warp = gesso::warp_codec<activation, 4>;
    const gesso::index_t thread = static_cast<gesso::index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const gesso::index_t begin = 4 * thread;
    // Threads past the end have no elements, but they do not return: the shuffles below are for whole warps.
    const int valid = begin < to.count ? 4 : 0;
    float y[4] = {};
    if (valid > 0) {
        const float4 here = x[thread];
        const float4 there = residual[thread];
        y[0] = act(here.x, there.x, begin);
        y[1] = act(here.y, there.y, begin + 1);
        y[2] = act(here.z, there.z, begin + 2);
        y[3] = act(here.w, there.w, begin + 3);
    }
    // The verbs one by one; warp::compress() is the three in a row. (y is finite here: an infinity would have
    // to be made NaN before encode().)
    const warp::statistic known = warp::observe(y, valid);
    const warp::writer with = warp::fit(known);
    const warp::codes codes = warp::encode(y, with);
    if (valid > 0) {
        reinterpret_cast<gesso::uint32_t*>(to.codes)[thread] = codes.words[0];
        if (threadIdx.x % warp::lanes == 0) to.scales[begin / warp::group_size] = warp::scale_code(with);
    }
}
// [warp]

// [block]
// Groups of 2048: 256 threads with 8 elements each.
using wide_activation = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<2048>>;
constexpr int block_threads = 256;

__global__ void with_blocks(const float* x, const float* residual, const dropout_residual act,
    const gesso::compressed_ref<wide_activation> to)
{
    using block = gesso::block_codec<wide_activation, block_threads, 8>;
    __shared__ block::TempStorage storage;
    const gesso::index_t begin = block::group_size * blockIdx.x + 8 * threadIdx.x;
    // The last group may be shorter.
    const gesso::index_t left = to.count - begin;
    const int valid = static_cast<int>(left < 0 ? 0 : left < 8 ? left : 8);
    float y[8] = {};
    for (int i = 0; i < 8; ++i) {
        if (i < valid) y[i] = act(x[begin + i], residual[begin + i], begin + i);
    }
    block::writer with;
    const block::codes codes =
        block(storage).compress(y, with, gesso::nearest_even{}, gesso::gradual{}, begin, valid);
    for (int i = 0; i < 8; ++i) {
        if (i < valid) to.codes[begin + i] = codes.get(i);
    }
    if (threadIdx.x % block::threads == 0) to.scales[blockIdx.x] = block::scale_code(with);
}
// [block]

void require(cudaError_t error)
{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

// Memory on the device that ends with its scope.
struct device_memory {
    void* data = nullptr;
    explicit device_memory(std::size_t bytes) { require(cudaMalloc(&data, bytes)); }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;
    ~device_memory() { cudaFree(data); }
};

// Runs `launch` on the device and compares what it wrote with what the host level makes of y. The number of
// bytes that differ.
template<class Codec, class Launch>
std::size_t bytes_off(const char* level, const std::vector<float>& y, Launch launch)
{
    const gesso::storage_layout<Codec> layout{static_cast<gesso::index_t>(y.size())};
    const std::size_t bytes = static_cast<std::size_t>(layout.bytes());
    const device_memory memory(bytes);
    require(cudaMemset(memory.data, 0, bytes));
    launch(layout.bind(memory.data));
    require(cudaGetLastError());
    std::vector<unsigned char> found(bytes);
    require(cudaMemcpy(found.data(), memory.data, bytes, cudaMemcpyDeviceToHost));

    std::vector<unsigned char> wanted(bytes);
    std::vector<float> back(y.size());
    const bool compressed =
        gesso::host_codec<Codec>::compress(y.data(), layout.bind(wanted.data())) == gesso::status::success;
    const bool restored =
        gesso::host_codec<Codec>::decode(layout.bind(found.data()), back.data()) == gesso::status::success;
    std::size_t off = compressed && restored ? 0 : 1;
    for (std::size_t i = 0; i < bytes; ++i) off += found[i] != wanted[i] ? 1u : 0u;
    double error = 0, energy = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double difference = static_cast<double>(back[i]) - static_cast<double>(y[i]);
        error += difference * difference;
        energy += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
    std::printf("%s level: %zu bytes of y in %zu; squared error %.2g of y's energy\n", level,
        y.size() * sizeof(float), bytes, error / energy);
    std::printf("%s level: %zu bytes differ from the host level's\n", level, off);
    return off;
}

}  // namespace

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("This example needs a GPU.\n");
        return 77;
    }

    constexpr std::size_t count = 300'000;  // a multiple of 4, and of neither group size
    constexpr std::size_t input_bytes = count * sizeof(float);
    const dropout_residual act{gesso::stochastic{2026, 1}, 0.1f, 1.0f / 0.9f};
    std::vector<float> x(count), residual(count), y(count);
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>(i * 2654435761u % 1000u) * 0.002f - 1.0f;
        residual[i] = static_cast<float>(i * 40503u % 777u) * 0.003f - 1.2f;
        y[i] = act(x[i], residual[i], static_cast<gesso::index_t>(i));
    }
    const device_memory device_x(input_bytes), device_residual(input_bytes);
    require(cudaMemcpy(device_x.data, x.data(), input_bytes, cudaMemcpyHostToDevice));
    require(cudaMemcpy(device_residual.data, residual.data(), input_bytes, cudaMemcpyHostToDevice));

    std::size_t off = bytes_off<activation>("warp", y, [&](const gesso::compressed_ref<activation>& to) {
        constexpr unsigned blocks = (count / 4 + block_threads - 1) / block_threads;
        with_warps<<<blocks, block_threads>>>(static_cast<const float4*>(device_x.data),
            static_cast<const float4*>(device_residual.data), act, to);
    });
    off += bytes_off<wide_activation>("block", y, [&](const gesso::compressed_ref<wide_activation>& to) {
        const unsigned groups = static_cast<unsigned>(to.groups().groups());
        with_blocks<<<groups, block_threads>>>(static_cast<const float*>(device_x.data),
            static_cast<const float*>(device_residual.data), act, to);
    });
    return off == 0 ? 0 : 1;
}
