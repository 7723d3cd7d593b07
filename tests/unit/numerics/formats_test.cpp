// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The golden conversions against MPFR, with each format's precision and exponent range, and FP16
// against the compiler's _Float16.
#include "ubl/numerics/formats.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "mpfr_oracle.hpp"
#include "ubl/test/format_vectors.hpp"

namespace {

using namespace ubl::numerics;
using ubl::test::Mpfr;
using ubl::test::to_bits;
using ubl::test::to_float;

// What the oracle needs to know of a format, written down apart from its descriptor.
struct Case {
  const Format& format;
  int precision, emin, emax;  // of Mpfr
  float max;
  bool has_infinity;
};
const Case kCases[] = {{kFp16, 11, -23, 16, 65504.0f, true},
                       {kBf16, 8, -132, 128, 0x1.FEp127f, true},
                       {kTf32, 11, -135, 128, 0x1.FFCp127f, true},
                       {kE5m2, 3, -15, 16, 57344.0f, true},
                       {kE4m3, 4, -8, 9, 448.0f, false}};

std::string hex(uint32_t x) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%X", x);
  return text;
}

uint32_t widen(const Format& f, uint32_t x) { return convert(kFp32, f, x, Overflow::kNonFinite); }

constexpr bool is_nan(uint32_t fp32) { return (fp32 & 0x7FFFFFFFu) > 0x7F800000u; }

class Formats : public testing::TestWithParam<Case> {};

TEST_P(Formats, EveryPatternToFp32AndBack) {
  const Case& c = GetParam();
  const Format& f = c.format;
  const int fraction_bits = c.precision - 1;
  const int exponent_bits = f.width() - f.padding_bits - 1 - fraction_bits;
  const int top = (1 << exponent_bits) - 1;
  Mpfr mpfr;
  const auto step = uint64_t{1} << f.padding_bits;
  uint32_t nans = 0;
  for (uint64_t i = 0; i < uint64_t{1} << f.width(); i += step) {
    const auto x = static_cast<uint32_t>(i);
    const uint32_t got = widen(f, x);

    // The fields as a binary number in text, for MPFR to read.
    const uint32_t fields = x >> f.padding_bits;
    const int biased = static_cast<int>(fields >> fraction_bits) & top;
    const uint32_t fraction = fields & ((1u << fraction_bits) - 1);
    const bool negative = (fields >> (fraction_bits + exponent_bits)) != 0;
    const bool all_ones = fraction == (1u << fraction_bits) - 1;
    uint32_t want;
    if (biased == top && (c.has_infinity ? fraction != 0 : all_ones)) {
      want = 0x7FC00000;
      ++nans;
    } else if (biased == top && c.has_infinity) {
      want = negative ? 0xFF800000 : 0x7F800000;
    } else {
      std::string text = negative ? "-" : "";
      text += biased == 0 ? "0." : "1.";
      for (int k = fraction_bits - 1; k >= 0; --k) text += (fraction >> k & 1) != 0 ? '1' : '0';
      const int bias = (1 << (exponent_bits - 1)) - 1;
      text += "e" + std::to_string((biased == 0 ? 1 : biased) - bias);
      want = mpfr.parse(text.c_str());
    }
    ASSERT_EQ(got, want) << f.name << " " << hex(x) << " to FP32: got " << hex(got) << ", want "
                         << hex(want);

    const uint32_t back = is_nan(want) ? f.canonical_nan : x;
    for (const auto mode : {Overflow::kNonFinite, Overflow::kSaturate}) {
      if (mode == Overflow::kSaturate && (got & 0x7FFFFFFF) == 0x7F800000) continue;
      ASSERT_EQ(convert(f, kFp32, got, mode), back) << f.name << " " << hex(x) << " and back";
      ASSERT_EQ(convert(f, f, x, mode), back) << f.name << " " << hex(x) << " to itself";
    }
  }
  EXPECT_EQ(nans, c.has_infinity ? 2 * ((1u << fraction_bits) - 1) : 2u);
}

// The smaller formats' values are exact in FP32, so the oracle's answer is compared there; widening
// is tested above.
void check_narrowing(const Case& c, const std::vector<uint32_t>& inputs) {
  const Format& f = c.format;
  Mpfr mpfr(c.precision, c.emin, c.emax);
  int failures = 0;
  for (uint32_t x : inputs) {
    const uint32_t exact = mpfr.convert(x);
    const float magnitude = to_float(exact & 0x7FFFFFFF);
    for (const auto mode : {Overflow::kNonFinite, Overflow::kSaturate}) {
      uint32_t want = exact;
      if (magnitude > c.max) {  // false for NaN
        uint32_t limit;
        std::memcpy(&limit, &c.max, sizeof limit);
        if (mode == Overflow::kSaturate)
          want = (x & 0x80000000u) | limit;
        else
          want = c.has_infinity ? (x & 0x80000000u) | 0x7F800000u : 0x7FC00000u;
      }
      const uint32_t got = convert(f, kFp32, x, mode);
      const uint32_t wide = widen(f, got);
      if (wide != want || (is_nan(want) && got != f.canonical_nan)) {
        ADD_FAILURE() << "FP32 " << hex(x) << " to " << f.name
                      << (mode == Overflow::kSaturate ? ", saturating" : "") << ": got " << hex(got)
                      << " (FP32 " << hex(wide) << "), want FP32 " << hex(want);
        ASSERT_LT(++failures, 10);
      }
    }
  }
}

TEST_P(Formats, FromFp32AtBoundariesAgainstMpfr) {
  check_narrowing(GetParam(), ubl::test::format_boundaries(GetParam().format));
}

TEST_P(Formats, FromFp32RandomAgainstMpfr) {
  check_narrowing(GetParam(), ubl::test::format_random(GetParam().format, 20, 2'000'000));
}

TEST_P(Formats, Limits) {
  const Case& c = GetParam();
  const Format& f = c.format;
  EXPECT_EQ(to_float(widen(f, f.max_finite())), c.max);
  for (uint32_t sign : {0u, 0x80000000u}) {
    const uint32_t narrow_sign = sign != 0 ? f.sign_bit() : 0;
    EXPECT_EQ(convert(f, kFp32, sign, Overflow::kSaturate), narrow_sign);
    EXPECT_EQ(convert(f, kFp32, sign | 0x7F800000, Overflow::kSaturate),
              narrow_sign | f.max_finite());
    EXPECT_EQ(convert(f, kFp32, sign | 0x7F800000, Overflow::kNonFinite),
              c.has_infinity ? narrow_sign | f.infinity() : f.canonical_nan);
    for (auto mode : {Overflow::kNonFinite, Overflow::kSaturate}) {
      EXPECT_EQ(convert(f, kFp32, sign | 0x7F800001, mode), f.canonical_nan);
      EXPECT_EQ(convert(f, kFp32, sign | 0x7FFFFFFF, mode), f.canonical_nan);
    }
  }
  EXPECT_EQ(round_to(f, true, 1, -2'000'000'000, Overflow::kNonFinite), f.sign_bit());
  EXPECT_EQ(round_to(f, true, ~uint64_t{0}, 2'000'000'000, Overflow::kSaturate),
            f.sign_bit() | f.max_finite());
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.format.name); });

// Between two small formats there is one rounding too: widening to FP32 is exact.
TEST(Convert, EveryPairOf8And16BitFormats) {
  const Format* const formats[] = {&kFp16, &kBf16, &kE5m2, &kE4m3};
  for (const Format* from : formats) {
    for (const Format* to : formats) {
      for (uint32_t x = 0; x <= from->mask(); ++x) {
        for (const auto mode : {Overflow::kNonFinite, Overflow::kSaturate}) {
          ASSERT_EQ(convert(*to, *from, x, mode), convert(*to, kFp32, widen(*from, x), mode))
              << from->name << " " << hex(x) << " to " << to->name;
        }
      }
    }
  }
}

#ifdef __FLT16_MAX__
uint16_t bits_of(_Float16 h) {
  uint16_t x;
  std::memcpy(&x, &h, sizeof x);
  return (x & 0x7FFF) > 0x7C00 ? 0x7E00 : x;
}

TEST(Fp16, AgainstTheCompiler) {
  for (uint32_t x = 0; x < 0x10000; ++x) {
    const auto pattern = static_cast<uint16_t>(x);
    _Float16 h;
    std::memcpy(&h, &pattern, sizeof h);
    ASSERT_EQ(f32_from_fp16(pattern), to_bits(static_cast<float>(h))) << hex(x);
  }
  auto inputs = ubl::test::format_boundaries(kFp16);
  const auto random = ubl::test::format_random(kFp16, 21, 2'000'000);
  inputs.insert(inputs.end(), random.begin(), random.end());
  for (uint32_t x : inputs) {
    const uint16_t want = bits_of(static_cast<_Float16>(to_float(x)));
    ASSERT_EQ(fp16_from_f32(x), want)
        << "FP32 " << hex(x) << ": got " << hex(fp16_from_f32(x)) << ", compiler " << hex(want);
  }
}

// E5M2 is FP16 without its low byte.
TEST(E5m2, WidensLikeFp16) {
  for (uint32_t x = 0; x < 0x100; ++x) {
    const auto pattern = static_cast<uint16_t>(x << 8);
    _Float16 h;
    std::memcpy(&h, &pattern, sizeof h);
    ASSERT_EQ(f32_from_e5m2(static_cast<uint8_t>(x)), to_bits(static_cast<float>(h))) << hex(x);
  }
}
#endif

uint32_t fp32(float f) { return to_bits(f); }

// Values of the OFP8 tables, and cases which published implementations got wrong.
TEST(E4m3, KnownCases) {
  EXPECT_EQ(f32_from_e4m3(0x7E), fp32(448));
  EXPECT_EQ(f32_from_e4m3(0x78), fp32(256));  // the top binade holds numbers
  EXPECT_EQ(f32_from_e4m3(0x08), fp32(0x1p-6f));
  EXPECT_EQ(f32_from_e4m3(0x07), fp32(0.875f * 0x1p-6f));
  EXPECT_EQ(f32_from_e4m3(0x81), fp32(-0x1p-9f));
  EXPECT_EQ(f32_from_e4m3(0x7F), 0x7FC00000u);
  EXPECT_EQ(f32_from_e4m3(0xFF), 0x7FC00000u);

  const auto narrow = [](float f) { return e4m3_from_f32(fp32(f), Overflow::kNonFinite); };
  const auto saturate = [](float f) { return e4m3_from_f32(fp32(f), Overflow::kSaturate); };
  EXPECT_EQ(narrow(448), 0x7E);
  EXPECT_EQ(narrow(464), 0x7E);  // a tie, to the even 448
  EXPECT_EQ(narrow(-464), 0xFE);
  EXPECT_EQ(narrow(0x1.D00002p8f), 0x7F);  // 464 and one unit of FP32
  EXPECT_EQ(narrow(465), 0x7F);
  EXPECT_EQ(narrow(-465), 0x7F);  // one NaN, whatever the sign
  EXPECT_EQ(narrow(480), 0x7F);
  EXPECT_EQ(narrow(512), 0x7F);
  EXPECT_EQ(saturate(465), 0x7E);
  EXPECT_EQ(saturate(-1e30f), 0xFE);
  EXPECT_EQ(narrow(400), 0x7C);  // a tie between 384 (even) and 416 (odd)
  EXPECT_EQ(narrow(432), 0x7E);  // a tie between 416 and 448
  EXPECT_EQ(narrow(0x1p-10f), 0x00);
  EXPECT_EQ(narrow(-0x1p-10f), 0x80);
  EXPECT_EQ(narrow(0x1.000002p-10f), 0x01);
  EXPECT_EQ(narrow(0x1.8p-9f), 0x02);  // subnormal tie
  EXPECT_EQ(narrow(0x1.Ep-7f), 0x08);  // between the largest subnormal and the smallest normal
  // Rounded to BF16 first, or to FP16, this would be a tie and come out as 1.
  EXPECT_EQ(narrow(0x1.100002p0f), 0x39);
  EXPECT_EQ(narrow(0x1.1p0f), 0x38);
}

TEST(E5m2, KnownCases) {
  EXPECT_EQ(f32_from_e5m2(0x7B), fp32(57344));
  EXPECT_EQ(f32_from_e5m2(0x04), fp32(0x1p-14f));
  EXPECT_EQ(f32_from_e5m2(0x01), fp32(0x1p-16f));
  EXPECT_EQ(f32_from_e5m2(0xFC), 0xFF800000u);
  const auto narrow = [](float f) { return e5m2_from_f32(fp32(f), Overflow::kNonFinite); };
  const auto saturate = [](float f) { return e5m2_from_f32(fp32(f), Overflow::kSaturate); };
  EXPECT_EQ(narrow(61440), 0x7C);  // a tie, to the even 65536, which is beyond
  EXPECT_EQ(narrow(0x1.DFFFFEp15f), 0x7B);
  EXPECT_EQ(narrow(-61440), 0xFC);
  EXPECT_EQ(saturate(61440), 0x7B);
  EXPECT_EQ(saturate(-61440), 0xFB);
  EXPECT_EQ(narrow(0x1p-17f), 0x00);
  EXPECT_EQ(narrow(0x1.8p-16f), 0x02);
}

TEST(OtherFormats, KnownCases) {
  EXPECT_EQ(fp16_from_f32(fp32(65519.996f)), 0x7BFF);
  EXPECT_EQ(fp16_from_f32(fp32(65520)), 0x7C00);
  EXPECT_EQ(fp16_from_f32(fp32(0x1p-25f)), 0x0000);
  EXPECT_EQ(bf16_from_f32(0x3F808000), 0x3F80);
  EXPECT_EQ(bf16_from_f32(0x3F818000), 0x3F82);
  EXPECT_EQ(bf16_from_f32(0x7F7FFFFF), 0x7F80);
  EXPECT_EQ(bf16_from_f32(0x7F7F7FFF), 0x7F7F);
  EXPECT_EQ(bf16_from_f32(0x7F800001), 0x7FC0);  // the payload is in the bits that go
  EXPECT_EQ(bf16_from_f32(0x00008000), 0x0000);
  EXPECT_EQ(bf16_from_f32(0x00008001), 0x0001);
  EXPECT_EQ(tf32_from_f32(0x3F801000), 0x3F800000u);
  EXPECT_EQ(tf32_from_f32(0x3F801001), 0x3F802000u);
  EXPECT_EQ(tf32_from_f32(0x7F7FF000), 0x7F800000u);
  EXPECT_EQ(tf32_from_f32(0x7F7FEFFF), 0x7F7FE000u);
  EXPECT_EQ(tf32_from_f32(0x007FF000), 0x00800000u);
}

// They are constants for the compiler as well.
static_assert(f32_from_fp16(0x3C00) == 0x3F800000);
static_assert(e4m3_from_f32(0x43E80000, Overflow::kNonFinite) == 0x7E);

TEST(Convert, RejectsBitsOutsideTheFormat) {
  EXPECT_THROW(f32_from_tf32(0x3F800001), std::invalid_argument);
  EXPECT_THROW(convert(kFp32, kFp16, 0x10000, Overflow::kNonFinite), std::invalid_argument);
  try {
    convert(kFp32, kE4m3, 0x1FF, Overflow::kNonFinite);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "E4M3: 0x1FF is not a pattern of this format");
  }
}

TEST(Convert, Buffers) {
  const Format* const formats[] = {&kFp32, &kTf32, &kFp16, &kBf16, &kE5m2, &kE4m3};
  constexpr size_t kN = 257;
  auto rng = ubl::test::rng(22);
  for (const Format* from : formats) {
    for (const Format* to : formats) {
      const auto in_bytes = static_cast<size_t>(from->bytes());
      const auto out_bytes = static_cast<size_t>(to->bytes());
      std::vector<uint32_t> x(kN);
      std::vector<uint8_t> in(1 + kN * in_bytes);  // unaligned
      for (size_t i = 0; i < kN; ++i) {
        x[i] = static_cast<uint32_t>(rng()) & from->mask();
        for (size_t k = 0; k < in_bytes; ++k)
          in[1 + i * in_bytes + k] = static_cast<uint8_t>(x[i] >> (8 * k));
      }
      std::vector<uint8_t> want;
      for (uint32_t e : x) {
        const uint32_t y = convert(*to, *from, e, Overflow::kSaturate);
        for (size_t k = 0; k < out_bytes; ++k) want.push_back(static_cast<uint8_t>(y >> (8 * k)));
      }
      std::vector<uint8_t> out(kN * out_bytes + 1, 0xA5);
      convert_buffer(*to, out.data(), *from, in.data() + 1, kN, Overflow::kSaturate);
      EXPECT_EQ(out.back(), 0xA5);
      out.pop_back();
      EXPECT_EQ(out, want) << from->name << " to " << to->name;
      in.erase(in.begin());
      EXPECT_EQ(convert_buffer(*to, *from, in, Overflow::kSaturate), want);
      if (out_bytes <= in_bytes) {  // in place
        convert_buffer(*to, in.data(), *from, in.data(), kN, Overflow::kSaturate);
        in.resize(want.size());
        EXPECT_EQ(in, want) << from->name << " to " << to->name;
      }
    }
  }
  EXPECT_TRUE(convert_buffer(kFp16, kFp32, {}, Overflow::kNonFinite).empty());
  EXPECT_THROW(convert_buffer(kFp16, kFp32, {1, 2, 3}, Overflow::kNonFinite),
               std::invalid_argument);
  EXPECT_THROW(convert_buffer(kFp16, kTf32, {1, 0, 0, 0}, Overflow::kNonFinite),
               std::invalid_argument);
}

}  // namespace
