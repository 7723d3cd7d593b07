// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests of ubl_switch at Radix 4, 5 and 16.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "Vubl_switch16Chk.h"
#include "Vubl_switch4Chk.h"
#include "Vubl_switch5Chk.h"
#include "switch_bench.hpp"
#include "ubl/test/seed.hpp"

namespace {

using namespace fabric;

using Bench4 = Bench<Vubl_switch4Chk, 4>;
using Bench5 = Bench<Vubl_switch5Chk, 5>;
using Bench16 = Bench<Vubl_switch16Chk, 16>;

constexpr int kReq = static_cast<int>(spec::Vc::kReq);
constexpr int kRsp = static_cast<int>(spec::Vc::kRsp);
constexpr int kBulk = static_cast<int>(spec::Vc::kBulk);
constexpr int kMaxFlits = spec::kLinkMaxFrameFlits;

// The seed of a random test; the test program prints UBL_SEED.
uint64_t seed(uint64_t salt) { return ubl::test::seed() * 1000 + salt; }

template <class B>
void expect_clean(const B& b) {
  for (const auto& f : b.failures) ADD_FAILURE() << f;
  for (const auto& e : b.errors) {
    ADD_FAILURE() << "cycle " << e.cycle << " port " << e.port << ": " << to_string(e.code);
  }
}
template <class B>
void expect_failures_empty(const B& b) {
  for (const auto& f : b.failures) ADD_FAILURE() << f;
}

// The frame as a switch must send it when it marks it: recomputed, not updated. Of a bad frame,
// checksum and FCS stay as wrong as they were.
Frame marked(const Frame& f) {
  Frame m = f;
  uint8_t* header = m.bytes.data() + spec::kLinkEthBytes;
  const int wrong = ip_checksum(header);
  header[1] = static_cast<uint8_t>((header[1] & ~3) | static_cast<int>(spec::Ecn::kCe));
  uint16_t sum = static_cast<uint16_t>(header[10] << 8 | header[11]);
  if (wrong == 0) {
    header[10] = header[11] = 0;
    sum = ip_checksum(header);
  } else {
    sum = sum == 0 ? 0xfffe : static_cast<uint16_t>(sum - 1);
  }
  header[10] = static_cast<uint8_t>(sum >> 8);
  header[11] = static_cast<uint8_t>(sum);
  set_fcs(m, fcs_of(f) ^ right_fcs(f) ^ right_fcs(m));
  return m;
}

// All frames are marked while `n` flits or more wait.
template <class B>
void mark_from(B& b, int n) {
  b.dut->ecn_kmin_i = b.dut->ecn_kmax_i = n;
}

FrameOptions with_ecn(spec::Ecn ecn) {
  FrameOptions o;
  o.ecn = static_cast<int>(ecn);
  return o;
}

bool may_be_marked(const Frame& want, const Frame& got) {
  const bool may = want.vc != kRsp && (want.bytes[15] & 3) == static_cast<int>(spec::Ecn::kEct0);
  return got.bytes == want.bytes || (may && got.bytes == marked(want).bytes);
}

template <class B>
class Switch : public testing::Test {};
using Radices = testing::Types<Bench4, Bench5, Bench16>;
TYPED_TEST_SUITE(Switch, Radices);

// After a drain: every output holds exactly the initial credits of every VC.
template <class B>
void expect_output_credits(B& b) {
  b.bubbles = 0;
  b.credit_delay = [](int, int) { return -1; };
  for (int o = 0; o < b.kRadix; ++o) {
    for (int vc = 0; vc < kVcs; ++vc) {
      for (int k = 0; k < b.kDepth / 64; ++k) b.send(make_frame(o, o, vc, size_of(64), k, b.rng));
    }
  }
  for (int k = 0; k < 50 && b.outstanding != 0; ++k) b.run(100);
  EXPECT_EQ(b.outstanding, 0) << b.report();
  for (int o = 0; o < b.kRadix; ++o) {
    for (int vc = 0; vc < kVcs; ++vc) b.send(make_frame(o, o, vc, size_of(1), 99, b.rng));
  }
  b.run(100);
  EXPECT_EQ(b.outstanding, b.kRadix * kVcs);
  b.credit_delay = [](int, int) { return 0; };
  for (int o = 0; o < b.kRadix; ++o) {
    for (int vc = 0; vc < kVcs; ++vc) b.release(o, vc);
  }
  EXPECT_TRUE(b.drain());
  b.expect_home();
}

TYPED_TEST(Switch, EveryPairEveryVc) {
  TypeParam b;
  EXPECT_TRUE(b.dut->idle_o);
  uint64_t id = 0;
  for (int in = 0; in < b.kRadix; ++in) {
    for (int out = 0; out < b.kRadix; ++out) {  // in == out: loopback
      for (int vc = 0; vc < kVcs; ++vc) b.send(make_frame(in, out, vc, 200, ++id, b.rng));
    }
    ASSERT_TRUE(b.drain());
  }
  b.expect_home();
  expect_clean(b);
}

TYPED_TEST(Switch, EveryLength) {
  TypeParam b;
  uint64_t id = 0;
  for (int flits = 1; flits <= kMaxFlits; ++flits) {
    for (int fill : {1, 3, 4, 5, 63, 64}) {
      if (flits == 1 && fill < 38) continue;
      const int in = static_cast<int>(b.rng() % b.kRadix);
      const int out = static_cast<int>(b.rng() % b.kRadix);
      b.send(make_frame(in, out, flits % kVcs, size_of(flits, fill), ++id, b.rng));
    }
  }
  b.send(make_frame(0, 1, kBulk, 38, ++id, b.rng));  // the shortest: Ethernet, IP, FCS
  ASSERT_TRUE(b.drain());
  b.expect_home();
  expect_clean(b);
}

// A frame received in cycle 0 leaves in cycle 4 when nothing is in its way.
TYPED_TEST(Switch, FallThroughLatency) {
  TypeParam b;
  for (int flits : {1, 2, 66}) {
    for (int vc = 0; vc < kVcs; ++vc) {
      uint64_t first = 0;
      b.on_frame = [&](int, const Frame&, uint64_t at) { first = at; };
      const uint64_t sent = b.cycle();
      b.send(make_frame(1, 2, vc, size_of(flits), 1, b.rng));
      ASSERT_TRUE(b.drain());
      // `first` counts the cycle in which the flit is on the output as sampled after the edge.
      EXPECT_EQ(first - sent, 4u) << flits << " flits";
    }
  }
  expect_clean(b);
}

// Cut-through: the head leaves long before the tail has arrived, bubbles pass through.
TYPED_TEST(Switch, CutThroughWithBubbles) {
  TypeParam b;
  b.bubbles = 128;
  uint64_t first = 0;
  b.on_frame = [&](int, const Frame&, uint64_t at) { first = at; };
  const uint64_t sent = b.cycle();
  b.send(make_frame(0, 3, kBulk, size_of(66), 1, b.rng));
  ASSERT_TRUE(b.drain());
  EXPECT_LT(first - sent, 30u);
  EXPECT_GT(b.cycle() - sent, 100u);
  b.expect_home();
  expect_clean(b);
}

TYPED_TEST(Switch, RoutesCanBeChangedAndReadBack) {
  TypeParam b;
  const auto read = [&](int node) {
    b.dut->cfg_addr_i = node;
    b.dut->eval();
    return int(b.dut->cfg_rdata_o);
  };
  for (int n = 0; n < b.kRadix; ++n) EXPECT_EQ(read(n), n);
  for (int n : {b.kRadix, 255, 1023, 1024, 65535}) EXPECT_EQ(read(n), 255) << n;
  b.route(700, 2);
  b.route(1, 3);
  b.route(2, 255);
  b.route(5000, 1);      // beyond the table: ignored, and the read-back says so
  b.route(3, b.kRadix);  // no such port: no route
  EXPECT_EQ(read(700), 2);
  EXPECT_EQ(read(1), 3);
  EXPECT_EQ(read(2), 255);
  EXPECT_EQ(read(5000), 255);
  EXPECT_EQ(read(3), 255);
  Frame f = make_frame(0, 700, kBulk, 300, 1, b.rng);
  f.out = 2;
  b.send(f);
  f = make_frame(0, 1, kBulk, 300, 2, b.rng);
  f.out = 3;
  b.send(f);
  b.send(make_frame(0, 2, kBulk, 300, 3, b.rng), false);
  b.send(make_frame(0, 3, kBulk, 300, 4, b.rng), false);
  b.send(make_frame(0, 0, kBulk, 300, 5, b.rng));
  ASSERT_TRUE(b.drain());
  b.expect_home();
  EXPECT_EQ(b.errors.size(), 2u);
  expect_failures_empty(b);
  b.reset();
  EXPECT_EQ(read(1), 1);
  EXPECT_EQ(read(700), 255);
}

// Frames that cannot be routed are dropped, reported once, and their credits come back.
TYPED_TEST(Switch, NoRouteDrops) {
  TypeParam b;
  b.dut->plane_i = 3;
  FrameOptions good;
  good.plane = 3;
  FrameOptions plane = good;
  plane.plane = 2;
  FrameOptions net = good;
  net.net = 11;
  FrameOptions type = good;
  type.ether_type = 0x86dd;
  uint64_t id = 0;
  for (int flits : {1, 2, 66}) {
    for (const auto& o : {plane, net, type}) {
      b.send(make_frame(1, 2, kBulk, size_of(flits), ++id, b.rng, o), false);
      b.send(make_frame(1, 2, kBulk, size_of(flits), ++id, b.rng, good));
    }
    b.send(make_frame(1, 900, kReq, size_of(flits), ++id, b.rng, good), false);
    b.send(make_frame(1, 40000, kRsp, size_of(flits), ++id, b.rng, good), false);
  }
  ASSERT_TRUE(b.drain());
  b.expect_home();
  ASSERT_EQ(b.errors.size(), 15u);
  for (const auto& e : b.errors) {
    EXPECT_EQ(e.port, 1);
    EXPECT_EQ(e.code, spec::SwitchErr::kNoRoute) << to_string(e.code);
  }
  expect_failures_empty(b);
}

// Flit k of a frame as the wire would carry it, changed by hand.
Flit wire(const Frame& f, int k, bool sop, bool eop, int vc) {
  Flit t = flit_of(f, k);
  t.sop = sop;
  t.eop = eop;
  t.vc = vc;
  if (!eop) t.empty = 0;
  return t;
}

// Sends raw flits, then a good frame on every VC, and checks that only the expected codes were
// reported, that the switch lives, and that no credit was lost.
template <class B>
void after_fault(B& b, const std::vector<spec::SwitchErr>& codes, int settle = 200) {
  b.run(settle);
  b.check_frames = true;
  for (int in = 0; in < b.kRadix; ++in) {
    for (int vc = 0; vc < kVcs; ++vc) {
      for (int k = 0; k < 3; ++k) {
        b.send(make_frame(in, (in + 1) % b.kRadix, vc, size_of(1 + 20 * k), 100 + vc, b.rng));
      }
    }
  }
  EXPECT_TRUE(b.drain());
  b.expect_home();
  expect_output_credits(b);
  std::vector<spec::SwitchErr> got;
  for (const auto& e : b.errors) got.push_back(e.code);
  EXPECT_EQ(got, codes);
  expect_failures_empty(b);
}

TYPED_TEST(Switch, FlitWithoutSop) {
  TypeParam b;
  const Frame f = make_frame(0, 1, kBulk, size_of(3), 1, b.rng);
  b.raw(0, wire(f, 1, false, false, kBulk));
  b.raw(0, wire(f, 2, false, true, kReq));
  after_fault(b, {spec::SwitchErr::kNoSop, spec::SwitchErr::kNoSop});
}

TYPED_TEST(Switch, SopWithinFrame) {
  for (int intruder : {size_of(4), size_of(1, 40)}) {
    TypeParam b;
    b.check_frames = false;
    int frames = 0;
    b.on_frame = [&](int out, const Frame& got, uint64_t) {
      if (++frames > 1) return;
      EXPECT_EQ(out, 1);
      EXPECT_EQ(got.bytes.size(), 3u * kFlitBytes);  // two good flits and the closing one
      EXPECT_NE(crc32(got.bytes.data(), got.bytes.size()), 0x2144df1cu);
    };
    const Frame f = make_frame(0, 1, kBulk, size_of(10), 1, b.rng);
    const Frame g = make_frame(0, 2, kReq, intruder, 2, b.rng);
    b.raw(0, wire(f, 0, true, false, kBulk));
    b.raw(0, wire(f, 1, false, false, kBulk));
    for (int k = 0; k < g.flits(); ++k) b.raw(0, flit_of(g, k));
    after_fault(b, {spec::SwitchErr::kSopInFrame});
  }
}

TYPED_TEST(Switch, FrameShorterThanItsHeader) {
  TypeParam b;
  b.check_frames = false;
  const Frame f = make_frame(0, 1, kBulk, size_of(10), 1, b.rng);
  const Frame g = make_frame(0, 1, kBulk, size_of(2), 1, b.rng);
  b.raw(0, wire(f, 0, true, true, kBulk));  // one flit instead of ten
  for (int k = 0; k < 4; ++k) b.raw(0, wire(f, k, k == 0, k == 3, kReq));
  b.raw(0, wire(g, 0, true, true, kRsp));
  after_fault(b, {spec::SwitchErr::kLength, spec::SwitchErr::kLength, spec::SwitchErr::kLength});
}

TYPED_TEST(Switch, FrameLongerThanItsHeader) {
  TypeParam b;
  b.check_frames = false;
  std::vector<std::size_t> sizes;
  b.on_frame = [&](int, const Frame& got, uint64_t) { sizes.push_back(got.bytes.size()); };
  const Frame f = make_frame(0, 1, kBulk, size_of(10), 1, b.rng);
  const Frame g = make_frame(0, 1, kBulk, size_of(2), 1, b.rng);
  const Frame h = make_frame(0, 1, kBulk, size_of(1), 1, b.rng);
  for (int k = 0; k < 10; ++k) b.raw(0, k == 0 ? wire(g, 0, true, false, kBulk) : flit_of(f, k));
  for (int k = 0; k < 10; ++k) b.raw(0, k == 0 ? wire(h, 0, true, false, kBulk) : flit_of(f, k));
  after_fault(b, {spec::SwitchErr::kLength, spec::SwitchErr::kLength});
  ASSERT_GE(sizes.size(), 2u);
  EXPECT_EQ(sizes[0], 128u);
  EXPECT_EQ(sizes[1], 64u);
}

TYPED_TEST(Switch, ImpossibleLength) {
  TypeParam b;
  Frame f = make_frame(0, 1, kBulk, size_of(67), 1, b.rng);  // one flit too long
  for (int k = 0; k < 67; ++k) b.raw(0, flit_of(f, k));
  f.bytes[16] = f.bytes[17] = 0xff;
  for (int k = 0; k < 5; ++k) b.raw(0, wire(f, k, k == 0, k == 4, kReq));
  after_fault(b, {spec::SwitchErr::kLength, spec::SwitchErr::kLength});
}

TYPED_TEST(Switch, BadVirtualChannel) {
  TypeParam b;
  b.check_frames = false;
  const Frame f = make_frame(0, 1, kBulk, size_of(4), 1, b.rng);
  for (int k = 0; k < 4; ++k) b.raw(0, wire(f, k, k == 0, k == 3, 3));  // dropped
  for (int k = 0; k < 4; ++k) b.raw(0, wire(f, k, k == 0, k == 3, k == 2 ? kReq : kBulk));
  for (int k = 0; k < 4; ++k) b.raw(0, wire(f, k, k == 0, k == 3, k == 2 ? 3 : kBulk));  // cut
  for (int k = 0; k < 4; ++k) b.raw(0, wire(f, k, k == 0, k == 3, k == 3 ? 3 : kBulk));  // cut
  after_fault(b, std::vector<spec::SwitchErr>(4, spec::SwitchErr::kVc));
}

// A sender that ignores credits: the excess is dropped and reported, what had credits arrives.
TYPED_TEST(Switch, BufferOverflow) {
  TypeParam b;
  b.credit_delay = [](int, int) { return -1; };
  b.check_frames = false;
  // Fill the output's credits and then the input's buffer: 2 x 512 flits.
  for (int k = 0; k < 64; ++k) b.send(make_frame(0, 1, kBulk, size_of(16), k, b.rng), false);
  b.run(1100);
  const Frame f = make_frame(0, 1, kBulk, size_of(5), 99, b.rng);
  for (int k = 0; k < 5; ++k) b.raw(0, flit_of(f, k), false);
  b.run(20);
  // One credit away from full: a frame that is stored in part is cut.
  b.release(1, kBulk, 16);
  b.run(40);
  const Frame g = make_frame(0, 1, kBulk, size_of(32), 98, b.rng);
  for (int k = 0; k < 32; ++k) b.raw(0, flit_of(g, k), k < 16);
  b.run(60);
  EXPECT_EQ(b.errors.size(), 2u);
  b.credit_delay = [](int, int) { return 0; };
  b.release(1, kBulk);
  after_fault(b, {spec::SwitchErr::kOverflow, spec::SwitchErr::kOverflow}, 1500);
}

TYPED_TEST(Switch, CreditOverflow) {
  TypeParam b;
  b.extra_credit(2, kBulk);
  b.extra_credit(2, kReq);
  b.run(2);
  b.extra_credit(2, kRsp);
  after_fault(b, std::vector<spec::SwitchErr>(3, spec::SwitchErr::kCredit));
}

// Errors of both sides of a port in the same cycles: none is lost.
TYPED_TEST(Switch, SimultaneousErrors) {
  TypeParam b;
  for (int k = 0; k < 5; ++k) {
    Flit f;
    b.raw(3, f);
    b.extra_credit(3, k % kVcs);
    b.extra_credit(3, (k + 1) % kVcs);
    b.step();
  }
  std::vector<spec::SwitchErr> codes(5, spec::SwitchErr::kNoSop);
  codes.insert(codes.end(), 10, spec::SwitchErr::kCredit);
  after_fault(b, codes);
}

// rsp before req before bulk at frame boundaries, whatever came first.
TYPED_TEST(Switch, StrictPriority) {
  TypeParam b;
  b.credit_delay = [](int, int) { return -1; };
  // Exhaust the credits of every VC of output 3.
  uint64_t id = 0;
  for (int vc = 0; vc < kVcs; ++vc) {
    for (int k = 0; k < 8; ++k) b.send(make_frame(vc, 3, vc, size_of(64), ++id, b.rng));
  }
  ASSERT_TRUE(b.run_alive(1600));
  std::vector<int> order;
  b.on_frame = [&](int, const Frame& got, uint64_t) { order.push_back(got.vc); };
  for (int k = 0; k < 4; ++k) {
    b.send(make_frame(0, 3, kBulk, size_of(10), ++id, b.rng));
    b.send(make_frame(1, 3, kReq, size_of(10), ++id, b.rng));
    b.send(make_frame(2, 3, kRsp, size_of(10), ++id, b.rng));
  }
  b.run(100);
  EXPECT_TRUE(order.empty());
  b.credit_delay = [](int, int) { return 0; };
  // Bulk gets its credits first: its first frame begins, then the others overtake.
  b.release(3, kBulk);
  b.run(12);
  b.release(3, kReq);
  b.release(3, kRsp);
  ASSERT_TRUE(b.drain());
  ASSERT_EQ(order.size(), 12u);
  const std::size_t begun = std::find(order.begin(), order.end(), kRsp) - order.begin();
  EXPECT_LE(begun, 3u);
  for (std::size_t k = 0; k < begun; ++k) EXPECT_NE(order[k], kRsp);
  for (std::size_t k = begun; k < begun + 4; ++k) EXPECT_EQ(order[k], kRsp) << k;
  // Whatever of req is left comes before the rest of bulk.
  EXPECT_TRUE(std::is_sorted(order.begin() + begun + 4, order.end(),
                             [](int a, int c) { return a == kReq && c == kBulk; }));
  b.expect_home();
  expect_clean(b);
}

// A VC without credits stops neither the other VCs of its output nor other outputs.
TYPED_TEST(Switch, BlockedVcBlocksNothingElse) {
  TypeParam b;
  b.credit_delay = [](int out, int vc) { return out == 1 && vc == kBulk ? -1 : 0; };
  uint64_t id = 0;
  for (int k = 0; k < 12; ++k) b.send(make_frame(0, 1, kBulk, size_of(64), ++id, b.rng));
  ASSERT_TRUE(b.run_alive(900));
  const int64_t stuck = b.outstanding;
  EXPECT_EQ(stuck, 4);
  for (int k = 0; k < 20; ++k) {
    b.send(make_frame(0, 1, kReq, size_of(30), ++id, b.rng));
    b.send(make_frame(0, 1, kRsp, size_of(2), ++id, b.rng));
    b.send(make_frame(0, 2, kBulk, size_of(6), ++id, b.rng));
  }
  ASSERT_TRUE(b.run_alive(1200, 1000));
  EXPECT_EQ(b.outstanding, stuck);
  b.release(1, kBulk);
  b.credit_delay = [](int, int) { return 0; };
  ASSERT_TRUE(b.drain());
  b.expect_home();
  expect_clean(b);
}

// An output starts a frame exactly when its last credit arrives.
TYPED_TEST(Switch, StartsWithExactCredits) {
  TypeParam b;
  b.credit_delay = [](int, int) { return -1; };
  uint64_t id = 0;
  for (int k = 0; k < 8; ++k) b.send(make_frame(0, 1, kBulk, size_of(64), ++id, b.rng));
  ASSERT_TRUE(b.run_alive(600));
  ASSERT_EQ(b.outstanding, 0);
  for (int flits : {1, 2, 5, 66}) {
    b.send(make_frame(0, 1, kBulk, size_of(flits), ++id, b.rng));
    b.run(100);
    b.release(1, kBulk, flits - 1);
    b.run(100);
    EXPECT_EQ(b.outstanding, 1) << flits;
    b.release(1, kBulk, 1);
    b.run(100);
    EXPECT_EQ(b.outstanding, 0) << flits;
  }
  b.release(1, kBulk);
  ASSERT_TRUE(b.drain());
  b.expect_home();
  expect_clean(b);
}

// Garbage on every input: any mix of first and last flits, lengths, nodes and virtual channels, now
// and then without a credit. What leaves is well framed and within credits, and when it is over
// no credit is lost and good traffic flows.
TYPED_TEST(Switch, Garbage) {
  TypeParam b(seed(21));
  for (int round = 0; round < 40; ++round) {
    b.check_frames = false;
    mark_from(b, round % 3 ? 20 : 0xffff);
    const int first = 1 << (b.rng() % 6);
    const int last = 1 << (b.rng() % 6);
    const bool hold = b.rng() % 2;
    b.credit_delay = [&b, hold](int, int) -> int {
      return hold && b.rng() % 3 == 0 ? -1 : static_cast<int>(b.rng() % 8);
    };
    for (int c = 0; c < 600; ++c) {
      for (int in = 0; in < b.kRadix; ++in) {
        if (b.rng() % 8 == 0) continue;
        const int node = static_cast<int>(b.rng() % 16 ? b.rng() % b.kRadix : b.rng());
        const int flits = 1 + static_cast<int>(b.rng() % (b.rng() % 16 ? 8 : 80));
        Flit f = flit_of(make_frame(in, node & 0xffff, 0, size_of(std::min(flits, 2)), c, b.rng,
                                    with_ecn(spec::Ecn::kEct0)),
                         0);
        const int length = size_of(flits) - 18;
        uint8_t* bytes = reinterpret_cast<uint8_t*>(f.data.data());
        bytes[16] = static_cast<uint8_t>(length >> 8);
        bytes[17] = static_cast<uint8_t>(length);
        f.sop = b.rng() % first == 0;
        f.eop = b.rng() % last == 0;
        f.vc = static_cast<int>(b.rng() % 32 ? b.rng() % kVcs : 3);
        f.empty = 0;
        const bool credit = f.vc < kVcs && b.credits(in, f.vc) > 0;
        if (!credit && f.vc < kVcs && b.rng() % 8) continue;
        b.raw(in, f, credit);
      }
      b.step();
    }
    // Close what is open: a last flit on every input.
    b.credit_delay = [](int, int) { return 0; };
    for (int o = 0; o < b.kRadix; ++o) {
      for (int v = 0; v < kVcs; ++v) b.release(o, v);
    }
    for (int in = 0; in < b.kRadix; ++in) {
      for (int k = 0; b.credits(in, 0) == 0 && k < 5000; ++k) b.step();
      Flit f;
      f.eop = true;
      b.raw(in, f);
    }
    ASSERT_TRUE(b.drain());
    b.expect_home();
    b.check_frames = true;
    b.same = may_be_marked;
    if (round % 8 == 7) expect_output_credits(b);
    for (int k = 0; k < 50; ++k) {
      b.send(make_frame(static_cast<int>(b.rng() % b.kRadix), static_cast<int>(b.rng() % b.kRadix),
                        static_cast<int>(b.rng() % kVcs), size_of(1 + k), k, b.rng));
    }
    ASSERT_TRUE(b.drain());
    b.expect_home();
    expect_failures_empty(b);
    if (!b.failures.empty()) break;
  }
  std::set<spec::SwitchErr> seen;
  for (const auto& e : b.errors) seen.insert(e.code);
  EXPECT_GE(seen.size(), 7u);  // all but surplus credits; stomped before is rare
}

// --- Bad frames ---

// What the switch must report of a whole frame.
template <class Count>
void count_report(const Frame& f, Count& count) {
  if (good_fcs(f)) return;
  ++count[is_stomped(f) ? spec::SwitchErr::kStomped : spec::SwitchErr::kFcs];
}
template <class B>
std::map<spec::SwitchErr, int> reports(const B& b) {
  std::map<spec::SwitchErr, int> n;
  for (const auto& e : b.errors) ++n[e.code];
  return n;
}

// Makes a frame bad somewhere outside the fields that route it (and the source, which the bench
// needs). Kind 0: a bit of payload, padding or check sum; 1: a bit of the FCS; 2: another FCS;
// 3: a burst; 4: stomped by a switch before; 5: the last byte only.
constexpr int kKinds = 6;
void corrupt(Frame& f, int kind, std::mt19937_64& rng) {
  const int size = static_cast<int>(f.bytes.size());
  const auto bit = [&rng] { return static_cast<uint8_t>(1u << (rng() % 8)); };
  switch (kind) {
    case 0:
      f.bytes[size > 38 && rng() % 4 ? 34 + rng() % (size - 38) : 24 + rng() % 2] ^= bit();
      break;
    case 1:
      f.bytes[size - 1 - rng() % 4] ^= bit();
      break;
    case 2:
      set_fcs(f, right_fcs(f) ^ static_cast<uint32_t>(1 + rng() % 0xffffffffu));
      break;
    case 3:
      for (int k = 34 + static_cast<int>(rng() % (size - 34)), n = 0; k < size && n < 9; ++k, ++n)
        f.bytes[k] ^= static_cast<uint8_t>(rng() | 1);
      break;
    case 4:
      f = stomp(f);
      break;
    default:
      f.bytes[size - 1] ^= static_cast<uint8_t>(1 + rng() % 255);
  }
}

// Every kind of bad frame among good ones, wherever the FCS lies, on every VC, marked or not: the
// bad ones leave stomped, each is reported once at the port where it came in, the good ones leave
// as they are.
TYPED_TEST(Switch, BadFramesAreStompedAndReported) {
  for (int mark = 0; mark < 2; ++mark) {
    TypeParam b(seed(31));
    mark_from(b, mark ? 0 : 0xffff);
    b.same = [&](const Frame& want, const Frame& got) {
      return got.bytes == (mark && want.vc != kRsp ? marked(want).bytes : want.bytes);
    };
    std::map<std::pair<int, spec::SwitchErr>, int> want, got;
    uint64_t id = 0;
    for (int flits : {1, 2, 3, 4, 66}) {
      for (int fill = flits == 1 ? 38 : 1; fill <= kFlitBytes; ++fill) {
        for (int kind = -1; kind < kKinds; ++kind) {
          if (flits == 66 && kind != (fill + mark) % kKinds) continue;
          const int in = static_cast<int>(b.rng() % b.kRadix);
          Frame f = make_frame(in, static_cast<int>(b.rng() % b.kRadix), (fill + kind + 1) % kVcs,
                               size_of(flits, fill), ++id, b.rng, with_ecn(spec::Ecn::kEct0));
          if (kind >= 0) corrupt(f, kind, b.rng);
          ASSERT_EQ(good_fcs(f), kind < 0);
          ASSERT_EQ(stomp(stomp(f)).bytes, stomp(f).bytes);
          std::map<spec::SwitchErr, int> n;
          count_report(f, n);
          for (const auto& [code, k] : n) want[{in, code}] += k;
          b.send(std::move(f));
        }
      }
    }
    ASSERT_TRUE(b.drain());
    b.expect_home();
    for (const auto& e : b.errors) ++got[{e.port, e.code}];
    EXPECT_EQ(got, want);
    expect_failures_empty(b);
  }
}

// Bad frames back to back on every input at once, and reports of both kinds in the same cycle.
TYPED_TEST(Switch, BadFramesInEveryCycle) {
  TypeParam b;
  std::map<spec::SwitchErr, int> want;
  for (int k = 0; k < 200; ++k) {
    for (int in = 0; in < b.kRadix; ++in) {
      Frame f = make_frame(in, (in + k) % b.kRadix, kBulk, size_of(1, 38 + k % 27), k, b.rng);
      corrupt(f, k % kKinds, b.rng);
      count_report(f, want);
      b.send(std::move(f));
    }
  }
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(reports(b), want);
  b.errors.clear();
  // The tail has the wrong VC and a wrong FCS, flits without a frame follow at once: the reports
  // of the FCS wait.
  want = {{spec::SwitchErr::kVc, 50}, {spec::SwitchErr::kFcs, 50}, {spec::SwitchErr::kNoSop, 150}};
  for (int k = 0; k < 50; ++k) {
    Frame f = make_frame(0, 1, kBulk, size_of(2), k, b.rng);
    b.check_frames = false;
    corrupt(f, 1, b.rng);
    b.raw(0, wire(f, 0, true, false, kBulk));
    b.raw(0, wire(f, 1, false, true, kReq));
    for (int n = 0; n < 3; ++n) b.raw(0, Flit{});
  }
  b.run(400);
  ASSERT_TRUE(b.drain());
  b.expect_home();
  EXPECT_EQ(reports(b), want);
  expect_failures_empty(b);
}

// Broken framing: whatever the header says and wherever the frame breaks off, what leaves is
// stomped, reported once for its framing and not for its FCS.
TYPED_TEST(Switch, CutFramesAreStomped) {
  enum { kShort, kSop, kVc3, kLong, kEmpty, kBreaks };
  for (int mark = 0; mark < 2; ++mark) {
    TypeParam b(seed(32));
    b.check_frames = false;
    mark_from(b, mark ? 0 : 0xffff);
    std::map<spec::SwitchErr, int> want;
    int sent = 0;
    int left = 0;
    int ce = 0;
    b.on_frame = [&](int, const Frame& got, uint64_t) {
      ++left;
      ce += (got.bytes[15] & 3) == static_cast<int>(spec::Ecn::kCe);
      EXPECT_TRUE(is_stomped(got));
      EXPECT_FALSE(good_fcs(got));
    };
    for (int flits : {1, 2, 3, 10, 66}) {
      for (int fill : {1, 2, 3, 4, 5, 17, 38, 61, 64}) {
        if (flits == 1 && fill < 38) continue;
        for (int kind = 0; kind < kBreaks; ++kind) {
          for (int at : {1, 2, flits - 1}) {  // flits before the break
            const bool inside = kind == kShort || kind == kSop || kind == kVc3;
            if (inside && (at < 1 || at >= flits)) continue;
            if (!inside && at != 1) continue;
            const Frame f = make_frame(0, 1, kBulk, size_of(flits, fill), ++sent, b.rng,
                                       with_ecn(spec::Ecn::kEct0));
            const Frame g = make_frame(0, 2, kBulk, size_of(2, 40), sent, b.rng);
            std::vector<Flit> raw;
            for (int k = 0; k < flits; ++k) raw.push_back(flit_of(f, k));
            switch (kind) {
              case kShort:
                raw.resize(at);
                raw.back().eop = true;
                raw.back().empty = at == 1 ? static_cast<int>(b.rng() % 26) : b.rng() % 64;
                ++want[spec::SwitchErr::kLength];
                break;
              case kSop:
                raw.resize(at);
                raw.push_back(flit_of(g, 0));
                raw.push_back(flit_of(g, 1));
                ++want[spec::SwitchErr::kSopInFrame];
                break;
              case kVc3:
                raw[at].vc = 3;
                ++want[spec::SwitchErr::kVc];
                break;
              case kLong:
                raw.back().eop = false;
                raw.push_back(flit_of(g, 1));
                ++want[spec::SwitchErr::kLength];
                break;
              default:
                raw.back().empty = (raw.back().empty + 1 + b.rng() % 63) % 64;
                ++want[spec::SwitchErr::kLength];
            }
            for (const Flit& t : raw) {
              for (int k = 0; t.vc < kVcs && b.credits(0, t.vc) == 0 && k < 1000; ++k) b.step();
              b.raw(0, t);
            }
            b.run(static_cast<int>(raw.size()) + 1 + static_cast<int>(b.rng() % 3));
          }
        }
      }
    }
    b.run(300);
    EXPECT_EQ(left, sent);
    EXPECT_EQ(ce, mark ? sent : 0);
    EXPECT_EQ(reports(b), want);
    b.on_frame = nullptr;
    b.errors.clear();
    mark_from(b, 0xffff);
    after_fault(b, {});
  }
}

// A stomped frame stays stomped at every further switch; the reports say which one found it.
TYPED_TEST(Switch, StompedFramesStayStomped) {
  for (int mark = 0; mark < 4; ++mark) {
    std::vector<Frame> hop;
    int bad = 0;
    {
      TypeParam b;
      mark_from(b, mark & 1 ? 0 : 0xffff);
      b.same = may_be_marked;
      b.on_frame = [&](int out, const Frame& got, uint64_t) {
        hop.push_back(got);
        hop.back().in = hop.back().out = out;  // the next switch is connected port by port
      };
      for (int k = 0; k < 400; ++k) {
        Frame f =
            make_frame(k % b.kRadix, static_cast<int>(b.rng() % b.kRadix), k % kVcs,
                       38 + static_cast<int>(b.rng() % 500), k, b.rng, with_ecn(spec::Ecn::kEct0));
        if (k % 3) corrupt(f, k % 4, b.rng);
        bad += !good_fcs(f);
        b.send(std::move(f));
      }
      ASSERT_TRUE(b.drain());
      auto n = reports(b);
      EXPECT_EQ(n[spec::SwitchErr::kFcs] + n[spec::SwitchErr::kStomped], bad);
      EXPECT_LT(n[spec::SwitchErr::kStomped], 8);  // looks so by chance: few bytes to see
      expect_failures_empty(b);
    }
    ASSERT_EQ(hop.size(), 400u);
    TypeParam b;
    mark_from(b, mark & 2 ? 0 : 0xffff);
    b.check_frames = false;
    int still_bad = 0;
    std::size_t left = 0;
    b.on_frame = [&](int, const Frame& got, uint64_t) {
      ++left;
      still_bad += !good_fcs(got);
      EXPECT_NE(good_fcs(got), is_stomped(got));
    };
    for (auto& f : hop) b.send(std::move(f), false);
    for (int k = 0; k < 100 && left < hop.size(); ++k) b.run(100);
    EXPECT_EQ(left, hop.size());
    EXPECT_EQ(still_bad, bad);
    EXPECT_EQ(reports(b)[spec::SwitchErr::kStomped], bad);
    EXPECT_EQ(b.errors.size(), static_cast<std::size_t>(bad));
    expect_failures_empty(b);
  }
}

// Checking takes no time: bad frames leave in the same cycles as good ones.
TYPED_TEST(Switch, StompingCostsNoCycle) {
  std::vector<std::tuple<uint64_t, uint64_t, int>> log[2];
  for (int bad = 0; bad < 2; ++bad) {
    TypeParam b(9);
    b.bubbles = 60;
    std::mt19937_64 rng(17);
    b.on_frame = [&](int out, const Frame&, uint64_t first) {
      log[bad].emplace_back(first, b.cycle(), out);
    };
    for (int k = 0; k < 300; ++k) {
      Frame f = make_frame(k % b.kRadix, static_cast<int>(rng() % b.kRadix), k % kVcs,
                           38 + static_cast<int>(rng() % 400), k, rng);
      std::mt19937_64 other(k);
      if (bad) corrupt(f, k % kKinds, other);
      b.send(std::move(f));
    }
    ASSERT_TRUE(b.drain());
    expect_failures_empty(b);
  }
  EXPECT_EQ(log[0], log[1]);
}

// --- Congestion marks ---

// Every length: header checksum and FCS are those of a frame sent with CE, wherever the FCS lies.
TYPED_TEST(Switch, MarkUpdatesChecksumAndFcs) {
  TypeParam b;
  mark_from(b, 0);
  int marks = 0;
  b.same = [&](const Frame& want, const Frame& got) {
    const bool must = want.vc != kRsp && (want.bytes[15] & 3) == static_cast<int>(spec::Ecn::kEct0);
    marks += must;
    return got.bytes == (must ? marked(want).bytes : want.bytes);
  };
  uint64_t id = 0;
  for (int size = 38; size <= kMaxFlits * kFlitBytes; size += size < 400 ? 1 : 61) {
    const auto ecn = static_cast<spec::Ecn>(size % 5 ? 2 : size % 4);
    b.send(make_frame(static_cast<int>(b.rng() % b.kRadix), static_cast<int>(b.rng() % b.kRadix),
                      size % 3, size, ++id, b.rng, with_ecn(ecn)));
  }
  // Header checksums around zero, where the arithmetic wraps.
  std::set<uint16_t> sums;
  for (int ttl = 0; ttl < 256; ++ttl) {
    Frame f = make_frame(0, 1, kBulk, 100, ++id, b.rng, with_ecn(spec::Ecn::kEct0));
    uint8_t* header = f.bytes.data() + 14;
    header[4] = header[5] = 0;
    header[8] = static_cast<uint8_t>(ttl);
    header[10] = header[11] = 0;
    const uint16_t sum = ip_checksum(header);
    // Choose the identification so that the checksum becomes -4..3.
    const uint32_t id16 = (sum + 0xffffu + 4 - ttl % 8) % 0xffff;
    header[4] = static_cast<uint8_t>(id16 >> 8);
    header[5] = static_cast<uint8_t>(id16);
    const uint16_t final_sum = ip_checksum(header);
    sums.insert(final_sum);
    header[10] = static_cast<uint8_t>(final_sum >> 8);
    header[11] = static_cast<uint8_t>(final_sum);
    const uint32_t fcs = crc32(f.bytes.data(), 96);
    for (int i = 0; i < 4; ++i) f.bytes[96 + i] = static_cast<uint8_t>(fcs >> (8 * i));
    b.send(std::move(f));
  }
  ASSERT_TRUE(b.drain());
  EXPECT_GT(marks, 400);
  EXPECT_EQ(sums, (std::set<uint16_t>{0, 1, 2, 3, 0xfffb, 0xfffc, 0xfffd, 0xfffe}));
  b.expect_home();
  expect_clean(b);
}

// A mark never makes a corrupt frame look good.
TYPED_TEST(Switch, MarkHealsNothing) {
  TypeParam b;
  mark_from(b, 0);
  int seen = 0;
  b.same = [&](const Frame& want, const Frame& got) {
    // Same bits wrong as before: xor of sent and received equals that of the good frame.
    ++seen;
    const bool sum_was_bad = ip_checksum(want.bytes.data() + 14) != 0;
    const bool sum_is_bad = ip_checksum(got.bytes.data() + 14) != 0;
    return crc32(got.bytes.data(), got.bytes.size()) != 0x2144df1cu && sum_was_bad == sum_is_bad &&
           (got.bytes[15] & 3) == static_cast<int>(spec::Ecn::kCe);
  };
  for (int k = 0; k < 300; ++k) {
    const int size = 66 + static_cast<int>(b.rng() % 600);
    Frame f = make_frame(0, 1, kBulk, size, k, b.rng, with_ecn(spec::Ecn::kEct0));
    // A bit outside the fields that route the frame: FCS, payload, or header checksum.
    const int at = k % 3 == 0   ? size - 1 - static_cast<int>(b.rng() % 4)
                   : k % 3 == 1 ? 34 + static_cast<int>(b.rng() % (size - 38))
                                : 24 + static_cast<int>(b.rng() % 2);
    f.bytes[at] ^= static_cast<uint8_t>(1u << (b.rng() % 8));
    b.send(std::move(f));
  }
  ASSERT_TRUE(b.drain());
  EXPECT_EQ(seen, 300);
  EXPECT_EQ(b.errors.size(), 300u);
  for (const auto& e : b.errors) EXPECT_EQ(e.code, spec::SwitchErr::kFcs);
  expect_failures_empty(b);
}

// Frames are marked while the flits that wait for their output and VC are at least kmin.
TYPED_TEST(Switch, MarkFollowsQueueLength) {
  for (int kmin : {1, 40, 41, 1000}) {
    TypeParam b;
    mark_from(b, kmin);
    b.credit_delay = [](int, int) { return -1; };
    uint64_t id = 0;
    for (int k = 0; k < 8; ++k) b.send(make_frame(0, 1, kBulk, size_of(64), ++id, b.rng));
    ASSERT_TRUE(b.run_alive(600));
    ASSERT_EQ(b.outstanding, 0);
    for (int k = 0; k < 20; ++k) {
      b.send(
          make_frame(k % b.kRadix, 1, kBulk, size_of(10), ++id, b.rng, with_ecn(spec::Ecn::kEct0)));
    }
    b.run(300);
    int waiting = 200;
    int marks = 0;
    b.same = [&](const Frame& want, const Frame& got) {
      const bool mark = waiting >= kmin;
      waiting -= 10;
      marks += mark;
      return got.bytes == (mark ? marked(want).bytes : want.bytes);
    };
    b.credit_delay = [](int, int) { return 0; };
    b.release(1, kBulk);
    ASSERT_TRUE(b.drain());
    EXPECT_EQ(marks, std::max(0, (200 - kmin) / 10 + 1) * (kmin <= 200)) << kmin;
    expect_clean(b);
  }
}

// A queue of constant length: between kmin and kmax the share of marked frames is exact, for each
// output and VC by itself, and spread evenly.
TYPED_TEST(Switch, MarkedShareRisesFromKminToKmax) {
  struct Case {
    int kmin, kmax;
  };
  constexpr int kFrames = 700;
  for (const Case c : {Case{0, 100}, Case{10, 17}, Case{5, 1000}, Case{20, 65535}, Case{12, 12},
                       Case{20, 10}, Case{13, 20}, Case{0, 0xffff}}) {
    TypeParam b;
    b.dut->ecn_kmin_i = c.kmin;
    b.dut->ecn_kmax_i = c.kmax;
    b.credit_delay = [](int, int) { return -1; };
    uint64_t id = 0;
    // Single-flit frames that wait, per (output, VC), behind what has used up the credits.
    struct Queue {
      int out, vc, waiting;
    };
    const std::array<Queue, 4> queues{
        {{1, kBulk, 12}, {1, kReq, 14}, {2, kBulk, 20}, {3, kRsp, 40}}};
    const auto add = [&](const Queue& q) {
      b.send(make_frame(q.out, q.out, q.vc, size_of(1), ++id, b.rng, with_ecn(spec::Ecn::kEct0)));
    };
    for (const Queue& q : queues) {
      for (int k = 0; k < 8; ++k) b.send(make_frame(q.out, q.out, q.vc, size_of(64), ++id, b.rng));
    }
    ASSERT_TRUE(b.run_alive(1200));
    ASSERT_EQ(b.outstanding, 0);
    std::map<std::pair<int, int>, int> left, marks;
    b.same = [&](const Frame& want, const Frame& got) {
      const std::pair<int, int> key{want.out, want.vc};
      const bool mark = (got.bytes[15] & 3) == static_cast<int>(spec::Ecn::kCe);
      ++left[key];
      marks[key] += mark;
      // Sum of what the frames so far have added, without an accumulator.
      for (const Queue& q : queues) {
        if (q.out != want.out || q.vc != want.vc) continue;
        int64_t due = 0;
        if (q.vc == kRsp || q.waiting < c.kmin) {
          due = 0;
        } else if (q.waiting >= c.kmax) {
          due = left[key];
        } else {
          due = int64_t{left[key]} * (q.waiting - c.kmin) / (c.kmax - c.kmin);
        }
        EXPECT_EQ(marks[key], due) << "kmin " << c.kmin << " kmax " << c.kmax << " queue "
                                   << q.waiting << ", frame " << left[key];
      }
      return got.bytes == (mark ? marked(want).bytes : want.bytes);
    };
    for (const Queue& q : queues) {
      for (int k = 0; k < q.waiting; ++k) add(q);
    }
    b.run(100);
    for (int k = 0; k < kFrames; ++k) {
      for (const Queue& q : queues) b.release(q.out, q.vc, 1);
      b.run(8);
      for (const Queue& q : queues) add(q);
      b.run(8);
    }
    for (const Queue& q : queues) EXPECT_EQ((left[{q.out, q.vc}]), kFrames);
    EXPECT_FALSE(testing::Test::HasFailure());
    if (testing::Test::HasFailure()) break;
    expect_clean(b);
  }
}

// A queue that grows and shrinks: the marks are the sum of all shares, rounded down.
TYPED_TEST(Switch, MarksFollowTheSumOfShares) {
  for (const auto& [kmin, kmax] :
       {std::pair{0, 400}, std::pair{40, 160}, std::pair{95, 105}, std::pair{1, 1000}}) {
    TypeParam b;
    b.dut->ecn_kmin_i = kmin;
    b.dut->ecn_kmax_i = kmax;
    b.credit_delay = [](int, int) { return -1; };
    uint64_t id = 0;
    for (int k = 0; k < 8; ++k) b.send(make_frame(0, 1, kBulk, size_of(64), ++id, b.rng));
    ASSERT_TRUE(b.run_alive(600));
    ASSERT_EQ(b.outstanding, 0);
    int waiting = 0;
    int64_t sum = 0;  // of shares, times kmax - kmin
    int sure = 0;
    int marks = 0;
    std::deque<int> sizes;
    b.same = [&, kmin = kmin, kmax = kmax](const Frame& want, const Frame& got) {
      const bool mark = (got.bytes[15] & 3) == static_cast<int>(spec::Ecn::kCe);
      marks += mark;
      if (waiting >= kmax)
        ++sure;
      else if (waiting >= kmin)
        sum += waiting - kmin;
      waiting -= want.flits();
      EXPECT_EQ(marks, sure + sum / (kmax - kmin)) << "kmin " << kmin;
      return got.bytes == (mark ? marked(want).bytes : want.bytes);
    };
    for (int round = 0; round < 40; ++round) {
      // Several frames in, several out, one at a time.
      for (int k = static_cast<int>(b.rng() % 9); k > 0 && waiting < 300; --k) {
        const int flits = 1 + static_cast<int>(b.rng() % 40);
        b.send(make_frame(0, 1, kBulk, size_of(flits), ++id, b.rng, with_ecn(spec::Ecn::kEct0)));
        sizes.push_back(flits);
        waiting += flits;
      }
      b.run(350);
      for (int k = static_cast<int>(b.rng() % 9); k > 0 && !sizes.empty(); --k) {
        b.release(1, kBulk, sizes.front());
        sizes.pop_front();
        b.run(100);  // 40 credits, one per cycle, then 40 flits
      }
    }
    EXPECT_GT(marks, 0);
    expect_clean(b);
  }
}

// --- Random ---

int random_size(std::mt19937_64& rng) {
  switch (rng() % 4) {
    case 0:
      return 38 + static_cast<int>(rng() % 27);  // one flit
    case 1:
      return 66;  // an acknowledgement
    case 2:
      return size_of(2 + static_cast<int>(rng() % 8), 1 + static_cast<int>(rng() % 64));
    default:
      return size_of(1 + static_cast<int>(rng() % 66), 38 + static_cast<int>(rng() % 27));
  }
}

template <class B>
void random_traffic(uint64_t s, int phases, int frames) {
  B b(s);
  uint64_t id = 0;
  std::map<spec::SwitchErr, int> want;
  b.same = may_be_marked;
  for (int phase = 0; phase < phases; ++phase) {
    b.bubbles = std::array{0, 40, 200}[b.rng() % 3];
    b.random_vc = b.rng() % 2;
    mark_from(b, std::array{0, 30, 300, 0xffff}[b.rng() % 4]);
    if (b.rng() % 2) b.dut->ecn_kmax_i = std::array{0, 60, 1000, 0xffff}[b.rng() % 4];
    const int hold = static_cast<int>(b.rng() % 4);
    const int hot = static_cast<int>(b.rng() % b.kRadix);
    const int hot_share = static_cast<int>(b.rng() % 3) * 100;
    b.credit_delay = [&b, hold](int, int) -> int {
      if (hold == 0) return 0;
      if (hold == 1) return 430;
      if (hold == 2) return static_cast<int>(b.rng() % 64);
      return b.rng() % 8 == 0 ? -1 : static_cast<int>(b.rng() % 4);
    };
    for (int k = 0; k < frames; ++k) {
      const int in = static_cast<int>(b.rng() % b.kRadix);
      const int out =
          static_cast<int>(b.rng() & 255) < hot_share ? hot : static_cast<int>(b.rng() % b.kRadix);
      Frame f = make_frame(in, out, static_cast<int>(b.rng() % kVcs), random_size(b.rng), ++id,
                           b.rng, with_ecn(static_cast<spec::Ecn>(b.rng() % 4)));
      if (phase % 2 && b.rng() % 4 == 0) corrupt(f, static_cast<int>(b.rng() % kKinds), b.rng);
      count_report(f, want);
      b.send(std::move(f));
    }
    // Withheld credits are released in random portions.
    for (int k = 0; hold == 3 && b.outstanding && k < 400; ++k) {
      b.run(50);
      const int out = static_cast<int>(b.rng() % b.kRadix);
      b.release(out, static_cast<int>(b.rng() % kVcs), static_cast<int>(b.rng() % 200));
    }
    b.credit_delay = [](int, int) { return 0; };
    for (int o = 0; o < b.kRadix; ++o) {
      for (int v = 0; v < kVcs; ++v) b.release(o, v);
    }
    ASSERT_TRUE(b.drain()) << (b.failures.empty() ? "" : b.failures.back());
    b.expect_home();
    if (!b.failures.empty()) break;
  }
  expect_output_credits(b);
  std::printf("%llu frames in %llu cycles\n", static_cast<unsigned long long>(id),
              static_cast<unsigned long long>(b.cycle()));
  EXPECT_EQ(reports(b), want);
  expect_failures_empty(b);
}

TEST(SwitchRandom, Radix4) { random_traffic<Bench4>(seed(4), 60, 800); }
TEST(SwitchRandom, Radix5) { random_traffic<Bench5>(seed(5), 30, 800); }
TEST(SwitchRandom, Radix16) { random_traffic<Bench16>(seed(16), 24, 1500); }

// Reset at any cycle: everything is forgotten, credits are whole, traffic flows again.
TYPED_TEST(Switch, ResetInMidOperation) {
  TypeParam b(seed(7));
  uint64_t id = 0;
  for (int round = 0; round < 15; ++round) {
    for (int k = 0; k < 100; ++k) {
      b.send(make_frame(static_cast<int>(b.rng() % b.kRadix), static_cast<int>(b.rng() % b.kRadix),
                        static_cast<int>(b.rng() % kVcs), random_size(b.rng), ++id, b.rng));
    }
    b.credit_delay = [round](int, int) { return round % 2 ? -1 : 3; };
    b.run(static_cast<int>(b.rng() % 700));
    expect_clean(b);
    b.reset();
    EXPECT_TRUE(b.dut->idle_o);
    b.credit_delay = [](int, int) { return 0; };
    for (int k = 0; k < 100; ++k) {
      b.send(make_frame(static_cast<int>(b.rng() % b.kRadix), static_cast<int>(b.rng() % b.kRadix),
                        static_cast<int>(b.rng() % kVcs), random_size(b.rng), ++id, b.rng));
    }
    ASSERT_TRUE(b.drain());
    b.expect_home();
    expect_clean(b);
  }
}

// --- Idle ---

// Leaving out the evaluation while idle_o is high and no input arrives changes nothing: every frame
// leaves in the same cycle.
TYPED_TEST(Switch, SkippingIdleCyclesChangesNothing) {
  std::vector<std::tuple<uint64_t, int, std::vector<uint8_t>>> log[2];
  uint64_t errors[2];
  for (int skip = 0; skip < 2; ++skip) {
    TypeParam b(5);
    b.skip_idle = skip;
    b.credit_delay = [](int, int) { return 40; };
    b.on_frame = [&](int out, const Frame& got, uint64_t first) {
      log[skip].emplace_back(first, out, got.bytes);
    };
    for (int k = 0; k < 60; ++k) {
      for (int n = 0; n < 1 + k % 4; ++n) {
        const int out = k % 10 == 9 ? 500 : (k * 3 + n) % b.kRadix;
        b.send(make_frame(k % b.kRadix, out, (k + n) % kVcs, size_of(1 + k), k, b.rng), out != 500);
      }
      b.run(50 + 13 * (k % 30));
    }
    ASSERT_TRUE(b.drain());
    b.expect_home();
    expect_failures_empty(b);
    errors[skip] = b.errors.size();
    if (skip != 0) {
      EXPECT_GT(b.skipped, 3000u);
    }
  }
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_TRUE(log[0] == log[1]);
}

// --- Fairness and throughput ---

// Keeps every sender's queue filled by `next(in)` for `cycles`, then drains.
template <class B>
void saturate(B& b, int cycles, const std::function<Frame(int)>& next, int depth = 4) {
  for (int c = 0; c < cycles; ++c) {
    for (int in = 0; in < b.kRadix; ++in) {
      while (b.backlog(in) < depth) b.send(next(in));
    }
    b.step();
  }
}

// N:1 incast: every input gets 1/N of the output, which is never idle.
TYPED_TEST(Switch, IncastIsFair) {
  for (int flits : {1, 7, 66}) {
    TypeParam b;
    uint64_t id = 0;
    saturate(b, 2000,
             [&](int in) { return make_frame(in, 2, kBulk, size_of(flits), ++id, b.rng); });
    const auto before = b.flits_from_to;
    const int cycles = 66 * b.kRadix * 10;
    saturate(b, cycles,
             [&](int in) { return make_frame(in, 2, kBulk, size_of(flits), ++id, b.rng); });
    double total = 0;
    for (int in = 0; in < b.kRadix; ++in) total += b.flits_from_to[in][2] - before[in][2];
    EXPECT_GE(total, cycles * 0.999) << flits;
    for (int in = 0; in < b.kRadix; ++in) {
      const double share = (b.flits_from_to[in][2] - before[in][2]) / total;
      EXPECT_NEAR(share * b.kRadix, 1.0, 0.02) << "input " << in << ", " << flits << " flits";
    }
    EXPECT_TRUE(b.failures.empty());
    expect_clean(b);
  }
}

// Two inputs with traffic for the same two outputs, out of phase: none may be locked out.
TYPED_TEST(Switch, BusyPairsDoNotLockOthersOut) {
  TypeParam b;
  uint64_t id = 0;
  // Input 0 only to output 0; input 1 to outputs 0 and 1.
  saturate(b, 40000, [&](int in) {
    ++id;
    if (in == 0) return make_frame(0, 0, kBulk, size_of(66), id, b.rng);
    if (in == 1) return make_frame(1, static_cast<int>(id % 2), kBulk, size_of(50), id, b.rng);
    return make_frame(in, in, kBulk, size_of(66), id, b.rng);
  });
  // Input 1 is limited by its own line: half of it, 0.5 of output 0, is its fair share.
  EXPECT_GT(b.flits_from_to[1][0], 40000 * 0.30);
  EXPECT_GT(b.flits_from_to[1][1], 40000 * 0.30);
  EXPECT_GT(b.flits_from_to[0][0], 40000 * 0.45);
  expect_clean(b);
}

template <class B>
double throughput(B& b, int warm, int cycles, const std::function<Frame(int)>& next,
                  int depth = 4) {
  saturate(b, warm, next, depth);
  const auto before = b.flits_out;
  saturate(b, cycles, next, depth);
  double flits = 0;
  for (int o = 0; o < b.kRadix; ++o) flits += b.flits_out[o] - before[o];
  return flits / (double(cycles) * b.kRadix);
}

// Permutations at full load, with the credit round trip of the real link.
TYPED_TEST(Switch, PermutationAtLineRate) {
  for (int flits : {1, 2, 5, 66}) {
    for (int shift : {0, 1, 3}) {
      TypeParam b;
      b.credit_delay = [](int, int) { return 430; };
      uint64_t id = 0;
      const double rate = throughput(
          b, 1000, 3000,
          [&](int in) {
            return make_frame(in, (in + shift) % b.kRadix, kBulk, size_of(flits), ++id, b.rng);
          },
          8);
      EXPECT_GE(rate, 0.99) << flits << " flits, shift " << shift;
      std::printf("permutation +%d, %d flits: %.4f of line rate\n", shift, flits, rate);
      expect_clean(b);
    }
  }
}

// Uniform random destinations at full load, simulated figures.
template <class B>
double uniform(int flits) {
  B b(11);
  uint64_t id = 0;
  const double rate = throughput(
      b, 4000, 12000,
      [&](int in) {
        return make_frame(in, static_cast<int>(b.rng() % b.kRadix), kBulk, size_of(flits), ++id,
                          b.rng);
      },
      2);
  std::printf("uniform, radix %d, %d flits: %.4f of line rate\n", b.kRadix, flits, rate);
  expect_clean(b);
  return rate;
}

// The figures are exact: traffic and switch are deterministic.
TEST(SwitchThroughput, UniformRadix4) {
  EXPECT_NEAR(uniform<Bench4>(1), 0.9852, 1e-4);
  EXPECT_NEAR(uniform<Bench4>(5), 0.9854, 1e-4);
  EXPECT_NEAR(uniform<Bench4>(66), 0.9034, 1e-4);
}
TEST(SwitchThroughput, UniformRadix16) {
  EXPECT_NEAR(uniform<Bench16>(1), 0.9804, 1e-4);
  EXPECT_NEAR(uniform<Bench16>(5), 0.9887, 1e-4);
  EXPECT_NEAR(uniform<Bench16>(66), 0.9411, 1e-4);
}

}  // namespace
