// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Reading of the YAML files that people write. Whatever is in them, the end is a UsageError that
// begins with FILE:LINE, never a crash or a long wait.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <string>

namespace ubl::ublsim {

/// The first and only document of a file. Refused besides what is not YAML: text that is not UTF-8,
/// control characters, anchors and aliases, deep nesting, more than 1 MiB.
YAML::Node load_yaml(const std::string& path);

/// "FILE:LINE" of a node.
std::string at(const std::string& path, const YAML::Node& n);

/// Text of a file as it can be shown in one line of a message.
std::string shown(const std::string& text);

uint64_t get_number(const std::string& path, const YAML::Node& n, const std::string& key,
                    uint64_t min, uint64_t max);

/// A number as 0.25, 1e-6 or 1.
double get_probability(const std::string& path, const YAML::Node& n, const std::string& key);

/// Calls f(key, value node, key node) for all entries of a mapping; keys are names, each given
/// once.
void each_key(
    const std::string& path, const YAML::Node& map,
    const std::function<void(const std::string&, const YAML::Node&, const YAML::Node&)>& f);

}  // namespace ubl::ublsim
