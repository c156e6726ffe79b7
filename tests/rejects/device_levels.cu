// One file for several sentences, since an nvcc run takes seconds. Rules of types; those of functions are in device_functions.cu.
// expect: "gesso::packed_codes: codes of 8, 16 or 32 bits"
// expect: "gesso::warp_codec: the group is larger than a warp's registers; raise ItemsPerThread"
// expect: "gesso::block_codec: the group is larger than the block's registers; raise BlockThreads"
// expect: "gesso::device_codec: the tuning's items_per_thread is 2, 4, 8 or 16"
// expect: "gesso::device_codec: the group is larger than a block's registers; raise the tuning's items"
// expect: "gesso: elements of kernels have 16 or 32 bits"
// expect: "gesso: 16-bit elements come in pairs"
#include <gesso/level/device.cuh>

template<int GroupSize>
using moment = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_group<GroupSize>>;

template<int GroupSize, int Items>
struct tile {
    struct tuning : gesso::device_tuning<> {
        static constexpr int items_per_thread = Items;
    };
    using type = gesso::detail::device_tile<moment<GroupSize>, gesso::hardware_math, tuning>;
};

static_assert(gesso::packed_codes<gesso::e4m3, 8>::word_count == 2);
static_assert(gesso::warp_codec<moment<128>, 4>::lanes == 32);
static_assert(gesso::block_codec<moment<1024>, 128, 8>::threads == 128);
static_assert(sizeof(gesso::detail::packed_elements<gesso::bf16, 4>) == 8);
static_assert(tile<128, 16>::type::threads == 256 && tile<8192, 8>::type::threads == 1024);

#ifdef REJECT
struct e2m1 : gesso::float_format<1, 2, 1, gesso::special::none> {};
static_assert(gesso::packed_codes<e2m1, 8>::word_count == 1);
static_assert(gesso::warp_codec<moment<128>, 2>::lanes == 64);
static_assert(gesso::block_codec<moment<2048>, 128, 8>::threads == 256);
static_assert(tile<128, 3>::type::threads == 256);
static_assert(tile<16384, 8>::type::threads == 2048);
static_assert(sizeof(gesso::detail::packed_elements<gesso::stored<gesso::e4m3>, 4>) == 4);
static_assert(sizeof(gesso::detail::packed_elements<gesso::bf16, 3>) == 6);
#endif
