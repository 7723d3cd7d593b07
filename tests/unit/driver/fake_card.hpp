// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// A card written from the contract (rtl/spec/{host,nic}.yaml) behind the Transport interface:
// registers, object commands, send and receive rings, completion queues, error log. Packets are not
// modelled: a request completes when its doorbell rings, messages of a peer come as calls.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ubl/driver/device.hpp"
#include "ubl/driver/transport.hpp"
#include "ubl/spec/host.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::driver::test {

class FakeCard : public Transport {
 public:
  // Knobs.
  uint32_t config_id = uint32_t{spec::kHostPciDevice} << 16 | spec::kHostPciVendor;
  uint32_t config_writable = 0x6;  // bits of the command register that exist
  uint32_t host_id = spec::reg::kHostIdReset;
  uint32_t version = spec::reg::kNicVersionReset;
  uint32_t caps = 8 | 10 << 8 | 6 << 16 | 8 << 24;
  bool ctrl_works = true;
  unsigned busy_reads = 0;  // looks at OBJ_RESULT before a command is done
  bool never_answers = false;
  bool dead = false;         // reads return all ones, as after a surprise removal
  bool broken_link = false;  // accesses throw
  uint32_t fail_result = 0;  // obj_result of the next command, instead of executing it
  std::set<std::pair<uint32_t, uint32_t>> refuse_keys;

  // Observed.
  struct Access {
    char kind;  // 'r', 'w'; 'c' configuration write; 'f' DMA buffer freed
    unsigned bar;
    uint64_t offset;
    uint32_t value;
  };
  std::vector<Access> log;
  std::map<HostCost, uint64_t> charged;
  uint64_t time = 1000;
  unsigned waits = 0;
  uint64_t longest_wait = 0;
  unsigned live_buffers = 0;
  unsigned cq_overflows = 0;
  unsigned pushes = 0;
  std::map<uint32_t, CounterValue> counters;
  uint32_t command = 0;
  uint32_t ctrl = 0;
  struct QpState {
    spec::QpCtx ctx;
    uint16_t head = 0, tail = 0;
    uint16_t receives = 0, received = 0;  // with a receive ring: its tail and head
    unsigned doorbells = 0;
  };
  struct CqState {
    spec::CqCtx ctx;
    uint32_t producer = 0;
    uint16_t consumer = 0;
    unsigned doorbells = 0;
  };
  std::map<uint32_t, QpState> qps;
  std::map<uint32_t, CqState> cqs;
  std::map<uint32_t, spec::MrCtx> mrs;
  std::deque<ErrorEntry> errors;
  std::vector<spec::Wqe> executed;
  std::vector<spec::Wqe> consumed;  // entries of receive rings, flushed ones too
  std::map<spec::ObjOp, unsigned> commands;
  bool hold = false;  // do not execute requests yet

  uint64_t count(char kind, uint64_t offset, unsigned bar = 0) const {
    uint64_t n = 0;
    for (const Access& a : log) n += a.kind == kind && a.offset == offset && a.bar == bar;
    return n;
  }

  /// An rkey as the NIC checks it.
  bool key_valid(uint32_t key) const {
    const auto it = mrs.find(key >> 8);
    return it != mrs.end() && it->second.valid && it->second.key == (key & 0xff);
  }

  /// A completion of the device's own making.
  void complete(uint32_t cqn, spec::Cqe cqe) {
    CqState& cq = cqs.at(cqn);
    const uint32_t entries = 1u << cq.ctx.log2;
    if (static_cast<uint16_t>(cq.producer - cq.consumer) >= entries) {
      ++cq_overflows;
      return;
    }
    cqe.phase = ((cq.producer >> cq.ctx.log2) & 1) ^ 1;
    uint8_t bytes[spec::Cqe::kBytes] = {};
    cqe.pack(bytes);
    std::memcpy(host(cq.ctx.base + (cq.producer & (entries - 1)) * spec::Cqe::kBytes), bytes,
                sizeof bytes);
    ++cq.producer;
  }

  /// A WRITE with immediate arrives; false: there is no receive for it.
  bool receive(uint32_t qpn, uint32_t imm) {
    QpState& qp = qps.at(qpn);
    if (!ready(qp) || qp.received == qp.receives) return false;
    spec::Cqe cqe;
    cqe.qpn = qpn;
    cqe.recv = 1;
    cqe.imm = imm;
    cqe.opcode = static_cast<uint8_t>(spec::WqeOp::kWriteImm);
    cqe.wr_id = qp.ctx.rq_ring ? take_receive(qp).wr_id : qp.received++;
    complete(qp.ctx.rcq, cqe);
    return true;
  }

  /// A SEND of `length` bytes arrives; false: it is refused.
  bool send(uint32_t qpn, uint32_t length, std::optional<uint32_t> imm = std::nullopt) {
    QpState& qp = qps.at(qpn);
    if (!ready(qp) || !qp.ctx.rq_ring || qp.received == qp.receives) return false;
    const spec::Wqe entry = take_receive(qp);
    spec::Wqe plain;  // all that an entry may say
    plain.opcode = static_cast<uint8_t>(spec::WqeOp::kRecv);
    plain.length = entry.length;
    plain.laddr = entry.laddr;
    plain.lkey = entry.lkey;
    plain.wr_id = entry.wr_id;
    uint8_t a[spec::Wqe::kBytes] = {}, b[spec::Wqe::kBytes] = {};
    entry.pack(a);
    plain.pack(b);
    spec::Cqe cqe;
    cqe.qpn = qpn;
    cqe.recv = 1;
    cqe.wr_id = entry.wr_id;
    auto status = spec::CqeStatus::kOk;
    if (std::memcmp(a, b, sizeof a) != 0) {
      status = spec::CqeStatus::kBadOpcode;
    } else if (length > entry.length) {
      status = spec::CqeStatus::kLocalLength;
    } else if (length != 0 && !key_valid(entry.lkey)) {
      status = spec::CqeStatus::kLocalProtection;
    }
    cqe.status = static_cast<uint8_t>(status);
    if (status != spec::CqeStatus::kOk) {
      cqe.opcode = static_cast<uint8_t>(spec::WqeOp::kRecv);
      complete(qp.ctx.rcq, cqe);
      errors.push_back({spec::ErrCause::kLocal, 0, qpn, qp.ctx.rq_psn});
      fail(qpn);
      return false;
    }
    cqe.opcode = static_cast<uint8_t>(imm ? spec::WqeOp::kSendImm : spec::WqeOp::kSend);
    cqe.byte_len = length;
    cqe.imm = imm.value_or(0);
    complete(qp.ctx.rcq, cqe);
    return true;
  }

  /// The QP goes to error and flushes its receive ring.
  void fail(uint32_t qpn) {
    QpState& qp = qps.at(qpn);
    qp.ctx.state = static_cast<uint8_t>(spec::QpState::kError);
    while (qp.ctx.rq_ring && qp.received != qp.receives) {
      spec::Cqe cqe;
      cqe.qpn = qpn;
      cqe.recv = 1;
      cqe.wr_id = take_receive(qp).wr_id;
      cqe.opcode = static_cast<uint8_t>(spec::WqeOp::kRecv);
      cqe.status = static_cast<uint8_t>(spec::CqeStatus::kFlushed);
      complete(qp.ctx.rcq, cqe);
    }
  }

  void execute(uint32_t qpn) {
    QpState& qp = qps.at(qpn);
    while (qp.head != qp.tail) {
      const uint32_t mask = (1u << qp.ctx.sq_log2) - 1;
      const auto wqe =
          spec::Wqe::unpack(host(qp.ctx.sq_base + (qp.head & mask) * spec::Wqe::kBytes));
      executed.push_back(wqe);
      ++qp.head;
      spec::Cqe cqe;
      cqe.wr_id = wqe.wr_id;
      cqe.qpn = qpn;
      cqe.byte_len = wqe.length;
      cqe.opcode = wqe.opcode;
      cqe.sq_head = qp.head;
      if (wqe.opcode > static_cast<uint8_t>(spec::WqeOp::kWait) ||
          wqe.opcode == static_cast<uint8_t>(spec::WqeOp::kRecv)) {
        cqe.status = static_cast<uint8_t>(spec::CqeStatus::kBadOpcode);
      }
      if (wqe.signalled || cqe.status != 0) complete(qp.ctx.scq, cqe);
    }
  }

  // ----------------------------------------------------------------------------- Transport
  uint32_t read32(unsigned bar, uint64_t offset) override {
    using namespace spec::reg;
    check(bar, offset);
    time += 1000;
    log.push_back({'r', bar, offset, 0});
    if (dead) return 0xffffffff;
    if (bar == 4) return 0xffffffff;
    switch (offset) {
      case kHostId:
        return host_id;
      case kHostNode:
        return 77;
      case kNicVersion:
        return version;
      case kNicCaps:
        return caps;
      case kNicCtrl:
        return ctrl_works ? ctrl : 0;
      case kNicObjResult:
        if (never_answers || busy_left_ > 0) {
          if (busy_left_ > 0) --busy_left_;
          return static_cast<uint32_t>(spec::ObjResult::kBusy);
        }
        return result_;
      case kNicErrInfo:
        if (errors.empty()) return 0;
        return static_cast<uint32_t>(errors.front().cause) | errors.front().plane << 8 |
               errors.front().qpn << 16;
      case kNicErrPsn:
        return errors.empty() ? 0 : errors.front().psn;
      case kNicCntCqes:
        return 4711;
      default:
        break;
    }
    if (offset >= kNicObjData && offset < kNicObjData + 64) {
      uint32_t word;
      std::memcpy(&word, obj_data_.data() + (offset - kNicObjData), 4);
      return word;
    }
    throw TransportError("read of a register the fake card does not have");
  }

  void write32(unsigned bar, uint64_t offset, uint32_t value) override {
    using namespace spec::reg;
    check(bar, offset);
    time += 10;
    log.push_back({'w', bar, offset, value});
    if (bar == 4) {
      doorbell(offset, value);
    } else if (offset == kNicCtrl) {
      ctrl = value;
    } else if (offset >= kNicObjData && offset < kNicObjData + 64) {
      std::memcpy(obj_data_.data() + (offset - kNicObjData), &value, 4);
    } else if (offset == kNicObjCmd) {
      run_command(static_cast<spec::ObjOp>(value & 0xff), value >> 16);
    } else if (offset == kNicErrPop) {
      if (!errors.empty()) errors.pop_front();
    } else {
      throw TransportError("write of a register the fake card does not have");
    }
  }

  void write_burst(unsigned bar, uint64_t offset, const uint8_t* bytes64) override {
    using namespace spec::reg;
    check(bar, offset);
    if (bar != 4 || offset < kDbPush || (offset - kDbPush) % kDbPushStride != 0)
      throw std::logic_error("burst outside the push window");
    time += 10;
    log.push_back({'p', bar, offset, 0});
    const auto qpn = static_cast<uint32_t>((offset - kDbPush) / kDbPushStride);
    QpState& qp = qps.at(qpn);
    const spec::Wqe entry = spec::Wqe::unpack(bytes64);
    const uint32_t mask = (1u << qp.ctx.sq_log2) - 1;
    if (std::memcmp(host(qp.ctx.sq_base + (entry.index & mask) * spec::Wqe::kBytes), bytes64,
                    spec::Wqe::kBytes) != 0)
      throw std::logic_error("pushed entry is not in the ring");
    if (entry.index != qp.tail) throw std::logic_error("pushed entry skips others");
    ++pushes;
    doorbell(qpn * kDbSqStride, static_cast<uint16_t>(entry.index + 1));
  }

  uint8_t* hbm() override { return hbm_.data(); }
  uint64_t hbm_size() const override { return hbm_.size(); }

  uint32_t config_read32(unsigned offset) override {
    if (offset == 0) return config_id;
    if (offset == 4) return 0x00100000u | command;
    throw TransportError("configuration read");
  }
  void config_write32(unsigned offset, uint32_t value) override {
    log.push_back({'c', 0, offset, value});
    if (broken_link) throw TransportError("link is down");
    if (offset == 4) command = value & config_writable;
    if (value >> 16) throw TransportError("write-one-to-clear status bits written");
  }

  std::unique_ptr<DmaBuffer> dma_alloc(size_t bytes) override {
    auto b = std::make_unique<Buffer>(*this, (bytes + 4095) / 4096 * 4096, next_iova_);
    next_iova_ += 0x100000;
    return b;
  }
  uint64_t now_ns() override { return time += 5; }
  bool wait(uint64_t deadline_ns) override {
    ++waits;
    if (deadline_ns > time) {
      longest_wait = std::max(longest_wait, deadline_ns - time);
      time = deadline_ns;
    }
    return false;
  }
  void charge(HostCost kind, uint64_t count) override { charged[kind] += count; }
  void reset() override {}

 private:
  class Buffer : public DmaBuffer {
   public:
    Buffer(FakeCard& card, size_t bytes, uint64_t iova)
        : card_(card),
          bytes_(bytes),
          iova_(iova),
          data_(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes)), &std::free) {
      std::memset(data_.get(), 0, bytes);
      card_.buffers_[iova] = this;
      ++card_.live_buffers;
    }
    ~Buffer() override {
      card_.buffers_.erase(iova_);
      card_.log.push_back({'f', 0, iova_, card_.ctrl});
      --card_.live_buffers;
    }
    uint8_t* data() override { return data_.get(); }
    size_t size() const override { return bytes_; }
    uint64_t card_addr() const override { return 1ull << 63 | iova_; }

   private:
    FakeCard& card_;
    size_t bytes_;
    uint64_t iova_;
    std::unique_ptr<uint8_t, void (*)(void*)> data_;
  };

  /// Host memory at a card address; fails as an IOMMU would.
  uint8_t* host(uint64_t addr) {
    const uint64_t iova = addr & ~(1ull << 63);
    if (iova != addr && (command & 4)) {
      auto it = buffers_.upper_bound(iova);
      if (it != buffers_.begin()) {
        --it;
        if (iova + 64 <= it->first + it->second->size())
          return it->second->data() + (iova - it->first);
      }
    }
    throw std::logic_error("the card reached for host memory that is not mapped");
  }

  void check(unsigned bar, uint64_t offset) {
    if (broken_link) throw TransportError("link is down");
    if (!(command & 2)) throw std::logic_error("access before memory space was enabled");
    if ((bar != 0 && bar != 4) || offset % 4) throw std::logic_error("access outside the contract");
  }

  static bool ready(const QpState& qp) {
    return qp.ctx.state == static_cast<uint8_t>(spec::QpState::kReady);
  }

  spec::Wqe take_receive(QpState& qp) {
    const uint32_t mask = (1u << qp.ctx.rq_log2) - 1;
    consumed.push_back(
        spec::Wqe::unpack(host(qp.ctx.rq_base + (qp.received++ & mask) * spec::Wqe::kBytes)));
    return consumed.back();
  }

  void run_command(spec::ObjOp op, uint32_t index) {
    ++commands[op];
    busy_left_ = busy_reads;
    result_ = static_cast<uint32_t>(spec::ObjResult::kOk);
    if (fail_result != 0) {
      result_ = fail_result;
      fail_result = 0;
      return;
    }
    switch (op) {
      case spec::ObjOp::kWriteQp: {
        const auto ctx = spec::QpCtx::unpack(obj_data_.data());
        const bool fits = ctx.rq_ring ? !ctx.imm_ctr && ctx.rq_log2 <= spec::kNicMaxRingLog2 &&
                                            ctx.rq_base % 64 == 0
                                      : ctx.rq_log2 == 0 && ctx.rq_base == 0;
        if (!fits) {
          result_ = static_cast<uint32_t>(spec::ObjResult::kBadValue);
          break;
        }
        qps[index] = QpState{};
        qps[index].ctx = ctx;
        break;
      }
      case spec::ObjOp::kWriteCq:
        cqs[index] = CqState{};
        cqs[index].ctx = spec::CqCtx::unpack(obj_data_.data());
        break;
      case spec::ObjOp::kWriteMr:
        mrs[index] = spec::MrCtx::unpack(obj_data_.data());
        break;
      case spec::ObjOp::kReadQp: {
        spec::QpStatus s;
        s.state = qps[index].ctx.state;
        s.next_psn = qps[index].ctx.sq_psn;
        s.sq_head = qps[index].head;
        s.sq_tail = qps[index].tail;
        obj_data_ = {};
        s.pack(obj_data_.data());
        break;
      }
      case spec::ObjOp::kWriteCtr: {
        const auto ctr = spec::Ctr::unpack(obj_data_.data());
        counters[index] = {ctr.success, ctr.failure};
        break;
      }
      case spec::ObjOp::kReadCtr: {
        spec::Ctr ctr;
        ctr.success = counters[index].success;
        ctr.failure = counters[index].failure;
        obj_data_ = {};
        ctr.pack(obj_data_.data());
        break;
      }
      case spec::ObjOp::kSetError:
        fail(index);
        break;
      default:
        result_ = static_cast<uint32_t>(spec::ObjResult::kBadOp);
    }
  }

  void doorbell(uint64_t offset, uint32_t value) {
    using namespace spec::reg;
    if (offset >= kDbCtr) {
      counters[static_cast<uint32_t>((offset - kDbCtr) / kDbCtrStride)].success +=
          static_cast<uint16_t>(value);
      return;
    }
    if (offset >= kDbCq) {
      CqState& cq = cqs.at(static_cast<uint32_t>((offset - kDbCq) / kDbCqStride));
      cq.consumer = static_cast<uint16_t>(value);
      ++cq.doorbells;
      return;
    }
    const auto qpn = static_cast<uint32_t>(offset / kDbSqStride);
    QpState& qp = qps.at(qpn);
    ++qp.doorbells;
    if (offset % 8 == 4) {
      const auto claimed = static_cast<uint16_t>(value - qp.received);
      const auto open = static_cast<uint16_t>(qp.receives - qp.received);
      if (qp.ctx.rq_ring && (claimed > 1u << qp.ctx.rq_log2 || claimed < open)) {
        errors.push_back({spec::ErrCause::kLocal, 0, qpn, 0});
        fail(qpn);
        return;
      }
      qp.receives = static_cast<uint16_t>(value);
      if (!ready(qp)) fail(qpn);  // flushed at once
    } else {
      qp.tail = static_cast<uint16_t>(value);
      if (!hold) execute(qpn);
    }
  }

  std::vector<uint8_t> hbm_ = std::vector<uint8_t>(1 << 20);
  std::array<uint8_t, 64> obj_data_{};
  uint32_t result_ = 0;
  unsigned busy_left_ = 0;
  std::map<uint64_t, Buffer*> buffers_;
  uint64_t next_iova_ = 0x10000000;
};

}  // namespace ubl::driver::test
