// SPDX-License-Identifier: Apache-2.0
// Writer of pcapng files, as far as a capture of Ethernet links needs it: one section, an interface
// block per link, a packet block per frame. Little-endian on every machine, no wall clock: the same
// run gives the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ubl::systemc {

/// Every member but the destructor throws std::runtime_error that names the file when it cannot be
/// written.
class PcapngWriter {
 public:
  /// As seen from the device that the interface belongs to.
  enum class Direction : uint32_t { kUnknown = 0, kInbound = 1, kOutbound = 2 };

  struct Interface {
    std::string name;
    std::string description;       ///< empty: none
    uint64_t bits_per_second = 0;  ///< 0: not said
    unsigned fcs_bytes = 0;  ///< of the captured frames; readers check the FCS if they have one
  };

  PcapngWriter(const std::string& path, std::string_view application);
  ~PcapngWriter();  ///< closes; an error is lost, so call close()
  PcapngWriter(const PcapngWriter&) = delete;
  PcapngWriter& operator=(const PcapngWriter&) = delete;

  /// Number of the interface, counted from 0.
  uint32_t add_interface(const Interface& interface);
  /// `ns` is simulated time.
  void write(uint32_t interface, uint64_t ns, const uint8_t* data, size_t size,
             Direction direction = Direction::kUnknown, std::string_view comment = {});
  void close();
  const std::string& path() const { return path_; }

 private:
  void begin(uint32_t type);
  void put16(uint32_t v);
  void put32(uint32_t v);
  void put64(uint64_t v);
  void put_padded(const void* data, size_t size);
  void option(unsigned code, const void* data, size_t size);
  void option(unsigned code, std::string_view text) { option(code, text.data(), text.size()); }
  void end_options();
  void finish();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::FILE* file_ = nullptr;
  std::vector<unsigned> fcs_bytes_;
  std::vector<uint8_t> block_;
};

}  // namespace ubl::systemc
