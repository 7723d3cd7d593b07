// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// FP32 patterns at which a conversion to a smaller format can go wrong, the same for the golden
// model and for the RTL.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "ubl/numerics/formats.hpp"
#include "ubl/test/fp32_vectors.hpp"
#include "ubl/test/seed.hpp"

namespace ubl::test {

/// Every value of the format, every midpoint of two neighbours, the overflow threshold and the next
/// value beyond the largest, each with its neighbours in FP32, of both signs; and the FP32
/// specials.
inline std::vector<uint32_t> format_boundaries(const numerics::Format& format) {
  std::vector<uint32_t> v = fp32_specials();
  const auto push = [&v](double x) {  // exact in FP32, or beyond its range
    const auto f = static_cast<float>(x);
    uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    for (uint32_t near : {bits - 1, bits, bits + 1}) {
      if (bits == 0 && near == bits - 1) continue;
      v.push_back(near);
      v.push_back(near | 0x80000000u);
    }
  };
  const auto value = [&format](uint32_t x) {
    const numerics::Number n = numerics::decode(format, x);
    double d = static_cast<double>(n.significand);
    for (int i = 0; i < n.exponent; ++i) d *= 2;
    for (int i = 0; i > n.exponent; --i) d /= 2;
    return d;
  };
  const uint32_t step = uint32_t{1} << format.padding_bits;
  for (uint32_t x = 0; x < format.max_finite(); x += step) {
    const double low = value(x);
    push(low);
    push((low + value(x + step)) / 2);
  }
  const double max = value(format.max_finite());
  const double unit = max - value(format.max_finite() - step);
  push(max);
  push(max + unit / 2);
  push(max + unit);
  push(max + unit + unit / 2);
  return v;
}

/// `n` FP32 patterns, half of them in and around the format's range.
inline std::vector<uint32_t> format_random(const numerics::Format& format, uint64_t salt,
                                           size_t n) {
  auto rng = ubl::test::rng(salt);
  std::vector<uint32_t> v(n);
  const int low = 127 + format.min_unit() - 3;
  const auto span = static_cast<uint32_t>(127 + format.bias() + 4 - low);
  for (size_t i = 0; i < n; ++i) {
    auto x = static_cast<uint32_t>(rng());
    if (i % 2 == 0) {
      const int e = low + static_cast<int>(static_cast<uint32_t>(rng() >> 32) % span);
      x = (x & 0x807FFFFFu) | static_cast<uint32_t>(e < 0 ? 0 : e > 255 ? 255 : e) << 23;
    }
    v[i] = x;
  }
  return v;
}

}  // namespace ubl::test
