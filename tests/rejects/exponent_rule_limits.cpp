// expect: "gesso::exponent_rule: limits of k are sixteenths with 1 <= MinSixteenths"
#include <gesso/expansion/power.hpp>

using rule = gesso::exponent_rule<gesso::min_normal_bound, 16, 64>;
static_assert(rule::min_sixteenths == 16);

#ifdef REJECT
using upside_down = gesso::exponent_rule<gesso::min_normal_bound, 64, 16>;
static_assert(upside_down::min_sixteenths == 64);
#endif
