// expect: "gesso::dynamic_power: log2_bound of the rule must be positive for this format"
#include <gesso/expansion/power.hpp>

struct factor_of_two {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE gesso::int32_t log2_bound()
    {
        return 1 << 23;
    }
};
using sound = gesso::dynamic_power<gesso::exponent_rule<factor_of_two>>;
int sixteenths() { return sound::sixteenths<gesso::e4m3>(100); }

#ifdef REJECT
struct no_range {
    template<class Format>
    static constexpr GESSO_HOST_DEVICE gesso::int32_t log2_bound()
    {
        return 0;
    }
};
using unsound = gesso::dynamic_power<gesso::exponent_rule<no_range>>;
int of_nothing() { return unsound::sixteenths<gesso::e4m3>(100); }
#endif
