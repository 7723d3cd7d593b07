// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Takes zero words back out of a CRC-32 state. Combinational.
//
// state_o is the state from which words_i zero words lead to state_i; zero while en_i is low.
//
// See also: nic_port_crc.sv.

module nic_port_crc_rewind (
  /// Compute; a simulation spends next to nothing here while this is low.
  input  logic        en_i,
  /// Zero words to take back, 0 to 15.
  input  logic [3:0]  words_i,
  /// State behind them.
  input  logic [31:0] state_i,
  /// State before them.
  output logic [31:0] state_o
);

  localparam logic [31:0] Poly = ubl_pkg::LinkCrc32Poly;

  // State before n zero bits.
  function automatic logic [31:0] backward(logic [31:0] state, int unsigned bits);
    logic [31:0] c;
    c = state;
    for (int unsigned i = 0; i < bits; i++) c = c[31] ? (((c ^ Poly) << 1) | 32'd1) : (c << 1);
    backward = c;
  endfunction

  // Columns of the matrix that takes back n words.
  function automatic logic [1023:0] columns(int unsigned words);
    logic [1023:0] r;
    for (int unsigned i = 0; i < 32; i++) r[32*i +: 32] = backward(32'd1 << i, 32 * words);
    columns = r;
  endfunction

  localparam logic [1023:0] Back1 = columns(1);
  localparam logic [1023:0] Back2 = columns(2);
  localparam logic [1023:0] Back4 = columns(4);
  localparam logic [1023:0] Back8 = columns(8);

  function automatic logic [31:0] multiply(logic [1023:0] m, logic [31:0] v);
    logic [31:0] r;
    r = '0;
    for (int unsigned i = 0; i < 32; i++) r ^= m[32*i +: 32] & {32{v[i]}};
    multiply = r;
  endfunction

  always_comb begin
    state_o = '0;
    if (en_i) begin
      state_o = state_i;
      if (words_i[0]) state_o = multiply(Back1, state_o);
      if (words_i[1]) state_o = multiply(Back2, state_o);
      if (words_i[2]) state_o = multiply(Back4, state_o);
      if (words_i[3]) state_o = multiply(Back8, state_o);
    end
  end

endmodule
