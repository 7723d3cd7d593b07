// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the directed tests of nic_core share: two cards with regions, queues and a connected QP
// pair, for a core of one plane and for one of eight, of which the QP uses one or all.
#pragma once

#include <gmock/gmock.h>

#include "cores.hpp"

namespace nic_core_test {

inline constexpr uint64_t kSrc = 0x10000, kDst = 0x80000, kSize = 0x40000;

template <class Dut, unsigned kP, unsigned kMaskValue = (1u << kP) - 1>
struct Setup {
  using B = Bench<Dut, kP>;
  static constexpr unsigned kMask = kMaskValue;
};

// A and B, memory regions for both directions, one QP pair on the planes kMask.
template <class S>
class Core : public testing::Test {
 protected:
  using B = typename S::B;
  static constexpr unsigned kQp = 3, kMask = S::kMask;
  static constexpr unsigned kPlane = B::kPlanes - 1;  // one of them
  static constexpr bool kSprays = (kMask & (kMask - 1)) != 0;

  Core() : bench(B::kPlanes) {
    for (unsigned c = 0; c < 2; ++c) {
      bench.enable(c);
      bench.make_cq(c, 0, 6);
      bench.make_cq(c, 1, 6);
      lkey[c] = bench.make_mr(c, 1, kSrc, kSize, true, false, false);
      rkey[c] = bench.make_mr(c, 2, kDst, kSize, false, true, true);
      std::vector<uint8_t> data(kSize);
      for (size_t i = 0; i < kSize; i += 4) {
        const float f = static_cast<float>(static_cast<int>(bench.rng() % 2001) - 1000);
        std::memcpy(&data[i], &f, 4);
      }
      bench.card[c]->mem.write(kSrc, data.data(), data.size());
    }
    bench.connect(kQp, kMask);
  }

  // Of all planes.
  static uint64_t all(const uint64_t (&n)[8]) {
    uint64_t sum = 0;
    for (uint64_t v : n) sum += v;
    return sum;
  }
  uint64_t sum(unsigned c, uint32_t first, unsigned stride = 4) {
    uint64_t n = 0;
    for (unsigned p = 0; p < 8; ++p) n += bench.rd(c, first + stride * p);
    return n;
  }
  // PSN number i that A sends.
  static uint32_t psn(uint32_t i) { return (0xfffffau + i) & 0xffffff; }
  static uint32_t index(uint32_t psn) { return (psn - 0xfffffau) & 0xffffff; }
  // Planes differ: what was recorded as A's, in PSN order.
  static void sort(std::vector<Frame>& v) {
    std::stable_sort(v.begin(), v.end(), [](const Frame& x, const Frame& y) {
      return index(x.h.psn) < index(y.h.psn);
    });
  }

  Wqe write(uint32_t length, uint64_t wr_id = 1, uint64_t off = 0) {
    Wqe w;
    w.opcode = raw(WqeOp::kWrite);
    w.signalled = 1;
    w.vc = raw(Vc::kBulk);
    w.length = length;
    w.laddr = kSrc + off;
    w.raddr = kDst + off;
    w.lkey = lkey[0];
    w.rkey = rkey[1];
    w.wr_id = wr_id;
    return w;
  }
  Cqe expect_cqe(unsigned c, unsigned cq, uint64_t wr_id, CqeStatus status) {
    const Cqe e = bench.wait_cqe(c, cq);
    EXPECT_EQ(e.wr_id, wr_id);
    EXPECT_STREQ(to_string(static_cast<CqeStatus>(e.status)), to_string(status));
    return e;
  }
  void expect_no_cqe(unsigned c, unsigned cq) {
    bench.settle();
    Cqe e;
    EXPECT_FALSE(bench.poll(c, cq, e)) << "unexpected completion " << e.wr_id << " status "
                                       << to_string(static_cast<CqeStatus>(e.status));
  }
  void expect_state(unsigned c, QpState state) {
    EXPECT_EQ(bench.status(c, kQp).state, raw(state)) << "card " << c;
  }
  // Exactly these causes, in any order.
  void expect_log(unsigned c, std::vector<ErrCause> causes) {
    std::vector<std::string> got, want;
    for (auto& e : bench.log(c)) got.push_back(to_string(e.cause));
    for (auto e : causes) want.push_back(to_string(e));
    EXPECT_THAT(got, testing::UnorderedElementsAreArray(want)) << "card " << c;
  }
  // This cause once, beside answers that came when the QP had failed.
  void expect_failed_log(unsigned c, ErrCause cause) {
    const auto l = bench.log(c);
    EXPECT_EQ(bench.count(l, cause), 1u) << to_string(cause) << " card " << c;
    EXPECT_EQ(l.size(), bench.count(l, cause) + bench.count(l, ErrCause::kBadQp)) << "card " << c;
  }
  // Records what card c sends.
  void record(unsigned c, std::vector<Frame>& to) {
    bench.card[c]->on_wire = [&to](Frame& f, unsigned) {
      to.push_back(f);
      to.back().due = 0;
      return true;
    };
  }
  // A fresh pair under the same numbers, logs and queues emptied.
  void again() {
    bench.settle();
    for (unsigned c = 0; c < 2; ++c) {
      bench.log(c);
      bench.make_cq(c, 0, 6);
      bench.make_cq(c, 1, 6);
      bench.card[c]->on_wire = {};
      bench.card[c]->mem.allow_all();
    }
    bench.connect(kQp, kMask);
  }
  void expect_copied(uint64_t off, uint32_t length) {
    EXPECT_EQ(bench.a().mem.read(kSrc + off, length), bench.b().mem.read(kDst + off, length));
  }

  B bench;
  uint32_t lkey[2] = {}, rkey[2] = {};
};

using Sizes =
    testing::Types<Setup<Vnic_core_p1Chk, 1>, Setup<Vnic_coreChk, 8, 0x80>, Setup<Vnic_coreChk, 8>>;

}  // namespace nic_core_test
