// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// What the protocol layer needs from the hardware, and nothing more. hal::Endpoint implements it
// over a card; tests implement it in software.
//
// A *lane* is one reliable connection to one peer: (peer, stripe). Requests of a lane are executed
// and complete in order; nothing is promised between lanes. The own rank is a valid peer
// (loopback).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ubl/comm/hal/error.hpp"

namespace ubl::comm::hal {

struct SendRequest {
  enum class Op : uint8_t { kWrite, kReduceAddF32 };
  unsigned peer = 0;
  unsigned stripe = 0;
  Op op = Op::kWrite;
  uint64_t laddr = 0;  ///< own memory, read until the request is complete
  uint64_t raddr = 0;  ///< peer's memory
  uint32_t bytes = 0;
  bool ordered = false;  ///< kReduceAddF32: applied behind all earlier requests of the lane
  bool with_imm = false;
  uint32_t imm = 0;     ///< raises a receive completion at the peer, after its memory is written
  bool notify = false;  ///< a send completion is wanted soon
};

struct Completion {
  enum class Kind : uint8_t { kSend, kReceive };
  Kind kind = Kind::kSend;
  unsigned peer = 0;
  unsigned stripe = 0;
  uint64_t done = 0;        ///< kSend: so many requests of the lane, from its start, are complete
  uint32_t imm = 0;         ///< kReceive
  uint32_t last_bytes = 0;  ///< kReceive: payload bytes of the last packet
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  virtual unsigned stripes() const = 0;
  /// Payload bytes of a full packet.
  virtual uint32_t mtu() const = 0;
  /// Receives that may be posted and not yet arrived, over all lanes.
  virtual uint32_t receive_budget() const = 0;

  /// Requests that can be queued on the lane now. Grows again through poll().
  virtual unsigned send_space(unsigned peer, unsigned stripe) = 0;
  /// Queues a request; send_space() must be > 0. The card sees it after flush().
  virtual void post_send(const SendRequest& request) = 0;
  virtual void flush() = 0;
  /// Lets `n` more immediates arrive on the lane.
  virtual void post_receives(unsigned peer, unsigned stripe, unsigned n) = 0;

  /// Next completion of any lane, or nothing. Throws CommError(kDeviceReported) for a failed one.
  virtual std::optional<Completion> poll() = 0;
  /// Returns when poll() may have something new, at the latest at `deadline_ns`.
  virtual void wait(uint64_t deadline_ns) = 0;
  virtual uint64_t now_ns() = 0;
  /// Accounts the fixed host work of one user-level call.
  virtual void charge_call() = 0;

  /// Takes the entries of the card's error log, in words.
  virtual std::vector<std::string> take_errors() = 0;
  /// The lane as the device knows it, for messages: "QP 5 on plane 3".
  virtual std::string describe(unsigned peer, unsigned stripe) const = 0;
};

}  // namespace ubl::comm::hal
