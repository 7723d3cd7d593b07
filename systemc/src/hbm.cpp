// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/hbm.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "ubl/systemc/hash.hpp"

namespace ubl::systemc {

Hbm::Hbm(uint64_t bytes) : size_(bytes) {
  fd_ = memfd_create("ubl-hbm", MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0)
    throw std::runtime_error(std::string("cannot create HBM store: ") + std::strerror(errno));
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (p == MAP_FAILED)
    throw std::runtime_error(std::string("cannot map HBM store: ") + std::strerror(errno));
  data_ = static_cast<uint8_t*>(p);
}

Hbm::~Hbm() {
  if (data_ != nullptr) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

uint64_t Hbm::hash() const {
  Hash h;
  constexpr uint64_t kPage = 4096;
  static const uint8_t zero[kPage] = {};
  const auto size = static_cast<off_t>(size_);
  off_t at = 0;
  while (at < size) {
    const off_t begin = lseek(fd_, at, SEEK_DATA);
    if (begin < 0) break;  // ENXIO: only holes from here on
    off_t end = lseek(fd_, begin, SEEK_HOLE);
    if (end < 0) end = size;
    for (off_t p = begin; p < end; p += static_cast<off_t>(kPage)) {
      const auto n = std::min<uint64_t>(kPage, size_ - static_cast<uint64_t>(p));
      if (std::memcmp(data_ + p, zero, n) == 0) continue;
      h.add(static_cast<uint64_t>(p));
      h.add_bytes(data_ + p, n);
    }
    at = end;
  }
  return h.value();
}

}  // namespace ubl::systemc
