// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Receive side of nic_core: judges incoming request packets, follows their placement in memory,
// acknowledges. It owns the receive context of every QP, separate from the send context, and
// handles one event per cycle: a header, a placement, an acknowledgement to send, the outcome of a
// receive completion, or a receive to flush. A header that must wait (verdict register full, eight packets in flight,
// address hazard) blocks only its own plane. A READ request never blocks: it is kept in the QP's table
// until everything before it is placed and a descriptor of VC bulk is free; then its response is
// handed to nic_port. So headers are always drained, whatever the link to the peer does.
// Acknowledgements wait in per-plane queues that hold
// each QP at most once, so they coalesce while a plane has no credit.
// See also: nic_core.md, nic_requester.sv, nic_completer.sv.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_responder #(
  /// Planes, 1..8.
  parameter int unsigned Planes = 8,
  /// Queue pairs, a power of two.
  parameter int unsigned NumQp = 1024,
  /// Memory regions, a power of two.
  parameter int unsigned NumMr = 256,
  /// Packets after which an acknowledgement is sent unasked.
  parameter int unsigned AckEvery = 16,
  /// QP index width, do not overwrite.
  localparam int unsigned QpW = $clog2(NumQp),
  /// MR index width, do not overwrite.
  localparam int unsigned MrW = $clog2(NumMr)
) (
  /// Clock.
  input  logic clk_i,
  /// Reset, active low.
  input  logic rst_ni,

  /// Initialisation event; stops every other event of this cycle.
  input  logic        init_valid_i,
  /// nic_core_pkg::Init*.
  input  logic [1:0]  init_kind_i,
  /// Index of the initialisation.
  input  logic [15:0] init_idx_i,
  /// First PSN expected (write_qp).
  input  logic [23:0] init_psn_i,
  /// ctrl.enable: requests are accepted.
  input  logic        enable_i,

  /// "Receives posted" doorbell.
  input  logic        db_valid_i,
  /// QPN of the doorbell, below NumQp.
  input  logic [15:0] db_qpn_i,
  /// Total of posted receives.
  input  logic [15:0] db_total_i,

  /// Generation bits of the prefetch slots of QP cfg_idx_o: entries of its receive ring.
  input  logic [3:0]          slot_gen_i,
  /// QP cfg_idx_o has posted receives not yet requested.
  input  logic                slot_more_i,
  /// Prefetch slot wanted.
  output logic [1:0]          rqe_slot_o,
  /// Its entry.
  input  nic_core_pkg::went_t rqe_i,
  /// A receive ring entry was taken and more can be fetched.
  output logic                cons_valid_o,
  /// QPN.
  output logic [QpW-1:0]      cons_qpn_o,
  /// There is room (registers only).
  input  logic                cons_ready_i,
  /// QP the fetch of receive rings works on.
  input  logic [QpW-1:0]      rda_idx_i,
  /// Its consumed receives.
  output logic [15:0]         rda_used_o,
  /// QP of its wake check.
  input  logic [QpW-1:0]      rdb_idx_i,
  /// Its consumed receives.
  output logic [15:0]         rdb_used_o,
  /// A QP moved to error.
  input  logic                failed_valid_i,
  /// Which.
  input  logic [QpW-1:0]      failed_qpn_i,
  /// A receive ring entry of a QP in error has arrived.
  input  logic                wake_valid_i,
  /// QPN.
  input  logic [QpW-1:0]      wake_qpn_i,
  /// Taken.
  output logic                wake_ready_o,

  /// QP whose configuration and state the event reads.
  output logic [QpW-1:0]      cfg_idx_o,
  /// Its configuration.
  input  nic_core_pkg::qcfg_t cfg_i,
  /// Its state.
  input  logic [1:0]          state_i,
  /// Memory region the event reads.
  output logic [MrW-1:0]      mr_idx_o,
  /// The region.
  input  nic_core_pkg::mr_t   mr_i,

  /// Per plane: the oldest received header is a request or has an error.
  input  logic [Planes-1:0]                  rxh_valid_i,
  /// The headers (rxh_t each).
  input  logic [Planes*ubl_pkg::RxhBits-1:0] rxh_data_i,
  /// Taken.
  output logic [Planes-1:0]                  rxh_ready_o,
  /// Per plane: a packet is placed.
  input  logic [Planes-1:0]                  rxd_valid_i,
  /// The reports (rxd_t each).
  input  logic [Planes*ubl_pkg::RxdBits-1:0] rxd_data_i,
  /// Taken.
  output logic [Planes-1:0]                  rxd_ready_o,
  /// Per plane: payload of a READ response could not be read.
  input  logic [Planes-1:0]                  txc_valid_i,
  /// The reports (txc_t each).
  input  logic [Planes*ubl_pkg::TxcBits-1:0] txc_data_i,
  /// Taken.
  output logic [Planes-1:0]                  txc_ready_o,
  /// Per plane: the verdict register is free.
  input  logic [Planes-1:0]                  rxv_free_i,
  /// A verdict is issued.
  output logic                               rxv_valid_o,
  /// Its plane.
  output logic [2:0]                         rxv_plane_o,
  /// The verdict.
  output ubl_pkg::rxv_t                      rxv_o,

  /// Per plane: a descriptor slot of VC rsp is free.
  input  logic [Planes-1:0] cred_i,
  /// Per plane: a READ response may take a descriptor slot of VC bulk.
  input  logic [Planes-1:0] cred_bulk_i,
  /// The event of this cycle may emit a descriptor (registers only) ...
  output logic              tx_plan_o,
  /// ... on this plane.
  output logic [2:0]        tx_plane_o,
  /// It does.
  output logic              tx_valid_o,
  /// The descriptor.
  output ubl_pkg::txd_t     tx_o,

  /// A receive completion is produced.
  output logic               cqe_valid_o,
  /// The completion.
  output nic_core_pkg::cpl_t cqe_o,
  /// There is room (registers only).
  input  logic               cqe_ready_i,
  /// A receive completion was written or failed.
  input  logic               note_valid_i,
  /// Which.
  input  nic_core_pkg::note_t note_i,
  /// Taken.
  output logic               note_ready_o,

  /// QP to be moved to error.
  output logic                 err_valid_o,
  /// Which.
  output nic_core_pkg::errev_t err_o,
  /// There is room (registers only).
  input  logic                 err_ready_i,
  /// Error log entry.
  output logic                 log_valid_o,
  /// The entry.
  output nic_core_pkg::log_t   log_o,

  /// QP read by read_qp.
  input  logic [QpW-1:0] stat_idx_i,
  /// Its expected PSN.
  output logic [23:0]    stat_exp_o,
  /// Its message sequence number.
  output logic [23:0]    stat_msn_o,

  /// A good request frame was taken from plane cnt_plane_o.
  output logic       cnt_pkt_o,
  /// A frame with an error was taken from plane cnt_plane_o.
  output logic       cnt_bad_o,
  /// The good request frame carried CE.
  output logic       cnt_ce_o,
  /// Plane of the counters.
  output logic [2:0] cnt_plane_o,
  /// Something would happen without new input.
  output logic       busy_o
);

  localparam int unsigned InfDepth = 8;  // packets in flight to memory per plane
  localparam int unsigned InfW = $clog2(InfDepth);
  localparam int unsigned NumInf = Planes * InfDepth;
  localparam int unsigned NoteW = 5;
  localparam int unsigned MaxReads = ubl_pkg::NicMaxReads;
  localparam int unsigned ReadW = $clog2(MaxReads);
  localparam int unsigned ReadBits = 77;

  // Receive context. in_ack, in_rd, in_fl, inflight, iplane and cqe_wait describe real objects on their way and
  // survive write_qp.
  typedef struct packed {
    logic              err;       // failed on the receive side; the requester is being told
    logic [23:0]       expect_psn;
    logic [23:0]       done;      // everything before it is placed
    logic [23:0]       msn;
    logic [23:0]       used;      // receives consumed
    logic [31:0]       roff;      // bytes of the SEND that is arriving
    logic [47:0]       ccnt;      // receive completions produced
    logic [7:0]        unack;     // placed packets since the last acknowledgement
    logic              gap;       // a NAK for expect_psn was decided; silence until it arrives
    logic              nak_v;
    logic [7:0]        nak_syn;
    logic [23:0]       nak_psn;
    logic              ack_p;     // an acknowledgement is due
    logic              ce;        // CE seen since the last acknowledgement
    logic [2:0]        aplane;    // plane of the last request: acknowledgements go there
    logic [Planes-1:0] in_ack;
    logic [InfW:0]     inflight;
    logic [2:0]        iplane;    // plane of the packets in flight
    logic [NoteW-1:0]  cqe_wait;  // receive completions not yet written
    logic [ReadW:0]    reads;     // READ requests not yet answered: the PSNs before expect_psn
    logic [Planes-1:0] in_rd;
    logic              in_fl;     // in the flush queue
  } rctx_t;

  typedef struct packed {
    logic [QpW-1:0] q;
    logic [15:0]    epoch;
    logic [23:0]    psn;
    logic           ack_req;
    logic           ce;
    logic           cons;   // consumes a receive
    logic           ring;   // which is an entry of a ring
    logic [7:0]     op;     // pkt_op
    logic [31:0]    len;    // byte_len of the completion
    logic [31:0]    imm;
    logic [63:0]    wr_id;  // of the entry
  } inf_t;

  localparam int unsigned InfBits = QpW + 180;

  localparam int unsigned CtxBits = 238 + ReadW + 2 * Planes;

  // Memories are plain vectors: yosys drops the dimension of an array of a local struct type.
  logic [CtxBits-1:0] ctx_mem [NumQp];
  logic [15:0] post_mem [NumQp];
  logic [InfBits-1:0] inf_mem [NumInf];
  logic [63:0] inf_addr_mem [NumInf];
  logic [63:0] inf_last_mem [NumInf];
  logic [QpW-1:0] ack_mem [2**(3+QpW)];
  logic [QpW-1:0] rdq_mem [2**(3+QpW)];
  logic [QpW-1:0] flq_mem [NumQp];   // QPs in error with a receive to flush
  logic [15:0] used_mem [NumQp];     // copy of used for nic_wqe_fetch
  logic [ReadBits-1:0] rd_mem [NumQp*MaxReads];  // by PSN: address and length of a READ request

  logic [InfW:0] inf_wr_q [Planes];
  logic [InfW:0] inf_rd_q [Planes];
  logic [NumInf-1:0] inf_live_q;  // in flight, not empty
  logic [NumInf-1:0] inf_red_q;   // is a REDUCE
  logic [QpW:0] ack_wr_q [Planes];
  logic [QpW:0] ack_rd_q [Planes];
  logic [QpW:0] rdq_wr_q [Planes];
  logic [QpW:0] rdq_rd_q [Planes];
  logic [Planes-1:0] ack_ne_q, ack_mask_q, rxh_mask_q, rxd_mask_q, rdq_ne_q, rdq_mask_q, txc_mask_q;
  logic [QpW:0] flq_wr_q, flq_rd_q;
  logic rd_turn_q;  // READ responses go before acknowledgements
  logic [1:0] grp_q;

  // ---------------------------------------------------------------------------------------------
  // Choice of the event
  localparam logic [3:0] EvNone = 4'd0;
  localparam logic [3:0] EvClear = 4'd1;
  localparam logic [3:0] EvInit = 4'd2;
  localparam logic [3:0] EvNote = 4'd3;
  localparam logic [3:0] EvRxd = 4'd4;
  localparam logic [3:0] EvRxh = 4'd5;
  localparam logic [3:0] EvAck = 4'd6;
  localparam logic [3:0] EvTxc = 4'd7;
  localparam logic [3:0] EvWake = 4'd8;   // may have a receive to flush
  localparam logic [3:0] EvFlush = 4'd9;

  logic [Planes-1:0] rxh_src, rxh_hot, rxd_src, rxd_hot, ack_elig, ack_src, ack_hot;
  logic [Planes-1:0] rdq_elig, rdq_src, rdq_hot, txc_src, txc_hot;
  logic [2:0] rxh_plane, rxd_plane, ack_plane, rdq_plane, txc_plane;
  logic g_rxd, g_rxh, g_ack, sel_rd;
  logic [1:0] grp;
  logic [3:0] ev;
  logic g_fl, failed_v, unused_failed_ready;
  logic [QpW-1:0] failed_q;
  logic [2:0] unused_failed_level;
  logic [QpW-1:0] q, ack_q, rdq_q;
  ubl_pkg::rxh_t h;
  ubl_pkg::rxd_t d;
  ubl_pkg::txc_t t;
  inf_t e;
  logic [2+InfW:0] inf_head, inf_tail;
  logic [QpW:0] ack_rd, ack_rd_next, rdq_rd, rdq_rd_next;

  always_comb begin
    rxh_src   = ((rxh_valid_i & rxh_mask_q) != '0) ? (rxh_valid_i & rxh_mask_q) : rxh_valid_i;
    rxd_src   = ((rxd_valid_i & rxd_mask_q) != '0) ? (rxd_valid_i & rxd_mask_q) : rxd_valid_i;
    ack_elig  = ack_ne_q & cred_i;
    ack_src   = ((ack_elig & ack_mask_q) != '0) ? (ack_elig & ack_mask_q) : ack_elig;
    rxh_hot   = rxh_src & (~rxh_src + 1'b1);
    rxd_hot   = rxd_src & (~rxd_src + 1'b1);
    ack_hot   = ack_src & (~ack_src + 1'b1);
    rdq_elig  = rdq_ne_q & cred_bulk_i;
    rdq_src   = ((rdq_elig & rdq_mask_q) != '0) ? (rdq_elig & rdq_mask_q) : rdq_elig;
    rdq_hot   = rdq_src & (~rdq_src + 1'b1);
    txc_src   = ((txc_valid_i & txc_mask_q) != '0) ? (txc_valid_i & txc_mask_q) : txc_valid_i;
    txc_hot   = txc_src & (~txc_src + 1'b1);
    rxh_plane = '0;
    rxd_plane = '0;
    ack_plane = '0;
    rdq_plane = '0;
    txc_plane = '0;
    for (int unsigned p = 0; p < Planes; p++) begin
      if (rxh_hot[p]) rxh_plane = 3'(p);
      if (rxd_hot[p]) rxd_plane = 3'(p);
      if (ack_hot[p]) ack_plane = 3'(p);
      if (rdq_hot[p]) rdq_plane = 3'(p);
      if (txc_hot[p]) txc_plane = 3'(p);
    end
  end

  assign h = ubl_pkg::rxh_t'(rxh_data_i[32'(rxh_plane)*ubl_pkg::RxhBits +: ubl_pkg::RxhBits]);
  assign d = ubl_pkg::rxd_t'(rxd_data_i[32'(rxd_plane)*ubl_pkg::RxdBits +: ubl_pkg::RxdBits]);

  localparam int unsigned PlW = (Planes > 1) ? $clog2(Planes) : 1;
  assign t = ubl_pkg::txc_t'(txc_data_i[32'(txc_plane)*ubl_pkg::TxcBits +: ubl_pkg::TxcBits]);

  logic [PlW-1:0] rxh_pl, rxd_pl, ack_pl, rdq_pl, apush_pl;
  assign rxh_pl = rxh_plane[PlW-1:0];
  assign rxd_pl = rxd_plane[PlW-1:0];
  assign ack_pl = ack_plane[PlW-1:0];
  assign rdq_pl = rdq_plane[PlW-1:0];

  localparam int unsigned InfIdxW = (NumInf > 1) ? $clog2(NumInf) : 1;
  assign inf_head = {rxd_plane, inf_rd_q[rxd_pl][InfW-1:0]};
  assign inf_tail = {rxh_plane, inf_wr_q[rxh_pl][InfW-1:0]};
  assign e        = inf_t'(inf_mem[inf_head[InfIdxW-1:0]]);

  assign ack_rd      = ack_rd_q[ack_pl];
  assign ack_rd_next = ack_rd + 1'b1;
  assign ack_q       = ack_mem[{ack_plane, ack_rd[QpW-1:0]}];

  assign rdq_rd      = rdq_rd_q[rdq_pl];
  assign rdq_rd_next = rdq_rd + 1'b1;
  assign rdq_q       = rdq_mem[{rdq_plane, rdq_rd[QpW-1:0]}];

  // QPs that moved to error are looked at before anything else, so four places are enough for them.
  ubl_fifo #(.Width(QpW), .Depth(4)) u_failed (
    .clk_i, .rst_ni,
    .in_valid_i(failed_valid_i), .in_data_i(failed_qpn_i), .in_ready_o(unused_failed_ready),
    .out_valid_o(failed_v), .out_data_o(failed_q), .out_ready_i(ev == EvWake),
    .count_o(unused_failed_level)
  );
  assign wake_ready_o = (ev == EvWake) & ~failed_v;

  assign g_fl  = (flq_wr_q != flq_rd_q) & cqe_ready_i & cons_ready_i;
  assign g_rxd = (|rxd_valid_i) & cqe_ready_i & err_ready_i;
  assign g_rxh = (|rxh_valid_i) & err_ready_i;
  assign g_ack  = (|ack_elig) | (|rdq_elig);
  assign sel_rd = (|rdq_elig) & (rd_turn_q | ~(|ack_elig));

  always_comb begin
    grp = 2'd3;
    unique case (grp_q)
      2'd0: begin
        if (g_rxd) grp = 2'd0;
        else if (g_rxh) grp = 2'd1;
        else if (g_ack) grp = 2'd2;
      end
      2'd1: begin
        if (g_rxh) grp = 2'd1;
        else if (g_ack) grp = 2'd2;
        else if (g_rxd) grp = 2'd0;
      end
      default: begin
        if (g_ack) grp = 2'd2;
        else if (g_rxd) grp = 2'd0;
        else if (g_rxh) grp = 2'd1;
      end
    endcase
    ev = EvNone;
    if (init_valid_i) begin
      if ({1'b0, init_idx_i} >= 17'(NumQp)) ev = EvNone;
      else if (init_kind_i == nic_core_pkg::InitClear) ev = EvClear;
      else if (init_kind_i == nic_core_pkg::InitQp) ev = EvInit;
    end else if (failed_v || wake_valid_i) begin
      ev = EvWake;
    end else if (note_valid_i) begin
      ev = EvNote;
    end else if ((|txc_valid_i) && err_ready_i) begin
      ev = EvTxc;
    end else if (g_fl) begin
      ev = EvFlush;
    end else begin
      unique case (grp)
        2'd0: ev = EvRxd;
        2'd1: ev = EvRxh;
        2'd2: ev = EvAck;
        default: ev = EvNone;
      endcase
    end
    unique case (ev)
      EvNote: q = note_i.qpn[QpW-1:0];
      EvRxd: q = e.q;
      EvRxh: q = h.dst_qpn[QpW-1:0];
      EvAck: q = sel_rd ? rdq_q : ack_q;
      EvTxc: q = t.qpn[QpW-1:0];
      EvWake: q = failed_v ? failed_q : wake_qpn_i;
      EvFlush: q = flq_mem[flq_rd_q[QpW-1:0]];
      default: q = init_idx_i[QpW-1:0];
    endcase
  end

  assign cfg_idx_o    = q;
  assign mr_idx_o     = is_send ? rqe_i.lkey[8 +: MrW] : h.rkey[8 +: MrW];
  assign note_ready_o = ev == EvNote;
  assign rxd_ready_o  = (ev == EvRxd) ? rxd_hot : '0;
  assign tx_plan_o    = ev == EvAck;
  assign tx_plane_o   = sel_rd ? rdq_plane : ack_plane;
  assign txc_ready_o  = (ev == EvTxc) ? txc_hot : '0;

  // ---------------------------------------------------------------------------------------------
  // The event
  rctx_t w, n;
  logic is_send, consumes, last_send, need_rqe, rqe_here, rqe_wrong, send_bad, fl_push, want_fl;
  logic [63:0] tgt;         // where the payload goes
  logic [31:0] key;
  logic [32:0] send_end;
  logic [7:0] rqe_status, fail_syn, cqe_status;
  logic is_red, is_imm, is_read, rd_note, rpush, want_rd, qp_ok, req_bad, rkey_ok, hazard, blocked, accept, take, want_ack;
  logic fail_at;  // what was accepted at fail_psn came to nothing
  logic [23:0] dpsn, fail_psn, d_nak, rd_psn, rd_age;
  logic [63:0] rd_addr;
  logic [12:0] rd_len;
  logic [63:0] h_last;
  logic [64:0] h_end, mr_end;
  logic apush, cqe_valid, err_valid, log_valid, tx_valid, rxv_valid, placed;
  logic [15:0] posted;
  nic_core_pkg::log_t log_d;
  ubl_pkg::txd_t tx_d;
  ubl_pkg::rxv_t rxv_d;
  inf_t e_new;

  assign w       = rctx_t'(ctx_mem[q]);
  assign posted  = post_mem[q];
  assign is_red  = (h.opcode == ubl_pkg::PktOpReduce) | (h.opcode == ubl_pkg::PktOpReduceImm);
  assign is_imm  = (h.opcode == ubl_pkg::PktOpWriteImm) | (h.opcode == ubl_pkg::PktOpReduceImm);
  assign is_read = h.opcode == ubl_pkg::PktOpReadRequest;
  assign rd_psn  = w.expect_psn - 24'(w.reads);  // of the oldest READ without an answer
  assign {rd_addr, rd_len} = rd_mem[{q, rd_psn[ReadW-1:0]}];
  assign is_send = (h.opcode == ubl_pkg::PktOpSend) | (h.opcode == ubl_pkg::PktOpSendImm);
  // SENDH: h.raddr = {number, offset}, h.rkey = length of the message.
  assign send_end  = {1'b0, h.raddr[31:0]} + {20'd0, h.len};
  assign last_send = send_end == {1'b0, h.rkey};
  assign send_bad  = is_send ? (~cfg_i.rq_ring | (h.raddr[63:32] != {8'd0, w.used}) |
                                (h.raddr[31:0] != w.roff) | (send_end > {1'b0, h.rkey}) |
                                (~last_send & ((h.len == 13'd0) |
                                               (h.opcode == ubl_pkg::PktOpSendImm))))
                             : (w.roff != 32'd0);
  assign consumes  = is_imm | (is_send & last_send);
  assign need_rqe  = is_send | (is_imm & cfg_i.rq_ring);
  assign rqe_slot_o = w.used[1:0];
  assign rqe_here  = slot_gen_i[w.used[1:0]] == ~w.used[2];

  assign tgt     = is_send ? rqe_i.laddr + {32'd0, h.raddr[31:0]} : h.raddr;
  assign key     = is_send ? rqe_i.lkey : h.rkey;
  assign h_end   = {1'b0, tgt} + {52'd0, h.len};
  assign h_last  = tgt + {51'd0, h.len} - 64'd1;
  assign mr_end  = {1'b0, mr_i.base} + {1'b0, mr_i.length};
  assign rkey_ok = mr_i.valid &
                   (is_red ? mr_i.remote_reduce : (is_read ? mr_i.remote_read :
                    (is_send ? mr_i.local_write : mr_i.remote_write))) &
                   (mr_i.key == key[7:0]) & (mr_i.pd == cfg_i.pd) &
                   ((key >> (8 + MrW)) == 32'd0) &
                   (tgt >= mr_i.base) & (h_end <= mr_end);
  assign req_bad = (h.len > 13'(ubl_pkg::LinkMtu)) |
                   send_bad | ~(is_red | is_read | is_send | (h.opcode == ubl_pkg::PktOpWrite) |
                     (h.opcode == ubl_pkg::PktOpWriteImm)) |
                   // A requester keeps no more READs in flight, and nothing else behind them.
                   (is_read ? w.reads == (ReadW+1)'(MaxReads) : w.reads != '0) |
                   (is_red & ((h.len[1:0] != 2'd0) | (h.red_op != ubl_pkg::RedOpAdd) |
                              (h.red_dtype != ubl_pkg::RedTypeF32)));

  // Address hazard: an overlap with a packet in flight, at least one of both being a REDUCE.
  always_comb begin
    hazard = 1'b0;
    if (ev == EvRxh && h.len != 13'd0 && (is_red || (inf_live_q & inf_red_q) != '0)) begin
      for (int unsigned i = 0; i < NumInf; i++) begin
        if (inf_live_q[i] && (is_red || inf_red_q[i]) && tgt <= inf_last_mem[i] &&
            inf_addr_mem[i] <= h_last) begin
          hazard = 1'b1;
        end
      end
    end
  end

  // Why the receive cannot take this packet, and what the peer is told.
  always_comb begin
    rqe_status = ubl_pkg::CqeStatusOk;
    fail_syn   = ubl_pkg::SyndromeNakOper;
    if (rqe_i.err) begin
      rqe_status = ubl_pkg::CqeStatusLocalMemory;
    end else if (rqe_i.bad) begin
      rqe_status = ubl_pkg::CqeStatusBadOpcode;
    end else if (is_send && h.rkey > rqe_i.length) begin
      rqe_status = ubl_pkg::CqeStatusLocalLength;
      fail_syn   = ubl_pkg::SyndromeNakInvalid;
    end else if (is_send && h.len != 13'd0 && !rkey_ok) begin
      rqe_status = ubl_pkg::CqeStatusLocalProtection;
    end
    rqe_wrong = need_rqe & (rqe_status != ubl_pkg::CqeStatusOk);
  end

  always_comb begin
    n           = w;
    cqe_status  = ubl_pkg::CqeStatusOk;
    cqe_valid   = 1'b0;
    err_valid   = 1'b0;
    log_valid   = 1'b0;
    tx_valid    = 1'b0;
    rxv_valid   = 1'b0;
    accept      = 1'b0;
    take        = 1'b0;
    blocked     = 1'b0;
    placed      = 1'b0;
    rd_note     = 1'b0;
    log_d       = '0;
    log_d.qpn   = 16'(q);
    log_d.plane = 8'(rxh_plane);
    log_d.psn   = h.psn;
    tx_d        = '0;
    tx_d.opcode = ubl_pkg::PktOpAck;
    tx_d.vc     = ubl_pkg::VcRsp;
    dpsn        = h.psn - w.expect_psn;
    fail_at     = 1'b0;
    fail_psn    = '0;
    rd_age      = w.done - 24'd1 - t.psn;
    qp_ok       = ((h.dst_qpn >> QpW) == 24'd0) & (state_i == 2'd1) & ~w.err & enable_i &
                  (h.src_node == cfg_i.remote_node);

    rxv_d           = '0;
    rxv_d.action    = ubl_pkg::RxActionDrop;
    rxv_d.qpn       = 16'(q);
    rxv_d.psn       = h.psn;
    rxv_d.addr      = tgt;
    rxv_d.len       = h.len;
    rxv_d.red_op    = h.red_op;
    rxv_d.red_dtype = h.red_dtype;

    unique case (ev)
      EvClear: n = '0;

      EvInit: begin
        n            = '0;
        n.expect_psn = init_psn_i;
        n.done       = init_psn_i;
        n.in_ack     = w.in_ack;
        n.inflight   = w.inflight;
        n.iplane     = w.iplane;
        n.cqe_wait   = w.cqe_wait;
        n.in_rd      = w.in_rd;
        n.in_fl      = w.in_fl;
      end

      EvNote: begin
        n.cqe_wait = w.cqe_wait - 1'b1;
        if (note_i.fail && note_i.epoch == cfg_i.epoch) begin
          fail_at  = 1'b1;
          fail_psn = note_i.psn;
        end
      end

      EvRxd: begin
        n.inflight  = w.inflight - 1'b1;
        log_d.psn   = e.psn;
        log_d.plane = 8'(rxd_plane);
        if (e.epoch == cfg_i.epoch) begin
          if (d.err) begin
            log_valid   = 1'b1;
            log_d.cause = ubl_pkg::ErrCauseMemWrite;
            err_valid   = 1'b1;
            fail_at     = 1'b1;
            fail_psn    = e.psn;
          end else if (e.psn == w.done) begin
            // Behind a packet that could not be placed nothing counts as placed any more.
            placed  = 1'b1;
            n.done  = w.done + 24'd1;
            n.msn   = w.msn + 24'd1;
            n.ce    = w.ce | e.ce;
            n.unack = w.unack + 8'd1;
            if (e.ack_req || n.unack >= 8'(AckEvery)) begin
              n.ack_p = 1'b1;
              n.unack = 8'd0;
            end
            cqe_valid = e.cons;
          end
          // An entry of a ring completes whatever became of it.
          if (!placed && e.cons && e.ring) begin
            cqe_valid  = 1'b1;
            cqe_status = ubl_pkg::CqeStatusFlushed;
          end
        end
      end

      EvTxc: begin
        // A response was spoiled. The report may be one of an earlier life of the QP.
        log_d.psn   = t.psn;
        log_d.plane = 8'(txc_plane);
        if (rd_age < 24'(2 * ubl_pkg::NicMaxReads) && state_i != 2'd0) begin
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseMemWrite;
          err_valid   = 1'b1;
          fail_at     = 1'b1;
          fail_psn    = t.psn;
        end
      end

      EvRxh: begin
        if (h.err != 8'd0) begin
          take        = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = h.err;
          log_d.qpn   = h.dst_qpn[15:0];
        end else if (!rxv_free_i[rxh_pl]) begin
          blocked = 1'b1;
        end else if (!qp_ok) begin
          take        = 1'b1;
          rxv_valid   = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseBadQp;
          log_d.qpn   = h.dst_qpn[15:0];
        end else if (dpsn != 24'd0) begin
          take      = 1'b1;
          rxv_valid = 1'b1;
          n.aplane  = rxh_plane;
          n.ce      = w.ce | h.ce;
          if (dpsn[23]) begin
            n.ack_p     = 1'b1;
            log_valid   = 1'b1;
            log_d.cause = ubl_pkg::ErrCauseDuplicate;
          end else if (!w.gap) begin
            n.gap       = 1'b1;
            n.nak_v     = 1'b1;
            n.nak_syn   = ubl_pkg::SyndromeNakSeq;
            n.nak_psn   = w.expect_psn;
            log_valid   = 1'b1;
            log_d.cause = ubl_pkg::ErrCauseSequence;
          end
        end else if (req_bad || (!is_send && h.len != 13'd0 && !rkey_ok)) begin
          take        = 1'b1;
          rxv_valid   = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = req_bad ? ubl_pkg::ErrCauseMalformed : ubl_pkg::ErrCauseAccess;
          err_valid   = 1'b1;
          n.err       = 1'b1;
          n.gap       = 1'b1;
          n.aplane    = rxh_plane;
          n.nak_v     = 1'b1;
          n.nak_syn   = req_bad ? ubl_pkg::SyndromeNakInvalid : ubl_pkg::SyndromeNakAccess;
          n.nak_psn   = w.expect_psn;
        end else if ((is_imm || is_send) && posted == w.used[15:0]) begin
          take        = 1'b1;
          rxv_valid   = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseRnr;
          n.gap       = 1'b1;
          n.aplane    = rxh_plane;
          n.nak_v     = 1'b1;
          n.nak_syn   = ubl_pkg::SyndromeRnr;
          n.nak_psn   = w.expect_psn;
        end else if (need_rqe && !rqe_here) begin
          blocked = 1'b1;
        end else if (rqe_wrong) begin
          // Its completion must not overtake those of packets in flight.
          if (w.inflight != '0 || !cqe_ready_i || !cons_ready_i) begin
            blocked = 1'b1;
          end else begin
            take        = 1'b1;
            rxv_valid   = 1'b1;
            log_valid   = ~rqe_i.err;  // a refused ring read was logged when it came back
            log_d.cause = ubl_pkg::ErrCauseLocal;
            err_valid   = 1'b1;
            cqe_valid   = 1'b1;
            cqe_status  = rqe_status;
            n.err       = 1'b1;
            n.gap       = 1'b1;
            n.used      = w.used + 24'd1;
            n.roff      = 32'd0;
            n.aplane    = rxh_plane;
            n.nak_v     = 1'b1;
            n.nak_syn   = fail_syn;
            n.nak_psn   = w.expect_psn;
          end
        end else if (!is_read && (hazard || (consumes && !cons_ready_i) || (inf_wr_q[rxh_pl] - inf_rd_q[rxh_pl]) == (InfW+1)'(InfDepth) ||
                     (w.inflight != '0 && w.iplane != rxh_plane))) begin
          // Placements of one QP are reported in order only within a plane, so a QP that changes
          // its plane waits for the old one to run empty.
          blocked = 1'b1;
        end else if (is_read) begin
          take         = 1'b1;
          rd_note      = 1'b1;
          n.reads      = w.reads + 1'b1;
          n.expect_psn = w.expect_psn + 24'd1;
          n.gap        = 1'b0;
          n.nak_v      = 1'b0;
          n.aplane     = rxh_plane;
          n.ce         = w.ce | h.ce;
        end else begin
          take         = 1'b1;
          rxv_valid    = 1'b1;
          accept       = 1'b1;
          rxv_d.action = is_red ? ubl_pkg::RxActionReduce : ubl_pkg::RxActionWrite;
          n.expect_psn = w.expect_psn + 24'd1;
          n.gap        = 1'b0;
          n.nak_v      = 1'b0;
          n.aplane     = rxh_plane;
          n.iplane     = rxh_plane;
          n.inflight   = w.inflight + 1'b1;
          n.roff       = (is_send && !last_send) ? send_end[31:0] : 32'd0;
          if (consumes) n.used = w.used + 24'd1;
        end
      end

      EvFlush: begin
        n.in_fl = 1'b0;
        if (want_fl) begin
          cqe_valid  = 1'b1;
          cqe_status = ubl_pkg::CqeStatusFlushed;
          n.used     = w.used + 24'd1;
          n.roff     = 32'd0;
        end
      end

      EvAck: if (sel_rd) begin
        n.in_rd[rdq_pl] = 1'b0;
        if (w.aplane == rdq_plane && w.reads != '0 && w.inflight == '0 && w.cqe_wait == '0) begin
          tx_valid      = 1'b1;
          tx_d.opcode   = ubl_pkg::PktOpReadResponse;
          tx_d.vc       = ubl_pkg::VcBulk;
          tx_d.laddr    = rd_addr;
          tx_d.len      = rd_len;
          tx_d.syndrome = ubl_pkg::SyndromeAck;
          tx_d.psn      = rd_psn;
          n.reads       = w.reads - 1'b1;
          n.done        = w.done + 24'd1;
          n.msn         = w.msn + 24'd1;
          tx_d.msn      = n.msn;
        end
      end else begin
        n.in_ack[ack_pl] = 1'b0;
        if (w.aplane == ack_plane && w.cqe_wait == '0) begin
          tx_d.becn = w.ce;
          tx_d.msn  = w.msn;
          if (w.nak_v && w.inflight == '0 && w.reads == '0) begin
            tx_valid      = 1'b1;
            tx_d.syndrome = w.nak_syn;
            tx_d.psn      = w.nak_psn;
            n.nak_v       = 1'b0;
          end else if (w.ack_p && !w.err) begin
            tx_valid      = 1'b1;
            tx_d.syndrome = ubl_pkg::SyndromeAck;
            tx_d.psn      = w.done - 24'd1;
          end
          if (tx_valid) begin
            n.ack_p = 1'b0;
            n.ce    = 1'b0;
            n.unack = 8'd0;
          end
        end
      end

      default: ;
    endcase

    // The peer hears of the earliest failure, unless it was told of one.
    d_nak = w.nak_psn - fail_psn;
    if (fail_at) begin
      n.err   = 1'b1;
      n.reads = '0;
      if (w.nak_v ? (d_nak != 24'd0 && !d_nak[23]) : !w.err) begin
        n.nak_v   = 1'b1;
        n.nak_syn = ubl_pkg::SyndromeNakOper;
        n.nak_psn = fail_psn;
      end
    end
    if (cqe_valid) begin
      n.ccnt     = w.ccnt + 48'd1;
      n.cqe_wait = w.cqe_wait + 1'b1;
    end

    tx_d.dst_node = cfg_i.remote_node;
    tx_d.dst_qpn  = cfg_i.remote_qpn;
    tx_d.src_qpn  = 16'(q);

    // One rule queues a QP for an acknowledgement. A NAK also acknowledges everything before it, so
    // it waits until that is placed; completions that are not yet written hold everything back.
    want_ack = (n.cqe_wait == '0) &
               ((n.ack_p & ~n.err) | (n.nak_v & (n.inflight == '0) & (n.reads == '0)));
    apush_pl = n.aplane[PlW-1:0];
    apush    = (ev != EvNone) & want_ack & ~n.in_ack[apush_pl];
    if (apush) n.in_ack[apush_pl] = 1'b1;
    // The same for READ responses: memory is read when everything before is in it.
    want_rd = (n.reads != '0) & (n.inflight == '0) & (n.cqe_wait == '0);
    rpush   = (ev != EvNone) & want_rd & ~n.in_rd[apush_pl];
    if (rpush) n.in_rd[apush_pl] = 1'b1;
    // And for receives that a QP in error still holds.
    fl_push = (ev != EvNone) & (state_i == 2'd2) & cfg_i.rq_ring & (n.inflight == '0) &
              (posted != n.used[15:0]) & (slot_gen_i[n.used[1:0]] == ~n.used[2]) & ~n.in_fl;
    if (fl_push) n.in_fl = 1'b1;
  end
  assign want_fl = (state_i == 2'd2) & cfg_i.rq_ring & (w.inflight == '0) &
                   (posted != w.used[15:0]) & rqe_here;

  always_comb begin
    e_new         = '0;
    e_new.q       = q;
    e_new.epoch   = cfg_i.epoch;
    e_new.psn     = h.psn;
    e_new.ack_req = h.ack_req;
    e_new.ce      = h.ce;
    e_new.cons    = consumes;
    e_new.ring    = cfg_i.rq_ring;
    e_new.op      = h.opcode;
    e_new.len     = is_send ? h.rkey : 32'(h.len);
    e_new.imm     = h.imm;
    e_new.wr_id   = rqe_i.wr_id;
  end

  assign rxh_ready_o = take ? rxh_hot : '0;
  assign rxv_valid_o = rxv_valid & ~is_read;  // a READ request carries nothing
  assign rxv_plane_o = rxh_plane;
  assign rxv_o       = rxv_d;
  assign tx_valid_o  = tx_valid;
  assign tx_o        = tx_d;
  assign log_valid_o = log_valid;
  assign log_o       = log_d;
  assign err_valid_o = err_valid;
  assign err_o       = {16'(q), cfg_i.epoch};
  assign cqe_valid_o = cqe_valid;
  assign cnt_pkt_o   = take & (h.err == 8'd0);
  assign cnt_bad_o   = take & (h.err != 8'd0);
  assign cnt_ce_o    = cnt_pkt_o & h.ce;
  assign cnt_plane_o = rxh_plane;

  always_comb begin
    cqe_o        = '0;
    cqe_o.qpn    = 16'(q);
    cqe_o.epoch  = cfg_i.epoch;
    cqe_o.cq     = cfg_i.rcq;
    cqe_o.status = cqe_status;
    cqe_o.opcode = ubl_pkg::WqeOpRecv;
    cqe_o.recv   = 1'b1;
    if (ev == EvRxd) begin
      cqe_o.wr_id = e.ring ? e.wr_id : 64'(w.ccnt);
      cqe_o.psn   = e.psn;
      if (cqe_status == ubl_pkg::CqeStatusOk) begin
        cqe_o.byte_len = e.len;
        cqe_o.imm      = e.imm;
        unique case (e.op)
          ubl_pkg::PktOpSend: cqe_o.opcode = ubl_pkg::WqeOpSend;
          ubl_pkg::PktOpSendImm: cqe_o.opcode = ubl_pkg::WqeOpSendImm;
          ubl_pkg::PktOpReduceImm: cqe_o.opcode = ubl_pkg::WqeOpReduceImm;
          default: cqe_o.opcode = ubl_pkg::WqeOpWriteImm;
        endcase
      end
    end else begin
      cqe_o.wr_id = rqe_i.err ? 64'd0 : rqe_i.wr_id;
      cqe_o.psn   = w.expect_psn;
    end
  end

  assign cons_valid_o = (n.used != w.used) & cfg_i.rq_ring & slot_more_i & (ev != EvNone) &
                        (ev != EvClear) & (ev != EvInit);
  assign cons_qpn_o   = q;

  always_ff @(posedge clk_i) begin
    if (ev != EvNone) ctx_mem[q] <= n;
    if (ev == EvClear || ev == EvInit) post_mem[init_idx_i[QpW-1:0]] <= '0;
    else if (db_valid_i) post_mem[db_qpn_i[QpW-1:0]] <= db_total_i;
    if (accept) begin
      inf_mem[inf_tail[InfIdxW-1:0]]      <= e_new;
      inf_addr_mem[inf_tail[InfIdxW-1:0]] <= tgt;
      inf_last_mem[inf_tail[InfIdxW-1:0]] <= h_last;
    end
    if (rd_note) rd_mem[{q, h.psn[ReadW-1:0]}] <= {h.raddr, h.len};
    if (rpush) rdq_mem[{3'(apush_pl), rdq_wr_q[apush_pl][QpW-1:0]}] <= q;
    if (fl_push) flq_mem[flq_wr_q[QpW-1:0]] <= q;
    if (ev == EvClear || ev == EvInit || (ev != EvNone && n.used != w.used)) used_mem[q] <= n.used[15:0];
    if (apush) ack_mem[{3'(apush_pl), ack_wr_q[apush_pl][QpW-1:0]}] <= q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < Planes; p++) begin
        inf_wr_q[p] <= '0;
        inf_rd_q[p] <= '0;
        ack_wr_q[p] <= '0;
        ack_rd_q[p] <= '0;
        rdq_wr_q[p] <= '0;
        rdq_rd_q[p] <= '0;
      end
      inf_live_q <= '0;
      inf_red_q  <= '0;
      ack_ne_q   <= '0;
      ack_mask_q <= '0;
      rxh_mask_q <= '0;
      rxd_mask_q <= '0;
      rdq_ne_q   <= '0;
      rdq_mask_q <= '0;
      txc_mask_q <= '0;
      flq_wr_q   <= '0;
      flq_rd_q   <= '0;
      rd_turn_q  <= 1'b0;
      grp_q      <= 2'd0;
    end else begin
      if (ev == EvRxd) begin
        inf_rd_q[rxd_pl]                  <= inf_rd_q[rxd_pl] + 1'b1;
        inf_live_q[inf_head[InfIdxW-1:0]] <= 1'b0;
        rxd_mask_q                        <= ~(rxd_hot | (rxd_hot - 1'b1));
      end
      if (ev == EvRxh) rxh_mask_q <= ~(rxh_hot | (rxh_hot - 1'b1));
      if (accept) begin
        inf_wr_q[rxh_pl]                  <= inf_wr_q[rxh_pl] + 1'b1;
        inf_live_q[inf_tail[InfIdxW-1:0]] <= h.len != 13'd0;
        inf_red_q[inf_tail[InfIdxW-1:0]]  <= is_red;
      end
      if (fl_push) flq_wr_q <= flq_wr_q + 1'b1;
      if (ev == EvFlush) flq_rd_q <= flq_rd_q + 1'b1;
      if (ev == EvTxc) txc_mask_q <= ~(txc_hot | (txc_hot - 1'b1));
      if (ev == EvAck) rd_turn_q <= ~sel_rd;
      if (ev == EvAck && sel_rd) begin
        rdq_rd_q[rdq_pl] <= rdq_rd_next;
        rdq_mask_q       <= ~(rdq_hot | (rdq_hot - 1'b1));
        if (rdq_rd_next == rdq_wr_q[rdq_pl]) rdq_ne_q[rdq_pl] <= 1'b0;
      end
      if (rpush) begin
        rdq_wr_q[apush_pl] <= rdq_wr_q[apush_pl] + 1'b1;
        rdq_ne_q[apush_pl] <= 1'b1;
      end
      if (ev == EvAck && !sel_rd) begin
        ack_rd_q[ack_pl] <= ack_rd_next;
        ack_mask_q       <= ~(ack_hot | (ack_hot - 1'b1));
        if (ack_rd_next == ack_wr_q[ack_pl]) ack_ne_q[ack_pl] <= 1'b0;
      end
      if (apush) begin
        ack_wr_q[apush_pl] <= ack_wr_q[apush_pl] + 1'b1;
        ack_ne_q[apush_pl] <= 1'b1;
      end
      if (ev == EvRxd || ev == EvRxh || ev == EvAck) grp_q <= (grp == 2'd2) ? 2'd0 : grp + 2'd1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Reads by others
  rctx_t rs;
  logic unused_bits;
  assign rs          = rctx_t'(ctx_mem[stat_idx_i]);
  assign stat_exp_o  = rs.expect_psn;
  assign stat_msn_o  = rs.msn;
  assign rda_used_o  = used_mem[rda_idx_i];
  assign rdb_used_o  = used_mem[rdb_idx_i];
  assign unused_bits = ^{rs, h, t, d.rsp, d.qpn, d.psn, note_i.qpn, cfg_i, mr_i, db_qpn_i, inf_head,
                         inf_tail, rxd_plane, blocked, rqe_i};

  assign busy_o = (|rxh_valid_i) | (|rxd_valid_i) | (|ack_elig) | (|rdq_elig) | (|txc_valid_i) |
                  note_valid_i | failed_v | wake_valid_i | g_fl;

  `UBL_ASSERT_INIT(inf_bits, InfBits == $bits(inf_t) && CtxBits == $bits(rctx_t))
  `UBL_ASSERT(rxd_expected, ev != EvRxd || inf_wr_q[rxd_pl] != inf_rd_q[rxd_pl])
  `UBL_ASSERT(rxd_order, ev != EvRxd || (d.qpn == 16'(e.q) && d.psn == e.psn))
  `UBL_ASSERT(psn_order, ev != EvRxd || e.epoch != cfg_i.epoch || w.err || e.psn == w.done)
  `UBL_ASSERT(inflight_range, ev != EvRxd || w.inflight != '0)
  `UBL_ASSERT(failed_room, !failed_valid_i || unused_failed_ready)
  `UBL_ASSERT(cons_room, !cons_valid_o || cons_ready_i)
  `UBL_ASSERT(flush_queue, (flq_wr_q - flq_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(note_range, ev != EvNote || w.cqe_wait != '0)
  `UBL_ASSERT(cqe_wait_range, !cqe_valid || (w.cqe_wait != '1 && cqe_ready_i))
  `UBL_ASSERT(ack_queue, !apush ||
              (ack_wr_q[apush_pl] - ack_rd_q[apush_pl]) != (QpW+1)'(NumQp))
  `UBL_ASSERT(ack_credit, !tx_valid || (sel_rd ? cred_bulk_i[rdq_pl] : cred_i[ack_pl]))
  `UBL_ASSERT(read_order, !(tx_valid && sel_rd) || rd_psn == w.done)
  `UBL_ASSERT(read_queue, !rpush ||
              (rdq_wr_q[apush_pl] - rdq_rd_q[apush_pl]) != (QpW+1)'(NumQp))
  `UBL_COVER(read_behind_write, ev == EvRxh && rd_note && w.inflight != '0)
  `UBL_COVER(hazard_wait, ev == EvRxh && hazard && blocked)
  `UBL_COVER(plane_change_wait, ev == EvRxh && blocked && w.inflight != '0 && w.iplane != rxh_plane)
  `UBL_COVER(receive_not_here, ev == EvRxh && blocked && need_rqe && !rqe_here)
  `UBL_COVER(receive_wrong_waits, ev == EvRxh && blocked && rqe_here && rqe_wrong)
  `UBL_COVER(flush_receive, ev == EvFlush && cqe_valid)
  `UBL_COVER(ack_behind_cqe, ev == EvAck && w.cqe_wait != '0)

endmodule
