// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_reduce, every operation with every type, against the golden model (sw/numerics), on the
// vectors that the golden model itself is tested with.
#include "ubl/numerics/reduce.hpp"

#include <gtest/gtest.h>
#include <verilated.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "Vubl_reduce.h"
#include "ubl/numerics/formats.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/spec/link.hpp"
#include "ubl/test/format_vectors.hpp"
#include "ubl/test/fp32_vectors.hpp"

namespace {

using ubl::numerics::ElementType;
using ubl::numerics::ReduceOp;
using ubl::spec::RedOp;
using ubl::spec::RedType;
using ubl::test::Fp32Pair;

constexpr size_t kWordBytes = 64;
constexpr RedOp kOps[] = {RedOp::kAdd, RedOp::kMin, RedOp::kMax};
constexpr RedType kTypes[] = {RedType::kF32, RedType::kF16, RedType::kBf16, RedType::kI32};

ElementType golden(RedType type) {
  switch (type) {
    case RedType::kF16:
      return ElementType::kFp16;
    case RedType::kBf16:
      return ElementType::kBf16;
    case RedType::kI32:
      return ElementType::kInt32;
    default:
      return ElementType::kFp32;
  }
}

ReduceOp golden(RedOp op) {
  return op == RedOp::kAdd ? ReduceOp::kAdd : op == RedOp::kMin ? ReduceOp::kMin : ReduceOp::kMax;
}

bool is_half(RedType type) { return type == RedType::kF16 || type == RedType::kBf16; }

const ubl::numerics::Format& format_of(RedType type) {
  return type == RedType::kF16 ? ubl::numerics::kFp16 : ubl::numerics::kBf16;
}

// Patterns of a 16-bit type at which something changes: the FP32 specials and the format's own
// boundaries, each with its neighbours. The boundaries are thinned: all of them are nearly all
// patterns.
std::vector<uint32_t> half_specials(RedType type, size_t step) {
  using ubl::numerics::Overflow;
  const auto& format = format_of(type);
  std::vector<uint32_t> sources = ubl::test::fp32_specials();
  const auto boundaries = ubl::test::format_boundaries(format);
  for (size_t i = sources.size(); i < boundaries.size(); i += step)
    sources.push_back(boundaries[i]);
  std::set<uint32_t> set = {format.infinity(), format.max_finite(), format.canonical_nan, 0, 1};
  for (uint32_t x : sources) {
    set.insert(ubl::numerics::convert(format, ubl::numerics::kFp32, x, Overflow::kNonFinite) &
               0x7FFF);
  }
  std::vector<uint32_t> v;
  for (uint32_t x : set) {
    for (uint32_t near : {x - 1, x, x + 1}) {
      v.push_back(near & 0x7FFF);
      v.push_back((near & 0x7FFF) | 0x8000);
    }
  }
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

std::vector<Fp32Pair> half_directed(RedType type, uint64_t salt, size_t n) {
  std::vector<Fp32Pair> v;
  const auto specials = half_specials(type, 1499);
  for (uint32_t a : specials) {
    for (uint32_t b : specials) v.push_back({a, b});
  }
  auto rng = ubl::test::rng(salt);
  const int fraction_bits = format_of(type).fraction_bits;
  const auto bits = [&rng] { return static_cast<uint32_t>(rng()) & 0xFFFF; };
  for (uint32_t a = 0; a < 0x10000; ++a) {
    v.push_back({a, a ^ 0x8000});
    v.push_back({a, a});
    v.push_back({bits(), a});
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t x = bits();
    // Near cancellation, ties and alignment, around the subnormals.
    v.push_back({x, ((x ^ 0x8000) + bits() % 33 - 16) & 0xFFFF});
    const uint32_t distance = bits() % 20;
    v.push_back({x, (x - (distance << fraction_bits) + (bits() % 5)) & 0xFFFF});
    v.push_back({(bits() & 0x8000) | bits() % (4u << fraction_bits),
                 (bits() & 0x8000) | bits() % (16u << fraction_bits)});
  }
  return v;
}

class Reduce : public ::testing::Test {
 protected:
  // Pairs of the low 16 bits for a half type. Lanes of 32-bit types come in twos.
  void check(RedOp op, RedType type, const std::vector<Fp32Pair>& pairs, bool random_lanes) {
    auto rng = ubl::test::rng(5);
    const size_t bytes = is_half(type) ? 2 : 4;
    const size_t per_word = kWordBytes / bytes;
    int failures = 0;
    for (size_t at = 0; at < pairs.size(); at += per_word) {
      uint32_t lanes = ~0u;
      if (random_lanes) {
        lanes = static_cast<uint32_t>(rng());
        switch (rng() % 4) {
          case 0:  // one half-lane, or one element
            lanes = 1u << (lanes % 32);
            break;
          case 1:
            lanes = 3u << (lanes % 16 * 2);
            break;
          case 2:
            if (lanes % 2 != 0) lanes = 0;
            break;
          default:
            break;
        }
      }
      dut_.lane_i = lanes;
      dut_.op_i = static_cast<uint8_t>(op);
      dut_.dtype_i = static_cast<uint8_t>(type);
      uint8_t a[kWordBytes];
      uint8_t b[kWordBytes];
      uint8_t got[kWordBytes];
      for (size_t k = 0; k < per_word; ++k) {
        const Fp32Pair& p = pairs[(at + k) % pairs.size()];
        std::memcpy(a + bytes * k, &p.a, bytes);
        std::memcpy(b + bytes * k, &p.b, bytes);
      }
      std::memcpy(&dut_.a_i, a, kWordBytes);
      std::memcpy(&dut_.b_i, b, kWordBytes);
      dut_.eval();
      std::memcpy(got, &dut_.sum_o, kWordBytes);
      for (size_t k = 0; k < per_word; ++k) {
        const Fp32Pair& p = pairs[(at + k) % pairs.size()];
        const uint32_t selected = bytes == 2 ? lanes >> k & 1 : (lanes >> 2 * k & 3) == 3;
        const uint32_t want =
            selected != 0 ? ubl::numerics::reduce(golden(type), golden(op), p.a, p.b) : p.a;
        uint32_t x = 0;
        std::memcpy(&x, got + bytes * k, bytes);
        if (x != want) {
          ADD_FAILURE() << to_string(type) << " " << to_string(op) << std::hex << ", element " << k
                        << ", lanes 0x" << lanes << ": 0x" << p.a << ", 0x" << p.b << " give 0x"
                        << x << ", golden 0x" << want;
          ASSERT_LT(++failures, 10);
        }
      }
    }
  }

  VerilatedContext context_;
  Vubl_reduce dut_{&context_};
};

TEST_F(Reduce, SumsOfFp32) {
  check(RedOp::kAdd, RedType::kF32, ubl::test::fp32_directed(1, 400'000), false);
  check(RedOp::kAdd, RedType::kF32, ubl::test::fp32_random(2, 4'000'000), false);
}

TEST_F(Reduce, SumsOfHalves) {
  for (RedType type : {RedType::kF16, RedType::kBf16}) {
    check(RedOp::kAdd, type, half_directed(type, 3, 300'000), false);
    auto random = ubl::test::fp32_random(4, 2'000'000);
    for (auto& p : random) p = {p.a & 0xFFFF, p.b & 0xFFFF};
    check(RedOp::kAdd, type, random, false);
  }
}

TEST_F(Reduce, SumsOfIntegers) {
  check(RedOp::kAdd, RedType::kI32, ubl::test::fp32_directed(7, 10'000), false);
  check(RedOp::kAdd, RedType::kI32, ubl::test::fp32_random(8, 1'000'000), false);
}

TEST_F(Reduce, MinimaAndMaxima) {
  for (RedType type : kTypes) {
    for (RedOp op : {RedOp::kMin, RedOp::kMax}) {
      if (is_half(type)) {
        check(op, type, half_directed(type, 9, 50'000), false);
      } else {
        check(op, type, ubl::test::fp32_directed(10, 20'000), false);
        check(op, type, ubl::test::fp32_random(11, 500'000), false);
      }
    }
  }
}

TEST_F(Reduce, LanesNotSelectedPass) {
  auto half = ubl::test::fp32_directed(6, 20'000);
  const auto word = half;
  for (auto& p : half) p = {p.a >> 16, p.b >> 16};
  for (RedType type : kTypes) {
    for (RedOp op : kOps) check(op, type, is_half(type) ? half : word, true);
  }
}

// What the port has refused must not do anything here.
TEST_F(Reduce, UnknownOperationsAndTypesPass) {
  auto rng = ubl::test::rng(12);
  for (unsigned op = 0; op < 16; ++op) {
    for (unsigned type = 0; type < 16; ++type) {
      if (op <= static_cast<unsigned>(RedOp::kMax) && type <= static_cast<unsigned>(RedType::kI32))
        continue;
      dut_.op_i = static_cast<uint8_t>(op);
      dut_.dtype_i = static_cast<uint8_t>(type);
      dut_.lane_i = ~0u;
      for (size_t k = 0; k < kWordBytes / 4; ++k) {
        dut_.a_i[k] = static_cast<uint32_t>(rng());
        dut_.b_i[k] = static_cast<uint32_t>(rng());
      }
      dut_.eval();
      for (size_t k = 0; k < kWordBytes / 4; ++k) {
        ASSERT_EQ(dut_.sum_o[k], dut_.a_i[k]) << "op " << op << ", type " << type;
      }
    }
  }
}

}  // namespace
