// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <algorithm>

namespace ubl::cosim {

using sc_core::SC_PS;
using sc_core::sc_time;

namespace {

uint64_t to_ps(const sc_time& t) { return static_cast<uint64_t>(t / sc_time(1, SC_PS) + 0.5); }
sc_time at_cycle(Cycle c) { return sc_time(1, SC_PS) * static_cast<double>(c * systemc::kClockPs); }

}  // namespace

Engine::Engine(sc_core::sc_module_name name, bool skip) : sc_module(name), skip_(skip) {
  SC_THREAD(run);
}

void Engine::notify(sc_core::sc_event& event, Cycle cycle) {
  const sc_time when = at_cycle(cycle);
  const sc_time now = sc_core::sc_time_stamp();
  event.notify(when > now ? when - now : sc_core::SC_ZERO_TIME);
  limit_ = std::min(limit_, cycle);
}

Cycle Engine::next_wake() const {
  Cycle w = kNever;
  for (const Unit* u : units_) w = std::min(w, u->wake());
  if (w == kNever) return w;
  return skip_ ? std::max(w, now_) : now_;
}

void Engine::step(Cycle c) {
  now_ = c;
  ++cycles_run_;
  model_clock_.next_cycle();
  for (Unit* u : units_) {
    if (u->wake() <= c || !skip_) {
      u->tick(c);
      ++unit_ticks_;
    }
  }
  now_ = c + 1;
}

void Engine::run() {
  while (!stopped_) {
    const uint64_t sc_now = to_ps(sc_core::sc_time_stamp());
    const sc_time pending = sc_core::sc_time_to_pending_activity(sc_core::sc_get_curr_simcontext());
    const bool open_end = pending == sc_core::sc_max_time() - sc_core::sc_time_stamp();
    limit_ = open_end ? kNever : systemc::cycles_from_ps(sc_now + to_ps(pending));
    Cycle w = next_wake();
    while (w < limit_ && !stopped_) {
      step(w);
      w = next_wake();
    }
    if (stopped_) break;
    if (w == kNever) {
      // Only a host program can start something. If none does, SystemC runs out of events and the
      // caller of sc_start() reports who still waits.
      wait(kick_);
    } else {
      const sc_time target = at_cycle(w);
      const sc_time here = sc_core::sc_time_stamp();
      wait(target > here ? target - here : sc_core::SC_ZERO_TIME, kick_);
    }
  }
}

}  // namespace ubl::cosim
