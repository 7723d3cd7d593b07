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
// The memory is a variable of the clocked process (blocking assignment, after all reads), the
// outputs are registers. A flit's data are copied once in and once out.

module ubl_switch_xbar #(
  /// Ports, 2..128.
  parameter int unsigned Radix = 16,
  /// Flits buffered per virtual channel and input.
  parameter int unsigned VcDepth = ubl_pkg::LinkVcDepth
) (
  /// Clock.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// Flits received.
  input  logic [Radix-1:0]     rx_valid_i,
  /// Data of each.
  input  logic [Radix*512-1:0] rx_data_i,
  /// Slot of each, one word per input.
  input  logic [Radix*32-1:0]  wr_slot_i,
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

  logic [511:0] mem [1 << (PortW + SlotAw)];

  // The outputs are the registers themselves: another name would be one more copy of all data.

  logic unused_mark;
  assign unused_mark = ^{rd0_i, rd1_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin : p_xbar
    ubl_pkg::switch_rd_t rd;
    if (!rst_ni) begin
      tx_valid_o <= '0;
      tx_meta_o <= '0;
    end else begin
      tx_valid_o <= '0;
      for (int unsigned i = 0; i < Radix; i++) begin
        for (int unsigned r = 0; r < 2; r++) begin
          rd = r == 0 ? rd0_i[i*32 +: ubl_pkg::SwitchRdBits] : rd1_i[i*32 +: ubl_pkg::SwitchRdBits];
          if (rd.valid) begin
            tx_valid_o[rd.out[PortW-1:0]] <= 1'b1;
            tx_meta_o[32'(rd.out)*10 +: 10] <= {rd.sop, rd.eop, rd.vc, rd.empty};
            tx_data_o[32'(rd.out)*512 +: 512] <= mem[{PortW'(i), rd.slot[SlotAw-1:0]}];
          end
        end
      end
      for (int unsigned i = 0; i < Radix; i++) begin
        if (rx_valid_i[i]) begin
          /* verilator lint_off BLKSEQ */  // memory of this process only, written after the reads
          mem[{PortW'(i), wr_slot_i[i*32 +: SlotAw]}] = rx_data_i[i*512 +: 512];
          /* verilator lint_on BLKSEQ */
        end
      end
    end
  end

endmodule
