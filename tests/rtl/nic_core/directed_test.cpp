// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "Vnic_coreChk.h"
#include "Vnic_core_p1Chk.h"
#include "bench.hpp"

namespace nic_core_test {
namespace {

constexpr uint64_t kSrc = 0x10000, kDst = 0x80000, kSize = 0x40000;

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
  void expect_copied(uint64_t off, uint32_t length) {
    EXPECT_EQ(bench.a().mem.read(kSrc + off, length), bench.b().mem.read(kDst + off, length));
  }

  B bench;
  uint32_t lkey[2] = {}, rkey[2] = {};
};

using Sizes = testing::Types<Setup<Vnic_core_p1Chk, 1>, Setup<Vnic_coreChk, 8>>;
TYPED_TEST_SUITE(Core, Sizes);

TYPED_TEST(Core, WritesAMessageAndCompletes) {
  auto& b = this->bench;
  b.post(0, this->kQp, this->write(10000, 0x1122334455667788ull));
  const Cqe e = b.wait_cqe(0, 0);
  EXPECT_EQ(e.wr_id, 0x1122334455667788ull);
  EXPECT_EQ(e.status, raw(CqeStatus::kOk));
  EXPECT_EQ(e.opcode, raw(WqeOp::kWrite));
  EXPECT_EQ(e.byte_len, 10000u);
  EXPECT_EQ(e.qpn, this->kQp);
  EXPECT_EQ(e.sq_head, 1u);
  EXPECT_EQ(e.psn, 0xfffffcu);
  EXPECT_EQ(e.recv, 0u);
  this->expect_copied(0, 10000);
  b.settle();
  EXPECT_EQ(b.a().counts.txd[this->kPlane], 3u);
  EXPECT_EQ(b.b().counts.acks[this->kPlane], 1u);
  EXPECT_TRUE(b.log(0).empty());
  EXPECT_TRUE(b.log(1).empty());
}

}  // namespace
}  // namespace nic_core_test
