// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/packet/frame.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "ubl/packet/crc32.hpp"

namespace ubl::packet {
namespace {

constexpr size_t kEthAt = 0;
constexpr size_t kIpAt = kEthAt + spec::kLinkEthBytes;
constexpr size_t kUdpAt = kIpAt + spec::kLinkIpBytes;
constexpr size_t kBthAt = kUdpAt + spec::kLinkUdpBytes;
constexpr size_t kExtAt = kBthAt + spec::kLinkBthBytes;
constexpr size_t kTrailer = spec::kLinkIcrcBytes + spec::kLinkFcsBytes;

static_assert(spec::Eth::kBytes == spec::kLinkEthBytes);
static_assert(spec::Ipv4::kBytes == spec::kLinkIpBytes);
static_assert(spec::Udp::kBytes == spec::kLinkUdpBytes);
static_assert(spec::Bth::kBytes == spec::kLinkBthBytes);
static_assert(spec::Sendh::kBytes == spec::kLinkSendhBytes);
static_assert(spec::Sackh::kBytes == spec::kLinkSackhBytes);
static_assert(spec::Atomiceth::kBytes == spec::kLinkAtomicethBytes);
static_assert(spec::Atomicacketh::kBytes == spec::kLinkAtomicackethBytes);
static_assert(kMinFrameBytes == kExtAt + spec::kLinkAethBytes + kTrailer);
static_assert(kMaxFrameBytes == kExtAt + spec::kLinkRethBytes + spec::kLinkRedhBytes +
                                    spec::kLinkImmdtBytes + spec::kLinkMtu + kTrailer);
static_assert((kMaxFrameBytes + spec::kLinkFlitBytes - 1) / spec::kLinkFlitBytes ==
              spec::kLinkMaxFrameFlits);

constexpr uint32_t kSportMask = 0x3FFF;  // bits of the source QPN in the UDP source port
constexpr uint8_t kIpVersion = 4;
constexpr uint8_t kIpWords = spec::kLinkIpBytes / 4;
constexpr unsigned kDscpPerVc = 8;

size_t ext_bytes(const OpInfo& op) {
  return (op.reth ? spec::kLinkRethBytes : 0) + (op.redh ? spec::kLinkRedhBytes : 0) +
         (op.immdt ? spec::kLinkImmdtBytes : 0) + (op.aeth ? spec::kLinkAethBytes : 0) +
         (op.sendh ? spec::kLinkSendhBytes : 0) + (op.sackh ? spec::kLinkSackhBytes : 0) +
         (op.atomiceth ? spec::kLinkAtomicethBytes : 0) +
         (op.atomicacketh ? spec::kLinkAtomicackethBytes : 0);
}

constexpr size_t pad_of(size_t payload_bytes) { return (4 - payload_bytes % 4) % 4; }

void store_le(uint8_t* p, uint32_t x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(x >> (8 * i));
}

uint32_t load_le(const uint8_t* p) {
  uint32_t x = 0;
  for (int i = 0; i < 4; ++i) x |= static_cast<uint32_t>(p[i]) << (8 * i);
  return x;
}

// Ones' complement sum of the IP header (RFC 1071), complemented; 0 over a header with a checksum
// that is right.
uint16_t ip_checksum(const uint8_t* header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < spec::kLinkIpBytes; i += 2) {
    sum += static_cast<uint32_t>(header[i]) << 8 | header[i + 1];
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void store_ip_checksum(uint8_t* header) {
  header[10] = header[11] = 0;
  const uint16_t sum = ip_checksum(header);
  header[10] = static_cast<uint8_t>(sum >> 8);
  header[11] = static_cast<uint8_t>(sum);
}

// Byte positions in SACKH.
constexpr size_t kPlacedAt = 16;
constexpr size_t kCeAt = 48;

void pack_sackh(const Frame& f, uint8_t* p) {
  std::memset(p, 0, spec::kLinkSackhBytes);
  for (size_t k = 0; k < f.seen.size(); ++k) {
    p[2 * k] = static_cast<uint8_t>(f.seen[k] >> 8);
    p[2 * k + 1] = static_cast<uint8_t>(f.seen[k]);
  }
  std::copy(f.placed.begin(), f.placed.end(), p + kPlacedAt);
  p[kCeAt] = f.ce_planes;
  p[kCeAt + 1] = f.ce_count;
}

bool unpack_sackh(const uint8_t* p, Frame& f) {
  for (size_t k = 0; k < f.seen.size(); ++k)
    f.seen[k] = static_cast<uint16_t>(p[2 * k] << 8 | p[2 * k + 1]);
  std::copy(p + kPlacedAt, p + kCeAt, f.placed.begin());
  f.ce_planes = p[kCeAt];
  f.ce_count = p[kCeAt + 1];
  return p[kCeAt + 2] == 0 && p[kCeAt + 3] == 0;
}

void require(bool fits, const char* field) {
  if (!fits) throw std::invalid_argument(std::string("frame: ") + field);
}

}  // namespace

bool Frame::operator==(const Frame& o) const {
  return src_node == o.src_node && dst_node == o.dst_node && plane == o.plane && vc == o.vc &&
         ecn == o.ecn && src_qpn == o.src_qpn && dst_qpn == o.dst_qpn && opcode == o.opcode &&
         psn == o.psn && ack_req == o.ack_req && becn == o.becn && raddr == o.raddr &&
         rkey == o.rkey && red_op == o.red_op && red_dtype == o.red_dtype && imm == o.imm &&
         syndrome == o.syndrome && msn == o.msn && read_len == o.read_len &&
         send_number == o.send_number && send_offset == o.send_offset &&
         send_length == o.send_length && rnum == o.rnum && red_ordered == o.red_ordered &&
         seen == o.seen && placed == o.placed && ce_planes == o.ce_planes &&
         ce_count == o.ce_count && swap_add == o.swap_add && compare == o.compare &&
         original == o.original && payload == o.payload;
}

OpInfo op_info(spec::PktOp opcode) {
  OpInfo op;
  op.known = true;
  switch (opcode) {
    case spec::PktOp::kSend:
      op.sendh = op.payload = true;
      return op;
    case spec::PktOp::kSendImm:
      op.immdt = op.sendh = op.payload = true;
      return op;
    case spec::PktOp::kWrite:
      op.reth = op.payload = true;
      return op;
    case spec::PktOp::kWriteImm:
      op.reth = op.immdt = op.payload = true;
      return op;
    case spec::PktOp::kReadRequest:
      op.reth = true;
      return op;
    case spec::PktOp::kReadResponse:
      op.aeth = op.payload = true;
      return op;
    case spec::PktOp::kAck:
      op.aeth = op.sackh = true;
      return op;
    case spec::PktOp::kAtomicResponse:
      op.aeth = op.atomicacketh = true;
      return op;
    case spec::PktOp::kCompareSwap:
    case spec::PktOp::kFetchAdd:
      op.atomiceth = true;
      return op;
    case spec::PktOp::kReduce:
      op.reth = op.redh = op.payload = true;
      return op;
    case spec::PktOp::kReduceImm:
      op.reth = op.redh = op.immdt = op.payload = true;
      return op;
  }
  return {};
}

spec::Ecn ecn_of(spec::PktOp opcode) {
  return opcode == spec::PktOp::kAck ? spec::Ecn::kNotEct : spec::Ecn::kEct0;
}

size_t frame_bytes(spec::PktOp opcode, size_t payload_bytes) {
  return kExtAt + ext_bytes(op_info(opcode)) + payload_bytes + pad_of(payload_bytes) + kTrailer;
}

size_t frame_flits(spec::PktOp opcode, size_t payload_bytes) {
  return (frame_bytes(opcode, payload_bytes) + spec::kLinkFlitBytes - 1) / spec::kLinkFlitBytes;
}

uint64_t mac_of(uint8_t plane, uint16_t node) {
  return static_cast<uint64_t>(spec::kLinkMacPrefix) << 32 | static_cast<uint64_t>(plane) << 16 |
         node;
}

uint32_t ip_of(uint8_t plane, uint16_t node) {
  return spec::kLinkIpNet << 24 | static_cast<uint32_t>(plane) << 16 | node;
}

std::vector<uint8_t> build(const Frame& f) {
  const OpInfo op = op_info(f.opcode);
  require(op.known, "opcode is not in the contract");
  require(f.plane < spec::kLinkMaxPlanes, "plane does not exist");
  require(static_cast<unsigned>(f.vc) < spec::kLinkNumVc, "vc does not exist");
  require(static_cast<unsigned>(f.ecn) < 4, "ecn has more than 2 bits");
  require(f.src_qpn < 1u << 24, "src_qpn has more than 24 bits");
  require(f.dst_qpn < 1u << 24, "dst_qpn has more than 24 bits");
  require(f.psn < 1u << 24, "psn has more than 24 bits");
  require(static_cast<unsigned>(f.red_op) < 16, "red_op has more than 4 bits");
  require(static_cast<unsigned>(f.red_dtype) < 16, "red_dtype has more than 4 bits");
  require(f.msn < 1u << 24, "msn has more than 24 bits");
  require(op.payload || f.payload.empty(), "payload in an operation without one");
  require(f.payload.size() <= spec::kLinkMtu, "payload is longer than the MTU");
  require(f.read_len <= spec::kLinkMtu, "read_len is longer than the MTU");
  require(f.read_len == 0 || (op.reth && !op.payload), "read_len in another operation");
  require(f.send_number < 1u << 24, "send_number has more than 24 bits");
  require(f.rnum < 1u << 7, "rnum has more than 7 bits");

  const size_t size = frame_bytes(f.opcode, f.payload.size());
  std::vector<uint8_t> bytes(size);
  uint8_t* const p = bytes.data();

  spec::Eth eth;
  eth.dst_mac = mac_of(f.plane, f.dst_node);
  eth.src_mac = mac_of(f.plane, f.src_node);
  eth.ether_type = spec::kLinkEtherTypeIpv4;
  eth.pack(p + kEthAt);

  spec::Ipv4 ip;
  ip.version = kIpVersion;
  ip.ihl = kIpWords;
  ip.dscp = static_cast<uint8_t>(static_cast<unsigned>(f.vc) * kDscpPerVc);
  ip.ecn = static_cast<uint8_t>(f.ecn);
  ip.total_length = static_cast<uint16_t>(size - kIpAt - spec::kLinkFcsBytes);
  ip.flags = spec::kLinkIpFlagsDf;
  ip.ttl = spec::kLinkIpTtl;
  ip.protocol = spec::kLinkIpProtocolUdp;
  ip.src = ip_of(f.plane, f.src_node);
  ip.dst = ip_of(f.plane, f.dst_node);
  ip.pack(p + kIpAt);
  store_ip_checksum(p + kIpAt);

  spec::Udp udp;
  udp.sport = static_cast<uint16_t>(spec::kLinkUdpSportBase | (f.src_qpn & kSportMask));
  udp.dport = spec::kLinkUdpPortRoce;
  udp.length = static_cast<uint16_t>(size - kUdpAt - spec::kLinkFcsBytes);
  udp.pack(p + kUdpAt);

  spec::Bth bth;
  bth.opcode = static_cast<uint8_t>(f.opcode);
  bth.pad = static_cast<uint8_t>(pad_of(f.payload.size()));
  bth.pkey = spec::kLinkPkeyDefault;
  bth.becn = f.becn ? 1 : 0;
  bth.dest_qp = f.dst_qpn;
  bth.ack_req = f.ack_req ? 1 : 0;
  bth.rnum = f.rnum;
  bth.psn = f.psn;
  bth.pack(p + kBthAt);

  size_t at = kExtAt;
  if (op.reth) {
    spec::Reth reth;
    reth.va = f.raddr;
    reth.rkey = f.rkey;
    reth.length = op.payload ? static_cast<uint32_t>(f.payload.size()) : f.read_len;
    reth.pack(p + at);
    at += spec::kLinkRethBytes;
  }
  if (op.redh) {
    spec::Redh redh;
    redh.op = static_cast<uint8_t>(f.red_op);
    redh.dtype = static_cast<uint8_t>(f.red_dtype);
    redh.ordered = f.red_ordered ? 1 : 0;
    redh.pack(p + at);
    at += spec::kLinkRedhBytes;
  }
  if (op.immdt) {
    spec::Immdt immdt;
    immdt.imm = f.imm;
    immdt.pack(p + at);
    at += spec::kLinkImmdtBytes;
  }
  if (op.aeth) {
    spec::Aeth aeth;
    aeth.syndrome = static_cast<uint8_t>(f.syndrome);
    aeth.msn = f.msn;
    aeth.pack(p + at);
    at += spec::kLinkAethBytes;
  }
  if (op.sendh) {
    spec::Sendh sendh;
    sendh.number = f.send_number;
    sendh.offset = f.send_offset;
    sendh.length = f.send_length;
    sendh.pack(p + at);
    at += spec::kLinkSendhBytes;
  }
  if (op.sackh) {
    pack_sackh(f, p + at);
    at += spec::kLinkSackhBytes;
  }
  if (op.atomiceth) {
    spec::Atomiceth atomic;
    atomic.va = f.raddr;
    atomic.rkey = f.rkey;
    atomic.swap_add = f.swap_add;
    atomic.compare = f.compare;
    atomic.pack(p + at);
    at += spec::kLinkAtomicethBytes;
  }
  if (op.atomicacketh) {
    spec::Atomicacketh answer;
    answer.original = f.original;
    answer.pack(p + at);
    at += spec::kLinkAtomicackethBytes;
  }
  std::copy(f.payload.begin(), f.payload.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));

  store_le(p + size - kTrailer, icrc_of(p, size));
  store_le(p + size - spec::kLinkFcsBytes, fcs_of(p, size));
  return bytes;
}

const char* to_string(ParseError error) {
  switch (error) {
    case ParseError::kNone:
      return "none";
    case ParseError::kTooShort:
      return "too_short";
    case ParseError::kTooLong:
      return "too_long";
    case ParseError::kBadFcs:
      return "bad_fcs";
    case ParseError::kNotIpv4:
      return "not_ipv4";
    case ParseError::kBadIpHeader:
      return "bad_ip_header";
    case ParseError::kBadIpChecksum:
      return "bad_ip_checksum";
    case ParseError::kNotUdp:
      return "not_udp";
    case ParseError::kWrongPort:
      return "wrong_port";
    case ParseError::kBadUdpChecksum:
      return "bad_udp_checksum";
    case ParseError::kLengthMismatch:
      return "length_mismatch";
    case ParseError::kBadIcrc:
      return "bad_icrc";
    case ParseError::kUnknownOpcode:
      return "unknown_opcode";
    case ParseError::kBadBth:
      return "bad_bth";
    case ParseError::kBadAddress:
      return "bad_address";
    case ParseError::kBadClass:
      return "bad_class";
    case ParseError::kReservedNotZero:
      return "reserved_not_zero";
  }
  return "?";
}

ParseResult parse(const uint8_t* data, size_t size) {
  const auto fail = [](ParseError error) {
    ParseResult r;
    r.error = error;
    return r;
  };

  if (size < kMinFrameBytes) return fail(ParseError::kTooShort);
  if (size > kMaxFrameBytes) return fail(ParseError::kTooLong);
  if (load_le(data + size - spec::kLinkFcsBytes) != fcs_of(data, size)) {
    return fail(ParseError::kBadFcs);
  }

  const spec::Eth eth = spec::Eth::unpack(data + kEthAt);
  const spec::Ipv4 ip = spec::Ipv4::unpack(data + kIpAt);
  if (eth.ether_type != spec::kLinkEtherTypeIpv4 || ip.version != kIpVersion) {
    return fail(ParseError::kNotIpv4);
  }
  if (ip.ihl != kIpWords || ip.identification != 0 || ip.flags != spec::kLinkIpFlagsDf ||
      ip.ttl != spec::kLinkIpTtl) {
    return fail(ParseError::kBadIpHeader);
  }
  if (ip_checksum(data + kIpAt) != 0) return fail(ParseError::kBadIpChecksum);
  if (ip.protocol != spec::kLinkIpProtocolUdp) return fail(ParseError::kNotUdp);

  const spec::Udp udp = spec::Udp::unpack(data + kUdpAt);
  if (udp.dport != spec::kLinkUdpPortRoce || (udp.sport & ~kSportMask) != spec::kLinkUdpSportBase) {
    return fail(ParseError::kWrongPort);
  }
  if (udp.checksum != 0) return fail(ParseError::kBadUdpChecksum);
  if (ip.total_length != size - kIpAt - spec::kLinkFcsBytes ||
      udp.length != size - kUdpAt - spec::kLinkFcsBytes) {
    return fail(ParseError::kLengthMismatch);
  }

  // Everything that ICRC and FCS cover between the headers is whole words.
  if ((size - kExtAt - kTrailer) % 4 != 0) return fail(ParseError::kLengthMismatch);
  if (load_le(data + size - kTrailer) != icrc_of(data, size)) return fail(ParseError::kBadIcrc);

  const spec::Bth bth = spec::Bth::unpack(data + kBthAt);
  ParseResult result;
  Frame& f = result.frame;
  f.opcode = static_cast<spec::PktOp>(bth.opcode);
  const OpInfo op = op_info(f.opcode);
  if (!op.known) return fail(ParseError::kUnknownOpcode);
  spec::Bth plain = bth;  // as packed again, with reserved bits zero
  plain.solicited = plain.migreq = plain.tver = plain.fecn = 0;
  plain.pkey = spec::kLinkPkeyDefault;
  uint8_t packed[spec::kLinkBthBytes];
  plain.pack(packed);
  if (std::memcmp(packed, data + kBthAt, sizeof packed) != 0) return fail(ParseError::kBadBth);

  f.plane = static_cast<uint8_t>(ip.dst >> 16);
  f.src_node = static_cast<uint16_t>(ip.src);
  f.dst_node = static_cast<uint16_t>(ip.dst);
  if (f.plane >= spec::kLinkMaxPlanes || ip.src != ip_of(f.plane, f.src_node) ||
      ip.dst != ip_of(f.plane, f.dst_node) || eth.src_mac != mac_of(f.plane, f.src_node) ||
      eth.dst_mac != mac_of(f.plane, f.dst_node)) {
    return fail(ParseError::kBadAddress);
  }
  if (ip.dscp % kDscpPerVc != 0 || ip.dscp / kDscpPerVc >= spec::kLinkNumVc) {
    return fail(ParseError::kBadClass);
  }
  f.vc = static_cast<spec::Vc>(ip.dscp / kDscpPerVc);
  f.ecn = static_cast<spec::Ecn>(ip.ecn);
  f.src_qpn = udp.sport & kSportMask;
  f.dst_qpn = bth.dest_qp;
  f.psn = bth.psn;
  f.ack_req = bth.ack_req != 0;
  f.rnum = bth.rnum;
  f.becn = bth.becn != 0;

  // Extension headers, payload, padding.
  const size_t body = size - kExtAt - kTrailer;
  if (body < ext_bytes(op) + bth.pad) return fail(ParseError::kLengthMismatch);
  const size_t payload_bytes = body - ext_bytes(op) - bth.pad;
  if (bth.pad != pad_of(payload_bytes) || (!op.payload && payload_bytes != 0)) {
    return fail(ParseError::kLengthMismatch);
  }
  if (payload_bytes > spec::kLinkMtu) return fail(ParseError::kTooLong);
  size_t at = kExtAt;
  if (op.reth) {
    const spec::Reth reth = spec::Reth::unpack(data + at);
    if (op.payload && reth.length != payload_bytes) return fail(ParseError::kLengthMismatch);
    if (!op.payload && reth.length > spec::kLinkMtu) return fail(ParseError::kTooLong);
    if (!op.payload) f.read_len = reth.length;
    f.raddr = reth.va;
    f.rkey = reth.rkey;
    at += spec::kLinkRethBytes;
  }
  if (op.redh) {
    const spec::Redh redh = spec::Redh::unpack(data + at);
    uint8_t packed_redh[spec::kLinkRedhBytes];
    redh.pack(packed_redh);
    if (std::memcmp(packed_redh, data + at, sizeof packed_redh) != 0) {
      return fail(ParseError::kReservedNotZero);
    }
    f.red_op = static_cast<spec::RedOp>(redh.op);
    f.red_dtype = static_cast<spec::RedType>(redh.dtype);
    f.red_ordered = redh.ordered != 0;
    at += spec::kLinkRedhBytes;
  }
  if (op.immdt) {
    f.imm = spec::Immdt::unpack(data + at).imm;
    at += spec::kLinkImmdtBytes;
  }
  if (op.aeth) {
    const spec::Aeth aeth = spec::Aeth::unpack(data + at);
    f.syndrome = static_cast<spec::Syndrome>(aeth.syndrome);
    f.msn = aeth.msn;
    at += spec::kLinkAethBytes;
  }
  if (op.sendh) {
    const spec::Sendh sendh = spec::Sendh::unpack(data + at);
    uint8_t packed_sendh[spec::kLinkSendhBytes];
    sendh.pack(packed_sendh);
    if (std::memcmp(packed_sendh, data + at, sizeof packed_sendh) != 0) {
      return fail(ParseError::kReservedNotZero);
    }
    f.send_number = sendh.number;
    f.send_offset = sendh.offset;
    f.send_length = sendh.length;
    at += spec::kLinkSendhBytes;
  }
  if (op.sackh) {
    if (!unpack_sackh(data + at, f)) return fail(ParseError::kReservedNotZero);
    at += spec::kLinkSackhBytes;
  }
  if (op.atomiceth) {
    const spec::Atomiceth atomic = spec::Atomiceth::unpack(data + at);
    f.raddr = atomic.va;
    f.rkey = atomic.rkey;
    f.swap_add = atomic.swap_add;
    f.compare = atomic.compare;
    at += spec::kLinkAtomicethBytes;
  }
  if (op.atomicacketh) {
    f.original = spec::Atomicacketh::unpack(data + at).original;
    at += spec::kLinkAtomicackethBytes;
  }
  f.payload.assign(data + at, data + at + payload_bytes);
  at += payload_bytes;
  for (size_t i = 0; i < bth.pad; ++i) {
    if (data[at + i] != 0) return fail(ParseError::kReservedNotZero);
  }
  return result;
}

uint32_t icrc_of(const uint8_t* data, size_t size) {
  // Eight bytes of ones stand for the link header that RoCEv2 does not have; then come the packet's
  // headers with ones in the fields that may change on the way.
  constexpr size_t kDummy = 8;
  uint8_t head[kDummy + kExtAt - kIpAt];
  std::memset(head, 0xFF, kDummy);
  std::memcpy(head + kDummy, data + kIpAt, kExtAt - kIpAt);
  uint8_t* const ip = head + kDummy;
  ip[1] = 0xFF;            // type of service: DSCP and ECN
  ip[8] = 0xFF;            // time to live
  ip[10] = ip[11] = 0xFF;  // header checksum
  uint8_t* const udp = ip + spec::kLinkIpBytes;
  udp[6] = udp[7] = 0xFF;  // checksum
  uint8_t* const bth = udp + spec::kLinkUdpBytes;
  bth[4] = 0xFF;  // FECN, BECN and the reserved bits beside them
  const uint32_t reg = crc32_update(kCrc32Start, head, sizeof head);
  return ~crc32_update(reg, data + kExtAt, size - kExtAt - kTrailer);
}

uint32_t fcs_of(const uint8_t* data, size_t size) {
  return crc32(data, size - spec::kLinkFcsBytes);
}

void reseal(std::vector<uint8_t>& frame) {
  if (frame.size() < kMinFrameBytes) throw std::invalid_argument("reseal: frame is too short");
  uint8_t* const p = frame.data();
  store_ip_checksum(p + kIpAt);
  store_le(p + frame.size() - kTrailer, icrc_of(p, frame.size()));
  store_le(p + frame.size() - spec::kLinkFcsBytes, fcs_of(p, frame.size()));
}

std::vector<spec::Flit> to_flits(const std::vector<uint8_t>& frame, spec::Vc vc) {
  require(!frame.empty(), "empty, has no flits");
  constexpr size_t kFlit = spec::kLinkFlitBytes;
  std::vector<spec::Flit> flits((frame.size() + kFlit - 1) / kFlit);
  for (size_t i = 0; i < frame.size(); ++i) {
    flits[i / kFlit].data[i % kFlit / 4] |= static_cast<uint32_t>(frame[i]) << (8 * (i % 4));
  }
  for (auto& flit : flits) {
    flit.valid = 1;
    flit.vc = static_cast<uint8_t>(vc);
  }
  flits.front().sop = 1;
  flits.back().eop = 1;
  flits.back().empty = static_cast<uint8_t>(flits.size() * kFlit - frame.size());
  return flits;
}

const char* to_string(FlitError error) {
  switch (error) {
    case FlitError::kNone:
      return "none";
    case FlitError::kNoFlit:
      return "no_flit";
    case FlitError::kNotValid:
      return "not_valid";
    case FlitError::kBadMark:
      return "bad_mark";
    case FlitError::kBadVc:
      return "bad_vc";
    case FlitError::kBadEmpty:
      return "bad_empty";
    case FlitError::kTailNotZero:
      return "tail_not_zero";
  }
  return "?";
}

FlitsResult from_flits(const std::vector<spec::Flit>& flits) {
  FlitsResult r;
  const auto fail = [](FlitError error) {
    FlitsResult bad;
    bad.error = error;
    return bad;
  };
  if (flits.empty()) return fail(FlitError::kNoFlit);
  r.frame.reserve(flits.size() * spec::kLinkFlitBytes);
  for (size_t i = 0; i < flits.size(); ++i) {
    const spec::Flit& flit = flits[i];
    const bool last = i + 1 == flits.size();
    if (flit.valid == 0) return fail(FlitError::kNotValid);
    if ((flit.sop != 0) != (i == 0) || (flit.eop != 0) != last) return fail(FlitError::kBadMark);
    if (flit.vc >= spec::kLinkNumVc || flit.vc != flits[0].vc) return fail(FlitError::kBadVc);
    if ((!last && flit.empty != 0) || flit.empty >= spec::kLinkFlitBytes) {
      return fail(FlitError::kBadEmpty);
    }
    for (size_t k = 0; k < spec::kLinkFlitBytes; ++k) {
      const auto byte = static_cast<uint8_t>(flit.data[k / 4] >> (8 * (k % 4)));
      if (k < spec::kLinkFlitBytes - flit.empty) {
        r.frame.push_back(byte);
      } else if (byte != 0) {
        return fail(FlitError::kTailNotZero);
      }
    }
  }
  r.vc = static_cast<spec::Vc>(flits[0].vc);
  return r;
}

}  // namespace ubl::packet
