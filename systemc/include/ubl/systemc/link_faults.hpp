// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Faults of one link direction: frames are lost, doubled, held back or damaged, or the link is dead
// for a while. Whatever happens to frames, credits are neither lost nor gained: the receiver never
// gets more flits of a virtual channel than it has room for, and when all is quiet the sender has
// the credits that it began with.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "ubl/systemc/link.hpp"

namespace ubl::systemc {

/// Which frames, and what happens to them. Frames count by their first flits as the sender sends
/// them, from 0.
struct LinkFault {
  enum class Kind : uint8_t { kCorrupt, kDrop, kDuplicate, kReorder, kCut };
  static constexpr unsigned kKinds = 5;
  Kind kind = Kind::kCorrupt;

  Cycle from = 0;  ///< frames that begin in [from, to); cut: when the link is dead
  Cycle to = kNever;
  std::optional<unsigned> vc;  ///< only frames of this virtual channel
  uint64_t frame = 0;          ///< the one with this number of all that fit the above
  std::optional<double> rate;  ///< not `frame`, but each with this probability
  uint64_t seed = 0;           ///< of whatever is left to chance

  std::optional<uint64_t> byte = 0;  ///< kCorrupt; nothing: any of the frame
  std::optional<unsigned> bit = 0;   ///< 0..7; nothing: any

  uint64_t by = 1;       ///< kReorder: frames of its channel that pass it ...
  Cycle within = 10000;  ///< ... but it is held for no longer than this
};

const char* to_string(LinkFault::Kind kind);

/// A number for (seed, counter): no state, so that what is drawn for one frame does not depend on
/// others.
uint64_t counter_random(uint64_t seed, uint64_t counter);
/// Seed of an entry: of `seed`, the name of the link and a number that tells entries apart.
uint64_t fault_seed(uint64_t seed, const std::string& link, uint64_t entry);

class LinkFaults final : public LinkFilter {
 public:
  /// `clock` is woken whenever tick() is to be called earlier than was known. `depth`: flits that
  /// the receiver has room for, per virtual channel.
  LinkFaults(Link& link, std::vector<LinkFault> faults, Wakeable& clock,
             uint64_t depth = spec::kLinkVcDepth);
  LinkFaults(const LinkFaults&) = delete;
  LinkFaults& operator=(const LinkFaults&) = delete;
  ~LinkFaults() override { link_.set_filter(nullptr); }

  void sent(Cycle now, const uint32_t* data16, uint32_t flags) override;
  uint8_t freed(Cycle now, uint8_t mask) override;

  /// Cycle of the next tick(); it may also be called in others.
  Cycle wake() const { return wake_; }
  /// The last thing in a cycle, after sender and receiver.
  void tick(Cycle now);

  const Link& link() const { return link_; }
  bool has(LinkFault::Kind kind) const;
  /// Frames that were lost (drop, cut: not whole), doubled, held back; bits that were flipped.
  uint64_t injected(LinkFault::Kind kind) const { return injected_[static_cast<size_t>(kind)]; }
  /// No flit and no credit waits here.
  bool quiet() const;

 private:
  static constexpr unsigned kVcs = 4;  // of two bits; the fourth is an error that passes, too
  /// A frame beside the stream: held back, or a copy that waits for room.
  struct Aside {
    bool copy = false;
    bool whole = false;  // its last flit is here
    unsigned vc = 0;
    uint64_t by = 0;       // held: frames that still have to pass
    Cycle until = kNever;  // held: not longer
    std::vector<FlitWords> flits;
  };
  struct Owed {
    Cycle due;
    uint8_t vc;
  };
  enum class Way : uint8_t { kNone, kPass, kHold, kDrop };

  bool chosen(size_t entry, Cycle now, unsigned vc);
  void begin_frame(Cycle now, const FlitWords& f);
  void damage(FlitWords& f);
  void pass(Cycle now, const FlitWords& f);
  void emit(Cycle now, const FlitWords& f);
  void lose(Cycle now, unsigned vc);
  bool dead(Cycle now) const;
  uint8_t withhold(Cycle now, uint8_t mask);
  void let_go(Cycle now);
  void pay(Cycle now);
  void check() const;
  void wake_at(Cycle c) {
    if (c >= wake_) return;
    wake_ = c;
    clock_.wake_at(c);
  }
  void count(LinkFault::Kind kind) { ++injected_[static_cast<size_t>(kind)]; }

  struct Flip {
    uint64_t byte;
    unsigned bit;
  };

  Link& link_;
  std::vector<LinkFault> faults_;
  Wakeable& clock_;
  uint64_t depth_;
  Cycle wake_ = kNever;
  std::array<uint64_t, LinkFault::kKinds> injected_{};

  // The frame that the sender is sending.
  std::vector<uint64_t> seen_;  // frames that fitted so far, per entry
  uint64_t frames_ = 0;
  Way way_ = Way::kNone;
  uint64_t offset_ = 0;  // bytes of it so far
  std::vector<Flip> flips_;
  std::list<Aside> aside_;
  Aside* held_ = nullptr;  // being filled; of aside_
  Aside* copy_ = nullptr;

  // Flits that may travel, one a cycle.
  std::deque<FlitWords> out_;
  Cycle emitted_ = kNever;  // last cycle with a flit
  enum class Wire : uint8_t { kIdle, kFrame, kLost } wire_ = Wire::kIdle;

  // Credits, per virtual channel.
  std::deque<Owed> lost_;  // flits that never arrive: their credits go back when they had arrived
  std::array<uint64_t, kVcs> owed_{};      // of these, due
  std::array<uint64_t, kVcs> wanted_{};    // to be kept for copies
  std::array<uint64_t, kVcs> withheld_{};  // kept for copies
  // Flits by where they are; waiting_: here, losing_: in lost_ and owed_.
  std::array<uint64_t, kVcs> sent_{}, delivered_{}, waiting_{}, losing_{};
  std::array<uint64_t, kVcs> freed_{}, returned_{};  // credits by the receiver, to the sender
};

}  // namespace ubl::systemc
