// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// gesso_activation_error OUTPUT.csv [STEPS]: what keeping activations in 8 bits does to the forward pass and to the weight
// gradients of the demo's model, by the size of the groups that share a scale. Trains the model for STEPS steps (default
// 1200) with fp32 moments and activations, and looks at held-out batches after a tenth of them and after all.
#include "study.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace {

using namespace activation_error;

constexpr int sequences = 8;
constexpr int compared_batches = 16;

// Wide enough for groups of 128 in every activation.
training::model_shape shape()
{
    training::model_shape result;
    result.width = 256;
    result.hidden = 512;
    return result;
}

void run(const std::string& output, int steps)
{
    const training::text_corpus text = training::default_text();
    training::language_model<float> model(shape());
    column_vector<float> parameters = model.initial_parameters(1);
    column_vector<float> gradient;
    training::random_source batches(1, 1);
    const auto optimizer = training::make_optimizer(training::moments::fp32, model.layers(), {0.9, 0.95, 0.1, 1});

    std::ofstream file(output);
    if (!file) throw std::runtime_error("cannot write " + output);
    file << "step,loss,scheme,bytes_per_number,activation_error,gradient_error,loss_difference\n";
    for (int step = 1; step <= steps; ++step) {
        const training::token_batch batch = text.draw(batches, sequences, shape().context);
        const double loss = model.loss_and_gradient(parameters, batch, gradient);
        optimizer->step(2e-3 * std::fmin(1.0, step / 30.0), parameters, gradient);
        if (step != steps / 10 && step != steps) continue;
        std::printf("step %d, loss %.4f\n%-28s%12s%14s%14s%14s\n", step, loss, "scheme", "bytes", "activations",
            "gradients", "loss");
        for (const scheme& with : schemes()) {
            std::vector<comparison> all;
            for (const auto& held_out : text.held_out(sequences, shape().context, sequences * compared_batches)) {
                all.push_back(compare(model, parameters, held_out, with));
            }
            const comparison mean = mean_of(all);
            std::printf("%-28s%12.4f%14.3e%14.3e%+14.2e\n", with.name.c_str(), mean.bytes_per_number,
                mean.activation_error, mean.gradient_error, mean.loss_difference);
            char line[256];
            std::snprintf(line, sizeof line, "%d,%.4f,\"%s\",%.4f,%.4g,%.4g,%.3g\n", step, loss, with.name.c_str(),
                mean.bytes_per_number, mean.activation_error, mean.gradient_error, mean.loss_difference);
            file << line;
        }
        std::fflush(stdout);
    }
    if (!file.flush()) throw std::runtime_error("writing " + output + " failed");
}

}  // namespace

int main(int argument_count, char** arguments)
{
    if (argument_count < 2 || argument_count > 3) {
        std::fprintf(stderr, "usage: gesso_activation_error OUTPUT.csv [STEPS]\n");
        return 1;
    }
    try {
        const int steps = argument_count == 3 ? std::atoi(arguments[2]) : 1200;
        if (steps < 10) throw std::invalid_argument("at least 10 steps");
        run(arguments[1], steps);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gesso_activation_error: %s\n", error.what());
        return 1;
    }
    return 0;
}
