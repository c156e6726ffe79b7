// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// gesso_demo: trains a small byte-level language model on real text, from the same seeds with fp32 moments,
// with plain FP8, with the paper's rule and with the library's default, and reports what each does to memory,
// moments and loss.
#include "report.hpp"
#include "run.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <Eigen/Core>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace training;

struct demo_options {
    bool quick = false;
    std::string output = "build/demo";
    std::string text;
    std::string record;
    int seeds = 3;
    int threads = 0;
    training_plan plan;
};

// A bar on a terminal; elsewhere (a log of CI) a line for every tenth of the work.
class progress_bar {
public:
    explicit progress_bar(std::int64_t total)
        : total_(total)
        , is_terminal_(isatty(STDERR_FILENO) != 0)
    {
        painter_ = std::thread([this] { paint_until_stopped(); });
    }
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;

    ~progress_bar()
    {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        wake_.notify_one();
        painter_.join();
    }

    void advance(std::int64_t steps = 1) { done_ += steps; }

private:
    void paint_until_stopped()
    {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, std::chrono::milliseconds(200), [this] { return stopped_; })) {
            paint();
        }
        paint();
        if (is_terminal_) {
            std::fputc('\n', stderr);
        }
    }

    void paint()
    {
        const double share = static_cast<double>(done_) / static_cast<double>(total_);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
        const double left = share > 0 ? elapsed.count() * (1 - share) / share : 0;
        if (is_terminal_) {
            const int filled = static_cast<int>(share * 40);
            const std::string bar = std::string(static_cast<std::size_t>(filled), '#')
                                    + std::string(static_cast<std::size_t>(40 - filled), '.');
            std::fprintf(stderr, "\r[%s] %3.0f %%  %3.0f s, %3.0f s left ", bar.c_str(), 100 * share,
                elapsed.count(), left);
        } else if (static_cast<int>(share * 10) > printed_tenths_) {
            printed_tenths_ = static_cast<int>(share * 10);
            std::fprintf(stderr, "%d %% after %.0f s\n", printed_tenths_ * 10, elapsed.count());
        }
        std::fflush(stderr);
    }

    const std::int64_t total_;
    const bool is_terminal_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::atomic<std::int64_t> done_{0};
    int printed_tenths_ = 0;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopped_ = false;
    std::thread painter_;
};

demo_options parse(int argument_count, char** arguments)
{
    demo_options options;
    CLI::App application("Trains a small language model with 8-bit optimizer states, beside fp32 ones");
    application.add_flag("--quick", options.quick, "one seed and beta2 0.95 only");
    application.add_option("--output", options.output, "folder for report.json and losses.csv")
        ->capture_default_str();
    application.add_option(
        "--text", options.text, "text file to train on (default: the system's licence texts)");
    application.add_option("--seeds", options.seeds, "seeds of every kind of moments")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    application.add_option("--steps", options.plan.steps, "steps of every run")
        ->check(CLI::Range(20, 1000000))
        ->capture_default_str();
    application.add_option(
        "--record", options.record, "write the gradients of the first fp32 run to this file");
    application
        .add_option("--threads", options.threads, "runs side by side (default: one a hardware thread)")
        ->check(CLI::Range(1, 1024));
    try {
        application.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        std::exit(application.exit(error));
    }
    if (options.quick) {
        options.seeds = 1;
    }
    if (options.threads == 0) {
        options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    }
    return options;
}

std::vector<run_settings> runs_of(const demo_options& options)
{
    std::vector<run_settings> runs;
    for (const double beta2 : options.quick ? std::vector<double>{0.95} : std::vector<double>{0.95, 0.999}) {
        for (const moments kind : all_moments) {
            for (int seed = 1; seed <= options.seeds; ++seed) {
                runs.push_back({kind, beta2, static_cast<std::uint64_t>(seed)});
            }
        }
    }
    return runs;
}

// Each thread takes the next run that nobody has; results lie in the order of the settings, whoever was
// first.
std::vector<run_result> train_all(const text_corpus& text, const demo_options& options)
{
    const std::vector<run_settings> settings = runs_of(options);
    std::optional<gradient_recorder> recorder;
    if (!options.record.empty()) {
        recorder.emplace(options.record);
    }
    std::vector<run_result> results(settings.size());
    std::atomic<std::size_t> next{0};
    std::mutex failure_mutex;
    std::exception_ptr failure;
    progress_bar progress(static_cast<std::int64_t>(settings.size()) * options.plan.steps);

    const auto work = [&] {
        try {
            for (std::size_t i = next++; i < settings.size(); i = next++) {
                gradient_recorder* const recorder_of_run = i == 0 && recorder ? &*recorder : nullptr;
                results[i] = train(
                    text, options.plan, settings[i], [&] { progress.advance(); }, recorder_of_run);
                progress.advance(options.plan.steps - static_cast<std::int64_t>(results[i].losses.size()));
            }
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
            next = settings.size();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < options.threads; ++i) {
        threads.emplace_back(work);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return results;
}

void run_demo(const demo_options& options)
{
    Eigen::setNbThreads(1);  // the threads are those of train_all
    const std::filesystem::path output = options.output;
    std::filesystem::create_directories(output);
    const text_corpus text = options.text.empty() ? default_text() : text_of_file(options.text);

    demo_report report;
    report.plan = options.plan;
    report.text_source = text.source();
    report.train_bytes = text.train_size();
    report.held_out_bytes = text.held_out_size();
    report.unigram_entropy = text.unigram_entropy();
    report.layers = language_model<float>(options.plan.shape).layers();
    std::printf("text: %s, %lld bytes to train on, %lld held out\n", text.source().c_str(),
        static_cast<long long>(report.train_bytes), static_cast<long long>(report.held_out_bytes));
    std::fflush(stdout);
    report.runs = train_all(text, options);

    std::fputs(table(report).c_str(), stdout);
    write_json(report, output / "report.json");
    write_losses(report, output / "losses.csv");
    std::printf("%s and %s written\n", (output / "report.json").c_str(), (output / "losses.csv").c_str());
}

}  // namespace

int main(int argument_count, char** arguments)
{
    try {
        run_demo(parse(argument_count, arguments));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gesso_demo: %s\n", error.what());
        return 1;
    }
    return 0;
}
