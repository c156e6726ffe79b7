// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The parameter tensors of a language model of seven billion parameters: Llama-2-7B's.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

// Elements of each tensor, in the order of the model. The same list is in bench/peers/torch_adamw.py.
inline std::vector<std::int64_t> model_tensors(int layers = 32)
{
    constexpr std::int64_t vocabulary = 32000;
    constexpr std::int64_t width = 4096;
    constexpr std::int64_t hidden = 11008;
    std::vector<std::int64_t> result;
    result.push_back(vocabulary * width);  // embedding
    for (int layer = 0; layer < layers; ++layer) {
        for (int i = 0; i < 4; ++i) result.push_back(width * width);   // query, key, value, output
        for (int i = 0; i < 3; ++i) result.push_back(hidden * width);  // gate, up, down
        for (int i = 0; i < 2; ++i) result.push_back(width);           // norms
    }
    result.push_back(width);               // last norm
    result.push_back(vocabulary * width);  // head
    return result;
}

}  // namespace bench
