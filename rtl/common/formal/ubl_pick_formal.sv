// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// rr_pick of ubl_pick.svh for any 128 requests and any pointer; it has no state, so two cycles are all.

module ubl_pick_formal (
  input logic         clk_i,
  input logic [127:0] req_i,
  input logic [6:0]   ptr_i,
  input logic [6:0]   other_i
);

  `include "ubl_pick.svh"

  // Any requests: the choice asks, and nobody who asks lies between the pointer and it.
  logic [6:0] pick, pick_far, other_far;
  assign pick      = rr_pick(req_i[63:0], req_i[127:64], ptr_i);
  assign pick_far  = pick - ptr_i;
  assign other_far = other_i - ptr_i;

  always @(posedge clk_i) begin
    if (req_i != '0) begin
      a_asks:  assert (req_i[pick]);
      a_first: assert (!req_i[other_i] || other_far >= pick_far);
      c_wrap:  cover (pick < ptr_i && pick[6]);
    end
  end

endmodule
