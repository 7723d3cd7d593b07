// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 of FCS and ICRC by words; include it inside a module.
//
//   crc32_N(x), N = 1..4: the register x advanced by N words of zeros
//
// The register is the reflected one (polynomial 0xEDB88320): a word w (first byte of the stream in
// bits 7:0) goes in by s' = crc32_1(s ^ w), and by linearity four words at once by
// s' = crc32_4(s ^ w0) ^ crc32_3(w1) ^ crc32_2(w2) ^ crc32_1(w3).
//
// Synthesis sees the bits shifted, which is a tree of exclusive-ors. A simulator gets one table of
// 256 entries for each byte: constants, computed at elaboration and shared by all instances. Both
// forms pass the same tests.

`ifdef SYNTHESIS

function automatic logic [31:0] crc32_1(input logic [31:0] x);
  crc32_1 = x;
  for (int unsigned i = 0; i < 32; i++) begin
    crc32_1 = {1'b0, crc32_1[31:1]} ^ (ubl_pkg::LinkCrc32Poly & {32{crc32_1[0]}});
  end
endfunction

function automatic logic [31:0] crc32_2(input logic [31:0] x);
  crc32_2 = crc32_1(crc32_1(x));
endfunction

function automatic logic [31:0] crc32_3(input logic [31:0] x);
  crc32_3 = crc32_1(crc32_2(x));
endfunction

function automatic logic [31:0] crc32_4(input logic [31:0] x);
  crc32_4 = crc32_2(crc32_2(x));
endfunction

`else

// Entry v: a register that holds byte v, advanced by `bytes` bytes of zeros. Each bit of v adds its
// own contribution, so an entry is the one without its lowest bit, and that bit's.
function automatic logic [8191:0] crc32_table(input int unsigned bytes);
  logic [31:0] unit;
  unit = 32'd1;
  for (int unsigned i = 0; i < 8 * (bytes - 1); i++) begin
    unit = {1'b0, unit[31:1]} ^ (ubl_pkg::LinkCrc32Poly & {32{unit[0]}});
  end
  crc32_table = '0;
  for (int unsigned bit_value = 128; bit_value != 0; bit_value = bit_value >> 1) begin
    unit = {1'b0, unit[31:1]} ^ (ubl_pkg::LinkCrc32Poly & {32{unit[0]}});
    for (int unsigned v = 0; v < 256; v = v + 2 * bit_value) begin
      crc32_table[32 * (v + bit_value) +: 32] = crc32_table[32 * v +: 32] ^ unit;
    end
  end
endfunction

// Crc32Table<bytes>: byte i of the register advanced by N words is <bytes> = 4 N - i.
localparam logic [8191:0] Crc32Table1 = crc32_table(1);
localparam logic [8191:0] Crc32Table2 = crc32_table(2);
localparam logic [8191:0] Crc32Table3 = crc32_table(3);
localparam logic [8191:0] Crc32Table4 = crc32_table(4);
localparam logic [8191:0] Crc32Table5 = crc32_table(5);
localparam logic [8191:0] Crc32Table6 = crc32_table(6);
localparam logic [8191:0] Crc32Table7 = crc32_table(7);
localparam logic [8191:0] Crc32Table8 = crc32_table(8);
localparam logic [8191:0] Crc32Table9 = crc32_table(9);
localparam logic [8191:0] Crc32Table10 = crc32_table(10);
localparam logic [8191:0] Crc32Table11 = crc32_table(11);
localparam logic [8191:0] Crc32Table12 = crc32_table(12);
localparam logic [8191:0] Crc32Table13 = crc32_table(13);
localparam logic [8191:0] Crc32Table14 = crc32_table(14);
localparam logic [8191:0] Crc32Table15 = crc32_table(15);
localparam logic [8191:0] Crc32Table16 = crc32_table(16);

function automatic logic [31:0] crc32_1(input logic [31:0] x);
  crc32_1 = Crc32Table4[{x[7:0], 5'd0} +: 32] ^
            Crc32Table3[{x[15:8], 5'd0} +: 32] ^
            Crc32Table2[{x[23:16], 5'd0} +: 32] ^
            Crc32Table1[{x[31:24], 5'd0} +: 32];
endfunction

function automatic logic [31:0] crc32_2(input logic [31:0] x);
  crc32_2 = Crc32Table8[{x[7:0], 5'd0} +: 32] ^
            Crc32Table7[{x[15:8], 5'd0} +: 32] ^
            Crc32Table6[{x[23:16], 5'd0} +: 32] ^
            Crc32Table5[{x[31:24], 5'd0} +: 32];
endfunction

function automatic logic [31:0] crc32_3(input logic [31:0] x);
  crc32_3 = Crc32Table12[{x[7:0], 5'd0} +: 32] ^
            Crc32Table11[{x[15:8], 5'd0} +: 32] ^
            Crc32Table10[{x[23:16], 5'd0} +: 32] ^
            Crc32Table9[{x[31:24], 5'd0} +: 32];
endfunction

function automatic logic [31:0] crc32_4(input logic [31:0] x);
  crc32_4 = Crc32Table16[{x[7:0], 5'd0} +: 32] ^
            Crc32Table15[{x[15:8], 5'd0} +: 32] ^
            Crc32Table14[{x[23:16], 5'd0} +: 32] ^
            Crc32Table13[{x[31:24], 5'd0} +: 32];
endfunction

`endif
