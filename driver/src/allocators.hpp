// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace ubl::driver {

/// Free indices of a table of the device. The one free for longest comes first, so that whatever
/// still names an old object meets a new one as late as possible.
class IndexPool {
 public:
  IndexPool(std::string what, uint32_t count);
  uint32_t take();            ///< UsageError when all are taken
  void give(uint32_t index);  ///< must be taken
  bool taken(uint32_t index) const { return index < taken_.size() && taken_[index]; }
  uint32_t count() const { return static_cast<uint32_t>(taken_.size()); }

 private:
  std::string what_;
  std::deque<uint32_t> free_;
  std::vector<bool> taken_;
};

/// First fit over one range; blocks are multiples of 64 bytes.
class RangeAllocator {
 public:
  static constexpr uint64_t kAlign = 64;
  explicit RangeAllocator(uint64_t bytes);
  uint64_t alloc(uint64_t bytes);  ///< UsageError when nothing fits
  void free(uint64_t addr);        ///< UsageError unless alloc() returned it

 private:
  uint64_t bytes_;
  std::map<uint64_t, uint64_t> free_;  // start -> bytes; never adjacent
  std::map<uint64_t, uint64_t> used_;
};

}  // namespace ubl::driver
