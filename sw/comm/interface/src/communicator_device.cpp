// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Setting up a communicator over a card.
#include <fmt/format.h>

#include <numeric>

#include "ubl/comm/communicator.hpp"
#include "ubl/comm/hal/endpoint.hpp"
#include "ubl/driver/device.hpp"

namespace ubl::comm {
namespace {

constexpr uint64_t kIdleNs = 1000;  // between two looks at the bootstrap

void put(Bootstrap::Blob& blob, uint64_t v) {
  for (unsigned i = 0; i < 8; ++i) blob.push_back(static_cast<uint8_t>(v >> (8 * i)));
}
uint64_t get(const Bootstrap::Blob& blob, size_t at) {
  uint64_t v = 0;
  for (unsigned i = 0; i < 8 && at + i < blob.size(); ++i) v |= uint64_t{blob[at + i]} << (8 * i);
  return v;
}

}  // namespace

Communicator::Communicator(unsigned rank, unsigned size, driver::Device& device,
                           Bootstrap& bootstrap, const CommConfig& config)
    : rank_(rank), size_(size), config_(config) {
  check_config();
  if (bootstrap.size() != size)
    throw CommError(
        ErrorKind::kInvalidArgument,
        fmt::format("communicator of {} ranks, bootstrap of {}", size, bootstrap.size()));
  if (config_.memory_bytes == 0) {
    config_.memory_base = 0;
    config_.memory_bytes = device.hbm_size();
    if (config_.all_peers && !has_scratch() && config_.scratch_bytes > 0) {
      config_.scratch_base = device.hbm_alloc(config_.scratch_bytes);
      scratch_allocated_ = true;
    }
  }
  hal::EndpointConfig ec;
  ec.stripes = config_.stripes;
  ec.planes = config_.planes;
  ec.sq_log2 = config_.sq_log2;
  ec.cq_log2 = config_.cq_log2;
  ec.window = config_.window;
  auto owned =
      std::make_unique<hal::Endpoint>(device, rank, config_.memory_base, config_.memory_bytes, ec);
  hal::Endpoint* const endpoint = owned.get();
  endpoint_ = endpoint;
  fabric_ = std::move(owned);

  // Everybody tells its scratch and, for each rank it will talk to, {rank, connection data}.
  std::vector<unsigned> peers = ring_peers(rank, size);
  if (config_.all_peers) {
    peers.resize(size);
    std::iota(peers.begin(), peers.end(), 0u);
  }
  Bootstrap::Blob mine;
  put(mine, config_.scratch_base);
  put(mine, config_.scratch_bytes);
  for (const unsigned p : peers) {
    for (unsigned i = 0; i < 4; ++i) mine.push_back(static_cast<uint8_t>(p >> (8 * i)));
    const std::vector<uint8_t> info = endpoint->prepare_peer(p).pack();
    mine.insert(mine.end(), info.begin(), info.end());
  }
  const std::vector<Bootstrap::Blob> all =
      bootstrap.all_gather(rank, std::move(mine), idle(bootstrap, "set-up"));

  for (const unsigned p : peers) {
    bool found = false;
    for (size_t at = 16; at < all[p].size() && !found;) {
      if (all[p].size() - at < 4) break;
      uint32_t to = 0;
      for (unsigned i = 0; i < 4; ++i) to |= uint32_t{all[p][at + i]} << (8 * i);
      at += 4;
      const hal::PeerInfo info = hal::PeerInfo::unpack(all[p], at);
      if (to != rank) continue;
      endpoint->connect_peer(p, info);
      found = true;
    }
    if (!found)
      throw CommError(ErrorKind::kProtocol,
                      fmt::format("rank {} did not prepare a connection to rank {}", p, rank));
  }
  make_engine(peers);
  if (has_scratch()) {
    std::vector<uint64_t> bases;
    for (unsigned r = 0; r < size; ++r) {
      bases.push_back(get(all[r], 0));
      if (bases.back() == CommConfig::kNoScratch || get(all[r], 8) != config_.scratch_bytes)
        throw CommError(ErrorKind::kProtocol,
                        fmt::format("ranks {} and {} have scratch of different sizes", rank, r));
    }
    engine_->set_scratch(std::move(bases));
  }
  // Nobody sends before all are connected.
  bootstrap.all_gather(rank, {}, idle(bootstrap, "set-up"));
}

Bootstrap::Idle Communicator::idle(Bootstrap& bootstrap, const char* what) {
  const uint64_t begin = fabric_->now_ns();
  return [this, &bootstrap, what, begin] {
    const uint64_t now = fabric_->now_ns();
    // Ranks come at different times: setting up means writing many registers.
    if (now - begin > 10 * config_.timeout_ns)
      throw CommError(ErrorKind::kTimeout,
                      fmt::format("rank {} waits in the {} of the communicator for rank {}", rank_,
                                  what, bootstrap.missing(rank_)));
    fabric_->wait(now + kIdleNs);
  };
}

void Communicator::finalize(Bootstrap& bootstrap) {
  if (endpoint_ == nullptr)
    throw CommError(ErrorKind::kInvalidArgument, "finalize of a communicator without a card");
  // A queue pair must answer until nobody needs its acknowledgements any more.
  if (failure_.empty()) endpoint_->drain(fabric_->now_ns() + config_.timeout_ns);
  bootstrap.all_gather(rank_, {}, idle(bootstrap, "end"));
  driver::Device& device = endpoint_->device();
  endpoint_->close();
  if (scratch_allocated_) device.hbm_free(config_.scratch_base);
  scratch_allocated_ = false;
  endpoint_ = nullptr;
  if (failure_.empty()) {
    failure_ = "it was finalized";
    failure_kind_ = ErrorKind::kInvalidArgument;
  }
}

}  // namespace ubl::comm
