// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "core_fixture.hpp"

namespace nic_core_test {
namespace {

TYPED_TEST_SUITE(Core, Sizes);

TYPED_TEST(Core, WritesAMessageAndCompletes) {
  auto& b = this->bench;
  b.post(0, this->kQp, this->write(10000, 0x1122334455667788ull));
  const Cqe e = b.wait_cqe(0, 0);
  EXPECT_EQ(e.wr_id, 0x1122334455667788ull);
  EXPECT_EQ(e.status, raw(CqeStatus::kOk));
  EXPECT_EQ(e.opcode, raw(WqeOp::kWrite));
  EXPECT_EQ(e.byte_len, 10000u);
  EXPECT_EQ(e.qpn, this->kQp);
  EXPECT_EQ(e.sq_head, 1u);
  EXPECT_EQ(e.psn, 0xfffffcu);
  EXPECT_EQ(e.recv, 0u);
  this->expect_copied(0, 10000);
  b.settle();
  EXPECT_EQ(this->all(b.a().counts.txd), 3u);
  EXPECT_LE(this->all(b.b().counts.acks), this->kSprays ? 2u : 1u);
  EXPECT_TRUE(b.log(0).empty());
  EXPECT_TRUE(b.log(1).empty());
}

TYPED_TEST(Core, CutsMessagesIntoPackets) {
  auto& b = this->bench;
  std::vector<Frame> sent;
  this->record(0, sent);
  Wqe w = this->write(20 * 4096 + 1);
  w.opcode = raw(WqeOp::kWriteImm);
  w.imm = 0xcafe1234;
  b.post_receives(1, this->kQp, 1);
  b.post(0, this->kQp, w);
  const Cqe r = b.wait_cqe(1, 1);
  EXPECT_EQ(r.recv, 1u);
  EXPECT_EQ(r.imm, 0xcafe1234u);
  EXPECT_EQ(r.wr_id, 0u);
  EXPECT_EQ(r.byte_len, 1u);
  EXPECT_EQ(r.opcode, raw(WqeOp::kWriteImm));
  EXPECT_EQ(r.psn, (0xfffffau + 20) & 0xffffff);
  EXPECT_EQ(r.qpn, this->kQp);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_copied(0, 20 * 4096 + 1);
  ASSERT_EQ(sent.size(), 21u);
  this->sort(sent);
  for (unsigned i = 0; i < 21; ++i) {
    const Rxh& h = sent[i].h;
    EXPECT_EQ(h.psn, (0xfffffau + i) & 0xffffff);
    EXPECT_EQ(h.raddr, kDst + 4096 * i);
    EXPECT_EQ(h.len, i == 20 ? 1u : 4096u);
    EXPECT_EQ(h.opcode, raw(i == 20 ? PktOp::kWriteImm : PktOp::kWrite));
    EXPECT_EQ(h.ack_req, i == 20) << i;
    EXPECT_EQ(h.vc, raw(Vc::kBulk));
    EXPECT_EQ(h.rkey, this->rkey[1]);
    EXPECT_EQ(h.dst_qpn, this->kQp);
    EXPECT_EQ(h.rnum, 0u);
  }
  b.settle();
  EXPECT_LE(this->all(b.b().counts.acks), this->kSprays ? 3u : 2u);
  const QpStatus sa = b.status(0, this->kQp), sb = b.status(1, this->kQp);
  EXPECT_EQ(sa.next_psn, 15u);
  EXPECT_EQ(sa.una_psn, 15u);
  EXPECT_EQ(sa.sq_head, 1u);
  EXPECT_EQ(sa.sq_tail, 1u);
  EXPECT_EQ(sb.expected_psn, 15u);
  EXPECT_EQ(sb.msn, 21u);
  EXPECT_EQ(this->sum(0, reg::kNicCntTxPackets), 21u);
  EXPECT_EQ(this->sum(0, reg::kNicCntTxBytes, 8), 20u * 4096 + 1);
  EXPECT_EQ(this->sum(0, reg::kNicCntTxBytesHi, 8), 0u);
  EXPECT_EQ(this->sum(1, reg::kNicCntRxPackets), 21u);
  EXPECT_EQ(this->sum(1, reg::kNicCntTxAcks), this->sum(0, reg::kNicCntRxAcks));
  EXPECT_EQ(b.rd(0, reg::kNicCntCqes), 1u);
  EXPECT_EQ(b.rd(1, reg::kNicCntCqes), 1u);
  EXPECT_EQ(b.rd(0, reg::kNicCntWqes), 1u);
}

TYPED_TEST(Core, EmptyMessagesNopsAndUnsignalledOnes) {
  auto& b = this->bench;
  b.post_receives(1, this->kQp, 1);
  Wqe w = this->write(0, 10);
  w.lkey = w.rkey = 0xffffffff;  // not looked at
  b.write_wqe(0, this->kQp, w);
  w.opcode = raw(WqeOp::kNop);
  w.wr_id = 11;
  b.write_wqe(0, this->kQp, w);
  w.opcode = raw(WqeOp::kWriteImm);
  w.wr_id = 12;
  w.imm = 77;
  w.signalled = 0;
  b.write_wqe(0, this->kQp, w);
  w.opcode = raw(WqeOp::kNop);
  w.signalled = 1;
  w.wr_id = 13;
  b.write_wqe(0, this->kQp, w);
  b.ring(0, this->kQp);
  EXPECT_EQ(this->expect_cqe(0, 0, 10, CqeStatus::kOk).sq_head, 1u);
  EXPECT_EQ(this->expect_cqe(0, 0, 11, CqeStatus::kOk).sq_head, 2u);
  EXPECT_EQ(this->expect_cqe(0, 0, 13, CqeStatus::kOk).sq_head, 4u);
  const Cqe r = this->expect_cqe(1, 1, 0, CqeStatus::kOk);
  EXPECT_EQ(r.imm, 77u);
  EXPECT_EQ(r.byte_len, 0u);
  this->expect_no_cqe(0, 0);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

TYPED_TEST(Core, ReduceAddsAndFenceWaits) {
  auto& b = this->bench;
  const auto src = b.a().mem.read(kSrc, 9000);
  auto want = src;
  b.b().mem.write(kDst, src.data(), src.size());
  std::vector<Frame> sent;
  this->record(0, sent);
  uint64_t cqes_at_fence = kNever;
  for (unsigned i = 0; i < 6; ++i) {
    Wqe w = this->write(9000, i);
    w.opcode = raw(WqeOp::kReduce);
    w.fence = i == 4;
    want = add_f32(want, src);
    b.write_wqe(0, this->kQp, w);
  }
  b.a().on_wire = [&](Frame& f, unsigned) {
    if (f.h.psn == ((0xfffffau + 12) & 0xffffff)) cqes_at_fence = this->all(b.b().counts.acks);
    return true;
  };
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 6; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  EXPECT_EQ(b.b().mem.read(kDst, 9000), want);
  EXPECT_GE(cqes_at_fence, 1u);  // everything before the fence was acknowledged
  EXPECT_NE(cqes_at_fence, kNever);
}

TYPED_TEST(Core, KeepsTheWindowAndThirtyTwoMessages) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.window = 3; });
  std::vector<Frame> sent;
  bool blocked = true;
  b.b().on_wire = [&](Frame&, unsigned) { return !blocked; };  // acknowledgements are lost
  b.a().on_wire = [&](Frame& f, unsigned) {
    sent.push_back(f);
    return true;
  };
  b.post(0, this->kQp, this->write(40000, 1));
  b.run(2000);
  EXPECT_EQ(sent.size(), 3u);
  this->sort(sent);
  EXPECT_EQ(sent.back().h.ack_req, 1u);  // or nobody would ever acknowledge
  // Many messages: 32 in flight.
  this->again();
  sent.clear();
  b.a().on_wire = [&](Frame& f, unsigned) {
    sent.push_back(f);
    return true;
  };
  b.b().on_wire = [&](Frame&, unsigned) { return false; };
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.sq_log2 = 6; });
  for (unsigned i = 0; i < 40; ++i) b.write_wqe(0, this->kQp, this->write(8, i, 8 * i));
  b.ring(0, this->kQp);
  b.run(4000);
  EXPECT_EQ(sent.size(), kNicMaxOutstanding);
  b.b().on_wire = {};
  for (unsigned i = 0; i < 40; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  this->expect_copied(0, 320);
}

TYPED_TEST(Core, WindowOfOneStillMoves) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.window = 1; });
  b.post(0, this->kQp, this->write(30000, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_copied(0, 30000);
}

// A request that fails locally: what was posted before succeeds, what comes after is flushed.
TYPED_TEST(Core, LocalErrors) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    CqeStatus status;
    std::function<void(Wqe&)> spoil;
  };
  const std::vector<Case> cases = {
      {"opcode", CqeStatus::kBadOpcode, [](Wqe& w) { w.opcode = 0x20; }},
      {"read on bulk", CqeStatus::kBadOpcode, [](Wqe& w) { w.opcode = raw(WqeOp::kRead); }},
      {"read right", CqeStatus::kLocalProtection,
       [](Wqe& w) { w.opcode = raw(WqeOp::kRead), w.vc = raw(Vc::kReq); }},
      {"vc rsp", CqeStatus::kBadOpcode, [](Wqe& w) { w.vc = raw(Vc::kRsp); }},
      {"vc 3", CqeStatus::kBadOpcode, [](Wqe& w) { w.vc = 3; }},
      {"red op", CqeStatus::kBadOpcode,
       [](Wqe& w) { w.opcode = raw(WqeOp::kReduce), w.red_op = 3; }},
      {"red type", CqeStatus::kBadOpcode,
       [](Wqe& w) { w.opcode = raw(WqeOp::kReduceImm), w.red_dtype = 4; }},
      {"length", CqeStatus::kLocalLength, [](Wqe& w) { w.length = 0x80000001; }},
      {"reduce length", CqeStatus::kLocalLength,
       [](Wqe& w) { w.opcode = raw(WqeOp::kReduce), w.length = 6; }},
      {"lkey index", CqeStatus::kLocalProtection, [](Wqe& w) { w.lkey += 0x100 * 4; }},
      {"lkey range", CqeStatus::kLocalProtection, [](Wqe& w) { w.lkey |= 0x80000000; }},
      {"lkey key", CqeStatus::kLocalProtection, [](Wqe& w) { w.lkey ^= 1; }},
      {"lkey rights", CqeStatus::kLocalProtection,
       [this](Wqe& w) { w.lkey = this->rkey[0], w.laddr = kDst; }},
      {"below", CqeStatus::kLocalProtection, [](Wqe& w) { w.laddr = kSrc - 1; }},
      {"above", CqeStatus::kLocalProtection, [](Wqe& w) { w.laddr = kSrc + kSize - w.length + 1; }},
      {"wrap", CqeStatus::kLocalProtection, [](Wqe& w) { w.laddr = ~0ull - 3; }},
      {"too long", CqeStatus::kLocalProtection, [](Wqe& w) { w.length = 0x80000000; }},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    b.write_wqe(0, this->kQp, this->write(5000, 20));
    Wqe w = this->write(64, 21);
    w.signalled = 0;
    c.spoil(w);
    b.write_wqe(0, this->kQp, w);
    b.write_wqe(0, this->kQp, this->write(64, 22));
    w = this->write(64, 23);
    w.signalled = 0;
    b.write_wqe(0, this->kQp, w);
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 20, CqeStatus::kOk);
    const Cqe e = this->expect_cqe(0, 0, 21, c.status);
    EXPECT_EQ(e.sq_head, 2u);
    this->expect_cqe(0, 0, 22, CqeStatus::kFlushed);
    this->expect_cqe(0, 0, 23, CqeStatus::kFlushed);
    // Later doorbells flush too.
    b.post(0, this->kQp, this->write(64, 24));
    this->expect_cqe(0, 0, 24, CqeStatus::kFlushed);
    this->expect_no_cqe(0, 0);
    this->expect_state(0, QpState::kError);
    this->expect_state(1, QpState::kReady);
    this->expect_log(0, {ErrCause::kLocal});
    this->expect_log(1, {});
    this->again();
    if (testing::Test::HasFailure()) return;
  }
  // Bits that the layout reserves.
  for (unsigned byte : {1u, 2u}) {
    b.write_wqe(0, this->kQp, this->write(64, 30));
    const uint8_t bad = 0x80;
    const uint64_t at = TypeParam::B::ring_base(this->kQp) + byte;
    b.a().mem.write(at, &bad, 1);
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 30, CqeStatus::kBadOpcode);
    this->again();
  }
}

// Refused by the responder.
TYPED_TEST(Core, RemoteErrors) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    CqeStatus status;
    ErrCause cause;
    std::function<void(Wqe&)> spoil;
    std::function<void(Frame&)> spoil_frame;
  };
  const uint32_t key3 = b.make_mr(1, 3, kDst, kSize, false, false, true);
  const uint32_t key4 = b.make_mr(1, 4, kDst, kSize, false, true, false);
  const auto access = ErrCause::kAccess;
  const auto malformed = ErrCause::kMalformed;
  const std::vector<Case> cases = {
      {"key", CqeStatus::kRemoteAccess, access, [](Wqe& w) { w.rkey ^= 2; }, {}},
      {"index", CqeStatus::kRemoteAccess, access, [](Wqe& w) { w.rkey += 0x900; }, {}},
      {"range", CqeStatus::kRemoteAccess, access, [](Wqe& w) { w.rkey |= 0x40000000; }, {}},
      {"write right", CqeStatus::kRemoteAccess, access, [&](Wqe& w) { w.rkey = key3; }, {}},
      {"reduce right",
       CqeStatus::kRemoteAccess,
       access,
       [&](Wqe& w) { w.rkey = key4, w.opcode = raw(WqeOp::kReduce); },
       {}},
      {"below", CqeStatus::kRemoteAccess, access, [](Wqe& w) { w.raddr = kDst - 1; }, {}},
      {"above",
       CqeStatus::kRemoteAccess,
       access,
       [](Wqe& w) { w.raddr = kDst + kSize - w.length + 1; },
       {}},
      {"wrap", CqeStatus::kRemoteAccess, access, [](Wqe& w) { w.raddr = ~0ull - 3; }, {}},
      {"long", CqeStatus::kRemoteInvalid, malformed, {}, [](Frame& f) { f.h.len = 4097; }},
      {"opcode", CqeStatus::kRemoteInvalid, malformed, {}, [](Frame& f) { f.h.opcode = 0x42; }},
      {"element", CqeStatus::kRemoteInvalid, malformed,
       [](Wqe& w) { w.opcode = raw(WqeOp::kReduce); }, [](Frame& f) { f.h.len = 62; }},
      {"operation", CqeStatus::kRemoteInvalid, malformed,
       [](Wqe& w) { w.opcode = raw(WqeOp::kReduce); }, [](Frame& f) { f.h.red_op = 3; }},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    if (c.spoil_frame) {
      b.a().on_wire = [&](Frame& f, unsigned) {
        if (f.h.len == 64) c.spoil_frame(f);
        return true;
      };
    }
    b.write_wqe(0, this->kQp, this->write(5000, 20));
    Wqe w = this->write(64, 21);
    if (c.spoil) c.spoil(w);
    b.write_wqe(0, this->kQp, w);
    b.write_wqe(0, this->kQp, this->write(5000, 22, 8192));
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 20, CqeStatus::kOk);
    EXPECT_EQ(this->expect_cqe(0, 0, 21, c.status).psn, 0xfffffcu);
    this->expect_cqe(0, 0, 22, CqeStatus::kFlushed);
    this->expect_no_cqe(0, 0);
    this->expect_state(0, QpState::kError);
    this->expect_state(1, QpState::kError);
    this->expect_failed_log(0, ErrCause::kNak);
    auto l = b.log(1);
    EXPECT_EQ(b.count(l, c.cause), 1u);
    ASSERT_EQ(l.size(), 1u);
    EXPECT_EQ(l[0].psn, 0xfffffcu);
    EXPECT_EQ(l[0].qpn, this->kQp);
    EXPECT_TRUE(this->kMask >> l[0].plane & 1);
    this->again();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Core, RegionsAndDomainsMustMatch) {
  auto& b = this->bench;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.pd = 9; });
  b.post(0, this->kQp, this->write(64, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kLocalProtection);
  // The exact end of the address space is a legal end of a region.
  const uint64_t top = ~0ull - 0xfff;
  const uint32_t key = b.make_mr(1, 5, top, 0x1000);
  this->again();
  Wqe w = this->write(0x1000, 2);
  w.raddr = top;
  w.rkey = key;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  EXPECT_EQ(b.b().mem.read(top, 0x1000), b.a().mem.read(kSrc, 0x1000));
}

TYPED_TEST(Core, SlowProgressIsNoTimeout) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 600);
  b.timing.mem_min = 150;
  b.timing.mem_max = 200;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.window = 1; });
  b.post(0, this->kQp, this->write(20 * 4096, 1));  // 20 round trips
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  // A new life under an old time-out entry, with the same numbers.
  for (unsigned i = 0; i < 5; ++i) {
    b.connect(this->kQp, this->kMask);
    b.post(0, this->kQp, this->write(64, 2 + i));
    this->expect_cqe(0, 0, 2 + i, CqeStatus::kOk);
    b.run(b.rng() % 500);
  }
  this->expect_log(0, {});
  EXPECT_EQ(b.rd(0, reg::kNicCntTimeouts), 0u);
  EXPECT_EQ(b.rd(0, reg::kNicCntRetransmits), 0u);
}

TYPED_TEST(Core, DuplicatesAreAcknowledgedButNotApplied) {
  auto& b = this->bench;
  const auto src = b.a().mem.read(kSrc, 8192);
  b.b().mem.write(kDst, src.data(), src.size());
  std::vector<Frame> sent;
  this->record(0, sent);
  Wqe w = this->write(8192, 1);
  w.opcode = raw(WqeOp::kReduce);
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.settle();
  const uint64_t acks = this->all(b.b().counts.acks);
  for (auto& f : sent) b.b().receive(f, this->kPlane);
  b.settle();
  EXPECT_GT(this->all(b.b().counts.acks), acks);
  EXPECT_EQ(b.b().mem.read(kDst, 8192), add_f32(src, src));
  this->expect_log(1, {});
  EXPECT_EQ(b.rd(1, reg::kNicCntDuplicates), 2u);
  b.post(0, this->kQp, this->write(64, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  this->expect_log(0, {});
}

TYPED_TEST(Core, FailedPlacementIsRemoteOperation) {
  auto& b = this->bench;
  b.b().mem.forbid(kDst + 3 * 4096, 1);
  b.write_wqe(0, this->kQp, this->write(4096, 1));
  b.write_wqe(0, this->kQp, this->write(6 * 4096, 2));
  b.write_wqe(0, this->kQp, this->write(4096, 3));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  EXPECT_EQ(this->expect_cqe(0, 0, 2, CqeStatus::kRemoteOperation).psn, 0xfffffeu);
  this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
  this->expect_no_cqe(0, 0);
  this->expect_state(0, QpState::kError);
  this->expect_state(1, QpState::kError);
  auto l = b.log(1);
  EXPECT_EQ(b.count(l, ErrCause::kMemWrite), 1u);
  EXPECT_EQ(l.size(), 1u);
}

TYPED_TEST(Core, UnreadablePayloadIsLocalMemory) {
  auto& b = this->bench;
  b.a().mem.forbid(kSrc + 0x20000, 1);
  for (unsigned i = 0; i < 4; ++i) {
    b.write_wqe(0, this->kQp, this->write(5000, i, i == 2 ? 0x1f800 : 0x8000));
  }
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 0, CqeStatus::kOk);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kLocalMemory);
  this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
  this->expect_no_cqe(0, 0);
  this->expect_state(0, QpState::kError);
  auto l = b.log(0);
  EXPECT_EQ(b.count(l, ErrCause::kLocal), 1u);
}

TYPED_TEST(Core, RefusedRingReadIsLocalMemory) {
  auto& b = this->bench;
  b.a().mem.forbid(TypeParam::B::ring_base(this->kQp) + 64, 64);
  for (unsigned i = 0; i < 3; ++i) b.write_wqe(0, this->kQp, this->write(64, 40 + i));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 40, CqeStatus::kOk);
  this->expect_cqe(0, 0, 0, CqeStatus::kLocalMemory);
  this->expect_cqe(0, 0, 42, CqeStatus::kFlushed);
  this->expect_no_cqe(0, 0);
  this->expect_state(0, QpState::kError);
  this->expect_log(0, {ErrCause::kDma});
}

TYPED_TEST(Core, RefusedCompletionWriteFailsTheQp) {
  auto& b = this->bench;
  b.a().mem.forbid(TypeParam::B::cq_base(0), 64);
  b.post(0, this->kQp, this->write(64, 1));
  b.run_until([&] { return b.a().counts.dma_writes == 1; });
  b.settle();
  this->expect_state(0, QpState::kError);
  this->expect_log(0, {ErrCause::kDma});
}

TYPED_TEST(Core, FullCompletionQueueFailsTheQpAndKeepsItsEntries) {
  auto& b = this->bench;
  b.make_cq(0, 0, 2);
  b.auto_consume(0, 0, false);
  for (unsigned i = 0; i < 7; ++i) b.write_wqe(0, this->kQp, this->write(8, i));
  b.ring(0, this->kQp);
  b.run_until([&] { return b.status(0, this->kQp).sq_head == 7; });
  this->expect_state(0, QpState::kError);
  for (unsigned i = 0; i < 4; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  this->expect_no_cqe(0, 0);
  const auto l = b.log(0);
  EXPECT_EQ(b.count(l, ErrCause::kCqOverflow), 3u);
  // Room again: later requests are flushed into it, with the phase of the second pass.
  b.doorbell(0, 2, 0, 4);
  b.post(0, this->kQp, this->write(8, 9));
  this->expect_cqe(0, 0, 9, CqeStatus::kFlushed);
}

TYPED_TEST(Core, FullReceiveQueueIsReportedToTheSender) {
  auto& b = this->bench;
  b.make_cq(1, 1, 1);
  b.auto_consume(1, 1, false);
  b.post_receives(1, this->kQp, 10);
  for (unsigned i = 0; i < 5; ++i) {
    Wqe w = this->write(8, i);
    w.opcode = raw(WqeOp::kWriteImm);
    w.imm = i;
    b.write_wqe(0, this->kQp, w);
  }
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 0, CqeStatus::kOk);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kRemoteOperation);
  this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
  this->expect_cqe(0, 0, 4, CqeStatus::kFlushed);
  this->expect_state(1, QpState::kError);
  EXPECT_EQ(this->expect_cqe(1, 1, 0, CqeStatus::kOk).imm, 0u);
  EXPECT_EQ(this->expect_cqe(1, 1, 1, CqeStatus::kOk).imm, 1u);
  EXPECT_GE(b.count(b.log(1), ErrCause::kCqOverflow), 1u);
}

TYPED_TEST(Core, CompletionThenInterrupt) {
  auto& b = this->bench;
  b.make_cq(0, 4, 5, true);
  b.connect(this->kQp, this->kMask, 4, 1);
  for (unsigned i = 0; i < 12; ++i) b.write_wqe(0, this->kQp, this->write(8, i));
  b.ring(0, this->kQp);
  unsigned seen = 0;
  b.run_until([&] {
    // An interrupt is never ahead of its completion.
    Cqe e;
    const size_t irqs = b.a().msix.size();
    while (b.poll(0, 4, e)) ++seen;
    EXPECT_LE(irqs, seen);
    return irqs == 12;
  });
  for (uint16_t v : b.a().msix) EXPECT_EQ(v, 4u);
}

// The receiver's completion is on its way before the sender can know.
TYPED_TEST(Core, ReceiveCompletionGoesBeforeTheAcknowledgement) {
  auto& b = this->bench;
  b.timing.dma_ready = 3;
  b.post_receives(1, this->kQp, 200);
  uint64_t acked = 0;
  b.b().on_wire = [&](Frame& f, unsigned) {
    const uint64_t upto = (f.h.psn + 1 - 0xfffffau) & 0xffffff;
    acked = std::max(acked, upto);
    EXPECT_LE(acked, b.b().counts.dma_writes);
    return true;
  };
  for (unsigned i = 0; i < 12; ++i) {
    Wqe w = this->write(8, i);
    w.opcode = raw(WqeOp::kWriteImm);
    b.write_wqe(0, this->kQp, w);
  }
  b.ring(0, this->kQp);
  for (unsigned i = 0; i < 12; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
  for (unsigned i = 0; i < 12; ++i) this->expect_cqe(1, 1, i, CqeStatus::kOk);
  EXPECT_EQ(acked, 12u);
}

// An acknowledgement that waits for a credit is written when it leaves: by then a further packet is
// placed whose completion the host has not taken, and that one must not be acknowledged with it.
TYPED_TEST(Core, AQueuedAcknowledgementWaitsForTheCompletion) {
  if (this->kSprays) GTEST_SKIP() << "needs a plane whose credits are used up";
  auto& b = this->bench;
  const unsigned other = this->kQp + 1;
  b.connect(other, this->kMask);
  b.b().stuck_port[this->kPlane] = true;
  b.post_receives(1, this->kQp, 1);
  const uint64_t& acks = b.b().counts.acks[this->kPlane];
  for (unsigned i = 0; i < 16; ++i) {  // the acknowledgements of another QP take all the credits
    b.post(0, other, this->write(8, i));
    b.run_until([&] { return acks == i + 1; });
  }
  unsigned early = 0, late = 0;
  b.b().on_wire = [&](Frame& f, unsigned) {
    if (f.h.dst_qpn == this->kQp) ++(b.b().counts.dma_writes == 0 ? early : late);
    return true;
  };
  b.post(0, this->kQp, this->write(8, 20));
  b.run(500);
  EXPECT_EQ(b.status(1, this->kQp).msn, 1u);
  b.a().on_wire = [&](Frame&, unsigned) {
    b.timing.dma_ready = 0;  // the work request is here; no completion leaves from now on
    return true;
  };
  Wqe w = this->write(8, 21);
  w.opcode = raw(WqeOp::kWriteImm);
  b.post(0, this->kQp, w);
  b.run(500);
  EXPECT_EQ(b.status(1, this->kQp).msn, 2u);
  EXPECT_EQ(acks, 16u);
  b.b().stuck_port[this->kPlane] = false;
  b.run(500);
  EXPECT_EQ(b.b().counts.dma_writes, 0u);
  EXPECT_EQ(early, 0u);
  b.a().on_wire = {};
  b.timing.dma_ready = 80;
  for (unsigned i = 0; i < 18; ++i) EXPECT_EQ(b.wait_cqe(0, 0).status, raw(CqeStatus::kOk));
  this->expect_cqe(1, 1, 0, CqeStatus::kOk);
  this->expect_no_cqe(0, 0);
  EXPECT_EQ(early, 0u);
  EXPECT_EQ(late, 1u);
}

TYPED_TEST(Core, ATailThatMovesBackwardsIsAnError) {
  auto& b = this->bench;
  b.b().on_wire = [](Frame&, unsigned) { return false; };  // nothing completes
  for (unsigned i = 0; i < 4; ++i) b.write_wqe(0, this->kQp, this->write(8, i));
  b.ring(0, this->kQp);
  b.settle();
  b.ring(0, this->kQp);  // the same tail again is none
  b.settle();
  this->expect_log(0, {});
  this->expect_state(0, QpState::kReady);
  b.doorbell(0, 0, this->kQp, 3);
  for (unsigned i = 0; i < 4; ++i) this->expect_cqe(0, 0, i, CqeStatus::kFlushed);
  this->expect_no_cqe(0, 0);
  this->expect_log(0, {ErrCause::kLocal});
  this->expect_state(0, QpState::kError);
}

TYPED_TEST(Core, DoorbellsOfBadQueuesAreLogged) {
  auto& b = this->bench;
  b.doorbell(0, 0, 0xffff, 1);
  b.doorbell(0, 0, this->kQp + 1, 1);  // in reset
  b.doorbell(0, 1, this->kQp + 1, 1);
  b.doorbell(0, 2, 0xfff, 1);
  b.settle();
  this->expect_log(0, std::vector<ErrCause>(4, ErrCause::kBadQp));
  b.doorbell(0, 0, this->kQp, 17);  // a ring of 16
  b.settle();
  this->expect_log(0, {ErrCause::kLocal});
  this->expect_state(0, QpState::kError);
}

TYPED_TEST(Core, FramesForBadQueuesAreDroppedAndLogged) {
  auto& b = this->bench;
  std::vector<Frame> sent;
  this->record(0, sent);
  b.post(0, this->kQp, this->write(64, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.settle();
  const uint64_t placed = this->all(b.b().counts.placed);
  Frame f = sent[0];
  f.h.psn = b.status(1, this->kQp).expected_psn;
  for (unsigned i = 0; i < 4; ++i) {
    Frame g = f;
    if (i == 0) g.h.dst_qpn = 0xabcdef;
    if (i == 1) g.h.dst_qpn = this->kQp + 1;
    if (i == 2) g.h.src_node ^= 1;
    if (i == 3) g.h.opcode = raw(PktOp::kAck), g.h.src_node ^= 1;
    b.b().receive(g, this->kPlane);
  }
  b.settle();
  this->expect_log(1, std::vector<ErrCause>(4, ErrCause::kBadQp));
  // Damaged ones are only counted and logged.
  for (auto cause : {ErrCause::kFcs, ErrCause::kIcrc, ErrCause::kMalformed, ErrCause::kMisrouted,
                     ErrCause::kFraming}) {
    Frame g = f;
    g.h.err = raw(cause);
    b.b().receive(g, this->kPlane);
  }
  b.settle();
  this->expect_log(1, {ErrCause::kFcs, ErrCause::kIcrc, ErrCause::kMalformed, ErrCause::kMisrouted,
                       ErrCause::kFraming});
  EXPECT_EQ(this->sum(1, reg::kNicCntRxBad), 5u);
  EXPECT_EQ(this->all(b.b().counts.placed), placed);
  // A good one still is welcome.
  b.b().receive(f, this->kPlane);
  b.settle();
  EXPECT_EQ(this->all(b.b().counts.placed), placed + 1);
  // The acknowledgement of what A never sent is noticed.
  this->expect_log(0, {ErrCause::kSequence});
}

TYPED_TEST(Core, CongestionIsEchoed) {
  auto& b = this->bench;
  unsigned plane = 0;
  b.a().on_wire = [&](Frame& f, unsigned p) {
    f.h.ce = f.h.psn == 0xfffffb;
    if (f.h.ce) plane = p;
    return true;
  };
  std::vector<Frame> acks;
  this->record(1, acks);
  b.post(0, this->kQp, this->write(3 * 4096, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.post(0, this->kQp, this->write(64, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kOk);
  ASSERT_GE(acks.size(), 2u);
  unsigned becn = 0;
  for (auto& f : acks) {
    becn += f.h.becn;
    const Sack k(f.h.sack);
    EXPECT_EQ(k.ce_count(), f.h.becn);
    EXPECT_EQ(k.ce_planes(), f.h.becn ? 1u << plane : 0u);
  }
  EXPECT_EQ(becn, 1u);
  EXPECT_EQ(acks.back().h.becn, 0u);
  EXPECT_EQ(this->sum(1, reg::kNicCntRxCe), 1u);
}

TYPED_TEST(Core, ErrorLogKeepsSixteenAndCountsAll) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 20; ++i) b.doorbell(0, 0, 0x8000 + i, 1);
  b.settle();
  EXPECT_EQ(b.rd(0, reg::kNicErrCount), 20u);
  const auto l = b.log(0);
  ASSERT_EQ(l.size(), 16u);
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(l[i].qpn, 0x8000 + i);
  EXPECT_EQ(b.rd(0, reg::kNicErrInfo), 0u);
  EXPECT_EQ(b.rd(0, reg::kNicErrCount), 20u);
}

TYPED_TEST(Core, DisabledMeansNoReadsAndNoReceives) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 1000);
  b.wr(0, reg::kNicCtrl, 0);
  b.post(0, this->kQp, this->write(64, 1));
  b.settle();
  EXPECT_EQ(b.a().counts.dma_reads, 0u);
  EXPECT_TRUE(b.a().dut().idle_o);
  b.enable(0);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.wr(1, reg::kNicCtrl, 0);
  b.post(0, this->kQp, this->write(64, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kTimeout);
  this->expect_log(1, std::vector<ErrCause>(4, ErrCause::kBadQp));  // sent four times
}

TYPED_TEST(Core, RegistersAndObjectCommands) {
  auto& b = this->bench;
  EXPECT_EQ(b.rd(0, reg::kNicVersion), reg::kNicVersionReset);
  EXPECT_EQ(b.rd(0, reg::kNicCaps) & 0xff, TypeParam::B::kPlanes);
  EXPECT_EQ(b.rd(0, reg::kNicTimeout), reg::kNicTimeoutReset);
  const unsigned nqp = 1u << (b.rd(0, reg::kNicCaps) >> 8 & 0xff);
  const unsigned ncq = 1u << (b.rd(0, reg::kNicCaps) >> 16 & 0xff);
  const unsigned nmr = 1u << (b.rd(0, reg::kNicCaps) >> 24 & 0xff);
  EXPECT_TRUE(b.csr(0, true, reg::kNicVersion, 1).err);
  EXPECT_EQ(b.rd(0, reg::kNicRnrTimer), reg::kNicRnrTimerReset);
  EXPECT_EQ(b.rd(0, reg::kNicReorder), reg::kNicReorderReset);
  EXPECT_EQ(b.rd(0, reg::kNicPlaneProbe), reg::kNicPlaneProbeReset);
  EXPECT_EQ(b.rd(0, reg::kNicPlanesDown), 0u);
  for (uint32_t r : {reg::kNicTimeout, reg::kNicRnrTimer, reg::kNicPlaneProbe}) {
    const uint32_t before = b.rd(0, r);
    b.wr(0, r, 0x12345);
    EXPECT_EQ(b.rd(0, r), 0x12345u);
    b.wr(0, r, before);
  }
  b.wr(0, reg::kNicReorder, 0x3ff);
  EXPECT_EQ(b.rd(0, reg::kNicReorder), 0x3ffu);
  b.wr(0, reg::kNicReorder, reg::kNicReorderReset);
  for (uint32_t r :
       {reg::kNicCntRetransmits, reg::kNicCntTimeouts, reg::kNicCntDuplicates, reg::kNicCntDeferred,
        reg::kNicCntRnrSent, reg::kNicCntRnrReceived, reg::kNicCntLost, reg::kNicCntLost + 28}) {
    EXPECT_EQ(b.rd(0, r), 0u);
    EXPECT_TRUE(b.csr(0, true, r, 1).err);
  }
  EXPECT_TRUE(b.csr(0, false, reg::kNicVersion + 0x34).err);
  EXPECT_TRUE(b.csr(0, false, reg::kNicVersion + 0x1E0).err);
  EXPECT_TRUE(b.csr(0, false, reg::kNicVersion + 0xff8).err);
  EXPECT_TRUE(b.csr(0, true, reg::kNicCntCqes, 1).err);
  for (unsigned i = 0; i < 16; ++i) b.wr(0, reg::kNicObjData + 4 * i, 0x1111 * i);
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(b.rd(0, reg::kNicObjData + 4 * i), 0x1111 * i);
  EXPECT_EQ(b.command(0, static_cast<ObjOp>(9), 0), ObjResult::kBadOp);
  EXPECT_EQ(b.command(0, ObjOp::kNone, 0), ObjResult::kOk);
  EXPECT_EQ(b.command(0, ObjOp::kReadQp, nqp), ObjResult::kBadIndex);
  EXPECT_EQ(b.command(0, ObjOp::kSetError, nqp), ObjResult::kBadIndex);
  EXPECT_EQ(b.command(0, ObjOp::kSetError, nqp - 1), ObjResult::kBadValue);  // in reset

  QpCtx q = b.qp_ctx(0, 5, 5, 1, 0, 0);
  EXPECT_EQ(b.load(0, ObjOp::kWriteQp, nqp, q), ObjResult::kBadIndex);
  const std::vector<std::function<void(QpCtx&)>> bad_qp = {
      [](QpCtx& x) { x.state = 3; },
      [](QpCtx& x) { x.planes = 0; },
      [](QpCtx& x) { x.planes = static_cast<uint8_t>(~TypeParam::B::kAllPlanes); },
      [](QpCtx& x) { x.sq_log2 = kNicMaxRingLog2 + 1; },
      [&](QpCtx& x) { x.scq = static_cast<uint8_t>(ncq); },
      [&](QpCtx& x) { x.rcq = static_cast<uint8_t>(ncq); },
      [](QpCtx& x) { x.sq_base += 32; },
      [](QpCtx& x) { x.window = 0; },
      [](QpCtx& x) { x.window = kNicMaxWindow + 1; },
      [](QpCtx& x) { x.window = 0x8000; },
      [](QpCtx& x) { x.mtu = 3; },
  };
  for (auto& f : bad_qp) {
    QpCtx x = q;
    f(x);
    EXPECT_EQ(b.load(0, ObjOp::kWriteQp, 5, x), ObjResult::kBadValue);
    EXPECT_EQ(b.status(0, 5).state, raw(QpState::kReset));
  }
  EXPECT_EQ(b.load(0, ObjOp::kWriteQp, 5, QpCtx{}), ObjResult::kOk);  // to reset, any values

  CqCtx cq;
  cq.valid = 1;
  cq.log2 = kNicMaxRingLog2 + 1;
  EXPECT_EQ(b.load(0, ObjOp::kWriteCq, 0, cq), ObjResult::kBadValue);
  cq.log2 = 4;
  EXPECT_EQ(b.load(0, ObjOp::kWriteCq, ncq, cq), ObjResult::kBadIndex);
  cq.base = 8;
  EXPECT_EQ(b.load(0, ObjOp::kWriteCq, 0, cq), ObjResult::kBadValue);
  cq.base = 0;
  cq.irq_en = 1;
  cq.vector = kNicNumMsix;
  EXPECT_EQ(b.load(0, ObjOp::kWriteCq, 0, cq), ObjResult::kBadValue);

  MrCtx mr;
  mr.valid = 1;
  mr.base = 1ull << 63;
  mr.length = (1ull << 63) + 1;
  EXPECT_EQ(b.load(0, ObjOp::kWriteMr, 0, mr), ObjResult::kBadValue);
  mr.length -= 1;
  EXPECT_EQ(b.load(0, ObjOp::kWriteMr, 0, mr), ObjResult::kOk);
  EXPECT_EQ(b.load(0, ObjOp::kWriteMr, nmr, mr), ObjResult::kBadIndex);
}

TYPED_TEST(Core, SetErrorFlushes) {
  auto& b = this->bench;
  b.b().on_wire = [](Frame&, unsigned) { return false; };
  for (unsigned i = 0; i < 14; ++i)
    b.write_wqe(0, this->kQp, this->write(i == 7 ? 300000u % kSize : 9000, i));
  b.ring(0, this->kQp);
  b.run(700);
  EXPECT_EQ(b.command(0, ObjOp::kSetError, this->kQp), ObjResult::kOk);
  for (unsigned i = 0; i < 14; ++i) {
    EXPECT_EQ(this->expect_cqe(0, 0, i, CqeStatus::kFlushed).sq_head, i + 1);
  }
  this->expect_no_cqe(0, 0);
  EXPECT_EQ(b.a().dut().deadline_o, kNever);
}

// write_qp at any moment: nothing of the old life reaches the new one.
TYPED_TEST(Core, RewritingAQpInMidOperation) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 30; ++round) {
    b.post_receives(1, this->kQp, 5);
    for (unsigned i = 0; i < 8; ++i) {
      Wqe w = this->write(static_cast<uint32_t>(b.rng() % 20000), i);
      w.vc = raw(b.rng() % 2 ? Vc::kReq : Vc::kBulk);
      if (i % 2 == 0) w.opcode = raw(WqeOp::kWriteImm);
      b.write_wqe(0, this->kQp, w);
    }
    b.ring(0, this->kQp);
    b.run(b.rng() % 600);
    // Frames of the old life may still arrive: other numbers tell them apart.
    const uint32_t psn = static_cast<uint32_t>(b.rng() & 0xffffff);
    const unsigned planes = 1 + static_cast<unsigned>(b.rng() % TypeParam::B::kAllPlanes);
    b.connect(this->kQp, planes, 0, 1, [&](QpCtx& x) {
      const bool is_a = x.remote_node == b.b().node();
      (is_a ? x.sq_psn : x.rq_psn) = psn;
    });
    b.settle();
    Cqe e;
    for (unsigned c = 0; c < 2; ++c) {
      for (unsigned cq = 0; cq < 2; ++cq) {
        while (b.poll(c, cq, e)) {
        }
      }
      b.log(c);
    }
    EXPECT_EQ(b.status(0, this->kQp).state, raw(QpState::kReady));
    b.connect(this->kQp, planes, 0, 1, [&](QpCtx& x) {
      const bool is_a = x.remote_node == b.b().node();
      (is_a ? x.sq_psn : x.rq_psn) = psn ^ 0x800000;
    });
    b.post_receives(1, this->kQp, 1);
    Wqe w = this->write(10000, 99);
    w.opcode = raw(WqeOp::kWriteImm);
    b.post(0, this->kQp, w);
    this->expect_cqe(0, 0, 99, CqeStatus::kOk);
    this->expect_cqe(1, 1, 0, CqeStatus::kOk);
    this->expect_no_cqe(0, 0);
    this->expect_log(0, {});
    this->expect_log(1, {});
    if (testing::Test::HasFailure()) return;
  }
}

// A ring entry that was requested before write_qp and comes after it: forgotten, whether there is
// work in the new life by then or not, and also if the read is refused.
TYPED_TEST(Core, EntriesReadForAnEarlierLifeAreDropped) {
  auto& b = this->bench;
  const uint64_t new_ring = TypeParam::B::ring_base(40);
  const Timing usual = b.timing;
  uint32_t wqes = 0;
  for (unsigned round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    const bool busy = round & 1, refused = round & 2;
    const uint64_t reads = b.a().counts.dma_reads;
    b.timing.dma_min = b.timing.dma_max = 5000;
    for (unsigned i = 0; i < 4; ++i) b.write_wqe(0, this->kQp, this->write(8, 60 + i));
    b.ring(0, this->kQp);
    b.run_until([&] { return b.a().counts.dma_reads == reads + 4; });
    if (refused) b.a().mem.forbid(TypeParam::B::ring_base(this->kQp), 1024);
    b.connect(this->kQp, this->kMask, 0, 1, [&](QpCtx& x) { x.sq_base = new_ring; });
    uint8_t bytes[64];
    this->write(5000, 70).pack(bytes);
    b.a().mem.write(new_ring, bytes, 64);
    if (!busy) b.settle();
    b.doorbell(0, 0, this->kQp, 1);
    this->expect_cqe(0, 0, 70, CqeStatus::kOk);
    this->expect_no_cqe(0, 0);
    EXPECT_EQ(b.status(0, this->kQp).sq_head, 1u);
    EXPECT_EQ(b.rd(0, reg::kNicCntWqes), ++wqes);
    this->expect_log(0, {});
    this->expect_state(0, QpState::kReady);
    b.timing = usual;
    this->again();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Core, ResetInMidOperation) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 5; ++round) {
    for (unsigned i = 0; i < 8; ++i) b.write_wqe(0, this->kQp, this->write(9000, i));
    b.ring(0, this->kQp);
    b.run(100 + b.rng() % 500);
    b.reset(1 + static_cast<unsigned>(b.rng() % 3));
    b.settle();
    for (unsigned c = 0; c < 2; ++c) {
      EXPECT_EQ(b.status(c, this->kQp).state, raw(QpState::kReset));
      EXPECT_EQ(b.rd(c, reg::kNicErrCount), 0u);
      EXPECT_EQ(b.rd(c, reg::kNicCntWqes), 0u);
      b.enable(c);
      b.make_cq(c, 0, 6);
      b.make_cq(c, 1, 6);
      this->lkey[c] = b.make_mr(c, 1, kSrc, kSize, true, false, false);
      this->rkey[c] = b.make_mr(c, 2, kDst, kSize, false, true, true);
    }
    b.connect(this->kQp, this->kMask);
    b.post(0, this->kQp, this->write(20000, 7));
    this->expect_cqe(0, 0, 7, CqeStatus::kOk);
    this->expect_copied(0, 20000);
    b.settle();
    this->expect_no_cqe(0, 0);
  }
}

// Outputs are functions of registers only.
TYPED_TEST(Core, OutputsDoNotDependOnInputs) {
  auto& b = this->bench;
  for (unsigned i = 0; i < 8; ++i) b.write_wqe(0, this->kQp, this->write(9000, i));
  b.ring(0, this->kQp);
  auto& d = b.a().dut();
  for (unsigned i = 0; i < 1500; ++i) {
    b.step();
    const auto before = std::make_tuple(
        +d.csr_req_ready_o, +d.csr_rsp_valid_o, +d.db_ready_o, +d.dma_req_valid_o, +d.txd_valid_o,
        +d.txc_ready_o, +d.rxh_ready_o, +d.rxv_valid_o, +d.rxd_ready_o, +d.idle_o, +d.deadline_o);
    const Txd txd = get<Txd>(d.txd_o, this->kPlane * Txd::kBits);
    d.csr_req_valid_i ^= 1;
    d.db_valid_i ^= 1;
    d.dma_req_ready_i ^= 1;
    d.dma_rsp_valid_i ^= 1;
    d.txc_valid_i = static_cast<uint8_t>(~d.txc_valid_i);
    d.rxh_valid_i ^= 1;
    d.rxv_ready_i ^= 1;
    d.rxd_valid_i ^= 1;
    d.txd_credit_i ^= 7;
    d.now_i += 12345;
    d.eval();
    EXPECT_EQ(before,
              std::make_tuple(+d.csr_req_ready_o, +d.csr_rsp_valid_o, +d.db_ready_o,
                              +d.dma_req_valid_o, +d.txd_valid_o, +d.txc_ready_o, +d.rxh_ready_o,
                              +d.rxv_valid_o, +d.rxd_ready_o, +d.idle_o, +d.deadline_o));
    EXPECT_EQ(txd, get<Txd>(d.txd_o, this->kPlane * Txd::kBits));
    d.txc_valid_i = static_cast<uint8_t>(~d.txc_valid_i);
    d.rxh_valid_i ^= 1;
    d.rxd_valid_i ^= 1;
    if (testing::Test::HasFailure()) return;
  }
}

using Wide = Core<Setup<Vnic_coreChk, 8>>;

TEST_F(Wide, APlaneWithoutCreditsBlocksNobodyElse) {
  auto& b = bench;
  b.a().stuck_port[0] = true;
  b.wr(0, reg::kNicTimeout, 5000);
  for (unsigned q = 10; q < 18; ++q) {
    b.connect(q, 1u << (q - 10), 0, 1, [](QpCtx& x) { x.retry = 0; });
  }
  for (unsigned n = 0; n < 3; ++n) {
    for (unsigned q = 10; q < 18; ++q) b.post(0, q, this->write(30000, q, 0));
  }
  // Seven QPs complete three messages each; the eighth gets nowhere ...
  std::map<uint64_t, unsigned> done;
  for (unsigned i = 0; i < 21; ++i) {
    const Cqe e = b.wait_cqe(0, 0);
    EXPECT_EQ(e.status, raw(CqeStatus::kOk));
    ++done[e.wr_id];
  }
  EXPECT_EQ(done.count(10), 0u);
  // ... and ends in a time-out, although its plane never takes anything again.
  EXPECT_EQ(this->expect_cqe(0, 0, 10, CqeStatus::kTimeout).qpn, 10u);
  this->expect_cqe(0, 0, 10, CqeStatus::kFlushed);
  this->expect_cqe(0, 0, 10, CqeStatus::kFlushed);
  // The same QP on another plane works at once.
  b.connect(10, 2);
  b.post(0, 10, this->write(30000, 55));
  b.run_until([&] { return b.a().now % 2 == 0; });
  EXPECT_EQ(b.wait_cqe(0, 0).wr_id, 55u);
}

// ------------------------------------------------------------------------------ READ

template <class S>
class Read : public Core<S> {
 protected:
  static constexpr uint64_t kIn = 0x100000;
  Read() {
    for (unsigned c = 0; c < 2; ++c) {
      lkey_in[c] = this->bench.make_mr(c, 6, kIn, kSize, false, false, false, true, false);
      rkey_rd[c] = this->bench.make_mr(c, 7, kSrc, kSize, false, false, false, false, true);
    }
  }
  // Of the peer's kSrc into the own kIn.
  Wqe read(uint32_t length, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w;
    w.opcode = raw(WqeOp::kRead);
    w.signalled = 1;
    w.vc = raw(Vc::kReq);
    w.length = length;
    w.laddr = kIn + off;
    w.raddr = kSrc + off;
    w.lkey = lkey_in[0];
    w.rkey = rkey_rd[1];
    w.wr_id = wr_id;
    return w;
  }
  void expect_read(uint64_t off, uint32_t length) {
    EXPECT_TRUE(this->bench.a().mem.read(kIn + off, length) ==
                this->bench.b().mem.read(kSrc + off, length));
  }
  uint32_t lkey_in[2] = {}, rkey_rd[2] = {};
};
TYPED_TEST_SUITE(Read, Sizes);

TYPED_TEST(Read, BringsAMessage) {
  auto& b = this->bench;
  std::vector<Frame> asked, answered;
  this->record(0, asked);
  this->record(1, answered);
  b.post(0, this->kQp, this->read(10001, 77));
  const Cqe e = this->expect_cqe(0, 0, 77, CqeStatus::kOk);
  EXPECT_EQ(e.opcode, raw(WqeOp::kRead));
  EXPECT_EQ(e.byte_len, 10001u);
  EXPECT_EQ(e.psn, 0xfffffcu);
  this->expect_read(0, 10001);
  b.settle();
  ASSERT_EQ(asked.size(), 3u);
  ASSERT_EQ(answered.size(), 3u);
  this->sort(asked);
  this->sort(answered);
  for (unsigned i = 0; i < 3; ++i) {
    const uint32_t len = i == 2 ? 10001 - 8192 : 4096;
    EXPECT_EQ(asked[i].h.opcode, raw(PktOp::kReadRequest));
    EXPECT_EQ(asked[i].h.vc, raw(Vc::kReq));
    EXPECT_EQ(asked[i].h.raddr, kSrc + 4096 * i);
    EXPECT_EQ(asked[i].h.len, len);
    EXPECT_EQ(asked[i].h.psn, 0xfffffau + i);
    EXPECT_EQ(answered[i].h.opcode, raw(PktOp::kReadResponse));
    EXPECT_EQ(answered[i].h.vc, raw(Vc::kBulk));
    EXPECT_EQ(answered[i].h.psn, 0xfffffau + i);
    EXPECT_EQ(answered[i].h.len, len);
    EXPECT_EQ(answered[i].h.syndrome, raw(Syndrome::kAck));
    EXPECT_EQ(answered[i].h.msn, i + 1);
    EXPECT_EQ(answered[i].h.dst_qpn, this->kQp);
  }
  EXPECT_EQ(this->sum(0, reg::kNicCntTxPackets), 3u);
  EXPECT_EQ(this->sum(0, reg::kNicCntTxBytes, 8), 0u);
  EXPECT_EQ(this->sum(1, reg::kNicCntTxBytes, 8), 10001u);
  EXPECT_EQ(this->sum(1, reg::kNicCntTxAcks), 3u);
  EXPECT_EQ(this->sum(0, reg::kNicCntRxAcks), 3u);
  const QpStatus sa = b.status(0, this->kQp), sb = b.status(1, this->kQp);
  EXPECT_EQ(sa.una_psn, sa.next_psn);
  EXPECT_EQ(sb.expected_psn, 0xfffffdu);
  EXPECT_EQ(sb.msn, 3u);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

TYPED_TEST(Read, OfNothingNeedsNoKeys) {
  auto& b = this->bench;
  Wqe w = this->read(0, 5);
  w.lkey = w.rkey = 0xffffffff;
  b.post(0, this->kQp, w);
  this->expect_cqe(0, 0, 5, CqeStatus::kOk);
  this->expect_log(0, {});
  this->expect_log(1, {});
}

// In order with writes: a READ sees what was written before it and not what is written after it.
TYPED_TEST(Read, KeepsItsPlaceBetweenWrites) {
  auto& b = this->bench;
  b.timing.mem_max = 300;
  const uint32_t both = b.make_mr(1, 8, kDst, kSize, false, true, true, false, true);
  for (unsigned vc : {raw(Vc::kReq), raw(Vc::kBulk)}) {
    for (unsigned i = 0; i < 4; ++i) {
      Wqe w = this->write(6000, 2 * i, 6000 * i);
      w.raddr = kDst;
      w.vc = static_cast<uint8_t>(vc);
      w.rkey = both;
      b.write_wqe(0, this->kQp, w);
      w = this->read(6000, 2 * i + 1, 6000 * i);
      w.raddr = kDst;
      w.rkey = both;
      b.write_wqe(0, this->kQp, w);
    }
    b.ring(0, this->kQp);
    for (unsigned i = 0; i < 8; ++i) this->expect_cqe(0, 0, i, CqeStatus::kOk);
    EXPECT_TRUE(b.a().mem.read(kSrc, 24000) == b.a().mem.read(this->kIn, 24000));
  }
  this->expect_log(0, {});
  this->expect_log(1, {});
}

TYPED_TEST(Read, IsBoundedInFlight) {
  auto& b = this->bench;
  unsigned asked = 0;
  b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.window = kNicMaxWindow; });
  b.a().on_wire = [&](Frame&, unsigned) { return ++asked, true; };
  b.b().stuck_bulk = true;
  b.post(0, this->kQp, this->read(200000, 1));
  b.run(3000);
  EXPECT_EQ(asked, kNicMaxReads);
  b.b().stuck_bulk = false;
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_read(0, 200000);
}

// Responses that cannot leave hold up neither acknowledgements nor requests, in both directions.
TYPED_TEST(Read, WithoutBulkCreditsBlocksNobodyElse) {
  auto& b = this->bench;
  b.connect(4, this->kMask);
  b.a().stuck_bulk = b.b().stuck_bulk = true;
  for (unsigned c = 0; c < 2; ++c) {
    for (unsigned i = 0; i < 3; ++i) {
      Wqe w = this->read(40000, i, 40000 * i);
      w.lkey = this->lkey_in[c];
      w.rkey = this->rkey_rd[1 - c];
      b.write_wqe(c, this->kQp, w);
    }
    b.ring(c, this->kQp);
  }
  b.run(2000);
  for (unsigned c = 0; c < 2; ++c) {
    Wqe w = this->write(9000, 10 + c);
    w.vc = raw(Vc::kReq);
    w.lkey = this->lkey[c];
    w.rkey = this->rkey[1 - c];
    b.post(c, 4, w);
    this->expect_cqe(c, 0, 10 + c, CqeStatus::kOk);
  }
  b.a().stuck_bulk = b.b().stuck_bulk = false;
  for (unsigned c = 0; c < 2; ++c) {
    for (unsigned i = 0; i < 3; ++i) this->expect_cqe(c, 0, i, CqeStatus::kOk);
  }
  this->expect_read(0, 120000);
}

// A READ that is refused: those before it bring their data, those behind are flushed.
TYPED_TEST(Read, RefusedByTheResponder) {
  auto& b = this->bench;
  struct Case {
    const char* name;
    std::function<void(Wqe&)> spoil;
  };
  const std::vector<Case> cases = {
      {"key", [](Wqe& w) { w.rkey ^= 2; }},
      {"right", [&](Wqe& w) { w.rkey = this->rkey[1], w.raddr = kDst; }},
      {"below", [](Wqe& w) { w.raddr = kSrc - 1; }},
      {"above", [](Wqe& w) { w.raddr = kSrc + kSize - w.length + 1; }},
      {"wrap", [](Wqe& w) { w.raddr = ~0ull - 3; }},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    b.write_wqe(0, this->kQp, this->read(20000, 1));
    Wqe w = this->read(64, 2);
    c.spoil(w);
    b.write_wqe(0, this->kQp, w);
    b.write_wqe(0, this->kQp, this->read(64, 3));
    b.ring(0, this->kQp);
    this->expect_cqe(0, 0, 1, CqeStatus::kOk);
    EXPECT_EQ(this->expect_cqe(0, 0, 2, CqeStatus::kRemoteAccess).psn, 0xffffffu);
    this->expect_cqe(0, 0, 3, CqeStatus::kFlushed);
    this->expect_read(0, 20000);
    this->expect_no_cqe(0, 0);
    this->expect_state(0, QpState::kError);
    this->expect_state(1, QpState::kError);
    this->expect_failed_log(0, ErrCause::kNak);
    auto l = b.log(1);
    EXPECT_EQ(b.count(l, ErrCause::kAccess), 1u);
    this->again();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Read, UnexpectedResponsesAreDroppedAndLogged) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 2000);
  std::vector<Frame> answered;
  b.b().on_wire = [&](Frame& f, unsigned plane) {
    answered.push_back(f);
    Frame copy = f;
    copy.due = 0;
    b.a().receive(copy, plane);  // twice
    return true;
  };
  b.post(0, this->kQp, this->read(10000, 1));
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  b.settle();
  this->expect_read(0, 10000);
  auto l = b.log(0);
  EXPECT_EQ(b.count(l, ErrCause::kSequence), l.size());
  // One of another length, of another sender, for a QP in reset.
  b.b().on_wire = [&](Frame& f, unsigned) { return f.h.len = 40, f.payload.resize(40), true; };
  b.post(0, this->kQp, this->read(100, 2));
  this->expect_cqe(0, 0, 2, CqeStatus::kTimeout);
  Frame f = answered[0];
  f.due = 0;
  f.h.src_node ^= 1;
  b.a().receive(f, this->kPlane);
  f = answered[0];
  f.due = 0;
  f.h.dst_qpn = this->kQp + 1;
  b.a().receive(f, this->kPlane);
  b.settle();
  l = b.log(0);
  EXPECT_EQ(b.count(l, ErrCause::kSequence), 4u);  // sent four times
  EXPECT_EQ(b.count(l, ErrCause::kTimeout), 1u);
  EXPECT_EQ(b.count(l, ErrCause::kBadQp), 2u);
  EXPECT_EQ(l.size(), 7u);
}

TYPED_TEST(Read, MemoryThatRefuses) {
  auto& b = this->bench;
  b.b().mem.forbid(kSrc + 9000, 1);
  b.write_wqe(0, this->kQp, this->read(8000, 1));
  b.write_wqe(0, this->kQp, this->read(4000, 2, 8192));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kRemoteOperation);
  this->expect_read(0, 8000);
  this->expect_log(1, {ErrCause::kMemWrite});
  this->again();
  b.a().mem.forbid(this->kIn + 9000, 1);
  b.write_wqe(0, this->kQp, this->read(8000, 1));
  b.write_wqe(0, this->kQp, this->read(4000, 2, 8192));
  b.ring(0, this->kQp);
  this->expect_cqe(0, 0, 1, CqeStatus::kOk);
  this->expect_cqe(0, 0, 2, CqeStatus::kLocalMemory);
  this->expect_state(0, QpState::kError);
  this->expect_log(0, {ErrCause::kMemWrite});
}

// Beyond what the contract lets a requester do: more READs than the table holds, something else
// behind them. Whatever becomes of these, the READs before them are answered.
TYPED_TEST(Read, BadRequestersDoNoHarm) {
  auto& b = this->bench;
  b.wr(0, reg::kNicTimeout, 100000);
  for (bool write : {false, true}) {
    std::vector<Frame> asked;
    b.a().on_wire = [&](Frame& f, unsigned) { return asked.push_back(f), true; };
    b.b().stuck_bulk = true;
    b.connect(this->kQp, this->kMask, 0, 1, [](QpCtx& x) { x.window = kNicMaxWindow; });
    b.post(0, this->kQp, this->read(200000, 1));
    b.run(3000);
    ASSERT_EQ(asked.size(), kNicMaxReads);
    this->sort(asked);
    const uint64_t placed = b.monitor.totals[1].placed;
    Frame f = asked.back();
    f.due = 0;
    f.h.ack_req = 0;
    for (unsigned i = 0; i < 40; ++i) {
      f.h.psn = (f.h.psn + 1) & 0xffffff;
      if (write) {
        f.h.opcode = raw(PktOp::kWrite);
        f.h.vc = raw(Vc::kReq);
        f.h.rkey = this->rkey[1] ^ 1;
        f.h.len = 0;
      }
      b.b().receive(f, this->kPlane);
      b.run(50);
    }
    b.b().stuck_bulk = false;
    b.monitor.ignore(0, this->kQp);
    b.run(3000);
    EXPECT_TRUE(b.a().mem.read(this->kIn, 32 * 4096) == b.b().mem.read(kSrc, 32 * 4096));
    EXPECT_LE(b.monitor.totals[1].placed - placed, 40u);
    this->again();
    const std::vector<uint8_t> zero(kSize);
    b.a().mem.write(this->kIn, zero.data(), zero.size());
    b.post(0, this->kQp, this->read(20000, 2));
    this->expect_cqe(0, 0, 2, CqeStatus::kOk);
    this->expect_read(0, 20000);
  }
}

TYPED_TEST(Read, ResetInMidOperation) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 5; ++round) {
    b.post(0, this->kQp, this->read(100000, 1));
    b.run(50 + b.rng() % 1500);
    b.reset(1 + static_cast<unsigned>(b.rng() % 3));
    b.settle();
    for (unsigned c = 0; c < 2; ++c) {
      b.enable(c);
      b.make_cq(c, 0, 6);
      b.make_cq(c, 1, 6);
      b.make_mr(c, 6, this->kIn, kSize, false, false, false, true, false);
      b.make_mr(c, 7, kSrc, kSize, false, false, false, false, true);
    }
    b.connect(this->kQp, this->kMask);
    b.post(0, this->kQp, this->read(50000, 7, 100000));
    this->expect_cqe(0, 0, 7, CqeStatus::kOk);
    this->expect_read(100000, 50000);
    this->expect_log(0, {});
    this->expect_log(1, {});
  }
}

TYPED_TEST(Read, RewritingAQpInMidOperation) {
  auto& b = this->bench;
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    b.post(0, this->kQp, this->read(100000, 1));
    b.run(50 + b.rng() % 1500);
    b.connect(this->kQp, this->kMask);
    b.settle();
    for (unsigned c = 0; c < 2; ++c) {
      b.log(c);
      b.make_cq(c, 0, 6);
    }
    b.connect(this->kQp, this->kMask);
    const std::vector<uint8_t> zero(30000);
    b.a().mem.write(this->kIn, zero.data(), zero.size());
    b.post(0, this->kQp, this->read(30000, 9));
    this->expect_cqe(0, 0, 9, CqeStatus::kOk);
    this->expect_read(0, 30000);
    this->expect_log(0, {});
    this->expect_log(1, {});
  }
}

}  // namespace
}  // namespace nic_core_test
