// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device's quantizers with the arguments of quantize_runs.hpp: blocks of memory go to the device whole, canaries
// included, and come back after the call, so that whatever was written there is found.
#pragma once

#include "../support/device.hpp"
#include "quantize_cases.hpp"

#include <gesso/operator/quantize.cuh>

namespace support {

// Elements [begin, begin + count) of device memory.
template<class T>
std::vector<T> part_of(const T* memory, std::int64_t begin, std::int64_t count)
{
    std::vector<T> result(static_cast<std::size_t>(count));
    GESSO_CUDA(
        cudaMemcpy(result.data(), memory + begin, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
}

// A copy of a block on the device, at an equally aligned address; back() brings it back.
class device_block {
public:
    explicit device_block(memory_block& block)
        : block_(block)
        , copy_(block.whole_size())
    {
        // Without canaries of its own: the block has them.
        copy_.upload(block.base());
    }
    unsigned char* base() const { return copy_.data(); }
    void back()
    {
        if (copy_.size() == 0) return;
        GESSO_CUDA(cudaMemcpy(block_.base(), copy_.data(), copy_.size(), cudaMemcpyDeviceToHost));
    }

private:
    memory_block& block_;
    device_memory copy_;
};

// A compressed matrix on the device; one that is not wanted has null codes.
template<class Codec>
class device_compressed {
public:
    explicit device_compressed(compressed_memory<Codec>* memory)
        : memory_(memory)
        , codes_(memory == nullptr ? none_ : memory->code_block())
        , scales_(memory == nullptr ? none_ : memory->scale_block())
    {}
    gesso::compressed_matrix<Codec> view() const
    {
        if (memory_ == nullptr) return {};
        return memory_->view_at(codes_.base(), scales_.base());
    }
    void back()
    {
        codes_.back();
        scales_.back();
    }

private:
    memory_block none_;
    compressed_memory<Codec>* memory_;
    device_block codes_;
    device_block scales_;
};

// A NaN policy with its flag in device memory; `finish` brings the flag back.
template<class Nan>
struct device_policy {
    explicit device_policy(const Nan& policy)
        : nan(policy)
    {}
    Nan nan;
    void finish() {}
};
template<>
struct device_policy<gesso::flag_nan> {
    explicit device_policy(const gesso::flag_nan& policy)
        : host_flag(policy.flag)
        , flag(1)
        , nan{flag.data()}
    {
        flag.upload({*host_flag});
    }
    void finish() { *host_flag = flag.values()[0]; }
    std::uint32_t* host_flag;
    device_array<std::uint32_t> flag;
    gesso::flag_nan nan;
};

// OneLaunch: per_tensor codecs are quantized by the cooperative kernel.
template<bool OneLaunch, class Tuning = void>
struct device_runner {
    static inline const int runs = size_of_run(50, 2);

    template<class T, class Codec, class TransposedCodec, class Rounding, class Nan>
    static bool quantize(matrix_memory<T>& values, compressed_memory<Codec>* plain,
        compressed_memory<TransposedCodec>* transposed, const Rounding& rounding, const Nan& nan)
    {
        device_policy<Nan> policy(nan);
        const device_memory workspace(static_cast<std::size_t>(gesso::matrix_workspace_bytes));
        return with_outputs(values, plain, transposed, [&](const auto& from, const auto& to) {
            cudaError_t error;
            if constexpr (OneLaunch) {
                error = gesso::quantize_one_launch<Tuning>(from, to, rounding, policy.nan, workspace.data(), nullptr);
            } else {
                error = gesso::quantize<Tuning>(from, to, rounding, policy.nan, workspace.data(), nullptr);
            }
            GESSO_CUDA(cudaDeviceSynchronize());
            policy.finish();
            CHECK(workspace.is_intact());
            return error;
        });
    }
    template<class T, class Codec, class TransposedCodec, class Rounding>
    static bool encode(matrix_memory<T>& values, compressed_memory<Codec>* plain,
        compressed_memory<TransposedCodec>* transposed, const Rounding& rounding)
    {
        return with_outputs(values, plain, transposed,
            [&](const auto& from, const auto& to) { return gesso::encode<Tuning>(from, to, rounding, nullptr); });
    }
    template<class Codec, class T>
    static bool dequantize(compressed_memory<Codec>& from, matrix_memory<T>& values)
    {
        device_compressed<Codec> codes(&from);
        device_block elements(values.block());
        const gesso::compressed_matrix<const Codec> reading = codes.view();
        const cudaError_t error = gesso::dequantize<Tuning>(reading, values.view_at(elements.base()), nullptr);
        elements.back();
        return is_success(error);
    }
    template<class Codec, class TransposedCodec>
    static bool transpose(compressed_memory<Codec>& from, compressed_memory<TransposedCodec>& to)
    {
        device_compressed<Codec> source(&from);
        device_compressed<TransposedCodec> target(&to);
        const gesso::compressed_matrix<const Codec> reading = source.view();
        const cudaError_t error = gesso::transpose(reading, target.view(), nullptr);
        target.back();
        return is_success(error);
    }
    template<class Unit, class T, class Amax, class Nan>
    static bool observe(matrix_memory<T>& values, matrix_memory<Amax>& amax, const Nan& nan)
    {
        device_block elements(values.block());
        device_block known(amax.block());
        const cudaError_t error =
            gesso::observe<Unit, Tuning>(values.view_at(elements.base()), amax.view_at(known.base()), nan, nullptr);
        known.back();
        return is_success(error);
    }
    template<class Amax, class Codec>
    static bool fit(matrix_memory<Amax>& amax, compressed_memory<Codec>& to)
    {
        device_block known(amax.block());
        device_compressed<Codec> target(&to);
        const device_memory workspace(static_cast<std::size_t>(gesso::matrix_workspace_bytes));
        const cudaError_t error = gesso::fit(amax.view_at(known.base()), target.view(), workspace.data(), nullptr);
        target.back();
        return is_success(error);
    }

private:
    static bool is_success(cudaError_t error)
    {
        GESSO_CUDA(cudaDeviceSynchronize());
        return error == cudaSuccess;
    }
    template<class T, class Codec, class TransposedCodec, class Act>
    static bool with_outputs(matrix_memory<T>& values, compressed_memory<Codec>* plain,
        compressed_memory<TransposedCodec>* transposed, Act act)
    {
        device_block elements(values.block());
        device_compressed<Codec> plain_codes(plain);
        device_compressed<TransposedCodec> transposed_codes(transposed);
        gesso::quantized_matrix<Codec, TransposedCodec> to;
        to.plain = plain_codes.view();
        to.transposed = transposed_codes.view();
        const cudaError_t error = act(values.view_at(elements.base()), to);
        elements.back();
        plain_codes.back();
        transposed_codes.back();
        return is_success(error);
    }
};

}  // namespace support
