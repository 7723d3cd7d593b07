// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Assertions. RTL never spells them out: what the three readers accept differs.
//   - simulation by Verilator: checked when built with --assert (the *_chk libraries)
//   - proofs by yosys: `read_verilog -formal` defines FORMAL
//   - any other reader: nothing
//
//   `UBL_ASSERT(name, expr)       expr holds at every rising clk_i while rst_ni is high
//   `UBL_ASSUME(name, expr)       the same about the environment: assumed in proofs, else checked
//   `UBL_COVER(name, expr)        can happen; proofs look for an example
//   `UBL_ASSERT_INIT(name, expr)  parameters; checked at elaboration
//
// Checks are immediate statements on the clock edge, not properties: they see exactly the values
// that the registers of the same edge take in, however the test bench drives inputs around it.
// A failure prints file, line and module path and ends the simulation with an error.

`ifndef UBL_ASSERT_SVH
`define UBL_ASSERT_SVH

`ifdef FORMAL
  `define UBL_ASSERT(name, expr) \
    always @(posedge clk_i) if (rst_ni) name: assert (expr);
  `define UBL_ASSUME(name, expr) \
    always @(posedge clk_i) if (rst_ni) name: assume (expr);
  `define UBL_COVER(name, expr) \
    always @(posedge clk_i) if (rst_ni) name: cover (expr);
  `define UBL_ASSERT_INIT(name, expr)
`elsif VERILATOR
  `define UBL_ASSERT(name, expr) \
    always @(posedge clk_i) if (rst_ni) begin \
      name: assert (expr) else $error(`"%m: assertion name failed`"); \
    end
  `define UBL_ASSUME(name, expr) \
    always @(posedge clk_i) if (rst_ni) begin \
      name: assert (expr) else $error(`"%m: assumption name failed`"); \
    end
  `define UBL_COVER(name, expr) \
    always @(posedge clk_i) if (rst_ni) begin \
      name: cover (expr); \
    end
  `define UBL_ASSERT_INIT(name, expr) \
    if (!(expr)) begin : name \
      $error(`"parameter check name failed`"); \
    end
`else
  `define UBL_ASSERT(name, expr)
  `define UBL_ASSUME(name, expr)
  `define UBL_COVER(name, expr)
  `define UBL_ASSERT_INIT(name, expr)
`endif

`endif  // UBL_ASSERT_SVH
