// SPDX-License-Identifier: Apache-2.0
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {"allreduce", "sum over all cards, ring algorithm", run_allreduce},
      {"allgather", "every card gets the blocks of all", run_allgather},
      {"alltoall", "every card sends a block to every card", run_alltoall},
      {"broadcast", "one card's data to all", run_broadcast},
      {"gather", "the blocks of all to one card", run_gather},
      {"scatter", "one card's blocks to all", run_scatter},
      {"pingpong", "latency of small messages between two cards", run_pingpong},
      {"sendrecv", "two cards send to each other at once", run_sendrecv},
      {"train", "data-parallel training of a small network, gradients over the wire", run_train},
  };
  return all;
}

}  // namespace ubl::ublsim
