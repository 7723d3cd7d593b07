// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties of a round-robin choice with a mask:
//   src = (elig & mask) != 0 ? elig & mask : elig;  hot = src & (~src + 1);
//   with each grant: mask <= ~(hot | (hot - 1))
//
// `UBL_RR(name, N, elig, hot, mask, grant)
//   exactly one requester is chosen when there is any, and none that does not ask;
//   who asks without a pause is passed over by at most N - 1 grants.
// Inductive, because the grants that pass over a requester come ever closer to it: the last one
// granted is at least as many places behind it, modulo N, as grants have passed over it.

`ifndef UBL_RR_SVH
`define UBL_RR_SVH

`define UBL_RR(name, N, elig, hot, mask, grant) \
  if (1) begin : name \
    localparam int unsigned IdxW = $clog2(N); \
    (* anyconst *) logic [IdxW-1:0] f_who; \
    logic [IdxW:0] f_passed_q, f_last, f_behind; \
    always @(*) begin \
      assume ({1'b0, f_who} < (IdxW+1)'(N)); \
      f_last = (IdxW+1)'(N - 1); \
      for (int i = 0; i < N; i++) f_last = f_last - (IdxW+1)'(mask[i]); \
      f_behind = (f_last >= {1'b0, f_who}) ? f_last - {1'b0, f_who} \
                                           : f_last + (IdxW+1)'(N) - {1'b0, f_who}; \
    end \
    always @(posedge clk_i) begin \
      if (!rst_ni || !elig[f_who]) f_passed_q <= '0; \
      else if (grant) f_passed_q <= hot[f_who] ? '0 : f_passed_q + 1'b1; \
    end \
    always @(posedge clk_i) if (f_init_q && rst_ni) begin \
      name``_asked:   assert ((hot & ~elig) == '0); \
      name``_one:     assert ((hot & (hot - 1'b1)) == '0); \
      name``_any:     assert ((hot != '0) == (elig != '0)); \
      name``_served:  assert (f_passed_q <= (IdxW+1)'(N - 1)); \
      name``_closer:  assert (f_passed_q <= f_behind); \
      name``_thermo:  assert (!mask[0] && ((~mask) & (~mask + 1'b1)) == '0); \
      name``_longest: cover (f_passed_q == (IdxW+1)'(N - 1) && grant && hot[f_who]); \
    end \
  end

`endif  // UBL_RR_SVH
