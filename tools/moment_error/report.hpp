// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The tool's output: tables for people, CSV files for programs.
#pragma once

#include "survey.hpp"

#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

namespace moment_error {

__attribute__((format(printf, 1, 2))) inline std::string text(const char* format, ...)
{
    char buffer[256];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

// `automatic`: rounded as the library would by itself.
enum class rounded { nearest, automatic };

inline bool is_rounded(const candidate& which, rounded how, double beta)
{
    return how == rounded::automatic ? which.is_rounded_automatically(beta) : !which.is_stochastic();
}

// The candidate with the usual underflow and lower limit of k, if it is in the list.
inline std::optional<std::size_t> find_usual(const std::vector<candidate>& candidates, const std::string& format,
    const std::string& bound, rounded how, double beta)
{
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const candidate& current = candidates[i];
        if (current.format == format && current.bound == bound && is_rounded(current, how, beta)
            && is_usual_but_for_rounding(current)) {
            return i;
        }
    }
    return {};
}

inline constexpr const char* bounds[] = {"none", "min_normal", "reference", "full_range"};
inline constexpr const char* first_formats[] = {"E4M3", "E5M2"};
inline constexpr const char* second_formats[] = {"E4M3", "E5M2", "unsigned E4M4"};

inline std::string name_of(const candidate& which)
{
    std::string name = which.format + " " + which.bound;
    if (which.min_sixteenths != usual_min_sixteenths(which.bound)) {
        name += text(" k>=%g", which.min_sixteenths / 16.0);
    }
    if (which.underflow != usual_underflow(which.which, which.bound)) {
        name += " " + which.underflow;
    }
    return name + " " + which.rounding_name();
}

// Mean squares of the usual candidates: columns m, rows v.
inline std::string pair_table(const survey& of, table which, rounded how)
{
    std::string result = text("%-26s", "v \\ m");
    for (const char* format : first_formats) {
        for (const char* bound : bounds) {
            static_cast<void>(bound);
            result += text("%11s", format);
        }
    }
    result += text("\n%-26s", "");
    for (std::size_t i = 0; i < std::size(first_formats); ++i) {
        for (const char* bound : bounds) {
            result += text("%11s", bound);
        }
    }
    result += "\n";
    for (const char* second_format : second_formats) {
        for (const char* second_bound : bounds) {
            const auto second = find_usual(of.second, second_format, second_bound, how, of.beta2);
            if (!second) {
                continue;
            }
            result += text("%-26s", (std::string(second_format) + " " + second_bound).c_str());
            for (const char* first_format : first_formats) {
                for (const char* first_bound : bounds) {
                    const auto first = find_usual(of.first, first_format, first_bound, how, of.beta1);
                    result += first ? text("%11.2e", of.pair(which, *first, *second).mean_square()) : text("%11s", "-");
                }
            }
            result += "\n";
        }
    }
    return result;
}

// k below which a share of the groups lies, all-zero groups left out.
inline double exponent_quantile(const code_sums& codes, double share)
{
    std::int64_t groups = 0;
    for (std::size_t i = 1; i < codes.exponents.size(); ++i) {
        groups += codes.exponents[i];
    }
    double below = 0;
    for (std::size_t i = 1; i < codes.exponents.size(); ++i) {
        below += static_cast<double>(codes.exponents[i]);
        if (below >= share * static_cast<double>(groups)) {
            return static_cast<double>(i) / 16;
        }
    }
    return 0;
}

// What the codes of every usual candidate do in the trajectory.
inline std::string moment_table(const survey& of)
{
    std::string result =
        text("%-40s%9s%12s%12s%12s  %s\n", "", "v/fp32 v", "v flushed", "unchanged", "bytes/p.", "k: 1 %, 50 %, 99 %");
    const auto line = [&](const candidate& current, const std::string& of_v, const code_sums& codes, double bytes) {
        result +=
            text("%-40s%s%11.1f%%%12.4f", ((current.which == moment::first ? "m " : "v ") + name_of(current)).c_str(),
                of_v.c_str(), 100 * codes.unchanged_share(), bytes);
        if (current.bound != "none") {
            result += text("  %g, %g, %g", exponent_quantile(codes, 0.01), exponent_quantile(codes, 0.5),
                exponent_quantile(codes, 0.99));
        }
        result += "\n";
    };
    for (std::size_t i = 0; i < of.first.size(); ++i) {
        if (is_usual_but_for_rounding(of.first[i]) && of.first[i].is_rounded_automatically(of.beta1)) {
            line(of.first[i], text("%9s%12s", "", ""), of.first_codes[i], of.first_bytes(i));
        }
    }
    for (std::size_t j = 0; j < of.second.size(); ++j) {
        if (of.second[j].bound == "none" || is_usual_but_for_rounding(of.second[j])) {
            const second_sums& sums = of.of(table::trajectory, j);
            line(of.second[j], text("%9.3f%11.2f%%", sums.v_ratio(), 100 * sums.flushed_share()), of.second_codes[j],
                of.second_bytes(j));
        }
    }
    return result;
}

// Two candidates by what the library's users call them: one bound for both moments, E4M3 for m. Plain FP8 and the
// paper's rule round to nearest; the library rounds automatically.
struct chosen_pair {
    std::size_t first = 0;
    std::size_t second = 0;
};
inline std::optional<chosen_pair> find_pair(
    const survey& of, const std::string& bound, rounded how, const std::string& second_format = "E4M3")
{
    const auto first = find_usual(of.first, "E4M3", bound, how, of.beta1);
    const auto second = find_usual(of.second, second_format, bound, how, of.beta2);
    if (!first || !second) {
        return {};
    }
    return chosen_pair{*first, *second};
}
inline std::optional<chosen_pair> default_pair(const survey& of)
{
    return find_pair(of, "min_normal", rounded::automatic, default_second_format);
}

// One moment of the default pair replaced by every other candidate, best first.
inline std::string neighbour_table(const survey& of, std::size_t lines)
{
    const std::optional<chosen_pair> chosen = default_pair(of);
    if (!chosen) {
        return "";
    }
    const double base = of.pair(table::trajectory, chosen->first, chosen->second).mean_square();
    struct neighbour {
        std::string name;
        double mean_square;
    };
    std::string result;
    for (const moment which : {moment::first, moment::second}) {
        const std::vector<candidate>& candidates = which == moment::first ? of.first : of.second;
        std::vector<neighbour> neighbours;
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const pair_sums& sums = which == moment::first ? of.pair(table::trajectory, i, chosen->second)
                                                           : of.pair(table::trajectory, chosen->first, i);
            const bool is_default = i == (which == moment::first ? chosen->first : chosen->second);
            neighbours.push_back({name_of(candidates[i]) + (is_default ? "  <- default" : ""), sums.mean_square()});
        }
        std::sort(neighbours.begin(), neighbours.end(),
            [](const neighbour& a, const neighbour& b) { return a.mean_square < b.mean_square; });
        result += text("trajectory error of the default with another %c: error, times the default's\n",
            which == moment::first ? 'm' : 'v');
        for (std::size_t i = 0; i < std::min(lines, neighbours.size()); ++i) {
            result += text("  %9.2e %6.2fx  %s\n", neighbours[i].mean_square, neighbours[i].mean_square / base,
                neighbours[i].name.c_str());
        }
    }
    return result;
}

inline std::string tables_of(const survey& of)
{
    const std::string head = text("group size %lld, beta2 %g", static_cast<long long>(of.group_size), of.beta2);
    if (!of.has_trajectory) {
        return "one-shot, mean square error of m/sqrt(v), nearest rounding, "
               + text("group size %lld\n", static_cast<long long>(of.group_size))
               + pair_table(of, table::one_shot, rounded::nearest) + "\n";
    }
    std::string result = "one-shot, mean square error of m/sqrt(v), nearest rounding, " + head + "\n"
                         + pair_table(of, table::one_shot, rounded::nearest) + "\n";
    result += "trajectory, mean square error of m/sqrt(v), nearest rounding, " + head + "\n"
              + pair_table(of, table::trajectory, rounded::nearest) + "\n";
    const std::optional<chosen_pair> chosen = default_pair(of);
    if (chosen && (of.first[chosen->first].is_stochastic() || of.second[chosen->second].is_stochastic())) {
        result += "trajectory, mean square error of m/sqrt(v), automatic rounding (stochastic here), " + head + "\n"
                  + pair_table(of, table::trajectory, rounded::automatic) + "\n";
    }
    result += "codes in the trajectory, " + head + "\n" + moment_table(of) + "\n";
    result += neighbour_table(of, 8) + "\n";
    return result;
}

// What a ratio must be at least at a beta2, if anything is asked.
inline std::optional<double> least_gain(bool over_plain, double beta2)
{
    if (beta2 == 0.95 && over_plain) {
        return 2;
    }
    if (beta2 == 0.999) {
        return over_plain ? 5 : 4;
    }
    return {};
}

// The default, and what it is with v in the other of E4M3 and unsigned E4M4, against the targets. `met` becomes false
// where the default misses one.
inline std::string target_table(const std::vector<survey>& surveys, bool& met)
{
    std::string result;
    const auto line = [&](const std::string& name, double figure, std::optional<double> least,
                          std::optional<double> most, bool counts) {
        const bool good = (!least || figure >= *least) && (!most || figure <= *most);
        met = met && (good || !counts);
        result += text("  %-46s%8.3f", name.c_str(), figure);
        if (least) {
            result += most ? text("   %g to %g", *least, *most) : text("   at least %g", *least);
            result += good ? ", met" : ", MISSED";
        }
        result += "\n";
    };
    for (const survey& of : surveys) {
        const auto plain = find_pair(of, "none", rounded::nearest);
        const auto paper = find_pair(of, "reference", rounded::nearest);
        if (of.group_size != 128 || !of.has_trajectory || !plain || !paper) {
            continue;
        }
        const auto error = [&](const chosen_pair& pair) {
            return of.pair(table::trajectory, pair.first, pair.second).mean_square();
        };
        for (const std::string format : {"E4M3", "unsigned E4M4"}) {
            const auto chosen = find_pair(of, "min_normal", rounded::automatic, format);
            if (!chosen) {
                continue;
            }
            const bool counts = format == default_second_format;
            result += text("beta2 %g, v in %s%s: error %.2e\n", of.beta2, format.c_str(),
                counts ? " (the default)" : "", error(*chosen));
            line("error of plain FP8 / this", error(*plain) / error(*chosen), least_gain(true, of.beta2), {}, counts);
            line("error of the paper's rule / this", error(*paper) / error(*chosen), least_gain(false, of.beta2), {},
                counts);
            line("geometric mean of v / fp32 v", of.of(table::trajectory, chosen->second).v_ratio(), 0.9, 1.1, counts);
        }
    }
    return result;
}

// ---- CSV

namespace detail {

inline std::ofstream open_for_writing(const std::filesystem::path& path)
{
    std::ofstream file(path);
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
    return file;
}

inline void finish(std::ofstream& file, const std::filesystem::path& path)
{
    if (!file.flush()) {
        throw std::runtime_error("writing " + path.string() + " failed");
    }
}

inline std::string columns_of(const candidate& which)
{
    return which.format + "," + which.bound + "," + text("%g", which.min_sixteenths / 16.0) + ","
           + which.rounding_name() + "," + which.underflow;
}

}  // namespace detail

// errors.csv: a line for each table, group size, beta2 and pair.
inline void write_errors(const std::vector<survey>& surveys, const std::filesystem::path& path)
{
    std::ofstream file = detail::open_for_writing(path);
    file << "table,group_size,beta1,beta2,m_format,m_bound,m_k_min,m_rounding,m_underflow,"
            "v_format,v_bound,v_k_min,v_rounding,v_underflow,"
            "mean_square,median,flushed_share,v_ratio,m_unchanged_share,v_unchanged_share,bytes_per_parameter\n";
    for (const survey& of : surveys) {
        for (const table which : {table::one_shot, table::trajectory}) {
            if (which == table::trajectory && !of.has_trajectory) {
                continue;
            }
            for (std::size_t i = 0; i < of.first.size(); ++i) {
                for (std::size_t j = 0; j < of.second.size(); ++j) {
                    const pair_sums& pair = of.pair(which, i, j);
                    const second_sums& second = of.of(which, j);
                    // Two moments by themselves know of no beta.
                    const std::string betas = of.has_trajectory ? text("%g,%g", of.beta1, of.beta2) : ",";
                    file << name_of(which) << ',' << of.group_size << ',' << betas << ','
                         << detail::columns_of(of.first[i]) << ',' << detail::columns_of(of.second[j])
                         << text(",%.6g,%.4g,%.6g,%.6g,", pair.mean_square(), pair.median(), second.flushed_share(),
                                second.v_ratio());
                    if (which == table::trajectory) {
                        file << text(
                            "%.6g,%.6g", of.first_codes[i].unchanged_share(), of.second_codes[j].unchanged_share());
                    } else {
                        file << ',';
                    }
                    file << text(",%.6g\n", of.first_bytes(i) + of.second_bytes(j));
                }
            }
        }
    }
    detail::finish(file, path);
}

// exponents.csv: how many groups of a trajectory had which k, summed over the checkpoints.
inline void write_exponents(const std::vector<survey>& surveys, const std::filesystem::path& path)
{
    std::ofstream file = detail::open_for_writing(path);
    file << "moment,group_size,beta1,beta2,format,bound,k_min,rounding,underflow,k,groups\n";
    for (const survey& of : surveys) {
        const auto write = [&](const candidate& which, const code_sums& codes) {
            for (std::size_t i = 0; i < codes.exponents.size(); ++i) {
                if (codes.exponents[i] != 0) {
                    file << (which.which == moment::first ? "m," : "v,") << of.group_size << ',' << of.beta1 << ','
                         << of.beta2 << ',' << detail::columns_of(which)
                         << text(",%g,%lld\n", static_cast<double>(i) / 16, static_cast<long long>(codes.exponents[i]));
                }
            }
        };
        for (std::size_t i = 0; i < of.first.size() && of.has_trajectory; ++i) {
            write(of.first[i], of.first_codes[i]);
        }
        for (std::size_t j = 0; j < of.second.size() && of.has_trajectory; ++j) {
            write(of.second[j], of.second_codes[j]);
        }
    }
    detail::finish(file, path);
}

}  // namespace moment_error
