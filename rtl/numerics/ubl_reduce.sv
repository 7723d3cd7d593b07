// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Element-wise FP32 sum of two 64-byte words: 16 lanes, purely combinational.
//
// Lane k is bits 32k+31:32k, that is bytes 4k..4k+3 of the word, little-endian. A lane whose bit in
// lane_i is clear passes a_i unchanged, so a_i is the memory side and the result can be written
// back whole. With lane_i = 0 a simulation spends next to nothing here.
//
// The adders are inlined by the simulator: in Verilator 5.006 this is up to twice as fast as one
// shared routine per instance, and it compiles in a few seconds.
//
// See also: ubl_fp32_add.sv (rounding, NaN), sw/numerics (golden model).

module ubl_reduce (
  /// Lanes to add.
  input  logic [15:0]  lane_i,
  /// First addends (memory).
  input  logic [511:0] a_i,
  /// Second addends (packet).
  input  logic [511:0] b_i,
  /// Sums, or a_i in lanes not selected.
  output logic [511:0] sum_o
);

  localparam int unsigned Lanes = 16;

  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    ubl_fp32_add u_add (
      .en_i  (lane_i[k]),
      .a_i   (a_i[32*k +: 32]),
      .b_i   (b_i[32*k +: 32]),
      .sum_o (sum_o[32*k +: 32])
    );
  end

endmodule
