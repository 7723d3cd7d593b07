// SPDX-License-Identifier: Apache-2.0
// The workloads of `ublsim run`. Each builds a session, runs it, checks every result byte against
// sw/numerics and returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "ublsim/options.hpp"

namespace ubl::ublsim {

struct Workload {
  const char* name;
  const char* help;
  int (*run)(const Options&);
};

int run_allreduce(const Options& o);
int run_reducescatter(const Options& o);
int run_reduce(const Options& o);
int run_alltoall(const Options& o);
int run_allgather(const Options& o);
int run_broadcast(const Options& o);
int run_gather(const Options& o);
int run_scatter(const Options& o);
int run_train(const Options& o);
int run_pingpong(const Options& o);
int run_sendrecv(const Options& o);
int run_read(const Options& o);
int run_sendmsg(const Options& o);
int run_msgrate(const Options& o);
int run_incast(const Options& o);
int run_mixed(const Options& o);

/// UsageError if an option was given that only collectives have.
void only_defaults(const Options& o);

const std::vector<Workload>& workloads();

}  // namespace ubl::ublsim
