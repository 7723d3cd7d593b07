// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/protocol/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ubl/comm/hal/error.hpp"

namespace ubl::comm::protocol {
namespace {

constexpr uint64_t kUnit = 64;                    // cuts are at multiples of this
constexpr uint64_t kElement = 4;                  // FP32
constexpr uint64_t kMaxPart = uint64_t{1} << 30;  // a request carries at most 2^31 bytes

uint64_t div_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

uint64_t part_begin(uint64_t bytes, unsigned parts, unsigned part) {
  const uint64_t units = div_up(bytes, kUnit);
  return std::min(bytes, chunk_begin(units, parts, part) * kUnit);
}

uint64_t chunk_begin(uint64_t count, unsigned n, unsigned chunk) {
  return chunk * (count / n) + std::min<uint64_t>(chunk, count % n);
}

std::vector<Piece> cut(uint64_t bytes, uint16_t tag, const Limits& limits) {
  if (bytes == 0) return {{tag % limits.stripes, 0, 0}};
  const uint64_t fit = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, limits.min_piece));
  const uint64_t units = div_up(bytes, kUnit);
  const auto k = static_cast<unsigned>(std::min<uint64_t>({limits.stripes, fit, units}));
  std::vector<Piece> out;
  for (unsigned i = 0; i < k; ++i) {
    const uint64_t begin = part_begin(bytes, k, i);
    out.push_back({(i + tag) % limits.stripes, begin, part_begin(bytes, k, i + 1) - begin});
  }
  return out;
}

Schedule ring_all_reduce(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                         const Limits& limits) {
  if (n == 0 || rank >= n || limits.stripes == 0)
    throw CommError(ErrorKind::kInternal, fmt::format("ring of {} ranks, rank {}", n, rank));
  Schedule s;
  s.name = fmt::format("all_reduce of {} f32", count);
  s.window = recv;
  if (count == 0) return s;

  if (send != recv) {
    const uint64_t bytes = count * kElement;
    const auto copies = static_cast<unsigned>(div_up(bytes, kMaxPart));
    for (unsigned i = 0; i < copies; ++i) {
      Step c;
      c.kind = Step::Kind::kCopy;
      c.peer = rank;
      const uint64_t begin = part_begin(bytes, copies, i);
      c.bytes = part_begin(bytes, copies, i + 1) - begin;
      c.local = send + begin;
      c.target = recv + begin;
      c.phase = "copy";
      c.part = i;
      s.ready_after.push_back(static_cast<uint32_t>(s.steps.size()));
      s.steps.push_back(std::move(c));
    }
  }
  if (n == 1) return s;

  // All ranks must cut alike, so the number of parts follows from the largest chunk.
  const uint64_t largest = chunk_begin(count, n, 1) * kElement;
  const unsigned rounds = 2 * (n - 1);
  const uint64_t wanted = div_up(largest, std::max<uint64_t>(kUnit, limits.part_bytes));
  const uint64_t most =
      std::min<uint64_t>(limits.receives / (uint64_t{rounds} * limits.stripes), kMaxTags / rounds);
  const uint64_t parts64 =
      std::max(std::min({wanted, uint64_t{limits.max_parts}, most}), div_up(largest, kMaxPart));
  if (parts64 == 0 || parts64 > most)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("all_reduce of {} elements over {} ranks and {} stripes needs more "
                                "than {} receives",
                                count, n, limits.stripes, limits.receives));
  const auto parts = static_cast<unsigned>(parts64);

  const unsigned next = (rank + 1) % n;
  const unsigned before = (rank + n - 1) % n;
  std::vector<uint32_t> arrived(parts, UINT32_MAX);  // per part: receive step of the last round
  for (unsigned round = 0; round < rounds; ++round) {
    const bool gather = round >= n - 1;
    const unsigned number = gather ? round - (n - 1) : round;
    // The chunk sent in a round is the one received in the round before; chunk numbers simply
    // count down: rank - round (modulo n) also holds for the all-gather part.
    const unsigned out_chunk = (rank + 2 * n - round) % n;
    const unsigned in_chunk = (before + 2 * n - round) % n;
    for (unsigned part = 0; part < parts; ++part) {
      const auto add = [&](Step::Kind kind, unsigned peer, unsigned chunk) {
        const uint64_t base = chunk_begin(count, n, chunk) * kElement;
        const uint64_t size = chunk_begin(count, n, chunk + 1) * kElement - base;
        const uint64_t begin = part_begin(size, parts, part);
        Step t;
        t.kind = kind;
        t.peer = peer;
        t.tag = static_cast<uint16_t>(round * parts + part);
        t.bytes = part_begin(size, parts, part + 1) - begin;
        t.local = recv + base + begin;
        t.target = base + begin;
        t.phase = gather ? "all-gather" : "reduce-scatter";
        t.number = number;
        t.part = part;
        if (t.bytes == 0) return UINT32_MAX;
        s.steps.push_back(std::move(t));
        return static_cast<uint32_t>(s.steps.size() - 1);
      };
      const uint32_t sent =
          add(gather ? Step::Kind::kSend : Step::Kind::kSendReduce, next, out_chunk);
      if (sent != UINT32_MAX) {
        if (round > 0)
          s.steps[sent].after.push_back(arrived[part]);
        else
          s.steps[sent].after = s.ready_after;
      }
      arrived[part] = add(Step::Kind::kReceive, before, in_chunk);
    }
  }
  return s;
}

}  // namespace ubl::comm::protocol
