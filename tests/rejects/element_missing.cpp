// expect: "gesso::element: no element type; specialise gesso::element<T>"
#include <gesso/encoding/element.hpp>

struct own_bf16 {
    unsigned short bits;
};
template<>
struct gesso::element<own_bf16> : gesso::element_of_format<own_bf16, gesso::bfloat16> {};
float load(own_bf16 value) { return gesso::element<own_bf16>::load(value); }

#ifdef REJECT
float load(int value) { return gesso::element<int>::load(value); }
#endif
