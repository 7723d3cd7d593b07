// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Where the time of one message goes: time stamps at the box boundaries of both cards and on the
// link, from the simulation itself. Watching changes nothing.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ublsim/session.hpp"

namespace ubl::ublsim {

class Breakdown {
 public:
  static constexpr size_t kStages = 9;
  /// Names of the stages; nic_transmit is what is left of the sender's NIC around the payload read.
  static const std::array<const char*, kStages>& names();
  using Stages = std::array<systemc::Cycle, kStages>;

  /// Watches two cards and their links; to be called before the run.
  explicit Breakdown(Session& s);

  /// Stages of a message that `from` sent at `begin` and whose receiver went on at `end`; they sum
  /// to end - begin. Nothing when the stamps are not those of one message.
  std::optional<Stages> message(unsigned from, systemc::Cycle begin, systemc::Cycle end) const;

 private:
  static constexpr size_t kEvents = static_cast<size_t>(cosim::CardEvent::kHostVisible) + 1;
  using Times = std::vector<systemc::Cycle>;
  struct Side {
    std::array<Times, kEvents> events;
    Times first_out;  // first flit of a frame with payload leaves the card
    Times last_in;    // last flit of a frame with payload arrives
    const Times& at(cosim::CardEvent e) const { return events[static_cast<size_t>(e)]; }
  };
  std::array<Side, 2> sides_;
};

}  // namespace ubl::ublsim
