// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Clocks the faults of all links. The last unit of the engine: whatever senders and receivers do in
// a cycle comes before.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "ubl/systemc/link_faults.hpp"

namespace ubl::cosim {

class FaultClock : public Unit {
 public:
  void add(systemc::Link& link, std::vector<systemc::LinkFault> faults) {
    faults_.push_back(std::make_unique<systemc::LinkFaults>(link, std::move(faults), *this));
  }
  const std::vector<std::unique_ptr<systemc::LinkFaults>>& links() const { return faults_; }
  void tick(Cycle now) override {
    Cycle next = kNever;
    for (auto& f : faults_) {
      if (f->wake() <= now) f->tick(now);
      next = std::min(next, f->wake());
    }
    wake_ = next;
  }

 private:
  std::vector<std::unique_ptr<systemc::LinkFaults>> faults_;
};

}  // namespace ubl::cosim
