// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of ubl_reduce that is not an FP32 sum: sums of FP16, BF16 and INT32, minima and maxima;
// purely combinational.
//
// Sums of FP16 and BF16 have one datapath. FP16 has 5 bits of exponent and 10 of fraction, BF16 8 and
// 7: both are taken apart into 8 and 10, a BF16 fraction in the upper bits. All but the place where
// the sum is rounded is then the same. The steps are those of ubl_fp32_add.sv.
//
// Minima and maxima: two floats of unlike sign are ordered by their signs, as two integers are; two
// negative ones the other way round than their patterns.
//
// Written for simulation speed as well. A module of its own to the simulator (no_inline_module) and
// functions that it calls (no_inline_task): Verilator 5.006 keeps the variables of a process in
// registers only if it calls nothing, so the FP32 adders must not share theirs with a call; and 32
// copies of the functions would take a minute to compile. One choice around everything: nothing is
// evaluated while no lane is selected.
//
// See also: ubl_reduce.sv.

module ubl_reduce_rest (
  /// Half-lanes, 16 bits each; a 32-bit element needs both of its bits. The others pass a_i.
  input  logic [31:0]  lane_i,
  /// Operation: red_op.
  input  logic [3:0]   op_i,
  /// Element type: red_type. With FP32, a sum is not made: a_i passes.
  input  logic [3:0]   dtype_i,
  /// First operands.
  input  logic [511:0] a_i,
  /// Second operands.
  input  logic [511:0] b_i,
  /// Results; 0 while no lane is selected.
  output logic [511:0] result_o
);
  // verilator no_inline_module

  localparam int unsigned Words   = 16;
  localparam logic [14:0] InfFp16 = 15'h7C00;
  localparam logic [15:0] NanFp16 = 16'h7E00;
  localparam logic [7:0]  MaxFp16 = 8'd31;     // exponent of infinity and NaN
  localparam logic [14:0] InfBf16 = 15'h7F80;
  localparam logic [15:0] NanBf16 = 16'h7FC0;
  localparam logic [7:0]  MaxBf16 = 8'd255;
  localparam logic [30:0] InfFp32 = 31'h7F800000;
  localparam logic [31:0] NanFp32 = 32'h7FC00000;

  function automatic logic [15:0] sum_half(logic bf16, logic [15:0] a, logic [15:0] b);
    // verilator no_inline_task
    logic        swap, subtract, l_normal, s_normal, round_up;
    logic [15:0] l;
    logic [14:0] s;
    logic [7:0]  l_exp, s_exp, exp_max, distance, exp;
    logic [9:0]  l_frac, s_frac;
    logic [3:0]  align, up;
    logic [28:0] s_wide;
    logic [14:0] l_man, s_man, total, norm, seek;
    logic [16:0] rounded;

    // Order by magnitude: |l| >= |s|. If an operand is an infinity or a NaN, l is one.
    swap     = a[14:0] < b[14:0];
    l        = a ^ ((a ^ b) & {16{swap}});
    s        = b[14:0] ^ ((a[14:0] ^ b[14:0]) & {15{swap}});
    subtract = a[15] ^ b[15];

    if (bf16) begin
      exp_max = MaxBf16;
      l_exp   = l[14:7];
      s_exp   = s[14:7];
      l_frac  = {l[6:0], 3'd0};
      s_frac  = {s[6:0], 3'd0};
    end else begin
      exp_max = MaxFp16;
      l_exp   = {3'd0, l[14:10]};
      s_exp   = {3'd0, s[14:10]};
      l_frac  = l[9:0];
      s_frac  = s[9:0];
    end

    if (l_exp == exp_max) begin
      sum_half = l;
      if (l_frac != 10'd0 || (subtract && s_exp == exp_max)) sum_half = bf16 ? NanBf16 : NanFp16;
    end else begin
      // Subnormals have exponent 1 and no hidden bit.
      l_normal = l_exp != 8'd0;
      s_normal = s_exp != 8'd0;
      l_exp    = l_exp | {7'd0, ~l_normal};
      s_exp    = s_exp | {7'd0, ~s_normal};
      distance = l_exp - s_exp;

      // Align with two guard bits and a sticky one. 15 places leave nothing but the sticky bit.
      align  = (distance > 8'd15) ? 4'd15 : distance[3:0];
      s_wide = {1'b0, s_normal, s_frac, 17'd0} >> align;
      l_man  = {1'b0, l_normal, l_frac, 3'd0};
      s_man  = {s_wide[28:15], |s_wide[14:0]};

      // Add or subtract; bit 14 is the carry, bit 13 the hidden bit at exponent l_exp.
      total = l_man + (s_man ^ {15{subtract}}) + {14'd0, subtract};

      // Normalise: shift the leading one up to bit 14, but never below exponent 1. Bit 0 of seek
      // only bounds the shift of an exact zero.
      up   = {3'd0, ~total[14]};
      seek = 15'd0;
      if (total[14:13] == 2'b00) begin
        seek  = total | (15'h4000 >> l_exp) | 15'd1;
        up[3] = seek[14:7] == 8'd0;
        seek  = seek << {up[3], 3'd0};
        up[2] = seek[14:11] == 4'd0;
        seek  = seek << {up[2], 2'd0};
        up[1] = seek[14:13] == 2'd0;
        seek  = seek << {up[1], 1'd0};
        up[0] = ~seek[14];
      end
      norm = total << up;

      // Round to nearest even. The hidden bit and the carry of the rounding run into the exponent;
      // from that of an infinity on, the fraction is dropped.
      exp = l_exp - {4'd0, up};
      if (bf16) begin
        round_up = norm[6] & (norm[7] | (|norm[5:0]));
        rounded  = {2'd0, exp, 7'd0} + {9'd0, norm[14:7]} + {16'd0, round_up};
        sum_half = {l[15], rounded[14:0]};
        if (rounded >= {2'd0, InfBf16}) sum_half = {l[15], InfBf16};
      end else begin
        round_up = norm[3] & (norm[4] | (|norm[2:0]));
        rounded  = {2'd0, exp[4:0], 10'd0} + {6'd0, norm[14:4]} + {16'd0, round_up};
        sum_half = {l[15], rounded[14:0]};
        if (rounded >= {2'd0, InfFp16}) sum_half = {l[15], InfFp16};
      end
      if (total == 15'd0) sum_half = {l[15] & ~subtract, 15'd0};
    end
  endfunction

  // One word: an element of 32 bits, or two of 16.
  function automatic logic [31:0] word_of(logic [1:0] lane, logic [3:0] op, logic [3:0] dtype,
                                          logic [31:0] x, logic [31:0] y);
    // verilator no_inline_task
    logic        bf16, i32, max, pick, x_less;
    logic [14:0] inf;
    logic [15:0] nan, low, high;

    bf16    = dtype == ubl_pkg::RedTypeBf16;
    i32     = dtype == ubl_pkg::RedTypeI32;
    max     = op == ubl_pkg::RedOpMax;
    pick    = max || op == ubl_pkg::RedOpMin;
    word_of = x;
    if (bf16 || dtype == ubl_pkg::RedTypeF16) begin
      inf  = bf16 ? InfBf16 : InfFp16;
      nan  = bf16 ? NanBf16 : NanFp16;
      low  = x[15:0];
      high = x[31:16];
      if (pick) begin
        x_less = (x[15] ^ y[15]) ? x[15] : ((x[15:0] < y[15:0]) ^ x[15]);
        low    = (x[15:0] & {16{x_less ^ max}}) | (y[15:0] & {16{~(x_less ^ max)}});
        x_less = (x[31] ^ y[31]) ? x[31] : ((x[31:16] < y[31:16]) ^ x[31]);
        high   = (x[31:16] & {16{x_less ^ max}}) | (y[31:16] & {16{~(x_less ^ max)}});
        if (x[14:0]  > inf || y[14:0]  > inf) low  = nan;
        if (x[30:16] > inf || y[30:16] > inf) high = nan;
      end else if (op == ubl_pkg::RedOpAdd) begin
        low  = sum_half(bf16, x[15:0], y[15:0]);
        high = sum_half(bf16, x[31:16], y[31:16]);
      end
      if (lane[0]) word_of[15:0]  = low;
      if (lane[1]) word_of[31:16] = high;
    end else if (lane == 2'b11 && (i32 || dtype == ubl_pkg::RedTypeF32)) begin
      if (pick) begin
        x_less  = (x[31] ^ y[31]) ? x[31] : ((x < y) ^ (x[31] & ~i32));
        word_of = (x & {32{x_less ^ max}}) | (y & {32{~(x_less ^ max)}});
        if (!i32 && (x[30:0] > InfFp32 || y[30:0] > InfFp32)) word_of = NanFp32;
      end else if (i32 && op == ubl_pkg::RedOpAdd) begin
        word_of = x + y;
      end
    end
  endfunction

  always_comb begin
    result_o = '0;
    if (lane_i != 32'd0) begin
      for (int unsigned k = 0; k < Words; k++) begin
        result_o[32*k +: 32] = word_of(lane_i[2*k +: 2], op_i, dtype_i, a_i[32*k +: 32], b_i[32*k +: 32]);
      end
    end
  end

endmodule
