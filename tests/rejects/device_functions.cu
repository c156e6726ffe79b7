// One file for several sentences, since an nvcc run takes seconds. nvcc instantiates functions only where all types are sound.
// expect: "gesso: the threads of a block are a multiple of 32 and of the threads"
// expect: "gesso::packed_group: an expanded group has codes of 8 bits"
// expect: "gesso::device_codec: the view is of another codec, or is one that only reads"
// expect: "gesso::device_codec: values are rounded by nearest_even or stochastic"
// expect: "gesso::device_codec: a codec without scales has no groups to observe"
// expect: "gesso::adamw_step: a group is larger than a tile; raise the policy's block_threads"
// expect: "gesso::adamw_step: the smaller of two group sizes must be a power of two"
#include <gesso/level/device.cuh>
#include <gesso/optimizer/adamw.cuh>

template<int GroupSize, class Format = gesso::e4m3>
using moment = gesso::codec<Format, gesso::dynamic_power<>, gesso::per_group<GroupSize>>;

template<class Codec, int BlockThreads, int ItemsPerThread>
__device__ float compress(const float (&values)[static_cast<unsigned>(ItemsPerThread)])
{
    using block = gesso::block_codec<Codec, BlockThreads, ItemsPerThread>;
    __shared__ typename block::TempStorage storage;
    typename block::writer with;
    block(storage).compress(values, with);
    return values[0];
}

template<int FirstSize, int SecondSize>
cudaError_t step(const gesso::adamw_device_state* state)
{
    const gesso::adamw_tensor<float, float, moment<FirstSize>, moment<SecondSize>> tensor;
    return gesso::adamw_step(tensor, state, nullptr);
}

template<class Codec, class View, class Rounding>
cudaError_t store(const float* values, const gesso::compressed_ref<View>& to, const Rounding& rounding)
{
    return gesso::device_codec<Codec>::compress(values, to, rounding, gesso::gradual{}, nullptr);
}
template<class Codec>
cudaError_t observe(const float* values, float* amax)
{
    return gesso::device_codec<Codec>::observe(values, gesso::compressed_ref<Codec>{}, amax, nullptr);
}

__device__ float sound(const float (&values)[8]) { return compress<moment<1024>, 128, 8>(values); }
cudaError_t sound_store(const float* values)
{
    return store<moment<128>>(values, gesso::compressed_ref<moment<128>>{}, gesso::nearest_even{});
}
cudaError_t sound_observe(const float* values, float* amax) { return observe<moment<128>>(values, amax); }
cudaError_t sound_step(const gesso::adamw_device_state* state) { return step<128, 64>(state); }

#ifdef REJECT
__device__ float unsound_block(const float (&values)[8]) { return compress<moment<128>, 40, 8>(values); }
__device__ float unsound_codes(const float (&values)[8])
{
    return compress<moment<128, gesso::float16>, 32, 8>(values);
}
cudaError_t unsound_view(const float* values)
{
    return store<moment<128>>(values, gesso::compressed_ref<moment<64>>{}, gesso::nearest_even{});
}
cudaError_t unsound_rounding(const float* values)
{
    return store<moment<128>>(values, gesso::compressed_ref<moment<128>>{}, gesso::upward{});
}
cudaError_t unsound_observe(const float* values, float* amax)
{
    return observe<gesso::codec<gesso::bfloat16, gesso::identity, gesso::unscaled>>(values, amax);
}
cudaError_t unsound_tile(const gesso::adamw_device_state* state) { return step<65536, 65536>(state); }
cudaError_t unsound_sizes(const gesso::adamw_device_state* state) { return step<48, 72>(state); }
#endif
