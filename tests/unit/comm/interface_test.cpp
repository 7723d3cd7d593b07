// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Communicator and LocalBootstrap: blocking calls of several ranks that take turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ubl/comm/communicator.hpp"
#include "ubl/test/baton.hpp"
#include "ubl/test/comm_mock.hpp"
#include "ubl/test/seed.hpp"

namespace ubl::comm {
namespace {

using test::MockConfig;
using test::World;
using testing::HasSubstr;

/// Ranks with their communicators over a mock.
class Group {
 public:
  explicit Group(const MockConfig& mc, CommConfig config = {})
      : world(mc), baton(mc.seed), bootstrap(mc.ranks), config_(config) {
    config_.memory_base = mc.base;
    config_.memory_bytes = mc.memory;
  }

  std::vector<std::exception_ptr> run(const std::function<void(unsigned, Communicator&)>& body) {
    const unsigned n = world.config.ranks;
    return baton.run(
        n,
        [&](unsigned rank) {
          auto fabric = world.fabric(rank);
          fabric->on_wait = [this, rank](uint64_t deadline) {
            baton.yield(rank);
            if (!moved_) world.now = std::max(world.now, deadline);
          };
          std::vector<unsigned> peers = Communicator::ring_peers(rank, n);
          if (config_.all_peers) {
            peers.resize(n);
            std::iota(peers.begin(), peers.end(), 0u);
          }
          Communicator comm(rank, n, std::move(fabric), peers, config_);
          bootstrap.all_gather(rank, {}, [&] { baton.yield(rank); });
          body(rank, comm);
          // A communicator lives until nobody sends to it any more.
          bootstrap.all_gather(rank, {}, [&] { baton.yield(rank); });
        },
        [&] {
          moved_ = world.step();
          quiet_ = moved_ ? 0 : quiet_ + 1;
          moved_ = quiet_ < 100;
        });
  }

  World world;
  test::Baton baton;
  LocalBootstrap bootstrap;

 private:
  CommConfig config_;
  bool moved_ = true;
  unsigned quiet_ = 0;
};

CommError error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CommError& e) {
    return e;
  }
  return CommError(ErrorKind::kInternal, "nothing was thrown");
}

TEST(Communicator, AllReduceBlocking) {
  for (const unsigned n : {1u, 2u, 3u, 4u, 7u})
    for (const bool in_place : {true, false}) {
      MockConfig mc;
      mc.ranks = n;
      mc.stripes = 3;
      mc.seed = test::seed() + n;
      Group g(mc);
      std::vector<std::vector<uint32_t>> in(n);
      for (auto& v : in) v = test::random_floats(g.world.rng, 333);
      std::vector<CommStats> stats(n);
      const auto thrown = g.run([&](unsigned rank, Communicator& comm) {
        const uint64_t send = mc.base + 64 * rank;
        const uint64_t recv = in_place ? send : send + 8192;
        g.world.write(rank, send, in[rank]);
        comm.all_reduce(send, recv, 333);
        EXPECT_EQ(g.world.read(rank, recv, 333), test::ring_expected(in));
        comm.all_reduce(send, recv, 0);
        stats[rank] = comm.stats();
      });
      for (const auto& t : thrown) EXPECT_EQ(t, nullptr);
      EXPECT_THAT(g.world.violations, testing::IsEmpty());
      for (const CommStats& s : stats) {
        EXPECT_EQ(s.calls, 2u);
        EXPECT_EQ(s.bytes, 333u * 4);
        EXPECT_EQ(s.engine.bytes_copied, in_place ? 0 : 333u * 4);
        EXPECT_EQ(s.engine.schedules, 2u);
      }
    }
}

// Every algorithm, with a scratch that makes reduce() take several slices.
TEST(Communicator, SumsToOwnersAndRoots) {
  constexpr unsigned kRanks = 5;
  constexpr uint64_t kCount = 61;  // a rank
  for (const Algorithm algorithm : {Algorithm::kAuto, Algorithm::kRing, Algorithm::kDirect,
                                    Algorithm::kSlots, Algorithm::kChained}) {
    MockConfig mc;
    mc.ranks = kRanks;
    mc.stripes = 2;
    mc.seed = test::seed();
    CommConfig config;
    config.all_peers = true;
    config.algorithm = algorithm;
    config.scratch_base = mc.base + 0x8000;
    config.scratch_bytes = 128;
    Group g(mc, config);
    std::vector<std::vector<uint32_t>> in(kRanks);
    for (auto& v : in) v = test::random_floats(g.world.rng, kRanks * kCount);
    const std::vector<uint32_t> sums = test::ring_expected(in);
    const auto thrown = g.run([&](unsigned rank, Communicator& c) {
      const uint64_t a = mc.base, b = mc.base + 0x2000;
      const auto total = kRanks * kCount;
      g.world.write(rank, a, in[rank]);
      c.all_reduce(a, b, total);
      EXPECT_EQ(g.world.read(rank, b, total), sums);
      c.reduce_scatter(a, b, kCount);
      EXPECT_EQ(
          g.world.read(rank, b, kCount),
          std::vector<uint32_t>(sums.begin() + rank * kCount, sums.begin() + (rank + 1) * kCount));
      c.reduce(a, b, total, DataType::kFloat32, RedOp::kSum, 3);
      if (rank == 3) {
        EXPECT_EQ(g.world.read(rank, b, total), sums);
      }
      // 1 tells 2, and nobody else calls.
      if (rank == 1) c.send_recv({{2, true, a, 7}});
      if (rank == 2) c.send_recv({{1, false, b + 1, 7}});
      c.all_gather(a + rank * 4, b, 1, DataType::kFloat32);
      EXPECT_EQ(g.world.read(rank, a, total), in[rank]);
      EXPECT_EQ(c.stats().calls, rank == 1 || rank == 2 ? 5u : 4u);
    });
    for (const auto& t : thrown) EXPECT_EQ(t, nullptr);
    EXPECT_THAT(g.world.violations, testing::IsEmpty());
  }
}

TEST(Communicator, RefusesWhatItsConnectionsDoNotAllow) {
  MockConfig mc;
  mc.ranks = 4;
  Group g(mc);
  const auto thrown = g.run([&](unsigned, Communicator& c) {
    const auto kind = [](const std::function<void()>& f) { return error_of(f).kind(); };
    const uint64_t a = mc.base;
    EXPECT_EQ(kind([&] { c.reduce_scatter(a, a + 64, 1); }), ErrorKind::kNotSupported);
    EXPECT_EQ(kind([&] { c.reduce(a, a, 1, DataType::kFloat32, RedOp::kSum, 0); }),
              ErrorKind::kNotSupported);
    EXPECT_EQ(kind([&] { c.reduce_scatter(a, a, 1, DataType::kFloat16); }),
              ErrorKind::kNotSupported);
    EXPECT_EQ(kind([&] {
                c.send_recv({{(c.rank() + 2) % 4, true, a, 1}});
              }),
              ErrorKind::kNotSupported);
    EXPECT_EQ(kind([&] { c.send_recv({{7, true, a, 1}}); }), ErrorKind::kInvalidArgument);
    EXPECT_EQ(kind([&] { c.send_recv({{0, true, a - 1, 1}}); }), ErrorKind::kInvalidArgument);
    EXPECT_EQ(c.failure(), "");
  });
  for (const auto& t : thrown) EXPECT_EQ(t, nullptr);
}

TEST(Communicator, TheChoiceIsByRanksAndBytesAStripe) {
  EXPECT_FALSE(Communicator::direct_pays(3, 8, 4));
  EXPECT_TRUE(Communicator::direct_pays(4, 8, 1 << 20));
  EXPECT_FALSE(Communicator::direct_pays(4, 1, 1 << 20));
  EXPECT_TRUE(Communicator::direct_pays(16, 1, 128 << 10));
  EXPECT_FALSE(Communicator::direct_pays(17, 8, 4));
}

TEST(Communicator, RefusesWhatItCannotDo) {
  MockConfig mc;
  Group g(mc);
  const auto thrown = g.run([&](unsigned, Communicator& c) {
    const uint64_t a = mc.base;
    const auto call = [&](uint64_t send, uint64_t recv, uint64_t count,
                          DataType t = DataType::kFloat32, RedOp op = RedOp::kSum) {
      return error_of([&] { c.all_reduce(send, recv, count, t, op); });
    };
    for (int t = 0; t <= 11; ++t)
      for (int op = 0; op <= 4; ++op) {
        if (t == 7 && op == 0) continue;
        const CommError e = call(a, a, 1, static_cast<DataType>(t), static_cast<RedOp>(op));
        EXPECT_EQ(e.kind(), ErrorKind::kNotSupported);
        EXPECT_THAT(e.message(), HasSubstr(to_string(static_cast<DataType>(t))));
        EXPECT_THAT(e.message(), HasSubstr(to_string(static_cast<RedOp>(op))));
        EXPECT_GT(size_of(static_cast<DataType>(t)), 0u);
      }
    const auto invalid = [](const CommError& e, const char* text) {
      EXPECT_EQ(e.kind(), ErrorKind::kInvalidArgument);
      EXPECT_THAT(e.what(), HasSubstr(text));
    };
    invalid(call(a, a, 1, static_cast<DataType>(12)), "unknown data type 12");
    invalid(call(a, a, 1, static_cast<DataType>(-1)), "unknown data type -1");
    invalid(call(a, a, 1, DataType::kFloat32, static_cast<RedOp>(5)), "unknown operator 5");
    invalid(call(a + 2, a + 2, 1), "send address 0x1002 is not a multiple of 4");
    invalid(call(a, a + 1, 1), "receive address 0x1001 is not a multiple of 4");
    invalid(call(a - 4, a, 1), "send buffer [0xffc, +4)");
    invalid(call(a, a + mc.memory - 4, 2), "receive buffer");
    invalid(call(a, a, UINT64_MAX / 2), "count");
    invalid(call(a, a, UINT64_MAX / 8), "send buffer");
    invalid(call(a, a + 4, 2), "overlap");
    invalid(call(a + 4, a, 2), "overlap");
    EXPECT_EQ(c.failure(), "");
    c.all_reduce(a, a + 8, 2);  // still usable; neighbours do not overlap
    EXPECT_EQ(c.stats().calls, 1u);
  });
  EXPECT_EQ(thrown[0], nullptr);
}

TEST(Communicator, ConfigurationIsChecked) {
  World w(MockConfig{});
  const auto make = [&](unsigned rank, unsigned size, const CommConfig& c) {
    return error_of([&] { Communicator(rank, size, w.fabric(0), {0}, c); });
  };
  CommConfig c;
  EXPECT_THAT(make(1, 1, c).what(), HasSubstr("rank 1 is not in 0..0"));
  EXPECT_THAT(make(0, 0, c).what(), HasSubstr("0 ranks"));
  c.part_bytes = 63;
  EXPECT_THAT(make(0, 1, c).what(), HasSubstr("part_bytes"));
  c = {};
  c.max_parts = 0;
  EXPECT_THAT(make(0, 1, c).what(), HasSubstr("max_parts"));
  c = {};
  c.timeout_ns = 0;
  EXPECT_THAT(make(0, 1, c).what(), HasSubstr("timeout_ns"));
  c = {};
  c.memory_bytes = 4096;
  c.scratch_base = 64;
  c.scratch_bytes = 4096;
  EXPECT_THAT(make(0, 1, c).what(), HasSubstr("scratch [0x40, +4096)"));
}

TEST(Communicator, AMissingRankIsNamedAndTheCommunicatorIsFinished) {
  MockConfig mc;
  mc.ranks = 3;
  Group g(mc);
  std::vector<std::string> what(3), again(3);
  const auto thrown = g.run([&](unsigned rank, Communicator& c) {
    if (rank == 1) return;  // never calls
    const CommError e = error_of([&] { c.all_reduce(mc.base, mc.base, 30); });
    EXPECT_EQ(e.kind(), ErrorKind::kTimeout);
    what[rank] = e.message();
    EXPECT_NE(c.failure(), "");
    const CommError f = error_of([&] { c.all_reduce(mc.base, mc.base, 30); });
    EXPECT_EQ(f.kind(), ErrorKind::kTimeout);
    again[rank] = f.message();
  });
  for (const auto& t : thrown) EXPECT_EQ(t, nullptr);
  EXPECT_THAT(what[0], HasSubstr("rank 1 to open its window"));
  EXPECT_THAT(what[2], HasSubstr("rank 1, stripe 0"));
  EXPECT_THAT(again[0], HasSubstr("the communicator is unusable: rank 0: nothing moved"));
}

TEST(Communicator, AnErrorOfTheCardReachesTheCaller) {
  MockConfig mc;
  mc.ranks = 2;
  Group g(mc);
  g.world.inject = [](unsigned from, const hal::SendRequest& r) {
    return from == 0 && r.bytes > 0 ? World::Fate::kFail : World::Fate::kDeliver;
  };
  std::vector<ErrorKind> kinds(2, ErrorKind::kInternal);
  std::string message;
  g.run([&](unsigned rank, Communicator& c) {
    const CommError e = error_of([&] { c.all_reduce(mc.base, mc.base, 30); });
    kinds[rank] = e.kind();
    if (rank == 0) message = e.what();
  });
  EXPECT_EQ(kinds[0], ErrorKind::kDeviceReported);
  EXPECT_EQ(kinds[1], ErrorKind::kTimeout);
  EXPECT_THAT(message, HasSubstr("device error: rank 0: request"));
  EXPECT_THAT(message, HasSubstr("QP 7, PSN 42"));
  EXPECT_THAT(message, HasSubstr("rank 0 of 2 in collective 1"));
}

TEST(LocalBootstrap, RoundsDoNotMix) {
  constexpr unsigned kRanks = 5;
  LocalBootstrap b(kRanks);
  test::Baton baton(test::seed());
  const auto thrown = baton.run(
      kRanks,
      [&](unsigned rank) {
        for (uint8_t round = 0; round < 20; ++round) {
          const auto all =
              b.all_gather(rank, {static_cast<uint8_t>(rank), round}, [&] { baton.yield(rank); });
          ASSERT_EQ(all.size(), kRanks);
          for (uint8_t r = 0; r < kRanks; ++r) EXPECT_EQ(all[r], (Bootstrap::Blob{r, round}));
        }
      },
      [] {});
  for (const auto& t : thrown) EXPECT_EQ(t, nullptr);
}

TEST(LocalBootstrap, SaysWhoIsMissing) {
  LocalBootstrap b(4);
  EXPECT_EQ(b.missing(0), "");
  const auto stop = [] { throw std::runtime_error("waited enough"); };
  EXPECT_THROW(b.all_gather(0, {}, stop), std::runtime_error);
  EXPECT_THROW(b.all_gather(2, {}, stop), std::runtime_error);
  EXPECT_EQ(b.missing(0), "1, 3");
  EXPECT_EQ(error_of([&] { b.all_gather(4, {}, stop); }).kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_of([] { LocalBootstrap(0); }).kind(), ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace ubl::comm
