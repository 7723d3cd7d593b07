// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_wire_encode against encode_wire() and encode_wire_feedback(); compiled a second time for the
// form that synthesis sees, with all loops over lanes unrolled.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>

#ifdef AS_SYNTHESIS
#include "Vubl_wire_encode_syn.h"
#include "Vubl_wire_encode_synChk.h"
constexpr const char* kProgram = "rtl_wire_encode_syn";
using Fast = Vubl_wire_encode_syn;
using Checked = Vubl_wire_encode_synChk;
#else
#include "Vubl_wire_encode.h"
#include "Vubl_wire_encodeChk.h"
constexpr const char* kProgram = "rtl_wire_encode";
using Fast = Vubl_wire_encode;
using Checked = Vubl_wire_encodeChk;
#endif
#include "ubl/numerics/fp32.hpp"
#include "ubl/numerics/wire.hpp"
#include "ubl/spec/link.hpp"
#include "ubl/test/clocked.hpp"
#include "ubl/test/format_vectors.hpp"

namespace {

using ubl::numerics::Overflow;
using ubl::numerics::WireFormat;
using ubl::numerics::WireOptions;
using ubl::test::Clocked;
using Rng = std::mt19937_64;
using Elements = std::vector<uint32_t>;

constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kInfinity = 0x7F800000;
constexpr uint32_t kNan = 0x7FC00000;

// Cycles from a beat's acceptance to the word, or to the residuals, that it gives.
constexpr uint64_t kWordAfter = 5;
constexpr uint64_t kResidualAfter = 6;

// The contract's numbers are those of the golden model.
static_assert(static_cast<int>(ubl::spec::WireFormat::kNone) ==
              static_cast<int>(WireFormat::kNone));
static_assert(static_cast<int>(ubl::spec::WireFormat::kFp16) ==
              static_cast<int>(WireFormat::kFp16));
static_assert(static_cast<int>(ubl::spec::WireFormat::kBf16) ==
              static_cast<int>(WireFormat::kBf16));
static_assert(static_cast<int>(ubl::spec::WireFormat::kE4m3) ==
              static_cast<int>(WireFormat::kE4m3));
static_assert(static_cast<int>(ubl::spec::WireFormat::kE5m2) ==
              static_cast<int>(WireFormat::kE5m2));
static_assert(static_cast<int>(ubl::spec::WireFormat::kInt4) ==
              static_cast<int>(WireFormat::kInt4));
static_assert(static_cast<int>(ubl::spec::WireFormat::kSparse8) ==
              static_cast<int>(WireFormat::kSparse8));
static_assert(static_cast<int>(ubl::spec::WireFormat::kTopk) ==
              static_cast<int>(WireFormat::kTopk));

constexpr std::array<WireFormat, 8> kFormats = {
    WireFormat::kNone, WireFormat::kFp16, WireFormat::kBf16,    WireFormat::kE4m3,
    WireFormat::kE5m2, WireFormat::kInt4, WireFormat::kSparse8, WireFormat::kTopk};

struct Packet {
  WireOptions options;
  bool feedback = false;
  uint32_t first = 0;
  Elements x, residual;

  size_t beats() const { return (x.size() + 63) / 64; }
  std::string text() const {
    char s[200];
    std::snprintf(s, sizeof s, "%s, %zu elements from number 0x%X%s%s%s, seed 0x%X, threshold 0x%X",
                  wire_name(options.format), x.size(), first,
                  options.stochastic ? ", stochastic" : "",
                  options.overflow == Overflow::kSaturate ? ", saturate" : "",
                  feedback ? ", feedback" : "", options.seed, options.threshold);
    return s;
  }
};

// Shares of cycles, in percent, in which a side is willing.
struct Rates {
  unsigned in = 100, data = 100, residual = 100;
};

class Bench {
 public:
  explicit Bench(uint64_t salt) : dut(salt), rng_(ubl::test::rng(salt)) {
    scramble_inputs();
    dut->valid_i = dut->data_ready_i = dut->residual_ready_i = 0;
    dut.reset();
    expect_empty();
  }

  // Runs all packets through and compares. Times of acceptance and of words are kept.
  void run(const std::vector<Packet>& packets, Rates rates) {
    start(packets);
    while (!done()) {
      cycle(rates);
      if (::testing::Test::HasFatalFailure()) return;
    }
    expect_empty();
  }

  void start(const std::vector<Packet>& packets) {
    in_.clear();
    words_.clear();
    residuals_.clear();
    accepted.clear();
    word_times.clear();
    residual_times.clear();
    stalls = 0;
    quiet_ = 0;
    in_beat_ = 0;
    bytes_done_ = elements_done_ = 0;
    for (const Packet& p : packets) {
      in_.push_back(p);
      Expected e = {p.text(), {}, {}};
      if (p.feedback) {
        e.residual = p.residual;
        e.bytes = encode_wire_feedback(p.options, p.x, e.residual, p.first);
        residuals_.push_back(e);
      } else {
        e.bytes = encode_wire(p.options, p.x, p.first);
      }
      words_.push_back(std::move(e));
    }
  }
  bool done() const { return in_.empty() && words_.empty() && residuals_.empty(); }

  void cycle(Rates rates) {
    if (!dut->valid_i) {
      if (!in_.empty() && rng_() % 100 < rates.in) {
        drive_beat();
      } else if (rng_() % 8 == 0) {
        scramble_inputs();  // nothing may depend on them now
      }
    }
    dut->data_ready_i = rng_() % 100 < rates.data;
    dut->residual_ready_i = rng_() % 100 < rates.residual;
    dut.settle();
    const uint64_t now = dut.cycle();
    const bool take = dut->valid_i && dut->ready_o;
    stalls += dut->valid_i && !dut->ready_o;
    // Also what is not taken must be there, and stay.
    if (dut->data_valid_o) check_word(now, dut->data_ready_i);
    if (dut->residual_valid_o) check_residual(now, dut->residual_ready_i);
    if (::testing::Test::HasFatalFailure()) return;
    ASSERT_FALSE(dut->idle_o && (dut->data_valid_o || dut->residual_valid_o));
    quiet_ = take || dut->data_valid_o || dut->residual_valid_o ? 0 : quiet_ + 1;
    ASSERT_LT(quiet_, 2000) << "nothing moves";
    dut.tick();
    if (take) {
      accepted.push_back(now);
      dut->valid_i = 0;
      if (++in_beat_ == in_.front().beats()) {
        in_.pop_front();
        in_beat_ = 0;
      }
    }
  }

  // In mid-traffic: all is dropped.
  void reset() {
    dut->data_ready_i = rng_() & 1;
    dut->residual_ready_i = rng_() & 1;
    dut.reset(1 + static_cast<int>(rng_() % 3));
    dut->valid_i = 0;
    dut.settle();
    expect_empty();
  }

  void expect_empty() {
    ASSERT_FALSE(dut->data_valid_o);
    ASSERT_FALSE(dut->residual_valid_o);
    ASSERT_TRUE(dut->idle_o);
    ASSERT_TRUE(dut->ready_o);
  }

  Clocked<Checked> dut;
  std::vector<uint64_t> accepted, word_times, residual_times;
  uint64_t stalls = 0;  // cycles in which a beat waited

 private:
  struct Expected {
    std::string text;
    std::vector<uint8_t> bytes;
    Elements residual;
  };

  uint32_t bits() { return static_cast<uint32_t>(rng_()); }

  void scramble_options() {
    dut->format_i = bits() & 7;
    dut->stochastic_i = bits() & 1;
    dut->saturate_i = bits() & 1;
    dut->feedback_i = bits() & 1;
    dut->seed_i = bits();
    dut->threshold_i = bits();
    dut->first_i = bits();
  }
  void scramble_inputs() {
    scramble_options();
    dut->count_i = bits() & 127;
    dut->last_i = bits() & 1;
    for (size_t i = 0; i < 64; ++i) {
      dut->elem_i[i] = bits();
      dut->residual_i[i] = bits();
    }
  }

  void drive_beat() {
    const Packet& p = in_.front();
    const size_t begin = 64 * in_beat_, n = std::min<size_t>(64, p.x.size() - begin);
    dut->valid_i = 1;
    dut->count_i = static_cast<uint8_t>(n);
    dut->last_i = begin + n == p.x.size();
    for (size_t i = 0; i < 64; ++i) {
      dut->elem_i[i] = i < n ? p.x[begin + i] : bits();
      dut->residual_i[i] = i < n && p.feedback ? p.residual[begin + i] : bits();
    }
    if (begin != 0) {
      scramble_options();
      return;
    }
    dut->format_i = static_cast<uint8_t>(p.options.format);
    dut->stochastic_i = p.options.stochastic;
    dut->saturate_i = p.options.overflow == Overflow::kSaturate;
    dut->feedback_i = p.feedback;
    dut->seed_i = p.options.seed;
    dut->threshold_i = p.options.threshold;
    dut->first_i = p.first;
  }

  void check_word(uint64_t now, bool take) {
    ASSERT_FALSE(words_.empty()) << "a word of no packet";
    const Expected& e = words_.front();
    const size_t n = std::min<size_t>(64, e.bytes.size() - bytes_done_);
    std::array<uint8_t, 64> want = {}, got;
    std::copy_n(e.bytes.data() + bytes_done_, n, want.data());
    std::memcpy(got.data(), &dut->data_o[0], 64);
    ASSERT_EQ(dut->bytes_o, n) << e.text << ", word at byte " << bytes_done_;
    ASSERT_EQ(dut->last_o, bytes_done_ + n == e.bytes.size()) << e.text;
    for (size_t i = 0; got != want && i < 64; ++i) {
      ASSERT_EQ(got[i], want[i]) << e.text << ", byte " << bytes_done_ + i << " of "
                                 << e.bytes.size();
    }
    if (!take) return;
    word_times.push_back(now);
    bytes_done_ += n;
    if (bytes_done_ == e.bytes.size()) {
      words_.pop_front();
      bytes_done_ = 0;
    }
  }

  void check_residual(uint64_t now, bool take) {
    ASSERT_FALSE(residuals_.empty()) << "residuals of no packet";
    const Expected& e = residuals_.front();
    const size_t n = std::min<size_t>(64, e.residual.size() - elements_done_);
    ASSERT_EQ(dut->residual_count_o, n) << e.text;
    ASSERT_EQ(dut->residual_last_o, elements_done_ + n == e.residual.size()) << e.text;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t want = i < n ? e.residual[elements_done_ + i] : 0;
      ASSERT_EQ(dut->residual_o[i], want)
          << e.text << ", residual of element " << elements_done_ + i;
    }
    if (!take) return;
    residual_times.push_back(now);
    elements_done_ += n;
    if (elements_done_ == e.residual.size()) {
      residuals_.pop_front();
      elements_done_ = 0;
    }
  }

  Rng rng_;
  std::deque<Packet> in_;
  std::deque<Expected> words_, residuals_;
  size_t in_beat_ = 0, bytes_done_ = 0, elements_done_ = 0;
  int quiet_ = 0;
};

// Elements.

uint32_t bits_of(Rng& rng) { return static_cast<uint32_t>(rng()); }

uint32_t near_exponent(Rng& rng, int exponent) {
  const int e = std::clamp(exponent, 0, 254);
  return (bits_of(rng) & 0x807FFFFF) | static_cast<uint32_t>(e) << 23;
}

// One of several kinds of tensors.
Elements tensor(Rng& rng, size_t n) {
  static const Elements specials = ubl::test::fp32_specials();
  Elements x(n);
  const unsigned kind = rng() % 8;
  const int centre = static_cast<int>(rng() % 256);
  const uint32_t value = bits_of(rng);
  for (uint32_t& e : x) {
    switch (kind) {
      case 0:  // any bits
        e = bits_of(rng);
        break;
      case 1:  // gradients
      case 2:
        e = near_exponent(rng, 120 - static_cast<int>(rng() % 12));
        break;
      case 3:  // a few binades, anywhere
        e = near_exponent(rng, centre - static_cast<int>(rng() % 6));
        break;
      case 4:  // few bits: ties in all formats
        e = near_exponent(rng, 127 - static_cast<int>(rng() % 20)) & (0xFF800000u | 0x7C0000u);
        break;
      case 5:  // equal magnitudes
        e = (value & ~kSign) | (bits_of(rng) & kSign);
        if (rng() % 8 == 0) e = 0;
        break;
      case 6:  // specials
        e = specials[rng() % specials.size()];
        break;
      default:  // gradients, with a rare infinity or NaN
        e = near_exponent(rng, 120 - static_cast<int>(rng() % 12));
        if (rng() % 100 == 0) e = kInfinity | (bits_of(rng) & (kSign | 1));
        break;
    }
  }
  return x;
}

Packet random_packet(Rng& rng, WireFormat format, unsigned options, size_t n) {
  Packet p;
  p.options.format = format;
  p.options.stochastic = options & 1;
  p.options.overflow = (options & 2) != 0 ? Overflow::kSaturate : Overflow::kNonFinite;
  p.feedback = (options & 4) != 0;
  p.options.seed = rng() % 4 == 0 ? static_cast<uint32_t>(rng() % 3) : bits_of(rng);
  const auto block = static_cast<uint32_t>(ubl::numerics::wire_block_elements(format));
  switch (rng() % 4) {
    case 0:
      p.first = 0;
      break;
    case 1:  // the numbers wrap inside
      p.first = 0u - block * (1 + bits_of(rng) % 3);
      break;
    default:
      p.first = bits_of(rng) / block * block;
      break;
  }
  p.x = tensor(rng, n);
  if (format == WireFormat::kTopk) {
    // Near an element, so that some are sent.
    p.options.threshold = p.x[rng() % n] & ~kSign;
    if (rng() % 8 == 0) p.options.threshold = rng() % 2 ? 1 : kInfinity;
    p.options.threshold = std::clamp<uint32_t>(p.options.threshold, 1, kInfinity);
  }
  if (p.feedback) {
    p.residual.resize(n);
    const unsigned kind = rng() % 4;
    for (size_t i = 0; i < n; ++i) {
      switch (kind) {
        case 0:
          p.residual[i] = bits_of(rng);
          break;
        case 1:  // cancels, or nearly
          p.residual[i] = (p.x[i] ^ kSign) + static_cast<uint32_t>(rng() % 3);
          break;
        case 2:
          p.residual[i] = 0;
          break;
        default:
          p.residual[i] = near_exponent(
              rng, static_cast<int>(p.x[i] >> 23 & 0xFF) - 3 - static_cast<int>(rng() % 8));
          break;
      }
    }
  }
  return p;
}

// Packets of at most `most` elements that hold all of x.
std::vector<Packet> packets_of(const Packet& options, const Elements& x, size_t most = 1024) {
  std::vector<Packet> v;
  for (size_t begin = 0; begin < x.size(); begin += most) {
    const size_t n = std::min(most, x.size() - begin);
    Packet p = options;
    p.first += static_cast<uint32_t>(begin);
    p.x.assign(x.begin() + static_cast<ptrdiff_t>(begin),
               x.begin() + static_cast<ptrdiff_t>(begin + n));
    if (p.feedback) p.residual.assign(n, 0);
    v.push_back(p);
  }
  return v;
}

class WireEncode : public ::testing::Test {
 protected:
  void TearDown() override {
    if (!HasFailure()) return;
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::printf("repeat: UBL_SEED=%llu build/release/tests/%s --gtest_filter=%s.%s\n",
                static_cast<unsigned long long>(ubl::test::seed()), kProgram,
                info->test_suite_name(), info->name());
  }

  // With every combination of options.
  void run_all_options(WireFormat format, const Elements& x, uint64_t salt) {
    Bench bench(salt);
    for (unsigned options = 0; options < 8; ++options) {
      Packet p;
      p.options.format = format;
      p.options.stochastic = options & 1;
      p.options.overflow = (options & 2) != 0 ? Overflow::kSaturate : Overflow::kNonFinite;
      p.options.seed = 0x1234567u * (options + 1);
      p.options.threshold = 0x3F800000;
      p.feedback = (options & 4) != 0;
      bench.run(packets_of(p, x), {});
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(WireEncode, EveryValueMidpointAndBorderOfFp16) {
  run_all_options(WireFormat::kFp16, ubl::test::format_boundaries(ubl::numerics::kFp16), 1);
}
TEST_F(WireEncode, EveryValueMidpointAndBorderOfBf16) {
  run_all_options(WireFormat::kBf16, ubl::test::format_boundaries(ubl::numerics::kBf16), 2);
}
TEST_F(WireEncode, EveryValueMidpointAndBorderOfE4m3) {
  run_all_options(WireFormat::kE4m3, ubl::test::format_boundaries(ubl::numerics::kE4m3), 3);
  run_all_options(WireFormat::kE4m3, ubl::test::format_random(ubl::numerics::kE4m3, 3, 20000), 3);
}
TEST_F(WireEncode, EveryValueMidpointAndBorderOfE5m2) {
  run_all_options(WireFormat::kE5m2, ubl::test::format_boundaries(ubl::numerics::kE5m2), 4);
  run_all_options(WireFormat::kE5m2, ubl::test::format_random(ubl::numerics::kE5m2, 4, 20000), 4);
}

// Blocks whose largest magnitude is at a border of the scale codes, the others at ties of the
// scale.
TEST_F(WireEncode, BordersOfTheScales) {
  auto rng = ubl::test::rng(5);
  Elements x;
  for (uint32_t exponent = 0; exponent <= 255; ++exponent) {
    for (uint32_t fraction : {0x000000u, 0x000001u, 0x5FFFFFu, 0x600000u, 0x600001u, 0x6FFFFFu,
                              0x700000u, 0x700001u, 0x7FFFFFu}) {
      Elements block(128);
      for (size_t i = 0; i < 128; ++i) {
        // (k + 1/2) scales, at the scale of this exponent and at the next one, or just beside
        const uint32_t q = 1 + 2 * static_cast<uint32_t>(rng() % 7);
        const int unit = static_cast<int>(exponent) - 130 + static_cast<int>(rng() % 2);
        block[i] = ubl::numerics::round_f32((rng() & 1) != 0, q, unit);
        block[i] += static_cast<uint32_t>(rng() % 3) - 1;
        if ((block[i] & ~kSign) > kInfinity) block[i] = 0;
      }
      const uint32_t max = exponent << 23 | fraction;
      for (size_t quarter = 0; quarter < 4; ++quarter) {
        if (exponent < 255 || rng() % 2 == 0) {
          for (size_t i = 0; i < 32; ++i) {
            uint32_t& e = block[32 * quarter + i];
            if ((e & ~kSign) > max) e = max | (e & kSign);
          }
        }
        block[32 * quarter + rng() % 32] = max | (bits_of(rng) & kSign);
      }
      x.insert(x.end(), block.begin(), block.end());
    }
  }
  run_all_options(WireFormat::kInt4, x, 5);
  run_all_options(WireFormat::kSparse8, x, 6);
}

// All 3^4 orders of groups of four, with ties.
TEST_F(WireEncode, EqualMagnitudesInSparse8) {
  auto rng = ubl::test::rng(7);
  const std::array<uint32_t, 3> values = {0x00000000, 0x3F800000, 0x3F800001};
  Elements x;
  for (unsigned group = 0; group < 81; ++group) {
    for (unsigned i = 0, rest = group; i < 4; ++i, rest /= 3) {
      x.push_back(values[rest % 3] | (bits_of(rng) & kSign));
    }
  }
  run_all_options(WireFormat::kSparse8, x, 7);
  // A NaN in one group: no block keeps its order.
  for (size_t at : {0u, 63u, 64u, 130u}) {
    Elements with_nan = x;
    with_nan[at] = at % 2 == 0 ? kNan : kInfinity | kSign;
    run_all_options(WireFormat::kSparse8, with_nan, 8 + at);
  }
}

TEST_F(WireEncode, Thresholds) {
  Bench bench(9);
  const uint32_t one = 0x3F800000;
  const Elements around = {one - 1, one, one + 1, 0, 1, kInfinity - 1, kInfinity, kInfinity + 1};
  Elements x;
  for (uint32_t e : around) {
    x.push_back(e);
    x.push_back(e | kSign);
  }
  for (uint32_t threshold : {1u, 2u, one, one + 1, kInfinity - 1, kInfinity}) {
    for (size_t n = 1; n <= 2 * x.size(); ++n) {
      Packet p;
      p.options.format = WireFormat::kTopk;
      p.options.threshold = threshold;
      p.feedback = n % 2 == 0;
      Elements part;
      for (size_t i = 0; i < 5 * n; ++i) part.push_back(x[(i + n) % x.size()]);
      bench.run(packets_of(p, part), {});
      if (HasFatalFailure()) return;
    }
  }
  // All of a beat: 264 bytes.
  Packet p;
  p.options.format = WireFormat::kTopk;
  p.options.threshold = 1;
  p.feedback = true;
  bench.run(packets_of(p, Elements(1024, 0xBF800000), 960), {});
  p.options.threshold = kInfinity;
  bench.run(packets_of(p, Elements(8192, 0xBF800000), 8192), {});
}

// Every format with all options and every number of elements to 300.
TEST_F(WireEncode, EveryCount) {
  auto rng = ubl::test::rng(10);
  Bench bench(10);
  for (WireFormat format : kFormats) {
    for (unsigned options = 0; options < 8; ++options) {
      std::vector<Packet> packets;
      for (size_t n = 1; n <= 300; ++n) packets.push_back(random_packet(rng, format, options, n));
      bench.run(packets, {});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(WireEncode, RandomTrafficWithBackPressure) {
  auto rng = ubl::test::rng(11);
  Bench bench(11);
  const auto rate = [&rng] {
    const std::array<unsigned, 5> rates = {3, 20, 50, 90, 100};
    return rates[rng() % rates.size()];
  };
  for (int round = 0; round < 150; ++round) {
    std::vector<Packet> packets;
    for (unsigned i = 0; i < 12; ++i) {
      const size_t n = rng() % 4 == 0 ? 1 + rng() % 1500 : 1 + rng() % 200;
      packets.push_back(random_packet(rng, kFormats[rng() % 8], rng() % 8, n));
    }
    bench.run(packets, {rate(), rate(), rate()});
    if (HasFatalFailure()) return;
  }
}

// One output stands still while the other moves: it may not lose, repeat or reorder anything.
TEST_F(WireEncode, OneOutputStandsStill) {
  auto rng = ubl::test::rng(12);
  for (int side = 0; side < 2; ++side) {
    Bench bench(12 + static_cast<uint64_t>(side));
    std::vector<Packet> packets;
    for (WireFormat format : kFormats) {
      for (unsigned options = 0; options < 8; ++options) {
        packets.push_back(random_packet(rng, format, options | 4, 200));
      }
    }
    bench.start(packets);
    while (!bench.done()) {
      const Rates still = side == 0 ? Rates{100, 0, 100} : Rates{100, 100, 0};
      for (unsigned i = 0; i < 40; ++i) bench.cycle(still);
      for (unsigned i = 0; i < 30; ++i) bench.cycle({});
      if (HasFatalFailure()) return;
    }
    bench.expect_empty();
  }
}

TEST_F(WireEncode, ResetInMidPacket) {
  auto rng = ubl::test::rng(14);
  Bench bench(14);
  for (int round = 0; round < 300; ++round) {
    std::vector<Packet> packets;
    for (unsigned i = 0; i < 3; ++i) {
      packets.push_back(random_packet(rng, kFormats[rng() % 8], rng() % 8, 1 + rng() % 400));
    }
    bench.start(packets);
    const Rates rates = {50 + static_cast<unsigned>(rng() % 51), static_cast<unsigned>(rng() % 101),
                         static_cast<unsigned>(rng() % 101)};
    for (unsigned i = rng() % 30; i > 0 && !bench.done(); --i) bench.cycle(rates);
    bench.reset();
    if (HasFatalFailure()) return;
  }
  // And it works as ever.
  std::vector<Packet> packets;
  for (WireFormat format : kFormats) packets.push_back(random_packet(rng, format, 5, 300));
  bench.run(packets, {});
}

// Throughput. A word can come out kWordAfter cycles after the beat that completes it, and one cycle
// after the word before it; beats come in every cycle. That is what must happen, to the cycle.
struct Load {
  const char* name;
  WireFormat format;
  size_t elements;  // of a packet
  uint32_t one_in;  // topk: one element in so many is sent
  double beats;     // a cycle, to be printed and checked against the count
};

TEST_F(WireEncode, Throughput) {
  const Load loads[] = {
      {"none", WireFormat::kNone, 1024, 0, 1 / 4.},
      {"fp16", WireFormat::kFp16, 2048, 0, 1 / 2.},
      {"bf16", WireFormat::kBf16, 2048, 0, 1 / 2.},
      {"e4m3", WireFormat::kE4m3, 4096, 0, 1},
      {"e5m2", WireFormat::kE5m2, 4096, 0, 1},
      {"e4m3, 1 element", WireFormat::kE4m3, 1, 0, 1},
      {"e4m3, 65 elements", WireFormat::kE4m3, 65, 0, 1},
      {"int4", WireFormat::kInt4, 7680, 0, 1},
      {"int4, 192 elements", WireFormat::kInt4, 192, 0, 1},
      {"int4, 64 elements", WireFormat::kInt4, 64, 0, 1 / 2.},
      {"sparse8", WireFormat::kSparse8, 8192, 0, 1},
      {"sparse8, 192 elements", WireFormat::kSparse8, 192, 0, 1},
      {"topk, 1 in 64", WireFormat::kTopk, 8192, 64, 1},
      {"topk, 13 in 64", WireFormat::kTopk, 8192, 5, 1},
      {"topk, 16 in 64", WireFormat::kTopk, 8192, 4, 64 / 72.},
      {"topk, 32 in 64", WireFormat::kTopk, 4096, 2, 64 / 136.},
      {"topk, all", WireFormat::kTopk, 960, 1, 64 / 264.},
      {"topk, 13 in 64, 2 beats", WireFormat::kTopk, 128, 5, 1},
  };
  for (bool feedback : {false, true}) {
    for (const Load& load : loads) {
      SCOPED_TRACE(load.name);
      Packet p;
      p.options.format = load.format;
      p.options.stochastic = true;
      p.options.threshold = 0x40000000;
      p.feedback = feedback;
      for (size_t i = 0; i < load.elements; ++i) {
        p.x.push_back(load.one_in != 0 && i % 64 % load.one_in == 0 ? 0x40000000 : 0x3F800000);
      }
      if (feedback) p.residual.assign(load.elements, 0);
      const size_t count =
          std::max<size_t>(4, 30000 / load.elements / (load.elements < 300 ? 4 : 1));
      Bench bench(20);
      bench.run(std::vector<Packet>(count, p), {});
      if (HasFatalFailure()) return;

      // Beat of the packet that completes each of its words.
      std::vector<size_t> completed_by;
      const size_t bytes = encode_wire(p.options, p.x).size();
      for (size_t word = 0; word < (bytes + 63) / 64; ++word) {
        size_t beat = 0;
        const size_t end = std::min(bytes, 64 * (word + 1));
        const auto bytes_of_beats = [&](size_t beats) {
          if (beats == p.beats()) return bytes;
          if (load.format == WireFormat::kInt4) return beats / 2 * 68 + beats % 2 * 32;
          return encode_wire(p.options, p.x.data(), 64 * beats).size();
        };
        while (bytes_of_beats(beat + 1) < end) ++beat;
        completed_by.push_back(beat);
      }
      const uint64_t start = bench.accepted.front();
      uint64_t last = 0;
      size_t k = 0;
      for (size_t packet = 0; packet < count; ++packet) {
        for (size_t beat : completed_by) {
          const uint64_t earliest = start + packet * p.beats() + beat + kWordAfter;
          last = std::max(last + 1, earliest);
          ASSERT_EQ(bench.word_times.at(k), last)
              << "word " << k << " of packets of " << completed_by.size() << " words and "
              << p.beats() << " beats";
          ++k;
        }
      }
      ASSERT_EQ(k, bench.word_times.size());
      const double beats = static_cast<double>(bench.accepted.size()) /
                           static_cast<double>(last - kWordAfter - start + 1);
      EXPECT_NEAR(beats, load.beats, 0.02 * load.beats);
      if (load.beats == 1) {
        EXPECT_EQ(bench.stalls, 0);
      }
      for (size_t i = 0; i < bench.residual_times.size(); ++i) {
        ASSERT_EQ(bench.residual_times[i], bench.accepted[i] + kResidualAfter);
      }
      if (feedback) {
        std::printf("[ measured ] %-24s %.3f beats a cycle\n", load.name, beats);
      }
    }
  }
}

// Changes of format between packets cost nothing either, where the output keeps up.
TEST_F(WireEncode, NoBubbleBetweenFormats) {
  auto rng = ubl::test::rng(21);
  std::vector<Packet> packets;
  for (int i = 0; i < 300; ++i) {
    const std::array<WireFormat, 3> formats = {WireFormat::kE4m3, WireFormat::kE5m2,
                                               WireFormat::kSparse8};
    packets.push_back(random_packet(rng, formats[rng() % 3], rng() % 8, 64 * (1 + rng() % 4)));
  }
  Bench bench(21);
  bench.run(packets, {});
  if (HasFatalFailure()) return;
  EXPECT_EQ(bench.stalls, 0);
  for (size_t i = 1; i < bench.accepted.size(); ++i) {
    ASSERT_EQ(bench.accepted[i], bench.accepted[i - 1] + 1);
  }
}

// Not a test of speed: prints it.
TEST_F(WireEncode, SimulationSpeed) {
  Clocked<Fast> dut(30);
  dut->valid_i = 0;
  dut->data_ready_i = dut->residual_ready_i = 1;
  dut.reset();
  auto rng = ubl::test::rng(30);
  for (size_t i = 0; i < 64; ++i) {
    dut->elem_i[i] = near_exponent(rng, 120 - static_cast<int>(rng() % 12));
    dut->residual_i[i] = near_exponent(rng, 116 - static_cast<int>(rng() % 12));
  }
  const auto measure = [&dut](const char* name, bool valid) {
    const int cycles = 20000;
    int beats = 0;
    const auto start = std::chrono::steady_clock::now();
    dut->valid_i = valid;
    for (int i = 0; i < cycles; ++i) {
      dut->last_i = i % 64 == 63;
      beats += valid && dut->ready_o;
      dut.tick();
    }
    const std::chrono::duration<double, std::nano> t = std::chrono::steady_clock::now() - start;
    std::printf("[ measured ] %-24s %6.0f ns a %s\n", name, t.count() / (valid ? beats : cycles),
                valid ? "beat" : "cycle");
    // Out with what is inside.
    dut->last_i = 1;
    while (!dut->idle_o) {
      dut.tick();
      dut->valid_i = 0;
    }
  };
  dut->count_i = 64;
  dut->threshold_i = 0x3B800000;
  measure("idle", false);
  for (WireFormat format : kFormats) {
    for (unsigned options : {0u, 1u, 4u, 5u}) {
      dut->format_i = static_cast<uint8_t>(format);
      dut->stochastic_i = options & 1;
      dut->feedback_i = options >> 2 & 1;
      const std::string name = std::string(wire_name(format)) +
                               ((options & 1) != 0 ? ", stochastic" : "") +
                               ((options & 4) != 0 ? ", feedback" : "");
      measure(name.c_str(), true);
    }
  }
}

}  // namespace
