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
/// As compare(), for a result: first flips the bits that a fault file asks for (tests that the
/// comparison can fail).
void compare_result(Session& s, unsigned card, uint64_t addr, const void* want, uint64_t bytes,
                    Result& r);
/// Compares a card's memory with `want`; counts mismatching bytes, reports the first.
void compare(Session& s, unsigned card, uint64_t addr, const void* want, uint64_t bytes, Result& r);
/// Takes over the failures of the ranks and decides the exit status. UsageError if a fault file
/// asked for a bit of a result that this run does not have.
void conclude(Session& s, Result& r);

}  // namespace ubl::ublsim
