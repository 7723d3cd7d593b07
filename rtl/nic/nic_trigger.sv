// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Counters of triggered operations, and the queue pairs that wait for them. One count per cycle is
// added; the requester looks at a counter, in the cycle of its event, as if that count were there
// already, and either goes on or lists the QP as waiting, so no count can fall between. A count to a
// counter with a list starts a walk over it, one QP per cycle: those that need not wait any more are
// taken off and called. The list is linked both ways, so a QP can leave it at any time.
// Counts of nic_completer's and nic_responder's side wait in small queues; a count of a QP that fails
// is never refused.
// See also: nic_ops.md, nic_requester.sv.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_trigger #(
  /// Queue pairs, a power of two.
  parameter int unsigned NumQp = 1024,
  /// QP index width, do not overwrite.
  localparam int unsigned QpW = $clog2(NumQp),
  /// Counters, do not overwrite.
  localparam int unsigned NumCtr = ubl_pkg::NicNumCtr,
  /// Counter index width, do not overwrite.
  localparam int unsigned CtrW = nic_core_pkg::CtrW
) (
  /// Clock.
  input  logic clk_i,
  /// Reset, active low.
  input  logic rst_ni,

  /// Tables are cleared after reset, one index per cycle.
  input  logic        clear_i,
  /// The index.
  input  logic [15:0] clear_idx_i,

  /// A QP moves to error: never refused.
  input  logic                fail_valid_i,
  /// Its counter, of which the failures grow by one.
  input  logic [CtrW-1:0]     fail_ctr_i,
  /// A send completion counts.
  input  logic                cpl_valid_i,
  /// The count.
  input  nic_core_pkg::bump_t cpl_i,
  /// There is room (registers only).
  output logic                cpl_ready_o,
  /// An immediate counts.
  input  logic                imm_valid_i,
  /// Its counter.
  input  logic [CtrW-1:0]     imm_ctr_i,
  /// There is room (registers only).
  output logic                imm_ready_o,
  /// The host counts.
  input  logic                db_valid_i,
  /// The count.
  input  nic_core_pkg::bump_t db_i,
  /// Taken (not a function of db_valid_i).
  output logic                db_ready_o,

  /// write_ctr.
  input  logic            obj_we_i,
  /// Counter of write_ctr and read_ctr.
  input  logic [CtrW-1:0] obj_idx_i,
  /// New value {failure, success}.
  input  logic [63:0]     obj_data_i,
  /// write_ctr is done.
  output logic            obj_ready_o,
  /// Value {failure, success}.
  output logic [63:0]     obj_data_o,

  /// Counter the requester looks at.
  input  logic [CtrW-1:0] look_ctr_i,
  /// Threshold it wants.
  input  logic [31:0]     look_min_i,
  /// The counter has a failure.
  output logic            look_failed_o,
  /// It has reached the threshold.
  output logic            look_met_o,
  /// QP look_qpn_i waits for it from now on.
  input  logic            wait_i,
  /// QP look_qpn_i waits no more, if it did.
  input  logic            leave_i,
  /// The QP.
  input  logic [QpW-1:0]  look_qpn_i,

  /// A QP that waited must be looked at.
  output logic           wake_valid_o,
  /// The QP.
  output logic [QpW-1:0] wake_qpn_o,
  /// Taken.
  input  logic           wake_ready_i,

  /// A count is added.
  output logic cnt_bump_o,
  /// Something would happen without new input.
  output logic busy_o
);

  localparam int unsigned BumpBits = nic_core_pkg::BumpBits;
  localparam int unsigned LinkBits = QpW + 1;          // {valid, QP}
  localparam int unsigned WaitBits = 33 + CtrW;        // {waits, counter, threshold}

  logic [63:0] ctr_mem [NumCtr];                       // {failure, success}
  logic [LinkBits-1:0] head_mem [NumCtr];
  logic [LinkBits-1:0] next_mem [NumQp];
  logic [QpW-1:0] prev_mem [NumQp];                    // of a QP that is not the head of its list
  logic [WaitBits-1:0] wait_mem [NumQp];
  logic [CtrW-1:0] svc_mem [NumCtr];                   // counters with a list to walk

  // ---------------------------------------------------------------------------------------------
  // Counts
  logic fail_v, cpl_v, imm_v, unused_fail_ready;
  logic [CtrW-1:0] fail_ctr, imm_ctr;
  nic_core_pkg::bump_t cpl, bump;
  logic [2:0] unused_fail_level, unused_cpl_level, unused_imm_level;
  logic bump_v, take_fail, take_obj, take_cpl, take_imm, take_db;
  logic [1:0] turn_q;   // of cpl, imm, db the one that goes first
  logic [63:0] ctr_old, ctr_new;
  logic [CtrW-1:0] ctr_idx;

  ubl_fifo #(.Width(CtrW), .Depth(4)) u_fail (
    .clk_i, .rst_ni,
    .in_valid_i(fail_valid_i), .in_data_i(fail_ctr_i), .in_ready_o(unused_fail_ready),
    .out_valid_o(fail_v), .out_data_o(fail_ctr), .out_ready_i(take_fail),
    .count_o(unused_fail_level)
  );
  ubl_fifo #(.Width(BumpBits), .Depth(4)) u_cpl (
    .clk_i, .rst_ni,
    .in_valid_i(cpl_valid_i), .in_data_i(cpl_i), .in_ready_o(cpl_ready_o),
    .out_valid_o(cpl_v), .out_data_o(cpl), .out_ready_i(take_cpl),
    .count_o(unused_cpl_level)
  );
  ubl_fifo #(.Width(CtrW), .Depth(4)) u_imm (
    .clk_i, .rst_ni,
    .in_valid_i(imm_valid_i), .in_data_i(imm_ctr_i), .in_ready_o(imm_ready_o),
    .out_valid_o(imm_v), .out_data_o(imm_ctr), .out_ready_i(take_imm),
    .count_o(unused_imm_level)
  );

  // The host's own counts come last but for fairness: each of the three goes first in its turn.
  always_comb begin
    take_fail  = fail_v & ~clear_i;
    take_obj   = obj_we_i & ~fail_v;
    take_cpl   = 1'b0;
    take_imm   = 1'b0;
    db_ready_o = 1'b0;
    if (!fail_v && !obj_we_i && !clear_i) begin
      take_cpl   = cpl_v & ((turn_q == 2'd0) | ~imm_v | (turn_q == 2'd2));
      take_imm   = imm_v & ~take_cpl;
      db_ready_o = (~cpl_v & ~imm_v) | (turn_q == 2'd2);
      if (db_ready_o && db_valid_i) begin
        take_cpl = 1'b0;
        take_imm = 1'b0;
      end
    end
    take_db = db_ready_o & db_valid_i;
    bump     = '0;
    bump.add = 32'd1;
    if (take_fail) begin
      bump.ctr  = fail_ctr;
      bump.fail = 1'b1;
    end else if (take_imm) begin
      bump.ctr = imm_ctr;
    end else if (take_db) begin
      bump = db_i;
    end else begin
      bump = cpl;
    end
    bump_v  = take_fail | take_cpl | take_imm | take_db;
    ctr_idx = clear_i ? clear_idx_i[CtrW-1:0] : (take_obj ? obj_idx_i : bump.ctr);
    ctr_old = ctr_mem[ctr_idx];
    ctr_new = bump.fail ? {ctr_old[63:32] + bump.add, ctr_old[31:0]}
                        : {ctr_old[63:32], ctr_old[31:0] + bump.add};
    if (take_obj) ctr_new = obj_data_i;
    if (clear_i) ctr_new = '0;
  end
  assign obj_ready_o = take_obj;
  assign obj_data_o  = ctr_mem[obj_idx_i];
  assign cnt_bump_o  = bump_v;

  always_ff @(posedge clk_i) begin
    if (bump_v || take_obj || (clear_i && {1'b0, clear_idx_i} < 17'(NumCtr))) ctr_mem[ctr_idx] <= ctr_new;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= '0;
    else if (bump_v && !take_fail) turn_q <= (turn_q == 2'd2) ? 2'd0 : turn_q + 2'd1;
  end

  // ---------------------------------------------------------------------------------------------
  // The look of the requester
  logic [63:0] look;
  logic [31:0] look_over;
  assign look          = ((bump_v || take_obj) && ctr_idx == look_ctr_i) ? ctr_new : ctr_mem[look_ctr_i];
  assign look_over     = look[31:0] - look_min_i;
  assign look_failed_o = look[63:32] != 32'd0;
  assign look_met_o    = ~look_over[31];

  // ---------------------------------------------------------------------------------------------
  // Lists: one change per cycle; the requester goes before the walk
  logic walk_q, walk_more, walk_off, walk_go, walk_start, wake_room, unused_wake_ready;
  logic [QpW-1:0] walk_qp_q, off_qp;
  logic [CtrW-1:0] walk_ctr_q, svc_ctr, off_ctr, on_ctr;
  logic [2:0] wake_level;
  logic [WaitBits-1:0] look_wait, walk_wait;
  logic add, off;
  logic [LinkBits-1:0] off_next, add_next, on_head;
  logic [QpW-1:0] off_prev;
  logic off_head;
  logic [63:0] walk_ctr;
  logic [31:0] walk_over;
  logic svc_push;
  logic [NumCtr-1:0] svc_in_q;
  logic [CtrW:0] svc_wr_q, svc_rd_q;

  assign look_wait = wait_mem[look_qpn_i];
  // Who is on the list already looks again in vain.
  assign add       = wait_i & ~look_wait[WaitBits-1];
  assign walk_wait = wait_mem[walk_qp_q];
  assign walk_ctr  = ctr_mem[walk_ctr_q];
  assign walk_over = walk_ctr[31:0] - walk_wait[31:0];
  // Only the signs matter.
  logic unused_over;
  assign unused_over = ^{look_over[30:0], walk_over[30:0]};
  assign walk_go   = walk_q & ~wait_i & ~leave_i & ~clear_i;
  assign wake_room = wake_level <= 3'd3;
  assign walk_off  = walk_go & wake_room & (~walk_over[31] | (walk_ctr[63:32] != 32'd0));
  assign walk_more = walk_go & (wake_room | (walk_over[31] & (walk_ctr[63:32] == 32'd0)));
  assign off       = (leave_i & look_wait[WaitBits-1]) | walk_off;
  assign off_qp    = walk_off ? walk_qp_q : look_qpn_i;
  assign off_ctr   = walk_off ? walk_ctr_q : look_wait[32 +: CtrW];
  assign off_next  = next_mem[off_qp];
  assign off_prev  = prev_mem[off_qp];
  assign on_ctr    = off ? off_ctr : look_ctr_i;
  assign on_head   = head_mem[on_ctr];
  assign off_head  = on_head[QpW-1:0] == off_qp;
  assign add_next  = on_head;
  assign walk_start = ~walk_q & (svc_wr_q != svc_rd_q);
  assign svc_ctr   = svc_mem[svc_rd_q[CtrW-1:0]];

  logic [LinkBits-1:0] svc_head, walk_next, bump_head;
  assign svc_head  = head_mem[svc_ctr];
  assign walk_next = next_mem[walk_qp_q];
  assign bump_head = head_mem[ctr_idx];
  assign svc_push  = (bump_v | take_obj) & bump_head[QpW] &
                     (~svc_in_q[ctr_idx] | (walk_start & svc_ctr == ctr_idx));

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      if ({1'b0, clear_idx_i} < 17'(NumCtr)) head_mem[clear_idx_i[CtrW-1:0]] <= '0;
      if ({1'b0, clear_idx_i} < 17'(NumQp)) wait_mem[clear_idx_i[QpW-1:0]] <= '0;
    end else if (add) begin
      head_mem[on_ctr]     <= {1'b1, look_qpn_i};
      wait_mem[look_qpn_i] <= {1'b1, look_ctr_i, look_min_i};
    end else if (off) begin
      if (off_head) head_mem[on_ctr] <= off_next;
      wait_mem[off_qp] <= '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (add) next_mem[look_qpn_i] <= add_next;
    else if (off && !off_head) next_mem[off_prev] <= off_next;
  end
  always_ff @(posedge clk_i) begin
    if (add && add_next[QpW]) prev_mem[add_next[QpW-1:0]] <= look_qpn_i;
    else if (off && off_next[QpW]) prev_mem[off_next[QpW-1:0]] <= off_prev;
  end
  always_ff @(posedge clk_i) begin
    if (svc_push) svc_mem[svc_wr_q[CtrW-1:0]] <= ctr_idx;
    if (walk_start) begin
      walk_ctr_q <= svc_ctr;
      walk_qp_q  <= (off && off_head && off_ctr == svc_ctr) ? off_next[QpW-1:0] : svc_head[QpW-1:0];
    end else if (walk_more || (walk_q && off && off_qp == walk_qp_q)) begin
      walk_qp_q <= walk_next[QpW-1:0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      svc_in_q <= '0;
      svc_wr_q <= '0;
      svc_rd_q <= '0;
      walk_q   <= 1'b0;
    end else begin
      if (walk_start) begin
        svc_rd_q          <= svc_rd_q + 1'b1;
        svc_in_q[svc_ctr] <= 1'b0;
        walk_q            <= (off && off_head && off_ctr == svc_ctr) ? off_next[QpW] : svc_head[QpW];
      end else if (walk_more || (walk_q && off && off_qp == walk_qp_q)) begin
        walk_q <= walk_next[QpW];
      end
      if (svc_push) begin
        svc_wr_q          <= svc_wr_q + 1'b1;
        svc_in_q[ctr_idx] <= 1'b1;
      end
    end
  end

  ubl_fifo #(.Width(QpW), .Depth(4)) u_wake (
    .clk_i, .rst_ni,
    .in_valid_i(walk_off), .in_data_i(walk_qp_q), .in_ready_o(unused_wake_ready),
    .out_valid_o(wake_valid_o), .out_data_o(wake_qpn_o), .out_ready_i(wake_ready_i),
    .count_o(wake_level)
  );

  assign busy_o = fail_v | cpl_v | imm_v | walk_q | (svc_wr_q != svc_rd_q) | wake_valid_o;

  `UBL_ASSERT_INIT(widths, BumpBits == $bits(nic_core_pkg::bump_t))
  `UBL_ASSERT(fail_room, !fail_valid_i || unused_fail_ready)
  `UBL_ASSERT(cpl_room, !cpl_valid_i || cpl_ready_o)
  `UBL_ASSERT(imm_room, !imm_valid_i || imm_ready_o)
  `UBL_ASSERT(wake_fits, !walk_off || unused_wake_ready)
  `UBL_ASSERT(svc_queue, (svc_wr_q - svc_rd_q) <= (CtrW+1)'(NumCtr))
  `UBL_ASSERT(walk_on_list, !walk_q || clear_i || (walk_wait[WaitBits-1] && walk_wait[32 +: CtrW] == walk_ctr_q))
  `UBL_ASSERT(one_change, !(wait_i && leave_i))
  `UBL_COVER(count_and_look, bump_v && wait_i && ctr_idx == look_ctr_i)
  `UBL_COVER(met_by_bypass, bump_v && ctr_idx == look_ctr_i && leave_i)
  `UBL_COVER(leave_middle, leave_i && off && !off_head)
  `UBL_COVER(leave_walked, leave_i && off && walk_q && off_qp == walk_qp_q)
  `UBL_COVER(walk_passes, walk_more && !walk_off)
  `UBL_COVER(wake_full, walk_go && !wake_room)
  `UBL_COVER(all_three, cpl_v && imm_v && db_valid_i)

endmodule
