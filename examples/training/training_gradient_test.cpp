// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The demo's model is differentiated by hand; here every layer's gradient is compared with a central
// difference of the loss, in double.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace {

training::token_batch random_batch(int sequences, int context, int vocabulary)
{
    training::random_source random(7, 3);
    training::token_batch batch{sequences, context, {}};
    for (int i = 0; i < sequences * (context + 1); ++i) {
        batch.tokens.push_back(static_cast<std::uint8_t>(random.below(vocabulary)));
    }
    return batch;
}

}  // namespace

TEST_CASE("training.gradient_check: the gradient of every layer is the slope of the loss")
{
    training::model_shape shape;
    shape.vocabulary = 11;
    shape.context = 5;
    shape.width = 8;
    shape.heads = 2;
    shape.hidden = 12;
    training::language_model<double> model(shape);
    const training::token_batch batch = random_batch(3, shape.context, shape.vocabulary);

    // Large weights: with the initial ones attention is near uniform, and an error in it would be small.
    training::column_vector<double> parameters = model.initial_parameters(1) * 2;
    training::column_vector<double> gradient;
    const double loss = model.loss_and_gradient(parameters, batch, gradient);
    CHECK(loss == model.loss(parameters, batch));

    for (const training::layer& layer : model.layers()) {
        CAPTURE(layer.name);
        double difference_norm = 0;
        double gradient_norm = 0;
        for (std::int64_t i = layer.offset; i < layer.offset + layer.size(); ++i) {
            const double step = 1e-6;
            const double value = parameters(i);
            parameters(i) = value + step;
            const double above = model.loss(parameters, batch);
            parameters(i) = value - step;
            const double below = model.loss(parameters, batch);
            parameters(i) = value;
            const double slope = (above - below) / (2 * step);
            difference_norm += (slope - gradient(i)) * (slope - gradient(i));
            gradient_norm += slope * slope;
        }
        CHECK(gradient_norm > 0);
        CHECK(std::sqrt(difference_norm) < 1e-7 * std::sqrt(gradient_norm));
    }
}

TEST_CASE("training.gradient_check: attention does not look ahead")
{
    const training::attention_shape shape{1, 6, 8, 2};
    training::random_source random(5, 0);
    training::matrix<double> mixed(shape.context, 3 * shape.width);
    for (double& value : mixed.reshaped()) {
        value = random.uniform() - 0.5;
    }
    training::matrix<double> probabilities, before, after;
    attention_forward(shape, mixed, probabilities, before);
    mixed.row(shape.context - 1).setConstant(3);
    attention_forward(shape, mixed, probabilities, after);
    CHECK(before.topRows(shape.context - 1) == after.topRows(shape.context - 1));
    CHECK(before.bottomRows(1) != after.bottomRows(1));
}

TEST_CASE("training.gradient_check: the same seed gives the same parameters, another seed others")
{
    const training::language_model<float> model(training::model_shape{});
    CHECK(model.initial_parameters(1) == model.initial_parameters(1));
    CHECK(model.initial_parameters(1) != model.initial_parameters(2));
}
