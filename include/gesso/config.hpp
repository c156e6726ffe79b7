// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What every header of the library may rely on: the version, the one annotation for functions that run on host and
// device alike, the standard names (NVRTC has no standard headers), the index type and the host-level status.
#pragma once

// major * 10000 + minor * 100 + patch
#define GESSO_VERSION 100

#if defined(__CUDACC__)
#define GESSO_HOST_DEVICE __host__ __device__
#else
#define GESSO_HOST_DEVICE
#endif

// Before a loop whose arrays must stay in registers on a device; host compilers do not know the pragma.
#if defined(__CUDA_ARCH__)
#define GESSO_UNROLL _Pragma("unroll")
#else
#define GESSO_UNROLL
#endif

// A kernel of the library: hidden, so that two shared objects that hold the same one do not meet.
#if defined(_MSC_VER)
#define GESSO_KERNEL __global__
#else
#define GESSO_KERNEL __attribute__((visibility("hidden"))) __global__
#endif

#if defined(__CUDACC_RTC__)
// libcu++ stands in for the standard headers; its include folder has to be given to NVRTC.
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#else
#include <cstdint>
#include <type_traits>
#endif

namespace gesso {

#if defined(__CUDACC_RTC__)
namespace standard = ::cuda::std;
#else
namespace standard = ::std;
#endif

using standard::int32_t;
using standard::int64_t;
using standard::uint16_t;
using standard::uint32_t;
using standard::uint64_t;
using standard::uint8_t;

// Counts and positions of elements. Always 64 bits: a flattened optimizer partition passes 2^31 elements.
using index_t = int64_t;

// What a host-level function answers. Nothing is read or written unless it answers `success`.
enum class status {
    success,
    null_pointer,       // a needed array is missing although the count is not zero
    negative_count,     // a count, a row length, a row or a column number below zero
    size_mismatch,      // two views that must agree on the count or the row length do not
    unaligned_shard,    // `first` is not the first element of a group: the shard would not have the tensor's bytes
    invalid_configuration,  // a hyperparameter out of its range, or a step below 1
    invalid_scale_order,    // cuBLASLt's order is for scales of one byte, in rows padded to a multiple of four
};

// (status) -> a sentence for people, never null.
inline GESSO_HOST_DEVICE const char* describe(status value)
{
    switch (value) {
    case status::success: return "success";
    case status::null_pointer: return "a needed array is a null pointer although the count is not zero";
    case status::negative_count: return "a count, row length, row or column number is negative";
    case status::size_mismatch: return "two views that must have the same count and row length differ";
    case status::unaligned_shard: return "the first element of a shard is not the first element of a group";
    case status::invalid_configuration: return "a hyperparameter is out of its range or the step is below 1";
    case status::invalid_scale_order: return "cuBLASLt's order of scales needs one-byte scales and rows of 4 n scales";
    }
    return "unknown status";
}

}  // namespace gesso
