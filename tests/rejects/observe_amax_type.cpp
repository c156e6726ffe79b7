// expect: "gesso::observe: an amax must hold the values' own numbers"
#include <gesso/operator/quantize.hpp>

using unit = gesso::per_tile<1, 16>;

gesso::status sound(const gesso::matrix_ref<const gesso::bf16>& values, const gesso::matrix_ref<gesso::bf16>& amax)
{
    return gesso::host_observe<unit>(values, amax);
}

#ifdef REJECT
gesso::status unsound(const gesso::matrix_ref<const float>& values, const gesso::matrix_ref<gesso::bf16>& amax)
{
    return gesso::host_observe<unit>(values, amax);
}
#endif
