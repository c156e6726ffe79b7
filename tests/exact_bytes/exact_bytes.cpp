// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The host's bytes of every case. Without an argument prints the list; with the name of a file compares with
// it. After an intended change of the arithmetic: exact_bytes > expected.txt, and say in the commit what
// changed and why.
#include "cases.hpp"
#include "hash.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

class host_visitor {
public:
    template<class Sweep>
    void sweep(const std::string& name, const Sweep&)
    {
        fill_and_hash(name, Sweep::count, Sweep::words, element_functions.emplace_back(&Sweep::at));
    }

    template<class Run>
    void adamw(const std::string& name, const Run& run)
    {
        using parameter_type = typename Run::parameter;
        using gradient_type = typename Run::gradient;
        const std::size_t count = static_cast<std::size_t>(run.shape.count);
        const gesso::storage_layout<typename Run::first_codec> first_layout{
            run.shape.count, run.shape.row_length};
        const gesso::storage_layout<typename Run::second_codec> second_layout{
            run.shape.count, run.shape.row_length};
        std::vector<unsigned char> first(static_cast<std::size_t>(first_layout.bytes()));
        std::vector<unsigned char> second(static_cast<std::size_t>(second_layout.bytes()));
        std::vector<parameter_type> parameters;
        for (std::size_t i = 0; i < count; ++i) {
            parameters.push_back(gesso::element<parameter_type>::store(
                exact_bytes::initial_parameter(static_cast<gesso::index_t>(i))));
        }
        std::vector<gradient_type> gradients(count);

        gesso::adamw_tensor<parameter_type, gradient_type, typename Run::first_codec,
            typename Run::second_codec>
            tensor;
        tensor.parameters = parameters.data();
        tensor.gradients = gradients.data();
        tensor.first_moment = first_layout.bind(first.data());
        tensor.second_moment = second_layout.bind(second.data());
        tensor.first_moment.first = tensor.second_moment.first = run.shape.first;
        tensor.learning_rate_scale = run.learning_rate_scale;
        tensor.weight_decay_scale = run.weight_decay_scale;
        gesso::step_state state = run.state();
        for (std::int64_t step = 1; step <= Run::steps; ++step) {
            for (std::size_t i = 0; i < count; ++i) {
                gradients[i] = gesso::element<gradient_type>::store(
                    exact_bytes::gradient(step, static_cast<gesso::index_t>(i)));
            }
            gesso::advance(state, run.configuration);
            const gesso::status done = gesso::host_adamw_step(tensor, run.configuration, state, run.rounding);
            if (done != gesso::status::success) {
                std::fprintf(stderr, "%s: %s\n", name.c_str(), gesso::describe(done));
                std::exit(2);
            }
        }
        // Codes, scales and exponents of a moment lie in one piece of memory, with zeros between them.
        hashes.add(name + ".parameters", parameters.data(), parameters.size());
        hashes.add(name + ".first_moment", first.data(), first.size());
        hashes.add(name + ".second_moment", second.data(), second.size());
    }

    exact_bytes::hash_list hashes;

private:
    using element_function = void (*)(gesso::index_t, std::uint32_t*);

    // By a pointer that no compiler follows: a hundred sweeps inlined and vectorised take a minute to
    // compile.
    void fill_and_hash(
        const std::string& name, gesso::index_t count, int words_each, const volatile element_function& at)
    {
        const element_function function = at;
        std::vector<std::uint32_t> words(static_cast<std::size_t>(count * words_each));
        for (gesso::index_t i = 0; i < count; ++i) function(i, words.data() + i * words_each);
        hashes.add(name, words.data(), words.size());
    }

    std::vector<element_function> element_functions;
};

}  // namespace

int main(int count, char** arguments)
{
    host_visitor visitor;
    exact_bytes::for_each_case(visitor);
    if (count < 2) {
        visitor.hashes.print();
        return 0;
    }
    return visitor.hashes.equals_file(arguments[1]) ? 0 : 1;
}
