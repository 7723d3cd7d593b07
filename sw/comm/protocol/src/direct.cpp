// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Reductions by owners of blocks, and groups of messages.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ubl/comm/hal/error.hpp"
#include "ubl/comm/protocol/schedule.hpp"

namespace ubl::comm::protocol {
namespace {

constexpr uint64_t kElement = 4;                  // FP32
constexpr uint64_t kUnit = 64;                    // cuts are at multiples of this
constexpr uint64_t kMaxPart = uint64_t{1} << 30;  // a request carries at most 2^31 bytes
constexpr uint32_t kNone = UINT32_MAX;

uint64_t div_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }
uint64_t round_up(uint64_t bytes) { return div_up(bytes, kUnit) * kUnit; }

uint64_t chunk_bytes(uint64_t count, unsigned n, unsigned chunk) {
  return (chunk_begin(count, n, chunk + 1) - chunk_begin(count, n, chunk)) * kElement;
}

/// Where an owner adds up.
struct Place {
  bool scratch = false;  ///< or in its window
  uint64_t offset = 0;
};

/// One rank's part in n reductions, block j at rank j.
class Blocks {
 public:
  unsigned rank = 0;
  unsigned n = 1;
  uint64_t send = 0;
  std::function<uint64_t(unsigned)> begin;  ///< of block j, in bytes
  std::function<uint64_t(unsigned)> bytes;  ///< of block j
  std::function<Place(unsigned)> sum;       ///< of owner j
  uint64_t own = 0;                         ///< address of the own sum
  Limits limits;
  Direct how = Direct::kChained;
  Scratch scratch;
  uint64_t slots_at = 0;  ///< first slot in the scratch

  Schedule s;

  /// Chooses the parts: alike on all ranks, so from the largest block. `last`: every rank, or the
  /// root, receives every block again.
  void prepare(bool last) {
    for (unsigned j = 0; j < n; ++j) largest_ = std::max(largest_, bytes(j));
    const uint64_t pieces = cut(largest_, 0, limits).size();
    const uint64_t receives = std::max(1u, n - 1) * (pieces * (last ? 2 : 1) + 1);
    const uint64_t most =
        std::min<uint64_t>(limits.receives / receives, kMaxTags / (uint64_t{3} * n));
    const uint64_t wanted = div_up(largest_, std::max<uint64_t>(kUnit, limits.part_bytes));
    const uint64_t parts =
        std::max(std::min({wanted, uint64_t{limits.max_parts}, most}), div_up(largest_, kMaxPart));
    if (parts > most)
      throw CommError(ErrorKind::kInvalidArgument,
                      fmt::format("{} over {} ranks and {} stripes needs more than {} receives",
                                  s.name, n, limits.stripes, limits.receives));
    if (how == Direct::kSlots && slots_at + (n - 1) * round_up(largest_) > scratch.bytes)
      throw CommError(ErrorKind::kInternal,
                      fmt::format("{}: {} bytes of scratch are too few", s.name, scratch.bytes));
    parts_ = static_cast<unsigned>(parts);
  }

  /// Adds the steps of the reduction. Afterwards, final_[part] is the step with which a part of the
  /// own sum is complete.
  void reduce() {
    final_.assign(parts_, kNone);
    if (own != send + begin(rank))
      for (unsigned part = 0; part < parts_; ++part) {
        final_[part] = add(Step::Kind::kCopy, rank, rank, part, part, "copy", 0);
        if (final_[part] == kNone) continue;
        step(final_[part]).local = send + begin(rank) + offset(rank, part);
        step(final_[part]).target = own + offset(rank, part);
        // Slots are added by requests that follow the copy on the same lanes.
        if (how == Direct::kChained) s.ready_after.push_back(final_[part]);
      }
    for (unsigned k = 1; k < n; ++k)
      for (unsigned part = 0; part < parts_; ++part)
        how == Direct::kSlots ? slot(k, part) : chain(k, part);
  }

  /// The owners send their sums to the windows of all.
  void all_gather() {
    for (unsigned part = 0; part < parts_; ++part)
      for (unsigned k = 1; k < n; ++k) {
        give((rank + k) % n, k, part);
        take((rank + n - k) % n, k, part);
      }
  }
  /// ... of the root.
  void gather(unsigned root) {
    for (unsigned part = 0; part < parts_; ++part)
      if (rank != root)
        give(root, (root + n - rank) % n, part);
      else
        for (unsigned k = 1; k < n; ++k) take((root + n - k) % n, k, part);
  }

 private:
  uint64_t offset(unsigned block, unsigned part) const {
    return part_begin(bytes(block), parts_, part);
  }
  Step& step(uint32_t index) { return s.steps[index]; }

  /// A step with the bytes of a part of a block; none (kNone) if there are none.
  uint32_t add(Step::Kind kind, unsigned peer, unsigned block, unsigned part, unsigned tag,
               const char* phase, unsigned number) {
    Step t;
    t.kind = kind;
    t.peer = peer;
    t.tag = static_cast<uint16_t>(tag);
    t.bytes = offset(block, part + 1) - offset(block, part);
    t.phase = phase;
    t.number = number;
    t.part = part;
    if (t.bytes == 0) return kNone;
    s.steps.push_back(std::move(t));
    return static_cast<uint32_t>(s.steps.size() - 1);
  }
  uint32_t add_token(Step::Kind kind, unsigned peer, unsigned k, unsigned part) {
    Step t;
    t.kind = kind;
    t.peer = peer;
    t.tag = static_cast<uint16_t>((n + k) * parts_ + part);
    t.phase = "permission";
    t.number = k;
    t.part = part;
    s.steps.push_back(std::move(t));
    return static_cast<uint32_t>(s.steps.size() - 1);
  }

  // Term k of the own sum comes from rank + k, term k of block rank - k is sent.
  void slot(unsigned k, unsigned part) {
    const unsigned to = (rank + n - k) % n;
    const unsigned from = (rank + k) % n;
    const unsigned tag = k * parts_ + part;
    const uint64_t at = slots_at + (k - 1) * round_up(largest_);
    const uint32_t sent = add(Step::Kind::kSend, to, to, part, tag, "reduce-scatter", k);
    if (sent != kNone) {
      step(sent).local = send + begin(to) + offset(to, part);
      step(sent).target = at + offset(to, part);
      step(sent).scratch = true;
    }
    const uint32_t here = add(Step::Kind::kReceive, from, rank, part, tag, "reduce-scatter", k);
    if (here == kNone) return;
    // The same tag for all k: the same lanes, and these keep the order.
    final_[part] = add(Step::Kind::kReduce, rank, rank, part, part, "sum", k);
    step(final_[part]).local = scratch.base + at + offset(rank, part);
    step(final_[part]).target = own + offset(rank, part);
    step(final_[part]).after.push_back(here);
  }

  // Between two ranks both sides list a permission before the data of the same k and part.
  void chain(unsigned k, unsigned part) {
    const unsigned to = (rank + n - k) % n;
    const unsigned from = (rank + k) % n;
    const unsigned tag = k * parts_ + part;
    const bool sends = offset(to, part + 1) > offset(to, part);
    const bool receives = offset(rank, part + 1) > offset(rank, part);
    uint32_t allowed = kNone;
    if (k > 1 && receives)
      step(add_token(Step::Kind::kSend, from, k, part)).after.push_back(final_[part]);
    if (k > 1 && sends) allowed = add_token(Step::Kind::kReceive, to, k, part);
    if (receives)
      final_[part] = add(Step::Kind::kReceive, from, rank, part, tag, "reduce-scatter", k);
    if (!sends) return;
    Step& t = step(add(Step::Kind::kSendReduce, to, to, part, tag, "reduce-scatter", k));
    const Place p = sum(to);
    t.local = send + begin(to) + offset(to, part);
    t.target = p.offset + offset(to, part);
    t.scratch = p.scratch;
    if (allowed != kNone) t.after.push_back(allowed);
  }

  void give(unsigned to, unsigned k, unsigned part) {
    const uint32_t sent =
        add(Step::Kind::kSend, to, rank, part, (2 * n + k) * parts_ + part, "all-gather", k);
    if (sent == kNone) return;
    step(sent).local = own + offset(rank, part);
    step(sent).target = begin(rank) + offset(rank, part);
    if (final_[part] != kNone) step(sent).after.push_back(final_[part]);
  }
  void take(unsigned from, unsigned k, unsigned part) {
    add(Step::Kind::kReceive, from, from, part, (2 * n + k) * parts_ + part, "all-gather", k);
  }

  uint64_t largest_ = 0;
  unsigned parts_ = 0;
  std::vector<uint32_t> final_;
};

void check(const char* what, unsigned rank, unsigned n, const Limits& limits) {
  if (n == 0 || rank >= n || limits.stripes == 0)
    throw CommError(ErrorKind::kInternal, fmt::format("{} of {} ranks, rank {}", what, n, rank));
}

Blocks make(unsigned rank, unsigned n, uint64_t send, const Limits& limits, Direct how,
            const Scratch& scratch) {
  Blocks b;
  b.rank = rank;
  b.n = n;
  b.send = send;
  b.limits = limits;
  b.how = how;
  b.scratch = scratch;
  return b;
}

}  // namespace

uint64_t direct_slots_bytes(unsigned n, uint64_t block, bool own) {
  return (n - 1 + (own ? 1 : 0)) * round_up(block);
}

Schedule direct_all_reduce(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                           const Limits& limits, Direct how, const Scratch& scratch) {
  check("direct all_reduce", rank, n, limits);
  Blocks b = make(rank, n, send, limits, how, scratch);
  b.s.name = fmt::format("direct all_reduce of {} f32", count);
  b.s.window = recv;
  if (count == 0) return b.s;
  b.begin = [=](unsigned j) { return chunk_begin(count, n, j) * kElement; };
  b.bytes = [=](unsigned j) { return chunk_bytes(count, n, j); };
  b.sum = [=](unsigned j) { return Place{false, chunk_begin(count, n, j) * kElement}; };
  b.own = recv + b.begin(rank);
  b.prepare(true);
  b.reduce();
  b.all_gather();
  return std::move(b.s);
}

Schedule reduce_scatter(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                        const Limits& limits, Direct how, const Scratch& scratch) {
  check("reduce_scatter", rank, n, limits);
  Blocks b = make(rank, n, send, limits, how, scratch);
  b.s.name = fmt::format("reduce_scatter of {} f32 a rank", count);
  b.s.window = recv;
  if (count == 0) return b.s;
  b.begin = [=](unsigned j) { return j * count * kElement; };
  b.bytes = [=](unsigned) { return count * kElement; };
  b.sum = [](unsigned) { return Place{}; };
  b.own = recv;
  b.prepare(false);
  b.reduce();
  return std::move(b.s);
}

Schedule reduce(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                uint64_t count, const Slice& slice, const Limits& limits, Direct how,
                const Scratch& scratch) {
  check("reduce", rank, n, limits);
  if (root >= n)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("reduce: root {} is not in 0..{}", root, n - 1));
  Blocks b = make(rank, n, send, limits, how, scratch);
  b.s.name = fmt::format("reduce of {} f32 to rank {}", count, root);
  b.s.window = rank == root ? recv : 0;
  const uint64_t first = slice.first * kElement;
  const uint64_t most = slice.most * kElement;
  const auto size = [=](unsigned j) {
    const uint64_t chunk = chunk_bytes(count, n, j);
    return chunk <= first ? 0 : std::min(chunk - first, most);
  };
  if (size(0) == 0) return b.s;
  if (n > 1 && size(0) > scratch.bytes)
    throw CommError(ErrorKind::kInternal,
                    fmt::format("{}: {} bytes of scratch are too few", b.s.name, scratch.bytes));
  b.begin = [=](unsigned j) { return chunk_begin(count, n, j) * kElement + first; };
  b.bytes = size;
  b.sum = [=](unsigned j) {
    return j == root ? Place{false, chunk_begin(count, n, j) * kElement + first} : Place{true, 0};
  };
  b.own = rank == root ? recv + b.begin(rank) : scratch.base;
  b.slots_at = round_up(size(0));
  b.prepare(true);
  b.reduce();
  b.gather(root);
  return std::move(b.s);
}

std::vector<Schedule> send_recv(unsigned rank, unsigned n, const std::vector<Message>& group) {
  std::vector<Schedule> out;
  std::vector<size_t> sends(n, 0), receives(n, 0);
  std::vector<const Message*> from_self, to_self;
  const auto round = [&](size_t k) -> Schedule& {
    while (out.size() <= k) {
      out.emplace_back();
      out.back().pairwise = true;
      out.back().name = fmt::format("send_recv, messages {}", out.size());
    }
    return out[k];
  };
  for (const Message& m : group) {
    if (m.peer >= n)
      throw CommError(ErrorKind::kInvalidArgument,
                      fmt::format("send_recv: peer {} is not in 0..{}", m.peer, n - 1));
    if (m.bytes > kMaxPart)
      throw CommError(
          ErrorKind::kInvalidArgument,
          fmt::format("send_recv: a message of {} bytes is more than {}", m.bytes, kMaxPart));
    if (m.peer == rank) {
      (m.send ? from_self : to_self).push_back(&m);
      continue;
    }
    const size_t k = (m.send ? sends : receives)[m.peer]++;
    Schedule& s = round(k);
    Step t;
    t.kind = m.send ? Step::Kind::kSend : Step::Kind::kReceive;
    t.peer = m.peer;
    // Both sides know who sends to whom; different pairs begin with different stripes.
    const unsigned from = m.send ? rank : m.peer;
    const unsigned to = m.send ? m.peer : rank;
    t.tag = static_cast<uint16_t>((from * 3 + to + k) % 1024);
    t.bytes = m.bytes;  // an empty message is a token
    t.local = m.addr;
    t.phase = m.send ? "send" : "recv";
    t.number = static_cast<unsigned>(k);
    if (!m.send) s.windows.emplace_back(m.peer, m.addr);
    s.steps.push_back(std::move(t));
  }
  if (from_self.size() != to_self.size())
    throw CommError(
        ErrorKind::kInvalidArgument,
        fmt::format("send_recv: {} Sends to oneself, {} Recvs", from_self.size(), to_self.size()));
  for (size_t i = 0; i < from_self.size(); ++i) {
    if (from_self[i]->bytes != to_self[i]->bytes)
      throw CommError(ErrorKind::kInvalidArgument,
                      fmt::format("send_recv: {} bytes are sent to oneself, {} received",
                                  from_self[i]->bytes, to_self[i]->bytes));
    if (from_self[i]->bytes == 0 || from_self[i]->addr == to_self[i]->addr) continue;
    Step t;
    t.peer = rank;
    t.tag = static_cast<uint16_t>(i % 1024);
    t.bytes = from_self[i]->bytes;
    t.local = from_self[i]->addr;
    t.target = to_self[i]->addr;
    t.phase = "to oneself";
    round(0).steps.push_back(std::move(t));
  }
  return out;
}

}  // namespace ubl::comm::protocol
