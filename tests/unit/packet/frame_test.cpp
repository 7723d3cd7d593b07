// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/packet/frame.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "random_frame.hpp"
#include "ubl/packet/crc32.hpp"
#include "ubl/test/seed.hpp"

namespace {

using namespace ubl::packet;  // NOLINT: the whole test is about it
namespace spec = ubl::spec;
using ubl::test::kAllOps;
using ubl::test::random_frame;

using Bytes = std::vector<uint8_t>;

TEST(Crc32, AgainstZlib) {
  auto rng = ubl::test::rng(1);
  for (size_t size = 0; size < 600; ++size) {
    Bytes b(size);
    for (auto& x : b) x = static_cast<uint8_t>(rng());
    const auto want = static_cast<uint32_t>(::crc32(0, b.data(), static_cast<uInt>(size)));
    EXPECT_EQ(ubl::packet::crc32(b.data(), size), want);
    // In two pieces.
    const size_t cut = size == 0 ? 0 : rng() % size;
    uint32_t reg = crc32_update(kCrc32Start, b.data(), cut);
    reg = crc32_update(reg, b.data() + cut, size - cut);
    EXPECT_EQ(~reg, want);
    for (int i = 0; i < 4; ++i) b.push_back(static_cast<uint8_t>(want >> (8 * i)));
    EXPECT_EQ(crc32_update(kCrc32Start, b.data(), b.size()), kCrc32Residue);
  }
}

// An acknowledgement byte by byte, so that the layout itself is pinned.
TEST(Frame, AckBytes) {
  Frame f;
  f.src_node = 0x0102;
  f.dst_node = 0x0304;
  f.plane = 5;
  f.vc = spec::Vc::kRsp;
  f.ecn = spec::Ecn::kNotEct;
  f.src_qpn = 0x012345;
  f.dst_qpn = 0xABCDEF;
  f.opcode = spec::PktOp::kAck;
  f.psn = 0x654321;
  f.becn = true;
  f.syndrome = spec::Syndrome::kAck;
  f.msn = 0x112233;
  f.rnum = 0x5A;
  f.seen = {0x0102, 0x0304, 0, 0, 0, 0, 0, 0x0F10};
  f.placed[0] = 0x81;
  f.placed[31] = 0x7E;
  f.ce_planes = 0xA5;
  f.ce_count = 0xC3;
  const Bytes got = build(f);
  const Bytes want = {
      0x02, 0x55, 0x00, 0x05, 0x03, 0x04, 0x02, 0x55, 0x00, 0x05, 0x01, 0x02,  // MAC addresses
      0x08, 0x00,                                                              // EtherType
      0x45, 0x20, 0x00, 0x64, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x22, 0x5A,  // IPv4
      0x0A, 0x05, 0x01, 0x02, 0x0A, 0x05, 0x03, 0x04,                          // IP addresses
      0xE3, 0x45, 0x12, 0xB7, 0x00, 0x50, 0x00, 0x00,                          // UDP
      0x11, 0x00, 0xFF, 0xFF, 0x40, 0xAB, 0xCD, 0xEF, 0x5A, 0x65, 0x43, 0x21,  // BTH
      0x1F, 0x11, 0x22, 0x33,                                                  // AETH
      0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00,                          // SACKH: seen
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0F, 0x10,                          //
      0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                          // placed
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                          //
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                          //
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7E,                          //
      0xA5, 0xC3, 0x00, 0x00};                                                 // CE
  ASSERT_EQ(got.size(), want.size() + 8);
  EXPECT_EQ(Bytes(got.begin(), got.end() - 8), want);
}

// Both SEND operations byte by byte behind the BTH: SENDH is behind an ImmDt.
TEST(Frame, SendBytes) {
  Frame f;
  f.opcode = spec::PktOp::kSend;
  f.send_number = 0x123456;
  f.send_offset = 0x789ABCDE;
  f.send_length = 0xF0E1D2C3;
  f.imm = 0xA1B2C3D4;
  f.payload = {0x11, 0x22, 0x33, 0x44, 0x55};
  const auto behind_bth = [&f] {
    const Bytes bytes = build(f);
    EXPECT_EQ(bytes[42], static_cast<uint8_t>(f.opcode));
    EXPECT_EQ(bytes[43], 0x30);  // three bytes of padding
    return Bytes(bytes.begin() + 54, bytes.end() - 8);
  };
  const Bytes tail = {0x00, 0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0, 0xE1,
                      0xD2, 0xC3, 0x11, 0x22, 0x33, 0x44, 0x55, 0x00, 0x00, 0x00};
  EXPECT_EQ(behind_bth(), tail);
  f.opcode = spec::PktOp::kSendImm;
  Bytes with_imm = {0xA1, 0xB2, 0xC3, 0xD4};
  with_imm.insert(with_imm.end(), tail.begin(), tail.end());
  EXPECT_EQ(behind_bth(), with_imm);
}

// Operands in network order behind address and key, as InfiniBand has it.
TEST(Frame, AtomicBytes) {
  Frame f;
  f.raddr = 0x0102030405060708;
  f.rkey = 0x11121314;
  f.swap_add = 0x2122232425262728;
  f.compare = 0x3132333435363738;
  f.original = 0x4142434445464748;
  f.msn = 0x515253;
  const auto behind_bth = [&f] {
    const Bytes bytes = build(f);
    EXPECT_EQ(bytes[42], static_cast<uint8_t>(f.opcode));
    EXPECT_EQ(bytes[43], 0x00);
    return Bytes(bytes.begin() + 54, bytes.end() - 8);
  };
  const Bytes request = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12,
                         0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
                         0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38};
  f.opcode = spec::PktOp::kFetchAdd;
  EXPECT_EQ(behind_bth(), request);
  f.opcode = spec::PktOp::kCompareSwap;
  EXPECT_EQ(behind_bth(), request);
  f.opcode = spec::PktOp::kAtomicResponse;
  const Bytes answer = {0x1F, 0x51, 0x52, 0x53, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48};
  EXPECT_EQ(behind_bth(), answer);
}

TEST(Frame, RoundTrip) {
  auto rng = ubl::test::rng(2);
  for (int i = 0; i < 5'000; ++i) {
    const Frame f = random_frame(rng, kAllOps[i % kAllOps.size()]);
    const Bytes bytes = build(f);
    ASSERT_EQ(bytes.size(), frame_bytes(f.opcode, f.payload.size()));
    ASSERT_GE(bytes.size(), kMinFrameBytes);
    ASSERT_LE(bytes.size(), kMaxFrameBytes);
    const ParseResult r = parse(bytes);
    ASSERT_EQ(r.error, ParseError::kNone) << to_string(r.error);
    ASSERT_TRUE(r.frame == f);
  }
}

TEST(Frame, SizesOfTheContract) {
  EXPECT_EQ(frame_flits(spec::PktOp::kWrite, spec::kLinkMtu), spec::kLinkMaxFrameFlits);
  EXPECT_EQ(frame_flits(spec::PktOp::kReduceImm, spec::kLinkMtu), spec::kLinkMaxFrameFlits);
  EXPECT_EQ(frame_bytes(spec::PktOp::kReduceImm, spec::kLinkMtu), kMaxFrameBytes);
  EXPECT_EQ(frame_bytes(spec::PktOp::kReadResponse, 0), kMinFrameBytes);
  EXPECT_EQ(frame_bytes(spec::PktOp::kAck, 0), 118u);
  EXPECT_EQ(frame_flits(spec::PktOp::kAck, 0), 2u);
  EXPECT_EQ(frame_bytes(spec::PktOp::kSend, 0), 74u);
  EXPECT_EQ(frame_bytes(spec::PktOp::kSendImm, 1), 82u);
  EXPECT_EQ(frame_flits(spec::PktOp::kSend, spec::kLinkMtu), spec::kLinkMaxFrameFlits);
  EXPECT_EQ(ecn_of(spec::PktOp::kAck), spec::Ecn::kNotEct);
  EXPECT_EQ(ecn_of(spec::PktOp::kReduce), spec::Ecn::kEct0);
}

TEST(Frame, QpnBeyondThePortIsCut) {
  Frame f;
  f.src_qpn = 0xFFFFFF;
  EXPECT_EQ(parse(build(f)).frame.src_qpn, 0x3FFFu);
}

TEST(Frame, BuildRefusesWhatDoesNotFit) {
  const auto refuses = [](void (*change)(Frame&)) {
    Frame f;
    change(f);
    EXPECT_THROW(build(f), std::invalid_argument);
  };
  refuses([](Frame& f) { f.opcode = static_cast<spec::PktOp>(0x33); });
  refuses([](Frame& f) { f.plane = spec::kLinkMaxPlanes; });
  refuses([](Frame& f) { f.vc = static_cast<spec::Vc>(3); });
  refuses([](Frame& f) { f.ecn = static_cast<spec::Ecn>(4); });
  refuses([](Frame& f) { f.src_qpn = 1 << 24; });
  refuses([](Frame& f) { f.dst_qpn = 1 << 24; });
  refuses([](Frame& f) { f.psn = 1 << 24; });
  refuses([](Frame& f) { f.msn = 1 << 24; });
  refuses([](Frame& f) { f.red_op = static_cast<spec::RedOp>(16); });
  refuses([](Frame& f) { f.red_dtype = static_cast<spec::RedType>(16); });
  refuses([](Frame& f) { f.payload.resize(spec::kLinkMtu + 1); });
  refuses([](Frame& f) {
    f.opcode = spec::PktOp::kAck;
    f.payload.resize(1);
  });
  refuses([](Frame& f) { f.read_len = 1; });
  refuses([](Frame& f) {
    f.opcode = spec::PktOp::kReadRequest;
    f.payload.resize(1);
  });
  refuses([](Frame& f) {
    f.opcode = spec::PktOp::kReadRequest;
    f.read_len = spec::kLinkMtu + 1;
  });
  refuses([](Frame& f) {
    f.opcode = spec::PktOp::kSend;
    f.send_number = 1 << 24;
  });
  refuses([](Frame& f) {
    f.opcode = spec::PktOp::kSendImm;
    f.payload.resize(spec::kLinkMtu + 1);
  });
}

// Each named error, from a good frame with one thing wrong and the checksums made right again.
TEST(Parse, NamedErrors) {
  auto rng = ubl::test::rng(3);
  Frame f = random_frame(rng, spec::PktOp::kReduce);
  f.payload.resize(5);
  const Bytes good = build(f);
  const auto error = [&good](size_t at, uint8_t flip, bool seal = true) {
    Bytes b = good;
    b[at] ^= flip;
    if (seal) reseal(b);
    return parse(b).error;
  };
  EXPECT_EQ(error(0, 0, true), ParseError::kNone);
  EXPECT_EQ(error(good.size() - 1, 1, false), ParseError::kBadFcs);
  EXPECT_EQ(error(60, 1, false), ParseError::kBadFcs);
  EXPECT_EQ(error(13, 0x06), ParseError::kNotIpv4);
  EXPECT_EQ(error(14, 0x20), ParseError::kNotIpv4);
  EXPECT_EQ(error(14, 0x03), ParseError::kBadIpHeader);
  EXPECT_EQ(error(19, 0x01), ParseError::kBadIpHeader);
  EXPECT_EQ(error(20, 0x20), ParseError::kBadIpHeader);
  EXPECT_EQ(error(22, 0x01), ParseError::kBadIpHeader);
  EXPECT_EQ(error(23, 0x17), ParseError::kNotUdp);
  EXPECT_EQ(error(37, 0x01), ParseError::kWrongPort);
  EXPECT_EQ(error(34, 0x80), ParseError::kWrongPort);
  EXPECT_EQ(error(41, 0x01), ParseError::kBadUdpChecksum);
  EXPECT_EQ(error(17, 0x04), ParseError::kLengthMismatch);
  EXPECT_EQ(error(39, 0x04), ParseError::kLengthMismatch);
  EXPECT_EQ(error(42, 0x3F), ParseError::kUnknownOpcode);
  EXPECT_EQ(error(42, 0xC0 ^ 0x11), ParseError::kLengthMismatch);  // an ACK with a payload
  EXPECT_EQ(error(43, 0x80), ParseError::kBadBth);
  EXPECT_EQ(error(43, 0x10), ParseError::kLengthMismatch);  // pad count
  EXPECT_EQ(error(44, 0x80), ParseError::kBadBth);          // partition key
  EXPECT_EQ(error(46, 0x80), ParseError::kBadBth);          // FECN
  EXPECT_EQ(error(0, 0x01), ParseError::kBadAddress);
  EXPECT_EQ(error(9, 0x01), ParseError::kBadAddress);
  EXPECT_EQ(error(27, 0x01), ParseError::kBadAddress);
  EXPECT_EQ(error(15, 0x04), ParseError::kBadClass);
  EXPECT_EQ(error(69, 0x01), ParseError::kLengthMismatch);                // RETH length
  EXPECT_EQ(error(71, 0x02), ParseError::kReservedNotZero);               // REDH
  EXPECT_EQ(error(good.size() - 9, 0x01), ParseError::kReservedNotZero);  // padding

  // A bad IP checksum or ICRC under a good FCS.
  const auto reseal_fcs = [](Bytes b) {
    const uint32_t fcs = fcs_of(b.data(), b.size());
    for (int i = 0; i < 4; ++i) b[b.size() - 4 + i] = static_cast<uint8_t>(fcs >> (8 * i));
    return b;
  };
  Bytes b = good;
  b[25] ^= 1;
  EXPECT_EQ(parse(reseal_fcs(b)).error, ParseError::kBadIpChecksum);
  b = good;
  b[60] ^= 1;
  EXPECT_EQ(parse(reseal_fcs(b)).error, ParseError::kBadIcrc);

  EXPECT_EQ(parse(nullptr, 0).error, ParseError::kTooShort);
  EXPECT_EQ(parse(good.data(), kMinFrameBytes - 1).error, ParseError::kTooShort);
  EXPECT_EQ(parse(Bytes(kMaxFrameBytes + 1)).error, ParseError::kTooLong);
  // A WRITE has shorter headers than the longest frame, so 4100 bytes would fit the frame.
  Frame w;
  w.payload.resize(spec::kLinkMtu);
  Bytes big = build(w);
  big.insert(big.end() - 8, 4, 0);
  big[16] = static_cast<uint8_t>((big.size() - 18) >> 8);
  big[17] = static_cast<uint8_t>(big.size() - 18);
  big[38] = static_cast<uint8_t>((big.size() - 38) >> 8);
  big[39] = static_cast<uint8_t>(big.size() - 38);
  big[69] = 4;
  reseal(big);
  EXPECT_EQ(parse(big).error, ParseError::kTooLong);
}

// A SEND is as long as its lengths say, whatever SENDH says of the message.
TEST(Parse, MalformedSends) {
  // The frame with bytes less or more in front of the ICRC, and every length right again.
  const auto resized = [](Bytes b, int bytes) {
    if (bytes < 0) b.erase(b.end() - 8 + bytes, b.end() - 8);
    if (bytes > 0) b.insert(b.end() - 8, static_cast<size_t>(bytes), 0);
    b[16] = static_cast<uint8_t>((b.size() - 18) >> 8);
    b[17] = static_cast<uint8_t>(b.size() - 18);
    b[38] = static_cast<uint8_t>((b.size() - 38) >> 8);
    b[39] = static_cast<uint8_t>(b.size() - 38);
    if (b.size() >= kMinFrameBytes) reseal(b);
    return b;
  };
  for (const auto op : {spec::PktOp::kSend, spec::PktOp::kSendImm}) {
    Frame f;
    f.opcode = op;
    f.send_length = 1;
    const int headers = op == spec::PktOp::kSend ? 12 : 16;
    const size_t sendh = 54 + static_cast<size_t>(headers) - 12;
    const Bytes empty = build(f);
    ASSERT_EQ(parse(empty).error, ParseError::kNone);
    EXPECT_TRUE(parse(empty).frame == f);
    // A truncated SENDH, down to nothing behind the BTH.
    for (int cut = 4; cut <= headers; cut += 4) {
      const Bytes b = resized(empty, -cut);
      EXPECT_EQ(parse(b).error,
                b.size() < kMinFrameBytes ? ParseError::kTooShort : ParseError::kLengthMismatch)
          << cut;
    }
    // No whole words.
    for (const int bytes : {-1, -2, -3, 1, 2, 3})
      EXPECT_EQ(parse(resized(empty, bytes)).error, ParseError::kLengthMismatch) << bytes;
    // A pad count in a frame without a payload would reach into SENDH.
    for (const uint8_t pad : {0x10, 0x20, 0x30}) {
      Bytes b = empty;
      b[43] ^= pad;
      reseal(b);
      EXPECT_EQ(parse(b).error, ParseError::kLengthMismatch);
    }
    for (const size_t payload : {1u, 2u, 3u, 4u, 5u}) {
      f.payload.assign(payload, 0xFF);
      const Bytes good = build(f);
      ASSERT_EQ(parse(good).frame.payload.size(), payload);
      if (payload < 4) {  // without the only word, padding would reach into SENDH
        EXPECT_EQ(parse(resized(good, -4)).error, ParseError::kLengthMismatch) << payload;
      }
      // The pad count alone says how much of the words is payload; the rest must be zero.
      Bytes other = good;
      other[43] = 0x00;
      reseal(other);
      EXPECT_EQ(parse(other).frame.payload.size(), (payload + 3) / 4 * 4);
      if (payload % 4 != 0) {
        Bytes dirty = good;
        dirty[dirty.size() - 9] = 1;
        reseal(dirty);
        EXPECT_EQ(parse(dirty).error, ParseError::kReservedNotZero);
      }
    }
    // One word above the MTU; it fits the longest frame.
    f.payload.assign(spec::kLinkMtu, 1);
    EXPECT_EQ(parse(resized(build(f), 4)).error, ParseError::kTooLong);
    f.payload.clear();
    // The reserved byte of SENDH.
    Bytes b = build(f);
    b[sendh] = 0x01;
    reseal(b);
    EXPECT_EQ(parse(b).error, ParseError::kReservedNotZero);
    // Another operation with the same bytes.
    b = build(f);
    b[42] = static_cast<uint8_t>(spec::PktOp::kWrite);
    reseal(b);
    EXPECT_EQ(parse(b).error, ParseError::kLengthMismatch);
  }
  // Taken for a SEND without immediate, ImmDt would be the first word of SENDH.
  Frame f;
  f.opcode = spec::PktOp::kSendImm;
  f.imm = 0x00000005;
  f.payload.assign(4, 7);
  Bytes b = build(f);
  b[42] = static_cast<uint8_t>(spec::PktOp::kSend);
  reseal(b);
  const ParseResult r = parse(b);
  ASSERT_EQ(r.error, ParseError::kNone);
  EXPECT_EQ(r.frame.send_number, 5u);
  EXPECT_EQ(r.frame.payload.size(), 8u);
}

// What a switch changes on the way leaves the ICRC alone.
TEST(Parse, CongestionMarkKeepsTheIcrc) {
  auto rng = ubl::test::rng(4);
  for (const auto op : kAllOps) {
    Frame f = random_frame(rng, op);
    f.ecn = spec::Ecn::kEct0;
    const Bytes before = build(f);
    f.ecn = spec::Ecn::kCe;
    f.becn = !f.becn;
    const Bytes after = build(f);
    EXPECT_TRUE(std::equal(before.end() - 8, before.end() - 4, after.end() - 8));
    EXPECT_EQ(parse(after).frame.ecn, spec::Ecn::kCe);
  }
}

// Random changes, cuts and growths, sealed again or not. Whatever is accepted must be a frame that
// the builder makes.
TEST(Parse, NeverCrashesAndTakesOnlyBuildableFrames) {
  auto rng = ubl::test::rng(5);
  std::set<ParseError> seen;
  int accepted = 0;
  const auto check = [&](const Bytes& b) {
    const ParseResult r = parse(b);
    seen.insert(r.error);
    EXPECT_STRNE(to_string(r.error), "?");
    if (r) {
      ++accepted;
      ASSERT_EQ(build(r.frame), b);
    }
  };
  Bytes base;
  for (int i = 0; i < 100'000; ++i) {
    if (i % 8 == 0) {
      Frame f = random_frame(rng, kAllOps[rng() % kAllOps.size()]);
      if (rng() % 8 != 0) f.payload.resize(std::min<size_t>(f.payload.size(), 200));
      base = build(f);
    }
    Bytes b = base;
    switch (rng() % 5) {
      case 0:  // noise of any length
        b.resize(rng() % 300);
        for (auto& x : b) x = static_cast<uint8_t>(rng());
        break;
      case 1:
        b.resize(rng() % (b.size() + 1));
        break;
      case 2:
        b.insert(b.begin() + static_cast<long>(rng() % b.size()), rng() % 9,
                 static_cast<uint8_t>(rng()));
        break;
      default:  // mostly in the headers
        for (uint64_t n = 1 + rng() % 3; n != 0; --n) {
          b[rng() % std::min<size_t>(b.size(), rng() % 4 != 0 ? 86 : b.size())] ^=
              static_cast<uint8_t>(1u << rng() % 8);
        }
        break;
    }
    if (b.size() >= kMinFrameBytes && rng() % 4 != 0) reseal(b);
    check(b);
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GE(seen.size(), 15u);
}

TEST(Flits, RoundTrip) {
  auto rng = ubl::test::rng(6);
  for (int i = 0; i < 2'000; ++i) {
    const Frame f = random_frame(rng, kAllOps[i % kAllOps.size()]);
    const Bytes bytes = build(f);
    const auto flits = to_flits(bytes, f.vc);
    ASSERT_EQ(flits.size(), frame_flits(f.opcode, f.payload.size()));
    EXPECT_EQ(flits[0].data[0] & 0xFF, bytes[0]);
    EXPECT_EQ(flits.back().empty, flits.size() * 64 - bytes.size());
    const FlitsResult r = from_flits(flits);
    ASSERT_EQ(r.error, FlitError::kNone);
    ASSERT_EQ(r.frame, bytes);
    ASSERT_EQ(r.vc, f.vc);
  }
}

TEST(Flits, NamedErrors) {
  Frame f;
  f.payload.resize(200, 0xAB);
  const auto good = to_flits(build(f), f.vc);
  ASSERT_EQ(good.size(), 5u);
  ASSERT_GT(good.back().empty, 0);
  const auto error = [&good](void (*change)(std::vector<spec::Flit>&)) {
    auto flits = good;
    change(flits);
    return from_flits(flits).error;
  };
  using Flits = std::vector<spec::Flit>;
  EXPECT_EQ(error([](Flits& v) { v.clear(); }), FlitError::kNoFlit);
  EXPECT_EQ(error([](Flits& v) { v[1].valid = 0; }), FlitError::kNotValid);
  EXPECT_EQ(error([](Flits& v) { v[0].sop = 0; }), FlitError::kBadMark);
  EXPECT_EQ(error([](Flits& v) { v[1].sop = 1; }), FlitError::kBadMark);
  EXPECT_EQ(error([](Flits& v) { v[1].eop = 1; }), FlitError::kBadMark);
  EXPECT_EQ(error([](Flits& v) { v.pop_back(); }), FlitError::kBadMark);
  EXPECT_EQ(error([](Flits& v) { v[1].vc = 1; }), FlitError::kBadVc);
  EXPECT_EQ(error([](Flits& v) { v[0].vc = 3; }), FlitError::kBadVc);
  EXPECT_EQ(error([](Flits& v) { v[1].empty = 1; }), FlitError::kBadEmpty);
  EXPECT_EQ(error([](Flits& v) { v.back().empty = 64; }), FlitError::kBadEmpty);
  EXPECT_EQ(error([](Flits& v) { v.back().data[15] = 1u << 31; }), FlitError::kTailNotZero);
  EXPECT_THROW(to_flits({}, spec::Vc::kReq), std::invalid_argument);
}

}  // namespace
