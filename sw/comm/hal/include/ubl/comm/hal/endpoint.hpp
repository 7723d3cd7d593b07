// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Fabric over a card: queue pairs to the peers, one completion queue for all of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ubl/comm/hal/fabric.hpp"
#include "ubl/driver/device.hpp"
#include "ubl/spec/link.hpp"

namespace ubl::comm::hal {

struct EndpointConfig {
  unsigned stripes = 0;           ///< queue pairs per peer; 0: one per plane of the card
  uint8_t planes = 0;             ///< planes that packets may take, bit p; 0: all of the card
  unsigned sq_log2 = 6;           ///< log2 of send ring entries of each queue pair
  unsigned cq_log2 = 12;          ///< log2 of entries of the completion queue
  uint16_t window = 64;           ///< packets in flight of each queue pair
  spec::Vc vc = spec::Vc::kBulk;  ///< of all requests: a lane must not overtake itself
};

/// What the other side of a connection must know, for one peer.
struct PeerInfo {
  struct Stripe {
    uint32_t qpn = 0;
    uint32_t psn = 0;  ///< first PSN this side sends
    bool operator==(const Stripe& o) const { return qpn == o.qpn && psn == o.psn; }
  };
  uint16_t node = 0;
  uint32_t rkey = 0;
  uint64_t base = 0;  ///< registered memory
  uint64_t length = 0;
  std::vector<Stripe> stripes;

  std::vector<uint8_t> pack() const;
  /// CommError(kProtocol) if the bytes are not a PeerInfo. Advances `at`.
  static PeerInfo unpack(const std::vector<uint8_t>& bytes, size_t& at);
};

class Endpoint : public Fabric {
 public:
  /// Registers [base, base + length) of the card's memory for everything that follows.
  Endpoint(driver::Device& device, unsigned rank, uint64_t base, uint64_t length,
           const EndpointConfig& config = {});

  /// Creates the queue pairs to `peer` and says what the peer must know. Once per peer.
  PeerInfo prepare_peer(unsigned peer);
  /// Connects to what the peer's prepare_peer(own rank) said. For the own rank: to itself.
  void connect_peer(unsigned peer, const PeerInfo& theirs);
  /// Destroys queue pairs, completion queue and registration. Only when no peer sends any more and
  /// all of them have seen their acknowledgements; the destructor leaves everything to the Device.
  void close();

  driver::Device& device() { return device_; }
  const driver::Mr& memory() const { return mr_; }

  unsigned stripes() const override { return stripes_; }
  uint32_t mtu() const override { return spec::kLinkMtu; }
  uint32_t receive_budget() const override { return completions_ - send_budget_; }
  unsigned send_space(unsigned peer, unsigned stripe) override;
  void post_send(const SendRequest& request) override;
  void flush() override;
  void post_receives(unsigned peer, unsigned stripe, unsigned n) override;
  std::optional<Completion> poll() override;
  void wait(uint64_t deadline_ns) override;
  uint64_t now_ns() override;
  void charge_call() override;
  std::vector<std::string> take_errors() override;
  std::string describe(unsigned peer, unsigned stripe) const override;

  /// Waits until everything posted is acknowledged; CommError{kTimeout} at `deadline_ns`.
  void drain(uint64_t deadline_ns);

 private:
  struct Lane {
    driver::Qp* qp = nullptr;
    unsigned peer = 0;
    unsigned stripe = 0;
    bool to_ring = false;            // posted since the last doorbell
    uint64_t posted = 0;             // send requests, from the start
    uint64_t received = 0;           // immediates, from the start
    unsigned unsignalled = 0;        // since the last signalled request
    std::deque<uint64_t> signalled;  // numbers of the signalled requests not yet complete
  };
  struct Peer {
    bool prepared = false;
    bool connected = false;
    PeerInfo mine, theirs;
    std::vector<Lane> lanes;
  };
  Peer& peer(unsigned rank);
  Lane& lane(unsigned rank, unsigned stripe);
  std::string name(const Lane& lane) const;
  [[noreturn]] void fail(const Lane& lane, const spec::Cqe& cqe);

  driver::Device& device_;
  unsigned rank_;
  EndpointConfig config_;
  unsigned stripes_;
  uint32_t completions_;  // that may be outstanding
  uint32_t send_budget_;  // of these: signalled requests, over all lanes
  uint32_t send_in_flight_ = 0;
  uint32_t receives_in_flight_ = 0;
  driver::Mr mr_;
  driver::Cq* cq_ = nullptr;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank
  std::vector<Lane*> by_qpn_;
  std::vector<Lane*> to_ring_;
};

}  // namespace ubl::comm::hal
