// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_card.hpp"
#include "ubl/driver/device.hpp"
#include "ubl/driver/host_costs.hpp"
#include "ubl/test/seed.hpp"

namespace ubl::driver::test {
namespace {

namespace reg = spec::reg;
using ::testing::HasSubstr;

/// Runs `f`, which must throw `Error`, and returns what it says.
template <class Error, class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return "";
  }
  ADD_FAILURE() << "no exception";
  return "";
}

spec::Wqe write_wqe(uint64_t id, bool signalled = true) {
  spec::Wqe w;
  w.opcode = static_cast<uint8_t>(spec::WqeOp::kWrite);
  w.signalled = signalled;
  w.length = static_cast<uint32_t>(id);
  w.wr_id = id;
  return w;
}

class Driver : public ::testing::Test {
 protected:
  Device& open() {
    device_ = std::make_unique<Device>(card);
    return *device_;
  }
  Qp& connected(QpConfig cfg, uint32_t remote_qpn = 9) {
    Qp& qp = device_->create_qp(cfg);
    qp.connect(3, remote_qpn, 100, 200);
    return qp;
  }
  FakeCard card;
  std::unique_ptr<Device> device_;
};

// ------------------------------------------------------------------------- opening the card

TEST_F(Driver, OpensTheCard) {
  card.command = 0x400;
  card.config_writable = 0x406;
  Device& d = open();
  EXPECT_EQ(d.node(), 77);
  EXPECT_EQ(d.planes(), 8u);
  EXPECT_EQ(d.hbm_size(), card.hbm_size());
  EXPECT_EQ(card.command, 0x406u);  // other bits kept
  EXPECT_EQ(card.ctrl, 1u);
  EXPECT_EQ(d.counter(reg::kNicCntCqes), 4711u);
}

TEST_F(Driver, RefusesOtherDevices) {
  card.config_id = 0x12345678;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("5678:1234"));
  card.config_id = 0xffffffff;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("ffff:ffff"));
  EXPECT_TRUE(card.log.empty());  // a strange device is left alone
}

TEST_F(Driver, RefusesWhatItCannotDrive) {
  card.config_writable = 2;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("bus mastering"));
  card.config_writable = 6;
  card.host_id = 0;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("host.id"));
  card.host_id = reg::kHostIdReset;
  card.version = 0x20003;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("2.3"));
  card.version = 0x10007;  // a later minor version is fine
  card.caps = 0xffffffff;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("nic.caps"));
  card.caps = 2 | 3 << 8 | 2 << 16 | 2 << 24;
  card.ctrl_works = false;
  EXPECT_THAT(message<DeviceError>([&] { open(); }), HasSubstr("nic.ctrl"));
  card.ctrl_works = true;
  open();
  EXPECT_EQ(device_->planes(), 2u);
}

TEST_F(Driver, ClosingStopsTheNicBeforeRingsAreFreed) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  connected(cfg);
  EXPECT_EQ(card.live_buffers, 2u);
  device_.reset();
  EXPECT_EQ(card.live_buffers, 0u);
  EXPECT_EQ(card.ctrl, 0u);
  EXPECT_EQ(card.command & 4, 0u);
  for (const auto& a : card.log) {
    if (a.kind != 'f') continue;
    EXPECT_EQ(a.value, 0u) << "freed while the NIC was on";
  }
}

TEST_F(Driver, ClosingABrokenLinkDoesNotThrow) {
  open().create_cq(4);
  card.broken_link = true;
  EXPECT_NO_THROW(device_.reset());
  EXPECT_EQ(card.live_buffers, 0u);
}

// ----------------------------------------------------------------------------- object commands

TEST_F(Driver, ContextsReachTheCard) {
  Device& d = open();
  Cq& scq = d.create_cq(5);
  Cq& rcq = d.create_cq(12);
  EXPECT_EQ(card.cqs[scq.cqn()].ctx.valid, 1);
  EXPECT_EQ(card.cqs[scq.cqn()].ctx.log2, 5);
  EXPECT_EQ(card.cqs[rcq.cqn()].ctx.log2, 12);
  QpConfig cfg;
  cfg.planes = 0x85;
  cfg.mtu = spec::MtuCode::kB1024;
  cfg.retry = 3;
  cfg.rnr_retry = 15;
  cfg.sq_log2 = 3;
  cfg.pd = 11;
  cfg.scq = scq.cqn();
  cfg.rcq = rcq.cqn();
  cfg.window = 512;
  Qp& qp = d.create_qp(cfg);
  EXPECT_FALSE(qp.connected());
  EXPECT_EQ(card.commands[spec::ObjOp::kWriteQp], 0u);
  qp.connect(0xABCD, 0xFEDCBA, 0xFFFFFF, 5);
  EXPECT_TRUE(qp.connected());
  const spec::QpCtx& c = card.qps[qp.qpn()].ctx;
  EXPECT_EQ(c.state, static_cast<uint8_t>(spec::QpState::kReady));
  EXPECT_EQ(c.planes, 0x85);
  EXPECT_EQ(c.mtu, static_cast<uint8_t>(spec::MtuCode::kB1024));
  EXPECT_EQ(c.retry, 3);
  EXPECT_EQ(c.rnr_retry, 15);
  EXPECT_EQ(c.sq_log2, 3);
  EXPECT_EQ(c.pd, 11);
  EXPECT_EQ(c.remote_node, 0xABCD);
  EXPECT_EQ(c.scq, scq.cqn());
  EXPECT_EQ(c.rcq, rcq.cqn());
  EXPECT_EQ(c.remote_qpn, 0xFEDCBAu);
  EXPECT_EQ(c.sq_psn, 0xFFFFFFu);
  EXPECT_EQ(c.rq_psn, 5u);
  EXPECT_EQ(c.window, 512);
  EXPECT_EQ(c.sq_base >> 63, 1u);
  EXPECT_EQ(c.rq_ring, 0);
  EXPECT_EQ(c.rq_log2, 0);
  EXPECT_EQ(c.rq_base, 0u);
  const spec::QpStatus s = qp.query();
  EXPECT_EQ(s.state, static_cast<uint8_t>(spec::QpState::kReady));
  EXPECT_EQ(s.next_psn, 0xFFFFFFu);
  for (const unsigned rq_log2 : {0u, 12u}) {
    cfg.rq_log2 = rq_log2;
    Qp& with_ring = connected(cfg);
    const spec::QpCtx& r = card.qps[with_ring.qpn()].ctx;
    EXPECT_EQ(r.rq_ring, 1);
    EXPECT_EQ(r.rq_log2, rq_log2);
    EXPECT_EQ(r.rq_base >> 63, 1u);
    EXPECT_NE(r.rq_base, r.sq_base);
    EXPECT_EQ(r.sq_log2, 3);
  }
}

TEST_F(Driver, CommandIsLookedAtWithPauses) {
  Device& d = open();
  card.busy_reads = 5;
  d.create_cq(4);
  EXPECT_EQ(card.count('r', reg::kNicObjResult), 6u);
  EXPECT_EQ(card.waits, 5u);
}

TEST_F(Driver, UnchangedContextWordsAreNotWrittenAgain) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  connected(cfg);
  card.log.clear();
  Qp& second = connected(cfg, 10);
  uint64_t words = 0;
  for (const auto& a : card.log) {
    words += a.kind == 'w' && a.offset >= reg::kNicObjData && a.offset < reg::kNicObjData + 64;
  }
  EXPECT_EQ(words, 2u);  // remote_qpn and the low word of sq_base
  EXPECT_EQ(card.qps[second.qpn()].ctx.window, 256);
  // Reading a QP changes OBJ_DATA; the driver does not rely on what was there.
  second.query();
  Qp& third = connected(cfg, 11);
  EXPECT_EQ(card.qps[third.qpn()].ctx.window, 256);
  EXPECT_EQ(card.qps[third.qpn()].ctx.remote_node, 3);
}

TEST_F(Driver, DeviceThatNeverAnswers) {
  Device& d = open();
  card.never_answers = true;
  const uint64_t start = card.time;
  const std::string m = message<DeviceError>([&] { d.create_cq(4); });
  EXPECT_THAT(m, HasSubstr("write_cq of CQ 0"));
  EXPECT_THAT(m, HasSubstr("busy after"));
  EXPECT_GE(card.time - start, 10'000'000u);
  EXPECT_LE(card.time - start, 12'000'000u);
  EXPECT_LE(card.longest_wait, 100'000u);
  EXPECT_EQ(card.live_buffers, 0u);
  card.never_answers = false;
  d.create_cq(4);  // nothing is left of the attempt
}

TEST_F(Driver, SlowClockIsWaitedForByLooks) {
  DeviceOptions o;
  o.command_timeout_ns = 1;  // over before the first look
  Device d(card, o);
  card.busy_reads = 60;
  EXPECT_NO_THROW(d.create_cq(4));
  card.busy_reads = 70;
  EXPECT_THROW(d.create_cq(4), DeviceError);
  o.command_timeout_ns = 0;
  EXPECT_THROW(Device(card, o), UsageError);
}

TEST_F(Driver, RefusedCommandNamesObjectAndResult) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  card.fail_result = static_cast<uint32_t>(spec::ObjResult::kBadValue);
  EXPECT_THAT(message<DeviceError>([&] { d.register_mr(64, 64); }),
              HasSubstr("write_mr of MR 0: refused with bad_value"));
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = d.create_qp(cfg);
  card.fail_result = static_cast<uint32_t>(spec::ObjResult::kBadIndex);
  EXPECT_THAT(message<DeviceError>([&] { qp.connect(1, 2, 3, 4); }),
              HasSubstr("write_qp of QP 0: refused with bad_index"));
  EXPECT_FALSE(qp.connected());
  qp.connect(1, 2, 3, 4);
  card.dead = true;
  EXPECT_THAT(message<DeviceError>([&] { d.create_cq(4); }), HasSubstr("0xffffffff"));
}

TEST_F(Driver, CommandIndexIsChecked) {
  EXPECT_THAT(
      message<UsageError>([&] { open().object_command(spec::ObjOp::kSetError, 65536, nullptr); }),
      HasSubstr("index = 65536 is not in 0..65535"));
}

// ------------------------------------------------------------------------- queues

TEST_F(Driver, PostRingPollThroughManyWraps) {
  Device& d = open();
  for (unsigned sq_log2 : {0u, 1u, 4u}) {
    for (unsigned cq_log2 : {0u, 1u, 2u, 5u}) {
      SCOPED_TRACE(testing::Message() << "sq_log2 " << sq_log2 << " cq_log2 " << cq_log2);
      Cq& cq = d.create_cq(cq_log2);
      QpConfig cfg;
      cfg.sq_log2 = sq_log2;
      cfg.scq = cfg.rcq = cq.cqn();
      Qp& qp = connected(cfg);
      EXPECT_EQ(qp.free_entries(), 1u << sq_log2);
      EXPECT_FALSE(cq.poll());
      uint64_t sent = 0, seen = 0;
      const unsigned batch = std::min({1u << sq_log2, 1u << cq_log2});
      auto rng = ubl::test::rng(sq_log2 * 16 + cq_log2);
      while (seen < 70000) {  // past 2^16 of every free-running index
        const unsigned n = 1 + unsigned(rng() % batch);
        for (unsigned i = 0; i < n; ++i) qp.post(write_wqe(sent++));
        qp.ring();
        while (auto cqe = cq.poll()) {
          ASSERT_EQ(cqe->wr_id, seen++);
          ASSERT_EQ(cqe->qpn, qp.qpn());
          qp.on_completion(*cqe);
        }
        ASSERT_EQ(seen, sent);
        ASSERT_EQ(qp.free_entries(), 1u << sq_log2);
      }
      EXPECT_EQ(card.cq_overflows, 0u);
      // Lazy: one consumer doorbell per quarter ring.
      EXPECT_EQ(card.cqs[cq.cqn()].doorbells, seen / std::max(1u, (1u << cq_log2) / 4));
      d.destroy_qp(qp);
      d.destroy_cq(cq);
    }
  }
}

TEST_F(Driver, CompletionQueueCanBeFilledToTheLastEntry) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  for (uint32_t round = 0; round < 40; ++round) {
    // The device may not know of up to a quarter of what was consumed.
    for (uint32_t i = 0; i < 12; ++i) {
      spec::Cqe c;
      c.wr_id = round * 12 + i;
      card.complete(cq.cqn(), c);
    }
    for (uint32_t i = 0; i < 12; ++i) {
      const auto c = cq.poll();
      ASSERT_TRUE(c);
      ASSERT_EQ(c->wr_id, round * 12 + i);
    }
    ASSERT_FALSE(cq.poll());
  }
  EXPECT_EQ(card.cq_overflows, 0u);
}

TEST_F(Driver, FullSendRing) {
  Device& d = open();
  Cq& cq = d.create_cq(6);
  QpConfig cfg;
  cfg.sq_log2 = 2;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = connected(cfg);
  card.hold = true;
  for (uint64_t i = 0; i < 4; ++i) qp.post(write_wqe(i, i == 3));
  EXPECT_EQ(qp.free_entries(), 0u);
  EXPECT_THAT(message<UsageError>([&] { qp.post(write_wqe(4)); }), HasSubstr("all 4 entries"));
  EXPECT_TRUE(card.executed.empty());
  qp.ring();
  qp.ring();  // nothing new: no doorbell
  EXPECT_EQ(card.qps[qp.qpn()].doorbells, 1u);
  card.execute(qp.qpn());
  EXPECT_EQ(card.executed.size(), 4u);
  const auto cqe = cq.poll();  // one signalled request frees all four entries
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->wr_id, 3u);
  qp.on_completion(*cqe);
  EXPECT_EQ(qp.free_entries(), 4u);
}

TEST_F(Driver, BadRequestIsTheDevicesToReport) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = connected(cfg);
  spec::Wqe w = write_wqe(5, false);
  w.opcode = 99;
  qp.post(w);
  qp.ring();
  const auto cqe = cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, static_cast<uint8_t>(spec::CqeStatus::kBadOpcode));
}

TEST_F(Driver, WorkBeforeConnectIsToldByConnect) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = d.create_qp(cfg);
  qp.post(write_wqe(1));
  qp.ring();
  qp.post_receives(5);
  EXPECT_TRUE(card.qps.empty());
  qp.connect(1, 2, 3, 4);
  EXPECT_EQ(card.executed.size(), 1u);
  EXPECT_EQ(card.qps[qp.qpn()].receives, 5);
}

TEST_F(Driver, Receives) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = connected(cfg);
  EXPECT_FALSE(card.receive(qp.qpn(), 1));
  for (uint32_t i = 0; i < 70000; ++i) {  // the total wraps
    qp.post_receives(1);
    ASSERT_TRUE(card.receive(qp.qpn(), i));
    const auto cqe = cq.poll();
    ASSERT_TRUE(cqe);
    ASSERT_EQ(cqe->imm, i);
    ASSERT_EQ(cqe->recv, 1);
  }
  qp.post_receives(32767);
  EXPECT_EQ(static_cast<uint16_t>(card.qps[qp.qpn()].receives - card.qps[qp.qpn()].received),
            32767);
}

TEST_F(Driver, CompletionsAreChecked) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = connected(cfg);
  spec::Cqe c;
  c.qpn = qp.qpn() + 1;
  EXPECT_THROW(qp.on_completion(c), UsageError);
  c.qpn = qp.qpn();
  c.recv = 1;
  EXPECT_THROW(qp.on_completion(c), UsageError);
  c.recv = 0;
  c.sq_head = 1;  // nothing was posted
  EXPECT_THAT(message<DeviceError>([&] { qp.on_completion(c); }), HasSubstr("sq_head = 1"));
}

// ------------------------------------------------------------------------ receive rings

class ReceiveRing : public Driver {
 protected:
  /// A connected QP with a receive ring, alone on a CQ.
  Qp& make(unsigned rq_log2, unsigned cq_log2 = 6, bool connect = true) {
    Device& d = device_ ? *device_ : open();
    if (key_ == 0) key_ = d.register_mr(0, d.hbm_size()).key;
    cq_ = &d.create_cq(cq_log2);
    QpConfig cfg;
    cfg.scq = cfg.rcq = cq_->cqn();
    cfg.rq_log2 = rq_log2;
    return connect ? connected(cfg) : d.create_qp(cfg);
  }
  RecvRequest buffer(uint64_t id) const {
    return {64 * id % card.hbm_size(), static_cast<uint32_t>(1000 + id % 1000), key_, id << 20};
  }
  spec::Cqe next() {
    const auto cqe = cq_->poll();
    EXPECT_TRUE(cqe);
    return cqe.value_or(spec::Cqe{});
  }
  static uint8_t status(spec::CqeStatus s) { return static_cast<uint8_t>(s); }
  uint32_t key_ = 0;
  Cq* cq_ = nullptr;
};

TEST_F(ReceiveRing, PostRingPollThroughManyWraps) {
  for (const unsigned rq_log2 : {0u, 1u, 4u, 12u}) {
    for (const unsigned cq_log2 : {0u, 2u, 5u}) {
      SCOPED_TRACE(testing::Message() << "rq_log2 " << rq_log2 << " cq_log2 " << cq_log2);
      Qp& qp = make(rq_log2, cq_log2);
      const unsigned entries = 1u << rq_log2;
      auto rng = ubl::test::rng(rq_log2 * 16 + cq_log2);
      uint64_t posted = 0, done = 0;
      EXPECT_EQ(qp.free_receives(), entries);
      EXPECT_FALSE(card.send(qp.qpn(), 1));
      while (done < 70'000) {  // past 2^16 of every free-running index
        for (uint64_t n = rng() % (qp.free_receives() + 1); n != 0; --n)
          qp.post_recv(buffer(posted++));
        qp.ring_receives();
        ASSERT_EQ(qp.free_receives(), entries - (posted - done));
        // What one completion queue holds; a quarter of it the device may not know of.
        const uint64_t room = std::max(1u, 3 * (1u << cq_log2) / 4);
        for (uint64_t n = std::min(posted - done, rng() % (room + 1)); n != 0; --n) {
          const RecvRequest want = buffer(done);
          const auto imm = static_cast<uint32_t>(rng());
          const auto length = static_cast<uint32_t>(rng() % (want.length + 1));
          const auto kind = static_cast<spec::WqeOp>(rng() % 3 == 0   ? spec::WqeOp::kSend
                                                     : rng() % 2 == 0 ? spec::WqeOp::kSendImm
                                                                      : spec::WqeOp::kWriteImm);
          if (kind == spec::WqeOp::kSend) {
            ASSERT_TRUE(card.send(qp.qpn(), length));
          } else if (kind == spec::WqeOp::kSendImm) {
            ASSERT_TRUE(card.send(qp.qpn(), length, imm));
          } else {
            ASSERT_TRUE(card.receive(qp.qpn(), imm));
          }
          const spec::Wqe& seen = card.consumed.back();
          ASSERT_EQ(seen.laddr, want.laddr);
          ASSERT_EQ(seen.length, want.length);
          ASSERT_EQ(seen.lkey, want.lkey);
          const spec::Cqe cqe = next();
          ASSERT_EQ(cqe.wr_id, want.wr_id);
          ASSERT_EQ(cqe.opcode, static_cast<uint8_t>(kind));
          ASSERT_EQ(cqe.byte_len, kind == spec::WqeOp::kWriteImm ? 0 : length);
          ASSERT_EQ(cqe.imm, kind == spec::WqeOp::kSend ? 0 : imm);
          qp.on_completion(cqe);
          ++done;
        }
      }
      EXPECT_EQ(card.cq_overflows, 0u);
      EXPECT_TRUE(card.errors.empty());
      EXPECT_FALSE(cq_->poll());
      device_->destroy_qp(qp);
      device_->destroy_cq(*cq_);
    }
  }
}

TEST_F(ReceiveRing, SendsAndReceivesShareAQueue) {
  Qp& qp = make(2);
  for (uint64_t i = 0; i < 200; ++i) {
    qp.post_recv(buffer(i));
    qp.ring_receives();
    spec::Wqe w = write_wqe(i);
    w.opcode = static_cast<uint8_t>(i % 2 == 0 ? spec::WqeOp::kSend : spec::WqeOp::kSendImm);
    qp.post(w);
    qp.ring();
    ASSERT_TRUE(card.send(qp.qpn(), 5));
    const spec::Cqe sent = next(), received = next();
    ASSERT_EQ(sent.recv, 0);
    ASSERT_EQ(sent.status, 0);
    ASSERT_EQ(received.recv, 1);
    qp.on_completion(received);
    ASSERT_EQ(qp.free_receives(), 4u);
    ASSERT_EQ(qp.free_entries(), 63u);
    qp.on_completion(sent);
    ASSERT_EQ(qp.free_entries(), 64u);
  }
}

TEST_F(ReceiveRing, Full) {
  Qp& qp = make(2);
  for (uint64_t i = 0; i < 4; ++i) qp.post_recv(buffer(i));
  EXPECT_EQ(qp.free_receives(), 0u);
  EXPECT_THAT(message<UsageError>([&] { qp.post_recv(buffer(4)); }), HasSubstr("all 4 entries"));
  EXPECT_FALSE(card.send(qp.qpn(), 1));  // not told yet
  qp.ring_receives();
  qp.ring_receives();  // nothing new: no doorbell
  EXPECT_EQ(card.qps[qp.qpn()].doorbells, 1u);
  EXPECT_EQ(card.qps[qp.qpn()].receives, 4);
  ASSERT_TRUE(card.send(qp.qpn(), 1));
  EXPECT_THROW(qp.post_recv(buffer(4)), UsageError);  // the completion frees, not the message
  qp.on_completion(next());
  EXPECT_EQ(qp.free_receives(), 1u);
  qp.post_recv(buffer(4));
  qp.ring_receives();
  for (uint64_t i = 1; i < 5; ++i) {
    ASSERT_TRUE(card.send(qp.qpn(), 1));
    const spec::Cqe cqe = next();
    EXPECT_EQ(cqe.wr_id, buffer(i).wr_id);
    qp.on_completion(cqe);
  }
  EXPECT_FALSE(card.send(qp.qpn(), 1));
}

TEST_F(ReceiveRing, PostedBeforeConnectIsToldByConnect) {
  Qp& qp = make(3, 6, false);
  qp.post_recv(buffer(0));
  qp.ring_receives();
  qp.post_recv(buffer(1));
  qp.post(write_wqe(1));
  EXPECT_TRUE(card.qps.empty());
  EXPECT_EQ(qp.free_receives(), 6u);
  card.log.clear();
  qp.connect(1, 2, 3, 4);
  EXPECT_EQ(card.qps[qp.qpn()].receives, 2);
  EXPECT_EQ(card.qps[qp.qpn()].doorbells, 2u);
  std::vector<uint64_t> doorbells;
  for (const auto& a : card.log)
    if (a.kind == 'w' && a.bar == 4) doorbells.push_back(a.offset);
  EXPECT_EQ(doorbells, (std::vector<uint64_t>{reg::kDbRq, reg::kDbSq}));  // buffers before requests
  ASSERT_TRUE(card.send(qp.qpn(), 1));
  ASSERT_TRUE(card.send(qp.qpn(), 1));
  EXPECT_FALSE(card.send(qp.qpn(), 1));
}

TEST_F(ReceiveRing, ConnectWithoutReceivesRingsNoDoorbell) {
  Qp& qp = make(3);
  EXPECT_EQ(card.qps[qp.qpn()].doorbells, 0u);
}

TEST_F(ReceiveRing, FailedQpFlushesInOrder) {
  Qp& qp = make(3);
  for (uint64_t i = 0; i < 6; ++i) qp.post_recv(buffer(i));
  qp.ring_receives();
  ASSERT_TRUE(card.send(qp.qpn(), 7));
  device_->object_command(spec::ObjOp::kSetError, qp.qpn(), nullptr);
  for (uint64_t i = 0; i < 6; ++i) {
    const spec::Cqe cqe = next();
    EXPECT_EQ(cqe.wr_id, buffer(i).wr_id);
    EXPECT_EQ(cqe.status, status(i == 0 ? spec::CqeStatus::kOk : spec::CqeStatus::kFlushed));
    qp.on_completion(cqe);
  }
  EXPECT_FALSE(cq_->poll());
  EXPECT_EQ(qp.free_receives(), 8u);
  // What is posted now is flushed, too.
  qp.post_recv(buffer(6));
  qp.ring_receives();
  const spec::Cqe cqe = next();
  EXPECT_EQ(cqe.wr_id, buffer(6).wr_id);
  EXPECT_EQ(cqe.status, status(spec::CqeStatus::kFlushed));
  qp.on_completion(cqe);
  EXPECT_EQ(qp.free_receives(), 8u);
}

TEST_F(ReceiveRing, BadReceiveIsTheDevicesToReport) {
  const auto first = [&](RecvRequest bad, uint32_t length) {
    Qp& qp = make(3);
    qp.post_recv(bad);
    qp.post_recv(buffer(1));
    qp.ring_receives();
    EXPECT_FALSE(card.send(qp.qpn(), length));
    const spec::Cqe cqe = next();
    EXPECT_EQ(cqe.wr_id, bad.wr_id);
    EXPECT_EQ(cqe.opcode, static_cast<uint8_t>(spec::WqeOp::kRecv));
    qp.on_completion(cqe);
    const spec::Cqe flushed = next();
    EXPECT_EQ(flushed.status, status(spec::CqeStatus::kFlushed));
    qp.on_completion(flushed);
    EXPECT_EQ(qp.free_receives(), 8u);
    return cqe.status;
  };
  RecvRequest bad{0, 100, 0, 5};
  EXPECT_EQ(first(bad, 101), status(spec::CqeStatus::kLocalLength));
  bad.lkey = ~key_;
  EXPECT_EQ(first(bad, 100), status(spec::CqeStatus::kLocalProtection));
  EXPECT_TRUE(device_->pop_error());
}

// Entries of the driver say nothing that the device does not take, whatever was in the ring before.
TEST_F(ReceiveRing, EntriesOfTheLargestValues) {
  Qp& qp = make(0);
  for (uint64_t i = 0; i < 4; ++i) {
    qp.post_recv(i % 2 == 0 ? RecvRequest{~0ull, ~0u, key_, ~0ull} : RecvRequest{0, 0, key_, 0});
    qp.ring_receives();
    ASSERT_TRUE(card.send(qp.qpn(), 0));
    EXPECT_EQ(card.consumed.back().laddr, i % 2 == 0 ? ~0ull : 0);
    qp.on_completion(next());
  }
}

TEST_F(ReceiveRing, KindsOfReceivesDoNotMix) {
  Qp& with = make(2);
  EXPECT_THAT(message<UsageError>([&] { with.post_receives(1); }),
              HasSubstr("post_receives of QP 0: it has a receive ring"));
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq_->cqn();
  Qp& without = connected(cfg);
  EXPECT_THAT(message<UsageError>([&] { without.post_recv(buffer(0)); }),
              HasSubstr("post_recv of QP 1: it has no receive ring"));
  EXPECT_THAT(message<UsageError>([&] { without.ring_receives(); }), HasSubstr("ring_receives"));
  EXPECT_THAT(message<UsageError>([&] { without.free_receives(); }), HasSubstr("free_receives"));
  without.post_receives(1);
  EXPECT_FALSE(card.send(without.qpn(), 0));  // a SEND needs a ring
  ASSERT_TRUE(card.receive(without.qpn(), 3));
  EXPECT_THROW(without.on_completion(next()), UsageError);
}

TEST_F(ReceiveRing, CompletionsAreChecked) {
  Qp& qp = make(1);
  spec::Cqe c;
  c.qpn = qp.qpn();
  c.recv = 1;
  c.wr_id = buffer(0).wr_id;
  EXPECT_THAT(message<DeviceError>([&] { qp.on_completion(c); }), HasSubstr("none"));
  qp.post_recv(buffer(0));
  EXPECT_THROW(qp.on_completion(c), DeviceError);  // the device does not know of it
  qp.ring_receives();
  c.qpn = qp.qpn() + 1;
  EXPECT_THROW(qp.on_completion(c), UsageError);
  c.qpn = qp.qpn();
  c.wr_id = buffer(1).wr_id;
  EXPECT_THAT(message<DeviceError>([&] { qp.on_completion(c); }),
              HasSubstr("wr_id = 0x100000 instead of 0x0"));
  EXPECT_EQ(qp.free_receives(), 1u);  // a refused completion frees nothing
  c.wr_id = buffer(0).wr_id;
  qp.on_completion(c);
  EXPECT_EQ(qp.free_receives(), 2u);
  EXPECT_THROW(qp.on_completion(c), DeviceError);  // twice
  // An entry that could not be read has no wr_id.
  qp.post_recv(buffer(1));
  qp.ring_receives();
  c.wr_id = 0;
  c.status = status(spec::CqeStatus::kLocalMemory);
  qp.on_completion(c);
  EXPECT_EQ(qp.free_receives(), 2u);
}

TEST_F(ReceiveRing, RingsAreFreedWhenTheDeviceHasLetGo) {
  Qp& qp = make(2);
  EXPECT_EQ(card.live_buffers, 3u);
  card.log.clear();
  device_->destroy_qp(qp);
  EXPECT_EQ(card.live_buffers, 1u);
  bool confirmed = false;
  for (const auto& a : card.log) {
    if (a.kind == 'r' && a.offset == reg::kNicObjResult) confirmed = true;
    if (a.kind == 'f') {
      EXPECT_TRUE(confirmed);
    }
  }
  make(2);
  device_.reset();
  EXPECT_EQ(card.live_buffers, 0u);
}

TEST_F(ReceiveRing, FailedConnectCanBeRepeated) {
  Qp& qp = make(2, 6, false);
  qp.post_recv(buffer(0));
  card.fail_result = static_cast<uint32_t>(spec::ObjResult::kBadIndex);
  EXPECT_THROW(qp.connect(1, 2, 3, 4), DeviceError);
  EXPECT_EQ(qp.free_receives(), 3u);
  qp.connect(1, 2, 3, 4);
  EXPECT_TRUE(card.send(qp.qpn(), 1));
}

TEST_F(ReceiveRing, HostWorkIsCharged) {
  Qp& qp = make(4);
  card.charged.clear();
  for (uint64_t i = 0; i < 3; ++i) qp.post_recv(buffer(i));
  qp.ring_receives();
  EXPECT_EQ(card.charged[HostCost::kPostWqe], 3u);
  EXPECT_EQ(card.charged[HostCost::kDoorbell], 1u);
  EXPECT_EQ(card.charged.size(), 2u);
}

// -------------------------------------------------- pushed entries, inline data, counters

TEST_F(Driver, PushIsOneWriteAndInTheRing) {
  Device& d = open();
  QpConfig cfg;
  cfg.scq = cfg.rcq = d.create_cq(4).cqn();
  Qp& qp = connected(cfg);
  card.charged.clear();
  qp.push(write_wqe(7));
  EXPECT_EQ(card.pushes, 1u);
  ASSERT_EQ(card.executed.size(), 1u);
  EXPECT_EQ(card.executed[0].wr_id, write_wqe(7).wr_id);
  EXPECT_EQ(card.charged[HostCost::kPostWqe], 1u);
  EXPECT_EQ(card.charged[HostCost::kPush], 1u);
  EXPECT_EQ(card.charged.size(), 2u);
  // What is posted already goes first, by its doorbell.
  qp.post(write_wqe(8));
  qp.push(write_wqe(9));
  EXPECT_EQ(card.pushes, 2u);
  EXPECT_EQ(card.charged[HostCost::kDoorbell], 1u);
  ASSERT_EQ(card.executed.size(), 3u);
  EXPECT_EQ(card.executed[1].wr_id, write_wqe(8).wr_id);
  EXPECT_EQ(card.executed[2].wr_id, write_wqe(9).wr_id);
  EXPECT_EQ(card.executed[2].index, 2u);
  qp.ring();  // nothing left to tell
  EXPECT_EQ(card.charged[HostCost::kDoorbell], 1u);
}

TEST_F(Driver, PushBeforeConnectIsAPost) {
  Device& d = open();
  QpConfig cfg;
  cfg.scq = cfg.rcq = d.create_cq(4).cqn();
  cfg.sq_log2 = 1;
  Qp& qp = d.create_qp(cfg);
  qp.push(write_wqe(1));
  qp.push(write_wqe(2));
  EXPECT_THAT(message<UsageError>([&] { qp.push(write_wqe(3)); }), HasSubstr("are in use"));
  EXPECT_EQ(card.pushes, 0u);
  qp.connect(1, 2, 3, 4);
  EXPECT_EQ(card.pushes, 0u);
  EXPECT_EQ(card.executed.size(), 2u);
}

TEST_F(Driver, InlinePayload) {
  uint8_t data[17];
  for (uint8_t i = 0; i < 17; ++i) data[i] = static_cast<uint8_t>(0xA0 + i);
  spec::Wqe w;
  set_inline(w, data, 16);
  EXPECT_EQ(w.inl, 1);
  EXPECT_EQ(w.length, 16u);
  EXPECT_EQ(w.operand0, 0xA7A6A5A4A3A2A1A0u);
  EXPECT_EQ(w.operand1, 0xAFAEADACABAAA9A8u);
  set_inline(w, data, 3);
  EXPECT_EQ(w.length, 3u);
  EXPECT_EQ(w.operand0, 0xA2A1A0u);
  EXPECT_EQ(w.operand1, 0u);
  set_inline(w, nullptr, 0);
  EXPECT_EQ(w.length, 0u);
  EXPECT_THAT(message<UsageError>([&] { set_inline(w, data, 17); }),
              HasSubstr("bytes = 17 is not in 0..16"));
  EXPECT_THROW(set_inline(w, nullptr, 1), UsageError);
}

TEST_F(Driver, Counters) {
  Device& d = open();
  card.counters[0] = {5, 6};
  const uint32_t a = d.create_counter(), b = d.create_counter();
  EXPECT_NE(a, b);
  EXPECT_EQ(card.counters[a].success, 0u);
  EXPECT_EQ(card.counters[a].failure, 0u);
  d.write_counter(b, {0xFFFFFFF0, 3});
  d.add_to_counter(b, 0x20);
  EXPECT_EQ(d.read_counter(b).success, 0x10u);
  EXPECT_EQ(d.read_counter(b).failure, 3u);
  EXPECT_EQ(d.read_counter(a).success, 0u);
  // OBJ_DATA was overwritten by the device: all of it is written again.
  d.write_counter(a, {0x10, 3});
  EXPECT_EQ(card.counters[a].success, 0x10u);
  EXPECT_EQ(card.counters[a].failure, 3u);
  d.destroy_counter(a);
  EXPECT_THAT(message<UsageError>([&] { d.read_counter(a); }),
              HasSubstr(std::to_string(a) + " is not a counter of this device"));
  EXPECT_THROW(d.destroy_counter(a), UsageError);
  EXPECT_THROW(d.write_counter(a, {}), UsageError);
  EXPECT_THROW(d.add_to_counter(a, 1), UsageError);
  card.fail_result = static_cast<uint32_t>(spec::ObjResult::kBadIndex);
  EXPECT_THAT(message<DeviceError>([&] { d.create_counter(); }), HasSubstr("of counter "));
  for (unsigned i = 1; i < spec::kNicNumCtr; ++i) d.create_counter();
  EXPECT_THROW(d.create_counter(), UsageError);
}

TEST_F(Driver, CountersOfAQueuePair) {
  Device& d = open();
  QpConfig cfg;
  cfg.scq = cfg.rcq = d.create_cq(4).cqn();
  const auto ctr = static_cast<uint16_t>(d.create_counter());
  cfg.imm_counter = true;
  cfg.error_counter = ctr;
  const Qp& qp = connected(cfg);
  EXPECT_EQ(card.qps.at(qp.qpn()).ctx.imm_ctr, 1);
  EXPECT_EQ(card.qps.at(qp.qpn()).ctx.err_ctr_v, 1);
  EXPECT_EQ(card.qps.at(qp.qpn()).ctx.err_ctr, ctr);
  cfg.error_counter = static_cast<uint16_t>(ctr + 1);
  EXPECT_THAT(message<UsageError>([&] { d.create_qp(cfg); }), HasSubstr("error_counter"));
  cfg.error_counter.reset();
  cfg.rq_log2 = 2;
  EXPECT_THAT(message<UsageError>([&] { d.create_qp(cfg); }), HasSubstr("imm_counter"));
}

// ----------------------------------------------------------------------- bad arguments

TEST_F(Driver, ArgumentsAreRefusedByName) {
  Device& d = open();
  EXPECT_THAT(message<UsageError>([&] { d.create_cq(13); }),
              HasSubstr("log2_entries = 13 is not in 0..12"));
  Cq& cq = d.create_cq(4);
  const QpConfig good = [&] {
    QpConfig c;
    c.scq = c.rcq = cq.cqn();
    return c;
  }();
  const auto bad = [&](auto change, const char* text) {
    QpConfig c = good;
    change(c);
    EXPECT_THAT(message<UsageError>([&] { d.create_qp(c); }), HasSubstr(text));
  };
  bad([](QpConfig& c) { c.retry = 16; }, "retry = 16 is not in 0..15");
  bad([](QpConfig& c) { c.rnr_retry = 16; }, "rnr_retry = 16 is not in 0..15");
  bad([](QpConfig& c) { c.sq_log2 = 13; }, "sq_log2 = 13 is not in 0..12");
  bad([](QpConfig& c) { c.rq_log2 = 13; }, "rq_log2 = 13 is not in 0..12");
  bad([](QpConfig& c) { c.scq = 1; }, "scq = 1");
  bad([](QpConfig& c) { c.rcq = 64; }, "rcq = 64");
  bad([](QpConfig& c) { c.window = 0; }, "window = 0 is not in 1..512");
  bad([](QpConfig& c) { c.window = 513; }, "window = 513 is not in 1..512");
  Qp& qp = d.create_qp(good);
  EXPECT_THAT(message<UsageError>([&] { qp.connect(0, 1 << 24, 0, 0); }), HasSubstr("remote_qpn"));
  EXPECT_THAT(message<UsageError>([&] { qp.connect(0, 0, 1 << 24, 0); }), HasSubstr("sq_psn"));
  EXPECT_THAT(message<UsageError>([&] { qp.connect(0, 0, 0, 1 << 24); }), HasSubstr("rq_psn"));
  EXPECT_THAT(message<UsageError>([&] { qp.post_receives(0); }),
              HasSubstr("n = 0 is not in 1..32767"));
  EXPECT_THROW(qp.post_receives(32768), UsageError);
  qp.post_receives(32767);
  EXPECT_THROW(qp.post_receives(1), UsageError);
  qp.connect(0, 0, 0, 0);
  EXPECT_THROW(qp.connect(0, 0, 0, 0), UsageError);

  const uint64_t hbm = d.hbm_size();
  EXPECT_THAT(message<UsageError>([&] { d.register_mr(hbm, 1); }), HasSubstr("base = 0x100000"));
  EXPECT_THAT(message<UsageError>([&] { d.register_mr(0, 0); }), HasSubstr("length = 0x0"));
  EXPECT_THAT(message<UsageError>([&] { d.register_mr(64, hbm - 63); }), HasSubstr("1..0xfffc0"));
  EXPECT_THROW(d.register_mr(64, ~0ull), UsageError);
  EXPECT_THROW(d.register_mr(1ull << 63, 64), UsageError);
  EXPECT_NO_THROW(d.register_mr(0, hbm));

  uint8_t byte = 0;
  EXPECT_THAT(message<UsageError>([&] { d.write_hbm(hbm, &byte, 1); }),
              HasSubstr("write_hbm: addr"));
  EXPECT_THROW(d.read_hbm(&byte, ~0ull, 1), UsageError);
  EXPECT_THROW(d.read_hbm(nullptr, 0, 1), UsageError);
  EXPECT_THROW(d.write_hbm(0, &byte, hbm + 1), UsageError);
  EXPECT_NO_THROW(d.read_hbm(nullptr, hbm, 0));
}

TEST_F(Driver, ForeignObjectsAreRefused) {
  Device& d = open();
  FakeCard other_card;
  Device other(other_card);
  Cq& cq = d.create_cq(4);
  Cq& other_cq = other.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = d.create_qp(cfg);
  EXPECT_THROW(other.destroy_qp(qp), UsageError);
  EXPECT_THROW(d.destroy_cq(other_cq), UsageError);
  EXPECT_THAT(message<UsageError>([&] { d.destroy_cq(cq); }), HasSubstr("used by 2"));
  d.destroy_qp(qp);
  d.destroy_cq(cq);
}

// -------------------------------------------------------------------- tables and keys

TEST_F(Driver, FreedIndicesAreUsedAgain) {
  card.caps = 8 | 3 << 8 | 2 << 16 | 2 << 24;  // 8 QPs, 4 CQs, 4 MRs
  Device& d = open();
  std::vector<Cq*> cqs;
  for (int i = 0; i < 4; ++i) cqs.push_back(&d.create_cq(2));
  EXPECT_THAT(message<UsageError>([&] { d.create_cq(2); }), HasSubstr("all 4"));
  d.destroy_cq(*cqs[2]);
  EXPECT_EQ(card.cqs[2].ctx.valid, 0);
  EXPECT_EQ(d.create_cq(2).cqn(), 2u);

  QpConfig cfg;
  std::vector<Qp*> qps;
  for (int i = 0; i < 8; ++i) qps.push_back(&connected(cfg));
  const unsigned live = card.live_buffers;
  EXPECT_THAT(message<UsageError>([&] { d.create_qp(cfg); }),
              HasSubstr("no free queue pair: all 8"));
  EXPECT_EQ(card.live_buffers, live);
  d.destroy_qp(*qps[5]);
  EXPECT_EQ(card.qps[5].ctx.state, static_cast<uint8_t>(spec::QpState::kReset));
  d.destroy_qp(*qps[1]);
  EXPECT_EQ(d.create_qp(cfg).qpn(), 5u);  // the one free for longest
  EXPECT_EQ(d.create_qp(cfg).qpn(), 1u);
  EXPECT_EQ(card.live_buffers, live);
}

TEST_F(Driver, KeysChangeWithEachRegistration) {
  card.caps = 8 | 3 << 8 | 2 << 16 | 0 << 24;  // one MR
  Device& d = open();
  uint32_t before = 0;
  std::set<uint32_t> keys;
  for (int i = 0; i < 600; ++i) {
    const Mr mr = d.register_mr(128, 256, {true, false, true}, 9);
    EXPECT_EQ(mr.index, 0u);
    EXPECT_NE(mr.key, before);
    EXPECT_TRUE(card.key_valid(mr.key));
    EXPECT_FALSE(i > 0 && card.key_valid(before));
    EXPECT_THAT(message<UsageError>([&] { d.register_mr(0, 64); }), HasSubstr("memory region"));
    before = mr.key;
    keys.insert(mr.key);
    d.deregister_mr(mr);
    EXPECT_FALSE(card.key_valid(mr.key));
    EXPECT_THROW(d.deregister_mr(mr), UsageError);
  }
  EXPECT_EQ(keys.size(), 256u);
  const spec::MrCtx last = [&] {
    d.register_mr(128, 256, {true, false, true, false, true}, 9);
    return card.mrs[0];
  }();
  EXPECT_EQ(last.base, 128u);
  EXPECT_EQ(last.length, 256u);
  EXPECT_EQ(last.pd, 9);
  EXPECT_EQ(last.local_read, 1);
  EXPECT_EQ(last.remote_write, 0);
  EXPECT_EQ(last.remote_reduce, 1);
  EXPECT_EQ(last.local_write, 0);
  EXPECT_EQ(last.remote_read, 1);
  Mr unknown;
  unknown.index = 1000;
  EXPECT_THROW(d.deregister_mr(unknown), UsageError);
}

// --------------------------------------------------------------------------------- HBM

TEST_F(Driver, HbmAllocator) {
  Device& d = open();
  const uint64_t a = d.hbm_alloc(1), b = d.hbm_alloc(65), c = d.hbm_alloc(64);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(b, 64u);
  EXPECT_EQ(c, 192u);
  d.hbm_free(b);
  EXPECT_EQ(d.hbm_alloc(128), b);  // first fit
  EXPECT_THAT(message<UsageError>([&] { d.hbm_free(b + 64); }),
              HasSubstr("0x80 was not allocated"));
  d.hbm_free(a);
  d.hbm_free(c);
  d.hbm_free(b);
  EXPECT_THROW(d.hbm_free(b), UsageError);
  EXPECT_EQ(d.hbm_alloc(d.hbm_size()), 0u);  // everything joined again
  EXPECT_THAT(message<UsageError>([&] { d.hbm_alloc(1); }), HasSubstr("0 bytes are free"));
  EXPECT_THROW(d.hbm_alloc(0), UsageError);
  EXPECT_THROW(d.hbm_alloc(~0ull), UsageError);
}

TEST_F(Driver, HbmAllocatorAgainstAModel) {
  Device& d = open();
  auto rng = ubl::test::rng(5);
  std::map<uint64_t, uint64_t> blocks;
  for (int i = 0; i < 20000; ++i) {
    if (blocks.empty() || rng() % 5 < 3) {
      const uint64_t bytes = 1 + rng() % 20000;
      try {
        const uint64_t addr = d.hbm_alloc(bytes);
        ASSERT_EQ(addr % 64, 0u);
        ASSERT_LE(addr + bytes, d.hbm_size());
        const auto next = blocks.lower_bound(addr);
        if (next != blocks.end()) {
          ASSERT_LE(addr + bytes, next->first);
        }
        if (next != blocks.begin()) {
          const auto before = std::prev(next);
          ASSERT_LE(before->first + before->second, addr);
        }
        blocks[addr] = bytes;
      } catch (const UsageError&) {
        ASSERT_FALSE(blocks.empty());
      }
    } else {
      auto it = blocks.begin();
      std::advance(it, rng() % blocks.size());
      d.hbm_free(it->first);
      blocks.erase(it);
    }
  }
  for (const auto& [addr, bytes] : blocks) d.hbm_free(addr);
  EXPECT_EQ(d.hbm_alloc(d.hbm_size()), 0u);
}

TEST_F(Driver, CopiesThroughTheAperture) {
  Device& d = open();
  std::vector<uint8_t> data(1000), back(1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7);
  d.write_hbm(d.hbm_size() - 1000, data.data(), 1000);
  EXPECT_EQ(std::memcmp(card.hbm() + card.hbm_size() - 1000, data.data(), 1000), 0);
  d.read_hbm(back.data(), d.hbm_size() - 1000, 1000);
  EXPECT_EQ(back, data);
  EXPECT_EQ(card.charged[HostCost::kCopyBytes], 2000u);
}

// ------------------------------------------------------------------- errors and costs

TEST_F(Driver, ErrorLog) {
  Device& d = open();
  EXPECT_FALSE(d.pop_error());
  card.errors.push_back({spec::ErrCause::kIcrc, 0, 3, 17});
  card.errors.push_back({spec::ErrCause::kFraming, 7, 0xFFFF, 0xFFFFFF});
  const auto first = d.pop_error();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->describe(), "icrc on plane 0, QP 3, PSN 17");
  const auto second = d.pop_error();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->describe(), "framing on plane 7, QP 65535, PSN 16777215");
  EXPECT_FALSE(d.pop_error());
}

TEST_F(Driver, HostWorkIsCharged) {
  Device& d = open();
  Cq& cq = d.create_cq(4);
  QpConfig cfg;
  cfg.scq = cfg.rcq = cq.cqn();
  Qp& qp = connected(cfg);
  card.charged.clear();
  for (uint64_t i = 0; i < 3; ++i) qp.post(write_wqe(i));
  qp.ring();
  qp.post_receives(2);
  while (cq.poll()) {
  }
  EXPECT_EQ(card.charged[HostCost::kPostWqe], 3u);
  EXPECT_EQ(card.charged[HostCost::kDoorbell], 2u);  // 3 completions: no consumer doorbell yet
  EXPECT_EQ(card.charged[HostCost::kPoll], 4u);
  EXPECT_EQ(card.charged.size(), 3u);
}

TEST(HostCosts, Table) {
  EXPECT_EQ(host_cost_ps(HostCost::kDoorbell, 1), 60'000u);
  EXPECT_EQ(host_cost_ps(HostCost::kCopyBytes, 1'000'000), 100'000'000u);  // 1 MB in 100 us
  EXPECT_EQ(host_cost_ps(HostCost::kPoll, 0), 0u);
  for (const HostCostEntry& e : kHostCosts) EXPECT_GT(e.ps, 0u);
  static_assert(host_cost_ps(HostCost::kApi, 2) == 160'000);
}

}  // namespace
}  // namespace ubl::driver::test
