// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// SEND and receive rings. Where every byte must land, and which receive completes how, is told from
// the posted receives and the messages alone: see nic_send.md.
#include "core_fixture.hpp"

namespace nic_core_test {
namespace {

constexpr uint64_t kBuf = 0x400000, kBufSize = 0x100000;

template <class S>
class Send : public Core<S> {
 protected:
  using Base = Core<S>;
  using B = typename S::B;
  using Base::bench;
  using Base::kMask;
  using Base::kPlane;
  using Base::kQp;

  void SetUp() override {
    for (unsigned c = 0; c < 2; ++c) {
      lkey_buf[c] = bench.make_mr(c, 6, kBuf, kBufSize, false, false, false, true);
      std::vector<uint8_t> data(kBufSize);
      for (auto& b : data) b = static_cast<uint8_t>(bench.rng());
      bench.card[c]->mem.write(kBuf, data.data(), data.size());
      want[c].write(kBuf, data.data(), data.size());
    }
    rings();
  }
  // Nothing lands where no receive buffer was.
  void TearDown() override {
    if (this->HasFatalFailure()) return;
    for (unsigned c = 0; c < 2; ++c) {
      const auto is = bench.card[c]->mem.read(kBuf, kBufSize), must = want[c].read(kBuf, kBufSize);
      const auto at = std::mismatch(is.begin(), is.end(), must.begin()).first - is.begin();
      EXPECT_TRUE(is == must) << "card " << c << " differs at offset " << at << " of the buffers";
    }
  }

  // The pair with receive rings on both sides.
  void rings(unsigned log2 = 4, const std::function<void(QpCtx&)>& tune = {}) {
    bench.connect(kQp, kMask, 0, 1, [&](QpCtx& x) {
      B::add_ring(x, kQp, log2);
      if (tune) tune(x);
    });
  }
  void fresh(unsigned log2 = 4) {
    this->again();
    rings(log2);
  }

  Wqe buffer(uint64_t wr_id, uint32_t length, uint64_t off, unsigned card = 1) {
    Wqe w;
    w.opcode = raw(WqeOp::kRecv);
    w.length = length;
    w.laddr = kBuf + off;
    w.lkey = lkey_buf[card];
    w.wr_id = wr_id;
    return w;
  }
  // Receive `wr_id` gets a place of its own.
  static uint64_t place(uint64_t wr_id) { return wr_id % 64 * 0x4000; }
  void receive(uint64_t wr_id, uint32_t length = 0x4000) {
    bench.post_recv(1, kQp, buffer(wr_id, length, place(wr_id)));
  }
  Wqe send(uint32_t length, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = this->write(length, wr_id, off);
    w.opcode = raw(WqeOp::kSend);
    w.raddr = bench.rng();  // both ignored
    w.rkey = static_cast<uint32_t>(bench.rng());
    return w;
  }
  Wqe send_imm(uint32_t length, uint32_t imm, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = send(length, wr_id, off);
    w.opcode = raw(WqeOp::kSendImm);
    w.imm = imm;
    return w;
  }
  Wqe write_imm(uint32_t length, uint32_t imm, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w = this->write(length, wr_id, off);
    w.opcode = raw(WqeOp::kWriteImm);
    w.imm = imm;
    return w;
  }
  // `length` bytes of the sender's memory are expected at `to` of the receiver's buffers.
  void delivered(uint64_t to, uint32_t length, uint64_t off = 0, unsigned card = 1) {
    const auto data = bench.card[1 - card]->mem.read(kSrc + off, length);
    want[card].write(kBuf + to, data.data(), data.size());
  }
  // The receiver's buffers from `to` on may hold anything: what is there becomes the truth.
  void undefined(uint64_t to, uint32_t length, unsigned card = 1) {
    const auto data = bench.card[card]->mem.read(kBuf + to, length);
    want[card].write(kBuf + to, data.data(), data.size());
  }

  Cqe expect_recv(uint64_t wr_id, WqeOp op, uint32_t byte_len, uint32_t imm = 0,
                  CqeStatus status = CqeStatus::kOk, unsigned card = 1) {
    const Cqe e = this->expect_cqe(card, 1, wr_id, status);
    EXPECT_EQ(e.recv, 1u);
    EXPECT_EQ(e.qpn, kQp);
    EXPECT_STREQ(to_string(static_cast<WqeOp>(e.opcode)), to_string(op)) << "receive " << wr_id;
    EXPECT_EQ(e.byte_len, byte_len) << "receive " << wr_id;
    EXPECT_EQ(e.imm, imm) << "receive " << wr_id;
    return e;
  }
  Cqe expect_failed(uint64_t wr_id, CqeStatus status, unsigned card = 1) {
    return expect_recv(wr_id, WqeOp::kRecv, 0, 0, status, card);
  }
  void expect_flushed(uint64_t wr_id, unsigned card = 1) {
    const Cqe e = expect_failed(wr_id, CqeStatus::kFlushed, card);
    EXPECT_EQ(e.psn, bench.status(card, kQp).expected_psn) << "receive " << wr_id;
  }
  // Exactly this cause.
  void expect_only(unsigned c, ErrCause cause, unsigned times = 1) {
    const auto l = bench.log(c);
    EXPECT_EQ(bench.count(l, cause), times) << to_string(cause);
    EXPECT_EQ(l.size(), times);
  }

  uint32_t lkey_buf[2] = {};
  Memory want[2];
};
TYPED_TEST_SUITE(Send, Sizes);

constexpr auto kOpSend = WqeOp::kSend;
constexpr auto kOpSendImm = WqeOp::kSendImm;

TYPED_TEST(Send, BringsAMessage) {
  auto& b = this->bench;
  this->receive(0x1122334455667788ull);
  b.post(0, this->kQp, this->send(10001, 77));
  const Cqe r = this->expect_recv(0x1122334455667788ull, kOpSend, 10001);
  EXPECT_EQ(r.psn, 0xfffffcu);
  const Cqe e = this->expect_cqe(0, 0, 77, CqeStatus::kOk);
  EXPECT_EQ(e.opcode, raw(WqeOp::kSend));
  EXPECT_EQ(e.byte_len, 10001u);
  EXPECT_EQ(e.psn, 0xfffffcu);
  EXPECT_EQ(e.sq_head, 1u);
  EXPECT_EQ(e.recv, 0u);
  this->delivered(this->place(0x1122334455667788ull), 10001);
  b.settle();
  const QpStatus sb = b.status(1, this->kQp);
  EXPECT_EQ(sb.expected_psn, 0xfffffdu);
  EXPECT_EQ(sb.msn, 3u);
  EXPECT_EQ(this->sum(0, reg::kNicCntTxPackets), 3u);
  EXPECT_EQ(this->sum(0, reg::kNicCntTxBytes, 8), 10001u);
  EXPECT_EQ(this->sum(1, reg::kNicCntRxPackets), 3u);
  EXPECT_EQ(b.rd(0, reg::kNicCntWqes), 1u);
  EXPECT_EQ(b.rd(1, reg::kNicCntWqes), 0u);  // receive rings do not count
  EXPECT_EQ(b.rd(1, reg::kNicCntCqes), 1u);
  this->expect_no_cqe(1, 1);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

// Headers of every packet: number, offset and length; the numbers count what consumes a receive.
TYPED_TEST(Send, HeadersSayWhichMessage) {
  auto& b = this->bench;
  std::vector<Frame> sent;
  this->record(0, sent);
  struct Message {
    Wqe w;
    uint32_t number;
  };
  std::vector<Message> list = {
      {this->send(0, 0), 0},           {this->send_imm(8192, 0xabcd, 1), 1},
      {this->write(100, 2), 0},        {this->write_imm(5000, 0x1234, 3), 2},
      {this->send(4097, 4), 3},        {this->send_imm(0, 0x55, 5), 4},
      {this->send_imm(1, 0x66, 6), 5}, {this->send(12288, 7), 6},
  };
  for (auto& m : list) m.w.vc = raw(Vc::kReq);
  for (unsigned i = 0; i < 7; ++i)
    b.write_recv(1, this->kQp, this->buffer(i, 0x4000, this->place(i)));
  b.ring_recv(1, this->kQp);
  for (auto& m : list) b.write_wqe(0, this->kQp, m.w);
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < list.size(); ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  this->sort(sent);
  size_t k = 0;
  for (auto& m : list) {
    const bool is = m.w.opcode == raw(WqeOp::kSend) || m.w.opcode == raw(WqeOp::kSendImm);
    for (uint32_t off = 0; off == 0 || off < m.w.length; off += 4096) {
      ASSERT_LT(k, sent.size());
      const Rxh& h = sent[k].h;
      const uint32_t left = m.w.length - off;
      EXPECT_EQ(h.psn, (0xfffffau + k) & 0xffffff);
      EXPECT_EQ(h.len, std::min(left, 4096u));
      EXPECT_EQ(h.vc, raw(Vc::kReq));
      EXPECT_EQ(h.ack_req, left <= 4096) << k;
      EXPECT_EQ(h.rnum, is || (left <= 4096 && m.w.opcode == raw(WqeOp::kWriteImm)) ? m.number : 0);
      if (is) {
        EXPECT_EQ(h.raddr, uint64_t(m.number) << 32 | off) << k;
        EXPECT_EQ(h.rkey, m.w.length) << k;
        const bool imm = left <= 4096 && m.w.opcode == raw(WqeOp::kSendImm);
        EXPECT_EQ(h.opcode, raw(imm ? PktOp::kSendImm : PktOp::kSend)) << k;
        if (imm) {
          EXPECT_EQ(h.imm, m.w.imm);
        }
      }
      ++k;
    }
  }
  EXPECT_EQ(k, sent.size());
  this->expect_recv(0, kOpSend, 0);
  this->expect_recv(1, kOpSendImm, 8192, 0xabcd);
  this->expect_recv(2, WqeOp::kWriteImm, 5000 - 4096, 0x1234);
  this->expect_recv(3, kOpSend, 4097);
  this->expect_recv(4, kOpSendImm, 0, 0x55);
  this->expect_recv(5, kOpSendImm, 1, 0x66);
  this->expect_recv(6, kOpSend, 12288);
  this->delivered(this->place(1), 8192);
  this->delivered(this->place(3), 4097);
  this->delivered(this->place(5), 1);
  this->delivered(this->place(6), 12288);
  this->expect_no_cqe(1, 1);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

// All lengths around the ends of packets, both channels, buffers that fit exactly and unaligned.
TYPED_TEST(Send, LengthsAndChannels) {
  auto& b = this->bench;
  uint64_t id = 0;
  for (uint32_t length :
       {0u,  1u,  2u,    3u,    4u,    60u,   61u,   62u,   63u,   64u,   65u,   66u,
        67u, 68u, 4092u, 4093u, 4094u, 4095u, 4096u, 4097u, 8191u, 8192u, 8193u, 70000u}) {
    for (auto vc : {Vc::kReq, Vc::kBulk}) {
      const uint64_t at = b.rng() % (kBufSize - 70000), off = b.rng() % (kSize - 70000);
      b.post_recv(1, this->kQp, this->buffer(++id, length, at));
      Wqe w = id % 3 == 0 ? this->send_imm(length, 7, id, off) : this->send(length, id, off);
      w.vc = raw(vc);
      b.post(0, this->kQp, w);
      this->expect_cqe(0, 0, id, CqeStatus::kOk);
      this->expect_recv(id, id % 3 == 0 ? kOpSendImm : kOpSend, length, id % 3 == 0 ? 7 : 0);
      this->delivered(at, length, off);
      if (testing::Test::HasFailure()) return;
    }
  }
  this->expect_log(0, {});
  this->expect_log(1, {});
}

TYPED_TEST(Send, OfNothingNeedsNoKeys) {
  auto& b = this->bench;
  Wqe r = this->buffer(5, 0, 0);
  r.lkey = 0xffffffff;
  r.laddr = ~0ull;
  b.post_recv(1, this->kQp, r);
  r.wr_id = 6;
  r.length = 0xffffffff;
  b.post_recv(1, this->kQp, r);
  Wqe w = this->send(0, 1);
  w.lkey = 0xffffffff;
  b.post(0, this->kQp, w);
  b.post(0, this->kQp, this->send_imm(0, 9, 2));
  this->expect_recv(5, kOpSend, 0);
  this->expect_recv(6, kOpSendImm, 0, 9);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  this->expect_log(1, {});
}

// Rings of one entry to sixteen, several times around; more receives than the prefetch store holds.
TYPED_TEST(Send, RingsWrap) {
  auto& b = this->bench;
  for (unsigned log2 : {0u, 1u, 3u, 4u}) {
    SCOPED_TRACE(log2);
    this->fresh(log2);
    const unsigned size = 1u << log2;
    unsigned posted = 0, sent = 0;
    for (unsigned done = 0; done < 40; ++done) {
      while (posted < done + size && posted < 40) this->receive(posted++);
      // Sometimes several messages meet several receives.
      while (sent < posted && (sent <= done || b.rng() % 3 != 0) && sent < done + 16) {
        b.post(0, this->kQp, this->send(1 + 100 * sent, sent, 16 * sent));
        ++sent;
      }
      this->expect_recv(done, kOpSend, 1 + 100 * done);
      this->expect_cqe(0, 0, done, CqeStatus::kOk);
      this->delivered(this->place(done), 1 + 100 * done, 16 * done);
      if (testing::Test::HasFailure()) return;
    }
    this->expect_no_cqe(1, 1);
    this->expect_log(1, {});
  }
}

// Tail and consumed receives are counts modulo 2^16.
TEST(SendCount, OfReceivesWraps) {
  Bench<Vnic_core_p1Chk, 1> b(77);
  b.timing = Timing{1, 2, 100, 1, 2, 0, 1, 100, 100, 100, false};
  for (unsigned c = 0; c < 2; ++c) {
    b.enable(c);
    b.make_cq(c, 0, 12);
    b.make_cq(c, 1, 12);
  }
  b.connect(3, 1, 0, 1, [](QpCtx& x) { Bench<Vnic_core_p1Chk, 1>::add_ring(x, 3, 6); });
  b.b().on_wire = [](Frame&, unsigned) { return false; };
  Wqe r;
  r.opcode = raw(WqeOp::kRecv);
  Frame f;
  f.h.opcode = raw(PktOp::kSend);
  f.h.src_node = b.a().node();
  f.h.dst_qpn = 3;
  constexpr uint32_t kCount = 0x10000 + 200;
  uint32_t posted = 0, sent = 0, done = 0;
  while (done < kCount) {
    while (posted < kCount && posted - done < kNicMaxOutstanding) {
      r.wr_id = posted++;
      b.write_recv(1, 3, r);
    }
    b.ring_recv(1, 3);
    b.run(4);
    for (; sent < posted; ++sent) {
      f.h.psn = (0xfffffa + sent) & 0xffffff;
      f.h.raddr = uint64_t(sent) << 32;
      f.h.rnum = sent & 127;
      b.b().receive(f, 0);
    }
    for (; done < sent; ++done) {
      const Cqe e = b.wait_cqe(1, 1);
      ASSERT_EQ(e.wr_id, done);
      ASSERT_EQ(e.status, 0u);
      ASSERT_EQ(e.recv, 1u);
    }
  }
  b.settle();
  EXPECT_TRUE(b.log(1).empty());
}

// The entry of the next receive comes late: the header waits, and everybody else goes on.
TYPED_TEST(Send, WaitsForTheEntry) {
  auto& b = this->bench;
  b.connect(20, 1);
  b.timing.dma_min = b.timing.dma_max = 3000;
  this->receive(1);
  b.run(50);
  b.timing.dma_min = b.timing.dma_max = 20;
  b.post(0, this->kQp, this->send(9000, 5));
  b.run(1000);
  EXPECT_EQ(b.status(1, this->kQp).expected_psn, 0xfffffau);
  if (this->kMask == 0x80) {
    for (unsigned i = 0; i < 4; ++i) {
      b.post(0, 20, this->write(5000, 30 + i));
      this->expect_cqe(0, 0, 30 + i, CqeStatus::kOk);
    }
    EXPECT_EQ(b.status(1, this->kQp).expected_psn, 0xfffffau);
  }
  // The own direction of the card goes on, too.
  Wqe w = this->write(5000, 40);
  w.lkey = this->lkey[1];
  w.rkey = this->rkey[0];
  b.post(1, this->kQp, w);
  this->expect_cqe(1, 0, 40, CqeStatus::kOk);
  this->expect_recv(1, kOpSend, 9000);
  this->expect_cqe(0, 0, 5, CqeStatus::kOk);
  this->delivered(this->place(1), 9000);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

// Many receives, entries slow and in any order, messages faster than the entries: nothing is lost.
TYPED_TEST(Send, EntriesSlowerThanMessages) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [&](QpCtx& x) {
    TypeParam::B::add_ring(x, this->kQp, 5);
    x.sq_log2 = 5;
  });
  b.timing.dma_max = 900;
  for (unsigned i = 0; i < 32; ++i) {
    b.write_recv(1, this->kQp, this->buffer(i, 0x1000, this->place(i)));
    b.write_wqe(0, this->kQp, this->send(50 * i, i, 64 * i));
  }
  b.ring_recv(1, this->kQp);
  b.run(100);
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 32; ++i) {
    this->expect_recv(i, kOpSend, 50 * i);
    this->expect_cqe(0, 0, i, CqeStatus::kOk);
    this->delivered(this->place(i), 50 * i, 64 * i);
  }
  this->expect_log(1, {});
}

// ------------------------------------------------------------------------------ refused

// One row of the table in nic_send.md: the second of three messages is spoiled.
struct Row {
  const char* name;
  CqeStatus sender;                         // of the message
  ErrCause log;                             // at the receiver
  CqeStatus receive = CqeStatus::kFlushed;  // of its receive
  std::function<void(Wqe&)> spoil_recv = {};
  std::function<void(Wqe&)> spoil_send = {};
  std::function<void(Frame&)> spoil_frame = {};  // the first packet of the message
  std::function<void(Frame&)> spoil_second = {};
  uint32_t length = 64;
  bool placed = false;  // some of its bytes may be in the buffer
};

template <class T>
void run_row(T& t, const Row& row) {
  auto& b = t.bench;
  SCOPED_TRACE(row.name);
  std::set<uint8_t> syndromes;
  uint32_t psn = 0;
  b.a().on_wire = [&](Frame& f, unsigned) {
    if (f.h.psn == 0xfffffc && row.spoil_frame) row.spoil_frame(f);
    if (f.h.psn == 0xfffffd && row.length > 4096 && row.spoil_second) row.spoil_second(f);
    return true;
  };
  b.b().on_wire = [&](Frame& f, unsigned) {
    if (f.h.syndrome != raw(Syndrome::kAck)) syndromes.insert(f.h.syndrome), psn = f.h.psn;
    return true;
  };
  const bool second = static_cast<bool>(row.spoil_second);
  for (unsigned i = 0; i < 6; ++i) {
    Wqe r = t.buffer(50 + i, 0x2000, t.place(50 + i));
    if (i == 1) r.length = row.length;
    if (i == 1 && row.spoil_recv) row.spoil_recv(r);
    b.write_recv(1, T::kQp, r);
  }
  b.ring_recv(1, T::kQp);
  b.write_wqe(0, T::kQp, t.send(5000, 20));
  Wqe w = t.send(row.length, 21);
  if (row.spoil_send) row.spoil_send(w);
  b.write_wqe(0, T::kQp, w);
  b.write_wqe(0, T::kQp, t.send(5000, 22, 8192));
  b.ring(0, T::kQp);
  t.expect_cqe(0, 0, 20, CqeStatus::kOk);
  const uint32_t bad = second ? 0xfffffdu : 0xfffffcu;
  EXPECT_EQ(t.expect_cqe(0, 0, 21, row.sender).psn, bad);
  t.expect_cqe(0, 0, 22, CqeStatus::kFlushed);
  t.expect_no_cqe(0, 0);
  t.delivered(t.place(50), 5000);
  t.expect_recv(50, WqeOp::kSend, 5000);
  if (row.receive == CqeStatus::kFlushed) {
    t.expect_flushed(51);
  } else {
    const bool lost = row.receive == CqeStatus::kLocalMemory;
    EXPECT_EQ(t.expect_failed(lost ? 0 : 51, row.receive).psn, bad);
  }
  for (unsigned i = 2; i < 6; ++i) t.expect_flushed(50 + i);
  // Receives posted now are flushed, too.
  t.receive(60);
  t.expect_flushed(60);
  t.expect_no_cqe(1, 1);
  t.expect_state(0, QpState::kError);
  t.expect_state(1, QpState::kError);
  t.expect_failed_log(0, ErrCause::kNak);
  const auto l = b.log(1);
  EXPECT_EQ(b.count(l, row.log), 1u) << to_string(row.log);
  EXPECT_EQ(l.size(), 1u);
  for (auto& e : l) {
    EXPECT_EQ(e.qpn, T::kQp);
  }
  ASSERT_EQ(syndromes.size(), 1u);
  const auto want =
      row.sender == CqeStatus::kRemoteInvalid ? Syndrome::kNakInvalid : Syndrome::kNakOper;
  EXPECT_EQ(*syndromes.begin(), raw(want));
  EXPECT_EQ(psn, bad);
  if (second || row.placed) t.undefined(t.place(51), 0x4000);
  t.undefined(t.place(52), 0x4000);  // what is behind may have been executed
  t.fresh();
}

// Lets the test body reach what the fixture protects.
template <class S>
class Refused : public Send<S> {
 public:
  using Send<S>::bench, Send<S>::buffer, Send<S>::send, Send<S>::place, Send<S>::receive;
  using Send<S>::delivered, Send<S>::undefined, Send<S>::expect_recv, Send<S>::expect_failed;
  using Send<S>::expect_flushed, Send<S>::expect_cqe, Send<S>::expect_no_cqe, Send<S>::expect_log,
      Send<S>::expect_failed_log;
  using Send<S>::expect_state, Send<S>::fresh, Send<S>::kQp, Send<S>::kPlane;
};
TYPED_TEST_SUITE(Refused, Sizes);

constexpr auto kInvalid = CqeStatus::kRemoteInvalid;
constexpr auto kOperation = CqeStatus::kRemoteOperation;

TYPED_TEST(Refused, Malformed) {
  auto frame = [](const char* name, std::function<void(Frame&)> first,
                  std::function<void(Frame&)> second, uint32_t length) {
    Row r{name, kInvalid, ErrCause::kMalformed};
    r.spoil_frame = std::move(first);
    r.spoil_second = std::move(second);
    r.length = length;
    return r;
  };
  std::vector<Row> rows = {
      frame(
          "payload above MTU", [](Frame& f) { f.h.len = 4097; }, {}, 4096),
      frame(
          "next number", [](Frame& f) { f.h.raddr += 1ull << 32; }, {}, 64),
      frame(
          "last number", [](Frame& f) { f.h.raddr -= 1ull << 32; }, {}, 64),
      frame(
          "top bit of the number", [](Frame& f) { f.h.raddr ^= 1ull << 55; }, {}, 64),
      frame(
          "shorter message", [](Frame& f) { f.h.rkey -= 1; }, {}, 64),
      frame(
          "no message", [](Frame& f) { f.h.rkey = 0; }, {}, 64),
      frame(
          "empty, not the last", [](Frame& f) { f.h.len = 0, f.payload.clear(); }, {}, 64),
      frame(
          "immediate too early", [](Frame& f) { f.h.opcode = raw(PktOp::kSendImm); }, {}, 8000),
      frame(
          "second number", {}, [](Frame& f) { f.h.raddr += 1ull << 32; }, 8000),
      frame(
          "second too long", {}, [](Frame& f) { f.h.rkey = 7999; }, 8000),
      frame(
          "second empty", {}, [](Frame& f) { f.h.len = 0, f.payload.clear(); }, 8000),
      frame(
          "unknown opcode", [](Frame& f) { f.h.opcode = 0x06; }, {}, 64),
  };
  for (auto& row : rows) {
    // The buffer is not what is wrong.
    if (row.length == 64) row.spoil_recv = [](Wqe& w) { w.length = 0x2000; };
    run_row(*this, row);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Refused, BadEntries) {
  auto& b = this->bench;
  auto entry = [](const char* name, std::function<void(Wqe&)> spoil) {
    Row r{name, kOperation, ErrCause::kLocal, CqeStatus::kBadOpcode};
    r.spoil_recv = std::move(spoil);
    return r;
  };
  std::vector<Row> rows = {
      entry("nop", [](Wqe& w) { w.opcode = 0; }),
      entry("send", [](Wqe& w) { w.opcode = raw(WqeOp::kSend); }),
      entry("unknown opcode", [](Wqe& w) { w.opcode = 0x88; }),
      entry("signalled", [](Wqe& w) { w.signalled = 1; }),
      entry("fence", [](Wqe& w) { w.fence = 1; }),
      entry("vc", [](Wqe& w) { w.vc = 2; }),
      entry("red_op", [](Wqe& w) { w.red_op = 1; }),
      entry("red_dtype", [](Wqe& w) { w.red_dtype = 1; }),
      entry("raddr", [](Wqe& w) { w.raddr = 1ull << 63; }),
      entry("low raddr", [](Wqe& w) { w.raddr = 1; }),
      entry("rkey", [](Wqe& w) { w.rkey = 1u << 31; }),
      entry("imm", [](Wqe& w) { w.imm = 1; }),
  };
  // A message with nothing to place needs a good entry as well.
  Row empty = entry("empty message", [](Wqe& w) { w.imm = 1; });
  empty.length = 0;
  rows.push_back(empty);
  Row imm = entry("immediate of a WRITE", [](Wqe& w) { w.imm = 1; });
  imm.spoil_send = [this](Wqe& w) {
    w.opcode = raw(WqeOp::kWriteImm);
    w.raddr = kDst;
    w.rkey = this->rkey[1];
  };
  rows.push_back(imm);
  for (auto& row : rows) {
    run_row(*this, row);
    if (testing::Test::HasFailure()) return;
  }
  // Bits that the layout reserves.
  for (unsigned byte : {1u, 2u, 36u, 48u, 63u}) {
    SCOPED_TRACE(byte);
    b.write_recv(1, this->kQp, this->buffer(7, 64, 0));
    const uint8_t bad = 0x80;
    b.b().mem.write(TypeParam::B::recv_base(this->kQp) + byte, &bad, 1);
    b.ring_recv(1, this->kQp);
    b.post(0, this->kQp, this->send(64, 1));
    this->expect_failed(7, CqeStatus::kBadOpcode);
    this->expect_cqe(0, 0, 1, CqeStatus::kRemoteOperation);
    this->fresh();
  }
}

TYPED_TEST(Refused, BuffersThatDoNotFit) {
  auto& b = this->bench;
  const uint32_t read_only = b.make_mr(1, 7, kBuf, kBufSize, true, true, true, false, true);
  auto fits = [](const char* name, uint32_t length, std::function<void(Wqe&)> spoil) {
    Row r{name, kInvalid, ErrCause::kLocal, CqeStatus::kLocalLength};
    r.spoil_recv = std::move(spoil);
    r.length = length;
    return r;
  };
  auto access = [](const char* name, std::function<void(Wqe&)> spoil) {
    Row r{name, kOperation, ErrCause::kLocal, CqeStatus::kLocalProtection};
    r.spoil_recv = std::move(spoil);
    return r;
  };
  std::vector<Row> rows = {
      fits("a byte short", 64, [](Wqe& w) { w.length = 63; }),
      fits("empty buffer", 1, [](Wqe& w) { w.length = 0; }),
      fits("short for the second packet", 4097, [](Wqe& w) { w.length = 4096; }),
      access("index", [](Wqe& w) { w.lkey += 0x100 * 3; }),
      access("range", [](Wqe& w) { w.lkey |= 0x80000000; }),
      access("key", [](Wqe& w) { w.lkey ^= 1; }),
      access("right", [&](Wqe& w) { w.lkey = read_only; }),
      access("below", [](Wqe& w) { w.laddr = kBuf - 1; }),
      access("above", [](Wqe& w) { w.laddr = kBuf + kBufSize - 63; }),
      access("wrap", [](Wqe& w) { w.laddr = ~0ull - 3; }),
  };
  // The announced length decides, also when the second packet changes it.
  Row grows = fits("grows", 8000, {});
  grows.spoil_second = [](Frame& f) { f.h.rkey = 8001; };
  rows.push_back(grows);
  for (auto& row : rows) {
    run_row(*this, row);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Refused, UnreadableEntries) {
  auto& b = this->bench;
  Row row{"", kOperation, ErrCause::kDma, CqeStatus::kLocalMemory};
  for (bool imm : {false, true}) {
    b.b().mem.forbid(TypeParam::B::recv_base(this->kQp) + 64, 64);
    row.name = imm ? "immediate" : "message";
    if (imm) {
      row.spoil_send = [this](Wqe& w) {
        w.opcode = raw(WqeOp::kWriteImm);
        w.raddr = kDst;
        w.rkey = this->rkey[1];
      };
    }
    run_row(*this, row);
    if (testing::Test::HasFailure()) return;
  }
}

// The log entry comes with the answer of the host, not with the message; an entry that is flushed
// before anybody needs it completes with wr_id 0.
TYPED_TEST(Refused, UnreadableEntriesAreLoggedWhenTheyCome) {
  auto& b = this->bench;
  b.b().mem.forbid(TypeParam::B::recv_base(this->kQp) + 64, 64);
  for (unsigned i = 0; i < 4; ++i) {
    b.write_recv(1, this->kQp, this->buffer(i + 1, 64, this->place(i)));
  }
  b.ring_recv(1, this->kQp);
  b.settle();
  this->expect_log(1, {ErrCause::kDma});
  this->expect_state(1, QpState::kReady);
  b.post(0, this->kQp, this->send(64, 1));
  this->expect_recv(1, kOpSend, 64);
  this->delivered(this->place(0), 64);
  EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  this->expect_flushed(0);
  this->expect_flushed(3);
  this->expect_flushed(4);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {});
}

// Of a QP without a ring: what it does with a SEND, and that receives are still counted.
TYPED_TEST(Refused, QpWithoutARing) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask);
  b.post_receives(1, this->kQp, 3);
  Wqe w = this->write_imm(100, 5, 1);
  b.post(0, this->kQp, w);
  b.post(0, this->kQp, this->send(64, 2));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_recv(0, WqeOp::kWriteImm, 100, 5);
  this->expect_cqe(0, 0, 2, CqeStatus::kRemoteInvalid);
  this->expect_state(1, QpState::kError);
  this->expect_log(1, {ErrCause::kMalformed});
  this->expect_no_cqe(1, 1);  // these receives have no entries to complete
}

// The first check that fails decides.
TYPED_TEST(Refused, ChecksHaveAnOrder) {
  auto& b = this->bench;
  // Nothing posted, and the number wrong.
  b.a().on_wire = [](Frame& f, unsigned) { return f.h.raddr += 1ull << 32, true; };
  b.post(0, this->kQp, this->send(64, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kRemoteInvalid);
  this->expect_log(1, {ErrCause::kMalformed});
  this->fresh();
  // The entry is not here yet, and the number wrong: nobody waits for it.
  b.a().on_wire = [](Frame& f, unsigned) { return f.h.raddr += 1ull << 32, true; };
  b.timing.dma_min = b.timing.dma_max = 3000;
  this->receive(3);
  b.run(30);
  b.timing.dma_min = b.timing.dma_max = 20;
  b.post(0, this->kQp, this->send(64, 2));
  const uint64_t from = b.a().now;
  this->expect_cqe(0, 0, 2, CqeStatus::kRemoteInvalid);
  EXPECT_LT(b.a().now - from, 2000u);
  this->expect_flushed(3);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {ErrCause::kMalformed});
  this->fresh();
  // Entry wrong, too short and without rights.
  Wqe r = this->buffer(4, 10, 0);
  r.imm = 1;
  r.lkey ^= 1;
  b.post_recv(1, this->kQp, r);
  b.post(0, this->kQp, this->send(64, 3));
  this->expect_failed(4, CqeStatus::kBadOpcode);
  this->expect_cqe(0, 0, 3, CqeStatus::kRemoteOperation);
  this->fresh();
  // Too short and without rights.
  r = this->buffer(5, 10, 0);
  r.lkey ^= 1;
  b.post_recv(1, this->kQp, r);
  b.post(0, this->kQp, this->send(64, 4));
  this->expect_failed(5, CqeStatus::kLocalLength);
  this->expect_cqe(0, 0, 4, CqeStatus::kRemoteInvalid);
  this->fresh();
}

TYPED_TEST(Refused, ProtectionDomain) {
  auto& b = this->bench;
  MrCtx x;
  x.valid = x.local_write = 1;
  x.key = 0x33;
  x.pd = TypeParam::B::kPd + 1;
  x.base = kBuf;
  x.length = kBufSize;
  ASSERT_EQ(b.load(1, ObjOp::kWriteMr, 9, x), ObjResult::kOk);
  Row row{"domain", kOperation, ErrCause::kLocal, CqeStatus::kLocalProtection};
  row.spoil_recv = [](Wqe& w) { w.lkey = 9 << 8 | 0x33; };
  run_row(*this, row);
}

// An error waits until what is on its way to memory is there: order of completions holds.
TYPED_TEST(Refused, ErrorsWaitForPlacements) {
  auto& b = this->bench;
  b.timing.mem_min = b.timing.mem_max = 700;
  for (auto status : {CqeStatus::kLocalLength, CqeStatus::kBadOpcode, CqeStatus::kFlushed}) {
    SCOPED_TRACE(to_string(status));
    for (unsigned i = 0; i < 6; ++i) {
      Wqe r = this->buffer(10 + i, i == 4 && status == CqeStatus::kLocalLength ? 99 : 4096,
                           this->place(10 + i));
      if (i == 4 && status == CqeStatus::kBadOpcode) r.imm = 1;
      b.write_recv(1, this->kQp, r);
      b.write_wqe(0, this->kQp, this->send(100, i));
    }
    if (status == CqeStatus::kFlushed) {
      b.a().on_wire = [](Frame& f, unsigned) {
        if (f.h.psn == 0xfffffe) f.h.raddr ^= 1ull << 40;
        return true;
      };
    }
    b.ring_recv(1, this->kQp);
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 4; ++i) {
      this->expect_recv(10 + i, kOpSend, 100);
      this->delivered(this->place(10 + i), 100);
    }
    if (status == CqeStatus::kFlushed) {
      this->expect_flushed(14);
    } else {
      this->expect_failed(14, status);
    }
    this->expect_flushed(15);
    for (unsigned i = 0; i < 4; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    EXPECT_NE(b.wait_cqe(0, 0).status, raw(CqeStatus::kFlushed));
    this->expect_cqe(0, 0, 5, CqeStatus::kFlushed);
    this->expect_no_cqe(1, 1);
    this->undefined(this->place(15), 0x4000);  // behind it: may have been executed
    this->fresh();
  }
}

// Memory refuses: the receives of this message and of those behind it are flushed, once each.
TYPED_TEST(Refused, FailedPlacement) {
  auto& b = this->bench;
  for (unsigned which : {0u, 1u, 2u}) {  // packet of the third message
    SCOPED_TRACE(which);
    b.b().mem.forbid(kBuf + this->place(12) + 4096 * which + 17, 1);
    for (unsigned i = 0; i < 8; ++i) {
      b.write_recv(1, this->kQp, this->buffer(10 + i, 0x4000, this->place(10 + i)));
      b.write_wqe(0, this->kQp, this->send(i == 2 ? 9000 : 300, i, 256 * i));
    }
    b.ring_recv(1, this->kQp);
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 2; ++i) {
      this->expect_cqe(0, 0, i, CqeStatus::kOk);
      this->expect_recv(10 + i, kOpSend, 300);
      this->delivered(this->place(10 + i), 300, 256 * i);
    }
    EXPECT_EQ(this->expect_cqe(0, 0, 2, CqeStatus::kRemoteOperation).psn, 0xfffffcu + which);
    for (unsigned i = 3; i < 8; ++i) this->expect_cqe(0, 0, i, CqeStatus::kFlushed);
    for (unsigned i = 2; i < 8; ++i) this->expect_failed(10 + i, CqeStatus::kFlushed);
    this->expect_no_cqe(1, 1);
    this->expect_state(0, QpState::kError);
    this->expect_state(1, QpState::kError);
    this->expect_only(1, ErrCause::kMemWrite);
    for (unsigned i = 2; i < 8; ++i) this->undefined(this->place(10 + i), 0x4000);
    this->fresh();
    if (testing::Test::HasFailure()) return;
  }
}

// What the responder counts as wrong with a WRITE fails the QP and flushes its receives, too.
TYPED_TEST(Refused, WritesFlushReceives) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    std::function<void(Wqe&)> spoil;
    std::function<void(Frame&)> frame;
    ErrCause cause;
  };
  const std::vector<Case> cases = {
      {"key", [](Wqe& w) { w.rkey ^= 1; }, {}, ErrCause::kAccess},
      {"immediate without key",
       [](Wqe& w) { w.opcode = raw(WqeOp::kWriteImm), w.rkey ^= 1; },
       {},
       ErrCause::kAccess},
      {"length", {}, [](Frame& f) { f.h.len = 4097; }, ErrCause::kMalformed},
      {"memory",
       [&](Wqe& w) { b.b().mem.forbid(kDst + 5, 1), w.opcode = raw(WqeOp::kWriteImm); },
       {},
       ErrCause::kMemWrite},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    b.a().on_wire = [&](Frame& f, unsigned) {
      if (f.h.psn == 0xfffffb && c.frame) c.frame(f);
      return true;
    };
    for (unsigned i = 0; i < 7; ++i) {
      b.write_recv(1, this->kQp, this->buffer(10 + i, 0x1000, this->place(10 + i)));
    }
    b.ring_recv(1, this->kQp);
    b.write_wqe(0, this->kQp, this->send(70, 0));
    Wqe w = this->write(64, 1);
    if (c.spoil) c.spoil(w);
    b.write_wqe(0, this->kQp, w);
    b.ring(0, this->kQp);
    this->expect_recv(10, kOpSend, 70);
    this->delivered(this->place(10), 70);
    for (unsigned i = 1; i < 7; ++i) this->expect_failed(10 + i, CqeStatus::kFlushed);
    this->expect_no_cqe(1, 1);
    this->expect_only(1, c.cause);
    this->fresh();
    if (testing::Test::HasFailure()) return;
  }
}

// ------------------------------------------------------------------------------ flush

// Whatever moves the QP to error, each posted receive completes exactly once, in order.
TYPED_TEST(Send, EveryErrorFlushesTheReceives) {
  auto& b = this->bench;
  b.wr(1, reg::kNicTimeout, 600);
  struct Case {
    const char* name;
    std::function<void()> fail;
  };
  auto own = [&](uint32_t length) {
    Wqe w = this->write(length, 90);
    w.lkey = this->lkey[1];
    w.rkey = this->rkey[0];
    return w;
  };
  const std::vector<Case> cases = {
      {"set_error", [&] { EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk); }},
      {"local error",
       [&] {
         Wqe w = own(64);
         w.lkey ^= 1;
         b.post(1, this->kQp, w);
         this->expect_cqe(1, 0, 90, CqeStatus::kLocalProtection);
       }},
      {"NAK",
       [&] {
         Wqe w = own(64);
         w.rkey ^= 1;
         b.post(1, this->kQp, w);
         this->expect_cqe(1, 0, 90, CqeStatus::kRemoteAccess);
       }},
      {"time-out",
       [&] {
         b.b().on_wire = [](Frame&, unsigned) { return false; };
         b.post(1, this->kQp, own(64));
         this->expect_cqe(1, 0, 90, CqeStatus::kTimeout);
       }},
      {"refused ring read",
       [&] {
         b.b().mem.forbid(TypeParam::B::ring_base(this->kQp), 64);
         b.post(1, this->kQp, own(64));
         this->expect_cqe(1, 0, 0, CqeStatus::kLocalMemory);
       }},
      {"tail of the send ring", [&] { b.doorbell(1, 0, this->kQp, 17); }},
      {"send CQ full",
       [&] {
         b.make_cq(1, 0, 0);
         b.auto_consume(1, 0, false);
         b.post(1, this->kQp, own(64));
         b.post(1, this->kQp, own(64));
       }},
      {"tail of the receive ring", [&] { b.doorbell(1, 1, this->kQp, 8); }},
      {"receives beyond the ring", [&] { b.doorbell(1, 1, this->kQp, 9 + 1 + 16); }},
  };
  for (bool early : {false, true}) {  // before the entries are here
    for (auto& c : cases) {
      SCOPED_TRACE(std::string(c.name) + (early ? " early" : ""));
      this->receive(1);
      b.post(0, this->kQp, this->send(5000, 1));
      this->expect_recv(1, kOpSend, 5000);
      this->expect_cqe(0, 0, 1, CqeStatus::kOk);
      this->delivered(this->place(1), 5000);
      const Timing usual = b.timing;
      if (early) b.timing.dma_min = b.timing.dma_max = 400;
      for (unsigned i = 0; i < 8; ++i) {
        b.write_recv(1, this->kQp, this->buffer(2 + i, 0x1000, this->place(2 + i)));
      }
      b.ring_recv(1, this->kQp);
      if (!early) b.settle();
      c.fail();
      for (unsigned i = 0; i < 8; ++i) this->expect_flushed(2 + i);
      b.timing = usual;
      this->receive(20);
      this->receive(21);
      this->expect_flushed(20);
      this->expect_flushed(21);
      this->expect_no_cqe(1, 1);
      this->expect_state(1, QpState::kError);
      this->fresh();
      if (testing::Test::HasFailure()) return;
    }
  }
}

// set_error while packets are on their way to memory: each receive completes once, in order, and
// not before the last byte for its buffer is there, whatever its status.
TYPED_TEST(Send, ErrorWhilePacketsAreInFlight) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    b.timing.mem_min = round % 2 ? 5 : 600;
    b.timing.mem_max = 700;
    for (unsigned i = 0; i < 12; ++i) {
      b.write_recv(1, this->kQp, this->buffer(100 + i, 0x4000, this->place(100 + i)));
    }
    b.ring_recv(1, this->kQp);
    b.settle();
    for (unsigned i = 0; i < 6; ++i) {
      b.write_wqe(0, this->kQp, this->send(i == 3 ? 12000 : 500, i, 256 * i));
    }
    b.ring(0, this->kQp);
    b.run(80 + b.rng() % 700);
    EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
    bool flushing = false;
    for (unsigned i = 0; i < 12; ++i) {
      const Cqe e = b.wait_cqe(1, 1);
      EXPECT_EQ(e.wr_id, 100 + i);
      if (e.status == raw(CqeStatus::kOk)) {
        EXPECT_FALSE(flushing) << i;
        EXPECT_EQ(e.byte_len, i == 3 ? 12000u : 500u);
        this->delivered(this->place(100 + i), i == 3 ? 12000 : 500, 256 * i);
      } else {
        flushing = true;
        EXPECT_EQ(e.status, raw(CqeStatus::kFlushed)) << i;
        // From now on the buffer belongs to its owner again.
        this->undefined(this->place(100 + i), 0x4000);
      }
    }
    this->expect_no_cqe(1, 1);
    b.timing.mem_min = 5, b.timing.mem_max = 60;
    const auto is = b.b().mem.read(kBuf, kBufSize), must = this->want[1].read(kBuf, kBufSize);
    ASSERT_TRUE(is == must) << "written behind a completion";
    this->fresh();
    if (testing::Test::HasFailure()) return;
  }
}

// An incomplete message leaves its receive.
TYPED_TEST(Send, IncompleteMessageIsFlushed) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 1500);
  this->rings(4, [](QpCtx& x) { x.retry = 1; });
  b.a().on_wire = [](Frame& f, unsigned) { return f.h.psn != 0xfffffc; };
  for (unsigned i = 0; i < 3; ++i) this->receive(i + 1);
  b.post(0, this->kQp, this->send(9000, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kTimeout);
  this->expect_no_cqe(1, 1);
  this->expect_state(1, QpState::kReady);
  EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  for (unsigned i = 0; i < 3; ++i) this->expect_flushed(i + 1);
  this->expect_no_cqe(1, 1);
  this->delivered(this->place(1), 8192);
}

// A header waits for its entry while the QP fails.
TYPED_TEST(Send, ErrorWhileAHeaderWaits) {
  auto& b = this->bench;
  b.timing.dma_min = b.timing.dma_max = 2000;
  this->receive(1);
  this->receive(2);
  b.run(50);
  b.timing.dma_min = b.timing.dma_max = 20;
  b.post(0, this->kQp, this->send(64, 1));
  b.run(300);
  EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  b.timing.dma_min = b.timing.dma_max = 20;
  this->expect_flushed(1);
  this->expect_flushed(2);
  this->expect_no_cqe(1, 1);
  const auto l = b.log(1);
  EXPECT_GE(l.size(), 1u);
  EXPECT_EQ(b.count(l, ErrCause::kBadQp), l.size());
}

// Flushing reads the ring and so needs ctrl.enable; without it nothing of a receive ring is read.
TYPED_TEST(Send, DisabledMeansNoReads) {
  auto& b = this->bench;
  b.wr(1, reg::kNicCtrl, 0);
  this->receive(1);
  b.settle();
  EXPECT_EQ(b.b().counts.dma_reads, 0u);
  EXPECT_TRUE(b.b().dut().idle_o);
  b.enable(1);
  b.post(0, this->kQp, this->send(64, 1));
  this->expect_recv(1, kOpSend, 64);
  this->delivered(this->place(1), 64);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  for (unsigned i = 0; i < 7; ++i) this->receive(2 + i);
  b.settle();
  b.wr(1, reg::kNicCtrl, 0);
  EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  b.settle();
  Cqe e;
  uint64_t next = 2;
  while (b.poll(1, 1, e)) {  // what was read before may complete
    EXPECT_EQ(e.wr_id, next++);
    EXPECT_EQ(e.status, raw(CqeStatus::kFlushed));
  }
  b.enable(1);
  for (; next < 9; ++next) this->expect_flushed(next);
  this->expect_no_cqe(1, 1);
}

TYPED_TEST(Send, ATailThatMovesBackwardsIsAnError) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 6; ++i) this->receive(i);
  b.settle();
  b.ring_recv(1, this->kQp);  // the same tail again is none
  b.settle();
  this->expect_log(1, {});
  this->expect_state(1, QpState::kReady);
  b.doorbell(1, 1, this->kQp, 5);
  for (unsigned i = 0; i < 6; ++i) this->expect_flushed(i);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {ErrCause::kLocal});
  this->expect_state(1, QpState::kError);
  this->fresh(2);
  for (unsigned i = 0; i < 4; ++i) this->receive(i);
  b.settle();
  this->expect_log(1, {});
  b.doorbell(1, 1, this->kQp, 5);  // a ring of four
  for (unsigned i = 0; i < 4; ++i) this->expect_flushed(i);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {ErrCause::kLocal});
  // A used entry makes room: the fifth is all right then.
  this->fresh(2);
  for (unsigned i = 0; i < 4; ++i) this->receive(i);
  b.post(0, this->kQp, this->send(64, 1));
  this->expect_recv(0, kOpSend, 64);
  this->delivered(this->place(0), 64);
  this->receive(4);
  b.settle();
  this->expect_log(1, {});
  this->expect_state(1, QpState::kReady);
  b.doorbell(1, 1, this->kQp, 6);
  for (unsigned i = 1; i < 5; ++i) this->expect_flushed(i);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {ErrCause::kLocal});
}

TYPED_TEST(Send, FullReceiveQueueIsReportedToTheSender) {
  auto& b = this->bench;
  b.make_cq(1, 1, 1);
  b.auto_consume(1, 1, false);
  for (unsigned i = 0; i < 7; ++i) this->receive(10 + i);
  for (unsigned i = 0; i < 5; ++i) b.write_wqe(0, this->kQp, this->send(8, i, 8 * i));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 0, CqeStatus::kOk);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kRemoteOperation);
  this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
  this->expect_cqe(0, 0, 4, CqeStatus::kFlushed);
  b.settle();
  this->expect_state(1, QpState::kError);
  this->expect_recv(10, kOpSend, 8);
  this->expect_recv(11, kOpSend, 8);
  this->expect_no_cqe(1, 1);
  // Each of the other five was lost and counted.
  EXPECT_EQ(b.count(b.log(1), ErrCause::kCqOverflow), 5u);
  for (unsigned i = 0; i < 5; ++i) {
    if (i < 2)
      this->delivered(this->place(10 + i), 8, 8 * i);
    else
      this->undefined(this->place(10 + i), 0x4000);
  }
  // Room again: later receives are flushed into it.
  b.doorbell(1, 2, 1, 2);
  this->receive(30);
  this->expect_flushed(30);
}

// ------------------------------------------------------------------------------ sender

TYPED_TEST(Send, LocalErrors) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    CqeStatus status;
    std::function<void(Wqe&)> spoil;
  };
  const std::vector<Case> cases = {
      {"recv", CqeStatus::kBadOpcode, [](Wqe& w) { w.opcode = raw(WqeOp::kRecv); }},
      {"recv as it should be", CqeStatus::kBadOpcode,
       [this](Wqe& w) { w = this->buffer(21, 64, 0, 0); }},
      {"vc rsp", CqeStatus::kBadOpcode, [](Wqe& w) { w.vc = raw(Vc::kRsp); }},
      {"length", CqeStatus::kLocalLength, [](Wqe& w) { w.length = 0x80000001; }},
      {"key", CqeStatus::kLocalProtection, [](Wqe& w) { w.lkey ^= 1; }},
      {"right", CqeStatus::kLocalProtection,
       [this](Wqe& w) { w.lkey = this->lkey_buf[0], w.laddr = kBuf; }},
      {"above", CqeStatus::kLocalProtection, [](Wqe& w) { w.laddr = kSrc + kSize - w.length + 1; }},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    for (unsigned i = 0; i < 3; ++i) this->receive(i);
    b.write_wqe(0, this->kQp, this->send(5000, 20));
    Wqe w = this->send(64, 21);
    w.signalled = 0;
    c.spoil(w);
    b.write_wqe(0, this->kQp, w);
    b.write_wqe(0, this->kQp, this->send(64, 22));
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 20, CqeStatus::kOk);
    this->expect_cqe(0, 0, 21, c.status);
    this->expect_cqe(0, 0, 22, CqeStatus::kFlushed);
    this->expect_recv(0, kOpSend, 5000);
    this->delivered(this->place(0), 5000);
    this->expect_no_cqe(0, 0);
    this->expect_no_cqe(1, 1);
    this->expect_log(0, {ErrCause::kLocal});
    this->expect_log(1, {});
    this->fresh();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Send, UnreadablePayloadIsLocalMemory) {
  auto& b = this->bench;
  b.a().mem.forbid(kSrc + 0x20000, 1);
  for (unsigned i = 0; i < 4; ++i) {
    this->receive(i);
    b.write_wqe(0, this->kQp, this->send(5000, i, i == 2 ? 0x1f800 : 0x8000));
  }
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 0, CqeStatus::kOk);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kLocalMemory);
  this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
  this->expect_recv(0, kOpSend, 5000);
  this->expect_recv(1, kOpSend, 5000);
  this->expect_no_cqe(1, 1);
  this->delivered(this->place(0), 5000, 0x8000);
  this->delivered(this->place(1), 5000, 0x8000);
  this->undefined(this->place(2), 0x4000);
  this->undefined(this->place(3), 0x4000);
}

// The window, the fence and other operations: order is that of the send ring.
TYPED_TEST(Send, MixedWithEverything) {
  auto& b = this->bench;
  const uint32_t inbox = b.make_mr(0, 8, 0x600000, kSize, false, false, false, true);
  const uint32_t both = b.make_mr(1, 8, kDst, kSize, false, true, true, true, true);
  for (unsigned window : {1u, 5u, 64u}) {
    SCOPED_TRACE(window);
    this->fresh();
    this->rings(4, [&](QpCtx& x) { x.window = static_cast<uint16_t>(window); });
    // A REDUCE onto what a SEND has just brought, a READ of the sum, a SEND over it.
    Wqe r = this->buffer(70, 9000, 0);
    r.lkey = both;
    r.laddr = kDst;
    b.write_recv(1, this->kQp, r);
    r.wr_id = 71;
    b.write_recv(1, this->kQp, this->buffer(71, 9000, this->place(1)));
    r.wr_id = 72;
    b.write_recv(1, this->kQp, r);
    b.ring_recv(1, this->kQp);
    b.write_wqe(0, this->kQp, this->send(9000, 0));
    Wqe w = this->write(9000, 1, 0);
    w.opcode = raw(WqeOp::kReduce);
    w.rkey = both;
    w.raddr = kDst;
    w.fence = 1;
    b.write_wqe(0, this->kQp, w);
    w.wr_id = 2;
    w.opcode = raw(WqeOp::kReduceImm);
    w.imm = 0x99;
    b.write_wqe(0, this->kQp, w);
    w = Wqe{};
    w.opcode = raw(WqeOp::kRead);
    w.signalled = 1;
    w.vc = raw(Vc::kReq);
    w.length = 9000;
    w.laddr = 0x600000;
    w.raddr = kDst;
    w.lkey = inbox;
    w.rkey = both;
    w.wr_id = 3;
    b.write_wqe(0, this->kQp, w);
    w = this->send_imm(9000, 0x77, 4, 0x4000);
    w.fence = 1;
    b.write_wqe(0, this->kQp, w);
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 5; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    this->expect_recv(70, kOpSend, 9000);
    this->expect_recv(71, WqeOp::kReduceImm, 9000 - 8192, 0x99);
    this->expect_recv(72, kOpSendImm, 9000, 0x77);
    const auto src = b.a().mem.read(kSrc, 9000);
    EXPECT_TRUE(b.a().mem.read(0x600000, 9000) == add_f32(add_f32(src, src), src));
    EXPECT_TRUE(b.b().mem.read(kDst, 9000) == b.a().mem.read(kSrc + 0x4000, 9000));
    this->expect_log(0, {});
    this->expect_log(1, {});
    if (testing::Test::HasFailure()) return;
  }
}

// A REDUCE and a SEND to the same place, also of different QPs, keep their order on a plane.
TYPED_TEST(Send, HazardsKnowTheBuffer) {
  if (this->kSprays) GTEST_SKIP() << "has no order over several planes";
  auto& b = this->bench;
  const uint32_t both = b.make_mr(1, 8, kDst, kSize, false, true, true, true, true);
  b.timing.mem_max = 300;
  for (unsigned round = 0; round < 12; ++round) {
    const uint32_t off = 4 * static_cast<uint32_t>(b.rng() % 20);
    Memory golden;
    const auto before = b.b().mem.read(kDst, 0x8000);
    golden.write(kDst, before.data(), before.size());
    for (unsigned i = 0; i < 6; ++i) {
      Wqe w = this->write(1000, i, 1024 * i);
      w.rkey = both;
      w.raddr = kDst + (i % 3) * off;
      auto data = b.a().mem.read(w.laddr, w.length);
      if (i % 2 == 0) {
        w.opcode = raw(WqeOp::kReduce);
        data = add_f32(golden.read(w.raddr, w.length), data);
      } else {
        Wqe r = this->buffer(i, 1000, 0);
        r.laddr = w.raddr;
        r.lkey = both;
        b.post_recv(1, this->kQp, r);
        w.opcode = raw(WqeOp::kSend);
      }
      golden.write(kDst + (i % 3) * off, data.data(), data.size());
      b.write_wqe(0, this->kQp, w);
    }
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 6; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    for (unsigned i = 1; i < 6; i += 2) this->expect_recv(i, kOpSend, 1000);
    ASSERT_TRUE(b.b().mem.read(kDst, 0x8000) == golden.read(kDst, 0x8000)) << "round " << round;
  }
}

// Both sides send at once, over the same pair.
TYPED_TEST(Send, BothDirections) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 12; ++i) {
    for (unsigned c = 0; c < 2; ++c) {
      b.post_recv(c, this->kQp, this->buffer(i, 0x4000, this->place(i), c));
      Wqe w = this->send(3000 + 777 * i, i, 512 * i);
      w.lkey = this->lkey[c];
      b.post(c, this->kQp, w);
    }
  }
  for (unsigned i = 0; i < 12; ++i) {
    for (unsigned c = 0; c < 2; ++c) {
      this->expect_recv(i, kOpSend, 3000 + 777 * i, 0, CqeStatus::kOk, c);
      this->expect_cqe(c, 0, i, CqeStatus::kOk);
      this->delivered(this->place(i), 3000 + 777 * i, 512 * i, c);
    }
  }
  this->expect_log(0, {});
  this->expect_log(1, {});
}

TYPED_TEST(Send, DuplicatesAreAcknowledgedButNotApplied) {
  auto& b = this->bench;
  std::vector<Frame> sent;
  this->record(0, sent);
  for (unsigned i = 0; i < 3; ++i) this->receive(i);
  b.post(0, this->kQp, this->send(8192, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_recv(0, kOpSend, 8192);
  this->delivered(this->place(0), 8192);
  b.settle();
  for (auto& f : sent) b.b().receive(f, this->kPlane);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {});
  EXPECT_EQ(b.rd(1, reg::kNicCntDuplicates), 2u);
  b.post(0, this->kQp, this->send(64, 2, 128));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  this->expect_recv(1, kOpSend, 64);
  this->delivered(this->place(1), 64, 128);
}

// The receiver's completion is on its way before the sender can know.
TYPED_TEST(Send, ReceiveCompletionGoesBeforeTheAcknowledgement) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 12; ++i) this->receive(i);
  b.settle();
  b.timing.dma_ready = 3;
  uint64_t acked = 0;
  b.b().on_wire = [&](Frame& f, unsigned) {
    acked = std::max<uint64_t>(acked, (f.h.psn + 1 - 0xfffffau) & 0xffffff);
    EXPECT_LE(acked, b.b().counts.dma_writes);
    return true;
  };
  for (unsigned i = 0; i < 12; ++i) b.write_wqe(0, this->kQp, this->send(8, i));
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 12; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  for (unsigned i = 0; i < 12; ++i) {
    this->expect_recv(i, kOpSend, 8);
    this->delivered(this->place(i), 8);
  }
  EXPECT_EQ(acked, 12u);
}

// ------------------------------------------------------------------------------ lives of a QP

TYPED_TEST(Send, ContextsAreChecked) {
  auto& b = this->bench;
  const QpCtx q = b.qp_ctx(0, 5, 5, 1, 0, 0);
  struct Case {
    const char* name;
    std::function<void(QpCtx&)> spoil;
    ObjResult result;
  };
  const auto bad = ObjResult::kBadValue;
  const std::vector<Case> cases = {
      {"largest ring", [](QpCtx& x) { TypeParam::B::add_ring(x, 5, kNicMaxRingLog2); },
       ObjResult::kOk},
      {"ring too large", [](QpCtx& x) { TypeParam::B::add_ring(x, 5, kNicMaxRingLog2 + 1); }, bad},
      {"alignment", [](QpCtx& x) { TypeParam::B::add_ring(x, 5, 4), x.rq_base += 32; }, bad},
      {"no ring", [](QpCtx&) {}, ObjResult::kOk},
      {"size without ring", [](QpCtx& x) { x.rq_log2 = 1; }, bad},
      {"base without ring", [](QpCtx& x) { x.rq_base = 64; }, bad},
  };
  for (auto& c : cases) {
    QpCtx x = q;
    c.spoil(x);
    EXPECT_EQ(b.load(0, ObjOp::kWriteQp, 5, x), c.result) << c.name;
  }
}

// write_qp at any moment: nothing of the old life reaches the new one, whichever kind of receive
// each of them has.
TYPED_TEST(Send, RewritingAQpInMidOperation) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const uint32_t psn = static_cast<uint32_t>(b.rng() & 0xffffff);
    auto reconnect = [&](uint32_t first, bool ring, unsigned planes) {
      b.connect(this->kQp, planes, 0, 1, [&](QpCtx& x) {
        const bool is_a = x.remote_node == b.b().node();
        if (ring) TypeParam::B::add_ring(x, this->kQp, 4);
        (is_a ? x.sq_psn : x.rq_psn) = first;
      });
    };
    const unsigned planes = 1 + static_cast<unsigned>(b.rng() % TypeParam::B::kAllPlanes);
    reconnect(psn, true, planes);
    const unsigned mode = round % 4;
    for (unsigned i = 0; i < 14; ++i) this->receive(i);
    if (mode == 1) b.timing.dma_max = 700;
    if (mode == 2) b.timing.mem_max = 700;
    for (unsigned i = 0; i < 10; ++i) {
      Wqe w = this->send(static_cast<uint32_t>(b.rng() % 9000), i);
      if (i % 4 == 1) w = this->write_imm(64, i, i);
      w.vc = raw(b.rng() % 2 ? Vc::kReq : Vc::kBulk);
      if (mode == 3 && i == 5) w.length = 0x5000;  // longer than its buffer
      b.write_wqe(0, this->kQp, w);
    }
    b.ring(0, this->kQp);
    b.run(b.rng() % 900);
    // Frames of the old life may still arrive: other numbers tell them apart.
    reconnect(psn ^ 0x400000, round & 1, planes);
    b.run(b.rng() % 300);
    reconnect(psn ^ 0xc00000, round & 2, planes);
    b.settle();
    b.timing.dma_max = b.timing.mem_max = 60;
    Cqe e;
    for (unsigned c = 0; c < 2; ++c) {
      for (unsigned cq = 0; cq < 2; ++cq) {
        while (b.poll(c, cq, e)) {
        }
      }
      b.log(c);
      EXPECT_EQ(b.status(c, this->kQp).state, raw(QpState::kReady)) << "card " << c;
    }
    this->undefined(0, kBufSize);  // what the old lives have written
    reconnect(psn ^ 0x800000, true, planes);
    for (unsigned i = 0; i < 6; ++i) this->receive(30 + i);
    for (unsigned i = 0; i < 6; ++i) {
      b.post(0, this->kQp, i % 3 == 2 ? this->write_imm(10, i, i) : this->send(5000, i, 64 * i));
    }
    for (unsigned i = 0; i < 6; ++i) {
      this->expect_cqe(0, 0, i, CqeStatus::kOk);
      if (i % 3 == 2) {
        this->expect_recv(30 + i, WqeOp::kWriteImm, 10, i);
      } else {
        this->expect_recv(30 + i, kOpSend, 5000);
        this->delivered(this->place(30 + i), 5000, 64 * i);
      }
    }
    this->expect_no_cqe(0, 0);
    this->expect_no_cqe(1, 1);
    this->expect_log(0, {});
    this->expect_log(1, {});
    if (testing::Test::HasFailure()) return;
  }
}

// A ring entry that was requested before write_qp and comes after it: forgotten, whether receives
// are posted in the new life by then or not, and also if the read is refused.
TYPED_TEST(Send, EntriesReadForAnEarlierLifeAreDropped) {
  auto& b = this->bench;
  const uint64_t new_ring = TypeParam::B::recv_base(40);
  const Timing usual = b.timing;
  for (unsigned round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    const bool busy = round & 1, refused = round & 2;
    const uint64_t reads = b.b().counts.dma_reads;
    b.timing.dma_min = b.timing.dma_max = 5000;
    for (unsigned i = 0; i < 4; ++i) this->receive(60 + i);
    b.run_until([&] { return b.b().counts.dma_reads == reads + 4; });
    if (refused) b.b().mem.forbid(TypeParam::B::recv_base(this->kQp), 1024);
    this->rings(4, [&](QpCtx& x) { x.rq_base = new_ring; });
    uint8_t bytes[64];
    this->buffer(40, 0x2000, this->place(40)).pack(bytes);
    b.b().mem.write(new_ring, bytes, 64);
    if (!busy) b.settle();
    b.doorbell(1, 1, this->kQp, 1);
    b.run(20);
    b.timing = usual;
    b.post(0, this->kQp, this->send(5000, 70));
    this->expect_cqe(0, 0, 70, CqeStatus::kOk);
    this->expect_recv(40, kOpSend, 5000);
    this->delivered(this->place(40), 5000);
    this->expect_no_cqe(1, 1);
    this->expect_log(1, {});
    this->expect_state(1, QpState::kReady);
    this->fresh();
    if (testing::Test::HasFailure()) return;
  }
}

// Written to reset, a QP forgets its receives: nobody completes them.
TYPED_TEST(Send, ResetOfAQpForgetsItsReceives) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 9; ++i) this->receive(i);
  b.run(b.rng() % 60);
  EXPECT_EQ(b.load(1, ObjOp::kWriteQp, this->kQp, QpCtx{}), ObjResult::kOk);
  this->expect_no_cqe(1, 1);
  b.doorbell(1, 1, this->kQp, 10);
  this->expect_no_cqe(1, 1);
  this->expect_log(1, {ErrCause::kBadQp});
  // Written to error: what is posted then is flushed.
  QpCtx x = b.qp_ctx(1, this->kQp, this->kQp, this->kMask, 0, 1);
  TypeParam::B::add_ring(x, this->kQp, 4);
  x.state = raw(QpState::kError);
  b.make_qp(1, this->kQp, x);
  for (unsigned i = 0; i < 6; ++i) this->receive(i);
  for (unsigned i = 0; i < 6; ++i) this->expect_flushed(i);
  this->expect_no_cqe(1, 1);
}

TYPED_TEST(Send, ResetInMidOperation) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 6; ++round) {
    for (unsigned i = 0; i < 8; ++i) {
      this->receive(i);
      b.post(0, this->kQp, this->send(9000, i));
    }
    if (round % 3 == 2) b.command(1, ObjOp::kSetError, this->kQp);
    b.run(50 + b.rng() % 700);
    b.reset(1 + static_cast<unsigned>(b.rng() % 3));
    b.settle();
    for (unsigned c = 0; c < 2; ++c) {
      EXPECT_EQ(b.status(c, this->kQp).state, raw(QpState::kReset));
      EXPECT_EQ(b.rd(c, reg::kNicErrCount), 0u);
      b.enable(c);
      b.make_cq(c, 0, 6);
      b.make_cq(c, 1, 6);
      this->lkey[c] = b.make_mr(c, 1, kSrc, kSize, true, false, false);
      this->rkey[c] = b.make_mr(c, 2, kDst, kSize, false, true, true);
      this->lkey_buf[c] = b.make_mr(c, 6, kBuf, kBufSize, false, false, false, true);
    }
    this->undefined(0, kBufSize);
    this->rings();
    this->receive(40);
    b.post(0, this->kQp, this->send(20000 - 4000, 7));
    this->expect_cqe(0, 0, 7, CqeStatus::kOk);
    this->expect_recv(40, kOpSend, 16000);
    this->delivered(this->place(40), 16000);
    this->expect_no_cqe(1, 1);
    this->expect_log(1, {});
  }
}

// A QP that waits for an entry sleeps until the entry comes; so does one in error with nothing to
// do.
TYPED_TEST(Send, WaitingIsIdle) {
  auto& b = this->bench;
  b.timing.dma_min = b.timing.dma_max = 4000;
  this->receive(1);
  b.run(200);
  EXPECT_TRUE(b.b().dut().idle_o);
  b.timing.dma_min = b.timing.dma_max = 20;
  b.settle();
  EXPECT_EQ(b.command(1, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  this->expect_flushed(1);
  b.settle();
  EXPECT_TRUE(b.b().dut().idle_o);
}

using WideSend = Send<Setup<Vnic_coreChk, 8, 0x80>>;

// Header waiting for an entry on plane 7, traffic of all kinds on the others.
TEST_F(WideSend, AWaitingHeaderBlocksItsOwnPlaneOnly) {
  auto& b = bench;
  for (unsigned q = 10; q < 17; ++q) {
    b.connect(q, 1u << (q - 10), 0, 1, [&](QpCtx& x) { B::add_ring(x, q, 4); });
    b.post_recv(1, q, buffer(q, 0x4000, place(q)));
  }
  b.settle();
  b.timing.dma_min = b.timing.dma_max = 6000;
  receive(1);
  b.run(50);
  b.timing.dma_min = b.timing.dma_max = 20;
  b.post(0, kQp, send(64, 1));
  b.run(300);
  const uint64_t from = b.b().now;
  for (unsigned q = 10; q < 17; ++q) {
    b.post(0, q, send(9000, q, 64 * q));
    b.post(0, q, this->write(9000, q));
  }
  std::set<uint64_t> got;
  for (unsigned i = 0; i < 7; ++i) got.insert(b.wait_cqe(1, 1).wr_id);
  for (unsigned i = 0; i < 14; ++i) EXPECT_EQ(b.wait_cqe(0, 0).status, raw(CqeStatus::kOk));
  EXPECT_LT(b.b().now - from, 4000u);
  EXPECT_EQ(got, (std::set<uint64_t>{10, 11, 12, 13, 14, 15, 16}));
  for (unsigned q = 10; q < 17; ++q) delivered(place(q), 9000, 64 * q);
  expect_recv(1, WqeOp::kSend, 64);
  delivered(place(1), 64);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
}

// One receive ring per QP, many QPs: entries do not mix.
TEST_F(WideSend, ManyQps) {
  auto& b = bench;
  for (unsigned c = 0; c < 2; ++c) {
    b.make_cq(c, 0, 9);
    b.make_cq(c, 1, 9);
  }
  constexpr unsigned kFirst = 100, kQps = 48;
  for (unsigned q = kFirst; q < kFirst + kQps; ++q) {
    b.connect(q, q % 3 == 0 ? 0xff : 1u << q % 8, 0, 1, [&](QpCtx& x) { B::add_ring(x, q, 3); });
    for (unsigned i = 0; i < 8; ++i) {
      b.write_recv(1, q, buffer(q << 8 | i, 256, (q - kFirst) * 0x1000 + 0x100 * i));
      b.write_wqe(0, q, send(200, i, 16 * (q - kFirst) + i));
      delivered((q - kFirst) * 0x1000 + 0x100 * i, 200, 16 * (q - kFirst) + i);
    }
  }
  for (unsigned q = kFirst; q < kFirst + kQps; ++q) b.ring_recv(1, q), b.ring(0, q);
  std::map<uint32_t, unsigned> next;
  for (unsigned i = 0; i < 8 * kQps; ++i) {
    const Cqe e = b.wait_cqe(1, 1);
    ASSERT_EQ(e.status, 0u) << e.qpn;
    ASSERT_EQ(e.wr_id, e.qpn << 8 | next[e.qpn]++);
  }
  b.settle();
  this->expect_log(0, {});
  this->expect_log(1, {});
}

}  // namespace
}  // namespace nic_core_test
