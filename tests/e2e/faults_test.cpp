// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Faults of links under whole workloads: what is lost is sent again, what is lost again and again
// ends in an error that names QP and PSN, nothing hangs, no data are wrong, and neither cards nor
// switches ever see a credit or a frame that breaks the rules of a link.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Outcome run_with(const std::string& faults, const std::string& arguments) {
  const TempFile f(faults);
  return ublsim("run " + arguments + " -q --faults " + f.path());
}

uint64_t injected(const Outcome& r, const std::string& kind) {
  return r.json.is_object() ? r.json["faults_injected"].value(kind, uint64_t{0}) : 0;
}

/// Status 0 with right data or 3 or 4 with QP and PSN; and the switches found nothing but
/// frames that were damaged on purpose.
void expect_honest(const Outcome& r, const std::string& faults) {
  SCOPED_TRACE(faults + r.command);
  ASSERT_TRUE(r.json.is_object()) << r.output;
  EXPECT_THAT(r.exit_code, ::testing::AnyOf(0, 3, 4)) << r.output;
  EXPECT_EQ(r.json["exit_code"], r.exit_code);
  EXPECT_EQ(r.json["verified"], r.exit_code == 0);
  EXPECT_EQ(r.json["mismatches"], 0);
  if (r.exit_code == 3) {
    EXPECT_THAT(r.output, ContainsRegex("QP [0-9]+"));
    EXPECT_THAT(r.output, ContainsRegex("PSN [0-9]+"));
  }
  if (r.exit_code == 4) {
    EXPECT_THAT(r.output, HasSubstr("rank "));
  }
  // Not among them: a flit without a credit, a credit too many, a frame without its first flit, one
  // within another.
  const auto& injected = r.json["faults_injected"];
  std::set<std::string> may;
  if (injected.contains("corrupt")) may = {"fcs", "length", "no_route"};
  if (injected.contains("cut")) may.insert({"fcs", "length"});
  for (const auto& [error, n] : r.json["switch_errors"].items())
    EXPECT_EQ(may.count(error), 1u) << error << " " << n;
}

constexpr const char* kWorkloads[] = {
    "allreduce --planes 2 --cards 2 --bytes 65536", "sendrecv --planes 2 --cards 2 --bytes 65536",
    "alltoall --planes 2 --cards 3 --bytes 65536", "read --planes 2 --bytes 65536",
    "sendmsg --planes 2 --bytes 65536"};

class Kinds : public ::testing::TestWithParam<const char*> {};

TEST_P(Kinds, EveryChannelDirectionAndWorkload) {
  const std::string kind = GetParam();
  std::map<std::string, unsigned> hits;
  for (const char* vc : {"req", "rsp", "bulk"})
    for (const char* link : {"card0.plane0.up", "card1.plane0.down"})
      for (const char* workload : kWorkloads) {
        const std::string faults = fmt::format("- {{what: {}, where: {}, vc: {}, frame: {}}}\n",
                                               kind, link, vc, std::string(vc) == "bulk" ? 2 : 0);
        const Outcome r = run_with(faults, workload);
        expect_honest(r, faults);
        SCOPED_TRACE(faults + r.command + "\n" + r.output);
        const uint64_t n = injected(r, kind);
        EXPECT_LE(n, 1u);
        if (n == 0) {  // so few frames has the channel
          EXPECT_TRUE(verified(r));
          continue;
        }
        ++hits[vc];
        EXPECT_TRUE(verified(r));
        const bool acknowledgement = std::string(vc) == "rsp";
        if ((kind == "drop" || kind == "corrupt") && !acknowledgement) {
          EXPECT_GE(r.json["retransmits"], 1);
        }
        if (kind == "corrupt") {
          EXPECT_EQ(r.json["drops"], 1);
        }
        if (kind == "duplicate" && !acknowledgement) {
          EXPECT_GE(r.json["nic"]["duplicates"], 1);
        }
      }
  for (const char* vc : {"req", "rsp", "bulk"}) EXPECT_GE(hits[vc], 2u) << vc;
}
INSTANTIATE_TEST_SUITE_P(, Kinds, ::testing::Values("drop", "duplicate", "reorder", "corrupt"),
                         [](const auto& p) { return p.param; });

TEST(LinkFaults, EverywhereAtOnceNothingHangs) {
  for (const char* kind : {"drop", "duplicate", "reorder", "corrupt"})
    for (const char* workload : kWorkloads)
      for (const unsigned seed : {1, 2}) {
        const std::string faults = fmt::format("- {{what: {}, where: '*', rate: 0.05}}\n", kind);
        const Outcome r = run_with(faults, fmt::format("{} --seed {}", workload, seed));
        expect_honest(r, faults);
        EXPECT_TRUE(verified(r)) << faults << r.command << r.output;
      }
  const std::string all =
      "- {what: drop, where: '*', rate: 0.01}\n- {what: duplicate, where: '*', rate: 0.02}\n"
      "- {what: reorder, where: '*', rate: 0.02}\n- {what: corrupt, where: '*', rate: 0.01}\n"
      "- {what: cut, where: card1.plane1.*, at: 7000, until: 7200}\n";
  for (const char* workload : kWorkloads) {
    const Outcome r = run_with(all, workload);
    expect_honest(r, all);
    EXPECT_TRUE(verified(r)) << r.command << r.output;
  }
}

TEST(LinkFaults, CutLinksAreGoneAround) {
  // Before, at the beginning and in the middle of the data.
  for (const unsigned at : {0, 9000, 13000})
    for (const char* where : {"card0.plane0.*", "card1.plane2.up", "card2.plane1.down", "*"})
      for (const char* until : {"", ", until: 13500"}) {
        const std::string faults =
            fmt::format("- {{what: cut, where: '{}', at: {}{}}}\n", where, at, until);
        const Outcome r = run_with(faults, "allreduce --cards 3 --bytes 1MiB");
        expect_honest(r, faults);
        // There are seven other planes.
        const bool all = std::string(where) == "*" && std::string(until).empty();
        EXPECT_EQ(r.exit_code, all ? 3 : 0) << faults << r.output;
      }
  for (const char* workload : kWorkloads) {
    const std::string faults = "- {what: cut, where: card0.plane0.*, at: 0}\n";
    const Outcome r = run_with(faults, workload);
    expect_honest(r, faults);
    EXPECT_TRUE(verified(r)) << r.command << r.output;
  }
}

TEST(LinkFaults, WhatDoesNotHappenChangesNothing) {
  const std::string run = "allreduce --cards 3 --bytes 300000";
  const Outcome want = ublsim("run " + run + " -q");
  ASSERT_TRUE(verified(want));
  EXPECT_EQ(want.json["faults_injected"], json::object());
  for (const char* faults :
       {"- {what: drop, where: '*', rate: 0}\n", "- {what: duplicate, where: '*', frame: 100000}\n",
        "- {what: reorder, where: '*', at: 1000000000}\n",
        "- {what: cut, where: '*', at: 0, until: 3000}\n",
        "- {what: cut, where: '*', at: 1000000}\n",
        "- {what: corrupt, where: '*', frame: 2, byte: 4223}\n"}) {
    const Outcome r = run_with(faults, run);
    EXPECT_TRUE(verified(r)) << faults;
    EXPECT_EQ(r.json["run_hash"], want.json["run_hash"]) << faults;
    EXPECT_EQ(r.json["cycles"], want.json["cycles"]) << faults;
    for (const auto& [kind, n] : r.json["faults_injected"].items()) EXPECT_EQ(n, 0) << kind;
    for (const auto& l : r.json["links"]) EXPECT_FALSE(l.contains("faults_injected"));
  }
}

TEST(LinkFaults, SkippingAndCapturesChangeNothing) {
  const char* files[] = {
      "- {what: reorder, where: '*', rate: 0.2, by: 3, within_ns: 700}\n"
      "- {what: duplicate, where: '*', rate: 0.2}\n",
      "- {what: reorder, where: '*', rate: 0.3, by: 5, within_ns: 2000, vc: rsp}\n"
      "- {what: drop, where: '*', rate: 0.1, vc: rsp}\n",
      "- {what: cut, where: card0.plane0.*, at: 7000, until: 7200}\n",
      "- {what: reorder, where: card1.plane0.down, at: 17000, by: 1000}\n"
      "- {what: corrupt, where: '*', rate: 0.02}\n"};
  unsigned fine = 0, failed = 0;
  for (const char* faults : files)
    for (const std::string workload :
         {"allreduce --planes 2 --cards 2 --bytes 65536", "sendrecv --planes 2 --bytes 100000",
          "read --planes 2 --bytes 100000", "pingpong --planes 1 --iterations 20"}) {
      const Outcome a = run_with(faults, workload);
      expect_honest(a, faults);
      const TempFile pcap;
      std::vector<std::string> options = {" --pcap " + pcap.path()};
      // A time-out of a QP is a million idle cycles.
      const bool is_short = a.json["cycles"] < 200000;
      if (is_short) options.push_back(" --no-skip");
      for (const std::string& option : options) {
        const Outcome b = run_with(faults, workload + option);
        SCOPED_TRACE(faults + b.command);
        for (const char* key : {"run_hash", "faults_injected", "exit_code", "errors"})
          EXPECT_EQ(a.json[key], b.json[key]) << key;
      }
      if (!is_short) continue;
      ++(a.exit_code == 0 ? fine : failed);
    }
  EXPECT_GE(fine, 8u);
  EXPECT_EQ(failed, 0u);
}

// Each credit that goes astray would be missed: there are 512 of a channel, and more frames.
TEST(LinkFaults, ChannelsLiveOnAfterManyFaults) {
  for (const char* faults : {"- {what: duplicate, where: '*', rate: 1, vc: rsp}\n",
                             "- {what: reorder, where: '*', rate: 1, vc: rsp, within_ns: 300}\n",
                             "- {what: reorder, where: '*', rate: 1, within_ns: 300}\n"}) {
    const Outcome r = run_with(faults, "pingpong --iterations 1000");
    EXPECT_TRUE(verified(r)) << faults;
    for (const auto& [kind, n] : r.json["faults_injected"].items()) EXPECT_GT(n, 1500) << kind;
  }
  // Acknowledgements that later ones replace.
  const std::string drop = "- {what: drop, where: '*', rate: 0.3, vc: rsp, to_ns: 4000000}\n";
  const Outcome r = run_with(drop, "pingpong --iterations 1500");
  EXPECT_TRUE(verified(r));
  EXPECT_GT(injected(r, "drop"), 850u);
}

TEST(LinkFaults, SeedsDecideAndEntriesMayHaveTheirOwn) {
  const auto run = [](const char* seed_key, unsigned seed) {
    const Outcome r = run_with(
        fmt::format("- {{what: reorder, where: '*', rate: 0.3, within_ns: 300{}}}\n", seed_key),
        fmt::format("pingpong --iterations 50 --seed {}", seed));
    EXPECT_TRUE(verified(r));
    std::map<std::string, json> by_link;
    for (const auto& l : r.json["links"])
      if (l.contains("faults_injected")) by_link[l["name"]] = l["faults_injected"];
    return std::make_tuple(by_link, r.json["cycles"]);
  };
  EXPECT_EQ(run("", 1), run("", 1));
  EXPECT_NE(run("", 1), run("", 2));
  EXPECT_EQ(run(", seed: 5", 1), run(", seed: 5", 2));
  EXPECT_NE(run(", seed: 5", 1), run(", seed: 6", 1));
}

TEST(LinkFaults, AreCountedInResultAndSummary) {
  const TempFile f(
      "- {what: reorder, where: card0.plane0.up, frame: 1, within_ns: 100}\n"
      "- {what: duplicate, where: card*.plane0.up, vc: rsp, rate: 1}\n"
      "- {what: drop, where: card1.plane0.down, frame: 1000}\n");
  const Outcome r = ublsim("run pingpong --planes 1 --iterations 20 --faults " + f.path());
  EXPECT_TRUE(verified(r));
  uint64_t sum = 0;
  for (const auto& l : r.json["links"]) {
    const json of_link = l.value("faults_injected", json::object());
    sum += of_link.value("duplicate", uint64_t{0});
    EXPECT_EQ(of_link.contains("reorder"), l["name"] == "card0.plane0.up");
  }
  EXPECT_GT(sum, 10u);
  EXPECT_EQ(r.json["faults_injected"], json({{"drop", 0}, {"duplicate", sum}, {"reorder", 1}}));
  EXPECT_THAT(r.output,
              HasSubstr(fmt::format("faults        drop 0, duplicate {}, reorder 1\n", sum)));
}

TEST(LinkFaults, BadEntriesAreNamedWithTheirLines) {
  const std::pair<const char*, const char*> cases[] = {
      {"- what: drop\n  where: card0.plane0.up\n", ":1: the fault has neither"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: 1.5\n", ":3: rate must be a number from 0"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: -0.1\n", ":3: rate"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: nan\n", ":3: rate"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: 1e\n", ":3: rate"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: [1]\n", ":3: rate"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: 1\n  frame: 2\n", ":4: frame does not go"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: 1\n  at: 2\n", ":4: at does not go"},
      {"- what: drop\n  where: card0.plane0.up\n  frame: 1\n  from_ns: 2\n", ":4: from_ns needs"},
      {"- what: drop\n  where: card0.plane0.up\n  rate: 1\n  from_ns: 2\n  to_ns: 2\n",
       ":5: to_ns must be more than from_ns"},
      {"- what: drop\n  where: card0.plane0.up\n  frame: 1\n  byte: 2\n",
       ":4: unknown key 'byte' of drop"},
      {"- what: drop\n  where: card0.plane0.up\n  frame: 1\n  vc: high\n",
       ":4: vc must be one of req, rsp, bulk"},
      {"- what: drop\n  where: card0.plane0.up\n  frame: 1\n  seed: -1\n", ":4: seed"},
      {"- what: drop\n  where: card0.plane0.up\n  at: 1000000000000001\n", ":3: at must be"},
      {"- what: corrupt\n  where: card0.plane0.up\n  byte: 4224\n", ":3: byte must be a number"},
      {"- what: corrupt\n  where: card0.plane0.up\n  bit: any\n", ":3: bit must be a number"},
      {"- what: reorder\n  where: card0.plane0.up\n  frame: 1\n  by: 0\n", ":4: by must be"},
      {"- what: reorder\n  where: card0.plane0.up\n  frame: 1\n  within_ns: 0\n", ":4: within_ns"},
      {"- what: cut\n  where: card0.plane0.up\n", ":1: the fault has no 'at'"},
      {"- what: cut\n  where: card0.plane0.up\n  at: 5\n  until: 5\n", ":4: until must be more"},
      {"- what: cut\n  where: card0.plane0.up\n  at: 5\n  rate: 1\n", ":4: unknown key 'rate'"},
      {"- what: flip_result\n  where: card0\n  frame: 5\n", ":3: unknown key 'frame'"},
      {"- what: drop\n  frame: 5\n  where: card0.plane8.*\n", ":3: no link 'card0.plane8.*'"},
      {"- what: drop\n  frame: 5\n  where: card0\n", ":3: no link 'card0'"},
      {"- what: drop\n  frame: 5\n  where: ''\n", ":3: where must be a name"},
      {"- what: drop\n  frame: 5\n  where: [a]\n", ":3: where must be a name"},
      {"- what: flip_result\n  where: card9\n", ":2: no card 'card9'"},
      {"- what: no_receive\n  where: card0\n", ":2: no_receive is for sendmsg only"},
      {"- what: drop\n  what: drop\n", ":2: 'what' is given twice"},
      {"- [what, drop]\n", ":1: a fault must be a mapping"},
  };
  for (const auto& [text, words] : cases) {
    const TempFile f(text);
    const Outcome r = ublsim("run allreduce --cards 2 --bytes 4096 --faults " + f.path());
    EXPECT_TRUE(ends_with_status(r, 2)) << text;
    EXPECT_THAT(r.output, HasSubstr("ublsim: " + f.path() + words)) << text;
  }
}

// Every list in the guide is a fault file that is taken.
TEST(Guide, ExamplesWork) {
  std::ifstream guide(UBL_FAULT_GUIDE);
  ASSERT_TRUE(guide);
  std::vector<std::string> examples;
  bool open = false;
  for (std::string line; std::getline(guide, line);) {
    const bool code = line.rfind("    ", 0) == 0;
    if (code && !open && line.rfind("    - ", 0) == 0) {
      examples.emplace_back();
      open = true;
    }
    open = open && code;
    if (open) examples.back() += line.substr(4) + "\n";
  }
  ASSERT_GE(examples.size(), 7u);
  for (const std::string& text : examples) {
    const bool sendmsg = text.find("_receive") != std::string::npos;
    const Outcome r = run_with(text, sendmsg ? "sendmsg" : "allreduce");
    SCOPED_TRACE(text + r.output);
    EXPECT_THAT(r.exit_code, ::testing::AnyOf(0, 1, 3));
    for (const auto& [kind, n] : r.json["faults_injected"].items()) EXPECT_GT(n, 0) << kind;
  }
}

}  // namespace
}  // namespace ubl::e2e
