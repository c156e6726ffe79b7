// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The device level: the host calls, on a stream, for tensors in device memory. Nothing is allocated, nothing
// waits, every call can be captured in a graph. Results are valid when the stream gets there.
#pragma once

#include <gesso/level/device_tile.cuh>
#include <gesso/level/launch.cuh>

#include <cuda_runtime_api.h>

namespace gesso {

namespace detail {

template<class Tile, bool Fits, class Underflow, class Codec, class T, class Rounding>
GESSO_KERNEL void __launch_bounds__(Tile::threads)
    device_encode_kernel(const T* values, const compressed_ref<Codec> to, const Rounding rounding)
{
    __shared__ typename Tile::template storage<typename Codec::statistic> shared;
    Tile::template encode<Fits, Underflow>(values, to, rounding, shared);
}

template<class Tile, class Codec, class T>
GESSO_KERNEL void __launch_bounds__(Tile::threads)
    device_decode_kernel(const compressed_ref<const Codec> from, T* values)
{
    Tile::decode(from, values);
}

template<class Tile, class Statistic, class T>
GESSO_KERNEL void __launch_bounds__(Tile::threads)
    device_observe_kernel(const T* values, const flat_groups groups, float* amax, float* amin)
{
    __shared__ typename Tile::template storage<Statistic> shared;
    Tile::template observe<Statistic>(values, groups, amax, amin, shared);
}

// One thread a group.
template<class Codec>
GESSO_KERNEL void device_fit_kernel(
    const float* amax, const float* amin, const compressed_ref<Codec> to, const index_t groups)
{
    const index_t group = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (group >= groups) return;
    typename Codec::statistic known;
    known.amax_bits = bits_of(amax[group]);
    if constexpr (Codec::has_exponent) known.amin_bits = bits_of(amin[group]);
    to.store(group, Codec::fit(known));
}

}  // namespace detail

// The codec's verbs on flat tensors in device memory: host_codec's, with a stream. T is float, bf16, fp16 or
// CUDA's own 16-bit type. Math: hardware_math, or exact_math for the host's bytes; scales, exponents and
// plain groups are the host's bytes in both, and an expanded element is at most one code away. Tuning: see
// device_tuning.
//
// Any count, row length, shard and group size; no alignment is needed beyond that of the types. Values and
// codes that are aligned to 16 bytes in groups of 2^n elements are the fast way. NaN and infinite elements
// become NaN and take no part in a statistic. Storage: none. Barrier: stream order. Deterministic: the same
// bytes for any grid, shard and run.
// Errors: cudaErrorInvalidValue for what host_codec refuses, and launch errors; nothing is written then.
//   using moments = gesso::device_codec<moment>;
//   moments::compress(values, compressed, stream);
//   moments::compress(values, compressed, gesso::stochastic{seed, step}, gesso::keep{}, stream);
template<class Codec, class Math = hardware_math, class Tuning = device_tuning<Math>>
struct device_codec {
    // values (to.count) to codes, scales and exponents: observe, fit and encode in one pass. rounding:
    // nearest_even, or stochastic{seed, step}, which takes each element's bits by its index in the whole
    // tensor. underflow: gradual, keep or flush.
    template<class T, class View, class Rounding, class Underflow>
    [[nodiscard]] static cudaError_t compress(const T* values, const compressed_ref<View>& to,
        const Rounding& rounding, Underflow underflow, cudaStream_t stream)
    {
        return write<true>(values, to, rounding, underflow, stream);
    }
    template<class T, class View>
    [[nodiscard]] static cudaError_t compress(
        const T* values, const compressed_ref<View>& to, cudaStream_t stream)
    {
        return write<true>(values, to, nearest_even{}, gradual{}, stream);
    }

    // Stage one: the largest magnitude of each group, amax (groups); 0 for a group without numbers. Of
    // `groups` only count, first and row_length are read: its pointers may be null.
    template<class T, class View>
    [[nodiscard]] static cudaError_t observe(
        const T* values, const compressed_ref<View>& groups, float* amax, cudaStream_t stream)
    {
        return observe_to<amax_statistic>(values, groups, amax, nullptr, stream);
    }
    // The same over elements of at least 2^-126, and the smallest magnitude among them, amin (groups);
    // infinity for a group without any.
    template<class T, class View>
    [[nodiscard]] static cudaError_t observe(
        const T* values, const compressed_ref<View>& groups, float* amax, float* amin, cudaStream_t stream)
    {
        if (groups.count > 0 && amin == nullptr) return cudaErrorInvalidValue;
        return observe_to<range_statistic>(values, groups, amax, amin, stream);
    }

    // Stage two: statistics (groups) as observe() writes them, perhaps merged with those of other ranks, to
    // scales and exponents. amin may be null where the codec has no exponents. to.codes is not touched and
    // may be null.
    template<class View>
    [[nodiscard]] static cudaError_t fit(
        const float* amax, const float* amin, const compressed_ref<View>& to, cudaStream_t stream)
    {
        require_same_codec<View>();
        const status checked = check_shape(to);
        const bool has_none = !Codec::has_scale || to.count == 0;
        if (checked != status::success || has_none) return detail::error_of(checked);
        const bool lacks_exponent = Codec::has_exponent && (amin == nullptr || to.exponents == nullptr);
        if (amax == nullptr || to.scales == nullptr || lacks_exponent) return cudaErrorInvalidValue;
        constexpr int threads = 128;
        const index_t groups = to.groups().groups();
        const index_t blocks = detail::parts(groups, threads);
        if (!detail::fits_grid(blocks)) return cudaErrorInvalidValue;
        detail::device_fit_kernel<Codec>
            <<<static_cast<unsigned>(blocks), threads, 0, stream>>>(amax, amin, to, groups);
        return cudaGetLastError();
    }

    // Values to codes, with the parameters that `to` already holds: given, delayed or shared scales.
    template<class T, class View, class Rounding, class Underflow>
    [[nodiscard]] static cudaError_t encode(const T* values, const compressed_ref<View>& to,
        const Rounding& rounding, Underflow underflow, cudaStream_t stream)
    {
        return write<false>(values, to, rounding, underflow, stream);
    }
    template<class T, class View>
    [[nodiscard]] static cudaError_t encode(
        const T* values, const compressed_ref<View>& to, cudaStream_t stream)
    {
        return write<false>(values, to, nearest_even{}, gradual{}, stream);
    }

    // Codes to values (from.count), rounded to nearest where T is narrower than fp32.
    template<class View, class T>
    [[nodiscard]] static cudaError_t decode(const compressed_ref<View>& from, T* values, cudaStream_t stream)
    {
        require_same_codec<const View, const Codec>();
        const cudaError_t checked = check(values, from);
        if (checked != cudaSuccess) return checked;
        const index_t tiles = tile::tiles(from.groups());
        if (tiles == 0) return cudaSuccess;
        if (!detail::fits_grid(tiles)) return cudaErrorInvalidValue;
        detail::device_decode_kernel<tile, Codec>
            <<<static_cast<unsigned>(tiles), tile::threads, 0, stream>>>(from, values);
        return cudaGetLastError();
    }

private:
    using tile = detail::device_tile<Codec, Math, Tuning>;

    template<class View, class Expected = Codec>
    static void require_same_codec()
    {
        static_assert(standard::is_same_v<View, Expected>,
            "gesso::device_codec: the view is of another codec, or is one that only reads; use device_codec "
            "of its codec");
    }

    // detail::check() without the arrays.
    template<class View>
    static status check_shape(const compressed_ref<View>& view)
    {
        if (view.count < 0 || view.first < 0 || view.row_length < 0) return status::negative_count;
        return view.groups().starts_a_group() ? status::success : status::unaligned_shard;
    }
    template<class T, class View>
    static cudaError_t check(const T* values, const compressed_ref<View>& view)
    {
        if (view.count != 0 && values == nullptr) return cudaErrorInvalidValue;
        return detail::error_of(detail::check(view));
    }

    template<bool Fits, class T, class View, class Rounding, class Underflow>
    static cudaError_t write(const T* values, const compressed_ref<View>& to, const Rounding& rounding,
        Underflow, cudaStream_t stream)
    {
        require_same_codec<View>();
        static_assert(
            standard::is_same_v<Rounding, nearest_even> || standard::is_same_v<Rounding, stochastic>,
            "gesso::device_codec: values are rounded by nearest_even or stochastic{seed, step}; other "
            "roundings are for the host level");
        const cudaError_t checked = check(values, to);
        if (checked != cudaSuccess) return checked;
        const index_t tiles = tile::tiles(to.groups());
        if (tiles == 0) return cudaSuccess;
        if (!detail::fits_grid(tiles)) return cudaErrorInvalidValue;
        detail::device_encode_kernel<tile, Fits, Underflow>
            <<<static_cast<unsigned>(tiles), tile::threads, 0, stream>>>(values, to, rounding);
        return cudaGetLastError();
    }

    template<class Statistic, class T, class View>
    static cudaError_t observe_to(
        const T* values, const compressed_ref<View>& groups, float* amax, float* amin, cudaStream_t stream)
    {
        require_same_codec<const View, const Codec>();
        static_assert(
            Codec::has_scale, "gesso::device_codec: a codec without scales has no groups to observe");
        const status checked = check_shape(groups);
        if (checked != status::success || groups.count == 0) return detail::error_of(checked);
        if (values == nullptr || amax == nullptr) return cudaErrorInvalidValue;
        const index_t tiles = tile::tiles(groups.groups());
        if (!detail::fits_grid(tiles)) return cudaErrorInvalidValue;
        detail::device_observe_kernel<tile, Statistic>
            <<<static_cast<unsigned>(tiles), tile::threads, 0, stream>>>(values, groups.groups(), amax, amin);
        return cudaGetLastError();
    }
};

}  // namespace gesso
