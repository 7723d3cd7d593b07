// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The binary floating-point formats of the card, and exact conversion between them: one description
// per format, one routine that takes a pattern apart and one that rounds an exact number into a
// format. From the texts of IEEE 754-2019 (clauses 3 and 4.3.1) and of OCP OFP8 revision 1.0.
//
// Everywhere: one rounding, from the exact value: to nearest with ties to even, or stochastic where
// it is asked for; subnormals kept; signed zeros. A NaN of any sign and payload becomes the one
// canonical NaN of the target format. Integer arithmetic only, so no result depends on the host's
// floating-point unit or libm.
//
//   format  sign.exponent.fraction  bias  largest      smallest  infinity    canonical NaN
//   FP32    1.8.23                  127   ~2^128       2^-149    0x7F800000  0x7FC00000
//   TF32    1.8.10 (+ 13 zeros)     127   ~2^128       2^-136    0x7F800000  0x7FC00000
//   BF16    1.8.7                   127   ~2^128       2^-133    0x7F80      0x7FC0
//   FP16    1.5.10                   15   65504        2^-24     0x7C00      0x7E00
//   E5M2    1.5.2                    15   57344        2^-16     0x7C        0x7E
//   E4M3    1.4.3                     7   448          2^-9      none        0x7F (0xFF: also NaN)
//
// A pattern is held in the low bits of a uint32_t; TF32 is its 19 bits at the top of a 32-bit word,
// so a TF32 pattern is the FP32 pattern of the same value. A pattern with a bit outside its format
// (above its width, or among the 13 low bits of TF32) is a caller's error: std::invalid_argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ubl::numerics {

/// What a finite number beyond the largest of the target becomes, that is, one which rounds to a
/// larger magnitude as if the exponent had no upper bound; and what an infinity becomes. (OFP8 1.0,
/// saturating and non-saturating conversion.) A NaN stays NaN in both.
enum class Overflow : uint8_t {
  kNonFinite,  ///< Infinity of that sign; the canonical NaN in E4M3, which has none.
  kSaturate,   ///< The largest finite number of that sign, for infinities too.
};

/// Which of its two neighbours in the target a number becomes that lies between them. Magnitudes
/// are rounded; the sign is kept.
struct Rounding {
  /// False: the nearest one, of two equally near the even one. True: the larger magnitude if the
  /// fraction of the step between the neighbours that lies below the number, cut to 32 bits, plus
  /// random / 2^32 reaches 1. So with all `random` equally likely the probability of the larger
  /// magnitude is the fraction, less at most 2^-32, and an exact number never changes. (The rule of
  /// this project; it is what an adder below the kept bits does.)
  bool stochastic;
  uint32_t random;
};
inline constexpr Rounding kNearestEven = {false, 0};
/// Stochastic with these random bits, which each element needs its own of (random.hpp).
constexpr Rounding stochastic(uint32_t random) { return {true, random}; }

/// A format of a sign, a biased exponent and a trailing significand field (the fraction), most
/// significant first, followed by `padding_bits` zeros.
struct Format {
  const char* name;
  int exponent_bits;
  int fraction_bits;
  int padding_bits;
  bool has_infinity;  ///< False: the largest exponent holds numbers, but for the all-ones NaN.
  uint32_t canonical_nan;

  /// Bits of the significand, with the implicit one.
  constexpr int precision() const { return fraction_bits + 1; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// Bits of a pattern, padding included.
  constexpr int width() const { return 1 + exponent_bits + fraction_bits + padding_bits; }
  /// Bytes of an element in memory (little-endian).
  constexpr int bytes() const { return width() / 8; }
  /// Exponent of the smallest subnormal: 2^min_unit.
  constexpr int min_unit() const { return 1 - bias() - fraction_bits; }
  constexpr uint32_t sign_bit() const { return uint32_t{1} << (width() - 1); }
  /// The pattern of all bits that may be one.
  constexpr uint32_t mask() const {
    return (sign_bit() | (sign_bit() - 1)) & ~((uint32_t{1} << padding_bits) - 1);
  }
  /// All ones in the exponent, zero in the fraction: infinity, where there is one.
  constexpr uint32_t infinity() const {
    return ((uint32_t{1} << exponent_bits) - 1) << (fraction_bits + padding_bits);
  }
  /// The largest finite number.
  constexpr uint32_t max_finite() const {
    const uint32_t beyond = has_infinity ? infinity() : mask() & ~sign_bit();
    return beyond - (uint32_t{1} << padding_bits);
  }
};

inline constexpr Format kFp32 = {"FP32", 8, 23, 0, true, 0x7FC00000};
inline constexpr Format kTf32 = {"TF32", 8, 10, 13, true, 0x7FC00000};
inline constexpr Format kBf16 = {"BF16", 8, 7, 0, true, 0x7FC0};
inline constexpr Format kFp16 = {"FP16", 5, 10, 0, true, 0x7E00};
inline constexpr Format kE5m2 = {"E5M2", 5, 2, 0, true, 0x7E};
inline constexpr Format kE4m3 = {"E4M3", 4, 3, 0, false, 0x7F};

/// What a pattern stands for: if finite, (-1)^negative x significand x 2^exponent, exactly.
struct Number {
  enum class Kind : uint8_t { kFinite, kInfinity, kNan };
  Kind kind;
  bool negative;
  uint64_t significand;
  int exponent;
};

namespace detail {
/// Throws std::invalid_argument: "<format>: 0x... is not a pattern of this format".
[[noreturn]] void bad_pattern(const Format& format, uint32_t x);

constexpr int bit_length(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

/// significand x 2^-drop as an integer. A negative drop must not shift ones out.
constexpr uint64_t round_shift(uint64_t significand, int64_t drop, Rounding rounding) {
  if (drop <= 0) return significand << -drop;
  uint64_t kept = drop < 64 ? significand >> drop : 0;
  if (rounding.stochastic) {
    uint64_t fraction = 0;  // its leading 32 bits
    if (drop <= 32) {
      fraction = significand << (32 - drop);
    } else if (drop < 96) {
      fraction = significand >> (drop - 32);
    }
    if ((fraction & 0xFFFFFFFF) + rounding.random > 0xFFFFFFFF) ++kept;
  } else if (drop <= 64) {
    const uint64_t half = uint64_t{1} << (drop - 1);
    const uint64_t rest = significand & (half | (half - 1));
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }  // else less than half a unit
  return kept;
}
}  // namespace detail

/// Takes a pattern apart. Throws std::invalid_argument if it has a bit outside the format.
constexpr Number decode(const Format& format, uint32_t x) {
  if ((x & ~format.mask()) != 0) detail::bad_pattern(format, x);
  const bool negative = (x & format.sign_bit()) != 0;
  const uint32_t magnitude = x & ~format.sign_bit();
  if (magnitude > format.max_finite()) {
    const bool infinite = format.has_infinity && magnitude == format.infinity();
    return {infinite ? Number::Kind::kInfinity : Number::Kind::kNan, negative, 0, 0};
  }
  const uint32_t fields = magnitude >> format.padding_bits;
  const uint32_t hidden = uint32_t{1} << format.fraction_bits;
  const uint32_t biased = fields >> format.fraction_bits;
  const uint32_t fraction = fields & (hidden - 1);
  if (biased == 0) return {Number::Kind::kFinite, negative, fraction, format.min_unit()};
  return {Number::Kind::kFinite, negative, fraction | hidden,
          format.min_unit() + static_cast<int>(biased) - 1};
}

/// The pattern that (-1)^negative x significand x 2^exponent rounds to, for any exponent; the last
/// step of every operation. significand = 0 gives a signed zero.
constexpr uint32_t round_to(const Format& format, bool negative, uint64_t significand, int exponent,
                            Overflow overflow, Rounding rounding = kNearestEven) {
  const uint32_t sign = negative ? format.sign_bit() : 0;
  if (significand == 0) return sign;

  // The unit of the result: `precision` bits below the leading one, but not below the smallest
  // subnormal.
  int64_t unit = int64_t{exponent} + detail::bit_length(significand) - format.precision();
  if (unit < format.min_unit()) unit = format.min_unit();

  // The result's significand in that unit. Where the unit is the finer one, it fits in `precision`
  // bits by the choice of unit.
  const uint64_t kept = detail::round_shift(significand, unit - exponent, rounding);

  // The leading bit of a normal significand counts 1 into the exponent field, and so does a carry
  // of the rounding into the next binade; a subnormal has no such bit and exponent field 0.
  const uint64_t fields =
      (static_cast<uint64_t>(unit - format.min_unit()) << format.fraction_bits) + kept;
  if (fields > format.max_finite() >> format.padding_bits) {
    if (overflow == Overflow::kSaturate) return sign | format.max_finite();
    return format.has_infinity ? sign | format.infinity() : format.canonical_nan;
  }
  return sign | static_cast<uint32_t>(fields) << format.padding_bits;
}

/// The pattern that `x` rounds to, infinities and NaN included.
constexpr uint32_t encode(const Format& format, const Number& x, Overflow overflow,
                          Rounding rounding = kNearestEven) {
  switch (x.kind) {
    case Number::Kind::kNan:
      return format.canonical_nan;
    case Number::Kind::kInfinity:
      if (!format.has_infinity && overflow == Overflow::kNonFinite) return format.canonical_nan;
      return (x.negative ? format.sign_bit() : 0) |
             (overflow == Overflow::kSaturate ? format.max_finite() : format.infinity());
    case Number::Kind::kFinite:
      break;
  }
  return round_to(format, x.negative, x.significand, x.exponent, overflow, rounding);
}

/// `x`, a pattern of `from`, in the format `to`. Throws std::invalid_argument if it has a bit
/// outside `from`. With from = to it canonicalises NaN and changes nothing else, unless kSaturate
/// turns an infinity into the largest finite number.
constexpr uint32_t convert(const Format& to, const Format& from, uint32_t x, Overflow overflow,
                           Rounding rounding = kNearestEven) {
  return encode(to, decode(from, x), overflow, rounding);
}

// Every format to FP32: exact.
constexpr uint32_t f32_from_fp16(uint16_t x) {
  return convert(kFp32, kFp16, x, Overflow::kNonFinite);
}
constexpr uint32_t f32_from_bf16(uint16_t x) {
  return convert(kFp32, kBf16, x, Overflow::kNonFinite);
}
/// Throws std::invalid_argument unless the 13 low bits are zero.
constexpr uint32_t f32_from_tf32(uint32_t x) {
  return convert(kFp32, kTf32, x, Overflow::kNonFinite);
}
constexpr uint32_t f32_from_e5m2(uint8_t x) {
  return convert(kFp32, kE5m2, x, Overflow::kNonFinite);
}
constexpr uint32_t f32_from_e4m3(uint8_t x) {
  return convert(kFp32, kE4m3, x, Overflow::kNonFinite);
}

// FP32 to every format: one rounding. FP16, BF16 and TF32 overflow to infinity, as IEEE 754 says.
constexpr uint16_t fp16_from_f32(uint32_t x) {
  return static_cast<uint16_t>(convert(kFp16, kFp32, x, Overflow::kNonFinite));
}
constexpr uint16_t bf16_from_f32(uint32_t x) {
  return static_cast<uint16_t>(convert(kBf16, kFp32, x, Overflow::kNonFinite));
}
constexpr uint32_t tf32_from_f32(uint32_t x) {
  return convert(kTf32, kFp32, x, Overflow::kNonFinite);
}
constexpr uint8_t e5m2_from_f32(uint32_t x, Overflow overflow) {
  return static_cast<uint8_t>(convert(kE5m2, kFp32, x, overflow));
}
constexpr uint8_t e4m3_from_f32(uint32_t x, Overflow overflow) {
  return static_cast<uint8_t>(convert(kE4m3, kFp32, x, overflow));
}

/// Converts n elements in little-endian memory of any alignment: `in` holds n x from.bytes(), `out`
/// n x to.bytes(). They may be the same buffer if out needs no more bytes than in, and must not
/// overlap otherwise. Throws std::invalid_argument at an element with a bit outside `from` (TF32
/// only), with the elements before it converted.
void convert_buffer(const Format& to, uint8_t* out, const Format& from, const uint8_t* in, size_t n,
                    Overflow overflow);

/// The same for a whole buffer; also throws std::invalid_argument if its size is not a multiple of
/// from.bytes().
std::vector<uint8_t> convert_buffer(const Format& to, const Format& from,
                                    const std::vector<uint8_t>& in, Overflow overflow);

}  // namespace ubl::numerics
