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
constexpr uint64_t kLanding = 0x2000000, kLandingSize = 0x1000000;  // receive buffers

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
  unsigned rq = 0, received = 0;  // entries of the receive ring, 0 without one; completed
  std::deque<Wqe> buffers;        // receives to post
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
  unsigned send_count = 0;

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
          b.make_mr(c, 3, kPrivate, kPrivateSize * qps, false, true, true, true, true);
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
        Flow f;
        if (kSendInCore && rng() % 4 != 0) {
          const unsigned rq_log2 = static_cast<unsigned>(rng() % 5);
          B::add_ring(x, q, rq_log2);
          f.rq = 1u << rq_log2;
        }
        b.make_qp(c, q, x);
        f.card = c;
        f.qpn = q;
        f.cq = scq;
        f.rcq = rcq;
        f.ring = 1u << log2;
        flows.push_back(f);
      }
    }
    for (auto& f : flows) {
      Flow& p = peer(f);
      for (unsigned m = 0; m < messages; ++m) f.todo.push_back(message(f, m, max_len, p));
      // Some that nobody needs.
      for (uint64_t n = rng() % 3; n > 0 && p.rq != 0; --n) p.buffers.push_back(buffer(p, 0));
    }
  }

  Flow& peer(const Flow& f) {
    return *std::find_if(flows.begin(), flows.end(),
                         [&](const Flow& o) { return o.qpn == f.qpn && o.card != f.card; });
  }

  // A receive of flow p for `length` bytes: among the targets of the peer's WRITEs and REDUCEs, in
  // whose order it is filled.
  Wqe buffer(const Flow& p, uint32_t length) {
    Wqe w;
    w.opcode = raw(WqeOp::kRecv);
    w.length = static_cast<uint32_t>(length + (rng() % 2 ? 0 : rng() % 64));
    w.laddr = kPrivate + kPrivateSize * p.qpn +
              (rng() % 2 ? rng() % 64 : rng() % (kPrivateSize - w.length));
    w.lkey = rkey_private[p.card];
    w.wr_id = rng();
    return w;
  }

  Wqe message(Flow& f, unsigned m, unsigned max_len, Flow& p) {
    Wqe w;
    const unsigned c = f.card;
    // READs in bursts: a change between them and others costs a round trip.
    if (rng() % 4 == 0) reading_ = rng() % 3 == 0;
    w.opcode = static_cast<uint8_t>(rng() % 10 == 0 ? 0 : reading_ ? 5 : 1 + rng() % 4);
    if (p.rq != 0 && w.opcode != 0 && !reading_ && rng() % 2) {
      w.opcode = raw(rng() % 2 ? WqeOp::kSend : WqeOp::kSendImm);
    }
    const bool send = w.opcode == raw(WqeOp::kSend) || w.opcode == raw(WqeOp::kSendImm);
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
    const bool imm = consumes(w);
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
    } else if (send) {
      ++send_count;
      p.buffers.push_back(buffer(p, w.length));
      const auto data = golden[c].read(w.laddr, w.length);
      golden[1 - c].write(p.buffers.back().laddr, data.data(), data.size());
    } else if (w.opcode != 0) {
      auto data = golden[c].read(w.laddr, w.length);
      if (red) data = add_f32(golden[1 - c].read(w.raddr, w.length), data);
      golden[1 - c].write(w.raddr, data.data(), data.size());
    }
    if (w.signalled) f.sends.push_back({w.wr_id, w.opcode, 0, w.length, 0});
    if (imm) {
      const uint32_t last = w.length == 0 ? 0 : (w.length - 1) % 4096 + 1;
      if (p.rq != 0 && !send) {
        // Only counted: what it points to is not looked at.
        Wqe r = buffer(p, 0);
        r.length = static_cast<uint32_t>(rng());
        r.lkey = static_cast<uint32_t>(rng());
        r.laddr = rng();
        p.buffers.push_back(r);
      }
      const uint64_t id = p.rq != 0 ? p.buffers.back().wr_id : p.recvs.size();
      p.recvs.push_back(
          {id, w.opcode, 1, send ? w.length : last, w.opcode == raw(WqeOp::kSend) ? 0 : w.imm});
    }
    return w;
  }
  // A receive of the peer.
  static bool consumes(const Wqe& w) {
    return w.opcode == raw(WqeOp::kWriteImm) || w.opcode == raw(WqeOp::kReduceImm) ||
           w.opcode == raw(WqeOp::kSend) || w.opcode == raw(WqeOp::kSendImm);
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
    const bool more = rng() % 4 == 0;
    if (more && f.rq != 0) {
      const unsigned before = f.receives;
      for (uint64_t k = 1 + rng() % 6; k > 0 && !f.buffers.empty(); --k) {
        if (f.receives - f.received == f.rq) break;
        b.write_recv(f.card, f.qpn, f.buffers.front());
        f.buffers.pop_front();
        ++f.receives;
      }
      if (f.receives != before) b.ring_recv(f.card, f.qpn);
    } else if (more) {
      // Receives are always posted ahead of the peer's immediates.
      if (f.receives < 60000) b.post_receives(f.card, f.qpn, f.receives += 1 + rng() % 3);
    }
    unsigned n = 0;
    const unsigned burst = 1 + static_cast<unsigned>(rng() % 4);
    Flow& p = peer(f);
    while (n < burst && !f.todo.empty() && f.posted - f.freed < f.ring) {
      const bool imm = consumes(f.todo.front());
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
    EXPECT_EQ(e.wr_id, x.wr_id);
    if (e.recv) {
      ++it->received;
    } else {
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
      for (const LogEntry& l : bench.log(c)) {
        ADD_FAILURE() << "card " << c << " logs " << to_string(l.cause) << " of QP " << l.qpn;
      }
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
  std::map<const Flow*, unsigned> imms_;
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
  unsigned sends = 0;
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Traffic<Bench<Vnic_core_p1Chk, 1>> r(100 + round);
    vary(r.bench.timing, r.rng);
    r.build(2 + static_cast<unsigned>(r.rng() % 6), 40, 20000);
    r.go(1 + static_cast<unsigned>(r.rng() % 30), 400000);
    if (HasFailure()) return;
    sends += r.send_count;
  }
  if (kSendInCore) {
    EXPECT_GT(sends, 100u);
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
    uint32_t lkey = 0, rkey = 0, inbox = 0, landing = 0;
    constexpr unsigned kQps = 6, kMessages = 24, kReceives = 30;
    const uint64_t source = rng();
    for (unsigned c = 0; c < 2; ++c) {
      b.enable(c);
      b.make_cq(c, 0, 10);
      b.make_cq(c, 1, 10);
      b.wr(c, reg::kNicTimeout, 4000);
      lkey = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
      rkey = b.make_mr(c, 2, kPrivate, kPrivateSize * kQps, false, true, true, false, true);
      inbox = b.make_mr(c, 3, kInbox, kInboxSize * kQps, false, false, false, true);
      landing = b.make_mr(c, 4, kLanding, kLandingSize, false, false, false, true);
      Rng bytes(source + c);
      std::vector<uint8_t> data(12000);
      for (auto& x : data) x = static_cast<uint8_t>(bytes());
      b.card[c]->mem.write(kSrc, data.data(), data.size());
    }
    auto landing_of = [](unsigned q, uint64_t k) {
      return kLanding + (q * kReceives + k) * 0x3000;
    };
    // What each QP of a card will receive, if all goes well.
    std::vector<Wqe> coming[2][kQps];
    std::set<unsigned> harmed;
    for (unsigned q = 0; q < kQps; ++q) {
      b.connect(q, 0, 0, 1, [&](QpCtx& x) {
        x.sq_log2 = 5;
        if (kSendInCore && q % 3 != 0) B::add_ring(x, q, 5);
      });
      for (unsigned c = 0; c < 2; ++c) {
        if (!kSendInCore || q % 3 == 0) {
          b.post_receives(c, q, 1000);
          continue;
        }
        for (unsigned k = 0; k < kReceives; ++k) {
          Wqe r;
          r.opcode = raw(WqeOp::kRecv);
          r.length = 12000;
          r.laddr = landing_of(q, k);
          r.lkey = landing;
          r.wr_id = k;
          b.write_recv(c, q, r);
        }
        b.ring_recv(c, q);
      }
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
          if (kSendInCore && q % 3 != 0 && !read && rng() % 2) {
            w.opcode = raw(rng() % 2 ? WqeOp::kSend : WqeOp::kSendImm);
            w.imm = static_cast<uint32_t>(rng());
          }
          w.signalled = 1;
          w.vc = raw(read || rng() % 2 ? Vc::kReq : Vc::kBulk);
          w.length = static_cast<uint32_t>(rng() % 12000) & ~3u;
          w.laddr = read ? kInbox : kSrc;
          w.raddr = kPrivate + kPrivateSize * q;
          w.lkey = read ? inbox : lkey;
          w.rkey = rkey;
          w.wr_id = m;
          b.write_wqe(c, q, w);
          if (Traffic<B>::consumes(w)) coming[1 - c][q].push_back(w);
        }
        b.ring(c, q);
      }
    }
    unsigned next[2][kQps] = {}, bad[2][kQps] = {}, total = 0;
    unsigned received[2][kQps] = {}, flushed[2][kQps] = {};
    // Receives complete in order, each once; a good one is the message that its turn was.
    auto take_receives = [&](unsigned c) {
      Cqe e;
      while (b.poll(c, 1, e)) {
        const unsigned k = received[c][e.qpn]++;
        EXPECT_EQ(e.wr_id, k) << "card " << c << " QP " << e.qpn;
        if (e.status != 0) {
          EXPECT_EQ(e.status, raw(CqeStatus::kFlushed));
          ++flushed[c][e.qpn];
          continue;
        }
        EXPECT_EQ(flushed[c][e.qpn], 0u);
        ASSERT_LT(k, coming[c][e.qpn].size());
        const Wqe& w = coming[c][e.qpn][k];
        EXPECT_EQ(e.opcode, w.opcode);
        if (w.opcode != raw(WqeOp::kSend) && w.opcode != raw(WqeOp::kSendImm)) continue;
        EXPECT_EQ(e.byte_len, w.length);
        EXPECT_EQ(e.imm, w.opcode == raw(WqeOp::kSend) ? 0 : w.imm);
        EXPECT_TRUE(b.card[c]->mem.read(landing_of(e.qpn, k), w.length) ==
                    b.card[1 - c]->mem.read(kSrc, w.length));
      }
    };
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
            take_receives(c);
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
    // Whatever happened before, an error flushes what is left.
    for (unsigned q = 0; q < kQps; ++q) {
      for (unsigned c = 0; c < 2; ++c) b.command(c, ObjOp::kSetError, q);
    }
    b.settle();
    for (unsigned c = 0; c < 2; ++c) {
      take_receives(c);
      for (unsigned q = 0; q < kQps; ++q) {
        if (kSendInCore && q % 3 != 0) {
          EXPECT_EQ(received[c][q], kReceives) << "card " << c << " QP " << q;
        }
      }
    }
    for (auto& c : b.card) EXPECT_EQ(c->dut().deadline_o, kNever);
  }
}

// One error per QP, of every kind that a receiver can meet, at a random message: both sides must
// show exactly what follows from it, and the buffers exactly the messages before it.
template <class B>
void errors_at_random(uint64_t salt) {
  enum Kind {
    kNone,
    kShort,
    kKey,
    kEntry,
    kUnreadable,
    kRefused,
    kRnr,
    kNumber,
    kRkey,
    kLocal,
    kKinds
  };
  struct Pair {
    unsigned s;  // card of the sender
    Kind kind;
    unsigned at;        // message concerned
    unsigned turn = 0;  // its receive
    uint32_t psn = 0;   // its first packet
    std::vector<Wqe> messages;
    std::vector<unsigned> taker;  // message of each receive
    std::vector<Wqe> receives;
    unsigned sent = 0, received = 0;
  };
  constexpr unsigned kQps = 16, kMessages = 20, kReceives = 26;
  constexpr uint32_t kMax = 0x3000;
  B b(salt);
  Rng rng = ubl::test::rng(salt + 1);
  vary(b.timing, rng);
  uint32_t lkey[2], rkey[2], landing[2];
  for (unsigned c = 0; c < 2; ++c) {
    b.card[c]->skip = rng() % 2;
    b.enable(c);
    b.make_cq(c, 0, 10);
    b.make_cq(c, 1, 10);
    lkey[c] = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
    rkey[c] = b.make_mr(c, 2, kPrivate, kPrivateSize * kQps, false, true, true);
    landing[c] = b.make_mr(c, 4, kLanding, kLandingSize, false, false, false, true);
    std::vector<uint8_t> data(kSrcSize);
    for (auto& x : data) x = static_cast<uint8_t>(rng());
    b.card[c]->mem.write(kSrc, data.data(), data.size());
  }
  std::vector<Pair> pairs(kQps);
  for (unsigned q = 0; q < kQps; ++q) {
    Pair& p = pairs[q];
    p.s = q & 1;
    p.kind = static_cast<Kind>((q + salt) % kKinds);
    p.at = static_cast<unsigned>(rng() % kMessages);
    const unsigned plane = static_cast<unsigned>(rng() % B::kPlanes);
    b.connect(q, plane, 0, 1, [&](QpCtx& x) {
      x.sq_log2 = 5;
      x.window = static_cast<uint16_t>(rng() % 3 == 0 ? 1 + rng() % 8 : 64);
      B::add_ring(x, q, 5);
    });
    const bool needs_send = p.kind != kNone && p.kind != kRkey && p.kind != kLocal;
    uint32_t psn = p.s ? 0x500 : 0xfffffa;
    for (unsigned m = 0; m < kMessages; ++m) {
      Wqe w;
      static constexpr WqeOp kOps[] = {WqeOp::kWrite,  WqeOp::kWriteImm, WqeOp::kReduce,
                                       WqeOp::kSend,   WqeOp::kSend,     WqeOp::kSendImm,
                                       WqeOp::kSendImm};
      w.opcode = raw(kOps[rng() % 7]);
      w.signalled = 1;
      w.vc = raw(rng() % 8 == 0 ? Vc::kReq : Vc::kBulk);
      w.length = static_cast<uint32_t>(rng() % (rng() % 3 ? 300 : kMax)) & ~3u;
      w.imm = static_cast<uint32_t>(rng());
      w.wr_id = m;
      if (m == p.at) {
        if (needs_send) w.opcode = raw(rng() % 2 ? WqeOp::kSend : WqeOp::kSendImm);
        if (p.kind == kRkey) w.opcode = raw(rng() % 2 ? WqeOp::kWrite : WqeOp::kWriteImm);
        w.length += 4;
        p.psn = psn;
        p.turn = static_cast<unsigned>(p.taker.size());
      }
      w.laddr = kSrc + rng() % (kSrcSize - w.length);
      w.raddr = kPrivate + kPrivateSize * q;
      w.lkey = lkey[p.s] ^ (m == p.at && p.kind == kLocal);
      w.rkey = rkey[1 - p.s] ^ (m == p.at && p.kind == kRkey);
      if (Traffic<B>::consumes(w)) p.taker.push_back(m);
      psn = (psn + std::max(1u, (w.length + 4095) / 4096)) & 0xffffff;
      p.messages.push_back(w);
      b.write_wqe(p.s, q, w);
    }
    for (unsigned k = 0; k < kReceives; ++k) {
      if (p.kind == kRnr && k == p.turn) break;
      const uint32_t need =
          k < p.taker.size() ? p.messages[p.taker[k]].length : static_cast<uint32_t>(rng() % kMax);
      Wqe r;
      r.opcode = raw(WqeOp::kRecv);
      r.length = need + static_cast<uint32_t>(rng() % 2 ? 0 : rng() % 64);
      r.laddr = kLanding + (q * kReceives + k) * 0x4000 + rng() % 64;
      r.lkey = landing[1 - p.s];
      r.wr_id = rng() | 1;
      if (k == p.turn && p.kind == kShort) r.length = need - 1;
      if (k == p.turn && p.kind == kKey) r.lkey ^= 1;
      if (k == p.turn && p.kind == kEntry) r.imm = 1;
      if (k == p.turn && p.kind == kRefused) {
        b.card[1 - p.s]->mem.forbid(r.laddr + rng() % need, 1);
      }
      if (k == p.turn && p.kind == kUnreadable) {
        b.card[1 - p.s]->mem.forbid(B::recv_base(q) + 64 * k, 64);
      }
      p.receives.push_back(r);
      b.write_recv(1 - p.s, q, r);
    }
  }
  for (unsigned c = 0; c < 2; ++c) {
    b.card[c]->on_wire = [&, c](Frame& f, unsigned) {
      Pair& p = pairs[f.h.dst_qpn];
      if (p.s == c && p.kind == kNumber && f.h.psn == p.psn && is_send(f.h.opcode)) {
        f.h.raddr ^= 1ull << (32 + p.at);
      }
      return true;
    };
  }
  for (unsigned q = 0; q < kQps; ++q) {
    if (!pairs[q].receives.empty()) b.ring_recv(1 - pairs[q].s, q);
  }
  b.run(rng() % 100);
  for (unsigned q = 0; q < kQps; ++q) b.ring(pairs[q].s, q);

  static constexpr CqeStatus kSender[] = {CqeStatus::kOk,
                                          CqeStatus::kRemoteInvalid,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRnr,
                                          CqeStatus::kRemoteInvalid,
                                          CqeStatus::kRemoteAccess,
                                          CqeStatus::kLocalProtection};
  static constexpr CqeStatus kReceiver[] = {CqeStatus::kFlushed,         CqeStatus::kLocalLength,
                                            CqeStatus::kLocalProtection, CqeStatus::kBadOpcode,
                                            CqeStatus::kLocalMemory,     CqeStatus::kFlushed,
                                            CqeStatus::kFlushed,         CqeStatus::kFlushed,
                                            CqeStatus::kFlushed,         CqeStatus::kFlushed};
  auto good = [](const Pair& p, unsigned m) { return p.kind == kNone || m < p.at; };
  auto look = [&](unsigned c) {
    Cqe e;
    while (b.poll(c, 0, e)) {
      Pair& p = pairs[e.qpn];
      ASSERT_EQ(p.s, c);
      const unsigned m = p.sent++;
      ASSERT_EQ(e.wr_id, m) << "QP " << e.qpn << " kind " << p.kind;
      const CqeStatus want = good(p, m)  ? CqeStatus::kOk
                             : m == p.at ? kSender[p.kind]
                                         : CqeStatus::kFlushed;
      ASSERT_STREQ(to_string(static_cast<CqeStatus>(e.status)), to_string(want))
          << "QP " << e.qpn << " message " << m << " of " << p.at << " kind " << p.kind;
    }
    while (b.poll(c, 1, e)) {
      Pair& p = pairs[e.qpn];
      ASSERT_EQ(p.s, 1 - c);
      const unsigned k = p.received++;
      ASSERT_LT(k, p.receives.size()) << "QP " << e.qpn << " kind " << p.kind;
      const bool fine = k < p.taker.size() && good(p, p.taker[k]);
      const CqeStatus want = fine                             ? CqeStatus::kOk
                             : k == p.turn && p.kind != kNone ? kReceiver[p.kind]
                                                              : CqeStatus::kFlushed;
      ASSERT_STREQ(to_string(static_cast<CqeStatus>(e.status)), to_string(want))
          << "QP " << e.qpn << " receive " << k << " of " << p.turn << " kind " << p.kind;
      ASSERT_EQ(e.wr_id, k == p.turn && p.kind == kUnreadable ? 0 : p.receives[k].wr_id);
      if (!fine) {
        ASSERT_EQ(e.opcode, raw(WqeOp::kRecv));
        ASSERT_EQ(e.byte_len, 0u);
        ASSERT_EQ(e.imm, 0u);
        continue;
      }
      const Wqe& w = p.messages[p.taker[k]];
      ASSERT_EQ(e.opcode, w.opcode);
      if (w.opcode != raw(WqeOp::kWriteImm)) {
        ASSERT_EQ(e.byte_len, w.length);
      }
      ASSERT_EQ(e.imm, w.opcode == raw(WqeOp::kSend) ? 0 : w.imm);
    }
  };
  auto done = [&](bool all) {
    for (unsigned c = 0; c < 2; ++c) look(c);
    if (testing::Test::HasFailure()) return true;
    for (const Pair& p : pairs) {
      if (p.sent != kMessages || (all && p.received != p.receives.size())) return false;
    }
    return true;
  };
  b.run_until([&] { return done(false); }, 400000);
  if (testing::Test::HasFailure()) return;
  b.settle();
  for (unsigned q = 0; q < kQps; ++q) {
    const Pair& p = pairs[q];
    // These are nothing that the receiver would fail for.
    const bool lives = p.kind == kNone || p.kind == kRnr || p.kind == kLocal;
    EXPECT_EQ(b.status(1 - p.s, q).state, raw(lives ? QpState::kReady : QpState::kError))
        << "kind " << p.kind;
    if (lives) b.command(1 - p.s, ObjOp::kSetError, q);
  }
  b.run_until([&] { return done(true); }, 400000);
  b.settle();
  done(true);
  if (testing::Test::HasFailure()) return;
  for (unsigned q = 0; q < kQps; ++q) {
    const Pair& p = pairs[q];
    auto& to = b.card[1 - p.s]->mem;
    for (unsigned k = 0; k < p.receives.size(); ++k) {
      if (p.kind == kRefused && k >= p.turn) break;
      const uint64_t at = kLanding + (q * kReceives + k) * 0x4000;
      std::vector<uint8_t> want(0x4000);
      if (k < p.taker.size() && good(p, p.taker[k])) {
        const Wqe& w = p.messages[p.taker[k]];
        if (w.opcode != raw(WqeOp::kWriteImm)) {
          b.card[p.s]->mem.read(w.laddr, want.data() + (p.receives[k].laddr - at), w.length);
        }
      }
      EXPECT_TRUE(to.read(at, 0x4000) == want)
          << "QP " << q << " receive " << k << " of " << p.turn << " kind " << p.kind;
    }
  }
}

TEST(Random, SendErrorsOnePlane) {
  if (!kSendInCore) GTEST_SKIP();
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    errors_at_random<Bench<Vnic_core_p1Chk, 1>>(600 + round);
    if (HasFailure()) return;
  }
}

TEST(Random, SendErrorsEightPlanes) {
  if (!kSendInCore) GTEST_SKIP();
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    errors_at_random<Bench<Vnic_coreChk, 8>>(700 + round);
    if (HasFailure()) return;
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
