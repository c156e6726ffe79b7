// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// AdamW with compressed moments on the device: one kernel reads parameters, gradients and moments once and writes
// parameters and moments once. No workspace, no synchronisation; what changes from step to step is read from device memory,
// so a captured graph replays with new scalars.
#pragma once

#include <gesso/level/launch.cuh>
#include <gesso/optimizer/adamw_tile.cuh>

#include <cuda_runtime_api.h>

namespace gesso {

namespace detail {

template<class = void>
GESSO_KERNEL void adamw_advance_kernel(adamw_device_state* device)
{
    device->launch.is_active = 0;
    if (!is_valid(device->configuration) || device->state.skip) return;
    advance(device->state, device->configuration);
    if (!is_valid(device->state)) return;
    device->launch.is_active = 1;
    device->launch.scalars = scalars_of(device->configuration, device->state);
    device->launch.source = stochastic(device->state.seed, static_cast<uint64_t>(device->state.step));
}

template<class Policy, class Tile>
GESSO_KERNEL void __launch_bounds__(Policy::block_threads, Tile::blocks_per_multiprocessor)
    adamw_kernel(const typename Tile::tensor tensor, const uint32_t tiles, const adamw_device_state* device)
{
    __shared__ typename Tile::storage shared;
    Tile::run(tensor, {blockIdx.x, gridDim.x, tiles}, device, shared);
}

}  // namespace detail

// Advances the step on the device: call once a step, before the step's tensors, on their stream. One thread, double
// precision. With state.skip set nothing changes. Captures into a graph.
inline cudaError_t adamw_advance(adamw_device_state* device, cudaStream_t stream)
{
    if (device == nullptr) return cudaErrorInvalidValue;
    detail::adamw_advance_kernel<><<<1, 1, 0, stream>>>(device);
    return cudaGetLastError();
}

// One AdamW step of one tensor, or shard of one, on a stream. All pointers are device memory; `device` after
// adamw_advance() on the same stream. Policy says how moments and parameters are rounded and which arithmetic is used
// (adamw_policy<exact_math>: the host's bytes). Any count, alignment and row length. Errors: cudaErrorInvalidValue for what
// host_adamw_step refuses, and launch errors; nothing is written then. With state.skip set every byte stays.
// Deterministic: the same bytes for any grid and run.
template<class Policy = adamw_policy<>, class Parameter, class Gradient, class FirstCodec, class SecondCodec>
cudaError_t adamw_step(const adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>& tensor,
    const adamw_device_state* device, cudaStream_t stream)
{
    using tile = detail::adamw_tile<Policy, Parameter, Gradient, FirstCodec, SecondCodec>;
    const cudaError_t checked = detail::error_of(check(tensor));
    if (checked != cudaSuccess) return checked;
    if (device == nullptr) return cudaErrorInvalidValue;
    const index_t tiles = tile::tiles(tensor);
    if (tiles == 0) return cudaSuccess;
    if (!detail::fits_grid(tiles)) return cudaErrorInvalidValue;
    const unsigned blocks = static_cast<unsigned>(detail::parts(tiles, tile::tiles_of_block(tiles)));
    detail::adamw_kernel<Policy, tile>
        <<<blocks, Policy::block_threads, 0, stream>>>(tensor, static_cast<uint32_t>(tiles), device);
    return cudaGetLastError();
}

}  // namespace gesso
