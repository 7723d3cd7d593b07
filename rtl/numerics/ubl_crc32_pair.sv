// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// FCS and ICRC registers of a RoCEv2 frame over one 64-byte window, purely combinational.
//
// The stream is the frame behind two bytes of padding, so that every header field of 4 bytes and the
// payload are whole words: stream byte = frame byte + 2. In window 0 (first_i) the module starts both
// registers itself and leaves out, for the ICRC, what a switch may change. In every window both take
// the same nwords_i words, so they share most of the work.
//
// Transmit: let all words before the ICRC in. The ICRC is ~icrc_o; with that word the FCS is
// ~crc32_1(fcs_o ^ ICRC).
// Receive: let all words before the FCS in. The frame is good if ~fcs_o is the FCS, and the packet
// if icrc_o is 0xDEBB20E3, the register after any message followed by its own CRC.
//
// See also: ubl_crc32_window.sv, ubl_crc32.svh.

module ubl_crc32_pair (
  /// This is window 0 of a frame: the registers start here, fcs_i and icrc_i mean nothing.
  input  logic         first_i,
  /// Window of the stream, byte 0 in bits 7:0. The padding in window 0 may have any value.
  input  logic [511:0] data_i,
  /// Words to take, from word 0 on: 0 to 16.
  input  logic [4:0]   nwords_i,
  /// FCS register before the window.
  input  logic [31:0]  fcs_i,
  /// ICRC register before the window.
  input  logic [31:0]  icrc_i,
  /// FCS register after the window, before the final complement.
  output logic [31:0]  fcs_o,
  /// ICRC register after the window, before the final complement.
  output logic [31:0]  icrc_o
);

  `include "ubl_crc32.svh"

  // Window 0 as the FCS sees it: padding zero, frame bytes 0 to 3 complemented.
  localparam logic [127:0] FcsKeep = ~128'hFFFF;
  localparam logic [127:0] FcsFlip = 128'hFFFFFFFF_0000;

  // Window 0 as the ICRC sees it. The Ethernet header is not covered (words 0 to 3). Ones take the
  // place of TOS, TTL, IP checksum, UDP checksum and the byte with FECN and BECN (frame bytes 15, 22,
  // 24, 25, 40, 41, 46). Eight bytes of ones come before the IP header: IcrcSeed is the register
  // after them.
  localparam logic [31:0]  IcrcSeed = 32'hDEBB20E3;
  localparam logic [511:0] IcrcKeep = ~512'hFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFF;
  localparam logic [511:0] IcrcFlip = 512'(IcrcSeed) << 128;
  localparam logic [511:0] IcrcOnes = (512'hFF << 8 * 17) | (512'hFF << 8 * 24) |
                                      (512'hFFFF << 8 * 26) | (512'hFFFF << 8 * 42) |
                                      (512'hFF << 8 * 48);

  logic [31:0]  f, c, tail;
  logic [127:0] g, h;

  always_comb begin
    f    = first_i ? 32'd0 : fcs_i;
    c    = first_i ? 32'd0 : icrc_i;
    g    = '0;
    h    = '0;
    tail = '0;
    // Four words at once, then the rest one by one. Words 1 to 3 of a group count alike in both
    // registers, but for window 0.
    for (int unsigned q = 0; q < 4; q++) begin
      if (nwords_i[4:2] > 3'(q)) begin
        g = data_i[128*q +: 128];
        h = g;
        if (first_i) begin
          if (q == 0) g = (g & FcsKeep) ^ FcsFlip;
          h = ((h & IcrcKeep[128*q +: 128]) | IcrcOnes[128*q +: 128]) ^ IcrcFlip[128*q +: 128];
        end
        tail = crc32_3(g[63:32]) ^ crc32_2(g[95:64]) ^ crc32_1(g[127:96]);
        f    = crc32_4(g[31:0] ^ f) ^ tail;
        if (first_i && q != 3) begin
          tail = crc32_3(h[63:32]) ^ crc32_2(h[95:64]) ^ crc32_1(h[127:96]);
        end
        c = crc32_4(h[31:0] ^ c) ^ tail;
      end
    end
    if (nwords_i[1:0] != 2'd0) begin
      g = data_i[{nwords_i[3:2], 7'd0} +: 128];
      h = g;
      if (first_i) begin
        if (nwords_i[3:2] == 2'd0) g = (g & FcsKeep) ^ FcsFlip;
        h = ((h & IcrcKeep[{nwords_i[3:2], 7'd0} +: 128]) |
             IcrcOnes[{nwords_i[3:2], 7'd0} +: 128]) ^ IcrcFlip[{nwords_i[3:2], 7'd0} +: 128];
      end
      f = crc32_1(g[31:0] ^ f);
      c = crc32_1(h[31:0] ^ c);
      if (nwords_i[1]) begin
        f = crc32_1(g[63:32] ^ f);
        c = crc32_1(h[63:32] ^ c);
      end
      if (nwords_i[1:0] == 2'd3) begin
        f = crc32_1(g[95:64] ^ f);
        c = crc32_1(h[95:64] ^ c);
      end
    end
    fcs_o  = f;
    icrc_o = c;
  end

endmodule
