// SPDX-License-Identifier: Apache-2.0
// Link, HBM store, host memory and memory interface, each against what its header promises.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "ubl/systemc/hbm.hpp"
#include "ubl/systemc/host_memory.hpp"
#include "ubl/systemc/link.hpp"
#include "ubl/systemc/mem_if.hpp"

namespace ubl::systemc {
namespace {

class Sink : public Wakeable {
 public:
  Sink() { wake_ = kNever; }
};

FlitWords flit(bool sop, bool eop, unsigned empty, uint32_t first_word) {
  spec::Flit f{};
  f.valid = 1;
  f.sop = sop ? 1 : 0;
  f.eop = eop ? 1 : 0;
  f.empty = static_cast<uint8_t>(empty);
  f.vc = 2;
  f.data[0] = first_word;
  FlitWords w;
  f.to_words(w.w.data());
  return w;
}

TEST(Link, DeliversInOrderAfterItsDelayAndWakesTheReceiver) {
  Sink a, b;
  Link l("l", 7, 3);
  l.connect(&a, &b);
  for (uint32_t i = 0; i < 100; ++i) {
    const FlitWords f = flit(i == 0, i == 99, i == 99 ? 10 : 0, i);
    l.send(1000 + i, f.w.data());
  }
  EXPECT_EQ(b.wake(), 1007u);
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(l.flit_due(), 1007u + i);
    EXPECT_EQ(l.flit().w[0], i);
    EXPECT_EQ(l.flit().sop(), i == 0);
    EXPECT_EQ(l.flit().eop(), i == 99);
    EXPECT_EQ(l.flit().vc(), 2u);
    l.pop_flit();
  }
  EXPECT_EQ(l.flit_due(), kNever);
  EXPECT_EQ(l.frame_count(), 1u);
  EXPECT_EQ(l.byte_count(), 100u * 64 - 10);
  l.return_credits(50, 5);
  EXPECT_EQ(a.wake(), 53u);
  EXPECT_EQ(l.credits_due(), 53u);
  EXPECT_EQ(l.take_credits(), 5);
  EXPECT_EQ(l.credits_due(), kNever);
}

TEST(Link, TapsChangeAFlitInTheirOrder) {
  Sink a, b;
  Link l("l", 1, 1);
  l.connect(&a, &b);
  uint8_t seen = 0;
  l.add_tap([](Cycle, FlitWords& f) { f.bytes()[0] ^= 1; });
  l.add_tap([&](Cycle, FlitWords& f) { seen = f.bytes()[0]; });
  l.add_tap([](Cycle, FlitWords& f) { f.bytes()[0] ^= 8; });
  const FlitWords f = flit(true, true, 0, 6);
  l.send(0, f.w.data());
  EXPECT_EQ(seen, 7u);
  EXPECT_EQ(l.flit().w[0], 15u);
}

TEST(Hbm, HashSeesContentsNotTouching) {
  Hbm a(uint64_t{5} << 30), b(uint64_t{5} << 30);
  EXPECT_EQ(a.hash(), b.hash());
  a.data()[0x100000] = 0;  // touched, still zero
  EXPECT_EQ(a.hash(), b.hash());
  a.data()[a.size() - 1] = 1;
  EXPECT_NE(a.hash(), b.hash());
  b.data()[b.size() - 1] = 1;
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_TRUE(a.contains(a.size() - 1, 1));
  EXPECT_FALSE(a.contains(a.size() - 1, 2));
  EXPECT_FALSE(a.contains(~uint64_t{0}, 2));
}

TEST(HostMemory, OnlyMappedBytesAreReachable) {
  HostMemory m;
  const uint64_t a = m.map(100), b = m.map(5000);
  EXPECT_EQ(a % 4096, 0u);
  EXPECT_NE(a, 0u);
  EXPECT_NE(m.at(a, 4096), nullptr);  // whole pages
  EXPECT_EQ(m.at(a, 4097), nullptr);
  EXPECT_EQ(m.at(a + 4096, 1), nullptr);  // guard page
  EXPECT_EQ(m.at(a - 1, 1), nullptr);
  EXPECT_EQ(m.at(~uint64_t{0}, 2), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(m.at(b, 1)) % 4096, 0u);
  m.at(b, 1)[0] = 3;
  EXPECT_EQ(*m.at(b, 1), 3);
  m.unmap(b);
  EXPECT_EQ(m.at(b, 1), nullptr);
  EXPECT_THROW(m.map(0), std::invalid_argument);
}

class NoScheduler : public Scheduler {
 public:
  void notify(sc_core::sc_event&, Cycle) override { ++notified; }
  void kick() override {}
  int notified = 0;
};

class MemTest : public ::testing::Test {
 protected:
  /// Without refresh, so that times are easy to tell.
  static Timing quiet() {
    Timing t;
    t.hbm_refresh_ns = 0;
    return t;
  }
  static inline int serial_ = 0;
  Hbm hbm{1 << 20};
  HostMemory host;
  NoScheduler sched;
  Timing t = quiet();
  PciePort pcie{("pcie" + std::to_string(serial_++)).c_str(), t, host, sched};
  HbmTiming when{t};
  MemPort port{hbm, when, pcie};
};

TEST_F(MemTest, ReadsAlignedToTheRequestInOrderOneBeatACycle) {
  std::iota(hbm.data(), hbm.data() + 4096, uint8_t{0});
  port.tx.request(10, 3, 130);
  port.tx.request(11, 1000, 1);
  const Cycle lat = cycles_from_ns(t.hbm_read_ns) + cycles_from_ns(t.hbm_row_miss_ns);
  Cycle now = port.tx.due();
  EXPECT_EQ(now, 10 + lat);
  unsigned byte = 3;
  for (int beat = 0; beat < 3; ++beat) {
    ASSERT_LE(port.tx.due(), now);
    const MemBeat b = port.tx.take(now);
    EXPECT_EQ(b.last, beat == 2);
    EXPECT_FALSE(b.err);
    const auto* p = reinterpret_cast<const uint8_t*>(b.data.data());
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(p[i], beat < 2 || i < 2 ? static_cast<uint8_t>(byte + i) : 0);
    byte += 64;
    EXPECT_EQ(port.tx.due(), beat < 2 ? now + 1 : std::max(now + 1, 11 + lat));
    ++now;
  }
  EXPECT_TRUE(port.tx.take(now).last);
  EXPECT_EQ(port.tx.due(), kNever);
}

TEST_F(MemTest, RefusesWhatDoesNotExist) {
  port.tx.request(0, hbm.size() - 1, 2);
  EXPECT_TRUE(port.tx.take(1000).err);
  port.tx.request(0, kHostBit | 0x10000, 4);
  EXPECT_TRUE(port.tx.take(5000).err);
  port.write.request(hbm.size() - 1, 2);
  const uint32_t data[16] = {};
  port.write.beat(0, data);
  EXPECT_TRUE(port.write.take_response());
}

TEST_F(MemTest, HostAccessNeedsMappingAndBusMastering) {
  const uint64_t iova = host.map(64);
  port.write.request(kHostBit | iova, 4);
  const uint32_t data[16] = {42};
  port.write.beat(0, data);
  EXPECT_TRUE(port.write.take_response());  // bus mastering is off
  pcie.bus_master = true;
  port.write.request(kHostBit | iova, 4);
  port.write.beat(100, data);
  EXPECT_FALSE(port.write.take_response());
  EXPECT_EQ(*host.at(iova, 1), 0);  // still on its way
  EXPECT_GE(pcie.posted_due(), 100 + cycles_from_ns(t.pcie_oneway_ns));
  pcie.apply_posted(pcie.posted_due());
  EXPECT_EQ(*host.at(iova, 1), 42);
  EXPECT_TRUE(pcie.activity);
  EXPECT_EQ(sched.notified, 1);
}

TEST_F(MemTest, WriteResponsesComeInOrder) {
  pcie.bus_master = true;
  const uint64_t iova = host.map(64);
  const uint32_t data[16] = {1};
  port.write.request(0, 64);
  port.write.request(kHostBit | iova, 64);
  port.write.beat(10, data);
  const Cycle first = port.write.response_due();
  EXPECT_EQ(first, 10 + cycles_from_ns(t.hbm_write_ns) + cycles_from_ns(t.hbm_row_miss_ns));
  port.write.beat(11, data);
  port.write.take_response();
  EXPECT_GE(port.write.response_due(), first);
}

TEST_F(MemTest, PcieBandwidthIsShared) {
  pcie.bus_master = true;
  const Cycle a = pcie.dma_read_due(0, 4096);
  const Cycle b = pcie.dma_read_due(0, 4096);
  // 4096 bytes at 63 GB/s are 65 ns.
  EXPECT_EQ(a, cycles_from_ps(600000 + 4096ull * 1000000 / t.pcie_mbps));
  EXPECT_EQ(b, cycles_from_ps(600000 + 2 * (4096ull * 1000000 / t.pcie_mbps)));
}

class HbmTime : public ::testing::Test {
 protected:
  Timing t;
  Cycle latency = cycles_from_ns(t.hbm_read_ns), miss = cycles_from_ns(t.hbm_row_miss_ns);
  // The start of a channel's quiet time, longer than any test of it.
  static constexpr Cycle kQuiet = 1000;
  /// Some address of row `row` of bank `bank` of channel `channel`.
  static uint64_t at(unsigned channel, unsigned bank, uint64_t row) {
    const uint64_t rows = HbmTiming::kRowBytes * HbmTiming::kChannels;  // one of each channel
    const uint64_t from = row * HbmTiming::kBanks * rows;
    for (uint64_t a = from; a < from + HbmTiming::kBanks * rows; a += HbmTiming::kInterleave) {
      const auto p = HbmTiming::place(a);
      if (p.channel == channel && p.bank == bank && p.row == row) return a;
    }
    throw std::logic_error("no such place");
  }
};

TEST_F(HbmTime, RowHitsMissesAndBanks) {
  t.hbm_refresh_ns = 0;
  HbmTiming h(t);
  EXPECT_EQ(h.read(kQuiet, at(0, 0, 0), 64), kQuiet + miss + latency);
  EXPECT_EQ(h.read(kQuiet + 100, at(0, 0, 0) + 64, 64), kQuiet + 100 + latency);
  EXPECT_EQ(h.read(kQuiet + 200, at(0, 0, 1), 64), kQuiet + 200 + miss + latency);
  // Two banks open rows side by side, two rows of a bank one after the other; one data bus.
  EXPECT_EQ(h.read(kQuiet + 300, at(0, 1, 0), 256), kQuiet + 300 + miss + latency);
  EXPECT_EQ(h.read(kQuiet + 300, at(0, 2, 0), 256), kQuiet + 300 + miss + 4 + latency);
  EXPECT_EQ(h.read(kQuiet + 400, at(0, 1, 1), 64), kQuiet + 400 + miss + latency);
  EXPECT_EQ(h.read(kQuiet + 400, at(0, 1, 2), 64), kQuiet + 400 + 2 * miss + latency);
  EXPECT_EQ(h.row_hits(), 1u);
  EXPECT_EQ(h.row_misses(), 6u);
}

TEST_F(HbmTime, EveryPlaceIsUsedOnce) {
  // Over a whole number of rows of all banks each (channel, bank, row) holds kRowBytes.
  std::map<std::tuple<unsigned, unsigned, uint64_t>, uint64_t> bytes;
  const uint64_t all = HbmTiming::kRowBytes * HbmTiming::kChannels * HbmTiming::kBanks;
  for (uint64_t a = 0; a < 4 * all; a += HbmTiming::kInterleave) {
    const auto p = HbmTiming::place(7 * all + a);
    ASSERT_LT(p.channel, HbmTiming::kChannels);
    ASSERT_LT(p.bank, HbmTiming::kBanks);
    bytes[{p.channel, p.bank, p.row}] += HbmTiming::kInterleave;
  }
  EXPECT_EQ(bytes.size(), 4u * HbmTiming::kChannels * HbmTiming::kBanks);
  for (const auto& [place, n] : bytes) ASSERT_EQ(n, HbmTiming::kRowBytes);
}

TEST_F(HbmTime, RefreshStopsOneChannelAtATime) {
  HbmTiming h(t);
  const Cycle every = cycles_from_ns(t.hbm_refresh_every_ns);
  const Cycle takes = cycles_from_ns(t.hbm_refresh_ns);
  h.read(kQuiet, at(0, 0, 0), 64);
  h.read(kQuiet, at(16, 0, 0), 64);
  EXPECT_EQ(h.read(10 * every, at(0, 0, 0), 64), 10 * every + takes + latency);
  EXPECT_EQ(h.read(10 * every, at(16, 0, 0), 64), 10 * every + latency);
  EXPECT_EQ(h.read(11 * every + takes, at(0, 0, 0), 64), 11 * every + takes + latency);
}

TEST_F(HbmTime, NinetyPercentOfTheBandwidthAreReachable) {
  HbmTiming h(t);
  const uint64_t bytes = 64 << 20;
  Cycle last = 0;
  for (uint64_t a = 0; a < bytes; a += HbmTiming::kInterleave)
    last = std::max(last, h.read(0, a, HbmTiming::kInterleave));
  const double gbps = static_cast<double>(bytes) / ns_from_cycles(last);
  EXPECT_NEAR(gbps, 0.9 * 1600, 0.01 * 1600);
}

TEST_F(HbmTime, RandomSmallAccessesAreSlower) {
  HbmTiming h(t);
  std::mt19937_64 rng(1);
  Cycle last = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i)
    last = std::max(last, h.read(0, rng() % (uint64_t{5} << 30) / 64 * 64, 64));
  const double gbps = n * 64.0 / ns_from_cycles(last);
  EXPECT_GT(gbps, 300);
  EXPECT_LT(gbps, 1300);
}

}  // namespace
}  // namespace ubl::systemc
