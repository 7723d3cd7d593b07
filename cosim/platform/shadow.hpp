// SPDX-License-Identifier: Apache-2.0
// A second model of a box that sees the same inputs in the same cycles. The run itself always uses
// the fast models; whoever wants to look inside (waves) follows them with slower ones.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/engine.hpp"

namespace ubl::cosim {

enum class BoxKind : uint8_t { kHostIf, kNicCore, kNicPort, kSwitch16, kSwitch128 };

class Shadow {
 public:
  virtual ~Shadow() = default;
  /// `box`, the fast model, has just been evaluated in cycle `now`; kNever: in reset, before time
  /// begins.
  virtual void follow(const void* box, Cycle now) = 0;
};

/// Follower of a box, or none. Boxes: card0.host_if, card0.nic_core, card0.nic_port0, ...,
/// plane0.switch.
using ShadowFactory = std::function<std::unique_ptr<Shadow>(BoxKind, const std::string& name)>;

}  // namespace ubl::cosim
