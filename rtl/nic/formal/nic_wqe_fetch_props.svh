// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside nic_wqe_fetch, FIFOs as black boxes: one QP, any, with a ring at address 0 of
// 1 to 2^F_LOG2 entries. The host writes into every ring entry its number, counted from write_qp; the
// consumer must get the entries in the order of these numbers. The other QPs do anything.

`include "ubl_formal.svh"
`UBL_FORMAL_RESET

(* anyconst *) logic [QpW-1:0] f_qp;
(* anyconst *) logic [3:0]     f_log2;
(* anyseq *) logic [15:0] f_epoch_next;
(* anyseq *) logic [15:0] f_head_next;
(* anyseq *) logic        f_take;        // the consumer takes an entry

logic [15:0] f_ring, f_mask;
logic [15:0] f_head_q, f_emit_q, f_epoch_q;
logic [15:0] f_clear_q;                  // indices cleared after reset
logic        f_on;                       // all are
logic [15:0] f_tail, f_fetch;
logic [3:0]  f_gen;
logic        f_arrived, f_init;

// Where a tag is: asked for (rd_valid_q), with the memory, or in the response buffer.
logic [NumTags-1:0] f_mem_q, f_buf_q, f_out, f_own_q, f_err_q, f_live;
logic [15:0]        f_off_q [NumTags];   // ring entry that was asked for
logic [15:0]        f_val_q [NumTags];   // the number found there
logic [15:0]        f_idx [NumTags];

// Loops; short when yosys reads the module before it knows the parameters.
localparam int unsigned LoopQp   = NumQp > 8 ? 1 : NumQp;
localparam int unsigned LoopTags = NumTags > 8 ? 1 : NumTags;
localparam int unsigned NumClear = NumTags > NumQp ? NumTags : NumQp;
assign f_ring    = 16'd1 << f_log2;
assign f_mask    = f_ring - 16'd1;
assign f_on      = f_clear_q == 16'(NumClear);
assign f_tail    = ctl_mem[f_qp][32:17];
assign f_fetch   = ctl_mem[f_qp][16:1];
assign f_gen     = slot_mem[f_qp][3:0];
assign f_arrived = f_gen[f_emit_q[1:0]] == ~f_emit_q[2];
assign f_init    = is_init && init_idx_i[QpW-1:0] == f_qp;

// ------------------------------------------------------------------------------------ environment
// Number in a ring entry: of the last one posted there.
logic [15:0] f_place, f_number;
assign f_place  = f_off_q[rr_tag_i];
assign f_number = f_tail - 16'd1 - ((f_tail - 16'd1 - f_place) & f_mask);

always @(*) begin
  // nic_csr clears every index after reset.
  if (!f_on) assume (init_valid_i && init_kind_i == nic_core_pkg::InitClear && init_idx_i == f_clear_q);
  else assume (!init_valid_i || init_kind_i != nic_core_pkg::InitClear);
  assume (f_log2 <= 4'd`F_LOG2);
  if (is_init) assume (32'(init_idx_i) < NumQp);
  if (ctl_idx_o == f_qp) begin
    assume ((Recv ? ctl_cfg_i.rq_log2 : ctl_cfg_i.sq_log2) == f_log2);
    assume ((Recv ? ctl_cfg_i.rq_base : ctl_cfg_i.sq_base) == 64'd0);
    assume (ctl_cfg_i.epoch == f_epoch_q && ctl_head_i == f_head_q && ctl_emit_i == f_emit_q);
  end else begin
    assume ((Recv ? ctl_cfg_i.rq_base : ctl_cfg_i.sq_base) == 64'h1_0000_0000);
  end
  if (rsp_idx_o == f_qp) assume (rsp_cfg_i.epoch == f_epoch_q);
  // The consumer takes what arrived; entries are completed after that, in order.
  if (f_take) assume (f_on && f_arrived && !init_valid_i);
  assume ((f_head_next - f_head_q) <= (f_emit_q - f_head_q));
  // Memory answers what it was asked, the response buffer gives what it got, both in any order.
  if (rr_valid_i) assume (f_mem_q[rr_tag_i]);
  if (rr_valid_i && f_own_q[rr_tag_i]) assume (raw_wr_id == f_number);
  if (rb_valid) assume (f_buf_q[rb_tag] && rb_err == f_err_q[rb_tag] && raw.wr_id[15:0] == f_val_q[rb_tag]);
end
ubl_pkg::wqe_t raw_in;
logic [15:0] raw_wr_id;
assign raw_in    = ubl_pkg::wqe_t'(rr_data_i);
assign raw_wr_id = raw_in.wr_id[15:0];

always @(posedge clk_i) begin
  if (!rst_ni) begin
    f_clear_q <= '0;
    f_mem_q   <= '0;
    f_buf_q   <= '0;
    f_head_q  <= '0;
    f_emit_q  <= '0;
  end else begin
    if (!f_on) f_clear_q <= f_clear_q + 16'd1;
    if (f_init) begin
      f_head_q  <= '0;
      f_emit_q  <= '0;
      f_epoch_q <= f_epoch_next;
    end else begin
      f_head_q <= f_head_next;
      if (f_take) f_emit_q <= f_emit_q + 16'd1;
    end
    if (rd_valid_o && rd_ready_i) begin
      f_mem_q[rd_tag_o] <= 1'b1;
      f_own_q[rd_tag_o] <= rd_addr_o[63:22] == '0;
      f_off_q[rd_tag_o] <= rd_addr_o[21:6];
    end
    if (rr_valid_i) begin
      f_mem_q[rr_tag_i] <= 1'b0;
      f_buf_q[rr_tag_i] <= 1'b1;
      f_err_q[rr_tag_i] <= rr_err_i;
      f_val_q[rr_tag_i] <= raw_wr_id;
    end
    if (rb_take) f_buf_q[rb_tag] <= 1'b0;
  end
end

// -------------------------------------------------------------------------------------- properties
logic [NumTags-1:0] f_free_at [NumTags]; // [position][tag]
for (genvar p = 0; p < LoopTags; p++) begin : gen_f_free
  for (genvar t = 0; t < LoopTags; t++) begin : gen_f_tag
    assign f_free_at[p][t] = TagW'(TagW'(p) - free_rd_q[TagW-1:0]) < (free_wr_q - free_rd_q)
                             && free_mem[p] == TagW'(t);
  end
end

for (genvar t = 0; t < LoopTags; t++) begin : gen_f_tags
  logic [TagBits-1:0] mine;
  logic [3:0] places;
  always @(*) begin
    places = 4'(rd_valid_q && rd_tag_q == TagW'(t)) + 4'(f_mem_q[t]) + 4'(f_buf_q[t]);
    for (int unsigned p = 0; p < LoopTags; p++) places = places + 4'(f_free_at[p][t]);
  end
  assign mine      = tag_mem[t];
  assign f_out[t]  = f_mem_q[t] || f_buf_q[t] || (rd_valid_q && rd_tag_q == TagW'(t));
  assign f_live[t] = f_out[t] && mine[31+QpW:32] == f_qp && mine[15:0] == f_epoch_q;
  assign f_idx[t]  = mine[31:16];
  // Epochs come back after 65,536 write_qp only.
  always @(*) if (f_init && f_out[t]) assume (mine[15:0] != f_epoch_next);

  always @(posedge clk_i) if (f_init_q && rst_ni && f_on) begin
    // A tag is in one place: free, asked for, with the memory or in the response buffer.
    assert (places == 4'(1));
    // What makes the rest inductive: the right ring entry was asked for, and its number was found.
    if (f_live[t]) begin
      assert ((f_idx[t] - f_emit_q) < (f_fetch - f_emit_q));
      assert (!(rd_valid_q && rd_tag_q == TagW'(t)) || rd_addr_q == {42'd0, f_idx[t] & f_mask, 6'd0});
      assert (!f_mem_q[t] || (f_own_q[t] && f_off_q[t] == (f_idx[t] & f_mask)));
      assert (!f_buf_q[t] || f_err_q[t] || f_val_q[t] == f_idx[t]);
    end
  end
end

// (Assertions of a loop cannot have names.)
// The four entries from the consumer's on: stored, or to come under one tag, or not yet asked for.
for (genvar k = 0; k < 4; k++) begin : gen_f_slots
  logic [15:0] idx;
  logic [WentBits-1:0] went_k;
  logic [NumTags-1:0] coming;
  logic here, asked;
  assign idx    = f_emit_q + {14'd0, 2'(2'(k) - f_emit_q[1:0])};
  assign here   = f_gen[k] == ~idx[2];
  assign asked  = (idx - f_emit_q) < (f_fetch - f_emit_q);
  assign went_k = wqe_mem[{f_qp, 2'(k)}];
  always @(*) for (int unsigned t = 0; t < LoopTags; t++) coming[t] = f_live[t] && f_idx[t] == idx;

  always @(posedge clk_i) if (f_init_q && rst_ni && f_on) begin
    assert (!here || coming == '0);
    assert ((coming & (coming - 1'b1)) == '0);
    assert ((here || coming != '0) == asked);
    assert (!here || went_k[WentBits-1] || went_k[15:0] == idx);
  end
end

// A QP is in the fetch queue once, or not at all.
for (genvar i = 0; i < LoopQp; i++) begin : gen_f_queue
  logic [3:0] times;
  always @(*) begin
    times = '0;
    for (int unsigned p = 0; p < LoopQp; p++) begin
      times = times + 4'(QpW'(QpW'(p) - fq_rd_q[QpW-1:0]) < (fq_wr_q - fq_rd_q) && fq_mem[p] == QpW'(i));
    end
  end
  always @(posedge clk_i) if (f_init_q && rst_ni && f_on)
    assert (times == 4'(ctl_mem[i][0]));
end

always @(posedge clk_i) if (f_init_q && rst_ni && f_on) begin
  a_in_ring:   assert ((f_tail - f_head_q) <= f_ring);
  a_not_past:  assert ((f_fetch - f_head_q) <= (f_tail - f_head_q));
  a_behind:    assert ((f_emit_q - f_head_q) <= (f_fetch - f_head_q));
  a_ahead:     assert ((f_fetch - f_emit_q) <= 16'd4);
  a_free:      assert ((free_wr_q - free_rd_q) <= (TagW+1)'(NumTags));
  a_queue:     assert ((fq_wr_q - fq_rd_q) <= (QpW+1)'(NumQp));
  // What the consumer finds is the entry it waits for, or word of its failure.
  if (slot_idx_i == f_qp && wqe_slot_i == f_emit_q[1:0] && slot_gen_o[f_emit_q[1:0]] == ~f_emit_q[2])
    a_order:   assert (wqe_o.err || wqe_o.wr_id[15:0] == f_emit_q);
  // A slot is overwritten when its entry is consumed.
  if (fresh && tg.q == f_qp)
    a_store:   assert ((tg.idx - f_emit_q) < 16'd4 && f_gen[tg.idx[1:0]] != ~tg.idx[2]);
  c_ahead:     cover ((f_fetch - f_emit_q) == (f_ring < 16'd4 ? f_ring : 16'd4));
  c_stale:     cover (rb_take && tg.q == f_qp && !fresh);
  c_order:     cover (fresh && tg.q == f_qp && tg.idx != f_emit_q && !f_arrived);
end

// Before the indices are cleared nothing happens.
for (genvar p = 0; p < LoopTags; p++) begin : gen_f_cleared
  always @(posedge clk_i) if (f_init_q && rst_ni && !f_on && 16'(p) < f_clear_q)
    assert (free_mem[p] == TagW'(p));
end
for (genvar i = 0; i < LoopQp; i++) begin : gen_f_zero
  always @(posedge clk_i) if (f_init_q && rst_ni && !f_on && 16'(i) < f_clear_q)
    assert (ctl_mem[i] == '0 && slot_mem[i] == '0);
end
always @(posedge clk_i) if (f_init_q && rst_ni) begin
  a_clearing: assert (f_clear_q <= 16'(NumClear));
  if (!f_on) a_quiet: assert (!rd_valid_q && f_mem_q == '0 && f_buf_q == '0 && fq_wr_q == '0 && fq_rd_q == '0
      && free_rd_q == '0 && free_wr_q == (TagW+1)'(NumTags) && f_head_q == '0 && f_emit_q == '0);
end
