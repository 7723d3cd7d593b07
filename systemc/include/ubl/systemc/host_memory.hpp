// SPDX-License-Identifier: Apache-2.0
// Host memory of one rank behind the IOMMU of its function: a DMA outside what was mapped fails.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ubl/systemc/hash.hpp"

namespace ubl::systemc {

class HostMemory {
 public:
  /// Maps zeroed memory; returns its IOVA (page aligned, never 0, guard page behind it).
  uint64_t map(uint64_t bytes);
  void unmap(uint64_t iova);
  /// Pointer to [iova, iova+len), or null when any byte of it is not mapped in one buffer.
  uint8_t* at(uint64_t iova, uint64_t len);
  uint64_t size_of(uint64_t iova) const;
  void hash_into(Hash& h) const;

 private:
  struct Buffer {
    std::unique_ptr<uint8_t[]> storage;
    uint8_t* data = nullptr;  // page aligned inside storage
    uint64_t size = 0;
  };
  std::map<uint64_t, Buffer> buffers_;  // by IOVA
  uint64_t next_ = 0x10000;
};

}  // namespace ubl::systemc
