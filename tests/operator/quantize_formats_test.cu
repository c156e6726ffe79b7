// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Quantizers of the device against the host's, byte for byte with all that lies around: a user's formats, 16-bit codes, tiles
// of every kind.
#include "quantize_device.hpp"

using namespace gesso;
using support::compressed_memory;
using support::matrix_memory;
using support::plain_codec;

// Not in an unnamed namespace: kernels are named for them.
namespace users {

struct e3m4 : float_format<1, 3, 4, special::finite_nan> {};
struct two_by_six {
    static constexpr index_t tile_rows = 2;
    static constexpr index_t tile_columns = 6;
};

}  // namespace users

namespace {

using runner = support::device_runner<false>;

bool have_same_bytes(support::memory_block& a, support::memory_block& b)
{
    return a.whole_size() == b.whole_size()
           && (a.whole_size() == 0 || std::memcmp(a.base(), b.base(), a.whole_size()) == 0);
}

template<class T, class Codec, class Rounding>
void compare_with_host(support::shape size, bool is_strided, const Rounding& rounding, bool with_transposed)
{
    CAPTURE(size.rows);
    CAPTURE(size.columns);
    CAPTURE(is_strided);
    CAPTURE(with_transposed);
    using run_type = support::quantizer_run<support::trial<runner, T, Codec>>;
    run_type host(size, is_strided);
    run_type device(size, is_strided);
    support::fill(host.values, support::kind_of_values::faulty, 7);
    support::fill(device.values, support::kind_of_values::faulty, 7);
    quantized_matrix<Codec> to;
    to.plain = host.plain.view();
    if (with_transposed) to.transposed = host.transposed.view();
    REQUIRE(host_quantize(host.values.view(), to, rounding, ignore_nan{}) == status::success);
    REQUIRE(runner::quantize(
        device.values, &device.plain, with_transposed ? &device.transposed : nullptr, rounding, ignore_nan{}));
    CHECK(have_same_bytes(device.plain.code_block(), host.plain.code_block()));
    CHECK(have_same_bytes(device.plain.scale_block(), host.plain.scale_block()));
    CHECK(have_same_bytes(device.transposed.code_block(), host.transposed.code_block()));
    CHECK(have_same_bytes(device.transposed.scale_block(), host.transposed.scale_block()));

    matrix_memory<T> host_back(size.rows, size.columns, size.columns + 1);
    matrix_memory<T> device_back(size.rows, size.columns, size.columns + 1);
    REQUIRE(host_dequantize(compressed_matrix<const Codec>(to.plain), host_back.view()) == status::success);
    REQUIRE(runner::dequantize(device.plain, device_back));
    CHECK(have_same_bytes(host_back.block(), device_back.block()));
}

template<class T, class Codec>
void compare_shapes()
{
    for (const support::shape size : {support::shape{1, 1}, {33, 17}, {130, 259}, {5, 4500}, {300, 8}}) {
        for (const bool is_strided : {false, true}) {
            constexpr bool can_transpose = Codec::format::bits == 8;
            compare_with_host<T, Codec>(size, is_strided, nearest_even{}, can_transpose);
            compare_with_host<T, Codec>(size, is_strided, stochastic{11, 5}, false);
        }
    }
}

}  // namespace

TEST_CASE("a user's formats, signed and unsigned")
{
    compare_shapes<float, plain_codec<users::e3m4, per_tile<1, 32>>>();
    compare_shapes<bf16, plain_codec<unsigned_e4m4, per_tensor, bfloat16>>();
}

TEST_CASE("codes of 16 bits, without scales and with")
{
    compare_shapes<float, plain_codec<bfloat16, unscaled>>();
    compare_shapes<float, plain_codec<float16, per_tile<1, 64>>>();
}

TEST_CASE("tiles of every kind")
{
    compare_shapes<fp16, plain_codec<e4m3, users::two_by_six>>();
    compare_shapes<bf16, plain_codec<e5m2, per_tile<1, 4096>>>();
    compare_shapes<bf16, plain_codec<e4m3, per_tile<7, 1>, e8m0>>();
}
