// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the directed tests of nic_core share: two cards with regions, queues and a connected QP
// pair, for a core of one plane and for one of eight.
#pragma once

#include <gmock/gmock.h>

#include "Vnic_coreChk.h"
#include "Vnic_core_p1Chk.h"
#include "bench.hpp"

namespace nic_core_test {

inline constexpr uint64_t kSrc = 0x10000, kDst = 0x80000, kSize = 0x40000;

template <class Dut, unsigned kP>
struct Setup {
  using B = Bench<Dut, kP>;
};

// A and B, memory regions for both directions, one QP pair on plane kPlanes - 1.
template <class S>
class Core : public testing::Test {
 protected:
  using B = typename S::B;
  static constexpr unsigned kQp = 3, kPlane = B::kPlanes - 1;

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
    bench.connect(kQp, kPlane);
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
    bench.connect(kQp, kPlane);
  }
  void expect_copied(uint64_t off, uint32_t length) {
    EXPECT_EQ(bench.a().mem.read(kSrc + off, length), bench.b().mem.read(kDst + off, length));
  }

  B bench;
  uint32_t lkey[2] = {}, rkey[2] = {};
};

using Sizes = testing::Types<Setup<Vnic_core_p1Chk, 1>, Setup<Vnic_coreChk, 8>>;

}  // namespace nic_core_test
