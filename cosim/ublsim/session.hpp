// SPDX-License-Identifier: Apache-2.0
// One simulated run: a platform, a driver per card and a host program per rank in a SystemC thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/inproc_transport.hpp"
#include "platform/platform.hpp"
#include "ubl/driver/device.hpp"
#include "ubl/systemc/capture.hpp"
#include "ublsim/options.hpp"

namespace ubl::ublsim {

/// A rank's host program failed because the device reported an error, or waited in vain.
struct RankFailure {
  unsigned rank = 0;
  ExitCode code = kExitDeviceError;
  std::string message;
};

/// What the NICs counted, sum of all cards.
struct NicCounts {
  uint64_t retransmits = 0, timeouts = 0, duplicates = 0, deferred = 0;
  uint64_t rnr_sent = 0, rnr_received = 0;
  uint64_t bad_frames = 0;            ///< dropped by a receiver
  std::array<uint64_t, 8> lost = {};  ///< by plane, not counting time-outs
};

class Session {
 public:
  explicit Session(const Options& options);

  cosim::Platform& platform() { return platform_; }
  cosim::InprocTransport& transport(unsigned rank) { return *transports_[rank]; }
  unsigned ranks() const { return platform_.num_cards(); }

  /// Runs `program(rank)` for every rank at once, each in its own SystemC thread, until all have
  /// ended, one has failed or nothing moves any more. Called once.
  void run(const std::function<void(unsigned)>& program);

  const std::vector<RankFailure>& failures() const { return failures_; }
  bool ok() const { return failures_.empty(); }
  /// Bits of the result of a card, of `bytes` bytes, that are still to be flipped; they are no more
  /// afterwards. UsageError for one beyond the result.
  std::vector<const Fault*> take_flips(unsigned card, uint64_t bytes);
  const std::vector<const Fault*>& flips() const { return flips_; }
  systemc::Cycle cycles() const { return end_cycle_; }
  double wall_s() const { return wall_s_; }
  /// Zero when the run did not end of itself.
  const NicCounts& nic() const { return nic_; }
  /// What the error logs said that did no harm: frames that were sent again, planes not used.
  const std::vector<std::string>& events() const { return events_; }
  /// Register reads of the host with most, before the counters were read.
  uint64_t mmio_reads() const { return mmio_reads_; }
  double cpu_s() const { return cpu_s_; }
  /// Simulated time now, in cycles; for host programs that time themselves.
  systemc::Cycle now() const;

 private:
  void install_faults();
  void install_capture();
  void close_capture();
  void close_waves();
  void collect_errors();
  void collect_counters();
  void fail(unsigned rank, ExitCode code, const std::string& message);
  const Options& options_;
  std::unique_ptr<Waves> waves_;
  cosim::Platform platform_;
  std::vector<std::unique_ptr<cosim::InprocTransport>> transports_;
  std::vector<bool> done_;
  std::vector<RankFailure> failures_;
  std::vector<std::string> events_;
  NicCounts nic_;
  uint64_t mmio_reads_ = 0;
  std::vector<const Fault*> flips_;  // still to be done
  std::unique_ptr<systemc::LinkCapture> capture_;
  systemc::Cycle end_cycle_ = 0;
  double wall_s_ = 0, cpu_s_ = 0;
};

}  // namespace ubl::ublsim
