// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0

// Host interface of a card: register window, doorbells, MSI-X and the gate for host accesses.
//
// All outputs are functions of registers. A valid output stays with its payload until it is taken,
// whatever the enables do meanwhile; no valid depends on a ready. mmio_rsp, dma_rsp and hdma_rsp
// have no ready: their receivers always accept.
//
// rst_ni is the function reset. nic_core and the PCIe side are reset together with this block: an
// answer to a request from before the reset must not arrive after it.
//
// See also: README.md (theory of operation), host_mmio, host_dma, host_msix.
module host_if (
  /// Clock, 781.25 MHz.
  input  logic                clk_i,
  /// Synchronous reset, active low.
  input  logic                rst_ni,
  /// Device time in cycles.
  input  logic [63:0]         now_i,
  /// Node number of this card (strap).
  input  logic [15:0]         node_i,
  /// Bus-master enable of the configuration space.
  input  logic                bme_i,

  /// Host access to BAR0 or BAR4.
  input  logic                mmio_req_valid_i,
  input  ubl_pkg::mmio_req_t  mmio_req_i,
  output logic                mmio_req_ready_o,
  /// Answer to a read, in order; always accepted.
  output logic                mmio_rsp_valid_o,
  output ubl_pkg::mmio_rsp_t  mmio_rsp_o,

  /// Host memory access. Kind msix: addr and data[31:0] are the message, len 4, tag the vector.
  output logic                hdma_req_valid_o,
  output ubl_pkg::dma_req_t   hdma_req_o,
  input  logic                hdma_req_ready_i,
  /// Answer to a read or write; always accepted.
  input  logic                hdma_rsp_valid_i,
  input  ubl_pkg::dma_rsp_t   hdma_rsp_i,

  /// Register access of nic_core, one at a time; offset inside the NIC block.
  output logic                csr_req_valid_o,
  output ubl_pkg::csr_req_t   csr_req_o,
  input  logic                csr_req_ready_i,
  /// Answer, at the earliest in the cycle after the request was taken.
  input  logic                csr_rsp_valid_i,
  input  ubl_pkg::csr_rsp_t   csr_rsp_i,

  /// Doorbell to nic_core.
  output logic                db_valid_o,
  output ubl_pkg::doorbell_t  db_o,
  input  logic                db_ready_i,

  /// Pushed entry to nic_core; never offered together with a doorbell.
  output logic                push_valid_o,
  output ubl_pkg::push_t      push_o,
  input  logic                push_ready_i,

  /// Host memory access of nic_core. Kind msix: addr[15:0] is the vector.
  input  logic                dma_req_valid_i,
  input  ubl_pkg::dma_req_t   dma_req_i,
  output logic                dma_req_ready_o,
  /// Answer to a read or write; always accepted.
  output logic                dma_rsp_valid_o,
  output ubl_pkg::dma_rsp_t   dma_rsp_o,

  /// No register changes until an input is valid.
  output logic                idle_o
);

  logic [5:0]  msix_vec, msix_query_vec, msix_fire_vec;
  logic [1:0]  msix_word;
  logic        msix_we, msix_query_masked, msix_pend, msix_fire_valid, msix_fire_ack;
  logic [31:0] msix_wdata, msix_rdata, msix_query_data, cnt_dma_blocked;
  logic [63:0] msix_pba, msix_query_addr;
  logic        fence_start, fence_done;
  logic        mmio_idle, dma_idle;

  host_mmio u_mmio (
    .clk_i,
    .rst_ni,
    .now_i,
    .node_i,
    .bme_i,
    .req_valid_i      (mmio_req_valid_i),
    .req_i            (mmio_req_i),
    .req_ready_o      (mmio_req_ready_o),
    .rsp_valid_o      (mmio_rsp_valid_o),
    .rsp_o            (mmio_rsp_o),
    .csr_req_valid_o,
    .csr_req_o,
    .csr_req_ready_i,
    .csr_rsp_valid_i,
    .csr_rsp_i,
    .db_valid_o,
    .db_o,
    .db_ready_i,
    .push_valid_o,
    .push_o,
    .push_ready_i,
    .msix_vec_o       (msix_vec),
    .msix_word_o      (msix_word),
    .msix_we_o        (msix_we),
    .msix_wdata_o     (msix_wdata),
    .msix_rdata_i     (msix_rdata),
    .msix_pba_i       (msix_pba),
    .cnt_dma_blocked_i(cnt_dma_blocked),
    .fence_start_o    (fence_start),
    .fence_done_i     (fence_done),
    .idle_o           (mmio_idle)
  );

  host_msix u_msix (
    .clk_i,
    .rst_ni,
    .vec_i         (msix_vec),
    .word_i        (msix_word),
    .we_i          (msix_we),
    .wdata_i       (msix_wdata),
    .rdata_o       (msix_rdata),
    .pba_o         (msix_pba),
    .query_vec_i   (msix_query_vec),
    .query_masked_o(msix_query_masked),
    .query_addr_o  (msix_query_addr),
    .query_data_o  (msix_query_data),
    .pend_i        (msix_pend),
    .fire_valid_o  (msix_fire_valid),
    .fire_vec_o    (msix_fire_vec),
    .fire_ack_i    (msix_fire_ack)
  );

  host_dma u_dma (
    .clk_i,
    .rst_ni,
    .bme_i,
    .req_valid_i        (dma_req_valid_i),
    .req_i              (dma_req_i),
    .req_ready_o        (dma_req_ready_o),
    .rsp_valid_o        (dma_rsp_valid_o),
    .rsp_o              (dma_rsp_o),
    .hdma_req_valid_o,
    .hdma_req_o,
    .hdma_req_ready_i,
    .hdma_rsp_valid_i,
    .hdma_rsp_i,
    .msix_query_vec_o   (msix_query_vec),
    .msix_query_masked_i(msix_query_masked),
    .msix_query_addr_i  (msix_query_addr),
    .msix_query_data_i  (msix_query_data),
    .msix_pend_o        (msix_pend),
    .msix_fire_valid_i  (msix_fire_valid),
    .msix_fire_vec_i    (msix_fire_vec),
    .msix_fire_ack_o    (msix_fire_ack),
    .cnt_blocked_o      (cnt_dma_blocked),
    .fence_start_i      (fence_start),
    .fence_done_o       (fence_done),
    .idle_o             (dma_idle)
  );

  assign idle_o = mmio_idle & dma_idle;

endmodule
