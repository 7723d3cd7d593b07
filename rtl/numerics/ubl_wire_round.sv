// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stage 3 of ubl_wire_encode: each element as it is on the wire, in the low bits of a lane.
//
//   none         the element
//   casts        the target's pattern
//   int4, sparse8  the nibble
//   topk         the element, NaN canonical
//
// One rounder serves casts and nibbles: the significand with 32 bits below it is shifted down to the
// wire's unit, then either the random bits are added below the kept bits, or what makes the carry
// of rounding to nearest with ties to even. The shift drops only bits that neither rule looks at:
// it exceeds 32 places only where less than half a unit is left.
//
// x_o has the elements, for packets with feedback.
//
// See also: ubl_wire_encode.sv; sw/numerics, formats.hpp (round_to) and wire.hpp (quantise).

`include "ubl_assert.svh"

module ubl_wire_round (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          valid_i,
  input  logic [2:0]    format_i,
  input  logic          stochastic_i,
  input  logic          saturate_i,
  input  logic          feedback_i,
  input  logic [6:0]    count_i,
  input  logic          last_i,
  input  logic [2047:0] x_i,
  input  logic [2047:0] random_i,
  input  logic [15:0]   code_i,
  input  logic [63:0]   mask_i,
  output logic          valid_o,
  output logic [2:0]    format_o,
  output logic          feedback_o,
  output logic [6:0]    count_o,
  output logic          last_o,
  output logic [2047:0] x_o,
  output logic [2047:0] wire_o,
  output logic [15:0]   code_o,
  output logic [63:0]   mask_o
);

  `include "ubl_wire.svh"

  localparam logic [7:0] CodeNan = 8'hFF;

  logic cast, nibble;

  assign cast   = format_i == ubl_pkg::WireFormatFp16 || format_i == ubl_pkg::WireFormatBf16 ||
                  format_i == ubl_pkg::WireFormatE4m3 || format_i == ubl_pkg::WireFormatE5m2;
  assign nibble = format_i == ubl_pkg::WireFormatInt4 || format_i == ubl_pkg::WireFormatSparse8;

  // |x| in units of 2^drop of its own last bit, rounded.
  function automatic logic [23:0] rounded(input logic [30:0] x, input logic [8:0] drop,
                                          input logic stochastic, input logic [31:0] random);
    logic [55:0] wide;
    logic [31:0] below;
    wide    = {x[30:23] != 8'd0, x[22:0], 32'd0} >> (drop > 9'd63 ? 6'd63 : drop[5:0]);
    below   = stochastic ? random : 32'h7FFFFFFF + {31'd0, wide[32]};
    wide    = wide + {24'd0, below};
    rounded = wide[55:32];
  endfunction

  // Casts. In the target's normal range the unit is a fixed number of bits above the last bit of x
  // (short), and the exponent field grows with that of x from its value `base` on, at which it is 1
  // with the leading bit; below, the unit stays.
  task automatic cast_lanes();
    logic [4:0]  short;
    logic [7:0]  base, exponent, field, missing;
    logic [8:0]  above;
    logic [3:0]  fraction_bits;
    logic [15:0] sign, max, beyond, nan, y;
    logic [31:0] x;
    logic [17:0] fields;
    logic        beyond_signed;
    case (format_i)
      ubl_pkg::WireFormatFp16: begin
        {short, base, fraction_bits} = {5'd13, 8'd113, 4'd10};
        {sign, max, beyond, nan} = {16'h8000, 16'h7BFF, 16'h7C00, 16'h7E00};
      end
      ubl_pkg::WireFormatBf16: begin
        {short, base, fraction_bits} = {5'd16, 8'd1, 4'd7};
        {sign, max, beyond, nan} = {16'h8000, 16'h7F7F, 16'h7F80, 16'h7FC0};
      end
      ubl_pkg::WireFormatE4m3: begin
        {short, base, fraction_bits} = {5'd20, 8'd121, 4'd3};
        {sign, max, beyond, nan} = {16'h80, 16'h7E, 16'h7F, 16'h7F};
      end
      default: begin  // E5M2
        {short, base, fraction_bits} = {5'd21, 8'd113, 4'd2};
        {sign, max, beyond, nan} = {16'h80, 16'h7B, 16'h7C, 16'h7E};
      end
    endcase
    // E4M3 has no infinity, and its NaN no sign.
    beyond_signed = format_i != ubl_pkg::WireFormatE4m3 || saturate_i;
    if (saturate_i) beyond = max;
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      x        = x_i[{i[5:0], 5'd0} +: 32];
      exponent = x[30:23] | {7'd0, x[30:23] == 8'd0};
      // Masks, as a host cannot predict which it is.
      above    = {1'b0, exponent} - {1'b0, base};
      field    = above[7:0] & ~{8{above[8]}};
      missing  = (8'd0 - above[7:0]) & {8{above[8]}};
      fields   = ({10'd0, field} << fraction_bits) +
                 18'(rounded(x[30:0], {4'd0, short} + {1'b0, missing}, stochastic_i,
                             random_i[{i[5:0], 5'd0} +: 32]));
      if (fields <= {2'd0, max}) y = fields[15:0] | (sign & {16{x[31]}});
      else y = beyond | (sign & {16{x[31] && beyond_signed}});
      if (x[30:0] > 31'h7F800000) y = nan;
      wire_o[{i[5:0], 5'd0} +: 32] <= {16'd0, y};
    end
  endtask

  // The unit is the scale, 2^(code - 128); the last bit of x is 2^(exponent - 150).
  task automatic quantise_lanes();
    logic [31:0] x;
    logic [7:0]  code, exponent;
    logic [3:0]  q;
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      x        = x_i[{i[5:0], 5'd0} +: 32];
      code     = i[5] ? code_i[15:8] : code_i[7:0];
      exponent = x[30:23] | {7'd0, x[30:23] == 8'd0};
      q        = 4'(rounded(x[30:0], {1'b0, code} + 9'd22 - {1'b0, exponent}, stochastic_i,
                            random_i[{i[5:0], 5'd0} +: 32]));
      if (x[31]) q = 4'd0 - q;
      wire_o[{i[5:0], 5'd0} +: 32] <= code == CodeNan ? 32'd0 : {28'd0, q};
    end
  endtask

  task automatic canonical_lanes();
    for (int unsigned i = 0; i < `UBL_LANES(count_i); i++) begin
      wire_o[{i[5:0], 5'd0} +: 32] <= x_i[{i[5:0], 5'd0} +: 31] > 31'h7F800000 ?
        32'h7FC00000 : x_i[{i[5:0], 5'd0} +: 32];
    end
  endtask

  task automatic fill_up();
    for (int unsigned i = `UBL_LANES_FROM(count_i); i < 64; i++) begin
      if (7'(i) >= count_i) wire_o[{i[5:0], 5'd0} +: 32] <= 32'd0;
    end
  endtask

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else valid_o <= valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      format_o   <= format_i;
      feedback_o <= feedback_i;
      count_o    <= count_i;
      last_o     <= last_i;
      code_o     <= code_i;
      // A block with a NaN or an infinity has no order.
      mask_o     <= format_i == ubl_pkg::WireFormatSparse8 && code_i[7:0] == CodeNan ?
                      {16{4'h3}} : mask_i;
      if (feedback_i) x_o <= x_i;
      if (cast) cast_lanes();
      else if (nibble) quantise_lanes();
      else if (format_i == ubl_pkg::WireFormatTopk) canonical_lanes();
      else wire_o <= x_i;
      if (cast || nibble) fill_up();
    end
  end

endmodule
