// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ubl::comm {
namespace {

// kAuto's table (sw/comm/README.md has the measurements behind it): slots are faster than the ring
// from 4 to 16 ranks up to so many bytes of the vector a stripe, and than a chain likewise.
constexpr unsigned kSlotRanksLeast = 4;
constexpr unsigned kSlotRanksMost = 16;
constexpr uint64_t kSlotBytesMost = 128 << 10;

}  // namespace

std::vector<unsigned> Communicator::ring_peers(unsigned rank, unsigned size) {
  std::vector<unsigned> peers{rank, (rank + 1) % size, (rank + size - 1) % size};
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

Communicator::Communicator(unsigned rank, unsigned size, std::unique_ptr<hal::Fabric> fabric,
                           std::vector<unsigned> peers, const CommConfig& config)
    : rank_(rank), size_(size), config_(config), fabric_(std::move(fabric)) {
  check_config();
  make_engine(std::move(peers));
  if (has_scratch()) engine_->set_scratch(std::vector<uint64_t>(size, config_.scratch_base));
}

void Communicator::check_config() const {
  const auto refuse = [](const std::string& why) {
    throw CommError(ErrorKind::kInvalidArgument, "communicator: " + why);
  };
  if (size_ == 0 || size_ > 65535) refuse(fmt::format("{} ranks, not in 1..65535", size_));
  if (rank_ >= size_) refuse(fmt::format("rank {} is not in 0..{}", rank_, size_ - 1));
  if (config_.max_parts == 0) refuse("max_parts is 0");
  if (config_.part_bytes < 64) refuse("part_bytes is below 64");
  if (config_.timeout_ns == 0) refuse("timeout_ns is 0");
  const uint64_t base = config_.memory_base, length = config_.memory_bytes;
  if (has_scratch() && length > 0 &&
      (config_.scratch_base % 64 != 0 || config_.scratch_base < base ||
       config_.scratch_base - base > length ||
       length - (config_.scratch_base - base) < config_.scratch_bytes))
    refuse(fmt::format("scratch [{:#x}, +{}) is not in its memory at a multiple of 64",
                       config_.scratch_base, config_.scratch_bytes));
}

void Communicator::make_engine(std::vector<unsigned> peers) {
  protocol::EngineConfig ec;
  ec.timeout_ns = config_.timeout_ns;
  ec.error_check_ns = config_.error_check_ns;
  limits_.stripes = fabric_->stripes();
  limits_.min_piece = config_.min_piece;
  limits_.part_bytes = config_.part_bytes;
  limits_.max_parts = config_.max_parts;
  engine_ =
      std::make_unique<protocol::Engine>(*fabric_, rank_, size_, std::move(peers), limits_, ec);
  limits_.receives = engine_->receive_limit();
  engine_->open();
}

void Communicator::check_buffer(const char* what, uint64_t addr, uint64_t bytes,
                                uint64_t align) const {
  if (addr % align != 0)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{} address {:#x} is not a multiple of {}", what, addr, align));
  const uint64_t base = config_.memory_base;
  const uint64_t length = config_.memory_bytes;
  if (addr < base || addr - base > length || length - (addr - base) < bytes)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{} buffer [{:#x}, +{}) is not in the memory of the communicator "
                                "[{:#x}, +{})",
                                what, addr, bytes, base, length));
}

uint64_t Communicator::summed_bytes(const char* what, uint64_t count, DataType type,
                                    RedOp op) const {
  if (size_of(type) == 0)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("unknown data type {}", static_cast<int>(type)));
  if (to_string(op)[0] == '?')
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("unknown operator {}", static_cast<int>(op)));
  if (type != DataType::kFloat32 || op != RedOp::kSum)
    throw CommError(ErrorKind::kNotSupported,
                    fmt::format("{} {} of {}: only sum of f32 is implemented", what, to_string(op),
                                to_string(type)));
  if (count > UINT64_MAX / 8)
    throw CommError(ErrorKind::kInvalidArgument, fmt::format("count {} is too large", count));
  return count * size_of(type);
}

void Communicator::need_mesh(const char* what) const {
  if (size_ > 3 && !config_.all_peers)
    throw CommError(
        ErrorKind::kNotSupported,
        fmt::format("{} needs connections to all ranks (CommConfig::all_peers is off)", what));
}

protocol::Scratch Communicator::scratch() const {
  return has_scratch() ? protocol::Scratch{config_.scratch_base, config_.scratch_bytes}
                       : protocol::Scratch{};
}

// Slots cross the owner's links twice, so they are for what is ruled by latency.
protocol::Direct Communicator::direct_way(uint64_t block, bool own) const {
  const bool fits =
      has_scratch() && protocol::direct_slots_bytes(size_, block, own) <= config_.scratch_bytes;
  const bool small =
      config_.algorithm == Algorithm::kSlots || block <= kSlotBytesMost * limits_.stripes / size_;
  return fits && small && config_.algorithm != Algorithm::kChained ? protocol::Direct::kSlots
                                                                   : protocol::Direct::kChained;
}

bool Communicator::direct_pays(unsigned size, unsigned stripes, uint64_t bytes) {
  return size >= kSlotRanksLeast && size <= kSlotRanksMost && bytes <= kSlotBytesMost * stripes;
}

void Communicator::all_reduce(uint64_t send, uint64_t recv, uint64_t count, DataType type,
                              RedOp op) {
  const uint64_t bytes = summed_bytes("all_reduce", count, type, op);
  if (count > 0) {
    check_buffer("send", send, bytes);
    check_buffer("receive", recv, bytes);
    if (send != recv && send < recv + bytes && recv < send + bytes)
      throw CommError(ErrorKind::kInvalidArgument,
                      fmt::format("send [{:#x}, +{}) and receive buffer at {:#x} overlap without "
                                  "being the same",
                                  send, bytes, recv));
  }
  const uint64_t block = protocol::chunk_begin(count, size_, 1) * size_of(type);
  const protocol::Direct how = direct_way(block, false);
  bool direct = config_.algorithm != Algorithm::kAuto && config_.algorithm != Algorithm::kRing;
  if (direct) need_mesh("direct all_reduce");
  if (config_.algorithm == Algorithm::kAuto)
    direct = config_.all_peers && how == protocol::Direct::kSlots &&
             direct_pays(size_, limits_.stripes, bytes);
  if (direct)
    run(protocol::direct_all_reduce(rank_, size_, send, recv, count, limits_, how, scratch()),
        bytes);
  else
    run(protocol::ring_all_reduce(rank_, size_, send, recv, count, limits_), bytes);
}

void Communicator::reduce_scatter(uint64_t send, uint64_t recv, uint64_t count, DataType type,
                                  RedOp op) {
  summed_bytes("reduce_scatter", count, type, op);
  const uint64_t block = moved_bytes("reduce_scatter", count, type, 0, true);
  if (block > 0) {
    check_buffer("send", send, size_ * block);
    check_buffer("receive", recv, block);
    check_apart("reduce_scatter", send, size_ * block, recv, block, recv - rank_ * block);
  }
  run(protocol::reduce_scatter(rank_, size_, send, recv, count, limits_, direct_way(block, false),
                               scratch()),
      size_ * block);
}

void Communicator::reduce(uint64_t send, uint64_t recv, uint64_t count, DataType type, RedOp op,
                          unsigned root) {
  const uint64_t bytes = summed_bytes("reduce", count, type, op);
  moved_bytes("reduce", 0, type, root, true);
  const uint64_t most = size_ == 1 ? uint64_t{1} << 28 : scratch().bytes / 64 * 64 / 4;
  if (most == 0)
    throw CommError(ErrorKind::kNotSupported, "reduce needs scratch (CommConfig::scratch_base)");
  if (bytes > 0) {
    check_buffer("send", send, bytes);
    if (rank_ == root) {
      check_buffer("receive", recv, bytes);
      check_apart("reduce", send, bytes, recv, bytes, recv);
    }
  }
  // Chunks that do not fit the scratch go in slices, so that the order of additions is that of the
  // whole vector.
  const uint64_t chunk = protocol::chunk_begin(count, size_, 1);
  const protocol::Direct how = direct_way(std::min(chunk, most) * 4, true);
  std::vector<protocol::Schedule> slices;
  for (uint64_t first = 0; first == 0 || first < chunk; first += most)
    slices.push_back(protocol::reduce(rank_, size_, root, send, recv, count, {first, most}, limits_,
                                      how, scratch()));
  run(std::move(slices), bytes);
}

void Communicator::send_recv(const std::vector<protocol::Message>& group) {
  uint64_t bytes = 0;
  for (const protocol::Message& m : group) {
    if (m.bytes > 0) check_buffer(m.send ? "send" : "receive", m.addr, m.bytes, 1);
    bytes += m.send ? m.bytes : 0;
  }
  for (const protocol::Message& m : group)
    if (size_ > 3 && !config_.all_peers && m.peer < size_) {
      const std::vector<unsigned> ring = ring_peers(rank_, size_);
      if (!std::binary_search(ring.begin(), ring.end(), m.peer)) need_mesh("send_recv");
    }
  run(protocol::send_recv(rank_, size_, group), bytes);
}

uint64_t Communicator::moved_bytes(const char* what, uint64_t count, DataType type, unsigned root,
                                   bool mesh) const {
  if (size_of(type) == 0)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{}: unknown data type {}", what, static_cast<int>(type)));
  if (root >= size_)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{}: root {} is not in 0..{}", what, root, size_ - 1));
  if (mesh) need_mesh(what);
  constexpr uint64_t kMost = uint64_t{1} << 30;
  if (count > kMost / size_of(type))
    throw CommError(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: {} elements of {} are more than 1 GiB", what, count, to_string(type)));
  return count * size_of(type);
}

// `in_place_send` is the one overlap that is allowed; 0 for none.
void Communicator::check_apart(const char* what, uint64_t send, uint64_t send_bytes, uint64_t recv,
                               uint64_t recv_bytes, uint64_t in_place_send) const {
  check_buffer("send", send, send_bytes, 1);  // any block of a buffer of small elements
  check_buffer("receive", recv, recv_bytes, 1);
  if (send < recv + recv_bytes && recv < send + send_bytes && send != in_place_send)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("{}: send [{:#x}, +{}) and receive [{:#x}, +{}) overlap", what,
                                send, send_bytes, recv, recv_bytes));
}

void Communicator::all_to_all(uint64_t send, uint64_t recv, uint64_t count, DataType type) {
  const uint64_t block = moved_bytes("all_to_all", count, type, 0, true);
  if (block > 0) check_apart("all_to_all", send, size_ * block, recv, size_ * block, 0);
  run(protocol::all_to_all(rank_, size_, send, recv, block), size_ * block);
}

void Communicator::all_gather(uint64_t send, uint64_t recv, uint64_t count, DataType type) {
  const uint64_t block = moved_bytes("all_gather", count, type, 0, true);
  if (block > 0) check_apart("all_gather", send, block, recv, size_ * block, recv + rank_ * block);
  run(protocol::all_gather(rank_, size_, send, recv, block), size_ * block);
}

void Communicator::gather(uint64_t send, uint64_t recv, uint64_t count, DataType type,
                          unsigned root) {
  const uint64_t block = moved_bytes("gather", count, type, root, true);
  if (block > 0 && rank_ == root)
    check_apart("gather", send, block, recv, size_ * block, recv + rank_ * block);
  else if (block > 0)
    check_buffer("send", send, block, 1);
  run(protocol::gather(rank_, size_, root, send, recv, block), block);
}

void Communicator::scatter(uint64_t send, uint64_t recv, uint64_t count, DataType type,
                           unsigned root) {
  const uint64_t block = moved_bytes("scatter", count, type, root, true);
  if (block > 0 && rank_ == root)
    check_apart("scatter", send, size_ * block, recv, block, recv - rank_ * block);
  else if (block > 0)
    check_buffer("receive", recv, block, 1);
  run(protocol::scatter(rank_, size_, root, send, recv, block), block);
}

void Communicator::broadcast(uint64_t send, uint64_t recv, uint64_t count, DataType type,
                             unsigned root) {
  const uint64_t bytes = moved_bytes("broadcast", count, type, root, false);
  if (bytes > 0 && rank_ == root)
    check_apart("broadcast", send, bytes, recv, bytes, recv);
  else if (bytes > 0)
    check_buffer("receive", recv, bytes, 1);
  run(protocol::broadcast(rank_, size_, root, send, recv, bytes, limits_), bytes);
}

void Communicator::run(protocol::Schedule schedule, uint64_t bytes) {
  std::vector<protocol::Schedule> one;
  one.push_back(std::move(schedule));
  run(std::move(one), bytes);
}

void Communicator::run(std::vector<protocol::Schedule> schedules, uint64_t bytes) {
  if (!failure_.empty())
    throw CommError(failure_kind_, "the communicator is unusable: " + failure_);
  const uint64_t begin = fabric_->now_ns();
  const auto failed = [&](ErrorKind kind, const std::string& message) {
    failure_ = message;
    failure_kind_ = kind;
  };
  try {
    fabric_->charge_call();
    for (protocol::Schedule& s : schedules) engine_->run(std::move(s));
  } catch (const CommError& e) {
    failed(e.kind(), e.message());
    throw;
  } catch (const std::exception& e) {
    failed(ErrorKind::kDeviceReported, e.what());
    throw;
  }
  ++stats_.calls;
  stats_.bytes += bytes;
  stats_.busy_ns += fabric_->now_ns() - begin;
}

CommStats Communicator::stats() const {
  CommStats s = stats_;
  s.engine = engine_->stats();
  return s;
}

}  // namespace ubl::comm
