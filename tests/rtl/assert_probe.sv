// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// A module that breaks its promise when told to: shows that assertions bite, and where.

`include "ubl_assert.svh"

module assert_probe #(
  parameter int unsigned Size = 4
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic bad_i,
  output logic seen_o
);

  `UBL_ASSERT_INIT(SizeEven, Size % 2 == 0)

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_o <= 1'b0;
    end else begin
      seen_o <= bad_i;
    end
  end

  if (1) begin : gen_inner
    `UBL_ASSERT(NeverBad, !bad_i)
    `UBL_COVER(SeenBad, seen_o)
  end

endmodule
