// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Counts the failures of a loop of millions of checks and describes the first, so that the loop runs at full
// speed and the report has one line: CHECK_MESSAGE(tally.passed(), tally.report()).
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace support {

class tally {
public:
    // `describe(stream)` writes what was tried, what came out and what was expected; it runs for one failure
    // only.
    template<class Describe>
    void expect(bool holds, Describe&& describe)
    {
        ++tried_;
        if (holds) return;
        if (failed_++ == 0) {
            std::ostringstream text;
            describe(text);
            first_ = text.str();
        }
    }

    // A tally that never tried anything has proved nothing.
    bool passed() const { return failed_ == 0 && tried_ > 0; }
    std::int64_t tried() const { return tried_; }

    std::string report() const
    {
        std::ostringstream text;
        text << failed_ << " of " << tried_ << " failed; first: " << first_;
        return text.str();
    }

private:
    std::int64_t tried_ = 0;
    std::int64_t failed_ = 0;
    std::string first_ = "none";
};

}  // namespace support
