// SPDX-License-Identifier: Apache-2.0
// One card: host_if, nic_core and one nic_port per plane (Verilated), HBM, memory interface and
// PCIe port. Boxes have registered outputs, so in each cycle all awake boxes are evaluated first
// and then outputs become inputs of the next cycle; a box that is idle and gets no input is not
// evaluated.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "platform/shadow.hpp"
#include "ubl/systemc/hash.hpp"
#include "ubl/systemc/hbm.hpp"
#include "ubl/systemc/host_memory.hpp"
#include "ubl/systemc/link.hpp"
#include "ubl/systemc/mem_if.hpp"
#include "ubl/systemc/pcie.hpp"

namespace ubl::cosim {

class Stimulus;

/// What crosses a box boundary of a card; `now` is the cycle in which it does.
enum class CardEvent {
  kMmioWrite,    ///< an MMIO write is taken by host_if
  kDmaRead,      ///< host_if asks the host for an entry of a send ring
  kDmaData,      ///< the data arrives
  kTxd,          ///< nic_core hands a transmit descriptor to a port
  kPayload,      ///< a port gets a beat of a payload
  kWriteData,    ///< a port hands a beat to memory
  kWritten,      ///< memory has answered a write of a port
  kHostVisible,  ///< a posted write can be seen by the host
};
using CardTrace = std::function<void(CardEvent, Cycle)>;

struct CardConfig {
  uint16_t node = 0;
  unsigned planes = 1;
  systemc::Timing timing;
  bool skip_idle_boxes = true;
  Stimulus* stimulus = nullptr;            ///< records what goes into the boxes
  const ShadowFactory* shadows = nullptr;  ///< follows boxes
};

class Card : public Unit {
 public:
  Card(const CardConfig& cfg, Engine& engine);
  ~Card() override;

  /// Both directions of one plane's link.
  void connect(unsigned plane, systemc::Link* to_switch, systemc::Link* from_switch);
  void tick(Cycle now) override;

  uint16_t node() const { return cfg_.node; }
  systemc::Hbm& hbm() { return hbm_; }
  systemc::HostMemory& host_memory() { return host_; }
  systemc::PciePort& pcie() { return *pcie_; }
  const systemc::MemPort& mem_port(unsigned plane) const;
  /// Every delivered flit with its cycle, every host write with its time, final memories.
  void hash_into(systemc::Hash& run, systemc::Hash& data) const;
  /// Watches the card; changes nothing.
  void set_trace(CardTrace trace) { trace_ = std::move(trace); }
  uint64_t box_evals() const { return box_evals_; }
  /// What is not idle, for the no-progress report; empty when all boxes are idle.
  std::string busy_boxes() const;

 private:
  struct Plane;
  struct Core;
  void exchange_host(Cycle now);
  void exchange_plane(Plane& p, unsigned index, Cycle now);
  void exchange_memory(Plane& p, Cycle now);
  void reset();

  CardConfig cfg_;
  systemc::Hbm hbm_;
  systemc::HbmTiming hbm_timing_;
  systemc::HostMemory host_;
  std::unique_ptr<systemc::PciePort> pcie_;
  std::unique_ptr<Core> core_;
  std::vector<std::unique_ptr<Plane>> planes_;
  uint64_t box_evals_ = 0;
  CardTrace trace_;
  void traced(CardEvent e, Cycle now) const {
    if (trace_) trace_(e, now);
  }
};

}  // namespace ubl::cosim
