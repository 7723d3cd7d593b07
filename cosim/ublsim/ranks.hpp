// SPDX-License-Identifier: Apache-2.0
// What every rank of a collective workload needs: driver, communicator and a barrier.
#pragma once

#include <fmt/format.h>

#include <memory>

#include "ubl/comm/communicator.hpp"
#include "ubl/driver/device.hpp"
#include "ublsim/session.hpp"
#include "ublsim/sim_bootstrap.hpp"

namespace ubl::ublsim {

/// --algo; UsageError if there is no such algorithm.
inline comm::Algorithm algorithm(const Options& o) {
  if (o.algo == "auto") return comm::Algorithm::kAuto;
  if (o.algo == "ring") return comm::Algorithm::kRing;
  if (o.algo == "direct") return comm::Algorithm::kDirect;
  if (o.algo == "slots") return comm::Algorithm::kSlots;
  if (o.algo == "chained") return comm::Algorithm::kChained;
  throw UsageError(fmt::format("--algo {}: must be auto, ring, direct, slots or chained", o.algo));
}

/// Shared by all ranks of a session.
struct Ranks {
  Ranks(Session& s, const Options& o) : session(s), bootstrap(s), algorithm(ublsim::algorithm(o)) {}
  Session& session;
  SimBootstrap bootstrap;
  comm::Algorithm algorithm;
};

/// One rank; constructed in its host program.
class Rank {
 public:
  /// `all_peers`: connections to every rank, not only to the neighbours of the ring.
  Rank(Ranks& ranks, unsigned rank, bool all_peers = false)
      : ranks_(ranks),
        rank_(rank),
        device_(ranks.session.transport(rank)),
        comm_(rank, ranks.session.ranks(), device_, ranks.bootstrap, config(ranks, all_peers)) {}

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
  static comm::CommConfig config(Ranks& ranks, bool all_peers) {
    comm::CommConfig c;
    c.planes = static_cast<uint8_t>((1u << ranks.session.platform().num_planes()) - 1);
    c.all_peers = all_peers;
    c.algorithm = ranks.algorithm;
    return c;
  }
  Ranks& ranks_;
  unsigned rank_;
  driver::Device device_;
  comm::Communicator comm_;
};

}  // namespace ubl::ublsim
