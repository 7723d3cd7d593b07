// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/mem_if.hpp"

#include <algorithm>
#include <cstring>

namespace ubl::systemc {

void MemReadChannel::request(Cycle now, uint64_t addr, uint32_t len) {
  Access a{addr, len, 0, now, false, {}};
  if ((addr & kHostBit) != 0) {
    a.due = pcie_.dma_read_due(now, len);
    a.err = pcie_.host_at(addr, len) == nullptr;
  } else {
    a.err = !hbm_.contains(addr, len);
    if (a.err) {
      a.units.fill(when_.refusal(now));
    } else {
      const uint64_t unit = HbmTiming::kInterleave;
      size_t i = 0;
      for (uint64_t at = addr; at < addr + len; at = (at / unit + 1) * unit) {
        const uint64_t end = std::min((at / unit + 1) * unit, addr + len);
        a.units[i++] = when_.read(now, at, static_cast<uint32_t>(end - at));
      }
    }
    a.due = available(a);
  }
  queue_.push_back(a);
}

Cycle MemReadChannel::available(const Access& a) {
  if ((a.addr & kHostBit) != 0) return a.due;
  // A beat may reach into the next unit.
  const uint64_t unit = HbmTiming::kInterleave;
  const uint64_t first = a.addr / unit;
  const uint64_t begin = a.addr + a.done;
  const uint64_t end = std::min(begin + spec::kLinkFlitBytes, a.addr + a.len) - 1;
  return std::max(a.units[begin / unit - first], a.units[end / unit - first]);
}

MemBeat MemReadChannel::take(Cycle now) {
  MemBeat b;
  const Flags f = take(now, b.data.data());
  b.last = f.last;
  b.err = f.err;
  return b;
}

MemReadChannel::Flags MemReadChannel::take(Cycle now, uint32_t* data16) {
  Access& a = queue_.front();
  const uint32_t n = std::min<uint32_t>(spec::kLinkFlitBytes, a.len - a.done);
  const uint8_t* src = nullptr;
  if (!a.err) {
    src = (a.addr & kHostBit) != 0 ? pcie_.host_at(a.addr + a.done, n)
                                   : hbm_.data() + a.addr + a.done;
    if (src == nullptr) a.err = true;  // unmapped while the read was on its way
  }
  if (!a.err && n == spec::kLinkFlitBytes) {
    std::memcpy(data16, src, spec::kLinkFlitBytes);
  } else {
    std::memset(data16, 0, spec::kLinkFlitBytes);
    if (!a.err) std::memcpy(data16, src, n);
  }
  a.done += n;
  const Flags f{a.done == a.len, a.err};
  if (f.last) {
    queue_.pop_front();
    // One beat per cycle also across accesses.
    if (!queue_.empty()) queue_.front().due = std::max(queue_.front().due, now + 1);
  } else {
    a.due = std::max(now + 1, available(a));
  }
  return f;
}

void MemWriteChannel::request(uint64_t addr, uint32_t len) {
  Access a{addr, len, 0, false, 0};
  a.err = (addr & kHostBit) != 0 ? pcie_.host_at(addr, len) == nullptr : !hbm_.contains(addr, len);
  open_.push_back(a);
}

void MemWriteChannel::write_hbm(Cycle now, Access& a, const uint32_t* data16, uint32_t n) {
  const uint64_t at = a.addr + a.done;
  std::memcpy(hbm_.data() + at, data16, n);
  const auto room = static_cast<uint32_t>(HbmTiming::kInterleave - at % HbmTiming::kInterleave);
  a.written = std::max(a.written, when_.write(now, at, std::min(n, room)));
  if (n > room) a.written = std::max(a.written, when_.write(now, at + room, n - room));
}

void MemWriteChannel::beat(Cycle now, const uint32_t* data16) {
  Access& a = open_.front();
  const uint32_t n = std::min<uint32_t>(spec::kLinkFlitBytes, a.len - a.done);
  if (!a.err) {
    if ((a.addr & kHostBit) != 0)
      pcie_.posted_write(now, a.addr + a.done, data16, n);
    else
      write_hbm(now, a, data16, n);
  }
  a.done += n;
  bytes_ += n;
  if (bytes_ >= next_sample_) {
    progress_.emplace_back(now, bytes_);
    next_sample_ = bytes_ + kSampleBytes;
  }
  if (a.done == a.len) {
    // A posted write to the host is ordered once it is in the PCIe queue.
    const Cycle due = (a.addr & kHostBit) != 0 || a.err ? now + 1 : a.written;
    const Cycle floor = responses_.empty() ? due : responses_.back().due;
    responses_.push_back({std::max(due, floor), a.err});
    open_.pop_front();
  }
}

bool MemWriteChannel::take_response() {
  const bool err = responses_.front().err;
  responses_.pop_front();
  return err;
}

}  // namespace ubl::systemc
