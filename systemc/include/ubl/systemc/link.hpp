// SPDX-License-Identifier: Apache-2.0
// One direction of a link: flits travel forward, credits travel back, each with a fixed delay.
// A flit sampled at the sender after cycle c is an input of the receiver in cycle c + delay.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ubl/spec/link.hpp"
#include "ubl/systemc/config.hpp"

namespace ubl::systemc {

/// Something with a clock that sleeps while nothing can change.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  Cycle wake() const { return wake_; }
  void wake_at(Cycle c) {
    if (c < wake_) wake_ = c;
  }

 protected:
  Cycle wake_ = 0;
};

/// The flit bundle as words: 16 of data, then flags (valid, sop, eop, vc, empty).
struct FlitWords {
  std::array<uint32_t, spec::Flit::kWords> w{};
  uint32_t flags() const { return w[16]; }
  static constexpr unsigned kFlagShift = spec::kLinkFlitBits;
  static_assert(spec::Flit::kWords * 4 == spec::kLinkFlitBytes + 4, "16 words and the flags");
  bool valid() const { return bit(spec::Flit::kValidLsb); }
  bool sop() const { return bit(spec::Flit::kSopLsb); }
  bool eop() const { return bit(spec::Flit::kEopLsb); }
  unsigned vc() const { return (flags() >> (spec::Flit::kVcLsb - kFlagShift)) & 3u; }
  unsigned empty() const { return (flags() >> (spec::Flit::kEmptyLsb - kFlagShift)) & 63u; }
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(w.data()); }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(w.data()); }

 private:
  bool bit(unsigned lsb) const { return ((flags() >> (lsb - kFlagShift)) & 1u) != 0; }
};

/// Ring of things that arrive in order.
template <typename T>
class DelayLine {
 public:
  explicit DelayLine(Cycle delay) {
    size_t n = 2;
    while (n < delay + 2) n *= 2;
    slots_.resize(n);
  }
  bool empty() const { return head_ == tail_; }
  Cycle due() const { return empty() ? kNever : slots_[head_ & (slots_.size() - 1)].first; }
  T& front() { return slots_[head_ & (slots_.size() - 1)].second; }
  T& push(Cycle due) {
    if (tail_ - head_ == slots_.size()) grow();
    auto& s = slots_[tail_++ & (slots_.size() - 1)];
    s.first = due;
    return s.second;
  }
  void pop() { ++head_; }

 private:
  void grow() {  // only when a receiver stays behind, which links of running platforms never do
    std::vector<std::pair<Cycle, T>> bigger(slots_.size() * 2);
    for (size_t i = head_; i != tail_; ++i)
      bigger[i & (bigger.size() - 1)] = slots_[i & (slots_.size() - 1)];
    slots_.swap(bigger);
  }
  std::vector<std::pair<Cycle, T>> slots_;
  size_t head_ = 0, tail_ = 0;
};

/// Stands between a sender and its link (faults). What it lets through it hands to Link::deliver()
/// and Link::credit().
class LinkFilter {
 public:
  virtual ~LinkFilter() = default;
  /// The sender sends a flit: 16 words and the flags.
  virtual void sent(Cycle now, const uint32_t* data16, uint32_t flags) = 0;
  /// The receiver returns credits; those that go on to the sender.
  virtual uint8_t freed(Cycle now, uint8_t mask) = 0;
};

class Link {
 public:
  /// Called for every flit that enters the link, before it travels; may change it.
  using Tap = std::function<void(Cycle, FlitWords&)>;

  Link(std::string name, Cycle flit_delay, Cycle credit_delay)
      : name_(std::move(name)),
        flit_delay_(flit_delay),
        credit_delay_(credit_delay),
        flits_(flit_delay),
        credits_(credit_delay) {}

  const std::string& name() const { return name_; }
  Cycle flit_delay() const { return flit_delay_; }
  void connect(Wakeable* sender, Wakeable* receiver) {
    sender_ = sender;
    receiver_ = receiver;
  }
  /// Taps are called in the order in which they were added; each sees what those before it changed.
  void add_tap(Tap tap) { taps_.push_back(std::move(tap)); }

  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// From now on *due is flit_due(), so that a receiver of many links looks at one array.
  void watch_flits(Cycle* due) {
    *due = *flit_due_;
    flit_due_ = due;
  }
  /// The same with credits_due() for the sender.
  void watch_credits(Cycle* due) {
    *due = *credits_due_;
    credits_due_ = due;
  }

  // Sender's side.
  void send(Cycle now, const uint32_t* words) { send(now, words, words[spec::Flit::kWords - 1]); }
  /// Data and flags from two places.
  void send(Cycle now, const uint32_t* data16, uint32_t flags) {
    ++flit_count_;
    constexpr unsigned kShift = FlitWords::kFlagShift;
    if ((flags >> (spec::Flit::kEopLsb - kShift) & 1u) != 0) {
      ++frame_count_;
      byte_count_ += spec::kLinkFlitBytes - (flags >> (spec::Flit::kEmptyLsb - kShift) & 63u);
    } else {
      byte_count_ += spec::kLinkFlitBytes;
    }
    if (filter_ == nullptr)
      deliver(now, data16, flags);
    else
      filter_->sent(now, data16, flags);
  }
  Cycle credits_due() const { return *credits_due_; }
  uint8_t take_credits() {
    const uint8_t m = credits_.front();
    credits_.pop();
    *credits_due_ = credits_.due();
    return m;
  }

  // Receiver's side.
  Cycle flit_due() const { return *flit_due_; }
  FlitWords& flit() { return flits_.front(); }
  void pop_flit() {
    flits_.pop();
    *flit_due_ = flits_.due();
  }
  void return_credits(Cycle now, uint8_t mask) {
    if (filter_ != nullptr) mask = filter_->freed(now, mask);
    if (mask != 0) credit(now, mask);
  }

  // For a filter; nullptr: none. It outlives the traffic of the link.
  void set_filter(LinkFilter* filter) { filter_ = filter; }
  /// A flit begins to travel: at most one in a cycle.
  void deliver(Cycle now, const uint32_t* data16, uint32_t flags) {
    if (flits_.empty()) *flit_due_ = now + flit_delay_;
    FlitWords& f = flits_.push(now + flit_delay_);
    std::memcpy(f.w.data(), data16, spec::kLinkFlitBytes);
    f.w[spec::Flit::kWords - 1] = flags;
    for (const Tap& tap : taps_) tap(now, f);
    receiver_->wake_at(now + flit_delay_);
  }
  /// Credits begin to travel. The sender takes one mask a cycle: a second one waits.
  void credit(Cycle now, uint8_t mask) {
    if (credits_.empty()) *credits_due_ = now + credit_delay_;
    credits_.push(now + credit_delay_) = mask;
    sender_->wake_at(now + credit_delay_);
  }

  // What the sender sent.
  uint64_t flit_count() const { return flit_count_; }
  uint64_t frame_count() const { return frame_count_; }
  uint64_t byte_count() const { return byte_count_; }  ///< frame bytes with FCS

 private:
  std::string name_;
  Cycle flit_delay_, credit_delay_;
  Cycle own_flit_due_ = kNever, own_credits_due_ = kNever;
  Cycle* flit_due_ = &own_flit_due_;
  Cycle* credits_due_ = &own_credits_due_;
  Wakeable* sender_ = nullptr;
  Wakeable* receiver_ = nullptr;
  DelayLine<FlitWords> flits_;
  DelayLine<uint8_t> credits_;
  std::vector<Tap> taps_;
  LinkFilter* filter_ = nullptr;
  uint64_t flit_count_ = 0, frame_count_ = 0, byte_count_ = 0;
};

}  // namespace ubl::systemc
