// expect: "gesso::element_of_format: an element fills its bytes"
#include <gesso/encoding/element.hpp>

struct one_byte {
    unsigned char bits;
};
float load(one_byte value) { return gesso::element_of_format<one_byte, gesso::e5m2>::load(value); }

#ifdef REJECT
struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
float load_packed(one_byte value) { return gesso::element_of_format<one_byte, e2m1>::load(value); }
#endif
