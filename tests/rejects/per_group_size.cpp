// expect: "gesso::per_group: a group has at least one element"
#include <gesso/granularity/group.hpp>

static_assert(gesso::per_group<128>::group_size == 128);

#ifdef REJECT
static_assert(gesso::per_group<0>::group_size == 0);
#endif
