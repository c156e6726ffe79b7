// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
// ctest: no-gpu
//
// What a list of tensors refuses: found on the host, before any memory is written.
#include <doctest/doctest.h>

#include <gesso/optimizer/adamw_list.cuh>

#include <cuda_bf16.h>

#include <vector>

using gesso::index_t;
using gesso::status;

namespace {

using tensor_type = gesso::adamw_tensor<__nv_bfloat16, __nv_bfloat16, gesso::default_first_moment,
    gesso::default_second_moment>;
using layout_type = gesso::adamw_list_layout<gesso::adamw_policy<>, tensor_type>;

// A tensor of `count` elements whose memory nobody touches.
tensor_type tensor_of(index_t count)
{
    static std::uint64_t memory[2];
    tensor_type tensor;
    tensor.parameters = reinterpret_cast<__nv_bfloat16*>(memory);
    tensor.gradients = reinterpret_cast<const __nv_bfloat16*>(memory);
    const auto bind = [count](auto& moment) {
        moment.codes = reinterpret_cast<std::uint8_t*>(memory);
        moment.scales = reinterpret_cast<std::uint32_t*>(memory);
        moment.exponents = reinterpret_cast<std::uint8_t*>(memory);
        moment.count = count;
    };
    bind(tensor.first_moment);
    bind(tensor.second_moment);
    return tensor;
}

status checked(const std::vector<tensor_type>& tensors)
{
    const layout_type layout(tensors.data(), static_cast<index_t>(tensors.size()));
    const status answer = layout.checked();
    if (answer != status::success) {
        // Refused before the pointer is looked at.
        unsigned char nothing = 0x5A;
        CHECK(layout.write(&nothing) == answer);
        CHECK(nothing == 0x5A);
    }
    return answer;
}

}  // namespace

TEST_CASE("a list takes sound tensors, and none at all")
{
    CHECK(checked({}) == status::success);
    CHECK(checked({tensor_of(0), tensor_of(1), tensor_of(5000)}) == status::success);
}

TEST_CASE("a tensor of more tiles than a grid has blocks is refused, wherever it stands")
{
    const tensor_type large = tensor_of((index_t{1} << 32) * layout_type::tile::elements);
    CHECK(checked({large}) == status::negative_count);
    CHECK(checked({large, tensor_of(5000)}) == status::negative_count);
    CHECK(checked({tensor_of(5000), large}) == status::negative_count);
}

TEST_CASE("the first tensor that is not sound is what a list says")
{
    tensor_type missing = tensor_of(5000);
    missing.gradients = nullptr;
    CHECK(checked({tensor_of(1), missing, tensor_of(2)}) == status::null_pointer);
    const std::vector<tensor_type> sound = {tensor_of(1)};
    CHECK(layout_type(sound.data(), -1).checked() == status::negative_count);
}
