// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Collectives that only move bytes. Every block goes straight from its owner to its reader, but for
// broadcast, which is a chain.
#include <fmt/format.h>

#include <algorithm>

#include "ubl/comm/hal/error.hpp"
#include "ubl/comm/protocol/schedule.hpp"

namespace ubl::comm::protocol {
namespace {

constexpr uint64_t kMaxBlock = uint64_t{1} << 30;  // a request carries at most 2^31 bytes

void check(const char* what, unsigned rank, unsigned n, unsigned root, uint64_t bytes) {
  if (n == 0 || rank >= n)
    throw CommError(ErrorKind::kInternal, fmt::format("{} of {} ranks, rank {}", what, n, rank));
  if (root >= n)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{}: root {} is not in 0..{}", what, root, n - 1));
  if (bytes > kMaxBlock)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{}: a block of {} bytes is more than {}", what, bytes, kMaxBlock));
}

uint32_t add(Schedule& s, Step::Kind kind, unsigned peer, unsigned tag, uint64_t bytes,
             uint64_t local, uint64_t target, const char* phase) {
  Step t;
  t.kind = kind;
  t.peer = peer;
  t.tag = static_cast<uint16_t>(tag);
  t.bytes = bytes;
  t.local = local;
  t.target = target;
  t.phase = phase;
  t.number = tag;
  s.steps.push_back(std::move(t));
  return static_cast<uint32_t>(s.steps.size() - 1);
}

void copy(Schedule& s, unsigned rank, uint64_t from, uint64_t to, uint64_t bytes) {
  if (from != to) add(s, Step::Kind::kCopy, rank, 0, bytes, from, to, "copy");
}

}  // namespace

// Distance k of the peer is the tag on both sides. Ranks start with different peers, so that no
// receiver is everybody's first.
Schedule all_to_all(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t block) {
  check("all_to_all", rank, n, 0, block);
  Schedule s;
  s.name = fmt::format("all_to_all of {} bytes a pair", block);
  s.window = recv;
  if (block == 0) return s;
  for (unsigned k = 1; k < n; ++k) {
    const unsigned to = (rank + k) % n;
    const unsigned from = (rank + n - k) % n;
    add(s, Step::Kind::kSend, to, k, block, send + to * block, rank * block, "exchange");
    add(s, Step::Kind::kReceive, from, k, block, recv + from * block, 0, "exchange");
  }
  copy(s, rank, send + rank * block, recv + rank * block, block);
  return s;
}

Schedule all_gather(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t block) {
  check("all_gather", rank, n, 0, block);
  Schedule s;
  s.name = fmt::format("all_gather of {} bytes a rank", block);
  s.window = recv;
  if (block == 0) return s;
  for (unsigned k = 1; k < n; ++k) {
    const unsigned to = (rank + k) % n;
    const unsigned from = (rank + n - k) % n;
    add(s, Step::Kind::kSend, to, k, block, send, rank * block, "gather");
    add(s, Step::Kind::kReceive, from, k, block, recv + from * block, 0, "gather");
  }
  copy(s, rank, send, recv + rank * block, block);
  return s;
}

Schedule gather(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                uint64_t block) {
  check("gather", rank, n, root, block);
  Schedule s;
  s.name = fmt::format("gather of {} bytes a rank to rank {}", block, root);
  if (block == 0) return s;
  if (rank != root) {
    add(s, Step::Kind::kSend, root, 0, block, send, rank * block, "gather");
    return s;
  }
  s.window = recv;
  for (unsigned k = 1; k < n; ++k) {
    const unsigned from = (root + k) % n;
    add(s, Step::Kind::kReceive, from, 0, block, recv + from * block, 0, "gather");
  }
  copy(s, rank, send, recv + rank * block, block);
  return s;
}

Schedule scatter(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                 uint64_t block) {
  check("scatter", rank, n, root, block);
  Schedule s;
  s.name = fmt::format("scatter of {} bytes a rank from rank {}", block, root);
  if (block == 0) return s;
  if (rank != root) {
    s.window = recv;
    add(s, Step::Kind::kReceive, root, 0, block, recv, 0, "scatter");
    return s;
  }
  for (unsigned k = 1; k < n; ++k) {
    const unsigned to = (root + k) % n;
    add(s, Step::Kind::kSend, to, 0, block, send + to * block, 0, "scatter");
  }
  copy(s, rank, send + rank * block, recv, block);
  return s;
}

// The parts follow each other down the chain root, root + 1, ..., so all links work at once.
Schedule broadcast(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                   uint64_t bytes, const Limits& limits) {
  check("broadcast", rank, n, root, bytes);
  Schedule s;
  s.name = fmt::format("broadcast of {} bytes from rank {}", bytes, root);
  s.window = recv;
  if (bytes == 0) return s;
  const uint64_t part_bytes = std::max<uint64_t>(64, limits.part_bytes / 64 * 64);
  const uint64_t most =
      std::max<uint64_t>(1, std::min<uint64_t>(limits.receives / limits.stripes, 1024));
  const uint64_t each = std::max(part_bytes, ((bytes + most - 1) / most + 63) / 64 * 64);
  const unsigned place = (rank + n - root) % n;
  const uint64_t source = place == 0 ? send : recv;
  unsigned part = 0;
  for (uint64_t at = 0; at < bytes; at += each, ++part) {
    const uint64_t size = std::min(each, bytes - at);
    uint32_t arrived = UINT32_MAX;
    if (place > 0)
      arrived = add(s, Step::Kind::kReceive, (rank + n - 1) % n, part, size, recv + at, 0, "chain");
    if (place + 1 < n) {
      const uint32_t sent =
          add(s, Step::Kind::kSend, (rank + 1) % n, part, size, source + at, at, "chain");
      if (arrived != UINT32_MAX) s.steps[sent].after.push_back(arrived);
    }
  }
  if (place == 0) copy(s, rank, send, recv, bytes);
  return s;
}

}  // namespace ubl::comm::protocol
