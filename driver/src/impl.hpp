// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "allocators.hpp"
#include "ubl/driver/device.hpp"

namespace ubl::driver {

struct Device::Impl {
  Impl(uint32_t qps, uint32_t cqs, uint32_t mrs, uint64_t hbm_bytes)
      : qp_pool("queue pair", qps),
        cq_pool("completion queue", cqs),
        mr_pool("memory region", mrs),
        ctr_pool("counter", spec::kNicNumCtr),
        hbm(hbm_bytes),
        qps(qps),
        cqs(cqs),
        cq_users(cqs),
        mrs(mrs),
        mr_key(mrs) {}

  DeviceOptions options;
  IndexPool qp_pool, cq_pool, mr_pool, ctr_pool;
  RangeAllocator hbm;
  std::vector<std::unique_ptr<Qp>> qps;
  std::vector<std::unique_ptr<Cq>> cqs;
  std::vector<unsigned> cq_users;  // QPs that complete to it
  std::vector<std::optional<Mr>> mrs;
  std::vector<uint8_t> mr_key;  // low byte of the key given last
  std::array<std::optional<uint32_t>, spec::reg::kNicObjDataCount> obj_data;  // what OBJ_DATA holds
  bool nic_on = false;
};

}  // namespace ubl::driver
