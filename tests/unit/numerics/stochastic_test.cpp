// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stochastic casts. The reference is a table of all values of the format, as long doubles: FP32
// numbers, their differences here and fractions of steps are exact in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mpfr_oracle.hpp"
#include "ubl/numerics/formats.hpp"
#include "ubl/numerics/random.hpp"
#include "ubl/test/format_vectors.hpp"

namespace {

using namespace ubl::numerics;
using ubl::test::to_float;

struct Case {
  const Format& format;
  long double max, beyond;  // the largest number and the next one, if there were more exponents
};
const Case kCases[] = {{kFp16, 65504, 65536},
                       {kBf16, 0x1.FEp127L, 0x1p128L},
                       {kE5m2, 57344, 65536},
                       {kE4m3, 448, 480}};

std::string hex(uint32_t x) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%X", x);
  return text;
}

class StochasticCast : public testing::TestWithParam<Case> {
 protected:
  // The magnitudes, in order; pattern i is the value i.
  StochasticCast() {
    const Format& f = GetParam().format;
    for (uint32_t x = 0; x <= f.max_finite(); ++x) {
      values_.push_back(to_float(convert(kFp32, f, x, Overflow::kNonFinite)));
    }
    values_.push_back(GetParam().beyond);
  }

  // 2^32 x the fraction of the step that lies below the magnitude; low is the pattern below.
  uint64_t fraction(uint32_t x, uint32_t& low) const {
    const long double magnitude = to_float(x & 0x7FFFFFFF);
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    low = static_cast<uint32_t>(above - values_.begin()) - 1;
    if (above == values_.end()) return 0;
    const long double part = (magnitude - values_[low]) / (*above - values_[low]);
    return static_cast<uint64_t>(std::floor(std::ldexp(part, 32)));
  }

  uint32_t expected(uint32_t x, uint32_t random, Overflow overflow) const {
    const Format& f = GetParam().format;
    const uint32_t sign = (x & 0x80000000u) != 0 ? f.sign_bit() : 0;
    if ((x & 0x7FFFFFFF) > 0x7F800000) return f.canonical_nan;
    uint32_t low;
    const uint64_t part = fraction(x, low);
    const uint32_t result = low + (part + random >= uint64_t{1} << 32 ? 1 : 0);
    if (result <= f.max_finite()) return sign | result;
    if (overflow == Overflow::kSaturate) return sign | f.max_finite();
    return f.has_infinity ? sign | f.infinity() : f.canonical_nan;
  }

  std::vector<long double> values_;
};

TEST_P(StochasticCast, AgainstTheTable) {
  const Format& f = GetParam().format;
  ASSERT_EQ(values_[f.max_finite()], GetParam().max);
  auto inputs = ubl::test::format_boundaries(f);
  const auto more = ubl::test::format_random(f, 50, 100'000);
  inputs.insert(inputs.end(), more.begin(), more.end());
  auto rng = ubl::test::rng(51);
  for (uint32_t x : inputs) {
    uint32_t low = 0;
    // The least random bits that round up: just there, it must change.
    const uint64_t part = (x & 0x7FFFFFFF) < 0x7F800000 ? fraction(x, low) : 0;
    const auto edge = static_cast<uint32_t>((uint64_t{1} << 32) - part);
    for (uint32_t random : {0u, 0xFFFFFFFFu, edge, edge - 1, static_cast<uint32_t>(rng())}) {
      for (const auto mode : {Overflow::kNonFinite, Overflow::kSaturate}) {
        const uint32_t got = convert(f, kFp32, x, mode, stochastic(random));
        const uint32_t want = expected(x, random, mode);
        ASSERT_EQ(got, want) << hex(x) << " to " << f.name << ", random " << hex(random) << ": got "
                             << hex(got) << ", want " << hex(want);
      }
    }
  }
}

TEST_P(StochasticCast, ExactValuesNeverChange) {
  const Format& f = GetParam().format;
  for (uint32_t x = 0; x <= f.max_finite(); ++x) {
    for (uint32_t pattern : {x, x | f.sign_bit()}) {
      const uint32_t wide = convert(kFp32, f, pattern, Overflow::kNonFinite);
      for (uint32_t random : {0u, 0xFFFFFFFFu}) {
        ASSERT_EQ(convert(f, kFp32, wide, Overflow::kNonFinite, stochastic(random)), pattern);
      }
    }
  }
}

// The mean over many elements is the number itself, for normal and for subnormal results.
TEST_P(StochasticCast, MeanIsTheNumber) {
  const Format& f = GetParam().format;
  constexpr int kN = 1 << 14;
  auto rng = ubl::test::rng(52);
  for (int i = 0; i < 60; ++i) {
    // Somewhere in a step, among the subnormals every other time.
    const uint32_t top = i % 2 == 0 ? 1u << f.fraction_bits : f.max_finite();
    const auto at = static_cast<uint32_t>(rng()) % top;
    const long double step = values_[at + 1] - values_[at];
    const auto x =
        static_cast<float>(values_[at] + step * (static_cast<uint32_t>(rng()) % 1000) / 1000);
    uint32_t low;
    const uint32_t bits = ubl::test::to_bits(x);
    const double p = static_cast<double>(fraction(bits, low)) * 0x1p-32;
    const RoundingBits random(static_cast<uint32_t>(rng()));
    int ups = 0;
    for (uint32_t k = 0; k < kN; ++k) {
      const uint32_t y = convert(f, kFp32, bits, Overflow::kNonFinite, stochastic(random(k)));
      ASSERT_TRUE(y == low || y == low + 1);
      ups += static_cast<int>(y - low);
    }
    const double sigma = std::sqrt(kN * p * (1 - p));
    EXPECT_LE(std::fabs(ups - kN * p), 6.5 * sigma) << f.name << " " << x;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StochasticCast, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.format.name); });

uint32_t cast(const Format& f, float x, uint32_t random, Overflow mode = Overflow::kNonFinite) {
  return convert(f, kFp32, ubl::test::to_bits(x), mode, stochastic(random));
}

TEST(StochasticCast, KnownCases) {
  EXPECT_EQ(cast(kE4m3, 456, 0xBFFFFFFF), 0x7Eu);  // a quarter beyond the largest, 448
  EXPECT_EQ(cast(kE4m3, 456, 0xC0000000), 0x7Fu);
  EXPECT_EQ(cast(kE4m3, -456, 0xC0000000), 0x7Fu);
  EXPECT_EQ(cast(kE4m3, -456, 0xC0000000, Overflow::kSaturate), 0xFEu);
  EXPECT_EQ(cast(kE4m3, 480, 0), 0x7Fu);
  EXPECT_EQ(cast(kFp16, 65535, 0), 0x7BFFu);
  EXPECT_EQ(cast(kFp16, 65535, 0xFFFFFFFF), 0x7C00u);
  EXPECT_EQ(cast(kFp16, -65535, 0xFFFFFFFF, Overflow::kSaturate), 0xFBFFu);
  EXPECT_EQ(cast(kFp16, 0x1p-25f, 0x7FFFFFFF), 0x0000u);  // half the smallest subnormal
  EXPECT_EQ(cast(kFp16, 0x1p-25f, 0x80000000), 0x0001u);
  EXPECT_EQ(cast(kFp16, -0x1p-25f, 0x7FFFFFFF), 0x8000u);
  EXPECT_EQ(cast(kFp16, 0x1p-56f, 0xFFFFFFFF), 0x0001u);  // 2^-32 of it: the least that can
  EXPECT_EQ(cast(kFp16, 0x1.FFFFFEp-57f, 0xFFFFFFFF), 0x0000u);
  EXPECT_EQ(cast(kBf16, 0x1p-149f, 0xFFFF0000), 0x0001u);
  EXPECT_EQ(cast(kBf16, 0x1p-149f, 0xFFFEFFFF), 0x0000u);
  EXPECT_EQ(cast(kE5m2, -0.0f, 0xFFFFFFFF), 0x80u);
  // Any unit, any exponent.
  EXPECT_EQ(round_to(kFp32, false, ~uint64_t{0}, -300, Overflow::kNonFinite, stochastic(0)), 0u);
  EXPECT_EQ(round_to(kFp32, true, ~uint64_t{0}, -2'000'000'000, Overflow::kNonFinite,
                     stochastic(0xFFFFFFFF)),
            0x80000000u);
}

static_assert(convert(kFp16, kFp32, 0x3F801000, Overflow::kNonFinite, stochastic(0x80000000)) ==
              0x3C01);

}  // namespace
