// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// All pairs of candidates on a recording, or on two moments: blocks are replayed side by side on a few threads and
// their sums are added up.
#pragma once

#include "candidates.hpp"
#include "input.hpp"

#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace moment_error {

enum class table { one_shot, trajectory };
inline constexpr std::size_t tables = 2;
inline const char* name_of(table which) { return which == table::one_shot ? "one-shot" : "trajectory"; }

// The sums of all pairs of `first` and `second` at one group size and one beta2.
struct survey {
    std::int64_t group_size = 128;
    double beta1 = 0.9;
    double beta2 = 0.999;
    std::vector<candidate> first, second;
    bool has_trajectory = true;
    double first_bytes(std::size_t i) const { return first_bytes_[i]; }
    double second_bytes(std::size_t i) const { return second_bytes_[i]; }

    std::vector<code_sums> first_codes, second_codes;  // of the trajectories
    std::vector<second_sums> of_second[tables];
    std::vector<pair_sums> of_pair[tables];  // (first, second)

    survey(std::int64_t size, double first_beta, double second_beta, std::vector<candidate> first_moments,
        std::vector<candidate> second_moments)
        : group_size(size)
        , beta1(first_beta)
        , beta2(second_beta)
        , first(std::move(first_moments))
        , second(std::move(second_moments))
        , first_codes(first.size())
        , second_codes(second.size())
    {
        for (std::size_t i = 0; i < tables; ++i) {
            of_second[i].resize(second.size());
            of_pair[i].resize(first.size() * second.size());
        }
    }

    const pair_sums& pair(table which, std::size_t i, std::size_t j) const
    {
        return of_pair[static_cast<std::size_t>(which)][i * second.size() + j];
    }
    const second_sums& of(table which, std::size_t j) const { return of_second[static_cast<std::size_t>(which)][j]; }

    void merge(const survey& other)
    {
        const auto add = [](auto& to, const auto& from) {
            for (std::size_t i = 0; i < to.size(); ++i) {
                to[i].merge(from[i]);
            }
        };
        add(first_codes, other.first_codes);
        add(second_codes, other.second_codes);
        for (std::size_t i = 0; i < tables; ++i) {
            add(of_second[i], other.of_second[i]);
            add(of_pair[i], other.of_pair[i]);
        }
    }

    // Bytes a parameter of every candidate, over whole tensors.
    void count_bytes(const std::vector<layer>& layers)
    {
        const auto count = [&](const std::vector<candidate>& candidates) {
            std::vector<double> result;
            for (const candidate& current : candidates) {
                std::int64_t bytes = 0;
                std::int64_t parameters = 0;
                for (const layer& tensor : layers) {
                    bytes += current.bytes(tensor.size, group_size);
                    parameters += tensor.size;
                }
                result.push_back(static_cast<double>(bytes) / static_cast<double>(parameters));
            }
            return result;
        };
        first_bytes_ = count(first);
        second_bytes_ = count(second);
    }

private:
    std::vector<double> first_bytes_, second_bytes_;
};

// Every block on one of the threads, the blocks of a thread in order: the sums do not depend on who was faster.
// act(thread, block). The first exception of a thread is thrown again.
inline void on_threads(int threads, std::size_t blocks, const std::function<void(std::size_t, std::size_t)>& act)
{
    const std::size_t number = static_cast<std::size_t>(threads);
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::thread> running;
    for (std::size_t thread = 0; thread < number; ++thread) {
        running.emplace_back([&, thread] {
            try {
                for (std::size_t i = thread; i < blocks; i += number) {
                    act(thread, i);
                }
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        });
    }
    for (std::thread& thread : running) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

namespace detail {

// Adds one set of decoded moments: `first` and `second` give the values of candidate i.
template<class First, class Second>
void observe_all(const reference_ratio& reference, table which, survey& into, const First& first, const Second& second)
{
    const std::size_t index = static_cast<std::size_t>(which);
    std::vector<float> root;
    for (std::size_t j = 0; j < into.second.size(); ++j) {
        observe_second(reference, second(j), into.of_second[index][j], root);
        for (std::size_t i = 0; i < into.first.size(); ++i) {
            observe_pair(reference, first(i), root, into.of_pair[index][i * into.second.size() + j]);
        }
    }
}

inline std::vector<moment_track> replay_all(const std::vector<candidate>& candidates,
    const std::vector<float>& gradients, const placement& where, const replay_settings& settings,
    const moment_track& reference)
{
    std::vector<moment_track> tracks;
    for (const candidate& current : candidates) {
        tracks.push_back(current.replay(gradients, where, settings, current.rounding, &reference.trajectory));
    }
    return tracks;
}

inline void add_codes(const std::vector<moment_track>& tracks, std::vector<code_sums>& sums)
{
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        sums[i].merge(tracks[i].codes);
    }
}

// The surveys have one group size, one beta1 and the same first candidates; their beta2 differ.
inline void survey_block(const recording& from, const block& part, const std::vector<std::int64_t>& checkpoints,
    std::vector<survey>& surveys)
{
    const survey& any = surveys.front();
    const std::vector<float> gradients = read_block(from, part);
    const placement where{part.first, part.count, any.group_size};
    replay_settings settings{any.beta1, any.beta2, from.seed, static_cast<std::uint32_t>(part.layer), checkpoints};

    const moment_track first_fp32 = replay_fp32<moment::first>(gradients, where, settings);
    const std::vector<moment_track> first = replay_all(any.first, gradients, where, settings, first_fp32);
    for (survey& into : surveys) {
        settings.beta2 = into.beta2;
        const moment_track second_fp32 = replay_fp32<moment::second>(gradients, where, settings);
        const std::vector<moment_track> second = replay_all(into.second, gradients, where, settings, second_fp32);
        add_codes(first, into.first_codes);
        add_codes(second, into.second_codes);
        for (std::size_t i = 0; i < checkpoints.size(); ++i) {
            const std::size_t at = i * static_cast<std::size_t>(where.count);
            const reference_ratio reference(
                first_fp32.trajectory.data() + at, second_fp32.trajectory.data() + at, where.count);
            observe_all(
                reference, table::one_shot, into, [&](std::size_t j) { return first[j].one_shot.data() + at; },
                [&](std::size_t j) { return second[j].one_shot.data() + at; });
            observe_all(
                reference, table::trajectory, into, [&](std::size_t j) { return first[j].trajectory.data() + at; },
                [&](std::size_t j) { return second[j].trajectory.data() + at; });
        }
    }
}

}  // namespace detail

// Fills the surveys, which have one group size, one beta1 and the same first candidates. after_block() is called from
// the threads.
inline void run_surveys(const recording& from, const std::vector<block>& blocks,
    const std::vector<std::int64_t>& checkpoints, int threads, std::vector<survey>& surveys,
    const std::function<void()>& after_block)
{
    std::vector<std::vector<survey>> of_thread(static_cast<std::size_t>(threads), surveys);
    on_threads(threads, blocks.size(), [&](std::size_t thread, std::size_t i) {
        detail::survey_block(from, blocks[i], checkpoints, of_thread[thread]);
        after_block();
    });
    for (const std::vector<survey>& finished : of_thread) {
        for (std::size_t i = 0; i < surveys.size(); ++i) {
            surveys[i].merge(finished[i]);
        }
    }
    for (survey& current : surveys) {
        current.count_bytes(from.layers);
    }
}

// The one-shot table of two moments that a user gives: m and v of the same elements.
inline void run_one_shot(
    const std::vector<float>& first_moment, const std::vector<float>& second_moment, int threads, survey& into)
{
    into.has_trajectory = false;
    const std::vector<layer> layers{{"all", 0, static_cast<std::int64_t>(first_moment.size())}};
    const std::vector<block> blocks = blocks_of(layers);
    std::vector<survey> of_thread(static_cast<std::size_t>(threads), into);
    on_threads(threads, blocks.size(), [&](std::size_t thread, std::size_t i) {
        const placement where{blocks[i].first, blocks[i].count, into.group_size};
        const auto encode_all = [&](const std::vector<candidate>& candidates, const std::vector<float>& moment_values) {
            const gesso::stochastic source = candidates.front().which == moment::first
                                                 ? source_of<moment::first>({}, 1)
                                                 : source_of<moment::second>({}, 1);
            std::vector<std::vector<float>> decoded;
            for (const candidate& current : candidates) {
                decoded.emplace_back(static_cast<std::size_t>(where.count));
                current.encode_once(moment_values.data() + where.first, where,
                    current.is_stochastic() ? &source : nullptr, decoded.back().data());
            }
            return decoded;
        };
        const auto first = encode_all(into.first, first_moment);
        const auto second = encode_all(into.second, second_moment);
        const reference_ratio reference(
            first_moment.data() + where.first, second_moment.data() + where.first, where.count);
        detail::observe_all(
            reference, table::one_shot, of_thread[thread], [&](std::size_t j) { return first[j].data(); },
            [&](std::size_t j) { return second[j].data(); });
    });
    for (const survey& finished : of_thread) {
        into.merge(finished);
    }
    into.count_bytes(layers);
}

}  // namespace moment_error
