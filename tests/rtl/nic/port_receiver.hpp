// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a nic_port must show and do with the frames it receives: headers per channel, verdicts,
// placement reports and the memory they leave behind.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "Vnic_portChk.h"
#include "port_bench.hpp"
#include "ubl/numerics/reduce.hpp"

namespace ubl::test {

using Bench = PortBench<Vnic_portChk>;

inline constexpr uint8_t kReq = static_cast<uint8_t>(spec::Vc::kReq);
inline constexpr uint8_t kRsp = static_cast<uint8_t>(spec::Vc::kRsp);
inline constexpr uint8_t kBulk = static_cast<uint8_t>(spec::Vc::kBulk);
inline constexpr uint8_t kWrite = static_cast<uint8_t>(spec::PktOp::kWrite);
inline constexpr uint8_t kWriteImm = static_cast<uint8_t>(spec::PktOp::kWriteImm);
inline constexpr uint8_t kReduce = static_cast<uint8_t>(spec::PktOp::kReduce);
inline constexpr uint8_t kReduceImm = static_cast<uint8_t>(spec::PktOp::kReduceImm);
inline constexpr uint8_t kAck = static_cast<uint8_t>(spec::PktOp::kAck);
inline constexpr uint8_t kReadRequest = static_cast<uint8_t>(spec::PktOp::kReadRequest);
inline constexpr uint8_t kReadResponse = static_cast<uint8_t>(spec::PktOp::kReadResponse);
inline constexpr uint8_t kSend = static_cast<uint8_t>(spec::PktOp::kSend);
inline constexpr uint8_t kSendImm = static_cast<uint8_t>(spec::PktOp::kSendImm);
inline constexpr uint8_t kFetchAdd = static_cast<uint8_t>(spec::PktOp::kFetchAdd);
inline constexpr uint8_t kCompareSwap = static_cast<uint8_t>(spec::PktOp::kCompareSwap);
inline constexpr uint8_t kAtomicResponse = static_cast<uint8_t>(spec::PktOp::kAtomicResponse);
inline constexpr uint16_t kPeer = 0x0777;

inline uint8_t code(spec::ErrCause c) { return static_cast<uint8_t>(c); }
inline uint8_t code(spec::RxAction a) { return static_cast<uint8_t>(a); }

// Everything but acknowledgements.
constexpr std::array<uint8_t, 11> kRequests = {
    kWrite, kWriteImm, kReduce,   kReduceImm,   kReadRequest,   kReadResponse,
    kSend,  kSendImm,  kFetchAdd, kCompareSwap, kAtomicResponse};

inline spec::Txd random_txd(std::mt19937_64& r, uint8_t opcode, uint8_t vc, unsigned len) {
  spec::Txd d;
  d.opcode = opcode;
  d.vc = vc;
  d.dst_node = static_cast<uint16_t>(r());
  d.dst_qpn = r() & 0xffffff;
  d.src_qpn = static_cast<uint16_t>(r());
  d.psn = r() & 0xffffff;
  d.ack_req = r() & 1;
  d.becn = r() & 1;
  d.laddr = r() & 0x3fffff;
  d.len = static_cast<uint16_t>(fixed_payload(opcode) != 0 ? fixed_payload(opcode) : len);
  d.raddr = is_send(opcode) ? r() >> 8 : r();  // a message number has 24 bits
  d.rkey = static_cast<uint32_t>(r());
  d.imm = static_cast<uint32_t>(r());
  d.syndrome = static_cast<uint8_t>(r());
  d.msn = r() & 0xffffff;
  d.rnum = r() & 0x7f;
  if (is_reduce(opcode)) {
    d.red_op = static_cast<uint8_t>(r() % 3);
    d.red_dtype = static_cast<uint8_t>(r() % 4);
    d.red_ordered = r() & 1;
  }
  // Inline payload is where an acknowledgement has its SACKH.
  d.inl = fixed_payload(opcode) != 0 || (has_payload(opcode) && !is_read_response(opcode) &&
                                         len <= spec::kNicMaxInline && r() % 2 != 0);
  for (auto& word : d.sack) word = static_cast<uint32_t>(r());
  d.sack[12] &= 0xffff;  // the last two bytes of SACKH are reserved
  return d;
}

// Feeds flits into a port as credits allow, gives verdicts, and knows what must come out.
class Receiver {
 public:
  Receiver(const BenchConfig& c, uint64_t salt) : bench(c, salt), r(rng(salt + 1000)) {
    golden = bench.memory;
    credits.fill(kVcDepth);
    bench.on_rxh = [this](const spec::Rxh& h) { header(h); };
    bench.on_rxd = [this](const spec::Rxd& d) { placed(d); };
  }

  // A descriptor of the peer, and where its payload goes: the verdict says that, for all but SEND
  // it is the address of the header.
  struct Request : spec::Txd {
    uint64_t target = 0;
  };

  Request request(uint8_t op, uint8_t vc, unsigned len, uint64_t addr) {
    Request d{random_txd(r, op, vc, op == kAck ? 0 : len), addr};
    d.dst_node = bench.config.node;
    if (!is_send(op)) d.raddr = addr;
    return d;
  }

  Bytes payload(unsigned len) {
    Bytes p(len);
    for (auto& b : p) b = static_cast<uint8_t>(r());
    return p;
  }

  Bytes frame(const spec::Txd& d, Bytes p) {
    if (fixed_payload(d.opcode) != 0) fit(p, d.len);
    return build_frame(d, kPeer, bench.config.plane, p);
  }
  static void fit(Bytes& p, size_t n) {
    for (size_t i = p.size(); i < n; ++i) p.push_back(static_cast<uint8_t>(37 * i + 11));
    p.resize(n);
  }

  // Queues a right frame and what must follow.
  void good(const Request& d, Bytes p, bool ce = false) {
    if (fixed_payload(d.opcode) != 0) fit(p, d.len);
    // Sometimes what memory holds, so that a compare_swap swaps.
    if (d.opcode == kCompareSwap && r() % 2 == 0)
      for (unsigned i = 0; i < 8; ++i) p[15 - i] = golden[(d.target + i) % golden.size()];
    Bytes f = frame(d, p);
    spec::Rxh h = expected_header(d, kPeer);
    if (ce) {
      f[15] |= 3;
      fix_ip_checksum(f);
      fix_fcs(f);
      h.ce = 1;
    }
    flits(to_flits(f, d.vc));
    headers[d.vc].push_back({h, p, d.target});
  }

  void bad(const Bytes& f, uint8_t vc, spec::ErrCause cause) {
    flits(to_flits(f, vc));
    error(vc, cause);
  }
  void error(uint8_t vc, spec::ErrCause cause) {
    spec::Rxh h;
    h.err = code(cause);
    h.vc = vc;
    headers[vc].push_back({h, {}, 0});
  }
  void flits(const std::vector<spec::Flit>& list) {
    input.insert(input.end(), list.begin(), list.end());
  }

  void cycle() {
    const spec::Flit* f = nullptr;
    if (!input.empty() && (ignore_credits || credits[input.front().vc] > 0) &&
        bench.roll(flit_rate)) {
      f = &input.front();
      --credits[f->vc];
    }
    bench.cycle(f);
    if (f != nullptr) input.pop_front();
    for (int v = 0; v < 3; ++v) {
      credits[v] += (bench.rx_credit >> v) & 1;
      ASSERT_LE(credits[v], kVcDepth) << "more credits than flits, channel " << v;
    }
  }

  bool done() {
    return input.empty() && headers[0].empty() && headers[1].empty() && headers[2].empty() &&
           reports.empty() && bench.quiet() && bench.idle();
  }

  void run(int limit = 3000) {
    uint64_t moved = bench.moved;
    size_t left = input.size();
    int still = 0;
    while (!done()) {
      cycle();
      if (testing::Test::HasFailure()) return;
      still = bench.moved == moved && input.size() == left ? still + 1 : 0;
      moved = bench.moved;
      left = input.size();
      ASSERT_LT(still, limit) << "no progress at cycle " << bench.now;
    }
    for (int v = 0; v < 3; ++v) ASSERT_EQ(credits[v], kVcDepth) << "credits lost, channel " << v;
    ASSERT_TRUE(bench.memory == golden) << "memory differs";
  }

  void header(const spec::Rxh& h) {
    ASSERT_LT(h.vc, 3);
    ++header_count[h.vc];
    ASSERT_FALSE(headers[h.vc].empty()) << "unexpected header, err " << int{h.err};
    const Expected e = headers[h.vc].front();
    headers[h.vc].pop_front();
    if (e.header.err != 0) {
      ASSERT_EQ(h.err, e.header.err);
      return;
    }
    ASSERT_EQ(h.err, 0);
    ASSERT_TRUE(h == e.header) << "opcode " << int{h.opcode} << " len " << h.len;
    if (!has_payload(h.opcode)) return;
    spec::Rxv v;
    v.rsp = is_response(h.opcode);
    v.action = code(is_reduce(h.opcode)   ? spec::RxAction::kReduce
                    : is_atomic(h.opcode) ? spec::RxAction::kAtomic
                                          : spec::RxAction::kWrite);
    v.red_op = h.red_op;
    v.red_dtype = is_atomic(h.opcode) ? h.opcode == kCompareSwap : h.red_dtype;
    v.swap8 = is_atomic_response(h.opcode);
    if (r() % 100 < drop_percent) v.action = code(spec::RxAction::kDrop);
    v.qpn = static_cast<uint16_t>(h.dst_qpn);
    v.psn = h.psn;
    v.addr = e.target;
    v.len = h.len;
    bench.verdicts.push_back(v);
    if (v.action == code(spec::RxAction::kDrop)) {
      // Nobody waits for a READ response that is not wanted.
      if (v.rsp == 0) reports.push_back({v.qpn, v.psn, false, false, 0});
      return;
    }
    const bool refused = h.len != 0 && (v.addr & kBadAddress);
    reports.push_back({v.qpn, v.psn, refused, v.rsp != 0, 0});
    if (refused) return;
    const auto number = [&](unsigned first) {  // most significant byte first
      uint64_t n = 0;
      for (unsigned k = 0; k < 8; ++k) n = n << 8 | e.payload[first + k];
      return n;
    };
    const auto set = [&](uint64_t n) {
      for (unsigned k = 0; k < 8; ++k)
        golden[(v.addr + k) % golden.size()] = static_cast<uint8_t>(n >> (8 * k));
    };
    if (is_atomic(h.opcode)) {
      uint64_t old = 0;
      for (unsigned k = 0; k < 8; ++k)
        old |= static_cast<uint64_t>(golden[(v.addr + k) % golden.size()]) << (8 * k);
      reports.back().old = old;
      if (h.opcode == kFetchAdd) set(old + number(0));
      if (h.opcode == kCompareSwap && old == number(8)) set(number(0)), ++swapped;
      return;
    }
    if (v.swap8) return set(number(0));
    if (v.action == code(spec::RxAction::kReduce)) {
      Bytes acc(h.len);
      for (unsigned k = 0; k < h.len; ++k) acc[k] = golden[(v.addr + k) % golden.size()];
      numerics::reduce_buffer(static_cast<numerics::ElementType>(h.red_dtype),
                              static_cast<numerics::ReduceOp>(h.red_op), acc.data(),
                              e.payload.data(), h.len);
      for (unsigned k = 0; k < h.len; ++k) golden[(v.addr + k) % golden.size()] = acc[k];
      return;
    }
    for (unsigned k = 0; k < h.len; ++k) golden[(v.addr + k) % golden.size()] = e.payload[k];
  }

  void placed(const spec::Rxd& d) {
    ASSERT_FALSE(reports.empty());
    const Report w = reports.front();
    reports.pop_front();
    ASSERT_EQ(d.qpn, w.qpn);
    ASSERT_EQ(d.psn, w.psn);
    ASSERT_EQ(d.err, w.err);
    ASSERT_EQ(d.rsp != 0, w.rsp);
    if (!w.err) {
      ASSERT_EQ(d.old, w.old);
    }
    placed_at.push_back(bench.now);
  }

  struct Expected {
    spec::Rxh header;
    Bytes payload;
    uint64_t target = 0;
  };
  struct Report {
    uint16_t qpn;
    uint32_t psn;
    bool err, rsp;
    uint64_t old;  // of an atomic
  };

  Bench bench;
  std::mt19937_64 r;
  Bytes golden;
  std::deque<spec::Flit> input;
  std::array<int, 3> credits{};
  std::array<int, 3> header_count{};
  std::array<std::deque<Expected>, 3> headers;
  std::deque<Report> reports;
  std::vector<uint64_t> placed_at;
  double flit_rate = 1.0;
  unsigned drop_percent = 0;
  uint64_t swapped = 0;  // compare_swaps that were equal
  bool ignore_credits = false;
};

// Targets never overlap while verdicts are in flight.
inline uint64_t next_target(std::mt19937_64& r, uint64_t& cursor, unsigned len) {
  cursor = (cursor + r() % 70) % (1 << 21);
  const uint64_t at = cursor;
  cursor += std::max(len, 16u);  // an atomic has a length of its own
  return at;
}

}  // namespace ubl::test
