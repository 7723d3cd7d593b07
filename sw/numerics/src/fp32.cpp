// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/numerics/fp32.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace ubl::numerics {
namespace {

uint32_t load_le(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 |
         static_cast<uint32_t>(p[2]) << 16 | static_cast<uint32_t>(p[3]) << 24;
}

void store_le(uint8_t* p, uint32_t x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(x >> (8 * i));
}

using Kind = Number::Kind;

constexpr Number kNan = {Kind::kNan, false, 0, 0};

uint32_t encode_f32(const Number& x) { return encode(kFp32, x, Overflow::kNonFinite); }

// x times y, exactly.
Number product(const Number& x, const Number& y) {
  if (x.kind == Kind::kNan || y.kind == Kind::kNan) return kNan;
  const bool negative = x.negative != y.negative;
  if (x.kind == Kind::kFinite && y.kind == Kind::kFinite) {
    return {Kind::kFinite, negative, x.significand * y.significand, x.exponent + y.exponent};
  }
  const auto zero = [](const Number& n) { return n.kind == Kind::kFinite && n.significand == 0; };
  if (zero(x) || zero(y)) return kNan;  // infinity times zero
  return {Kind::kInfinity, negative, 0, 0};
}

// The leading one moved to bit 61.
void normalise(Number& x) {
  const int shift = 62 - detail::bit_length(x.significand);
  x.significand <<= shift;
  x.exponent -= shift;
}

// x plus y, rounded once. Their significands have at most 48 bits: a product of two of 24.
uint32_t rounded_sum(const Format& format, Number x, Number y) {
  const auto rounded = [&format](bool negative, uint64_t significand, int exponent) {
    return round_to(format, negative, significand, exponent, Overflow::kNonFinite);
  };
  const auto encoded = [&format](const Number& n) {
    return encode(format, n, Overflow::kNonFinite);
  };
  if (x.kind == Kind::kNan || y.kind == Kind::kNan) return format.canonical_nan;
  if (x.kind == Kind::kInfinity && y.kind == Kind::kInfinity) {
    return encoded(x.negative == y.negative ? x : kNan);
  }
  if (x.kind == Kind::kInfinity) return encoded(x);
  if (y.kind == Kind::kInfinity) return encoded(y);

  // A sum of zeros of unlike signs is +0 in this rounding direction (6.3).
  if (x.significand == 0 && y.significand == 0) return rounded(x.negative && y.negative, 0, 0);
  if (x.significand == 0) return encoded(y);
  if (y.significand == 0) return encoded(x);

  normalise(x);
  normalise(y);
  if (x.exponent < y.exponent) std::swap(x, y);

  // Bring y to x's exponent. It ends in at least 14 zeros, so a distance up to 14 loses nothing.
  // Farther apart, the sum keeps at least 60 bits after any cancellation; whatever is shifted out
  // then only decides on which side of a number of 60 bits the exact sum lies, and the last bit set
  // says the same.
  const int distance = x.exponent - y.exponent;
  if (distance > 63) {
    y.significand = 1;
  } else {
    const uint64_t lost = y.significand & ((uint64_t{1} << distance) - 1);
    y.significand = y.significand >> distance | (lost != 0 ? 1 : 0);
  }

  if (x.negative == y.negative) {
    return rounded(x.negative, x.significand + y.significand, x.exponent);
  }
  if (x.significand == y.significand) return 0;  // +0, as above
  if (x.significand > y.significand) {
    return rounded(x.negative, x.significand - y.significand, x.exponent);
  }
  return rounded(y.negative, y.significand - x.significand, x.exponent);
}

}  // namespace

uint32_t round_f32(bool negative, uint64_t significand, int exponent) {
  return round_to(kFp32, negative, significand, exponent, Overflow::kNonFinite);
}

uint32_t add(const Format& format, uint32_t a, uint32_t b) {
  return rounded_sum(format, decode(format, a), decode(format, b));
}

uint32_t add_f32(uint32_t a, uint32_t b) { return add(kFp32, a, b); }

uint32_t mul_f32(uint32_t a, uint32_t b) {
  return encode_f32(product(decode(kFp32, a), decode(kFp32, b)));
}

uint32_t fma_f32(uint32_t a, uint32_t b, uint32_t c) { return fma_f32(kFp32, a, b, c); }

uint32_t fma_f32(const Format& multiplicands, uint32_t a, uint32_t b, uint32_t c) {
  return rounded_sum(kFp32, product(decode(multiplicands, a), decode(multiplicands, b)),
                     decode(kFp32, c));
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
