// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Flit memory and crossbar of ubl_switch. Every received flit is written to the slot that its
// ingress allocated ahead (a dropped flit is overwritten by the next one); every flit that
// leaves is read by the ingress' slot number straight into the register of its output.
// Per input the memory has one write and two read ports, read before write.
//
// When the sink is not ready: cannot happen, a flit is read only when its credit is held.
//
// Frames granted with a mark get their ECN field set to CE on the way. The FCS of a frame found bad
// is changed in the memory, at the latest in the cycle in which it is read (bypass).
//
// Memory and marks are variables of one clocked process (blocking assignments, the memory written
// after all reads); the outputs are registers. A flit's data are copied once in and once out.

module ubl_switch_xbar #(
  /// Ports, 2..128.
  parameter int unsigned Radix = 16,
  /// Flits buffered per virtual channel and input.
  parameter int unsigned VcDepth = ubl_pkg::LinkVcDepth,
  /// Marks congestion.
  parameter bit EnableEcn = 1'b1
) (
  /// Clock.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// Flits received.
  input  logic [Radix-1:0]     rx_valid_i,
  /// Data of each.
  input  logic [Radix*512-1:0] rx_data_i,
  /// Slot of each, one word per input (ubl_pkg::switch_wr_t).
  input  logic [Radix*32-1:0]  wr_i,
  /// Any flit is to be stomped.
  input  logic                 stomp_any_i,
  /// Which, one word per input (ubl_pkg::switch_stomp_t).
  input  logic [Radix*32-1:0]  stomp_i,
  /// Change of its FCS, one word per input.
  input  logic [Radix*32-1:0]  stomp_data_i,
  /// Flits leaving, one word per input (ubl_pkg::switch_rd_t), read port 0.
  input  logic [Radix*32-1:0]  rd0_i,
  /// Read port 1.
  input  logic [Radix*32-1:0]  rd1_i,
  /// Flits sent.
  output logic [Radix-1:0]     tx_valid_o,
  /// {sop, eop, vc[1:0], empty[5:0]} of each.
  output logic [Radix*10-1:0]  tx_meta_o,
  /// Data of each.
  output logic [Radix*512-1:0] tx_data_o
);

  localparam int unsigned PortW = $clog2(Radix);
  localparam int unsigned SlotAw = $clog2(3 * VcDepth + 2);

  // One memory per input. Interleaved, so that slots in use (low numbers) lie together.
  logic [511:0] mem [1 << (SlotAw + PortW)];  // {slot, input}

  // The outputs are the registers themselves: another name would be one more copy of all data.

  // Congestion marks: ECT(0) becomes CE in the IP header of the first flit, the header checksum
  // follows (RFC 1624), and the FCS, which comes flits later, is changed by the CRC of the
  // difference. That is linear: a frame with a wrong checksum or FCS keeps it wrong.
  localparam int unsigned EcnByte = ubl_pkg::LinkEthBytes + 1;
  localparam int unsigned LenByte = ubl_pkg::LinkEthBytes + 2;
  localparam int unsigned SumByte = ubl_pkg::LinkEthBytes + 10;
  localparam int unsigned AtW = 14;
  logic [Radix-1:0] marked;              // outputs that send a marked frame
  logic [31:0]      delta [1 << PortW];  // change of its FCS
  ubl_pkg::switch_rd_t rd;               // flit being worked on
  logic [AtW-1:0]   fcs_at [1 << PortW]; // where its FCS begins, bytes from the next flit; signed
  logic [AtW-1:0]   fcs_pos [1 << PortW];   // the same from the start of the frame
  logic [15:0]      sum_diff [1 << PortW];  // change of its IP checksum, first byte in the low bits
  ubl_pkg::switch_stomp_t stomp;         // flit being stomped

  // Product modulo the CRC polynomial, bit 31 = x^0.
  function automatic logic [31:0] crc_mul(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] f, r;
    f = b;
    r = '0;
    for (int unsigned k = 0; k < 32; k++) begin
      if (a[31-k]) r = r ^ f;
      f = (f >> 1) ^ (f[0] ? ubl_pkg::LinkCrc32Poly : 32'd0);
    end
    crc_mul = r;
  endfunction

  // x^(8 * 2^k) for k = 0..12, 32 bits each.
  function automatic logic [13*32-1:0] crc_powers(input logic [31:0] x8);
    logic [31:0] power;
    power = x8;
    for (int unsigned k = 0; k < 13; k++) begin
      crc_powers[k*32 +: 32] = power;
      power = crc_mul(power, power);
    end
  endfunction
  localparam logic [13*32-1:0] Powers = crc_powers(32'h00800000);

  // Change of the FCS when byte EcnByte changes by 1 and the two bytes from SumByte on by `sum`
  // (first byte in the low bits); the FCS begins at byte `at`.
  function automatic logic [31:0] fcs_delta(input logic [15:0] sum, input logic [AtW-1:0] at);
    logic [31:0]    crc;
    logic [AtW-1:0] n;
    crc = 32'd1;
    for (int unsigned k = 0; k < 8 * (SumByte - EcnByte); k++) begin
      crc = (crc >> 1) ^ (crc[0] ? ubl_pkg::LinkCrc32Poly : 32'd0);
    end
    crc = crc ^ 32'(sum);
    for (int unsigned k = 0; k < 16; k++) begin
      crc = (crc >> 1) ^ (crc[0] ? ubl_pkg::LinkCrc32Poly : 32'd0);
    end
    // The bytes between are unchanged: multiply by x^(8 n).
    n = at - AtW'(SumByte + 2);
    for (int unsigned k = 0; k < 13; k++) begin
      if (n[k]) crc = crc_mul(crc, Powers[k*32 +: 32]);
    end
    fcs_delta = crc;
  endfunction

  /* verilator lint_off BLKSEQ */  // memory and marks are variables of this process, see above
  always_ff @(posedge clk_i or negedge rst_ni) begin : p_xbar
    logic [PortW-1:0]        out;
    logic [SlotAw+PortW-1:0] from;
    logic [15:0]             sum, new_sum;
    logic [AtW-1:0]          at, byte_at;
    logic [511:0]            word;

    if (!rst_ni) begin
      tx_valid_o <= '0;
      tx_meta_o <= '0;
      marked = '0;
    end else begin
      tx_valid_o <= '0;
      // Stomp: the bytes of the FCS that are in the last flit; nothing foreign behind the end.
      if (stomp_any_i) begin
        for (int unsigned i = 0; i < Radix; i++) begin
          stomp = stomp_i[i*32 +: ubl_pkg::SwitchStompBits];
          if (stomp.valid) begin
            from = {stomp.slot[SlotAw-1:0], PortW'(i)};
            word = mem[from] & (~512'd0 >> {stomp.empty, 3'd0});
            at = AtW'(60) - AtW'(stomp.empty);
            for (int unsigned b = 0; b < 4; b++) begin
              byte_at = at + AtW'(b);
              if (byte_at[AtW-1:6] == '0) begin
                word[{byte_at[5:0], 3'd0} +: 8] =
                    word[{byte_at[5:0], 3'd0} +: 8] ^ stomp_data_i[i*32 + b*8 +: 8];
              end
            end
            mem[from] = word;
          end
        end
      end
      for (int unsigned i = 0; i < Radix; i++) begin
        for (int unsigned r = 0; r < 2; r++) begin
          rd = r == 0 ? rd0_i[i*32 +: ubl_pkg::SwitchRdBits] : rd1_i[i*32 +: ubl_pkg::SwitchRdBits];
          if (rd.valid) begin
            out = rd.out[PortW-1:0];
            from = {rd.slot[SlotAw-1:0], PortW'(i)};
            tx_valid_o[out] <= 1'b1;
            tx_meta_o[32'(out)*10 +: 10] <= {rd.sop, rd.eop, rd.vc, rd.empty};
            tx_data_o[32'(out)*512 +: 512] <= mem[from];
            if (EnableEcn && (rd.mark || marked[out])) begin
              at = fcs_at[out];
              if (rd.mark) begin
                at = AtW'({mem[from][LenByte*8 +: 8], mem[from][LenByte*8+8 +: 8]}) +
                     AtW'(ubl_pkg::LinkEthBytes);
                sum = {mem[from][SumByte*8 +: 8], mem[from][SumByte*8+8 +: 8]};
                new_sum = sum == '0 ? 16'hfffe : sum - 16'd1;
                tx_data_o[32'(out)*512 + EcnByte*8 +: 2] <= 2'(ubl_pkg::EcnCe);
                tx_data_o[32'(out)*512 + SumByte*8 +: 16] <= {new_sum[7:0], new_sum[15:8]};
                sum = sum ^ new_sum;
                sum_diff[out] = {sum[7:0], sum[15:8]};
                fcs_pos[out] = at;
                delta[out] = fcs_delta(sum_diff[out], at);
              end
              // A frame that ends early has been stomped where its last flit ends. That must stay
              // the complement of the right FCS, which has changed by the CRC up to there.
              if (rd.eop && at != AtW'(60) - AtW'(rd.empty)) begin
                delta[out] = fcs_delta(sum_diff[out], fcs_pos[out] - at + AtW'(60));
                at = AtW'(60);
              end
              for (int unsigned b = 0; b < 4; b++) begin
                byte_at = at + AtW'(b);
                if (byte_at[AtW-1:6] == '0) begin
                  tx_data_o[32'(out)*512 + 32'(byte_at)*8 +: 8] <=
                      mem[from][{byte_at[5:0], 3'd0} +: 8] ^ delta[out][b*8 +: 8];
                end
              end
              fcs_at[out] = at - AtW'(64);
              marked[out] = !rd.eop;
            end
          end
        end
      end
      for (int unsigned i = 0; i < Radix; i++) begin
        if (rx_valid_i[i]) mem[{wr_i[i*32 +: SlotAw], PortW'(i)}] = rx_data_i[i*512 +: 512];
      end
    end
  end
  /* verilator lint_on BLKSEQ */

  // Every flit read appears on an output of its own.
  logic [8:0] reads, reads_q;
  always_comb begin : p_reads
    reads = '0;
    for (int unsigned i = 0; i < Radix; i++) reads = reads + 9'(rd0_i[i*32]) + 9'(rd1_i[i*32]);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) reads_q <= '0;
    else reads_q <= reads;
  end

`include "ubl_assert.svh"
  `UBL_ASSERT(OneFlitPerOutput, 9'($countones(tx_valid_o)) == reads_q)
  `UBL_COVER(AllOutputsBusy, tx_valid_o == '1)

endmodule
