// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Seed of all random tests: 1, or UBL_SEED. The test program prints it, so that a failure of a
// random run can be repeated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace ubl::test {

inline uint64_t seed() {
  const char* text = std::getenv("UBL_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

// A generator of its own for each test: `salt` tells them apart.
inline std::mt19937_64 rng(uint64_t salt = 0) {
  return std::mt19937_64(seed() * 0x9e3779b97f4a7c15ull + salt);
}

}  // namespace ubl::test
