// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0

// Register window of the PCIe function: executes host accesses to BAR0 and BAR4 strictly in order.
//
// An 8-byte access is executed as two 4-byte accesses, low word first. Each word goes to one of:
// the function's own registers, the NIC (one csr transaction, its answer awaited), a doorbell, the
// MSI-X table, or nowhere (counted; a read answers err with all ones). A write to a read-only
// register and a read of a write-only one are accesses to nowhere. An 8-byte write to the push window
// is executed whole; eight of them in rising order, with nothing between, make a pushed entry.
//
// Order: a doorbell or pushed entry is handed over before any later access starts that is not a
// doorbell behind doorbells or a write to the push window behind a pushed entry, and a csr
// transaction is answered before any later access starts, so a read returns after every earlier
// write took effect. A read answer additionally waits for host_dma to hand over every host access
// that it had accepted before (PCIe: a completion pushes earlier posted writes).
//
// When the sinks are not ready: doorbells, pushed entries and csr requests stay in their output
// registers and req_ready_o falls once the request queue is full. Answers are always accepted.
`include "ubl_assert.svh"

module host_mmio (
  /// Clock.
  input  logic                clk_i,
  /// Synchronous reset, active low.
  input  logic                rst_ni,
  /// Device time in cycles.
  input  logic [63:0]         now_i,
  /// Node number strap.
  input  logic [15:0]         node_i,
  /// Bus-master enable of the configuration space.
  input  logic                bme_i,

  /// Host access.
  input  logic                req_valid_i,
  input  ubl_pkg::mmio_req_t  req_i,
  /// Space in the request queue.
  output logic                req_ready_o,
  /// Answer to a read; always accepted.
  output logic                rsp_valid_o,
  output ubl_pkg::mmio_rsp_t  rsp_o,

  /// Register access of the NIC.
  output logic                csr_req_valid_o,
  output ubl_pkg::csr_req_t   csr_req_o,
  input  logic                csr_req_ready_i,
  /// Answer, at the earliest in the cycle after the request was taken.
  input  logic                csr_rsp_valid_i,
  input  ubl_pkg::csr_rsp_t   csr_rsp_i,

  /// Doorbell to the NIC.
  output logic                db_valid_o,
  output ubl_pkg::doorbell_t  db_o,
  input  logic                db_ready_i,

  /// Pushed entry to the NIC; never offered together with a doorbell.
  output logic                push_valid_o,
  output ubl_pkg::push_t      push_o,
  input  logic                push_ready_i,

  /// MSI-X table access: vector, word of the entry (0 addr_lo .. 3 ctrl), write strobe.
  output logic [5:0]          msix_vec_o,
  output logic [1:0]          msix_word_o,
  output logic                msix_we_o,
  output logic [31:0]         msix_wdata_o,
  /// Table word selected by msix_vec_o, msix_word_o (same cycle).
  input  logic [31:0]         msix_rdata_i,
  /// Pending bits.
  input  logic [63:0]         msix_pba_i,

  /// Host accesses refused so far.
  input  logic [31:0]         cnt_dma_blocked_i,
  /// Pulse: wait for everything host_dma accepted before this cycle ...
  output logic                fence_start_o,
  /// ... and its end.
  input  logic                fence_done_i,

  /// Nothing queued, running or offered.
  output logic                idle_o
);

  localparam int unsigned QueueDepth = 8;
  localparam logic [31:0] NicBase = ubl_pkg::RegNicVersion;
  localparam logic [31:0] SqEnd = ubl_pkg::RegDbSq + ubl_pkg::RegDbSqCount * ubl_pkg::RegDbSqStride;
  localparam logic [31:0] CqEnd = ubl_pkg::RegDbCq + ubl_pkg::RegDbCqCount * ubl_pkg::RegDbCqStride;
  localparam logic [31:0] CtrEnd = ubl_pkg::RegDbCtr + ubl_pkg::RegDbCtrCount * ubl_pkg::RegDbCtrStride;
  localparam logic [31:0] PushEnd =
      ubl_pkg::RegDbPush + ubl_pkg::RegDbPushCount * ubl_pkg::RegDbPushStride;
  localparam logic [31:0] TableBase = ubl_pkg::RegMsixAddrLo;
  localparam logic [31:0] TableEnd =
      TableBase + ubl_pkg::RegMsixAddrLoCount * ubl_pkg::RegMsixAddrLoStride;
  localparam logic [31:0] PbaEnd =
      ubl_pkg::RegMsixPba + ubl_pkg::RegMsixPbaCount * ubl_pkg::RegMsixPbaStride;

  localparam logic [1:0] DbKindSq = 2'd0;
  localparam logic [1:0] DbKindRq = 2'd1;
  localparam logic [1:0] DbKindCq = 2'd2;
  localparam logic [1:0] DbKindCtr = 2'd3;

  typedef enum logic [1:0] {
    StRun,     // execute the word at the head of the queue
    StCsrReq,  // csr request offered
    StCsrRsp,  // csr request taken, answer awaited
    StFence    // read executed, earlier host accesses leaving
  } state_e;

  // ------------------------------------------------------------------------------------- queue
  ubl_pkg::mmio_req_t head;
  logic               head_valid, head_pop;
  logic [3:0]         unused_count;

  ubl_fifo #(
    .Width(ubl_pkg::MmioReqBits),
    .Depth(QueueDepth)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (req_valid_i),
    .in_ready_o (req_ready_o),
    .in_data_i  (req_i),
    .out_valid_o(head_valid),
    .out_ready_i(head_pop),
    .out_data_o (head),
    .count_o    (unused_count)
  );

  // ------------------------------------------------------------------------------------ decode
  logic        half_q, half_d;  // second word of an 8-byte access
  logic [31:0] addr;            // of the word
  logic [31:0] wdata;
  logic        last_word;
  logic        aligned;
  logic        hit_host, hit_nic, hit_sq, hit_cq, hit_ctr, hit_push, hit_table, hit_pba;

  assign addr      = {head.addr[31:3], head.addr[2] | half_q, 2'b00};
  assign wdata     = half_q ? head.data[63:32] : head.data[31:0];
  assign last_word = half_q | ~head.size8 | hit_push;
  assign aligned   = (head.addr[1:0] == 2'b00) & ~(head.size8 & head.addr[2]);

  assign hit_host  = aligned & (head.bar == 3'd0) & (addr < NicBase);
  assign hit_nic   = aligned & (head.bar == 3'd0) & (addr >= NicBase) &
                     (addr < ubl_pkg::HostBar0Bytes);
  assign hit_sq    = aligned & (head.bar == 3'd4) & (addr < SqEnd);
  assign hit_cq    = aligned & (head.bar == 3'd4) & (addr >= ubl_pkg::RegDbCq) & (addr < CqEnd) &
                     ~addr[2];
  assign hit_ctr   = aligned & (head.bar == 3'd4) & (addr >= ubl_pkg::RegDbCtr) & (addr < CtrEnd);
  assign hit_push  = aligned & (head.bar == 3'd4) & head.write & head.size8 &
                     (head.addr >= ubl_pkg::RegDbPush) & (head.addr < PushEnd);
  assign hit_table = aligned & (head.bar == 3'd4) & (addr >= TableBase) & (addr < TableEnd);
  assign hit_pba   = aligned & (head.bar == 3'd4) & (addr >= ubl_pkg::RegMsixPba) & (addr < PbaEnd);

  // Function registers.
  logic [31:0] scratch_q, cycles_hi_q, cnt_bad_q;
  logic [31:0] host_rdata;
  logic        host_known;     // register exists
  logic        host_writable;

  always_comb begin
    host_rdata    = '0;
    host_known    = 1'b1;
    host_writable = 1'b0;
    unique case (addr)
      ubl_pkg::RegHostId:            host_rdata = ubl_pkg::RegHostIdReset;
      ubl_pkg::RegHostNode:          host_rdata = {16'h0, node_i};
      ubl_pkg::RegHostScratch: begin
        host_rdata    = scratch_q;
        host_writable = 1'b1;
      end
      ubl_pkg::RegHostStatus:        host_rdata[ubl_pkg::RegHostStatusBmeLsb] = bme_i;
      ubl_pkg::RegHostCyclesLo:      host_rdata = now_i[31:0];
      ubl_pkg::RegHostCyclesHi:      host_rdata = cycles_hi_q;
      ubl_pkg::RegHostCntMmioBad:    host_rdata = cnt_bad_q;
      ubl_pkg::RegHostCntDmaBlocked: host_rdata = cnt_dma_blocked_i;
      default:                       host_known = 1'b0;
    endcase
  end

  // ----------------------------------------------------------------------------------- execute
  state_e      state_q, state_d;
  logic        db_free;       // the doorbell register is empty or empties in this cycle
  logic        word_done;     // the word at the head is executed in this cycle
  logic        word_bad;      // ... and there is no such register
  logic [31:0] word_rdata;
  logic [1:0]  bad_now;
  logic        db_load, csr_load;
  logic        push_store, push_load;  // an eighth of a pushed entry, the last one
  logic        push_drop;              // a pushed entry stays incomplete
  logic [2:0]  slot;                   // the eighth that is written
  logic [2:0]  slot_q;                 // the next one of the entry that is being written, 0: none
  logic [9:0]  push_qp;
  logic        scratch_we, cycles_latch;
  logic        db_valid_q, csr_valid_q, push_valid_q;

  assign db_free = (~db_valid_q | db_ready_i) & (~push_valid_q | push_ready_i);
  assign slot    = head.addr[5:3];
  assign push_qp = 10'((head.addr - ubl_pkg::RegDbPush) >> 6);

  always_comb begin
    state_d       = state_q;
    word_done     = 1'b0;
    word_bad      = 1'b0;
    word_rdata    = '0;
    db_load       = 1'b0;
    csr_load      = 1'b0;
    push_store    = 1'b0;
    push_drop     = 1'b0;
    scratch_we    = 1'b0;
    cycles_latch  = 1'b0;
    msix_we_o     = 1'b0;
    fence_start_o = 1'b0;
    unique case (state_q)
      StRun: begin
        if (head_valid && db_free) begin
          // Anything but the next eighth ends the entry that is being written.
          push_drop = (slot_q != '0) & ~(hit_push & (slot == slot_q) & (push_qp == push_q.index[9:0]));
          if (hit_nic) begin
            csr_load = 1'b1;
            state_d  = StCsrReq;
          end else begin
            word_done = 1'b1;
            if (hit_host) begin
              word_rdata   = host_rdata;
              word_bad     = ~host_known | (head.write & ~host_writable);
              scratch_we   = host_known & head.write & host_writable;
              cycles_latch = ~head.write & (addr == ubl_pkg::RegHostCyclesLo);
            end else if (hit_push) begin
              push_store = (slot == '0) | ((slot == slot_q) & ~push_drop);
              word_bad   = ~push_store;
            end else if (hit_sq || hit_cq || hit_ctr) begin
              db_load  = head.write;
              word_bad = ~head.write;
            end else if (hit_table) begin
              word_rdata = msix_rdata_i;
              msix_we_o  = head.write;
            end else if (hit_pba) begin
              word_rdata = addr[2] ? msix_pba_i[63:32] : msix_pba_i[31:0];
              word_bad   = head.write;
            end else begin
              word_bad = 1'b1;
            end
          end
        end
      end
      StCsrReq: if (csr_req_ready_i) state_d = StCsrRsp;
      StCsrRsp: begin
        if (csr_rsp_valid_i) begin
          word_done  = 1'b1;
          word_bad   = csr_rsp_i.err;
          word_rdata = csr_rsp_i.rdata;
          state_d    = StRun;
        end
      end
      StFence: if (fence_done_i) state_d = StRun;
      default: state_d = StRun;
    endcase
    if (word_done && last_word && !head.write) begin
      state_d       = StFence;
      fence_start_o = 1'b1;
    end
  end

  assign bad_now = {1'b0, word_done & word_bad} + {1'b0, push_drop};

  assign half_d   = word_done ? ~last_word : half_q;
  assign head_pop = word_done & last_word;
  assign push_load = push_store & (slot == '1);

  assign msix_vec_o   = addr[9:4];
  assign msix_word_o  = addr[3:2];
  assign msix_wdata_o = wdata;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= StRun;
      half_q      <= 1'b0;
      scratch_q   <= ubl_pkg::RegHostScratchReset;
      cycles_hi_q <= '0;
      cnt_bad_q   <= '0;
    end else begin
      state_q <= state_d;
      half_q  <= half_d;
      if (scratch_we) scratch_q <= wdata;
      if (cycles_latch) cycles_hi_q <= now_i[63:32];
      // Saturates: all ones reads as "at least".
      if (cnt_bad_q >= 32'hFFFF_FFFE) cnt_bad_q <= cnt_bad_q | 32'(bad_now != '0);
      else                            cnt_bad_q <= cnt_bad_q + 32'(bad_now);
    end
  end

  // -------------------------------------------------------------------------------- doorbells
  ubl_pkg::doorbell_t db_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      db_valid_q <= 1'b0;
      db_q       <= '0;
    end else begin
      db_valid_q <= db_load | (db_valid_q & ~db_ready_i);
      if (db_load) begin
        if (hit_cq)       db_q.kind <= DbKindCq;
        else if (hit_ctr) db_q.kind <= DbKindCtr;
        else              db_q.kind <= addr[2] ? DbKindRq : DbKindSq;
        if (hit_cq)       db_q.index <= {10'h0, addr[8:3]};
        else if (hit_ctr) db_q.index <= 16'((addr - ubl_pkg::RegDbCtr) >> 2);
        else              db_q.index <= {6'h0, addr[12:3]};
        db_q.value <= wdata[15:0];
      end
    end
  end

  // --------------------------------------------------------------------------- pushed entries
  ubl_pkg::push_t push_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      push_valid_q <= 1'b0;
      slot_q       <= '0;
    end else begin
      push_valid_q <= push_load | (push_valid_q & ~push_ready_i);
      if (push_store)     slot_q <= slot + 3'd1;
      else if (push_drop) slot_q <= '0;
    end
  end

  // Written only when the entry before has been taken (db_free).
  always_ff @(posedge clk_i) begin
    if (push_store) begin
      push_q.index              <= {6'h0, push_qp};
      push_q.data[64*slot +: 64] <= head.data;
    end
  end

  assign push_valid_o = push_valid_q;
  assign push_o       = push_q;

  assign db_valid_o = db_valid_q;
  assign db_o       = db_q;

  // --------------------------------------------------------------------------------------- csr
  ubl_pkg::csr_req_t csr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      csr_valid_q <= 1'b0;
      csr_q       <= '0;
    end else begin
      csr_valid_q <= csr_load | (csr_valid_q & ~csr_req_ready_i);
      if (csr_load) begin
        csr_q.write <= head.write;
        csr_q.addr  <= addr[15:0] - NicBase[15:0];
        csr_q.wdata <= wdata;
      end
    end
  end

  assign csr_req_valid_o = csr_valid_q;
  assign csr_req_o       = csr_q;

  // ----------------------------------------------------------------------------------- answers
  ubl_pkg::mmio_rsp_t rsp_q;
  logic               rsp_valid_q;
  logic               err_so_far;  // an earlier word of this access was bad

  assign err_so_far = half_q & rsp_q.err;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rsp_valid_q <= 1'b0;
      rsp_q       <= '0;
    end else begin
      rsp_valid_q <= (state_q == StFence) & fence_done_i;
      if (word_done && !head.write) begin
        rsp_q.tag <= head.tag;
        rsp_q.err <= err_so_far | word_bad;
        if (err_so_far || word_bad) rsp_q.data <= '1;
        else if (half_q)            rsp_q.data <= {word_rdata, rsp_q.data[31:0]};
        else                        rsp_q.data <= {32'h0, word_rdata};
      end
    end
  end

  assign rsp_valid_o = rsp_valid_q;
  assign rsp_o       = rsp_q;

  `UBL_ASSUME(CsrAnswerExpected, !csr_rsp_valid_i || state_q == StCsrRsp)
  `UBL_ASSERT(OneCsrRequest, !(csr_load && csr_valid_q))
  `UBL_ASSERT(NoDoorbellOverrun, !(db_load && db_valid_q && !db_ready_i))
  `UBL_ASSERT(CsrBehindDoorbells, !(csr_valid_q && (db_valid_q || push_valid_q)))
  `UBL_ASSERT(DoorbellOrPush, !(db_valid_q && push_valid_q))

  assign idle_o = ~head_valid & (state_q == StRun) & ~db_valid_q & ~push_valid_q &
                  ~csr_valid_q & ~rsp_valid_q;

endmodule
