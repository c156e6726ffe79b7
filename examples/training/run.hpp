// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// One run: the model is trained with one kind of moments, and everything that the report says about it is
// measured.
#pragma once

#include "model.hpp"
#include "moments.hpp"
#include "recording.hpp"
#include "text.hpp"
#include "trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace training {

// The same for all runs of a demo.
struct training_plan {
    model_shape shape;
    int steps = 1200;
    int sequences = 8;
    double peak_learning_rate = 3e-3;
    int warmup_steps = 30;
    double last_learning_rate_share = 0.1;
    double beta1 = 0.9;
    double weight_decay = 0.1;
    int steps_between_checkpoints = 20;  // of the trajectory error, in the second half of the run
    std::int64_t held_out_windows = 512;

    // Linear warmup, then a cosine down to a share of the peak. `step` counts from 1.
    double learning_rate(int step) const
    {
        const double pi = 3.14159265358979323846;
        const double warmup = std::min(1.0, static_cast<double>(step) / warmup_steps);
        const double falling = 0.5 * (1 + std::cos(pi * step / steps));
        return peak_learning_rate * warmup
               * (last_learning_rate_share + (1 - last_learning_rate_share) * falling);
    }

    bool is_checkpoint(int step) const
    {
        return 2 * step > steps && (steps - step) % steps_between_checkpoints == 0;
    }

    // The training loss that is reported is the mean over the last fifth of the steps: a single batch is
    // noise.
    int averaged_steps() const { return std::max(1, steps / 5); }
};

struct run_settings {
    moments kind = moments::fp32;
    double beta2 = 0.95;
    std::uint64_t seed = 1;
};

struct run_result {
    run_settings settings;
    double bytes_per_parameter = 0;
    std::vector<double> losses;        // training loss of every step; ends where the run became NaN
    std::optional<double> train_loss;  // none where the run became NaN
    std::optional<double> held_out_loss;
    std::optional<trajectory_error> trajectory;

    bool diverged() const { return !train_loss; }
};

namespace detail {

inline double held_out_loss(language_model<float>& model, const column_vector<float>& parameters,
    const text_corpus& text, const training_plan& plan)
{
    const auto batches = text.held_out(plan.sequences, plan.shape.context, plan.held_out_windows);
    double sum = 0;
    for (const token_batch& batch : batches) {
        sum += model.loss(parameters, batch);
    }
    return sum / static_cast<double>(batches.size());
}

inline double mean_of_last(const std::vector<double>& values, int count)
{
    double sum = 0;
    for (auto value = values.end() - count; value != values.end(); ++value) {
        sum += *value;
    }
    return sum / count;
}

}  // namespace detail

// Deterministic: the same plan, settings and text give the same result. The initial parameters and the
// batches depend on the seed alone. `after_step` is called after every step; `recorder`, if there is one,
// takes every gradient.
inline run_result train(const text_corpus& text, const training_plan& plan, const run_settings& settings,
    const std::function<void()>& after_step, gradient_recorder* recorder = nullptr)
{
    language_model<float> model(plan.shape);
    column_vector<float> parameters = model.initial_parameters(settings.seed);
    column_vector<float> gradient, first, second;
    random_source batches(settings.seed, 1);
    const std::unique_ptr<optimizer> arm = make_optimizer(
        settings.kind, model.layers(), {plan.beta1, settings.beta2, plan.weight_decay, settings.seed});
    trajectory_meter meter(model.layers(), plan.beta1, settings.beta2);

    run_result result;
    result.settings = settings;
    result.bytes_per_parameter =
        static_cast<double>(arm->state_bytes()) / static_cast<double>(model.parameters());
    for (int step = 1; step <= plan.steps; ++step) {
        const token_batch batch = text.draw(batches, plan.sequences, plan.shape.context);
        const double loss = model.loss_and_gradient(parameters, batch, gradient);
        if (!std::isfinite(loss)) {
            return result;
        }
        result.losses.push_back(loss);
        if (recorder != nullptr) {
            recorder->append(gradient);
        }
        arm->step(plan.learning_rate(step), parameters, gradient);
        meter.step(gradient);
        if (plan.is_checkpoint(step)) {
            arm->decode(first, second);
            meter.compare(first, second);
        }
        after_step();
    }
    const double held_out = detail::held_out_loss(model, parameters, text, plan);
    if (!std::isfinite(held_out)) {
        return result;
    }
    result.trajectory = meter.result();
    result.train_loss = detail::mean_of_last(result.losses, plan.averaged_steps());
    result.held_out_loss = held_out;
    if (recorder != nullptr) {
        recorder->finish(plan.beta1, settings.beta2, settings.seed, model.layers());
    }
    return result;
}

}  // namespace training
