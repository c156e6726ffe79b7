// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The demo's data: how a text is split, what is said of a text or a recording that will not do, and that
// gradients come back from a recording as they were.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "recording.hpp"
#include "text.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

// A folder of its own that goes away with the test.
struct temporary_folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("gesso_training_" + std::to_string(getpid()));

    temporary_folder() { std::filesystem::create_directories(path); }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() { std::filesystem::remove_all(path); }
};

// Trained bytes are 't', held-out ones 'h', and the incomplete section at the end is '?'.
std::string marked_text(std::int64_t sections)
{
    using training::text_corpus;
    std::string bytes;
    for (std::int64_t i = 0; i < sections; ++i) {
        bytes.append(static_cast<std::size_t>(text_corpus::train_bytes), 't');
        bytes.append(static_cast<std::size_t>(text_corpus::held_out_bytes), 'h');
    }
    return bytes + std::string(100, '?');
}

std::set<std::uint8_t> distinct(const training::token_batch& batch)
{
    return {batch.tokens.begin(), batch.tokens.end()};
}

}  // namespace

TEST_CASE("training.data: no window of the training part touches a held-out byte, nor the other way round")
{
    const training::text_corpus text("a test", marked_text(4));
    CHECK(text.train_size() + text.held_out_size() == 4 * training::text_corpus::section_bytes);
    CHECK(text.unigram_entropy() == 0);

    training::random_source random(1, 1);
    CHECK(distinct(text.draw(random, 2000, 64)) == std::set<std::uint8_t>{'t'});
    const auto held_out = text.held_out(3, 64, 1000);
    CHECK(held_out.size() == 20);  // 4 sections of 15 windows
    for (const training::token_batch& batch : held_out) {
        CHECK(batch.tokens.size() == 3 * 65);
        CHECK(distinct(batch) == std::set<std::uint8_t>{'h'});
    }
    CHECK(text.held_out(3, 64, 7).size() == 2);
}

TEST_CASE("training.data: the unigram entropy is that of the held-out frequencies")
{
    std::string bytes = marked_text(4);
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        bytes[i] = 'x';
    }
    CHECK(training::text_corpus("a test", bytes).unigram_entropy() == doctest::Approx(std::log(2.0)));
}

TEST_CASE("training.data: the same seed draws the same batches, another seed others")
{
    const training::text_corpus text = training::default_text();
    training::random_source first(1, 1), again(1, 1), other(2, 1);
    const auto batch = text.draw(first, 4, 64).tokens;
    CHECK(batch == text.draw(again, 4, 64).tokens);
    CHECK(batch != text.draw(other, 4, 64).tokens);
}

TEST_CASE("training.data: a text that is too short or cannot be read says so with numbers")
{
    CHECK_THROWS_WITH(training::text_corpus("a test", std::string(12, 'x')),
        "the text of a test has 12 bytes; at least 40960 are needed");
    CHECK_THROWS_WITH(training::text_of_file("no/such/file"), "cannot read the text file no/such/file");
    CHECK_THROWS_WITH(training::text_of_file("/"), "cannot read the text file /");
}

TEST_CASE("training.data: a recording gives the gradients back, and a truncated one is refused")
{
    const temporary_folder folder;
    const std::filesystem::path path = folder.path / "gradients.bin";
    const std::vector<training::layer> layers{{"first", 0, 2, 3}, {"second", 6, 1, 2}};
    training::column_vector<float> gradient(8);
    {
        training::gradient_recorder recorder(path);
        for (int step = 1; step <= 3; ++step) {
            gradient.setConstant(static_cast<float>(step));
            recorder.append(gradient);
        }
        recorder.finish(0.9, 0.95, 7, layers);
    }
    training::gradient_recording recording(path);
    CHECK(recording.header().parameters == 8);
    CHECK(recording.header().steps == 3);
    CHECK(recording.header().beta2 == 0.95);
    CHECK(recording.header().seed == 7);
    CHECK(recording.header().layers.at(1).name == "second");
    std::vector<float> values;
    for (const int step : {3, 1, 2}) {
        recording.read(step, values);
        CHECK(values == std::vector<float>(8, static_cast<float>(step)));
    }
    CHECK_THROWS_WITH(recording.read(4, values), "step 4 of a recording of 3 steps");

    std::filesystem::resize_file(path, 50);
    CHECK_THROWS_WITH(training::gradient_recording{path},
        doctest::Contains(" has 50 bytes; 3 steps of 8 fp32 gradients are 96"));
    std::filesystem::remove(path.string() + ".json");
    CHECK_THROWS_WITH(
        training::gradient_recording{path}, doctest::Contains("cannot read the recording's header"));
}
