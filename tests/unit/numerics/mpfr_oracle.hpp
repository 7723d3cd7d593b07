// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Correctly rounded arithmetic of small binary formats by MPFR: its precision and exponent range
// set to the format's, and mpfr_subnormalize. Operands and results are FP32 patterns, in which
// every value of the smaller formats is exact.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <cstring>

namespace ubl::test {

inline float to_float(uint32_t x) {
  float f;
  std::memcpy(&f, &x, sizeof f);
  return f;
}

/// The pattern of f; one for every NaN.
inline uint32_t to_bits(float f) {
  uint32_t x;
  std::memcpy(&x, &f, sizeof x);
  return (x & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : x;
}

class Mpfr {
 public:
  /// The smallest subnormal is 2^(emin - 1) and the largest number lies below 2^emax: MPFR counts
  /// exponents for significands in [1/2, 1).
  explicit Mpfr(int precision = 24, int emin = -148, int emax = 128) : emin_(emin), emax_(emax) {
    narrow();
    mpfr_inits2(24, a_, b_, c_, static_cast<mpfr_ptr>(nullptr));
    mpfr_init2(result_, precision);
  }
  ~Mpfr() { mpfr_clears(a_, b_, c_, result_, static_cast<mpfr_ptr>(nullptr)); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  uint32_t add(uint32_t a, uint32_t b) {
    load(a, b, 0);
    return finish(mpfr_add(result_, a_, b_, MPFR_RNDN));
  }
  uint32_t mul(uint32_t a, uint32_t b) {
    load(a, b, 0);
    return finish(mpfr_mul(result_, a_, b_, MPFR_RNDN));
  }
  uint32_t fma(uint32_t a, uint32_t b, uint32_t c) {
    load(a, b, c);
    return finish(mpfr_fma(result_, a_, b_, c_, MPFR_RNDN));
  }
  /// The nearest value of the format to an FP32 number.
  uint32_t convert(uint32_t a) {
    mpfr_set_emin(-1000);
    mpfr_set_emax(1000);
    mpfr_set_flt(a_, to_float(a), MPFR_RNDN);
    return in_range(mpfr_set(result_, a_, MPFR_RNDN));
  }
  /// The nearest value of the format to (-1)^negative x significand x 2^exponent.
  uint32_t round(bool negative, uint64_t significand, int exponent) {
    mpfr_set_emin(-1000);
    mpfr_set_emax(1000);
    int inexact = mpfr_set_uj_2exp(result_, significand, exponent, MPFR_RNDN);
    if (negative) {
      mpfr_neg(result_, result_, MPFR_RNDN);
      inexact = -inexact;
    }
    return in_range(inexact);
  }
  /// The FP32 pattern of a binary text such as "-1.01e-7" (the exponent is decimal).
  uint32_t parse(const char* text) {
    mpfr_set_str(result_, text, 2, MPFR_RNDN);
    return to_bits(mpfr_get_flt(result_, MPFR_RNDN));
  }

 private:
  void narrow() {
    mpfr_set_emin(emin_);
    mpfr_set_emax(emax_);
  }
  void load(uint32_t a, uint32_t b, uint32_t c) {
    mpfr_set_flt(a_, to_float(a), MPFR_RNDN);
    mpfr_set_flt(b_, to_float(b), MPFR_RNDN);
    mpfr_set_flt(c_, to_float(c), MPFR_RNDN);
  }
  // A result rounded in a wide exponent range, then brought into the format's: MPFR carries the
  // direction of the first rounding over to the second.
  uint32_t in_range(int inexact) {
    narrow();
    return finish(mpfr_check_range(result_, inexact, MPFR_RNDN));
  }
  uint32_t finish(int inexact) {
    mpfr_subnormalize(result_, inexact, MPFR_RNDN);
    return to_bits(mpfr_get_flt(result_, MPFR_RNDN));
  }

  int emin_, emax_;
  mpfr_t a_, b_, c_, result_;
};

}  // namespace ubl::test
