// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/numerics/fp32.hpp"

#include <stdexcept>
#include <string>

namespace ubl::numerics {
namespace {

// Parameters of binary32 (IEEE 754-2019, table 3.5).
constexpr int kPrecision = 24;                        // p: significand bits
constexpr int kEmax = 127;                            // largest exponent
constexpr int kEmin = 1 - kEmax;                      // smallest normal exponent
constexpr int kMinUnit = kEmin - (kPrecision - 1);    // exponent of the smallest subnormal
constexpr int kMaxUnit = kEmax - (kPrecision - 1);    // unit in the last place of the largest
constexpr uint32_t kHidden = 1u << (kPrecision - 1);  // implicit leading bit
constexpr uint32_t kFraction = kHidden - 1;           // trailing significand field
constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kInfinity = 0x7F800000u;

// A finite datum as (-1)^negative x significand x 2^exponent, exactly.
struct Exact {
  bool negative;
  uint64_t significand;
  int exponent;
};

Exact decode(uint32_t x) {
  const uint32_t biased = (x & kInfinity) >> (kPrecision - 1);
  const uint32_t fraction = x & kFraction;
  if (biased == 0) return {(x & kSign) != 0, fraction, kMinUnit};
  return {(x & kSign) != 0, fraction | kHidden, kMinUnit + static_cast<int>(biased) - 1};
}

constexpr int bit_length(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

uint32_t load_le(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 |
         static_cast<uint32_t>(p[2]) << 16 | static_cast<uint32_t>(p[3]) << 24;
}

void store_le(uint8_t* p, uint32_t x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(x >> (8 * i));
}

}  // namespace

uint32_t round_f32(bool negative, uint64_t significand, int exponent) {
  const uint32_t sign = negative ? kSign : 0;
  if (significand == 0) return sign;

  // The unit of the result: p bits below the leading one, but not below the smallest subnormal.
  int unit = exponent + bit_length(significand) - kPrecision;
  if (unit < kMinUnit) unit = kMinUnit;

  // The result's significand in that unit, and what the rounding leaves over.
  uint64_t kept;
  const int drop = unit - exponent;
  if (drop <= 0) {
    kept = significand << -drop;  // exact: fits in p bits by the choice of unit
  } else if (drop > 64) {
    kept = 0;  // less than half a unit
  } else {
    kept = drop == 64 ? 0 : significand >> drop;
    const uint64_t half = uint64_t{1} << (drop - 1);
    const uint64_t rest = drop == 64 ? significand : significand & ((half << 1) - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  if (kept == uint64_t{1} << kPrecision) {  // the rounding carried into the next binade
    kept >>= 1;
    ++unit;
  }

  if (unit > kMaxUnit) return sign | kInfinity;
  if (kept < kHidden) return sign | static_cast<uint32_t>(kept);  // subnormal or zero
  const uint32_t biased = static_cast<uint32_t>(unit - kMinUnit + 1);
  return sign | biased << (kPrecision - 1) | (static_cast<uint32_t>(kept) & kFraction);
}

uint32_t add_f32(uint32_t a, uint32_t b) {
  if (is_nan_f32(a) || is_nan_f32(b)) return kFp32CanonicalNan;
  const bool a_infinite = (a & ~kSign) == kInfinity;
  const bool b_infinite = (b & ~kSign) == kInfinity;
  if (a_infinite && b_infinite) return a == b ? a : kFp32CanonicalNan;
  if (a_infinite) return a;
  if (b_infinite) return b;

  Exact x = decode(a);
  Exact y = decode(b);
  if (x.exponent < y.exponent) {
    const Exact t = x;
    x = y;
    y = t;
  }

  // Bring both to one exponent. x has at most 24 bits, so 38 more fit. Farther apart, x is normal
  // and y lies below a quarter of its unit after any cancellation; there, y only decides which side
  // of x the exact sum lies on, and one bit at 2^-38 of x's unit does the same.
  constexpr int kReach = 38;
  const int distance = x.exponent - y.exponent;
  if (distance <= kReach) {
    x.significand <<= distance;
    x.exponent = y.exponent;
  } else {
    x.significand <<= kReach;
    x.exponent -= kReach;
    y.significand = y.significand != 0 ? 1 : 0;
  }

  if (x.negative == y.negative) {
    return round_f32(x.negative, x.significand + y.significand, x.exponent);
  }
  // An exact zero of unlike signs is +0 in this rounding direction (6.3).
  if (x.significand == y.significand) return 0;
  if (x.significand > y.significand) {
    return round_f32(x.negative, x.significand - y.significand, x.exponent);
  }
  return round_f32(y.negative, y.significand - x.significand, x.exponent);
}

void sum_f32(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = add_f32(a[i], b[i]);
}

std::vector<uint32_t> sum_f32(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  if (a.size() != b.size()) {
    throw std::invalid_argument("sum_f32: " + std::to_string(a.size()) + " and " +
                                std::to_string(b.size()) + " elements");
  }
  std::vector<uint32_t> out(a.size());
  sum_f32(out.data(), a.data(), b.data(), a.size());
  return out;
}

void accumulate_f32(uint8_t* acc, const uint8_t* in, size_t bytes) {
  if (bytes % 4 != 0) {
    throw std::invalid_argument("accumulate_f32: " + std::to_string(bytes) +
                                " bytes are not whole FP32 elements");
  }
  for (size_t i = 0; i < bytes; i += 4)
    store_le(acc + i, add_f32(load_le(acc + i), load_le(in + i)));
}

}  // namespace ubl::numerics
