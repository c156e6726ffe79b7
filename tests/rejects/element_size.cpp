// expect: "gesso::element_of_format: the type and the format have different sizes"
#include <gesso/encoding/element.hpp>

struct two_bytes {
    unsigned short bits;
};
float load(two_bytes value) { return gesso::element_of_format<two_bytes, gesso::float16>::load(value); }

#ifdef REJECT
float load_as_fp8(two_bytes value) { return gesso::element_of_format<two_bytes, gesso::e4m3>::load(value); }
#endif
