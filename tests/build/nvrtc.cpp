// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Compiles the .hpp half with NVRTC for the oldest and for a recent architecture. Needs no GPU.
// Arguments: the include folders, as -I options.
#include <nvrtc.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

const char* const source = "#include \"instantiate_all.hpp\"\n";

void require(nvrtcResult result)
{
    if (result != NVRTC_SUCCESS) {
        std::printf("NVRTC: %s\n", nvrtcGetErrorString(result));
        std::exit(EXIT_FAILURE);
    }
}

bool compiles(const char* architecture, const std::vector<std::string>& include_options)
{
    std::vector<const char*> options{architecture, "--std=c++17"};
    for (const std::string& option : include_options) {
        options.push_back(option.c_str());
    }
    nvrtcProgram program = nullptr;
    require(nvrtcCreateProgram(&program, source, "all_headers.cu", 0, nullptr, nullptr));
    const nvrtcResult result = nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());

    std::size_t log_size = 0;
    require(nvrtcGetProgramLogSize(program, &log_size));
    std::string log(log_size, '\0');
    require(nvrtcGetProgramLog(program, log.data()));
    std::size_t ptx_size = 0;
    std::string ptx;
    if (result == NVRTC_SUCCESS) {
        require(nvrtcGetPTXSize(program, &ptx_size));
        ptx.resize(ptx_size);
        require(nvrtcGetPTX(program, ptx.data()));
    }
    require(nvrtcDestroyProgram(&program));

    // A program without the kernel would have instantiated nothing.
    const bool has_kernel = ptx.find("instantiate_kernel") != std::string::npos;
    std::printf("%s: %s, %zu bytes of PTX%s\n%s\n", architecture, nvrtcGetErrorString(result), ptx.size(),
        has_kernel ? "" : ", the kernel is missing", log.c_str());
    return result == NVRTC_SUCCESS && has_kernel;
}

}  // namespace

int main(int argument_count, char** arguments)
{
    const std::vector<std::string> include_options(arguments + 1, arguments + argument_count);
    const bool old_compiles = compiles("--gpu-architecture=compute_75", include_options);
    const bool recent_compiles = compiles("--gpu-architecture=compute_90", include_options);
    return old_compiles && recent_compiles ? EXIT_SUCCESS : EXIT_FAILURE;
}
