// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records that travel between the engines inside nic_core. Nothing here is visible outside the
// block; what software and the other boxes see comes from ubl_pkg. Included, with a guard, by every
// module that names it, so that each module can be read on its own.

`ifndef NIC_CORE_PKG_SVH
`define NIC_CORE_PKG_SVH

// No module needs all of it.
/* verilator lint_off UNUSEDPARAM */
package nic_core_pkg;

  // Kinds of the initialisation bus driven by nic_csr.
  localparam logic [1:0] InitClear = 2'd0;   // after reset: forget everything at this index
  localparam logic [1:0] InitQp = 2'd1;      // write_qp
  localparam logic [1:0] InitError = 2'd2;   // set_error (requester only)

  // Scheduling class of a fetched work request: which credit it needs.
  localparam logic [1:0] ClsReq = 2'd1;   // a descriptor slot of VC req
  localparam logic [1:0] ClsBulk = 2'd2;  // a descriptor slot of VC bulk
  localparam logic [1:0] ClsFree = 2'd3;  // none: completes without a packet
  // With it a slot's class has a kind (packets of two kinds are never outstanding together), a bit for
  // a fence and one for an entry that is quiet: if it completes ok, nobody is told and nothing counts.
  localparam int unsigned ClassBits = 6;
  localparam int unsigned ClassFence = 4;
  localparam int unsigned ClassQuiet = 5;
  localparam logic [1:0] KindPlain = 2'd0;
  localparam logic [1:0] KindRead = 2'd1;
  localparam logic [1:0] KindOrdered = 2'd2;
  localparam logic [1:0] KindAtomic = 2'd3;

  // Widths of the records below, in bits (yosys cannot ask for the size of a package's type).
  localparam int unsigned CtrW = 8;  // of a counter's index (a package of yosys sees no other)
  localparam int unsigned QcfgBits = 257 + CtrW;
  localparam int unsigned MrBits = 151;
  localparam int unsigned CqcfgBits = 86;
  localparam int unsigned WentBits = 473 + CtrW;
  localparam int unsigned BumpBits = 33 + CtrW;
  localparam int unsigned CplBits = 225;
  localparam int unsigned LogBits = 56;
  localparam int unsigned ErrevBits = 32;
  localparam int unsigned NoteBits = 57;

  // QP configuration: written by write_qp, read by every engine.
  typedef struct packed {
    logic [15:0] epoch;  // counts write_qp; in-flight work of an older one is recognised and dropped
    logic [7:0] planes;
    logic [3:0] sq_log2;
    logic [7:0] pd;
    logic [15:0] remote_node;
    logic [7:0] scq;
    logic [7:0] rcq;
    logic [23:0] remote_qpn;
    logic [63:0] sq_base;
    logic [9:0] window;
    logic [9:0] cwnd;  // first congestion window, 0: none
    logic [1:0] mtu;
    logic [3:0] retry;
    logic [3:0] rnr_retry;
    logic rq_ring;
    logic imm_ctr;
    logic err_ctr_v;
    logic [CtrW-1:0] err_ctr;
    logic [3:0] rq_log2;
    logic [63:0] rq_base;
  } qcfg_t;

  // Memory region.
  typedef struct packed {
    logic valid;
    logic local_read;
    logic remote_write;
    logic remote_reduce;
    logic local_write;
    logic remote_read;
    logic remote_atomic;
    logic [7:0] key;
    logic [7:0] pd;
    logic [63:0] base;
    logic [63:0] length;
  } mr_t;

  // CQ configuration.
  typedef struct packed {
    logic valid;
    logic irq_en;
    logic [3:0] log2;
    logic [15:0] msix;
    logic [63:0] base;
  } cqcfg_t;

  // Work request as kept in the prefetch store.
  typedef struct packed {
    logic err;  // the ring entry could not be read
    logic bad;  // opcode, reserved bits, VC, REDUCE type or counter not allowed
    logic [7:0] opcode;
    logic signalled;
    logic fence;
    logic ordered;
    logic inl;   // the payload is in operand
    logic bump;  // its completion counts in ctr
    logic [1:0] vc;
    logic [3:0] red_op;
    logic [3:0] red_dtype;
    logic [31:0] length;
    logic [63:0] laddr;
    logic [63:0] raddr;
    logic [31:0] lkey;
    logic [31:0] rkey;
    logic [31:0] imm;
    logic [63:0] wr_id;
    logic [CtrW-1:0] ctr;
    logic [127:0] operand;
  } went_t;

  // A count on its way to nic_trigger.
  typedef struct packed {
    logic [CtrW-1:0] ctr;
    logic fail;
    logic [31:0] add;
  } bump_t;

  // Completion on its way to nic_completer.
  typedef struct packed {
    logic [15:0] qpn;
    logic [15:0] epoch;
    logic [7:0] cq;
    logic [63:0] wr_id;
    logic [31:0] byte_len;
    logic [31:0] imm;
    logic [7:0] opcode;
    logic [7:0] status;
    logic recv;
    logic [15:0] sq_head;
    logic [23:0] psn;
  } cpl_t;

  // Error log entry.
  typedef struct packed {
    logic [7:0] cause;
    logic [7:0] plane;
    logic [15:0] qpn;
    logic [23:0] psn;
  } log_t;

  // "Move this QP to error", ignored if the QP was rewritten since.
  typedef struct packed {
    logic [15:0] qpn;
    logic [15:0] epoch;
  } errev_t;

  // Outcome of a receive completion, nic_completer to nic_responder.
  typedef struct packed {
    logic [15:0] qpn;
    logic [15:0] epoch;
    logic fail;
    logic [23:0] psn;
  } note_t;

endpackage
/* verilator lint_on UNUSEDPARAM */

`endif  // NIC_CORE_PKG_SVH
