// SPDX-License-Identifier: Apache-2.0
#include "ublsim/workloads.hpp"

#include <fmt/format.h>

namespace ubl::ublsim {

void only_defaults(const Options& o) {
  if (o.dtype != "f32")
    throw UsageError(fmt::format("--dtype {}: not for {}", o.dtype, o.workload));
  if (o.in_place) throw UsageError(fmt::format("--in-place: not for {}", o.workload));
}

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {"allreduce", "sum over all cards, to all", run_allreduce},
      {"allgather", "every card gets the blocks of all", run_allgather},
      {"alltoall", "every card sends a block to every card", run_alltoall},
      {"broadcast", "one card's data to all", run_broadcast},
      {"gather", "the blocks of all to one card", run_gather},
      {"scatter", "one card's blocks to all", run_scatter},
      {"reduce", "sum over all cards, to one", run_reduce},
      {"reducescatter", "sum over all cards, a block to each", run_reducescatter},
      {"pingpong", "latency of small messages between two cards", run_pingpong},
      {"sendrecv", "every card sends to the next and receives from the one before", run_sendrecv},
      {"read", "two cards read from each other at once", run_read},
      {"sendmsg", "two cards send each other messages of odd sizes", run_sendmsg},
      {"msgrate", "many small messages between two cards, both ways", run_msgrate},
      {"incast", "all cards send to one, and one of them to another, too", run_incast},
      {"mixed", "small messages under bursts of bulk traffic, shaped and not", run_mixed},
      {"train", "data-parallel training of a small network, gradients over the wire", run_train},
  };
  return all;
}

}  // namespace ubl::ublsim
