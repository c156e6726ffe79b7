// expect: "gesso::codec: an expanded group needs a format with zero"
#include <gesso/codec.hpp>

using sound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
static_assert(sound::has_scale);

#ifdef REJECT
using unsound = gesso::codec<gesso::e8m0, gesso::power<2>, gesso::per_group<32>>;
static_assert(unsound::has_scale || true);
#endif
