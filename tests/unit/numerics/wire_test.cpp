// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The wire formats. Block formats are checked against a second implementation, below, written from
// the rules in plain arithmetic of long doubles: with 64 bits of significand and 15 of exponent
// every quotient here is exact. Residuals are checked against MPFR.
#include "ubl/numerics/wire.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpfr_oracle.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/numerics/random.hpp"
#include "ubl/test/format_vectors.hpp"

namespace {

using namespace ubl::numerics;
using ubl::test::Mpfr;
using ubl::test::to_bits;
using ubl::test::to_float;
using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

constexpr uint32_t kNan = 0x7FC00000;
constexpr uint32_t kMax = 0x7F7FFFFF;
const WireFormat kAll[] = {WireFormat::kNone,    WireFormat::kFp16, WireFormat::kBf16,
                           WireFormat::kE4m3,    WireFormat::kE5m2, WireFormat::kInt4,
                           WireFormat::kSparse8, WireFormat::kTopk};
const WireFormat kCasts[] = {WireFormat::kFp16, WireFormat::kBf16, WireFormat::kE4m3,
                             WireFormat::kE5m2};

const Format& cast_of(WireFormat f) {
  return f == WireFormat::kFp16   ? kFp16
         : f == WireFormat::kBf16 ? kBf16
         : f == WireFormat::kE4m3 ? kE4m3
                                  : kE5m2;
}

WireOptions options(WireFormat format, bool stochastic = false, uint32_t seed = 0) {
  WireOptions o;
  o.format = format;
  o.stochastic = stochastic;
  o.seed = seed;
  o.threshold = 0x3F800000;
  return o;
}

bool finite(uint32_t x) { return (x & 0x7FFFFFFF) < 0x7F800000; }

// --- The second implementation ------------------------------------------------------------------

long double magnitude(uint32_t x) { return to_float(x & 0x7FFFFFFF); }

long double nearest_even(long double x) {
  const long double low = std::floor(x);
  if (x - low != 0.5L) return std::floor(x + 0.5L);
  return std::fmod(low, 2.0L) == 0 ? low : low + 1;
}

int ref_exponent(const Words& block, bool stochastic) {
  long double max = 0;
  for (uint32_t x : block) max = std::max(max, magnitude(x));
  int e = -128;
  while (stochastic ? max / std::ldexp(1.0L, e) > 7 : nearest_even(max / std::ldexp(1.0L, e)) > 7)
    ++e;
  return e;
}

unsigned ref_nibble(uint32_t x, int e, const WireOptions& o, uint32_t index) {
  const long double v = magnitude(x) / std::ldexp(1.0L, e);
  long double q = nearest_even(v);
  if (o.stochastic) {
    const long double part = std::floor((v - std::floor(v)) * 0x1p32L);
    q = std::floor(v) + (part + rounding_bits(o.seed, index) >= 0x1p32L ? 1 : 0);
  }
  const int value = std::signbit(to_float(x)) ? -static_cast<int>(q) : static_cast<int>(q);
  return static_cast<unsigned>(value < 0 ? value + 16 : value);
}

bool ref_has_nan(const Words& block) { return !std::all_of(block.begin(), block.end(), finite); }

Bytes ref_int4(const WireOptions& o, Words x) {
  x.resize((x.size() + 127) / 128 * 128);
  Bytes out;
  for (size_t super = 0; super < x.size(); super += 128) {
    Bytes codes;
    std::vector<unsigned> nibbles;
    for (size_t begin = super; begin < super + 128; begin += 32) {
      const auto at = x.begin() + static_cast<std::ptrdiff_t>(begin);
      const Words block(at, at + 32);
      const bool nan = ref_has_nan(block);
      const int e = nan ? 0 : ref_exponent(block, o.stochastic);
      codes.push_back(nan ? 0xFF : static_cast<uint8_t>(e + 128));
      for (size_t i = 0; i < 32; ++i) {
        nibbles.push_back(nan ? 0 : ref_nibble(block[i], e, o, static_cast<uint32_t>(begin + i)));
      }
    }
    for (size_t i = 0; i < 128; i += 2)
      out.push_back(static_cast<uint8_t>(nibbles[i] + 16 * nibbles[i + 1]));
    out.insert(out.end(), codes.begin(), codes.end());
  }
  return out;
}

Bytes ref_sparse8(const WireOptions& o, Words x) {
  x.resize((x.size() + 63) / 64 * 64);
  Bytes out;
  for (size_t begin = 0; begin < x.size(); begin += 64) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(begin);
    const Words block(at, at + 64);
    const bool nan = ref_has_nan(block);
    const int e = nan ? 0 : ref_exponent(block, o.stochastic);
    std::vector<unsigned> masks;
    for (size_t group = 0; group < 16; ++group) {
      std::vector<size_t> order = {4 * group, 4 * group + 1, 4 * group + 2, 4 * group + 3};
      if (!nan) {
        std::stable_sort(order.begin(), order.end(), [&block](size_t a, size_t b) {
          return magnitude(block[a]) > magnitude(block[b]);
        });
      }
      const size_t i = std::min(order[0], order[1]), k = std::max(order[0], order[1]);
      unsigned pair = 0;
      if (!nan) {
        pair = ref_nibble(block[i], e, o, static_cast<uint32_t>(begin + i)) +
               16 * ref_nibble(block[k], e, o, static_cast<uint32_t>(begin + k));
      }
      out.push_back(static_cast<uint8_t>(pair));
      masks.push_back(1u << (i % 4) | 1u << (k % 4));
    }
    for (size_t g = 0; g < 16; g += 2)
      out.push_back(static_cast<uint8_t>(masks[g] + 16 * masks[g + 1]));
    out.push_back(nan ? 0xFF : static_cast<uint8_t>(e + 128));
    out.insert(out.end(), 7, 0);
  }
  return out;
}

Bytes ref_topk(const WireOptions& o, Words x) {
  x.resize((x.size() + 63) / 64 * 64);
  Bytes out;
  for (size_t begin = 0; begin < x.size(); begin += 64) {
    Bytes mask(8), values;
    for (size_t i = 0; i < 64; ++i) {
      const float f = to_float(x[begin + i]);
      if (!std::isnan(f) && !(std::fabs(f) >= to_float(o.threshold))) continue;
      mask[i / 8] = static_cast<uint8_t>(mask[i / 8] + (1 << i % 8));
      const uint32_t bits = to_bits(f);
      for (int k = 0; k < 4; ++k) values.push_back(static_cast<uint8_t>(bits >> (8 * k)));
    }
    out.insert(out.end(), mask.begin(), mask.end());
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

uint32_t ref_value(unsigned nibble, unsigned code) {
  if (code == 0xFF) return kNan;
  const int q = nibble < 8 ? static_cast<int>(nibble) : static_cast<int>(nibble) - 16;
  const long double v = std::ldexp(static_cast<long double>(q), static_cast<int>(code) - 128);
  if (std::fabs(v) >= 0x1p128L) return q < 0 ? kMax | 0x80000000u : kMax;
  return to_bits(static_cast<float>(v));
}

Words ref_decode(WireFormat format, const Bytes& bytes, size_t count) {
  Words x;
  for (size_t i = 0; i < count; ++i) {
    if (format == WireFormat::kInt4) {
      const uint8_t* block = bytes.data() + i / 128 * 68;
      x.push_back(
          ref_value(block[i % 128 / 2] / (i % 2 != 0 ? 16 : 1) % 16, block[64 + i % 128 / 32]));
    } else {
      const uint8_t* block = bytes.data() + i / 64 * 32;
      const size_t group = i % 64 / 4;
      const unsigned mask = block[16 + group / 2] / (group % 2 != 0 ? 16 : 1) % 16;
      size_t before = 0;
      for (size_t k = 0; k < i % 4; ++k) before += mask >> k & 1;
      const bool kept = (mask >> (i % 4) & 1) != 0 && before < 2;
      const unsigned nibble = block[group] / (before != 0 ? 16 : 1) % 16;
      x.push_back(block[24] == 0xFF ? kNan : kept ? ref_value(nibble, block[24]) : 0);
    }
  }
  return x;
}

// --- Messages -----------------------------------------------------------------------------------

// A message of pieces of 32 elements with a character each.
Words message(std::mt19937_64& rng, size_t n, bool with_nan = true) {
  Words v;
  const auto bits = [&rng] { return static_cast<uint32_t>(rng() >> 16); };
  const auto pack = [](uint32_t exponent, uint32_t low) {
    return (low & 0x807FFFFF) | std::min(exponent, 254u) << 23;
  };
  while (v.size() < n) {
    const uint32_t kind = bits() % (with_nan ? 9 : 8);
    const uint32_t e = bits() % 255;
    const size_t begin = v.size();
    for (int i = 0; i < 32; ++i) {
      const uint32_t b = bits();
      switch (kind) {
        case 0:  // one binade and those below it
          v.push_back(pack(e - std::min(e, bits() % 6), b));
          break;
        case 1:  // any finite number
          v.push_back(pack(bits() % 255, b));
          break;
        case 2: {  // eighths of scales, and their neighbours: ties, 7, 7.5
          const auto f =
              to_bits(std::ldexp(static_cast<float>(bits() % 61) / 8, static_cast<int>(e) - 128));
          const uint32_t near = f + bits() % 3 - 1;
          v.push_back(finite(near) ? near | (b & 0x80000000u) : f);
          break;
        }
        case 3:  // zeros
          v.push_back(bits() % 16 == 0 ? 0x80000000u : 0);
          break;
        case 4:  // subnormals and what is near
          v.push_back(pack(bits() % 5, b));
          break;
        case 5:  // the largest
          v.push_back(pack(251 + bits() % 4, b | (bits() % 2 != 0 ? 0x700000u : 0)));
          break;
        case 6:  // equal magnitudes
          v.push_back(pack(e, b % 3 << 21 | (b & 0x80000000u)));
          break;
        case 7: {  // a gradient: many small, few large
          const uint32_t small = bits() % 32;
          v.push_back(pack(127 - std::min(small, 30u), b));
          break;
        }
        default:  // with NaN or infinity
          v.push_back(pack(e, b));
      }
    }
    if (kind == 8) {
      const uint32_t special[] = {0x7F800000, 0xFF800000, kNan, 0x7F800001, 0xFFFFFFFF};
      v[begin + bits() % 32] = special[bits() % 5];
    }
  }
  v.resize(n);
  return v;
}

std::string at(size_t i) { return "element " + std::to_string(i); }

// --- Tests --------------------------------------------------------------------------------------

TEST(Wire, Sizes) {
  struct {
    WireFormat format;
    const char* name;
    size_t elements, bytes, in_4096;
  } const kSizes[] = {
      {WireFormat::kNone, "none", 1, 4, 1024},         {WireFormat::kFp16, "fp16", 1, 2, 2048},
      {WireFormat::kBf16, "bf16", 1, 2, 2048},         {WireFormat::kE4m3, "e4m3", 1, 1, 4096},
      {WireFormat::kE5m2, "e5m2", 1, 1, 4096},         {WireFormat::kInt4, "int4", 128, 68, 7680},
      {WireFormat::kSparse8, "sparse8", 64, 32, 8192}, {WireFormat::kTopk, "topk", 64, 264, 960}};
  int value = 0;
  for (const auto& s : kSizes) {
    EXPECT_EQ(static_cast<int>(s.format), value++);
    EXPECT_STREQ(wire_name(s.format), s.name);
    EXPECT_EQ(wire_block_elements(s.format), s.elements);
    EXPECT_EQ(wire_block_bytes(s.format), s.bytes);
    EXPECT_EQ(wire_elements_that_fit(s.format, 4096), s.in_4096);
    EXPECT_EQ(wire_elements_that_fit(s.format, s.bytes - 1), 0u);
    EXPECT_EQ(wire_elements_that_fit(s.format, s.bytes), s.elements);
    EXPECT_EQ(wire_bytes(s.format, 0), 0u);
    EXPECT_EQ(wire_bytes(s.format, 1), s.bytes);
    EXPECT_EQ(wire_bytes(s.format, s.elements), s.bytes);
    EXPECT_EQ(wire_bytes(s.format, s.elements + 1), 2 * s.bytes);
  }
  EXPECT_EQ(wire_bytes(WireFormat::kSparse8, 1 << 20) * 8, size_t{4} << 20);  // exactly 8 : 1
  const auto none = static_cast<WireFormat>(8);
  EXPECT_THROW(wire_name(none), std::invalid_argument);
  EXPECT_THROW(wire_bytes(none, 1), std::invalid_argument);
  EXPECT_THROW(encode_wire(options(none), Words{1}), std::invalid_argument);
  EXPECT_THROW(decode_wire(none, Bytes{1}, 1), std::invalid_argument);
}

TEST(Wire, BlockFormatsAgainstTheSecondImplementation) {
  auto rng = ubl::test::rng(60);
  for (int round = 0; round < 3000; ++round) {
    const Words x = message(rng, 1 + rng() % 300);
    WireOptions o = options(WireFormat::kInt4, round % 2 != 0, static_cast<uint32_t>(rng()));
    Bytes bytes = encode_wire(o, x);
    ASSERT_EQ(bytes, ref_int4(o, x)) << "round " << round;
    ASSERT_EQ(decode_wire(o.format, bytes, x.size()), ref_decode(o.format, bytes, x.size()));
    ASSERT_EQ(bytes.size(), wire_bytes(o.format, x.size()));

    o.format = WireFormat::kSparse8;
    bytes = encode_wire(o, x);
    ASSERT_EQ(bytes, ref_sparse8(o, x)) << "round " << round;
    ASSERT_EQ(decode_wire(o.format, bytes, x.size()), ref_decode(o.format, bytes, x.size()));
    ASSERT_EQ(bytes.size(), wire_bytes(o.format, x.size()));

    o.format = WireFormat::kTopk;
    const uint32_t thresholds[] = {1, 0x00800000, 0x3F800000, x[0] & 0x7FFFFFFF, kMax, 0x7F800000};
    o.threshold = thresholds[rng() % 6];
    if (o.threshold == 0 || o.threshold > 0x7F800000) o.threshold = 0x3A000000;
    bytes = encode_wire(o, x);
    ASSERT_EQ(bytes, ref_topk(o, x)) << "round " << round;
    ASSERT_LE(bytes.size(), wire_bytes(o.format, x.size()));
    const Words back = decode_wire(o.format, bytes, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const bool sent = is_nan_f32(x[i]) || magnitude(x[i]) >= to_float(o.threshold);
      ASSERT_EQ(back[i], sent ? canonicalise_f32(x[i]) : 0u) << at(i);
    }
  }
}

// Every scale code with every nibble, and every exponent with the fractions around 7 and 7.5.
TEST(Wire, EveryScaleAndNibble) {
  for (unsigned code = 0; code < 256; ++code) {
    for (unsigned nibble = 0; nibble < 16; ++nibble) {
      ASSERT_EQ(dequantise(static_cast<uint8_t>(nibble), static_cast<uint8_t>(code)),
                ref_value(nibble, code))
          << code << " " << nibble;
    }
  }
  for (uint32_t e = 0; e < 255; ++e) {
    for (uint32_t f : {0u, 1u, 0x400000u, 0x5FFFFFu, 0x600000u, 0x600001u, 0x6FFFFFu, 0x700000u,
                       0x700001u, 0x7FFFFFu}) {
      const uint32_t x = e << 23 | f;
      for (bool stochastic : {false, true}) {
        const int code = scale_code(x, stochastic);
        ASSERT_EQ(code, ref_exponent({x}, stochastic) + 128) << e << " " << f;
        for (uint32_t random : {0u, 0xFFFFFFFFu}) {
          const Rounding rounding = stochastic ? ubl::numerics::stochastic(random) : kNearestEven;
          ASSERT_LE(quantise(x, static_cast<uint8_t>(code), rounding), 7);
        }
      }
    }
  }
  EXPECT_EQ(scale_code(0x7F800000, false), 0xFF);
  EXPECT_EQ(scale_code(0x7F800000, true), 0xFF);
  EXPECT_EQ(scale_code(0x7F800001, false), 0xFF);
  EXPECT_EQ(scale_code(0, false), 0);
}

// Bytes written by hand from the description.
TEST(Wire, KnownBytes) {
  Words x = {to_bits(7), to_bits(-7), to_bits(0.5f), to_bits(1.5f), to_bits(-1)};
  Bytes want(68);
  want[0] = 0x97;  // 7, -7
  want[1] = 0x20;  // ties go to even
  want[2] = 0x0F;
  want[64] = 128;
  EXPECT_EQ(encode_wire(options(WireFormat::kInt4), x), want);
  EXPECT_EQ(decode_wire(WireFormat::kInt4, want, 5),
            (Words{to_bits(7), to_bits(-7), 0, to_bits(2), to_bits(-1)}));

  x = {to_bits(1), to_bits(-3), to_bits(2), to_bits(3), to_bits(5), to_bits(5), to_bits(-5), 0};
  want.assign(32, 0);
  want[0] = 0x3D;  // -3, 3; the scale is 1, as 5 / 0.5 is above 7
  want[1] = 0x55;
  want[16] = 0x3A;  // elements 1 and 3; 0 and 1
  for (size_t k = 17; k < 24; ++k) want[k] = 0x33;
  want[24] = 128;
  EXPECT_EQ(encode_wire(options(WireFormat::kSparse8), x), want);
  EXPECT_EQ(decode_wire(WireFormat::kSparse8, want, 8),
            (Words{0, to_bits(-3), 0, to_bits(3), to_bits(5), to_bits(5), 0, 0}));

  x = {0x3F7FFFFF, 0xBF800000, 0xFF800001, 0x80000000};
  want = {0x06, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x80, 0xBF, 0x00, 0x00, 0xC0, 0x7F};
  EXPECT_EQ(encode_wire(options(WireFormat::kTopk), x), want);
  EXPECT_EQ(decode_wire(WireFormat::kTopk, want, 4), (Words{0, 0xBF800000, kNan, 0}));

  x = {0x12345678, 0xFF800001};
  want = {0x78, 0x56, 0x34, 0x12, 0x01, 0x00, 0x80, 0xFF};
  EXPECT_EQ(encode_wire(options(WireFormat::kNone), x), want);
  EXPECT_EQ(decode_wire(WireFormat::kNone, want, 2), x);
}

TEST(Wire, Casts) {
  auto rng = ubl::test::rng(61);
  for (WireFormat format : kCasts) {
    const Format& f = cast_of(format);
    for (const auto overflow : {Overflow::kNonFinite, Overflow::kSaturate}) {
      for (bool stochastic : {false, true}) {
        WireOptions o = options(format, stochastic, static_cast<uint32_t>(rng()));
        o.overflow = overflow;
        const uint32_t first = stochastic ? 0xFFFFFFF0 : 3;
        const Words x = ubl::test::format_random(f, 62, 1000);
        Bytes want;
        for (size_t i = 0; i < x.size(); ++i) {
          const auto index = first + static_cast<uint32_t>(i);
          const Rounding rounding =
              stochastic ? ubl::numerics::stochastic(rounding_bits(o.seed, index)) : kNearestEven;
          const uint32_t y = convert(f, kFp32, x[i], overflow, rounding);
          for (int k = 0; k < f.bytes(); ++k) want.push_back(static_cast<uint8_t>(y >> (8 * k)));
        }
        const Bytes bytes = encode_wire(o, x, first);
        ASSERT_EQ(bytes, want);
        const Words back = decode_wire(format, bytes, x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          uint32_t y = 0;
          for (size_t k = 0, n = static_cast<size_t>(f.bytes()); k < n; ++k)
            y |= static_cast<uint32_t>(bytes[i * n + k]) << (8 * k);
          ASSERT_EQ(back[i], convert(kFp32, f, y, Overflow::kNonFinite));
        }
      }
    }
  }
}

// A packet may be encoded alone, and again.
TEST(Wire, PacketsAreSlicesOfTheMessage) {
  auto rng = ubl::test::rng(63);
  for (WireFormat format : kAll) {
    for (bool stochastic : {false, true}) {
      const WireOptions o = options(format, stochastic, static_cast<uint32_t>(rng()));
      const Words x = message(rng, 3000);
      const Bytes whole = encode_wire(o, x);
      const size_t per_packet = std::max<size_t>(wire_elements_that_fit(format, 600), 1);
      Bytes joined;
      for (size_t i = 0; i < x.size(); i += per_packet) {
        const size_t n = std::min(per_packet, x.size() - i);
        const Bytes packet = encode_wire(o, x.data() + i, n, static_cast<uint32_t>(i));
        ASSERT_LE(packet.size(), 600u);
        const Words back = decode_wire(format, packet, n);
        const Words all = decode_wire(format, whole, x.size());
        ASSERT_TRUE(
            std::equal(back.begin(), back.end(), all.begin() + static_cast<std::ptrdiff_t>(i)));
        joined.insert(joined.end(), packet.begin(), packet.end());
      }
      EXPECT_EQ(joined, whole) << wire_name(format);
      const bool random = stochastic && format != WireFormat::kNone && format != WireFormat::kTopk;
      WireOptions other = o;
      ++other.seed;
      EXPECT_EQ(encode_wire(o, x), whole);
      EXPECT_EQ(encode_wire(other, x) != whole, random) << wire_name(format);
      if (wire_block_elements(format) > 1) {
        EXPECT_THROW(encode_wire(o, x, 32), std::invalid_argument);
      } else {
        EXPECT_EQ(encode_wire(o, x, 32) != whole, random) << wire_name(format);
      }
    }
  }
}

// |x - decoded| is at most half the scale, with stochastic rounding less than the scale, for every
// element that is sent; and the scale is at most 2/7 of the block's largest number, but for a
// clamped one.
TEST(Wire, ErrorBounds) {
  auto rng = ubl::test::rng(64);
  for (int round = 0; round < 2000; ++round) {
    const bool stochastic = round % 2 != 0;
    const Words x = message(rng, 128);
    for (WireFormat format : {WireFormat::kInt4, WireFormat::kSparse8}) {
      const WireOptions o = options(format, stochastic, static_cast<uint32_t>(round));
      const Bytes bytes = encode_wire(o, x);
      const Words back = decode_wire(format, bytes, x.size());
      const size_t block = format == WireFormat::kInt4 ? 32 : 64;
      for (size_t begin = 0; begin < x.size(); begin += block) {
        const uint8_t code =
            format == WireFormat::kInt4 ? bytes[64 + begin / 32] : bytes[begin / 2 + 24];
        long double max = 0;
        for (size_t i = begin; i < begin + block; ++i) max = std::max(max, magnitude(x[i]));
        if (code == 0xFF) {
          for (size_t i = begin; i < begin + block; ++i) ASSERT_EQ(back[i], kNan);
          continue;
        }
        const long double scale = std::ldexp(1.0L, code - 128);
        if (code != 0) {
          ASSERT_LE(scale * 3.5L, max);
        }
        for (size_t i = begin; i < begin + block; ++i) {
          ASSERT_TRUE(finite(back[i]));
          const long double error =
              std::fabs(static_cast<long double>(to_float(x[i])) - to_float(back[i]));
          if (format == WireFormat::kSparse8) {
            const size_t group = i % 64 / 4;
            const uint8_t mask = bytes[i / 64 * 32 + 16 + group / 2];
            if ((mask >> (group % 2 * 4 + i % 4) & 1) == 0) {
              ASSERT_EQ(back[i], 0u);
              continue;
            }
          }
          if (stochastic) {
            ASSERT_LT(error, scale) << at(i);
          } else {
            ASSERT_LE(error, scale / 2) << at(i);
          }
          ASSERT_LE(magnitude(back[i]), 7 * scale);
        }
      }
    }
  }
}

// What was decoded is encoded to what decodes to the same, in any rounding; with rounding to
// nearest the bytes of int4 are the same at once.
TEST(Wire, DecodedIsStable) {
  auto rng = ubl::test::rng(65);
  for (int round = 0; round < 1000; ++round) {
    const Words x = message(rng, 256);
    for (WireFormat format : kAll) {
      for (bool stochastic : {false, true}) {
        WireOptions o = options(format, stochastic, static_cast<uint32_t>(round));
        o.overflow = Overflow::kNonFinite;
        const Bytes bytes = encode_wire(o, x);
        const Words once = decode_wire(format, bytes, x.size());
        const Bytes again = encode_wire(o, once);
        ASSERT_EQ(decode_wire(format, again, x.size()), once) << wire_name(format);
        if (format != WireFormat::kSparse8 && !(stochastic && format == WireFormat::kInt4)) {
          ASSERT_EQ(again, bytes) << wire_name(format) << " round " << round;
        }
        ASSERT_EQ(encode_wire(o, decode_wire(format, again, x.size())), again) << wire_name(format);
      }
    }
  }
}

// Of equal magnitudes the lower indices are kept, whatever the signs and the order.
TEST(Wire, TiesInAnyOrder) {
  int values[4] = {1, 1, 2, 3};
  const int patterns[][4] = {{2, 2, 2, 2}, {1, 2, 2, 2}, {1, 1, 1, 2}, {1, 1, 2, 2},
                             {0, 0, 0, 0}, {0, 0, 0, 1}, {1, 2, 3, 3}, {1, 2, 2, 3}};
  for (const auto& p : patterns) {
    std::copy_n(p, 4, values);
    do {
      for (unsigned signs = 0; signs < 16; ++signs) {
        Words x(4);
        for (size_t i = 0; i < 4; ++i)
          x[i] = to_bits(static_cast<float>(values[i])) ^ (signs >> i & 1) << 31;
        const Bytes bytes = encode_wire(options(WireFormat::kSparse8), x);
        unsigned want = 0;
        for (int level = 3; level >= 0; --level) {
          for (size_t i = 0; i < 4; ++i) {
            if (values[i] == level && __builtin_popcount(want) < 2) want |= 1u << i;
          }
        }
        ASSERT_EQ(bytes[16] & 0xFu, want) << values[0] << values[1] << values[2] << values[3];
      }
    } while (std::next_permutation(values, values + 4));
  }
}

TEST(Wire, NanAndInfinityBlocks) {
  for (uint32_t special : {0x7F800000u, 0xFF800000u, 0x7F800001u, 0xFFFFFFFFu, kNan}) {
    for (size_t at : {0u, 31u, 32u, 63u, 64u, 127u}) {
      Words x(128, to_bits(1));
      x[at] = special;
      Bytes bytes = encode_wire(options(WireFormat::kInt4), x);
      Words back = decode_wire(WireFormat::kInt4, bytes, 128);
      for (size_t i = 0; i < 128; ++i) {
        ASSERT_EQ(back[i], i / 32 == at / 32 ? kNan : to_bits(1));
        if (i / 32 == at / 32) {
          ASSERT_EQ(bytes[i / 2], 0);
        }
      }
      EXPECT_EQ(bytes[64 + at / 32], 0xFF);
      bytes = encode_wire(options(WireFormat::kSparse8, true), x);
      back = decode_wire(WireFormat::kSparse8, bytes, 128);
      for (size_t i = 0; i < 128; ++i) {
        ASSERT_EQ(back[i], i / 64 == at / 64 ? kNan : i % 4 < 2 ? to_bits(1) : 0);
      }
      Bytes want(32);
      std::fill(&want[16], &want[24], uint8_t{0x33});
      want[24] = 0xFF;
      EXPECT_TRUE(std::equal(want.begin(), want.end(), &bytes[at / 64 * 32]));
    }
  }
}

void expect_malformed(WireFormat format, const Bytes& bytes, size_t count, Malformed malformed,
                      size_t offset, const Words& elements, const std::string& text) {
  const Decoded d = decode_wire_any(format, bytes.data(), bytes.size(), count);
  EXPECT_EQ(d.malformed, malformed) << text;
  EXPECT_EQ(d.offset, offset) << text;
  EXPECT_EQ(d.elements, elements) << text;
  try {
    decode_wire(format, bytes, count);
    FAIL() << text;
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(e.what(), text);
  }
}

TEST(Wire, WrongLengths) {
  for (WireFormat format : kAll) {
    if (format == WireFormat::kTopk) continue;
    for (size_t count : {0u, 1u, 64u, 65u, 300u}) {
      const size_t size = wire_bytes(format, count);
      const Bytes good(size);
      if (format != WireFormat::kSparse8) {
        EXPECT_EQ(decode_wire(format, good, count), Words(count));
      }
      for (size_t wrong : {size + 1, size - 1, size_t{0}}) {
        if (wrong == size || wrong > size + 1) continue;
        expect_malformed(format, Bytes(wrong, 0x11), count, Malformed::kLength,
                         std::min(wrong, size), Words(count),
                         std::string(wire_name(format)) + ": " + std::to_string(wrong) +
                             " bytes are not those of " + std::to_string(count) + " elements");
      }
    }
  }
}

TEST(Wire, MalformedSparse8) {
  const Words x(64, to_bits(1));
  const Bytes good = encode_wire(options(WireFormat::kSparse8), x);
  const Words elements = decode_wire(WireFormat::kSparse8, good, 64);
  for (size_t k = 25; k < 32; ++k) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good;
      bytes[k] = static_cast<uint8_t>(1 << bit);
      expect_malformed(WireFormat::kSparse8, bytes, 64, Malformed::kReserved, k, elements,
                       "sparse8: byte " + std::to_string(k) + ": a reserved bit is set");
    }
  }
  for (size_t group = 0; group < 16; ++group) {
    for (unsigned mask = 0; mask < 16; ++mask) {
      Bytes bytes = good;
      bytes[group] = 0xE3;  // 3, -2
      auto& byte = bytes[16 + group / 2];
      byte =
          static_cast<uint8_t>(group % 2 != 0 ? (byte & 0x0F) | mask << 4 : (byte & 0xF0) | mask);
      const uint32_t first = dequantise(3, good[24]), second = dequantise(14, good[24]);
      Words want = elements;
      const uint32_t answers[16][4] = {
          {0, 0, 0, 0},          {first, 0, 0, 0},      {0, first, 0, 0},
          {first, second, 0, 0}, {0, 0, first, 0},      {first, 0, second, 0},
          {0, first, second, 0}, {first, second, 0, 0}, {0, 0, 0, first},
          {first, 0, 0, second}, {0, first, 0, second}, {first, second, 0, 0},
          {0, 0, first, second}, {first, 0, second, 0}, {0, first, second, 0},
          {first, second, 0, 0}};
      std::copy_n(answers[mask], 4, &want[4 * group]);
      if (__builtin_popcount(mask) == 2) {
        EXPECT_EQ(decode_wire(WireFormat::kSparse8, bytes, 64), want);
      } else {
        expect_malformed(WireFormat::kSparse8, bytes, 64, Malformed::kMask, 16 + group / 2, want,
                         "sparse8: byte " + std::to_string(16 + group / 2) +
                             ": a mask without exactly two ones");
      }
    }
  }
  // The second block, and NaN in spite of the mask.
  Bytes two = good;
  two.insert(two.end(), good.begin(), good.end());
  two[32 + 20] = 0x03;
  two[32 + 24] = 0xFF;
  two[32 + 30] = 1;
  Words want = elements;
  want.resize(128, kNan);
  expect_malformed(WireFormat::kSparse8, two, 128, Malformed::kMask, 52, want,
                   "sparse8: byte 52: a mask without exactly two ones");
}

TEST(Wire, MalformedTopk) {
  Words x(70);
  x[3] = to_bits(2);
  x[63] = to_bits(-3);
  x[69] = to_bits(4);
  const Bytes good = encode_wire(options(WireFormat::kTopk), x);
  ASSERT_EQ(good.size(), 28u);
  EXPECT_EQ(decode_wire(WireFormat::kTopk, good, 70), x);
  const auto text = [](size_t n) {
    return "topk: " + std::to_string(n) + " bytes are not those of 70 elements";
  };
  for (size_t n = 0; n < good.size(); ++n) {
    Words want(70);
    if (n >= 16) std::copy_n(x.begin(), 64, want.begin());
    expect_malformed(WireFormat::kTopk,
                     Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)), 70,
                     Malformed::kLength, n, want, text(n));
  }
  Bytes bytes = good;
  bytes.push_back(0);
  expect_malformed(WireFormat::kTopk, bytes, 70, Malformed::kLength, 28, x, text(29));
  // The element behind the last one.
  Words want = x;
  want.resize(69);
  expect_malformed(WireFormat::kTopk, good, 69, Malformed::kReserved, 16, want,
                   "topk: byte 16: a reserved bit is set");
  // A NaN with a payload arrives as the one NaN.
  bytes = good;
  bytes[8] = 1;
  bytes[10] = 0x80;
  bytes[11] = 0xFF;
  EXPECT_EQ(decode_wire(WireFormat::kTopk, bytes, 70)[3], kNan);
  EXPECT_TRUE(decode_wire(WireFormat::kTopk, Bytes{}, 0).empty());

  for (uint32_t bad : {0u, 0x80000000u, 0xBF800000u, 0x7F800001u, 0xFFFFFFFFu}) {
    WireOptions o = options(WireFormat::kTopk);
    o.threshold = bad;
    EXPECT_THROW(encode_wire(o, x), std::invalid_argument) << bad;
  }
}

// --- Error feedback -----------------------------------------------------------------------------

// One step against MPFR: the residual is the difference, exactly where the header says so.
void check_feedback(const WireOptions& o, const Words& x, const Words& before, int& rounded) {
  Words residual = before;
  const Bytes bytes = encode_wire_feedback(o, x, residual);
  const Words sum = sum_f32(x, before);
  ASSERT_EQ(bytes, encode_wire(o, sum));
  const Words decoded = decode_wire(o.format, bytes, x.size());
  Mpfr nearest;
  mpfr_t exact, d;
  mpfr_init2(exact, 500);
  mpfr_init2(d, 24);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!finite(sum[i]) || !finite(decoded[i])) {
      ASSERT_EQ(residual[i], 0u) << at(i);
      continue;
    }
    ASSERT_EQ(residual[i], nearest.add(sum[i], decoded[i] ^ 0x80000000u)) << at(i);
    mpfr_set_emin(-1000);
    mpfr_set_emax(1000);
    mpfr_set_flt(exact, to_float(sum[i]), MPFR_RNDN);
    mpfr_set_flt(d, to_float(decoded[i]), MPFR_RNDN);
    mpfr_sub(exact, exact, d, MPFR_RNDN);
    const bool is_exact = mpfr_cmp_d(exact, static_cast<double>(to_float(residual[i]))) == 0;
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    if (is_exact) continue;
    ++rounded;
    const bool cast = o.format >= WireFormat::kFp16 && o.format <= WireFormat::kE5m2;
    const bool saturated =
        cast && magnitude(sum[i]) >
                    magnitude(convert(kFp32, cast_of(o.format), cast_of(o.format).max_finite(),
                                      Overflow::kNonFinite));
    // Rounded up from less than half a unit: the result is one unit, the smallest step there is.
    const bool small = o.stochastic && o.format != WireFormat::kTopk &&
                       magnitude(sum[i]) < magnitude(decoded[i]) / 2;
    ASSERT_TRUE(saturated || small)
        << wire_name(o.format) << " " << at(i) << " " << std::hex << sum[i] << " " << decoded[i];
  }
  mpfr_clears(exact, d, static_cast<mpfr_ptr>(nullptr));
}

TEST(ErrorFeedback, ResidualIsTheDifference) {
  auto rng = ubl::test::rng(66);
  int rounded = 0;
  for (int round = 0; round < 300; ++round) {
    const Words x = message(rng, 200);
    const Words before = round % 3 == 0 ? Words(200) : message(rng, 200, false);
    for (WireFormat format : kAll) {
      for (bool stochastic : {false, true}) {
        WireOptions o = options(format, stochastic, static_cast<uint32_t>(rng()));
        o.threshold = 0x30000000;
        if (round % 2 != 0) o.overflow = Overflow::kNonFinite;
        int count = 0;
        ASSERT_NO_FATAL_FAILURE(check_feedback(o, x, before, count));
        if (!stochastic && o.overflow == Overflow::kNonFinite) {
          ASSERT_EQ(count, 0) << wire_name(format);
        }
        rounded += count;
      }
    }
  }
  EXPECT_GT(rounded, 0);  // both exceptions do occur
}

TEST(ErrorFeedback, CastsAtBoundariesAreExact) {
  for (WireFormat format : kCasts) {
    const Words x = ubl::test::format_boundaries(cast_of(format));
    WireOptions o = options(format);
    o.overflow = Overflow::kNonFinite;
    int rounded = 0;
    ASSERT_NO_FATAL_FAILURE(check_feedback(o, x, Words(x.size()), rounded));
    EXPECT_EQ(rounded, 0);
  }
}

TEST(ErrorFeedback, KnownCases) {
  // A NaN and an infinity leave nothing behind, nor do the other elements of their block.
  for (WireFormat format : {WireFormat::kInt4, WireFormat::kSparse8}) {
    Words x(128, to_bits(0.3f)), residual(128, to_bits(0.1f));
    x[64] = 0x7F800000;
    encode_wire_feedback(options(format), x, residual);
    for (size_t i = 0; i < 128; ++i) {
      const size_t block = format == WireFormat::kInt4 ? 32 : 64;
      EXPECT_EQ(residual[i] == 0, i / block == 64 / block) << at(i);
    }
  }
  // A sum beyond the range is an infinity.
  Words x = {kMax}, residual = {kMax};
  EXPECT_EQ(encode_wire_feedback(options(WireFormat::kFp16), x, residual), (Bytes{0xFF, 0x7B}));
  EXPECT_EQ(residual[0], 0u);
  // Saturated: the rest of it; rounded, where it has too many bits.
  x = {to_bits(500), to_bits(-500), to_bits(0x1.000002p33f)};
  residual = Words(3);
  encode_wire_feedback(options(WireFormat::kE4m3), x, residual);
  EXPECT_EQ(residual, (Words{to_bits(52), to_bits(-52), to_bits(0x1.000002p33f)}));
  // Not saturating: the infinity is sent, and not felt again.
  WireOptions o = options(WireFormat::kE5m2);
  o.overflow = Overflow::kNonFinite;
  x = {to_bits(1e6f)};
  residual = {0};
  EXPECT_EQ(encode_wire_feedback(o, x, residual), Bytes{0x7C});
  EXPECT_EQ(residual[0], 0u);
  // Not sent now, but the next time.
  o = options(WireFormat::kTopk);
  x = {to_bits(0.75f)};
  residual = {0};
  EXPECT_EQ(encode_wire_feedback(o, x, residual), Bytes(8));
  EXPECT_EQ(residual, x);
  EXPECT_EQ(decode_wire(o.format, encode_wire_feedback(o, x, residual), 1), Words{to_bits(1.5f)});
  EXPECT_EQ(residual[0], 0u);

  residual.resize(2);
  EXPECT_THROW(encode_wire_feedback(o, x, residual), std::invalid_argument);
}

// Over many steps: what was decoded in all, and the residual, is the sum of the inputs. With
// inputs of few bits all sums are exact.
TEST(ErrorFeedback, NothingIsLost) {
  auto rng = ubl::test::rng(67);
  for (WireFormat format : kAll) {
    for (bool stochastic : {false, true}) {
      constexpr size_t kN = 256;
      WireOptions o = options(format, stochastic);
      o.threshold = to_bits(2.0f);
      Words residual(kN);
      std::vector<double> sent(kN), put(kN);
      for (int step = 0; step < 200; ++step) {
        Words x(kN);
        o.seed = static_cast<uint32_t>(step);
        for (size_t i = 0; i < kN; ++i) {
          const double v = (static_cast<double>(rng() % 2048) - 1024) / 1024 * (i % 9 == 0 ? 4 : 1);
          x[i] = to_bits(static_cast<float>(v));
          put[i] += v;
        }
        const Words d = decode_wire(format, encode_wire_feedback(o, x, residual), kN);
        for (size_t i = 0; i < kN; ++i) sent[i] += static_cast<double>(to_float(d[i]));
      }
      for (size_t i = 0; i < kN; ++i) {
        ASSERT_EQ(sent[i] + static_cast<double>(to_float(residual[i])), put[i])
            << wire_name(format);
        if (format == WireFormat::kNone) {
          ASSERT_EQ(residual[i], 0u);
        }
      }
    }
  }
}

// int4 with stochastic rounding: the mean over many messages is the number.
TEST(Wire, StochasticBlocksAreUnbiased) {
  constexpr int kN = 4096;
  auto rng = ubl::test::rng(68);
  Words x(64);
  for (auto& e : x) e = to_bits(static_cast<float>(rng() % 10000) / 10000 - 0.5f);
  x[0] = to_bits(0.5f);
  for (WireFormat format : {WireFormat::kInt4, WireFormat::kSparse8}) {
    std::vector<double> sum(x.size());
    Words kept;
    for (uint32_t seed = 0; seed < kN; ++seed) {
      kept = decode_wire(format, encode_wire(options(format, true, seed), x), x.size());
      for (size_t i = 0; i < x.size(); ++i) sum[i] += static_cast<double>(to_float(kept[i]));
    }
    const Bytes bytes = encode_wire(options(format, true), x);
    for (size_t i = 0; i < x.size(); ++i) {
      if (format == WireFormat::kSparse8 &&
          (bytes[16 + i / 8] >> (i / 4 % 2 * 4 + i % 4) & 1) == 0) {
        ASSERT_EQ(sum[i], 0);
        continue;
      }
      // A step is 1/8 here at most, a deviation half of it at most.
      EXPECT_LT(std::fabs(sum[i] / kN - static_cast<double>(to_float(x[i]))),
                6.5 / 16 / std::sqrt(kN))
          << wire_name(format) << " " << at(i);
    }
  }
}

}  // namespace
