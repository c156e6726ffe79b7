// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What a scale per tensor costs where its first stage hides in the kernel that makes the data: a producer with and without
// stage one, stage two, and encode, in graphs. The counter `scaling_ratio` is (producer with stage one + stage two + encode)
// / (producer alone + encode), each pair one graph.
#include "quantize_case.cuh"

#include <type_traits>

namespace bench {

using gesso::matrix_ref;
using bfloat = __nv_bfloat16;

// A producer as a user writes it: out = relu(a)^2, two times 8 elements a thread, and where Unit is not 0 the amax of each Unit
// elements, by the block level's observe() (which is the warp level's where a warp holds a unit) of the numbers as they are
// stored. The elements are whole units.
template<int Unit>
__global__ void __launch_bounds__(256) producer_kernel(const bfloat* values, bfloat* out, bfloat* amax, index_t count)
{
    constexpr int items = 8;
    constexpr int pieces = 2;  // enough loads in flight, as any kernel at the speed of memory has
    constexpr bool observes = Unit != 0;
    using group = gesso::per_group<observes ? Unit : 128>;
    using level = gesso::block_codec<gesso::codec<gesso::e4m3, gesso::identity, group>, 256, items>;
    __shared__ typename level::TempStorage storage[pieces];
    using elements = gesso::detail::packed_elements<bfloat, items>;
    const index_t first = index_t{blockIdx.x} * (256 * pieces) + threadIdx.x;
    elements loaded[pieces] = {};
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
        const index_t begin = (first + p * 256) * items;
        if (begin < count) gesso::detail::load_items<true>(values + begin, items, loaded[p].words);
    }
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
        const index_t thread = first + p * 256;
        const index_t begin = thread * items;
        elements made;
#pragma unroll
        for (int i = 0; i < items; i += 2) {
            const float low = fmaxf(loaded[p].get(i), 0.0f);
            const float high = fmaxf(loaded[p].get(i + 1), 0.0f);
            made.set_pair(i, low * low, high * high);
        }
        if (begin < count) gesso::detail::store_items<true>(out + begin, items, made.words);
        if constexpr (observes) {
            float stored[items];
#pragma unroll
            for (int i = 0; i < items; ++i) stored[i] = made.get(i);
            const auto known = level(storage[p]).observe(stored);
            if (begin < count && thread % level::threads == 0) {
                amax[thread / level::threads] = gesso::element<bfloat>::store(known.amax());
            }
        }
    }
}

// Work captured once and launched many times.
class captured_graph {
public:
    template<class Work>
    captured_graph(cudaStream_t stream, const Work& work)
    {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        work();
        check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
        check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
    }
    ~captured_graph()
    {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }
    captured_graph(const captured_graph&) = delete;
    captured_graph& operator=(const captured_graph&) = delete;
    void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

// Times of a case: bytes of the producer (in and out) and of encode (in, and codes out).
template<int Unit>
void group_scaling_case(benchmark::State& state, matrix_shape shape, output wanted)
{
    using codec = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tensor>;
    event_timer& timer = event_timer::instance();
    const cudaStream_t stream = timer.stream();
    const index_t count = shape.elements();
    const index_t units = count / Unit;
    const index_t bytes = count * 6 + count * (wanted == output::both ? 2 : 1);
    const double copy_seconds = timer.copy_seconds(bytes);
    const quantizer_memory<codec, bfloat> memory(shape);
    const device_memory source(count * 2);
    const device_memory amax(units * 2);
    fill_normal(source.data<bfloat>(), count, 1.0f, 2);
    const matrix_ref<const bfloat> known{amax.data<bfloat>(), 1, units, units};
    gesso::quantized_matrix<codec> to = outputs(memory, wanted);
    // One scale for both outputs.
    to.transposed.scales = to.plain.scales;
    const unsigned blocks = static_cast<unsigned>(gesso::detail::parts(count, 256 * 2 * 8));
    const auto produce = [&](auto observes) {
        producer_kernel<decltype(observes)::value><<<blocks, 256, 0, stream>>>(
            source.data<bfloat>(), memory.values.data<bfloat>(), amax.data<bfloat>(), count);
        check(cudaGetLastError(), "producer");
    };
    const auto stage_two = [&] { check(gesso::fit(known, to.plain, memory.workspace.data(), stream), "fit"); };
    const auto encode = [&] { check(gesso::encode(memory.elements(), to, stream), "encode"); };
    const captured_graph alone(stream, [&] { produce(std::integral_constant<int, 0>{}); });
    const captured_graph observing(stream, [&] { produce(std::integral_constant<int, Unit>{}); });
    const captured_graph second(stream, stage_two);
    const captured_graph encoding(stream, encode);
    const captured_graph without(stream, [&] { produce(std::integral_constant<int, 0>{}), encode(); });
    const captured_graph with(stream, [&] { produce(std::integral_constant<int, Unit>{}), stage_two(), encode(); });
    const auto seconds = [&](const captured_graph& graph) {
        return timer.measure(bytes, [&] { graph.launch(stream); }).median;
    };
    const double base = seconds(without);
    report(state, count, bytes, copy_seconds, [&] { with.launch(stream); });
    state.counters["producer_seconds"] = seconds(alone);
    state.counters["producer_observing_seconds"] = seconds(observing);
    state.counters["stage_two_seconds"] = seconds(second);
    state.counters["encode_seconds"] = seconds(encoding);
    state.counters["without_scaling_seconds"] = base;
    state.counters["scaling_ratio"] = seconds(with) / base;
}

}  // namespace bench

namespace {

template<int Unit>
void add_group_scaling(bench::matrix_shape shape, bench::output wanted)
{
    bench::add(std::string("group_scaling/tile:allxall/unit:") + std::to_string(Unit)
                   + "/values:bf16/output:" + bench::name_of(wanted) + shape.name(),
        [=](benchmark::State& state) { bench::group_scaling_case<Unit>(state, shape, wanted); });
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using bench::output;
    for (bench::matrix_shape shape : bench::matrix_shapes()) {
        if (bench::is_small()) shape = {1024, 512};
        for (const output wanted : {output::plain, output::both}) {
            add_group_scaling<128>(shape, wanted);
            add_group_scaling<2048>(shape, wanted);
        }
    }
    return bench::run(argument_count, arguments);
}
