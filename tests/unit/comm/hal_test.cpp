// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Endpoint, and the whole library, over the real driver and cards in software.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "soft_card.hpp"
#include "ubl/comm/communicator.hpp"
#include "ubl/comm/hal/endpoint.hpp"
#include "ubl/test/baton.hpp"
#include "ubl/test/comm_mock.hpp"
#include "ubl/test/seed.hpp"

namespace ubl::comm {
namespace {

using hal::Completion;
using hal::Endpoint;
using hal::EndpointConfig;
using hal::PeerInfo;
using hal::SendRequest;
using test::SoftCard;
using test::SoftNet;
using testing::HasSubstr;

CommError error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CommError& e) {
    return e;
  }
  return CommError(ErrorKind::kInternal, "nothing was thrown");
}

/// Host programs of all ranks, each with its device, taking turns.
class Hosts {
 public:
  Hosts(unsigned ranks, unsigned planes, uint64_t seed)
      : net(ranks, planes, seed), baton(seed), bootstrap(ranks), ranks_(ranks) {}

  std::vector<std::exception_ptr> run(const std::function<void(unsigned, driver::Device&)>& body) {
    return baton.run(
        ranks_,
        [&](unsigned rank) {
          SoftCard& card = net.card(rank);
          card.on_wait = [this, rank](uint64_t deadline) {
            baton.yield(rank);
            if (quiet_ >= 100) net.now = std::max(net.now, deadline);
          };
          driver::Device device(card);
          body(rank, device);
        },
        [&] { quiet_ = net.step() ? 0 : quiet_ + 1; });
  }
  void check() {
    for (unsigned r = 0; r < ranks_; ++r) {
      EXPECT_THAT(net.card(r).violations, testing::IsEmpty());
      EXPECT_EQ(net.card(r).live_buffers, 0u);
    }
  }

  SoftNet net;
  test::Baton baton;
  LocalBootstrap bootstrap;

 private:
  unsigned ranks_;
  unsigned quiet_ = 0;
};

void rethrow(const std::vector<std::exception_ptr>& thrown) {
  for (const auto& t : thrown)
    if (t) std::rethrow_exception(t);
}

TEST(OverCards, AllReduce) {
  for (const unsigned ranks : {1u, 2u, 3u, 4u, 6u})
    for (const unsigned planes : {1u, 8u}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << planes << " planes");
      Hosts h(ranks, planes, test::seed() + 10 * ranks + planes);
      constexpr size_t kCount = 10'007;
      std::vector<std::vector<uint32_t>> in(ranks);
      for (auto& v : in) v = test::random_floats(h.net.rng, kCount);
      const std::vector<uint32_t> want = test::ring_expected(in);
      rethrow(h.run([&](unsigned rank, driver::Device& d) {
        CommConfig config;
        config.part_bytes = 4096;
        config.min_piece = 256;  // so that every plane has a part
        Communicator c(rank, ranks, d, h.bootstrap, config);
        for (const bool in_place : {true, false}) {
          const uint64_t send = d.hbm_alloc(kCount * 4);
          const uint64_t recv = in_place ? send : d.hbm_alloc(kCount * 4);
          d.write_hbm(send, in[rank].data(), kCount * 4);
          c.all_reduce(send, recv, kCount);
          std::vector<uint32_t> got(kCount);
          d.read_hbm(got.data(), recv, kCount * 4);
          EXPECT_EQ(got, want);
        }
        c.finalize(h.bootstrap);
        EXPECT_EQ(h.net.card(rank).ready_qps(), 0u);
        EXPECT_EQ(h.net.card(rank).live_buffers, 0u);
        EXPECT_EQ(error_of([&] { c.all_reduce(0, 0, 1); }).kind(), ErrorKind::kInvalidArgument);
      }));
      h.check();
    }
}

// Small rings and a small completion queue wrap around many times.
TEST(OverCards, ManyCallsThroughSmallRings) {
  Hosts h(3, 2, test::seed());
  std::vector<std::vector<uint32_t>> in(3);
  for (auto& v : in) v = test::random_floats(h.net.rng, 500);
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    CommConfig config;
    config.sq_log2 = 2;
    config.cq_log2 = 7;
    config.part_bytes = 256;
    config.min_piece = 64;
    Communicator c(rank, 3, d, h.bootstrap, config);
    for (int k = 0; k < 200; ++k) {
      const size_t count = 1 + static_cast<size_t>(k) * 7 % 500;
      d.write_hbm(64, in[rank].data(), count * 4);
      c.all_reduce(64, 64, count);
      std::vector<uint32_t> got(count);
      d.read_hbm(got.data(), 64, count * 4);
      std::vector<std::vector<uint32_t>> part;
      for (const auto& v : in) part.emplace_back(v.begin(), v.begin() + static_cast<long>(count));
      ASSERT_EQ(got, test::ring_expected(part)) << "call " << k;
    }
    EXPECT_EQ(c.stats().calls, 200u);
    c.finalize(h.bootstrap);
  }));
  h.check();
}

TEST(OverCards, ACommunicatorAfterAnother) {
  Hosts h(2, 1, test::seed());
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    for (int k = 0; k < 3; ++k) {
      Communicator c(rank, 2, d, h.bootstrap);
      const std::vector<float> x(5, static_cast<float>(rank + 1));
      d.write_hbm(0, x.data(), 20);
      c.all_reduce(0, 0, 5);
      std::vector<float> y(5);
      d.read_hbm(y.data(), 0, 20);
      EXPECT_EQ(y, std::vector<float>(5, 3.0f));
      c.finalize(h.bootstrap);
    }
  }));
  h.check();
}

TEST(OverCards, FinalizeWaitsForAll) {
  Hosts h(2, 1, test::seed());
  bool called = false;
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    Communicator c(rank, 2, d, h.bootstrap);
    if (rank == 1) {
      for (int i = 0; i < 50; ++i) {
        h.baton.yield(rank);
        EXPECT_GT(h.net.card(0).ready_qps(), 0u);
      }
      called = true;
    }
    c.finalize(h.bootstrap);
    EXPECT_TRUE(called);
  }));
}

TEST(OverCards, AFailedRequestNamesEverything) {
  Hosts h(3, 2, test::seed());
  h.net.fate = [](const SoftCard& card, uint32_t, const spec::Wqe& w) {
    return card.node() == 1 && w.imm == 0x00010001 ? spec::CqeStatus::kRemoteOperation
                                                   : spec::CqeStatus::kOk;
  };
  std::vector<std::string> what(3);
  std::vector<ErrorKind> kind(3);
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    Communicator c(rank, 3, d, h.bootstrap);
    const CommError e = error_of([&] { c.all_reduce(0, 0, 3000); });
    what[rank] = e.what();
    kind[rank] = e.kind();
    h.bootstrap.all_gather(rank, {}, [&] { h.baton.yield(rank); });
  }));
  EXPECT_EQ(kind[1], ErrorKind::kDeviceReported);
  EXPECT_THAT(what[1], testing::MatchesRegex(
                           "device error: rank 1: reduce_imm request [0-9]+ to rank 2 failed: "
                           "remote_operation \\(QP [0-9]+, remote QP [0-9]+, PSN "
                           "[0-9]+\\)(.|\n)*"));
  EXPECT_THAT(what[1], testing::ContainsRegex("; error log: card 1: nak on plane [01], QP [0-9]+, "
                                              "PSN [0-9]+ \\(connection to rank 2\\)"));
  EXPECT_THAT(what[1], HasSubstr("rank 1 of 3 in collective 1"));
  EXPECT_EQ(kind[2], ErrorKind::kTimeout);
  EXPECT_THAT(what[2], HasSubstr("rank 1, stripe"));
  EXPECT_THAT(what[2], HasSubstr("(QP "));
}

TEST(OverCards, ALogEntryExplainsAStandstill) {
  Hosts h(2, 1, test::seed());
  h.net.fate = [&](const SoftCard& card, uint32_t, const spec::Wqe& w) {
    if (card.node() != 0 || w.imm != 0x00010000) return spec::CqeStatus::kOk;
    h.net.card(1).log_error(spec::ErrCause::kIcrc, 0, 1, 16);  // no reason to stop
    h.net.card(1).log_error(spec::ErrCause::kMemWrite, 0, 1, 17);
    return spec::CqeStatus::kTimeout;
  };
  std::vector<std::string> what(2);
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    Communicator c(rank, 2, d, h.bootstrap);
    what[rank] = error_of([&] { c.all_reduce(0, 0, 100); }).what();
    h.bootstrap.all_gather(rank, {}, [&] { h.baton.yield(rank); });
  }));
  EXPECT_THAT(what[1],
              HasSubstr("device error: rank 1: error log: card 1: mem_write on plane 0, QP 1, "
                        "PSN 17 (connection to rank 1)"));
  EXPECT_THAT(what[0], HasSubstr("no progress"));
}

TEST(OverCards, ARankThatStaysAwayIsNamedInSetUp) {
  Hosts h(3, 1, test::seed());
  std::vector<std::string> what(3);
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    if (rank == 1) return;
    CommConfig config;
    config.timeout_ns = 20'000;
    what[rank] = error_of([&] { Communicator(rank, 3, d, h.bootstrap, config); }).what();
  }));
  EXPECT_THAT(what[0], HasSubstr("rank 0 waits in the set-up of the communicator for rank 1"));
  EXPECT_THAT(what[2], HasSubstr("rank 2 waits in the set-up of the communicator for rank 1"));
}

TEST(OverCards, DifferentStripesAreRefused) {
  Hosts h(2, 2, test::seed());
  std::vector<std::string> what(2);
  rethrow(h.run([&](unsigned rank, driver::Device& d) {
    CommConfig config;
    config.stripes = 1 + rank;
    what[rank] = error_of([&] { Communicator(rank, 2, d, h.bootstrap, config); }).what();
  }));
  EXPECT_THAT(what[0], HasSubstr("protocol error: rank 1 has 2 stripes, rank 0 has 1"));
  EXPECT_THAT(what[1], HasSubstr("protocol error: rank 0 has 1 stripes, rank 1 has 2"));
}

TEST(OverCards, BootstrapOfAnotherSize) {
  Hosts h(1, 1, 1);
  rethrow(h.run([&](unsigned, driver::Device& d) {
    LocalBootstrap two(2);
    EXPECT_THAT(error_of([&] { Communicator(0, 1, d, two); }).what(),
                HasSubstr("communicator of 1 ranks, bootstrap of 2"));
  }));
}

// ---- the endpoint alone, connected to itself -----------------------------------------------

class Loopback : public testing::Test {
 protected:
  Loopback() {
    net.card(0).on_wait = [this](uint64_t) { net.step(); };
  }

  void open(const EndpointConfig& config = {}) {
    device = std::make_unique<driver::Device>(net.card(0));
    endpoint = std::make_unique<Endpoint>(*device, 0, 4096, 65536, config);
    endpoint->connect_peer(0, endpoint->prepare_peer(0));
  }
  SendRequest request(uint64_t bytes = 64) {
    SendRequest r;
    r.laddr = 4096;
    r.raddr = 8192;
    r.bytes = static_cast<uint32_t>(bytes);
    return r;
  }
  Completion next() {
    for (int i = 0; i < 100'000; ++i) {
      if (auto c = endpoint->poll()) return *c;
      net.step();
    }
    throw std::runtime_error("no completion");
  }

  SoftNet net{1, 2, 1};
  std::unique_ptr<driver::Device> device;
  std::unique_ptr<Endpoint> endpoint;
};

TEST_F(Loopback, SparseSignalsGiveTheRingBack) {
  EndpointConfig config;
  config.sq_log2 = 4;
  open(config);
  EXPECT_EQ(endpoint->stripes(), 2u);
  EXPECT_EQ(endpoint->mtu(), 4096u);
  unsigned completions = 0;
  for (int k = 0; k < 100; ++k) {
    ASSERT_GT(endpoint->send_space(0, 1), 0u);
    SendRequest r = request();
    r.stripe = 1;
    endpoint->post_send(r);
    endpoint->flush();
    while (endpoint->send_space(0, 1) == 0) {
      const Completion c = next();
      EXPECT_EQ(c.kind, Completion::Kind::kSend);
      EXPECT_EQ(c.stripe, 1u);
      EXPECT_EQ(c.done % 4, 0u);  // every quarter of the ring
      ++completions;
    }
  }
  EXPECT_GT(completions, 10u);
  EXPECT_LT(completions, 30u);
}

TEST_F(Loopback, ImmediatesArriveAfterTheData) {
  open();
  endpoint->post_receives(0, 0, 3);
  std::vector<uint32_t> ones(1500, 0x3F800000);
  device->write_hbm(4096, ones.data(), 6000);
  device->write_hbm(16384, ones.data(), 6000);
  SendRequest r = request(6000);
  r.raddr = 16384;
  r.op = SendRequest::Op::kReduceAddF32;
  r.with_imm = true;
  r.imm = 0xDEADBEEF;
  endpoint->post_send(r);
  endpoint->flush();
  const Completion c = next();
  EXPECT_EQ(c.kind, Completion::Kind::kReceive);
  EXPECT_EQ(c.imm, 0xDEADBEEF);
  EXPECT_EQ(c.last_bytes, 6000u - 4096);
  std::vector<uint32_t> got(1500);
  device->read_hbm(got.data(), 16384, 6000);
  EXPECT_EQ(got, std::vector<uint32_t>(1500, 0x40000000));
}

TEST_F(Loopback, AddressesAreChecked) {
  open();
  SendRequest r = request();
  r.laddr = 4095;
  EXPECT_EQ(error_of([&] { endpoint->post_send(r); }).kind(), ErrorKind::kInvalidArgument);
  r = request();
  r.raddr = 4096 + 65536 - 63;
  EXPECT_THAT(error_of([&] { endpoint->post_send(r); }).what(),
              HasSubstr("[0x10fc1, +64) is not in the registered memory of rank 0"));
  r = request();
  r.raddr = UINT64_MAX - 10;
  EXPECT_EQ(error_of([&] { endpoint->post_send(r); }).kind(), ErrorKind::kProtocol);
  r = request();
  r.peer = 1;
  EXPECT_THAT(error_of([&] { endpoint->post_send(r); }).what(),
              HasSubstr("rank 0 is not connected to rank 1"));
  r = request();
  r.stripe = 2;
  EXPECT_THAT(error_of([&] { endpoint->post_send(r); }).what(), HasSubstr("no stripe 2"));
  EXPECT_EQ(endpoint->describe(1, 0), "not connected");
  EXPECT_THAT(endpoint->describe(0, 1), testing::StartsWith("QP "));
  EXPECT_THROW(endpoint->prepare_peer(0), CommError);
  EXPECT_THROW(endpoint->connect_peer(0, {}), CommError);
}

TEST_F(Loopback, ReceivesNeverOverflowTheCompletionQueue) {
  EndpointConfig config;
  config.cq_log2 = 6;
  open(config);
  EXPECT_EQ(endpoint->receive_budget(), 36u);  // 48 - 12
  endpoint->post_receives(0, 0, 36);
  EXPECT_EQ(error_of([&] { endpoint->post_receives(0, 0, 1); }).kind(), ErrorKind::kInternal);
}

TEST_F(Loopback, SignalledRequestsLeaveRoomForReceives) {
  EndpointConfig config;
  config.cq_log2 = 5;
  open(config);
  SendRequest r = request();
  r.notify = true;
  for (int i = 0; i < 6; ++i) {  // a quarter of 24
    ASSERT_GT(endpoint->send_space(0, 1), 0u);
    endpoint->post_send(r);
  }
  EXPECT_EQ(endpoint->send_space(0, 0), 0u);
  EXPECT_EQ(endpoint->send_space(0, 1), 0u);
  endpoint->flush();
  next();
  EXPECT_GT(endpoint->send_space(0, 1), 0u);
}

TEST_F(Loopback, ALostCompletionIsAnError) {
  open();
  net.card(0).spoil = [](spec::Cqe& c) { ++c.wr_id; };
  SendRequest r = request();
  r.notify = true;
  endpoint->post_send(r);
  endpoint->flush();
  EXPECT_THAT(error_of([&] { next(); }).what(), HasSubstr("carries number 1, expected 0"));
}

TEST_F(Loopback, ALostReceiveIsAnError) {
  open();
  net.card(0).spoil = [](spec::Cqe& c) { c.wr_id += c.recv; };
  endpoint->post_receives(0, 0, 1);
  SendRequest r = request();
  r.with_imm = true;
  endpoint->post_send(r);
  endpoint->flush();
  EXPECT_THAT(error_of([&] { next(); }).what(), HasSubstr("receive completion of QP"));
}

TEST_F(Loopback, ACompletionOfAnUnknownQueuePair) {
  open();
  net.card(0).spoil = [](spec::Cqe& c) { c.qpn = 999; };
  SendRequest r = request();
  r.notify = true;
  endpoint->post_send(r);
  endpoint->flush();
  EXPECT_THAT(error_of([&] { next(); }).what(), HasSubstr("QP 999, which does not exist"));
}

TEST_F(Loopback, NotReadyReceiverIsReported) {
  open();
  SendRequest r = request();
  r.with_imm = true;
  endpoint->post_send(r);
  endpoint->flush();
  EXPECT_THAT(error_of([&] { next(); }).what(), HasSubstr("to rank 0 failed: rnr"));
}

TEST_F(Loopback, ConfigurationIsChecked) {
  open();
  const auto refused = [&](const std::function<void(EndpointConfig&)>& f) {
    EndpointConfig c;
    f(c);
    return error_of([&] { Endpoint(*device, 0, 0, 64, c); });
  };
  EXPECT_THAT(refused([](EndpointConfig& c) { c.stripes = 65; }).what(), HasSubstr("65 stripes"));
  EXPECT_THAT(refused([](EndpointConfig& c) { c.sq_log2 = 1; }).what(), HasSubstr("sq_log2 1"));
  EXPECT_THAT(refused([](EndpointConfig& c) { c.sq_log2 = 13; }).what(), HasSubstr("sq_log2 13"));
  EXPECT_THAT(refused([](EndpointConfig& c) { c.cq_log2 = 4; }).what(), HasSubstr("cq_log2 4"));
  EXPECT_THAT(error_of([&] { Endpoint(*device, 0, 0, 0); }).what(), HasSubstr("no memory"));
}

TEST(PeerInfo, PackAndUnpack) {
  PeerInfo a;
  a.node = 0x1234;
  a.rkey = 0xDEAD0001;
  a.base = uint64_t{1} << 40;
  a.length = 12345;
  a.stripes = {{1, 2}, {3, 0xFFFFFF}};
  const std::vector<uint8_t> bytes = a.pack();
  size_t at = 0;
  const PeerInfo b = PeerInfo::unpack(bytes, at);
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(b.node, a.node);
  EXPECT_EQ(b.rkey, a.rkey);
  EXPECT_EQ(b.base, a.base);
  EXPECT_EQ(b.length, a.length);
  EXPECT_EQ(b.stripes, a.stripes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    at = 0;
    EXPECT_THROW(PeerInfo::unpack({bytes.begin(), bytes.begin() + static_cast<long>(n)}, at),
                 CommError);
  }
  std::vector<uint8_t> other = bytes;
  other[0] ^= 1;
  at = 0;
  EXPECT_THAT(error_of([&] { PeerInfo::unpack(other, at); }).what(), HasSubstr("another version"));
}

}  // namespace
}  // namespace ubl::comm
