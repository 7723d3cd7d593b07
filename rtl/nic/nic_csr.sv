// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Registers of the NIC: control, object commands, counters, error log; and the clearing of all
// tables after reset. Answers one register access per cycle, one cycle later; while an object
// command or the clearing runs, csr_req_ready_o is low.
// See also: nic_core.md.

`include "nic_core_pkg.svh"
`include "ubl_assert.svh"

module nic_csr #(
  /// Planes, 1..8.
  parameter int unsigned Planes = 8,
  /// Queue pairs, a power of two.
  parameter int unsigned NumQp = 1024,
  /// Completion queues, a power of two.
  parameter int unsigned NumCq = 64,
  /// Memory regions, a power of two.
  parameter int unsigned NumMr = 256,
  /// Table indices to clear after reset.
  parameter int unsigned NumClear = 1024
) (
  /// Clock.
  input  logic clk_i,
  /// Reset, active low.
  input  logic rst_ni,

  /// Register access.
  input  logic              csr_req_valid_i,
  /// The access.
  input  ubl_pkg::csr_req_t csr_req_i,
  /// Taken.
  output logic              csr_req_ready_o,
  /// Answer, always accepted.
  output logic              csr_rsp_valid_o,
  /// The answer.
  output ubl_pkg::csr_rsp_t csr_rsp_o,

  /// ctrl.enable.
  output logic        enable_o,
  /// timeout register.
  output logic [31:0] timeout_o,
  /// rnr_timer register.
  output logic [31:0] rnr_timer_o,
  /// reorder register.
  output logic [9:0]  reorder_o,
  /// cc_step register.
  output logic [7:0]  cc_step_o,
  /// pace_req register.
  output logic [15:0] pace_req_o,
  /// pace_bulk register.
  output logic [15:0] pace_bulk_o,
  /// plane_probe register.
  output logic [31:0] plane_probe_o,
  /// planes_down is written.
  output logic        down_we_o,
  /// Its new value.
  output logic [7:0]  down_o,
  /// Planes that are down.
  input  logic [7:0]  down_i,

  /// Initialisation event for the engines.
  output logic        init_valid_o,
  /// nic_core_pkg::Init*.
  output logic [1:0]  init_kind_o,
  /// Index.
  output logic [15:0] init_idx_o,
  /// write_qp takes eight cycles: which of them (a bitmap has eight words).
  output logic [2:0]  init_sub_o,
  /// Content of OBJ_DATA.
  output logic [511:0] obj_data_o,
  /// Load the QP configuration.
  output logic        qp_we_o,
  /// Load the CQ configuration.
  output logic        cq_we_o,
  /// Load the MR configuration.
  output logic        mr_we_o,
  /// write_ctr: the counter is init_idx_o, its value the first two words of obj_data_o.
  output logic        ctr_we_o,
  /// It is done.
  input  logic        ctr_ready_i,
  /// Counter init_idx_o: {failure, success}.
  input  logic [63:0] ctr_i,
  /// Tables are being cleared (then the three above write invalid entries).
  output logic        clearing_o,

  /// QP read by read_qp (and whose state set_error checks).
  output logic [15:0]          stat_idx_o,
  /// Its status.
  input  ubl_pkg::qp_status_t  stat_i,

  /// Error log sources.
  input  logic [6:0]                         log_valid_i,
  /// Their entries.
  input  logic [7*nic_core_pkg::LogBits-1:0] log_i,

  /// A request packet is emitted.
  input  logic        tx_pkt_i,
  /// Its plane.
  input  logic [2:0]  tx_pkt_plane_i,
  /// Its payload bytes.
  input  logic [12:0] tx_pkt_len_i,
  /// An acknowledgement is emitted.
  input  logic        tx_ack_i,
  /// Its plane.
  input  logic [2:0]  tx_ack_plane_i,
  /// Payload of the response.
  input  logic [12:0] tx_ack_len_i,
  /// A good request frame is taken.
  input  logic        rx_pkt_i,
  /// A frame with an error is taken.
  input  logic        rx_bad_i,
  /// The request frame carries CE.
  input  logic        rx_pkt_ce_i,
  /// Plane of these three.
  input  logic [2:0]  rx_pkt_plane_i,
  /// A good acknowledgement is taken.
  input  logic        rx_ack_i,
  /// It carries CE.
  input  logic        rx_ack_ce_i,
  /// Its plane.
  input  logic [2:0]  rx_ack_plane_i,
  /// A completion is written.
  input  logic        cqe_i,
  /// A work request is fetched.
  input  logic        wqe_i,
  /// A packet counts as lost.
  input  logic        lost_i,
  /// The plane it took.
  input  logic [2:0]  lost_plane_i,
  /// A packet is sent again.
  input  logic        retransmit_i,
  /// A QP timed out.
  input  logic        timeout_i,
  /// A request arrived again.
  input  logic        dup_req_i,
  /// A READ response arrived again.
  input  logic        dup_rsp_i,
  /// A packet was dropped because it could not be accepted before its turn.
  input  logic        deferred_i,
  /// RNR is answered.
  input  logic        rnr_sent_i,
  /// RNR was answered.
  input  logic        rnr_rcvd_i,
  /// A count is added to a counter.
  input  logic        bump_i,
  /// An entry wait completed ok.
  input  logic        wait_i,
  /// An atomic is executed.
  input  logic        atomic_i,
  /// An entry is taken from a push.
  input  logic        push_i,
  /// Something would happen without new input.
  output logic        busy_o
);

  localparam int unsigned LogBits = nic_core_pkg::LogBits;
  localparam int unsigned LogDepth = 16;
  localparam int unsigned NumLogSrc = 7;

  localparam logic [1:0] StClear = 2'd0;
  localparam logic [1:0] StIdle = 2'd1;
  localparam logic [1:0] StExec = 2'd2;

  logic [1:0] st_q;
  logic [15:0] clr_q;
  logic enable_q;
  logic [31:0] timeout_q, rnr_timer_q, probe_q;
  logic [9:0] reorder_q;
  logic [7:0] cc_step_q;
  logic [15:0] pace_req_q, pace_bulk_q;
  logic [2:0] sub_q;
  logic [7:0] op_q, result_q;
  logic [15:0] idx_q;
  logic [511:0] data_q;
  logic rsp_valid_q;
  ubl_pkg::csr_rsp_t rsp_q;

  logic [31:0] tx_pkt_q [8];
  logic [31:0] tx_ack_q [8];
  logic [31:0] rx_pkt_q [8];
  logic [31:0] rx_ack_q [8];
  logic [31:0] rx_bad_q [8];
  logic [31:0] rx_ce_q [8];
  logic [63:0] tx_bytes_q [8];
  logic [31:0] lost_q [8];
  logic [31:0] cqes_q, wqes_q, retransmits_q, timeouts_q, duplicates_q, deferred_q, rnr_sent_q, rnr_rcvd_q;
  logic [31:0] bumps_q, waits_q, atomics_q, pushes_q;

  // ---------------------------------------------------------------------------------------------
  // Error log
  logic [LogBits-1:0] log_mem [LogDepth];
  logic [4:0] log_wr_q, log_rd_q, log_n;
  logic [31:0] err_count_q;
  logic [NumLogSrc*LogBits-1:0] log_sorted;
  logic [2:0] log_cnt, log_fit;
  logic log_pop;
  nic_core_pkg::log_t log_head;

  assign log_n    = log_wr_q - log_rd_q;
  assign log_head = nic_core_pkg::log_t'(log_mem[log_rd_q[3:0]]);

  always_comb begin
    log_sorted = '0;
    log_cnt    = 3'd0;
    log_fit    = 3'd0;
    if (log_valid_i != '0) begin
      for (int unsigned i = 0; i < NumLogSrc; i++) begin
        if (log_valid_i[i]) begin
          log_sorted[32'(log_cnt)*LogBits +: LogBits] = log_i[i*LogBits +: LogBits];
          log_cnt = log_cnt + 3'd1;
        end
      end
      log_fit = ({2'd0, log_cnt} > 5'(LogDepth) - log_n) ? 3'(5'(LogDepth) - log_n) : log_cnt;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < NumLogSrc; i++) begin
      if (3'(i) < log_fit) log_mem[log_wr_q[3:0] + 4'(i)] <= log_sorted[i*LogBits +: LogBits];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      log_wr_q    <= '0;
      log_rd_q    <= '0;
      err_count_q <= '0;
    end else begin
      log_wr_q    <= log_wr_q + 5'(log_fit);
      err_count_q <= err_count_q + 32'(log_cnt);
      if (log_pop && log_n != '0) log_rd_q <= log_rd_q + 5'd1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Object commands
  ubl_pkg::qp_ctx_t qp;
  ubl_pkg::cq_ctx_t cq;
  ubl_pkg::mr_ctx_t mr;
  logic exec, idx_ok, val_ok, op_ok;
  logic [64:0] mr_end;
  logic unused_ctx;

  assign qp     = ubl_pkg::qp_ctx_t'(data_q);
  assign cq     = ubl_pkg::cq_ctx_t'(data_q);
  assign mr     = ubl_pkg::mr_ctx_t'(data_q);
  assign mr_end = {1'b0, mr.base} + {1'b0, mr.length};
  assign exec   = st_q == StExec;
  assign unused_ctx = ^{qp, cq, mr};

  always_comb begin
    op_ok  = 1'b1;
    idx_ok = {1'b0, idx_q} < 17'(NumQp);
    val_ok = 1'b1;
    unique case (op_q)
      ubl_pkg::ObjOpNone: idx_ok = 1'b1;
      ubl_pkg::ObjOpWriteQp: begin
        // A QP that is put to rest may carry any values.
        val_ok = (qp.state == ubl_pkg::QpStateReset) |
                 ((qp.state <= ubl_pkg::QpStateError) & (qp.planes != 8'd0) &
                  ((qp.planes >> Planes) == 8'd0) & (qp.mtu <= ubl_pkg::MtuCodeB1024) &
                  (qp.sq_log2 <= 8'(ubl_pkg::NicMaxRingLog2)) & ({1'b0, qp.scq} < 9'(NumCq)) &
                  ({1'b0, qp.rcq} < 9'(NumCq)) & (qp.sq_base[5:0] == 6'd0) &
                  (qp.rq_ring ? (qp.rq_log2 <= 8'(ubl_pkg::NicMaxRingLog2)) & (qp.rq_base[5:0] == 6'd0)
                              : (qp.rq_log2 == 8'd0) & (qp.rq_base == 64'd0)) &
                  ~(qp.imm_ctr & qp.rq_ring) &
                  (qp.err_ctr < (qp.err_ctr_v ? 16'(ubl_pkg::NicNumCtr) : 16'd1)) &
                  (qp.cwnd <= qp.window) & (qp.window != 16'd0) & (qp.window <= 16'(ubl_pkg::NicMaxWindow)));
      end
      ubl_pkg::ObjOpWriteCq: begin
        idx_ok = {1'b0, idx_q} < 17'(NumCq);
        val_ok = ~cq.valid | ((cq.log2 <= 8'(ubl_pkg::NicMaxRingLog2)) &
                              (cq.base[5:0] == 6'd0) &
                              (~cq.irq_en | (cq.vector < 16'(ubl_pkg::NicNumMsix))));
      end
      ubl_pkg::ObjOpWriteMr: begin
        idx_ok = {1'b0, idx_q} < 17'(NumMr);
        val_ok = ~mr.valid | (mr_end <= {1'b1, 64'd0});
      end
      ubl_pkg::ObjOpReadQp: ;
      ubl_pkg::ObjOpWriteCtr, ubl_pkg::ObjOpReadCtr: idx_ok = {1'b0, idx_q} < 17'(ubl_pkg::NicNumCtr);
      ubl_pkg::ObjOpSetError: val_ok = stat_i.state != ubl_pkg::QpStateReset;
      default: op_ok = 1'b0;
    endcase
  end

  logic good;
  assign good = exec & op_ok & idx_ok & val_ok;

  assign clearing_o  = st_q == StClear;
  assign stat_idx_o  = idx_q;
  assign obj_data_o  = data_q;
  assign init_sub_o  = sub_q;
  assign init_idx_o  = clearing_o ? clr_q : idx_q;
  assign init_kind_o = clearing_o ? nic_core_pkg::InitClear
                                  : ((op_q == ubl_pkg::ObjOpSetError) ? nic_core_pkg::InitError
                                                                      : nic_core_pkg::InitQp);
  assign init_valid_o = clearing_o | (good & ((op_q == ubl_pkg::ObjOpWriteQp) |
                                              (op_q == ubl_pkg::ObjOpSetError)));
  assign qp_we_o = (good & (op_q == ubl_pkg::ObjOpWriteQp) & (sub_q == 3'd0)) |
                   (clearing_o & ({1'b0, clr_q} < 17'(NumQp)));
  assign cq_we_o = (good & (op_q == ubl_pkg::ObjOpWriteCq)) |
                   (clearing_o & ({1'b0, clr_q} < 17'(NumCq)));
  assign mr_we_o = (good & (op_q == ubl_pkg::ObjOpWriteMr)) |
                   (clearing_o & ({1'b0, clr_q} < 17'(NumMr)));

  assign ctr_we_o = good & (op_q == ubl_pkg::ObjOpWriteCtr);

  // ---------------------------------------------------------------------------------------------
  // Register access
  logic acc, hit, ro;
  logic [31:0] addr, rdata;
  logic [2:0] lane, lane8;
  logic [3:0] word;

  assign csr_req_ready_o = st_q == StIdle;
  assign acc   = csr_req_valid_i & csr_req_ready_o;
  assign addr  = ubl_pkg::RegNicVersion + {16'd0, csr_req_i.addr};
  assign lane  = csr_req_i.addr[4:2];
  assign lane8 = csr_req_i.addr[5:3];
  assign word  = csr_req_i.addr[5:2];

  always_comb begin
    hit     = 1'b1;
    ro      = 1'b1;
    rdata   = 32'd0;
    log_pop = 1'b0;
    if (acc) begin
      if (csr_req_i.addr[1:0] != 2'd0) begin
        hit = 1'b0;
      end else if (addr == ubl_pkg::RegNicVersion) begin
        rdata = ubl_pkg::RegNicVersionReset;
      end else if (addr == ubl_pkg::RegNicCaps) begin
        rdata = {8'($clog2(NumMr)), 8'($clog2(NumCq)), 8'($clog2(NumQp)), 8'(Planes)};
      end else if (addr == ubl_pkg::RegNicCtrl) begin
        ro    = 1'b0;
        rdata = {31'd0, enable_q};
      end else if (addr == ubl_pkg::RegNicTimeout) begin
        ro    = 1'b0;
        rdata = timeout_q;
      end else if (addr == ubl_pkg::RegNicRnrTimer) begin
        ro    = 1'b0;
        rdata = rnr_timer_q;
      end else if (addr == ubl_pkg::RegNicReorder) begin
        ro    = 1'b0;
        rdata = {22'd0, reorder_q};
      end else if (addr == ubl_pkg::RegNicCcStep) begin
        ro    = 1'b0;
        rdata = {24'd0, cc_step_q};
      end else if (addr == ubl_pkg::RegNicPaceReq) begin
        ro    = 1'b0;
        rdata = {16'd0, pace_req_q};
      end else if (addr == ubl_pkg::RegNicPaceBulk) begin
        ro    = 1'b0;
        rdata = {16'd0, pace_bulk_q};
      end else if (addr == ubl_pkg::RegNicPlanesDown) begin
        ro    = 1'b0;
        rdata = {24'd0, down_i};
      end else if (addr == ubl_pkg::RegNicPlaneProbe) begin
        ro    = 1'b0;
        rdata = probe_q;
      end else if (addr == ubl_pkg::RegNicObjCmd) begin
        ro = 1'b0;
      end else if (addr == ubl_pkg::RegNicObjResult) begin
        rdata = {24'd0, result_q};
      end else if (addr >= ubl_pkg::RegNicObjData &&
                   addr < ubl_pkg::RegNicObjData + 32'(4*ubl_pkg::RegNicObjDataCount)) begin
        ro    = 1'b0;
        rdata = data_q[{word, 5'd0} +: 32];
      end else if (addr == ubl_pkg::RegNicErrCount) begin
        rdata = err_count_q;
      end else if (addr == ubl_pkg::RegNicErrPop) begin
        ro      = 1'b0;
        log_pop = csr_req_i.write;
      end else if (addr == ubl_pkg::RegNicErrInfo) begin
        if (log_n != '0) rdata = {log_head.qpn, log_head.plane, log_head.cause};
      end else if (addr == ubl_pkg::RegNicErrPsn) begin
        if (log_n != '0) rdata = {8'd0, log_head.psn};
      end else if (addr >= ubl_pkg::RegNicCntTxPackets &&
                   addr < ubl_pkg::RegNicCntTxPackets + 32'd32) begin
        rdata = tx_pkt_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntTxAcks &&
                   addr < ubl_pkg::RegNicCntTxAcks + 32'd32) begin
        rdata = tx_ack_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntRxPackets &&
                   addr < ubl_pkg::RegNicCntRxPackets + 32'd32) begin
        rdata = rx_pkt_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntRxAcks &&
                   addr < ubl_pkg::RegNicCntRxAcks + 32'd32) begin
        rdata = rx_ack_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntRxBad &&
                   addr < ubl_pkg::RegNicCntRxBad + 32'd32) begin
        rdata = rx_bad_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntRxCe &&
                   addr < ubl_pkg::RegNicCntRxCe + 32'd32) begin
        rdata = rx_ce_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntLost && addr < ubl_pkg::RegNicCntLost + 32'd32) begin
        rdata = lost_q[lane];
      end else if (addr >= ubl_pkg::RegNicCntTxBytes &&
                   addr < ubl_pkg::RegNicCntTxBytes + 32'd64) begin
        rdata = csr_req_i.addr[2] ? tx_bytes_q[lane8][63:32] : tx_bytes_q[lane8][31:0];
      end else if (addr == ubl_pkg::RegNicCntCqes) begin
        rdata = cqes_q;
      end else if (addr == ubl_pkg::RegNicCntWqes) begin
        rdata = wqes_q;
      end else if (addr == ubl_pkg::RegNicCntRetransmits) begin
        rdata = retransmits_q;
      end else if (addr == ubl_pkg::RegNicCntTimeouts) begin
        rdata = timeouts_q;
      end else if (addr == ubl_pkg::RegNicCntDuplicates) begin
        rdata = duplicates_q;
      end else if (addr == ubl_pkg::RegNicCntDeferred) begin
        rdata = deferred_q;
      end else if (addr == ubl_pkg::RegNicCntRnrSent) begin
        rdata = rnr_sent_q;
      end else if (addr == ubl_pkg::RegNicCntRnrReceived) begin
        rdata = rnr_rcvd_q;
      end else if (addr == ubl_pkg::RegNicCntBumps) begin
        rdata = bumps_q;
      end else if (addr == ubl_pkg::RegNicCntWaits) begin
        rdata = waits_q;
      end else if (addr == ubl_pkg::RegNicCntAtomics) begin
        rdata = atomics_q;
      end else if (addr == ubl_pkg::RegNicCntPushes) begin
        rdata = pushes_q;
      end else begin
        hit = 1'b0;
      end
    end
  end

  logic wr;
  assign wr = acc & csr_req_i.write & hit & ~ro;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      st_q        <= StClear;
      clr_q       <= '0;
      enable_q    <= 1'b0;
      timeout_q   <= ubl_pkg::RegNicTimeoutReset;
      rnr_timer_q <= ubl_pkg::RegNicRnrTimerReset;
      reorder_q   <= ubl_pkg::RegNicReorderReset[9:0];
      cc_step_q   <= ubl_pkg::RegNicCcStepReset[7:0];
      pace_req_q  <= ubl_pkg::RegNicPaceReqReset[15:0];
      pace_bulk_q <= ubl_pkg::RegNicPaceBulkReset[15:0];
      probe_q     <= ubl_pkg::RegNicPlaneProbeReset;
      sub_q       <= '0;
      op_q        <= '0;
      idx_q       <= '0;
      result_q    <= ubl_pkg::ObjResultOk;
      data_q      <= '0;
      rsp_valid_q <= 1'b0;
      rsp_q       <= '0;
    end else begin
      rsp_valid_q <= acc;
      if (acc) rsp_q <= {~hit | (csr_req_i.write & ro), csr_req_i.write ? 32'd0 : rdata};
      unique case (st_q)
        StClear: begin
          clr_q <= clr_q + 16'd1;
          if (clr_q == 16'(NumClear - 1)) st_q <= StIdle;
        end
        StIdle: begin
          if (wr) begin
            if (addr == ubl_pkg::RegNicCtrl) begin
              enable_q <= csr_req_i.wdata[ubl_pkg::RegNicCtrlEnableLsb];
            end
            if (addr == ubl_pkg::RegNicTimeout) timeout_q <= csr_req_i.wdata;
            if (addr == ubl_pkg::RegNicRnrTimer) rnr_timer_q <= csr_req_i.wdata;
            if (addr == ubl_pkg::RegNicReorder) reorder_q <= csr_req_i.wdata[9:0];
            if (addr == ubl_pkg::RegNicCcStep) cc_step_q <= csr_req_i.wdata[7:0];
            if (addr == ubl_pkg::RegNicPaceReq) pace_req_q <= csr_req_i.wdata[15:0];
            if (addr == ubl_pkg::RegNicPaceBulk) pace_bulk_q <= csr_req_i.wdata[15:0];
            if (addr == ubl_pkg::RegNicPlaneProbe) probe_q <= csr_req_i.wdata;
            if (addr == ubl_pkg::RegNicObjCmd) begin
              op_q     <= csr_req_i.wdata[ubl_pkg::RegNicObjCmdOpLsb +: 8];
              idx_q    <= csr_req_i.wdata[ubl_pkg::RegNicObjCmdIndexLsb +: 16];
              result_q <= ubl_pkg::ObjResultBusy;
              st_q     <= StExec;
            end
            if (addr >= ubl_pkg::RegNicObjData &&
                addr < ubl_pkg::RegNicObjData + 32'(4*ubl_pkg::RegNicObjDataCount)) begin
              data_q[{word, 5'd0} +: 32] <= csr_req_i.wdata;
            end
          end
        end
        default: if (good && op_q == ubl_pkg::ObjOpWriteQp && sub_q != 3'd7) begin
          sub_q <= sub_q + 3'd1;
        end else if (!(ctr_we_o && !ctr_ready_i)) begin
          sub_q    <= '0;
          st_q     <= StIdle;
          result_q <= !op_ok ? ubl_pkg::ObjResultBadOp
                             : (!idx_ok ? ubl_pkg::ObjResultBadIndex
                                        : (!val_ok ? ubl_pkg::ObjResultBadValue
                                                   : ubl_pkg::ObjResultOk));
          if (good && op_q == ubl_pkg::ObjOpReadQp) data_q <= 512'(stat_i);
          if (good && op_q == ubl_pkg::ObjOpReadCtr) data_q <= 512'(ctr_i);
        end
      endcase
    end
  end

  assign csr_rsp_valid_o = rsp_valid_q;
  assign csr_rsp_o       = rsp_q;
  assign enable_o        = enable_q;
  assign timeout_o       = timeout_q;
  assign rnr_timer_o     = rnr_timer_q;
  assign reorder_o       = reorder_q;
  assign cc_step_o       = cc_step_q;
  assign pace_req_o      = pace_req_q;
  assign pace_bulk_o     = pace_bulk_q;
  assign plane_probe_o   = probe_q;
  assign down_we_o       = wr & (addr == ubl_pkg::RegNicPlanesDown);
  assign down_o          = csr_req_i.wdata[7:0];

  // ---------------------------------------------------------------------------------------------
  // Counters
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < 8; p++) begin
        tx_pkt_q[p]   <= '0;
        tx_ack_q[p]   <= '0;
        rx_pkt_q[p]   <= '0;
        rx_ack_q[p]   <= '0;
        rx_bad_q[p]   <= '0;
        rx_ce_q[p]    <= '0;
        tx_bytes_q[p] <= '0;
        lost_q[p]     <= '0;
      end
      cqes_q        <= '0;
      wqes_q        <= '0;
      retransmits_q <= '0;
      timeouts_q    <= '0;
      duplicates_q  <= '0;
      deferred_q    <= '0;
      rnr_sent_q    <= '0;
      rnr_rcvd_q    <= '0;
      bumps_q       <= '0;
      waits_q       <= '0;
      atomics_q     <= '0;
      pushes_q      <= '0;
    end else begin
      if (tx_pkt_i) begin
        tx_pkt_q[tx_pkt_plane_i]   <= tx_pkt_q[tx_pkt_plane_i] + 32'd1;
        tx_bytes_q[tx_pkt_plane_i] <= tx_bytes_q[tx_pkt_plane_i] + 64'(tx_pkt_len_i);
      end
      // Never on the plane of a request: a plane is given one descriptor a cycle.
      if (tx_ack_i) begin
        tx_ack_q[tx_ack_plane_i]   <= tx_ack_q[tx_ack_plane_i] + 32'd1;
        tx_bytes_q[tx_ack_plane_i] <= tx_bytes_q[tx_ack_plane_i] + 64'(tx_ack_len_i);
      end
      if (rx_pkt_i) rx_pkt_q[rx_pkt_plane_i] <= rx_pkt_q[rx_pkt_plane_i] + 32'd1;
      if (rx_ack_i) rx_ack_q[rx_ack_plane_i] <= rx_ack_q[rx_ack_plane_i] + 32'd1;
      if (rx_bad_i) rx_bad_q[rx_pkt_plane_i] <= rx_bad_q[rx_pkt_plane_i] + 32'd1;
      if (rx_pkt_ce_i && rx_ack_ce_i && rx_pkt_plane_i == rx_ack_plane_i) begin
        rx_ce_q[rx_pkt_plane_i] <= rx_ce_q[rx_pkt_plane_i] + 32'd2;
      end else begin
        if (rx_pkt_ce_i) rx_ce_q[rx_pkt_plane_i] <= rx_ce_q[rx_pkt_plane_i] + 32'd1;
        if (rx_ack_ce_i) rx_ce_q[rx_ack_plane_i] <= rx_ce_q[rx_ack_plane_i] + 32'd1;
      end
      if (cqe_i) cqes_q <= cqes_q + 32'd1;
      if (wqe_i) wqes_q <= wqes_q + 32'd1;
      if (lost_i) lost_q[lost_plane_i] <= lost_q[lost_plane_i] + 32'd1;
      if (retransmit_i) retransmits_q <= retransmits_q + 32'd1;
      if (timeout_i) timeouts_q <= timeouts_q + 32'd1;
      if (dup_req_i || dup_rsp_i) begin
        duplicates_q <= duplicates_q + 32'(dup_req_i) + 32'(dup_rsp_i);
      end
      if (deferred_i) deferred_q <= deferred_q + 32'd1;
      if (rnr_sent_i) rnr_sent_q <= rnr_sent_q + 32'd1;
      if (rnr_rcvd_i) rnr_rcvd_q <= rnr_rcvd_q + 32'd1;
      if (bump_i) bumps_q <= bumps_q + 32'd1;
      if (wait_i) waits_q <= waits_q + 32'd1;
      if (atomic_i) atomics_q <= atomics_q + 32'd1;
      if (push_i) pushes_q <= pushes_q + 32'd1;
    end
  end

  assign busy_o = (st_q != StIdle) | rsp_valid_q;

  `UBL_ASSERT(log_level, log_n <= 5'(LogDepth))
  `UBL_COVER(log_full, log_n == 5'(LogDepth) && log_cnt != 3'd0)

endmodule
