// expect: "gesso::transpose: the output must be a writable view of transposed_codec of the input's codec"
#include <gesso/operator/quantize.hpp>

using wide = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 16>>;
using tall = gesso::transposed_codec<wide>;

gesso::status sound(const gesso::compressed_matrix<const wide>& from, const gesso::compressed_matrix<tall>& to)
{
    return gesso::host_transpose(from, to);
}

#ifdef REJECT
gesso::status unsound(const gesso::compressed_matrix<const wide>& from, const gesso::compressed_matrix<wide>& to)
{
    return gesso::host_transpose(from, to);
}
#endif
