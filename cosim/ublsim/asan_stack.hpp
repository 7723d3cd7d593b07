// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// SystemC 2.3.4 tells AddressSanitizer when it switches coroutines, but not when the end of one
// brings it back to the main stack. The sanitizer then takes that for a coroutine's, and the next
// exception ends in a false report. Does nothing without the sanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace ubl::ublsim {

// To be called on the main stack, after sc_start().
inline void back_on_main_stack() {
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* bottom = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  pthread_attr_getstack(&attributes, &bottom, &size);
  pthread_attr_destroy(&attributes);
  __sanitizer_start_switch_fiber(nullptr, bottom, size);
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

}  // namespace ubl::ublsim
