// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// generated from rtl/spec/host.yaml by rtl/spec/gen/generate, do not edit
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ubl::spec {

// vendor id (not assigned by PCI-SIG; model only)
inline constexpr uint32_t kHostPciVendor = 0x1d55u;
inline constexpr uint32_t kHostPciDevice = 0x0b1cu;  // device id
inline constexpr uint32_t kHostBar0Bytes = 65536u;  // register BAR
inline constexpr uint64_t kHostBar2Bytes = 0x0000000200000000ull;  // HBM aperture, 8 GiB
inline constexpr uint32_t kHostBar4Bytes = 1048576u;  // doorbell BAR
// HBM of a card: 5 GiB at card address 0 = BAR2 offset 0
inline constexpr uint64_t kHostHbmBytes = 0x0000000140000000ull;
inline constexpr uint32_t kHostNumMsix = 64u;  // MSI-X vectors

// host access to a BAR; 4 or 8 bytes, naturally aligned
struct MmioReq {
  uint8_t write = 0;  // 1 bit: 1: posted write; 0: read
  uint8_t bar = 0;  // 3 bits: 0 or 4
  uint32_t addr = 0;  // 32 bits: offset in the BAR
  uint8_t size8 = 0;  // 1 bit: 1: 8 bytes, 0: 4 bytes
  uint8_t tag = 0;  // 8 bits: returned by a read
  uint64_t data = 0;  // 64 bits: write data

  static constexpr size_t kBits = 109;
  static constexpr size_t kWords = 4;
  static constexpr size_t kWriteLsb = 108;
  static constexpr size_t kWriteBits = 1;
  static constexpr size_t kBarLsb = 105;
  static constexpr size_t kBarBits = 3;
  static constexpr size_t kAddrLsb = 73;
  static constexpr size_t kAddrBits = 32;
  static constexpr size_t kSize8Lsb = 72;
  static constexpr size_t kSize8Bits = 1;
  static constexpr size_t kTagLsb = 64;
  static constexpr size_t kTagBits = 8;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 64;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = static_cast<uint32_t>(data);
    w[1] = static_cast<uint32_t>(data >> 32);
    w[2] =
        ((static_cast<uint32_t>(addr) & 0x7fffffu) << 9) |
        ((static_cast<uint32_t>(size8) & 0x1u) << 8) |
        (static_cast<uint32_t>(tag) & 0xffu);
    w[3] =
        ((static_cast<uint32_t>(write) & 0x1u) << 12) |
        ((static_cast<uint32_t>(bar) & 0x7u) << 9) |
        ((static_cast<uint32_t>(addr) >> 23) & 0x1ffu);
  }

  static MmioReq from_words(const uint32_t* w) {
    MmioReq r;
    r.write = static_cast<uint8_t>(((w[3] >> 12) & 0x1u));
    r.bar = static_cast<uint8_t>(((w[3] >> 9) & 0x7u));
    r.addr = static_cast<uint32_t>(((w[2] >> 9) & 0x7fffffu) | ((w[3] & 0x1ffu) << 23));
    r.size8 = static_cast<uint8_t>(((w[2] >> 8) & 0x1u));
    r.tag = static_cast<uint8_t>((w[2] & 0xffu));
    r.data = static_cast<uint64_t>(
        static_cast<uint64_t>(w[0]) |
        (static_cast<uint64_t>(w[1]) << 32));
    return r;
  }

  bool operator==(const MmioReq& o) const {
    return write == o.write &&
           bar == o.bar &&
           addr == o.addr &&
           size8 == o.size8 &&
           tag == o.tag &&
           data == o.data;
  }
  bool operator!=(const MmioReq& o) const { return !(*this == o); }
};

// answer to a read, in order
struct MmioRsp {
  uint8_t tag = 0;  // 8 bits: of the request
  uint8_t err = 0;  // 1 bit: no such register: unsupported request, data all ones
  uint64_t data = 0;  // 64 bits: data

  static constexpr size_t kBits = 73;
  static constexpr size_t kWords = 3;
  static constexpr size_t kTagLsb = 65;
  static constexpr size_t kTagBits = 8;
  static constexpr size_t kErrLsb = 64;
  static constexpr size_t kErrBits = 1;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 64;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = static_cast<uint32_t>(data);
    w[1] = static_cast<uint32_t>(data >> 32);
    w[2] = ((static_cast<uint32_t>(tag) & 0xffu) << 1) | (static_cast<uint32_t>(err) & 0x1u);
  }

  static MmioRsp from_words(const uint32_t* w) {
    MmioRsp r;
    r.tag = static_cast<uint8_t>(((w[2] >> 1) & 0xffu));
    r.err = static_cast<uint8_t>((w[2] & 0x1u));
    r.data = static_cast<uint64_t>(
        static_cast<uint64_t>(w[0]) |
        (static_cast<uint64_t>(w[1]) << 32));
    return r;
  }

  bool operator==(const MmioRsp& o) const {
    return tag == o.tag &&
           err == o.err &&
           data == o.data;
  }
  bool operator!=(const MmioRsp& o) const { return !(*this == o); }
};

namespace reg {

// host: BAR0, base 0x0
// function registers
inline constexpr uint32_t kHostId = 0x00000000u;  // ro: ASCII 0UBL, little-endian
inline constexpr uint32_t kHostIdReset = 0x4c425530u;
inline constexpr uint32_t kHostNode = 0x00000004u;  // ro: node number of this card (strap)
inline constexpr uint32_t kHostScratch = 0x00000008u;  // rw: free for software
inline constexpr uint32_t kHostScratchReset = 0x00000000u;
inline constexpr uint32_t kHostStatus = 0x0000000cu;  // ro: status
inline constexpr uint32_t kHostStatusBmeLsb = 0u;  // bus-master enable of the configuration space
inline constexpr uint32_t kHostStatusBmeBits = 1u;
inline constexpr uint32_t kHostStatusBmeMask = 0x00000001u;
// ro: device time in cycles, low word (latches the high word)
inline constexpr uint32_t kHostCyclesLo = 0x00000010u;
inline constexpr uint32_t kHostCyclesHi = 0x00000014u;  // ro: high word latched by cycles_lo
// ro: words accessed that do not exist, are read-only and written, or write-only and read; stops at
// all ones
inline constexpr uint32_t kHostCntMmioBad = 0x00000018u;
// ro: host accesses and interrupts of the card held back because bus mastering is off, or of an
// unknown kind or vector; stops at all ones
inline constexpr uint32_t kHostCntDmaBlocked = 0x0000001cu;

// db: BAR4, base 0x0
// doorbells, write only, one 32-bit word each; bits 15:0 are the new index
inline constexpr uint32_t kDbSq = 0x00000000u;  // wo: send ring tail of QP n
inline constexpr uint32_t kDbSqStride = 8u;
inline constexpr uint32_t kDbSqCount = 1024u;
inline constexpr uint32_t kDbRq = 0x00000004u;  // wo: receives posted on QP n (free-running total)
inline constexpr uint32_t kDbRqStride = 8u;
inline constexpr uint32_t kDbRqCount = 1024u;
inline constexpr uint32_t kDbCq = 0x00004000u;  // wo: consumer index of CQ n
inline constexpr uint32_t kDbCqStride = 8u;
inline constexpr uint32_t kDbCqCount = 64u;
inline constexpr uint32_t kDbCtr = 0x00004400u;  // wo: number added to success of counter n
inline constexpr uint32_t kDbCtrStride = 4u;
inline constexpr uint32_t kDbCtrCount = 256u;
// wo: first of the 64 bytes of a send ring entry of QP n: 8 writes of 8 bytes, in order
inline constexpr uint32_t kDbPush = 0x00040000u;
inline constexpr uint32_t kDbPushStride = 64u;
inline constexpr uint32_t kDbPushCount = 1024u;

// msix: BAR4, base 0x10000
// MSI-X table and pending bits, each in a page of its own
inline constexpr uint32_t kMsixAddrLo = 0x00010000u;  // rw: message address
inline constexpr uint32_t kMsixAddrLoStride = 16u;
inline constexpr uint32_t kMsixAddrLoCount = 64u;
inline constexpr uint32_t kMsixAddrLoReset = 0x00000000u;
inline constexpr uint32_t kMsixAddrHi = 0x00010004u;  // rw: message address, high word
inline constexpr uint32_t kMsixAddrHiStride = 16u;
inline constexpr uint32_t kMsixAddrHiCount = 64u;
inline constexpr uint32_t kMsixAddrHiReset = 0x00000000u;
inline constexpr uint32_t kMsixData = 0x00010008u;  // rw: message data
inline constexpr uint32_t kMsixDataStride = 16u;
inline constexpr uint32_t kMsixDataCount = 64u;
inline constexpr uint32_t kMsixDataReset = 0x00000000u;
inline constexpr uint32_t kMsixCtrl = 0x0001000cu;  // rw: vector control
inline constexpr uint32_t kMsixCtrlStride = 16u;
inline constexpr uint32_t kMsixCtrlCount = 64u;
inline constexpr uint32_t kMsixCtrlReset = 0x00000001u;
inline constexpr uint32_t kMsixCtrlMaskLsb = 0u;  // 1: masked; a masked interrupt stays pending
inline constexpr uint32_t kMsixCtrlMaskBits = 1u;
inline constexpr uint32_t kMsixCtrlMaskMask = 0x00000001u;
inline constexpr uint32_t kMsixPba = 0x00011000u;  // ro: pending bits
inline constexpr uint32_t kMsixPbaStride = 4u;
inline constexpr uint32_t kMsixPbaCount = 2u;

}  // namespace reg

}  // namespace ubl::spec
