// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Verilated models, fast and checked, live in one program with SystemC (whose sc_time_stamp()
// Verilator's legacy interface would also define), clocked by an SC_METHOD.
#include <gtest/gtest.h>

#include <systemc>

#include "Vassert_probe.h"
#include "Vassert_probeChk.h"
#include "ubl/test/clocked.hpp"

namespace {

struct Bench : sc_core::sc_module {
  SC_HAS_PROCESS(Bench);
  explicit Bench(sc_core::sc_module_name name) : sc_module(name) {
    SC_METHOD(step);
    fast->bad_i = 0;
    checked->bad_i = 0;  // inputs of a checked model start at random values
    fast.reset();
    checked.reset();
  }
  void step() {
    fast->bad_i = count & 1;
    fast.tick();
    checked.tick();
    seen += fast->seen_o;
    if (++count < 10) next_trigger(sc_core::sc_time(1280, sc_core::SC_PS));
  }
  ubl::test::Clocked<Vassert_probe> fast;
  ubl::test::Clocked<Vassert_probeChk> checked;
  int count = 0, seen = 0;
};

TEST(SystemC, ClocksVerilatedModels) {
  Bench bench("bench");
  sc_core::sc_start();
  EXPECT_EQ(bench.count, 10);
  EXPECT_EQ(bench.seen, 5);
  EXPECT_EQ(sc_core::sc_time_stamp(), sc_core::sc_time(9 * 1280, sc_core::SC_PS));
}

}  // namespace
