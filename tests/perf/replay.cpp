// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// How much of the speed of the bare Verilated models does ublsim reach? Records what goes into
// every box (host_if, nic_core, nic_port, switch) in every evaluated cycle of an all-reduce,
// replays it into fresh models in the same order, checks that all outputs are those of the run, and
// compares with the same run of the ublsim program. Figures are printed, nothing is asserted about
// them. usage: perf_replay [--cards N] [--bytes SIZE] [--planes N] [--repeat N]
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <systemc>

#include "platform/stimulus.hpp"
#include "ublsim/options.hpp"
#include "ublsim/workloads.hpp"

namespace {

using nlohmann::json;
namespace sim = ubl::ublsim;

struct Seconds {
  double wall = 1e30, cpu = 1e30;
  void best_of(double w, double c) {
    wall = std::min(wall, w);
    cpu = std::min(cpu, c);
  }
};

std::string temporary(const char* what) {
  return (std::filesystem::temp_directory_path() / fmt::format("ubl-replay-{}-{}", getpid(), what))
      .string();
}

json read_json(const std::string& path) {
  std::ifstream f(path);
  json j = json::parse(f, nullptr, false);
  std::filesystem::remove(path);
  return j;
}

int main_checked(int argc, char** argv) {
  CLI::App app{"perf_replay: ublsim against its bare Verilated models"};
  sim::Options o;
  o.workload = "allreduce";
  o.cards = 8;
  o.planes = 8;
  o.quiet = true;
  std::string bytes = "1MiB";
  unsigned repeat = 3;
  app.add_option("--cards", o.cards)->check(CLI::Range(1u, 128u))->capture_default_str();
  app.add_option("--planes", o.planes)->check(CLI::Range(1u, 8u))->capture_default_str();
  app.add_option("--bytes", bytes)->capture_default_str();
  app.add_option("--repeat", repeat)->check(CLI::Range(1u, 1000u))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  o.bytes = sim::parse_bytes(bytes);

  // The recording itself is slow and not timed.
  ubl::cosim::Stimulus stimulus;
  o.stimulus = &stimulus;
  o.json = temporary("recording");
  if (const int rc = sim::run_allreduce(o); rc != 0) return rc;
  const json recorded = read_json(o.json);
  {
    ubl::cosim::Replay check(stimulus);
    check.run(true);
    if (const int box = check.mismatch(); box >= 0) {
      fmt::print(stderr, "perf_replay: outputs of box {} (kind {}) are not those of the run\n", box,
                 static_cast<int>(stimulus.boxes()[static_cast<size_t>(box)].kind));
      return 1;
    }
  }

  Seconds program, bare;
  double share = 0;
  const std::string out = temporary("program");
  const std::string command = fmt::format(
      "'{}' run allreduce --cards {} --bytes {} --planes {} -q "
      "--json '{}'",
      UBLSIM, o.cards, o.bytes, o.planes, out);
  for (unsigned i = 0; i < repeat; ++i) {  // in turns: other load on the machine hits both
    if (std::system(command.c_str()) != 0) {
      fmt::print(stderr, "perf_replay: failed: {}\n", command);
      return 1;
    }
    const json j = read_json(out);
    if (j["run_hash"] != recorded["run_hash"]) {
      fmt::print(stderr, "perf_replay: the recorded run was another one (run_hash)\n");
      return 1;
    }
    program.best_of(j["wall_s"], j["cpu_s"]);
    share = std::max(share, j["model_share"].get<double>());

    ubl::cosim::Replay replay(stimulus);
    const auto wall = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    replay.run(false);
    bare.best_of(std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(),
                 static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
  }

  const auto cycles = recorded["cycles"].get<double>();
  const auto evaluated = recorded["cycles_evaluated"].get<double>();
  const auto evals = static_cast<double>(stimulus.entries());
  fmt::print("allreduce, {} cards, {} bytes, {} planes, best of {}\n", o.cards, o.bytes, o.planes,
             repeat);
  fmt::print(
      "  {:.0f} cycles, {:.0f} of them evaluated, {:.0f} evaluations of {} boxes, {} MiB "
      "recorded\n",
      cycles, evaluated, evals, stimulus.boxes().size(), stimulus.bytes() >> 20);
  fmt::print("  {:22} {:>12} {:>14} {:>14} {:>10}\n", "", "cycles/s", "evaluated/s", "box evals/s",
             "seconds");
  auto line = [&](const char* what, double s) {
    fmt::print("  {:22} {:12.0f} {:14.0f} {:14.0f} {:10.3f}\n", what, cycles / s, evaluated / s,
               evals / s, s);
  };
  line("ublsim, wall", program.wall);
  line("bare models, wall", bare.wall);
  line("ublsim, processor", program.cpu);
  line("bare models, processor", bare.cpu);
  fmt::print("  ratio                  {:.3f} by wall time, {:.3f} by processor time\n",
             bare.wall / program.wall, bare.cpu / program.cpu);
  fmt::print("  model_share            {:.3f}\n", share);
  fmt::print("  all outputs of all boxes as in the run, run hash {}\n",
             recorded["run_hash"].get<std::string>());
  return 0;
}

}  // namespace

int sc_main(int argc, char** argv) {
  try {
    return main_checked(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "perf_replay: {}\n", e.what());
    return 2;
  }
}

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  return sc_core::sc_elab_and_sim(argc, argv);
}
