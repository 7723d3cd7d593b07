// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ublsim/breakdown.hpp"

#include <algorithm>

namespace ubl::ublsim {

using cosim::CardEvent;
using systemc::Cycle;
using systemc::kNever;

namespace {

// The BTH begins with it.
constexpr unsigned kOpcodeByte = spec::kLinkEthBytes + spec::kLinkIpBytes + spec::kLinkUdpBytes;

bool has_payload(const systemc::FlitWords& first) {
  return first.bytes()[kOpcodeByte] != static_cast<uint8_t>(spec::PktOp::kAck);
}
/// First stamp at or after t; kNever if there is none.
Cycle next(const std::vector<Cycle>& times, Cycle t) {
  const auto it = std::lower_bound(times.begin(), times.end(), t);
  return it == times.end() ? kNever : *it;
}
/// Last stamp at or before t; 0 if there is none.
Cycle last(const std::vector<Cycle>& times, Cycle t) {
  const auto it = std::upper_bound(times.begin(), times.end(), t);
  return it == times.begin() ? 0 : *std::prev(it);
}

}  // namespace

const std::array<const char*, Breakdown::kStages>& Breakdown::names() {
  static const std::array<const char*, kStages> names = {
      "doorbell_mmio", "wqe_fetch",    "payload_read",   "nic_transmit", "link_and_switch",
      "nic_receive",   "memory_write", "completion_dma", "host_poll"};
  return names;
}

Breakdown::Breakdown(Session& s) {
  for (unsigned c = 0; c < 2; ++c) {
    Side& side = sides_[c];
    s.platform().card(c).set_trace(
        [&side](CardEvent e, Cycle now) { side.events[static_cast<size_t>(e)].push_back(now); });
    // A packet may take any plane.
    for (unsigned p = 0; p < s.platform().num_planes(); ++p) {
      s.platform().uplink(c, p).add_tap([&side](Cycle now, systemc::FlitWords& f) {
        if (f.sop() && has_payload(f)) side.first_out.push_back(now);
      });
      systemc::Link& down = s.platform().downlink(c, p);
      down.add_tap([&side, payload = false, delay = down.flit_delay()](
                       Cycle now, systemc::FlitWords& f) mutable {
        if (f.sop()) payload = has_payload(f);
        if (f.eop() && payload) side.last_in.push_back(now + delay);
      });
    }
  }
}

std::optional<Breakdown::Stages> Breakdown::message(unsigned from, Cycle begin, Cycle end) const {
  const Side& tx = sides_[from];
  const Side& rx = sides_[1 - from];
  // The sender's side forwards from the call, the receiver's side backwards from the return.
  const Cycle fetch = next(tx.at(CardEvent::kDmaRead), begin);
  const Cycle doorbell = last(tx.at(CardEvent::kMmioWrite), fetch);
  const Cycle wqe = next(tx.at(CardEvent::kDmaData), fetch);
  const Cycle txd = next(tx.at(CardEvent::kTxd), wqe);
  const Cycle payload = next(tx.at(CardEvent::kPayload), txd);
  const Cycle out = next(tx.first_out, payload);
  const Cycle visible = last(rx.at(CardEvent::kHostVisible), end);
  const Cycle written = last(rx.at(CardEvent::kWritten), visible);
  const Cycle data = last(rx.at(CardEvent::kWriteData), written);
  const Cycle in = last(rx.last_in, data);
  const std::array<Cycle, 11> stamps = {begin, doorbell, wqe,     txd,     payload, out,
                                        in,    data,     written, visible, end};
  if (!std::is_sorted(stamps.begin(), stamps.end())) return std::nullopt;
  return Stages{doorbell - begin, wqe - doorbell, payload - txd,  (txd - wqe) + (out - payload),
                in - out,         data - in,      written - data, visible - written,
                end - visible};
}

}  // namespace ubl::ublsim
