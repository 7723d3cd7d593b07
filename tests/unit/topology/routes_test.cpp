// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Routes in the switch RTL: what goes to a node that is no card is an error there, not lost. In a
// program of its own: SystemC knows one simulation per process.
#include <gtest/gtest.h>

#include "ubl/driver/device.hpp"
#include "ubl/spec/fabric.hpp"
#include "ublsim/session.hpp"

namespace ubl::ublsim {
namespace {

TEST(Routes, AFrameToWhatIsNoCardIsAnErrorOfTheSwitch) {
  Options o;
  o.cards = 2;
  o.layout = cosim::ubl128(2, 1);
  o.layout->link(0, 0).port = 5;  // so port 0 is nobody's, and node 5 is not on port 5
  Session s(o);
  uint8_t status[2] = {};
  s.run([&](unsigned rank) {
    if (rank != 0) return;
    driver::Device device(s.transport(rank));
    auto& cq = device.create_cq(8);
    const uint64_t buffer = device.hbm_alloc(4096);
    const auto mr = device.register_mr(buffer, 4096);
    const uint16_t nobody[] = {5, 300};  // below the radix, beyond it
    for (unsigned i = 0; i < 2; ++i) {
      driver::QpConfig config;
      config.scq = config.rcq = cq.cqn();
      config.planes = 1;
      config.retry = 0;  // one frame each
      auto& qp = device.create_qp(config);
      qp.connect(nobody[i], 2, 0, 0);
      spec::Wqe w;
      w.opcode = static_cast<uint8_t>(spec::WqeOp::kWriteImm);
      w.signalled = 1;
      w.vc = static_cast<uint8_t>(spec::Vc::kBulk);
      w.length = 64;
      w.laddr = w.raddr = buffer;
      w.lkey = w.rkey = mr.key;
      qp.post(w);
      qp.ring();
      const uint64_t deadline = s.transport(rank).now_ns() + 10'000'000;
      while (s.transport(rank).now_ns() < deadline) {
        if (const auto c = cq.poll()) {
          status[i] = c->status;
          break;
        }
        s.transport(rank).wait(deadline);
      }
    }
  });
  // Nobody has read the error log of the card.
  ASSERT_EQ(s.failures().size(), 1u);
  EXPECT_EQ(s.failures()[0].message.substr(0, 26), "card 0: timeout on plane 0");
  for (const uint8_t x : status) EXPECT_EQ(x, static_cast<uint8_t>(spec::CqeStatus::kTimeout));
  const auto& errors = s.platform().fabric_switch(0).errors();
  ASSERT_EQ(errors.size(), 2u);
  for (const auto& e : errors) {
    EXPECT_EQ(e.port, 5u);
    EXPECT_EQ(e.code, static_cast<unsigned>(spec::SwitchErr::kNoRoute));
  }
  EXPECT_EQ(s.platform().downlink(0, 0).frame_count(), 0u);
  EXPECT_EQ(s.platform().downlink(1, 0).frame_count(), 0u);
}

}  // namespace
}  // namespace ubl::ublsim
