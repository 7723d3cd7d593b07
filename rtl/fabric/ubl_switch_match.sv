// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Virtual output queues and frame matching of ubl_switch.
//
// Per (input, output, VC) a queue of frames (a linked list through the frames' first slots).
// Each cycle one request-grant-accept iteration between the free outputs and the inputs that have
// a free read port:
//   grant   every free output takes the highest VC (rsp > req > bulk) for which some available
//           input has a frame, picks the input round-robin, and grants it if it holds credits for
//           the whole frame;
//   accept  every granted input takes the highest VC, picks the output round-robin.
// Both pointers move to the one after the partner, and only on accept, so an input that asks is
// reached after at most Radix frames of every competitor, and the pointers spread (iSLIP).
// An input has two read ports, so it can feed two outputs at once and start one frame per cycle.
//
// When the sink is not ready: an output without credits for the chosen frame passes to the next
// lower VC in that cycle; its pointer stays, so the frame is chosen again as soon as it fits.
//
// The tables are variables of one clocked process (blocking assignments): nothing outside the
// process reads them, all outputs are registers written by non-blocking assignments. This is what
// keeps the simulation fast: only what happens is evaluated, no table is ever copied.

module ubl_switch_match #(
  /// Ports, 2..128.
  parameter int unsigned Radix = 16,
  /// Flits buffered per virtual channel and input.
  parameter int unsigned VcDepth = ubl_pkg::LinkVcDepth,
  /// Credits of each output and VC after reset.
  parameter int unsigned TxInitCredit = VcDepth,
  /// Marks congestion.
  parameter bit EnableEcn = 1'b1
) (
  /// Clock.
  input  logic                clk_i,
  /// Asynchronous reset, active low.
  input  logic                rst_ni,
  /// Frames that began to arrive, one word per input (ubl_pkg::switch_ev_t).
  input  logic [Radix*32-1:0] ev_i,
  /// Status of the inputs (ubl_pkg::switch_rd_st_t).
  input  logic [Radix*32-1:0] st_i,
  /// Credits returned by the receivers, bit vc of each output.
  input  logic [Radix*3-1:0]  tx_credit_i,
  /// Queue length in flits above which frames are marked now and then.
  input  logic [15:0]         ecn_kmin_i,
  /// Queue length from which every frame is marked.
  input  logic [15:0]         ecn_kmax_i,
  /// Grants, one word per input (ubl_pkg::switch_gnt_t).
  output logic [Radix*32-1:0] gnt_o,
  /// Credits that the receiver of each output returned but never held, 0..3.
  output logic [Radix*2-1:0]  credit_err_o
);

  localparam int unsigned PortW = $clog2(Radix);
  localparam int unsigned LenW = ubl_pkg::FabricLenBits;
  localparam int unsigned SlotAw = $clog2(3 * VcDepth + 2);
  localparam int unsigned SlotW = ubl_pkg::FabricSlotBits;
  localparam int unsigned CreditW = $clog2(TxInitCredit + 1);
  // Flits that can wait for one output and VC: all of them.
  localparam int unsigned QlenW = $clog2(Radix * VcDepth + 1);

  // --- Tables (process variables). Queue q = {input, vc, output}; frame f = {slot, input},
  // interleaved so that the slots in use (low numbers) lie together. ---
  logic [SlotAw-1:0] q_head [1 << (2 * PortW + 2)];
  logic [SlotAw-1:0] q_tail [1 << (2 * PortW + 2)];
  logic [SlotAw-1:0] f_next [1 << (SlotAw + PortW)];
  logic [LenW:0]     f_info [1 << (SlotAw + PortW)];  // {ect, len}
  // One request word per (vc, output): bit i = input i has a frame. 128 bits as two halves.
  logic [63:0]       req_lo [4 << PortW];
  logic [63:0]       req_hi [4 << PortW];
  // One grant word per (vc, input), zero outside an iteration.
  logic [63:0]       gs_lo [4 << PortW];
  logic [63:0]       gs_hi [4 << PortW];
  logic [PortW-1:0]  gptr [4 << PortW];   // (vc, output)
  logic [PortW-1:0]  aptr [1 << PortW];   // input
  logic [CreditW-1:0] credit [4 << PortW]; // (vc, output)
  logic [QlenW-1:0]  qlen [4 << PortW];    // (vc, output)
  logic [16:0]       ecn_sum [4 << PortW]; // (vc, output): marks owed, in units of 1/(kmax - kmin)
  logic [1:0]        rd_busy [1 << PortW];   // read ports of an input
  logic [PortW-1:0]  rd_out [2 << PortW];  // (read port, input)
  logic [1:0]        rd_vc [2 << PortW];
  logic [127:0]      avail;   // inputs with a free read port
  logic [127:0]      ofree;   // outputs that send nothing
  logic [127:0]      owork;   // outputs with any request

  // Words being worked on.
  ubl_pkg::switch_ev_t    ev;
  ubl_pkg::switch_rd_st_t st;

  logic [3:0]        fault_q;   // broken invariants of the last cycle, for assertions

  // Virtual channel of priority rank k.
  function automatic logic [1:0] vc_of(input int unsigned k);
    vc_of = k == 0 ? 2'(ubl_pkg::VcRsp) : k == 1 ? 2'(ubl_pkg::VcReq) : 2'(ubl_pkg::VcBulk);
  endfunction

  `include "ubl_pick.svh"

  /* verilator lint_off BLKSEQ */  // the tables are variables of this process, see above
  always_ff @(posedge clk_i or negedge rst_ni) begin : p_match
    logic [PortW-1:0]     in, out;
    logic [1:0]           vc;
    logic [2:0]           cr;
    logic [1:0]           surplus;
    logic [PortW+1:0]     vo, vi;            // {vc, output}, {vc, input}
    logic [2*PortW+1:0]   q;
    logic [SlotAw+PortW-1:0] f;
    logic [SlotAw-1:0]    slot;
    logic [LenW-1:0]      len;
    logic [63:0]          lo, hi;
    logic [127:0]         work;              // outputs that may grant
    logic [127:0]         touched;           // inputs that were granted
    logic                 done, r, mark;
    logic [3:0]           fault;
    logic [16:0]          range;             // kmax - kmin

    if (!rst_ni) begin
      gnt_o <= '0;
      credit_err_o <= '0;
      fault_q <= '0;
      avail = ~128'd0;
      ofree = ~128'd0;
      owork = '0;
      for (int unsigned k = 0; k < (4 << PortW); k++) begin
        req_lo[k] = '0;
        req_hi[k] = '0;
        gs_lo[k] = '0;
        gs_hi[k] = '0;
        gptr[k] = '0;
        credit[k] = CreditW'(TxInitCredit);
        qlen[k] = '0;
        ecn_sum[k] = '0;
      end
      for (int unsigned k = 0; k < (1 << PortW); k++) begin
        aptr[k] = '0;
        rd_busy[k] = '0;
      end
    end else begin
      gnt_o <= '0;
      credit_err_o <= '0;
      fault = '0;

      // --- Credits come back. ---
      if (tx_credit_i != '0) begin
        for (int unsigned o = 0; o < Radix; o++) begin
          cr = tx_credit_i[o*3 +: 3];
          if (cr != '0) begin
            surplus = 2'd0;
            for (int unsigned v = 0; v < 3; v++) begin
              vo = {2'(v), PortW'(o)};
              if (cr[v]) begin
                if (credit[vo] == CreditW'(TxInitCredit)) surplus = surplus + 2'd1;
                else credit[vo] = credit[vo] + CreditW'(1);
              end
            end
            credit_err_o[o*2 +: 2] <= surplus;
          end
        end
      end

      // --- Frames end: free the output and the read port. ---
      for (int unsigned i = 0; i < Radix; i++) begin
        st = st_i[i*32 +: ubl_pkg::SwitchRdStBits];
        if ({st.end1, st.end0, st.trunc1, st.trunc0} != '0) begin
          if (st.end0 || st.trunc0) begin
            ofree[7'(rd_out[{1'b0, PortW'(i)}])] = 1'b1;
            rd_busy[i[PortW-1:0]][0] = 1'b0;
            avail[i[6:0]] = 1'b1;
            if (st.trunc0) begin
              vo = {rd_vc[{1'b0, PortW'(i)}], rd_out[{1'b0, PortW'(i)}]};
              fault[0] = fault[0] || 32'(credit[vo]) + 32'(st.refund0) > TxInitCredit;
              credit[vo] = credit[vo] + CreditW'(st.refund0);
            end
          end
          if (st.end1 || st.trunc1) begin
            ofree[7'(rd_out[{1'b1, PortW'(i)}])] = 1'b1;
            rd_busy[i[PortW-1:0]][1] = 1'b0;
            avail[i[6:0]] = 1'b1;
            if (st.trunc1) begin
              vo = {rd_vc[{1'b1, PortW'(i)}], rd_out[{1'b1, PortW'(i)}]};
              fault[0] = fault[0] || 32'(credit[vo]) + 32'(st.refund1) > TxInitCredit;
              credit[vo] = credit[vo] + CreditW'(st.refund1);
            end
          end
        end
      end

      // --- Frames arrive. ---
      for (int unsigned i = 0; i < Radix; i++) begin
        ev = ev_i[i*32 +: ubl_pkg::SwitchEvBits];
        if (ev.valid) begin
          in = PortW'(i);
          out = ev.out[PortW-1:0];
          vo = {ev.vc, out};
          q = {in, vo};
          slot = ev.slot[SlotAw-1:0];
          if (i < 64 ? req_lo[vo][i[5:0]] : req_hi[vo][i[5:0]]) f_next[{q_tail[q], in}] = slot;
          else q_head[q] = slot;
          q_tail[q] = slot;
          f_info[{slot, in}] = {ev.ect, ev.len};
          if (i < 64) req_lo[vo][i[5:0]] = 1'b1;
          else req_hi[vo][i[5:0]] = 1'b1;
          owork[7'(out)] = 1'b1;
          qlen[vo] = qlen[vo] + QlenW'(ev.len);
        end
      end

      // --- Grant. ---
      touched = '0;
      work = ofree & owork;
      for (int unsigned o = 0; o < Radix; o++) begin
        if (work[o[6:0]]) begin
          out = PortW'(o);
          done = 1'b0;
          for (int unsigned k = 0; k < 3; k++) begin
            vo = {vc_of(k), out};
            lo = req_lo[vo] & avail[63:0];
            hi = req_hi[vo] & avail[127:64];
            if (!done && (lo | hi) != '0 && credit[vo] != '0) begin
              in = PortW'(rr_pick(lo, hi, 7'(gptr[vo])));
              len = f_info[{q_head[{in, vo}], in}][LenW-1:0];
              if (credit[vo] >= CreditW'(len)) begin
                done = 1'b1;
                vi = {vc_of(k), in};
                if (o < 64) gs_lo[vi][o[5:0]] = 1'b1;
                else gs_hi[vi][o[5:0]] = 1'b1;
                touched[7'(in)] = 1'b1;
              end
            end
          end
        end
      end

      // --- Accept. ---
      if (touched != '0) begin
        for (int unsigned i = 0; i < Radix; i++) begin
          if (touched[i[6:0]]) begin
            in = PortW'(i);
            done = 1'b0;
            out = '0;
            vc = '0;
            for (int unsigned k = 0; k < 3; k++) begin
              vi = {vc_of(k), in};
              if ((gs_lo[vi] | gs_hi[vi]) != '0) begin
                if (!done) begin
                  out = PortW'(rr_pick(gs_lo[vi], gs_hi[vi], 7'(aptr[in])));
                  vc = vc_of(k);
                end
                done = 1'b1;
                gs_lo[vi] = '0;
                gs_hi[vi] = '0;
              end
            end
            vo = {vc, out};
            q = {in, vo};
            slot = q_head[q];
            f = {slot, in};
            len = f_info[f][LenW-1:0];
            // Marked with probability (qlen - kmin) / (kmax - kmin). Instead of drawing it, what
            // each frame adds is summed up, and a mark takes 1 away.
            mark = 1'b0;
            if (EnableEcn && f_info[f][LenW] && vc != 2'(ubl_pkg::VcRsp) &&
                32'(qlen[vo]) >= 32'(ecn_kmin_i)) begin
              if (32'(qlen[vo]) >= 32'(ecn_kmax_i)) begin
                mark = 1'b1;
              end else begin
                range = 17'(ecn_kmax_i - ecn_kmin_i);
                ecn_sum[vo] = ecn_sum[vo] + 17'(qlen[vo]) - 17'(ecn_kmin_i);
                if (ecn_sum[vo] >= range) begin
                  mark = 1'b1;
                  ecn_sum[vo] = ecn_sum[vo] - range;
                end
              end
            end
            fault[1] = fault[1] || credit[vo] < CreditW'(len);
            fault[2] = fault[2] || qlen[vo] < QlenW'(len);
            fault[3] = fault[3] || rd_busy[in] == 2'b11 || !ofree[7'(out)];
            // Dequeue.
            if (slot == q_tail[q]) begin
              if (i < 64) req_lo[vo][i[5:0]] = 1'b0;
              else req_hi[vo][i[5:0]] = 1'b0;
              owork[7'(out)] = (req_lo[{2'd0, out}] | req_hi[{2'd0, out}] |
                                req_lo[{2'd1, out}] | req_hi[{2'd1, out}] |
                                req_lo[{2'd2, out}] | req_hi[{2'd2, out}]) != '0;
            end else begin
              q_head[q] = f_next[f];
            end
            credit[vo] = credit[vo] - CreditW'(len);
            qlen[vo] = qlen[vo] - QlenW'(len);
            gptr[vo] = PortW'(rr_next(7'(in), Radix));
            aptr[in] = PortW'(rr_next(7'(out), Radix));
            // A one-flit frame occupies nothing beyond this cycle.
            r = rd_busy[in][0];
            if (len != LenW'(1)) begin
              ofree[7'(out)] = 1'b0;
              rd_busy[in][r] = 1'b1;
              rd_out[{r, in}] = out;
              rd_vc[{r, in}] = vc;
              avail[i[6:0]] = rd_busy[in] != 2'b11;
            end
            gnt_o[i*32 +: 32] <= {2'd0, mark, r, 7'(out), len, vc, SlotW'(slot), 1'b1};
          end
        end
      end
      fault_q <= fault;
    end
  end
  /* verilator lint_on BLKSEQ */

`include "ubl_assert.svh"
  `UBL_ASSERT(CreditOverflow, !fault_q[0])
  `UBL_ASSERT(CreditUnderflow, !fault_q[1])
  `UBL_ASSERT(QueueUnderflow, !fault_q[2])
  `UBL_ASSERT(PortsFree, !fault_q[3])
  `UBL_COVER(CreditError, credit_err_o != '0)

endmodule
