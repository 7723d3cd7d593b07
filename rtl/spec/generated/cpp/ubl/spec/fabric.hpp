// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// generated from rtl/spec/fabric.yaml by rtl/spec/gen/generate, do not edit
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ubl::spec {

inline constexpr uint32_t kFabricPortBits = 7u;  // bits of a port number (at most 128 ports)
inline constexpr uint32_t kFabricLenBits = 7u;  // bits of a frame length in flits
// bits of a buffer slot number within one input (3 x depth + 2 <= 2048)
inline constexpr uint32_t kFabricSlotBits = 11u;
// switch_err_st lies above switch_rd_st in the status lane of an input
inline constexpr uint32_t kFabricErrLsb = 18u;
inline constexpr uint32_t kFabricNoVc = 0x3u;  // credit tag of a slot that owes no credit

// What a switch port reports on err_code_o. Everything that is dropped is reported once.
enum class SwitchErr : uint8_t {
  // frame dropped: EtherType, IP network or plane does not fit, or the node has no route
  kNoRoute = 0x1,
  kNoSop = 0x2,  // flit dropped: outside a frame and not the first of one
  // a frame began before the last one had ended; the old one is cut, the new one dropped
  kSopInFrame = 0x3,
  kOverflow = 0x4,  // flit without a credit, or no buffer; the frame is dropped or cut
  // frame length differs from its IP header (cut and stomped), or is not 1..66 flits (dropped)
  kLength = 0x5,
  kVc = 0x6,  // virtual channel 3, or it changed within a frame
  kCredit = 0x7,  // the receiver returned a credit that it never held
  kFcs = 0x8,  // the FCS of a whole frame is wrong; it leaves stomped
  kStomped = 0x9,  // a frame that a switch before has found bad and stomped; it leaves stomped
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
    case SwitchErr::kFcs:
      return "fcs";
    case SwitchErr::kStomped:
      return "stomped";
  }
  return "?";
}

// a received flit after header parsing and route look-up; out to ect are of the first flit only
struct SwitchRx {
  // 1 bit: first flit is the last one, too, and its unused bytes are not those by the IP header
  uint8_t empty_bad = 0;
  uint8_t out = 0;  // 7 bits: output port
  uint8_t len = 0;  // 7 bits: flits of the frame by its IP header
  uint8_t len_bad = 0;  // 1 bit: that length is outside 1..66
  uint8_t ok = 0;  // 1 bit: the header fits and a route exists
  uint8_t ect = 0;  // 1 bit: ECN field is ECT(0)
  uint8_t sop = 0;  // 1 bit: first flit
  uint8_t eop = 0;  // 1 bit: last flit
  uint8_t vc = 0;  // 2 bits: virtual channel
  // 6 bits: unused bytes of the last flit; with the first flit: by the IP header, else as received
  uint8_t empty = 0;
  uint8_t valid = 0;  // 1 bit: a flit is present

  static constexpr size_t kBits = 29;
  static constexpr size_t kWords = 1;
  static constexpr size_t kEmptyBadLsb = 28;
  static constexpr size_t kEmptyBadBits = 1;
  static constexpr size_t kOutLsb = 21;
  static constexpr size_t kOutBits = 7;
  static constexpr size_t kLenLsb = 14;
  static constexpr size_t kLenBits = 7;
  static constexpr size_t kLenBadLsb = 13;
  static constexpr size_t kLenBadBits = 1;
  static constexpr size_t kOkLsb = 12;
  static constexpr size_t kOkBits = 1;
  static constexpr size_t kEctLsb = 11;
  static constexpr size_t kEctBits = 1;
  static constexpr size_t kSopLsb = 10;
  static constexpr size_t kSopBits = 1;
  static constexpr size_t kEopLsb = 9;
  static constexpr size_t kEopBits = 1;
  static constexpr size_t kVcLsb = 7;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kEmptyLsb = 1;
  static constexpr size_t kEmptyBits = 6;
  static constexpr size_t kValidLsb = 0;
  static constexpr size_t kValidBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(empty_bad) & 0x1u) << 28) |
        ((static_cast<uint32_t>(out) & 0x7fu) << 21) |
        ((static_cast<uint32_t>(len) & 0x7fu) << 14) |
        ((static_cast<uint32_t>(len_bad) & 0x1u) << 13) |
        ((static_cast<uint32_t>(ok) & 0x1u) << 12) |
        ((static_cast<uint32_t>(ect) & 0x1u) << 11) |
        ((static_cast<uint32_t>(sop) & 0x1u) << 10) |
        ((static_cast<uint32_t>(eop) & 0x1u) << 9) |
        ((static_cast<uint32_t>(vc) & 0x3u) << 7) |
        ((static_cast<uint32_t>(empty) & 0x3fu) << 1) |
        (static_cast<uint32_t>(valid) & 0x1u);
  }

  static SwitchRx from_words(const uint32_t* w) {
    SwitchRx r;
    r.empty_bad = static_cast<uint8_t>(((w[0] >> 28) & 0x1u));
    r.out = static_cast<uint8_t>(((w[0] >> 21) & 0x7fu));
    r.len = static_cast<uint8_t>(((w[0] >> 14) & 0x7fu));
    r.len_bad = static_cast<uint8_t>(((w[0] >> 13) & 0x1u));
    r.ok = static_cast<uint8_t>(((w[0] >> 12) & 0x1u));
    r.ect = static_cast<uint8_t>(((w[0] >> 11) & 0x1u));
    r.sop = static_cast<uint8_t>(((w[0] >> 10) & 0x1u));
    r.eop = static_cast<uint8_t>(((w[0] >> 9) & 0x1u));
    r.vc = static_cast<uint8_t>(((w[0] >> 7) & 0x3u));
    r.empty = static_cast<uint8_t>(((w[0] >> 1) & 0x3fu));
    r.valid = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchRx from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchRx& o) const {
    return empty_bad == o.empty_bad &&
           out == o.out &&
           len == o.len &&
           len_bad == o.len_bad &&
           ok == o.ok &&
           ect == o.ect &&
           sop == o.sop &&
           eop == o.eop &&
           vc == o.vc &&
           empty == o.empty &&
           valid == o.valid;
  }
  bool operator!=(const SwitchRx& o) const { return !(*this == o); }
};

// what an input does with a flit that arrives now
struct SwitchWr {
  uint8_t empty = 0;  // 6 bits: unused bytes of the open frame's last flit by its IP header
  uint8_t last = 0;  // 1 bit: by the IP header the open frame ends with this flit
  uint8_t close = 0;  // 1 bit: a flit was lost: whatever is in the slot will close the frame
  uint8_t open = 0;  // 1 bit: the flit belongs to the open frame
  uint16_t slot = 0;  // 11 bits: slot that it is written to

  static constexpr size_t kBits = 20;
  static constexpr size_t kWords = 1;
  static constexpr size_t kEmptyLsb = 14;
  static constexpr size_t kEmptyBits = 6;
  static constexpr size_t kLastLsb = 13;
  static constexpr size_t kLastBits = 1;
  static constexpr size_t kCloseLsb = 12;
  static constexpr size_t kCloseBits = 1;
  static constexpr size_t kOpenLsb = 11;
  static constexpr size_t kOpenBits = 1;
  static constexpr size_t kSlotLsb = 0;
  static constexpr size_t kSlotBits = 11;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(empty) & 0x3fu) << 14) |
        ((static_cast<uint32_t>(last) & 0x1u) << 13) |
        ((static_cast<uint32_t>(close) & 0x1u) << 12) |
        ((static_cast<uint32_t>(open) & 0x1u) << 11) |
        (static_cast<uint32_t>(slot) & 0x7ffu);
  }

  static SwitchWr from_words(const uint32_t* w) {
    SwitchWr r;
    r.empty = static_cast<uint8_t>(((w[0] >> 14) & 0x3fu));
    r.last = static_cast<uint8_t>(((w[0] >> 13) & 0x1u));
    r.close = static_cast<uint8_t>(((w[0] >> 12) & 0x1u));
    r.open = static_cast<uint8_t>(((w[0] >> 11) & 0x1u));
    r.slot = static_cast<uint16_t>((w[0] & 0x7ffu));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchWr from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchWr& o) const {
    return empty == o.empty &&
           last == o.last &&
           close == o.close &&
           open == o.open &&
           slot == o.slot;
  }
  bool operator!=(const SwitchWr& o) const { return !(*this == o); }
};

// the last flit of a frame was stored
struct SwitchEnd {
  uint8_t cut = 0;  // 1 bit: the frame is not what its IP header says; reported already
  uint8_t empty = 0;  // 6 bits: unused bytes as they will be sent
  uint16_t slot = 0;  // 11 bits: where the flit is
  uint8_t valid = 0;  // 1 bit: a frame ended

  static constexpr size_t kBits = 19;
  static constexpr size_t kWords = 1;
  static constexpr size_t kCutLsb = 18;
  static constexpr size_t kCutBits = 1;
  static constexpr size_t kEmptyLsb = 12;
  static constexpr size_t kEmptyBits = 6;
  static constexpr size_t kSlotLsb = 1;
  static constexpr size_t kSlotBits = 11;
  static constexpr size_t kValidLsb = 0;
  static constexpr size_t kValidBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(cut) & 0x1u) << 18) |
        ((static_cast<uint32_t>(empty) & 0x3fu) << 12) |
        ((static_cast<uint32_t>(slot) & 0x7ffu) << 1) |
        (static_cast<uint32_t>(valid) & 0x1u);
  }

  static SwitchEnd from_words(const uint32_t* w) {
    SwitchEnd r;
    r.cut = static_cast<uint8_t>(((w[0] >> 18) & 0x1u));
    r.empty = static_cast<uint8_t>(((w[0] >> 12) & 0x3fu));
    r.slot = static_cast<uint16_t>(((w[0] >> 1) & 0x7ffu));
    r.valid = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchEnd from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchEnd& o) const {
    return cut == o.cut &&
           empty == o.empty &&
           slot == o.slot &&
           valid == o.valid;
  }
  bool operator!=(const SwitchEnd& o) const { return !(*this == o); }
};

// a stored last flit is to be stomped before it leaves
struct SwitchStomp {
  uint8_t empty = 0;  // 6 bits: its unused bytes
  uint16_t slot = 0;  // 11 bits: where it is
  uint8_t valid = 0;  // 1 bit: there is one

  static constexpr size_t kBits = 18;
  static constexpr size_t kWords = 1;
  static constexpr size_t kEmptyLsb = 12;
  static constexpr size_t kEmptyBits = 6;
  static constexpr size_t kSlotLsb = 1;
  static constexpr size_t kSlotBits = 11;
  static constexpr size_t kValidLsb = 0;
  static constexpr size_t kValidBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(empty) & 0x3fu) << 12) |
        ((static_cast<uint32_t>(slot) & 0x7ffu) << 1) |
        (static_cast<uint32_t>(valid) & 0x1u);
  }

  static SwitchStomp from_words(const uint32_t* w) {
    SwitchStomp r;
    r.empty = static_cast<uint8_t>(((w[0] >> 12) & 0x3fu));
    r.slot = static_cast<uint16_t>(((w[0] >> 1) & 0x7ffu));
    r.valid = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchStomp from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchStomp& o) const {
    return empty == o.empty &&
           slot == o.slot &&
           valid == o.valid;
  }
  bool operator!=(const SwitchStomp& o) const { return !(*this == o); }
};

// a frame has begun to arrive (input to matcher)
struct SwitchEv {
  uint8_t ect = 0;  // 1 bit: ECN field is ECT(0)
  uint8_t out = 0;  // 7 bits: output port
  uint8_t len = 0;  // 7 bits: flits of the frame
  uint8_t vc = 0;  // 2 bits: virtual channel
  uint16_t slot = 0;  // 11 bits: where its first flit is
  uint8_t valid = 0;  // 1 bit: a frame began

  static constexpr size_t kBits = 29;
  static constexpr size_t kWords = 1;
  static constexpr size_t kEctLsb = 28;
  static constexpr size_t kEctBits = 1;
  static constexpr size_t kOutLsb = 21;
  static constexpr size_t kOutBits = 7;
  static constexpr size_t kLenLsb = 14;
  static constexpr size_t kLenBits = 7;
  static constexpr size_t kVcLsb = 12;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kSlotLsb = 1;
  static constexpr size_t kSlotBits = 11;
  static constexpr size_t kValidLsb = 0;
  static constexpr size_t kValidBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(ect) & 0x1u) << 28) |
        ((static_cast<uint32_t>(out) & 0x7fu) << 21) |
        ((static_cast<uint32_t>(len) & 0x7fu) << 14) |
        ((static_cast<uint32_t>(vc) & 0x3u) << 12) |
        ((static_cast<uint32_t>(slot) & 0x7ffu) << 1) |
        (static_cast<uint32_t>(valid) & 0x1u);
  }

  static SwitchEv from_words(const uint32_t* w) {
    SwitchEv r;
    r.ect = static_cast<uint8_t>(((w[0] >> 28) & 0x1u));
    r.out = static_cast<uint8_t>(((w[0] >> 21) & 0x7fu));
    r.len = static_cast<uint8_t>(((w[0] >> 14) & 0x7fu));
    r.vc = static_cast<uint8_t>(((w[0] >> 12) & 0x3u));
    r.slot = static_cast<uint16_t>(((w[0] >> 1) & 0x7ffu));
    r.valid = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchEv from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchEv& o) const {
    return ect == o.ect &&
           out == o.out &&
           len == o.len &&
           vc == o.vc &&
           slot == o.slot &&
           valid == o.valid;
  }
  bool operator!=(const SwitchEv& o) const { return !(*this == o); }
};

// a frame may leave (matcher to input)
struct SwitchGnt {
  uint8_t mark = 0;  // 1 bit: set CE
  uint8_t rd = 0;  // 1 bit: the read port that takes it
  uint8_t out = 0;  // 7 bits: output port
  uint8_t len = 0;  // 7 bits: flits of the frame
  uint8_t vc = 0;  // 2 bits: virtual channel
  uint16_t slot = 0;  // 11 bits: where its first flit is
  uint8_t valid = 0;  // 1 bit: a frame is granted

  static constexpr size_t kBits = 30;
  static constexpr size_t kWords = 1;
  static constexpr size_t kMarkLsb = 29;
  static constexpr size_t kMarkBits = 1;
  static constexpr size_t kRdLsb = 28;
  static constexpr size_t kRdBits = 1;
  static constexpr size_t kOutLsb = 21;
  static constexpr size_t kOutBits = 7;
  static constexpr size_t kLenLsb = 14;
  static constexpr size_t kLenBits = 7;
  static constexpr size_t kVcLsb = 12;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kSlotLsb = 1;
  static constexpr size_t kSlotBits = 11;
  static constexpr size_t kValidLsb = 0;
  static constexpr size_t kValidBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(mark) & 0x1u) << 29) |
        ((static_cast<uint32_t>(rd) & 0x1u) << 28) |
        ((static_cast<uint32_t>(out) & 0x7fu) << 21) |
        ((static_cast<uint32_t>(len) & 0x7fu) << 14) |
        ((static_cast<uint32_t>(vc) & 0x3u) << 12) |
        ((static_cast<uint32_t>(slot) & 0x7ffu) << 1) |
        (static_cast<uint32_t>(valid) & 0x1u);
  }

  static SwitchGnt from_words(const uint32_t* w) {
    SwitchGnt r;
    r.mark = static_cast<uint8_t>(((w[0] >> 29) & 0x1u));
    r.rd = static_cast<uint8_t>(((w[0] >> 28) & 0x1u));
    r.out = static_cast<uint8_t>(((w[0] >> 21) & 0x7fu));
    r.len = static_cast<uint8_t>(((w[0] >> 14) & 0x7fu));
    r.vc = static_cast<uint8_t>(((w[0] >> 12) & 0x3u));
    r.slot = static_cast<uint16_t>(((w[0] >> 1) & 0x7ffu));
    r.valid = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchGnt from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchGnt& o) const {
    return mark == o.mark &&
           rd == o.rd &&
           out == o.out &&
           len == o.len &&
           vc == o.vc &&
           slot == o.slot &&
           valid == o.valid;
  }
  bool operator!=(const SwitchGnt& o) const { return !(*this == o); }
};

// a flit leaves the buffer (input to crossbar)
struct SwitchRd {
  uint8_t mark = 0;  // 1 bit: set CE; first flit only
  uint8_t out = 0;  // 7 bits: output port
  uint16_t slot = 0;  // 11 bits: where the flit is
  uint8_t sop = 0;  // 1 bit: first flit
  uint8_t eop = 0;  // 1 bit: last flit
  uint8_t vc = 0;  // 2 bits: virtual channel
  uint8_t empty = 0;  // 6 bits: unused bytes of the last flit
  uint8_t valid = 0;  // 1 bit: a flit leaves

  static constexpr size_t kBits = 30;
  static constexpr size_t kWords = 1;
  static constexpr size_t kMarkLsb = 29;
  static constexpr size_t kMarkBits = 1;
  static constexpr size_t kOutLsb = 22;
  static constexpr size_t kOutBits = 7;
  static constexpr size_t kSlotLsb = 11;
  static constexpr size_t kSlotBits = 11;
  static constexpr size_t kSopLsb = 10;
  static constexpr size_t kSopBits = 1;
  static constexpr size_t kEopLsb = 9;
  static constexpr size_t kEopBits = 1;
  static constexpr size_t kVcLsb = 7;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kEmptyLsb = 1;
  static constexpr size_t kEmptyBits = 6;
  static constexpr size_t kValidLsb = 0;
  static constexpr size_t kValidBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(mark) & 0x1u) << 29) |
        ((static_cast<uint32_t>(out) & 0x7fu) << 22) |
        ((static_cast<uint32_t>(slot) & 0x7ffu) << 11) |
        ((static_cast<uint32_t>(sop) & 0x1u) << 10) |
        ((static_cast<uint32_t>(eop) & 0x1u) << 9) |
        ((static_cast<uint32_t>(vc) & 0x3u) << 7) |
        ((static_cast<uint32_t>(empty) & 0x3fu) << 1) |
        (static_cast<uint32_t>(valid) & 0x1u);
  }

  static SwitchRd from_words(const uint32_t* w) {
    SwitchRd r;
    r.mark = static_cast<uint8_t>(((w[0] >> 29) & 0x1u));
    r.out = static_cast<uint8_t>(((w[0] >> 22) & 0x7fu));
    r.slot = static_cast<uint16_t>(((w[0] >> 11) & 0x7ffu));
    r.sop = static_cast<uint8_t>(((w[0] >> 10) & 0x1u));
    r.eop = static_cast<uint8_t>(((w[0] >> 9) & 0x1u));
    r.vc = static_cast<uint8_t>(((w[0] >> 7) & 0x3u));
    r.empty = static_cast<uint8_t>(((w[0] >> 1) & 0x3fu));
    r.valid = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchRd from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchRd& o) const {
    return mark == o.mark &&
           out == o.out &&
           slot == o.slot &&
           sop == o.sop &&
           eop == o.eop &&
           vc == o.vc &&
           empty == o.empty &&
           valid == o.valid;
  }
  bool operator!=(const SwitchRd& o) const { return !(*this == o); }
};

// faults and activity of an input
struct SwitchErrSt {
  uint8_t ended = 0;  // 1 bit: switch_end is valid
  uint8_t busy = 0;  // 1 bit: something here would change without new input
  uint8_t err_valid = 0;  // 1 bit: an error is reported
  uint8_t err_code = 0;  // 4 bits: switch_err

  static constexpr size_t kBits = 7;
  static constexpr size_t kWords = 1;
  static constexpr size_t kEndedLsb = 6;
  static constexpr size_t kEndedBits = 1;
  static constexpr size_t kBusyLsb = 5;
  static constexpr size_t kBusyBits = 1;
  static constexpr size_t kErrValidLsb = 4;
  static constexpr size_t kErrValidBits = 1;
  static constexpr size_t kErrCodeLsb = 0;
  static constexpr size_t kErrCodeBits = 4;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(ended) & 0x1u) << 6) |
        ((static_cast<uint32_t>(busy) & 0x1u) << 5) |
        ((static_cast<uint32_t>(err_valid) & 0x1u) << 4) |
        (static_cast<uint32_t>(err_code) & 0xfu);
  }

  static SwitchErrSt from_words(const uint32_t* w) {
    SwitchErrSt r;
    r.ended = static_cast<uint8_t>(((w[0] >> 6) & 0x1u));
    r.busy = static_cast<uint8_t>(((w[0] >> 5) & 0x1u));
    r.err_valid = static_cast<uint8_t>(((w[0] >> 4) & 0x1u));
    r.err_code = static_cast<uint8_t>((w[0] & 0xfu));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchErrSt from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchErrSt& o) const {
    return ended == o.ended &&
           busy == o.busy &&
           err_valid == o.err_valid &&
           err_code == o.err_code;
  }
  bool operator!=(const SwitchErrSt& o) const { return !(*this == o); }
};

// the two read ports of an input
struct SwitchRdSt {
  uint8_t refund1 = 0;  // 7 bits: flits that were granted but will not come
  uint8_t refund0 = 0;  // 7 bits: the same of read port 0
  uint8_t trunc1 = 0;  // 1 bit: the frame on read port 1 ended early
  uint8_t trunc0 = 0;  // 1 bit: the same of read port 0
  uint8_t end1 = 0;  // 1 bit: read port 1 takes the last flit of its frame in this cycle
  uint8_t end0 = 0;  // 1 bit: the same of read port 0

  static constexpr size_t kBits = 18;
  static constexpr size_t kWords = 1;
  static constexpr size_t kRefund1Lsb = 11;
  static constexpr size_t kRefund1Bits = 7;
  static constexpr size_t kRefund0Lsb = 4;
  static constexpr size_t kRefund0Bits = 7;
  static constexpr size_t kTrunc1Lsb = 3;
  static constexpr size_t kTrunc1Bits = 1;
  static constexpr size_t kTrunc0Lsb = 2;
  static constexpr size_t kTrunc0Bits = 1;
  static constexpr size_t kEnd1Lsb = 1;
  static constexpr size_t kEnd1Bits = 1;
  static constexpr size_t kEnd0Lsb = 0;
  static constexpr size_t kEnd0Bits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(refund1) & 0x7fu) << 11) |
        ((static_cast<uint32_t>(refund0) & 0x7fu) << 4) |
        ((static_cast<uint32_t>(trunc1) & 0x1u) << 3) |
        ((static_cast<uint32_t>(trunc0) & 0x1u) << 2) |
        ((static_cast<uint32_t>(end1) & 0x1u) << 1) |
        (static_cast<uint32_t>(end0) & 0x1u);
  }

  static SwitchRdSt from_words(const uint32_t* w) {
    SwitchRdSt r;
    r.refund1 = static_cast<uint8_t>(((w[0] >> 11) & 0x7fu));
    r.refund0 = static_cast<uint8_t>(((w[0] >> 4) & 0x7fu));
    r.trunc1 = static_cast<uint8_t>(((w[0] >> 3) & 0x1u));
    r.trunc0 = static_cast<uint8_t>(((w[0] >> 2) & 0x1u));
    r.end1 = static_cast<uint8_t>(((w[0] >> 1) & 0x1u));
    r.end0 = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static SwitchRdSt from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const SwitchRdSt& o) const {
    return refund1 == o.refund1 &&
           refund0 == o.refund0 &&
           trunc1 == o.trunc1 &&
           trunc0 == o.trunc0 &&
           end1 == o.end1 &&
           end0 == o.end0;
  }
  bool operator!=(const SwitchRdSt& o) const { return !(*this == o); }
};

}  // namespace ubl::spec
