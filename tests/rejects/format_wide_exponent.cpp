// expect: "gesso::float_format: with 8 exponent bits the top exponent passes fp32's range"
#include <gesso/encoding/format.hpp>

static_assert(gesso::bfloat16::exponent_bits == 8);

#ifdef REJECT
using format = gesso::float_format<1, 8, 7, gesso::special::finite_nan>;
constexpr int bits = format::bits;
#endif
