// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Every collective x cards x odd sizes x in place or not x planes, each run verified by ublsim.
#include <fmt/format.h>

#include <string>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

struct What {
  const char* name;
  bool blocks;    ///< --bytes are shared by the cards
  bool sum;       ///< whole elements of four bytes only
  bool rooted;    ///< takes --root
  bool in_place;  ///< can be
};

class Matrix : public testing::TestWithParam<What> {};

TEST_P(Matrix, CardsTimesSizesTimesPlaces) {
  const What& w = GetParam();
  for (const unsigned cards : {2, 3, 4, 5, 8, 12, 16})
    for (const unsigned planes : {1, 8})
      for (const bool in_place : {false, true}) {
        if (in_place && !w.in_place) continue;
        // A count of elements, or bytes if only moved: an element a card if they are shared.
        const unsigned one = w.sum ? 4 : 1;
        const unsigned share = w.blocks ? cards : 1;
        for (const unsigned bytes : {0u, one * share, 3 * one * share, 12348u, 65537u}) {
          if (w.sum && !w.blocks && bytes % 4 != 0) continue;  // no whole number of elements
          const std::string args =
              fmt::format("run {} --cards {} --planes {} --bytes {} --dtype {} {}{} --seed {} -q",
                          w.name, cards, planes, bytes, w.sum ? "f32" : "i8",
                          in_place ? "--in-place" : "--out-of-place",
                          w.rooted ? fmt::format(" --root {}", bytes % cards) : "", cards + bytes);
          EXPECT_TRUE(verified(ublsim(args)));
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Collectives, Matrix,
                         testing::Values(What{"allreduce", false, true, false, true},
                                         What{"reducescatter", true, true, false, true},
                                         What{"reduce", false, true, true, true},
                                         What{"allgather", true, false, false, true},
                                         What{"broadcast", false, false, true, true},
                                         What{"gather", true, false, true, true},
                                         What{"scatter", true, false, true, true},
                                         What{"alltoall", true, false, false, false},
                                         What{"sendrecv", false, false, false, false}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace ubl::e2e
