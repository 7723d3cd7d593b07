// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The bench, compiled once for each core.
#include "bench.hpp"

#include "cores.hpp"

namespace nic_core_test {

template class Card<Vnic_core_p1Chk, 1>;
template class Bench<Vnic_core_p1Chk, 1>;
template class Card<Vnic_coreChk, 8>;
template class Bench<Vnic_coreChk, 8>;

}  // namespace nic_core_test
