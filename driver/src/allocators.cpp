// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "allocators.hpp"

#include <fmt/format.h>

#include <iterator>

#include "ubl/driver/device.hpp"

namespace ubl::driver {

IndexPool::IndexPool(std::string what, uint32_t count)
    : what_(std::move(what)), taken_(count, false) {
  for (uint32_t i = 0; i < count; ++i) free_.push_back(i);
}

uint32_t IndexPool::take() {
  if (free_.empty()) {
    throw UsageError(fmt::format("no free {}: all {} of the card are in use", what_, count()));
  }
  const uint32_t index = free_.front();
  free_.pop_front();
  taken_[index] = true;
  return index;
}

void IndexPool::give(uint32_t index) {
  taken_[index] = false;
  free_.push_back(index);
}

RangeAllocator::RangeAllocator(uint64_t bytes) : bytes_(bytes / kAlign * kAlign) {
  if (bytes_ != 0) free_[0] = bytes_;
}

uint64_t RangeAllocator::alloc(uint64_t bytes) {
  if (bytes == 0 || bytes > bytes_) {
    throw UsageError(fmt::format("hbm_alloc: bytes = {} is not in 1..{}", bytes, bytes_));
  }
  const uint64_t need = (bytes + kAlign - 1) / kAlign * kAlign;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [addr, size] = *it;
    if (size < need) continue;
    free_.erase(it);
    if (size > need) free_[addr + need] = size - need;
    used_[addr] = need;
    return addr;
  }
  uint64_t total = 0, largest = 0;
  for (const auto& [addr, size] : free_) {
    total += size;
    largest = size > largest ? size : largest;
  }
  throw UsageError(
      fmt::format("hbm_alloc: no room for {} bytes; {} bytes are free, {} in one piece", bytes,
                  total, largest));
}

void RangeAllocator::free(uint64_t addr) {
  const auto used = used_.find(addr);
  if (used == used_.end()) {
    throw UsageError(fmt::format("hbm_free: addr = {:#x} was not allocated", addr));
  }
  uint64_t start = addr, size = used->second;
  used_.erase(used);
  auto next = free_.lower_bound(addr);
  if (next != free_.end() && start + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  free_[start] = size;
}

}  // namespace ubl::driver
