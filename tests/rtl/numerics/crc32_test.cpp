// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_crc32_window and ubl_crc32_pair, in the form for simulation and in the form for synthesis,
// against a CRC taken bit by bit and against zlib.
#include <gtest/gtest.h>
#include <verilated.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "Vubl_crc32_pair.h"
#include "Vubl_crc32_pair_syn.h"
#include "Vubl_crc32_window.h"
#include "Vubl_crc32_window_syn.h"
#include "ubl/spec/link.hpp"
#include "ubl/test/seed.hpp"

namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kResidue = 0xDEBB20E3;

uint32_t bitwise(uint32_t state, const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    state ^= data[i];
    for (int k = 0; k < 8; ++k) {
      state = state >> 1 ^ ((state & 1) != 0 ? ubl::spec::kLinkCrc32Poly : 0);
    }
  }
  return state;
}

Bytes random_bytes(std::mt19937_64& rng, size_t size) {
  Bytes b(size);
  for (auto& x : b) x = static_cast<uint8_t>(rng());
  return b;
}

uint32_t zlib_crc(const Bytes& b) {
  return static_cast<uint32_t>(crc32(0, b.data(), static_cast<uInt>(b.size())));
}

template <class Dut>
class Window : public ::testing::Test {
 protected:
  VerilatedContext context_;
  Dut dut_{&context_};
};
using WindowForms = ::testing::Types<Vubl_crc32_window, Vubl_crc32_window_syn>;
TYPED_TEST_SUITE(Window, WindowForms);

TYPED_TEST(Window, AnyStateAnyLength) {
  auto rng = ubl::test::rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const Bytes data = random_bytes(rng, 64);
    const auto state = static_cast<uint32_t>(rng());
    const unsigned nwords = i % 17;
    this->dut_.state_i = state;
    std::memcpy(&this->dut_.data_i, data.data(), 64);
    this->dut_.nwords_i = static_cast<uint8_t>(nwords);
    this->dut_.eval();
    ASSERT_EQ(this->dut_.state_o, bitwise(state, data.data(), 4 * nwords)) << nwords << " words";
  }
}

TYPED_TEST(Window, SingleBits) {
  for (unsigned bit = 0; bit < 512; ++bit) {
    uint8_t data[64] = {};
    data[bit / 8] = static_cast<uint8_t>(1u << bit % 8);
    std::memcpy(&this->dut_.data_i, data, 64);
    this->dut_.state_i = 0;
    for (unsigned nwords = 0; nwords <= 16; ++nwords) {
      this->dut_.nwords_i = static_cast<uint8_t>(nwords);
      this->dut_.eval();
      ASSERT_EQ(this->dut_.state_o, bitwise(0, data, 4 * nwords)) << "bit " << bit;
    }
  }
}

TYPED_TEST(Window, MessagesAgainstZlib) {
  auto rng = ubl::test::rng(2);
  for (int i = 0; i < 500; ++i) {
    const Bytes data = random_bytes(rng, 4 * (rng() % 300));
    uint32_t state = ~0u;
    for (size_t at = 0; at < data.size(); at += 64) {
      const size_t n = std::min<size_t>(64, data.size() - at);
      uint8_t window[64];
      for (auto& x : window) x = static_cast<uint8_t>(rng());  // what is not taken does not count
      std::memcpy(window, data.data() + at, n);
      std::memcpy(&this->dut_.data_i, window, 64);
      this->dut_.state_i = state;
      this->dut_.nwords_i = static_cast<uint8_t>(n / 4);
      this->dut_.eval();
      state = this->dut_.state_o;
    }
    ASSERT_EQ(~state, zlib_crc(data));
  }
}

template <class Dut>
class Pair : public ::testing::Test {
 protected:
  struct Registers {
    uint32_t fcs;
    uint32_t icrc;
  };

  // Lets the first `bytes` bytes of the frame in; bytes + 2 is a multiple of 4.
  Registers run(const Bytes& frame, size_t bytes, std::mt19937_64& rng) {
    Bytes stream{static_cast<uint8_t>(rng()), static_cast<uint8_t>(rng())};
    stream.insert(stream.end(), frame.begin(), frame.end());
    while (stream.size() % 64 != 0) stream.push_back(static_cast<uint8_t>(rng()));
    Registers r{static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng())};
    size_t words = (bytes + 2) / 4;
    for (size_t at = 0; at == 0 || words != 0; at += 64) {
      const size_t n = std::min<size_t>(words, 16);
      std::memcpy(&dut_.data_i, stream.data() + at, 64);
      dut_.first_i = at == 0;
      dut_.nwords_i = static_cast<uint8_t>(n);
      dut_.fcs_i = r.fcs;
      dut_.icrc_i = r.icrc;
      dut_.eval();
      r = {dut_.fcs_o, dut_.icrc_o};
      words -= n;
    }
    return r;
  }

  VerilatedContext context_;
  Dut dut_{&context_};
};
using PairForms = ::testing::Types<Vubl_crc32_pair, Vubl_crc32_pair_syn>;
TYPED_TEST_SUITE(Pair, PairForms);

// The ICRC as the standard tells it: eight bytes of ones, then the packet from the IP header on
// with the variant fields replaced by ones.
uint32_t icrc(const Bytes& frame, size_t bytes) {
  Bytes covered(8, 0xFF);
  covered.insert(covered.end(), frame.begin() + 14, frame.begin() + static_cast<long>(bytes));
  for (size_t i : {1u, 8u, 10u, 11u, 26u, 27u, 32u}) {
    if (8 + i < covered.size()) covered[8 + i] = 0xFF;
  }
  return zlib_crc(covered);
}

TYPED_TEST(Pair, FramesOfAnyLength) {
  auto rng = ubl::test::rng(3);
  for (int i = 0; i < 2'000; ++i) {
    // From the shortest (its ICRC is in window 0) to the longest.
    const size_t to_icrc = 58 + 4 * (i < 600 ? static_cast<size_t>(i) % 40 : rng() % 1024);
    Bytes frame = random_bytes(rng, to_icrc);
    const auto append = [&frame](uint32_t x) {
      for (int k = 0; k < 4; ++k) frame.push_back(static_cast<uint8_t>(x >> (8 * k)));
    };

    // Transmit.
    const auto tx = this->run(frame, to_icrc, rng);
    ASSERT_EQ(~tx.icrc, icrc(frame, to_icrc)) << to_icrc;
    ASSERT_EQ(~tx.fcs, zlib_crc(frame)) << to_icrc;
    append(~tx.icrc);
    append(zlib_crc(frame));

    // Receive.
    const auto rx = this->run(frame, to_icrc + 4, rng);
    uint32_t fcs;
    std::memcpy(&fcs, frame.data() + to_icrc + 4, 4);
    ASSERT_EQ(~rx.fcs, fcs);
    ASSERT_EQ(rx.icrc, kResidue);

    // What a switch may change does not matter to the ICRC; anything else does.
    static const std::vector<size_t> kVariant = {15, 22, 24, 25, 40, 41, 46};
    const size_t at = i % 2 == 0 ? kVariant[rng() % kVariant.size()] : rng() % (to_icrc + 4);
    const bool covered = at >= 14 && std::count(kVariant.begin(), kVariant.end(), at) == 0;
    frame[at] ^= static_cast<uint8_t>(1 + rng() % 255);
    const auto bad = this->run(frame, to_icrc + 4, rng);
    ASSERT_NE(~bad.fcs, fcs) << "byte " << at;
    ASSERT_EQ(bad.icrc == kResidue, !covered) << "byte " << at;
  }
}

}  // namespace
