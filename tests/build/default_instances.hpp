// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The default set of instantiations: what most users launch, at most 24 functions. tests/build/spill_check.py
// compiles it for every architecture and fails where a kernel of it needs a stack frame or spills registers.
#pragma once

#include <gesso/level/device.cuh>
#include <gesso/optimizer/adamw_list.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace default_instances {

using gesso::adamw_device_state;
using gesso::adamw_tensor;
using gesso::compressed_ref;

using first_moment = gesso::default_first_moment;
using second_moment = gesso::default_second_moment;
using plain_moment = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
using activation = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<16>, gesso::bfloat16>;
template<int GroupSize>
using first_in_groups = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<GroupSize>>;
template<int GroupSize>
using second_in_groups =
    gesso::codec<gesso::unsigned_e4m4, gesso::dynamic_power<>, gesso::per_group<GroupSize>>;

using nearest_policy = gesso::adamw_nearest_policy<>;
using stochastic_policy = gesso::adamw_policy<>;

template<class Parameter, class Gradient, class First = first_moment, class Second = second_moment>
using tensor = adamw_tensor<Parameter, Gradient, First, Second>;
using half_tensor = tensor<__nv_bfloat16, __nv_bfloat16>;

}  // namespace default_instances

// An explicit instantiation stands in a namespace that encloses the template's.
namespace gesso {

namespace defaults = default_instances;

// 1 to 4: the default moments by element types.
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::half_tensor&, const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<float, __nv_bfloat16>&, const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<float, float>&, const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<__half, __half>&, const adamw_device_state*, cudaStream_t);
// 5 and 6: second moments rounded stochastically.
template cudaError_t adamw_step<defaults::stochastic_policy>(
    const defaults::half_tensor&, const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::stochastic_policy>(
    const defaults::tensor<float, float>&, const adamw_device_state*, cudaStream_t);
// 7: without expansion. 8 to 10: both moments in E4M3, and other group sizes.
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<__nv_bfloat16, __nv_bfloat16, defaults::plain_moment, defaults::plain_moment>&,
    const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<__nv_bfloat16, __nv_bfloat16, defaults::first_moment, defaults::first_moment>&,
    const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<__nv_bfloat16, __nv_bfloat16, defaults::first_in_groups<32>,
        defaults::second_in_groups<32>>&,
    const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::nearest_policy>(
    const defaults::tensor<__nv_bfloat16, __nv_bfloat16, defaults::first_in_groups<2048>,
        defaults::second_in_groups<2048>>&,
    const adamw_device_state*, cudaStream_t);

// 11 to 16: compress, by codec and element type.
template cudaError_t device_codec<defaults::first_moment>::compress(
    const __nv_bfloat16*, const compressed_ref<defaults::first_moment>&, cudaStream_t);
template cudaError_t device_codec<defaults::first_moment>::compress(
    const float*, const compressed_ref<defaults::first_moment>&, cudaStream_t);
template cudaError_t device_codec<defaults::plain_moment>::compress(
    const __nv_bfloat16*, const compressed_ref<defaults::plain_moment>&, cudaStream_t);
template cudaError_t device_codec<defaults::plain_moment>::compress(
    const float*, const compressed_ref<defaults::plain_moment>&, cudaStream_t);
template cudaError_t device_codec<defaults::activation>::compress(
    const __nv_bfloat16*, const compressed_ref<defaults::activation>&, cudaStream_t);
template cudaError_t device_codec<defaults::second_moment>::compress(
    const float*, const compressed_ref<defaults::second_moment>&, const stochastic&, keep, cudaStream_t);

// 17 to 21: decode.
template cudaError_t device_codec<defaults::first_moment>::decode(
    const compressed_ref<defaults::first_moment>&, __nv_bfloat16*, cudaStream_t);
template cudaError_t device_codec<defaults::first_moment>::decode(
    const compressed_ref<defaults::first_moment>&, float*, cudaStream_t);
template cudaError_t device_codec<defaults::plain_moment>::decode(
    const compressed_ref<defaults::plain_moment>&, __nv_bfloat16*, cudaStream_t);
template cudaError_t device_codec<defaults::activation>::decode(
    const compressed_ref<defaults::activation>&, __nv_bfloat16*, cudaStream_t);
template cudaError_t device_codec<defaults::second_moment>::decode(
    const compressed_ref<defaults::second_moment>&, float*, cudaStream_t);

// 22 and 23: many tensors in one launch.
template cudaError_t adamw_step<defaults::nearest_policy>(
    const adamw_list<defaults::half_tensor>&, const adamw_device_state*, cudaStream_t);
template cudaError_t adamw_step<defaults::stochastic_policy>(
    const adamw_list<defaults::half_tensor>&, const adamw_device_state*, cudaStream_t);

}  // namespace gesso
