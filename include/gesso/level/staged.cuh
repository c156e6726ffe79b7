// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The elements of a block's threads on their way through shared memory: asynchronous copies keep the next tile in flight
// without registers, lanes meet global memory in whole lines, and a thread still works on contiguous elements.
#pragma once

#include <gesso/encoding/hardware.cuh>

namespace gesso {

namespace detail {

// Starts the copy of a vector of 4, 8 or 16 bytes into shared memory; before sm_80 it is done at once.
template<class Vector>
__device__ __forceinline__ void copy_vector(const unsigned char* from, unsigned char* to)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    if constexpr (sizeof(Vector) == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(from) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(from), "n"(sizeof(Vector))
                     : "memory");
    }
#else
    *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
#endif
}
// Until this thread's copies have arrived.
__device__ __forceinline__ void wait_for_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Items contiguous elements of each of Threads threads, in shared memory. A warp copies for its own lanes only: what
// copy_in() brought is there after wait_for_copies(), and a __syncwarp() must lie between a lane's use of its elements and
// copies of the others, either way. Aligned global addresses to 16 bytes, or to what a thread holds where that is less.
template<class T, int Items, int Threads>
struct staged_items {
    static constexpr uint32_t element_bytes = sizeof(T);
    static constexpr uint32_t thread_bytes = Items * element_bytes;
    static constexpr uint32_t vector_bytes = thread_bytes < 16 ? thread_bytes : 16;
    static constexpr uint32_t vectors = thread_bytes / vector_bytes;  // of a thread
    // Asynchronous copies have 4, 8 or 16 bytes.
    static constexpr bool can_copy = vector_bytes >= 4;

    alignas(16) unsigned char memory[thread_bytes * Threads];

    // The warp's elements from `from`, which is the block's first.
    __device__ __forceinline__ void copy_in(const T* from)
    {
        static_assert(can_copy);
        const unsigned char* source =
            reinterpret_cast<const unsigned char*>(from) + warp_offset() + lane() * vector_bytes;
        unsigned char* target = memory + warp_offset() + swizzled_lane();
        GESSO_UNROLL
        for (uint32_t i = 0; i < vectors; ++i) {
            const uint32_t distance = i * 32 * vector_bytes;
            copy_vector<vector>(source + distance, target + distance);
        }
    }
    // The warp's elements to `to`, which is the block's first.
    __device__ __forceinline__ void copy_out(T* to) const
    {
        unsigned char* target = reinterpret_cast<unsigned char*>(to) + warp_offset() + lane() * vector_bytes;
        const unsigned char* source = memory + warp_offset() + swizzled_lane();
        GESSO_UNROLL
        for (uint32_t i = 0; i < vectors; ++i) {
            const uint32_t distance = i * 32 * vector_bytes;
            *reinterpret_cast<vector*>(target + distance) = *reinterpret_cast<const vector*>(source + distance);
        }
    }

    // The first `valid` of this thread's elements from `from`, one by one, and zeros after them; and back.
    __device__ __forceinline__ void load_part(const T* from, int valid)
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (i < valid) set(i, from[i]);
            else *reinterpret_cast<code*>(memory + offset_of(i)) = 0;
        }
    }
    __device__ __forceinline__ void store_part(T* to, int valid) const
    {
        GESSO_UNROLL
        for (int i = 0; i < Items; ++i) {
            if (i < valid) to[i] = __builtin_bit_cast(T, *reinterpret_cast<const code*>(memory + offset_of(i)));
        }
    }

    // One of this thread's elements.
    __device__ __forceinline__ void set(int item, const T& value)
    {
        *reinterpret_cast<code*>(memory + offset_of(item)) = __builtin_bit_cast(code, value);
    }
    // Some of this thread's elements, from `first` on, as words.
    template<unsigned Words>
    __device__ __forceinline__ void get(int first, uint32_t (&words)[Words]) const
    {
        GESSO_UNROLL
        for (uint32_t i = 0; i < part<Words>; i += step<Words>) read<step<Words>>(offset_at(first, i), words + i / 4);
    }
    template<unsigned Words>
    __device__ __forceinline__ void put(int first, const uint32_t (&words)[Words])
    {
        GESSO_UNROLL
        for (uint32_t i = 0; i < part<Words>; i += step<Words>) write<step<Words>>(offset_at(first, i), words + i / 4);
    }

private:
    using code = standard::conditional_t<element_bytes == 4, uint32_t,
        standard::conditional_t<element_bytes == 2, uint16_t, uint8_t>>;
    using vector = standard::conditional_t<vector_bytes == 16, uint4,
        standard::conditional_t<vector_bytes == 8, uint2,
            standard::conditional_t<vector_bytes == 4, uint32_t, uint16_t>>>;

    // Bytes that words hold of a thread's elements, and at a time.
    template<unsigned Words>
    static constexpr uint32_t part = 4 * Words < thread_bytes ? 4 * Words : thread_bytes;
    template<unsigned Words>
    static constexpr uint32_t step = 4 * Words < vector_bytes ? 4 * Words : vector_bytes;

    static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % 32; }
    static __device__ __forceinline__ uint32_t warp_offset() { return threadIdx.x / 32 * (32 * thread_bytes); }
    // Vector i of a warp lies at i ^ (i / 8 % vectors): then eight lanes that read the same of their vectors meet all banks.
    static __device__ __forceinline__ uint32_t swizzled_lane()
    {
        return (lane() ^ (lane() / 8 % vectors)) * vector_bytes;
    }
    static __device__ __forceinline__ uint32_t own_offset()
    {
        return threadIdx.x * thread_bytes + threadIdx.x * vectors / 8 % vectors * vector_bytes;
    }
    // Byte `byte` after item `first`, both known when loops are unrolled.
    static __device__ __forceinline__ uint32_t offset_at(int first, uint32_t byte)
    {
        const uint32_t at = static_cast<uint32_t>(first) * element_bytes + byte;
        return (own_offset() ^ (at / vector_bytes * vector_bytes)) + at % vector_bytes;
    }
    static __device__ __forceinline__ uint32_t offset_of(int item) { return offset_at(item, 0); }

    template<uint32_t Bytes>
    __device__ __forceinline__ void read(uint32_t offset, uint32_t* words) const
    {
        if constexpr (Bytes == 16) {
            const uint4 loaded = *reinterpret_cast<const uint4*>(memory + offset);
            words[0] = loaded.x;
            words[1] = loaded.y;
            words[2] = loaded.z;
            words[3] = loaded.w;
        } else if constexpr (Bytes == 8) {
            const uint2 loaded = *reinterpret_cast<const uint2*>(memory + offset);
            words[0] = loaded.x;
            words[1] = loaded.y;
        } else if constexpr (Bytes == 4) {
            words[0] = *reinterpret_cast<const uint32_t*>(memory + offset);
        } else {
            words[0] = *reinterpret_cast<const vector*>(memory + offset);
        }
    }
    template<uint32_t Bytes>
    __device__ __forceinline__ void write(uint32_t offset, const uint32_t* words)
    {
        if constexpr (Bytes == 16) {
            *reinterpret_cast<uint4*>(memory + offset) = make_uint4(words[0], words[1], words[2], words[3]);
        } else if constexpr (Bytes == 8) {
            *reinterpret_cast<uint2*>(memory + offset) = make_uint2(words[0], words[1]);
        } else if constexpr (Bytes == 4) {
            *reinterpret_cast<uint32_t*>(memory + offset) = words[0];
        } else {
            *reinterpret_cast<vector*>(memory + offset) = static_cast<vector>(words[0]);
        }
    }
};

}  // namespace detail

}  // namespace gesso
