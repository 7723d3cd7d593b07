// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Arbiters of 2, 3 and 4 requesters with the functions of ubl_pick.svh: who asks without a pause is
// served before any other is served twice.

module ubl_pick_fair_formal (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [3:0] ask_i,
  input logic       serve_i
);

  `include "ubl_pick.svh"

  logic init_q;
  initial init_q = 1'b0;
  always @(posedge clk_i) init_q <= 1'b1;
  always @(*) if (!init_q) assume (!rst_ni);

  for (genvar n = 2; n <= 4; n++) begin : gen_n
    (* anyconst *) logic [1:0] who;
    logic [6:0] ptr_q, hit;
    logic [2:0] passed_q;
    logic [3:0] ask;
    assign ask = ask_i & 4'((1 << n) - 1);
    assign hit = rr_pick(64'(ask), 64'd0, ptr_q);
    always @(*) assume (32'(who) < n);
    always @(posedge clk_i) begin
      if (!rst_ni) begin
        ptr_q    <= '0;
        passed_q <= '0;
      end else begin
        if (serve_i && ask != '0) ptr_q <= rr_next(hit, n);
        if (!ask[who]) passed_q <= '0;
        else if (serve_i) passed_q <= hit == 7'(who) ? 3'd0 : passed_q + 3'd1;
      end
      if (init_q && rst_ni) begin
        assert (32'(ptr_q) < n);
        assert (32'(passed_q) < n);
        cover (32'(passed_q) == n - 1);
      end
    end
  end

endmodule
