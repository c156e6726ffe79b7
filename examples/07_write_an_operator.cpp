// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// An operator of one's own: squared ReLU, forward and backward, fused with decoding its input and with encoding its output,
// plain and transposed. One struct of arithmetic; the same struct runs on a device (operator/pointwise.cuh). Then RMSNorm
// in front of it, from and to 8 bits.
#include <gesso/operator/norm.hpp>
#include <gesso/operator/pointwise.hpp>
#include <gesso/operator/quantize.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace gesso;

namespace {

// [operator]
struct relu_squared {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static constexpr float rises_from = 0.0f;  // if it rises: one scale for all costs no second computation
    static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1])
    {
        const float positive = in[0] < 0.0f ? 0.0f : in[0];  // NaN stays NaN
        out[0] = positive * positive;
    }
};
struct relu_squared_backward {  // x, dy -> dx
    static constexpr int inputs = 2;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[2], float (&out)[1])
    {
        const float positive = in[0] < 0.0f ? 0.0f : in[0];
        out[0] = 2.0f * positive * in[1];
    }
};
// [operator]

constexpr index_t tokens = 40;
constexpr index_t features = 96;

// Memory for one compressed matrix.
template<class Codec>
struct buffer {
    matrix_layout<Codec> layout;
    std::vector<uint64_t> memory;

    buffer(index_t rows, index_t columns)
        : layout{rows, columns, scale_order::row_major}
        , memory(static_cast<std::size_t>(layout.bytes()) / 8 + 2)
    {}
    compressed_matrix<Codec> view()
    {
        // bind() wants 16 bytes of alignment.
        void* base = memory.data();
        if (reinterpret_cast<std::uintptr_t>(base) % 16 != 0) base = memory.data() + 1;
        return layout.bind(base);
    }
};

}  // namespace

int main()
{
    std::vector<float> numbers(tokens * features);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(0.37f * static_cast<float>(i)) * 3;
    const matrix_ref<float> x{numbers.data(), tokens, features, features};
    const std::vector<float> weight(features, 1.0f);
    std::vector<float> rstd(tokens);

    buffer<elementwise_codec> normed(tokens, features);
    buffer<product_codec> y(tokens, features);
    buffer<product_codec> y_transposed(features, tokens);
    std::vector<bf16> dx(tokens * features);

    // [run]
    // RMSNorm to 1x16 codes; their squared ReLU to codes with one scale, plain and transposed: each one call.
    const quantized_matrix<product_codec> both{y.view(), y_transposed.view()};
    status done = host_rms_norm(x, weight.data(), 1e-5f, normed.view(), rstd.data());
    if (done == status::success) done = host_pointwise<relu_squared>(sources_of(normed.view()), sinks_of(both));

    // Backward: from the codes that were kept and a gradient, to bf16.
    const matrix_ref<bf16> to{dx.data(), tokens, features, features};
    if (done == status::success) {
        done = host_pointwise<relu_squared_backward>(sources_of(normed.view(), x), sinks_of(to));
    }
    // [run]
    if (done != status::success) {
        std::printf("%s\n", describe(done));
        return 1;
    }

    // The codes are those of quantizing the fp32 result, byte for byte.
    std::vector<float> result(tokens * features);
    const matrix_ref<float> unfused{result.data(), tokens, features, features};
    buffer<product_codec> expected(tokens, features);
    done = host_pointwise<relu_squared>(sources_of(normed.view()), sinks_of(unfused));
    if (done == status::success) done = host_quantize(unfused, quantized_matrix<product_codec>{expected.view(), {}});
    bool same = done == status::success && y.view().scales[0] == expected.view().scales[0];
    if (same) same = host_dequantize(normed.view(), unfused) == status::success;
    double largest_error = 0;
    for (index_t row = 0; row < tokens; ++row) {
        for (index_t column = 0; column < features; ++column) {
            const index_t place = row * features + column;
            same = same && y.view().codes[place] == expected.view().codes[place];
            same = same && y.view().codes[place] == y_transposed.view().codes[column * tokens + row];
            // dx against the derivative at the number that was kept.
            const float kept = result[static_cast<std::size_t>(place)];
            const float exact = kept > 0 ? 2 * kept * numbers[static_cast<std::size_t>(place)] : 0;
            const float error = std::fabs(element<bf16>::load(dx[static_cast<std::size_t>(place)]) - exact);
            largest_error = std::fmax(largest_error, static_cast<double>(error));
        }
    }
    std::printf("codes of the fused operator %s those of quantizing its fp32 result; transposed codes are the codes "
                "transposed\n",
        same ? "are" : "ARE NOT");
    std::printf("dx differs by %.2g at most from the derivative: bf16 rounds to 2^-9 of a number\n", largest_error);
    return same && largest_error < 0.05 ? 0 : 1;
}
