// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Walk, step 3: a tensor in memory. A codec says what the bytes mean, a layout how many there are and where, a level does
// the work: here the host's, and the thread's for a group that lives in registers.
// Build: any C++17 compiler, no CUDA needed.
#include <gesso/level/host.hpp>
#include <gesso/level/thread.hpp>

#include <cstdio>
#include <vector>

int main()
{
    using namespace gesso;
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = (i % 2 == 0 ? 1.0f : -1.0f) / static_cast<float>(i + 1);
    }
    std::vector<float> back(values.size());

    // [compress]
    using moment = codec<e4m3, dynamic_power<>, per_group<128>>;
    const storage_layout<moment> layout{1000};                                     // 1000 elements: 7 groups and a rest
    std::vector<unsigned char> memory(static_cast<std::size_t>(layout.bytes()));  // yours; zeros are a tensor of zeros
    const compressed_ref<moment> compressed = layout.bind(memory.data());

    const status compressing = host_codec<moment>::compress(values.data(), compressed);
    const status restoring = host_codec<moment>::decode(compressed, back.data());
    // [compress]
    if (compressing != status::success || restoring != status::success) return 1;
    std::printf("%zu bytes of fp32 in %zu bytes; 1/3 came back as %g\n", values.size() * sizeof(float), memory.size(),
        static_cast<double>(back[2]));

    // The same for a matrix in tiles of 1 x 16, as activations are kept; the scale is bf16, rounded up.
    using activation = codec<e4m3, identity, per_tile<1, 16>, bfloat16>;
    const matrix_layout<activation> matrix{25, 40};
    std::vector<unsigned char> matrix_memory(static_cast<std::size_t>(matrix.bytes()));
    const compressed_matrix<activation> kept = matrix.bind(matrix_memory.data());
    const matrix_ref<const float> input{values.data(), 25, 40, 40};
    if (host_codec<activation>::compress(input, kept) != status::success) return 1;
    std::printf("25 x 40 in tiles of 1 x 16: %zu bytes, %lld scales\n", matrix_memory.size(),
        static_cast<long long>(matrix.tiles()));

    // [thread]
    // A group in one thread's registers: the same codec, the same bytes.
    const float group[4] = {0.5f, -2.0f, 0.0f, 3.0f};
    gesso::uint8_t codes[4];
    const auto parameters = thread_codec<moment, 4>::compress(group, codes);
    // [thread]
    float group_back[4];
    thread_codec<moment, 4>::decode(codes, parameters, group_back);
    std::printf("{0.5, -2, 0, 3} came back as {%g, %g, %g, %g}\n", static_cast<double>(group_back[0]),
        static_cast<double>(group_back[1]), static_cast<double>(group_back[2]), static_cast<double>(group_back[3]));
    return group_back[3] == 3.0f && group_back[2] == 0.0f ? 0 : 1;
}
