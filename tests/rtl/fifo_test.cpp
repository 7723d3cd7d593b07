// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>

#include "VFifoD1Chk.h"
#include "VFifoD5Chk.h"
#include "VFifoD8Chk.h"
#include "VFifoWideChk.h"
#include "ubl/test/clocked.hpp"

namespace {

using ubl::test::Clocked;

template <class D, unsigned kDepthValue>
struct Param {
  using Dut = D;
  static constexpr unsigned kDepth = kDepthValue;
};

template <class P>
class Fifo : public testing::Test {
 protected:
  Fifo() {
    dut->in_valid_i = 0;
    dut->out_ready_i = 0;
    dut.reset();
  }

  // One cycle, checked against a queue.
  void cycle(bool valid, uint32_t data, bool ready) {
    dut->in_valid_i = valid;
    dut->in_data_i = data;
    dut->out_ready_i = ready;
    dut.settle();
    check();
    const bool push = valid && dut->in_ready_o, pop = ready && dut->out_valid_o;
    dut.tick();
    if (pop) model.pop_front();
    if (push) model.push_back(data);
    pushes += push;
  }

  void check() {
    ASSERT_EQ(dut->count_o, model.size());
    ASSERT_EQ(dut->in_ready_o, model.size() < P::kDepth);
    ASSERT_EQ(dut->out_valid_o, !model.empty());
    if (!model.empty()) {
      ASSERT_EQ(dut->out_data_o, model.front());
    }
  }

  Clocked<typename P::Dut> dut{P::kDepth};
  std::deque<uint32_t> model;
  uint64_t pushes = 0;
};

using Depths = testing::Types<Param<VFifoD1Chk, 1>, Param<VFifoD5Chk, 5>, Param<VFifoD8Chk, 8>>;
TYPED_TEST_SUITE(Fifo, Depths);

TYPED_TEST(Fifo, FillsToItsDepthThenDrainsInOrder) {
  for (uint32_t i = 0; i < TypeParam::kDepth + 3; ++i) this->cycle(true, 100 + i, false);
  EXPECT_EQ(this->pushes, TypeParam::kDepth);
  for (uint32_t i = 0; i < TypeParam::kDepth + 3; ++i) this->cycle(false, 0, true);
  EXPECT_TRUE(this->model.empty());
}

TYPED_TEST(Fifo, OutputsDoNotDependOnInputs) {
  for (unsigned fill = 0; fill <= TypeParam::kDepth; ++fill) {
    for (unsigned inputs = 0; inputs < 4; ++inputs) {
      this->dut->in_valid_i = inputs & 1;
      this->dut->out_ready_i = inputs >> 1;
      this->dut.settle();
      this->check();
    }
    this->cycle(true, fill, false);
  }
}

TYPED_TEST(Fifo, KeepsUpWithBothSidesBusy) {
  const unsigned cycles = 1000;
  for (unsigned i = 0; i < cycles; ++i) this->cycle(true, i, true);
  // A single entry alternates; more entries move one word each cycle.
  EXPECT_EQ(this->pushes, TypeParam::kDepth == 1 ? cycles / 2 : cycles);
}

TYPED_TEST(Fifo, RandomTrafficWithBackPressure) {
  auto rng = ubl::test::rng(TypeParam::kDepth);
  for (int phase = 0; phase < 40; ++phase) {
    const unsigned in_rate = rng() % 101, out_rate = rng() % 101;
    for (int i = 0; i < 500; ++i) {
      this->cycle(rng() % 100 < in_rate, static_cast<uint32_t>(rng()), rng() % 100 < out_rate);
      if (this->HasFatalFailure()) return;
    }
  }
  EXPECT_GT(this->pushes, 1000u);
}

TYPED_TEST(Fifo, ResetInMidOperationEmptiesIt) {
  auto rng = ubl::test::rng(100 + TypeParam::kDepth);
  for (int round = 0; round < 100; ++round) {
    for (int i = static_cast<int>(rng() % 20); i > 0; --i) {
      this->cycle(rng() & 1, static_cast<uint32_t>(rng()), (rng() & 3) == 0);
    }
    this->dut->in_valid_i = rng() & 1;  // traffic goes on while reset is low
    this->dut->out_ready_i = rng() & 1;
    this->dut.reset(1 + static_cast<int>(rng() % 3));
    this->model.clear();
    this->check();
    if (this->HasFatalFailure()) return;
  }
}

TEST(FifoWide, KeepsEveryBit) {
  Clocked<VFifoWideChk> dut;
  dut->in_valid_i = 0;
  dut->out_ready_i = 1;
  dut.reset();
  auto rng = ubl::test::rng(523);
  for (int i = 0; i < 100; ++i) {
    uint32_t words[17];
    for (int w = 0; w < 17; ++w) words[w] = static_cast<uint32_t>(rng()) & (w == 16 ? 0x7ffu : ~0u);
    for (int w = 0; w < 17; ++w) dut->in_data_i[w] = words[w];
    dut->in_valid_i = 1;
    dut.tick();
    dut->in_valid_i = 0;
    dut.settle();
    ASSERT_TRUE(dut->out_valid_o);
    for (int w = 0; w < 17; ++w) ASSERT_EQ(dut->out_data_o[w], words[w]) << "word " << w;
    dut.tick();
  }
}

}  // namespace
