// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Benchmarks of quantizers on one matrix (rows, columns): each operation reads or writes values, codes and scales once, unless
// it says otherwise.
#pragma once

#include "../support/event_timer.hpp"
#include "../support/names.hpp"
#include "../support/random.cuh"

#include <gesso/operator/quantize.cuh>

#include <cuda_bf16.h>

#include <string>
#include <vector>

namespace bench {

struct matrix_shape {
    index_t rows;
    index_t columns;
    index_t elements() const { return rows * columns; }
    std::string name() const { return "/rows:" + std::to_string(rows) + "/columns:" + std::to_string(columns); }
};
// The shapes of Llama-2-7B's layers at 8192 tokens, and twice the tokens.
inline std::vector<matrix_shape> matrix_shapes()
{
    if (is_small()) return {{1000, 520}};
    return {{8192, 4096}, {8192, 11008}, {16384, 4096}};
}

template<class Codec>
constexpr const char* scale_name()
{
    using format = typename Codec::scale_format;
    if (gesso::standard::is_same_v<format, gesso::e8m0>) return "e8m0";
    return gesso::standard::is_same_v<format, gesso::bfloat16> ? "bf16" : "fp32";
}
template<class Granularity>
std::string tile_name()
{
    const auto part = [](index_t size) { return size == 0 ? std::string("all") : std::to_string(size); };
    return part(Granularity::tile_rows) + "x" + part(Granularity::tile_columns);
}

// A matrix of random values and both its compressed forms.
template<class Codec, class T>
struct quantizer_memory {
    matrix_shape shape;
    gesso::matrix_layout<Codec> plain_layout{shape.rows, shape.columns};
    gesso::matrix_layout<gesso::transposed_codec<Codec>> transposed_layout{shape.columns, shape.rows};
    device_memory values{shape.elements() * index_t{sizeof(T)}};
    device_memory plain{plain_layout.bytes()};
    device_memory transposed{transposed_layout.bytes()};
    device_memory workspace{gesso::matrix_workspace_bytes};

    explicit quantizer_memory(matrix_shape of)
        : shape(of)
    {
        fill_normal(values.data<T>(), shape.elements(), 1.0f, 1);
        // Where an operation writes one output alone, the other still holds scales that are numbers.
        check(gesso::quantize(elements(), both(), workspace.data(), event_timer::instance().stream()), "quantize");
    }
    gesso::matrix_ref<T> elements() const { return {values.data<T>(), shape.rows, shape.columns, shape.columns}; }
    gesso::quantized_matrix<Codec> both() const
    {
        return {plain_layout.bind(plain.data()), transposed_layout.bind(transposed.data())};
    }
    gesso::quantized_matrix<Codec> plain_alone() const { return {plain_layout.bind(plain.data()), {}}; }
    gesso::quantized_matrix<Codec> transposed_alone() const { return {{}, transposed_layout.bind(transposed.data())}; }

    index_t value_bytes() const { return shape.elements() * index_t{sizeof(T)}; }
    // Codes and scales of one output.
    index_t code_bytes() const
    {
        return shape.elements()
               + (Codec::has_scale ? plain_layout.tiles() * index_t{sizeof(typename Codec::scale_code_type)} : 0);
    }
};

enum class output { plain, both, transposed };
constexpr const char* name_of(output wanted)
{
    return wanted == output::plain ? "plain" : wanted == output::both ? "both" : "transposed";
}
template<class Codec, class T>
gesso::quantized_matrix<Codec> outputs(const quantizer_memory<Codec, T>& memory, output wanted)
{
    if (wanted == output::plain) return memory.plain_alone();
    return wanted == output::both ? memory.both() : memory.transposed_alone();
}

// Adds <operation>/tile:.../scale:.../format:.../values:.../output:.../rows:.../columns:...<suffix> for a shape. bytes: of
// values times `reads`, and of each output. act(memory, to, stream) puts the work on the stream.
template<class Codec, class T, class Act>
void add_quantizer(const std::string& operation, matrix_shape shape, output wanted, int reads, const Act& act,
    const std::string& suffix = "")
{
    add(operation + "/tile:" + tile_name<typename Codec::granularity>() + "/scale:" + scale_name<Codec>()
            + "/format:" + format_name<typename Codec::format>()
            + "/values:" + type_name<T> + "/output:" + name_of(wanted) + shape.name() + suffix,
        [=](benchmark::State& state) {
            event_timer& timer = event_timer::instance();
            const gesso::matrix_layout<Codec> layout{shape.rows, shape.columns};
            const index_t scale_bytes =
                Codec::has_scale ? layout.tiles() * index_t{sizeof(typename Codec::scale_code_type)} : 0;
            const index_t bytes = reads * shape.elements() * index_t{sizeof(T)}
                                  + (wanted == output::both ? 2 : 1) * (shape.elements() + scale_bytes);
            const double copy_seconds = timer.copy_seconds(bytes);
            const quantizer_memory<Codec, T> memory(shape);
            const gesso::quantized_matrix<Codec> to = outputs(memory, wanted);
            report(state, shape.elements(), bytes, copy_seconds, [&] { act(memory, to, timer.stream()); });
            check(gesso::dequantize(memory.both().plain, memory.elements(), timer.stream()), "dequantize");
            require_finite(memory.elements().data, shape.elements());
        });
}

template<class Granularity, class ScaleFormat = gesso::float32, class Format = gesso::e4m3>
using matrix_codec = gesso::codec<Format, gesso::identity, Granularity, ScaleFormat>;

}  // namespace bench
