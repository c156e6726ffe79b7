// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What functions that launch kernels share.
#pragma once

#include <gesso/config.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gesso {

namespace detail {

// A status of the host level as the runtime's error.
inline cudaError_t error_of(status checked) { return checked == status::success ? cudaSuccess : cudaErrorInvalidValue; }

// May `number` blocks be launched?
inline bool fits_grid(index_t number) { return number <= 0x7FFFFFFF; }

// Blocks of a kernel that the current device holds at once; never what bytes depend on.
template<class Kernel>
cudaError_t resident_blocks(Kernel kernel, int threads, index_t shared_bytes, index_t& blocks)
{
    int device = 0;
    int multiprocessors = 0;
    int of_one = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &of_one, kernel, threads, static_cast<std::size_t>(shared_bytes));
    }
    blocks = index_t{of_one} * multiprocessors;
    return error == cudaSuccess && blocks < 1 ? cudaErrorInvalidConfiguration : error;
}

// Stages that follow each other in a stream, launched by launch_early(): a kernel's blocks may be there before the kernel
// before it has ended. Such a kernel calls wait_for_earlier() in all threads before it touches memory that a kernel before it
// writes or reads; and a kernel that has work after it may call let_later_start(), after that. Both do nothing below sm_90.
__device__ __forceinline__ void wait_for_earlier()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_later_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Launches a kernel that calls wait_for_earlier(), with so many bytes of dynamic shared memory. In the usual way where it was
// compiled for a device without that: then nothing in it waits.
template<class... Parameters, class... Arguments>
cudaError_t launch_early_with_memory(void (*kernel)(Parameters...), dim3 blocks, int threads, index_t shared_bytes,
    cudaStream_t stream, const Arguments&... arguments)
{
    cudaFuncAttributes compiled;
    const cudaError_t error = cudaFuncGetAttributes(&compiled, reinterpret_cast<const void*>(kernel));
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = compiled.ptxVersion >= 90 ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}
template<class... Parameters, class... Arguments>
cudaError_t launch_early(
    void (*kernel)(Parameters...), dim3 blocks, int threads, cudaStream_t stream, const Arguments&... arguments)
{
    return launch_early_with_memory(kernel, blocks, threads, 0, stream, arguments...);
}
template<class... Parameters, class... Arguments>
cudaError_t launch_early(
    void (*kernel)(Parameters...), index_t blocks, int threads, cudaStream_t stream, const Arguments&... arguments)
{
    return launch_early(kernel, dim3(static_cast<unsigned>(blocks)), threads, stream, arguments...);
}

}  // namespace detail

}  // namespace gesso
