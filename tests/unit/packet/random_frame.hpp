// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <random>

#include "ubl/packet/frame.hpp"

namespace ubl::test {

inline constexpr std::array kAllOps = {
    spec::PktOp::kWrite,        spec::PktOp::kWriteImm,    spec::PktOp::kAck,
    spec::PktOp::kReduce,       spec::PktOp::kReduceImm,   spec::PktOp::kReadRequest,
    spec::PktOp::kReadResponse, spec::PktOp::kSend,        spec::PktOp::kSendImm,
    spec::PktOp::kFetchAdd,     spec::PktOp::kCompareSwap, spec::PktOp::kAtomicResponse};

/// A frame of this operation with every field random, as parse gives it back.
inline packet::Frame random_frame(std::mt19937_64& rng, spec::PktOp opcode) {
  const packet::OpInfo op = packet::op_info(opcode);
  packet::Frame f;
  f.src_node = static_cast<uint16_t>(rng());
  f.dst_node = static_cast<uint16_t>(rng());
  f.plane = static_cast<uint8_t>(rng() % spec::kLinkMaxPlanes);
  f.vc = static_cast<spec::Vc>(rng() % spec::kLinkNumVc);
  f.ecn = static_cast<spec::Ecn>(rng() % 4);
  f.src_qpn = static_cast<uint32_t>(rng() & 0x3FFF);
  f.dst_qpn = static_cast<uint32_t>(rng() & 0xFFFFFF);
  f.opcode = opcode;
  f.psn = static_cast<uint32_t>(rng() & 0xFFFFFF);
  f.ack_req = (rng() & 1) != 0;
  f.rnum = static_cast<uint8_t>(rng() & 0x7F);
  f.becn = (rng() & 1) != 0;
  if (op.reth) {
    f.raddr = rng();
    f.rkey = static_cast<uint32_t>(rng());
    if (!op.payload) f.read_len = static_cast<uint32_t>(rng() % (spec::kLinkMtu + 1));
  }
  if (op.redh) {
    f.red_op = static_cast<spec::RedOp>(rng() % 16);
    f.red_dtype = static_cast<spec::RedType>(rng() % 16);
    f.red_ordered = (rng() & 1) != 0;
  }
  if (op.immdt) f.imm = static_cast<uint32_t>(rng());
  if (op.aeth) {
    f.syndrome = static_cast<spec::Syndrome>(rng());
    f.msn = static_cast<uint32_t>(rng() & 0xFFFFFF);
  }
  if (op.sendh) {
    f.send_number = static_cast<uint32_t>(rng() & 0xFFFFFF);
    f.send_offset = static_cast<uint32_t>(rng());
    f.send_length = static_cast<uint32_t>(rng());
  }
  if (op.atomiceth) {
    f.raddr = rng();
    f.rkey = static_cast<uint32_t>(rng());
    f.swap_add = rng();
    f.compare = rng();
  }
  if (op.atomicacketh) f.original = rng();
  if (op.sackh) {
    for (auto& x : f.seen) x = static_cast<uint16_t>(rng());
    for (auto& x : f.placed) x = static_cast<uint8_t>(rng());
    f.ce_planes = static_cast<uint8_t>(rng());
    f.ce_count = static_cast<uint8_t>(rng());
  }
  if (op.payload) {
    // Short ones, long ones, and the borders.
    constexpr size_t kMtu = spec::kLinkMtu;
    const size_t sizes[] = {0, 1, 4, kMtu, kMtu - 1, rng() % 130, rng() % 130, rng() % (kMtu + 1)};
    f.payload.resize(sizes[rng() % 8]);
    for (auto& x : f.payload) x = static_cast<uint8_t>(rng());
  }
  return f;
}

}  // namespace ubl::test
