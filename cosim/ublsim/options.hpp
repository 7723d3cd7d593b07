// SPDX-License-Identifier: Apache-2.0
// Command line of `ublsim run` and the files it names. Everything that is wrong with them ends in a
// UsageError that says where.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/topology.hpp"
#include "ubl/systemc/config.hpp"
#include "ubl/systemc/link_faults.hpp"
#include "ublsim/waves.hpp"

namespace ubl::cosim {
class Stimulus;
}

namespace ubl::ublsim {

/// Exit statuses of ublsim.
enum ExitCode : int {
  kExitOk = 0,
  kExitWrongData = 1,
  kExitUsage = 2,
  kExitDeviceError = 3,
  kExitNoProgress = 4,
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One entry of a fault file.
struct Fault {
  enum class What { kLink, kFlipResult, kNoReceive, kShortReceive };
  What what = What::kLink;
  std::string place;             ///< FILE:LINE, for messages
  std::string where;             ///< kLink: pattern of links, "card0.plane0.up"; others: "card1"
  systemc::LinkFault link;       ///< kLink; the seed is set when the link is known
  std::optional<uint64_t> seed;  ///< kLink: its own
  uint64_t byte = 0;             ///< kFlipResult: byte of the result buffer
  unsigned bit = 0;              ///< 0..7
};

struct Options {
  std::string workload;
  unsigned cards = 4;
  uint64_t bytes = 1 << 20;
  std::string dtype = "f32";
  std::string op = "sum";
  std::string algo = "auto";
  std::optional<bool> in_place;           ///< as the workload does by default
  std::string topology = "ubl128";        ///< name
  std::optional<cosim::Topology> layout;  ///< of a topology file; nothing: the preset
  unsigned planes = 8;
  unsigned root = 0;  ///< of broadcast, gather, reduce, scatter
  unsigned steps = 200;
  unsigned iterations = 1000;       ///< exchanges of pingpong; messages of msgrate, mixed
  unsigned qps = 32;                ///< queue pairs of msgrate, each way
  std::optional<bool> shaping;      ///< of incast and mixed; mixed: nothing is both
  std::string offload = "host";     ///< of allreduce: "host" or "nic"
  bool push = false;                ///< of pingpong: pushed entries, inline payload
  std::string config;               ///< file with constants, if there is one
  std::optional<std::string> verb;  ///< of pingpong: "write" (default) or "send"
  uint64_t seed = 1;
  bool skip = true;
  bool verbose = false;
  bool quiet = false;
  bool progress = false;
  std::string json;
  std::string pcap;  ///< capture of all links
  WaveOptions wave;
  std::string data;  ///< training data; empty: the digits that come with the project
  systemc::Timing timing;
  std::vector<Fault> faults;
  cosim::Stimulus* stimulus = nullptr;  ///< benchmark: records what goes into the models
};

/// Digits only, and not more than 64 bits.
bool is_whole_number(const std::string& text);

/// Files that options name. UsageError for an empty name and for an output that is another file of
/// this run.
class FileNames {
 public:
  void input(const std::string& option, const std::string& path);
  void output(const std::string& option, const std::string& path);

 private:
  std::string real(const std::string& option, const std::string& path) const;
  std::map<std::string, std::string> option_of_;  // by path
};

/// "1MiB", "64KiB", "12348", "1K", "1M", "1G" (powers of two); UsageError otherwise.
uint64_t parse_bytes(const std::string& text);
/// Overrides constants by "key: value" lines of a YAML file.
void load_config(const std::string& path, systemc::Timing& timing);
std::vector<Fault> load_faults(const std::string& path);  // fault_file.cpp

}  // namespace ubl::ublsim
