// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// ubl_fifo against a shift register that cannot get pointers wrong. Three entries: not a power of
// two, so pointers must wrap by comparison.

module ubl_fifo_formal (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       in_valid_i,
  input logic [1:0] in_data_i,
  input logic       out_ready_i
);

  logic       in_ready, out_valid;
  logic [1:0] out_data;
  logic [1:0] count;

  ubl_fifo #(.Width(2), .Depth(3)) u_dut (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .count_o(count)
  );

  // Reset is low in the first cycle and free afterwards: resets in mid-operation are covered.
  logic init_q;
  initial init_q = 1'b0;
  always @(posedge clk_i) init_q <= 1'b1;
  always @(*) if (!init_q) assume (!rst_ni);

  logic [5:0] model_q;
  logic [1:0] model_count_q;
  logic       push, pop;
  logic [5:0] shifted;
  logic [1:0] left;

  assign push    = in_valid_i && in_ready;
  assign pop     = out_valid && out_ready_i;
  assign shifted = pop ? {2'b00, model_q[5:2]} : model_q;
  assign left    = pop ? model_count_q - 2'd1 : model_count_q;

  always @(posedge clk_i) begin
    if (!rst_ni) begin
      model_count_q <= 2'd0;
    end else begin
      model_count_q <= push ? left + 2'd1 : left;
    end
    model_q <= shifted;
    if (push) begin
      case (left)
        2'd0:    model_q[1:0] <= in_data_i;
        2'd1:    model_q[3:2] <= in_data_i;
        default: model_q[5:4] <= in_data_i;
      endcase
    end
  end

  always @(posedge clk_i) begin
    if (init_q) begin
      a_count: assert (count == model_count_q);
      a_ready: assert (in_ready == (model_count_q != 2'd3));
      a_valid: assert (out_valid == (model_count_q != 2'd0));
      if (out_valid) a_data: assert (out_data == model_q[1:0]);
      c_full:  cover (rst_ni && count == 2'd3 && in_valid_i);
      c_drain: cover (rst_ni && model_q[1:0] == 2'd3 && pop && count == 2'd1);
    end
  end

endmodule
