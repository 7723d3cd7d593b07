// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Out-of-band exchange between the ranks of a session. All ranks go on at the simulated time at
// which the last one came. Polling (comm::LocalBootstrap) would not do: of ranks that look at the
// very time at which the last one comes, those that SystemC happens to run before it would go on
// later than the others, and that order depends on which cycles the engine skips.
#pragma once

#include <map>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "ubl/comm/bootstrap.hpp"
#include "ublsim/session.hpp"

namespace ubl::ublsim {

class SimBootstrap : public comm::Bootstrap {
 public:
  explicit SimBootstrap(Session& s) : session_(s), next_(s.ranks(), 0) {}
  unsigned size() const override { return static_cast<unsigned>(next_.size()); }

  std::vector<Blob> all_gather(unsigned rank, Blob mine, const Idle& idle) override {
    // Be here at the time that the rank's program has reached by its own account.
    session_.transport(rank).wait(0);
    Round& round = rounds_[next_[rank]];
    const uint64_t number = next_[rank]++;
    round.blobs.resize(size());
    round.here.resize(size());
    round.blobs[rank] = std::move(mine);
    round.here[rank] = true;
    if (++round.arrived == size()) {
      round.complete.notify(sc_core::SC_ZERO_TIME);
      sc_core::wait(sc_core::SC_ZERO_TIME);
    }
    while (round.arrived < size()) {
      sc_core::wait(sc_core::sc_time(kPatienceUs, sc_core::SC_US), round.complete);
      if (round.arrived < size()) idle();
    }
    std::vector<Blob> all = round.blobs;
    if (++round.left == size()) rounds_.erase(number);
    return all;
  }

  std::string missing(unsigned rank) const override {
    if (rank >= size() || next_[rank] == 0) return {};
    const auto it = rounds_.find(next_[rank] - 1);
    if (it == rounds_.end()) return {};
    std::string out;
    for (unsigned r = 0; r < size(); ++r)
      if (!it->second.here[r]) out += (out.empty() ? "" : ", ") + std::to_string(r);
    return out;
  }

 private:
  static constexpr double kPatienceUs = 100;  // until `idle` may say that this takes too long
  struct Round {
    std::vector<Blob> blobs;
    std::vector<bool> here;
    unsigned arrived = 0;
    unsigned left = 0;
    sc_core::sc_event complete;
  };
  Session& session_;
  std::vector<uint64_t> next_;  // round each rank enters next
  std::map<uint64_t, Round> rounds_;
};

}  // namespace ubl::ublsim
