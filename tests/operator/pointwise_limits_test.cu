// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Operators of elements where sizes end: more than 2^31 elements and more than 65,535 rows of tiles, as whole vectors and
// not; captured in a graph. The operator is exact, so the device's bytes are the host's.
#include "quantize_device.hpp"

#include <gesso/operator/pointwise.cuh>

#include <algorithm>
#include <vector>

using namespace gesso;
using support::device_array;
using support::part_of;

namespace limits {

struct halved {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1]) { out[0] = multiply(in[0], 0.5f); }
};

// A number for element i: 16 bits of it, none NaN; the very last ones are the largest.
__host__ __device__ inline bf16 number_at(index_t i, index_t count)
{
    std::uint64_t hash = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    const float number = static_cast<float>(static_cast<std::int32_t>(hash & 0xFFu) - 0x80) * 0x1p-5f;
    return element<bf16>::store(i >= count - 4 ? 16.0f : number);
}
__global__ void fill_kernel(bf16* values, index_t count)
{
    const index_t stride = index_t{gridDim.x} * blockDim.x;
    for (index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
        values[i] = number_at(i, count);
    }
}

}  // namespace limits

namespace {

using rows_codec = elementwise_codec;

// Codes in 1 x 16, and codes with one scale, plain and transposed, at windows of two rows.
void try_shape(index_t rows, index_t columns)
{
    CAPTURE(rows);
    CAPTURE(columns);
    const index_t count = rows * columns;
    const device_array<bf16> x(static_cast<std::size_t>(count));
    limits::fill_kernel<<<2048, 256>>>(x.data(), count);
    const matrix_ref<const bf16> from{x.data(), rows, columns, columns};
    const support::device_memory workspace(pointwise_workspace_bytes<limits::halved>);
    const index_t middle = std::min<index_t>((index_t{1} << 31) / columns - 1, rows - 2);
    const auto windows = {index_t{0}, middle, rows - 2};
    const auto row_of = [&](index_t row) {
        std::vector<bf16> numbers(static_cast<std::size_t>(columns));
        for (index_t i = 0; i < columns; ++i) {
            numbers[static_cast<std::size_t>(i)] = limits::number_at(row * columns + i, count);
        }
        return numbers;
    };
    std::size_t wrong = 0;
    {
        const matrix_layout<rows_codec> layout{rows, columns};
        const support::device_memory memory(static_cast<std::size_t>(layout.bytes()));
        const auto to = layout.bind(memory.data());
        GESSO_CUDA(pointwise<limits::halved>(sources_of(from), sinks_of(to), nullptr, nullptr));
        for (const index_t begin : windows) {
            for (index_t row = begin; row < begin + 2; ++row) {
                std::vector<bf16> numbers = row_of(row);
                const matrix_layout<rows_codec> of_row{1, columns};
                std::vector<std::uint64_t> bytes(static_cast<std::size_t>(of_row.bytes() / 8));
                const auto expected = of_row.bind(bytes.data());
                const matrix_ref<const bf16> source{numbers.data(), 1, columns, columns};
                REQUIRE(host_pointwise<limits::halved>(sources_of(source), sinks_of(expected)) == status::success);
                const auto codes = part_of(to.codes, row * columns, columns);
                const auto scales = part_of(to.scales, row * to.tiles().across(), to.tiles().across());
                wrong += std::equal(codes.begin(), codes.end(), expected.codes) ? 0u : 1u;
                wrong += std::equal(scales.begin(), scales.end(), expected.scales) ? 0u : 1u;
            }
        }
        CHECK(memory.is_intact());
    }
    CHECK(wrong == 0);
    const matrix_layout<product_codec> layout{rows, columns};
    const matrix_layout<transposed_codec<product_codec>> turned_layout{columns, rows};
    const support::device_memory memory(static_cast<std::size_t>(layout.bytes()));
    const support::device_memory turned(static_cast<std::size_t>(turned_layout.bytes()));
    const quantized_matrix<product_codec> to{layout.bind(memory.data()), turned_layout.bind(turned.data())};
    GESSO_CUDA(pointwise<limits::halved>(sources_of(from), sinks_of(to), workspace.data(), nullptr));
    amax_statistic known;
    known.observe(8.0f);
    const auto with = product_codec::fit(known);
    CHECK(part_of(to.plain.scales, 0, 1)[0] == product_codec::scale_code(with));
    for (const index_t begin : windows) {
        const auto codes = part_of(to.plain.codes, begin * columns, 2 * columns);
        for (index_t row = 0; row < 2; ++row) {
            const std::vector<bf16> numbers = row_of(begin + row);
            for (index_t i = 0; i < columns; ++i) {
                const float half = 0.5f * element<bf16>::load(numbers[static_cast<std::size_t>(i)]);
                wrong +=
                    codes[static_cast<std::size_t>(row * columns + i)] != product_codec::encode(half, with) ? 1u : 0u;
            }
        }
        for (const index_t column : {index_t{0}, columns / 2, columns - 1}) {
            const auto pair = part_of(to.transposed.codes, column * rows + begin, 2);
            for (index_t row = 0; row < 2; ++row) {
                wrong += pair[static_cast<std::size_t>(row)] != codes[static_cast<std::size_t>(row * columns + column)]
                             ? 1u
                             : 0u;
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(memory.is_intact());
    CHECK(turned.is_intact());
    CHECK(workspace.is_intact());
}

}  // namespace

TEST_CASE("T08 operators of more than 2^31 elements, as whole vectors and not")
{
    if (support::is_small()) {
        try_shape(144, 272);
        try_shape(130, 251);
    } else {
        try_shape(1048592, 2064);
        try_shape(1048589, 2057);
    }
}

TEST_CASE("T08 operators of more than 65,535 rows of tiles")
{
    try_shape(support::size_of_run<index_t>(8388640, 160), 16);
}

TEST_CASE("an operator is captured in a graph, and replays with what lies there then")
{
    const index_t rows = 64;
    const index_t columns = 256;
    const device_array<bf16> x(static_cast<std::size_t>(rows * columns));
    const support::device_memory workspace(pointwise_workspace_bytes<limits::halved>);
    const matrix_layout<product_codec> layout{rows, columns};
    const support::device_memory memory(static_cast<std::size_t>(layout.bytes()));
    const auto to = layout.bind(memory.data());
    const matrix_ref<const bf16> from{x.data(), rows, columns, columns};
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    GESSO_CUDA(cudaStreamCreate(&stream));
    GESSO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    GESSO_CUDA(pointwise<limits::halved>(sources_of(from), sinks_of(to), workspace.data(), stream));
    GESSO_CUDA(cudaStreamEndCapture(stream, &graph));
    GESSO_CUDA(cudaGraphInstantiate(&replay, graph, 0));
    for (const float number : {3.0f, 112.0f}) {
        const std::vector<bf16> values(static_cast<std::size_t>(rows * columns), element<bf16>::store(number));
        GESSO_CUDA(cudaMemcpy(x.data(), values.data(), values.size() * sizeof(bf16), cudaMemcpyHostToDevice));
        GESSO_CUDA(cudaGraphLaunch(replay, stream));
        GESSO_CUDA(cudaStreamSynchronize(stream));
        amax_statistic known;
        known.observe(0.5f * number);
        const auto with = product_codec::fit(known);
        CHECK(part_of(to.scales, 0, 1)[0] == product_codec::scale_code(with));
        for (const auto code : part_of(to.codes, 0, rows * columns)) {
            REQUIRE(code == product_codec::encode(0.5f * number, with));
        }
    }
    GESSO_CUDA(cudaGraphExecDestroy(replay));
    GESSO_CUDA(cudaGraphDestroy(graph));
    GESSO_CUDA(cudaStreamDestroy(stream));
}
