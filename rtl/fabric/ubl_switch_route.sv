// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Header parsing and route look-up of ubl_switch, combinational for all inputs.
//
// For the first flit of a frame: EtherType, IPv4 destination (10.plane.node[15:8].node[7:0]) and
// length are checked, the node is looked up in the route table. A table entry that was never
// written has its reset value: node n -> port n while n < Radix, else no route. In silicon each
// input has its own copy of the table, written in parallel.
//
// When the sink is not ready: no flow control here, every flit is decoded in its own cycle.

module ubl_switch_route #(
  /// Ports, 2..128.
  parameter int unsigned Radix = 16,
  /// Nodes the table holds (a power of two); higher nodes have no route.
  parameter int unsigned RouteNodes = 1024
) (
  /// Clock.
  input  logic                 clk_i,
  /// Asynchronous reset, active low.
  input  logic                 rst_ni,
  /// Plane that this switch serves: second octet of the addresses.
  input  logic [2:0]           plane_i,
  /// Writes a table entry.
  input  logic                 cfg_we_i,
  /// Node.
  input  logic [15:0]          cfg_addr_i,
  /// Output port; not below Radix = no route.
  input  logic [7:0]           cfg_wdata_i,
  /// Entry of the node on cfg_addr_i, 255 = no route.
  output logic [7:0]           cfg_rdata_o,
  /// Received flits.
  input  logic [Radix-1:0]     rx_valid_i,
  /// {sop, eop, vc[1:0], empty[5:0]} of each.
  input  logic [Radix*10-1:0]  rx_meta_i,
  /// Data of each, byte 0 in the low bits.
  input  logic [Radix*512-1:0] rx_data_i,
  /// Decoded flits (ubl_pkg::switch_rx_t).
  output logic [Radix*32-1:0]  rx_o
);

  localparam int unsigned NodeW = $clog2(RouteNodes);
  localparam int unsigned PortW = ubl_pkg::FabricPortBits;
  localparam int unsigned LenW = ubl_pkg::FabricLenBits;
  localparam logic [7:0] NoRoute = 8'd255;

  logic [RouteNodes-1:0] written_q;
  logic [7:0]            route [RouteNodes];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) written_q <= '0;
    else if (cfg_we_i && 32'(cfg_addr_i) < RouteNodes) written_q[cfg_addr_i[NodeW-1:0]] <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (cfg_we_i) route[cfg_addr_i[NodeW-1:0]] <= cfg_wdata_i;
  end

  always_comb begin : p_read_back
    cfg_rdata_o = NoRoute;
    if (32'(cfg_addr_i) < RouteNodes && written_q[cfg_addr_i[NodeW-1:0]]) begin
      cfg_rdata_o = route[cfg_addr_i[NodeW-1:0]];
    end else if (32'(cfg_addr_i) < Radix) begin
      cfg_rdata_o = cfg_addr_i[7:0];
    end
    if (32'(cfg_rdata_o) >= Radix) cfg_rdata_o = NoRoute;
  end

  always_comb begin : p_decode
    logic [9:0]  meta;
    logic [15:0] ether_type, total_length, node;
    logic [31:0] dst;
    logic [7:0]  port;
    logic [16:0] flits;
    logic [5:0]  empty;
    logic        ok, len_bad, ect, empty_bad;

    rx_o = '0;
    meta = '0;
    ether_type = '0;
    total_length = '0;
    node = '0;
    dst = '0;
    port = NoRoute;
    flits = '0;
    ok = 1'b0;
    len_bad = 1'b0;
    ect = 1'b0;
    empty = '0;
    empty_bad = 1'b0;
    for (int unsigned p = 0; p < Radix; p++) begin
      if (rx_valid_i[p]) begin
        meta = rx_meta_i[p*10 +: 10];
        port = NoRoute;
        flits = '0;
        ok = 1'b0;
        len_bad = 1'b0;
        ect = 1'b0;
        empty = meta[5:0];
        empty_bad = 1'b0;
        if (meta[9]) begin
          // Network order: the first byte is the most significant.
          ether_type = {rx_data_i[p*512 + 96 +: 8], rx_data_i[p*512 + 104 +: 8]};
          total_length = {rx_data_i[p*512 + 128 +: 8], rx_data_i[p*512 + 136 +: 8]};
          // A header too short to hold its checksum is never marked.
          ect = rx_data_i[p*512 + 120 +: 2] == 2'(ubl_pkg::EcnEct0) &&
                total_length >= 16'(ubl_pkg::LinkIpBytes);
          dst = {rx_data_i[p*512 + 240 +: 8], rx_data_i[p*512 + 248 +: 8],
                 rx_data_i[p*512 + 256 +: 8], rx_data_i[p*512 + 264 +: 8]};
          node = dst[15:0];
          if (32'(node) < RouteNodes && written_q[node[NodeW-1:0]]) port = route[node[NodeW-1:0]];
          else if (32'(node) < Radix) port = node[7:0];
          ok = ether_type == ubl_pkg::LinkEtherTypeIpv4 && dst[31:24] == ubl_pkg::LinkIpNet &&
               dst[23:16] == {5'd0, plane_i} && 32'(port) < Radix;
          flits = (17'(total_length) + 17'(ubl_pkg::LinkEthBytes + ubl_pkg::LinkFcsBytes +
                                           ubl_pkg::LinkFlitBytes - 1)) >> 6;
          len_bad = flits > 17'(ubl_pkg::LinkMaxFrameFlits);
          empty = 6'd0 - (total_length[5:0] + 6'(ubl_pkg::LinkEthBytes + ubl_pkg::LinkFcsBytes));
          empty_bad = meta[8] && empty != meta[5:0];
        end
        rx_o[p*32 +: 32] = {3'd0, empty_bad, port[PortW-1:0], flits[LenW-1:0], len_bad, ok, ect,
                             meta[9:6], empty, 1'b1};
      end
    end
  end

`include "ubl_assert.svh"
  `UBL_COVER(NodeBeyondTable, cfg_we_i && 32'(cfg_addr_i) >= RouteNodes)

endmodule
