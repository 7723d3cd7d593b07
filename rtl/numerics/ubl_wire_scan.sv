// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stage 2 of ubl_wire_encode: what has to be known of a beat before its elements can be rounded.
//
//   random_o   random bits of each element: a hash of its number under the seed's keys
//   code_o     int4: scale codes of elements 31:0 (bits 7:0) and 63:32 (bits 15:8);
//              sparse8: that of all 64, in both
//   mask_o     sparse8: the two largest of each four elements; topk: those of at least a threshold
//
// An output that the format does not need keeps an old value.
//
// See also: ubl_wire_encode.sv; sw/numerics/README.md, "Wire formats".

module ubl_wire_scan (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          valid_i,
  input  logic [2:0]    format_i,
  input  logic          stochastic_i,
  input  logic          saturate_i,
  input  logic          feedback_i,
  input  logic [31:0]   threshold_i,
  input  logic [6:0]    count_i,
  input  logic          last_i,
  input  logic [2047:0] x_i,
  /// Number of the beat's first element.
  input  logic [31:0]   index_i,
  input  logic [31:0]   key0_i,
  input  logic [31:0]   key1_i,
  input  logic [31:0]   key2_i,
  output logic          valid_o,
  output logic [2:0]    format_o,
  output logic          stochastic_o,
  output logic          saturate_o,
  output logic          feedback_o,
  output logic [6:0]    count_o,
  output logic          last_o,
  output logic [2047:0] x_o,
  output logic [2047:0] random_o,
  output logic [15:0]   code_o,
  output logic [63:0]   mask_o
);

  `include "ubl_wire.svh"

  function automatic logic [30:0] larger(input logic [30:0] a, input logic [30:0] b);
    larger = a < b ? b : a;
  endfunction

  // Smallest scale in which `max` rounds to at most 7; to nearest 7.5 is a tie that goes to 8.
  function automatic logic [7:0] scale_code(input logic [30:0] max, input logic stochastic);
    logic above;
    above = stochastic ? max[22:0] > 23'h600000 : max[22:0] >= 23'h700000;
    if (max[30:23] == 8'hFF) scale_code = 8'hFF;
    else if (max[30:23] == 8'd0) scale_code = 8'd0;
    else scale_code = max[30:23] - 8'd1 + {7'd0, above};
  endfunction

  // The two largest of four; of equal ones those in front. Each one is in if at least two of the
  // three others do not go ahead of it.
  function automatic logic [3:0] two_largest(input logic [30:0] a, input logic [30:0] b,
                                             input logic [30:0] c, input logic [30:0] d);
    logic ab, ac, ad, bc, bd, cd;  // the first one goes ahead of the second one
    ab = a >= b;
    ac = a >= c;
    ad = a >= d;
    bc = b >= c;
    bd = b >= d;
    cd = c >= d;
    two_largest = {
      (!ad && !bd) || (!ad && !cd) || (!bd && !cd),
      (!ac && !bc) || (!ac && cd) || (!bc && cd),
      (!ab && bc) || (!ab && bd) || (bc && bd),
      (ab && ac) || (ab && ad) || (ac && ad)
    };
  endfunction

  task automatic hash();
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      random_o[{i[5:0], 5'd0} +: 32] <= wire_mix(index_i + i, key0_i, key1_i, key2_i);
    end
  endtask

  // The largest magnitudes of 4, 8, 16 and 32 elements.
  task automatic scales();
    logic [15:0][31:0] largest;
    for (int unsigned i = 0; i < 16; i++) begin
      largest[i] = {1'b0, larger(larger(x_i[128 * i +: 31], x_i[128 * i + 32 +: 31]),
                                 larger(x_i[128 * i + 64 +: 31], x_i[128 * i + 96 +: 31]))};
    end
    for (int unsigned i = 0; i < 8; i++) largest[i][30:0] = larger(largest[2*i][30:0], largest[2*i+1][30:0]);
    for (int unsigned i = 0; i < 4; i++) largest[i][30:0] = larger(largest[2*i][30:0], largest[2*i+1][30:0]);
    for (int unsigned i = 0; i < 2; i++) largest[i][30:0] = larger(largest[2*i][30:0], largest[2*i+1][30:0]);
    if (format_i == ubl_pkg::WireFormatSparse8) begin
      code_o <= {2{scale_code(larger(largest[0][30:0], largest[1][30:0]), stochastic_i)}};
    end else begin
      code_o <= {scale_code(largest[1][30:0], stochastic_i), scale_code(largest[0][30:0], stochastic_i)};
    end
  endtask

  task automatic sparse_mask();
    mask_o <= {16{4'h3}};  // groups of +0
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i = i + 4) begin
      mask_o[i[5:0] +: 4] <= two_largest(
        x_i[{i[5:2], 2'd0, 5'd0} +: 31], x_i[{i[5:2], 2'd1, 5'd0} +: 31],
        x_i[{i[5:2], 2'd2, 5'd0} +: 31], x_i[{i[5:2], 2'd3, 5'd0} +: 31]);
    end
  endtask

  task automatic topk_mask();
    mask_o <= 64'd0;
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      mask_o[i[5:0]] <= {1'b0, x_i[{i[5:0], 5'd0} +: 31]} >= threshold_i;
    end
  endtask

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      format_o     <= format_i;
      stochastic_o <= stochastic_i;
      saturate_o   <= saturate_i;
      feedback_o   <= feedback_i;
      count_o      <= count_i;
      last_o       <= last_i;
      x_o          <= x_i;
      if (stochastic_i && format_i != ubl_pkg::WireFormatNone && format_i != ubl_pkg::WireFormatTopk) begin
        hash();
      end
      if (format_i == ubl_pkg::WireFormatInt4 || format_i == ubl_pkg::WireFormatSparse8) scales();
      if (format_i == ubl_pkg::WireFormatSparse8) sparse_mask();
      if (format_i == ubl_pkg::WireFormatTopk) topk_mask();
    end
  end

endmodule
