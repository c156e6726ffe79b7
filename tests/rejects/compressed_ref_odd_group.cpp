// expect: "gesso::compressed_ref: a group must fill its bytes, or a shard could not begin at one"
#include <gesso/layout.hpp>

struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
template<int GroupSize>
using packed = gesso::codec<e2m1, gesso::identity, gesso::per_group<GroupSize>>;
gesso::index_t count(const gesso::compressed_ref<packed<16>>& view) { return view.count; }

#ifdef REJECT
gesso::index_t count(const gesso::compressed_ref<packed<15>>& view) { return view.count; }
#endif
