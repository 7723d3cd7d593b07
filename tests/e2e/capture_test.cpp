// SPDX-License-Identifier: Apache-2.0
// `ublsim run ... --pcap`: what Wireshark and scapy, which nobody here wrote, find in a capture.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ubl/test/tshark.hpp"
#include "ublsim.hpp"

namespace ubl::e2e {
namespace {

using test::tshark;
using ::testing::HasSubstr;

constexpr uint64_t kPsnMask = 0xFFFFFF;

struct Packet {
  std::string interface, time, src, dst;
  uint64_t bytes, opcode, psn, src_qp, dst_qp;
  bool fcs_good, ip_good;
  bool up() const { return interface.substr(interface.rfind('.')) == ".up"; }
  bool ack() const { return opcode == 17; }
};

uint64_t number(const std::string& text) { return std::stoull(text, nullptr, 0); }

std::vector<Packet> packets(const std::string& file) {
  std::vector<Packet> out;
  for (const auto& r :
       tshark(file, {"frame.interface_name", "frame.time_epoch", "frame.len", "ip.src", "ip.dst",
                     "udp.srcport", "infiniband.bth.opcode", "infiniband.bth.psn",
                     "infiniband.bth.destqp", "eth.fcs.status", "ip.checksum.status"}))
    out.push_back({r.at(0), r.at(1), r.at(3), r.at(4), number(r.at(2)), number(r.at(6)),
                   number(r.at(7)), number(r.at(5)) & 0x3FFF, number(r.at(8)), r.at(9) == "1",
                   r.at(10) == "1"});
  return out;
}

void expect_nothing_malformed(const std::string& file, const std::vector<Packet>& packets) {
  for (const char* filter : {"_ws.malformed", "_ws.short", "_ws.expert.severity >= 0x600000"})
    EXPECT_THAT(tshark(file, {"frame.number"}, filter), ::testing::IsEmpty()) << filter;
  for (const auto& p : packets) {
    EXPECT_TRUE(p.fcs_good) << p.time;
    EXPECT_TRUE(p.ip_good) << p.time;
  }
}

void expect_scapy_computes_the_same_icrcs(const std::string& file, size_t frames) {
  const std::string line = fmt::format("'{}' '{}' 2>&1", UBL_CHECK_ICRC, file);
  FILE* p = popen(line.c_str(), "r");
  ASSERT_NE(p, nullptr);
  std::string out;
  char buffer[4096];
  size_t n = 0;
  while ((n = fread(buffer, 1, sizeof(buffer), p)) > 0) out.append(buffer, n);
  EXPECT_EQ(pclose(p), 0) << out;
  EXPECT_THAT(out, HasSubstr(fmt::format("{} frames, 0 wrong", frames)));
}

const std::string kRun = "run allreduce --cards 3 --bytes 20000 --planes 1 -q";

class Capture : public ::testing::Test {
 protected:
  /// One run for all tests that only look.
  static void SetUpTestSuite() {
    file_ = new TempFile;
    run_ = new Outcome(ublsim(kRun + " --pcap " + file_->path()));
    if (run_->exit_code == 0) packets_ = new std::vector<Packet>(packets(file_->path()));
  }
  static void TearDownTestSuite() {
    delete packets_;
    delete run_;
    delete file_;
  }
  void SetUp() override { ASSERT_TRUE(verified(*run_)); }

  static inline TempFile* file_ = nullptr;
  static inline Outcome* run_ = nullptr;
  static inline std::vector<Packet>* packets_ = nullptr;
};

TEST_F(Capture, ChangesNothing) {
  const Outcome plain = ublsim(kRun);
  ASSERT_TRUE(verified(plain));
  EXPECT_EQ(plain.json["run_hash"], run_->json["run_hash"]);
  EXPECT_EQ(plain.json["cycles"], run_->json["cycles"]);
}

TEST_F(Capture, IsWhole) {
  // Every link has its interface, and on it what the link itself has counted.
  std::map<std::string, std::pair<uint64_t, uint64_t>> seen;
  for (const auto& p : *packets_) {
    ++seen[p.interface].first;
    seen[p.interface].second += p.bytes;
  }
  ASSERT_EQ(run_->json["links"].size(), 6u);
  for (const auto& link : run_->json["links"]) {
    const std::string name = link["name"];
    EXPECT_GT(seen[name].first, 0u) << name;
    EXPECT_EQ(seen[name].first, link["frames"]) << name;
    EXPECT_EQ(seen[name].second, link["bytes"]) << name;
  }
}

TEST_F(Capture, NothingIsMalformed) { expect_nothing_malformed(file_->path(), *packets_); }

TEST_F(Capture, OpcodesOfARing) {
  std::set<uint64_t> opcodes;
  for (const auto& p : *packets_) opcodes.insert(p.opcode);
  EXPECT_EQ(opcodes, (std::set<uint64_t>{10, 11, 17, 0xC0, 0xC1}));
}

TEST_F(Capture, PsnsHaveNoGap) {
  std::map<std::pair<std::string, uint64_t>, std::vector<uint64_t>> requests;
  std::map<std::pair<std::string, uint64_t>, uint64_t> acknowledged;
  for (const auto& p : *packets_) {
    if (!p.up()) continue;
    const std::pair<std::string, uint64_t> flow{p.src, p.src_qp};
    if (!p.ack()) {
      requests[flow].push_back(p.psn);
      continue;
    }
    const auto before = acknowledged.find(flow);
    if (before != acknowledged.end()) {
      EXPECT_LT((p.psn - before->second) & kPsnMask, kPsnMask / 2) << "acknowledgement goes back";
    }
    acknowledged[flow] = p.psn;
  }
  EXPECT_GE(requests.size(), 3u);
  for (const auto& [flow, psns] : requests)
    for (size_t i = 1; i < psns.size(); ++i)
      EXPECT_EQ(psns[i], (psns[i - 1] + 1) & kPsnMask)
          << flow.first << " QP " << flow.second << ", packet " << i;
}

TEST_F(Capture, TimeNeverGoesBack) {
  for (size_t i = 1; i < packets_->size(); ++i)
    EXPECT_LE(std::stold((*packets_)[i - 1].time), std::stold((*packets_)[i].time));
}

TEST_F(Capture, WhatGoesUpComesDownAtItsDestination) {
  using Key = std::tuple<std::string, std::string, uint64_t, uint64_t, uint64_t, uint64_t>;
  std::map<Key, long double> on_the_way;
  for (const auto& p : *packets_) {
    const Key key{p.src, p.dst, p.dst_qp, p.opcode, p.psn, p.bytes};
    if (p.up()) {
      EXPECT_TRUE(on_the_way.emplace(key, std::stold(p.time)).second);
      continue;
    }
    // 10.plane.0.node arrives at card<node>.plane<plane>.down.
    unsigned plane = 0, high = 0, low = 0;
    ASSERT_EQ(std::sscanf(p.dst.c_str(), "10.%u.%u.%u", &plane, &high, &low), 3);
    EXPECT_EQ(p.interface, fmt::format("card{}.plane{}.down", high * 256 + low, plane));
    const auto it = on_the_way.find(key);
    ASSERT_NE(it, on_the_way.end()) << p.time;
    // The lower tap is at the switch's output: the cable before it and the switch's own pipeline
    // lie between the taps.
    EXPECT_GE(std::stold(p.time) - it->second, 150e-9L);
    on_the_way.erase(it);
  }
  EXPECT_TRUE(on_the_way.empty());
}

TEST_F(Capture, ScapyComputesTheSameIcrcs) {
  expect_scapy_computes_the_same_icrcs(file_->path(), packets_->size());
}

TEST(CaptureOfRead, ResponsesAnswerTheRequestsInOrder) {
  const TempFile file;
  ASSERT_TRUE(
      verified(ublsim("run read --cards 2 --planes 1 --bytes 20001 -q --pcap " + file.path())));
  const auto all = packets(file.path());
  expect_nothing_malformed(file.path(), all);
  expect_scapy_computes_the_same_icrcs(file.path(), all.size());
  constexpr uint64_t kRequest = 12, kResponse = 16;
  for (const unsigned card : {0u, 1u}) {
    const std::string up = fmt::format("card{}.plane0.up", card);
    std::vector<uint64_t> asked, answered;
    for (const auto& p : all) {
      EXPECT_TRUE(p.opcode == kRequest || p.opcode == kResponse) << p.opcode;
      if (p.opcode == kRequest && p.interface == up) asked.push_back(p.psn);
      if (p.opcode != kResponse || p.interface != fmt::format("card{}.plane0.down", card)) continue;
      EXPECT_LT(answered.size(), asked.size()) << "an answer before its request";
      answered.push_back(p.psn);
    }
    EXPECT_EQ(asked, (std::vector<uint64_t>{0, 1, 2, 3, 4}));  // one a piece of 4096 bytes
    EXPECT_EQ(answered, asked);
    std::vector<uint64_t> wanted;
    for (const auto& r : tshark(file.path(), {"infiniband.reth.dmalen"},
                                "frame.interface_name == \"" + up + "\" && infiniband.reth"))
      wanted.push_back(number(r.at(0)));
    EXPECT_EQ(wanted, (std::vector<uint64_t>{4096, 4096, 4096, 4096, 20001 - 4 * 4096}));
  }
}

TEST(CaptureOfSend, MessagesFollowEachOtherInPieces) {
  const TempFile file;
  ASSERT_TRUE(
      verified(ublsim("run sendmsg --cards 2 --planes 3 --bytes 200001 -q --pcap " + file.path())));
  const auto all = packets(file.path());
  expect_nothing_malformed(file.path(), all);
  expect_scapy_computes_the_same_icrcs(file.path(), all.size());
  constexpr uint64_t kSend = 4, kSendImm = 5;
  std::set<uint64_t> opcodes;
  for (const auto& p : all) opcodes.insert(p.opcode);
  EXPECT_EQ(opcodes, (std::set<uint64_t>{kSend, kSendImm, 17}));
  for (const unsigned card : {0u, 1u}) {
    // To QP 2, on all planes: to Wireshark QPs 0 and 1 are those of the management.
    const std::string filter = fmt::format(
        "frame.interface_name in {{\"card{0}.plane0.up\", \"card{0}.plane1.up\", "
        "\"card{0}.plane2.up\"}} && infiniband.bth.opcode in {{4, 5}} && "
        "infiniband.bth.destqp == 2",
        card);
    // Wireshark knows no SENDH: it is the start of the data; padding is the end of it.
    uint64_t psn = 200, messages = 0, at = 0, total = 0;
    auto frames = tshark(file.path(),
                         {"infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.padcnt",
                          "infiniband.immdt", "data.data"},
                         filter);
    std::sort(frames.begin(), frames.end(),
              [](const auto& a, const auto& b) { return number(a.at(1)) < number(b.at(1)); });
    for (const auto& r : frames) {
      const auto word = [&r](size_t i) {
        return std::stoull(r.at(4).substr(8 * i, 8), nullptr, 16);
      };
      const uint64_t length = word(2);
      const uint64_t payload = r.at(4).size() / 2 - 12 - number(r.at(2));
      EXPECT_EQ(number(r.at(1)), psn++);
      EXPECT_EQ(word(0), messages);
      EXPECT_EQ(word(1), at);
      at += payload;
      total += payload;
      const bool last = at == length;
      EXPECT_EQ(payload == 4096 || last, true) << payload;
      EXPECT_EQ(number(r.at(0)), last && messages % 2 == 1 ? kSendImm : kSend);
      EXPECT_EQ(r.at(3).empty(), number(r.at(0)) == kSend);
      if (!last) continue;
      ++messages;
      at = 0;
    }
    EXPECT_EQ(total, 200001u - 2 * 66688);  // two shares of whole 64 bytes, and the rest
    EXPECT_GE(messages, 10u);
  }
}

TEST(CaptureWithFaults, ShowsTheFaultWhereItIs) {
  const TempFile faults("- what: corrupt\n  where: card0.plane0.up\n  frame: 3\n  byte: 100\n");
  const TempFile file;
  const Outcome r = ublsim("run allreduce --cards 2 --bytes 262144 -q --faults " + faults.path() +
                           " --pcap " + file.path());
  EXPECT_TRUE(verified(r));
  unsigned frame = 0, bad = 0;
  std::string psn;
  for (const auto& p : packets(file.path())) {
    if (p.interface == "card0.plane0.up") {
      EXPECT_EQ(p.fcs_good, frame != 3) << frame;
      if (frame == 3) psn = std::to_string(p.psn);
      ++frame;
    } else if (p.interface == "card1.plane0.down" && !p.fcs_good) {
      EXPECT_EQ(std::to_string(p.psn), psn);  // never healed on the way
      ++bad;
    }
  }
  EXPECT_EQ(bad, 1u);
  EXPECT_GT(frame, 3u);
  EXPECT_THAT(r.json["events"].dump(), HasSubstr("PSN " + psn));
}

// What arrives at the far end of the link, in its order.
TEST(CaptureWithFaults, ShowsLostDoubledAndHeldFrames) {
  const auto psns = [](const std::string& faults, const std::string& link) {
    const TempFile f(faults), file;
    ublsim("run sendrecv --cards 2 --planes 1 --bytes 40960 -q --faults " + f.path() + " --pcap " +
           file.path());
    std::vector<uint64_t> v;
    for (const auto& p : packets(file.path())) {
      if (p.interface != link || p.ack()) continue;
      EXPECT_TRUE(p.fcs_good);
      v.push_back(p.psn);
    }
    return v;
  };
  const std::string at = "where: card0.plane0.up, vc: bulk, frame: 3";
  const auto all = psns("[]", "card0.plane0.up");
  ASSERT_GT(all.size(), 10u);
  auto want = all;
  want.erase(want.begin() + 3);
  want.push_back(all[3]);  // sent again
  for (const char* link : {"card0.plane0.up", "card1.plane0.down"})
    EXPECT_EQ(psns("- {what: drop, " + at + "}\n", link), want) << link;
  // Held back; and since it seems lost it is sent again, too.
  auto held = psns("- {what: reorder, by: 2, " + at + "}\n", "card0.plane0.up");
  want.pop_back();
  want.insert(want.begin() + 5, all[3]);
  ASSERT_GE(held.size(), want.size());
  EXPECT_EQ(std::vector<uint64_t>(held.begin(), held.begin() + static_cast<long>(want.size())),
            want);
  for (const char* link : {"card0.plane0.up", "card1.plane0.down"}) {
    auto twice = psns("- {what: duplicate, " + at + "}\n", link);
    ASSERT_EQ(twice.size(), all.size() + 1) << link;
    EXPECT_EQ(std::count(twice.begin(), twice.end(), all[3]), 2);
    twice.erase(std::find(twice.begin(), twice.end(), all[3]));
    std::sort(twice.begin(), twice.end());
    EXPECT_EQ(twice, all);
  }
}

TEST(CaptureErrors, AFileThatCannotBeWrittenIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"/no/such/folder/x.pcapng", "--pcap /no/such/folder/x.pcapng: cannot be opened"},
      {"/dev/full", "--pcap /dev/full: cannot be written"}};
  for (const auto& [path, words] : cases) {
    const Outcome r = ublsim(kRun + " --pcap " + path);
    EXPECT_TRUE(ends_with_status(r, 2));
    EXPECT_THAT(r.output, HasSubstr(words));
  }
}

}  // namespace
}  // namespace ubl::e2e
