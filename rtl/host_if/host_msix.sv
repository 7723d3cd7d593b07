// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0

// MSI-X table, pending bits, and the choice of the next pending interrupt to send.
//
// A raise of a masked vector (or with bus mastering off) sets its pending bit; as soon as the
// vector is unmasked and bus mastering is on, it is offered at fire_*. The pending bit is cleared
// by fire_ack_i, in the cycle in which the message enters the output register. Setting wins over
// clearing, so a raise is never lost. Several raises of a masked vector are one message.
//
// Messages are three words in memories; a word that was not written since reset reads as zero.
// Bits 1:0 of a message address are always zero, reserved control bits too.
//
// See also: host_dma, which owns the order of messages and other host accesses.
`include "ubl_assert.svh"

module host_msix (
  /// Clock.
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  /// Host access: vector, word of the entry (0 addr_lo, 1 addr_hi, 2 data, 3 ctrl), write strobe.
  input  logic [5:0]  vec_i,
  input  logic [1:0]  word_i,
  input  logic        we_i,
  input  logic [31:0] wdata_i,
  /// Word selected by vec_i and word_i (same cycle).
  output logic [31:0] rdata_o,
  /// Pending bits.
  output logic [63:0] pba_o,

  /// Vector asked about by host_dma.
  input  logic [5:0]  query_vec_i,
  /// Its mask bit, message address and data (same cycle).
  output logic        query_masked_o,
  output logic [63:0] query_addr_o,
  output logic [31:0] query_data_o,

  /// Set the pending bit of query_vec_i.
  input  logic        pend_i,
  /// An unmasked vector is pending: the lowest such vector.
  output logic        fire_valid_o,
  output logic [5:0]  fire_vec_o,
  /// Clear the pending bit of fire_vec_o: its message leaves.
  input  logic        fire_ack_i
);

  localparam int unsigned NumVec = ubl_pkg::HostNumMsix;

  // The index encoder below is written for 64 vectors.
  `UBL_ASSERT_INIT(SixtyFourVectors, NumVec == 64)

  localparam logic [1:0] WordAddrLo = 2'd0;
  localparam logic [1:0] WordAddrHi = 2'd1;
  localparam logic [1:0] WordData   = 2'd2;

  logic [63:0] mask_q, pend_q;
  logic [63:0] lo_set_q, hi_set_q, data_set_q;  // word written since reset
  logic [29:0] lo_mem   [NumVec];
  logic [31:0] hi_mem   [NumVec];
  logic [31:0] data_mem [NumVec];

  // ------------------------------------------------------------------------------- host access
  always_comb begin
    unique case (word_i)
      WordAddrLo: rdata_o = lo_set_q[vec_i] ? {lo_mem[vec_i], 2'b00} : '0;
      WordAddrHi: rdata_o = hi_set_q[vec_i] ? hi_mem[vec_i] : '0;
      WordData:   rdata_o = data_set_q[vec_i] ? data_mem[vec_i] : '0;
      default:    rdata_o = {31'h0, mask_q[vec_i]};
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (we_i && word_i == WordAddrLo) lo_mem[vec_i] <= wdata_i[31:2];
    if (we_i && word_i == WordAddrHi) hi_mem[vec_i] <= wdata_i;
    if (we_i && word_i == WordData) data_mem[vec_i] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mask_q     <= '1;
      lo_set_q   <= '0;
      hi_set_q   <= '0;
      data_set_q <= '0;
    end else if (we_i) begin
      unique case (word_i)
        WordAddrLo: lo_set_q[vec_i] <= 1'b1;
        WordAddrHi: hi_set_q[vec_i] <= 1'b1;
        WordData:   data_set_q[vec_i] <= 1'b1;
        default:    mask_q[vec_i] <= wdata_i[ubl_pkg::RegMsixCtrlMaskLsb];
      endcase
    end
  end

  // ------------------------------------------------------------------------------------- query
  assign query_masked_o = mask_q[query_vec_i];
  assign query_addr_o   = {hi_set_q[query_vec_i] ? hi_mem[query_vec_i] : 32'h0,
                           lo_set_q[query_vec_i] ? {lo_mem[query_vec_i], 2'b00} : 32'h0};
  assign query_data_o   = data_set_q[query_vec_i] ? data_mem[query_vec_i] : '0;

  // ----------------------------------------------------------------------------------- pending
  logic [63:0] ready;  // pending and unmasked
  logic [63:0] first;  // lowest of them, one-hot
  logic [63:0] pend_set, pend_clr;

  assign ready        = pend_q & ~mask_q;
  assign first        = ready & (~ready + 64'd1);
  assign fire_valid_o = ready != '0;
  assign fire_vec_o   = {|(first & 64'hFFFF_FFFF_0000_0000), |(first & 64'hFFFF_0000_FFFF_0000),
                         |(first & 64'hFF00_FF00_FF00_FF00), |(first & 64'hF0F0_F0F0_F0F0_F0F0),
                         |(first & 64'hCCCC_CCCC_CCCC_CCCC), |(first & 64'hAAAA_AAAA_AAAA_AAAA)};

  assign pend_set = pend_i ? 64'd1 << query_vec_i : '0;
  assign pend_clr = fire_ack_i ? first : '0;
  assign pba_o    = pend_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) pend_q <= '0;
    else         pend_q <= (pend_q & ~pend_clr) | pend_set;
  end

  `UBL_ASSERT(FireOneHot, $onehot0(first))
  `UBL_ASSERT(AckOnlyFire, !fire_ack_i || fire_valid_o)
  `UBL_ASSERT(FireNotMasked, !fire_valid_o || (pend_q[fire_vec_o] && !mask_q[fire_vec_o]))

endmodule
