// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// A collective as data: what one rank copies, sends and receives, and what must come before what.
// A collective is a function that writes such a schedule; protocol::Engine executes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ubl::comm::protocol {

struct Step {
  enum class Kind : uint8_t {
    kCopy,        ///< own memory to own memory, by the card
    kSend,        ///< WRITE into the peer's window
    kSendReduce,  ///< REDUCE (add FP32) into the peer's window
    kReceive,     ///< the peer's kSend or kSendReduce into the own window
  };
  Kind kind = Kind::kCopy;
  unsigned peer = 0;    ///< sends and receives
  uint16_t tag = 0;     ///< sends and receives: the same number on both sides, below kMaxTags
  uint64_t bytes = 0;   ///< > 0
  uint64_t local = 0;   ///< copy, send: source address
  uint64_t target = 0;  ///< copy: destination address; send: offset in the peer's window
  std::vector<uint32_t> after;  ///< earlier steps (indices) that must be complete first
  const char* phase = "";       ///< for messages
  unsigned number = 0;          ///< step within the phase
  unsigned part = 0;            ///< part of the step
};

/// Tags above are the handshake's.
constexpr uint32_t kMaxTags = 0xFFF0;

/// One rank's view. Steps to one peer are sent in the order they stand here, and receives from one
/// peer must stand in the order in which that peer sends them.
struct Schedule {
  std::string name;
  uint64_t window = 0;  ///< address told to every peer that sends to this rank
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
/// so that short messages and remainders use all planes alike. Both sides of a step call it.
std::vector<Piece> cut(uint64_t bytes, uint16_t tag, const Limits& limits);

/// First element of chunk `chunk` when `count` elements are cut over `n`; chunk n gives `count`.
/// The first count % n chunks have one element more.
uint64_t chunk_begin(uint64_t count, unsigned n, unsigned chunk);

/// Ring AllReduce: sum of FP32. For every element of chunk c the result on all ranks is
///   ((x[c] + x[c+1]) + x[c+2]) + ... + x[c+n-1]      (x[r]: rank r's value, ranks modulo n).
/// Reduce-scatter step s: rank r sends chunk r - s to rank r + 1 by REDUCE; all-gather step s: rank
/// r sends chunk r + 1 - s to rank r + 1 by WRITE. `send` == `recv` is in place.
Schedule ring_all_reduce(unsigned rank, unsigned n, uint64_t send, uint64_t recv, uint64_t count,
                         const Limits& limits);

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
