// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Benchmarks of operators on one matrix (rows, columns): each source is read once, or twice where an output has one exact
// scale for all, and each output is written once, scales included.
#pragma once

#include "quantize_case.cuh"

#include <gesso/operator/pointwise.cuh>

#include <memory>
#include <tuple>

namespace bench {

using saved_codec = gesso::elementwise_codec;
using bf16_source = gesso::matrix_ref<const __nv_bfloat16>;
using bf16_sink = gesso::matrix_ref<__nv_bfloat16>;
using saved_source = gesso::compressed_matrix<const saved_codec>;
using saved_sink = gesso::compressed_matrix<saved_codec>;

// What a name calls an operand: bf16, g16 (codes with a scale each 1 x 16), tensor (codes with one scale).
template<class View>
struct operand_name;
template<class T>
struct operand_name<gesso::matrix_ref<T>> {
    static std::string name() { return type_name<gesso::standard::remove_const_t<T>>; }
};
template<class Codec>
struct operand_name<gesso::compressed_matrix<Codec>> {
    static std::string name()
    {
        constexpr index_t width = Codec::granularity::tile_columns;
        return width == 0 ? std::string("tensor") : "g" + std::to_string(width);
    }
};
template<class Codec>
struct operand_name<gesso::quantized_matrix<Codec>> : operand_name<gesso::compressed_matrix<Codec>> {};

template<class Codec>
index_t code_and_scale_bytes(matrix_shape shape)
{
    const gesso::matrix_layout<Codec> layout{shape.rows, shape.columns};
    return shape.elements() + layout.tiles() * index_t{sizeof(typename Codec::scale_code_type)};
}

// An operand in device memory. bytes: what one pass over it moves. A transposed output is there where `wanted` is both.
template<class View>
class device_operand;
template<class T>
class device_operand<gesso::matrix_ref<T>> {
public:
    static index_t bytes(matrix_shape shape, output) { return shape.elements() * index_t{sizeof(T)}; }
    device_operand(matrix_shape shape, output wanted, unsigned seed)
        : shape_(shape)
        , memory_(bytes(shape, wanted))
    {
        fill_normal(memory_.data<gesso::standard::remove_const_t<T>>(), shape.elements(), 1.0f, seed);
    }
    gesso::matrix_ref<T> view() const { return {memory_.data<T>(), shape_.rows, shape_.columns, shape_.columns}; }
    void require_numbers() const { require_finite(view().data, shape_.elements()); }

private:
    matrix_shape shape_;
    device_memory memory_;
};
template<class Codec>
class device_operand<gesso::compressed_matrix<Codec>> {
public:
    using codec_type = gesso::standard::remove_const_t<Codec>;
    static index_t bytes(matrix_shape shape, output) { return code_and_scale_bytes<codec_type>(shape); }
    device_operand(matrix_shape shape, output, unsigned seed)
        : layout_{shape.rows, shape.columns}
        , memory_(layout_.bytes())
    {
        const device_operand<bf16_sink> values(shape, output::plain, seed);
        const device_memory workspace(gesso::matrix_workspace_bytes);
        const cudaStream_t stream = event_timer::instance().stream();
        check(gesso::quantize(values.view(), gesso::quantized_matrix<codec_type>{layout_.bind(memory_.data()), {}},
                  workspace.data(), stream),
            "quantize");
        check(cudaStreamSynchronize(stream), "quantize");
    }
    gesso::compressed_matrix<Codec> view() const { return layout_.bind(memory_.data()); }
    void require_numbers() const
    {
        const device_operand<bf16_sink> values({layout_.rows, layout_.columns}, output::plain, 1);
        const gesso::compressed_matrix<const codec_type> codes = view();
        check(gesso::dequantize(codes, values.view(), event_timer::instance().stream()), "dequantize");
        values.require_numbers();
    }

private:
    gesso::matrix_layout<codec_type> layout_;
    device_memory memory_;
};
template<class Codec>
class device_operand<gesso::quantized_matrix<Codec>> {
public:
    using turned_codec = gesso::transposed_codec<Codec>;
    static index_t bytes(matrix_shape shape, output wanted)
    {
        return (wanted == output::both ? 2 : 1) * code_and_scale_bytes<Codec>(shape);
    }
    device_operand(matrix_shape shape, output wanted, unsigned seed)
        : wanted_(wanted)
        , plain_(shape, wanted, seed)
        , transposed_layout_{shape.columns, shape.rows}
        , transposed_(wanted == output::both ? transposed_layout_.bytes() : 0)
    {}
    gesso::quantized_matrix<Codec> view() const
    {
        if (wanted_ == output::plain) return {plain_.view(), {}};
        return {plain_.view(), transposed_layout_.bind(transposed_.data())};
    }
    void require_numbers() const { plain_.require_numbers(); }

private:
    output wanted_;
    device_operand<gesso::compressed_matrix<Codec>> plain_;
    gesso::matrix_layout<turned_codec> transposed_layout_;
    device_memory transposed_;
};

// The operands of an operator, and how its benchmark is named and counted.
template<class Sources, class Sinks>
struct operator_memory;
template<class... Sources, class... Sinks>
struct operator_memory<std::tuple<Sources...>, std::tuple<Sinks...>> {
    static constexpr int reads = (gesso::detail::sink_traits<Sinks>::is_tensor || ...) ? 2 : 1;
    std::tuple<std::unique_ptr<device_operand<Sources>>...> sources;
    std::tuple<std::unique_ptr<device_operand<Sinks>>...> sinks;

    operator_memory(matrix_shape shape, output wanted)
        : sources(std::make_unique<device_operand<Sources>>(shape, wanted, 1)...)
        , sinks(std::make_unique<device_operand<Sinks>>(shape, wanted, 2)...)
    {}
    static index_t bytes(matrix_shape shape, output wanted)
    {
        return reads * (device_operand<Sources>::bytes(shape, wanted) + ... + 0)
               + (device_operand<Sinks>::bytes(shape, wanted) + ... + 0);
    }
    auto from() const
    {
        return std::apply([](const auto&... each) { return gesso::sources_of(each->view()...); }, sources);
    }
    auto to() const
    {
        return std::apply([](const auto&... each) { return gesso::sinks_of(each->view()...); }, sinks);
    }
    void require_numbers() const
    {
        std::apply([](const auto&... each) { (each->require_numbers(), ...); }, sinks);
    }
    // in:<sources>/out:<sinks>/output:<plain or both>
    static std::string name(output wanted)
    {
        std::string in;
        std::string out;
        ((in += (in.empty() ? "" : "+") + operand_name<Sources>::name()), ...);
        ((out += (out.empty() ? "" : "+") + operand_name<Sinks>::name()), ...);
        return "/in:" + in + "/out:" + out + "/output:" + name_of(wanted);
    }
};

// Adds <operation>/in:.../out:.../output:.../rows:.../columns:... for a shape. prepare(shape, memory) makes what the operator needs
// beside its operands, act(prepared, memory, stream) puts the work on the stream; more_bytes(shape): what it moves beside them.
template<class Sources, class Sinks, class Prepare, class Act, class Bytes>
void add_operator(const std::string& operation, matrix_shape shape, output wanted, const Prepare& prepare,
    const Act& act, const Bytes& more_bytes)
{
    using memory_type = operator_memory<Sources, Sinks>;
    add(operation + memory_type::name(wanted) + shape.name(), [=](benchmark::State& state) {
        event_timer& timer = event_timer::instance();
        const index_t bytes = memory_type::bytes(shape, wanted) + more_bytes(shape);
        const double copy_seconds = timer.copy_seconds(bytes);
        const memory_type memory(shape, wanted);
        const auto prepared = prepare(shape, memory);
        report(state, shape.elements(), bytes, copy_seconds, [&] { act(*prepared, memory, timer.stream()); });
        memory.require_numbers();
    });
}

}  // namespace bench
