// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// hal::Fabric in software: `World` holds the memories of all ranks and everything in flight. Lanes
// keep their order; between lanes the order of events is drawn from a seed. Nothing happens by
// itself: the test, or a waiting rank, calls World::step().
//
// It is strict where the card is: a full send ring, a receive that was not posted, a completion
// queue that overflows, an address outside memory each end the test with a message.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ubl/comm/hal/fabric.hpp"
#include "ubl/numerics/fp32.hpp"

namespace ubl::test {

struct MockConfig {
  unsigned ranks = 1;
  unsigned stripes = 1;
  unsigned ring = 8;   // send ring entries of a lane
  unsigned cq = 1024;  // completion queue entries of a rank
  uint32_t mtu = 256;
  uint64_t base = 0x1000;     // first address of every rank's memory
  uint64_t memory = 1 << 16;  // bytes of it
  uint64_t seed = 1;
};

class World {
 public:
  class Fabric;
  /// What happens to a request when it reaches the peer.
  enum class Fate { kDeliver, kLose, kFail, kWrongImm };
  using Injector = std::function<Fate(unsigned from, const comm::hal::SendRequest&)>;

  explicit World(const MockConfig& c) : config(c), rng(c.seed), memory_(c.ranks) {
    for (auto& m : memory_) m.assign(c.memory, 0xA5);
    cq_.resize(c.ranks);
    logs.resize(c.ranks);
    receives_outstanding_.resize(c.ranks);
    signalled_outstanding_.resize(c.ranks);
  }

  std::unique_ptr<Fabric> fabric(unsigned rank);

  uint8_t* at(unsigned rank, uint64_t addr, uint64_t bytes) {
    if (addr < config.base || addr - config.base > config.memory ||
        config.memory - (addr - config.base) < bytes) {
      violation("address outside memory");
      return nullptr;
    }
    return memory_[rank].data() + (addr - config.base);
  }
  void write(unsigned rank, uint64_t addr, const std::vector<uint32_t>& v) {
    if (!v.empty()) std::memcpy(at(rank, addr, v.size() * 4), v.data(), v.size() * 4);
  }
  std::vector<uint32_t> read(unsigned rank, uint64_t addr, size_t count) {
    std::vector<uint32_t> v(count);
    if (count > 0) std::memcpy(v.data(), at(rank, addr, count * 4), count * 4);
    return v;
  }

  /// Lets one thing happen: a request reaches its peer or a completion reaches its queue.
  /// False: nothing is in flight.
  bool step() {
    ++now;
    std::vector<Lane*> ready;
    for (auto& [key, lane] : lanes_)
      if (!lane.dead && (!lane.requests.empty() || !lane.acks.empty())) ready.push_back(&lane);
    if (ready.empty()) return false;
    Lane& l = *ready[rng() % ready.size()];
    const bool ack = !l.acks.empty() && (l.requests.empty() || rng() % 2 == 0);
    if (ack)
      acknowledge(l);
    else
      deliver(l);
    return true;
  }

  void violation(const std::string& what) { violations.push_back(what); }

  MockConfig config;
  std::mt19937_64 rng;
  uint64_t now = 0;  // nanoseconds: one per event and per wait
  Injector inject;
  std::vector<std::string> violations;
  std::vector<std::vector<std::string>> logs;                         // error log of each rank
  std::map<std::pair<unsigned, unsigned>, uint64_t> bytes_by_stripe;  // {rank, stripe}
  size_t most_in_queue = 0;
  uint64_t receive_doorbells = 0;

 private:
  struct Request {
    comm::hal::SendRequest r;
    bool signalled;
    uint64_t number;
  };
  struct Lane {  // of requests from -> to
    unsigned from = 0, to = 0, stripe = 0;
    std::deque<Request> queued;    // posted, not yet flushed
    std::deque<Request> requests;  // the card has them
    std::deque<Request> acks;      // carried out, completion on its way
    uint64_t posted = 0;
    unsigned in_ring = 0;
    unsigned unsignalled = 0;
    uint64_t receives = 0;  // posted at `to` for immediates of this lane
    bool dead = false;
  };
  struct Entry {
    comm::hal::Completion c;
    std::string error;
  };

  Lane& lane(unsigned from, unsigned to, unsigned stripe) {
    Lane& l = lanes_[{from, to, stripe}];
    l.from = from;
    l.to = to;
    l.stripe = stripe;
    return l;
  }
  void push(unsigned rank, Entry e) {
    cq_[rank].push_back(std::move(e));
    most_in_queue = std::max(most_in_queue, cq_[rank].size());
    if (cq_[rank].size() > config.cq) violation("completion queue overflow");
  }
  void deliver(Lane& l) {
    const Request q = l.requests.front();
    const comm::hal::SendRequest& r = q.r;
    const Fate fate = inject ? inject(l.from, r) : Fate::kDeliver;
    if (fate == Fate::kLose) {  // and nobody notices
      l.dead = true;
      return;
    }
    if (fate == Fate::kFail) {
      l.dead = true;
      push(l.from, {{},
                    "request " + std::to_string(q.number) + " to rank " + std::to_string(l.to) +
                        " failed: timeout (QP 7, PSN 42)"});
      return;
    }
    l.requests.pop_front();
    if (r.bytes > 0) {
      uint8_t* src = at(l.from, r.laddr, r.bytes);
      uint8_t* dst = at(l.to, r.raddr, r.bytes);
      if (src == nullptr || dst == nullptr) return;
      if (r.op == comm::hal::SendRequest::Op::kReduceAddF32)
        numerics::accumulate_f32(dst, src, r.bytes);
      else
        std::memmove(dst, src, r.bytes);
      bytes_by_stripe[{l.from, l.stripe}] += r.bytes;
    }
    if (r.with_imm) {
      if (l.receives == 0)
        violation("immediate without a posted receive");
      else
        --l.receives;
      comm::hal::Completion c;
      c.kind = comm::hal::Completion::Kind::kReceive;
      c.peer = l.from;
      c.stripe = l.stripe;
      c.imm = fate == Fate::kWrongImm ? r.imm ^ 1 : r.imm;
      c.last_bytes = r.bytes == 0 ? 0 : (r.bytes - 1) % config.mtu + 1;
      push(l.to, {c, {}});
    }
    l.acks.push_back(q);
  }
  void acknowledge(Lane& l) {
    const Request q = l.acks.front();
    l.acks.pop_front();
    if (!q.signalled) return;
    comm::hal::Completion c;
    c.peer = l.to;
    c.stripe = l.stripe;
    c.done = q.number + 1;
    push(l.from, {c, {}});
  }

  friend class Fabric;
  std::vector<std::vector<uint8_t>> memory_;
  std::map<std::tuple<unsigned, unsigned, unsigned>, Lane> lanes_;
  std::vector<std::deque<Entry>> cq_;
  std::vector<uint64_t> receives_outstanding_, signalled_outstanding_;
};

class World::Fabric : public comm::hal::Fabric {
 public:
  Fabric(World& world, unsigned rank) : world_(world), rank_(rank) {}

  /// What a rank does while it waits; by default it lets the world go on.
  std::function<void(uint64_t deadline)> on_wait;

  unsigned stripes() const override { return world_.config.stripes; }
  uint32_t mtu() const override { return world_.config.mtu; }
  uint32_t receive_budget() const override { return world_.config.cq - world_.config.cq / 4; }
  unsigned send_space(unsigned peer, unsigned stripe) override {
    if (world_.signalled_outstanding_[rank_] >= world_.config.cq / 4) return 0;
    return world_.config.ring - world_.lane(rank_, peer, stripe).in_ring;
  }
  void post_send(const comm::hal::SendRequest& r) override {
    Lane& l = world_.lane(rank_, r.peer, r.stripe);
    if (l.in_ring >= world_.config.ring) world_.violation("send ring overflow");
    const bool signalled = r.notify || l.unsignalled + 1 >= world_.config.ring / 4;
    l.unsignalled = signalled ? 0 : l.unsignalled + 1;
    world_.signalled_outstanding_[rank_] += signalled ? 1 : 0;
    ++l.in_ring;
    l.queued.push_back({r, signalled, l.posted++});
  }
  void flush() override {
    for (auto& [key, l] : world_.lanes_)
      if (l.from == rank_)
        for (; !l.queued.empty(); l.queued.pop_front()) l.requests.push_back(l.queued.front());
  }
  void post_receives(unsigned peer, unsigned stripe, unsigned n) override {
    world_.lane(peer, rank_, stripe).receives += n;
    world_.receives_outstanding_[rank_] += n;
    ++world_.receive_doorbells;
    if (world_.receives_outstanding_[rank_] > receive_budget())
      world_.violation("more receives than the completion queue holds");
  }
  std::optional<comm::hal::Completion> poll() override {
    auto& q = world_.cq_[rank_];
    if (q.empty()) return std::nullopt;
    const Entry e = q.front();
    q.pop_front();
    if (!e.error.empty())
      throw comm::CommError(comm::ErrorKind::kDeviceReported,
                            "rank " + std::to_string(rank_) + ": " + e.error);
    if (e.c.kind == comm::hal::Completion::Kind::kSend) {
      Lane& l = world_.lane(rank_, e.c.peer, e.c.stripe);
      l.in_ring = static_cast<unsigned>(l.posted - e.c.done);
      --world_.signalled_outstanding_[rank_];
    } else {
      --world_.receives_outstanding_[rank_];
    }
    return e.c;
  }
  void wait(uint64_t deadline) override {
    ++world_.now;
    if (on_wait)
      on_wait(deadline);
    else if (!world_.step())
      world_.now = std::max(world_.now, deadline);
  }
  uint64_t now_ns() override { return world_.now; }
  void charge_call() override { ++calls; }
  std::vector<std::string> take_errors() override {
    std::vector<std::string> out;
    out.swap(world_.logs[rank_]);
    return out;
  }
  std::string describe(unsigned peer, unsigned stripe) const override {
    return "mock lane " + std::to_string(peer) + "." + std::to_string(stripe);
  }

  unsigned calls = 0;

 private:
  World& world_;
  unsigned rank_;
};

inline std::unique_ptr<World::Fabric> World::fabric(unsigned rank) {
  return std::make_unique<Fabric>(*this, rank);
}

/// What ring_all_reduce promises, from the inputs alone and sw/numerics' addition.
inline std::vector<uint32_t> ring_expected(const std::vector<std::vector<uint32_t>>& in) {
  const size_t n = in.size();
  const size_t count = in[0].size();
  std::vector<uint32_t> out(count);
  size_t i = 0;
  for (size_t c = 0; c < n; ++c) {
    const size_t size = count / n + (c < count % n ? 1 : 0);
    for (size_t k = 0; k < size; ++k, ++i) {
      uint32_t v = in[c][i];
      for (size_t r = 1; r < n; ++r) v = numerics::add_f32(v, in[(c + r) % n][i]);
      out[i] = v;
    }
  }
  return out;
}

/// Floats of very different sizes, so that the order of additions shows, and some specials.
inline std::vector<uint32_t> random_floats(std::mt19937_64& rng, size_t count) {
  std::vector<uint32_t> v(count);
  for (auto& x : v) {
    const auto bits = static_cast<uint32_t>(rng());
    x = rng() % 16 == 0 ? bits : (bits & 0x807FFFFF) | (100 + rng() % 40) << 23;
  }
  return v;
}

}  // namespace ubl::test
