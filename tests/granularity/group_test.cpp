// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Who shares a scale: the extents that each granularity announces, as a user's own granularity would.
#include <doctest/doctest.h>

#include <gesso/granularity/group.hpp>

#include <limits>

namespace {

struct groups_of_48 {
    static constexpr gesso::index_t group_size = 48;
};
struct tiles_of_8_by_32 {
    static constexpr gesso::index_t tile_rows = 8;
    static constexpr gesso::index_t tile_columns = 32;
};

}  // namespace

TEST_CASE("granularities are flat, tiled, or both, by their members alone")
{
    using namespace gesso;
    static_assert(per_group<128>::group_size == 128, "");
    static_assert(detail::is_flat<per_group<128>> && !detail::is_tiled<per_group<128>>, "");
    static_assert(!detail::is_flat<per_tile<1, 16>> && detail::is_tiled<per_tile<1, 16>>, "");
    static_assert(detail::is_tiled<per_row> && detail::is_tiled<per_column> && detail::is_tiled<per_tensor>, "");
    static_assert(detail::is_flat<unscaled> && detail::is_tiled<unscaled>, "");
    static_assert(detail::is_flat<groups_of_48> && detail::is_tiled<tiles_of_8_by_32>, "");
    CHECK(per_tile<2, 16>::tile_rows == 2);
    CHECK(per_tile<2, 16>::tile_columns == 16);
}

TEST_CASE("a ragged rest is one more part, also far beyond 2^31")
{
    using gesso::detail::parts;
    CHECK(parts(0, 128) == 0);
    CHECK(parts(1, 128) == 1);
    CHECK(parts(127, 128) == 1);
    CHECK(parts(128, 128) == 1);
    CHECK(parts(129, 128) == 2);
    CHECK(parts(gesso::index_t{1} << 33, 128) == gesso::index_t{1} << 26);
    const gesso::index_t largest = std::numeric_limits<gesso::index_t>::max();
    CHECK(parts(largest, 1) == largest);
    CHECK(parts(largest, 2) == (gesso::index_t{1} << 62));  // no overflow on the way
}
