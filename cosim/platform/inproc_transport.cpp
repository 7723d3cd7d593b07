// SPDX-License-Identifier: Apache-2.0
#include "platform/inproc_transport.hpp"

#include <fmt/format.h>

#include <cstring>

#include "ubl/driver/host_costs.hpp"
#include "ubl/spec/host.hpp"

namespace ubl::cosim {

using sc_core::sc_time;

namespace {

uint64_t sc_now_ps() {
  return static_cast<uint64_t>(sc_core::sc_time_stamp() / sc_time(1, sc_core::SC_PS) + 0.5);
}
sc_time ps(uint64_t v) { return sc_time(1, sc_core::SC_PS) * static_cast<double>(v); }

constexpr unsigned kConfigCommand = 0x04;
constexpr uint32_t kCommandMemory = 1u << 1, kCommandMaster = 1u << 2;

class InprocBuffer : public driver::DmaBuffer {
 public:
  InprocBuffer(systemc::HostMemory& mem, size_t bytes)
      : mem_(mem), iova_(mem.map(bytes)), size_(bytes), data_(mem.at(iova_, bytes)) {}
  ~InprocBuffer() override { mem_.unmap(iova_); }
  uint8_t* data() override { return data_; }
  size_t size() const override { return size_; }
  uint64_t card_addr() const override { return systemc::kHostBit | iova_; }

 private:
  systemc::HostMemory& mem_;
  uint64_t iova_;
  size_t size_;
  uint8_t* data_;
};

}  // namespace

InprocTransport::InprocTransport(sc_core::sc_module_name name, Card& card, Engine& engine)
    : sc_module(name), card_(card), engine_(engine) {
  mmio.bind(card.pcie().mmio);
}

void InprocTransport::access(tlm::tlm_command cmd, unsigned bar, uint64_t offset, uint8_t* data,
                             unsigned bytes) {
  tlm::tlm_generic_payload trans;
  trans.set_command(cmd);
  trans.set_address((uint64_t{bar} << systemc::PciePort::kBarShift) | offset);
  trans.set_data_ptr(data);
  trans.set_data_length(bytes);
  trans.set_streaming_width(bytes);
  trans.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  sc_time delay = ps(ahead_ps_);
  mmio->b_transport(trans, delay);
  if (cmd == tlm::TLM_READ_COMMAND) ahead_ps_ = 0;  // the read waited for it
  if (!trans.is_response_ok())
    throw driver::TransportError(
        fmt::format("card {}: unsupported request, BAR{} offset {:#x}", card_.node(), bar, offset));
}

uint32_t InprocTransport::read32(unsigned bar, uint64_t offset) {
  uint32_t v = 0;
  access(tlm::TLM_READ_COMMAND, bar, offset, reinterpret_cast<uint8_t*>(&v), sizeof v);
  return v;
}

void InprocTransport::write32(unsigned bar, uint64_t offset, uint32_t value) {
  access(tlm::TLM_WRITE_COMMAND, bar, offset, reinterpret_cast<uint8_t*>(&value), sizeof value);
}

void InprocTransport::write_burst(unsigned bar, uint64_t offset, const uint8_t* bytes64) {
  uint8_t copy[64];
  std::memcpy(copy, bytes64, sizeof copy);  // TLM's data pointer is not const
  access(tlm::TLM_WRITE_COMMAND, bar, offset, copy, sizeof copy);
}

uint32_t InprocTransport::config_read32(unsigned offset) {
  switch (offset) {
    case 0x00:
      return uint32_t{spec::kHostPciVendor} | uint32_t{spec::kHostPciDevice} << 16;
    case kConfigCommand:
      return command_;
    default:
      return 0;
  }
}

void InprocTransport::config_write32(unsigned offset, uint32_t value) {
  if (offset != kConfigCommand) return;  // read-only here
  command_ = value & (kCommandMemory | kCommandMaster);
  card_.pcie().bus_master = (command_ & kCommandMaster) != 0;
}

std::unique_ptr<driver::DmaBuffer> InprocTransport::dma_alloc(size_t bytes) {
  return std::make_unique<InprocBuffer>(card_.host_memory(), bytes);
}

uint64_t InprocTransport::now_ns() { return (sc_now_ps() + ahead_ps_) / 1000; }

void InprocTransport::flush() {
  if (ahead_ps_ == 0) return;
  const sc_time t = ps(ahead_ps_);
  ahead_ps_ = 0;
  sc_core::wait(t);
}

bool InprocTransport::wait(uint64_t deadline_ns) {
  flush();
  auto& pcie = card_.pcie();
  if (!pcie.activity) {
    const uint64_t now = sc_now_ps();
    if (deadline_ns == ~uint64_t{0}) {
      sc_core::wait(pcie.activity_event);
    } else {
      if (deadline_ns * 1000 <= now) return false;
      sc_core::wait(ps(deadline_ns * 1000 - now), pcie.activity_event);
    }
  }
  const bool happened = pcie.activity;
  pcie.activity = false;
  return happened;
}

void InprocTransport::charge(driver::HostCost kind, uint64_t count) {
  const uint64_t cost = driver::host_cost_ps(kind, count);
  ahead_ps_ += cost;
  busy_ps_ += cost;
}

void InprocTransport::reset() {
  throw driver::TransportError("function-level reset is not supported by this transport yet");
}

}  // namespace ubl::cosim
