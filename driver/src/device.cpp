// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/driver/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "impl.hpp"
#include "ubl/spec/host.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ubl::driver {

namespace reg = spec::reg;

namespace {

// PCI configuration space header.
constexpr unsigned kConfigId = 0x00;
constexpr unsigned kConfigCommand = 0x04;
constexpr uint32_t kCommandMemory = 1u << 1;
constexpr uint32_t kCommandBusMaster = 1u << 2;

constexpr unsigned kBarDoorbell = 4;
constexpr unsigned kMinimumLooks = 64;
constexpr uint64_t kFirstPauseNs = 1'000;
constexpr uint64_t kLongestPauseNs = 100'000;

uint32_t field(uint32_t word, uint32_t lsb, uint32_t mask) { return (word & mask) >> lsb; }

/// Stores to the write-combined HBM aperture leave before any later store to the device.
void flush_aperture() {
#if defined(__x86_64__)
  _mm_sfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

const char* object_name(spec::ObjOp op) {
  switch (op) {
    case spec::ObjOp::kWriteCq:
      return "CQ";
    case spec::ObjOp::kWriteMr:
      return "MR";
    case spec::ObjOp::kWriteCtr:
    case spec::ObjOp::kReadCtr:
      return "counter";
    default:
      return "QP";
  }
}

}  // namespace

bool ErrorEntry::recovers() const {
  return cause == spec::ErrCause::kFcs || cause == spec::ErrCause::kIcrc ||
         cause == spec::ErrCause::kFraming || cause == spec::ErrCause::kMalformed ||
         cause == spec::ErrCause::kBadQp || cause == spec::ErrCause::kPlaneDown;
}

std::string ErrorEntry::describe() const {
  return fmt::format("{} on plane {}, QP {}, PSN {}", spec::to_string(cause), plane, qpn, psn);
}

Device::Device(Transport& transport, const DeviceOptions& options) : transport_(transport) {
  if (options.command_timeout_ns == 0) {
    throw UsageError("command_timeout_ns = 0 is not in 1..2^64-1");
  }
  const uint32_t id = transport.config_read32(kConfigId);
  if (id != (uint32_t{spec::kHostPciDevice} << 16 | spec::kHostPciVendor)) {
    throw DeviceError(fmt::format("PCI id {:04x}:{:04x} is not an OpenUBL card ({:04x}:{:04x})",
                                  id & 0xffff, id >> 16, spec::kHostPciVendor,
                                  spec::kHostPciDevice));
  }
  // The upper half is status, cleared by ones: write zeros there.
  const uint32_t want = kCommandMemory | kCommandBusMaster;
  const uint32_t command = transport.config_read32(kConfigCommand) & 0xffff;
  transport.config_write32(kConfigCommand, command | want);
  const uint32_t now = transport.config_read32(kConfigCommand);
  if ((now & want) != want) {
    throw DeviceError(
        fmt::format("PCI command register reads {:#06x}: memory space and bus "
                    "mastering cannot be enabled",
                    now & 0xffff));
  }

  const uint32_t magic = transport.read32(0, reg::kHostId);
  if (magic != reg::kHostIdReset) {
    throw DeviceError(fmt::format("register host.id reads {:#010x} instead of {:#010x}", magic,
                                  reg::kHostIdReset));
  }
  const uint32_t version = transport.read32(0, reg::kNicVersion);
  if (version >> 16 != reg::kNicVersionReset >> 16) {
    throw DeviceError(fmt::format("register nic.version reads {}.{}; this driver needs {}.x",
                                  version >> 16, version & 0xffff, reg::kNicVersionReset >> 16));
  }
  node_ = static_cast<uint16_t>(transport.read32(0, reg::kHostNode));
  const uint32_t caps = transport.read32(0, reg::kNicCaps);
  planes_ = field(caps, reg::kNicCapsPlanesLsb, reg::kNicCapsPlanesMask);
  const uint32_t qp_log2 = field(caps, reg::kNicCapsQpLog2Lsb, reg::kNicCapsQpLog2Mask);
  const uint32_t cq_log2 = field(caps, reg::kNicCapsCqLog2Lsb, reg::kNicCapsCqLog2Mask);
  const uint32_t mr_log2 = field(caps, reg::kNicCapsMrLog2Lsb, reg::kNicCapsMrLog2Mask);
  if (planes_ == 0 || qp_log2 > 16 || cq_log2 > 8 || mr_log2 > 16) {
    throw DeviceError(
        fmt::format("register nic.caps reads {:#010x}: {} planes, 2^{} QPs, 2^{} CQs, "
                    "2^{} MRs",
                    caps, planes_, qp_log2, cq_log2, mr_log2));
  }
  hbm_size_ = std::min<uint64_t>(transport.hbm_size(), spec::kHostHbmBytes);
  // Doorbells exist for these many.
  impl_ =
      std::make_unique<Impl>(std::min(1u << qp_log2, reg::kDbSqCount),
                             std::min(1u << cq_log2, reg::kDbCqCount), 1u << mr_log2, hbm_size_);
  impl_->options = options;

  transport.write32(0, reg::kNicCtrl, reg::kNicCtrlEnableMask);
  impl_->nic_on = true;
  const uint32_t ctrl = transport.read32(0, reg::kNicCtrl);
  if ((ctrl & reg::kNicCtrlEnableMask) == 0) {
    throw DeviceError(
        fmt::format("register nic.ctrl reads {:#x}: the NIC cannot be enabled", ctrl));
  }
}

Device::~Device() {
  if (!impl_ || !impl_->nic_on) return;
  // The device may be gone; then there is nothing to stop. Rings are freed after this.
  try {
    transport_.write32(0, reg::kNicCtrl, 0);
    transport_.config_write32(kConfigCommand, kCommandMemory);
  } catch (...) {
  }
}

void Device::object_command(spec::ObjOp op, uint32_t index, const uint8_t* context64) {
  if (index > 0xffff) {
    throw UsageError(fmt::format("object_command: index = {} is not in 0..65535", index));
  }
  const auto name = [&] {
    return fmt::format("object command {} of {} {}", spec::to_string(op), object_name(op), index);
  };
  if (context64 != nullptr) {
    for (unsigned i = 0; i < reg::kNicObjDataCount; ++i) {
      const uint8_t* b = context64 + 4 * i;
      const uint32_t word =
          uint32_t{b[0]} | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
      if (impl_->obj_data[i] == word) continue;
      impl_->obj_data[i].reset();  // unknown, should the write fail
      transport_.write32(0, reg::kNicObjData + i * reg::kNicObjDataStride, word);
      impl_->obj_data[i] = word;
    }
  }
  if (op == spec::ObjOp::kReadQp || op == spec::ObjOp::kReadCtr) impl_->obj_data = {};
  transport_.write32(
      0, reg::kNicObjCmd,
      static_cast<uint32_t>(op) << reg::kNicObjCmdOpLsb | index << reg::kNicObjCmdIndexLsb);
  const uint64_t deadline = transport_.now_ns() + impl_->options.command_timeout_ns;
  uint64_t pause = kFirstPauseNs;
  for (unsigned looks = 1;; ++looks) {
    const uint32_t result = transport_.read32(0, reg::kNicObjResult);
    if (result == static_cast<uint32_t>(spec::ObjResult::kOk)) return;
    if (result != static_cast<uint32_t>(spec::ObjResult::kBusy)) {
      impl_->obj_data = {};
      if (result > 0xff) {
        throw DeviceError(fmt::format("{}: register nic.obj_result reads {:#x}", name(), result));
      }
      throw DeviceError(fmt::format("{}: refused with {}", name(),
                                    spec::to_string(static_cast<spec::ObjResult>(result))));
    }
    const uint64_t now = transport_.now_ns();
    if (now >= deadline && looks >= kMinimumLooks) {
      impl_->obj_data = {};
      throw DeviceError(fmt::format("{}: register nic.obj_result is busy after {} ns", name(),
                                    now - deadline + impl_->options.command_timeout_ns));
    }
    transport_.wait(now + pause);
    pause = std::min(2 * pause, kLongestPauseNs);
  }
}

// ---------------------------------------------------------------------------------- objects

Cq& Device::create_cq(unsigned log2_entries) {
  if (log2_entries > spec::kNicMaxRingLog2) {
    throw UsageError(fmt::format("create_cq: log2_entries = {} is not in 0..{}", log2_entries,
                                 spec::kNicMaxRingLog2));
  }
  const uint32_t cqn = impl_->cq_pool.take();
  try {
    std::unique_ptr<Cq> cq(new Cq(*this, cqn, log2_entries));
    spec::CqCtx ctx;
    ctx.valid = 1;
    ctx.log2 = static_cast<uint8_t>(log2_entries);
    ctx.base = cq->ring_->card_addr();
    uint8_t bytes[spec::CqCtx::kBytes] = {};
    ctx.pack(bytes);
    object_command(spec::ObjOp::kWriteCq, cqn, bytes);
    impl_->cqs[cqn] = std::move(cq);
  } catch (...) {
    impl_->cq_pool.give(cqn);
    throw;
  }
  return *impl_->cqs[cqn];
}

void Device::destroy_cq(Cq& cq) {
  const uint32_t cqn = cq.cqn_;
  if (&cq.dev_ != this || impl_->cqs[cqn].get() != &cq) {
    throw UsageError(fmt::format("destroy_cq: CQ {} belongs to another device", cqn));
  }
  if (impl_->cq_users[cqn] != 0) {
    throw UsageError(
        fmt::format("destroy_cq: CQ {} is used by {} queue pairs", cqn, impl_->cq_users[cqn]));
  }
  const uint8_t none[spec::CqCtx::kBytes] = {};
  object_command(spec::ObjOp::kWriteCq, cqn, none);
  impl_->cqs[cqn].reset();
  impl_->cq_pool.give(cqn);
}

Qp& Device::create_qp(const QpConfig& wanted) {
  QpConfig cfg = wanted;
  if (cfg.planes == 0) cfg.planes = static_cast<uint8_t>((1u << planes_) - 1);
  if (cfg.planes >> planes_ != 0) {
    throw UsageError(
        fmt::format("create_qp: planes = {:#x} are not all in 0..{}", cfg.planes, planes_ - 1));
  }
  if (cfg.sq_log2 > spec::kNicMaxRingLog2) {
    throw UsageError(
        fmt::format("create_qp: sq_log2 = {} is not in 0..{}", cfg.sq_log2, spec::kNicMaxRingLog2));
  }
  if (cfg.rq_log2.value_or(0) > spec::kNicMaxRingLog2) {
    throw UsageError(fmt::format("create_qp: rq_log2 = {} is not in 0..{}", *cfg.rq_log2,
                                 spec::kNicMaxRingLog2));
  }
  if (!impl_->cq_pool.taken(cfg.scq)) {
    throw UsageError(fmt::format("create_qp: scq = {} is not a CQ of this device", cfg.scq));
  }
  if (!impl_->cq_pool.taken(cfg.rcq)) {
    throw UsageError(fmt::format("create_qp: rcq = {} is not a CQ of this device", cfg.rcq));
  }
  if (cfg.window == 0 || cfg.window > spec::kNicMaxWindow) {
    throw UsageError(
        fmt::format("create_qp: window = {} is not in 1..{}", cfg.window, spec::kNicMaxWindow));
  }
  if (cfg.cwnd > cfg.window) {
    throw UsageError(fmt::format("create_qp: cwnd = {} is not in 0..{}", cfg.cwnd, cfg.window));
  }
  if (cfg.imm_counter && cfg.rq_log2) {
    throw UsageError("create_qp: imm_counter and rq_log2 exclude each other");
  }
  if (cfg.error_counter && !impl_->ctr_pool.taken(*cfg.error_counter)) {
    throw UsageError(fmt::format("create_qp: error_counter = {} is not a counter of this device",
                                 *cfg.error_counter));
  }
  if (cfg.retry > 15 || cfg.rnr_retry > 15) {
    throw UsageError(fmt::format("create_qp: {} = {} is not in 0..15",
                                 cfg.retry > 15 ? "retry" : "rnr_retry",
                                 cfg.retry > 15 ? cfg.retry : cfg.rnr_retry));
  }
  // The device's context is in reset already; connect() loads it.
  const uint32_t qpn = impl_->qp_pool.take();
  try {
    impl_->qps[qpn].reset(new Qp(*this, qpn, cfg));
  } catch (...) {
    impl_->qp_pool.give(qpn);
    throw;
  }
  ++impl_->cq_users[cfg.scq];
  ++impl_->cq_users[cfg.rcq];
  return *impl_->qps[qpn];
}

void Device::destroy_qp(Qp& qp) {
  const uint32_t qpn = qp.qpn_;
  if (&qp.dev_ != this || impl_->qps[qpn].get() != &qp) {
    throw UsageError(fmt::format("destroy_qp: QP {} belongs to another device", qpn));
  }
  if (qp.connected_) {
    spec::QpCtx ctx;
    ctx.state = static_cast<uint8_t>(spec::QpState::kReset);
    uint8_t bytes[spec::QpCtx::kBytes] = {};
    ctx.pack(bytes);
    object_command(spec::ObjOp::kWriteQp, qpn, bytes);
  }
  --impl_->cq_users[qp.cfg_.scq];
  --impl_->cq_users[qp.cfg_.rcq];
  impl_->qps[qpn].reset();
  impl_->qp_pool.give(qpn);
}

Mr Device::register_mr(uint64_t base, uint64_t length, MrRights rights, uint8_t pd) {
  if (base >= hbm_size_) {
    throw UsageError(
        fmt::format("register_mr: base = {:#x} is not in 0..{:#x}", base, hbm_size_ - 1));
  }
  if (length == 0 || length > hbm_size_ - base) {
    throw UsageError(fmt::format("register_mr: length = {:#x} is not in 1..{:#x} (base {:#x})",
                                 length, hbm_size_ - base, base));
  }
  const uint32_t index = impl_->mr_pool.take();
  try {
    spec::MrCtx ctx;
    ctx.valid = 1;
    ctx.local_read = rights.local_read;
    ctx.remote_write = rights.remote_write;
    ctx.remote_reduce = rights.remote_reduce;
    ctx.local_write = rights.local_write;
    ctx.remote_read = rights.remote_read;
    ctx.remote_atomic = rights.remote_atomic;
    // Another key than last time: an rkey from then is refused.
    ctx.key = ++impl_->mr_key[index];
    ctx.pd = pd;
    ctx.base = base;
    ctx.length = length;
    uint8_t bytes[spec::MrCtx::kBytes] = {};
    ctx.pack(bytes);
    object_command(spec::ObjOp::kWriteMr, index, bytes);
    const Mr mr{index, index << 8 | ctx.key, base, length};
    impl_->mrs[index] = mr;
    return mr;
  } catch (...) {
    impl_->mr_pool.give(index);
    throw;
  }
}

void Device::deregister_mr(const Mr& mr) {
  if (mr.index >= impl_->mrs.size() || !impl_->mrs[mr.index] ||
      impl_->mrs[mr.index]->key != mr.key) {
    throw UsageError(fmt::format("deregister_mr: key {:#x} is not registered", mr.key));
  }
  const uint8_t none[spec::MrCtx::kBytes] = {};
  object_command(spec::ObjOp::kWriteMr, mr.index, none);
  impl_->mrs[mr.index].reset();
  impl_->mr_pool.give(mr.index);
}

// --------------------------------------------------------------------------------- counters

void set_inline(spec::Wqe& wqe, const void* data, size_t bytes) {
  if (bytes > spec::kNicMaxInline) {
    throw UsageError(
        fmt::format("set_inline: bytes = {} is not in 0..{}", bytes, spec::kNicMaxInline));
  }
  if (data == nullptr && bytes != 0) throw UsageError("set_inline: null pointer");
  uint8_t payload[spec::kNicMaxInline] = {};
  if (bytes != 0) std::memcpy(payload, data, bytes);
  const auto little = [&](unsigned at) {
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; ++i) v |= uint64_t{payload[at + i]} << 8 * i;
    return v;
  };
  wqe.inl = 1;
  wqe.length = static_cast<uint32_t>(bytes);
  wqe.operand0 = little(0);
  wqe.operand1 = little(8);
}

void Device::check_counter(const char* call, uint32_t index) const {
  if (!impl_->ctr_pool.taken(index)) {
    throw UsageError(fmt::format("{}: {} is not a counter of this device", call, index));
  }
}

uint32_t Device::create_counter() {
  const uint32_t index = impl_->ctr_pool.take();
  try {
    write_counter(index, {});
  } catch (...) {
    impl_->ctr_pool.give(index);
    throw;
  }
  return index;
}

void Device::destroy_counter(uint32_t index) {
  check_counter("destroy_counter", index);
  impl_->ctr_pool.give(index);
}

void Device::write_counter(uint32_t index, CounterValue value) {
  check_counter("write_counter", index);
  spec::Ctr ctr;
  ctr.success = value.success;
  ctr.failure = value.failure;
  uint8_t bytes[spec::Ctr::kBytes] = {};
  ctr.pack(bytes);
  object_command(spec::ObjOp::kWriteCtr, index, bytes);
}

CounterValue Device::read_counter(uint32_t index) {
  check_counter("read_counter", index);
  object_command(spec::ObjOp::kReadCtr, index, nullptr);
  uint8_t bytes[spec::Ctr::kBytes] = {};
  read_object_data(bytes, 8);  // both fields
  const spec::Ctr ctr = spec::Ctr::unpack(bytes);
  return {ctr.success, ctr.failure};
}

void Device::add_to_counter(uint32_t index, uint16_t count) {
  check_counter("add_to_counter", index);
  transport_.charge(HostCost::kDoorbell, 1);
  transport_.write32(kBarDoorbell, reg::kDbCtr + uint64_t{index} * reg::kDbCtrStride, count);
}

void Device::read_object_data(uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count / 4; ++i) {
    const uint32_t word = transport_.read32(0, reg::kNicObjData + i * reg::kNicObjDataStride);
    for (unsigned b = 0; b < 4; ++b) bytes[4 * i + b] = static_cast<uint8_t>(word >> 8 * b);
  }
}

// -------------------------------------------------------------------------------------- HBM

uint64_t Device::hbm_alloc(uint64_t bytes) { return impl_->hbm.alloc(bytes); }

void Device::hbm_free(uint64_t addr) { impl_->hbm.free(addr); }

static void check_copy(const char* call, const void* host, uint64_t addr, size_t bytes,
                       uint64_t size) {
  if (bytes > size || addr > size - bytes) {
    throw UsageError(fmt::format("{}: addr = {:#x}, bytes = {:#x} leaves HBM, 0..{:#x}", call, addr,
                                 bytes, size));
  }
  if (host == nullptr && bytes != 0) throw UsageError(fmt::format("{}: null pointer", call));
}

void Device::write_hbm(uint64_t addr, const void* src, size_t bytes) {
  check_copy("write_hbm", src, addr, bytes, hbm_size_);
  if (bytes == 0) return;
  transport_.charge(HostCost::kCopyBytes, bytes);
  std::memcpy(transport_.hbm() + addr, src, bytes);
  flush_aperture();
}

void Device::read_hbm(void* dst, uint64_t addr, size_t bytes) {
  check_copy("read_hbm", dst, addr, bytes, hbm_size_);
  if (bytes == 0) return;
  transport_.charge(HostCost::kCopyBytes, bytes);
  std::memcpy(dst, transport_.hbm() + addr, bytes);
}

// ----------------------------------------------------------------------------------- errors

std::optional<ErrorEntry> pop_error(Transport& transport) {
  const uint32_t info = transport.read32(0, reg::kNicErrInfo);
  const auto cause =
      static_cast<spec::ErrCause>(field(info, reg::kNicErrInfoCauseLsb, reg::kNicErrInfoCauseMask));
  if (cause == spec::ErrCause::kNone) return std::nullopt;
  ErrorEntry e;
  e.cause = cause;
  e.plane = field(info, reg::kNicErrInfoPlaneLsb, reg::kNicErrInfoPlaneMask);
  e.qpn = field(info, reg::kNicErrInfoQpnLsb, reg::kNicErrInfoQpnMask);
  e.psn =
      field(transport.read32(0, reg::kNicErrPsn), reg::kNicErrPsnPsnLsb, reg::kNicErrPsnPsnMask);
  transport.write32(0, reg::kNicErrPop, 1);
  return e;
}

}  // namespace ubl::driver
