// expect: "gesso::codec: an expanded group stores its amax, and zero for an all-zero group"
#include <gesso/codec.hpp>

using sound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
static_assert(sound::has_scale);

#ifdef REJECT
using unsound = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<32>, gesso::e8m0>;
static_assert(unsound::has_scale || true);
#endif
