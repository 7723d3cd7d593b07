// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Faults of a link between a sender and a receiver that count credits: what arrives, when, and that
// no credit is lost or gained whatever happens.
#include "ubl/systemc/link_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ubl/test/seed.hpp"

namespace ubl::systemc {
namespace {

using Kind = LinkFault::Kind;
using ::testing::ElementsAre;

constexpr unsigned kVcs = spec::kLinkNumVc;

class Clock : public Wakeable {
 public:
  Clock() { wake_ = kNever; }
  bool due(Cycle now) {
    if (wake_ > now) return false;
    wake_ = kNever;
    return true;
  }
};

struct Frame {
  uint32_t id = 0;
  unsigned vc = 0;
  unsigned flits = 1;
  unsigned empty = 0;  // of the last flit
};

/// A flit of a frame: every byte tells which; the first has an IP length.
FlitWords flit(const Frame& frame, unsigned index) {
  spec::Flit f{};
  f.valid = 1;
  f.sop = index == 0 ? 1 : 0;
  f.eop = index + 1 == frame.flits ? 1 : 0;
  f.vc = static_cast<uint8_t>(frame.vc);
  f.empty = static_cast<uint8_t>(f.eop != 0 ? frame.empty : 0);
  for (unsigned i = 0; i < 16; ++i) f.data[i] = frame.id * 0x10001u + index * 0x1000000u + i;
  FlitWords w;
  f.to_words(w.w.data());
  if (index == 0) {
    const unsigned total = frame.flits * spec::kLinkFlitBytes - frame.empty - spec::kLinkEthBytes -
                           spec::kLinkFcsBytes;
    w.bytes()[spec::kLinkEthBytes + 2] = static_cast<uint8_t>(total >> 8);
    w.bytes()[spec::kLinkEthBytes + 3] = static_cast<uint8_t>(total);
  }
  return w;
}

/// What the receiver got, a frame with its cycles.
struct Arrival {
  Cycle begin = 0, end = 0;
  uint32_t id = 0;
  unsigned vc = 0;
  std::vector<FlitWords> flits;
};

struct Case {
  Cycle flit_delay = 20, credit_delay = 15;
  uint64_t depth = spec::kLinkVcDepth;
  std::vector<LinkFault> faults;
  bool receiver_first = false;  // within a cycle
  bool every_cycle = false;     // as --no-skip does
};

/// Sender, link and receiver. Frames leave in the order of post(), each as soon as it has credits.
class Bench {
 public:
  explicit Bench(const Case& s)
      : setup_(s),
        link_("card0.plane0.up", s.flit_delay, s.credit_delay),
        faults_(link_, s.faults, clock_, s.depth) {
    link_.connect(&sender_, &receiver_);
    credits_.fill(s.depth);
  }

  void post(const Frame& f, Cycle not_before = 0) { posted_.push_back({f, not_before}); }
  /// Credits that the receiver may free per cycle and channel: never, or with this chance.
  void set_drain(double chance) { drain_ = chance; }
  void set_bubbles(double chance) { bubbles_ = chance; }

  void cycle() {
    if (setup_.receiver_first) receive();
    send();
    if (!setup_.receiver_first) receive();
    if (clock_.due(now_) || setup_.every_cycle) {
      if (faults_.wake() <= now_ || setup_.every_cycle) faults_.tick(now_);
      if (faults_.wake() != kNever) clock_.wake_at(faults_.wake());
    }
    ++now_;
  }
  void run(Cycle until) {
    while (now_ < until) cycle();
  }
  /// Until nothing is left to do; the receiver frees all.
  void finish(Cycle limit = 1000000) {
    drain_ = 1;
    const Cycle end = now_ + limit;
    while (!done()) {
      ASSERT_LT(now_, end) << "does not come to rest";
      cycle();
    }
  }
  bool done() const {
    return posted_.empty() && faults_.quiet() && link_.flit_due() == kNever &&
           link_.credits_due() == kNever && occupied() == 0;
  }
  void expect_at_rest() const {
    EXPECT_TRUE(faults_.quiet());
    for (unsigned v = 0; v < kVcs; ++v) EXPECT_EQ(credits_[v], setup_.depth) << "channel " << v;
  }

  std::vector<uint32_t> ids() const {
    std::vector<uint32_t> v;
    for (const auto& a : arrived_) v.push_back(a.id);
    return v;
  }
  const std::vector<Arrival>& arrived() const { return arrived_; }
  const std::map<uint32_t, Cycle>& sent_at() const { return sent_at_; }
  const std::vector<std::pair<Cycle, unsigned>>& credits_back() const { return credits_back_; }
  LinkFaults& faults() { return faults_; }

 private:
  struct Posted {
    Frame frame;
    Cycle not_before;
  };
  class Sink : public Wakeable {};

  bool chance(double p) { return static_cast<double>(rng_() >> 11) * 0x1p-53 < p; }
  uint64_t occupied() const {
    uint64_t n = 0;
    for (const uint64_t x : occupied_) n += x;
    return n;
  }

  void send() {
    if (link_.credits_due() <= now_) {
      const uint8_t mask = link_.take_credits();
      for (unsigned v = 0; v < kVcs; ++v)
        if ((mask >> v & 1u) != 0) {
          ++credits_[v];
          ASSERT_LE(credits_[v], setup_.depth) << "a credit too many";
          credits_back_.push_back({now_, v});
        }
    }
    if (posted_.empty()) return;
    const Frame& f = posted_.front().frame;
    if (index_ == 0) {
      if (now_ < posted_.front().not_before || credits_[f.vc] < f.flits) return;
      credits_[f.vc] -= f.flits;
      sent_at_[f.id] = now_;
    } else if (bubbles_ > 0 && chance(bubbles_)) {
      return;
    }
    const FlitWords w = flit(f, index_);
    link_.send(now_, w.w.data());
    if (++index_ == f.flits) {
      index_ = 0;
      posted_.pop_front();
    }
  }

  void receive() {
    if (link_.flit_due() <= now_) {
      ASSERT_EQ(link_.flit_due(), now_) << "nobody woke the receiver";
      const FlitWords f = link_.flit();
      link_.pop_flit();
      if (f.sop()) {
        ASSERT_FALSE(open_) << "a frame begins within another";
        arrived_.emplace_back();
        arrived_.back().begin = now_;
        arrived_.back().vc = f.vc();
        arrived_.back().id = (f.w[15] - 15) & 0xFFFFu;
      }
      ASSERT_TRUE(f.sop() || open_) << "a flit outside a frame";
      ASSERT_EQ(f.vc(), arrived_.back().vc) << "frames are mixed";
      open_ = !f.eop();
      arrived_.back().end = now_;
      arrived_.back().flits.push_back(f);
      ++occupied_[f.vc()];
      ASSERT_LE(occupied_[f.vc()], setup_.depth) << "no room for a flit";
    }
    uint8_t mask = 0;
    for (unsigned v = 0; v < kVcs; ++v) {
      if (occupied_[v] == 0 || !chance(drain_)) continue;
      --occupied_[v];
      mask = static_cast<uint8_t>(mask | 1u << v);
    }
    if (mask != 0) link_.return_credits(now_, mask);
  }

  Case setup_;
  Clock clock_;
  Sink sender_, receiver_;
  Link link_;
  LinkFaults faults_;
  std::deque<Posted> posted_;
  unsigned index_ = 0;
  std::array<uint64_t, kVcs> credits_{}, occupied_{};
  bool open_ = false;
  double drain_ = 1, bubbles_ = 0;
  Cycle now_ = 0;
  std::mt19937_64 rng_ = test::rng(77);
  std::vector<Arrival> arrived_;
  std::map<uint32_t, Cycle> sent_at_;
  std::vector<std::pair<Cycle, unsigned>> credits_back_;
};

LinkFault fault(Kind kind, uint64_t frame) {
  LinkFault f;
  f.kind = kind;
  f.frame = frame;
  return f;
}

LinkFault sometimes(Kind kind, double rate, uint64_t seed) {
  LinkFault f;
  f.kind = kind;
  f.rate = rate;
  f.seed = seed;
  f.byte = std::nullopt;
  f.bit = std::nullopt;
  return f;
}

LinkFault cut(Cycle from, Cycle to = kNever) {
  LinkFault f;
  f.kind = Kind::kCut;
  f.from = from;
  f.to = to;
  return f;
}

bool same(const Arrival& a, const Frame& f) {
  if (a.flits.size() != f.flits) return false;
  for (unsigned i = 0; i < f.flits; ++i)
    if (a.flits[i].w != flit(f, i).w) return false;
  return true;
}

TEST(LinkFaults, WhatIsNotChosenPassesUntouchedAndInTime) {
  Case s;
  s.faults = {fault(Kind::kDrop, 1000), fault(Kind::kReorder, 1000), cut(1000000)};
  Bench b(s);
  const Frame frames[] = {{1, 0, 5, 3}, {2, 2, 66, 0}, {3, 1, 1, 10}};
  for (const Frame& f : frames) b.post(f);
  b.finish();
  ASSERT_THAT(b.ids(), ElementsAre(1, 2, 3));
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_TRUE(same(b.arrived()[i], frames[i]));
    EXPECT_EQ(b.arrived()[i].begin, b.sent_at().at(frames[i].id) + s.flit_delay);
  }
  b.expect_at_rest();
}

TEST(LinkFaults, ADroppedFrameGivesItsCreditsBackAsIfItHadBeenTaken) {
  Case s;
  s.faults = {fault(Kind::kDrop, 1)};
  Bench b(s);
  b.post({1, 2, 4});
  b.post({2, 2, 10});
  b.post({3, 2, 4});
  b.finish();
  EXPECT_THAT(b.ids(), ElementsAre(1, 3));
  EXPECT_EQ(b.faults().injected(Kind::kDrop), 1u);
  // Nobody takes its place: times are those of a run without faults; and so are the credits.
  EXPECT_EQ(b.arrived()[1].begin, 14 + s.flit_delay);
  ASSERT_EQ(b.credits_back().size(), 18u);
  for (unsigned i = 0; i < 18; ++i)
    EXPECT_EQ(b.credits_back()[i].first, i + s.flit_delay + s.credit_delay);
  b.expect_at_rest();
}

TEST(LinkFaults, FramesAreCountedByChannelAndTime) {
  Case s;
  LinkFault second_rsp = fault(Kind::kDrop, 1);
  second_rsp.vc = 1;
  LinkFault late = fault(Kind::kDrop, 1);
  late.from = 100;
  s.faults = {second_rsp, late};
  Bench b(s);
  for (uint32_t i = 0; i < 4; ++i) b.post({i, i % 2, 2});
  for (uint32_t i = 4; i < 8; ++i) b.post({i, 0, 2}, 100);
  b.finish();
  EXPECT_THAT(b.ids(), ElementsAre(0, 1, 2, 4, 6, 7));
  b.expect_at_rest();
}

TEST(LinkFaults, ADuplicateIsTheSameAndWaitsForRoom) {
  Case s;
  s.depth = 100;
  s.faults = {fault(Kind::kDuplicate, 0)};
  Bench b(s);
  b.set_drain(0);
  b.post({1, 2, 60, 5});
  b.post({2, 2, 40});
  b.run(1000);
  // The receiver is full: the copy waits.
  EXPECT_THAT(b.ids(), ElementsAre(1, 2));
  b.finish();
  ASSERT_THAT(b.ids(), ElementsAre(1, 2, 1));
  EXPECT_TRUE(same(b.arrived()[0], {1, 2, 60, 5}));
  EXPECT_TRUE(same(b.arrived()[2], {1, 2, 60, 5}));
  // 60 credits were withheld.
  EXPECT_GE(b.arrived()[2].begin, 1000u + 59 + s.flit_delay);
  EXPECT_EQ(b.credits_back().size(), 100u);
  EXPECT_EQ(b.faults().injected(Kind::kDuplicate), 1u);
  b.expect_at_rest();
}

TEST(LinkFaults, ADuplicateComesBetweenFrames) {
  Case s;
  s.faults = {fault(Kind::kDuplicate, 0)};
  Bench b(s);
  for (uint32_t i = 0; i < 9; ++i) b.post({i, 2, 50});
  b.finish();
  EXPECT_EQ(b.ids().size(), 10u);
  const auto ids = b.ids();
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 0u), 2);
  b.expect_at_rest();
}

TEST(LinkFaults, EveryFrameDoubledStillMoves) {
  Case s;
  s.depth = 70;
  s.faults = {sometimes(Kind::kDuplicate, 1, 1)};
  Bench b(s);
  for (uint32_t i = 0; i < 100; ++i) b.post({i, i % 3, 1 + i % 66});
  b.finish();
  EXPECT_EQ(b.ids().size(), 200u);
  b.expect_at_rest();
}

TEST(LinkFaults, AFrameIsHeldUntilOthersOfItsChannelHavePassed) {
  Case s;
  LinkFault f = fault(Kind::kReorder, 1);
  f.by = 2;
  s.faults = {f};
  Bench b(s);
  const unsigned channels[] = {0, 2, 0, 2, 0, 2, 2};
  for (uint32_t i = 0; i < 7; ++i) b.post({i, channels[i], 3});
  b.finish();
  EXPECT_THAT(b.ids(), ElementsAre(0, 2, 3, 4, 5, 1, 6));
  EXPECT_EQ(b.faults().injected(Kind::kReorder), 1u);
  b.expect_at_rest();
}

TEST(LinkFaults, AFrameIsHeldNoLongerThanItsTime) {
  Case s;
  LinkFault f = fault(Kind::kReorder, 0);
  f.within = 500;
  s.faults = {f};
  Bench b(s);
  b.post({7, 1, 4});
  b.post({8, 2, 30}, 480);  // on its way at that time: first its end
  b.finish();
  ASSERT_THAT(b.ids(), ElementsAre(8, 7));
  EXPECT_EQ(b.arrived()[1].begin, 510 + s.flit_delay);
  b.expect_at_rest();

  Bench c(s);
  c.post({7, 1, 4});
  c.finish();
  ASSERT_THAT(c.ids(), ElementsAre(7));
  EXPECT_EQ(c.arrived()[0].begin, 500 + s.flit_delay);
  c.expect_at_rest();
}

TEST(LinkFaults, AHeldFrameWithoutCreditsForOthersGoesAfterItsTime) {
  Case s;
  s.depth = 66;
  LinkFault f = fault(Kind::kReorder, 0);
  f.within = 2000;
  s.faults = {f};
  Bench b(s);
  b.post({1, 0, 66});
  b.post({2, 0, 1});  // has no credit before the first is through
  b.finish();
  ASSERT_THAT(b.ids(), ElementsAre(1, 2));
  EXPECT_EQ(b.arrived()[0].begin, 2000 + s.flit_delay);
  b.expect_at_rest();
}

TEST(LinkFaults, AllReorderedExchangesNeighbours) {
  Case s;
  s.faults = {sometimes(Kind::kReorder, 1, 1)};
  Bench b(s);
  for (uint32_t i = 0; i < 6; ++i) b.post({i, 0, 2});
  b.finish();
  EXPECT_THAT(b.ids(), ElementsAre(1, 0, 3, 2, 5, 4));
  b.expect_at_rest();
}

TEST(LinkFaults, ADeadLinkLosesWhatIsOnItAndLater) {
  Case s;
  s.flit_delay = 10;
  s.faults = {cut(1000, 2000)};
  Bench b(s);
  b.post({1, 0, 1}, 989);   // arrives in 999
  b.post({2, 0, 1}, 990);   // would arrive in 1000
  b.post({3, 0, 5}, 1500);  // while it is dead
  b.post({4, 0, 1}, 1999);
  b.post({5, 0, 3}, 2000);
  b.finish();
  EXPECT_THAT(b.ids(), ElementsAre(1, 5));
  EXPECT_EQ(b.faults().injected(Kind::kCut), 3u);
  b.expect_at_rest();
}

TEST(LinkFaults, ACutFrameEndsBadAndNothingElseIsHurt) {
  Case s;
  s.flit_delay = 10;
  s.faults = {cut(1000, 1010)};
  Bench b(s);
  const Frame f{1, 2, 30};
  b.post(f, 985);
  b.post({2, 2, 30});
  b.post({3, 0, 8, 8}, 3000);
  b.finish();
  // Flits of 985..989 arrive, that of 990 is the bad end, the rest is lost, although the link lives
  // again from 1010 on.
  ASSERT_THAT(b.ids(), ElementsAre(1, 2, 3));
  const Arrival& a = b.arrived()[0];
  ASSERT_EQ(a.flits.size(), 6u);
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(a.flits[i].w, flit(f, i).w);
  EXPECT_TRUE(a.flits[5].eop());
  EXPECT_EQ(a.flits[5].empty(), 0u);
  EXPECT_EQ(a.flits[5].bytes()[63], flit(f, 5).bytes()[63] ^ 0x55);
  EXPECT_EQ(b.faults().injected(Kind::kCut), 1u);
  EXPECT_TRUE(same(b.arrived()[2], {3, 0, 8, 8}));
  b.expect_at_rest();
}

TEST(LinkFaults, ACutBeforeTheLastFlitSpoilsTheFcs) {
  Case s;
  s.flit_delay = 10;
  s.faults = {cut(1000)};
  Bench b(s);
  const Frame f{1, 2, 3, 6};
  b.post(f, 988);
  b.finish();
  ASSERT_THAT(b.ids(), ElementsAre(1));
  ASSERT_EQ(b.arrived()[0].flits.size(), 3u);
  EXPECT_EQ(b.arrived()[0].flits[2].empty(), 6u);
  EXPECT_EQ(b.arrived()[0].flits[2].bytes()[57], flit(f, 2).bytes()[57] ^ 0x55);
  b.expect_at_rest();
}

TEST(LinkFaults, ADeadLinkForEverStillTakesFrames) {
  Case s;
  s.depth = 70;
  s.faults = {cut(0), sometimes(Kind::kDuplicate, 0.5, 3), sometimes(Kind::kReorder, 0.5, 4)};
  Bench b(s);
  for (uint32_t i = 0; i < 50; ++i) b.post({i, i % 3, 66});
  b.finish();
  EXPECT_TRUE(b.ids().empty());
  EXPECT_EQ(b.faults().injected(Kind::kCut), 50 + b.faults().injected(Kind::kDuplicate));
  b.expect_at_rest();
}

unsigned flipped(const Arrival& a, const Frame& f) {
  unsigned n = 0;
  for (unsigned i = 0; i < f.flits; ++i)
    for (unsigned k = 0; k < 64; ++k) {
      const unsigned x = a.flits[i].bytes()[k] ^ flit(f, i).bytes()[k];
      n += static_cast<unsigned>(__builtin_popcount(x));
      if (i + 1 == f.flits && k >= 64 - f.empty) {
        EXPECT_EQ(x, 0u) << "behind the end";
      }
    }
  return n;
}

TEST(LinkFaults, CorruptFlipsTheBitThatWasNamed) {
  Case s;
  LinkFault f = fault(Kind::kCorrupt, 1);
  f.byte = 64 + 53;
  f.bit = 5;
  LinkFault beyond = fault(Kind::kCorrupt, 2);
  beyond.byte = 64 + 54;
  s.faults = {f, beyond};
  Bench b(s);
  const Frame frame{1, 0, 2, 10};
  for (uint32_t i = 0; i < 4; ++i) b.post(frame);
  b.finish();
  EXPECT_TRUE(same(b.arrived()[0], frame));
  EXPECT_EQ(flipped(b.arrived()[1], frame), 1u);
  EXPECT_EQ(b.arrived()[1].flits[1].bytes()[53], flit(frame, 1).bytes()[53] ^ 0x20);
  EXPECT_TRUE(same(b.arrived()[2], frame));
  EXPECT_TRUE(same(b.arrived()[3], frame));
  EXPECT_EQ(b.faults().injected(Kind::kCorrupt), 1u);
  b.expect_at_rest();
}

TEST(LinkFaults, ARandomBitIsAnyOfTheFrame) {
  Case s;
  s.faults = {sometimes(Kind::kCorrupt, 1, test::seed())};
  Bench b(s);
  const Frame frame{1, 0, 2, 50};
  constexpr unsigned kFrames = 3000;
  for (unsigned i = 0; i < kFrames; ++i) b.post(frame);
  b.finish();
  std::map<unsigned, unsigned> bytes;
  for (const Arrival& a : b.arrived()) {
    ASSERT_EQ(flipped(a, frame), 1u);
    for (unsigned k = 0; k < 78; ++k)
      if (a.flits[k / 64].bytes()[k % 64] != flit(frame, k / 64).bytes()[k % 64]) ++bytes[k];
  }
  EXPECT_EQ(bytes.size(), 78u);  // each, at 38 hits a byte
  EXPECT_EQ(b.faults().injected(Kind::kCorrupt), kFrames);
}

TEST(LinkFaults, ChanceIsThatOfTheSeedAndTheLinkAlone) {
  const auto dropped = [](uint64_t seed, double rate, unsigned gap, double bubbles) {
    Case s;
    s.faults = {sometimes(Kind::kDrop, rate, seed)};
    Bench b(s);
    b.set_bubbles(bubbles);
    for (uint32_t i = 0; i < 4000; ++i) b.post({i, 0, 1 + (i * gap) % 3}, i * gap);
    b.finish();
    std::vector<bool> lost(4000, true);
    for (const uint32_t id : b.ids()) lost[id] = false;
    EXPECT_EQ(b.faults().injected(Kind::kDrop),
              static_cast<uint64_t>(std::count(lost.begin(), lost.end(), true)));
    return lost;
  };
  const auto count = [](const std::vector<bool>& v) {
    return std::count(v.begin(), v.end(), true);
  };
  const uint64_t seed = fault_seed(test::seed(), "card0.plane0.up", 17);
  const auto a = dropped(seed, 0.1, 0, 0);
  EXPECT_NEAR(static_cast<double>(count(a)), 400, 100);  // 5 sigma
  EXPECT_EQ(a, dropped(seed, 0.1, 5, 0.5));              // whatever the traffic
  EXPECT_NE(a, dropped(fault_seed(test::seed(), "card0.plane0.down", 17), 0.1, 0, 0));
  EXPECT_NE(a, dropped(fault_seed(test::seed(), "card0.plane0.up", 18), 0.1, 0, 0));
  EXPECT_NE(a, dropped(fault_seed(test::seed() + 1, "card0.plane0.up", 17), 0.1, 0, 0));
  EXPECT_EQ(count(dropped(seed, 0, 0, 0)), 0);
  EXPECT_EQ(count(dropped(seed, 1, 0, 0)), 4000);
}

TEST(LinkFaults, ARateHasAWindow) {
  Case s;
  LinkFault f = sometimes(Kind::kDrop, 1, 1);
  f.from = 100;
  f.to = 200;
  s.faults = {f};
  Bench b(s);
  for (uint32_t i = 0; i < 30; ++i) b.post({i, 0, 1}, 10 * i);
  b.finish();
  EXPECT_EQ(b.ids().size(), 20u);
  EXPECT_EQ(b.ids()[9], 9u);
  EXPECT_EQ(b.ids()[10], 20u);
}

/// Everything that is to be seen from outside.
std::vector<uint64_t> trace(const Bench& b) {
  std::vector<uint64_t> t;
  for (const Arrival& a : b.arrived()) t.insert(t.end(), {a.begin, a.end, a.id, a.flits.size()});
  for (const auto& [cycle, vc] : b.credits_back()) t.insert(t.end(), {cycle, vc});
  return t;
}

/// Random traffic, delays, depths, back-pressure and faults of all kinds.
TEST(LinkFaults, NoCreditIsLostOrGainedWhateverHappens) {
  auto rng = test::rng(5);
  const auto any = [&rng](uint64_t from, uint64_t to) { return from + rng() % (to - from + 1); };
  std::array<uint64_t, LinkFault::kKinds> injected{};
  for (unsigned round = 0; round < 150; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Case s;
    s.flit_delay = any(1, 60);
    s.credit_delay = any(1, 60);
    s.depth = any(66, round % 2 == 0 ? 80 : 512);
    std::array<bool, LinkFault::kKinds> has{};
    for (uint64_t n = any(1, 6); n > 0; --n) {
      const auto kind = static_cast<Kind>(any(0, LinkFault::kKinds - 1));
      LinkFault f;
      if (kind == Kind::kCut) {
        const Cycle from = any(0, 6000);
        f = cut(from, any(0, 1) == 0 ? kNever : from + any(1, 1000));
      } else if (any(0, 2) == 0) {
        f = fault(kind, any(0, 50));
      } else {
        f = sometimes(kind, static_cast<double>(any(1, 100)) / (any(0, 1) == 0 ? 100 : 1000),
                      rng());
      }
      f.by = any(1, 5);
      f.within = any(1, 800);
      if (kind != Kind::kCut && any(0, 3) == 0) f.vc = static_cast<unsigned>(any(0, 2));
      has[static_cast<size_t>(kind)] = true;
      s.faults.push_back(f);
    }
    s.receiver_first = any(0, 1) == 1;
    const double drain = static_cast<double>(any(0, 100)) / 100;
    const double bubbles = static_cast<double>(any(0, 2)) * 0.1;
    std::vector<std::pair<Frame, Cycle>> frames;
    for (uint32_t i = 0; i < 150; ++i) {
      const auto flits = static_cast<unsigned>(any(0, 2) == 0 ? 66 : any(1, 66));
      frames.push_back({{i, static_cast<unsigned>(any(0, 2)), flits,
                         static_cast<unsigned>(flits > 1 ? any(0, 63) : 0)},
                        any(0, 9) == 0 ? any(0, 8000) : 0});
    }
    std::vector<uint64_t> first;
    for (const bool every_cycle : {false, true}) {
      s.every_cycle = every_cycle;
      Bench b(s);
      b.set_drain(drain);
      b.set_bubbles(bubbles);
      for (const auto& [f, when] : frames) b.post(f, when);
      b.run(4000);
      b.finish();
      b.expect_at_rest();
      if (HasFatalFailure()) return;
      const auto n = [&b](Kind kind) { return b.faults().injected(kind); };
      const bool cuts = has[static_cast<size_t>(Kind::kCut)];
      const bool corrupts = has[static_cast<size_t>(Kind::kCorrupt)];
      // Frames that are there are those that are not missing; a cut may leave a part of one.
      const size_t whole = frames.size() - n(Kind::kDrop) + n(Kind::kDuplicate);
      EXPECT_LE(b.ids().size(), whole);
      EXPECT_GE(b.ids().size() + n(Kind::kCut), whole);
      if (!cuts && !corrupts) {
        for (const Arrival& a : b.arrived()) ASSERT_TRUE(same(a, frames[a.id].first));
      }
      if (!corrupts && n(Kind::kReorder) + n(Kind::kDuplicate) == 0) {
        const auto ids = b.ids();
        EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
      }
      if (every_cycle) {
        EXPECT_EQ(trace(b), first);
      } else {
        first = trace(b);
      }
      for (unsigned k = 0; k < LinkFault::kKinds; ++k) injected[k] += n(static_cast<Kind>(k));
    }
  }
  for (const uint64_t n : injected) EXPECT_GT(n, 100u);
}

TEST(LinkFaults, WhoeverSendsWithoutACreditIsNamed) {
  Case s;
  s.depth = 4;
  Clock clock;
  Wakeable* none = &clock;
  Link link("card3.plane1.down", 5, 5);
  link.connect(none, none);
  LinkFaults faults(link, {cut(0)}, clock, s.depth);
  const Frame f{1, 0, 5};
  for (unsigned i = 0; i < 4; ++i) link.send(i, flit(f, i).w.data());
  try {
    link.send(4, flit(f, 4).w.data());
    FAIL();
  } catch (const std::logic_error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("card3.plane1.down"));
  }
}

TEST(LinkFaults, ACreditThatNobodySpentIsNoticed) {
  Clock clock;
  Link link("l", 5, 5);
  link.connect(&clock, &clock);
  LinkFaults faults(link, {cut(0)}, clock);
  link.return_credits(0, 1);
  EXPECT_THROW(faults.tick(0), std::logic_error);
}

}  // namespace
}  // namespace ubl::systemc
