// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Device memory for tests: allocations of the exact size between canary bytes, copies, and checks that name
// the call that failed. GESSO_SMALL=1 in the environment cuts the sizes and drops the canaries, for runs
// under compute-sanitizer, which finds by itself what lies outside an allocation.
#pragma once

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

// A call of the runtime that has to succeed, or the test case ends.
#define GESSO_CUDA(call)                                                                                     \
    do {                                                                                                     \
        const cudaError_t gesso_error = (call);                                                              \
        REQUIRE_MESSAGE(gesso_error == cudaSuccess, #call << ": " << cudaGetErrorString(gesso_error));       \
    } while (false)

namespace support {

inline bool is_small()
{
    const char* value = std::getenv("GESSO_SMALL");
    return value != nullptr && value[0] == '1';
}

// The whole size, or the smaller one under a sanitizer.
template<class T>
T size_of_run(T whole, T small)
{
    return is_small() ? small : whole;
}

inline void synchronize() { GESSO_CUDA(cudaDeviceSynchronize()); }

// `size` bytes of device memory that begin `offset` bytes past an address aligned to 256, between canaries.
class device_memory {
public:
    explicit device_memory(std::size_t size = 0, std::size_t offset = 0)
        : size_(size)
        , margin_(is_small() ? 0 : canary_bytes)
        , begin_((is_small() ? 0 : 256) + offset)
    {
        if (size_ == 0 && margin_ == 0) return;
        GESSO_CUDA(cudaMalloc(&base_, begin_ + size_ + margin_));
        // Under a sanitizer what nobody wrote stays so, for it to find who reads it.
        if (margin_ != 0) GESSO_CUDA(cudaMemset(base_, canary, begin_ + size_ + margin_));
    }
    ~device_memory() { static_cast<void>(cudaFree(base_)); }
    device_memory(device_memory&& other) noexcept
        : size_(other.size_)
        , margin_(other.margin_)
        , begin_(other.begin_)
        , base_(std::exchange(other.base_, nullptr))
    {}
    device_memory& operator=(device_memory&& other) noexcept
    {
        std::swap(size_, other.size_);
        std::swap(margin_, other.margin_);
        std::swap(begin_, other.begin_);
        std::swap(base_, other.base_);
        return *this;
    }

    // Null where there is nothing: an empty tensor has no memory.
    unsigned char* data() const { return size_ == 0 ? nullptr : static_cast<unsigned char*>(base_) + begin_; }
    std::size_t size() const { return size_; }

    void upload(const void* from) { copy(data(), from, size_, cudaMemcpyHostToDevice); }
    void clear()
    {
        if (size_ != 0) GESSO_CUDA(cudaMemset(data(), 0, size_));
    }
    std::vector<unsigned char> bytes() const
    {
        std::vector<unsigned char> result(size_);
        copy(result.data(), data(), size_, cudaMemcpyDeviceToHost);
        return result;
    }
    // Has anything beside the memory been written?
    bool is_intact() const
    {
        if (base_ == nullptr || margin_ == 0) return true;
        std::vector<unsigned char> around(begin_ + margin_);
        copy(around.data(), base_, begin_, cudaMemcpyDeviceToHost);
        copy(around.data() + begin_, static_cast<unsigned char*>(base_) + begin_ + size_, margin_,
            cudaMemcpyDeviceToHost);
        for (unsigned char byte : around) {
            if (byte != canary) return false;
        }
        return true;
    }

private:
    static constexpr unsigned char canary = 0xA5;
    static constexpr std::size_t canary_bytes = 64;

    static void copy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind)
    {
        if (size != 0) GESSO_CUDA(cudaMemcpy(to, from, size, kind));
    }

    std::size_t size_;
    std::size_t margin_;
    std::size_t begin_;
    void* base_ = nullptr;
};

// `count` T of device memory, `offset` elements past an aligned address.
template<class T>
class device_array {
public:
    explicit device_array(std::size_t count = 0, std::size_t offset = 0)
        : memory_(count * sizeof(T), offset * sizeof(T))
    {}
    explicit device_array(const std::vector<T>& values, std::size_t offset = 0)
        : device_array(values.size(), offset)
    {
        upload(values);
    }

    T* data() const { return reinterpret_cast<T*>(memory_.data()); }
    std::size_t size() const { return memory_.size() / sizeof(T); }
    void upload(const std::vector<T>& values)
    {
        REQUIRE(values.size() == size());
        memory_.upload(values.data());
    }
    void clear() { memory_.clear(); }
    std::vector<T> values() const
    {
        std::vector<T> result(size());
        if (size() != 0) {
            GESSO_CUDA(cudaMemcpy(result.data(), data(), memory_.size(), cudaMemcpyDeviceToHost));
        }
        return result;
    }
    std::vector<unsigned char> bytes() const { return memory_.bytes(); }
    bool is_intact() const { return memory_.is_intact(); }

private:
    device_memory memory_;
};

// What kernels count and find: how many checks failed, and two words of one that did.
struct device_tally {
    unsigned long long tried;
    unsigned long long failed;
    unsigned long long first[2];
};

#if defined(__CUDACC__)
// One check of one thread. (Counted by hand: an atomic for each of 2^32 successes would take a minute.)
__device__ inline void report_failure(
    device_tally* tally, unsigned long long what, unsigned long long got_and_expected)
{
    if (atomicAdd(&tally->failed, 1ull) == 0) {
        tally->first[0] = what;
        tally->first[1] = got_and_expected;
    }
}
#endif

// Blocks for `count` threads of blocks of `threads`.
inline unsigned blocks_for(std::int64_t count, int threads)
{
    return static_cast<unsigned>((count + threads - 1) / threads);
}

}  // namespace support
