// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The demo's language model: a byte-level transformer with pre-norm blocks of causal attention and a GELU
// MLP, learned positions, and an embedding that is the output layer too. Parameters and gradients are one
// flat vector each, and `layers()` says which part is which matrix: that is how an optimizer sees a model.
#pragma once

#include "layers.hpp"
#include "random.hpp"
#include "text.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace training {

struct model_shape {
    int vocabulary = 256;
    int context = 64;
    int width = 64;
    int heads = 4;
    int blocks = 2;
    int hidden = 128;
};

// One matrix of the model: `rows * columns` elements from `offset` on, row after row.
struct layer {
    std::string name;
    std::int64_t offset = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;

    std::int64_t size() const { return rows * columns; }
    bool is_norm() const { return rows == 1; }
};

// Who reads an activation that is saved for the backward pass.
enum class activation_use { elementwise, product };

template<class Scalar>
class language_model {
public:
    explicit language_model(const model_shape& shape)
        : shape_(shape)
        , blocks_(static_cast<std::size_t>(shape.blocks))
    {
        embedding_ = add("embedding", shape.vocabulary, shape.width);
        position_ = add("position", shape.context, shape.width);
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            const std::string prefix = "block" + std::to_string(i) + ".";
            block& current = blocks_[i];
            current.attention_norm = add(prefix + "attention_norm", 1, shape.width);
            current.query_key_value = add(prefix + "query_key_value", 3 * shape.width, shape.width);
            current.attention_output = add(prefix + "attention_output", shape.width, shape.width);
            current.mlp_norm = add(prefix + "mlp_norm", 1, shape.width);
            current.mlp_up = add(prefix + "mlp_up", shape.hidden, shape.width);
            current.mlp_down = add(prefix + "mlp_down", shape.width, shape.hidden);
        }
        final_norm_ = add("final_norm", 1, shape.width);
    }

    const model_shape& shape() const { return shape_; }
    const std::vector<layer>& layers() const { return layers_; }
    std::int64_t parameters() const { return layers_.back().offset + layers_.back().size(); }

    // Uniform numbers whose standard deviation is 1 / sqrt(inputs); less for the two layers that add to the
    // residual path, so that its variance does not grow with the depth, and for the embedding, so that the
    // first loss is near ln(vocabulary). Positions start as waves: near ones are alike from the first step
    // on, and attention finds the previous byte soon. From random positions it is found after a plateau whose
    // end is a matter of luck, which is more than all kinds of moments differ by.
    column_vector<Scalar> initial_parameters(std::uint64_t seed) const
    {
        random_source random(seed, 0);
        column_vector<Scalar> parameters(this->parameters());
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            const layer& current = layers_[i];
            auto part = parameters.segment(current.offset, current.size());
            if (current.is_norm()) {
                part.setOnes();
                continue;
            }
            if (i == position_) {
                set_waves(part);
                continue;
            }
            const double half_width = std::sqrt(3.0) * initial_deviation(i);
            for (Scalar& value : part) {
                value = static_cast<Scalar>((2 * random.uniform() - 1) * half_width);
            }
        }
        return parameters;
    }

    // Mean cross-entropy in nats a byte.
    double loss(const column_vector<Scalar>& parameters, const token_batch& batch)
    {
        forward(parameters, batch);
        return cross_entropy(batch, logits_);
    }

    // The same; writes the gradient of every parameter.
    double loss_and_gradient(
        const column_vector<Scalar>& parameters, const token_batch& batch, column_vector<Scalar>& gradient)
    {
        return loss_and_gradient(parameters, batch, gradient, [](const char*, activation_use, matrix<Scalar>&) {});
    }

    // The same, with what is saved for the backward pass as keep(name, use, activation) leaves it: it is called as soon as an
    // activation is there, and what it leaves is what the forward pass goes on with and what the backward pass reads. The
    // residual path itself stays as it is.
    template<class Keep>
    double loss_and_gradient(const column_vector<Scalar>& parameters, const token_batch& batch,
        column_vector<Scalar>& gradient, const Keep& keep)
    {
        forward(parameters, batch, keep);
        const double loss = cross_entropy(batch, logits_);
        gradient.setZero(this->parameters());
        backward(parameters, batch, gradient);
        return loss;
    }

private:
    // Where the weights of a block are, and what its forward pass leaves for the backward one.
    struct block {
        std::size_t attention_norm, query_key_value, attention_output, mlp_norm, mlp_up, mlp_down;

        matrix<Scalar> input, attention_normed, mixed, probabilities, attended;
        matrix<Scalar> middle, mlp_normed, raised, tanh_of_raised, activated;
        column_vector<Scalar> attention_root, mlp_root;
    };

    std::size_t add(std::string name, std::int64_t rows, std::int64_t columns)
    {
        const std::int64_t offset = layers_.empty() ? 0 : parameters();
        layers_.push_back({std::move(name), offset, rows, columns});
        return layers_.size() - 1;
    }

    // Pairs of sine and cosine; their lengths go from 2 pi to 200 pi positions in a geometric row.
    template<class Part>
    void set_waves(Part&& part) const
    {
        const double amplitude = 0.2;
        for (int position = 0; position < shape_.context; ++position) {
            for (int column = 0; column < shape_.width; ++column) {
                const double frequency = std::pow(100.0, -static_cast<double>(column / 2 * 2) / shape_.width);
                const double angle = position * frequency;
                part(position * shape_.width + column) =
                    static_cast<Scalar>(amplitude * (column % 2 == 0 ? std::sin(angle) : std::cos(angle)));
            }
        }
    }

    double initial_deviation(std::size_t index) const
    {
        if (index == embedding_) {
            return 0.1;
        }
        const double deviation = 1 / std::sqrt(static_cast<double>(layers_[index].columns));
        for (const block& current : blocks_) {
            if (index == current.attention_output || index == current.mlp_down) {
                return deviation / std::sqrt(2.0 * shape_.blocks);
            }
        }
        return deviation;
    }

    const_weight<Scalar> weight(const column_vector<Scalar>& parameters, std::size_t index) const
    {
        const layer& current = layers_[index];
        return {parameters.data() + current.offset, current.rows, current.columns};
    }

    weight_gradient<Scalar> weight_of(column_vector<Scalar>& gradient, std::size_t index) const
    {
        const layer& current = layers_[index];
        return {gradient.data() + current.offset, current.rows, current.columns};
    }

    attention_shape attention(const token_batch& batch) const
    {
        return {batch.sequences, batch.context, shape_.width, shape_.heads};
    }

    void forward(const column_vector<Scalar>& parameters, const token_batch& batch)
    {
        forward(parameters, batch, [](const char*, activation_use, matrix<Scalar>&) {});
    }

    template<class Keep>
    void forward(const column_vector<Scalar>& parameters, const token_batch& batch, const Keep& keep)
    {
        embed(parameters, batch);
        for (block& b : blocks_) {
            b.input = residual_;
            keep("attention input", activation_use::elementwise, b.input);
            norm_forward(b.input, weight(parameters, b.attention_norm), b.attention_root, b.attention_normed);
            keep("attention normed", activation_use::product, b.attention_normed);
            linear_forward(b.attention_normed, weight(parameters, b.query_key_value), b.mixed);
            attention_forward(attention(batch), b.mixed, b.probabilities, b.attended);
            keep("attended", activation_use::product, b.attended);
            linear_forward(b.attended, weight(parameters, b.attention_output), branch_);
            residual_ += branch_;

            b.middle = residual_;
            keep("mlp input", activation_use::elementwise, b.middle);
            norm_forward(b.middle, weight(parameters, b.mlp_norm), b.mlp_root, b.mlp_normed);
            keep("mlp normed", activation_use::product, b.mlp_normed);
            linear_forward(b.mlp_normed, weight(parameters, b.mlp_up), b.raised);
            keep("raised", activation_use::elementwise, b.raised);
            gelu_forward(b.raised, b.tanh_of_raised, b.activated);
            keep("activated", activation_use::product, b.activated);
            linear_forward(b.activated, weight(parameters, b.mlp_down), branch_);
            residual_ += branch_;
        }
        norm_forward(residual_, weight(parameters, final_norm_), final_root_, final_normed_);
        linear_forward(final_normed_, weight(parameters, embedding_), logits_);
    }

    // Finds the gradient of the logits in `logits_`.
    void backward(
        const column_vector<Scalar>& parameters, const token_batch& batch, column_vector<Scalar>& gradient)
    {
        linear_backward(final_normed_, weight(parameters, embedding_), logits_, dnormed_,
            weight_of(gradient, embedding_));
        dresidual_.setZero(residual_.rows(), residual_.cols());
        norm_backward(residual_, weight(parameters, final_norm_), final_root_, dnormed_, dresidual_,
            weight_of(gradient, final_norm_));
        for (auto current = blocks_.rbegin(); current != blocks_.rend(); ++current) {
            const block& b = *current;
            linear_backward(b.activated, weight(parameters, b.mlp_down), dresidual_, draised_,
                weight_of(gradient, b.mlp_down));
            gelu_backward(b.raised, b.tanh_of_raised, draised_);
            linear_backward(b.mlp_normed, weight(parameters, b.mlp_up), draised_, dnormed_,
                weight_of(gradient, b.mlp_up));
            norm_backward(b.middle, weight(parameters, b.mlp_norm), b.mlp_root, dnormed_, dresidual_,
                weight_of(gradient, b.mlp_norm));

            linear_backward(b.attended, weight(parameters, b.attention_output), dresidual_, dattended_,
                weight_of(gradient, b.attention_output));
            attention_backward(attention(batch), b.mixed, b.probabilities, dattended_, dmixed_);
            linear_backward(b.attention_normed, weight(parameters, b.query_key_value), dmixed_, dnormed_,
                weight_of(gradient, b.query_key_value));
            norm_backward(b.input, weight(parameters, b.attention_norm), b.attention_root, dnormed_,
                dresidual_, weight_of(gradient, b.attention_norm));
        }
        embed_backward(batch, gradient);
    }

    void embed(const column_vector<Scalar>& parameters, const token_batch& batch)
    {
        const auto embedding = weight(parameters, embedding_);
        const auto position_weight = weight(parameters, position_);
        residual_.resize(batch.sequences * batch.context, shape_.width);
        for (int sequence = 0; sequence < batch.sequences; ++sequence) {
            for (int position = 0; position < batch.context; ++position) {
                residual_.row(sequence * batch.context + position) =
                    embedding.row(batch.input(sequence, position)) + position_weight.row(position);
            }
        }
    }

    void embed_backward(const token_batch& batch, column_vector<Scalar>& gradient) const
    {
        auto dembedding = weight_of(gradient, embedding_);
        auto dposition = weight_of(gradient, position_);
        for (int sequence = 0; sequence < batch.sequences; ++sequence) {
            for (int position = 0; position < batch.context; ++position) {
                const auto row = dresidual_.row(sequence * batch.context + position);
                dembedding.row(batch.input(sequence, position)) += row;
                dposition.row(position) += row;
            }
        }
    }

    model_shape shape_;
    std::vector<layer> layers_;
    std::vector<block> blocks_;
    std::size_t embedding_ = 0;
    std::size_t position_ = 0;
    std::size_t final_norm_ = 0;

    matrix<Scalar> residual_, branch_, final_normed_, logits_;
    matrix<Scalar> dresidual_, dnormed_, draised_, dattended_, dmixed_;
    column_vector<Scalar> final_root_;
};

}  // namespace training
