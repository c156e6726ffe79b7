// expect: "gesso::thread_codec: ItemsPerThread is at least 1"
#include <gesso/level/thread.hpp>

using flat = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
using four = gesso::thread_codec<flat, 4>;
float amax(const four::items& values) { return four::observe(values).amax(); }

#ifdef REJECT
using none = gesso::thread_codec<flat, 0>;
float amax() { return none::fit({}).scale; }
#endif
