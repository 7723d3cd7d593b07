// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs blocking code of several ranks so that exactly one runs at any time, like SystemC threads:
// whoever waits hands the baton back, and the scheduler, seeded, chooses who goes on. So the run
// is deterministic although every rank has its own stack. Everything stays in one thread of the
// operating system: a busy machine does not slow a test down. A rank must not yield inside a
// catch block.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace ubl::test {

class Baton {
 public:
  explicit Baton(uint64_t seed) : rng_(seed) {}

  /// Runs body(rank) for all ranks to their ends; between turns calls `idle`, which lets the world
  /// around the ranks move. Returns what each rank threw, or null.
  std::vector<std::exception_ptr> run(unsigned ranks, const std::function<void(unsigned)>& body,
                                      const std::function<void()>& idle) {
    body_ = &body;
    fibers_.clear();
    for (unsigned r = 0; r < ranks; ++r) {
      fibers_.push_back(std::make_unique<Fiber>());
      Fiber& f = *fibers_.back();
      f.stack.resize(kStackBytes);
      if (getcontext(&f.context) != 0) throw std::runtime_error("getcontext");
      f.context.uc_stack.ss_sp = f.stack.data();
      f.context.uc_stack.ss_size = f.stack.size();
      f.context.uc_link = nullptr;  // a finished rank is left for good
      const auto self = reinterpret_cast<uintptr_t>(this);
      makecontext(&f.context, reinterpret_cast<void (*)()>(&Baton::entry), 3,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self), r);
    }
    while (true) {
      std::vector<unsigned> alive;
      for (unsigned r = 0; r < ranks; ++r)
        if (!fibers_[r]->finished) alive.push_back(r);
      if (alive.empty()) break;
      idle();
      Fiber& f = *fibers_[alive[rng_() % alive.size()]];
      switch_to(scheduler_, f.context, &scheduler_fake_, f.stack.data(), f.stack.size());
    }
    std::vector<std::exception_ptr> thrown;
    for (const auto& f : fibers_) thrown.push_back(f->thrown);
    return thrown;
  }

  /// Called by the rank that holds the baton: lets the others go on.
  void yield(unsigned rank) {
    Fiber& f = *fibers_.at(rank);
    switch_to(f.context, scheduler_, &f.fake, scheduler_stack_, scheduler_stack_bytes_);
  }

 private:
  static constexpr size_t kStackBytes = 256 << 10;
  struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    void* fake = nullptr;
    bool finished = false;
    std::exception_ptr thrown;
  };

  static void entry(unsigned high, unsigned low, unsigned rank) {
    reinterpret_cast<Baton*>(uintptr_t{high} << 32 | low)->life(rank);
  }
  void life(unsigned rank) {
    arrived(nullptr);
    Fiber& f = *fibers_[rank];
    try {
      (*body_)(rank);
    } catch (...) {
      f.thrown = std::current_exception();
    }
    f.finished = true;
    switch_to(f.context, scheduler_, nullptr, scheduler_stack_, scheduler_stack_bytes_);
  }

  // The address sanitizer wants to know about every change of stack.
  void switch_to(ucontext_t& from, ucontext_t& to, void** fake, const void* stack, size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(fake, stack, bytes);
#else
    (void)stack;
    (void)bytes;
#endif
    if (swapcontext(&from, &to) != 0) throw std::runtime_error("swapcontext");
    arrived(fake != nullptr ? *fake : nullptr);
  }
  void arrived(void* fake) {
#if defined(__SANITIZE_ADDRESS__)
    const void* stack = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake, &stack, &bytes);
    if (scheduler_stack_ == nullptr) {  // the first switch comes from the scheduler
      scheduler_stack_ = stack;
      scheduler_stack_bytes_ = bytes;
    }
#else
    (void)fake;
#endif
  }

  std::mt19937_64 rng_;
  const std::function<void(unsigned)>* body_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  ucontext_t scheduler_;
  void* scheduler_fake_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  size_t scheduler_stack_bytes_ = 0;
};

}  // namespace ubl::test
