// SPDX-License-Identifier: Apache-2.0
// What every rank of a collective workload needs: driver, communicator and a barrier.
#pragma once

#include <memory>

#include "ubl/comm/communicator.hpp"
#include "ubl/driver/device.hpp"
#include "ublsim/session.hpp"
#include "ublsim/sim_bootstrap.hpp"

namespace ubl::ublsim {

/// Shared by all ranks of a session.
struct Ranks {
  explicit Ranks(Session& s) : session(s), bootstrap(s) {}
  Session& session;
  SimBootstrap bootstrap;
};

/// One rank; constructed in its host program.
class Rank {
 public:
  /// `all_peers`: connections to every rank, not only to the neighbours of the ring.
  Rank(Ranks& ranks, unsigned rank, bool all_peers = false)
      : ranks_(ranks),
        rank_(rank),
        device_(ranks.session.transport(rank)),
        comm_(rank, ranks.session.ranks(), device_, ranks.bootstrap,
              config(ranks.session, all_peers)) {}

  driver::Device& device() { return device_; }
  comm::Communicator& comm() { return comm_; }
  /// Returns when all ranks are here. Also the last thing a host program does: its card must
  /// answer until all ranks have their acknowledgements.
  void barrier() {
    auto& t = ranks_.session.transport(rank_);
    ranks_.bootstrap.all_gather(rank_, {}, [&t] { t.wait(t.now_ns() + kBarrierPollNs); });
  }

 private:
  static constexpr uint64_t kBarrierPollNs = 1000;
  static comm::CommConfig config(Session& s, bool all_peers) {
    comm::CommConfig c;
    c.stripes = s.platform().num_planes();
    c.all_peers = all_peers;
    return c;
  }
  Ranks& ranks_;
  unsigned rank_;
  driver::Device device_;
  comm::Communicator comm_;
};

}  // namespace ubl::ublsim
