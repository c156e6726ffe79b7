// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The list of names and hashes that a program of this folder makes, and its comparison with the one in
// expected.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace exact_bytes {

// FNV-1a, 64 bits. `bytes` in the order of memory; every machine that runs this is little-endian.
inline std::uint64_t hash_of(const void* bytes, std::size_t size)
{
    const unsigned char* at = static_cast<const unsigned char*>(bytes);
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (std::size_t i = 0; i < size; ++i) {
        hash ^= at[i];
        hash *= 0x100000001B3u;
    }
    return hash;
}

class hash_list {
public:
    template<class T>
    void add(const std::string& name, const T* values, std::size_t count)
    {
        char text[17];
        std::snprintf(text, sizeof text, "%016llx",
            static_cast<unsigned long long>(hash_of(values, count * sizeof(T))));
        entries_.emplace_back(name, text);
    }

    void print() const
    {
        for (const auto& [name, hash] : entries_) std::printf("%s %s\n", name.c_str(), hash.c_str());
    }

    // {"name": "hash", ...}
    bool write_json(const char* path) const
    {
        std::ofstream file(path);
        const char* before = "{\n";
        for (const auto& [name, hash] : entries_) {
            file << before << "  \"" << name << "\": \"" << hash << '"';
            before = ",\n";
        }
        file << "\n}\n";
        return file.good() && !entries_.empty();
    }

    // Says which lines differ, are missing or are new. True when none is. Lines of the file that begin with
    // `left_out` are not asked for.
    bool equals_file(const char* path, const std::string& left_out = "") const
    {
        std::ifstream file(path);
        if (!file) {
            std::fprintf(stderr, "cannot read %s\n", path);
            return false;
        }
        std::map<std::string, std::string> expected;
        for (std::string name, hash; file >> name >> hash;) {
            if (left_out.empty() || name.compare(0, left_out.size(), left_out) != 0) expected[name] = hash;
        }
        int wrong = 0;
        for (const auto& [name, hash] : entries_) {
            const auto found = expected.find(name);
            const std::string other = found == expected.end() ? "not in the file" : found->second;
            if (other != hash) {
                std::printf("%s: %s, expected: %s\n", name.c_str(), hash.c_str(), other.c_str());
                ++wrong;
            }
            if (found != expected.end()) expected.erase(found);
        }
        for (const auto& [name, hash] : expected) std::printf("%s: missing\n", name.c_str());
        std::printf("%zu hashes, %d differ, %zu missing\n", entries_.size(), wrong, expected.size());
        return wrong == 0 && expected.empty() && !entries_.empty();
    }

private:
    std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace exact_bytes
