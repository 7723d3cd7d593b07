// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// nic_port with everything around it except the link: memory with latency and errors, and a
// nic_core that hands out descriptors, takes reports and gives verdicts. Every handshake is checked
// for stability.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "frame_model.hpp"
#include "ubl/test/clocked.hpp"

namespace ubl::test {

constexpr uint64_t kBadAddress = 1ull << 40;  // memory refuses addresses with this bit
constexpr int kTxdDepth = 16;
constexpr int kVcDepth = spec::kLinkVcDepth;

struct BenchConfig {
  uint16_t node = 0x0102;
  uint8_t plane = 3;
  int latency_min = 1, latency_max = 1;  // of memory, cycles
  double ready = 1.0;      // chance that a sink is ready, or a source offers, per cycle
  bool skip_idle = false;  // do not evaluate while idle and without active input
  size_t memory_bytes = 1 << 22;
};

// What went through one valid/ready output must not change while it waits.
class Stable {
 public:
  Stable(const char* name, size_t words) : name_(name), words_(words) {}
  void check(bool valid, bool ready, const uint32_t* data) {
    if (waiting_) {
      if (!valid) ADD_FAILURE() << name_ << ": valid withdrawn";
      if (!std::equal(last_.begin(), last_.end(), data))
        ADD_FAILURE() << name_ << ": payload changed";
    }
    waiting_ = valid && !ready;
    if (waiting_) last_.assign(data, data + words_);
  }
  void reset() {
    waiting_ = false;
    last_.clear();
  }

 private:
  const char* name_;
  size_t words_;
  bool waiting_ = false;
  std::vector<uint32_t> last_;
};

struct MemRequest {
  uint64_t addr = 0, due = 0;
  unsigned len = 0;
};

template <class Dut>
class PortBench {
 public:
  PortBench(const BenchConfig& c, uint64_t salt) : config(c), dut(salt), rng_(rng(salt)) {
    memory.resize(config.memory_bytes);
    for (auto& b : memory) b = static_cast<uint8_t>(rng_());
    reset();
  }

  BenchConfig config;
  Clocked<Dut> dut;
  Bytes memory;

  // nic_core
  std::array<std::deque<spec::Txd>, 3> txd;  // to hand out
  std::array<int, 3> txd_credit{};
  std::deque<spec::Rxv> verdicts;  // to give
  std::function<void(const spec::Rxh&)> on_rxh = [](const spec::Rxh&) {};
  std::function<void(const spec::Txc&)> on_txc = [](const spec::Txc&) {};
  std::function<void(const spec::Rxd&)> on_rxd = [](const spec::Rxd&) {};
  double verdict_rate = 1.0;
  bool rxh_blocked = false, memory_blocked = false;

  // link, valid after cycle()
  spec::Flit flit;         // what left in this cycle
  unsigned rx_credit = 0;  // credits returned in this cycle

  uint64_t now = 0, evaluated = 0, moved = 0;  // moved: handshakes and flits, for progress checks
  uint64_t write_requests = 0;
  uint64_t trace = 0;  // hash of everything that came out, with its cycle

  void reset(int cycles = 2) {
    clear_inputs();
    dut->node_i = config.node;
    dut->plane_i = config.plane;
    dut.reset(cycles);
    txd_credit.fill(kTxdDepth);
    for (auto& q : txd) q.clear();
    verdicts.clear();
    tr_ = rr_ = ReadChannel{};
    writes_.clear(), beats_.clear(), responses_.clear();
    verdict_offered_ = false;
    for (Stable* s : {&s_txc_, &s_rxh_, &s_rxd_, &s_trq_, &s_rrq_, &s_wrq_, &s_wrd_}) s->reset();
  }

  bool roll(double p) { return p >= 1.0 || uniform_(rng_) < p; }

  void cycle(const spec::Flit* rx = nullptr, unsigned tx_credit = 0) {
    Dut& d = *dut;
    clear_inputs();
    // Outputs are functions of registers: what they show now holds until the edge.
    sample_outputs();
    bool active = false;
    if (rx != nullptr && rx->valid) {
      rx->to_words(d.rx_flit_i);
      active = true;
    }
    d.tx_credit_i = static_cast<uint8_t>(tx_credit);
    active |= tx_credit != 0;

    // Descriptors, strict round over the channels.
    for (int v = 0; v < 3; ++v) txd_credit[v] += (d.txd_credit_o >> v) & 1;
    const bool offer_txd = roll(config.ready);
    for (int i = 0; i < 3 && offer_txd; ++i) {
      const int v = (next_vc_ + i) % 3;
      if (txd[v].empty() || txd_credit[v] == 0) continue;
      txd[v].front().to_words(d.txd_i);
      txd[v].pop_front();
      --txd_credit[v];
      d.txd_valid_i = 1;
      active = true;
      next_vc_ = v + 1;
      break;
    }

    d.txc_ready_i = roll(config.ready);
    d.rxh_ready_i = roll(config.ready) && !rxh_blocked;
    d.rxd_ready_i = roll(config.ready);
    d.trq_ready_i = roll(config.ready) && !memory_blocked;
    d.rrq_ready_i = roll(config.ready) && !memory_blocked;
    d.wrq_ready_i = roll(config.ready) && !memory_blocked;
    d.wrd_ready_i = roll(config.ready) && !memory_blocked;
    verdict_offered_ |= roll(verdict_rate);
    if (!verdicts.empty() && verdict_offered_) {
      verdicts.front().to_words(d.rxv_i);
      d.rxv_valid_i = 1;
      active = true;
    }

    active |= offer_read(tr_, d.trd_valid_i, d.trd_i);
    active |= offer_read(rr_, d.rrd_valid_i, d.rrd_i);
    if (!responses_.empty() && responses_.front().due <= now) {
      d.wrs_valid_i = 1;
      d.wrs_err_i = (responses_.front().addr & kBadAddress) != 0;
      responses_.pop_front();
      active = true;
    }

    // Handshakes of this cycle.
    if (flit.valid) mix(0, &d.tx_flit_o[0], spec::Flit::kWords);
    mix_credits((static_cast<uint32_t>(d.txd_credit_o) << 3) | d.rx_credit_o);
    if (d.txc_valid_o && d.txc_ready_i) mix(1, reinterpret_cast<const uint32_t*>(&d.txc_o), 2);
    if (d.rxd_valid_o && d.rxd_ready_i) mix(2, &d.rxd_o[0], spec::Rxd::kWords);
    if (d.rxh_valid_o && d.rxh_ready_i) mix(3, &d.rxh_o[0], spec::Rxh::kWords);
    if (d.trq_valid_o && d.trq_ready_i) mix(4, &d.trq_o[0], spec::MemReq::kWords);
    if (d.rrq_valid_o && d.rrq_ready_i) mix(5, &d.rrq_o[0], spec::MemReq::kWords);
    if (d.wrq_valid_o && d.wrq_ready_i) mix(6, &d.wrq_o[0], spec::MemReq::kWords);
    if (d.wrd_valid_o && d.wrd_ready_i) mix(7, &d.wrd_o[0], 16);
    if (d.txc_valid_o && d.txc_ready_i) ++moved, on_txc(spec::Txc::from_u64(d.txc_o));
    if (d.rxd_valid_o && d.rxd_ready_i) ++moved, on_rxd(spec::Rxd::from_words(&d.rxd_o[0]));
    if (d.rxv_valid_i && d.rxv_ready_o) ++moved, verdicts.pop_front(), verdict_offered_ = false;
    if (d.rxh_valid_o && d.rxh_ready_i) ++moved, on_rxh(spec::Rxh::from_words(d.rxh_o));
    if (d.trq_valid_o && d.trq_ready_i) request(tr_, d.trq_o);
    if (d.rrq_valid_o && d.rrq_ready_i) request(rr_, d.rrq_o);
    if (d.trd_valid_i && d.trd_ready_o) take(tr_);
    if (d.rrd_valid_i && d.rrd_ready_o) take(rr_);
    if (d.wrq_valid_o && d.wrq_ready_i) {
      const spec::MemReq r = spec::MemReq::from_words(d.wrq_o);
      EXPECT_TRUE(r.len >= 1 && r.len <= 4096) << r.len;
      writes_.push_back({r.addr, 0, r.len});
      ++moved, ++write_requests;
    }
    if (d.wrd_valid_o && d.wrd_ready_i) {
      std::array<uint32_t, 16> b;
      std::copy_n(&d.wrd_o[0], 16, b.begin());
      beats_.push_back(b);
      ++moved;
    }
    write();

    s_txc_.check(d.txc_valid_o, d.txc_ready_i, reinterpret_cast<const uint32_t*>(&d.txc_o));
    s_rxd_.check(d.rxd_valid_o, d.rxd_ready_i, &d.rxd_o[0]);
    s_rxh_.check(d.rxh_valid_o, d.rxh_ready_i, &d.rxh_o[0]);
    s_trq_.check(d.trq_valid_o, d.trq_ready_i, &d.trq_o[0]);
    s_rrq_.check(d.rrq_valid_o, d.rrq_ready_i, &d.rrq_o[0]);
    s_wrq_.check(d.wrq_valid_o, d.wrq_ready_i, &d.wrq_o[0]);
    s_wrd_.check(d.wrd_valid_o, d.wrd_ready_i, &d.wrd_o[0]);

    if (!config.skip_idle || active || !d.idle_o) {
      dut.tick();
      ++evaluated;
    }
    ++now;
  }

  // Nothing is left to do on the memory and core side.
  bool quiet() const {
    for (const auto& q : txd) {
      if (!q.empty()) return false;
    }
    return verdicts.empty() && tr_.requests.empty() && rr_.requests.empty() && writes_.empty() &&
           responses_.empty();
  }
  bool idle() { return dut->idle_o != 0; }

 private:
  struct ReadChannel {
    std::deque<MemRequest> requests;
    unsigned beat = 0;
    bool offered = false;
    uint64_t last_due = 0;
  };

  void sample_outputs() {
    flit = spec::Flit{};
    if ((dut->tx_flit_o[16] >> (spec::Flit::kValidLsb - 512)) & 1) {
      flit = spec::Flit::from_words(&dut->tx_flit_o[0]);
      ++moved;
    }
    rx_credit = dut->rx_credit_o;
  }

  void mix(uint32_t what, const uint32_t* words, size_t count) {
    trace = (trace ^ now ^ what) * 0x9e3779b97f4a7c15ull;
    for (size_t i = 0; i < count; ++i)
      trace = (trace ^ (trace >> 29) ^ words[i]) * 0xbf58476d1ce4e5b9ull;
  }
  void mix_credits(uint32_t bits) {
    if (bits != 0) mix(8, &bits, 1);
  }

  uint64_t due() {
    const int span = config.latency_max - config.latency_min;
    return now + static_cast<uint64_t>(config.latency_min) +
           (span > 0 ? rng_() % static_cast<uint64_t>(span + 1) : 0);
  }

  template <class Port>
  void request(ReadChannel& c, const Port& port) {
    const spec::MemReq r = spec::MemReq::from_words(&port[0]);
    EXPECT_TRUE(r.len >= 1 && r.len <= 4096) << r.len;
    c.last_due = std::max(c.last_due, due());
    c.requests.push_back({r.addr, c.last_due, r.len});
    ++moved;
  }

  template <class Port>
  bool offer_read(ReadChannel& c, uint8_t& valid, Port& port) {
    c.offered |= roll(config.ready);
    if (c.requests.empty() || c.requests.front().due > now || !c.offered) return false;
    const MemRequest& r = c.requests.front();
    spec::MemRdata d;
    d.err = (r.addr & kBadAddress) != 0;
    d.last = 64 * (c.beat + 1) >= r.len;
    for (unsigned i = 0; i < 64 && 64 * c.beat + i < r.len && !d.err; ++i) {
      const uint8_t b = memory[(r.addr + 64 * c.beat + i) % memory.size()];
      d.data[i / 4] |= static_cast<uint32_t>(b) << (8 * (i % 4));
    }
    d.to_words(&port[0]);
    valid = 1;
    return true;
  }

  void take(ReadChannel& c) {
    ++moved;
    c.offered = false;
    if (64 * ++c.beat >= c.requests.front().len) c.requests.pop_front(), c.beat = 0;
  }

  void write() {
    while (!writes_.empty() && beats_.size() * 64 >= writes_.front().len) {
      MemRequest r = writes_.front();
      writes_.pop_front();
      for (unsigned i = 0; i < r.len; ++i) {
        if (!(r.addr & kBadAddress)) {
          memory[(r.addr + i) % memory.size()] =
              static_cast<uint8_t>(beats_[i / 64][i % 64 / 4] >> (8 * (i % 4)));
        }
      }
      beats_.erase(beats_.begin(), beats_.begin() + (r.len + 63) / 64);
      r.due = due();
      if (!responses_.empty()) r.due = std::max(r.due, responses_.back().due);
      responses_.push_back(r);
    }
  }

  void clear_inputs() {
    Dut& d = *dut;
    d.rx_flit_i[16] = 0;
    d.tx_credit_i = 0;
    d.txd_valid_i = d.txc_ready_i = d.rxh_ready_i = d.rxv_valid_i = d.rxd_ready_i = 0;
    d.trq_ready_i = d.trd_valid_i = d.rrq_ready_i = d.rrd_valid_i = 0;
    d.wrq_ready_i = d.wrd_ready_i = d.wrs_valid_i = d.wrs_err_i = 0;
  }

  std::mt19937_64 rng_;
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
  int next_vc_ = 0;
  bool verdict_offered_ = false;
  ReadChannel tr_, rr_;
  std::deque<MemRequest> writes_, responses_;
  std::deque<std::array<uint32_t, 16>> beats_;
  Stable s_txc_{"txc", 2}, s_rxh_{"rxh", spec::Rxh::kWords}, s_rxd_{"rxd", spec::Rxd::kWords},
      s_trq_{"trq", spec::MemReq::kWords}, s_rrq_{"rrq", spec::MemReq::kWords},
      s_wrq_{"wrq", spec::MemReq::kWords}, s_wrd_{"wrd", 16};
};

}  // namespace ubl::test
