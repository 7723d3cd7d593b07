// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands before Verilator's header of the same name. Where SystemC was included first, that header
// takes simulated time from SystemC, through a global function which <systemc> does not declare,
// and one inline function would differ between the files of a program. Here time always comes
// from the model's context.
#pragma once

#pragma push_macro("SYSTEMC_VERSION")
#undef SYSTEMC_VERSION
#include_next <verilated.h>
#pragma pop_macro("SYSTEMC_VERSION")
