// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// The simulated super-node inside a program: NIC, host interface and switch RTL behind one
// driver::Transport per card. A host program is what it is on silicon, over another transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "ubl/comm/bootstrap.hpp"
#include "ubl/driver/transport.hpp"

namespace ubl::sim {

struct Options {
  unsigned cards = 2;    ///< 1..128
  unsigned planes = 8;   ///< 1..8; with fewer than the card has, CommConfig::stripes must say so
  std::string topology;  ///< topology file; then cards and planes are those of the file
  std::string config;    ///< configuration file
  std::string pcap;      ///< capture of all links, pcapng
  bool skip = true;      ///< false: evaluate idle blocks, too (same results, slower)
};

/// Ranks wait and nothing in the system moves any more; what() says which.
class NoProgress : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One for a process, because SystemC knows one simulation only.
class Simulation {
 public:
  /// std::invalid_argument names what is wrong, in files with FILE:LINE.
  explicit Simulation(const Options& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  unsigned cards() const;
  unsigned planes() const;
  /// For driver::Device, within the host program of that card only.
  driver::Transport& transport(unsigned card);
  /// For comm::Communicator; shared by all ranks.
  comm::Bootstrap& bootstrap();

  /// Runs program(rank) for every card at once, each on a stack of its own of 1 MiB, until all have
  /// ended. Called once. Throws what the first of them threw, or NoProgress; the others are then
  /// left where they are. At the end driver::DeviceError if a card's error log holds what no
  /// program has read, std::runtime_error if the capture is not whole. A device must stay open
  /// until its peers have their acknowledgements: end programs with Communicator::finalize().
  void run(const std::function<void(unsigned)>& program);

  /// Simulated time; within programs and after the run.
  double now_ns() const;
  /// Equal for equal runs, on any machine: packets with their cycles, completions, memories.
  uint64_t run_hash() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ubl::sim
