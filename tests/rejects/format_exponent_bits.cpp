// expect: "gesso::float_format: ExponentBits is 2 to 8, so that every value is an fp32 number"
#include <gesso/encoding/format.hpp>

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
static_assert(e3m4::bits == 8);

#ifdef REJECT
using format = gesso::float_format<1, 11, 4, gesso::special::ieee>;
constexpr int bits = format::bits;
#endif
