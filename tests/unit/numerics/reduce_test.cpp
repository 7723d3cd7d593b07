// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The golden reductions: sums against MPFR with the type's precision and exponent range and against
// the compiler's _Float16; min and max against comparisons of doubles; INT32 against 64-bit
// arithmetic.
#include "ubl/numerics/reduce.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpfr_oracle.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/test/fp32_vectors.hpp"

namespace {

using namespace ubl::numerics;
using ubl::test::Mpfr;
using ubl::test::to_float;

uint32_t add(ElementType t, uint32_t a, uint32_t b) { return reduce(t, ReduceOp::kAdd, a, b); }
uint32_t min(ElementType t, uint32_t a, uint32_t b) { return reduce(t, ReduceOp::kMin, a, b); }
uint32_t max(ElementType t, uint32_t a, uint32_t b) { return reduce(t, ReduceOp::kMax, a, b); }

struct Case {
  ElementType type;
  const Format& format;
  int precision, emin, emax;  // of Mpfr
  const char* name;
};
const Case kSmall[] = {{ElementType::kFp16, kFp16, 11, -23, 16, "fp16"},
                       {ElementType::kBf16, kBf16, 8, -132, 128, "bf16"}};

uint32_t wide(const Case& c, uint32_t x) {
  return convert(kFp32, c.format, x, Overflow::kNonFinite);
}

// All exponents and signs with the fractions at which something changes; about 2,000 patterns.
std::vector<uint32_t> structured(const Case& c) {
  const int bits = c.precision - 1;
  const uint32_t top = (1u << bits) - 1;
  std::vector<uint32_t> fractions = {0, 1, top >> 1, top};
  if (bits > 8) {
    for (uint32_t f : {2u, 3u, (top >> 1) + 1, (top >> 1) + 2, top - 1, 0x155u, 0x2AAu})
      fractions.push_back(f);
  }
  std::vector<uint32_t> v;
  for (uint32_t high = 0; high < 1u << (16 - bits); ++high) {
    for (uint32_t f : fractions) v.push_back(high << bits | f);
  }
  return v;
}

class SmallFloats : public testing::TestWithParam<Case> {
 protected:
  SmallFloats() : mpfr_(GetParam().precision, GetParam().emin, GetParam().emax) {}

  bool check_sum(uint32_t a, uint32_t b) {
    const Case& c = GetParam();
    const uint32_t got = add(c.type, a, b);
    const uint32_t want = mpfr_.add(wide(c, a), wide(c, b));
    bool good = wide(c, got) == want && (!is_nan_f32(want) || got == c.format.canonical_nan);
#ifdef __FLT16_MAX__
    if (c.type == ElementType::kFp16) {
      _Float16 ha, hb;
      const auto pa = static_cast<uint16_t>(a), pb = static_cast<uint16_t>(b);
      std::memcpy(&ha, &pa, sizeof ha);
      std::memcpy(&hb, &pb, sizeof hb);
      const auto sum = static_cast<_Float16>(ha + hb);
      uint16_t bits;
      std::memcpy(&bits, &sum, sizeof bits);
      if ((bits & 0x7FFF) > 0x7C00) bits = 0x7E00;
      good = good && got == bits;
    }
#endif
    if (!good) {
      ADD_FAILURE() << c.name << std::hex << ": 0x" << a << " + 0x" << b << " = 0x" << got
                    << " (FP32 0x" << wide(c, got) << "), MPFR FP32 0x" << want;
    }
    return good;
  }

  Mpfr mpfr_;
};

TEST_P(SmallFloats, StructuredSumsAgainstMpfr) {
  const auto v = structured(GetParam());
  EXPECT_GE(v.size(), 700u);
  for (uint32_t a : v) {
    for (uint32_t b : v) {
      if (b < a) continue;
      ASSERT_TRUE(check_sum(a, b));
    }
  }
}

TEST_P(SmallFloats, EveryPatternPlusSomeAgainstMpfr) {
  const uint32_t one = GetParam().format.infinity() / 2 & ~1u;
  const uint32_t max = GetParam().format.max_finite();
  for (uint32_t b : {0u, 1u, 0x8001u, one, one | 0x8001u, max, max | 0x8000u}) {
    for (uint32_t a = 0; a < 0x10000; ++a) ASSERT_TRUE(check_sum(a, b));
  }
}

TEST_P(SmallFloats, RandomSumsAgainstMpfr) {
  auto rng = ubl::test::rng(30);
  for (int i = 0; i < 500'000; ++i) {
    const uint64_t r = rng();
    const auto a = static_cast<uint32_t>(r & 0xFFFF);
    auto b = static_cast<uint32_t>(r >> 16 & 0xFFFF);
    // Half of them with exponents near each other.
    if (i % 2 != 0) b = ((a ^ 0x8000u) + (b & 0x1FFFu) - 0x1000u) & 0xFFFFu;
    ASSERT_TRUE(check_sum(a, b));
    ASSERT_EQ(add(GetParam().type, a, b), add(GetParam().type, b, a));
  }
}

// Smallest or largest by the values' order as doubles, -0 below +0.
uint32_t select(const Format& f, bool smaller, uint32_t a, uint32_t b) {
  const double x = to_float(convert(kFp32, f, a, Overflow::kNonFinite));
  const double y = to_float(convert(kFp32, f, b, Overflow::kNonFinite));
  if (std::isnan(x) || std::isnan(y)) return f.canonical_nan;
  if (x == y) return std::signbit(x) == smaller ? a : b;
  return (x < y) == smaller ? a : b;
}

TEST_P(SmallFloats, MinAndMaxOfEveryPatternWithSome) {
  const Case& c = GetParam();
  std::vector<uint32_t> others = {0,
                                  0x8000,
                                  1,
                                  0x8001,
                                  0x3C00,
                                  0xBC00,
                                  c.format.max_finite(),
                                  c.format.max_finite() | 0x8000u,
                                  c.format.infinity(),
                                  c.format.infinity() | 0x8000u,
                                  c.format.canonical_nan,
                                  c.format.infinity() + 1,
                                  0xFFFF};
  auto rng = ubl::test::rng(31);
  while (others.size() < 32) others.push_back(static_cast<uint32_t>(rng() & 0xFFFF));
  for (uint32_t b : others) {
    for (uint32_t a = 0; a < 0x10000; ++a) {
      ASSERT_EQ(min(c.type, a, b), select(c.format, true, a, b)) << std::hex << a << " " << b;
      ASSERT_EQ(max(c.type, a, b), select(c.format, false, a, b)) << std::hex << a << " " << b;
      ASSERT_EQ(min(c.type, b, a), min(c.type, a, b)) << std::hex << a << " " << b;
      ASSERT_EQ(max(c.type, b, a), max(c.type, a, b)) << std::hex << a << " " << b;
    }
  }
}

TEST_P(SmallFloats, RejectsBitsAboveTheType) {
  for (auto op : {ReduceOp::kAdd, ReduceOp::kMin, ReduceOp::kMax}) {
    EXPECT_THROW(reduce(GetParam().type, op, 0x10000, 0), std::invalid_argument);
    EXPECT_THROW(reduce(GetParam().type, op, 0xFFFF, 0x10000), std::invalid_argument);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloats, testing::ValuesIn(kSmall),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Reduce, Fp32) {
  Mpfr mpfr;
  auto pairs = ubl::test::fp32_directed(32, 20'000);
  const auto random = ubl::test::fp32_random(33, 200'000);
  pairs.insert(pairs.end(), random.begin(), random.end());
  for (const auto& p : pairs) {
    ASSERT_EQ(add(ElementType::kFp32, p.a, p.b), mpfr.add(p.a, p.b)) << p.a << " " << p.b;
    ASSERT_EQ(min(ElementType::kFp32, p.a, p.b), select(kFp32, true, p.a, p.b));
    ASSERT_EQ(max(ElementType::kFp32, p.a, p.b), select(kFp32, false, p.a, p.b));
  }
}

// add() takes any format: every pair of FP8.
TEST(Add, EveryPairOfFp8AgainstMpfr) {
  struct {
    const Format& format;
    int precision, emin, emax;
    float max;
  } const kFp8[] = {{kE5m2, 3, -15, 16, 57344.0f}, {kE4m3, 4, -8, 9, 448.0f}};
  for (const auto& c : kFp8) {
    Mpfr mpfr(c.precision, c.emin, c.emax);
    const auto wide = [&c](uint32_t x) {
      return convert(kFp32, c.format, x, Overflow::kNonFinite);
    };
    for (uint32_t a = 0; a < 0x100; ++a) {
      for (uint32_t b = 0; b < 0x100; ++b) {
        uint32_t want = mpfr.add(wide(a), wide(b));
        if (!c.format.has_infinity && std::fabs(to_float(want)) > c.max) want = kFp32CanonicalNan;
        const uint32_t got = add(c.format, a, b);
        ASSERT_EQ(wide(got), want) << c.format.name << std::hex << " " << a << " " << b;
        if (is_nan_f32(want)) {
          ASSERT_EQ(got, c.format.canonical_nan);
        }
      }
    }
  }
}

TEST(Reduce, KnownCases) {
  const auto kF = ElementType::kFp16;
  EXPECT_EQ(add(kF, 0x3C00, 0x1000), 0x3C00u);  // 1 + 2^-11: a tie, to even
  EXPECT_EQ(add(kF, 0x3C01, 0x1000), 0x3C02u);  // the same, upwards
  EXPECT_EQ(add(kF, 0x3C00, 0x1001), 0x3C01u);  // above the tie
  EXPECT_EQ(add(kF, 0x7BFF, 0x4BFF), 0x7BFFu);  // 65504 and just below 16
  EXPECT_EQ(add(kF, 0x7BFF, 0x4C00), 0x7C00u);  // 65520 rounds to infinity
  EXPECT_EQ(add(kF, 0x0001, 0x8001), 0x0000u);
  EXPECT_EQ(add(kF, 0x03FF, 0x0001), 0x0400u);  // subnormals sum to a normal
  EXPECT_EQ(add(kF, 0x7C00, 0xFC00), 0x7E00u);
  EXPECT_EQ(add(ElementType::kBf16, 0x7F80, 0xFF80), 0x7FC0u);
  EXPECT_EQ(min(ElementType::kBf16, 0x0000, 0x8000), 0x8000u);
  EXPECT_EQ(max(ElementType::kBf16, 0x8000, 0x0000), 0x0000u);
  EXPECT_EQ(min(ElementType::kFp32, 0xFF800000, 0x7F800001), 0x7FC00000u);
  EXPECT_EQ(add(ElementType::kInt32, 0x7FFFFFFF, 1), 0x80000000u);
  EXPECT_EQ(min(ElementType::kInt32, 0xFFFFFFFF, 1), 0xFFFFFFFFu);
  EXPECT_EQ(max(ElementType::kInt32, 0x80000000, 0x7FFFFFFF), 0x7FFFFFFFu);
}

TEST(Reduce, Int32) {
  auto rng = ubl::test::rng(34);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t r = rng();
    const auto a = static_cast<uint32_t>(r);
    const uint32_t b =
        i % 4 == 0 ? a + static_cast<uint32_t>(i % 3) : static_cast<uint32_t>(r >> 32);
    const auto x = static_cast<int64_t>(static_cast<int32_t>(a));
    const auto y = static_cast<int64_t>(static_cast<int32_t>(b));
    ASSERT_EQ(add(ElementType::kInt32, a, b), static_cast<uint32_t>((x + y) & 0xFFFFFFFF));
    ASSERT_EQ(min(ElementType::kInt32, a, b), x < y ? a : b);
    ASSERT_EQ(max(ElementType::kInt32, a, b), x < y ? b : a);
  }
}

TEST(Reduce, Buffers) {
  auto rng = ubl::test::rng(35);
  for (auto type :
       {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16, ElementType::kInt32}) {
    const size_t step = element_bytes(type);
    EXPECT_EQ(step, type == ElementType::kFp32 || type == ElementType::kInt32 ? 4u : 2u);
    for (auto op : {ReduceOp::kAdd, ReduceOp::kMin, ReduceOp::kMax}) {
      constexpr size_t kN = 37;
      std::vector<uint8_t> acc(1 + kN * step + 1), in(1 + kN * step);  // unaligned, and a guard
      for (auto& b : acc) b = static_cast<uint8_t>(rng());
      for (auto& b : in) b = static_cast<uint8_t>(rng());
      std::vector<uint8_t> want = acc;
      for (size_t i = 0; i < kN; ++i) {
        uint32_t a = 0, b = 0;
        std::memcpy(&a, &acc[1 + i * step], step);
        std::memcpy(&b, &in[1 + i * step], step);
        const uint32_t r = reduce(type, op, a, b);
        std::memcpy(&want[1 + i * step], &r, step);
      }
      reduce_buffer(type, op, acc.data() + 1, in.data() + 1, kN * step);
      EXPECT_EQ(acc, want);
      EXPECT_THROW(reduce_buffer(type, op, acc.data(), in.data(), step + 1), std::invalid_argument);
      EXPECT_NO_THROW(reduce_buffer(type, op, nullptr, nullptr, 0));
    }
  }
  EXPECT_THROW(reduce(static_cast<ElementType>(4), ReduceOp::kAdd, 0, 0), std::invalid_argument);
  EXPECT_THROW(reduce(ElementType::kFp32, static_cast<ReduceOp>(3), 0, 0), std::invalid_argument);
  EXPECT_THROW(reduce(ElementType::kInt32, static_cast<ReduceOp>(3), 0, 0), std::invalid_argument);
}

}  // namespace
