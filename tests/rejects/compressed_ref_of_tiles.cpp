// expect: "gesso::compressed_ref: the codec's granularity must have `group_size`"
#include <gesso/layout.hpp>

using flat = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
gesso::index_t count(const gesso::compressed_ref<flat>& view) { return view.count; }

#ifdef REJECT
using tiled = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 16>>;
gesso::index_t count(const gesso::compressed_ref<tiled>& view) { return view.count; }
#endif
