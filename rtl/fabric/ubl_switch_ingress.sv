// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// One input of ubl_switch: checks the frame protocol, allocates buffer slots, links the flits of
// a frame, streams up to two granted frames out of the buffer at once, returns credits.
//
// The flits themselves are in ubl_switch_xbar; this module only handles slot numbers. A flit is
// always written to the slot named on `wr_o`, which is allocated one flit ahead. So the `next` link
// of a flit is known when it is stored, and the only slot that a reader can reach before it is
// written is that slot itself: that comparison is the whole cut-through interlock.
//
// When the sink is not ready: there is no back-pressure inside. The matcher grants a frame only
// when the output holds credits for all of it; until then frames stay in their slots and the
// sender upstream runs out of credits. A flit that comes without a credit is dropped and reported.
//
// Free slots are a last-in first-out stack: recently used slots are used again first, so the
// active part of the memory stays small (and in the simulating host's cache).
//
// See also: ubl_switch_match (virtual output queues), README.md (error handling).

module ubl_switch_ingress #(
  /// Flits buffered per virtual channel, 66..682.
  parameter int unsigned VcDepth = ubl_pkg::LinkVcDepth
) (
  /// Clock.
  input  logic        clk_i,
  /// Asynchronous reset, active low.
  input  logic        rst_ni,
  /// Received flit with its parsed header (ubl_pkg::switch_rx_t).
  input  logic [31:0] rx_i /* verilator public_flat_rd */,
  /// Grant for one frame (ubl_pkg::switch_gnt_t).
  input  logic [31:0] gnt_i /* verilator public_flat_rd */,
  /// What happens to a flit arriving in this cycle (ubl_pkg::switch_wr_t).
  output logic [31:0] wr_o,
  /// Start of a stored frame (ubl_pkg::switch_ev_t).
  output logic [31:0] ev_o,
  /// End of a stored frame (ubl_pkg::switch_end_t).
  output logic [31:0] end_o,
  /// Status (ubl_pkg::switch_err_st_t above switch_rd_st_t).
  output logic [31:0] st_o,
  /// Flit leaving through read port 0 (ubl_pkg::switch_rd_t).
  output logic [31:0] rd0_o,
  /// Flit leaving through read port 1.
  output logic [31:0] rd1_o,
  /// One credit per virtual channel and cycle back to the sender.
  output logic [2:0]  rx_credit_o
);
  /* verilator no_inline_module */

  // Every credited flit, the slot allocated ahead and one spare for closing a broken frame.
  localparam int unsigned NumSlots = 3 * VcDepth + 2;
  localparam int unsigned SlotAw = $clog2(NumSlots);
  localparam int unsigned SlotW = ubl_pkg::FabricSlotBits;
  localparam int unsigned LenW = ubl_pkg::FabricLenBits;
  localparam int unsigned PortW = ubl_pkg::FabricPortBits;
  localparam int unsigned CntW = $clog2(VcDepth + 1);

  typedef enum logic [1:0] {StIdle, StFrame, StDrop, StClose} state_e;

  // Control word of a slot: {next slot, credit tag, eop, empty}.
  localparam int unsigned CtlW = SlotAw + 9;
  logic [CtlW-1:0]   ctl [1 << SlotAw];
  logic [SlotAw-1:0] stack [1 << SlotAw];

  ubl_pkg::switch_rx_t  rx;
  ubl_pkg::switch_gnt_t gnt;
  assign rx = rx_i[ubl_pkg::SwitchRxBits-1:0];
  assign gnt = gnt_i[ubl_pkg::SwitchGntBits-1:0];

  // Writer.
  state_e            state_q;
  logic [1:0]        f_vc_q;    // VC of the open frame
  logic [LenW-1:0]   f_rem_q;   // flits of the open frame still to come
  logic              f_last_q;  // StFrame: one more; StClose: the lost flit was to be the last one
  logic [5:0]        f_empty_q; // unused bytes of its last flit by its IP header
  logic              tail_q;    // StClose: the offending frame has ended already
  logic [SlotAw-1:0] wr_slot_q;
  logic [SlotAw-1:0] fresh_q;   // slots from here on were never used
  logic [SlotAw-1:0] sp_q;
  // Credits: `used` = taken by the sender and not yet returned, `pend` = waiting to be returned.
  logic [CntW-1:0]   used_q [4];
  logic [CntW-1:0]   pend_q [3];
  logic              pend_any_q;
  logic              used_any_q;
  logic [2:0]        credit_q;

  // Readers.
  logic              act0_q, act1_q;
  logic [SlotAw-1:0] ptr0_q, ptr1_q;
  logic [LenW-1:0]   rem0_q, rem1_q;
  logic [PortW-1:0]  out0_q, out1_q;
  logic [1:0]        vc0_q, vc1_q;

  ubl_pkg::switch_ev_t ev_q;
  ubl_pkg::switch_end_t end_q;
  ubl_pkg::switch_err_st_t err_st_q;
  ubl_pkg::switch_rd_st_t  rd_st_q;
  ubl_pkg::switch_rd_t rd0_q, rd1_q;

  assign ev_o = 32'(ev_q);
  assign st_o = {7'd0, err_st_q, rd_st_q};
  assign rd0_o = 32'(rd0_q);
  assign rd1_o = 32'(rd1_q);
  assign wr_o = {12'd0, f_empty_q, f_last_q, state_q == StClose, state_q == StFrame,
                 SlotW'(wr_slot_q)};
  assign end_o = 32'(end_q);
  assign rx_credit_o = credit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : p_ingress
    logic              g0, g1, v0, v1, a0, a1, fin0, fin1;
    logic [SlotAw-1:0] s0, s1, p0, p1, new_slot, wr_d;
    logic [CtlW-1:0]   w0, w1;
    logic [LenW-1:0]   r0, r1;
    logic              can_store, known, counted, store, start, st_eop, last, cut;
    logic [5:0]        empty;
    logic [1:0]        tag;
    logic [3:0]        err;
    logic [CntW-1:0]   ret;
    logic              pend_any, used_any;
    logic [CntW-1:0]   used_d;

    if (!rst_ni) begin
      state_q    <= StIdle;
      f_vc_q     <= '0;
      f_rem_q    <= '0;
      f_last_q   <= 1'b0;
      f_empty_q  <= '0;
      tail_q     <= 1'b0;
      wr_slot_q  <= '0;
      fresh_q    <= SlotAw'(1);
      sp_q       <= '0;
      pend_any_q <= 1'b0;
      used_any_q <= 1'b0;
      credit_q   <= '0;
      act0_q     <= 1'b0;
      act1_q     <= 1'b0;
      ptr0_q     <= '0;
      ptr1_q     <= '0;
      rem0_q     <= '0;
      rem1_q     <= '0;
      out0_q     <= '0;
      out1_q     <= '0;
      vc0_q      <= '0;
      vc1_q      <= '0;
      ev_q       <= '0;
      end_q      <= '0;
      err_st_q   <= '0;
      rd_st_q    <= '0;
      rd0_q      <= '0;
      rd1_q      <= '0;
      for (int v = 0; v < 4; v++) used_q[v] <= '0;
      for (int v = 0; v < 3; v++) pend_q[v] <= '0;
    end else begin
      // Pulses last one cycle.
      credit_q      <= '0;
      ev_q.valid    <= 1'b0;
      end_q.valid   <= 1'b0;
      err_st_q      <= {1'b0, used_any_q, 5'd0};
      rd_st_q       <= '0;
      rd0_q.valid   <= 1'b0;
      rd1_q.valid   <= 1'b0;

      if (rx.valid || gnt.valid || act0_q || act1_q || pend_any_q || state_q == StClose) begin
        // --- Readers: take the flit at the pointer unless it is not written yet. ---
        g0 = gnt.valid && !gnt.rd;
        g1 = gnt.valid && gnt.rd;
        v0 = g0 || (act0_q && ptr0_q != wr_slot_q);
        v1 = g1 || (act1_q && ptr1_q != wr_slot_q);
        s0 = g0 ? gnt.slot[SlotAw-1:0] : ptr0_q;
        s1 = g1 ? gnt.slot[SlotAw-1:0] : ptr1_q;
        w0 = ctl[s0];
        w1 = ctl[s1];
        r0 = (g0 ? gnt.len : rem0_q) - LenW'(v0);
        r1 = (g1 ? gnt.len : rem1_q) - LenW'(v1);
        fin0 = v0 && w0[6];
        fin1 = v1 && w1[6];
        a0 = (g0 || act0_q) && !fin0;
        a1 = (g1 || act1_q) && !fin1;
        p0 = v0 ? w0[CtlW-1:9] : ptr0_q;
        p1 = v1 ? w1[CtlW-1:9] : ptr1_q;

        // --- Writer: decide what becomes of the arriving flit. ---
        can_store = v0 || v1 || sp_q != '0 || fresh_q != SlotAw'(NumSlots);
        store   = 1'b0;
        start   = 1'b0;
        st_eop  = 1'b0;
        err     = 4'd0;
        tag     = rx.vc;
        known   = rx.vc != ubl_pkg::FabricNoVc;
        counted = rx.valid && known && used_q[rx.vc] != CntW'(VcDepth);
        last    = f_last_q;
        cut     = 1'b0;
        // Whatever ends a frame early, it leaves with whole flits.
        empty   = f_last_q ? f_empty_q : 6'd0;
        if (rx.valid) begin
          if (state_q == StFrame) begin
            if (rx.sop) err = 4'(ubl_pkg::SwitchErrSopInFrame);
            else if (!known) err = 4'(ubl_pkg::SwitchErrVc);
            else if (!counted || !can_store) err = 4'(ubl_pkg::SwitchErrOverflow);
            else if (rx.vc != f_vc_q) err = 4'(ubl_pkg::SwitchErrVc);
            else if (rx.eop != last || (last && rx.empty != f_empty_q)) begin
              err = 4'(ubl_pkg::SwitchErrLength);
            end
            store   = counted && can_store;
            st_eop  = rx.eop || rx.sop || last;
            cut     = rx.sop || rx.eop != last || rx.empty != f_empty_q;
            f_rem_q <= f_rem_q - LenW'(1);
            f_last_q <= store ? f_rem_q == LenW'(2) : last;
            if (!store) begin
              state_q <= StClose;
              tail_q  <= rx.eop;
            end else if (st_eop) begin
              state_q <= rx.eop ? StIdle : StDrop;
            end
          end else if (state_q == StClose) begin
            if (rx.sop) err = 4'(ubl_pkg::SwitchErrOverflow);
            tail_q <= rx.eop || (tail_q && !rx.sop);
          end else if (rx.sop) begin
            last = rx.len == LenW'(1);
            if (!known) err = 4'(ubl_pkg::SwitchErrVc);
            else if (!counted || !can_store) err = 4'(ubl_pkg::SwitchErrOverflow);
            else if (!rx.ok) err = 4'(ubl_pkg::SwitchErrNoRoute);
            else if (rx.len_bad || rx.eop != last || rx.empty_bad) begin
              err = 4'(ubl_pkg::SwitchErrLength);
            end
            start   = counted && can_store && rx.ok && !rx.len_bad;
            store   = start;
            st_eop  = rx.eop || last;
            cut     = rx.eop != last || rx.empty_bad;
            empty   = last ? rx.empty : 6'd0;
            f_vc_q  <= rx.vc;
            f_rem_q <= rx.len - LenW'(1);
            f_last_q  <= rx.len == LenW'(2);
            f_empty_q <= rx.empty;
            if (start && !st_eop) state_q <= StFrame;
            else state_q <= rx.eop ? StIdle : StDrop;
          end else begin
            if (state_q == StIdle) err = 4'(ubl_pkg::SwitchErrNoSop);
            if (rx.eop) state_q <= StIdle;
          end
        end
        if (state_q == StClose && can_store) begin
          // Ends a frame whose rest was lost; this flit owes nobody a credit.
          store   = 1'b1;
          st_eop  = 1'b1;
          cut     = 1'b1;
          tag     = ubl_pkg::FabricNoVc;
          state_q <= (rx.valid ? rx.eop || (tail_q && !rx.sop) : tail_q) ? StIdle : StDrop;
        end

        // --- Slots: one allocated per stored flit, one freed per flit read. ---
        new_slot = fresh_q;
        if (store) begin
          if (v0) begin
            new_slot = s0;
            if (v1) begin
              stack[sp_q] <= s1;
              sp_q <= sp_q + SlotAw'(1);
            end
          end else if (v1) begin
            new_slot = s1;
          end else if (sp_q != '0) begin
            new_slot = stack[sp_q - SlotAw'(1)];
            sp_q <= sp_q - SlotAw'(1);
          end else begin
            fresh_q <= fresh_q + SlotAw'(1);
          end
          ctl[wr_slot_q] <= {new_slot, tag, st_eop, empty};
          wr_slot_q <= new_slot;
        end else begin
          if (v0) stack[sp_q] <= s0;
          if (v1) stack[sp_q + SlotAw'(v0)] <= s1;
          sp_q <= sp_q + SlotAw'(v0) + SlotAw'(v1);
        end
        wr_d = store ? new_slot : wr_slot_q;

        // --- Credits. ---
        pend_any = 1'b0;
        used_any = 1'b0;
        for (int v = 0; v < 3; v++) begin
          ret = pend_q[v] + CntW'(v0 && w0[8:7] == 2'(v)) + CntW'(v1 && w1[8:7] == 2'(v)) +
                CntW'(counted && (!store || state_q == StClose) && rx.vc == 2'(v));
          used_d = used_q[v] + CntW'(counted && rx.vc == 2'(v)) - CntW'(ret != '0);
          used_q[v] <= used_d;
          credit_q[v] <= ret != '0;
          pend_q[v] <= ret - CntW'(ret != '0);
          pend_any = pend_any || ret > CntW'(1);
          used_any = used_any || used_d != '0;
        end
        pend_any_q <= pend_any;
        used_any_q <= used_any;

        // --- Registers. ---
        act0_q <= a0;
        act1_q <= a1;
        ptr0_q <= p0;
        ptr1_q <= p1;
        rem0_q <= r0;
        rem1_q <= r1;
        if (g0) begin
          out0_q <= gnt.out;
          vc0_q  <= gnt.vc;
        end
        if (g1) begin
          out1_q <= gnt.out;
          vc1_q  <= gnt.vc;
        end
        if (v0) begin
          rd0_q <= {g0 && gnt.mark, g0 ? gnt.out : out0_q, SlotW'(s0), g0, w0[6],
                    g0 ? gnt.vc : vc0_q, w0[5:0], 1'b1};
        end
        if (v1) begin
          rd1_q <= {g1 && gnt.mark, g1 ? gnt.out : out1_q, SlotW'(s1), g1, w1[6],
                    g1 ? gnt.vc : vc1_q, w1[5:0], 1'b1};
        end
        if (start) begin
          ev_q <= {rx.ect, rx.out, rx.len, rx.vc, SlotW'(wr_slot_q), 1'b1};
        end
        if (store && st_eop) end_q <= {cut, empty, SlotW'(wr_slot_q), 1'b1};
        err_st_q <= {store && st_eop,
                     used_any || a0 || a1 || v0 || v1 || counted || pend_any_q || err != 4'd0,
                     err != 4'd0, err};
        rd_st_q <= {r1, r0,
                 fin1 && r1 != '0, fin0 && r0 != '0,
                 a1 && r1 == LenW'(1) && p1 != wr_d, a0 && r0 == LenW'(1) && p0 != wr_d};
      end
    end
  end

  logic unused_pad;
  assign unused_pad = ^{rx_i[31:ubl_pkg::SwitchRxBits], gnt_i[31:ubl_pkg::SwitchGntBits]};

`include "ubl_assert.svh"
  `UBL_ASSERT(ReaderFree0, !(gnt.valid && !gnt.rd && act0_q))
  `UBL_ASSERT(ReaderFree1, !(gnt.valid && gnt.rd && act1_q))
  `UBL_ASSERT(ReaderLen0, !(act0_q && rem0_q == '0))
  `UBL_ASSERT(ReaderLen1, !(act1_q && rem1_q == '0))
  `UBL_ASSERT(SlotsBounded, fresh_q <= SlotAw'(NumSlots) && sp_q < fresh_q)
  `UBL_ASSERT(UsedBounded0, used_q[0] <= CntW'(VcDepth) && pend_q[0] <= used_q[0])
  `UBL_ASSERT(UsedBounded1, used_q[1] <= CntW'(VcDepth) && pend_q[1] <= used_q[1])
  `UBL_ASSERT(UsedBounded2, used_q[2] <= CntW'(VcDepth) && pend_q[2] <= used_q[2])
  // All credits home: with nothing outstanding, every slot but the one allocated ahead is free.
  `UBL_ASSERT(SlotsHome, used_any_q || act0_q || act1_q || state_q == StClose ||
                         sp_q == fresh_q - SlotAw'(1))
  `UBL_COVER(TwoReaders, act0_q && act1_q)
  `UBL_COVER(CutThroughWait, act0_q && ptr0_q == wr_slot_q)
  `UBL_COVER(CreditsQueued, pend_any_q)
  `UBL_COVER(Closing, state_q == StClose)
  `UBL_COVER(FullVc, used_q[2] == CntW'(VcDepth))

endmodule
