// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A user's program with a format, an exponent rule, a granularity and an operator of its own, in its own namespace:
// compresses a tensor on the host, trains with AdamW whose moments are kept in those formats, and runs the operator. Exits
// with 1 if a figure is off.
#include "relu_squared.hpp"

#include <gesso/level/host.hpp>
#include <gesso/operator/quantize.hpp>
#include <gesso/optimizer/adamw.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace studio {

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
struct unsigned_e4m4 : gesso::float_format<0, 4, 4, gesso::special::finite_nan> {};

// Bends a group to the format's whole range, with k between 1 and 4.
struct gentle_rule : gesso::full_range_bound {
    static constexpr int min_sixteenths = 16;
    static constexpr int max_sixteenths = 64;
};

// Groups of 48: no power of two, and no divisor of the tensor's size.
struct per_brush {
    static constexpr gesso::index_t group_size = 48;
};

using first_codec = gesso::codec<e3m4, gesso::dynamic_power<gentle_rule>, per_brush>;
using second_codec = gesso::codec<unsigned_e4m4, gesso::dynamic_power<gentle_rule>, per_brush>;

void require(bool holds, const char* what)
{
    std::printf("%s: %s\n", holds ? "ok" : "WRONG", what);
    if (!holds) {
        std::exit(EXIT_FAILURE);
    }
}

// Every code decodes to itself in a group of exponent 1 and scale 1: the format is known by its three numbers alone.
void formats_are_exact()
{
    require(e3m4::bits == 8 && (e3m4::max)() == 30.0f, "e3m4 has 8 bits and 30 as its largest number");
    require(unsigned_e4m4::bits == 8 && (unsigned_e4m4::max)() == 480.0f, "unsigned e4m4 goes to 480");
    bool all_return = true;
    for (int code = 0; code < 0x7F; ++code) {
        const auto narrow = static_cast<e3m4::code_type>(code);
        all_return = all_return && gesso::encode<e3m4>(gesso::decode<e3m4>(narrow)) == narrow;
    }
    require(all_return, "each code of e3m4 survives decoding and encoding");
}

// Normal numbers over three decades, compressed and decoded.
void decode_error_is_bounded()
{
    constexpr gesso::index_t count = 1000;
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0.0f, 1e-3f);
    std::vector<float> values(count);
    std::generate(values.begin(), values.end(), [&] { return normal(engine); });

    const gesso::storage_layout<first_codec> layout{count, 0};
    require(layout.groups() == 21, "1000 elements are 20 groups of 48 and one of 40");
    require(layout.bytes() < 4 * count / 3, "the codec takes less than a third of fp32");
    std::vector<unsigned char> memory(static_cast<std::size_t>(layout.bytes()) + 16);
    void* aligned = memory.data();
    std::size_t space = memory.size();
    std::align(16, static_cast<std::size_t>(layout.bytes()), aligned, space);
    const gesso::compressed_ref<first_codec> compressed = layout.bind(aligned);

    using host = gesso::host_codec<first_codec>;
    std::vector<float> decoded(count);
    require(host::compress(values.data(), compressed) == gesso::status::success, "compress answers success");
    require(host::decode(compressed, decoded.data()) == gesso::status::success, "decode answers success");

    double error = 0, energy = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double difference = static_cast<double>(values[i]) - static_cast<double>(decoded[i]);
        error += difference * difference;
        energy += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    // A code of 4 mantissa bits is off by at most 2^-5 of its value, and k >= 1 makes that less once decoded.
    const double relative = std::sqrt(error / energy);
    std::printf("relative error of a moment: %.4f\n", relative);
    require(relative > 1e-4 && relative < 1.0 / 32, "the error is that of 4 mantissa bits");
}

// Minimises sum (p - target)^2 / 2 from p = 0.
void adamw_moves_parameters_to_the_minimum()
{
    constexpr gesso::index_t count = 100;
    std::vector<float> parameters(count), gradients(count), targets(count);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        targets[i] = static_cast<float>(i % 7) - 3.0f;
    }
    alignas(16) unsigned char first_memory[256] = {};
    alignas(16) unsigned char second_memory[256] = {};
    const gesso::storage_layout<first_codec> first_layout{count, 0};
    const gesso::storage_layout<second_codec> second_layout{count, 0};
    require(first_layout.bytes() <= 256 && second_layout.bytes() <= 256, "the moments fit their memory");

    gesso::adamw_tensor<float, float, first_codec, second_codec> tensor;
    tensor.parameters = parameters.data();
    tensor.gradients = gradients.data();
    tensor.first_moment = first_layout.bind(first_memory);
    tensor.second_moment = second_layout.bind(second_memory);

    gesso::adamw_configuration configuration;
    configuration.learning_rate = 0.02;
    configuration.weight_decay = 0;
    gesso::step_state state;
    state.seed = 7;
    bool all_succeeded = true;
    for (int step = 0; step < 600; ++step) {
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            gradients[i] = parameters[i] - targets[i];
        }
        gesso::advance(state, configuration);
        all_succeeded = all_succeeded && gesso::host_adamw_step(tensor, configuration, state) == gesso::status::success;
    }
    require(all_succeeded && state.step == 600, "each of 600 steps answers success");

    float farthest = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        farthest = std::fmax(farthest, std::fabs(parameters[i] - targets[i]));
    }
    std::printf("farthest parameter from its target: %.4f\n", static_cast<double>(farthest));
    require(farthest < 0.1f, "every parameter reaches its target");
}

// The user's operator on bf16 numbers, to bf16 and to codes with a scale of each row.
void operator_writes_what_it_should()
{
    constexpr gesso::index_t rows = 2, columns = 3;
    const float numbers[rows * columns] = {-1.0f, 2.0f, 0.5f, 4.0f, -0.0f, 3.0f};
    gesso::bf16 x[rows * columns], y[rows * columns];
    for (int i = 0; i < rows * columns; ++i) x[i] = gesso::element<gesso::bf16>::store(numbers[i]);
    const gesso::matrix_ref<const gesso::bf16> from{x, rows, columns, columns};
    const gesso::matrix_ref<gesso::bf16> to{y, rows, columns, columns};
    const auto done = gesso::host_pointwise<relu_squared>(gesso::sources_of(from), gesso::sinks_of(to));
    bool is_right = done == gesso::status::success;
    for (int i = 0; i < rows * columns; ++i) {
        const float positive = numbers[i] > 0.0f ? numbers[i] : 0.0f;
        is_right = is_right && gesso::element<gesso::bf16>::load(y[i]) == positive * positive;
    }
    require(is_right, "the user's operator writes its squares");

    using row_codec = gesso::codec<e3m4, gesso::identity, gesso::per_row>;
    const gesso::matrix_layout<row_codec> layout{rows, columns};
    alignas(16) unsigned char memory[64] = {};
    require(layout.bytes() <= 64, "the codes fit their memory");
    const gesso::compressed_matrix<row_codec> codes = layout.bind(memory);
    require(gesso::host_pointwise<relu_squared>(gesso::sources_of(from), gesso::sinks_of(codes)) == gesso::status::success,
        "the operator writes codes of the user's own format");
    float decoded[rows * columns];
    const gesso::matrix_ref<float> back{decoded, rows, columns, columns};
    require(gesso::host_dequantize(codes, back) == gesso::status::success && decoded[1] == 4.0f && decoded[3] == 16.0f,
        "the largest square of each row is its largest code");
}

}  // namespace studio

int main()
{
    studio::formats_are_exact();
    studio::decode_error_is_bounded();
    studio::adamw_moves_parameters_to_the_minimum();
    studio::operator_writes_what_it_should();
}
