// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// generated from rtl/spec/fabric.yaml by rtl/spec/gen/generate, do not edit
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ubl::spec {

// What a switch port reports on err_code_o. Everything that is dropped is reported once.
enum class SwitchErr : uint8_t {
  // frame dropped: EtherType, IP network or plane does not fit, or the node has no route
  kNoRoute = 0x1,
  kNoSop = 0x2,  // flit dropped: outside a frame and not the first of one
  // a frame began before the last one had ended; the old one is cut, the new one dropped
  kSopInFrame = 0x3,
  kOverflow = 0x4,  // flit without a credit, or no buffer; the frame is dropped or cut
  kLength = 0x5,  // frame length differs from its IP header (cut), or is not 1..66 flits (dropped)
  kVc = 0x6,  // virtual channel 3, or it changed within a frame
  kCredit = 0x7,  // the receiver returned a credit that it never held
};

inline const char* to_string(SwitchErr v) {
  switch (v) {
    case SwitchErr::kNoRoute:
      return "no_route";
    case SwitchErr::kNoSop:
      return "no_sop";
    case SwitchErr::kSopInFrame:
      return "sop_in_frame";
    case SwitchErr::kOverflow:
      return "overflow";
    case SwitchErr::kLength:
      return "length";
    case SwitchErr::kVc:
      return "vc";
    case SwitchErr::kCredit:
      return "credit";
  }
  return "?";
}

}  // namespace ubl::spec
