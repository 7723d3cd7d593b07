// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/host_memory.hpp"

#include <stdexcept>

namespace ubl::systemc {

namespace {
constexpr uint64_t kPage = 4096;
}

uint64_t HostMemory::map(uint64_t bytes) {
  if (bytes == 0) throw std::invalid_argument("host memory: cannot map 0 bytes");
  Buffer b;
  b.size = (bytes + kPage - 1) / kPage * kPage;
  b.storage = std::make_unique<uint8_t[]>(b.size + kPage);
  const auto raw = reinterpret_cast<uintptr_t>(b.storage.get());
  b.data = b.storage.get() + ((kPage - raw % kPage) % kPage);
  const uint64_t iova = next_;
  next_ += b.size + kPage;
  buffers_.emplace(iova, std::move(b));
  return iova;
}

void HostMemory::unmap(uint64_t iova) { buffers_.erase(iova); }

uint8_t* HostMemory::at(uint64_t iova, uint64_t len) {
  auto it = buffers_.upper_bound(iova);
  if (it == buffers_.begin()) return nullptr;
  --it;
  const uint64_t off = iova - it->first;
  if (off > it->second.size || len > it->second.size - off) return nullptr;
  return it->second.data + off;
}

uint64_t HostMemory::size_of(uint64_t iova) const { return buffers_.at(iova).size; }

void HostMemory::hash_into(Hash& h) const {
  for (const auto& [iova, b] : buffers_) {
    h.add(iova);
    h.add_bytes(b.data, b.size);
  }
}

}  // namespace ubl::systemc
