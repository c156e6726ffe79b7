// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Bytes, alignment, packing and the counting of groups, against counting by walking element by element.
#include <doctest/doctest.h>

#include <gesso/layout.hpp>

#include "support/formats.hpp"
#include "support/generators.hpp"

#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

using namespace gesso;

namespace {

using moment = codec<e4m3, dynamic_power<>, per_group<128>>;
using plain_moment = codec<e4m3, identity, per_group<128>>;
using packed_moment = codec<e2m1, identity, per_group<32>>;
using fp32_moment = codec<float32, identity, unscaled>;

static_assert(
    std::is_trivially_copyable<compressed_ref<moment>>::value, "views are passed by value into kernels");
static_assert(std::is_trivially_copyable<storage_layout<moment>>::value, "so are layouts");
static_assert(std::is_convertible<compressed_ref<moment>, compressed_ref<const moment>>::value,
    "writing allows reading");
static_assert(
    !std::is_convertible<compressed_ref<const moment>, compressed_ref<moment>>::value, "but not the reverse");

// The group of an element, as (row, number of the group in the row).
std::pair<index_t, index_t> group_of(index_t element, index_t row_length, index_t group_size)
{
    if (row_length == 0) return {0, element / group_size};
    return {element / row_length, element % row_length / group_size};
}

}  // namespace

TEST_CASE("groups are counted as by walking the elements, for any row length and shard")
{
    for (index_t group_size : {1, 3, 8, 16, 128}) {
        for (index_t row_length : {0, 1, 7, 16, 100, 128, 130}) {
            for (index_t first : {0, 8, 128, 260, 384}) {
                for (index_t count : {0, 1, 2, 15, 16, 127, 128, 129, 500}) {
                    const detail::flat_groups groups{first, count, row_length, group_size};
                    const index_t place = row_length == 0 ? first : first % row_length;
                    CHECK(groups.starts_a_group() == (place % group_size == 0));
                    if (!groups.starts_a_group()) continue;

                    std::set<std::pair<index_t, index_t>> seen;
                    bool agrees = true;
                    for (index_t i = 0; i < count; ++i) {
                        const auto group = group_of(first + i, row_length, group_size);
                        const bool is_new = seen.insert(group).second;
                        const index_t local = static_cast<index_t>(seen.size()) - 1;
                        agrees = agrees && groups.group_of(i) == local
                                 && (!is_new || groups.begin(local) == i) && groups.begin(local) <= i
                                 && i < groups.end(local);
                    }
                    INFO("group size ", group_size, ", row length ", row_length, ", first ", first,
                        ", count ", count);
                    CHECK(agrees);
                    CHECK(groups.groups() == static_cast<index_t>(seen.size()));
                    if (count > 0) CHECK(groups.end(groups.groups() - 1) == count);
                }
            }
        }
    }
}

TEST_CASE("groups are counted right beyond 2^31 elements")
{
    const index_t count = (index_t{1} << 33) + 5;
    const detail::flat_groups groups{0, count, 0, 128};
    CHECK(groups.groups() == (index_t{1} << 26) + 1);
    CHECK(groups.begin(index_t{1} << 26) == index_t{1} << 33);
    CHECK(groups.end(index_t{1} << 26) == count);
    CHECK(groups.group_of(count - 1) == index_t{1} << 26);
    CHECK(storage_layout<moment>{count}.bytes() > count + 5 * (index_t{1} << 26));
}

TEST_CASE("a moment takes a byte an element and five bytes a group")
{
    constexpr storage_layout<moment> layout{1 << 20};
    static_assert(layout.groups() == 8192, "");
    static_assert(layout.bytes() == (1 << 20) + 8192 * 5, "");
    CHECK(storage_layout<plain_moment>{1 << 20}.bytes() == (1 << 20) + 8192 * 4);
    CHECK(storage_layout<fp32_moment>{1000}.bytes() == 4000);
    CHECK(storage_layout<packed_moment>{64}.bytes() == 32 + 16);
    CHECK(storage_layout<packed_moment>{65}.groups() == 3);
    CHECK(storage_layout<packed_moment>{65}.scales_offset() == 48);  // 33 bytes of codes
    CHECK(storage_layout<moment>{0}.bytes() == 0);
    CHECK(storage_layout<moment>{1}.bytes() == 16 + 16 + 16);
    CHECK(storage_layout<moment>{1000, 100}.groups() == 10);
    CHECK(storage_layout<moment>{1000, 130}.groups()
          == 15);  // seven full rows of two groups and a last row of one
}

TEST_CASE_TEMPLATE("the parts of a bound view lie in order, apart, aligned and inside", Codec, moment,
    plain_moment, packed_moment, fp32_moment)
{
    using code_type = typename Codec::code_type;
    alignas(16) static unsigned char memory[1 << 14];
    for (index_t count : {0, 1, 15, 16, 17, 127, 128, 129, 1000}) {
        for (index_t row_length : {0, 100}) {
            CAPTURE(count);
            const storage_layout<Codec> layout{count, row_length};
            REQUIRE(layout.bytes() <= static_cast<index_t>(sizeof memory));
            const compressed_ref<Codec> view = layout.bind(memory);
            CHECK(view.count == count);
            if (count == 0) continue;
            CHECK(view.row_length == row_length);
            CHECK(view.groups().groups() == layout.groups());
            const auto offset = [](const void* part) {
                return static_cast<const unsigned char*>(part) - memory;
            };
            index_t end = offset(view.codes) + detail::parts(count * Codec::format::bits, 8);
            CHECK(offset(view.codes) == 0);
            CHECK((view.scales != nullptr) == Codec::has_scale);
            CHECK((view.exponents != nullptr) == Codec::has_exponent);
            if (Codec::has_scale) {
                CHECK(offset(view.scales) >= end);
                CHECK(offset(view.scales) % 16 == 0);
                end = offset(view.scales)
                      + layout.groups() * static_cast<index_t>(sizeof(typename Codec::scale_code_type));
            }
            if (Codec::has_exponent) {
                CHECK(offset(view.exponents) >= end);
                CHECK(offset(view.exponents) % 16 == 0);
                end = offset(view.exponents) + layout.groups();
            }
            CHECK(end <= layout.bytes());
            CHECK(layout.bytes() % static_cast<index_t>(sizeof(code_type)) == 0);
        }
    }
}

TEST_CASE("codes of four bits are packed two a byte, the first in the low half")
{
    std::uint8_t bytes[3] = {0xFF, 0xFF, 0xFF};
    store_code<e2m1>(bytes, 0, 0x3);
    CHECK(bytes[0] == 0xF3);
    store_code<e2m1>(bytes, 1, 0xA);
    CHECK(bytes[0] == 0xA3);
    store_code<e2m1>(bytes, 2, 0x5);
    CHECK(bytes[1] == 0xF5);
    CHECK(bytes[2] == 0xFF);

    generator::random_source random(2);
    std::vector<std::uint8_t> packed(500, 0xEE);
    std::vector<std::uint8_t> plain(1000);
    for (int i = 0; i < 20000; ++i) {
        const std::size_t where = random.below(plain.size());
        plain[where] = static_cast<std::uint8_t>(random.below(16));
        store_code<e2m1>(packed.data(), static_cast<index_t>(where), plain[where]);
    }
    for (std::size_t i = 0; i < plain.size(); ++i) {
        CHECK(load_code<e2m1>(packed.data(), static_cast<index_t>(i)) == plain[i]);
    }
}

TEST_CASE("the parameters of a group are stored and loaded in its own place")
{
    alignas(16) static unsigned char memory[1024];
    const compressed_ref<moment> view = storage_layout<moment>{300}.bind(memory);
    range_statistic known;
    known.observe(3.0f);
    known.observe(0.01f);
    view.store(1, moment::fit(known));
    CHECK(view.scales[0] == 0u);
    CHECK(view.scales[1] == encode<float32>(3.0f));
    CHECK(view.scales[2] == 0u);
    CHECK(view.exponents[0] == 0);
    CHECK(view.exponents[1] > 0);
    const compressed_ref<const moment> reading = view;
    CHECK(moment::decode(0x7E, reading.load(1)) == 3.0f);
    CHECK(moment::decode(0x7E, reading.load(2)) == 0.0f);  // zero bytes are zeros
}
