// SPDX-License-Identifier: Apache-2.0
// msgrate, incast, mixed and pushed entries: what the NIC promises of rates, fairness and latency.
// All figures are simulated, so they are the same on every machine.
#include <fmt/format.h>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

TEST(Traffic, MessageRate) {
  const Outcome r = ublsim("run msgrate -q");
  ASSERT_TRUE(ends_with_status(r, 0));
  EXPECT_EQ(r.json["verified"], true);
  EXPECT_EQ(r.json["messages"], 2 * 32 * 1000);
  const double rate = r.json["messages_per_s"];
  fmt::print("8-byte WRITEs: {:.1f} M/s a card\n", rate / 1e6);
  EXPECT_GE(rate, 300e6);
  // Payload from memory; sizes that leave gaps.
  for (const char* size : {"17", "61"}) {
    const Outcome s =
        ublsim(fmt::format("run msgrate -q --bytes {} --qps 16 --iterations 100", size));
    EXPECT_TRUE(ends_with_status(s, 0)) << size;
    EXPECT_EQ(s.json["verified"], true) << size;
  }
}

TEST(Traffic, Incast) {
  const Outcome r = ublsim("run incast --cards 16 -q");
  ASSERT_TRUE(ends_with_status(r, 0));
  EXPECT_EQ(r.json["verified"], true);
  fmt::print("busy {:.4f}, Jain {:.4f}, victim {:.4f}, p99 {}\n",
             r.json["bottleneck_busy"].get<double>(), r.json["jain"].get<double>(),
             r.json["victim_share"].get<double>(), r.json["queue_flits"]["p99"].get<int>());
  EXPECT_GE(r.json["bottleneck_busy"], 0.95);
  EXPECT_GE(r.json["jain"], 0.98);
  EXPECT_GE(r.json["victim_share"], 0.90);
  EXPECT_LE(r.json["queue_flits"]["p99"], 2 * 1056);  // twice switch_ecn_kmax
  EXPECT_EQ(r.json["drops"], 0);
  EXPECT_EQ(r.json["retransmits"], 0);
  EXPECT_GT(r.json["ecn_marks"], 0);
  // Without congestion control the queues fill up and the victim suffers.
  const Outcome off = ublsim("run incast --cards 16 -q --shaping off");
  ASSERT_TRUE(ends_with_status(off, 0));
  EXPECT_EQ(off.json["verified"], true);
  EXPECT_LT(off.json["victim_share"], 0.6);
  EXPECT_GT(off.json["queue_flits"]["p99"], 5000);
}

TEST(Traffic, ShapingCutsTheSpreadOfLatencies) {
  const Outcome r = ublsim("run mixed --cards 8 --iterations 400");
  ASSERT_TRUE(ends_with_status(r, 0));
  EXPECT_EQ(r.json["verified"], true);
  const double on = r.json["spread_ns"], off = r.json["off"]["spread_ns"];
  fmt::print("p99 - p50 of 64 bytes: {:.0f} ns shaped, {:.0f} ns not\n", on, off);
  EXPECT_GE(r.json["spread_cut"], 0.72);
  EXPECT_DOUBLE_EQ(r.json["spread_cut"].get<double>(), 1 - on / off);
  // Bulk traffic is not what pays for it.
  EXPECT_GE(r.json["bulk_GBps"].get<double>(), 0.95 * r.json["off"]["bulk_GBps"].get<double>());
  EXPECT_NE(r.output.find("shaping off"), std::string::npos);
  EXPECT_NE(r.output.find("less with shaping"), std::string::npos);
}

TEST(Traffic, PushedPingpong) {
  for (const char* verb : {"write", "send"}) {
    const Outcome r =
        ublsim(fmt::format("run pingpong -q --push --iterations 200 --verb {}", verb));
    ASSERT_TRUE(ends_with_status(r, 0)) << verb;
    EXPECT_EQ(r.json["verified"], true) << verb;
    const double p50 = r.json["latency_ns"]["p50"];
    fmt::print("8 bytes, pushed {}: p50 {:.2f} ns\n", verb, p50);
    EXPECT_LE(p50, 2000);
  }
  // Longer than an entry can carry.
  const Outcome r = ublsim("run pingpong -q --push --iterations 50 --bytes 4097");
  ASSERT_TRUE(ends_with_status(r, 0));
  EXPECT_EQ(r.json["verified"], true);
}

// The cards take the steps: the host writes once, whatever the size, and is busy for a twentieth.
TEST(Traffic, AllReduceByTheCards) {
  for (const char* size : {"1MiB", "4MiB"}) {
    const Outcome host = ublsim(fmt::format("run allreduce --cards 8 --bytes {} -q", size));
    const Outcome nic =
        ublsim(fmt::format("run allreduce --cards 8 --bytes {} -q --offload nic", size));
    ASSERT_TRUE(ends_with_status(host, 0));
    ASSERT_TRUE(ends_with_status(nic, 0));
    EXPECT_EQ(nic.json["verified"], true);
    EXPECT_EQ(nic.json["host_call"]["mmio_writes"], 1);
    EXPECT_EQ(nic.json["host_prepare"]["mmio_writes"], 2);
    const double a = host.json["host_call"]["busy_ns"], b = nic.json["host_call"]["busy_ns"];
    fmt::print("{}: host busy {} ns, offloaded {} ns (and {} ns to prepare)\n", size, a, b,
               nic.json["host_prepare"]["busy_ns"].get<double>());
    EXPECT_LE(b, 0.05 * a);
    EXPECT_GT(nic.json["algbw_GBps"], host.json["algbw_GBps"]);
  }
  // Odd counts, few elements, one card; a bad network.
  for (const char* args : {"--cards 7 --bytes 12348", "--cards 5 --bytes 4", "--cards 3 --bytes 0",
                           "--cards 1", "--cards 2 --bytes 1MiB --planes 1"}) {
    const Outcome r = ublsim(fmt::format("run allreduce -q --offload nic {}", args));
    EXPECT_TRUE(ends_with_status(r, 0)) << args;
    EXPECT_EQ(r.json["verified"], true) << args;
  }
  const TempFile faults("- what: drop\n  where: \"*\"\n  rate: 0.02\n");
  const Outcome r =
      ublsim("run allreduce -q --offload nic --cards 4 --bytes 1MiB --faults " + faults.path());
  EXPECT_TRUE(ends_with_status(r, 0));
  EXPECT_EQ(r.json["verified"], true);
  EXPECT_GT(r.json["retransmits"], 0);
  // A card that cannot be reached: said, not waited for without end.
  const TempFile cut("- what: cut\n  where: \"card2.*\"\n  at: 0\n");
  const Outcome dead =
      ublsim("run allreduce -q --offload nic --cards 4 --bytes 1MiB --faults " + cut.path());
  EXPECT_TRUE(ends_with_status(dead, 3) || ends_with_status(dead, 4)) << dead.output;
}

TEST(Traffic, BadInput) {
  const auto refused = [](const std::string& args, const std::string& text) {
    const Outcome r = ublsim("run " + args);
    EXPECT_TRUE(ends_with_status(r, 2)) << args;
    EXPECT_NE(r.output.find(text), std::string::npos) << r.output;
  };
  refused("msgrate --cards 3", "msgrate needs --cards 2");
  refused("msgrate --bytes 0", "--bytes 0");
  refused("msgrate --bytes 4097", "--bytes 4097");
  refused("msgrate --qps 0", "--qps 0");
  refused("msgrate --qps 257", "--qps 257");
  refused("msgrate --iterations 4097", "--iterations 4097");
  refused("sendrecv --qps 2", "--qps 2: not for sendrecv");
  refused("incast --cards 2", "incast needs --cards 3");
  refused("incast --bytes 100", "--bytes 100");
  refused("incast --shaping maybe", "--shaping maybe: must be on or off");
  refused("alltoall --shaping on", "--shaping on: not for alltoall");
  refused("mixed --cards 2", "mixed needs --cards 3");
  refused("mixed --iterations 10", "--iterations 10");
  refused("mixed --bytes 8MiB", "mixed takes bulk messages");
  refused("train --push", "--push: not for train");
  refused("allreduce --offload card", "--offload card: must be host or nic");
  refused("alltoall --offload nic", "--offload nic: not for alltoall");
  refused("allreduce --offload nic --algo ring", "--algo ring: --offload nic has its own");
  refused("allreduce --offload nic --out-of-place", "--offload nic is in place");
}

}  // namespace
}  // namespace ubl::e2e
