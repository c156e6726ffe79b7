// expect: "gesso::sources_of: a source is a matrix_ref or a compressed_matrix"
#include <gesso/operator/pointwise.hpp>

gesso::status sound(const gesso::quantized_matrix<gesso::product_codec>& x, const gesso::matrix_ref<float>& y)
{
    return gesso::host_pointwise<gesso::silu>(gesso::sources_of(x.plain), gesso::sinks_of(y));
}

#ifdef REJECT
gesso::status unsound(const gesso::quantized_matrix<gesso::product_codec>& x, const gesso::matrix_ref<float>& y)
{
    return gesso::host_pointwise<gesso::silu>(gesso::sources_of(x), gesso::sinks_of(y));
}
#endif
