// expect: "gesso::sinks_of: a sink is a writable matrix_ref, compressed_matrix or quantized_matrix"
#include <gesso/operator/pointwise.hpp>

gesso::status sound(const gesso::matrix_ref<const float>& x, const gesso::matrix_ref<float>& y)
{
    return gesso::host_pointwise<gesso::silu>(gesso::sources_of(x), gesso::sinks_of(y));
}

#ifdef REJECT
gesso::status unsound(const gesso::matrix_ref<const float>& x, const gesso::matrix_ref<const float>& y)
{
    return gesso::host_pointwise<gesso::silu>(gesso::sources_of(x), gesso::sinks_of(y));
}
#endif
