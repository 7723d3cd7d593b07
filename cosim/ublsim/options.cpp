// SPDX-License-Identifier: Apache-2.0
#include "ublsim/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>

#include "ublsim/yaml_file.hpp"

namespace ubl::ublsim {

bool is_whole_number(const std::string& text) {
  uint64_t v = 0;
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, v);
  return ec == std::errc() && p == end && (text.size() == 1 || text[0] != '0');
}

std::string FileNames::real(const std::string& option, const std::string& path) const {
  if (path.empty()) throw UsageError(option + " '': a file name must not be empty");
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);
  return ignored ? path : real.string();
}

void FileNames::input(const std::string& option, const std::string& path) {
  option_of_.emplace(real(option, path), option);
}

void FileNames::output(const std::string& option, const std::string& path) {
  const std::string file = real(option, path);
  std::error_code ignored;
  // Two outputs may share a terminal or /dev/null.
  if (std::filesystem::is_character_file(file, ignored)) return;
  const auto [other, fresh] = option_of_.emplace(file, option);
  if (!fresh)
    throw UsageError(fmt::format("{} {}: is the file of {}, too", option, path, other->second));
}

uint64_t parse_bytes(const std::string& text) {
  static const std::map<std::string, unsigned> units = {
      {"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}};
  uint64_t v = 0;
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, v);
  const auto unit = units.find(std::string(p, end));
  constexpr uint64_t kMax = uint64_t{4} << 30;  // fits HBM together with the work areas
  if (ec != std::errc() || unit == units.end() || v > (kMax >> unit->second))
    throw UsageError(
        fmt::format("'{}' is not a size: a whole number with optional unit K, KiB, M, MiB, G or "
                    "GiB, at most 4GiB",
                    text));
  return v << unit->second;
}

void load_config(const std::string& path, systemc::Timing& t) {
  const std::map<std::string, uint32_t*> keys = {{"pcie_oneway_ns", &t.pcie_oneway_ns},
                                                 {"pcie_dma_read_ns", &t.pcie_dma_read_ns},
                                                 {"pcie_mbps", &t.pcie_mbps},
                                                 {"link_ns", &t.link_ns},
                                                 {"switch_ns", &t.switch_ns},
                                                 {"switch_rtl_cycles", &t.switch_rtl_cycles},
                                                 {"switch_ecn_kmin", &t.switch_ecn_kmin},
                                                 {"switch_ecn_kmax", &t.switch_ecn_kmax},
                                                 {"hbm_read_ns", &t.hbm_read_ns},
                                                 {"hbm_write_ns", &t.hbm_write_ns},
                                                 {"hbm_row_miss_ns", &t.hbm_row_miss_ns},
                                                 {"hbm_refresh_ns", &t.hbm_refresh_ns},
                                                 {"hbm_refresh_every_ns", &t.hbm_refresh_every_ns}};
  const YAML::Node root = load_yaml(path);
  if (!root.IsMap()) throw UsageError(fmt::format("{}: must be a mapping of constants", path));
  each_key(path, root, [&](const std::string& key, const YAML::Node& value, const YAML::Node& n) {
    const auto it = keys.find(key);
    if (it == keys.end()) {
      std::string known;
      for (const auto& k : keys) known += (known.empty() ? "" : ", ") + k.first;
      throw UsageError(
          fmt::format("{}: unknown constant '{}' (known: {})", at(path, n), shown(key), known));
    }
    *it->second = static_cast<uint32_t>(get_number(path, value, key, 0, 1000000));
  });
  if (t.pcie_mbps == 0) throw UsageError(fmt::format("{}: pcie_mbps must not be 0", path));
  if (t.hbm_refresh_ns != 0 && t.hbm_refresh_every_ns <= t.hbm_refresh_ns)
    throw UsageError(fmt::format("{}: hbm_refresh_every_ns {} must be more than hbm_refresh_ns {}",
                                 path, t.hbm_refresh_every_ns, t.hbm_refresh_ns));
  if (t.switch_ecn_kmin > 0xFFFF || t.switch_ecn_kmax > 0xFFFF)
    throw UsageError(
        fmt::format("{}: switch_ecn_kmin and switch_ecn_kmax must be at most 65535", path));
  if (t.link_ns == 0) throw UsageError(fmt::format("{}: link_ns must not be 0", path));
}

}  // namespace ubl::ublsim
