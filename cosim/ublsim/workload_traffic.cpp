// SPDX-License-Identifier: Apache-2.0
// msgrate, incast and mixed: traffic that shows what queue pairs do to each other. Straight on the
// driver, without a communication library.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>

#include "ubl/comm/hal/error.hpp"
#include "ublsim/board.hpp"
#include "ublsim/inputs.hpp"
#include "ublsim/result.hpp"
#include "ublsim/verify.hpp"
#include "ublsim/workloads.hpp"

extern char** environ;

namespace ubl::ublsim {

namespace {

using systemc::Cycle;

/// One direction of traffic: a queue pair at each end, a target in the receiver's memory.
struct Flow {
  unsigned from = 0, to = 0;
  driver::QpConfig config;  ///< planes, window, congestion control; completion queues are set later
  uint64_t bytes = 0;       ///< of the target
  unsigned receives = 0;    ///< immediates that the receiver takes
};

/// What the ends of a flow tell each other.
struct End {
  uint32_t qpn = 0;
  uint64_t addr = 0;
  uint32_t rkey = 0;
};

/// The program of a rank: its ends of all flows, one completion queue.
class Node {
 public:
  Node(Session& s, unsigned rank, const std::vector<Flow>& flows, Board<std::vector<End>>& board,
       unsigned cq_log2)
      : rank_(rank), dev_(s.transport(rank)), flows_(flows) {
    cq_ = &dev_.create_cq(cq_log2);
    uint64_t target_bytes = 0;
    for (const Flow& f : flows)
      if (f.to == rank) target_bytes += (f.bytes + 63) / 64 * 64;
    targets_ = region(target_bytes);
    uint64_t at = targets_.base;
    std::vector<End> mine(flows.size());
    for (size_t i = 0; i < flows.size(); ++i) {
      const Flow& f = flows[i];
      if (f.from != rank && f.to != rank) continue;
      driver::QpConfig config = f.config;
      config.scq = config.rcq = cq_->cqn();
      qp_[i] = &dev_.create_qp(config);
      of_qpn_[qp_[i]->qpn()] = i;
      mine[i].qpn = qp_[i]->qpn();
      if (f.to != rank) continue;
      mine[i].addr = at;
      mine[i].rkey = targets_.key;
      target_[i] = at;
      at += (f.bytes + 63) / 64 * 64;
    }
    const auto& all = board.exchange(rank, mine);
    for (auto& [i, qp] : qp_) {
      const unsigned other = flows[i].from == rank ? flows[i].to : flows[i].from;
      peer_[i] = all[other][i];
      qp->connect(static_cast<uint16_t>(other), peer_[i].qpn, 100, 100);
      if (flows[i].to == rank && flows[i].receives != 0) qp->post_receives(flows[i].receives);
    }
  }

  driver::Device& device() { return dev_; }
  driver::Qp& qp(size_t flow) { return *qp_.at(flow); }
  const End& peer(size_t flow) const { return peer_.at(flow); }
  /// Where the receiver's end of a flow has its target.
  uint64_t target(size_t flow) const { return target_.at(flow); }
  /// A piece of this card's memory, registered.
  driver::Mr region(uint64_t bytes) {
    const uint64_t n = std::max<uint64_t>(bytes, 64);
    return dev_.register_mr(dev_.hbm_alloc(n), n);
  }

  /// Next completion, if one is there; CommError when it is an error.
  std::optional<spec::Cqe> poll() {
    auto c = cq_->poll();
    if (!c) return c;
    if (c->status != static_cast<uint8_t>(spec::CqeStatus::kOk)) {
      auto text = fmt::format("rank {}: QP {} PSN {}: {}", rank_, c->qpn, c->psn,
                              spec::to_string(static_cast<spec::CqeStatus>(c->status)));
      while (auto e = dev_.pop_error()) text += "; " + e->describe();
      throw comm::CommError(comm::ErrorKind::kDeviceReported, text);
    }
    if (c->recv == 0) qp_.at(flow_of(*c))->on_completion(*c);
    return c;
  }
  size_t flow_of(const spec::Cqe& c) const { return of_qpn_.at(c.qpn); }
  /// Sleeps until something may have come, at most to `deadline_ns`.
  void wait(uint64_t deadline_ns) { dev_.transport().wait(deadline_ns); }
  uint64_t now_ns() { return dev_.transport().now_ns(); }
  /// Next completion; CommError when it does not come.
  spec::Cqe wait_completion() {
    const uint64_t deadline = now_ns() + kPatienceNs;
    for (;;) {
      if (auto c = poll()) return *c;
      if (now_ns() >= deadline)
        throw comm::CommError(comm::ErrorKind::kTimeout,
                              fmt::format("rank {} waits for a completion", rank_));
      wait(deadline);
    }
  }

 private:
  static constexpr uint64_t kPatienceNs = 20'000'000;
  unsigned rank_;
  driver::Device dev_;
  const std::vector<Flow>& flows_;
  driver::Cq* cq_ = nullptr;
  driver::Mr targets_;
  std::map<size_t, driver::Qp*> qp_;  // by flow
  std::map<size_t, End> peer_;
  std::map<size_t, uint64_t> target_;
  std::map<uint32_t, size_t> of_qpn_;
};

spec::Wqe write_wqe(const End& peer, uint64_t to, uint32_t bytes, spec::Vc vc) {
  spec::Wqe w;
  w.opcode = static_cast<uint8_t>(spec::WqeOp::kWrite);
  w.vc = static_cast<uint8_t>(vc);
  w.length = bytes;
  w.raddr = peer.addr + to;
  w.rkey = peer.rkey;
  return w;
}

unsigned log2_up(uint64_t n) {
  unsigned l = 0;
  while ((uint64_t{1} << l) < n) ++l;
  return l;
}

/// Jain's index: 1 if all are equal, 1/n if one has all.
double jain(const std::vector<double>& x) {
  double sum = 0, squares = 0;
  for (const double v : x) sum += v, squares += v * v;
  return squares > 0 ? sum * sum / (static_cast<double>(x.size()) * squares) : 0;
}

void need(bool ok, const std::string& text) {
  if (!ok) throw UsageError(text);
}

}  // namespace

// ------------------------------------------------------------------------------------ msgrate

int run_msgrate(const Options& o) {
  only_defaults(o);
  constexpr unsigned kSignalEvery = 64;
  Options opt = o;
  need(opt.cards == 2, "msgrate needs --cards 2");
  need(opt.bytes >= 1 && opt.bytes <= 4096,
       fmt::format("--bytes {}: msgrate takes 1 to 4096 bytes", opt.bytes));
  need(opt.qps >= 1 && opt.qps <= 256, fmt::format("--qps {}: must be 1..256", opt.qps));
  const uint64_t messages = opt.iterations;  // of a queue pair
  need(messages >= 1 && messages <= 1u << spec::kNicMaxRingLog2,
       fmt::format("--iterations {}: must be 1..{}", messages, 1u << spec::kNicMaxRingLog2));
  Session s(opt);
  Board<std::vector<End>> board(2);
  Board<bool> ready(2), done(2);
  const auto bytes = static_cast<uint32_t>(opt.bytes);
  const bool is_inline = bytes <= spec::kNicMaxInline;
  const uint64_t stride = (bytes + 7) / 8 * 8;
  std::vector<Flow> flows;
  for (unsigned rank = 0; rank < 2; ++rank)
    for (unsigned q = 0; q < opt.qps; ++q) {
      Flow f;
      f.from = rank;
      f.to = 1 - rank;
      f.bytes = messages * stride;
      f.config.sq_log2 = log2_up(messages);
      f.config.window = spec::kNicMaxWindow;
      flows.push_back(f);
    }
  std::vector<std::vector<uint8_t>> data(flows.size());
  for (size_t i = 0; i < flows.size(); ++i)
    data[i] = random_bytes(opt.seed, static_cast<unsigned>(i), flows[i].bytes);
  std::vector<uint64_t> target(flows.size());
  std::vector<Cycle> took(2);
  s.run([&](unsigned rank) {
    const uint64_t completions = opt.qps * ((messages + kSignalEvery - 1) / kSignalEvery);
    Node node(s, rank, flows, board, std::min(spec::kNicMaxRingLog2, log2_up(2 * completions)));
    const auto source = node.region(is_inline ? 64 : opt.qps * messages * stride);
    for (unsigned q = 0; q < opt.qps; ++q) {
      const size_t mine = rank * opt.qps + q, other = (1 - rank) * opt.qps + q;
      target[other] = node.target(other);
      const uint64_t from = source.base + q * messages * stride;
      if (!is_inline)
        std::memcpy(s.platform().card(rank).hbm().data() + from, data[mine].data(),
                    data[mine].size());
      for (uint64_t m = 0; m < messages; ++m) {
        auto w = write_wqe(node.peer(mine), m * stride, bytes, spec::Vc::kReq);
        w.signalled = (m % kSignalEvery == kSignalEvery - 1 || m + 1 == messages) ? 1 : 0;
        if (is_inline) {
          driver::set_inline(w, data[mine].data() + m * stride, bytes);
        } else {
          w.laddr = from + m * stride;
          w.lkey = source.key;
        }
        node.qp(mine).post(w);
      }
    }
    node.device().transport().wait(node.now_ns() + 1);  // what the posts took is over
    ready.exchange(rank, true);
    const Cycle t0 = s.now();
    for (unsigned q = 0; q < opt.qps; ++q) node.qp(rank * opt.qps + q).ring();
    for (uint64_t i = 0; i < completions; ++i) node.wait_completion();
    took[rank] = s.now() - t0;
    done.exchange(rank, true);
  });
  Result r;
  if (s.ok()) {
    for (size_t i = 0; i < flows.size(); ++i) {
      // What lies between messages is nobody's.
      for (uint64_t m = 0; m < (stride == bytes ? 1 : messages); ++m)
        compare_result(s, flows[i].to, target[i] + m * stride, data[i].data() + m * stride,
                       stride == bytes ? flows[i].bytes : bytes, r);
    }
    r.op_cycles = std::max(took[0], took[1]);
    const double ns = systemc::ns_from_cycles(r.op_cycles);
    const auto all = static_cast<double>(opt.qps * messages);
    r.extra["messages"] = 2 * opt.qps * messages;
    r.extra["messages_per_s"] = all / ns * 1e9;
    r.extra["cycles_per_message"] = static_cast<double>(r.op_cycles) / all;
    if (!o.quiet)
      fmt::print(
          "message rate of {} bytes, {} queue pairs, both cards at once: {:.1f} M/s per "
          "card, one in {:.2f} cycles\n",
          bytes, opt.qps, all / ns * 1e3, static_cast<double>(r.op_cycles) / all);
  }
  conclude(s, r);
  return finish(opt, s, r);
}

// ------------------------------------------------------------------------------------- incast

int run_incast(const Options& o) {
  only_defaults(o);
  // Progress is seen in chunks. A flow that has a link almost alone needs larger ones: a chunk is
  // posted anew only when the host has seen one complete.
  constexpr uint32_t kChunk = 16384, kVictimChunk = 65536;
  constexpr unsigned kChunksAhead = 24;  // under way per flow
  constexpr uint64_t kSampleNs = 500;
  Options opt = o;
  need(opt.cards >= 3, "incast needs --cards 3 or more: senders, a victim's receiver, a target");
  need(opt.bytes != 0 && opt.bytes % kVictimChunk == 0 && opt.bytes <= (uint64_t{1} << 26),
       fmt::format("--bytes {}: incast takes multiples of {} up to 64 MiB", opt.bytes,
                   kVictimChunk));
  const unsigned senders = opt.cards - 1, target_card = opt.cards - 1, victim_to = 1;
  Session s(opt);
  // All but the last send to it; card 0 sends to card 1 besides, as long as they do.
  std::vector<Flow> flows;
  for (unsigned c = 0; c < senders; ++c) {
    Flow f;
    f.from = c;
    f.to = target_card;
    f.bytes = opt.bytes;
    flows.push_back(f);
  }
  const size_t victim = flows.size();
  flows.push_back({0, victim_to, {}, (senders - 1) * opt.bytes, 0});
  for (Flow& f : flows) {
    f.config.window = spec::kNicMaxWindow;
    f.config.cwnd = 16;
    f.config.congestion_control = opt.shaping.value_or(true);
  }
  std::vector<std::vector<uint8_t>> data(flows.size());
  for (size_t i = 0; i < flows.size(); ++i)
    data[i] = random_bytes(opt.seed, static_cast<unsigned>(i), flows[i].bytes);
  std::vector<uint64_t> target(flows.size());
  std::vector<std::vector<std::pair<Cycle, uint64_t>>> progress(flows.size());  // bytes completed
  std::vector<std::pair<Cycle, uint64_t>> wire;  // flits to the target
  Board<std::vector<End>> board(opt.cards);
  Board<bool> ready(opt.cards), done(opt.cards);
  auto& p = s.platform();
  for (unsigned l = 0; l < p.num_planes(); ++l)
    p.fabric_switch(l).watch_queue(p.switch_port(target_card, l));
  unsigned open = senders;  // incast flows not done
  Cycle t0 = 0;
  s.run([&](unsigned rank) {
    Node node(s, rank, flows, board, 10);
    struct Out {
      size_t flow;
      driver::Mr source;
      uint64_t posted = 0, completed = 0;
    };
    std::vector<Out> outs;
    for (size_t i = 0; i < flows.size(); ++i) {
      if (flows[i].to == rank) target[i] = node.target(i);
      if (flows[i].from != rank) continue;
      outs.push_back({i, node.region(flows[i].bytes)});
      std::memcpy(p.card(rank).hbm().data() + outs.back().source.base, data[i].data(),
                  data[i].size());
    }
    ready.exchange(rank, true);
    if (rank == 0) t0 = s.now();
    const auto chunk = [&](const Out& out) { return out.flow == victim ? kVictimChunk : kChunk; };
    const auto post = [&](Out& out) {
      while (out.posted < flows[out.flow].bytes &&
             out.posted - out.completed < uint64_t{chunk(out)} * kChunksAhead &&
             !(out.flow == victim && open == 0)) {
        auto w = write_wqe(node.peer(out.flow), out.posted, chunk(out), spec::Vc::kBulk);
        w.laddr = out.source.base + out.posted;
        w.lkey = out.source.key;
        w.signalled = 1;
        node.qp(out.flow).post(w);
        out.posted += chunk(out);
      }
      node.qp(out.flow).ring();
    };
    for (Out& out : outs) post(out);
    const auto busy = [&] {
      return std::any_of(outs.begin(), outs.end(),
                         [](const Out& x) { return x.posted != x.completed; });
    };
    while (busy()) {
      const auto c = node.wait_completion();
      for (Out& out : outs) {
        if (out.flow != node.flow_of(c)) continue;
        out.completed += chunk(out);
        progress[out.flow].push_back({s.now(), out.completed});
        if (out.flow != victim && out.completed == flows[out.flow].bytes) --open;
        post(out);
      }
    }
    // The target only looks on.
    while (rank == target_card && open != 0) {
      uint64_t flits = 0;
      for (unsigned l = 0; l < p.num_planes(); ++l) flits += p.downlink(rank, l).flit_count();
      wire.push_back({s.now(), flits});
      node.wait(node.now_ns() + kSampleNs);
    }
    done.exchange(rank, true);
  });
  Result r;
  if (s.ok()) {
    for (size_t i = 0; i < flows.size(); ++i) {
      const uint64_t sent = progress[i].empty() ? 0 : progress[i].back().second;
      compare_result(s, flows[i].to, target[i], data[i].data(), sent, r);
    }
    // All flows are under way from a fifth of the time on until the first one has ended.
    Cycle first_end = ~Cycle{0}, last_end = 0;
    for (size_t i = 0; i < senders; ++i) {
      first_end = std::min(first_end, progress[i].back().first);
      last_end = std::max(last_end, progress[i].back().first);
    }
    const Cycle begin = t0 + (first_end - t0) / 5, end = first_end;
    const auto rate = [&](const std::vector<std::pair<Cycle, uint64_t>>& x) {
      std::pair<Cycle, uint64_t> a{begin, 0}, b{begin, 0};
      bool any = false;
      for (const auto& v : x) {
        if (v.first <= begin || !any) a = v;
        any = true;
        if (v.first <= end) b = v;
      }
      return b.first > a.first
                 ? static_cast<double>(b.second - a.second) / static_cast<double>(b.first - a.first)
                 : 0.0;
    };
    std::vector<double> rates;
    for (size_t i = 0; i < senders; ++i) rates.push_back(rate(progress[i]));
    const double busy = rate(wire) / p.num_planes();
    // Payload that a link of all planes carries, as long frames leave it.
    const double line = 4096.0 / 66 * p.num_planes();
    const double fair = line * (1.0 - 1.0 / senders);
    const double victim_share = rate(progress[victim]) / fair;
    uint64_t p99 = 0, p50 = 0, peak = 0;
    for (unsigned l = 0; l < p.num_planes(); ++l) {
      const auto& q = p.fabric_switch(l).queue(p.switch_port(target_card, l));
      p99 = std::max(p99, q.quantile(0.99));
      p50 = std::max(p50, q.quantile(0.5));
      peak = std::max(peak, q.peak);
    }
    r.op_cycles = last_end - t0;
    r.algbw_GBps = r.busbw_GBps =
        static_cast<double>(opt.bytes) * senders / systemc::ns_from_cycles(r.op_cycles);
    r.extra["jain"] = jain(rates);
    r.extra["bottleneck_busy"] = busy;
    r.extra["victim_share"] = victim_share;
    r.extra["queue_flits"] = {{"p50", p50}, {"p99", p99}, {"max", peak}};
    if (!o.quiet)
      fmt::print(
          "incast of {} cards: bottleneck {:.1f} % busy, Jain {:.4f}, victim {:.1f} % of its "
          "fair share, queue p50 {} p99 {} max {} flits of an output (marks {} to {})\n",
          senders, 100 * busy, jain(rates), 100 * victim_share, p50, p99, peak,
          opt.timing.switch_ecn_kmin, opt.timing.switch_ecn_kmax);
  }
  conclude(s, r);
  return finish(opt, s, r);
}

// -------------------------------------------------------------------------------------- mixed

namespace {

/// Runs the other half of a comparison in a process of its own; its JSON result.
nlohmann::json run_other(const Options& o, const char* shaping) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto path =
      (std::filesystem::temp_directory_path() / fmt::format("ublsim-mixed-{}.json", getpid()))
          .string();
  std::vector<std::string> args = {self,
                                   "run",
                                   "mixed",
                                   "--shaping",
                                   shaping,
                                   "--cards",
                                   std::to_string(o.cards),
                                   "--planes",
                                   std::to_string(o.planes),
                                   "--bytes",
                                   std::to_string(o.bytes),
                                   "--iterations",
                                   std::to_string(o.iterations),
                                   "--seed",
                                   std::to_string(o.seed),
                                   "--json",
                                   path,
                                   "-q"};
  if (!o.config.empty()) args.insert(args.end(), {"--config", o.config});
  std::vector<char*> argv;
  for (auto& a : args) argv.push_back(a.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, self.c_str(), nullptr, nullptr, argv.data(), environ) != 0 ||
      waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != kExitOk) {
    std::remove(path.c_str());
    throw UsageError(fmt::format("mixed: the run with --shaping {} failed", shaping));
  }
  std::ifstream f(path);
  auto j = nlohmann::json::parse(f);
  std::remove(path.c_str());
  return j;
}

}  // namespace

int run_mixed(const Options& o) {
  only_defaults(o);
  Options opt = o;
  constexpr uint32_t kSmall = 64;
  constexpr unsigned kRingLog2 = 10;
  need(opt.cards >= 3, "mixed needs --cards 3 or more");
  need(opt.iterations >= 100 && opt.iterations <= 30000,
       fmt::format("--iterations {}: mixed takes 100 to 30000", opt.iterations));
  need(opt.bytes >= 64 && opt.bytes <= (1u << 22),
       fmt::format("--bytes {}: mixed takes bulk messages of 64 bytes to 4 MiB", opt.bytes));
  const bool shaping = opt.shaping.value_or(true);
  nlohmann::json off;
  if (!opt.shaping) off = run_other(opt, "off");
  Session s(opt);
  // Small messages go from card 0 to the last one; every other card, 0 too, sends bulk to it.
  const unsigned to = opt.cards - 1;
  std::vector<Flow> flows;
  flows.push_back({0, to, {}, uint64_t{opt.iterations} * kSmall, opt.iterations});
  for (unsigned c = 0; c < to; ++c) flows.push_back({c, to, {}, opt.bytes, 0});
  for (Flow& f : flows) {
    f.config.window = spec::kNicMaxWindow;
    f.config.sq_log2 = kRingLog2;
    f.config.cwnd = 16;
    f.config.congestion_control = shaping;
  }
  const auto small = random_bytes(opt.seed, 0, flows[0].bytes);
  std::vector<std::vector<uint8_t>> bulk(flows.size());
  for (size_t i = 1; i < flows.size(); ++i)
    bulk[i] = random_bytes(opt.seed, static_cast<unsigned>(i), opt.bytes);
  std::vector<uint64_t> target(flows.size());
  std::vector<Cycle> sent(opt.iterations), came(opt.iterations);
  std::vector<uint64_t> bulk_messages(flows.size());
  Board<std::vector<End>> board(opt.cards);
  Board<bool> ready(opt.cards), done(opt.cards);
  auto& p = s.platform();
  bool over = false;
  s.run([&](unsigned rank) {
    Node node(s, rank, flows, board, 11);
    for (size_t i = 0; i < flows.size(); ++i)
      if (flows[i].to == rank) target[i] = node.target(i);
    if (rank == to) {
      ready.exchange(rank, true);
      for (unsigned i = 0; i < opt.iterations;) {
        const auto c = node.wait_completion();
        if (c.recv == 0) continue;
        if (c.imm != i)
          throw comm::CommError(comm::ErrorKind::kDeviceReported,
                                fmt::format("message {} arrived instead of {}", c.imm, i));
        came[i++] = s.now();
      }
      over = true;
      done.exchange(rank, true);
      return;
    }
    if (shaping) {
      // Bulk of all senders together stays below the receiver's link.
      const double cost = 132.0 * to / 0.9;
      node.device().transport().write32(0, spec::reg::kNicPaceBulk,
                                        static_cast<uint32_t>(std::min(cost, 65535.0)));
    }
    const size_t mine = 1 + rank;
    const auto source = node.region(opt.bytes), small_source = node.region(flows[0].bytes);
    std::memcpy(p.card(rank).hbm().data() + source.base, bulk[mine].data(), opt.bytes);
    if (rank == 0)
      std::memcpy(p.card(0).hbm().data() + small_source.base, small.data(), small.size());
    ready.exchange(rank, true);
    // Bulk comes in bursts: a message, then a gap as long as two to six of them take a share of the
    // receiver's link.
    std::mt19937_64 rng(opt.seed * 1000 + rank);
    const double alone_ns = static_cast<double>(opt.bytes) / 387.0;
    uint64_t next_bulk = node.now_ns() + rng() % 2000, next_small = node.now_ns() + 3000;
    unsigned bulk_open = 0, small_open = 0, i = 0;
    const auto take = [&] {
      while (auto c = node.poll()) {
        if (node.flow_of(*c) == mine) {
          --bulk_open;
          ++bulk_messages[mine];
        } else {
          small_open -= 16;
        }
      }
    };
    while ((rank == 0 && i < opt.iterations) || (rank != 0 && !over)) {
      const uint64_t now = node.now_ns();
      take();
      if (now >= next_bulk) {
        if (bulk_open < 4) {
          auto w = write_wqe(node.peer(mine), 0, static_cast<uint32_t>(opt.bytes), spec::Vc::kBulk);
          w.laddr = source.base;
          w.lkey = source.key;
          w.signalled = 1;
          node.qp(mine).post(w);
          node.qp(mine).ring();
          ++bulk_open;
        }
        next_bulk = now + static_cast<uint64_t>(alone_ns * to *
                                                (0.7 + static_cast<double>(rng() % 1000) / 1000));
      }
      if (rank == 0 && now >= next_small) {
        const uint32_t k = i++;
        auto w = write_wqe(node.peer(0), uint64_t{k} * kSmall, kSmall,
                           shaping ? spec::Vc::kReq : spec::Vc::kBulk);
        w.opcode = static_cast<uint8_t>(spec::WqeOp::kWriteImm);
        w.imm = k;
        w.laddr = small_source.base + uint64_t{k} * kSmall;
        w.lkey = small_source.key;
        w.signalled = (k % 16 == 15) ? 1 : 0;
        ++small_open;
        sent[k] = s.now();
        node.qp(0).push(w);
        next_small = now + 300 + rng() % 1400;
      }
      node.wait(rank == 0 ? std::min(next_bulk, next_small) : next_bulk);
    }
    const uint64_t deadline = node.now_ns() + 20'000'000;
    while (bulk_open != 0 || small_open >= 16 || !over) {
      take();
      if (node.now_ns() > deadline)
        throw comm::CommError(comm::ErrorKind::kTimeout,
                              fmt::format("rank {} waits for its last messages", rank));
      node.wait(node.now_ns() + 1000);
    }
    done.exchange(rank, true);
  });
  Result r;
  if (s.ok()) {
    compare_result(s, to, target[0], small.data(), small.size(), r);
    for (size_t i = 1; i < flows.size(); ++i)
      if (bulk_messages[i] != 0) compare_result(s, to, target[i], bulk[i].data(), opt.bytes, r);
    std::vector<double> ns;
    for (size_t i = 0; i < sent.size(); ++i)
      ns.push_back(systemc::ns_from_cycles(came[i] - sent[i]));
    std::sort(ns.begin(), ns.end());
    const auto at = [&](double q) {
      return ns[static_cast<size_t>(q * static_cast<double>(ns.size() - 1))];
    };
    const double spread = at(0.99) - at(0.5);
    uint64_t bulk_bytes = 0;
    for (const uint64_t n : bulk_messages) bulk_bytes += n * opt.bytes;
    r.extra["shaping"] = shaping ? "on" : "off";
    r.extra["latency_ns"] = {
        {"min", ns.front()}, {"p50", at(0.5)}, {"p99", at(0.99)}, {"max", ns.back()}};
    r.extra["spread_ns"] = spread;
    r.extra["bulk_GBps"] =
        static_cast<double>(bulk_bytes) / systemc::ns_from_cycles(came.back() - sent.front());
    r.op_cycles = systemc::cycles_from_ns(static_cast<uint64_t>(at(0.5)));
    if (!o.quiet) {
      const auto line = [](const char* name, const nlohmann::json& j) {
        const auto& l = j["latency_ns"];
        fmt::print(
            "shaping {:3}: 64-byte messages min {:.0f} p50 {:.0f} p99 {:.0f} max {:.0f} ns, "
            "p99 - p50 {:.0f} ns; bulk {:.1f} GB/s\n",
            name, l["min"].get<double>(), l["p50"].get<double>(), l["p99"].get<double>(),
            l["max"].get<double>(), j["spread_ns"].get<double>(), j["bulk_GBps"].get<double>());
      };
      if (!off.is_null()) line("off", off);
      line(shaping ? "on" : "off", nlohmann::json(r.extra));
    }
    if (!off.is_null()) {
      const double before = off["spread_ns"].get<double>();
      r.extra["off"] = {{"latency_ns", off["latency_ns"]},
                        {"spread_ns", before},
                        {"bulk_GBps", off["bulk_GBps"]}};
      r.extra["spread_cut"] = before > 0 ? 1 - spread / before : 0;
      if (!o.quiet)
        fmt::print("p99 - p50 is {:.1f} % less with shaping\n",
                   100 * r.extra["spread_cut"].get<double>());
    }
  }
  conclude(s, r);
  return finish(opt, s, r);
}

}  // namespace ubl::ublsim
