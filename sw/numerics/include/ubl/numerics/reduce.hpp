// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The reductions of the NIC: add, min and max of two elements of one type. The result has the same
// type.
//
//   add of floats   the exact sum, rounded once to the type itself (to nearest, ties to even);
//                   subnormals kept, overflow to infinity (IEEE 754-2019, clause 5.4.1)
//   min, max        of floats: if one operand is NaN, the result is NaN; -0 is less than +0
//   of floats       (minimum and maximum of IEEE 754-2019, clause 9.6)
//   INT32           two's complement; add wraps modulo 2^32; min and max are signed
//
// A NaN result is the canonical NaN of the type: 0x7FC00000, 0x7E00, 0x7FC0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ubl::numerics {

enum class ElementType : uint8_t { kFp32, kFp16, kBf16, kInt32 };
enum class ReduceOp : uint8_t { kAdd, kMin, kMax };

/// Bytes of an element in memory (little-endian): 4 or 2.
size_t element_bytes(ElementType type);

/// `op` of two patterns, held in the low bits. Throws std::invalid_argument if one has a bit above
/// its type, or for a type or an operation that does not exist.
uint32_t reduce(ElementType type, ReduceOp op, uint32_t a, uint32_t b);

/// acc[i] = op(acc[i], in[i]) for all elements of little-endian memory of any alignment. Throws
/// std::invalid_argument if `bytes` is not a multiple of element_bytes(type).
void reduce_buffer(ElementType type, ReduceOp op, uint8_t* acc, const uint8_t* in, size_t bytes);

}  // namespace ubl::numerics
