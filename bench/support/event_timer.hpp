// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How every device benchmark is timed: CUDA events around one launch, the L2 cache flushed before it, the
// median of several launches, and beside it a device-to-device copy that moves the same number of bytes,
// timed in the same way by the same process.
#pragma once

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// A CUDA error ends one benchmark and is its message; the others go on.
inline void check(cudaError_t error, const char* what)
{
    if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

// GESSO_SMALL=1: one small size each, so that a test can run every benchmark, under the sanitizer too.
inline bool is_small()
{
    const char* value = std::getenv("GESSO_SMALL");
    return value != nullptr && value[0] == '1';
}

// Bytes on the device, freed at the end of the scope.
class device_memory {
public:
    explicit device_memory(std::int64_t bytes)
        : bytes_(bytes)
    {
        if (bytes == 0) return;
        const cudaError_t error = cudaMalloc(&data_, static_cast<std::size_t>(bytes));
        // Out of memory is no lasting error, but would be the answer to the next question.
        if (error != cudaSuccess) cudaGetLastError();
        check(error, ("cudaMalloc of " + std::to_string(bytes) + " bytes").c_str());
    }
    ~device_memory() { cudaFree(data_); }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;

    template<class T = void>
    T* data() const
    {
        return static_cast<T*>(data_);
    }
    std::int64_t bytes() const { return bytes_; }
    void fill(int value) const
    {
        check(cudaMemset(data_, value, static_cast<std::size_t>(bytes_)), "cudaMemset");
    }

private:
    void* data_ = nullptr;
    std::int64_t bytes_;
};

// Seconds of one launch.
struct timing {
    double median;
    double fastest;
    double slowest;
};

class event_timer {
public:
    // One for the process: the flush buffer is allocated once, and copies are measured once for each number
    // of bytes.
    static event_timer& instance()
    {
        static event_timer only;
        return only;
    }

    cudaStream_t stream() const { return stream_; }

    // launch(): puts the work on stream().
    template<class Launch>
    timing measure(std::int64_t bytes, const Launch& launch)
    {
        // A small launch is over in microseconds and differs more from one to the next.
        const int runs = is_small() ? 3 : bytes < (std::int64_t{1} << 28) ? 41 : 13;
        for (int i = 0; i < warm_up_runs; ++i) timed(launch);
        std::vector<double> seconds;
        for (int i = 0; i < runs; ++i) seconds.push_back(timed(launch));
        std::sort(seconds.begin(), seconds.end());
        return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
    }

    // Seconds of a device-to-device copy that reads half of the bytes and writes the other half. Needs as
    // much memory: call it before what is to be measured allocates its own.
    double copy_seconds(std::int64_t bytes)
    {
        const auto known = copies_.find(bytes);
        if (known != copies_.end()) return known->second;
        const std::int64_t half = bytes / 2;
        const device_memory from(half);
        const device_memory to(half);
        from.fill(1);
        const timing copied = measure(bytes, [&] {
            check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(half),
                      cudaMemcpyDeviceToDevice, stream_),
                "cudaMemcpyAsync");
        });
        copies_[bytes] = copied.median;
        return copied.median;
    }

private:
    static constexpr int warm_up_runs = 2;

    event_timer()
    {
        int device = 0;
        int cache_bytes = 0;
        check(cudaGetDevice(&device), "cudaGetDevice");
        check(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
        // At least twice the cache, or a part of what the last launch left there would stay.
        flush_bytes_ = std::max(std::size_t{256} << 20, 2 * static_cast<std::size_t>(cache_bytes));
        check(cudaMalloc(&flush_, flush_bytes_), "cudaMalloc");
        check(cudaStreamCreate(&stream_), "cudaStreamCreate");
        check(cudaEventCreate(&begin_), "cudaEventCreate");
        check(cudaEventCreate(&end_), "cudaEventCreate");
        // A GPU that idles takes a while to raise its clocks.
        const int runs = is_small() ? 1 : 3000;
        for (int i = 0; i < runs; ++i) flush();
        check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }

    void flush()
    {
        check(cudaMemsetAsync(flush_, ++flushes_ & 0xFF, flush_bytes_, stream_), "cudaMemsetAsync");
    }

    template<class Launch>
    double timed(const Launch& launch)
    {
        // The flush runs long enough for the launch to be queued behind it, so the host's time is not
        // measured.
        flush();
        check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
        launch();
        check(cudaEventRecord(end_, stream_), "cudaEventRecord");
        check(cudaEventSynchronize(end_), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e-3;
    }

    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
    void* flush_ = nullptr;
    std::size_t flush_bytes_ = 0;
    int flushes_ = 0;
    std::map<std::int64_t, double> copies_;
};

// Times `launch` and reports it: real_time is the median, the counters say what share of the copy's bandwidth
// it had. bytes: each input once and each output once, scales and exponents included. copy:
// copy_seconds(bytes), from before.
template<class Launch>
void report(benchmark::State& state, std::int64_t elements, std::int64_t bytes, double copy_seconds,
    const Launch& launch)
{
    const timing measured = event_timer::instance().measure(bytes, launch);
    for (auto _ : state) state.SetIterationTime(measured.median);
    state.counters["bytes"] = static_cast<double>(bytes);
    state.counters["bytes_per_second"] = static_cast<double>(bytes) / measured.median;
    state.counters["copy_bytes_per_second"] = static_cast<double>(bytes) / copy_seconds;
    state.counters["copy_fraction"] = copy_seconds / measured.median;
    state.counters["elements_per_second"] = static_cast<double>(elements) / measured.median;
    state.counters["fastest_seconds"] = measured.fastest;
    state.counters["slowest_seconds"] = measured.slowest;
}

// Registers `body(state)` under a name. One iteration is the median of event_timer's runs.
template<class Body>
void add(const std::string& name, const Body& body)
{
    benchmark::RegisterBenchmark(name.c_str(),
        [body](benchmark::State& state) {
            try {
                body(state);
            } catch (const std::exception& error) {
                state.SkipWithError(error.what());
            }
        })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
}

// main() of every device benchmark, after its add() calls. Exit status 77 says that there is no GPU.
inline int run(int argument_count, char** arguments)
{
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    const bool only_lists = std::any_of(arguments, arguments + argument_count,
        [](const char* argument) { return std::strncmp(argument, "--benchmark_list_tests", 22) == 0; });
    benchmark::Initialize(&argument_count, arguments);
    if (benchmark::ReportUnrecognizedArguments(argument_count, arguments)) return EXIT_FAILURE;
    if (only_lists) {
        benchmark::RunSpecifiedBenchmarks();
        return EXIT_SUCCESS;
    }
    if (error != cudaSuccess || devices == 0) {
        std::printf("SKIPPED: no GPU to run on (%s)\n", cudaGetErrorString(error));
        return 77;
    }
    cudaDeviceProp properties;
    int runtime = 0;
    int driver = 0;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    benchmark::AddCustomContext("gpu", properties.name);
    benchmark::AddCustomContext("gpu_multiprocessors", std::to_string(properties.multiProcessorCount));
    benchmark::AddCustomContext("gpu_l2_bytes", std::to_string(properties.l2CacheSize));
    benchmark::AddCustomContext("cuda_runtime", std::to_string(runtime));
    benchmark::AddCustomContext("cuda_driver", std::to_string(driver));
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return EXIT_SUCCESS;
}

}  // namespace bench
