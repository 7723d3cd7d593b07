// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The random bits of stochastic rounding: the values themselves, as other implementations must give
// them, and their statistics. Every statistic is a sum of many independent terms, expressed in
// standard deviations; about 10^5 of them are looked at, of which the largest should be near 4.5.
#include "ubl/numerics/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ubl/test/seed.hpp"

namespace {

using ubl::numerics::rounding_bits;
using ubl::numerics::RoundingBits;

constexpr double kLimit = 6.5;

// Computed from the header's text by a program of its own (Python).
TEST(RoundingBits, KnownValues) {
  struct {
    uint32_t seed, index, bits;
  } const kKnown[] = {
      {0x00000000, 0x00000000, 0x77621B32}, {0x00000000, 0x00000001, 0xCAE194AC},
      {0x00000001, 0x00000000, 0xEFBA60EA}, {0x00000001, 0x00000001, 0x4B5A33FA},
      {0x00000000, 0x0000003F, 0xB32C6E6F}, {0x12345678, 0x9ABCDEF0, 0xABA46BDB},
      {0xFFFFFFFF, 0xFFFFFFFF, 0x21B26026}, {0xDEADBEEF, 0x00100000, 0x19F26A62},
  };
  for (const auto& k : kKnown) {
    EXPECT_EQ(rounding_bits(k.seed, k.index), k.bits) << k.seed << " " << k.index;
    EXPECT_EQ(RoundingBits(k.seed)(k.index), k.bits);
  }
}

std::vector<uint32_t> sequence(uint32_t seed, uint32_t first, size_t n) {
  const RoundingBits bits(seed);
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = bits(first + static_cast<uint32_t>(i));
  return v;
}

// Seeds that differ in little, and some others; the messages start at 0 or anywhere.
std::vector<uint32_t> seeds() {
  std::vector<uint32_t> v = {0, 1, 2, 0x80000000, 0xFFFFFFFF, 0x9E3779B9, 0x7F4A7C15};
  auto rng = ubl::test::rng(40);
  while (v.size() < 10) v.push_back(static_cast<uint32_t>(rng()));
  return v;
}

TEST(RoundingBits, NoValueTwiceInAMessage) {
  for (uint32_t seed : {0u, 1u, 0xDEADBEEFu}) {
    auto v = sequence(seed, 0, 1 << 18);
    std::sort(v.begin(), v.end());
    EXPECT_EQ(std::adjacent_find(v.begin(), v.end()), v.end());
  }
}

TEST(RoundingBits, MeanAndBitBalance) {
  constexpr size_t kN = 1 << 18;
  for (uint32_t seed : seeds()) {
    const auto v = sequence(seed, seed % 3 * 0x10000, kN);
    double sum = 0;
    int ones[32] = {};
    for (uint32_t x : v) {
      sum += x * 0x1p-32 - 0.5;
      for (int b = 0; b < 32; ++b) ones[b] += static_cast<int>(x >> b & 1);
    }
    EXPECT_LT(std::fabs(sum) / std::sqrt(kN / 12.0), kLimit) << "seed " << seed;
    for (int b = 0; b < 32; ++b) {
      const double z = (ones[b] - kN / 2.0) / std::sqrt(kN / 4.0);
      EXPECT_LT(std::fabs(z), kLimit) << "seed " << seed << " bit " << b;
    }
  }
}

// Bit i of all n (a multiple of 64) values, packed.
std::vector<std::vector<uint64_t>> slices(const uint32_t* x, size_t n) {
  std::vector<std::vector<uint64_t>> v(32, std::vector<uint64_t>(n / 64));
  for (size_t i = 0; i < n; ++i) {
    for (size_t bit = 0; bit < 32; ++bit) {
      v[bit][i / 64] |= static_cast<uint64_t>(x[i] >> bit & 1) << (i % 64);
    }
  }
  return v;
}

// Two sequences of n: their product moment, the joint distribution of their upper bytes, and each
// bit of one with each of the other.
void expect_independent(const uint32_t* a, const uint32_t* b, size_t n, const std::string& what) {
  double moment = 0;
  std::vector<int> joint(1 << 16);
  for (size_t i = 0; i < n; ++i) {
    moment += (a[i] * 0x1p-32 - 0.5) * (b[i] * 0x1p-32 - 0.5);
    ++joint[(a[i] >> 24) << 8 | b[i] >> 24];
  }
  EXPECT_LT(std::fabs(moment) * 12 / std::sqrt(static_cast<double>(n)), kLimit) << what;
  const double expected = static_cast<double>(n) / 65536;
  double chi2 = 0;
  for (int count : joint) chi2 += (count - expected) * (count - expected) / expected;
  EXPECT_LT(std::fabs(chi2 - 65535) / std::sqrt(2 * 65535.0), kLimit) << what;
  const auto a_bits = slices(a, n);
  const auto b_bits = slices(b, n);
  const double half = static_cast<double>(n) / 2;
  for (size_t i = 0; i < 32; ++i) {
    for (size_t k = 0; k < 32; ++k) {
      int unlike = 0;
      for (size_t w = 0; w < n / 64; ++w) {
        unlike += __builtin_popcountll(a_bits[i][w] ^ b_bits[k][w]);
      }
      EXPECT_LT(std::fabs(unlike - half) / std::sqrt(half / 2), kLimit)
          << what << " bits " << i << " and " << k;
    }
  }
}

TEST(RoundingBits, NeighboursAreIndependent) {
  constexpr size_t kN = 1 << 16;
  for (uint32_t seed : seeds()) {
    for (size_t lag : {1, 2, 4, 32, 64, 128, 1024}) {
      const auto v = sequence(seed, 0, kN + lag);
      expect_independent(v.data(), v.data() + lag, kN,
                         "seed " + std::to_string(seed) + " lag " + std::to_string(lag));
    }
  }
}

TEST(RoundingBits, SeedsAreIndependent) {
  constexpr size_t kN = 1 << 16;
  for (uint32_t seed : seeds()) {
    const auto v = sequence(seed, 0, kN);
    for (uint32_t other : {seed + 1, seed + 64, seed ^ 0x10000u, seed ^ 0x80000000u, ~seed,
                           seed + 0x7F4A7C15u, seed + 0xF39CC060u}) {
      const auto w = sequence(other, 0, kN);
      expect_independent(v.data(), w.data(), kN,
                         "seeds " + std::to_string(seed) + " and " + std::to_string(other));
    }
  }
}

// The other direction: one element of messages with consecutive seeds.
TEST(RoundingBits, ConsecutiveSeedsGiveASequence) {
  constexpr size_t kN = 1 << 16;
  for (uint32_t index : {0u, 1u, 63u, 1000u}) {
    std::vector<uint32_t> v(kN + 1);
    for (size_t s = 0; s < v.size(); ++s) v[s] = rounding_bits(static_cast<uint32_t>(s), index);
    expect_independent(v.data(), v.data() + 1, kN, "index " + std::to_string(index));
  }
}

// One bit of the index, or of the seed, turned over: each bit of the result does in half of the
// cases.
TEST(RoundingBits, Avalanche) {
  constexpr int kN = 1 << 13;
  auto rng = ubl::test::rng(41);
  std::vector<int> index_flips(32 * 32), seed_flips(32 * 32);
  for (int i = 0; i < kN; ++i) {
    const uint64_t r = rng();
    const auto seed = static_cast<uint32_t>(r);
    const auto index = static_cast<uint32_t>(r >> 32) >> (i % 24);  // small ones are usual
    const RoundingBits bits(seed);
    const uint32_t x = bits(index);
    for (int in = 0; in < 32; ++in) {
      const uint32_t by_index = x ^ bits(index ^ 1u << in);
      const uint32_t by_seed = x ^ rounding_bits(seed ^ 1u << in, index);
      for (int out = 0; out < 32; ++out) {
        index_flips[in * 32 + out] += static_cast<int>(by_index >> out & 1);
        seed_flips[in * 32 + out] += static_cast<int>(by_seed >> out & 1);
      }
    }
  }
  for (int i = 0; i < 32 * 32; ++i) {
    for (int flips : {index_flips[i], seed_flips[i]}) {
      EXPECT_LT(std::fabs(flips - kN / 2.0) / std::sqrt(kN / 4.0), kLimit)
          << "bit " << i / 32 << " to bit " << i % 32;
    }
  }
}

}  // namespace
