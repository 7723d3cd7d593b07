// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Small FIFO used between the engines of nic_core. Cuts valid, ready and data: outputs depend on
// registers only. When the sink is not ready the entry stays; when full in_ready_o is low.
// See also: nic_core.md.

`include "ubl_assert.svh"

module nic_fifo #(
  /// Bits of an entry.
  parameter int unsigned Width = 8,
  /// Entries, a power of two, at least 2.
  parameter int unsigned Depth = 4,
  /// Pointer width, do not overwrite.
  localparam int unsigned PtrW = $clog2(Depth)
) (
  /// Clock.
  input  logic             clk_i,
  /// Reset, active low.
  input  logic             rst_ni,
  /// An entry is offered.
  input  logic             in_valid_i,
  /// The entry.
  input  logic [Width-1:0] in_data_i,
  /// There is room.
  output logic             in_ready_o,
  /// The oldest entry is present.
  output logic             out_valid_o,
  /// The oldest entry.
  output logic [Width-1:0] out_data_o,
  /// The oldest entry is taken.
  input  logic             out_ready_i,
  /// Entries held.
  output logic [PtrW:0]    level_o
);

  logic [Width-1:0] mem [Depth];
  logic [PtrW:0] wr_q, rd_q;
  logic push, pop;

  assign level_o     = wr_q - rd_q;
  assign out_valid_o = wr_q != rd_q;
  assign in_ready_o  = level_o != (PtrW+1)'(Depth);
  assign out_data_o  = mem[rd_q[PtrW-1:0]];
  assign push        = in_valid_i & in_ready_o;
  assign pop         = out_valid_o & out_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
    end else begin
      if (push) wr_q <= wr_q + 1'b1;
      if (pop) rd_q <= rd_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem[wr_q[PtrW-1:0]] <= in_data_i;
  end

  `UBL_ASSERT(level_in_range, level_o <= (PtrW+1)'(Depth))

endmodule
