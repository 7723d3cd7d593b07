// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Golden model of what software sees: memory, completions of requests and of receives, told from
// the posted work alone. It knows no packets that are lost, no planes and no time; whatever the
// network does, two cards must end like this.
#pragma once

#include <deque>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memory.hpp"
#include "monitor.hpp"

namespace nic_core_test {

struct Completion {
  uint64_t wr_id = 0;
  uint32_t qpn = 0, byte_len = 0, imm = 0, psn = 0;
  uint8_t opcode = 0, status = 0, recv = 0;
  bool psn_known = true;
};

// Fate of a request, when it is not simply executed.
struct Fate {
  CqeStatus status = CqeStatus::kOk;        // completion of the request
  CqeStatus receive = CqeStatus::kFlushed;  // of the receive it would consume
  bool receiver_fails = false;              // the QP of the peer goes to error
  bool sent = true;                         // packets of it and of later ones may be executed
  uint64_t receive_id = 0;                  // replaces wr_id of that receive if it names an error
  bool unreadable_receive = false;          // ... as the entry could not be read
};

// One direction of a QP pair.
struct ModelFlow {
  unsigned card = 0, qpn = 0, peer_qpn = 0;
  uint32_t mtu = kLinkMtu, psn = 0;
  bool peer_ring = false;
  std::deque<Completion> sends, recvs;  // still to come, in order
  // State of the model.
  std::deque<Wqe> receives;  // posted at the peer, not consumed
  std::deque<std::pair<Wqe, Fate>> waiting;
  uint32_t consumed = 0;
  bool failed = false, receiver_failed = false;
  // What may still be moving when the next request starts.
  struct Range {
    unsigned card;
    uint64_t addr, len;
    bool reduce, source;
  };
  std::vector<Range> open;
  uint8_t vc = 0;
  bool reading = false, ordered = false;
};

class TransactionModel {
 public:
  Memory mem[2];

  ModelFlow& add(unsigned card, unsigned qpn, uint32_t psn, uint8_t mtu, bool peer_ring) {
    auto& f = flows_[{card, qpn}];
    f.card = card;
    f.qpn = f.peer_qpn = qpn;
    f.psn = psn;
    f.mtu = mtu_of(mtu);
    f.peer_ring = peer_ring;
    return f;
  }
  ModelFlow& flow(unsigned card, unsigned qpn) { return flows_.at({card, qpn}); }
  std::map<std::pair<unsigned, unsigned>, ModelFlow>& flows() { return flows_; }

  // A receive entry, posted at the peer of the flow.
  void receive(ModelFlow& f, const Wqe& r) {
    if (f.receiver_failed) {
      f.recvs.push_back(flushed(f, r.wr_id));
      undefined_.push_back({1 - f.card, r.laddr, r.length});
      return;
    }
    f.receives.push_back(r);
    run(f);
  }
  // True: without a fence the outcome would depend on the order in which packets arrive. `buffer`
  // is the receive that a SEND will meet.
  bool races(const ModelFlow& f, const Wqe& w, const Wqe* buffer = nullptr) const {
    if (w.fence || w.ordered || changes(f, w)) return false;
    for (auto& a : ranges(f, w, buffer)) {
      for (auto& b : f.open) {
        if ((a.source && b.source) || (a.reduce && b.reduce) || a.card != b.card) continue;
        if (a.addr < b.addr + b.len && b.addr < a.addr + a.len) return true;
      }
    }
    return false;
  }
  void post(ModelFlow& f, const Wqe& w, const Fate& fate = {}) {
    f.waiting.emplace_back(w, fate);
    run(f);
  }
  // Notes the request as moving; call before post, with the receive of a SEND.
  void start(ModelFlow& f, const Wqe& w, const Wqe* buffer = nullptr) {
    if (w.fence || changes(f, w)) f.open.clear();
    if (makes_packets(w)) {
      f.vc = w.vc;
      f.reading = w.opcode == raw(WqeOp::kRead);
      f.ordered = w.ordered;
    }
    for (auto& r : ranges(f, w, buffer)) f.open.push_back(r);
  }
  // What is left when the receiver's QP is (or was) moved to error: receives are flushed.
  void flush_receives(ModelFlow& f) {
    f.receiver_failed = true;
    for (auto& r : f.receives) {
      f.recvs.push_back(flushed(f, r.wr_id));
      undefined_.push_back({1 - f.card, r.laddr, r.length});
    }
    f.receives.clear();
  }
  // Bytes nobody can foresee: targets of requests that were not executed for certain.
  bool undefined(unsigned card, uint64_t addr) const {
    for (auto& u : undefined_) {
      if (u.card == card && addr >= u.addr && addr < u.addr + u.len) return true;
    }
    return false;
  }
  // First difference to what a card holds, or kNever.
  uint64_t differs(unsigned card, const Memory& is, uint64_t addr, uint64_t size) const {
    const auto a = is.read(addr, size), b = mem[card].read(addr, size);
    if (a == b) return kNever;
    for (uint64_t i = 0; i < size; ++i) {
      if (a[i] != b[i] && !undefined(card, addr + i)) return addr + i;
    }
    return kNever;
  }

 private:
  struct Undefined {
    unsigned card;
    uint64_t addr, len;
  };

  static bool changes(const ModelFlow& f, const Wqe& w) {
    return makes_packets(w) && (w.vc != f.vc || (w.opcode == raw(WqeOp::kRead)) != f.reading ||
                                (w.ordered != 0) != f.ordered);
  }
  static std::vector<ModelFlow::Range> ranges(const ModelFlow& f, const Wqe& w, const Wqe* buffer) {
    std::vector<ModelFlow::Range> v;
    if (!makes_packets(w) || w.length == 0) return v;
    const bool red = w.opcode == raw(WqeOp::kReduce) || w.opcode == raw(WqeOp::kReduceImm);
    if (w.opcode == raw(WqeOp::kRead)) {
      v.push_back({f.card, w.laddr, w.length, false, false});
      v.push_back({1 - f.card, w.raddr, w.length, false, true});
    } else if (w.opcode == raw(WqeOp::kSend) || w.opcode == raw(WqeOp::kSendImm)) {
      if (buffer != nullptr) v.push_back({1 - f.card, buffer->laddr, w.length, false, false});
    } else {
      v.push_back({1 - f.card, w.raddr, w.length, red, false});
    }
    return v;
  }
  static Completion flushed(const ModelFlow& f, uint64_t wr_id) {
    Completion c;
    c.wr_id = wr_id;
    c.qpn = f.peer_qpn;
    c.opcode = raw(WqeOp::kRecv);
    c.status = raw(CqeStatus::kFlushed);
    c.recv = 1;
    c.psn_known = false;
    return c;
  }

  void run(ModelFlow& f) {
    while (!f.waiting.empty()) {
      const auto [w, fate] = f.waiting.front();
      const bool takes = consumes(w) && !f.failed;
      if (takes && f.peer_ring && f.receives.empty() && fate.status == CqeStatus::kOk) return;
      f.waiting.pop_front();
      execute(f, w, fate);
    }
  }
  void execute(ModelFlow& f, const Wqe& w, const Fate& fate) {
    const uint32_t packets = packets_of(w, f.mtu);
    const unsigned peer = 1 - f.card;
    Completion c;
    c.wr_id = w.wr_id;
    c.qpn = f.qpn;
    c.opcode = w.opcode;
    c.byte_len = w.length;
    c.psn = (f.psn + packets - 1) & 0xffffff;
    c.psn_known = packets != 0;
    f.psn = (f.psn + packets) & 0xffffff;
    if (f.failed || fate.status != CqeStatus::kOk) {
      c.status = raw(f.failed ? CqeStatus::kFlushed : fate.status);
      c.psn_known = false;
      f.sends.push_back(c);
      if (fate.sent || f.failed) {
        for (auto& r : ranges(f, w, f.receives.empty() ? nullptr : &f.receives.front())) {
          if (!r.source) undefined_.push_back({r.card, r.addr, r.len});
        }
        if (consumes(w)) {
          for (auto& r : f.receives) undefined_.push_back({peer, r.laddr, r.length});
        }
      }
      if (!f.failed && fate.receiver_fails) {
        if (f.peer_ring && !f.receives.empty() && consumes(w) &&
            fate.receive != CqeStatus::kFlushed) {
          Completion r = flushed(f, fate.unreadable_receive ? 0 : f.receives.front().wr_id);
          r.status = raw(fate.receive);
          f.recvs.push_back(r);
          f.receives.pop_front();
        }
        flush_receives(f);
      }
      f.failed = true;
      return;
    }
    if (w.signalled) f.sends.push_back(c);
    Wqe buffer;
    if (consumes(w) && f.peer_ring) {
      buffer = f.receives.front();
      f.receives.pop_front();
    }
    switch (static_cast<WqeOp>(w.opcode)) {
      case WqeOp::kRead:
        copy(peer, w.raddr, f.card, w.laddr, w.length);
        break;
      case WqeOp::kWrite:
      case WqeOp::kWriteImm:
        copy(f.card, w.laddr, peer, w.raddr, w.length);
        break;
      case WqeOp::kReduce:
      case WqeOp::kReduceImm: {
        const auto sum =
            add_f32(mem[peer].read(w.raddr, w.length), mem[f.card].read(w.laddr, w.length));
        mem[peer].write(w.raddr, sum.data(), sum.size());
        break;
      }
      case WqeOp::kSend:
      case WqeOp::kSendImm:
        copy(f.card, w.laddr, peer, buffer.laddr, w.length);
        break;
      default:
        break;
    }
    if (!consumes(w)) return;
    const bool send = w.opcode == raw(WqeOp::kSend) || w.opcode == raw(WqeOp::kSendImm);
    Completion r;
    r.recv = 1;
    r.qpn = f.peer_qpn;
    r.wr_id = f.peer_ring ? buffer.wr_id : f.consumed;
    r.opcode = w.opcode;
    r.psn = c.psn;
    r.byte_len = send ? w.length : w.length == 0 ? 0 : (w.length - 1) % f.mtu + 1;
    r.imm = w.opcode == raw(WqeOp::kSend) ? 0 : w.imm;
    f.recvs.push_back(r);
    ++f.consumed;
  }
  void copy(unsigned from, uint64_t source, unsigned to, uint64_t target, uint32_t length) {
    const auto data = mem[from].read(source, length);
    mem[to].write(target, data.data(), data.size());
  }

  std::map<std::pair<unsigned, unsigned>, ModelFlow> flows_;
  std::vector<Undefined> undefined_;
};

}  // namespace nic_core_test
