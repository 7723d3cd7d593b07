// SPDX-License-Identifier: Apache-2.0
// Seeded inputs of a run: full-range bit patterns, the same for a (seed, rank) everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ubl::ublsim {

/// SplitMix64: one multiply-xorshift chain per value, any seed is good.
inline uint64_t splitmix(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// Random bytes of one rank.
inline std::vector<uint8_t> random_bytes(uint64_t seed, unsigned rank, size_t n) {
  uint64_t state = seed * 0x100000001B3ull + rank;
  std::vector<uint8_t> v(n);
  uint64_t word = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % 8 == 0) word = splitmix(state);
    v[i] = static_cast<uint8_t>(word >> (8 * (i % 8)));
  }
  return v;
}

/// FP32 bit patterns of one rank. Most are drawn from a few binades, so that sums are rounded in
/// interesting ways; one in eight is any bit pattern (subnormals, infinities, NaN).
inline std::vector<uint32_t> random_f32(uint64_t seed, unsigned rank, size_t n) {
  uint64_t state = (seed ^ 0xF32F32ull) * 0x100000001B3ull + rank;
  std::vector<uint32_t> v(n);
  for (auto& x : v) {
    const uint64_t r = splitmix(state);
    x = static_cast<uint32_t>(r);
    if ((r >> 61) != 0) x = (x & 0x807FFFFFu) | static_cast<uint32_t>(120 + (r >> 32) % 16) << 23;
  }
  return v;
}

}  // namespace ubl::ublsim
