// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Round-robin choice among up to 128 requesters, as functions; include it inside a module.
//
//   rr_pick(lo, hi, ptr)   the first requester (bit of {hi, lo}) at or after `ptr`, wrapping around;
//                          127 if there is none
//   rr_next(i, n)          where the pointer goes when requester i of n was served: behind it
//
// Who asks without a pause is passed over at most n - 1 times (proved in formal/). Two words of 64
// bits and not one of 128, because a simulating host works on those.

// Index of the lowest bit set.
function automatic logic [5:0] low64(input logic [63:0] x);
  low64 = 6'($countones((x & (64'd0 - x)) - 64'd1));
endfunction

function automatic logic [6:0] rr_pick(input logic [63:0] lo, input logic [63:0] hi,
                                       input logic [6:0] ptr);
  logic [63:0] above, mlo, mhi;
  above = ~64'd0 << ptr[5:0];
  mlo = ptr[6] ? 64'd0 : lo & above;
  mhi = ptr[6] ? hi & above : hi;
  if (mlo != '0) rr_pick = {1'b0, low64(mlo)};
  else if (mhi != '0) rr_pick = {1'b1, low64(mhi)};
  else if (lo != '0) rr_pick = {1'b0, low64(lo)};
  else rr_pick = {1'b1, low64(hi)};
endfunction

function automatic logic [6:0] rr_next(input logic [6:0] i, input int unsigned n);
  rr_next = 32'(i) == n - 1 ? 7'd0 : i + 7'd1;
endfunction
