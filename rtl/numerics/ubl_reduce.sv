// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Element-wise reduction of two 64-byte words, purely combinational: sum, minimum or maximum of 16
// elements of FP32 or INT32, or 32 of FP16 or BF16.
//
// Element k is bits 32k+31:32k or 16k+15:16k, little-endian. lane_i has a bit for each 16 bits; what
// is not selected passes a_i unchanged, so a_i is the memory side and the result can be written back
// whole. An operation or a type that does not exist selects nothing.
//
//   add           floats: rounded once to the type, ties to even; INT32: modulo 2^32
//   min, max      floats: NaN if either is NaN, -0 below +0; INT32: signed
//
// A NaN result is the canonical one of its type.
//
// Written for simulation speed as well: an FP32 sum, the common case, costs what the adders alone
// cost, and everything else stands in ubl_reduce_rest, which does nothing meanwhile. With lane_i = 0 a
// simulation spends next to nothing here. The FP32 adders are inlined by the simulator: in Verilator
// 5.006 this is up to twice as fast as one shared routine per instance, and it compiles in a few
// seconds.
//
// See also: ubl_fp32_add.sv, ubl_reduce_rest.sv (rounding, NaN); sw/numerics (golden model).

module ubl_reduce (
  /// Half-lanes to reduce: bit h is bytes 2h and 2h + 1. Of FP32 and INT32 those elements are reduced
  /// that have both bits set.
  input  logic [31:0]  lane_i,
  /// Operation: red_op.
  input  logic [3:0]   op_i,
  /// Element type: red_type.
  input  logic [3:0]   dtype_i,
  /// First operands (memory).
  input  logic [511:0] a_i,
  /// Second operands (packet).
  input  logic [511:0] b_i,
  /// Results, or a_i in lanes not selected.
  output logic [511:0] sum_o
);

  localparam int unsigned Words = 16;

  logic         f32_sum;
  logic [31:0]  f32_lane, rest_lane;
  logic [511:0] rest;

  assign f32_sum   = op_i == ubl_pkg::RedOpAdd && dtype_i == ubl_pkg::RedTypeF32;
  assign f32_lane  = f32_sum ? lane_i : 32'd0;
  assign rest_lane = f32_sum ? 32'd0 : lane_i;

  ubl_reduce_rest u_rest (
    .lane_i   (rest_lane),
    .op_i     (op_i),
    .dtype_i  (dtype_i),
    .a_i      (a_i),
    .b_i      (b_i),
    .result_o (rest)
  );

  for (genvar k = 0; k < Words; k++) begin : gen_lane
    ubl_fp32_add u_add (
      .en_i   (f32_lane[2*k +: 2] == 2'b11),
      .pass_i ((rest_lane != 32'd0) ? rest[32*k +: 32] : a_i[32*k +: 32]),
      .a_i    (a_i[32*k +: 32]),
      .b_i    (b_i[32*k +: 32]),
      .sum_o  (sum_o[32*k +: 32])
    );
  end

endmodule
