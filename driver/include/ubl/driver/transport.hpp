// SPDX-License-Identifier: Apache-2.0
// The line between the driver and whatever carries its accesses: an in-process simulated card
// (cosim/); planned: a vfio-user socket, Linux VFIO. The driver never knows which. All methods are
// called from one thread per card (in-process: the SystemC thread of that rank's host program).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace ubl::driver {

/// The link to the device itself failed (unsupported request, socket closed, mapping refused).
class TransportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Kinds of work a host CPU does; the cost of each is in docs/reference/host-costs.md.
enum class HostCost : uint8_t {
  kDoorbell,     ///< one posted MMIO write of a doorbell (count: writes)
  kPush,         ///< one posted write of 64 bytes through a write-combining mapping (count: writes)
  kPoll,         ///< one look at a completion queue entry in cache (count: looks)
  kPostWqe,      ///< writing one 64-byte queue entry (count: entries)
  kCopyBytes,    ///< copying payload by CPU (count: bytes)
  kAddBytes,     ///< adding payload by CPU (count: result bytes)
  kKernelCross,  ///< one kernel entry and exit (count: calls)
  kApi,          ///< fixed cost of one user-level communication call (count: calls)
};

/// Host memory the device can reach. Stays mapped until destroyed.
class DmaBuffer {
 public:
  virtual ~DmaBuffer() = default;
  virtual uint8_t* data() = 0;             ///< host pointer
  virtual size_t size() const = 0;         ///< bytes
  virtual uint64_t card_addr() const = 0;  ///< address for the device: bit 63 set | IOVA
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// Register access; `bar` is 0 or 4, `offset` a multiple of 4. Reads are round trips.
  virtual uint32_t read32(unsigned bar, uint64_t offset) = 0;
  virtual void write32(unsigned bar, uint64_t offset, uint32_t value) = 0;

  /// Writes 64 bytes, `offset` a multiple of 64, through a write-combining mapping: posted, in
  /// order with write32, as eight writes of 8 bytes in rising order that nothing separates.
  virtual void write_burst(unsigned bar, uint64_t offset, const uint8_t* bytes64) = 0;

  /// BAR2 (HBM aperture): pointer to card address 0 and its usable bytes.
  virtual uint8_t* hbm() = 0;
  virtual uint64_t hbm_size() const = 0;

  /// PCI configuration space, naturally aligned 4-byte accesses.
  virtual uint32_t config_read32(unsigned offset) = 0;
  virtual void config_write32(unsigned offset, uint32_t value) = 0;

  /// Page-aligned zeroed host memory mapped for the device.
  virtual std::unique_ptr<DmaBuffer> dma_alloc(size_t bytes) = 0;

  /// Monotonic time in nanoseconds (simulated time in-process).
  virtual uint64_t now_ns() = 0;

  /// Sleeps until the device wrote host memory or raised an interrupt since the last call of wait()
  /// returned, or `deadline_ns` is reached. May return early. True: something happened.
  virtual bool wait(uint64_t deadline_ns) = 0;

  /// Accounts host CPU work; in-process it also takes that much simulated time.
  virtual void charge(HostCost kind, uint64_t count) = 0;

  /// Function-level reset.
  virtual void reset() = 0;
};

}  // namespace ubl::driver
