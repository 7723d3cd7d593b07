// SPDX-License-Identifier: Apache-2.0
// Training: every gradient byte over the RTL, weights equal bit for bit to one process.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

TEST(Train, DefaultRunLearns) {
  const Outcome r = ublsim("run train -q");
  ASSERT_TRUE(verified(r));
  EXPECT_EQ(r.json["cards"], 4);
  EXPECT_LE(r.json["steps"], 200);
  EXPECT_EQ(r.json["loss"].size(), r.json["steps"]);
  EXPECT_GE(r.json["accuracy"], 0.95);
  EXPECT_LT(r.json["loss"].back(), r.json["loss"].front());
  EXPECT_GT(r.json["wire_bytes"], r.json["gradient_bytes"]);
}

TEST(Train, OtherCardCountsAndSeeds) {
  for (const unsigned cards : {1, 2, 3, 5})
    EXPECT_TRUE(verified(
        ublsim(fmt::format("run train --cards {} --steps 10 --seed {} -q", cards, cards * 11))));
}

TEST(Train, BadDataIsRefusedWithItsLine) {
  const TempFile f("1,2,3\n");
  const Outcome r = ublsim("run train --data " + f.path());
  EXPECT_TRUE(ends_with_status(r, 2));
  EXPECT_THAT(r.output, ::testing::HasSubstr(f.path() + ":1"));
}

}  // namespace
}  // namespace ubl::e2e
