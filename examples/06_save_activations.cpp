// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Walk, step 6: the activations that a small MLP, y = silu(x W1^T) W2^T, saves for backward, in 8 bits: in tiles of 1 x 16
// where the consumer is not linear, per tensor and transposed where it is a matrix product. Prints the bytes of each against
// bf16 and what the restored tensors do to the weight gradients.
// Build: any C++17 compiler, no CUDA needed.
#include <gesso/operator/quantize.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace gesso;

// A dense matrix (rows, columns) of bf16, as a trainer without compression would keep it.
struct dense {
    index_t rows;
    index_t columns;
    std::vector<bf16> elements;

    dense(index_t row_count, index_t column_count)
        : rows(row_count)
        , columns(column_count)
        , elements(static_cast<std::size_t>(row_count * column_count))
    {}
    matrix_ref<bf16> view() { return {elements.data(), rows, columns, columns}; }
    matrix_ref<const bf16> view() const { return {elements.data(), rows, columns, columns}; }
    std::size_t place(index_t row, index_t column) const { return static_cast<std::size_t>(row * columns + column); }
    float get(index_t row, index_t column) const { return element<bf16>::load(elements[place(row, column)]); }
    void set(index_t row, index_t column, float value) { elements[place(row, column)] = element<bf16>::store(value); }
    index_t bytes() const { return rows * columns * 2; }
};

dense random_matrix(index_t rows, index_t columns, float size, std::uint32_t seed)
{
    dense result(rows, columns);
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            // The sum of four uniform numbers: near enough to normal for an example.
            float sum = -2;
            for (int i = 0; i < 4; ++i) {
                seed = seed * 1664525u + 1013904223u;
                sum += static_cast<float>(seed >> 8) * 0x1p-24f;
            }
            result.set(row, column, size * sum);
        }
    }
    return result;
}

// a (m, n) b^T with b (k, n).
dense product(const dense& a, const dense& b)
{
    dense result(a.rows, b.rows);
    for (index_t row = 0; row < a.rows; ++row) {
        for (index_t column = 0; column < b.rows; ++column) {
            float sum = 0;
            for (index_t i = 0; i < a.columns; ++i) sum += a.get(row, i) * b.get(column, i);
            result.set(row, column, sum);
        }
    }
    return result;
}

dense transpose_of(const dense& a)
{
    dense result(a.columns, a.rows);
    for (index_t row = 0; row < a.rows; ++row) {
        for (index_t column = 0; column < a.columns; ++column) result.set(column, row, a.get(row, column));
    }
    return result;
}

template<class Function>
dense map(const dense& a, const dense& b, Function function)
{
    dense result(a.rows, a.columns);
    for (index_t row = 0; row < a.rows; ++row) {
        for (index_t column = 0; column < a.columns; ++column) {
            result.set(row, column, function(a.get(row, column), b.get(row, column)));
        }
    }
    return result;
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float silu(float x, float) { return x * sigmoid(x); }
float silu_gradient(float x, float dy) { return dy * sigmoid(x) * (1 + x * (1 - sigmoid(x))); }

// |a - b| / |b|, of the whole matrices.
double error_of(const dense& a, const dense& b)
{
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
        const double wanted = static_cast<double>(element<bf16>::load(b.elements[i]));
        const double found = static_cast<double>(element<bf16>::load(a.elements[i]));
        difference += (found - wanted) * (found - wanted);
        size += wanted * wanted;
    }
    return std::sqrt(difference / size);
}

// One saved tensor: user memory and the view of it.
template<class Codec>
struct saved {
    matrix_layout<Codec> layout;
    std::vector<unsigned char> memory;

    saved(index_t rows, index_t columns)
        : layout{rows, columns}
        , memory(static_cast<std::size_t>(layout.bytes()))
    {}
    compressed_matrix<Codec> view() { return layout.bind(memory.data()); }
};

template<class Codec>
double report(const char* name, saved<Codec>& kept, const dense& restored, const dense& original)
{
    const double error = error_of(restored, original);
    std::printf("%-22s %8lld %8lld   %.3f    %.2f %%\n", name, static_cast<long long>(original.bytes()),
        static_cast<long long>(kept.layout.bytes()),
        static_cast<double>(kept.layout.bytes()) / static_cast<double>(original.bytes()), 100 * error);
    return error;
}

}  // namespace

int main()
{
    constexpr index_t tokens = 200;
    constexpr index_t features = 72;
    constexpr index_t hidden = 264;
    const dense x = random_matrix(tokens, features, 1.0f, 1);
    const dense w1 = random_matrix(hidden, features, 0.2f, 2);
    const dense w2 = random_matrix(features, hidden, 0.1f, 3);
    const dense dy = random_matrix(tokens, features, 0.01f, 4);

    // [codecs]
    using elementwise = codec<e4m3, identity, per_tile<1, 16>, bfloat16>;  // for a consumer that is not linear
    using for_product = codec<e4m3, identity, per_tensor>;                 // for a matrix product
    // [codecs]
    saved<for_product> kept_x(features, tokens);  // transposed: what the weight gradient dW1 = (dh)^T x multiplies
    saved<elementwise> kept_h(tokens, hidden);
    saved<for_product> kept_a(hidden, tokens);

    // Forward. Each activation is compressed where it is made; nothing of bf16 has to live until backward.
    const dense h = product(x, w1);
    const dense a = map(h, h, silu);
    // [save]
    // The pre-activation as it is; the input transposed alone (an output with null codes is not wanted).
    status saving = host_quantize(h.view(), quantized_matrix<elementwise>{kept_h.view(), {}});
    if (saving == status::success) {
        saving = host_quantize(x.view(), quantized_matrix<for_product>{{}, kept_x.view()});
    }
    // [save]
    if (saving != status::success) return 1;

    // [two_stages]
    // The same bytes in two stages: a producer leaves the amax of its tiles behind (in bf16, since the data are), the tensor's
    // scale is the largest of them, and the data are read once more only, to be encoded.
    std::vector<bf16> amax(static_cast<std::size_t>(tokens * 17));
    const matrix_ref<bf16> tiles{amax.data(), tokens, 17, 17};  // 264 columns: 16 tiles of 16 and one of 8
    status scaling = host_observe<per_tile<1, 16>>(a.view(), tiles);
    if (scaling == status::success) scaling = host_fit(tiles, kept_a.view());
    if (scaling == status::success) {
        scaling = host_encode(a.view(), quantized_matrix<for_product>{{}, kept_a.view()});
    }
    // [two_stages]
    if (scaling != status::success) return 1;

    // Backward: restore what was kept.
    dense x_transposed(features, tokens);
    dense h_back(tokens, hidden);
    dense a_transposed(hidden, tokens);
    // [restore]
    const status restoring = host_dequantize(kept_h.view(), h_back.view());
    // [restore]
    if (restoring != status::success || host_dequantize(kept_x.view(), x_transposed.view()) != status::success
        || host_dequantize(kept_a.view(), a_transposed.view()) != status::success) {
        return 1;
    }

    std::printf("tensor                 bf16 [B] kept [B]   ratio    error\n");
    const double input_error = report("x^T, per tensor", kept_x, x_transposed, transpose_of(x));
    const double tile_error = report("h, tiles of 1 x 16", kept_h, h_back, h);
    const double product_error = report("silu(h)^T, per tensor", kept_a, a_transposed, transpose_of(a));
    const index_t kept_bytes = kept_x.layout.bytes() + kept_h.layout.bytes() + kept_a.layout.bytes();
    const index_t bf16_bytes = x.bytes() + h.bytes() + a.bytes();
    std::printf("all                    %8lld %8lld   %.3f\n", static_cast<long long>(bf16_bytes),
        static_cast<long long>(kept_bytes), static_cast<double>(kept_bytes) / static_cast<double>(bf16_bytes));

    // The weight gradients dW2 = (dy)^T a and dW1 = (dh)^T x with dh = (dy W2) silu'(h).
    const dense da = product(dy, transpose_of(w2));
    const dense dh = map(h, da, silu_gradient);
    const dense dh_back = map(h_back, da, silu_gradient);
    const double w1_error =
        error_of(product(transpose_of(dh_back), x_transposed), product(transpose_of(dh), transpose_of(x)));
    const double w2_error =
        error_of(product(transpose_of(dy), a_transposed), product(transpose_of(dy), transpose_of(a)));
    std::printf("weight gradients       W1 %.2f %%, W2 %.2f %%\n", 100 * w1_error, 100 * w2_error);

    const bool is_small = kept_bytes * 100 < bf16_bytes * 54;
    const bool is_close =
        input_error < 0.04 && tile_error < 0.04 && product_error < 0.04 && w1_error < 0.04 && w2_error < 0.04;
    return is_small && is_close ? 0 : 1;
}
