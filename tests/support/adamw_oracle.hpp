// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Oracle of AdamW for one element, in double and written apart from the library.
//
// The order is that of the decoupled form: the parameter decays first, by the learning rate alone; both
// moments move; their bias is taken out; and epsilon stands outside the root, after the correction of the
// bias. The step counts from one.
#pragma once

#include <cmath>
#include <cstdint>

namespace oracle {

struct adamw_settings {
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0.01;
};

struct adamw_element {
    double parameter = 0;
    double first_moment = 0;
    double second_moment = 0;
};

inline adamw_element adamw_step(
    adamw_element element, double gradient, std::int64_t step, const adamw_settings& settings)
{
    const double time = static_cast<double>(step);
    element.parameter -= settings.learning_rate * settings.weight_decay * element.parameter;
    element.first_moment = settings.beta1 * element.first_moment + (1 - settings.beta1) * gradient;
    element.second_moment =
        settings.beta2 * element.second_moment + (1 - settings.beta2) * gradient * gradient;
    const double mean = element.first_moment / (1 - std::pow(settings.beta1, time));
    const double variance = element.second_moment / (1 - std::pow(settings.beta2, time));
    element.parameter -= settings.learning_rate * mean / (std::sqrt(variance) + settings.epsilon);
    return element;
}

}  // namespace oracle
