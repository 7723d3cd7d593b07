// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes random frames of every operation to a pcap file, FCS included, and what they say to
// standard output, one line a frame:
//   opcode psn dst_qpn ack_req becn plane src_node dst_node vc ecn payload_bytes raddr rkey imm
//   syndrome msn read_len send_number send_offset send_length swap_add compare original
// usage: frame_pcap FILE FRAMES_PER_OPCODE
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "random_frame.hpp"
#include "ubl/packet/frame.hpp"
#include "ubl/test/seed.hpp"

namespace {

void put32(std::ofstream& out, uint32_t x) {
  for (int i = 0; i < 4; ++i) out.put(static_cast<char>(x >> (8 * i)));
}

void put16(std::ofstream& out, uint16_t x) {
  out.put(static_cast<char>(x));
  out.put(static_cast<char>(x >> 8));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: frame_pcap FILE FRAMES_PER_OPCODE\n");
    return 2;
  }
  std::ofstream out(argv[1], std::ios::binary);
  const int count = std::atoi(argv[2]);
  put32(out, 0xA1B23C4D);  // nanosecond time stamps, little-endian
  put16(out, 2);
  put16(out, 4);
  put32(out, 0);
  put32(out, 0);
  put32(out, 65535);
  put32(out, 1);  // Ethernet
  auto rng = ubl::test::rng(7);
  uint32_t time = 0;
  for (int i = 0; i < count; ++i) {
    for (const auto op : ubl::test::kAllOps) {
      auto f = ubl::test::random_frame(rng, op);
      // Wireshark takes a payload of "EtherType 00 00" for an encapsulated packet, whatever it is.
      if (f.payload.size() >= 4) {
        f.payload[3] |= 1;
      } else if (!f.payload.empty()) {
        f.payload[0] = 1;
      }
      const auto bytes = ubl::packet::build(f);
      put32(out, 0);
      put32(out, ++time);
      put32(out, static_cast<uint32_t>(bytes.size()));
      put32(out, static_cast<uint32_t>(bytes.size()));
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
      std::printf("%u %u %u %u %u %u %u %u %u %u %zu %" PRIu64 " %u %u %u %u %u %u %u %u %" PRIu64
                  " %" PRIu64 " %" PRIu64 "\n",
                  static_cast<unsigned>(f.opcode), f.psn, f.dst_qpn, f.ack_req ? 1u : 0u,
                  f.becn ? 1u : 0u, f.plane, f.src_node, f.dst_node, static_cast<unsigned>(f.vc),
                  static_cast<unsigned>(f.ecn), f.payload.size(), f.raddr, f.rkey, f.imm,
                  static_cast<unsigned>(f.syndrome), f.msn, f.read_len, f.send_number,
                  f.send_offset, f.send_length, f.swap_add, f.compare, f.original);
    }
  }
  out.close();
  return out.good() ? 0 : 1;
}
