// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the stages of ubl_wire_encode; include it inside a module.
//
//   `UBL_LANES(n)           end of a loop over the lanes of which the first n matter
//   `UBL_LANES_FROM(n)      start of a loop over the others; inside: if (i >= n)
//   wire_mix(x, k0, k1, k2) the hash behind stochastic rounding (sw/numerics, random.hpp)
//
// A loop over lanes that ends at a variable stays a loop in the simulator: its code is compiled
// once, not 64 times, and lanes without an element cost nothing. Synthesis needs constants and gets
// all lanes; what it computes in lanes without an element is overwritten or not used.

`ifndef UBL_WIRE_LANES
  `define UBL_WIRE_LANES
  `ifdef SYNTHESIS
    `define UBL_LANES(n) 64
    `define UBL_LANES_FROM(n) 0
  `else
    `define UBL_LANES(n) 32'(n)
    `define UBL_LANES_FROM(n) 32'(n)
  `endif
`endif

function automatic logic [31:0] wire_mix(input logic [31:0] x, input logic [31:0] k0,
                                         input logic [31:0] k1, input logic [31:0] k2);
  logic [31:0] y;
  y = x + {x[24:0], 7'd0} + k0;
  y = y ^ {y[11:0], y[31:12]} ^ {y[22:0], y[31:23]};
  y = y + {y[28:0], 3'd0} + k1;
  y = y ^ {y[5:0], y[31:6]} ^ {y[22:0], y[31:23]};
  y = y + {y[29:0], 2'd0} + k2;
  wire_mix = y ^ {y[5:0], y[31:6]} ^ {y[18:0], y[31:19]};
endfunction
