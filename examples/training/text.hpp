// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The text of the demo: where it comes from, what is trained on and what is held out.
//
// The text is cut into sections of 10,240 bytes. The first nine tenths of a section are trained on, its last
// tenth (1,024 bytes) is held out: so the held-out text is of the same kinds as the rest, whatever order the
// files have. The incomplete section at the end is not used. No window of tokens crosses from one part into
// the other.
#pragma once

#include "random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace training {

// Windows of (sequences, context + 1) bytes, row after row: a token and the one that follows it are input and
// target.
struct token_batch {
    int sequences = 0;
    int context = 0;
    std::vector<std::uint8_t> tokens;

    std::uint8_t input(int sequence, int position) const { return tokens[index(sequence, position)]; }
    std::uint8_t target(int sequence, int position) const { return tokens[index(sequence, position + 1)]; }

private:
    std::size_t index(int sequence, int position) const
    {
        return static_cast<std::size_t>(sequence) * static_cast<std::size_t>(context + 1)
               + static_cast<std::size_t>(position);
    }
};

class text_corpus {
public:
    static constexpr std::int64_t section_bytes = 10240;
    static constexpr std::int64_t held_out_bytes = section_bytes / 10;
    static constexpr std::int64_t train_bytes = section_bytes - held_out_bytes;
    static constexpr std::int64_t least_sections = 4;
    static constexpr std::int64_t most_bytes = 16 << 20;  // of a longer text the beginning is used

    text_corpus(std::string source, std::string bytes)
        : source_(std::move(source))
        , bytes_(std::move(bytes))
    {
        sections_ = static_cast<std::int64_t>(bytes_.size()) / section_bytes;
        if (sections_ < least_sections) {
            throw std::invalid_argument("the text of " + source_ + " has " + std::to_string(bytes_.size())
                                        + " bytes; at least " + std::to_string(least_sections * section_bytes)
                                        + " are needed");
        }
    }

    const std::string& source() const { return source_; }
    std::int64_t train_size() const { return sections_ * train_bytes; }
    std::int64_t held_out_size() const { return sections_ * held_out_bytes; }

    // Random windows of the training part; a window may start at any byte.
    token_batch draw(random_source& random, int sequences, int context) const
    {
        token_batch batch = empty_batch(sequences, context);
        for (int sequence = 0; sequence < sequences; ++sequence) {
            const std::int64_t section = random.below(sections_);
            const std::int64_t offset = random.below(train_bytes - context);
            append(batch, section * section_bytes + offset);
        }
        return batch;
    }

    // The held-out part in batches of windows that follow each other. At most `most_windows` are taken,
    // evenly spread, so that a long text does not make the demo slow.
    std::vector<token_batch> held_out(int sequences, int context, std::int64_t most_windows) const
    {
        const std::int64_t windows_in_section = (held_out_bytes - 1) / context;
        const std::int64_t windows = sections_ * windows_in_section;
        const std::int64_t taken = std::min(windows, most_windows);
        std::vector<token_batch> batches;
        for (std::int64_t first = 0; first + sequences <= taken; first += sequences) {
            token_batch batch = empty_batch(sequences, context);
            for (std::int64_t i = first; i < first + sequences; ++i) {
                const std::int64_t window = i * windows / taken;
                append(batch, window / windows_in_section * section_bytes + train_bytes
                                  + window % windows_in_section * context);
            }
            batches.push_back(std::move(batch));
        }
        return batches;
    }

    // Entropy of the held-out bytes' own frequencies, in nats a byte: the lowest held-out loss that any model
    // without context can reach.
    double unigram_entropy() const
    {
        std::array<std::int64_t, 256> counts{};
        for (std::int64_t section = 0; section < sections_; ++section) {
            for (std::int64_t i = train_bytes; i < section_bytes; ++i) {
                ++counts[byte(section * section_bytes + i)];
            }
        }
        double entropy = 0;
        for (const std::int64_t count : counts) {
            if (count > 0) {
                const double frequency = static_cast<double>(count) / static_cast<double>(held_out_size());
                entropy -= frequency * std::log(frequency);
            }
        }
        return entropy;
    }

private:
    static token_batch empty_batch(int sequences, int context)
    {
        if (sequences < 1 || context < 1 || context >= held_out_bytes) {
            throw std::invalid_argument("a batch of " + std::to_string(sequences) + " sequences of "
                                        + std::to_string(context)
                                        + " bytes; needed are at least 1 sequence and 1 to "
                                        + std::to_string(held_out_bytes - 1) + " bytes");
        }
        return {sequences, context, {}};
    }

    void append(token_batch& batch, std::int64_t start) const
    {
        for (std::int64_t i = start; i < start + batch.context + 1; ++i) {
            batch.tokens.push_back(byte(i));
        }
    }

    std::uint8_t byte(std::int64_t position) const
    {
        return static_cast<std::uint8_t>(bytes_[static_cast<std::size_t>(position)]);
    }

    std::string source_;
    std::string bytes_;
    std::int64_t sections_ = 0;
};

namespace detail {

inline void append_file(std::string& bytes, const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        throw std::runtime_error("cannot read the text file " + path.string());
    }
    std::array<char, 65536> buffer{};
    while (static_cast<std::int64_t>(bytes.size()) < text_corpus::most_bytes && file) {
        file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        bytes.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
    }
    if (file.bad()) {
        throw std::runtime_error(
            "reading " + path.string() + " failed after " + std::to_string(bytes.size()) + " bytes");
    }
    if (static_cast<std::int64_t>(bytes.size()) > text_corpus::most_bytes) {
        bytes.resize(static_cast<std::size_t>(text_corpus::most_bytes));
    }
}

// Every regular file of a folder in the order of its name; links are other names of the same texts.
inline std::string folder_text(const std::filesystem::path& folder)
{
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
        if (entry.is_regular_file() && !entry.is_symlink()) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    std::string bytes;
    for (const std::filesystem::path& file : files) {
        append_file(bytes, file);
    }
    return bytes;
}

}  // namespace detail

inline text_corpus text_of_file(const std::filesystem::path& path)
{
    std::string bytes;
    detail::append_file(bytes, path);
    return text_corpus(path.string(), std::move(bytes));
}

// Real text that such a machine has: the licences that Debian and Ubuntu install, else the headers of the
// compiler.
inline text_corpus default_text()
{
    const std::array<const char*, 2> folders{"/usr/share/common-licenses", "/usr/include/c++"};
    for (const char* folder : folders) {
        std::string bytes = detail::folder_text(folder);
        if (static_cast<std::int64_t>(bytes.size())
            >= text_corpus::least_sections * text_corpus::section_bytes) {
            return text_corpus(folder, std::move(bytes));
        }
    }
    throw std::runtime_error(std::string("neither ") + folders[0] + " nor " + folders[1] + " holds "
                             + std::to_string(text_corpus::least_sections * text_corpus::section_bytes)
                             + " bytes of text; name a file with --text");
}

}  // namespace training
