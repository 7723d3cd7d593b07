// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Golden builder and parser of the frames on a link (contract: rtl/spec/link.yaml). The parser
// takes exactly the frames that the builder can make, so a frame that it accepts is a conforming
// one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ubl/spec/link.hpp"

namespace ubl::packet {

/// What a frame says. Fields that the headers of `opcode` do not hold stay at their defaults.
struct Frame {
  uint16_t src_node = 0;
  uint16_t dst_node = 0;
  uint8_t plane = 0;  ///< below kLinkMaxPlanes
  spec::Vc vc = spec::Vc::kReq;
  spec::Ecn ecn = spec::Ecn::kEct0;  ///< ecn_of(opcode) when it leaves the sender
  uint32_t src_qpn = 0;              ///< 24 bits; the wire holds 14, so parse gives those
  uint32_t dst_qpn = 0;              ///< 24 bits
  spec::PktOp opcode = spec::PktOp::kWrite;
  uint32_t psn = 0;  ///< 24 bits
  bool ack_req = false;
  bool becn = false;
  uint64_t raddr = 0;                              ///< RETH
  uint32_t rkey = 0;                               ///< RETH
  spec::RedOp red_op = spec::RedOp::kAdd;          ///< REDH, 4 bits; parse passes unknown values
  spec::RedType red_dtype = spec::RedType::kF32;   ///< REDH, 4 bits; parse passes unknown values
  uint32_t imm = 0;                                ///< ImmDt
  spec::Syndrome syndrome = spec::Syndrome::kAck;  ///< AETH; parse passes unknown values
  uint32_t msn = 0;                                ///< AETH, 24 bits
  uint8_t rnum = 0;                                ///< BTH, 7 bits
  bool red_ordered = false;                        ///< REDH
  std::array<uint16_t, 8> seen = {};               ///< SACKH, by plane
  std::array<uint8_t, 32> placed = {};             ///< SACKH, bit i % 8 of byte i / 8
  uint8_t ce_planes = 0;                           ///< SACKH
  uint8_t ce_count = 0;                            ///< SACKH
  uint32_t read_len = 0;                           ///< RETH of a READ request: at most kLinkMtu
  uint32_t send_number = 0;                        ///< SENDH, 24 bits
  uint32_t send_offset = 0;                        ///< SENDH, bytes
  uint32_t send_length = 0;                        ///< SENDH, bytes of the whole message
  uint64_t swap_add = 0;                           ///< AtomicETH
  uint64_t compare = 0;                            ///< AtomicETH
  uint64_t original = 0;                           ///< AtomicAckETH
  std::vector<uint8_t> payload;                    ///< at most kLinkMtu bytes, of any number

  bool operator==(const Frame& o) const;
  bool operator!=(const Frame& o) const { return !(*this == o); }
};

/// Headers between BTH and payload.
struct OpInfo {
  bool known = false;
  bool reth = false;
  bool redh = false;
  bool immdt = false;
  bool aeth = false;
  bool sendh = false;
  bool sackh = false;
  bool atomiceth = false;
  bool atomicacketh = false;
  bool payload = false;
};
OpInfo op_info(spec::PktOp opcode);

/// ECN code point with which a frame leaves its sender.
spec::Ecn ecn_of(spec::PktOp opcode);

/// Bytes from Ethernet header to FCS, and flits, of a frame.
size_t frame_bytes(spec::PktOp opcode, size_t payload_bytes);
size_t frame_flits(spec::PktOp opcode, size_t payload_bytes);

/// Addresses of a node on a plane.
uint64_t mac_of(uint8_t plane, uint16_t node);
uint32_t ip_of(uint8_t plane, uint16_t node);

/// The frame from Ethernet header to FCS. Throws std::invalid_argument, naming the field, if a
/// field does not fit or the operation cannot carry the payload.
std::vector<uint8_t> build(const Frame& frame);

enum class ParseError : uint8_t {
  kNone,
  kTooShort,         ///< less than the headers of the shortest frame
  kTooLong,          ///< more than the longest frame
  kBadFcs,           ///< FCS does not match
  kNotIpv4,          ///< EtherType or IP version
  kBadIpHeader,      ///< IP options, fragment, identification or time to live
  kBadIpChecksum,    ///< IP header checksum does not match
  kNotUdp,           ///< IP protocol
  kWrongPort,        ///< UDP ports
  kBadUdpChecksum,   ///< UDP checksum is not 0
  kLengthMismatch,   ///< lengths of frame, IP, UDP, RETH and pad count contradict each other
  kBadIcrc,          ///< ICRC does not match
  kUnknownOpcode,    ///< not in the contract
  kBadBth,           ///< partition key, version or a reserved bit
  kBadAddress,       ///< MAC and IP addresses are not those of two nodes of one plane
  kBadClass,         ///< DSCP is not that of a virtual channel
  kReservedNotZero,  ///< reserved bytes of REDH, SENDH or SACKH, or padding, are not zero
};
/// Stable short name, such as "bad_icrc".
const char* to_string(ParseError error);

struct ParseResult {
  ParseError error = ParseError::kNone;
  Frame frame;  ///< of meaning only without error
  explicit operator bool() const { return error == ParseError::kNone; }
};

/// Any bytes at all are allowed. The first error found is reported: FCS first, then the layers from
/// the outside in.
ParseResult parse(const uint8_t* data, size_t size);
inline ParseResult parse(const std::vector<uint8_t>& bytes) {
  return parse(bytes.data(), bytes.size());
}

/// CRCs that a frame ought to end in, for tests and fault injection. `size` counts everything up to
/// FCS inclusive and is at least kMinFrameBytes.
inline constexpr size_t kMinFrameBytes = 66;
inline constexpr size_t kMaxFrameBytes = 4182;
uint32_t icrc_of(const uint8_t* data, size_t size);
uint32_t fcs_of(const uint8_t* data, size_t size);
/// Writes IP checksum, ICRC and FCS anew.
void reseal(std::vector<uint8_t>& frame);

/// A frame as it crosses a link.
std::vector<spec::Flit> to_flits(const std::vector<uint8_t>& frame, spec::Vc vc);

enum class FlitError : uint8_t {
  kNone,
  kNoFlit,      ///< nothing
  kNotValid,    ///< a flit without valid
  kBadMark,     ///< sop not on the first flit only, or eop not on the last only
  kBadVc,       ///< virtual channel unknown or changing
  kBadEmpty,    ///< empty in the middle of a frame
  kTailNotZero  ///< unused bytes are not zero
};
const char* to_string(FlitError error);

struct FlitsResult {
  FlitError error = FlitError::kNone;
  spec::Vc vc = spec::Vc::kReq;
  std::vector<uint8_t> frame;
  explicit operator bool() const { return error == FlitError::kNone; }
};

/// The frame of exactly these flits; says nothing about its contents.
FlitsResult from_flits(const std::vector<spec::Flit>& flits);

}  // namespace ubl::packet
