// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_switch with 128 ports: the corner cases are tested at small radices, here that nothing
// changes with size. Built twice: with the model that ublsim runs, and with the one that has
// assertions.

#include <gtest/gtest.h>

#include <cstdio>

#ifdef WITH_ASSERTIONS
#include "Vubl_switch128Chk.h"
using Dut128 = Vubl_switch128Chk;
#else
#include "Vubl_switch128.h"
using Dut128 = Vubl_switch128;
#endif
#include "switch_bench.hpp"
#include "ubl/test/seed.hpp"

namespace {

using namespace fabric;
using Bench128 = Bench<Dut128, 128>;

constexpr int kBulk = static_cast<int>(spec::Vc::kBulk);

void expect_clean(const Bench128& b) {
  for (const auto& f : b.failures) ADD_FAILURE() << f;
  EXPECT_TRUE(b.errors.empty());
}

TEST(Switch128, RandomTraffic) {
  Bench128 b(ubl::test::seed() * 1000 + 128);
  b.bubbles = 30;
  b.random_vc = true;
  b.credit_delay = [&b](int, int) { return static_cast<int>(b.rng() % 500); };
  for (int k = 0; k < 30000; ++k) {
    const int in = static_cast<int>(b.rng() % 128);
    const int out = static_cast<int>(b.rng() % 8 ? b.rng() % 128 : 127);
    const int size = 38 + static_cast<int>(b.rng() % (b.rng() % 4 ? 400 : 4187));
    b.send(make_frame(in, out, static_cast<int>(b.rng() % kVcs), size, k, b.rng));
  }
  ASSERT_TRUE(b.drain());
  b.expect_home();
  expect_clean(b);
}

// Every input visits every output in turn, all at once: no collisions, so line rate.
TEST(Switch128, ShiftingPermutationAtLineRate) {
  for (int flits : {2, 66}) {
    Bench128 b;
    b.credit_delay = [](int, int) { return 430; };
    std::array<int, 128> turn{};
    uint64_t id = 0;
    uint64_t before = 0;
    const int cycles = 4000;
    for (int c = 0; c < 2 * cycles; ++c) {
      if (c == cycles) {
        for (auto n : b.flits_out) before += n;
      }
      for (int in = 0; in < 128; ++in) {
        while (b.backlog(in) < 4) {
          b.send(make_frame(in, (in + turn[in]++) % 128, kBulk, size_of(flits), ++id, b.rng));
        }
      }
      b.step();
    }
    uint64_t after = 0;
    for (auto n : b.flits_out) after += n;
    const double rate = double(after - before) / (128.0 * cycles);
    std::printf("shifting permutation, radix 128, %d flits: %.4f of line rate\n", flits, rate);
    EXPECT_GE(rate, 0.99);
    expect_clean(b);
  }
}

// 128:1 incast, every input 1/128 of the output.
TEST(Switch128, IncastIsFair) {
  Bench128 b;
  uint64_t id = 0;
  std::array<std::array<uint64_t, 128>, 128> before{};
  const int cycles = 128 * 10 * 20;
  for (int c = 0; c < 3000 + cycles; ++c) {
    if (c == 3000) before = b.flits_from_to;
    for (int in = 0; in < 128; ++in) {
      if (b.backlog(in) < 2) b.send(make_frame(in, 77, kBulk, size_of(10), ++id, b.rng));
    }
    b.step();
  }
  for (int in = 0; in < 128; ++in) {
    EXPECT_NEAR(double(b.flits_from_to[in][77] - before[in][77]), cycles / 128.0,
                cycles / 128.0 * 0.02 + 10)
        << in;  // and a frame
  }
  expect_clean(b);
}

}  // namespace
