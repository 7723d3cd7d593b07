// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Topology files (docs/guides/topology.md).
#pragma once

#include <string>

#include "platform/topology.hpp"

namespace ubl::ublsim {

/// Only what the platform can build comes back; UsageError with FILE:LINE for everything else.
cosim::Topology load_topology(const std::string& path);

/// A file that load_topology() reads back as the same topology.
std::string to_yaml(const cosim::Topology& t);

}  // namespace ubl::ublsim
