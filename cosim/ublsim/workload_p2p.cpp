// SPDX-License-Identifier: Apache-2.0
// pingpong, read and sendmsg: two ranks straight on the driver, without a communication library.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ubl/comm/hal/error.hpp"
#include "ublsim/board.hpp"
#include "ublsim/breakdown.hpp"
#include "ublsim/inputs.hpp"
#include "ublsim/result.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/workloads.hpp"

namespace ubl::ublsim {

namespace {

using systemc::Cycle;

struct PeerInfo {
  std::vector<uint32_t> qpn;  // per plane
  uint64_t addr = 0;
  uint32_t rkey = 0;
};

/// One rank's endpoint: a QP per plane to the peer and one buffer.
class Endpoint {
 public:
  /// `rq_log2`: of the QPs' receive rings, if they are to have some.
  Endpoint(Session& s, unsigned rank, Board<PeerInfo>& board, uint64_t bytes,
           std::optional<unsigned> rq_log2 = std::nullopt, unsigned cq_log2 = 8, bool push = false)
      : rank_(rank), dev_(s.transport(rank)), receive_ring_(rq_log2.has_value()) {
    cq_ = &dev_.create_cq(cq_log2);
    addr_ = dev_.hbm_alloc(std::max<uint64_t>(bytes, 64));
    mr_ = dev_.register_mr(addr_, std::max<uint64_t>(bytes, 64));
    PeerInfo mine;
    mine.addr = addr_;
    mine.rkey = mr_.key;
    for (unsigned p = 0; p < s.platform().num_planes(); ++p) {
      driver::QpConfig cfg;
      cfg.planes = static_cast<uint8_t>((1u << s.platform().num_planes()) - 1);
      cfg.scq = cfg.rcq = cq_->cqn();
      cfg.window = spec::kNicMaxWindow;
      cfg.rq_log2 = rq_log2;
      cfg.push = push;
      qps_.push_back(&dev_.create_qp(cfg));
      mine.qpn.push_back(qps_.back()->qpn());
    }
    const auto& all = board.exchange(rank, mine);
    peer_ = all[1 - rank];
    for (unsigned p = 0; p < qps_.size(); ++p)
      qps_[p]->connect(static_cast<uint16_t>(1 - rank), peer_.qpn[p], 100 * p, 100 * p);
  }

  driver::Device& device() { return dev_; }
  uint64_t addr() const { return addr_; }
  size_t stripes() const { return qps_.size(); }

  /// Sends [from, from+len) of the own buffer to `to` in the peer's; with `data` those bytes,
  /// inline.
  void write_imm(unsigned stripe, uint64_t from, uint64_t to, uint32_t len, uint32_t imm,
                 bool signalled, spec::Vc vc, const uint8_t* data = nullptr) {
    spec::Wqe w;
    w.opcode = static_cast<uint8_t>(spec::WqeOp::kWriteImm);
    w.signalled = signalled ? 1 : 0;
    w.vc = static_cast<uint8_t>(vc);
    w.length = len;
    w.laddr = addr_ + from;
    w.raddr = peer_.addr + to;
    w.imm = imm;
    w.wr_id = imm;
    if (data != nullptr) driver::set_inline(w, data, len);
    post(stripe, w);
  }
  /// Sends [from, from+len) of the own buffer into the peer's next receive.
  void send(unsigned stripe, uint64_t from, uint32_t len, std::optional<uint32_t> imm,
            uint64_t wr_id, bool signalled, spec::Vc vc, const uint8_t* data = nullptr) {
    spec::Wqe w;
    w.opcode = static_cast<uint8_t>(imm ? spec::WqeOp::kSendImm : spec::WqeOp::kSend);
    w.signalled = signalled ? 1 : 0;
    w.vc = static_cast<uint8_t>(vc);
    w.length = len;
    w.laddr = addr_ + from;
    w.imm = imm.value_or(0);
    w.wr_id = wr_id;
    if (data != nullptr) driver::set_inline(w, data, len);
    post(stripe, w);
  }
  /// Brings [from, from+len) of the peer's buffer to `to` in the own one.
  void read(unsigned stripe, uint64_t from, uint64_t to, uint32_t len, uint64_t wr_id) {
    spec::Wqe w;
    w.opcode = static_cast<uint8_t>(spec::WqeOp::kRead);
    w.signalled = 1;
    w.vc = static_cast<uint8_t>(spec::Vc::kReq);
    w.length = len;
    w.laddr = addr_ + to;
    w.raddr = peer_.addr + from;
    w.wr_id = wr_id;
    post(stripe, w);
  }
  /// Waits until every signalled send is complete.
  void drain_sends() {
    while (signalled_ != completed_) wait_completion();
  }
  void post_receives(unsigned stripe, unsigned n) { qps_[stripe]->post_receives(n); }
  /// A receive into [to, to+len) of the own buffer; the card knows of it after ring_receives().
  void post_recv(unsigned stripe, uint64_t to, uint32_t len, uint64_t wr_id) {
    qps_[stripe]->post_recv({addr_ + to, len, mr_.key, wr_id});
  }
  void ring_receives(unsigned stripe) { qps_[stripe]->ring_receives(); }
  unsigned free_receives(unsigned stripe) const { return qps_[stripe]->free_receives(); }
  unsigned stripe_of(const spec::Cqe& c) const {
    unsigned stripe = 0;
    while (qps_[stripe]->qpn() != c.qpn) ++stripe;
    return stripe;
  }

  /// Next completion; CommError when it is an error or does not come.
  spec::Cqe wait_completion() {
    const uint64_t deadline = dev_.transport().now_ns() + kPatienceNs;
    for (;;) {
      if (auto c = cq_->poll()) {
        if (c->recv == 0 || receive_ring_)
          for (auto* q : qps_)
            if (q->qpn() == c->qpn) q->on_completion(*c);
        if (c->status != static_cast<uint8_t>(spec::CqeStatus::kOk)) throw error(*c);
        if (c->recv == 0) ++completed_;
        return *c;
      }
      if (dev_.transport().now_ns() >= deadline)
        throw comm::CommError(
            comm::ErrorKind::kTimeout,
            fmt::format("rank {} waits for a completion from rank {}", rank_, 1 - rank_));
      dev_.transport().wait(deadline);
    }
  }

 private:
  static constexpr uint64_t kPatienceNs = 10'000'000;
  void post(unsigned stripe, spec::Wqe w) {
    w.lkey = mr_.key;
    const auto op = static_cast<spec::WqeOp>(w.opcode);
    if (op != spec::WqeOp::kSend && op != spec::WqeOp::kSendImm) w.rkey = peer_.rkey;
    signalled_ += w.signalled;
    qps_[stripe]->post(w);
    qps_[stripe]->ring();
  }
  comm::CommError error(const spec::Cqe& c) {
    auto text = fmt::format("rank {}: QP {} PSN {}: {}", rank_, c.qpn, c.psn,
                            spec::to_string(static_cast<spec::CqeStatus>(c.status)));
    while (auto e = dev_.pop_error()) text += "; " + e->describe();
    return comm::CommError(comm::ErrorKind::kDeviceReported, text);
  }
  unsigned rank_;
  driver::Device dev_;
  bool receive_ring_;
  driver::Cq* cq_ = nullptr;
  std::vector<driver::Qp*> qps_;
  driver::Mr mr_;
  uint64_t addr_ = 0;
  PeerInfo peer_;
  uint64_t signalled_ = 0, completed_ = 0;
};

}  // namespace

int run_pingpong(const Options& o) {
  only_defaults(o);
  // As many receives as a batch are posted anew when they have been used up, off the clock.
  constexpr unsigned kRqLog2 = 7;
  constexpr unsigned kBatch = 1u << (kRqLog2 - 1);
  const bool send = o.verb.value_or("write") == "send";
  Options opt = o;
  if (opt.layout && opt.layout->cards != 2)
    throw UsageError("pingpong needs a topology with 2 cards");
  if (opt.cards != 2) throw UsageError("pingpong needs --cards 2");
  if (opt.bytes == 0 || opt.bytes > (1u << 20))
    throw UsageError(fmt::format("--bytes {}: pingpong takes 1 byte to 1 MiB", opt.bytes));
  if (opt.iterations == 0 || opt.iterations > 100000)
    throw UsageError(fmt::format("--iterations {}: must be 1..100000", opt.iterations));
  Session s(opt);
  Board<PeerInfo> board(2);
  Board<bool> ready(2), done(2);  // a card must answer until both have all their acknowledgements
  const Breakdown breakdown(s);
  std::vector<Cycle> start, turn, rtt;  // of rank 0's call, rank 1's call, the whole exchange
  const auto payload = random_bytes(opt.seed, 0, opt.bytes);
  std::vector<uint64_t> addr(2);
  const auto vc = opt.bytes <= 256 ? spec::Vc::kReq : spec::Vc::kBulk;
  s.run([&](unsigned rank) {
    Endpoint ep(s, rank, board, opt.bytes, send ? std::optional<unsigned>(kRqLog2) : std::nullopt,
                8, opt.push);
    // Pushed entries carry short payload themselves.
    const uint8_t* data = opt.push && opt.bytes <= spec::kNicMaxInline ? payload.data() : nullptr;
    addr[rank] = ep.addr();
    const auto len = static_cast<uint32_t>(opt.bytes);
    const auto now = [&ep] {
      return Cycle{ep.device().transport().now_ns() * 1000 / systemc::kClockPs};
    };
    auto receive = [&](uint32_t i) {
      for (;;) {
        const auto c = ep.wait_completion();
        if (c.recv == 0) continue;
        if (c.imm != i)
          throw comm::CommError(
              comm::ErrorKind::kDeviceReported,
              fmt::format("rank {}: exchange {} arrived instead of {}", rank, c.imm, i));
        if (send && (c.wr_id != i || c.byte_len != len ||
                     c.opcode != static_cast<uint8_t>(spec::WqeOp::kSendImm)))
          throw comm::CommError(
              comm::ErrorKind::kDeviceReported,
              fmt::format("rank {}: exchange {} is {} of {} bytes in receive {}", rank, i,
                          spec::to_string(static_cast<spec::WqeOp>(c.opcode)), c.byte_len,
                          c.wr_id));
        return;
      }
    };
    const auto send_to_peer = [&](uint32_t i, bool signalled) {
      if (send)
        ep.send(0, 0, len, i, i, signalled, vc, data);
      else
        ep.write_imm(0, 0, 0, len, i, signalled, vc, data);
    };
    uint64_t posted = 0;
    const auto refill = [&] {
      if (ep.free_receives(0) < kBatch) return;
      while (ep.free_receives(0) != 0) ep.post_recv(0, 0, len, posted++);
      ep.ring_receives(0);
    };
    if (send) {
      refill();
      ready.exchange(rank, true);  // a SEND needs a buffer that waits for it
    } else {
      ep.post_receives(0, opt.iterations > 30000 ? 30000 : opt.iterations);
    }
    if (rank == 0) ep.device().write_hbm(ep.addr(), payload.data(), payload.size());
    for (uint32_t i = 0; i < opt.iterations; ++i) {
      if (!send && i != 0 && i % 30000 == 0) ep.post_receives(0, 30000);
      const bool last = i + 1 == opt.iterations;
      const bool signalled = i % 16 == 15 || last;
      if (rank == 0) {
        start.push_back(now());
        send_to_peer(i, signalled);
        receive(i);
        rtt.push_back(now() - start.back());
      } else {
        receive(i);
        turn.push_back(now());
        send_to_peer(i, signalled);
      }
      if (send) refill();
    }
    ep.drain_sends();
    done.exchange(rank, true);
  });
  Result r;
  if (s.ok()) {
    compare_result(s, 0, addr[0], payload.data(), payload.size(), r);
    compare_result(s, 1, addr[1], payload.data(), payload.size(), r);
    const std::vector<Cycle> in_order = rtt;
    std::sort(rtt.begin(), rtt.end());
    auto ns = [&](size_t i) { return systemc::ns_from_cycles(rtt[i]) / 2; };
    r.extra["latency_ns"] = {{"min", ns(0)},
                             {"p50", ns(rtt.size() / 2)},
                             {"p99", ns(rtt.size() * 99 / 100)},
                             {"max", ns(rtt.size() - 1)}};
    r.op_cycles = rtt[rtt.size() / 2] / 2;
    // Of the first exchange that took the median time, both directions.
    std::optional<Breakdown::Stages> there, back;
    for (size_t i = 0; i < in_order.size() && !back; ++i) {
      if (in_order[i] != rtt[rtt.size() / 2]) continue;
      there = breakdown.message(0, start[i], turn[i]);
      if (there) back = breakdown.message(1, turn[i], start[i] + in_order[i]);
    }
    if (back) {
      auto& stages = r.extra["latency_breakdown_ns"];
      for (size_t k = 0; k < Breakdown::kStages; ++k)
        stages[Breakdown::names()[k]] = systemc::ns_from_cycles((*there)[k] + (*back)[k]) / 2;
      if (o.verbose && !o.quiet) {
        fmt::print("half a round trip of {:.2f} ns (p50), mean of both directions:\n",
                   ns(rtt.size() / 2));
        for (const auto& [name, value] : stages.items())
          fmt::print("  {:16} {:9.2f} ns\n", name, value.get<double>());
      }
    }
    if (!o.quiet)
      fmt::print(
          "latency of {} bytes, user call to user call: min {:.0f} ns, p50 {:.0f} ns, p99 "
          "{:.0f} ns, max {:.0f} ns\n",
          opt.bytes, ns(0), ns(rtt.size() / 2), ns(rtt.size() * 99 / 100), ns(rtt.size() - 1));
  }
  conclude(s, r);
  return finish(opt, s, r);
}

int run_read(const Options& o) {
  only_defaults(o);
  Options opt = o;
  if (opt.cards != 2) throw UsageError("read needs --cards 2");
  if (opt.bytes == 0 || opt.bytes > (uint64_t{1} << 30))
    throw UsageError(fmt::format("--bytes {}: read takes 1 byte to 1 GiB", opt.bytes));
  Session s(opt);
  Board<PeerInfo> board(2);
  Board<bool> ready(2), done(2);
  std::vector<std::vector<uint8_t>> data = {random_bytes(opt.seed, 0, opt.bytes),
                                            random_bytes(opt.seed, 1, opt.bytes)};
  std::vector<uint64_t> addr(2);
  std::vector<Cycle> took(2);
  // Buffer: own data, then the peer's.
  const uint64_t half = (opt.bytes + 63) / 64 * 64;
  s.run([&](unsigned rank) {
    Endpoint ep(s, rank, board, 2 * half);
    addr[rank] = ep.addr();
    std::memcpy(s.platform().card(rank).hbm().data() + ep.addr(), data[rank].data(), opt.bytes);
    const auto n = static_cast<unsigned>(ep.stripes());
    ready.exchange(rank, true);
    const Cycle t0 = s.now();
    // Cut on 64-byte boundaries, the last stripe takes the rest.
    const uint64_t piece = (opt.bytes / n + 63) / 64 * 64;
    for (unsigned p = 0; p < n; ++p) {
      const uint64_t from = std::min<uint64_t>(uint64_t{p} * piece, opt.bytes);
      const uint64_t to = p + 1 == n ? opt.bytes : std::min<uint64_t>(from + piece, opt.bytes);
      ep.read(p, from, half + from, static_cast<uint32_t>(to - from), p);
    }
    ep.drain_sends();
    took[rank] = s.now() - t0;
    done.exchange(rank, true);
  });
  Result r;
  if (s.ok()) {
    for (unsigned rank = 0; rank < 2; ++rank)
      compare_result(s, rank, addr[rank] + half, data[1 - rank].data(), opt.bytes, r);
    r.op_cycles = std::max(took[0], took[1]);
    r.algbw_GBps = r.busbw_GBps =
        static_cast<double>(opt.bytes) / systemc::ns_from_cycles(r.op_cycles);
  }
  conclude(s, r);
  return finish(opt, s, r);
}

namespace {

/// Bytes [from, from+len) of a buffer of run_sendmsg.
struct Message {
  uint64_t from;
  uint32_t len;
};

/// Cuts one plane's share into at most 20 messages of odd sizes, among them a small and an empty
/// one: a share of nothing is an empty message.
std::vector<Message> messages(uint64_t seed, unsigned rank, unsigned plane, uint64_t from,
                              uint64_t to) {
  uint64_t state = (seed ^ 0x5E17Dull) * 0x100000001B3ull + rank * spec::kLinkMaxPlanes + plane;
  const uint64_t longest = std::max<uint64_t>((to - from) / 8, 8);
  std::vector<Message> out;
  while (from < to || out.size() < 2) {
    uint64_t len = longest / 2 + 1 + splitmix(state) % (longest / 2);
    if (out.size() == 1) len = 0;
    if (out.size() == 2) len = 1 + splitmix(state) % 64;
    len = std::min(len, to - from);
    out.push_back({from, static_cast<uint32_t>(len)});
    from += len;
  }
  return out;
}

}  // namespace

int run_sendmsg(const Options& o) {
  only_defaults(o);
  Options opt = o;
  if (opt.cards != 2) throw UsageError("sendmsg needs --cards 2");
  if (opt.bytes == 0 || opt.bytes > (uint64_t{1} << 30))
    throw UsageError(fmt::format("--bytes {}: sendmsg takes 1 byte to 1 GiB", opt.bytes));
  constexpr unsigned kRqLog2 = 5;   // all messages of a plane
  constexpr unsigned kCqLog2 = 10;  // all completions of a card
  constexpr uint64_t kSlack = 64;   // some buffers are longer than their message
  Session s(opt);
  const unsigned n = s.platform().num_planes();
  const auto faulty = [&](Fault::What what, unsigned card) {
    bool hit = false;
    for (const Fault& f : opt.faults) hit = hit || (f.what == what && fault_card(s, f) == card);
    return hit;
  };
  Board<PeerInfo> board(2);
  Board<bool> ready(2), done(2);
  std::vector<std::vector<uint8_t>> data(2);
  std::vector<std::vector<std::vector<Message>>> cut(2);  // of card and plane
  std::vector<bool> no_receive(2), short_receive(2);
  // Planes get equal shares on 64-byte boundaries, the last one takes the rest. The first one has a
  // share of at least a byte, for the faults.
  const uint64_t share = std::max<uint64_t>(64, (opt.bytes / n + 63) / 64 * 64);
  for (unsigned rank = 0; rank < 2; ++rank) {
    data[rank] = random_bytes(opt.seed, rank, opt.bytes);
    for (unsigned p = 0; p < n; ++p) {
      const uint64_t from = std::min<uint64_t>(uint64_t{p} * share, opt.bytes);
      const uint64_t to = p + 1 == n ? opt.bytes : std::min<uint64_t>(from + share, opt.bytes);
      cut[rank].push_back(messages(opt.seed, rank, p, from, to));
    }
    no_receive[rank] = faulty(Fault::What::kNoReceive, rank);
    short_receive[rank] = faulty(Fault::What::kShortReceive, rank);
  }
  const auto imm_of = [](uint64_t i) { return static_cast<uint32_t>(0xA5000000u + i); };
  std::vector<uint64_t> addr(2);
  std::vector<Cycle> took(2);
  // Buffer: own data, then the peer's.
  const uint64_t half = (opt.bytes + 63) / 64 * 64;
  s.run([&](unsigned rank) {
    Endpoint ep(s, rank, board, 2 * half + kSlack, kRqLog2, kCqLog2);
    addr[rank] = ep.addr();
    std::memcpy(s.platform().card(rank).hbm().data() + ep.addr(), data[rank].data(), opt.bytes);
    const auto& mine = cut[rank];
    const auto& theirs = cut[1 - rank];
    size_t to_come = 0;
    for (unsigned p = 0; p < n; ++p) {
      to_come += theirs[p].size();
      for (size_t i = 0; i < theirs[p].size(); ++i) {
        const auto [from, len] = theirs[p][i];
        if (p == 0 && i + 1 == theirs[p].size() && no_receive[rank]) continue;
        const bool cut_short = p == 0 && i == 0 && short_receive[rank];
        const uint32_t room = cut_short ? len - 1 : len + (i % 3 == 0 ? kSlack : 0);
        ep.post_recv(p, half + from, room, i);
      }
      ep.ring_receives(p);
    }
    ready.exchange(rank, true);
    const Cycle t0 = s.now();
    // Planes in turn; every second message has an immediate.
    for (size_t i = 0, posted = 1; posted != 0; ++i) {
      posted = 0;
      for (unsigned p = 0; p < n; ++p) {
        if (i >= mine[p].size()) continue;
        ++posted;
        ep.send(p, mine[p][i].from, mine[p][i].len,
                i % 2 == 1 ? std::optional<uint32_t>(imm_of(i)) : std::nullopt, i, true,
                spec::Vc::kBulk);
      }
    }
    std::vector<size_t> received(n);
    for (; to_come != 0; --to_come) {
      spec::Cqe c = ep.wait_completion();
      while (c.recv == 0) c = ep.wait_completion();
      const unsigned p = ep.stripe_of(c);
      const size_t i = received[p]++;
      const bool imm = i % 2 == 1;
      if (c.wr_id != i || c.byte_len != theirs[p][i].len || c.imm != (imm ? imm_of(i) : 0) ||
          c.opcode != static_cast<uint8_t>(imm ? spec::WqeOp::kSendImm : spec::WqeOp::kSend))
        throw comm::CommError(
            comm::ErrorKind::kDeviceReported,
            fmt::format("rank {}: QP {}, message {} of {} bytes: completion of receive {} says {}, "
                        "{} bytes, immediate {:#x}",
                        rank, c.qpn, i, theirs[p][i].len, c.wr_id,
                        spec::to_string(static_cast<spec::WqeOp>(c.opcode)), c.byte_len, c.imm));
    }
    ep.drain_sends();
    took[rank] = s.now() - t0;
    done.exchange(rank, true);
  });
  Result r;
  if (s.ok()) {
    for (unsigned rank = 0; rank < 2; ++rank)
      compare_result(s, rank, addr[rank] + half, data[1 - rank].data(), opt.bytes, r);
    size_t count = 0;
    for (const auto& plane : cut[0]) count += plane.size();
    r.extra["messages"] = count;
    r.op_cycles = std::max(took[0], took[1]);
    r.algbw_GBps = r.busbw_GBps =
        static_cast<double>(opt.bytes) / systemc::ns_from_cycles(r.op_cycles);
  }
  conclude(s, r);
  return finish(opt, s, r);
}

}  // namespace ubl::ublsim
