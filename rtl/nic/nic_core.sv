// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Queue pair engine of the NIC: holds the QP, CQ and MR tables, fetches work requests, cuts messages
// into packet descriptors for the nic_port of each plane, judges received headers, acknowledges and
// writes completions. Payload never passes here.
// Every output depends on registers only; a valid output keeps its payload until it is taken. When
// a sink is not ready its own queue fills; a plane without descriptor credits delays only itself.
// See also: nic_core.md, rtl/spec/nic.yaml.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_core #(
  /// Planes, 1..8.
  parameter int unsigned Planes = 8,
  /// Queue pairs, a power of two, 2..65536.
  parameter int unsigned NumQp = 1024,
  /// Completion queues, a power of two, 2..256.
  parameter int unsigned NumCq = 64,
  /// Memory regions, a power of two, 2..65536.
  parameter int unsigned NumMr = 256,
  /// Descriptors a nic_port buffers per VC: initial credits.
  parameter int unsigned TxdDepth = 16,
  /// Packets between acknowledgements in steady state, 1..128.
  parameter int unsigned AckEvery = 16
) (
  /// Clock.
  input  logic clk_i,
  /// Reset, active low.
  input  logic rst_ni,
  /// Time in cycles.
  input  logic [63:0] now_i,

  /// Register access.
  input  logic              csr_req_valid_i,
  /// The access.
  input  ubl_pkg::csr_req_t csr_req_i,
  /// Taken.
  output logic              csr_req_ready_o,
  /// Register answer, always accepted.
  output logic              csr_rsp_valid_o,
  /// The answer.
  output ubl_pkg::csr_rsp_t csr_rsp_o,

  /// Doorbell.
  input  logic               db_valid_i,
  /// The doorbell.
  input  ubl_pkg::doorbell_t db_i,
  /// Taken.
  output logic               db_ready_o,

  /// A send ring entry written by the host; never together with a doorbell.
  input  logic           push_valid_i,
  /// The entry.
  input  ubl_pkg::push_t push_i,
  /// Taken.
  output logic           push_ready_o,

  /// Host or card memory request.
  output logic              dma_req_valid_o,
  /// The request.
  output ubl_pkg::dma_req_t dma_req_o,
  /// Taken.
  input  logic              dma_req_ready_i,
  /// Answer to a read or write, always accepted.
  input  logic              dma_rsp_valid_i,
  /// The answer.
  input  ubl_pkg::dma_rsp_t dma_rsp_i,

  /// Per plane: a packet descriptor, one cycle each.
  output logic [Planes-1:0]                  txd_valid_o,
  /// The descriptors (txd_t each).
  output logic [Planes*ubl_pkg::TxdBits-1:0] txd_o,
  /// Per plane and VC: pulse, one more descriptor fits.
  input  logic [Planes*3-1:0]                txd_credit_i,
  /// Per plane: payload of a request descriptor was read.
  input  logic [Planes-1:0]                  txc_valid_i,
  /// The reports (txc_t each).
  input  logic [Planes*ubl_pkg::TxcBits-1:0] txc_i,
  /// Taken.
  output logic [Planes-1:0]                  txc_ready_o,
  /// Per plane: header of a received frame.
  input  logic [Planes-1:0]                  rxh_valid_i,
  /// The headers (rxh_t each).
  input  logic [Planes*ubl_pkg::RxhBits-1:0] rxh_i,
  /// Taken.
  output logic [Planes-1:0]                  rxh_ready_o,
  /// Per plane: verdict on a request frame.
  output logic [Planes-1:0]                  rxv_valid_o,
  /// The verdicts (rxv_t each).
  output logic [Planes*ubl_pkg::RxvBits-1:0] rxv_o,
  /// Taken.
  input  logic [Planes-1:0]                  rxv_ready_i,
  /// Per plane: payload was placed.
  input  logic [Planes-1:0]                  rxd_valid_i,
  /// The reports (rxd_t each).
  input  logic [Planes*ubl_pkg::RxdBits-1:0] rxd_i,
  /// Taken.
  output logic [Planes-1:0]                  rxd_ready_o,

  /// Nothing would change without an active input and before deadline_o.
  output logic        idle_o,
  /// Next now_i at which the block must be evaluated; all ones: never.
  output logic [63:0] deadline_o
);

  localparam int unsigned QpW = $clog2(NumQp);
  localparam int unsigned CqW = $clog2(NumCq);
  localparam int unsigned MrW = $clog2(NumMr);
  // DMA tags: 0xxxxxxxxx send rings, 10xxxxxxxx receive rings, 11xxxxxxxx completions.
  localparam int unsigned NumTags = ubl_pkg::NicSqTags;
  localparam int unsigned TagW = $clog2(NumTags);
  localparam int unsigned NumRqTags = 64;
  localparam int unsigned RqTagW = $clog2(NumRqTags);
  localparam int unsigned MaxObj = (NumQp > NumMr) ? NumQp : NumMr;
  localparam int unsigned MaxAll = (MaxObj > NumCq) ? MaxObj : NumCq;
  localparam int unsigned MinClear = (ubl_pkg::NicNumCtr > NumTags) ? ubl_pkg::NicNumCtr : NumTags;
  localparam int unsigned NumClear = (MaxAll > MinClear) ? MaxAll : MinClear;
  localparam int unsigned CtrW = nic_core_pkg::CtrW;
  localparam int unsigned QcfgBits = nic_core_pkg::QcfgBits;
  localparam int unsigned MrBits = nic_core_pkg::MrBits;
  localparam int unsigned CqBits = nic_core_pkg::CqcfgBits;
  localparam int unsigned CplBits = nic_core_pkg::CplBits;
  localparam int unsigned ErrBits = nic_core_pkg::ErrevBits;
  localparam int unsigned CredW = $clog2(TxdDepth + 1);
  localparam int unsigned MaxMsg = ubl_pkg::NicMaxOutstanding;
  localparam int unsigned MsgW = $clog2(MaxMsg);

  if (Planes < 1 || Planes > 8) begin : gen_bad_planes
    $error("Planes must be 1..8");
  end
  if (NumQp != (1 << QpW) || NumCq != (1 << CqW) || NumMr != (1 << MrW) || NumQp < 2 ||
      NumCq < 2 || NumMr < 2) begin : gen_bad_sizes
    $error("table sizes must be powers of two, at least 2");
  end

  // ---------------------------------------------------------------------------------------------
  // Registers and object commands
  logic enable, init_valid, clearing, qp_we, cq_we, mr_we;
  logic [1:0] init_kind;
  logic [15:0] init_idx, stat_idx;
  logic [31:0] timeout;
  logic [511:0] obj_data;
  ubl_pkg::qp_ctx_t obj_qp;
  ubl_pkg::cq_ctx_t obj_cq;
  ubl_pkg::mr_ctx_t obj_mr;
  ubl_pkg::qp_status_t stat;
  nic_core_pkg::log_t log_req, log_rsp, log_fch, log_rd, log_ovf, log_wr, log_db, log_rq, log_rqrd;
  logic log_req_v, log_rsp_v, log_fch_v, log_rd_v, log_ovf_v, log_wr_v, log_db_v, log_rq_v, log_rqrd_v;
  logic s_tx_valid, r_tx_valid, r_tx_plan;
  logic [2:0] s_tx_plane, r_tx_plane, rx_plane, rx_ack_plane;
  ubl_pkg::txd_t s_tx, r_tx;
  logic cnt_rx_pkt, cnt_rx_bad, cnt_rx_ce, cnt_rx_ack, cnt_rx_ack_ce, cnt_cqe, cnt_wqe;
  logic cnt_lost, cnt_again, cnt_timeout, cnt_dup_rsp, cnt_rnr_in, cnt_dup_req, cnt_deferred, cnt_rnr_out;
  logic [2:0] init_sub, lost_plane;
  logic [31:0] rnr_timer, plane_probe;
  logic [9:0] reorder;
  logic [7:0] cc_step;
  logic [15:0] pace_req, pace_bulk, stat_cwnd, stat_marks, stat_again;
  logic down_we;
  logic [7:0] down_new, planes_down;
  logic csr_busy, fch_busy, rq_busy, req_busy, rsp_busy, cpl_busy, trg_busy;
  logic cnt_bump, cnt_wait, cnt_atomic, cnt_push, ctr_we, ctr_ready;
  logic [63:0] ctr;

  assign obj_qp = ubl_pkg::qp_ctx_t'(obj_data);
  assign obj_cq = ubl_pkg::cq_ctx_t'(obj_data);
  assign obj_mr = ubl_pkg::mr_ctx_t'(obj_data);

  nic_csr #(
    .Planes(Planes), .NumQp(NumQp), .NumCq(NumCq), .NumMr(NumMr), .NumClear(NumClear)
  ) u_csr (
    .clk_i, .rst_ni,
    .csr_req_valid_i, .csr_req_i, .csr_req_ready_o, .csr_rsp_valid_o, .csr_rsp_o,
    .enable_o(enable), .timeout_o(timeout), .rnr_timer_o(rnr_timer), .reorder_o(reorder),
    .cc_step_o(cc_step), .pace_req_o(pace_req), .pace_bulk_o(pace_bulk),
    .plane_probe_o(plane_probe), .down_we_o(down_we), .down_o(down_new), .down_i(planes_down),
    .init_valid_o(init_valid), .init_kind_o(init_kind), .init_idx_o(init_idx), .init_sub_o(init_sub),
    .obj_data_o(obj_data), .qp_we_o(qp_we), .cq_we_o(cq_we), .mr_we_o(mr_we),
    .ctr_we_o(ctr_we), .ctr_ready_i(ctr_ready), .ctr_i(ctr),
    .clearing_o(clearing),
    .stat_idx_o(stat_idx), .stat_i(stat),
    // At most one of the three that concern doorbells speaks in a cycle.
    .log_valid_i({log_req_v, log_rsp_v, log_fch_v | log_rq_v | log_db_v, log_rd_v, log_rqrd_v,
                  log_ovf_v, log_wr_v}),
    .log_i({log_req, log_rsp, log_fch_v ? log_fch : (log_rq_v ? log_rq : log_db), log_rd, log_rqrd,
            log_ovf, log_wr}),
    .tx_pkt_i(s_tx_valid), .tx_pkt_plane_i(s_tx_plane), .tx_pkt_len_i(s_tx_len),
    .tx_ack_i(r_tx_valid), .tx_ack_plane_i(r_tx_plane), .tx_ack_len_i(r_tx.len),
    .rx_pkt_i(cnt_rx_pkt), .rx_bad_i(cnt_rx_bad), .rx_pkt_ce_i(cnt_rx_ce),
    .rx_pkt_plane_i(rx_plane),
    .rx_ack_i(cnt_rx_ack), .rx_ack_ce_i(cnt_rx_ack_ce), .rx_ack_plane_i(rx_ack_plane),
    .cqe_i(cnt_cqe), .wqe_i(cnt_wqe),
    .lost_i(cnt_lost), .lost_plane_i(lost_plane), .retransmit_i(cnt_again), .timeout_i(cnt_timeout),
    .dup_req_i(cnt_dup_req), .dup_rsp_i(cnt_dup_rsp), .deferred_i(cnt_deferred),
    .rnr_sent_i(cnt_rnr_out), .rnr_rcvd_i(cnt_rnr_in),
    .bump_i(cnt_bump), .wait_i(cnt_wait), .atomic_i(cnt_atomic), .push_i(cnt_push),
    .busy_o(csr_busy)
  );

  // ---------------------------------------------------------------------------------------------
  // Tables written by object commands
  logic [QcfgBits-1:0] qcfg_mem [NumQp];
  logic [CqBits-1:0] cqcfg_mem [NumCq];
  logic [MrBits-1:0] mr_mem [NumMr];

  logic [QpW-1:0] fch_ctl_q, fch_rsp_q, fch_chk_q, req_q, rsp_q;
  logic [QpW-1:0] rq_ctl_q, rq_rsp_q, rq_chk_q;
  logic [MrW-1:0] req_mr, rsp_mr;
  logic [CqW-1:0] cpl_cq;
  nic_core_pkg::qcfg_t qcfg_fch_ctl, qcfg_fch_rsp, qcfg_rq_ctl, qcfg_rq_rsp, qcfg_req, qcfg_rsp, qcfg_old, qcfg_new;
  nic_core_pkg::cqcfg_t cqcfg, cqcfg_new;
  nic_core_pkg::mr_t mr_req, mr_rsp, mr_new;
  logic unused_old;

  assign qcfg_fch_ctl = nic_core_pkg::qcfg_t'(qcfg_mem[fch_ctl_q]);
  assign qcfg_fch_rsp = nic_core_pkg::qcfg_t'(qcfg_mem[fch_rsp_q]);
  assign qcfg_rq_ctl  = nic_core_pkg::qcfg_t'(qcfg_mem[rq_ctl_q]);
  assign qcfg_rq_rsp  = nic_core_pkg::qcfg_t'(qcfg_mem[rq_rsp_q]);
  assign qcfg_req     = nic_core_pkg::qcfg_t'(qcfg_mem[req_q]);
  assign qcfg_rsp     = nic_core_pkg::qcfg_t'(qcfg_mem[rsp_q]);
  assign qcfg_old     = nic_core_pkg::qcfg_t'(qcfg_mem[init_idx[QpW-1:0]]);
  assign mr_req       = nic_core_pkg::mr_t'(mr_mem[req_mr]);
  assign mr_rsp       = nic_core_pkg::mr_t'(mr_mem[rsp_mr]);
  assign cqcfg        = nic_core_pkg::cqcfg_t'(cqcfg_mem[cpl_cq]);
  assign unused_old   = ^{unused_rq, unused_rq_push, unused_rq_cls, unused_db_ok, qcfg_old, obj_qp, obj_cq, obj_mr, stat_idx};

  always_comb begin
    qcfg_new  = '0;
    cqcfg_new = '0;
    mr_new    = '0;
    if (!clearing) begin
      qcfg_new.epoch         = qcfg_old.epoch + 16'd1;
      qcfg_new.planes        = obj_qp.planes;
      qcfg_new.sq_log2       = obj_qp.sq_log2[3:0];
      qcfg_new.pd            = obj_qp.pd;
      qcfg_new.remote_node   = obj_qp.remote_node;
      qcfg_new.scq           = obj_qp.scq;
      qcfg_new.rcq           = obj_qp.rcq;
      qcfg_new.remote_qpn    = obj_qp.remote_qpn;
      qcfg_new.sq_base       = obj_qp.sq_base;
      qcfg_new.window        = obj_qp.window[9:0];
      qcfg_new.cwnd          = obj_qp.cwnd[9:0];
      qcfg_new.mtu           = obj_qp.mtu[1:0];
      qcfg_new.retry         = obj_qp.retry;
      qcfg_new.rnr_retry     = obj_qp.rnr_retry;
      qcfg_new.rq_ring       = obj_qp.rq_ring;
      qcfg_new.imm_ctr       = obj_qp.imm_ctr;
      qcfg_new.err_ctr_v     = obj_qp.err_ctr_v;
      qcfg_new.err_ctr       = obj_qp.err_ctr[CtrW-1:0];
      qcfg_new.rq_log2       = obj_qp.rq_log2[3:0];
      qcfg_new.rq_base       = obj_qp.rq_base;
      cqcfg_new.valid        = obj_cq.valid;
      cqcfg_new.irq_en       = obj_cq.irq_en;
      cqcfg_new.log2         = obj_cq.log2[3:0];
      cqcfg_new.msix         = obj_cq.vector;
      cqcfg_new.base         = obj_cq.base;
      mr_new.valid           = obj_mr.valid;
      mr_new.local_read      = obj_mr.local_read;
      mr_new.remote_write    = obj_mr.remote_write;
      mr_new.remote_reduce   = obj_mr.remote_reduce;
      mr_new.local_write     = obj_mr.local_write;
      mr_new.remote_read     = obj_mr.remote_read;
      mr_new.remote_atomic   = obj_mr.remote_atomic;
      mr_new.key             = obj_mr.key;
      mr_new.pd              = obj_mr.pd;
      mr_new.base            = obj_mr.base;
      mr_new.length          = obj_mr.length;
    end
  end

  always_ff @(posedge clk_i) begin
    if (qp_we) qcfg_mem[init_idx[QpW-1:0]] <= qcfg_new;
    if (cq_we) cqcfg_mem[init_idx[CqW-1:0]] <= cqcfg_new;
    if (mr_we) mr_mem[init_idx[MrW-1:0]] <= mr_new;
  end

  // ---------------------------------------------------------------------------------------------
  // Doorbells and pushed entries, in the order in which they come
  logic db_ctr, db_ctr_ok, trg_db_ready, push_valid_q, push_ready;
  ubl_pkg::push_t push_q;
  logic db_valid_q, db_take, db_qp, db_cq, fch_db_ready, rq_db_ready, db_recv_ok, rq_db_ok;
  ubl_pkg::doorbell_t db_q;

  assign db_ready_o = ~db_valid_q & ~push_valid_q & ~clearing;
  assign push_ready_o = ~push_valid_q & ~db_valid_q & ~clearing;
  assign db_qp      = db_valid_q & ~db_q.kind[1] & (~db_q.kind[0] | rq_db_ready);
  assign db_cq      = db_valid_q & (db_q.kind == 2'd2) & ~init_valid & ~cq_we;
  assign db_ctr     = db_valid_q & (db_q.kind == 2'd3);
  assign db_ctr_ok  = db_q.index < 16'(ubl_pkg::NicNumCtr);
  assign db_take    = db_ctr ? (trg_db_ready | ~db_ctr_ok)
                             : (db_q.kind[1] ? db_cq : (db_qp & fch_db_ready));
  assign log_db_v   = (db_cq & ({1'b0, db_q.index} >= 17'(NumCq))) | (db_ctr & ~db_ctr_ok);
  always_comb begin
    log_db       = '0;
    log_db.cause = ubl_pkg::ErrCauseBadQp;
    log_db.qpn   = db_q.index;
    if (db_ctr) begin
      log_db.cause = ubl_pkg::ErrCauseLocal;
      log_db.qpn   = '0;
      log_db.psn   = 24'(db_q.index);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      db_valid_q <= 1'b0;
      db_q       <= '0;
    end else if (!db_valid_q) begin
      db_valid_q <= db_valid_i & db_ready_o;
      db_q       <= db_i;
    end else if (db_take) begin
      db_valid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) push_valid_q <= 1'b0;
    else if (!push_valid_q) push_valid_q <= push_valid_i & push_ready_o;
    else if (push_ready && !db_valid_q) push_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (push_valid_i && push_ready_o) push_q <= push_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Received headers, placements and failed reads: two entries each, per plane
  // Acknowledgements and READ responses, with what became of both, belong to the requester.
  logic [Planes-1:0] rxh_v, rxh_isack, rxh_isrrs, rxh_pop, rxh_in_ready, ack_pop, req_pop;
  logic [Planes-1:0] rxd_v, rxd_rsp, rxd_pop, rxd_in_ready, txc_v, txc_rsp, txc_pop, txc_in_ready;
  logic [Planes-1:0] s_rxd_pop, r_rxd_pop, s_txc_pop, r_txc_pop;
  logic [Planes*ubl_pkg::RxhBits-1:0] rxh_d;
  logic [Planes*ubl_pkg::RxdBits-1:0] rxd_d;
  logic [Planes*ubl_pkg::TxcBits-1:0] txc_d;
  logic [Planes*6-1:0] unused_levels;

  for (genvar p = 0; p < Planes; p++) begin : gen_in
    ubl_pkg::rxh_t head;
    ubl_pkg::txc_t txc, txc_head;
    ubl_pkg::rxd_t rxd_head;
    logic unused_head;
    ubl_fifo #(.Width(ubl_pkg::RxhBits), .Depth(2)) u_rxh (
      .clk_i, .rst_ni,
      .in_valid_i(rxh_valid_i[p] & ~clearing),
      .in_data_i(rxh_i[p*ubl_pkg::RxhBits +: ubl_pkg::RxhBits]), .in_ready_o(rxh_in_ready[p]),
      .out_valid_o(rxh_v[p]), .out_data_o(rxh_d[p*ubl_pkg::RxhBits +: ubl_pkg::RxhBits]),
      .out_ready_i(rxh_pop[p]), .count_o(unused_levels[p*6 +: 2])
    );
    ubl_fifo #(.Width(ubl_pkg::RxdBits), .Depth(2)) u_rxd (
      .clk_i, .rst_ni,
      .in_valid_i(rxd_valid_i[p] & ~clearing),
      .in_data_i(rxd_i[p*ubl_pkg::RxdBits +: ubl_pkg::RxdBits]), .in_ready_o(rxd_in_ready[p]),
      .out_valid_o(rxd_v[p]), .out_data_o(rxd_d[p*ubl_pkg::RxdBits +: ubl_pkg::RxdBits]),
      .out_ready_i(rxd_pop[p]), .count_o(unused_levels[p*6+2 +: 2])
    );
    assign txc = ubl_pkg::txc_t'(txc_i[p*ubl_pkg::TxcBits +: ubl_pkg::TxcBits]);
    ubl_fifo #(.Width(ubl_pkg::TxcBits), .Depth(2)) u_txc (
      .clk_i, .rst_ni,
      .in_valid_i(txc_valid_i[p] & txc.err & ~clearing), .in_data_i(txc),
      .in_ready_o(txc_in_ready[p]),
      .out_valid_o(txc_v[p]), .out_data_o(txc_d[p*ubl_pkg::TxcBits +: ubl_pkg::TxcBits]),
      .out_ready_i(txc_pop[p]), .count_o(unused_levels[p*6+4 +: 2])
    );
    assign head         = ubl_pkg::rxh_t'(rxh_d[p*ubl_pkg::RxhBits +: ubl_pkg::RxhBits]);
    assign rxh_isack[p] = (head.err == 8'd0) & (head.opcode == ubl_pkg::PktOpAck);
    assign rxh_isrrs[p] = (head.err == 8'd0) & ((head.opcode == ubl_pkg::PktOpReadResponse) |
                                                (head.opcode == ubl_pkg::PktOpAtomicResponse));
    assign rxd_head     = ubl_pkg::rxd_t'(rxd_d[p*ubl_pkg::RxdBits +: ubl_pkg::RxdBits]);
    assign rxd_rsp[p]   = rxd_head.rsp;
    assign txc_head     = ubl_pkg::txc_t'(txc_d[p*ubl_pkg::TxcBits +: ubl_pkg::TxcBits]);
    assign txc_rsp[p]   = txc_head.rsp;
    assign unused_head  = ^{head, txc, rxd_head, txc_head};
  end
  assign rxh_ready_o = rxh_in_ready & {Planes{~clearing}};
  assign rxd_ready_o = rxd_in_ready & {Planes{~clearing}};
  assign txc_ready_o = txc_in_ready & {Planes{~clearing}};
  assign rxh_pop     = ack_pop | req_pop;
  assign rxd_pop     = s_rxd_pop | r_rxd_pop;
  assign txc_pop     = s_txc_pop | r_txc_pop;

  // ---------------------------------------------------------------------------------------------
  // Descriptor credits
  logic [CredW-1:0] cred_q [Planes*3];
  logic [CredW-1:0] cred_d [Planes*3];
  logic [Planes*3*CredW-1:0] cred_cnt;
  logic [Planes*3-1:0] cred_nz_q, cred_use;
  logic [Planes-1:0] cred_rsp, cred_bulk, bulk_turn;
  logic [Planes-1:0] bulk_last_q;  // the last descriptor of VC bulk was a READ response
  logic cred_act;

  assign cred_act = (|txd_credit_i) | s_tx_valid | r_tx_valid;
  always_comb begin
    cred_use = '0;
    for (int unsigned p = 0; p < Planes; p++) begin
      for (int unsigned v = 0; v < 3; v++) begin
        cred_use[3*p+v] = (s_tx_valid & (s_tx_plane == 3'(p)) & (s_tx.vc == 2'(v))) |
                          (r_tx_valid & (r_tx_plane == 3'(p)) & (r_tx.vc == 2'(v)));
      end
      cred_rsp[p] = cred_nz_q[3*p + 32'(ubl_pkg::VcRsp)];
      // Requests and READ responses take turns on VC bulk.
      cred_bulk[p] = cred_nz_q[3*p + 32'(ubl_pkg::VcBulk)] & ~(bulk_last_q[p] & bulk_turn[p]);
    end
    for (int unsigned i = 0; i < Planes*3; i++) begin
      cred_d[i] = cred_q[i] + CredW'(txd_credit_i[i]) - CredW'(cred_use[i]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bulk_last_q <= '0;
    end else begin
      for (int unsigned p = 0; p < Planes; p++) begin
        if (cred_use[3*p + 32'(ubl_pkg::VcBulk)]) begin
          bulk_last_q[p] <= r_tx_valid & (r_tx_plane == 3'(p));
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Planes*3; i++) cred_q[i] <= CredW'(TxdDepth);
      cred_nz_q <= '1;
    end else if (cred_act) begin
      for (int unsigned i = 0; i < Planes*3; i++) begin
        cred_q[i]    <= cred_d[i];
        cred_nz_q[i] <= cred_d[i] != '0;
      end
    end
  end

  for (genvar i = 0; i < Planes*3; i++) begin : gen_cred
    assign cred_cnt[i*CredW +: CredW] = cred_q[i];
    `UBL_ASSERT(credit_range, !cred_act || !(txd_credit_i[i] && !cred_use[i]) ||
                cred_q[i] != CredW'(TxdDepth))
  end

  // ---------------------------------------------------------------------------------------------
  // Engines
  logic [1:0] fch_state, rsp_state, stat_state;
  logic [15:0] fch_head, chk_emit, stat_head, stat_tail;
  logic [23:0] stat_next, stat_una, stat_exp, stat_msn;
  logic chk_want;
  logic cons_valid, cons_ready, wake_valid, wake_ready;
  logic [QpW-1:0] cons_qpn, wake_qpn;
  logic [MaxMsg-1:0] slot_gen;
  logic [nic_core_pkg::ClassBits*MaxMsg-1:0] slot_cls;
  logic slot_more;
  logic [MsgW-1:0] wqe_slot;
  nic_core_pkg::went_t wqe;
  logic rd_valid, rd_ready;
  logic [TagW-1:0] rd_tag;
  logic [63:0] rd_addr;
  logic [15:0] rq_ctl_used, rq_chk_used;
  logic [1:0] rq_ctl_state, rq_chk_state;
  logic rq_cons_valid, rq_cons_ready, rq_wake_valid, rq_wake_ready, rq_more, failed_v;
  logic [QpW-1:0] rq_cons_qpn, rq_wake_qpn, failed_q;
  logic [MaxMsg-1:0] rq_gen;
  logic [nic_core_pkg::ClassBits*MaxMsg-1:0] unused_rq_cls;
  logic [MsgW-1:0] rqe_slot;
  nic_core_pkg::went_t rqe;
  logic rq_rd_valid, rq_rd_ready, rq_err_v;
  logic [RqTagW-1:0] rq_rd_tag;
  logic [63:0] rq_rd_addr;
  nic_core_pkg::errev_t rq_err;
  logic [17:0] unused_rq;
  logic [1:0] unused_rq_push;
  logic twake_valid, twake_ready, look_failed, look_met, wait_on, leave;
  logic [QpW-1:0] twake_qpn;
  logic [CtrW-1:0] look_ctr, err_ctr, imm_ctr;
  logic [31:0] look_min;
  logic bump_v, bump_ready, err_ctr_v, imm_v, imm_ready;
  nic_core_pkg::bump_t bump;
  logic unused_db_ok;
  logic fch_err_v, rsp_err_v, rsp_err_room, rsp_err_q_v, cpl_err_v;
  logic [2:0] err_ready;
  nic_core_pkg::errev_t fch_err, rsp_err, rsp_err_q, cpl_err;
  logic s_cqe_v, s_cqe_room, s_cqe_qv, s_cqe_pop, r_cqe_v, r_cqe_room, r_cqe_qv, r_cqe_pop;
  nic_core_pkg::cpl_t s_cqe, s_cqe_q, r_cqe, r_cqe_q;
  logic note_v, note_ready;
  nic_core_pkg::note_t note;
  logic s_rxv_set, r_rxv_set;
  logic [2:0] s_rxv_plane, r_rxv_plane;
  ubl_pkg::rxv_t s_rxv, r_rxv;
  logic [12:0] s_tx_len;
  logic [Planes-1:0] rxv_valid_q;
  logic cpl_req_v, cpl_req_ready, dma_issued, dma_wr_rsp, cq_db_v;
  ubl_pkg::dma_req_t cpl_req;
  logic [2:0] unused_err_level;
  logic [3:0] unused_s_level, unused_r_level;

  nic_wqe_fetch #(.NumQp(NumQp), .NumTags(NumTags)) u_fetch (
    .clk_i, .rst_ni,
    .init_valid_i(init_valid), .init_kind_i(init_kind), .init_idx_i(init_idx),
    .enable_i(enable),
    .db_valid_i(db_qp), .db_ready_o(fch_db_ready), .db_recv_i(db_q.kind[0]),
    .db_recv_ok_o(db_recv_ok), .db_ok_o(unused_db_ok), .db_qpn_i(db_q.index), .db_tail_i(db_q.value),
    .push_valid_i(push_valid_q & ~db_valid_q), .push_i(push_q), .push_ready_o(push_ready),
    .ctl_idx_o(fch_ctl_q), .ctl_cfg_i(qcfg_fch_ctl), .ctl_state_i(fch_state),
    .ctl_head_i(fch_head),
    .rsp_idx_o(fch_rsp_q), .rsp_cfg_i(qcfg_fch_rsp),
    .chk_idx_o(fch_chk_q), .chk_want_i(chk_want), .chk_emit_i(chk_emit),
    .cons_valid_i(cons_valid), .cons_qpn_i(cons_qpn), .cons_ready_o(cons_ready),
    .wake_valid_o(wake_valid), .wake_qpn_o(wake_qpn), .wake_ready_i(wake_ready),
    .slot_idx_i(req_q), .slot_gen_o(slot_gen), .slot_cls_o(slot_cls), .slot_more_o(slot_more),
    .wqe_slot_i(wqe_slot), .wqe_o(wqe),
    .stat_idx_i(stat_idx[QpW-1:0]), .stat_tail_o(stat_tail),
    .rd_valid_o(rd_valid), .rd_tag_o(rd_tag), .rd_addr_o(rd_addr), .rd_ready_i(rd_ready),
    .rr_valid_i(dma_rsp_valid_i & ~dma_rsp_i.tag[9]), .rr_tag_i(dma_rsp_i.tag[TagW-1:0]),
    .rr_err_i(dma_rsp_i.err), .rr_data_i(dma_rsp_i.data),
    .err_valid_o(fch_err_v), .err_o(fch_err), .err_ready_i(err_ready[2]),
    .log_valid_o(log_fch_v), .log_o(log_fch), .rlog_valid_o(log_rd_v), .rlog_o(log_rd),
    .cnt_wqe_o(cnt_wqe), .cnt_push_o(cnt_push), .busy_o(fch_busy)
  );

  // Receive rings: the responder takes the entries; it is called only for QPs that must be flushed.
  nic_wqe_fetch #(.NumQp(NumQp), .Recv(1'b1), .NumTags(NumRqTags)) u_rq_fetch (
    .clk_i, .rst_ni,
    .init_valid_i(init_valid), .init_kind_i(init_kind), .init_idx_i(init_idx),
    .enable_i(enable),
    .db_valid_i(db_recv_ok & qcfg_fch_ctl.rq_ring), .db_ready_o(rq_db_ready), .db_recv_i(1'b0),
    .db_recv_ok_o(unused_rq[0]), .db_ok_o(rq_db_ok), .db_qpn_i(db_q.index), .db_tail_i(db_q.value),
    .push_valid_i(1'b0), .push_i('0), .push_ready_o(unused_rq_push[0]),
    .ctl_idx_o(rq_ctl_q), .ctl_cfg_i(qcfg_rq_ctl), .ctl_state_i(rq_ctl_state),
    .ctl_head_i(rq_ctl_used),
    .rsp_idx_o(rq_rsp_q), .rsp_cfg_i(qcfg_rq_rsp),
    .chk_idx_o(rq_chk_q), .chk_want_i(rq_chk_state != 2'd2), .chk_emit_i(rq_chk_used),
    .cons_valid_i(rq_cons_valid), .cons_qpn_i(rq_cons_qpn), .cons_ready_o(rq_cons_ready),
    .wake_valid_o(rq_wake_valid), .wake_qpn_o(rq_wake_qpn), .wake_ready_i(rq_wake_ready),
    .slot_idx_i(rsp_q), .slot_gen_o(rq_gen), .slot_cls_o(unused_rq_cls), .slot_more_o(rq_more),
    .wqe_slot_i(rqe_slot), .wqe_o(rqe),
    .stat_idx_i(stat_idx[QpW-1:0]), .stat_tail_o(unused_rq[16:1]),
    .rd_valid_o(rq_rd_valid), .rd_tag_o(rq_rd_tag), .rd_addr_o(rq_rd_addr),
    .rd_ready_i(rq_rd_ready),
    .rr_valid_i(dma_rsp_valid_i & (dma_rsp_i.tag[9:8] == 2'b10)),
    .rr_tag_i(dma_rsp_i.tag[RqTagW-1:0]),
    .rr_err_i(dma_rsp_i.err), .rr_data_i(dma_rsp_i.data),
    .err_valid_o(rq_err_v), .err_o(rq_err), .err_ready_i(err_ready[2] & ~fch_err_v),
    .log_valid_o(log_rq_v), .log_o(log_rq), .rlog_valid_o(log_rqrd_v), .rlog_o(log_rqrd),
    .cnt_wqe_o(unused_rq[17]), .cnt_push_o(unused_rq_push[1]), .busy_o(rq_busy)
  );

  nic_requester #(
    .Planes(Planes), .NumQp(NumQp), .NumMr(NumMr), .AckEvery(AckEvery), .TxdDepth(TxdDepth)
  ) u_req (
    .clk_i, .rst_ni, .now_i, .timeout_i(timeout), .rnr_timer_i(rnr_timer), .reorder_i(reorder),
    .cc_step_i(cc_step), .pace_req_i(pace_req), .pace_bulk_i(pace_bulk),
    .plane_probe_i(plane_probe), .down_we_i(down_we), .down_i(down_new), .down_o(planes_down),
    .init_valid_i(init_valid), .init_kind_i(init_kind), .init_idx_i(init_idx),
    .init_state_i(obj_qp.state[1:0]), .init_psn_i(obj_qp.sq_psn), .init_cwnd_i(obj_qp.cwnd[9:0]),
    .cfg_idx_o(req_q), .cfg_i(qcfg_req), .mr_idx_o(req_mr), .mr_i(mr_req),
    .slot_gen_i(slot_gen), .slot_cls_i(slot_cls), .slot_more_i(slot_more),
    .wqe_slot_o(wqe_slot), .wqe_i(wqe),
    .rda_idx_i(fch_ctl_q), .rda_state_o(fch_state), .rda_head_o(fch_head),
    .rdb_idx_i(fch_chk_q), .rdb_want_o(chk_want), .rdb_emit_o(chk_emit),
    .rdc_idx_i(rsp_q), .rdc_state_o(rsp_state),
    .rde_idx_i(rq_ctl_q), .rde_state_o(rq_ctl_state),
    .rdf_idx_i(rq_chk_q), .rdf_state_o(rq_chk_state),
    .rdd_idx_i(stat_idx[QpW-1:0]), .rdd_state_o(stat_state), .rdd_next_o(stat_next),
    .rdd_una_o(stat_una), .rdd_head_o(stat_head),
    .rdd_cwnd_o(stat_cwnd), .rdd_marks_o(stat_marks), .rdd_again_o(stat_again),
    .wake_valid_i(wake_valid), .wake_qpn_i(wake_qpn), .wake_ready_o(wake_ready),
    .twake_valid_i(twake_valid), .twake_qpn_i(twake_qpn), .twake_ready_o(twake_ready),
    .look_ctr_o(look_ctr), .look_min_o(look_min), .look_failed_i(look_failed), .look_met_i(look_met),
    .wait_o(wait_on), .leave_o(leave),
    .bump_valid_o(bump_v), .bump_o(bump), .bump_ready_i(bump_ready),
    .err_ctr_valid_o(err_ctr_v), .err_ctr_o(err_ctr), .cnt_wait_o(cnt_wait),
    .cons_valid_o(cons_valid), .cons_qpn_o(cons_qpn), .cons_ready_i(cons_ready),
    .err_valid_i({fch_err_v | rq_err_v, cpl_err_v, rsp_err_q_v}), .err_rsp_i(rsp_err_q),
    .err_cpl_i(cpl_err), .err_fch_i(fch_err_v ? fch_err : rq_err), .err_ready_o(err_ready),
    .ack_valid_i(rxh_v & (rxh_isack | (rxh_isrrs & ~rxv_valid_q))), .ack_data_i(rxh_d),
    .ack_rsp_i(rxh_isrrs), .ack_ready_o(ack_pop),
    .rxd_valid_i(rxd_v & rxd_rsp), .rxd_data_i(rxd_d), .rxd_ready_o(s_rxd_pop),
    .rxv_valid_o(s_rxv_set), .rxv_plane_o(s_rxv_plane), .rxv_o(s_rxv),
    .txc_valid_i(txc_v & ~txc_rsp), .txc_data_i(txc_d), .txc_ready_o(s_txc_pop),
    .cred_i(cred_nz_q), .cred_cnt_i(cred_cnt), .rtx_valid_i(r_tx_plan), .rtx_plane_i(r_tx_plane),
    .tx_valid_o(s_tx_valid), .tx_plane_o(s_tx_plane), .tx_o(s_tx), .bulk_wait_o(bulk_turn),
    .cqe_valid_o(s_cqe_v), .cqe_o(s_cqe), .cqe_ready_i(s_cqe_room),
    .log_valid_o(log_req_v), .log_o(log_req),
    .cnt_ack_o(cnt_rx_ack), .cnt_ce_o(cnt_rx_ack_ce), .cnt_plane_o(rx_ack_plane),
    .cnt_lost_o(cnt_lost), .cnt_lost_plane_o(lost_plane), .cnt_again_o(cnt_again),
    .cnt_timeout_o(cnt_timeout), .cnt_dup_o(cnt_dup_rsp), .cnt_rnr_o(cnt_rnr_in),
    .failed_valid_o(failed_v), .failed_qpn_o(failed_q),
    .busy_o(req_busy), .deadline_o
  );

  nic_responder #(
    .Planes(Planes), .NumQp(NumQp), .NumMr(NumMr), .AckEvery(AckEvery)
  ) u_rsp (
    .clk_i, .rst_ni,
    .init_valid_i(init_valid), .init_kind_i(init_kind), .init_idx_i(init_idx),
    .init_sub_i(init_sub), .init_psn_i(obj_qp.rq_psn), .enable_i(enable),
    .db_valid_i(db_recv_ok & (~qcfg_fch_ctl.rq_ring | rq_db_ok)), .db_qpn_i(db_q.index),
    .db_total_i(db_q.value),
    .slot_gen_i(rq_gen), .slot_more_i(rq_more), .rqe_slot_o(rqe_slot), .rqe_i(rqe),
    .cons_valid_o(rq_cons_valid), .cons_qpn_o(rq_cons_qpn), .cons_ready_i(rq_cons_ready),
    .rda_idx_i(rq_ctl_q), .rda_used_o(rq_ctl_used), .rdb_idx_i(rq_chk_q), .rdb_used_o(rq_chk_used),
    .failed_valid_i(failed_v), .failed_qpn_i(failed_q),
    .wake_valid_i(rq_wake_valid), .wake_qpn_i(rq_wake_qpn), .wake_ready_o(rq_wake_ready),
    .cfg_idx_o(rsp_q), .cfg_i(qcfg_rsp), .state_i(rsp_state), .mr_idx_o(rsp_mr), .mr_i(mr_rsp),
    .rxh_valid_i(rxh_v & ~rxh_isack & ~rxh_isrrs), .rxh_data_i(rxh_d), .rxh_ready_o(req_pop),
    .rxd_valid_i(rxd_v & ~rxd_rsp), .rxd_data_i(rxd_d), .rxd_ready_o(r_rxd_pop),
    .txc_valid_i(txc_v & txc_rsp), .txc_data_i(txc_d), .txc_ready_o(r_txc_pop),
    .rxv_free_i(~rxv_valid_q), .rxv_valid_o(r_rxv_set), .rxv_plane_o(r_rxv_plane), .rxv_o(r_rxv),
    .cred_i(cred_rsp), .cred_bulk_i(cred_bulk), .tx_plan_o(r_tx_plan), .tx_plane_o(r_tx_plane), .tx_valid_o(r_tx_valid),
    .tx_o(r_tx),
    .cqe_valid_o(r_cqe_v), .cqe_o(r_cqe), .cqe_ready_i(r_cqe_room),
    .note_valid_i(note_v), .note_i(note), .note_ready_o(note_ready),
    .err_valid_o(rsp_err_v), .err_o(rsp_err), .err_ready_i(rsp_err_room),
    .log_valid_o(log_rsp_v), .log_o(log_rsp),
    .stat_idx_i(stat_idx[QpW-1:0]), .stat_exp_o(stat_exp), .stat_msn_o(stat_msn),
    .cnt_pkt_o(cnt_rx_pkt), .cnt_bad_o(cnt_rx_bad), .cnt_ce_o(cnt_rx_ce),
    .cnt_plane_o(rx_plane), .cnt_dup_o(cnt_dup_req), .cnt_deferred_o(cnt_deferred),
    .cnt_rnr_o(cnt_rnr_out), .cnt_atomic_o(cnt_atomic),
    .bump_valid_o(imm_v), .bump_ctr_o(imm_ctr), .bump_ready_i(imm_ready), .busy_o(rsp_busy)
  );

  nic_trigger #(.NumQp(NumQp)) u_trigger (
    .clk_i, .rst_ni, .clear_i(clearing), .clear_idx_i(init_idx),
    .fail_valid_i(err_ctr_v), .fail_ctr_i(err_ctr),
    .cpl_valid_i(bump_v), .cpl_i(bump), .cpl_ready_o(bump_ready),
    .imm_valid_i(imm_v), .imm_ctr_i(imm_ctr), .imm_ready_o(imm_ready),
    .db_valid_i(db_ctr & db_ctr_ok), .db_i({db_q.index[CtrW-1:0], 1'b0, 16'd0, db_q.value}),
    .db_ready_o(trg_db_ready),
    .obj_we_i(ctr_we), .obj_idx_i(init_idx[CtrW-1:0]), .obj_data_i(obj_data[63:0]), .obj_ready_o(ctr_ready),
    .obj_data_o(ctr),
    .look_ctr_i(look_ctr), .look_min_i(look_min), .look_failed_o(look_failed), .look_met_o(look_met),
    .wait_i(wait_on), .leave_i(leave), .look_qpn_i(req_q),
    .wake_valid_o(twake_valid), .wake_qpn_o(twake_qpn), .wake_ready_i(twake_ready),
    .cnt_bump_o(cnt_bump), .busy_o(trg_busy)
  );

  ubl_fifo #(.Width(ErrBits), .Depth(4)) u_rsp_err (
    .clk_i, .rst_ni,
    .in_valid_i(rsp_err_v), .in_data_i(rsp_err), .in_ready_o(rsp_err_room),
    .out_valid_o(rsp_err_q_v), .out_data_o(rsp_err_q), .out_ready_i(err_ready[0]),
    .count_o(unused_err_level)
  );
  ubl_fifo #(.Width(CplBits), .Depth(8)) u_snd_cqe (
    .clk_i, .rst_ni,
    .in_valid_i(s_cqe_v), .in_data_i(s_cqe), .in_ready_o(s_cqe_room),
    .out_valid_o(s_cqe_qv), .out_data_o(s_cqe_q), .out_ready_i(s_cqe_pop),
    .count_o(unused_s_level)
  );
  ubl_fifo #(.Width(CplBits), .Depth(8)) u_rcv_cqe (
    .clk_i, .rst_ni,
    .in_valid_i(r_cqe_v), .in_data_i(r_cqe), .in_ready_o(r_cqe_room),
    .out_valid_o(r_cqe_qv), .out_data_o(r_cqe_q), .out_ready_i(r_cqe_pop),
    .count_o(unused_r_level)
  );

  // A READ request names a length, but carries nothing.
  assign s_tx_len = (s_tx.opcode == ubl_pkg::PktOpReadRequest) ? 13'd0 : s_tx.len;

  assign cq_db_v = db_cq & ~log_db_v;

  nic_completer #(.NumCq(NumCq)) u_cpl (
    .clk_i, .rst_ni,
    .cq_init_i(cq_we), .cq_init_idx_i(init_idx[CqW-1:0]),
    .db_valid_i(cq_db_v), .db_cq_i(db_q.index[CqW-1:0]), .db_cons_i(db_q.value),
    .cfg_idx_o(cpl_cq), .cfg_i(cqcfg),
    .snd_valid_i(s_cqe_qv), .snd_i(s_cqe_q), .snd_ready_o(s_cqe_pop),
    .rcv_valid_i(r_cqe_qv), .rcv_i(r_cqe_q), .rcv_ready_o(r_cqe_pop),
    .req_valid_o(cpl_req_v), .req_o(cpl_req), .req_ready_i(cpl_req_ready),
    .issued_i(dma_issued), .wr_valid_i(dma_wr_rsp), .wr_err_i(dma_rsp_i.err),
    .note_valid_o(note_v), .note_o(note), .note_ready_i(note_ready),
    .err_valid_o(cpl_err_v), .err_o(cpl_err), .err_ready_i(err_ready[1]),
    .log_valid_o(log_ovf_v), .log_o(log_ovf), .wlog_valid_o(log_wr_v), .wlog_o(log_wr),
    .cnt_cqe_o(cnt_cqe), .busy_o(cpl_busy)
  );

  always_comb begin
    stat              = '0;
    stat.state        = 8'(stat_state);
    stat.next_psn     = stat_next;
    stat.una_psn      = stat_una;
    stat.expected_psn = stat_exp;
    stat.msn          = stat_msn;
    stat.sq_head      = stat_head;
    stat.sq_tail      = stat_tail;
    stat.cwnd         = stat_cwnd;
    stat.marks        = stat_marks;
    stat.retransmits  = stat_again;
  end

  // ---------------------------------------------------------------------------------------------
  // Output registers: descriptors, verdicts, DMA
  for (genvar p = 0; p < Planes; p++) begin : gen_out
    logic txd_valid_q, rxv_free;
    logic s_here, r_here, s_rxv_here, r_rxv_here;
    logic [ubl_pkg::TxdBits-1:0] txd_q;
    logic [ubl_pkg::RxvBits-1:0] rxv_q;
    assign s_here   = s_tx_valid & (s_tx_plane == 3'(p));
    assign r_here   = r_tx_valid & (r_tx_plane == 3'(p));
    assign rxv_free = rxv_valid_q[p] & rxv_ready_i[p];
    assign s_rxv_here = s_rxv_set & (s_rxv_plane == 3'(p));
    assign r_rxv_here = r_rxv_set & (r_rxv_plane == 3'(p));
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        txd_valid_q    <= 1'b0;
        rxv_valid_q[p] <= 1'b0;
      end else begin
        txd_valid_q <= s_here | r_here;
        if (s_rxv_here || r_rxv_here) rxv_valid_q[p] <= 1'b1;
        else if (rxv_free) rxv_valid_q[p] <= 1'b0;
      end
    end
    always_ff @(posedge clk_i) begin
      if (r_here) txd_q <= r_tx;
      else if (s_here) txd_q <= s_tx;
      if (r_rxv_here) rxv_q <= r_rxv;
      else if (s_rxv_here) rxv_q <= s_rxv;
    end
    assign txd_valid_o[p] = txd_valid_q;
    assign txd_o[p*ubl_pkg::TxdBits +: ubl_pkg::TxdBits] = txd_q;
    assign rxv_valid_o[p] = rxv_valid_q[p];
    assign rxv_o[p*ubl_pkg::RxvBits +: ubl_pkg::RxvBits] = rxv_q;
    `UBL_ASSERT(one_descriptor, !(s_here && r_here))
    `UBL_ASSERT(one_verdict, !(s_rxv_here && r_rxv_here))
  end

  logic dma_valid_q, dma_turn_q, dma_load, dma_sel_rd, rd_any, rd_turn_q, rd_sel_rq;
  ubl_pkg::dma_req_t dma_q, rd_req;

  always_comb begin
    rd_req      = '0;
    rd_req.kind = ubl_pkg::DmaKindRead;
    rd_req.tag  = rd_sel_rq ? {2'b10, 8'(rq_rd_tag)} : 10'(rd_tag);
    rd_req.addr = rd_sel_rq ? rq_rd_addr : rd_addr;
    rd_req.len  = 7'(ubl_pkg::WqeBytes);
  end
  assign rd_any        = rd_valid | rq_rd_valid;
  assign rd_sel_rq     = rq_rd_valid & (~rd_valid | rd_turn_q);
  assign dma_load      = (~dma_valid_q | dma_req_ready_i) & (rd_any | cpl_req_v);
  assign dma_sel_rd    = rd_any & (~cpl_req_v | dma_turn_q);
  assign rd_ready      = dma_load & dma_sel_rd & ~rd_sel_rq;
  assign rq_rd_ready   = dma_load & dma_sel_rd & rd_sel_rq;
  assign cpl_req_ready = dma_load & ~dma_sel_rd;
  assign dma_issued    = dma_valid_q & dma_req_ready_i & (dma_q.kind == ubl_pkg::DmaKindWrite);
  assign dma_wr_rsp    = dma_rsp_valid_i & (dma_rsp_i.tag[9:8] == 2'b11);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      dma_valid_q <= 1'b0;
      dma_turn_q  <= 1'b0;
      rd_turn_q   <= 1'b0;
    end else begin
      if (dma_load) dma_valid_q <= 1'b1;
      else if (dma_req_ready_i) dma_valid_q <= 1'b0;
      if (dma_load) dma_turn_q <= ~dma_sel_rd;
      if (dma_load && dma_sel_rd) rd_turn_q <= ~rd_sel_rq;
    end
  end
  always_ff @(posedge clk_i) begin
    if (dma_load) dma_q <= dma_sel_rd ? rd_req : cpl_req;
  end
  assign dma_req_valid_o = dma_valid_q;
  assign dma_req_o       = dma_q;

  assign idle_o = ~(csr_busy | trg_busy | push_valid_q | fch_busy | rq_busy | req_busy | rsp_busy | cpl_busy | db_valid_q |
                    dma_valid_q | (|txd_valid_o) | (|rxv_valid_q));

  `UBL_ASSERT_INIT(widths, CtrW == $clog2(ubl_pkg::NicNumCtr) &&
      QcfgBits == $bits(nic_core_pkg::qcfg_t) && MrBits == $bits(nic_core_pkg::mr_t) &&
      CqBits == $bits(nic_core_pkg::cqcfg_t) && CplBits == $bits(nic_core_pkg::cpl_t) &&
      ErrBits == $bits(nic_core_pkg::errev_t) &&
      nic_core_pkg::WentBits == $bits(nic_core_pkg::went_t) &&
      nic_core_pkg::LogBits == $bits(nic_core_pkg::log_t) &&
      nic_core_pkg::NoteBits == $bits(nic_core_pkg::note_t))
  `UBL_ASSERT(dma_in_line, !dma_valid_q || dma_q.kind == ubl_pkg::DmaKindMsix ||
              dma_q.addr[5:0] == 6'd0)

endmodule
