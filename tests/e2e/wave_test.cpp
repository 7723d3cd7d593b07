// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// `ublsim run ... --wave`: what a reader of FST files finds in them, against what the run says.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "gtkwave/fstapi.h"
#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPeriodPs = 1280;

/// All signals of a file and all their changes.
struct Waves {
  struct Change {
    uint64_t ps;
    std::string value;
  };
  std::set<std::string> boxes;
  std::map<std::string, fstHandle> handles;  // by path, levels separated by dots
  std::map<fstHandle, std::vector<Change>> changes;
  int timescale = 0;
  uint64_t end_ps = 0;

  explicit Waves(const std::string& file) {
    void* r = fstReaderOpen(file.c_str());
    if (r == nullptr) throw std::runtime_error(file + " is no FST file");
    timescale = fstReaderGetTimescale(r);
    end_ps = fstReaderGetEndTime(r);
    std::vector<std::string> scope;
    while (fstHier* h = fstReaderIterateHier(r)) {
      if (h->htyp == FST_HT_SCOPE) scope.emplace_back(h->u.scope.name);
      if (h->htyp == FST_HT_UPSCOPE) scope.pop_back();
      if (h->htyp != FST_HT_VAR) continue;
      std::string path;
      for (const auto& s : scope) path += s + ".";
      std::string name(h->u.var.name);
      handles[path + name.substr(0, name.find(' '))] = h->u.var.handle;
      if (scope.size() >= 2) boxes.insert(scope[0] + "." + scope[1]);
    }
    fstReaderSetFacProcessMaskAll(r);
    fstReaderIterBlocks(
        r,
        [](void* me, uint64_t ps, fstHandle handle, const unsigned char* value) {
          static_cast<Waves*>(me)->changes[handle].push_back(
              {ps, reinterpret_cast<const char*>(value)});
        },
        this, nullptr);
    fstReaderClose(r);
  }
  const std::vector<Change>& of(const std::string& path) const {
    static const std::vector<Change> none;
    const auto h = handles.find(path);
    if (h == handles.end()) {
      ADD_FAILURE() << "no signal " << path;
      return none;
    }
    const auto c = changes.find(h->second);
    return c == changes.end() ? none : c->second;
  }
  static std::string at(const std::vector<Change>& c, uint64_t ps) {
    std::string v;
    for (const auto& x : c) {
      if (x.ps > ps) break;
      v = x.value;
    }
    return v;
  }
  std::vector<uint64_t> rising(const std::string& clock) const {
    std::vector<uint64_t> out;
    for (const auto& c : of(clock))
      if (c.value == "1") out.push_back(c.ps);
    return out;
  }
};

const std::string kRun = "run allreduce --cards 3 --bytes 20000 --planes 1 -q";

TEST(Wave, ChangesNothingAndShowsTheRun) {
  const TempFile file;
  const Outcome plain = ublsim(kRun), traced = ublsim(kRun + " --wave " + file.path());
  ASSERT_TRUE(verified(plain));
  ASSERT_TRUE(verified(traced));
  EXPECT_EQ(plain.json["run_hash"], traced.json["run_hash"]);
  const Waves w(file.path());
  EXPECT_EQ(w.timescale, -12);
  EXPECT_EQ(w.boxes, (std::set<std::string>{"card0.host_if", "card0.nic_core", "card0.nic_port0"}));
  // Every evaluated cycle has its edge, in the middle of the cycle.
  const std::string port = "card0.nic_port0.";
  const auto edges = w.rising(port + "clk_i");
  ASSERT_GT(edges.size(), 1000u);
  for (uint64_t ps : edges) ASSERT_EQ(ps % kPeriodPs, kPeriodPs / 2);
  // What leaves the port is what the link has counted. An output holds from its edge to the next.
  const auto& flits = w.of(port + "nic_port.tx_flit_o.valid");
  uint64_t valid = 0;
  for (uint64_t ps : edges) valid += Waves::at(flits, ps) == "1";
  uint64_t sent = 0;
  for (const auto& link : traced.json["links"])
    if (link["name"] == "card0.plane0.up") sent = link["flits"];
  EXPECT_EQ(valid, sent);
  EXPECT_GT(sent, 0u);
}

TEST(Wave, ClockRunsAlwaysWithoutSkipping) {
  const TempFile file;
  const Outcome run = ublsim("run allreduce --cards 2 --bytes 64 -q --no-skip --wave " +
                             file.path() + " --wave-boxes plane0.switch");
  ASSERT_TRUE(verified(run));
  const Waves w(file.path());
  EXPECT_EQ(w.boxes, (std::set<std::string>{"plane0.switch"}));
  const auto edges = w.rising("plane0.switch.clk_i");
  for (size_t i = 1; i < edges.size(); ++i) ASSERT_EQ(edges[i], edges[i - 1] + kPeriodPs);
  EXPECT_GE(edges.size(), run.json["cycles"].get<uint64_t>());
}

TEST(Wave, WindowAndBoxes) {
  const TempFile file;
  ASSERT_TRUE(verified(ublsim(kRun + " --wave " + file.path() +
                              " --wave-boxes 'card?.nic_port0,plane*' --wave-window 8000:9000")));
  const Waves w(file.path());
  EXPECT_EQ(w.boxes, (std::set<std::string>{"card0.nic_port0", "card1.nic_port0", "card2.nic_port0",
                                            "plane0.switch"}));
  size_t changes = 0;
  for (const auto& [handle, list] : w.changes)
    for (const auto& c : list) {
      // A reader begins with the values that hold before the first change.
      if (c.ps == 0) continue;
      ++changes;
      ASSERT_GE(c.ps, 8000u * 1000);
      ASSERT_LT(c.ps, 9000u * 1000);
    }
  EXPECT_GT(changes, 1000u);
}

TEST(Wave, LargeSystem) {
  const TempFile file;
  ASSERT_TRUE(verified(ublsim("run alltoall --cards 17 --bytes 17KiB -q --wave " + file.path() +
                              " --wave-boxes plane0.switch --wave-window 5000:6000")));
  EXPECT_EQ(Waves(file.path()).boxes, (std::set<std::string>{"plane0.switch"}));
}

TEST(Wave, RejectsBadOptions) {
  const TempFile file;
  const auto refused = [&](const std::string& options, const std::string& text) {
    const Outcome r = ublsim(kRun + " " + options);
    EXPECT_TRUE(ends_with_status(r, 2));
    EXPECT_THAT(r.output, HasSubstr(text));
  };
  refused("--wave /nonexistent/w.fst", "--wave /nonexistent/w.fst: cannot be written");
  refused("--wave /dev/null", "--wave /dev/null: is not a regular file");
  refused("--wave /tmp", "--wave /tmp: is not a regular file");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  for (const char* boxes : {"card3.*", "card0", "''", "card0.nic_port1", "CARD0.*"})
    refused("--wave " + file.path() + " --wave-boxes " + boxes, "no such box");
  for (const char* window : {"5:5", "6:5", "5", "a:b", "-1:5", "1:2:3", "99999999999999999999:"})
    refused("--wave " + file.path() + " --wave-window " + window, "must be FROM:TO");
  refused("--wave-window 1:2", "--wave-window needs --wave");
  refused("--wave-boxes card0.*", "--wave-boxes needs --wave");
}

TEST(Wave, SaysWhatIsMissing) {
  // ublsim alone, without the program that writes waves.
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("ubl-wave-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(UBLSIM, folder / "ublsim");
  FILE* p = popen(((folder / "ublsim").string() + " " + kRun + " --wave " +
                   (folder / "w.fst").string() + " 2>&1")
                      .c_str(),
                  "r");
  ASSERT_NE(p, nullptr);
  char text[1000] = {};
  const size_t n = fread(text, 1, sizeof(text) - 1, p);
  const int status = pclose(p);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(std::string(text, n), HasSubstr("ublsim-wave"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ubl::e2e
