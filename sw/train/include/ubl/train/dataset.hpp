// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// The handwritten digits: 8x8 images, labels 0..9.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ubl::train {

constexpr size_t kPixels = 64;
constexpr size_t kClasses = 10;
constexpr unsigned kMaxPixel = 16;
constexpr size_t kDigitsRows = 1797;  ///< lines of the file shipped with the project

/// The data file cannot be used. `what()` names file and line.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Sample {
  std::array<float, kPixels> pixel{};  ///< 0, 1/16, ... 1
  uint8_t label = 0;
};

struct Dataset {
  std::vector<Sample> samples;

  /// Reads the CSV strictly. `expected_rows` 0 accepts any number of lines > 0.
  static Dataset load(const std::string& path, size_t expected_rows = kDigitsRows);
  static Dataset parse(std::istream& in, const std::string& name, size_t expected_rows);
};

}  // namespace ubl::train
