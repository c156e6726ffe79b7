// expect: "gesso::pointwise: as many sources as the operator has inputs"
#include <gesso/operator/norm.hpp>

using rms_memory = gesso::row_memory<gesso::rms_norm_backward, float>;

gesso::status sound(const gesso::matrix_ref<float>& x, const rms_memory& memory)
{
    return gesso::host_by_rows(gesso::sources_of(x, x), memory, gesso::sinks_of(x));
}

#ifdef REJECT
gesso::status unsound(const gesso::matrix_ref<float>& x, const rms_memory& memory)
{
    return gesso::host_by_rows(gesso::sources_of(x), memory, gesso::sinks_of(x));
}
#endif
