// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// What properties put inside a module begin with.
//
// `UBL_FORMAL_RESET: reset is low in the first cycle and free afterwards, so that resets in
// mid-operation are covered. f_init_q is low in the first cycle only.

`ifndef UBL_FORMAL_SVH
`define UBL_FORMAL_SVH

`define UBL_FORMAL_RESET \
  logic f_init_q; \
  initial f_init_q = 1'b0; \
  always @(posedge clk_i) f_init_q <= 1'b1; \
  always @(*) if (!f_init_q) assume (!rst_ni);

`endif  // UBL_FORMAL_SVH
