// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Two ports face each other over links with random latency, both sending and receiving.
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "port_receiver.hpp"

namespace ubl::test {
namespace {

struct LoopConfig {
  BenchConfig bench;
  uint64_t link_min = 1, link_max = 1;  // latency of flits and credits
  unsigned corrupt_per_mille = 0;       // frames with flipped bits
  unsigned bad_read_per_mille = 0, bad_write_per_mille = 0;
  int packets = 300;
  unsigned gap = 0;  // mean cycles between descriptors, to let ports fall idle
};

// One direction of a link.
struct Wire {
  std::deque<std::pair<uint64_t, spec::Flit>> flits;
  std::array<std::deque<uint64_t>, 3> credits;
  std::array<int, 3> outstanding{};  // flits whose credit has not reached the sender
  bool corrupt = false;
  uint64_t last = 0;
};

class Loop {
 public:
  Loop(const LoopConfig& c, uint64_t salt) : config(c), r(rng(salt)) {
    for (int s = 0; s < 2; ++s) {
      BenchConfig b = c.bench;
      b.node = static_cast<uint16_t>(s == 0 ? 0x0102 : 0xfe07);
      side[s] = std::make_unique<Receiver>(b, salt * 2 + static_cast<uint64_t>(s));
      side[s]->drop_percent = 5;
      side[s]->bench.verdict_rate = b.ready;
      side[s]->bench.on_txc = [this, s](const spec::Txc& t) { report(s, t); };
    }
  }

  // Draws a descriptor for side s and notes what it must become.
  void send(int s) {
    const bool ack = r() % 3 == 0;
    const uint8_t op = ack ? kAck : kRequests[r() % kRequests.size()];
    const uint8_t vc = ack ? kRsp : (r() & 1 ? kBulk : kReq);
    unsigned len = r() % 3 == 0 ? r() % 4097 : r() % 200;
    if (is_reduce(op)) len &= ~3u;
    Receiver::Request d{random_txd(r, op, vc, len), 0};
    d.dst_node = side[1 - s]->bench.config.node;
    // Sources in the upper half of the memory, targets in the lower one.
    d.laddr = 0x200000 + r() % 0x1ff000;
    d.target = next_target(r, cursor[s], len);
    if (r() % 1000 < config.bad_read_per_mille) d.laddr |= kBadAddress;
    if (r() % 1000 < config.bad_write_per_mille) d.target |= kBadAddress;
    if (!is_send(op)) d.raddr = d.target;
    side[s]->bench.txd[vc].push_back(d);
    sent[s][vc].push_back(d);
  }

  void cycle() {
    for (int s = 0; s < 2; ++s) {
      if (to_send[s] > 0 && (config.gap == 0 || r() % config.gap == 0)) --to_send[s], send(s);
    }
    for (int s = 0; s < 2; ++s) {
      Bench& b = side[s]->bench;
      Wire &out = wire[s], &in = wire[1 - s];
      const spec::Flit* f = nullptr;
      if (!in.flits.empty() && in.flits.front().first <= b.now) f = &in.flits.front().second;
      unsigned credit = 0;
      for (int v = 0; v < 3; ++v) {
        if (out.credits[v].empty() || out.credits[v].front() > b.now) continue;
        out.credits[v].pop_front();
        credit |= 1u << v;
        --out.outstanding[v];
      }
      b.cycle(f, credit);
      if (f != nullptr) in.flits.pop_front();
      for (int v = 0; v < 3; ++v) {
        if ((b.rx_credit >> v) & 1) in.credits[v].push_back(b.now + delay());
      }
      if (b.flit.valid) depart(s, b.flit);
    }
  }

  void depart(int s, spec::Flit f) {
    Wire& w = wire[s];
    ASSERT_LT(f.vc, 3);
    ASSERT_LE(++w.outstanding[f.vc], kVcDepth) << "sent without credit";
    if (f.sop) w.corrupt = r() % 1000 < config.corrupt_per_mille;
    if (w.corrupt && (f.eop || r() % 4 == 0)) {
      const unsigned bit = static_cast<unsigned>(r() % (512 - 8 * f.empty));
      f.data[bit / 32] ^= 1u << (bit % 32);
    }
    w.last = std::max(w.last + 1, side[s]->bench.now + delay());
    w.flits.emplace_back(w.last, f);
    if (!f.eop) return;
    ASSERT_FALSE(sent[s][f.vc].empty());
    const Receiver::Request d = sent[s][f.vc].front();
    sent[s][f.vc].pop_front();
    const bool bad_read = has_payload(d.opcode) && d.len != 0 && !d.inl && (d.laddr & kBadAddress);
    Receiver::Expected e{expected_header(d, side[s]->bench.config.node), {}, d.target};
    if (w.corrupt || bad_read) e.header.err = code(spec::ErrCause::kFcs);
    const Bytes& m = side[s]->bench.memory;
    for (unsigned i = 0; i < d.len && has_payload(d.opcode); ++i) {
      e.payload.push_back(d.inl ? sack_byte(d, i) : m[(d.laddr + i) % m.size()]);
    }
    side[1 - s]->headers[f.vc].push_back(e);
    ++frames;
    if (d.opcode != kAck) ++requests[s];
  }

  void report(int s, const spec::Txc&) { ++reports[s]; }

  bool done() {
    for (int s = 0; s < 2; ++s) {
      if (to_send[s] > 0 || !side[s]->done() || !wire[s].flits.empty()) return false;
      for (int v = 0; v < 3; ++v) {
        if (!sent[s][v].empty() || wire[s].outstanding[v] != 0) return false;
      }
    }
    return true;
  }

  void run() {
    to_send = {config.packets, config.packets};
    uint64_t moved = 0;
    int still = 0;
    while (!done()) {
      cycle();
      if (testing::Test::HasFailure()) return;
      const uint64_t m = side[0]->bench.moved + side[1]->bench.moved;
      still = m == moved ? still + 1 : 0;
      moved = m;
      ASSERT_LT(still, 5000) << "no progress at cycle " << side[0]->bench.now;
    }
    for (int s = 0; s < 2; ++s) {
      EXPECT_TRUE(side[s]->bench.memory == side[s]->golden) << "memory of side " << s;
      EXPECT_EQ(reports[s], requests[s]);
    }
  }

  // Both ports are reset at the same time; what is on the wires is gone.
  void reset() {
    for (int s = 0; s < 2; ++s) {
      Receiver& t = *side[s];
      t.bench.reset(1);
      t.reports.clear();
      for (auto& q : t.headers) q.clear();
      t.golden = t.bench.memory;
      for (auto& q : sent[s]) q.clear();
      wire[s] = Wire{};
      reports[s] = requests[s] = 0;
    }
  }

  uint64_t delay() { return config.link_min + r() % (config.link_max - config.link_min + 1); }

  LoopConfig config;
  std::mt19937_64 r;
  std::array<std::unique_ptr<Receiver>, 2> side;
  std::array<Wire, 2> wire;
  std::array<std::array<std::deque<Receiver::Request>, 3>, 2> sent;
  std::array<uint64_t, 2> cursor{}, reports{}, requests{};
  std::array<int, 2> to_send{};
  uint64_t frames = 0;
};

LoopConfig random_config(uint64_t round) {
  LoopConfig c;
  c.bench.latency_max = static_cast<int>(1 + round * 29 % 130);
  c.bench.ready = std::array{1.0, 0.8, 0.5, 0.25}[round % 4];
  c.link_max = 1 + round * 67 % 300;
  c.corrupt_per_mille = round % 2 ? 60 : 0;
  c.bad_read_per_mille = c.bad_write_per_mille = round % 3 ? 40 : 0;
  return c;
}

TEST(NicPortLoop, RandomTraffic) {
  for (uint64_t round = 0; round < 12; ++round) {
    Loop l(random_config(round), 500 + round);
    l.run();
    ASSERT_FALSE(HasFailure()) << "round " << round;
    ASSERT_EQ(l.frames, 600u);
  }
}

TEST(NicPortLoop, ResetInMidOperation) {
  LoopConfig c = random_config(1);
  c.packets = 60;
  Loop l(c, 600);
  for (int round = 0; round < 10; ++round) {
    if (round % 2) {
      l.run();
    } else {
      l.to_send = {c.packets, c.packets};
      for (int i = static_cast<int>(l.r() % 1200); i > 0; --i) l.cycle();
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
    l.reset();
  }
}

// A port that is not evaluated while idle_o is 1 and no input is active does exactly the same.
TEST(NicPortLoop, SkippingIdleCyclesChangesNothing) {
  uint64_t trace[2][2], now[2], evaluated[2];
  for (int skip = 0; skip < 2; ++skip) {
    LoopConfig c = random_config(2);
    c.bench.ready = 0.9;
    c.bench.latency_max = 40;
    c.gap = 150;
    c.packets = 150;
    c.bench.skip_idle = skip != 0;
    Loop l(c, 700);
    l.run();
    ASSERT_FALSE(HasFailure());
    for (int s = 0; s < 2; ++s) trace[skip][s] = l.side[s]->bench.trace;
    now[skip] = l.side[0]->bench.now;
    evaluated[skip] = l.side[0]->bench.evaluated;
  }
  EXPECT_EQ(trace[0][0], trace[1][0]);
  EXPECT_EQ(trace[0][1], trace[1][1]);
  EXPECT_EQ(now[0], now[1]);
  EXPECT_EQ(evaluated[0], now[0]);
  EXPECT_LT(evaluated[1], now[1] * 3 / 4);
}

}  // namespace
}  // namespace ubl::test
