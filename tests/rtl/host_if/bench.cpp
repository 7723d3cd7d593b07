// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "bench.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace host_if_test {

namespace reg = ubl::spec::reg;
using ubl::spec::kHostBar0Bytes;

namespace {

constexpr unsigned kNoProgressCycles = 3000;

uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

template <class T, class Port>
T get(const Port& p) {
  return T::from_words(p.data());
}

template <class T, class Port>
void put(Port& p, const T& v) {
  v.to_words(p.data());
}

}  // namespace

struct Bench::Outputs {
  bool mmio_ready, rsp_valid, csr_valid, db_valid, hdma_valid, dma_ready, dma_rsp_valid, idle;
  bool push_valid;
  Push push;
  MmioRsp rsp;
  CsrReq csr;
  Doorbell db;
  DmaReq hdma;
  DmaRsp dma_rsp;
  bool operator==(const Outputs& o) const {
    return mmio_ready == o.mmio_ready && rsp_valid == o.rsp_valid && csr_valid == o.csr_valid &&
           db_valid == o.db_valid && hdma_valid == o.hdma_valid && dma_ready == o.dma_ready &&
           dma_rsp_valid == o.dma_rsp_valid && idle == o.idle && rsp == o.rsp && csr == o.csr &&
           db == o.db && hdma == o.hdma && dma_rsp == o.dma_rsp && push_valid == o.push_valid &&
           push == o.push;
  }
  bool any_valid() const {
    return rsp_valid || csr_valid || db_valid || push_valid || hdma_valid || dma_rsp_valid;
  }
};

Bench::Bench(uint64_t seed)
    : context_(std::make_unique<VerilatedContext>()), rng_(seed), seed_(seed) {
  // Registers and memories start at random values.
  context_->randReset(2);
  context_->randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
  dut_ = std::make_unique<Vhost_ifChk>(context_.get());
  node = static_cast<uint16_t>(rng_());
  // The low word of the time wraps early, so that the latch of the high word matters.
  now = (uint64_t(seed & 0xffff) << 32) | 0xffffff00u;
  dut_->clk_i = 0;
  reset(3);
}

void Bench::fail(const std::string& what) const {
  throw Mismatch(fmt::format("cycle {} (seed {}): {}", now, seed_, what));
}

// --------------------------------------------------------------------------------- stimulus

uint64_t Bench::mmio_write(unsigned bar, uint32_t addr, uint64_t data, bool size8) {
  MmioReq r;
  r.write = 1;
  r.bar = static_cast<uint8_t>(bar);
  r.addr = addr;
  r.size8 = size8;
  r.tag = static_cast<uint8_t>(rng_());
  r.data = data;
  mmio_queue_.push_back(r);
  return mmio_queued_++;
}

uint64_t Bench::mmio_read(unsigned bar, uint32_t addr, bool size8) {
  MmioReq r;
  r.bar = static_cast<uint8_t>(bar);
  r.addr = addr;
  r.size8 = size8;
  r.tag = static_cast<uint8_t>(rng_());
  r.data = rng_();
  mmio_queue_.push_back(r);
  return mmio_queued_++;
}

uint64_t Bench::dma_raw(const DmaReq& req) {
  dma_queue_.push_back(req);
  return dma_made_++;
}

static DmaReq make_dma(std::mt19937_64& rng, DmaKind kind, uint64_t addr, unsigned len) {
  DmaReq r;
  r.kind = static_cast<uint8_t>(kind);
  r.addr = addr;
  r.len = static_cast<uint8_t>(len);
  if (kind != DmaKind::kRead) {
    for (auto& w : r.data) w = static_cast<uint32_t>(rng());
  }
  return r;
}

uint64_t Bench::dma_read(uint64_t addr, unsigned len) {
  return dma_raw(make_dma(rng_, DmaKind::kRead, addr, len));
}

uint64_t Bench::dma_write(uint64_t addr, unsigned len) {
  return dma_raw(make_dma(rng_, DmaKind::kWrite, addr, len));
}

uint64_t Bench::msix_raise(unsigned vector) {
  return dma_raw(make_dma(rng_, DmaKind::kMsix, vector, 0));
}

MmioRsp Bench::read_now(unsigned bar, uint32_t addr, bool size8) {
  const size_t before = reads.size() + pending_reads_.size() +
                        size_t(std::count_if(mmio_queue_.begin(), mmio_queue_.end(),
                                             [](const MmioReq& r) { return !r.write; }));
  mmio_read(bar, addr, size8);
  while (reads.size() <= before) cycle();
  return reads[before].rsp;
}

// ------------------------------------------------------------------------------------ model

uint32_t Bench::nic_reg(uint32_t addr) const {
  auto it = nic_regs_.find(addr);
  return it == nic_regs_.end() ? static_cast<uint32_t>(mix(addr)) : it->second;
}

void Bench::model_word(uint64_t op, const MmioReq& req, bool second, bool* bad, uint32_t* data) {
  const uint32_t addr = req.addr + (second ? 4 : 0);
  const uint32_t wdata = static_cast<uint32_t>(second ? req.data >> 32 : req.data);
  *bad = false;
  *data = 0;
  const bool aligned = req.addr % (req.size8 ? 8 : 4) == 0;
  if (!aligned) {
    *bad = true;
  } else if (req.bar == 0 && addr < reg::kNicVersion) {
    switch (addr) {
      case reg::kHostId:
        *data = 0x4C425530;
        *bad = req.write;
        break;
      case reg::kHostNode:
        *data = node;
        *bad = req.write;
        break;
      case reg::kHostScratch:
        if (req.write) scratch_ = wdata;
        *data = scratch_;
        break;
      case reg::kHostCntMmioBad:
        *data = static_cast<uint32_t>(mmio_bad);
        *bad = req.write;
        break;
      case reg::kHostStatus:
      case reg::kHostCyclesLo:
      case reg::kHostCyclesHi:
      case reg::kHostCntDmaBlocked:
        *bad = req.write;
        break;
      default:
        *bad = true;
    }
  } else if (req.bar == 0 && addr < kHostBar0Bytes) {
    Event e{};
    e.op = op;
    e.kind = EventKind::kCsr;
    e.csr.write = req.write;
    e.csr.addr = static_cast<uint16_t>(addr - reg::kNicVersion);
    e.csr.wdata = wdata;
    events_.push_back(e);
    *bad = nic_bad(e.csr);
    if (!*bad && req.write) nic_regs_[e.csr.addr] = wdata;
    *data = nic_reg(e.csr.addr);
  } else if (req.bar == 4 && addr >= reg::kDbCtr &&
             addr < reg::kDbCtr + reg::kDbCtrStride * reg::kDbCtrCount) {
    *bad = !req.write;
    if (req.write) {
      Event e{};
      e.op = op;
      e.kind = EventKind::kDoorbell;
      e.db.kind = 3;
      e.db.index = static_cast<uint16_t>((addr - reg::kDbCtr) / reg::kDbCtrStride);
      e.db.value = static_cast<uint16_t>(wdata);
      events_.push_back(e);
    }
  } else if (req.bar == 4 && (addr < reg::kDbSqStride * reg::kDbSqCount ||
                              (addr >= reg::kDbCq && addr % 8 == 0 &&
                               addr < reg::kDbCq + reg::kDbCqStride * reg::kDbCqCount))) {
    *bad = !req.write;
    if (req.write) {
      Event e{};
      e.op = op;
      e.kind = EventKind::kDoorbell;
      const bool cq = addr >= reg::kDbCq;
      e.db.kind = cq ? 2 : (addr % 8 == 4 ? 1 : 0);
      e.db.index = static_cast<uint16_t>((cq ? addr - reg::kDbCq : addr) / 8);
      e.db.value = static_cast<uint16_t>(wdata);
      events_.push_back(e);
    }
  } else if (req.bar == 4 && addr >= reg::kMsixAddrLo && addr < reg::kMsixAddrLo + 64 * 16) {
    const unsigned v = (addr - reg::kMsixAddrLo) / 16;
    const unsigned w = addr / 4 % 4;
    const uint64_t bit = 1ull << v;
    if (req.write) {
      if (w == 3) {
        if (wdata & 1) {
          mask_ |= bit;
        } else {
          mask_ &= ~bit;
          masked_for_sure_ &= ~bit;
          unmasked_at_[v] = op;
        }
      } else {
        table_[v][w] = w == 0 ? wdata & ~3u : wdata;
      }
    }
    *data = w == 3 ? uint32_t(mask_ >> v & 1) : table_[v][w];
  } else if (req.bar == 4 && (addr == reg::kMsixPba || addr == reg::kMsixPba + 4)) {
    *bad = req.write;
  } else {
    *bad = true;
  }
  if (*bad) ++mmio_bad;
}

// An 8-byte write to the push window. Anything else leaves an entry that is being written
// incomplete.
bool Bench::model_push(uint64_t op, const MmioReq& req) {
  const bool hit = req.write && req.bar == 4 && req.size8 && req.addr % 8 == 0 &&
                   req.addr >= reg::kDbPush &&
                   req.addr < reg::kDbPush + reg::kDbPushStride * reg::kDbPushCount;
  const auto qpn = static_cast<uint16_t>((req.addr - reg::kDbPush) / reg::kDbPushStride);
  const unsigned eighth = (req.addr - reg::kDbPush) % reg::kDbPushStride / 8;
  const bool next = hit && push_eighths_ != 0 && eighth == push_eighths_ && qpn == push_.index;
  if (push_eighths_ != 0 && !next) {
    push_eighths_ = 0;
    ++mmio_bad;
    ++dropped_pushes;
  }
  if (!hit) return false;
  if (eighth != 0 && !next) {
    ++mmio_bad;
    return true;
  }
  push_.index = qpn;
  push_.data[2 * eighth] = static_cast<uint32_t>(req.data);
  push_.data[2 * eighth + 1] = static_cast<uint32_t>(req.data >> 32);
  push_eighths_ = (eighth + 1) % 8;
  if (eighth == 7) {
    Event e{};
    e.op = op;
    e.kind = EventKind::kPush;
    e.push = push_;
    events_.push_back(e);
  }
  return true;
}

void Bench::accept_mmio(const MmioReq& req) {
  const uint64_t op = mmio_accepted_++;
  if (model_push(op, req)) return;
  bool bad0 = false, bad1 = false;
  uint32_t lo = 0, hi = 0;
  model_word(op, req, false, &bad0, &lo);
  if (req.size8) model_word(op, req, true, &bad1, &hi);
  if (req.write) return;
  PendingRead p{};
  p.op = op;
  p.req = req;
  p.err = bad0 || bad1;
  p.data = p.err ? ~0ull : (uint64_t(hi) << 32 | lo);
  p.expect = Expect::kExact;
  if (!p.err && req.bar == 0) {
    if (req.addr == reg::kHostCyclesLo) p.expect = req.size8 ? Expect::kCycles8 : Expect::kCyclesLo;
    if (req.addr == reg::kHostCyclesHi) p.expect = Expect::kCyclesHi;
    if (req.addr == reg::kHostStatus) p.expect = Expect::kStatus;
    if (req.addr == reg::kHostScratch && req.size8) p.expect = Expect::kStatus;
    if (req.addr == reg::kHostCntDmaBlocked) p.expect = Expect::kBlocked;
    if (req.addr == reg::kHostCntMmioBad && req.size8) p.expect = Expect::kBlocked;
  }
  if (!p.err && req.bar == 4 && req.addr >= reg::kMsixPba) p.expect = Expect::kAny;
  p.accepted = now;
  p.mask = mask_;
  p.stream_end = stream_.size();
  p.bme_changes = bme_changes_;
  p.refused = refused;
  pending_reads_.push_back(p);
}

void Bench::on_mmio_rsp(const MmioRsp& rsp) {
  if (pending_reads_.empty()) fail("answer without a read");
  const PendingRead p = pending_reads_.front();
  pending_reads_.pop_front();
  const auto name =
      fmt::format("read BAR{} {:#x} size {}", p.req.bar, p.req.addr, p.req.size8 ? 8 : 4);
  if (rsp.tag != p.req.tag) fail(fmt::format("{}: tag {} instead of {}", name, rsp.tag, p.req.tag));
  if (rsp.err != p.err) fail(fmt::format("{}: err {} instead of {}", name, rsp.err, p.err));
  const auto in_time = [&](uint64_t t) { return t >= p.accepted && t <= now; };
  bool good = true;
  const uint32_t lo = static_cast<uint32_t>(rsp.data);
  switch (p.expect) {
    case Expect::kExact:
      good = rsp.data == p.data;
      break;
    case Expect::kCycles8:
      good = in_time(rsp.data);
      latched_hi_ = static_cast<uint32_t>(rsp.data >> 32);
      break;
    case Expect::kCyclesLo: {
      uint64_t t = (now & ~0xffffffffull) | lo;
      if (t > now) t -= 1ull << 32;
      good = in_time(t) && rsp.data >> 32 == 0;
      latched_hi_ = static_cast<uint32_t>(t >> 32);
      break;
    }
    case Expect::kCyclesHi:
      good = rsp.data == latched_hi_;
      break;
    case Expect::kStatus: {
      const bool with_scratch = p.req.size8;
      const uint64_t status = with_scratch ? rsp.data >> 32 : rsp.data;
      good = status <= 1 && (!with_scratch || lo == static_cast<uint32_t>(p.data));
      if (bme_changes_ == p.bme_changes) good = good && status == uint64_t(bme);
      break;
    }
    case Expect::kBlocked: {
      const bool second = p.req.size8;
      if (second && lo != static_cast<uint32_t>(p.data)) good = false;
      const uint64_t n = second ? rsp.data >> 32 : rsp.data;
      good = good && n >= p.refused && n <= stream_.size();
      break;
    }
    case Expect::kAny:
      break;
  }
  if (!good) fail(fmt::format("{}: data {:#x}, expected {:#x}", name, rsp.data, p.data));
  // Everything earlier took effect.
  if (!events_.empty() && events_.front().op <= p.op) {
    fail(fmt::format("{}: answered before an earlier access reached the NIC", name));
  }
  for (uint64_t i = first_open_; i < p.stream_end; ++i) {
    if (!stream_[i].resolved && stream_[i].req.kind != uint8_t(DmaKind::kMsix)) {
      fail(fmt::format("{}: answer passed host access {}", name, i));
    }
  }
  for (unsigned v = 0; v < 64; ++v) {
    // Masked when the read was made and not unmasked since.
    const bool masked = (p.mask >> v & 1) && (mask_ >> v & 1) && unmasked_at_[v] <= p.op;
    if (masked) masked_for_sure_ |= 1ull << v;
  }
  reads.push_back({p.req, rsp});
}

/// Moves first_open_ to the first read or write that was neither sent nor refused.
void Bench::advance() {
  while (
      first_open_ < stream_.size() &&
      (stream_[first_open_].resolved || stream_[first_open_].req.kind == uint8_t(DmaKind::kMsix))) {
    ++first_open_;
  }
}

void Bench::on_hdma(const DmaReq& req) {
  hdma.push_back(req);
  if (req.kind == uint8_t(DmaKind::kMsix)) {
    if (req.tag >= 64) fail("message of an unknown vector");
    const unsigned v = req.tag;
    const uint64_t addr = uint64_t(table_[v][1]) << 32 | table_[v][0];
    if (req.addr != addr || req.data[0] != table_[v][2] || req.len != 4) {
      fail(fmt::format("message of vector {}: {:#x} <- {:#x} instead of {:#x} <- {:#x}", v,
                       req.addr, req.data[0], addr, table_[v][2]));
    }
    ++messages[v];
    if (messages[v] > raises[v]) fail(fmt::format("vector {}: more messages than raises", v));
    // It answers the raises whose earlier reads and writes have all left.
    auto& open = open_raises_[v];
    advance();
    while (!open.empty() && open.front() < first_open_) open.erase(open.begin());
    return;
  }
  // The first unresolved read or write of the stream.
  advance();
  const uint64_t i = first_open_;
  if (i == stream_.size() || !(stream_[i].req == req)) {
    fail(fmt::format("PCIe access tag {} addr {:#x} is not the next of the stream", req.tag,
                     req.addr));
  }
  if (stream_[i].bme_steady_off) fail("access sent although bus mastering was off all the time");
  stream_[i].resolved = true;
  TagState& t = tags_[req.tag];
  t.sent = true;
  t.answer = DmaRsp{};
  t.answer.tag = req.tag;
  t.answer.err = mix(req.addr + 1) % 8 == 0;
  if (req.kind == uint8_t(DmaKind::kRead)) {
    for (size_t w = 0; w < t.answer.data.size(); ++w) {
      t.answer.data[w] = static_cast<uint32_t>(mix(req.addr + 77 * w + req.tag));
    }
  }
  hdma_answers_.push_back(t.answer);
  advance();
}

void Bench::on_dma_rsp(const DmaRsp& rsp) {
  TagState& t = tags_[rsp.tag];
  if (!t.busy) fail(fmt::format("answer with tag {} without a request", rsp.tag));
  if (t.sent) {
    if (!(rsp == t.answer)) fail(fmt::format("answer with tag {} changed on its way", rsp.tag));
  } else {
    StreamItem& item = stream_[t.item];
    if (!rsp.err)
      fail(fmt::format("access with tag {} answered without having been sent", rsp.tag));
    for (uint32_t w : rsp.data) {
      if (w != 0) fail("refused access answered with data");
    }
    if (item.bme_steady_on && item.req.kind != 3)
      fail("access refused although bus mastering was on");
    for (uint64_t i = first_open_; i < t.item; ++i) {
      // The one in the output register may still be waiting for PCIe; there is only one.
      if (!stream_[i].resolved && stream_[i].req.kind != uint8_t(DmaKind::kMsix) &&
          !dut_->hdma_req_valid_o) {
        fail("refusal out of order");
      }
    }
    item.resolved = true;
    ++refused;
    advance();
  }
  t.busy = false;
}

uint64_t Bench::open_vectors() const {
  uint64_t m = 0;
  for (unsigned v = 0; v < 64; ++v) m |= uint64_t(!open_raises_[v].empty()) << v;
  return m;
}

// ------------------------------------------------------------------------------- simulation

Bench::Outputs Bench::sample() const {
  Outputs o{};
  o.mmio_ready = dut_->mmio_req_ready_o;
  o.rsp_valid = dut_->mmio_rsp_valid_o;
  o.csr_valid = dut_->csr_req_valid_o;
  o.db_valid = dut_->db_valid_o;
  o.hdma_valid = dut_->hdma_req_valid_o;
  o.dma_ready = dut_->dma_req_ready_o;
  o.dma_rsp_valid = dut_->dma_rsp_valid_o;
  o.idle = dut_->idle_o;
  if (o.rsp_valid) o.rsp = get<MmioRsp>(dut_->mmio_rsp_o);
  if (o.csr_valid) o.csr = CsrReq::from_u64(dut_->csr_req_o);
  if (o.db_valid) o.db = Doorbell::from_u64(dut_->db_o);
  o.push_valid = dut_->push_valid_o;
  if (o.push_valid) o.push = get<Push>(dut_->push_o);
  if (o.hdma_valid) o.hdma = get<DmaReq>(dut_->hdma_req_o);
  if (o.dma_rsp_valid) o.dma_rsp = get<DmaRsp>(dut_->dma_rsp_o);
  return o;
}

void Bench::cycle() {
  if (bme != last_bme_) {
    ++bme_changes_;
    last_bme_ = bme;
  }
  // Offers stay until taken.
  if (!offer_mmio_) offer_mmio_ = !mmio_queue_.empty() && chance(rates.mmio);
  if (!offer_dma_ && !dma_queue_.empty()) {
    DmaReq& r = dma_queue_.front();
    const bool needs_tag = r.kind != uint8_t(DmaKind::kMsix);
    bool can = true;
    if (needs_tag) {
      unsigned tag = static_cast<unsigned>(rng_() % tags_.size()), tries = 0;
      while (tries < tags_.size() && tags_[tag].busy) tag = (tag + 1) % tags_.size(), ++tries;
      can = tries < tags_.size();
      r.tag = static_cast<uint16_t>(tag);
    }
    offer_dma_ = can && chance(rates.dma);
  }
  dut_->rst_ni = 1;
  dut_->now_i = now;
  dut_->node_i = node;
  dut_->bme_i = bme;
  dut_->mmio_req_valid_i = offer_mmio_;
  if (offer_mmio_) put(dut_->mmio_req_i, mmio_queue_.front());
  dut_->dma_req_valid_i = offer_dma_;
  if (offer_dma_) put(dut_->dma_req_i, dma_queue_.front());
  dut_->csr_req_ready_i = chance(rates.csr_ready);
  dut_->db_ready_i = chance(rates.db_ready);
  dut_->push_ready_i = chance(rates.push_ready);
  dut_->hdma_req_ready_i = chance(rates.hdma_ready);
  const bool csr_rsp = !csr_answers_.empty() && chance(rates.csr_rsp);
  dut_->csr_rsp_valid_i = csr_rsp;
  if (csr_rsp) dut_->csr_rsp_i = csr_answers_.front().to_u64();
  size_t hdma_pick = 0;
  const bool hdma_rsp = !hdma_answers_.empty() && chance(rates.hdma_rsp);
  dut_->hdma_rsp_valid_i = hdma_rsp;
  if (hdma_rsp) {
    hdma_pick = rng_() % hdma_answers_.size();
    put(dut_->hdma_rsp_i, hdma_answers_[hdma_pick]);
  }

  if (skip_idle && dut_->idle_o && !offer_mmio_ && !offer_dma_ && !csr_rsp && !hdma_rsp) {
    ++cycles_skipped;
    ++now;
    return;
  }

  dut_->eval();
  const Outputs o = sample();
  if (probe_outputs) {
    const auto ready = dut_->hdma_req_ready_i;
    const auto mv = dut_->mmio_req_valid_i, dv = dut_->dma_req_valid_i, cr = dut_->csr_req_ready_i,
               br = dut_->db_ready_i, pr = dut_->push_ready_i, cv = dut_->csr_rsp_valid_i,
               hv = dut_->hdma_rsp_valid_i, bm = dut_->bme_i;
    dut_->hdma_req_ready_i = !ready;
    dut_->mmio_req_valid_i = !mv;
    dut_->dma_req_valid_i = !dv;
    dut_->csr_req_ready_i = !cr;
    dut_->db_ready_i = !br;
    dut_->push_ready_i = !pr;
    dut_->csr_rsp_valid_i = !cv;
    dut_->hdma_rsp_valid_i = !hv;
    dut_->bme_i = !bm;
    dut_->now_i = ~now;
    dut_->eval();
    if (!(sample() == o)) fail("an output depends on an input of the same cycle");
    dut_->hdma_req_ready_i = ready;
    dut_->mmio_req_valid_i = mv;
    dut_->dma_req_valid_i = dv;
    dut_->csr_req_ready_i = cr;
    dut_->db_ready_i = br;
    dut_->push_ready_i = pr;
    dut_->csr_rsp_valid_i = cv;
    dut_->hdma_rsp_valid_i = hv;
    dut_->bme_i = bm;
    dut_->now_i = now;
    dut_->eval();
  }

  // Offered outputs stay.
  if (held_.csr && !(o.csr_valid && o.csr == held_.csr_req))
    fail("csr request withdrawn or changed");
  if (held_.db && !(o.db_valid && o.db == held_.db_val)) fail("doorbell withdrawn or changed");
  if (held_.hdma && !(o.hdma_valid && o.hdma == held_.hdma_req))
    fail("host access withdrawn or changed");
  held_.csr = o.csr_valid && !dut_->csr_req_ready_i;
  held_.csr_req = o.csr;
  if (held_.push && !(o.push_valid && o.push == held_.push_val))
    fail("pushed entry withdrawn or changed");
  if (o.push_valid && o.db_valid) fail("doorbell and pushed entry offered together");
  held_.push = o.push_valid && !dut_->push_ready_i;
  held_.push_val = o.push;
  held_.db = o.db_valid && !dut_->db_ready_i;
  held_.db_val = o.db;
  held_.hdma = o.hdma_valid && !dut_->hdma_req_ready_i;
  held_.hdma_req = o.hdma;

  if (o.hdma_valid && o.hdma.kind == uint8_t(DmaKind::kMsix) && o.hdma.tag < 64 &&
      (masked_for_sure_ >> o.hdma.tag & 1)) {
    fail(fmt::format("message of vector {} offered after its mask was read back", o.hdma.tag));
  }
  if (o.idle && o.any_valid()) {
    fail("idle while an output is valid");
  }

  // Items that have only ever seen one value of bme.
  for (size_t i = first_open_; i < stream_.size(); ++i) {
    if (bme)
      stream_[i].bme_steady_off = false;
    else
      stream_[i].bme_steady_on = false;
  }

  bool progress = false;
  const auto moved = [&](uint64_t what) {
    progress = true;
    ++handovers;
    hash(now);
    hash(what);
  };
  if (o.dma_rsp_valid) {
    moved(1 + 4096 * o.dma_rsp.tag + o.dma_rsp.err);
    on_dma_rsp(o.dma_rsp);
  }
  if (o.hdma_valid && dut_->hdma_req_ready_i) {
    moved(mix(o.hdma.addr) ^ o.hdma.data[0]);
    on_hdma(o.hdma);
  }
  if (o.rsp_valid) {
    moved(mix(o.rsp.data) ^ o.rsp.tag);
    on_mmio_rsp(o.rsp);
  }
  if (csr_rsp) {
    moved(4);
    csr_answers_.pop_front();
  }
  if (hdma_rsp) hdma_answers_.erase(hdma_answers_.begin() + long(hdma_pick)), moved(5);
  if (o.db_valid && dut_->db_ready_i) {
    moved(mix(o.db.to_u64()));
    if (events_.empty() || events_.front().kind != EventKind::kDoorbell ||
        !(events_.front().db == o.db)) {
      fail(fmt::format("doorbell kind {} index {} value {} is not what the host wrote next",
                       o.db.kind, o.db.index, o.db.value));
    }
    events_.pop_front();
    doorbells.push_back(o.db);
  }
  if (o.push_valid && dut_->push_ready_i) {
    uint64_t all = o.push.index;
    for (const uint32_t w : o.push.data) all = mix(all ^ w);
    moved(all);
    if (events_.empty() || events_.front().kind != EventKind::kPush ||
        !(events_.front().push == o.push)) {
      fail(fmt::format("pushed entry of QP {} is not what the host wrote next", o.push.index));
    }
    events_.pop_front();
    pushes.push_back(o.push);
  }
  if (o.csr_valid && dut_->csr_req_ready_i) {
    moved(mix(o.csr.to_u64()));
    if (events_.empty() || events_.front().kind != EventKind::kCsr)
      fail("csr request out of order");
    const CsrReq& want = events_.front().csr;
    if (want.write != o.csr.write || want.addr != o.csr.addr ||
        (want.write && want.wdata != o.csr.wdata)) {
      fail(fmt::format("csr request addr {:#x} write {} is not what the host asked for", o.csr.addr,
                       o.csr.write));
    }
    if (!csr_answers_.empty()) fail("second csr request before the answer");
    CsrRsp a;
    a.err = nic_bad(o.csr);
    if (!a.err && o.csr.write) nic_regs_seen_[o.csr.addr] = o.csr.wdata;
    if (!o.csr.write) {
      auto it = nic_regs_seen_.find(o.csr.addr);
      a.rdata = it == nic_regs_seen_.end() ? static_cast<uint32_t>(mix(o.csr.addr)) : it->second;
    }
    csr_answers_.push_back(a);
    events_.pop_front();
  }
  if (offer_mmio_ && o.mmio_ready) {
    moved(6);
    accept_mmio(mmio_queue_.front());
    mmio_queue_.pop_front();
    offer_mmio_ = false;
  }
  if (offer_dma_ && o.dma_ready) {
    moved(7);
    const DmaReq& r = dma_queue_.front();
    StreamItem item;
    item.req = r;
    if (r.kind == uint8_t(DmaKind::kMsix)) {
      const unsigned v = r.addr & 0xffff;
      if (v < 64) {
        ++raises[v];
        open_raises_[v].push_back(stream_.size());
      }
    } else {
      tags_[r.tag] = TagState{};
      tags_[r.tag].busy = true;
      tags_[r.tag].item = stream_.size();
    }
    stream_.push_back(item);
    dma_queue_.pop_front();
    offer_dma_ = false;
  }

  advance();
  const bool waiting = !mmio_queue_.empty() || !dma_queue_.empty() || !pending_reads_.empty() ||
                       !events_.empty() || !csr_answers_.empty() || !hdma_answers_.empty() ||
                       first_open_ < stream_.size();
  stuck_ = progress || !waiting ? 0 : stuck_ + 1;
  if (stuck_ > kNoProgressCycles) {
    fail(fmt::format(
        "no progress for {} cycles: {} host accesses and {} card accesses queued, {} reads "
        "unanswered, {} NIC accesses expected, {} card accesses open",
        kNoProgressCycles, mmio_queue_.size(), dma_queue_.size(), pending_reads_.size(),
        events_.size(), stream_.size() - first_open_));
  }

  dut_->clk_i = 1;
  dut_->eval();
  dut_->clk_i = 0;
  dut_->eval();
  ++now;
}

void Bench::run(unsigned cycles) {
  for (unsigned i = 0; i < cycles; ++i) cycle();
}

void Bench::drain() {
  const auto busy = [&] {
    if (!mmio_queue_.empty() || !dma_queue_.empty() || !pending_reads_.empty() ||
        !events_.empty() || !csr_answers_.empty() || !hdma_answers_.empty() ||
        first_open_ < stream_.size()) {
      return true;
    }
    return std::any_of(tags_.begin(), tags_.end(), [](const TagState& t) { return t.busy; });
  };
  while (busy()) cycle();
  // Interrupts that can be sent, and writes without a trace, leave within a bounded time.
  for (unsigned i = 0; i < 20000; ++i) {
    if (idle() || (!bme && i > 200)) return;
    cycle();
  }
  fail("not idle although everything is answered");
}

void Bench::clear_model() {
  mmio_queue_.clear();
  dma_queue_.clear();
  pending_reads_.clear();
  events_.clear();
  csr_answers_.clear();
  hdma_answers_.clear();
  stream_.clear();
  first_open_ = 0;
  tags_ = {};
  for (auto& r : open_raises_) r.clear();
  nic_regs_.clear();
  nic_regs_seen_.clear();
  scratch_ = latched_hi_ = 0;
  table_ = {};
  mask_ = masked_for_sure_ = ~0ull;
  unmasked_at_ = {};
  mmio_queued_ = mmio_accepted_ = 0;
  mmio_bad = refused = 0;
  reads.clear();
  doorbells.clear();
  pushes.clear();
  push_eighths_ = 0;
  dropped_pushes = 0;
  hdma.clear();
  messages = {};
  raises = {};
  held_ = Held{};
  offer_mmio_ = offer_dma_ = false;
  stuck_ = 0;
}

void Bench::reset(unsigned cycles) {
  clear_model();
  dut_->rst_ni = 0;
  dut_->mmio_req_valid_i = 0;
  dut_->dma_req_valid_i = 0;
  dut_->csr_rsp_valid_i = 0;
  dut_->hdma_rsp_valid_i = 0;
  for (unsigned i = 0; i < cycles; ++i) {
    dut_->now_i = now++;
    dut_->eval();
    dut_->clk_i = 1;
    dut_->eval();
    dut_->clk_i = 0;
    dut_->eval();
    const Outputs o = sample();
    if (o.any_valid() || !o.idle) {
      fail("valid output or not idle in reset");
    }
  }
  dut_->rst_ni = 1;
  dut_->eval();
}

}  // namespace host_if_test
