// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// adamw_step() as a call: what changes from step to step lives in device memory, streams and graphs are kept,
// a skipped or refused step writes nothing, parameters are rounded stochastically, and indices have 64 bits.
#include <doctest/doctest.h>

#include "device_training.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using gesso::adamw_configuration;
using gesso::adamw_device_state;
using gesso::bf16;
using gesso::index_t;
using gesso::nearest_even;
using gesso::stochastic;
using support::configuration;
using support::device_shape;
using support::device_steps;
using support::device_training;
using support::stored_as;

namespace {

using usual_hardware = support::hardware_policy<nearest_even, stochastic>;
using usual_exact = support::exact_policy<nearest_even, stochastic>;
using random_parameters = support::hardware_policy<nearest_even, stochastic, stochastic>;

// bf16 with both moments expanded: what most tests step.
using usual_training = device_training<bf16, bf16, support::pair_expanded>;

template<class Training>
Training trained(const device_shape& shape, device_steps& state, int steps)
{
    const std::size_t count = static_cast<std::size_t>(shape.count);
    Training training(shape, generator::normal_values(count, 0.5, 3));
    for (int step = 1; step <= steps; ++step) {
        training.gradients.upload(
            stored_as<bf16>(support::gradient_values(count, static_cast<std::uint64_t>(step))));
        state.advance();
        GESSO_CUDA(gesso::adamw_step<usual_hardware>(training.tensor(), state.data(), nullptr));
    }
    support::synchronize();
    return training;
}

// Busy for a time that a wrong stream order would show in.
__global__ void wait_kernel(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}
template<class T>
__global__ void fill_kernel(T* to, index_t count, T value)
{
    const index_t i = blockIdx.x * index_t{256} + threadIdx.x;
    if (i < count) to[i] = value;
}

bf16 bf16_of(float value) { return gesso::element<bf16>::store(value); }

// A stream that the legacy stream does not wait for.
class own_stream {
public:
    own_stream() { GESSO_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~own_stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
    own_stream(const own_stream&) = delete;
    own_stream& operator=(const own_stream&) = delete;
    operator cudaStream_t() const { return stream_; }
    void synchronize() const { GESSO_CUDA(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

// What `record` launches on a stream, as a graph.
class graph {
public:
    template<class Record>
    graph(cudaStream_t stream, Record&& record)
    {
        GESSO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        record();
        GESSO_CUDA(cudaStreamEndCapture(stream, &graph_));
        GESSO_CUDA(cudaGraphInstantiate(&runnable_, graph_, 0));
    }
    ~graph()
    {
        static_cast<void>(cudaGraphExecDestroy(runnable_));
        static_cast<void>(cudaGraphDestroy(graph_));
    }
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;
    void launch(cudaStream_t stream) { GESSO_CUDA(cudaGraphLaunch(runnable_, stream)); }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace

TEST_CASE("O10 a skipped step leaves every byte and does not count, with and without a gradient scale")
{
    const device_shape shape{2048 + 500, 0, 0};
    device_steps state(configuration(1e-2, 0.1), 42);
    auto training = trained<usual_training>(shape, state, 3);
    const auto before = training.on_host();
    std::vector<bf16> gradients(static_cast<std::size_t>(shape.count), bf16_of(1.0f));
    gradients[5] = bf16_of(std::numeric_limits<float>::infinity());
    training.gradients.upload(gradients);
    for (float gradient_scale : {1.0f, 1024.0f}) {
        state.change([&](adamw_device_state& now) {
            now.state.gradient_scale = gradient_scale;
            now.state.skip = true;
        });
        const adamw_device_state at_first = state.get();
        state.advance();
        GESSO_CUDA(gesso::adamw_step<usual_hardware>(training.tensor(), state.data(), nullptr));
        GESSO_CUDA(gesso::adamw_step<usual_exact>(training.tensor(), state.data(), nullptr));
        support::synchronize();
        const adamw_device_state after = state.get();
        CHECK(after.state.step == 3);
        CHECK(after.state.first_correction == at_first.state.first_correction);
        CHECK(after.state.second_correction == at_first.state.second_correction);
        CHECK(support::same_bytes(training.on_host(), before));
    }
    // Configurations and states out of their range are no step either.
    const auto refuse = [&](auto change) {
        const adamw_device_state good = state.get();
        state.change([&](adamw_device_state& now) {
            now.state.skip = false;
            change(now);
        });
        state.advance();
        GESSO_CUDA(gesso::adamw_step<usual_hardware>(training.tensor(), state.data(), nullptr));
        support::synchronize();
        CHECK(support::same_bytes(training.on_host(), before));
        state.set(good);
    };
    refuse([](adamw_device_state& now) { now.state.gradient_scale = 0.0f; });
    refuse([](adamw_device_state& now) { now.state.clip_factor = std::numeric_limits<float>::quiet_NaN(); });
    refuse([](adamw_device_state& now) { now.configuration.beta2 = 1.0; });
    refuse([](adamw_device_state& now) {
        now.configuration.learning_rate = std::numeric_limits<double>::quiet_NaN();
    });
    CHECK(training.is_intact());
}

TEST_CASE("the device's scalars are the host's")
{
    for (const adamw_configuration& with :
        {configuration(1e-3, 0.1), configuration(3e-2, 0.0, 0.0, 0.95, 0.0),
            configuration(1e-30, 1e-20, 0.999999, 0.9999, 1e-300)}) {
        device_steps state(with, 0xFEDCBA9876543210u);
        gesso::step_state host;
        host.seed = 0xFEDCBA9876543210u;
        for (std::int64_t step : {0, 1, 2, 999, 123456789}) {
            for (float scale : {1.0f, 3.0f, 0x1p127f, 0x1p-130f}) {
                host.step = step;
                host.gradient_scale = scale;
                host.clip_factor = 0.7f;
                state.change([&](adamw_device_state& now) { now.state = host; });
                state.advance();
                support::synchronize();
                gesso::step_state next = host;
                gesso::advance(next, with);
                const adamw_device_state got = state.get();
                const gesso::adamw_scalars expected = gesso::scalars_of(with, next);
                CHECK(got.launch.is_active == 1u);
                CHECK(got.state.step == step + 1);
                CHECK(std::memcmp(&got.launch.scalars, &expected, sizeof expected) == 0);
                CHECK(got.state.first_correction == next.first_correction);
                CHECK(got.state.second_correction == next.second_correction);
                const stochastic source(next.seed, static_cast<std::uint64_t>(next.step));
                CHECK(got.launch.source.low == source.low);
                CHECK(got.launch.source.high == source.high);
            }
        }
    }
}

TEST_CASE("O12 a gradient scale is divided out once, and epsilon is in the gradient's own units")
{
    const device_shape shape{129, 0, 0};
    const std::size_t count = 129;
    const auto step_of = [&](auto policy, float gradient, float scale, float clip) {
        device_training<float, float, support::pair_fp32> training(shape, std::vector<float>(count));
        training.gradients.upload(std::vector<float>(count, gradient));
        device_steps state(configuration(1e-3, 0.0));
        state.change([&](adamw_device_state& now) {
            now.state.gradient_scale = scale;
            now.state.clip_factor = clip;
        });
        state.advance();
        GESSO_CUDA(gesso::adamw_step<decltype(policy)>(training.tensor(), state.data(), nullptr));
        return training.on_host();
    };
    const auto check = [&](auto policy) {
        const auto plain = step_of(policy, 1e-8f, 1.0f, 1.0f);
        const auto scaled = step_of(policy, 1e-8f * 1024.0f, 1024.0f, 1.0f);
        const auto clipped = step_of(policy, 1e-8f * 4.0f, 1.0f, 0.25f);
        CHECK(plain.parameters[7] == doctest::Approx(-5.000e-4).epsilon(1e-4));
        CHECK(support::same_bytes(plain, scaled));
        CHECK(support::same_bytes(plain, clipped));
    };
    check(support::exact_policy<>{});
    check(support::hardware_policy<>{});
}

TEST_CASE(
    "T07 an empty tensor is a success without a launch, and what is refused leaves no error and no trace")
{
    device_steps state(configuration(1e-2, 0.1));
    state.advance();
    gesso::adamw_tensor<bf16, bf16, support::pair_expanded::first, support::pair_expanded::second> empty;
    CHECK(gesso::adamw_step<usual_hardware>(empty, state.data(), nullptr) == cudaSuccess);
    empty.first_moment.row_length = empty.second_moment.row_length = 128;
    CHECK(gesso::adamw_step<usual_exact>(empty, state.data(), nullptr) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(gesso::adamw_advance(nullptr, nullptr) == cudaErrorInvalidValue);

    device_steps steps(configuration(1e-2, 0.1));
    const auto training = trained<usual_training>({6144, 0, 0}, steps, 1);
    const auto before = training.on_host();
    const auto refuse = [&](auto change) {
        auto tensor = training.tensor();
        change(tensor);
        CHECK(gesso::adamw_step<usual_hardware>(tensor, steps.data(), nullptr) == cudaErrorInvalidValue);
        CHECK(cudaGetLastError() == cudaSuccess);
    };
    refuse([](auto& tensor) { tensor.parameters = nullptr; });
    refuse([](auto& tensor) { tensor.gradients = nullptr; });
    refuse([](auto& tensor) { tensor.first_moment.codes = nullptr; });
    refuse([](auto& tensor) { tensor.second_moment.exponents = nullptr; });
    refuse([](auto& tensor) { tensor.second_moment.count = 6143; });
    refuse([](auto& tensor) { tensor.first_moment.count = tensor.second_moment.count = -1; });
    refuse([](auto& tensor) { tensor.first_moment.first = tensor.second_moment.first = 3000; });
    refuse([](auto& tensor) { tensor.learning_rate_scale = std::numeric_limits<float>::quiet_NaN(); });
    CHECK(gesso::adamw_step<usual_hardware>(training.tensor(), nullptr, nullptr) == cudaErrorInvalidValue);
    support::synchronize();
    CHECK(support::same_bytes(training.on_host(), before));
}

TEST_CASE("R01 a step keeps its stream, also as a graph")
{
    const device_shape shape{100000, 0, 0};
    const std::size_t count = 100000;
    const own_stream stream;
    // The bytes of one step with a constant gradient.
    const auto expected = [&](float gradient) {
        usual_training training(shape, std::vector<float>(count, 1.0f));
        training.gradients.upload(std::vector<bf16>(count, bf16_of(gradient)));
        device_steps state(configuration(1e-2, 0.1), 1);
        state.advance();
        GESSO_CUDA(gesso::adamw_step<usual_hardware>(training.tensor(), state.data(), nullptr));
        support::synchronize();
        return training.on_host();
    };
    const auto expected_2 = expected(2.0f);
    const auto expected_3 = expected(3.0f);
    const unsigned blocks = support::blocks_for(shape.count, 256);
    const long long long_time = support::size_of_run(20000000LL, 200000LL);

    usual_training training(shape, std::vector<float>(count, 1.0f));
    training.gradients.upload(std::vector<bf16>(count, bf16_of(9.0f)));
    device_steps state(configuration(1e-2, 0.1), 1);
    support::synchronize();
    wait_kernel<<<1, 1, 0, stream>>>(long_time);
    fill_kernel<<<blocks, 256, 0, stream>>>(training.gradients.data(), shape.count, bf16_of(2.0f));
    GESSO_CUDA(gesso::adamw_advance(state.data(), stream));
    GESSO_CUDA(gesso::adamw_step<usual_hardware>(training.tensor(), state.data(), stream));
    stream.synchronize();
    CHECK(support::same_bytes(training.on_host(), expected_2));

    usual_training captured(shape, std::vector<float>(count, 1.0f));
    device_steps captured_state(configuration(1e-2, 0.1), 1);
    captured.gradients.upload(std::vector<bf16>(count, bf16_of(9.0f)));
    const auto before = captured.on_host();
    graph step(stream, [&] {
        GESSO_CUDA(gesso::adamw_advance(captured_state.data(), stream));
        GESSO_CUDA(gesso::adamw_step<usual_hardware>(captured.tensor(), captured_state.data(), stream));
    });
    // Capturing is not running.
    support::synchronize();
    CHECK(support::same_bytes(captured.on_host(), before));
    wait_kernel<<<1, 1, 0, stream>>>(long_time);
    fill_kernel<<<blocks, 256, 0, stream>>>(captured.gradients.data(), shape.count, bf16_of(3.0f));
    step.launch(stream);
    stream.synchronize();
    CHECK(support::same_bytes(captured.on_host(), expected_3));
}

TEST_CASE("R03 a graph replays with the step, rate and skip flag that are in device memory")
{
    const device_shape shape{5000, 0, 0};
    const own_stream stream;
    device_steps eager_state(configuration(1e-3, 0.1), 7);
    device_steps graph_state(configuration(1e-3, 0.1), 7);
    usual_training eager(shape, std::vector<float>(5000, 1.0f));
    usual_training replayed(shape, std::vector<float>(5000, 1.0f));
    graph step(stream, [&] {
        GESSO_CUDA(gesso::adamw_advance(graph_state.data(), stream));
        GESSO_CUDA(gesso::adamw_step<random_parameters>(replayed.tensor(), graph_state.data(), stream));
    });
    const double rates[] = {1e-3, 5e-4, 0.0};
    const bool skips[] = {false, true, false};
    for (int i = 0; i < 3; ++i) {
        const auto change = [&](adamw_device_state& now) {
            now.configuration.learning_rate = rates[i];
            now.state.skip = skips[i];
        };
        eager_state.change(change);
        graph_state.change(change);
        const auto before = replayed.on_host();
        const auto gradients = stored_as<bf16>(support::gradient_values(5000, static_cast<std::uint64_t>(i)));
        eager.gradients.upload(gradients);
        replayed.gradients.upload(gradients);
        support::synchronize();
        eager_state.advance();
        GESSO_CUDA(gesso::adamw_step<random_parameters>(eager.tensor(), eager_state.data(), nullptr));
        step.launch(stream);
        stream.synchronize();
        support::synchronize();
        const auto after = replayed.on_host();
        CHECK(support::same_bytes(after, eager.on_host()));
        if (i == 0) CHECK(!support::same_bytes(after.parameters, before.parameters));
        if (i == 1) CHECK(support::same_bytes(after, before));
        if (i == 2) CHECK(support::same_bytes(after.parameters, before.parameters));
        if (i == 2) CHECK(!(after.first == before.first));
    }
    CHECK(graph_state.get().state.step == 2);
}

TEST_CASE("O13 bf16 parameters move by stochastic rounding, and do not by rounding to nearest")
{
    const std::size_t count = 10000;
    const device_shape shape{static_cast<index_t>(count), 0, 0};
    const auto train = [&](auto policy) {
        usual_training training(shape, std::vector<float>(count, 1.0f));
        training.gradients.upload(std::vector<bf16>(count, bf16_of(1.0f)));
        device_steps state(configuration(6e-4, 0.0), 13);
        for (int step = 0; step < 100; ++step) {
            state.advance();
            GESSO_CUDA(gesso::adamw_step<decltype(policy)>(training.tensor(), state.data(), nullptr));
        }
        support::synchronize();
        return support::loaded(training.parameters.values());
    };
    for (float value : train(usual_hardware{})) REQUIRE(value == 1.0f);
    double sum = 0;
    int moved = 0;
    for (float value : train(random_parameters{})) {
        sum += double{value};
        moved += value != 1.0f ? 1 : 0;
    }
    CHECK(sum / static_cast<double>(count) == doctest::Approx(0.940).epsilon(0.002 / 0.94));
    CHECK(moved > 9900);
}

namespace support {

template<int BlockThreads, int Items>
struct cut_parameter_policy : hardware_policy<gesso::nearest_even, gesso::nearest_even, gesso::stochastic> {
    static constexpr int block_threads = BlockThreads;
    static constexpr int items_per_thread = Items;
};

}  // namespace support

TEST_CASE(
    "O14 the noise of stochastic parameters differs by tensor, step, seed and element, and not by launch")
{
    const std::size_t count = 65536;
    const device_shape shape{static_cast<index_t>(count), 0, 0};
    // No memory of gradients: every step moves by the rate, a quarter of the spacing above 1.
    const adamw_configuration with = configuration(0.25 * 0x1p-7, 0.0, 0.0, 0.0, 0.0);
    device_training<bf16, bf16, support::pair_bf16> training(shape, std::vector<float>(count, 1.0f));
    training.gradients.upload(std::vector<bf16>(count, bf16_of(-1.0f)));
    const std::vector<bf16> ones(count, bf16_of(1.0f));
    const auto moves = [&](auto policy, std::uint32_t tensor_number, std::int64_t step, std::uint64_t seed) {
        training.parameters.upload(ones);
        training.first.codes.clear();
        training.second.codes.clear();
        device_steps state(with, seed);
        state.change([&](adamw_device_state& now) { now.state.step = step - 1; });
        state.advance();
        auto tensor = training.tensor();
        tensor.number = tensor_number;
        GESSO_CUDA(gesso::adamw_step<decltype(policy)>(tensor, state.data(), nullptr));
        std::vector<double> result;
        for (const bf16& value : training.parameters.values()) {
            const float now = gesso::element<bf16>::load(value);
            REQUIRE((now == 1.0f || now == 1.0f + 0x1p-7f));
            result.push_back(now == 1.0f ? 0.0 : 1.0);
        }
        return result;
    };
    const auto correlation = [&](const std::vector<double>& a, const std::vector<double>& b,
                                 std::size_t shift) {
        double sum = 0;
        for (std::size_t i = 0; i + shift < count; ++i) sum += (a[i + shift] - 0.25) * (b[i] - 0.25);
        return sum / static_cast<double>(count - shift) / (0.25 * 0.75);
    };
    using usual = support::cut_parameter_policy<128, 16>;
    std::vector<std::vector<double>> all;
    for (std::uint32_t tensor = 0; tensor < 16; ++tensor) all.push_back(moves(usual{}, tensor, 1, 100));
    all.push_back(moves(usual{}, 0, 2, 100));
    all.push_back(moves(usual{}, 0, 1, 101));
    all.push_back(moves(usual{}, 0, 1, 100 + (std::uint64_t{1} << 32)));
    for (std::size_t i = 0; i < all.size(); ++i) {
        double sum = 0;
        for (double one : all[i]) sum += one;
        CHECK(sum / static_cast<double>(count) == doctest::Approx(0.25).epsilon(0.04));
        for (std::size_t shift : {1u, 2u, 3u, 4u, 8u, 128u})
            CHECK(std::fabs(correlation(all[i], all[i], shift)) < 0.02);
        for (std::size_t j = 0; j < i; ++j) CHECK(std::fabs(correlation(all[i], all[j], 0)) < 0.02);
    }
    CHECK(moves(support::cut_parameter_policy<256, 4>{}, 3, 1, 100) == all[3]);
    CHECK(moves(support::cut_parameter_policy<64, 8>{}, 3, 1, 100) == all[3]);
}

namespace {

// The numbers of a tensor too large for a host: from the index, without memory.
GESSO_HOST_DEVICE std::uint32_t scrambled(std::uint64_t i, std::uint32_t salt)
{
    std::uint32_t value = static_cast<std::uint32_t>(i) * 0x9E3779B9u
                          + static_cast<std::uint32_t>(i >> 32) * 0x7F4A7C15u + salt;
    for (int round = 0; round < 2; ++round) {
        value ^= value >> 15;
        value *= 0x2C1B3C6Du;
        value ^= value >> 13;
    }
    return value;
}
// bf16 of either sign, with an exponent up to `field` and up to 15 below it.
GESSO_HOST_DEVICE bf16 large_number(index_t i, std::uint32_t salt, std::uint32_t field)
{
    const std::uint32_t noise = scrambled(static_cast<std::uint64_t>(i), salt);
    const std::uint32_t exponent = field - (noise >> 20) % 16u;
    return {static_cast<std::uint16_t>(((noise & 1u) << 15) | (exponent << 7) | ((noise >> 8) & 0x7Fu))};
}
__global__ void fill_large_kernel(bf16* to, index_t count, std::uint32_t salt, std::uint32_t field)
{
    for (index_t i = blockIdx.x * index_t{256} + threadIdx.x; i < count; i += gridDim.x * index_t{256}) {
        to[i] = large_number(i, salt, field);
    }
}

}  // namespace

TEST_CASE("T08 beyond 2^32 elements every part of the tensor is stepped as if it were alone, heavy")
{
    const index_t unit = support::size_of_run(index_t{1} << 31, index_t{1} << 15);
    const index_t count = 2 * unit + 1000;
    std::size_t available = 0;
    std::size_t total = 0;
    GESSO_CUDA(cudaMemGetInfo(&available, &total));
    // Two bytes for parameters and gradients, one for each moment, and the scales.
    if (available / 7 < static_cast<std::size_t>(count)) {
        MESSAGE("left out: needs " << count / 1000000 * 7 / 1000 << " GB of device memory");
        return;
    }
    const device_shape shape{count, 0, 0};
    support::device_memory parameters(static_cast<std::size_t>(2 * count));
    support::device_memory gradients(static_cast<std::size_t>(2 * count));
    support::device_moment<support::pair_expanded::first> first(shape);
    support::device_moment<support::pair_expanded::second> second(shape);
    gesso::adamw_tensor<bf16, bf16, support::pair_expanded::first, support::pair_expanded::second> whole;
    bf16* const parameter_data = reinterpret_cast<bf16*>(parameters.data());
    bf16* const gradient_data = reinterpret_cast<bf16*>(gradients.data());
    whole.parameters = parameter_data;
    whole.gradients = gradient_data;
    whole.first_moment = first.view();
    whole.second_moment = second.view();
    const adamw_configuration with = configuration(1e-2, 0.1);

    // Starts of windows: groups and, for hardware math, tiles begin there.
    const index_t window = 4096;
    const index_t starts[] = {0, unit - window, unit, 2 * unit - window, 2 * unit, (count - 1) / 2048 * 2048};
    const auto compare = [&](auto policy, bool with_host) {
        fill_large_kernel<<<65536, 256>>>(parameter_data, count, 1u, 127u);
        first.codes.clear();
        first.scales.clear();
        first.exponents.clear();
        second.codes.clear();
        second.scales.clear();
        second.exponents.clear();
        device_steps state(with, 5);
        for (std::uint32_t step = 1; step <= 2; ++step) {
            fill_large_kernel<<<65536, 256>>>(gradient_data, count, 1u + step, 120u);
            state.advance();
            GESSO_CUDA(gesso::adamw_step<decltype(policy)>(whole, state.data(), nullptr));
        }
        support::synchronize();
        for (index_t start : starts) {
            CAPTURE(start);
            const device_shape part_shape{count - start < window ? count - start : window, 0, start};
            const std::size_t size = static_cast<std::size_t>(part_shape.count);
            const auto numbers = [&](std::uint32_t salt, std::uint32_t field) {
                std::vector<bf16> values(size);
                for (std::size_t i = 0; i < size; ++i) {
                    values[i] = large_number(start + static_cast<index_t>(i), salt, field);
                }
                return values;
            };
            device_training<bf16, bf16, support::pair_expanded> part(part_shape, std::vector<float>(size));
            part.parameters.upload(numbers(1u, 127u));
            auto expected = part.on_host();
            device_steps part_state(with, 5);
            gesso::step_state host_state;
            host_state.seed = 5;
            for (std::uint32_t step = 1; step <= 2; ++step) {
                const auto values = numbers(1u + step, 120u);
                part.gradients.upload(values);
                part_state.advance();
                GESSO_CUDA(gesso::adamw_step<decltype(policy)>(part.tensor(), part_state.data(), nullptr));
                gesso::advance(host_state, with);
                REQUIRE(gesso::host_adamw_step(expected.tensor(values), with, host_state,
                            support::rounding_of_policy<decltype(policy)>())
                        == gesso::status::success);
            }
            if (!with_host) expected = part.on_host();
            // The same window of the whole.
            support::host_training<bf16, support::pair_expanded> got = expected;
            const auto first_part = whole.first_moment.part(start, part_shape.count);
            const auto second_part = whole.second_moment.part(start, part_shape.count);
            const auto copy = [](auto& to, const auto* from) {
                GESSO_CUDA(cudaMemcpy(to.data(), from, to.size() * sizeof to[0], cudaMemcpyDeviceToHost));
            };
            copy(got.parameters, parameter_data + start);
            copy(got.first.codes, first_part.codes);
            copy(got.first.scales, first_part.scales);
            copy(got.first.exponents, first_part.exponents);
            copy(got.second.codes, second_part.codes);
            copy(got.second.scales, second_part.scales);
            copy(got.second.exponents, second_part.exponents);
            CHECK(support::same_bytes(got.parameters, expected.parameters));
            CHECK(got.first == expected.first);
            CHECK(got.second == expected.second);
        }
    };
    compare(usual_exact{}, true);
    compare(usual_hardware{}, false);
    CHECK(parameters.is_intact());
    CHECK(gradients.is_intact());
    CHECK(first.is_intact());
    CHECK(second.is_intact());
}
