// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Constrained-random traffic between two cores over a network that loses, repeats, delays and
// breaks frames, against the golden model of transaction_model.hpp: what memories and completion
// queues must hold follows from the posted requests alone.
//
//   UBL_REQUESTS=n   work requests per test (default 20,000 over all of them)
//   UBL_ROUND=n      only this round of a test
//   UBL_SHRINK=1     a round that fails is repeated with fewer requests and QPs as long as it fails
//   UBL_QPS=n, UBL_MESSAGES=n   what UBL_SHRINK found
#include <cinttypes>
#include <sstream>

#include "cores.hpp"
#include "transaction_model.hpp"

namespace nic_core_test {
namespace {

constexpr uint64_t kSrc = 0x100000, kSrcSize = 0x20000;
constexpr uint64_t kShared = 0x200000, kSharedSize = 0x8000;     // REDUCE from everybody
constexpr uint64_t kPrivate = 0x400000, kPrivateSize = 0x10000;  // of QP q at kPrivate + q * size
// What a READ of the own side brings, of QP q at kInbox + q * size: nobody else writes there.
constexpr uint64_t kInbox = 0x1000000, kInboxSize = 0x10000;
constexpr uint64_t kTrap = 0x3000000, kTrapSize = 0x10000;          // memory that refuses
constexpr uint64_t kLanding = 0x2000000, kLandingSize = 0x1000000;  // receive buffers

uint64_t from_env(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

void vary(Timing& t, Rng& rng) {
  t.dma_min = 5 + static_cast<unsigned>(rng() % 100);
  t.dma_max = t.dma_min + static_cast<unsigned>(rng() % 400);
  t.dma_ready = 10 + static_cast<unsigned>(rng() % 91);
  t.link_min = 1 + static_cast<unsigned>(rng() % 100);
  t.link_max = t.link_min + static_cast<unsigned>(rng() % 100);
  t.mem_max = t.mem_min + static_cast<unsigned>(rng() % 300);
  t.rxv_ready = 20 + static_cast<unsigned>(rng() % 81);
  t.rx_rate = 20 + static_cast<unsigned>(rng() % 81);
  t.txc_rate = 20 + static_cast<unsigned>(rng() % 81);
}

// Faults of 0 .. 5 % of each kind, per plane and direction; latencies of their own.
template <class B>
void vary_network(B& b, Rng& rng) {
  const unsigned kinds = static_cast<unsigned>(rng() % 16);
  auto rate = [&](unsigned bit) {
    return (kinds >> bit & 1) != 0 && rng() % 3 != 0 ? static_cast<unsigned>(rng() % 501) : 0u;
  };
  b.all_wires([&](Wire& w) {
    w.latency_min = 1 + static_cast<unsigned>(rng() % 150);
    w.latency_max = w.latency_min + 1 + static_cast<unsigned>(rng() % 60);
    w.drop = rate(0);
    w.duplicate = rate(1);
    w.reorder = rate(2);
    w.corrupt = rate(3);
    w.late = 1 + static_cast<unsigned>(rng() % 600);
  });
  // Now and then a plane is dead for a while.
  if (B::kPlanes > 1 && rng() % 3 == 0) {
    Wire& w = b.wire[rng() % 2][rng() % B::kPlanes];
    w.cut_from = b.cycles + rng() % 20000;
    w.cut_until = w.cut_from + rng() % 20000;
  }
}

struct Plan {
  uint64_t salt = 0;
  unsigned qps = 4, messages = 20;  // of each direction
  bool faults = true, errors = true, skip = false;
  unsigned every = 0;  // cycles between what the driver does; 0: random
  unsigned max_len = 20000;
};

template <class B>
class Traffic {
 public:
  explicit Traffic(const Plan& plan)
      : bench(plan.salt), plan_(plan), rng(ubl::test::rng(plan.salt + 1000)) {
    vary(bench.timing, rng);
    bench.patience = 2000000;
    for (auto& c : bench.card) c->skip = plan.skip;
    build();
  }

  B bench;
  uint64_t hash = 1469598103934665603ull;
  unsigned sends = 0, naks = 0;

  void run() {
    const unsigned every = plan_.every != 0 ? plan_.every : 1 + static_cast<unsigned>(rng() % 20);
    const uint64_t limit = bench.cycles + 400000 + 3000ull * plan_.qps * plan_.messages;
    while (!done()) {
      if (rng() % every == 0) drive();
      bench.step();
      if (bench.cycles > limit) fail("not done: " + state());
    }
    bench.settle();
    for (unsigned c = 0; c < 2; ++c) take_log(c), finish(c);
  }

 private:
  // One direction of one QP.
  struct Flow {
    unsigned card = 0, qpn = 0, cq = 0, rcq = 0;
    std::deque<Wqe> todo,
        buffers;  // to post; buffers: receives of this QP, for the peer's requests
    unsigned ring = 0, posted = 0, freed = 0;
    unsigned rq = 0, receives = 0, received = 0;  // entries of the receive ring, 0 without one
    unsigned consuming = 0;                       // posted requests that consume a receive
    bool bad = false, eager = false, silent = false;
    ModelFlow* model = nullptr;
  };

  [[noreturn]] static void fail(const std::string& s) { throw std::runtime_error(s); }
  void mix(uint64_t v) { hash = (hash ^ v) * 1099511628211ull; }
  Flow& peer(const Flow& f) { return flows_[&f - flows_.data() + (f.card == 0 ? 1 : -1)]; }

  void build() {
    auto& b = bench;
    for (unsigned c = 0; c < 2; ++c) {
      b.enable(c);
      for (unsigned q = 0; q < kCqs; ++q) b.make_cq(c, q, 11, q % 2);
      lkey[c] = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
      rkey_shared[c] = b.make_mr(c, 2, kShared, kSharedSize, false, false, true);
      rkey_private[c] =
          b.make_mr(c, 3, kPrivate, kPrivateSize * plan_.qps, false, true, true, true, true);
      lkey_inbox[c] =
          b.make_mr(c, 4, kInbox, kInboxSize * plan_.qps, false, false, false, true, false);
      key_trap[c] = b.make_mr(c, 5, kTrap, kTrapSize, true, true, true, true, true);
      b.card[c]->mem.forbid(kTrap, kTrapSize);
      b.wr(c, reg::kNicTimeout, 2000 + static_cast<uint32_t>(rng() % 4000));
      b.wr(c, reg::kNicRnrTimer, 100 + static_cast<uint32_t>(rng() % 1000));
      b.wr(c, reg::kNicReorder, 16 + static_cast<uint32_t>(rng() % 180));
      b.wr(c, reg::kNicPlaneProbe, 2000 + static_cast<uint32_t>(rng() % 20000));
      for (auto [base, size] : {std::pair{kSrc, kSrcSize},
                                {kShared, kSharedSize},
                                {kPrivate, kPrivateSize * plan_.qps}}) {
        // Small integers: sums are exact in any order.
        std::vector<uint8_t> data(size);
        for (size_t i = 0; i < size; i += 4) {
          const float f = static_cast<float>(static_cast<int>(rng() % 15) - 7);
          std::memcpy(&data[i], &f, 4);
        }
        b.card[c]->mem.write(base, data.data(), size);
        model_.mem[c].write(base, data.data(), size);
      }
    }
    flows_.resize(2 * plan_.qps);
    for (unsigned q = 0; q < plan_.qps; ++q) {
      const unsigned log2 = 2 + static_cast<unsigned>(rng() % 5);
      const unsigned window =
          static_cast<unsigned>(rng() % 3 == 0 ? 1 + rng() % 20 : 20 + rng() % 493);
      const uint8_t mtu = static_cast<uint8_t>(rng() % 3);
      const uint32_t psn[2] = {static_cast<uint32_t>(rng() & 0xffffff),
                               static_cast<uint32_t>(0xfffff0 + rng() % 16)};
      const unsigned bad =
          plan_.errors && rng() % 4 == 0 ? 1 + static_cast<unsigned>(rng() % 2) : 0;
      for (unsigned c = 0; c < 2; ++c) {
        const unsigned planes =
            rng() % 2 ? B::kAllPlanes : 1 + static_cast<unsigned>(rng() % B::kAllPlanes);
        Flow& f = flows_[2 * q + c];
        f.card = c;
        f.qpn = q;
        f.cq = static_cast<unsigned>(rng() % kCqs);
        f.rcq = static_cast<unsigned>(rng() % kCqs);
        f.ring = 1u << log2;
        f.eager = rng() % 2;
        QpCtx x = b.qp_ctx(c, q, q, planes, f.cq, f.rcq);
        x.sq_log2 = static_cast<uint8_t>(log2);
        x.window = static_cast<uint16_t>(window);
        x.sq_psn = psn[c];
        x.rq_psn = psn[1 - c];
        x.mtu = mtu;
        x.retry = 15;
        x.rnr_retry = 15;
        if (rng() % 4 != 0) {
          const unsigned rq_log2 = static_cast<unsigned>(rng() % 5);
          B::add_ring(x, q, rq_log2);
          f.rq = 1u << rq_log2;
        }
        b.make_qp(c, q, x);
        f.bad = bad == 1 + c;
        f.silent = bad == 2 - c;  // an error would flush what it sends
      }
      for (unsigned c = 0; c < 2; ++c) {
        Flow& f = flows_[2 * q + c];
        f.model = &model_.add(c, q, psn[c], mtu, flows_[2 * q + 1 - c].rq != 0);
      }
    }
    for (auto& f : flows_) {
      if (f.silent) continue;
      Flow& p = peer(f);
      const unsigned at = f.bad ? static_cast<unsigned>(rng() % plan_.messages) : ~0u;
      for (unsigned m = 0; m < plan_.messages; ++m) message(f, p, m, m == at);
      // Some that nobody needs.
      for (uint64_t n = rng() % 3; n > 0 && p.rq != 0; --n) add_buffer(f, p, buffer(p, 0));
    }
    if (plan_.faults) vary_network(b, rng);
  }

  // A receive of flow p for `length` bytes: among the targets of the peer's WRITEs and REDUCEs.
  Wqe buffer(const Flow& p, uint32_t length) {
    Wqe w;
    w.opcode = raw(WqeOp::kRecv);
    w.length = static_cast<uint32_t>(length + (rng() % 2 ? 0 : rng() % 64));
    w.laddr = kPrivate + kPrivateSize * p.qpn +
              (rng() % 4 == 0 ? rng() % 64 : rng() % (kPrivateSize - w.length));
    w.lkey = rkey_private[p.card];
    w.wr_id = rng() | 1;
    return w;
  }
  void add_buffer(Flow& f, Flow& p, const Wqe& r) {
    p.buffers.push_back(r);
    model_.receive(*f.model, r);
  }

  void message(Flow& f, Flow& p, unsigned m, bool error) {
    Wqe w;
    const unsigned c = f.card;
    // READs in bursts: a change between them and others costs a round trip.
    if (rng() % 4 == 0) reading_ = rng() % 3 == 0;
    w.opcode = static_cast<uint8_t>(rng() % 10 == 0 ? 0 : reading_ ? 5 : 1 + rng() % 4);
    if (p.rq != 0 && w.opcode != 0 && !reading_ && rng() % 2) {
      w.opcode = raw(rng() % 2 ? WqeOp::kSend : WqeOp::kSendImm);
    }
    Fate fate;
    unsigned kind = 0;
    if (error) {
      kind = static_cast<unsigned>(p.rq != 0 ? rng() % 7 : rng() % 5);
      if (kind >= 5 || (rng() % 3 == 0 && p.rq != 0 && kind != 2 && kind != 4)) {
        w.opcode = raw(rng() % 2 ? WqeOp::kSend : WqeOp::kSendImm);
      } else {
        w.opcode = raw(rng() % 2 ? WqeOp::kWrite : WqeOp::kWriteImm);
      }
    }
    const bool send = w.opcode == raw(WqeOp::kSend) || w.opcode == raw(WqeOp::kSendImm);
    const bool read = w.opcode == raw(WqeOp::kRead);
    w.signalled = rng() % 2 || m % 3 == 2;  // something frees the ring
    w.fence = rng() % 8 == 0;
    // Changing the VC is legal, but costs a round trip.
    w.vc = raw(read || (rng() % 10 == 0) != (f.qpn % 2 == 0) ? Vc::kReq : Vc::kBulk);
    const uint32_t max = plan_.max_len;
    switch (rng() % 6) {
      case 0:
        w.length = 0;
        break;
      case 1:
        w.length = static_cast<uint32_t>(1024 * (1 + rng() % (max / 1024)));
        break;
      case 2:
        w.length = static_cast<uint32_t>(1 + rng() % max);
        break;
      default:
        w.length = static_cast<uint32_t>(1 + rng() % 256);
    }
    if (error && w.length == 0) w.length = 8;
    const bool red = w.opcode == raw(WqeOp::kReduce) || w.opcode == raw(WqeOp::kReduceImm);
    if (red) w.length &= ~3u;
    w.ordered = red && ordering_;
    if (rng() % 8 == 0) ordering_ = !ordering_;
    const bool shared = red && !f.bad && rng() % 2;
    const uint64_t base = shared ? kShared : kPrivate + kPrivateSize * f.qpn;
    const uint64_t size = shared ? kSharedSize : kPrivateSize;
    // REDUCE works on whole elements, so that the sums of shared ones are exact in any order; WRITE
    // takes any byte address.
    const uint64_t align = red ? 3 : 0;
    w.laddr = kSrc + (rng() % (kSrcSize - w.length) & ~align);
    w.lkey = read ? lkey_inbox[c] : lkey[c];
    w.rkey = shared ? rkey_shared[1 - c] : rkey_private[1 - c];
    w.imm = static_cast<uint32_t>(rng());
    w.wr_id = rng();
    Wqe r;
    // What would race with a request before it goes elsewhere or gets a fence.
    for (unsigned k = 0;; ++k) {
      w.raddr = base + ((rng() % 4 == 0 ? rng() % 64 : rng() % (size - w.length)) & ~align);
      if (read) w.laddr = kInbox + kInboxSize * f.qpn + rng() % (kInboxSize - w.length);
      if (send) r = buffer(p, w.length);
      if (!model_.races(*f.model, w, send ? &r : nullptr)) break;
      if (k == 3) w.fence = 1;
    }
    if (consumes(w) && p.rq != 0 && !send) {
      // Only counted: what it points to is not looked at.
      r = buffer(p, 0);
      r.length = static_cast<uint32_t>(rng());
      r.lkey = static_cast<uint32_t>(rng());
      r.laddr = rng();
    }
    if (error) {
      switch (kind) {
        case 0:
          w.lkey ^= 1;
          fate.status = CqeStatus::kLocalProtection;
          fate.sent = false;
          break;
        case 1:
          w.vc = 3;
          fate.status = CqeStatus::kBadOpcode;
          fate.sent = false;
          break;
        case 2:
          w.rkey ^= 2;
          fate.status = CqeStatus::kRemoteAccess;
          fate.receiver_fails = true;
          break;
        case 3:
          w.laddr = kTrap;
          w.lkey = key_trap[c];
          fate.status = CqeStatus::kLocalMemory;
          break;
        case 4:
          w.raddr = kTrap;
          w.rkey = key_trap[1 - c];
          fate.status = CqeStatus::kRemoteOperation;
          fate.receiver_fails = true;
          break;
        case 5:
          r.length = w.length - 1;
          fate.status = CqeStatus::kRemoteInvalid;
          fate.receive = CqeStatus::kLocalLength;
          fate.receiver_fails = true;
          break;
        default:
          r.lkey ^= 1;
          fate.status = CqeStatus::kRemoteOperation;
          fate.receive = CqeStatus::kLocalProtection;
          fate.receiver_fails = true;
          break;
      }
    }
    if (send) ++sends;
    model_.start(*f.model, w, send ? &r : nullptr);
    if (consumes(w) && p.rq != 0) add_buffer(f, p, r);
    model_.post(*f.model, w, fate);
    f.todo.push_back(w);
  }

  bool done() {
    for (auto& f : flows_) {
      if (!f.todo.empty() || !f.model->sends.empty() || !f.model->recvs.empty()) return false;
      if (!f.model->failed && !bench.monitor.finished(f.card, f.qpn)) return false;
    }
    return true;
  }

  // Who waits for what.
  std::string state() {
    std::ostringstream s;
    for (auto& f : flows_) {
      if (f.todo.empty() && f.model->sends.empty() && f.model->recvs.empty() &&
          (f.model->failed || bench.monitor.finished(f.card, f.qpn))) {
        continue;
      }
      const QpStatus q = bench.status(f.card, f.qpn), p = bench.status(1 - f.card, f.qpn);
      s << "\n  card " << f.card << " QP " << f.qpn << (f.bad ? " (bad)" : "") << " to post "
        << f.todo.size() << " completions " << f.model->sends.size() << " receives "
        << f.model->recvs.size() << " head " << q.sq_head << " tail " << q.sq_tail << std::hex
        << " next " << q.next_psn << " una " << q.una_psn << " state " << unsigned(q.state)
        << " peer expects " << p.expected_psn << " state " << unsigned(p.state) << std::dec
        << " posted receives " << peer(f).receives << " done " << peer(f).received;
    }
    return s.str();
  }

  // What a driver does now and then.
  void drive() {
    auto& b = bench;
    Flow& f = flows_[rng() % flows_.size()];
    if (rng() % 4 == 0 && f.rq != 0) {
      const unsigned before = f.receives;
      for (uint64_t k = 1 + rng() % 6; k > 0 && !f.buffers.empty(); --k) {
        if (f.receives - f.received >= f.rq) break;
        b.write_recv(f.card, f.qpn, f.buffers.front());
        f.buffers.pop_front();
        ++f.receives;
      }
      if (f.receives != before) b.ring_recv(f.card, f.qpn);
    } else if (f.rq == 0 && f.receives < peer(f).consuming + 8 && rng() % 4 == 0) {
      b.post_receives(f.card, f.qpn, f.receives += 1 + static_cast<unsigned>(rng() % 3));
    }
    unsigned n = 0;
    const unsigned burst = 1 + static_cast<unsigned>(rng() % 8);
    Flow& p = peer(f);
    while (n < burst && !f.todo.empty() && f.posted - f.freed < f.ring) {
      const bool takes = consumes(f.todo.front());
      // The eager ones do not care whether the peer is ready.
      if (takes && !f.eager && !f.bad && p.receives <= f.consuming) break;
      f.consuming += takes;
      b.write_wqe(f.card, f.qpn, f.todo.front());
      f.todo.pop_front();
      ++f.posted;
      ++n;
    }
    if (n != 0) b.ring(f.card, f.qpn);
    for (unsigned c = 0; c < 2; ++c) {
      const unsigned cq = static_cast<unsigned>(rng() % kCqs);
      Cqe e;
      while (b.poll(c, cq, e)) check(c, cq, e);
    }
    if (rng() % 512 == 0) take_log(static_cast<unsigned>(rng() % 2));
  }

  void check(unsigned c, unsigned cq, const Cqe& e) {
    std::ostringstream s;
    s << (e.recv ? "receive" : "request") << " of card " << c << " QP " << e.qpn << " at cycle "
      << bench.cycles << ": ";
    if (e.qpn >= plan_.qps) fail(s.str() + "no such QP");
    Flow& own = flows_[2 * e.qpn + c];
    auto& list = e.recv ? peer(own).model->recvs : own.model->sends;
    if (list.empty()) fail(s.str() + "nothing is expected");
    const Completion x = list.front();
    list.pop_front();
    auto same = [&](uint64_t is, uint64_t must, const char* what) {
      if (is == must) return;
      s << what << " is " << std::hex << is << ", must be " << must;
      fail(s.str());
    };
    if (e.status != x.status) {
      fail(s.str() + "status is " + to_string(static_cast<CqeStatus>(e.status)) + ", must be " +
           to_string(static_cast<CqeStatus>(x.status)));
    }
    same(e.wr_id, x.wr_id, "wr_id");
    same(cq, e.recv ? own.rcq : own.cq, "cq");
    if (e.status == 0 || e.recv) {
      same(e.opcode, x.opcode, "opcode");
      same(e.byte_len, x.byte_len, "byte_len");
      same(e.imm, x.imm, "imm");
    }
    if (x.psn_known) same(e.psn, x.psn, "psn");
    if (e.recv) {
      ++own.received;
    } else {
      own.freed += static_cast<uint16_t>(e.sq_head - own.freed);
    }
    mix(bench.cycles);
    mix(e.wr_id);
  }

  void take_log(unsigned c) {
    for (const LogEntry& l : bench.log(c)) {
      if (l.cause == ErrCause::kPlaneDown && plan_.faults) continue;
      // Broken frames, and answers that come late or twice.
      if ((l.cause == ErrCause::kFcs || l.cause == ErrCause::kIcrc ||
           l.cause == ErrCause::kSequence) &&
          (plan_.faults || bad(l.qpn))) {
        continue;
      }
      if (bad(l.qpn)) continue;
      fail("card " + std::to_string(c) + " logs " + to_string(l.cause) + " of QP " +
           std::to_string(l.qpn) + " PSN " + std::to_string(l.psn));
    }
  }
  bool bad(unsigned qpn) const {
    return qpn < plan_.qps && (flows_[2 * qpn].bad || flows_[2 * qpn + 1].bad);
  }

  void finish(unsigned c) {
    auto area = [&](uint64_t at, uint64_t size, const std::string& what) {
      const uint64_t where = model_.differs(c, bench.card[c]->mem, at, size);
      if (where == kNever) return;
      std::ostringstream s;
      s << what << " of card " << c << " differs at 0x" << std::hex << where;
      fail(s.str());
    };
    area(kShared, kSharedSize, "shared memory");
    for (unsigned q = 0; q < plan_.qps; ++q) {
      area(kPrivate + kPrivateSize * q, kPrivateSize, "memory of QP " + std::to_string(q));
      area(kInbox + kInboxSize * q, kInboxSize, "inbox of QP " + std::to_string(q));
      if (bad(q)) continue;
      const QpStatus s = bench.status(c, q);
      if (s.state != raw(QpState::kReady) || s.una_psn != s.next_psn || s.sq_head != s.sq_tail) {
        fail("QP " + std::to_string(q) + " of card " + std::to_string(c) + " is not done");
      }
    }
    for (uint8_t byte : bench.card[c]->mem.read(kShared, kSharedSize)) mix(byte);
  }

  static constexpr unsigned kCqs = 4;
  Plan plan_;
  Rng rng;
  std::vector<Flow> flows_;
  TransactionModel model_;
  uint32_t lkey[2] = {}, rkey_shared[2] = {}, rkey_private[2] = {}, lkey_inbox[2] = {},
           key_trap[2] = {};
  bool reading_ = false, ordering_ = false;
};

// What went wrong, or nothing.
template <class B>
std::string attempt(const Plan& plan) {
  try {
    Traffic<B>(plan).run();
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Rounds of a test until so many requests have been posted.
template <class B>
void rounds(const char* name, uint64_t salt, uint64_t requests, unsigned most_qps,
            unsigned messages) {
  const uint64_t only = from_env("UBL_ROUND", ~0ull);
  requests = from_env("UBL_REQUESTS", requests);
  Rng rng = ubl::test::rng(salt);
  uint64_t posted = 0;
  for (uint64_t round = 0; posted < requests; ++round) {
    Plan p;
    p.salt = salt + round;
    p.qps = 2 + static_cast<unsigned>(rng() % (most_qps - 1));
    p.messages = messages / 2 + static_cast<unsigned>(rng() % messages);
    p.faults = round % 6 != 0;
    p.errors = round % 3 != 1;
    posted += 2 * p.qps * p.messages;
    if (only != ~0ull && round != only) continue;
    p.qps = static_cast<unsigned>(from_env("UBL_QPS", p.qps));
    p.messages = static_cast<unsigned>(from_env("UBL_MESSAGES", p.messages));
    std::string what = attempt<B>(p);
    if (what.empty()) continue;
    if (std::getenv("UBL_SHRINK") != nullptr) {
      auto smaller = [&](unsigned Plan::*field, unsigned value) {
        Plan s = p;
        s.*field = value;
        const std::string w = value == 0 ? std::string() : attempt<B>(s);
        if (w.empty()) return false;
        p = s;
        what = w;
        return true;
      };
      for (bool again = true; again;) {
        again = smaller(&Plan::messages, p.messages / 2) || smaller(&Plan::qps, p.qps / 2) ||
                smaller(&Plan::messages, p.messages - 1) || smaller(&Plan::qps, p.qps - 1);
      }
    }
    ADD_FAILURE() << what << "\nrepeat: UBL_SEED=" << ubl::test::seed()
                  << " UBL_REQUESTS=" << posted << " UBL_ROUND=" << round << " UBL_QPS=" << p.qps
                  << " UBL_MESSAGES=" << p.messages
                  << " build/bin/tests/rtl_nic_core --gtest_filter=" << name;
    return;
  }
}

TEST(Random, OnePlane) { rounds<OnePlane>("Random.OnePlane", 100000, 11000, 8, 60); }

TEST(Random, EightPlanes) { rounds<EightPlanes>("Random.EightPlanes", 200000, 9000, 20, 50); }

// Not evaluating a sleeping core changes nothing, to the cycle.
TEST(Random, SkippingIdleCyclesChangesNothing) {
  for (unsigned round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    uint64_t hash[2], cycles[2], skipped[2];
    for (unsigned k = 0; k < 2; ++k) {
      Plan p;
      p.salt = 300 + round;
      p.qps = 3;
      p.messages = 20;
      p.max_len = 8000;
      p.faults = round % 2;
      p.skip = k == 1;
      p.every = 300;
      Traffic<OnePlane> r(p);
      r.run();
      hash[k] = r.hash;
      cycles[k] = r.bench.cycles;
      skipped[k] = r.bench.a().skipped + r.bench.b().skipped;
    }
    EXPECT_EQ(hash[0], hash[1]);
    EXPECT_EQ(cycles[0], cycles[1]);
    EXPECT_GT(skipped[1], cycles[1] / 4);
  }
}

// One error per QP, of every kind that a receiver can meet, at a random message: both sides must
// show exactly what follows from it, and the buffers exactly the messages before it.
template <class B>
void errors_at_random(uint64_t salt) {
  enum Kind {
    kNone,
    kShort,
    kKey,
    kEntry,
    kUnreadable,
    kRefused,
    kRnr,
    kNumber,
    kRkey,
    kLocal,
    kKinds
  };
  struct Pair {
    unsigned s;  // card of the sender
    Kind kind;
    unsigned at;        // message concerned
    unsigned turn = 0;  // its receive
    uint32_t psn = 0;   // its first packet
    std::vector<Wqe> messages;
    std::vector<unsigned> taker;  // message of each receive
    std::vector<Wqe> receives;
    std::vector<std::vector<uint8_t>> seen;  // buffers when their receives were complete
    unsigned sent = 0, received = 0;
  };
  constexpr unsigned kQps = 16, kMessages = 20, kReceives = 26;
  constexpr uint32_t kMax = 0x3000;
  B b(salt);
  Rng rng = ubl::test::rng(salt + 1);
  vary(b.timing, rng);
  uint32_t lkey[2], rkey[2], landing[2];
  for (unsigned c = 0; c < 2; ++c) {
    b.card[c]->skip = rng() % 2;
    b.enable(c);
    b.make_cq(c, 0, 10);
    b.make_cq(c, 1, 10);
    lkey[c] = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
    rkey[c] = b.make_mr(c, 2, kPrivate, kPrivateSize * kQps, false, true, true);
    landing[c] = b.make_mr(c, 4, kLanding, kLandingSize, false, false, false, true);
    std::vector<uint8_t> data(kSrcSize);
    for (auto& x : data) x = static_cast<uint8_t>(rng());
    b.card[c]->mem.write(kSrc, data.data(), data.size());
  }
  std::vector<Pair> pairs(kQps);
  for (unsigned q = 0; q < kQps; ++q) {
    Pair& p = pairs[q];
    p.s = q & 1;
    p.kind = static_cast<Kind>((q + salt) % kKinds);
    p.at = static_cast<unsigned>(rng() % kMessages);
    const unsigned planes = 1 + static_cast<unsigned>(rng() % B::kAllPlanes);
    b.connect(q, planes, 0, 1, [&](QpCtx& x) {
      x.retry = 15;
      x.sq_log2 = 5;
      x.window = static_cast<uint16_t>(rng() % 3 == 0 ? 1 + rng() % 8 : 64);
      B::add_ring(x, q, 5);
    });
    const bool needs_send = p.kind != kNone && p.kind != kRkey && p.kind != kLocal;
    uint32_t psn = p.s ? 0x500 : 0xfffffa;
    for (unsigned m = 0; m < kMessages; ++m) {
      Wqe w;
      static constexpr WqeOp kOps[] = {WqeOp::kWrite,  WqeOp::kWriteImm, WqeOp::kReduce,
                                       WqeOp::kSend,   WqeOp::kSend,     WqeOp::kSendImm,
                                       WqeOp::kSendImm};
      w.opcode = raw(kOps[rng() % 7]);
      w.signalled = 1;
      w.vc = raw(rng() % 8 == 0 ? Vc::kReq : Vc::kBulk);
      w.length = static_cast<uint32_t>(rng() % (rng() % 3 ? 300 : kMax)) & ~3u;
      w.imm = static_cast<uint32_t>(rng());
      w.wr_id = m;
      if (m == p.at) {
        if (needs_send) w.opcode = raw(rng() % 2 ? WqeOp::kSend : WqeOp::kSendImm);
        if (p.kind == kRkey) w.opcode = raw(rng() % 2 ? WqeOp::kWrite : WqeOp::kWriteImm);
        w.length += 4;
        p.psn = psn;
        p.turn = static_cast<unsigned>(p.taker.size());
      }
      w.laddr = kSrc + rng() % (kSrcSize - w.length);
      w.raddr = kPrivate + kPrivateSize * q;
      w.lkey = lkey[p.s] ^ (m == p.at && p.kind == kLocal);
      w.rkey = rkey[1 - p.s] ^ (m == p.at && p.kind == kRkey);
      if (consumes(w)) p.taker.push_back(m);
      psn = (psn + std::max(1u, (w.length + 4095) / 4096)) & 0xffffff;
      p.messages.push_back(w);
      b.write_wqe(p.s, q, w);
    }
    for (unsigned k = 0; k < kReceives; ++k) {
      if (p.kind == kRnr && k == p.turn) break;
      const uint32_t need =
          k < p.taker.size() ? p.messages[p.taker[k]].length : static_cast<uint32_t>(rng() % kMax);
      Wqe r;
      r.opcode = raw(WqeOp::kRecv);
      r.length = need + static_cast<uint32_t>(rng() % 2 ? 0 : rng() % 64);
      r.laddr = kLanding + (q * kReceives + k) * 0x4000 + rng() % 64;
      r.lkey = landing[1 - p.s];
      r.wr_id = rng() | 1;
      if (k == p.turn && p.kind == kShort) r.length = need - 1;
      if (k == p.turn && p.kind == kKey) r.lkey ^= 1;
      if (k == p.turn && p.kind == kEntry) r.imm = 1;
      if (k == p.turn && p.kind == kRefused) {
        b.card[1 - p.s]->mem.forbid(r.laddr + rng() % need, 1);
      }
      if (k == p.turn && p.kind == kUnreadable) {
        b.card[1 - p.s]->mem.forbid(B::recv_base(q) + 64 * k, 64);
      }
      p.receives.push_back(r);
      b.write_recv(1 - p.s, q, r);
    }
  }
  for (unsigned c = 0; c < 2; ++c) {
    b.card[c]->on_wire = [&, c](Frame& f, unsigned) {
      Pair& p = pairs[f.h.dst_qpn];
      if (p.s == c && p.kind == kNumber && f.h.psn == p.psn && is_send(f.h.opcode)) {
        f.h.raddr ^= 1ull << (32 + p.at);
      }
      return true;
    };
  }
  for (unsigned q = 0; q < kQps; ++q) {
    if (!pairs[q].receives.empty()) b.ring_recv(1 - pairs[q].s, q);
  }
  b.run(rng() % 100);
  for (unsigned q = 0; q < kQps; ++q) b.ring(pairs[q].s, q);

  static constexpr CqeStatus kSender[] = {CqeStatus::kOk,
                                          CqeStatus::kRemoteInvalid,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRemoteOperation,
                                          CqeStatus::kRnr,
                                          CqeStatus::kRemoteInvalid,
                                          CqeStatus::kRemoteAccess,
                                          CqeStatus::kLocalProtection};
  static constexpr CqeStatus kReceiver[] = {CqeStatus::kFlushed,         CqeStatus::kLocalLength,
                                            CqeStatus::kLocalProtection, CqeStatus::kBadOpcode,
                                            CqeStatus::kLocalMemory,     CqeStatus::kFlushed,
                                            CqeStatus::kFlushed,         CqeStatus::kFlushed,
                                            CqeStatus::kFlushed,         CqeStatus::kFlushed};
  auto good = [](const Pair& p, unsigned m) { return p.kind == kNone || m < p.at; };
  auto look = [&](unsigned c) {
    Cqe e;
    while (b.poll(c, 0, e)) {
      Pair& p = pairs[e.qpn];
      ASSERT_EQ(p.s, c);
      const unsigned m = p.sent++;
      ASSERT_EQ(e.wr_id, m) << "QP " << e.qpn << " kind " << p.kind;
      const CqeStatus want = good(p, m)  ? CqeStatus::kOk
                             : m == p.at ? kSender[p.kind]
                                         : CqeStatus::kFlushed;
      ASSERT_STREQ(to_string(static_cast<CqeStatus>(e.status)), to_string(want))
          << "QP " << e.qpn << " message " << m << " of " << p.at << " kind " << p.kind;
    }
    while (b.poll(c, 1, e)) {
      Pair& p = pairs[e.qpn];
      ASSERT_EQ(p.s, 1 - c);
      const unsigned k = p.received++;
      ASSERT_LT(k, p.receives.size()) << "QP " << e.qpn << " kind " << p.kind;
      p.seen.push_back(b.card[c]->mem.read(kLanding + (e.qpn * kReceives + k) * 0x4000, 0x4000));
      const bool fine = k < p.taker.size() && good(p, p.taker[k]);
      const CqeStatus want = fine                             ? CqeStatus::kOk
                             : k == p.turn && p.kind != kNone ? kReceiver[p.kind]
                                                              : CqeStatus::kFlushed;
      ASSERT_STREQ(to_string(static_cast<CqeStatus>(e.status)), to_string(want))
          << "QP " << e.qpn << " receive " << k << " of " << p.turn << " kind " << p.kind;
      ASSERT_EQ(e.wr_id, k == p.turn && p.kind == kUnreadable ? 0 : p.receives[k].wr_id);
      if (!fine) {
        ASSERT_EQ(e.opcode, raw(WqeOp::kRecv));
        ASSERT_EQ(e.byte_len, 0u);
        ASSERT_EQ(e.imm, 0u);
        continue;
      }
      const Wqe& w = p.messages[p.taker[k]];
      ASSERT_EQ(e.opcode, w.opcode);
      if (w.opcode != raw(WqeOp::kWriteImm)) {
        ASSERT_EQ(e.byte_len, w.length);
      }
      ASSERT_EQ(e.imm, w.opcode == raw(WqeOp::kSend) ? 0 : w.imm);
    }
  };
  auto done = [&](bool all) {
    for (unsigned c = 0; c < 2; ++c) look(c);
    if (testing::Test::HasFailure()) return true;
    for (const Pair& p : pairs) {
      if (p.sent != kMessages || (all && p.received != p.receives.size())) return false;
    }
    return true;
  };
  b.run_until([&] { return done(false); }, 400000);
  if (testing::Test::HasFailure()) return;
  b.settle();
  for (unsigned q = 0; q < kQps; ++q) {
    const Pair& p = pairs[q];
    // These are nothing that the receiver would fail for.
    const bool lives = p.kind == kNone || p.kind == kRnr || p.kind == kLocal;
    EXPECT_EQ(b.status(1 - p.s, q).state, raw(lives ? QpState::kReady : QpState::kError))
        << "kind " << p.kind;
    if (lives) b.command(1 - p.s, ObjOp::kSetError, q);
  }
  b.run_until([&] { return done(true); }, 400000);
  b.settle();
  done(true);
  if (testing::Test::HasFailure()) return;
  for (unsigned q = 0; q < kQps; ++q) {
    const Pair& p = pairs[q];
    auto& to = b.card[1 - p.s]->mem;
    for (unsigned k = 0; k < p.receives.size(); ++k) {
      const uint64_t at = kLanding + (q * kReceives + k) * 0x4000;
      EXPECT_TRUE(to.read(at, 0x4000) == p.seen[k])
          << "QP " << q << " receive " << k << " written after its completion, kind " << p.kind;
      // What is behind the offending message may have been executed.
      if (k >= p.turn && p.kind != kNone && p.kind != kLocal) continue;
      std::vector<uint8_t> want(0x4000);
      if (k < p.taker.size() && good(p, p.taker[k])) {
        const Wqe& w = p.messages[p.taker[k]];
        if (w.opcode != raw(WqeOp::kWriteImm)) {
          b.card[p.s]->mem.read(w.laddr, want.data() + (p.receives[k].laddr - at), w.length);
        }
      }
      EXPECT_TRUE(to.read(at, 0x4000) == want)
          << "QP " << q << " receive " << k << " of " << p.turn << " kind " << p.kind;
    }
  }
}

TEST(Random, SendErrorsOnePlane) {
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    errors_at_random<OnePlane>(600 + round);
    if (HasFailure()) return;
  }
}

TEST(Random, SendErrorsEightPlanes) {
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    errors_at_random<EightPlanes>(700 + round);
    if (HasFailure()) return;
  }
}

// Errors at any moment and on any side, while both sides send: every receive completes once, in
// order, the good ones are the messages in order, and no buffer changes when its receive is
// complete.
template <class B>
void errors_at_any_moment(uint64_t salt) {
  constexpr unsigned kQps = 6, kMessages = 20, kReceives = 30;
  struct Side {
    std::vector<Wqe> coming;  // what consumes a receive, in order
    unsigned posted = 0, received = 0, sent = 0;
    bool flushing = false, failed = false;
    std::vector<std::vector<uint8_t>> seen;
  };
  B b(salt);
  Rng rng = ubl::test::rng(salt + 1);
  vary(b.timing, rng);
  if (rng() % 2) b.timing.mem_max = 900;
  b.monitor.lag = 5000;  // what was judged while a card was disabled is reported much later
  uint32_t lkey[2], rkey[2], landing[2];
  for (unsigned c = 0; c < 2; ++c) {
    b.card[c]->skip = rng() % 2;
    b.enable(c);
    b.make_cq(c, 0, 10);
    b.make_cq(c, 1, 10);
    b.wr(c, reg::kNicTimeout, 5000);
    lkey[c] = b.make_mr(c, 1, kSrc, kSrcSize, true, false, false);
    rkey[c] = b.make_mr(c, 2, kPrivate, kPrivateSize * kQps, false, true, true);
    landing[c] = b.make_mr(c, 4, kLanding, kLandingSize, false, false, false, true);
    std::vector<uint8_t> data(kSrcSize);
    for (auto& x : data) x = static_cast<uint8_t>(rng());
    b.card[c]->mem.write(kSrc, data.data(), data.size());
  }
  std::vector<Side> side[2];
  auto landing_of = [](unsigned q, unsigned k) { return kLanding + (q * kReceives + k) * 0x4000; };
  auto post = [&](unsigned c, unsigned q, unsigned n) {
    Side& s = side[c][q];
    for (; n > 0 && s.posted < kReceives; --n) {
      Wqe r;
      r.opcode = raw(WqeOp::kRecv);
      r.length = 0x3000;
      r.laddr = landing_of(q, s.posted);
      r.lkey = landing[c];
      r.wr_id = s.posted++;
      b.write_recv(c, q, r);
    }
    b.ring_recv(c, q);
  };
  for (auto& s : side) s.resize(kQps);
  for (unsigned q = 0; q < kQps; ++q) {
    b.connect(q, 1 + static_cast<unsigned>(rng() % B::kAllPlanes), 0, 1, [&](QpCtx& x) {
      x.sq_log2 = 5;
      B::add_ring(x, q, 5);
    });
    for (unsigned c = 0; c < 2; ++c) {
      post(c, q, static_cast<unsigned>(10 + rng() % 10));
      for (unsigned m = 0; m < kMessages; ++m) {
        Wqe w;
        static constexpr WqeOp kOps[] = {WqeOp::kWrite, WqeOp::kWriteImm, WqeOp::kReduceImm,
                                         WqeOp::kSend,  WqeOp::kSendImm,  WqeOp::kSend};
        w.opcode = raw(kOps[rng() % 6]);
        w.signalled = 1;
        w.vc = raw(Vc::kBulk);
        w.length = static_cast<uint32_t>(rng() % (rng() % 2 ? 300 : 0x3000)) & ~3u;
        w.imm = static_cast<uint32_t>(rng());
        w.wr_id = m;
        w.laddr = kSrc + rng() % (kSrcSize - w.length);
        w.raddr = kPrivate + kPrivateSize * q;
        w.lkey = lkey[c];
        w.rkey = rkey[1 - c];
        b.write_wqe(c, q, w);
        if (consumes(w)) side[1 - c][q].coming.push_back(w);
      }
      b.ring(c, q);
    }
  }
  auto look = [&] {
    for (unsigned c = 0; c < 2; ++c) {
      Cqe e;
      while (b.poll(c, 0, e)) {
        Side& s = side[c][e.qpn];
        ASSERT_EQ(e.wr_id, s.sent++) << "card " << c << " QP " << e.qpn;
        ASSERT_TRUE(!s.failed || e.status == raw(CqeStatus::kFlushed) || e.status == 0);
        s.failed |= e.status != 0;
      }
      while (b.poll(c, 1, e)) {
        Side& s = side[c][e.qpn];
        const unsigned k = s.received++;
        ASSERT_EQ(e.wr_id, k) << "card " << c << " QP " << e.qpn;
        ASSERT_LT(k, s.posted);
        s.seen.push_back(b.card[c]->mem.read(landing_of(e.qpn, k), 0x4000));
        if (e.status != 0) {
          ASSERT_STREQ(to_string(static_cast<CqeStatus>(e.status)), "flushed");
          ASSERT_EQ(e.opcode, raw(WqeOp::kRecv));
          ASSERT_EQ(e.byte_len, 0u);
          s.flushing = true;
          continue;
        }
        ASSERT_FALSE(s.flushing) << "card " << c << " QP " << e.qpn << " receive " << k;
        ASSERT_LT(k, s.coming.size());
        const Wqe& w = s.coming[k];
        ASSERT_EQ(e.opcode, w.opcode);
        if (w.opcode != raw(WqeOp::kSend) && w.opcode != raw(WqeOp::kSendImm)) continue;
        ASSERT_EQ(e.byte_len, w.length);
        std::vector<uint8_t> want(0x4000);
        b.card[1 - c]->mem.read(w.laddr, want.data(), w.length);
        ASSERT_TRUE(s.seen.back() == want) << "card " << c << " QP " << e.qpn << " receive " << k;
      }
    }
  };
  const unsigned span = 500 + static_cast<unsigned>(rng() % 6000);
  for (unsigned i = 0; i < 14; ++i) {
    b.run(rng() % (span / 7));
    const unsigned q = static_cast<unsigned>(rng() % kQps), c = rng() % 2;
    switch (rng() % 8) {
      case 0:
        b.command(c, ObjOp::kSetError, q);
        break;
      case 1:  // more than the ring holds
        b.doorbell(c, 1, q, side[c][q].posted + 40);
        break;
      case 2:
        b.doorbell(c, 0, q, kMessages + 40);
        break;
      case 3:  // backwards
        b.ring_recv(c, q);
        b.doorbell(c, 1, q, side[c][q].posted - 1);
        break;
      case 4:
        b.wr(c, reg::kNicCtrl, 0);
        b.run(rng() % 300);
        b.enable(c);
        break;
      default:
        post(c, q, static_cast<unsigned>(1 + rng() % 6));
        break;
    }
    look();
    if (testing::Test::HasFailure()) return;
  }
  b.settle();
  for (unsigned q = 0; q < kQps; ++q) {
    for (unsigned c = 0; c < 2; ++c) {
      b.command(c, ObjOp::kSetError, q);
      if (rng() % 2) post(c, q, 3);
    }
  }
  b.settle();
  look();
  if (testing::Test::HasFailure()) return;
  for (unsigned c = 0; c < 2; ++c) {
    for (unsigned q = 0; q < kQps; ++q) {
      const Side& s = side[c][q];
      EXPECT_EQ(s.received, s.posted) << "card " << c << " QP " << q;
      EXPECT_EQ(s.sent, kMessages) << "card " << c << " QP " << q;
      for (unsigned k = 0; k < s.seen.size(); ++k) {
        EXPECT_TRUE(b.card[c]->mem.read(landing_of(q, k), 0x4000) == s.seen[k])
            << "card " << c << " QP " << q << " receive " << k << " written after its completion";
      }
    }
  }
}

TEST(Random, ReceivesAndErrorsOnePlane) {
  for (unsigned round = 0; round < 40; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    errors_at_any_moment<OnePlane>(800 + round);
    if (HasFailure()) return;
  }
}

TEST(Random, ReceivesAndErrorsEightPlanes) {
  for (unsigned round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    errors_at_any_moment<EightPlanes>(900 + round);
    if (HasFailure()) return;
  }
}

// ------------------------------------------------------------------------------ speed

// Eight planes, both directions, large messages at line rate.
TEST(Speed, EightPlanesAtLineRate) {
  EightPlanes b(1);
  b.timing = Timing{};
  b.timing.line_rate = true;
  b.timing.dma_ready = b.timing.rx_rate = b.timing.rxv_ready = b.timing.txc_rate = 100;
  b.timing.dma_min = b.timing.dma_max = 470;
  b.timing.link_min = b.timing.link_max = 430;
  b.timing.mem_min = b.timing.mem_max = 150;
  uint32_t lkey[2], rkey[2];
  for (unsigned c = 0; c < 2; ++c) {
    b.enable(c);
    b.make_cq(c, 0, 10);
    b.make_cq(c, 1, 10);
    lkey[c] = b.make_mr(c, 1, kSrc, 0x100000);
    rkey[c] = b.make_mr(c, 2, kPrivate, 0x100000);
  }
  for (unsigned q = 0; q < 8; ++q) {
    b.connect(q, 1u << q, 0, 1, [](QpCtx& x) { x.window = 256; });
    for (unsigned c = 0; c < 2; ++c) {
      for (unsigned m = 0; m < 4; ++m) {
        Wqe w;
        w.opcode = raw(WqeOp::kWrite);
        w.signalled = 1;
        w.vc = raw(Vc::kBulk);
        w.length = 0x40000;
        w.laddr = kSrc;
        w.raddr = kPrivate;
        w.lkey = lkey[c];
        w.rkey = rkey[1 - c];
        b.write_wqe(c, q, w);
      }
      b.ring(c, q);
    }
  }
  b.run(4000);
  uint64_t from[2] = {}, to[2] = {};
  for (unsigned c = 0; c < 2; ++c) {
    for (uint64_t v : b.card[c]->counts.placed) from[c] += v;
  }
  constexpr unsigned kCycles = 8000;
  b.run(kCycles);
  for (unsigned c = 0; c < 2; ++c) {
    for (uint64_t v : b.card[c]->counts.placed) to[c] += v;
    const double per_plane = kCycles * 8.0 / static_cast<double>(to[c] - from[c]);
    std::printf("card %u: one packet of 4096 bytes per plane in %.2f cycles\n", c, per_plane);
    // 66 flits, and an acknowledgement of 2 flits per 16 packets.
    EXPECT_LT(per_plane, 66.5);
  }
}

// Many QPs, 64-byte messages, ports that take a frame per cycle.
TEST(Speed, SmallMessages) {
  EightPlanes b(2);
  b.timing.dma_ready = b.timing.rx_rate = b.timing.rxv_ready = b.timing.txc_rate = 100;
  b.timing.dma_min = b.timing.dma_max = 470;
  b.timing.link_min = b.timing.link_max = 430;
  b.timing.mem_min = b.timing.mem_max = 5;
  uint32_t lkey = 0, rkey = 0;
  for (unsigned c = 0; c < 2; ++c) {
    b.enable(c);
    b.make_cq(c, 0, 12);
    b.make_cq(c, 1, 12);
    lkey = b.make_mr(c, 1, kSrc, 0x100000);
    rkey = b.make_mr(c, 2, kPrivate, 0x100000);
  }
  constexpr unsigned kQps = 64, kMessages = 32;
  for (unsigned q = 0; q < kQps; ++q) {
    QpCtx x = b.qp_ctx(0, q, q, 0xff, 0, 1);
    x.sq_log2 = 5;
    b.make_qp(0, q, x);
    x = b.qp_ctx(1, q, q, 0xff, 0, 1);
    b.make_qp(1, q, x);
    for (unsigned m = 0; m < kMessages; ++m) {
      Wqe w;
      w.opcode = raw(WqeOp::kWrite);
      w.signalled = m % 8 == 7;
      w.vc = raw(Vc::kReq);
      w.length = 64;
      w.laddr = kSrc;
      w.raddr = kPrivate + 64 * q;
      w.lkey = lkey;
      w.rkey = rkey;
      b.write_wqe(0, q, w);
    }
  }
  for (unsigned q = 0; q < kQps; ++q) b.ring(0, q);
  auto sent = [&] {
    uint64_t n = 0;
    for (uint64_t v : b.a().counts.txd) n += v;
    return n;
  };
  b.run_until([&] { return sent() >= 300; });
  const uint64_t start = b.cycles, first = sent();
  b.run_until([&] { return sent() >= 1800; });
  const double per = static_cast<double>(b.cycles - start) / static_cast<double>(sent() - first);
  std::printf("one message of 64 bytes in %.2f cycles\n", per);
  EXPECT_LT(per, 2.6);
  b.settle();
}

}  // namespace
}  // namespace nic_core_test
