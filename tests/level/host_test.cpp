// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The host level on whole tensors and matrices: groups, shards, rows, strides, ragged ends, element types,
// packed codes, and memory that must not be touched, against a walk of the codec over each group.
#include <doctest/doctest.h>

#include <gesso/level/host.hpp>

#include "../support/formats.hpp"
#include "../support/generators.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace gesso;

namespace {

using moment = codec<e4m3, dynamic_power<>, per_group<128>>;
using plain_moment = codec<e4m3, identity, per_group<128>>;
using small_groups = codec<e5m2, identity, per_group<24>>;
using packed_moment = codec<e2m1, identity, per_group<32>>;
using bf16_moment = codec<bfloat16, identity, unscaled>;
using activation = codec<e4m3, identity, per_tile<1, 16>, bfloat16>;
using expanded_activation = codec<e4m3, dynamic_power<>, per_tile<2, 24>, bfloat16>;
using row_scaled = codec<e4m3, identity, per_row>;
using tensor_scaled = codec<e5m2, identity, per_tensor>;

constexpr unsigned char canary = 0xC7;

// A compressed tensor in three separate arrays with canary bytes before and after each, and codes at an odd
// address.
template<class Codec>
class guarded_tensor {
public:
    guarded_tensor(index_t count, index_t row_length = 0, index_t first = 0)
        : count_(count)
    {
        view_.count = count;
        view_.row_length = row_length;
        view_.first = first;
        groups_ = view_.groups().groups();
        code_bytes_ = detail::parts(count * Codec::format::bits, 8);
        codes_.assign(static_cast<std::size_t>(code_bytes_) + 2 * margin, canary);
        scales_.assign(static_cast<std::size_t>(groups_) + 2, canary_scale());
        exponents_.assign(static_cast<std::size_t>(groups_) + 2 * margin, canary);
        // Codes of one byte need no alignment, so they get none.
        view_.codes = reinterpret_cast<typename Codec::code_type*>(codes_.data() + first_code());
        if (Codec::has_scale) view_.scales = scales_.data() + 1;
        if (Codec::has_exponent) view_.exponents = exponents_.data() + margin;
    }
    guarded_tensor(const guarded_tensor&) = delete;
    guarded_tensor& operator=(const guarded_tensor&) = delete;

    const compressed_ref<Codec>& view() const { return view_; }
    index_t groups() const { return groups_; }

    bool is_intact() const
    {
        const auto is_canary = [](unsigned char byte) { return byte == canary; };
        const auto code_end = codes_.begin() + first_code() + static_cast<std::ptrdiff_t>(code_bytes_);
        return std::all_of(codes_.begin(), codes_.begin() + first_code(), is_canary)
               && std::all_of(code_end, codes_.end(), is_canary) && scales_.front() == canary_scale()
               && scales_.back() == canary_scale()
               && std::all_of(exponents_.begin(), exponents_.begin() + margin, is_canary)
               && std::all_of(exponents_.end() - margin, exponents_.end(), is_canary);
    }

    std::vector<std::uint32_t> codes() const
    {
        std::vector<std::uint32_t> all;
        for (index_t i = 0; i < count_; ++i) all.push_back(load_code<typename Codec::format>(view_.codes, i));
        return all;
    }
    std::vector<std::uint32_t> scales() const { return {scales_.begin() + 1, scales_.end() - 1}; }
    std::vector<std::uint32_t> exponents() const
    {
        return {exponents_.begin() + margin, exponents_.end() - margin};
    }

private:
    static constexpr std::ptrdiff_t margin = 16;
    static std::ptrdiff_t first_code()
    {
        return sizeof(typename Codec::code_type) == 1 ? margin - 3 : margin;
    }
    static typename Codec::scale_code_type canary_scale()
    {
        return static_cast<typename Codec::scale_code_type>(0xC7C7C7C7u);
    }

    index_t count_;
    index_t groups_ = 0;
    index_t code_bytes_ = 0;
    compressed_ref<Codec> view_;
    std::vector<unsigned char> codes_;
    std::vector<typename Codec::scale_code_type> scales_;
    std::vector<std::uint8_t> exponents_;
};

// The bytes that a tensor must have: the codec walked over each group, with groups told apart element by
// element.
template<class Codec>
struct walked {
    std::vector<std::uint32_t> codes, scales, exponents;
    std::vector<float> decoded;
};

template<class Codec>
walked<Codec> walk(const std::vector<float>& values, index_t row_length = 0)
{
    walked<Codec> result;
    const index_t count = static_cast<index_t>(values.size());
    const auto starts_group = [&](index_t i) {
        return (row_length == 0 ? i : i % row_length) % Codec::granularity::group_size == 0;
    };
    for (index_t begin = 0; begin < count;) {
        index_t end = begin + 1;
        while (end < count && !starts_group(end)) ++end;
        typename Codec::statistic known;
        for (index_t i = begin; i < end; ++i) known.observe(values[static_cast<std::size_t>(i)]);
        const auto with = Codec::fit(known);
        result.scales.push_back(Codec::scale_code(with));
        result.exponents.push_back(Codec::exponent_code(with));
        for (index_t i = begin; i < end; ++i) {
            const auto code = Codec::encode(values[static_cast<std::size_t>(i)], with);
            result.codes.push_back(code);
            result.decoded.push_back(Codec::decode(code, with));
        }
        begin = end;
    }
    return result;
}

template<class Codec>
void expect_walked_bytes(const guarded_tensor<Codec>& tensor, const walked<Codec>& wanted)
{
    CHECK(tensor.codes() == wanted.codes);
    if (Codec::has_scale) CHECK(tensor.scales() == wanted.scales);
    if (Codec::has_exponent) CHECK(tensor.exponents() == wanted.exponents);
    CHECK(tensor.is_intact());
}

std::vector<float> sample(index_t count, std::uint64_t seed = 1)
{
    return generator::log_normal_values(static_cast<std::size_t>(count), 1e-3, 2.0, true, seed);
}

}  // namespace

TEST_CASE_TEMPLATE("a tensor is compressed group by group, with a ragged end and in rows", Codec, moment,
    plain_moment, small_groups, packed_moment, bf16_moment)
{
    for (index_t count : {0, 1, 2, 31, 127, 128, 129, 385, 1000}) {
        for (index_t row_length : {0, 1, 50, 128, 200}) {
            CAPTURE(count);
            CAPTURE(row_length);
            const std::vector<float> values = sample(count);
            guarded_tensor<Codec> tensor(count, row_length);
            REQUIRE(host_codec<Codec>::compress(values.data(), tensor.view()) == status::success);
            const walked<Codec> wanted = walk<Codec>(values, row_length);
            expect_walked_bytes(tensor, wanted);

            std::vector<float> decoded(values.size() + 2, -77.0f);
            REQUIRE(host_codec<Codec>::decode(tensor.view(), decoded.data() + 1) == status::success);
            CHECK(std::equal(wanted.decoded.begin(), wanted.decoded.end(), decoded.begin() + 1));
            CHECK(decoded.front() == -77.0f);
            CHECK(decoded.back() == -77.0f);
        }
    }
}

TEST_CASE_TEMPLATE("an aligned shard has the bytes of the whole tensor, and an unaligned one is refused",
    Codec, moment, small_groups, packed_moment)
{
    constexpr index_t group_size = Codec::granularity::group_size;
    const index_t count = 8 * group_size + 11;
    const std::vector<float> values = sample(count, 3);
    guarded_tensor<Codec> whole(count);
    const stochastic source{9, 4};
    REQUIRE(host_codec<Codec>::compress(values.data(), whole.view(), source) == status::success);
    for (index_t cut : {index_t{1}, index_t{3}, index_t{8}}) {
        const index_t first = cut * group_size;
        guarded_tensor<Codec> shard(count - first, 0, first);
        REQUIRE(host_codec<Codec>::compress(values.data() + first, shard.view(), source) == status::success);
        const std::vector<std::uint32_t> codes = whole.codes();
        CHECK(shard.codes() == std::vector<std::uint32_t>(codes.begin() + first, codes.end()));
        const std::vector<std::uint32_t> scales = whole.scales();
        CHECK(shard.scales() == std::vector<std::uint32_t>(scales.begin() + cut, scales.end()));
        CHECK(shard.is_intact());
    }
    compressed_ref<Codec> unaligned = whole.view();
    const std::vector<std::uint32_t> before = whole.codes();
    for (index_t first : {index_t{1}, group_size - 1, group_size + 1}) {
        unaligned.first = first;
        CHECK(host_codec<Codec>::compress(values.data(), unaligned) == status::unaligned_shard);
        CHECK(host_codec<Codec>::encode(values.data(), unaligned) == status::unaligned_shard);
    }
    CHECK(whole.codes() == before);
}

TEST_CASE("a cut between rows is a cut between groups")
{
    const index_t row_length = 200;
    const std::vector<float> values = sample(5 * row_length, 6);
    guarded_tensor<moment> whole(5 * row_length, row_length);
    REQUIRE(host_codec<moment>::compress(values.data(), whole.view()) == status::success);
    guarded_tensor<moment> shard(2 * row_length, row_length, 3 * row_length);
    REQUIRE(host_codec<moment>::compress(values.data() + 3 * row_length, shard.view()) == status::success);
    const std::vector<std::uint32_t> codes = whole.codes();
    CHECK(shard.codes() == std::vector<std::uint32_t>(codes.begin() + 3 * row_length, codes.end()));
}

TEST_CASE("misuse of a flat view is answered, not carried out")
{
    const std::vector<float> values = sample(256);
    guarded_tensor<moment> tensor(256);
    const std::vector<std::uint32_t> before = tensor.codes();
    const auto compress = [&](const float* from, const compressed_ref<moment>& view) {
        return host_codec<moment>::compress(from, view);
    };
    compressed_ref<moment> view = tensor.view();
    CHECK(compress(nullptr, view) == status::null_pointer);
    view.codes = nullptr;
    CHECK(compress(values.data(), view) == status::null_pointer);
    view = tensor.view();
    view.scales = nullptr;
    CHECK(compress(values.data(), view) == status::null_pointer);
    view = tensor.view();
    view.exponents = nullptr;
    CHECK(compress(values.data(), view) == status::null_pointer);
    for (index_t compressed_ref<moment>::*member : {&compressed_ref<moment>::count,
             &compressed_ref<moment>::first, &compressed_ref<moment>::row_length}) {
        view = tensor.view();
        view.*member = -1;
        CHECK(compress(values.data(), view) == status::negative_count);
    }
    CHECK(tensor.codes() == before);
    CHECK(compress(nullptr, compressed_ref<moment>{}) == status::success);  // nothing to do needs nothing
    float nothing = 0;
    CHECK(host_codec<moment>::decode(compressed_ref<moment>{}, &nothing) == status::success);
}

TEST_CASE_TEMPLATE("half-precision elements, at any address of their type, give the codes of their values",
    Element, bf16, fp16)
{
    const std::vector<float> random = sample(300, 8);
    std::vector<Element> elements(301);
    std::vector<float> values;
    for (std::size_t i = 0; i < random.size(); ++i) {
        elements[i + 1] = element<Element>::store(random[i]);
        values.push_back(element<Element>::load(elements[i + 1]));
    }
    guarded_tensor<moment> tensor(300);
    REQUIRE(host_codec<moment>::compress(elements.data() + 1, tensor.view()) == status::success);
    const walked<moment> wanted = walk<moment>(values);
    expect_walked_bytes(tensor, wanted);
    REQUIRE(host_codec<moment>::decode(tensor.view(), elements.data() + 1) == status::success);
    for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(elements[i + 1].bits == element<Element>::store(wanted.decoded[i]).bits);
    }
}

TEST_CASE("S01 a row of zeros beside an ordinary one leaves it alone")
{
    std::vector<float> values(256, 0.0f);
    for (std::size_t i = 0; i < 128; ++i) values[128 + i] = static_cast<float>(i + 1);
    guarded_tensor<plain_moment> both(256);
    guarded_tensor<plain_moment> alone(128);
    REQUIRE(host_codec<plain_moment>::compress(values.data(), both.view()) == status::success);
    REQUIRE(host_codec<plain_moment>::compress(values.data() + 128, alone.view()) == status::success);
    const std::vector<std::uint32_t> codes = both.codes();
    CHECK(std::all_of(codes.begin(), codes.begin() + 128, [](std::uint32_t code) { return code == 0; }));
    CHECK(std::equal(codes.begin() + 128, codes.end(), alone.codes().begin()));
    CHECK(both.scales()[1] == alone.scales()[0]);
}

TEST_CASE("S14 one huge outlier costs its own group only, also at the last place of a group")
{
    for (std::size_t position : {5u, 127u}) {
        std::vector<float> values(256, 1.0f);
        values[position] = 448000.0f;
        guarded_tensor<plain_moment> tensor(256);
        REQUIRE(host_codec<plain_moment>::compress(values.data(), tensor.view()) == status::success);
        const std::vector<std::uint32_t> codes = tensor.codes();
        for (std::size_t i = 0; i < 128; ++i) CHECK(codes[i] == (i == position ? 0x7Eu : 0x01u));
        for (std::size_t i = 128; i < 256; ++i) CHECK(codes[i] == 0x7Eu);
        CHECK(tensor.scales()[0] == encode<float32>(1000.0f));
        std::vector<float> decoded(256);
        REQUIRE(host_codec<plain_moment>::decode(tensor.view(), decoded.data()) == status::success);
        CHECK(decoded[200] == 1.0f);
    }
    // The per-tensor scale that groups are better than.
    std::vector<float> values(256, 1.0f);
    values[5] = 448000.0f;
    using one_scale = codec<e4m3, identity, per_tensor>;
    alignas(16) static unsigned char memory[512];
    const compressed_matrix<one_scale> matrix = matrix_layout<one_scale>{2, 128}.bind(memory);
    REQUIRE(host_codec<one_scale>::compress(matrix_ref<const float>{values.data(), 2, 128, 128}, matrix)
            == status::success);
    for (std::size_t i = 0; i < 256; ++i) CHECK(matrix.codes[i] == (i == 5 ? 0x7E : 0x01));
}

TEST_CASE("S18 encode takes the scales that it is given and saturates")
{
    const float values[5] = {10.0f, -10.0f, 4.6f, 4.65f, 0.01f};
    guarded_tensor<plain_moment> tensor(5);
    tensor.view().store(0, plain_moment::fit(0.01f));
    REQUIRE(host_codec<plain_moment>::encode(values, tensor.view()) == status::success);
    CHECK(tensor.codes() == std::vector<std::uint32_t>{0x7E, 0xFE, 0x7E, 0x7E, 0x38});
    CHECK(tensor.scales()[0] == encode<float32>(0.01f));
}

TEST_CASE("observe and fit on parts, then encode, equals compress")
{
    const std::vector<float> values = sample(128, 12);
    guarded_tensor<moment> in_one(128);
    guarded_tensor<moment> in_stages(128);
    REQUIRE(host_codec<moment>::compress(values.data(), in_one.view()) == status::success);
    auto known = host_codec<moment>::observe(values.data() + 50, 78);
    known.merge(host_codec<moment>::observe(values.data(), 50));
    in_stages.view().store(0, host_codec<moment>::fit(known));
    REQUIRE(host_codec<moment>::encode(values.data(), in_stages.view()) == status::success);
    CHECK(in_stages.codes() == in_one.codes());
    CHECK(in_stages.scales() == in_one.scales());
    CHECK(in_stages.exponents() == in_one.exponents());
}

TEST_CASE("compress takes a NaN policy, for groups and for tiles")
{
    std::vector<float> values = sample(256, 5);
    values[130] = std::numeric_limits<float>::infinity();
    guarded_tensor<moment> ignoring(256);
    REQUIRE(host_codec<moment>::compress(values.data(), ignoring.view()) == status::success);
    guarded_tensor<moment> tensor(256);
    const auto compress = [&](const auto& nan) {
        return host_codec<moment>::compress(values.data(), tensor.view(), nearest_even{}, gradual{}, nan);
    };
    CHECK(compress(flag_nan{}) == status::null_pointer);
    CHECK(tensor.codes() == std::vector<std::uint32_t>(256, canary));
    std::uint32_t flag = 0;
    REQUIRE(compress(flag_nan{&flag}) == status::success);
    CHECK(flag == 1);
    CHECK(tensor.codes() == ignoring.codes());
    REQUIRE(compress(propagate_nan{}) == status::success);
    CHECK(tensor.scales()[0] == ignoring.scales()[0]);
    CHECK(tensor.scales()[1] == 0x7FFFFFFFu);
    for (std::size_t i = 128; i < 256; ++i) CHECK(tensor.codes()[i] == 0x7Fu);

    alignas(16) static unsigned char memory[512];
    const compressed_matrix<activation> to = matrix_layout<activation>{2, 128}.bind(memory);
    const matrix_ref<const float> matrix{values.data(), 2, 128, 128};
    CHECK(host_codec<activation>::compress(matrix, to, nearest_even{}, gradual{}, flag_nan{}) == status::null_pointer);
    REQUIRE(host_codec<activation>::compress(matrix, to, nearest_even{}, gradual{}, propagate_nan{}) == status::success);
    for (int tile = 0; tile < 16; ++tile) CHECK((to.scales[tile] == 0x7FFF) == (tile == 8));
}

TEST_CASE("zeroed memory is a tensor of zeros")
{
    const storage_layout<moment> layout{1000};
    std::vector<std::uint32_t> memory(static_cast<std::size_t>(layout.bytes() / 4 + 4), 0u);
    std::vector<float> decoded(1000, 5.0f);
    unsigned char* base = reinterpret_cast<unsigned char*>(memory.data());
    REQUIRE(host_codec<moment>::decode(layout.bind(base), decoded.data()) == status::success);
    CHECK(std::all_of(decoded.begin(), decoded.end(), [](float value) { return bits_of(value) == 0u; }));
}

TEST_CASE_TEMPLATE("tiles of a strided matrix, padding neither read nor written", Codec, activation,
    expanded_activation, row_scaled, tensor_scaled)
{
    struct shape {
        index_t rows, columns, stride, code_stride, scale_padding;
    };
    for (const shape& size :
        {shape{1, 1, 1, 1, 0}, shape{1, 16, 16, 16, 0}, shape{5, 40, 43, 51, 2}, shape{6, 48, 48, 48, 0},
            shape{7, 100, 101, 100, 1}, shape{0, 16, 16, 16, 0}, shape{3, 0, 4, 4, 0}}) {
        CAPTURE(size.rows);
        CAPTURE(size.columns);
        // Padding of the input is huge and NaN in turn: in a statistic either would show.
        std::vector<float> values(static_cast<std::size_t>(size.rows * size.stride), 0.0f);
        const std::vector<float> random = sample(size.rows * size.stride, 15);
        for (index_t row = 0; row < size.rows; ++row) {
            for (index_t column = 0; column < size.stride; ++column) {
                const std::size_t at = static_cast<std::size_t>(row * size.stride + column);
                values[at] =
                    column < size.columns ? random[at] : (row % 2 == 0 ? 3e38f : float_of(0x7FFFFFFFu));
            }
        }
        const matrix_layout<Codec> layout{size.rows, size.columns};
        const index_t scale_stride = layout.row_tiles() + size.scale_padding;
        const index_t tile_rows = layout.tiles() == 0 ? 0 : layout.tiles() / layout.row_tiles();
        std::vector<std::uint8_t> codes(static_cast<std::size_t>(size.rows * size.code_stride) + 1, canary);
        std::vector<typename Codec::scale_code_type> scales(
            static_cast<std::size_t>(tile_rows * scale_stride) + 1, 0xC7C7);
        std::vector<std::uint8_t> exponents(scales.size(), canary);
        const compressed_matrix<Codec> to{codes.data(), scales.data(),
            Codec::has_exponent ? exponents.data() : nullptr, size.rows, size.columns, size.code_stride,
            scale_stride};
        REQUIRE(host_codec<Codec>::compress(
                    matrix_ref<const float>{values.data(), size.rows, size.columns, size.stride}, to)
                == status::success);

        std::vector<float> decoded(values.size() + 1, -77.0f);
        REQUIRE(host_codec<Codec>::decode(
                    to, matrix_ref<float>{decoded.data(), size.rows, size.columns, size.stride})
                == status::success);

        std::size_t scales_written = 0;
        for (index_t tile_row = 0; tile_row < tile_rows; ++tile_row) {
            for (index_t tile_column = 0; tile_column < layout.row_tiles(); ++tile_column) {
                typename Codec::statistic known;
                const auto each_element = [&](auto act) {
                    for (index_t row = tile_row * to.tile_rows();
                         row < std::min(size.rows, (tile_row + 1) * to.tile_rows()); ++row) {
                        for (index_t column = tile_column * to.tile_columns();
                             column < std::min(size.columns, (tile_column + 1) * to.tile_columns());
                             ++column) {
                            act(row, column, values[static_cast<std::size_t>(row * size.stride + column)]);
                        }
                    }
                };
                each_element([&](index_t, index_t, float value) { known.observe(value); });
                const auto with = Codec::fit(known);
                const std::size_t tile = static_cast<std::size_t>(tile_row * scale_stride + tile_column);
                CHECK(scales[tile] == Codec::scale_code(with));
                if (Codec::has_exponent) CHECK(exponents[tile] == Codec::exponent_code(with));
                ++scales_written;
                bool agrees = true;
                each_element([&](index_t row, index_t column, float value) {
                    const auto code = codes[static_cast<std::size_t>(row * size.code_stride + column)];
                    agrees = agrees && code == Codec::encode(value, with)
                             && decoded[static_cast<std::size_t>(row * size.stride + column)]
                                    == Codec::decode(code, with);
                });
                CHECK(agrees);
            }
        }
        const auto count_of = [](const auto& all, auto value) {
            return static_cast<std::size_t>(std::count(all.begin(), all.end(), value));
        };
        CHECK(count_of(scales, static_cast<typename Codec::scale_code_type>(0xC7C7))
              == scales.size() - scales_written);
        bool padding_is_intact = codes.back() == canary && decoded.back() == -77.0f;
        for (index_t row = 0; row < size.rows; ++row) {
            for (index_t column = size.columns; column < size.code_stride; ++column) {
                padding_is_intact =
                    padding_is_intact
                    && codes[static_cast<std::size_t>(row * size.code_stride + column)] == canary;
            }
            for (index_t column = size.columns; column < size.stride; ++column) {
                padding_is_intact =
                    padding_is_intact
                    && decoded[static_cast<std::size_t>(row * size.stride + column)] == -77.0f;
            }
        }
        CHECK(padding_is_intact);
    }
}

TEST_CASE("a matrix takes its random bits by row and column, whatever its stride")
{
    const std::vector<float> values = sample(4 * 32, 21);
    const stochastic source{3, 8};
    std::vector<std::uint8_t> dense(4 * 32);
    std::vector<std::uint8_t> padded(4 * 40);
    std::vector<std::uint16_t> scales(8);
    const matrix_ref<const float> from{values.data(), 4, 32, 32};
    REQUIRE(host_codec<activation>::compress(from,
                compressed_matrix<activation>{dense.data(), scales.data(), nullptr, 4, 32, 32, 2}, source)
            == status::success);
    REQUIRE(host_codec<activation>::compress(from,
                compressed_matrix<activation>{padded.data(), scales.data(), nullptr, 4, 32, 40, 2}, source)
            == status::success);
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(std::equal(dense.begin() + static_cast<std::ptrdiff_t>(row * 32),
            dense.begin() + static_cast<std::ptrdiff_t>(row * 32 + 32),
            padded.begin() + static_cast<std::ptrdiff_t>(row * 40)));
    }
}

TEST_CASE("misuse of a matrix view is answered, not carried out")
{
    const std::vector<float> values = sample(4 * 32);
    std::vector<std::uint8_t> codes(4 * 32, canary);
    std::vector<std::uint16_t> scales(8, 0xC7C7);
    const matrix_ref<const float> from{values.data(), 4, 32, 32};
    const compressed_matrix<activation> right{codes.data(), scales.data(), nullptr, 4, 32, 32, 2};
    const auto answer = [&](auto change) {
        matrix_ref<const float> changed_from = from;
        compressed_matrix<activation> changed_to = right;
        change(changed_from, changed_to);
        return host_codec<activation>::compress(changed_from, changed_to);
    };
    CHECK(answer([](auto& matrix, auto&) { matrix.rows = 3; }) == status::size_mismatch);
    CHECK(answer([](auto& matrix, auto&) { matrix.columns = 31; }) == status::size_mismatch);
    CHECK(answer([](auto& matrix, auto&) { matrix.stride = 31; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.stride = 31; }) == status::size_mismatch);
    CHECK(answer([](auto&, auto& to) { to.scale_stride = 1; }) == status::size_mismatch);
    CHECK(answer([](auto& matrix, auto&) { matrix.data = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto& to) { to.codes = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto&, auto& to) { to.scales = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto& matrix, auto& to) { matrix.rows = to.rows = -1; }) == status::negative_count);
    CHECK(std::all_of(codes.begin(), codes.end(), [](std::uint8_t code) { return code == canary; }));
    CHECK(answer([](auto&, auto&) {}) == status::success);
}
