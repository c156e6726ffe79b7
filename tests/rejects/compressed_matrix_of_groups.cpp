// expect: "gesso::compressed_matrix: the codec's granularity must have `tile_rows`"
#include <gesso/matrix_layout.hpp>

using tiled = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_tile<1, 16>>;
gesso::index_t rows(const gesso::compressed_matrix<tiled>& view) { return view.rows; }

#ifdef REJECT
using flat = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<128>>;
gesso::index_t rows(const gesso::compressed_matrix<flat>& view) { return view.rows; }
#endif
