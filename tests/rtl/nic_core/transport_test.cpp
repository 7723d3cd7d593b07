// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The reliable transport, sentence by sentence of rtl/nic/nic_transport.md: what is lost, late,
// twice or refused, and what of it can be seen on the wire, in the queues and in the registers.
#include <cmath>

#include "core_fixture.hpp"

namespace nic_core_test {
namespace {

template <class S>
class Transport : public Core<S> {
 protected:
  using Base = Core<S>;
  using B = typename S::B;
  using Base::bench;
  using Base::kMask;
  using Base::kPlane;
  using Base::kQp;
  static constexpr uint64_t kIn = 0x200000, kBuf = 0x300000;

  void SetUp() override {
    for (unsigned c = 0; c < 2; ++c) {
      lkey_in[c] = bench.make_mr(c, 6, kIn, 0x40000, false, false, false, true, false);
      rkey_rd[c] = bench.make_mr(c, 7, kSrc, kSize, false, false, false, false, true);
      lkey_buf[c] = bench.make_mr(c, 8, kBuf, 0x40000, false, false, false, true, false);
    }
  }

  // A fresh pair with small packets; receives are counted unless `log2` gives a ring.
  void pair(const std::function<void(QpCtx&)>& tune = {}, int log2 = -1) {
    bench.settle();
    for (unsigned c = 0; c < 2; ++c) {
      bench.log(c);
      bench.make_cq(c, 0, 8);
      bench.make_cq(c, 1, 8);
      bench.card[c]->on_wire = {};
      bench.card[c]->on_txd = {};
      bench.card[c]->mem.allow_all();
    }
    bench.all_wires([](Wire& w) { w = Wire{}; });
    bench.connect(kQp, kMask, 0, 1, [&](QpCtx& x) {
      x.mtu = raw(MtuCode::kB1024);
      x.window = 256;
      x.sq_log2 = 6;
      if (log2 >= 0) B::add_ring(x, kQp, static_cast<unsigned>(log2));
      if (tune) tune(x);
    });
    before_.clear();
    for (uint32_t r : kCounters) {
      for (unsigned c = 0; c < 2; ++c) before_[{c, r}] = bench.rd(c, r);
    }
    lost_before_ = this->sum(0, reg::kNicCntLost);
  }
  static constexpr std::array<uint32_t, 6> kCounters = {
      reg::kNicCntRetransmits, reg::kNicCntTimeouts, reg::kNicCntDuplicates,
      reg::kNicCntDeferred,    reg::kNicCntRnrSent,  reg::kNicCntRnrReceived};
  // Since pair().
  uint32_t counted(unsigned c, uint32_t reg) { return bench.rd(c, reg) - before_[{c, reg}]; }
  uint64_t lost() { return this->sum(0, reg::kNicCntLost) - lost_before_; }

  // A's frames with these numbers are lost so often.
  void lose(std::map<uint32_t, unsigned> numbers) {
    left_ = std::move(numbers);
    bench.a().on_wire = [this](Frame& f, unsigned) {
      auto it = left_.find(this->index(f.h.psn));
      if (f.h.opcode == raw(PktOp::kAck) || it == left_.end() || it->second == 0) return true;
      --it->second;
      return false;
    };
  }
  void clear_target() {
    const std::vector<uint8_t> zero(kSize);
    bench.b().mem.write(kDst, zero.data(), zero.size());
    bench.a().mem.write(kIn, zero.data(), 0x40000);
    bench.b().mem.write(kBuf, zero.data(), 0x40000);
  }
  Wqe reduce(uint32_t length, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = this->write(length, wr_id, off);
    w.opcode = raw(WqeOp::kReduce);
    return w;
  }
  Wqe write_imm(uint32_t length, uint32_t imm, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = this->write(length, wr_id, off);
    w.opcode = raw(WqeOp::kWriteImm);
    w.imm = imm;
    return w;
  }
  Wqe send(uint32_t length, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = this->write(length, wr_id, off);
    w.opcode = raw(WqeOp::kSend);
    return w;
  }
  Wqe read(uint32_t length, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = this->write(length, wr_id, off);
    w.opcode = raw(WqeOp::kRead);
    w.vc = raw(Vc::kReq);
    w.laddr = kIn + off;
    w.raddr = kSrc + off;
    w.lkey = lkey_in[0];
    w.rkey = rkey_rd[1];
    return w;
  }
  void receive(uint64_t wr_id, uint32_t length = 0x2000, uint64_t off = 0) {
    Wqe w;
    w.opcode = raw(WqeOp::kRecv);
    w.length = length;
    w.laddr = kBuf + off;
    w.lkey = lkey_buf[1];
    w.wr_id = wr_id;
    bench.post_recv(1, kQp, w);
  }
  // A WRITE packet that never came from A; number i.
  Frame packet(uint32_t i, bool ack_req = false, uint32_t len = 64) {
    Frame f;
    f.h.opcode = raw(PktOp::kWrite);
    f.h.vc = raw(Vc::kBulk);
    f.h.src_node = bench.a().node();
    f.h.dst_qpn = kQp;
    f.h.psn = this->psn(i);
    f.h.ack_req = ack_req;
    f.h.raddr = kDst + 64 * (i % 1024);
    f.h.rkey = this->rkey[1];
    f.h.len = static_cast<uint16_t>(len);
    f.payload.assign(len, static_cast<uint8_t>(i + 1));
    return f;
  }
  void arrive(Frame f, int plane = -1) {
    f.due = 0;  // at once
    bench.b().receive(std::move(f), plane < 0 ? kPlane : static_cast<unsigned>(plane));
  }
  // Records the answers of B; they do not arrive.
  void catch_answers() {
    answers.clear();
    bench.b().on_wire = [this](Frame& f, unsigned) {
      answers.push_back(f);
      return false;
    };
  }
  void expect_read(uint64_t off, uint32_t length) {
    EXPECT_TRUE(bench.a().mem.read(kIn + off, length) == bench.b().mem.read(kSrc + off, length));
  }
  void expect_quiet_logs() {
    this->expect_log(0, {});
    this->expect_log(1, {});
  }

  std::vector<Frame> answers;
  uint32_t lkey_in[2] = {}, rkey_rd[2] = {}, lkey_buf[2] = {};

 private:
  std::map<uint32_t, unsigned> left_;
  std::map<std::pair<unsigned, uint32_t>, uint32_t> before_;
  uint64_t lost_before_ = 0;
};
TYPED_TEST_SUITE(Transport, Sizes);

// ------------------------------------------------------------------------------ nothing lost

// Packets that overtake each other on their planes are no reason to send anything again, and nobody
// waits for a time-out.
TYPED_TEST(Transport, WithoutLossNothingIsSentAgain) {
  auto& b = this->bench;
  for (unsigned spread : {0u, 40u, 300u}) {
    SCOPED_TRACE(spread);
    this->clear_target();
    this->pair();
    for (unsigned p = 0; p < TypeParam::B::kPlanes; ++p) {
      for (auto& side : b.wire) side[p].latency_min = side[p].latency_max = 30 + spread * p / 8;
    }
    for (unsigned i = 0; i < 30; ++i) {
      const uint32_t length = i % 3 == 0 ? 9000 : i % 3 == 1 ? 64 : 2000;
      b.write_wqe(0, this->kQp, this->write(length, i, 0x2000 * (i % 16)));
    }
    const uint64_t from = b.cycles;
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 30; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    EXPECT_LT(b.cycles - from, 12000u);
    b.settle();
    EXPECT_EQ(this->counted(0, reg::kNicCntRetransmits), 0u);
    EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
    EXPECT_EQ(this->counted(1, reg::kNicCntDuplicates), 0u);
    EXPECT_EQ(this->lost(), 0u);
    this->expect_quiet_logs();
  }
}

// The last packet is the only one with AckReq; it may well come first. (The contract: an ACK is
// made when it is placed. What then still is on its way has to be acknowledged, too, without a
// time-out.)
TYPED_TEST(Transport, LastPacketComesFirst) {
  if (!this->kSprays) GTEST_SKIP() << "on one plane it means that the others are lost";
  auto& b = this->bench;
  this->pair();
  std::vector<Frame> held;
  b.a().on_wire = [&](Frame& f, unsigned) {
    if (this->index(f.h.psn) == 3) return true;
    held.push_back(f);
    return false;
  };
  b.post(0, this->kQp, this->write(4096, 1));
  b.run(500);
  ASSERT_EQ(held.size(), 3u);
  for (auto& f : held) this->arrive(f);
  const uint64_t from = b.cycles;
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  EXPECT_LT(b.cycles - from, 2000u);
  EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
  this->expect_copied(0, 4096);
}

TYPED_TEST(Transport, AcknowledgementsAreFew) {
  auto& b = this->bench;
  this->pair([](QpCtx& x) { x.window = 512; });
  const uint64_t acks = b.monitor.totals[1].acks;
  b.post(0, this->kQp, this->write(200 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.settle();
  // One of 16 packets asks for one; 16 that are placed make one.
  EXPECT_LE(b.monitor.totals[1].acks - acks, 2 * 200u / 16 + 3);
}

// ------------------------------------------------------------------------------ loss

TYPED_TEST(Transport, LossOfAnyPacketIsRepaired) {
  auto& b = this->bench;
  const std::vector<std::vector<uint32_t>> cases = {
      {0}, {1}, {10}, {38}, {39}, {0, 39}, {4, 5, 6, 7, 8}, {5, 6, 7}, {16, 17, 31, 32}};
  for (auto& which : cases) {
    SCOPED_TRACE(testing::PrintToString(which));
    this->clear_target();
    this->pair();
    std::map<uint32_t, unsigned> numbers;
    for (uint32_t i : which) numbers[i] = 1;
    this->lose(numbers);
    b.write_wqe(0, this->kQp, this->write(20 * 1024, 1));
    b.write_wqe(0, this->kQp, this->reduce(20 * 1024, 2, 0x8000));
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 1, CqeStatus::kOk);
    this->expect_cqe(0, 0, 2, CqeStatus::kOk);
    this->expect_copied(0, 20 * 1024);
    this->expect_copied(0x8000, 20 * 1024);  // added to zero, once
    b.settle();
    const uint32_t timeouts = this->counted(0, reg::kNicCntTimeouts);
    EXPECT_GE(this->counted(0, reg::kNicCntRetransmits), which.size());
    if (!this->kSprays) {
      // Behind the last one nothing comes; everything else is noticed by what comes.
      EXPECT_EQ(timeouts, which.back() == 39 ? 1u : 0u);
      EXPECT_EQ(this->lost(), which.size() - timeouts);
      if (timeouts == 0) {
        EXPECT_EQ(this->counted(0, reg::kNicCntRetransmits), which.size());
      }
    }
    EXPECT_LE(timeouts, 1u);
    this->expect_quiet_logs();
    if (testing::Test::HasFailure()) return;
  }
}

// In the middle of a long stream every loss is noticed without a time-out, on whatever plane.
TYPED_TEST(Transport, LossInAStreamNeedsNoTimeOut) {
  auto& b = this->bench;
  this->clear_target();
  this->pair([](QpCtx& x) { x.window = 200; });
  std::map<uint32_t, unsigned> numbers;
  for (uint32_t i = 3; i < 150; i += 1 + i / 7) numbers[i] = 1;
  const size_t n = numbers.size();
  this->lose(numbers);
  b.post(0, this->kQp, this->write(250 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_copied(0, 250 * 1024);
  b.settle();
  EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
  EXPECT_EQ(this->counted(0, reg::kNicCntRetransmits), n);
  EXPECT_EQ(this->lost(), n);
  EXPECT_EQ(this->counted(1, reg::kNicCntDuplicates), 0u);
}

TYPED_TEST(Transport, LossOfRetransmissions) {
  auto& b = this->bench;
  this->clear_target();
  this->pair([](QpCtx& x) { x.window = 512; });
  this->lose({{5, 3}, {6, 1}, {7, 2}});
  for (unsigned i = 0; i < 3; ++i) b.write_wqe(0, this->kQp, this->write(255 * 1024, i));
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 3; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  this->expect_copied(0, 255 * 1024);
  b.settle();
  EXPECT_GE(this->counted(0, reg::kNicCntRetransmits), 6u);
  // Over eight planes the window is used up before the last loss can be seen: a time-out, which may
  // count planes as down.
  if (!this->kSprays) {
    EXPECT_EQ(this->counted(0, reg::kNicCntRetransmits), 6u);
    EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
    this->expect_quiet_logs();
  }
}

// Resent ones go before new ones, in PSN order.
TYPED_TEST(Transport, LostPacketsGoFirstAndInOrder) {
  auto& b = this->bench;
  this->pair([](QpCtx& x) { x.window = 200; });
  std::map<uint32_t, unsigned> numbers;
  for (uint32_t i = 2; i < 12; ++i) numbers[i] = 1;
  this->lose(numbers);
  std::vector<uint32_t> order;
  b.a().on_txd = [&](const Txd& d, unsigned) { order.push_back(this->index(d.psn)); };
  b.post(0, this->kQp, this->write(150 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  uint32_t next = 0, last = 0;
  unsigned again = 0;
  for (uint32_t i : order) {
    if (i == next) {
      ++next;
      continue;
    }
    ASSERT_LT(i, next);
    if (!this->kSprays && again != 0) {
      EXPECT_GT(i, last);
    }
    last = i;
    ++again;
  }
  EXPECT_EQ(again, 10u);
}

// Without acknowledgements everything is placed, once; what is asked again is answered.
TYPED_TEST(Transport, LossOfAcknowledgements) {
  auto& b = this->bench;
  for (unsigned n : {1u, 2u, 3u, 7u}) {
    SCOPED_TRACE(n);
    this->clear_target();
    this->pair();
    b.wr(0, reg::kNicTimeout, 2000);
    unsigned left = n;
    b.b().on_wire = [&](Frame&, unsigned) { return left == 0 || (--left, false); };
    for (unsigned i = 0; i < 8; ++i) {
      b.write_wqe(0, this->kQp, this->reduce(3000, i, 0x1000 * i));
    }
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 8; ++i) {
      this->expect_cqe(0, 0, i, CqeStatus::kOk);
      this->expect_copied(0x1000 * i, 3000);
    }
    this->expect_quiet_logs();
  }
}

// A burst of the wire in both directions, in the middle of everything.
TYPED_TEST(Transport, EverythingLostForAWhile) {
  auto& b = this->bench;
  this->clear_target();
  this->pair([](QpCtx& x) { x.retry = 7; });
  b.wr(0, reg::kNicTimeout, 1000);
  b.post(0, this->kQp, this->write(100 * 1024, 1));
  b.run(300);
  b.all_wires([&](Wire& w) { w.cut_from = b.cycles, w.cut_until = b.cycles + 2500; });
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_copied(0, 100 * 1024);
  EXPECT_GE(this->counted(0, reg::kNicCntTimeouts), 1u);
}

// Time-outs at 1, 2, 4, 8 ... periods of `timeout` to 2 x `timeout`, then the end.
TYPED_TEST(Transport, BackOffOfTimeOuts) {
  auto& b = this->bench;
  constexpr uint64_t kT = 500, kSlack = 150;
  for (unsigned retry : {0u, 1u, 2u, 5u}) {
    SCOPED_TRACE(retry);
    b.wr(0, reg::kNicTimeout, kT);
    this->pair([&](QpCtx& x) { x.retry = static_cast<uint8_t>(retry); });
    std::vector<uint64_t> at[3];
    b.a().on_wire = [](Frame&, unsigned) { return false; };
    b.a().on_txd = [&](const Txd& d, unsigned) {
      at[this->index(d.psn) % 3].push_back(b.cycles);
      EXPECT_TRUE(at[0].size() == 1 || d.ack_req);
    };
    b.post(0, this->kQp, this->write(3000, 5));
    b.post(0, this->kQp, this->write(0, 6));
    Cqe e;
    b.run_until([&] { return b.poll(0, 0, e); }, 4 * kT << (retry + 1));
    const uint64_t end = b.cycles;
    EXPECT_STREQ(to_string(static_cast<CqeStatus>(e.status)), "timeout");
    EXPECT_EQ(e.wr_id, 5u);
    EXPECT_EQ(e.psn, this->psn(0));
    this->expect_cqe(0, 0, 6, CqeStatus::kFlushed);
    ASSERT_EQ(at[1].size(), retry + 1);
    ASSERT_EQ(at[2].size(), retry + 1);
    for (unsigned k = 1; k <= retry; ++k) {
      const uint64_t periods = 1u << (k - 1);
      EXPECT_GE(at[1][k] - at[1][k - 1] + kSlack, periods * kT) << k;
      EXPECT_LE(at[1][k] - at[1][k - 1], periods * 2 * kT + kSlack) << k;
    }
    EXPECT_GE(end - at[1].back() + kSlack, kT << retry);
    EXPECT_LE(end - at[1].back(), (2 * kT << retry) + 2 * kSlack);
    EXPECT_EQ(this->counted(0, reg::kNicCntRetransmits), 4 * retry);
    EXPECT_GE(this->counted(0, reg::kNicCntTimeouts), retry);
    EXPECT_LE(this->counted(0, reg::kNicCntTimeouts), retry + 1);
    EXPECT_EQ(this->lost(), 0u);  // time-outs do not count
    this->expect_state(0, QpState::kError);
    const auto l = b.log(0);
    ASSERT_EQ(b.count(l, ErrCause::kTimeout), 1u);
    for (auto& x : l) {
      if (x.cause == ErrCause::kTimeout) {
        EXPECT_EQ(x.psn, this->psn(0));
      }
    }
    this->expect_log(1, {});
    EXPECT_EQ(b.a().dut().deadline_o, kNever);
    b.wr(0, reg::kNicPlanesDown, 0);
  }
}

// Progress makes the next time-out a first one again, and the retries count from zero.
TYPED_TEST(Transport, ProgressEndsTheBackOff) {
  auto& b = this->bench;
  constexpr uint64_t kT = 500;
  b.wr(0, reg::kNicTimeout, kT);
  this->pair([](QpCtx& x) { x.retry = 3, x.window = 1; });
  unsigned sent = 0;
  std::vector<uint64_t> at;
  // Every fourth sending of a packet arrives.
  b.a().on_wire = [&](Frame&, unsigned) { return ++sent % 4 == 0; };
  b.a().on_txd = [&](const Txd&, unsigned) { at.push_back(b.cycles); };
  b.post(0, this->kQp, this->write(4096, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  ASSERT_EQ(at.size(), 16u);
  for (unsigned i = 0; i < 16; i += 4) {
    for (unsigned k = 1; k < 4; ++k) {
      EXPECT_GE(at[i + k] - at[i + k - 1] + 100, kT << (k - 1));
      EXPECT_LE(at[i + k] - at[i + k - 1], (2 * kT << (k - 1)) + 150);
    }
  }
  this->expect_copied(0, 4096);
  this->expect_state(0, QpState::kReady);
}

// ------------------------------------------------------------------------------ late and twice

TYPED_TEST(Transport, EverythingLateAndTwice) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    this->clear_target();
    this->pair([](QpCtx& x) { x.rnr_retry = 15, x.retry = 15; }, 4);
    b.all_wires([&](Wire& w) {
      w.duplicate = round & 1 ? 10000 : 0;
      w.reorder = round & 2 ? 5000 : 0;
      w.late = 200;
    });
    this->receive(50, 0x2000, 0);
    this->receive(51, 0x2000, 0x4000);
    b.write_wqe(0, this->kQp, this->write(9000, 0));
    b.write_wqe(0, this->kQp, this->reduce(9000, 1, 0x4000));
    b.write_wqe(0, this->kQp, this->send(5000, 2, 0x8000));
    b.write_wqe(0, this->kQp, this->read(20000, 3, 0xc000));
    b.write_wqe(0, this->kQp, this->write_imm(100, 0xaa, 4, 0x14000));
    b.write_wqe(0, this->kQp, this->reduce(9000, 5, 0x18000));
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 6; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    this->expect_cqe(1, 1, 50, CqeStatus::kOk);
    EXPECT_EQ(this->expect_cqe(1, 1, 51, CqeStatus::kOk).imm, 0xaau);
    this->expect_no_cqe(0, 0);
    this->expect_no_cqe(1, 1);
    this->expect_copied(0, 9000);
    this->expect_copied(0x4000, 9000);
    this->expect_copied(0x14000, 100);
    this->expect_copied(0x18000, 9000);
    this->expect_read(0xc000, 20000);
    EXPECT_EQ(b.b().mem.read(this->kBuf, 5000), b.a().mem.read(kSrc + 0x8000, 5000));
    if (round & 1) {
      EXPECT_GT(this->counted(1, reg::kNicCntDuplicates), 20u);
    }
    this->expect_log(1, {});
    EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
    b.settle();
  }
}

// Broken frames are counted, logged and otherwise as if lost.
TYPED_TEST(Transport, BrokenFramesAreLost) {
  auto& b = this->bench;
  this->clear_target();
  this->pair([](QpCtx& x) { x.retry = 15; });
  b.wr(0, reg::kNicTimeout, 3000);
  b.all_wires([](Wire& w) { w.corrupt = 800; });
  const uint64_t bad = this->sum(0, reg::kNicCntRxBad) + this->sum(1, reg::kNicCntRxBad);
  b.post(0, this->kQp, this->reduce(200 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_copied(0, 200 * 1024);
  b.settle();
  uint64_t n = 0;
  for (auto& side : b.wires) {
    for (auto& w : side) n += w.corrupted;
  }
  EXPECT_GT(n, 5u);
  EXPECT_EQ(this->sum(0, reg::kNicCntRxBad) + this->sum(1, reg::kNicCntRxBad) - bad, n);
  for (unsigned c = 0; c < 2; ++c) {
    for (auto& e : b.log(c)) {
      EXPECT_TRUE(e.cause == ErrCause::kFcs || e.cause == ErrCause::kIcrc) << to_string(e.cause);
    }
  }
}

// ------------------------------------------------------------------------------ receiver's table

TYPED_TEST(Transport, WindowOfTheReceiver) {
  auto& b = this->bench;
  this->pair();
  this->catch_answers();
  const uint64_t placed = b.monitor.totals[1].placed;
  this->arrive(this->packet(511, true));
  b.run(400);
  EXPECT_EQ(b.monitor.totals[1].placed, placed + 1);
  ASSERT_EQ(this->answers.size(), 1u);
  EXPECT_EQ(this->answers[0].h.psn, this->psn(0xffffff));
  EXPECT_EQ(this->answers[0].h.syndrome, raw(Syndrome::kAck));
  EXPECT_EQ(Sack(this->answers[0].h.sack).seen(this->kPlane), 512u);
  // Everything else, backwards.
  for (uint32_t i = 511; i-- > 0;) this->arrive(this->packet(i));
  b.run(6000);
  EXPECT_EQ(b.monitor.totals[1].placed, placed + 512);
  EXPECT_EQ(b.status(1, this->kQp).expected_psn, this->psn(512));
  this->expect_quiet_logs();
}

// What is beyond the window is dropped and does not show in what is said later.
TYPED_TEST(Transport, BeyondTheWindow) {
  auto& b = this->bench;
  for (uint32_t far : {512u, 513u, 0x10000u, 0x7fffffu}) {
    SCOPED_TRACE(far);
    this->pair();
    this->catch_answers();
    const uint64_t placed = b.monitor.totals[1].placed;
    this->arrive(this->packet(far));
    b.run(400);
    EXPECT_EQ(b.monitor.totals[1].placed, placed);
    EXPECT_EQ(this->answers.size(), 0u);
    this->expect_log(1, {ErrCause::kSequence});
    this->arrive(this->packet(7, true));
    b.run(400);
    ASSERT_EQ(this->answers.size(), 1u);
    EXPECT_EQ(Sack(this->answers[0].h.sack).seen(this->kPlane), 8u);
  }
}

TYPED_TEST(Transport, FieldsOfTheAcknowledgement) {
  auto& b = this->bench;
  this->pair();
  this->catch_answers();
  const unsigned q = TypeParam::B::kPlanes > 1 ? 2 : 0, p = this->kPlane;
  this->arrive(this->packet(2), static_cast<int>(q));
  this->arrive(this->packet(9), static_cast<int>(q));
  b.run(300);
  Frame f = this->packet(5, true);
  f.h.ce = 1;
  this->arrive(f, static_cast<int>(p));
  b.run(300);
  ASSERT_EQ(this->answers.size(), 1u);
  const Rxh& h = this->answers[0].h;
  EXPECT_EQ(h.opcode, raw(PktOp::kAck));
  EXPECT_EQ(h.vc, raw(Vc::kRsp));
  EXPECT_EQ(h.syndrome, raw(Syndrome::kAck));
  EXPECT_EQ(h.psn, this->psn(0xffffff));
  EXPECT_EQ(h.msn, 0u);
  EXPECT_EQ(h.becn, 1u);
  const Sack k(h.sack);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(k.seen(i), p == q ? (i == p ? 10u : 0u) : i == q ? 10u : i == p ? 6u : 0u) << i;
  }
  const unsigned base = this->psn(0) & 63;  // 58
  for (unsigned i = 0; i < 256; ++i) {
    EXPECT_EQ(k.placed(i), i < base || i == base + 2 || i == base + 5 || i == base + 9) << i;
  }
  EXPECT_EQ(k.ce_planes(), 1u << p);
  EXPECT_EQ(k.ce_count(), 1u);
  // The next one: 0 and 1 close the gap up to 3; nothing with CE came since.
  this->arrive(this->packet(0), static_cast<int>(p));
  this->arrive(this->packet(1, true), static_cast<int>(p));
  b.run(300);
  ASSERT_GE(this->answers.size(), 2u);
  const Rxh& g = this->answers.back().h;
  EXPECT_EQ(g.psn, this->psn(2));
  EXPECT_EQ(g.msn, 3u);
  EXPECT_EQ(g.becn, 0u);
  const Sack n(g.sack);
  EXPECT_EQ(n.seen(q), 7u);  // 9
  if (p != q) {
    EXPECT_EQ(n.seen(p), 3u);  // 5
  }
  EXPECT_EQ(n.ce_count(), 0u);
  for (unsigned i = 0; i < 256; ++i) {
    EXPECT_EQ(n.placed(i), i < base + 3 || i == base + 5 || i == base + 9) << i;
  }
  // Beyond the end of the map: seen still says it.
  this->arrive(this->packet(400, true), static_cast<int>(p));
  b.run(300);
  const Sack m(this->answers.back().h.sack);
  EXPECT_EQ(m.seen(p), 400u - 3 + 1);
}

TYPED_TEST(Transport, SixteenPlacedMakeAnAcknowledgement) {
  auto& b = this->bench;
  this->pair();
  this->catch_answers();
  for (uint32_t i = 0; i < 15; ++i) this->arrive(this->packet(i));
  b.run(500);
  EXPECT_EQ(this->answers.size(), 0u);
  this->arrive(this->packet(15));
  b.run(300);
  ASSERT_EQ(this->answers.size(), 1u);
  EXPECT_EQ(this->answers[0].h.psn, this->psn(15));
  // Out of order they count as well.
  for (uint32_t i = 17; i < 33; ++i) this->arrive(this->packet(i));
  b.run(500);
  ASSERT_EQ(this->answers.size(), 2u);
  EXPECT_EQ(this->answers[1].h.psn, this->psn(15));
}

TYPED_TEST(Transport, DuplicatesOfEveryKind) {
  auto& b = this->bench;
  this->pair();
  this->catch_answers();
  for (uint32_t i : {0u, 1u, 2u, 5u}) this->arrive(this->packet(i));
  b.run(300);
  const uint64_t placed = b.monitor.totals[1].placed;
  unsigned n = 0;
  for (uint32_t i : {0u, 2u, 5u, 1u, 5u}) {
    this->arrive(this->packet(i));
    b.run(300);
    EXPECT_EQ(this->answers.size(), ++n);
    EXPECT_EQ(this->answers.back().h.psn, this->psn(2));
    EXPECT_EQ(this->answers.back().h.syndrome, raw(Syndrome::kAck));
    EXPECT_EQ(this->counted(1, reg::kNicCntDuplicates), n);
  }
  EXPECT_EQ(b.monitor.totals[1].placed, placed);
  // While the first one is on its way to memory.
  b.timing.mem_min = b.timing.mem_max = 400;
  this->arrive(this->packet(3));
  b.run(100);
  this->arrive(this->packet(3));
  b.run(900);
  EXPECT_EQ(b.monitor.totals[1].placed, placed + 1);
  EXPECT_EQ(this->counted(1, reg::kNicCntDuplicates), n + 1);
  EXPECT_EQ(b.status(1, this->kQp).expected_psn, this->psn(4));
  this->expect_quiet_logs();
}

// What cannot be accepted is judged when its turn comes, and only then answered.
TYPED_TEST(Transport, DeferredUntilItsTurn) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    std::function<void(Frame&)> spoil;
    Syndrome answer;
    ErrCause cause;
  };
  const std::vector<Case> cases = {
      {"key", [](Frame& f) { f.h.rkey ^= 1; }, Syndrome::kNakAccess, ErrCause::kAccess},
      {"bounds", [](Frame& f) { f.h.raddr = kDst - 1; }, Syndrome::kNakAccess, ErrCause::kAccess},
      {"opcode", [](Frame& f) { f.h.opcode = 0x42; }, Syndrome::kNakInvalid, ErrCause::kMalformed},
      {"length", [](Frame& f) { f.h.len = 4097; }, Syndrome::kNakInvalid, ErrCause::kMalformed},
      {"no receive", [](Frame& f) { f.h.opcode = raw(PktOp::kWriteImm); }, Syndrome::kRnr,
       ErrCause::kNone},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    this->pair();
    this->catch_answers();
    Frame bad = this->packet(2);
    c.spoil(bad);
    const uint64_t placed = b.monitor.totals[1].placed;
    this->arrive(bad);
    b.run(300);
    EXPECT_EQ(this->answers.size(), 0u);
    EXPECT_EQ(this->counted(1, reg::kNicCntDeferred), 1u);
    this->arrive(this->packet(3));  // behind it: may be executed
    this->arrive(this->packet(0));
    this->arrive(bad);
    b.run(300);
    EXPECT_EQ(this->answers.size(), 0u);
    EXPECT_EQ(this->counted(1, reg::kNicCntDeferred), 2u);
    this->expect_log(1, {});
    this->expect_state(1, QpState::kReady);
    this->arrive(this->packet(1));
    b.run(300);
    EXPECT_EQ(b.monitor.totals[1].placed, placed + 3);
    EXPECT_EQ(this->answers.size(), 0u);
    this->arrive(bad);
    b.run(300);
    ASSERT_EQ(this->answers.size(), 1u);
    EXPECT_EQ(this->answers[0].h.syndrome, raw(c.answer));
    EXPECT_EQ(this->answers[0].h.psn, this->psn(2));
    const Sack k(this->answers[0].h.sack);
    EXPECT_TRUE(k.placed((this->psn(2) & 63) + 1));
    EXPECT_FALSE(k.placed(this->psn(2) & 63));
    if (c.answer == Syndrome::kRnr) {
      EXPECT_EQ(this->counted(1, reg::kNicCntRnrSent), 1u);
      this->expect_log(1, {});
      this->expect_state(1, QpState::kReady);
      b.post_receives(1, this->kQp, 1);
      b.run(100);
      this->arrive(bad);
      EXPECT_EQ(b.wait_cqe(1, 1).psn, this->psn(2));
      EXPECT_EQ(b.status(1, this->kQp).expected_psn, this->psn(4));
      continue;
    }
    this->expect_log(1, {c.cause});
    this->expect_state(1, QpState::kError);
    // It says so again, whatever comes, and nobody logs it.
    for (uint32_t i : {2u, 0u, 9u}) {
      const size_t n = this->answers.size();
      this->arrive(this->packet(i));
      b.run(300);
      ASSERT_EQ(this->answers.size(), n + 1);
      EXPECT_EQ(this->answers.back().h.syndrome, raw(c.answer));
      EXPECT_EQ(this->answers.back().h.psn, this->psn(2));
    }
    EXPECT_EQ(b.monitor.totals[1].placed, placed + 3);
    this->expect_log(1, {});
    if (testing::Test::HasFailure()) return;
  }
}

// Of a QP that is not there or that was stopped, nothing is answered.
TYPED_TEST(Transport, NobodyAnswersForAStoppedQp) {
  auto& b = this->bench;
  this->pair();
  this->catch_answers();
  EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  this->arrive(this->packet(0, true));
  Frame f = this->packet(0, true);
  f.h.src_node ^= 1;
  this->arrive(f);
  b.run(300);
  EXPECT_EQ(this->answers.size(), 0u);
  this->expect_log(1, {ErrCause::kBadQp, ErrCause::kBadQp});
}

// The sender's side of it: the requests before the offending one complete, it gets the NAK's
// status, although what is behind it arrived first and the first NAK was lost.
TYPED_TEST(Transport, NakInOrder) {
  auto& b = this->bench;
  for (bool lost : {false, true}) {
    SCOPED_TRACE(lost);
    this->clear_target();
    this->pair();
    b.wr(0, reg::kNicTimeout, 2000);
    std::vector<Frame> held;
    bool hold = true;
    b.a().on_wire = [&](Frame& f, unsigned) {
      if (!hold || this->index(f.h.psn) > 2) return true;
      held.push_back(f);
      return false;
    };
    unsigned naks = 0;
    b.b().on_wire = [&](Frame& f, unsigned) {
      const bool nak = f.h.syndrome != raw(Syndrome::kAck);
      if (nak) {
        EXPECT_EQ(f.h.psn, this->psn(3));
      }
      return !nak || naks++ != 0 || !lost;
    };
    b.write_wqe(0, this->kQp, this->write(3000, 1));
    Wqe w = this->write(100, 2, 0x4000);
    w.rkey ^= 1;
    b.write_wqe(0, this->kQp, w);
    b.write_wqe(0, this->kQp, this->write(3000, 3, 0x8000));
    b.ring(0, this->kQp);
    b.run(600);
    EXPECT_EQ(naks, 0u);
    EXPECT_GE(this->counted(1, reg::kNicCntDeferred), 1u);
    this->expect_log(1, {});
    hold = false;
    for (auto& f : held) this->arrive(f);
    this->expect_cqe(0, 0, 1, CqeStatus::kOk);
    EXPECT_EQ(this->expect_cqe(0, 0, 2, CqeStatus::kRemoteAccess).psn, this->psn(3));
    this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
    this->expect_no_cqe(0, 0);
    this->expect_copied(0, 3000);
    EXPECT_EQ(naks > 1, lost);
    this->expect_failed_log(0, ErrCause::kNak);
    this->expect_log(1, {ErrCause::kAccess});
  }
}

// ------------------------------------------------------------------------------ receiver not ready

TYPED_TEST(Transport, ReceiverNotReady) {
  auto& b = this->bench;
  constexpr uint64_t kR = 700;
  b.wr(0, reg::kNicRnrTimer, kR);
  for (bool ring : {false, true}) {
    for (unsigned retry : {0u, 1u, 4u}) {
      SCOPED_TRACE(std::to_string(retry) + (ring ? " SEND" : " immediate"));
      this->pair([&](QpCtx& x) { x.rnr_retry = static_cast<uint8_t>(retry); }, ring ? 4 : -1);
      std::vector<uint64_t> at, nak;
      uint64_t any = 0;
      b.a().on_txd = [&](const Txd& d, unsigned) {
        if (this->index(d.psn) == 1) at.push_back(b.cycles);
        // Nothing moves while the timer runs.
        if (!nak.empty()) {
          EXPECT_TRUE(b.cycles - nak.back() < 150 || b.cycles - nak.back() >= kR);
        }
        any = b.cycles;
      };
      b.b().on_wire = [&](Frame& f, unsigned) {
        if (f.h.syndrome == raw(Syndrome::kRnr)) {
          EXPECT_EQ(f.h.psn, this->psn(1));
          nak.push_back(b.cycles);
        }
        return true;
      };
      // Alone, else the second may come too early and be deferred.
      b.post(0, this->kQp, this->write(100, 1));
      this->expect_cqe(0, 0, 1, CqeStatus::kOk);
      b.write_wqe(0, this->kQp, ring ? this->send(100, 2) : this->write_imm(100, 7, 2, 0x1000));
      b.write_wqe(0, this->kQp, this->write(100, 3, 0x2000));
      b.ring(0, this->kQp);
      const Cqe e = this->expect_cqe(0, 0, 2, CqeStatus::kRnr);
      EXPECT_EQ(e.psn, this->psn(1));
      this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
      ASSERT_EQ(at.size(), retry + 1);
      ASSERT_EQ(nak.size(), retry + 1);
      for (unsigned k = 1; k <= retry; ++k) {
        EXPECT_GE(at[k] - nak[k - 1], kR);
        EXPECT_LE(at[k] - nak[k - 1], 2 * kR + 150);
      }
      EXPECT_EQ(this->counted(1, reg::kNicCntRnrSent), retry + 1);
      EXPECT_EQ(this->counted(0, reg::kNicCntRnrReceived), retry + 1);
      this->expect_failed_log(0, ErrCause::kRnr);
      this->expect_log(1, {});
      this->expect_state(0, QpState::kError);
      this->expect_state(1, QpState::kReady);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(Transport, ReceiverGetsReady) {
  auto& b = this->bench;
  b.wr(0, reg::kNicRnrTimer, 2000);  // time for a receive to be posted between two answers
  for (unsigned retry : {3u, 15u}) {
    SCOPED_TRACE(retry);
    this->clear_target();
    this->pair([&](QpCtx& x) { x.rnr_retry = static_cast<uint8_t>(retry); }, 4);
    for (unsigned i = 0; i < 6; ++i) {
      b.write_wqe(
          0, this->kQp,
          i % 3 == 2 ? this->write_imm(2000, i, i, 0x1000 * i) : this->send(3000, i, 0x1000 * i));
    }
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 6; ++i) {
      // As often as the limit allows, for each of them again: "in a row without progress".
      const uint32_t before = this->counted(0, reg::kNicCntRnrReceived);
      b.run_until([&] {
        return this->counted(0, reg::kNicCntRnrReceived) >= before + (retry == 15 ? 20 : 3);
      });
      this->receive(60 + i, 0x2000, 0x2000 * i);
      this->expect_cqe(0, 0, i, CqeStatus::kOk);
      const Cqe r = this->expect_cqe(1, 1, 60 + i, CqeStatus::kOk);
      if (i % 3 == 2) {
        this->expect_copied(0x1000 * i, 2000);
        EXPECT_EQ(r.imm, i);
      } else {
        EXPECT_EQ(r.byte_len, 3000u);
        EXPECT_EQ(b.b().mem.read(this->kBuf + 0x2000 * i, 3000),
                  b.a().mem.read(kSrc + 0x1000 * i, 3000));
      }
    }
    this->expect_no_cqe(1, 1);
    this->expect_quiet_logs();
    if (testing::Test::HasFailure()) return;
  }
}

// Many messages that consume receives, arriving in any order: each finds its own.
TYPED_TEST(Transport, ReceivesAreNamed) {
  auto& b = this->bench;
  this->clear_target();
  this->pair({}, 5);
  b.all_wires([](Wire& w) { w.reorder = 6000, w.late = 300; });
  unsigned posted = 0;
  for (; posted < 32; ++posted) this->receive(posted, 0x400, 0x400 * posted);
  b.settle();
  for (unsigned i = 0; i < 150; ++i) {
    if (i >= 32) {
      EXPECT_EQ(b.wait_cqe(1, 1).wr_id, i - 32);
      this->receive(posted, 0x400, 0x400 * (posted % 128)), ++posted;
    }
    while (b.monitor.outstanding(0, this->kQp) > 20) b.step();
    b.post(0, this->kQp, i % 4 == 3 ? this->write_imm(8, i, i, 8 * i) : this->send(900, i, 64 * i));
    Cqe e;
    while (b.poll(0, 0, e)) EXPECT_EQ(e.status, 0u);
  }
  for (unsigned i = 118; i < 150; ++i) EXPECT_EQ(b.wait_cqe(1, 1).wr_id, i);
  for (unsigned i = 30; i < 150; ++i) {
    if (i % 4 == 3) continue;
    EXPECT_EQ(b.b().mem.read(this->kBuf + 0x400 * (i % 128), 900),
              b.a().mem.read(kSrc + 64 * i, 900))
        << i;
  }
  this->expect_quiet_logs();
}

// ------------------------------------------------------------------------------ numbers and sizes

TYPED_TEST(Transport, NumbersWrapAroundLoss) {
  auto& b = this->bench;
  for (uint32_t before : {1u, 70u, 255u}) {
    SCOPED_TRACE(before);
    this->clear_target();
    this->pair([&](QpCtx& x) {
      const bool is_a = x.remote_node == b.b().node();
      x.window = 512;
      (is_a ? x.sq_psn : x.rq_psn) = 0x1000000 - before;
    });
    std::set<uint32_t> seen;
    b.a().on_wire = [&](Frame& f, unsigned) {
      const uint32_t n = (f.h.psn + before) & 0xffffff;
      return !(n + 4 > before && n < before + 4 && seen.insert(n).second);
    };
    b.post(0, this->kQp, this->reduce(256 * 1024 - 4096, 1));
    this->expect_cqe(0, 0, 1, CqeStatus::kOk);
    this->expect_copied(0, 256 * 1024 - 4096);
    EXPECT_EQ(b.status(1, this->kQp).expected_psn, (252 - before) & 0xffffff);
    EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
  }
}

TYPED_TEST(Transport, EmptyMessagesAreLostLikeOthers) {
  auto& b = this->bench;
  this->pair({}, 4);
  b.wr(0, reg::kNicTimeout, 1500);
  std::set<std::pair<uint32_t, uint8_t>> seen;
  auto once = [&](Frame& f, unsigned) { return !seen.insert({f.h.psn, f.h.opcode}).second; };
  b.a().on_wire = once;
  this->receive(40);
  this->receive(41);
  Wqe w = this->write(0, 0);
  b.write_wqe(0, this->kQp, w);
  w = this->reduce(0, 1);
  b.write_wqe(0, this->kQp, w);
  b.write_wqe(0, this->kQp, this->send(0, 2));
  b.write_wqe(0, this->kQp, this->write_imm(0, 3, 3));
  b.write_wqe(0, this->kQp, this->read(0, 4));
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 5; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  this->expect_cqe(1, 1, 40, CqeStatus::kOk);
  EXPECT_EQ(this->expect_cqe(1, 1, 41, CqeStatus::kOk).imm, 3u);
  EXPECT_EQ(seen.size(), 5u);
  this->expect_quiet_logs();
}

TYPED_TEST(Transport, EveryMtu) {
  auto& b = this->bench;
  for (uint8_t mtu : {0, 1, 2}) {
    for (uint32_t length : {1u, 1023u, 1024u, 1025u, 4096u, 4097u, 12288u, 20000u}) {
      SCOPED_TRACE(std::to_string(mtu) + " " + std::to_string(length));
      this->clear_target();
      this->pair([&](QpCtx& x) { x.mtu = mtu; }, 4);
      b.wr(0, reg::kNicTimeout, 2000);
      this->lose({{1, 1}, {4, 1}});
      this->receive(1, 20000, 0);
      this->receive(2, 20000, 20000);
      b.write_wqe(0, this->kQp, this->write(length, 0));
      b.write_wqe(0, this->kQp, this->send(length, 1, 0x8000));
      b.write_wqe(0, this->kQp, this->write_imm(length, 9, 2, 0x10000));
      b.write_wqe(0, this->kQp, this->read(length, 3, 0x18000));
      b.write_wqe(0, this->kQp, this->reduce(length & ~3u, 4, 0x20000));
      b.ring(0, this->kQp);
      for (unsigned i = 0; i < 5; ++i) {
        this->expect_cqe(0, 0, i, CqeStatus::kOk);
      }
      EXPECT_EQ(this->expect_cqe(1, 1, 1, CqeStatus::kOk).byte_len, length);
      const uint32_t unit = 4096u >> mtu;
      EXPECT_EQ(this->expect_cqe(1, 1, 2, CqeStatus::kOk).byte_len, (length - 1) % unit + 1);
      this->expect_copied(0, length);
      this->expect_copied(0x10000, length);
      this->expect_copied(0x20000, length & ~3u);
      this->expect_read(0x18000, length);
      EXPECT_EQ(b.b().mem.read(this->kBuf, length), b.a().mem.read(kSrc + 0x8000, length));
      this->expect_quiet_logs();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(Transport, LargestAndSmallestWindow) {
  auto& b = this->bench;
  this->clear_target();
  this->pair([](QpCtx& x) { x.window = kNicMaxWindow; });
  unsigned sent = 0;
  bool blocked = true;
  b.a().on_wire = [&](Frame&, unsigned) { return ++sent, true; };
  b.b().on_wire = [&](Frame&, unsigned) { return !blocked; };
  for (unsigned i = 0; i < 3; ++i) b.write_wqe(0, this->kQp, this->reduce(250 * 1024, i));
  b.ring(0, this->kQp);
  b.run(8000);
  EXPECT_EQ(sent, kNicMaxWindow);
  blocked = false;
  for (unsigned i = 0; i < 3; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  auto want = b.a().mem.read(kSrc, 250 * 1024);
  const auto one = want;
  want = add_f32(add_f32(one, one), one);
  EXPECT_TRUE(b.b().mem.read(kDst, 250 * 1024) == want);
  // One at a time, and every third one is lost.
  this->clear_target();
  this->pair([](QpCtx& x) { x.window = 1; });
  b.wr(0, reg::kNicTimeout, 500);
  this->lose({{0, 1}, {3, 1}, {6, 2}, {9, 1}});
  b.post(0, this->kQp, this->write(10 * 1024, 9));
  this->expect_cqe(0, 0, 9, CqeStatus::kOk);
  this->expect_copied(0, 10 * 1024);
  EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 5u);
}

// AckReq where the contract wants it and nowhere else.
TYPED_TEST(Transport, AckReq) {
  auto& b = this->bench;
  this->pair();
  std::map<uint32_t, bool> req;
  b.a().on_txd = [&](const Txd& d, unsigned) { req[this->index(d.psn)] = d.ack_req; };
  // Not signalled, others behind them that can follow at once.
  for (unsigned i = 0; i < 5; ++i) {
    Wqe w = this->write(2048, i, 0x1000 * i);
    w.signalled = i == 3;
    b.write_wqe(0, this->kQp, w);
  }
  Wqe w = this->write(20 * 1024, 5, 0x8000);
  w.signalled = 0;
  b.write_wqe(0, this->kQp, w);
  b.settle();
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 3, CqeStatus::kOk);
  b.settle();
  ASSERT_EQ(req.size(), 30u);
  EXPECT_TRUE(req[7]);   // signalled
  EXPECT_TRUE(req[29]);  // the last
  for (uint32_t i = 10; i < 29; ++i) EXPECT_FALSE(req[i]) << i;
  EXPECT_EQ(b.status(0, this->kQp).una_psn, this->psn(30));
  // Before another channel, a fence, a READ, a NOP.
  for (unsigned kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    this->pair();
    req.clear();
    b.a().on_txd = [&](const Txd& d, unsigned) { req[this->index(d.psn)] = d.ack_req; };
    w = this->write(2048, 0);
    w.signalled = 0;
    b.write_wqe(0, this->kQp, w);
    w = kind == 2 ? this->read(2048, 1) : this->write(2048, 1, 0x1000);
    if (kind == 0) w.vc = raw(Vc::kReq);
    w.fence = kind == 1;
    if (kind == 3) w.opcode = raw(WqeOp::kNop);
    b.write_wqe(0, this->kQp, w);
    const uint64_t from = b.cycles;
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 1, CqeStatus::kOk);
    EXPECT_LT(b.cycles - from, 3000u);
    EXPECT_TRUE(req[1]);
  }
}

// ------------------------------------------------------------------------------ ordered REDUCE

// Sums of numbers of very different size depend on the order: it is that of the ring.
TYPED_TEST(Transport, OrderedReduces) {
  auto& b = this->bench;
  constexpr uint32_t kBytes = 3000;
  for (bool faults : {false, true}) {
    for (bool plain : {false, true}) {  // a plain one in the middle
      SCOPED_TRACE(std::string(faults ? "faults " : "") + (plain ? "mixed" : ""));
      this->pair([](QpCtx& x) { x.retry = 15; });
      b.wr(0, reg::kNicTimeout, 2000);
      if (faults) {
        b.all_wires([](Wire& w) { w.drop = w.duplicate = w.corrupt = 300, w.reorder = 500; });
      }
      std::vector<uint8_t> want = b.b().mem.read(kDst, kBytes);
      for (unsigned i = 0; i < 20; ++i) {
        std::vector<uint8_t> data(kBytes);
        for (size_t k = 0; k < kBytes; k += 4) {
          const float f = std::ldexp(static_cast<float>(b.rng() % 2001) - 1000.0f,
                                     static_cast<int>(b.rng() % 40) - 20);
          std::memcpy(&data[k], &f, 4);
        }
        b.a().mem.write(0x30000 + 0x1000 * i, data.data(), data.size());
        Wqe w = this->reduce(kBytes, i);
        w.laddr = 0x30000 + 0x1000 * i;
        w.raddr = kDst;
        w.ordered = !plain || i != 10;
        want = add_f32(want, data);
        b.write_wqe(0, this->kQp, w);
      }
      b.ring(0, this->kQp);
      for (unsigned i = 0; i < 20; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
      EXPECT_TRUE(b.b().mem.read(kDst, kBytes) == want);
      if (!faults) {
        EXPECT_EQ(this->counted(0, reg::kNicCntTimeouts), 0u);
      }
      b.settle();
    }
  }
}

// An ordered packet that comes early is left alone.
TYPED_TEST(Transport, OrderedReduceBeforeItsTurn) {
  auto& b = this->bench;
  this->pair();
  this->catch_answers();
  const uint64_t placed = b.monitor.totals[1].placed;
  Frame f = this->packet(1);
  f.h.opcode = raw(PktOp::kReduce);
  f.h.red_ordered = 1;
  this->arrive(f);
  b.run(300);
  EXPECT_EQ(b.monitor.totals[1].placed, placed);
  EXPECT_EQ(this->answers.size(), 0u);
  EXPECT_EQ(this->counted(1, reg::kNicCntDeferred), 1u);
  this->arrive(this->packet(0));
  this->arrive(f);
  b.run(300);
  EXPECT_EQ(b.monitor.totals[1].placed, placed + 2);
  this->expect_quiet_logs();
}

// ------------------------------------------------------------------------------ READ

TYPED_TEST(Transport, ReadsAreLostLikeOthers) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 3000);
  for (bool response : {false, true}) {
    for (uint32_t which : {0u, 1u, 5u, 30u, 39u}) {
      SCOPED_TRACE(std::to_string(which) + (response ? " response" : " request"));
      this->clear_target();
      this->pair();
      bool first = true;
      auto once = [&](Frame& f, unsigned) {
        if (this->index(f.h.psn) != which || !first) return true;
        first = false;
        return false;
      };
      (response ? b.b() : b.a()).on_wire = once;
      b.write_wqe(0, this->kQp, this->read(20 * 1024, 1));
      b.write_wqe(0, this->kQp, this->read(20 * 1024, 2, 0x8000));
      b.ring(0, this->kQp);
      this->expect_cqe(0, 0, 1, CqeStatus::kOk);
      this->expect_read(0, 20 * 1024);
      this->expect_cqe(0, 0, 2, CqeStatus::kOk);
      this->expect_read(0x8000, 20 * 1024);
      EXPECT_FALSE(first);
      b.settle();
      EXPECT_GE(this->counted(0, reg::kNicCntRetransmits), 1u);
      EXPECT_LE(this->counted(0, reg::kNicCntTimeouts), 1u);
      this->expect_log(1, {});
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Requests that come again are answered again, as long as they are known.
TYPED_TEST(Transport, ReadRequestsComeAgain) {
  auto& b = this->bench;
  this->pair();
  std::vector<Frame> asked;
  b.a().on_wire = [&](Frame& f, unsigned) { return asked.push_back(f), true; };
  b.post(0, this->kQp, this->read(8 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.settle();
  ASSERT_EQ(asked.size(), 8u);
  this->catch_answers();
  for (auto& f : asked) {
    this->arrive(f);
    b.run(300);
  }
  ASSERT_EQ(this->answers.size(), 8u);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(this->answers[i].h.opcode, raw(PktOp::kReadResponse));
    EXPECT_EQ(this->answers[i].h.psn, asked[i].h.psn);
    EXPECT_EQ(this->answers[i].payload, b.b().mem.read(asked[i].h.raddr, asked[i].h.len));
  }
  EXPECT_EQ(this->counted(1, reg::kNicCntDuplicates), 8u);
}

TYPED_TEST(Transport, ReadsBetweenWritesUnderLoss) {
  auto& b = this->bench;
  this->clear_target();
  this->pair([](QpCtx& x) { x.retry = 15; });
  b.wr(0, reg::kNicTimeout, 1500);
  const uint32_t both = b.make_mr(1, 9, kDst, kSize, false, true, true, false, true);
  b.all_wires([](Wire& w) { w.drop = 500, w.duplicate = 500, w.reorder = 500, w.corrupt = 300; });
  for (unsigned i = 0; i < 6; ++i) {
    Wqe w = this->write(6000, 2 * i, 6000 * i);
    w.raddr = kDst;
    w.rkey = both;
    b.write_wqe(0, this->kQp, w);
    w = this->read(6000, 2 * i + 1, 6000 * i);
    w.raddr = kDst;
    w.rkey = both;
    b.write_wqe(0, this->kQp, w);
  }
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 12; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  EXPECT_TRUE(b.a().mem.read(kSrc, 36000) == b.a().mem.read(this->kIn, 36000));
}

// ------------------------------------------------------------------------------ lives

TYPED_TEST(Transport, WriteQpInMidFlightOfALossyNetwork) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    this->pair({}, 4);
    b.wr(0, reg::kNicTimeout, 800);
    b.wr(0, reg::kNicRnrTimer, 400);
    b.all_wires([](Wire& w) { w.drop = 600, w.reorder = 600, w.duplicate = 300; });
    for (unsigned i = 0; i < 4; ++i) this->receive(i, 0x2000, 0x2000 * i);
    for (unsigned i = 0; i < 12; ++i) {
      const uint32_t n = static_cast<uint32_t>(b.rng() % 8000);
      b.write_wqe(0, this->kQp,
                  i % 4 == 1   ? this->send(n, i)
                  : i % 4 == 3 ? this->read(n, i)
                               : this->write(n, i));
    }
    b.ring(0, this->kQp);
    b.run(b.rng() % 4000);
    b.all_wires([](Wire& w) { w = Wire{}; });
    const uint32_t psn = static_cast<uint32_t>(b.rng() & 0xffffff);
    auto numbers = [&](uint32_t first) {
      b.connect(this->kQp, this->kMask, 0, 1, [&](QpCtx& x) {
        const bool is_a = x.remote_node == b.b().node();
        x.mtu = raw(MtuCode::kB1024);
        (is_a ? x.sq_psn : x.rq_psn) = first;
        TypeParam::B::add_ring(x, this->kQp, 4);
      });
    };
    numbers(psn);
    b.settle();
    b.run(1500);  // timers of the old life
    for (unsigned c = 0; c < 2; ++c) {
      b.log(c);
      b.make_cq(c, 0, 8);
      b.make_cq(c, 1, 8);
    }
    this->clear_target();
    numbers(psn ^ 0x800000);
    this->receive(70);
    b.post(0, this->kQp, this->send(5000, 99));
    this->expect_cqe(0, 0, 99, CqeStatus::kOk);
    this->expect_cqe(1, 1, 70, CqeStatus::kOk);
    b.post(0, this->kQp, this->read(9000, 98));
    this->expect_cqe(0, 0, 98, CqeStatus::kOk);
    this->expect_read(0, 9000);
    this->expect_no_cqe(0, 0);
    this->expect_quiet_logs();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Transport, SetErrorWhileTimersRun) {
  auto& b = this->bench;
  for (unsigned kind = 0; kind < 2; ++kind) {
    SCOPED_TRACE(kind);
    this->pair([](QpCtx& x) { x.rnr_retry = 15, x.retry = 15; }, 4);
    b.wr(0, reg::kNicTimeout, 900);
    b.wr(0, reg::kNicRnrTimer, 900);
    if (kind == 0) b.a().on_wire = [](Frame&, unsigned) { return false; };
    for (unsigned i = 0; i < 3; ++i) b.write_wqe(0, this->kQp, this->send(3000, i));
    b.ring(0, this->kQp);
    b.run(3000);
    EXPECT_EQ(b.command(0, ObjOp::kSetError, this->kQp), ObjResult::kOk);
    for (unsigned i = 0; i < 3; ++i) this->expect_cqe(0, 0, i, CqeStatus::kFlushed);
    uint64_t n = b.monitor.totals[0].packets;
    b.run(100);
    n = b.monitor.totals[0].packets;
    b.run(5000);
    EXPECT_EQ(b.monitor.totals[0].packets, n);
    this->expect_no_cqe(0, 0);
    EXPECT_EQ(b.a().dut().deadline_o, kNever);
    b.wr(0, reg::kNicPlanesDown, 0);
  }
}

// ------------------------------------------------------------------------------ planes

class Spray : public Transport<Setup<Vnic_coreChk, 8>> {
 protected:
  std::vector<uint64_t> sent() const {
    return {std::begin(bench.card[0]->counts.txd), std::end(bench.card[0]->counts.txd)};
  }
  std::vector<uint64_t> since(const std::vector<uint64_t>& before) const {
    auto v = sent();
    for (unsigned i = 0; i < 8; ++i) v[i] -= before[i];
    return v;
  }
  unsigned down() { return bench.rd(0, reg::kNicPlanesDown); }
};

TEST_F(Spray, UsesAllPlanesOfTheMaskAndNoOther) {
  auto& b = bench;
  for (unsigned mask : {0xffu, 0x15u, 0x80u, 0x01u, 0xc0u}) {
    SCOPED_TRACE(mask);
    clear_target();
    pair([&](QpCtx& x) { x.planes = static_cast<uint8_t>(mask); });
    const auto before = sent();
    b.write_wqe(0, kQp, this->write(200 * 1024, 1));
    b.write_wqe(0, kQp, this->read(40 * 1024, 2));
    b.ring(0, kQp);
    this->expect_cqe(0, 0, 1, CqeStatus::kOk);
    this->expect_cqe(0, 0, 2, CqeStatus::kOk);
    expect_copied(0, 200 * 1024);
    const auto n = since(before);
    const unsigned planes = static_cast<unsigned>(__builtin_popcount(mask));
    for (unsigned p = 0; p < 8; ++p) {
      if (mask >> p & 1) {
        EXPECT_GT(n[p], 240 / planes / 2) << p;  // equal ones take turns
      } else {
        EXPECT_EQ(n[p], 0u) << p;
      }
    }
    if (mask == 0xff) {
      uint64_t most = 0;
      for (uint64_t r : b.b().counts.responses) most = std::max(most, r);
      EXPECT_LT(most, 20u);  // READ responses are spread, too
    }
  }
}

TEST_F(Spray, APlaneWithoutCreditsGetsNothing) {
  auto& b = bench;
  clear_target();
  pair([](QpCtx& x) { x.window = 512, x.retry = 15; });
  b.wr(0, reg::kNicTimeout, 4000);
  b.a().stuck_port[3] = true;
  const auto before = sent();
  b.post(0, kQp, this->write(250 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  expect_copied(0, 250 * 1024);
  EXPECT_LE(since(before)[3], 16u);
  for (unsigned p = 0; p < 8; ++p) {
    if (p != 3) {
      EXPECT_GT(since(before)[p], 20u);
    }
  }
  // What it held comes late, and nobody minds.
  b.a().stuck_port[3] = false;
  b.post(0, kQp, this->reduce(1024, 2, 0x3f000));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  b.settle();
  expect_copied(0, 250 * 1024);
  EXPECT_EQ(b.status(0, kQp).state, raw(QpState::kReady));
}

TEST_F(Spray, ASlowPlaneGetsLess) {
  auto& b = bench;
  pair([](QpCtx& x) { x.window = 200; });
  b.a().slow_port[5] = 60;
  const auto before = sent();
  for (unsigned i = 0; i < 4; ++i) b.write_wqe(0, kQp, this->write(250 * 1024, i));
  b.ring(0, kQp);
  for (unsigned i = 0; i < 4; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  const auto n = since(before);
  for (unsigned p = 0; p < 8; ++p) {
    if (p != 5) {
      EXPECT_GT(n[p], 2 * n[5]) << p;
    }
  }
  EXPECT_GT(n[5], 0u);
}

// A plane breaks in the middle: everything arrives, it is reported and not used, and comes back.
TEST_F(Spray, APlaneIsCutAndComesBack) {
  auto& b = bench;
  constexpr uint64_t kProbe = 30000;
  clear_target();
  pair([](QpCtx& x) { x.window = 512, x.retry = 15; });
  b.wr(0, reg::kNicTimeout, 3000);
  b.wr(0, reg::kNicReorder, 64);
  b.wr(0, reg::kNicPlaneProbe, kProbe);
  auto message = [&](uint64_t id) {
    b.post(0, kQp, this->write(250 * 1024, id));
    this->expect_cqe(0, 0, id, CqeStatus::kOk);
  };
  message(0);
  b.post(0, kQp, this->write(250 * 1024, 1));
  b.run(200);
  b.cut(2, true);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  for (unsigned i = 2; i < 30 && (down() & 4) == 0; ++i) message(i);
  ASSERT_EQ(down(), 4u);
  const uint64_t at = b.cycles;
  auto l = b.log(0);
  EXPECT_EQ(b.count(l, ErrCause::kPlaneDown), 1u);
  for (auto& e : l) {
    if (e.cause == ErrCause::kPlaneDown) {
      EXPECT_EQ(e.plane, 2u);
    }
  }
  EXPECT_GT(b.rd(0, reg::kNicCntLost + 8), 0u);
  // Others go on without it.
  b.settle();
  auto before = sent();
  message(50);
  EXPECT_EQ(since(before)[2], 0u);
  EXPECT_LT(b.cycles - at, kProbe);
  // Tried again, still broken: down again at the first loss.
  b.run(kProbe);
  before = sent();
  for (unsigned i = 51; i < 56; ++i) message(i);
  EXPECT_GT(since(before)[2], 0u);
  EXPECT_LT(since(before)[2], 200u);
  EXPECT_EQ(down(), 4u);
  // Mended.
  b.cut(2, false);
  b.run(kProbe + 100);
  before = sent();
  for (unsigned i = 56; i < 60; ++i) message(i);
  EXPECT_GT(since(before)[2], 40u);
  EXPECT_EQ(down(), 0u);
  expect_copied(0, 250 * 1024);
  expect_log(1, {});
}

TEST_F(Spray, PlanesDownMayBeWritten) {
  auto& b = bench;
  pair();
  b.wr(0, reg::kNicPlanesDown, 0x7e);
  EXPECT_EQ(down(), 0x7eu);
  auto before = sent();
  b.post(0, kQp, this->write(100 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  for (unsigned p = 0; p < 8; ++p) {
    EXPECT_EQ(since(before)[p] != 0, p == 0 || p == 7) << p;
  }
  // Nothing else is left: the last resort.
  b.wr(0, reg::kNicPlanesDown, 0xff);
  b.post(0, kQp, this->write(100 * 1024, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  b.wr(0, reg::kNicPlanesDown, 0);
  EXPECT_EQ(down(), 0u);
  before = sent();
  b.post(0, kQp, this->write(100 * 1024, 3));
  this->expect_cqe(0, 0, 3, CqeStatus::kOk);
  for (unsigned p = 0; p < 8; ++p) EXPECT_GT(since(before)[p], 0u) << p;
}

// A QP of one plane only has no other; it lives and dies with it.
TEST_F(Spray, TheOnlyPlaneIsUsedEvenIfItIsDown) {
  auto& b = bench;
  pair([](QpCtx& x) { x.planes = 4, x.retry = 2; });
  b.wr(0, reg::kNicTimeout, 1000);
  b.cut(2, true);
  b.post(0, kQp, this->write(60 * 1024, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kTimeout);
  b.cut(2, false);
  b.connect(kQp, 4, 0, 1, [](QpCtx& x) { x.mtu = 2; });
  b.post(0, kQp, this->write(60 * 1024, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
}

// A packet of a silent plane counts as lost when the others are `reorder` packets ahead.
TEST_F(Spray, ReorderLimit) {
  auto& b = bench;
  for (uint32_t limit : {20u, 60u}) {
    SCOPED_TRACE(limit);
    pair([](QpCtx& x) { x.window = 256; });
    b.wr(0, reg::kNicReorder, limit);
    unsigned dead = 8;
    uint32_t first = 0, highest = 0, at = 0;
    b.a().on_wire = [&](Frame& f, unsigned p) {
      if (dead == 8 && index(f.h.psn) == 8) dead = p, first = 8;
      return p != dead || index(f.h.psn) >= 40;
    };
    // Its packets behind the fortieth are late, so that only the limit tells what is lost.
    b.a().on_txd = [&](const Txd& d, unsigned) {
      if (dead < 8) b.wire[0][dead].latency_min = b.wire[0][dead].latency_max = 5000;
      if (index(d.psn) == first && first != 0 && highest > first && at == 0) at = highest;
      highest = std::max(highest, index(d.psn));
    };
    for (unsigned i = 0; i < 4; ++i) b.write_wqe(0, kQp, this->write(250 * 1024, i));
    b.ring(0, kQp);
    for (unsigned i = 0; i < 4; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    EXPECT_GE(at, first + limit);
    EXPECT_LE(at, first + limit + 256);
    EXPECT_EQ(counted(0, reg::kNicCntTimeouts), 0u);
    b.a().on_txd = {};
    b.run(6000);
    b.wr(0, reg::kNicReorder, reg::kNicReorderReset);
    b.wr(0, reg::kNicPlanesDown, 0);
  }
}

// Eight planes of very different length, a tenth of the packets lost on one of them.
TEST_F(Spray, PlanesOfDifferentQuality) {
  auto& b = bench;
  clear_target();
  pair([](QpCtx& x) { x.window = 512, x.retry = 15; });
  b.wr(0, reg::kNicTimeout, 6000);
  for (unsigned p = 0; p < 8; ++p) {
    for (auto& side : b.wire) {
      side[p].latency_min = 20 + 40 * p;
      side[p].latency_max = 40 + 50 * p;
      side[p].drop = p == 4 ? 1000 : 50;
      side[p].reorder = side[p].duplicate = side[p].corrupt = 100;
    }
  }
  for (unsigned i = 0; i < 3; ++i) b.write_wqe(0, kQp, this->reduce(250 * 1024, i));
  b.ring(0, kQp);
  for (unsigned i = 0; i < 3; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  const auto one = b.a().mem.read(kSrc, 250 * 1024);
  EXPECT_TRUE(b.b().mem.read(kDst, 250 * 1024) == add_f32(add_f32(one, one), one));
}

}  // namespace
}  // namespace nic_core_test
