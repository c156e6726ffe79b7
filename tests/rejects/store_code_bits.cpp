// expect: "gesso::store_code: a packed format has 1, 2 or 4 bits"
#include <gesso/layout.hpp>

struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
void store(unsigned char* codes) { gesso::store_code<e2m1>(codes, 3, 1); }

#ifdef REJECT
struct e3m2 : gesso::float_format<1, 3, 2, gesso::special::finite_nan> {};
void store_six_bits(unsigned char* codes) { gesso::store_code<e3m2>(codes, 3, 1); }
#endif
