// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The tool's own logic: what it reads, that a replay is the library's step, and that its figures are what they say.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "input.hpp"
#include "trajectory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace moment_error;

using default_codec = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<128>>;
using default_codec_in_rows = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<2048>>;

// A file in a folder of its own, removed at the end.
class temporary_file {
public:
    explicit temporary_file(const std::string& name)
        : folder_(std::filesystem::temp_directory_path() / ("gesso_moment_error_test_" + name))
        , path_(folder_ / "gradients.f32")
    {
        std::filesystem::create_directories(folder_);
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { std::filesystem::remove_all(folder_); }

    const std::filesystem::path& path() const { return path_; }

    void write(const std::vector<float>& values, std::size_t bytes_less = 0) const
    {
        std::ofstream file(path_, std::ios::binary);
        file.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float) - bytes_less));
    }
    void write_header(int parameters, int steps) const
    {
        std::ofstream file(path_.string() + ".json");
        file << R"({"format": "gesso gradients 1", "parameters": )" << parameters << R"(, "steps": )" << steps
             << R"(, "beta1": 0.8, "beta2": 0.95, "seed": 3, "layers": [)"
             << R"({"name": "a", "offset": 0, "rows": 2, "columns": 3},)"
             << R"({"name": "b", "offset": 6, "rows": 1, "columns": 4}]})";
    }

private:
    std::filesystem::path folder_;
    std::filesystem::path path_;
};

std::string message_of(const std::function<void()>& act)
{
    try {
        act();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "no exception";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Noise of very different size from element to element, as gradients have it.
std::vector<float> noisy_gradients(std::int64_t steps, std::int64_t count)
{
    std::vector<float> gradients;
    const gesso::stochastic sizes(11, 0);
    for (std::int64_t step = 1; step <= steps; ++step) {
        const gesso::stochastic noise(12, static_cast<std::uint64_t>(step));
        for (std::int64_t i = 0; i < count; ++i) {
            const double size = std::exp2(-10 - 8 * (sizes.at(i).bits * 0x1p-32));
            gradients.push_back(static_cast<float>(size * (noise.at(i).bits * 0x1p-31 - 1)));
        }
    }
    return gradients;
}

std::vector<float> ramp(int count)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

}  // namespace

TEST_CASE("tools.moment_error: a recording of the demo is read by its header")
{
    const temporary_file file("header");
    file.write(ramp(30));
    file.write_header(10, 3);
    const recording read = open_recording(file.path());
    CHECK(read.steps == 3);
    CHECK(read.beta1 == 0.8);
    CHECK(read.seed == 3);
    REQUIRE(read.layers.size() == 2);
    const std::vector<block> blocks = blocks_of(read.layers);
    REQUIRE(blocks.size() == 2);
    CHECK(read_block(read, blocks[1]) == std::vector<float>{7, 8, 9, 10, 17, 18, 19, 20, 27, 28, 29, 30});
}

TEST_CASE("tools.moment_error: a raw file is read by the number of parameters")
{
    const temporary_file file("raw");
    file.write(ramp(12));
    const recording read = open_recording(file.path(), 4);
    CHECK(read.steps == 3);
    CHECK(read_block(read, blocks_of(read.layers).front()) == ramp(12));
    CHECK(contains(message_of([&] { open_recording(file.path(), 5); }), "12 fp32 values"));
    CHECK(contains(message_of([&] { open_recording(file.path(), 5); }), "5 parameters"));
    CHECK(contains(message_of([&] { open_recording(file.path()); }), "--parameters"));
}

TEST_CASE("tools.moment_error: a file that was cut off is refused with the numbers")
{
    const temporary_file file("cut");
    file.write_header(10, 3);
    file.write(ramp(29));
    const std::string whole_numbers = message_of([&] { open_recording(file.path()); });
    CHECK(contains(whole_numbers, "29 fp32 values"));
    CHECK(contains(whole_numbers, "3 steps of 10 parameters are 30"));
    file.write(ramp(30), 2);
    CHECK(contains(message_of([&] { open_recording(file.path()); }), "118 bytes"));
    CHECK(contains(message_of([&] { read_numbers(file.path()); }), "118 bytes"));
}

TEST_CASE("tools.moment_error: a header that contradicts itself and a gradient that is not finite are refused")
{
    const temporary_file file("wrong");
    file.write_header(11, 3);
    file.write(ramp(33));
    CHECK(contains(message_of([&] { open_recording(file.path()); }), "whose layers have 10"));
    file.write_header(10, 3);
    std::vector<float> values = ramp(30);
    values[17] = std::nanf("");
    file.write(values);
    const recording read = open_recording(file.path());
    CHECK(contains(message_of([&] { read_block(read, blocks_of(read.layers)[1]); }), "parameter 7 in step 2"));
}

TEST_CASE("tools.moment_error: a sample is spread over the model, in whole blocks")
{
    const std::vector<layer> layers{{"a", 0, 10 * block_size}, {"b", 10 * block_size, 5}};
    const std::vector<block> blocks = blocks_of(layers);
    REQUIRE(blocks.size() == 11);
    CHECK(blocks.back().count == 5);
    CHECK(sample(blocks, 0).size() == 11);
    const std::vector<block> taken = sample(blocks, 2 * block_size);
    REQUIRE(taken.size() == 2);
    CHECK(taken[0].first == 2 * block_size);
    CHECK(taken[1].first == 7 * block_size);
    CHECK(sample(blocks, 1).size() == 1);
}

TEST_CASE("tools.moment_error: fp32 moments have exactly no error")
{
    const std::int64_t count = 300;
    const replay_settings settings{0.9, 0.99, 1, 0, checkpoints_of(50, 10)};
    const trajectory_result result =
        simulate<fp32_codec, fp32_codec, gesso::gradual>(noisy_gradients(50, count), {0, count, 0}, settings);
    CHECK(result.mean_square == 0);
    CHECK(result.median == 0);
    CHECK(result.flushed_share == 0);
    CHECK(result.v_ratio == 1);
}

TEST_CASE("tools.moment_error: constant gradients of one size are kept to the scale's rounding")
{
    // A constant group needs one code: what is left is the rounding of v in fp32, step by step.
    const std::vector<float> gradients(50 * 256, 0.25f);
    const replay_settings settings{0.9, 0.95, 1, 0, checkpoints_of(50, 10)};
    const trajectory_result result = simulate<default_codec, default_codec>(gradients, {0, 256, 0}, settings);
    CHECK(result.mean_square < 1e-12);
    CHECK(std::abs(result.v_ratio - 1) < 1e-6);
    CHECK(result.first_codes.unchanged_share() == 1);
}

TEST_CASE("tools.moment_error: the histogram of k counts every group at every checkpoint")
{
    const std::int64_t count = 5 * 128 + 17;
    const replay_settings settings{0.9, 0.999, 1, 0, checkpoints_of(60, 10)};
    REQUIRE(settings.checkpoints == std::vector<std::int64_t>{40, 50, 60});
    const trajectory_result result =
        simulate<default_codec, default_codec>(noisy_gradients(60, count), {0, count, 0}, settings);
    for (const code_sums* codes : {&result.first_codes, &result.second_codes}) {
        const std::int64_t groups = std::accumulate(codes->exponents.begin(), codes->exponents.end(), std::int64_t{0});
        CHECK(groups == 6 * 3);
        CHECK(codes->codes > 0);
        CHECK(codes->unchanged <= codes->codes);
    }
    CHECK(result.mean_square > 0);
    CHECK(result.median > 0);
    CHECK(result.median * result.median < result.mean_square);
}

TEST_CASE("tools.moment_error: rows make the groups of any size, with the same bytes")
{
    const std::int64_t count = 3 * 128 + 50;
    const std::vector<float> gradients = noisy_gradients(40, count);
    const replay_settings settings{0.9, 0.999, 5, 0, checkpoints_of(40, 10)};
    const trajectory_result own = simulate<default_codec, default_codec>(gradients, {0, count, 0}, settings);
    const trajectory_result rows =
        simulate<default_codec_in_rows, default_codec_in_rows>(gradients, {0, count, 128}, settings);
    CHECK(own.mean_square == rows.mean_square);
    CHECK(own.v_ratio == rows.v_ratio);
    CHECK(own.second_codes.exponents == rows.second_codes.exponents);
}

TEST_CASE("tools.moment_error: moments that are replayed alone are those of a step with both")
{
    const std::int64_t count = 256;
    const std::int64_t steps = 30;
    const std::vector<float> gradients = noisy_gradients(steps, count);
    const replay_settings settings{0.9, 0.999, 9, 0, {steps}};
    const placement where{0, count, 0};
    const auto rounding = gesso::moment_rounding::automatic;
    const moment_track first =
        replay<moment::first, default_codec, gesso::flush>(gradients, where, settings, rounding, nullptr);
    const moment_track second =
        replay<moment::second, default_codec, gesso::keep>(gradients, where, settings, rounding, nullptr);

    const moment_memory<default_codec> both_first(where), both_second(where);
    std::vector<float> parameters(static_cast<std::size_t>(count), 1.0f);
    gesso::step_state state;
    state.seed = settings.seed;
    for (std::int64_t step = 0; step < steps; ++step) {
        gesso::advance(state, {});
        const gesso::adamw_tensor<float, float, default_codec, default_codec> tensor{
            parameters.data(), gradients.data() + step * count, both_first.view(), both_second.view()};
        require_success(gesso::host_adamw_step(tensor, {}, state));
    }
    std::vector<float> decoded(static_cast<std::size_t>(count));
    both_first.decode(decoded.data());
    CHECK(first.trajectory == decoded);
    both_second.decode(decoded.data());
    CHECK(second.trajectory == decoded);
}

TEST_CASE("tools.moment_error: bytes a parameter are codes, a scale and an exponent a group")
{
    const std::int64_t count = 128 * 16 * 10;
    CHECK(moment_bytes<default_codec>(count, 0) == count + 5 * count / 128);
    CHECK(moment_bytes<default_codec_in_rows>(count, 128) == count + 5 * count / 128);
    CHECK(moment_bytes<default_codec_in_rows>(count, 32) == count + 5 * count / 32);
    CHECK(moment_bytes<fp32_codec>(count, 0) == 4 * count);
}

TEST_CASE("tools.moment_error: flushed second moments are counted apart and are in no mean")
{
    // Two elements of a group so far apart that plain E4M3 loses the smaller one.
    const std::vector<float> gradients{1.0f, 0x1p-12f};
    const replay_settings settings{0.9, 0.95, 1, 0, {1}};
    using plain = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
    const trajectory_result flushed =
        simulate<fp32_codec, plain, gesso::gradual, gesso::gradual>(gradients, {0, 2, 0}, settings);
    CHECK(flushed.flushed_share == 0.5);
    CHECK(flushed.mean_square < 1e-10);
    const trajectory_result kept = simulate<fp32_codec, plain, gesso::gradual>(gradients, {0, 2, 0}, settings);
    CHECK(kept.flushed_share == 0);
    CHECK(kept.v_ratio > 1);
}

TEST_CASE("tools.moment_error: the histogram's median is within a bin")
{
    magnitude_histogram histogram;
    CHECK(std::isnan(histogram.median()));
    for (int i = 1; i <= 10001; ++i) {
        histogram.add(static_cast<float>(i % 2 == 0 ? i : -i) * 1e-6f);
    }
    CHECK(histogram.median() == doctest::Approx(5001e-6).epsilon(0.02));
}
