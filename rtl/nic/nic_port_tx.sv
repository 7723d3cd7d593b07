// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Transmit half of nic_port: packet descriptors and payload in, RoCEv2 frames out.
//
// One descriptor queue per virtual channel. Descriptors of requests are issued (payload read sent
// to memory) well before their frame starts; read data lands in one read-ahead buffer per channel,
// whose space is reserved when the read is issued, so trd_ready_o is always 1 and a channel without
// link credits never holds up another one. At each frame boundary the next frame is chosen in
// strict priority rsp > req > bulk among the channels that have a frame with link credits for all
// its flits and, unless it has no payload, its first payload beat in the buffer.
//
// When the sink is not ready: the link never stalls (credits are taken for whole frames); trq waits
// in its register; txc waits in a ring whose space is reserved when the descriptor is issued.
//
// See also: nic_port.md for the shifted domain and the pipeline.

`include "ubl_assert.svh"

module nic_port_tx #(
  /// Link credits of each virtual channel after reset.
  parameter int unsigned VcDepth    = ubl_pkg::LinkVcDepth,
  /// Descriptors of each virtual channel that may wait for issue (power of two).
  parameter int unsigned TxdDepth   = 16,
  /// Descriptors stored per virtual channel, waiting for issue or issued (power of two).
  parameter int unsigned DescDepth  = 128,
  /// Beats of each read-ahead buffer (power of two).
  parameter int unsigned BufDepth   = 256,
  /// Requests whose txc is not yet accepted (power of two).
  parameter int unsigned OrderDepth = 64
) (
  /// Clock.
  input  logic                   clk_i,
  /// Asynchronous reset, active low.
  input  logic                   rst_ni,
  /// Own node number.
  input  logic [15:0]            node_i,
  /// Own plane.
  input  logic [2:0]             plane_i,
  /// Flits to the link.
  output ubl_pkg::flit_t         tx_flit_o,
  /// One flit credit returned, per virtual channel.
  input  logic [2:0]             tx_credit_i,
  /// A descriptor is present; never more than TxdDepth uncredited ones per virtual channel.
  input  logic                   txd_valid_i,
  /// Descriptor.
  input  ubl_pkg::txd_t          txd_i,
  /// One descriptor credit returned, per virtual channel.
  output logic [2:0]             txd_credit_o,
  /// A payload read has ended.
  output logic                   txc_valid_o,
  /// Its report.
  output ubl_pkg::txc_t          txc_o,
  /// Report taken.
  input  logic                   txc_ready_i,
  /// Payload read request.
  output logic                   trq_valid_o,
  /// Its address and length.
  output ubl_pkg::mem_req_t      trq_o,
  /// Request taken.
  input  logic                   trq_ready_i,
  /// Payload beat.
  input  logic                   trd_valid_i,
  /// Its data.
  input  ubl_pkg::mem_rdata_t    trd_i,
  /// Beat taken: always 1.
  output logic                   trd_ready_o,
  /// No register changes while no input is active.
  output logic                   idle_o
);

  localparam int unsigned DescW   = $clog2(DescDepth);
  localparam int unsigned BufW    = $clog2(BufDepth);
  localparam int unsigned OrderW  = $clog2(OrderDepth);
  localparam int unsigned CreditW = $clog2(VcDepth + 1);
  localparam int unsigned Window  = DescDepth - TxdDepth;
  localparam int unsigned NumVc   = ubl_pkg::LinkNumVc;
  localparam int unsigned SackBits  = 8 * ubl_pkg::LinkSackhBytes;
  localparam int unsigned InlineBits = 8 * ubl_pkg::NicMaxInline;
  localparam int unsigned FrameBits = ubl_pkg::TxdBits - 64 - SackBits;
  localparam logic [2:0]  OffResponse = 3'd7;  // payload of a READ response: one word before 16

  localparam int unsigned Req  = 32'(ubl_pkg::VcReq);
  localparam int unsigned Rsp  = 32'(ubl_pkg::VcRsp);
  localparam int unsigned Bulk = 32'(ubl_pkg::VcBulk);

  // ---------------------------------------------------------------------------------------------
  // Descriptor queues
  // ---------------------------------------------------------------------------------------------
  // Pointers carry one more bit than the index. [send, issue) is issued, [issue, write) waits.
  // Acknowledgements (rsp) have nothing to issue.
  logic [NumVc-1:0][DescW:0] write_q, issue_q, send_q;

  // What issuing needs, what choosing needs, what building needs.
  logic [118:0]                   issue_mem [NumVc*DescDepth];  // rsp ack len laddr qpn psn
  logic [23:0]                    plan_mem  [NumVc*DescDepth];  // off icrc_word beats
  logic [FrameBits-1:0]           frame_mem [NumVc*DescDepth];  // txd without laddr and sack
  logic [SackBits-1:0]            sack_mem  [DescDepth];        // of acknowledgements
  logic [InlineBits-1:0]          inline_mem [NumVc*DescDepth];  // inline payload

  logic        in_ack, in_red, in_imm, in_rrq, in_rrs, in_snd, in_short;
  logic [InlineBits-1:0] in_inline;
  logic [2:0]  in_off;
  logic [10:0] in_icrc;
  logic [6:0]  in_beats;
  logic [12:0] in_words;

  always_comb begin
    in_ack   = txd_i.opcode == ubl_pkg::PktOpAck;
    in_red   = txd_i.opcode == ubl_pkg::PktOpReduce || txd_i.opcode == ubl_pkg::PktOpReduceImm;
    in_imm   = txd_i.opcode == ubl_pkg::PktOpWriteImm || txd_i.opcode == ubl_pkg::PktOpReduceImm
               || txd_i.opcode == ubl_pkg::PktOpSendImm;
    in_snd   = txd_i.opcode == ubl_pkg::PktOpSend || txd_i.opcode == ubl_pkg::PktOpSendImm;
    in_rrq   = txd_i.opcode == ubl_pkg::PktOpReadRequest;
    in_rrs   = txd_i.opcode == ubl_pkg::PktOpReadResponse
               || txd_i.opcode == ubl_pkg::PktOpAtomicResponse;
    // SENDH is one word shorter than RETH, and so is AtomicETH without its operands.
    in_short = in_snd || txd_i.opcode == ubl_pkg::PktOpFetchAdd
               || txd_i.opcode == ubl_pkg::PktOpCompareSwap;
    in_off   = (in_rrs || in_ack) ? OffResponse : 3'd2 + {2'd0, in_red} + {2'd0, in_imm} - {2'd0, in_short};
    in_words = in_rrq ? 13'd0 : (txd_i.len + 13'd3) >> 2;
    in_icrc  = in_ack ? 11'd28
                      : (in_rrs ? 11'd15 : 11'd16 + {8'd0, in_off}) + in_words[10:0];
    in_beats = (in_ack || in_rrq || txd_i.inl) ? 7'd0 : 7'((txd_i.len + 13'd63) >> 6);
    // Like payload from memory: zero beyond its length.
    in_inline = '0;
    for (int unsigned i = 0; i < ubl_pkg::NicMaxInline; i++) begin
      if (13'(i) < txd_i.len) in_inline[8*i +: 8] = txd_i.sack[8*i +: 8];
    end
  end

  // Index of an entry: vc * DescDepth + pointer.
  function automatic logic [DescW+1:0] entry(logic [1:0] vc, logic [DescW-1:0] index);
    entry = {vc, index};
  endfunction

  always_ff @(posedge clk_i) begin
    if (txd_valid_i) begin
      issue_mem[entry(txd_i.vc, write_q[txd_i.vc][DescW-1:0])] <=
          {in_rrs, in_ack, txd_i.len, txd_i.laddr, txd_i.src_qpn, txd_i.psn};
      plan_mem[entry(txd_i.vc, write_q[txd_i.vc][DescW-1:0])]  <= {3'd0, in_off, in_icrc, in_beats};
      frame_mem[entry(txd_i.vc, write_q[txd_i.vc][DescW-1:0])] <=
          {txd_i.opcode, txd_i.vc, txd_i.dst_node, txd_i.dst_qpn, txd_i.src_qpn, txd_i.psn,
           txd_i.ack_req, txd_i.becn, txd_i.len, txd_i.raddr, txd_i.rkey, txd_i.red_op,
           txd_i.red_dtype, txd_i.red_ordered, txd_i.imm, txd_i.syndrome, txd_i.msn, txd_i.rnum,
           txd_i.inl};
      if (in_ack) sack_mem[write_q[ubl_pkg::VcRsp][DescW-1:0]] <= txd_i.sack;
      if (txd_i.inl) inline_mem[entry(txd_i.vc, write_q[txd_i.vc][DescW-1:0])] <= in_inline;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Issue: at most one descriptor per cycle
  // ---------------------------------------------------------------------------------------------
  logic [1:0][BufW:0]  reserved_q, stored_q;       // beats; [0] req, [1] bulk
  logic [1:0]          ready_to_issue, read_wanted;
  logic [1:0][118:0]   head;
  logic [1:0][6:0]     head_beats;
  logic                order_full, issue, issue_ch, issue_read, issue_ack, trq_free;
  logic                trq_valid_q;
  ubl_pkg::mem_req_t   trq_q;
  logic [118:0]        issue_head;
  logic [6:0]          issue_beats;

  // Not a function of trq_ready_i: one read every other cycle is enough, a frame takes two or more.
  assign trq_free = !trq_valid_q;

  always_comb begin
    head[0]        = issue_mem[entry(ubl_pkg::VcReq, issue_q[Req][DescW-1:0])];
    head[1]        = issue_mem[entry(ubl_pkg::VcBulk, issue_q[Bulk][DescW-1:0])];
    head_beats[0]  = plan_mem[entry(ubl_pkg::VcReq, issue_q[Req][DescW-1:0])][6:0];
    head_beats[1]  = plan_mem[entry(ubl_pkg::VcBulk, issue_q[Bulk][DescW-1:0])][6:0];
    ready_to_issue[0] = write_q[Req] != issue_q[Req]
        && (DescW+1)'(issue_q[Req] - send_q[Req]) < (DescW+1)'(Window)
        && 32'(reserved_q[0]) + 32'(head_beats[0]) <= BufDepth && !order_full;
    ready_to_issue[1] = write_q[Bulk] != issue_q[Bulk]
        && (DescW+1)'(issue_q[Bulk] - send_q[Bulk]) < (DescW+1)'(Window)
        && 32'(reserved_q[1]) + 32'(head_beats[1]) <= BufDepth && !order_full;
    read_wanted[0] = head_beats[0] != 7'd0;
    read_wanted[1] = head_beats[1] != 7'd0;
    issue_ch    = !(ready_to_issue[0] && (trq_free || !read_wanted[0]));
    issue       = ready_to_issue[issue_ch] && (trq_free || !read_wanted[issue_ch]);
    issue_head  = head[issue_ch];
    issue_beats = head_beats[issue_ch];
    issue_ack   = issue_head[117];
    issue_read  = issue && issue_beats != 7'd0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      trq_valid_q <= 1'b0;
      trq_q       <= '0;
    end else begin
      if (issue_read) begin
        trq_valid_q <= 1'b1;
        trq_q       <= {issue_head[103:40], issue_head[116:104]};
      end else if (trq_ready_i) begin
        trq_valid_q <= 1'b0;
      end
    end
  end

  assign trq_valid_o = trq_valid_q;
  assign trq_o       = trq_q;

  // ---------------------------------------------------------------------------------------------
  // Reads in flight, and reports in issue order
  // ---------------------------------------------------------------------------------------------
  logic [40:0]           order_mem [OrderDepth];   // qpn psn rsp
  logic [OrderW:0]       order_write_q, order_read_q;
  logic [OrderDepth-1:0] order_done_q, order_err_q;
  logic [OrderW:0]       flight_mem [OrderDepth];  // channel, index of the report
  logic [OrderW:0]       flight_write_q, flight_read_q;
  logic [OrderW:0]       flight_head;
  logic                  trd_ch, order_push, txc_load, txc_valid_q;
  ubl_pkg::txc_t         txc_q;

  assign order_full  = (OrderW+1)'(order_write_q - order_read_q) == (OrderW+1)'(OrderDepth);
  assign order_push  = issue && !issue_ack;
  assign flight_head = flight_mem[flight_read_q[OrderW-1:0]];
  assign trd_ch      = flight_head[OrderW];
  assign txc_load    = order_read_q != order_write_q && order_done_q[order_read_q[OrderW-1:0]]
                       && !txc_valid_q;

  always_ff @(posedge clk_i) begin
    if (order_push) order_mem[order_write_q[OrderW-1:0]] <= {issue_head[39:0], issue_head[118]};
    if (issue_read) flight_mem[flight_write_q[OrderW-1:0]] <= {issue_ch, order_write_q[OrderW-1:0]};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      order_write_q  <= '0;
      order_read_q   <= '0;
      order_done_q   <= '0;
      order_err_q    <= '0;
      flight_write_q <= '0;
      flight_read_q  <= '0;
      txc_valid_q    <= 1'b0;
      txc_q          <= '0;
    end else begin
      if (order_push) begin
        order_write_q <= order_write_q + (OrderW+1)'(1);
        order_done_q[order_write_q[OrderW-1:0]] <= !issue_read;
        order_err_q[order_write_q[OrderW-1:0]]  <= 1'b0;
      end
      if (issue_read) flight_write_q <= flight_write_q + (OrderW+1)'(1);
      if (trd_valid_i && trd_i.last) begin
        flight_read_q <= flight_read_q + (OrderW+1)'(1);
        order_done_q[flight_head[OrderW-1:0]] <= 1'b1;
        order_err_q[flight_head[OrderW-1:0]]  <= trd_i.err;
      end
      if (txc_load) begin
        order_read_q <= order_read_q + (OrderW+1)'(1);
        txc_valid_q  <= 1'b1;
        txc_q        <= {order_mem[order_read_q[OrderW-1:0]], order_err_q[order_read_q[OrderW-1:0]]};
      end else if (txc_ready_i) begin
        txc_valid_q <= 1'b0;
      end
    end
  end

  assign txc_valid_o = txc_valid_q;
  assign txc_o       = txc_q;

  // ---------------------------------------------------------------------------------------------
  // Read-ahead buffers
  // ---------------------------------------------------------------------------------------------
  logic [511:0]        buf_mem [2*BufDepth];
  logic                err_mem [2*BufDepth];
  logic [1:0][BufW-1:0] buf_write_q, buf_read_q;
  logic                step_beat, cur_ch;

  assign trd_ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    if (trd_valid_i) begin
      buf_mem[{trd_ch, buf_write_q[trd_ch]}] <= trd_i.data;
      err_mem[{trd_ch, buf_write_q[trd_ch]}] <= trd_i.err;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      buf_write_q <= '0;
      buf_read_q  <= '0;
      reserved_q  <= '0;
      stored_q    <= '0;
    end else begin
      if (trd_valid_i) buf_write_q[trd_ch] <= buf_write_q[trd_ch] + BufW'(1);
      if (step_beat)   buf_read_q[cur_ch]  <= buf_read_q[cur_ch] + BufW'(1);
      for (int unsigned c = 0; c < 2; c++) begin
        reserved_q[c] <= reserved_q[c]
            + ((issue && issue_ch == c[0]) ? (BufW+1)'(issue_beats) : (BufW+1)'(0))
            - (BufW+1)'(step_beat && cur_ch == c[0]);
        stored_q[c] <= stored_q[c] + (BufW+1)'(trd_valid_i && trd_ch == c[0])
            - (BufW+1)'(step_beat && cur_ch == c[0]);
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Choice of the next frame
  // ---------------------------------------------------------------------------------------------
  logic [NumVc-1:0][CreditW-1:0] credit_q;
  logic [NumVc-1:0]              startable;
  logic [NumVc-1:0][23:0]        plan;
  logic [NumVc-1:0][6:0]         flits;
  logic                          cur_free, start;
  logic [1:0]                    start_vc;
  logic [6:0]                    start_flits;

  always_comb begin
    plan[Req]  = plan_mem[entry(ubl_pkg::VcReq, send_q[Req][DescW-1:0])];
    plan[Rsp]  = plan_mem[entry(ubl_pkg::VcRsp, send_q[Rsp][DescW-1:0])];
    plan[Bulk] = plan_mem[entry(ubl_pkg::VcBulk, send_q[Bulk][DescW-1:0])];
    for (int unsigned v = 0; v < NumVc; v++) flits[v] = 7'((plan[v][17:7] + 11'd17) >> 4);
    startable[Rsp]  = send_q[Rsp] != write_q[Rsp] && 32'(credit_q[Rsp]) >= 32'(flits[Rsp]);
    startable[Req]  = send_q[Req] != issue_q[Req] && 32'(credit_q[Req]) >= 32'(flits[Req])
                      && (plan[Req][6:0] == 7'd0 || stored_q[0] != '0);
    startable[Bulk] = send_q[Bulk] != issue_q[Bulk] && 32'(credit_q[Bulk]) >= 32'(flits[Bulk])
                      && (plan[Bulk][6:0] == 7'd0 || stored_q[1] != '0);
    start_vc = ubl_pkg::VcBulk;
    if (startable[Req]) start_vc = ubl_pkg::VcReq;
    if (startable[Rsp]) start_vc = ubl_pkg::VcRsp;
    start       = cur_free && startable != '0;
    start_flits = flits[start_vc];
  end

  logic [2:0] txd_credit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q      <= '0;
      issue_q      <= '0;
      send_q       <= '0;
      txd_credit_q <= '0;
      for (int unsigned v = 0; v < NumVc; v++) credit_q[v] <= CreditW'(VcDepth);
    end else begin
      if (txd_valid_i) write_q[txd_i.vc] <= write_q[txd_i.vc] + (DescW+1)'(1);
      if (issue && !issue_ch) issue_q[Req]  <= issue_q[Req] + (DescW+1)'(1);
      if (issue && issue_ch)  issue_q[Bulk] <= issue_q[Bulk] + (DescW+1)'(1);
      if (start) send_q[start_vc] <= send_q[start_vc] + (DescW+1)'(1);
      txd_credit_q[Req]  <= issue && !issue_ch;
      txd_credit_q[Bulk] <= issue && issue_ch;
      txd_credit_q[Rsp]  <= start && start_vc == ubl_pkg::VcRsp;
      for (int unsigned v = 0; v < NumVc; v++) begin
        credit_q[v] <= credit_q[v] + CreditW'(tx_credit_i[v])
            - ((start && 32'(start_vc) == v) ? CreditW'(start_flits) : CreditW'(0));
      end
    end
  end

  assign txd_credit_o = txd_credit_q;

  // ---------------------------------------------------------------------------------------------
  // Frame being built: one 64-byte word of the shifted frame per step
  // ---------------------------------------------------------------------------------------------
  logic        cur_valid_q, cur_bad_q;
  logic [6:0]  cur_k_q, cur_beats_q, cur_flits_q;
  logic [2:0]  cur_off_q;
  logic [10:0] cur_icrc_q;    // word that holds the ICRC, counted from the start of the frame
  logic [7:0]  f_opcode;
  logic [1:0]  f_vc;
  logic [15:0] f_dst_node, f_src_qpn;
  logic [23:0] f_dst_qpn, f_psn, f_msn;
  logic        f_ack_req, f_becn;
  logic [12:0] f_len;
  logic [63:0] f_raddr;
  logic [31:0] f_rkey, f_imm;
  logic [3:0]  f_red_op, f_red_dtype;
  logic [7:0]  f_syndrome;
  logic [6:0]  f_rnum;
  logic        f_red_ordered, f_inl;
  logic [FrameBits-1:0] cur_q;
  logic [SackBits-1:0]  cur_sack_q;
  logic [InlineBits-1:0] cur_inline_q;

  assign {f_opcode, f_vc, f_dst_node, f_dst_qpn, f_src_qpn, f_psn, f_ack_req, f_becn, f_len,
          f_raddr, f_rkey, f_red_op, f_red_dtype, f_red_ordered, f_imm, f_syndrome, f_msn, f_rnum, f_inl} = cur_q;
  assign cur_ch = f_vc == ubl_pkg::VcBulk;

  logic         step, need_beat, need_inline, s1_free, s1_move, s2_out;
  logic         s1_valid_q;
  logic [511:0] beat, word;
  logic [479:0] carry_q, carry_d;
  logic         is_ack, is_rrq, is_rrs, is_short, is_sni, has_red, has_imm;
  logic [10:0]  icrc_dist;       // words from the start of this word to the ICRC
  logic         icrc_behind;     // there is none

  // The payload of a READ response begins in the first word already.
  assign need_beat = is_rrs ? cur_k_q < cur_beats_q : (cur_k_q != 7'd0 && cur_k_q <= cur_beats_q);
  // Inline payload is at the place of the first beat.
  assign need_inline = f_inl && cur_k_q == (is_rrs ? 7'd0 : 7'd1);
  assign step      = cur_valid_q && s1_free && (!need_beat || stored_q[cur_ch] != '0);
  assign step_beat = step && need_beat;
  assign cur_free  = !cur_valid_q || (step && cur_k_q == cur_flits_q - 7'd1);
  assign is_ack    = f_opcode == ubl_pkg::PktOpAck;
  assign is_rrq    = f_opcode == ubl_pkg::PktOpReadRequest;
  assign is_rrs    = f_opcode == ubl_pkg::PktOpReadResponse || f_opcode == ubl_pkg::PktOpAtomicResponse;
  assign is_short  = f_opcode == ubl_pkg::PktOpSend || f_opcode == ubl_pkg::PktOpFetchAdd
                     || f_opcode == ubl_pkg::PktOpCompareSwap;
  assign is_sni    = f_opcode == ubl_pkg::PktOpSendImm;
  assign has_red   = f_opcode == ubl_pkg::PktOpReduce || f_opcode == ubl_pkg::PktOpReduceImm;
  assign has_imm   = f_opcode == ubl_pkg::PktOpWriteImm || f_opcode == ubl_pkg::PktOpReduceImm;
  assign icrc_dist   = cur_icrc_q - {cur_k_q, 4'd0};
  assign icrc_behind = cur_icrc_q <= {cur_k_q, 4'd0};

  function automatic logic [15:0] swap16(logic [15:0] v);
    swap16 = {v[7:0], v[15:8]};
  endfunction

  function automatic logic [31:0] swap32(logic [31:0] v);
    swap32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
  endfunction

  logic [511:0] header;
  logic [127:0] header_tail;
  logic [63:0]  header_ext;     // first two words behind the BTH
  logic [15:0]  ip_length, ip_tos, ip_sum;
  logic [19:0]  sum;
  logic [1:0]   pad;

  // Bytes of the header in ascending order from the right.
  always_comb begin
    header      = '0;
    header_tail = '0;
    header_ext  = '0;
    ip_length   = '0;
    ip_tos      = '0;
    ip_sum      = '0;
    sum         = '0;
    pad         = '0;
    if (step && cur_k_q == 7'd0) begin
      ip_length = {3'd0, cur_icrc_q, 2'd0} - 16'd12;
      ip_tos    = {8'h45, 1'b0, f_vc, 3'd0, is_ack ? ubl_pkg::EcnNotEct : ubl_pkg::EcnEct0};
      sum = {4'd0, ip_tos} + {4'd0, ip_length} + {4'd0, ubl_pkg::LinkIpFlagsDf}
          + {4'd0, ubl_pkg::LinkIpTtl, ubl_pkg::LinkIpProtocolUdp}
          + {4'd0, ubl_pkg::LinkIpNet, 5'd0, plane_i} + {4'd0, node_i}
          + {4'd0, ubl_pkg::LinkIpNet, 5'd0, plane_i} + {4'd0, f_dst_node};
      sum    = {4'd0, sum[15:0]} + {16'd0, sum[19:16]};
      ip_sum = ~(sum[15:0] + {15'd0, sum[16]});
      pad    = (is_ack || is_rrq) ? 2'd0 : (2'd0 - f_len[1:0]);
      if (is_ack || is_rrs) begin
        header_ext = {is_ack ? cur_sack_q[31:0] : 32'd0, swap32({f_syndrome, f_msn})};
      end
      else if (is_sni)      header_ext = {swap32(f_raddr[63:32]), swap32(f_imm)};
      else                  header_ext = {swap32(f_raddr[31:0]), swap32(f_raddr[63:32])};
      header = {
          header_ext,                                                    // 56
          swap32({f_ack_req, f_rnum, f_psn}),                              // 52
          swap32({1'b0, f_becn, 6'd0, f_dst_qpn}),                       // 48
          swap16(ubl_pkg::LinkPkeyDefault),                              // 46
          2'd0, pad, 4'd0,                                               // 45
          f_opcode,                                                      // 44
          16'd0, swap16(ip_length - 16'd20),                             // 40
          swap16(ubl_pkg::LinkUdpPortRoce),                              // 38
          swap16(ubl_pkg::LinkUdpSportBase | {2'd0, f_src_qpn[13:0]}),   // 36
          swap16(f_dst_node), 5'd0, plane_i, ubl_pkg::LinkIpNet,         // 32
          swap16(node_i), 5'd0, plane_i, ubl_pkg::LinkIpNet,             // 28
          swap16(ip_sum), ubl_pkg::LinkIpProtocolUdp, ubl_pkg::LinkIpTtl,  // 24
          swap16(ubl_pkg::LinkIpFlagsDf), 16'd0,                         // 20
          swap16(ip_length), swap16(ip_tos),                             // 16
          swap16(ubl_pkg::LinkEtherTypeIpv4),                            // 14
          swap16(node_i), 5'd0, plane_i, 8'd0, swap16(ubl_pkg::LinkMacPrefix),      // 8
          swap16(f_dst_node), 5'd0, plane_i, 8'd0, swap16(ubl_pkg::LinkMacPrefix),  // 2
          16'd0};
      if (is_short) begin
        header_tail = {96'd0, swap32(f_rkey)};
      end else if (is_sni) begin
        header_tail = {64'd0, swap32(f_rkey), swap32(f_raddr[31:0])};
      end else begin
        header_tail = {
            swap32(f_imm),
            has_red ? {23'd0, f_red_ordered, f_red_op, f_red_dtype} : (has_imm ? swap32(f_imm) : 32'd0),
            is_ack ? 64'd0 : {swap32({19'd0, f_len}), swap32(f_rkey)}};
      end
    end
  end

  always_comb begin
    beat    = '0;
    word    = '0;
    carry_d = carry_q;
    if (step) begin
      if (need_beat) beat = buf_mem[{cur_ch, buf_read_q[cur_ch]}];
      if (need_inline) beat = {{512-InlineBits{1'b0}}, cur_inline_q};
      if (cur_k_q == 7'd0) begin
        word    = header;
        carry_d = is_ack ? {96'd0, cur_sack_q[SackBits-1:32]} : {352'd0, header_tail};
        if (is_rrs) begin
          word[511:480] = beat[31:0];
          carry_d       = beat[511:32];
        end
      end else if (need_beat || need_inline) begin
        case (cur_off_q)
          3'd1: begin
            word    = {beat[479:0], carry_q[31:0]};
            carry_d = {448'd0, beat[511:480]};
          end
          3'd2: begin
            word    = {beat[447:0], carry_q[63:0]};
            carry_d = {416'd0, beat[511:448]};
          end
          3'd3: begin
            word    = {beat[415:0], carry_q[95:0]};
            carry_d = {384'd0, beat[511:416]};
          end
          3'd4: begin
            word    = {beat[383:0], carry_q[127:0]};
            carry_d = {352'd0, beat[511:384]};
          end
          default: begin
            word    = {beat[31:0], carry_q};
            carry_d = beat[511:32];
          end
        endcase
      end else begin
        case (cur_off_q)
          3'd1:    word = {480'd0, carry_q[31:0]};
          3'd2:    word = {448'd0, carry_q[63:0]};
          3'd3:    word = {416'd0, carry_q[95:0]};
          3'd4:    word = {384'd0, carry_q[127:0]};
          default: word = {32'd0, carry_q};
        endcase
        carry_d = '0;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 1: the word, without CRCs. Stage 2: the word, and CRC states that include it
  // ---------------------------------------------------------------------------------------------
  logic         s1_last_q, s1_fin_q, s1_bad_q, s1_first_q, s2_valid_q, s2_last_q, s2_fin_q, s2_bad_q;
  logic         s2_first_q;
  logic [1:0]   s1_vc_q, s2_vc_q;
  logic [4:0]   s1_n_q, s2_n_q;          // words before the ICRC, when fin
  logic [5:0]   s1_empty_q, s2_empty_q;
  logic [511:0] s1_q, s2_q;
  logic [31:0]  fcs_state, icrc_state;   // over the words before the ICRC
  logic [31:0]  fcs_state_q, icrc_state_q, icrc_new, fcs_new, icrc_q, fcs_q;
  logic [4:0]   s1_words_q, crc_words;   // words of the stage that the ICRC covers
  logic         behind_q, behind_icrc_q;  // word 0 of the last word holds ICRC and FCS, or only FCS

  assign s2_out  = s2_valid_q && (s2_last_q || s1_valid_q);
  assign s1_move = s1_valid_q && (!s2_valid_q || s2_out);
  assign s1_free = !s1_valid_q || s1_move;

  assign crc_words = s1_move ? s1_words_q : 5'd0;

  ubl_crc32_pair u_crc (
    .first_i  (s1_first_q),
    .data_i   (s1_q),
    .nwords_i (crc_words),
    .fcs_i    (fcs_state_q),
    .icrc_i   (icrc_state_q),
    .fcs_o    (fcs_state),
    .icrc_o   (icrc_state)
  );

  `include "ubl_crc32.svh"

  logic fin_out;
  assign fin_out = s2_out && s2_fin_q;

  logic [511:0]   out_word;
  logic [15:0]    out_next;
  ubl_pkg::flit_t flit_q, flit_d;

  always_comb begin
    icrc_new = '0;
    fcs_new  = '0;
    out_word = '0;
    out_next = '0;
    if (s2_out) begin
      out_word = s2_q;
      out_next = s2_last_q ? 16'd0 : s1_q[15:0];
    end
    if (fin_out) begin
      icrc_new = icrc_state_q ^ {32{!s2_bad_q}};
      fcs_new  = crc32_1(fcs_state_q ^ icrc_new) ^ {32{!s2_bad_q}};
      for (int unsigned w = 1; w < 16; w++) begin
        if (s2_n_q == 5'(w)) out_word[32*w +: 32] = icrc_new;
        if (s2_n_q == 5'(w - 1)) out_word[32*w +: 32] = fcs_new;
      end
      if (s2_n_q == 5'd16) out_next = icrc_new[15:0];
      if (s2_n_q == 5'd15) out_next = fcs_new[15:0];
    end else if (s2_out && behind_q) begin
      out_word[63:0] = behind_icrc_q ? {fcs_q, icrc_q} : {32'd0, fcs_q};
    end
  end

  always_comb begin
    flit_d = '0;
    if (s2_out) begin
      flit_d = {1'b1, s2_first_q, s2_last_q, s2_vc_q, s2_empty_q, out_next, out_word[511:16]};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cur_valid_q   <= 1'b0;
      cur_bad_q     <= 1'b0;
      cur_k_q       <= '0;
      cur_beats_q   <= '0;
      cur_flits_q   <= '0;
      cur_off_q     <= '0;
      cur_icrc_q    <= '0;
      cur_q         <= '0;
      cur_sack_q    <= '0;
      cur_inline_q  <= '0;
      carry_q       <= '0;
      s1_valid_q    <= 1'b0;
      s2_valid_q    <= 1'b0;
      s1_q          <= '0;
      s2_q          <= '0;
      {s1_first_q, s1_last_q, s1_fin_q, s1_bad_q, s1_vc_q, s1_n_q, s1_empty_q} <= '0;
      {s2_first_q, s2_last_q, s2_fin_q, s2_bad_q, s2_vc_q, s2_n_q, s2_empty_q} <= '0;
      s1_words_q    <= '0;
      fcs_state_q   <= '0;
      icrc_state_q  <= '0;
      behind_q      <= 1'b0;
      behind_icrc_q <= 1'b0;
      icrc_q        <= '0;
      fcs_q         <= '0;
      flit_q        <= '0;
    end else begin
      if (start) begin
        cur_valid_q <= 1'b1;
        cur_k_q     <= '0;
        cur_bad_q   <= 1'b0;
        cur_q       <= frame_mem[entry(start_vc, send_q[start_vc][DescW-1:0])];
        if (start_vc == ubl_pkg::VcRsp) cur_sack_q <= sack_mem[send_q[start_vc][DescW-1:0]];
        else cur_inline_q <= inline_mem[entry(start_vc, send_q[start_vc][DescW-1:0])];
        cur_beats_q <= plan[start_vc][6:0];
        cur_icrc_q  <= plan[start_vc][17:7];
        cur_off_q   <= plan[start_vc][20:18];
        cur_flits_q <= start_flits;
      end else if (step) begin
        cur_valid_q <= !cur_free;
        cur_k_q     <= cur_k_q + 7'd1;
        cur_bad_q   <= cur_bad_q || (need_beat && err_mem[{cur_ch, buf_read_q[cur_ch]}]);
      end
      if (step) begin
        carry_q    <= carry_d;
        s1_q       <= word;
        s1_valid_q <= 1'b1;
        s1_first_q <= cur_k_q == 7'd0;
        s1_last_q  <= cur_k_q == cur_flits_q - 7'd1;
        s1_fin_q   <= !icrc_behind && icrc_dist <= 11'd16;
        s1_n_q     <= icrc_dist[4:0];
        s1_words_q <= icrc_behind ? 5'd0 : (icrc_dist > 11'd16 ? 5'd16 : icrc_dist[4:0]);
        s1_bad_q   <= cur_bad_q || (need_beat && err_mem[{cur_ch, buf_read_q[cur_ch]}]);
        s1_vc_q    <= f_vc;
        s1_empty_q <= (cur_k_q == cur_flits_q - 7'd1)
                      ? 6'd0 - {cur_icrc_q[3:0], 2'd0} - 6'd6 : 6'd0;
      end else if (s1_move) begin
        s1_valid_q <= 1'b0;
      end
      if (s1_move) begin
        fcs_state_q  <= fcs_state;
        icrc_state_q <= icrc_state;
        s2_q       <= s1_q;
        s2_valid_q <= 1'b1;
        {s2_first_q, s2_last_q, s2_fin_q, s2_bad_q, s2_vc_q, s2_n_q, s2_empty_q} <=
            {s1_first_q, s1_last_q, s1_fin_q, s1_bad_q, s1_vc_q, s1_n_q, s1_empty_q};
      end else if (s2_out) begin
        s2_valid_q <= 1'b0;
      end
      if (s2_out) begin
        behind_q      <= s2_fin_q && s2_n_q >= 5'd15;
        behind_icrc_q <= s2_n_q == 5'd16;
        icrc_q        <= icrc_new;
        fcs_q         <= fcs_new;
      end
      if (s2_out || flit_q.valid) flit_q <= flit_d;
    end
  end

  assign tx_flit_o = flit_q;

  assign idle_o = !flit_q.valid && txd_credit_q == '0 && !trq_valid_q && !txc_valid_q && !txc_load
                  && ready_to_issue == '0 && !start && !step && !s1_move && !s2_out;

  // ---------------------------------------------------------------------------------------------
  // Checks
  // ---------------------------------------------------------------------------------------------
  logic unused_bits;
  assign unused_bits = ^{in_words[12:11], f_src_qpn[15:14], out_word[15:0]};

  `UBL_ASSERT(TxdVc, !txd_valid_i || 32'(txd_i.vc) < NumVc)
  `UBL_ASSERT(TxdRspIsAck, !(txd_valid_i && txd_i.vc == ubl_pkg::VcRsp) || in_ack)
  `UBL_ASSERT(TxdInline, !(txd_valid_i && txd_i.inl) || 32'(txd_i.len) <= ubl_pkg::NicMaxInline)
  `UBL_ASSERT(TxdLength, !txd_valid_i || 32'(txd_i.len) <= ubl_pkg::LinkMtu)
  `UBL_ASSERT(TxdOverflow, !txd_valid_i || (DescW+1)'(write_q[txd_i.vc]
      - (txd_i.vc == ubl_pkg::VcRsp ? send_q[txd_i.vc] : issue_q[txd_i.vc]))
      < (DescW+1)'(TxdDepth))
  `UBL_ASSERT(TrdExpected, !trd_valid_i || flight_read_q != flight_write_q)
  `UBL_ASSERT(BufOverflow, 32'(stored_q[0]) <= BufDepth && 32'(stored_q[1]) <= BufDepth)
  `UBL_ASSERT(BufReserved, stored_q[0] <= reserved_q[0] && stored_q[1] <= reserved_q[1])
  `UBL_ASSERT(CreditOverflow, 32'(credit_q[0]) <= VcDepth && 32'(credit_q[1]) <= VcDepth
      && 32'(credit_q[2]) <= VcDepth)

  `UBL_COVER(AllChannelsWait, startable == 3'b111 && !cur_free)
  `UBL_COVER(PriorityTaken, start && startable[Bulk] && start_vc != ubl_pkg::VcBulk)
  `UBL_COVER(NoLinkCredit, send_q[Bulk] != issue_q[Bulk] && stored_q[1] != '0 && !startable[Bulk])
  `UBL_COVER(PayloadLate, cur_valid_q && s1_free && !step)
  `UBL_COVER(BufferFull, write_q[Bulk] != issue_q[Bulk] && !ready_to_issue[1] && !order_full)
  `UBL_COVER(OrderFull, order_full)
  `UBL_COVER(IcrcInLastWordOfFlit, fin_out && s2_n_q == 5'd15)
  `UBL_COVER(IcrcStartsFlit, fin_out && s2_n_q == 5'd16)
  `UBL_COVER(ReadError, fin_out && s2_bad_q)
  `UBL_COVER(InlinePayload, step && need_inline)

endmodule
