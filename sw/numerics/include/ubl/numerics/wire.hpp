// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Wire formats: what a message of FP32 elements becomes on the link, and back. Casts to smaller
// floats, two block formats of 4-bit integers with a shared power of two as scale, and a list of
// the large elements; each with or without error feedback. The layouts and rules are this project's
// own; sw/numerics/README.md, "Wire formats", has them in full, with pictures.
//
//   format         block     bytes of it  FP32 : wire
//   none           1         4            1     bits as they are, NaN too
//   fp16, bf16     1         2            2     casts (formats.hpp)
//   e4m3, e5m2     1         1            4     casts
//   int4           128       68           7.53  4 scales of 32 elements each
//   sparse8        64        32           8     2 of each 4 elements, 1 scale
//   topk           64        8..264       0.97..32  elements of at least a threshold
//
// Elements are FP32 patterns; multi-byte fields are little-endian. Block k of a message holds its
// elements from k x block on, whatever packet carries it; the last block is filled up with +0, and
// its bytes are all sent. Encoding depends on the elements, the options and the elements' indices
// in the message only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ubl/numerics/formats.hpp"

namespace ubl::numerics {

/// The values are stable.
enum class WireFormat : uint8_t {
  kNone = 0,
  kFp16 = 1,
  kBf16 = 2,
  kE4m3 = 3,
  kE5m2 = 4,
  kInt4 = 5,
  kSparse8 = 6,
  kTopk = 7,
};

struct WireOptions {
  WireFormat format = WireFormat::kNone;
  /// Of casts, int4 and sparse8: stochastic with rounding_bits(seed, index in the message), or to
  /// nearest with ties to even.
  bool stochastic = false;
  uint32_t seed = 0;
  /// Of casts.
  Overflow overflow = Overflow::kSaturate;
  /// Of topk: an FP32 pattern above zero, infinity at most. Elements of at least this magnitude are
  /// sent.
  uint32_t threshold = 0;
};

/// "none", "fp16", "bf16", "e4m3", "e5m2", "int4", "sparse8", "topk". Throws std::invalid_argument
/// for another value, as all functions below do.
const char* wire_name(WireFormat format);

/// FP32 elements of a block: the smallest piece of a message with bytes of its own.
size_t wire_block_elements(WireFormat format);
/// Bytes of a block; of topk the most that it can have.
size_t wire_block_bytes(WireFormat format);

/// Bytes of a message of n elements; of topk the most that it can have.
size_t wire_bytes(WireFormat format, size_t n);

/// FP32 elements in a packet of at most `payload_bytes` that holds whole blocks; of topk the number
/// that fits whatever the elements are. 0 if not even one block fits.
size_t wire_elements_that_fit(WireFormat format, size_t payload_bytes);

/// n elements, of which x[0] is the element `first` of its message, a multiple of the block.
/// Indices count modulo 2^32. Throws std::invalid_argument for a `first` inside a block, and for
/// topk with a bad threshold.
std::vector<uint8_t> encode_wire(const WireOptions& options, const uint32_t* x, size_t n,
                                 uint32_t first = 0);
std::vector<uint8_t> encode_wire(const WireOptions& options, const std::vector<uint32_t>& x,
                                 uint32_t first = 0);

/// What is wrong with bytes that no encoder makes.
enum class Malformed : uint8_t {
  kNo,
  kLength,    ///< Not the bytes of `count` elements.
  kReserved,  ///< sparse8: a reserved byte is not zero. topk: a mask bit beyond `count`.
  kMask,      ///< sparse8: a mask without exactly two ones.
};

struct Decoded {
  std::vector<uint32_t> elements;  ///< `count`, whatever the bytes.
  Malformed malformed;
  size_t offset;  ///< Of the first byte that is wrong; for kLength, where the bytes should have
                  ///< gone on or ended. 0 if none is.
};

/// `count` elements of `size` bytes; never fails. Malformed bytes have a defined meaning too:
///   length of all but topk    every element is +0
///   length of topk            from the first group on whose bytes are not all there: +0
///   too many bytes for topk   not looked at
///   reserved bytes            not looked at
///   mask of sparse8           the lowest one takes the first value, the next one the second,
///                             elements of further ones are +0; a value without a one is not used
///   mask bits beyond count    their values are skipped
Decoded decode_wire_any(WireFormat format, const uint8_t* bytes, size_t size, size_t count);

/// The same; throws std::invalid_argument for malformed bytes, with format, offset and reason.
std::vector<uint32_t> decode_wire(WireFormat format, const uint8_t* bytes, size_t size,
                                  size_t count);
std::vector<uint32_t> decode_wire(WireFormat format, const std::vector<uint8_t>& bytes,
                                  size_t count);

/// Encoding with error feedback. For each element
///
///     x' = x + residual                        FP32 sum
///     the bytes are those of x'
///     residual = x' - what the bytes decode to     one FP32 subtraction; +0 if either is NaN or
///                                                  infinite
///
/// The subtraction is exact, so that nothing is ever lost, for none, topk, and with rounding to
/// nearest for int4, sparse8 and casts that do not overflow. Stochastic rounding adds one case that
/// is not: less than half a unit of the target that was rounded up to a whole one; there and after
/// saturation the residual is the difference rounded to nearest. wire.cpp has the argument.
std::vector<uint8_t> encode_wire_feedback(const WireOptions& options, const uint32_t* x,
                                          uint32_t* residual, size_t n, uint32_t first = 0);
/// Throws std::invalid_argument if the lengths differ.
std::vector<uint8_t> encode_wire_feedback(const WireOptions& options,
                                          const std::vector<uint32_t>& x,
                                          std::vector<uint32_t>& residual, uint32_t first = 0);

// The parts of int4 and sparse8.

/// Scale code of a block that holds a NaN or an infinity: all its elements are NaN.
inline constexpr uint8_t kScaleNan = 0xFF;
/// A scale code c stands for 2^(c - kScaleBias), c <= 254.
inline constexpr int kScaleBias = 128;

/// The code of a block whose largest magnitude is the FP32 pattern `max` (no sign): the smallest
/// scale in which it rounds to 7 at most, but not less than 2^-128, so 0 for a block of zeros too;
/// kScaleNan if it is infinite or NaN. With stochastic rounding: in which it is 7 at most.
constexpr uint8_t scale_code(uint32_t max, bool stochastic) {
  const uint32_t exponent = max >> 23;
  const uint32_t fraction = max & 0x7FFFFF;
  if (exponent == 0xFF) return kScaleNan;
  if (exponent == 0) return 0;  // below 4 x 2^-128
  // max = 1.fraction x 4 x 2^(exponent - 1 - kScaleBias). 1.fraction x 4 rounds to 8 from 7.5 on,
  // which is a tie; and may do so above 7.
  const bool up = stochastic ? fraction > 0x600000 : fraction >= 0x700000;
  return static_cast<uint8_t>(exponent - 1 + (up ? 1 : 0));
}

/// The nibble of an element of such a block: the two's complement of |x| / 2^(code - kScaleBias)
/// rounded, with x's sign; 0 if the block is NaN.
constexpr uint8_t quantise(uint32_t x, uint8_t code, Rounding rounding) {
  if (code == kScaleNan) return 0;
  const Number n = decode(kFp32, x);
  const auto q = static_cast<uint32_t>(
      detail::round_shift(n.significand, code - kScaleBias - n.exponent, rounding));
  return static_cast<uint8_t>((n.negative ? 0 - q : q) & 0xF);
}

/// nibble x 2^(code - kScaleBias), from -8 to 7, in FP32: exact, but +-2^128 and above become the
/// largest number (codes 254 with 4 and more, 253 with -8). +0 for 0; NaN if the block is.
constexpr uint32_t dequantise(uint8_t nibble, uint8_t code) {
  if (code == kScaleNan) return kFp32.canonical_nan;
  const bool negative = (nibble & 8) != 0;
  const uint64_t magnitude = negative ? 16u - (nibble & 0xFu) : nibble & 0xFu;
  return round_to(kFp32, negative, magnitude, code - kScaleBias, Overflow::kSaturate);
}

}  // namespace ubl::numerics
