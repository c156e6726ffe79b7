// expect: "gesso::codec: an expansion needs a group to take its range from"
#include <gesso/codec.hpp>

using sound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
static_assert(sound::has_scale);

#ifdef REJECT
using unsound = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::unscaled>;
static_assert(unsound::has_scale || true);
#endif
