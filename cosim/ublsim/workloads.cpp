// SPDX-License-Identifier: Apache-2.0
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {"allreduce", "sum over all cards, ring algorithm", run_allreduce},
      {"pingpong", "latency of small messages between two cards", run_pingpong},
      {"sendrecv", "two cards send to each other at once", run_sendrecv},
      {"train", "data-parallel training of a small network, gradients over the wire", run_train},
  };
  return all;
}

}  // namespace ubl::ublsim
