// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Send side of nic_core: cuts messages into packet descriptors, takes acknowledgements, completes
// messages in order, watches for time-outs and flushes queue pairs in error. It owns the send
// context of every QP and handles one event per cycle as a whole read-modify-write, so there are
// no hazards between events. A READ packet is noted in a table by PSN; its response is judged with
// that entry, and the packet counts as acknowledged when the data is in memory. READs and other
// packets of one QP are never outstanding together. Nothing waits inside: an event that cannot make progress is dropped
// from its queue and the event that removes the obstacle puts the QP back.
// When a completion cannot be stored, only completion events wait; a plane without descriptor
// credits delays only its own QPs.
// See also: nic_core.md, nic_wqe_fetch.sv, nic_completer.sv.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_requester #(
  /// Planes, 1..8.
  parameter int unsigned Planes = 8,
  /// Queue pairs, a power of two.
  parameter int unsigned NumQp = 1024,
  /// Memory regions, a power of two.
  parameter int unsigned NumMr = 256,
  /// Packets after which an acknowledgement is requested.
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
  /// Time in cycles.
  input  logic [63:0] now_i,
  /// Cycles without progress before a QP fails.
  input  logic [31:0] timeout_i,

  /// Initialisation event; stops every other event of this cycle.
  input  logic        init_valid_i,
  /// nic_core_pkg::Init*.
  input  logic [1:0]  init_kind_i,
  /// Index of the initialisation.
  input  logic [15:0] init_idx_i,
  /// New state (write_qp).
  input  logic [1:0]  init_state_i,
  /// First PSN to send (write_qp).
  input  logic [23:0] init_psn_i,

  /// QP whose configuration the event reads.
  output logic [QpW-1:0]      cfg_idx_o,
  /// Its configuration.
  input  nic_core_pkg::qcfg_t cfg_i,
  /// Memory region the event reads.
  output logic [MrW-1:0]      mr_idx_o,
  /// The region.
  input  nic_core_pkg::mr_t   mr_i,
  /// Generation bits of the prefetch slots of QP cfg_idx_o.
  input  logic [3:0]          slot_gen_i,
  /// Classes of the prefetch slots of QP cfg_idx_o.
  input  logic [7:0]          slot_cls_i,
  /// QP cfg_idx_o has posted entries not yet requested.
  input  logic                slot_more_i,
  /// Prefetch slot wanted.
  output logic [1:0]          wqe_slot_o,
  /// Its work request.
  input  nic_core_pkg::went_t wqe_i,

  /// QP nic_wqe_fetch works on.
  input  logic [QpW-1:0] rda_idx_i,
  /// Its state.
  output logic [1:0]     rda_state_o,
  /// Its completed entries.
  output logic [15:0]    rda_head_o,
  /// Its taken entries.
  output logic [15:0]    rda_emit_o,
  /// QP of the wake check.
  input  logic [QpW-1:0] rdb_idx_i,
  /// A visit is planned.
  output logic           rdb_want_o,
  /// Its taken entries.
  output logic [15:0]    rdb_emit_o,
  /// QP nic_responder works on.
  input  logic [QpW-1:0] rdc_idx_i,
  /// Its state.
  output logic [1:0]     rdc_state_o,
  /// QP the fetch of receive rings works on.
  input  logic [QpW-1:0] rde_idx_i,
  /// Its state.
  output logic [1:0]     rde_state_o,
  /// QP of its wake check.
  input  logic [QpW-1:0] rdf_idx_i,
  /// Its state.
  output logic [1:0]     rdf_state_o,
  /// QP read by read_qp.
  input  logic [QpW-1:0] rdd_idx_i,
  /// Its state.
  output logic [1:0]     rdd_state_o,
  /// Its next PSN.
  output logic [23:0]    rdd_next_o,
  /// Its oldest unacknowledged PSN.
  output logic [23:0]    rdd_una_o,
  /// Its completed entries.
  output logic [15:0]    rdd_head_o,

  /// A work request the requester waits for has arrived.
  input  logic           wake_valid_i,
  /// QPN.
  input  logic [QpW-1:0] wake_qpn_i,
  /// Taken.
  output logic           wake_ready_o,
  /// A ring entry was taken and more can be fetched.
  output logic           cons_valid_o,
  /// QPN.
  output logic [QpW-1:0] cons_qpn_o,
  /// Taken.
  input  logic           cons_ready_i,

  /// Error requests of nic_responder, nic_completer, nic_wqe_fetch (bit 0, 1, 2).
  input  logic [2:0]           err_valid_i,
  /// Of nic_responder.
  input  nic_core_pkg::errev_t err_rsp_i,
  /// Of nic_completer.
  input  nic_core_pkg::errev_t err_cpl_i,
  /// Of nic_wqe_fetch.
  input  nic_core_pkg::errev_t err_fch_i,
  /// Taken.
  output logic [2:0]           err_ready_o,

  /// Per plane: the oldest received header is an acknowledgement, or a READ response and the
  /// verdict register is free.
  input  logic [Planes-1:0]                   ack_valid_i,
  /// The headers (rxh_t each).
  input  logic [Planes*ubl_pkg::RxhBits-1:0]  ack_data_i,
  /// Taken.
  output logic [Planes-1:0]                   ack_ready_o,
  /// Per plane: data of a READ response is placed.
  input  logic [Planes-1:0]                   rxd_valid_i,
  /// The reports (rxd_t each).
  input  logic [Planes*ubl_pkg::RxdBits-1:0]  rxd_data_i,
  /// Taken.
  output logic [Planes-1:0]                   rxd_ready_o,
  /// A verdict on a READ response is issued.
  output logic                                rxv_valid_o,
  /// Its plane.
  output logic [2:0]                          rxv_plane_o,
  /// The verdict.
  output ubl_pkg::rxv_t                       rxv_o,
  /// Per plane: a failed payload read is reported.
  input  logic [Planes-1:0]                   txc_valid_i,
  /// The reports (txc_t each).
  input  logic [Planes*ubl_pkg::TxcBits-1:0]  txc_data_i,
  /// Taken.
  output logic [Planes-1:0]                   txc_ready_o,

  /// Per plane and VC: a descriptor slot is free.
  input  logic [Planes*3-1:0] cred_i,
  /// nic_responder emits a descriptor in this cycle ...
  input  logic                rtx_valid_i,
  /// ... on this plane.
  input  logic [2:0]          rtx_plane_i,
  /// A descriptor is emitted.
  output logic                tx_valid_o,
  /// Its plane.
  output logic [2:0]          tx_plane_o,
  /// The descriptor.
  output ubl_pkg::txd_t       tx_o,
  /// Per plane: a QP waits for a descriptor slot of VC bulk.
  output logic [Planes-1:0]   bulk_wait_o,

  /// A completion is produced.
  output logic               cqe_valid_o,
  /// The completion.
  output nic_core_pkg::cpl_t cqe_o,
  /// There is room (registers only).
  input  logic               cqe_ready_i,
  /// Error log entry.
  output logic               log_valid_o,
  /// The entry.
  output nic_core_pkg::log_t log_o,
  /// A good acknowledgement was received on plane cnt_plane_o.
  output logic               cnt_ack_o,
  /// Congestion was echoed by an acknowledgement.
  output logic               cnt_ce_o,
  /// Plane of the acknowledgement.
  output logic [2:0]         cnt_plane_o,
  /// A QP moves to error: its state says so from the next cycle on.
  output logic               failed_valid_o,
  /// Which.
  output logic [QpW-1:0]     failed_qpn_o,
  /// Something would happen without new input.
  output logic               busy_o,
  /// Next time the block must be evaluated; all ones: never.
  output logic [63:0]        deadline_o
);

  localparam logic [1:0] StReady = 2'd1;
  localparam logic [1:0] StError = 2'd2;

  // Run queues: per plane one for VC req and one for VC bulk, and one for entries without packet.
  localparam int unsigned NumRun = 2 * Planes + 1;
  localparam int unsigned RunW = $clog2(NumRun);
  localparam logic [RunW-1:0] RunFree = RunW'(2 * Planes);

  localparam int unsigned MaxMsg = ubl_pkg::NicMaxOutstanding;
  localparam int unsigned MsgW = $clog2(MaxMsg);
  localparam int unsigned MaxReads = ubl_pkg::NicMaxReads;
  localparam int unsigned ReadW = $clog2(MaxReads);
  localparam int unsigned ReadBits = 77;

  // Send context. The in_* bits say that the QP physically is in a queue; they survive write_qp.
  typedef struct packed {
    logic [1:0]        state;
    logic              stop;     // a local error waits for its turn; nothing new is started
    logic              mid;      // a message is partly emitted
    logic [31:0]       off;      // bytes of it already emitted
    logic [15:0]       emit;     // ring entries taken
    logic [15:0]       head;     // ring entries completed
    logic [MsgW:0]     nmsg;     // messages between head and emit (+1 if mid)
    logic [23:0]       next;     // next PSN
    logic [23:0]       una;      // oldest unacknowledged PSN
    logic [1:0]        vc;       // VC of the packets outstanding
    logic              rd;       // they are READs
    logic [23:0]       rd_next;  // PSN of the next response
    logic [ReadW:0]    rd_infl;  // responses on their way to memory; survives write_qp
    logic              rd_stale; // they belong to an earlier life
    logic [7:0]        pktc;     // packets since the last acknowledge request
    logic              err_v;    // the message that holds err_psn fails with err_st
    logic [23:0]       err_psn;
    logic [7:0]        err_st;
    logic              want_v;   // a visit is planned ...
    logic [RunW-1:0]   want;     // ... through this run queue
    logic [23:0]       rcvs;     // receives that earlier messages consume at the peer
    logic [NumRun-1:0] in_run;
    logic              in_cpl;
    logic              in_tmo;
    logic              tmo_skip; // the queued time-out belongs to an earlier life
    logic              outst;    // packets are outstanding and the QP is ready
  } ctx_t;

  typedef struct packed {
    logic [7:0]  status;
    logic        signalled;
    logic [7:0]  opcode;
    logic [31:0] length;
    logic [63:0] wr_id;
    logic [23:0] last;  // last PSN of the message
  } msg_t;

  localparam int unsigned MsgBits = 137;
  localparam int unsigned CtxBits = 220 + ReadW + RunW + NumRun;

  // Memories are plain vectors: yosys drops the dimension of an array of a local struct type.
  logic [CtxBits-1:0] ctx_mem [NumQp];
  logic [MsgBits-1:0] msg_mem [NumQp*MaxMsg];
  logic [ReadBits-1:0] rd_mem [NumQp*MaxReads];  // by PSN: address and length of a READ packet
  logic [QpW-1:0] run_mem [2**(RunW+QpW)];
  logic [QpW-1:0] cpl_mem [NumQp];
  logic [QpW+24-1:0] tmo_mem [NumQp];
  logic [63:0] tmo_dl_mem [NumQp];

  logic [QpW:0] run_wr_q [NumRun];
  logic [QpW:0] run_rd_q [NumRun];
  logic [NumRun-1:0] run_ne_q;
  logic [NumRun-1:0] run_mask_q;
  logic [QpW:0] cpl_wr_q, cpl_rd_q, tmo_wr_q, tmo_rd_q;
  logic [QpW:0] n_outst_q;
  logic [Planes-1:0] ack_mask_q, txc_mask_q, rxd_mask_q;
  logic [1:0] grp_q;

  // ---------------------------------------------------------------------------------------------
  // Choice of the event
  localparam logic [3:0] EvNone = 4'd0;
  localparam logic [3:0] EvClear = 4'd1;
  localparam logic [3:0] EvInit = 4'd2;
  localparam logic [3:0] EvSetErr = 4'd3;
  localparam logic [3:0] EvErr = 4'd4;
  localparam logic [3:0] EvTxc = 4'd5;
  localparam logic [3:0] EvTmo = 4'd6;
  localparam logic [3:0] EvAck = 4'd7;
  localparam logic [3:0] EvCpl = 4'd8;
  localparam logic [3:0] EvWake = 4'd9;
  localparam logic [3:0] EvRun = 4'd10;
  localparam logic [3:0] EvRxd = 4'd11;

  logic [NumRun-1:0] run_elig, run_src, run_hot;
  logic [RunW-1:0] run_sel;
  logic [QpW-1:0] run_qpn;
  logic [QpW:0] run_rd, run_rd_next;
  logic [Planes-1:0] ack_src, ack_hot, txc_src, txc_hot, rxd_src, rxd_hot;
  logic [2:0] ack_plane, txc_plane, rxd_plane;
  ubl_pkg::rxh_t ack;
  ubl_pkg::txc_t txc;
  ubl_pkg::rxd_t rxd;
  nic_core_pkg::errev_t errev;
  logic tmo_due, g_misc, g_cpl, g_run;
  logic [3:0] ev, ev_misc;
  logic [1:0] grp;
  logic [QpW-1:0] q;
  logic [QpW-1:0] tmo_q;
  logic [23:0] tmo_una;
  logic [63:0] tmo_deadline;

  always_comb begin
    run_elig = '0;
    for (int unsigned p = 0; p < Planes; p++) begin
      if (!(rtx_valid_i && rtx_plane_i == 3'(p))) begin
        run_elig[2*p]   = run_ne_q[2*p] & cred_i[3*p + 32'(ubl_pkg::VcReq)];
        run_elig[2*p+1] = run_ne_q[2*p+1] & cred_i[3*p + 32'(ubl_pkg::VcBulk)];
      end
    end
    run_elig[2*Planes] = run_ne_q[2*Planes];
    if (!cons_ready_i) run_elig = '0;
    run_src = ((run_elig & run_mask_q) != '0) ? (run_elig & run_mask_q) : run_elig;
    run_hot = run_src & (~run_src + 1'b1);
    run_sel = '0;
    for (int unsigned i = 0; i < NumRun; i++) begin
      if (run_hot[i]) run_sel = RunW'(i);
    end
  end
  assign run_rd      = run_rd_q[run_sel];
  assign run_rd_next = run_rd + 1'b1;
  assign run_qpn     = run_mem[{run_sel, run_rd[QpW-1:0]}];

  always_comb begin
    ack_src   = ((ack_valid_i & ack_mask_q) != '0) ? (ack_valid_i & ack_mask_q) : ack_valid_i;
    ack_hot   = ack_src & (~ack_src + 1'b1);
    txc_src   = ((txc_valid_i & txc_mask_q) != '0) ? (txc_valid_i & txc_mask_q) : txc_valid_i;
    txc_hot   = txc_src & (~txc_src + 1'b1);
    rxd_src   = ((rxd_valid_i & rxd_mask_q) != '0) ? (rxd_valid_i & rxd_mask_q) : rxd_valid_i;
    rxd_hot   = rxd_src & (~rxd_src + 1'b1);
    ack_plane = '0;
    txc_plane = '0;
    rxd_plane = '0;
    for (int unsigned p = 0; p < Planes; p++) begin
      if (ack_hot[p]) ack_plane = 3'(p);
      if (txc_hot[p]) txc_plane = 3'(p);
      if (rxd_hot[p]) rxd_plane = 3'(p);
    end
  end
  assign ack = ubl_pkg::rxh_t'(ack_data_i[32'(ack_plane)*ubl_pkg::RxhBits +: ubl_pkg::RxhBits]);
  assign txc = ubl_pkg::txc_t'(txc_data_i[32'(txc_plane)*ubl_pkg::TxcBits +: ubl_pkg::TxcBits]);
  assign rxd = ubl_pkg::rxd_t'(rxd_data_i[32'(rxd_plane)*ubl_pkg::RxdBits +: ubl_pkg::RxdBits]);

  assign errev = err_valid_i[0] ? err_rsp_i : (err_valid_i[1] ? err_cpl_i : err_fch_i);

  assign {tmo_q, tmo_una} = tmo_mem[tmo_rd_q[QpW-1:0]];
  assign tmo_deadline     = tmo_dl_mem[tmo_rd_q[QpW-1:0]];
  // With nothing outstanding no time-out can strike and none is looked at.
  assign deadline_o = (n_outst_q != '0 && tmo_wr_q != tmo_rd_q) ? tmo_deadline : '1;
  assign tmo_due    = (n_outst_q != '0) & (tmo_wr_q != tmo_rd_q) & (now_i >= tmo_deadline);

  assign g_misc = (|err_valid_i) | (|txc_valid_i) | tmo_due | (|ack_valid_i) | (|rxd_valid_i);
  assign g_cpl  = (cpl_wr_q != cpl_rd_q) & cqe_ready_i;
  assign g_run  = wake_valid_i | (|run_elig);

  always_comb begin
    ev_misc = EvAck;
    if (|err_valid_i) ev_misc = EvErr;
    else if (|txc_valid_i) ev_misc = EvTxc;
    else if (tmo_due) ev_misc = EvTmo;
    else if (|rxd_valid_i) ev_misc = EvRxd;
    // The three groups take turns.
    grp = 2'd3;
    unique case (grp_q)
      2'd0: begin
        if (g_misc) grp = 2'd0;
        else if (g_cpl) grp = 2'd1;
        else if (g_run) grp = 2'd2;
      end
      2'd1: begin
        if (g_cpl) grp = 2'd1;
        else if (g_run) grp = 2'd2;
        else if (g_misc) grp = 2'd0;
      end
      default: begin
        if (g_run) grp = 2'd2;
        else if (g_misc) grp = 2'd0;
        else if (g_cpl) grp = 2'd1;
      end
    endcase
    ev = EvNone;
    if (init_valid_i) begin
      if ({1'b0, init_idx_i} >= 17'(NumQp)) ev = EvNone;
      else if (init_kind_i == nic_core_pkg::InitClear) ev = EvClear;
      else if (init_kind_i == nic_core_pkg::InitQp) ev = EvInit;
      else ev = EvSetErr;
    end else begin
      unique case (grp)
        2'd0: ev = ev_misc;
        2'd1: ev = EvCpl;
        2'd2: ev = wake_valid_i ? EvWake : EvRun;
        default: ev = EvNone;
      endcase
    end
    unique case (ev)
      EvClear, EvInit, EvSetErr: q = init_idx_i[QpW-1:0];
      EvErr: q = errev.qpn[QpW-1:0];
      EvTxc: q = txc.qpn[QpW-1:0];
      EvTmo: q = tmo_q;
      EvAck: q = ack.dst_qpn[QpW-1:0];
      EvRxd: q = rxd.qpn[QpW-1:0];
      EvCpl: q = cpl_mem[cpl_rd_q[QpW-1:0]];
      EvWake: q = wake_qpn_i;
      default: q = run_qpn;
    endcase
  end

  assign wake_ready_o = ev == EvWake;
  assign ack_ready_o  = (ev == EvAck) ? ack_hot : '0;
  assign txc_ready_o  = (ev == EvTxc) ? txc_hot : '0;
  assign rxd_ready_o  = (ev == EvRxd) ? rxd_hot : '0;
  assign err_ready_o  = (ev == EvErr) ? (err_valid_i & (~err_valid_i + 3'd1)) : 3'd0;
  assign cfg_idx_o    = q;

  // ---------------------------------------------------------------------------------------------
  // The event
  ctx_t w, n;
  msg_t head_msg, new_msg;
  logic arrived, n_arrived, can_run, no_run, run_push, msg_push, cpl_push, tmo_push, go_error;
  logic [RunW-1:0] run_push_id;
  logic [MsgW-1:0] msg_slot, head_slot;
  logic [23:0] out_pkts, ack_k, nak_k, n_psn_cnt, d_last, d_err, d_new;
  logic [7:0] wqe_status;
  logic is_red, is_read, is_send, lkey_ok, last_pkt, wnd_open, head_done, head_err, fail_at;
  logic is_rsp, rsp_take, rxv_valid, rd_note;
  logic [23:0] fail_psn;
  logic [7:0] fail_st;
  logic [63:0] rd_addr;
  logic [12:0] rd_len;
  logic [31:0] remain, ncut;
  logic [12:0] pkt_len;
  logic [1:0] n_cls;
  logic tx_valid, cqe_valid, log_valid, cons_valid, cnt_ack, tmo_read;
  logic [7:0] cqe_status, nak_status;
  logic [23:0] cqe_psn;
  nic_core_pkg::log_t log_d;
  ubl_pkg::txd_t tx_d;
  logic [64:0] l_end, mr_end;

  assign w          = ctx_t'(ctx_mem[q]);
  assign wqe_slot_o = w.emit[1:0];
  assign head_slot  = w.head[MsgW-1:0];
  assign head_msg   = msg_t'(msg_mem[{q, head_slot}]);
  assign mr_idx_o   = wqe_i.lkey[8 +: MrW];

  // Checks of a work request before its first packet.
  assign l_end   = {1'b0, wqe_i.laddr} + {33'd0, wqe_i.length};
  assign mr_end  = {1'b0, mr_i.base} + {1'b0, mr_i.length};
  assign is_send = (wqe_i.opcode == ubl_pkg::WqeOpSend) | (wqe_i.opcode == ubl_pkg::WqeOpSendImm);
  assign is_read = wqe_i.opcode == ubl_pkg::WqeOpRead;
  assign lkey_ok = mr_i.valid & (is_read ? mr_i.local_write : mr_i.local_read) & (mr_i.key == wqe_i.lkey[7:0]) &
                   (mr_i.pd == cfg_i.pd) & ((wqe_i.lkey >> (8 + MrW)) == 32'd0) &
                   (wqe_i.laddr >= mr_i.base) & (l_end <= mr_end);
  assign {rd_addr, rd_len} = rd_mem[{q, ack.psn[ReadW-1:0]}];
  assign is_rsp  = ack.opcode == ubl_pkg::PktOpReadResponse;
  assign is_red  = (wqe_i.opcode == ubl_pkg::WqeOpReduce) |
                   (wqe_i.opcode == ubl_pkg::WqeOpReduceImm);

  always_comb begin
    wqe_status = ubl_pkg::CqeStatusOk;
    if (wqe_i.err) wqe_status = ubl_pkg::CqeStatusLocalMemory;
    else if (wqe_i.bad) wqe_status = ubl_pkg::CqeStatusBadOpcode;
    else if (wqe_i.opcode == ubl_pkg::WqeOpNop) wqe_status = ubl_pkg::CqeStatusOk;
    else if (wqe_i.length > 32'h8000_0000 || (is_red && wqe_i.length[1:0] != 2'd0)) begin
      wqe_status = ubl_pkg::CqeStatusLocalLength;
    end else if (wqe_i.length != 32'd0 && !lkey_ok) begin
      wqe_status = ubl_pkg::CqeStatusLocalProtection;
    end
  end

  always_comb begin
    n           = w;
    no_run      = 1'b0;
    msg_push    = 1'b0;
    cpl_push    = 1'b0;
    tmo_push    = 1'b0;
    tmo_read    = 1'b0;
    go_error    = 1'b0;
    tx_valid    = 1'b0;
    cqe_valid   = 1'b0;
    cons_valid  = 1'b0;
    log_valid   = 1'b0;
    cnt_ack     = 1'b0;
    rxv_valid   = 1'b0;
    rsp_take    = 1'b0;
    rd_note     = 1'b0;
    fail_at     = 1'b0;
    fail_psn    = txc.psn;
    fail_st     = ubl_pkg::CqeStatusLocalMemory;
    cqe_status  = ubl_pkg::CqeStatusOk;
    cqe_psn     = head_msg.last;
    log_d       = '0;
    log_d.qpn   = 16'(q);
    log_d.plane = 8'(cfg_i.plane);
    tx_d        = '0;
    msg_slot    = w.head[MsgW-1:0] + w.nmsg[MsgW-1:0];
    new_msg     = '0;

    arrived  = slot_gen_i[w.emit[1:0]] == ~w.emit[2];
    out_pkts = w.next - w.una;
    wnd_open = (out_pkts < 24'(cfg_i.window)) &
               ~(is_read & ((out_pkts >= 24'(MaxReads)) | w.rd_stale));
    remain   = wqe_i.length - w.off;
    last_pkt = remain <= ubl_pkg::LinkMtu;
    pkt_len  = last_pkt ? remain[12:0] : 13'(ubl_pkg::LinkMtu);
    ncut     = (wqe_i.length + ubl_pkg::LinkMtu - 32'd1) >> $clog2(ubl_pkg::LinkMtu);
    n_psn_cnt = (wqe_i.length == 32'd0) ? 24'd1 : ncut[23:0];
    ack_k    = ack.psn + 24'd1 - w.una;
    nak_k    = ack.psn - w.una;
    d_last   = w.una - head_msg.last;   // 1 .. 2^23-1: the head message is acknowledged
    d_err    = head_msg.last - w.err_psn;
    head_done = (d_last != 24'd0) & ~d_last[23];
    head_err  = w.err_v & ~d_err[23] & (head_msg.status == ubl_pkg::CqeStatusOk);
    unique case (ack.syndrome)
      ubl_pkg::SyndromeNakSeq: nak_status = ubl_pkg::CqeStatusSequence;
      ubl_pkg::SyndromeNakAccess: nak_status = ubl_pkg::CqeStatusRemoteAccess;
      ubl_pkg::SyndromeNakOper: nak_status = ubl_pkg::CqeStatusRemoteOperation;
      ubl_pkg::SyndromeNakInvalid: nak_status = ubl_pkg::CqeStatusRemoteInvalid;
      default: begin
        nak_status = (ack.syndrome[7:5] == 3'b001) ? ubl_pkg::CqeStatusRnr
                                                   : ubl_pkg::CqeStatusRemoteInvalid;
      end
    endcase

    unique case (ev)
      EvClear: n = '0;

      EvInit: begin
        n          = '0;
        n.state    = init_state_i;
        n.next     = init_psn_i;
        n.una      = init_psn_i;
        n.in_run   = w.in_run;
        n.in_cpl   = w.in_cpl;
        n.in_tmo   = w.in_tmo;
        n.tmo_skip = w.in_tmo;
        n.rd_infl  = w.rd_infl;
        n.rd_stale = w.rd_infl != '0;
        no_run     = 1'b1;
      end

      EvSetErr: if (w.state == StReady) begin
        go_error = 1'b1;
        n.err_v  = 1'b0;
      end

      EvErr: if (w.state == StReady && errev.epoch == cfg_i.epoch) begin
        go_error = 1'b1;
        n.err_v  = 1'b0;
      end

      EvTxc: begin
        // The frame was spoiled, so nothing from this PSN on will be accepted.
        if (w.state == StReady && (txc.psn - w.una) < out_pkts && (txc.qpn >> QpW) == 16'd0) begin
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseLocal;
          log_d.psn   = txc.psn;
          fail_at     = 1'b1;
        end
      end

      EvTmo: begin
        tmo_read = 1'b1;
        if (!w.outst) begin
          n.in_tmo   = 1'b0;
          n.tmo_skip = 1'b0;
        end else if (w.tmo_skip || w.una != tmo_una) begin
          tmo_push   = 1'b1;
          n.tmo_skip = 1'b0;
        end else begin
          n.in_tmo    = 1'b0;
          go_error    = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseTimeout;
          log_d.psn   = w.una;
          if (!(w.err_v && w.err_psn == w.una)) begin
            n.err_v   = 1'b1;
            n.err_psn = w.una;
            n.err_st  = ubl_pkg::CqeStatusTimeout;
          end
        end
      end

      EvAck: begin
        log_d.psn   = ack.psn;
        log_d.plane = 8'(ack_plane);
        cnt_ack     = 1'b1;
        if ((ack.dst_qpn >> QpW) != 24'd0 || w.state != StReady ||
            ack.src_node != cfg_i.remote_node) begin
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseBadQp;
          log_d.qpn   = ack.dst_qpn[15:0];
        end else if (is_rsp) begin
          // In PSN order only: behind a lost response nothing is taken.
          rsp_take    = w.rd & (w.rd_next != w.next) & (ack.psn == w.rd_next) & (ack.len == rd_len);
          log_valid   = ~rsp_take;
          log_d.cause = ubl_pkg::ErrCauseSequence;
          if (rsp_take) begin
            n.rd_next = w.rd_next + 24'd1;
            n.rd_infl = w.rd_infl + 1'b1;
          end
        end else if (ack.syndrome[7:5] == 3'b000) begin
          // READs are acknowledged by their data.
          if (w.rd && ack_k <= out_pkts) begin
            n.una = w.una;
          end else if (ack_k <= out_pkts) begin
            n.una    = ack.psn + 24'd1;
            cpl_push = ack_k != 24'd0;
          end else if (!ack_k[23]) begin
            log_valid   = 1'b1;  // acknowledges what was never sent
            log_d.cause = ubl_pkg::ErrCauseSequence;
          end
        end else if (nak_k < out_pkts && w.rd) begin
          // Data of earlier READs may still be on its way.
          fail_at     = 1'b1;
          fail_psn    = ack.psn;
          fail_st     = nak_status;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseNak;
        end else if (nak_k < out_pkts) begin
          n.una       = ack.psn;
          go_error    = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseNak;
          if (!(w.err_v && w.err_psn == ack.psn)) begin
            n.err_v   = 1'b1;
            n.err_psn = ack.psn;
            n.err_st  = nak_status;
          end
        end else if (!nak_k[23]) begin
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseSequence;
        end
      end

      EvRxd: begin
        n.rd_infl   = w.rd_infl - 1'b1;
        log_d.psn   = rxd.psn;
        log_d.plane = 8'(rxd_plane);
        if (w.rd_stale) begin
          n.rd_stale = n.rd_infl != '0;
        end else if (w.state == StReady && rxd.err) begin
          fail_at     = 1'b1;
          fail_psn    = rxd.psn;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseMemWrite;
        end else if (w.state == StReady && rxd.psn == w.una) begin
          n.una    = w.una + 24'd1;
          cpl_push = 1'b1;
        end
      end

      EvCpl: begin
        n.in_cpl = 1'b0;
        if (w.nmsg != '0) begin
          if (head_err && (w.state == StError || w.stop)) begin
            cqe_valid  = 1'b1;
            cqe_status = w.err_st;
            cqe_psn    = w.err_psn;
            go_error   = w.state == StReady;
            n.err_v    = 1'b0;
          end else if (head_done && head_msg.status == ubl_pkg::CqeStatusOk) begin
            cqe_valid = 1'b1;
          end else if (w.state == StError) begin
            cqe_valid  = 1'b1;
            cqe_status = ubl_pkg::CqeStatusFlushed;
          end else if (head_done) begin
            cqe_valid  = 1'b1;
            cqe_status = head_msg.status;
            go_error   = 1'b1;
            n.err_v    = 1'b0;
          end
          if (cqe_valid) begin
            n.head   = w.head + 16'd1;
            n.nmsg   = w.nmsg - 1'b1;
            cpl_push = n.nmsg != '0;
          end
        end
      end

      EvWake: ;

      EvRun: begin
        n.in_run[run_sel] = 1'b0;
        if (w.want_v && w.want == run_sel) begin
          n.want_v = 1'b0;
          if (w.state == StError) begin
            if (w.mid) begin
              n.mid      = 1'b0;
              n.off      = '0;
              n.emit     = w.emit + 16'd1;
              cons_valid = 1'b1;
            end else if (!arrived || w.nmsg == (MsgW+1)'(MaxMsg)) begin
              no_run = 1'b1;
            end else begin
              msg_push       = 1'b1;
              new_msg.status = ubl_pkg::CqeStatusFlushed;
              new_msg.last   = w.next - 24'd1;
              n.emit         = w.emit + 16'd1;
              cons_valid     = 1'b1;
              cpl_push       = 1'b1;
            end
          end else if (w.state != StReady || w.stop || !(w.mid || arrived)) begin
            no_run = 1'b1;
          end else if (!w.mid && (w.nmsg == (MsgW+1)'(MaxMsg) ||
                                  (wqe_i.fence && w.nmsg != '0))) begin
            no_run = 1'b1;
          end else if (!w.mid && (wqe_status != ubl_pkg::CqeStatusOk ||
                                  wqe_i.opcode == ubl_pkg::WqeOpNop)) begin
            msg_push       = 1'b1;
            new_msg.status = wqe_status;
            new_msg.last   = w.next - 24'd1;
            n.emit         = w.emit + 16'd1;
            cons_valid     = 1'b1;
            cpl_push       = 1'b1;
            n.stop         = wqe_status != ubl_pkg::CqeStatusOk;
            // a refused ring read was logged when it came back
            log_valid      = n.stop & ~wqe_i.err;
            log_d.cause    = ubl_pkg::ErrCauseLocal;
            log_d.psn      = w.next;
          end else if (!wnd_open || ((w.vc != wqe_i.vc || w.rd != is_read) && w.una != w.next)) begin
            // Another VC may overtake: the packets of the old one must have arrived. What follows a
            // READ may overwrite what it reads.
            no_run = 1'b1;
          end else begin
            tx_valid     = 1'b1;
            n.vc         = wqe_i.vc;
            n.rd         = is_read;
            rd_note      = is_read;
            if (w.una == w.next) n.rd_next = w.next;
            tx_d.vc      = wqe_i.vc;
            tx_d.laddr   = wqe_i.laddr + {32'd0, w.off};
            tx_d.len     = pkt_len;
            tx_d.raddr   = wqe_i.raddr + {32'd0, w.off};
            tx_d.rkey    = wqe_i.rkey;
            tx_d.psn     = w.next;
            tx_d.ack_req = last_pkt | (w.pktc + 8'd1 == 8'(AckEvery)) |
                           (out_pkts + 24'd1 >= 24'(cfg_i.window));
            if (is_read) begin
              tx_d.opcode  = ubl_pkg::PktOpReadRequest;
              tx_d.ack_req = 1'b0;
            end else if (is_red) begin
              tx_d.opcode    = ubl_pkg::PktOpReduce;
              tx_d.red_op    = wqe_i.red_op;
              tx_d.red_dtype = wqe_i.red_dtype;
              if (last_pkt && wqe_i.opcode == ubl_pkg::WqeOpReduceImm) begin
                tx_d.opcode = ubl_pkg::PktOpReduceImm;
                tx_d.imm    = wqe_i.imm;
              end
            end else if (is_send) begin
              tx_d.opcode = ubl_pkg::PktOpSend;
              tx_d.raddr  = {8'd0, w.rcvs, w.off};
              tx_d.rkey   = wqe_i.length;
              if (last_pkt && wqe_i.opcode == ubl_pkg::WqeOpSendImm) begin
                tx_d.opcode = ubl_pkg::PktOpSendImm;
                tx_d.imm    = wqe_i.imm;
              end
            end else begin
              tx_d.opcode = ubl_pkg::PktOpWrite;
              if (last_pkt && wqe_i.opcode == ubl_pkg::WqeOpWriteImm) begin
                tx_d.opcode = ubl_pkg::PktOpWriteImm;
                tx_d.imm    = wqe_i.imm;
              end
            end
            n.next   = w.next + 24'd1;
            n.pktc   = (tx_d.ack_req | is_read) ? 8'd0 : w.pktc + 8'd1;
            tmo_push = ~w.in_tmo;
            if (!w.mid) begin
              msg_push     = 1'b1;
              new_msg.last = w.next + n_psn_cnt - 24'd1;
            end
            if (last_pkt) begin
              if (is_send || wqe_i.opcode == ubl_pkg::WqeOpWriteImm ||
                  wqe_i.opcode == ubl_pkg::WqeOpReduceImm) begin
                n.rcvs = w.rcvs + 24'd1;
              end
              n.mid      = 1'b0;
              n.off      = '0;
              n.emit     = w.emit + 16'd1;
              cons_valid = 1'b1;
            end else begin
              n.mid = 1'b1;
              n.off = w.off + ubl_pkg::LinkMtu;
            end
          end
        end else begin
          no_run = 1'b1;
        end
      end

      default: no_run = 1'b1;
    endcase

    tx_d.dst_node = cfg_i.remote_node;
    tx_d.dst_qpn  = cfg_i.remote_qpn;
    tx_d.src_qpn  = 16'(q);

    new_msg.signalled = wqe_i.signalled;
    new_msg.opcode    = wqe_i.opcode;
    new_msg.length    = wqe_i.length;
    new_msg.wr_id     = wqe_i.wr_id;
    // The message that holds fail_psn fails when those before it are done; nothing new is started.
    d_new = w.err_psn - fail_psn;
    if (fail_at) begin
      n.stop   = 1'b1;
      cpl_push = 1'b1;
      if (!w.err_v || (d_new != 24'd0 && !d_new[23])) begin
        n.err_v   = 1'b1;
        n.err_psn = fail_psn;
        n.err_st  = fail_st;
      end
    end
    if (ev == EvAck && is_rsp) rxv_valid = 1'b1;
    if (msg_push) n.nmsg = w.nmsg + 1'b1;
    if (tmo_push) n.in_tmo = 1'b1;

    if (go_error) begin
      n.state  = StError;
      n.stop   = 1'b0;
      cpl_push = (n.nmsg != '0);
    end
    n.outst = (n.state == StReady) & (n.next != n.una);

    // One rule puts a QP into the completion queue ...
    cpl_push = cpl_push & ~n.in_cpl;
    if (cpl_push) n.in_cpl = 1'b1;

    // ... and one rule plans its next visit.
    n_arrived   = slot_gen_i[n.emit[1:0]] == ~n.emit[2];
    n_cls       = slot_cls_i[{n.emit[1:0], 1'b0} +: 2];
    can_run     = ((n.state == StReady && !n.stop) || n.state == StError) & (n.mid | n_arrived);
    run_push    = 1'b0;
    run_push_id = RunFree;
    if (n.state == StReady && n_cls != nic_core_pkg::ClsFree) begin
      run_push_id = RunW'({cfg_i.plane, n_cls == nic_core_pkg::ClsBulk});
    end
    if (!no_run && can_run && (!n.want_v || (n.state == StError && n.want != RunFree))) begin
      n.want_v = 1'b1;
      n.want   = run_push_id;
      run_push = ~n.in_run[run_push_id];
      n.in_run[run_push_id] = 1'b1;
    end
  end

  always_comb begin
    rxv_o        = '0;
    rxv_o.action = rsp_take ? ubl_pkg::RxActionWrite : ubl_pkg::RxActionDrop;
    rxv_o.rsp    = 1'b1;
    rxv_o.qpn    = 16'(q);
    rxv_o.psn    = ack.psn;
    rxv_o.addr   = rd_addr;
    rxv_o.len    = ack.len;
  end
  assign rxv_valid_o  = rxv_valid;
  assign rxv_plane_o  = ack_plane;
  for (genvar p = 0; p < Planes; p++) begin : gen_wait
    assign bulk_wait_o[p] = run_ne_q[2*p+1];
  end

  assign tx_valid_o   = tx_valid;
  assign tx_plane_o   = cfg_i.plane;
  assign tx_o         = tx_d;
  assign log_valid_o  = log_valid;
  assign log_o        = log_d;
  assign cons_valid_o = cons_valid & slot_more_i;
  assign cons_qpn_o   = q;
  assign cnt_ack_o    = cnt_ack;
  assign cnt_ce_o     = cnt_ack & ack.ce;
  assign cnt_plane_o  = ack_plane;
  assign failed_valid_o = (ev != EvNone) & (n.state == StError) & (w.state != StError);
  assign failed_qpn_o   = q;

  assign cqe_valid_o = cqe_valid & (head_msg.signalled | (cqe_status != ubl_pkg::CqeStatusOk));
  always_comb begin
    cqe_o          = '0;
    cqe_o.qpn      = 16'(q);
    cqe_o.epoch    = cfg_i.epoch;
    cqe_o.cq       = cfg_i.scq;
    cqe_o.wr_id    = head_msg.wr_id;
    cqe_o.byte_len = head_msg.length;
    cqe_o.opcode   = head_msg.opcode;
    cqe_o.status   = cqe_status;
    cqe_o.sq_head  = n.head;
    cqe_o.psn      = cqe_psn;
  end

  always_ff @(posedge clk_i) begin
    if (ev != EvNone) ctx_mem[q] <= n;
    if (msg_push) msg_mem[{q, msg_slot}] <= new_msg;
    if (rd_note) rd_mem[{q, w.next[ReadW-1:0]}] <= {tx_d.laddr, tx_d.len};
    if (run_push) run_mem[{run_push_id, run_wr_q[run_push_id][QpW-1:0]}] <= q;
    if (cpl_push) cpl_mem[cpl_wr_q[QpW-1:0]] <= q;
    if (tmo_push) begin
      tmo_mem[tmo_wr_q[QpW-1:0]]    <= {q, w.una};
      tmo_dl_mem[tmo_wr_q[QpW-1:0]] <= now_i + 64'(timeout_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < NumRun; i++) begin
        run_wr_q[i] <= '0;
        run_rd_q[i] <= '0;
      end
      run_ne_q   <= '0;
      run_mask_q <= '0;
      cpl_wr_q   <= '0;
      cpl_rd_q   <= '0;
      tmo_wr_q   <= '0;
      tmo_rd_q   <= '0;
      n_outst_q  <= '0;
      ack_mask_q <= '0;
      txc_mask_q <= '0;
      rxd_mask_q <= '0;
      grp_q      <= 2'd0;
    end else begin
      if (ev == EvRun) begin
        run_rd_q[run_sel] <= run_rd_next;
        run_mask_q        <= ~(run_hot | (run_hot - 1'b1));
        if (run_rd_next == run_wr_q[run_sel]) run_ne_q[run_sel] <= 1'b0;
      end
      if (run_push) begin
        run_wr_q[run_push_id] <= run_wr_q[run_push_id] + 1'b1;
        run_ne_q[run_push_id] <= 1'b1;
      end
      if (ev == EvCpl) cpl_rd_q <= cpl_rd_q + 1'b1;
      if (cpl_push) cpl_wr_q <= cpl_wr_q + 1'b1;
      if (tmo_read) tmo_rd_q <= tmo_rd_q + 1'b1;
      if (tmo_push) tmo_wr_q <= tmo_wr_q + 1'b1;
      if (ev == EvAck) ack_mask_q <= ~(ack_hot | (ack_hot - 1'b1));
      if (ev == EvTxc) txc_mask_q <= ~(txc_hot | (txc_hot - 1'b1));
      if (ev == EvRxd) rxd_mask_q <= ~(rxd_hot | (rxd_hot - 1'b1));
      if (!init_valid_i && grp != 2'd3) grp_q <= (grp == 2'd2) ? 2'd0 : grp + 2'd1;
      if (ev == EvClear) n_outst_q <= '0;
      else if (ev != EvNone) n_outst_q <= n_outst_q + (QpW+1)'(n.outst) - (QpW+1)'(w.outst);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Reads by others
  ctx_t ra, rb, rc, rd;
  logic unused_ctx;
  assign ra = ctx_t'(ctx_mem[rda_idx_i]);
  assign rb = ctx_t'(ctx_mem[rdb_idx_i]);
  assign rc = ctx_t'(ctx_mem[rdc_idx_i]);
  assign rd = ctx_t'(ctx_mem[rdd_idx_i]);
  assign rda_state_o = ra.state;
  assign rda_head_o  = ra.head;
  assign rda_emit_o  = ra.emit;
  assign rdb_want_o  = rb.want_v;
  assign rdb_emit_o  = rb.emit;
  assign rdc_state_o = rc.state;
  assign rde_state_o = ctx_mem[rde_idx_i][CtxBits-1-:2];  // the first field
  assign rdf_state_o = ctx_mem[rdf_idx_i][CtxBits-1-:2];
  assign rdd_state_o = rd.state;
  assign rdd_next_o  = rd.next;
  assign rdd_una_o   = rd.una;
  assign rdd_head_o  = rd.head;
  assign unused_ctx  = ^{ra, rb, rc, rd, ncut, l_end, ack, cfg_i, wqe_i.lkey, errev.qpn,
                        mr_i, txc, rxd, d_err};

  // A time-out that is due shows in deadline_o, not here.
  assign busy_o = (|err_valid_i) | (|txc_valid_i) | (|ack_valid_i) | (|rxd_valid_i) | (cpl_wr_q != cpl_rd_q) |
                  wake_valid_i | (|run_elig);

  `UBL_ASSERT_INIT(msg_bits, MsgBits == $bits(msg_t) && CtxBits == $bits(ctx_t))
  `UBL_ASSERT(run_queue, !run_push ||
              (run_wr_q[run_push_id] - run_rd_q[run_push_id]) != (QpW+1)'(NumQp))
  `UBL_ASSERT(cpl_queue, (cpl_wr_q - cpl_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(tmo_queue, (tmo_wr_q - tmo_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(outst_count, n_outst_q <= (QpW+1)'(NumQp))
  `UBL_ASSERT(window, ev == EvNone || ev == EvClear || ev == EvInit || w.state != StReady ||
              out_pkts <= 24'(cfg_i.window))
  `UBL_ASSERT(tx_credit, !tx_valid || cred_i[32'(cfg_i.plane)*3 + 32'(tx_d.vc)])
  `UBL_ASSERT(msg_count, ev == EvNone || ev == EvClear || w.nmsg <= (MsgW+1)'(MaxMsg))
  `UBL_ASSERT(cqe_room, !cqe_valid || cqe_ready_i)
  `UBL_ASSERT(cons_room, !cons_valid || cons_ready_i)
  `UBL_ASSERT(rxd_expected, ev != EvRxd || w.rd_infl != '0)
  `UBL_ASSERT(rxd_order, ev != EvRxd || w.rd_stale || w.state != StReady || w.stop || rxd.psn == w.una)
  `UBL_COVER(read_after_other, ev == EvRun && w.rd != is_read && w.una != w.next && arrived)
  `UBL_COVER(stale_visit, ev == EvRun && !(w.want_v && w.want == run_sel))
  `UBL_COVER(fence_wait, ev == EvRun && w.state == StReady && arrived && wqe_i.fence && w.nmsg != '0)
  `UBL_COVER(window_wait, ev == EvRun && w.mid && !wnd_open)
  `UBL_COVER(vc_change_wait, ev == EvRun && w.state == StReady && arrived && w.vc != wqe_i.vc &&
             w.una != w.next)
  `UBL_COVER(timeout_progress, ev == EvTmo && tmo_push)

endmodule
