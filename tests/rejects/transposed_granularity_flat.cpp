// expect: "gesso::transposed_granularity: groups of a flat tensor have no transpose"
#include <gesso/matrix_layout.hpp>

gesso::transposed_granularity<gesso::per_tile<1, 16>> tall;

#ifdef REJECT
gesso::transposed_granularity<gesso::per_group<128>> none;
#endif
