// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// rtl/nic/nic_ops.md and nic_congestion.md sentence by sentence: reductions of all types, inline
// data, atomics, counters, triggered entries, pushed entries, congestion window, pacing.
#include "core_fixture.hpp"
#include "ubl/numerics/reduce.hpp"

namespace nic_core_test {
namespace {

constexpr uint64_t kWord = 0x200000;    // target of atomics
constexpr uint64_t kAnswer = 0x210000;  // where old values come

template <class S>
class Ops : public Core<S> {
 protected:
  Ops() {
    auto& b = this->bench;
    for (unsigned c = 0; c < 2; ++c) {
      word_key[c] = b.make_mr(c, 5, kWord, 0x1000, false, true, true, false, false, true);
      answer_key[c] = b.make_mr(c, 6, kAnswer, 0x1000, true, false, false, true);
    }
  }
  uint64_t word(unsigned c, uint64_t at) {
    uint64_t v;
    this->bench.card[c]->mem.read(at, reinterpret_cast<uint8_t*>(&v), 8);
    return v;
  }
  void set_word(unsigned c, uint64_t at, uint64_t v) {
    this->bench.card[c]->mem.write(at, reinterpret_cast<const uint8_t*>(&v), 8);
  }
  Wqe atomic(WqeOp op, uint64_t number, uint64_t compare, uint64_t wr_id, uint64_t raddr = kWord,
             uint64_t laddr = kAnswer) {
    Wqe w;
    w.opcode = raw(op);
    w.signalled = 1;
    w.vc = raw(Vc::kReq);
    w.length = 8;
    w.laddr = laddr;
    w.raddr = raddr;
    w.lkey = answer_key[0];
    w.rkey = word_key[1];
    w.operand0 = number;
    w.operand1 = compare;
    w.wr_id = wr_id;
    return w;
  }
  Wqe wait(uint32_t ctr, uint32_t threshold, uint64_t wr_id) {
    Wqe w;
    w.opcode = raw(WqeOp::kWait);
    w.imm = ctr;
    w.length = threshold;
    w.wr_id = wr_id;
    w.signalled = 1;
    return w;
  }
  // A WRITE of its own bytes.
  Wqe small(const std::vector<uint8_t>& bytes, uint64_t wr_id, uint64_t off = 0) {
    Wqe w = this->write(static_cast<uint32_t>(bytes.size()), wr_id, off);
    uint8_t data[16] = {};
    std::copy(bytes.begin(), bytes.end(), data);
    std::memcpy(&w.operand0, data, 8);
    std::memcpy(&w.operand1, data + 8, 8);
    w.inl = 1;
    w.laddr = 0xdeadbeef00;  // ignored
    w.lkey = 0xffffffff;
    return w;
  }
  uint32_t word_key[2] = {}, answer_key[2] = {};
};
TYPED_TEST_SUITE(Ops, Sizes);

// --------------------------------------------------------------------------------- REDUCE

TYPED_TEST(Ops, ReduceOfEveryTypeAndOperation) {
  auto& b = this->bench;
  uint64_t id = 0;
  for (unsigned type = 0; type < 4; ++type) {
    for (unsigned op = 0; op < 3; ++op) {
      const unsigned element = type == 0 || type == 3 ? 4 : 2;
      const uint32_t length = 4096 + 8 * element;
      auto want = b.b().mem.read(kDst + 3, length);
      const auto src = b.a().mem.read(kSrc, length);
      ubl::numerics::reduce_buffer(static_cast<ubl::numerics::ElementType>(type),
                                   static_cast<ubl::numerics::ReduceOp>(op), want.data(),
                                   src.data(), length);
      Wqe w = this->write(length, ++id);
      w.opcode = raw(WqeOp::kReduce);
      w.raddr = kDst + 3;  // any alignment
      w.red_op = static_cast<uint8_t>(op);
      w.red_dtype = static_cast<uint8_t>(type);
      b.post(0, this->kQp, w);
      this->expect_cqe(0, 0, id, CqeStatus::kOk);
      EXPECT_TRUE(b.b().mem.read(kDst + 3, length) == want) << type << " " << op;
    }
  }
}

TYPED_TEST(Ops, ReduceLengthIsWholeElements) {
  auto& b = this->bench;
  for (const auto& [type, length, good] :
       std::vector<std::tuple<unsigned, uint32_t, bool>>{{0, 6, false},
                                                         {3, 2, false},
                                                         {1, 6, true},
                                                         {2, 2, true},
                                                         {1, 5, false},
                                                         {2, 7, false}}) {
    Wqe w = this->write(length, 1);
    w.opcode = raw(WqeOp::kReduce);
    w.red_dtype = static_cast<uint8_t>(type);
    b.post(0, this->kQp, w);
    this->expect_cqe(0, 0, 1, good ? CqeStatus::kOk : CqeStatus::kLocalLength);
    this->again();
  }
}

// --------------------------------------------------------------------------------- inline

TYPED_TEST(Ops, InlineDataOfEveryLength) {
  auto& b = this->bench;
  std::vector<Frame> sent;
  this->record(0, sent);
  for (unsigned n = 0; n <= kNicMaxInline; ++n) {
    std::vector<uint8_t> bytes(n);
    for (auto& x : bytes) x = static_cast<uint8_t>(b.rng());
    b.post(0, this->kQp, this->small(bytes, n, 64 * n));
    const Cqe e = this->expect_cqe(0, 0, n, CqeStatus::kOk);
    EXPECT_EQ(e.byte_len, n);
    EXPECT_EQ(b.b().mem.read(kDst + 64 * n, n), bytes);
  }
  // On the wire nothing differs.
  for (const Frame& f : sent) EXPECT_EQ(f.h.opcode, raw(PktOp::kWrite));
  // One byte more, or an operation that has no payload of its own.
  Wqe w = this->small(std::vector<uint8_t>(16), 20);
  w.length = 17;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 20, CqeStatus::kLocalLength);
  this->again();
  for (auto op : {WqeOp::kRead, WqeOp::kNop, WqeOp::kFetchAdd, WqeOp::kCompareSwap, WqeOp::kWait}) {
    w = this->small(std::vector<uint8_t>(8), 21);
    w.opcode = raw(op);
    w.vc = raw(Vc::kReq);
    b.post(0, this->kQp, w);
    this->expect_cqe(0, 0, 21, CqeStatus::kBadOpcode);
    this->again();
  }
}

TYPED_TEST(Ops, InlineReduceAndImmediates) {
  auto& b = this->bench;
  b.post_receives(1, this->kQp, 2);
  const std::vector<uint8_t> bytes = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};  // 1, 2
  auto want = b.b().mem.read(kDst, 8);
  ubl::numerics::reduce_buffer(ubl::numerics::ElementType::kFp32, ubl::numerics::ReduceOp::kAdd,
                               want.data(), bytes.data(), 8);
  Wqe w = this->small(bytes, 1);
  w.opcode = raw(WqeOp::kReduceImm);
  w.imm = 0x1234;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  Cqe e = b.wait_cqe(1, 1);
  EXPECT_EQ(e.imm, 0x1234u);
  EXPECT_EQ(e.byte_len, 8u);
  EXPECT_EQ(b.b().mem.read(kDst, 8), want);
  w = this->small(bytes, 2, 64);
  w.opcode = raw(WqeOp::kWriteImm);
  w.imm = 7;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  EXPECT_EQ(b.wait_cqe(1, 1).imm, 7u);
  EXPECT_EQ(b.b().mem.read(kDst + 64, 8), bytes);
}

TYPED_TEST(Ops, InlineSend) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [&](QpCtx& x) { b.add_ring(x, this->kQp, 3); });
  const uint32_t key = b.make_mr(1, 7, 0x300000, 0x1000, false, false, false, true);
  Wqe r;
  r.opcode = raw(WqeOp::kRecv);
  r.length = 100;
  r.laddr = 0x300011;
  r.lkey = key;
  r.wr_id = 77;
  b.post_recv(1, this->kQp, r);
  b.settle();
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Wqe w = this->small(bytes, 5);
  w.opcode = raw(WqeOp::kSendImm);
  w.imm = 99;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 5, CqeStatus::kOk);
  const Cqe e = b.wait_cqe(1, 1);
  EXPECT_EQ(e.wr_id, 77u);
  EXPECT_EQ(e.imm, 99u);
  EXPECT_EQ(e.byte_len, 11u);
  EXPECT_EQ(b.b().mem.read(0x300011, 11), bytes);
}

// -------------------------------------------------------------------------------- atomics

TYPED_TEST(Ops, FetchAddAndCompareSwap) {
  auto& b = this->bench;
  this->set_word(1, kWord, 0xfffffffffffffff0ull);
  b.post(0, this->kQp, this->atomic(WqeOp::kFetchAdd, 0x20, 99, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  EXPECT_EQ(this->word(0, kAnswer), 0xfffffffffffffff0ull);
  EXPECT_EQ(this->word(1, kWord), 0x10u);  // modulo 2^64
  b.post(0, this->kQp, this->atomic(WqeOp::kCompareSwap, 0x1122334455667788ull, 0x11, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  EXPECT_EQ(this->word(0, kAnswer), 0x10u);
  EXPECT_EQ(this->word(1, kWord), 0x10u);  // it was not equal
  b.post(0, this->kQp, this->atomic(WqeOp::kCompareSwap, 0x1122334455667788ull, 0x10, 3));
  const Cqe e = this->expect_cqe(0, 0, 3, CqeStatus::kOk);
  EXPECT_EQ(e.opcode, raw(WqeOp::kCompareSwap));
  EXPECT_EQ(this->word(0, kAnswer), 0x10u);
  EXPECT_EQ(this->word(1, kWord), 0x1122334455667788ull);
  EXPECT_EQ(b.rd(1, reg::kNicCntAtomics), 3u);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

TYPED_TEST(Ops, AtomicsRefused) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    CqeStatus status;
    bool remote;
    std::function<void(Wqe&)> spoil;
  };
  const uint32_t no_atomic = b.make_mr(1, 8, kWord, 0x1000, false, true, true, false, true);
  const std::vector<Case> cases = {
      {"length", CqeStatus::kLocalLength, false, [](Wqe& w) { w.length = 16; }},
      {"no length", CqeStatus::kLocalLength, false, [](Wqe& w) { w.length = 0; }},
      {"bulk", CqeStatus::kBadOpcode, false, [](Wqe& w) { w.vc = raw(Vc::kBulk); }},
      {"local right", CqeStatus::kLocalProtection, false,
       [&](Wqe& w) { w.lkey = this->lkey[0], w.laddr = kSrc; }},
      {"misaligned", CqeStatus::kRemoteInvalid, true, [](Wqe& w) { w.raddr += 4; }},
      {"right", CqeStatus::kRemoteAccess, true, [&](Wqe& w) { w.rkey = no_atomic; }},
      {"bounds", CqeStatus::kRemoteAccess, true, [](Wqe& w) { w.raddr += 0x1000; }},
      {"key", CqeStatus::kRemoteAccess, true, [](Wqe& w) { w.rkey ^= 1; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    this->set_word(1, kWord, 5);
    Wqe w = this->atomic(WqeOp::kFetchAdd, 1, 0, 9);
    c.spoil(w);
    b.post(0, this->kQp, w);
    this->expect_cqe(0, 0, 9, c.status);
    EXPECT_EQ(this->word(1, kWord), 5u);
    this->expect_state(0, QpState::kError);
    this->expect_state(1, c.remote ? QpState::kError : QpState::kReady);
    this->again();
  }
  EXPECT_EQ(b.rd(1, reg::kNicCntAtomics), 0u);
}

TYPED_TEST(Ops, AtomicOnMemoryThatRefuses) {
  auto& b = this->bench;
  b.b().mem.forbid(kWord, 8);
  b.post(0, this->kQp, this->atomic(WqeOp::kFetchAdd, 1, 0, 9));
  this->expect_cqe(0, 0, 9, CqeStatus::kRemoteOperation);
  this->expect_state(1, QpState::kError);
}

// However often a request comes, it is executed once, and each answer is that of its execution.
TYPED_TEST(Ops, AtomicsExactlyOnce) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 1500);
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) {
    x.sq_log2 = 6;
    x.retry = 15;
  });
  b.all_wires([](Wire& w) {
    w.drop = 500;
    w.duplicate = 1500;
    w.reorder = 1000;
    w.corrupt = 300;
  });
  constexpr unsigned kN = 400, kWords = 3;
  uint64_t want[kWords] = {1, 2, 3};
  for (unsigned i = 0; i < kWords; ++i) this->set_word(1, kWord + 8 * i, want[i]);
  std::vector<uint64_t> old(kN);
  unsigned posted = 0, done = 0;
  while (done < kN) {
    while (posted < kN && posted - done < 40) {
      const unsigned i = static_cast<unsigned>(b.rng() % kWords);
      const bool swap = b.rng() % 2;
      const uint64_t number = b.rng();
      const uint64_t compare = b.rng() % 3 == 0 ? b.rng() : want[i];
      b.post(0, this->kQp,
             this->atomic(swap ? WqeOp::kCompareSwap : WqeOp::kFetchAdd, number, compare, posted,
                          kWord + 8 * i, kAnswer + 8 * (posted % 500)));
      old[posted++] = want[i];
      if (!swap) want[i] += number;
      if (swap && want[i] == compare) want[i] = number;
    }
    this->expect_cqe(0, 0, done, CqeStatus::kOk);
    ASSERT_EQ(this->word(0, kAnswer + 8 * (done % 500)), old[done]) << done;
    ++done;
  }
  for (unsigned i = 0; i < kWords; ++i) EXPECT_EQ(this->word(1, kWord + 8 * i), want[i]);
  EXPECT_EQ(b.rd(1, reg::kNicCntAtomics), kN);
}

// -------------------------------------------------------------------------------- counters

TYPED_TEST(Ops, CountersAreReadAndWritten) {
  auto& b = this->bench;
  for (const unsigned i : {0u, 17u, kNicNumCtr - 1}) {
    EXPECT_EQ(b.counter(0, i).success, 0u);
    b.write_counter(0, i, 0x11223344 + i, 0x55667788 - i);
  }
  for (const unsigned i : {0u, 17u, kNicNumCtr - 1}) {
    EXPECT_EQ(b.counter(0, i).success, 0x11223344 + i);
    EXPECT_EQ(b.counter(0, i).failure, 0x55667788 - i);
  }
  EXPECT_EQ(b.command(0, ObjOp::kReadCtr, kNicNumCtr), ObjResult::kBadIndex);
  EXPECT_EQ(b.command(0, ObjOp::kWriteCtr, kNicNumCtr), ObjResult::kBadIndex);
  b.write_counter(0, 17, 0xfffffff0, 1);
  b.doorbell(0, 3, 17, 0x20);
  b.settle();
  EXPECT_EQ(b.counter(0, 17).success, 0x10u);  // modulo 2^32
  EXPECT_EQ(b.counter(0, 17).failure, 1u);
  b.doorbell(0, 3, kNicNumCtr, 1);
  b.settle();
  const auto log = b.log(0);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].cause, ErrCause::kLocal);
  EXPECT_EQ(log[0].psn, kNicNumCtr);
}

TYPED_TEST(Ops, CompletionsCount) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 6; ++i) {
    Wqe w = this->write(64, i);
    w.signalled = i == 5;
    w.bump = i != 2;
    w.ctr = i < 4 ? 3 : 4;
    b.write_wqe(0, this->kQp, w);
  }
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 5, CqeStatus::kOk);
  EXPECT_EQ(b.counter(0, 3).success, 3u);
  EXPECT_EQ(b.counter(0, 4).success, 2u);
  // One that fails, and those that are flushed behind it.
  for (unsigned i = 0; i < 4; ++i) {
    Wqe w = this->write(64, 10 + i);
    w.signalled = 0;
    w.bump = 1;
    w.ctr = 5;
    if (i == 1) w.rkey ^= 1;
    b.write_wqe(0, this->kQp, w);
  }
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 11, CqeStatus::kRemoteAccess);
  this->expect_cqe(0, 0, 12, CqeStatus::kFlushed);
  this->expect_cqe(0, 0, 13, CqeStatus::kFlushed);
  EXPECT_EQ(b.counter(0, 5).success, 1u);
  EXPECT_EQ(b.counter(0, 5).failure, 3u);
  // A counter that does not exist.
  this->again();
  Wqe w = this->write(64, 1);
  w.bump = 1;
  w.ctr = kNicNumCtr;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 1, CqeStatus::kBadOpcode);
}

TYPED_TEST(Ops, ImmediatesCount) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.imm_ctr = 1; });
  b.write_counter(1, 9, 100, 2);
  for (unsigned i = 0; i < 8; ++i) {
    Wqe w = this->write(5000, i);
    w.opcode = raw(WqeOp::kWriteImm);
    w.imm = i == 3 ? 0x12340008 : 0xabcd0009;  // bits 15:0
    w.signalled = i == 7;
    b.write_wqe(0, this->kQp, w);
  }
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 7, CqeStatus::kOk);
  EXPECT_EQ(b.counter(1, 9).success, 107u);
  EXPECT_EQ(b.counter(1, 9).failure, 2u);
  EXPECT_EQ(b.counter(1, 8).success, 1u);
  this->expect_no_cqe(1, 1);
  EXPECT_EQ(b.rd(1, reg::kNicCntRnrSent), 0u);
  // A counter that does not exist.
  Wqe w = this->write(64, 20);
  w.opcode = raw(WqeOp::kWriteImm);
  w.imm = kNicNumCtr;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 20, CqeStatus::kRemoteInvalid);
  this->expect_log(1, {ErrCause::kMalformed});
  // A SEND is refused; a ring and counting exclude each other.
  b.log(0);
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) {
    x.imm_ctr = 1;
    x.rnr_retry = 0;
  });
  w = this->write(64, 21);
  w.opcode = raw(WqeOp::kSend);
  b.post(0, this->kQp, w);
  const Cqe e = b.wait_cqe(0, 0);
  EXPECT_NE(e.status, raw(CqeStatus::kOk));
  QpCtx x = b.qp_ctx(1, 5, 5, this->kMask, 0, 1);
  x.imm_ctr = 1;
  b.add_ring(x, 5, 2);
  EXPECT_EQ(b.load(1, ObjOp::kWriteQp, 5, x), ObjResult::kBadValue);
}

TYPED_TEST(Ops, FailuresOfAQueuePairCountOnce) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) {
    x.err_ctr_v = 1;
    x.err_ctr = 11;
  });
  Wqe w = this->write(64, 1);
  w.rkey ^= 1;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 1, CqeStatus::kRemoteAccess);
  b.settle();
  EXPECT_EQ(b.counter(0, 11).failure, 1u);
  EXPECT_EQ(b.counter(1, 11).failure, 1u);
  EXPECT_EQ(b.command(0, ObjOp::kSetError, this->kQp), ObjResult::kOk);  // it is in error already
  EXPECT_EQ(b.counter(0, 11).failure, 1u);
  QpCtx x = b.qp_ctx(0, 5, 5, this->kMask, 0, 1);
  x.err_ctr_v = 1;
  x.err_ctr = kNicNumCtr;
  EXPECT_EQ(b.load(0, ObjOp::kWriteQp, 5, x), ObjResult::kBadValue);
  x.err_ctr = 11;
  b.make_qp(0, 5, x);
  EXPECT_EQ(b.command(0, ObjOp::kSetError, 5), ObjResult::kOk);
  b.settle();
  EXPECT_EQ(b.counter(0, 11).failure, 2u);
}

// ------------------------------------------------------------------------ triggered entries

TYPED_TEST(Ops, WaitHoldsWhatFollows) {
  auto& b = this->bench;
  Wqe first = this->write(64, 1);
  b.write_wqe(0, this->kQp, first);
  b.write_wqe(0, this->kQp, this->wait(20, 3, 2));
  b.write_wqe(0, this->kQp, this->write(64, 3, 64));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  const auto before = b.b().mem.read(kDst + 64, 64);
  this->expect_no_cqe(0, 0);
  b.doorbell(0, 3, 20, 2);
  this->expect_no_cqe(0, 0);
  EXPECT_EQ(b.b().mem.read(kDst + 64, 64), before);
  EXPECT_TRUE(b.a().dut().idle_o);  // a QP that waits keeps the card idle
  b.doorbell(0, 3, 20, 1);
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  this->expect_cqe(0, 0, 3, CqeStatus::kOk);
  this->expect_copied(64, 64);
  EXPECT_EQ(b.rd(0, reg::kNicCntWaits), 1u);
  // Thresholds are modulo 2^32.
  b.write_counter(0, 21, 0xfffffffe, 0);
  b.post(0, this->kQp, this->wait(21, 1, 4));
  this->expect_no_cqe(0, 0);
  b.doorbell(0, 3, 21, 3);
  this->expect_cqe(0, 0, 4, CqeStatus::kOk);
  b.post(0, this->kQp, this->wait(21, 0xfffffff0, 5));  // passed long ago
  this->expect_cqe(0, 0, 5, CqeStatus::kOk);
  // write_ctr counts as a count.
  b.post(0, this->kQp, this->wait(21, 1000, 6));
  this->expect_no_cqe(0, 0);
  b.write_counter(0, 21, 1000, 0);
  this->expect_cqe(0, 0, 6, CqeStatus::kOk);
  b.post(0, this->kQp, this->wait(kNicNumCtr, 0, 7));
  this->expect_cqe(0, 0, 7, CqeStatus::kBadOpcode);
}

TYPED_TEST(Ops, AFailureEndsAWait) {
  auto& b = this->bench;
  // At its turn.
  b.write_counter(0, 30, 5, 1);
  b.write_wqe(0, this->kQp, this->write(64, 1));
  b.write_wqe(0, this->kQp, this->wait(30, 5, 2));
  b.write_wqe(0, this->kQp, this->write(64, 3));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kCounterFailed);
  this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
  this->expect_log(0, {ErrCause::kLocal});
  this->expect_state(0, QpState::kError);
  this->again();
  // While it waits; those that never ran count as failures, and who waits for them fails in turn.
  b.write_counter(0, 30, 0, 0);
  b.write_counter(0, 31, 0, 0);
  b.connect(5, this->kMask);
  Wqe last = this->write(64, 11);
  last.bump = 1;
  last.ctr = 31;
  b.write_wqe(0, this->kQp, this->wait(30, 1, 10));
  b.write_wqe(0, this->kQp, last);
  b.ring(0, this->kQp);
  b.post(0, 5, this->wait(31, 1, 20));
  this->expect_no_cqe(0, 0);
  b.write_counter(0, 30, 0, 1);
  std::map<uint64_t, uint8_t> got;
  for (unsigned i = 0; i < 3; ++i) {
    const Cqe e = b.wait_cqe(0, 0);
    got[e.wr_id] = e.status;
  }
  EXPECT_EQ(got[10], raw(CqeStatus::kCounterFailed));
  EXPECT_EQ(got[11], raw(CqeStatus::kFlushed));
  EXPECT_EQ(got[20], raw(CqeStatus::kCounterFailed));
  EXPECT_EQ(b.counter(0, 31).failure, 1u);
}

TYPED_TEST(Ops, ManyWaitForOneCounter) {
  auto& b = this->bench;
  constexpr unsigned kQps = 12;
  for (unsigned q = 0; q < kQps; ++q) {
    b.connect(20 + q, this->kMask);
    b.write_wqe(0, 20 + q, this->wait(40, 1 + q % 3, q));
    b.ring(0, 20 + q);
  }
  this->expect_no_cqe(0, 0);
  for (unsigned step = 1; step <= 3; ++step) {
    b.doorbell(0, 3, 40, 1);
    std::set<uint64_t> got;
    for (unsigned i = 0; i < kQps / 3; ++i) {
      const Cqe e = b.wait_cqe(0, 0);
      EXPECT_EQ(e.status, raw(CqeStatus::kOk));
      EXPECT_EQ(e.wr_id % 3 + 1, step);
      got.insert(e.wr_id);
    }
    EXPECT_EQ(got.size(), kQps / 3);
    this->expect_no_cqe(0, 0);
  }
}

TYPED_TEST(Ops, AWaitEndsWithItsQueuePair) {
  auto& b = this->bench;
  b.post(0, this->kQp, this->wait(50, 1, 1));
  this->expect_no_cqe(0, 0);
  EXPECT_EQ(b.command(0, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  this->expect_cqe(0, 0, 1, CqeStatus::kFlushed);
  this->again();
  b.post(0, this->kQp, this->wait(50, 1, 2));
  this->expect_no_cqe(0, 0);
  b.connect(this->kQp, this->kMask);  // write_qp
  b.doorbell(0, 3, 50, 1);
  this->expect_no_cqe(0, 0);
  b.post(0, this->kQp, this->write(64, 3));
  this->expect_cqe(0, 0, 3, CqeStatus::kOk);
  // Reset, too.
  b.post(0, this->kQp, this->wait(51, 1, 4));
  b.settle();
  b.reset();
  for (unsigned c = 0; c < 2; ++c) {
    b.enable(c);
    b.make_cq(c, 0, 6);
    b.make_cq(c, 1, 6);
  }
  EXPECT_EQ(b.counter(0, 50).success, 0u);
  b.connect(this->kQp, this->kMask);
  b.doorbell(0, 3, 51, 1);
  this->expect_no_cqe(0, 0);
  b.post(0, this->kQp, this->wait(51, 1, 5));
  this->expect_cqe(0, 0, 5, CqeStatus::kOk);
}

// A schedule without the host: A's immediates start B, whose immediates start A, a hundred times,
// over a bad network.
TYPED_TEST(Ops, AChainRunsByItself) {
  auto& b = this->bench;
  for (unsigned c = 0; c < 2; ++c) b.wr(c, reg::kNicTimeout, 2000);
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) {
    x.imm_ctr = 1;
    x.sq_log2 = 8;
    x.retry = 15;
  });
  b.all_wires([](Wire& w) {
    w.drop = 200;
    w.duplicate = 300;
    w.reorder = 300;
  });
  constexpr unsigned kSteps = 100;
  for (unsigned c = 0; c < 2; ++c) {
    for (unsigned i = 0; i < kSteps; ++i) {
      Wqe hold = this->wait(60, i + (c == 1), 2 * i);
      hold.signalled = 0;
      b.write_wqe(c, this->kQp, hold);
      Wqe w = this->write(300, 2 * i + 1, 1024 * (i % 64));
      w.opcode = raw(WqeOp::kWriteImm);
      w.lkey = this->lkey[c];
      w.rkey = this->rkey[1 - c];
      w.imm = 60;
      w.signalled = i + 1 == kSteps;
      w.bump = 1;
      w.ctr = 61;
      b.write_wqe(c, this->kQp, w);
    }
    b.ring(c, this->kQp);
  }
  for (unsigned c = 0; c < 2; ++c) {
    const Cqe e = b.wait_cqe(c, 0, 2000000);
    EXPECT_EQ(e.status, raw(CqeStatus::kOk));
    EXPECT_EQ(e.wr_id, 2 * kSteps - 1);
  }
  b.settle();
  for (unsigned c = 0; c < 2; ++c) {
    EXPECT_EQ(b.counter(c, 60).success, kSteps);
    EXPECT_EQ(b.counter(c, 61).success, kSteps);
    EXPECT_EQ(b.counter(c, 60).failure, 0u);
  }
}

// --------------------------------------------------------------------------- pushed entries

TYPED_TEST(Ops, PushedEntriesNeedNoRead) {
  auto& b = this->bench;
  const uint64_t reads = b.a().counts.dma_reads;
  for (unsigned i = 0; i < 5; ++i) {
    b.push(0, this->kQp, this->write(64, i, 64 * i));
    this->expect_cqe(0, 0, i, CqeStatus::kOk);
    this->expect_copied(64 * i, 64);
  }
  EXPECT_EQ(b.a().counts.dma_reads, reads);
  EXPECT_EQ(b.rd(0, reg::kNicCntPushes), 5u);
  // Behind entries that are not read yet the ring is read.
  for (unsigned i = 5; i < 9; ++i) b.write_wqe(0, this->kQp, this->write(64, i, 64 * i));
  b.ring(0, this->kQp);
  b.push(0, this->kQp, this->write(64, 9, 64 * 9));
  for (unsigned i = 5; i < 10; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  this->expect_copied(0, 640);
  this->expect_log(0, {});
}

TYPED_TEST(Ops, PushesThatCannotBeTaken) {
  auto& b = this->bench;
  b.monitor.ignore(0, this->kQp);
  // To a QP that does not exist, or is in reset.
  Wqe w = this->write(64, 1);
  b.push_only(0, 0xfff0, w);
  b.push_only(0, this->kQp + 1, w);
  b.settle();
  this->expect_log(0, {ErrCause::kBadQp, ErrCause::kBadQp});
  // It rings as a doorbell does: the ring holds 16.
  w.index = 20;
  b.push_only(0, this->kQp, w);
  b.settle();
  this->expect_log(0, {ErrCause::kLocal});
  this->expect_state(0, QpState::kError);
  // In error: flushed, from the ring.
  this->again();
  EXPECT_EQ(b.command(0, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  b.push(0, this->kQp, this->write(64, 5));
  this->expect_cqe(0, 0, 5, CqeStatus::kFlushed);
  this->again();
  // A bad one is judged as one of the ring.
  w = this->write(64, 6);
  w.opcode = 0x55;
  b.push(0, this->kQp, w);
  this->expect_cqe(0, 0, 6, CqeStatus::kBadOpcode);
}

// Pushes, doorbells, reads and resets of the QP against each other.
TYPED_TEST(Ops, PushesAndDoorbellsMixed) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.sq_log2 = 5; });
  unsigned posted = 0, done = 0;
  constexpr unsigned kN = 600;
  while (done < kN) {
    while (posted < kN && posted - done < 30 && b.rng() % 4 != 0) {
      Wqe w = this->write(32, posted, 32 * (posted % 512));
      if (b.rng() % 2) {
        b.push(0, this->kQp, w);
      } else {
        b.write_wqe(0, this->kQp, w);
        if (b.rng() % 2) b.ring(0, this->kQp);
      }
      ++posted;
      b.run(b.rng() % 40);
    }
    b.ring(0, this->kQp);
    while (done < posted && b.rng() % 4 != 0) this->expect_cqe(0, 0, done++, CqeStatus::kOk);
  }
  this->expect_copied(0, 32 * 512);
}

// ------------------------------------------------------------------------------ congestion

// With marks on everything the window goes down to one packet, and comes back without them.
TYPED_TEST(Ops, TheWindowFollowsMarks) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) {
    x.window = 256;
    x.cwnd = 40;
  });
  EXPECT_EQ(b.status(0, this->kQp).cwnd, 40u << kNicCwndFrac);
  uint64_t most = 0;
  bool mark = false;
  b.a().on_wire = [&](Frame& f, unsigned) {
    if (f.h.opcode == raw(PktOp::kWrite)) {
      most = std::max(most, b.monitor.outstanding(0, this->kQp));
      f.h.ce = mark;
    }
    return true;
  };
  const auto transfer = [&](uint64_t id) {
    most = 0;
    b.post(0, this->kQp, this->write(0x40000, id));
    this->expect_cqe(0, 0, id, CqeStatus::kOk);
  };
  transfer(1);
  EXPECT_LE(most, 256u);
  EXPECT_GT(b.status(0, this->kQp).cwnd, 40u << kNicCwndFrac);  // slow start
  EXPECT_EQ(b.status(0, this->kQp).marks, 0u);
  mark = true;
  for (uint64_t id = 2; id < 8; ++id) transfer(id);
  EXPECT_EQ(b.status(0, this->kQp).cwnd, 1u << kNicCwndFrac);
  EXPECT_GE(b.status(0, this->kQp).marks, 200u);
  transfer(8);
  EXPECT_LE(most, 2u);
  mark = false;
  transfer(9);
  const unsigned grown = b.status(0, this->kQp).cwnd;
  EXPECT_GT(grown, 2u << kNicCwndFrac);
  EXPECT_LT(grown, 16u << kNicCwndFrac);  // one packet a round trip
  b.wr(0, reg::kNicCcStep, 0);
  transfer(10);
  EXPECT_EQ(b.status(0, this->kQp).cwnd, grown);
  QpCtx x = b.qp_ctx(0, 5, 5, this->kMask, 0, 1);
  x.window = 10;
  x.cwnd = 11;
  EXPECT_EQ(b.load(0, ObjOp::kWriteQp, 5, x), ObjResult::kBadValue);
}

// A window that shrinks below what is outstanding does not stop the QP: no time-out is needed.
TYPED_TEST(Ops, AShrinkingWindowNeedsNoTimeout) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 30; ++round) {
    b.connect(this->kQp, this->kMask, 0, 1, [&](QpCtx& x) {
      x.window = 128;
      x.cwnd = static_cast<uint16_t>(1 + b.rng() % 128);
    });
    const unsigned share = static_cast<unsigned>(b.rng() % 101);
    b.a().on_wire = [&](Frame& f, unsigned) {
      if (f.h.opcode == raw(PktOp::kWrite)) f.h.ce = b.rng() % 100 < share;
      return true;
    };
    b.post(0, this->kQp, this->write(4096 * static_cast<uint32_t>(1 + b.rng() % 60), round));
    this->expect_cqe(0, 0, round, CqeStatus::kOk);
    b.settle();
  }
  EXPECT_EQ(b.rd(0, reg::kNicCntTimeouts), 0u);
}

TYPED_TEST(Ops, Pacing) {
  auto& b = this->bench;
  b.timing.line_rate = true;
  const auto took = [&](Vc vc) {
    const uint64_t from = b.cycles;
    for (unsigned i = 0; i < 8; ++i) {
      Wqe w = this->write(4096, i);
      w.vc = raw(vc);
      w.signalled = i == 7;
      b.write_wqe(0, this->kQp, w);
    }
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 7, CqeStatus::kOk);
    return b.cycles - from;
  };
  b.a().skip = b.b().skip = true;  // the deadline must wake it
  const uint64_t free_bulk = took(Vc::kBulk), free_req = took(Vc::kReq);
  // 1,000 cycles a packet of 4096 and 128 bytes.
  b.wr(0, reg::kNicPaceBulk, 65536 * 1000 / 4224);
  EXPECT_GE(took(Vc::kBulk), 7 * 1000 - 100u);
  EXPECT_LE(took(Vc::kBulk), free_bulk + 8 * 1000 + 100u);
  EXPECT_LE(took(Vc::kReq), free_req + 200);
  b.wr(0, reg::kNicPaceBulk, 0);
  b.wr(0, reg::kNicPaceReq, 65536 * 1000 / 4224);
  EXPECT_LE(took(Vc::kBulk), free_bulk + 200);
  EXPECT_GE(took(Vc::kReq), 7 * 1000 - 100u);
}

}  // namespace
}  // namespace nic_core_test
