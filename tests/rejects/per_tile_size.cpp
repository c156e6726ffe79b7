// expect: "gesso::per_tile: a tile has at least one row and one column"
#include <gesso/granularity/group.hpp>

static_assert(gesso::per_tile<1, 16>::tile_columns == 16);

#ifdef REJECT
static_assert(gesso::per_tile<1, 0>::tile_rows == 1);
#endif
