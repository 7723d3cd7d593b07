// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "platform/topology.hpp"

#include <algorithm>
#include <stdexcept>

namespace ubl::cosim {

const std::vector<unsigned>& compiled_radices() {
  static const std::vector<unsigned> all = {16, 128};
  return all;
}

Topology ubl128(unsigned cards, unsigned planes) {
  const auto& radices = compiled_radices();
  const auto radix = std::lower_bound(radices.begin(), radices.end(), cards);
  if (radix == radices.end())
    throw std::invalid_argument("no switch with " + std::to_string(cards) +
                                " ports was compiled (largest: " + std::to_string(radices.back()) +
                                ")");
  Topology t;
  t.name = "ubl128";
  t.cards = cards;
  t.planes = planes;
  for (unsigned p = 0; p < planes; ++p)
    t.switches.push_back({"switch" + std::to_string(p), *radix});
  t.links.resize(size_t{cards} * planes);
  for (unsigned c = 0; c < cards; ++c)
    for (unsigned p = 0; p < planes; ++p) t.link(c, p).port = c;
  return t;
}

}  // namespace ubl::cosim
