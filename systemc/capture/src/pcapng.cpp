// SPDX-License-Identifier: Apache-2.0
#include "ubl/systemc/pcapng.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace ubl::systemc {

namespace {

// Names as in the pcapng specification.
constexpr uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr uint32_t kInterfaceDescription = 1;
constexpr uint32_t kEnhancedPacket = 6;
constexpr uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr uint32_t kLinkTypeEthernet = 1;
constexpr unsigned kOptComment = 1;
constexpr unsigned kShbUserAppl = 4;
constexpr unsigned kIfName = 2, kIfDescription = 3, kIfSpeed = 8, kIfTsResol = 9, kIfFcsLen = 13;
constexpr unsigned kEpbFlags = 2;
constexpr unsigned kEpbFlagsFcsShift = 5;
constexpr size_t kMaxOption = 0xFFFF;

}  // namespace

PcapngWriter::PcapngWriter(const std::string& path, std::string_view application) : path_(path) {
  file_ = std::fopen(path.c_str(), "wb");
  if (file_ == nullptr) fail("cannot be opened for writing");
  begin(kSectionHeader);
  put32(kByteOrderMagic);
  put16(1);  // version 1.0
  put16(0);
  put64(~uint64_t{0});  // length of the section: not said
  option(kShbUserAppl, application);
  end_options();
  finish();
}

PcapngWriter::~PcapngWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

uint32_t PcapngWriter::add_interface(const Interface& interface) {
  begin(kInterfaceDescription);
  put16(kLinkTypeEthernet);
  put16(0);
  put32(0);  // no limit of the length
  option(kIfName, interface.name);
  if (!interface.description.empty()) option(kIfDescription, interface.description);
  if (interface.bits_per_second != 0) {
    uint8_t le[8];
    for (unsigned i = 0; i < 8; ++i)
      le[i] = static_cast<uint8_t>(interface.bits_per_second >> (8 * i));
    option(kIfSpeed, le, sizeof(le));
  }
  const uint8_t nanoseconds = 9;
  option(kIfTsResol, &nanoseconds, 1);
  if (interface.fcs_bytes != 0) {
    const auto fcs = static_cast<uint8_t>(interface.fcs_bytes);
    option(kIfFcsLen, &fcs, 1);
  }
  end_options();
  finish();
  fcs_bytes_.push_back(interface.fcs_bytes);
  return static_cast<uint32_t>(fcs_bytes_.size() - 1);
}

void PcapngWriter::write(uint32_t interface, uint64_t ns, const uint8_t* data, size_t size,
                         Direction direction, std::string_view comment) {
  begin(kEnhancedPacket);
  put32(interface);
  put32(static_cast<uint32_t>(ns >> 32));
  put32(static_cast<uint32_t>(ns));
  put32(static_cast<uint32_t>(size));
  put32(static_cast<uint32_t>(size));
  put_padded(data, size);
  const uint32_t flags =
      static_cast<uint32_t>(direction) | (fcs_bytes_.at(interface) << kEpbFlagsFcsShift);
  uint8_t le[4];
  for (unsigned i = 0; i < 4; ++i) le[i] = static_cast<uint8_t>(flags >> (8 * i));
  option(kEpbFlags, le, sizeof(le));
  if (!comment.empty()) option(kOptComment, comment);
  end_options();
  finish();
}

void PcapngWriter::close() {
  if (file_ == nullptr) return;
  std::FILE* f = file_;
  const bool flushed = std::fflush(f) == 0;
  const int flush_errno = errno;
  file_ = nullptr;
  const bool closed = std::fclose(f) == 0;
  if (!flushed) errno = flush_errno;
  if (!flushed || !closed) fail("cannot be written");
}

// A block: type, length, contents, length again. Everything is padded to 32 bits.
void PcapngWriter::begin(uint32_t type) {
  block_.clear();
  put32(type);
  put32(0);  // length, known in the end
}

void PcapngWriter::finish() {
  const auto length = static_cast<uint32_t>(block_.size() + 4);
  put32(length);
  std::copy_n(block_.end() - 4, 4, block_.begin() + 4);
  if (file_ == nullptr) throw std::runtime_error(path_ + ": written after it was closed");
  if (std::fwrite(block_.data(), 1, block_.size(), file_) != block_.size())
    fail("cannot be written");
}

void PcapngWriter::put16(uint32_t v) {
  for (unsigned i = 0; i < 2; ++i) block_.push_back(static_cast<uint8_t>(v >> (8 * i)));
}
void PcapngWriter::put32(uint32_t v) {
  for (unsigned i = 0; i < 4; ++i) block_.push_back(static_cast<uint8_t>(v >> (8 * i)));
}
void PcapngWriter::put64(uint64_t v) {
  put32(static_cast<uint32_t>(v));
  put32(static_cast<uint32_t>(v >> 32));
}

void PcapngWriter::put_padded(const void* data, size_t size) {
  const auto* b = static_cast<const uint8_t*>(data);
  block_.insert(block_.end(), b, b + size);
  block_.resize((block_.size() + 3) / 4 * 4);
}

void PcapngWriter::option(unsigned code, const void* data, size_t size) {
  size = std::min(size, kMaxOption);
  put16(code);
  put16(static_cast<uint32_t>(size));
  put_padded(data, size);
}

void PcapngWriter::end_options() { put32(0); }

void PcapngWriter::fail(const char* what) const {
  throw std::runtime_error(path_ + ": " + what + ": " + std::strerror(errno));
}

}  // namespace ubl::systemc
