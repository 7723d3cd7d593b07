// SPDX-License-Identifier: Apache-2.0
#include "ublsim/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "ubl/spec/fabric.hpp"
#include "ubl/spec/nic.hpp"

namespace ubl::ublsim {

using systemc::kClockPs;
using json = nlohmann::ordered_json;

namespace {

/// Payload rate at the receiver over the middle 80 % of its bytes, in GB/s; 0 for too few bytes.
double goodput(const cosim::Card& card, unsigned planes) {
  double sum = 0;
  for (unsigned p = 0; p < planes; ++p) {
    const auto& samples = card.mem_port(p).write.progress();
    const uint64_t total = card.mem_port(p).write.bytes();
    const auto first = std::find_if(samples.begin(), samples.end(),
                                    [&](const auto& s) { return s.second * 10 >= total; });
    const auto last = std::find_if(samples.begin(), samples.end(),
                                   [&](const auto& s) { return s.second * 10 >= total * 9; });
    if (first == samples.end() || last == samples.end() || last->first <= first->first) continue;
    sum += static_cast<double>(last->second - first->second) /
           systemc::ns_from_cycles(last->first - first->first);
  }
  return sum;
}

}  // namespace

json to_json(const Options& o, Session& s, const Result& r) {
  auto& p = s.platform();
  const double sim_ns = systemc::ns_from_cycles(s.cycles());
  uint64_t wire_bytes = 0, flits = 0;
  std::vector<uint64_t> plane_bytes(spec::kLinkMaxPlanes, 0);
  for (unsigned c = 0; c < p.num_cards(); ++c) {
    for (unsigned l = 0; l < p.num_planes(); ++l) {
      wire_bytes += p.uplink(c, l).byte_count();
      flits += p.uplink(c, l).flit_count();
      plane_bytes[l] += p.uplink(c, l).byte_count();
    }
  }
  double good = 0;
  uint64_t reads = s.mmio_reads(), writes = 0, busy_ps = 0;
  for (unsigned c = 0; c < p.num_cards(); ++c) {
    good = std::max(good, goodput(p.card(c), p.num_planes()));
    if (s.mmio_reads() == 0) reads = std::max(reads, p.card(c).pcie().mmio_reads);
    writes = std::max(writes, p.card(c).pcie().mmio_writes);
    busy_ps = std::max(busy_ps, s.transport(c).busy_ps());
  }
  uint64_t run_hash = 0, data_hash = 0;
  p.hashes(run_hash, data_hash);
  const double capacity = static_cast<double>(s.cycles()) * p.num_cards() * p.num_planes();
  json j = json::object();
  j["workload"] = o.workload;
  j["cards"] = o.cards;
  j["planes"] = o.planes;
  j["topology"] = o.topology;
  j["bytes"] = o.bytes;
  j["dtype"] = o.dtype;
  j["algo"] = o.algo;
  j["fidelity"] = "rtl";
  j["seed"] = o.seed;
  j["exit_code"] = static_cast<int>(r.code);
  j["verified"] = r.verified;
  j["mismatches"] = r.mismatches;
  j["errors"] = r.errors;
  j["cycles"] = s.cycles();
  j["sim_time_ns"] = sim_ns;
  j["op_time_ns"] = systemc::ns_from_cycles(r.op_cycles);
  j["algbw_GBps"] = r.algbw_GBps;
  j["busbw_GBps"] = r.busbw_GBps;
  j["goodput_per_card_GBps"] = good;
  j["wire_bytes"] = wire_bytes;
  j["wire_utilisation"] = capacity > 0 ? static_cast<double>(flits) / capacity : 0;
  j["plane_bytes"] = plane_bytes;
  uint64_t marks = 0;
  std::map<std::string, uint64_t> switch_errors;
  for (unsigned l = 0; l < p.num_planes(); ++l) {
    marks += p.fabric_switch(l).marks();
    for (const auto& e : p.fabric_switch(l).errors())
      ++switch_errors[to_string(static_cast<spec::SwitchErr>(e.code))];
  }
  const NicCounts& nic = s.nic();
  j["retransmits"] = nic.retransmits;
  j["drops"] = nic.bad_frames;
  j["nic"] = {{"timeouts", nic.timeouts},         {"duplicates", nic.duplicates},
              {"deferred", nic.deferred},         {"rnr_sent", nic.rnr_sent},
              {"rnr_received", nic.rnr_received}, {"lost", nic.lost}};
  j["events"] = s.events();
  j["ecn_marks"] = marks;
  j["switch_errors"] = switch_errors;
  // Kinds that the fault file has; 0: none of its frames came.
  json injected = json::object();
  std::map<std::string, json> injected_on;
  for (unsigned k = 0; k < systemc::LinkFault::kKinds; ++k) {
    const auto kind = static_cast<systemc::LinkFault::Kind>(k);
    const char* name = to_string(kind);
    for (const auto& f : p.faults()) {
      if (!f->has(kind)) continue;
      const uint64_t n = f->injected(kind);
      injected[name] = injected.value(name, uint64_t{0}) + n;
      if (n != 0) injected_on[f->link().name()][name] = n;
    }
  }
  j["faults_injected"] = injected;
  j["host"] = {{"mmio_reads", reads},
               {"mmio_writes", writes},
               {"busy_ns", static_cast<double>(busy_ps) / 1000.0}};
  j["wall_s"] = s.wall_s();
  j["cpu_s"] = s.cpu_s();
  j["cycles_per_s"] = s.wall_s() > 0 ? static_cast<double>(s.cycles()) / s.wall_s() : 0;
  j["cycles_evaluated"] = p.engine().cycles_run();
  j["box_evals"] = p.box_evals();
  j["model_share"] =
      s.cpu_s() > 0 ? std::min(1.0, p.engine().model_clock().seconds() / s.cpu_s()) : 0;
  j["run_hash"] = fmt::format("{:016x}", run_hash);
  j["data_hash"] = fmt::format("{:016x}", data_hash);
  json links = json::array();
  for (const auto& l : p.links()) {
    links.push_back({{"name", l->name()},
                     {"frames", l->frame_count()},
                     {"bytes", l->byte_count()},
                     {"flits", l->flit_count()},
                     {"utilisation", s.cycles() > 0 ? static_cast<double>(l->flit_count()) /
                                                          static_cast<double>(s.cycles())
                                                    : 0}});
    if (const auto it = injected_on.find(l->name()); it != injected_on.end())
      links.back()["faults_injected"] = it->second;
  }
  j["links"] = links;
  for (const auto& [k, v] : r.extra.items()) j[k] = v;
  return j;
}

int finish(const Options& o, Session& s, const Result& r) {
  const json j = to_json(o, s, r);
  for (const auto& e : r.errors) fmt::print(stderr, "ublsim: {}\n", e);
  if (!o.json.empty()) {
    std::ofstream f(o.json);
    f << j.dump(2) << "\n";
    f.close();
    if (!f) {
      fmt::print(stderr, "ublsim: {}: cannot be written\n", o.json);
      return kExitUsage;
    }
  }
  if (!o.quiet) {
    fmt::print("{}: {} cards, {} plane{}, seed {}\n", o.workload, o.cards, o.planes,
               o.planes == 1 ? "" : "s", o.seed);
    fmt::print("  simulated     {:.3f} us ({} cycles, {} evaluated)\n",
               systemc::ns_from_cycles(s.cycles()) / 1000.0, s.cycles(),
               s.platform().engine().cycles_run());
    fmt::print("  wall          {:.2f} s, {:.0f} cycles/s, {:.0f} % in the models\n", s.wall_s(),
               j["cycles_per_s"].get<double>(), 100 * j["model_share"].get<double>());
    if (r.algbw_GBps > 0) {
      const auto good = j["goodput_per_card_GBps"].get<double>();
      fmt::print("  bandwidth     algbw {:.3f} GB/s, busbw {:.3f} GB/s, goodput {}\n", r.algbw_GBps,
                 r.busbw_GBps, good > 0 ? fmt::format("{:.3f} GB/s per card", good) : "-");
    }
    fmt::print("  on the wire   {} bytes\n", j["wire_bytes"].get<uint64_t>());
    if (!j["faults_injected"].empty()) {
      std::string text;
      for (const auto& [kind, n] : j["faults_injected"].items())
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, n.get<uint64_t>());
      fmt::print("  faults        {}\n", text);
    }
    fmt::print("  run hash      {}\n", j["run_hash"].get<std::string>());
    const char* verdict = r.code == kExitOk            ? "VERIFIED: every output byte is right"
                          : r.code == kExitWrongData   ? "WRONG DATA"
                          : r.code == kExitDeviceError ? "DEVICE ERROR"
                          : r.code == kExitNoProgress  ? "NO PROGRESS"
                                                       : "USAGE ERROR";
    fmt::print("  {}\n", verdict);
  }
  return r.code;
}

}  // namespace ubl::ublsim
