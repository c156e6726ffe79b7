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

template<class Granularity, class Format = gesso::e4m3, class Scale = gesso::float32>
using plain = gesso::codec<Format, gesso::identity, Granularity, Scale>;
template<class Codec>
using codes = gesso::compressed_matrix<Codec>;
using numbers = gesso::matrix_ref<const float>;

template<class Operator, class Tuning = void, class Sources, class... Sinks>
cudaError_t run(const Sources& sources, void* workspace, const Sinks&... sinks)
{
    return gesso::pointwise<Operator, Tuning>(sources, gesso::sinks_of(sinks...), workspace, nullptr);
}
template<class Sink>
cudaError_t normalize(const numbers& x, const Sink& y)
{
    return gesso::apply_layer_norm(x, 1e-5f, y, nullptr, nullptr, nullptr, nullptr);
}

using tensor = plain<gesso::per_tensor>;
using by_16 = plain<gesso::per_tile<1, 16>>;
cudaError_t sound(const numbers& x, void* workspace)
{
    const cudaError_t error = run<gesso::silu>(gesso::sources_of(x), workspace, codes<tensor>{});
    return error == cudaSuccess ? normalize(x, codes<by_16>{}) : error;
}

#ifdef REJECT
template<int Blocks>
struct tuning : gesso::operator_tuning<gesso::source_pack<numbers>, gesso::sink_pack<codes<tensor>>> {
    static constexpr int scan_blocks = Blocks;
};
using other_scales = gesso::quantized_matrix<by_16, by_16>;
cudaError_t unsound(const numbers& x, void* workspace)
{
    const auto one = gesso::sources_of(x);
    const auto two = gesso::sources_of(x, x);
    cudaError_t error = run<gesso::silu>(one, workspace, codes<plain<gesso::per_tile<128, 128>>>{});
    if (error == cudaSuccess) error = run<gesso::silu>(one, workspace, codes<plain<gesso::per_tensor, gesso::float16>>{});
    if (error == cudaSuccess) error = run<gesso::silu>(one, workspace, other_scales{});
    if (error == cudaSuccess) {
        error = run<gesso::residual_add<>>(two, workspace, codes<by_16>{}, codes<plain<gesso::per_tile<1, 32>>>{});
    }
    if (error == cudaSuccess) error = run<gesso::silu>(one, workspace, codes<plain<gesso::per_tile<1, 65536>>>{});
    if (error == cudaSuccess) error = normalize(x, codes<plain<gesso::per_tile<1, 4096>>>{});
    if (error == cudaSuccess) error = run<gesso::silu, tuning<2048>>(one, workspace, codes<tensor>{});
    return error;
}
#endif
