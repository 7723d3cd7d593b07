// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/numerics/reduce.hpp"

#include <stdexcept>
#include <string>

#include "ubl/numerics/fp32.hpp"

namespace ubl::numerics {
namespace {

// Null for INT32.
const Format* format_of(ElementType type) {
  switch (type) {
    case ElementType::kFp32:
      return &kFp32;
    case ElementType::kFp16:
      return &kFp16;
    case ElementType::kBf16:
      return &kBf16;
    case ElementType::kInt32:
      return nullptr;
  }
  throw std::invalid_argument("reduce: no such element type");
}

// Of a pattern that is no NaN: unsigned keys in the order of the values, -0 before +0.
uint32_t order_key(const Format& format, uint32_t x) {
  return (x & format.sign_bit()) != 0 ? format.mask() ^ x : x | format.sign_bit();
}

uint32_t order_key_int32(uint32_t x) { return x ^ 0x80000000u; }

}  // namespace

size_t element_bytes(ElementType type) {
  const Format* format = format_of(type);
  return format != nullptr ? static_cast<size_t>(format->bytes()) : 4;
}

uint32_t reduce(ElementType type, ReduceOp op, uint32_t a, uint32_t b) {
  const Format* format = format_of(type);
  if (op == ReduceOp::kAdd) return format != nullptr ? add(*format, a, b) : a + b;
  if (op != ReduceOp::kMin && op != ReduceOp::kMax) {
    throw std::invalid_argument("reduce: no such operation");
  }
  bool a_first;  // a <= b
  if (format != nullptr) {
    const auto a_kind = decode(*format, a).kind;
    const auto b_kind = decode(*format, b).kind;
    if (a_kind == Number::Kind::kNan || b_kind == Number::Kind::kNan) return format->canonical_nan;
    a_first = order_key(*format, a) <= order_key(*format, b);
  } else {
    a_first = order_key_int32(a) <= order_key_int32(b);
  }
  return a_first == (op == ReduceOp::kMin) ? a : b;
}

void reduce_buffer(ElementType type, ReduceOp op, uint8_t* acc, const uint8_t* in, size_t bytes) {
  const size_t step = element_bytes(type);
  if (bytes % step != 0) {
    throw std::invalid_argument("reduce_buffer: " + std::to_string(bytes) +
                                " bytes are not whole elements of " + std::to_string(step));
  }
  const auto load = [step](const uint8_t* p) {
    uint32_t x = 0;
    for (size_t k = 0; k < step; ++k) x |= static_cast<uint32_t>(p[k]) << (8 * k);
    return x;
  };
  for (size_t i = 0; i < bytes; i += step) {
    const uint32_t x = reduce(type, op, load(acc + i), load(in + i));
    for (size_t k = 0; k < step; ++k) acc[i + k] = static_cast<uint8_t>(x >> (8 * k));
  }
}

}  // namespace ubl::numerics
