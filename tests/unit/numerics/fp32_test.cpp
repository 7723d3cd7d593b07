// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The golden FP32 addition, multiplication and fused multiply-add against two implementations
// nobody here wrote: MPFR, with binary32's precision and exponent range, and the host's
// floating-point unit and fmaf.
#include "ubl/numerics/fp32.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "mpfr_oracle.hpp"
#include "ubl/test/fp32_vectors.hpp"

namespace {

using ubl::numerics::add_f32;
using ubl::numerics::canonicalise_f32;
using ubl::numerics::fma_f32;
using ubl::numerics::kFp32CanonicalNan;
using ubl::numerics::mul_f32;
using ubl::test::Fp32Pair;
using ubl::test::Fp32Triple;
using ubl::test::Mpfr;
using ubl::test::to_bits;
using ubl::test::to_float;

void check(const std::vector<Fp32Pair>& pairs) {
  Mpfr mpfr;
  int failures = 0;
  for (const auto& p : pairs) {
    const uint32_t got = add_f32(p.a, p.b);
    const uint32_t by_mpfr = mpfr.add(p.a, p.b);
    const uint32_t by_host = to_bits(to_float(p.a) + to_float(p.b));
    if (got != by_mpfr || got != by_host) {
      ADD_FAILURE() << std::hex << "0x" << p.a << " + 0x" << p.b << " = 0x" << got << ", MPFR 0x"
                    << by_mpfr << ", host 0x" << by_host;
      ASSERT_LT(++failures, 10);
    }
  }
}

TEST(Fp32Add, DirectedAgainstMpfrAndHost) { check(ubl::test::fp32_directed(1, 100'000)); }

TEST(Fp32Add, RandomAgainstMpfrAndHost) { check(ubl::test::fp32_random(2, 2'000'000)); }

TEST(Fp32Add, SpecialSetIsLarge) { EXPECT_GE(ubl::test::fp32_specials().size(), 40u); }

TEST(Fp32Add, SignedZerosAndNan) {
  EXPECT_EQ(add_f32(0x3F800000, 0xBF800000), 0x00000000u);
  EXPECT_EQ(add_f32(0x80000000, 0x80000000), 0x80000000u);
  EXPECT_EQ(add_f32(0x80000000, 0x00000000), 0x00000000u);
  EXPECT_EQ(add_f32(0x7F800000, 0xFF800000), kFp32CanonicalNan);
  EXPECT_EQ(add_f32(0xFFFFFFFF, 0x3F800000), kFp32CanonicalNan);
  EXPECT_EQ(add_f32(0x00000000, 0x7F800001), kFp32CanonicalNan);
}

void check_products(const std::vector<Fp32Pair>& pairs) {
  Mpfr mpfr;
  int failures = 0;
  for (const auto& p : pairs) {
    const uint32_t got = mul_f32(p.a, p.b);
    const uint32_t by_mpfr = mpfr.mul(p.a, p.b);
    const uint32_t by_host = to_bits(to_float(p.a) * to_float(p.b));
    if (got != by_mpfr || got != by_host) {
      ADD_FAILURE() << std::hex << "0x" << p.a << " x 0x" << p.b << " = 0x" << got << ", MPFR 0x"
                    << by_mpfr << ", host 0x" << by_host;
      ASSERT_LT(++failures, 10);
    }
  }
}

TEST(Fp32Mul, DirectedAgainstMpfrAndHost) {
  check_products(ubl::test::fp32_products(5, 200'000));
  check_products(ubl::test::fp32_directed(6, 40'000));
}

TEST(Fp32Mul, RandomAgainstMpfrAndHost) { check_products(ubl::test::fp32_random(7, 1'000'000)); }

TEST(Fp32Mul, KnownCases) {
  EXPECT_EQ(mul_f32(0x00000001, 0x3F000000), 0x00000000u);  // tie between 0 and 2^-149
  EXPECT_EQ(mul_f32(0x00000001, 0x3F000001), 0x00000001u);  // just above it
  EXPECT_EQ(mul_f32(0x00000003, 0xBF000000), 0x80000002u);  // tie, to even, upwards
  EXPECT_EQ(mul_f32(0x00FFFFFF, 0x3F000000), 0x00800000u);  // rounds up to the smallest normal
  EXPECT_EQ(mul_f32(0x7F7FFFFF, 0x3F800001), 0x7F800000u);
  EXPECT_EQ(mul_f32(0x7F800000, 0x80000001), 0xFF800000u);
  EXPECT_EQ(mul_f32(0x7F800000, 0x80000000), kFp32CanonicalNan);
  EXPECT_EQ(mul_f32(0x00000000, 0x80000001), 0x80000000u);
  EXPECT_EQ(mul_f32(0x7F800001, 0x00000000), kFp32CanonicalNan);
}

void check_fused(const std::vector<Fp32Triple>& triples) {
  ASSERT_EQ(std::fegetround(), FE_TONEAREST);
  Mpfr mpfr;
  int failures = 0;
  for (const auto& t : triples) {
    const uint32_t got = fma_f32(t.a, t.b, t.c);
    const uint32_t by_mpfr = mpfr.fma(t.a, t.b, t.c);
    const uint32_t by_host = to_bits(std::fma(to_float(t.a), to_float(t.b), to_float(t.c)));
    if (got != by_mpfr || got != by_host) {
      ADD_FAILURE() << std::hex << "0x" << t.a << " x 0x" << t.b << " + 0x" << t.c << " = 0x" << got
                    << ", MPFR 0x" << by_mpfr << ", host 0x" << by_host;
      ASSERT_LT(++failures, 10);
    }
  }
}

TEST(Fp32Fma, SpecialsAgainstMpfrAndHost) {
  const auto specials = ubl::test::fp32_specials();
  std::vector<Fp32Triple> triples;
  for (uint32_t a : specials) {
    if ((a & 0x80000000u) != 0) continue;  // the sign of the product is b's
    for (uint32_t b : specials) {
      for (uint32_t c : specials) triples.push_back({a, b, c});
    }
  }
  check_fused(triples);
}

TEST(Fp32Fma, DirectedAgainstMpfrAndHost) { check_fused(ubl::test::fp32_fused(8, 150'000)); }

TEST(Fp32Fma, KnownCases) {
  // An exact zero is +0; a product that underflows is not zero for the sign of the sum.
  EXPECT_EQ(fma_f32(0x3F800000, 0x3F800000, 0xBF800000), 0x00000000u);
  EXPECT_EQ(fma_f32(0x80000000, 0x3F800000, 0x80000000), 0x80000000u);
  EXPECT_EQ(fma_f32(0x80000000, 0x3F800000, 0x00000000), 0x00000000u);
  EXPECT_EQ(fma_f32(0x80000001, 0x00000001, 0x00000000), 0x80000000u);
  // The product leaves the range and the addend brings it back.
  EXPECT_EQ(fma_f32(0x7F000000, 0x40000000, 0xFF7FFFFF), 0x73800000u);
  EXPECT_EQ(fma_f32(0x7F000000, 0x40000000, 0xFF000000), 0x7F000000u);
  EXPECT_EQ(fma_f32(0x7F000000, 0x40000000, 0x3F800000), 0x7F800000u);
  // A product of 2^-298 decides a tie.
  EXPECT_EQ(fma_f32(0x00000001, 0x00000001, 0x00000001), 0x00000001u);
  EXPECT_EQ(fma_f32(0x3F800001, 0x3F800001, 0xBF800002), 0x28800000u);  // 2^-46
  // One rounding, where two would differ: 1 + 2^-24 + 2^-46 or so.
  EXPECT_EQ(fma_f32(0x33800000, 0x3F800001, 0x3F800000), 0x3F800001u);
  EXPECT_EQ(fma_f32(0x33800000, 0x3F800000, 0x3F800000), 0x3F800000u);
  // (2^23 + 2^12 + 1)(2^23 - 2^12 + 1) = 2^46 + 1: the leading bit makes a tie, the last decides
  // it.
  EXPECT_EQ(fma_f32(0x3F801001, 0x3F7FE002, 0x4B800000), 0x4B800001u);
  EXPECT_EQ(fma_f32(0x3F801001, 0xBF7FE002, 0x4B800002), 0x4B800001u);
  EXPECT_EQ(fma_f32(0x7F800000, 0x00000000, 0x3F800000), kFp32CanonicalNan);
  EXPECT_EQ(fma_f32(0x7F800000, 0x3F800000, 0xFF800000), kFp32CanonicalNan);
  EXPECT_EQ(fma_f32(0x7F7FFFFF, 0x7F7FFFFF, 0xFF800000), 0xFF800000u);  // not infinity minus itself
}

/// a and b are the top `width` bits of an FP32 pattern.
void check_narrow_fused(const ubl::numerics::Format& format, int shift,
                        const std::vector<Fp32Triple>& triples) {
  Mpfr mpfr;
  int failures = 0;
  for (const auto& t : triples) {
    const uint32_t got = fma_f32(format, t.a >> shift, t.b >> shift, t.c);
    const uint32_t by_mpfr = mpfr.fma(t.a, t.b, t.c);
    const uint32_t by_host = to_bits(std::fma(to_float(t.a), to_float(t.b), to_float(t.c)));
    if (got != by_mpfr || got != by_host) {
      ADD_FAILURE() << format.name << std::hex << ": 0x" << (t.a >> shift) << " x 0x"
                    << (t.b >> shift) << " + 0x" << t.c << " = 0x" << got << ", MPFR 0x" << by_mpfr
                    << ", host 0x" << by_host;
      ASSERT_LT(++failures, 10);
    }
  }
}

TEST(NarrowFma, Bf16AgainstMpfrAndHost) {
  check_narrow_fused(ubl::numerics::kBf16, 16, ubl::test::fp32_fused(9, 80'000, 0xFFFF0000));
  // 2^127 x 2 - 2^127; (2^-133)^2 decides a tie of the addend's.
  EXPECT_EQ(fma_f32(ubl::numerics::kBf16, 0x7F00, 0x4000, 0xFF000000), 0x7F000000u);
  EXPECT_EQ(fma_f32(ubl::numerics::kBf16, 0x0001, 0x8001, 0x00000000), 0x80000000u);
}

TEST(NarrowFma, Tf32AgainstMpfrAndHost) {
  check_narrow_fused(ubl::numerics::kTf32, 0, ubl::test::fp32_fused(10, 80'000, 0xFFFFE000));
  EXPECT_THROW(fma_f32(ubl::numerics::kTf32, 0x3F800001, 0, 0), std::invalid_argument);
}

TEST(NarrowFma, SmallFormatsAgainstHost) {
  // FP8: all pairs. FP16: random. The host works on exact FP32 values of the multiplicands.
  using namespace ubl::numerics;
  auto rng = ubl::test::rng(11);
  const auto one = [](const Format& f, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t x = convert(kFp32, f, a, Overflow::kNonFinite);
    const uint32_t y = convert(kFp32, f, b, Overflow::kNonFinite);
    ASSERT_EQ(fma_f32(f, a, b, c), to_bits(std::fma(to_float(x), to_float(y), to_float(c))))
        << f.name << std::hex << ": 0x" << a << " x 0x" << b << " + 0x" << c;
  };
  for (uint32_t i = 0; i < 0x10000; ++i) {
    // Addends of about the size of the products.
    const auto c =
        static_cast<uint32_t>(rng() & 0x807FFFFF) | static_cast<uint32_t>(95 + rng() % 66) << 23;
    ASSERT_NO_FATAL_FAILURE(one(kE4m3, i >> 8, i & 0xFF, c));
    ASSERT_NO_FATAL_FAILURE(one(kE5m2, i >> 8, i & 0xFF, c));
    const uint64_t r = rng();
    ASSERT_NO_FATAL_FAILURE(one(kFp16, r & 0xFFFF, r >> 16 & 0xFFFF, c));
  }
}

TEST(Fp32Round, AgainstMpfr) {
  Mpfr mpfr;
  auto rng = ubl::test::rng(3);
  for (int i = 0; i < 500'000; ++i) {
    uint64_t significand = rng() >> (rng() % 64);
    if (rng() % 4 == 0) significand &= ~uint64_t{0} << (rng() % 64);  // more ties
    const int exponent = static_cast<int>(rng() % 330) - 230;
    const bool negative = (rng() & 1) != 0;
    ASSERT_EQ(ubl::numerics::round_f32(negative, significand, exponent),
              mpfr.round(negative, significand, exponent))
        << negative << " " << significand << " x 2^" << exponent;
  }
}

TEST(Fp32Canonicalise, KeepsAllButNan) {
  for (uint32_t x : ubl::test::fp32_specials()) {
    const bool nan = std::isnan(to_float(x));
    EXPECT_EQ(ubl::numerics::is_nan_f32(x), nan);
    EXPECT_EQ(canonicalise_f32(x), nan ? kFp32CanonicalNan : x);
  }
}

TEST(Fp32Sum, VectorsAndMemory) {
  const auto pairs = ubl::test::fp32_random(4, 1000);
  std::vector<uint32_t> a, b;
  for (const auto& p : pairs) {
    a.push_back(p.a);
    b.push_back(p.b);
  }
  const auto sum = ubl::numerics::sum_f32(a, b);
  ASSERT_EQ(sum.size(), a.size());
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], add_f32(a[i], b[i]));

  // Unaligned memory.
  std::vector<uint8_t> acc(1 + 4 * a.size()), in(3 + 4 * b.size());
  std::memcpy(acc.data() + 1, a.data(), 4 * a.size());
  std::memcpy(in.data() + 3, b.data(), 4 * b.size());
  ubl::numerics::accumulate_f32(acc.data() + 1, in.data() + 3, 4 * a.size());
  EXPECT_EQ(std::memcmp(acc.data() + 1, sum.data(), 4 * sum.size()), 0);

  EXPECT_TRUE(ubl::numerics::sum_f32({}, {}).empty());
  EXPECT_THROW(ubl::numerics::sum_f32({1, 2}, {1}), std::invalid_argument);
  EXPECT_THROW(ubl::numerics::accumulate_f32(acc.data(), in.data(), 6), std::invalid_argument);
}

}  // namespace
