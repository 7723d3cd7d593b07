// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// Numerics, a schedule, and the driver over a transport of one's own that leads nowhere.
#include <cstdio>
#include <cstring>
#include <vector>

#include "ubl/comm/communicator.hpp"
#include "ubl/comm/protocol/schedule.hpp"
#include "ubl/driver/device.hpp"
#include "ubl/driver/transport.hpp"
#include "ubl/numerics/formats.hpp"
#include "ubl/numerics/fp32.hpp"
#include "ubl/spec/host.hpp"

extern "C" unsigned msix_vectors(void);

namespace {

int failures = 0;
void check(bool ok, const char* what) {
  std::printf("%s: %s\n", what, ok ? "ok" : "WRONG");
  if (!ok) ++failures;
}

uint32_t bits(float f) {
  uint32_t u = 0;
  std::memcpy(&u, &f, sizeof(u));
  return u;
}

class Nowhere : public ubl::driver::Transport {
 public:
  uint32_t read32(unsigned, uint64_t) override { return ~uint32_t{0}; }
  void write32(unsigned, uint64_t, uint32_t) override {}
  void write_burst(unsigned, uint64_t, const uint8_t*) override {}
  uint8_t* hbm() override { return nullptr; }
  uint64_t hbm_size() const override { return 0; }
  uint32_t config_read32(unsigned) override { return ~uint32_t{0}; }
  void config_write32(unsigned, uint32_t) override {}
  std::unique_ptr<ubl::driver::DmaBuffer> dma_alloc(size_t) override {
    throw ubl::driver::TransportError("no memory");
  }
  uint64_t now_ns() override { return now_ += 1000; }
  bool wait(uint64_t) override { return false; }
  void charge(ubl::driver::HostCost, uint64_t) override {}
  void reset() override {}

 private:
  uint64_t now_ = 0;
};

}  // namespace

int main() {
  using namespace ubl;
  const std::vector<uint32_t> a = {bits(1.0f), bits(-2.5f), 0x7F800000u, 1u};
  const std::vector<uint32_t> b = {bits(0.5f), bits(2.5f), 0xFF800000u, 1u};
  const std::vector<uint32_t> want = {bits(1.5f), 0u, numerics::kFp32CanonicalNan, 2u};
  check(numerics::sum_f32(a, b) == want, "sum of two vectors");

  const comm::protocol::Schedule s =
      comm::protocol::ring_all_reduce(1, 4, 0x1000, 0x1000, 1024, comm::protocol::Limits{});
  check(!s.steps.empty() && s.window == 0x1000, "schedule of a ring");
  check(comm::Communicator::ring_peers(1, 4).size() == 3, "peers of a ring");
  try {
    comm::protocol::broadcast(0, 4, 9, 0, 0, 64, comm::protocol::Limits{});
    check(false, "bad root");
  } catch (const comm::CommError& e) {
    check(e.kind() == comm::ErrorKind::kInvalidArgument, "bad root");
  }

  Nowhere transport;
  try {
    driver::Device device(transport);
    check(false, "no device");
  } catch (const driver::DeviceError& e) {
    std::printf("  %s\n", e.what());
    check(true, "no device");
  }
  check(msix_vectors() == spec::kHostNumMsix, "contract in C and C++");
  return failures == 0 ? 0 : 1;
}
