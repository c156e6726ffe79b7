// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// A user's operator: y = max(x, 0)^2, with the library's exact operations, so that host and device give the same bits.
#pragma once

#include <gesso/operator/pointwise.hpp>

namespace studio {

struct relu_squared {
    static constexpr int inputs = 1;
    static constexpr int outputs = 1;
    static GESSO_HOST_DEVICE void apply(const float (&in)[1], float (&out)[1])
    {
        const float positive = in[0] > 0.0f || in[0] != in[0] ? in[0] : 0.0f;  // NaN stays NaN
        out[0] = gesso::multiply(positive, positive);
    }
};

}  // namespace studio
