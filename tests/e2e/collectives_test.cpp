// SPDX-License-Identifier: Apache-2.0
// Collectives and point-to-point through driver, NIC RTL and switch RTL.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

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

// Collective, cards, bytes (odd sizes: rounded down to whole elements a block), planes, more: every
// value meets the others somewhere.
TEST(Collectives, PairwiseSelection) {
  const std::tuple<const char*, unsigned, unsigned, unsigned, const char*> cases[] = {
      {"alltoall", 2, 4, 8, ""},
      {"alltoall", 3, 12348, 1, "--dtype f16"},
      {"alltoall", 4, 0, 2, ""},
      {"alltoall", 5, 65537, 8, "--dtype i8"},
      {"alltoall", 8, 131072, 8, "--dtype i64"},
      {"alltoall", 12, 100000, 1, ""},
      {"alltoall", 16, 64, 1, "--dtype bf16"},
      {"alltoall", 1, 4096, 1, ""},
      {"allgather", 2, 65537, 1, "--dtype u8"},
      {"allgather", 3, 0, 8, "--in-place"},
      {"allgather", 4, 12348, 8, "--in-place --dtype f16"},
      {"allgather", 5, 64, 2, ""},
      {"allgather", 8, 13, 1, "--dtype i8 --in-place"},
      {"allgather", 16, 100000, 2, "--in-place"},
      {"broadcast", 2, 1, 2, "--dtype i8"},
      {"broadcast", 3, 65536, 8, "--in-place"},
      {"broadcast", 5, 24, 1, "--dtype f64 --in-place"},
      {"broadcast", 12, 0, 8, ""},
      {"broadcast", 16, 65537, 1, "--dtype u8"},
      {"gather", 2, 64, 8, "--in-place"},
      {"gather", 3, 100001, 2, "--dtype i8 --in-place"},
      {"gather", 8, 12348, 1, ""},
      {"gather", 12, 65537, 8, "--in-place"},
      {"scatter", 2, 100000, 1, "--in-place"},
      {"scatter", 4, 65537, 8, ""},
      {"scatter", 5, 12349, 2, "--dtype i8 --in-place"},
      {"scatter", 16, 4096, 8, "--dtype f16"},
      {"reducescatter", 1, 4096, 1, "--in-place"},
      {"reducescatter", 2, 8, 8, ""},
      {"reducescatter", 3, 12348, 1, "--in-place"},
      {"reducescatter", 4, 65537, 8, "--algo chained"},
      {"reducescatter", 5, 0, 2, ""},
      {"reducescatter", 8, 300000, 8, "--algo chained --in-place"},
      {"reducescatter", 12, 12348, 2, ""},
      {"reducescatter", 16, 65537, 1, "--in-place"},
      {"reduce", 1, 4096, 1, ""},
      {"reduce", 2, 12348, 1, "--in-place"},
      {"reduce", 3, 4, 8, ""},
      {"reduce", 4, 100000, 2, "--algo chained --in-place"},
      {"reduce", 5, 12, 1, "--in-place"},
      {"reduce", 8, 65536, 8, ""},
      {"reduce", 12, 300000, 8, "--algo chained"},
      {"reduce", 16, 12348, 1, "--in-place"},
      {"allreduce", 2, 12348, 8, "--algo direct --out-of-place"},
      {"allreduce", 3, 4, 1, "--algo slots --out-of-place"},
      {"allreduce", 4, 65536, 8, "--algo slots"},
      {"allreduce", 5, 12348, 2, "--algo chained"},
      {"allreduce", 8, 300000, 8, "--algo chained --out-of-place"},
      {"allreduce", 12, 65536, 1, "--algo direct"},
      {"allreduce", 16, 4096, 8, "--algo auto"},
      {"sendrecv", 1, 100, 1, "--dtype i8"},
      {"sendrecv", 2, 63, 1, "--dtype i8"},
      {"sendrecv", 3, 0, 2, ""},
      {"sendrecv", 5, 4097, 8, "--dtype u8"},
      {"sendrecv", 8, 300002, 2, "--dtype bf16"},
      {"sendrecv", 16, 12348, 8, ""}};
  for (const auto& [what, cards, bytes, planes, more] : cases) {
    const std::string name = what;
    const bool rooted =
        name == "broadcast" || name == "gather" || name == "scatter" || name == "reduce";
    const std::string root = rooted ? fmt::format(" --root {}", cards - 1) : "";
    EXPECT_TRUE(verified(ublsim(fmt::format("run {} --cards {} --bytes {} --planes {}{} {} -q",
                                            what, cards, bytes, planes, root, more))));
  }
}

// All algorithms add in the same order, and a repetition is a repetition.
TEST(AllReduce, AlgorithmsAgreeWithTheRing) {
  for (const char* algo : {"ring", "slots", "chained"}) {
    const std::string args =
        fmt::format("run allreduce --cards 4 --planes 2 --bytes 20004 --algo {} -q", algo);
    const Outcome a = ublsim(args), b = ublsim(args + " --no-skip");
    ASSERT_TRUE(verified(a));
    ASSERT_TRUE(verified(b));
    EXPECT_EQ(a.json["run_hash"], b.json["run_hash"]) << args;
  }
}

TEST(Moves, AllToAllNearsTheLimitOfTheLinks) {
  // 4096 B in 66 flits of 1.28 ns on each of 8 planes: 387.9 GB/s.
  const Outcome r = ublsim("run alltoall --cards 8 --bytes 1MiB --planes 8 -q");
  ASSERT_TRUE(verified(r));
  EXPECT_GE(r.json["goodput_per_card_GBps"], 380);
  EXPECT_LE(r.json["goodput_per_card_GBps"], 387.9);
  const auto bytes = r.json["plane_bytes"].get<std::vector<double>>();
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  EXPECT_LE(*most, 1.02 * *least);  // plane byte balance
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
  // Four ranks meet: the order in which SystemC runs them at one time must not show.
  for (const std::string args : {"run allreduce --cards 2 --bytes 5000 -q",
                                 "run allreduce --cards 4 --planes 2 --bytes 128KiB -q"}) {
    const Outcome a = ublsim(args), b = ublsim(args + " --no-skip");
    ASSERT_TRUE(verified(a));
    ASSERT_TRUE(verified(b));
    EXPECT_EQ(a.json["run_hash"], b.json["run_hash"]) << args;
    EXPECT_EQ(a.json["cycles"], b.json["cycles"]) << args;
    EXPECT_LT(a.json["cycles_evaluated"], b.json["cycles_evaluated"]) << args;
  }
}

TEST(PointToPoint, PingPongLatency) {
  const Outcome r = ublsim("run pingpong --cards 2 --iterations 100 -q");
  ASSERT_TRUE(verified(r));
  // Doorbell 250, entry fetch 600, two links 300, switch 250, completion 250 ns must be in it.
  EXPECT_GE(r.json["latency_ns"]["min"], 1650);
  EXPECT_LE(r.json["latency_ns"]["p50"], 2500);
}

// A receive buffer costs no time: its entry is in the NIC before the message is.
TEST(PointToPoint, PingPongLatencyOfSend) {
  const Outcome r = ublsim("run pingpong --verb send -q");
  ASSERT_TRUE(verified(r));
  const double p50 = r.json["latency_ns"]["p50"];
  fmt::print("p50 of SEND: {:.2f} ns\n", p50);
  EXPECT_DOUBLE_EQ(p50, 1908.48);
  for (const char* args : {"--bytes 1", "--bytes 4097 --iterations 100", "--iterations 1",
                           "--bytes 1MiB --iterations 4", "--planes 8 --iterations 200"})
    EXPECT_TRUE(verified(ublsim(fmt::format("run pingpong --verb send {} -q", args))));
}

TEST(PointToPoint, WriteIsTheVerbOfPingPong) {
  const Outcome a = ublsim("run pingpong --iterations 20 -q");
  const Outcome b = ublsim("run pingpong --iterations 20 -q --verb write");
  const Outcome c = ublsim("run pingpong --iterations 20 -q --verb send");
  ASSERT_TRUE(verified(a));
  ASSERT_TRUE(verified(b));
  ASSERT_TRUE(verified(c));
  EXPECT_EQ(a.json["run_hash"], b.json["run_hash"]);
  EXPECT_NE(a.json["run_hash"], c.json["run_hash"]);
}

TEST(PointToPoint, LatencyBreakdownSumsToTheMedian) {
  for (const char* args :
       {" --iterations 100", " --iterations 50 --bytes 4096", " --iterations 33 --planes 8",
        " --verb send --iterations 100", " --verb send --iterations 50 --bytes 4096"}) {
    const Outcome r = ublsim(fmt::format("run pingpong{} -q", args));
    ASSERT_TRUE(verified(r));
    ASSERT_TRUE(r.json.contains("latency_breakdown_ns")) << r.command;
    const auto& stages = r.json["latency_breakdown_ns"];
    EXPECT_EQ(stages.size(), 9u);
    double sum = 0;
    for (const auto& [name, ns] : stages.items()) {
      EXPECT_GE(ns.get<double>(), 0) << name;
      sum += ns.get<double>();
    }
    EXPECT_NEAR(sum, r.json["latency_ns"]["p50"].get<double>(), 1e-6) << r.command;
    // What the constants alone cost.
    EXPECT_GE(stages["doorbell_mmio"], 250);
    EXPECT_GE(stages["wqe_fetch"], 600);
    EXPECT_GE(stages["link_and_switch"], 2 * 150 + 250);
    EXPECT_GE(stages["completion_dma"], 250);
  }
}

TEST(PointToPoint, TwoCardsUnlessToldOtherwise) {
  for (const char* workload :
       {"pingpong --iterations 20", "read --bytes 100", "sendmsg --bytes 100"}) {
    const Outcome r = ublsim(fmt::format("run {} -q", workload));
    ASSERT_TRUE(verified(r));
    EXPECT_EQ(r.json["cards"], 2) << r.command;
  }
}

TEST(Summary, GoodputOfTooFewBytesIsNotANumber) {
  const Outcome small = ublsim("run allreduce --cards 2 --bytes 64");
  ASSERT_TRUE(verified(small));
  EXPECT_NE(small.output.find("goodput -\n"), std::string::npos) << small.output;
  EXPECT_EQ(small.json["goodput_per_card_GBps"], 0);
  const Outcome large = ublsim("run allreduce --cards 2 --bytes 1MiB");
  EXPECT_NE(large.output.find(" GB/s per card\n"), std::string::npos) << large.output;
}

TEST(PointToPoint, SendRecv) {
  for (const unsigned bytes : {1, 63, 4097, 300001})
    EXPECT_TRUE(
        verified(ublsim(fmt::format("run sendrecv --cards 2 --bytes {} --dtype i8 -q", bytes))));
}

TEST(PointToPoint, BulkGoodputOfAllPlanes) {
  const Outcome r = ublsim("run sendrecv --cards 2 --bytes 4MiB -q");
  ASSERT_TRUE(verified(r));
  EXPECT_GE(r.json["goodput_per_card_GBps"], 380);
  EXPECT_LE(r.json["goodput_per_card_GBps"], 387.9);
}

TEST(PointToPoint, Read) {
  for (const unsigned bytes : {1, 63, 4097, 300001})
    EXPECT_TRUE(verified(ublsim(fmt::format("run read --cards 2 --bytes {} -q", bytes))));
}

TEST(PointToPoint, ReadGoodputOfOnePlane) {
  const Outcome r = ublsim("run read --cards 2 --bytes 1MiB --planes 1 -q");
  ASSERT_TRUE(verified(r));
  // As for WRITE; two flits of request per packet of the other direction share it.
  EXPECT_GE(r.json["goodput_per_card_GBps"], 45.0);
  EXPECT_LE(r.json["goodput_per_card_GBps"], 48.5);
}

TEST(PointToPoint, SendMsg) {
  for (const unsigned planes : {1, 8})
    for (const unsigned bytes : {1, 63, 4095, 4096, 4097, (1 << 20) + 3})
      EXPECT_TRUE(verified(ublsim(fmt::format(
          "run sendmsg --cards 2 --planes {} --bytes {} --seed {} -q", planes, bytes, bytes))));
}

TEST(PointToPoint, SendMsgGoodput) {
  // As for WRITE, less the last packets of messages, which are shorter than the others.
  const Outcome one = ublsim("run sendmsg --cards 2 --bytes 4MiB --planes 1 -q");
  ASSERT_TRUE(verified(one));
  EXPECT_GE(one.json["goodput_per_card_GBps"], 47.5);
  EXPECT_LE(one.json["goodput_per_card_GBps"], 48.5);
  const Outcome all = ublsim("run sendmsg --cards 2 --bytes 4MiB --planes 8 -q");
  ASSERT_TRUE(verified(all));
  EXPECT_GE(all.json["goodput_per_card_GBps"], 340);
  EXPECT_LE(all.json["goodput_per_card_GBps"], 387.9);
}

TEST(PointToPoint, SkippingIdleTimeChangesNoSend) {
  for (const std::string args :
       {"run pingpong --verb send --iterations 30 -q", "run sendmsg --cards 2 --bytes 100KiB -q",
        "run sendmsg --cards 2 --bytes 40001 --planes 8 -q"}) {
    const Outcome a = ublsim(args), b = ublsim(args + " --no-skip");
    ASSERT_TRUE(verified(a));
    ASSERT_TRUE(verified(b));
    EXPECT_EQ(a.json["run_hash"], b.json["run_hash"]) << args;
    EXPECT_EQ(a.json["cycles"], b.json["cycles"]) << args;
  }
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
