// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Which card is on which port of which switch. What can be built today: one switch per plane, every
// card on every plane, on any port. So the route to a card is the port it is on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ubl::cosim {

struct Topology {
  struct Switch {
    std::string name;
    unsigned radix = 0;  ///< one of compiled_radices()
  };
  /// Link of one card and plane, both directions.
  struct Link {
    unsigned port = 0;        ///< of the switch of that plane
    uint32_t latency_ns = 0;  ///< 0: that of the configuration
  };

  std::string name;
  unsigned cards = 0;
  unsigned planes = 0;
  std::vector<Switch> switches;  ///< one per plane
  std::vector<Link> links;       ///< of (card, plane), see link()

  Link& link(unsigned card, unsigned plane) { return links[card * planes + plane]; }
  const Link& link(unsigned card, unsigned plane) const { return links[card * planes + plane]; }
};

/// The preset: card c on port c of every switch.
Topology ubl128(unsigned cards, unsigned planes);

/// Ports of the switches that were compiled, rising.
const std::vector<unsigned>& compiled_radices();

}  // namespace ubl::cosim
