// SPDX-License-Identifier: Apache-2.0
// ublsim: the super-node on the command line.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <systemc>

#include "ubl/spec/link.hpp"
#include "ublsim/options.hpp"
#include "ublsim/ranks.hpp"
#include "ublsim/topology_file.hpp"
#include "ublsim/workloads.hpp"
#include "ublsim/yaml_file.hpp"

namespace ubl::ublsim {
namespace {

struct Topology {
  const char* name;
  const char* help;
};
constexpr Topology kTopologies[] = {
    {"ubl128", "one switch per plane, every card on every plane (up to 128 cards)"}};
constexpr unsigned kMaxCards = 128;

void check(const Options& o) {
  if (o.cards < 1 || o.cards > kMaxCards)
    throw UsageError(fmt::format("--cards {}: must be 1..{}", o.cards, kMaxCards));
  if (o.planes < 1 || o.planes > spec::kLinkMaxPlanes)
    throw UsageError(fmt::format("--planes {}: must be 1..{}", o.planes, spec::kLinkMaxPlanes));
  if (o.root >= o.cards)
    throw UsageError(fmt::format("--root {}: must be 0..{}", o.root, o.cards - 1));
  if (o.verb && *o.verb != "write" && *o.verb != "send")
    throw UsageError(fmt::format("--verb {}: must be write or send", *o.verb));
  if (o.verb && o.workload != "pingpong")
    throw UsageError(fmt::format("--verb {}: not for {}", *o.verb, o.workload));
  for (const Fault& f : o.faults)
    if ((f.what == Fault::What::kNoReceive || f.what == Fault::What::kShortReceive) &&
        o.workload != "sendmsg")
      throw UsageError(
          fmt::format("{}: {} is for sendmsg only", f.place,
                      f.what == Fault::What::kNoReceive ? "no_receive" : "short_receive"));
  if (o.op != "sum") throw UsageError(fmt::format("--op {}: only sum so far", o.op));
  algorithm(o);
}

int topo_list() {
  for (const auto& t : kTopologies) fmt::print("{:10} {}\n", t.name, t.help);
  return kExitOk;
}

bool is_preset(const std::string& name) {
  for (const auto& t : kTopologies)
    if (name == t.name) return true;
  return false;
}

/// What is no preset is a file.
cosim::Topology topology_file(const std::string& path) {
  std::error_code ignored;
  if (path.find('/') == std::string::npos && !std::filesystem::exists(path, ignored))
    throw UsageError(fmt::format(
        "topology {}: not known and no file; `ublsim topo list` shows what there is", shown(path)));
  return load_topology(path);
}

const char* default_bytes(const std::string& workload) {
  if (workload == "pingpong" || workload == "msgrate") return "8";
  if (workload == "mixed") return "256KiB";
  return "1MiB";
}

/// Workloads that take no other number of cards.
bool for_two_cards(const std::string& workload) {
  return workload == "pingpong" || workload == "read" || workload == "sendmsg" ||
         workload == "msgrate";
}

/// The file says how many there are; an option may only say the same.
void same_as_file(const CLI::Option* option, unsigned given, unsigned in_file) {
  if (option->count() > 0 && given != in_file)
    throw UsageError(
        fmt::format("{} {}: the topology file has {}", option->get_name(), given, in_file));
}

/// Starts ublsim-wave, next to this program, in our place.
[[noreturn]] void run_wave_program(char** argv) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string() + "-wave";
  execv(program.c_str(), argv);
  throw UsageError(fmt::format("--wave: cannot start {} ({}); `scripts/build` makes it", program,
                               std::strerror(errno)));
}

int main_checked(int argc, char** argv) {
  CLI::App app{"ublsim: cycle-accurate simulation of the OpenUBL super-node"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "ublsim " UBL_VERSION);
  Options o;
  std::string bytes = "1MiB", faults, shaping;
  std::string& config = o.config;
  bool no_skip = false;

  auto* run = app.add_subcommand("run", "run a workload and verify every output byte");
  std::string names;
  for (const auto& w : workloads()) names += fmt::format("\n  {:13} {}", w.name, w.help);
  run->add_option("WORKLOAD", o.workload, "one of:" + names)->required();
  auto* cards_opt = run->add_option(
      "--cards", o.cards, "cards, 1..128 (default: 4; pingpong, read, sendmsg: 2, no other)");
  auto* bytes_opt =
      run->add_option("--bytes", bytes,
                      "larger buffer of a card, e.g. 1MiB, 64KiB, 12348 (default: "
                      "1MiB; pingpong, msgrate: 8; mixed: 256KiB; docs/guides/running.md)");
  run->add_option("--dtype", o.dtype,
                  "element type: f32; to move only: i8, u8, f16, bf16, f64, ...")
      ->capture_default_str();
  run->add_option("--op", o.op, "reduction: sum")->capture_default_str();
  run->add_option("--algo", o.algo, "auto, ring, direct, slots, chained (sw/comm/README.md)")
      ->capture_default_str();
  bool in_place = false;
  auto* in_place_opt = run->add_flag("--in-place,!--out-of-place", in_place,
                                     "as NCCL has it (default: allreduce in place, others not)");
  run->add_option("--topology", o.topology,
                  "a name of `ublsim topo list` or a YAML file (docs/guides/topology.md)")
      ->capture_default_str();
  auto* planes_opt =
      run->add_option("--planes", o.planes, "planes in use, 1..8")->capture_default_str();
  run->add_option("--root", o.root, "root of broadcast, gather, reduce, scatter")
      ->capture_default_str();
  run->add_option("--steps", o.steps, "training steps")->capture_default_str();
  run->add_option("--data", o.data, "training data, CSV (default: the digits that come along)");
  run->add_option("--iterations", o.iterations,
                  "pingpong exchanges; messages of mixed, of msgrate per queue pair")
      ->capture_default_str();
  auto* qps_opt =
      run->add_option("--qps", o.qps, "queue pairs of msgrate, each way")->capture_default_str();
  auto* shaping_opt =
      run->add_option("--shaping", shaping,
                      "on, off: congestion control, and in mixed priority and pacing "
                      "(default: incast on, mixed both, compared)");
  auto* offload_opt =
      run->add_option("--offload", o.offload,
                      "who runs an allreduce step by step: host, nic (triggered operations)")
          ->capture_default_str();
  run->add_flag("--push", o.push, "pingpong: pushed entries, payload of up to 16 bytes in them");
  run->add_option("--verb", o.verb, "what pingpong sends with: write (default), send");
  run->add_option("--seed", o.seed, "seed of all inputs")->capture_default_str();
  run->add_option("--config", config, "YAML file with constants (docs/guides/configuration.md)");
  run->add_option("--faults", faults, "YAML file with faults (docs/guides/faults.md)");
  run->add_flag("--no-skip", no_skip, "evaluate idle blocks, too (same results, slower)");
  run->add_option("--json", o.json, "write the result here");
  run->add_option("--pcap", o.pcap, "write all frames of all links here (pcapng, for Wireshark)");
  run->add_option("--wave", o.wave.file, "write waves of the RTL here (FST, for GTKWave)");
  auto* boxes_opt = run->add_option("--wave-boxes", o.wave.boxes,
                                    "boxes with waves, e.g. card0.*,card1.nic_port?,plane0.switch")
                        ->capture_default_str();
  std::string window;
  auto* window_opt =
      run->add_option("--wave-window", window, "only from FROM to TO nanoseconds: FROM:TO");
  run->add_flag("-v,--verbose", o.verbose, "more detail");
  run->add_flag("-q,--quiet", o.quiet, "no summary");
  run->add_flag("--progress", o.progress, "show progress while running");

  // The parser itself takes -1 for a large number, 010 for eight and nothing for a file.
  for (const char* name :
       {"--cards", "--planes", "--root", "--steps", "--iterations", "--seed", "--qps"})
    run->get_option(name)->check(
        [](const std::string& text) { return is_whole_number(text) ? "" : "not a whole number"; });
  const std::pair<const char*, const std::string*> inputs[] = {{"--config", &config},
                                                               {"--faults", &faults},
                                                               {"--data", &o.data},
                                                               {"--topology", &o.topology}};
  const std::pair<const char*, const std::string*> outputs[] = {
      {"--json", &o.json}, {"--pcap", &o.pcap}, {"--wave", &o.wave.file}};

  auto* topo = app.add_subcommand("topo", "topologies");
  topo->require_subcommand(1);
  auto* list = topo->add_subcommand("list", "names");
  auto* show = topo->add_subcommand("show", "one topology as a topology file");
  std::string topo_name;
  unsigned topo_cards = 4, topo_planes = 8;
  show->add_option("NAME", topo_name, "a name, or a file to check")->required();
  auto* show_cards_opt = show->add_option("--cards", topo_cards)
                             ->check(CLI::Range(1u, kMaxCards))
                             ->capture_default_str();
  auto* show_planes_opt = show->add_option("--planes", topo_planes)
                              ->check(CLI::Range(1u, spec::kLinkMaxPlanes))
                              ->capture_default_str();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kExitOk : kExitUsage;
  }

  if (list->parsed()) return topo_list();
  if (show->parsed()) {
    cosim::Topology t;
    if (is_preset(topo_name)) {
      t = cosim::ubl128(topo_cards, topo_planes);
    } else {
      t = topology_file(topo_name);
      same_as_file(show_cards_opt, topo_cards, t.cards);
      same_as_file(show_planes_opt, topo_planes, t.planes);
    }
    fmt::print("{}", to_yaml(t));
    return kExitOk;
  }

  FileNames files;
  for (const auto& [option, path] : inputs)
    if (run->count(option) > 0 && !(path == &o.topology && is_preset(*path)))
      files.input(option, *path);
  for (const auto& [option, path] : outputs)
    if (run->count(option) > 0) files.output(option, *path);
  o.skip = !no_skip;
  if (in_place_opt->count() > 0) o.in_place = in_place;
  if (bytes_opt->count() == 0) bytes = default_bytes(o.workload);
  if (qps_opt->count() > 0 && o.workload != "msgrate")
    throw UsageError(fmt::format("--qps {}: not for {}", o.qps, o.workload));
  if (o.offload != "host" && o.offload != "nic")
    throw UsageError(fmt::format("--offload {}: must be host or nic", shown(o.offload)));
  if (offload_opt->count() > 0 && o.workload != "allreduce")
    throw UsageError(fmt::format("--offload {}: not for {}", o.offload, o.workload));
  if (o.offload == "nic" && o.algo != "auto")
    throw UsageError(fmt::format("--algo {}: --offload nic has its own", o.algo));
  if (o.push && o.workload != "pingpong")
    throw UsageError(fmt::format("--push: not for {}", o.workload));
  if (shaping_opt->count() > 0) {
    if (shaping != "on" && shaping != "off")
      throw UsageError(fmt::format("--shaping {}: must be on or off", shown(shaping)));
    if (o.workload != "incast" && o.workload != "mixed")
      throw UsageError(fmt::format("--shaping {}: not for {}", shaping, o.workload));
    o.shaping = shaping == "on";
  }
  if (cards_opt->count() == 0 && for_two_cards(o.workload)) o.cards = 2;
  o.bytes = parse_bytes(bytes);
  if (!is_preset(o.topology)) {
    o.layout = topology_file(o.topology);
    same_as_file(cards_opt, o.cards, o.layout->cards);
    same_as_file(planes_opt, o.planes, o.layout->planes);
    o.topology = o.layout->name;
    o.cards = o.layout->cards;
    o.planes = o.layout->planes;
  }
  if (!config.empty()) load_config(config, o.timing);
  if (!faults.empty()) o.faults = load_faults(faults);
  for (const auto* opt : {boxes_opt, window_opt})
    if (opt->count() > 0 && o.wave.file.empty())
      throw UsageError(opt->get_name() + " needs --wave");
  if (window_opt->count() > 0) parse_window(window, o.wave);
  check(o);
  if (!o.wave.file.empty() && make_waves == nullptr) run_wave_program(argv);
  for (const auto& w : workloads())
    if (o.workload == w.name) return w.run(o);
  throw UsageError(fmt::format("run {}: no such workload; one of:{}", o.workload, names));
}

}  // namespace
}  // namespace ubl::ublsim

// SystemC requires this name; its library's main() is replaced by ours below.
int sc_main(int argc, char** argv) {
  try {
    return ubl::ublsim::main_checked(argc, argv);
  } catch (const ubl::ublsim::UsageError& e) {
    fmt::print(stderr, "ublsim: {}\n", e.what());
    return ubl::ublsim::kExitUsage;
  }
}

int main(int argc, char** argv) {
  // SystemC's banner is no result.
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  // An sc_stop() is how every run ends, not news.
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  return sc_core::sc_elab_and_sim(argc, argv);
}
