// expect: "gesso::float_format: MantissaBits is 0 to 23, so that every value is an fp32 number"
#include <gesso/encoding/format.hpp>

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
static_assert(e3m4::bits == 8);

#ifdef REJECT
using format = gesso::float_format<1, 5, 24, gesso::special::ieee>;
constexpr int bits = format::bits;
#endif
