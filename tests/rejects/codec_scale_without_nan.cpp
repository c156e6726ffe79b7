// expect: "gesso::codec: ScaleFormat needs a NaN, so that a missing scale is not taken for a number"
#include <gesso/codec.hpp>

using sound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
static_assert(sound::has_scale);

#ifdef REJECT
struct e5m3 : gesso::float_format<0, 5, 3, gesso::special::none> {};
using unsound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<16>, e5m3>;
static_assert(unsound::has_scale || true);
#endif
