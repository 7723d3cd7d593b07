// SPDX-License-Identifier: Apache-2.0
// Collectives and point-to-point through driver, NIC RTL and switch RTL.
#include <fmt/format.h>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

TEST(AllReduce, CardsTimesSizes) {
  for (const unsigned cards : {1, 2, 3, 4})
    for (const unsigned bytes : {0, 4, 12, 4096, 12348, 65536})
      EXPECT_TRUE(verified(ublsim(fmt::format("run allreduce --cards {} --bytes {} --seed {} -q",
                                              cards, bytes, cards + bytes))));
}

TEST(AllReduce, MoreCards) {
  for (const unsigned cards : {5, 7, 8, 12, 16})
    EXPECT_TRUE(verified(ublsim(fmt::format("run allreduce --cards {} --bytes 12348 -q", cards))));
}

TEST(AllReduce, SameSeedSameRun) {
  const std::string args = "run allreduce --cards 3 --bytes 20000 --seed 7 -q";
  const Outcome a = ublsim(args), b = ublsim(args);
  ASSERT_TRUE(verified(a));
  EXPECT_EQ(a.json["run_hash"], b.json["run_hash"]);
  EXPECT_EQ(a.json["cycles"], b.json["cycles"]);
  const Outcome c = ublsim("run allreduce --cards 3 --bytes 20000 --seed 8 -q");
  ASSERT_TRUE(verified(c));
  EXPECT_NE(a.json["run_hash"], c.json["run_hash"]);
}

TEST(AllReduce, SkippingIdleTimeChangesNothing) {
  const std::string args = "run allreduce --cards 2 --bytes 5000 -q";
  const Outcome a = ublsim(args), b = ublsim(args + " --no-skip");
  ASSERT_TRUE(verified(a));
  ASSERT_TRUE(verified(b));
  EXPECT_EQ(a.json["run_hash"], b.json["run_hash"]);
  EXPECT_EQ(a.json["cycles"], b.json["cycles"]);
  EXPECT_LT(a.json["cycles_evaluated"], b.json["cycles_evaluated"]);
}

TEST(PointToPoint, PingPongLatency) {
  const Outcome r = ublsim("run pingpong --cards 2 --iterations 100 -q");
  ASSERT_TRUE(verified(r));
  // Doorbell 250, entry fetch 600, two links 300, switch 250, completion 250 ns must be in it.
  EXPECT_GE(r.json["latency_ns"]["min"], 1650);
  EXPECT_LE(r.json["latency_ns"]["p50"], 2500);
}

TEST(PointToPoint, SendRecv) {
  for (const unsigned bytes : {1, 63, 4097, 300001})
    EXPECT_TRUE(verified(ublsim(fmt::format("run sendrecv --cards 2 --bytes {} -q", bytes))));
}

TEST(PointToPoint, BulkGoodputOfOnePlane) {
  const Outcome r = ublsim("run sendrecv --cards 2 --bytes 1MiB --planes 1 -q");
  ASSERT_TRUE(verified(r));
  // 4096 B in 66 flits of 1.28 ns are 48.48 GB/s; acknowledgements of the other direction share it.
  EXPECT_GE(r.json["goodput_per_card_GBps"], 46.5);
  EXPECT_LE(r.json["goodput_per_card_GBps"], 48.5);
}

}  // namespace
}  // namespace ubl::e2e
