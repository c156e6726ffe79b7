// One file for several sentences, since an nvcc run takes seconds. nvcc instantiates functions only where all types are sound.
// expect: "gesso::pointwise: on the device an output's scale belongs to 1 x G elements"
// expect: "gesso::pointwise: on the device an output with one scale has codes of 8 bits"
// expect: "gesso::pointwise: both forms of an output have the same scales on the device"
// expect: "gesso::pointwise: outputs with scales of 1 x G elements share one G in a call"
// expect: "gesso::pointwise: a group of 1 x G is larger than a block's registers"
// expect: "gesso::by_rows: a group of 1 x G has at most 2048 elements on the device"
// expect: "gesso::operator_tuning: scan_blocks is at most 1024"
#include <gesso/operator/norm.cuh>
#include <gesso/operator/pointwise.cuh>

template<class Granularity, class Format = gesso::e4m3>
using plain = gesso::codec<Format, gesso::identity, Granularity>;
template<int Columns>
using groups = plain<gesso::per_tile<1, Columns>>;
using numbers = gesso::matrix_ref<const float>;

template<class Tuning = void, class Sink>
cudaError_t activate(const numbers& x, const Sink& y, void* workspace)
{
    return gesso::pointwise<gesso::silu, Tuning>(gesso::sources_of(x), gesso::sinks_of(y), workspace, nullptr);
}

cudaError_t sound(const numbers& x, void* workspace)
{
    return activate(x, gesso::compressed_matrix<groups<16>>{}, workspace);
}

#ifdef REJECT
using tensor = gesso::compressed_matrix<plain<gesso::per_tensor>>;
struct many_blocks : gesso::operator_tuning<gesso::source_pack<numbers>, gesso::sink_pack<tensor>> {
    static constexpr int scan_blocks = 2048;
};
cudaError_t unsound(const numbers& x, const float* weight, void* workspace)
{
    using wide_format = gesso::float_format<1, 5, 10, gesso::special::ieee>;
    using both_ways = gesso::quantized_matrix<groups<32>, groups<32>>;
    cudaError_t error = activate(x, gesso::compressed_matrix<plain<gesso::per_tile<128, 128>>>{}, workspace);
    if (error == cudaSuccess) {
        error = activate(x, gesso::compressed_matrix<plain<gesso::per_tensor, wide_format>>{}, workspace);
    }
    if (error == cudaSuccess) error = activate(x, both_ways{}, workspace);
    if (error == cudaSuccess) {
        error = gesso::pointwise<gesso::residual_add<>>(gesso::sources_of(x, x),
            gesso::sinks_of(gesso::compressed_matrix<groups<16>>{}, gesso::compressed_matrix<groups<32>>{}), workspace,
            nullptr);
    }
    if (error == cudaSuccess) error = activate(x, gesso::compressed_matrix<groups<65536>>{}, workspace);
    if (error == cudaSuccess) {
        error = gesso::apply_rms_norm(
            x, weight, 1e-5f, gesso::compressed_matrix<groups<4096>>{}, nullptr, workspace, nullptr);
    }
    if (error == cudaSuccess) {
        error = activate<many_blocks>(x, tensor{}, workspace);
    }
    return error;
}
#endif
