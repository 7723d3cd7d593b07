// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The random bits of stochastic rounding: a function of the message's seed and the element's index
// in its message, and of nothing else, so that a packet which is sent again has the same bytes, and
// packets may be made in any order.
//
// A hash of our own, made for 64 elements a cycle: per element three rounds of one three-operand
// addition (the shift is wiring) and one three-input XOR per bit; no multiplier. The keys need the
// same three rounds, three times, once per message.
//
//     mix(x; k0, k1, k2):                                      all modulo 2^32, rotl to the left
//       x += (x << 7) + k0      x ^= rotl(x, 20) ^ rotl(x, 9)
//       x += (x << 3) + k1      x ^= rotl(x, 26) ^ rotl(x, 9)
//       x += (x << 2) + k2      x ^= rotl(x, 26) ^ rotl(x, 13)
//     g0, g1, g2 = 0x9E3779B9, 0x7F4A7C15, 0xF39CC060          the golden ratio's fraction
//     keys of a seed: k0 = mix(seed; g0, g1, g2)
//                     k1 = mix(seed + g1; g0, g1, g2)
//                     k2 = mix(seed + g2; g0, g1, g2)
//     bits(seed, index) = mix(index; k0, k1, k2)
//
// Every step can be undone, so over all 2^32 indices of a seed each value occurs exactly once. The
// shifts were searched for: with random keys each bit of the index changes each bit of the result
// in one half of the cases. Statistical quality: tests/unit/numerics/random_test.cpp. It is no
// cipher.
#pragma once

#include <cstdint>

namespace ubl::numerics {

/// The keys of one message.
class RoundingBits {
 public:
  constexpr explicit RoundingBits(uint32_t seed)
      : k0_(mix(seed, kG0, kG1, kG2)),
        k1_(mix(seed + kG1, kG0, kG1, kG2)),
        k2_(mix(seed + kG2, kG0, kG1, kG2)) {}

  /// For the element `index` of the message.
  constexpr uint32_t operator()(uint32_t index) const { return mix(index, k0_, k1_, k2_); }

 private:
  static constexpr uint32_t kG0 = 0x9E3779B9;
  static constexpr uint32_t kG1 = 0x7F4A7C15;
  static constexpr uint32_t kG2 = 0xF39CC060;

  static constexpr uint32_t rotl(uint32_t x, int n) { return x << n | x >> (32 - n); }
  static constexpr uint32_t mix(uint32_t x, uint32_t k0, uint32_t k1, uint32_t k2) {
    x += (x << 7) + k0;
    x ^= rotl(x, 20) ^ rotl(x, 9);
    x += (x << 3) + k1;
    x ^= rotl(x, 26) ^ rotl(x, 9);
    x += (x << 2) + k2;
    x ^= rotl(x, 26) ^ rotl(x, 13);
    return x;
  }

  uint32_t k0_, k1_, k2_;
};

/// The same for one element.
constexpr uint32_t rounding_bits(uint32_t seed, uint32_t index) {
  return RoundingBits(seed)(index);
}

}  // namespace ubl::numerics
