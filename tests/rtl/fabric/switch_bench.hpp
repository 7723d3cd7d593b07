// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Drives a Verilated ubl_switch cycle by cycle and checks everything that leaves it against a
// model written from the contract: order per (input, output, VC), every byte, credits, framing.
#pragma once

#include <verilated.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "ubl/spec/fabric.hpp"
#include "ubl/spec/link.hpp"

namespace fabric {

namespace spec = ubl::spec;
constexpr int kVcs = spec::kLinkNumVc;
constexpr int kFlitBytes = spec::kLinkFlitBytes;

// --- Ports of any width ---
template <class T>
void put(T& port, unsigned lsb, unsigned width, uint64_t value) {
  const uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  port = static_cast<T>((static_cast<uint64_t>(port) & ~(mask << lsb)) | ((value & mask) << lsb));
}
template <std::size_t N>
void put(VlWide<N>& port, unsigned lsb, unsigned width, uint64_t value) {
  for (unsigned b = 0; b < width; ++b) {  // narrow fields only
    const unsigned at = lsb + b;
    const uint32_t bit = 1u << (at % 32);
    if ((value >> b) & 1)
      port.m_storage[at / 32] |= bit;
    else
      port.m_storage[at / 32] &= ~bit;
  }
}
template <class T>
uint64_t get(const T& port, unsigned lsb, unsigned width) {
  return (static_cast<uint64_t>(port) >> lsb) & (width == 64 ? ~0ull : (1ull << width) - 1);
}
template <std::size_t N>
uint64_t get(const VlWide<N>& port, unsigned lsb, unsigned width) {
  uint64_t value = port.m_storage[lsb / 32] >> (lsb % 32);
  if (lsb % 32 + width > 32) value |= uint64_t{port.m_storage[lsb / 32 + 1]} << (32 - lsb % 32);
  return value & ((1ull << width) - 1);
}
template <class T>
void clear(T& port) {
  port = 0;
}
template <std::size_t N>
void clear(VlWide<N>& port) {
  std::memset(port.m_storage, 0, sizeof port.m_storage);
}

// --- Frames ---
inline uint32_t crc32(const uint8_t* data, std::size_t n) {
  return static_cast<uint32_t>(::crc32(0, data, static_cast<uInt>(n)));
}

inline uint16_t ip_checksum(const uint8_t* header) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < spec::kLinkIpBytes; i += 2) sum += header[i] << 8 | header[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

struct Frame {
  int in = 0;
  int out = 0;
  int vc = 0;
  uint64_t id = 0;             // carried in the payload if the frame is long enough
  uint64_t sent_at = 0;        // cycle of its first flit
  std::vector<uint8_t> bytes;  // with FCS
  int flits() const { return (static_cast<int>(bytes.size()) + kFlitBytes - 1) / kFlitBytes; }
};

struct FrameOptions {
  int plane = 0;
  int ecn = 0;
  uint16_t ether_type = spec::kLinkEtherTypeIpv4;
  int net = spec::kLinkIpNet;
};

// A frame of `size` bytes (>= 38: Ethernet, IPv4, FCS) from `in` to node `node`.
inline Frame make_frame(int in, int node, int vc, int size, uint64_t id, std::mt19937_64& rng,
                        const FrameOptions& o = {}) {
  Frame f;
  f.in = in;
  f.out = node;
  f.vc = vc;
  f.id = id;
  f.bytes.resize(size);
  for (int i = 0; i < size; i += 8) {
    const uint64_t r = rng();
    std::memcpy(&f.bytes[i], &r, std::min(8, size - i));
  }
  spec::Eth eth;
  eth.dst_mac = uint64_t{spec::kLinkMacPrefix} << 32 | o.plane << 16 | node;
  eth.src_mac = uint64_t{spec::kLinkMacPrefix} << 32 | o.plane << 16 | in;
  eth.ether_type = o.ether_type;
  eth.pack(f.bytes.data());
  spec::Ipv4 ip;
  ip.version = 4;
  ip.ihl = 5;
  ip.dscp = 8 * vc;
  ip.ecn = o.ecn;
  ip.total_length = size - spec::kLinkEthBytes - spec::kLinkFcsBytes;
  ip.flags = spec::kLinkIpFlagsDf;
  ip.ttl = spec::kLinkIpTtl;
  ip.protocol = spec::kLinkIpProtocolUdp;
  ip.src = uint32_t(o.net) << 24 | o.plane << 16 | in;
  ip.dst = uint32_t(o.net) << 24 | o.plane << 16 | node;
  uint8_t* header = f.bytes.data() + spec::kLinkEthBytes;
  ip.pack(header);
  ip.checksum = ip_checksum(header);
  ip.pack(header);
  if (size >= 54) std::memcpy(&f.bytes[42], &id, 8);
  const uint32_t fcs = crc32(f.bytes.data(), size - 4);
  for (int i = 0; i < 4; ++i) f.bytes[size - 4 + i] = static_cast<uint8_t>(fcs >> (8 * i));
  return f;
}

// --- What becomes of bad frames ---
inline uint32_t fcs_of(const Frame& f) {
  uint32_t fcs = 0;
  for (int i = 0; i < 4; ++i) fcs |= uint32_t{f.bytes[f.bytes.size() - 4 + i]} << (8 * i);
  return fcs;
}
inline void set_fcs(Frame& f, uint32_t fcs) {
  for (int i = 0; i < 4; ++i)
    f.bytes[f.bytes.size() - 4 + i] = static_cast<uint8_t>(fcs >> (8 * i));
}
inline uint32_t right_fcs(const Frame& f) { return crc32(f.bytes.data(), f.bytes.size() - 4); }
inline bool good_fcs(const Frame& f) { return fcs_of(f) == right_fcs(f); }
// The bytes of the FCS that are in the last flit.
inline uint32_t last_flit_mask(const Frame& f) {
  const int fill = (static_cast<int>(f.bytes.size()) - 1) % kFlitBytes + 1;
  return fill >= 4 ? ~0u : ~0u << (8 * (4 - fill));
}
inline bool is_stomped(const Frame& f) {
  return ((fcs_of(f) ^ ~right_fcs(f)) & last_flit_mask(f)) == 0;
}
inline Frame stomp(Frame f) {
  const uint32_t mask = last_flit_mask(f);
  set_fcs(f, (fcs_of(f) & ~mask) | (~right_fcs(f) & mask));
  return f;
}

// Size in bytes of a frame of `flits` flits; `fill` bytes in the last one (1..64).
inline int size_of(int flits, int fill = 64) { return (flits - 1) * kFlitBytes + fill; }

struct Flit {
  bool sop = false;
  bool eop = false;
  int vc = 0;
  int empty = 0;
  std::array<uint32_t, kFlitBytes / 4> data{};
};

inline Flit flit_of(const Frame& f, int k) {
  Flit t;
  const int n = f.flits();
  t.sop = k == 0;
  t.eop = k == n - 1;
  t.vc = f.vc;
  const int here = std::min<int>(kFlitBytes, static_cast<int>(f.bytes.size()) - k * kFlitBytes);
  t.empty = t.eop ? kFlitBytes - here : 0;
  std::memcpy(t.data.data(), f.bytes.data() + k * kFlitBytes, here);
  return t;
}

// --- Bench ---
// One at a time: Verilator 5.006 frees a model through the context that was made last.
template <class Dut, int R>
class Bench {
 public:
  static constexpr int kRadix = R;
  static constexpr int kDepth = spec::kLinkVcDepth;

  // How a receiver gives credits back: each flit's credit after a delay drawn by this function;
  // negative = withheld until release().
  std::function<int(int out, int vc)> credit_delay = [](int, int) { return 0; };
  // Chance of a bubble before each flit of a sender, in 1/256.
  int bubbles = 0;
  // Order in which a sender takes its frames: by VC queue, chosen at random, or priority.
  bool random_vc = false;
  // Frames are compared with the golden queues; off for tests that break the protocol.
  bool check_frames = true;
  // Does not evaluate the switch while idle_o is high and no input arrives.
  bool skip_idle = false;
  uint64_t skipped = 0;
  // Called for each frame that leaves (before the comparison), with the cycle of its first flit.
  std::function<void(int out, const Frame& got, uint64_t first)> on_frame;
  // Bytes that may differ: golden frame is transformed before it is compared.
  std::function<bool(const Frame& want, const Frame& got)> same =
      [](const Frame& want, const Frame& got) { return want.bytes == got.bytes; };

  explicit Bench(uint64_t seed = 1) : rng(seed) {
    context_.randReset(2);  // registers without reset start with random bits
    context_.randSeed(static_cast<int>(seed));
    dut = std::make_unique<Dut>(&context_);
    dut->clk_i = 0;
    dut->rst_ni = 1;
    dut->plane_i = 0;
    dut->now_i = 0;
    dut->ecn_kmin_i = 0xffff;
    dut->ecn_kmax_i = 0xffff;
    dut->cfg_we_i = 0;
    dut->cfg_addr_i = 0;
    dut->cfg_wdata_i = 0;
    reset();
  }
  ~Bench() { dut->final(); }

  void reset() {
    idle_inputs();
    dut->rst_ni = 0;
    dut->clk_i = 0;
    dut->eval();
    for (int k = 0; k < 3; ++k) {
      dut->clk_i = 1;
      dut->eval();
      dut->clk_i = 0;
      dut->eval();
    }
    dut->rst_ni = 1;
    dut->eval();
    for (auto& p : port_) p = Port{};
    for (auto& q : golden_) q.clear();
    outstanding = 0;
    errors.clear();
    last_progress_ = cycle_;
  }

  void route(int node, int port) {
    dut->cfg_we_i = 1;
    dut->cfg_addr_i = node;
    dut->cfg_wdata_i = port;
    dut->clk_i = 1;
    dut->eval();
    dut->clk_i = 0;
    dut->eval();
    dut->cfg_we_i = 0;
  }

  // Queues a frame at its input; `deliver` = expected at output `f.out`.
  void send(Frame f, bool deliver = true) {
    auto shared = std::make_shared<Frame>(std::move(f));
    port_[shared->in].queue[shared->vc].push_back({shared, deliver});
    if (deliver) ++outstanding;
  }
  int backlog(int in) const {
    int n = 0;
    for (const auto& q : port_[in].queue) n += static_cast<int>(q.size());
    return n;
  }

  // Puts one raw flit on the wire in the next step (bypasses the sender; takes its credit).
  void raw(int in, const Flit& f, bool take_credit = true) {
    port_[in].raw.push_back(f);
    if (take_credit && f.vc < kVcs) --port_[in].credit[f.vc];
  }

  int credits(int in, int vc) const { return port_[in].credit[vc]; }

  // Gives back every withheld credit of (out, vc).
  void release(int out, int vc, int n = 1 << 30) {
    Port& p = port_[out];
    while (p.held[vc] > 0 && n-- > 0) {
      --p.held[vc];
      p.give[vc].push_back(cycle_);
    }
  }
  void extra_credit(int out, int vc) { port_[out].extra[vc] = true; }

  // One clock cycle.
  void step() {
    idle_inputs();
    for (int i = 0; i < R; ++i) drive(i);
    dut->now_i = cycle_;
    if (skip_idle && dut->idle_o && quiet_) {
      ++skipped;
    } else {
      dut->clk_i = 1;
      dut->eval();
      dut->clk_i = 0;
      dut->eval();
    }
    ++cycle_;
    for (int o = 0; o < R; ++o) sample(o);
  }

  // Runs until everything queued was delivered and the switch is idle, or nothing moves any more.
  bool drain(uint64_t patience = 5000) {
    const uint64_t from = cycle_;
    last_progress_ = cycle_;
    while (!(outstanding == 0 && senders_empty() && dut->idle_o && !receiving())) {
      step();
      if (cycle_ - last_progress_ > patience) {
        fail("no progress for " + std::to_string(patience) + " cycles (started at " +
             std::to_string(from) + ")\n" + report());
        return false;
      }
    }
    return true;
  }
  void run(int cycles) {
    for (int k = 0; k < cycles; ++k) step();
  }
  // Runs `cycles` but stops with a report when nothing leaves for `patience` cycles.
  bool run_alive(int cycles, uint64_t patience = 5000) {
    last_progress_ = cycle_;
    for (int k = 0; k < cycles; ++k) {
      step();
      if (cycle_ - last_progress_ > patience) {
        fail("no progress\n" + report());
        return false;
      }
    }
    return true;
  }

  // After drain(): every credit is home on both sides.
  void expect_home() {
    for (int i = 0; i < R; ++i) {
      for (int v = 0; v < kVcs; ++v) {
        if (port_[i].credit[v] != kDepth) {
          fail("input " + std::to_string(i) + " vc " + std::to_string(v) + " holds " +
               std::to_string(port_[i].credit[v]) + " of its credits");
        }
      }
    }
    if (!dut->idle_o) fail("not idle");
  }

  std::string report() const {
    std::ostringstream s;
    s << "cycle " << cycle_ << ", outstanding " << outstanding << ", idle " << int(dut->idle_o)
      << "\n";
    for (int i = 0; i < R; ++i) {
      const Port& p = port_[i];
      s << "  port " << i << ": to send";
      for (const auto& q : p.queue) s << " " << q.size();
      s << ", credits";
      for (int c : p.credit) s << " " << c;
      s << "; receiver room";
      for (int c : p.room) s << " " << c;
      s << ", withheld";
      for (int c : p.held) s << " " << c;
      s << (p.open ? ", in a frame" : "") << "; expected here";
      for (int v = 0; v < kVcs; ++v) {
        std::size_t n = 0;
        for (int j = 0; j < R; ++j) n += golden_[flow(j, i, v)].size();
        s << " " << n;
      }
      s << "\n";
    }
    return s.str();
  }

  void fail(const std::string& text) {
    if (failures.size() < 20) failures.push_back("cycle " + std::to_string(cycle_) + ": " + text);
    last_progress_ = cycle_;
  }

  struct Error {
    uint64_t cycle;
    int port;
    spec::SwitchErr code;
  };

  uint64_t cycle() const { return cycle_; }
  VerilatedContext context_;  // before the model that uses it
  std::mt19937_64 rng;
  std::unique_ptr<Dut> dut;
  int64_t outstanding = 0;  // frames that must still leave
  std::vector<Error> errors;
  std::vector<std::string> failures;
  std::array<uint64_t, R> flits_out{};  // per output
  std::array<std::array<uint64_t, R>, R> flits_from_to{};

 private:
  struct Queued {
    std::shared_ptr<Frame> frame;
    bool deliver;
  };
  struct Port {
    // Sender towards the switch.
    std::array<std::deque<Queued>, kVcs> queue;
    std::array<int, kVcs> credit{kDepth, kDepth, kDepth};
    std::shared_ptr<Frame> sending;
    int next_flit = 0;
    std::deque<Flit> raw;
    // Receiver from the switch.
    std::array<int, kVcs> room{kDepth, kDepth, kDepth};  // credits the switch holds
    std::array<std::deque<uint64_t>, kVcs> give;         // cycles at which credits go back
    std::array<int, kVcs> held{};
    std::array<bool, kVcs> extra{};
    bool open = false;
    Frame got;
    int got_flits = 0;
    uint64_t first = 0;
  };

  static int flow(int in, int out, int vc) { return (in * R + out) * kVcs + vc; }

  void idle_inputs() {
    quiet_ = true;
    clear(dut->rx_valid_i);
    clear(dut->tx_credit_i);
  }

  void put_flit(int i, const Flit& f) {
    quiet_ = false;
    put(dut->rx_valid_i, i, 1, 1);
    put(dut->rx_meta_i, i * 10, 10, f.sop << 9 | f.eop << 8 | f.vc << 6 | f.empty);
    std::memcpy(&dut->rx_data_i.m_storage[i * 16], f.data.data(), kFlitBytes);
  }

  void drive(int i) {
    Port& p = port_[i];
    for (int v = 0; v < kVcs; ++v) {
      if (p.extra[v]) {
        put(dut->tx_credit_i, i * 3 + v, 1, 1);
        quiet_ = false;
        p.extra[v] = false;
      } else if (!p.give[v].empty() && p.give[v].front() <= cycle_) {
        p.give[v].pop_front();
        put(dut->tx_credit_i, i * 3 + v, 1, 1);
        quiet_ = false;
        ++p.room[v];
      }
    }
    if (!p.raw.empty()) {
      put_flit(i, p.raw.front());
      p.raw.pop_front();
      return;
    }
    if (bubbles && static_cast<int>(rng() & 255) < bubbles) return;
    if (!p.sending) {
      static constexpr int kOrder[kVcs] = {static_cast<int>(spec::Vc::kRsp),
                                           static_cast<int>(spec::Vc::kReq),
                                           static_cast<int>(spec::Vc::kBulk)};
      const int start = random_vc ? static_cast<int>(rng() % kVcs) : 0;
      for (int k = 0; k < kVcs && !p.sending; ++k) {
        const int v = kOrder[(start + k) % kVcs];
        if (p.queue[v].empty() || p.credit[v] < p.queue[v].front().frame->flits()) continue;
        Queued q = p.queue[v].front();
        p.queue[v].pop_front();
        p.sending = q.frame;
        p.next_flit = 0;
        q.frame->sent_at = cycle_;
        if (q.deliver) {
          const bool good = good_fcs(*q.frame);
          golden_[flow(i, q.frame->out, v)].push_back(
              good ? q.frame : std::make_shared<Frame>(stomp(*q.frame)));
        }
      }
    }
    if (!p.sending) return;
    put_flit(i, flit_of(*p.sending, p.next_flit));
    --p.credit[p.sending->vc];
    if (++p.next_flit == p.sending->flits()) p.sending.reset();
  }

  void sample(int o) {
    Port& p = port_[o];
    for (int v = 0; v < kVcs; ++v) {
      if (get(dut->rx_credit_o, o * 3 + v, 1)) {
        ++p.credit[v];
        if (p.credit[v] > kDepth) fail("too many credits at input " + std::to_string(o));
      }
    }
    if (get(dut->err_valid_o, o, 1)) {
      errors.push_back({cycle_, o, static_cast<spec::SwitchErr>(get(dut->err_code_o, o * 4, 4))});
      last_progress_ = cycle_;
    }
    if (!get(dut->tx_valid_o, o, 1)) return;
    last_progress_ = cycle_;
    ++flits_out[o];
    const unsigned meta = static_cast<unsigned>(get(dut->tx_meta_o, o * 10, 10));
    const bool sop = meta >> 9;
    const bool eop = meta >> 8 & 1;
    const int vc = meta >> 6 & 3;
    const int empty = meta & 63;
    const std::string where = "output " + std::to_string(o) + ": ";
    if (vc >= kVcs) return fail(where + "vc 3");
    if (sop == p.open) fail(where + (sop ? "sop within a frame" : "flit without sop"));
    if (!sop && vc != p.got.vc) fail(where + "vc changed within a frame");
    if (!eop && empty) fail(where + "empty bytes before the end");
    uint8_t data[kFlitBytes];
    std::memcpy(data, &dut->tx_data_o.m_storage[o * 16], kFlitBytes);
    if (sop) {
      p.got = Frame{};
      p.got.vc = vc;
      p.got_flits = 0;
      p.first = cycle_;
      const int total = data[16] << 8 | data[17];
      const int flits = (total + 14 + 4 + kFlitBytes - 1) / kFlitBytes;
      if (p.room[vc] < flits) fail(where + "frame begun without credits for all of it");
    }
    p.open = !eop;
    p.got.bytes.insert(p.got.bytes.end(), data, data + kFlitBytes - empty);
    for (int b = kFlitBytes - empty; b < kFlitBytes; ++b) {
      if (data[b]) {
        fail(where + "unused bytes not zero");
        break;
      }
    }
    ++p.got_flits;
    if (--p.room[vc] < 0) fail(where + "flit without a credit");
    const int delay = credit_delay(o, vc);
    if (delay < 0)
      ++p.held[vc];
    else
      p.give[vc].push_back(cycle_ + delay);
    if (eop) finish(o);
  }

  void finish(int o) {
    Port& p = port_[o];
    const std::string where = "output " + std::to_string(o) + ": ";
    if (p.got.bytes.size() < 38) return fail(where + "short frame");
    p.got.in = p.got.bytes[10] << 8 | p.got.bytes[11];
    p.got.out = o;
    if (p.got.in < R) flits_from_to[p.got.in][o] += p.got_flits;
    // Whatever came in: a frame is right, or wrong for certain.
    const int length = (p.got.bytes[16] << 8 | p.got.bytes[17]) + 18;
    if (!is_stomped(p.got) && !(good_fcs(p.got) && length == int(p.got.bytes.size())))
      fail(where + "frame of " + std::to_string(p.got.bytes.size()) + " bytes, " +
           std::to_string(length) + " by its header, neither good nor stomped");
    if (on_frame) on_frame(o, p.got, p.first);
    if (!check_frames) return;
    if (p.got.in >= R) return fail(where + "source " + std::to_string(p.got.in));
    auto& q = golden_[flow(p.got.in, o, p.got.vc)];
    if (q.empty()) {
      return fail(where + "frame from " + std::to_string(p.got.in) + " that nobody sent");
    }
    if (!same(*q.front(), p.got)) {
      std::size_t at = 0;
      while (at < q.front()->bytes.size() && at < p.got.bytes.size() &&
             q.front()->bytes[at] == p.got.bytes[at])
        ++at;
      fail(where + "frame " + std::to_string(q.front()->id) + " from " + std::to_string(p.got.in) +
           " vc " + std::to_string(p.got.vc) + " differs at byte " + std::to_string(at) +
           ", size " + std::to_string(p.got.bytes.size()) + " for " +
           std::to_string(q.front()->bytes.size()));
    }
    q.pop_front();
    --outstanding;
  }

  bool senders_empty() const {
    for (const auto& p : port_) {
      if (p.sending || !p.raw.empty()) return false;
      for (const auto& q : p.queue)
        if (!q.empty()) return false;
    }
    return true;
  }
  bool receiving() const {
    for (const auto& p : port_) {
      for (const auto& g : p.give)
        if (!g.empty()) return true;
    }
    return false;
  }

  std::array<Port, R> port_;
  std::array<std::deque<std::shared_ptr<Frame>>, R * R * kVcs> golden_;
  bool quiet_ = true;  // no input in this cycle
  uint64_t cycle_ = 0;
  uint64_t last_progress_ = 0;
};

}  // namespace fabric
