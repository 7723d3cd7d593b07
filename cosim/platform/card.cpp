// SPDX-License-Identifier: Apache-2.0
#include "platform/card.hpp"

#include <deque>

#include "platform/bits.hpp"
#include "platform/stimulus.hpp"
#include "ubl/spec/host.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::cosim {

using systemc::Link;
using systemc::MemPort;

namespace {

constexpr unsigned kResetCycles = 4;

}  // namespace

struct Card::Plane {
  // What is looked at in every cycle comes first: one cache line.
  Cycle flit_due = kNever, credits_due = kNever;  // of the links, kept by them
  Cycle mem_due = kNever;                         // of mem, as of the last exchange
  Link* to_switch = nullptr;
  Link* from_switch = nullptr;
  bool active = true;  // evaluate in the next cycle
  bool evaluated = false;
  bool link_input = false;  // a flit or credits in the last cycle
  systemc::Hash flits;
  Vnic_port port;
  Recording recording;
  MemPort mem;
  Plane(systemc::Hbm& hbm, systemc::HbmTiming& when, systemc::PciePort& pcie)
      : mem(hbm, when, pcie) {}
};

struct Card::Core {
  Vhost_if host;
  Vnic_core nic;
  Recording host_recording, nic_recording;
  bool host_active = true, host_evaluated = false;
  bool nic_active = true, nic_evaluated = false;
  // Completions of host_if's DMA; reads may pass each other.
  struct Dma {
    Cycle due;
    uint64_t addr;
    uint16_t tag;
    uint8_t len;
    bool err;
    bool read;
  };
  std::deque<Dma> dma;  // by time; most come in order
  void add(const Dma& d) {
    auto at = dma.end();
    while (at != dma.begin() && std::prev(at)->due > d.due) --at;
    dma.insert(at, d);
  }
  Cycle dma_due() const { return dma.empty() ? kNever : dma.front().due; }
  // What PCIe lets a function have under way: 10-bit tags, a quarter of them reserved.
  static constexpr size_t kDmaDepth = 768;
};

Card::Card(const CardConfig& cfg, Engine& engine)
    : cfg_(cfg),
      hbm_(spec::kHostHbmBytes),
      hbm_timing_(cfg.timing),
      core_(std::make_unique<Core>()) {
  pcie_ = std::make_unique<systemc::PciePort>(("card" + std::to_string(cfg.node)).c_str(),
                                              cfg.timing, host_, engine);
  pcie_->set_owner(this);
  for (unsigned p = 0; p < cfg.planes; ++p)
    planes_.push_back(std::make_unique<Plane>(hbm_, hbm_timing_, *pcie_));
  reset();
}

Card::~Card() = default;

void Card::connect(unsigned plane, Link* to_switch, Link* from_switch) {
  planes_[plane]->to_switch = to_switch;
  planes_[plane]->from_switch = from_switch;
  to_switch->watch_credits(&planes_[plane]->credits_due);
  from_switch->watch_flits(&planes_[plane]->flit_due);
}

const MemPort& Card::mem_port(unsigned plane) const { return planes_[plane]->mem; }

void Card::reset() {
  auto& h = core_->host;
  auto& n = core_->nic;
  const std::string card = "card" + std::to_string(cfg_.node) + ".";
  core_->host_recording.begin<Vhost_if>(cfg_.stimulus, cfg_.shadows, card + "host_if");
  core_->nic_recording.begin<Vnic_core>(cfg_.stimulus, cfg_.shadows, card + "nic_core");
  for (size_t i = 0; i < planes_.size(); ++i)
    planes_[i]->recording.begin<Vnic_port>(cfg_.stimulus, cfg_.shadows,
                                           card + "nic_port" + std::to_string(i));
  h.rst_ni = n.rst_ni = 0;
  h.node_i = cfg_.node;
  for (unsigned i = 0; i < planes_.size(); ++i) {
    auto& m = planes_[i]->port;
    m.rst_ni = 0;
    m.node_i = cfg_.node;
    m.plane_i = static_cast<CData>(i);
  }
  for (unsigned c = 0; c < kResetCycles; ++c) {
    core_->host_recording.clock(h, kNever);
    core_->nic_recording.clock(n, kNever);
    for (auto& p : planes_) p->recording.clock(p->port, kNever);
  }
  h.rst_ni = n.rst_ni = 1;
  for (auto& p : planes_) p->port.rst_ni = 1;
}

void Card::tick(Cycle now) {
  Core& c = *core_;
  // Inputs that come from outside the card in this cycle.
  if (pcie_->posted_due() <= now) traced(CardEvent::kHostVisible, now);
  pcie_->apply_posted(now);
  auto& h = c.host;
  h.bme_i = pcie_->bus_master ? 1 : 0;
  h.mmio_req_valid_i = pcie_->mmio_due() <= now ? 1 : 0;
  if (h.mmio_req_valid_i != 0) {
    pcie_->mmio_request().to_words(words(h.mmio_req_i));
    c.host_active = true;
    if (h.mmio_req_ready_o != 0) {
      if (pcie_->mmio_request().write != 0) traced(CardEvent::kMmioWrite, now);
      pcie_->pop_mmio();
    }
  }
  h.hdma_rsp_valid_i = 0;
  if (c.dma_due() <= now) {
    const auto it = c.dma.begin();
    spec::DmaRsp rsp{};
    rsp.tag = it->tag;
    rsp.err = it->err ? 1 : 0;
    if (it->read && !it->err) {
      if (const uint8_t* src = (it->addr & systemc::kHostBit) != 0
                                   ? pcie_->host_at(it->addr, it->len)
                                   : hbm_.data() + it->addr)
        std::memcpy(rsp.data.data(), src, it->len);
      else
        rsp.err = 1;  // unmapped while the read was on its way
    }
    if (it->read && it->tag < spec::kNicSqTags) traced(CardEvent::kDmaData, now);
    rsp.to_words(words(h.hdma_rsp_i));
    h.hdma_rsp_valid_i = 1;
    c.host_active = true;
    c.dma.pop_front();
  }
  for (auto& pp : planes_) {
    Plane& p = *pp;
    const bool flit = p.flit_due <= now, credits = p.credits_due <= now;
    if (!flit && !credits && !p.link_input) continue;
    auto* rx = words(p.port.rx_flit_i);
    if (flit) {
      const auto& f = p.from_switch->flit();
      std::memcpy(rx, f.w.data(), sizeof(f.w));
      p.flits.add(now);
      p.flits.add_bytes(f.w.data(), sizeof(f.w));
      p.from_switch->pop_flit();
    } else {
      rx[spec::Flit::kValidLsb / 32] = 0;
    }
    p.port.tx_credit_i = credits ? p.to_switch->take_credits() : CData{0};
    p.link_input = flit || credits;
    p.active = p.active || p.link_input;
  }

  const bool all = !cfg_.skip_idle_boxes;
  ModelClock::Section models(model_clock_);
  c.host_evaluated = c.host_active || all;
  c.nic_evaluated = c.nic_active || c.nic.deadline_o <= now || all;
  if (c.host_evaluated) {
    h.now_i = now;
    c.host_recording.clock(h, now);
    ++box_evals_;
  }
  if (c.nic_evaluated) {
    c.nic.now_i = now;
    c.nic_recording.clock(c.nic, now);
    ++box_evals_;
  }
  for (auto& p : planes_) {
    p->evaluated = p->active || all;
    if (p->evaluated) {
      p->recording.clock(p->port, now);
      ++box_evals_;
    }
  }

  models.end();

  // Outputs become the next cycle's inputs.
  exchange_host(now);
  for (unsigned i = 0; i < planes_.size(); ++i) {
    exchange_plane(*planes_[i], i, now);
    exchange_memory(*planes_[i], now);
  }

  // Who runs next, and when.
  Cycle next = kNever;
  auto at = [&next](Cycle t) { next = std::min(next, t); };
  if (c.host_active || c.nic_active) at(now + 1);
  at(c.nic.deadline_o);
  at(c.dma_due());
  at(pcie_->mmio_due());
  at(pcie_->posted_due());
  for (auto& p : planes_) {
    if (p->active) at(now + 1);
    // A beat that is due in cycle d is handed over at the end of cycle d - 1.
    if (p->mem_due != kNever) at(p->mem_due - 1);
    at(p->flit_due);
    at(p->credits_due);
  }
  wake_ = std::max(next, now + 1);
}

void Card::exchange_host(Cycle now) {
  Core& c = *core_;
  auto& h = c.host;
  auto& n = c.nic;
  if (!c.host_evaluated && !c.nic_evaluated) {
    c.host_active = c.nic_active = false;
    return;
  }
  // host_if <-> PCIe
  if (h.mmio_rsp_valid_o != 0 && c.host_evaluated) {
    spec::MmioRsp rsp = spec::MmioRsp::from_words(words(h.mmio_rsp_o));
    pcie_->mmio_response(now, rsp);
  }
  h.hdma_req_ready_i = c.dma.size() < Core::kDmaDepth ? 1 : 0;
  if (h.hdma_req_valid_o != 0 && h.hdma_req_ready_i != 0 && c.host_evaluated) {
    const auto req = spec::DmaReq::from_words(words(h.hdma_req_o));
    const bool host_side = (req.addr & systemc::kHostBit) != 0;
    const bool ok =
        host_side ? pcie_->host_at(req.addr, req.len) != nullptr : hbm_.contains(req.addr, req.len);
    Core::Dma d{now + 1, req.addr, req.tag, req.len, !ok, false};
    switch (static_cast<spec::DmaKind>(req.kind)) {
      case spec::DmaKind::kRead:
        if (req.tag < spec::kNicSqTags) traced(CardEvent::kDmaRead, now);
        d.read = true;
        d.due = host_side ? pcie_->dma_read_due(now, req.len)
                : ok      ? hbm_timing_.read(now, req.addr, req.len)
                          : now + 1;
        c.add(d);
        break;
      case spec::DmaKind::kWrite:
        if (ok && host_side) pcie_->posted_write(now, req.addr, req.data.data(), req.len);
        if (ok && !host_side) {
          std::memcpy(hbm_.data() + req.addr, req.data.data(), req.len);
          d.due = hbm_timing_.write(now, req.addr, req.len);
        }
        c.add(d);
        break;
      case spec::DmaKind::kMsix:
        pcie_->msix(now, req.addr, req.data[0]);
        break;
    }
  }
  // host_if -> nic_core
  n.csr_req_valid_i = h.csr_req_valid_o;
  if (h.csr_req_valid_o != 0) std::memcpy(&n.csr_req_i, &h.csr_req_o, sizeof(n.csr_req_i));
  h.csr_req_ready_i = n.csr_req_ready_o;
  n.db_valid_i = h.db_valid_o;
  if (h.db_valid_o != 0) n.db_i = h.db_o;
  h.db_ready_i = n.db_ready_o;
  n.push_valid_i = h.push_valid_o;
  if (h.push_valid_o != 0) n.push_i = h.push_o;
  h.push_ready_i = n.push_ready_o;
  n.dma_rsp_valid_i = h.dma_rsp_valid_o;
  if (h.dma_rsp_valid_o != 0) n.dma_rsp_i = h.dma_rsp_o;
  // nic_core -> host_if
  h.csr_rsp_valid_i = n.csr_rsp_valid_o;
  if (n.csr_rsp_valid_o != 0) std::memcpy(&h.csr_rsp_i, &n.csr_rsp_o, sizeof(h.csr_rsp_i));
  h.dma_req_valid_i = n.dma_req_valid_o;
  if (n.dma_req_valid_o != 0) h.dma_req_i = n.dma_req_o;
  n.dma_req_ready_i = h.dma_req_ready_o;

  c.host_active = h.idle_o == 0 || h.csr_rsp_valid_i != 0 || h.dma_req_valid_i != 0;
  c.nic_active = n.idle_o == 0 || n.csr_req_valid_i != 0 || n.db_valid_i != 0 ||
                 n.push_valid_i != 0 || n.dma_rsp_valid_i != 0;
}

void Card::exchange_plane(Plane& p, unsigned i, Cycle now) {
  Core& c = *core_;
  auto& n = c.nic;
  auto& m = p.port;
  if (!c.nic_evaluated && !p.evaluated) {
    p.active = false;
    return;
  }
  const uint32_t bit = 1u << i;
  auto set_bit = [bit](CData& reg, bool v) {
    reg = static_cast<CData>(v ? reg | bit : reg & ~bit);
  };
  // nic_core -> nic_port
  m.txd_valid_i = (n.txd_valid_o >> i) & 1u;
  if (m.txd_valid_i != 0) {
    traced(CardEvent::kTxd, now);
    extract_bits(words(m.txd_i), words(n.txd_o), i * spec::Txd::kBits, spec::Txd::kBits);
  }
  m.rxv_valid_i = (n.rxv_valid_o >> i) & 1u;
  if (m.rxv_valid_i != 0)
    extract_bits(words(m.rxv_i), words(n.rxv_o), i * spec::Rxv::kBits, spec::Rxv::kBits);
  m.txc_ready_i = (n.txc_ready_o >> i) & 1u;
  m.rxh_ready_i = (n.rxh_ready_o >> i) & 1u;
  m.rxd_ready_i = (n.rxd_ready_o >> i) & 1u;
  // nic_port -> nic_core
  n.txd_credit_i = (n.txd_credit_i & ~(7u << (3 * i))) | (uint32_t{m.txd_credit_o} << (3 * i));
  set_bit(n.txc_valid_i, m.txc_valid_o != 0);
  if (m.txc_valid_o != 0)
    insert_bits(words(n.txc_i), words(m.txc_o), i * spec::Txc::kBits, spec::Txc::kBits);
  set_bit(n.rxh_valid_i, m.rxh_valid_o != 0);
  if (m.rxh_valid_o != 0)
    insert_bits(words(n.rxh_i), words(m.rxh_o), i * spec::Rxh::kBits, spec::Rxh::kBits);
  set_bit(n.rxd_valid_i, m.rxd_valid_o != 0);
  if (m.rxd_valid_o != 0)
    insert_bits(words(n.rxd_i), words(m.rxd_o), i * spec::Rxd::kBits, spec::Rxd::kBits);
  set_bit(n.rxv_ready_i, m.rxv_ready_o != 0);
  if (m.txd_credit_o != 0 || m.txc_valid_o != 0 || m.rxh_valid_o != 0 || m.rxd_valid_o != 0)
    c.nic_active = true;
  // nic_port <-> links
  if (p.evaluated) {
    const uint32_t* tx = words(m.tx_flit_o);
    if (((tx[spec::Flit::kValidLsb / 32] >> (spec::Flit::kValidLsb % 32)) & 1u) != 0)
      p.to_switch->send(now, tx);
    if (m.rx_credit_o != 0) p.from_switch->return_credits(now, m.rx_credit_o);
  }
  p.active = m.idle_o == 0 || m.txd_valid_i != 0 || m.rxv_valid_i != 0;
}

void Card::exchange_memory(Plane& p, Cycle now) {
  // A response makes the port active, so a port that was not evaluated sees none now.
  if (!p.evaluated && p.mem_due > now + 1) return;
  auto& m = p.port;
  MemPort& mem = p.mem;
  if (p.evaluated) {
    // Requests: valid is a register and our ready is known here, so the transfer is certain.
    m.trq_ready_i = mem.tx.can_request() ? 1 : 0;
    if (m.trq_valid_o != 0 && m.trq_ready_i != 0) {
      const auto r = spec::MemReq::from_words(words(m.trq_o));
      mem.tx.request(now, r.addr, r.len);
    }
    m.rrq_ready_i = mem.reduce.can_request() ? 1 : 0;
    if (m.rrq_valid_o != 0 && m.rrq_ready_i != 0) {
      const auto r = spec::MemReq::from_words(words(m.rrq_o));
      mem.reduce.request(now, r.addr, r.len);
    }
    m.wrq_ready_i = mem.write.can_request() ? 1 : 0;
    if (m.wrq_valid_o != 0 && m.wrq_ready_i != 0) {
      const auto r = spec::MemReq::from_words(words(m.wrq_o));
      mem.write.request(r.addr, r.len);
    }
    m.wrd_ready_i = mem.write.wants_data() ? 1 : 0;
    if (m.wrd_valid_o != 0 && m.wrd_ready_i != 0) {
      traced(CardEvent::kWriteData, now);
      mem.write.beat(now, words(m.wrd_o));
    }
  }
  // Responses that the port sees in the next cycle.
  auto respond = [&](systemc::MemReadChannel& ch, CData& valid, auto& data, CData ready) {
    valid = 0;
    if (ready == 0 || ch.due() > now + 1) return;
    uint32_t* w = words(data);
    const auto f = ch.take(now + 1, w);
    w[16] = (f.err ? 2u : 0u) | (f.last ? 1u : 0u);
    valid = 1;
    p.active = true;
  };
  static_assert(spec::MemRdata::kLastLsb == 512 && spec::MemRdata::kErrLsb == 513);
  respond(mem.tx, m.trd_valid_i, m.trd_i, m.trd_ready_o);
  if (m.trd_valid_i != 0) traced(CardEvent::kPayload, now + 1);
  respond(mem.reduce, m.rrd_valid_i, m.rrd_i, m.rrd_ready_o);
  m.wrs_valid_i = 0;
  if (mem.write.response_due() <= now + 1) {
    m.wrs_err_i = mem.write.take_response() ? 1 : 0;
    m.wrs_valid_i = 1;
    p.active = true;
    traced(CardEvent::kWritten, now + 1);
  }
  p.mem_due = mem.due();
}

void Card::hash_into(systemc::Hash& run, systemc::Hash& data) const {
  for (const auto& p : planes_) run.add(p->flits.value());
  run.add(pcie_->host_write_hash());
  const uint64_t hbm = hbm_.hash();
  run.add(hbm);
  data.add(hbm);
  host_.hash_into(run);
}

std::string Card::busy_boxes() const {
  std::string s;
  auto add = [&s](const std::string& name) { s += (s.empty() ? "" : ", ") + name; };
  if (core_->host.idle_o == 0) add("host_if");
  if (core_->nic.idle_o == 0) add("nic_core");
  for (size_t i = 0; i < planes_.size(); ++i)
    if (planes_[i]->port.idle_o == 0) add("nic_port" + std::to_string(i));
  return s;
}

}  // namespace ubl::cosim
