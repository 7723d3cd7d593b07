// SPDX-License-Identifier: Apache-2.0
// Congestion marks of the switch, configured and counted.
#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

// Seven cards send to one: its output of the switch is where frames wait.
Outcome gather(const std::string& config) {
  const TempFile f(config);
  return ublsim("run gather --cards 8 --planes 1 --bytes 256KiB -q" +
                (config.empty() ? "" : " --config " + f.path()));
}

TEST(Congestion, MarkedFramesAreDeliveredAndCounted) {
  const Outcome never = gather("switch_ecn_kmin: 65535\nswitch_ecn_kmax: 65535\n");
  EXPECT_TRUE(ends_with_status(never, 0));
  EXPECT_EQ(never.json["ecn_marks"], 0);
  EXPECT_EQ(never.json["switch_errors"], nlohmann::json::object());
  const Outcome always = gather("switch_ecn_kmin: 0\nswitch_ecn_kmax: 0\n");
  const Outcome ramp = gather("switch_ecn_kmin: 100\nswitch_ecn_kmax: 1000\n");
  const Outcome again = gather("switch_ecn_kmin: 100\nswitch_ecn_kmax: 1000\n");
  for (const Outcome* r : {&always, &ramp, &again}) {
    EXPECT_TRUE(ends_with_status(*r, 0));
    EXPECT_EQ(r->json["verified"], true);
    // A mark is no corruption; what it does to the window does not show in the data.
    EXPECT_EQ(r->json["switch_errors"], nlohmann::json::object());
    EXPECT_EQ(r->json["data_hash"], never.json["data_hash"]);
  }
  EXPECT_GT(ramp.json["ecn_marks"], 0);
  EXPECT_LT(ramp.json["ecn_marks"], always.json["ecn_marks"]);
  EXPECT_EQ(ramp.json["ecn_marks"], again.json["ecn_marks"]);
  EXPECT_EQ(ramp.json["run_hash"], again.json["run_hash"]);
}

}  // namespace
}  // namespace ubl::e2e
