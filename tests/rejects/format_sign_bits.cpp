// expect: "gesso::float_format: SignBits is 0 or 1; write 0 for an unsigned format"
#include <gesso/encoding/format.hpp>

struct e3m4 : gesso::float_format<1, 3, 4, gesso::special::finite_nan> {};
static_assert(e3m4::bits == 8);

#ifdef REJECT
using format = gesso::float_format<2, 3, 2, gesso::special::finite_nan>;
constexpr int bits = format::bits;
#endif
