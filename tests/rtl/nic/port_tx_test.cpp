// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "port_receiver.hpp"
#include "ubl/packet/frame.hpp"

namespace ubl::test {
namespace {

// The same header as the golden packet library sees it.
packet::Frame to_packet(const spec::Txd& d, const BenchConfig& c, const Bytes& payload) {
  packet::Frame f;
  f.src_node = c.node;
  f.dst_node = d.dst_node;
  f.plane = c.plane;
  f.vc = static_cast<spec::Vc>(d.vc);
  f.opcode = static_cast<spec::PktOp>(d.opcode);
  f.ecn = packet::ecn_of(f.opcode);
  f.src_qpn = d.src_qpn & 0x3fff;
  f.dst_qpn = d.dst_qpn;
  f.psn = d.psn;
  f.ack_req = d.ack_req;
  f.becn = d.becn;
  f.rnum = d.rnum;
  const packet::OpInfo info = packet::op_info(f.opcode);
  if (info.reth) f.raddr = d.raddr, f.rkey = d.rkey;
  if (info.reth && !info.payload) f.read_len = d.len;
  if (info.redh) {
    f.red_op = static_cast<spec::RedOp>(d.red_op);
    f.red_dtype = static_cast<spec::RedType>(d.red_dtype);
    f.red_ordered = d.red_ordered != 0;
  }
  if (info.sackh) {
    for (size_t k = 0; k < 8; ++k)
      f.seen[k] = static_cast<uint16_t>(sack_byte(d, 2 * k) << 8 | sack_byte(d, 2 * k + 1));
    for (size_t i = 0; i < 32; ++i) f.placed[i] = sack_byte(d, 16 + i);
    f.ce_planes = sack_byte(d, 48);
    f.ce_count = sack_byte(d, 49);
  }
  if (info.sendh) {
    f.send_number = static_cast<uint32_t>(d.raddr >> 32);
    f.send_offset = static_cast<uint32_t>(d.raddr);
    f.send_length = d.rkey;
  }
  const auto number = [&](size_t first) {
    uint64_t n = 0;
    for (size_t i = 0; i < 8; ++i) n = n << 8 | payload[first + i];
    return n;
  };
  if (info.atomiceth) {
    f.raddr = d.raddr;
    f.rkey = d.rkey;
    f.swap_add = number(0);
    f.compare = number(8);
  }
  if (info.atomicacketh) f.original = number(0);
  if (info.immdt) f.imm = d.imm;
  if (info.aeth) f.syndrome = static_cast<spec::Syndrome>(d.syndrome), f.msn = d.msn;
  if (info.payload) f.payload = payload;
  return f;
}

// Transmits what is queued, returns link credits after `credit_delay`, compares every frame.
class Sender {
 public:
  Sender(const BenchConfig& c, uint64_t salt, int credit_delay = 1)
      : bench(c, salt), credit_delay_(credit_delay) {
    bench.on_txc = [this](const spec::Txc& t) { reports.push_back(t); };
  }

  void send(const spec::Txd& d) {
    bench.txd[d.vc].push_back(d);
    expected[d.vc].push_back(d);
    if (!is_ack(d.opcode)) ++requests;
  }

  bool done() const { return expected[0].empty() && expected[1].empty() && expected[2].empty(); }

  void cycle() {
    unsigned credit = 0;
    for (int v = 0; v < 3; ++v) {
      if (!credits_[v].empty() && credits_[v].front() <= bench.now) {
        credit |= 1u << v;
        credits_[v].pop_front();
      }
    }
    bench.cycle(nullptr, credit);
    const spec::Flit& f = bench.flit;
    if (!f.valid) {
      if (!flits_.empty()) ++bubbles;
      return;
    }
    ASSERT_LT(f.vc, 3);
    credits_[f.vc].push_back(bench.now + static_cast<uint64_t>(credit_delay_));
    ASSERT_LE(credits_[f.vc].size(), static_cast<size_t>(kVcDepth));
    ASSERT_EQ(f.sop, flits_.empty()) << "frames are contiguous";
    if (first_flit == 0) first_flit = bench.now;
    last_flit = bench.now;
    ++flits;
    flits_.push_back(f);
    ASSERT_EQ(f.vc, flits_.front().vc);
    if (!f.eop) {
      ASSERT_EQ(f.empty, 0);
      return;
    }
    ASSERT_FALSE(expected[f.vc].empty());
    const spec::Txd d = expected[f.vc].front();
    expected[f.vc].pop_front();
    Bytes payload;
    const bool bad = has_payload(d.opcode) && d.len != 0 && !d.inl && (d.laddr & kBadAddress);
    for (unsigned i = 0; i < d.len && d.inl; ++i) payload.push_back(sack_byte(d, i));
    for (unsigned i = 0; i < d.len && has_payload(d.opcode) && !d.inl; ++i) {
      payload.push_back(bad ? uint8_t{0} : bench.memory[(d.laddr + i) % bench.memory.size()]);
    }
    const Bytes want = build_frame(d, bench.config.node, bench.config.plane, payload, bad);
    const std::vector<spec::Flit> want_flits = to_flits(want, d.vc);
    ASSERT_EQ(to_bytes(flits_), want) << "opcode " << int{d.opcode} << " len " << d.len;
    ASSERT_EQ(flits_.size(), want_flits.size());
    for (size_t k = 0; k < flits_.size(); ++k) {
      ASSERT_TRUE(flits_[k] == want_flits[k]) << "flit " << k;
    }
    order.push_back(d.vc);
    flits_.clear();
    const packet::ParseResult parsed = packet::parse(want);
    ASSERT_EQ(parsed.error, bad ? packet::ParseError::kBadFcs : packet::ParseError::kNone)
        << packet::to_string(parsed.error);
    ASSERT_TRUE(bad || parsed.frame == to_packet(d, bench.config, payload));
  }

  void reset() {
    bench.reset(1);
    for (auto& q : expected) q.clear();
    for (auto& q : credits_) q.clear();
    reports.clear(), order.clear(), flits_.clear();
    requests = 0;
  }

  void run(int limit = 2000) {
    uint64_t moved = bench.moved;
    int still = 0;
    while (!done() || !bench.idle() || reports.size() < requests) {
      cycle();
      if (testing::Test::HasFatalFailure()) return;
      still = bench.moved == moved ? still + 1 : 0;
      moved = bench.moved;
      ASSERT_LT(still, limit) << "no progress at cycle " << bench.now;
    }
  }

  Bench bench;
  std::array<std::deque<spec::Txd>, 3> expected;
  std::vector<spec::Txc> reports;
  std::vector<uint8_t> order;  // channel of each frame
  size_t requests = 0;
  uint64_t first_flit = 0, last_flit = 0, flits = 0, bubbles = 0;

 private:
  std::vector<spec::Flit> flits_;
  std::array<std::deque<uint64_t>, 3> credits_;
  int credit_delay_;
};

TEST(NicPortTx, EveryOpcodeAndLength) {
  auto r = rng(1);
  Sender s(BenchConfig{}, 1);
  for (uint8_t op : kRequests) {
    for (unsigned len = 0; len <= 4096; ++len) {
      // All short ones, all around the longest, and a few of each residue in between.
      if (len > 200 && len < 4000 && len % 61 > 4) continue;
      s.send(random_txd(r, op, r() & 1 ? kBulk : kReq, len));
    }
    s.send(random_txd(r, kAck, kRsp, 0));
  }
  s.run();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(s.reports.size(), s.requests);
}

TEST(NicPortTx, RandomTrafficAndBackPressure) {
  for (int round = 0; round < 6; ++round) {
    auto r = rng(100 + static_cast<uint64_t>(round));
    BenchConfig c;
    c.ready = 0.15 + 0.17 * round;
    c.latency_min = 1;
    c.latency_max = 1 + 60 * round;
    c.node = static_cast<uint16_t>(r());
    c.plane = r() & 7;
    Sender s(c, static_cast<uint64_t>(round), 1 + 150 * round);
    std::deque<spec::Txd> requests;
    for (int i = 0; i < 300; ++i) {
      if (r() % 3 == 0) {
        s.send(random_txd(r, kAck, kRsp, static_cast<unsigned>(r() % 4097)));
      } else {
        const unsigned len = r() % 4 == 0 ? r() % 4097 : r() % 150;
        s.send(random_txd(r, kRequests[r() % kRequests.size()], r() & 1 ? kBulk : kReq, len));
      }
    }
    s.run();
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
  }
}

TEST(NicPortTx, ReportsInOrderAndReadErrors) {
  auto r = rng(7);
  BenchConfig c;
  c.latency_max = 50;
  c.ready = 0.7;
  Sender s(c, 7);
  std::vector<spec::Txd> sent;
  for (int i = 0; i < 200; ++i) {
    spec::Txd d =
        random_txd(r, kRequests[r() % kRequests.size()], kBulk, r() % 5 == 0 ? 0 : r() % 300);
    if (r() % 4 == 0) d.laddr |= kBadAddress;
    s.send(d);
    sent.push_back(d);
    if (i % 10 == 0) s.send(random_txd(r, kAck, kRsp, 0));
  }
  s.run();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(s.reports.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(s.reports[i].qpn, sent[i].src_qpn);
    EXPECT_EQ(s.reports[i].psn, sent[i].psn);
    EXPECT_EQ(s.reports[i].rsp != 0, is_response(sent[i].opcode));
    EXPECT_EQ(s.reports[i].err, has_payload(sent[i].opcode) && sent[i].len != 0 && !sent[i].inl &&
                                    (sent[i].laddr & kBadAddress));
  }
}

TEST(NicPortTx, StrictPriority) {
  auto r = rng(8);
  Sender s(BenchConfig{}, 8);
  for (int i = 0; i < 12; ++i) s.send(random_txd(r, kWrite, kBulk, 4096));
  for (int i = 0; i < 300; ++i) s.cycle();  // bulk is on the way
  const size_t before = s.order.size();
  for (int i = 0; i < 6; ++i) s.send(random_txd(r, kWrite, kReq, 200));
  for (int i = 0; i < 6; ++i) s.send(random_txd(r, kAck, kRsp, 0));
  s.run();
  ASSERT_FALSE(HasFatalFailure());
  // The frame under way ends, acknowledgements go, then small requests, then the rest of bulk. A
  // read of a small request waits behind the bulk reads already in flight: two bulk frames at most.
  auto position = [&](uint8_t vc) {
    size_t last = 0;
    for (size_t i = 0; i < s.order.size(); ++i) {
      if (s.order[i] == vc) last = i;
    }
    return last;
  };
  EXPECT_LE(position(kRsp), before + 7);
  EXPECT_LE(position(kReq), before + 14 + 1);
}

// All three channels can start at the same frame boundary: the order is exact.
TEST(NicPortTx, AcknowledgementsBeforeRequests) {
  auto r = rng(16);
  Sender s(BenchConfig{}, 16);
  for (int i = 0; i < 8; ++i) s.send(random_txd(r, kWrite, kBulk, 4096));
  while (s.order.size() < 2) {
    s.cycle();
    ASSERT_LT(s.bench.now, 1000u);
  }
  for (int i = 0; i < 8; ++i) s.cycle();  // well inside the third frame
  for (int i = 0; i < 6; ++i) s.send(random_txd(r, kWrite, kReq, 0));  // nothing to read first
  for (int i = 0; i < 6; ++i) s.send(random_txd(r, kAck, kRsp, 0));
  s.run();
  ASSERT_FALSE(HasFatalFailure());
  std::vector<uint8_t> want(3, kBulk);
  want.insert(want.end(), 6, kRsp);
  want.insert(want.end(), 6, kReq);
  want.insert(want.end(), 5, kBulk);
  EXPECT_EQ(s.order, want);
}

// The words of the IPv4 header add up to 1FFFF: adding the carry makes another one.
TEST(NicPortTx, IpChecksumCarriesTwice) {
  for (unsigned node : {0x3000u, 0x8001u, 0xffffu}) {
    auto r = rng(17);
    BenchConfig c;
    c.node = static_cast<uint16_t>(node);
    c.plane = r() & 7;
    Sender s(c, 17);
    for (uint8_t op : {kAck, kWrite, kReduceImm}) {
      spec::Txd d = random_txd(r, op, op == kAck ? kRsp : kBulk, op == kAck ? 0 : 64);
      d.dst_node = 0;
      const Bytes f = build_frame(d, c.node, c.plane, Bytes(d.len));
      uint32_t base = 0;
      for (size_t i = 14; i < 34; i += 2) {
        if (i != 24) base += static_cast<uint32_t>(f[i] << 8 | f[i + 1]);
      }
      for (uint32_t sum : {0x1fffdu, 0x1fffeu, 0x1ffffu, 0x20000u}) {
        ASSERT_LE(sum - base, 0xffffu) << "no such node";
        d.dst_node = static_cast<uint16_t>(sum - base);
        s.send(d);
      }
    }
    s.run();
    ASSERT_FALSE(HasFatalFailure()) << "node " << node;
  }
}

TEST(NicPortTx, ChannelWithoutCreditsBlocksNobody) {
  auto r = rng(9);
  BenchConfig c;
  Sender s(c, 9, 1000000);  // no credit comes back
  for (int i = 0; i < 10; ++i) s.send(random_txd(r, kWrite, kBulk, 4096));
  for (int i = 0; i < 1500; ++i) s.cycle();
  EXPECT_EQ(s.order.size(), 7u) << "512 credits are 7 frames of 66 flits";
  EXPECT_TRUE(s.bench.idle());
  s.send(random_txd(r, kAck, kRsp, 0));
  s.send(random_txd(r, kWrite, kReq, 100));
  for (int i = 0; i < 100; ++i) s.cycle();
  ASSERT_EQ(s.order.size(), 9u);
  EXPECT_EQ(s.order[7], kRsp);
  EXPECT_EQ(s.order[8], kReq);
}

// A frame does not start before its first beat is there, so it does not hold the link meanwhile.
TEST(NicPortTx, SlowMemoryBlocksNobody) {
  auto r = rng(15);
  BenchConfig c;
  c.latency_min = c.latency_max = 400;
  Sender s(c, 15);
  s.send(random_txd(r, kWrite, kBulk, 4096));
  s.send(random_txd(r, kWrite, kReq, 100));
  for (int i = 0; i < 100; ++i) s.cycle();
  s.send(random_txd(r, kAck, kRsp, 0));
  for (int i = 0; i < 20; ++i) s.cycle();
  EXPECT_EQ(s.order.size(), 1u);
  EXPECT_EQ(s.flits, 2u);
  s.run();
  EXPECT_EQ(s.bubbles, 0u);
}

// One 4096-byte WRITE or SEND per 66 cycles with 100 cycles of memory latency and a credit loop of
// 430.
TEST(NicPortTx, ThroughputOfLongFrames) {
  for (uint8_t op : {kWrite, kSend, kSendImm}) {
    auto r = rng(10);
    BenchConfig c;
    c.latency_min = c.latency_max = 100;
    Sender s(c, 10, 430);
    constexpr uint64_t kFrames = 60;
    for (uint64_t i = 0; i < kFrames; ++i) s.send(random_txd(r, op, kBulk, 4096));
    s.run();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(s.last_flit - s.first_flit + 1, kFrames * 66);
    EXPECT_EQ(s.bubbles, 0u);
  }
}

TEST(NicPortTx, ThroughputOfShortFrames) {
  for (unsigned len : {0u, 8u, 48u, 58u}) {
    auto r = rng(11);
    BenchConfig c;
    c.latency_min = c.latency_max = 100;
    Sender s(c, 11, 430);
    constexpr uint64_t kFrames = 400;
    const uint64_t flits = len <= 48 ? 2 : 3;
    for (uint64_t i = 0; i < kFrames; ++i) s.send(random_txd(r, kWrite, kReq, len));
    s.run();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(s.last_flit - s.first_flit + 1, kFrames * flits) << len;
  }
}

// Inline payload needs no memory: it goes out while memory answers nothing, frames back to back.
TEST(NicPortTx, InlineNeedsNoMemory) {
  for (uint8_t op : {kWrite, kSendImm, kReduceImm, kFetchAdd, kCompareSwap, kAtomicResponse}) {
    for (unsigned len : {0u, 1u, 8u, 15u, 16u}) {
      auto r = rng(18);
      Sender s(BenchConfig{}, 18, 430);
      s.bench.memory_blocked = true;
      constexpr uint64_t kFrames = 200;
      for (uint64_t i = 0; i < kFrames; ++i) {
        spec::Txd d = random_txd(r, op, kReq, is_reduce(op) ? len & ~3u : len);
        d.inl = 1;
        s.send(d);
      }
      s.run();
      ASSERT_FALSE(HasFatalFailure()) << int{op} << " " << len;
      EXPECT_EQ(s.last_flit - s.first_flit + 1, kFrames * 2) << int{op} << " " << len;
    }
  }
}

TEST(NicPortTx, ThroughputOfAcknowledgements) {
  auto r = rng(12);
  Sender s(BenchConfig{}, 12, 430);
  for (int i = 0; i < 400; ++i) s.send(random_txd(r, kAck, kRsp, 0));
  s.run();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(s.last_flit - s.first_flit + 1, 800u);
}

TEST(NicPortTx, Latency) {
  auto r = rng(14);
  Sender s(BenchConfig{}, 14);
  s.cycle();
  const uint64_t start = s.bench.now;  // the descriptor is at the port in this cycle
  s.send(random_txd(r, kAck, kRsp, 0));
  while (s.first_flit == 0) s.cycle();
  EXPECT_EQ(s.first_flit - 1 - start, 5u);
}

TEST(NicPortTx, ResetInMidOperation) {
  auto r = rng(13);
  BenchConfig c;
  c.latency_max = 30;
  c.ready = 0.8;
  Sender s(c, 13, 60);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 40; ++i) {
      s.send(random_txd(r, kRequests[r() % kRequests.size()], r() & 1 ? kBulk : kReq, r() % 2000));
      s.send(random_txd(r, kAck, kRsp, 0));
    }
    if (round % 3 == 2) {
      s.run();
    } else {
      for (int i = static_cast<int>(r() % 900); i > 0; --i) s.cycle();
    }
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
    s.reset();
    s.bench.cycle();
    EXPECT_TRUE(s.bench.idle());
    EXPECT_FALSE(s.bench.flit.valid);
    EXPECT_EQ(s.bench.rx_credit, 0u);
  }
}

}  // namespace
}  // namespace ubl::test
