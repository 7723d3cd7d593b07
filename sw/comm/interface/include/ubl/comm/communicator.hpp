// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Collectives over a group of cards. One Communicator per rank; every rank calls the same
// collectives in the same order. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ubl/comm/bootstrap.hpp"
#include "ubl/comm/hal/error.hpp"
#include "ubl/comm/hal/fabric.hpp"
#include "ubl/comm/protocol/engine.hpp"
#include "ubl/comm/protocol/schedule.hpp"
#include "ubl/comm/types.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::driver {
class Device;
}
namespace ubl::comm::hal {
class Endpoint;
}

namespace ubl::comm {

/// How sums are formed. All give the same bits.
enum class Algorithm {
  kAuto,     ///< by size and number of ranks, see Communicator::direct_pays
  kRing,     ///< all_reduce along the ring (the others are always direct)
  kDirect,   ///< straight to the owners of blocks, kSlots or kChained by size
  kSlots,    ///< protocol::Direct::kSlots where the scratch has room, else kChained
  kChained,  ///< protocol::Direct::kChained
};

struct CommConfig {
  // Connections.
  unsigned stripes = 1;   ///< queue pairs per peer, each uses all planes; 0: one per plane
  uint8_t planes = 0;     ///< planes that packets may take, bit p; 0: all of the card
  unsigned sq_log2 = 6;   ///< log2 of send ring entries of a queue pair
  unsigned cq_log2 = 12;  ///< log2 of completion queue entries
  uint16_t window = spec::kNicMaxWindow;  ///< packets in flight of a queue pair
  uint64_t memory_base = 0;               ///< card memory that collectives may use;
  uint64_t memory_bytes = 0;              ///< 0: all of the HBM
  bool all_peers = false;  ///< connect to every rank, not only to the neighbours of the ring
  /// Memory for sums on their way, at least 64 KiB for reduce(). Without a base it is allocated on
  /// the device if there are all_peers and the collectives may use all of the HBM; given, it must
  /// lie in the memory above. The size must be the same on all ranks, over a fabric the base, too.
  uint64_t scratch_base = kNoScratch;
  uint64_t scratch_bytes = 4 << 20;
  static constexpr uint64_t kNoScratch = UINT64_MAX;
  // Schedules; must be the same on all ranks.
  uint64_t min_piece = 16384;  ///< docs/guides/performance.md has what it costs to have it smaller
  uint64_t part_bytes = 256 << 10;
  unsigned max_parts = 4;
  Algorithm algorithm = Algorithm::kAuto;
  // Waiting.
  uint64_t timeout_ns = 20'000'000;
  uint64_t error_check_ns = 8'000'000;  ///< longer than a card tries by itself (5.3 ms)
};

struct CommStats {
  uint64_t calls = 0;    ///< collectives completed
  uint64_t bytes = 0;    ///< count x element size, over all calls
  uint64_t busy_ns = 0;  ///< inside collectives
  protocol::EngineStats engine;
};

class Communicator {
 public:
  /// Sets up rank `rank` of `size` on `device`: exchanges connection data through `bootstrap` and
  /// returns when all ranks are connected.
  Communicator(unsigned rank, unsigned size, driver::Device& device, Bootstrap& bootstrap,
               const CommConfig& config = {});

  /// The same over an already connected fabric. `peers` as for protocol::Engine; the buffers of
  /// collectives must lie in [config.memory_base, + config.memory_bytes). The caller sees to it
  /// that all ranks have been constructed before any communicates.
  Communicator(unsigned rank, unsigned size, std::unique_ptr<hal::Fabric> fabric,
               std::vector<unsigned> peers, const CommConfig& config);

  unsigned rank() const { return rank_; }
  unsigned size() const { return size_; }

  /// recv[i] on every rank = sum over all ranks of send[i], in the order written in
  /// protocol::ring_all_reduce. Card addresses; send == recv is in place, other overlaps are
  /// refused. Returns when recv is complete on this rank and send may be changed. Throws CommError;
  /// after anything but kInvalidArgument and kNotSupported the communicator is unusable.
  void all_reduce(uint64_t send, uint64_t recv, uint64_t count, DataType type = DataType::kFloat32,
                  RedOp op = RedOp::kSum);
  /// recv[i] on rank r = sum over all ranks of send[r * count + i], order as in
  /// protocol::reduce_scatter. In place: recv == send + r * count elements; out of place, `send`
  /// stays as it is. Needs CommConfig::all_peers.
  void reduce_scatter(uint64_t send, uint64_t recv, uint64_t count,
                      DataType type = DataType::kFloat32, RedOp op = RedOp::kSum);
  /// recv[i] on the root = sum over all ranks of send[i], the same bits as all_reduce. In place at
  /// the root: send == recv; elsewhere `recv` is not used and `send` stays as it is. Needs
  /// CommConfig::all_peers and scratch.
  void reduce(uint64_t send, uint64_t recv, uint64_t count, DataType type, RedOp op, unsigned root);

  // Collectives that only move elements, of any type. `count` is per rank (all_to_all: per pair),
  // as in NCCL; in place as NCCL has it. All but broadcast need CommConfig::all_peers
  // (kNotSupported).
  void all_to_all(uint64_t send, uint64_t recv, uint64_t count, DataType type);
  void all_gather(uint64_t send, uint64_t recv, uint64_t count, DataType type);
  void gather(uint64_t send, uint64_t recv, uint64_t count, DataType type, unsigned root);
  void scatter(uint64_t send, uint64_t recv, uint64_t count, DataType type, unsigned root);
  void broadcast(uint64_t send, uint64_t recv, uint64_t count, DataType type, unsigned root);

  /// A group of Send and Recv, as protocol::send_recv has it: only ranks that exchange something
  /// need to call it. Receive buffers must not overlap anything else in the group.
  void send_recv(const std::vector<protocol::Message>& group);

  /// Whether kAuto takes the direct algorithm for `bytes` of an all_reduce over `size` ranks.
  static bool direct_pays(unsigned size, unsigned stripes, uint64_t bytes);

  /// Waits until all ranks call it, then gives queue pairs, completion queue and registration back
  /// to the device. Without it they stay until the Device ends, which must not happen while a peer
  /// still waits for acknowledgements. Afterwards the communicator is unusable.
  void finalize(Bootstrap& bootstrap);

  CommStats stats() const;
  const std::string& failure() const { return failure_; }  ///< empty while usable

  /// The ranks a rank of a ring talks to, itself included, ascending.
  static std::vector<unsigned> ring_peers(unsigned rank, unsigned size);

 private:
  /// Bytes of `count` elements, checked; kNotSupported if `mesh` and only the ring is connected.
  uint64_t moved_bytes(const char* what, uint64_t count, DataType type, unsigned root,
                       bool mesh) const;
  void check_apart(const char* what, uint64_t send, uint64_t send_bytes, uint64_t recv,
                   uint64_t recv_bytes, uint64_t in_place_send) const;
  void check_buffer(const char* what, uint64_t addr, uint64_t bytes, uint64_t align = 4) const;
  void check_config() const;
  /// Bytes of `count` elements; only sums of f32.
  uint64_t summed_bytes(const char* what, uint64_t count, DataType type, RedOp op) const;
  void need_mesh(const char* what) const;
  bool has_scratch() const { return config_.scratch_base != CommConfig::kNoScratch; }
  protocol::Scratch scratch() const;
  protocol::Direct direct_way(uint64_t block, bool own) const;
  void run(protocol::Schedule schedule, uint64_t bytes);
  void run(std::vector<protocol::Schedule> schedules, uint64_t bytes);
  void make_engine(std::vector<unsigned> peers);
  Bootstrap::Idle idle(Bootstrap& bootstrap, const char* what);

  unsigned rank_;
  unsigned size_;
  CommConfig config_;
  std::unique_ptr<hal::Fabric> fabric_;
  hal::Endpoint* endpoint_ = nullptr;  // fabric_, if it is one
  bool scratch_allocated_ = false;     // on endpoint_'s device
  std::unique_ptr<protocol::Engine> engine_;
  protocol::Limits limits_;
  CommStats stats_;
  std::string failure_;
  ErrorKind failure_kind_ = ErrorKind::kInternal;
};

}  // namespace ubl::comm
