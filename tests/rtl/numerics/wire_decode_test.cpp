// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_wire_decode against the golden decoder (sw/numerics), with assertions on: every format,
// encoded and malformed payloads, back-pressure on both sides, reset in mid-packet, cycles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "Vubl_wire_decodeChk.h"
#include "ubl/numerics/wire.hpp"
#include "ubl/spec/link.hpp"
#include "ubl/test/clocked.hpp"
#include "ubl/test/format_vectors.hpp"
#include "ubl/test/fp32_vectors.hpp"
#include "ubl/test/seed.hpp"

namespace {

using ubl::numerics::Malformed;
using ubl::numerics::WireFormat;
using ubl::test::Clocked;

constexpr size_t kWord = 64;
constexpr size_t kMaxBytes = ubl::spec::kLinkMtu;
constexpr WireFormat kFormats[] = {WireFormat::kNone,    WireFormat::kFp16, WireFormat::kBf16,
                                   WireFormat::kE4m3,    WireFormat::kE5m2, WireFormat::kInt4,
                                   WireFormat::kSparse8, WireFormat::kTopk};

// The port is the contract's, the golden model's numbers are the same.
static_assert(static_cast<int>(ubl::spec::WireFormat::kFp16) ==
              static_cast<int>(WireFormat::kFp16));
static_assert(static_cast<int>(ubl::spec::WireFormat::kE5m2) ==
              static_cast<int>(WireFormat::kE5m2));
static_assert(static_cast<int>(ubl::spec::WireFormat::kTopk) ==
              static_cast<int>(WireFormat::kTopk));

struct Packet {
  WireFormat format;
  size_t count;
  std::vector<uint8_t> bytes;
};

size_t words_of(const Packet& p) { return (p.bytes.size() + kWord - 1) / kWord; }

class WireDecode : public ::testing::Test {
 protected:
  WireDecode() {
    idle();
    dut_.reset();
  }

  void idle() {
    dut_->in_valid_i = 0;
    dut_->out_ready_i = 0;
    dut_->bytes_i = 1;
    dut_->last_i = 0;
    dut_->format_i = 0;
    dut_->count_i = 1;
    dut_->size_i = 1;
  }

  // Sends the packets one behind the other and compares all that comes out. Percentages of cycles
  // in which a word is offered and a beat is taken. Returns the cycles up to the last beat.
  uint64_t run(const std::vector<Packet>& packets, unsigned offer, unsigned take,
               size_t stop_after = ~size_t{0}) {
    size_t in_packet = 0, in_at = 0, out_packet = 0, out_at = 0, idle_cycles = 0;
    bool offered = false, shown = false;
    uint8_t shown_elements[256] = {};
    ubl::numerics::Decoded want;
    const auto load = [&] {
      const Packet& p = packets[out_packet];
      want = ubl::numerics::decode_wire_any(p.format, p.bytes.data(), p.bytes.size(), p.count);
    };
    load();
    beats_ = 0;
    const uint64_t start = dut_.cycle();
    while (out_packet < packets.size()) {
      if (stop_after-- == 0) return dut_.cycle() - start;
      // A word that was offered stays.
      offered = in_packet < packets.size() && (offered || rng_() % 100 < offer);
      dut_->in_valid_i = offered;
      uint8_t junk[kWord];
      for (auto& x : junk) x = static_cast<uint8_t>(rng_());
      dut_->format_i = static_cast<uint8_t>(rng_() % 8);  // counts with the first word only
      dut_->count_i = static_cast<uint16_t>(1 + rng_() % 60000);
      dut_->size_i = static_cast<uint16_t>(1 + rng_() % 4000);
      dut_->bytes_i = static_cast<uint8_t>(rng_() % 128);
      dut_->last_i = rng_() % 2;
      if (offered) {
        const Packet& p = packets[in_packet];
        const size_t n = std::min(kWord, p.bytes.size() - in_at);
        std::memcpy(junk, p.bytes.data() + in_at, n);
        dut_->bytes_i = static_cast<uint8_t>(n);
        dut_->last_i = in_at + n == p.bytes.size();
        if (in_at == 0) {
          dut_->format_i = static_cast<uint8_t>(p.format);
          dut_->count_i = static_cast<uint16_t>(p.count);
          dut_->size_i = static_cast<uint16_t>(p.bytes.size());
        }
      }
      std::memcpy(&dut_->data_i, junk, kWord);
      dut_->out_ready_i = rng_() % 100 < take;
      dut_.settle();
      const bool pushed = offered && dut_->in_ready_o;
      const bool popped = dut_->out_valid_o && dut_->out_ready_i;
      if (dut_->out_valid_o) {
        const Packet& p = packets[out_packet];
        const size_t n = dut_->count_o;
        const auto where = [&] {
          return std::string(ubl::numerics::wire_name(p.format)) + ", packet " +
                 std::to_string(out_packet) + ", " + std::to_string(p.count) + " elements, " +
                 std::to_string(p.bytes.size()) + " bytes, element " + std::to_string(out_at);
        };
        if (shown) {
          EXPECT_EQ(std::memcmp(shown_elements, &dut_->elem_o, 256), 0)
              << "a beat changed: " << where();
        }
        std::memcpy(shown_elements, &dut_->elem_o, 256);
        shown = !popped;
        if (popped) {
          ++beats_;
          EXPECT_TRUE(n >= 1 && n <= 64 && out_at + n <= p.count) << where() << ", beat of " << n;
          if (::testing::Test::HasFailure()) return 0;
          for (size_t k = 0; k < n; ++k) {
            EXPECT_EQ(dut_->elem_o[k], want.elements[out_at + k])
                << std::hex << where() << " + " << k << ": 0x" << dut_->elem_o[k];
          }
          out_at += n;
          EXPECT_EQ(dut_->last_o, out_at == p.count) << where() << " + " << n;
          if (dut_->last_o) {
            EXPECT_EQ(dut_->err_o, static_cast<int>(want.malformed)) << where();
            seen_[dut_->err_o & 3] += 1;
          } else {
            EXPECT_EQ(dut_->err_o, 0) << where();
          }
          if (::testing::Test::HasFailure()) return 0;
        }
      }
      dut_.tick();
      idle_cycles = pushed || popped ? 0 : idle_cycles + 1;
      if (idle_cycles > 2000) {
        ADD_FAILURE() << "nothing moves: packet " << out_packet << " of " << packets.size() << ", "
                      << ubl::numerics::wire_name(packets[out_packet].format) << ", element "
                      << out_at;
        return 0;
      }
      if (pushed) {
        offered = false;
        in_at += std::min(kWord, packets[in_packet].bytes.size() - in_at);
        if (in_at == packets[in_packet].bytes.size()) ++in_packet, in_at = 0;
      }
      if (popped && out_at == packets[out_packet].count) {
        out_at = 0;
        if (++out_packet < packets.size()) load();
      }
    }
    const uint64_t cycles = dut_.cycle() - start;
    // Words behind the last beat of a payload that is too long are taken too.
    while (in_packet < packets.size()) {
      const Packet& p = packets[in_packet];
      const size_t n = std::min(kWord, p.bytes.size() - in_at);
      dut_->in_valid_i = 1;
      dut_->bytes_i = static_cast<uint8_t>(n);
      dut_->last_i = in_at + n == p.bytes.size();
      if (in_at == 0) {
        dut_->format_i = static_cast<uint8_t>(p.format);
        dut_->count_i = static_cast<uint16_t>(p.count);
        dut_->size_i = static_cast<uint16_t>(p.bytes.size());
      }
      dut_.settle();
      EXPECT_FALSE(dut_->out_valid_o);
      if (dut_->in_ready_o) in_at += n;
      if (in_at == p.bytes.size()) ++in_packet, in_at = 0;
      dut_.tick();
      if (++idle_cycles > 2000) {
        ADD_FAILURE() << "trailing words are not taken";
        return 0;
      }
    }
    idle();
    for (int i = 0; i < 4; ++i) {
      dut_.settle();
      EXPECT_FALSE(dut_->out_valid_o) << "a beat too many";
      dut_.tick();
    }
    return cycles;
  }

  uint32_t element() {
    const auto x = static_cast<uint32_t>(rng_());
    switch (rng_() % 8) {
      case 0:
        return specials_[rng_() % specials_.size()];
      case 1:
      case 2:
        return (x & 0x807FFFFFu) | (100 + x / 4096 % 40) << 23;
      case 3:
        return x & 0x80FFFFFFu;  // small, often subnormal
      default:
        return (x & 0x807FFFFFu) | (120 + x / 4096 % 12) << 23;
    }
  }

  Packet encoded(WireFormat format, size_t count) {
    ubl::numerics::WireOptions options;
    options.format = format;
    options.stochastic = rng_() % 2 != 0;
    options.seed = static_cast<uint32_t>(rng_());
    options.overflow =
        rng_() % 2 != 0 ? ubl::numerics::Overflow::kSaturate : ubl::numerics::Overflow::kNonFinite;
    static constexpr uint32_t kThresholds[] = {1, 0x3F000000, 0x3F800000, 0x40000000, 0x7F800000};
    options.threshold = kThresholds[rng_() % 5];
    std::vector<uint32_t> x(count);
    // In half of the block packets nothing spoils a block.
    const bool finite = rng_() % 2 != 0;
    for (auto& e : x) {
      do e = element();
      while (finite && (e & 0x7F800000) == 0x7F800000);
    }
    return {format, count, ubl::numerics::encode_wire(options, x)};
  }

  // Anything at all, of a length that is right in most cases.
  Packet arbitrary(WireFormat format, size_t count) {
    Packet p = encoded(format, count);
    const auto mess = [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) p.bytes[i] = static_cast<uint8_t>(rng_());
    };
    switch (rng_() % 6) {
      case 0:
        if (format != WireFormat::kTopk) {
          mess(0, p.bytes.size());
        } else {  // any values, NaNs that no encoder makes among them
          p.bytes.clear();
          for (size_t at = 0; at < count; at += 64) {
            uint64_t mask = rng_() & rng_();
            if (count - at < 64) mask &= (uint64_t{1} << (count - at)) - 1;
            for (int k = 0; k < 8; ++k) p.bytes.push_back(static_cast<uint8_t>(mask >> (8 * k)));
            for (int i = __builtin_popcountll(mask); i > 0; --i) {
              const uint32_t x = specials_[rng_() % specials_.size()];
              for (int k = 0; k < 4; ++k) p.bytes.push_back(static_cast<uint8_t>(x >> (8 * k)));
            }
          }
          p.bytes.resize(std::min(p.bytes.size(), kMaxBytes));
        }
        break;
      case 1: {  // one byte
        p.bytes[rng_() % p.bytes.size()] = static_cast<uint8_t>(rng_());
        break;
      }
      case 2:  // length, a little or a lot
        p.bytes.resize(std::max<size_t>(1, p.bytes.size() - std::min(p.bytes.size(), rng_() % 9)));
        break;
      case 3:
        p.bytes.resize(std::min(kMaxBytes, p.bytes.size() + 1 + rng_() % 9));
        break;
      case 4:
        p.bytes.resize(1 + rng_() % std::min<size_t>(kMaxBytes, 2 * p.bytes.size()));
        break;
      default:
        if (format == WireFormat::kTopk) {  // masks and what they do to lengths
          for (size_t i = 0; i < 8 && i < p.bytes.size(); ++i) {
            if (rng_() % 4 == 0) p.bytes[i] = static_cast<uint8_t>(rng_());
          }
        } else if (format == WireFormat::kSparse8) {
          for (size_t at = 0; at < p.bytes.size(); at += 32) {
            if (rng_() % 3 == 0) p.bytes[at + 16 + rng_() % 16] ^= static_cast<uint8_t>(rng_());
          }
        }
        break;
    }
    return p;
  }

  size_t most(WireFormat format) {
    return ubl::numerics::wire_elements_that_fit(format, kMaxBytes);
  }

  Clocked<Vubl_wire_decodeChk> dut_;
  std::mt19937_64 rng_ = ubl::test::rng(21);
  std::vector<uint32_t> specials_ = ubl::test::fp32_specials();
  size_t beats_ = 0;
  size_t seen_[4] = {};
};

TEST_F(WireDecode, EveryCountOfEveryFormat) {
  for (WireFormat format : kFormats) {
    std::vector<Packet> packets;
    for (size_t n = 1; n <= 300; ++n) packets.push_back(encoded(format, n));
    packets.push_back(encoded(format, most(format)));
    run(packets, 100, 100);
    if (HasFailure()) return;
  }
  EXPECT_EQ(seen_[1] + seen_[2] + seen_[3], 0u);
}

// Every pattern of the casts, every nibble in every scale.
TEST_F(WireDecode, EveryPattern) {
  std::vector<Packet> packets;
  for (WireFormat format : {WireFormat::kE4m3, WireFormat::kE5m2}) {
    Packet p = {format, 256, {}};
    for (unsigned x = 0; x < 256; ++x) p.bytes.push_back(static_cast<uint8_t>(x));
    packets.push_back(p);
  }
  for (WireFormat format : {WireFormat::kFp16, WireFormat::kBf16}) {
    for (unsigned high = 0; high < 64; ++high) {
      Packet p = {format, 1024, {}};
      for (unsigned x = 1024 * high; x < 1024 * (high + 1); ++x) {
        p.bytes.push_back(static_cast<uint8_t>(x));
        p.bytes.push_back(static_cast<uint8_t>(x >> 8));
      }
      packets.push_back(p);
    }
  }
  for (unsigned code = 0; code < 256; code += 4) {
    Packet p = {WireFormat::kInt4, 128, std::vector<uint8_t>(68)};
    for (unsigned i = 0; i < 64; ++i) {
      p.bytes[i] = static_cast<uint8_t>(i % 8 * 0x22 + 0x10);
    }
    for (unsigned i = 0; i < 4; ++i) p.bytes[64 + i] = static_cast<uint8_t>(code + i);
    packets.push_back(p);
  }
  for (unsigned code = 0; code < 256; ++code) {
    Packet p = {WireFormat::kSparse8, 64, std::vector<uint8_t>(32)};
    for (unsigned i = 0; i < 16; ++i) p.bytes[i] = static_cast<uint8_t>(i << 4 | (15 - i));
    for (unsigned i = 0; i < 8; ++i) p.bytes[16 + i] = static_cast<uint8_t>(0x39A5C6 >> i * 2 | 0);
    p.bytes[24] = static_cast<uint8_t>(code);
    packets.push_back(p);
  }
  run(packets, 100, 100);
}

TEST_F(WireDecode, KnownMalformedBytes) {
  const auto with = [this](WireFormat format, size_t count) {
    Packet p = encoded(format, count);
    if (format == WireFormat::kSparse8) {  // a block that is right, in every byte
      std::fill(p.bytes.begin(), p.bytes.end(), 0);
      for (size_t at = 0; at < p.bytes.size(); at += 32) {
        std::fill_n(p.bytes.begin() + static_cast<long>(at) + 16, 8, 0x63);
      }
    }
    return p;
  };
  std::vector<Packet> packets;
  std::vector<Malformed> want;
  const auto add = [&](Packet p, Malformed reason) {
    const auto d =
        ubl::numerics::decode_wire_any(p.format, p.bytes.data(), p.bytes.size(), p.count);
    ASSERT_EQ(static_cast<int>(d.malformed), static_cast<int>(reason));
    packets.push_back(std::move(p));
    packets.push_back(encoded(WireFormat::kE4m3, 3));  // the next one is not harmed
  };
  for (WireFormat format : kFormats) {
    Packet p = with(format, 200);
    p.bytes.push_back(0);
    add(p, Malformed::kLength);
    p = with(format, 200);
    p.bytes.pop_back();
    add(p, Malformed::kLength);
    p = with(format, 200);
    p.bytes.resize(1);
    add(p, Malformed::kLength);
    p = with(format, 1);
    p.bytes.resize(kMaxBytes, 0x55);
    add(p, Malformed::kLength);
  }
  for (size_t byte = 25; byte < 32; ++byte) {  // each reserved byte
    Packet p = with(WireFormat::kSparse8, 128);
    p.bytes[32 + byte] = 1;
    add(p, Malformed::kReserved);
  }
  for (unsigned mask = 0; mask < 16; ++mask) {  // each mask, in each half of a byte
    for (unsigned shift : {0u, 4u}) {
      Packet p = with(WireFormat::kSparse8, 40);
      p.bytes[0] = 0x21, p.bytes[15] = 0x43, p.bytes[24] = 128;
      p.bytes[16] = p.bytes[23] = static_cast<uint8_t>(mask << shift | 3u << (4 - shift));
      add(p, __builtin_popcount(mask) == 2 ? Malformed::kNo : Malformed::kMask);
      p.bytes[30] = 1;
      add(p, __builtin_popcount(mask) == 2 ? Malformed::kReserved : Malformed::kMask);
    }
  }
  {  // reserved bytes of a block before the mask of the next one
    Packet p = with(WireFormat::kSparse8, 128);
    p.bytes[31] = 1, p.bytes[32 + 16] = 0;
    add(p, Malformed::kReserved);
  }
  for (size_t n : {1u, 20u, 63u}) {  // topk: a mask bit beyond the count, its value skipped
    Packet p = {WireFormat::kTopk, n, std::vector<uint8_t>(8 + 4 * 64, 0x3F)};
    std::fill_n(p.bytes.begin(), 8, 0xFF);
    add(p, Malformed::kReserved);
    p.bytes.pop_back();  // and a value is cut
    add(p, Malformed::kReserved);
    p = {WireFormat::kTopk, n, std::vector<uint8_t>(8, 0)};
    p.bytes[7] = 0x80;
    add(p, Malformed::kReserved);
    p.bytes.resize(12 + 8, 0x40);
    add(p, Malformed::kReserved);
  }
  for (size_t size : {9u, 12u, 15u, 16u, 20u, 100u}) {  // topk: groups behind a whole one
    Packet p = {WireFormat::kTopk, 300, std::vector<uint8_t>(size, 0)};
    p.bytes[0] = 1;
    if (size > 12) p.bytes[12] = 3;
    add(p, Malformed::kLength);
  }
  run(packets, 100, 100);
  run(packets, 60, 60);
  EXPECT_GT(seen_[1], 60u);
  EXPECT_GT(seen_[2], 20u);
  EXPECT_GT(seen_[3], 20u);
}

TEST_F(WireDecode, Random) {
  static constexpr unsigned kRates[] = {100, 100, 90, 50, 10};
  for (int round = 0; round < 300; ++round) {
    std::vector<Packet> packets;
    for (int i = 0; i < 40; ++i) {
      const WireFormat format = kFormats[rng_() % 8];
      size_t count = 1 + rng_() % (rng_() % 4 == 0 ? 70 : 400);
      if (rng_() % 20 == 0) count = most(format);
      count = std::min(count, most(format));
      packets.push_back(rng_() % 2 == 0 ? encoded(format, count) : arbitrary(format, count));
    }
    run(packets, kRates[rng_() % 5], kRates[rng_() % 5]);
    if (HasFailure()) {
      ADD_FAILURE() << "round " << round << ", UBL_SEED=" << ubl::test::seed();
      return;
    }
  }
  for (size_t n : seen_) EXPECT_GT(n, 20u);
}

TEST_F(WireDecode, ResetInMidPacket) {
  for (int round = 0; round < 200; ++round) {
    const WireFormat format = kFormats[rng_() % 8];
    std::vector<Packet> packets;
    for (int i = 0; i < 3; ++i) packets.push_back(arbitrary(format, 1 + rng_() % most(format) / 3));
    run(packets, 80, 80, 1 + rng_() % 60);
    dut_->in_valid_i = 0;
    dut_.reset(1);
    ASSERT_FALSE(dut_->out_valid_o);
    run({encoded(kFormats[rng_() % 8], 100), encoded(format, 100)}, 100, 100);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

// No bubble, within a packet and between packets: the cycles are those of the slower side, and
// three from the first word to the first beat.
TEST_F(WireDecode, Rate) {
  constexpr size_t kFill = 3;
  for (WireFormat format : kFormats) {
    // Packets as long as they get; then short ones, each of one beat or two.
    for (size_t count : {most(format), size_t{64}, size_t{16}}) {
      if (format == WireFormat::kTopk && count > 64) count = size_t{64} * 60;
      std::vector<Packet> packets;
      size_t words = 0, elements = 0;
      for (int i = 0; i < 20; ++i) {
        Packet p = encoded(format, count);
        if (format == WireFormat::kTopk) {  // groups with 14 sent elements: 64 bytes each
          p.bytes.clear();
          for (size_t at = 0; at < count; at += 64) {
            std::vector<uint8_t> group(64, 0x3F);
            for (size_t k = 0; k < 8; ++k) group[k] = k < 6 ? 0x11 : 0x01;
            if (count == 16) {  // four sent ones
              std::fill_n(group.begin() + 2, 6, 0);
              group.resize(24);
            }
            p.bytes.insert(p.bytes.end(), group.begin(), group.end());
          }
        }
        words += words_of(p);
        elements += p.count;
        packets.push_back(std::move(p));
      }
      const uint64_t cycles = run(packets, 100, 100);
      ASSERT_FALSE(HasFailure());
      const char* name = ubl::numerics::wire_name(format);
      EXPECT_LE(cycles, std::max(words, beats_) + kFill) << name << ", " << count;
      if (count <= 64) continue;
      const double rate = static_cast<double>(elements) / static_cast<double>(cycles - kFill);
      std::printf("%-8s %5.1f elements a cycle, %zu beats, %zu words\n", name, rate, beats_, words);
      static constexpr double kRate[] = {16, 32, 32, 64, 64, 64, 64, 64};
      EXPECT_GE(rate, kRate[static_cast<size_t>(format)]) << name;
    }
  }
}

// topk with more sent elements than a beat has room for: as fast as its bytes come.
TEST_F(WireDecode, RateOfDenseTopk) {
  for (unsigned sent : {15u, 16u, 17u, 30u, 32u, 33u, 48u, 49u, 64u}) {
    Packet p = {WireFormat::kTopk, 64 * 14, {}};
    for (size_t at = 0; at < p.count; at += 64) {
      const uint64_t mask = sent == 64 ? ~uint64_t{0} : (uint64_t{1} << sent) - 1;
      for (int k = 0; k < 8; ++k) p.bytes.push_back(static_cast<uint8_t>(mask >> (8 * k)));
      p.bytes.resize(p.bytes.size() + 4 * sent, 0x3E);
    }
    const std::vector<Packet> packets(5, p);
    const size_t beats = 5 * 14 * ((sent + 15) / 16);
    const uint64_t cycles = run(packets, 100, 100);
    ASSERT_FALSE(HasFailure());
    // A beat that waits for its last bytes may cost a cycle in a group.
    EXPECT_LE(cycles, std::max(5 * words_of(p), beats) + 3 + 5 * 14 / 4) << sent;
  }
}

}  // namespace
