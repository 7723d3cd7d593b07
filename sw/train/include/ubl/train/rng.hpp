// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Small generators with a fixed definition, so that a seed means the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ubl::train {

/// splitmix64 (Steele, Lea, Flood 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Uniform in 0 .. bound-1, without bias; bound > 0.
  uint64_t below(uint64_t bound) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t v = next();
    while (v >= limit) v = next();
    return v % bound;
  }
  /// Uniform in [0, 1) with 24 bits: exact in float.
  float unit() { return static_cast<float>(next() >> 40) * (1.0f / 16777216.0f); }

 private:
  uint64_t state_;
};

/// An independent stream of one seed: `purpose` and `index` tell streams apart.
inline SplitMix64 stream(uint64_t seed, uint64_t purpose, uint64_t index = 0) {
  SplitMix64 a(seed);
  SplitMix64 b(a.next() ^ (purpose * 0xD1342543DE82EF95ull));
  SplitMix64 c(b.next() ^ (index * 0xAF251AF3B0F025B5ull));
  return SplitMix64(c.next());
}

/// Fisher-Yates.
template <typename T>
void shuffle(std::vector<T>& v, SplitMix64& rng) {
  for (size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[rng.below(i)]);
}

}  // namespace ubl::train
