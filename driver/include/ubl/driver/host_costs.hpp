// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// What host work costs. In-process transports spend this much simulated time in charge(); real ones
// spend the real thing. Reasons and sources: docs/reference/host-costs.md. Fixed before anything
// was compared with it: change the table only together with that page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ubl/driver/transport.hpp"

namespace ubl::driver {

struct HostCostEntry {
  HostCost kind;
  uint64_t ps;  ///< picoseconds of one unit
  const char* unit;
};

inline constexpr std::array<HostCostEntry, 8> kHostCosts{{
    {HostCost::kDoorbell, 60'000, "write"},
    {HostCost::kPush, 75'000, "write"},
    {HostCost::kPoll, 10'000, "look"},
    {HostCost::kPostWqe, 20'000, "entry"},
    {HostCost::kCopyBytes, 100, "byte"},  // 10 GB/s
    {HostCost::kAddBytes, 200, "byte"},   // 5 GB/s
    {HostCost::kKernelCross, 500'000, "call"},
    {HostCost::kApi, 80'000, "call"},
}};

/// Picoseconds that `count` units of `kind` take one core.
constexpr uint64_t host_cost_ps(HostCost kind, uint64_t count) {
  return kHostCosts[static_cast<size_t>(kind)].ps * count;
}

namespace detail {
constexpr bool host_costs_in_order() {
  for (size_t i = 0; i < kHostCosts.size(); ++i) {
    if (static_cast<size_t>(kHostCosts[i].kind) != i) return false;
  }
  return true;
}
static_assert(host_costs_in_order(), "kHostCosts is indexed by HostCost");
}  // namespace detail

}  // namespace ubl::driver
