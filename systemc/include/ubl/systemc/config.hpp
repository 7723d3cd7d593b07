// SPDX-License-Identifier: Apache-2.0
// Timing constants of the models. Each is a configuration key; the defaults are those of the
// architecture contract (docs/architecture.md, "Constants").
#pragma once

#include <cstdint>

#include "ubl/spec/link.hpp"

namespace ubl::systemc {

/// Simulated time as clock cycles of 1.28 ns (781.25 MHz).
using Cycle = uint64_t;
inline constexpr Cycle kNever = ~Cycle{0};
inline constexpr uint64_t kClockPs = spec::kLinkClockPs;

/// Cycles that cover at least `ps` picoseconds.
constexpr Cycle cycles_from_ps(uint64_t ps) { return (ps + kClockPs - 1) / kClockPs; }
constexpr Cycle cycles_from_ns(uint64_t ns) { return cycles_from_ps(ns * 1000); }
constexpr double ns_from_cycles(Cycle c) {
  return static_cast<double>(c) * static_cast<double>(kClockPs) / 1000.0;
}

struct Timing {
  uint32_t pcie_oneway_ns = 250;    ///< PCIe 5.0 x16, host to card or back, posted
  uint32_t pcie_dma_read_ns = 600;  ///< request to data of a DMA read
  uint32_t pcie_mbps = 63000;       ///< 63 GB/s each way, in MB/s
  uint32_t link_ns = 150;           ///< cable, serdes and FEC, one way
  uint32_t switch_ns = 250;         ///< switch cut-through, of which the RTL pipeline is a part
  uint32_t switch_rtl_cycles = 4;   ///< cycles the switch RTL itself takes, input to output
  // ECN marks frames that wait at a switch output, from kmin (never) to kmax (always) flits: 4
  // and 16 frames of 66. Below a round trip at line rate of a plane (14 frames) links stay busy.
  uint32_t switch_ecn_kmin = 264;
  uint32_t switch_ecn_kmax = 1056;
  // HBM3-like: open row 75 ns from request to data through controller, PHY and on-chip network;
  // tRP + tRCD 28 ns. Banks refresh one by one (tREFI 3.9 us / 16 banks = 244 ns); what that and
  // bus turnarounds take from a channel is 24 ns each time, so 90 % is reachable.
  uint32_t hbm_read_ns = 75;            ///< read of an open row, request to first beat
  uint32_t hbm_write_ns = 40;           ///< write to an open row, beat to response
  uint32_t hbm_row_miss_ns = 28;        ///< in addition when another row is open
  uint32_t hbm_refresh_ns = 24;         ///< a refreshing channel is away for so long; 0: never
  uint32_t hbm_refresh_every_ns = 244;  ///< interval of that

  /// What of the switch latency lies outside its RTL (serdes, FEC), half before and half behind it.
  /// So a credit loop holds half of it, and buffers need not be larger on one side.
  Cycle switch_outside() const {
    const Cycle total = cycles_from_ns(switch_ns);
    return total > switch_rtl_cycles ? total - switch_rtl_cycles : 0;
  }
  /// Delay from a card's output register to the switch's input register.
  Cycle to_switch() const { return cycles_from_ns(link_ns) + switch_outside() / 2; }
  /// Delay from the switch's output register to the card's input register.
  Cycle from_switch() const {
    return cycles_from_ns(link_ns) + switch_outside() - switch_outside() / 2;
  }
  /// Credits travel against the flits and see the cable only.
  Cycle credit_delay() const { return cycles_from_ns(link_ns); }
};

}  // namespace ubl::systemc
