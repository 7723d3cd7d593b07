// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Topology files through the program: the preset as a file is the preset, cards may be on any port.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

using ::testing::HasSubstr;

/// A file with every card on a random port of a switch of that radix, another one on every plane.
std::string permuted(unsigned cards, unsigned planes, unsigned radix, unsigned seed,
                     const std::string& more = "") {
  std::mt19937 rng(seed);
  std::string s = fmt::format("name: permuted\ncards: {}\nplanes: {}\nswitches:\n", cards, planes);
  std::string links = "links:\n", routes = "routes:\n";
  for (unsigned p = 0; p < planes; ++p) {
    s += fmt::format("- {{name: sw{}, plane: {}, radix: {}}}\n", p, p, radix);
    std::vector<unsigned> ports(radix);
    std::iota(ports.begin(), ports.end(), 0u);
    for (size_t i = ports.size() - 1; i > 0; --i) std::swap(ports[i], ports[rng() % (i + 1)]);
    for (unsigned c = 0; c < cards; ++c) {
      links += fmt::format("- {{card: {}, plane: {}, switch: sw{}, port: {}{}}}\n", c, p, p,
                           ports[c], more);
      if (c % 2 == 0)
        routes += fmt::format("- {{switch: sw{}, card: {}, port: {}}}\n", p, c, ports[c]);
    }
  }
  return s + links + routes;
}

TEST(Topology, ShownPresetGivesTheSameRun) {
  for (const auto& [cards, planes, workload] :
       {std::tuple(8u, 1u, "allreduce"), std::tuple(3u, 8u, "alltoall"),
        std::tuple(20u, 1u, "allgather")}) {
    const std::string size = fmt::format("--cards {} --planes {}", cards, planes);
    const Outcome shown = ublsim("topo show ubl128 " + size);
    ASSERT_TRUE(ends_with_status(shown, 0));
    const TempFile f(shown.output);
    const std::string run = fmt::format("run {} --bytes 20000 -q ", workload);
    const Outcome preset = ublsim(run + size), file = ublsim(run + "--topology " + f.path());
    ASSERT_TRUE(verified(preset));
    ASSERT_TRUE(verified(file));
    for (const char* key : {"run_hash", "data_hash", "cards", "planes", "topology", "cycles"})
      EXPECT_EQ(preset.json[key], file.json[key]) << key;
    const Outcome again = ublsim("topo show " + f.path());
    EXPECT_EQ(again.output, shown.output);
  }
}

TEST(Topology, CardsOnAnyPort) {
  const std::tuple<const char*, unsigned, unsigned, unsigned> cases[] = {
      {"allreduce --bytes 65536", 8, 2, 16}, {"allreduce --bytes 12348 --algo slots", 5, 1, 128},
      {"alltoall --bytes 65536", 16, 1, 16}, {"broadcast --root 2 --bytes 12348", 7, 8, 16},
      {"sendrecv --bytes 20000", 3, 2, 128}, {"reducescatter --bytes 65536", 4, 8, 16}};
  unsigned seed = 1;
  for (const auto& [what, cards, planes, radix] : cases) {
    const TempFile f(permuted(cards, planes, radix, seed++));
    const Outcome file = ublsim(fmt::format("run {} -q --topology {}", what, f.path()));
    const Outcome preset =
        ublsim(fmt::format("run {} -q --cards {} --planes {}", what, cards, planes));
    ASSERT_TRUE(verified(file));
    ASSERT_TRUE(verified(preset));
    EXPECT_EQ(file.json["data_hash"], preset.json["data_hash"]) << what;
    EXPECT_EQ(file.json["topology"], "permuted");
    EXPECT_EQ(file.json["cards"], cards);
    const Outcome slow = ublsim(fmt::format("run {} -q --topology {} --no-skip", what, f.path()));
    EXPECT_EQ(file.json["run_hash"], slow.json["run_hash"]) << what;
  }
}

TEST(Topology, LatencyOfALinkIsItsOwn) {
  const auto p50 = [](const std::string& text) {
    const TempFile f(text);
    const Outcome r = ublsim("run pingpong --iterations 20 -q --topology " + f.path());
    EXPECT_TRUE(verified(r));
    return r.json["latency_ns"]["p50"].get<double>();
  };
  const double base = p50(permuted(2, 1, 16, 3));
  // Up and down, of both cards.
  EXPECT_NEAR(p50(permuted(2, 1, 16, 3, ", latency_ns: 1150")), base + 2000, 4);
  std::string one = permuted(2, 1, 16, 3);
  one.insert(one.find('}', one.find("card: 1, plane: 0")), ", latency_ns: 1150");
  EXPECT_NEAR(p50(one), base + 1000, 4);
}

TEST(Topology, OptionsMayOnlySayTheSame) {
  const TempFile f(permuted(3, 2, 16, 1));
  const std::string run = "run allreduce --bytes 4096 -q --topology " + f.path();
  EXPECT_TRUE(verified(ublsim(run + " --cards 3 --planes 2")));
  const std::pair<const char*, const char*> cases[] = {
      {" --cards 4", "--cards 4: the topology file has 3"},
      {" --planes 1", "--planes 1: the topology file has 2"},
  };
  for (const auto& [more, words] : cases) {
    const Outcome r = ublsim(run + more);
    EXPECT_TRUE(ends_with_status(r, 2));
    EXPECT_THAT(r.output, HasSubstr(words));
  }
  const Outcome pingpong = ublsim("run pingpong --topology " + f.path());
  EXPECT_TRUE(ends_with_status(pingpong, 2));
  EXPECT_THAT(pingpong.output, HasSubstr("2 cards"));
}

TEST(Topology, BadFilesEndWithStatus2AndTheLine) {
  std::string taken = permuted(2, 1, 16, 1);
  taken.replace(taken.find("port: "), std::string::npos, "port: 99}\n");
  const std::pair<std::string, const char*> cases[] = {
      {"", ":1: empty"},
      {"name: x\ncards: 2\nplanets: 1\n", ":3: unknown key 'planets'"},
      {taken, ":7: switch 'sw0' has no port 99"},
      {"cards: [\n", ":2: not valid YAML"},
      {"cards: \xff\n", ":1: not UTF-8"},
      {"a: &a [*a]\n", ":1: anchors"},
  };
  for (const auto& [text, words] : cases) {
    const TempFile f(text);
    for (const char* command : {"run allreduce --topology", "topo show"}) {
      const Outcome r = ublsim(fmt::format("{} {}", command, f.path()));
      EXPECT_TRUE(ends_with_status(r, 2));
      EXPECT_THAT(r.output, HasSubstr(f.path() + words));
    }
  }
  for (const char* path : {"/tmp", "/no/such/file", "/dev/zero"}) {
    const Outcome r = ublsim(fmt::format("run allreduce --topology {}", path));
    EXPECT_TRUE(ends_with_status(r, 2));
    EXPECT_THAT(r.output, HasSubstr(path));
  }
}

}  // namespace
}  // namespace ubl::e2e
