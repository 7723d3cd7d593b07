// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside nic_port_tx: link credits of every virtual channel.

`include "ubl_formal.svh"
`UBL_FORMAL_RESET

(* anyconst *) logic [1:0] f_channel;
// Flits promised to the peer's buffer whose credit has not come back.
logic [CreditW-1:0] f_away_q;
logic               f_start;

assign f_start = start && start_vc == f_channel;
always @(*) begin
  assume (f_channel < 2'd3);
  // The peer returns what it has.
  if (rst_ni && tx_credit_i[f_channel]) assume (f_away_q != '0);
end
always @(posedge clk_i) begin
  if (!rst_ni) f_away_q <= '0;
  else f_away_q <= f_away_q + (f_start ? CreditW'(start_flits) : CreditW'(0)) - CreditW'(tx_credit_i[f_channel]);
end

always @(posedge clk_i) if (f_init_q && rst_ni) begin
  a_conserved: assert (credit_q[f_channel] + f_away_q == CreditW'(VcDepth));
  a_range:     assert (credit_q[f_channel] <= CreditW'(VcDepth) && f_away_q <= CreditW'(VcDepth));
  // A whole frame is paid for when it starts: it never waits in the middle.
  a_paid:      assert (!f_start || 32'(start_flits) <= 32'(credit_q[f_channel]));
  c_spent:     cover (32'(credit_q[f_channel]) < VcDepth - 60);
  c_both:      cover (f_start && tx_credit_i[f_channel]);
end
