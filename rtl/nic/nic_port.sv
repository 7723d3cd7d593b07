// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Port engine of the NIC, one per plane: builds RoCEv2 frames from packet descriptors of nic_core
// and payload from memory, and checks received frames, shows their headers to nic_core and places
// their payload as nic_core decides.
//
// All outputs are functions of registers. On every valid/ready pair valid does not depend on ready
// and what goes with it is stable while valid && !ready. When a sink is not ready the port waits;
// what may wait for what is written down in nic_port_tx.sv and nic_port_rx.sv.
//
// See also: nic_port.md (theory of operation), rtl/spec/link.yaml, rtl/spec/nic.yaml.

module nic_port #(
  /// Flits buffered per virtual channel at each end of a link = link credits after reset.
  parameter int unsigned VcDepth  = ubl_pkg::LinkVcDepth,
  /// Descriptor credits that nic_core starts with, per virtual channel.
  parameter int unsigned TxdDepth = 16,
  /// Headers queued per virtual channel; not below VcDepth.
  parameter int unsigned RxhDepth = ubl_pkg::LinkVcDepth
) (
  /// Clock.
  input  logic                   clk_i,
  /// Asynchronous reset, active low.
  input  logic                   rst_ni,
  /// Own node number; constant from the last clock edge under reset on.
  input  logic [15:0]            node_i,
  /// Own plane; constant from the last clock edge under reset on.
  input  logic [2:0]             plane_i,

  /// Flits to the link.
  output ubl_pkg::flit_t         tx_flit_o,
  /// The peer returns one flit credit, per virtual channel.
  input  logic [2:0]             tx_credit_i,
  /// Flits from the link.
  input  ubl_pkg::flit_t         rx_flit_i,
  /// Returns one flit credit to the peer, per virtual channel.
  output logic [2:0]             rx_credit_o,

  /// Packet descriptor present.
  input  logic                   txd_valid_i,
  /// Packet descriptor.
  input  ubl_pkg::txd_t          txd_i,
  /// Returns one descriptor credit, per virtual channel.
  output logic [2:0]             txd_credit_o,
  /// Read report present.
  output logic                   txc_valid_o,
  /// Read report, one per request descriptor, in the order in which descriptors were issued.
  output ubl_pkg::txc_t          txc_o,
  /// Read report taken.
  input  logic                   txc_ready_i,

  /// Header of a received frame present.
  output logic                   rxh_valid_o,
  /// Header of a received frame.
  output ubl_pkg::rxh_t          rxh_o,
  /// Header taken.
  input  logic                   rxh_ready_i,
  /// Verdict present.
  input  logic                   rxv_valid_i,
  /// Verdict on the oldest request header without one.
  input  ubl_pkg::rxv_t          rxv_i,
  /// Verdict taken.
  output logic                   rxv_ready_o,
  /// Placement report present.
  output logic                   rxd_valid_o,
  /// Placement report, in verdict order.
  output ubl_pkg::rxd_t          rxd_o,
  /// Placement report taken.
  input  logic                   rxd_ready_i,

  /// Payload read request present.
  output logic                   trq_valid_o,
  /// Payload read request.
  output ubl_pkg::mem_req_t      trq_o,
  /// Payload read request taken.
  input  logic                   trq_ready_i,
  /// Payload beat present.
  input  logic                   trd_valid_i,
  /// Payload beat.
  input  ubl_pkg::mem_rdata_t    trd_i,
  /// Payload beat taken: always 1, space is reserved with the request.
  output logic                   trd_ready_o,

  /// Operand read request present.
  output logic                   rrq_valid_o,
  /// Operand read request.
  output ubl_pkg::mem_req_t      rrq_o,
  /// Operand read request taken.
  input  logic                   rrq_ready_i,
  /// Operand beat present.
  input  logic                   rrd_valid_i,
  /// Operand beat.
  input  ubl_pkg::mem_rdata_t    rrd_i,
  /// Operand beat taken.
  output logic                   rrd_ready_o,

  /// Write request present.
  output logic                   wrq_valid_o,
  /// Write request.
  output ubl_pkg::mem_req_t      wrq_o,
  /// Write request taken.
  input  logic                   wrq_ready_i,
  /// Write beat present.
  output logic                   wrd_valid_o,
  /// Write beat: byte 0 of the first beat goes to wrq_o.addr; bytes beyond the length are arbitrary.
  output logic [511:0]           wrd_o,
  /// Write beat taken.
  input  logic                   wrd_ready_i,
  /// Write request carried out, in request order; always accepted.
  input  logic                   wrs_valid_i,
  /// It was refused.
  input  logic                   wrs_err_i,

  /// No register changes while no input is active.
  output logic                   idle_o
);

  logic        tx_idle, rx_idle;
  logic [15:0] node_q;
  logic [2:0]  plane_q;

  // Registered without reset: what is computed from them then depends on no input, which is worth
  // much in simulation. They hold the right values from the first clock edge under reset on.
  always_ff @(posedge clk_i) begin
    node_q  <= node_i;
    plane_q <= plane_i;
  end

  nic_port_tx #(
    .VcDepth  (VcDepth),
    .TxdDepth (TxdDepth)
  ) u_tx (
    .clk_i,
    .rst_ni,
    .node_i  (node_q),
    .plane_i (plane_q),
    .tx_flit_o,
    .tx_credit_i,
    .txd_valid_i,
    .txd_i,
    .txd_credit_o,
    .txc_valid_o,
    .txc_o,
    .txc_ready_i,
    .trq_valid_o,
    .trq_o,
    .trq_ready_i,
    .trd_valid_i,
    .trd_i,
    .trd_ready_o,
    .idle_o (tx_idle)
  );

  nic_port_rx #(
    .VcDepth  (VcDepth),
    .RxhDepth (RxhDepth)
  ) u_rx (
    .clk_i,
    .rst_ni,
    .node_i  (node_q),
    .plane_i (plane_q),
    .rx_flit_i,
    .rx_credit_o,
    .rxh_valid_o,
    .rxh_o,
    .rxh_ready_i,
    .rxv_valid_i,
    .rxv_i,
    .rxv_ready_o,
    .rxd_valid_o,
    .rxd_o,
    .rxd_ready_i,
    .rrq_valid_o,
    .rrq_o,
    .rrq_ready_i,
    .rrd_valid_i,
    .rrd_i,
    .rrd_ready_o,
    .wrq_valid_o,
    .wrq_o,
    .wrq_ready_i,
    .wrd_valid_o,
    .wrd_o,
    .wrd_ready_i,
    .wrs_valid_i,
    .wrs_err_i,
    .idle_o (rx_idle)
  );

  assign idle_o = tx_idle && rx_idle;

endmodule
