// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/comm/types.hpp"

namespace ubl::comm {
namespace {

struct TypeInfo {
  const char* name;
  size_t bytes;
};
constexpr TypeInfo kTypes[] = {{"i8", 1},  {"u8", 1},   {"i32", 4},    {"u32", 4},
                               {"i64", 8}, {"u64", 8},  {"f16", 2},    {"f32", 4},
                               {"f64", 8}, {"bf16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};
constexpr const char* kOps[] = {"sum", "prod", "max", "min", "avg"};

const TypeInfo* info(DataType type) {
  const auto i = static_cast<size_t>(type);
  return i < sizeof kTypes / sizeof kTypes[0] ? &kTypes[i] : nullptr;
}

}  // namespace

const char* to_string(DataType type) { return info(type) != nullptr ? info(type)->name : "?"; }

const char* to_string(RedOp op) {
  const auto i = static_cast<size_t>(op);
  return i < sizeof kOps / sizeof kOps[0] ? kOps[i] : "?";
}

size_t size_of(DataType type) { return info(type) != nullptr ? info(type)->bytes : 0; }

}  // namespace ubl::comm
