// SPDX-License-Identifier: Apache-2.0
// Waves of the Verilated boxes (`--wave`). Models that can write waves are large and slow to
// compile, so only the program ublsim-wave holds them; ublsim starts it when waves are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/shadow.hpp"

namespace ubl::ublsim {

struct WaveOptions {
  std::string file;               ///< FST; empty: no waves
  std::string boxes = "card0.*";  ///< patterns as of a shell, separated by commas
  uint64_t from_ns = 0;           ///< first time in the file ...
  uint64_t to_ns = ~uint64_t{0};  ///< ... and the first that is not; only with from_ns below it
};

class Waves {
 public:
  virtual ~Waves() = default;
  virtual cosim::ShadowFactory factory() = 0;
  /// Every box exists: opens the file. UsageError if it cannot be written or no box was chosen.
  virtual void open() = 0;
  /// Last cycles, then the file is closed. UsageError if it is not whole.
  virtual void close() = 0;
};

/// Makes waves; null in programs that cannot.
extern std::unique_ptr<Waves> (*make_waves)(const WaveOptions&);

/// Whether one of the comma-separated patterns fits.
bool box_chosen(const std::string& patterns, const std::string& box);

/// "FROM:TO" in nanoseconds, either may be missing; UsageError otherwise.
void parse_window(const std::string& text, WaveOptions& to);

}  // namespace ubl::ublsim
