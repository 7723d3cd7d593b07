// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Test bench of host_if: drives every interface with random gaps and back-pressure and compares all
// that comes out with a model written from the contract (rtl/spec/host.yaml,
// rtl/host_if/README.md).
#pragma once

#include <verilated.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vhost_ifChk.h"
#include "ubl/spec/host.hpp"
#include "ubl/spec/nic.hpp"

namespace host_if_test {

using ubl::spec::CsrReq;
using ubl::spec::CsrRsp;
using ubl::spec::DmaKind;
using ubl::spec::DmaReq;
using ubl::spec::DmaRsp;
using ubl::spec::Doorbell;
using ubl::spec::MmioReq;
using ubl::spec::MmioRsp;
using ubl::spec::Push;

/// Something the device did that the model does not allow.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Chance, in percent, that an interface moves in a cycle.
struct Rates {
  int mmio = 100;        // a queued host access is offered
  int csr_ready = 100;   // nic_core takes a register access
  int csr_rsp = 100;     // nic_core answers a taken access
  int db_ready = 100;    // nic_core takes a doorbell
  int push_ready = 100;  // nic_core takes a pushed entry
  int dma = 100;         // a queued card access is offered
  int hdma_ready = 100;  // PCIe takes an access
  int hdma_rsp = 100;    // PCIe answers a taken access
};

/// An answered host read.
struct ReadDone {
  MmioReq req;
  MmioRsp rsp;
};

class Bench {
 public:
  explicit Bench(uint64_t seed);

  // ------------------------------------------------------------------ stimulus
  /// Queues a host access. Returns its number.
  uint64_t mmio_write(unsigned bar, uint32_t addr, uint64_t data, bool size8 = false);
  uint64_t mmio_read(unsigned bar, uint32_t addr, bool size8 = false);
  /// Queues a card access; returns its number.
  uint64_t dma_read(uint64_t addr, unsigned len);
  uint64_t dma_write(uint64_t addr, unsigned len);
  uint64_t msix_raise(unsigned vector);
  uint64_t dma_raw(const DmaReq& req);

  /// Queues a read, runs until it is answered.
  MmioRsp read_now(unsigned bar, uint32_t addr, bool size8 = false);

  // ----------------------------------------------------------------- simulation
  void cycle();
  void run(unsigned cycles);
  /// Runs until every queue is empty and every transaction is answered.
  void drain();
  /// Function reset for `cycles`; everything in flight is forgotten.
  void reset(unsigned cycles = 2);

  Rates rates;
  bool bme = true;
  bool skip_idle = false;      ///< do not clock the device while it is idle and nothing is offered
  bool probe_outputs = false;  ///< check every cycle that outputs do not depend on inputs
  uint16_t node = 0;

  // ------------------------------------------------------------------- observed
  uint64_t now = 0;
  uint64_t cycles_skipped = 0;
  bool idle() const { return dut_->idle_o != 0; }
  std::vector<ReadDone> reads;          ///< since the last reset
  std::vector<Doorbell> doorbells;      ///< since the last reset
  std::vector<Push> pushes;             ///< since the last reset
  uint64_t dropped_pushes = 0;          ///< model: entries that stayed incomplete
  std::vector<DmaReq> hdma;             ///< taken by PCIe since the last reset
  std::array<uint32_t, 64> messages{};  ///< MSI-X messages per vector since the last reset
  std::array<uint32_t, 64> raises{};    ///< accepted raises per vector since the last reset
  uint64_t refused = 0;                 ///< read and write accesses answered by host_if
  uint64_t mmio_bad = 0;                ///< model of cnt_mmio_bad, at the last accepted access
  uint64_t event_hash = 0xcbf29ce484222325ull;  ///< every hand-over with its cycle
  uint64_t handovers = 0;
  /// Vectors with a raise that no message has answered yet.
  uint64_t open_vectors() const;
  /// Mask bits after all accepted host writes.
  uint64_t model_mask() const { return mask_; }

 private:
  enum class Expect : uint8_t { kExact, kCyclesLo, kCyclesHi, kCycles8, kStatus, kBlocked, kAny };
  enum class EventKind : uint8_t { kCsr, kDoorbell, kPush };
  struct Event {  // what the device must hand to nic_core, in this order
    uint64_t op;
    EventKind kind;
    Doorbell db;
    CsrReq csr;
    Push push;
  };
  struct PendingRead {
    uint64_t op;
    MmioReq req;
    Expect expect;
    bool err;
    uint64_t data;
    uint64_t accepted;    // cycle
    uint64_t mask;        // model mask when accepted
    uint64_t stream_end;  // card accesses accepted before
    uint64_t bme_changes;
    uint64_t refused;  // when accepted
  };
  struct StreamItem {
    DmaReq req;
    bool resolved = false;  // sent or refused (raises: answered by a message)
    bool bme_steady_on = true;
    bool bme_steady_off = true;
  };
  struct TagState {
    bool busy = false;
    uint64_t item = 0;
    bool sent = false;
    DmaRsp answer;
  };
  struct Outputs;

  [[noreturn]] void fail(const std::string& what) const;
  bool chance(int percent) { return int(rng_() % 100) < percent; }
  void hash(uint64_t v) { event_hash = (event_hash ^ v) * 0x100000001b3ull; }
  void accept_mmio(const MmioReq& req);
  bool model_push(uint64_t op, const MmioReq& req);
  void model_word(uint64_t op, const MmioReq& req, bool second, bool* bad, uint32_t* data);
  uint32_t nic_reg(uint32_t addr) const;
  static bool nic_bad(const CsrReq& r) {
    return (r.addr & 0x3c) == 0x38 || (r.write && (r.addr & 0x80));
  }
  void on_mmio_rsp(const MmioRsp& rsp);
  void advance();
  void on_hdma(const DmaReq& req);
  void on_dma_rsp(const DmaRsp& rsp);
  void check_first(const Event& e);
  Outputs sample() const;
  void clear_model();

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vhost_ifChk> dut_;
  std::mt19937_64 rng_;
  uint64_t seed_;

  // host
  std::deque<MmioReq> mmio_queue_;
  uint64_t mmio_queued_ = 0, mmio_accepted_ = 0;
  std::deque<PendingRead> pending_reads_;
  std::deque<Event> events_;
  uint32_t scratch_ = 0;
  uint32_t latched_hi_ = 0;
  unsigned push_eighths_ = 0;  // written of the entry that is being written
  Push push_;
  std::map<uint32_t, uint32_t> nic_regs_;       // model, in host order
  std::map<uint32_t, uint32_t> nic_regs_seen_;  // what nic_core holds
  std::array<std::array<uint32_t, 3>, 64> table_{};
  uint64_t mask_ = ~0ull;
  uint64_t masked_for_sure_ = ~0ull;        // a message of these vectors is an error
  std::array<uint64_t, 64> unmasked_at_{};  // op of the last unmask
  bool offer_mmio_ = false, offer_dma_ = false;

  // nic_core
  std::deque<CsrRsp> csr_answers_;

  // card accesses
  std::deque<DmaReq> dma_queue_;
  std::vector<StreamItem> stream_;  // accepted
  size_t first_open_ = 0;           // all read/write items before are resolved
  std::array<TagState, 1 << DmaReq::kTagBits> tags_{};
  std::vector<DmaRsp> hdma_answers_;
  uint64_t dma_made_ = 0;
  std::array<std::vector<uint64_t>, 64> open_raises_;
  bool last_bme_ = true;
  uint64_t bme_changes_ = 0;

  // stability of offered outputs
  struct Held {
    bool csr = false, db = false, hdma = false, push = false;
    Push push_val;
    CsrReq csr_req;
    Doorbell db_val;
    DmaReq hdma_req;
  } held_;
  unsigned stuck_ = 0;
};

}  // namespace host_if_test
