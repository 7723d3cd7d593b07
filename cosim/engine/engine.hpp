// SPDX-License-Identifier: Apache-2.0
// Clocks the platform. Units (cards, switches) say when they must run next; cycles in which nobody
// needs to run are skipped. Host programs are SystemC threads; the engine runs ahead of SystemC
// time up to, not including, the next moment at which any SystemC process could run, so a host
// program never sees a state from its future and never misses one from its past.
#pragma once

#include <systemc>
#include <vector>

#include "ubl/systemc/config.hpp"
#include "ubl/systemc/link.hpp"
#include "ubl/systemc/pcie.hpp"

namespace ubl::cosim {

using systemc::Cycle;
using systemc::kNever;

/// A clocked part of the platform. tick() runs one clock edge and sets the next wake time.
class Unit : public systemc::Wakeable {
 public:
  virtual void tick(Cycle now) = 0;
};

class Engine : public sc_core::sc_module, public systemc::Scheduler {
 public:
  SC_HAS_PROCESS(Engine);
  /// `skip` false: every unit runs in every cycle (--no-skip).
  Engine(sc_core::sc_module_name name, bool skip);

  void add(Unit* unit) { units_.push_back(unit); }
  /// Cycle being run, or the next one to run.
  Cycle now() const { return now_; }
  void notify(sc_core::sc_event& event, Cycle cycle) override;
  void kick() override { kick_.notify(sc_core::SC_ZERO_TIME); }
  /// No further cycles are run; what is under way may be cut.
  void stop() { stopped_ = true; }
  uint64_t cycles_run() const { return cycles_run_; }
  uint64_t unit_ticks() const { return unit_ticks_; }

 private:
  void run();
  Cycle next_wake() const;
  void step(Cycle c);

  bool skip_;
  bool stopped_ = false;
  std::vector<Unit*> units_;
  Cycle now_ = 0;
  Cycle limit_ = 0;  // first cycle the current batch must not run
  uint64_t cycles_run_ = 0, unit_ticks_ = 0;
  sc_core::sc_event kick_;
};

}  // namespace ubl::cosim
