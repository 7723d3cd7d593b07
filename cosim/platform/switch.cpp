// SPDX-License-Identifier: Apache-2.0
#include "platform/switch.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "platform/bits.hpp"
#include "platform/stimulus.hpp"
#include "ubl/spec/link.hpp"

namespace ubl::cosim {

using systemc::FlitWords;
using systemc::Link;

namespace {

template <typename Port>
uint8_t* raw(Port& p) {
  return reinterpret_cast<uint8_t*>(&p);
}
// Ports are handled in groups of 16, whose bits of every bundle begin at a whole byte.
constexpr unsigned kGroup = 16;
template <unsigned Bits, typename Port>
uint64_t load(Port& port, unsigned group) {
  static_assert(Bits * kGroup % 8 == 0 && Bits * kGroup <= 64);
  uint64_t v = 0;
  std::memcpy(&v, raw(port) + group * (Bits * kGroup / 8), Bits * kGroup / 8);
  return v;
}
template <unsigned Bits, typename Port>
void store(Port& port, unsigned group, uint64_t v) {
  static_assert(Bits * kGroup % 8 == 0 && Bits * kGroup <= 64);
  std::memcpy(raw(port) + group * (Bits * kGroup / 8), &v, Bits * kGroup / 8);
}
// A field of 10 bits: it begins at an even bit, so that it is within two bytes.
template <typename Port>
uint16_t get_meta(Port& port, unsigned p) {
  uint16_t v = 0;
  std::memcpy(&v, raw(port) + p * 10 / 8, sizeof(v));
  return static_cast<uint16_t>((v >> (p * 10 % 8)) & 0x3FFu);
}
template <typename Port>
void set_meta(Port& port, unsigned p, unsigned value) {
  uint16_t v = 0;
  uint8_t* at = raw(port) + p * 10 / 8;
  std::memcpy(&v, at, sizeof(v));
  v = static_cast<uint16_t>((v & ~(0x3FFu << (p * 10 % 8))) | (value << (p * 10 % 8)));
  std::memcpy(at, &v, sizeof(v));
}
/// Calls f(port) for every set bit of a mask of a group.
template <typename F>
void each_port(uint64_t mask, unsigned group, F&& f) {
  for (; mask != 0; mask &= mask - 1)
    f(group * kGroup + static_cast<unsigned>(__builtin_ctzll(mask)));
}

constexpr unsigned kMetaBits = 10;  // sop, eop, vc, empty: the flit flags without valid
constexpr unsigned kMetaMask = (1u << kMetaBits) - 1;
constexpr uint32_t kValid = 1u << (spec::Flit::kValidLsb - FlitWords::kFlagShift);
constexpr unsigned kSop = 1u << 9;
constexpr unsigned kEcnByte = spec::kLinkEthBytes + 1;
constexpr unsigned kDstNodeByte = spec::kLinkEthBytes + 18;  // low half of the IP destination
constexpr unsigned kEcnShift = kEcnByte % 4 * 8;
constexpr unsigned kCe = static_cast<unsigned>(spec::Ecn::kCe);
static_assert(kMetaBits == 10 && spec::kLinkNumVc == 3);

template <typename Model, unsigned Radix>
class RtlSwitch : public Switch {
 public:
  RtlSwitch(unsigned plane, bool skip, Stimulus* stimulus, const ShadowFactory* shadows,
            EcnThresholds ecn)
      : skip_(skip), in_(Radix), out_(Radix) {
    static_assert(Radix % kGroup == 0);
    flit_due_.fill(kNever);
    credits_due_.fill(kNever);
    recording_.begin<Model>(stimulus, shadows, "plane" + std::to_string(plane) + ".switch");
    for (unsigned n = 0; n < route_.size(); ++n) route_[n] = static_cast<uint8_t>(n);
    m_.plane_i = static_cast<CData>(plane);
    m_.ecn_kmin_i = ecn.kmin;
    m_.ecn_kmax_i = ecn.kmax;
    m_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) recording_.clock(m_, kNever);
    m_.rst_ni = 1;
  }
  void connect(unsigned port, Link* in, Link* out) override {
    in_[port] = in;
    out_[port] = out;
    in->watch_flits(&flit_due_[port]);
    out->watch_credits(&credits_due_[port]);
    if (port >= used_) used_ = port + 1;
  }
  void watch_queue(unsigned port) override {
    watched_.resize(Radix);
    watched_[port].on = true;
  }
  Queue& queue(unsigned port) override { return watched_.at(port).queue; }
  void set_route(unsigned node, unsigned port) override {
    if (node < route_.size()) route_[node] = static_cast<uint8_t>(port);
    m_.cfg_addr_i = static_cast<SData>(node);
    m_.cfg_wdata_i = static_cast<CData>(port);
    m_.cfg_we_i = 1;
    recording_.clock(m_, kNever);
    m_.cfg_we_i = 0;
  }
  unsigned radix() const override { return Radix; }
  bool idle() const override { return m_.idle_o != 0; }
  const std::vector<SwitchError>& errors() const override { return errors_; }
  uint64_t evals() const override { return evals_; }
  uint64_t marks() const override { return marks_; }

  void tick(Cycle now) override {
    bool input = false;
    const unsigned groups = (used_ + kGroup - 1) / kGroup;
    for (unsigned g = 0; g < groups; ++g) {
      uint64_t valid = 0, credits = 0;
      for (unsigned i = 0; i < kGroup; ++i) {
        const unsigned p = g * kGroup + i;
        if (flit_due_[p] <= now) {
          const FlitWords& f = in_[p]->flit();
          set_meta(m_.rx_meta_i, p, f.flags() & kMetaMask);
          std::memcpy(words(m_.rx_data_i) + p * 16, f.w.data(), 64);
          if (!watched_.empty()) arrives(p, f, now);
          in_[p]->pop_flit();
          valid |= uint64_t{1} << i;
        }
        if (credits_due_[p] <= now)
          credits |= uint64_t{out_[p]->take_credits()} << (i * spec::kLinkNumVc);
      }
      store<1>(m_.rx_valid_i, g, valid);
      store<spec::kLinkNumVc>(m_.tx_credit_i, g, credits);
      input = input || (valid | credits) != 0;
    }
    if (active_ || input || !skip_) {
      m_.now_i = now;
      ModelClock::Section models(model_clock_);
      recording_.clock(m_, now);
      models.end();
      ++evals_;
      for (unsigned g = 0; g < groups; ++g) {
        each_port(load<1>(m_.tx_valid_o, g), g, [&](unsigned p) {
          const unsigned meta = get_meta(m_.tx_meta_o, p);
          const uint32_t* data = words(m_.tx_data_o) + p * 16;
          if ((meta & kSop) != 0 && (data[kEcnByte / 4] >> kEcnShift & 3u) == kCe) ++marks_;
          if (out_[p] != nullptr) out_[p]->send(now, data, meta | kValid);
          if (!watched_.empty() && watched_[p].on) watched_[p].add(-1, now);
        });
        if (uint64_t c = load<spec::kLinkNumVc>(m_.rx_credit_o, g); c != 0)
          for (unsigned p = g * kGroup; c != 0; ++p, c >>= spec::kLinkNumVc)
            if ((c & 7u) != 0 && in_[p] != nullptr)
              in_[p]->return_credits(now, static_cast<uint8_t>(c & 7u));
        each_port(load<1>(m_.err_valid_o, g), g, [&](unsigned p) {
          errors_.push_back(
              {now, p, static_cast<unsigned>(load<4>(m_.err_code_o, g) >> (p % kGroup * 4)) & 15u});
        });
      }
      active_ = m_.idle_o == 0;
    }
    Cycle next = active_ ? now + 1 : kNever;
    for (unsigned p = 0; p < groups * kGroup; ++p)
      next = std::min(next, std::min(flit_due_[p], credits_due_[p]));
    wake_ = next;
  }

 private:
  struct Watched {
    bool on = false;
    uint64_t flits = 0;
    Cycle since = 0;
    Queue queue;
    void add(int64_t change, Cycle now) {
      if (flits != 0) {
        if (queue.cycles.size() <= flits) queue.cycles.resize(flits + 1);
        queue.cycles[flits] += now - since;
      }
      since = now;
      flits = static_cast<uint64_t>(std::max<int64_t>(0, static_cast<int64_t>(flits) + change));
      queue.peak = std::max(queue.peak, flits);
    }
  };
  void arrives(unsigned in, const FlitWords& f, Cycle now) {
    if ((f.flags() & kSop) != 0) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(f.w.data()) + kDstNodeByte;
      const unsigned node = unsigned{bytes[0]} << 8 | bytes[1];
      to_[in] = node < route_.size() ? route_[node] : static_cast<uint8_t>(kNoRoute);
    }
    if (to_[in] < Radix && watched_[to_[in]].on) watched_[to_[in]].add(1, now);
  }

  Model m_;
  Recording recording_;
  bool skip_;
  bool active_ = true;
  unsigned used_ = 0;
  uint64_t evals_ = 0;
  uint64_t marks_ = 0;
  std::vector<Link*> in_, out_;
  std::array<Cycle, Radix> flit_due_, credits_due_;  // of in_ and out_, kept by the links
  std::vector<SwitchError> errors_;
  std::array<uint8_t, 256> route_;   // by node
  std::array<uint8_t, Radix> to_{};  // output of the frame that arrives, by input
  std::vector<Watched> watched_;     // by output; empty: none is
};

}  // namespace

uint64_t Switch::Queue::quantile(double q) const {
  uint64_t all = 0, below = 0;
  for (const uint64_t c : cycles) all += c;
  for (size_t i = 0; i < cycles.size(); ++i) {
    below += cycles[i];
    if (all != 0 && static_cast<double>(below) >= q * static_cast<double>(all)) return i;
  }
  return 0;
}

std::unique_ptr<Switch> make_switch(unsigned radix, unsigned plane, bool skip, Stimulus* stimulus,
                                    const ShadowFactory* shadows, EcnThresholds ecn) {
  if (radix == 16)
    return std::make_unique<RtlSwitch<Vubl_switch16, 16>>(plane, skip, stimulus, shadows, ecn);
  if (radix == 128)
    return std::make_unique<RtlSwitch<Vubl_switch128, 128>>(plane, skip, stimulus, shadows, ecn);
  throw std::invalid_argument("no switch with " + std::to_string(radix) + " ports was compiled");
}

}  // namespace ubl::cosim
