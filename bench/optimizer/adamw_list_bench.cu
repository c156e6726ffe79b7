// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The whole AdamW step of a model of seven billion parameters: adamw_advance() and all 291 tensors, in bf16.
#include "../support/model_shapes.hpp"
#include "adamw_case.cuh"

#include <gesso/optimizer/adamw_list.cuh>

namespace {

using bfloat = __nv_bfloat16;
using bench::index_t;

// One piece of memory for all tensors of a kind; each begins at a multiple of 256 bytes, as from cudaMalloc.
class slab_layout {
public:
    index_t add(index_t bytes)
    {
        const index_t offset = bytes_;
        bytes_ += (bytes + 255) / 256 * 256;
        return offset;
    }
    index_t bytes() const { return bytes_; }

private:
    index_t bytes_ = 0;
};

// A model's parameters, gradients and moments, some steps into its training.
template<class Policy, class First, class Second>
class model {
public:
    using tensor = gesso::adamw_tensor<bfloat, bfloat, First, Second>;

    explicit model(const std::vector<index_t>& sizes)
        : offsets_(sizes)
        , parameters_(offsets_.elements.bytes())
        , gradients_(offsets_.elements.bytes())
        , first_(offsets_.first.bytes())
        , second_(offsets_.second.bytes())
        , device_(sizeof(gesso::adamw_device_state))
    {
        first_.fill(0);
        second_.fill(0);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            tensor next;
            next.parameters = parameters_.data<bfloat>() + offsets_.elements_at[i] / index_t{sizeof(bfloat)};
            next.gradients = gradients_.data<bfloat>() + offsets_.elements_at[i] / index_t{sizeof(bfloat)};
            next.first_moment =
                gesso::storage_layout<First>{sizes[i]}.bind(first_.data<char>() + offsets_.first_at[i]);
            next.second_moment =
                gesso::storage_layout<Second>{sizes[i]}.bind(second_.data<char>() + offsets_.second_at[i]);
            next.number = static_cast<std::uint32_t>(i);
            tensors.push_back(next);
        }
        const gesso::adamw_device_state initial = bench::initial_state<Policy>();
        bench::check(
            cudaMemcpy(device_.data(), &initial, sizeof initial, cudaMemcpyHostToDevice), "cudaMemcpy");
        fill(parameters_, bench::parameter_deviation, 1);
        for (unsigned i = 0; i < bench::steps_before_timing; ++i) {
            fill(gradients_, bench::gradient_deviation, 2 + i);
            step_one_by_one();
        }
    }

    // A launch for each tensor.
    void step_one_by_one() const
    {
        const cudaStream_t stream = bench::event_timer::instance().stream();
        bench::check(gesso::adamw_advance(device(), stream), "adamw_advance");
        for (const tensor& each : tensors)
            bench::check(gesso::adamw_step<Policy>(each, device(), stream), "adamw_step");
    }

    gesso::adamw_device_state* device() const { return device_.template data<gesso::adamw_device_state>(); }
    void require_finite() const
    {
        for (const tensor& each : tensors) bench::require_finite(each.parameters, each.first_moment.count);
    }

    std::vector<tensor> tensors;

private:
    struct offsets {
        explicit offsets(const std::vector<index_t>& sizes)
        {
            for (index_t size : sizes) {
                elements_at.push_back(elements.add(size * index_t{sizeof(bfloat)}));
                first_at.push_back(first.add(gesso::storage_layout<First>{size}.bytes()));
                second_at.push_back(second.add(gesso::storage_layout<Second>{size}.bytes()));
            }
        }
        slab_layout elements;
        slab_layout first;
        slab_layout second;
        std::vector<index_t> elements_at;
        std::vector<index_t> first_at;
        std::vector<index_t> second_at;
    };

    static void fill(const bench::device_memory& memory, float deviation, unsigned seed)
    {
        bench::fill_normal(memory.data<bfloat>(), memory.bytes() / index_t{sizeof(bfloat)}, deviation, seed);
    }

    offsets offsets_;
    bench::device_memory parameters_;
    bench::device_memory gradients_;
    bench::device_memory first_;
    bench::device_memory second_;
    bench::device_memory device_;
};

// Work captured once and launched as one: the host's time for a launch of each tensor is not measured.
class graph {
public:
    template<class Work>
    explicit graph(const Work& work)
    {
        const cudaStream_t stream = bench::event_timer::instance().stream();
        cudaGraph_t captured = nullptr;
        bench::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
        work();
        bench::check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
        bench::check(cudaGraphInstantiate(&executable_, captured, 0), "cudaGraphInstantiate");
        cudaGraphDestroy(captured);
    }
    ~graph() { cudaGraphExecDestroy(executable_); }
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;

    void launch() const
    {
        bench::check(
            cudaGraphLaunch(executable_, bench::event_timer::instance().stream()), "cudaGraphLaunch");
    }

private:
    cudaGraphExec_t executable_ = nullptr;
};

// The list in device memory.
template<class Policy, class First, class Second>
class listed {
public:
    using tensor = typename model<Policy, First, Second>::tensor;
    using layout_type = gesso::adamw_list_layout<Policy, tensor>;

    explicit listed(const std::vector<tensor>& tensors)
        : layout_(tensors.data(), static_cast<index_t>(tensors.size()))
        , memory_(layout_.bytes())
        , list(layout_.bind(memory_.data()))
    {
        std::vector<std::uint64_t> host(static_cast<std::size_t>(layout_.bytes() / 8 + 1));
        if (layout_.write(host.data()) != gesso::status::success)
            throw std::runtime_error("adamw_list_layout::write");
        bench::check(cudaMemcpy(memory_.data(), host.data(), static_cast<std::size_t>(layout_.bytes()),
                         cudaMemcpyHostToDevice),
            "cudaMemcpy");
    }

private:
    layout_type layout_;
    bench::device_memory memory_;

public:
    gesso::adamw_list<tensor> list;
};

// Adds adamw_list/<attributes>/<what>/model:7B. body(state, model, bytes, elements, copy seconds).
template<class Policy, class First, class Second, class BytesOf, class Body>
void add_model(const std::string& what, const BytesOf& bytes_of, const Body& body)
{
    bench::add("adamw_list/" + bench::attributes<Policy, bfloat, bfloat, First, Second>() + "/" + what
                   + "/model:" + (bench::is_small() ? "small" : "7B"),
        [=](benchmark::State& state) {
            const std::vector<index_t> sizes =
                bench::is_small() ? std::vector<index_t>{1 << 20, 4096, 12345} : bench::model_tensors();
            index_t elements = 0;
            index_t bytes = 0;
            for (index_t size : sizes) {
                elements += size;
                bytes += bytes_of(size);
            }
            // Before the model takes the memory.
            const double copy_seconds = bench::event_timer::instance().copy_seconds(bytes);
            const model<Policy, First, Second> trained(sizes);
            body(trained,
                [&](const auto& launch) { bench::report(state, elements, bytes, copy_seconds, launch); });
            trained.require_finite();
        });
}

// A whole step as a trainer takes it: adamw_advance(), then all tensors in one launch.
template<class Policy, class First, class Second>
void add_list()
{
    add_model<Policy, First, Second>("launches:one", bench::step_bytes<bfloat, bfloat, First, Second>,
        [](const auto& trained, const auto& report) {
            const listed<Policy, First, Second> all(trained.tensors);
            const cudaStream_t stream = bench::event_timer::instance().stream();
            report([&] {
                bench::check(gesso::adamw_advance(trained.device(), stream), "adamw_advance");
                bench::check(gesso::adamw_step<Policy>(all.list, trained.device(), stream), "adamw_step");
            });
        });
}

// The same with a launch for each tensor, captured in a graph.
template<class Policy, class First, class Second>
void add_graph()
{
    add_model<Policy, First, Second>("launches:graph_of_tensors",
        bench::step_bytes<bfloat, bfloat, First, Second>, [](const auto& trained, const auto& report) {
            const graph captured([&] { trained.step_one_by_one(); });
            report([&] { captured.launch(); });
        });
}

// The global norm of the gradients, which are read once.
template<class Policy, class First, class Second>
void add_clip()
{
    add_model<Policy, First, Second>(
        "only:clip", [](index_t size) { return size * index_t{sizeof(bfloat)}; },
        [](const auto& trained, const auto& report) {
            const listed<Policy, First, Second> all(trained.tensors);
            const bench::device_memory workspace(gesso::adamw_clip_workspace(all.list));
            const cudaStream_t stream = bench::event_timer::instance().stream();
            report([&] {
                bench::check(
                    gesso::adamw_clip(all.list, 1.0, true, workspace.data(), trained.device(), stream),
                    "adamw_clip");
            });
        });
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using gesso::codec;
    using group = gesso::per_group<128>;
    using dynamic = gesso::dynamic_power<>;
    using expanded = codec<gesso::e4m3, dynamic, group>;
    using without_sign = codec<gesso::unsigned_e4m4, dynamic, group>;
    using plain = codec<gesso::e4m3, gesso::identity, group>;
    using policy = gesso::adamw_nearest_policy<>;
    add_list<policy, expanded, expanded>();
    add_list<bench::stochastic_second_policy, expanded, expanded>();
    add_list<policy, expanded, without_sign>();
    add_list<bench::stochastic_second_policy, expanded, without_sign>();
    add_list<policy, plain, plain>();
    add_graph<policy, expanded, expanded>();
    add_clip<policy, expanded, expanded>();
    return bench::run(argument_count, arguments);
}
