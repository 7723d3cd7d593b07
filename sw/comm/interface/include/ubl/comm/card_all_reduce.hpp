// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// An all-reduce that the cards run by themselves: the whole schedule stands in the send ring as
// triggered entries (rtl/nic/nic_ops.md), the host only starts it and sees one completion.
#pragma once

#include <cstdint>
#include <string>

#include "ubl/comm/bootstrap.hpp"
#include "ubl/comm/hal/error.hpp"
#include "ubl/driver/device.hpp"

namespace ubl::comm {

struct CardAllReduceConfig {
  uint8_t planes = 0;                ///< planes that packets may take, bit p; 0: all of the card
  uint64_t part_bytes = 128 << 10;   ///< a chunk goes in parts of about this size, ...
  unsigned max_parts = 8;            ///< ... 1..64 of them
  uint64_t timeout_ns = 20'000'000;  ///< of wait(): nothing moved for so long
};

/// Ring all-reduce of f32, in place. Every rank constructs, prepares, starts and waits in the same
/// order. The bits of the result are those of Communicator::all_reduce. One Device may have it
/// beside a Communicator.
///
/// Errors: CommError, as of Communicator: kInvalidArgument for what prepare() is told, kTimeout
/// with the step that waits, kDeviceReported with the failed entry's status and the error log.
/// After the last two the object is unusable.
class CardAllReduce {
 public:
  /// Connects the ranks to a ring of their own. Takes two queue pairs, a completion queue, a memory
  /// region of all HBM and three counters of the device. `bootstrap` must outlive the object.
  CardAllReduce(unsigned rank, unsigned size, driver::Device& device, Bootstrap& bootstrap,
                const CardAllReduceConfig& config = {});
  /// Gives them back. No rank may still need an acknowledgement: let all ranks meet first.
  ~CardAllReduce();
  CardAllReduce(const CardAllReduce&) = delete;
  CardAllReduce& operator=(const CardAllReduce&) = delete;

  /// Writes the schedule of one all-reduce of `count` elements at card address `buffer` into the
  /// rings and rings them: 4 (size - 1) x parts + 4 entries at most, however many bytes they move.
  /// To be called before each start(); tells the neighbours the address, so all ranks call it.
  void prepare(uint64_t buffer, uint64_t count);
  /// Begins what was prepared, by one doorbell: the buffer is ready. It must not be touched until
  /// wait() returns. All checks were made by prepare(), so there is no other cost.
  void start();
  /// Returns when the buffer holds the sum and nobody reads it any more.
  void wait();

  unsigned parts() const { return parts_; }

 private:
  static spec::Wqe wait_for(uint32_t counter, uint32_t count);
  Bootstrap::Idle idle();
  [[noreturn]] void fail(ErrorKind kind, const std::string& message);
  std::string errors();

  unsigned rank_, size_;
  driver::Device& device_;
  CardAllReduceConfig config_;
  Bootstrap& bootstrap_;
  driver::Cq* cq_ = nullptr;
  driver::Qp* next_ = nullptr;  // data goes there
  driver::Qp* prev_ = nullptr;  // and comes from there
  driver::Mr mr_;
  uint32_t data_ = 0;   // counter: parts that came
  uint32_t ready_ = 0;  // counter: runs for which the next rank's buffer is ready
  uint32_t go_ = 0;     // counter: runs that the host began
  uint32_t their_data_ = 0, their_ready_ = 0, rkey_ = 0;
  uint32_t came_ = 0, runs_ = 0;  // before the run that is prepared
  uint32_t steps_ = 0;            // of a run
  unsigned parts_ = 0;
  uint64_t count_ = 0;
  bool prepared_ = false, started_ = false;
  std::string failure_;
};

}  // namespace ubl::comm
