// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// generated from rtl/spec/link.yaml by rtl/spec/gen/generate, do not edit
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ubl::spec {

// bytes of one flit (one cycle of a 400 Gb/s port at 781.25 MHz)
inline constexpr uint32_t kLinkFlitBytes = 64u;
inline constexpr uint32_t kLinkFlitBits = 512u;  // bits of one flit
inline constexpr uint32_t kLinkNumVc = 3u;  // virtual channels of a link
// flits a receiver buffers per virtual channel = initial credits of the sender: one credit round
// trip (2 x 150 ns of cable and half of the switch's 250 ns, 333 cycles), the longest frame twice
// (credits for a whole frame; store and forward in a NIC) and the receiver's pipeline
inline constexpr uint32_t kLinkVcDepth = 512u;
inline constexpr uint32_t kLinkClockPs = 1280u;  // clock period in picoseconds (781.25 MHz)
inline constexpr uint32_t kLinkMaxPlanes = 8u;  // planes (ports) of a card
inline constexpr uint32_t kLinkMtu = 4096u;  // largest payload of a packet in bytes
// flits of the longest frame (4096 B payload, all headers, ICRC, FCS)
inline constexpr uint32_t kLinkMaxFrameFlits = 66u;
inline constexpr uint32_t kLinkEthBytes = 14u;  // Ethernet header
inline constexpr uint32_t kLinkIpBytes = 20u;  // IPv4 header without options
inline constexpr uint32_t kLinkUdpBytes = 8u;  // UDP header
inline constexpr uint32_t kLinkBthBytes = 12u;  // InfiniBand base transport header
inline constexpr uint32_t kLinkRethBytes = 16u;  // RDMA extended transport header
inline constexpr uint32_t kLinkAethBytes = 4u;  // ACK extended transport header
inline constexpr uint32_t kLinkImmdtBytes = 4u;  // immediate data header
inline constexpr uint32_t kLinkAtomicethBytes = 28u;  // atomic extended transport header
// atomic acknowledgement extended transport header
inline constexpr uint32_t kLinkAtomicackethBytes = 8u;
inline constexpr uint32_t kLinkRedhBytes = 4u;  // vendor REDUCE header
inline constexpr uint32_t kLinkSendhBytes = 12u;  // vendor SEND header
inline constexpr uint32_t kLinkSackhBytes = 52u;  // vendor selective acknowledgement header
inline constexpr uint32_t kLinkIcrcBytes = 4u;  // invariant CRC
inline constexpr uint32_t kLinkFcsBytes = 4u;  // Ethernet frame check sequence
inline constexpr uint32_t kLinkEtherTypeIpv4 = 0x0800u;  // EtherType
inline constexpr uint32_t kLinkUdpPortRoce = 0x12b7u;  // UDP destination port of RoCEv2
inline constexpr uint32_t kLinkUdpSportBase = 0xc000u;  // UDP source port = base | source QPN[13:0]
inline constexpr uint32_t kLinkIpTtl = 0x40u;  // IPv4 time to live
inline constexpr uint32_t kLinkIpProtocolUdp = 0x11u;  // IPv4 protocol
// first octet of every address: 10.plane.node[15:8].node[7:0]
inline constexpr uint32_t kLinkIpNet = 0x0au;
// first two octets of every MAC: 02:55:00:plane:node[15:8]:node[7:0]
inline constexpr uint32_t kLinkMacPrefix = 0x0255u;
inline constexpr uint32_t kLinkIpFlagsDf = 0x4000u;  // IPv4 flags/fragment word: do not fragment
inline constexpr uint32_t kLinkPkeyDefault = 0xffffu;  // partition key
// reflected CRC-32 polynomial of both FCS and ICRC
inline constexpr uint32_t kLinkCrc32Poly = 0xedb88320u;

// virtual channel, in falling priority rsp > req > bulk
enum class Vc : uint8_t {
  kReq = 0x0,  // small requests
  kRsp = 0x1,  // acknowledgements and replies; a receiver always drains it
  kBulk = 0x2,  // bulk payload
};

inline const char* to_string(Vc v) {
  switch (v) {
    case Vc::kReq:
      return "req";
    case Vc::kRsp:
      return "rsp";
    case Vc::kBulk:
      return "bulk";
  }
  return "?";
}

// IPv4 ECN code points
enum class Ecn : uint8_t {
  kNotEct = 0x0,  // not ECN capable
  kEct1 = 0x1,  // ECN capable (1)
  kEct0 = 0x2,  // ECN capable (0); what a NIC sends on requests
  kCe = 0x3,  // congestion experienced
};

inline const char* to_string(Ecn v) {
  switch (v) {
    case Ecn::kNotEct:
      return "not_ect";
    case Ecn::kEct1:
      return "ect1";
    case Ecn::kEct0:
      return "ect0";
    case Ecn::kCe:
      return "ce";
  }
  return "?";
}

// BTH opcode. Every WRITE and REDUCE packet is an "only" packet with its own RETH, so it can be
// placed when it arrives; every SEND packet has a SENDH for the same purpose. A READ is cut in the
// same way; each request is answered by one response with its PSN.
enum class PktOp : uint8_t {
  kSend = 0x04,  // RC SEND Only: BTH SENDH payload
  // RC SEND Only with Immediate: BTH ImmDt SENDH payload; the last packet of its message
  kSendImm = 0x05,
  kWrite = 0x0a,  // RC RDMA WRITE Only: BTH RETH payload
  kWriteImm = 0x0b,  // RC RDMA WRITE Only with Immediate: BTH RETH ImmDt payload
  // RC RDMA READ Request: BTH RETH; RETH length = bytes wanted, at most the MTU; travels on VC req
  kReadRequest = 0x0c,
  // RC RDMA READ Response Only: BTH AETH payload; PSN of the request; travels on VC bulk
  kReadResponse = 0x10,
  // RC Acknowledge: BTH AETH SACKH; PSN: all up to it are placed (a NAK: the packet it is about,
  // all before are placed)
  kAck = 0x11,
  // RC Atomic Acknowledge: BTH AETH AtomicAckETH; PSN of the request; travels on VC bulk
  kAtomicResponse = 0x12,
  kCompareSwap = 0x13,  // RC Compare Swap: BTH AtomicETH; travels on VC req
  kFetchAdd = 0x14,  // RC Fetch Add: BTH AtomicETH; travels on VC req
  kReduce = 0xc0,  // vendor REDUCE: BTH RETH REDH payload
  kReduceImm = 0xc1,  // vendor REDUCE with Immediate: BTH RETH REDH ImmDt payload
};

inline const char* to_string(PktOp v) {
  switch (v) {
    case PktOp::kSend:
      return "send";
    case PktOp::kSendImm:
      return "send_imm";
    case PktOp::kWrite:
      return "write";
    case PktOp::kWriteImm:
      return "write_imm";
    case PktOp::kReadRequest:
      return "read_request";
    case PktOp::kReadResponse:
      return "read_response";
    case PktOp::kAck:
      return "ack";
    case PktOp::kAtomicResponse:
      return "atomic_response";
    case PktOp::kCompareSwap:
      return "compare_swap";
    case PktOp::kFetchAdd:
      return "fetch_add";
    case PktOp::kReduce:
      return "reduce";
    case PktOp::kReduceImm:
      return "reduce_imm";
  }
  return "?";
}

// AETH syndrome
enum class Syndrome : uint8_t {
  kAck = 0x1f,  // acknowledge, no end-to-end credit
  kRnr = 0x20,  // receiver not ready
  kNakInvalid = 0x61,  // invalid request
  kNakAccess = 0x62,  // remote access error
  kNakOper = 0x63,  // remote operational error
};

inline const char* to_string(Syndrome v) {
  switch (v) {
    case Syndrome::kAck:
      return "ack";
    case Syndrome::kRnr:
      return "rnr";
    case Syndrome::kNakInvalid:
      return "nak_invalid";
    case Syndrome::kNakAccess:
      return "nak_access";
    case Syndrome::kNakOper:
      return "nak_oper";
  }
  return "?";
}

// REDUCE operation
enum class RedOp : uint8_t {
  kAdd = 0x0,  // sum
  kMin = 0x1,  // the smaller one; NaN if either is NaN
  kMax = 0x2,  // the larger one; NaN if either is NaN
};

inline const char* to_string(RedOp v) {
  switch (v) {
    case RedOp::kAdd:
      return "add";
    case RedOp::kMin:
      return "min";
    case RedOp::kMax:
      return "max";
  }
  return "?";
}

// REDUCE element type
enum class RedType : uint8_t {
  kF32 = 0x0,  // IEEE binary32, RNE, canonical NaN
  kF16 = 0x1,  // IEEE binary16, RNE, canonical NaN
  kBf16 = 0x2,  // bfloat16, RNE, canonical NaN
  kI32 = 0x3,  // 32-bit two's complement, sums modulo 2^32
};

inline const char* to_string(RedType v) {
  switch (v) {
    case RedType::kF32:
      return "f32";
    case RedType::kF16:
      return "f16";
    case RedType::kBf16:
      return "bf16";
    case RedType::kI32:
      return "i32";
  }
  return "?";
}

// what FP32 elements are on the wire; sw/numerics/README.md, Wire formats
enum class WireFormat : uint8_t {
  kNone = 0x0,  // FP32, the bits as they are
  kFp16 = 0x1,  // IEEE binary16
  kBf16 = 0x2,  // bfloat16
  kE4m3 = 0x3,  // OFP8 E4M3
  kE5m2 = 0x4,  // OFP8 E5M2
  kInt4 = 0x5,  // 4-bit integers, a scale for each 32 elements
  kSparse8 = 0x6,  // 2 of each 4 elements as 4-bit integers, a scale for each 64 elements
  kTopk = 0x7,  // FP32 elements of at least a threshold, and a mask
};

inline const char* to_string(WireFormat v) {
  switch (v) {
    case WireFormat::kNone:
      return "none";
    case WireFormat::kFp16:
      return "fp16";
    case WireFormat::kBf16:
      return "bf16";
    case WireFormat::kE4m3:
      return "e4m3";
    case WireFormat::kE5m2:
      return "e5m2";
    case WireFormat::kInt4:
      return "int4";
    case WireFormat::kSparse8:
      return "sparse8";
    case WireFormat::kTopk:
      return "topk";
  }
  return "?";
}

// Ethernet II header
// big endian
struct Eth {
  uint64_t dst_mac = 0;  // 48 bits: destination
  uint64_t src_mac = 0;  // 48 bits: source
  uint16_t ether_type = 0;  // 0x0800

  static constexpr size_t kBytes = 14;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((dst_mac >> 40));
    p[1] = static_cast<uint8_t>((dst_mac >> 32));
    p[2] = static_cast<uint8_t>((dst_mac >> 24));
    p[3] = static_cast<uint8_t>((dst_mac >> 16));
    p[4] = static_cast<uint8_t>((dst_mac >> 8));
    p[5] = static_cast<uint8_t>(dst_mac);
    p[6] = static_cast<uint8_t>((src_mac >> 40));
    p[7] = static_cast<uint8_t>((src_mac >> 32));
    p[8] = static_cast<uint8_t>((src_mac >> 24));
    p[9] = static_cast<uint8_t>((src_mac >> 16));
    p[10] = static_cast<uint8_t>((src_mac >> 8));
    p[11] = static_cast<uint8_t>(src_mac);
    p[12] = static_cast<uint8_t>((ether_type >> 8));
    p[13] = static_cast<uint8_t>(ether_type);
  }

  static Eth unpack(const uint8_t* p) {
    Eth r;
    r.dst_mac = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[0]) << 40) |
        (static_cast<uint64_t>(p[1]) << 32) |
        (static_cast<uint64_t>(p[2]) << 24) |
        (static_cast<uint64_t>(p[3]) << 16) |
        (static_cast<uint64_t>(p[4]) << 8) |
        static_cast<uint64_t>(p[5]));
    r.src_mac = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[6]) << 40) |
        (static_cast<uint64_t>(p[7]) << 32) |
        (static_cast<uint64_t>(p[8]) << 24) |
        (static_cast<uint64_t>(p[9]) << 16) |
        (static_cast<uint64_t>(p[10]) << 8) |
        static_cast<uint64_t>(p[11]));
    r.ether_type = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[12]) << 8) |
        static_cast<uint32_t>(p[13]));
    return r;
  }

  bool operator==(const Eth& o) const {
    return dst_mac == o.dst_mac &&
           src_mac == o.src_mac &&
           ether_type == o.ether_type;
  }
  bool operator!=(const Eth& o) const { return !(*this == o); }
};

// IPv4 header. DSCP is the virtual channel times 8, so a capture shows it.
// big endian
struct Ipv4 {
  uint8_t version = 0;  // 4 bits: 4
  uint8_t ihl = 0;  // 4 bits: 5
  uint8_t dscp = 0;  // 6 bits: 8 x vc
  uint8_t ecn = 0;  // 2 bits: ECN
  uint16_t total_length = 0;  // IP header to ICRC inclusive
  uint16_t identification = 0;  // 0
  uint16_t flags = 0;  // 0x4000
  uint8_t ttl = 0;  // 64
  uint8_t protocol = 0;  // 17
  uint16_t checksum = 0;  // header checksum
  uint32_t src = 0;  // source address
  uint32_t dst = 0;  // destination address

  static constexpr size_t kBytes = 20;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(((version & 0xfu) << 4) | (ihl & 0xfu));
    p[1] = static_cast<uint8_t>(((dscp & 0x3fu) << 2) | (ecn & 0x3u));
    p[2] = static_cast<uint8_t>((total_length >> 8));
    p[3] = static_cast<uint8_t>(total_length);
    p[4] = static_cast<uint8_t>((identification >> 8));
    p[5] = static_cast<uint8_t>(identification);
    p[6] = static_cast<uint8_t>((flags >> 8));
    p[7] = static_cast<uint8_t>(flags);
    p[8] = static_cast<uint8_t>(ttl);
    p[9] = static_cast<uint8_t>(protocol);
    p[10] = static_cast<uint8_t>((checksum >> 8));
    p[11] = static_cast<uint8_t>(checksum);
    p[12] = static_cast<uint8_t>((src >> 24));
    p[13] = static_cast<uint8_t>((src >> 16));
    p[14] = static_cast<uint8_t>((src >> 8));
    p[15] = static_cast<uint8_t>(src);
    p[16] = static_cast<uint8_t>((dst >> 24));
    p[17] = static_cast<uint8_t>((dst >> 16));
    p[18] = static_cast<uint8_t>((dst >> 8));
    p[19] = static_cast<uint8_t>(dst);
  }

  static Ipv4 unpack(const uint8_t* p) {
    Ipv4 r;
    r.version = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 4) & 0xfu)));
    r.ihl = static_cast<uint8_t>(static_cast<uint32_t>((p[0] & 0xfu)));
    r.dscp = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 2) & 0x3fu)));
    r.ecn = static_cast<uint8_t>(static_cast<uint32_t>((p[1] & 0x3u)));
    r.total_length = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    r.identification = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[4]) << 8) |
        static_cast<uint32_t>(p[5]));
    r.flags = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[6]) << 8) |
        static_cast<uint32_t>(p[7]));
    r.ttl = static_cast<uint8_t>(static_cast<uint32_t>(p[8]));
    r.protocol = static_cast<uint8_t>(static_cast<uint32_t>(p[9]));
    r.checksum = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[10]) << 8) |
        static_cast<uint32_t>(p[11]));
    r.src = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[12]) << 24) |
        (static_cast<uint32_t>(p[13]) << 16) |
        (static_cast<uint32_t>(p[14]) << 8) |
        static_cast<uint32_t>(p[15]));
    r.dst = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[16]) << 24) |
        (static_cast<uint32_t>(p[17]) << 16) |
        (static_cast<uint32_t>(p[18]) << 8) |
        static_cast<uint32_t>(p[19]));
    return r;
  }

  bool operator==(const Ipv4& o) const {
    return version == o.version &&
           ihl == o.ihl &&
           dscp == o.dscp &&
           ecn == o.ecn &&
           total_length == o.total_length &&
           identification == o.identification &&
           flags == o.flags &&
           ttl == o.ttl &&
           protocol == o.protocol &&
           checksum == o.checksum &&
           src == o.src &&
           dst == o.dst;
  }
  bool operator!=(const Ipv4& o) const { return !(*this == o); }
};

// UDP header
// big endian
struct Udp {
  uint16_t sport = 0;  // 0xC000 | source QPN
  uint16_t dport = 0;  // 4791
  uint16_t length = 0;  // UDP header to ICRC inclusive
  uint16_t checksum = 0;  // 0: unused

  static constexpr size_t kBytes = 8;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((sport >> 8));
    p[1] = static_cast<uint8_t>(sport);
    p[2] = static_cast<uint8_t>((dport >> 8));
    p[3] = static_cast<uint8_t>(dport);
    p[4] = static_cast<uint8_t>((length >> 8));
    p[5] = static_cast<uint8_t>(length);
    p[6] = static_cast<uint8_t>((checksum >> 8));
    p[7] = static_cast<uint8_t>(checksum);
  }

  static Udp unpack(const uint8_t* p) {
    Udp r;
    r.sport = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[0]) << 8) |
        static_cast<uint32_t>(p[1]));
    r.dport = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    r.length = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[4]) << 8) |
        static_cast<uint32_t>(p[5]));
    r.checksum = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[6]) << 8) |
        static_cast<uint32_t>(p[7]));
    return r;
  }

  bool operator==(const Udp& o) const {
    return sport == o.sport &&
           dport == o.dport &&
           length == o.length &&
           checksum == o.checksum;
  }
  bool operator!=(const Udp& o) const { return !(*this == o); }
};

// InfiniBand base transport header
// big endian
struct Bth {
  uint8_t opcode = 0;  // pkt_op: operation
  uint8_t solicited = 0;  // 1 bit: solicited event
  uint8_t migreq = 0;  // 1 bit: migration, sent as 0
  uint8_t pad = 0;  // 2 bits: bytes of zero padding after the payload
  uint8_t tver = 0;  // 4 bits: 0
  uint16_t pkey = 0;  // 0xFFFF
  uint8_t fecn = 0;  // 1 bit: forward congestion, 0
  uint8_t becn = 0;  // 1 bit: on an acknowledgement: a packet since the last one carried CE
  uint32_t dest_qp = 0;  // 24 bits: destination QPN
  uint8_t ack_req = 0;  // 1 bit: acknowledgement requested
  // 7 bits: SEND and immediates: receives that earlier messages of the QP consumed, modulo 128;
  // else 0. (In the specification these bits are reserved.)
  uint8_t rnum = 0;
  uint32_t psn = 0;  // 24 bits: packet sequence number

  static constexpr size_t kBytes = 12;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(opcode);
    p[1] = static_cast<uint8_t>(
        ((solicited & 0x1u) << 7) |
        ((migreq & 0x1u) << 6) |
        ((pad & 0x3u) << 4) |
        (tver & 0xfu));
    p[2] = static_cast<uint8_t>((pkey >> 8));
    p[3] = static_cast<uint8_t>(pkey);
    p[4] = static_cast<uint8_t>(((fecn & 0x1u) << 7) | ((becn & 0x1u) << 6));
    p[5] = static_cast<uint8_t>((dest_qp >> 16));
    p[6] = static_cast<uint8_t>((dest_qp >> 8));
    p[7] = static_cast<uint8_t>(dest_qp);
    p[8] = static_cast<uint8_t>(((ack_req & 0x1u) << 7) | (rnum & 0x7fu));
    p[9] = static_cast<uint8_t>((psn >> 16));
    p[10] = static_cast<uint8_t>((psn >> 8));
    p[11] = static_cast<uint8_t>(psn);
  }

  static Bth unpack(const uint8_t* p) {
    Bth r;
    r.opcode = static_cast<uint8_t>(static_cast<uint32_t>(p[0]));
    r.solicited = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 7) & 0x1u)));
    r.migreq = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 6) & 0x1u)));
    r.pad = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 4) & 0x3u)));
    r.tver = static_cast<uint8_t>(static_cast<uint32_t>((p[1] & 0xfu)));
    r.pkey = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    r.fecn = static_cast<uint8_t>(static_cast<uint32_t>(((p[4] >> 7) & 0x1u)));
    r.becn = static_cast<uint8_t>(static_cast<uint32_t>(((p[4] >> 6) & 0x1u)));
    r.dest_qp = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[5]) << 16) |
        (static_cast<uint32_t>(p[6]) << 8) |
        static_cast<uint32_t>(p[7]));
    r.ack_req = static_cast<uint8_t>(static_cast<uint32_t>(((p[8] >> 7) & 0x1u)));
    r.rnum = static_cast<uint8_t>(static_cast<uint32_t>((p[8] & 0x7fu)));
    r.psn = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[9]) << 16) |
        (static_cast<uint32_t>(p[10]) << 8) |
        static_cast<uint32_t>(p[11]));
    return r;
  }

  bool operator==(const Bth& o) const {
    return opcode == o.opcode &&
           solicited == o.solicited &&
           migreq == o.migreq &&
           pad == o.pad &&
           tver == o.tver &&
           pkey == o.pkey &&
           fecn == o.fecn &&
           becn == o.becn &&
           dest_qp == o.dest_qp &&
           ack_req == o.ack_req &&
           rnum == o.rnum &&
           psn == o.psn;
  }
  bool operator!=(const Bth& o) const { return !(*this == o); }
};

// RDMA extended transport header; address and length of this packet's own payload
// big endian
struct Reth {
  uint64_t va = 0;  // remote card address
  uint32_t rkey = 0;  // remote key
  uint32_t length = 0;  // payload bytes of this packet; READ request: bytes wanted

  static constexpr size_t kBytes = 16;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((va >> 56));
    p[1] = static_cast<uint8_t>((va >> 48));
    p[2] = static_cast<uint8_t>((va >> 40));
    p[3] = static_cast<uint8_t>((va >> 32));
    p[4] = static_cast<uint8_t>((va >> 24));
    p[5] = static_cast<uint8_t>((va >> 16));
    p[6] = static_cast<uint8_t>((va >> 8));
    p[7] = static_cast<uint8_t>(va);
    p[8] = static_cast<uint8_t>((rkey >> 24));
    p[9] = static_cast<uint8_t>((rkey >> 16));
    p[10] = static_cast<uint8_t>((rkey >> 8));
    p[11] = static_cast<uint8_t>(rkey);
    p[12] = static_cast<uint8_t>((length >> 24));
    p[13] = static_cast<uint8_t>((length >> 16));
    p[14] = static_cast<uint8_t>((length >> 8));
    p[15] = static_cast<uint8_t>(length);
  }

  static Reth unpack(const uint8_t* p) {
    Reth r;
    r.va = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[0]) << 56) |
        (static_cast<uint64_t>(p[1]) << 48) |
        (static_cast<uint64_t>(p[2]) << 40) |
        (static_cast<uint64_t>(p[3]) << 32) |
        (static_cast<uint64_t>(p[4]) << 24) |
        (static_cast<uint64_t>(p[5]) << 16) |
        (static_cast<uint64_t>(p[6]) << 8) |
        static_cast<uint64_t>(p[7]));
    r.rkey = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[8]) << 24) |
        (static_cast<uint32_t>(p[9]) << 16) |
        (static_cast<uint32_t>(p[10]) << 8) |
        static_cast<uint32_t>(p[11]));
    r.length = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[12]) << 24) |
        (static_cast<uint32_t>(p[13]) << 16) |
        (static_cast<uint32_t>(p[14]) << 8) |
        static_cast<uint32_t>(p[15]));
    return r;
  }

  bool operator==(const Reth& o) const {
    return va == o.va &&
           rkey == o.rkey &&
           length == o.length;
  }
  bool operator!=(const Reth& o) const { return !(*this == o); }
};

// vendor SEND header, in every SEND packet, behind an ImmDt if there is one. The packet is the last
// of its message if offset + payload = length.
// big endian
struct Sendh {
  // 24 bits: message number: receives that earlier messages of the QP consumed, modulo 2^24
  uint32_t number = 0;
  uint32_t offset = 0;  // where this packet's payload starts in the message
  uint32_t length = 0;  // bytes of the message

  static constexpr size_t kBytes = 12;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = 0;
    p[1] = static_cast<uint8_t>((number >> 16));
    p[2] = static_cast<uint8_t>((number >> 8));
    p[3] = static_cast<uint8_t>(number);
    p[4] = static_cast<uint8_t>((offset >> 24));
    p[5] = static_cast<uint8_t>((offset >> 16));
    p[6] = static_cast<uint8_t>((offset >> 8));
    p[7] = static_cast<uint8_t>(offset);
    p[8] = static_cast<uint8_t>((length >> 24));
    p[9] = static_cast<uint8_t>((length >> 16));
    p[10] = static_cast<uint8_t>((length >> 8));
    p[11] = static_cast<uint8_t>(length);
  }

  static Sendh unpack(const uint8_t* p) {
    Sendh r;
    r.number = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[1]) << 16) |
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    r.offset = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[4]) << 24) |
        (static_cast<uint32_t>(p[5]) << 16) |
        (static_cast<uint32_t>(p[6]) << 8) |
        static_cast<uint32_t>(p[7]));
    r.length = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[8]) << 24) |
        (static_cast<uint32_t>(p[9]) << 16) |
        (static_cast<uint32_t>(p[10]) << 8) |
        static_cast<uint32_t>(p[11]));
    return r;
  }

  bool operator==(const Sendh& o) const {
    return number == o.number &&
           offset == o.offset &&
           length == o.length;
  }
  bool operator!=(const Sendh& o) const { return !(*this == o); }
};

// vendor REDUCE header
// big endian
struct Redh {
  uint8_t op = 0;  // 4 bits: red_op: operation
  uint8_t dtype = 0;  // 4 bits: red_type: element type
  uint8_t ordered = 0;  // 1 bit: to be applied behind all packets of the QP with lower PSN

  static constexpr size_t kBytes = 4;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(((op & 0xfu) << 4) | (dtype & 0xfu));
    p[1] = static_cast<uint8_t>((ordered & 0x1u));
    p[2] = 0;
    p[3] = 0;
  }

  static Redh unpack(const uint8_t* p) {
    Redh r;
    r.op = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 4) & 0xfu)));
    r.dtype = static_cast<uint8_t>(static_cast<uint32_t>((p[0] & 0xfu)));
    r.ordered = static_cast<uint8_t>(static_cast<uint32_t>((p[1] & 0x1u)));
    return r;
  }

  bool operator==(const Redh& o) const {
    return op == o.op &&
           dtype == o.dtype &&
           ordered == o.ordered;
  }
  bool operator!=(const Redh& o) const { return !(*this == o); }
};

// immediate data
// big endian
struct Immdt {
  uint32_t imm = 0;  // value handed to the receiver's completion

  static constexpr size_t kBytes = 4;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((imm >> 24));
    p[1] = static_cast<uint8_t>((imm >> 16));
    p[2] = static_cast<uint8_t>((imm >> 8));
    p[3] = static_cast<uint8_t>(imm);
  }

  static Immdt unpack(const uint8_t* p) {
    Immdt r;
    r.imm = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[0]) << 24) |
        (static_cast<uint32_t>(p[1]) << 16) |
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    return r;
  }

  bool operator==(const Immdt& o) const {
    return imm == o.imm;
  }
  bool operator!=(const Immdt& o) const { return !(*this == o); }
};

// atomic extended transport header
// big endian
struct Atomiceth {
  uint64_t va = 0;  // remote card address, a multiple of 8
  uint32_t rkey = 0;  // remote key
  uint64_t swap_add = 0;  // number to add, or new value
  uint64_t compare = 0;  // compare_swap: value to compare with; fetch_add: 0

  static constexpr size_t kBytes = 28;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((va >> 56));
    p[1] = static_cast<uint8_t>((va >> 48));
    p[2] = static_cast<uint8_t>((va >> 40));
    p[3] = static_cast<uint8_t>((va >> 32));
    p[4] = static_cast<uint8_t>((va >> 24));
    p[5] = static_cast<uint8_t>((va >> 16));
    p[6] = static_cast<uint8_t>((va >> 8));
    p[7] = static_cast<uint8_t>(va);
    p[8] = static_cast<uint8_t>((rkey >> 24));
    p[9] = static_cast<uint8_t>((rkey >> 16));
    p[10] = static_cast<uint8_t>((rkey >> 8));
    p[11] = static_cast<uint8_t>(rkey);
    p[12] = static_cast<uint8_t>((swap_add >> 56));
    p[13] = static_cast<uint8_t>((swap_add >> 48));
    p[14] = static_cast<uint8_t>((swap_add >> 40));
    p[15] = static_cast<uint8_t>((swap_add >> 32));
    p[16] = static_cast<uint8_t>((swap_add >> 24));
    p[17] = static_cast<uint8_t>((swap_add >> 16));
    p[18] = static_cast<uint8_t>((swap_add >> 8));
    p[19] = static_cast<uint8_t>(swap_add);
    p[20] = static_cast<uint8_t>((compare >> 56));
    p[21] = static_cast<uint8_t>((compare >> 48));
    p[22] = static_cast<uint8_t>((compare >> 40));
    p[23] = static_cast<uint8_t>((compare >> 32));
    p[24] = static_cast<uint8_t>((compare >> 24));
    p[25] = static_cast<uint8_t>((compare >> 16));
    p[26] = static_cast<uint8_t>((compare >> 8));
    p[27] = static_cast<uint8_t>(compare);
  }

  static Atomiceth unpack(const uint8_t* p) {
    Atomiceth r;
    r.va = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[0]) << 56) |
        (static_cast<uint64_t>(p[1]) << 48) |
        (static_cast<uint64_t>(p[2]) << 40) |
        (static_cast<uint64_t>(p[3]) << 32) |
        (static_cast<uint64_t>(p[4]) << 24) |
        (static_cast<uint64_t>(p[5]) << 16) |
        (static_cast<uint64_t>(p[6]) << 8) |
        static_cast<uint64_t>(p[7]));
    r.rkey = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[8]) << 24) |
        (static_cast<uint32_t>(p[9]) << 16) |
        (static_cast<uint32_t>(p[10]) << 8) |
        static_cast<uint32_t>(p[11]));
    r.swap_add = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[12]) << 56) |
        (static_cast<uint64_t>(p[13]) << 48) |
        (static_cast<uint64_t>(p[14]) << 40) |
        (static_cast<uint64_t>(p[15]) << 32) |
        (static_cast<uint64_t>(p[16]) << 24) |
        (static_cast<uint64_t>(p[17]) << 16) |
        (static_cast<uint64_t>(p[18]) << 8) |
        static_cast<uint64_t>(p[19]));
    r.compare = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[20]) << 56) |
        (static_cast<uint64_t>(p[21]) << 48) |
        (static_cast<uint64_t>(p[22]) << 40) |
        (static_cast<uint64_t>(p[23]) << 32) |
        (static_cast<uint64_t>(p[24]) << 24) |
        (static_cast<uint64_t>(p[25]) << 16) |
        (static_cast<uint64_t>(p[26]) << 8) |
        static_cast<uint64_t>(p[27]));
    return r;
  }

  bool operator==(const Atomiceth& o) const {
    return va == o.va &&
           rkey == o.rkey &&
           swap_add == o.swap_add &&
           compare == o.compare;
  }
  bool operator!=(const Atomiceth& o) const { return !(*this == o); }
};

// atomic acknowledgement extended transport header
// big endian
struct Atomicacketh {
  uint64_t original = 0;  // value before

  static constexpr size_t kBytes = 8;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((original >> 56));
    p[1] = static_cast<uint8_t>((original >> 48));
    p[2] = static_cast<uint8_t>((original >> 40));
    p[3] = static_cast<uint8_t>((original >> 32));
    p[4] = static_cast<uint8_t>((original >> 24));
    p[5] = static_cast<uint8_t>((original >> 16));
    p[6] = static_cast<uint8_t>((original >> 8));
    p[7] = static_cast<uint8_t>(original);
  }

  static Atomicacketh unpack(const uint8_t* p) {
    Atomicacketh r;
    r.original = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[0]) << 56) |
        (static_cast<uint64_t>(p[1]) << 48) |
        (static_cast<uint64_t>(p[2]) << 40) |
        (static_cast<uint64_t>(p[3]) << 32) |
        (static_cast<uint64_t>(p[4]) << 24) |
        (static_cast<uint64_t>(p[5]) << 16) |
        (static_cast<uint64_t>(p[6]) << 8) |
        static_cast<uint64_t>(p[7]));
    return r;
  }

  bool operator==(const Atomicacketh& o) const {
    return original == o.original;
  }
  bool operator!=(const Atomicacketh& o) const { return !(*this == o); }
};

// ACK extended transport header
// big endian
struct Aeth {
  uint8_t syndrome = 0;  // syndrome: kind
  uint32_t msn = 0;  // 24 bits: messages completed by the responder, modulo 2^24

  static constexpr size_t kBytes = 4;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(syndrome);
    p[1] = static_cast<uint8_t>((msn >> 16));
    p[2] = static_cast<uint8_t>((msn >> 8));
    p[3] = static_cast<uint8_t>(msn);
  }

  static Aeth unpack(const uint8_t* p) {
    Aeth r;
    r.syndrome = static_cast<uint8_t>(static_cast<uint32_t>(p[0]));
    r.msn = static_cast<uint32_t>(
        (static_cast<uint32_t>(p[1]) << 16) |
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    return r;
  }

  bool operator==(const Aeth& o) const {
    return syndrome == o.syndrome &&
           msn == o.msn;
  }
  bool operator!=(const Aeth& o) const { return !(*this == o); }
};

// vendor header of an acknowledgement, behind AETH. done = the first PSN not placed.
// big endian
struct Sackh {
  // plane 0: s > 0: done + s - 1 is the highest PSN at or behind done that came by this plane and
  // was placed or dropped; 0: there is none
  uint16_t seen0 = 0;
  uint16_t seen1 = 0;  // plane 1
  uint16_t seen2 = 0;  // plane 2
  uint16_t seen3 = 0;  // plane 3
  uint16_t seen4 = 0;  // plane 4
  uint16_t seen5 = 0;  // plane 5
  uint16_t seen6 = 0;  // plane 6
  uint16_t seen7 = 0;  // plane 7
  // bytes 16..47 are 256 bits: bit i % 8 of byte 16 + i / 8 is PSN (done & ~63) + i: 1 = placed;
  // bits below done are 1
  uint64_t placed0 = 0;
  uint64_t placed1 = 0;  // bits 64..
  uint64_t placed2 = 0;  // bits 128..
  uint64_t placed3 = 0;  // bits 192..
  // mask of planes on which a packet of the QP carried CE since the last acknowledgement
  uint8_t ce_planes = 0;
  uint8_t ce_count = 0;  // how many, at most 255

  static constexpr size_t kBytes = 52;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((seen0 >> 8));
    p[1] = static_cast<uint8_t>(seen0);
    p[2] = static_cast<uint8_t>((seen1 >> 8));
    p[3] = static_cast<uint8_t>(seen1);
    p[4] = static_cast<uint8_t>((seen2 >> 8));
    p[5] = static_cast<uint8_t>(seen2);
    p[6] = static_cast<uint8_t>((seen3 >> 8));
    p[7] = static_cast<uint8_t>(seen3);
    p[8] = static_cast<uint8_t>((seen4 >> 8));
    p[9] = static_cast<uint8_t>(seen4);
    p[10] = static_cast<uint8_t>((seen5 >> 8));
    p[11] = static_cast<uint8_t>(seen5);
    p[12] = static_cast<uint8_t>((seen6 >> 8));
    p[13] = static_cast<uint8_t>(seen6);
    p[14] = static_cast<uint8_t>((seen7 >> 8));
    p[15] = static_cast<uint8_t>(seen7);
    p[16] = static_cast<uint8_t>((placed0 >> 56));
    p[17] = static_cast<uint8_t>((placed0 >> 48));
    p[18] = static_cast<uint8_t>((placed0 >> 40));
    p[19] = static_cast<uint8_t>((placed0 >> 32));
    p[20] = static_cast<uint8_t>((placed0 >> 24));
    p[21] = static_cast<uint8_t>((placed0 >> 16));
    p[22] = static_cast<uint8_t>((placed0 >> 8));
    p[23] = static_cast<uint8_t>(placed0);
    p[24] = static_cast<uint8_t>((placed1 >> 56));
    p[25] = static_cast<uint8_t>((placed1 >> 48));
    p[26] = static_cast<uint8_t>((placed1 >> 40));
    p[27] = static_cast<uint8_t>((placed1 >> 32));
    p[28] = static_cast<uint8_t>((placed1 >> 24));
    p[29] = static_cast<uint8_t>((placed1 >> 16));
    p[30] = static_cast<uint8_t>((placed1 >> 8));
    p[31] = static_cast<uint8_t>(placed1);
    p[32] = static_cast<uint8_t>((placed2 >> 56));
    p[33] = static_cast<uint8_t>((placed2 >> 48));
    p[34] = static_cast<uint8_t>((placed2 >> 40));
    p[35] = static_cast<uint8_t>((placed2 >> 32));
    p[36] = static_cast<uint8_t>((placed2 >> 24));
    p[37] = static_cast<uint8_t>((placed2 >> 16));
    p[38] = static_cast<uint8_t>((placed2 >> 8));
    p[39] = static_cast<uint8_t>(placed2);
    p[40] = static_cast<uint8_t>((placed3 >> 56));
    p[41] = static_cast<uint8_t>((placed3 >> 48));
    p[42] = static_cast<uint8_t>((placed3 >> 40));
    p[43] = static_cast<uint8_t>((placed3 >> 32));
    p[44] = static_cast<uint8_t>((placed3 >> 24));
    p[45] = static_cast<uint8_t>((placed3 >> 16));
    p[46] = static_cast<uint8_t>((placed3 >> 8));
    p[47] = static_cast<uint8_t>(placed3);
    p[48] = static_cast<uint8_t>(ce_planes);
    p[49] = static_cast<uint8_t>(ce_count);
    p[50] = 0;
    p[51] = 0;
  }

  static Sackh unpack(const uint8_t* p) {
    Sackh r;
    r.seen0 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[0]) << 8) |
        static_cast<uint32_t>(p[1]));
    r.seen1 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[2]) << 8) |
        static_cast<uint32_t>(p[3]));
    r.seen2 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[4]) << 8) |
        static_cast<uint32_t>(p[5]));
    r.seen3 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[6]) << 8) |
        static_cast<uint32_t>(p[7]));
    r.seen4 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[8]) << 8) |
        static_cast<uint32_t>(p[9]));
    r.seen5 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[10]) << 8) |
        static_cast<uint32_t>(p[11]));
    r.seen6 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[12]) << 8) |
        static_cast<uint32_t>(p[13]));
    r.seen7 = static_cast<uint16_t>(
        (static_cast<uint32_t>(p[14]) << 8) |
        static_cast<uint32_t>(p[15]));
    r.placed0 = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[16]) << 56) |
        (static_cast<uint64_t>(p[17]) << 48) |
        (static_cast<uint64_t>(p[18]) << 40) |
        (static_cast<uint64_t>(p[19]) << 32) |
        (static_cast<uint64_t>(p[20]) << 24) |
        (static_cast<uint64_t>(p[21]) << 16) |
        (static_cast<uint64_t>(p[22]) << 8) |
        static_cast<uint64_t>(p[23]));
    r.placed1 = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[24]) << 56) |
        (static_cast<uint64_t>(p[25]) << 48) |
        (static_cast<uint64_t>(p[26]) << 40) |
        (static_cast<uint64_t>(p[27]) << 32) |
        (static_cast<uint64_t>(p[28]) << 24) |
        (static_cast<uint64_t>(p[29]) << 16) |
        (static_cast<uint64_t>(p[30]) << 8) |
        static_cast<uint64_t>(p[31]));
    r.placed2 = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[32]) << 56) |
        (static_cast<uint64_t>(p[33]) << 48) |
        (static_cast<uint64_t>(p[34]) << 40) |
        (static_cast<uint64_t>(p[35]) << 32) |
        (static_cast<uint64_t>(p[36]) << 24) |
        (static_cast<uint64_t>(p[37]) << 16) |
        (static_cast<uint64_t>(p[38]) << 8) |
        static_cast<uint64_t>(p[39]));
    r.placed3 = static_cast<uint64_t>(
        (static_cast<uint64_t>(p[40]) << 56) |
        (static_cast<uint64_t>(p[41]) << 48) |
        (static_cast<uint64_t>(p[42]) << 40) |
        (static_cast<uint64_t>(p[43]) << 32) |
        (static_cast<uint64_t>(p[44]) << 24) |
        (static_cast<uint64_t>(p[45]) << 16) |
        (static_cast<uint64_t>(p[46]) << 8) |
        static_cast<uint64_t>(p[47]));
    r.ce_planes = static_cast<uint8_t>(static_cast<uint32_t>(p[48]));
    r.ce_count = static_cast<uint8_t>(static_cast<uint32_t>(p[49]));
    return r;
  }

  bool operator==(const Sackh& o) const {
    return seen0 == o.seen0 &&
           seen1 == o.seen1 &&
           seen2 == o.seen2 &&
           seen3 == o.seen3 &&
           seen4 == o.seen4 &&
           seen5 == o.seen5 &&
           seen6 == o.seen6 &&
           seen7 == o.seen7 &&
           placed0 == o.placed0 &&
           placed1 == o.placed1 &&
           placed2 == o.placed2 &&
           placed3 == o.placed3 &&
           ce_planes == o.ce_planes &&
           ce_count == o.ce_count;
  }
  bool operator!=(const Sackh& o) const { return !(*this == o); }
};

// one cycle of one link direction
struct Flit {
  uint8_t valid = 0;  // 1 bit: a flit is present
  uint8_t sop = 0;  // 1 bit: first flit of a frame
  uint8_t eop = 0;  // 1 bit: last flit of a frame
  uint8_t vc = 0;  // 2 bits: virtual channel of the frame
  // 6 bits: unused bytes at the end of the eop flit, 0 elsewhere; unused bytes are zero
  uint8_t empty = 0;
  std::array<uint32_t, 16> data{};  // 512 bits: payload, byte 0 in bits 7:0

  static constexpr size_t kBits = 523;
  static constexpr size_t kWords = 17;
  static constexpr size_t kValidLsb = 522;
  static constexpr size_t kValidBits = 1;
  static constexpr size_t kSopLsb = 521;
  static constexpr size_t kSopBits = 1;
  static constexpr size_t kEopLsb = 520;
  static constexpr size_t kEopBits = 1;
  static constexpr size_t kVcLsb = 518;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kEmptyLsb = 512;
  static constexpr size_t kEmptyBits = 6;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 512;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = data[0];
    w[1] = data[1];
    w[2] = data[2];
    w[3] = data[3];
    w[4] = data[4];
    w[5] = data[5];
    w[6] = data[6];
    w[7] = data[7];
    w[8] = data[8];
    w[9] = data[9];
    w[10] = data[10];
    w[11] = data[11];
    w[12] = data[12];
    w[13] = data[13];
    w[14] = data[14];
    w[15] = data[15];
    w[16] =
        ((static_cast<uint32_t>(valid) & 0x1u) << 10) |
        ((static_cast<uint32_t>(sop) & 0x1u) << 9) |
        ((static_cast<uint32_t>(eop) & 0x1u) << 8) |
        ((static_cast<uint32_t>(vc) & 0x3u) << 6) |
        (static_cast<uint32_t>(empty) & 0x3fu);
  }

  static Flit from_words(const uint32_t* w) {
    Flit r;
    r.valid = static_cast<uint8_t>(((w[16] >> 10) & 0x1u));
    r.sop = static_cast<uint8_t>(((w[16] >> 9) & 0x1u));
    r.eop = static_cast<uint8_t>(((w[16] >> 8) & 0x1u));
    r.vc = static_cast<uint8_t>(((w[16] >> 6) & 0x3u));
    r.empty = static_cast<uint8_t>((w[16] & 0x3fu));
    r.data[0] = w[0];
    r.data[1] = w[1];
    r.data[2] = w[2];
    r.data[3] = w[3];
    r.data[4] = w[4];
    r.data[5] = w[5];
    r.data[6] = w[6];
    r.data[7] = w[7];
    r.data[8] = w[8];
    r.data[9] = w[9];
    r.data[10] = w[10];
    r.data[11] = w[11];
    r.data[12] = w[12];
    r.data[13] = w[13];
    r.data[14] = w[14];
    r.data[15] = w[15];
    return r;
  }

  bool operator==(const Flit& o) const {
    return valid == o.valid &&
           sop == o.sop &&
           eop == o.eop &&
           vc == o.vc &&
           empty == o.empty &&
           data == o.data;
  }
  bool operator!=(const Flit& o) const { return !(*this == o); }
};

}  // namespace ubl::spec
