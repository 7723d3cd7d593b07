// SPDX-License-Identifier: Apache-2.0
// Cards, switches and links of one simulated system.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "platform/card.hpp"
#include "platform/fault_clock.hpp"
#include "platform/switch.hpp"
#include "platform/topology.hpp"

namespace ubl::cosim {

struct PlatformConfig {
  Topology topology = ubl128(2, 1);
  bool skip = true;
  Stimulus* stimulus = nullptr;  ///< records what goes into every box
  ShadowFactory shadows;         ///< follows boxes
  systemc::Timing timing;
};

class Platform {
 public:
  explicit Platform(const PlatformConfig& cfg);

  Engine& engine() { return engine_; }
  Card& card(unsigned i) { return *cards_[i]; }
  unsigned num_cards() const { return static_cast<unsigned>(cards_.size()); }
  unsigned num_planes() const { return cfg_.topology.planes; }
  /// Link of a card and plane, from or to the card.
  systemc::Link& uplink(unsigned card, unsigned plane) { return *links_[index(card, plane)]; }
  systemc::Link& downlink(unsigned card, unsigned plane) { return *links_[index(card, plane) + 1]; }
  const std::vector<std::unique_ptr<systemc::Link>>& links() const { return links_; }
  /// Before the first cycle, once per link, which is one of links().
  void add_faults(systemc::Link& link, std::vector<systemc::LinkFault> faults);
  /// Of links with faults.
  const std::vector<std::unique_ptr<systemc::LinkFaults>>& faults() const {
    return fault_clock_.links();
  }
  const Switch& fabric_switch(unsigned plane) const { return *switches_[plane]; }
  Switch& fabric_switch(unsigned plane) { return *switches_[plane]; }
  /// Port of the plane's switch that leads to a card.
  unsigned switch_port(unsigned card, unsigned plane) const {
    return cfg_.topology.link(card, plane).port;
  }
  /// Evaluations of all boxes.
  uint64_t box_evals() const;
  /// One line per box that is not idle.
  std::string busy_report() const;
  void hashes(uint64_t& run_hash, uint64_t& data_hash) const;

 private:
  void set_routes(unsigned plane);
  size_t index(unsigned card, unsigned plane) const { return 2 * (card * num_planes() + plane); }
  PlatformConfig cfg_;
  Engine engine_;
  std::vector<std::unique_ptr<systemc::Link>> links_;  // uplink, downlink of each (card, plane)
  std::vector<std::unique_ptr<Card>> cards_;
  std::vector<std::unique_ptr<Switch>> switches_;
  FaultClock fault_clock_;  // refers to links_
};

}  // namespace ubl::cosim
