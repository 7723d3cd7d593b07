// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Executes schedules over a Fabric, one after the other. Never blocks except in run().
//
// Handshake. Before the first byte of a collective, each rank tells every peer that will send to it
// that its window is open, on stripe 0 of their connection, by zero-length WRITEs with immediate:
//   {sequence number, ready}, then the window's address / 4, or
//   {sequence number, ready_wide}, then the address' low and high word, or
//   {sequence number, ready_same}: the address told last time.
// Data of a step carries {sequence number, tag of the step} on the last request of every stripe.
// An immediate is sequence number << 16 | tag. Every immediate is checked on arrival. The sequence
// number of a pair of ranks counts the schedules both took part in: all but the pairwise ones of
// others.
//
// Receives. Before the handshake, a rank has posted as many receives on a lane as the schedule
// expects, and on stripe 0 twice the words of a handshake more: a peer is at most one collective
// ahead, because it cannot complete one without this rank's part in it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ubl/comm/hal/fabric.hpp"
#include "ubl/comm/protocol/schedule.hpp"

namespace ubl::comm::protocol {

struct EngineConfig {
  uint64_t timeout_ns = 20'000'000;     ///< without any progress, then kTimeout
  uint64_t error_check_ns = 8'000'000;  ///< without any progress, then look into the error log;
                                        ///< later than the card's own time-out, which says more
};

struct EngineStats {
  uint64_t schedules = 0;
  uint64_t requests = 0;         ///< sends posted, handshakes included
  uint64_t bytes_sent = 0;       ///< to other ranks
  uint64_t bytes_copied = 0;     ///< loopback, reductions included
  uint64_t handshake_words = 0;  ///< sent
  uint64_t completions = 0;      ///< polled
};

class Engine {
 public:
  /// `peers`: the ranks `fabric` is connected to, in ascending order. `limits` says how steps are
  /// cut over stripes and must be the same on all ranks.
  Engine(hal::Fabric& fabric, unsigned rank, unsigned ranks, std::vector<unsigned> peers,
         const Limits& limits, const EngineConfig& config = {});

  /// Base addresses of the scratch memories, by rank; without it no step may name one.
  void set_scratch(std::vector<uint64_t> bases) { scratch_ = std::move(bases); }

  /// Posts the standing receives. Must happen on all ranks before the first start() on any.
  void open();

  /// Begins a schedule; the previous one must be done.
  void start(Schedule schedule);
  /// Handles what has completed and sends what may be sent. True: something moved.
  bool progress();
  bool done() const { return !active_; }

  /// start() and progress() until done, with bounded waits.
  void run(Schedule schedule);

  /// What the current schedule waits for, one line each; empty when done.
  std::string waiting() const;

  uint16_t sequence() const { return sequence_; }  ///< schedules started
  const EngineStats& stats() const { return stats_; }
  /// Receives a schedule may expect (Limits::receives).
  uint32_t receive_limit() const;

 private:
  struct Expected {
    uint32_t step;
    uint16_t tag;
    uint64_t bytes;
  };
  struct Pending {
    uint64_t target;  // complete when the lane's completed count reaches this
    uint32_t step;
  };
  struct Lane {
    std::vector<Expected> expected;
    size_t next_expected = 0;
    std::deque<Pending> pending;
    uint64_t posted = 0;
    uint64_t completed = 0;
    uint64_t receives = 0;            // posted and not yet arrived
    uint32_t last_step = UINT32_MAX;  // of the current schedule that sends on this lane
  };
  struct Peer {
    bool connected = false;
    uint16_t sequence = 0;  // of schedules with this peer
    std::vector<Lane> lanes;
    // sending to the peer
    std::vector<uint32_t> sends;
    size_t next_send = 0;
    size_t next_piece = 0;
    std::vector<Piece> pieces;      // of the next send
    bool needs_ready = false;       // ... its window must be open first
    std::optional<uint16_t> ready;  // collective the peer told it is ready for
    uint64_t window = 0;            // the peer's
    uint16_t ready_kind = 0;        // of a handshake whose address words are still missing
    uint16_t ready_sequence = 0;
    unsigned ready_words = 0;
    uint64_t ready_address = 0;
    unsigned ready_shift = 0;
    // receiving from the peer
    bool tell_ready = false;
    std::optional<uint64_t> told;  // window address told last
  };

  void arrived(const hal::Completion& c);
  void handshake(unsigned rank, Peer& p, uint32_t imm);
  void complete_piece(uint32_t step);
  bool issue(unsigned rank, Peer& p);
  bool tell(unsigned rank, Peer& p);
  uint64_t window_for(unsigned rank) const;
  bool all_done(const std::vector<uint32_t>& steps) const;
  std::string step_name(const Step& s) const;
  [[noreturn]] void protocol_error(unsigned rank, unsigned stripe, const std::string& why) const;
  [[noreturn]] void give_up(ErrorKind kind, const std::string& why) const;

  hal::Fabric& fabric_;
  unsigned rank_;
  unsigned ranks_;
  EngineConfig config_;
  std::vector<unsigned> peer_ranks_;
  std::vector<Peer> peers_;  // by rank
  Schedule schedule_;
  std::vector<uint32_t> open_pieces_;  // per step; 0 and posted: complete
  std::vector<bool> has_dependents_;
  bool active_ = false;
  size_t remaining_ = 0;  // steps
  size_t untold_ = 0;     // peers still to be told that the window is open
  uint16_t sequence_ = 0;
  std::vector<uint64_t> scratch_;  // by rank
  Limits limits_;
  EngineStats stats_;
};

}  // namespace ubl::comm::protocol
