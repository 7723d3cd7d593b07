// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside nic_completer: one CQ, any, with a ring of 2^F_LOG2 entries, and one entry of that ring, any, as the
// host sees it: whether it holds a completion not yet consumed, and the phase bit last written there.

`include "ubl_formal.svh"
`UBL_FORMAL_RESET

(* anyconst *) logic [CqW-1:0] f_cq;
logic [3:0] f_log2;
(* anyconst *) logic [15:0]    f_slot;
logic [15:0] f_ring, f_mask, f_prod, f_cons, f_last;
logic        f_ready_q;   // write_cq was done once
logic        f_unread_q;  // the entry holds a completion that the host has not consumed
logic        f_phase_q;   // phase bit of the entry; memory starts as zeros
logic        f_post, f_post_here, f_consume, f_gone;

assign f_log2 = `F_LOG2;
assign f_ring = 16'd1 << f_log2;
assign f_mask = f_ring - 16'd1;
assign f_prod = prod_mem[f_cq];
assign f_cons = cons_mem[f_cq];

// ------------------------------------------------------------------------------------ environment
always @(*) begin
  assume (f_slot <= f_mask);
  // nic_core: the configuration changes with cq_init_i only; the host sets rings up zeroed.
  if (cfg_idx_o == f_cq) assume (cfg_i.log2 == f_log2 && cfg_i.base == '0);
  if (cfg_idx_o == f_cq && !f_ready_q) assume (!cfg_i.valid);
  // The host consumes what was posted, in order.
  if (db_valid_i) assume (!cq_init_i);
  if (db_valid_i && db_cq_i == f_cq) assume ((db_cons_i - f_cons) <= (f_prod - f_cons));
  // The host interface answers what it was asked.
  if (issued_i) assume (iss_valid);
  if (wr_valid_i) assume (out_valid && out_level > (WrW+1)'(unused_iss_level));
end

assign f_post      = take && ok && cfg_idx_o == f_cq;
assign f_post_here = f_post && req_d.addr == ({48'd0, f_slot} << 6);
assign f_consume   = db_valid_i && db_cq_i == f_cq;
// The entry is among those from the old consumer index up to the new one.
assign f_gone = f_consume && ((f_slot - f_cons) & f_mask) < (db_cons_i - f_cons);

always @(posedge clk_i) begin
  if (!rst_ni) begin
    f_ready_q <= 1'b0;
  end else if (cq_init_i && cq_init_idx_i == f_cq) begin
    f_ready_q  <= 1'b1;
    f_unread_q <= 1'b0;
    f_phase_q  <= 1'b0;
  end else if (f_ready_q) begin
    if (f_gone) f_unread_q <= 1'b0;
    if (f_post_here) begin
      f_unread_q <= 1'b1;
      f_phase_q  <= cqe.phase;
    end
  end
end

// -------------------------------------------------------------------------------------- properties
// Index of the last entry that went, or would have gone, to this place.
assign f_last = f_prod - 16'd1 - ((f_prod - 16'd1 - f_slot) & f_mask);

always @(posedge clk_i) if (f_init_q && rst_ni && f_ready_q) begin
  // An unread entry is never overwritten, and every entry that is written has the other phase.
  if (f_post_here) a_overwrite: assert (!f_unread_q);
  if (f_post_here) a_phase: assert (cqe.phase == !f_phase_q);
  // The phase is the parity of the pass: 1 in the first one.
  if (f_post) a_parity: assert (cqe.phase == !(|(f_prod & f_ring)));
  if (f_post) a_in_ring: assert (req_d.addr <= ({48'd0, f_mask} << 6));
  a_count:  assert ((f_prod - f_cons) <= f_ring);
  // What makes them inductive.
  a_unread: assert (f_unread_q == (((f_slot - f_cons) & f_mask) < (f_prod - f_cons)));
  a_parity_kept: assert (f_phase_q == !(|(f_last & f_ring)));
  c_full:   cover (f_prod == f_cons + f_ring);
  c_second: cover (f_post_here && f_phase_q);
end

// The assertions of the module itself need room in queues.
always @(posedge clk_i) if (f_init_q && rst_ni) begin
  a_notes:  assert (5'(note_level) + 5'(unused_iss_level) <= 5'd7);
  a_errors: assert ((WrW+2)'(err_level) + (WrW+2)'(out_level) <= (WrW+2)'(MaxWrites - 1));
  a_issued: assert (out_level >= (WrW+1)'(unused_iss_level));
end
