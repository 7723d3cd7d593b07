// SPDX-License-Identifier: Apache-2.0
// The data of one card's HBM: a sparse memfd, so that host programs can map it (BAR2).
#pragma once

#include <cstdint>
#include <string>

namespace ubl::systemc {

class Hbm {
 public:
  explicit Hbm(uint64_t bytes);
  ~Hbm();
  Hbm(const Hbm&) = delete;
  Hbm& operator=(const Hbm&) = delete;

  uint8_t* data() { return data_; }
  uint64_t size() const { return size_; }
  int fd() const { return fd_; }
  bool contains(uint64_t addr, uint64_t len) const { return len <= size_ && addr <= size_ - len; }
  /// Hash of the contents; pages that are all zero do not count, so that untouched and zeroed
  /// memory are the same.
  uint64_t hash() const;

 private:
  uint64_t size_;
  int fd_ = -1;
  uint8_t* data_ = nullptr;
};

}  // namespace ubl::systemc
