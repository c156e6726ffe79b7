// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Cases of public fault reports on norms, on the device; runs and cuts of the work give one hash; graphs.
#include "operator_runner.hpp"

using namespace gesso;

namespace support {

using runner = device_operators<>;
TEST_CASE_TEMPLATE_INVOKE(a04_fp16_squares, runner);
TEST_CASE_TEMPLATE_INVOKE(a05_row_lengths, runner);
TEST_CASE_TEMPLATE_INVOKE(a07_fused, runner);
TEST_CASE_TEMPLATE_INVOKE(a11_weight_type, runner);
TEST_CASE_TEMPLATE_INVOKE(t02_widths, runner);
TEST_CASE_TEMPLATE_INVOKE(t05_slices, runner);
TEST_CASE_TEMPLATE_INVOKE(t12_operators, runner);
TEST_CASE_TEMPLATE_INVOKE(r06_operators, runner);
TEST_CASE_TEMPLATE_INVOKE(norm_edges, runner);

template<int Threads>
struct tiles_by {
    static constexpr int tile_threads = Threads;
};

}  // namespace support

TEST_CASE("a norm's gradients are the same bytes in 20 runs of 3 cuts, and from a graph")
{
    using namespace support;
    const std::int64_t rows = size_of_run(1300, 130);
    const std::int64_t columns = size_of_run(1032, 72);
    const auto random = [](std::size_t count, int seed) {
        std::vector<bf16> values(count);
        generator::random_source source(static_cast<std::uint64_t>(seed));
        for (bf16& value : values) value = element<bf16>::store(static_cast<float>(source.normal()));
        return values;
    };
    const std::size_t count = static_cast<std::size_t>(rows * columns);
    const device_array<bf16> x(random(count, 1));
    const device_array<bf16> dy(random(count, 2));
    const device_array<bf16> weight(random(static_cast<std::size_t>(columns), 3));
    const device_array<float> rstd(std::vector<float>(static_cast<std::size_t>(rows), 0.75f));
    const matrix_layout<gradient_codec> plain{rows, columns};
    const matrix_layout<gradient_codec> transposed{columns, rows};
    device_array<unsigned char> codes(static_cast<std::size_t>(plain.bytes()));
    device_array<unsigned char> turned(static_cast<std::size_t>(transposed.bytes()));
    device_array<float> dweight(static_cast<std::size_t>(columns));
    const device_memory workspace(static_cast<std::size_t>(by_rows_workspace_bytes<rms_norm_backward>(rows, columns)));
    const matrix_ref<const bf16> x_view{x.data(), rows, columns, columns};
    const matrix_ref<const bf16> dy_view{dy.data(), rows, columns, columns};
    const quantized_matrix<gradient_codec> to{plain.bind(codes.data()), transposed.bind(turned.data())};
    const auto run = [&](auto tuning, cudaStream_t stream) {
        return apply_rms_norm_backward<decltype(tuning)>(
            x_view, weight.data(), rstd.data(), dy_view, to, dweight.data(), workspace.data(), stream);
    };
    const auto bytes = [&] {
        GESSO_CUDA(cudaDeviceSynchronize());
        std::vector<unsigned char> all = codes.values();
        const std::vector<unsigned char> of_turned = turned.values();
        all.insert(all.end(), of_turned.begin(), of_turned.end());
        const std::vector<unsigned char> sums = dweight.bytes();
        all.insert(all.end(), sums.begin(), sums.end());
        return all;
    };
    codes.clear();
    turned.clear();
    GESSO_CUDA(run(tiles_by<256>{}, nullptr));
    const std::vector<unsigned char> first = bytes();
    for (int i = 0; i < size_of_run(20, 2); ++i) {
        GESSO_CUDA(run(tiles_by<256>{}, nullptr));
        REQUIRE(bytes() == first);
        GESSO_CUDA(run(tiles_by<512>{}, nullptr));
        REQUIRE(bytes() == first);
        GESSO_CUDA(run(tiles_by<1024>{}, nullptr));
        REQUIRE(bytes() == first);
    }
    cudaStream_t stream;
    GESSO_CUDA(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    GESSO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    GESSO_CUDA(run(tiles_by<256>{}, stream));
    GESSO_CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable;
    GESSO_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    GESSO_CUDA(cudaGraphLaunch(executable, stream));
    REQUIRE(bytes() == first);
    GESSO_CUDA(cudaGraphExecDestroy(executable));
    GESSO_CUDA(cudaGraphDestroy(graph));
    GESSO_CUDA(cudaStreamDestroy(stream));
}
