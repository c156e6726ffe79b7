// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the device where sizes and schedules end: more than 2^31 elements, more than 65,535 rows of tiles, any
// tuning, any run, graphs; and what is refused.
#include "quantize_device.hpp"

#include <cuda_bf16.h>

#include <algorithm>
#include <array>

using namespace gesso;
using support::device_array;
using support::part_of;
using support::plain_codec;
using bfloat = __nv_bfloat16;

// Not in an unnamed namespace: kernels are named for them.
namespace tunings {

struct small : matrix_tuning<bfloat> {
    static constexpr int row_items = 4;
    static constexpr int row_pieces = 1;
    static constexpr int row_threads = 128;
    static constexpr int scan_blocks = 7;
    static constexpr int scan_threads = 64;
    static constexpr int scan_pieces = 1;
};
struct large : matrix_tuning<bfloat> {
    static constexpr int row_items = 16;
    static constexpr int row_pieces = 4;
    static constexpr int row_threads = 512;
    static constexpr int tile_columns = 128;
    static constexpr int tile_threads = 512;
    static constexpr int scan_blocks = 1024;
    static constexpr int scan_threads = 1024;
};

}  // namespace tunings

namespace {

// The number of element i of a matrix; the last elements are the largest.
__host__ __device__ inline float number_at(index_t i, index_t count)
{
    std::uint64_t hash = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 31;
    const float number = static_cast<float>(static_cast<std::int32_t>(hash & 0xFFFFu) - 0x8000) * 0x1p-12f;
    return i >= count - 16 ? 8.0f + static_cast<float>(i - (count - 16)) : number;
}
template<class T>
__global__ void fill_kernel(T* values, index_t count)
{
    const index_t stride = index_t{gridDim.x} * blockDim.x;
    for (index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
        values[i] = element<T>::store(number_at(i, count));
    }
}

// A matrix and its outputs on the device, packed.
template<class Codec, class T>
struct device_matrix {
    index_t rows;
    index_t columns;
    matrix_layout<Codec> plain_layout{rows, columns};
    matrix_layout<transposed_codec<Codec>> transposed_layout{columns, rows};
    device_array<T> values{static_cast<std::size_t>(rows * columns)};
    support::device_memory plain{static_cast<std::size_t>(plain_layout.bytes())};
    support::device_memory transposed{static_cast<std::size_t>(transposed_layout.bytes())};
    support::device_memory workspace{static_cast<std::size_t>(matrix_workspace_bytes)};

    device_matrix(index_t of_rows, index_t of_columns)
        : rows(of_rows)
        , columns(of_columns)
    {
        plain.clear();
        transposed.clear();
        fill_kernel<<<2048, 256>>>(values.data(), rows * columns);
        GESSO_CUDA(cudaGetLastError());
    }
    matrix_ref<const T> elements() const { return {values.data(), rows, columns, columns}; }
    quantized_matrix<Codec> outputs(bool with_transposed = true) const
    {
        quantized_matrix<Codec> to{plain_layout.bind(plain.data()), {}};
        if (with_transposed) to.transposed = transposed_layout.bind(transposed.data());
        return to;
    }
};

// Are rows [begin, begin + number) of both outputs the host's, made from the same numbers with the scales found there?
template<class Codec, class T>
void compare_rows(const device_matrix<Codec, T>& device, index_t begin, index_t number, bool with_transposed)
{
    CAPTURE(begin);
    const auto to = device.outputs();
    const auto codes = part_of(to.plain.codes, begin * device.columns, number * device.columns);
    const index_t across = to.plain.tiles().across();
    const index_t height = to.plain.tile_rows();
    const auto scales = part_of(to.plain.scales, begin / height * across, detail::parts(number, height) * across);
    std::size_t wrong = 0;
    for (index_t row = 0; row < number; ++row) {
        for (index_t column = 0; column < device.columns; ++column) {
            const index_t i = (begin + row) * device.columns + column;
            const float value = element<T>::load(element<T>::store(number_at(i, device.rows * device.columns)));
            const index_t tile = row / height * across + column / to.plain.tile_columns();
            const auto with = Codec::load(scales[static_cast<std::size_t>(tile)]);
            const auto expected = Codec::encode(value, with);
            wrong += codes[static_cast<std::size_t>(row * device.columns + column)] != expected ? 1u : 0u;
        }
    }
    CHECK(wrong == 0);
    if (!with_transposed) return;
    for (const index_t column : {index_t{0}, device.columns / 2, device.columns - 1}) {
        const auto turned = part_of(to.transposed.codes, column * device.rows + begin, number);
        for (index_t row = 0; row < number; ++row) {
            wrong +=
                turned[static_cast<std::size_t>(row)] != codes[static_cast<std::size_t>(row * device.columns + column)]
                    ? 1u
                    : 0u;
        }
    }
    CHECK(wrong == 0);
}

std::uint64_t hash_of(const std::vector<unsigned char>& bytes, std::uint64_t hash = 0xCBF29CE484222325u)
{
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001B3u;
    return hash;
}

// One hash of all that quantize() and encode() write, over runs and tunings.
template<class Codec>
void expect_one_hash(index_t rows, index_t columns)
{
    device_matrix<Codec, bfloat> device(rows, columns);
    const stochastic source(3, 4);
    std::vector<std::uint64_t> hashes;
    const auto run = [&](auto tuning, bool with_transposed) {
        using tuning_type = typename decltype(tuning)::type;
        device.plain.clear();
        device.transposed.clear();
        const auto to = device.outputs(with_transposed);
        GESSO_CUDA(
            quantize<tuning_type>(device.elements(), to, source, ignore_nan{}, device.workspace.data(), nullptr));
        const std::uint64_t plain = hash_of(device.plain.bytes());
        if (with_transposed) {
            device.plain.clear();
            GESSO_CUDA(transpose(compressed_matrix<const transposed_codec<Codec>>(to.transposed), to.plain, nullptr));
            CHECK(hash_of(device.plain.bytes()) == plain);
        }
        hashes.push_back(plain);
    };
    const int runs = support::size_of_run(20, 2);
    for (int i = 0; i < runs; ++i) {
        for (const bool with_transposed : {false, true}) {
            run(std::enable_if<true, void>{}, with_transposed);
            run(std::enable_if<true, tunings::small>{}, with_transposed);
            run(std::enable_if<true, tunings::large>{}, with_transposed);
        }
    }
    CHECK(std::count(hashes.begin(), hashes.end(), hashes.front()) == static_cast<std::ptrdiff_t>(hashes.size()));
}

}  // namespace

TEST_CASE("T08 more than 2^31 elements: windows at the start, at 2^31 and at the end are the host's")
{
    const index_t columns = support::size_of_run<index_t>(65537, 1025);
    const index_t rows = support::size_of_run<index_t>(32800, 130);
    const auto try_codec = [&](auto codec_of) {
        using codec_type = decltype(codec_of);
        device_matrix<codec_type, bfloat> device(rows, columns);
        for (const bool with_transposed : {false, true}) {
            const auto to = device.outputs(with_transposed);
            GESSO_CUDA(quantize(device.elements(), to, device.workspace.data(), nullptr));
            const index_t middle = std::min<index_t>((index_t{1} << 31) / columns - 1, rows - 3);
            for (const index_t begin : {index_t{0}, middle, rows - 3}) {
                compare_rows(device, begin, 3, with_transposed);
            }
        }
        CHECK(device.plain.is_intact());
        CHECK(device.transposed.is_intact());
        const auto values = device.outputs().plain;
        GESSO_CUDA(dequantize(values, matrix_ref<bfloat>{device.values.data(), rows, columns, columns}, nullptr));
        const bfloat last = part_of(device.values.data(), rows * columns - 1, 1)[0];
        CHECK(element<bfloat>::load(last) == doctest::Approx(23.0f).epsilon(0.01));
    };
    try_codec(plain_codec<e4m3, per_tile<1, 128>>{});
    try_codec(plain_codec<e4m3, per_tensor>{});
}

TEST_CASE("more than 65,535 rows of tiles")
{
    const index_t rows = support::size_of_run<index_t>(65537 * 128 + 5, 300);
    const auto try_codec = [&](auto codec_of) {
        using codec_type = decltype(codec_of);
        device_matrix<codec_type, bfloat> device(rows, 3);
        GESSO_CUDA(quantize(device.elements(), device.outputs(), device.workspace.data(), nullptr));
        for (const index_t begin : {index_t{0}, rows / 2 / 128 * 128, (rows - 130) / 128 * 128}) {
            compare_rows(device, begin, 128, true);
        }
        const auto to = device.outputs();
        device.plain.clear();
        GESSO_CUDA(transpose(compressed_matrix<const transposed_codec<codec_type>>(to.transposed), to.plain, nullptr));
        compare_rows(device, (rows - 130) / 128 * 128, 128, true);
        CHECK(device.plain.is_intact());
        CHECK(device.transposed.is_intact());
    };
    try_codec(plain_codec<e4m3, per_tile<1, 16>>{});
    try_codec(plain_codec<e4m3, per_tile<128, 128>>{});
    try_codec(plain_codec<e4m3, per_row>{});
}

TEST_CASE("R06 one hash over runs and tunings")
{
    for (const std::array<index_t, 2> shape : {std::array<index_t, 2>{1000, 1000}, {513, 259}, {256, 2048}}) {
        expect_one_hash<plain_codec<e4m3, per_tile<1, 16>>>(shape[0], shape[1]);
        expect_one_hash<plain_codec<e4m3, per_tensor>>(shape[0], shape[1]);
    }
}

TEST_CASE("a captured graph gives the same bytes at every replay, with other values too")
{
    using codec_type = plain_codec<e4m3, per_tensor>;
    device_matrix<codec_type, bfloat> device(500, 700);
    const auto to = device.outputs();
    const auto launch = [&](cudaStream_t stream, bool in_one) {
        if (in_one) {
            return quantize_one_launch(
                device.elements(), to, nearest_even{}, ignore_nan{}, device.workspace.data(), stream);
        }
        return quantize(device.elements(), to, device.workspace.data(), stream);
    };
    cudaStream_t stream = nullptr;
    GESSO_CUDA(cudaStreamCreate(&stream));
    for (const bool in_one : {false, true}) {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        GESSO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        GESSO_CUDA(launch(stream, in_one));
        GESSO_CUDA(cudaStreamEndCapture(stream, &graph));
        GESSO_CUDA(cudaGraphInstantiate(&executable, graph, 0));
        for (const float factor : {1.0f, 3.0f, 0.5f}) {
            std::vector<bfloat> values = device.values.values();
            for (bfloat& value : values) {
                value = element<bfloat>::store(element<bfloat>::load(value) * factor);
            }
            device.values.upload(values);
            GESSO_CUDA(launch(stream, in_one));
            GESSO_CUDA(cudaStreamSynchronize(stream));
            const auto plain = device.plain.bytes();
            const auto transposed = device.transposed.bytes();
            device.plain.clear();
            device.transposed.clear();
            GESSO_CUDA(cudaDeviceSynchronize());
            GESSO_CUDA(cudaGraphLaunch(executable, stream));
            GESSO_CUDA(cudaStreamSynchronize(stream));
            CHECK(device.plain.bytes() == plain);
            CHECK(device.transposed.bytes() == transposed);
        }
        GESSO_CUDA(cudaGraphExecDestroy(executable));
        GESSO_CUDA(cudaGraphDestroy(graph));
    }
    GESSO_CUDA(cudaStreamDestroy(stream));
}

TEST_CASE("many units of stage one give the scale of one pass")
{
    using codec_type = plain_codec<e4m3, per_tensor>;
    device_matrix<codec_type, bfloat> device(1000, 2100);
    const auto to = device.outputs(false);
    GESSO_CUDA(quantize(device.elements(), to, device.workspace.data(), nullptr));
    const auto expected = device.plain.bytes();
    device.plain.clear();
    const index_t units = detail::parts(2100, 16);
    const device_array<bfloat> amax(static_cast<std::size_t>(1000 * units));
    const matrix_ref<bfloat> known{amax.data(), 1000, units, units};
    using unit = per_tile<1, 16>;
    GESSO_CUDA(observe<unit>(device.elements(), known, nullptr));
    GESSO_CUDA(fit(known, to.plain, device.workspace.data(), nullptr));
    GESSO_CUDA(encode(device.elements(), to, nullptr));
    CHECK(device.plain.bytes() == expected);
    CHECK(device.workspace.is_intact());
    CHECK(amax.is_intact());
}

TEST_CASE("what is refused leaves no error and writes nothing")
{
    using codec_type = plain_codec<e4m3, per_tensor>;
    device_matrix<codec_type, bfloat> device(10, 12);
    device.plain.clear();
    auto to = device.outputs();
    CHECK(quantize(device.elements(), to, nullptr, nullptr) == cudaErrorInvalidValue);
    CHECK(quantize(device.elements(), quantized_matrix<codec_type>{}, device.workspace.data(), nullptr)
          == cudaErrorInvalidValue);
    CHECK(quantize(device.elements(), to, nearest_even{}, flag_nan{}, device.workspace.data(), nullptr)
          == cudaErrorInvalidValue);
    matrix_ref<const bfloat> other = device.elements();
    other.columns = 11;
    CHECK(encode(other, to, nullptr) == cudaErrorInvalidValue);
    other = device.elements();
    other.data = nullptr;
    CHECK(encode(other, to, nullptr) == cudaErrorInvalidValue);
    CHECK(dequantize(to.plain, matrix_ref<bfloat>{nullptr, 10, 12, 12}, nullptr) == cudaErrorInvalidValue);
    CHECK(fit(matrix_ref<const float>{}, to.plain, nullptr, nullptr) == cudaErrorInvalidValue);
    to.transposed.columns = 9;
    CHECK(transpose(to.plain, to.transposed, nullptr) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
    support::synchronize();
    const auto bytes = device.plain.bytes();
    CHECK(std::count(bytes.begin(), bytes.end(), 0) == static_cast<std::ptrdiff_t>(bytes.size()));
}
