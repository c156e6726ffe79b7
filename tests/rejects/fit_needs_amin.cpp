// expect: "gesso::fit: an amax is not all that this codec must know of a group"
#include <gesso/operator/quantize.hpp>

using plain = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 16>>;
using expanded = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_tile<1, 16>>;

gesso::status sound(const gesso::matrix_ref<const float>& amax, const gesso::compressed_matrix<plain>& to)
{
    return gesso::host_fit(amax, to);
}

#ifdef REJECT
gesso::status unsound(const gesso::matrix_ref<const float>& amax, const gesso::compressed_matrix<expanded>& to)
{
    return gesso::host_fit(amax, to);
}
#endif
