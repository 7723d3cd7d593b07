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
#include <iterator>
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
  static const std::vector<std::string> tokens = {
      "[",           "]",        "{",           "}",
      ":",           ": ",       ",",           "- ",
      "? ",          "&a ",      "*a",          "!!int ",
      "!<",          "|",        ">",           "'",
      "\"",          "#",        "%",           "@",
      "---",         "...",      "\n",          "\n  ",
      "\t",          "~",        "-1",          "0",
      "16",          "128",      "129",         "18446744073709551616",
      "1e9",         "0x10",     "null",        "<<: ",
      "\\x",         "\xc3\xa4", "\xff",        "\xe2\x80\xa8",
      "name: ",      "card: ",   "port: ",      "plane: ",
      "rate: ",      "drop",     "cut",         "random",
      "within_ns: ", "1e-3",     "\"\\u0000\"", std::string(1, '\0')};
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
  }
}

/// One to four entries, of all kinds.
std::string good_faults(Rng& rng) {
  static const char* entries[] = {
      "- what: corrupt\n  where: card0.plane0.up\n  frame: 3\n  byte: 4\n  bit: 1\n",
      "- {what: corrupt, where: 'card*.plane1.*', rate: 0.1, byte: random, seed: 3}\n",
      "- what: drop\n  where: card1.plane0.down\n  vc: rsp\n  at: 12000\n",
      "- {what: duplicate, where: '*', rate: 0.01, from_ns: 100, to_ns: 50000}\n",
      "- what: reorder\n  where: '*'\n  rate: 0.5\n  by: 3\n  within_ns: 300\n",
      "- {what: cut, where: card0.plane1.*, at: 11000, until: 11500}\n",
      "- {what: drop, where: 'card0.*.up', vc: bulk, rate: 1}\n",  // ends in an error
      "- what: flip_result\n  where: card1\n  byte: 7\n  bit: 7\n"};
  std::string s;
  for (uint64_t n = 1 + rng() % 4; n > 0; --n) s += entries[rng() % std::size(entries)];
  return s;
}

TEST_F(Fuzz, FaultFilesAreTakenOrRefusedByName) {
  auto rng = test::rng(3);
  unsigned taken = 0, refused = 0;
  for (unsigned i = 0; i < 8000; ++i) {
    const std::string text = damaged(good_faults(rng), rng);
    write(text);
    try {
      for (const Fault& f : load_faults(path)) {
        ASSERT_EQ(f.place.rfind(path + ":", 0), 0u) << f.place;
        if (f.what != Fault::What::kLink) continue;
        ASSERT_FALSE(f.where.empty()) << text;
        ASSERT_LE(f.link.from, f.link.to) << text;
        ASSERT_TRUE(!f.link.rate || (*f.link.rate >= 0 && *f.link.rate <= 1)) << text;
        ASSERT_GE(f.link.by, 1u);
        ASSERT_GE(f.link.within, 1u);
        ASSERT_LT(f.link.bit.value_or(0), 8u);
        ASSERT_LT(f.link.byte.value_or(0), 66u * 64);
      }
      ++taken;
    } catch (const UsageError& e) {
      ++refused;
      ASSERT_EQ(std::string(e.what()).rfind(path, 0), 0u) << e.what() << "\n" << text;
    }
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 1000u);
}

TEST_F(Fuzz, RunsWithFaultFilesEndWithAStatus) {
  auto rng = test::rng(4);
  unsigned counts[5] = {};
  for (unsigned i = 0; i < 150; ++i) {
    const std::string text = i % 3 == 0 ? good_faults(rng) : damaged(good_faults(rng), rng);
    write(text);
    const int status = std::system(
        fmt::format("timeout 60 {} run sendrecv --cards 2 --planes 2 --bytes 20000 -q --faults {} "
                    ">/dev/null 2>&1",
                    UBLSIM, path)
            .c_str());
    ASSERT_TRUE(WIFEXITED(status)) << text;
    ASSERT_LE(WEXITSTATUS(status), 4) << text;
    ++counts[WEXITSTATUS(status)];
  }
  for (const int status : {0, 1, 2, 3}) EXPECT_GT(counts[status], 3u) << status;
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
