// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/card_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ubl/comm/protocol/schedule.hpp"
#include "ubl/spec/link.hpp"

namespace ubl::comm {

namespace {

constexpr unsigned kRingLog2 = spec::kNicMaxRingLog2;
constexpr uint64_t kElement = 4;
constexpr uint64_t kIdleNs = 1000;
constexpr uint32_t kFirstPsn = 0;
constexpr unsigned kWords = 6;  // of what the ranks tell each other
constexpr unsigned kTokenRingLog2 = 6;
constexpr unsigned kTokensSignalled = 16;  // one of so many frees its ring

void put32(Bootstrap::Blob& blob, uint32_t v) {
  for (unsigned i = 0; i < 4; ++i) blob.push_back(static_cast<uint8_t>(v >> (8 * i)));
}
uint32_t get32(const Bootstrap::Blob& blob, size_t index) {
  uint32_t v = 0;
  for (unsigned i = 0; i < 4; ++i) v |= uint32_t{blob.at(4 * index + i)} << (8 * i);
  return v;
}

}  // namespace

CardAllReduce::CardAllReduce(unsigned rank, unsigned size, driver::Device& device,
                             Bootstrap& bootstrap, const CardAllReduceConfig& config)
    : rank_(rank), size_(size), device_(device), config_(config), bootstrap_(bootstrap) {
  if (size == 0 || rank >= size || bootstrap.size() != size)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("card all-reduce: rank {} of {}, bootstrap of {}", rank, size,
                                bootstrap.size()));
  if (config.max_parts == 0 || config.max_parts > 64 || config.part_bytes == 0)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("card all-reduce: max_parts = {} is not in 1..64, or part_bytes = "
                                "{} is 0",
                                config.max_parts, config.part_bytes));
  // A run must fit the ring even if every chunk goes in max_parts.
  if (4ull * (size - 1) * config.max_parts + 4 > 1u << kRingLog2)
    throw CommError(
        ErrorKind::kInvalidArgument,
        fmt::format("card all-reduce of {} ranks in {} parts needs more than {} entries", size,
                    config.max_parts, 1u << kRingLog2));
  if (size == 1) return;
  cq_ = &device.create_cq(4);
  mr_ = device.register_mr(0, device.hbm_size());
  data_ = device.create_counter();
  ready_ = device.create_counter();
  go_ = device.create_counter();
  driver::QpConfig qc;
  qc.planes = config.planes;
  qc.scq = qc.rcq = cq_->cqn();
  qc.window = spec::kNicMaxWindow;
  qc.imm_counter = true;
  // Whatever breaks a connection fails the waits of this rank.
  qc.error_counter = static_cast<uint16_t>(data_);
  qc.sq_log2 = kRingLog2;
  next_ = &device.create_qp(qc);
  qc.sq_log2 = kTokenRingLog2;
  prev_ = &device.create_qp(qc);

  Bootstrap::Blob mine;
  for (const uint32_t v :
       {uint32_t{device.node()}, next_->qpn(), prev_->qpn(), mr_.key, data_, ready_})
    put32(mine, v);
  const auto all = bootstrap.all_gather(rank, std::move(mine), idle());
  const auto& after = all[(rank + 1) % size];
  const auto& before = all[(rank + size - 1) % size];
  if (after.size() != 4 * kWords || before.size() != 4 * kWords)
    throw CommError(ErrorKind::kProtocol,
                    fmt::format("rank {}: a neighbour takes no part in the card all-reduce", rank));
  next_->connect(static_cast<uint16_t>(get32(after, 0)), get32(after, 2), kFirstPsn, kFirstPsn);
  prev_->connect(static_cast<uint16_t>(get32(before, 0)), get32(before, 1), kFirstPsn, kFirstPsn);
  rkey_ = get32(after, 3);
  their_data_ = get32(after, 4);
  their_ready_ = get32(before, 5);
  // Nobody sends before all are connected.
  bootstrap.all_gather(rank, {}, idle());
}

Bootstrap::Idle CardAllReduce::idle() {
  driver::Transport& t = device_.transport();
  const uint64_t begin = t.now_ns();
  return [this, &t, begin] {
    if (t.now_ns() - begin > 10 * config_.timeout_ns)
      throw CommError(ErrorKind::kTimeout,
                      fmt::format("rank {} waits in the set-up of a card all-reduce for rank {}",
                                  rank_, bootstrap_.missing(rank_)));
    t.wait(t.now_ns() + kIdleNs);
  };
}

CardAllReduce::~CardAllReduce() {
  if (size_ <= 1) return;
  try {
    if (next_ != nullptr) device_.destroy_qp(*next_);
    if (prev_ != nullptr) device_.destroy_qp(*prev_);
    if (cq_ != nullptr) device_.destroy_cq(*cq_);
    if (mr_.length != 0) device_.deregister_mr(mr_);
    device_.destroy_counter(data_);
    device_.destroy_counter(ready_);
    device_.destroy_counter(go_);
  } catch (...) {
    // The device is gone; there is nothing to give back.
  }
}

spec::Wqe CardAllReduce::wait_for(uint32_t counter, uint32_t count) {
  spec::Wqe w;
  w.opcode = static_cast<uint8_t>(spec::WqeOp::kWait);
  w.imm = counter;
  w.length = count;
  return w;
}

void CardAllReduce::prepare(uint64_t buffer, uint64_t count) {
  if (!failure_.empty())
    throw CommError(ErrorKind::kInvalidArgument, "the card all-reduce is unusable: " + failure_);
  if (prepared_ || started_)
    throw CommError(ErrorKind::kInvalidArgument, "card all-reduce: the last run is not over");
  const uint64_t hbm = device_.hbm_size();
  if (buffer % kElement != 0 || buffer > hbm || count > (hbm - buffer) / kElement)
    throw CommError(ErrorKind::kInvalidArgument,
                    fmt::format("card all-reduce: {} elements at {:#x}", count, buffer));
  device_.transport().charge(driver::HostCost::kApi, 1);
  count_ = count;
  prepared_ = true;
  if (size_ == 1) return;
  Bootstrap::Blob mine;
  for (const uint64_t v : {buffer, count})
    put32(mine, static_cast<uint32_t>(v)), put32(mine, static_cast<uint32_t>(v >> 32));
  const auto all = bootstrap_.all_gather(rank_, std::move(mine), idle());
  const auto get64 = [](const Bootstrap::Blob& blob, size_t i) {
    return get32(blob, 2 * i) | uint64_t{get32(blob, 2 * i + 1)} << 32;
  };
  for (unsigned r = 0; r < size_; ++r)
    if (all[r].size() != 16 || get64(all[r], 1) != count)
      throw CommError(
          ErrorKind::kProtocol,
          fmt::format("card all-reduce: rank {} does not reduce {} elements", r, count));
  if (count == 0) return;
  const uint64_t theirs = get64(all[(rank_ + 1) % size_], 0);
  const auto chunk = [&](unsigned c) { return protocol::chunk_begin(count, size_, c) * kElement; };
  // Alike on all ranks, so from the largest chunk.
  const uint64_t parts = (chunk(1) + config_.part_bytes - 1) / config_.part_bytes;
  parts_ = static_cast<unsigned>(std::clamp<uint64_t>(parts, 1, config_.max_parts));
  steps_ = 2 * (size_ - 1) * parts_;

  // To the rank before: our buffer may be written.
  spec::Wqe token;
  token.opcode = static_cast<uint8_t>(spec::WqeOp::kWriteImm);
  token.vc = static_cast<uint8_t>(spec::Vc::kReq);
  token.imm = their_ready_;
  token.signalled = runs_ % kTokensSignalled == 0 ? 1 : 0;
  prev_->post(wait_for(go_, runs_ + 1));
  prev_->post(token);
  prev_->ring();

  next_->post(wait_for(go_, runs_ + 1));
  next_->post(wait_for(ready_, runs_ + 1));
  uint32_t sent = 0;
  for (unsigned step = 0; step < 2 * (size_ - 1); ++step) {
    // First sums travel, then results.
    const auto op = step < size_ - 1 ? spec::WqeOp::kReduceImm : spec::WqeOp::kWriteImm;
    const unsigned c = (rank_ + 2 * size_ - step) % size_;
    for (unsigned part = 0; part < parts_; ++part, ++sent) {
      // What goes on is what came a step before.
      if (step != 0) next_->post(wait_for(data_, came_ + sent + 1 - parts_));
      const uint64_t begin = chunk(c), bytes = chunk(c + 1) - begin;
      const uint64_t from = protocol::part_begin(bytes, parts_, part);
      spec::Wqe w;
      w.opcode = static_cast<uint8_t>(op);
      w.vc = static_cast<uint8_t>(spec::Vc::kBulk);
      w.length = static_cast<uint32_t>(protocol::part_begin(bytes, parts_, part + 1) - from);
      w.laddr = buffer + begin + from;
      w.raddr = theirs + begin + from;
      w.lkey = mr_.key;
      w.rkey = rkey_;
      w.imm = their_data_;
      next_->post(w);
    }
  }
  spec::Wqe last = wait_for(data_, came_ + steps_);
  last.signalled = 1;
  next_->post(last);
  next_->ring();
}

void CardAllReduce::start() {
  if (!prepared_) throw CommError(ErrorKind::kInvalidArgument, "card all-reduce: nothing prepared");
  prepared_ = false;
  started_ = true;
  if (size_ != 1 && count_ != 0) device_.add_to_counter(go_, 1);
}

void CardAllReduce::wait() {
  if (!started_) throw CommError(ErrorKind::kInvalidArgument, "card all-reduce: nothing started");
  started_ = false;
  if (size_ == 1 || count_ == 0) return;
  driver::Transport& t = device_.transport();
  uint64_t deadline = t.now_ns() + config_.timeout_ns;
  driver::CounterValue seen = {};
  for (bool over = false; !over;) {
    const auto c = cq_->poll();
    if (!c) {
      if (t.now_ns() >= deadline) {
        const driver::CounterValue now = device_.read_counter(data_);
        if (now.success == seen.success && now.failure == seen.failure) {
          const bool begun = device_.read_counter(ready_).success != runs_;
          fail(ErrorKind::kTimeout,
               begun ? fmt::format("rank {}: {} of {} parts came from rank {}", rank_,
                                   now.success - came_, steps_, (rank_ + size_ - 1) % size_)
                     : fmt::format("rank {}: rank {} is not ready", rank_, (rank_ + 1) % size_));
        }
        seen = now;
        deadline = t.now_ns() + config_.timeout_ns;
      }
      t.wait(deadline);
      continue;
    }
    driver::Qp& qp = c->qpn == next_->qpn() ? *next_ : *prev_;
    qp.on_completion(*c);
    if (c->status != static_cast<uint8_t>(spec::CqeStatus::kOk))
      fail(ErrorKind::kDeviceReported,
           fmt::format("rank {}: {} entry of QP {} (to rank {}, PSN {}) failed: {}{}", rank_,
                       spec::to_string(static_cast<spec::WqeOp>(c->opcode)), c->qpn,
                       (&qp == next_ ? rank_ + 1 : rank_ + size_ - 1) % size_, c->psn,
                       spec::to_string(static_cast<spec::CqeStatus>(c->status)), errors()));
    over = &qp == next_;
  }
  came_ += steps_;
  ++runs_;
}

std::string CardAllReduce::errors() {
  std::string text;
  while (auto e = device_.pop_error())
    text += (text.empty() ? "; error log: " : "; ") + e->describe();
  return text;
}

void CardAllReduce::fail(ErrorKind kind, const std::string& message) {
  failure_ = message;
  throw CommError(kind, message);
}

}  // namespace ubl::comm
