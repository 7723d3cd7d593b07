// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// FCS check of ubl_switch: the CRC of every frame as it arrives, and how to stomp a bad one.
//
// A flit that arrives in cycle 0 is in the CRC register in cycle 1. If it is the last one of its
// frame, the ingress says so in that cycle; in cycle 2 the change of the FCS is on stomp_*. That is
// the earliest cycle in which the crossbar may read the flit, so nothing waits for the check.
//
// Stomping: the bytes of the FCS that are in the last flit become the complement of the right ones.
// So at least one byte is wrong for certain, whatever else is wrong with the frame; a change that
// follows the frame's contents (the ECN mark) leaves it wrong; and the next switch finds the frame
// bad, and stomped already. The FCS may begin in the flit before the last one, which may have left.
//
// The register also takes the FCS: behind a right one it is a constant. What is missing to whole
// groups of 16 bytes counts as zeros, which makes it one of 16 constants. The difference of FCS and
// right FCS is what is left over, moved back by 4 bytes and by those zeros.
//
// When the sink is not ready: no flow control here, every flit is taken in its own cycle.
//
// See also: ubl_crc32.svh, ubl_switch_ingress.sv (what belongs to a frame).

module ubl_switch_fcs #(
  /// Ports, 2..128.
  parameter int unsigned Radix = 16
) (
  /// Clock.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// Received flits.
  input  logic [Radix-1:0]     rx_valid_i,
  /// Data of each, byte 0 in the low bits.
  input  logic [Radix*512-1:0] rx_data_i,
  /// Their headers, one word per input (ubl_pkg::switch_rx_t).
  input  logic [Radix*32-1:0]  rx_i,
  /// What becomes of them, one word per input (ubl_pkg::switch_wr_t).
  input  logic [Radix*32-1:0]  wr_i,
  /// Any frame ended in the cycle before.
  input  logic                 ended_i,
  /// Which, one word per input (ubl_pkg::switch_end_t).
  input  logic [Radix*32-1:0]  end_i,
  /// Any flit is to be stomped.
  output logic                 stomp_any_o,
  /// Which, one word per input (ubl_pkg::switch_stomp_t).
  output logic [Radix*32-1:0]  stomp_o,
  /// Change of its FCS, one word per input.
  output logic [Radix*32-1:0]  stomp_data_o,
  /// Frames with a wrong FCS, {stomped before, found here} of each input.
  output logic [Radix*2-1:0]   err_o
);

  localparam int unsigned PortW = $clog2(Radix);
  localparam logic [31:0] Residue = 32'hDEBB_20E3;  // register behind a right FCS

  `include "ubl_crc32.svh"

  // The register behind a right FCS and n bytes of zeros, n = 0..15.
  function automatic logic [16*32-1:0] residues(input logic [31:0] residue);
    logic [31:0] x;
    x = residue;
    for (int unsigned n = 0; n < 16; n++) begin
      residues[n*32 +: 32] = x;
      for (int unsigned k = 0; k < 8; k++) begin
        x = {1'b0, x[31:1]} ^ (ubl_pkg::LinkCrc32Poly & {32{x[0]}});
      end
    end
  endfunction
  localparam logic [16*32-1:0] Residues = residues(Residue);

  // The register before `bytes` bytes of zeros.
  function automatic logic [31:0] crc_back(input logic [31:0] x, input int unsigned bytes);
    crc_back = x;
    for (int unsigned k = 0; k < 8 * bytes; k++) begin
      crc_back = {crc_back[30:0] ^ (ubl_pkg::LinkCrc32Poly[30:0] & {31{crc_back[31]}}),
                  crc_back[31]};
    end
  endfunction

  // Per input; the flit that closes a broken frame may come several times, so the register is kept
  // as it was before the last flit, too.
  logic [31:0] crc [1 << PortW];
  logic [31:0] crc_before [1 << PortW];

  // Words being worked on.
  /* verilator lint_off UNUSEDSIGNAL */  // not every field matters here
  ubl_pkg::switch_rx_t  rx;
  ubl_pkg::switch_wr_t  wr;
  /* verilator lint_on UNUSEDSIGNAL */
  ubl_pkg::switch_end_t last;

  /* verilator lint_off BLKSEQ */  // the tables are variables of this process
  always_ff @(posedge clk_i or negedge rst_ni) begin : p_fcs
    logic [31:0]  x, missing;
    logic [127:0] g;
    logic [5:0]   empty;
    logic         first;

    if (!rst_ni) begin
      stomp_any_o <= 1'b0;
      stomp_o <= '0;
      stomp_data_o <= '0;
      err_o <= '0;
    end else begin
      stomp_any_o <= 1'b0;
      if (stomp_any_o) begin
        stomp_o <= '0;
        err_o <= '0;
      end
      if (ended_i) begin
        for (int unsigned p = 0; p < Radix; p++) begin
          // --- A frame has ended: is it good? ---
          last = end_i[p*32 +: ubl_pkg::SwitchEndBits];
          if (last.valid) begin
            x = crc[p[PortW-1:0]] ^ Residues[{last.empty[3:0], 5'd0} +: 32];
            if (last.cut || x != '0) begin
              if (last.empty[0]) x = crc_back(x, 1);
              if (last.empty[1]) x = crc_back(x, 2);
              if (last.empty[2]) x = crc_back(x, 4);
              if (last.empty[3]) x = crc_back(x, 8);
              x = crc_back(x, 4);
              stomp_any_o <= 1'b1;
              stomp_o[p*32 +: 32] <= {14'd0, last.empty, last.slot, 1'b1};
              stomp_data_o[p*32 +: 32] <= ~x;
              // Of 1 to 3 bytes in the last flit, only these can have been stomped.
              missing = last.empty > 6'd60 ? ~32'd0 >> {6'd0 - last.empty, 3'd0} : 32'd0;
              if (!last.cut) err_o[p*2 +: 2] <= (x | missing) == ~32'd0 ? 2'b10 : 2'b01;
            end
          end
        end
      end
      if (rx_valid_i != '0) begin
        for (int unsigned p = 0; p < Radix; p++) begin
          // --- A flit arrives. ---
          if (rx_valid_i[p]) begin
            rx = rx_i[p*32 +: ubl_pkg::SwitchRxBits];
            wr = wr_i[p*32 +: ubl_pkg::SwitchWrBits];
            first = !wr.open && !wr.close;
            if (rx.sop || !first) begin
              x = first ? ~32'd0 : wr.open ? crc[p[PortW-1:0]] : crc_before[p[PortW-1:0]];
              crc_before[p[PortW-1:0]] = x;
              empty = 6'd0;
              if (first && rx.len == 7'd1) empty = rx.empty;
              if (!first && wr.last) empty = wr.empty;
              for (int unsigned q = 0; q < 4; q++) begin
                if (2'(q) <= ~empty[5:4]) begin
                  g = rx_data_i[p*512 + q*128 +: 128];
                  if (2'(q) == ~empty[5:4] && empty[3:0] != '0) begin
                    g = g & (~128'd0 >> {empty[3:0], 3'd0});
                  end
                  x = crc32_4(g[31:0] ^ x) ^ crc32_3(g[63:32]) ^ crc32_2(g[95:64]) ^
                      crc32_1(g[127:96]);
                end
              end
              crc[p[PortW-1:0]] = x;
            end
          end
        end
      end
    end
  end
  /* verilator lint_on BLKSEQ */

`include "ubl_assert.svh"
  `UBL_COVER(FoundHere, err_o[0])
  `UBL_COVER(StompedBefore, err_o[1])

endmodule
