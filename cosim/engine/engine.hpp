// SPDX-License-Identifier: Apache-2.0
// Clocks the platform. Units (cards, switches) say when they must run next; cycles in which nobody
// needs to run are skipped. Host programs are SystemC threads; the engine runs ahead of SystemC
// time up to, not including, the next moment at which any SystemC process could run, so a host
// program never sees a state from its future and never misses one from its past.
#pragma once

#include <chrono>
#include <systemc>
#include <vector>

#include "ubl/systemc/config.hpp"
#include "ubl/systemc/link.hpp"
#include "ubl/systemc/pcie.hpp"

namespace ubl::cosim {

using systemc::Cycle;
using systemc::kNever;

/// Processor time inside the Verilated models, measured in a sample of the cycles. No part of the
/// simulation: nothing depends on it.
class ModelClock {
 public:
  /// Brackets evaluations; does nothing in cycles that are not sampled.
  class Section {
   public:
    explicit Section(ModelClock* clock)
        : clock_(clock != nullptr && clock->sampling_ ? clock : nullptr) {
      if (clock_ != nullptr) begin_ = std::chrono::steady_clock::now();
    }
    void end() {
      if (clock_ == nullptr) return;
      const auto took = std::chrono::steady_clock::now() - begin_;
      if (took < kPreempted) clock_->sampled_ += took;
    }

   private:
    ModelClock* clock_;
    std::chrono::steady_clock::time_point begin_;
  };

  void next_cycle() {
    ++cycles_;
    sampling_ = --countdown_ == 0;
    if (sampling_) {
      ++sampled_cycles_;
      countdown_ = kStride;
    }
  }
  /// Estimate for all cycles so far.
  double seconds() const {
    if (sampled_cycles_ == 0) return 0;
    return std::chrono::duration<double>(sampled_).count() * static_cast<double>(cycles_) /
           static_cast<double>(sampled_cycles_);
  }

 private:
  /// No box takes that long: another process had the processor.
  static constexpr std::chrono::microseconds kPreempted{500};
  static constexpr unsigned kStride = 61;  // prime: no beat with what repeats every 2^n cycles
  bool sampling_ = false;
  unsigned countdown_ = 1;
  uint64_t cycles_ = 0, sampled_cycles_ = 0;
  std::chrono::steady_clock::duration sampled_{};
};

/// A clocked part of the platform. tick() runs one clock edge and sets the next wake time.
class Unit : public systemc::Wakeable {
 public:
  virtual void tick(Cycle now) = 0;
  void set_model_clock(ModelClock* clock) { model_clock_ = clock; }

 protected:
  ModelClock* model_clock_ = nullptr;
};

class Engine : public sc_core::sc_module, public systemc::Scheduler {
 public:
  SC_HAS_PROCESS(Engine);
  /// `skip` false: every unit runs in every cycle (--no-skip).
  Engine(sc_core::sc_module_name name, bool skip);

  void add(Unit* unit) {
    units_.push_back(unit);
    unit->set_model_clock(&model_clock_);
  }
  const ModelClock& model_clock() const { return model_clock_; }
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
  ModelClock model_clock_;
  std::vector<Unit*> units_;
  Cycle now_ = 0;
  Cycle limit_ = 0;  // first cycle the current batch must not run
  uint64_t cycles_run_ = 0, unit_ticks_ = 0;
  sc_core::sc_event kick_;
};

}  // namespace ubl::cosim
