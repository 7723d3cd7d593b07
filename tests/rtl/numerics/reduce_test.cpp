// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_reduce (16 x ubl_fp32_add) against the golden FP32 adder, on the vectors that the golden
// model itself is tested with.
#include <gtest/gtest.h>
#include <verilated.h>

#include "Vubl_reduce.h"
#include "ubl/numerics/fp32.hpp"
#include "ubl/test/fp32_vectors.hpp"

namespace {

using ubl::test::Fp32Pair;

constexpr size_t kLanes = 16;

class Reduce : public ::testing::Test {
 protected:
  void check(const std::vector<Fp32Pair>& pairs, bool random_lanes) {
    auto rng = ubl::test::rng(5);
    int failures = 0;
    for (size_t at = 0; at < pairs.size(); at += kLanes) {
      const uint32_t lanes = random_lanes ? static_cast<uint32_t>(rng()) & 0xFFFF : 0xFFFF;
      dut_.lane_i = static_cast<uint16_t>(lanes);
      for (size_t k = 0; k < kLanes; ++k) {
        const Fp32Pair& p = pairs[(at + k) % pairs.size()];
        dut_.a_i[k] = p.a;
        dut_.b_i[k] = p.b;
      }
      dut_.eval();
      for (size_t k = 0; k < kLanes; ++k) {
        const Fp32Pair& p = pairs[(at + k) % pairs.size()];
        const uint32_t want = (lanes >> k & 1) != 0 ? ubl::numerics::add_f32(p.a, p.b) : p.a;
        if (dut_.sum_o[k] != want) {
          ADD_FAILURE() << std::hex << "lane " << k << ": 0x" << p.a << " + 0x" << p.b << " = 0x"
                        << dut_.sum_o[k] << ", golden 0x" << want;
          ASSERT_LT(++failures, 10);
        }
      }
    }
  }

  VerilatedContext context_;
  Vubl_reduce dut_{&context_};
};

TEST_F(Reduce, Directed) { check(ubl::test::fp32_directed(1, 400'000), false); }

TEST_F(Reduce, Random) { check(ubl::test::fp32_random(2, 4'000'000), false); }

TEST_F(Reduce, LanesNotSelectedPass) { check(ubl::test::fp32_directed(6, 20'000), true); }

}  // namespace
