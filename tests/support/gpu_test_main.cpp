// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// main() of every test program that needs a GPU: without one it says how many cases it skips and exits with 77.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int exit_skipped = 77;  // SKIP_RETURN_CODE of the ctest

// scripts/test.sh sets this where a GPU is installed: a broken driver must then fail, not skip.
bool gpu_is_required()
{
    const char* value = std::getenv("GESSO_REQUIRE_GPU");
    return value != nullptr && value[0] == '1';
}

}  // namespace

int main(int argument_count, char** arguments)
{
    int device_count = 0;
    const cudaError_t error = cudaGetDeviceCount(&device_count);
    if (error == cudaSuccess && device_count > 0) {
        return doctest::Context(argument_count, arguments).run();
    }
    std::printf("%s: no GPU to run on (%s). The test cases counted here were not run:\n",
        gpu_is_required() ? "FAILED" : "SKIPPED", cudaGetErrorString(error));
    // doctest takes this query as an argument only, not through setOption.
    std::vector<const char*> count_only(arguments, arguments + argument_count);
    count_only.push_back("--count");
    doctest::Context(static_cast<int>(count_only.size()), count_only.data()).run();
    return gpu_is_required() ? EXIT_FAILURE : exit_skipped;
}
