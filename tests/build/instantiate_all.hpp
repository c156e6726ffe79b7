// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Instantiates the public templates, for the builds that cmake/header_tests.cmake tries. What is never instantiated is
// never compiled, so a new public template needs a line here. Compiles as C++, as CUDA and with NVRTC; no macro names of
// poisoned_macros.hpp. Lives in a namespace of its own with types of its own, as a user's code does.
#pragma once

#include "all_headers.hpp"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace instantiate_all {

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
struct own_rule : gesso::exponent_rule<gesso::full_range_bound, 4, 64> {};
struct own_granularity {
    static constexpr gesso::index_t group_size = 24;
};

template<class Format, class Rounding, class Underflow, class Saturation>
GESSO_HOST_DEVICE float convert(float value, Rounding rounding, Underflow underflow, Saturation saturation)
{
    return gesso::decode<Format>(gesso::encode<Format>(value, rounding, underflow, saturation)) / (Format::max)();
}

GESSO_HOST_DEVICE inline gesso::stochastic_bits random_bits() { return gesso::stochastic{1, 2}.at(3); }

// Every way to encode, for one format.
template<class Format>
GESSO_HOST_DEVICE float convert_every_way(float value)
{
    float sum = convert<Format>(value, gesso::nearest_even{}, gesso::gradual{}, gesso::saturating{});
    sum += convert<Format>(value, gesso::nearest_even{}, gesso::flush{}, gesso::nonsaturating{});
    sum += convert<Format>(value, gesso::upward{}, gesso::keep{}, gesso::saturating{});
    return sum + convert<Format>(value, random_bits(), gesso::keep{}, gesso::nonsaturating{});
}

template<class T>
GESSO_HOST_DEVICE float through(float value)
{
    return gesso::element<T>::load(gesso::element<T>::store(value));
}

GESSO_HOST_DEVICE inline float all_encodings(float value)
{
    float sum = convert_every_way<gesso::e4m3>(value) + convert_every_way<gesso::e8m0>(value);
    sum += convert<gesso::e5m2>(value, gesso::nearest_even{}, gesso::flush{}, gesso::nonsaturating{});
    sum += convert<gesso::unsigned_e4m4>(value, gesso::upward{}, gesso::keep{}, gesso::saturating{});
    sum += convert<e3m4>(value, gesso::upward{}, gesso::keep{}, gesso::saturating{});
    sum += convert<e2m1>(value, random_bits(), gesso::gradual{}, gesso::nonsaturating{});
    sum += through<float>(value) + through<gesso::bf16>(value) + through<gesso::fp16>(value);
#if defined(__CUDACC__)
    sum += through<__nv_bfloat16>(value) + through<__half>(value);
#endif
    const float magnitude = gesso::square_root(gesso::multiply(sum, sum));
    return gesso::divide(magnitude, gesso::add(magnitude, 1.0f));
}

// (codec, rounding, underflow) -> every static function of the codec.
template<class Codec, class Rounding, class Underflow>
GESSO_HOST_DEVICE float group_of_one(float value, Rounding rounding, Underflow underflow)
{
    typename Codec::statistic known;
    known.observe(value);
    known.merge(typename Codec::statistic{});
    const typename Codec::parameters fitted = Codec::fit(known);
    const typename Codec::parameters loaded = Codec::load(Codec::scale_code(fitted), Codec::exponent_code(fitted));
    const float exact = Codec::decode(Codec::encode(value, fitted, rounding, underflow), loaded);
    return exact
           + Codec::decode(Codec::encode(value, fitted, rounding, underflow, gesso::hardware_math{}), loaded,
               gesso::hardware_math{});
}

using plain = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 16>, gesso::bfloat16>;
using scaled_by_powers_of_two = gesso::codec<gesso::e5m2, gesso::identity, gesso::per_group<32>, gesso::e8m0>;
using expanded = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<128>>;
using expanded_by_paper = gesso::codec<gesso::e4m3, gesso::dynamic_power<gesso::reference_rule>, gesso::per_group<128>>;
using root = gesso::codec<gesso::unsigned_e4m4, gesso::power<1, 2>, gesso::per_group<64>>;
using own = gesso::codec<e3m4, gesso::dynamic_power<own_rule>, own_granularity>;
using fp32_kept = gesso::codec<gesso::float32, gesso::identity, gesso::unscaled>;
using bf16_kept = gesso::codec<gesso::bfloat16, gesso::identity, gesso::unscaled>;

GESSO_HOST_DEVICE inline float all_codecs(float value)
{
    const gesso::nearest_even nearest;
    float sum = group_of_one<plain>(value, nearest, gesso::gradual{});
    sum += group_of_one<scaled_by_powers_of_two>(value, gesso::upward{}, gesso::keep{});
    sum += group_of_one<expanded>(value, nearest, gesso::flush{});
    sum += group_of_one<expanded>(value, random_bits(), gesso::keep{});
    sum += group_of_one<expanded_by_paper>(value, nearest, gesso::gradual{});
    sum += group_of_one<root>(value, gesso::upward{}, gesso::keep{});
    sum += group_of_one<own>(value, random_bits(), gesso::flush{});
    sum += group_of_one<fp32_kept>(value, nearest, gesso::gradual{});
    sum += group_of_one<bf16_kept>(value, random_bits(), gesso::gradual{});
    return sum + plain::decode(plain::encode(value, plain::fit(0.5f)), plain::fit(0.5f));
}

// What a user's kernel does with views of a matrix and its transpose, and with statistics of a NaN policy.
template<class Codec, class NanPolicy>
GESSO_HOST_DEVICE float tile_of_one(
    float value, gesso::scale_order order, typename Codec::scale_code_type* scales, NanPolicy nan)
{
    using transposed = gesso::transposed_codec<Codec>;
    gesso::quantized_matrix<Codec> to;
    to.plain = gesso::matrix_layout<Codec>{1, 1, order}.bind(nullptr);
    to.plain.scales = scales;
    typename Codec::statistic known;
    nan.observe(known, value);
    to.plain.store(0, 0, Codec::fit(known));
    to.transposed = gesso::matrix_layout<transposed>{1, 1, order}.bind(nullptr);
    to.transposed.scales = scales;
    const gesso::compressed_matrix<const transposed> reading = to.transposed;
    return known.is_nan() ? 0.0f : transposed::decode(1, reading.load(0, 0));
}
GESSO_HOST_DEVICE inline float matrix_views(float value)
{
    using tall = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_column>;
    using powers = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 32>, gesso::e8m0>;
    gesso::uint32_t scale = 0;
    gesso::uint8_t powers_of_two[512] = {};
    gesso::uint32_t flag = 0;
    float sum = tile_of_one<tall>(value, gesso::scale_order::row_major, &scale, gesso::propagate_nan{});
    sum += tile_of_one<tall>(value, gesso::scale_order::row_major, &scale, gesso::flag_nan{&flag});
    return sum + tile_of_one<powers>(value, gesso::scale_order::cublaslt, powers_of_two, gesso::ignore_nan{});
}

GESSO_HOST_DEVICE inline float thread_level(float value)
{
    using thread = gesso::thread_codec<expanded, 4>;
    typename thread::items values = {value, -value, 0.0f, 2.0f};
    typename thread::codes codes = {};
    const typename thread::parameters fitted =
        thread::compress(values, codes, gesso::stochastic{1, 2}, gesso::keep{}, 4, 3);
    thread::encode(values, fitted, codes);
    thread::decode(codes, fitted, values);
    return values[0];
}

GESSO_HOST_DEVICE inline float optimizer(float value)
{
    gesso::step_state state;
    const gesso::adamw_configuration configuration;
    gesso::advance(state, configuration);
    const gesso::adamw_scalars scalars = gesso::scalars_of(configuration, state);
    return gesso::adamw_update({value, 0.0f, 0.0f}, value, scalars, gesso::rates_of(scalars, 1.0f, 1.0f)).parameter;
}

// The arithmetic of operators, as a user's kernel would call it.
template<class Operator>
GESSO_HOST_DEVICE float operator_of_one(float value)
{
    float in[static_cast<unsigned>(Operator::inputs)] = {value};
    float out[static_cast<unsigned>(Operator::outputs)] = {};
    Operator::apply(in, out);
    return out[0];
}
template<class Operator>
GESSO_HOST_DEVICE float row_operator_of_one(float value)
{
    float in[static_cast<unsigned>(Operator::inputs)] = {value};
    float parameters[gesso::detail::at_least_one(Operator::parameters)] = {};
    float row[static_cast<unsigned>(Operator::row_values)] = {};
    float sums[static_cast<unsigned>(Operator::sums)] = {};
    float out[static_cast<unsigned>(Operator::outputs)] = {};
    Operator::template accumulate<0>(in, parameters, row, sums);
    Operator::template finish<0>(sums, 1, 0.5f, row);
    if constexpr (Operator::stages > 1) Operator::template accumulate<1>(in, parameters, row, sums);
    if constexpr (Operator::stages > 1) Operator::template finish<1>(sums, 1, 0.5f, row);
    Operator::apply(in, parameters, row, out);
    if constexpr (Operator::column_sums > 0) {
        float columns[static_cast<unsigned>(Operator::column_sums)] = {};
        Operator::contribute(in, parameters, row, columns);
        return out[0] + columns[0];
    }
    return out[0];
}
GESSO_HOST_DEVICE inline float all_operators(float value)
{
    constexpr gesso::gelu_kind by_tanh = gesso::gelu_kind::tanh;
    float sum = operator_of_one<gesso::silu>(value) + operator_of_one<gesso::silu_backward>(value);
    sum += operator_of_one<gesso::gelu<>>(value) + operator_of_one<gesso::gelu_backward<by_tanh>>(value);
    sum += operator_of_one<gesso::swiglu>(value) + operator_of_one<gesso::swiglu_backward>(value);
    sum += operator_of_one<gesso::geglu<by_tanh>>(value) + operator_of_one<gesso::geglu_backward<>>(value);
    sum += operator_of_one<gesso::residual_add<>>(value) + operator_of_one<gesso::residual_add<gesso::float16>>(value);
    sum += row_operator_of_one<gesso::rms_norm>(value) + row_operator_of_one<gesso::rms_norm_backward>(value);
    sum += row_operator_of_one<gesso::layer_norm<true>>(value) + row_operator_of_one<gesso::layer_norm<false>>(value);
    sum += row_operator_of_one<gesso::layer_norm_backward<true>>(value);
    return sum + row_operator_of_one<gesso::layer_norm_backward<false>>(value);
}

#if !defined(__CUDACC_RTC__)
// A verb of the host level answers a status; here they all must succeed.
inline float require(gesso::status answer) { return answer == gesso::status::success ? 0.0f : 1e30f; }

template<class Codec, class T>
float host_level_flat(float value)
{
    using host = gesso::host_codec<Codec>;
    T values[3] = {gesso::element<T>::store(value), gesso::element<T>::store(-value), gesso::element<T>::store(0.0f)};
    alignas(16) unsigned char memory[64] = {};
    const gesso::storage_layout<Codec> layout{3, 0};
    const gesso::compressed_ref<Codec> compressed = layout.bind(memory);
    float sum = layout.bytes() <= 64 ? 0.0f : 1e30f;
    sum += require(host::compress(values, compressed, gesso::stochastic{1, 2}, gesso::keep{}));
    sum += require(host::encode(values, compressed));
    sum += require(host::decode(compressed, values));
    return sum + gesso::element<T>::load(values[0]);
}

inline float host_level_matrix(float value)
{
    using host = gesso::host_codec<plain>;
    float values[6] = {value, 0.0f, 1.0f, -value, 2.0f, 3.0f};
    alignas(16) unsigned char memory[64] = {};
    const gesso::matrix_layout<plain> layout{2, 3};
    const gesso::compressed_matrix<plain> compressed = layout.bind(memory);
    const gesso::matrix_ref<float> matrix{values, 2, 3, 3};
    float sum = layout.bytes() <= 64 ? 0.0f : 1e30f;
    sum += require(host::compress(matrix, compressed, gesso::stochastic{1, 2}));
    sum += require(host::encode(matrix, compressed));
    sum += require(host::decode(compressed, matrix));
    return sum + values[0];
}

// All that the host level does with matrices, in both outputs and both orders of scales.
template<class Codec, class T, class NanPolicy>
float host_quantizer(float value, gesso::scale_order order, NanPolicy nan)
{
    using transposed = gesso::transposed_codec<Codec>;
    T values[6] = {gesso::element<T>::store(value)};
    T amax[6] = {};
    alignas(16) unsigned char memory[1024] = {};
    alignas(16) unsigned char transposed_memory[1024] = {};
    const gesso::matrix_layout<Codec> layout{2, 3, order};
    const gesso::matrix_layout<transposed> transposed_layout{3, 2, order};
    const gesso::quantized_matrix<Codec> to{layout.bind(memory), transposed_layout.bind(transposed_memory)};
    const gesso::matrix_ref<T> matrix{values, 2, 3, 3};
    const gesso::detail::tile_grid units = to.plain.tiles();
    const gesso::matrix_ref<T> known{amax, units.down(), units.across(), units.across()};
    float sum = layout.bytes() <= 1024 && transposed_layout.bytes() <= 1024 ? 0.0f : 1e30f;
    sum += require(gesso::host_quantize(matrix, to, gesso::stochastic{1, 2}, nan));
    sum += require(gesso::host_observe<typename Codec::granularity>(matrix, known, nan));
    sum += require(gesso::host_fit(known, to.plain));
    sum += require(gesso::host_encode(matrix, to));
    sum += require(gesso::host_transpose(to.plain, to.transposed));
    sum += require(gesso::host_dequantize(to.transposed, gesso::matrix_ref<T>{values, 3, 2, 2}));
    return sum + gesso::element<T>::load(values[0]);
}
inline float all_host_quantizers(float value)
{
    using microscaled = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 32>, gesso::e8m0>;
    using row_scaled = gesso::codec<gesso::e5m2, gesso::identity, gesso::per_row>;
    using tensor_scaled = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tensor>;
    gesso::uint32_t flag = 0;
    constexpr gesso::scale_order row_major = gesso::scale_order::row_major;
    float sum = host_quantizer<plain, gesso::bf16>(value, row_major, gesso::ignore_nan{});
    sum += host_quantizer<microscaled, float>(value, gesso::scale_order::cublaslt, gesso::propagate_nan{});
    sum += host_quantizer<row_scaled, gesso::fp16>(value, row_major, gesso::flag_nan{&flag});
    sum += host_quantizer<tensor_scaled, float>(value, row_major, gesso::ignore_nan{});
#if defined(__CUDACC__)
    sum += host_quantizer<plain, __nv_bfloat16>(value, row_major, gesso::ignore_nan{});
#endif
    return sum;
}

// Operators of the host level on sources and sinks of every kind.
template<class T>
float host_operators(float value)
{
    T values[6] = {gesso::element<T>::store(value)};
    T sums[6] = {};
    float numbers[6] = {};
    float columns[6] = {};
    alignas(16) unsigned char memory[3][256] = {};
    const gesso::matrix_ref<T> x{values, 2, 3, 3};
    const gesso::matrix_ref<T> y{sums, 2, 3, 3};
    const auto codes = gesso::matrix_layout<gesso::elementwise_codec>{2, 3}.bind(memory[0]);
    const gesso::quantized_matrix<gesso::product_codec> both{
        gesso::matrix_layout<gesso::product_codec>{2, 3}.bind(memory[1]),
        gesso::matrix_layout<gesso::product_codec>{3, 2}.bind(memory[2])};
    float sum =
        require(gesso::host_pointwise<gesso::residual_add<>>(gesso::sources_of(x, x), gesso::sinks_of(y, codes)));
    sum += require(gesso::host_pointwise<gesso::swiglu>(gesso::sources_of(x, codes), gesso::sinks_of(both)));
    sum += require(gesso::host_rms_norm(codes, values, 1.0f, both, numbers));
    sum += require(gesso::host_rms_norm_backward(x, values, numbers, codes, y, columns));
    sum += require(gesso::host_layer_norm(x, values, values, 1.0f, codes, numbers, columns));
    sum += require(gesso::host_layer_norm(x, 1.0f, y, numbers, numbers + 3));
    sum += require(gesso::host_layer_norm_backward(x, values, numbers, numbers + 3, x, y, columns, columns + 3));
    sum += require(gesso::host_layer_norm_backward(x, numbers, numbers + 3, x, both));
    return sum + gesso::element<T>::load(sums[0]);
}

template<class First, class Second, class Parameter>
float host_optimizer(float value)
{
    alignas(16) unsigned char first_memory[64] = {};
    alignas(16) unsigned char second_memory[64] = {};
    Parameter parameters[3] = {};
    const float gradients[3] = {value, -value, 0.0f};
    gesso::step_state state;
    const gesso::adamw_configuration configuration;
    gesso::advance(state, configuration);
    gesso::adamw_tensor<Parameter, float, First, Second> tensor;
    tensor.parameters = parameters;
    tensor.gradients = gradients;
    tensor.first_moment = gesso::storage_layout<First>{3, 0}.bind(first_memory);
    tensor.second_moment = gesso::storage_layout<Second>{3, 0}.bind(second_memory);
    return require(gesso::host_adamw_step(tensor, configuration, state))
           + gesso::element<Parameter>::load(parameters[0]);
}

inline float on_host(float value)
{
    float sum = all_encodings(value) + all_codecs(value) + matrix_views(value) + thread_level(value) + optimizer(value);
    sum += host_level_flat<expanded, float>(value) + host_level_flat<expanded, gesso::bf16>(value);
    sum += host_level_flat<own, gesso::fp16>(value) + host_level_flat<fp32_kept, float>(value);
    sum += host_level_matrix(value) + all_host_quantizers(value);
    sum += all_operators(value) + host_operators<float>(value) + host_operators<gesso::bf16>(value);
    sum += host_optimizer<expanded, root, float>(value) + host_optimizer<fp32_kept, bf16_kept, gesso::bf16>(value);
#if defined(__CUDACC__)
    sum += host_optimizer<expanded, expanded, __nv_bfloat16>(value) + host_level_flat<expanded, __half>(value);
#endif
    return sum;
}
#endif

#if defined(__CUDACC__)
#if defined(__CUDACC_RTC__)
__device__ inline float warp_level(float value) { return value; }
#else
template<class Codec, int ItemsPerThread, class Math>
__device__ float one_warp(float value)
{
    using warp = gesso::warp_codec<Codec, ItemsPerThread, Math>;
    float values[static_cast<unsigned>(ItemsPerThread)] = {value};
    typename warp::writer with;
    const typename warp::codes codes = warp::compress(values, with, gesso::nearest_even{}, gesso::flush{});
    warp::decode(codes, warp::load(warp::scale_code(with), warp::exponent_code(with)), values);
    return values[0];
}
__device__ inline float warp_level(float value)
{
    return one_warp<expanded, 4, gesso::exact_math>(value) + one_warp<expanded, 8, gesso::hardware_math>(value)
           + one_warp<root, 4, gesso::hardware_math>(value) + one_warp<own, 4, gesso::hardware_math>(value);
}

template<class Codec, int BlockThreads, int ItemsPerThread, class Math>
__device__ float one_block(float value)
{
    using block = gesso::block_codec<Codec, BlockThreads, ItemsPerThread, Math>;
    __shared__ typename block::TempStorage storage;
    block level(storage);
    float values[static_cast<unsigned>(ItemsPerThread)] = {value};
    typename block::writer with = block::fit(level.observe(values, 1));
    typename block::codes codes = block::encode(values, with, gesso::nearest_even{}, gesso::flush{});
    __syncthreads();
    codes = level.compress(values, with, gesso::stochastic{1, 2}, gesso::keep{}, 4, 1);
    block::decode(codes, block::load(block::scale_code(with), block::exponent_code(with)), values);
    return values[0];
}
using expanded_widely = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<1024>>;
using scaled_widely = gesso::codec<gesso::e5m2, gesso::identity, gesso::per_group<1024>>;
template<int>
__global__ void instantiate_blocks(float* values)
{
    const float value = values[threadIdx.x];
    values[threadIdx.x] = one_block<expanded_widely, 128, 8, gesso::hardware_math>(value)
                          + one_block<scaled_widely, 256, 4, gesso::exact_math>(value)
                          + one_block<expanded, 64, 8, gesso::hardware_math>(value);
}
template __global__ void instantiate_blocks<0>(float*);

// Compiled, never called: that takes a GPU.
template<class Codec, class Math, class T>
bool device_level(const T* values, T* back, float* statistics, cudaStream_t stream)
{
    using device = gesso::device_codec<Codec, Math>;
    const gesso::compressed_ref<Codec> compressed;
    const gesso::compressed_ref<const Codec> reader = compressed;
    bool good = device::compress(values, compressed, stream) == cudaSuccess;
    good = good && device::compress(values, compressed, gesso::stochastic{1, 2}, gesso::keep{}, stream) == cudaSuccess;
    good = good && device::encode(values, compressed, stream) == cudaSuccess;
    good = good && device::encode(values, compressed, gesso::nearest_even{}, gesso::flush{}, stream) == cudaSuccess;
    if constexpr (Codec::has_scale) {
        good = good && device::observe(values, reader, statistics, stream) == cudaSuccess;
        good = good && device::observe(values, compressed, statistics, statistics, stream) == cudaSuccess;
        good = good && device::fit(statistics, statistics, compressed, stream) == cudaSuccess;
    }
    return good && device::decode(reader, back, stream) == cudaSuccess
           && device::decode(compressed, back, stream) == cudaSuccess;
}
template bool device_level<expanded, gesso::hardware_math>(const gesso::bf16*, gesso::bf16*, float*, cudaStream_t);
template bool device_level<scaled_by_powers_of_two, gesso::hardware_math>(const __half*, __half*, float*, cudaStream_t);
template bool device_level<own, gesso::exact_math>(const float*, float*, float*, cudaStream_t);
template bool device_level<bf16_kept, gesso::hardware_math>(const float*, float*, float*, cudaStream_t);

template<class Codec, class T, class Nan>
bool device_quantizer(const gesso::matrix_ref<T>& values, void* workspace, Nan nan, cudaStream_t stream)
{
    const gesso::quantized_matrix<Codec> to;
    const gesso::matrix_ref<float> amax;
    const gesso::compressed_matrix<const Codec> reader = to.plain;
    const gesso::stochastic source{1, 2};
    bool good = gesso::quantize(values, to, workspace, stream) == cudaSuccess;
    good = good && gesso::quantize(values, to, source, nan, workspace, stream) == cudaSuccess;
    if constexpr (gesso::detail::is_per_tensor<Codec>) {
        good = good && gesso::quantize_one_launch(values, to, source, nan, workspace, stream) == cudaSuccess;
    }
    if constexpr (Codec::has_scale) {
        good = good && gesso::observe<typename Codec::granularity>(values, amax, stream) == cudaSuccess;
        good = good && gesso::fit(amax, to.plain, workspace, stream) == cudaSuccess;
    }
    good = good && gesso::encode(values, to, stream) == cudaSuccess;
    if constexpr (Codec::format::bits == 8) {
        good = good && gesso::transpose(reader, to.transposed, stream) == cudaSuccess;
    }
    return good && gesso::dequantize(reader, values, stream) == cudaSuccess;
}
template<class Format, class Granularity, class ScaleFormat = gesso::float32>
using plain_matrix = gesso::codec<Format, gesso::identity, Granularity, ScaleFormat>;
template bool device_quantizer<plain_matrix<e3m4, gesso::per_tile<2, 6>, gesso::bfloat16>>(
    const gesso::matrix_ref<__half>&, void*, gesso::ignore_nan, cudaStream_t);
template bool device_quantizer<plain_matrix<gesso::unsigned_e4m4, gesso::per_tensor>>(
    const gesso::matrix_ref<__nv_bfloat16>&, void*, gesso::propagate_nan, cudaStream_t);
template bool device_quantizer<plain_matrix<gesso::bfloat16, gesso::unscaled>>(
    const gesso::matrix_ref<float>&, void*, gesso::flag_nan, cudaStream_t);

// Operators on a stream, from and to every kind of view.
template<class T>
cudaError_t device_operators(const float* weight, float* numbers, void* workspace, cudaStream_t stream)
{
    const gesso::matrix_ref<T> x;
    const gesso::compressed_matrix<gesso::elementwise_codec> codes;
    const gesso::quantized_matrix<gesso::product_codec> both;
    cudaError_t error = gesso::pointwise<gesso::residual_add<>>(
        gesso::sources_of(x, codes), gesso::sinks_of(x, codes), nullptr, stream);
    if (error != cudaSuccess) return error;
    error = gesso::pointwise<gesso::swiglu>(gesso::sources_of(x, x), gesso::sinks_of(both), workspace, stream);
    if (error != cudaSuccess) return error;
    error = gesso::apply_rms_norm_backward(x, weight, numbers, x, x, numbers, workspace, stream);
    if (error != cudaSuccess) return error;
    return gesso::apply_layer_norm(codes, 1.0f, both, numbers, numbers, workspace, stream);
}
template cudaError_t device_operators<__nv_bfloat16>(const float*, float*, void*, cudaStream_t);

template<class Policy, class Parameter, class First, class Second>
cudaError_t device_optimizer(gesso::adamw_device_state* state, cudaStream_t stream)
{
    const gesso::adamw_tensor<Parameter, float, First, Second> tensor;
    const cudaError_t advancing = gesso::adamw_advance(state, stream);
    return advancing != cudaSuccess ? advancing : gesso::adamw_step<Policy>(tensor, state, stream);
}
template cudaError_t device_optimizer<gesso::adamw_policy<>, __nv_bfloat16, expanded, expanded>(
    gesso::adamw_device_state*, cudaStream_t);
#endif
template<int>
__global__ void instantiate_kernel(float* values)
{
    const float value = values[threadIdx.x];
    values[threadIdx.x] = all_encodings(value) + all_codecs(value) + matrix_views(value) + thread_level(value)
                          + optimizer(value) + warp_level(value) + all_operators(value);
}
// A template so that two translation units may have it; instantiated here since nothing launches it.
template __global__ void instantiate_kernel<0>(float*);
#endif

}  // namespace instantiate_all
