// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/hbm_timing.hpp"

#include <algorithm>

namespace ubl::systemc {

HbmTiming::HbmTiming(const Timing& t)
    : read_latency_(cycles_from_ns(t.hbm_read_ns)),
      write_latency_(cycles_from_ns(t.hbm_write_ns)),
      miss_(cycles_from_ns(t.hbm_row_miss_ns)),
      refresh_every_(cycles_from_ns(t.hbm_refresh_every_ns)),
      refresh_takes_(cycles_from_ns(t.hbm_refresh_ns)),
      channels_(kChannels) {}

// Channels refresh one after the other, so a stream never finds all of them away at once.
Cycle HbmTiming::after_refresh(Cycle at, unsigned channel) const {
  if (refresh_takes_ == 0 || refresh_every_ <= refresh_takes_) return at;
  const Cycle offset = refresh_every_ * channel / kChannels;
  const Cycle phase = (at + refresh_every_ - offset) % refresh_every_;
  return phase < refresh_takes_ ? at + (refresh_takes_ - phase) : at;
}

HbmTiming::Place HbmTiming::place(uint64_t addr) {
  // Higher address bits are XORed into channel and bank, as memory controllers do: streams a power
  // of two apart would otherwise follow each other through the same banks.
  const auto fold = [](uint64_t v, unsigned bits) {
    uint64_t out = 0;
    for (; v != 0; v >>= bits) out ^= v;
    return static_cast<unsigned>(out & ((1u << bits) - 1));
  };
  const uint64_t unit = addr / kInterleave;
  const uint64_t row_of_channel = unit / kChannels / (kRowBytes / kInterleave);
  return {fold(unit, kChannelBits), fold(row_of_channel, kBankBits), row_of_channel / kBanks};
}

Cycle HbmTiming::schedule(Cycle now, uint64_t addr, uint32_t len) {
  const auto [c, b, row] = place(addr);
  Channel& channel = channels_[c];
  Bank& bank = channel.banks[b];
  Cycle ready = now;
  if (bank.row == row) {
    ++row_hits_;
    ready = std::max(now, bank.free);
  } else {
    // Closing and opening rows goes on beside transfers of other banks.
    ++row_misses_;
    ready = std::max(now, bank.free) + miss_;
    bank.row = row;
    bank.free = ready;
  }
  const Cycle start = after_refresh(std::max(ready, channel.free), c);
  const Cycle n =
      (addr % spec::kLinkFlitBytes + len + spec::kLinkFlitBytes - 1) / spec::kLinkFlitBytes;
  channel.free = start + n;
  beats_ += n;
  return start;
}

Cycle HbmTiming::read(Cycle now, uint64_t addr, uint32_t len) {
  return schedule(now, addr, len) + read_latency_;
}

Cycle HbmTiming::write(Cycle now, uint64_t addr, uint32_t len) {
  return schedule(now, addr, len) + write_latency_;
}

}  // namespace ubl::systemc
