// expect: "gesso::codec: only a plain group can take a given scale; an expanded group is fitted"
#include <gesso/codec.hpp>

using plain = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
float scale() { return plain::fit(0.5f).scale; }

#ifdef REJECT
using expanded = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<128>>;
float amax() { return expanded::fit(0.5f).amax; }
#endif
