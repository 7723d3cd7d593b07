// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The adder of ubl_fp32_add.sv as a function, for loops over lanes; include it inside a module.
//
//   fp32_add(a, b)   a + b in IEEE 754 binary32: ties to even, subnormals, one canonical NaN
//
// The module says how it works. In a loop over 64 lanes one copy of the code serves all of them,
// which compiles in a second and stays in the host's instruction cache; 64 instances do neither.

function automatic logic [31:0] fp32_add(input logic [31:0] a, input logic [31:0] b);
  logic [31:0] l, swap_mask, rounded;
  logic [30:0] s;
  logic        swap, l_normal, s_normal, subtract;
  logic [7:0]  l_exp, s_exp, distance;
  logic [4:0]  align, up;
  logic [55:0] s_wide;
  logic [27:0] l_man, s_man, total, norm, seek;

  // Order by magnitude: |l| >= |s|. If an operand is an infinity or a NaN, l is one.
  swap      = a[30:0] < b[30:0];
  swap_mask = (a ^ b) & {32{swap}};
  l         = a ^ swap_mask;
  s         = b[30:0] ^ swap_mask[30:0];
  subtract  = a[31] ^ b[31];

  // Subnormals have exponent 1 and no hidden bit.
  l_normal = l[30:23] != 8'd0;
  s_normal = s[30:23] != 8'd0;
  l_exp    = l[30:23] | {7'd0, ~l_normal};
  s_exp    = s[30:23] | {7'd0, ~s_normal};
  distance = l_exp - s_exp;

  // Align; bits shifted out collect in the sticky bit.
  align  = (distance > 8'd31) ? 5'd31 : distance[4:0];
  s_wide = {1'b0, s_normal, s[22:0], 31'd0} >> align;
  l_man  = {1'b0, l_normal, l[22:0], 3'd0};
  s_man  = {s_wide[55:29], |s_wide[28:0]};

  // Add or subtract; bit 27 is the carry, bit 26 the hidden bit at exponent l_exp.
  total = l_man + (s_man ^ {28{subtract}}) + {27'd0, subtract};

  // Normalise: the leading one up to bit 27, but never below exponent 1.
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

  // Round to nearest even; the carry runs into the exponent, and so does the hidden bit.
  rounded = {1'b0, l_exp - {3'd0, up}, 23'd0} + {8'd0, norm[27:4]} +
            {31'd0, norm[3] & (norm[4] | (|norm[2:0]))};

  fp32_add = {l[31], rounded[30:0]};
  if (total == 28'd0) begin
    fp32_add = {l[31] & ~subtract, 31'd0};
  end
  if (l_exp == 8'hFF || rounded[31:23] >= 9'h0FF) begin
    if (l_exp != 8'hFF) begin
      fp32_add = {l[31], 8'hFF, 23'd0};
    end else if (l[22:0] != 23'd0 || (subtract && s_exp == 8'hFF)) begin
      fp32_add = 32'h7FC00000;
    end else begin
      fp32_add = l;
    end
  end
endfunction
