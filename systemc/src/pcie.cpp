// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/pcie.hpp"

#include <algorithm>
#include <cstring>

#include "ubl/systemc/mem_if.hpp"

namespace ubl::systemc {

namespace {
constexpr unsigned kBurstBytes = 64;  // a write-combining buffer
}

PciePort::PciePort(sc_core::sc_module_name name, const Timing& t, HostMemory& host,
                   Scheduler& sched)
    : sc_module(name), t_(t), host_(host), sched_(sched) {
  mmio.register_b_transport(this, &PciePort::b_transport);
}

void PciePort::b_transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay) {
  const uint64_t addr = trans.get_address();
  const unsigned len = trans.get_data_length();
  const bool burst = len == kBurstBytes && trans.is_write();
  if (len != 4 && len != 8 && !burst) {
    trans.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  const auto local = sc_core::sc_time_stamp() + delay;
  const auto ps = static_cast<uint64_t>(local / sc_core::sc_time(1, sc_core::SC_PS) + 0.5);
  Mmio m{};
  m.due = cycles_from_ps(ps + uint64_t{t_.pcie_oneway_ns} * 1000);
  // Posted order: nothing overtakes.
  if (!mmio_queue_.empty()) m.due = std::max(m.due, mmio_queue_.back().due);
  m.req.write = trans.is_write() ? 1 : 0;
  m.req.bar = static_cast<uint8_t>(addr >> kBarShift);
  m.req.size8 = len == 4 ? 0 : 1;
  const unsigned step = std::min(len, 8u);
  for (unsigned at = 0; at < len; at += step) {
    m.req.addr = static_cast<uint32_t>(addr + at);
    m.req.tag = next_tag_++;
    if (trans.is_write()) std::memcpy(&m.req.data, trans.get_data_ptr() + at, step);
    mmio_queue_.push_back(m);
  }
  owner_->wake_at(m.due);
  sched_.kick();
  if (trans.is_write()) {
    ++mmio_writes;
    trans.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  ++mmio_reads;
  sc_core::wait(delay);
  delay = sc_core::SC_ZERO_TIME;
  while (!rsp_valid_) sc_core::wait(rsp_event_);
  rsp_valid_ = false;
  std::memcpy(trans.get_data_ptr(), &rsp_.data, len);
  trans.set_response_status(rsp_.err != 0 ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
}

void PciePort::mmio_response(Cycle now, const spec::MmioRsp& rsp) {
  rsp_ = rsp;
  rsp_valid_ = true;
  sched_.notify(rsp_event_, now + cycles_from_ns(t_.pcie_oneway_ns));
}

// Takes the wire for `len` bytes from `from_ps` on; returns when the last byte has left.
uint64_t PciePort::occupy(uint64_t& free_ps, uint64_t from_ps, uint32_t len) const {
  const uint64_t start = std::max(free_ps, from_ps);
  free_ps = start + uint64_t{len} * 1000000 / t_.pcie_mbps;
  return free_ps;
}

Cycle PciePort::dma_read_due(Cycle now, uint32_t len) {
  return cycles_from_ps(
      occupy(down_free_ps_, now * kClockPs + uint64_t{t_.pcie_dma_read_ns} * 1000, len));
}

uint8_t* PciePort::host_at(uint64_t card_addr, uint64_t len) {
  return bus_master ? host_.at(card_addr & ~kHostBit, len) : nullptr;
}

void PciePort::posted_write(Cycle now, uint64_t card_addr, const void* data, uint32_t len) {
  Posted p{};
  const uint64_t sent = occupy(up_free_ps_, now * kClockPs, len);
  p.due = cycles_from_ps(sent + uint64_t{t_.pcie_oneway_ns} * 1000);
  p.addr = card_addr;
  p.len = len;
  std::memcpy(p.data, data, len);
  posted_.push_back(p);
}

void PciePort::msix(Cycle now, uint64_t addr, uint32_t data) {
  Posted p{};
  const uint64_t sent = occupy(up_free_ps_, now * kClockPs, 4);
  p.due = cycles_from_ps(sent + uint64_t{t_.pcie_oneway_ns} * 1000);
  p.addr = addr;
  p.len = 4;
  p.irq = true;
  std::memcpy(p.data, &data, 4);
  posted_.push_back(p);
}

void PciePort::apply_posted(Cycle now) {
  bool any = false;
  while (posted_due() <= now) {
    const Posted& p = posted_.front();
    hash_.add(p.due);
    hash_.add(p.addr);
    hash_.add_bytes(p.data, p.len);
    if (p.irq) {
      ++msix_count;
    } else if (uint8_t* dst = host_.at(p.addr & ~kHostBit, p.len)) {
      std::memcpy(dst, p.data, p.len);
    } else {
      ++iommu_faults;  // unmapped while the write was on its way
    }
    posted_.pop_front();
    any = true;
  }
  if (any) {
    activity = true;
    sched_.notify(activity_event, now);
  }
}

}  // namespace ubl::systemc
