// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
//
// Words that travel between the parts of ubl_switch. Every word is 32 bits so that a bus of
// Radix words is word-aligned: a simulator moves it with plain loads and stores.

package ubl_switch_pkg;

  /// Bits of a port number (Radix <= 128).
  localparam int unsigned PortW = 7;
  /// Bits of a frame length in flits.
  localparam int unsigned LenW = 7;
  /// Bits of a buffer slot number within one input (3 x VcDepth + 2 <= 2048).
  localparam int unsigned SlotW = 11;
  /// Credit-tag of a slot that owes no credit.
  localparam logic [1:0] NoVc = 2'd3;

  /// A received flit after header parsing and route look-up.
  typedef struct packed {
    logic [PortW-1:0] out;      // output port (sop only)
    logic [LenW-1:0]  len;      // flits of the frame by its IP header (sop only)
    logic             len_bad;  // length outside 1..66 (sop only)
    logic             ok;       // header fits and a route exists (sop only)
    logic             ect;      // IP ECN field is ECT(0) (sop only)
    logic             sop;
    logic             eop;
    logic [1:0]       vc;
    logic [5:0]       empty;
    logic             valid;
  } rx_t;
  localparam int unsigned RxW = 28;

  /// A frame has begun to arrive: ingress to matcher.
  typedef struct packed {
    logic             ect;
    logic [PortW-1:0] out;
    logic [LenW-1:0]  len;
    logic [1:0]       vc;
    logic [SlotW-1:0] slot;     // where its first flit is
    logic             valid;
  } ev_t;
  localparam int unsigned EvW = 29;

  /// A frame may leave: matcher to ingress.
  typedef struct packed {
    logic             mark;     // set CE
    logic             rd;       // which of the two read ports takes it
    logic [PortW-1:0] out;
    logic [LenW-1:0]  len;
    logic [1:0]       vc;
    logic [SlotW-1:0] slot;
    logic             valid;
  } gnt_t;
  localparam int unsigned GntW = 30;

  /// One flit leaves the buffer: ingress to crossbar.
  typedef struct packed {
    logic             mark;
    logic [PortW-1:0] out;
    logic [SlotW-1:0] slot;
    logic             sop;
    logic             eop;
    logic [1:0]       vc;
    logic [5:0]       empty;
    logic             valid;
  } rd_t;
  localparam int unsigned RdW = 30;

  /// Faults and activity of an ingress, above rd_st_t in its status word.
  typedef struct packed {
    logic             busy;     // something here would change without new input
    logic             err_valid;
    logic [3:0]       err_code;
  } err_st_t;
  localparam int unsigned ErrStLsb = 18;
  localparam int unsigned ErrStW = 6;

  /// Read ports of an ingress.
  typedef struct packed {
    logic [LenW-1:0]  refund1;  // flits that were granted but will not come
    logic [LenW-1:0]  refund0;
    logic             trunc1;   // the frame on read port 1 ended early
    logic             trunc0;
    logic             end1;     // read port 1 takes the last flit of its frame in this cycle
    logic             end0;
  } rd_st_t;
  localparam int unsigned RdStW = 18;

endpackage
