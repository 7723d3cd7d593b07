// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse memory of a card and its host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nic_core_test {

class Memory {
 public:
  void read(uint64_t addr, void* to, size_t n) const {
    auto* out = static_cast<uint8_t*>(to);
    for (size_t i = 0; i < n;) {
      const size_t part = std::min<size_t>(n - i, 4096 - ((addr + i) & 4095));
      auto it = pages_.find((addr + i) >> 12);
      if (it == pages_.end()) {
        std::memset(out + i, 0, part);
      } else {
        std::memcpy(out + i, it->second.data() + ((addr + i) & 4095), part);
      }
      i += part;
    }
  }
  void write(uint64_t addr, const void* from, size_t n) {
    auto* in = static_cast<const uint8_t*>(from);
    for (size_t i = 0; i < n;) {
      const size_t part = std::min<size_t>(n - i, 4096 - ((addr + i) & 4095));
      std::memcpy(pages_[(addr + i) >> 12].data() + ((addr + i) & 4095), in + i, part);
      i += part;
    }
  }
  std::vector<uint8_t> read(uint64_t addr, size_t n) const {
    std::vector<uint8_t> v(n);
    read(addr, v.data(), n);
    return v;
  }
  // Refuses every access that touches the range.
  void forbid(uint64_t addr, uint64_t n) { bad_.emplace_back(addr, n); }
  void allow_all() { bad_.clear(); }
  bool refused(uint64_t addr, uint64_t n) const {
    for (auto& [a, len] : bad_) {
      if (addr < a + len && a < addr + n) return true;
    }
    return false;
  }

 private:
  std::unordered_map<uint64_t, std::array<uint8_t, 4096>> pages_;
  std::vector<std::pair<uint64_t, uint64_t>> bad_;
};

inline std::vector<uint8_t> add_f32(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  std::vector<uint8_t> r(a.size());
  for (size_t i = 0; i + 4 <= a.size(); i += 4) {
    float x, y;
    std::memcpy(&x, &a[i], 4);
    std::memcpy(&y, &b[i], 4);
    x += y;
    std::memcpy(&r[i], &x, 4);
  }
  return r;
}

}  // namespace nic_core_test
