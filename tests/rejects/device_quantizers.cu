// One file for several sentences, since an nvcc run takes seconds. nvcc instantiates functions only where all types are sound.
// expect: "gesso::quantize: matrices on the device are of plain codecs"
// expect: "gesso::quantize: on the device values are rounded by nearest_even or stochastic"
// expect: "gesso::quantize_one_launch: only a scale per tensor needs two stages"
// expect: "gesso::transpose: codes on the device have 8 bits"
// expect: "gesso::matrix_tuning: scan_blocks is at most 1024"
// expect: "gesso::matrix_tuning: tile_threads is a multiple of 256"
#include <gesso/operator/quantize.cuh>

template<class Granularity, class Format = gesso::e4m3>
using plain = gesso::codec<Format, gesso::identity, Granularity>;
template<int Blocks, int Threads>
struct tuning : gesso::matrix_tuning<float> {
    static constexpr int scan_blocks = Blocks;
    static constexpr int tile_threads = Threads;
};

template<class Codec, class Tuning = void, class Rounding = gesso::nearest_even>
cudaError_t quantize(const gesso::matrix_ref<const float>& values, void* workspace, Rounding rounding = {})
{
    return gesso::quantize<Tuning>(
        values, gesso::quantized_matrix<Codec>{}, rounding, gesso::ignore_nan{}, workspace, nullptr);
}
template<class Codec>
cudaError_t quantize_at_once(const gesso::matrix_ref<const float>& values, void* workspace)
{
    return gesso::quantize_one_launch(
        values, gesso::quantized_matrix<Codec>{}, gesso::nearest_even{}, gesso::ignore_nan{}, workspace, nullptr);
}
template<class Codec>
cudaError_t transpose(const gesso::compressed_matrix<Codec>& from)
{
    return gesso::transpose(from, gesso::compressed_matrix<gesso::transposed_codec<Codec>>{}, nullptr);
}

using tensor = plain<gesso::per_tensor>;
cudaError_t sound(const gesso::matrix_ref<const float>& values, void* workspace)
{
    const cudaError_t error = quantize<tensor>(values, workspace);
    return error == cudaSuccess ? transpose(gesso::compressed_matrix<tensor>{}) : error;
}

#ifdef REJECT
using expanded = gesso::codec<gesso::e4m3, gesso::dynamic_power<>, gesso::per_tile<1, 16>>;
using wide = gesso::codec<gesso::bfloat16, gesso::identity, gesso::unscaled>;
cudaError_t unsound(const gesso::matrix_ref<const float>& values, void* workspace)
{
    cudaError_t error = quantize<expanded>(values, workspace);
    if (error == cudaSuccess) error = quantize<tensor, void>(values, workspace, gesso::upward{});
    if (error == cudaSuccess) error = quantize_at_once<plain<gesso::per_row>>(values, workspace);
    if (error == cudaSuccess) error = transpose(gesso::compressed_matrix<wide>{});
    if (error == cudaSuccess) error = quantize<tensor, tuning<2048, 256>>(values, workspace);
    if (error == cudaSuccess) error = quantize<tensor, tuning<512, 100>>(values, workspace);
    return error;
}
#endif
