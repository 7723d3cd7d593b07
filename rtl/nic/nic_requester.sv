// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Send side of nic_core: cuts messages into packet descriptors, spreads them over the planes, takes
// acknowledgements, sends again what was lost, completes messages in order and flushes queue pairs
// in error. It owns the send context of every QP and handles one event per cycle as a whole
// read-modify-write, so there are no hazards between events. What an acknowledgement reports beyond
// its PSN is worked through by the sack walker, one word of 64 packets or one missing packet per
// event. A READ packet is noted in a table by PSN; its response is judged with that entry, and the
// packet counts as acknowledged when the data is in memory. Nothing waits inside: an event that
// cannot make progress is dropped from its queue and the event that removes the obstacle puts the
// QP back.
// When a completion cannot be stored, only completion events wait; a plane without descriptor
// credits delays only QPs that have no other.
// See also: nic_transport.md, nic_core.md, nic_wqe_fetch.sv, nic_completer.sv.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_requester #(
  /// Planes, 1..8.
  parameter int unsigned Planes = 8,
  /// Queue pairs, a power of two.
  parameter int unsigned NumQp = 1024,
  /// Memory regions, a power of two.
  parameter int unsigned NumMr = 256,
  /// Packets after which the peer acknowledges unasked.
  parameter int unsigned AckEvery = 16,
  /// Descriptors a nic_port buffers per VC.
  parameter int unsigned TxdDepth = 16,
  /// QP index width, do not overwrite.
  localparam int unsigned QpW = $clog2(NumQp),
  /// MR index width, do not overwrite.
  localparam int unsigned MrW = $clog2(NumMr),
  /// Messages of a QP outstanding, do not overwrite.
  localparam int unsigned MaxMsg = ubl_pkg::NicMaxOutstanding,
  /// Slot index width, do not overwrite.
  localparam int unsigned MsgW = $clog2(MaxMsg),
  /// Counter index width, do not overwrite.
  localparam int unsigned CtrW = nic_core_pkg::CtrW,
  /// Width of a count of descriptor credits.
  localparam int unsigned CredW = $clog2(TxdDepth + 1)
) (
  /// Clock.
  input  logic clk_i,
  /// Reset, active low.
  input  logic rst_ni,
  /// Time in cycles.
  input  logic [63:0] now_i,
  /// Cycles without progress before packets are sent again.
  input  logic [31:0] timeout_i,
  /// Cycles before a receiver that was not ready is asked again.
  input  logic [31:0] rnr_timer_i,
  /// Packets by which planes may differ.
  input  logic [9:0]  reorder_i,
  /// Cycles after which a plane that is down is tried again.
  input  logic [31:0] plane_probe_i,
  /// Growth of a congestion window in a round trip without marks, 1/64 packets.
  input  logic [7:0]  cc_step_i,
  /// Time of a byte in 1/65536 cycles, of VC req; 0: no pacing.
  input  logic [15:0] pace_req_i,
  /// The same of VC bulk.
  input  logic [15:0] pace_bulk_i,
  /// planes_down is written.
  input  logic        down_we_i,
  /// Its new value.
  input  logic [7:0]  down_i,
  /// Planes that are down.
  output logic [7:0]  down_o,

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
  /// First congestion window, packets (write_qp).
  input  logic [9:0]  init_cwnd_i,

  /// QP whose configuration the event reads.
  output logic [QpW-1:0]      cfg_idx_o,
  /// Its configuration.
  input  nic_core_pkg::qcfg_t cfg_i,
  /// Memory region the event reads.
  output logic [MrW-1:0]      mr_idx_o,
  /// The region.
  input  nic_core_pkg::mr_t   mr_i,
  /// Generation bits of the prefetch slots of QP cfg_idx_o.
  input  logic [MaxMsg-1:0]   slot_gen_i,
  /// Classes of the prefetch slots of QP cfg_idx_o: {quiet, fence, Kind*, Cls*} of nic_core_pkg.
  input  logic [nic_core_pkg::ClassBits*MaxMsg-1:0] slot_cls_i,
  /// QP cfg_idx_o has posted entries not yet requested.
  input  logic                slot_more_i,
  /// Prefetch slot wanted.
  output logic [MsgW-1:0]     wqe_slot_o,
  /// Its work request.
  input  nic_core_pkg::went_t wqe_i,

  /// QP nic_wqe_fetch works on.
  input  logic [QpW-1:0] rda_idx_i,
  /// Its state.
  output logic [1:0]     rda_state_o,
  /// Its completed entries.
  output logic [15:0]    rda_head_o,
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
  /// Its congestion window, 1/64 packets.
  output logic [15:0]    rdd_cwnd_o,
  /// Its packets that met congestion.
  output logic [15:0]    rdd_marks_o,
  /// Its packets sent again.
  output logic [15:0]    rdd_again_o,

  /// A work request the requester waits for has arrived.
  input  logic           wake_valid_i,
  /// QPN.
  input  logic [QpW-1:0] wake_qpn_i,
  /// Taken.
  output logic           wake_ready_o,
  /// A QP that waited for a counter must be looked at.
  input  logic           twake_valid_i,
  /// QPN.
  input  logic [QpW-1:0] twake_qpn_i,
  /// Taken.
  output logic           twake_ready_o,
  /// Counter the entry in work waits for.
  output logic [CtrW-1:0] look_ctr_o,
  /// Its threshold.
  output logic [31:0]     look_min_o,
  /// The counter has a failure.
  input  logic            look_failed_i,
  /// It has reached the threshold.
  input  logic            look_met_i,
  /// QP cfg_idx_o waits for it from now on.
  output logic            wait_o,
  /// QP cfg_idx_o waits for no counter any more.
  output logic            leave_o,
  /// A completion counts.
  output logic                bump_valid_o,
  /// The count.
  output nic_core_pkg::bump_t bump_o,
  /// There is room (registers only).
  input  logic                bump_ready_i,
  /// The failure of a QP counts in err_ctr_o.
  output logic                err_ctr_valid_o,
  /// The counter.
  output logic [CtrW-1:0]     err_ctr_o,
  /// An entry wait completed ok.
  output logic                cnt_wait_o,
  /// A ring entry is completed and more can be fetched.
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
  /// Per plane: it is a READ response.
  input  logic [Planes-1:0]                   ack_rsp_i,
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
  /// How many.
  input  logic [Planes*3*CredW-1:0] cred_cnt_i,
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
  /// A packet counts as lost.
  output logic               cnt_lost_o,
  /// The plane it took.
  output logic [2:0]         cnt_lost_plane_o,
  /// A packet is sent again.
  output logic               cnt_again_o,
  /// A QP timed out.
  output logic               cnt_timeout_o,
  /// A READ response arrived again.
  output logic               cnt_dup_o,
  /// A receiver was not ready.
  output logic               cnt_rnr_o,
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

  // Run queues: per plane one for VC req and one for VC bulk, for QPs that have this plane only or
  // wait for it; one for entries without packet; and per VC one for QPs of several planes. Odd ones
  // are bulk.
  localparam int unsigned NumRun = 2 * Planes + 3;
  localparam int unsigned RunW = $clog2(NumRun);
  localparam logic [RunW-1:0] RunFree = RunW'(2 * Planes);
  localparam logic [RunW-1:0] RunBulk = RunW'(2 * Planes + 1);
  localparam logic [RunW-1:0] RunReq = RunW'(2 * Planes + 2);

  localparam int unsigned PlW = (Planes > 1) ? $clog2(Planes) : 1;
  localparam int unsigned Window = ubl_pkg::NicMaxWindow;
  localparam int unsigned WinW = $clog2(Window);
  localparam int unsigned ClassBits = nic_core_pkg::ClassBits;
  localparam int unsigned MaxReads = ubl_pkg::NicMaxReads;
  localparam int unsigned ReadW = $clog2(MaxReads);
  localparam int unsigned ReadBits = 77;
  localparam int unsigned ReadGap = 24;   // responses behind a missing one that prove it lost
  localparam int unsigned CwFrac = ubl_pkg::NicCwndFrac;
  localparam int unsigned CePlanesAt = 48;  // bytes of SACKH
  localparam int unsigned CeCountAt = 49;
  localparam int unsigned MaxCpl = 4;     // messages that complete in one event
  localparam int unsigned MarkW = 12;     // marks are compared within twice the window
  localparam int unsigned FailW = $clog2(ubl_pkg::NicPlaneFail + 1);

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
    logic [1:0]        kind;     // their kind
    logic [ReadW:0]    rd_infl;  // responses on their way to memory; survives write_qp
    logic              rd_stale; // they belong to an earlier life
    logic              lost_v;   // there may be lost packets ...
    logic [23:0]       rtx;      // ... from this PSN on
    logic [15:0]       rmsg;     // ring entry where the message of a lost packet is looked for
    logic [7:0]        tper;     // time-out periods without progress
    logic [3:0]        tlev;     // time-outs without progress
    logic              rnr_wait; // the receiver was not ready: nothing is sent
    logic [3:0]        rnr_n;    // RNR answers in a row
    logic              in_rnr;
    logic              rnr_skip; // the queued RNR wait belongs to an earlier life
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
    logic [15:0]       cwnd;     // congestion window, 1/64 packets
    logic              slow;     // slow start: no mark yet
    logic [9:0]        csum;     // acknowledged without mark since it grew
    logic [23:0]       aq;       // last PSN sent with AckReq
    logic [15:0]       marks;    // packets that met congestion
    logic [15:0]       again_n;  // packets sent again
  } ctx_t;

  typedef struct packed {
    logic [7:0]  status;
    logic [23:0] rcvs;   // receives that earlier messages consume
    logic [23:0] first;  // PSNs of the message
    logic [23:0] last;
  } msg_t;

  // What is known of a packet: it was acknowledged, is lost, or its READ response is on its way.
  typedef struct packed {
    logic [63:0] taken;
    logic [63:0] acked;
    logic [63:0] lost;
  } word_t;

  localparam int unsigned MsgBits = 80;
  localparam int unsigned CtxBits = 328 + MsgW + ReadW + RunW + NumRun;
  localparam int unsigned WordBits = 192;
  localparam int unsigned PktBits = 3 + MarkW;

  // Memories are plain vectors: yosys drops the dimension of an array of a local struct type.
  logic [CtxBits-1:0] ctx_mem [NumQp];
  logic [MsgBits-1:0] msg_mem [NumQp*MaxMsg];         // by ring entry
  logic [WordBits-1:0] word_mem [NumQp*(Window/64)];  // by PSN
  logic [PktBits-1:0] pkt_mem [NumQp*Window];         // by PSN: plane and mark of the last sending
  logic [ReadBits-1:0] rd_mem [NumQp*MaxReads];       // by PSN: address and length of a READ packet
  logic [QpW-1:0] run_mem [2**(RunW+QpW)];
  logic [QpW-1:0] cpl_mem [NumQp];
  logic [QpW+24-1:0] tmo_mem [NumQp];
  logic [63:0] tmo_dl_mem [NumQp];
  logic [QpW-1:0] rnr_mem [NumQp];
  logic [63:0] rnr_dl_mem [NumQp];

  logic [QpW:0] run_wr_q [NumRun];
  logic [QpW:0] run_rd_q [NumRun];
  logic [NumRun-1:0] run_ne_q;
  logic [NumRun-1:0] run_mask_q;
  logic [QpW:0] cpl_wr_q, cpl_rd_q, tmo_wr_q, tmo_rd_q, rnr_wr_q, rnr_rd_q;
  logic [QpW:0] n_outst_q;
  logic [Planes-1:0] ack_mask_q, txc_mask_q, rxd_mask_q;
  logic [1:0] grp_q;
  logic [2:0] rr_q;  // plane that is asked first

  // Walks through what an acknowledgement reports, or, after a time-out, through all outstanding.
  logic sk_v_q, sk_all_q, sk_scan_q;
  logic [7:0] sk_miss_q;    // after a time-out: planes of the first packets that are missing ...
  logic [3:0] sk_look_q;    // ... up to 16
  logic [QpW-1:0] sk_q_q;
  logic [15:0] sk_epoch_q;
  logic [23:0] sk_base_q;   // first PSN of the report, a multiple of 64
  logic [3:0] sk_word_q;    // word in work
  logic [5:0] sk_ptr_q;     // first bit not looked at
  logic [255:0] sk_bits_q;
  logic [7:0] sk_has_q;     // planes with a report
  logic [8*MarkW-1:0] sk_seen_q;
  logic [23:0] sk_max_q;    // highest report of all planes

  // Planes
  logic [FailW-1:0] fail_q [8];
  logic [7:0] down_q, pd_log_q;
  logic [63:0] probe_q [8];
  logic [3:0] avoid_q [8];     // handicap: marked more than others

  // Pacing of VC req and bulk: when the next packet may start, 1/65536 cycles.
  logic [79:0] pace_rq_q, pace_bk_q;
  logic [1:0] pace_ok;
  logic [63:0] pace_at;

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
  localparam logic [3:0] EvSack = 4'd12;
  localparam logic [3:0] EvRnr = 4'd13;

  logic [NumRun-1:0] run_elig, run_src, run_hot;
  logic [RunW-1:0] run_sel;
  logic [QpW-1:0] run_qpn;
  logic [QpW:0] run_rd, run_rd_next;
  logic [Planes-1:0] ack_able, ack_src, ack_hot, txc_src, txc_hot, rxd_src, rxd_hot;
  logic [2:0] ack_plane, txc_plane, rxd_plane;
  ubl_pkg::rxh_t ack;
  ubl_pkg::txc_t txc;
  ubl_pkg::rxd_t rxd;
  nic_core_pkg::errev_t errev;
  logic tmo_due, rnr_due, g_misc, g_cpl, g_run;
  logic [3:0] ev, ev_misc;
  logic [1:0] grp;
  logic [QpW-1:0] q;
  logic [QpW-1:0] tmo_q, rnr_q;
  logic [23:0] tmo_una;
  logic [63:0] tmo_deadline, rnr_deadline, tmo_at, rnr_at, wait_at;

  always_comb begin
    pace_ok  = {(pace_bulk_i == 16'd0) | (pace_bk_q[79:16] <= now_i + 64'(ubl_pkg::NicPaceEarly)),
                (pace_req_i == 16'd0) | (pace_rq_q[79:16] <= now_i + 64'(ubl_pkg::NicPaceEarly))};
    run_elig = '0;
    for (int unsigned p = 0; p < Planes; p++) begin
      if (!(rtx_valid_i && rtx_plane_i == 3'(p))) begin
        run_elig[2*p]   = run_ne_q[2*p] & cred_i[3*p + 32'(ubl_pkg::VcReq)];
        run_elig[2*p+1] = run_ne_q[2*p+1] & cred_i[3*p + 32'(ubl_pkg::VcBulk)];
        if (cred_i[3*p + 32'(ubl_pkg::VcReq)]) run_elig[RunReq] = run_ne_q[RunReq];
        if (cred_i[3*p + 32'(ubl_pkg::VcBulk)]) run_elig[RunBulk] = run_ne_q[RunBulk];
      end
    end
    // Odd ones are bulk.
    for (int unsigned i = 0; i < NumRun; i++) begin
      if (!pace_ok[i & 1]) run_elig[i] = 1'b0;
    end
    run_elig[RunFree] = run_ne_q[RunFree];
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

  // Acknowledgements wait for the walker, READ responses do not.
  assign ack_able = ack_valid_i & (ack_rsp_i | {Planes{~sk_v_q}});

  always_comb begin
    ack_src   = ((ack_able & ack_mask_q) != '0) ? (ack_able & ack_mask_q) : ack_able;
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
  assign rnr_q            = rnr_mem[rnr_rd_q[QpW-1:0]];
  assign rnr_deadline     = rnr_dl_mem[rnr_rd_q[QpW-1:0]];
  // With nothing outstanding no time-out can strike and none is looked at.
  assign tmo_at     = (n_outst_q != '0 && tmo_wr_q != tmo_rd_q) ? tmo_deadline : '1;
  assign rnr_at     = (rnr_wr_q != rnr_rd_q) ? rnr_deadline : '1;
  function automatic logic [63:0] pace_of(logic bulk);
    pace_of = (bulk ? pace_bk_q[79:16] : pace_rq_q[79:16]) - 64'(ubl_pkg::NicPaceEarly);
  endfunction
  // Earliest start of a class that is held back only by its pace.
  always_comb begin
    pace_at = '1;
    for (int unsigned i = 0; i < NumRun; i++) begin
      if (!pace_ok[i & 1] && run_ne_q[i] && 32'(RunFree) != i && pace_of(i[0]) < pace_at) begin
        pace_at = pace_of(i[0]);
      end
    end
  end
  assign wait_at    = (tmo_at < rnr_at) ? tmo_at : rnr_at;
  assign deadline_o = (wait_at < pace_at) ? wait_at : pace_at;
  assign tmo_due    = (n_outst_q != '0) & (tmo_wr_q != tmo_rd_q) & (now_i >= tmo_deadline) & ~sk_v_q;
  assign rnr_due    = (rnr_wr_q != rnr_rd_q) & (now_i >= rnr_deadline);

  assign g_misc = (|err_valid_i) | (|txc_valid_i) | tmo_due | rnr_due | sk_v_q | (|ack_able) |
                  (|rxd_valid_i);
  assign g_cpl  = (cpl_wr_q != cpl_rd_q) & cqe_ready_i & cons_ready_i & bump_ready_i;
  assign g_run  = wake_valid_i | twake_valid_i | (|run_elig);

  always_comb begin
    ev_misc = EvAck;
    if (|err_valid_i) ev_misc = EvErr;
    else if (|txc_valid_i) ev_misc = EvTxc;
    else if (tmo_due) ev_misc = EvTmo;
    else if (rnr_due) ev_misc = EvRnr;
    else if (|rxd_valid_i) ev_misc = EvRxd;
    else if (sk_v_q) ev_misc = EvSack;
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
        2'd2: ev = (wake_valid_i | twake_valid_i) ? EvWake : EvRun;
        default: ev = EvNone;
      endcase
    end
    unique case (ev)
      EvClear, EvInit, EvSetErr: q = init_idx_i[QpW-1:0];
      EvErr: q = errev.qpn[QpW-1:0];
      EvTxc: q = txc.qpn[QpW-1:0];
      EvTmo: q = tmo_q;
      EvRnr: q = rnr_q;
      EvSack: q = sk_q_q;
      EvAck: q = ack.dst_qpn[QpW-1:0];
      EvRxd: q = rxd.qpn[QpW-1:0];
      EvCpl: q = cpl_mem[cpl_rd_q[QpW-1:0]];
      EvWake: q = wake_valid_i ? wake_qpn_i : twake_qpn_i;
      default: q = run_qpn;
    endcase
  end

  assign wake_ready_o  = ev == EvWake;
  assign twake_ready_o = (ev == EvWake) & ~wake_valid_i;
  assign ack_ready_o  = (ev == EvAck) ? ack_hot : '0;
  assign txc_ready_o  = (ev == EvTxc) ? txc_hot : '0;
  assign rxd_ready_o  = (ev == EvRxd) ? rxd_hot : '0;
  assign err_ready_o  = (ev == EvErr) ? (err_valid_i & (~err_valid_i + 3'd1)) : 3'd0;
  assign cfg_idx_o    = q;

  // ---------------------------------------------------------------------------------------------
  // The event
  ctx_t w, n;
  msg_t msg, new_msg;
  word_t b, nb;                 // the word of the bitmap that the event looks at
  logic [23:0] word_psn;        // a PSN in it
  logic [WinW-1:0] pkt_idx;
  logic [2:0] pkt_plane;        // of the packet that the event looks at
  logic [MarkW-1:0] pkt_mark, over, over_all, over_rd;
  logic b_we, again, to_wait, vc_ok, any_lost, cand_any, hole_v, hole_lost, rest_v, start_all;
  logic [63:0] lost_here, in_wnd, holes, hole_hot, below_max, new_acks;
  logic [5:0] lost_bit, hole_bit;
  logic [23:0] s_psn, lost_psn, wb, lo, hi, lim, hole_psn;
  logic [6:0] run_len;
  logic [Planes-1:0] cand, mask_up;
  logic [7:0] up, mask8;
  logic [2:0] tx_plane, wait_plane, only_plane;
  logic arrived, n_arrived, f_arrived, can_run, no_run, run_push, msg_push, cpl_push, tmo_push;
  logic rnr_push, go_error, cpl_more;
  msg_t k_msg;
  logic [23:0] k_last;
  logic cc_ack, aq_out;
  logic [23:0] cc_k;
  logic [7:0] cc_c;
  logic [9:0] cc_un, eff_wnd;
  logic [10:0] cc_sum;
  logic [16:0] cc_new, cc_dec;
  logic [RunW-1:0] run_push_id;
  logic [MsgW-1:0] msg_idx;
  logic [8:0] tmo_periods;
  logic [23:0] dist_a, dist_b;
  logic [23:0] out_pkts, ack_k, nak_k, n_psn_cnt, d_last, d_err, d_new;
  logic [7:0] wqe_status;
  logic is_red, is_read, is_atm, is_send, is_wait, has_imm, bump_valid, wait_on, leave, lkey_ok, last_pkt, wnd_open, head_done, head_err, fail_at;
  logic is_rsp, rsp_take, rxv_valid, rd_note, progress, in_range, follows, bit_taken, bit_acked;
  logic [23:0] fail_psn;
  logic [7:0] fail_st;
  logic [63:0] rd_addr;
  logic [12:0] rd_len;
  logic [31:0] remain, ncut, tx_off, mtu;
  logic [3:0] mtu_sh;
  logic [23:0] tx_psn, tx_rcvs;
  logic [12:0] pkt_len;
  logic [ClassBits-1:0] n_cls, f_cls;
  logic [1:0] wqe_kind;
  logic w_read;
  logic tx_valid, cqe_valid, log_valid, cons_valid, cnt_ack, tmo_read;
  logic cnt_timeout, cnt_dup, cnt_rnr, sk_next, sk_end;
  logic [7:0] cqe_status, nak_status;
  logic [23:0] cqe_psn;
  nic_core_pkg::log_t log_d;
  ubl_pkg::txd_t tx_d;
  logic [64:0] l_end, mr_end;

  function automatic logic [63:0] below(logic [23:0] d);  // bits before distance d (signed)
    if (d[23] || d == 24'd0) below = '0;
    else if (d >= 24'd64) below = '1;
    else below = (64'd1 << d[5:0]) - 64'd1;
  endfunction

  function automatic logic [63:0] swap64(logic [63:0] v);
    swap64 = {v[7:0], v[15:8], v[23:16], v[31:24], v[39:32], v[47:40], v[55:48], v[63:56]};
  endfunction

  function automatic logic [5:0] index_of(logic [63:0] hot);
    index_of = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (hot[i]) index_of = 6'(i);
    end
  endfunction

  assign w       = ctx_t'(ctx_mem[q]);
  assign again   = (ev == EvRun) & (w.state == StReady) & w.lost_v;
  assign msg_idx = again ? w.rmsg[MsgW-1:0] : w.head[MsgW-1:0];
  assign msg     = msg_t'(msg_mem[{q, msg_idx}]);
  assign wqe_slot_o = (ev == EvCpl || again) ? msg_idx : w.emit[MsgW-1:0];
  assign mr_idx_o   = wqe_i.lkey[8 +: MrW];

  // Checks of a work request before its first packet.
  assign l_end   = {1'b0, wqe_i.laddr} + {33'd0, wqe_i.length};
  assign mr_end  = {1'b0, mr_i.base} + {1'b0, mr_i.length};
  assign is_send = (wqe_i.opcode == ubl_pkg::WqeOpSend) | (wqe_i.opcode == ubl_pkg::WqeOpSendImm);
  assign has_imm = (wqe_i.opcode == ubl_pkg::WqeOpWriteImm) |
                   (wqe_i.opcode == ubl_pkg::WqeOpReduceImm);
  assign is_read = wqe_i.opcode == ubl_pkg::WqeOpRead;
  assign is_atm  = (wqe_i.opcode == ubl_pkg::WqeOpFetchAdd) | (wqe_i.opcode == ubl_pkg::WqeOpCompareSwap);
  assign is_wait = wqe_i.opcode == ubl_pkg::WqeOpWait;
  assign wqe_kind = is_read ? nic_core_pkg::KindRead
                            : is_atm ? nic_core_pkg::KindAtomic : (wqe_i.ordered ? nic_core_pkg::KindOrdered : nic_core_pkg::KindPlain);
  // Acknowledged by their data.
  assign w_read   = (w.kind == nic_core_pkg::KindRead) | (w.kind == nic_core_pkg::KindAtomic);
  assign lkey_ok = mr_i.valid & ((is_read | is_atm) ? mr_i.local_write : mr_i.local_read) & (mr_i.key == wqe_i.lkey[7:0]) &
                   (mr_i.pd == cfg_i.pd) & ((wqe_i.lkey >> (8 + MrW)) == 32'd0) &
                   (wqe_i.laddr >= mr_i.base) & (l_end <= mr_end);
  assign {rd_addr, rd_len} = rd_mem[{q, ack.psn[ReadW-1:0]}];
  assign is_rsp  = (ack.opcode == ubl_pkg::PktOpReadResponse) | (ack.opcode == ubl_pkg::PktOpAtomicResponse);
  assign is_red  = (wqe_i.opcode == ubl_pkg::WqeOpReduce) |
                   (wqe_i.opcode == ubl_pkg::WqeOpReduceImm);

  always_comb begin
    wqe_status = ubl_pkg::CqeStatusOk;
    if (wqe_i.err) wqe_status = ubl_pkg::CqeStatusLocalMemory;
    else if (wqe_i.bad) wqe_status = ubl_pkg::CqeStatusBadOpcode;
    else if (wqe_i.opcode == ubl_pkg::WqeOpNop) wqe_status = ubl_pkg::CqeStatusOk;
    else if (is_wait) begin
      if (look_failed_i) wqe_status = ubl_pkg::CqeStatusCounterFailed;
    end else if (wqe_i.length > 32'h8000_0000 || (is_atm && wqe_i.length != 32'd8) ||
                 (wqe_i.inl && wqe_i.length > 32'(ubl_pkg::NicMaxInline)) ||
                 (is_red && (wqe_i.length[0] || (wqe_i.length[1] &&
                  (wqe_i.red_dtype == ubl_pkg::RedTypeF32 || wqe_i.red_dtype == ubl_pkg::RedTypeI32))))) begin
      wqe_status = ubl_pkg::CqeStatusLocalLength;
    end else if (wqe_i.length != 32'd0 && !wqe_i.inl && !lkey_ok) begin
      wqe_status = ubl_pkg::CqeStatusLocalProtection;
    end
  end

  // Where a packet may go now: of the planes that are up, those with a descriptor; most free first.
  always_comb begin
    up = '0;
    for (int unsigned p = 0; p < Planes; p++) up[p] = ~down_q[p] | (now_i >= probe_q[p]);
  end
  always_comb begin
    mask8      = ((cfg_i.planes & up) != 8'd0) ? (cfg_i.planes & up) : cfg_i.planes;
    mask_up    = mask8[Planes-1:0];
    cand       = '0;
    tx_plane   = '0;
    wait_plane = '0;
    if (ev == EvRun) begin
      for (int unsigned p = 0; p < Planes; p++) begin
        cand[p] = mask_up[p] & cred_i[3*p + (run_sel[0] ? 32'(ubl_pkg::VcBulk) : 32'(ubl_pkg::VcReq))] &
                  ~(rtx_valid_i & rtx_plane_i == 3'(p));
      end
      if (wqe_i.ordered || is_atm) mask_up = first_plane(mask_up);
      cand     = cand & mask_up;
      // Again, but not on the plane that lost it, if there is another one.
      if (again && (cand & ~(Planes'(1) << pkt_plane)) != '0) cand = cand & ~(Planes'(1) << pkt_plane);
      tx_plane = best_plane(cand);
      for (int unsigned p = Planes; p > 0; p--) begin
        if (mask_up[p-1]) wait_plane = 3'(p - 1);
      end
    end
  end
  assign cand_any = |cand;

  // Ordered packets of a QP take one plane, which spreads QPs over the planes.
  function automatic logic [Planes-1:0] first_plane(logic [Planes-1:0] from);
    first_plane = '0;
    for (int unsigned i = Planes; i > 0; i--) begin
      if (from[PlW'((32'(q) + i - 1) % Planes)]) begin
        first_plane = '0;
        first_plane[PlW'((32'(q) + i - 1) % Planes)] = 1'b1;
      end
    end
  endfunction

  function automatic logic [2:0] best_plane(logic [Planes-1:0] from);
    logic [CredW-1:0] have;
    logic [CredW+1:0] most, worth;
    logic [2:0] at;
    most       = '0;
    best_plane = '0;
    for (int unsigned i = 0; i < Planes; i++) begin
      at = 3'((32'(rr_q) + i) % Planes);
      have = cred_cnt_i[(3*32'(at) + (run_sel[0] ? 32'(ubl_pkg::VcBulk) : 32'(ubl_pkg::VcReq)))*CredW +: CredW];
      worth = {1'b0, have, 1'b0} + {{(CredW-2){1'b0}}, ~avoid_q[at]};  // 15 - handicap
      if (from[at[PlW-1:0]] && have != '0 && worth > most) begin
        most       = worth;
        best_plane = at;
      end
    end
  endfunction

  // The word of the bitmap, the packet.
  assign s_psn = (((w.rtx - w.una) & 24'h800000) != '0) ? w.una : w.rtx;
  assign wb    = sk_base_q + {14'd0, sk_word_q, 6'd0};
  always_comb begin
    unique case (ev)
      EvSack: word_psn = wb;
      EvAck: word_psn = ack.psn;
      EvRxd: word_psn = rxd.psn;
      EvCpl, EvRnr: word_psn = w.una;
      default: word_psn = again ? s_psn : w.next;
    endcase
  end
  assign b = word_t'(word_mem[{q, word_psn[WinW-1:6]}]);
  assign pkt_idx = (ev == EvSack) ? hole_psn[WinW-1:0]
                                  : (again ? lost_psn[WinW-1:0] : w.una[WinW-1:0]);
  assign {pkt_plane, pkt_mark} = pkt_mem[{q, pkt_idx}];

  // The next lost packet.
  always_comb begin
    lost_here = '0;
    lost_bit  = '0;
    if (again) begin
      lost_here = b.lost & ~b.acked & below(w.next - {s_psn[23:6], 6'd0}) &
                  ~((64'd1 << s_psn[5:0]) - 64'd1);
      lost_bit  = index_of(lost_here & (~lost_here + 64'd1));
    end
  end
  assign any_lost = lost_here != '0;
  assign lost_psn = {s_psn[23:6], lost_bit};

  // The walker: what is new, and the next packet that is missing.
  always_comb begin
    lo        = w.una - wb;
    hi        = w.next - wb;
    lim       = sk_max_q - wb;
    in_wnd    = '0;
    new_acks  = '0;
    below_max = '0;
    holes     = '0;
    hole_hot  = '0;
    hole_bit  = '0;
    rest_v    = 1'b0;
    if (ev == EvSack) begin
      in_wnd    = below(hi) & ~below(lo);
      new_acks  = sk_scan_q ? '0 : sk_bits_q[{sk_word_q[1:0], 6'd0} +: 64] & in_wnd & ~b.acked;
      if (sk_all_q) new_acks = '0;
      below_max = sk_all_q ? '1 : below(lim);
      holes     = in_wnd & ~b.acked & ~new_acks & ~b.taken & below_max;
      if (!sk_all_q) holes = holes & ~b.lost;
      if (sk_scan_q) holes = holes & ~((64'd1 << sk_ptr_q) - 64'd1);
      hole_hot  = holes & (~holes + 64'd1);
      rest_v    = (holes & ~hole_hot) != '0;
      if (sk_scan_q) hole_bit = index_of(hole_hot);
    end
  end
  assign hole_v   = holes != '0;
  assign hole_psn = {wb[23:6], hole_bit};
  assign over     = sk_seen_q[32'(pkt_plane)*MarkW +: MarkW] - pkt_mark;
  assign over_all = sk_max_q[MarkW-1:0] - pkt_mark;
  assign hole_lost = (sk_has_q[pkt_plane] & ~over[MarkW-1]) |
                     (~over_all[MarkW-1] & (over_all >= MarkW'(reorder_i)));
  assign over_rd  = ack.psn[MarkW-1:0] + MarkW'(1) - pkt_mark;

  // What may follow at once behind the entry in work.
  logic [15:0] f_emit;
  assign f_emit    = w.emit + 16'd1;
  assign f_arrived = slot_gen_i[f_emit[MsgW-1:0]] == ~f_emit[MsgW];
  assign f_cls     = slot_cls_i[32'(f_emit[MsgW-1:0])*ClassBits +: ClassBits];
  assign follows   = f_arrived & ~f_cls[nic_core_pkg::ClassFence] & (f_cls[3:2] == wqe_kind) & (w.nmsg < (MsgW+1)'(MaxMsg - 1)) &
                     (f_cls[1:0] == ((wqe_i.vc == ubl_pkg::VcBulk) ? nic_core_pkg::ClsBulk
                                                                   : nic_core_pkg::ClsReq));

  always_comb begin
    n           = w;
    nb          = b;
    b_we        = 1'b0;
    no_run      = 1'b0;
    to_wait     = 1'b0;
    msg_push    = 1'b0;
    cpl_push    = 1'b0;
    tmo_push    = 1'b0;
    rnr_push    = 1'b0;
    tmo_read    = 1'b0;
    go_error    = 1'b0;
    tx_valid    = 1'b0;
    cqe_valid   = 1'b0;
    cons_valid  = 1'b0;
    log_valid   = 1'b0;
    cnt_ack     = 1'b0;
    cnt_timeout = 1'b0;
    cnt_dup     = 1'b0;
    cnt_rnr     = 1'b0;
    start_all   = 1'b0;
    wait_on     = 1'b0;
    leave       = ev == EvInit;
    progress    = 1'b0;
    rxv_valid   = 1'b0;
    rsp_take    = 1'b0;
    rd_note     = 1'b0;
    fail_at     = 1'b0;
    sk_next     = 1'b0;
    sk_end      = 1'b0;
    fail_psn    = txc.psn;
    fail_st     = ubl_pkg::CqeStatusLocalMemory;
    cqe_status  = ubl_pkg::CqeStatusOk;
    cqe_psn     = msg.last;
    log_d       = '0;
    log_d.qpn   = 16'(q);
    tx_d        = '0;
    tx_off      = w.off;
    tx_psn      = w.next;
    tx_rcvs     = w.rcvs;
    new_msg     = '0;
    run_len     = '0;
    dist_a      = '0;
    dist_b      = '0;
    cpl_more    = 1'b0;
    k_msg       = '0;
    k_last      = '0;

    mtu_sh   = 4'd12 - {2'd0, cfg_i.mtu};
    mtu      = 32'd1 << mtu_sh;
    arrived  = slot_gen_i[w.emit[MsgW-1:0]] == ~w.emit[MsgW];
    out_pkts = w.next - w.una;
    in_range = (word_psn - w.una) < out_pkts;
    bit_taken = b.taken[word_psn[5:0]];
    bit_acked = b.acked[word_psn[5:0]];
    eff_wnd  = (cfg_i.cwnd != 10'd0 && w.cwnd[15:6] < cfg_i.window) ? w.cwnd[15:6] : cfg_i.window;
    aq_out   = (w.aq - w.una) < out_pkts;
    // An acknowledgement must be on its way, also when the window shrinks.
    wnd_open = (out_pkts < 24'(cfg_i.window)) &
               ((out_pkts < 24'(eff_wnd)) |
                (~aq_out & (out_pkts < 24'(AckEvery)) & ~is_read & ~is_atm)) &
               ~((is_read | is_atm) & ((out_pkts >= 24'(MaxReads)) | w.rd_stale));
    ncut     = (wqe_i.length + mtu - 32'd1) >> mtu_sh;
    n_psn_cnt = (wqe_i.length == 32'd0) ? 24'd1 : ncut[23:0];
    ack_k    = ack.psn + 24'd1 - w.una;
    nak_k    = ack.psn - w.una;
    tmo_periods = w.tlev[3] ? 9'd256 : 9'd1 << w.tlev[2:0];
    d_last   = w.una - msg.last;   // 1 .. 2^23-1: the head message is acknowledged
    d_err    = msg.last - w.err_psn;
    head_done = (d_last != 24'd0) & ~d_last[23];
    head_err  = w.err_v & ~d_err[23] & (msg.status == ubl_pkg::CqeStatusOk);
    vc_ok     = (run_sel != RunFree) &
                (run_sel[0] == ((again ? w.vc : wqe_i.vc) == ubl_pkg::VcBulk));
    unique case (ack.syndrome)
      ubl_pkg::SyndromeNakAccess: nak_status = ubl_pkg::CqeStatusRemoteAccess;
      ubl_pkg::SyndromeNakOper: nak_status = ubl_pkg::CqeStatusRemoteOperation;
      default: nak_status = ubl_pkg::CqeStatusRemoteInvalid;
    endcase

    unique case (ev)
      EvClear: n = '0;

      EvInit: begin
        n          = '0;
        n.state    = init_state_i;
        n.next     = init_psn_i;
        n.una      = init_psn_i;
        n.aq       = init_psn_i - 24'd1;
        n.cwnd     = {init_cwnd_i, {CwFrac{1'b0}}};
        n.slow     = 1'b1;
        n.in_run   = w.in_run;
        n.in_cpl   = w.in_cpl;
        n.in_tmo   = w.in_tmo;
        n.tmo_skip = w.in_tmo;
        n.in_rnr   = w.in_rnr;
        n.rnr_skip = w.in_rnr;
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
        // The frame was spoiled, so nobody will accept this PSN.
        if (w.state == StReady && (txc.psn - w.una) < out_pkts && (txc.qpn >> QpW) == 16'd0) begin
          log_valid   = ~(w.err_v & (w.err_psn == txc.psn));
          log_d.cause = ubl_pkg::ErrCauseLocal;
          log_d.plane = 8'(txc_plane);
          log_d.psn   = txc.psn;
          fail_at     = 1'b1;
        end
      end

      EvTmo: begin
        tmo_read    = 1'b1;
        log_d.plane = 8'(pkt_plane);
        if (!w.outst) begin
          n.in_tmo   = 1'b0;
          n.tmo_skip = 1'b0;
        end else if (w.tmo_skip || w.una != tmo_una || w.rnr_wait) begin
          tmo_push   = 1'b1;
          n.tmo_skip = 1'b0;
          n.tper     = '0;
        end else if ({1'b0, w.tper} + 9'd1 < tmo_periods) begin
          tmo_push = 1'b1;
          n.tper   = w.tper + 8'd1;
        end else if (w.tlev == cfg_i.retry) begin
          n.in_tmo    = 1'b0;
          go_error    = 1'b1;
          cnt_timeout = 1'b1;
          log_valid   = 1'b1;
          log_d.cause = ubl_pkg::ErrCauseTimeout;
          log_d.psn   = w.una;
          if (!(w.err_v && w.err_psn == w.una)) begin
            n.err_v   = 1'b1;
            n.err_psn = w.una;
            n.err_st  = ubl_pkg::CqeStatusTimeout;
          end
        end else begin
          tmo_push    = 1'b1;
          n.tper      = '0;
          n.tlev      = w.tlev + 4'd1;
          cnt_timeout = 1'b1;
          start_all   = 1'b1;
        end
      end

      EvRnr: begin
        n.in_rnr   = 1'b0;
        n.rnr_skip = 1'b0;
        if (w.rnr_wait && !w.rnr_skip) begin
          n.rnr_wait = 1'b0;
          if (w.state == StReady && out_pkts != 24'd0 && !bit_acked) begin
            b_we                   = 1'b1;
            nb.lost[word_psn[5:0]] = 1'b1;
            n.lost_v               = 1'b1;
            n.rtx                  = w.una;
          end
        end else if (w.rnr_wait) begin
          rnr_push = 1'b1;  // of this life, behind one of an earlier
        end
      end

      EvAck: begin
        log_d.psn   = ack.psn;
        log_d.plane = 8'(ack_plane);
        cnt_ack     = 1'b1;
        if ((ack.dst_qpn >> QpW) != 24'd0 || w.state != StReady ||
            ack.src_node != cfg_i.remote_node) begin
          // What a QP that failed had sent is answered still.
          log_valid   = ~((ack.dst_qpn >> QpW) == 24'd0 && w.state == StError &&
                          ack.src_node == cfg_i.remote_node);
          log_d.cause = ubl_pkg::ErrCauseBadQp;
          log_d.qpn   = ack.dst_qpn[15:0];
        end else if (is_rsp) begin
          rsp_take = w_read & ~w.rd_stale & in_range &
                     ((w.kind == nic_core_pkg::KindAtomic) == (ack.opcode == ubl_pkg::PktOpAtomicResponse)) & ~bit_taken & ~bit_acked & (ack.len == rd_len);
          // Nobody asked for what is ahead, or for another length.
          log_valid   = ~rsp_take & (in_range ? (~w_read | (ack.len != rd_len) |
                                   ((w.kind == nic_core_pkg::KindAtomic) != (ack.opcode == ubl_pkg::PktOpAtomicResponse)))
                                  : ~nak_k[23]);
          cnt_dup     = ~rsp_take & ~log_valid;
          log_d.cause = ubl_pkg::ErrCauseSequence;
          if (rsp_take) begin
            n.rd_infl = w.rd_infl + 1'b1;
            b_we      = 1'b1;
            nb.taken[word_psn[5:0]] = 1'b1;
            nb.lost[word_psn[5:0]]  = 1'b0;
            // Far behind others the oldest one is lost.
            if (w.una[23:6] == word_psn[23:6] && !nb.taken[w.una[5:0]] && !b.acked[w.una[5:0]] &&
                !over_rd[MarkW-1] && over_rd >= MarkW'(ReadGap)) begin
              nb.lost[w.una[5:0]] = 1'b1;
              n.lost_v            = 1'b1;
              n.rtx               = w.una;
            end
          end
        end else if (ack.syndrome[7:5] == 3'b000) begin
          // READs are acknowledged by their data.
          if (!w_read && ack_k <= out_pkts) begin
            n.una    = ack.psn + 24'd1;
            progress = ack_k != 24'd0;
          end else if (ack_k > out_pkts && !ack_k[23]) begin
            log_valid   = 1'b1;  // acknowledges what was never sent
            log_d.cause = ubl_pkg::ErrCauseSequence;
          end
        end else if (ack.syndrome[7:5] == 3'b001) begin
          if (nak_k < out_pkts) begin
            cnt_rnr = 1'b1;
            if (!w_read) begin
              n.una    = ack.psn;
              progress = nak_k != 24'd0;
            end
            if (!w.rnr_wait && n.una == ack.psn) begin
              if (progress) n.rnr_n = '0;
              if (cfg_i.rnr_retry != 4'd15 && n.rnr_n == cfg_i.rnr_retry) begin
                go_error    = 1'b1;
                log_valid   = 1'b1;
                log_d.cause = ubl_pkg::ErrCauseRnr;
                if (!(w.err_v && w.err_psn == ack.psn)) begin
                  n.err_v   = 1'b1;
                  n.err_psn = ack.psn;
                  n.err_st  = ubl_pkg::CqeStatusRnr;
                end
              end else begin
                if (n.rnr_n != 4'd15) n.rnr_n = n.rnr_n + 4'd1;
                n.rnr_wait = 1'b1;
                rnr_push   = ~w.in_rnr;
              end
            end
          end else if (!nak_k[23]) begin
            log_valid   = 1'b1;
            log_d.cause = ubl_pkg::ErrCauseSequence;
          end
        end else if (nak_k < out_pkts && w_read) begin
          // Data of earlier READs may still be on its way.
          fail_at     = 1'b1;
          fail_psn    = ack.psn;
          fail_st     = nak_status;
          log_valid   = ~(w.err_v & (w.err_psn == ack.psn));
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

      EvSack: begin
        if (w.state != StReady || sk_epoch_q != cfg_i.epoch || out_pkts == 24'd0) begin
          sk_end = 1'b1;
        end else if (sk_all_q && !sk_scan_q) begin
          // All of the word is lost. Then a look at the planes of the first ones.
          b_we     = hole_v;
          nb.lost  = b.lost | holes;
          n.lost_v = w.lost_v | hole_v;
          if (hole_v) n.rtx = w.una;
          sk_next  = ~hole_v | (sk_word_q != 4'd0);
        end else if (sk_all_q) begin
          sk_next = ~rest_v | (sk_look_q == 4'd15);
        end else if (!sk_scan_q) begin
          b_we     = new_acks != '0;
          nb.acked = b.acked | new_acks;
          nb.lost  = b.lost & ~new_acks;
          sk_next  = ~hole_v;
        end else begin
          sk_next = ~rest_v;
          if (hole_v && hole_lost) begin
            b_we              = 1'b1;
            nb.lost[hole_bit] = 1'b1;
            n.lost_v          = 1'b1;
            dist_a            = w.rtx - hole_psn;
            if (!w.lost_v || !dist_a[23]) n.rtx = hole_psn;
          end
        end
        // The last word: of the report, of what is outstanding, of what was seen.
        if (sk_next && ((!sk_all_q && (sk_word_q == 4'd3 || lim[23] || lim <= 24'd64)) ||
                        hi[23] || hi <= 24'd64)) begin
          sk_end = 1'b1;
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
        end else if (w.state == StReady && in_range) begin
          b_we                    = 1'b1;
          nb.acked[word_psn[5:0]] = 1'b1;
          nb.taken[word_psn[5:0]] = 1'b0;
          cpl_push                = rxd.psn == w.una;
        end
      end

      EvCpl: begin
        n.in_cpl = 1'b0;
        // READs: over all whose data are placed.
        if (w.state == StReady && w_read && out_pkts != 24'd0 && bit_acked) begin
          for (int unsigned i = 0; i < 64; i++) begin
            if (6'(i) >= w.una[5:0] && run_len == 7'(i) - {1'b0, w.una[5:0]} && b.acked[i] &&
                24'(run_len) < out_pkts) begin
              run_len = run_len + 7'd1;
            end
          end
          n.una    = w.una + 24'(run_len);
          progress = 1'b1;
        end else if (w.nmsg != '0) begin
          if (head_err && (w.state == StError || w.stop)) begin
            cqe_valid  = 1'b1;
            cqe_status = w.err_st;
            cqe_psn    = w.err_psn;
            go_error   = w.state == StReady;
            n.err_v    = 1'b0;
          end else if (head_done && msg.status == ubl_pkg::CqeStatusOk) begin
            cqe_valid = 1'b1;
          end else if (w.state == StError) begin
            cqe_valid  = 1'b1;
            cqe_status = ubl_pkg::CqeStatusFlushed;
          end else if (head_done) begin
            cqe_valid  = 1'b1;
            cqe_status = msg.status;
            go_error   = 1'b1;
            n.err_v    = 1'b0;
          end
          if (cqe_valid) begin
            n.head     = w.head + 16'd1;
            n.nmsg     = w.nmsg - 1'b1;
            cons_valid = 1'b1;
            cpl_more   = 1'b1;
            // Quiet ones behind it go with it, up to one that is not acknowledged yet: whoever
            // acknowledges it calls again.
            if (w.state == StReady && !w.err_v && !w.stop) begin
              for (int unsigned k = 1; k < MaxCpl; k++) begin
                k_msg  = msg_t'(msg_mem[{q, MsgW'(w.head + 16'(k))}]);
                k_last = w.una - k_msg.last;
                if (n.nmsg == w.nmsg - (MsgW+1)'(k) && n.nmsg != '0) begin
                  if (k_last == 24'd0 || k_last[23]) begin
                    cpl_more = 1'b0;
                  end else if (k_msg.status == ubl_pkg::CqeStatusOk &&
                               slot_cls_i[32'(MsgW'(w.head + 16'(k)))*ClassBits +
                                          nic_core_pkg::ClassQuiet]) begin
                    n.head = n.head + 16'd1;
                    n.nmsg = n.nmsg - 1'b1;
                  end
                end
              end
            end
            cpl_push = (n.nmsg != '0) & cpl_more;
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
            end else if (!arrived || w.nmsg == (MsgW+1)'(MaxMsg)) begin
              no_run = 1'b1;
            end else begin
              msg_push       = 1'b1;
              new_msg.status = ubl_pkg::CqeStatusFlushed;
              new_msg.first  = w.next;
              new_msg.last   = w.next - 24'd1;
              n.emit         = w.emit + 16'd1;
              cpl_push       = 1'b1;
            end
          end else if (w.state != StReady || w.rnr_wait) begin
            no_run = 1'b1;
          end else if (w.lost_v) begin
            dist_a = lost_psn - msg.first;
            dist_b = msg.last - lost_psn;
            if (!any_lost) begin
              n.rtx = {s_psn[23:6] + 18'd1, 6'd0};
              dist_a = n.rtx - w.next;
              if (!dist_a[23]) n.lost_v = 1'b0;
            end else if (w.rmsg - w.head >= 16'(w.nmsg) || dist_a[23]) begin
              n.rmsg = w.head;
            end else if (dist_b[23]) begin
              n.rmsg = w.rmsg + 16'd1;
            end else if (vc_ok && !cand_any) begin
              to_wait = 1'b1;
            end else if (vc_ok) begin
              tx_valid = 1'b1;
              tx_psn   = lost_psn;
              tx_off   = {8'd0, lost_psn - msg.first} << mtu_sh;
              tx_rcvs  = msg.rcvs;
              n.rtx    = lost_psn;
              b_we     = 1'b1;
              nb.lost[lost_bit] = 1'b0;
              tmo_push = ~w.in_tmo;
            end
          end else if (w.stop || !(w.mid || arrived)) begin
            no_run = 1'b1;
          end else if (!w.mid && (w.nmsg == (MsgW+1)'(MaxMsg) ||
                                  (wqe_i.fence && w.nmsg != '0))) begin
            no_run = 1'b1;
          end else if (!w.mid && is_wait && wqe_status == ubl_pkg::CqeStatusOk && !look_met_i) begin
            // The count that changes that calls it.
            no_run  = 1'b1;
            wait_on = 1'b1;
          end else if (!w.mid && (wqe_status != ubl_pkg::CqeStatusOk ||
                                  wqe_i.opcode == ubl_pkg::WqeOpNop || is_wait)) begin
            leave          = is_wait;
            msg_push       = 1'b1;
            new_msg.status = wqe_status;
            new_msg.first  = w.next;
            new_msg.last   = w.next - 24'd1;
            n.emit         = w.emit + 16'd1;
            cpl_push       = 1'b1;
            n.stop         = wqe_status != ubl_pkg::CqeStatusOk;
            // a refused ring read was logged when it came back
            log_valid      = n.stop & ~wqe_i.err;
            log_d.cause    = ubl_pkg::ErrCauseLocal;
            log_d.psn      = w.next;
          end else if (!wnd_open || ((w.vc != wqe_i.vc || w.kind != wqe_kind) && w.una != w.next)) begin
            // Another VC may overtake: the packets of the old one must have arrived. What follows a
            // READ may overwrite what it reads; what is ordered comes behind all others.
            no_run = 1'b1;
          end else if (vc_ok && !cand_any) begin
            to_wait = 1'b1;
          end else if (vc_ok) begin
            tx_valid = 1'b1;
            n.vc     = wqe_i.vc;
            n.kind   = wqe_kind;
            b_we     = 1'b1;
            nb.acked[word_psn[5:0]] = 1'b0;
            nb.lost[word_psn[5:0]]  = 1'b0;
            nb.taken[word_psn[5:0]] = 1'b0;
            n.next   = w.next + 24'd1;
            tmo_push = ~w.in_tmo;
          end
        end else begin
          no_run = 1'b1;
        end
      end

      default: no_run = 1'b1;
    endcase

    // The packet: new or again.
    remain   = wqe_i.length - tx_off;
    last_pkt = remain <= mtu;
    pkt_len  = last_pkt ? remain[12:0] : mtu[12:0];
    rd_note  = tx_valid & (is_read | is_atm);
    if (tx_valid) begin
      tx_d.vc      = wqe_i.vc;
      tx_d.laddr   = wqe_i.laddr + {32'd0, tx_off};
      tx_d.len     = pkt_len;
      tx_d.raddr   = wqe_i.raddr + {32'd0, tx_off};
      tx_d.rkey    = wqe_i.rkey;
      tx_d.psn     = tx_psn;
      tx_d.inl     = wqe_i.inl;
      if (wqe_i.inl) tx_d.sack[127:0] = wqe_i.operand;
      tx_d.ack_req = again | (last_pkt & (wqe_i.signalled | ~follows)) |
                     // In a larger one the receiver's own count is enough.
                     (eff_wnd < 10'(AckEvery) & (out_pkts + 24'd1 >= 24'(eff_wnd)));
      if (is_read) begin
        tx_d.opcode  = ubl_pkg::PktOpReadRequest;
        tx_d.ack_req = 1'b0;
      end else if (is_atm) begin
        // On the wire the operands are 16 bytes, most significant first.
        tx_d.opcode  = ubl_pkg::PktOpFetchAdd;
        tx_d.ack_req = 1'b0;
        tx_d.len     = 13'd16;
        tx_d.inl     = 1'b1;
        tx_d.sack[63:0] = swap64(wqe_i.operand[63:0]);
        if (wqe_i.opcode == ubl_pkg::WqeOpCompareSwap) begin
          tx_d.opcode       = ubl_pkg::PktOpCompareSwap;
          tx_d.sack[127:64] = swap64(wqe_i.operand[127:64]);
        end
      end else if (is_red) begin
        tx_d.opcode    = ubl_pkg::PktOpReduce;
        tx_d.red_op    = wqe_i.red_op;
        tx_d.red_dtype = wqe_i.red_dtype;
        tx_d.red_ordered = wqe_i.ordered;
        if (last_pkt && has_imm) begin
          tx_d.opcode = ubl_pkg::PktOpReduceImm;
          tx_d.imm    = wqe_i.imm;
          tx_d.rnum   = tx_rcvs[6:0];
        end
      end else if (is_send) begin
        tx_d.opcode = ubl_pkg::PktOpSend;
        tx_d.raddr  = {8'd0, tx_rcvs, tx_off};
        tx_d.rkey   = wqe_i.length;
        tx_d.rnum   = tx_rcvs[6:0];
        if (last_pkt && wqe_i.opcode == ubl_pkg::WqeOpSendImm) begin
          tx_d.opcode = ubl_pkg::PktOpSendImm;
          tx_d.imm    = wqe_i.imm;
        end
      end else begin
        tx_d.opcode = ubl_pkg::PktOpWrite;
        if (last_pkt && has_imm) begin
          tx_d.opcode = ubl_pkg::PktOpWriteImm;
          tx_d.imm    = wqe_i.imm;
          tx_d.rnum   = tx_rcvs[6:0];
        end
      end
      if (!again) begin
        if (!w.mid) begin
          msg_push      = 1'b1;
          new_msg.first = w.next;
          new_msg.last  = w.next + n_psn_cnt - 24'd1;
          new_msg.rcvs  = w.rcvs;
        end
        if (tx_d.ack_req) n.aq = w.next;
        if (last_pkt) begin
          if (is_send || has_imm) n.rcvs = w.rcvs + 24'd1;
          n.mid  = 1'b0;
          n.off  = '0;
          n.emit = w.emit + 16'd1;
        end else begin
          n.mid = 1'b1;
          n.off = w.off + mtu;
        end
      end
    end
    tx_d.dst_node = cfg_i.remote_node;
    tx_d.dst_qpn  = cfg_i.remote_qpn;
    tx_d.src_qpn  = 16'(q);

    // Congestion window
    cc_ack = (ev == EvAck) & (w.state == StReady) & ~is_rsp & ~w_read & ~log_valid;
    cc_k   = '0;
    cc_c   = '0;
    if (cc_ack) begin
      cc_k = n.una - w.una;
      cc_c = ack.sack[8*CeCountAt +: 8];
    end else if (ev == EvCpl) begin
      cc_k = n.una - w.una;
    end else if (rsp_take && ack.ce) begin
      cc_c = 8'd1;
    end
    cc_un  = (cc_k > 24'(cc_c)) ? cc_k[9:0] - 10'(cc_c) : '0;
    cc_sum = {1'b0, w.csum} + {1'b0, cc_un};
    cc_new = {1'b0, w.cwnd};
    cc_dec = 17'(cc_c) << (CwFrac - 1);
    if (cfg_i.cwnd != 10'd0 && (cc_k != 24'd0 || cc_c != 8'd0)) begin
      if (cc_c != 8'd0) n.slow = 1'b0;
      if (n.slow) begin
        cc_new = cc_new + {1'b0, cc_k[9:0], {CwFrac{1'b0}}};
      end else begin
        n.csum = cc_sum[9:0];
        if (cc_sum >= {1'b0, w.cwnd[15:CwFrac]}) begin
          n.csum = '0;
          cc_new = cc_new + 17'(cc_step_i);
        end
        cc_new = (cc_new > cc_dec + (17'd1 << CwFrac)) ? cc_new - cc_dec : 17'd1 << CwFrac;
      end
      n.cwnd = (cc_new > {1'b0, cfg_i.window, {CwFrac{1'b0}}}) ? {cfg_i.window, {CwFrac{1'b0}}} : cc_new[15:0];
    end
    n.marks = n.marks + 16'(cc_c);
    if (tx_valid && again) n.again_n = w.again_n + 16'd1;

    if (progress) begin
      n.tper = '0;
      n.tlev = '0;
      if (!n.rnr_wait) n.rnr_n = '0;
      cpl_push = 1'b1;
    end

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
    if (rnr_push) n.in_rnr = 1'b1;

    if (go_error) begin
      n.state    = StError;
      n.stop     = 1'b0;
      n.lost_v   = 1'b0;
      n.rnr_wait = 1'b0;
      cpl_push   = (n.nmsg != '0);
      wait_on    = 1'b0;
      leave      = 1'b1;
    end
    n.outst = (n.state == StReady) & (n.next != n.una);

    // One rule puts a QP into the completion queue ...
    cpl_push = cpl_push & ~n.in_cpl;
    if (cpl_push) n.in_cpl = 1'b1;

    // ... and one rule plans its next visit.
    n_arrived   = slot_gen_i[n.emit[MsgW-1:0]] == ~n.emit[MsgW];
    n_cls       = slot_cls_i[32'(n.emit[MsgW-1:0])*ClassBits +: ClassBits];
    can_run     = ((n.state == StReady) & ~n.rnr_wait & (n.lost_v | (~n.stop & (n.mid | n_arrived)))) |
                  ((n.state == StError) & (n.mid | n_arrived));
    run_push    = 1'b0;
    run_push_id = RunFree;
    only_plane  = '0;
    if (n.state == StReady && (n.lost_v || n_cls[1:0] != nic_core_pkg::ClsFree)) begin
      if (n.lost_v ? n.vc == ubl_pkg::VcBulk : n_cls[1:0] == nic_core_pkg::ClsBulk) begin
        run_push_id = RunBulk;
      end else begin
        run_push_id = RunReq;
      end
      // A QP that has, or waits for, one plane.
      if (to_wait || (cfg_i.planes & (cfg_i.planes - 8'd1)) == 8'd0) begin
        for (int unsigned p = 0; p < Planes; p++) begin
          if (to_wait ? wait_plane == 3'(p) : cfg_i.planes[p]) only_plane = 3'(p);
        end
        run_push_id = RunW'({only_plane, run_push_id[0]});
      end
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
    rxv_o.swap8  = ack.opcode == ubl_pkg::PktOpAtomicResponse;
  end
  assign rxv_valid_o  = rxv_valid;
  assign rxv_plane_o  = ack_plane;
  for (genvar p = 0; p < Planes; p++) begin : gen_wait
    assign bulk_wait_o[p] = run_ne_q[2*p+1] | run_ne_q[RunBulk];
  end

  // Planes that are down want to be logged.
  logic pd_take;
  logic [2:0] pd_plane;
  nic_core_pkg::log_t log_pd;
  assign pd_take = (pd_log_q != 8'd0) & ~log_valid;
  always_comb begin
    pd_plane = '0;
    for (int unsigned p = 8; p > 0; p--) begin
      if (pd_log_q[p-1]) pd_plane = 3'(p - 1);
    end
    log_pd       = '0;
    log_pd.cause = ubl_pkg::ErrCausePlaneDown;
    log_pd.plane = 8'(pd_plane);
  end

  assign tx_valid_o   = tx_valid;
  assign tx_plane_o   = tx_plane;
  assign tx_o         = tx_d;
  assign log_valid_o  = log_valid | pd_take;
  assign log_o        = log_valid ? log_d : log_pd;
  assign cons_valid_o = cons_valid & slot_more_i;
  assign cons_qpn_o   = q;
  assign cnt_ack_o    = cnt_ack;
  assign cnt_ce_o     = cnt_ack & ack.ce;
  assign cnt_plane_o  = ack_plane;
  assign cnt_lost_o       = (ev == EvSack) & sk_scan_q & hole_v & hole_lost & ~sk_all_q & ~sk_end_early;
  assign cnt_lost_plane_o = pkt_plane;
  assign cnt_again_o      = tx_valid & again;
  assign cnt_timeout_o    = cnt_timeout;
  assign cnt_dup_o        = cnt_dup;
  assign cnt_rnr_o        = cnt_rnr;
  assign down_o           = down_q;
  assign failed_valid_o = (ev != EvNone) & (n.state == StError) & (w.state != StError);
  assign failed_qpn_o   = q;

  // Counters
  assign look_ctr_o = wqe_i.imm[CtrW-1:0];
  assign look_min_o = wqe_i.length;
  assign wait_o     = wait_on;
  assign leave_o    = leave;
  assign bump_valid = cqe_valid & wqe_i.bump;
  assign bump_valid_o = bump_valid;
  always_comb begin
    bump_o      = '0;
    bump_o.ctr  = wqe_i.ctr;
    bump_o.fail = cqe_status != ubl_pkg::CqeStatusOk;
    bump_o.add  = 32'd1;
  end
  assign err_ctr_valid_o = failed_valid_o & (w.state == StReady) & cfg_i.err_ctr_v & (ev != EvInit);
  assign err_ctr_o       = cfg_i.err_ctr;
  assign cnt_wait_o      = cqe_valid & is_wait & (cqe_status == ubl_pkg::CqeStatusOk);

  assign cqe_valid_o = cqe_valid & (wqe_i.signalled | (cqe_status != ubl_pkg::CqeStatusOk));
  always_comb begin
    cqe_o          = '0;
    cqe_o.qpn      = 16'(q);
    cqe_o.epoch    = cfg_i.epoch;
    cqe_o.cq       = cfg_i.scq;
    cqe_o.wr_id    = wqe_i.wr_id;
    cqe_o.byte_len = wqe_i.length;
    cqe_o.opcode   = wqe_i.opcode;
    cqe_o.status   = cqe_status;
    cqe_o.sq_head  = w.head + 16'd1;
    cqe_o.psn      = cqe_psn;
  end

  // ---------------------------------------------------------------------------------------------
  // The walker is started by an acknowledgement that reports something, or by a time-out.
  logic sk_load, sk_end_early;
  logic [23:0] ack_done;
  logic [7:0] seen_v;
  logic [8*MarkW-1:0] seen_abs;
  logic [23:0] seen_max;
  logic [15:0] seen_s;

  assign sk_end_early = w.state != StReady || sk_epoch_q != cfg_i.epoch || out_pkts == 24'd0;
  assign ack_done     = (ack.syndrome[7:5] == 3'b000) ? ack.psn + 24'd1 : ack.psn;
  always_comb begin
    seen_v   = '0;
    seen_abs = '0;
    seen_max = ack_done;
    seen_s   = '0;
    if (ev == EvAck && !is_rsp) begin
      for (int unsigned p = 0; p < 8; p++) begin
        seen_s = {ack.sack[16*p +: 8], ack.sack[16*p+8 +: 8]};
        seen_v[p] = seen_s != 16'd0;
        seen_abs[p*MarkW +: MarkW] = ack_done[MarkW-1:0] + MarkW'(seen_s);
        if (24'(seen_s) > seen_max - ack_done) seen_max = ack_done + 24'(seen_s);
      end
    end
  end
  // Reports of long ago, or of what was never sent, are of no use.
  assign sk_load = (ev == EvAck) & ~log_valid & ~is_rsp & ~w_read & ~go_error & (seen_v != 8'd0) &
                   n.outst & (ack_done - (w.una - 24'(Window)) <= 24'(2 * Window)) &
                   (seen_max - w.una <= 24'(Window));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sk_v_q    <= 1'b0;
      sk_all_q  <= 1'b0;
      sk_scan_q <= 1'b0;
      sk_word_q <= '0;
      sk_ptr_q  <= '0;
    end else if (sk_load || start_all) begin
      sk_v_q    <= 1'b1;
      sk_all_q  <= start_all;
      sk_scan_q <= 1'b0;
      sk_word_q <= '0;
      sk_ptr_q  <= '0;
    end else if (ev == EvSack) begin
      if (sk_end) sk_v_q <= 1'b0;
      if (sk_next) begin
        sk_word_q <= sk_word_q + 4'd1;
        sk_scan_q <= 1'b0;
        sk_ptr_q  <= '0;
      end else begin
        sk_scan_q <= 1'b1;
        sk_ptr_q  <= sk_scan_q ? hole_bit + 6'd1 : '0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (sk_load || start_all) begin
      sk_q_q     <= q;
      sk_epoch_q <= cfg_i.epoch;
      sk_base_q  <= start_all ? {w.una[23:6], 6'd0} : {ack_done[23:6], 6'd0};
      sk_bits_q  <= ack.sack[128 +: 256];
      sk_has_q   <= start_all ? 8'd0 : seen_v;
      sk_seen_q  <= seen_abs;
      sk_max_q   <= seen_max;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Planes: down after PlaneFail packets lost in a row that nothing else explains
  // (others went on without it), or after some time-outs at which other planes lacked nothing.
  logic fail_evt;
  logic [7:0] seen, used, miss, fail_one, fail_more;
  assign fail_evt = (ev == EvSack) & sk_scan_q & hole_v & hole_lost & ~sk_end_early & ~sk_all_q &
                    ~(sk_has_q[pkt_plane] & ~over[MarkW-1]);
  assign miss = sk_miss_q | ((sk_scan_q & hole_v) ? 8'd1 << pkt_plane : 8'd0);
  assign fail_one  = fail_evt ? 8'd1 << pkt_plane : 8'd0;
  assign fail_more = (ev == EvSack && sk_all_q && sk_end && !sk_end_early &&
                      miss != (cfg_i.planes & ~down_q)) ? miss : 8'd0;
  always_ff @(posedge clk_i) begin
    if (start_all) begin
      sk_miss_q <= '0;
      sk_look_q <= '0;
    end else if (ev == EvSack) begin
      sk_miss_q <= miss;
      if (sk_scan_q) sk_look_q <= sk_look_q + 4'd1;
    end
  end
  assign seen = sk_load ? seen_v : 8'd0;
  assign used = (tx_valid && down_q[tx_plane] && up[tx_plane]) ? 8'd1 << tx_plane : 8'd0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < 8; p++) fail_q[p] <= '0;
      down_q   <= '0;
      pd_log_q <= '0;
    end else begin
      if (pd_take) pd_log_q[pd_plane] <= 1'b0;
      for (int unsigned p = 0; p < Planes; p++) begin
        if (down_we_i) begin
          down_q[p] <= down_i[p];
          fail_q[p] <= '0;
        end else if (seen[p]) begin
          down_q[p] <= 1'b0;
          fail_q[p] <= '0;
        end else if (used[p]) begin
          // Tried again: one more loss is enough.
          down_q[p] <= 1'b0;
          fail_q[p] <= FailW'(ubl_pkg::NicPlaneFail - 1);
        end else if ((fail_one[p] || fail_more[p]) && !down_q[p]) begin
          if (32'(fail_q[p]) + (fail_one[p] ? 1 : ubl_pkg::NicTimeoutFail) >= ubl_pkg::NicPlaneFail) begin
            down_q[p]   <= 1'b1;
            pd_log_q[p] <= 1'b1;
          end else begin
            fail_q[p] <= fail_q[p] + (fail_one[p] ? FailW'(1) : FailW'(ubl_pkg::NicTimeoutFail));
          end
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Planes; p++) begin
      if (down_we_i || ((fail_one[p] || fail_more[p]) && !down_q[p])) begin
        probe_q[p] <= now_i + 64'(plane_probe_i);
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Handicaps of the planes, pacing
  logic [79:0] pace_base, pace_last;
  logic [15:0] pace_cost;
  logic [28:0] pace_time;
  logic pace_cls;
  assign pace_cls  = tx_d.vc == ubl_pkg::VcBulk;
  assign pace_cost = pace_cls ? pace_bulk_i : pace_req_i;
  assign pace_last = pace_cls ? pace_bk_q : pace_rq_q;
  assign pace_base = (pace_last[79:16] < now_i) ? {now_i, 16'd0} : pace_last;
  assign pace_time = ({16'd0, is_read ? 13'd0 : tx_d.len} + 29'(ubl_pkg::NicPaceHeader)) * {13'd0, pace_cost};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < 8; p++) avoid_q[p] <= '0;
      pace_rq_q <= '0;
      pace_bk_q <= '0;
    end else begin
      if (cc_ack) begin
        for (int unsigned p = 0; p < 8; p++) begin
          if (ack.sack[8*CePlanesAt + p]) avoid_q[p] <= (avoid_q[p] > 4'd11) ? 4'd15 : avoid_q[p] + 4'd4;
          else if (cfg_i.planes[p] && avoid_q[p] != 4'd0) avoid_q[p] <= avoid_q[p] - 4'd1;
        end
      end
      if (tx_valid && pace_cost != 16'd0 && !pace_cls) pace_rq_q <= pace_base + 80'(pace_time);
      if (tx_valid && pace_cost != 16'd0 && pace_cls) pace_bk_q <= pace_base + 80'(pace_time);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Memories and queues
  always_ff @(posedge clk_i) begin
    if (ev != EvNone) ctx_mem[q] <= n;
    if (msg_push) msg_mem[{q, w.emit[MsgW-1:0]}] <= new_msg;
    if (b_we) word_mem[{q, word_psn[WinW-1:6]}] <= nb;
    if (tx_valid) pkt_mem[{q, tx_psn[WinW-1:0]}] <= {tx_plane, w.next[MarkW-1:0] + MarkW'(1)};
    if (rd_note) rd_mem[{q, tx_psn[ReadW-1:0]}] <= {tx_d.laddr, pkt_len};
    if (run_push) run_mem[{run_push_id, run_wr_q[run_push_id][QpW-1:0]}] <= q;
    if (cpl_push) cpl_mem[cpl_wr_q[QpW-1:0]] <= q;
    if (tmo_push) begin
      tmo_mem[tmo_wr_q[QpW-1:0]]    <= {q, w.una};
      tmo_dl_mem[tmo_wr_q[QpW-1:0]] <= now_i + 64'(timeout_i);
    end
    if (rnr_push) begin
      rnr_mem[rnr_wr_q[QpW-1:0]]    <= q;
      rnr_dl_mem[rnr_wr_q[QpW-1:0]] <= now_i + 64'(rnr_timer_i);
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
      rnr_wr_q   <= '0;
      rnr_rd_q   <= '0;
      n_outst_q  <= '0;
      ack_mask_q <= '0;
      txc_mask_q <= '0;
      rxd_mask_q <= '0;
      grp_q      <= 2'd0;
      rr_q       <= '0;
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
      if (ev == EvRnr) rnr_rd_q <= rnr_rd_q + 1'b1;
      if (rnr_push) rnr_wr_q <= rnr_wr_q + 1'b1;
      if (ev == EvAck) ack_mask_q <= ~(ack_hot | (ack_hot - 1'b1));
      if (ev == EvTxc) txc_mask_q <= ~(txc_hot | (txc_hot - 1'b1));
      if (ev == EvRxd) rxd_mask_q <= ~(rxd_hot | (rxd_hot - 1'b1));
      if (tx_valid) rr_q <= (32'(tx_plane) == Planes - 1) ? 3'd0 : tx_plane + 3'd1;
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
  assign rdb_want_o  = rb.want_v;
  assign rdb_emit_o  = rb.emit;
  assign rdc_state_o = rc.state;
  assign rde_state_o = ctx_mem[rde_idx_i][CtxBits-1-:2];  // the first field
  assign rdf_state_o = ctx_mem[rdf_idx_i][CtxBits-1-:2];
  assign rdd_state_o = rd.state;
  assign rdd_next_o  = rd.next;
  assign rdd_una_o   = rd.una;
  assign rdd_head_o  = rd.head;
  assign rdd_cwnd_o  = rd.cwnd;
  assign rdd_marks_o = rd.marks;
  assign rdd_again_o = rd.again_n;
  assign unused_ctx  = ^{ra, rb, rc, rd, ncut, l_end, ack, cfg_i, wqe_i.lkey, errev.qpn,
                        mr_i, txc, rxd, d_err, k_msg, mtu, tx_off, seen_max, lim, hi, lo, word_psn, down_i, mask8, dist_a, dist_b,
                        n_cls, seen, used};

  // A time-out that is due shows in deadline_o, not here.
  assign busy_o = (|err_valid_i) | (|txc_valid_i) | (|ack_able) | sk_v_q | (|rxd_valid_i) |
                  (cpl_wr_q != cpl_rd_q) | wake_valid_i | twake_valid_i | (|run_elig) | (|pd_log_q);

  `UBL_ASSERT_INIT(msg_bits, MsgBits == $bits(msg_t) && CtxBits == $bits(ctx_t) &&
                   WordBits == $bits(word_t))
  `UBL_ASSERT(run_queue, !run_push ||
              (run_wr_q[run_push_id] - run_rd_q[run_push_id]) != (QpW+1)'(NumQp))
  `UBL_ASSERT(cpl_queue, (cpl_wr_q - cpl_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(tmo_queue, (tmo_wr_q - tmo_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(rnr_queue, (rnr_wr_q - rnr_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(outst_count, n_outst_q <= (QpW+1)'(NumQp))
  `UBL_ASSERT(window, ev == EvNone || ev == EvClear || ev == EvInit || w.state != StReady ||
              out_pkts <= 24'(cfg_i.window))
  `UBL_ASSERT(tx_credit, !tx_valid || cred_i[32'(tx_plane)*3 + 32'(tx_d.vc)])
  `UBL_ASSERT(tx_mask, !tx_valid || cfg_i.planes[tx_plane])
  `UBL_ASSERT(tx_outstanding, !tx_valid || !again || (tx_psn - w.una) < out_pkts)
  `UBL_ASSERT(tx_length, !tx_valid || again || w.mid || tx_off == 32'd0)
  `UBL_ASSERT(one_plane, !(tx_valid && rtx_valid_i && tx_plane == rtx_plane_i))
  `UBL_ASSERT(msg_count, ev == EvNone || ev == EvClear || w.nmsg <= (MsgW+1)'(MaxMsg))
  `UBL_ASSERT(cqe_room, !cqe_valid || cqe_ready_i)
  `UBL_ASSERT(cons_room, !cons_valid || cons_ready_i)
  `UBL_ASSERT(rxd_expected, ev != EvRxd || w.rd_infl != '0)
  `UBL_COVER(read_after_other, ev == EvRun && w.kind != wqe_kind && w.una != w.next && arrived)
  `UBL_COVER(stale_visit, ev == EvRun && !(w.want_v && w.want == run_sel))
  `UBL_COVER(several_complete, ev == EvCpl && n.nmsg == w.nmsg - (MsgW+1)'(MaxCpl))
  `UBL_COVER(fence_wait, ev == EvRun && w.state == StReady && arrived && wqe_i.fence && w.nmsg != '0)
  `UBL_COVER(window_wait, ev == EvRun && w.mid && !wnd_open)
  `UBL_COVER(vc_change_wait, ev == EvRun && w.state == StReady && arrived && w.vc != wqe_i.vc &&
             w.una != w.next)
  `UBL_COVER(timeout_progress, ev == EvTmo && tmo_push && !start_all)
  `UBL_COVER(timeout_again, start_all)
  `UBL_COVER(lost_seen, cnt_lost_o && sk_has_q[pkt_plane] && !over[MarkW-1])
  `UBL_COVER(lost_silent, cnt_lost_o && !(sk_has_q[pkt_plane] && !over[MarkW-1]))
  `UBL_COVER(lost_twice, cnt_again_o && lost_psn[0] == w.una[0] && w.tlev != '0)
  `UBL_COVER(message_searched, ev == EvRun && again && n.rmsg != w.rmsg)
  `UBL_COVER(plane_wait, ev == EvRun && to_wait)
  `UBL_COVER(rnr_again, ev == EvRnr && w.rnr_wait && !w.rnr_skip)
  `UBL_COVER(plane_down, |pd_log_q)
  `UBL_COVER(plane_probe, tx_valid && down_q[tx_plane] && up[tx_plane])
  `UBL_COVER(old_ack, sk_load && ack_k[23])
  `UBL_COVER(slow_start, cc_k != '0 && n.slow && n.cwnd != w.cwnd)
  `UBL_COVER(window_grows, !n.slow && n.cwnd > w.cwnd)
  `UBL_COVER(window_shrinks, n.cwnd < w.cwnd && ev != EvInit && ev != EvClear)
  `UBL_COVER(window_smallest, n.cwnd == 16'(1 << CwFrac) && w.cwnd > n.cwnd)
  `UBL_COVER(ack_asked_for, ev == EvRun && tx_valid && !again && out_pkts >= 24'(eff_wnd))
  `UBL_COVER(plane_avoided, tx_valid && avoid_q[tx_plane] < 4'd8 && |avoid_q[0][3:3])
  `UBL_COVER(paced, !(&pace_ok))
  `UBL_COVER(counter_wait, wait_on)
  `UBL_COVER(counter_met, leave && is_wait && ev == EvRun && !n.stop)
  `UBL_COVER(counter_failed, leave && is_wait && ev == EvRun && n.stop)
  `UBL_COVER(wait_dies, go_error && arrived && is_wait)

endmodule
