// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Inside nic_core, engines as black boxes: descriptor credits of every plane and virtual channel.

`include "ubl_formal.svh"
`UBL_FORMAL_RESET

// Descriptors sent whose credit has not come back: in the port, or on the way there or back.
logic [CredW-1:0] f_away_q [Planes*3];
(* anyconst *) logic [2:0] f_plane;
(* anyconst *) logic [1:0] f_vc;
logic [5:0] f_i;
assign f_i = 6'(f_plane) * 6'd3 + 6'(f_vc);

for (genvar i = 0; i < Planes*3; i++) begin : gen_f_away
  always @(posedge clk_i) begin
    if (!rst_ni) f_away_q[i] <= '0;
    else f_away_q[i] <= f_away_q[i] + CredW'(cred_use[i]) - CredW'(txd_credit_i[i]);
  end
  // A port returns what it has.
  always @(*) if (rst_ni && txd_credit_i[i]) assume (f_away_q[i] != '0);
end

always @(*) begin
  // What the engines promise, each with an assertion of its own (tx_credit, ack_credit).
  if (s_tx_valid) assume (32'(s_tx_plane) < Planes && s_tx.vc < 2'd3 && cred_nz_q[32'(s_tx_plane)*3 + 32'(s_tx.vc)]);
  if (r_tx_valid) begin
    assume (32'(r_tx_plane) < Planes);
    assume (r_tx.vc == ubl_pkg::VcRsp ? cred_rsp[r_tx_plane]
            : r_tx.vc == ubl_pkg::VcBulk && cred_bulk[r_tx_plane]);
  end
  // The requester leaves the plane out that the responder looks at (rtx_valid_i).
  if (s_tx_valid && r_tx_valid) assume (s_tx_plane != r_tx_plane);
  assume (32'(f_plane) < Planes && f_vc < 2'd3);
end

always @(posedge clk_i) if (f_init_q && rst_ni) begin
  a_conserved: assert (cred_q[f_i] + f_away_q[f_i] == CredW'(TxdDepth));
  a_range:     assert (cred_q[f_i] <= CredW'(TxdDepth));
  a_flag:      assert (cred_nz_q[f_i] == (cred_q[f_i] != '0));
  a_used:      assert (!cred_use[f_i] || cred_q[f_i] != '0);
  c_empty:     cover (cred_q[f_i] == '0);
  c_both:      cover (cred_use[f_i] && txd_credit_i[f_i]);
end
