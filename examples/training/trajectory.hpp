// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// How far an arm's moments are from where fp32 would be: beside them, fp32 moments are stepped on the very
// same gradients, and the two are compared at checkpoints of the run. That is the trajectory error; encoding
// one good moment once says little about a state that is decoded and encoded again at every step.
#pragma once

#include "layers.hpp"
#include "model.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace training {

// Convention: the ratio compared is that of the stored moments, m / sqrt(v), without bias correction and
// epsilon. The correction would multiply both sides by the same number at every step, so it changes no
// comparison between arms.
//
// Elements whose fp32 v is zero (or denormal, which counts as zero) are left out: fp32 itself has no ratio
// there. Elements whose fp32 v is above zero but whose decoded v is zero have no ratio to compare; they are
// counted apart.
struct trajectory_error {
    std::int64_t checkpoints = 0;
    double squared_error = 0;  // mean over checkpoints of the mean over elements
    double v_ratio = 0;        // exp(mean ln(v / fp32 v)), over elements and checkpoints
    std::vector<double> v_ratio_by_layer;
    double flushed = 0;  // share of the elements whose v is zero although fp32's is not
};

class trajectory_meter {
public:
    trajectory_meter(const std::vector<layer>& layers, double beta1, double beta2)
        : layers_(layers)
        , beta1_(beta1)
        , beta2_(beta2)
        , sums_(layers.size())
    {
        const std::int64_t parameters = layers.back().offset + layers.back().size();
        first_.setZero(parameters);
        second_.setZero(parameters);
    }

    // Written apart from the library, in the order that AdamW is usually written in fp32.
    void step(const column_vector<float>& gradient)
    {
        const float beta1 = static_cast<float>(beta1_);
        const float beta2 = static_cast<float>(beta2_);
        first_ = beta1 * first_ + static_cast<float>(1 - beta1_) * gradient;
        second_ = beta2 * second_ + (static_cast<float>(1 - beta2_) * gradient).cwiseProduct(gradient);
    }

    void compare(const column_vector<float>& first, const column_vector<float>& second)
    {
        double squared_error = 0;
        std::int64_t compared = 0;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const layer& current = layers_[i];
            for (std::int64_t at = current.offset; at < current.offset + current.size(); ++at) {
                const double expected = second_(at);
                if (expected < static_cast<double>(std::numeric_limits<float>::min())) {
                    continue;
                }
                const double found = second(at);
                ++sums_[i].elements;
                if (found == 0) {
                    ++sums_[i].flushed;
                    continue;
                }
                sums_[i].logarithm += std::log(found / expected);
                const double difference = first(at) / std::sqrt(found) - first_(at) / std::sqrt(expected);
                squared_error += difference * difference;
                ++compared;
            }
        }
        squared_error_ += compared > 0 ? squared_error / static_cast<double>(compared) : 0;
        ++checkpoints_;
    }

    trajectory_error result() const
    {
        trajectory_error result;
        layer_sums total;
        for (const layer_sums& sums : sums_) {
            result.v_ratio_by_layer.push_back(sums.v_ratio());
            total.logarithm += sums.logarithm;
            total.elements += sums.elements;
            total.flushed += sums.flushed;
        }
        result.checkpoints = checkpoints_;
        result.squared_error = squared_error_ / static_cast<double>(checkpoints_);
        result.v_ratio = total.v_ratio();
        result.flushed = static_cast<double>(total.flushed) / static_cast<double>(total.elements);
        return result;
    }

private:
    struct layer_sums {
        double logarithm = 0;
        std::int64_t elements = 0;
        std::int64_t flushed = 0;

        double v_ratio() const { return std::exp(logarithm / static_cast<double>(elements - flushed)); }
    };

    std::vector<layer> layers_;
    double beta1_;
    double beta2_;
    std::vector<layer_sums> sums_;
    double squared_error_ = 0;
    std::int64_t checkpoints_ = 0;
    column_vector<float> first_, second_;
};

}  // namespace training
