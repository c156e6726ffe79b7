// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The norms of operator/norm.hpp on a stream, forward and backward, by the names of their parts. Arguments as of the host's;
// workspace and errors as of by_rows() (operator/by_rows.cuh).
#pragma once

#include <gesso/operator/by_rows.cuh>
#include <gesso/operator/norm.hpp>

namespace gesso {

// y = x rstd w, each (rows, columns); rstd (rows) is saved for backward, null: not wanted.
template<class Tuning = void, class Source, class Weight, class Sink>
[[nodiscard]] cudaError_t apply_rms_norm(const Source& x, const Weight* weight, float epsilon, const Sink& y,
    float* rstd, void* workspace, cudaStream_t stream)
{
    return by_rows<Tuning>(sources_of(x), rms_norm_memory(weight, epsilon, rstd), sinks_of(y), workspace, stream);
}
// dx (rows, columns) and dweight (columns, fp32) from x, dy and what the forward pass saved.
template<class Tuning = void, class Source, class Weight, class Gradient, class Sink>
[[nodiscard]] cudaError_t apply_rms_norm_backward(const Source& x, const Weight* weight, const float* rstd,
    const Gradient& dy, const Sink& dx, float* dweight, void* workspace, cudaStream_t stream)
{
    return by_rows<Tuning>(
        sources_of(x, dy), rms_norm_backward_memory(weight, rstd, dweight), sinks_of(dx), workspace, stream);
}

// y = (x - mean) rstd w + b, or without w and b; mean and rstd (rows) are saved.
template<class Tuning = void, class Source, class Weight, class Sink>
[[nodiscard]] cudaError_t apply_layer_norm(const Source& x, const Weight* weight, const Weight* bias, float epsilon,
    const Sink& y, float* mean, float* rstd, void* workspace, cudaStream_t stream)
{
    return by_rows<Tuning>(
        sources_of(x), layer_norm_memory(weight, bias, epsilon, mean, rstd), sinks_of(y), workspace, stream);
}
template<class Tuning = void, class Source, class Sink>
[[nodiscard]] cudaError_t apply_layer_norm(
    const Source& x, float epsilon, const Sink& y, float* mean, float* rstd, void* workspace, cudaStream_t stream)
{
    return by_rows<Tuning>(sources_of(x), layer_norm_memory(epsilon, mean, rstd), sinks_of(y), workspace, stream);
}
template<class Tuning = void, class Source, class Weight, class Gradient, class Sink>
[[nodiscard]] cudaError_t apply_layer_norm_backward(const Source& x, const Weight* weight, const float* mean,
    const float* rstd, const Gradient& dy, const Sink& dx, float* dweight, float* dbias, void* workspace,
    cudaStream_t stream)
{
    const auto memory = layer_norm_backward_memory(weight, mean, rstd, dweight, dbias);
    return by_rows<Tuning>(sources_of(x, dy), memory, sinks_of(dx), workspace, stream);
}
template<class Tuning = void, class Source, class Gradient, class Sink>
[[nodiscard]] cudaError_t apply_layer_norm_backward(const Source& x, const float* mean, const float* rstd,
    const Gradient& dy, const Sink& dx, void* workspace, cudaStream_t stream)
{
    return by_rows<Tuning>(sources_of(x, dy), layer_norm_backward_memory(mean, rstd), sinks_of(dx), workspace, stream);
}

}  // namespace gesso
