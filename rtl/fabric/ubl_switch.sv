// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Switch of one plane: Radix ports, virtual cut-through, three virtual channels with credits.
//
// A frame that is received in cycle 0 leaves in cycle 4 if its output is free. Frames of one
// (input, output, VC) stay in order; frames are never interleaved on an output. An output sends
// rsp before req before bulk, decided at frame boundaries, and serves the inputs round-robin.
// Credits: a receiver grants VcDepth flits per VC; every flit that leaves the buffer or is
// dropped returns one credit. A frame starts only when credits for all its flits are held.
//
// When the sink is not ready: no credits come back on tx_credit_i, frames of that VC wait in the
// input buffers, and the senders run out of credits; other outputs and VCs go on.
// Frames without a route and flits that break the protocol are dropped and reported on err_*; a
// frame that is cut or has a wrong FCS is reported and leaves with an FCS that is surely wrong.
//
// See also: README.md (theory of operation, corner cases).

module ubl_switch #(
  /// Ports, 2..128. Surplus ports are tied off: rx_valid_i and tx_credit_i zero.
  parameter int unsigned Radix = 16,
  /// Flits buffered per virtual channel and input port, 66..682.
  parameter int unsigned VcDepth = ubl_pkg::LinkVcDepth,
  /// Credits held per output and virtual channel after reset, 66..4095.
  parameter int unsigned TxInitCredit = ubl_pkg::LinkVcDepth,
  /// Nodes of the route table, a power of two up to 8192.
  parameter int unsigned RouteNodes = 1024,
  /// Marks congestion in IP headers.
  parameter bit EnableEcn = 1'b1
) (
  /// Clock.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// Time in cycles; the switch has no timers and does not use it.
  input  logic [63:0]          now_i,
  /// Plane that this switch serves.
  input  logic [2:0]           plane_i,
  /// A flit is received.
  input  logic [Radix-1:0]     rx_valid_i,
  /// {sop, eop, vc[1:0], empty[5:0]} of each port, port 0 in the low bits.
  input  logic [Radix*10-1:0]  rx_meta_i,
  /// Data of each port.
  input  logic [Radix*512-1:0] rx_data_i,
  /// Credits returned to the sender, bit vc of each port.
  output logic [Radix*3-1:0]   rx_credit_o,
  /// A flit is sent.
  output logic [Radix-1:0]     tx_valid_o,
  /// {sop, eop, vc[1:0], empty[5:0]} of each port.
  output logic [Radix*10-1:0]  tx_meta_o,
  /// Data of each port; holds its last value while nothing is sent.
  output logic [Radix*512-1:0] tx_data_o,
  /// Credits returned by the receiver, bit vc of each port.
  input  logic [Radix*3-1:0]   tx_credit_i,
  /// Writes a route.
  input  logic                 cfg_we_i,
  /// Node whose route is written or read.
  input  logic [15:0]          cfg_addr_i,
  /// Output port of the node, 255 = no route.
  input  logic [7:0]           cfg_wdata_i,
  /// Route of the node on cfg_addr_i, combinational.
  output logic [7:0]           cfg_rdata_o,
  /// Queue length in flits above which ECT(0) frames are marked now and then.
  input  logic [15:0]          ecn_kmin_i,
  /// Queue length from which all of them are; in between the share rises linearly.
  input  logic [15:0]          ecn_kmax_i,
  /// No register would change if no input arrived.
  output logic                 idle_o,
  /// An error at a port, one cycle each.
  output logic [Radix-1:0]     err_valid_o,
  /// Its code (switch_err), 4 bits per port.
  output logic [Radix*4-1:0]   err_code_o
);

  if (Radix < 2 || Radix > 128) begin : gen_radix
    $error("Radix must be 2..128");
  end
  if (VcDepth < ubl_pkg::LinkMaxFrameFlits || VcDepth > 682) begin : gen_depth
    $error("VcDepth must be 66..682");
  end
  if (TxInitCredit < ubl_pkg::LinkMaxFrameFlits || TxInitCredit > 4095) begin : gen_credit
    $error("TxInitCredit must be 66..4095");
  end
  if (RouteNodes < 2 || RouteNodes > 8192 || (RouteNodes & (RouteNodes - 1)) != 0)
  begin : gen_nodes
    $error("RouteNodes must be a power of two up to 8192");
  end

  logic [Radix*32-1:0] rx, ev, st, rd0, rd1, gnt, wr, ends, stomp, stomp_data;
  logic                stomp_any, ended;
  logic [Radix*2-1:0]  credit_err, fcs_err;

  ubl_switch_route #(
    .Radix(Radix),
    .RouteNodes(RouteNodes)
  ) u_route (
    .clk_i, .rst_ni, .plane_i, .cfg_we_i, .cfg_addr_i, .cfg_wdata_i, .cfg_rdata_o,
    .rx_valid_i, .rx_meta_i, .rx_data_i,
    .rx_o(rx)
  );

  for (genvar p = 0; p < int'(Radix); p++) begin : gen_in
    ubl_switch_ingress #(
      .VcDepth(VcDepth)
    ) u_in (
      .clk_i, .rst_ni,
      .rx_i(rx[p*32 +: 32]),
      .gnt_i(gnt[p*32 +: 32]),
      .wr_o(wr[p*32 +: 32]),
      .ev_o(ev[p*32 +: 32]),
      .end_o(ends[p*32 +: 32]),
      .st_o(st[p*32 +: 32]),
      .rd0_o(rd0[p*32 +: 32]),
      .rd1_o(rd1[p*32 +: 32]),
      .rx_credit_o(rx_credit_o[p*3 +: 3])
    );
  end

  ubl_switch_fcs #(
    .Radix(Radix)
  ) u_fcs (
    .clk_i, .rst_ni, .rx_valid_i, .rx_data_i,
    .rx_i(rx),
    .wr_i(wr),
    .ended_i(ended),
    .end_i(ends),
    .stomp_any_o(stomp_any),
    .stomp_o(stomp),
    .stomp_data_o(stomp_data),
    .err_o(fcs_err)
  );

  ubl_switch_match #(
    .Radix(Radix),
    .VcDepth(VcDepth),
    .TxInitCredit(TxInitCredit),
    .EnableEcn(EnableEcn)
  ) u_match (
    .clk_i, .rst_ni,
    .ev_i(ev),
    .st_i(st),
    .tx_credit_i,
    .ecn_kmin_i, .ecn_kmax_i,
    .gnt_o(gnt),
    .credit_err_o(credit_err)
  );

  ubl_switch_xbar #(
    .Radix(Radix),
    .VcDepth(VcDepth),
    .EnableEcn(EnableEcn)
  ) u_xbar (
    .clk_i, .rst_ni, .rx_valid_i, .rx_data_i,
    .wr_i(wr),
    .stomp_any_i(stomp_any),
    .stomp_i(stomp),
    .stomp_data_i(stomp_data),
    .rd0_i(rd0),
    .rd1_i(rd1),
    .tx_valid_o, .tx_meta_o, .tx_data_o
  );

  ubl_switch_status #(
    .Radix(Radix)
  ) u_status (
    .clk_i, .rst_ni,
    .st_i(st),
    .credit_err_i(credit_err),
    .fcs_err_i(fcs_err),
    .tx_valid_i(tx_valid_o),
    .ended_o(ended),
    .idle_o, .err_valid_o, .err_code_o
  );

  logic unused_in;
  assign unused_in = ^now_i;

endmodule
