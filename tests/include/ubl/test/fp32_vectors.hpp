// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands for FP32 addition, multiplication and fused multiply-add, the same for the golden model
// and for the RTL.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ubl/test/seed.hpp"

namespace ubl::test {

struct Fp32Pair {
  uint32_t a;
  uint32_t b;
};

struct Fp32Triple {
  uint32_t a;
  uint32_t b;
  uint32_t c;
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

/// Products: every special with every special, then `n` pairs of each of three seeded families.
inline std::vector<Fp32Pair> fp32_products(uint64_t salt, size_t n) {
  std::vector<Fp32Pair> v;
  const auto specials = fp32_specials();
  for (uint32_t a : specials) {
    for (uint32_t b : specials) v.push_back({a, b});
  }
  auto rng = ubl::test::rng(salt);
  const auto bits = [&rng] { return static_cast<uint32_t>(rng()); };
  // Two operands whose biased exponents have the sum `sum`.
  const auto push = [&](uint32_t sum, uint32_t mask) {
    const uint32_t low = sum > 254 ? sum - 254 : 0;
    const uint32_t e = low + bits() % (std::min(sum, 254u) - low + 1);
    v.push_back({(bits() & (0x80000000u | mask)) | e << 23,
                 (bits() & (0x80000000u | mask)) | (sum - e) << 23});
  };
  for (size_t i = 0; i < n; ++i) {
    push(100 + bits() % 32, 0x7FFFFF);                   // around the subnormals: 2^-154 .. 2^-122
    push(378 + bits() % 5, 0x7FFFFF);                    // around overflow: 2^124 .. 2^128
    push(96 + bits() % 290, 0x7FF800u << (bits() % 2));  // ties: short significands
  }
  return v;
}

/// Fused multiply-adds: `n` triples of each of eight seeded families. The multiplicands are
/// patterns of `mask`, so that 0xFFFFE000 gives TF32 and 0xFFFF0000 BF16.
inline std::vector<Fp32Triple> fp32_fused(uint64_t salt, size_t n, uint32_t mask = ~0u) {
  std::vector<Fp32Triple> v;
  auto rng = ubl::test::rng(salt);
  const auto bits = [&rng] { return static_cast<uint32_t>(rng()); };
  const auto any = [&](uint32_t exponent) {
    return (bits() & 0x807FFFFFu) | (exponent & 0xFF) << 23;
  };
  // Multiplicands whose product is near 2^exponent.
  const auto product = [&](int exponent) {
    const int sum = exponent + 254;
    const int low = sum > 254 ? sum - 254 : 0;
    const int high = sum < 254 ? sum : 254;
    const int e = low + static_cast<int>(bits() % static_cast<uint32_t>(high - low + 1));
    return Fp32Triple{any(static_cast<uint32_t>(e)) & mask,
                      any(static_cast<uint32_t>(sum - e)) & mask, 0};
  };
  const auto pick = [&](int from, int to) {
    return from + static_cast<int>(bits() % static_cast<uint32_t>(to - from + 1));
  };
  for (size_t i = 0; i < n; ++i) {
    v.push_back({bits() & mask, bits() & mask, bits()});
    // Near cancellation: c is the product's leading bits with the sign changed, or near it.
    Fp32Triple t = product(pick(-120, 124));
    const uint64_t p = uint64_t{(t.a & 0x7FFFFF) | 0x800000} * ((t.b & 0x7FFFFF) | 0x800000);
    const uint32_t carry = static_cast<uint32_t>(p >> 47);
    const uint32_t e = (t.a >> 23 & 0xFF) + (t.b >> 23 & 0xFF) - 127 + carry;
    const uint32_t lead = static_cast<uint32_t>(p >> (23 + carry)) & 0x7FFFFF;
    t.c =
        ((((t.a ^ t.b) & 0x80000000u) ^ 0x80000000u) | (e & 0xFF) << 23 | lead) + (bits() % 5) - 2;
    v.push_back(t);
    // Any alignment of product and addend.
    const int at = pick(-100, 100);
    t = product(at);
    t.c = any(static_cast<uint32_t>(127 + at + pick(-52, 52) / (1 + pick(0, 1))));
    v.push_back(t);
    // Addend far above or below, so that one of them is a sticky bit, and at a tie.
    t = product(at);
    t.c = any(static_cast<uint32_t>(127 + at + pick(22, 27)));
    t.c &= ~uint32_t{0} << pick(0, 23);
    v.push_back(t);
    // The sum around the subnormals; the product far below FP32's range, or cancelling there.
    t = product(pick(-160, -120));
    t.c = any(static_cast<uint32_t>(pick(0, 8)));
    v.push_back(t);
    // The sum around overflow; the product beyond FP32's range and brought back by the addend.
    t = product(pick(122, 130));
    t.c = any(static_cast<uint32_t>(pick(246, 254)));
    if (bits() % 2 == 0) t.c = (t.c & 0x7FFFFFFFu) | (~(t.a ^ t.b) & 0x80000000u);
    v.push_back(t);
    // A product of 25 or 26 bits, often a tie, and an addend far below it.
    const int far = pick(-40, 100);
    t = product(far);
    t.b = (t.b & 0xFF800000u) | 0x400000u;
    t.c = any(static_cast<uint32_t>(127 + far - pick(22, 76)));
    v.push_back(t);
    // b is 1 and a few units, c = -a: only the product's low bits are left.
    t = product(pick(-100, 100));
    t.a &= ~uint32_t{0} << pick(0, 22);
    t.c = (t.a ^ 0x80000000u);
    t.b = 0x3F800000u ^ ((bits() % 16) & mask);
    v.push_back(t);
  }
  return v;
}

}  // namespace ubl::test
