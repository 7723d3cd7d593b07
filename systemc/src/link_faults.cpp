// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/link_faults.hpp"

#include <algorithm>
#include <stdexcept>

namespace ubl::systemc {

namespace {

constexpr uint32_t kEop = 1u << (spec::Flit::kEopLsb - FlitWords::kFlagShift);
constexpr uint32_t kEmptyMask = 63u << (spec::Flit::kEmptyLsb - FlitWords::kFlagShift);

/// Finaliser of splitmix64.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// In [0, 1), all values exact.
double unit(uint64_t x) { return static_cast<double>(x >> 11) * 0x1p-53; }

/// Bytes of the frame that begins with this flit, with FCS, as its IP header has it.
uint64_t frame_bytes(const FlitWords& first) {
  const uint8_t* total = first.bytes() + spec::kLinkEthBytes + 2;
  const uint64_t n =
      spec::kLinkEthBytes + (uint64_t{total[0]} << 8 | total[1]) + spec::kLinkFcsBytes;
  return std::min<uint64_t>(n, spec::kLinkMaxFrameFlits * spec::kLinkFlitBytes);
}

/// What the receiving MAC makes of the first flit that is missing: the end of a bad frame. It
/// heals neither a stomped FCS (all bits changed) nor a single bit.
void terminate(FlitWords& f) {
  uint32_t& flags = f.w[spec::Flit::kWords - 1];
  if (!f.eop()) flags = (flags & ~kEmptyMask) | kEop;
  f.bytes()[spec::kLinkFlitBytes - 1 - f.empty()] ^= 0x55;
}

}  // namespace

const char* to_string(LinkFault::Kind kind) {
  constexpr const char* kNames[LinkFault::kKinds] = {"corrupt", "drop", "duplicate", "reorder",
                                                     "cut"};
  return kNames[static_cast<size_t>(kind)];
}

uint64_t counter_random(uint64_t seed, uint64_t counter) {
  return mix(mix(seed + (counter + 1) * 0x9e3779b97f4a7c15ull) + seed);
}

uint64_t fault_seed(uint64_t seed, const std::string& link, uint64_t entry) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : link) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return counter_random(counter_random(seed, entry), h);
}

LinkFaults::LinkFaults(Link& link, std::vector<LinkFault> faults, Wakeable& clock, uint64_t depth)
    : link_(link),
      faults_(std::move(faults)),
      clock_(clock),
      depth_(depth),
      seen_(faults_.size(), 0) {
  link_.set_filter(this);
}

bool LinkFaults::has(LinkFault::Kind kind) const {
  return std::any_of(faults_.begin(), faults_.end(),
                     [kind](const LinkFault& f) { return f.kind == kind; });
}

bool LinkFaults::quiet() const {
  const auto none = [](const auto& counts) {
    return std::all_of(counts.begin(), counts.end(), [](uint64_t n) { return n == 0; });
  };
  return aside_.empty() && out_.empty() && none(losing_) && none(wanted_) && none(withheld_);
}

bool LinkFaults::chosen(size_t entry, Cycle now, unsigned vc) {
  const LinkFault& f = faults_[entry];
  if (now < f.from || now >= f.to || (f.vc && *f.vc != vc)) return false;
  const uint64_t n = seen_[entry]++;
  if (!f.rate) return n == f.frame;
  return unit(counter_random(f.seed, 3 * frames_)) < *f.rate;
}

void LinkFaults::begin_frame(Cycle now, const FlitWords& f) {
  // A frame without end ends here.
  if (held_ != nullptr) held_->whole = true;
  if (copy_ != nullptr) copy_->whole = true;
  held_ = copy_ = nullptr;
  way_ = Way::kPass;
  offset_ = 0;
  flips_.clear();
  const unsigned vc = f.vc();
  const LinkFault* hold = nullptr;
  bool drop = false, copy = false;
  for (size_t i = 0; i < faults_.size(); ++i) {
    const LinkFault& x = faults_[i];
    if (x.kind == LinkFault::Kind::kCut || !chosen(i, now, vc)) continue;
    switch (x.kind) {
      case LinkFault::Kind::kDrop:
        drop = true;
        break;
      case LinkFault::Kind::kDuplicate:
        copy = true;
        break;
      case LinkFault::Kind::kReorder:
        hold = &x;
        break;
      default:
        flips_.push_back(
            {x.byte ? *x.byte : counter_random(x.seed, 3 * frames_ + 1) % frame_bytes(f),
             x.bit ? *x.bit : static_cast<unsigned>(counter_random(x.seed, 3 * frames_ + 2) % 8)});
    }
  }
  ++frames_;
  if (drop) {
    count(LinkFault::Kind::kDrop);
    way_ = Way::kDrop;
    flips_.clear();
    return;
  }
  const auto aside = [&](bool is_copy) {
    aside_.emplace_back();
    aside_.back().copy = is_copy;
    aside_.back().vc = vc;
    return &aside_.back();
  };
  // One at a time: so something passes, and a rate of 1 exchanges neighbours.
  const bool held_already = std::any_of(aside_.begin(), aside_.end(),
                                        [vc](const Aside& a) { return !a.copy && a.vc == vc; });
  if (hold != nullptr && !held_already) {
    count(LinkFault::Kind::kReorder);
    way_ = Way::kHold;
    held_ = aside(false);
    held_->by = hold->by;
    held_->until = now + hold->within;
  }
  if (copy) {
    count(LinkFault::Kind::kDuplicate);
    copy_ = aside(true);
  }
}

void LinkFaults::damage(FlitWords& f) {
  const uint64_t size = spec::kLinkFlitBytes - (f.eop() ? f.empty() : 0);
  for (const Flip& x : flips_) {
    if (x.byte < offset_ || x.byte >= offset_ + size) continue;
    f.bytes()[x.byte - offset_] ^= static_cast<uint8_t>(1u << x.bit);
    count(LinkFault::Kind::kCorrupt);
  }
}

void LinkFaults::sent(Cycle now, const uint32_t* data16, uint32_t flags) {
  FlitWords f;
  std::memcpy(f.w.data(), data16, spec::kLinkFlitBytes);
  f.w[spec::Flit::kWords - 1] = flags;
  if (f.sop() || way_ == Way::kNone) begin_frame(now, f);
  if (!flips_.empty()) damage(f);
  offset_ += spec::kLinkFlitBytes;
  const unsigned vc = f.vc();
  if (++sent_[vc] - returned_[vc] > depth_ && vc < spec::kLinkNumVc)
    throw std::logic_error(link_.name() + ": a flit was sent without a credit");
  if (copy_ != nullptr) {
    // Room for the copy: as many credits as the frame has flits are kept when they come back.
    copy_->flits.push_back(f);
    copy_->whole = f.eop();
    ++wanted_[copy_->vc];
  }
  switch (way_) {
    case Way::kDrop:
      lose(now, vc);
      break;
    case Way::kHold:
      held_->flits.push_back(f);
      held_->whole = f.eop();
      ++waiting_[vc];
      break;
    default:
      pass(now, f);
  }
  if (!f.eop()) return;
  if (way_ == Way::kPass)
    for (Aside& a : aside_)
      if (!a.copy && a.vc == vc && a.by > 0) --a.by;
  way_ = Way::kNone;
  held_ = copy_ = nullptr;
  if (!aside_.empty()) wake_at(now);
}

void LinkFaults::pass(Cycle now, const FlitWords& f) {
  if (out_.empty() && emitted_ != now) {
    emit(now, f);
    return;
  }
  out_.push_back(f);
  ++waiting_[f.vc()];
  wake_at(now);
}

bool LinkFaults::dead(Cycle now) const {
  // What is on the link when it dies is lost, too.
  return std::any_of(faults_.begin(), faults_.end(), [&](const LinkFault& f) {
    return f.kind == LinkFault::Kind::kCut && now + link_.flit_delay() >= f.from && now < f.to;
  });
}

void LinkFaults::emit(Cycle now, const FlitWords& f) {
  emitted_ = now;
  const bool is_dead = dead(now);
  bool last = false;
  if (f.sop() || wire_ == Wire::kIdle) {
    wire_ = is_dead ? Wire::kLost : Wire::kFrame;
    if (is_dead) count(LinkFault::Kind::kCut);
  } else if (wire_ == Wire::kFrame && is_dead) {
    count(LinkFault::Kind::kCut);
    last = true;
  }
  if (wire_ == Wire::kLost) {
    lose(now, f.vc());
  } else {
    FlitWords g = f;
    if (last) terminate(g);
    ++delivered_[g.vc()];
    link_.deliver(now, g.w.data(), g.flags());
  }
  if (last) wire_ = Wire::kLost;
  if (f.eop()) wire_ = Wire::kIdle;
}

void LinkFaults::lose(Cycle now, unsigned vc) {
  if (vc >= spec::kLinkNumVc) return;  // costs no credit
  ++losing_[vc];
  lost_.push_back({now + link_.flit_delay(), static_cast<uint8_t>(vc)});
  wake_at(now + link_.flit_delay());
}

// Credits of `mask` go to the sender, but for those that copies want. Returns the others.
uint8_t LinkFaults::withhold(Cycle now, uint8_t mask) {
  for (unsigned v = 0; v < spec::kLinkNumVc; ++v) {
    if ((mask >> v & 1u) == 0) continue;
    if (wanted_[v] > 0) {
      --wanted_[v];
      ++withheld_[v];
      mask = static_cast<uint8_t>(mask & ~(1u << v));
      wake_at(now);
    } else {
      ++returned_[v];
    }
  }
  return mask;
}

uint8_t LinkFaults::freed(Cycle now, uint8_t mask) {
  for (unsigned v = 0; v < spec::kLinkNumVc; ++v) freed_[v] += mask >> v & 1u;
  return withhold(now, mask);
}

// Frames beside the stream that may go join it, between two frames.
void LinkFaults::let_go(Cycle now) {
  if (way_ == Way::kPass) return;
  std::array<bool, kVcs> copies_wait{};
  for (auto it = aside_.begin(); it != aside_.end();) {
    Aside& a = *it;
    bool go = a.whole;
    if (a.copy) {
      go = go && !copies_wait[a.vc] && withheld_[a.vc] >= a.flits.size();
      if (go) {
        withheld_[a.vc] -= a.flits.size();
        waiting_[a.vc] += a.flits.size();
      }
      copies_wait[a.vc] = copies_wait[a.vc] || !go;
    } else {
      go = go && (a.by == 0 || now >= a.until);
    }
    if (go) {
      out_.insert(out_.end(), a.flits.begin(), a.flits.end());
      it = aside_.erase(it);
    } else {
      ++it;
    }
  }
}

// Credits of lost flits, as if the receiver had freed them when they would have arrived.
void LinkFaults::pay(Cycle now) {
  for (; !lost_.empty() && lost_.front().due <= now; lost_.pop_front()) ++owed_[lost_.front().vc];
  uint8_t mask = 0;
  for (unsigned v = 0; v < spec::kLinkNumVc; ++v) {
    if (owed_[v] == 0) continue;
    --owed_[v];
    --losing_[v];
    mask = static_cast<uint8_t>(mask | 1u << v);
  }
  if (mask == 0) return;
  mask = withhold(now, mask);
  if (mask != 0) link_.credit(now, mask);
}

// Every credit is somewhere: a flit at the receiver, here, or lost; or kept for a copy.
void LinkFaults::check() const {
  for (unsigned v = 0; v < spec::kLinkNumVc; ++v) {
    const uint64_t there = delivered_[v] - freed_[v];
    if (there > depth_)
      throw std::logic_error(link_.name() + ": more flits than the receiver has room for");
    if (sent_[v] - returned_[v] != there + waiting_[v] + losing_[v] + withheld_[v])
      throw std::logic_error(link_.name() + ": a credit was lost or gained");
  }
}

void LinkFaults::tick(Cycle now) {
  let_go(now);
  if (!out_.empty() && emitted_ != now) {
    const FlitWords f = out_.front();
    out_.pop_front();
    --waiting_[f.vc()];
    emit(now, f);
  }
  pay(now);
  check();
  wake_ = kNever;
  Cycle next = lost_.empty() ? kNever : lost_.front().due;
  const bool owes = std::any_of(owed_.begin(), owed_.end(), [](uint64_t n) { return n != 0; });
  if (!out_.empty() || owes) next = now + 1;
  for (const Aside& a : aside_)
    if (a.whole && !a.copy && a.until > now) next = std::min(next, a.until);
  // A copy may have got the credits of lost flits just now.
  const bool copies = std::any_of(aside_.begin(), aside_.end(), [this](const Aside& a) {
    return a.copy && a.whole && withheld_[a.vc] >= a.flits.size();
  });
  if (copies && way_ != Way::kPass) next = now + 1;
  wake_at(next);
}

}  // namespace ubl::systemc
