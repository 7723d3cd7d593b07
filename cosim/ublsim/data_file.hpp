// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Files that come along with the program.
#pragma once

#include <filesystem>
#include <string>

namespace ubl::ublsim {

/// ../share/openubl/NAME beside the program if it is installed, wherever that is; else `in_tree`.
inline std::string data_file(const std::string& name, const std::string& in_tree) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto installed = program.parent_path().parent_path() / "share/openubl" / name;
    if (std::filesystem::exists(installed, error)) return installed.string();
  }
  return in_tree;
}

}  // namespace ubl::ublsim
