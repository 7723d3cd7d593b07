// SPDX-License-Identifier: Apache-2.0
// Queue of bounded length without memory of its own elsewhere: what is looked at in every cycle
// should be near.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>

namespace ubl::systemc {

template <typename T, size_t N>
class Ring {
  static_assert(N != 0 && (N & (N - 1)) == 0, "a power of two");

 public:
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  T& front() { return slots_[head_ % N]; }
  const T& front() const { return slots_[head_ % N]; }
  const T& back() const { return slots_[(tail_ - 1) % N]; }
  void push_back(const T& v) {
    if (size() == N) throw std::length_error("ring is full: somebody ignored its depth");
    slots_[tail_++ % N] = v;
  }
  void pop_front() { ++head_; }

 private:
  size_t head_ = 0, tail_ = 0;
  std::array<T, N> slots_{};
};

}  // namespace ubl::systemc
