// SPDX-License-Identifier: Apache-2.0
// User-space driver of one card: queue pairs, completion queues, memory regions, errors.
// Not thread-safe; one Device per Transport, used from that transport's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ubl/driver/transport.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::driver {

/// A request the driver refuses before touching the device (bad argument, table full).
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The device reported an error or did not answer. `what()` names register, object and result.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One entry of the NIC's error log.
struct ErrorEntry {
  spec::ErrCause cause{};
  unsigned plane = 0;
  uint32_t qpn = 0;
  uint32_t psn = 0;
  std::string describe() const;  ///< "icrc on plane 0, QP 3, PSN 17"
  /// The network damaged something, or brought it when its QP was no more (or not yet), or a plane
  /// is not used any more; the sender makes up for it, and if it cannot, its completion says so. To
  /// be counted, no reason to stop.
  bool recovers() const;
};

/// Oldest entry of the error log of the card, removed; nothing when the log is empty.
std::optional<ErrorEntry> pop_error(Transport& transport);

struct MrRights {
  bool local_read = true;
  bool remote_write = true;
  bool remote_reduce = true;
  bool local_write = true;  ///< target of own READs, receive buffers
  bool remote_read = true;
  bool remote_atomic = true;
};

/// A counter of the card: what an entry with `bump`, an immediate, a failed QP or the host counts,
/// and what an entry `wait` waits for. Both numbers modulo 2^32.
struct CounterValue {
  uint32_t success = 0;
  uint32_t failure = 0;
};

/// Makes `bytes` bytes (at most kNicMaxInline, else UsageError) the payload of a WRITE, SEND or
/// REDUCE: the card reads no memory for them.
void set_inline(spec::Wqe& wqe, const void* data, size_t bytes);

/// A registered range of card addresses. `key` is both lkey and rkey.
struct Mr {
  uint32_t index = 0;
  uint32_t key = 0;
  uint64_t base = 0;
  uint64_t length = 0;
};

class Device;

/// Completion queue: ring in host memory, polled.
class Cq {
 public:
  uint32_t cqn() const { return cqn_; }
  /// Next completion, or nothing. Charges one poll. Never reads the device.
  std::optional<spec::Cqe> poll();

 private:
  friend class Device;
  Cq(Device& dev, uint32_t cqn, unsigned log2);
  Device& dev_;
  uint32_t cqn_;
  unsigned log2_;
  uint32_t head_ = 0;       // consumer index, free-running
  uint32_t head_told_ = 0;  // last consumer index written to the doorbell
  std::unique_ptr<DmaBuffer> ring_;
};

struct QpConfig {
  /// Planes the packets of the QP may take, bit p for plane p. 0: all planes of the card.
  uint8_t planes = 0;
  unsigned sq_log2 = 6;
  uint8_t pd = 0;
  uint32_t scq = 0;
  uint32_t rcq = 0;
  uint16_t window = 256;  ///< packets in flight, 1..kNicMaxWindow
  /// ring() pushes when there is one entry to tell: the device need not read it, which is half of a
  /// small message's latency; a push costs the host a little more than a doorbell.
  bool push = false;
  /// First congestion window in packets, 1..window; 0: as `window`. ECN marks make it smaller.
  uint16_t cwnd = 0;
  /// false: marks change nothing, `window` alone limits.
  bool congestion_control = true;
  spec::MtuCode mtu = spec::MtuCode::kB4096;  ///< of both ends, for SEND
  /// Time-outs without progress before the QP fails, 0..15. The first one comes after one to two
  /// periods of the timeout register, the next after 2, 4, 8, ... periods.
  uint8_t retry = 7;
  /// RNR answers in a row before the QP fails, 0..14; 15: no limit.
  uint8_t rnr_retry = 7;
  /// log2 of the entries of a receive ring, 0..kNicMaxRingLog2: the QP takes SENDs into the buffers
  /// of post_recv(). Nothing: receives are only counted, have no buffer and take immediates only.
  std::optional<unsigned> rq_log2 = std::nullopt;
  /// Immediates of WRITE and REDUCE count in counter imm[15:0] and consume no receive, complete
  /// nothing. Without a receive ring only.
  bool imm_counter = false;
  /// Counter in which a failure of the QP counts.
  std::optional<uint16_t> error_counter = std::nullopt;
};

/// A buffer for one SEND, or for one immediate of a WRITE or REDUCE, which leaves it untouched.
struct RecvRequest {
  uint64_t laddr = 0;   ///< card address, any alignment
  uint32_t length = 0;  ///< bytes; a longer message fails the QP, a shorter one is fine
  uint32_t lkey = 0;    ///< of a region with local_write; not looked at for an empty message
  uint64_t wr_id = 0;   ///< comes back in the completion
};

/// Reliable-connection queue pair. Created in reset; connect() makes it ready. Entries and receives
/// posted before that are told to the device by connect().
///
/// Receives come in two kinds, fixed by QpConfig::rq_log2: entries of a receive ring (post_recv(),
/// ring_receives(), free_receives()) or a mere count (post_receives()). The calls of the other kind
/// throw UsageError.
class Qp {
 public:
  uint32_t qpn() const { return qpn_; }
  /// Mask of the planes its packets take.
  uint8_t planes() const { return cfg_.planes; }
  bool connected() const { return connected_; }
  /// Once per QP: to connect again, destroy it and create another.
  void connect(uint16_t remote_node, uint32_t remote_qpn, uint32_t sq_psn, uint32_t rq_psn);
  /// Entries that can be posted now. Space comes back through `sq_head` of send completions, see
  /// on_completion().
  unsigned free_entries() const;
  /// Writes one entry into the ring; UsageError when full. The device sees it after ring(). What
  /// the entry says is the device's to check: a bad one completes with an error status.
  void post(const spec::Wqe& wqe);
  /// Tells the device about all posted entries (one doorbell, or push).
  void ring();
  /// Posts one entry and hands it to the device with the same write that rings: the device does not
  /// have to read it. What was posted before and not told comes by ring() first, so push on its
  /// own. Before connect() it is post().
  void push(const spec::Wqe& wqe);
  /// Without a receive ring: lets the device accept `n` more immediates, 1..32767 (one doorbell).
  void post_receives(unsigned n);
  /// With a receive ring: receives that can be posted now. Every posted receive completes exactly
  /// once, in order, also when the QP fails (then as `flushed`); on_completion() frees its entry.
  unsigned free_receives() const;
  /// Writes one receive into the ring; UsageError when full. The device sees it after
  /// ring_receives(). What it says is the device's to check, when a message arrives: a bad one
  /// completes with an error status and fails the QP.
  void post_recv(const RecvRequest& request);
  /// Tells the device about all posted receives (one doorbell).
  void ring_receives();
  /// To be called with each polled completion of this QP, of any status; of a QP without a receive
  /// ring only with send completions. UsageError: it is none of this QP. DeviceError: it completes
  /// what was not posted, or out of order.
  void on_completion(const spec::Cqe& cqe);
  spec::QpStatus query();

 private:
  friend class Device;
  Qp(Device& dev, uint32_t qpn, const QpConfig& cfg);
  void push_last();
  void need_receive_ring(const char* call, bool needed = true) const;
  void on_receive(const spec::Cqe& cqe);
  Device& dev_;
  uint32_t qpn_;
  QpConfig cfg_;
  uint16_t tail_ = 0, told_ = 0, head_ = 0, receives_ = 0;
  uint16_t rq_tail_ = 0, rq_told_ = 0, rq_head_ = 0;
  bool connected_ = false;
  std::unique_ptr<DmaBuffer> ring_, rq_ring_;
};

struct DeviceOptions {
  /// Time an object command may take. It must pass, and 64 looks be in vain, before DeviceError:
  /// so a device that is merely slow against this clock (a simulation behind a socket) is waited
  /// for.
  uint64_t command_timeout_ns = 10'000'000;
};

class Device {
 public:
  /// Checks id and version, enables memory space, bus mastering and the NIC. The function must be
  /// as after reset (transports reset it when they open it).
  explicit Device(Transport& transport, const DeviceOptions& options = {});
  /// Stops the NIC, then frees rings. Objects made by this device end with it.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Transport& transport() { return transport_; }
  uint16_t node() const { return node_; }
  unsigned planes() const { return planes_; }

  Cq& create_cq(unsigned log2_entries);
  Qp& create_qp(const QpConfig& cfg);
  /// Puts the QP to reset and forgets it; its number is used again.
  void destroy_qp(Qp& qp);
  /// UsageError while a QP uses it.
  void destroy_cq(Cq& cq);
  Mr register_mr(uint64_t base, uint64_t length, MrRights rights = {}, uint8_t pd = 0);
  void deregister_mr(const Mr& mr);

  /// A counter that nobody uses, set to zero. UsageError when all kNicNumCtr are taken.
  uint32_t create_counter();
  /// Nothing may count in it or wait for it any more.
  void destroy_counter(uint32_t index);
  void write_counter(uint32_t index, CounterValue value);
  CounterValue read_counter(uint32_t index);
  /// Adds to `success` (one doorbell).
  void add_to_counter(uint32_t index, uint16_t count);

  /// Bytes of HBM, from card address 0.
  uint64_t hbm_size() const { return hbm_size_; }
  /// HBM allocator (64-byte aligned, first fit); UsageError when full.
  uint64_t hbm_alloc(uint64_t bytes);
  void hbm_free(uint64_t addr);

  /// Copies through the HBM aperture and charges the copy.
  void write_hbm(uint64_t addr, const void* src, size_t bytes);
  void read_hbm(void* dst, uint64_t addr, size_t bytes);

  /// Oldest error log entry, removed; nothing when the log is empty.
  std::optional<ErrorEntry> pop_error() { return driver::pop_error(transport_); }
  /// 32-bit counter register of the NIC block, e.g. reg::kNicCntRxBad.
  uint32_t counter(uint64_t bar0_offset) { return transport_.read32(0, bar0_offset); }

  /// Runs an object command and waits for its result; DeviceError if it is refused. Without a
  /// context OBJ_DATA is left as it is. Words that OBJ_DATA holds already are not written again.
  void object_command(spec::ObjOp op, uint32_t index, const uint8_t* context64);

 private:
  friend class Qp;
  friend class Cq;
  struct Impl;
  void check_counter(const char* call, uint32_t index) const;
  /// The first `count` bytes (a multiple of 4) of OBJ_DATA as a command left it.
  void read_object_data(uint8_t* bytes, size_t count);
  Transport& transport_;
  uint16_t node_ = 0;
  unsigned planes_ = 0;
  uint64_t hbm_size_ = 0;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ubl::driver
