// SPDX-License-Identifier: Apache-2.0
// One switch (Verilated ubl_switch) with links on its ports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "platform/shadow.hpp"
#include "ubl/systemc/link.hpp"

namespace ubl::cosim {

class Stimulus;

/// An error pulse of the switch.
struct SwitchError {
  Cycle cycle;
  unsigned port;
  unsigned code;
};

class Switch : public Unit {
 public:
  virtual ~Switch() = default;
  virtual void connect(unsigned port, systemc::Link* in, systemc::Link* out) = 0;
  /// Before the first tick: frames to the node leave by this port; kNoRoute: they are dropped.
  virtual void set_route(unsigned node, unsigned port) = 0;
  static constexpr unsigned kNoRoute = 255;
  virtual unsigned radix() const = 0;
  virtual bool idle() const = 0;
  virtual const std::vector<SwitchError>& errors() const = 0;
  virtual uint64_t evals() const = 0;
  /// Frames that left with a congestion mark.
  virtual uint64_t marks() const = 0;

  /// Flits of frames that have begun to arrive for an output and have not left, over time.
  struct Queue {
    std::vector<uint64_t> cycles;  ///< cycles that it held i flits, while it was not empty
    uint64_t peak = 0;
    /// Flits that it held at most in the share `q` of the time.
    uint64_t quantile(double q) const;
    void clear() { cycles.clear(), peak = 0; }
  };
  /// Before the first tick: keeps count of the queue of this output.
  virtual void watch_queue(unsigned port) = 0;
  virtual Queue& queue(unsigned port) = 0;
};

/// Flits that wait for an output and virtual channel: marks are rare from `kmin` on and sure from
/// `kmax` on.
struct EcnThresholds {
  uint16_t kmin = 0xFFFF;
  uint16_t kmax = 0xFFFF;
};

/// `radix` as in compiled_radices(); std::invalid_argument otherwise.
std::unique_ptr<Switch> make_switch(unsigned radix, unsigned plane, bool skip,
                                    Stimulus* stimulus = nullptr,
                                    const ShadowFactory* shadows = nullptr, EcnThresholds ecn = {});

}  // namespace ubl::cosim
