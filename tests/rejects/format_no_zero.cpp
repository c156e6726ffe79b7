// expect: "gesso::float_format: a format without zero is unsigned and has no mantissa"
#include <gesso/encoding/format.hpp>

static_assert(!gesso::e8m0::has_zero);

#ifdef REJECT
using format = gesso::float_format<1, 8, 0, gesso::special::finite_nan_no_zero>;
constexpr int bits = format::bits;
#endif
