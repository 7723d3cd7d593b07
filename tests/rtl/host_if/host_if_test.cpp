// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// host_if: directed tests of every rule of its README, then constrained-random ones.
// UBL_SEED=n runs the random tests with that seed only; UBL_RUNS=n runs n seeds of each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench.hpp"

namespace host_if_test {
namespace {

namespace reg = ubl::spec::reg;
using ubl::spec::kHostBar0Bytes;
using ubl::spec::kHostBar4Bytes;

constexpr uint64_t kHost = 1ull << 63;

uint32_t msix_ctrl(unsigned v) { return reg::kMsixCtrl + v * reg::kMsixCtrlStride; }

void set_mask(Bench& b, unsigned v, bool masked) { b.mmio_write(4, msix_ctrl(v), masked); }

void set_entry(Bench& b, unsigned v, uint64_t addr, uint32_t data) {
  b.mmio_write(4, reg::kMsixAddrLo + v * 16, addr, true);
  b.mmio_write(4, reg::kMsixData + v * 16, data);
}

uint64_t read_pba(Bench& b) { return b.read_now(4, reg::kMsixPba, true).data; }

std::vector<uint64_t> seeds(unsigned count, uint64_t salt) {
  if (const char* s = std::getenv("UBL_SEED")) return {std::strtoull(s, nullptr, 0)};
  if (const char* s = std::getenv("UBL_RUNS")) count = unsigned(std::strtoul(s, nullptr, 0));
  std::vector<uint64_t> v;
  for (unsigned i = 0; i < count; ++i) v.push_back(salt * 1000 + i);
  return v;
}

/// Runs `body` and turns a mismatch into a failure that says how to repeat it.
template <class Body>
void with_seed(uint64_t seed, Body body) {
  SCOPED_TRACE(fmt::format("repeat with UBL_SEED={}", seed));
  try {
    body(seed);
  } catch (const Mismatch& e) {
    ADD_FAILURE() << e.what();
  }
}

class HostIf : public ::testing::Test {
 protected:
  Bench b{1};
};

// ---------------------------------------------------------------------------- registers

TEST_F(HostIf, FunctionRegisters) {
  b.probe_outputs = true;
  b.run(5);
  EXPECT_EQ(b.read_now(0, reg::kHostId).data, 0x4C425530u);
  EXPECT_EQ(b.read_now(0, reg::kHostNode).data, b.node);
  EXPECT_EQ(b.read_now(0, reg::kHostScratch).data, 0u);
  b.mmio_write(0, reg::kHostScratch, 0x12345678);
  EXPECT_EQ(b.read_now(0, reg::kHostScratch).data, 0x12345678u);
  EXPECT_EQ(b.read_now(0, reg::kHostStatus).data, 1u);
  b.bme = false;
  EXPECT_EQ(b.read_now(0, reg::kHostStatus).data, 0u);
  EXPECT_EQ(b.read_now(0, reg::kHostId, true).data, uint64_t(b.node) << 32 | 0x4C425530u);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 0u);
}

TEST_F(HostIf, TimeIsReadWithoutTearing) {
  // The bench starts 0x100 cycles before the low word wraps.
  for (int i = 0; i < 60; ++i) {
    const uint64_t before = b.now;
    const uint64_t lo = b.read_now(0, reg::kHostCyclesLo).data;
    b.run(unsigned(i % 7));
    const uint64_t hi = b.read_now(0, reg::kHostCyclesHi).data;
    EXPECT_GE(hi << 32 | lo, before);
    EXPECT_LE(hi << 32 | lo, b.now);
    const uint64_t t = b.read_now(0, reg::kHostCyclesLo, true).data;
    EXPECT_LE(b.now - t, 8u);
  }
}

TEST_F(HostIf, UnknownAddressesAreCountedAndReadAllOnes) {
  const struct {
    unsigned bar;
    uint32_t addr;
  } holes[] = {{0, 0x20},
               {0, 0xFFC},
               {0, kHostBar0Bytes},
               {0, 0xFFFFFFFC},
               {4, 0x2000},
               {4, 0x3FFC},
               {4, 0x4004},
               {4, 0x4200},
               {4, 0xFFFC},
               {4, 0x10400},
               {4, 0x11008},
               {4, 0x20000},
               {4, kHostBar4Bytes},
               {2, 0},
               {1, 0},
               {7, 8},
               {0, 2},
               {4, 1}};
  uint32_t bad = 0;
  for (const auto& h : holes) {
    const MmioRsp r = b.read_now(h.bar, h.addr);
    EXPECT_TRUE(r.err) << h.bar << " " << h.addr;
    EXPECT_EQ(r.data, ~0ull);
    b.mmio_write(h.bar, h.addr, 1);
    bad += 2;
    EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, bad) << h.bar << " " << h.addr;
  }
  // An 8-byte access is two accesses; one bad half spoils the answer. Misaligned: both are bad.
  EXPECT_EQ(b.read_now(4, 0x3FF8, true).data, ~0ull);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, bad + 2);
  b.mmio_write(4, 0x4000, 5, true);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, bad + 3);
  EXPECT_TRUE(b.read_now(0, 4, true).err);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, bad + 5);
  b.drain();
  EXPECT_EQ(b.doorbells.size(), 1u);
}

TEST_F(HostIf, WritesToReadOnlyAndReadsOfWriteOnlyAreCounted) {
  for (uint32_t a : {reg::kHostId, reg::kHostNode, reg::kHostStatus, reg::kHostCyclesLo,
                     reg::kHostCyclesHi, reg::kHostCntMmioBad, reg::kHostCntDmaBlocked}) {
    b.mmio_write(0, a, 0xFFFFFFFF);
  }
  b.mmio_write(4, reg::kMsixPba, ~0ull, true);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 9u);
  EXPECT_TRUE(b.read_now(4, reg::kDbSq).err);
  EXPECT_TRUE(b.read_now(4, reg::kDbCq).err);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 11u);
  EXPECT_EQ(read_pba(b), 0u);
}

TEST_F(HostIf, NicRegistersAndTheirErrors) {
  b.mmio_write(0, reg::kNicTimeout, 77);
  EXPECT_EQ(b.read_now(0, reg::kNicTimeout).data, 77u);
  b.mmio_write(0, reg::kNicObjData, 0x1111222233334444ull, true);
  EXPECT_EQ(b.read_now(0, reg::kNicObjData, true).data, 0x1111222233334444ull);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 0u);
  EXPECT_EQ(b.read_now(0, reg::kNicVersion + 0x38).data, ~0ull);  // the bench's NIC refuses these
  b.mmio_write(0, reg::kNicVersion + 0x80, 1);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 2u);
}

// ---------------------------------------------------------------------------- doorbells

TEST_F(HostIf, Doorbells) {
  b.mmio_write(4, reg::kDbSq + 8 * 1023, 0xABCD1234);
  b.mmio_write(4, reg::kDbRq + 8 * 1023, 7);
  b.mmio_write(4, reg::kDbCq + 8 * 63, 0xFFFF);
  b.mmio_write(4, reg::kDbSq + 8 * 5, 0x0000000200000001ull, true);
  b.drain();
  ASSERT_EQ(b.doorbells.size(), 5u);
  const auto is = [&](size_t i, int kind, int index, int value) {
    EXPECT_EQ(b.doorbells[i].kind, kind);
    EXPECT_EQ(b.doorbells[i].index, index);
    EXPECT_EQ(b.doorbells[i].value, value);
  };
  is(0, 0, 1023, 0x1234);
  is(1, 1, 1023, 7);
  is(2, 2, 63, 0xFFFF);
  is(3, 0, 5, 1);
  is(4, 1, 5, 2);
}

TEST_F(HostIf, CounterDoorbells) {
  const uint32_t last = reg::kDbCtr + reg::kDbCtrStride * (reg::kDbCtrCount - 1);
  b.mmio_write(4, reg::kDbCtr, 0xABCD0001);
  b.mmio_write(4, last, 0xFFFF);
  b.mmio_write(4, reg::kDbCtr + 8, 0x0000000200000001ull, true);
  b.mmio_write(4, last + 4, 1);  // there is none
  EXPECT_TRUE(b.read_now(4, reg::kDbCtr).err);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 2u);
  ASSERT_EQ(b.doorbells.size(), 4u);
  const auto is = [&](size_t i, int index, int value) {
    EXPECT_EQ(b.doorbells[i].kind, 3);
    EXPECT_EQ(b.doorbells[i].index, index);
    EXPECT_EQ(b.doorbells[i].value, value);
  };
  is(0, 0, 1);
  is(1, int(reg::kDbCtrCount) - 1, 0xFFFF);
  is(2, 2, 1);
  is(3, 3, 2);
}

// ----------------------------------------------------------------------- pushed entries

constexpr uint32_t push_addr(uint32_t qpn, unsigned eighth = 0) {
  return reg::kDbPush + reg::kDbPushStride * qpn + 8 * eighth;
}

void push_all(Bench& b, uint32_t qpn, unsigned eighths = 8) {
  for (unsigned i = 0; i < eighths; ++i)
    b.mmio_write(4, push_addr(qpn, i), 0x0102030405060700ull * (qpn + 1) + i, true);
}

TEST_F(HostIf, PushedEntry) {
  push_all(b, 0);
  push_all(b, reg::kDbPushCount - 1);
  b.drain();
  ASSERT_EQ(b.pushes.size(), 2u);
  EXPECT_EQ(b.pushes[0].index, 0);
  EXPECT_EQ(b.pushes[1].index, reg::kDbPushCount - 1);
  EXPECT_EQ(b.pushes[0].data[0], 0x05060700u);
  EXPECT_EQ(b.pushes[0].data[14], 0x05060707u);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 0u);
}

TEST_F(HostIf, OneEighthPerCycle) {
  for (uint32_t i = 0; i < 50; ++i) push_all(b, i);
  const uint64_t start = b.now;
  b.drain();
  EXPECT_EQ(b.pushes.size(), 50u);
  EXPECT_LE(b.now - start, 50 * 8 + 5u);
}

// Whatever comes between leaves the entry incomplete: nothing is handed over, one count.
TEST_F(HostIf, BrokenPushes) {
  uint32_t bad = 0;
  const auto expect = [&](unsigned more, const char* what) {
    bad += more;
    EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, bad) << what;
    EXPECT_TRUE(b.pushes.empty()) << what;
  };
  push_all(b, 3, 7);
  b.mmio_write(4, reg::kDbSq, 1);
  b.mmio_write(4, push_addr(3, 7), 1, true);  // too late: an eighth of nothing
  expect(2, "doorbell between");
  push_all(b, 3, 4);
  b.mmio_read(0, reg::kHostScratch);
  expect(1, "read between");
  push_all(b, 3, 4);
  b.mmio_write(0, reg::kNicTimeout, 5);
  expect(1, "NIC register between");
  push_all(b, 3, 4);
  b.mmio_write(4, push_addr(4, 4), 1, true);
  expect(2, "another QP");
  push_all(b, 3, 4);
  b.mmio_write(4, push_addr(3, 5), 1, true);
  expect(2, "one left out");
  push_all(b, 3, 4);
  b.mmio_write(4, push_addr(3, 3), 1, true);
  expect(2, "one twice");
  push_all(b, 3, 4);
  b.mmio_write(4, push_addr(3, 4), 1, false);
  expect(2, "four bytes");
  push_all(b, 3, 4);
  b.mmio_write(3, push_addr(3, 4), 1, true);
  expect(3, "another BAR: two words");
  EXPECT_TRUE(b.read_now(4, push_addr(3), true).err);
  expect(2, "write only: two words");
  b.mmio_write(4, push_addr(reg::kDbPushCount), 1, true);
  expect(2, "behind the window: two words");
  // One that begins anew is whole.
  push_all(b, 3, 4);
  push_all(b, 3);
  b.drain();
  ASSERT_EQ(b.pushes.size(), 1u);
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, bad + 1);
}

TEST_F(HostIf, OrderOfPushesDoorbellsAndReads) {
  b.rates.push_ready = 0;
  push_all(b, 1);
  b.mmio_write(4, reg::kDbSq, 1);
  b.mmio_read(0, reg::kHostId);
  b.run(100);
  EXPECT_TRUE(b.doorbells.empty());
  EXPECT_TRUE(b.reads.empty());
  b.rates.push_ready = 100;
  b.drain();
  EXPECT_EQ(b.reads.size(), 1u);
  EXPECT_EQ(b.doorbells.size(), 1u);
  EXPECT_EQ(b.pushes.size(), 1u);
  b.rates.db_ready = 0;
  b.mmio_write(4, reg::kDbSq, 1);
  push_all(b, 1);
  b.run(100);
  EXPECT_EQ(b.pushes.size(), 1u);
  b.rates.db_ready = 100;
  b.drain();
  EXPECT_EQ(b.pushes.size(), 2u);
}

TEST_F(HostIf, OneDoorbellPerCycle) {
  for (uint32_t i = 0; i < 200; ++i) b.mmio_write(4, reg::kDbSq + 8 * i, i);
  const uint64_t start = b.now;
  b.drain();
  EXPECT_EQ(b.doorbells.size(), 200u);
  EXPECT_LE(b.now - start, 205u);
}

TEST_F(HostIf, RegisterReadTakesFewCycles) {
  const uint64_t start = b.now;
  b.read_now(0, reg::kHostId);
  EXPECT_LE(b.now - start, 5u);
}

TEST_F(HostIf, ReadWaitsForEarlierDoorbell) {
  b.rates.db_ready = 0;
  b.mmio_write(4, reg::kDbSq, 1);
  b.mmio_read(0, reg::kHostId);
  b.run(100);
  EXPECT_TRUE(b.reads.empty());
  b.rates.db_ready = 100;
  b.drain();
  EXPECT_EQ(b.reads.size(), 1u);
}

// -------------------------------------------------------------------------- host accesses

TEST_F(HostIf, AccessesPassInOrderAtOnePerCycle) {
  for (int i = 0; i < 100; ++i) {
    if (i % 3)
      b.dma_write(kHost | uint64_t(i) << 12, 64);
    else
      b.dma_read(kHost | uint64_t(i) << 12, 1 + unsigned(i) % 64);
  }
  const uint64_t start = b.now;
  b.drain();
  EXPECT_LE(b.now - start, 108u);
  EXPECT_EQ(b.hdma.size(), 100u);
  EXPECT_EQ(b.refused, 0u);
}

TEST_F(HostIf, BusMasteringOffRefusesAndCounts) {
  b.bme = false;
  for (int i = 0; i < 20; ++i) i % 2 ? b.dma_read(kHost, 64) : b.dma_write(kHost, 8);
  b.drain();
  EXPECT_TRUE(b.hdma.empty());
  EXPECT_EQ(b.refused, 20u);
  EXPECT_EQ(b.read_now(0, reg::kHostCntDmaBlocked).data, 20u);
  b.bme = true;
  b.dma_read(kHost, 64);
  b.drain();
  EXPECT_EQ(b.hdma.size(), 1u);
  EXPECT_EQ(b.read_now(0, reg::kHostCntDmaBlocked).data, 20u);
}

TEST_F(HostIf, UnknownKindIsRefused) {
  DmaReq r;
  r.kind = 3;
  r.addr = kHost;
  r.len = 8;
  b.dma_raw(r);
  b.drain();
  EXPECT_EQ(b.refused, 1u);
  EXPECT_EQ(b.read_now(0, reg::kHostCntDmaBlocked).data, 1u);
}

TEST_F(HostIf, ReadAnswerPushesEarlierHostWrites) {
  b.rates.hdma_ready = 0;
  b.dma_write(kHost, 64);
  b.dma_write(kHost | 64, 64);
  b.run(10);
  b.mmio_read(0, reg::kHostId);
  b.run(50);
  EXPECT_TRUE(b.reads.empty());
  b.rates.hdma_ready = 100;
  b.drain();
  EXPECT_EQ(b.reads.size(), 1u);
}

TEST_F(HostIf, ReadAnswerDoesNotWaitForLaterHostWrites) {
  b.rates.hdma_ready = 50;
  for (int i = 0; i < 5000; ++i) b.dma_write(kHost, 64);
  b.run(20);
  const uint64_t start = b.now;
  b.read_now(0, reg::kHostId);
  EXPECT_LE(b.now - start, 60u);
  b.drain();
}

// -------------------------------------------------------------------------------- MSI-X

TEST_F(HostIf, TableAfterResetAndReadBack) {
  for (unsigned v = 0; v < 64; ++v) {
    EXPECT_EQ(b.read_now(4, reg::kMsixAddrLo + 16 * v, true).data, 0u);
    EXPECT_EQ(b.read_now(4, reg::kMsixData + 16 * v, true).data, 1ull << 32);
  }
  for (unsigned v = 0; v < 64; ++v) {
    b.mmio_write(4, reg::kMsixAddrLo + 16 * v, 0xFEE0'0003'FEE0'0007ull + v, true);
    b.mmio_write(4, reg::kMsixData + 16 * v, 0xFFFFFFFE00000000ull + v, true);
  }
  for (unsigned v = 0; v < 64; ++v) {
    EXPECT_EQ(b.read_now(4, reg::kMsixAddrLo + 16 * v, true).data,
              (0xFEE0'0003'FEE0'0007ull + v) & ~3ull);
    EXPECT_EQ(b.read_now(4, reg::kMsixData + 16 * v, true).data, v);
  }
  EXPECT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, 0u);
}

TEST_F(HostIf, UnmaskedRaiseIsOneMessageInPlace) {
  set_entry(b, 9, 0xFEE01000, 0x4242);
  set_mask(b, 9, false);
  b.read_now(0, reg::kHostId);
  b.dma_write(kHost | 0x100, 64);
  b.msix_raise(9);
  b.dma_write(kHost | 0x200, 64);
  b.msix_raise(9);
  b.msix_raise(9);
  b.drain();
  ASSERT_EQ(b.hdma.size(), 5u);
  const int kinds[] = {1, 2, 1, 2, 2};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(b.hdma[i].kind, kinds[i]) << i;
  EXPECT_EQ(b.hdma[1].addr, 0xFEE01000u);
  EXPECT_EQ(b.hdma[1].data[0], 0x4242u);
  EXPECT_EQ(b.hdma[1].len, 4);
  EXPECT_EQ(b.hdma[1].tag, 9);
}

TEST_F(HostIf, MaskedRaisesAreOneMessageAfterUnmask) {
  for (unsigned v : {0u, 31u, 32u, 63u}) {
    for (int i = 0; i < 3; ++i) b.msix_raise(v);
  }
  b.drain();
  const uint64_t bits = 1ull | 1ull << 31 | 1ull << 32 | 1ull << 63;
  EXPECT_EQ(read_pba(b), bits);
  EXPECT_TRUE(b.hdma.empty());
  for (unsigned v : {63u, 0u, 32u, 31u}) {
    set_mask(b, v, false);
    b.drain();
    EXPECT_EQ(b.messages[v], 1u) << v;
  }
  EXPECT_EQ(read_pba(b), 0u);
  for (unsigned v : {0u, 31u, 32u, 63u}) {  // unmasking again sends nothing
    set_mask(b, v, true);
    set_mask(b, v, false);
  }
  b.drain();
  EXPECT_EQ(b.hdma.size(), 4u);
}

TEST_F(HostIf, BusMasteringOffKeepsInterruptsPending) {
  set_mask(b, 5, false);
  b.drain();
  b.bme = false;
  b.msix_raise(5);
  b.msix_raise(5);
  b.drain();
  EXPECT_TRUE(b.hdma.empty());
  EXPECT_EQ(read_pba(b), 1u << 5);
  EXPECT_EQ(b.read_now(0, reg::kHostCntDmaBlocked).data, 2u);
  b.run(100);
  EXPECT_FALSE(b.idle());
  b.bme = true;
  b.drain();
  EXPECT_EQ(b.messages[5], 1u);
  EXPECT_EQ(read_pba(b), 0u);
}

TEST_F(HostIf, UnknownVectorIsCounted) {
  b.msix_raise(64);
  b.msix_raise(0xFFFF);
  b.drain();
  EXPECT_EQ(b.read_now(0, reg::kHostCntDmaBlocked).data, 2u);
  EXPECT_EQ(read_pba(b), 0u);
}

TEST_F(HostIf, AllVectorsFireAtOnce) {
  for (unsigned v = 0; v < 64; ++v) set_entry(b, v, 0xFEE00000 + 4096ull * v, v * 3);
  for (unsigned v = 0; v < 64; ++v) b.msix_raise(v);
  b.drain();
  EXPECT_EQ(read_pba(b), ~0ull);
  b.bme = false;
  for (unsigned v = 0; v < 64; ++v) set_mask(b, v, false);
  b.drain();
  b.bme = true;
  b.drain();
  for (unsigned v = 0; v < 64; ++v) EXPECT_EQ(b.messages[v], 1u);
}

// Raise at every distance from an unmask, a mask and a mask-unmask pair: exactly one message, and
// none after a mask was read back.
TEST(HostIfRace, RaiseAgainstMaskChange) {
  Bench b(7);
  b.probe_outputs = true;
  for (int ready : {100, 30}) {
    b.rates.hdma_ready = ready;
    for (int scenario = 0; scenario < 3; ++scenario) {
      for (int distance = -12; distance <= 12; ++distance) {
        b.reset();
        const unsigned v = unsigned(distance + 12);
        set_mask(b, v, scenario != 0);
        b.drain();
        const auto change = [&] {
          if (scenario != 0) set_mask(b, v, false);
          if (scenario != 1) set_mask(b, v, true);
          if (scenario == 2) set_mask(b, v, false);
          if (scenario == 0) b.mmio_read(4, msix_ctrl(v));
        };
        if (distance < 0) {
          change();
          b.run(unsigned(-distance));
          b.dma_write(kHost, 64);
          b.msix_raise(v);
        } else {
          b.dma_write(kHost, 64);
          b.msix_raise(v);
          b.run(unsigned(distance));
          change();
        }
        b.drain();
        if (scenario == 0) {
          const uint64_t pending = read_pba(b) >> v & 1;
          EXPECT_EQ(pending, b.messages[v] == 0 ? 1u : 0u) << distance;
        }
        set_mask(b, v, false);
        b.drain();
        EXPECT_EQ(b.messages[v], 1u) << "scenario " << scenario << " distance " << distance;
        EXPECT_EQ(read_pba(b), 0u);
      }
    }
  }
}

// -------------------------------------------------------------------------------- random

class Random {
 public:
  explicit Random(uint64_t seed) : rng_(seed ^ 0x5eed) {}
  uint64_t operator()(uint64_t n) { return rng_() % n; }
  uint64_t any() { return rng_(); }

 private:
  std::mt19937_64 rng_;
};

void random_rates(Bench& b, Random& r) {
  const auto rate = [&] {
    const int choice[] = {100, 100, 90, 50, 20, 3};
    return choice[r(6)];
  };
  b.rates = {rate(), rate(), rate(), rate(), rate(), rate(), rate(), rate()};
}

void random_mmio(Bench& b, Random& r, uint64_t table_vectors, bool masks) {
  const bool size8 = r(4) == 0;
  const auto access = [&](unsigned bar, uint32_t addr) {
    if (size8 && r(16) != 0) addr &= ~7u;
    if (r(3) != 0)
      b.mmio_write(bar, addr, r.any(), size8);
    else
      b.mmio_read(bar, addr, size8);
  };
  if (r(6) == 0) {  // a pushed entry, perhaps disturbed
    const uint32_t qpn = uint32_t(r(4) == 0 ? r(reg::kDbPushCount + 2) : r(3));
    const unsigned stop = r(3) == 0 ? unsigned(r(8)) : 8;
    for (unsigned i = 0; i < stop; ++i) b.mmio_write(4, push_addr(qpn, i), r.any(), true);
    if (stop < 8 && r(2)) access(4, push_addr(qpn, unsigned(r(8))));
    return;
  }
  switch (r(masks ? 9 : 8)) {
    case 0:
      access(0, uint32_t(r(12)) * 4);
      break;
    case 1:
      access(0, reg::kNicVersion + uint32_t(r(0x300 / 4)) * 4);
      break;
    case 2:
    case 3:
      access(4, r(4) ? uint32_t(r(2048 + 4)) * 4 : reg::kDbCtr - 8 + uint32_t(r(260)) * 4);
      break;
    case 4:
      access(4, reg::kDbCq + uint32_t(r(66)) * 8);
      break;
    case 5: {  // message words of vectors that stay masked in this phase
      const unsigned v = unsigned(r(64));
      if (table_vectors >> v & 1)
        access(4, reg::kMsixAddrLo + v * 16 + (size8 ? 0 : uint32_t(r(3)) * 4));
      else
        b.mmio_read(4, reg::kMsixAddrLo + v * 16 + uint32_t(r(2)) * 8, true);
      break;
    }
    case 6:
      b.mmio_read(4, reg::kMsixPba, true);
      break;
    case 7:
      access(unsigned(r(8)), uint32_t(r.any() >> r(32)) & (r(8) ? ~3u : ~0u));
      break;
    case 8: {
      const unsigned v = unsigned(r(8));
      set_mask(b, v, r(2));
      if (r(2)) b.mmio_read(4, msix_ctrl(v));
      break;
    }
  }
}

void random_dma(Bench& b, Random& r, unsigned vectors) {
  const uint64_t addr = kHost | (r.any() & 0xFFFFFFFFC0ull);
  switch (r(3)) {
    case 0:
      b.dma_read(addr + r(2) * 32, 1 + unsigned(r(32)));
      break;
    case 1:
      b.dma_write(addr, 1 + unsigned(r(64)));
      break;
    case 2:
      b.msix_raise(unsigned(r(vectors)));
      break;
  }
}

/// With masks and bus mastering fixed, the stream to PCIe is known exactly.
void exact_phase(Bench& b, Random& r) {
  b.bme = true;
  const uint64_t mask = r.any();
  for (unsigned v = 0; v < 64; ++v) {
    set_entry(b, v, r.any(), uint32_t(r.any()));
    set_mask(b, v, mask >> v & 1);
  }
  b.drain();
  const uint64_t pending_before = read_pba(b);
  ASSERT_EQ(pending_before & ~mask, 0u);
  const size_t start = b.hdma.size();
  std::vector<std::pair<int, uint64_t>> want;  // kind, address or vector
  uint64_t pend = pending_before;
  const unsigned n = unsigned(50 + r(150));
  for (unsigned i = 0; i < n; ++i) {
    if (r(2)) random_mmio(b, r, mask, false);
    const uint64_t addr = kHost | (r.any() & 0xFFFFFFFFC0ull);
    const unsigned v = unsigned(r(64));
    switch (r(3)) {
      case 0:
        b.dma_read(addr, 64);
        want.push_back({0, addr});
        break;
      case 1:
        b.dma_write(addr, 64);
        want.push_back({1, addr});
        break;
      case 2:
        b.msix_raise(v);
        if (mask >> v & 1)
          pend |= 1ull << v;
        else
          want.push_back({2, v});
        break;
    }
  }
  b.drain();
  ASSERT_EQ(b.hdma.size() - start, want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const DmaReq& got = b.hdma[start + i];
    ASSERT_EQ(got.kind, want[i].first) << i;
    ASSERT_EQ(got.kind == 2 ? got.tag : got.addr, want[i].second) << i;
  }
  ASSERT_EQ(read_pba(b), pend);
  ASSERT_EQ(b.open_vectors() & ~pend, 0u);
}

/// Masks and bus mastering change while accesses run.
void race_phase(Bench& b, Random& r) {
  // Only vectors 0..7 change their mask; the others are masked and their entries may change.
  for (unsigned v = 8; v < 64; ++v) set_mask(b, v, true);
  b.drain();
  const unsigned n = unsigned(300 + r(300));
  const bool toggle = r(2);
  for (unsigned i = 0; i < n; ++i) {
    if (r(2)) random_mmio(b, r, ~0xFFull, true);
    if (r(2)) random_dma(b, r, 10);
    b.run(unsigned(r(6)));
    if (toggle && r(40) == 0) b.bme = !b.bme;
  }
  b.bme = true;
  b.drain();
  // Nothing is lost: a raise without a later message is pending, and only behind a mask. (A raise
  // that was queued while an earlier message left may be pending although that message answers it.)
  const uint64_t pba = read_pba(b);
  ASSERT_EQ(b.open_vectors() & ~pba, 0u);
  ASSERT_EQ(pba & ~b.model_mask(), 0u);
  for (unsigned v = 0; v < 64; ++v) ASSERT_LE(b.messages[v] + (pba >> v & 1), b.raises[v]) << v;
}

void final_phase(Bench& b) {
  b.bme = true;
  b.drain();
  const auto before = b.messages;
  const uint64_t pending = read_pba(b);
  for (unsigned v = 0; v < 64; ++v) set_mask(b, v, false);
  b.drain();
  for (unsigned v = 0; v < 64; ++v) {
    ASSERT_EQ(b.messages[v] - before[v], pending >> v & 1) << "vector " << v;
  }
  ASSERT_EQ(b.open_vectors(), 0u);
  ASSERT_EQ(read_pba(b), 0u);
  ASSERT_EQ(b.read_now(0, reg::kHostCntMmioBad).data, uint32_t(b.mmio_bad));
  ASSERT_TRUE(b.idle());
}

TEST(HostIfRandom, Traffic) {
  for (uint64_t seed : seeds(40, 1)) {
    with_seed(seed, [](uint64_t s) {
      Bench b(s);
      Random r(s);
      b.probe_outputs = s % 2;
      for (int phase = 0; phase < 4; ++phase) {
        random_rates(b, r);
        if (r(2))
          exact_phase(b, r);
        else
          race_phase(b, r);
        if (::testing::Test::HasFatalFailure()) return;
      }
      final_phase(b);
    });
  }
}

TEST(HostIfRandom, ResetInMidOperation) {
  for (uint64_t seed : seeds(40, 2)) {
    with_seed(seed, [](uint64_t s) {
      Bench b(s);
      Random r(s);
      for (int round = 0; round < 12; ++round) {
        random_rates(b, r);
        b.bme = r(4) != 0;
        const unsigned n = unsigned(r(60));
        for (unsigned i = 0; i < n; ++i) {
          random_mmio(b, r, ~0xFFull, true);
          random_dma(b, r, 8);
          b.run(unsigned(r(4)));
        }
        b.reset(1 + unsigned(r(3)));
        // Everything is as after power-up.
        ASSERT_TRUE(b.idle());
        const unsigned v = unsigned(r(64));
        ASSERT_EQ(b.read_now(4, reg::kMsixAddrLo + 16 * v, true).data, 0u);
        ASSERT_EQ(b.read_now(4, reg::kMsixData + 16 * v, true).data, 1ull << 32);
        ASSERT_EQ(read_pba(b), 0u);
        ASSERT_EQ(b.read_now(0, reg::kHostScratch).data, 0u);
        ASSERT_EQ(b.read_now(0, reg::kHostCntMmioBad, true).data, 0u);
      }
      exact_phase(b, r);
      if (::testing::Test::HasFatalFailure()) return;
      final_phase(b);
    });
  }
}

// Not clocking the idle block changes nothing.
TEST(HostIfRandom, SkippingIdleCyclesChangesNothing) {
  for (uint64_t seed : seeds(10, 3)) {
    with_seed(seed, [](uint64_t s) {
      uint64_t hashes[2] = {}, skipped = 0;
      for (int skip = 0; skip < 2; ++skip) {
        Bench b(s);
        Random r(s);
        b.skip_idle = skip != 0;
        b.rates.mmio = b.rates.dma = 10;
        for (int i = 0; i < 300; ++i) {
          random_mmio(b, r, ~0xFFull, true);
          random_dma(b, r, 8);
          if (r(20) == 0) b.bme = !b.bme;
          b.run(unsigned(r(80)));
        }
        final_phase(b);
        hashes[skip] = b.event_hash;
        skipped = b.cycles_skipped;
      }
      EXPECT_EQ(hashes[0], hashes[1]);
      EXPECT_GT(skipped, 500u);
    });
  }
}

TEST(HostIfBench, StuckInterfaceIsReported) {
  Bench b(3);
  b.rates.hdma_ready = 0;
  b.dma_write(kHost, 64);
  try {
    b.drain();
    FAIL() << "not noticed";
  } catch (const Mismatch& e) {
    EXPECT_NE(std::string(e.what()).find("no progress"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace host_if_test
