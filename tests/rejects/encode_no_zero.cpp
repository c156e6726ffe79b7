// expect: "gesso::encode: a format without zero has 8 exponent bits, as E8M0 has"
#include <gesso/encoding/convert.hpp>

static_assert(gesso::encode<gesso::e8m0>(1.0f) == 127);

#ifdef REJECT
struct e4m0 : gesso::float_format<0, 4, 0, gesso::special::finite_nan_no_zero> {};
constexpr auto code = gesso::encode<e4m0>(1.0f);
#endif
