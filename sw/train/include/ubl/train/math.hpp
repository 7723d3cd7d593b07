// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// exp, log, tanh and sqrt from + - * / alone: the same bits on every IEEE-754 machine, whatever
// its mathematics library. Compile everything that includes this with -ffp-contract=off.
// Relative error of each below 1e-14 in the range training uses.
#pragma once

#include <cstdint>
#include <cstring>

namespace ubl::train::math {

inline double from_bits(uint64_t u) {
  double d;
  std::memcpy(&d, &u, sizeof d);
  return d;
}
inline uint64_t to_bits(double d) {
  uint64_t u;
  std::memcpy(&u, &d, sizeof u);
  return u;
}

/// e^x; 0 below -700, e^700 above 700.
inline double exp(double x) {
  if (!(x > -700.0)) return 0.0;
  if (x > 700.0) x = 700.0;
  const double scaled = x * 1.4426950408889634;
  const int k = static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  // |r| <= 0.35: Taylor series to r^13, error below 1e-17.
  double p = 1.0;
  for (int i = 13; i >= 1; --i) p = 1.0 + p * r / i;
  return p * from_bits(static_cast<uint64_t>(k + 1023) << 52);
}

/// Natural logarithm of a normal positive number.
inline double log(double x) {
  const uint64_t u = to_bits(x);
  int e = static_cast<int>(u >> 52) - 1023;
  double m = from_bits((u & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  // log m = 2 atanh(s), |s| <= 0.172
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double p = 0.0;
  for (int i = 21; i >= 1; i -= 2) p = p * s2 + 1.0 / i;
  return 2.0 * s * p + e * 0.69314718055994531;
}

/// Hyperbolic tangent.
inline double tanh(double x) {
  const double a = x < 0 ? -x : x;
  double y;
  if (a < 0.0625) {  // series: the quotient below would cancel
    const double s = a * a;
    y = a * (1.0 - s * (1.0 / 3 - s * (2.0 / 15 - s * (17.0 / 315 - s * (62.0 / 2835)))));
  } else {
    const double e = exp(-2.0 * a);
    y = (1.0 - e) / (1.0 + e);
  }
  return x < 0 ? -y : y;
}

/// Square root of a positive number by Newton's method.
inline double sqrt(double x) {
  double y = x > 1.0 ? x : 1.0;
  for (int i = 0; i < 64; ++i) {
    const double next = 0.5 * (y + x / y);
    if (!(next < y)) break;  // falls monotonically until it has converged
    y = next;
  }
  return y;
}

}  // namespace ubl::train::math
