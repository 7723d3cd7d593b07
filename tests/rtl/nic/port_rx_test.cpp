// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "port_receiver.hpp"

namespace ubl::test {
namespace {

TEST(NicPortRx, EveryOpcodeAndLength) {
  Receiver t(BenchConfig{}, 1);
  uint64_t cursor = 0;
  for (uint8_t op : kRequests) {
    for (unsigned len = 0; len <= 4096; len += is_reduce(op) ? 4 : 1) {
      if (len > 200 && len < 4000 && len % 61 > 4) continue;
      t.good(t.request(op, t.r() & 1 ? kBulk : kReq, len, next_target(t.r, cursor, len)),
             t.payload(has_payload(op) ? len : 0), t.r() & 1);
    }
    t.good(t.request(kAck, kRsp, 0, 0), {}, t.r() & 1);
  }
  t.run();
}

TEST(NicPortRx, RandomTrafficAndBackPressure) {
  uint64_t swapped = 0;
  for (uint64_t round = 0; round < 6; ++round) {
    BenchConfig c;
    c.ready = 0.15 + 0.17 * static_cast<double>(round);
    c.latency_max = static_cast<int>(1 + 40 * round);
    c.node = static_cast<uint16_t>(round * 4711);
    c.plane = round & 7;
    Receiver t(c, 200 + round);
    t.bench.verdict_rate = c.ready;
    t.flit_rate = round & 1 ? 1.0 : 0.6;
    t.drop_percent = 10;
    uint64_t cursor = 0;
    for (int i = 0; i < 400; ++i) {
      if (t.r() % 3 == 0) {
        // Acknowledgements have a channel of their own.
        if (t.r() % 8 == 0)
          t.bad(t.frame(t.request(kAck, kReq, 0, 0), {}), kReq, spec::ErrCause::kMalformed);
        else
          t.good(t.request(kAck, kRsp, 0, 0), {});
        continue;
      }
      const uint8_t op = kRequests[t.r() % kRequests.size()];
      unsigned len = t.r() % 4 == 0 ? t.r() % 4097 : t.r() % 150;
      if (is_reduce(op)) len &= ~3u;
      uint64_t at = next_target(t.r, cursor, len);
      if (t.r() % 20 == 0) at |= kBadAddress;
      t.good(t.request(op, t.r() & 1 ? kBulk : kReq, len, at), t.payload(has_payload(op) ? len : 0),
             t.r() % 4 == 0);
    }
    t.run();
    ASSERT_FALSE(HasFailure()) << "round " << round;
    swapped += t.swapped;
  }
  EXPECT_GT(swapped, 20u);
}

TEST(NicPortRx, AnyBitFlipIsFound) {
  Receiver t(BenchConfig{}, 3);
  for (int i = 0; i < 1500; ++i) {
    const size_t which = t.r() % (kRequests.size() + 1);
    const uint8_t op = which == kRequests.size() ? kAck : kRequests[which];
    const unsigned len = (t.r() % 3 ? t.r() % 64 : t.r() % 600) & (is_reduce(op) ? ~3u : ~0u);
    const uint8_t vc = op == kAck ? kRsp : (t.r() & 1 ? kBulk : kReq);
    const Bytes p = t.payload(has_payload(op) ? len : 0);
    Bytes f = t.frame(t.request(op, vc, len, t.r() & 0xfffff), p);
    // Every bit of the short ones sooner or later; bursts too.
    const size_t bit = static_cast<size_t>(i) < 16 * f.size()
                           ? static_cast<size_t>(i) % (8 * f.size())
                           : t.r() % (8 * f.size());
    f[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    for (unsigned k = t.r() % 3; k > 0; --k) {
      const size_t other = bit + 1 + t.r() % 30;
      if (other < 8 * f.size()) f[other / 8] ^= static_cast<uint8_t>(1u << (other % 8));
    }
    t.bad(f, vc, spec::ErrCause::kFcs);
  }
  t.run();
}

TEST(NicPortRx, CausesByName) {
  BenchConfig c;
  Receiver t(c, 4);
  using E = spec::ErrCause;
  auto make = [&](uint8_t op, unsigned len) {
    const Bytes p = t.payload(len);
    return t.frame(t.request(op, op == kAck ? kRsp : kReq, len, 64), p);
  };
  auto change = [&](uint8_t op, unsigned len, size_t at, uint8_t flip, E cause, bool ip = false) {
    Bytes f = make(op, len);
    f[at] ^= flip;
    if (ip) fix_ip_checksum(f);
    fix_crcs(f);
    t.bad(f, op == kAck ? kRsp : kReq, cause);
  };
  // ICRC wrong, FCS right: a byte changed behind the ICRC's back, in header and payload.
  for (size_t at : {28u, 45u, 60u, 80u, 120u}) {
    Bytes f = make(kWrite, 100);
    f[at] ^= 0x10;
    if (at == 28) fix_ip_checksum(f);
    fix_fcs(f);
    t.bad(f, kReq, E::kIcrc);
  }
  // Fields that the ICRC does not cover.
  change(kWrite, 10, 15, 0x01, E::kMalformed);  // checksum does not match
  for (uint8_t op : {kWrite, kReduceImm, kReadRequest, kReadResponse, kSend, kSendImm, kFetchAdd,
                     kCompareSwap, kAtomicResponse, kAck}) {
    const unsigned len = 40;
    change(op, len, 12, 0x08, E::kMalformed);        // EtherType
    change(op, len, 14, 0x20, E::kMalformed, true);  // IP version
    change(op, len, 14, 0x01, E::kMalformed, true);  // header length
    change(op, len, 17, 0x04, E::kMalformed, true);  // total length
    change(op, len, 23, 0x01, E::kMalformed, true);  // protocol
    change(op, len, 24, 0x01, E::kMalformed);        // checksum
    change(op, len, 37, 0x01, E::kMalformed);        // UDP port
    change(op, len, 39, 0x04, E::kMalformed);        // UDP length
    change(op, len, 42, 0x80, E::kMalformed);        // opcode
    // Pad; that of a READ response or SEND says how long it is, so only an empty one shows it.
    change(op, op == kReadResponse || is_send(op) ? 0 : len, 43, 0x10, E::kMalformed);
    change(op, len, 43, 0x01, E::kMalformed);        // version of the BTH
    change(op, len, 5, 0x01, E::kMisrouted);         // destination MAC
    change(op, len, 33, 0x01, E::kMisrouted, true);  // destination IP
    change(op, len, 31, 0x01, E::kMisrouted, true);  // its plane
    change(op, len, 27, 0x01, E::kMisrouted, true);  // plane of the source
  }
  change(kWrite, 40, 69, 0x04, E::kMalformed);  // RETH length
  change(kWrite, 40, 69, 0x01, E::kMalformed);
  change(kWrite, 40, 66, 0x01, E::kMalformed);
  change(kReduce, 40, 70, 0xF0, E::kMalformed);  // REDUCE operation
  change(kReduce, 40, 70, 0x0C, E::kMalformed);  // REDUCE type
  {
    Bytes f = make(kReduce, 40);  // length not a multiple of 4
    f[69] ^= 3, f[43] |= 0x10;
    fix_crcs(f);
    t.bad(f, kReq, E::kMalformed);
  }
  change(kReadRequest, 4096, 69, 0x01, E::kMalformed);  // wants too much
  change(kReadRequest, 100, 66, 0x01, E::kMalformed);
  {
    Bytes f = make(kReadRequest, 100);  // with a payload
    f.insert(f.end() - 8, 4, 0);
    f[17] += 4, f[39] += 4;
    fix_ip_checksum(f);
    fix_crcs(f);
    t.bad(f, kReq, E::kMalformed);
  }
  {
    const Bytes p = t.payload(10);  // request on the rsp channel
    spec::Txd d = t.request(kWrite, kReq, 10, 0);
    t.bad(t.frame(d, p), kRsp, E::kMalformed);
  }
  for (size_t size : {46u, 62u, 66u, 70u}) {  // too short for its opcode
    Bytes f = make(kWrite, 0);
    f.resize(size);
    fix_crcs(f);
    t.bad(f, kReq, E::kMalformed);
  }
  {
    Bytes f = make(kWrite, 4096);  // 4100 bytes of payload
    f.insert(f.end() - 8, 4, 0);
    f[68] = 0x10, f[69] = 4;
    const size_t ip = f.size() - 18;
    f[16] = static_cast<uint8_t>(ip >> 8), f[17] = static_cast<uint8_t>(ip);
    f[38] = static_cast<uint8_t>((ip - 20) >> 8), f[39] = static_cast<uint8_t>(ip - 20);
    fix_ip_checksum(f);
    fix_crcs(f);
    t.bad(f, kReq, E::kMalformed);
  }
  {
    Bytes f = make(kWrite, 40);  // a byte too long
    f.push_back(0);
    t.bad(f, kReq, E::kMalformed);
  }
  // What a sender does after a memory error.
  t.bad(build_frame(t.request(kWrite, kBulk, 300, 0), kPeer, c.plane, Bytes(300), true), kBulk,
        E::kFcs);
  // And a right frame still passes.
  t.good(t.request(kWriteImm, kReq, 33, 100), t.payload(33));
  t.run();
}

// The frame with `words` more words of payload (or fewer), its lengths and CRCs right.
Bytes stretched(Bytes f, int words) {
  if (words > 0) {
    f.insert(f.end() - 8, 4 * static_cast<size_t>(words), 0);
  } else {
    f.erase(f.end() - 8 + 4 * words, f.end() - 8);
  }
  const size_t ip = f.size() - 18;
  f[16] = static_cast<uint8_t>(ip >> 8), f[17] = static_cast<uint8_t>(ip);
  f[38] = static_cast<uint8_t>((ip - 20) >> 8), f[39] = static_cast<uint8_t>(ip - 20);
  fix_ip_checksum(f);
  fix_crcs(f);
  return f;
}

// The length of a SEND's payload is that of its frame: whatever does not add up there is malformed,
// whatever SENDH says passes.
TEST(NicPortRx, SendsThatDoNotAddUp) {
  Receiver t(BenchConfig{}, 14);
  using E = spec::ErrCause;
  uint64_t cursor = 0;
  auto good = [&](uint8_t op, unsigned len) {
    t.good(t.request(op, t.r() & 1 ? kBulk : kReq, len, next_target(t.r, cursor, len)),
           t.payload(len));
  };
  for (uint8_t op : {kSend, kSendImm}) {
    for (uint8_t vc : {kReq, kBulk}) {
      auto make = [&](unsigned len) { return t.frame(t.request(op, vc, len, 0), t.payload(len)); };
      // Shorter than its headers, down to the BTH alone.
      const int most = op == kSendImm ? 4 : 3;
      for (int words = 1; words <= most; ++words) {
        t.bad(stretched(make(0), -words), vc, E::kMalformed);
        good(op, 0);
      }
      // Padding where there is nothing to pad.
      for (unsigned pad = 1; pad < 4; ++pad) {
        Bytes f = make(0);
        f[43] |= static_cast<uint8_t>(pad << 4);
        fix_crcs(f);
        t.bad(f, vc, E::kMalformed);
        good(op, pad);
      }
      // More than the MTU: 4097 to 4100 bytes, and as much as 66 flits hold.
      for (unsigned pad = 0; pad < 4; ++pad) {
        Bytes f = make(4096);
        f[43] |= static_cast<uint8_t>(pad << 4);
        t.bad(stretched(f, 1), vc, E::kMalformed);
        good(op, 4096 - pad);
      }
      t.bad(stretched(make(4096), 12), vc, E::kMalformed);
      good(op, 4093);
    }
    const spec::Txd d = t.request(op, kReq, 100, 0);
    t.bad(t.frame(d, t.payload(100)), kRsp, E::kMalformed);
    // A length that only the frame tells: one word more or less is another good frame.
    for (int words : {-1, 1}) {
      Receiver::Request q = t.request(op, kReq, 100, next_target(t.r, cursor, 104));
      const Bytes p = t.payload(100);
      const Bytes f = stretched(t.frame(q, p), words);
      t.flits(to_flits(f, kReq));
      q.len = static_cast<uint16_t>(100 + 4 * words);
      Bytes got = p;
      got.resize(q.len);
      t.headers[kReq].push_back({expected_header(q, kPeer), got, q.target});
    }
    // SENDH at its limits.
    for (uint64_t raddr : {0ull, 0x00ffffffffffffffull, 0x00800000'00000001ull, 0xffffffffull}) {
      for (uint32_t length : {0u, 1u, 0x80000000u, 0xffffffffu}) {
        Receiver::Request q = t.request(op, kBulk, 65, next_target(t.r, cursor, 65));
        q.raddr = raddr;
        q.rkey = length;
        t.good(q, t.payload(65));
      }
    }
  }
  t.run();
}

TEST(NicPortRx, BrokenFlitSequences) {
  BenchConfig c;
  c.latency_max = 20;
  c.ready = 0.8;
  Receiver t(c, 5);
  using E = spec::ErrCause;
  uint64_t cursor = 0;
  auto good = [&](uint8_t vc) {
    const unsigned len = t.r() % 300;
    t.good(t.request(vc == kRsp ? kAck : kWrite, vc, len, next_target(t.r, cursor, len)),
           t.payload(vc == kRsp ? 0 : len));
  };
  auto fresh = [&](unsigned len, uint8_t vc) {
    const Bytes p = t.payload(len);
    const uint8_t op = t.r() & 1 ? kSend : kWrite;
    return to_flits(t.frame(t.request(op, vc, len, 0), p), vc);
  };
  for (int round = 0; round < 60; ++round) {
    const uint8_t vc = t.r() & 1 ? kBulk : kReq, other = vc == kBulk ? kReq : kBulk;
    auto f = fresh(150 + t.r() % 300, vc);
    switch (round % 6) {
      case 0:  // no sop
        f.erase(f.begin());
        t.flits(f);
        t.error(vc, E::kFraming);
        break;
      case 1:  // no eop: the next sop breaks it off
        f.pop_back();
        t.flits(f);
        t.error(vc, E::kFraming);
        break;
      case 2:  // the channel changes in the middle
        f.back().vc = other;
        t.flits(f);
        t.error(vc, E::kFraming);
        t.error(other, E::kFraming);
        break;
      case 3:  // bytes missing in the middle
        f[0].empty = 4;
        t.flits(f);
        t.error(vc, E::kFraming);
        break;
      case 4: {  // longer than any frame
        auto g = fresh(4096, vc);
        const auto middle = g[1];
        g.insert(g.begin() + 1, t.r() % 300 + 1, middle);
        t.flits(g);
        t.error(vc, E::kFraming);
        break;
      }
      default:  // one flit too short to be a frame
        f.resize(1);
        f[0].eop = 1;
        f[0].empty = 2;
        t.flits(f);
        t.error(vc, E::kMalformed);
        break;
    }
    good(vc), good(kRsp), good(other);
  }
  t.run();
}

// A one-flit frame that breaks off another one is reported too, if later.
TEST(NicPortRx, OneFlitBreaksOffAFrame) {
  Receiver t(BenchConfig{}, 6);
  for (uint8_t vc : {kReq, kRsp, kBulk}) {
    const Bytes p = t.payload(200);
    auto f = to_flits(t.frame(t.request(kWrite, kBulk, 200, 0), p), kBulk);
    f.pop_back();
    t.flits(f);
    spec::Flit one = f[0];
    one.eop = 1;
    one.vc = vc;
    t.flits({one});
    t.error(kBulk, spec::ErrCause::kFraming);
    t.error(vc, spec::ErrCause::kFraming);
    t.good(t.request(kWrite, kReq, 20, 64), t.payload(20));
  }
  t.run();
}

// A sender that ignores credits: what overflows is reported, nothing hangs, every flit gets its
// credit, and frames before and after are unharmed.
TEST(NicPortRx, Overflow) {
  Receiver t(BenchConfig{}, 7);
  using E = spec::ErrCause;
  t.bench.verdict_rate = 0;
  t.ignore_credits = true;
  uint64_t cursor = 0;
  for (int i = 0; i < 7; ++i) {
    t.good(t.request(kWrite, kBulk, 4096, next_target(t.r, cursor, 4096)), t.payload(4096));
  }
  for (int i = 0; i < 5; ++i) {
    t.bad(t.frame(t.request(kWrite, kBulk, 4096, 0), t.payload(4096)), kBulk, E::kFraming);
  }
  while (!t.input.empty()) t.cycle();
  for (int i = 0; i < 200; ++i) t.cycle();
  ASSERT_FALSE(HasFailure());
  EXPECT_GE(t.header_count[kBulk], 7);
  t.ignore_credits = false;
  t.bench.verdict_rate = 1;
  // Frames that held no credit at all are reported together.
  while (t.headers[kBulk].size() > 1 || !t.bench.idle()) {
    if (t.bench.now > 20000) break;
    t.cycle();
  }
  t.headers[kBulk].clear();
  t.good(t.request(kWrite, kBulk, 4096, next_target(t.r, cursor, 4096)), t.payload(4096));
  t.run();
}

// One-flit frames fill every header the queue can hold while rxh is blocked.
TEST(NicPortRx, HeaderQueueFull) {
  Receiver t(BenchConfig{}, 8);
  t.bench.rxh_blocked = true;
  spec::Flit one;
  one.valid = one.sop = one.eop = 1;
  one.empty = 2;
  for (uint8_t vc : {kRsp, kReq}) {
    one.vc = vc;
    for (int i = 0; i < 700; ++i) {
      t.flits({one});
      t.error(vc, spec::ErrCause::kMalformed);
    }
  }
  for (int i = 0; i < 1200; ++i) t.cycle();
  EXPECT_EQ(t.credits[kRsp], 0);
  t.bench.rxh_blocked = false;
  t.run();
  EXPECT_EQ(t.header_count[kRsp], 700);
  EXPECT_EQ(t.header_count[kReq], 700);
}

// Requests wait for verdicts and memory; acknowledgements pass.
TEST(NicPortRx, AcknowledgementsAreNeverBlocked) {
  Receiver t(BenchConfig{}, 9);
  t.bench.verdict_rate = 0;
  t.bench.memory_blocked = true;
  uint64_t cursor = 0;
  for (int i = 0; i < 200; ++i) {
    t.good(t.request(kWrite, i & 1 ? kBulk : kReq, 16, next_target(t.r, cursor, 16)),
           t.payload(16));
  }
  for (int i = 0; i < 600; ++i) t.cycle();
  ASSERT_TRUE(t.input.empty());
  const int before = t.header_count[kRsp];
  for (int i = 0; i < 1000; ++i) t.good(t.request(kAck, kRsp, 0, 0), {});
  for (int i = 0; i < 2010; ++i) t.cycle();
  EXPECT_EQ(t.header_count[kRsp] - before, 1000);
  EXPECT_EQ(t.credits[kRsp], kVcDepth);
  t.bench.verdict_rate = 1;
  for (int i = 0; i < 200; ++i) t.cycle();
  t.good(t.request(kAck, kRsp, 0, 0), {});
  for (int i = 0; i < 20; ++i) t.cycle();
  EXPECT_EQ(t.header_count[kRsp] - before, 1001);
  t.bench.memory_blocked = false;
  t.run();
}

// What memory refused to read is not written either, and the report says so.
TEST(NicPortRx, RefusedOperandIsNotWritten) {
  Receiver t(BenchConfig{}, 13);
  for (unsigned len : {4u, 64u, 200u, 4096u}) {
    t.good(t.request(kReduce, kBulk, len, kBadAddress | 64), t.payload(len));
  }
  t.run();
  EXPECT_EQ(t.placed_at.size(), 4u);
  EXPECT_EQ(t.bench.write_requests, 0u);
  t.good(t.request(kWrite, kBulk, 100, 64), t.payload(100));
  t.run();
  EXPECT_EQ(t.bench.write_requests, 1u);
}

void throughput(uint8_t op, unsigned len, uint64_t frames, uint64_t cycles_per_frame) {
  BenchConfig c;
  c.latency_min = c.latency_max = 100;
  Receiver t(c, 10);
  uint64_t cursor = 0;
  for (uint64_t i = 0; i < frames; ++i) {
    t.good(t.request(op, kBulk, len, next_target(t.r, cursor, len)), t.payload(len));
  }
  t.run();
  ASSERT_EQ(t.placed_at.size(), frames);
  // From the second one on there is no gap: the first one fills the pipeline.
  EXPECT_EQ(t.placed_at.back() - t.placed_at.front(), (frames - 1) * cycles_per_frame)
      << "opcode " << int{op} << " len " << len;
  // Full link rate: the input never waited for a credit.
  EXPECT_LE(t.bench.now, frames * cycles_per_frame + 400);
}

TEST(NicPortRx, ThroughputOfLongWrites) { throughput(kWrite, 4096, 40, 66); }
TEST(NicPortRx, ThroughputOfLongReduces) { throughput(kReduce, 4096, 40, 66); }
TEST(NicPortRx, ThroughputOfLongReducesWithImmediate) { throughput(kReduceImm, 4096, 40, 66); }
TEST(NicPortRx, ThroughputOfShortWrites) { throughput(kWrite, 48, 400, 2); }
TEST(NicPortRx, ThroughputOfSends) {
  throughput(kSend, 4096, 40, 66);
  throughput(kSendImm, 4096, 40, 66);
  throughput(kSend, 52, 400, 2);
  throughput(kSendImm, 48, 400, 2);
}

TEST(NicPortRx, Latency) {
  Receiver t(BenchConfig{}, 12);
  t.good(t.request(kAck, kRsp, 0, 0), {});
  while (!t.input.empty()) t.cycle();
  const uint64_t last = t.bench.now - 1;  // the last flit was at the port in this cycle
  while (t.header_count[kRsp] == 0) t.cycle();
  EXPECT_EQ(t.bench.now - 1 - last, 4u);
}

TEST(NicPortRx, ResetInMidOperation) {
  BenchConfig c;
  c.latency_max = 60;
  c.ready = 0.7;
  Receiver t(c, 11);
  uint64_t cursor = 0;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 40; ++i) {
      const unsigned len = t.r() % 2000 & ~3u;
      const uint8_t op = std::array{kWrite, kReduce, kSend, kSendImm}[t.r() % 4];
      t.good(t.request(op, t.r() & 1 ? kBulk : kReq, len, next_target(t.r, cursor, len)),
             t.payload(len));
      t.good(t.request(kAck, kRsp, 0, 0), {});
    }
    if (round % 3 == 2) {
      t.run();
    } else {
      for (int i = static_cast<int>(t.r() % 900); i > 0; --i) t.cycle();
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
    t.bench.reset(1);
    t.input.clear(), t.reports.clear();
    for (auto& q : t.headers) q.clear();
    t.credits.fill(kVcDepth);
    t.golden = t.bench.memory;
    t.cycle();
    EXPECT_TRUE(t.bench.idle());
    EXPECT_FALSE(t.bench.flit.valid);
    EXPECT_EQ(t.bench.rx_credit, 0u);
  }
}

}  // namespace
}  // namespace ubl::test
