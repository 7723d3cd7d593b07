// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Data types and operators of collectives. The numbers are those of NCCL's enumerations.
#pragma once

#include <cstddef>

namespace ubl::comm {

enum class DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8e4m3 = 10,
  kFloat8e5m2 = 11,
};

enum class RedOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };

const char* to_string(DataType type);  ///< "f32"; "?" when unknown
const char* to_string(RedOp op);       ///< "sum"; "?" when unknown
/// Bytes of one element; 0 when unknown.
size_t size_of(DataType type);

}  // namespace ubl::comm
