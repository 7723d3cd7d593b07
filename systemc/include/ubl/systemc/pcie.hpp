// SPDX-License-Identifier: Apache-2.0
// PCIe port of a card: MMIO from the host (TLM-2.0 target), DMA and MSI-X to the host. Times what
// crosses (latency, bandwidth, posted order); host_if RTL and mem_if decide what crosses.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <deque>
#include <systemc>
#include <tlm>

#include "ubl/spec/host.hpp"
#include "ubl/spec/nic.hpp"
#include "ubl/systemc/config.hpp"
#include "ubl/systemc/hash.hpp"
#include "ubl/systemc/host_memory.hpp"
#include "ubl/systemc/link.hpp"

namespace ubl::systemc {

/// What models need from the clock engine.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Notifies `event` at the start of `cycle`, which is not before the current one.
  virtual void notify(sc_core::sc_event& event, Cycle cycle) = 0;
  /// A host thread changed a unit's wake time.
  virtual void kick() = 0;
};

class PciePort : public sc_core::sc_module {
 public:
  /// TLM address of an MMIO access: BAR number << 40 | offset; 4 or 8 bytes, and writes of 64
  /// bytes, which reach the card as eight of 8 with nothing between. b_transport of a write returns
  /// at once (posted; the annotated delay is the caller's local time), of a read after the round
  /// trip. Unsupported requests answer TLM_ADDRESS_ERROR_RESPONSE.
  tlm_utils::simple_target_socket<PciePort> mmio{"mmio"};
  static constexpr unsigned kBarShift = 40;

  PciePort(sc_core::sc_module_name name, const Timing& t, HostMemory& host, Scheduler& sched);
  void set_owner(Wakeable* owner) { owner_ = owner; }

  // Card side, called by the card's tick.
  Cycle mmio_due() const { return mmio_queue_.empty() ? kNever : mmio_queue_.front().due; }
  const spec::MmioReq& mmio_request() const { return mmio_queue_.front().req; }
  void pop_mmio() { mmio_queue_.pop_front(); }
  void mmio_response(Cycle now, const spec::MmioRsp& rsp);

  /// Completion time of a read of `len` host bytes requested now.
  Cycle dma_read_due(Cycle now, uint32_t len);
  uint8_t* host_at(uint64_t card_addr, uint64_t len);
  void posted_write(Cycle now, uint64_t card_addr, const void* data, uint32_t len);
  void msix(Cycle now, uint64_t addr, uint32_t data);
  Cycle posted_due() const { return posted_.empty() ? kNever : posted_.front().due; }
  /// Makes posted writes that are due visible to the host.
  void apply_posted(Cycle now);

  // Host side.
  /// Set by every write or interrupt that reaches the host; cleared by the host.
  bool activity = false;
  sc_core::sc_event activity_event;
  bool bus_master = false;
  uint64_t mmio_reads = 0, mmio_writes = 0, msix_count = 0;
  uint64_t iommu_faults = 0;  ///< writes to host memory that was unmapped under them
  uint64_t host_write_hash() const { return hash_.value(); }

 private:
  void b_transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
  uint64_t occupy(uint64_t& free_ps, uint64_t from_ps, uint32_t len) const;

  struct Mmio {
    Cycle due;
    spec::MmioReq req;
  };
  struct Posted {
    Cycle due;
    uint64_t addr;
    uint32_t len;
    bool irq;
    uint8_t data[64];
  };
  Timing t_;
  HostMemory& host_;
  Scheduler& sched_;
  Wakeable* owner_ = nullptr;
  std::deque<Mmio> mmio_queue_;
  std::deque<Posted> posted_;
  uint64_t up_free_ps_ = 0, down_free_ps_ = 0;
  uint8_t next_tag_ = 0;
  spec::MmioRsp rsp_{};
  bool rsp_valid_ = false;
  sc_core::sc_event rsp_event_;
  Hash hash_;
};

}  // namespace ubl::systemc
