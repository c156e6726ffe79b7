// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What is tested of operators of elements on the device alone: shapes of whole vectors and several tiles, and that neither
// runs nor cuts of the work change a byte. A trial is a pointwise_trial of operator_runs.hpp.
#pragma once

#include "operator_runner.hpp"

namespace support {

TEST_CASE_TEMPLATE_DEFINE(
    "operators of elements where rows are whole vectors, and tiles many", Trial, pointwise_vectors)
{
    tally failures;
    for (const shape& of :
        {shape{64, 256}, shape{129, 208}, shape{257, 136}, shape{1, 1000}, shape{300, 1}, shape{16, 4096}}) {
        for (const kind_of_values kind : {kind_of_values::mild, kind_of_values::faulty}) {
            for (const bool is_packed : {true, false}) Trial::run(of, kind, is_packed, failures);
        }
        if (is_small()) break;
    }
    CHECK_MESSAGE(failures.passed(), failures.report());
}

// Cuts of the work that differ in all they may.
struct narrow_cut {
    static constexpr int row_items = 4;
    static constexpr int row_pieces = 3;
    static constexpr int row_threads = 128;
    static constexpr int scan_pieces = 1;
    static constexpr int scan_threads = 64;
    static constexpr int scan_blocks = 7;
    static constexpr int tile_threads = 512;
};
struct wide_cut {
    static constexpr int row_items = 8;
    static constexpr int row_pieces = 1;
    static constexpr int row_threads = 512;
    static constexpr int scan_pieces = 4;
    static constexpr int scan_threads = 512;
    static constexpr int scan_blocks = 1000;
    static constexpr int tile_threads = 256;
};

inline void append(std::vector<unsigned char>& to, memory_block& block)
{
    to.insert(to.end(), block.base(), block.base() + block.whole_size());
}
template<class T>
void append_bytes(std::vector<unsigned char>& to, matrix_memory<T>& memory)
{
    append(to, memory.block());
}
template<class Codec>
void append_bytes(std::vector<unsigned char>& to, compressed_memory<Codec>& memory)
{
    append(to, memory.code_block());
    append(to, memory.scale_block());
}
template<class Codec>
void append_bytes(std::vector<unsigned char>& to, quantized_memory<Codec>& memory)
{
    append_bytes(to, memory.plain);
    append_bytes(to, memory.transposed);
}

template<class Operator, class Sources, class Sinks>
struct repeated;
template<class Operator, class... Sources, class... Sinks>
struct repeated<Operator, std::tuple<Sources...>, std::tuple<Sinks...>> {
    std::tuple<typename Sources::memory...> sources;

    explicit repeated(const shape& of)
        : sources(made<Sources>(of)...)
        , of_(of)
    {}
    // All bytes of the sinks, what lies around them included.
    template<class Tuning>
    std::vector<unsigned char> run()
    {
        std::tuple<Sinks...> sinks{make_sink(of_, true, static_cast<Sinks*>(nullptr))...};
        const auto tied = [](auto&... each) { return std::tie(each...); };
        REQUIRE(
            device_operators<Tuning>::template pointwise<Operator>(std::apply(tied, sources), std::apply(tied, sinks)));
        std::vector<unsigned char> bytes;
        std::apply([&](auto&... each) { (append_bytes(bytes, each), ...); }, sinks);
        return bytes;
    }

private:
    template<class Source>
    static typename Source::memory made(const shape& of)
    {
        oracle::dense_matrix numbers;
        return Source::make(of, kind_of_values::faulty, 11, true, numbers);
    }
    shape of_;
};

TEST_CASE_TEMPLATE_DEFINE("the same bytes in 20 runs of 3 cuts", Trial, pointwise_repeats)
{
    Trial trial(is_small() ? shape{65, 72} : shape{515, 1032});
    const std::vector<unsigned char> first = trial.template run<void>();
    for (int run = 0; run < device_operators<>::runs; ++run) {
        REQUIRE(trial.template run<void>() == first);
        REQUIRE(trial.template run<narrow_cut>() == first);
        REQUIRE(trial.template run<wide_cut>() == first);
    }
}

}  // namespace support
