// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Receive side of nic_core: judges incoming request packets, follows their placement in memory,
// acknowledges. Packets of a QP come on any plane in any order; a bitmap of 512 packets says which
// are accepted and which are placed, and `done` moves over those that are placed. It owns the receive
// context of every QP, separate from the send context, and handles one event per cycle: a header, a
// placement, a step of `done`, an acknowledgement to send, the outcome of a receive completion, or a
// receive to flush. A header that must wait (verdict register full, eight packets in flight, address
// hazard, ring entry on its way) blocks only its own plane. A READ request never blocks: it is kept in
// the QP's table until `done` has come to it and a descriptor of VC bulk is free; then its response is
// handed to nic_port. So headers are always drained, whatever the link to the peer does.
// Acknowledgements wait in per-plane queues that hold each QP at most once, so they coalesce while a
// plane has no credit.
// See also: nic_transport.md, nic_core.md, nic_requester.sv, nic_completer.sv.

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
  localparam int unsigned MrW = $clog2(NumMr),
  /// Receives of a QP that may be in work, do not overwrite.
  localparam int unsigned MaxMsg = ubl_pkg::NicMaxOutstanding,
  /// Slot index width, do not overwrite.
  localparam int unsigned MsgW = $clog2(MaxMsg)
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
  /// Which of the eight cycles of a write_qp.
  input  logic [2:0]  init_sub_i,
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
  input  logic [MaxMsg-1:0]   slot_gen_i,
  /// QP cfg_idx_o has posted receives not yet requested.
  input  logic                slot_more_i,
  /// Prefetch slot wanted.
  output logic [MsgW-1:0]     rqe_slot_o,
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
  /// The request had arrived before.
  output logic       cnt_dup_o,
  /// An atomic is executed.
  output logic       cnt_atomic_o,
  /// An immediate counts.
  output logic       bump_valid_o,
  /// Its counter.
  output logic [nic_core_pkg::CtrW-1:0] bump_ctr_o,
  /// There is room (registers only).
  input  logic       bump_ready_i,
  /// It could not be accepted before its turn.
  output logic       cnt_deferred_o,
  /// RNR is answered.
  output logic       cnt_rnr_o,
  /// Something would happen without new input.
  output logic       busy_o
);

  localparam logic [1:0] StReady = 2'd1;
  localparam logic [1:0] StError = 2'd2;

  localparam int unsigned InfDepth = 8;  // packets in flight to memory per plane
  localparam int unsigned InfW = $clog2(InfDepth);
  localparam int unsigned NumInf = Planes * InfDepth;
  localparam int unsigned FlyW = $clog2(NumInf + 1);
  localparam int unsigned NoteW = 5;
  localparam int unsigned Window = ubl_pkg::NicMaxWindow;
  localparam int unsigned WinW = $clog2(Window);
  localparam int unsigned MaxReads = ubl_pkg::NicMaxReads;
  localparam int unsigned ReadW = $clog2(MaxReads);
  localparam int unsigned ReadBits = 102;

  // Receive context. in_ack, in_rd, in_fl, in_adv, inflight and cqe_wait describe real objects on
  // their way and survive write_qp.
  typedef struct packed {
    logic              err;       // failed on the receive side; the requester is being told
    logic [23:0]       done;      // everything before it is placed, the first one that is not
    logic [WinW:0]     ahead;     // packets accepted that done has not passed
    logic [23:0]       msn;
    logic [23:0]       used;      // receives consumed
    logic [47:0]       ccnt;      // receive completions produced
    logic [7:0]        unack;     // placed packets since the last acknowledgement
    logic              areq_v;    // an acknowledgement is due when done has passed areq_psn
    logic [23:0]       areq_psn;
    logic              fail_v;    // memory refused packet fail_psn
    logic [23:0]       fail_psn;
    logic              nak_v;     // a NAK is due
    logic              nak_s;     // nak_syn, nak_psn say why the QP failed
    logic [7:0]        nak_syn;
    logic [23:0]       nak_psn;
    logic              ack_p;     // an acknowledgement is due
    logic [7:0]        ce_planes; // CE seen since the last acknowledgement
    logic [7:0]        ce_count;
    logic [2:0]        aplane;    // plane of the last request: acknowledgements go there
    logic [Planes-1:0] in_ack;
    logic [FlyW-1:0]   inflight;
    logic [NoteW-1:0]  cqe_wait;  // receive completions not yet written
    logic              rd;        // what is accepted and not passed are READ requests or ...
    logic              at;        // ... (with rd) atomics
    logic [MaxReads-1:0] more;    // READs and atomics to be answered again, by PSN
    logic [Planes-1:0] in_rd;
    logic [2:0]        rplane;    // plane of the next READ response
    logic              in_fl;     // in the flush queue
    logic              in_adv;    // in the queue of QPs whose done may move
  } rctx_t;

  typedef struct packed {
    logic [QpW-1:0] q;
    logic [15:0]    epoch;
    logic [23:0]    psn;
    logic           drop;    // reported only
    logic           known;   // of a QP that exists
    logic           ack_req;
    logic           ce;
    logic           at;      // an atomic
  } inf_t;

  // Packets from done on: accepted; placed; consumes a receive, or is a READ.
  typedef struct packed {
    logic [63:0] taken;
    logic [63:0] placed;
    logic [63:0] stop;
  } word_t;

  // What completes a receive.
  typedef struct packed {
    logic [7:0]  op;   // pkt_op
    logic [31:0] len;  // byte_len of the completion
    logic [31:0] imm;
  } cinfo_t;

  localparam int unsigned InfBits = QpW + 45;
  localparam int unsigned WordBits = 192;
  localparam int unsigned CinfoBits = 72;
  localparam int unsigned SeenBits = 8 * 24;
  localparam int unsigned CtxBits = 246 + WinW + FlyW + MaxReads + 2 * Planes;

  // Memories are plain vectors: yosys drops the dimension of an array of a local struct type.
  logic [CtxBits-1:0] ctx_mem [NumQp];
  logic [15:0] post_mem [NumQp];
  logic [WordBits-1:0] word_mem [NumQp*(Window/64)];  // by PSN
  logic [SeenBits-1:0] seen_mem [NumQp];              // by plane: PSN behind the highest one handled
  logic [CinfoBits-1:0] cinfo_mem [NumQp*MaxMsg];     // by receive
  logic [InfBits-1:0] inf_mem [NumInf];
  logic [63:0] inf_addr_mem [NumInf];
  logic [63:0] inf_last_mem [NumInf];
  logic [QpW-1:0] ack_mem [2**(3+QpW)];
  logic [QpW-1:0] rdq_mem [2**(3+QpW)];
  logic [QpW-1:0] flq_mem [NumQp];   // QPs in error with a receive to flush
  logic [QpW-1:0] adv_mem [NumQp];   // QPs whose done may move
  logic [15:0] used_mem [NumQp];     // copy of used for nic_wqe_fetch
  // By PSN: PSN, is an atomic, address and length of a READ request; value before an atomic.
  logic [ReadBits-1:0] rd_mem [NumQp*MaxReads];
  logic [63:0] old_mem [NumQp*MaxReads];

  logic [InfW:0] inf_wr_q [Planes];
  logic [InfW:0] inf_rd_q [Planes];
  logic [NumInf-1:0] inf_live_q;  // in flight, not empty
  logic [NumInf-1:0] inf_red_q;   // is a REDUCE
  logic [QpW:0] ack_wr_q [Planes];
  logic [QpW:0] ack_rd_q [Planes];
  logic [QpW:0] rdq_wr_q [Planes];
  logic [QpW:0] rdq_rd_q [Planes];
  logic [Planes-1:0] ack_ne_q, ack_mask_q, rxh_mask_q, rxd_mask_q, rdq_ne_q, rdq_mask_q, txc_mask_q;
  logic [QpW:0] flq_wr_q, flq_rd_q, adv_wr_q, adv_rd_q;
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
  localparam logic [3:0] EvAdv = 4'd10;   // done may move on

  logic [Planes-1:0] rxh_src, rxh_hot, rxd_src, rxd_hot, ack_elig, ack_src, ack_hot;
  logic [Planes-1:0] rdq_elig, rdq_src, rdq_hot, txc_src, txc_hot;
  logic [2:0] rxh_plane, rxd_plane, ack_plane, rdq_plane, txc_plane;
  logic g_rxd, g_rxh, g_ack, g_adv, sel_rd;
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

  logic [PlW-1:0] rxh_pl, rxd_pl, ack_pl, rdq_pl, apush_pl, rpush_pl;
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

  // Whatever may move done may make a completion, consume a ring entry and fail the QP.
  assign g_fl  = (flq_wr_q != flq_rd_q) & cqe_ready_i & cons_ready_i;
  assign g_adv = (adv_wr_q != adv_rd_q) & cqe_ready_i & cons_ready_i & err_ready_i & bump_ready_i;
  assign g_rxd = (|rxd_valid_i) & cqe_ready_i & cons_ready_i & err_ready_i & bump_ready_i;
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
    end else if (g_adv) begin
      ev = EvAdv;
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
      EvAdv: q = adv_mem[adv_rd_q[QpW-1:0]];
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
  word_t b, nb;                 // the word of the bitmap that the event looks at
  cinfo_t cinfo, cinfo_new;
  logic is_send, consumes, last_send, need_rqe, rqe_here, rqe_wrong, send_bad, fl_push, want_fl;
  logic [63:0] tgt;         // where the payload goes
  logic [31:0] key;
  logic [32:0] send_end;
  logic [7:0] rqe_status, fail_syn, cqe_status;
  logic is_red, is_imm, is_read, is_atm, is_resp, is_count, rd_at, rd_note, rpush, want_rd, peer_ok, qp_ok, req_bad, no_recv, rkey_ok;
  logic hazard, blocked, accept, take, want_ack, inf_push, inf_full, unfit, b_we, seen_we, adv_push;
  logic adv, step_cqe, at_done, bump_valid, dup, deferred, rnr, told_again, rd_known, rd_again;
  logic [23:0] word_psn, dpsn, rd_psn, rd_age, seen_psn, fwd, num;
  logic [5:0] bit_no;
  logic [6:0] run_len;
  logic [63:0] rd_addr, rd_old, can_pass;
  logic [12:0] tgt_len;     // bytes of memory that the request means
  logic [23:0] rd_note_psn;
  logic [12:0] rd_len;
  logic [63:0] h_last;
  logic [64:0] h_end, mr_end;
  logic apush, cqe_valid, err_valid, log_valid, tx_valid, rxv_valid;
  logic [23:0] run_end;
  logic [7:0] fail_with;
  logic [15:0] posted, avail;
  logic [ReadW-1:0] more_idx;
  nic_core_pkg::log_t log_d;
  ubl_pkg::txd_t tx_d;
  ubl_pkg::rxv_t rxv_d;
  inf_t e_new;
  logic [SeenBits-1:0] seen, seen_new;

  assign w       = rctx_t'(ctx_mem[q]);
  assign posted  = post_mem[q];
  assign avail   = posted - w.used[15:0];
  assign is_red  = (h.opcode == ubl_pkg::PktOpReduce) | (h.opcode == ubl_pkg::PktOpReduceImm);
  assign is_imm  = (h.opcode == ubl_pkg::PktOpWriteImm) | (h.opcode == ubl_pkg::PktOpReduceImm);
  assign is_read = h.opcode == ubl_pkg::PktOpReadRequest;
  assign is_atm  = (h.opcode == ubl_pkg::PktOpFetchAdd) | (h.opcode == ubl_pkg::PktOpCompareSwap);
  assign is_resp = is_read | is_atm;
  assign is_count = is_imm & cfg_i.imm_ctr;  // counts, consumes no receive
  assign is_send = (h.opcode == ubl_pkg::PktOpSend) | (h.opcode == ubl_pkg::PktOpSendImm);

  // The word of the bitmap: of the packet, else of done.
  always_comb begin
    unique case (ev)
      EvRxh: word_psn = h.psn;
      EvRxd: word_psn = e.psn;
      default: word_psn = w.done;
    endcase
  end
  assign bit_no = word_psn[5:0];
  assign b      = word_t'(word_mem[{q, (ev == EvInit) ? init_sub_i : word_psn[WinW-1:6]}]);

  // The READ whose turn it is, or one that is answered again.
  always_comb begin
    more_idx = '0;
    for (int unsigned i = MaxReads; i > 0; i--) begin
      if (w.more[i-1]) more_idx = ReadW'(i - 1);
    end
  end
  assign rd_again = (ev == EvAck) & (w.more != '0);
  assign {rd_note_psn, rd_at, rd_addr, rd_len} =
      rd_mem[{q, (ev == EvRxh) ? h.psn[ReadW-1:0] : (rd_again ? more_idx : w.done[ReadW-1:0])}];
  assign rd_old    = old_mem[{q, rd_again ? more_idx : w.done[ReadW-1:0]}];
  assign rd_psn   = rd_again ? rd_note_psn : w.done;
  assign rd_known = rd_note_psn == h.psn;

  // Which receive: SENDH: h.raddr = {number, offset}, h.rkey = length of the message.
  assign num  = h.raddr[55:32] - w.used;
  assign fwd  = is_send ? num : {17'd0, h.rnum - w.used[6:0]};
  assign send_end  = {1'b0, h.raddr[31:0]} + {20'd0, h.len};
  assign last_send = send_end == {1'b0, h.rkey};
  assign consumes  = is_imm | (is_send & last_send);
  assign send_bad  = is_send ? (~cfg_i.rq_ring | (|h.raddr[63:56]) | (h.rnum != h.raddr[38:32]) |
                                (fwd >= 24'(MaxMsg)) | (send_end > {1'b0, h.rkey}) |
                                (~last_send & ((h.len == 13'd0) |
                                               (h.opcode == ubl_pkg::PktOpSendImm))))
                             : (is_imm & ((fwd >= 24'(MaxMsg)) |
                                          (is_count & (h.imm[15:0] >= 16'(ubl_pkg::NicNumCtr)))));
  // In its turn a packet names the next receive.
  assign need_rqe  = is_send | (is_imm & cfg_i.rq_ring);
  assign no_recv   = ((is_imm & ~is_count) | is_send) & (fwd >= 24'(avail));
  logic [15:0] rqe_idx;
  assign rqe_idx    = w.used[15:0] + ((ev == EvRxh) ? fwd[15:0] : 16'd0);
  assign rqe_slot_o = rqe_idx[MsgW-1:0];
  assign rqe_here   = slot_gen_i[rqe_idx[MsgW-1:0]] == ~rqe_idx[MsgW];
  assign cinfo      = cinfo_t'(cinfo_mem[{q, w.used[MsgW-1:0]}]);

  assign tgt     = is_send ? rqe_i.laddr + {32'd0, h.raddr[31:0]} : h.raddr;
  assign key     = is_send ? rqe_i.lkey : h.rkey;
  assign tgt_len = is_atm ? 13'd8 : h.len;
  assign h_end   = {1'b0, tgt} + {52'd0, tgt_len};
  assign h_last  = tgt + {51'd0, tgt_len} - 64'd1;
  assign mr_end  = {1'b0, mr_i.base} + {1'b0, mr_i.length};
  assign rkey_ok = mr_i.valid &
                   (is_red ? mr_i.remote_reduce : (is_read ? mr_i.remote_read : is_atm ? mr_i.remote_atomic :
                    (is_send ? mr_i.local_write : mr_i.remote_write))) &
                   (mr_i.key == key[7:0]) & (mr_i.pd == cfg_i.pd) &
                   ((key >> (8 + MrW)) == 32'd0) &
                   (tgt >= mr_i.base) & (h_end <= mr_end);
  assign dpsn    = h.psn - w.done;
  assign req_bad = (h.len > 13'(ubl_pkg::LinkMtu)) |
                   send_bad | ~(is_red | is_resp | is_send | (h.opcode == ubl_pkg::PktOpWrite) |
                     (h.opcode == ubl_pkg::PktOpWriteImm)) |
                   // A requester keeps no more READs in flight, and nothing else with them.
                   (is_resp & (dpsn >= 24'(MaxReads))) |
                   ((w.ahead != '0) & ({w.rd, w.at} != {is_resp, is_atm})) |
                   (is_atm & ((h.raddr[2:0] != 3'd0) | (h.len != 13'd16))) |
                   ((is_imm | is_send) & (dpsn == 24'd0) & (fwd != 24'd0)) |
                   (is_red & (h.len[0] | (h.red_op > ubl_pkg::RedOpMax) | (h.red_dtype > ubl_pkg::RedTypeI32) |
                              (h.len[1] & ((h.red_dtype == ubl_pkg::RedTypeF32) |
                                           (h.red_dtype == ubl_pkg::RedTypeI32)))));

  // Address hazard: an overlap with a packet in flight, at least one of both being a REDUCE.
  always_comb begin
    hazard = 1'b0;
    if (ev == EvRxh && h.len != 13'd0 && (is_red || is_atm || (inf_live_q & inf_red_q) != '0)) begin
      for (int unsigned i = 0; i < NumInf; i++) begin
        if (inf_live_q[i] && (is_red || is_atm || inf_red_q[i]) && tgt <= inf_last_mem[i] &&
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

  function automatic logic [63:0] below(logic [5:0] i);
    below = (64'd1 << i) - 64'd1;
  endfunction
  function automatic logic [63:0] below7(logic [6:0] i);
    below7 = i[6] ? '1 : (64'd1 << i[5:0]) - 64'd1;
  endfunction
  // The next plane of the mask behind this one.
  function automatic logic [2:0] next_plane(logic [7:0] mask, logic [2:0] now);
    next_plane = now;
    for (int unsigned i = 8; i > 0; i--) begin
      if (mask[3'(32'(now) + i)]) next_plane = 3'(32'(now) + i);
    end
  endfunction

  // The first READ that is not answered: where done stands behind this event.
  // An atomic must have been executed.
  word_t b_next;
  logic read_next, n_at;
  assign n_at = w.at;
  logic [23:0] next_done;
  logic [5:0] bit_no_done;
  logic [63:0] passed;
  assign bit_no_done = w.done[5:0];
  assign next_done   = (ev == EvAck && sel_rd && !rd_again) ? w.done + 24'd1 : w.done;
  assign b_next      = word_t'(word_mem[{q, next_done[WinW-1:6]}]);
  assign read_next   = n_at ? b_next.placed[next_done[5:0]] : b_next.taken[next_done[5:0]];

  assign inf_full = (inf_wr_q[rxh_pl] - inf_rd_q[rxh_pl]) == (InfW+1)'(InfDepth);
  assign seen     = seen_mem[q];

  always_comb begin
    n           = w;
    nb          = b;
    b_we        = 1'b0;
    seen_we     = 1'b0;
    seen_psn    = '0;
    adv         = 1'b0;
    adv_push    = 1'b0;
    step_cqe    = 1'b0;
    bump_valid  = 1'b0;
    at_done     = 1'b0;
    cqe_status  = ubl_pkg::CqeStatusOk;
    cqe_valid   = 1'b0;
    err_valid   = 1'b0;
    log_valid   = 1'b0;
    tx_valid    = 1'b0;
    rxv_valid   = 1'b0;
    accept      = 1'b0;
    inf_push    = 1'b0;
    take        = 1'b0;
    blocked     = 1'b0;
    rd_note     = 1'b0;
    dup         = 1'b0;
    deferred    = 1'b0;
    rnr         = 1'b0;
    told_again  = 1'b0;
    fail_with   = ubl_pkg::SyndromeNakOper;
    run_len     = '0;
    can_pass    = '0;
    passed      = '0;
    log_d       = '0;
    log_d.qpn   = 16'(q);
    log_d.plane = 8'(rxh_plane);
    log_d.psn   = h.psn;
    tx_d        = '0;
    tx_d.opcode = ubl_pkg::PktOpAck;
    tx_d.vc     = ubl_pkg::VcRsp;
    rd_age      = w.done - 24'd1 - t.psn;
    peer_ok     = ((h.dst_qpn >> QpW) == 24'd0) & (h.src_node == cfg_i.remote_node);
    qp_ok       = peer_ok & (state_i == StReady) & ~w.err & enable_i;
    unfit       = 1'b0;

    rxv_d           = '0;
    rxv_d.action    = ubl_pkg::RxActionDrop;
    rxv_d.qpn       = 16'(q);
    rxv_d.psn       = h.psn;
    rxv_d.addr      = tgt;
    rxv_d.len       = h.len;
    rxv_d.red_op    = h.red_op;
    rxv_d.red_dtype = is_atm ? 4'(h.opcode == ubl_pkg::PktOpCompareSwap) : h.red_dtype;

    unique case (ev)
      EvClear: n = '0;

      EvInit: begin
        n          = '0;
        n.done     = init_psn_i;
        n.in_ack   = w.in_ack;
        n.inflight = w.inflight;
        n.cqe_wait = w.cqe_wait;
        n.in_rd    = w.in_rd;
        n.in_fl    = w.in_fl;
        n.in_adv   = w.in_adv;
        b_we       = 1'b1;
        nb         = '0;
      end

      EvNote: begin
        n.cqe_wait = w.cqe_wait - 1'b1;
        if (note_i.fail && note_i.epoch == cfg_i.epoch && !w.err) begin
          n.err     = 1'b1;
          n.nak_v   = 1'b1;
          n.nak_s   = 1'b1;
          n.nak_syn = ubl_pkg::SyndromeNakOper;
          n.nak_psn = note_i.psn;
        end
      end

      EvRxd: begin
        log_d.psn   = e.psn;
        log_d.plane = 8'(rxd_plane);
        if (!e.drop) n.inflight = w.inflight - 1'b1;
        if (e.known && e.epoch == cfg_i.epoch) begin
          seen_we  = 1'b1;
          seen_psn = e.psn + 24'd1;
          if (e.drop) begin
            // Judged later: the peer may send it again as soon as it knows what is here.
            if (e.ack_req) begin
              n.ack_p  = 1'b1;
              n.aplane = rxd_plane;
            end
          end else if (d.err) begin
            // The peer hears of it when everything before is placed.
            log_valid   = 1'b1;
            log_d.cause = ubl_pkg::ErrCauseMemWrite;
            if (!w.fail_v || (((w.fail_psn - e.psn) & 24'h800000) == '0)) begin
              n.fail_v   = 1'b1;
              n.fail_psn = e.psn;
            end
            adv = 1'b1;
          end else if (!w.err && e.at) begin
            // Its answer is its acknowledgement.
            b_we              = 1'b1;
            nb.placed[bit_no] = 1'b1;
            at_done           = e.psn == w.done;
          end else if (!w.err) begin
            b_we              = 1'b1;
            nb.placed[bit_no] = 1'b1;
            if (e.ce) begin
              n.ce_planes[rxd_plane] = 1'b1;
              if (w.ce_count != 8'hff) n.ce_count = w.ce_count + 8'd1;
            end
            n.unack = w.unack + 8'd1;
            if (e.ack_req || n.unack >= 8'(AckEvery)) begin
              n.ack_p = 1'b1;
              n.unack = 8'd0;
            end
            // What is asked for now reports what is missing; the rest is reported when it is here.
            if (e.ack_req && (!w.areq_v || ((e.psn - w.areq_psn) & 24'h800000) == '0)) begin
              n.areq_v   = 1'b1;
              n.areq_psn = e.psn;
            end
            adv = e.psn == w.done;
          end
        end
      end

      EvAdv: begin
        n.in_adv = 1'b0;
        adv      = ~w.err;
      end

      EvTxc: begin
        // A response was spoiled. The report may be one of an earlier life of the QP.
        log_d.psn   = t.psn;
        log_d.plane = 8'(txc_plane);
        if (rd_age < 24'(2 * ubl_pkg::NicMaxReads) && state_i != 2'd0 && !w.err) begin
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseMemWrite;
          err_valid   = 1'b1;
          n.err       = 1'b1;
          n.more      = '0;
          n.nak_v     = 1'b1;
          n.nak_s     = 1'b1;
          n.nak_syn   = ubl_pkg::SyndromeNakOper;
          n.nak_psn   = t.psn;
        end
      end

      EvRxh: begin
        if (h.err != 8'd0) begin
          take        = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = h.err;
          log_d.qpn   = h.dst_qpn[15:0];
        end else if (!rxv_free_i[rxh_pl] || (!is_read && inf_full)) begin
          blocked = 1'b1;
        end else if (!qp_ok) begin
          take        = 1'b1;
          rxv_valid   = 1'b1;
          inf_push    = ~is_read;
          // The peer may not have heard why this QP failed.
          told_again  = peer_ok & w.err & w.nak_s;
          log_valid   = ~told_again;
          log_d.cause = ubl_pkg::ErrCauseBadQp;
          log_d.qpn   = h.dst_qpn[15:0];
          if (told_again) begin
            n.nak_v  = 1'b1;
            n.aplane = rxh_plane;
          end
        end else if (dpsn[23] || (dpsn < 24'(Window) && b.taken[bit_no])) begin
          take      = 1'b1;
          rxv_valid = 1'b1;
          inf_push  = ~is_read;
          dup       = 1'b1;
          n.aplane  = rxh_plane;
          if (!is_resp) n.ack_p = 1'b1;
          else if (dpsn[23] && rd_known) begin
            n.more[h.psn[ReadW-1:0]] = 1'b1;
            n.rplane                 = rxh_plane;  // a plane that works, one way at least
          end
        end else if (dpsn >= 24'(Window)) begin
          take        = 1'b1;
          rxv_valid   = 1'b1;
          inf_push    = ~is_read;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseSequence;
        end else if (req_bad || (!is_send && h.len != 13'd0 && !rkey_ok)) begin
          unfit       = 1'b1;
          log_d.cause = req_bad ? ubl_pkg::ErrCauseMalformed : ubl_pkg::ErrCauseAccess;
          fail_with   = req_bad ? ubl_pkg::SyndromeNakInvalid : ubl_pkg::SyndromeNakAccess;
        end else if ((h.red_ordered || is_atm) && dpsn != 24'd0 && dpsn != 24'(w.ahead)) begin
          unfit = 1'b1;  // something before it is missing
        end else if (no_recv) begin
          unfit = 1'b1;
          rnr   = 1'b1;
        end else if (need_rqe && !rqe_here) begin
          blocked = 1'b1;
        end else if (rqe_wrong) begin
          unfit       = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseLocal;
          fail_with   = fail_syn;
        end else if (is_read) begin
          take                = 1'b1;
          rd_note             = 1'b1;
          b_we                = 1'b1;
          nb.taken[bit_no]    = 1'b1;
          nb.placed[bit_no]   = 1'b0;
          nb.stop[bit_no]     = 1'b1;
          n.ahead             = w.ahead + 1'b1;
          n.rd                = 1'b1;
          n.at                = 1'b0;
          n.more[h.psn[ReadW-1:0]] = 1'b0;  // of the one that was noted there
          n.aplane            = rxh_plane;
          if (h.ce) begin
            n.ce_planes[rxh_plane] = 1'b1;
            if (w.ce_count != 8'hff) n.ce_count = w.ce_count + 8'd1;
          end
        end else if (hazard) begin
          blocked = 1'b1;
        end else begin
          take              = 1'b1;
          rxv_valid         = 1'b1;
          accept            = 1'b1;
          inf_push          = 1'b1;
          rxv_d.action      = is_red ? ubl_pkg::RxActionReduce
                                     : is_atm ? ubl_pkg::RxActionAtomic : ubl_pkg::RxActionWrite;
          rd_note           = is_atm;
          b_we              = 1'b1;
          nb.taken[bit_no]  = 1'b1;
          nb.placed[bit_no] = 1'b0;
          nb.stop[bit_no]   = consumes | is_atm;
          n.ahead           = w.ahead + 1'b1;
          n.rd              = is_atm;
          n.at              = is_atm;
          if (is_atm) n.more[h.psn[ReadW-1:0]] = 1'b0;
          n.aplane          = rxh_plane;
          n.inflight        = w.inflight + 1'b1;
        end
        // A receiver that is ready now need not say any more that it was not.
        if ((accept || rd_note) && dpsn == 24'd0 && !w.nak_s) n.nak_v = 1'b0;
        if (unfit) begin
          if (dpsn != 24'd0) begin
            // Its turn will come; the peer sends it again then.
            take      = 1'b1;
            rxv_valid = 1'b1;
            inf_push  = ~is_read;
            deferred  = 1'b1;
            rnr       = 1'b0;
          end else if (rnr) begin
            take      = 1'b1;
            rxv_valid = 1'b1;
            inf_push  = ~is_read;
            n.aplane  = rxh_plane;
            n.nak_v   = 1'b1;
            n.nak_syn = ubl_pkg::SyndromeRnr;
            n.nak_psn = w.done;
          end else if (rqe_wrong && !req_bad && (!cqe_ready_i || !cons_ready_i)) begin
            blocked = 1'b1;
          end else begin
            take      = 1'b1;
            rxv_valid = 1'b1;
            inf_push  = ~is_read;
            // a refused ring read was logged when it came back
            log_valid = ~(log_d.cause == ubl_pkg::ErrCauseLocal & rqe_i.err);
            err_valid = 1'b1;
            n.err     = 1'b1;
            n.aplane  = rxh_plane;
            n.nak_v   = 1'b1;
            n.nak_s   = 1'b1;
            n.nak_syn = fail_with;
            n.nak_psn = w.done;
            if (log_d.cause == ubl_pkg::ErrCauseLocal) begin
              cqe_valid  = 1'b1;
              cqe_status = rqe_status;
              n.used     = w.used + 24'd1;
            end
          end
        end
        if (is_read && take && h.err == 8'd0 && qp_ok) begin
          seen_we  = 1'b1;
          seen_psn = h.psn + 24'd1;
        end
      end

      EvFlush: begin
        n.in_fl = 1'b0;
        if (want_fl) begin
          cqe_valid  = 1'b1;
          cqe_status = ubl_pkg::CqeStatusFlushed;
          n.used     = w.used + 24'd1;
        end
      end

      EvAck: if (sel_rd) begin
        n.in_rd[rdq_pl] = 1'b0;
        if (w.rplane == rdq_plane && w.cqe_wait == '0 && !w.err &&
            (rd_again || (w.rd && (w.at ? b.placed[bit_no] : b.taken[bit_no])))) begin
          tx_valid      = 1'b1;
          tx_d.opcode   = rd_at ? ubl_pkg::PktOpAtomicResponse : ubl_pkg::PktOpReadResponse;
          tx_d.inl      = rd_at;
          tx_d.vc       = ubl_pkg::VcBulk;
          tx_d.laddr    = rd_addr;
          tx_d.len      = rd_len;
          tx_d.syndrome = ubl_pkg::SyndromeAck;
          tx_d.psn      = rd_psn;
          if (rd_again) begin
            n.more[more_idx] = 1'b0;
          end else begin
            b_we             = 1'b1;
            nb.taken[bit_no] = 1'b0;
            nb.placed[bit_no] = 1'b0;
            nb.stop[bit_no]  = 1'b0;
            adv_push         = w.fail_v;  // it may be the next one's turn to fail
            n.ahead          = w.ahead - 1'b1;
            n.done           = w.done + 24'd1;
            n.msn            = w.msn + 24'd1;
          end
          tx_d.msn = n.msn;
        end
      end else begin
        n.in_ack[ack_pl] = 1'b0;
        // Whichever plane it waited for first; it may wait for others, and finds nothing to do there.
        if (w.cqe_wait == '0) begin
          tx_d.becn = w.ce_count != 8'd0;
          tx_d.msn  = w.msn;
          if (w.nak_v) begin
            tx_valid      = 1'b1;
            tx_d.syndrome = w.nak_syn;
            tx_d.psn      = w.nak_psn;
            n.nak_v       = 1'b0;
          end else if (w.ack_p && !w.err && state_i == StReady) begin
            tx_valid      = 1'b1;
            tx_d.syndrome = ubl_pkg::SyndromeAck;
            tx_d.psn      = w.done - 24'd1;
          end
          if (tx_valid) begin
            n.ack_p     = 1'b0;
            n.ce_planes = '0;
            n.ce_count  = '0;
            n.unack     = 8'd0;
          end
        end
      end

      default: ;
    endcase

    // done moves over what is placed, up to the end of the word or a receive, which completes.
    if (adv && !w.err) begin
      can_pass = nb.placed & ~below(bit_no_done);
      if (word_psn[23:6] != w.done[23:6] || w.at) can_pass = '0;
      for (int unsigned i = 0; i < 64; i++) begin
        if (6'(i) >= bit_no_done && run_len == 7'(i) - {1'b0, bit_no_done} && can_pass[i] &&
            !step_cqe) begin
          run_len  = run_len + 7'd1;
          step_cqe = nb.stop[i];
        end
      end
      if (run_len != '0) begin
        b_we      = 1'b1;
        passed    = below7({1'b0, bit_no_done} + run_len) & ~below(bit_no_done);
        nb.taken  = nb.taken & ~passed;
        nb.placed = nb.placed & ~passed;
        nb.stop   = nb.stop & ~passed;
        n.done    = w.done + 24'(run_len);
        n.msn     = w.msn + 24'(run_len);
        n.ahead   = w.ahead - (WinW+1)'(run_len);
        // More may follow behind the word or the receive.
        adv_push  = step_cqe | (n.done[5:0] == 6'd0);
        if (step_cqe) begin
          cqe_valid  = ~cfg_i.imm_ctr;
          bump_valid = cfg_i.imm_ctr;
          n.used     = w.used + 24'd1;
        end
      end
    end
    if (n.areq_v && adv && ((n.areq_psn - n.done) & 24'h800000) != '0) begin
      n.areq_v = 1'b0;
      n.ack_p  = 1'b1;
    end
    // Memory has refused the packet whose turn it is.
    if (n.fail_v && n.done == n.fail_psn && !w.err && adv) begin
      err_valid = 1'b1;
      n.err     = 1'b1;
      n.nak_v   = 1'b1;
      n.nak_s   = 1'b1;
      n.nak_syn = ubl_pkg::SyndromeNakOper;
      n.nak_psn = n.done;
    end
    if (cqe_valid) begin
      n.ccnt     = w.ccnt + 48'd1;
      n.cqe_wait = w.cqe_wait + 1'b1;
    end
    run_end = n.done - 24'd1;

    tx_d.dst_node = cfg_i.remote_node;
    tx_d.dst_qpn  = cfg_i.remote_qpn;
    tx_d.src_qpn  = 16'(q);

    adv_push = adv_push & ~n.in_adv;
    if (adv_push) n.in_adv = 1'b1;
    // One rule queues a QP for an acknowledgement; completions that are not yet written hold it back.
    want_ack = (n.cqe_wait == '0) & ((n.ack_p & ~n.err & (state_i == StReady)) | n.nak_v);
    apush_pl = n.aplane[PlW-1:0];
    apush    = (ev != EvNone) & want_ack & ~n.in_ack[apush_pl];
    if (apush) n.in_ack[apush_pl] = 1'b1;
    // The same for READ responses: memory is read when everything before is in it.
    want_rd  = (n.cqe_wait == '0) & ~n.err &
               ((n.more != '0) | (n.rd & (n.ahead != '0) & (read_next | at_done | (rd_note & is_read & dpsn == 24'd0))));
    if (tx_valid && sel_rd && ev == EvAck) n.rplane = next_plane(cfg_i.planes, w.rplane);
    else if (!cfg_i.planes[n.rplane]) n.rplane = next_plane(cfg_i.planes, w.rplane);
    rpush_pl = n.rplane[PlW-1:0];
    rpush    = (ev != EvNone) & (ev != EvClear) & (ev != EvInit) & want_rd & ~n.in_rd[rpush_pl];
    if (rpush) n.in_rd[rpush_pl] = 1'b1;
    // And for receives that a QP in error still holds.
    fl_push = (ev != EvNone) & (state_i == StError) & cfg_i.rq_ring & (n.inflight == '0) &
              ~n.in_adv &  // what is placed completes first
              (posted != n.used[15:0]) & (slot_gen_i[n.used[MsgW-1:0]] == ~n.used[MsgW]) & ~n.in_fl;
    if (fl_push) n.in_fl = 1'b1;
  end

  assign want_fl = (state_i == StError) & cfg_i.rq_ring & (w.inflight == '0) & ~w.in_adv &
                   (posted != w.used[15:0]) & rqe_here;

  // Acknowledgement: what came by each plane, what is placed.
  logic [23:0] seen_d;
  logic [255:0] placed;
  word_t b_ack;
  logic [127:0] seen_wire;
  always_comb begin
    placed    = '0;
    b_ack     = '0;
    seen_wire = '0;
    seen_d    = '0;
    if (tx_valid && !sel_rd) begin
      for (int unsigned i = 0; i < 4; i++) begin
        b_ack = word_t'(word_mem[{q, w.done[WinW-1:6] + 3'(i)}]);
        placed[64*i +: 64] = b_ack.placed;
      end
      placed[63:0] = placed[63:0] | below(w.done[5:0]);
      placed[{2'd0, w.done[5:0]}] = 1'b0;  // by definition, though done may be about to move
      for (int unsigned p = 0; p < 8; p++) begin
        seen_d = seen[24*p +: 24] - w.done;
        if (seen_d[23] || seen_d > 24'(Window)) seen_d = '0;
        seen_wire[16*p +: 16] = {seen_d[7:0], seen_d[15:8]};
      end
    end
  end

  always_comb begin
    seen_new = seen;
    if (ev == EvInit) begin
      seen_new = {8{init_psn_i}};
    end else if (seen_we) begin
      for (int unsigned p = 0; p < Planes; p++) begin
        if (3'(p) == ((ev == EvRxd) ? rxd_plane : rxh_plane) &&
            ((seen_psn - seen[24*p +: 24]) & 24'h800000) == '0) begin
          seen_new[24*p +: 24] = seen_psn;
        end
      end
    end
  end

  always_comb begin
    e_new         = '0;
    e_new.q       = q;
    e_new.epoch   = cfg_i.epoch;
    e_new.psn     = h.psn;
    e_new.drop    = ~accept;
    e_new.known   = qp_ok & (dpsn[23] | (dpsn < 24'(Window)));
    e_new.ack_req = h.ack_req & (accept | deferred);
    e_new.ce      = h.ce;
    e_new.at      = is_atm;
    cinfo_new     = '0;
    cinfo_new.op  = h.opcode;
    cinfo_new.len = is_send ? h.rkey : 32'(h.len);
    cinfo_new.imm = h.imm;
  end

  assign rxh_ready_o = take ? rxh_hot : '0;
  assign rxv_valid_o = rxv_valid & ~is_read;  // a READ request carries nothing
  assign rxv_plane_o = rxh_plane;
  assign rxv_o       = rxv_d;
  assign tx_valid_o  = tx_valid;
  always_comb begin
    tx_o = tx_d;
    if (tx_valid && !sel_rd) tx_o.sack = {16'd0, w.ce_count, w.ce_planes, placed, seen_wire};
    // The value before, most significant byte first.
    for (int unsigned i = 0; i < 8; i++) begin
      if (tx_d.inl) tx_o.sack[8*i +: 8] = rd_old[8*(7-i) +: 8];
    end
  end
  assign log_valid_o = log_valid;
  assign log_o       = log_d;
  assign err_valid_o = err_valid;
  assign err_o       = {16'(q), cfg_i.epoch};
  assign cqe_valid_o = cqe_valid;
  assign cnt_pkt_o   = take & (h.err == 8'd0);
  assign cnt_bad_o   = take & (h.err != 8'd0);
  assign cnt_ce_o    = cnt_pkt_o & h.ce;
  assign cnt_plane_o = rxh_plane;
  assign cnt_dup_o      = dup;
  assign cnt_atomic_o   = (ev == EvRxd) & e.at & ~e.drop & ~d.err;
  assign bump_valid_o   = bump_valid;
  assign bump_ctr_o     = cinfo.imm[nic_core_pkg::CtrW-1:0];
  assign cnt_deferred_o = deferred;
  assign cnt_rnr_o      = tx_valid & ~sel_rd & (tx_d.syndrome == ubl_pkg::SyndromeRnr);

  always_comb begin
    cqe_o        = '0;
    cqe_o.qpn    = 16'(q);
    cqe_o.epoch  = cfg_i.epoch;
    cqe_o.cq     = cfg_i.rcq;
    cqe_o.status = cqe_status;
    cqe_o.opcode = ubl_pkg::WqeOpRecv;
    cqe_o.recv   = 1'b1;
    cqe_o.wr_id  = cfg_i.rq_ring ? (rqe_i.err ? 64'd0 : rqe_i.wr_id) : 64'(w.ccnt);
    cqe_o.psn    = step_cqe ? run_end : w.done;
    if (step_cqe) begin
      cqe_o.byte_len = cinfo.len;
      cqe_o.imm      = cinfo.imm;
      unique case (cinfo.op)
        ubl_pkg::PktOpSend: cqe_o.opcode = ubl_pkg::WqeOpSend;
        ubl_pkg::PktOpSendImm: cqe_o.opcode = ubl_pkg::WqeOpSendImm;
        ubl_pkg::PktOpReduceImm: cqe_o.opcode = ubl_pkg::WqeOpReduceImm;
        default: cqe_o.opcode = ubl_pkg::WqeOpWriteImm;
      endcase
    end
  end

  assign cons_valid_o = (n.used != w.used) & cfg_i.rq_ring & slot_more_i & (ev != EvNone) &
                        (ev != EvClear) & (ev != EvInit);
  assign cons_qpn_o   = q;

  always_ff @(posedge clk_i) begin
    if (ev != EvNone) ctx_mem[q] <= n;
    if (b_we) word_mem[{q, (ev == EvInit) ? init_sub_i : word_psn[WinW-1:6]}] <= nb;
    if (ev == EvInit || seen_we) seen_mem[q] <= seen_new;
    if (ev == EvClear || ev == EvInit) post_mem[init_idx_i[QpW-1:0]] <= '0;
    else if (db_valid_i) post_mem[db_qpn_i[QpW-1:0]] <= db_total_i;
    if (accept && consumes) cinfo_mem[{q, rqe_idx[MsgW-1:0]}] <= cinfo_new;
    if (inf_push) begin
      inf_mem[inf_tail[InfIdxW-1:0]]      <= e_new;
      inf_addr_mem[inf_tail[InfIdxW-1:0]] <= tgt;
      inf_last_mem[inf_tail[InfIdxW-1:0]] <= h_last;
    end
    if (rd_note) rd_mem[{q, h.psn[ReadW-1:0]}] <= {h.psn, is_atm, h.raddr, tgt_len};
    if (ev == EvRxd && e.at && !e.drop && e.known && e.epoch == cfg_i.epoch) old_mem[{q, e.psn[ReadW-1:0]}] <= d.old;
    if (rpush) rdq_mem[{3'(rpush_pl), rdq_wr_q[rpush_pl][QpW-1:0]}] <= q;
    if (fl_push) flq_mem[flq_wr_q[QpW-1:0]] <= q;
    if (adv_push) adv_mem[adv_wr_q[QpW-1:0]] <= q;
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
      adv_wr_q   <= '0;
      adv_rd_q   <= '0;
      rd_turn_q  <= 1'b0;
      grp_q      <= 2'd0;
    end else begin
      if (ev == EvRxd) begin
        inf_rd_q[rxd_pl]                  <= inf_rd_q[rxd_pl] + 1'b1;
        inf_live_q[inf_head[InfIdxW-1:0]] <= 1'b0;
        rxd_mask_q                        <= ~(rxd_hot | (rxd_hot - 1'b1));
      end
      if (ev == EvRxh) rxh_mask_q <= ~(rxh_hot | (rxh_hot - 1'b1));
      if (inf_push) begin
        inf_wr_q[rxh_pl]                  <= inf_wr_q[rxh_pl] + 1'b1;
        inf_live_q[inf_tail[InfIdxW-1:0]] <= accept & (h.len != 13'd0);
        inf_red_q[inf_tail[InfIdxW-1:0]]  <= is_red | is_atm;
      end
      if (fl_push) flq_wr_q <= flq_wr_q + 1'b1;
      if (ev == EvFlush) flq_rd_q <= flq_rd_q + 1'b1;
      if (adv_push) adv_wr_q <= adv_wr_q + 1'b1;
      if (ev == EvAdv) adv_rd_q <= adv_rd_q + 1'b1;
      if (ev == EvTxc) txc_mask_q <= ~(txc_hot | (txc_hot - 1'b1));
      if (ev == EvAck) rd_turn_q <= ~sel_rd;
      if (ev == EvAck && sel_rd) begin
        rdq_rd_q[rdq_pl] <= rdq_rd_next;
        rdq_mask_q       <= ~(rdq_hot | (rdq_hot - 1'b1));
        if (rdq_rd_next == rdq_wr_q[rdq_pl]) rdq_ne_q[rdq_pl] <= 1'b0;
      end
      if (rpush) begin
        rdq_wr_q[rpush_pl] <= rdq_wr_q[rpush_pl] + 1'b1;
        rdq_ne_q[rpush_pl] <= 1'b1;
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
  assign stat_exp_o  = rs.done;
  assign stat_msn_o  = rs.msn;
  assign rda_used_o  = used_mem[rda_idx_i];
  assign rdb_used_o  = used_mem[rdb_idx_i];
  assign unused_bits = ^{rs, h, t, d.rsp, d.qpn, d.psn, note_i.qpn, cfg_i, mr_i, db_qpn_i, inf_head,
                         inf_tail, rxd_plane, blocked, rqe_i, b_next, next_done, b_ack,
                         rqe_idx, seen_d, word_psn};

  assign busy_o = (|rxh_valid_i) | (|rxd_valid_i) | (|ack_elig) | (|rdq_elig) | (|txc_valid_i) |
                  note_valid_i | failed_v | wake_valid_i | g_fl | g_adv;

  `UBL_ASSERT_INIT(inf_bits, InfBits == $bits(inf_t) && CtxBits == $bits(rctx_t) &&
                   WordBits == $bits(word_t) && CinfoBits == $bits(cinfo_t))
  `UBL_ASSERT(rxd_expected, ev != EvRxd || inf_wr_q[rxd_pl] != inf_rd_q[rxd_pl])
  `UBL_ASSERT(rxd_order, ev != EvRxd || (d.qpn == 16'(e.q) && d.psn == e.psn))
  `UBL_ASSERT(placed_once, ev != EvRxd || e.drop || e.epoch != cfg_i.epoch || d.err || w.err ||
              (b.taken[bit_no] && !b.placed[bit_no]))
  `UBL_ASSERT(placed_in_window, ev != EvRxd || e.drop || e.epoch != cfg_i.epoch || w.err ||
              (e.psn - w.done) < 24'(Window))
  `UBL_ASSERT(taken_once, !accept || !b.taken[bit_no])
  `UBL_ASSERT(ahead_range, ev == EvNone || ev == EvClear || ev == EvInit || w.ahead <= (WinW+1)'(Window))
  `UBL_ASSERT(inflight_range, ev != EvRxd || e.drop || w.inflight != '0)
  `UBL_ASSERT(failed_room, !failed_valid_i || unused_failed_ready)
  `UBL_ASSERT(cons_room, !cons_valid_o || cons_ready_i)
  `UBL_ASSERT(flush_queue, (flq_wr_q - flq_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(adv_queue, (adv_wr_q - adv_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(note_range, ev != EvNote || w.cqe_wait != '0)
  `UBL_ASSERT(cqe_wait_range, !cqe_valid || (w.cqe_wait != '1 && cqe_ready_i))
  `UBL_ASSERT(err_room, !err_valid || err_ready_i)
  `UBL_ASSERT(ack_queue, !apush ||
              (ack_wr_q[apush_pl] - ack_rd_q[apush_pl]) != (QpW+1)'(NumQp))
  `UBL_ASSERT(ack_credit, !tx_valid || (sel_rd ? cred_bulk_i[rdq_pl] : cred_i[ack_pl]))
  `UBL_ASSERT(read_queue, !rpush ||
              (rdq_wr_q[rpush_pl] - rdq_rd_q[rpush_pl]) != (QpW+1)'(NumQp))
  `UBL_ASSERT(bump_room, !bump_valid || bump_ready_i)
  `UBL_COVER(atomic_again, ev == EvAck && tx_valid && sel_rd && rd_again && rd_at)
  `UBL_COVER(atomic_waits, unfit && is_atm && dpsn != '0)
  `UBL_COVER(imm_counts, bump_valid)
  `UBL_COVER(read_ahead, ev == EvRxh && rd_note && dpsn != '0)
  `UBL_COVER(read_again, ev == EvAck && tx_valid && sel_rd && rd_again)
  `UBL_COVER(hazard_wait, ev == EvRxh && hazard && blocked)
  `UBL_COVER(out_of_order, accept && dpsn != '0)
  `UBL_COVER(done_leaps, adv && run_len > 7'd1)
  `UBL_COVER(done_crosses_word, adv && run_len != '0 && n.done[5:0] == '0)
  `UBL_COVER(completion_behind, ev == EvAdv && step_cqe)
  `UBL_COVER(judged_later, deferred)
  `UBL_COVER(nak_again, told_again)
  `UBL_COVER(receive_not_here, ev == EvRxh && blocked && need_rqe && !rqe_here)
  `UBL_COVER(receive_wrong_waits, ev == EvRxh && blocked && unfit)
  `UBL_COVER(flush_receive, ev == EvFlush && cqe_valid)
  `UBL_COVER(ack_behind_cqe, ev == EvAck && w.cqe_wait != '0)

endmodule
