// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Receive half of nic_port: RoCEv2 frames in, checked headers and placed payload out.
//
// Store-and-forward: a frame is checked completely (flit sequence, FCS, ICRC, every header field
// that has one right value) before its header is shown on rxh and before any payload leaves.
// Payload of good requests waits in one buffer per channel (req, bulk) for its verdict; verdicts
// come in rxh order and are carried out in that order by the placement engine. Acknowledgements and
// broken frames never enter a buffer.
//
// When the sink is not ready: headers wait in one queue per virtual channel, deep enough for
// whatever the credits allow; rsp is served first and is held by nothing but rxh_ready_i. Payload
// waits in the buffers; credits are withheld until flits leave, so the link is never stopped in
// any other way. Every flit received returns exactly one credit, whatever is wrong with it.
//
// See also: nic_port.md for the shifted domain and the pipeline.

`include "ubl_assert.svh"

module nic_port_rx #(
  /// Flits buffered per virtual channel (power of two).
  parameter int unsigned VcDepth      = ubl_pkg::LinkVcDepth,
  /// Headers queued per virtual channel (power of two, not below VcDepth).
  parameter int unsigned RxhDepth     = ubl_pkg::LinkVcDepth,
  /// Request headers shown on rxh and not yet taken by the placement engine (power of two).
  parameter int unsigned PendDepth    = 32,
  /// Verdicts queued (power of two).
  parameter int unsigned VerdictDepth = 16,
  /// Placed packets whose rxd is not yet out (power of two).
  parameter int unsigned DoneDepth    = 64
) (
  /// Clock.
  input  logic                   clk_i,
  /// Asynchronous reset, active low.
  input  logic                   rst_ni,
  /// Own node number.
  input  logic [15:0]            node_i,
  /// Own plane.
  input  logic [2:0]             plane_i,
  /// Flits from the link.
  input  ubl_pkg::flit_t         rx_flit_i,
  /// One flit credit returned, per virtual channel.
  output logic [2:0]             rx_credit_o,
  /// A header is present.
  output logic                   rxh_valid_o,
  /// Header.
  output ubl_pkg::rxh_t          rxh_o,
  /// Header taken.
  input  logic                   rxh_ready_i,
  /// A verdict is present.
  input  logic                   rxv_valid_i,
  /// Verdict on the oldest request header without one.
  input  ubl_pkg::rxv_t          rxv_i,
  /// Verdict taken.
  output logic                   rxv_ready_o,
  /// A payload is placed.
  output logic                   rxd_valid_o,
  /// Its report.
  output ubl_pkg::rxd_t          rxd_o,
  /// Report taken.
  input  logic                   rxd_ready_i,
  /// Operand read request of a REDUCE.
  output logic                   rrq_valid_o,
  /// Its address and length.
  output ubl_pkg::mem_req_t      rrq_o,
  /// Request taken.
  input  logic                   rrq_ready_i,
  /// Operand beat.
  input  logic                   rrd_valid_i,
  /// Its data.
  input  ubl_pkg::mem_rdata_t    rrd_i,
  /// Beat taken.
  output logic                   rrd_ready_o,
  /// Write request.
  output logic                   wrq_valid_o,
  /// Its address and length.
  output ubl_pkg::mem_req_t      wrq_o,
  /// Request taken.
  input  logic                   wrq_ready_i,
  /// Write beat; byte 0 of the first one goes to wrq_o.addr, bytes beyond wrq_o.len are arbitrary.
  output logic                   wrd_valid_o,
  /// Its data.
  output logic [511:0]           wrd_o,
  /// Beat taken.
  input  logic                   wrd_ready_i,
  /// A write request has been carried out, in request order.
  input  logic                   wrs_valid_i,
  /// It was refused.
  input  logic                   wrs_err_i,
  /// No register changes while no input is active.
  output logic                   idle_o
);

  localparam int unsigned NumVc     = ubl_pkg::LinkNumVc;
  localparam logic [2:0]  OffResponse = 3'd7;  // payload of a READ response: one word before 16
  localparam int unsigned BufW      = $clog2(VcDepth);
  localparam int unsigned HdrW      = $clog2(RxhDepth);
  localparam int unsigned PendW     = $clog2(PendDepth);
  localparam int unsigned VerdictW  = $clog2(VerdictDepth);
  localparam int unsigned DoneW     = $clog2(DoneDepth);
  localparam int unsigned VerdictBits = 129;
  localparam int unsigned CountW    = $clog2(VcDepth) + 2;
  localparam int unsigned MaxFlits  = ubl_pkg::LinkMaxFrameFlits;
  localparam int unsigned SackBits  = 8 * ubl_pkg::LinkSackhBytes;
  localparam logic [11:0] AckIcrcWord = 12'd28;      // behind AETH and SACKH
  localparam logic [31:0] Residue   = 32'hDEBB_20E3;  // ICRC state behind a right ICRC

  // ---------------------------------------------------------------------------------------------
  // Stage A: into the shifted domain
  // ---------------------------------------------------------------------------------------------
  logic         a_valid_q, a_sop_q, a_eop_q;
  logic [1:0]   a_vc_q;
  logic [5:0]   a_empty_q;
  logic [511:0] a_q;
  logic [15:0]  a_carry_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      a_valid_q <= 1'b0;
      a_sop_q   <= 1'b0;
      a_eop_q   <= 1'b0;
      a_vc_q    <= '0;
      a_empty_q <= '0;
      a_q       <= '0;
      a_carry_q <= '0;
    end else begin
      a_valid_q <= rx_flit_i.valid && 32'(rx_flit_i.vc) < NumVc;
      if (rx_flit_i.valid) begin
        a_sop_q   <= rx_flit_i.sop;
        a_eop_q   <= rx_flit_i.eop;
        a_vc_q    <= rx_flit_i.vc;
        a_empty_q <= rx_flit_i.empty;
        a_q       <= {rx_flit_i.data[495:0], rx_flit_i.sop ? 16'd0 : a_carry_q};
        a_carry_q <= rx_flit_i.data[511:496];
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage B: frame tracking, buffer write, CRCs, header capture
  // ---------------------------------------------------------------------------------------------
  logic                         in_frame_q, bad_q;
  logic [1:0]                   vc_q;
  logic [6:0]                   k_q, held_q;       // flits so far; of these, credits kept back
  logic                         b_start, b_abort, b_over, b_long, b_keep, b_bad, b_store, b_ch;
  logic [6:0]                   b_k, b_held;
  logic [NumVc-1:0][CountW-1:0] occupied_q;        // flits received, credit not yet returned
  logic [1:0][BufW-1:0]         buf_base_q;        // [0] req, [1] bulk: where the frame's data goes
  logic [511:0]                 buf_mem [2*VcDepth];
  logic [BufW-1:0]              b_index;
  logic [511:0]                 head0_q;           // first word of the frame
  logic [383:0]                 head1_q;           // start of the second one
  logic [31:0]                  fcs_state, icrc_state, fcs_state_q, icrc_state_q;
  logic [4:0]                   b_words;

  always_comb begin
    b_start = a_sop_q || !in_frame_q || a_vc_q != vc_q;
    b_abort = a_valid_q && b_start && in_frame_q;
    b_k     = b_start ? 7'd0 : k_q;
    b_over  = 32'(occupied_q[a_vc_q]) >= VcDepth;
    b_long  = 32'(b_k) >= MaxFlits;
    b_keep  = !b_over && !b_long;
    b_held  = (b_start ? 7'd0 : held_q) + {6'd0, b_keep};
    b_bad   = (b_start ? !a_sop_q : bad_q) || !b_keep || (!a_eop_q && a_empty_q != 6'd0);
    b_ch    = a_vc_q == ubl_pkg::VcBulk;
    b_store = a_valid_q && !b_start && b_keep && a_vc_q != ubl_pkg::VcRsp;
    b_index = buf_base_q[b_ch] + BufW'(b_k) - BufW'(1);
  end

  always_ff @(posedge clk_i) begin
    if (b_store) buf_mem[{b_ch, b_index}] <= a_q;
  end

  // All words before the FCS. Unused words are (empty - 2) / 4, see nic_port.md.
  assign b_words = !a_valid_q ? 5'd0 : (a_eop_q ? {1'b0, ~a_empty_q[5:2]} : 5'd16);

  ubl_crc32_pair u_crc (
    .first_i  (b_start),
    .data_i   (a_q),
    .nwords_i (b_words),
    .fcs_i    (fcs_state_q),
    .icrc_i   (icrc_state_q),
    .fcs_o    (fcs_state),
    .icrc_o   (icrc_state)
  );

  logic        c_end_q, c_abort_q, c_bad_q;
  logic [1:0]  c_vc_q, c_abort_vc_q;
  logic [6:0]  c_k_q, c_held_q, c_abort_held_q;
  logic [5:0]  c_empty_q;
  logic [31:0] c_fcs_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_frame_q     <= 1'b0;
      bad_q          <= 1'b0;
      vc_q           <= '0;
      k_q            <= '0;
      held_q         <= '0;
      head0_q        <= '0;
      head1_q        <= '0;
      fcs_state_q    <= '0;
      icrc_state_q   <= '0;
      c_end_q        <= 1'b0;
      c_abort_q      <= 1'b0;
      c_bad_q        <= 1'b0;
      c_vc_q         <= '0;
      c_k_q          <= '0;
      c_held_q       <= '0;
      c_empty_q      <= '0;
      c_fcs_q        <= '0;
      c_abort_vc_q   <= '0;
      c_abort_held_q <= '0;
    end else begin
      c_end_q   <= a_valid_q && a_eop_q;
      c_abort_q <= b_abort;
      if (b_abort) begin
        c_abort_vc_q   <= vc_q;
        c_abort_held_q <= held_q;
      end
      if (a_valid_q) begin
        in_frame_q <= !a_eop_q;
        fcs_state_q  <= fcs_state;
        icrc_state_q <= icrc_state;
        bad_q      <= b_bad;
        vc_q       <= a_vc_q;
        k_q        <= b_long ? b_k : b_k + 7'd1;
        held_q     <= b_held;
        if (b_k == 7'd0) head0_q <= a_q;
        if (b_k == 7'd1) head1_q <= a_q[383:0];
        if (a_eop_q) begin
          c_bad_q   <= b_bad;
          c_vc_q    <= a_vc_q;
          c_k_q     <= b_k;
          c_held_q  <= b_held;
          c_empty_q <= a_empty_q;
          c_fcs_q   <= a_q[{~a_empty_q[5:2], 5'd0} +: 32];
        end
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage C: is the frame right?
  // ---------------------------------------------------------------------------------------------
  logic           op_ack, op_red, op_imm, op_rrq, op_rrs, op_snd, op_sni, op_atm, op_ars, op_known, odd_length, malformed;
  logic           misrouted, c_request;
  logic [2:0]     off;
  logic [11:0]    icrc_word;                // word of the ICRC, counted from the start
  logic [11:0]    payload_words;
  logic [15:0]    ip_length;
  logic [19:0]    ip_sum;
  logic [1:0]     pad;
  ubl_pkg::rxh_t  c_rxh;
  logic [31:0]    reth_length, w_redh, w_imm, w_ext0, w_ext1, w_ext2, w_ext3;
  logic [7:0]     c_err;

  function automatic logic [15:0] swap16(logic [15:0] v);
    swap16 = {v[7:0], v[15:8]};
  endfunction

  function automatic logic [31:0] swap32(logic [31:0] v);
    swap32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
  endfunction

  // Byte n of the shifted frame is head0_q[8n+7:8n].
  always_comb begin
    {op_ack, op_red, op_imm, op_rrq, op_rrs, op_snd, op_sni, op_atm, op_ars, op_known} = '0;
    {odd_length, malformed} = '0;
    {misrouted, c_request} = '0;
    {off, icrc_word, payload_words, ip_length, ip_sum, pad} = '0;
    {reth_length, w_redh, w_imm, w_ext0, w_ext1, w_ext2, w_ext3} = '0;
    c_err = '0;
    c_rxh = '0;
    if (c_end_q) begin
      op_ack    = head0_q[359:352] == ubl_pkg::PktOpAck;
      op_red    = head0_q[359:352] == ubl_pkg::PktOpReduce
                  || head0_q[359:352] == ubl_pkg::PktOpReduceImm;
      op_imm    = head0_q[359:352] == ubl_pkg::PktOpWriteImm
                  || head0_q[359:352] == ubl_pkg::PktOpReduceImm;
      op_rrq    = head0_q[359:352] == ubl_pkg::PktOpReadRequest;
      op_ars    = head0_q[359:352] == ubl_pkg::PktOpAtomicResponse;
      op_rrs    = op_ars || head0_q[359:352] == ubl_pkg::PktOpReadResponse;
      op_atm    = head0_q[359:352] == ubl_pkg::PktOpFetchAdd
                  || head0_q[359:352] == ubl_pkg::PktOpCompareSwap;
      op_snd    = head0_q[359:352] == ubl_pkg::PktOpSend;
      op_sni    = head0_q[359:352] == ubl_pkg::PktOpSendImm;
      op_known  = op_ack || op_red || op_imm || op_rrq || op_rrs || op_snd || op_sni || op_atm
                  || head0_q[359:352] == ubl_pkg::PktOpWrite;
      // The operands of an atomic are its payload.
      off       = op_rrs ? OffResponse
                         : 3'd2 + {2'd0, op_red} + {2'd0, op_imm} - {2'd0, op_snd | op_atm};
      // The frame ends 2 bytes (modulo 4) before a flit does, see nic_port.md.
      odd_length    = c_empty_q[1:0] != 2'd2 || c_k_q == 7'd0;
      icrc_word     = {1'b0, c_k_q, 4'd14} - {8'd0, c_empty_q[5:2]};
      payload_words = icrc_word - (op_rrs ? 12'd15 : 12'd16 + {9'd0, off});
      ip_length     = {2'd0, icrc_word, 2'd0} - 16'd12;
      ip_sum        = '0;
      for (int unsigned w = 8; w < 18; w++) ip_sum = ip_sum + {4'd0, head0_q[16*w +: 16]};
      ip_sum        = {4'd0, ip_sum[15:0]} + {16'd0, ip_sum[19:16]};
      ip_sum        = {4'd0, ip_sum[15:0]} + {16'd0, ip_sum[19:16]};
      pad           = head0_q[365:364];
      // Words behind the BTH.
      w_ext0        = swap32(head0_q[479:448]);
      w_ext1        = swap32(head0_q[511:480]);
      w_ext2        = swap32(head1_q[31:0]);
      w_ext3        = swap32(head1_q[63:32]);
      // Responses, SENDs and atomics do not name the length of their payload.
      reth_length   = (op_rrs || op_snd || op_sni || op_atm) ? {18'd0, payload_words, 2'd0} - {30'd0, pad}
                                                   : w_ext3;
      w_redh        = swap32(head1_q[95:64]);
      w_imm         = swap32(op_red ? head1_q[127:96] : head1_q[95:64]);

      malformed = !op_known
          || head0_q[127:112] != swap16(ubl_pkg::LinkEtherTypeIpv4)
          || head0_q[135:128] != 8'h45
          || swap16(head0_q[159:144]) != ip_length
          || head0_q[207:200] != ubl_pkg::LinkIpProtocolUdp
          || ip_sum[15:0] != 16'hFFFF
          || swap16(head0_q[319:304]) != ubl_pkg::LinkUdpPortRoce
          || swap16(head0_q[335:320]) != ip_length - 16'd20
          || head0_q[363:360] != 4'd0;
      if (op_ack) begin
        malformed = malformed || icrc_word != AckIcrcWord || pad != 2'd0
            || c_vc_q != ubl_pkg::VcRsp;
      end else begin
        malformed = malformed || c_vc_q == ubl_pkg::VcRsp
            || payload_words[11] || payload_words > 12'd1024
            || reth_length[31:13] != '0
            || (payload_words == 12'd0 && pad != 2'd0);
        if (op_rrq) begin
          malformed = malformed || payload_words != 12'd0
              || reth_length[12:0] > 13'(ubl_pkg::LinkMtu);
        end else begin
          malformed = malformed
              || {1'b0, reth_length[12:0]} + {12'd0, pad} != {payload_words[11:0], 2'd0};
        end
        if (op_red) begin
          malformed = malformed || reth_length[0]
              || (reth_length[1] && (w_redh[27:24] == ubl_pkg::RedTypeF32
                                     || w_redh[27:24] == ubl_pkg::RedTypeI32))
              || w_redh[31:28] > ubl_pkg::RedOpMax || w_redh[27:24] > ubl_pkg::RedTypeI32;
        end
        if (op_atm) malformed = malformed || reth_length[12:0] != 13'd16;
        if (op_ars) malformed = malformed || reth_length[12:0] != 13'd8;
      end
      misrouted = head0_q[63:16] != {swap16(node_i), 5'd0, plane_i, 8'd0,
                                     swap16(ubl_pkg::LinkMacPrefix)}
          || head0_q[287:256] != {swap16(node_i), 5'd0, plane_i, ubl_pkg::LinkIpNet}
          || head0_q[239:224] != {5'd0, plane_i, ubl_pkg::LinkIpNet};

      if (c_bad_q)                                                 c_err = ubl_pkg::ErrCauseFraming;
      else if (odd_length)                                         c_err = ubl_pkg::ErrCauseMalformed;
      else if (fcs_state_q != ~c_fcs_q)                            c_err = ubl_pkg::ErrCauseFcs;
      else if (icrc_state_q != Residue)                            c_err = ubl_pkg::ErrCauseIcrc;
      else if (malformed)                                          c_err = ubl_pkg::ErrCauseMalformed;
      else if (misrouted)                                          c_err = ubl_pkg::ErrCauseMisrouted;
      c_request = c_err == ubl_pkg::ErrCauseNone && !op_ack && !op_rrq;

      c_rxh.err       = c_err;
      c_rxh.opcode    = head0_q[359:352];
      c_rxh.vc        = c_vc_q;
      c_rxh.src_node  = swap16(head0_q[255:240]);
      c_rxh.dst_qpn   = {head0_q[399:392], head0_q[407:400], head0_q[415:408]};
      c_rxh.psn       = {head0_q[431:424], head0_q[439:432], head0_q[447:440]};
      c_rxh.ack_req   = head0_q[423];
      c_rxh.rnum      = head0_q[422:416];
      c_rxh.becn      = head0_q[390];
      c_rxh.ce        = head0_q[137:136] == ubl_pkg::EcnCe;
      if (op_ack || op_rrs) begin
        c_rxh.syndrome = head0_q[455:448];
        c_rxh.msn      = {head0_q[463:456], head0_q[471:464], head0_q[479:472]};
      end
      if (op_ack) c_rxh.sack = {head1_q, head0_q[511:480]};
      if (op_rrs) c_rxh.len = reth_length[12:0];
      if (!op_ack && !op_rrs) begin
        c_rxh.raddr     = op_sni ? {w_ext1, w_ext2} : {w_ext0, w_ext1};
        c_rxh.rkey      = op_sni ? w_ext3 : w_ext2;
        c_rxh.len       = reth_length[12:0];
        c_rxh.red_op    = op_red ? w_redh[31:28] : 4'd0;
        c_rxh.red_dtype = op_red ? w_redh[27:24] : 4'd0;
        c_rxh.red_ordered = op_red & w_redh[16];
        c_rxh.imm       = op_imm ? w_imm : (op_sni ? w_ext0 : 32'd0);
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Header queues
  // ---------------------------------------------------------------------------------------------
  // An entry is a header with what the placement engine must know. At most one frame ends a cycle,
  // except that a flit may break off one frame and be a whole one itself; that frame, which is
  // never right, is reported late (late_q), as is a frame that finds its queue full, which happens
  // only if the sender ignores credits.
  // SACKH, the last field, comes with acknowledgements only, so only queue rsp keeps it.
  localparam int unsigned EntryBits = 32 + ubl_pkg::RxhBits - SackBits + 1 + 3 + 7;

  logic [EntryBits-1:0]      hdr_mem [NumVc*RxhDepth];
  logic [SackBits-1:0]       sack_mem [RxhDepth];
  logic [ubl_pkg::RxhBits-SackBits-1:0] pop_head;
  logic [NumVc-1:0][HdrW:0]  hdr_write_q, hdr_read_q;
  logic [NumVc-1:0]          hdr_full, hdr_empty, late_q, late_set, late_push, pop_ok;
  logic                      push, push_full, pop, pop_request;
  logic [1:0]                push_vc, late_vc, pop_vc;
  logic [EntryBits-1:0]      push_entry, pop_entry;
  logic [6:0]                push_held, pop_held;
  logic [2:0]                pop_off;
  logic [31:0]               pop_first;
  logic [NumVc-1:0][6:0]     late_credit;
  ubl_pkg::rxh_t             abort_rxh, pop_rxh, rxh_q;
  logic                      rxh_valid_q, pend_full;

  always_comb begin
    for (int unsigned v = 0; v < NumVc; v++) begin
      hdr_full[v]  = (HdrW+1)'(hdr_write_q[v] - hdr_read_q[v]) == (HdrW+1)'(RxhDepth);
      hdr_empty[v] = hdr_write_q[v] == hdr_read_q[v];
    end
  end

  always_comb begin
    abort_rxh     = '0;
    abort_rxh.err = ubl_pkg::ErrCauseFraming;
    push          = 1'b0;
    push_vc       = c_vc_q;
    push_held     = c_held_q;
    push_entry    = {head0_q[511:480], c_rxh[ubl_pkg::RxhBits-1:SackBits], c_request, off, c_held_q};
    late_set      = '0;
    late_push     = '0;
    late_credit   = '0;
    late_vc       = 2'd0;
    if (c_abort_q) begin
      push         = 1'b1;
      push_vc      = c_abort_vc_q;
      push_held    = c_abort_held_q;
      abort_rxh.vc = c_abort_vc_q;
      push_entry   = {32'd0, abort_rxh[ubl_pkg::RxhBits-1:SackBits], 1'b0, 3'd0, c_abort_held_q};
      if (c_end_q) begin
        late_set[c_vc_q]    = 1'b1;
        late_credit[c_vc_q] = c_held_q;
      end
    end else if (c_end_q) begin
      push = 1'b1;
    end else if (|(late_q & hdr_empty)) begin
      push         = 1'b1;
      late_vc      = (late_q[0] && hdr_empty[0]) ? 2'd0 : ((late_q[1] && hdr_empty[1]) ? 2'd1 : 2'd2);
      late_push[late_vc] = 1'b1;
      push_vc      = late_vc;
      push_held    = 7'd0;
      abort_rxh.vc = late_vc;
      push_entry   = {32'd0, abort_rxh[ubl_pkg::RxhBits-1:SackBits], 1'b0, 3'd0, 7'd0};
    end
    push_full = push && (hdr_full[push_vc] || (push_held == 7'd0 && late_push == '0));
    if (push_full) begin
      late_set[push_vc]    = 1'b1;
      late_credit[push_vc] = late_credit[push_vc] + push_held;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push && !push_full) hdr_mem[{push_vc, hdr_write_q[push_vc][HdrW-1:0]}] <= push_entry;
    if (push && !push_full && push_vc == ubl_pkg::VcRsp) begin
      sack_mem[hdr_write_q[ubl_pkg::VcRsp][HdrW-1:0]] <= c_rxh.sack;
    end
  end

  always_comb begin
    for (int unsigned v = 0; v < NumVc; v++) begin
      pop_ok[v] = !hdr_empty[v] && (v == 32'(ubl_pkg::VcRsp) || !pend_full);
    end
    pop_vc = ubl_pkg::VcBulk;
    if (pop_ok[ubl_pkg::VcReq]) pop_vc = ubl_pkg::VcReq;
    if (pop_ok[ubl_pkg::VcRsp]) pop_vc = ubl_pkg::VcRsp;
    pop       = pop_ok != '0 && !rxh_valid_q;
    pop_entry = '0;
    if (pop) pop_entry = hdr_mem[{pop_vc, hdr_read_q[pop_vc][HdrW-1:0]}];
    {pop_first, pop_head, pop_request, pop_off, pop_held} = pop_entry;
    pop_rxh = {pop_head, {SackBits{1'b0}}};
    if (pop && pop_vc == ubl_pkg::VcRsp) pop_rxh.sack = sack_mem[hdr_read_q[pop_vc][HdrW-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hdr_write_q <= '0;
      hdr_read_q  <= '0;
      late_q      <= '0;
      buf_base_q  <= '0;
      rxh_valid_q <= 1'b0;
      rxh_q       <= '0;
    end else begin
      if (push && !push_full) hdr_write_q[push_vc] <= hdr_write_q[push_vc] + (HdrW+1)'(1);
      late_q <= (late_q & ~late_push) | late_set;
      if (c_request && !push_full) begin
        buf_base_q[c_vc_q == ubl_pkg::VcBulk] <= buf_base_q[c_vc_q == ubl_pkg::VcBulk]
                                                 + BufW'(c_k_q);
      end
      if (pop) begin
        hdr_read_q[pop_vc] <= hdr_read_q[pop_vc] + (HdrW+1)'(1);
        rxh_valid_q        <= 1'b1;
        rxh_q              <= pop_rxh;
      end else if (rxh_ready_i) begin
        rxh_valid_q <= 1'b0;
      end
    end
  end

  assign rxh_valid_o = rxh_valid_q;
  assign rxh_o       = rxh_q;

  // ---------------------------------------------------------------------------------------------
  // Requests waiting for a verdict, verdicts, operand reads
  // ---------------------------------------------------------------------------------------------
  logic [55:0]           pend_mem [PendDepth];     // first word, channel, flits, off, len
  logic [PendW:0]        pend_write_q, pend_read_q;
  logic [VerdictBits-1:0] verdict_mem [VerdictDepth];  // swap8 op dtype rsp action qpn psn addr len
  logic [VerdictW:0]     verdict_write_q, verdict_issue_q, verdict_read_q;
  logic [VerdictBits-1:0] issue_verdict;
  logic                  issue_atomic;
  logic                  issue_read, issue_go, e_load;
  logic                  rrq_valid_q;
  ubl_pkg::mem_req_t     rrq_q;

  assign pend_full     = (PendW+1)'(pend_write_q - pend_read_q) == (PendW+1)'(PendDepth);
  assign rxv_ready_o   = (VerdictW+1)'(verdict_write_q - verdict_read_q) != (VerdictW+1)'(VerdictDepth);
  assign issue_verdict = verdict_mem[verdict_issue_q[VerdictW-1:0]];
  assign issue_atomic  = issue_verdict[118:117] == ubl_pkg::RxActionAtomic;
  assign issue_read    = (issue_verdict[118:117] == ubl_pkg::RxActionReduce || issue_atomic)
                         && issue_verdict[12:0] != 13'd0;
  assign issue_go      = verdict_issue_q != verdict_write_q && (!issue_read || !rrq_valid_q);

  always_ff @(posedge clk_i) begin
    if (pop && pop_request) begin
      pend_mem[pend_write_q[PendW-1:0]] <=
          {pop_first, pop_rxh.vc == ubl_pkg::VcBulk, pop_held, pop_off, pop_rxh.len};
    end
    if (rxv_valid_i && rxv_ready_o) begin
      verdict_mem[verdict_write_q[VerdictW-1:0]] <=
          {rxv_i.swap8, rxv_i.red_op, rxv_i.red_dtype, rxv_i.rsp, rxv_i.action, rxv_i.qpn, rxv_i.psn,
           rxv_i.addr, rxv_i.len};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pend_write_q    <= '0;
      pend_read_q     <= '0;
      verdict_write_q <= '0;
      verdict_issue_q <= '0;
      verdict_read_q  <= '0;
      rrq_valid_q     <= 1'b0;
      rrq_q           <= '0;
    end else begin
      if (pop && pop_request)         pend_write_q    <= pend_write_q + (PendW+1)'(1);
      if (e_load)                     pend_read_q     <= pend_read_q + (PendW+1)'(1);
      if (rxv_valid_i && rxv_ready_o) verdict_write_q <= verdict_write_q + (VerdictW+1)'(1);
      if (issue_go)                   verdict_issue_q <= verdict_issue_q + (VerdictW+1)'(1);
      if (e_load)                     verdict_read_q  <= verdict_read_q + (VerdictW+1)'(1);
      if (issue_go && issue_read) begin
        rrq_valid_q <= 1'b1;
        rrq_q       <= {issue_verdict[76:13], issue_atomic ? 13'd8 : issue_verdict[12:0]};
      end else if (rrq_ready_i) begin
        rrq_valid_q <= 1'b0;
      end
    end
  end

  assign rrq_valid_o = rrq_valid_q;
  assign rrq_o       = rrq_q;

  // Operand beats: two entries.
  logic [511:0] rrd_mem [2];
  logic [1:0]   rrd_err_q, rrd_count_q;
  logic         rrd_write_q, rrd_read_q, rrd_take, rrd_push;

  assign rrd_ready_o = rrd_count_q != 2'd2;
  assign rrd_push    = rrd_valid_i && rrd_ready_o;

  always_ff @(posedge clk_i) begin
    if (rrd_push) rrd_mem[rrd_write_q] <= rrd_i.data;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rrd_err_q   <= '0;
      rrd_count_q <= '0;
      rrd_write_q <= 1'b0;
      rrd_read_q  <= 1'b0;
    end else begin
      if (rrd_push) begin
        rrd_err_q[rrd_write_q] <= rrd_i.err;
        rrd_write_q            <= !rrd_write_q;
      end
      if (rrd_take) rrd_read_q <= !rrd_read_q;
      rrd_count_q <= rrd_count_q + {1'b0, rrd_push} - {1'b0, rrd_take};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Placement engine: beats + 1 steps a packet. Step j fetches data word j + 1 of the frame and
  // emits beat j - 1.
  // ---------------------------------------------------------------------------------------------
  logic                   e_valid_q, e_ch_q, e_reduce_q, e_drop_q, e_err_q, e_rsp_q, e_early;
  logic                   e_atomic_q, e_cas_q, e_swap_q;
  logic [3:0]             e_op_q, e_dtype_q;      // red_op, red_type
  logic [63:0]            e_old, e_num, e_cmp, e_new;
  logic [6:0]             e_flits_q, e_beats_q, e_j_q;
  logic [2:0]             e_off_q;
  logic [12:0]            e_len_q;
  logic [63:0]            e_addr_q;
  logic [15:0]            e_qpn_q;
  logic [23:0]            e_psn_q;
  logic [31:0]            e_first_q;              // word 15 of the first word of the frame
  logic [479:0]           e_prev_q;               // words 1..15 of the word fetched before
  logic [1:0][BufW-1:0]   buf_read_q;
  logic [BufW-1:0]        e_index;
  logic [511:0]           e_word, e_beat, e_sum;
  logic                   e_step, e_last, e_emit, e_bad, e_add, wrd_push, wrq_load, done_push;
  logic [6:0]             e_credit;
  logic [12:0]            load_len;
  logic [1:0]             load_action;
  logic                   wrq_valid_q, done_full;
  ubl_pkg::mem_req_t      wrq_q;
  logic [1:0]             wrd_count_q;
  logic                   wrd_write_q, wrd_read_q, wrd_pop;
  logic [511:0]           wrd_mem [2];
  logic [55:0]            load_pend;
  logic [VerdictBits-1:0] load_verdict;

  always_comb begin
    load_pend    = pend_mem[pend_read_q[PendW-1:0]];
    load_verdict = verdict_mem[verdict_read_q[VerdictW-1:0]];
    load_len     = load_pend[12:0];
    load_action  = load_verdict[118:117];
  end

  always_comb begin
    e_emit = e_valid_q && e_j_q != 7'd0;
    e_last = e_j_q == e_beats_q;
    e_bad  = e_err_q || (e_reduce_q && rrd_err_q[rrd_read_q]);
    e_step = e_valid_q;
    if (e_emit) begin
      if (wrd_count_q == 2'd2)                   e_step = 1'b0;
      if (e_reduce_q && rrd_count_q == 2'd0)     e_step = 1'b0;
      if (e_j_q == 7'd1 && wrq_valid_q)          e_step = 1'b0;
    end
    if (e_last && done_full)                     e_step = 1'b0;
    e_load    = verdict_read_q != verdict_issue_q && (!e_valid_q || (e_step && e_last));
    rrd_take  = e_step && e_emit && e_reduce_q;
    e_add     = rrd_take && !e_bad && !e_atomic_q;
    wrd_push  = e_step && e_emit && !e_bad;
    wrq_load  = wrd_push && e_j_q == 7'd1;
    // Nobody waits for the report of a READ response that is dropped.
    done_push = e_step && e_last && !(e_drop_q && e_rsp_q);
    // One credit a step, and with the last step whatever is left of the frame.
    e_credit  = e_drop_q ? e_flits_q : (e_last ? e_flits_q - e_beats_q : 7'd1);
    // The payload of a READ response begins one word of 64 bytes earlier.
    e_early   = e_off_q == OffResponse;
    e_index   = buf_read_q[e_ch_q] + BufW'(e_j_q) - BufW'(e_early);
  end

  always_comb begin
    e_word = '0;
    e_beat = '0;
    if (e_step) begin
      e_word = buf_mem[{e_ch_q, e_index}];
      case (e_off_q)
        3'd1:    e_beat = {e_word[31:0], e_prev_q};
        3'd2:    e_beat = {e_word[63:0], e_prev_q[479:32]};
        3'd3:    e_beat = {e_word[95:0], e_prev_q[479:64]};
        3'd4:    e_beat = {e_word[127:0], e_prev_q[479:96]};
        default: e_beat = {e_word[479:0], e_prev_q[479:448]};
      endcase
    end
  end

  ubl_reduce u_reduce (
    .lane_i  ({32{e_add}}),                  // what is beyond the length is not written
    .op_i    (e_op_q),
    .dtype_i (e_dtype_q),
    .a_i     (rrd_mem[rrd_read_q]),
    .b_i     (e_beat),
    .sum_o   (e_sum)
  );

  // An atomic: the operands come most significant byte first, as does the answer to an own one.
  function automatic logic [63:0] swap64(logic [63:0] v);
    swap64 = {swap32(v[31:0]), swap32(v[63:32])};
  endfunction
  assign e_old = rrd_mem[rrd_read_q][63:0];
  assign e_num = swap64(e_beat[63:0]);
  assign e_cmp = swap64(e_beat[127:64]);
  assign e_new = e_cas_q ? ((e_old == e_cmp) ? e_num : e_old) : e_old + e_num;

  always_ff @(posedge clk_i) begin
    if (wrd_push) begin
      wrd_mem[wrd_write_q] <= e_atomic_q ? {448'd0, e_new}
                                         : (e_swap_q ? {448'd0, e_num} : (e_reduce_q ? e_sum : e_beat));
    end
  end

  assign wrd_pop = wrd_count_q != 2'd0 && wrd_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      e_valid_q   <= 1'b0;
      e_ch_q      <= 1'b0;
      e_reduce_q  <= 1'b0;
      e_atomic_q  <= 1'b0;
      e_cas_q     <= 1'b0;
      e_op_q      <= '0;
      e_dtype_q   <= '0;
      e_swap_q    <= 1'b0;
      e_drop_q    <= 1'b0;
      e_err_q     <= 1'b0;
      e_flits_q   <= '0;
      e_beats_q   <= '0;
      e_j_q       <= '0;
      e_off_q     <= '0;
      e_len_q     <= '0;
      e_addr_q    <= '0;
      e_qpn_q     <= '0;
      e_psn_q     <= '0;
      e_rsp_q     <= 1'b0;
      e_first_q   <= '0;
      e_prev_q    <= '0;
      buf_read_q  <= '0;
      wrq_valid_q <= 1'b0;
      wrq_q       <= '0;
      wrd_count_q <= '0;
      wrd_write_q <= 1'b0;
      wrd_read_q  <= 1'b0;
    end else begin
      if (e_load) begin
        e_valid_q  <= 1'b1;
        e_j_q      <= '0;
        e_err_q    <= 1'b0;
        e_first_q  <= load_pend[55:24];
        e_rsp_q    <= load_verdict[119];
        e_ch_q     <= load_pend[23];
        e_flits_q  <= load_pend[22:16];
        e_off_q    <= load_pend[15:13];
        e_atomic_q <= load_action == ubl_pkg::RxActionAtomic;
        e_len_q    <= (load_action == ubl_pkg::RxActionAtomic) ? 13'd8 : load_len;
        e_reduce_q <= load_action == ubl_pkg::RxActionReduce || load_action == ubl_pkg::RxActionAtomic;
        e_cas_q    <= load_verdict[120];
        e_op_q     <= load_verdict[127:124];
        e_dtype_q  <= load_verdict[123:120];
        e_swap_q   <= load_verdict[128];
        e_drop_q   <= load_action == ubl_pkg::RxActionDrop;
        e_beats_q  <= load_action == ubl_pkg::RxActionDrop ? 7'd0 : 7'((load_len + 13'd63) >> 6);
        e_qpn_q    <= load_verdict[116:101];
        e_psn_q    <= load_verdict[100:77];
        e_addr_q   <= load_verdict[76:13];
      end else if (e_step) begin
        e_valid_q <= !e_last;
        e_j_q     <= e_j_q + 7'd1;
        if (e_emit) e_err_q <= e_bad;
      end
      if (e_step) begin
        e_prev_q <= (e_early && e_j_q == 7'd0) ? {e_first_q, 448'd0} : e_word[511:32];
        if (e_last) buf_read_q[e_ch_q] <= buf_read_q[e_ch_q]
                                                + BufW'(e_flits_q) - BufW'(1);
      end
      if (wrq_load) begin
        wrq_valid_q <= 1'b1;
        wrq_q       <= {e_addr_q, e_len_q};
      end else if (wrq_ready_i) begin
        wrq_valid_q <= 1'b0;
      end
      if (wrd_push) wrd_write_q <= !wrd_write_q;
      if (wrd_pop)  wrd_read_q  <= !wrd_read_q;
      wrd_count_q <= wrd_count_q + {1'b0, wrd_push} - {1'b0, wrd_pop};
    end
  end

  assign wrq_valid_o = wrq_valid_q;
  assign wrq_o       = wrq_q;
  assign wrd_valid_o = wrd_count_q != 2'd0;
  assign wrd_o       = wrd_mem[wrd_read_q];

  // ---------------------------------------------------------------------------------------------
  // Reports in verdict order
  // ---------------------------------------------------------------------------------------------
  logic [42:0]          done_mem [DoneDepth];      // waits for a write response, rsp, qpn, psn, err
  logic [63:0]          old_mem [DoneDepth];       // atomic: value before
  logic [DoneW:0]       done_write_q, done_read_q;
  logic [DoneDepth-1:0] response_err_q;
  logic [DoneW:0]       response_write_q, response_read_q;
  logic [42:0]          done_head;
  logic                 done_go, rxd_valid_q;
  ubl_pkg::rxd_t        rxd_q;

  assign done_full = (DoneW+1)'(done_write_q - done_read_q) == (DoneW+1)'(DoneDepth);
  assign done_head = done_mem[done_read_q[DoneW-1:0]];
  assign done_go   = done_write_q != done_read_q && !rxd_valid_q
                     && (!done_head[42] || response_write_q != response_read_q);

  always_ff @(posedge clk_i) begin
    if (done_push) begin
      done_mem[done_write_q[DoneW-1:0]] <=
          {e_emit && !e_bad, e_rsp_q, e_qpn_q, e_psn_q, e_emit && e_bad};
      old_mem[done_write_q[DoneW-1:0]] <= e_atomic_q ? e_old : 64'd0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_write_q     <= '0;
      done_read_q      <= '0;
      response_err_q   <= '0;
      response_write_q <= '0;
      response_read_q  <= '0;
      rxd_valid_q      <= 1'b0;
      rxd_q            <= '0;
    end else begin
      if (done_push) done_write_q <= done_write_q + (DoneW+1)'(1);
      if (wrs_valid_i) begin
        response_err_q[response_write_q[DoneW-1:0]] <= wrs_err_i;
        response_write_q <= response_write_q + (DoneW+1)'(1);
      end
      if (done_go) begin
        done_read_q <= done_read_q + (DoneW+1)'(1);
        rxd_valid_q <= 1'b1;
        rxd_q       <= {done_head[41:1], done_head[0]
                        || (done_head[42] && response_err_q[response_read_q[DoneW-1:0]]),
                        old_mem[done_read_q[DoneW-1:0]]};
        if (done_head[42]) response_read_q <= response_read_q + (DoneW+1)'(1);
      end else if (rxd_ready_i) begin
        rxd_valid_q <= 1'b0;
      end
    end
  end

  assign rxd_valid_o = rxd_valid_q;
  assign rxd_o       = rxd_q;

  // ---------------------------------------------------------------------------------------------
  // Credits
  // ---------------------------------------------------------------------------------------------
  logic [NumVc-1:0][CountW-1:0] credit_due_q, credit_due_d;
  logic [2:0]                   credit_q, credit_d;

  always_comb begin
    for (int unsigned v = 0; v < NumVc; v++) begin
      credit_d[v]     = credit_due_q[v] != '0;
      credit_due_d[v] = credit_due_q[v] - CountW'(credit_d[v]);
      if (a_valid_q && !b_keep && 32'(a_vc_q) == v) credit_due_d[v] = credit_due_d[v] + CountW'(1);
      if (late_set[v]) credit_due_d[v] = credit_due_d[v] + CountW'(late_credit[v]);
      if (pop && !pop_request && 32'(pop_vc) == v) begin
        credit_due_d[v] = credit_due_d[v] + CountW'(pop_held);
      end
      if (e_step && (e_ch_q ? v == 32'(ubl_pkg::VcBulk) : v == 32'(ubl_pkg::VcReq))) begin
        credit_due_d[v] = credit_due_d[v] + CountW'(e_credit);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credit_due_q <= '0;
      credit_q     <= '0;
      occupied_q   <= '0;
    end else begin
      credit_due_q <= credit_due_d;
      credit_q     <= credit_d;
      for (int unsigned v = 0; v < NumVc; v++) begin
        occupied_q[v] <= occupied_q[v] + CountW'(a_valid_q && 32'(a_vc_q) == v)
                         - CountW'(credit_d[v]);
      end
    end
  end

  assign rx_credit_o = credit_q;

  assign idle_o = !a_valid_q && !c_end_q && !c_abort_q && late_q == '0 && pop_ok == '0
                  && !rxh_valid_q && !issue_go && !rrq_valid_q && !e_step && !e_load
                  && !wrq_valid_q && wrd_count_q == 2'd0 && !done_go && !rxd_valid_q
                  && credit_due_q == '0 && credit_q == '0;

  // ---------------------------------------------------------------------------------------------
  // Checks
  // ---------------------------------------------------------------------------------------------
  logic unused_bits;
  assign unused_bits = ^{abort_rxh, rrd_i.last, issue_verdict[VerdictBits-1:119], issue_verdict[116:77], e_word[31:0], w_redh[23:0],
                         reth_length, ip_sum[19:16], head0_q[15:0]};

  `UBL_ASSERT_INIT(HeaderQueueHoldsAllCredits, RxhDepth >= VcDepth)
  `UBL_ASSERT(FlitVc, !rx_flit_i.valid || 32'(rx_flit_i.vc) < NumVc)
  `UBL_ASSERT(GoodFrameHasRoom, !(c_request && push_full))
  `UBL_ASSERT(VerdictHasHeader, !rxv_valid_i || (PendW+1)'(pend_write_q - pend_read_q) != '0)
  `UBL_ASSERT(VerdictLength, !(e_load && load_action != ubl_pkg::RxActionDrop)
      || load_verdict[12:0] == load_len)
  `UBL_ASSERT(VerdictAtomic, !rxv_valid_i || rxv_i.action != ubl_pkg::RxActionAtomic || rxv_i.len == 13'd16)
  `UBL_ASSERT(ResponseExpected, !wrs_valid_i
      || (DoneW+1)'(response_write_q - response_read_q) != (DoneW+1)'(DoneDepth))
  `UBL_ASSERT(CreditDue, credit_due_q[0] <= occupied_q[0] && credit_due_q[1] <= occupied_q[1]
      && credit_due_q[2] <= occupied_q[2])

  `UBL_COVER(BreakOff, c_abort_q)
  `UBL_COVER(TwoEndsInOneCycle, c_abort_q && c_end_q)
  `UBL_COVER(Overflow, a_valid_q && b_over)
  `UBL_COVER(TooLong, a_valid_q && b_long)
  `UBL_COVER(HeaderQueueFull, hdr_full != '0)
  `UBL_COVER(PendFull, pend_full)
  `UBL_COVER(AckPassesRequests, pop && pop_vc == ubl_pkg::VcRsp && pend_full)
  `UBL_COVER(EngineWaitsForOperand, e_emit && e_reduce_q && rrd_count_q == 2'd0)
  `UBL_COVER(EngineWaitsForSink, e_emit && wrd_count_q == 2'd2)
  `UBL_COVER(OperandRefused, e_step && e_emit && e_bad)
  `UBL_COVER(DoneFull, done_full)
  `UBL_COVER(AtomicSwaps, wrd_push && e_atomic_q && e_cas_q && e_old == e_cmp)
  `UBL_COVER(AtomicKeeps, wrd_push && e_atomic_q && e_cas_q && e_old != e_cmp)
  `UBL_COVER(BackToBackVerdicts, e_load && e_valid_q)

endmodule
