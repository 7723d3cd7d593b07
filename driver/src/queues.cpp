// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Completion queues and queue pairs: rings in host memory, doorbells.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "impl.hpp"
#include "ubl/driver/device.hpp"
#include "ubl/spec/host.hpp"

namespace ubl::driver {

namespace reg = spec::reg;

namespace {

constexpr size_t kPhaseByte = spec::Cqe::kBytes - 1;
static_assert(spec::Wqe::kBytes == size_t{1} << spec::kNicWqeShift);
static_assert(spec::Cqe::kBytes == size_t{1} << spec::kNicCqeShift);

constexpr unsigned kBarDoorbell = 4;

std::unique_ptr<DmaBuffer> make_ring(Transport& transport, const char* what, unsigned log2) {
  const size_t bytes = size_t{64} << log2;
  std::unique_ptr<DmaBuffer> ring = transport.dma_alloc(bytes);
  if (!ring || ring->data() == nullptr || ring->size() < bytes) {
    throw TransportError(fmt::format("dma_alloc did not return {} bytes for a {}", bytes, what));
  }
  if (ring->card_addr() % 64 != 0) {
    throw TransportError(fmt::format("dma_alloc: address {:#x} of a {} is not a multiple of 64",
                                     ring->card_addr(), what));
  }
  return ring;
}

void ring_doorbell(Transport& transport, uint64_t offset, uint16_t value) {
  // Ring entries are in memory before the device can know of them.
  std::atomic_thread_fence(std::memory_order_release);
  transport.charge(HostCost::kDoorbell, 1);
  transport.write32(kBarDoorbell, offset, value);
}

}  // namespace

// ------------------------------------------------------------------------ completion queues

Cq::Cq(Device& dev, uint32_t cqn, unsigned log2)
    : dev_(dev),
      cqn_(cqn),
      log2_(log2),
      ring_(make_ring(dev.transport(), "completion queue", log2)) {}

std::optional<spec::Cqe> Cq::poll() {
  Transport& transport = dev_.transport();
  transport.charge(HostCost::kPoll, 1);
  const uint32_t entries = 1u << log2_;
  const uint8_t* entry = ring_->data() + size_t{head_ & (entries - 1)} * spec::Cqe::kBytes;
  // The phase is the last byte that the device writes: read it first.
  const uint8_t last = __atomic_load_n(entry + kPhaseByte, __ATOMIC_ACQUIRE);
  const uint8_t expected = ((head_ >> log2_) & 1) ^ 1;  // 1 in the first pass
  if ((last & 1) != expected) return std::nullopt;
  const spec::Cqe cqe = spec::Cqe::unpack(entry);
  ++head_;
  // The device needs to know only before it would run out of room.
  if (head_ - head_told_ >= std::max(1u, entries / 4)) {
    head_told_ = head_;
    ring_doorbell(transport, reg::kDbCq + uint64_t{cqn_} * reg::kDbCqStride,
                  static_cast<uint16_t>(head_));
  }
  return cqe;
}

// ------------------------------------------------------------------------------ queue pairs

Qp::Qp(Device& dev, uint32_t qpn, const QpConfig& cfg)
    : dev_(dev), qpn_(qpn), cfg_(cfg), ring_(make_ring(dev.transport(), "send ring", cfg.sq_log2)) {
  if (cfg.rq_log2) rq_ring_ = make_ring(dev.transport(), "receive ring", *cfg.rq_log2);
}

void Qp::connect(uint16_t remote_node, uint32_t remote_qpn, uint32_t sq_psn, uint32_t rq_psn) {
  const auto check24 = [&](const char* name, uint32_t value) {
    if (value >= 1u << 24) {
      throw UsageError(
          fmt::format("connect of QP {}: {} = {:#x} is not in 0..0xffffff", qpn_, name, value));
    }
  };
  check24("remote_qpn", remote_qpn);
  check24("sq_psn", sq_psn);
  check24("rq_psn", rq_psn);
  if (connected_) throw UsageError(fmt::format("connect of QP {}: it is connected already", qpn_));
  spec::QpCtx ctx;
  ctx.state = static_cast<uint8_t>(spec::QpState::kReady);
  ctx.planes = cfg_.planes;
  ctx.sq_log2 = static_cast<uint8_t>(cfg_.sq_log2);
  ctx.pd = cfg_.pd;
  ctx.remote_node = remote_node;
  ctx.scq = static_cast<uint8_t>(cfg_.scq);
  ctx.rcq = static_cast<uint8_t>(cfg_.rcq);
  ctx.remote_qpn = remote_qpn;
  ctx.sq_base = ring_->card_addr();
  ctx.sq_psn = sq_psn;
  ctx.rq_psn = rq_psn;
  ctx.window = cfg_.window;
  if (cfg_.congestion_control) ctx.cwnd = cfg_.cwnd != 0 ? cfg_.cwnd : cfg_.window;
  ctx.mtu = static_cast<uint8_t>(cfg_.mtu);
  ctx.retry = cfg_.retry;
  ctx.rnr_retry = cfg_.rnr_retry;
  if (rq_ring_) {
    ctx.rq_ring = 1;
    ctx.rq_log2 = static_cast<uint8_t>(*cfg_.rq_log2);
    ctx.rq_base = rq_ring_->card_addr();
  }
  ctx.imm_ctr = cfg_.imm_counter;
  ctx.err_ctr_v = cfg_.error_counter.has_value();
  ctx.err_ctr = cfg_.error_counter.value_or(0);
  uint8_t bytes[spec::QpCtx::kBytes] = {};
  ctx.pack(bytes);
  dev_.object_command(spec::ObjOp::kWriteQp, qpn_, bytes);
  connected_ = true;
  if (receives_ != 0) {
    ring_doorbell(dev_.transport(), reg::kDbRq + uint64_t{qpn_} * reg::kDbRqStride, receives_);
  }
  // Receives first: an answer to what is sent may come at once.
  if (rq_ring_) ring_receives();
  ring();
}

unsigned Qp::free_entries() const {
  return (1u << cfg_.sq_log2) - static_cast<uint16_t>(tail_ - head_);
}

void Qp::post(const spec::Wqe& wqe) {
  if (free_entries() == 0) {
    throw UsageError(fmt::format("post to QP {}: all {} entries of the send ring are in use", qpn_,
                                 1u << cfg_.sq_log2));
  }
  dev_.transport().charge(HostCost::kPostWqe, 1);
  const uint32_t slot = tail_ & ((1u << cfg_.sq_log2) - 1);
  spec::Wqe entry = wqe;
  entry.index = tail_;  // should it be pushed
  entry.pack(ring_->data() + size_t{slot} * spec::Wqe::kBytes);
  ++tail_;
}

void Qp::ring() {
  if (!connected_ || told_ == tail_) return;
  if (cfg_.push && static_cast<uint16_t>(tail_ - told_) == 1) return push_last();
  told_ = tail_;
  ring_doorbell(dev_.transport(), reg::kDbSq + uint64_t{qpn_} * reg::kDbSqStride, tail_);
}

void Qp::push(const spec::Wqe& wqe) {
  ring();
  post(wqe);
  if (connected_) push_last();
}

// The copy in the ring is what the device reads if it cannot use the pushed one.
void Qp::push_last() {
  const uint32_t slot = told_ & ((1u << cfg_.sq_log2) - 1);
  const uint8_t* bytes = ring_->data() + size_t{slot} * spec::Wqe::kBytes;
  told_ = tail_;
  Transport& transport = dev_.transport();
  // The copy in the ring is there before the device can look for it.
  std::atomic_thread_fence(std::memory_order_release);
  transport.charge(HostCost::kPush, 1);
  transport.write_burst(kBarDoorbell, reg::kDbPush + uint64_t{qpn_} * reg::kDbPushStride, bytes);
}

void Qp::need_receive_ring(const char* call, bool needed) const {
  if ((rq_ring_ != nullptr) == needed) return;
  throw UsageError(
      fmt::format("{} of QP {}: it has {} receive ring", call, qpn_, needed ? "no" : "a"));
}

void Qp::post_receives(unsigned n) {
  need_receive_ring("post_receives", false);
  if (n == 0 || n > 32767) {
    throw UsageError(fmt::format("post_receives of QP {}: n = {} is not in 1..32767", qpn_, n));
  }
  if (!connected_ && receives_ + n > 32767) {
    throw UsageError(fmt::format("post_receives of QP {}: n = {} is not in 0..{} before connect",
                                 qpn_, n, 32767 - receives_));
  }
  receives_ = static_cast<uint16_t>(receives_ + n);
  if (!connected_) return;
  ring_doorbell(dev_.transport(), reg::kDbRq + uint64_t{qpn_} * reg::kDbRqStride, receives_);
}

unsigned Qp::free_receives() const {
  need_receive_ring("free_receives");
  return (1u << *cfg_.rq_log2) - static_cast<uint16_t>(rq_tail_ - rq_head_);
}

void Qp::post_recv(const RecvRequest& request) {
  need_receive_ring("post_recv");
  const uint32_t entries = 1u << *cfg_.rq_log2;
  if (free_receives() == 0) {
    throw UsageError(fmt::format(
        "post_recv to QP {}: all {} entries of the receive ring are in use", qpn_, entries));
  }
  dev_.transport().charge(HostCost::kPostWqe, 1);
  spec::Wqe wqe;
  wqe.opcode = static_cast<uint8_t>(spec::WqeOp::kRecv);
  wqe.length = request.length;
  wqe.laddr = request.laddr;
  wqe.lkey = request.lkey;
  wqe.wr_id = request.wr_id;
  wqe.pack(rq_ring_->data() + size_t{rq_tail_ & (entries - 1)} * spec::Wqe::kBytes);
  ++rq_tail_;
}

void Qp::ring_receives() {
  need_receive_ring("ring_receives");
  if (!connected_ || rq_told_ == rq_tail_) return;
  rq_told_ = rq_tail_;
  ring_doorbell(dev_.transport(), reg::kDbRq + uint64_t{qpn_} * reg::kDbRqStride, rq_tail_);
}

void Qp::on_receive(const spec::Cqe& cqe) {
  if (rq_head_ == rq_told_) {
    throw DeviceError(fmt::format(
        "completion of QP {}: a receive completes, but none that the device knows of is open",
        qpn_));
  }
  // An entry that the device could not read completes without its wr_id.
  const uint32_t slot = rq_head_ & ((1u << *cfg_.rq_log2) - 1);
  const uint64_t oldest =
      spec::Wqe::unpack(rq_ring_->data() + size_t{slot} * spec::Wqe::kBytes).wr_id;
  if (cqe.status == static_cast<uint8_t>(spec::CqeStatus::kOk) && cqe.wr_id != oldest) {
    throw DeviceError(fmt::format("completion of QP {}: receive wr_id = {:#x} instead of {:#x}",
                                  qpn_, cqe.wr_id, oldest));
  }
  ++rq_head_;
}

void Qp::on_completion(const spec::Cqe& cqe) {
  if (cqe.qpn == qpn_ && cqe.recv != 0 && rq_ring_) return on_receive(cqe);
  if (cqe.qpn != qpn_ || cqe.recv != 0) {
    throw UsageError(fmt::format("on_completion of QP {}: this is a {} completion of QP {}", qpn_,
                                 cqe.recv ? "receive" : "send", cqe.qpn));
  }
  const auto freed = static_cast<uint16_t>(cqe.sq_head - head_);
  const auto given = static_cast<uint16_t>(told_ - head_);
  if (freed > given) {
    throw DeviceError(fmt::format("completion of QP {}: sq_head = {} is not in {}..{}", qpn_,
                                  cqe.sq_head, head_, told_));
  }
  head_ = cqe.sq_head;
}

spec::QpStatus Qp::query() {
  dev_.object_command(spec::ObjOp::kReadQp, qpn_, nullptr);
  uint8_t bytes[spec::QpStatus::kBytes] = {};
  dev_.read_object_data(bytes, sizeof bytes);
  return spec::QpStatus::unpack(bytes);
}

}  // namespace ubl::driver
