// SPDX-License-Identifier: Apache-2.0
// What is wrong ends in the right exit status and a message that names the place.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

using ::testing::HasSubstr;

void expect_usage(const std::string& arguments, const std::string& words) {
  const Outcome r = ublsim(arguments);
  EXPECT_TRUE(ends_with_status(r, 2));
  EXPECT_THAT(r.output, HasSubstr(words)) << r.command;
}

TEST(Usage, BadOptions) {
  expect_usage("", "subcommand");
  expect_usage("run", "WORKLOAD");
  expect_usage("run nonsense", "nonsense");
  expect_usage("run allreduce --no-such-option", "--no-such-option");
  expect_usage("run allreduce --cards 0", "--cards 0");
  expect_usage("run allreduce --cards 129", "--cards 129");
  expect_usage("run allreduce --cards -1", "--cards");
  expect_usage("run allreduce --cards many", "--cards");
  for (const char* option : {"--cards", "--planes", "--root", "--steps", "--iterations", "--seed"})
    for (const char* value : {"-1", "010", "0x3", "+2", "' 3'", "''", "18446744073709551616"})
      expect_usage(fmt::format("run train {}={}", option, value), option);
  for (const char* option : {"--config", "--faults", "--topology", "--data", "--pcap", "--wave"})
    expect_usage(fmt::format("run train {} ''", option), fmt::format("{} ''", option));
  expect_usage("run allreduce --planes 9", "--planes 9");
  expect_usage("run allreduce --planes 0", "--planes 0");
  expect_usage("run allreduce --bytes 3", "--bytes 3");
  expect_usage("run allreduce --bytes 1XiB", "1XiB");
  expect_usage("run allreduce --bytes -4", "-4");
  expect_usage("run allreduce --bytes 99999999999999999999", "99999999999999999999");
  expect_usage("run allreduce --bytes 5GiB", "5GiB");
  expect_usage("run allreduce --dtype f7", "f7");
  expect_usage("run allreduce --op prod", "prod");
  expect_usage("run allreduce --algo magic", "magic");
  expect_usage("run allreduce --topology moebius", "moebius");
  expect_usage("run allreduce --config /no/such/file", "/no/such/file");
  expect_usage("run allreduce --faults /no/such/file", "/no/such/file");
  expect_usage("run broadcast --cards 3 --root 3", "--root 3");
  expect_usage("run broadcast --bytes 6", "--bytes 6");
  expect_usage("run read --cards 3", "--cards 2");
  expect_usage("run pingpong --cards 4", "pingpong needs --cards 2");
  expect_usage("run read --in-place", "--in-place");
  expect_usage("run sendmsg --cards 3", "--cards 2");
  expect_usage("run sendmsg --cards 2 --in-place", "--in-place");
  expect_usage("run sendmsg --cards 2 --dtype i8", "--dtype i8");
  expect_usage("run sendmsg --cards 2 --bytes 0", "--bytes 0");
  expect_usage("run pingpong --verb read", "--verb read: must be write or send");
  expect_usage("run sendmsg --cards 2 --verb send", "--verb send: not for sendmsg");
  expect_usage("run allreduce --verb write", "--verb write: not for allreduce");
  expect_usage("run sendrecv --cards 2 --in-place", "--in-place");
  expect_usage("run alltoall --in-place", "--in-place");
  expect_usage("run pingpong --in-place", "--in-place");
  expect_usage("run train --dtype f16", "--dtype f16");
  expect_usage("run allreduce --dtype f16", "--dtype f16");
  expect_usage("run reduce --dtype i32", "--dtype i32");
  expect_usage("run reducescatter --dtype f64", "--dtype f64");
  expect_usage("run broadcast --bytes 7 --dtype i64", "--bytes 7");
  expect_usage("run broadcast --dtype i16", "--dtype i16");
  expect_usage("run broadcast --bytes 2GiB", "--bytes 2147483648");
  expect_usage("run pingpong --iterations 0", "--iterations 0");
  expect_usage("run train --steps 0", "--steps 0");
  expect_usage("run train --data /no/such/file", "/no/such/file");
  expect_usage("run train --data /dev/zero", "/dev/zero: is a device");
  expect_usage("topo show moebius", "moebius");
}

TEST(Usage, Version) {
  const Outcome r = ublsim("--version");
  EXPECT_TRUE(ends_with_status(r, 0));
  EXPECT_THAT(r.output, ::testing::MatchesRegex("ublsim [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Usage, BadConfigFiles) {
  const std::pair<const char*, const char*> cases[] = {
      {"link_ns: 100\nnonsense: 3\n", ":2: unknown constant 'nonsense'"},
      {"link_ns: fast\n", ":1: link_ns must be a number"},
      {"link_ns: -1\n", ":1: link_ns must be a number"},
      {"link_ns: 1\nlink_ns: 2\n", ":2: 'link_ns' is given twice"},
      {"- 1\n", "must be a mapping"},
      {"a: [\n", "not valid YAML"},
      {"pcie_mbps: 0\n", "pcie_mbps"},
      {"switch_ecn_kmin: 65536\n", "switch_ecn_kmin"},
      {"switch_ecn_kmax: 65536\n", "switch_ecn_kmax"},
      {"link_ns: {a: 1}\n", "link_ns must be a number"},
      {"", "must be a mapping"},
  };
  for (const auto& [text, words] : cases) {
    const TempFile f(text);
    expect_usage("run allreduce --config " + f.path(), words);
  }
}

TEST(Usage, BadFaultFiles) {
  const std::pair<const char*, const char*> cases[] = {
      {"what: corrupt\n", "must be a list"},
      {"- what: melt\n  where: card0\n", ":1: unknown fault 'melt'"},
      {"- what: corrupt\n", "no 'where'"},
      {"- where: card0.plane0.up\n", "no 'what'"},
      {"- what: corrupt\n  where: card0.plane0.up\n  bit: 8\n", ":3: bit must be a number"},
      {"- what: corrupt\n  where: card9.plane0.up\n", "no link 'card9.plane0.up'"},
      {"- what: flip_result\n  where: card9\n", "no card 'card9'"},
      {"- what: no_receive\n  where: card0\n", "no_receive is for sendmsg only"},
      {"- what: short_receive\n  where: card0\n", "short_receive is for sendmsg only"},
      {"- what: flip_result\n  where: card0\n  byte: 99999\n", "byte 99999"},
      {"- nonsense\n", "must be a mapping"},
      {"- what: corrupt\n  wehre: x\n", ":2: unknown key 'wehre'"},
  };
  for (const auto& [text, words] : cases) {
    const TempFile f(text);
    expect_usage("run allreduce --cards 2 --bytes 4096 --faults " + f.path(), words);
  }
}

// Repaired: the run is verified, the frame was dropped, named and sent again.
void expect_sent_again(const Outcome& r, const std::string& where) {
  EXPECT_TRUE(verified(r));
  EXPECT_GE(r.json["retransmits"], 1);
  EXPECT_EQ(r.json["drops"], 1);
  ASSERT_EQ(r.json["events"].size(), 1u);
  EXPECT_THAT(r.json["events"][0].get<std::string>(),
              ::testing::ContainsRegex(where + " on plane 0, QP [0-9]+, PSN [0-9]+"));
}

TEST(Faults, CorruptFrameIsNamedAndSentAgain) {
  // Somewhere in every part of a bulk frame, on each half of the way.
  for (const char* link : {"card0.plane0.up", "card1.plane0.down"})
    for (const unsigned byte : {20, 40, 50, 60, 75, 1000}) {
      const TempFile f(fmt::format(
          "- what: corrupt\n  where: {}\n  vc: bulk\n  frame: 3\n  byte: {}\n  bit: 5\n", link,
          byte));
      const Outcome r = ublsim("run allreduce --cards 2 --bytes 1MiB -q --faults " + f.path());
      expect_sent_again(r, "card [01]: fcs");
      // Before the switch: it finds the frame bad, too, and passes it on stomped.
      const bool before = std::string(link) == "card0.plane0.up";
      EXPECT_EQ(r.json["switch_errors"],
                before ? nlohmann::json({{"fcs", 1}}) : nlohmann::json::object());
    }
}

TEST(Faults, SendWithoutABufferIsNamed) {
  for (const char* card : {"card0", "card1"})
    for (const unsigned planes : {1, 8})
      for (const unsigned bytes : {1, 100000}) {
        const std::string run =
            fmt::format("run sendmsg --cards 2 --planes {} --bytes {} -q --faults ", planes, bytes);
        const TempFile none(fmt::format("- what: no_receive\n  where: {}\n", card));
        const Outcome a = ublsim(run + none.path());
        EXPECT_TRUE(ends_with_status(a, 3));
        EXPECT_THAT(a.output, ::testing::ContainsRegex("QP [0-9]+ PSN [0-9]+: rnr"));
        const TempFile small(fmt::format("- what: short_receive\n  where: {}\n", card));
        const Outcome b = ublsim(run + small.path());
        EXPECT_TRUE(ends_with_status(b, 3));
        EXPECT_THAT(b.output, ::testing::ContainsRegex(
                                  "QP [0-9]+ PSN [0-9]+: (remote_invalid|local_length)"));
      }
  const TempFile unknown("- what: no_receive\n  where: card2\n");
  expect_usage("run sendmsg --cards 2 --faults " + unknown.path(), "no card 'card2'");
}

// What is damaged each time ends the run, naming the connection.
TEST(Faults, FramesThatAreAlwaysCorruptEndTheRun) {
  for (const char* link : {"card0.*.up", "card1.*.down"}) {
    const TempFile f(fmt::format("- {{what: corrupt, where: '{}', rate: 1, vc: bulk}}\n", link));
    const Outcome r = ublsim("run allreduce --cards 2 --bytes 65536 -q --faults " + f.path());
    EXPECT_TRUE(ends_with_status(r, 3));
    EXPECT_THAT(r.output, ::testing::ContainsRegex("timeout.*QP [0-9]+.*PSN [0-9]+"));
  }
}

TEST(Faults, CorruptSendIsNamedAndSentAgain) {
  for (const char* link : {"card0.plane0.up", "card1.plane0.down"})
    for (const unsigned byte : {42, 50, 54, 55, 58, 65, 66, 1000}) {  // BTH, SENDH, payload
      const TempFile f(fmt::format(
          "- what: corrupt\n  where: {}\n  vc: bulk\n  frame: 0\n  byte: {}\n", link, byte));
      const Outcome r = ublsim("run sendmsg --cards 2 --bytes 100000 -q --faults " + f.path());
      expect_sent_again(r, "card [01]: fcs");
    }
}

TEST(Usage, AFileForTwoPurposes) {
  const TempFile f("{}");
  for (const char* two : {"--pcap {0} --wave {0}", "--config {0} --pcap {0}",
                          "--faults {0} --wave {0}", "--pcap {0} --config {0}"})
    expect_usage("run train " + fmt::format(fmt::runtime(two), f.path()), "is the file of --");
}

// What a lost acknowledgement said the next one says, or the packet is sent again.
TEST(Faults, CorruptAcknowledgementIsNamed) {
  for (const unsigned byte : {20, 44, 56, 63, 65}) {
    const TempFile f(fmt::format(
        "- what: corrupt\n  where: card0.plane0.up\n  frame: 1\n  byte: {}\n  bit: 5\n", byte));
    const Outcome r = ublsim("run pingpong --planes 1 --iterations 3 -q --faults " + f.path());
    EXPECT_TRUE(verified(r));
    ASSERT_EQ(r.json["events"].size(), 1u);
    EXPECT_THAT(r.json["events"][0].get<std::string>(),
                ::testing::ContainsRegex("card 1: fcs on plane 0, QP [0-9]+, PSN [0-9]+"));
  }
}

TEST(Faults, EveryFlipIsDoneOrRefused) {
  const TempFile card1("- {what: flip_result, where: card1, byte: 0, bit: 7}\n");
  for (const char* workload : {"pingpong --iterations 3", "allgather --bytes 64", "read --cards 2",
                               "sendmsg --cards 2", "sendrecv --bytes 64"})
    EXPECT_TRUE(
        ends_with_status(ublsim(fmt::format("run {} -q --faults {}", workload, card1.path())), 1));
  for (const char* workload : {"train --steps 1", "gather --bytes 64", "reduce --bytes 64"}) {
    const Outcome r = ublsim(fmt::format("run {} -q --faults {}", workload, card1.path()));
    EXPECT_TRUE(ends_with_status(r, 2));
    EXPECT_THAT(r.output, HasSubstr("card1 has no result"));
  }
  const TempFile card99("- {what: flip_result, where: card99}\n");
  for (const char* workload : {"pingpong --iterations 3", "train --steps 1"})
    EXPECT_TRUE(
        ends_with_status(ublsim(fmt::format("run {} -q --faults {}", workload, card99.path())), 2));
}

TEST(Faults, FlippedResultIsFound) {
  const TempFile f("- what: flip_result\n  where: card1\n  byte: 77\n  bit: 3\n");
  const Outcome r = ublsim("run allreduce --cards 2 --bytes 4096 -q --faults " + f.path());
  EXPECT_TRUE(ends_with_status(r, 1));
  EXPECT_THAT(r.output, HasSubstr("card 1: byte 77"));
  EXPECT_EQ(r.json["mismatches"], 1);
  EXPECT_EQ(r.json["verified"], false);
}

}  // namespace
}  // namespace ubl::e2e
