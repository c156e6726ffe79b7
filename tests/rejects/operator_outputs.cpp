// expect: "gesso::pointwise: as many sinks as the operator has outputs"
#include <gesso/operator/pointwise.hpp>

gesso::status sound(const gesso::matrix_ref<float>& x)
{
    return gesso::host_pointwise<gesso::residual_add<>>(gesso::sources_of(x, x), gesso::sinks_of(x, x));
}

#ifdef REJECT
gesso::status unsound(const gesso::matrix_ref<float>& x)
{
    return gesso::host_pointwise<gesso::residual_add<>>(gesso::sources_of(x, x), gesso::sinks_of(x));
}
#endif
