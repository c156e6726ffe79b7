// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What functions that launch kernels share.
#pragma once

#include <gesso/config.hpp>

#include <cuda_runtime_api.h>

namespace gesso {

namespace detail {

// A status of the host level as the runtime's error.
inline cudaError_t error_of(status checked)
{
    return checked == status::success ? cudaSuccess : cudaErrorInvalidValue;
}

// May `number` blocks be launched?
inline bool fits_grid(index_t number) { return number <= 0x7FFFFFFF; }

}  // namespace detail

}  // namespace gesso
