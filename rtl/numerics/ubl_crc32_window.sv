// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Advances a CRC-32 register by up to 16 words, purely combinational.
//
// The register is the reflected one of FCS and ICRC, before the final complement. A CRC that starts
// at all ones is had by starting at zero and complementing the first four bytes of what it covers;
// leading zero words then change nothing.
//
// See also: ubl_crc32_pair.sv (FCS and ICRC of a frame), ubl_crc32.svh.

module ubl_crc32_window (
  /// Register before the window.
  input  logic [31:0]  state_i,
  /// Words 0 to 15, word 0 in bits 31:0, first byte of a word in its bits 7:0.
  input  logic [511:0] data_i,
  /// Words to take, from word 0 on: 0 to 16.
  input  logic [4:0]   nwords_i,
  /// Register after the window.
  output logic [31:0]  state_o
);

  `include "ubl_crc32.svh"

  logic [31:0]  s;
  logic [127:0] g;

  always_comb begin
    s = state_i;
    g = '0;
    // Four words at once, then the rest one by one.
    for (int unsigned q = 0; q < 4; q++) begin
      if (nwords_i[4:2] > 3'(q)) begin
        g = data_i[128*q +: 128];
        s = crc32_4(g[31:0] ^ s) ^ crc32_3(g[63:32]) ^ crc32_2(g[95:64]) ^ crc32_1(g[127:96]);
      end
    end
    if (nwords_i[1:0] != 2'd0) begin
      g = data_i[{nwords_i[3:2], 7'd0} +: 128];
      s = crc32_1(g[31:0] ^ s);
      if (nwords_i[1]) s = crc32_1(g[63:32] ^ s);
      if (nwords_i[1:0] == 2'd3) s = crc32_1(g[95:64] ^ s);
    end
    state_o = s;
  end

endmodule
