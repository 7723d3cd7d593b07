// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// When HBM answers: channels of one 64-byte beat per cycle (50 GB/s), banks with one open row each,
// refresh. Time only; the data is in Hbm. State changes with accesses alone: refresh windows follow
// from the time, so an idle memory costs nothing and is never woken.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ubl/systemc/config.hpp"

namespace ubl::systemc {

class HbmTiming {
 public:
  static constexpr unsigned kChannelBits = 5, kBankBits = 4;
  static constexpr unsigned kChannels = 1u << kChannelBits;
  static constexpr unsigned kBanks = 1u << kBankBits;  ///< of a channel
  static constexpr uint64_t kInterleave = 256;         ///< bytes before the next channel's turn
  static constexpr uint64_t kRowBytes = 1024;          ///< of a bank, so four turns of its channel

  struct Place {
    unsigned channel, bank;
    uint64_t row;
  };
  static Place place(uint64_t addr);

  explicit HbmTiming(const Timing& t);

  /// One burst inside an interleave unit (at most 256 bytes, not across a unit), asked for in cycle
  /// `now` (not decreasing is not required). Returns the cycle in which its first beat is there
  /// (read) or its last one is written.
  Cycle read(Cycle now, uint64_t addr, uint32_t len);
  Cycle write(Cycle now, uint64_t addr, uint32_t len);

  /// When a read of an address that does not exist is answered.
  Cycle refusal(Cycle now) const { return now + read_latency_; }

  uint64_t row_hits() const { return row_hits_; }
  uint64_t row_misses() const { return row_misses_; }
  uint64_t beats() const { return beats_; }

 private:
  struct Bank {
    uint64_t row = ~uint64_t{0};
    Cycle free = 0;  // a row that is being opened
  };
  struct Channel {
    Cycle free = 0;  // data bus
    std::array<Bank, kBanks> banks;
  };
  /// Cycle in which the burst's first beat is on the data bus.
  Cycle schedule(Cycle now, uint64_t addr, uint32_t len);
  Cycle after_refresh(Cycle at, unsigned channel) const;

  Cycle read_latency_, write_latency_, miss_, refresh_every_, refresh_takes_;
  std::vector<Channel> channels_;
  uint64_t row_hits_ = 0, row_misses_ = 0, beats_ = 0;
};

}  // namespace ubl::systemc
