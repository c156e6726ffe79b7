// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// gesso_moment_error: what does keeping m and v in 8 bits do to m / sqrt(v), with which format, expansion, rounding and
// group size? On the gradients that a run recorded, or on two moments.
#include "report.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

namespace {

using namespace moment_error;

struct options {
    std::string gradients;
    std::vector<std::string> moments;  // files of m and of v
    std::optional<std::int64_t> parameters;
    std::optional<double> beta1;
    std::vector<double> beta2{0.95, 0.99, 0.999};
    std::vector<std::int64_t> group_sizes{32, 64, 128, 256, 512, 1024, 2048};
    bool all = false;
    bool summary = false;
    std::int64_t sample = -1;
    std::int64_t steps_between_checkpoints = 20;
    int threads = 2;
    std::string output = "build/moment_error";
};

// The standard call's sample: small enough for a minute on two cores. It ranks candidates; for figures to quote take
// everything (--sample 0), since a few layers with sparse gradients hold most of the error at small beta2.
constexpr std::int64_t usual_sample = 6144;
constexpr std::int64_t main_group_size = 128;

options parse(int argument_count, char** arguments)
{
    options result;
    CLI::App application("Error of 8-bit optimizer moments: one-shot, and along the trajectory of recorded gradients");
    application.add_option("gradients", result.gradients,
        "gradients of a run, raw fp32, with the demo's FILE.json beside it or --parameters");
    application
        .add_option(
            "--moments", result.moments, "two raw fp32 files, m and v of the same elements: the one-shot table alone")
        ->expected(2);
    application.add_option("--parameters", result.parameters, "parameters of a file without header");
    application.add_option("--beta1", result.beta1, "beta1 (default: the recording's, else 0.9)")
        ->check(CLI::Range(0.0, 0.9999));
    application.add_option("--beta2", result.beta2, "values of beta2")
        ->check(CLI::Range(0.0, 0.99999))
        ->capture_default_str();
    application.add_option("--group-sizes", result.group_sizes, "powers of two from 1 to 2048")->capture_default_str();
    application.add_flag("--all", result.all,
        "every candidate at every group size, and all their tables (default: every one at 128, the usual ones "
        "without E5M2 elsewhere)");
    application.add_flag("--summary", result.summary,
        "plain FP8, the paper's rule and the default at group size 128 only, against the targets; "
        "exit code 2 where one is missed");
    application.add_option("--sample", result.sample,
        "elements to look at, in blocks of 2048 spread over the model; 0 is all "
        "(default: 6144; all with --summary)");
    application.add_option("--checkpoint-distance", result.steps_between_checkpoints, "steps between two comparisons")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    application.add_option("--threads", result.threads)->check(CLI::Range(1, 256))->capture_default_str();
    application.add_option("--output", result.output, "folder for errors.csv and exponents.csv")->capture_default_str();
    try {
        application.parse(argument_count, arguments);
        if (result.gradients.empty() == result.moments.empty()) {
            throw CLI::ValidationError("give a file of gradients, or --moments M V");
        }
        for (const std::int64_t size : result.group_sizes) {
            if (size < 1 || block_size % size != 0) {
                throw CLI::ValidationError("group size " + std::to_string(size) + " is not a power of two from 1 to "
                                           + std::to_string(block_size));
            }
        }
        if (result.summary && !result.moments.empty()) {
            throw CLI::ValidationError("--summary needs gradients: its targets are those of the trajectory");
        }
    } catch (const CLI::Error& error) {
        std::exit(application.exit(error));
    }
    return result;
}

// Away from group size 128 only what a reader compares there, so that the standard call takes a minute: the usual
// settings without E5M2, rounded as the library would, and E4M3 to nearest as well, which is the published method.
bool is_at_every_group_size(const candidate& which, double beta)
{
    const bool is_published = !which.is_stochastic() && which.format == "E4M3";
    return which.format != "E5M2" && is_usual_but_for_rounding(which)
           && (which.is_rounded_automatically(beta) || is_published);
}

bool is_in_summary(const candidate& which, double beta)
{
    const bool is_default_bound = which.bound == "min_normal";
    const bool has_format = which.format == "E4M3" || (which.format == "unsigned E4M4" && is_default_bound);
    if (!has_format || which.bound == "full_range" || !is_usual_but_for_rounding(which)) {
        return false;
    }
    return is_default_bound ? which.is_rounded_automatically(beta) : !which.is_stochastic();
}

std::vector<candidate> candidates_of(const options& with, moment which, std::int64_t group_size, double beta)
{
    std::vector<candidate> candidates = all_candidates(which);
    const auto unwanted = [&](const candidate& current) {
        if (with.summary) {
            return !is_in_summary(current, beta);
        }
        return !with.all && group_size != main_group_size && !is_at_every_group_size(current, beta);
    };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), unwanted), candidates.end());
    return candidates;
}

std::vector<survey> run_recording(const options& with)
{
    const recording from = open_recording(with.gradients, with.parameters);
    const double beta1 = with.beta1.value_or(from.beta1);
    const std::int64_t elements = with.sample >= 0 ? with.sample : (with.summary ? 0 : usual_sample);
    const std::vector<block> blocks = sample(blocks_of(from.layers), elements);
    const std::vector<std::int64_t> checkpoints = checkpoints_of(from.steps, with.steps_between_checkpoints);
    const std::vector<std::int64_t> group_sizes =
        with.summary ? std::vector<std::int64_t>{main_group_size} : with.group_sizes;

    std::int64_t taken = 0;
    for (const block& current : blocks) {
        taken += current.count;
    }
    std::printf("%s: %lld steps of %lld parameters; looking at %lld of them, at %zu steps of the second half; "
                "beta1 %g\n\n",
        with.gradients.c_str(), static_cast<long long>(from.steps), static_cast<long long>(from.parameters),
        static_cast<long long>(taken), checkpoints.size(), beta1);
    std::fflush(stdout);

    const auto start = std::chrono::steady_clock::now();
    std::vector<survey> result;
    for (const std::int64_t group_size : group_sizes) {
        std::vector<survey> surveys;
        for (const double beta2 : with.beta2) {
            surveys.emplace_back(group_size, beta1, beta2, candidates_of(with, moment::first, group_size, beta1),
                candidates_of(with, moment::second, group_size, beta2));
        }
        run_surveys(from, blocks, checkpoints, with.threads, surveys, [] {});
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        std::fprintf(
            stderr, "group size %lld done after %.0f s\n", static_cast<long long>(group_size), elapsed.count());
        for (survey& current : surveys) {
            result.push_back(std::move(current));
        }
    }
    return result;
}

std::vector<survey> run_moments(const options& with)
{
    const std::vector<float> first = read_numbers(with.moments[0]);
    const std::vector<float> second = read_numbers(with.moments[1]);
    if (first.size() != second.size() || first.empty()) {
        throw std::runtime_error(with.moments[0] + " has " + std::to_string(first.size()) + " numbers and "
                                 + with.moments[1] + " has " + std::to_string(second.size()));
    }
    // A beta only chooses which rounding is called automatic; encoding once is always shown to nearest.
    const double beta = 0;
    std::vector<survey> result;
    for (const std::int64_t group_size : with.group_sizes) {
        result.emplace_back(group_size, beta, beta, candidates_of(with, moment::first, group_size, beta),
            candidates_of(with, moment::second, group_size, beta));
        run_one_shot(first, second, with.threads, result.back());
    }
    return result;
}

int run(const options& with)
{
    const std::vector<survey> surveys = with.moments.empty() ? run_recording(with) : run_moments(with);
    bool met = true;
    const std::string targets = target_table(surveys, met);
    if (!with.summary) {
        for (const survey& current : surveys) {
            const bool is_shown = with.all || current.group_size == main_group_size || with.group_sizes.size() == 1;
            std::fputs(is_shown ? tables_of(current).c_str() : "", stdout);
        }
    }
    if (!targets.empty()) {
        std::printf("trajectory against the targets (m in E4M3, group size 128)\n%s\n", targets.c_str());
    }
    const std::filesystem::path output = with.output;
    std::filesystem::create_directories(output);
    write_errors(surveys, output / "errors.csv");
    write_exponents(surveys, output / "exponents.csv");
    std::printf("%s and %s written\n", (output / "errors.csv").c_str(), (output / "exponents.csv").c_str());
    return with.summary && !met ? 2 : 0;
}

}  // namespace

int main(int argument_count, char** arguments)
{
    try {
        return run(parse(argument_count, arguments));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gesso_moment_error: %s\n", error.what());
        return 1;
    }
}
