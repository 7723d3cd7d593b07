// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Constrained-random traffic between two cores against a golden model: what memories and completion
// queues must hold follows from the posted requests alone.
#include "Vnic_coreChk.h"
#include "Vnic_core_p1Chk.h"
#include "bench.hpp"

namespace nic_core_test {
namespace {

constexpr uint64_t kSrc = 0x100000, kSrcSize = 0x20000;
constexpr uint64_t kShared = 0x200000, kSharedSize = 0x8000;     // REDUCE from everybody
constexpr uint64_t kPrivate = 0x400000, kPrivateSize = 0x10000;  // of QP q at kPrivate + q * size
// What a READ of the own side brings, of QP q at kInbox + q * size: nobody else writes there.
constexpr uint64_t kInbox = 0x1000000, kInboxSize = 0x10000;

struct Expected {
  uint64_t wr_id;
  uint8_t opcode, recv;
  uint32_t byte_len, imm;
};

// One direction of one QP.
struct Flow {
  unsigned card, qpn, cq, rcq;
  std::deque<Wqe> todo;
  unsigned ring = 0, posted = 0, freed = 0, receives = 0;
  std::deque<Expected> sends, recvs;
};

template <class B>
struct Traffic {
  explicit Traffic(uint64_t salt) : bench(salt), rng(ubl::test::rng(salt + 1000)) {}

  B bench;
  Rng rng;
  std::vector<Flow> flows;
  Memory golden[2];
  uint32_t lkey[2] = {}, rkey_shared[2] = {}, rkey_private[2] = {}, lkey_inbox[2] = {};
  uint64_t hash = 1469598103934665603ull;

  void mix(uint64_t v) { hash = (hash ^ v) * 1099511628211ull; }

  void build(unsigned qps, unsigned messages, unsigned max_len) {
    auto& b = bench;
    const unsigned cqs = 4;
    for (unsigned c = 0; c < 2; ++c) {
      b.enable(c);
      for (unsigned q = 0; q < cqs; ++q) b.make_cq(c, q, 7, q % 2);
      lkey[c] = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
      rkey_shared[c] = b.make_mr(c, 2, kShared, kSharedSize, false, false, true);
      rkey_private[c] =
          b.make_mr(c, 3, kPrivate, kPrivateSize * qps, false, true, true, false, true);
      lkey_inbox[c] = b.make_mr(c, 4, kInbox, kInboxSize * qps, false, false, false, true, false);
      for (auto [base, size] :
           {std::pair{kSrc, kSrcSize}, {kShared, kSharedSize}, {kPrivate, kPrivateSize * qps}}) {
        // Small integers: sums are exact in any order.
        std::vector<uint8_t> data(size);
        for (size_t i = 0; i < size; i += 4) {
          const float f = static_cast<float>(static_cast<int>(rng() % 15) - 7);
          std::memcpy(&data[i], &f, 4);
        }
        b.card[c]->mem.write(base, data.data(), size);
        golden[c].write(base, data.data(), size);
      }
    }
    for (unsigned q = 0; q < qps; ++q) {
      const unsigned plane = static_cast<unsigned>(rng() % B::kPlanes);
      const unsigned log2 = 2 + static_cast<unsigned>(rng() % 4);
      const unsigned window =
          static_cast<unsigned>(rng() % 3 == 0 ? 1 + rng() % 20 : 20 + rng() % 200);
      const uint32_t psn[2] = {static_cast<uint32_t>(rng() & 0xffffff),
                               static_cast<uint32_t>(0xfffff0 + rng() % 16)};
      for (unsigned c = 0; c < 2; ++c) {
        const unsigned scq = static_cast<unsigned>(rng() % cqs),
                       rcq = static_cast<unsigned>(rng() % cqs);
        QpCtx x = b.qp_ctx(c, q, q, plane, scq, rcq);
        x.sq_log2 = static_cast<uint8_t>(log2);
        x.window = static_cast<uint16_t>(window);
        x.sq_psn = psn[c];
        x.rq_psn = psn[1 - c];
        b.make_qp(c, q, x);
        Flow f;
        f.card = c;
        f.qpn = q;
        f.cq = scq;
        f.rcq = rcq;
        f.ring = 1u << log2;
        flows.push_back(f);
      }
    }
    for (auto& f : flows) {
      auto& recvs = peer(f).recvs;
      for (unsigned m = 0; m < messages; ++m) f.todo.push_back(message(f, m, max_len, recvs));
    }
  }

  Flow& peer(const Flow& f) {
    return *std::find_if(flows.begin(), flows.end(),
                         [&](const Flow& o) { return o.qpn == f.qpn && o.card != f.card; });
  }

  Wqe message(Flow& f, unsigned m, unsigned max_len, std::deque<Expected>& recvs) {
    Wqe w;
    const unsigned c = f.card;
    // READs in bursts: a change between them and others costs a round trip.
    if (rng() % 4 == 0) reading_ = rng() % 3 == 0;
    w.opcode = static_cast<uint8_t>(rng() % 10 == 0 ? 0 : reading_ ? 5 : 1 + rng() % 4);
    const bool read = w.opcode == raw(WqeOp::kRead);
    w.signalled = rng() % 2 || m % 3 == 2;  // something frees the ring
    w.fence = rng() % 8 == 0;
    // Changing the VC is legal, but costs a round trip.
    w.vc = raw(read || (rng() % 10 == 0) != (f.qpn % 2 == 0) ? Vc::kReq : Vc::kBulk);
    switch (rng() % 6) {
      case 0:
        w.length = 0;
        break;
      case 1:
        w.length = static_cast<uint32_t>(4096 * (1 + rng() % (max_len / 4096 + 1)));
        break;
      case 2:
        w.length = static_cast<uint32_t>(1 + rng() % max_len);
        break;
      default:
        w.length = static_cast<uint32_t>(1 + rng() % 256);
    }
    const bool red = w.opcode == raw(WqeOp::kReduce) || w.opcode == raw(WqeOp::kReduceImm);
    const bool imm = w.opcode == raw(WqeOp::kWriteImm) || w.opcode == raw(WqeOp::kReduceImm);
    if (red) w.length &= ~3u;
    const bool shared = red && rng() % 2;
    const uint64_t base = shared ? kShared : kPrivate + kPrivateSize * f.qpn;
    const uint64_t size = shared ? kSharedSize : kPrivateSize;
    // REDUCE works on whole elements, so that the sums of shared ones are exact in any order; WRITE
    // takes any byte address. Often the same place, so that hazards are common.
    const uint64_t align = red ? 3 : 0;
    w.laddr = kSrc + (rng() % (kSrcSize - w.length) & ~align);
    w.raddr = base + ((rng() % 2 ? rng() % 64 : rng() % (size - w.length)) & ~align);
    if (read) w.laddr = kInbox + kInboxSize * f.qpn + rng() % (kInboxSize - w.length);
    w.lkey = read ? lkey_inbox[c] : lkey[c];
    w.rkey = shared ? rkey_shared[1 - c] : rkey_private[1 - c];
    w.imm = static_cast<uint32_t>(rng());
    w.wr_id = rng();
    // Golden.
    if (read) {
      const auto data = golden[1 - c].read(w.raddr, w.length);
      golden[c].write(w.laddr, data.data(), data.size());
    } else if (w.opcode != 0) {
      auto data = golden[c].read(w.laddr, w.length);
      if (red) data = add_f32(golden[1 - c].read(w.raddr, w.length), data);
      golden[1 - c].write(w.raddr, data.data(), data.size());
    }
    if (w.signalled) f.sends.push_back({w.wr_id, w.opcode, 0, w.length, 0});
    if (imm) {
      const uint32_t last = w.length == 0 ? 0 : (w.length - 1) % 4096 + 1;
      recvs.push_back({0, w.opcode, 1, last, w.imm});
    }
    return w;
  }

  bool done() const {
    for (auto& f : flows) {
      if (!f.todo.empty() || !f.sends.empty() || !f.recvs.empty()) return false;
    }
    return true;
  }

  // What a driver does now and then.
  void drive() {
    auto& b = bench;
    Flow& f = flows[rng() % flows.size()];
    if (rng() % 4 == 0) {
      // Receives are always posted ahead of the peer's immediates.
      if (f.receives < 60000) b.post_receives(f.card, f.qpn, f.receives += 1 + rng() % 3);
    }
    unsigned n = 0;
    const unsigned burst = 1 + static_cast<unsigned>(rng() % 4);
    Flow& p = peer(f);
    while (n < burst && !f.todo.empty() && f.posted - f.freed < f.ring) {
      const bool imm = f.todo.front().opcode == 2 || f.todo.front().opcode == 4;
      if (imm && p.receives <= imms_posted(f)) break;
      if (imm) ++imms_[&f];
      b.write_wqe(f.card, f.qpn, f.todo.front());
      f.todo.pop_front();
      ++f.posted;
      ++n;
    }
    if (n != 0) b.ring(f.card, f.qpn);
    for (unsigned c = 0; c < 2; ++c) {
      const unsigned cq = static_cast<unsigned>(rng() % 4);
      Cqe e;
      while (b.poll(c, cq, e)) {
        check(c, cq, e);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  unsigned imms_posted(const Flow& f) { return imms_[&f]; }

  void check(unsigned c, unsigned cq, const Cqe& e) {
    auto it = std::find_if(flows.begin(), flows.end(),
                           [&](const Flow& f) { return f.card == c && f.qpn == e.qpn; });
    ASSERT_NE(it, flows.end());
    auto& list = e.recv ? it->recvs : it->sends;
    ASSERT_FALSE(list.empty()) << "QP " << e.qpn;
    const Expected x = list.front();
    list.pop_front();
    EXPECT_EQ(cq, e.recv ? it->rcq : it->cq);
    EXPECT_STREQ(to_string(static_cast<CqeStatus>(e.status)), "ok");
    EXPECT_EQ(e.opcode, x.opcode);
    EXPECT_EQ(e.byte_len, x.byte_len);
    EXPECT_EQ(e.imm, x.imm);
    if (e.recv) {
      EXPECT_EQ(e.wr_id, recv_count_[&*it]++);
    } else {
      EXPECT_EQ(e.wr_id, x.wr_id);
      it->freed += static_cast<uint16_t>(e.sq_head - it->freed);
    }
    mix(bench.cycles);
    mix(e.wr_id);
  }

  void go(unsigned every, uint64_t limit) {
    bench.run_until(
        [&] {
          if (rng() % every == 0) drive();
          return testing::Test::HasFailure() || done();
        },
        limit);
    bench.settle();
    for (unsigned c = 0; c < 2; ++c) {
      EXPECT_EQ(bench.rd(c, reg::kNicErrCount), 0u);
      const auto& m = bench.card[c]->mem;
      EXPECT_TRUE(m.read(kShared, kSharedSize) == golden[c].read(kShared, kSharedSize))
          << "card " << c;
      for (auto& f : flows) {
        if (f.card != c) continue;
        const uint64_t at = kPrivate + kPrivateSize * f.qpn;
        EXPECT_TRUE(m.read(at, kPrivateSize) == golden[c].read(at, kPrivateSize))
            << "card " << c << " QP " << f.qpn;
        const uint64_t in = kInbox + kInboxSize * f.qpn;
        EXPECT_TRUE(m.read(in, kInboxSize) == golden[c].read(in, kInboxSize))
            << "card " << c << " QP " << f.qpn << " READ";
      }
      for (uint8_t byte : m.read(kShared, kSharedSize)) mix(byte);
    }
  }

 private:
  bool reading_ = false;
  std::map<const Flow*, unsigned> imms_, recv_count_;
};

void vary(Timing& t, Rng& rng) {
  t.dma_min = 5 + static_cast<unsigned>(rng() % 100);
  t.dma_max = t.dma_min + static_cast<unsigned>(rng() % 400);
  t.dma_ready = 10 + static_cast<unsigned>(rng() % 91);
  t.link_min = 1 + static_cast<unsigned>(rng() % 100);
  t.link_max = t.link_min + static_cast<unsigned>(rng() % 100);
  t.mem_max = t.mem_min + static_cast<unsigned>(rng() % 300);
  t.rxv_ready = 20 + static_cast<unsigned>(rng() % 81);
  t.rx_rate = 20 + static_cast<unsigned>(rng() % 81);
  t.txc_rate = 20 + static_cast<unsigned>(rng() % 81);
}

TEST(Random, OnePlane) {
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Traffic<Bench<Vnic_core_p1Chk, 1>> r(100 + round);
    vary(r.bench.timing, r.rng);
    r.build(2 + static_cast<unsigned>(r.rng() % 6), 40, 20000);
    r.go(1 + static_cast<unsigned>(r.rng() % 30), 400000);
    if (HasFailure()) return;
  }
}

TEST(Random, EightPlanes) {
  for (unsigned round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Traffic<Bench<Vnic_coreChk, 8>> r(200 + round);
    vary(r.bench.timing, r.rng);
    r.build(10 + static_cast<unsigned>(r.rng() % 14), 30, 20000);
    r.go(1 + static_cast<unsigned>(r.rng() % 10), 400000);
    if (HasFailure()) return;
  }
}

// Not evaluating a sleeping core changes nothing, to the cycle.
TEST(Random, SkippingIdleCyclesChangesNothing) {
  for (unsigned round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    uint64_t hash[2], cycles[2], skipped[2];
    for (unsigned k = 0; k < 2; ++k) {
      Traffic<Bench<Vnic_core_p1Chk, 1>> r(300 + round);
      vary(r.bench.timing, r.rng);
      for (auto& c : r.bench.card) c->skip = k == 1;
      r.build(3, 20, 8000);
      r.go(300, 400000);
      if (HasFailure()) return;
      hash[k] = r.hash;
      cycles[k] = r.bench.cycles;
      skipped[k] = r.bench.a().skipped + r.bench.b().skipped;
    }
    EXPECT_EQ(hash[0], hash[1]);
    EXPECT_EQ(cycles[0], cycles[1]);
    EXPECT_GT(skipped[1], cycles[1] / 4);
  }
}

// Frames are lost at random. Nothing may hang, every request completes exactly once and in order,
// and a QP without a lost frame is not disturbed.
TEST(Random, Faults) {
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    using B = Bench<Vnic_core_p1Chk, 1>;
    B b(400 + round);
    Rng rng = ubl::test::rng(500 + round);
    vary(b.timing, rng);
    for (auto& c : b.card) c->skip = round % 2 == 1;  // time-outs wake a sleeping core
    uint32_t lkey = 0, rkey = 0, inbox = 0;
    constexpr unsigned kQps = 6, kMessages = 24;
    for (unsigned c = 0; c < 2; ++c) {
      b.enable(c);
      b.make_cq(c, 0, 10);
      b.make_cq(c, 1, 10);
      b.wr(c, reg::kNicTimeout, 4000);
      lkey = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
      rkey = b.make_mr(c, 2, kPrivate, kPrivateSize * kQps, false, true, true, false, true);
      inbox = b.make_mr(c, 3, kInbox, kInboxSize * kQps, false, false, false, true);
    }
    std::set<unsigned> harmed;
    for (unsigned q = 0; q < kQps; ++q) {
      b.connect(q, 0, 0, 1, [&](QpCtx& x) { x.sq_log2 = 5; });
      for (unsigned c = 0; c < 2; ++c) b.post_receives(c, q, 1000);
    }
    const unsigned what = static_cast<unsigned>(rng() % 4);
    for (unsigned c = 0; c < 2; ++c) {
      b.card[c]->on_wire = [&, c](Frame& f, unsigned) {
        if (rng() % 60 != 0) return true;
        const bool ack = f.h.opcode == raw(PktOp::kAck);
        if (ack != (what == 3) && what != 2) return true;
        harmed.insert(f.h.dst_qpn);
        if (what == 1) {
          f.h.err = raw(ErrCause::kIcrc);
          return true;
        }
        return false;
      };
    }
    for (unsigned q = 0; q < kQps; ++q) {
      for (unsigned c = 0; c < 2; ++c) {
        for (unsigned m = 0; m < kMessages; ++m) {
          Wqe w;
          w.opcode = static_cast<uint8_t>(1 + rng() % 5);
          const bool read = w.opcode == raw(WqeOp::kRead);
          w.signalled = 1;
          w.vc = raw(read || rng() % 2 ? Vc::kReq : Vc::kBulk);
          w.length = static_cast<uint32_t>(rng() % 12000) & ~3u;
          w.laddr = read ? kInbox : kSrc;
          w.raddr = kPrivate + kPrivateSize * q;
          w.lkey = read ? inbox : lkey;
          w.rkey = rkey;
          w.wr_id = m;
          b.write_wqe(c, q, w);
        }
        b.ring(c, q);
      }
    }
    unsigned next[2][kQps] = {}, bad[2][kQps] = {}, total = 0;
    b.run_until(
        [&] {
          for (unsigned c = 0; c < 2; ++c) {
            Cqe e;
            while (b.poll(c, 0, e)) {
              EXPECT_EQ(e.wr_id, next[c][e.qpn]) << "card " << c << " QP " << e.qpn;
              ++next[c][e.qpn];
              ++total;
              if (bad[c][e.qpn] != 0) {
                EXPECT_TRUE(e.status == raw(CqeStatus::kFlushed) || e.status == 0);
              }
              bad[c][e.qpn] += e.status != raw(CqeStatus::kOk);
              if (e.status != 0) {
                EXPECT_TRUE(harmed.count(e.qpn))
                    << e.qpn << " " << to_string(static_cast<CqeStatus>(e.status));
              }
            }
            while (b.poll(c, 1, e)) {
            }
          }
          return total == 2 * kQps * kMessages || HasFailure();
        },
        400000);
    if (HasFailure()) return;
    b.settle();
    for (unsigned q = 0; q < kQps; ++q) {
      for (unsigned c = 0; c < 2; ++c) {
        if (harmed.count(q)) continue;
        EXPECT_EQ(b.status(c, q).state, raw(QpState::kReady));
      }
    }
    for (auto& c : b.card) EXPECT_EQ(c->dut().deadline_o, kNever);
  }
}

// ------------------------------------------------------------------------------ speed

// Eight planes, both directions, large messages at line rate.
TEST(Speed, EightPlanesAtLineRate) {
  Bench<Vnic_coreChk, 8> b(1);
  b.timing = Timing{};
  b.timing.line_rate = true;
  b.timing.dma_ready = b.timing.rx_rate = b.timing.rxv_ready = b.timing.txc_rate = 100;
  b.timing.dma_min = b.timing.dma_max = 470;
  b.timing.link_min = b.timing.link_max = 430;
  b.timing.mem_min = b.timing.mem_max = 150;
  uint32_t lkey[2], rkey[2];
  for (unsigned c = 0; c < 2; ++c) {
    b.enable(c);
    b.make_cq(c, 0, 10);
    b.make_cq(c, 1, 10);
    lkey[c] = b.make_mr(c, 1, kSrc, 0x100000);
    rkey[c] = b.make_mr(c, 2, kPrivate, 0x100000);
  }
  for (unsigned q = 0; q < 8; ++q) {
    b.connect(q, q, 0, 1, [](QpCtx& x) { x.window = 256; });
    for (unsigned c = 0; c < 2; ++c) {
      for (unsigned m = 0; m < 4; ++m) {
        Wqe w;
        w.opcode = raw(WqeOp::kWrite);
        w.signalled = 1;
        w.vc = raw(Vc::kBulk);
        w.length = 0x40000;
        w.laddr = kSrc;
        w.raddr = kPrivate;
        w.lkey = lkey[c];
        w.rkey = rkey[1 - c];
        b.write_wqe(c, q, w);
      }
      b.ring(c, q);
    }
  }
  b.run(4000);
  uint64_t from[2] = {}, to[2] = {};
  for (unsigned c = 0; c < 2; ++c) {
    for (uint64_t v : b.card[c]->counts.placed) from[c] += v;
  }
  constexpr unsigned kCycles = 8000;
  b.run(kCycles);
  for (unsigned c = 0; c < 2; ++c) {
    for (uint64_t v : b.card[c]->counts.placed) to[c] += v;
    const double per_plane = kCycles * 8.0 / static_cast<double>(to[c] - from[c]);
    std::printf("card %u: one packet of 4096 bytes per plane in %.2f cycles\n", c, per_plane);
    // 66 flits, and an acknowledgement of 2 flits per 16 packets.
    EXPECT_LT(per_plane, 66.5);
  }
}

// Many QPs, 64-byte messages, ports that take a frame per cycle.
TEST(Speed, SmallMessages) {
  Bench<Vnic_coreChk, 8> b(2);
  b.timing.dma_ready = b.timing.rx_rate = b.timing.rxv_ready = b.timing.txc_rate = 100;
  b.timing.dma_min = b.timing.dma_max = 470;
  b.timing.link_min = b.timing.link_max = 430;
  b.timing.mem_min = b.timing.mem_max = 5;
  uint32_t lkey = 0, rkey = 0;
  for (unsigned c = 0; c < 2; ++c) {
    b.enable(c);
    b.make_cq(c, 0, 12);
    b.make_cq(c, 1, 12);
    lkey = b.make_mr(c, 1, kSrc, 0x100000);
    rkey = b.make_mr(c, 2, kPrivate, 0x100000);
  }
  constexpr unsigned kQps = 64, kMessages = 32;
  for (unsigned q = 0; q < kQps; ++q) {
    QpCtx x = b.qp_ctx(0, q, q, q % 8, 0, 1);
    x.sq_log2 = 5;
    b.make_qp(0, q, x);
    x = b.qp_ctx(1, q, q, q % 8, 0, 1);
    b.make_qp(1, q, x);
    for (unsigned m = 0; m < kMessages; ++m) {
      Wqe w;
      w.opcode = raw(WqeOp::kWrite);
      w.signalled = m % 8 == 7;
      w.vc = raw(Vc::kReq);
      w.length = 64;
      w.laddr = kSrc;
      w.raddr = kPrivate + 64 * q;
      w.lkey = lkey;
      w.rkey = rkey;
      b.write_wqe(0, q, w);
    }
  }
  for (unsigned q = 0; q < kQps; ++q) b.ring(0, q);
  auto sent = [&] {
    uint64_t n = 0;
    for (uint64_t v : b.a().counts.txd) n += v;
    return n;
  };
  b.run_until([&] { return sent() >= 300; });
  const uint64_t start = b.cycles, first = sent();
  b.run_until([&] { return sent() >= 1800; });
  const double per = static_cast<double>(b.cycles - start) / static_cast<double>(sent() - first);
  std::printf("one message of 64 bytes in %.2f cycles\n", per);
  EXPECT_LT(per, 4.5);
  b.settle();
}

}  // namespace
}  // namespace nic_core_test
