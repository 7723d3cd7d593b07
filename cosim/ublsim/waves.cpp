// SPDX-License-Identifier: Apache-2.0
#include "ublsim/waves.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <charconv>

#include "ublsim/options.hpp"

namespace ubl::ublsim {

std::unique_ptr<Waves> (*make_waves)(const WaveOptions&) = nullptr;

bool box_chosen(const std::string& patterns, const std::string& box) {
  for (size_t at = 0; at <= patterns.size();) {
    const size_t end = std::min(patterns.find(',', at), patterns.size());
    if (fnmatch(patterns.substr(at, end - at).c_str(), box.c_str(), 0) == 0) return true;
    at = end + 1;
  }
  return false;
}

void parse_window(const std::string& text, WaveOptions& to) {
  const auto bad = [&text] {
    return UsageError(fmt::format(
        "--wave-window '{}': must be FROM:TO in nanoseconds, FROM before TO; either may be missing",
        text));
  };
  const size_t colon = text.find(':');
  if (colon == std::string::npos) throw bad();
  const auto number = [&](size_t begin, size_t end, uint64_t& value) {
    if (begin == end) return;
    const char* last = text.data() + end;
    const auto [p, ec] = std::from_chars(text.data() + begin, last, value);
    // Picoseconds must fit 64 bits.
    if (ec != std::errc() || p != last || value > ~uint64_t{0} / 1000) throw bad();
  };
  number(0, colon, to.from_ns);
  number(colon + 1, text.size(), to.to_ns);
  if (to.from_ns >= to.to_ns) throw bad();
}

}  // namespace ubl::ublsim
