// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The host level on one CPU thread: compressing, decoding and stepping a tensor that stays in the cache.
#include <benchmark/benchmark.h>

#include <gesso/optimizer/adamw.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using gesso::index_t;
using group = gesso::per_group<128>;
using plain = gesso::codec<gesso::e4m3, gesso::identity, group>;
using expanded = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, group>;

constexpr index_t count = 1 << 14;

std::vector<float> numbers(float scale)
{
    std::vector<float> result(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < result.size(); ++i) {
        const float x = static_cast<float>(i);
        result[i] = scale * std::sin(x) * std::exp(3.0f * std::sin(x * 0.01f));
    }
    return result;
}

// Codes, scales and exponents of `count` elements.
template<class Codec>
class compressed {
public:
    gesso::compressed_ref<Codec> view() { return layout_.bind(memory_.data()); }

private:
    gesso::storage_layout<Codec> layout_{count};
    // In 16-byte words, which is the alignment that a layout asks for.
    struct alignas(16) word {
        unsigned char bytes[16];
    };
    std::vector<word> memory_ = std::vector<word>(static_cast<std::size_t>(layout_.bytes() / 16 + 1));
};

void must_succeed(benchmark::State& state, gesso::status done)
{
    if (done != gesso::status::success) state.SkipWithError(gesso::describe(done));
}

template<class Codec>
void compress(benchmark::State& state)
{
    const std::vector<float> values = numbers(1e-3f);
    compressed<Codec> to;
    for (auto _ : state) {
        must_succeed(state, gesso::host_codec<Codec>::compress(values.data(), to.view()));
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * count);
}

template<class Codec>
void decode(benchmark::State& state)
{
    std::vector<float> values = numbers(1e-3f);
    compressed<Codec> from;
    must_succeed(state, gesso::host_codec<Codec>::compress(values.data(), from.view()));
    for (auto _ : state) {
        must_succeed(state, gesso::host_codec<Codec>::decode(from.view(), values.data()));
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * count);
}

void adamw(benchmark::State& state)
{
    std::vector<float> parameters = numbers(0.02f);
    const std::vector<float> gradients = numbers(1e-3f);
    compressed<gesso::default_first_moment> first;
    compressed<gesso::default_second_moment> second;
    gesso::adamw_tensor<float, float, gesso::default_first_moment, gesso::default_second_moment> tensor;
    tensor.parameters = parameters.data();
    tensor.gradients = gradients.data();
    tensor.first_moment = first.view();
    tensor.second_moment = second.view();
    const gesso::adamw_configuration configuration;
    gesso::step_state step;
    for (auto _ : state) {
        gesso::advance(step, configuration);
        must_succeed(state, gesso::host_adamw_step(tensor, configuration, step));
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * count);
}

BENCHMARK_TEMPLATE(compress, plain)->Name("host/compress/e4m3_plain");
BENCHMARK_TEMPLATE(compress, expanded)->Name("host/compress/e4m3_expanded");
BENCHMARK_TEMPLATE(decode, plain)->Name("host/decode/e4m3_plain");
BENCHMARK_TEMPLATE(decode, expanded)->Name("host/decode/e4m3_expanded");
BENCHMARK(adamw)->Name("host/adamw");

}  // namespace

BENCHMARK_MAIN();
