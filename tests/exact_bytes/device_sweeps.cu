// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// The sweeps of cases.hpp on the device, and the comparison of all of the device's hashes with expected.txt,
// which are the host's. GESSO_EXPECTED_BYTES names that file, GESSO_HASHES_JSON a file to write the hashes
// to.
#include "cases.hpp"
#include "device_visitors.hpp"

#include "../support/device.hpp"

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace exact_bytes {

namespace {

template<class Sweep>
__global__ void sweep_kernel(uint32_t* to)
{
    const index_t i = blockIdx.x * index_t{128} + threadIdx.x;
    if (i < Sweep::count) Sweep::at(i, to + i * Sweep::words);
}

struct sweep_visitor {
    hash_list& hashes;

    template<class Sweep>
    void sweep(const std::string& name, const Sweep&)
    {
        const support::device_array<uint32_t> words(static_cast<std::size_t>(Sweep::count * Sweep::words));
        sweep_kernel<Sweep><<<support::blocks_for(Sweep::count, 128), 128>>>(words.data());
        GESSO_CUDA(cudaGetLastError());
        const std::vector<uint32_t> values = words.values();
        CHECK(words.is_intact());
        hashes.add(name, values.data(), values.size());
    }
    template<class Run>
    void adamw(const std::string&, const Run&)
    {}
};

}  // namespace

void add_sweeps_of_device(hash_list& hashes)
{
    sweep_visitor visitor{hashes};
    for_each_case(visitor);
}

}  // namespace exact_bytes

TEST_CASE("the device's bytes of every case are the host's: sweeps, and 100 AdamW steps of ragged tensors")
{
    exact_bytes::hash_list hashes;
    exact_bytes::add_sweeps_of_device(hashes);
    exact_bytes::add_adamw_of_device(hashes);
    if (const char* path = std::getenv("GESSO_HASHES_JSON"); path != nullptr) CHECK(hashes.write_json(path));
    const char* expected = std::getenv("GESSO_EXPECTED_BYTES");
    CHECK(hashes.equals_file(
        expected != nullptr ? expected : "tests/exact_bytes/expected.txt", exact_bytes::left_out_on_device));
}
