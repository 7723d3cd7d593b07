// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes completions: one ordered stream of 64-byte entries into completion rings in host memory,
// each followed by an MSI-X request where the CQ asks for it. A full (or missing) CQ never
// overwrites an unread entry: the overflow is logged and the QP fails. When the DMA request is not
// taken, the queues in front of this block fill and the engines behind them wait.
// See also: nic_core.md.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_completer #(
  /// Completion queues, a power of two.
  parameter int unsigned NumCq = 64,
  /// Completion writes in flight, a power of two, at most 64.
  parameter int unsigned MaxWrites = 64,
  /// CQ index width, do not overwrite.
  localparam int unsigned CqW = $clog2(NumCq),
  /// Write tag width, do not overwrite.
  localparam int unsigned WrW = $clog2(MaxWrites)
) (
  /// Clock.
  input  logic clk_i,
  /// Reset, active low.
  input  logic rst_ni,

  /// Forget the ring position of CQ cq_init_idx_i.
  input  logic           cq_init_i,
  /// Its index.
  input  logic [CqW-1:0] cq_init_idx_i,
  /// Consumer doorbell, never in a cycle with cq_init_i.
  input  logic           db_valid_i,
  /// CQ.
  input  logic [CqW-1:0] db_cq_i,
  /// Consumer index.
  input  logic [15:0]    db_cons_i,

  /// CQ the event reads.
  output logic [CqW-1:0]       cfg_idx_o,
  /// Its configuration.
  input  nic_core_pkg::cqcfg_t cfg_i,

  /// Send completion.
  input  logic               snd_valid_i,
  /// The completion.
  input  nic_core_pkg::cpl_t snd_i,
  /// Taken.
  output logic               snd_ready_o,
  /// Receive completion.
  input  logic               rcv_valid_i,
  /// The completion.
  input  nic_core_pkg::cpl_t rcv_i,
  /// Taken.
  output logic               rcv_ready_o,

  /// DMA request (write or MSI-X).
  output logic               req_valid_o,
  /// The request.
  output ubl_pkg::dma_req_t  req_o,
  /// Taken into the output register.
  input  logic               req_ready_i,
  /// A completion write was accepted by the host interface.
  input  logic               issued_i,
  /// A write response.
  input  logic               wr_valid_i,
  /// Refused.
  input  logic               wr_err_i,

  /// Outcome of a receive completion.
  output logic                note_valid_o,
  /// The outcome.
  output nic_core_pkg::note_t note_o,
  /// Taken.
  input  logic                note_ready_i,
  /// QP to be moved to error.
  output logic                 err_valid_o,
  /// Which.
  output nic_core_pkg::errev_t err_o,
  /// Taken.
  input  logic                 err_ready_i,
  /// Error log entry: CQ overflow.
  output logic                 log_valid_o,
  /// The entry.
  output nic_core_pkg::log_t   log_o,
  /// Error log entry: write refused.
  output logic                 wlog_valid_o,
  /// The entry.
  output nic_core_pkg::log_t   wlog_o,
  /// A completion was handed to the DMA.
  output logic                 cnt_cqe_o,
  /// Something would happen without new input.
  output logic                 busy_o
);

  localparam int unsigned IssDepth = 4;
  localparam int unsigned NoteBits = nic_core_pkg::NoteBits;
  localparam int unsigned ErrBits = nic_core_pkg::ErrevBits;

  logic [15:0] prod_mem [NumCq];
  logic [15:0] cons_mem [NumCq];

  logic turn_q, req_valid_q, msix_q;
  ubl_pkg::dma_req_t req_q;
  logic [15:0] vector_q;
  logic [WrW-1:0] tag_q;

  logic take, sel_rcv, full, ok;
  nic_core_pkg::cpl_t c;
  logic [15:0] prod, cons, ring_mask;
  ubl_pkg::cqe_t cqe;
  ubl_pkg::dma_req_t req_d;

  // Writes accepted by the out register but not yet by the host interface.
  logic iss_ready, iss_valid, iss_rcv;
  nic_core_pkg::note_t iss_note;
  logic [2:0] unused_iss_level;
  // Writes without a response, oldest first.
  logic out_ready, out_valid;
  nic_core_pkg::errev_t out_ev;
  logic [WrW:0] out_level, err_level;
  logic err_push, unused_err_in_ready;
  nic_core_pkg::errev_t err_ev;
  logic note_push, note_in_ready;
  nic_core_pkg::note_t note_d;
  logic [3:0] note_level;

  // Every write in flight may turn into an error event, so it keeps a place for it.
  assign take = (snd_valid_i | rcv_valid_i) & ~req_valid_q & ~msix_q & iss_ready & out_ready &
                ~cq_init_i & ~wr_valid_i & ~issued_i &
                ((err_level + out_level) < (WrW+1)'(MaxWrites - 1)) &
                note_in_ready & (note_level < 4'd4);
  assign sel_rcv     = rcv_valid_i & (~snd_valid_i | turn_q);
  assign c           = sel_rcv ? rcv_i : snd_i;
  assign snd_ready_o = take & ~sel_rcv;
  assign rcv_ready_o = take & sel_rcv;
  assign cfg_idx_o   = c.cq[CqW-1:0];
  assign prod        = prod_mem[cfg_idx_o];
  assign cons        = cons_mem[cfg_idx_o];
  assign full        = (prod - cons) >= (16'd1 << cfg_i.log2);
  assign ok          = cfg_i.valid & ~full;
  assign ring_mask   = (16'd1 << cfg_i.log2) - 16'd1;

  always_comb begin
    cqe          = '0;
    cqe.phase    = ~prod[cfg_i.log2];
    cqe.psn      = c.psn;
    cqe.sq_head  = c.sq_head;
    cqe.recv     = c.recv;
    cqe.status   = c.status;
    cqe.opcode   = c.opcode;
    cqe.imm      = c.imm;
    cqe.byte_len = c.byte_len;
    cqe.qpn      = 32'(c.qpn);
    cqe.wr_id    = c.wr_id;
    req_d      = '0;
    req_d.kind = ubl_pkg::DmaKindWrite;
    req_d.tag  = {2'b11, 8'(tag_q)};
    req_d.addr = cfg_i.base + ({48'd0, prod & ring_mask} << ubl_pkg::NicCqeShift);
    req_d.len  = 7'd64;
    req_d.data = 512'(cqe);
    if (msix_q) begin
      req_d      = '0;
      req_d.kind = ubl_pkg::DmaKindMsix;
      req_d.tag  = 10'h3ff;
      req_d.addr = 64'(vector_q);
      req_d.len  = 7'd4;
    end
  end

  ubl_fifo #(.Width(NoteBits + 1), .Depth(IssDepth)) u_issue (
    .clk_i, .rst_ni,
    .in_valid_i(take & ok), .in_data_i({c.recv, c.qpn, c.epoch, 1'b0, c.psn}),
    .in_ready_o(iss_ready),
    .out_valid_o(iss_valid), .out_data_o({iss_rcv, iss_note}), .out_ready_i(issued_i),
    .count_o(unused_iss_level)
  );

  ubl_fifo #(.Width(ErrBits), .Depth(MaxWrites)) u_out (
    .clk_i, .rst_ni,
    .in_valid_i(take & ok), .in_data_i({c.qpn, c.epoch}), .in_ready_o(out_ready),
    .out_valid_o(out_valid), .out_data_o(out_ev), .out_ready_i(wr_valid_i),
    .count_o(out_level)
  );

  // take excludes issued_i and wr_valid_i, so one push at a time is enough.
  assign note_push = (issued_i & iss_valid & iss_rcv) | (take & ~ok & c.recv);
  always_comb begin
    note_d = iss_note;
    if (!issued_i) note_d = {c.qpn, c.epoch, 1'b1, c.psn};
  end
  ubl_fifo #(.Width(NoteBits), .Depth(8)) u_note (
    .clk_i, .rst_ni,
    .in_valid_i(note_push), .in_data_i(note_d), .in_ready_o(note_in_ready),
    .out_valid_o(note_valid_o), .out_data_o(note_o), .out_ready_i(note_ready_i),
    .count_o(note_level)
  );

  assign err_push = (wr_valid_i & wr_err_i) | (take & ~ok);
  assign err_ev   = wr_valid_i ? out_ev : {c.qpn, c.epoch};
  ubl_fifo #(.Width(ErrBits), .Depth(MaxWrites)) u_err (
    .clk_i, .rst_ni,
    .in_valid_i(err_push), .in_data_i(err_ev), .in_ready_o(unused_err_in_ready),
    .out_valid_o(err_valid_o), .out_data_o(err_o), .out_ready_i(err_ready_i),
    .count_o(err_level)
  );

  always_comb begin
    log_o        = '0;
    log_o.cause  = ubl_pkg::ErrCauseCqOverflow;
    log_o.qpn    = c.qpn;
    log_o.psn    = c.psn;
    wlog_o       = '0;
    wlog_o.cause = ubl_pkg::ErrCauseDma;
    wlog_o.qpn   = out_ev.qpn;
  end
  assign log_valid_o  = take & ~ok;
  assign wlog_valid_o = wr_valid_i & wr_err_i & out_valid;
  assign cnt_cqe_o    = take & ok;

  always_ff @(posedge clk_i) begin
    if (cq_init_i) prod_mem[cq_init_idx_i] <= '0;
    else if (take && ok) prod_mem[cfg_idx_o] <= prod + 16'd1;
    if (cq_init_i) cons_mem[cq_init_idx_i] <= '0;
    else if (db_valid_i) cons_mem[db_cq_i] <= db_cons_i;
    if ((take && ok) || (msix_q && !req_valid_q)) req_q <= req_d;
    if (take && ok) vector_q <= cfg_i.msix;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q      <= 1'b0;
      req_valid_q <= 1'b0;
      msix_q      <= 1'b0;
      tag_q       <= '0;
    end else begin
      if (take) turn_q <= ~sel_rcv;
      if ((take && ok) || (msix_q && !req_valid_q)) req_valid_q <= 1'b1;
      else if (req_ready_i) req_valid_q <= 1'b0;
      if (take && ok) msix_q <= cfg_i.irq_en;
      else if (!req_valid_q) msix_q <= 1'b0;
      if (take && ok) tag_q <= tag_q + 1'b1;
    end
  end

  assign req_valid_o = req_valid_q;
  assign req_o       = req_q;
  // Completions held back by an unanswered write wait for that input.
  assign busy_o = req_valid_q | msix_q | note_valid_o | err_valid_o |
                  ((snd_valid_i | rcv_valid_i) & iss_ready & out_ready);

  logic unused_cq;
  assign unused_cq = ^c.cq;

  `UBL_ASSERT(note_room, !note_push || note_in_ready)
  `UBL_ASSERT(err_room, !err_push || unused_err_in_ready)
  `UBL_ASSERT(write_response_expected, !wr_valid_i || out_valid)
  `UBL_ASSERT(issue_order, !issued_i || iss_valid)
  `UBL_ASSERT(ring_pointers, !(take && ok) || (prod - cons) < (16'd1 << cfg_i.log2))
  `UBL_COVER(overflow, take && !ok)
  `UBL_COVER(both_sides, snd_valid_i && rcv_valid_i)

endmodule
