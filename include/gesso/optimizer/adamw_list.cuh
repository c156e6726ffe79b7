// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// AdamW over many tensors in one launch: a list of parameters of one type tuple, from scalars to billions of elements, whose
// descriptors lie in device memory. Captured once, replayed with changing scalars. And the global norm of its gradients.
#pragma once

#include <gesso/optimizer/adamw.cuh>

namespace gesso {

namespace detail {

// Which tensor has part `part` of a list, when tensor i has parts [first[i], first[i + 1])? A hint for every 32 parts says
// where to begin, so that the search is a few steps even among tiny tensors.
struct part_index {
    static constexpr index_t parts_per_hint = 32;
    const index_t* first = nullptr;
    const uint32_t* hints = nullptr;

    __device__ __forceinline__ uint32_t tensor_of(index_t part) const
    {
        uint32_t tensor = hints[part / parts_per_hint];
        while (first[tensor + 1] <= part) ++tensor;
        return tensor;
    }
};

// Elements whose squares one block of the gradient norm adds up. The sum's order depends on nothing else.
constexpr index_t norm_part = 8192;

}  // namespace detail

// A list of tensors in device memory, as adamw_list_layout wrote it. Trivially copyable.
template<class Tensor>
struct adamw_list {
    const Tensor* tensors = nullptr;
    detail::part_index blocks;  // that step a tensor
    detail::part_index norm_parts;
    index_t block_count = 0;
    index_t norm_part_count = 0;
};

// Puts a list of tensors (of device pointers) into one piece of memory. Write it on the host, copy it to the device, bind it
// there; the tensors that it was made from and the host memory are then no longer needed:
//   gesso::adamw_list_layout<Policy, Tensor> layout(tensors.data(), tensors.size());
//   layout.write(host_memory);                  // layout.bytes() bytes
//   cudaMemcpy(device_memory, host_memory, ...);
//   gesso::adamw_step<Policy>(layout.bind(device_memory), state, stream);
// Policy must be the step's. A tensor whose number is 0 is given its position as number.
template<class Policy, class Tensor>
class adamw_list_layout;
template<class Policy, class Parameter, class Gradient, class FirstCodec, class SecondCodec>
class adamw_list_layout<Policy, adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>> {
public:
    using tensor = adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>;
    using tile = detail::adamw_tile<Policy, Parameter, Gradient, FirstCodec, SecondCodec>;

    adamw_list_layout(const tensor* tensors, index_t count)
        : tensors_(tensors)
        , count_(count)
    {
        if (count < 0) checked_ = status::negative_count;
        index_t tiles = 0;
        for (index_t i = 0; i < count; ++i) {
            checked_ = check(tensors[i]);
            if (checked_ != status::success) return;
            const index_t added = tile::tiles(tensors[i]);
            if (!detail::fits_grid(added)) {
                checked_ = status::negative_count;
                return;
            }
            tiles += added;
        }
        tiles_of_block_ = tile::tiles_of_block(tiles);
        for (index_t i = 0; i < count; ++i) {
            block_count_ += blocks(tensors[i]);
            norm_part_count_ += norm_parts(tensors[i]);
        }
        if (!detail::fits_grid(block_count_)) checked_ = status::negative_count;
    }

    // success, or what is wrong with the first tensor that is not fit for a step.
    status checked() const { return checked_; }

    index_t bytes() const { return norm_hints_offset() + hint_bytes(norm_part_count_); }

    // Fills bytes() bytes of host memory, aligned to 16. Nothing is written on any status but success.
    [[nodiscard]] status write(void* host_memory) const
    {
        if (checked_ != status::success) return checked_;
        if (host_memory == nullptr) return status::null_pointer;
        unsigned char* base = static_cast<unsigned char*>(host_memory);
        tensor* written = reinterpret_cast<tensor*>(base);
        for (index_t i = 0; i < count_; ++i) {
            written[i] = tensors_[i];
            if (written[i].number == 0) written[i].number = static_cast<uint32_t>(i);
        }
        write_index(base, blocks_offset(), block_hints_offset(), [this](const tensor& of) { return blocks(of); });
        write_index(base, norm_offset(), norm_hints_offset(), norm_parts);
        return status::success;
    }

    adamw_list<tensor> bind(const void* device_memory) const
    {
        const unsigned char* base = static_cast<const unsigned char*>(device_memory);
        adamw_list<tensor> list;
        list.tensors = reinterpret_cast<const tensor*>(base);
        list.blocks.first = reinterpret_cast<const index_t*>(base + blocks_offset());
        list.blocks.hints = reinterpret_cast<const uint32_t*>(base + block_hints_offset());
        list.norm_parts.first = reinterpret_cast<const index_t*>(base + norm_offset());
        list.norm_parts.hints = reinterpret_cast<const uint32_t*>(base + norm_hints_offset());
        list.block_count = block_count_;
        list.norm_part_count = norm_part_count_;
        return list;
    }

private:
    index_t blocks(const tensor& of) const { return detail::parts(tile::tiles(of), tiles_of_block_); }
    static index_t norm_parts(const tensor& of) { return detail::parts(of.first_moment.count, detail::norm_part); }
    static index_t hint_bytes(index_t parts)
    {
        return detail::align_up(4 * detail::parts(parts, detail::part_index::parts_per_hint));
    }
    index_t first_bytes() const { return detail::align_up((count_ + 1) * static_cast<index_t>(sizeof(index_t))); }
    index_t blocks_offset() const { return detail::align_up(count_ * static_cast<index_t>(sizeof(tensor))); }
    index_t block_hints_offset() const { return blocks_offset() + first_bytes(); }
    index_t norm_offset() const { return block_hints_offset() + hint_bytes(block_count_); }
    index_t norm_hints_offset() const { return norm_offset() + first_bytes(); }

    template<class PartsOf>
    void write_index(unsigned char* base, index_t first_offset, index_t hints_offset, PartsOf parts_of) const
    {
        index_t* first = reinterpret_cast<index_t*>(base + first_offset);
        uint32_t* hints = reinterpret_cast<uint32_t*>(base + hints_offset);
        index_t part = 0;
        index_t hinted = 0;
        for (index_t i = 0; i < count_; ++i) {
            first[i] = part;
            part += parts_of(tensors_[i]);
            for (; hinted < part; hinted += detail::part_index::parts_per_hint) {
                hints[hinted / detail::part_index::parts_per_hint] = static_cast<uint32_t>(i);
            }
        }
        first[count_] = part;
    }

    const tensor* tensors_;
    index_t count_;
    index_t tiles_of_block_ = 1;
    index_t block_count_ = 0;
    index_t norm_part_count_ = 0;
    status checked_ = status::success;
};

namespace detail {

template<class Policy, class Tile>
GESSO_KERNEL void __launch_bounds__(Policy::block_threads, Tile::blocks_per_multiprocessor)
    adamw_list_kernel(const adamw_list<typename Tile::tensor> list, const adamw_device_state* device)
{
    __shared__ typename Tile::storage shared;
    // A block steps one tensor.
    const uint32_t block = blockIdx.x;
    const uint32_t number = list.blocks.tensor_of(block);
    const typename Tile::tensor& of = list.tensors[number];
    const uint32_t first = static_cast<uint32_t>(list.blocks.first[number]);
    const uint32_t next = static_cast<uint32_t>(list.blocks.first[number + 1]);
    Tile::run(of, {block - first, next - first, static_cast<uint32_t>(Tile::tiles(of))}, device, shared);
}

// The sum over a block, in thread 0: fixed order.
template<int Threads>
__device__ __forceinline__ double block_sum(double value)
{
    __shared__ double of_warp[static_cast<unsigned>(Threads / 32)];
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFFu, value, distance);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < Threads / 32 ? of_warp[threadIdx.x] : 0.0;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFFu, value, distance);
    return value;
}

constexpr int norm_threads = 256;

template<class Gradient, class Tensor>
GESSO_KERNEL void __launch_bounds__(norm_threads) squared_norm_kernel(const adamw_list<Tensor> list, double* partial)
{
    const index_t part = static_cast<index_t>(blockIdx.x);
    const uint32_t number = list.norm_parts.tensor_of(part);
    const Tensor& of = list.tensors[number];
    const index_t begin = (part - list.norm_parts.first[number]) * norm_part;
    const index_t count = smaller(of.first_moment.count - begin, norm_part);
    const Gradient* gradients = of.gradients + begin;
    constexpr int items = 8;
    double sum = 0;
    // Whole or not, aligned or not, an element is in the same place of the same sum.
    const bool is_whole = count == norm_part && reinterpret_cast<uint64_t>(gradients) % 16 == 0;
    for (index_t at = static_cast<index_t>(threadIdx.x) * items; at < norm_part; at += norm_threads * items) {
        packed_elements<Gradient, items> values;
        const index_t left = count - at;
        if (is_whole) load_items<true>(gradients + at, items, values.words);
        else
            load_items<false>(gradients + at,
                static_cast<int>(left < 0       ? 0
                                 : left < items ? left
                                                : items),
                values.words);
        float squares = 0.0f;
        GESSO_UNROLL
        for (int i = 0; i < items; ++i) squares = fused_multiply_add(values.get(i), values.get(i), squares);
        sum += static_cast<double>(squares);
    }
    sum = block_sum<norm_threads>(sum);
    if (threadIdx.x == 0) partial[part] = sum;
}

template<class = void>
GESSO_KERNEL void __launch_bounds__(1024)
    clip_factor_kernel(const double* partial, index_t count, adamw_device_state* device, double max_norm, bool skip_bad)
{
    double sum = 0;
    for (index_t i = static_cast<index_t>(threadIdx.x); i < count; i += 1024) sum += partial[i];
    sum = block_sum<1024>(sum);
    if (threadIdx.x != 0) return;
    const double norm = __dsqrt_rn(sum) / to_double(device->state.gradient_scale);
    device->gradient_norm = norm;
    const bool is_bad = !(norm <= 1.7976931348623157e308);
    // torch.nn.utils.clip_grad_norm_'s factor.
    const double factor = max_norm / (norm + 1e-6);
    device->state.clip_factor = is_bad || factor > 1.0 ? 1.0f : to_float(factor);
    if (skip_bad) device->state.skip = is_bad;
}

}  // namespace detail

// One AdamW step of all tensors of a list, in one launch; otherwise as adamw_step() of one tensor.
template<class Policy = adamw_policy<>, class Parameter, class Gradient, class FirstCodec, class SecondCodec>
cudaError_t adamw_step(const adamw_list<adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>>& list,
    const adamw_device_state* device, cudaStream_t stream)
{
    using tile = detail::adamw_tile<Policy, Parameter, Gradient, FirstCodec, SecondCodec>;
    if (list.block_count == 0) return cudaSuccess;
    if (device == nullptr || list.tensors == nullptr) return cudaErrorInvalidValue;
    detail::adamw_list_kernel<Policy, tile>
        <<<static_cast<unsigned>(list.block_count), Policy::block_threads, 0, stream>>>(list, device);
    return cudaGetLastError();
}

// Bytes of the workspace of adamw_clip().
template<class Tensor>
index_t adamw_clip_workspace(const adamw_list<Tensor>& list)
{
    return list.norm_part_count * static_cast<index_t>(sizeof(double));
}

// The norm of all gradients of a list, divided by state.gradient_scale, to device->gradient_norm; and the factor that clips
// it to max_norm, min(1, max_norm / (norm + 1e-6)), to device->state.clip_factor, where adamw_advance() finds it. With
// `skip_nonfinite` a NaN or infinite norm sets state.skip, and any other clears it. Call before adamw_advance(), on the same
// stream. Deterministic: the order of the sum depends on the list alone (fp32 within 8 elements, double beyond).
// workspace: adamw_clip_workspace(list) bytes of device memory, aligned to 8; its content does not matter.
template<class Parameter, class Gradient, class FirstCodec, class SecondCodec>
cudaError_t adamw_clip(const adamw_list<adamw_tensor<Parameter, Gradient, FirstCodec, SecondCodec>>& list,
    double max_norm, bool skip_nonfinite, void* workspace, adamw_device_state* device, cudaStream_t stream)
{
    if (device == nullptr || !(max_norm > 0) || (workspace == nullptr && list.norm_part_count != 0)) {
        return cudaErrorInvalidValue;
    }
    double* partial = static_cast<double*>(workspace);
    if (list.norm_part_count != 0) {
        detail::squared_norm_kernel<Gradient>
            <<<static_cast<unsigned>(list.norm_part_count), detail::norm_threads, 0, stream>>>(list, partial);
    }
    detail::clip_factor_kernel<>
        <<<1, 1024, 0, stream>>>(partial, list.norm_part_count, device, max_norm, skip_nonfinite);
    return cudaGetLastError();
}

}  // namespace gesso
