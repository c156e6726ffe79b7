// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Tiles, bytes and places of scales of compressed matrices and their transposes.
#include <doctest/doctest.h>

#include <gesso/matrix_layout.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

using namespace gesso;

namespace {

using activation = codec<e4m3, identity, per_tile<1, 16>, bfloat16>;
using block_tile = codec<e5m2, identity, per_tile<128, 128>>;
using row_scaled = codec<e4m3, identity, per_row>;
using tensor_scaled = codec<e4m3, identity, per_tensor>;
using microscaled = codec<e4m3, identity, per_tile<1, 32>, e8m0>;
using expanded = codec<e4m3, dynamic_power<>, per_tile<2, 24>, bfloat16>;

struct own_tiles {
    static constexpr index_t tile_rows = 8;
    static constexpr index_t tile_columns = 0;
};
using own = codec<e4m3, identity, own_tiles>;

static_assert(
    std::is_trivially_copyable<compressed_matrix<activation>>::value, "views are passed by value into kernels");
static_assert(std::is_trivially_copyable<quantized_matrix<activation>>::value, "so are pairs of them");
static_assert(std::is_convertible<compressed_matrix<activation>, compressed_matrix<const activation>>::value,
    "writing allows reading");

}  // namespace

TEST_CASE("tiles and bytes of a matrix, by tensor, row, column and tile")
{
    CHECK(matrix_layout<activation>{3, 40}.tiles() == 9);
    CHECK(matrix_layout<activation>{4, 64}.bytes() == 256 + 16 * 2);
    CHECK(matrix_layout<block_tile>{129, 128}.tiles() == 2);
    CHECK(matrix_layout<activation>{0, 40}.bytes() == 0);
    CHECK(matrix_layout<activation>{3, 0}.bytes() == 0);
    CHECK(matrix_layout<tensor_scaled>{7, 9}.tiles() == 1);
    CHECK(matrix_layout<row_scaled>{7, 9}.tiles() == 7);
    CHECK(matrix_layout<transposed_codec<row_scaled>>{7, 9}.tiles() == 9);
    // Empty matrices have no tiles, whatever shares a scale.
    CHECK(matrix_layout<tensor_scaled>{0, 9}.tiles() == 0);
    CHECK(matrix_layout<row_scaled>{7, 0}.tiles() == 0);
    CHECK(matrix_layout<own>{0, 0}.bytes() == 0);
    // Beyond 2^31 elements and 65,535 rows of tiles.
    CHECK(matrix_layout<activation>{index_t{1} << 20, 1 << 13}.tiles() == index_t{1} << 29);
    CHECK(matrix_layout<activation>{index_t{1} << 20, 1 << 13}.bytes() == (index_t{1} << 33) + (index_t{1} << 30));
}

TEST_CASE("a bound matrix has its rows and tiles one after the other")
{
    alignas(16) static unsigned char memory[4096];
    const matrix_layout<activation> layout{5, 40};
    const compressed_matrix<activation> view = layout.bind(memory);
    CHECK(view.rows == 5);
    CHECK(view.columns == 40);
    CHECK(view.stride == 40);
    CHECK(view.scale_stride == 3);
    CHECK(reinterpret_cast<unsigned char*>(view.scales) - memory == 208);
    CHECK(view.exponents == nullptr);
    CHECK(layout.bytes() == 208 + 32);
    CHECK(view.tile_rows() == 1);
    CHECK(view.tile_columns() == 16);
    CHECK(view.order == scale_order::row_major);
    CHECK(view.scale_index(4, 2) == 14);
    const compressed_matrix<const activation> reading = view;
    CHECK(reading.scale_index(4, 2) == 14);

    const matrix_layout<expanded> with_exponents{5, 40};
    const compressed_matrix<expanded> bound = with_exponents.bind(memory);
    CHECK(bound.exponents - memory == 208 + 16);
    CHECK(with_exponents.bytes() == 208 + 16 + 16);
}

TEST_CASE("transposed granularities and codecs, and back")
{
    using std::is_same_v;
    static_assert(is_same_v<transposed_granularity<per_tile<1, 16>>, per_tile<16, 1>>, "");
    static_assert(is_same_v<transposed_granularity<per_row>, per_column>, "");
    static_assert(is_same_v<transposed_granularity<per_column>, per_row>, "");
    static_assert(is_same_v<transposed_granularity<per_tensor>, per_tensor>, "");
    static_assert(is_same_v<transposed_granularity<unscaled>, unscaled>, "");
    static_assert(transposed_granularity<own_tiles>::tile_rows == 0, "");
    static_assert(transposed_granularity<own_tiles>::tile_columns == 8, "");
    static_assert(is_same_v<transposed_granularity<transposed_granularity<own_tiles>>, own_tiles>, "");
    static_assert(is_same_v<transposed_codec<activation>, codec<e4m3, identity, per_tile<16, 1>, bfloat16>>, "");
    static_assert(is_same_v<transposed_codec<transposed_codec<own>>, own>, "");
    static_assert(is_same_v<decltype(quantized_matrix<row_scaled>::transposed),
                      compressed_matrix<codec<e4m3, identity, per_column>>>,
        "");
    CHECK(matrix_layout<activation>{5, 40}.tiles() == matrix_layout<transposed_codec<activation>>{40, 5}.tiles());
}

TEST_CASE("scales in cuBLASLt's order: blocks of 128 x 4, each scale in a place of its own, edge blocks whole")
{
    // Counted out by walking the blocks, as the manual draws them: 32 lines of 16 bytes, each of 4 rows by 4 columns.
    for (const index_t rows : {1, 31, 128, 129, 300}) {
        for (const index_t columns : {1, 32, 128, 129, 700}) {
            CAPTURE(rows);
            CAPTURE(columns);
            const matrix_layout<microscaled> layout{rows, columns, scale_order::cublaslt};
            std::vector<unsigned char> memory(static_cast<std::size_t>(layout.bytes()) + 16);
            const compressed_matrix<microscaled> view = layout.bind(memory.data());
            const index_t across = (columns + 31) / 32;
            const index_t blocks_down = (rows + 127) / 128;
            const index_t blocks_across = (across + 3) / 4;
            CHECK(layout.stored_scales() == blocks_down * blocks_across * 512);
            CHECK(layout.bytes() == (rows * columns + 15) / 16 * 16 + layout.stored_scales());
            CHECK(layout.tiles() == rows * across);
            CHECK(view.scale_stride == blocks_across * 4);
            index_t place = 0;
            bool agrees = true;
            for (index_t block_row = 0; block_row < blocks_down; ++block_row) {
                for (index_t block_column = 0; block_column < blocks_across; ++block_column) {
                    for (index_t line = 0; line < 32; ++line) {
                        for (index_t quarter = 0; quarter < 4; ++quarter) {
                            for (index_t column = 0; column < 4; ++column, ++place) {
                                agrees = agrees
                                         && view.scale_index(
                                                block_row * 128 + quarter * 32 + line, block_column * 4 + column)
                                                == place;
                            }
                        }
                    }
                }
            }
            CHECK(agrees);
            CHECK(place == layout.stored_scales());
        }
    }
}

TEST_CASE("the check of a view finds what does not fit")
{
    alignas(16) static unsigned char memory[4096];
    const auto microscaled_view = matrix_layout<microscaled>{5, 40, scale_order::cublaslt}.bind(memory);
    CHECK(detail::check(microscaled_view) == status::success);
    const auto answer = [&](auto change) {
        auto changed = microscaled_view;
        change(changed);
        return detail::check(changed);
    };
    CHECK(answer([](auto& view) { view.rows = -1; }) == status::negative_count);
    CHECK(answer([](auto& view) { view.columns = -1; }) == status::negative_count);
    CHECK(answer([](auto& view) { view.stride = 39; }) == status::size_mismatch);
    CHECK(answer([](auto& view) { view.scale_stride = 0; }) == status::size_mismatch);
    CHECK(answer([](auto& view) { view.scale_stride = 6; }) == status::invalid_scale_order);
    CHECK(answer([](auto& view) { view.codes = nullptr; }) == status::null_pointer);
    CHECK(answer([](auto& view) { view.scales = nullptr; }) == status::null_pointer);
    // Only scales of one byte have the order, and only codecs with scales.
    CHECK(detail::check(matrix_layout<activation>{5, 40, scale_order::cublaslt}.bind(memory))
          == status::invalid_scale_order);
    CHECK(detail::check(matrix_layout<codec<bfloat16, identity, unscaled>>{5, 40, scale_order::cublaslt}.bind(memory))
          == status::invalid_scale_order);
}
