// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operand pairs for FP32 addition, the same for the golden model and for the RTL.
#pragma once

#include <cstdint>
#include <vector>

#include "ubl/test/seed.hpp"

namespace ubl::test {

struct Fp32Pair {
  uint32_t a;
  uint32_t b;
};

/// Patterns at which something changes: zeros, subnormals, binade borders, the largest numbers,
/// half-way cases, infinities, quiet and signalling NaNs.
inline std::vector<uint32_t> fp32_specials() {
  const std::vector<uint32_t> positive = {
      0x00000000, 0x00000001, 0x00000002, 0x00000003, 0x003FFFFF, 0x00400000, 0x00400001,
      0x007FFFFE, 0x007FFFFF, 0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x01000001,
      0x01800000, 0x0C000000, 0x0F000000, 0x33000000, 0x33000001, 0x33800000, 0x33FFFFFF,
      0x34000000, 0x3E800000, 0x3EAAAAAB, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FFFFFFF,
      0x40000000, 0x4B000000, 0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x4C000000, 0x72800000,
      0x72FFFFFF, 0x73000000, 0x73000001, 0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFE,
      0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FA00000, 0x7FBFFFFF, 0x7FC00000, 0x7FC00001,
      0x7FFFFFFF};
  std::vector<uint32_t> all = positive;
  for (uint32_t x : positive) all.push_back(x | 0x80000000u);
  return all;
}

/// Every special with every special, then `n` pairs of each of five seeded families.
inline std::vector<Fp32Pair> fp32_directed(uint64_t salt, size_t n) {
  std::vector<Fp32Pair> v;
  const auto specials = fp32_specials();
  for (uint32_t a : specials) {
    for (uint32_t b : specials) v.push_back({a, b});
  }
  auto rng = ubl::test::rng(salt);
  const auto bits = [&rng] { return static_cast<uint32_t>(rng()); };
  const auto pack = [](uint32_t sign, uint32_t exponent, uint32_t fraction) {
    return (sign & 1) << 31 | (exponent & 0xFF) << 23 | (fraction & 0x7FFFFF);
  };
  // x + -x for every exponent.
  for (uint32_t e = 0; e < 256; ++e) {
    for (uint32_t f : {0u, 1u, 0x400000u, 0x7FFFFFu, bits()}) {
      v.push_back({pack(0, e, f), pack(1, e, f)});
      v.push_back({pack(1, e, f), pack(0, e, f)});
    }
  }
  for (size_t i = 0; i < n; ++i) {
    // Near cancellation: unlike signs, a few units apart, or in neighbouring binades.
    const uint32_t x = bits();
    v.push_back({x, (x ^ 0x80000000u) + (bits() % 129) - 64});
    v.push_back({x, pack(~x >> 31, (x >> 23) + bits() % 3 - 1, bits())});
    // Around the border of the subnormals.
    v.push_back({pack(bits(), bits() % 4, bits()), pack(bits(), bits() % 32, bits())});
    // Alignment and ties: distances to 40, few fraction bits set at either end.
    const uint32_t e = 41 + bits() % 214;
    const uint32_t f = (bits() % 2 ? 0x7FFFFFu : 0u) ^ (bits() % 4) ^ ((bits() % 4) << 21);
    const uint32_t g = (bits() % 2 ? 0x7FFFFFu : 0u) ^ (1u << (bits() % 23)) ^ (bits() % 2);
    v.push_back({pack(bits(), e, f), pack(bits(), e - bits() % 41, g)});
    // Around overflow.
    v.push_back({pack(bits(), 254 - bits() % 2, bits() | (bits() % 2 ? 0x7FFFF0u : 0u)),
                 pack(bits(), 254 - bits() % 28, bits())});
  }
  return v;
}

/// `n` pairs of full-range bit patterns.
inline std::vector<Fp32Pair> fp32_random(uint64_t salt, size_t n) {
  auto rng = ubl::test::rng(salt);
  std::vector<Fp32Pair> v(n);
  for (auto& p : v) {
    const uint64_t r = rng();
    p = {static_cast<uint32_t>(r), static_cast<uint32_t>(r >> 32)};
  }
  return v;
}

}  // namespace ubl::test
