// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Simulated cycles per second of the switch model, by processor time: mean, and the
// fastest slice of 20 ms, which other load on the machine disturbs least.
// usage: switch_speed [SECONDS]

#include <verilated.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "Vubl_switch128.h"
#include "Vubl_switch16.h"
#include "ubl/spec/link.hpp"

namespace {

namespace spec = ubl::spec;
constexpr unsigned kVcs = spec::kLinkNumVc;
constexpr unsigned kDepth = spec::kLinkVcDepth;

enum class Load { kIdle, kPermutation, kUniform, kIncast };

template <class T>
uint8_t* bytes(T& port) {
  return reinterpret_cast<uint8_t*>(&port);
}

// `width` bits (at most 16) at `lsb` of a port that was zero there.
template <class T>
void put(T& port, unsigned lsb, unsigned value) {
  uint8_t* p = bytes(port) + lsb / 8;
  value <<= lsb % 8;
  for (; value != 0; value >>= 8) *p++ |= static_cast<uint8_t>(value);
}
template <class T>
bool bit(T& port, unsigned at) {
  return (bytes(port)[at / 8] >> (at % 8) & 1) != 0;
}

template <class Dut, unsigned R>
class Speed {
 public:
  Speed() {
    dut_->ecn_kmin_i = 0xffff;
    dut_->ecn_kmax_i = 0xffff;
    dut_->rst_ni = 0;
    for (int k = 0; k < 4; ++k) clock();
    dut_->rst_ni = 1;
    for (auto& w : head_) w = static_cast<uint8_t>(rng_());
  }
  ~Speed() { dut_->final(); }

  void run(const char* name, Load load, unsigned flits, double seconds) {
    if (flits != 0) frames(flits);
    for (unsigned k = 0; k < 2000; ++k) cycle(load, flits);
    const uint64_t flits_before = sent_;
    uint64_t cycles = 0;
    double best = 0;
    double all = 0;
    do {
      // Slices of 20 ms or more.
      const std::clock_t start = std::clock();
      uint64_t n = 0;
      double took = 0;
      do {
        for (unsigned k = 0; k < 200; ++k) cycle(load, flits);
        n += 200;
        took = double(std::clock() - start) / CLOCKS_PER_SEC;
      } while (took < 0.02);
      best = std::max(best, n / took);
      cycles += n;
      all += took;
    } while (all < seconds);
    std::printf("radix %3u  %-24s %9.0f cycles/s, fastest slice %9.0f, %5.1f %% of line rate out\n",
                R, name, cycles / all, best, 100.0 * (sent_ - flits_before) / (double(cycles) * R));
    std::fflush(stdout);
  }

 private:
  struct Port {
    unsigned credit = kDepth;
    unsigned left = 0;
    unsigned total = 0;
    unsigned next = 0;
    unsigned to = 0;
  };

  void clock() {
    dut_->clk_i = 1;
    dut_->eval();
    dut_->clk_i = 0;
    dut_->eval();
  }

  void cycle(Load load, unsigned flits) {
    std::memset(bytes(dut_->rx_valid_i), 0, sizeof dut_->rx_valid_i);
    std::memset(bytes(dut_->tx_credit_i), 0, sizeof dut_->tx_credit_i);
    if (load != Load::kIdle) {
      std::memset(bytes(dut_->rx_meta_i), 0, sizeof dut_->rx_meta_i);
      for (unsigned i = 0; i < R; ++i) {
        Port& p = port_[i];
        if (p.left == 0) {
          if (p.credit < flits) continue;
          p.left = p.total = flits;
          const unsigned to = load == Load::kPermutation ? (i + p.next) % R
                              : load == Load::kUniform   ? static_cast<unsigned>(rng_() % R)
                                                         : 0;
          if (++p.next == R) p.next = 0;
          p.to = to;
        }
        const bool sop = p.left == p.total;
        const bool eop = p.left == 1;
        put(dut_->rx_valid_i, i, 1);
        put(dut_->rx_meta_i, i * 10,
            unsigned{sop} << 9 | unsigned{eop} << 8 | static_cast<unsigned>(spec::Vc::kBulk) << 6);
        std::memcpy(&dut_->rx_data_i.m_storage[i * 16], sop ? heads_[p.to] : heads_[0], 64);
        if (eop) std::memcpy(&dut_->rx_data_i.m_storage[i * 16 + 15], &fcs_[p.to], 4);
        --p.left;
        --p.credit;
      }
      for (unsigned o = 0; o < R; ++o) {
        if (bit(dut_->tx_valid_o, o)) {
          put(dut_->tx_credit_i, o * kVcs + static_cast<unsigned>(spec::Vc::kBulk), 1);
          ++sent_;
        }
        if (bit(dut_->rx_credit_o, o * kVcs + static_cast<unsigned>(spec::Vc::kBulk)))
          ++port_[o].credit;
      }
    }
    clock();
  }

  // The frames of a load: per destination a first flit and the FCS. Other flits are alike.
  void frames(unsigned flits) {
    const unsigned total = flits * 64 - spec::kLinkEthBytes - spec::kLinkFcsBytes;
    for (unsigned to = 0; to < R; ++to) {
      uint8_t* head = heads_[to];
      std::memcpy(head, head_, sizeof head_);
      head[12] = spec::kLinkEtherTypeIpv4 >> 8;
      head[13] = spec::kLinkEtherTypeIpv4 & 0xff;
      head[16] = static_cast<uint8_t>(total >> 8);
      head[17] = static_cast<uint8_t>(total);
      head[30] = spec::kLinkIpNet;
      head[31] = 0;
      head[32] = 0;
      head[33] = static_cast<uint8_t>(to);
    }
    for (unsigned to = 0; to < R; ++to) {
      uint32_t crc = 0;
      for (unsigned k = 0; k < flits; ++k) {
        crc = static_cast<uint32_t>(
            ::crc32(crc, k == 0 ? heads_[to] : heads_[0], k + 1 == flits ? 60 : 64));
      }
      fcs_[to] = crc;
    }
  }

  VerilatedContext context_;
  std::unique_ptr<Dut> dut_ = std::make_unique<Dut>(&context_);
  std::mt19937_64 rng_{1};
  Port port_[R];
  uint8_t head_[64];
  uint8_t heads_[R][64];
  uint32_t fcs_[R];
  uint64_t sent_ = 0;
};

template <class Dut, unsigned R>
void all(double seconds) {
  Speed<Dut, R> s;
  s.run("idle", Load::kIdle, 0, seconds);
  s.run("shifting permutation, 66", Load::kPermutation, 66, seconds);
  s.run("shifting permutation, 2", Load::kPermutation, 2, seconds);
  s.run("uniform, 66", Load::kUniform, 66, seconds);
  s.run("uniform, 1", Load::kUniform, 1, seconds);
  s.run("incast, 66", Load::kIncast, 66, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  all<Vubl_switch16, 16>(seconds);
  all<Vubl_switch128, 128>(seconds);
}
