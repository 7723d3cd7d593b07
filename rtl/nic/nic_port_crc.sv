// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// FCS and ICRC state of one frame, 64 bytes per cycle, in the shifted domain of nic_port.
//
// Both are CRC-32 (reflected, 0xEDB88320). A word is 64 bytes of the shifted frame: byte 0 of the
// frame is byte 2 of the first word, unused bytes are zero. The first word starts both sums:
//   FCS   covers everything; its start value is chosen so that the two leading zero bytes bring it
//         to 0xFFFFFFFF.
//   ICRC  covers the frame from the IP header on, behind eight bytes of ones, with type of service,
//         time to live, IP checksum, UDP checksum and BTH byte 4 read as ones (InfiniBand annex
//         A17). Its start value absorbs the eight bytes and the 16 zeroed bytes of the first word.
// From the second word on both see the same data, so their difference needs only a constant
// 32x32 matrix and one data tree serves both.
//
// The states always cover whole words; zero bytes behind the end of a frame are taken back by
// nic_port_crc_rewind.
//
// No handshake: a word is consumed in every cycle with en_i = 1, the states follow one cycle later.
//
// Simulators get table look-ups (8 bytes a step), synthesis gets plain XOR equations; both are the
// same function.

module nic_port_crc (
  /// Clock.
  input  logic         clk_i,
  /// A word is present.
  input  logic         en_i,
  /// It is the first word of a frame.
  input  logic         first_i,
  /// The word, byte 0 in bits 7:0.
  input  logic [511:0] data_i,
  /// FCS state behind the last word (not complemented).
  output logic [31:0]  fcs_o,
  /// ICRC state behind the last word (not complemented).
  output logic [31:0]  icrc_o
);

  localparam logic [31:0] Poly = ubl_pkg::LinkCrc32Poly;

  // State behind n zero bits.
  function automatic logic [31:0] forward(logic [31:0] state, int unsigned bits);
    logic [31:0] c;
    c = state;
    for (int unsigned i = 0; i < bits; i++) c = c[0] ? ((c >> 1) ^ Poly) : (c >> 1);
    forward = c;
  endfunction

  // State before n zero bits.
  function automatic logic [31:0] backward(logic [31:0] state, int unsigned bits);
    logic [31:0] c;
    c = state;
    for (int unsigned i = 0; i < bits; i++) c = c[31] ? (((c ^ Poly) << 1) | 32'd1) : (c << 1);
    backward = c;
  endfunction

  // State behind eight bytes of ones.
  function automatic logic [31:0] eight_ones();
    eight_ones = forward(forward(32'hFFFF_FFFF ^ 32'hFFFF_FFFF, 32) ^ 32'hFFFF_FFFF, 32);
  endfunction

  localparam logic [31:0] FcsStart  = backward(32'hFFFF_FFFF, 16);
  localparam logic [31:0] IcrcStart = backward(eight_ones(), 128);

`ifdef VERILATOR
  // What a byte followed by `tail` more bytes adds to the state, for all values of the byte.
  function automatic logic [8191:0] table_of(int unsigned tail);
    logic [8191:0] r;
    logic [255:0]  column;
    logic [31:0]   c;
    for (int unsigned i = 0; i < 8; i++) column[32*i +: 32] = forward(32'd1 << i, 8 * (tail + 1));
    for (int unsigned v = 0; v < 256; v++) begin
      c = '0;
      for (int unsigned i = 0; i < 8; i++) if (v[i]) c ^= column[32*i +: 32];
      r[32*v +: 32] = c;
    end
    table_of = r;
  endfunction

  localparam logic [8191:0] T0 = table_of(0);
  localparam logic [8191:0] T1 = table_of(1);
  localparam logic [8191:0] T2 = table_of(2);
  localparam logic [8191:0] T3 = table_of(3);
  localparam logic [8191:0] T4 = table_of(4);
  localparam logic [8191:0] T5 = table_of(5);
  localparam logic [8191:0] T6 = table_of(6);
  localparam logic [8191:0] T7 = table_of(7);
  localparam logic [8191:0] T60 = table_of(60);
  localparam logic [8191:0] T61 = table_of(61);
  localparam logic [8191:0] T62 = table_of(62);
  localparam logic [8191:0] T63 = table_of(63);

  // State behind two words.
  function automatic logic [31:0] step8(logic [31:0] a, logic [31:0] b);
    step8 = T7[{a[7:0], 5'd0} +: 32] ^ T6[{a[15:8], 5'd0} +: 32]
          ^ T5[{a[23:16], 5'd0} +: 32] ^ T4[{a[31:24], 5'd0} +: 32]
          ^ T3[{b[7:0], 5'd0} +: 32] ^ T2[{b[15:8], 5'd0} +: 32]
          ^ T1[{b[23:16], 5'd0} +: 32] ^ T0[{b[31:24], 5'd0} +: 32];
  endfunction

  // State behind 64 zero bytes.
  function automatic logic [31:0] step64(logic [31:0] a);
    step64 = T63[{a[7:0], 5'd0} +: 32] ^ T62[{a[15:8], 5'd0} +: 32]
           ^ T61[{a[23:16], 5'd0} +: 32] ^ T60[{a[31:24], 5'd0} +: 32];
  endfunction
`else
  function automatic logic [31:0] step8(logic [31:0] a, logic [31:0] b);
    step8 = forward(forward(a, 32) ^ b, 32);
  endfunction

  function automatic logic [31:0] step64(logic [31:0] a);
    step64 = forward(a, 512);
  endfunction
`endif

  logic [31:0]  fcs_q, icrc_q, fcs_d, icrc_d;
  logic [511:0] masked;

  always_comb begin
    fcs_d  = fcs_q;
    icrc_d = icrc_q;
    masked = '0;
    if (en_i) begin
      fcs_d = first_i ? FcsStart : fcs_q;
      for (int unsigned g = 0; g < 8; g++) begin
        fcs_d = step8(fcs_d ^ data_i[64*g +: 32], data_i[64*g+32 +: 32]);
      end
      if (first_i) begin
        masked          = data_i;
        masked[127:0]   = '0;
        masked[143:136] = '1;  // type of service
        masked[199:192] = '1;  // time to live
        masked[223:208] = '1;  // IP checksum
        masked[351:336] = '1;  // UDP checksum
        masked[391:384] = '1;  // BTH: FECN, BECN, reserved
        icrc_d = IcrcStart;
        for (int unsigned g = 0; g < 8; g++) begin
          icrc_d = step8(icrc_d ^ masked[64*g +: 32], masked[64*g+32 +: 32]);
        end
      end else begin
        icrc_d = fcs_d ^ step64(fcs_q ^ icrc_q);
      end
    end
  end

  // No reset: the first word of a frame loads both states.
  always_ff @(posedge clk_i) begin
    fcs_q  <= fcs_d;
    icrc_q <= icrc_d;
  end

  assign fcs_o  = fcs_q;
  assign icrc_o = icrc_q;

endmodule
