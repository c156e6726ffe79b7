// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A user's operator on the device: from codes with a scale each 1 x 16 to codes with one scale, plain and transposed. Exits
// with 1 if a byte is not the host level's, with 77 without a GPU.
#include "relu_squared.hpp"

#include <gesso/operator/pointwise.cuh>
#include <gesso/operator/quantize.hpp>

#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>

namespace studio {

using saved = gesso::elementwise_codec;
using product = gesso::product_codec;

// Device memory that holds a copy of bytes, freed at the end.
class device_bytes {
public:
    explicit device_bytes(const std::vector<unsigned char>& from)
    {
        if (cudaMalloc(&data_, from.size()) != cudaSuccess) return;
        good_ = cudaMemcpy(data_, from.data(), from.size(), cudaMemcpyHostToDevice) == cudaSuccess;
    }
    ~device_bytes() { cudaFree(data_); }
    device_bytes(const device_bytes&) = delete;
    device_bytes& operator=(const device_bytes&) = delete;

    void* data() const { return data_; }
    bool good() const { return good_; }
    bool holds(const std::vector<unsigned char>& wanted) const
    {
        std::vector<unsigned char> found(wanted.size());
        const cudaError_t error = cudaMemcpy(found.data(), data_, found.size(), cudaMemcpyDeviceToHost);
        return error == cudaSuccess && found == wanted;
    }

private:
    void* data_ = nullptr;
    bool good_ = false;
};

bool same_on_both_sides()
{
    constexpr gesso::index_t rows = 37;
    constexpr gesso::index_t columns = 101;
    std::vector<float> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 211) * 0.1f - 8.0f;

    const gesso::matrix_layout<saved> x_layout{rows, columns};
    const gesso::matrix_layout<product> y_layout{rows, columns};
    const gesso::matrix_layout<product> turned_layout{columns, rows};
    std::vector<unsigned char> x(static_cast<std::size_t>(x_layout.bytes()));
    std::vector<unsigned char> y(static_cast<std::size_t>(y_layout.bytes()));
    std::vector<unsigned char> turned(static_cast<std::size_t>(turned_layout.bytes()));
    const gesso::matrix_ref<const float> elements{values.data(), rows, columns, columns};
    const gesso::quantized_matrix<saved> codes{x_layout.bind(x.data()), {}};
    if (gesso::host_quantize(elements, codes) != gesso::status::success) return false;

    const device_bytes x_there(x);
    const device_bytes y_there(y);
    const device_bytes turned_there(turned);
    const device_bytes workspace(std::vector<unsigned char>(gesso::pointwise_workspace_bytes<relu_squared>));
    if (!x_there.good() || !y_there.good() || !turned_there.good() || !workspace.good()) return false;

    const gesso::quantized_matrix<product> to{y_layout.bind(y.data()), turned_layout.bind(turned.data())};
    const gesso::quantized_matrix<product> to_there{
        y_layout.bind(y_there.data()), turned_layout.bind(turned_there.data())};
    const gesso::status on_host =
        gesso::host_pointwise<relu_squared>(gesso::sources_of(codes.plain), gesso::sinks_of(to));
    const cudaError_t there = gesso::pointwise<relu_squared>(
        gesso::sources_of(x_layout.bind(x_there.data())), gesso::sinks_of(to_there), workspace.data(), nullptr);
    return on_host == gesso::status::success && there == cudaSuccess && y_there.holds(y) && turned_there.holds(turned);
}

}  // namespace studio

int main()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU: the operator was built and not run\n");
        return 77;
    }
    const bool good = studio::same_on_both_sides();
    std::printf("%s: the operator writes the host level's bytes, plain and transposed\n", good ? "ok" : "WRONG");
    return good ? 0 : 1;
}
