// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the tool reads: gradients of a run, or two moments.
//
//   FILE        steps * parameters numbers, raw little-endian fp32: all parameters of step 1, then of step 2, ...
//   FILE.json   written by the demo beside it: parameters, steps, beta1, beta2, seed, layers. A file without it is
//               taken for one tensor of the number of parameters that the user gives.
//
// A recording may be larger than memory: it is cut into blocks of elements that follow each other in one tensor, and
// a block is read for all its steps.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace moment_error {

// A tensor among the parameters: `size` elements from `offset` on.
struct layer {
    std::string name;
    std::int64_t offset = 0;
    std::int64_t size = 0;
};

struct recording {
    std::filesystem::path path;
    std::int64_t parameters = 0;
    std::int64_t steps = 0;
    double beta1 = 0.9;
    std::uint64_t seed = 1;
    std::vector<layer> layers;
};

// The elements [first, first + count) of a layer. `first` is a multiple of the block size, so a block starts with a
// group whatever the group size, and its bytes are those that the whole tensor would have.
struct block {
    std::size_t layer = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

inline constexpr std::int64_t block_size = 2048;  // the largest group

namespace detail {

inline std::int64_t number_of_floats(const std::filesystem::path& path)
{
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error) {
        throw std::runtime_error("cannot read " + path.string() + ": " + error.message());
    }
    if (bytes % sizeof(float) != 0) {
        throw std::runtime_error(
            path.string() + " has " + std::to_string(bytes) + " bytes, which is no whole number of fp32 values");
    }
    return static_cast<std::int64_t>(bytes / sizeof(float));
}

inline void read_floats(
    std::ifstream& file, const std::filesystem::path& path, std::int64_t from, std::int64_t count, float* values)
{
    const std::int64_t size = static_cast<std::int64_t>(sizeof(float));
    file.seekg(from * size);
    file.read(reinterpret_cast<char*>(values), count * size);
    if (!file) {
        throw std::runtime_error("reading " + std::to_string(count) + " numbers from number " + std::to_string(from)
                                 + " of " + path.string() + " failed");
    }
}

inline void read_header(recording& result, const std::filesystem::path& header_path)
{
    try {
        std::ifstream file(header_path);
        const nlohmann::json json = nlohmann::json::parse(file);
        const std::string format = json.at("format");
        if (format != "gesso gradients 1") {
            throw std::runtime_error(
                header_path.string() + ": the format is \"" + format + "\", not \"gesso gradients 1\"");
        }
        result.parameters = json.at("parameters");
        result.steps = json.at("steps");
        result.beta1 = json.at("beta1");
        result.seed = json.at("seed");
        for (const nlohmann::json& entry : json.at("layers")) {
            const std::int64_t rows = entry.at("rows");
            const std::int64_t columns = entry.at("columns");
            result.layers.push_back({entry.at("name"), entry.at("offset"), rows * columns});
        }
    } catch (const nlohmann::json::exception& error) {
        throw std::runtime_error(header_path.string() + ": " + error.what());
    }
    std::int64_t next = 0;
    for (const layer& current : result.layers) {
        if (current.offset != next || current.size < 1) {
            throw std::runtime_error(header_path.string() + ": layer " + current.name + " has offset "
                                     + std::to_string(current.offset) + " and " + std::to_string(current.size)
                                     + " elements; the offset must be " + std::to_string(next));
        }
        next += current.size;
    }
    if (next != result.parameters || result.steps < 1) {
        throw std::runtime_error(header_path.string() + ": " + std::to_string(result.steps) + " steps of "
                                 + std::to_string(result.parameters) + " parameters, whose layers have "
                                 + std::to_string(next));
    }
}

}  // namespace detail

// Checks the header against the size of the file. `parameters`: for a file without header, and then it must be given.
inline recording open_recording(const std::filesystem::path& path, std::optional<std::int64_t> parameters = {})
{
    recording result;
    result.path = path;
    const std::int64_t found = detail::number_of_floats(path);
    const std::filesystem::path header_path = path.string() + ".json";
    if (!parameters && !std::filesystem::exists(header_path)) {
        throw std::runtime_error(path.string() + " has no header " + header_path.string()
                                 + "; give the number of parameters (--parameters)");
    }
    if (parameters) {
        if (*parameters < 1 || found < *parameters || found % *parameters != 0) {
            throw std::runtime_error(path.string() + " has " + std::to_string(found)
                                     + " fp32 values, which is no whole number of steps of "
                                     + std::to_string(*parameters) + " parameters");
        }
        result.parameters = *parameters;
        result.steps = found / *parameters;
        result.layers.push_back({"all", 0, *parameters});
        return result;
    }
    detail::read_header(result, header_path);
    if (found != result.steps * result.parameters) {
        throw std::runtime_error(path.string() + " has " + std::to_string(found) + " fp32 values; "
                                 + std::to_string(result.steps) + " steps of " + std::to_string(result.parameters)
                                 + " parameters are " + std::to_string(result.steps * result.parameters));
    }
    return result;
}

inline std::vector<block> blocks_of(const std::vector<layer>& layers)
{
    std::vector<block> blocks;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        for (std::int64_t first = 0; first < layers[i].size; first += block_size) {
            blocks.push_back({i, first, std::min(block_size, layers[i].size - first)});
        }
    }
    return blocks;
}

// About `elements` of the elements, in whole blocks that are evenly spread over the model, so that a layer's share of
// the sample is its share of the parameters. 0 takes everything.
inline std::vector<block> sample(const std::vector<block>& blocks, std::int64_t elements)
{
    std::int64_t total = 0;
    for (const block& current : blocks) {
        total += current.count;
    }
    if (elements <= 0 || elements >= total) {
        return blocks;
    }
    // The blocks that hold the middle of each of `number` equal parts of all elements.
    const std::int64_t number = std::max<std::int64_t>(1, elements / block_size);
    std::vector<block> taken;
    std::int64_t end = 0;
    std::int64_t part = 0;
    for (const block& current : blocks) {
        end += current.count;
        if (part < number && (2 * part + 1) * total < 2 * number * end) {
            taken.push_back(current);
            while (part < number && (2 * part + 1) * total < 2 * number * end) {
                ++part;
            }
        }
    }
    return taken;
}

// The gradients of one block: (steps, block.count).
inline std::vector<float> read_block(const recording& from, const block& part)
{
    std::ifstream file(from.path, std::ios::binary);
    std::vector<float> values(static_cast<std::size_t>(from.steps * part.count));
    const std::int64_t offset = from.layers[part.layer].offset + part.first;
    for (std::int64_t step = 0; step < from.steps; ++step) {
        float* const row = values.data() + step * part.count;
        detail::read_floats(file, from.path, step * from.parameters + offset, part.count, row);
        for (std::int64_t i = 0; i < part.count; ++i) {
            if (!std::isfinite(row[i])) {
                throw std::runtime_error(from.path.string() + ": the gradient of parameter "
                                         + std::to_string(offset + i) + " in step " + std::to_string(step + 1)
                                         + " is not finite");
            }
        }
    }
    return values;
}

// A file of plain fp32 numbers.
inline std::vector<float> read_numbers(const std::filesystem::path& path)
{
    const std::int64_t count = detail::number_of_floats(path);
    std::ifstream file(path, std::ios::binary);
    std::vector<float> values(static_cast<std::size_t>(count));
    detail::read_floats(file, path, 0, count, values.data());
    return values;
}

}  // namespace moment_error
