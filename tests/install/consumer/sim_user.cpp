// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// An all-reduce of three cards over the simulated RTL, compared with sw/numerics.
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "ubl/comm/communicator.hpp"
#include "ubl/driver/device.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/sim/simulation.hpp"

int main() {
  using namespace ubl;
  constexpr unsigned kCards = 3, kCount = 1000;
  std::vector<std::vector<uint32_t>> in(kCards), out(kCards);
  uint32_t x = 1;
  for (auto& v : in)
    for (unsigned i = 0; i < kCount; ++i) v.push_back(0x3F800000u + ((x *= 1664525u) >> 9));

  sim::Options options;
  options.cards = kCards;
  options.planes = 2;
  sim::Simulation simulation(options);
  simulation.run([&](unsigned rank) {
    driver::Device device(simulation.transport(rank));
    comm::CommConfig config;
    config.stripes = simulation.planes();
    comm::Communicator comm(rank, kCards, device, simulation.bootstrap(), config);
    const uint64_t buffer = device.hbm_alloc(kCount * 4);
    device.write_hbm(buffer, in[rank].data(), kCount * 4);
    comm.all_reduce(buffer, buffer, kCount);
    out[rank].resize(kCount);
    device.read_hbm(out[rank].data(), buffer, kCount * 4);
    comm.finalize(simulation.bootstrap());
  });

  unsigned wrong = 0;
  for (unsigned c = 0; c < kCards; ++c)
    for (uint64_t i = comm::protocol::chunk_begin(kCount, kCards, c);
         i < comm::protocol::chunk_begin(kCount, kCards, c + 1); ++i) {
      uint32_t sum = in[c][i];
      for (unsigned k = 1; k < kCards; ++k) sum = numerics::add_f32(sum, in[(c + k) % kCards][i]);
      for (unsigned r = 0; r < kCards; ++r) wrong += out[r][i] != sum;
    }
  std::printf("%u elements on %u cards, %.1f us simulated, run hash %016" PRIx64 ", %u wrong\n",
              kCount, kCards, simulation.now_ns() / 1000, simulation.run_hash(), wrong);

  try {  // what is wrong is said
    sim::Options bad;
    bad.topology = "/no/such/file";
    sim::Simulation second(bad);
    return 1;
  } catch (const std::invalid_argument& e) {
    std::printf("refused: %s\n", e.what());
  }
  return wrong == 0 ? 0 : 1;
}
