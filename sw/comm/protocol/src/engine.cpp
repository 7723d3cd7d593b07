// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/protocol/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ubl::comm::protocol {
namespace {

constexpr uint16_t kReadySame = 0xFFFF;
constexpr uint16_t kReady = 0xFFFE;
constexpr uint16_t kReadyWide = 0xFFFD;
constexpr unsigned kHandshakeWords = 3;              // at most
constexpr unsigned kStanding = 2 * kHandshakeWords;  // receives for handshakes, on stripe 0
constexpr size_t kReportLines = 24;

uint32_t immediate(uint16_t sequence, uint16_t tag) { return uint32_t{sequence} << 16 | tag; }

/// Own memory to own memory.
bool is_local(const Step& s) {
  return s.kind == Step::Kind::kCopy || s.kind == Step::Kind::kReduce;
}
/// Tokens carry nothing.
bool may_be_empty(const Step& s) {
  return s.kind == Step::Kind::kSend || s.kind == Step::Kind::kReceive;
}

/// Payload bytes of the last packet of a message.
uint64_t last_packet(uint64_t bytes, uint32_t mtu) {
  return bytes == 0 ? 0 : (bytes - 1) % mtu + 1;
}

}  // namespace

Engine::Engine(hal::Fabric& fabric, unsigned rank, unsigned ranks, std::vector<unsigned> peers,
               const Limits& limits, const EngineConfig& config)
    : fabric_(fabric),
      rank_(rank),
      ranks_(ranks),
      config_(config),
      peer_ranks_(std::move(peers)),
      peers_(ranks),
      limits_(limits) {
  if (limits.stripes != fabric.stripes())
    give_up(ErrorKind::kInternal,
            fmt::format("limits for {} stripes, fabric has {}", limits.stripes, fabric.stripes()));
  for (const unsigned p : peer_ranks_) {
    if (p >= ranks) give_up(ErrorKind::kInternal, fmt::format("peer {} of {} ranks", p, ranks));
    peers_[p].connected = true;
    peers_[p].lanes.resize(fabric.stripes());
  }
}

uint32_t Engine::receive_limit() const {
  const uint64_t standing = uint64_t{kStanding} * peer_ranks_.size();
  const uint64_t budget = fabric_.receive_budget();
  return budget <= standing ? 0 : static_cast<uint32_t>((budget - standing) / 4 * 3);
}

void Engine::open() {
  for (const unsigned r : peer_ranks_) {
    if (r == rank_) continue;  // nothing is received from oneself
    fabric_.post_receives(r, 0, kStanding);
    peers_[r].lanes[0].receives = kStanding;
  }
}

bool Engine::all_done(const std::vector<uint32_t>& steps) const {
  return std::all_of(steps.begin(), steps.end(), [&](uint32_t s) { return open_pieces_[s] == 0; });
}

void Engine::start(Schedule schedule) {
  if (active_) give_up(ErrorKind::kInternal, "a schedule is started before the last one is done");
  schedule_ = std::move(schedule);
  ++sequence_;
  ++stats_.schedules;
  const size_t n = schedule_.steps.size();
  open_pieces_.assign(n, 0);
  has_dependents_.assign(n, false);
  for (const uint32_t s : schedule_.ready_after) has_dependents_.at(s) = true;
  for (const unsigned r : peer_ranks_) {
    Peer& p = peers_[r];
    p.sends.clear();
    p.next_send = p.next_piece = 0;
    p.pieces.clear();
    p.needs_ready = p.tell_ready = false;
    for (Lane& l : p.lanes) {
      l.expected.clear();
      l.next_expected = 0;
      l.last_step = UINT32_MAX;
    }
  }

  uint64_t expected = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const Step& s = schedule_.steps[i];
    const unsigned peer = is_local(s) ? rank_ : s.peer;
    if (peer >= ranks_ || !peers_[peer].connected)
      give_up(ErrorKind::kInternal,
              fmt::format("step {} needs rank {}, which is not connected", i, peer));
    if ((s.bytes == 0 && !may_be_empty(s)) || s.tag >= kMaxTags || (peer == rank_) != is_local(s) ||
        (s.scratch && peer >= scratch_.size()))
      give_up(ErrorKind::kInternal, fmt::format("step {} is malformed", i));
    for (const uint32_t a : s.after) {
      if (a >= i) give_up(ErrorKind::kInternal, fmt::format("step {} waits for step {}", i, a));
      has_dependents_[a] = true;
    }
    Peer& p = peers_[peer];
    const std::vector<Piece> pieces = cut(s.bytes, s.tag, limits_);
    open_pieces_[i] = static_cast<uint32_t>(pieces.size());
    for (const Piece& piece : pieces) {
      Lane& l = p.lanes[piece.stripe];
      if (s.kind == Step::Kind::kReceive)
        l.expected.push_back({i, s.tag, piece.bytes});
      else
        l.last_step = i;
    }
    if (s.kind == Step::Kind::kReceive) {
      p.tell_ready = true;
      expected += pieces.size();
    } else {
      p.sends.push_back(i);
      p.needs_ready = !is_local(s);
    }
  }
  if (expected > receive_limit())
    give_up(ErrorKind::kInternal, fmt::format("{} expects {} immediates, {} are possible",
                                              schedule_.name, expected, receive_limit()));
  for (const unsigned r : peer_ranks_) {
    Peer& p = peers_[r];
    if (!schedule_.pairwise || p.tell_ready || !p.sends.empty()) ++p.sequence;
  }
  untold_ = 0;
  remaining_ = n;
  active_ = n != 0;

  // Receives, a few collectives ahead where the completion queue has room for it: one doorbell
  // per lane and several collectives. The quarter of the budget that no schedule may expect is
  // shared by all lanes for that.
  const uint64_t budget = fabric_.receive_budget();
  const uint64_t standing = uint64_t{kStanding} * peer_ranks_.size();
  const uint64_t lanes = std::max<uint64_t>(1, peer_ranks_.size() * fabric_.stripes());
  const uint64_t share = budget <= standing ? 0 : (budget - standing) / 4 / lanes;
  for (const unsigned r : peer_ranks_) {
    Peer& p = peers_[r];
    if (r == rank_) continue;
    untold_ += p.tell_ready ? 1 : 0;
    for (unsigned s = 0; s < p.lanes.size(); ++s) {
      Lane& l = p.lanes[s];
      const uint64_t spare = s == 0 ? kStanding : 0;
      const uint64_t need = l.expected.size() + spare;
      if (l.receives >= need) continue;
      const uint64_t target = std::max(need, share + spare);
      fabric_.post_receives(r, s, static_cast<unsigned>(target - l.receives));
      l.receives = target;
    }
  }
}

void Engine::complete_piece(uint32_t step) {
  if (--open_pieces_[step] == 0) --remaining_;
}

void Engine::arrived(const hal::Completion& c) {
  ++stats_.completions;
  if (c.peer >= ranks_ || !peers_[c.peer].connected || c.stripe >= fabric_.stripes())
    give_up(ErrorKind::kInternal, "completion of an unknown lane");
  Peer& p = peers_[c.peer];
  Lane& l = p.lanes[c.stripe];
  if (c.kind == hal::Completion::Kind::kSend) {
    l.completed = std::max(l.completed, c.done);
    while (!l.pending.empty() && l.pending.front().target <= l.completed) {
      complete_piece(l.pending.front().step);
      l.pending.pop_front();
    }
    return;
  }
  if (l.receives == 0) protocol_error(c.peer, c.stripe, "an immediate no receive was posted for");
  --l.receives;
  if (p.ready_words > 0 && c.stripe == 0) {
    handshake(c.peer, p, c.imm);
    return;
  }
  const auto tag = static_cast<uint16_t>(c.imm);
  if (tag >= kReadyWide) {
    if (c.stripe != 0 || c.last_bytes != 0)
      protocol_error(c.peer, c.stripe, fmt::format("malformed handshake {:#010x}", c.imm));
    handshake(c.peer, p, c.imm);
    return;
  }
  if (!active_ || l.next_expected >= l.expected.size())
    protocol_error(c.peer, c.stripe,
                   fmt::format("immediate {:#010x} arrived, none is expected", c.imm));
  const Expected& e = l.expected[l.next_expected];
  const uint32_t want = immediate(p.sequence, e.tag);
  if (c.imm != want)
    protocol_error(c.peer, c.stripe,
                   fmt::format("immediate {:#010x} arrived, expected {:#010x} ({})", c.imm, want,
                               step_name(schedule_.steps[e.step])));
  if (c.last_bytes != last_packet(e.bytes, fabric_.mtu()))
    protocol_error(c.peer, c.stripe,
                   fmt::format("{}: the last packet carries {} bytes, expected {}: do the ranks "
                               "agree on the count?",
                               step_name(schedule_.steps[e.step]), c.last_bytes,
                               last_packet(e.bytes, fabric_.mtu())));
  ++l.next_expected;
  complete_piece(e.step);
}

void Engine::handshake(unsigned rank, Peer& p, uint32_t imm) {
  if (p.ready_words == 0) {
    p.ready_kind = static_cast<uint16_t>(imm);
    p.ready_sequence = static_cast<uint16_t>(imm >> 16);
    p.ready_address = 0;
    p.ready_shift = 0;
    p.ready_words = p.ready_kind == kReadySame ? 0 : p.ready_kind == kReady ? 1 : 2;
    if (p.ready_words > 0) return;
  } else {
    p.ready_address |= uint64_t{imm} << p.ready_shift;
    p.ready_shift += 32;
    if (--p.ready_words > 0) return;
    p.window = p.ready_kind == kReady ? p.ready_address * 4 : p.ready_address;
  }
  if (p.ready)
    protocol_error(
        rank, 0,
        fmt::format("ready for collective {} before {} was served", p.ready_sequence, *p.ready));
  p.ready = p.ready_sequence;
}

uint64_t Engine::window_for(unsigned rank) const {
  for (const auto& [peer, address] : schedule_.windows)
    if (peer == rank) return address;
  return schedule_.window;
}

bool Engine::tell(unsigned rank, Peer& p) {
  const uint64_t address = window_for(rank);
  uint32_t words[kHandshakeWords];
  unsigned n = 0;
  if (p.told && *p.told == address) {
    words[n++] = immediate(p.sequence, kReadySame);
  } else if (address % 4 == 0 && address >> 34 == 0) {
    words[n++] = immediate(p.sequence, kReady);
    words[n++] = static_cast<uint32_t>(address / 4);
  } else {
    words[n++] = immediate(p.sequence, kReadyWide);
    words[n++] = static_cast<uint32_t>(address);
    words[n++] = static_cast<uint32_t>(address >> 32);
  }
  if (fabric_.send_space(rank, 0) < n) return false;
  for (unsigned i = 0; i < n; ++i) {
    hal::SendRequest r;
    r.peer = rank;
    r.with_imm = true;
    r.imm = words[i];
    fabric_.post_send(r);
    ++p.lanes[0].posted;
    ++stats_.requests;
    ++stats_.handshake_words;
  }
  p.told = address;
  p.tell_ready = false;
  --untold_;
  return true;
}

bool Engine::issue(unsigned rank, Peer& p) {
  bool moved = false;
  while (p.next_send < p.sends.size()) {
    const uint32_t index = p.sends[p.next_send];
    const Step& s = schedule_.steps[index];
    const bool local = is_local(s);
    if (!local) {
      if (!p.ready) break;
      if (*p.ready != p.sequence)
        protocol_error(rank, 0,
                       fmt::format("ready for collective {}, this rank is at {}: the ranks call "
                                   "different collectives",
                                   *p.ready, p.sequence));
    }
    if (!all_done(s.after)) break;
    if (p.pieces.empty()) p.pieces = cut(s.bytes, s.tag, limits_);
    for (; p.next_piece < p.pieces.size(); ++p.next_piece) {
      const Piece& piece = p.pieces[p.next_piece];
      if (fabric_.send_space(rank, piece.stripe) == 0) return moved;
      Lane& l = p.lanes[piece.stripe];
      hal::SendRequest r;
      r.peer = rank;
      r.stripe = piece.stripe;
      r.op = s.kind == Step::Kind::kSendReduce || s.kind == Step::Kind::kReduce
                 ? hal::SendRequest::Op::kReduceAddF32
                 : hal::SendRequest::Op::kWrite;
      // Local additions follow each other without waiting; their order is part of the result.
      r.ordered = s.kind == Step::Kind::kReduce;
      if (piece.bytes > 0) {
        const uint64_t base = local ? 0 : s.scratch ? scratch_[rank] : p.window;
        r.laddr = s.local + piece.offset;
        r.raddr = base + s.target + piece.offset;
        r.bytes = static_cast<uint32_t>(piece.bytes);
      }
      r.with_imm = !local;
      r.imm = local ? 0 : immediate(p.sequence, s.tag);
      r.notify = has_dependents_[index] || l.last_step == index;
      fabric_.post_send(r);
      l.pending.push_back({++l.posted, index});
      ++stats_.requests;
      (local ? stats_.bytes_copied : stats_.bytes_sent) += piece.bytes;
      moved = true;
    }
    p.pieces.clear();
    p.next_piece = 0;
    ++p.next_send;
  }
  if (p.needs_ready && p.next_send == p.sends.size()) {  // the handshake is used up
    p.ready.reset();
    p.needs_ready = false;
  }
  return moved;
}

bool Engine::progress() {
  bool moved = false;
  while (const std::optional<hal::Completion> c = fabric_.poll()) {
    arrived(*c);
    moved = true;
  }
  if (!active_) return moved;
  bool posted = false;
  if (untold_ > 0 && all_done(schedule_.ready_after))
    for (const unsigned r : peer_ranks_)
      if (peers_[r].tell_ready) posted |= tell(r, peers_[r]);
  for (const unsigned r : peer_ranks_)
    if (!peers_[r].sends.empty()) posted |= issue(r, peers_[r]);
  if (posted) fabric_.flush();
  if (remaining_ == 0) active_ = false;
  return moved || posted;
}

void Engine::run(Schedule schedule) {
  start(std::move(schedule));
  uint64_t last = fabric_.now_ns();
  bool looked = false;
  try {
    while (true) {
      const bool moved = progress();
      if (done()) return;
      const uint64_t now = fabric_.now_ns();
      if (moved) {
        last = now;
        looked = false;
        continue;
      }
      const uint64_t idle = now - last;
      if (idle >= config_.error_check_ns && !looked) {
        looked = true;
        std::string log;
        for (const std::string& e : fabric_.take_errors()) log += (log.empty() ? "" : "; ") + e;
        if (!log.empty()) give_up(ErrorKind::kDeviceReported, "error log: " + log);
      }
      if (idle >= config_.timeout_ns)
        give_up(ErrorKind::kTimeout, fmt::format("nothing moved for {} ns", idle));
      fabric_.wait(last + (looked ? config_.timeout_ns
                                  : std::min(config_.error_check_ns, config_.timeout_ns)));
    }
  } catch (const CommError& e) {
    const std::string report = waiting();
    if (report.empty() || e.message().find(report) != std::string::npos) throw;
    throw CommError(e.kind(), e.message() + "\n" + report);
  }
}

std::string Engine::step_name(const Step& s) const {
  const char* kind = s.kind == Step::Kind::kCopy         ? "copy"
                     : s.kind == Step::Kind::kReduce     ? "local reduce"
                     : s.kind == Step::Kind::kSend       ? "write"
                     : s.kind == Step::Kind::kSendReduce ? "reduce"
                                                         : "receive";
  return fmt::format("{} step {} part {} ({} of {} bytes)", s.phase, s.number, s.part, kind,
                     s.bytes);
}

void Engine::protocol_error(unsigned rank, unsigned stripe, const std::string& why) const {
  throw CommError(ErrorKind::kProtocol,
                  fmt::format("rank {}, from rank {} stripe {} ({}): {}", rank_, rank, stripe,
                              fabric_.describe(rank, stripe), why));
}

void Engine::give_up(ErrorKind kind, const std::string& why) const {
  throw CommError(kind, fmt::format("rank {}: {}", rank_, why));
}

std::string Engine::waiting() const {
  if (!active_) return {};
  std::string out = fmt::format(
      "rank {} of {} in collective {} ({}): {} of {} steps done; it waits for", rank_, ranks_,
      sequence_, schedule_.name, schedule_.steps.size() - remaining_, schedule_.steps.size());
  size_t lines = 0;
  size_t more = 0;
  const auto line = [&](const std::string& text) {
    if (lines++ < kReportLines)
      out += "\n  " + text;
    else
      ++more;
  };
  for (const unsigned r : peer_ranks_) {
    const Peer& p = peers_[r];
    const bool to_send = p.next_send < p.sends.size();
    if (to_send && p.needs_ready && !p.ready)
      line(fmt::format(
          "rank {} to open its window: immediate {:#06x}{{fffd..ffff}} on stripe 0 "
          "({}), before {}",
          r, p.sequence, fabric_.describe(r, 0), step_name(schedule_.steps[p.sends[p.next_send]])));
    else if (to_send && all_done(schedule_.steps[p.sends[p.next_send]].after))
      line(fmt::format("space in the send ring to rank {}, before {}", r,
                       step_name(schedule_.steps[p.sends[p.next_send]])));
    for (unsigned s = 0; s < p.lanes.size(); ++s) {
      const Lane& l = p.lanes[s];
      if (l.next_expected < l.expected.size()) {
        const Expected& e = l.expected[l.next_expected];
        line(fmt::format("rank {}, stripe {} ({}): immediate {:#010x}, {}", r, s,
                         fabric_.describe(r, s), immediate(p.sequence, e.tag),
                         step_name(schedule_.steps[e.step])));
      }
      if (!l.pending.empty())
        line(fmt::format("rank {}, stripe {} ({}): acknowledgement of request {} ({} complete), {}",
                         r, s, fabric_.describe(r, s), l.pending.front().target - 1, l.completed,
                         step_name(schedule_.steps[l.pending.front().step])));
    }
  }
  if (untold_ > 0 && !all_done(schedule_.ready_after))
    line("its own copy, before it opens its window");
  if (more > 0) out += fmt::format("\n  and {} more", more);
  return out;
}

}  // namespace ubl::comm::protocol
