// SPDX-License-Identifier: Apache-2.0
#include "ublsim/session.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <ctime>

#include "ubl/comm/hal/error.hpp"
#include "ublsim/asan_stack.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/yaml_file.hpp"

namespace ubl::ublsim {

namespace {

cosim::PlatformConfig platform_config(const Options& o, Waves* waves) {
  cosim::PlatformConfig c;
  c.topology = o.layout ? *o.layout : cosim::ubl128(o.cards, o.planes);
  c.skip = o.skip;
  c.timing = o.timing;
  c.stimulus = o.stimulus;
  if (waves != nullptr) c.shadows = waves->factory();
  return c;
}

ExitCode exit_code(comm::ErrorKind kind) {
  switch (kind) {
    case comm::ErrorKind::kInvalidArgument:
    case comm::ErrorKind::kNotSupported:
      return kExitUsage;
    case comm::ErrorKind::kTimeout:
      return kExitNoProgress;
    default:
      return kExitDeviceError;
  }
}

constexpr unsigned kHostStackBytes = 1u << 20;
/// After the last host program has ended the fabric may still carry acknowledgements; they are let
/// through so that memories and counters are final.
constexpr systemc::Cycle kDrainCycles = 20000;

}  // namespace

Session::Session(const Options& options)
    : options_(options),
      waves_(options.wave.file.empty() ? nullptr : make_waves(options.wave)),
      platform_(platform_config(options, waves_.get())) {
  if (waves_ != nullptr) waves_->open();
  for (unsigned r = 0; r < options.cards; ++r)
    transports_.push_back(std::make_unique<cosim::InprocTransport>(
        fmt::format("host{}", r).c_str(), platform_.card(r), platform_.engine()));
  done_.assign(options.cards, false);
  install_faults();
  install_capture();
}

void Session::install_faults() {
  const auto& links = platform_.links();
  std::vector<std::vector<systemc::LinkFault>> of_link(links.size());
  for (size_t n = 0; n < options_.faults.size(); ++n) {
    const Fault& f = options_.faults[n];
    if (f.what == Fault::What::kFlipResult) {
      fault_card(*this, f);
      flips_.push_back(&f);
    }
    if (f.what != Fault::What::kLink) continue;
    bool fits = false;
    for (size_t i = 0; i < links.size(); ++i) {
      const std::string& name = links[i]->name();
      if (fnmatch(f.where.c_str(), name.c_str(), 0) != 0) continue;
      fits = true;
      of_link[i].push_back(f.link);
      // By their kinds, or without a seed of their own by their places in the file.
      of_link[i].back().seed =
          systemc::fault_seed(f.seed ? *f.seed : options_.seed, name,
                              f.seed ? static_cast<uint64_t>(f.link.kind) : 16 + n);
    }
    if (!fits)
      throw UsageError(
          fmt::format("{}: no link '{}' (links are named card0.plane0.up, card0.plane0.down, ...)",
                      f.place, shown(f.where)));
  }
  for (size_t i = 0; i < links.size(); ++i)
    if (!of_link[i].empty()) platform_.add_faults(*links[i], std::move(of_link[i]));
}

// What is captured is what faults leave of the traffic.
void Session::install_capture() {
  if (options_.pcap.empty()) return;
  using Direction = systemc::LinkCapture::Direction;
  try {
    capture_ = std::make_unique<systemc::LinkCapture>(options_.pcap);
    for (unsigned c = 0; c < platform_.num_cards(); ++c)
      for (unsigned p = 0; p < platform_.num_planes(); ++p) {
        capture_->attach(platform_.uplink(c, p), Direction::kOutbound);
        capture_->attach(platform_.downlink(c, p), Direction::kInbound);
      }
  } catch (const std::runtime_error& e) {
    throw UsageError(fmt::format("--pcap {}", e.what()));
  }
  // A run whose capture is lost would be in vain.
  capture_->on_error([this](const std::string&) {
    platform_.engine().stop();
    sc_core::sc_stop();
  });
}

void Session::close_capture() {
  if (capture_ == nullptr) return;
  try {
    capture_->close();
  } catch (const std::runtime_error& e) {
    failures_.push_back({0, kExitUsage, fmt::format("--pcap {}", e.what())});
  }
}

std::vector<const Fault*> Session::take_flips(unsigned card, uint64_t bytes) {
  std::vector<const Fault*> mine, others;
  // A card without a result keeps them: then conclude() finds them.
  for (const Fault* f : flips_)
    (bytes != 0 && fault_card(*this, *f) == card ? mine : others).push_back(f);
  for (const Fault* f : mine)
    if (f->byte >= bytes)
      throw UsageError(
          fmt::format("{}: byte {} is beyond the result of {} bytes", f->place, f->byte, bytes));
  flips_ = others;
  return mine;
}

// What the cards noticed and nobody has asked for.
void Session::collect_errors() {
  for (unsigned r = 0; r < ranks(); ++r) {
    std::string text;
    while (const auto e = driver::pop_error(*transports_[r])) {
      if (e->recovers())
        events_.push_back(fmt::format("card {}: {}", r, e->describe()));
      else
        text += (text.empty() ? "" : "; ") + e->describe();
    }
    if (!text.empty())
      failures_.push_back({r, kExitDeviceError, fmt::format("card {}: {}", r, text)});
  }
}

void Session::collect_counters() {
  for (unsigned r = 0; r < ranks(); ++r)
    mmio_reads_ = std::max(mmio_reads_, platform_.card(r).pcie().mmio_reads);
  for (unsigned r = 0; r < ranks(); ++r) {
    const auto add = [&](uint64_t& to, uint64_t reg) { to += transports_[r]->read32(0, reg); };
    add(nic_.retransmits, spec::reg::kNicCntRetransmits);
    add(nic_.timeouts, spec::reg::kNicCntTimeouts);
    add(nic_.duplicates, spec::reg::kNicCntDuplicates);
    add(nic_.deferred, spec::reg::kNicCntDeferred);
    add(nic_.rnr_sent, spec::reg::kNicCntRnrSent);
    add(nic_.rnr_received, spec::reg::kNicCntRnrReceived);
    for (unsigned p = 0; p < platform_.num_planes(); ++p) {
      add(nic_.bad_frames, spec::reg::kNicCntRxBad + p * spec::reg::kNicCntRxBadStride);
      add(nic_.lost[p], spec::reg::kNicCntLost + p * spec::reg::kNicCntLostStride);
    }
  }
}

void Session::close_waves() {
  if (waves_ == nullptr) return;
  try {
    waves_->close();
  } catch (const UsageError& e) {
    failures_.push_back({0, kExitUsage, e.what()});
  }
}

systemc::Cycle Session::now() const {
  return static_cast<systemc::Cycle>(sc_core::sc_time_stamp() /
                                     sc_core::sc_time(systemc::kClockPs, sc_core::SC_PS));
}

void Session::fail(unsigned rank, ExitCode code, const std::string& message) {
  failures_.push_back({rank, code, message});
  // The others would only wait for this rank.
  platform_.engine().stop();
  sc_core::sc_stop();
}

void Session::run(const std::function<void(unsigned)>& program) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  sc_core::sc_spawn_options opt;
  opt.set_stack_size(kHostStackBytes);
  for (unsigned r = 0; r < ranks(); ++r) {
    sc_core::sc_spawn(
        [this, r, &program] {
          try {
            program(r);
            transports_[r]->flush();
            done_[r] = true;
            if (std::all_of(done_.begin(), done_.end(), [](bool d) { return d; })) {
              end_cycle_ = now();
              sc_core::wait(sc_core::sc_time(static_cast<double>(kDrainCycles * systemc::kClockPs),
                                             sc_core::SC_PS));
              collect_counters();
              collect_errors();
              platform_.engine().stop();
              sc_core::sc_stop();
            }
          } catch (const comm::CommError& e) {
            fail(r, exit_code(e.kind()), e.what());
          } catch (const driver::DeviceError& e) {
            fail(r, kExitDeviceError, e.what());
          } catch (const driver::TransportError& e) {
            fail(r, kExitDeviceError, e.what());
          } catch (const UsageError& e) {
            fail(r, kExitUsage, e.what());
          } catch (const std::invalid_argument& e) {
            fail(r, kExitUsage, e.what());
          }
        },
        fmt::format("rank{}", r).c_str(), &opt);
  }
  sc_core::sc_start();
  back_on_main_stack();
  cpu_s_ = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  wall_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (end_cycle_ == 0) end_cycle_ = platform_.engine().now();
  close_capture();
  close_waves();
  if (failures_.empty()) {
    for (unsigned r = 0; r < ranks(); ++r) {
      if (done_[r]) continue;
      failures_.push_back(
          {r, kExitNoProgress, fmt::format("rank {} waits and nothing in the system moves", r)});
    }
  }
}

}  // namespace ubl::ublsim
