// expect: "gesso::codec: a format with 8 exponent bits spans fp32's whole range and takes no scale"
#include <gesso/codec.hpp>

using sound = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
static_assert(sound::has_scale);

#ifdef REJECT
using unsound = gesso::codec<gesso::bfloat16, gesso::identity, gesso::per_group<32>>;
static_assert(unsound::has_scale || true);
#endif
