// expect: "gesso::host_adamw_step: the least common multiple of the two group sizes is at most 65536"
#include <gesso/optimizer/adamw.hpp>

template<int GroupSize>
using moment = gesso::codec<gesso::e4m3, gesso::identity, gesso::per_group<GroupSize>>;
template<int First, int Second>
gesso::status step()
{
    const gesso::adamw_tensor<float, float, moment<First>, moment<Second>> nothing;
    return gesso::host_adamw_step(nothing, {}, {});
}
gesso::status sound() { return step<128, 64>(); }

#ifdef REJECT
gesso::status unsound() { return step<1021, 1024>(); }
#endif
