// SPDX-License-Identifier: Apache-2.0
// What a run found out: the JSON result with stable keys, and the summary for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ublsim/options.hpp"
#include "ublsim/session.hpp"

namespace ubl::ublsim {

struct Result {
  ExitCode code = kExitOk;
  uint64_t mismatches = 0;
  bool verified = false;
  std::vector<std::string> errors;  ///< one line each, what the user reads first
  systemc::Cycle op_cycles = 0;     ///< user call to completion, slowest rank
  double algbw_GBps = 0, busbw_GBps = 0;
  nlohmann::ordered_json extra = nlohmann::ordered_json::object();
};

/// Stable keys of every workload, from platform counters and `r`.
nlohmann::ordered_json to_json(const Options& o, Session& s, const Result& r);
/// Writes JSON (if asked for), prints summary and verdict, returns the exit status.
int finish(const Options& o, Session& s, const Result& r);

}  // namespace ubl::ublsim
