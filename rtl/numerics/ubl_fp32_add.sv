// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// FP32 adder, purely combinational: sum_o = en_i ? a_i + b_i : pass_i in IEEE 754 binary32.
//
// Round to nearest, ties to even; subnormal operands and results are kept; infinities and signed
// zeros follow the standard (x + -x = +0, -0 + -0 = -0). A NaN operand, and infinity minus
// infinity, give the one canonical NaN, 0x7FC00000. There are no flags.
//
// Structure: order the operands by magnitude, align the smaller one with two guard bits and a
// sticky bit, add or subtract, normalise, round. One rounder serves all cases: after a cancellation
// of more than one bit nothing has been shifted out beyond the guard bit, and a subnormal sum is
// exact.
//
// Written for simulation speed as well: the adder is one process, so that the simulator keeps it in
// registers and skips it while en_i is low; the choices that follow random data are masks and
// shifts; what is rare (long normalisation, infinities and NaN) stands in a branch of its own, which
// synthesis sees as a multiplexer.
//
// See also: ubl_reduce.sv; sw/numerics (golden model).

module ubl_fp32_add (
  /// Add; while low, pass_i is the result, as it is.
  input  logic        en_i,
  /// Result while en_i is low.
  input  logic [31:0] pass_i,
  /// First addend, binary32 bit pattern.
  input  logic [31:0] a_i,
  /// Second addend, binary32 bit pattern.
  input  logic [31:0] b_i,
  /// Correctly rounded sum, binary32 bit pattern.
  output logic [31:0] sum_o
);

  localparam logic [31:0] CanonicalNan = 32'h7FC00000;
  localparam logic [7:0]  ExpMax       = 8'hFF;

  logic [31:0] l, swap_mask, rounded;
  logic [30:0] s;
  logic        swap, l_normal, s_normal, subtract, lsb, guard, sticky, round_up;
  logic [7:0]  l_exp, s_exp, distance;
  logic [4:0]  align, up;
  logic [55:0] s_wide;
  logic [27:0] l_man, s_man, total, norm, seek;

  always_comb begin
    // Default values: nothing is computed while en_i is low.
    sum_o = pass_i;
    {l, swap_mask, rounded, s, s_wide, l_man, s_man, total, norm, seek, l_exp, s_exp} = '0;
    {distance, align, up, swap, l_normal, s_normal, subtract, lsb, guard, sticky, round_up} = '0;
    if (en_i) begin
      // Order by magnitude: |l| >= |s|. If an operand is an infinity or a NaN, l is one.
      swap      = a_i[30:0] < b_i[30:0];
      swap_mask = (a_i ^ b_i) & {32{swap}};
      l         = a_i ^ swap_mask;
      s         = b_i[30:0] ^ swap_mask[30:0];
      subtract  = a_i[31] ^ b_i[31];

      // Subnormals have exponent 1 and no hidden bit.
      l_normal = l[30:23] != 8'd0;
      s_normal = s[30:23] != 8'd0;
      l_exp    = l[30:23] | {7'd0, ~l_normal};
      s_exp    = s[30:23] | {7'd0, ~s_normal};
      distance = l_exp - s_exp;

      // Align. The lower 29 bits of the shifted word collect into the sticky bit. A distance above
      // 31 leaves nothing but the sticky bit, as 31 does.
      align  = (distance > 8'd31) ? 5'd31 : distance[4:0];
      s_wide = {1'b0, s_normal, s[22:0], 31'd0} >> align;
      l_man  = {1'b0, l_normal, l[22:0], 3'd0};
      s_man  = {s_wide[55:29], |s_wide[28:0]};

      // Add or subtract; bit 27 is the carry, bit 26 the hidden bit at exponent l_exp.
      total = l_man + (s_man ^ {28{subtract}}) + {27'd0, subtract};

      // Normalise: shift the leading one up to bit 27, but never below exponent 1. Bit 0 of seek only
      // bounds the shift of an exact zero.
      up   = {4'd0, ~total[27]};
      seek = 28'd0;
      if (total[27:26] == 2'b00) begin
        seek  = total | (28'h8000000 >> l_exp) | 28'd1;
        up[4] = seek[27:12] == 16'd0;
        seek  = seek << {up[4], 4'd0};
        up[3] = seek[27:20] == 8'd0;
        seek  = seek << {up[3], 3'd0};
        up[2] = seek[27:24] == 4'd0;
        seek  = seek << {up[2], 2'd0};
        up[1] = seek[27:26] == 2'd0;
        seek  = seek << {up[1], 1'd0};
        up[0] = ~seek[27];
      end
      norm = total << up;

      // Round to nearest even. The carry of the rounding runs into the exponent, as it must; so does
      // the hidden bit.
      lsb      = norm[4];
      guard    = norm[3];
      sticky   = |norm[2:0];
      round_up = guard & (sticky | lsb);
      rounded  = {1'b0, l_exp - {3'd0, up}, 23'd0} + {8'd0, norm[27:4]} + {31'd0, round_up};

      sum_o = {l[31], rounded[30:0]};
      if (total == 28'd0) begin
        sum_o = {l[31] & ~subtract, 31'd0};
      end
      if (l_exp == ExpMax || rounded[31:23] >= {1'b0, ExpMax}) begin
        if (l_exp != ExpMax) begin
          sum_o = {l[31], ExpMax, 23'd0};
        end else if (l[22:0] != 23'd0 || (subtract && s_exp == ExpMax)) begin
          sum_o = CanonicalNan;
        end else begin
          sum_o = l;
        end
      end
    end
  end

endmodule
