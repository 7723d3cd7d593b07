// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Random damage to topology files (and to the other files that are read by the same code): taken or
// refused with a message, never a crash, never a hang.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "ubl/test/seed.hpp"
#include "ublsim/options.hpp"
#include "ublsim/topology_file.hpp"

namespace ubl::ublsim {
namespace {

using Rng = decltype(test::rng());

/// One to eight changes, often one: bytes, tokens, lines.
std::string damaged(std::string s, Rng& rng) {
  static const std::vector<std::string> tokens = {"[",           "]",
                                                  "{",           "}",
                                                  ":",           ": ",
                                                  ",",           "- ",
                                                  "? ",          "&a ",
                                                  "*a",          "!!int ",
                                                  "!<",          "|",
                                                  ">",           "'",
                                                  "\"",          "#",
                                                  "%",           "@",
                                                  "---",         "...",
                                                  "\n",          "\n  ",
                                                  "\t",          "~",
                                                  "-1",          "0",
                                                  "16",          "128",
                                                  "129",         "18446744073709551616",
                                                  "1e9",         "0x10",
                                                  "null",        "<<: ",
                                                  "\\x",         "\xc3\xa4",
                                                  "\xff",        "\xe2\x80\xa8",
                                                  "name: ",      "card: ",
                                                  "port: ",      "plane: ",
                                                  "\"\\u0000\"", std::string(1, '\0')};
  const auto any = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(rng() % n); };
  for (size_t n = any(2) == 0 ? 1 : 1 + any(8); n > 0; --n) {
    const size_t at = any(s.size() + 1);
    switch (any(7)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(rng());
        break;
      case 1:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ (1 << any(8)));
        break;
      case 2:
        s.insert(at, tokens[any(tokens.size())]);
        break;
      case 3:
        s.erase(at, 1 + any(20));
        break;
      case 4: {  // repeats a piece, often lines of it
        const std::string piece = s.substr(at, 1 + any(200));
        s.insert(any(s.size() + 1), piece);
        break;
      }
      case 5:
        s.resize(at);
        break;
      default: {  // another number
        const size_t digit = s.find_first_of("0123456789", at);
        if (digit != std::string::npos) s[digit] = static_cast<char>('0' + any(10));
      }
    }
  }
  return s;
}

std::string good(Rng& rng) {
  cosim::Topology t = cosim::ubl128(1 + rng() % 4, 1 + rng() % 3);
  for (auto& l : t.links)
    if (rng() % 4 == 0) l.latency_ns = 1 + rng() % 10000;
  return to_yaml(t);
}

class Fuzz : public ::testing::Test {
 protected:
  ~Fuzz() override { std::remove(path.c_str()); }
  // A new file each time: some file systems write a truncated one to the disk when it is closed.
  void write(const std::string& text) {
    std::remove(path.c_str());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string path = ::testing::TempDir() + "/ubl-fuzz-" + std::to_string(getpid()) + ".yaml";
};

TEST_F(Fuzz, LoadersTakeOrRefuse) {
  auto rng = test::rng();
  unsigned taken = 0, refused = 0;
  auto slowest = std::chrono::steady_clock::duration::zero();
  for (unsigned i = 0; i < 8000; ++i) {
    const std::string text = damaged(good(rng), rng);
    write(text);
    const auto start = std::chrono::steady_clock::now();
    try {
      const cosim::Topology t = load_topology(path);
      ++taken;
      // Whatever was taken can be built: it is the same after printing and reading.
      write(to_yaml(t));
      ASSERT_EQ(to_yaml(load_topology(path)), to_yaml(t)) << text;
      ASSERT_EQ(t.switches.size(), t.planes);
      for (const auto& l : t.links) ASSERT_LT(l.port, 128u);
    } catch (const UsageError& e) {
      ++refused;
      ASSERT_EQ(std::string(e.what()).rfind(path, 0), 0u) << e.what() << "\n" << text;
    }
    slowest = std::max(slowest, std::chrono::steady_clock::now() - start);
  }
  EXPECT_GT(taken, 100u);
  EXPECT_GT(refused, 1000u);
  EXPECT_LT(std::chrono::duration<double>(slowest).count(), 20);
}

TEST_F(Fuzz, ConfigurationsAndFaultsToo) {
  auto rng = test::rng(1);
  for (unsigned i = 0; i < 3000; ++i) {
    write(damaged("link_ns: 100\npcie_mbps: 63000\nhbm_read_ns: 75\n", rng));
    try {
      systemc::Timing t;
      load_config(path, t);
    } catch (const UsageError&) {
    }
    write(damaged("- what: corrupt\n  where: card0.plane0.up\n  frame: 3\n  byte: 4\n  bit: 1\n",
                  rng));
    try {
      load_faults(path);
    } catch (const UsageError&) {
    }
  }
}

TEST_F(Fuzz, TheProgramEndsWithStatus0Or2) {
  auto rng = test::rng(2);
  for (unsigned i = 0; i < 150; ++i) {
    const std::string text = damaged(good(rng), rng);
    write(text);
    // Small runs, so that what is taken is built, too.
    const std::string command = i % 3 == 0
                                    ? fmt::format("run allgather --bytes 64 -q --topology {}", path)
                                    : fmt::format("topo show {}", path);
    const int status =
        std::system(fmt::format("timeout 60 {} {} >/dev/null 2>&1", UBLSIM, command).c_str());
    ASSERT_TRUE(WIFEXITED(status)) << text;
    ASSERT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2) << WEXITSTATUS(status) << "\n"
                                                                      << text;
  }
}

}  // namespace
}  // namespace ubl::ublsim
