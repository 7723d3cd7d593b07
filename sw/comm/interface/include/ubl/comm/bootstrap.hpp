// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Out-of-band exchange between the ranks while a communicator is being set up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ubl::comm {

class Bootstrap {
 public:
  using Blob = std::vector<uint8_t>;
  /// Called again and again while waiting for the others; lets them run (e.g. by Transport::wait),
  /// and throws when the caller has waited enough.
  using Idle = std::function<void()>;

  virtual ~Bootstrap() = default;
  virtual unsigned size() const = 0;
  /// Contributes `mine` and returns the contributions of all ranks, in rank order. Every rank calls
  /// it the same number of times.
  virtual std::vector<Blob> all_gather(unsigned rank, Blob mine, const Idle& idle) = 0;
  /// Ranks that have not contributed to the exchange `rank` is waiting in, for messages.
  virtual std::string missing(unsigned rank) const = 0;
};

/// For ranks in one process that take turns on one thread or pass a baton (SystemC threads): no
/// locks, no blocking. Shared by all ranks of one communicator; must outlive its set-up.
class LocalBootstrap : public Bootstrap {
 public:
  explicit LocalBootstrap(unsigned size);
  unsigned size() const override { return static_cast<unsigned>(next_.size()); }
  std::vector<Blob> all_gather(unsigned rank, Blob mine, const Idle& idle) override;
  std::string missing(unsigned rank) const override;

 private:
  struct Round {
    std::vector<Blob> blobs;
    std::vector<bool> here;
    unsigned arrived = 0;
    unsigned left = 0;
  };
  std::vector<uint64_t> next_;  // round each rank enters next
  std::map<uint64_t, Round> rounds_;
};

}  // namespace ubl::comm
