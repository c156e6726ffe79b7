// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The host's operators with the arguments of operator_runs.hpp; each answers whether it succeeded.
#pragma once

#include "operator_cases.hpp"

namespace support {

struct host_operators {
    // How often to repeat what chance could hide: here nothing could.
    static constexpr int runs = 2;

    template<class Operator, class... Sources, class... Sinks>
    static bool pointwise(const std::tuple<Sources&...>& from, const std::tuple<Sinks&...>& to)
    {
        return gesso::host_pointwise<Operator>(sources(from), sinks(to)) == gesso::status::success;
    }
    template<class Operator, class Parameter, class... Sources, class... Sinks>
    static bool by_rows(
        const std::tuple<Sources&...>& from, row_vectors<Parameter>& vectors, const std::tuple<Sinks&...>& to)
    {
        gesso::row_memory<Operator, Parameter> memory;
        for (std::size_t i = 0; i < vectors.parameters.size(); ++i) memory.parameters[i] = vectors.parameters[i].data();
        for (std::size_t i = 0; i < vectors.given.size(); ++i) memory.given[i] = vectors.given[i].data();
        for (std::size_t i = 0; i < vectors.saved.size(); ++i) memory.saved[i] = vectors.saved[i].data();
        for (std::size_t i = 0; i < vectors.column_sums.size(); ++i) {
            memory.column_sums[i] = vectors.column_sums[i].data();
        }
        memory.epsilon = vectors.epsilon;
        return gesso::host_by_rows(sources(from), memory, sinks(to)) == gesso::status::success;
    }

private:
    template<class... Memories>
    static auto sources(const std::tuple<Memories&...>& from)
    {
        return std::apply([](auto&... each) { return gesso::sources_of(each.view()...); }, from);
    }
    template<class... Memories>
    static auto sinks(const std::tuple<Memories&...>& to)
    {
        return std::apply([](auto&... each) { return gesso::sinks_of(each.view()...); }, to);
    }
};

}  // namespace support
