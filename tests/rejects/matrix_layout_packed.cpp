// expect: "gesso::matrix_layout: packed formats of less than 8 bits are for flat tensors"
#include <gesso/matrix_layout.hpp>

using tiled = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 16>>;
static_assert(gesso::matrix_layout<tiled>{2, 16}.tiles() == 2);

#ifdef REJECT
struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
using packed = gesso::codec<e2m1, gesso::identity, gesso::per_tile<1, 16>>;
constexpr gesso::matrix_layout<packed> layout{2, 16};
#endif
