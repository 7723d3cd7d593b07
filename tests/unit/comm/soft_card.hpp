// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Cards in software behind driver::Transport, written from rtl/spec/{host,nic}.yaml: registers,
// object commands, rings in host memory, WRITE and REDUCE between the cards of a `SoftNet`, error
// statuses, error log. No packets and no timing: a message arrives whole. Queue pairs keep their
// order; between them the order of events is drawn from a seed.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "ubl/driver/device.hpp"
#include "ubl/driver/transport.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/spec/host.hpp"
#include "ubl/spec/link.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::test {

class SoftCard;

class SoftNet {
 public:
  SoftNet(unsigned cards, unsigned planes, uint64_t seed, uint64_t hbm_bytes = 1 << 20);
  SoftCard& card(unsigned i) { return *cards_.at(i); }

  /// Lets one thing happen on a card drawn at random; false: nothing is in flight.
  bool step();

  uint64_t now = 1000;
  std::mt19937_64 rng;
  /// What becomes of a request; kOk: it is carried out.
  std::function<spec::CqeStatus(const SoftCard&, uint32_t qpn, const spec::Wqe&)> fate;

 private:
  std::vector<std::unique_ptr<SoftCard>> cards_;
};

class SoftCard : public driver::Transport {
 public:
  SoftCard(SoftNet& net, uint16_t node, unsigned planes, uint64_t hbm_bytes)
      : net_(net), node_(node), planes_(planes), hbm_(hbm_bytes, 0xA5) {}

  /// What the rank does in wait().
  std::function<void(uint64_t deadline)> on_wait;
  /// A completion just before it is written, to spoil it.
  std::function<void(spec::Cqe&)> spoil;
  std::vector<std::string> violations;
  unsigned live_buffers = 0;

  uint16_t node() const { return node_; }
  void log_error(spec::ErrCause cause, unsigned plane, uint32_t qpn, uint32_t psn) {
    errors_.push_back({cause, plane, qpn, psn});
  }
  unsigned ready_qps() const {
    unsigned n = 0;
    for (const auto& [qpn, q] : qps_) n += q.ctx.state == 1 ? 1 : 0;
    return n;
  }

  // ---- Transport
  uint32_t read32(unsigned bar, uint64_t offset) override {
    using namespace spec::reg;
    net_.now += 600;
    if (bar != 0) return ~0u;
    switch (offset) {
      case kHostId:
        return kHostIdReset;
      case kHostNode:
        return node_;
      case kNicVersion:
        return kNicVersionReset;
      case kNicCaps:
        return planes_ | 10 << 8 | 6 << 16 | 8 << 24;
      case kNicCtrl:
        return ctrl_;
      case kNicObjResult:
        return result_;
      case kNicErrInfo:
        if (errors_.empty()) return 0;
        return static_cast<uint32_t>(errors_.front().cause) | errors_.front().plane << 8 |
               errors_.front().qpn << 16;
      case kNicErrPsn:
        return errors_.empty() ? 0 : errors_.front().psn;
      default:
        throw std::logic_error("soft card: read of register " + std::to_string(offset));
    }
  }
  void write32(unsigned bar, uint64_t offset, uint32_t value) override {
    using namespace spec::reg;
    net_.now += 10;
    if (bar == 4) {
      doorbell(offset, value);
    } else if (offset == kNicCtrl) {
      ctrl_ = value;
    } else if (offset >= kNicObjData && offset < kNicObjData + 64) {
      std::memcpy(data_.data() + (offset - kNicObjData), &value, 4);
    } else if (offset == kNicObjCmd) {
      command(static_cast<spec::ObjOp>(value & 0xff), value >> 16);
    } else if (offset == kNicErrPop) {
      if (!errors_.empty()) errors_.pop_front();
    } else {
      throw std::logic_error("soft card: write of register " + std::to_string(offset));
    }
  }
  void write_burst(unsigned, uint64_t offset, const uint8_t* bytes64) override {
    using namespace spec::reg;
    const auto tail = static_cast<uint16_t>(spec::Wqe::unpack(bytes64).index + 1);
    doorbell((offset - kDbPush) / kDbPushStride * kDbSqStride, tail);
  }
  uint8_t* hbm() override { return hbm_.data(); }
  uint64_t hbm_size() const override { return hbm_.size(); }
  uint32_t config_read32(unsigned offset) override {
    return offset == 0 ? uint32_t{spec::kHostPciDevice} << 16 | spec::kHostPciVendor : config_;
  }
  void config_write32(unsigned, uint32_t value) override { config_ = value & 6; }
  std::unique_ptr<driver::DmaBuffer> dma_alloc(size_t bytes) override {
    return std::make_unique<Buffer>(*this, (bytes + 4095) / 4096 * 4096);
  }
  uint64_t now_ns() override { return net_.now; }
  bool wait(uint64_t deadline_ns) override {
    ++net_.now;
    on_wait(deadline_ns);
    return true;
  }
  void charge(driver::HostCost, uint64_t) override {}
  void reset() override {}

 private:
  friend class SoftNet;
  struct Sent {
    spec::Wqe wqe;
    uint32_t psn;  // of its last packet
  };
  struct Qp {
    spec::QpCtx ctx;
    uint16_t head = 0, tail = 0, receives = 0, received = 0;
    uint64_t receives_done = 0;
    uint32_t next_psn = 0, expected_psn = 0;
    std::deque<spec::Wqe> fetched;
    std::deque<Sent> sent;  // carried out, acknowledgement on its way
    bool silent = false;    // nothing arrives any more and nobody is told
  };
  struct Cq {
    spec::CqCtx ctx;
    uint32_t producer = 0;
    uint16_t consumer = 0;
  };
  class Buffer : public driver::DmaBuffer {
   public:
    Buffer(SoftCard& card, size_t bytes)
        : card_(card),
          bytes_(bytes),
          iova_(card.next_iova_),
          data_(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes)), &std::free) {
      std::memset(data_.get(), 0, bytes);
      card.next_iova_ += bytes + 4096;
      card.buffers_[iova_] = this;
      ++card.live_buffers;
    }
    ~Buffer() override {
      card_.buffers_.erase(iova_);
      --card_.live_buffers;
    }
    uint8_t* data() override { return data_.get(); }
    size_t size() const override { return bytes_; }
    uint64_t card_addr() const override { return uint64_t{1} << 63 | iova_; }

   private:
    SoftCard& card_;
    size_t bytes_;
    uint64_t iova_;
    std::unique_ptr<uint8_t, void (*)(void*)> data_;
  };

  uint8_t* host(uint64_t addr) {
    const uint64_t iova = addr & ~(uint64_t{1} << 63);
    auto it = buffers_.upper_bound(iova);
    if (iova == addr || it == buffers_.begin()) throw std::logic_error("soft card: not mapped");
    --it;
    if (iova + 64 > it->first + it->second->size()) throw std::logic_error("soft card: not mapped");
    return it->second->data() + (iova - it->first);
  }
  void command(spec::ObjOp op, uint32_t index) {
    result_ = static_cast<uint32_t>(spec::ObjResult::kOk);
    if (op == spec::ObjOp::kWriteQp) {
      Qp& q = qps_[index] = Qp{};
      q.ctx = spec::QpCtx::unpack(data_.data());
      q.next_psn = q.ctx.sq_psn;
      q.expected_psn = q.ctx.rq_psn;
    } else if (op == spec::ObjOp::kWriteCq) {
      cqs_[index] = Cq{};
      cqs_[index].ctx = spec::CqCtx::unpack(data_.data());
    } else if (op == spec::ObjOp::kWriteMr) {
      mrs_[index] = spec::MrCtx::unpack(data_.data());
    } else {
      result_ = static_cast<uint32_t>(spec::ObjResult::kBadOp);
    }
  }
  void doorbell(uint64_t offset, uint32_t value) {
    using namespace spec::reg;
    const auto v = static_cast<uint16_t>(value);
    if (offset >= kDbCq) {
      cqs_.at(static_cast<uint32_t>((offset - kDbCq) / kDbCqStride)).consumer = v;
    } else if (offset % 8 == 4) {
      qps_.at(static_cast<uint32_t>(offset / kDbRqStride)).receives = v;
    } else {
      qps_.at(static_cast<uint32_t>(offset / kDbSqStride)).tail = v;
    }
  }
  void complete(uint32_t cqn, spec::Cqe cqe) {
    Cq& cq = cqs_.at(cqn);
    const uint32_t entries = 1u << cq.ctx.log2;
    if (static_cast<uint16_t>(cq.producer - cq.consumer) >= entries) {
      violations.push_back("completion queue overflow");
      return;
    }
    if (spoil) spoil(cqe);
    cqe.phase = ((cq.producer >> cq.ctx.log2) & 1) ^ 1;
    cqe.pack(host(cq.ctx.base + (cq.producer & (entries - 1)) * spec::Cqe::kBytes));
    ++cq.producer;
  }
  bool allowed(uint32_t key, uint64_t addr, uint64_t bytes, bool local, bool reduce) const {
    const auto it = mrs_.find(key >> 8);
    if (it == mrs_.end() || it->second.valid == 0 || it->second.key != (key & 0xff)) return false;
    const spec::MrCtx& m = it->second;
    if (!(local ? m.local_read : reduce ? m.remote_reduce : m.remote_write)) return false;
    return addr >= m.base && addr - m.base <= m.length && m.length - (addr - m.base) >= bytes;
  }

  bool busy(const Qp& q) const {
    return q.ctx.state == 1 && !q.silent &&
           (q.head != q.tail || !q.fetched.empty() || !q.sent.empty());
  }
  /// One event of a queue pair.
  void advance(uint32_t qpn) {
    Qp& q = qps_.at(qpn);
    std::vector<int> can;
    if (q.head != q.tail && q.fetched.size() + q.sent.size() < spec::kNicMaxOutstanding)
      can.push_back(0);
    if (!q.fetched.empty()) can.push_back(1);
    if (!q.sent.empty()) can.push_back(2);
    switch (can.at(net_.rng() % can.size())) {
      case 0: {
        const uint32_t mask = (1u << q.ctx.sq_log2) - 1;
        q.fetched.push_back(
            spec::Wqe::unpack(host(q.ctx.sq_base + (q.head & mask) * spec::Wqe::kBytes)));
        ++q.head;
        break;
      }
      case 1:
        execute(qpn, q);
        break;
      default: {
        const Sent s = q.sent.front();
        q.sent.pop_front();
        if (s.wqe.signalled) complete(q.ctx.scq, send_cqe(qpn, q, s.wqe, s.psn));
      }
    }
  }
  spec::Cqe send_cqe(uint32_t qpn, const Qp& q, const spec::Wqe& w, uint32_t psn) const {
    spec::Cqe c;
    c.wr_id = w.wr_id;
    c.qpn = qpn;
    c.byte_len = w.length;
    c.opcode = w.opcode;
    c.sq_head = q.head;
    c.psn = psn;
    return c;
  }
  void execute(uint32_t qpn, Qp& q) {
    const spec::Wqe w = q.fetched.front();
    const auto op = static_cast<spec::WqeOp>(w.opcode);
    const bool reduce = op == spec::WqeOp::kReduce || op == spec::WqeOp::kReduceImm;
    const bool imm = op == spec::WqeOp::kWriteImm || op == spec::WqeOp::kReduceImm;
    if (op == spec::WqeOp::kNop) {
      q.sent.push_back({w, q.next_psn});
      q.fetched.pop_front();
      return;
    }
    const uint32_t packets = w.length == 0 ? 1 : (w.length + spec::kLinkMtu - 1) / spec::kLinkMtu;
    const uint32_t last_psn = (q.next_psn + packets - 1) & 0xffffff;
    SoftCard& peer = net_.card(q.ctx.remote_node);
    const auto p = peer.qps_.find(q.ctx.remote_qpn);
    auto status = net_.fate ? net_.fate(*this, qpn, w) : spec::CqeStatus::kOk;
    if (status == spec::CqeStatus::kTimeout) {  // after a long silence
      q.silent = true;
      return;
    }
    if (status == spec::CqeStatus::kOk) {
      if (!allowed(w.lkey, w.laddr, w.length, true, false))
        status = spec::CqeStatus::kLocalProtection;
      else if (p == peer.qps_.end() || p->second.ctx.state != 1 ||
               p->second.ctx.remote_qpn != qpn || p->second.ctx.remote_node != node_ ||
               p->second.expected_psn != q.next_psn)
        status = spec::CqeStatus::kRemoteInvalid;
      else if (!peer.allowed(w.rkey, w.raddr, w.length, false, reduce))
        status = spec::CqeStatus::kRemoteAccess;
      else if (imm && p->second.receives == p->second.received)
        status = spec::CqeStatus::kRnr;
    }
    if (status != spec::CqeStatus::kOk) {
      if (status == spec::CqeStatus::kRemoteAccess)
        peer.log_error(spec::ErrCause::kAccess, 0, q.ctx.remote_qpn, q.next_psn);
      log_error(spec::ErrCause::kNak, 0, qpn, q.next_psn);
      q.ctx.state = 2;
      for (bool first = true; !q.fetched.empty(); first = false) {
        spec::Cqe c = send_cqe(qpn, q, q.fetched.front(), q.next_psn);
        c.status = static_cast<uint8_t>(first ? status : spec::CqeStatus::kFlushed);
        q.fetched.pop_front();
        complete(q.ctx.scq, c);
      }
      return;
    }
    q.fetched.pop_front();
    Qp& r = p->second;
    if (w.length > 0) {
      const uint8_t* from = hbm_.data() + w.laddr;
      uint8_t* to = peer.hbm_.data() + w.raddr;
      if (reduce)
        numerics::accumulate_f32(to, from, w.length);
      else
        std::memmove(to, from, w.length);
    }
    r.expected_psn = q.next_psn = (last_psn + 1) & 0xffffff;
    if (imm) {
      ++r.received;
      spec::Cqe c;
      c.wr_id = r.receives_done++;
      c.qpn = q.ctx.remote_qpn;
      c.byte_len = w.length == 0 ? 0 : (w.length - 1) % spec::kLinkMtu + 1;
      c.imm = w.imm;
      c.opcode = w.opcode;
      c.recv = 1;
      c.psn = last_psn;
      peer.complete(r.ctx.rcq, c);
    }
    q.sent.push_back({w, last_psn});
  }

  SoftNet& net_;
  uint16_t node_;
  unsigned planes_;
  std::vector<uint8_t> hbm_;
  std::array<uint8_t, 64> data_{};
  uint32_t ctrl_ = 0, config_ = 0, result_ = 0;
  std::map<uint32_t, Qp> qps_;
  std::map<uint32_t, Cq> cqs_;
  std::map<uint32_t, spec::MrCtx> mrs_;
  std::deque<driver::ErrorEntry> errors_;
  std::map<uint64_t, Buffer*> buffers_;
  uint64_t next_iova_ = 0x10000000;
};

inline SoftNet::SoftNet(unsigned cards, unsigned planes, uint64_t seed, uint64_t hbm_bytes)
    : rng(seed) {
  for (unsigned i = 0; i < cards; ++i)
    cards_.push_back(
        std::make_unique<SoftCard>(*this, static_cast<uint16_t>(i), planes, hbm_bytes));
}

inline bool SoftNet::step() {
  std::vector<std::pair<SoftCard*, uint32_t>> busy;
  for (auto& c : cards_)
    for (auto& [qpn, q] : c->qps_)
      if (c->busy(q)) busy.emplace_back(c.get(), qpn);
  if (busy.empty()) return false;
  ++now;
  const auto& [card, qpn] = busy[rng() % busy.size()];
  card->advance(qpn);
  return true;
}

}  // namespace ubl::test
