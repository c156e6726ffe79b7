// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// What the demo leaves behind: a table for people, report.json for programs, losses.csv for the picture.
#pragma once

#include "run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace training {

struct demo_report {
    training_plan plan;
    std::string text_source;
    std::int64_t train_bytes = 0;
    std::int64_t held_out_bytes = 0;
    double unigram_entropy = 0;
    std::vector<layer> layers;
    std::vector<run_result> runs;  // beta2 after beta2, in each the kinds of moments, in each the seeds
};

namespace detail {

__attribute__((format(printf, 1, 2))) inline std::string text(const char* format, ...)
{
    char buffer[128];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

// All seeds of one kind of moments at one beta2.
struct run_group {
    moments kind;
    double beta2;
    std::vector<const run_result*> runs;

    bool diverged() const
    {
        return std::any_of(runs.begin(), runs.end(), [](const run_result* run) { return run->diverged(); });
    }

    template<class Value>
    double mean(Value value) const
    {
        double sum = 0;
        for (const run_result* run : runs) {
            sum += value(*run);
        }
        return sum / static_cast<double>(runs.size());
    }
    double mean_train_loss() const
    {
        return mean([](const run_result& run) { return *run.train_loss; });
    }
    double mean_error() const
    {
        return mean([](const run_result& run) { return run.trajectory->squared_error; });
    }
};

inline std::vector<run_group> grouped(const std::vector<run_result>& runs)
{
    std::vector<run_group> groups;
    for (const run_result& run : runs) {
        const auto same = [&](const run_group& group) {
            return group.kind == run.settings.kind && group.beta2 == run.settings.beta2;
        };
        auto group = std::find_if(groups.begin(), groups.end(), same);
        if (group == groups.end()) {
            group = groups.insert(groups.end(), {run.settings.kind, run.settings.beta2, {}});
        }
        group->runs.push_back(&run);
    }
    return groups;
}

inline const run_group* find(const std::vector<run_group>& groups, moments kind, double beta2)
{
    for (const run_group& group : groups) {
        if (group.kind == kind && group.beta2 == beta2) {
            return &group;
        }
    }
    return nullptr;
}

// The least and the largest v ratio of any layer in any run.
inline std::string layer_range(const run_group& group)
{
    double least = INFINITY;
    double largest = 0;
    for (const run_result* run : group.runs) {
        for (const double ratio : run->trajectory->v_ratio_by_layer) {
            least = std::min(least, ratio);
            largest = std::max(largest, ratio);
        }
    }
    return text("%.2f-%.2f", least, largest);
}

inline std::string losses_by_seed(const run_group& group)
{
    std::string line;
    for (const run_result* run : group.runs) {
        line +=
            run->diverged() ? text("  NaN@%-4zu", run->losses.size() + 1) : text("  %.4f", *run->train_loss);
    }
    return line;
}

inline std::string row(const run_group& group, const run_group* exact, const run_group* plain)
{
    std::string line =
        text("%-6g %-13s %8.4f", group.beta2, name_of(group.kind), group.runs[0]->bytes_per_parameter);
    if (group.diverged()) {
        return line + text("  %s", "a run became NaN:") + losses_by_seed(group);
    }
    line += text("  %10.4f", group.mean_train_loss());
    const bool comparable = exact != nullptr && exact != &group && !exact->diverged();
    line += comparable ? text(" %+7.2f %%", 100 * (group.mean_train_loss() / exact->mean_train_loss() - 1))
                       : text(" %9s", "-");
    line += text("  %8.4f", group.mean([](const run_result& run) { return *run.held_out_loss; }));
    line += text("  %9.2e", group.mean_error());
    const bool has_plain = plain != nullptr && !plain->diverged() && group.kind != moments::fp32;
    line += has_plain ? text(" %6.1fx", plain->mean_error() / group.mean_error()) : text(" %7s", "-");
    line += text("  %5.3f", group.mean([](const run_result& run) { return run.trajectory->v_ratio; }));
    line += text("  %-10s", layer_range(group).c_str());
    return line + losses_by_seed(group);
}

inline std::string fp32_spread(const run_group& exact)
{
    if (exact.diverged() || exact.runs.size() < 2) {
        return "";
    }
    const auto by_loss = [](const run_result* a, const run_result* b) {
        return *a->train_loss < *b->train_loss;
    };
    const auto ends = std::minmax_element(exact.runs.begin(), exact.runs.end(), by_loss);
    const double least = *(*ends.first)->train_loss;
    const double largest = *(*ends.second)->train_loss;
    return text("fp32 at beta2 %g: training loss from %.4f to %.4f over %zu seeds, a spread of %.2f %%\n",
        exact.beta2, least, largest, exact.runs.size(), 100 * (largest - least) / exact.mean_train_loss());
}

inline nlohmann::ordered_json json_of(const run_result& run, const std::vector<layer>& layers)
{
    nlohmann::ordered_json json;
    json["moments"] = name_of(run.settings.kind);
    json["beta2"] = run.settings.beta2;
    json["seed"] = run.settings.seed;
    json["bytes_per_parameter"] = run.bytes_per_parameter;
    json["moment_error"] = nullptr;
    json["v_ratio"] = nullptr;
    json["v_ratio_by_layer"] = nullptr;
    json["flushed"] = nullptr;
    if (run.trajectory) {
        json["moment_error"] = run.trajectory->squared_error;
        json["v_ratio"] = run.trajectory->v_ratio;
        json["v_ratio_by_layer"] = nlohmann::ordered_json::object();
        for (std::size_t i = 0; i < layers.size(); ++i) {
            json["v_ratio_by_layer"][layers[i].name] = run.trajectory->v_ratio_by_layer[i];
        }
        json["flushed"] = run.trajectory->flushed;
    }
    json["train_loss"] = run.train_loss ? nlohmann::ordered_json(*run.train_loss) : nullptr;
    json["heldout_loss"] = run.held_out_loss ? nlohmann::ordered_json(*run.held_out_loss) : nullptr;
    json["steps"] = run.losses.size();
    return json;
}

inline std::ofstream open_for_writing(const std::filesystem::path& path)
{
    std::ofstream file(path);
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
    return file;
}

inline void close_written(std::ofstream& file, const std::filesystem::path& path)
{
    file.close();
    if (!file) {
        throw std::runtime_error("writing " + path.string() + " failed");
    }
}

}  // namespace detail

// The columns: bytes of both moments a parameter; training loss (mean of the last fifth of the steps, then
// mean of the seeds) and its distance from fp32; held-out loss; mean square of the error of m / sqrt(v) and
// how many times less that is than plain fp8's; v beside fp32's v, and the range of that over layers and
// seeds; training loss of each seed.
inline std::string table(const demo_report& report)
{
    const std::vector<detail::run_group> groups = detail::grouped(report.runs);
    std::string lines =
        "beta2  moments       bytes/p.  train loss  vs. fp32  held-out  m/sqrt(v) error    v/v32"
        "  by layer    train loss by seed\n";
    for (const detail::run_group& group : groups) {
        lines += detail::row(group, detail::find(groups, moments::fp32, group.beta2),
            detail::find(groups, moments::fp8, group.beta2));
        lines += '\n';
    }
    for (const detail::run_group& group : groups) {
        if (group.kind == moments::fp32) {
            lines += detail::fp32_spread(group);
        }
    }
    lines += detail::text("unigram entropy of the held-out text: %.4f nats a byte", report.unigram_entropy);
    const detail::run_group& first = groups.front();
    if (first.kind == moments::fp32 && !first.diverged()) {
        const double held_out = first.mean([](const run_result& run) { return *run.held_out_loss; });
        lines += detail::text("; fp32 at beta2 %g is %.1f %% below", first.beta2,
            100 * (1 - held_out / report.unigram_entropy));
    }
    return lines + '\n';
}

// The numbers of runs are null where a run became NaN, which `steps` (finished ones) then shows.
inline void write_json(const demo_report& report, const std::filesystem::path& path)
{
    nlohmann::ordered_json json;
    json["text"] = {{"source", report.text_source}, {"train_bytes", report.train_bytes},
        {"heldout_bytes", report.held_out_bytes}};
    json["steps"] = report.plan.steps;
    json["sequences"] = report.plan.sequences;
    json["context"] = report.plan.shape.context;
    json["parameters"] = report.layers.back().offset + report.layers.back().size();
    json["unigram_entropy"] = report.unigram_entropy;
    json["runs"] = nlohmann::ordered_json::array();
    for (const run_result& run : report.runs) {
        json["runs"].push_back(detail::json_of(run, report.layers));
    }
    std::ofstream file = detail::open_for_writing(path);
    file << json.dump(2) << '\n';
    detail::close_written(file, path);
}

inline void write_losses(const demo_report& report, const std::filesystem::path& path)
{
    std::ofstream file = detail::open_for_writing(path);
    file << "moments,beta2,seed,step,loss\n";
    for (const run_result& run : report.runs) {
        for (std::size_t i = 0; i < run.losses.size(); ++i) {
            file << name_of(run.settings.kind) << ',' << run.settings.beta2 << ',' << run.settings.seed << ','
                 << i + 1 << ',' << run.losses[i] << '\n';
        }
    }
    detail::close_written(file, path);
}

}  // namespace training
