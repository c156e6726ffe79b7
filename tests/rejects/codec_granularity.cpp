// expect: "gesso::codec: Granularity must have `group_size` (flat tensors)"
#include <gesso/codec.hpp>

using sound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
static_assert(sound::has_scale);

#ifdef REJECT
struct no_granularity {};
using unsound = gesso::codec<gesso::e4m3, gesso::identity, no_granularity>;
static_assert(unsound::has_scale || true);
#endif
