// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Every function of the exact path that runs on a device, instantiated in kernels. Never run:
// device_ptx.cmake compiles it to PTX under --use_fast_math and reads what came out.
#include <gesso/encoding/element.hpp>
#include <gesso/level/thread.hpp>
#include <gesso/optimizer/adamw.hpp>

namespace {

using namespace gesso;

// The user's side of a format.
struct e3m4 : float_format<1, 3, 4, special::finite_nan> {};
struct e2m1 : float_format<1, 2, 1, special::none> {};

template<class Format>
using scaled = codec<Format, identity, per_group<128>>;
template<class Format, class Bound = min_normal_bound>
using expanded = codec<Format, dynamic_power<exponent_rule<Bound>>, per_group<128>>;

template<class Format, class Rounding, class Underflow, class Saturation>
__device__ void encode_one(const float* from, typename Format::code_type* to, Rounding rounding)
{
    const int i = static_cast<int>(threadIdx.x);
    to[i] = encode<Format>(from[i], rounding, Underflow{}, Saturation{});
}

template<class Format, class Underflow, class Saturation>
__device__ void encode_each_way(const float* from, typename Format::code_type* to, const stochastic& source)
{
    encode_one<Format, nearest_even, Underflow, Saturation>(from, to, {});
    encode_one<Format, upward, Underflow, Saturation>(from + 32, to + 32, {});
    encode_one<Format, toward_zero, Underflow, Saturation>(from + 64, to + 64, {});
    encode_one<Format, stochastic_bits, Underflow, Saturation>(from + 96, to + 96, source.at(threadIdx.x));
}

}  // namespace

template<class Format>
__global__ void encode_kernel(const float* from, typename Format::code_type* to, uint64_t seed, uint64_t step)
{
    const stochastic source(seed, step);
    encode_each_way<Format, gradual, saturating>(from, to, source);
    encode_each_way<Format, gradual, nonsaturating>(from + 128, to + 128, source);
    if constexpr (Format::has_zero) {
        encode_each_way<Format, keep, saturating>(from + 256, to + 256, source);
        encode_each_way<Format, flush, saturating>(from + 384, to + 384, source);
        encode_each_way<Format, keep, nonsaturating>(from + 512, to + 512, source);
        encode_each_way<Format, flush, nonsaturating>(from + 640, to + 640, source);
    }
}

template<class Format>
__global__ void decode_kernel(const typename Format::code_type* from, float* to)
{
    to[threadIdx.x] = decode<Format>(from[threadIdx.x]);
}

// Read and written as fp32, then by each rounding.
template<class T>
__global__ void element_kernel(const T* from, T* to, uint64_t seed, uint64_t step)
{
    const float value = multiply(element<T>::load(from[threadIdx.x]), 3.0f);
    to[threadIdx.x] = element<T>::store(value);
    to[threadIdx.x + 32] = element<T>::store(value, upward{});
    to[threadIdx.x + 64] = element<T>::store(value, stochastic(seed, step).stream(2).at(threadIdx.x));
}

__global__ void arithmetic_kernel(float* values, int32_t* logarithms, const int64_t* exponents)
{
    const float a = values[threadIdx.x];
    const float b = values[threadIdx.x + 32];
    const float c = values[threadIdx.x + 64];
    values[threadIdx.x + 96] = add(a, b);
    values[threadIdx.x + 128] = multiply(a, b);
    values[threadIdx.x + 160] = fused_multiply_add(a, b, c);
    values[threadIdx.x + 192] = divide(a, b);
    values[threadIdx.x + 224] = square_root(a);
    values[threadIdx.x + 256] = flush_denormal(c);
    logarithms[threadIdx.x] = log2_fixed(bits_of(a));
    values[threadIdx.x + 288] = exp2_fixed(exponents[threadIdx.x]);
}

// A group in the registers of one thread: observe, fit, encode by each rounding and underflow, decode.
template<class Codec>
__global__ void codec_kernel(
    const float* from, compressed_ref<Codec> to, float* back, uint64_t seed, uint64_t step)
{
    using level = thread_codec<Codec, 2>;
    float values[2] = {from[0], from[1]};
    typename level::code_type codes[2];
    const stochastic source(seed, step);
    auto known = level::observe(values, static_cast<int>(to.count));
    known.merge(level::observe(values));
    const typename Codec::parameters with = level::fit(known);
    to.store(0, with);
    index_t out = 0;
    const auto put = [&] {
        for (int i = 0; i < 2; ++i) to.codes[out++] = codes[i];
    };
    level::encode(values, with, codes);
    put();
    level::encode(values, with, codes, upward{}, gradual{});
    put();
    level::encode(values, with, codes, toward_zero{}, flush{});
    put();
    level::encode(values, with, codes, source, gradual{}, 8);
    put();
    level::encode(values, with, codes, nearest_even{}, keep{});
    put();
    level::encode(values, with, codes, source.stream(1), flush{});
    put();
    level::encode(values, to.load(1), codes, source, keep{}, 16, static_cast<int>(to.count));
    put();
    to.store(2, level::compress(values, codes));
    put();
    level::decode(codes, to.load(3), values);
    for (int i = 0; i < 2; ++i) back[i] = values[i];
}

template<class Codec>
__global__ void given_scale_kernel(const float* from, typename Codec::code_type* to)
{
    to[threadIdx.x] = Codec::encode(from[threadIdx.x], Codec::fit(from[threadIdx.x + 32]));
}

__global__ void advance_kernel(
    step_state* state, adamw_configuration with, adamw_scalars* scalars, bool* is_stochastic)
{
    advance(*state, with);
    if (is_valid(with) && is_valid(*state)) *scalars = scalars_of(with, *state);
    *is_stochastic =
        rounds_stochastically<scaled<e5m2>>(moment_rounding::automatic, with.beta2, second_moment_threshold);
}

template<class Parameter, class Gradient>
__global__ void adamw_kernel(adamw_element* elements, Parameter* parameters, const Gradient* gradients,
    const adamw_scalars* scalars, float learning_rate_scale, float weight_decay_scale)
{
    const adamw_rates rates = rates_of(*scalars, learning_rate_scale, weight_decay_scale);
    const adamw_element old = elements[threadIdx.x];
    const float gradient = element<Gradient>::load(gradients[threadIdx.x]);
    adamw_element updated =
        adamw_update({element<Parameter>::load(parameters[threadIdx.x]), old.first, old.second}, gradient,
            *scalars, rates);
    if (is_zero(scaled_gradient(gradient, *scalars))) updated.second = 0.0f;
    elements[threadIdx.x] = updated;
    parameters[threadIdx.x] = element<Parameter>::store(updated.parameter);
}

#define GESSO_INSTANTIATE_FORMAT(Format)                                                                     \
    template __global__ void encode_kernel<Format>(                                                          \
        const float*, typename Format::code_type*, uint64_t, uint64_t);                                      \
    template __global__ void decode_kernel<Format>(const typename Format::code_type*, float*);
GESSO_INSTANTIATE_FORMAT(e4m3)
GESSO_INSTANTIATE_FORMAT(e5m2)
GESSO_INSTANTIATE_FORMAT(unsigned_e4m4)
GESSO_INSTANTIATE_FORMAT(bfloat16)
GESSO_INSTANTIATE_FORMAT(float16)
GESSO_INSTANTIATE_FORMAT(float32)
GESSO_INSTANTIATE_FORMAT(e8m0)
GESSO_INSTANTIATE_FORMAT(e3m4)
GESSO_INSTANTIATE_FORMAT(e2m1)

template __global__ void element_kernel<float>(const float*, float*, uint64_t, uint64_t);
template __global__ void element_kernel<bf16>(const bf16*, bf16*, uint64_t, uint64_t);
template __global__ void element_kernel<fp16>(const fp16*, fp16*, uint64_t, uint64_t);

#define GESSO_INSTANTIATE_CODEC(...)                                                                         \
    template __global__ void codec_kernel<__VA_ARGS__>(                                                      \
        const float*, compressed_ref<__VA_ARGS__>, float*, uint64_t, uint64_t);
GESSO_INSTANTIATE_CODEC(codec<float32, identity, unscaled>)
GESSO_INSTANTIATE_CODEC(codec<bfloat16, identity, unscaled>)
GESSO_INSTANTIATE_CODEC(scaled<e4m3>)
GESSO_INSTANTIATE_CODEC(scaled<e5m2>)
GESSO_INSTANTIATE_CODEC(scaled<unsigned_e4m4>)
GESSO_INSTANTIATE_CODEC(codec<e4m3, identity, per_group<16>, bfloat16>)
GESSO_INSTANTIATE_CODEC(codec<e4m3, identity, per_group<32>, e8m0>)
GESSO_INSTANTIATE_CODEC(expanded<e4m3>)
GESSO_INSTANTIATE_CODEC(expanded<e5m2>)
GESSO_INSTANTIATE_CODEC(expanded<unsigned_e4m4>)
GESSO_INSTANTIATE_CODEC(expanded<e3m4>)
GESSO_INSTANTIATE_CODEC(expanded<e4m3, full_range_bound>)
GESSO_INSTANTIATE_CODEC(codec<e4m3, dynamic_power<reference_rule>, per_group<128>>)
GESSO_INSTANTIATE_CODEC(codec<e4m3, dynamic_power<>, per_group<128>, bfloat16>)
GESSO_INSTANTIATE_CODEC(codec<e4m3, power<2>, per_group<128>>)
GESSO_INSTANTIATE_CODEC(codec<unsigned_e4m4, power<1, 2>, per_group<128>>)

template __global__ void given_scale_kernel<scaled<e4m3>>(const float*, uint8_t*);
template __global__ void given_scale_kernel<codec<e5m2, identity, per_group<32>, e8m0>>(
    const float*, uint8_t*);

template __global__ void adamw_kernel<float, float>(
    adamw_element*, float*, const float*, const adamw_scalars*, float, float);
template __global__ void adamw_kernel<bf16, bf16>(
    adamw_element*, bf16*, const bf16*, const adamw_scalars*, float, float);
template __global__ void adamw_kernel<fp16, fp16>(
    adamw_element*, fp16*, const fp16*, const adamw_scalars*, float, float);
