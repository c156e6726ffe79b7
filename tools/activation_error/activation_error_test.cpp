// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The study's schemes on a model that is not trained yet.
#include "study.hpp"

#include <doctest/doctest.h>

using namespace activation_error;

namespace {

training::token_batch some_batch(const training::model_shape& shape)
{
    training::token_batch batch{2, shape.context, {}};
    for (int i = 0; i < 2 * (shape.context + 1); ++i) batch.tokens.push_back(static_cast<std::uint8_t>(i * i % 251));
    return batch;
}

}  // namespace

TEST_CASE("what is kept exactly changes nothing")
{
    const training::model_shape shape;
    training::language_model<float> model(shape);
    const column_vector<float> parameters = model.initial_parameters(1);
    const scheme exact{"fp32", [](matrix<float>&, std::int64_t&) {}, [](matrix<float>&, std::int64_t&) {}};
    const comparison same = compare(model, parameters, some_batch(shape), exact);
    CHECK(same.activation_error == 0);
    CHECK(same.gradient_error == 0);
    CHECK(same.loss_difference == 0);
}

TEST_CASE("every activation goes through its codes once, to the reader that it has")
{
    const training::model_shape shape;
    training::language_model<float> model(shape);
    const column_vector<float> parameters = model.initial_parameters(1);
    column_vector<float> gradient;
    int elementwise = 0;
    int product = 0;
    model.loss_and_gradient(
        parameters, some_batch(shape), gradient, [&](const char*, activation_use use, matrix<float>&) {
            ++(use == activation_use::product ? product : elementwise);
        });
    CHECK(elementwise == 3 * shape.blocks);
    CHECK(product == 4 * shape.blocks);
}

TEST_CASE("errors and bytes of the schemes")
{
    const training::model_shape shape;
    training::language_model<float> model(shape);
    const column_vector<float> parameters = model.initial_parameters(1);
    double last_error = 0;
    for (const scheme& with : schemes()) {
        CAPTURE(with.name);
        const comparison found = compare(model, parameters, some_batch(shape), with);
        if (with.name == "bf16") {
            CHECK(found.bytes_per_number == 2);
            CHECK(found.activation_error < 5e-6);
        } else {
            // Half a step of E4M3 at most, so a square of 2^-8.
            CHECK(found.activation_error < 4e-3);
            CHECK(found.gradient_error > 0);
            CHECK(found.gradient_error < 0.02);
        }
        // Smaller groups err less: a scale rounded up to bf16 costs less than a neighbour's size.
        if (with.name.substr(0, 2) == "1x" && with.name.size() < 5) {
            CHECK(found.activation_error > last_error);
            last_error = found.activation_error;
        }
        if (with.name == "1x16") CHECK(found.bytes_per_number == doctest::Approx(1.125));
        if (with.name == "1x4") CHECK(found.bytes_per_number == doctest::Approx(1.5));
    }
}
