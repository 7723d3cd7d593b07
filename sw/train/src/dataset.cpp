// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/train/dataset.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace ubl::train {
namespace {

/// A plain decimal number of at most four digits, or -1.
int parse_number(std::string_view s) {
  if (s.empty() || s.size() > 4) return -1;
  int v = 0;
  for (const char c : s) {
    if (c < '0' || c > '9') return -1;
    v = v * 10 + (c - '0');
  }
  return v;
}

/// Text for a message: bounded, printable.
std::string shown(std::string_view s) {
  std::string out;
  for (const char c : s.substr(0, 20)) out += (c >= 0x20 && c < 0x7F) ? c : '?';
  if (s.size() > 20) out += "...";
  return out;
}

}  // namespace

Dataset Dataset::load(const std::string& path, size_t expected_rows) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  // A device such as /dev/zero has no end.
  std::error_code ignored;
  if (std::filesystem::is_character_file(path, ignored) ||
      std::filesystem::is_block_file(path, ignored))
    throw DataError(fmt::format("{}: is a device", path));
  return parse(in, path, expected_rows);
}

Dataset Dataset::parse(std::istream& in, const std::string& name, size_t expected_rows) {
  Dataset set;
  set.samples.reserve(expected_rows);
  std::string line;
  size_t number = 0;
  while (std::getline(in, line)) {
    ++number;
    const auto fail = [&](const std::string& why) {
      throw DataError(fmt::format("{}:{}: {}", name, number, why));
    };
    if (in.eof()) fail("the last line does not end with a newline: file truncated?");
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) fail("empty line");
    if (expected_rows != 0 && number > expected_rows)
      fail(fmt::format("more than the expected {} lines", expected_rows));
    Sample s;
    std::string_view rest = line;
    size_t column = 0;
    for (bool more = true; more; ++column) {
      const size_t comma = rest.find(',');
      more = comma != std::string_view::npos;
      const std::string_view field = rest.substr(0, comma);
      rest = more ? rest.substr(comma + 1) : std::string_view{};
      if (column > kPixels) continue;  // counted; reported below
      const int v = parse_number(field);
      const size_t shown_column = column + 1;
      if (v < 0)
        fail(fmt::format("column {}: '{}' is not a whole number", shown_column, shown(field)));
      if (column == kPixels && !more) {
        if (v >= static_cast<int>(kClasses))
          fail(fmt::format("column {}: label {} is not in 0..{}", shown_column, v, kClasses - 1));
        s.label = static_cast<uint8_t>(v);
      } else if (column < kPixels) {
        if (v > static_cast<int>(kMaxPixel))
          fail(fmt::format("column {}: pixel {} is not in 0..{}", shown_column, v, kMaxPixel));
        s.pixel[column] = static_cast<float>(v) / kMaxPixel;
      }
    }
    if (column != kPixels + 1)
      fail(fmt::format("{} columns, expected {} pixels and a label", column, kPixels));
    set.samples.push_back(s);
  }
  if (in.bad()) throw DataError(fmt::format("{}:{}: read error", name, number));
  if (set.samples.empty()) throw DataError(fmt::format("{}:1: no data", name));
  if (expected_rows != 0 && set.samples.size() != expected_rows)
    throw DataError(fmt::format("{}:{}: ends after {} lines, expected {}: file truncated?", name,
                                number, set.samples.size(), expected_rows));
  return set;
}

}  // namespace ubl::train
