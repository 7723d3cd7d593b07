// SPDX-License-Identifier: Apache-2.0
#include "platform/platform.hpp"

#include <algorithm>

namespace ubl::cosim {

using systemc::Link;

Platform::Platform(const PlatformConfig& cfg) : cfg_(cfg), engine_("engine", cfg.skip) {
  const Topology& topology = cfg.topology;
  for (unsigned c = 0; c < topology.cards; ++c) {
    CardConfig cc;
    cc.node = static_cast<uint16_t>(c);
    cc.planes = topology.planes;
    cc.timing = cfg.timing;
    cc.skip_idle_boxes = cfg.skip;
    cc.stimulus = cfg.stimulus;
    cc.shadows = &cfg_.shadows;
    cards_.push_back(std::make_unique<Card>(cc, engine_));
  }
  const EcnThresholds ecn{static_cast<uint16_t>(cfg.timing.switch_ecn_kmin),
                          static_cast<uint16_t>(cfg.timing.switch_ecn_kmax)};
  for (unsigned p = 0; p < topology.planes; ++p) {
    switches_.push_back(
        make_switch(topology.switches[p].radix, p, cfg.skip, cfg.stimulus, &cfg_.shadows, ecn));
    set_routes(p);
  }
  for (unsigned c = 0; c < topology.cards; ++c) {
    for (unsigned p = 0; p < topology.planes; ++p) {
      const Topology::Link& link = topology.link(c, p);
      systemc::Timing t = cfg.timing;
      if (link.latency_ns != 0) t.link_ns = link.latency_ns;
      const std::string name = "card" + std::to_string(c) + ".plane" + std::to_string(p);
      auto up = std::make_unique<Link>(name + ".up", t.to_switch(), t.credit_delay());
      auto down = std::make_unique<Link>(name + ".down", t.from_switch(), t.credit_delay());
      up->connect(cards_[c].get(), switches_[p].get());
      down->connect(switches_[p].get(), cards_[c].get());
      cards_[c]->connect(p, up.get(), down.get());
      switches_[p]->connect(link.port, up.get(), down.get());
      links_.push_back(std::move(up));
      links_.push_back(std::move(down));
    }
  }
  for (auto& c : cards_) engine_.add(c.get());
  for (auto& s : switches_) engine_.add(s.get());
}

void Platform::add_faults(Link& link, std::vector<systemc::LinkFault> faults) {
  if (fault_clock_.links().empty()) engine_.add(&fault_clock_);
  fault_clock_.add(link, std::move(faults));
}

// Nodes without a card get no route, so that a frame to one ends in an error of the switch, not on
// a port that leads nowhere. What the reset has set already is not written again.
void Platform::set_routes(unsigned plane) {
  Switch& s = *switches_[plane];
  std::vector<unsigned> port(std::max(s.radix(), cfg_.topology.cards), Switch::kNoRoute);
  for (unsigned c = 0; c < cfg_.topology.cards; ++c) port[c] = cfg_.topology.link(c, plane).port;
  for (unsigned node = 0; node < port.size(); ++node)
    if (port[node] != node) s.set_route(node, port[node]);
}

uint64_t Platform::box_evals() const {
  uint64_t n = 0;
  for (const auto& c : cards_) n += c->box_evals();
  for (const auto& s : switches_) n += s->evals();
  return n;
}

std::string Platform::busy_report() const {
  std::string s;
  for (const auto& c : cards_) {
    const std::string b = c->busy_boxes();
    if (!b.empty()) s += "  card " + std::to_string(c->node()) + ": " + b + "\n";
  }
  for (size_t p = 0; p < switches_.size(); ++p)
    if (!switches_[p]->idle()) s += "  switch of plane " + std::to_string(p) + "\n";
  return s;
}

void Platform::hashes(uint64_t& run_hash, uint64_t& data_hash) const {
  systemc::Hash run, data;
  for (const auto& c : cards_) c->hash_into(run, data);
  run_hash = run.value();
  data_hash = data.value();
}

}  // namespace ubl::cosim
