// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Topology files: what is right comes back, what is wrong is named with its line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "ublsim/options.hpp"
#include "ublsim/topology_file.hpp"

namespace ubl::ublsim {
namespace {

using cosim::Topology;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TopologyFile : public ::testing::Test {
 protected:
  ~TopologyFile() override { std::remove(path.c_str()); }
  Topology load(const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return load_topology(path);
  }
  /// What the loader says about a text; empty if it takes it.
  std::string refusal(const std::string& text) {
    try {
      load(text);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  /// `line` 0: only the file is named.
  void expect_refused(const std::string& text, unsigned line, const std::string& words) {
    const std::string said = refusal(text);
    const std::string place = line == 0 ? path + ": " : fmt::format("{}:{}: ", path, line);
    EXPECT_THAT(said, StartsWith(place)) << text;
    EXPECT_THAT(said, HasSubstr(words)) << text;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_LT(said.size(), 400u);
  }
  std::string path = ::testing::TempDir() + "/ubl-topology-" + std::to_string(getpid()) + ".yaml";
};

constexpr const char* kGood =
    "name: small\n"                                  // 1
    "cards: 2\n"                                     // 2
    "planes: 1\n"                                    // 3
    "switches:\n"                                    // 4
    "  - {name: s, plane: 0, radix: 16}\n"           // 5
    "links:\n"                                       // 6
    "  - {card: 0, plane: 0, switch: s, port: 9}\n"  // 7
    "  - card: 1\n"                                  // 8
    "    plane: 0\n"                                 // 9
    "    switch: s\n"                                // 10
    "    port: 3\n"                                  // 11
    "    latency_ns: 400\n"                          // 12
    "routes:\n"                                      // 13
    "  - {switch: s, card: 1, port: 3}\n";           // 14

/// kGood with one piece replaced.
std::string with(const std::string& old, const std::string& fresh) {
  std::string s = kGood;
  const size_t at = s.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return s.replace(at, old.size(), fresh);
}

TEST_F(TopologyFile, SaysWhichCardIsOnWhichPort) {
  const Topology t = load(kGood);
  EXPECT_EQ(t.name, "small");
  EXPECT_EQ(t.cards, 2u);
  EXPECT_EQ(t.planes, 1u);
  ASSERT_EQ(t.switches.size(), 1u);
  EXPECT_EQ(t.switches[0].name, "s");
  EXPECT_EQ(t.switches[0].radix, 16u);
  EXPECT_EQ(t.link(0, 0).port, 9u);
  EXPECT_EQ(t.link(0, 0).latency_ns, 0u);
  EXPECT_EQ(t.link(1, 0).port, 3u);
  EXPECT_EQ(t.link(1, 0).latency_ns, 400u);
}

TEST_F(TopologyFile, WhatIsPrintedIsReadBack) {
  for (const unsigned cards : {1, 2, 16, 17, 128})
    for (const unsigned planes : {1, 3, 8}) {
      const std::string text = to_yaml(cosim::ubl128(cards, planes));
      EXPECT_EQ(to_yaml(load(text)), text);
    }
  const std::string text = to_yaml(load(kGood));
  EXPECT_THAT(text, HasSubstr("latency_ns: 400"));
  EXPECT_EQ(to_yaml(load(text)), text);
}

TEST_F(TopologyFile, OrderAndStyleDoNotMatter) {
  const Topology t = load(
      "\xEF\xBB\xBF{links: [{port: 15, switch: a, plane: 1, card: 0},\r\n"
      "  {port: 0, switch: 'b', plane: 0, card: 0}], # \xC3\xA4\n"
      "planes: 2, cards: 1, name: \"x.1-y_2\",\n"
      "switches: [{radix: 128, name: a, plane: 1}, {radix: 16, name: b, plane: 0}]}\n");
  EXPECT_EQ(t.link(0, 0).port, 0u);
  EXPECT_EQ(t.link(0, 1).port, 15u);
  EXPECT_EQ(t.switches[1].radix, 128u);
}

TEST_F(TopologyFile, NoFile) {
  EXPECT_THROW(load_topology("/no/such/file"), UsageError);
  EXPECT_THROW(load_topology(::testing::TempDir()), UsageError);
  EXPECT_THROW(load_topology("/dev/zero"), UsageError);  // endless
  EXPECT_THROW(load_topology("/dev/null"), UsageError);
  EXPECT_THROW(load_topology(std::string(5000, 'x')), UsageError);
  if (geteuid() != 0) {
    load(kGood);
    chmod(path.c_str(), 0);
    EXPECT_THROW(load_topology(path), UsageError);
  }
}

TEST_F(TopologyFile, NotYaml) {
  expect_refused("", 1, "empty");
  expect_refused("# nothing\n", 1, "empty");
  expect_refused("a: [\n", 2, "not valid YAML");
  expect_refused("a: b: c\n", 1, "not valid YAML");
  expect_refused("name: x\n\tcards: 2\n", 2, "not valid YAML");
  expect_refused("just text\n", 1, "must be a mapping");
  expect_refused("- 1\n", 1, "must be a mapping");
  expect_refused(std::string("name: x\nca\0rds: 2\n", 18), 2, "control character");
  expect_refused("name: x\ncards: \x1b[2J\n", 2, "control character");
  // Not UTF-8: lone, cut, overlong, surrogate, beyond Unicode, UTF-16.
  for (const char* bytes : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80",
                            "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xfe\xff"})
    expect_refused(std::string("name: x\ncards: ") + bytes + "\n", 2, "not UTF-8");
  expect_refused(std::string("\xff\xfe") + "a", 1, "not UTF-8");
  expect_refused(std::string(kGood) + "---\nname: y\n", 15, "a second document");
  expect_refused(std::string(2 << 20, '#'), 0, "larger than 1024 KiB");
}

TEST_F(TopologyFile, Bombs) {
  std::string laughs = "a: &a [x, x, x]\n";
  for (char c = 'b'; c < 'z'; ++c)
    laughs += fmt::format("{}: &{} [*{}, *{}, *{}]\n", c, c, char(c - 1), char(c - 1), char(c - 1));
  expect_refused(laughs, 1, "anchors are not allowed");
  expect_refused(with("port: 9", "port: &p 9"), 7, "anchors are not allowed");
  expect_refused("name: &n x\nself: *n\n", 1, "anchors are not allowed");
  expect_refused("name: *n\n", 1, "");
  expect_refused(std::string(100000, '['), 1, "nested more than 16 deep");
  expect_refused(std::string(100000, '{'), 1, "");
  std::string stairs;
  for (int i = 0; i < 300; ++i) stairs += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(refusal(stairs), HasSubstr("nested more than 16 deep"));
  EXPECT_NE(refusal("name: " + std::string(500000, 'x') + "\n"), "");
  std::string dashes;
  for (int i = 0; i < 200000; ++i) dashes += "- \n";
  expect_refused(dashes, 1, "must be a mapping");
}

TEST_F(TopologyFile, Keys) {
  expect_refused(with("name: small\n", ""), 1, "no 'name'");
  expect_refused(with("cards: 2\n", ""), 1, "no 'cards'");
  expect_refused(with("planes: 1\n", ""), 1, "no 'planes'");
  expect_refused("name: x\ncards: 1\nplanes: 1\nlinks: []\n", 1, "no 'switches'");
  expect_refused("name: x\ncards: 1\nplanes: 1\nswitches: []\n", 1, "no 'links'");
  expect_refused(with("planes: 1\n", "planes: 1\nplanets: 8\n"), 4, "unknown key 'planets'");
  expect_refused(with("planes: 1\n", "planes: 1\ncards: 2\n"), 4, "'cards' is given twice");
  expect_refused(with("planes: 1\n", "planes: 1\n[a, b]: 2\n"), 4, "a key must be a name");
  expect_refused(with(", radix: 16", ""), 5, "the switch has no 'radix'");
  expect_refused(with("radix: 16", "radix: 16, speed: 3"), 5, "unknown key 'speed' of a switch");
  expect_refused(with(", port: 9", ""), 7, "the link has no 'port'");
  expect_refused(with("    latency_ns", "    latency"), 12, "unknown key 'latency' of a link");
  expect_refused(with("port: 9", "port: 9, port: 10"), 7, "'port' is given twice");
  expect_refused(with("card: 1, port: 3}", "port: 3}"), 14, "the route has no 'card'");
  expect_refused(with("  - {name: s, plane: 0, radix: 16}", "  - s"), 5, "must be a mapping");
  expect_refused(with("  - {switch: s, card: 1, port: 3}", "  - 1"), 14, "must be a mapping");
  expect_refused("name: x\ncards: 1\nplanes: 1\nswitches: 3\nlinks: []\n", 4, "must be a list");
  // The place of nothing is where the next thing is.
  expect_refused("name: x\ncards: 1\nplanes: 1\nswitches:\nlinks: []\n", 5, "must be a list");
  expect_refused(
      "name: x\ncards: 1\nplanes: 1\nswitches: [{name: s, plane: 0, radix: 16}]\n"
      "links: {a: 1}\n",
      5, "must be a list");
  expect_refused(with(std::string(kGood).substr(std::string(kGood).find("routes")), "routes: 7\n"),
                 13, "must be a list");
}

TEST_F(TopologyFile, Numbers) {
  for (const char* n : {"0", "129", "-1", "two", "1.5", "0x2", "1e1", "99999999999999999999999999",
                        "4294967298", "18446744073709551618", "~", "[2]", "''", "+2", "2 2"}) {
    expect_refused(with("cards: 2", fmt::format("cards: {}", n)), 2, "cards must be a number");
    expect_refused(
        with("plane: 0, switch", fmt::format("plane: {}, switch", n[0] == '0' ? "1" : n)), 7,
        "plane must be a number");
  }
  for (const char* n : {"0", "9", "-1", "x", "4294967297"})
    expect_refused(with("planes: 1", fmt::format("planes: {}", n)), 3, "planes must be a number");
  expect_refused(with("port: 9", "port: 16"), 7, "switch 's' has no port 16 (radix 16)");
  expect_refused(with("port: 9", "port: -1"), 7, "port must be a number");
  expect_refused(with("port: 9", "port: 4294967305"), 7, "port must be a number");
  expect_refused(with("card: 0", "card: 2"), 7, "no card 2");
  expect_refused(with("card: 0", "card: 4294967296"), 7, "card must be a number");
  for (const char* n : {"0", "10001", "-5", "soon"})
    expect_refused(with("latency_ns: 400", fmt::format("latency_ns: {}", n)), 12,
                   "latency_ns must be a number from 1 to 10000");
  for (const char* n : {"1", "4", "15", "17", "64", "127", "1000"})
    expect_refused(with("radix: 16", fmt::format("radix: {}", n)), 5, "was compiled");
  expect_refused(with("radix: 16", "radix: 99999999999"), 5, "radix must be a number");
  expect_refused(with("cards: 2", "cards: 17"), 5, "too small for 17 cards");
}

TEST_F(TopologyFile, Names) {
  for (const char* n : {"''", "a b", "\"\\n\"", "[a]", "{a: b}", "\xC3\xA4", "a/b",
                        "abcdefghijklmnopqrstuvwxyz0123456789"}) {
    expect_refused(with("name: small", fmt::format("name: {}", n)), 1, "name must be");
    expect_refused(with("name: s,", fmt::format("name: {},", n)), 5, "name must be");
  }
  expect_refused(with("switch: s, port: 9", "switch: t, port: 9"), 7, "no switch 't'");
  expect_refused(with("switch: s, port: 9", "switch: [s], port: 9"), 7, "no switch");
  expect_refused(with("{switch: s, card", "{switch: t, card"), 14, "no switch 't'");
}

TEST_F(TopologyFile, Structure) {
  expect_refused(with("port: 9", "port: 3"), 11, "port 3 of switch 's' is taken by card 0");
  expect_refused(with("card: 0", "card: 1"), 8, "a second link of card 1 on plane 0");
  expect_refused(with("  - {card: 0, plane: 0, switch: s, port: 9}\n", ""), 7,
                 "card 0 has no link on plane 0");
  const std::string two =
      "  - {name: s, plane: 0, radix: 16}\n  - {name: t, plane: 0, radix: 16}\n";
  expect_refused(with("  - {name: s, plane: 0, radix: 16}\n", two), 6,
                 "not supported by this platform yet");
  expect_refused(with("planes: 1", "planes: 2"), 5, "plane 1 has no switch");
  std::string planes = with("  - {name: s, plane: 0, radix: 16}\n",
                            "  - {name: s, plane: 0, radix: 16}\n"
                            "  - {name: t, plane: 1, radix: 16}\n");
  planes.replace(planes.find("planes: 1"), 9, "planes: 2");
  expect_refused(planes, 8, "card 0 has no link on plane 1");
  std::string wrong = planes;
  wrong.replace(wrong.find("switch: s"), 9, "switch: t");
  expect_refused(wrong, 8, "switch 't' is not on plane 0");
  std::string same = planes;
  same.replace(same.find("name: t"), 7, "name: s");
  expect_refused(same, 6, "a second switch named 's'");
}

TEST_F(TopologyFile, Routes) {
  EXPECT_EQ(refusal(with("card: 1, port: 3", "card: 0, port: 9")), "");
  expect_refused(with("card: 1, port: 3", "card: 0, port: 3"), 14, "does not lead to card 0");
  expect_refused(with("card: 1, port: 3", "card: 2, port: 3"), 14, "no card 2");
  expect_refused(with("card: 1, port: 3", "card: 1, port: 99"), 14, "has no port 99");
  expect_refused(std::string(kGood) + "  - {switch: s, card: 1, port: 3}\n", 15, "a second route");
}

}  // namespace
}  // namespace ubl::ublsim
