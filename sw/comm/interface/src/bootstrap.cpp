// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/bootstrap.hpp"

#include <fmt/format.h>

#include "ubl/comm/hal/error.hpp"

namespace ubl::comm {

LocalBootstrap::LocalBootstrap(unsigned size) : next_(size, 0) {
  if (size == 0) throw CommError(ErrorKind::kInvalidArgument, "bootstrap of 0 ranks");
}

std::vector<Bootstrap::Blob> LocalBootstrap::all_gather(unsigned rank, Blob mine,
                                                        const Idle& idle) {
  if (rank >= size())
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("bootstrap: rank {} is not in 0..{}", rank, size() - 1));
  const uint64_t number = next_[rank]++;
  Round& round = rounds_[number];  // stays where it is until the last rank has left
  if (round.blobs.empty()) {
    round.blobs.resize(size());
    round.here.resize(size());
  }
  round.blobs[rank] = std::move(mine);
  round.here[rank] = true;
  ++round.arrived;
  while (round.arrived < size()) idle();
  std::vector<Blob> all = round.blobs;
  if (++round.left == size()) rounds_.erase(number);
  return all;
}

std::string LocalBootstrap::missing(unsigned rank) const {
  if (rank >= size() || next_[rank] == 0) return {};
  const auto it = rounds_.find(next_[rank] - 1);
  if (it == rounds_.end()) return {};
  std::string out;
  for (unsigned r = 0; r < size(); ++r)
    if (!it->second.here[r]) out += fmt::format("{}{}", out.empty() ? "" : ", ", r);
  return out;
}

}  // namespace ubl::comm
