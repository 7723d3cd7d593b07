// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The cores that are tested: one plane with small tables, and the default one.
#pragma once

#include "Vnic_coreChk.h"
#include "Vnic_core_p1Chk.h"
#include "bench.hpp"

namespace nic_core_test {

using OnePlane = Bench<Vnic_core_p1Chk, 1>;
using EightPlanes = Bench<Vnic_coreChk, 8>;

// In bench.cpp.
extern template class Card<Vnic_core_p1Chk, 1>;
extern template class Bench<Vnic_core_p1Chk, 1>;
extern template class Card<Vnic_coreChk, 8>;
extern template class Bench<Vnic_coreChk, 8>;

}  // namespace nic_core_test
