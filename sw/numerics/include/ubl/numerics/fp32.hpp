// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Golden FP32 arithmetic (add, multiply, fused multiply-add): IEEE 754-2019 binary32, round to
// nearest with ties to even, subnormals kept, infinities, signed zeros, and one canonical NaN.
// Integer arithmetic only, so the result does not depend on the host's floating-point unit, its
// rounding mode, or compiler flags.
//
// Values are bit patterns (uint32_t); memory holds them little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ubl/numerics/formats.hpp"

namespace ubl::numerics {

/// The NaN that every operation returns.
inline constexpr uint32_t kFp32CanonicalNan = kFp32.canonical_nan;

/// True for any NaN pattern.
constexpr bool is_nan_f32(uint32_t x) { return (x & 0x7FFFFFFFu) > 0x7F800000u; }

/// The canonical NaN for any NaN, everything else unchanged.
constexpr uint32_t canonicalise_f32(uint32_t x) { return is_nan_f32(x) ? kFp32CanonicalNan : x; }

/// The pattern nearest to (-1)^negative x significand x 2^exponent (ties to even): an infinity from
/// 2^128 - 2^103 upwards, a subnormal or zero below 2^-126. significand = 0 gives a signed zero.
uint32_t round_f32(bool negative, uint64_t significand, int exponent);

/// a + b.
uint32_t add_f32(uint32_t a, uint32_t b);

/// a + b in any format: the exact sum, rounded once to that format; beyond its range an infinity
/// (E4M3: NaN). Throws std::invalid_argument if a or b has a bit outside the format.
uint32_t add(const Format& format, uint32_t a, uint32_t b);

/// a x b. Infinity times zero is NaN.
uint32_t mul_f32(uint32_t a, uint32_t b);

/// a x b + c, rounded once. Infinity times zero is NaN, whatever c.
uint32_t fma_f32(uint32_t a, uint32_t b, uint32_t c);

/// The same with a and b in another format (BF16, TF32, FP16, FP8) and c in FP32: the step of every
/// multiply-accumulate of the card. The product is exact before it meets c, also where it lies
/// beyond FP32's range: 2^127 x 2 - 2^127 is 2^127. Throws std::invalid_argument if a or b has a
/// bit outside the format.
uint32_t fma_f32(const Format& multiplicands, uint32_t a, uint32_t b, uint32_t c);

/// out[i] = a[i] + b[i] for i < n. out may be a or b; partial overlap is not allowed.
void sum_f32(uint32_t* out, const uint32_t* a, const uint32_t* b, size_t n);

/// Element-wise sum. Throws std::invalid_argument if the lengths differ.
std::vector<uint32_t> sum_f32(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

/// The same over raw little-endian memory of any alignment: acc[i] = acc[i] + in[i] for each of the
/// bytes / 4 elements. Throws std::invalid_argument if bytes is not a multiple of 4.
void accumulate_f32(uint8_t* acc, const uint8_t* in, size_t bytes);

}  // namespace ubl::numerics
