// SPDX-License-Identifier: Apache-2.0
// 64-bit mixing hash for run hashes: fast, the same on every machine, not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ubl::systemc {

class Hash {
 public:
  void add(uint64_t v) {
    h_ = (h_ ^ v) * 0x9FB21C651E98DF25ull;
    h_ ^= h_ >> 32;
  }
  void add_bytes(const void* p, size_t n) {
    const auto* b = static_cast<const uint8_t*>(p);
    while (n >= 8) {
      uint64_t v;
      std::memcpy(&v, b, 8);
      add(v);
      b += 8;
      n -= 8;
    }
    uint64_t v = 0;
    std::memcpy(&v, b, n);
    add(v ^ (static_cast<uint64_t>(n) << 56));
  }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0x243F6A8885A308D3ull;
};

}  // namespace ubl::systemc
