// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/hal/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ubl::comm::hal {
namespace {

constexpr uint32_t kPeerInfoMagic = 0x55424C31;  // "1LBU"

void put(std::vector<uint8_t>& out, uint64_t v, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(v >> (8 * i)));
}

uint64_t get(const std::vector<uint8_t>& in, size_t& at, unsigned bytes) {
  if (in.size() < at || in.size() - at < bytes)
    throw CommError(ErrorKind::kProtocol, "connection data of a peer is truncated");
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; ++i) v |= uint64_t{in[at + i]} << (8 * i);
  at += bytes;
  return v;
}

/// Different for every lane and direction, the same in every run; the top bits are used too, so
/// that sequence numbers wrap in long runs.
uint32_t first_psn(unsigned rank, unsigned peer, unsigned stripe) {
  uint64_t z = (uint64_t{rank} << 40) ^ (uint64_t{peer} << 16) ^ stripe;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<uint32_t>(z >> 32) & 0xFFFFFF;
}

}  // namespace

std::vector<uint8_t> PeerInfo::pack() const {
  std::vector<uint8_t> out;
  put(out, kPeerInfoMagic, 4);
  put(out, node, 2);
  put(out, rkey, 4);
  put(out, base, 8);
  put(out, length, 8);
  put(out, stripes.size(), 2);
  for (const Stripe& s : stripes) {
    put(out, s.qpn, 4);
    put(out, s.psn, 4);
  }
  return out;
}

PeerInfo PeerInfo::unpack(const std::vector<uint8_t>& bytes, size_t& at) {
  if (get(bytes, at, 4) != kPeerInfoMagic)
    throw CommError(ErrorKind::kProtocol, "connection data of a peer is of another version");
  PeerInfo info;
  info.node = static_cast<uint16_t>(get(bytes, at, 2));
  info.rkey = static_cast<uint32_t>(get(bytes, at, 4));
  info.base = get(bytes, at, 8);
  info.length = get(bytes, at, 8);
  const size_t n = get(bytes, at, 2);
  for (size_t i = 0; i < n; ++i) {
    Stripe s;
    s.qpn = static_cast<uint32_t>(get(bytes, at, 4));
    s.psn = static_cast<uint32_t>(get(bytes, at, 4));
    info.stripes.push_back(s);
  }
  return info;
}

Endpoint::Endpoint(driver::Device& device, unsigned rank, uint64_t base, uint64_t length,
                   const EndpointConfig& config)
    : device_(device),
      rank_(rank),
      config_(config),
      stripes_(config.stripes != 0 ? config.stripes : device.planes()) {
  const auto refuse = [](const std::string& why) {
    throw CommError(ErrorKind::kInvalidArgument, "endpoint: " + why);
  };
  if (stripes_ == 0 || stripes_ > 64) refuse(fmt::format("{} stripes, not in 1..64", stripes_));
  if (config.sq_log2 < 2 || config.sq_log2 > spec::kNicMaxRingLog2)
    refuse(fmt::format("sq_log2 {} is not in 2..{}", config.sq_log2, spec::kNicMaxRingLog2));
  if (config.cq_log2 < 5 || config.cq_log2 > spec::kNicMaxRingLog2)
    refuse(fmt::format("cq_log2 {} is not in 5..{}", config.cq_log2, spec::kNicMaxRingLog2));
  if (length == 0) refuse("no memory to register");
  // The device hears of consumed entries only once per quarter of the ring.
  completions_ = (1u << config.cq_log2) / 4 * 3;
  send_budget_ = std::min(256u, completions_ / 4);
  mr_ = device.register_mr(base, length);
  cq_ = &device.create_cq(config.cq_log2);
}

PeerInfo Endpoint::prepare_peer(unsigned rank) {
  if (rank >= peers_.size()) peers_.resize(rank + 1);
  if (peers_[rank])
    throw CommError(ErrorKind::kInternal, fmt::format("rank {} prepared twice", rank));
  peers_[rank] = std::make_unique<Peer>();
  Peer& p = *peers_[rank];
  p.mine.node = device_.node();
  p.mine.rkey = mr_.key;
  p.mine.base = mr_.base;
  p.mine.length = mr_.length;
  p.lanes.resize(stripes_);
  for (unsigned s = 0; s < stripes_; ++s) {
    driver::QpConfig qc;
    qc.planes = config_.planes;
    qc.sq_log2 = config_.sq_log2;
    qc.scq = cq_->cqn();
    qc.rcq = cq_->cqn();
    qc.window = config_.window;
    qc.push = true;
    Lane& l = p.lanes[s];
    l.qp = &device_.create_qp(qc);
    l.peer = rank;
    l.stripe = s;
    const uint32_t qpn = l.qp->qpn();
    if (qpn >= by_qpn_.size()) by_qpn_.resize(qpn + 1);
    by_qpn_[qpn] = &l;
    p.mine.stripes.push_back({qpn, first_psn(rank_, rank, s)});
  }
  p.prepared = true;
  return p.mine;
}

void Endpoint::connect_peer(unsigned rank, const PeerInfo& theirs) {
  if (rank >= peers_.size() || !peers_[rank] || peers_[rank]->connected)
    throw CommError(ErrorKind::kInternal, fmt::format("rank {} not prepared for connecting", rank));
  Peer& p = *peers_[rank];
  if (theirs.stripes.size() != stripes_)
    throw CommError(ErrorKind::kProtocol,
                    fmt::format("rank {} has {} stripes, rank {} has {}", rank,
                                theirs.stripes.size(), rank_, stripes_));
  p.theirs = theirs;
  for (unsigned s = 0; s < stripes_; ++s)
    p.lanes[s].qp->connect(theirs.node, theirs.stripes[s].qpn, p.mine.stripes[s].psn,
                           theirs.stripes[s].psn);
  p.connected = true;
}

void Endpoint::close() {
  to_ring_.clear();
  by_qpn_.clear();
  for (std::unique_ptr<Peer>& p : peers_)
    if (p)
      for (Lane& l : p->lanes) device_.destroy_qp(*l.qp);
  peers_.clear();
  if (cq_ != nullptr) {
    device_.destroy_cq(*cq_);
    cq_ = nullptr;
    device_.deregister_mr(mr_);
  }
}

Endpoint::Peer& Endpoint::peer(unsigned rank) {
  if (rank >= peers_.size() || !peers_[rank] || !peers_[rank]->connected)
    throw CommError(ErrorKind::kInternal,
                    fmt::format("rank {} is not connected to rank {}", rank_, rank));
  return *peers_[rank];
}

Endpoint::Lane& Endpoint::lane(unsigned rank, unsigned stripe) {
  Peer& p = peer(rank);
  if (stripe >= p.lanes.size())
    throw CommError(ErrorKind::kInternal, fmt::format("no stripe {}", stripe));
  return p.lanes[stripe];
}

std::string Endpoint::name(const Lane& l) const {
  const unsigned planes = l.qp->planes();
  if ((planes & (planes - 1)) != 0) return fmt::format("QP {}", l.qp->qpn());
  return fmt::format("QP {} on plane {}", l.qp->qpn(), __builtin_ctz(planes));
}

std::string Endpoint::describe(unsigned rank, unsigned stripe) const {
  if (rank >= peers_.size() || !peers_[rank] || stripe >= peers_[rank]->lanes.size())
    return "not connected";
  return name(peers_[rank]->lanes[stripe]);
}

unsigned Endpoint::send_space(unsigned rank, unsigned stripe) {
  // One slot of the completion queue is kept for the request that will be signalled.
  if (send_in_flight_ >= send_budget_) return 0;
  return lane(rank, stripe).qp->free_entries();
}

void Endpoint::post_send(const SendRequest& r) {
  Peer& p = peer(r.peer);
  Lane& l = lane(r.peer, r.stripe);
  const auto inside = [&](uint64_t addr, uint64_t base, uint64_t length) {
    return addr >= base && addr - base <= length && length - (addr - base) >= r.bytes;
  };
  spec::Wqe w;
  if (r.bytes == 0) {
    w.laddr = mr_.base;
    w.raddr = p.theirs.base;
  } else {
    if (!inside(r.laddr, mr_.base, mr_.length))
      throw CommError(ErrorKind::kInvalidArgument,
                      fmt::format("[{:#x}, +{}) is not in the registered memory of rank {}",
                                  r.laddr, r.bytes, rank_));
    if (!inside(r.raddr, p.theirs.base, p.theirs.length))
      throw CommError(ErrorKind::kProtocol,
                      fmt::format("[{:#x}, +{}) is not in the registered memory of rank {}",
                                  r.raddr, r.bytes, r.peer));
    w.laddr = r.laddr;
    w.raddr = r.raddr;
  }
  w.length = r.bytes;
  w.lkey = mr_.key;
  w.rkey = p.theirs.rkey;
  if (r.op == SendRequest::Op::kReduceAddF32) {
    w.opcode = static_cast<uint8_t>(r.with_imm ? spec::WqeOp::kReduceImm : spec::WqeOp::kReduce);
    w.red_op = static_cast<uint8_t>(spec::RedOp::kAdd);
    w.red_dtype = static_cast<uint8_t>(spec::RedType::kF32);
    w.ordered = r.ordered ? 1 : 0;
  } else {
    w.opcode = static_cast<uint8_t>(r.with_imm ? spec::WqeOp::kWriteImm : spec::WqeOp::kWrite);
  }
  w.vc = static_cast<uint8_t>(config_.vc);
  w.imm = r.with_imm ? r.imm : 0;
  // Every quarter of the ring one request is signalled, so space always comes back.
  const bool signalled = r.notify || l.unsignalled + 1 >= (1u << config_.sq_log2) / 4;
  w.signalled = signalled ? 1 : 0;
  w.wr_id = l.posted;
  l.qp->post(w);
  ++l.posted;
  if (signalled) {
    l.unsignalled = 0;
    l.signalled.push_back(w.wr_id);
    ++send_in_flight_;
  } else {
    ++l.unsignalled;
  }
  if (!l.to_ring) {
    l.to_ring = true;
    to_ring_.push_back(&l);
  }
}

void Endpoint::flush() {
  for (Lane* l : to_ring_) {
    l->to_ring = false;
    l->qp->ring();
  }
  to_ring_.clear();
}

void Endpoint::post_receives(unsigned rank, unsigned stripe, unsigned n) {
  if (n == 0) return;
  if (receives_in_flight_ + n > receive_budget())
    throw CommError(ErrorKind::kInternal,
                    fmt::format("{} receives posted, {} more would overflow the completion queue",
                                receives_in_flight_, n));
  receives_in_flight_ += n;
  lane(rank, stripe).qp->post_receives(n);
}

std::optional<Completion> Endpoint::poll() {
  const std::optional<spec::Cqe> got = cq_->poll();
  if (!got) return std::nullopt;
  const spec::Cqe& cqe = *got;
  if (cqe.qpn >= by_qpn_.size() || by_qpn_[cqe.qpn] == nullptr)
    throw CommError(
        ErrorKind::kDeviceReported,
        fmt::format("rank {}: completion for QP {}, which does not exist", rank_, cqe.qpn));
  Lane& l = *by_qpn_[cqe.qpn];
  if (cqe.status != static_cast<uint8_t>(spec::CqeStatus::kOk)) fail(l, cqe);
  const auto lost = [&](const char* what, uint64_t want) {
    throw CommError(ErrorKind::kDeviceReported,
                    fmt::format("rank {}: {} completion of {} (rank {}, PSN {}) carries number "
                                "{}, expected {}",
                                rank_, what, name(l), l.peer, cqe.psn, cqe.wr_id, want));
  };
  Completion c;
  c.peer = l.peer;
  c.stripe = l.stripe;
  if (cqe.recv != 0) {
    if (cqe.wr_id != l.received) lost("receive", l.received);
    ++l.received;
    if (receives_in_flight_ > 0) --receives_in_flight_;
    c.kind = Completion::Kind::kReceive;
    c.imm = cqe.imm;
    c.last_bytes = cqe.byte_len;
  } else {
    l.qp->on_completion(cqe);
    if (l.signalled.empty() || cqe.wr_id != l.signalled.front())
      lost("send", l.signalled.empty() ? l.posted : l.signalled.front());
    l.signalled.pop_front();
    --send_in_flight_;
    c.kind = Completion::Kind::kSend;
    c.done = cqe.wr_id + 1;
  }
  return c;
}

void Endpoint::fail(const Lane& l, const spec::Cqe& cqe) {
  std::string m =
      fmt::format("rank {}: {} request {} to rank {} failed: {} ({}, remote QP {}, PSN {})", rank_,
                  to_string(static_cast<spec::WqeOp>(cqe.opcode)), cqe.wr_id, l.peer,
                  to_string(static_cast<spec::CqeStatus>(cqe.status)), name(l),
                  peers_[l.peer]->theirs.stripes[l.stripe].qpn, cqe.psn);
  const char* before = "; error log: ";
  for (const std::string& e : take_errors()) {
    m += before + e;
    before = "; ";
  }
  throw CommError(ErrorKind::kDeviceReported, m);
}

void Endpoint::drain(uint64_t deadline_ns) {
  const auto poll_or_wait = [&] {
    if (poll()) return;
    if (now_ns() >= deadline_ns)
      throw CommError(ErrorKind::kTimeout, fmt::format("rank {}: {} requests are not acknowledged",
                                                       rank_, send_in_flight_));
    wait(deadline_ns);
  };
  for (std::unique_ptr<Peer>& p : peers_) {
    if (!p || !p->connected) continue;
    for (Lane& l : p->lanes) {
      if (l.unsignalled == 0) continue;
      while (l.qp->free_entries() == 0) poll_or_wait();
      spec::Wqe w;  // completes behind all others
      w.opcode = static_cast<uint8_t>(spec::WqeOp::kNop);
      w.signalled = 1;
      w.wr_id = l.posted;
      l.qp->post(w);
      l.qp->ring();
      l.signalled.push_back(l.posted++);
      l.unsignalled = 0;
      ++send_in_flight_;
    }
  }
  while (send_in_flight_ != 0) poll_or_wait();
}

std::vector<std::string> Endpoint::take_errors() {
  std::vector<std::string> out;
  while (out.size() < 64) {
    const std::optional<driver::ErrorEntry> e = device_.pop_error();
    if (!e) break;
    if (e->recovers()) continue;  // a completion says so if it does not
    std::string text = fmt::format("card {}: {}", device_.node(), e->describe());
    if (e->qpn < by_qpn_.size() && by_qpn_[e->qpn] != nullptr)
      text += fmt::format(" (connection to rank {})", by_qpn_[e->qpn]->peer);
    out.push_back(std::move(text));
  }
  return out;
}

void Endpoint::wait(uint64_t deadline_ns) { device_.transport().wait(deadline_ns); }

uint64_t Endpoint::now_ns() { return device_.transport().now_ns(); }

void Endpoint::charge_call() { device_.transport().charge(driver::HostCost::kApi, 1); }

}  // namespace ubl::comm::hal
