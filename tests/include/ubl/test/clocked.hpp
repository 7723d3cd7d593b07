// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// A Verilated module with clk_i and rst_ni under test.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <memory>

#include "ubl/test/seed.hpp"

namespace ubl::test {

template <class Dut>
class Clocked {
 public:
  // Registers of a _chk model start at values drawn from the seed.
  explicit Clocked(uint64_t salt = 0) {
    context_->randReset(2);
    context_->randSeed(static_cast<int>((seed() * 31 + salt) & 0x7fffffff) | 1);
    dut_ = std::make_unique<Dut>(context_.get());
    dut_->clk_i = 0;
    dut_->rst_ni = 0;
    dut_->eval();
  }
  ~Clocked() {
    // The model's scopes leave the thread's context, not their own; the one created last may be
    // gone.
    Verilated::threadContextp(context_.get());
    dut_->final();
    dut_.reset();
  }
  Clocked(const Clocked&) = delete;
  Clocked& operator=(const Clocked&) = delete;

  Dut* operator->() { return dut_.get(); }
  Dut& operator*() { return *dut_; }
  VerilatedContext& context() { return *context_; }
  uint64_t cycle() const { return cycle_; }

  // Lets combinational outputs follow the inputs just driven.
  void settle() { dut_->eval(); }

  // One rising edge with the inputs just driven; outputs afterwards are those of the next cycle.
  void tick() {
    dut_->clk_i = 1;
    dut_->eval();
    context_->timeInc(1);
    dut_->clk_i = 0;
    dut_->eval();
    context_->timeInc(1);
    ++cycle_;
  }

  void reset(int cycles = 2) {
    dut_->rst_ni = 0;
    for (int i = 0; i < cycles; ++i) tick();
    dut_->rst_ni = 1;
    settle();
  }

 private:
  std::unique_ptr<VerilatedContext> context_ = std::make_unique<VerilatedContext>();
  std::unique_ptr<Dut> dut_;
  uint64_t cycle_ = 0;
};

}  // namespace ubl::test
