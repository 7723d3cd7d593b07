// SPDX-License-Identifier: Apache-2.0
#include "platform/switch.hpp"

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
inline unsigned get(const uint8_t* p, unsigned lsb, unsigned bits) {
  // A field of at most 16 bits; ports are padded to whole words, so three bytes are there or the
  // field does not reach them.
  unsigned v = p[lsb / 8];
  if (lsb % 8 + bits > 8) v |= unsigned{p[lsb / 8 + 1]} << 8;
  if (lsb % 8 + bits > 16) v |= unsigned{p[lsb / 8 + 2]} << 16;
  return (v >> (lsb % 8)) & ((1u << bits) - 1);
}
inline void put(uint8_t* p, unsigned lsb, unsigned bits, unsigned value) {
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned at = lsb + i;
    const auto mask = static_cast<uint8_t>(1u << (at % 8));
    p[at / 8] =
        static_cast<uint8_t>(((value >> i) & 1u) != 0 ? p[at / 8] | mask : p[at / 8] & ~mask);
  }
}

constexpr unsigned kMetaBits = 10;  // sop, eop, vc, empty: the flit flags without valid
constexpr unsigned kMetaMask = (1u << kMetaBits) - 1;

template <typename Model, unsigned Radix>
class RtlSwitch : public Switch {
 public:
  RtlSwitch(unsigned plane, bool skip, Stimulus* stimulus) : skip_(skip), in_(Radix), out_(Radix) {
    recording_.begin<Model>(stimulus);
    m_.plane_i = static_cast<CData>(plane);
    m_.ecn_kmin_i = 0xFFFF;
    m_.ecn_kmax_i = 0xFFFF;
    m_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) recording_.clock(m_);
    m_.rst_ni = 1;
  }
  void connect(unsigned port, Link* in, Link* out) override {
    in_[port] = in;
    out_[port] = out;
    if (port >= used_) used_ = port + 1;
  }
  unsigned radix() const override { return Radix; }
  bool idle() const override { return m_.idle_o != 0; }
  const std::vector<SwitchError>& errors() const override { return errors_; }
  uint64_t evals() const override { return evals_; }

  void tick(Cycle now) override {
    bool input = false;
    for (unsigned p = 0; p < used_; ++p) {
      Link* in = in_[p];
      bool valid = false;
      if (in != nullptr && in->flit_due() <= now) {
        const FlitWords& f = in->flit();
        put(raw(m_.rx_meta_i), p * kMetaBits, kMetaBits, f.flags() & kMetaMask);
        std::memcpy(words(m_.rx_data_i) + p * 16, f.w.data(), 64);
        in->pop_flit();
        valid = input = true;
      }
      put(raw(m_.rx_valid_i), p, 1, valid ? 1 : 0);
      unsigned credits = 0;
      if (out_[p] != nullptr && out_[p]->credits_due() <= now) {
        credits = out_[p]->take_credits();
        input = true;
      }
      put(raw(m_.tx_credit_i), p * spec::kLinkNumVc, spec::kLinkNumVc, credits);
    }
    if (active_ || input || !skip_) {
      m_.now_i = now;
      ModelClock::Section models(model_clock_);
      recording_.clock(m_);
      models.end();
      ++evals_;
      for (unsigned p = 0; p < used_; ++p) {
        if (get(raw(m_.tx_valid_o), p, 1) != 0 && out_[p] != nullptr) {
          FlitWords f;
          std::memcpy(f.w.data(), words(m_.tx_data_o) + p * 16, 64);
          f.w[16] = get(raw(m_.tx_meta_o), p * kMetaBits, kMetaBits) |
                    (1u << (spec::Flit::kValidLsb - FlitWords::kFlagShift));
          out_[p]->send(now, f.w.data());
        }
        const unsigned c = get(raw(m_.rx_credit_o), p * spec::kLinkNumVc, spec::kLinkNumVc);
        if (c != 0 && in_[p] != nullptr) in_[p]->return_credits(now, static_cast<uint8_t>(c));
        if (get(raw(m_.err_valid_o), p, 1) != 0)
          errors_.push_back({now, p, get(raw(m_.err_code_o), p * 4, 4)});
      }
      active_ = m_.idle_o == 0;
    }
    Cycle next = active_ ? now + 1 : kNever;
    for (unsigned p = 0; p < used_; ++p) {
      if (in_[p] != nullptr) next = std::min(next, in_[p]->flit_due());
      if (out_[p] != nullptr) next = std::min(next, out_[p]->credits_due());
    }
    wake_ = next;
  }

 private:
  Model m_;
  Recording recording_;
  bool skip_;
  bool active_ = true;
  unsigned used_ = 0;
  uint64_t evals_ = 0;
  std::vector<Link*> in_, out_;
  std::vector<SwitchError> errors_;
};

}  // namespace

std::unique_ptr<Switch> make_switch(unsigned ports, unsigned plane, bool skip, Stimulus* stimulus) {
  if (ports <= 16) return std::make_unique<RtlSwitch<Vubl_switch16, 16>>(plane, skip, stimulus);
  if (ports <= 128) return std::make_unique<RtlSwitch<Vubl_switch128, 128>>(plane, skip, stimulus);
  throw std::invalid_argument("no switch with " + std::to_string(ports) +
                              " ports was compiled (largest: 128)");
}

}  // namespace ubl::cosim
