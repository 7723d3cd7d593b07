// SPDX-License-Identifier: Apache-2.0
// Verification of results against what sw/numerics computes from the inputs alone.
#pragma once

#include <cstdint>
#include <vector>

#include "ublsim/result.hpp"
#include "ublsim/session.hpp"

namespace ubl::ublsim {

/// Card that a fault of a card names; UsageError if there is no such card.
unsigned fault_card(Session& s, const Fault& f);
/// Flips bits of finished results as a fault file asks (tests that the comparison can fail).
void flip_results(Session& s, const Options& o, const std::vector<uint64_t>& addr, uint64_t bytes);
/// Compares a card's memory with `want`; counts mismatching bytes, reports the first.
void compare(Session& s, unsigned card, uint64_t addr, const void* want, uint64_t bytes, Result& r);
/// Takes over the failures of the ranks and decides the exit status.
void conclude(Session& s, Result& r);

}  // namespace ubl::ublsim
