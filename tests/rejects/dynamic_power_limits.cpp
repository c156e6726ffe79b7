// expect: "gesso::dynamic_power: a rule's limits are sixteenths with 1 <= min_sixteenths"
#include <gesso/expansion/power.hpp>

struct own_rule : gesso::full_range_bound {
    static constexpr int min_sixteenths = 4;
    static constexpr int max_sixteenths = 64;
};
static_assert(gesso::dynamic_power<own_rule>::needs_amin);

#ifdef REJECT
struct too_wide : gesso::full_range_bound {
    static constexpr int min_sixteenths = 4;
    static constexpr int max_sixteenths = 256;
};
static_assert(gesso::dynamic_power<too_wide>::needs_amin);
#endif
