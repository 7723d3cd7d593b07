// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The CRC-32 of FCS and ICRC.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ubl::packet {

/// Register of a CRC that has seen nothing.
inline constexpr uint32_t kCrc32Start = 0xFFFFFFFFu;
/// Register after any message followed by its own CRC.
inline constexpr uint32_t kCrc32Residue = 0xDEBB20E3u;

/// Register after `size` more bytes. The CRC is the complement of the register; on the wire it is
/// little-endian.
uint32_t crc32_update(uint32_t reg, const uint8_t* data, size_t size);

/// CRC of a whole message.
inline uint32_t crc32(const uint8_t* data, size_t size) {
  return ~crc32_update(kCrc32Start, data, size);
}

}  // namespace ubl::packet
