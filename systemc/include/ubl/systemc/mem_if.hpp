// SPDX-License-Identifier: Apache-2.0
// Memory interface of a card: routes accesses to HBM or, with address bit 63 set, to the host.
// One MemPort per NIC port with three in-order channels of 64 B per cycle each: transmit read,
// reduce read and write. It aligns: beat 0 of an access starts at the access's address.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ubl/systemc/config.hpp"
#include "ubl/systemc/hbm.hpp"
#include "ubl/systemc/hbm_timing.hpp"
#include "ubl/systemc/pcie.hpp"
#include "ubl/systemc/ring.hpp"

namespace ubl::systemc {

inline constexpr uint64_t kHostBit = uint64_t{1} << spec::kNicHostIovaBit;

struct MemBeat {
  std::array<uint32_t, 16> data{};
  bool last = false;
  bool err = false;
};

/// In-order reads. At most kDepth accesses wait at once.
class MemReadChannel {
 public:
  static constexpr size_t kDepth = 32;
  MemReadChannel(Hbm& hbm, HbmTiming& when, PciePort& pcie) : hbm_(hbm), when_(when), pcie_(pcie) {}

  bool can_request() const { return queue_.size() < kDepth; }
  void request(Cycle now, uint64_t addr, uint32_t len);
  /// Cycle from which the next beat can be taken; kNever when nothing is outstanding.
  Cycle due() const { return queue_.empty() ? kNever : queue_.front().due; }
  MemBeat take(Cycle now);
  /// The same, with the 64 bytes of data written where they are wanted.
  struct Flags {
    bool last, err;
  };
  Flags take(Cycle now, uint32_t* data16);

 private:
  struct Access {
    uint64_t addr;
    uint32_t len, done;
    Cycle due;  // of the next beat
    bool err;
    /// HBM: first beat of each interleave unit that the access touches.
    std::array<Cycle, spec::kLinkMtu / HbmTiming::kInterleave + 1> units;
  };
  /// Lower bound of the next beat: when its memory has it.
  static Cycle available(const Access& a);
  Hbm& hbm_;
  HbmTiming& when_;
  PciePort& pcie_;
  Ring<Access, kDepth> queue_;
};

/// In-order writes with one response each.
class MemWriteChannel {
 public:
  static constexpr size_t kDepth = 32;
  MemWriteChannel(Hbm& hbm, HbmTiming& when, PciePort& pcie)
      : hbm_(hbm), when_(when), pcie_(pcie) {}

  bool can_request() const { return open_.size() + responses_.size() < kDepth; }
  void request(uint64_t addr, uint32_t len);
  bool wants_data() const { return !open_.empty(); }
  void beat(Cycle now, const uint32_t* data16);
  Cycle response_due() const { return responses_.empty() ? kNever : responses_.front().due; }
  bool take_response();  ///< true: the access was refused

  uint64_t bytes() const { return bytes_; }
  /// (cycle, bytes placed so far), one sample per kSampleBytes.
  static constexpr uint64_t kSampleBytes = 4096;
  const std::vector<std::pair<Cycle, uint64_t>>& progress() const { return progress_; }

 private:
  struct Access {
    uint64_t addr;
    uint32_t len, done;
    bool err;
    Cycle written;  // when the beats so far are in HBM
  };
  struct Response {
    Cycle due;
    bool err;
  };
  void write_hbm(Cycle now, Access& a, const uint32_t* data16, uint32_t n);
  Hbm& hbm_;
  HbmTiming& when_;
  PciePort& pcie_;
  Ring<Access, kDepth> open_;
  Ring<Response, kDepth> responses_;
  uint64_t bytes_ = 0, next_sample_ = 0;
  std::vector<std::pair<Cycle, uint64_t>> progress_;
};

struct MemPort {
  MemReadChannel tx, reduce;
  MemWriteChannel write;
  MemPort(Hbm& hbm, HbmTiming& when, PciePort& pcie)
      : tx(hbm, when, pcie), reduce(hbm, when, pcie), write(hbm, when, pcie) {}
  Cycle due() const {
    Cycle d = tx.due();
    if (reduce.due() < d) d = reduce.due();
    if (write.response_due() < d) d = write.response_due();
    return d;
  }
};

}  // namespace ubl::systemc
