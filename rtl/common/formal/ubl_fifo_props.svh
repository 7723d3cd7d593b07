// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside ubl_fifo: a count of our own, and one word, any, that is followed from its entry to its
// exit. It must leave after as many others as were before it, unchanged.

`include "ubl_formal.svh"
`UBL_FORMAL_RESET

(* anyseq *) logic f_pick;
logic             f_in_q;
logic [Width-1:0] f_word_q;
// Words in the FIFO; words that leave before ours.
logic [CountW:0]  f_count_q, f_before_q;
logic             f_came, f_went;

assign f_came = in_valid_i && in_ready_o;
assign f_went = out_valid_o && out_ready_i;

always @(posedge clk_i) begin
  if (!rst_ni) begin
    f_in_q    <= 1'b0;
    f_count_q <= '0;
  end else begin
    f_count_q <= f_count_q + (CountW+1)'(f_came) - (CountW+1)'(f_went);
    if (f_in_q) begin
      if (f_went && f_before_q == '0) f_in_q <= 1'b0;
      if (f_went) f_before_q <= f_before_q - 1'b1;
    end else if (f_came && f_pick) begin
      f_in_q     <= 1'b1;
      f_word_q   <= in_data_i;
      f_before_q <= f_count_q - (CountW+1)'(f_went);
    end
  end
end

always @(posedge clk_i) if (f_init_q) begin
  a_ready: assert (in_ready_o == (f_count_q != (CountW+1)'(Depth)));
  a_valid: assert (out_valid_o == (f_count_q != '0));
  a_count: assert ((CountW+1)'(count_o) == f_count_q);
  a_range: assert (f_count_q <= (CountW+1)'(Depth));
  if (f_in_q) a_there: assert (f_before_q < f_count_q);
  if (f_in_q && f_before_q == '0) a_word: assert (out_data_o == f_word_q);
  c_full: cover (rst_ni && f_count_q == (CountW+1)'(Depth) && in_valid_i);
  c_last: cover (rst_ni && f_in_q && f_went && f_before_q == '0 && f_count_q == (CountW+1)'(1));
end

// What makes the above inductive.
if (Depth > 1) begin : gen_f_ring
  logic [CountW:0] f_end, f_at;
  always @(*) begin
    f_end = (CountW+1)'(gen_ring.rptr_q) + f_count_q;
    if (f_end >= (CountW+1)'(Depth)) f_end = f_end - (CountW+1)'(Depth);
    f_at = (CountW+1)'(gen_ring.rptr_q) + f_before_q;
    if (f_at >= (CountW+1)'(Depth)) f_at = f_at - (CountW+1)'(Depth);
  end
  always @(posedge clk_i) if (f_init_q) begin
    a_rptr: assert ((CountW+1)'(gen_ring.rptr_q) < (CountW+1)'(Depth));
    a_wptr: assert ((CountW+1)'(gen_ring.wptr_q) == f_end);
    if (f_in_q) a_kept: assert (gen_ring.data_q[f_at[gen_ring.PtrW-1:0]] == f_word_q);
  end
end else begin : gen_f_single
  always @(posedge clk_i) if (f_init_q && f_in_q) a_kept: assert (gen_single.data_q == f_word_q);
end
