// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Synchronous FIFO, any depth from 1.
//
// Cuts valid, data and ready: every output depends on registers alone, so a full FIFO does not take
// a word in the cycle in which one leaves. A word is at the output one cycle after it went in, and
// stays until taken. The storage has no reset; out_data_o means something only while out_valid_o.

`include "ubl_assert.svh"

module ubl_fifo #(
  /// Bits of a word.
  parameter int unsigned Width = 32,
  /// Words held.
  parameter int unsigned Depth = 4
) (
  input  logic                       clk_i,
  /// Synchronous, empties the FIFO.
  input  logic                       rst_ni,
  input  logic                       in_valid_i,
  output logic                       in_ready_o,
  input  logic [Width-1:0]           in_data_i,
  output logic                       out_valid_o,
  input  logic                       out_ready_i,
  output logic [Width-1:0]           out_data_o,
  /// Words inside.
  output logic [$clog2(Depth+1)-1:0] count_o
);

  `UBL_ASSERT_INIT(WidthPositive, Width >= 1)
  `UBL_ASSERT_INIT(DepthPositive, Depth >= 1)

  localparam int unsigned CountW = $clog2(Depth + 1);

  logic [CountW-1:0] count_q;
  logic              push, pop;

  assign in_ready_o  = count_q != CountW'(Depth);
  assign out_valid_o = count_q != CountW'(0);
  assign count_o     = count_q;
  assign push        = in_valid_i && in_ready_o;
  assign pop         = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= CountW'(0);
    end else if (push && !pop) begin
      count_q <= count_q + CountW'(1);
    end else if (pop && !push) begin
      count_q <= count_q - CountW'(1);
    end
  end

  if (Depth == 1) begin : gen_single
    logic [Width-1:0] data_q;
    always_ff @(posedge clk_i) begin
      if (push) data_q <= in_data_i;
    end
    assign out_data_o = data_q;
  end else begin : gen_ring
    localparam int unsigned PtrW = $clog2(Depth);
    logic [Width-1:0] data_q [Depth];
    logic [PtrW-1:0]  wptr_q, rptr_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        wptr_q <= PtrW'(0);
        rptr_q <= PtrW'(0);
      end else begin
        if (push) wptr_q <= (wptr_q == PtrW'(Depth - 1)) ? PtrW'(0) : wptr_q + PtrW'(1);
        if (pop)  rptr_q <= (rptr_q == PtrW'(Depth - 1)) ? PtrW'(0) : rptr_q + PtrW'(1);
      end
    end

    always_ff @(posedge clk_i) begin
      if (push) data_q[wptr_q] <= in_data_i;
    end
    assign out_data_o = data_q[rptr_q];
  end

  `UBL_ASSERT(CountInRange, 32'(count_q) <= Depth)
  `UBL_ASSERT(NoOverflow, !(push && count_q == CountW'(Depth)))
  `UBL_ASSERT(NoUnderflow, !(pop && count_q == CountW'(0)))

endmodule
