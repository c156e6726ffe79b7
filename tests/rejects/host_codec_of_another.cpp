// expect: "gesso::host_codec: the view is of another codec, or is one that only reads"
#include <gesso/level/host.hpp>

using one = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
using another = gesso::codec<gesso::e5m2, gesso::identity, gesso::per_group<128>>;

gesso::status sound(const float* values, const gesso::compressed_ref<one>& to)
{
    return gesso::host_codec<one>::compress(values, to);
}

#ifdef REJECT
gesso::status unsound(const float* values, const gesso::compressed_ref<another>& to)
{
    return gesso::host_codec<one>::compress(values, to);
}
#endif
