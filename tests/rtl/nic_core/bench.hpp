// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Two cards, each a Verilated nic_core with the models around it: host and card memory, the DMA
// path, one port engine per plane, and between them a network that delays frames (headers with
// payload) per plane and direction and does to them what the test asks for. A Monitor watches both.
// Every random choice comes from one generator, so a seed repeats a run exactly.
#pragma once

#include <gtest/gtest.h>
#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "memory.hpp"
#include "monitor.hpp"
#include "ubl/numerics/reduce.hpp"
#include "ubl/spec/link.hpp"
#include "ubl/spec/nic.hpp"
#include "ubl/test/seed.hpp"

namespace nic_core_test {

using namespace ubl::spec;
using Rng = std::mt19937_64;

constexpr uint64_t kHost = 1ull << kNicHostIovaBit;
// ------------------------------------------------------------------------------ wide ports

inline unsigned flits_of(uint8_t op, unsigned len) {
  if (op == raw(PktOp::kReadResponse)) return (len + 3 + 66 + 63) / 64;
  return op == raw(PktOp::kAck) ? (14 + 20 + 8 + 12 + 4 + 52 + 8 + 63) / 64
                                : ((carries_payload(op) ? len : 0) + 78 + 4 + 63) / 64;
}

template <class Port>
uint32_t* port_words(Port& p) {
  return p.data();
}

// Bits [lsb, lsb + T::kBits) of a port as a bundle, whatever Verilator's type for the port is.
template <class T, class Port>
T get(const Port& p, unsigned lsb = 0) {
  uint32_t src[(sizeof(Port) + 3) / 4 + 1] = {};
  std::memcpy(src, &p, sizeof(Port));
  uint32_t out[T::kWords + 1] = {};
  for (unsigned i = 0; i < T::kWords; ++i) {
    const unsigned bit = lsb + 32 * i, w = bit / 32, s = bit % 32;
    uint64_t pair = src[w];
    if (s != 0 && w + 1 < sizeof(src) / 4) pair |= uint64_t(src[w + 1]) << 32;
    out[i] = static_cast<uint32_t>(pair >> s);
  }
  if (T::kBits % 32 != 0) out[T::kWords - 1] &= (1u << (T::kBits % 32)) - 1;
  return T::from_words(out);
}

template <class T, class Port>
void put(Port& p, const T& v, unsigned lsb = 0) {
  constexpr unsigned kN = (sizeof(Port) + 3) / 4;
  uint32_t dst[kN + 1] = {}, in[T::kWords + 1] = {};
  std::memcpy(dst, &p, sizeof(Port));
  v.to_words(in);
  for (unsigned done = 0; done < T::kBits;) {
    const unsigned bit = lsb + done, w = bit / 32, s = bit % 32;
    const unsigned n = std::min<unsigned>({32 - s, 32 - done % 32, unsigned(T::kBits) - done});
    const uint32_t mask = n == 32 ? ~0u : (1u << n) - 1;
    const uint32_t val = (in[done / 32] >> (done % 32)) & mask;
    dst[w] = (dst[w] & ~(mask << s)) | (val << s);
    done += n;
  }
  std::memcpy(&p, dst, sizeof(Port));
}

// ------------------------------------------------------------------------------ environment

struct Timing {
  unsigned dma_min = 20, dma_max = 60;    // read latency
  unsigned dma_ready = 80;                // per cent of cycles
  unsigned link_min = 20, link_max = 40;  // latency of a frame
  unsigned mem_min = 5, mem_max = 60;     // placement
  unsigned rxv_ready = 80, rx_rate = 80, txc_rate = 80;
  bool line_rate = false;  // a port spends one cycle per flit on a frame
};

struct Frame {
  Rxh h;
  std::vector<uint8_t> payload;
  uint64_t due = 0;
};

// One plane in one direction. Rates count per 10,000 frames.
struct Wire {
  unsigned latency_min = 0, latency_max = 0;  // 0: as Timing says
  unsigned drop = 0, duplicate = 0, reorder = 0, corrupt = 0;
  unsigned late = 400;  // cycles by which a frame that is reordered comes late, at most
  uint64_t cut_from = kNever, cut_until = kNever;  // cycles of the bench
};
struct WireCounts {
  uint64_t frames = 0, dropped = 0, duplicated = 0, reordered = 0, corrupted = 0;
};

struct LogEntry {
  ErrCause cause;
  unsigned plane, qpn;
  uint32_t psn;
};

struct Counts {
  uint64_t txd[8] = {}, acks[8] = {}, verdicts[8] = {}, placed[8] = {}, responses[8] = {};
  uint64_t dma_reads = 0, dma_writes = 0, msix = 0;
};

template <class Dut, unsigned kPlanes>
class Card {
 public:
  Card(uint16_t node, Rng& rng, const Timing& timing) : node_(node), rng_(rng), timing_(timing) {
    context_.randReset(2);
    context_.randSeed(static_cast<int>(rng_() & 0x7ffffffe) | 1);
    dut_ = std::make_unique<Dut>(&context_);
    clear_inputs();
    dut_->clk_i = 0;
    dut_->rst_ni = 0;
    dut_->eval();
  }
  ~Card() {
    dut_->final();
    // Verilator 5.006: a model leaves the context that the thread used last, not its own.
    Verilated::threadContextp(&context_);
    dut_.reset();
  }

  Memory mem;
  Counts counts;
  std::deque<std::pair<CsrReq, std::function<void(CsrRsp)>>> csr;
  // A pushed entry if there is one.
  std::deque<std::pair<Doorbell, std::optional<Push>>> doorbells;
  std::vector<uint16_t> msix;
  // Looks at, changes or drops (false) a frame that leaves the card.
  std::function<bool(Frame&, unsigned plane)> on_wire;
  // Sees the descriptors in the order in which the core makes them.
  std::function<void(const Txd&, unsigned plane)> on_txd;
  Monitor* monitor = nullptr;
  unsigned index = 0;  // of the card
  std::function<void(Frame, unsigned plane)> send;
  uint64_t now = 0;
  uint64_t progress = 0;       // last cycle in which anything moved
  uint64_t skipped = 0;        // cycles not evaluated
  bool skip = false;           // honour idle_o and deadline_o
  bool stuck_port[8] = {};     // a port that returns no credits
  bool stuck_bulk = false;     // no port sends on VC bulk
  unsigned slow_port[8] = {};  // cycles more per frame

  Dut& dut() { return *dut_; }
  uint16_t node() const { return node_; }

  // Frames of a channel come in the order of their time.
  void receive(Frame f, unsigned plane) {
    auto& q = ports_[plane].rx[f.h.vc % 3];
    // The header that is offered stays.
    const size_t first = ports_[plane].rxh_up && ports_[plane].rxh_vc == f.h.vc % 3 ? 1 : 0;
    auto at = q.end();
    while (at - q.begin() > static_cast<long>(first) && (at - 1)->due > f.due) --at;
    q.insert(at, std::move(f));
  }
  // Is a frame of this QP here whose verdict is not known yet?
  bool judging(unsigned qpn) const {
    for (auto& p : ports_) {
      for (auto& f : p.judge) {
        if (f.h.dst_qpn == qpn) return true;
      }
    }
    return false;
  }

  // Who waits for what.
  std::string describe() const {
    std::string s = "card " + std::to_string(node_) + " cycle " + std::to_string(now);
    if (dut_->idle_o) s += " idle";
    if (!csr.empty() || csr_wait_) s += " csr";
    if (!doorbells.empty()) s += " doorbells " + std::to_string(doorbells.size());
    if (!reads_.empty()) s += " reads " + std::to_string(reads_.size());
    if (!writes_.empty()) s += " writes " + std::to_string(writes_.size());
    for (unsigned i = 0; i < kPlanes; ++i) {
      auto& p = ports_[i];
      const size_t n[] = {p.txq[0].size() + p.txq[1].size() + p.txq[2].size(),
                          p.txc.size(),
                          p.rx[0].size() + p.rx[1].size() + p.rx[2].size(),
                          p.judge.size(),
                          p.placing.size(),
                          p.rxd.size()};
      static const char* const kNames[] = {"txq", "txc", "rx", "judge", "placing", "rxd"};
      for (unsigned k = 0; k < 6; ++k) {
        if (n[k] != 0) {
          s += " p" + std::to_string(i) + "." + kNames[k] + " " + std::to_string(n[k]);
        }
      }
    }
    return s;
  }

  bool quiet() const {
    if (!csr.empty() || csr_wait_ || !doorbells.empty() || !reads_.empty() || !writes_.empty()) {
      return false;
    }
    for (auto& p : ports_) {
      if (!p.txc.empty() || !p.judge.empty() || !p.placing.empty() || !p.rxd.empty()) return false;
      for (unsigned v = 0; v < 3; ++v) {
        if (!p.txq[v].empty() || !p.rx[v].empty()) return false;
      }
    }
    return dut_->idle_o;
  }

  // Everything around the card forgets what it was doing.
  void reset_environment() {
    csr.clear();
    csr_wait_ = {};
    csr_busy_ = false;
    doorbells.clear();
    reads_.clear();
    writes_.clear();
    for (auto& p : ports_) p = Port{};
    dma_held_ = false;
    std::fill(std::begin(rxv_held_), std::end(rxv_held_), false);
    clear_inputs();
  }

  void cycle(bool reset) {
    if (reset) {
      reset_environment();
      dut_->rst_ni = 0;
      tick(true);
      return;
    }
    dut_->rst_ni = 1;
    drive();
    // What the edge will see.
    const bool csr_go = dut_->csr_req_valid_i && dut_->csr_req_ready_o;
    const bool db_go = dut_->db_valid_i && dut_->db_ready_o;
    const bool push_go = dut_->push_valid_i && dut_->push_ready_o;
    const bool dma_go = dut_->dma_req_valid_o && dut_->dma_req_ready_i;
    check_stable();
    if (dut_->csr_rsp_valid_o) {
      progress = now;
      if (!csr_wait_) throw std::runtime_error("register answer without a request");
      auto done = csr_wait_;
      csr_wait_ = {};
      done(get<CsrRsp>(dut_->csr_rsp_o));
    }
    if (csr_go) {
      csr_wait_ = csr.front().second;
      csr.pop_front();
      csr_busy_ = false;
      progress = now;
    }
    if (db_go) {
      doorbells.pop_front();
      progress = now;
    }
    if (push_go) {
      doorbells.pop_front();
      progress = now;
    }
    if (dma_go) take_dma(get<DmaReq>(dut_->dma_req_o));
    for (unsigned p = 0; p < kPlanes; ++p) port_outputs(p);
    const bool active = dut_->csr_req_valid_i || dut_->db_valid_i || dut_->push_valid_i ||
                        dut_->dma_rsp_valid_i || dut_->txd_credit_i || dut_->txc_valid_i ||
                        dut_->rxh_valid_i || dut_->rxd_valid_i;
    const bool asleep = dut_->idle_o && !active && now < dut_->deadline_o;
    tick(!(skip && asleep));
  }

 private:
  struct Placing {
    Frame f;
    Rxv v;
    uint64_t read_at = 0, write_at = 0, done_at = 0;
    bool has_read = false, written = false, err = false;
    unsigned life = 0;
    std::vector<uint8_t> old;
  };
  struct Port {
    std::deque<Txd> txq[3];
    unsigned slots[3] = {};  // descriptor slots in use
    uint64_t tx_free = 0;
    std::deque<Txc> txc;
    std::deque<Frame> rx[3];
    uint64_t rx_free = 0;
    bool rxh_up = false, txc_up = false, rxd_up = false;
    unsigned rxh_vc = 0;
    std::deque<Frame> judge;  // requests whose verdict is awaited
    std::deque<Placing> placing;
    uint64_t last_write = 0;
    std::deque<Placing> rxd;  // to be reported
  };
  struct Read {
    uint64_t due;
    DmaReq r;
  };

  void clear_inputs() {
    dut_->csr_req_valid_i = 0;
    dut_->db_valid_i = 0;
    dut_->dma_req_ready_i = 0;
    dut_->dma_rsp_valid_i = 0;
    dut_->push_valid_i = 0;
    dut_->txd_credit_i = 0;
    dut_->txc_valid_i = 0;
    dut_->rxh_valid_i = 0;
    dut_->rxv_ready_i = 0;
    dut_->rxd_valid_i = 0;
  }

  bool chance(unsigned percent) { return rng_() % 100 < percent; }
  uint64_t between(uint64_t lo, uint64_t hi) { return lo + rng_() % (hi - lo + 1); }

  void tick(bool evaluate) {
    if (evaluate) {
      dut_->now_i = now;
      dut_->clk_i = 1;
      dut_->eval();
      context_.timeInc(1);
      dut_->clk_i = 0;
      dut_->eval();
      context_.timeInc(1);
    } else {
      ++skipped;
    }
    ++now;
  }

  // A valid output that was not taken must be there unchanged.
  void check_stable() {
    const bool v = dut_->dma_req_valid_o;
    const DmaReq r = get<DmaReq>(dut_->dma_req_o);
    if (dma_held_ && (!v || !(r == dma_held_req_))) throw std::runtime_error("dma_req not stable");
    dma_held_ = v && !dut_->dma_req_ready_i;
    dma_held_req_ = r;
    for (unsigned p = 0; p < kPlanes; ++p) {
      const bool rv = dut_->rxv_valid_o >> p & 1;
      const Rxv x = get<Rxv>(dut_->rxv_o, p * Rxv::kBits);
      if (rxv_held_[p] && (!rv || !(x == rxv_held_v_[p]))) {
        throw std::runtime_error("rxv not stable");
      }
      rxv_held_[p] = rv && !(dut_->rxv_ready_i >> p & 1);
      rxv_held_v_[p] = x;
    }
  }

  void drive() {
    // Registers and doorbells.
    if (!csr_busy_ && !csr.empty() && !csr_wait_) csr_busy_ = chance(70);
    dut_->csr_req_valid_i = csr_busy_;
    if (csr_busy_) put(dut_->csr_req_i, csr.front().first);
    dut_->db_valid_i = !doorbells.empty() && !doorbells.front().second;
    if (dut_->db_valid_i) put(dut_->db_i, doorbells.front().first);
    dut_->push_valid_i = !doorbells.empty() && doorbells.front().second;
    if (dut_->push_valid_i) put(dut_->push_i, *doorbells.front().second);
    // Memory of the host.
    dut_->dma_req_ready_i = chance(timing_.dma_ready);
    dut_->dma_rsp_valid_i = 0;
    while (!writes_.empty() && writes_.front().due <= now &&
           writes_.front().r.kind == raw(DmaKind::kMsix)) {
      msix.push_back(static_cast<uint16_t>(writes_.front().r.addr));
      ++counts.msix;
      writes_.pop_front();
    }
    const bool write_due = !writes_.empty() && writes_.front().due <= now;
    size_t read_due = reads_.size();
    for (size_t i = 0; i < reads_.size(); ++i) {
      if (reads_[i].due <= now && (read_due == reads_.size() || chance(50))) read_due = i;
    }
    DmaRsp rsp;
    if (write_due && (read_due == reads_.size() || chance(50))) {
      const DmaReq& w = writes_.front().r;
      rsp.tag = w.tag;
      rsp.err = mem.refused(w.addr, w.len);
      if (!rsp.err) mem.write(w.addr, w.data.data(), w.len);
      writes_.pop_front();
      dut_->dma_rsp_valid_i = 1;
    } else if (read_due != reads_.size()) {
      const DmaReq& r = reads_[read_due].r;
      rsp.tag = r.tag;
      rsp.err = mem.refused(r.addr, r.len);
      if (!rsp.err) mem.read(r.addr, rsp.data.data(), r.len);
      reads_.erase(reads_.begin() + static_cast<long>(read_due));
      dut_->dma_rsp_valid_i = 1;
    }
    if (dut_->dma_rsp_valid_i) {
      put(dut_->dma_rsp_i, rsp);
      progress = now;
    }
    dut_->txd_credit_i = 0;
    for (unsigned p = 0; p < kPlanes; ++p) port_inputs(p);
  }

  void take_dma(const DmaReq& r) {
    progress = now;
    if (r.kind == raw(DmaKind::kRead)) {
      ++counts.dma_reads;
      for (auto& o : reads_) {
        if (o.r.tag == r.tag) throw std::runtime_error("read tag used twice");
      }
      reads_.push_back({now + between(timing_.dma_min, timing_.dma_max), r});
    } else {
      if (r.kind == raw(DmaKind::kWrite)) ++counts.dma_writes;
      uint64_t due = now + between(timing_.dma_min / 2, timing_.dma_max / 2);
      if (!writes_.empty()) due = std::max(due, writes_.back().due);
      writes_.push_back({due, r});
    }
  }

  template <class Port>
  static void set_bit(Port& port, unsigned bit, bool v) {
    port = static_cast<std::decay_t<Port>>(v ? (port | (1u << bit)) : (port & ~(1u << bit)));
  }

  // Transmit side of a port: one frame after the other, rsp before req before bulk.
  void transmit(unsigned i) {
    Port& p = ports_[i];
    if (now < p.tx_free || stuck_port[i]) return;
    static constexpr unsigned kOrder[3] = {raw(Vc::kRsp), raw(Vc::kReq), raw(Vc::kBulk)};
    for (unsigned vc : kOrder) {
      if (p.txq[vc].empty() || (stuck_bulk && vc == raw(Vc::kBulk))) continue;
      const Txd d = p.txq[vc].front();
      p.txq[vc].pop_front();
      --p.slots[vc];
      set_bit(dut_->txd_credit_i, 3 * i + vc, true);
      const bool is_ack = d.opcode == raw(PktOp::kAck);
      Frame f;
      if (d.inl) {
        f.payload.resize(d.len);
        std::memcpy(f.payload.data(), d.sack.data(), d.len);
      } else if (carries_payload(d.opcode)) {
        f.payload = mem.read(d.laddr, d.len);
      }
      const bool err = !f.payload.empty() && !d.inl && mem.refused(d.laddr, d.len);
      f.h.opcode = d.opcode;
      f.h.vc = d.vc;
      f.h.src_node = node_;
      f.h.dst_qpn = d.dst_qpn;
      f.h.psn = d.psn;
      f.h.ack_req = d.ack_req;
      f.h.becn = d.becn;
      f.h.raddr = d.raddr;
      f.h.rkey = d.rkey;
      f.h.len = d.len;
      f.h.red_op = d.red_op;
      f.h.red_dtype = d.red_dtype;
      f.h.imm = d.imm;
      f.h.syndrome = d.syndrome;
      f.h.msn = d.msn;
      f.h.rnum = d.rnum;
      f.h.red_ordered = d.red_ordered;
      if (is_ack) f.h.sack = d.sack;
      const uint8_t rsp = is_response(d.opcode);
      if (rsp) f.h.raddr = 0, f.h.rkey = 0;
      if (!is_ack) p.txc.push_back({d.src_qpn, d.psn, rsp, static_cast<uint8_t>(err)});
      if (err) f.h.err = raw(ErrCause::kFcs);
      const unsigned flits = flits_of(d.opcode, d.len);
      p.tx_free = now + (timing_.line_rate ? flits : 1 + rng_() % 4) + slow_port[i];
      f.due = now;
      progress = now;
      if (!on_wire || on_wire(f, i)) send(std::move(f), i);
      return;
    }
  }

  void port_inputs(unsigned i) {
    Port& p = ports_[i];
    transmit(i);
    if (!p.txc_up && !p.txc.empty()) p.txc_up = chance(timing_.txc_rate);
    set_bit(dut_->txc_valid_i, i, p.txc_up);
    if (p.txc_up) put(dut_->txc_i, p.txc.front(), i * Txc::kBits);

    if (!p.rxh_up && now >= p.rx_free && chance(timing_.rx_rate)) {
      const unsigned first = static_cast<unsigned>(rng_() % 3);
      for (unsigned k = 0; k < 3 && !p.rxh_up; ++k) {
        const unsigned vc = (first + k) % 3;
        if (p.rx[vc].empty() || p.rx[vc].front().due > now) continue;
        p.rxh_up = true;
        p.rxh_vc = vc;
      }
    }
    set_bit(dut_->rxh_valid_i, i, p.rxh_up);
    if (p.rxh_up) put(dut_->rxh_i, p.rx[p.rxh_vc].front().h, i * Rxh::kBits);

    set_bit(dut_->rxv_ready_i, i, chance(timing_.rxv_ready));

    // Placements overlap in time: a REDUCE reads early and writes late.
    for (auto& x : p.placing) {
      if (!x.has_read && x.read_at <= now) {
        x.has_read = true;
        const unsigned len = touches(x.v);
        x.err = len != 0 && mem.refused(x.v.addr, len);
        if (reads_memory(x.v)) x.old = mem.read(x.v.addr, len);
      }
      if (!x.written && x.has_read && x.write_at <= now) {
        x.written = true;
        if (!x.err) {
          const auto data = placed_bytes(x);
          mem.write(x.v.addr, data.data(), data.size());
        }
      }
    }
    while (!p.placing.empty() && p.placing.front().written && p.placing.front().done_at <= now) {
      // Of a READ response that is dropped nobody hears.
      if (p.placing.front().v.rsp == 0 || p.placing.front().v.action != raw(RxAction::kDrop)) {
        p.rxd.push_back(std::move(p.placing.front()));
      }
      p.placing.pop_front();
    }
    p.rxd_up = !p.rxd.empty();
    set_bit(dut_->rxd_valid_i, i, p.rxd_up);
    if (p.rxd_up) {
      const Placing& x = p.rxd.front();
      uint64_t old = 0;
      if (x.v.action == raw(RxAction::kAtomic) && !x.err) std::memcpy(&old, x.old.data(), 8);
      put(dut_->rxd_i, Rxd{x.v.rsp, x.v.qpn, x.v.psn, static_cast<uint8_t>(x.err), old},
          i * Rxd::kBits);
    }
  }

  void port_outputs(unsigned i) {
    Port& p = ports_[i];
    if (dut_->txd_valid_o >> i & 1) {
      const Txd d = get<Txd>(dut_->txd_o, i * Txd::kBits);
      if (d.vc > 2) throw std::runtime_error("descriptor with unknown VC");
      if (++p.slots[d.vc] > 16) throw std::runtime_error("descriptor without credit");
      if ((d.opcode == raw(PktOp::kAck)) != (d.vc == raw(Vc::kRsp))) {
        throw std::runtime_error("acknowledgements and only they use VC rsp");
      }
      if (is_send(d.opcode) && (d.raddr >> 56 != 0 || (d.raddr & 0xffffffff) + d.len > d.rkey ||
                                ((d.raddr & 0xffffffff) + d.len < d.rkey &&
                                 (d.len < 1024 || d.opcode == raw(PktOp::kSendImm))))) {
        throw std::runtime_error("SENDH that contradicts itself");
      }
      if (d.inl && (d.len > kNicMaxInline || !carries_payload(d.opcode))) {
        throw std::runtime_error("inline payload that is none");
      }
      if ((d.opcode == raw(PktOp::kReadRequest) || is_atomic(d.opcode)) && d.vc != raw(Vc::kReq)) {
        throw std::runtime_error("READ request on another VC");
      }
      if (is_response(d.opcode)) {
        if (d.vc != raw(Vc::kBulk)) throw std::runtime_error("READ response on another VC");
        ++counts.responses[i];
      } else {
        ++(d.opcode == raw(PktOp::kAck) ? counts.acks : counts.txd)[i];
      }
      if (monitor != nullptr) monitor->txd(index, i, d);
      if (on_txd) on_txd(d, i);
      p.txq[d.vc].push_back(d);
      progress = now;
    }
    if (p.txc_up && (dut_->txc_ready_o >> i & 1)) {
      p.txc.pop_front();
      p.txc_up = false;
      progress = now;
    }
    if (p.rxh_up && (dut_->rxh_ready_o >> i & 1)) {
      Frame f = std::move(p.rx[p.rxh_vc].front());
      p.rx[p.rxh_vc].pop_front();
      p.rxh_up = false;
      if (timing_.line_rate) p.rx_free = now + flits_of(f.h.opcode, f.h.len);
      if (monitor != nullptr) monitor->header(index, i, f.h);
      if (f.h.err == 0 && carries_payload(f.h.opcode)) p.judge.push_back(std::move(f));
      progress = now;
    }
    if ((dut_->rxv_valid_o >> i & 1) && (dut_->rxv_ready_i >> i & 1)) {
      if (p.judge.empty()) throw std::runtime_error("verdict without a frame");
      Placing x;
      x.f = std::move(p.judge.front());
      p.judge.pop_front();
      x.v = get<Rxv>(dut_->rxv_o, i * Rxv::kBits);
      ++counts.verdicts[i];
      if (x.v.psn != x.f.h.psn) throw std::runtime_error("verdict out of order");
      const bool rsp = is_response(x.f.h.opcode);
      if ((x.v.rsp != 0) != rsp) throw std::runtime_error("verdict of the wrong engine");
      if (monitor != nullptr) x.life = monitor->verdict(index, i, x.f.h, x.v);
      if (x.v.action == raw(RxAction::kDrop)) {
        x.written = x.has_read = true;
        x.done_at = now;
        p.placing.push_back(std::move(x));
      } else {
        // The header of a SEND has no address: where it must land, only the tests know.
        if ((!rsp && !is_send(x.f.h.opcode) && x.v.addr != x.f.h.raddr) || x.v.len != x.f.h.len) {
          throw std::runtime_error("verdict with a wrong address or length");
        }
        const bool red = is_reduce(x.f.h.opcode);
        if ((x.v.action == raw(RxAction::kReduce)) != red ||
            (x.v.action == raw(RxAction::kAtomic)) != is_atomic(x.f.h.opcode) ||
            x.v.swap8 != (x.f.h.opcode == raw(PktOp::kAtomicResponse))) {
          throw std::runtime_error("verdict with a wrong action");
        }
        check_hazard(x);
        ++counts.placed[i];
        // Writes of a plane stay in order, whatever they hit.
        x.write_at = std::max(now + between(timing_.mem_min, timing_.mem_max), p.last_write);
        if (x.v.len != 0) p.last_write = x.write_at;
        x.read_at = between(now, x.write_at);
        x.done_at = x.write_at + rng_() % 8;
        if (x.v.len == 0) x.read_at = x.write_at = x.done_at = now;
        p.placing.push_back(std::move(x));
      }
      progress = now;
    }
    if (p.rxd_up && (dut_->rxd_ready_o >> i & 1)) {
      const Placing& x = p.rxd.front();
      if (monitor != nullptr) monitor->placed(index, i, x.f.h, x.v, x.err, x.life);
      p.rxd.pop_front();
      progress = now;
    }
  }

  // What the port does besides writing the payload as it is.
  static bool reads_memory(const Rxv& v) {
    return v.action == raw(RxAction::kReduce) || v.action == raw(RxAction::kAtomic);
  }
  static unsigned touches(const Rxv& v) { return v.action == raw(RxAction::kAtomic) ? 8 : v.len; }
  static uint64_t big_endian(const std::vector<uint8_t>& bytes, size_t at) {
    uint64_t v = 0;
    for (size_t i = 0; i < 8; ++i) v = v << 8 | bytes.at(at + i);
    return v;
  }
  static std::vector<uint8_t> placed_bytes(const Placing& x) {
    const auto& p = x.f.payload;
    std::vector<uint8_t> out(8);
    if (x.v.action == raw(RxAction::kReduce)) {
      out = x.old;
      ubl::numerics::reduce_buffer(static_cast<ubl::numerics::ElementType>(x.v.red_dtype),
                                   static_cast<ubl::numerics::ReduceOp>(x.v.red_op), out.data(),
                                   p.data(), out.size());
    } else if (x.v.action == raw(RxAction::kAtomic)) {
      uint64_t old;
      std::memcpy(&old, x.old.data(), 8);
      const uint64_t number = big_endian(p, 0);
      uint64_t now = old + number;
      if (x.v.red_dtype != 0) now = old == big_endian(p, 8) ? number : old;
      std::memcpy(out.data(), &now, 8);
    } else if (x.v.swap8) {
      const uint64_t v = big_endian(p, 0);
      std::memcpy(out.data(), &v, 8);
    } else {
      return p;
    }
    return out;
  }

  // While a REDUCE has a verdict without a report, no other one touches what it touches.
  void check_hazard(const Placing& x) const {
    if (x.v.len == 0) return;
    const unsigned len = touches(x.v);
    for (auto& p : ports_) {
      for (auto* list : {&p.placing, &p.rxd}) {
        for (auto& y : *list) {
          if (y.v.action == raw(RxAction::kDrop) || y.v.len == 0) continue;
          if (!reads_memory(x.v) && !reads_memory(y.v)) continue;
          if (x.v.addr < y.v.addr + touches(y.v) && y.v.addr < x.v.addr + len) {
            throw std::runtime_error("verdict on what a REDUCE is working on");
          }
        }
      }
    }
  }

  uint16_t node_;
  Rng& rng_;
  const Timing& timing_;
  VerilatedContext context_;
  std::unique_ptr<Dut> dut_;
  Port ports_[kPlanes];
  std::function<void(CsrRsp)> csr_wait_;
  bool csr_busy_ = false;
  std::deque<Read> reads_, writes_;
  bool dma_held_ = false, rxv_held_[kPlanes] = {};
  DmaReq dma_held_req_;
  Rxv rxv_held_v_[kPlanes];
};

// Two cards and what a driver does with them.
template <class Dut, unsigned kPlanesValue>
class Bench {
 public:
  static constexpr unsigned kPlanes = kPlanesValue;
  using TheCard = Card<Dut, kPlanes>;

  explicit Bench(uint64_t salt = 0) : rng(ubl::test::rng(salt)) {
    for (unsigned i = 0; i < 2; ++i) {
      card[i] = std::make_unique<TheCard>(static_cast<uint16_t>(0x100 + i), rng, timing);
    }
    for (unsigned i = 0; i < 2; ++i) {
      card[i]->send = [this, i](Frame f, unsigned plane) { carry(i, std::move(f), plane); };
      card[i]->now = rng() & 0xffffffffffull;
      card[i]->monitor = &monitor;
      card[i]->index = i;
    }
    reset();
  }

  Rng rng;
  Timing timing;
  std::unique_ptr<TheCard> card[2];
  TheCard& a() { return *card[0]; }
  TheCard& b() { return *card[1]; }
  Monitor monitor;
  Wire wire[2][kPlanes];  // what leaves card i on a plane
  WireCounts wires[2][kPlanes];
  uint64_t cycles = 0;
  unsigned patience = 150000;  // cycles without anything moving that mean a hang

  void all_wires(const std::function<void(Wire&)>& f) {
    for (auto& side : wire) {
      for (auto& w : side) f(w);
    }
  }
  // The wire of a plane breaks at once, in both directions, or works again.
  void cut(unsigned plane, bool broken) {
    for (auto& side : wire) side[plane].cut_from = broken ? cycles : kNever;
  }
  // A frame of a test's own, as if it came from card i.
  void carry(unsigned i, Frame f, unsigned plane) {
    const Wire& w = wire[i][plane];
    WireCounts& n = wires[i][plane];
    ++n.frames;
    const bool dead = cycles >= w.cut_from && cycles < w.cut_until;
    const bool lost = hit(w.drop);
    if (dead || lost) {
      ++n.dropped;
      return;
    }
    if (hit(w.corrupt) && f.h.err == 0) {
      ++n.corrupted;
      f.h.err = raw(rng() % 2 ? ErrCause::kFcs : ErrCause::kIcrc);
      if (rng() % 2) f.h.psn ^= 1u << rng() % 24;
      if (rng() % 2) f.h.dst_qpn ^= 1u << rng() % 24;
      if (!f.payload.empty()) f.payload[rng() % f.payload.size()] ^= 0x10;
    }
    const uint64_t min = w.latency_max != 0 ? w.latency_min : timing.link_min;
    const uint64_t max = w.latency_max != 0 ? w.latency_max : timing.link_max;
    uint64_t& last = last_due_[i][plane][f.h.vc % 3];
    uint64_t due = std::max(cycles + min + rng() % (max - min + 1), last);
    if (hit(w.reorder)) {
      ++n.reordered;
      due += 1 + rng() % w.late;
    } else {
      last = due;
    }
    Frame copy;
    const bool twice = hit(w.duplicate);
    if (twice) copy = f;
    deliver(1 - i, std::move(f), plane, due);
    if (twice) {
      ++n.duplicated;
      deliver(1 - i, std::move(copy), plane, due + rng() % (2 * w.late));
    }
  }

  void step() {
    monitor.now = cycles;
    for (auto& c : card) c->cycle(reset_[c == card[1]] > 0);
    for (auto& r : reset_) r -= r > 0;
    ++cycles;
    if (a().now - a().progress > patience && b().now - b().progress > patience) {
      throw std::runtime_error("no progress: " + a().describe() + " | " + b().describe());
    }
  }
  void run(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) step();
  }
  template <class F>
  void run_until(F done, uint64_t limit = 200000) {
    for (uint64_t i = 0; !done(); ++i) {
      if (i == limit) throw std::runtime_error("condition not reached");
      step();
    }
  }
  // Until nothing moves any more.
  void settle() {
    unsigned still = 0;
    run_until([&] {
      still = a().quiet() && b().quiet() ? still + 1 : 0;
      return still > 20;
    });
  }
  void reset(unsigned n = 3) {
    reset_[0] = reset_[1] = n;
    monitor.reset(0);
    monitor.reset(1);
    for (auto& c : card) c->progress = c->now;
    step();
    for (auto& c : cq_state_) c.clear();
    for (auto& q : sq_tail_) q.clear();
    for (auto& q : rq_tail_) q.clear();
    while (reset_[0] != 0) step();
  }
  void reset_card(unsigned i, unsigned n) {
    reset_[i] = n;
    monitor.reset(i);
    cq_state_[i].clear();
    sq_tail_[i].clear();
    rq_tail_[i].clear();
    while (reset_[i] != 0) step();
  }

  // ---------------------------------------------------------------------------- registers
  CsrRsp csr(unsigned c, bool write, uint32_t reg, uint32_t data = 0) {
    bool done = false;
    CsrRsp rsp;
    CsrReq r;
    r.write = write;
    r.addr = static_cast<uint16_t>(reg - reg::kNicVersion);
    r.wdata = data;
    card[c]->csr.emplace_back(r, [&](CsrRsp x) {
      rsp = x;
      done = true;
    });
    run_until([&] { return done; });
    return rsp;
  }
  void wr(unsigned c, uint32_t reg, uint32_t data) {
    const CsrRsp r = csr(c, true, reg, data);
    if (reg == reg::kNicCtrl) monitor.set_enabled(c, data & 1);
    if (r.err) throw std::runtime_error("register write refused");
  }
  uint32_t rd(unsigned c, uint32_t reg) {
    const CsrRsp r = csr(c, false, reg);
    if (r.err) throw std::runtime_error("register read refused");
    return r.rdata;
  }
  ObjResult command(unsigned c, ObjOp op, unsigned index) {
    wr(c, reg::kNicObjCmd, uint32_t(raw(op)) | (index << reg::kNicObjCmdIndexLsb));
    uint32_t r;
    do {
      r = rd(c, reg::kNicObjResult);
    } while (r == raw(ObjResult::kBusy));
    return static_cast<ObjResult>(r);
  }
  template <class Ctx>
  ObjResult load(unsigned c, ObjOp op, unsigned index, const Ctx& ctx) {
    if constexpr (std::is_same_v<Ctx, QpCtx>) {
      monitor.begin_write(c, index, card[c]->judging(index));
      const ObjResult r = load_object(c, op, index, ctx);
      if (r == ObjResult::kOk) monitor.end_write(c, index, ctx, true);
      return r;
    } else {
      return load_object(c, op, index, ctx);
    }
  }
  template <class Ctx>
  ObjResult load_object(unsigned c, ObjOp op, unsigned index, const Ctx& ctx) {
    uint8_t bytes[64];
    ctx.pack(bytes);
    for (unsigned i = 0; i < 16; ++i) {
      uint32_t w;
      std::memcpy(&w, bytes + 4 * i, 4);
      wr(c, reg::kNicObjData + 4 * i, w);
    }
    return command(c, op, index);
  }
  QpStatus status(unsigned c, unsigned qpn) {
    EXPECT_EQ(command(c, ObjOp::kReadQp, qpn), ObjResult::kOk);
    uint8_t bytes[64];
    for (unsigned i = 0; i < 16; ++i) {
      const uint32_t w = rd(c, reg::kNicObjData + 4 * i);
      std::memcpy(bytes + 4 * i, &w, 4);
    }
    return QpStatus::unpack(bytes);
  }
  std::vector<LogEntry> log(unsigned c) {
    std::vector<LogEntry> v;
    for (;;) {
      const uint32_t info = rd(c, reg::kNicErrInfo);
      if (info == 0) return v;
      v.push_back({static_cast<ErrCause>(info & 0xff), info >> 8 & 0xff, info >> 16,
                   rd(c, reg::kNicErrPsn)});
      wr(c, reg::kNicErrPop, 0);
    }
  }
  unsigned count(const std::vector<LogEntry>& v, ErrCause cause) {
    return static_cast<unsigned>(
        std::count_if(v.begin(), v.end(), [&](auto& e) { return e.cause == cause; }));
  }

  // ---------------------------------------------------------------------------- objects
  static constexpr unsigned kPd = 5;
  // Where a card keeps things.
  static uint64_t ring_base(unsigned qpn) { return kHost | 0x100000000ull | (uint64_t(qpn) << 20); }
  static uint64_t recv_base(unsigned qpn) { return kHost | 0x300000000ull | (uint64_t(qpn) << 20); }
  static uint64_t cq_base(unsigned cq) { return kHost | 0x200000000ull | (uint64_t(cq) << 20); }

  void enable(unsigned c) { wr(c, reg::kNicCtrl, reg::kNicCtrlEnableMask); }

  void make_cq(unsigned c, unsigned cq, unsigned log2, bool irq = false) {
    CqCtx x;
    x.valid = 1;
    x.irq_en = irq;
    x.log2 = static_cast<uint8_t>(log2);
    x.vector = static_cast<uint16_t>(cq);
    x.base = cq_base(cq);
    const std::vector<uint8_t> zero(size_t(64) << log2);
    card[c]->mem.write(x.base, zero.data(), zero.size());
    ASSERT_EQ(load(c, ObjOp::kWriteCq, cq, x), ObjResult::kOk);
    cq_state_[c][cq] = {log2, 0, true};
  }
  // Key of the region.
  uint32_t make_mr(unsigned c, unsigned index, uint64_t base, uint64_t length, bool lr = true,
                   bool rw = true, bool rr = true, bool lw = false, bool rd = false,
                   bool ra = false) {
    MrCtx x;
    x.valid = 1;
    x.local_read = lr;
    x.remote_write = rw;
    x.remote_reduce = rr;
    x.local_write = lw;
    x.remote_read = rd;
    x.remote_atomic = ra;
    x.key = static_cast<uint8_t>(0x40 + index);
    x.pd = kPd;
    x.base = base;
    x.length = length;
    EXPECT_EQ(load(c, ObjOp::kWriteMr, index, x), ObjResult::kOk);
    return index << 8 | x.key;
  }
  static constexpr unsigned kAllPlanes = (1u << kPlanes) - 1;
  QpCtx qp_ctx(unsigned c, unsigned qpn, unsigned remote_qpn, unsigned planes, unsigned scq,
               unsigned rcq) {
    QpCtx x;
    x.state = raw(QpState::kReady);
    x.planes = static_cast<uint8_t>(planes);
    x.sq_log2 = 4;
    x.pd = kPd;
    x.remote_node = card[1 - c]->node();
    x.scq = static_cast<uint8_t>(scq);
    x.rcq = static_cast<uint8_t>(rcq);
    x.remote_qpn = remote_qpn;
    x.sq_base = ring_base(qpn);
    x.sq_psn = c ? 0x500 : 0xfffffa;  // A's numbers wrap soon
    x.rq_psn = c ? 0xfffffa : 0x500;
    x.window = 64;
    x.retry = 3;
    x.rnr_retry = 1;
    return x;
  }
  void make_qp(unsigned c, unsigned qpn, const QpCtx& x) {
    ASSERT_EQ(load(c, ObjOp::kWriteQp, qpn, x), ObjResult::kOk);
    sq_tail_[c][qpn] = {x.sq_log2, 0};
    rq_tail_[c][qpn] = {x.rq_log2, 0};
  }
  // Gives a context a receive ring.
  static void add_ring(QpCtx& x, unsigned qpn, unsigned log2) {
    x.rq_ring = 1;
    x.rq_log2 = static_cast<uint8_t>(log2);
    x.rq_base = recv_base(qpn);
  }
  // A connected pair, qpn on both sides.
  void connect(unsigned qpn, unsigned planes, unsigned scq = 0, unsigned rcq = 1,
               const std::function<void(QpCtx&)>& tune = {}) {
    for (unsigned c = 0; c < 2; ++c) {
      QpCtx x = qp_ctx(c, qpn, qpn, planes, scq, rcq);
      if (tune) tune(x);
      make_qp(c, qpn, x);
    }
  }

  // ---------------------------------------------------------------------------- work
  void doorbell(unsigned c, unsigned kind, unsigned index, uint32_t value) {
    Doorbell d;
    d.kind = static_cast<uint8_t>(kind);
    d.index = static_cast<uint16_t>(index);
    d.value = static_cast<uint16_t>(value);
    card[c]->doorbells.push_back({d, {}});
  }
  void write_wqe(unsigned c, unsigned qpn, const Wqe& w) {
    auto& s = sq_tail_[c][qpn];
    uint8_t bytes[64];
    w.pack(bytes);
    card[c]->mem.write(ring_base(qpn) + 64 * (s.tail & ((1u << s.log2) - 1)), bytes, 64);
    ++s.tail;
    monitor.posted(c, qpn, w);
  }
  // Writes the entry to the ring and to the push window.
  void push(unsigned c, unsigned qpn, Wqe w) {
    w.index = static_cast<uint16_t>(sq_tail_[c][qpn].tail);
    write_wqe(c, qpn, w);
    push_only(c, qpn, w);
  }
  void push_only(unsigned c, unsigned qpn, const Wqe& w) {
    Push p;
    p.index = static_cast<uint16_t>(qpn);
    uint8_t bytes[64];
    w.pack(bytes);
    std::memcpy(p.data.data(), bytes, 64);
    card[c]->doorbells.push_back({Doorbell{}, p});
  }
  void write_counter(unsigned c, unsigned ctr, uint32_t success, uint32_t failure) {
    Ctr x;
    x.success = success;
    x.failure = failure;
    EXPECT_EQ(load(c, ObjOp::kWriteCtr, ctr, x), ObjResult::kOk);
  }
  Ctr counter(unsigned c, unsigned ctr) {
    EXPECT_EQ(command(c, ObjOp::kReadCtr, ctr), ObjResult::kOk);
    uint8_t bytes[64] = {};
    for (unsigned i = 0; i < 2; ++i) {
      const uint32_t w = rd(c, reg::kNicObjData + 4 * i);
      std::memcpy(bytes + 4 * i, &w, 4);
    }
    return Ctr::unpack(bytes);
  }
  void ring(unsigned c, unsigned qpn) { doorbell(c, 0, qpn, sq_tail_[c][qpn].tail); }
  void post(unsigned c, unsigned qpn, const Wqe& w) {
    write_wqe(c, qpn, w);
    ring(c, qpn);
  }
  // Entries of a receive ring.
  void write_recv(unsigned c, unsigned qpn, const Wqe& w) {
    auto& s = rq_tail_[c][qpn];
    uint8_t bytes[64];
    w.pack(bytes);
    card[c]->mem.write(recv_base(qpn) + 64 * (s.tail & ((1u << s.log2) - 1)), bytes, 64);
    ++s.tail;
  }
  void ring_recv(unsigned c, unsigned qpn) { doorbell(c, 1, qpn, rq_tail_[c][qpn].tail); }
  void post_recv(unsigned c, unsigned qpn, const Wqe& w) {
    write_recv(c, qpn, w);
    ring_recv(c, qpn);
  }
  // Receives of a QP without a receive ring.
  void post_receives(unsigned c, unsigned qpn, unsigned total) { doorbell(c, 1, qpn, total); }

  bool poll(unsigned c, unsigned cq, Cqe& out) {
    auto& s = cq_state_[c][cq];
    uint8_t bytes[64];
    const uint32_t slot = s.cons & ((1u << s.log2) - 1);
    card[c]->mem.read(cq_base(cq) + 64 * slot, bytes, 64);
    out = Cqe::unpack(bytes);
    const unsigned phase = ~(s.cons >> s.log2) & 1;
    if (out.phase != phase) return false;
    ++s.cons;
    if (s.auto_consume) doorbell(c, 2, cq, s.cons);
    return true;
  }
  void auto_consume(unsigned c, unsigned cq, bool on) { cq_state_[c][cq].auto_consume = on; }
  Cqe wait_cqe(unsigned c, unsigned cq, uint64_t limit = 200000) {
    Cqe e;
    run_until([&] { return poll(c, cq, e); }, limit);
    return e;
  }

 private:
  struct CqState {
    unsigned log2 = 0;
    uint32_t cons = 0;
    bool auto_consume = true;
  };
  struct SqState {
    unsigned log2 = 0;
    uint32_t tail = 0;
  };
  bool hit(unsigned rate) { return rate != 0 && rng() % 10000 < rate; }
  void deliver(unsigned to, Frame f, unsigned plane, uint64_t due) {
    f.due = due + card[to]->now - cycles;  // the cards' clocks show different times
    card[to]->receive(std::move(f), plane);
  }

  unsigned reset_[2] = {};
  uint64_t last_due_[2][kPlanes][3] = {};
  std::map<unsigned, CqState> cq_state_[2];
  std::map<unsigned, SqState> sq_tail_[2], rq_tail_[2];
};

}  // namespace nic_core_test
