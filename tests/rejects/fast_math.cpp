// expect: "gesso: exact arithmetic cannot be compiled for the host with -ffast-math or -Ofast"
// flags: -ffast-math
// Conversions work on bits and may be used under the flag; the named operations may not.
#include <gesso/encoding/arithmetic.hpp>

static_assert(gesso::bits_of(1.0f) == 0x3F800000u);

#ifdef REJECT
float product(float a, float b) { return gesso::multiply(a, b); }
#endif
