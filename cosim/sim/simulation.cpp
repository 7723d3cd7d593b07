// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/sim/simulation.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <systemc>

#include "ubl/spec/link.hpp"
#include "ublsim/session.hpp"
#include "ublsim/sim_bootstrap.hpp"
#include "ublsim/topology_file.hpp"

// SystemC's library refers to it; here the program's own main() constructs everything. Weak: the
// program may have one.
extern "C" __attribute__((weak)) int sc_main(int, char**) { return 0; }

namespace ubl::sim {

namespace {

ublsim::Options session_options(const Options& given) {
  ublsim::Options o;
  try {
    if (!given.topology.empty()) {
      o.layout = ublsim::load_topology(given.topology);
      o.topology = o.layout->name;
    }
    if (!given.config.empty()) ublsim::load_config(given.config, o.timing);
  } catch (const ublsim::UsageError& e) {
    throw std::invalid_argument(e.what());
  }
  o.cards = o.layout ? o.layout->cards : given.cards;
  o.planes = o.layout ? o.layout->planes : given.planes;
  if (o.cards < 1 || o.cards > cosim::compiled_radices().back())
    throw std::invalid_argument(
        fmt::format("{} cards: must be 1..{}", o.cards, cosim::compiled_radices().back()));
  if (o.planes < 1 || o.planes > spec::kLinkMaxPlanes)
    throw std::invalid_argument(
        fmt::format("{} planes: must be 1..{}", o.planes, spec::kLinkMaxPlanes));
  o.pcap = given.pcap;
  o.skip = given.skip;
  // SystemC's banner and the news of its end are no output of the program.
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  return o;
}

}  // namespace

struct Simulation::Impl {
  explicit Impl(const Options& given) : options(session_options(given)), session(options) {}
  ublsim::Options options;
  ublsim::Session session;
  ublsim::SimBootstrap bootstrap{session};
  bool ended = false;
};

Simulation::Simulation(const Options& options) try : impl_(std::make_unique<Impl>(options)) {
} catch (const ublsim::UsageError& e) {
  throw std::invalid_argument(e.what());
}
Simulation::~Simulation() = default;

unsigned Simulation::cards() const { return impl_->session.ranks(); }
unsigned Simulation::planes() const { return impl_->session.platform().num_planes(); }
driver::Transport& Simulation::transport(unsigned card) { return impl_->session.transport(card); }
comm::Bootstrap& Simulation::bootstrap() { return impl_->bootstrap; }

void Simulation::run(const std::function<void(unsigned)>& program) {
  std::exception_ptr first;
  impl_->session.run([&](unsigned rank) {
    try {
      program(rank);
    } catch (...) {
      if (!first) first = std::current_exception();
      throw ublsim::UsageError("ended by an exception");  // stops the simulation
    }
  });
  impl_->ended = true;
  if (first) std::rethrow_exception(first);
  const auto& failures = impl_->session.failures();
  if (failures.empty()) return;
  std::string text;
  for (const auto& f : failures) text += (text.empty() ? "" : "; ") + f.message;
  switch (failures.front().code) {
    case ublsim::kExitNoProgress:
      throw NoProgress(text);
    case ublsim::kExitDeviceError:
      throw driver::DeviceError(text);
    default:
      throw std::runtime_error(text);
  }
}

double Simulation::now_ns() const {
  return systemc::ns_from_cycles(impl_->ended ? impl_->session.cycles() : impl_->session.now());
}

uint64_t Simulation::run_hash() const {
  uint64_t run = 0, data = 0;
  impl_->session.platform().hashes(run, data);
  return run;
}

}  // namespace ubl::sim
