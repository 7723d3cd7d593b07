// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// A collective as data: what one rank copies, sends and receives, and what must come before what.
// A collective is a function that writes such a schedule; protocol::Engine executes it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ubl::comm::protocol {

struct Step {
  enum class Kind : uint8_t {
    kCopy,        ///< own memory to own memory, by the card
    kReduce,      ///< the same, adding FP32
    kSend,        ///< WRITE into the peer's window
    kSendReduce,  ///< REDUCE (add FP32) into the peer's window
    kReceive,     ///< the peer's kSend or kSendReduce into the own window
  };
  Kind kind = Kind::kCopy;
  unsigned peer = 0;     ///< sends and receives
  uint16_t tag = 0;      ///< sends and receives: the same number on both sides, below kMaxTags
  uint64_t bytes = 0;    ///< 0 only for kSend and kReceive: a token, an immediate without data
  uint64_t local = 0;    ///< all but receives: source address
  uint64_t target = 0;   ///< copy, reduce: destination address; sends: offset in the peer's window
  bool scratch = false;  ///< sends: `target` is an offset in the peer's scratch instead
  std::vector<uint32_t> after;  ///< earlier steps (indices) that must be complete first
  const char* phase = "";       ///< for messages
  unsigned number = 0;          ///< step within the phase
  unsigned part = 0;            ///< part of the step
};

/// Tags above are the handshake's.
constexpr uint32_t kMaxTags = 0xFFF0;

/// One rank's view. Steps to one peer are sent in the order they stand here, and receives from one
/// peer must stand in the order in which that peer sends them. Copies and local reductions of the
/// same size and tag are carried out in the order they stand here, without waiting for each other.
struct Schedule {
  std::string name;
  uint64_t window = 0;  ///< address told to every peer that sends to this rank
  std::vector<std::pair<unsigned, uint64_t>> windows;  ///< {peer, address}: told to it instead
  bool pairwise = false;  ///< counted only by the pairs of ranks that exchange something in it
  std::vector<Step> steps;
  std::vector<uint32_t> ready_after;  ///< steps that must be complete before the window is open
};

/// What a schedule may use; the same on every rank of a communicator.
struct Limits {
  unsigned stripes = 1;
  uint64_t min_piece = 512;         ///< no stripe gets less, unless there is less
  uint64_t part_bytes = 256 << 10;  ///< a step is cut into parts of about this size, for pipelining
  unsigned max_parts = 4;           ///< ... but not into more than this many
  uint32_t receives = 2880;         ///< immediates one schedule may expect
};

/// A part of a step on one stripe.
struct Piece {
  unsigned stripe = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Cuts `bytes` over the stripes, evenly, at multiples of 64 bytes; `tag` rotates the first stripe,
/// so that short messages and remainders use all planes alike. Both sides of a step call it. No
/// bytes are one empty piece.
std::vector<Piece> cut(uint64_t bytes, uint16_t tag, const Limits& limits);

/// First element of chunk `chunk` when `count` elements are cut over `n`; chunk n gives `count`.
/// The first count % n chunks have one element more.
uint64_t chunk_begin(uint64_t count, unsigned n, unsigned chunk);

/// Offset of part `part` of `parts` in `bytes`: even, at multiples of 64 bytes.
uint64_t part_begin(uint64_t bytes, unsigned parts, unsigned part);

/// Ring AllReduce: sum of FP32. For every element of chunk c the result on all ranks is
///   ((x[c] + x[c+1]) + x[c+2]) + ... + x[c+n-1]      (x[r]: rank r's value, ranks modulo n).
/// Reduce-scatter step s: rank r sends chunk r - s to rank r + 1 by REDUCE; all-gather step s: rank
/// r sends chunk r + 1 - s to rank r + 1 by WRITE. `send` == `recv` is in place.
Schedule ring_all_reduce(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                         const Limits& limits);

/// Memory of the communicator itself, of the same size on every rank. What peers write there, they
/// write within a collective, after the handshake.
struct Scratch {
  uint64_t base = 0;
  uint64_t bytes = 0;
};

// Direct reductions (direct.cpp): block j of every rank goes straight to its owner, rank j. Sum of
// FP32; for every element of block j the result is, as in the ring,
//   ((x[j] + x[j+1]) + x[j+2]) + ... + x[j+n-1]      (x[r]: rank r's value, ranks modulo n),
// so the choice of algorithm never changes a bit. Two ways to keep that order:
// - slots: all ranks WRITE at once, each into a slot of its own in the owner's scratch; the owner's
//   card then REDUCEs slot after slot over its connection to itself. Few latencies, but every byte
//   crosses the owner's links twice. Needs direct_slots_bytes() of scratch.
// - chained: the ranks REDUCE into the owner's result, one after the other: rank j + k when the
//   owner has told it by a token that rank j + k - 1 is done. At any time every rank sends to one
//   and receives from one. Every byte crosses a link once; two latencies a rank.
// Out of place, `send` is only read. Every rank must be connected to every other.

enum class Direct : uint8_t { kSlots, kChained };

/// Scratch that kSlots takes for blocks of at most `block` bytes; `own`: and for the owner's sum.
uint64_t direct_slots_bytes(unsigned n, uint64_t block, bool own);

/// The blocks are the chunks of ring_all_reduce; the owner sends the sum to all. `send` == `recv`
/// is in place.
Schedule direct_all_reduce(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                           const Limits& limits, Direct how, const Scratch& scratch);
/// Block i of the sum to rank i; `count` elements a block. In place: recv == send + rank * count
/// elements.
Schedule reduce_scatter(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                        const Limits& limits, Direct how, const Scratch& scratch);
/// A part of every chunk: elements `first` .. `first + most - 1` of it, as far as they exist.
struct Slice {
  uint64_t first = 0;
  uint64_t most = UINT64_MAX / 8;
};
/// The sum to the root's `recv`, by way of owners of chunks as in direct_all_reduce, who add in
/// their scratch, which must hold a slice of a chunk, and WRITE to the root. In place at the root:
/// send == recv.
Schedule reduce(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                uint64_t count, const Slice& slice, const Limits& limits, Direct how,
                const Scratch& scratch);

/// One message of a group of Send and Recv.
struct Message {
  unsigned peer = 0;  ///< the own rank is allowed
  bool send = false;
  uint64_t addr = 0;
  uint64_t bytes = 0;  ///< at most 1 GiB
};
/// A group of messages that all make progress together. The k-th Send to a rank goes to its k-th
/// Recv from this one; only ranks that exchange something need to call it. One schedule for every
/// k, because a peer is told one address a schedule.
std::vector<Schedule> send_recv(unsigned rank, unsigned n, const std::vector<Message>& group);

// Collectives that only move bytes (moves.cpp). `block`, `bytes` at most 1 GiB. Those without
// `limits` need every rank connected to every other; CommError(kInvalidArgument) for a bad root.

/// Block j of rank i's `send` becomes block i of rank j's `recv`. Not in place.
Schedule all_to_all(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t block);
/// Block i of every `recv` = rank i's `send`. In place: send == recv + rank * block.
Schedule all_gather(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t block);
/// Block i of the root's `recv` = rank i's `send`. In place at the root: send == recv + root *
/// block.
Schedule gather(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                uint64_t block);
/// Rank i's `recv` = block i of the root's `send`. In place at the root: recv == send + root *
/// block.
Schedule scatter(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                 uint64_t block);
/// Every `recv` = the root's `send`; a chain along the ring. `send` matters at the root only.
Schedule broadcast(unsigned rank, unsigned n, unsigned root, uint64_t send, uint64_t recv,
                   uint64_t bytes, const Limits& limits);

}  // namespace ubl::comm::protocol
