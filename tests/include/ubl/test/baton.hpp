// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs blocking code of several ranks so that exactly one runs at any time, like SystemC threads:
// whoever waits hands the baton back, and the scheduler, seeded, chooses who goes on. So the run
// is deterministic although every rank has its own stack.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace ubl::test {

class Baton {
 public:
  explicit Baton(uint64_t seed) : rng_(seed) {}

  /// Runs body(rank) for all ranks to their ends; between turns calls `idle`, which lets the world
  /// around the ranks move. Returns what each rank threw, or null.
  std::vector<std::exception_ptr> run(unsigned ranks, const std::function<void(unsigned)>& body,
                                      const std::function<void()>& idle) {
    std::vector<std::exception_ptr> thrown(ranks);
    finished_.assign(ranks, false);
    std::vector<std::thread> threads;
    for (unsigned r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        {
          std::unique_lock<std::mutex> lock(mutex_);
          turn_.wait(lock, [&] { return holder_ == static_cast<int>(r); });
        }
        try {
          body(r);
        } catch (...) {
          thrown[r] = std::current_exception();
        }
        std::lock_guard<std::mutex> lock(mutex_);
        finished_[r] = true;
        holder_ = kScheduler;
        turn_.notify_all();
      });
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      std::vector<unsigned> alive;
      for (unsigned r = 0; r < ranks; ++r)
        if (!finished_[r]) alive.push_back(r);
      if (alive.empty()) break;
      idle();
      holder_ = static_cast<int>(alive[rng_() % alive.size()]);
      turn_.notify_all();
      turn_.wait(lock, [&] { return holder_ == kScheduler; });
    }
    lock.unlock();
    for (std::thread& t : threads) t.join();
    return thrown;
  }

  /// Called by the rank that holds the baton: lets the others go on.
  void yield(unsigned rank) {
    std::unique_lock<std::mutex> lock(mutex_);
    holder_ = kScheduler;
    turn_.notify_all();
    turn_.wait(lock, [&] { return holder_ == static_cast<int>(rank); });
  }

 private:
  static constexpr int kScheduler = -1;
  std::mt19937_64 rng_;
  std::mutex mutex_;
  std::condition_variable turn_;
  int holder_ = kScheduler;
  std::vector<bool> finished_;
};

}  // namespace ubl::test
