// SPDX-License-Identifier: Apache-2.0
// Waves in an FST file. Every chosen box is followed by a model that can write waves and checks
// assertions; its outputs are compared with those of the box in every cycle, so the waves show what
// the run did.
//
// Cycle n is the time from n to n + 1 clock periods: inputs change at its beginning, the clock
// rises in its middle. In cycles that a box sleeps through its clock stays low.

// First: what the others find instead does not go together with SystemC (cmake/verilated).
#include "verilated.h"
//
#include <fmt/format.h>
#include <verilated_fst_c.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "Vhost_ifChk.h"
#include "Vnic_coreChk.h"
#include "Vnic_portChk.h"
#include "Vubl_switch128Chk.h"
#include "Vubl_switch16Chk.h"
#include "gtkwave/fstapi.h"
#include "platform/ports.hpp"
#include "ubl/systemc/config.hpp"
#include "ublsim/options.hpp"
#include "ublsim/waves.hpp"

namespace ubl::ublsim {

namespace {

using cosim::BoxKind;
using cosim::Cycle;
using cosim::kNever;

constexpr uint64_t kPeriodPs = systemc::kClockPs;
static_assert(kPeriodPs % 2 == 0);

/// A follower as the file sees it.
class Follower {
 public:
  virtual ~Follower() = default;
  virtual void clock_low() = 0;
  virtual void clock_high() = 0;
  virtual void check(Cycle now) const = 0;
  bool pending = false;  ///< inputs are set, the clock edge is still to come
};

class FstWaves : public Waves {
 public:
  explicit FstWaves(const WaveOptions& o) : options_(o) {
    from_ps_ = o.from_ns * 1000;
    to_ps_ = o.to_ns == ~uint64_t{0} ? ~uint64_t{0} : o.to_ns * 1000;
    context_.traceEverOn(true);
    context_.randReset(0);  // all registers and memories start at zero, as in the fast models
  }
  ~FstWaves() override { fst_.close(); }

  cosim::ShadowFactory factory() override;

  void open() override {
    if (followers_.empty())
      throw UsageError(fmt::format(
          "--wave-boxes '{}': no such box (card0.host_if, card0.nic_core, card0.nic_port0, ..., "
          "plane0.switch; * and ? stand for any text and any letter)",
          options_.boxes));
    // An existing file is replaced, so it had better be a file.
    const std::filesystem::path path = options_.file;
    if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
      throw UsageError(fmt::format("--wave {}: is not a regular file", options_.file));
    if (!std::ofstream(path))
      throw UsageError(fmt::format("--wave {}: cannot be written", options_.file));
    fst_.set_time_unit("1ps");
    fst_.set_time_resolution("1ps");
    fst_.open(options_.file.c_str());
    if (!fst_.isOpen())
      throw UsageError(fmt::format("--wave {}: cannot be written", options_.file));
  }

  void close() override {
    finish_cycle();
    for (Follower* f : followers_) f->clock_low();
    if (now_ != kNever) dump((now_ + 1) * kPeriodPs);
    fst_.close();
    // A full disk does not show in any other way.
    void* reader = fstReaderOpen(options_.file.c_str());
    const bool whole = reader != nullptr && fstReaderGetVarCount(reader) != 0 &&
                       (last_dump_ == kNever || fstReaderGetEndTime(reader) == last_dump_);
    if (reader != nullptr) fstReaderClose(reader);
    if (!whole) throw UsageError(fmt::format("--wave {}: the file is not whole", options_.file));
  }

  VerilatedContext* context() { return &context_; }
  void add(Follower* f) { followers_.push_back(f); }
  VerilatedFstC& fst() { return fst_; }
  /// Inputs of cycle `now` are about to be set.
  void advance(Cycle now) {
    if (now == now_) return;
    finish_cycle();
    // The clock falls at the end of the last cycle, and with it, if there is no gap, inputs change.
    for (Follower* f : followers_) f->clock_low();
    if (now_ != kNever && now != now_ + 1) dump((now_ + 1) * kPeriodPs);
    now_ = now;
  }

 private:
  void finish_cycle() {
    if (now_ == kNever) return;
    dump(now_ * kPeriodPs);
    for (Follower* f : followers_)
      if (f->pending) f->clock_high();
    for (Follower* f : followers_)
      if (f->pending) {
        f->check(now_);
        f->pending = false;
      }
    dump(now_ * kPeriodPs + kPeriodPs / 2);
  }
  void dump(uint64_t ps) {
    if (ps < from_ps_ || ps >= to_ps_ || !fst_.isOpen()) return;
    fst_.dump(ps);
    last_dump_ = ps;
  }

  WaveOptions options_;
  uint64_t from_ps_, to_ps_;
  VerilatedContext context_;
  VerilatedFstC fst_;
  std::vector<Follower*> followers_;
  Cycle now_ = kNever;
  uint64_t last_dump_ = kNever;
};

template <typename Box, typename Traced, BoxKind Kind>
class Pair final : public cosim::Shadow, public Follower {
 public:
  Pair(FstWaves& waves, const std::string& name)
      // A space separates the levels of the hierarchy.
      : waves_(waves), name_(name), model_(waves.context(), spaced(name).c_str()) {
    model_.trace(&waves.fst(), 99);
    each(model_, false, [this](auto& port) { output_bytes_ += sizeof(port); });
    expected_.resize(output_bytes_);
    waves.add(this);
  }

  void follow(const void* box, Cycle now) override {
    const Box& b = *static_cast<const Box*>(box);
    if (now != kNever) waves_.advance(now);
    copy_inputs(b);
    model_.clk_i = 0;
    model_.eval();
    if (now == kNever) {
      clock_high();
      clock_low();
      return;
    }
    uint8_t* to = expected_.data();
    each(const_cast<Box&>(b), false, [&to](auto& port) {
      std::memcpy(to, &port, sizeof(port));
      to += sizeof(port);
    });
    pending = true;
  }
  void clock_low() override {
    if (model_.clk_i == 0) return;
    model_.clk_i = 0;
    model_.eval();
  }
  void clock_high() override {
    model_.clk_i = 1;
    model_.eval();
  }
  void check(Cycle now) const override {
    const uint8_t* at = expected_.data();
    bool equal = true;
    each(const_cast<Traced&>(model_), false, [&](auto& port) {
      equal = equal && std::memcmp(at, &port, sizeof(port)) == 0;
      at += sizeof(port);
    });
    if (!equal)
      throw std::logic_error(
          fmt::format("--wave: in cycle {} the outputs of {} differ from its waves", now, name_));
  }

 private:
  static std::string spaced(std::string name) {
    for (char& c : name)
      if (c == '.') c = ' ';
    return name;
  }
  template <typename Model, typename F>
  static void each(Model& m, bool inputs, F&& f) {
    if constexpr (Kind == BoxKind::kHostIf)
      inputs ? cosim::host_if_inputs(m, f) : cosim::host_if_outputs(m, f);
    else if constexpr (Kind == BoxKind::kNicCore)
      inputs ? cosim::nic_core_inputs(m, f) : cosim::nic_core_outputs(m, f);
    else if constexpr (Kind == BoxKind::kNicPort)
      inputs ? cosim::nic_port_inputs(m, f) : cosim::nic_port_outputs(m, f);
    else
      inputs ? cosim::switch_inputs(m, f) : cosim::switch_outputs(m, f);
  }
  void copy_inputs(const Box& b) {
    // The ports of both come in the same order.
    std::vector<const void*>& from = input_ports_;
    from.clear();
    each(const_cast<Box&>(b), true, [&from](auto& port) { from.push_back(&port); });
    size_t i = 0;
    each(model_, true, [&](auto& port) { std::memcpy(&port, from[i++], sizeof(port)); });
  }

  FstWaves& waves_;
  std::string name_;
  Traced model_;
  size_t output_bytes_ = 0;
  std::vector<uint8_t> expected_;  // outputs of the box
  std::vector<const void*> input_ports_;
};

cosim::ShadowFactory FstWaves::factory() {
  return [this](BoxKind kind, const std::string& name) -> std::unique_ptr<cosim::Shadow> {
    if (!box_chosen(options_.boxes, name)) return nullptr;
    switch (kind) {
      case BoxKind::kHostIf:
        return std::make_unique<Pair<Vhost_if, Vhost_ifChk, BoxKind::kHostIf>>(*this, name);
      case BoxKind::kNicCore:
        return std::make_unique<Pair<Vnic_core, Vnic_coreChk, BoxKind::kNicCore>>(*this, name);
      case BoxKind::kNicPort:
        return std::make_unique<Pair<Vnic_port, Vnic_portChk, BoxKind::kNicPort>>(*this, name);
      case BoxKind::kSwitch16:
        return std::make_unique<Pair<Vubl_switch16, Vubl_switch16Chk, BoxKind::kSwitch16>>(*this,
                                                                                           name);
      case BoxKind::kSwitch128:
        return std::make_unique<Pair<Vubl_switch128, Vubl_switch128Chk, BoxKind::kSwitch128>>(*this,
                                                                                              name);
    }
    return nullptr;
  };
}

std::unique_ptr<Waves> make_fst_waves(const WaveOptions& o) {
  return std::make_unique<FstWaves>(o);
}
[[maybe_unused]] const bool kRegistered = (make_waves = &make_fst_waves, true);

}  // namespace

}  // namespace ubl::ublsim
