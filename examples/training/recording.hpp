// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Recorded gradients: what the optimizer of a run was given, for tools that replay moments.
//
//   FILE       steps * parameters numbers, raw little-endian fp32: those of step 1, then those of step 2, ...
//   FILE.json  {"format": "gesso gradients 1", "parameters": P, "steps": S,
//               "beta1": .., "beta2": .., "seed": ..,
//               "layers": [{"name": .., "offset": .., "rows": .., "columns": ..}, ..]}
//
// `offset` counts elements. The JSON is written last, so a run that was cut off leaves no header.
#pragma once

#include "layers.hpp"
#include "model.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace training {

struct recording_header {
    std::int64_t parameters = 0;
    std::int64_t steps = 0;
    double beta1 = 0;
    double beta2 = 0;
    std::uint64_t seed = 0;
    std::vector<layer> layers;
};

inline constexpr const char* recording_format = "gesso gradients 1";

class gradient_recorder {
public:
    explicit gradient_recorder(std::filesystem::path path)
        : path_(std::move(path))
        , file_(path_, std::ios::binary)
    {
        if (!file_) {
            throw std::runtime_error("cannot write the recording " + path_.string());
        }
        std::filesystem::remove(path_.string() + ".json");  // of an earlier recording
    }

    void append(const column_vector<float>& gradient)
    {
        file_.write(reinterpret_cast<const char*>(gradient.data()),
            static_cast<std::streamsize>(gradient.size()) * static_cast<std::streamsize>(sizeof(float)));
        ++steps_;
        if (!file_) {
            throw std::runtime_error(
                "writing step " + std::to_string(steps_) + " to " + path_.string() + " failed");
        }
    }

    void finish(double beta1, double beta2, std::uint64_t seed, const std::vector<layer>& layers)
    {
        file_.close();
        nlohmann::ordered_json header;
        header["format"] = recording_format;
        header["parameters"] = layers.back().offset + layers.back().size();
        header["steps"] = steps_;
        header["beta1"] = beta1;
        header["beta2"] = beta2;
        header["seed"] = seed;
        for (const layer& current : layers) {
            header["layers"].push_back({{"name", current.name}, {"offset", current.offset},
                {"rows", current.rows}, {"columns", current.columns}});
        }
        std::ofstream file(path_.string() + ".json");
        file << header.dump(2) << '\n';
        if (!file.flush() || !file_) {
            throw std::runtime_error("writing " + path_.string() + ".json failed");
        }
    }

private:
    std::filesystem::path path_;
    std::ofstream file_;
    std::int64_t steps_ = 0;
};

// Reads one step at a time: a recording has hundreds of megabytes.
class gradient_recording {
public:
    explicit gradient_recording(std::filesystem::path path)
        : path_(std::move(path))
    {
        read_header();
        std::error_code error;
        const std::uintmax_t found = std::filesystem::file_size(path_, error);
        const std::uintmax_t expected = static_cast<std::uintmax_t>(header_.steps)
                                        * static_cast<std::uintmax_t>(header_.parameters) * sizeof(float);
        file_.open(path_, std::ios::binary);
        if (error || !file_) {
            throw std::runtime_error("cannot read the recording " + path_.string());
        }
        if (found != expected) {
            throw std::runtime_error(path_.string() + " has " + std::to_string(found) + " bytes; "
                                     + std::to_string(header_.steps) + " steps of "
                                     + std::to_string(header_.parameters) + " fp32 gradients are "
                                     + std::to_string(expected));
        }
    }

    const recording_header& header() const { return header_; }

    // The gradients of one step, counted from 1: (parameters). Any order of steps will do.
    void read(std::int64_t step, std::vector<float>& gradient)
    {
        if (step < 1 || step > header_.steps) {
            throw std::out_of_range("step " + std::to_string(step) + " of a recording of "
                                    + std::to_string(header_.steps) + " steps");
        }
        gradient.resize(static_cast<std::size_t>(header_.parameters));
        const std::int64_t bytes = header_.parameters * static_cast<std::int64_t>(sizeof(float));
        file_.seekg((step - 1) * bytes);
        file_.read(reinterpret_cast<char*>(gradient.data()), bytes);
        if (!file_) {
            throw std::runtime_error(
                "reading step " + std::to_string(step) + " of " + path_.string() + " failed");
        }
    }

private:
    void read_header()
    {
        const std::string header_path = path_.string() + ".json";
        std::ifstream file(header_path);
        if (!file) {
            throw std::runtime_error("cannot read the recording's header " + header_path);
        }
        try {
            const nlohmann::json json = nlohmann::json::parse(file);
            if (json.at("format") != recording_format) {
                throw std::runtime_error(header_path + ": the format is " + json.at("format").dump()
                                         + ", not \"" + recording_format + "\"");
            }
            header_.parameters = json.at("parameters");
            header_.steps = json.at("steps");
            header_.beta1 = json.at("beta1");
            header_.beta2 = json.at("beta2");
            header_.seed = json.at("seed");
            for (const nlohmann::json& entry : json.at("layers")) {
                header_.layers.push_back(
                    {entry.at("name"), entry.at("offset"), entry.at("rows"), entry.at("columns")});
            }
        } catch (const nlohmann::json::exception& error) {
            throw std::runtime_error(header_path + ": " + error.what());
        }
        check_layers(header_path);
    }

    void check_layers(const std::string& header_path) const
    {
        std::int64_t next = 0;
        for (const layer& current : header_.layers) {
            if (current.offset != next || current.rows < 1 || current.columns < 1) {
                throw std::runtime_error(
                    header_path + ": layer " + current.name + " has offset " + std::to_string(current.offset)
                    + " and " + std::to_string(current.rows) + " x " + std::to_string(current.columns)
                    + " elements; the offset must be " + std::to_string(next));
            }
            next += current.size();
        }
        if (next != header_.parameters || header_.steps < 1) {
            throw std::runtime_error(header_path + ": " + std::to_string(header_.steps) + " steps of "
                                     + std::to_string(header_.parameters) + " parameters, whose layers have "
                                     + std::to_string(next));
        }
    }

    std::filesystem::path path_;
    recording_header header_;
    std::ifstream file_;
};

}  // namespace training
