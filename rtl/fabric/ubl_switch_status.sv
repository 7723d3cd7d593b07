// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Error reports and idle indication of ubl_switch. One report per port and cycle; what the input
// side of a port found goes first, then a wrong FCS (one at most waits: a frame that starts without
// a report leaves room for it); excess credits of the output side are counted and follow.
//
// When the sink is not ready: reports are pulses without back-pressure.

module ubl_switch_status #(
  /// Ports, 2..128.
  parameter int unsigned Radix = 16
) (
  /// Clock.
  input  logic                clk_i,
  /// Asynchronous reset, active low.
  input  logic                rst_ni,
  /// Status of the inputs (ubl_pkg::switch_err_st_t).
  input  logic [Radix*32-1:0] st_i,
  /// Credits that the receiver of each output returned but never held, 0..3.
  input  logic [Radix*2-1:0]  credit_err_i,
  /// Frames with a wrong FCS, {stomped before, found here} of each input.
  input  logic [Radix*2-1:0]  fcs_err_i,
  /// A flit is being sent.
  input  logic [Radix-1:0]    tx_valid_i,
  /// Some input has stored the end of a frame in the last cycle, combinational.
  output logic                ended_o,
  /// No register of the switch would change if no input arrived.
  output logic                idle_o,
  /// An error at a port.
  output logic [Radix-1:0]    err_valid_o,
  /// Its code (switch_err).
  output logic [Radix*4-1:0]  err_code_o
);

  localparam int unsigned CntW = 12;
  localparam int unsigned ErrStLsb = ubl_pkg::FabricErrLsb;
  localparam int unsigned ErrStW = ubl_pkg::SwitchErrStBits;

  logic [Radix*CntW-1:0] excess_q;    // credit errors not yet reported
  logic [Radix*2-1:0]    fcs_q;       // wrong FCS not yet reported
  logic                  fcs_lost_q;  // one could not wait, for the assertion
  logic [Radix-1:0]      err_valid_q;
  logic [Radix*4-1:0]    err_code_q;
  ubl_pkg::switch_err_st_t   any_st;

  always_comb begin : p_any
    any_st = '0;
    for (int unsigned i = 0; i < Radix; i++) any_st = any_st | st_i[i*32+ErrStLsb +: ErrStW];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : p_report
    logic            valid;
    logic [3:0]      code;
    logic [CntW-1:0] cnt;
    logic [1:0]      fcs;
    if (!rst_ni) begin
      excess_q <= '0;
      fcs_q <= '0;
      fcs_lost_q <= 1'b0;
      err_valid_q <= '0;
      err_code_q <= '0;
    end else begin
      err_valid_q <= '0;
      if (any_st.err_valid || fcs_err_i != '0 || fcs_q != '0 || credit_err_i != '0 ||
          excess_q != '0) begin
        for (int unsigned i = 0; i < Radix; i++) begin
          {valid, code} = st_i[i*32+ErrStLsb +: 5];
          cnt = excess_q[i*CntW +: CntW] + CntW'(credit_err_i[i*2 +: 2]);
          fcs = fcs_q[i*2 +: 2] | fcs_err_i[i*2 +: 2];
          if (fcs_q[i*2 +: 2] != '0 && fcs_err_i[i*2 +: 2] != '0) fcs_lost_q <= 1'b1;
          if (valid) begin
            err_valid_q[i] <= 1'b1;
            err_code_q[i*4 +: 4] <= code;
          end else if (fcs != '0) begin
            err_valid_q[i] <= 1'b1;
            err_code_q[i*4 +: 4] <= fcs[1] ? 4'(ubl_pkg::SwitchErrStomped)
                                           : 4'(ubl_pkg::SwitchErrFcs);
            fcs = '0;
          end else if (cnt != '0) begin
            err_valid_q[i] <= 1'b1;
            err_code_q[i*4 +: 4] <= 4'(ubl_pkg::SwitchErrCredit);
            cnt = cnt - CntW'(1);
          end
          fcs_q[i*2 +: 2] <= fcs;
          excess_q[i*CntW +: CntW] <= cnt;
        end
      end
    end
  end

  assign err_valid_o = err_valid_q;
  assign err_code_o = err_code_q;
  assign ended_o = any_st.ended;
  assign idle_o = !(any_st.busy || tx_valid_i != '0 || credit_err_i != '0 ||
                    err_valid_q != '0 || fcs_err_i != '0 || fcs_q != '0 || excess_q != '0);

  logic unused_st;
  assign unused_st = ^any_st.err_code;

`include "ubl_assert.svh"
  `UBL_ASSERT(FcsErrorWaits, !fcs_lost_q)
  `UBL_COVER(FcsErrorHeld, fcs_q != '0)

endmodule
