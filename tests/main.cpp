// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>

#include "ubl/test/seed.hpp"

// SystemC's library refers to it; tests call sc_start themselves. Weak: a test may have its own.
extern "C" __attribute__((weak)) int sc_main(int, char**) { return 0; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::printf("[ seed     ] UBL_SEED=%llu\n", static_cast<unsigned long long>(ubl::test::seed()));
  return RUN_ALL_TESTS();
}
