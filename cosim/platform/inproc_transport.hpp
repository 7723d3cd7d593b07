// SPDX-License-Identifier: Apache-2.0
// In-process transport: the driver of one rank, running in a SystemC thread, talks to its simulated
// card. MMIO goes through a TLM-2.0 socket; `wait` yields simulated time; `charge` spends what the
// host-cost table says.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <memory>
#include <systemc>

#include "engine/engine.hpp"
#include "platform/card.hpp"
#include "ubl/driver/transport.hpp"

namespace ubl::cosim {

class InprocTransport : public sc_core::sc_module, public driver::Transport {
 public:
  tlm_utils::simple_initiator_socket<InprocTransport> mmio{"mmio"};

  InprocTransport(sc_core::sc_module_name name, Card& card, Engine& engine);

  uint32_t read32(unsigned bar, uint64_t offset) override;
  void write32(unsigned bar, uint64_t offset, uint32_t value) override;
  void write_burst(unsigned bar, uint64_t offset, const uint8_t* bytes64) override;
  uint8_t* hbm() override { return card_.hbm().data(); }
  uint64_t hbm_size() const override { return card_.hbm().size(); }
  uint32_t config_read32(unsigned offset) override;
  void config_write32(unsigned offset, uint32_t value) override;
  std::unique_ptr<driver::DmaBuffer> dma_alloc(size_t bytes) override;
  uint64_t now_ns() override;
  bool wait(uint64_t deadline_ns) override;
  void charge(driver::HostCost kind, uint64_t count) override;
  void reset() override;

  /// Host time spent by charge(), in picoseconds.
  uint64_t busy_ps() const { return busy_ps_; }
  /// Spends charged time that has not been waited for yet.
  void flush();

 private:
  void access(tlm::tlm_command cmd, unsigned bar, uint64_t offset, uint8_t* data, unsigned bytes);
  Card& card_;
  Engine& engine_;
  uint32_t command_ = 0;   // PCI command register
  uint64_t ahead_ps_ = 0;  // charged but not yet waited for
  uint64_t busy_ps_ = 0;
};

}  // namespace ubl::cosim
