// SPDX-License-Identifier: Apache-2.0
// Out-of-band exchange between the host programs of one simulation: every rank posts a value, all
// see all. Costs no simulated time beyond waiting for the last rank.
#pragma once

#include <systemc>
#include <vector>

namespace ubl::ublsim {

template <typename T>
class Board {
 public:
  explicit Board(unsigned ranks) : slots_(ranks), posted_(ranks, false) {}

  /// Called once per rank.
  const std::vector<T>& exchange(unsigned rank, T value) {
    slots_[rank] = std::move(value);
    posted_[rank] = true;
    if (++count_ == slots_.size()) complete_.notify(sc_core::SC_ZERO_TIME);
    while (count_ < slots_.size()) sc_core::wait(complete_);
    return slots_;
  }

 private:
  std::vector<T> slots_;
  std::vector<bool> posted_;
  size_t count_ = 0;
  sc_core::sc_event complete_;
};

}  // namespace ubl::ublsim
