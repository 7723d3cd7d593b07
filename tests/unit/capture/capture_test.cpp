// SPDX-License-Identifier: Apache-2.0
// Captures of links, read back by tshark.
#include "ubl/systemc/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "ubl/packet/frame.hpp"
#include "ubl/test/seed.hpp"
#include "ubl/test/tshark.hpp"

namespace ubl::systemc {
namespace {

using packet::Frame;
using spec::PktOp;
using test::tshark;
using ::testing::HasSubstr;
using Direction = LinkCapture::Direction;

class Sink : public Wakeable {};

class CaptureTest : public ::testing::Test {
 protected:
  CaptureTest() {
    for (Link* l : {&up, &down}) l->connect(&sink, &sink);
  }
  ~CaptureTest() override { std::remove(path.c_str()); }

  static void send_flit(Link& link, Cycle now, const spec::Flit& f) {
    FlitWords w;
    f.to_words(w.w.data());
    link.send(now, w.w.data());
    link.pop_flit();
  }
  /// Sends a whole frame, a flit per cycle; the cycle after its last one.
  static Cycle send(Link& link, Cycle now, const Frame& frame) {
    for (const auto& f : packet::to_flits(packet::build(frame), frame.vc))
      send_flit(link, now++, f);
    return now;
  }
  static Frame frame_of(PktOp op, size_t payload, uint32_t psn) {
    Frame f;
    f.src_node = 1;
    f.dst_node = 2;
    f.opcode = op;
    f.psn = psn;
    f.src_qpn = 5;
    f.dst_qpn = 6;
    f.ecn = packet::ecn_of(op);
    f.vc = op == PktOp::kAck ? spec::Vc::kRsp : spec::Vc::kBulk;
    f.raddr = 0x123456789Aull;
    f.rkey = 77;
    if (packet::op_info(op).payload) f.payload.resize(payload);
    auto rng = test::rng(psn);
    for (auto& b : f.payload) b = static_cast<uint8_t>(rng());
    return f;
  }
  static std::string seconds(Cycle c) {
    const uint64_t ns = c / 25 * 32 + c % 25 * 32 / 25;  // 1.28 ns, rounded down
    char text[64];
    std::snprintf(text, sizeof(text), "%llu.%09llu",
                  static_cast<unsigned long long>(ns / 1000000000),
                  static_cast<unsigned long long>(ns % 1000000000));
    return text;
  }

  std::string path = ::testing::TempDir() + "/ubl-capture-" + std::to_string(getpid()) + ".pcapng";
  Sink sink;
  Link up{"card1.plane0.up", 100, 100}, down{"card1.plane0.down", 100, 100};
};

constexpr PktOp kOps[] = {PktOp::kWrite,        PktOp::kWriteImm,    PktOp::kAck,
                          PktOp::kReduce,       PktOp::kReduceImm,   PktOp::kReadRequest,
                          PktOp::kReadResponse, PktOp::kSend,        PktOp::kSendImm,
                          PktOp::kFetchAdd,     PktOp::kCompareSwap, PktOp::kAtomicResponse};

TEST_F(CaptureTest, TsharkReadsFramesOfEveryKind) {
  struct Sent {
    std::string link;
    Cycle begin;
    size_t bytes;
    Frame frame;
  };
  std::vector<Sent> sent;
  {
    LinkCapture capture(path);
    capture.attach(up, Direction::kOutbound);
    capture.attach(down, Direction::kInbound);
    Cycle now = 3;  // 3.84 ns: rounding shows
    uint32_t psn = 0;
    for (Link* link : {&up, &down})
      for (const PktOp op : kOps)
        for (const size_t payload : {4, 5, 8, 64, 1020, 4096}) {
          if (!packet::op_info(op).payload && payload != 4) continue;
          const bool reduce = op == PktOp::kReduce || op == PktOp::kReduceImm;
          if (reduce && payload % 4 != 0) continue;
          const Frame f = frame_of(op, payload, psn++);
          sent.push_back({link->name(), now, packet::build(f).size(), f});
          now = send(*link, now, f) + psn % 3;
        }
    capture.close();
    EXPECT_EQ(capture.frames(), sent.size());
  }
  const auto rows = tshark(path, {"frame.interface_name", "frame.time_epoch", "frame.len",
                                  "infiniband.bth.opcode", "infiniband.bth.psn", "eth.fcs.status",
                                  "ip.checksum.status", "frame.packet_flags_direction"});
  ASSERT_EQ(rows.size(), sent.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Sent& s = sent[i];
    const std::vector<std::string> want = {s.link,
                                           seconds(s.begin),
                                           std::to_string(s.bytes),
                                           std::to_string(unsigned(s.frame.opcode)),
                                           std::to_string(s.frame.psn),
                                           "1",  // good
                                           "1",
                                           s.link == up.name() ? "2" : "1"};
    auto got = rows[i];
    got.resize(want.size());
    got[7] = got[7].substr(got[7].size() - 1);  // 0x00000002 in some releases, 2 in others
    EXPECT_EQ(got, want) << "frame " << i;
  }
  EXPECT_EQ(tshark(path, {"frame.number"}, "_ws.malformed || _ws.unreassembled").size(), 0u);
}

TEST_F(CaptureTest, TimeIsExactFarAway) {
  const Cycle cycles[] = {0, 1, 24, 25, 26, 1000000007, 7812500000007, 1000000000000007};
  LinkCapture capture(path);
  capture.attach(up);
  for (const Cycle c : cycles) send(up, c, frame_of(PktOp::kAck, 0, 1));
  capture.close();
  const auto rows = tshark(path, {"frame.time_epoch"});
  ASSERT_EQ(rows.size(), std::size(cycles));
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i][0], seconds(cycles[i]));
}

TEST_F(CaptureTest, InterleavedFramesOfTwoLinksComeInOrderOfTheirBeginning) {
  LinkCapture capture(path);
  capture.attach(up);
  capture.attach(down);
  // A long frame upwards; while it lasts, short ones downwards.
  const auto flits =
      packet::to_flits(packet::build(frame_of(PktOp::kWrite, 4096, 100)), spec::Vc::kBulk);
  Cycle now = 1000;
  uint32_t psn = 0;
  for (const auto& f : flits) {
    send_flit(up, now, f);
    if (now % 4 == 0) send(down, now, frame_of(PktOp::kAck, 0, psn++));
    now += 2;
  }
  capture.close();
  const auto rows =
      tshark(path, {"frame.interface_name", "infiniband.bth.psn", "frame.time_epoch"});
  ASSERT_EQ(rows.size(), psn + 1);
  EXPECT_EQ(rows[0][0], up.name());
  EXPECT_EQ(rows[0][1], "100");
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], down.name());
    EXPECT_EQ(rows[i][1], std::to_string(i - 1));
    EXPECT_LE(rows[i - 1][2], rows[i][2]);  // same number of digits
  }
}

TEST_F(CaptureTest, ShowsWhatFaultsMadeOfAFrame) {
  LinkCapture capture(path);
  up.add_tap([](Cycle now, FlitWords& f) {
    if (now == 10) f.bytes()[60] ^= 1;
  });
  capture.attach(up);
  down.add_tap([](Cycle, FlitWords& f) { f.bytes()[60] ^= 1; });
  const Cycle next = send(up, 10, frame_of(PktOp::kWrite, 100, 0));
  send(up, next, frame_of(PktOp::kWrite, 100, 1));
  capture.close();
  const auto rows = tshark(path, {"infiniband.bth.psn", "eth.fcs.status"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][1], "0");
  EXPECT_EQ(rows[1][1], "1");
}

TEST_F(CaptureTest, FramesWithoutBeginningOrEndAreKeptAndSaid) {
  LinkCapture capture(path);
  capture.attach(up);
  capture.attach(down);
  const auto flits =
      packet::to_flits(packet::build(frame_of(PktOp::kWrite, 1000, 0)), spec::Vc::kBulk);
  for (size_t i = 1; i < flits.size(); ++i) send_flit(up, i, flits[i]);
  for (size_t i = 0; i < 3; ++i) send_flit(up, 100 + i, flits[i]);
  send(up, 200, frame_of(PktOp::kWrite, 1000, 1));
  for (size_t i = 0; i < 2; ++i) send_flit(down, 300 + i, flits[i]);
  for (const Cycle c : {400, 500}) send(up, c, frame_of(PktOp::kAck, 0, 2));
  EXPECT_EQ(capture.frames(), 3u);  // the others wait for the one that never ends
  capture.close();
  const auto rows = tshark(path, {"frame.time_epoch", "frame.len", "frame.comment"});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_THAT(rows[0][2], HasSubstr("torn"));
  EXPECT_EQ(rows[1][1], "192");
  EXPECT_THAT(rows[1][2], HasSubstr("cut off"));
  EXPECT_EQ(rows[2][2], "");
  EXPECT_EQ(rows[3][1], "128");
  EXPECT_THAT(rows[3][2], HasSubstr("cut off"));
  EXPECT_EQ(rows[4][2], "");
}

TEST_F(CaptureTest, AFrameWithoutEndIsCutAndNothingIsLost) {
  LinkCapture capture(path);
  capture.attach(up);
  const size_t most = LinkCapture::Limits().frame_flits;
  auto flits = packet::to_flits(packet::build(frame_of(PktOp::kWrite, 4096, 0)), spec::Vc::kBulk);
  send_flit(up, 0, flits[0]);
  const size_t total = 10 * most + 7;
  for (size_t i = 1; i < total; ++i) {
    send_flit(up, i, flits[1]);
    ASSERT_LE(capture.waiting_flits(), most);
  }
  EXPECT_EQ(capture.frames(), 10u);
  EXPECT_EQ(capture.cut_frames(), 10u);
  send(up, total, frame_of(PktOp::kAck, 0, 1));  // a beginning ends the rest
  EXPECT_EQ(capture.frames(), 12u);
  EXPECT_EQ(capture.waiting_flits(), 0u);
  capture.close();
  const auto rows = tshark(path, {"frame.len", "frame.comment", "eth.fcs.status"});
  ASSERT_EQ(rows.size(), 12u);
  size_t bytes = 0;
  for (size_t i = 0; i < 11; ++i) {
    bytes += std::stoul(rows[i][0]);
    EXPECT_THAT(rows[i][1], HasSubstr(i == 0 ? "cut off: longer than any frame" : "torn"));
  }
  EXPECT_EQ(bytes, total * 64);
  EXPECT_EQ(rows[11][1], "");
  EXPECT_EQ(rows[11][2], "1");
}

TEST_F(CaptureTest, ALinkThatDiesInMidFrameDoesNotHoldTheOthersForEver) {
  LinkCapture::Limits limits;
  limits.waiting_flits = 500;
  LinkCapture capture(path, limits);
  capture.attach(up);
  capture.attach(down);
  const auto flits =
      packet::to_flits(packet::build(frame_of(PktOp::kWrite, 4096, 0)), spec::Vc::kBulk);
  for (size_t i = 0; i < 10; ++i) send_flit(up, i, flits[i]);
  Cycle now = 100;
  constexpr uint32_t kFrames = 100;
  for (uint32_t psn = 1; psn <= kFrames; ++psn) {
    now = send(down, now, frame_of(PktOp::kWrite, 1000, psn));
    ASSERT_LE(capture.waiting_flits(), limits.waiting_flits);
  }
  EXPECT_EQ(capture.cut_frames(), 1u);
  EXPECT_EQ(capture.frames(), kFrames + 1);  // and from then on nobody waits
  // It was not dead after all: what comes late is there, too.
  for (size_t i = 10; i < flits.size(); ++i) send_flit(up, now++, flits[i]);
  send(up, now, frame_of(PktOp::kAck, 0, 200));
  capture.close();
  const auto rows = tshark(path, {"frame.interface_name", "frame.len", "frame.comment"});
  ASSERT_EQ(rows.size(), kFrames + 3);
  EXPECT_EQ(rows[0][0], up.name());
  EXPECT_EQ(rows[0][1], "640");
  EXPECT_THAT(rows[0][2], HasSubstr("did not come for too long"));
  for (uint32_t i = 1; i <= kFrames; ++i) {
    EXPECT_EQ(rows[i][0], down.name());
    EXPECT_EQ(rows[i][2], "");
  }
  EXPECT_THAT(rows[kFrames + 1][2], HasSubstr("torn"));
  EXPECT_EQ(rows[kFrames + 2][2], "");
}

TEST_F(CaptureTest, SameTrafficSameBytes) {
  std::string contents[2];
  for (auto& text : contents) {
    Link link{"l", 5, 5};
    link.connect(&sink, &sink);
    LinkCapture capture(path);
    capture.attach(link);
    Cycle now = 0;
    for (uint32_t psn = 0; psn < 20; ++psn) now = send(link, now, frame_of(PktOp::kWrite, 99, psn));
    capture.close();
    std::ifstream f(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(f), {});
  }
  EXPECT_GT(contents[0].size(), 20u * 99);
  EXPECT_EQ(contents[0], contents[1]);
}

TEST_F(CaptureTest, EmptyCaptureIsAGoodFile) {
  {
    LinkCapture capture(path);
    capture.attach(up);
  }
  EXPECT_EQ(tshark(path, {"frame.number"}).size(), 0u);
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST_F(CaptureTest, AFileThatCannotBeCreatedIsNamed) {
  for (const char* bad : {"/no/such/folder/x.pcapng", "/", ""}) {
    const std::string e = error_of([&] { LinkCapture capture(bad); });
    EXPECT_THAT(e, HasSubstr(std::string(bad) + ": cannot be opened"));
  }
}

TEST_F(CaptureTest, AFullDiskIsNamedOnceInMidRunAndAtTheEnd) {
  LinkCapture capture("/dev/full");
  std::vector<std::string> told;
  capture.on_error([&](const std::string& e) { told.push_back(e); });
  capture.attach(up);
  Cycle now = 0;
  for (uint32_t psn = 0; psn < 100; ++psn) now = send(up, now, frame_of(PktOp::kWrite, 4096, psn));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("/dev/full: cannot be written: No space left"));
  EXPECT_EQ(error_of([&] { capture.close(); }), told[0]);
}

TEST_F(CaptureTest, AFullDiskIsFoundWhenTheLastBytesLeave) {
  LinkCapture capture("/dev/full");
  capture.attach(up);
  send(up, 0, frame_of(PktOp::kAck, 0, 0));
  EXPECT_THAT(error_of([&] { capture.close(); }), HasSubstr("/dev/full: cannot be written"));
  EXPECT_EQ(error_of([&] { capture.close(); }), "");  // said once
}

}  // namespace
}  // namespace ubl::systemc
