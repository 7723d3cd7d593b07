// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Independent golden model of one frame: bytes are laid down one by one in wire order, CRCs are
// computed bit by bit. Nothing here knows flits, words or the shifted domain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ubl/spec/link.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::test {

using Bytes = std::vector<uint8_t>;

inline uint32_t crc32_byte(uint32_t state, uint8_t byte) {
  state ^= byte;
  for (int i = 0; i < 8; ++i) state = (state >> 1) ^ ((state & 1) ? 0xEDB88320u : 0u);
  return state;
}

inline uint32_t crc32_table(uint32_t state, uint8_t byte) {
  static const std::vector<uint32_t> table = [] {
    std::vector<uint32_t> t(256);
    for (uint32_t i = 0; i < 256; ++i) t[i] = crc32_byte(0, static_cast<uint8_t>(i));
    return t;
  }();
  return (state >> 8) ^ table[(state ^ byte) & 0xff];
}

inline void put(Bytes& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

inline void put_little(Bytes& out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

inline uint32_t icrc_of(const Bytes& frame, size_t end) {
  Bytes b(frame.begin() + 14, frame.begin() + static_cast<long>(end));
  b.resize(std::max<size_t>(b.size(), 33));  // a frame too short to have an ICRC
  b[1] = b[8] = b[10] = b[11] = 0xff;        // type of service, time to live, IP checksum
  b[26] = b[27] = 0xff;                      // UDP checksum
  b[32] = 0xff;                              // BTH byte 4
  uint32_t s = 0xffffffff;
  for (int i = 0; i < 8; ++i) s = crc32_table(s, 0xff);
  for (uint8_t x : b) s = crc32_table(s, x);
  return ~s;
}

inline uint32_t fcs_of(const Bytes& frame, size_t end) {
  uint32_t s = 0xffffffff;
  for (size_t i = 0; i < end; ++i) s = crc32_table(s, frame[i]);
  return ~s;
}

inline void fix_ip_checksum(Bytes& frame) {
  frame[24] = frame[25] = 0;
  uint32_t sum = 0;
  for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  frame[24] = static_cast<uint8_t>(~sum >> 8);
  frame[25] = static_cast<uint8_t>(~sum);
}

// Replaces the last eight bytes by the right ICRC and FCS.
inline void fix_crcs(Bytes& frame) {
  const size_t end = frame.size() - 8;
  frame.resize(end);
  put_little(frame, icrc_of(frame, end));
  put_little(frame, fcs_of(frame, end + 4));
}

inline void fix_fcs(Bytes& frame) {
  const size_t end = frame.size() - 4;
  frame.resize(end);
  put_little(frame, fcs_of(frame, end));
}

inline bool is_ack(uint8_t op) { return op == static_cast<uint8_t>(spec::PktOp::kAck); }
inline bool is_read_request(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kReadRequest);
}
inline bool is_read_response(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kReadResponse);
}
inline bool is_send(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kSend) ||
         op == static_cast<uint8_t>(spec::PktOp::kSendImm);
}
// AtomicETH is address, key and, as payload, the operands; AtomicAckETH is payload.
inline bool is_atomic(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kFetchAdd) ||
         op == static_cast<uint8_t>(spec::PktOp::kCompareSwap);
}
inline bool is_atomic_response(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kAtomicResponse);
}
inline bool is_response(uint8_t op) { return is_read_response(op) || is_atomic_response(op); }
inline bool has_aeth(uint8_t op) { return is_ack(op) || is_response(op); }
inline bool has_reth(uint8_t op) { return !has_aeth(op) && !is_send(op) && !is_atomic(op); }
// Bytes of payload that an operation always has; 0: any number.
inline unsigned fixed_payload(uint8_t op) {
  return is_atomic(op) ? 16 : is_atomic_response(op) ? 8 : 0;
}
inline bool has_payload(uint8_t op) { return !is_ack(op) && !is_read_request(op); }
inline bool is_reduce(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kReduce) ||
         op == static_cast<uint8_t>(spec::PktOp::kReduceImm);
}
inline bool has_imm(uint8_t op) {
  return op == static_cast<uint8_t>(spec::PktOp::kWriteImm) ||
         op == static_cast<uint8_t>(spec::PktOp::kReduceImm) ||
         op == static_cast<uint8_t>(spec::PktOp::kSendImm);
}
// Bytes from the start of the BTH to the payload.
inline size_t header_bytes(uint8_t op) {
  const size_t first = is_ack(op)                     ? 4 + 52
                       : has_aeth(op)                 ? 4
                       : is_send(op) || is_atomic(op) ? 12
                                                      : 16;
  return 12 + first + (is_reduce(op) ? 4 : 0) + (has_imm(op) ? 4 : 0);
}

// Byte i of SACKH.
template <class Bundle>
uint8_t sack_byte(const Bundle& b, size_t i) {
  return static_cast<uint8_t>(b.sack[i / 4] >> (8 * (i % 4)));
}

// The frame that descriptor `d` and its payload must become on the wire.
inline Bytes build_frame(const spec::Txd& d, uint16_t node, uint8_t plane, const Bytes& payload,
                         bool read_error = false) {
  const bool ack = is_ack(d.opcode), send = is_send(d.opcode);
  const size_t len = has_payload(d.opcode) ? d.len : 0;
  const size_t pad = (4 - len % 4) % 4;
  const size_t headers = header_bytes(d.opcode);
  const size_t udp_length = 8 + headers + len + pad + 4;
  Bytes f;
  f.reserve(headers + len + 64);
  put(f, 0x025500, 3), put(f, plane, 1), put(f, d.dst_node, 2);
  put(f, 0x025500, 3), put(f, plane, 1), put(f, node, 2);
  put(f, 0x0800, 2);
  put(f, 0x45, 1), put(f, static_cast<uint64_t>(d.vc) * 8 << 2 | (ack ? 0 : 2), 1);
  put(f, 20 + udp_length, 2), put(f, 0, 2), put(f, 0x4000, 2), put(f, 64, 1), put(f, 17, 1);
  put(f, 0, 2);
  put(f, 10, 1), put(f, plane, 1), put(f, node, 2);
  put(f, 10, 1), put(f, plane, 1), put(f, d.dst_node, 2);
  put(f, 0xC000 | (d.src_qpn & 0x3fff), 2), put(f, 4791, 2), put(f, udp_length, 2), put(f, 0, 2);
  put(f, d.opcode, 1), put(f, pad << 4, 1), put(f, 0xffff, 2);
  put(f, d.becn ? 0x40 : 0, 1), put(f, d.dst_qpn, 3);
  put(f, (d.ack_req ? 0x80 : 0) | d.rnum, 1), put(f, d.psn, 3);
  if (send) {
    // The immediate goes first. SENDH: number, offset, length of the message.
    if (has_imm(d.opcode)) put(f, d.imm, 4);
    put(f, 0, 1), put(f, d.raddr >> 32, 3), put(f, d.raddr, 4), put(f, d.rkey, 4);
  } else if (is_atomic(d.opcode)) {
    put(f, d.raddr, 8), put(f, d.rkey, 4);
  } else if (has_reth(d.opcode)) {
    put(f, d.raddr, 8), put(f, d.rkey, 4), put(f, d.len, 4);
  } else {
    put(f, d.syndrome, 1), put(f, d.msn, 3);
  }
  if (ack)
    for (size_t i = 0; i < 52; ++i) put(f, sack_byte(d, i), 1);
  if (!ack) {
    if (is_reduce(d.opcode))
      put(f, static_cast<uint64_t>(d.red_op) << 4 | d.red_dtype, 1), put(f, d.red_ordered, 1),
          put(f, 0, 2);
    if (has_imm(d.opcode) && !send) put(f, d.imm, 4);
    f.insert(f.end(), payload.begin(), payload.begin() + static_cast<long>(len));
    f.insert(f.end(), pad, 0);
  }
  fix_ip_checksum(f);
  put_little(f, icrc_of(f, f.size()) ^ (read_error ? 0xffffffffu : 0));
  put_little(f, fcs_of(f, f.size()) ^ (read_error ? 0xffffffffu : 0));
  return f;
}

// The header that nic_port must show for a right frame made from `d` by `node`.
inline spec::Rxh expected_header(const spec::Txd& d, uint16_t node) {
  spec::Rxh h;
  h.opcode = d.opcode;
  h.vc = d.vc;
  h.src_node = node;
  h.dst_qpn = d.dst_qpn;
  h.psn = d.psn;
  h.ack_req = d.ack_req;
  h.becn = d.becn;
  h.rnum = d.rnum;
  if (is_ack(d.opcode)) h.sack = d.sack;
  if (has_aeth(d.opcode)) {
    h.syndrome = d.syndrome;
    h.msn = d.msn;
    if (has_payload(d.opcode)) h.len = d.len;
    return h;
  }
  h.raddr = d.raddr;
  h.rkey = d.rkey;
  h.len = d.len;
  if (is_reduce(d.opcode))
    h.red_op = d.red_op, h.red_dtype = d.red_dtype, h.red_ordered = d.red_ordered;
  if (has_imm(d.opcode)) h.imm = d.imm;
  return h;
}

inline std::vector<spec::Flit> to_flits(const Bytes& frame, uint8_t vc) {
  std::vector<spec::Flit> flits((frame.size() + 63) / 64);
  for (size_t k = 0; k < flits.size(); ++k) {
    spec::Flit& f = flits[k];
    f.valid = 1;
    f.sop = k == 0;
    f.eop = k + 1 == flits.size();
    f.vc = vc;
    f.empty = f.eop ? static_cast<uint8_t>(64 * flits.size() - frame.size()) : 0;
    for (size_t i = 0; i < 64 && 64 * k + i < frame.size(); ++i) {
      f.data[i / 4] |= static_cast<uint32_t>(frame[64 * k + i]) << (8 * (i % 4));
    }
  }
  return flits;
}

inline Bytes to_bytes(const std::vector<spec::Flit>& flits) {
  Bytes b;
  for (const spec::Flit& f : flits) {
    for (size_t i = 0; i < 64u - f.empty; ++i) {
      b.push_back(static_cast<uint8_t>(f.data[i / 4] >> (8 * (i % 4))));
    }
  }
  return b;
}

}  // namespace ubl::test
