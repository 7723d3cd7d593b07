// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Work request fetch: keeps ring tails, reads ring entries ahead of their consumer (up to
// max_outstanding per QP) and stores them decoded. One instance serves the send rings and the requester, one the receive
// rings and the responder. One control event (doorbell, pushed entry, "entry consumed", fetch visit) and
// one read response per cycle. A pushed entry that is next to be read is treated as a read response. When the DMA request is not taken, fetch visits wait; read responses
// are always accepted, because there are never more in flight than response buffer entries.
// See also: nic_core.md, nic_requester.sv.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_wqe_fetch #(
  /// Queue pairs, a power of two.
  parameter int unsigned NumQp = 1024,
  /// 1: receive rings.
  parameter bit Recv = 1'b0,
  /// Reads in flight, a power of two, at most 128.
  parameter int unsigned NumTags = 128,
  /// QP index width, do not overwrite.
  localparam int unsigned QpW = $clog2(NumQp),
  /// Tag width, do not overwrite.
  localparam int unsigned TagW = $clog2(NumTags),
  /// Entries stored per QP, do not overwrite.
  localparam int unsigned Depth = ubl_pkg::NicMaxOutstanding,
  /// Slot index width, do not overwrite.
  localparam int unsigned DepthW = $clog2(Depth),
  /// Width of a slot's class, do not overwrite.
  localparam int unsigned ClassBits = nic_core_pkg::ClassBits
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
  /// ctrl.enable: rings may be read.
  input  logic        enable_i,

  /// Ring doorbell.
  input  logic        db_valid_i,
  /// The doorbell is taken (registers and init_valid_i only).
  output logic        db_ready_o,
  /// It announces receives: only check the QP.
  input  logic        db_recv_i,
  /// The announced receives belong to a QP that exists.
  output logic        db_recv_ok_o,
  /// The new tail is accepted.
  output logic        db_ok_o,
  /// QPN of the doorbell.
  input  logic [15:0] db_qpn_i,
  /// New tail.
  input  logic [15:0] db_tail_i,

  /// An entry written by the host, at its tail; only when there is no doorbell.
  input  logic           push_valid_i,
  /// The entry and its QPN.
  input  ubl_pkg::push_t push_i,
  /// Taken: into the store, or as a doorbell.
  output logic           push_ready_o,

  /// QP whose configuration and requester state the control event reads.
  output logic [QpW-1:0]      ctl_idx_o,
  /// Its configuration.
  input  nic_core_pkg::qcfg_t ctl_cfg_i,
  /// Its state (qp_state).
  input  logic [1:0]          ctl_state_i,
  /// Ring entries completed: those before need no store any more.
  input  logic [15:0]         ctl_head_i,
  /// QP whose epoch the response event reads.
  output logic [QpW-1:0]      rsp_idx_o,
  /// Its configuration.
  input  nic_core_pkg::qcfg_t rsp_cfg_i,

  /// QP looked up by the wake check.
  output logic [QpW-1:0]      chk_idx_o,
  /// The consumer needs no call.
  input  logic                chk_want_i,
  /// Ring entries taken by the consumer.
  input  logic [15:0]         chk_emit_i,

  /// The consumer completed an entry of this QP and there is more to fetch.
  input  logic           cons_valid_i,
  /// QPN.
  input  logic [QpW-1:0] cons_qpn_i,
  /// Taken.
  output logic           cons_ready_o,

  /// The entry the consumer waits for has arrived.
  output logic           wake_valid_o,
  /// QPN.
  output logic [QpW-1:0] wake_qpn_o,
  /// Taken.
  input  logic           wake_ready_i,

  /// QP the consumer looks at.
  input  logic [QpW-1:0]      slot_idx_i,
  /// Generation bit of each of its store slots.
  output logic [Depth-1:0]    slot_gen_o,
  /// Class of each of its store slots: {fence, nic_core_pkg::Kind*, nic_core_pkg::Cls*}.
  output logic [ClassBits*Depth-1:0] slot_cls_o,
  /// There are posted entries not yet requested.
  output logic                slot_more_o,
  /// Store slot the consumer reads.
  input  logic [DepthW-1:0]   wqe_slot_i,
  /// Stored work request.
  output nic_core_pkg::went_t wqe_o,

  /// QP looked up by read_qp.
  input  logic [QpW-1:0] stat_idx_i,
  /// Its tail.
  output logic [15:0]    stat_tail_o,

  /// Ring read wanted.
  output logic            rd_valid_o,
  /// Tag.
  output logic [TagW-1:0] rd_tag_o,
  /// Address of the ring entry.
  output logic [63:0]     rd_addr_o,
  /// Taken.
  input  logic            rd_ready_i,

  /// Read response, always accepted.
  input  logic            rr_valid_i,
  /// Tag.
  input  logic [TagW-1:0] rr_tag_i,
  /// Refused.
  input  logic            rr_err_i,
  /// The ring entry.
  input  logic [511:0]    rr_data_i,

  /// QP to be moved to error (impossible doorbell).
  output logic                 err_valid_o,
  /// Which.
  output nic_core_pkg::errev_t err_o,
  /// Taken.
  input  logic                 err_ready_i,
  /// Error log entry of a doorbell.
  output logic                 log_valid_o,
  /// The entry.
  output nic_core_pkg::log_t   log_o,
  /// Error log entry of a refused read.
  output logic                 rlog_valid_o,
  /// The entry.
  output nic_core_pkg::log_t   rlog_o,
  /// A work request was fetched.
  output logic                 cnt_wqe_o,
  /// An entry was taken from a push.
  output logic                 cnt_push_o,
  /// Something would happen without new input.
  output logic                 busy_o
);

  typedef struct packed {
    logic [15:0] tail;
    logic [15:0] fetch;
    logic        queued;
  } ctl_t;

  typedef struct packed {
    logic [ClassBits*Depth-1:0] cls;
    logic [Depth-1:0]   gen;
  } slot_t;

  typedef struct packed {
    logic [QpW-1:0] q;
    logic [15:0]    idx;
    logic [15:0]    epoch;
  } tag_t;

  localparam int unsigned WentBits = nic_core_pkg::WentBits;

  localparam int unsigned CtlBits = 33;
  localparam int unsigned SlotBits = (ClassBits + 1) * Depth;
  localparam int unsigned TagBits = QpW + 32;

  // Memories are plain vectors: yosys drops the dimension of an array of a local struct type.
  logic [CtlBits-1:0] ctl_mem [NumQp];
  logic [SlotBits-1:0] slot_mem [NumQp];
  logic [WentBits-1:0] wqe_mem [NumQp*Depth];
  logic [TagBits-1:0] tag_mem [NumTags];
  logic [TagW-1:0] free_mem [NumTags];
  logic [QpW-1:0] fq_mem [NumQp];

  // ---------------------------------------------------------------------------------------------
  // Control events
  logic cons_valid, cons_take;
  logic [QpW-1:0] cons_qpn;
  logic [2:0] unused_cons_level;

  ubl_fifo #(.Width(QpW), .Depth(4)) u_cons (
    .clk_i, .rst_ni,
    .in_valid_i(cons_valid_i), .in_data_i(cons_qpn_i), .in_ready_o(cons_ready_o),
    .out_valid_o(cons_valid), .out_data_o(cons_qpn), .out_ready_i(cons_take),
    .count_o(unused_cons_level)
  );

  logic [QpW:0] fq_wr_q, fq_rd_q;
  logic [TagW:0] free_wr_q, free_rd_q;
  logic [TagW-1:0] free_tag;
  logic turn_q;  // 1: fetch visit goes before "consumed"
  logic rd_valid_q;
  logic [TagW-1:0] rd_tag_q;
  logic [63:0] rd_addr_q;
  logic err_valid_q;
  nic_core_pkg::errev_t err_q;

  logic fq_ne, can_fetch, is_clear, is_init, is_db, is_push, is_cons, is_fetch, db_in_range;
  logic push_here, push_keep, push_valid_q;
  logic [TagW-1:0] push_tag_q;
  logic [511:0] push_q;
  logic [15:0] db_qpn, db_tail;
  ubl_pkg::wqe_t push_wqe;
  logic [15:0] push_index;
  logic unused_push_wqe;
  logic clear_tag, clear_qp;
  logic [QpW-1:0] q;
  ctl_t w, n;
  logic ctl_we, fq_push, issue;
  logic [15:0] posted, newposted, ahead;
  logic log_valid, err_set;
  nic_core_pkg::log_t log_d;
  logic [63:0] ring_off;
  logic [15:0] ring_size, ring_mask;

  assign db_ready_o = ~init_valid_i & ~err_valid_q;
  assign fq_ne     = fq_wr_q != fq_rd_q;
  assign can_fetch = fq_ne & enable_i & (~rd_valid_q | rd_ready_i) & (free_wr_q != free_rd_q);
  assign clear_tag = init_valid_i & (init_kind_i == nic_core_pkg::InitClear) &
                     (init_idx_i < 16'(NumTags));
  assign clear_qp  = init_valid_i & (init_kind_i == nic_core_pkg::InitClear) &
                     ({1'b0, init_idx_i} < 17'(NumQp));
  assign is_clear  = clear_qp;
  assign is_init   = init_valid_i & (init_kind_i == nic_core_pkg::InitQp);
  assign is_db     = db_valid_i & db_ready_o;
  assign is_push   = push_valid_i & push_ready_o;
  assign is_cons   = ~init_valid_i & ~db_valid_i & ~is_push & cons_valid & ~(turn_q & can_fetch);
  assign is_fetch  = ~init_valid_i & ~db_valid_i & ~is_push & ~is_cons & can_fetch;
  // The copy of the entry before must have gone on.
  assign push_ready_o = db_ready_o & ~db_valid_i & ~push_valid_q;
  assign push_wqe   = ubl_pkg::wqe_t'(push_i.data);
  assign push_index = push_wqe.index;
  assign unused_push_wqe = ^push_wqe;
  assign db_qpn    = is_push ? push_i.index : db_qpn_i;
  assign db_tail   = is_push ? push_index + 16'd1 : db_tail_i;
  assign cons_take = is_cons;
  assign db_recv_ok_o = is_db & db_recv_i & db_in_range & (ctl_state_i != 2'd0);

  assign db_in_range = {1'b0, db_qpn} < 17'(NumQp);

  always_comb begin
    q = fq_mem[fq_rd_q[QpW-1:0]];
    if (init_valid_i) q = init_idx_i[QpW-1:0];
    else if (db_valid_i || is_push) q = db_qpn[QpW-1:0];
    else if (is_cons) q = cons_qpn;
  end
  assign ctl_idx_o = q;
  assign free_tag  = free_mem[free_rd_q[TagW-1:0]];

  always_comb begin
    w         = ctl_t'(ctl_mem[q]);
    n         = w;
    ctl_we    = 1'b0;
    fq_push   = 1'b0;
    issue     = 1'b0;
    log_valid = 1'b0;
    log_d     = '0;
    err_set   = 1'b0;
    db_ok_o   = 1'b0;
    posted    = w.tail - ctl_head_i;
    newposted = db_tail - ctl_head_i;
    push_here = 1'b0;
    ahead     = w.fetch - ctl_head_i;
    ring_size = 16'd1 << (Recv ? ctl_cfg_i.rq_log2 : ctl_cfg_i.sq_log2);
    ring_mask = ring_size - 16'd1;
    ring_off  = {48'd0, w.fetch & ring_mask} << ubl_pkg::NicWqeShift;
    if (is_clear) begin
      n      = '0;
      ctl_we = 1'b1;
    end else if (is_init) begin
      n.tail  = '0;
      n.fetch = '0;
      ctl_we  = 1'b1;
    end else if (is_db || is_push) begin
      log_d.qpn = db_qpn;
      if (!db_in_range || ctl_state_i == 2'd0) begin
        log_valid   = 1'b1;
        log_d.cause = ubl_pkg::ErrCauseBadQp;
      end else if (is_db && db_recv_i) begin
        ctl_we = 1'b0;  // nic_responder keeps the count
      end else if (newposted > ring_size || newposted < posted) begin
        // more entries than the ring holds, or a tail that moves backwards
        log_valid   = 1'b1;
        log_d.cause = ubl_pkg::ErrCauseLocal;
        err_set     = 1'b1;
      end else begin
        db_ok_o  = is_db;
        n.tail   = db_tail;
        // Everything before it is read: no need to read it.
        push_here = is_push & (w.fetch == push_index) & (w.tail == push_index) & enable_i &
                    (ahead < 16'(Depth)) & (ctl_state_i == 2'd1) & (free_wr_q != free_rd_q);
        if (push_here) n.fetch = db_tail;
        fq_push  = ~w.queued & (n.fetch != db_tail);
        n.queued = w.queued | fq_push;
        ctl_we   = 1'b1;
      end
    end else if (is_cons) begin
      fq_push  = ~w.queued & (w.fetch != w.tail);
      n.queued = w.queued | fq_push;
      ctl_we   = 1'b1;
    end else if (is_fetch) begin
      issue = (w.fetch != w.tail) & (ahead < 16'(Depth)) & (ctl_state_i != 2'd0);
      if (issue) n.fetch = w.fetch + 16'd1;
      fq_push  = issue & (n.fetch != w.tail) & (ahead < 16'(Depth - 1));
      n.queued = fq_push;
      ctl_we   = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ctl_we) ctl_mem[q] <= n;
    if (fq_push) fq_mem[fq_wr_q[QpW-1:0]] <= q;
    if (issue || push_here) tag_mem[free_tag] <= {q, w.fetch, ctl_cfg_i.epoch};
    if (push_here) begin
      push_tag_q <= free_tag;
      push_q     <= push_i.data;
    end
    if (issue) begin
      rd_tag_q  <= free_tag;
      rd_addr_q <= (Recv ? ctl_cfg_i.rq_base : ctl_cfg_i.sq_base) + ring_off;
    end
    if (err_set) err_q <= {16'(q), ctl_cfg_i.epoch};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fq_wr_q     <= '0;
      fq_rd_q     <= '0;
      turn_q      <= 1'b0;
      rd_valid_q  <= 1'b0;
      err_valid_q <= 1'b0;
      free_rd_q   <= '0;
      push_valid_q <= 1'b0;
    end else begin
      if (fq_push) fq_wr_q <= fq_wr_q + 1'b1;
      if (is_fetch) fq_rd_q <= fq_rd_q + 1'b1;
      if (is_fetch | is_cons) turn_q <= is_cons;
      if (issue) rd_valid_q <= 1'b1;
      else if (rd_ready_i) rd_valid_q <= 1'b0;
      if (issue || push_here) free_rd_q <= free_rd_q + 1'b1;
      push_valid_q <= push_here | push_keep;
      if (err_set) err_valid_q <= 1'b1;
      else if (err_ready_i) err_valid_q <= 1'b0;
    end
  end

  assign rd_valid_o  = rd_valid_q;
  assign rd_tag_o    = rd_tag_q;
  assign rd_addr_o   = rd_addr_q;
  assign err_valid_o = err_valid_q;
  assign err_o       = err_q;
  assign log_valid_o = log_valid;
  assign log_o       = log_d;

  // ---------------------------------------------------------------------------------------------
  // Read responses
  // A pushed entry goes in between them; there is room for it as for any other tag.
  logic rb_valid, rb_take, rb_err, unused_rb_ready;
  assign push_keep = push_valid_q & rr_valid_i;
  logic [TagW-1:0] rb_tag;
  logic [511:0] rb_data;
  logic [TagW:0] unused_rb_level;

  ubl_fifo #(.Width(TagW+513), .Depth(NumTags)) u_rsp (
    .clk_i, .rst_ni,
    .in_valid_i(rr_valid_i | push_valid_q),
    .in_data_i(rr_valid_i ? {rr_tag_i, rr_err_i, rr_data_i} : {push_tag_q, 1'b0, push_q}),
    .in_ready_o(unused_rb_ready),
    .out_valid_o(rb_valid), .out_data_o({rb_tag, rb_err, rb_data}), .out_ready_i(rb_take),
    .count_o(unused_rb_level)
  );

  localparam int unsigned WakeDepth = 8;
  localparam int unsigned WakeLvlW = $clog2(WakeDepth) + 1;
  logic [WakeLvlW-1:0] wake_level;
  logic chk_valid_q, chk_hit, unused_wake_ready;
  logic [QpW-1:0] chk_q_q;
  logic [15:0] chk_idx_q;
  tag_t tg;
  ubl_pkg::wqe_t raw;
  nic_core_pkg::went_t went;
  logic fresh, is_red, is_atm, is_get, is_free, can_inline, bad, foreign;
  logic [ClassBits-1:0] cls;
  slot_t sw, sn;

  // Room for the check in flight and for the one that may follow.
  assign rb_take   = rb_valid & ~init_valid_i & (wake_level <= WakeLvlW'(WakeDepth - 2));
  assign tg        = tag_t'(tag_mem[rb_tag]);
  assign rsp_idx_o = tg.q;
  assign fresh     = rb_take & (tg.epoch == rsp_cfg_i.epoch);
  assign raw       = ubl_pkg::wqe_t'(rb_data);
  assign is_red    = (raw.opcode == ubl_pkg::WqeOpReduce) | (raw.opcode == ubl_pkg::WqeOpReduceImm);
  assign is_atm  = (raw.opcode == ubl_pkg::WqeOpFetchAdd) | (raw.opcode == ubl_pkg::WqeOpCompareSwap);
  assign is_get  = (raw.opcode == ubl_pkg::WqeOpRead) | is_atm;
  assign can_inline = (raw.opcode >= ubl_pkg::WqeOpWrite) & (raw.opcode <= ubl_pkg::WqeOpSendImm) & ~is_get;
  // What only one kind of ring may hold.
  assign foreign = Recv ? ((raw.opcode != ubl_pkg::WqeOpRecv) | raw.signalled | raw.fence | raw.ordered |
                           raw.inl | raw.bump | (|raw.ctr) | (|raw.index) | (|raw.operand0) |
                           (|raw.operand1) | (|raw.vc) | (|raw.red_op) | (|raw.red_dtype) | (|raw.raddr) |
                           (|raw.rkey) | (|raw.imm))
                        : ((raw.opcode > ubl_pkg::WqeOpWait) | (raw.opcode == ubl_pkg::WqeOpRecv) |
                           ((raw.vc != ubl_pkg::VcReq) & ((raw.vc != ubl_pkg::VcBulk) | is_get)) |
                           (raw.inl & ~can_inline) | (raw.bump & (raw.ctr >= 16'(ubl_pkg::NicNumCtr))) |
                           ((raw.opcode == ubl_pkg::WqeOpWait) & (raw.imm >= ubl_pkg::NicNumCtr)));
  assign bad = foreign | (|raw.rsvd_0) | (|raw.rsvd_1) |
               (raw.ordered & ~is_red) |
               (is_red & ((raw.red_op > ubl_pkg::RedOpMax) | (raw.red_dtype > ubl_pkg::RedTypeI32)));

  always_comb begin
    went           = '0;
    went.err       = rb_err;
    if (!rb_err) begin
      went.bad       = bad;
      went.opcode    = raw.opcode;
      went.signalled = raw.signalled;
      went.fence     = raw.fence;
      went.ordered   = raw.ordered;
      went.vc        = raw.vc;
      went.red_op    = raw.red_op;
      went.red_dtype = raw.red_dtype;
      went.length    = raw.length;
      went.laddr     = raw.laddr;
      went.raddr     = raw.raddr;
      went.lkey      = raw.lkey;
      went.rkey      = raw.rkey;
      went.imm       = raw.imm;
      went.wr_id     = raw.wr_id;
      went.inl       = raw.inl;
      went.bump      = raw.bump & (raw.ctr < 16'(ubl_pkg::NicNumCtr));
      went.ctr       = raw.ctr[nic_core_pkg::CtrW-1:0];
      went.operand   = {raw.operand1, raw.operand0};
    end
    is_free = rb_err | bad | (raw.opcode == ubl_pkg::WqeOpNop) | (raw.opcode == ubl_pkg::WqeOpWait);
    cls = {1'b0, raw.fence, (raw.opcode == ubl_pkg::WqeOpRead) ? nic_core_pkg::KindRead
                      : is_atm ? nic_core_pkg::KindAtomic
                      : (raw.ordered ? nic_core_pkg::KindOrdered : nic_core_pkg::KindPlain),
           (raw.vc == ubl_pkg::VcBulk) ? nic_core_pkg::ClsBulk : nic_core_pkg::ClsReq};
    if (is_free) cls = ClassBits'(nic_core_pkg::ClsFree);
    cls[nic_core_pkg::ClassQuiet] = ~(rb_err | bad | raw.signalled | raw.bump |
                                      (raw.opcode == ubl_pkg::WqeOpWait));
    sw = slot_t'(slot_mem[tg.q]);
    sn = sw;
    sn.gen[tg.idx[DepthW-1:0]]              = ~tg.idx[DepthW];
    sn.cls[32'(tg.idx[DepthW-1:0])*ClassBits +: ClassBits] = cls;
  end

  always_ff @(posedge clk_i) begin
    if (clear_qp || is_init) slot_mem[init_idx_i[QpW-1:0]] <= '0;
    else if (fresh) slot_mem[tg.q] <= sn;
    if (fresh) wqe_mem[{tg.q, tg.idx[DepthW-1:0]}] <= went;
    if (clear_tag || rb_take) begin
      free_mem[clear_tag ? init_idx_i[TagW-1:0] : free_wr_q[TagW-1:0]] <=
          clear_tag ? init_idx_i[TagW-1:0] : rb_tag;
    end
    if (fresh) begin
      chk_q_q   <= tg.q;
      chk_idx_q <= tg.idx;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      chk_valid_q <= 1'b0;
      free_wr_q   <= (TagW+1)'(NumTags);
    end else begin
      chk_valid_q <= fresh;
      if (rb_take) free_wr_q <= free_wr_q + 1'b1;
    end
  end

  always_comb begin
    rlog_o       = '0;
    rlog_o.cause = ubl_pkg::ErrCauseDma;
    rlog_o.qpn   = 16'(tg.q);
  end
  assign rlog_valid_o = fresh & rb_err;
  assign cnt_wqe_o    = fresh & ~rb_err;
  assign cnt_push_o   = push_here;

  // One cycle after the entry was stored: if the requester waits for exactly this entry and has no
  // visit planned, tell it. Being one cycle late closes the race with a visit in the same cycle.
  assign chk_idx_o = chk_q_q;
  assign chk_hit   = chk_valid_q & ~chk_want_i & (chk_emit_i == chk_idx_q);

  ubl_fifo #(.Width(QpW), .Depth(WakeDepth)) u_wake (
    .clk_i, .rst_ni,
    .in_valid_i(chk_hit), .in_data_i(chk_q_q), .in_ready_o(unused_wake_ready),
    .out_valid_o(wake_valid_o), .out_data_o(wake_qpn_o), .out_ready_i(wake_ready_i),
    .count_o(wake_level)
  );

  // ---------------------------------------------------------------------------------------------
  // Reads by others
  ctl_t stat_ctl, slot_ctl;
  slot_t slot_rd;
  logic unused_ctl;
  assign stat_ctl    = ctl_t'(ctl_mem[stat_idx_i]);
  assign stat_tail_o = stat_ctl.tail;
  assign slot_ctl    = ctl_t'(ctl_mem[slot_idx_i]);
  assign slot_more_o = slot_ctl.fetch != slot_ctl.tail;
  assign slot_rd     = slot_t'(slot_mem[slot_idx_i]);
  assign slot_gen_o  = slot_rd.gen;
  assign slot_cls_o  = slot_rd.cls;
  assign wqe_o       = nic_core_pkg::went_t'(wqe_mem[{slot_idx_i, wqe_slot_i}]);
  assign unused_ctl  = ^{slot_ctl.queued, stat_ctl.queued, stat_ctl.fetch, init_idx_i, ctl_cfg_i, rsp_cfg_i};

  assign busy_o = (fq_ne & enable_i & (free_wr_q != free_rd_q)) | cons_valid | rb_valid | chk_valid_q | rd_valid_q | err_valid_q |
                  push_valid_q | wake_valid_o;

  `UBL_ASSERT_INIT(widths, CtlBits == $bits(ctl_t) && SlotBits == $bits(slot_t) &&
                   TagBits == $bits(tag_t))
  `UBL_ASSERT(tags_in_range, (free_wr_q - free_rd_q) <= (TagW+1)'(NumTags))
  `UBL_ASSERT(rsp_room, !rr_valid_i || unused_rb_ready)
  `UBL_ASSERT(wake_room, !chk_hit || unused_wake_ready)
  `UBL_ASSERT(fetch_queue, (fq_wr_q - fq_rd_q) <= (QpW+1)'(NumQp))
  `UBL_ASSERT(prefetch_depth, !is_fetch || ahead <= 16'(Depth))
  `UBL_ASSERT(ring_pointers, !is_fetch || ctl_state_i == 2'd0 || posted <= ring_size)
  `UBL_COVER(tags_all_used, free_wr_q == free_rd_q)
  `UBL_COVER(stale_response, rb_take && !fresh)
  `UBL_COVER(push_taken, push_here)
  `UBL_COVER(push_read, is_push && db_in_range && !push_here)

endmodule
