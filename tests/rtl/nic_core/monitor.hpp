// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// What must hold in every cycle of every run, whatever the network does: rtl/nic/nic_transport.md.
// The monitor sees the bundles of both cards and keeps, per QP, a sender (what is outstanding) and
// a receiver (what was placed, what was seen on which plane) that follow what really happened. It
// throws std::runtime_error when a card says or does something that contradicts them. With
// UBL_TRACE set it prints everything it sees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "ubl/spec/link.hpp"
#include "ubl/spec/nic.hpp"

namespace nic_core_test {

using namespace ubl::spec;

constexpr uint64_t kNever = ~0ull;

template <class E>
constexpr auto raw(E e) {
  return static_cast<std::underlying_type_t<E>>(e);
}

inline bool carries_payload(uint8_t op) {
  return op != raw(PktOp::kAck) && op != raw(PktOp::kReadRequest);
}
inline bool is_atomic(uint8_t op) {
  return op == raw(PktOp::kFetchAdd) || op == raw(PktOp::kCompareSwap);
}
// Of READs and atomics.
inline bool is_response(uint8_t op) {
  return op == raw(PktOp::kReadResponse) || op == raw(PktOp::kAtomicResponse);
}
inline bool is_send(uint8_t op) { return op == raw(PktOp::kSend) || op == raw(PktOp::kSendImm); }
inline bool is_reduce(uint8_t op) {
  return op == raw(PktOp::kReduce) || op == raw(PktOp::kReduceImm);
}
inline bool has_imm(uint8_t op) {
  return op == raw(PktOp::kWriteImm) || op == raw(PktOp::kReduceImm) || op == raw(PktOp::kSendImm);
}
inline uint32_t mtu_of(uint8_t code) { return kLinkMtu >> code; }

// Fields of a SACKH in a bundle; its byte 0 is in bits 7:0.
struct Sack {
  explicit Sack(const std::array<uint32_t, 13>& words) { std::memcpy(byte, words.data(), 52); }
  unsigned seen(unsigned plane) const {
    return unsigned(byte[2 * plane]) << 8 | byte[2 * plane + 1];
  }
  bool placed(unsigned i) const { return byte[16 + i / 8] >> (i % 8) & 1; }
  unsigned ce_planes() const { return byte[48]; }
  unsigned ce_count() const { return byte[49]; }
  std::array<uint32_t, 13> words() const {
    std::array<uint32_t, 13> w;
    std::memcpy(w.data(), byte, 52);
    return w;
  }
  uint8_t byte[52];
};

// Packets of a work request, as nic_transport.md, nic_send.md and nic_read.md cut it.
struct Packet {
  uint8_t opcode = 0, vc = 0, red_op = 0, red_dtype = 0, red_ordered = 0, rnum = 0;
  uint32_t len = 0, rkey = 0, imm = 0;
  uint64_t laddr = 0, raddr = 0;
  bool last = false, inl = false;
};

// Receives that a request consumes at the peer.
inline bool consumes(const Wqe& w) {
  return w.opcode == raw(WqeOp::kWriteImm) || w.opcode == raw(WqeOp::kReduceImm) ||
         w.opcode == raw(WqeOp::kSend) || w.opcode == raw(WqeOp::kSendImm);
}
inline bool makes_packets(const Wqe& w) {
  return w.opcode != raw(WqeOp::kNop) && w.opcode != raw(WqeOp::kWait);
}
inline uint32_t packets_of(const Wqe& w, uint32_t mtu) {
  return makes_packets(w) ? std::max(1u, (w.length + mtu - 1) / mtu) : 0;
}
// Packet at `offset` of a request before which `number` receives were consumed.
inline Packet packet_of(const Wqe& w, uint32_t mtu, uint32_t offset, uint32_t number) {
  static constexpr PktOp kFirst[] = {PktOp::kWrite,       PktOp::kWrite,      PktOp::kWrite,
                                     PktOp::kReduce,      PktOp::kReduce,     PktOp::kReadRequest,
                                     PktOp::kSend,        PktOp::kSend,       PktOp::kWrite,
                                     PktOp::kCompareSwap, PktOp::kCompareSwap};
  static constexpr PktOp kLast[] = {PktOp::kWrite,    PktOp::kWrite,      PktOp::kWriteImm,
                                    PktOp::kReduce,   PktOp::kReduceImm,  PktOp::kReadRequest,
                                    PktOp::kSend,     PktOp::kSendImm,    PktOp::kWrite,
                                    PktOp::kFetchAdd, PktOp::kCompareSwap};
  Packet p;
  p.len = std::min(w.length - offset, mtu);
  p.last = offset + p.len == w.length;
  p.opcode = raw((p.last ? kLast : kFirst)[w.opcode]);
  p.vc = w.vc;
  p.red_op = w.red_op;
  p.red_dtype = w.red_dtype;
  if (is_reduce(p.opcode)) p.red_ordered = w.ordered;
  p.laddr = w.laddr + offset;
  p.raddr = w.raddr + offset;
  p.rkey = w.rkey;
  p.imm = w.imm;
  p.inl = w.inl;
  if (is_atomic(p.opcode)) p.len = 16, p.inl = true;  // the operands
  if (is_send(p.opcode)) p.raddr = uint64_t(number & 0xffffff) << 32 | offset, p.rkey = w.length;
  if (is_send(p.opcode) || has_imm(p.opcode)) p.rnum = number & 127;
  return p;
}

class Monitor {
 public:
  struct Totals {
    uint64_t packets = 0, resent = 0, acks = 0, naks = 0, placed = 0, dropped = 0, reads = 0;
  };
  Totals totals[2];
  bool on = true;
  bool trace = std::getenv("UBL_TRACE") != nullptr;  // all bundles, to standard error
  uint64_t now = 0;                                  // cycles of the bench
  // From an input of a card to the output that shows it, at most; more is a missing report.
  unsigned lag = 400;

  // ------------------------------------------------------------------------ life of a QP
  void reset(unsigned c) {
    for (auto& [qpn, q] : qps_[c]) ++q.life;
    for (auto& [qpn, q] : qps_[c]) q.sender = {}, q.receiver = {};
    enabled_[c] = false;
    enabled_at_[c] = now;
  }
  void set_enabled(unsigned c, bool v) {
    if (trace) show(c, 0, v ? "enabled" : "disabled", 0, 0, 0, 0, 0);
    enabled_[c] = v;
    enabled_at_[c] = now;
  }
  // write_qp: between the two calls nobody knows which context a card works with.
  void begin_write(unsigned c, unsigned qpn, bool judging) {
    Qp& q = qps_[c][qpn];
    q.flux = true;
    q.dirty_tx = q.sender.valid && (q.sender.una != q.sender.next || !q.sender.todo.empty());
    q.dirty_rx = judging;
    q.sender.valid = q.receiver.valid = false;
  }
  void end_write(unsigned c, unsigned qpn, const QpCtx& x, bool written) {
    Qp& q = qps_[c][qpn];
    q.flux = false;
    ++q.life;
    q.sender = {};
    q.receiver = {};
    q.ctx = x;
    q.sender.valid = written && x.state == raw(QpState::kReady) && !q.dirty_tx;
    q.receiver.valid = written && x.state == raw(QpState::kReady) && !q.dirty_rx;
  }
  unsigned life(unsigned c, unsigned qpn) { return qps_[c][qpn].life; }
  // The test goes on as it likes with this QP: frames of its own, entries written by hand.
  void ignore(unsigned c, unsigned qpn) {
    qps_[c][qpn].sender.valid = qps_[c][qpn].receiver.valid = false;
  }
  void posted(unsigned c, unsigned qpn, const Wqe& w) { qps_[c][qpn].sender.todo.push_back(w); }
  // Everything posted is acknowledged.
  bool finished(unsigned c, unsigned qpn) {
    Sender& s = qps_[c][qpn].sender;
    while (!s.todo.empty() && !makes_packets(s.todo.front())) s.todo.pop_front();
    return s.una == s.next && s.todo.empty();
  }
  // Packets that the sender has not got acknowledged.
  uint64_t outstanding(unsigned c, unsigned qpn) {
    return qps_[c][qpn].sender.next - qps_[c][qpn].sender.una;
  }

  // ------------------------------------------------------------------------ outputs of a card
  void txd(unsigned c, unsigned plane, const Txd& d) {
    if (trace) {
      show(c, plane, d.opcode == raw(PktOp::kAck) ? "ack" : "txd", d.src_qpn, d.psn, d.opcode,
           d.ack_req, d.syndrome);
      if (d.opcode == raw(PktOp::kAck)) show_sack(Sack(d.sack));
    }
    if (!on) return;
    if (d.opcode == raw(PktOp::kAck)) {
      ack_out(c, plane, d);
    } else if (is_response(d.opcode)) {
      Qp& q = qps_[c][d.src_qpn];
      if (q.flux || !q.receiver.valid) return;
      need(q.ctx.planes >> plane & 1, c, d.src_qpn, "READ response on a plane outside the mask");
      need(d.dst_qpn == q.ctx.remote_qpn && d.dst_node == q.ctx.remote_node, c, d.src_qpn,
           "READ response to somebody else");
    } else {
      request_out(c, plane, d);
    }
  }

  // A header was taken by a card.
  void header(unsigned c, unsigned plane, const Rxh& h) {
    if (trace) show(c, plane, "rxh", h.dst_qpn, h.psn, h.opcode, h.ack_req, h.err);
    if (!on || h.err != 0 || !qps_[c].count(h.dst_qpn)) return;
    Qp& q = qps_[c][h.dst_qpn];
    if (q.flux) q.dirty_rx = true;
    if (h.src_node != q.ctx.remote_node) return;
    if (h.opcode == raw(PktOp::kAck)) return ack_in(c, q, h);
    if (is_response(h.opcode)) return;
    Receiver& r = q.receiver;
    if (!r.valid) return;
    r.came_by |= 1u << plane;
    if (h.ce) ++r.ce_total, r.ce_mask |= 1u << plane;
    if (h.opcode != raw(PktOp::kReadRequest)) {
      const uint64_t at = index_rx(q, h.psn);
      // Here before: the answer may be ahead of the verdict.
      if (at < kHalf + r.done || !r.offered.insert(at).second) ++r.reasons;
      if (h.ack_req) r.reasons += 2;  // when it is placed or dropped, and when done passes it
      return;
    }
    // Answered or not, refused or not: all that is known is that it may count from now on.
    const uint64_t i = index_rx(q, h.psn);
    ++r.reads;
    ++r.reasons;
    if (i < kHalf || i >= kHalf + r.done + 512) return;
    r.handled[plane][i] = {now, true};
    if (i >= kHalf + r.done) r.placed.emplace(i, Event{now, true});
    advance(r);
  }

  // A verdict on a frame; the bench hands the life it returns to placed().
  unsigned verdict(unsigned c, unsigned plane, const Rxh& h, const Rxv& v) {
    if (trace) show(c, plane, "rxv", v.qpn, h.psn, h.opcode, h.ack_req, v.action);
    if (!on || !qps_[c].count(h.dst_qpn)) return 0;
    Qp& q = qps_[c][h.dst_qpn];
    (void)plane;
    if (is_response(h.opcode)) {
      ++totals[c].reads;
      return q.life;
    }
    ++(v.action == raw(RxAction::kDrop) ? totals[c].dropped : totals[c].placed);
    Receiver& r = q.receiver;
    if (!r.valid) return q.life;
    const uint64_t i = index_rx(q, h.psn);
    if (v.action != raw(RxAction::kDrop)) {
      need(h.src_node == q.ctx.remote_node, c, h.dst_qpn, "payload of another node placed");
      need(v.qpn == h.dst_qpn, c, h.dst_qpn, "verdict names another QP");
      need(i >= kHalf + r.done, c, h.dst_qpn, "packet below done placed again", h.psn);
      need(i < kHalf + r.done + 512, c, h.dst_qpn, "packet beyond the window placed", h.psn);
      need(r.accepted.insert(i).second, c, h.dst_qpn, "packet placed twice", h.psn);
      for (uint64_t k = kHalf + r.done; h.red_ordered && is_reduce(h.opcode) && k < i; ++k) {
        need(r.accepted.count(k), c, h.dst_qpn, "ordered REDUCE before its turn", h.psn);
      }
    }
    return q.life;
  }

  // rxd was taken.
  void placed(unsigned c, unsigned plane, const Rxh& h, const Rxv& v, bool err, unsigned life) {
    if (trace) show(c, plane, "rxd", v.qpn, h.psn, h.opcode, err, v.action);
    if (!on || !qps_[c].count(h.dst_qpn)) return;
    Qp& q = qps_[c][h.dst_qpn];
    if (q.life != life || q.flux) return;
    if (is_response(h.opcode)) {
      Sender& s = q.sender;
      const uint64_t i = index_tx(q, h.psn);
      if (!s.valid || i < s.base || i >= s.next) return;
      s.window[i - s.base].read_done = true;
      advance(s);
      return;
    }
    Receiver& r = q.receiver;
    if (!r.valid) return;
    const uint64_t i = index_rx(q, h.psn);
    const bool drop = v.action == raw(RxAction::kDrop);
    if (err) {
      r.failed = true;
      r.handled[plane][i] = {now, true};
      return;
    }
    const bool usable =
        h.src_node == q.ctx.remote_node && enabled_[c] && now - enabled_at_[c] > lag;
    if (i >= kHalf && i + 600 > kHalf + r.done) {
      r.handled[plane][i] = {now, (drop && !usable) || i >= kHalf + r.done + 512};
    }
    if (drop) return;
    ++r.placed_total;
    r.placed[i] = {now, false};
    advance(r);
  }

 private:
  static constexpr uint64_t kHalf = 1ull << 32;  // index of the first PSN of a life
  struct Event {
    uint64_t at;
    bool optional;  // need not show in an acknowledgement
  };
  struct Sent {
    Txd d;
    Packet want;
    bool read = false, read_done = false;
    unsigned message = 0;
    uint64_t gone = kNever;  // acknowledged at
  };
  struct Sender {
    bool valid = false;
    uint64_t una = kHalf, next = kHalf, base = kHalf, acked = kHalf;
    uint64_t una_moved = 0;
    unsigned ordered_plane = 0;
    std::deque<Sent> window;  // from base on
    std::deque<Wqe> todo;
    uint32_t offset = 0, consumed = 0;
    unsigned messages = 0;
  };
  struct Receiver {
    bool valid = false, failed = false, naked = false;
    uint64_t done = 0;
    std::set<uint64_t> offered, accepted;
    std::map<uint64_t, Event> placed;      // index -> when; kept below done for a while
    std::map<uint64_t, Event> handled[8];  // per plane
    uint64_t last_done = 0, acks = 0, reasons = 0, placed_total = 0, reads = 0;
    uint64_t ce_total = 0, ce_told = 0;
    unsigned ce_mask = 0, came_by = 0;
    uint8_t nak_syndrome = 0;
    uint32_t nak_psn = 0;
  };
  struct Qp {
    QpCtx ctx;
    unsigned life = 0;
    bool flux = false, dirty_tx = false, dirty_rx = false;
    Sender sender;
    Receiver receiver;
  };

  void need(bool ok, unsigned c, unsigned qpn, const char* what, uint64_t psn = kNever) const {
    if (ok) return;
    std::string s = std::string(what) + ": card " + std::to_string(c) + " QP " +
                    std::to_string(qpn) + " cycle " + std::to_string(now);
    if (psn != kNever) s += " PSN " + std::to_string(psn);
    throw std::runtime_error(s);
  }
  static uint64_t near(uint64_t reference, uint32_t first, uint32_t psn) {
    const uint32_t at = static_cast<uint32_t>(first + (reference - kHalf)) & 0xffffff;
    const int32_t d = static_cast<int32_t>((psn - at) << 8) >> 8;
    return reference + static_cast<uint64_t>(static_cast<int64_t>(d));
  }
  uint64_t index_rx(const Qp& q, uint32_t psn) const {
    return near(kHalf + q.receiver.done, q.ctx.rq_psn, psn);
  }
  uint64_t index_tx(const Qp& q, uint32_t psn) const {
    return near(q.sender.una, q.ctx.sq_psn, psn);
  }

  void show(unsigned c, unsigned plane, const char* what, unsigned qpn, uint32_t psn, unsigned op,
            unsigned flag, unsigned more) const {
    std::fprintf(stderr, "%8llu card %u plane %u %s qp %u psn %06x op %02x %u %02x\n",
                 static_cast<unsigned long long>(now), c, plane, what, qpn, psn, op, flag, more);
  }
  static void show_sack(const Sack& k) {
    std::fprintf(stderr, "%*s seen", 10, "");
    for (unsigned p = 0; p < 8; ++p) std::fprintf(stderr, " %u", k.seen(p));
    std::fprintf(stderr, " placed");
    for (unsigned i = 0; i < 256; ++i) {
      if (i % 64 == 0) std::fprintf(stderr, " ");
      if (i % 4 == 0) {
        std::fprintf(stderr, "%x",
                     k.placed(i) * 8 + k.placed(i + 1) * 4 + k.placed(i + 2) * 2 + k.placed(i + 3));
      }
    }
    std::fprintf(stderr, "\n");
  }

  void advance(Receiver& r) {
    while (r.placed.count(kHalf + r.done)) ++r.done;
    const uint64_t floor = kHalf + r.done - std::min<uint64_t>(r.done, 1024);
    r.placed.erase(r.placed.begin(), r.placed.lower_bound(floor));
    r.offered.erase(r.offered.begin(), r.offered.lower_bound(floor));
    r.accepted.erase(r.accepted.begin(), r.accepted.lower_bound(floor));
    for (auto& h : r.handled) h.erase(h.begin(), h.lower_bound(floor));
  }
  void advance(Sender& s) {
    const uint64_t before = s.una;
    while (s.una < s.next) {
      const Sent& p = s.window[s.una - s.base];
      if (p.read ? !p.read_done : s.una >= s.acked) break;
      s.window[s.una - s.base].gone = now;
      ++s.una;
    }
    if (s.una != before) s.una_moved = now;
    while (s.una - s.base > 1024) s.window.pop_front(), ++s.base;
  }

  void ack_in(unsigned, Qp& q, const Rxh& h) {
    Sender& s = q.sender;
    if (!s.valid || q.flux) return;
    const uint64_t i = index_tx(q, h.psn) + (h.syndrome == raw(Syndrome::kAck) ? 1 : 0);
    if (i <= s.una || i > s.next) return;
    s.acked = std::max(s.acked, i);
    advance(s);
  }

  void request_out(unsigned c, unsigned plane, const Txd& d) {
    ++totals[c].packets;
    Qp& q = qps_[c][d.src_qpn];
    Sender& s = q.sender;
    if (q.flux || !s.valid) return;
    need(q.ctx.planes >> plane & 1, c, d.src_qpn, "packet on a plane outside the mask", d.psn);
    need(d.dst_qpn == q.ctx.remote_qpn && d.dst_node == q.ctx.remote_node, c, d.src_qpn,
         "packet to somebody else", d.psn);
    const uint64_t i = index_tx(q, d.psn);
    need(i <= s.next && i >= s.base, c, d.src_qpn, "PSN that is neither new nor outstanding",
         d.psn);
    // Acknowledged by their data.
    const bool read = d.opcode == raw(PktOp::kReadRequest) || is_atomic(d.opcode);
    if (i < s.next) {
      ++totals[c].resent;
      const Sent& p = s.window[i - s.base];
      need(p.gone == kNever || now - p.gone <= lag, c, d.src_qpn, "acknowledged packet sent again",
           d.psn);
      Txd same = d;
      same.ack_req = p.d.ack_req;
      need(same == p.d, c, d.src_qpn, "packet sent again with other contents", d.psn);
      need(read || d.ack_req, c, d.src_qpn, "packet sent again without AckReq", d.psn);
      return;
    }
    need(i < s.una + q.ctx.window, c, d.src_qpn, "packet beyond the window", d.psn);
    for (uint64_t k = s.una; k < s.next; ++k) {
      const Sent& p = s.window[k - s.base];
      need(p.d.vc == d.vc, c, d.src_qpn, "two channels outstanding", d.psn);
      need(p.read == read, c, d.src_qpn, "READ and others outstanding", d.psn);
      need(p.d.red_ordered == d.red_ordered, c, d.src_qpn, "plain and ordered outstanding", d.psn);
    }
    if (read) {
      need(s.next - s.una < kNicMaxReads, c, d.src_qpn, "too many READs outstanding", d.psn);
    }
    if (d.red_ordered) {
      need(s.una == s.next || s.ordered_plane == plane, c, d.src_qpn,
           "ordered packets on several planes", d.psn);
      s.ordered_plane = plane;
    }
    Sent p;
    p.d = d;
    p.read = read;
    p.message = s.messages;
    while (!s.todo.empty() && !makes_packets(s.todo.front())) s.todo.pop_front();
    if (!s.todo.empty()) {
      const Wqe& w = s.todo.front();
      p.want = packet_of(w, mtu_of(q.ctx.mtu), s.offset, s.consumed);
      compare(c, d, p.want);
      need(!w.fence || s.offset != 0 || s.una == s.next, c, d.src_qpn, "fence ignored", d.psn);
      need(!p.want.last || !w.signalled || d.ack_req || read, c, d.src_qpn,
           "last packet of a signalled message without AckReq", d.psn);
      s.offset += p.want.len;
      if (p.want.last) {
        if (consumes(w)) ++s.consumed;
        s.todo.pop_front();
        s.offset = 0;
        ++s.messages;
      }
    }
    s.window.push_back(p);
    ++s.next;
    need(p.message - s.window[s.una - s.base].message < kNicMaxOutstanding, c, d.src_qpn,
         "too many messages outstanding", d.psn);
    if (!read && q.ctx.window < kNicAckEvery) {
      need(d.ack_req || s.next < s.una + q.ctx.window || now - s.una_moved < lag, c, d.src_qpn,
           "packet that fills the window without AckReq", d.psn);
    }
  }

  void compare(unsigned c, const Txd& d, const Packet& w) const {
    auto same = [&](uint64_t is, uint64_t must, const char* what) {
      need(is == must, c, d.src_qpn,
           (std::string(what) + " is " + std::to_string(is) + ", must be " + std::to_string(must))
               .c_str(),
           d.psn);
    };
    same(d.opcode, w.opcode, "opcode");
    same(d.vc, w.vc, "vc");
    same(d.len, w.len, "len");
    same(d.raddr, w.raddr, "raddr");
    same(d.rkey, w.rkey, "rkey");
    same(d.rnum, w.rnum, "rnum");
    same(d.inl, w.inl, "inl");
    if (carries_payload(d.opcode) && w.len != 0 && !d.inl) same(d.laddr, w.laddr, "laddr");
    if (has_imm(d.opcode)) same(d.imm, w.imm, "imm");
    if (is_reduce(d.opcode)) same(d.red_op, w.red_op, "red_op");
    if (is_reduce(d.opcode)) same(d.red_dtype, w.red_dtype, "red_dtype");
    same(d.red_ordered, w.red_ordered, "red_ordered");
  }

  void ack_out(unsigned c, unsigned plane, const Txd& d) {
    const bool ack = d.syndrome == raw(Syndrome::kAck), rnr = d.syndrome == raw(Syndrome::kRnr);
    ++(ack ? totals[c].acks : totals[c].naks);
    Qp& q = qps_[c][d.src_qpn];
    Receiver& r = q.receiver;
    if (q.flux || !r.valid) return;
    need(d.dst_qpn == q.ctx.remote_qpn && d.dst_node == q.ctx.remote_node, c, d.src_qpn,
         "acknowledgement to somebody else");
    need(r.came_by >> plane & 1, c, d.src_qpn, "acknowledgement on a plane that nothing came by");
    need(ack || rnr || d.syndrome == raw(Syndrome::kNakInvalid) ||
             d.syndrome == raw(Syndrome::kNakAccess) || d.syndrome == raw(Syndrome::kNakOper),
         c, d.src_qpn, "unknown syndrome");
    if (r.naked) {  // the same again, only
      need(d.syndrome == r.nak_syndrome && d.psn == r.nak_psn, c, d.src_qpn,
           "another answer behind a NAK", d.psn);
      return;
    }
    const uint64_t done = index_rx(q, d.psn) + (ack ? 1 : 0);  // what it says
    need(done >= kHalf && done <= kHalf + r.done, c, d.src_qpn, "acknowledges what is not placed",
         d.psn);
    need(done >= kHalf + r.last_done, c, d.src_qpn, "acknowledgements go backwards", d.psn);
    if (!ack && !rnr) {
      need(r.offered.count(done) || r.failed || r.reads != 0 || done < kHalf + r.done, c, d.src_qpn,
           "NAK of what did not come", d.psn);
      r.naked = true;
      r.nak_syndrome = d.syndrome;
      r.nak_psn = d.psn;
      return;
    }
    r.last_done = done - kHalf;
    if (ack) {
      ++r.acks;
      need(r.acks <= r.placed_total / kNicAckEvery + r.reasons, c, d.src_qpn,
           "acknowledgement without a reason", d.psn);
    }
    const Sack k(d.sack);
    need(k.ce_count() <= r.ce_total - r.ce_told, c, d.src_qpn, "CE that did not come");
    need((k.ce_planes() & ~r.ce_mask) == 0 && (k.ce_planes() != 0) == (k.ce_count() != 0), c,
         d.src_qpn, "ce_planes wrong");
    need(d.becn == (k.ce_count() != 0), c, d.src_qpn, "BECN and SACKH contradict each other");
    r.ce_told += k.ce_count();
    for (unsigned p = 0; p < 8; ++p) check_seen(c, d, r, p, done, k.seen(p));
    check_placed(c, q, d, r, done, k);
  }

  void check_seen(unsigned c, const Txd& d, const Receiver& r, unsigned plane, uint64_t done,
                  unsigned s) const {
    const auto& h = r.handled[plane];
    if (s != 0) {
      need(h.count(done + s - 1), c, d.src_qpn,
           ("seen[" + std::to_string(plane) + "] = " + std::to_string(s) + " did not come by it")
               .c_str(),
           d.psn);
    }
    for (auto it = h.rbegin(); it != h.rend() && it->first >= done + s; ++it) {
      need(it->second.optional || now - it->second.at <= lag, c, d.src_qpn,
           ("seen[" + std::to_string(plane) + "] = " + std::to_string(s) + " is too low").c_str(),
           d.psn);
    }
  }
  void check_placed(unsigned c, const Qp& q, const Txd& d, const Receiver& r, uint64_t done,
                    const Sack& k) const {
    const uint32_t psn = static_cast<uint32_t>(q.ctx.rq_psn + (done - kHalf)) & 0xffffff;
    const unsigned below = psn & 63;
    for (unsigned i = 0; i < kNicSackBits; ++i) {
      const uint64_t at = done - below + i;
      if (i < below) {
        need(k.placed(i), c, d.src_qpn, "placed bit below done is 0", d.psn);
        continue;
      }
      const auto it = r.placed.find(at);
      if (k.placed(i)) {
        need(it != r.placed.end(), c, d.src_qpn,
             ("bit " + std::to_string(i) + " of a packet that is not placed").c_str(), d.psn);
      } else if (it != r.placed.end()) {
        need(it->second.optional || now - it->second.at <= lag, c, d.src_qpn,
             ("bit " + std::to_string(i) + " of a placed packet is 0").c_str(), d.psn);
      }
    }
    need(!k.placed(below), c, d.src_qpn, "done itself is placed", d.psn);
  }

  std::map<unsigned, Qp> qps_[2];
  bool enabled_[2] = {};
  uint64_t enabled_at_[2] = {};
};

}  // namespace nic_core_test
