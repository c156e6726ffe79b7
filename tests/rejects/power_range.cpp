// expect: "gesso::power: the exponent Numerator / Denominator has whole parts from 1 to 255"
#include <gesso/expansion/power.hpp>

using root = gesso::power<1, 2>;
static_assert(root::denominator == 2);

#ifdef REJECT
using zero = gesso::power<0>;
static_assert(!zero::needs_amin);
#endif
