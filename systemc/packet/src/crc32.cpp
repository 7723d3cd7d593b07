// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl/packet/crc32.hpp"

#include <array>

#include "ubl/spec/link.hpp"

namespace ubl::packet {
namespace {

constexpr size_t kStride = 8;
using Tables = std::array<std::array<uint32_t, 256>, kStride>;

// [k][v]: a register that holds byte v, advanced by k + 1 bytes of zeros.
constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t v = 0; v < 256; ++v) {
    uint32_t reg = v;
    for (int i = 0; i < 8; ++i) reg = reg >> 1 ^ ((reg & 1) != 0 ? spec::kLinkCrc32Poly : 0);
    t[0][v] = reg;
  }
  for (size_t k = 1; k < kStride; ++k) {
    for (uint32_t v = 0; v < 256; ++v) {
      t[k][v] = t[k - 1][v] >> 8 ^ t[0][t[k - 1][v] & 0xFF];
    }
  }
  return t;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32_update(uint32_t reg, const uint8_t* data, size_t size) {
  while (size >= kStride) {
    uint32_t next = 0;
    for (size_t i = 0; i < kStride; ++i) {
      const uint32_t in = i < 4 ? reg >> (8 * i) & 0xFF : 0;
      next ^= kTables[kStride - 1 - i][data[i] ^ in];
    }
    reg = next;
    data += kStride;
    size -= kStride;
  }
  for (; size != 0; --size) reg = reg >> 8 ^ kTables[0][(reg ^ *data++) & 0xFF];
  return reg;
}

}  // namespace ubl::packet
