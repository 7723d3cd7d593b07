// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "Vassert_probe.h"
#include "Vassert_probeChk.h"
#include "ubl/test/clocked.hpp"

namespace {

using ubl::test::Clocked;

template <class Dut>
void run(bool bad, bool in_reset) {
  dup2(2, 1);  // Verilator reports on the standard output, death tests read the standard error.
  Clocked<Dut> dut;
  dut->bad_i = 0;
  dut.reset();
  dut.tick();
  dut->bad_i = bad;
  if (in_reset) dut->rst_ni = 0;
  dut.tick();
  dut.tick();
}

TEST(AssertDeath, FailureNamesModuleAndAssertionAndEndsTheRun) {
  EXPECT_EXIT(run<Vassert_probeChk>(true, false), testing::KilledBySignal(SIGABRT),
              "assert_probe\\.sv:[0-9]+.*gen_inner.*NeverBad");
}

TEST(Assert, HoldsQuietly) { run<Vassert_probeChk>(false, false); }
TEST(Assert, IsOffInReset) { run<Vassert_probeChk>(true, true); }
TEST(Assert, IsOffInTheFastModel) { run<Vassert_probe>(true, false); }

}  // namespace
