// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0

// Host accesses of the card: gate by bus-master enable, and one ordered stream towards PCIe in
// which interrupt messages keep their place behind earlier writes.
//
// The request at the head of a two-entry queue is, in this order of choice:
// - held back while a pending, unmasked interrupt is sent (those are finite: sending one clears
//   its pending bit, and setting it again needs the host to mask the vector);
// - read or write: sent; with bus mastering off refused with an err answer and counted;
// - msix: sent in place as a message; with the vector masked or bus mastering off (counted) it
//   becomes a pending bit;
// - of an unknown kind, or msix for a vector that does not exist: counted; err answer if not msix.
//
// Answers from PCIe pass one register and have priority over err answers made here, which wait.
// A request that is offered at hdma_req_* stays offered even if bus mastering is switched off.
`include "ubl_assert.svh"

module host_dma (
  /// Clock.
  input  logic               clk_i,
  /// Synchronous reset, active low.
  input  logic               rst_ni,
  /// Bus-master enable of the configuration space.
  input  logic               bme_i,

  /// Requests of nic_core.
  input  logic               req_valid_i,
  input  ubl_pkg::dma_req_t  req_i,
  output logic               req_ready_o,
  /// Answers to nic_core; always accepted.
  output logic               rsp_valid_o,
  output ubl_pkg::dma_rsp_t  rsp_o,

  /// Requests to PCIe.
  output logic               hdma_req_valid_o,
  output ubl_pkg::dma_req_t  hdma_req_o,
  input  logic               hdma_req_ready_i,
  /// Answers from PCIe.
  input  logic               hdma_rsp_valid_i,
  input  ubl_pkg::dma_rsp_t  hdma_rsp_i,

  /// MSI-X table look-up (same cycle), see host_msix.
  output logic [5:0]         msix_query_vec_o,
  input  logic               msix_query_masked_i,
  input  logic [63:0]        msix_query_addr_i,
  input  logic [31:0]        msix_query_data_i,
  output logic               msix_pend_o,
  input  logic               msix_fire_valid_i,
  input  logic [5:0]         msix_fire_vec_i,
  output logic               msix_fire_ack_o,

  /// Refused accesses.
  output logic [31:0]        cnt_blocked_o,
  /// Pulse: start waiting for all requests accepted before this cycle to leave.
  input  logic               fence_start_i,
  /// They have left or been refused; valid from the cycle after fence_start_i.
  output logic               fence_done_o,

  /// Nothing queued, offered or answered.
  output logic               idle_o
);

  // ------------------------------------------------------------------------------------- queue
  ubl_pkg::dma_req_t head;
  logic              head_valid, head_pop;
  logic [1:0]        count;  // entries in the queue

  ubl_fifo #(
    .Width(ubl_pkg::DmaReqBits),
    .Depth(2)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (req_valid_i),
    .in_ready_o (req_ready_o),
    .in_data_i  (req_i),
    .out_valid_o(head_valid),
    .out_ready_i(head_pop),
    .out_data_o (head),
    .count_o    (count)
  );

  // ------------------------------------------------------------------------------------ choice
  logic out_valid_q, out_free;
  logic is_access, is_msix, vec_ok;
  logic fire;       // a pending interrupt has the output
  logic load_msg;   // output register takes a message
  logic load_head;  // output register takes the head
  logic refuse;     // err answer for the head
  logic blocked;    // count it

  assign out_free  = ~out_valid_q | hdma_req_ready_i;
  assign is_access = (head.kind == ubl_pkg::DmaKindRead) | (head.kind == ubl_pkg::DmaKindWrite);
  assign is_msix   = head.kind == ubl_pkg::DmaKindMsix;
  assign vec_ok    = head.addr[15:6] == '0;
  assign fire      = msix_fire_valid_i & bme_i;

  assign msix_query_vec_o = fire ? msix_fire_vec_i : head.addr[5:0];

  always_comb begin
    load_msg        = 1'b0;
    load_head       = 1'b0;
    refuse          = 1'b0;
    blocked         = 1'b0;
    head_pop        = 1'b0;
    msix_pend_o     = 1'b0;
    msix_fire_ack_o = 1'b0;
    if (fire) begin
      load_msg        = out_free;
      msix_fire_ack_o = out_free;
    end else if (head_valid) begin
      if (is_msix) begin
        if (!vec_ok) begin
          blocked  = 1'b1;
          head_pop = 1'b1;
        end else if (msix_query_masked_i || !bme_i) begin
          msix_pend_o = 1'b1;
          blocked     = ~bme_i;
          head_pop    = 1'b1;
        end else begin
          load_msg = out_free;
          head_pop = out_free;
        end
      end else if (is_access && bme_i) begin
        load_head = out_free;
        head_pop  = out_free;
      end else begin
        refuse   = ~hdma_rsp_valid_i;
        blocked  = ~hdma_rsp_valid_i;
        head_pop = ~hdma_rsp_valid_i;
      end
    end
  end

  // ------------------------------------------------------------------------------------ output
  ubl_pkg::dma_req_t out_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
    end else begin
      out_valid_q <= load_msg | load_head | (out_valid_q & ~hdma_req_ready_i);
    end
  end

  // Payload: no reset, qualified by out_valid_q.
  always_ff @(posedge clk_i) begin
    if (load_head) out_q <= head;
    if (load_msg) begin
      out_q.kind <= ubl_pkg::DmaKindMsix;
      out_q.tag  <= {4'b0000, msix_query_vec_o};
      out_q.addr <= msix_query_addr_i;
      out_q.len  <= 7'd4;
      out_q.data <= {480'h0, msix_query_data_i};
    end
  end

  assign hdma_req_valid_o = out_valid_q;
  assign hdma_req_o       = out_q;

  // ----------------------------------------------------------------------------------- answers
  ubl_pkg::dma_rsp_t rsp_q;
  logic              rsp_valid_q;
  logic [31:0]       cnt_blocked_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_valid_q   <= 1'b0;
      cnt_blocked_q <= '0;
    end else begin
      rsp_valid_q <= hdma_rsp_valid_i | refuse;
      // Saturates: all ones reads as "at least".
      if (blocked && cnt_blocked_q != '1) cnt_blocked_q <= cnt_blocked_q + 32'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (hdma_rsp_valid_i) begin
      rsp_q <= hdma_rsp_i;
    end else if (refuse) begin
      rsp_q.tag  <= head.tag;
      rsp_q.err  <= 1'b1;
      rsp_q.data <= '0;
    end
  end

  assign rsp_valid_o   = rsp_valid_q;
  assign rsp_o         = rsp_q;
  assign cnt_blocked_o = cnt_blocked_q;

  // ------------------------------------------------------------------------------------- fence
  // The fence counts the queued requests down as they are popped; then one transfer empties the
  // output register of whatever it holds, which includes the last of them.
  logic [1:0] fence_q, fence_d;
  assign fence_d = (fence_start_i ? count : fence_q) -
                   {1'b0, head_pop & (fence_start_i | (fence_q != '0))};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fence_q <= '0;
    else         fence_q <= fence_d;
  end

  assign fence_done_o = (fence_q == '0) & out_free;

  // Requests of nic_core: 1..64 bytes inside one 64-byte line.
  logic [7:0] line_end;
  assign line_end = {2'b00, req_i.addr[5:0]} + {1'b0, req_i.len};
  `UBL_ASSUME(InsideLine, !(req_valid_i && !req_i.kind[1]) || (req_i.len != '0 && line_end <= 8'd64))
  `UBL_ASSERT(FenceBound, fence_q <= count)
  `UBL_ASSERT(PendOnlyKnown, !msix_pend_o || (head_valid && is_msix && vec_ok))
  `UBL_ASSERT(GateHolds, !(load_msg || load_head) || bme_i)
  `UBL_ASSERT(NoOverrun, !(load_msg || load_head) || out_free)
  `UBL_ASSERT(OneAnswer, !(hdma_rsp_valid_i && refuse))

  assign idle_o = ~head_valid & ~out_valid_q & ~rsp_valid_q & ~msix_fire_valid_i;

endmodule
