// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The golden FP32 adder against two implementations nobody here wrote: MPFR, with binary32's
// precision and exponent range, and the host's floating-point unit.
#include "ubl/numerics/fp32.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ubl/test/fp32_vectors.hpp"

namespace {

using ubl::numerics::add_f32;
using ubl::numerics::canonicalise_f32;
using ubl::numerics::kFp32CanonicalNan;
using ubl::test::Fp32Pair;

float to_float(uint32_t x) {
  float f;
  std::memcpy(&f, &x, sizeof f);
  return f;
}

uint32_t to_bits(float f) {
  uint32_t x;
  std::memcpy(&x, &f, sizeof x);
  return canonicalise_f32(x);
}

/// Correctly rounded binary32 addition by MPFR.
class Mpfr {
 public:
  Mpfr() {
    mpfr_set_emin(-148);  // MPFR counts exponents for significands in [1/2, 1)
    mpfr_set_emax(128);
    mpfr_inits2(24, a_, b_, sum_, static_cast<mpfr_ptr>(nullptr));
  }
  ~Mpfr() { mpfr_clears(a_, b_, sum_, static_cast<mpfr_ptr>(nullptr)); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  uint32_t add(uint32_t a, uint32_t b) {
    mpfr_set_flt(a_, to_float(a), MPFR_RNDN);
    mpfr_set_flt(b_, to_float(b), MPFR_RNDN);
    const int inexact = mpfr_add(sum_, a_, b_, MPFR_RNDN);
    mpfr_subnormalize(sum_, inexact, MPFR_RNDN);
    return to_bits(mpfr_get_flt(sum_, MPFR_RNDN));
  }

 private:
  mpfr_t a_, b_, sum_;
};

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

TEST(Fp32Round, AgainstMpfr) {
  Mpfr range;  // sets the exponent range of binary32
  mpfr_t x;
  mpfr_init2(x, 24);
  auto rng = ubl::test::rng(3);
  for (int i = 0; i < 500'000; ++i) {
    uint64_t significand = rng() >> (rng() % 64);
    if (rng() % 4 == 0) significand &= ~uint64_t{0} << (rng() % 64);  // more ties
    const int exponent = static_cast<int>(rng() % 330) - 230;
    const bool negative = (rng() & 1) != 0;
    // Round to 24 bits in a wide exponent range, then into binary32's; MPFR carries the direction
    // of the first rounding over to the second.
    mpfr_set_emin(-1000);
    mpfr_set_emax(1000);
    int inexact = mpfr_set_uj_2exp(x, significand, exponent, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    inexact = mpfr_check_range(x, inexact, MPFR_RNDN);
    inexact = mpfr_subnormalize(x, inexact, MPFR_RNDN);
    if (negative) mpfr_neg(x, x, MPFR_RNDN);
    const uint32_t want = to_bits(mpfr_get_flt(x, MPFR_RNDN));
    ASSERT_EQ(ubl::numerics::round_f32(negative, significand, exponent), want)
        << significand << " x 2^" << exponent;
  }
  mpfr_clear(x);
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
