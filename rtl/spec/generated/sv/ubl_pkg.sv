// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// generated from rtl/spec/fabric.yaml, rtl/spec/host.yaml, rtl/spec/link.yaml, rtl/spec/nic.yaml by rtl/spec/gen/generate, do not edit

// A design uses a part of the contract; the rest being unused is the normal case.
/* verilator lint_off UNUSEDPARAM */
// Members of packed structs (`vector`) never become C++ names.
/* verilator lint_off SYMRSVDWORD */
package ubl_pkg;
  // ---------------------------------------------------------------------------------------------
  // fabric
  // Switch of one plane (rtl/fabric/ubl_switch): error codes, and the words that travel between its
  // parts. Each word has a lane of 32 bits, so that a bus of Radix words is word-aligned and a
  // simulator moves it with plain loads and stores.

  localparam int unsigned FabricPortBits = 7;  // bits of a port number (at most 128 ports)
  localparam int unsigned FabricLenBits = 7;  // bits of a frame length in flits
  // bits of a buffer slot number within one input (3 x depth + 2 <= 2048)
  localparam int unsigned FabricSlotBits = 11;
  // switch_err_st lies above switch_rd_st in the status lane of an input
  localparam int unsigned FabricErrLsb = 18;
  localparam logic [1:0] FabricNoVc = 2'h3;  // credit tag of a slot that owes no credit

  // What a switch port reports on err_code_o. Everything that is dropped is reported once.
  typedef enum logic [3:0] {
    // frame dropped: EtherType, IP network or plane does not fit, or the node has no route
    SwitchErrNoRoute = 4'h1,
    SwitchErrNoSop = 4'h2,  // flit dropped: outside a frame and not the first of one
    // a frame began before the last one had ended; the old one is cut, the new one dropped
    SwitchErrSopInFrame = 4'h3,
    SwitchErrOverflow = 4'h4,  // flit without a credit, or no buffer; the frame is dropped or cut
    // frame length differs from its IP header (cut and stomped), or is not 1..66 flits (dropped)
    SwitchErrLength = 4'h5,
    SwitchErrVc = 4'h6,  // virtual channel 3, or it changed within a frame
    SwitchErrCredit = 4'h7,  // the receiver returned a credit that it never held
    SwitchErrFcs = 4'h8,  // the FCS of a whole frame is wrong; it leaves stomped
    // a frame that a switch before has found bad and stomped; it leaves stomped
    SwitchErrStomped = 4'h9
  } switch_err_e;

  // a received flit after header parsing and route look-up; out to ect are of the first flit only
  typedef struct packed {
    // first flit is the last one, too, and its unused bytes are not those by the IP header
    logic empty_bad;
    logic [6:0] out;  // output port
    logic [6:0] len;  // flits of the frame by its IP header
    logic len_bad;  // that length is outside 1..66
    logic ok;  // the header fits and a route exists
    logic ect;  // ECN field is ECT(0)
    logic sop;  // first flit
    logic eop;  // last flit
    logic [1:0] vc;  // virtual channel
    // unused bytes of the last flit; with the first flit: by the IP header, else as received
    logic [5:0] empty;
    logic valid;  // a flit is present
  } switch_rx_t;
  localparam int unsigned SwitchRxBits = 29;

  // what an input does with a flit that arrives now
  typedef struct packed {
    logic [5:0] empty;  // unused bytes of the open frame's last flit by its IP header
    logic last;  // by the IP header the open frame ends with this flit
    logic close;  // a flit was lost: whatever is in the slot will close the frame
    logic open;  // the flit belongs to the open frame
    logic [10:0] slot;  // slot that it is written to
  } switch_wr_t;
  localparam int unsigned SwitchWrBits = 20;

  // the last flit of a frame was stored
  typedef struct packed {
    logic cut;  // the frame is not what its IP header says; reported already
    logic [5:0] empty;  // unused bytes as they will be sent
    logic [10:0] slot;  // where the flit is
    logic valid;  // a frame ended
  } switch_end_t;
  localparam int unsigned SwitchEndBits = 19;

  // a stored last flit is to be stomped before it leaves
  typedef struct packed {
    logic [5:0] empty;  // its unused bytes
    logic [10:0] slot;  // where it is
    logic valid;  // there is one
  } switch_stomp_t;
  localparam int unsigned SwitchStompBits = 18;

  // a frame has begun to arrive (input to matcher)
  typedef struct packed {
    logic ect;  // ECN field is ECT(0)
    logic [6:0] out;  // output port
    logic [6:0] len;  // flits of the frame
    logic [1:0] vc;  // virtual channel
    logic [10:0] slot;  // where its first flit is
    logic valid;  // a frame began
  } switch_ev_t;
  localparam int unsigned SwitchEvBits = 29;

  // a frame may leave (matcher to input)
  typedef struct packed {
    logic mark;  // set CE
    logic rd;  // the read port that takes it
    logic [6:0] out;  // output port
    logic [6:0] len;  // flits of the frame
    logic [1:0] vc;  // virtual channel
    logic [10:0] slot;  // where its first flit is
    logic valid;  // a frame is granted
  } switch_gnt_t;
  localparam int unsigned SwitchGntBits = 30;

  // a flit leaves the buffer (input to crossbar)
  typedef struct packed {
    logic mark;  // set CE; first flit only
    logic [6:0] out;  // output port
    logic [10:0] slot;  // where the flit is
    logic sop;  // first flit
    logic eop;  // last flit
    logic [1:0] vc;  // virtual channel
    logic [5:0] empty;  // unused bytes of the last flit
    logic valid;  // a flit leaves
  } switch_rd_t;
  localparam int unsigned SwitchRdBits = 30;

  // faults and activity of an input
  typedef struct packed {
    logic ended;  // switch_end is valid
    logic busy;  // something here would change without new input
    logic err_valid;  // an error is reported
    logic [3:0] err_code;  // switch_err
  } switch_err_st_t;
  localparam int unsigned SwitchErrStBits = 7;

  // the two read ports of an input
  typedef struct packed {
    logic [6:0] refund1;  // flits that were granted but will not come
    logic [6:0] refund0;  // the same of read port 0
    logic trunc1;  // the frame on read port 1 ended early
    logic trunc0;  // the same of read port 0
    logic end1;  // read port 1 takes the last flit of its frame in this cycle
    logic end0;  // the same of read port 0
  } switch_rd_st_t;
  localparam int unsigned SwitchRdStBits = 18;

  // ---------------------------------------------------------------------------------------------
  // host
  // The card's PCIe function: BAR0 registers (trapped), BAR2 HBM aperture (mapped, does not pass
  // host_if), BAR4 doorbells and the MSI-X table.

  // vendor id (not assigned by PCI-SIG; model only)
  localparam logic [15:0] HostPciVendor = 16'h1d55;
  localparam logic [15:0] HostPciDevice = 16'h0b1c;  // device id
  localparam int unsigned HostBar0Bytes = 65536;  // register BAR
  localparam logic [63:0] HostBar2Bytes = 64'h0000000200000000;  // HBM aperture, 8 GiB
  localparam int unsigned HostBar4Bytes = 1048576;  // doorbell BAR
  // HBM of a card: 5 GiB at card address 0 = BAR2 offset 0
  localparam logic [63:0] HostHbmBytes = 64'h0000000140000000;
  localparam int unsigned HostNumMsix = 64;  // MSI-X vectors

  // host access to a BAR; 4 or 8 bytes, naturally aligned
  typedef struct packed {
    logic write;  // 1: posted write; 0: read
    logic [2:0] bar;  // 0 or 4
    logic [31:0] addr;  // offset in the BAR
    logic size8;  // 1: 8 bytes, 0: 4 bytes
    logic [7:0] tag;  // returned by a read
    logic [63:0] data;  // write data
  } mmio_req_t;
  localparam int unsigned MmioReqBits = 109;

  // answer to a read, in order
  typedef struct packed {
    logic [7:0] tag;  // of the request
    logic err;  // no such register: unsupported request, data all ones
    logic [63:0] data;  // data
  } mmio_rsp_t;
  localparam int unsigned MmioRspBits = 73;

  // Registers of host: BAR0, base 0x0
  // function registers
  localparam logic [31:0] RegHostId = 32'h00000000;  // ro: ASCII 0UBL, little-endian
  localparam logic [31:0] RegHostIdReset = 32'h4c425530;
  localparam logic [31:0] RegHostNode = 32'h00000004;  // ro: node number of this card (strap)
  localparam logic [31:0] RegHostScratch = 32'h00000008;  // rw: free for software
  localparam logic [31:0] RegHostScratchReset = 32'h00000000;
  localparam logic [31:0] RegHostStatus = 32'h0000000c;  // ro: status
  localparam int unsigned RegHostStatusBmeLsb = 0;  // bus-master enable of the configuration space
  localparam int unsigned RegHostStatusBmeBits = 1;
  // ro: device time in cycles, low word (latches the high word)
  localparam logic [31:0] RegHostCyclesLo = 32'h00000010;
  localparam logic [31:0] RegHostCyclesHi = 32'h00000014;  // ro: high word latched by cycles_lo
  // ro: words accessed that do not exist, are read-only and written, or write-only and read; stops
  // at all ones
  localparam logic [31:0] RegHostCntMmioBad = 32'h00000018;
  // ro: host accesses and interrupts of the card held back because bus mastering is off, or of an
  // unknown kind or vector; stops at all ones
  localparam logic [31:0] RegHostCntDmaBlocked = 32'h0000001c;

  // Registers of db: BAR4, base 0x0
  // doorbells, write only, one 32-bit word each; bits 15:0 are the new index
  localparam logic [31:0] RegDbSq = 32'h00000000;  // wo: send ring tail of QP n
  localparam int unsigned RegDbSqStride = 8;
  localparam int unsigned RegDbSqCount = 1024;
  // wo: receives posted on QP n (free-running total)
  localparam logic [31:0] RegDbRq = 32'h00000004;
  localparam int unsigned RegDbRqStride = 8;
  localparam int unsigned RegDbRqCount = 1024;
  localparam logic [31:0] RegDbCq = 32'h00004000;  // wo: consumer index of CQ n
  localparam int unsigned RegDbCqStride = 8;
  localparam int unsigned RegDbCqCount = 64;
  localparam logic [31:0] RegDbCtr = 32'h00004400;  // wo: number added to success of counter n
  localparam int unsigned RegDbCtrStride = 4;
  localparam int unsigned RegDbCtrCount = 256;
  // wo: first of the 64 bytes of a send ring entry of QP n: 8 writes of 8 bytes, in order
  localparam logic [31:0] RegDbPush = 32'h00040000;
  localparam int unsigned RegDbPushStride = 64;
  localparam int unsigned RegDbPushCount = 1024;

  // Registers of msix: BAR4, base 0x10000
  // MSI-X table and pending bits, each in a page of its own
  localparam logic [31:0] RegMsixAddrLo = 32'h00010000;  // rw: message address
  localparam int unsigned RegMsixAddrLoStride = 16;
  localparam int unsigned RegMsixAddrLoCount = 64;
  localparam logic [31:0] RegMsixAddrLoReset = 32'h00000000;
  localparam logic [31:0] RegMsixAddrHi = 32'h00010004;  // rw: message address, high word
  localparam int unsigned RegMsixAddrHiStride = 16;
  localparam int unsigned RegMsixAddrHiCount = 64;
  localparam logic [31:0] RegMsixAddrHiReset = 32'h00000000;
  localparam logic [31:0] RegMsixData = 32'h00010008;  // rw: message data
  localparam int unsigned RegMsixDataStride = 16;
  localparam int unsigned RegMsixDataCount = 64;
  localparam logic [31:0] RegMsixDataReset = 32'h00000000;
  localparam logic [31:0] RegMsixCtrl = 32'h0001000c;  // rw: vector control
  localparam int unsigned RegMsixCtrlStride = 16;
  localparam int unsigned RegMsixCtrlCount = 64;
  localparam logic [31:0] RegMsixCtrlReset = 32'h00000001;
  localparam int unsigned RegMsixCtrlMaskLsb = 0;  // 1: masked; a masked interrupt stays pending
  localparam int unsigned RegMsixCtrlMaskBits = 1;
  localparam logic [31:0] RegMsixPba = 32'h00011000;  // ro: pending bits
  localparam int unsigned RegMsixPbaStride = 4;
  localparam int unsigned RegMsixPbaCount = 2;

  // ---------------------------------------------------------------------------------------------
  // link
  // What travels on one link. A frame starts on a flit boundary and occupies ceil((frame + FCS) /
  // 64) flits. Byte 0 of a frame is data[7:0] of its first flit (little-endian lanes), so a frame
  // in memory is the flits' data in order.

  // bytes of one flit (one cycle of a 400 Gb/s port at 781.25 MHz)
  localparam int unsigned LinkFlitBytes = 64;
  localparam int unsigned LinkFlitBits = 512;  // bits of one flit
  localparam int unsigned LinkNumVc = 3;  // virtual channels of a link
  // flits a receiver buffers per virtual channel = initial credits of the sender: one credit round
  // trip (2 x 150 ns of cable and half of the switch's 250 ns, 333 cycles), the longest frame twice
  // (credits for a whole frame; store and forward in a NIC) and the receiver's pipeline
  localparam int unsigned LinkVcDepth = 512;
  localparam int unsigned LinkClockPs = 1280;  // clock period in picoseconds (781.25 MHz)
  localparam int unsigned LinkMaxPlanes = 8;  // planes (ports) of a card
  localparam int unsigned LinkMtu = 4096;  // largest payload of a packet in bytes
  // flits of the longest frame (4096 B payload, all headers, ICRC, FCS)
  localparam int unsigned LinkMaxFrameFlits = 66;
  localparam int unsigned LinkEthBytes = 14;  // Ethernet header
  localparam int unsigned LinkIpBytes = 20;  // IPv4 header without options
  localparam int unsigned LinkUdpBytes = 8;  // UDP header
  localparam int unsigned LinkBthBytes = 12;  // InfiniBand base transport header
  localparam int unsigned LinkRethBytes = 16;  // RDMA extended transport header
  localparam int unsigned LinkAethBytes = 4;  // ACK extended transport header
  localparam int unsigned LinkImmdtBytes = 4;  // immediate data header
  localparam int unsigned LinkAtomicethBytes = 28;  // atomic extended transport header
  // atomic acknowledgement extended transport header
  localparam int unsigned LinkAtomicackethBytes = 8;
  localparam int unsigned LinkRedhBytes = 4;  // vendor REDUCE header
  localparam int unsigned LinkSendhBytes = 12;  // vendor SEND header
  localparam int unsigned LinkSackhBytes = 52;  // vendor selective acknowledgement header
  localparam int unsigned LinkIcrcBytes = 4;  // invariant CRC
  localparam int unsigned LinkFcsBytes = 4;  // Ethernet frame check sequence
  localparam logic [15:0] LinkEtherTypeIpv4 = 16'h0800;  // EtherType
  localparam logic [15:0] LinkUdpPortRoce = 16'h12b7;  // UDP destination port of RoCEv2
  localparam logic [15:0] LinkUdpSportBase = 16'hc000;  // UDP source port = base | source QPN[13:0]
  localparam logic [7:0] LinkIpTtl = 8'h40;  // IPv4 time to live
  localparam logic [7:0] LinkIpProtocolUdp = 8'h11;  // IPv4 protocol
  // first octet of every address: 10.plane.node[15:8].node[7:0]
  localparam logic [7:0] LinkIpNet = 8'h0a;
  // first two octets of every MAC: 02:55:00:plane:node[15:8]:node[7:0]
  localparam logic [15:0] LinkMacPrefix = 16'h0255;
  localparam logic [15:0] LinkIpFlagsDf = 16'h4000;  // IPv4 flags/fragment word: do not fragment
  localparam logic [15:0] LinkPkeyDefault = 16'hffff;  // partition key
  // reflected CRC-32 polynomial of both FCS and ICRC
  localparam logic [31:0] LinkCrc32Poly = 32'hedb88320;

  // virtual channel, in falling priority rsp > req > bulk
  typedef enum logic [1:0] {
    VcReq = 2'h0,  // small requests
    VcRsp = 2'h1,  // acknowledgements and replies; a receiver always drains it
    VcBulk = 2'h2  // bulk payload
  } vc_e;

  // IPv4 ECN code points
  typedef enum logic [1:0] {
    EcnNotEct = 2'h0,  // not ECN capable
    EcnEct1 = 2'h1,  // ECN capable (1)
    EcnEct0 = 2'h2,  // ECN capable (0); what a NIC sends on requests
    EcnCe = 2'h3  // congestion experienced
  } ecn_e;

  // BTH opcode. Every WRITE and REDUCE packet is an "only" packet with its own RETH, so it can be
  // placed when it arrives; every SEND packet has a SENDH for the same purpose. A READ is cut in
  // the same way; each request is answered by one response with its PSN.
  typedef enum logic [7:0] {
    PktOpSend = 8'h04,  // RC SEND Only: BTH SENDH payload
    // RC SEND Only with Immediate: BTH ImmDt SENDH payload; the last packet of its message
    PktOpSendImm = 8'h05,
    PktOpWrite = 8'h0a,  // RC RDMA WRITE Only: BTH RETH payload
    PktOpWriteImm = 8'h0b,  // RC RDMA WRITE Only with Immediate: BTH RETH ImmDt payload
    // RC RDMA READ Request: BTH RETH; RETH length = bytes wanted, at most the MTU; travels on VC
    // req
    PktOpReadRequest = 8'h0c,
    // RC RDMA READ Response Only: BTH AETH payload; PSN of the request; travels on VC bulk
    PktOpReadResponse = 8'h10,
    // RC Acknowledge: BTH AETH SACKH; PSN: all up to it are placed (a NAK: the packet it is about,
    // all before are placed)
    PktOpAck = 8'h11,
    // RC Atomic Acknowledge: BTH AETH AtomicAckETH; PSN of the request; travels on VC bulk
    PktOpAtomicResponse = 8'h12,
    PktOpCompareSwap = 8'h13,  // RC Compare Swap: BTH AtomicETH; travels on VC req
    PktOpFetchAdd = 8'h14,  // RC Fetch Add: BTH AtomicETH; travels on VC req
    PktOpReduce = 8'hc0,  // vendor REDUCE: BTH RETH REDH payload
    PktOpReduceImm = 8'hc1  // vendor REDUCE with Immediate: BTH RETH REDH ImmDt payload
  } pkt_op_e;

  // AETH syndrome
  typedef enum logic [7:0] {
    SyndromeAck = 8'h1f,  // acknowledge, no end-to-end credit
    SyndromeRnr = 8'h20,  // receiver not ready
    SyndromeNakInvalid = 8'h61,  // invalid request
    SyndromeNakAccess = 8'h62,  // remote access error
    SyndromeNakOper = 8'h63  // remote operational error
  } syndrome_e;

  // REDUCE operation
  typedef enum logic [3:0] {
    RedOpAdd = 4'h0,  // sum
    RedOpMin = 4'h1,  // the smaller one; NaN if either is NaN
    RedOpMax = 4'h2  // the larger one; NaN if either is NaN
  } red_op_e;

  // REDUCE element type
  typedef enum logic [3:0] {
    RedTypeF32 = 4'h0,  // IEEE binary32, RNE, canonical NaN
    RedTypeF16 = 4'h1,  // IEEE binary16, RNE, canonical NaN
    RedTypeBf16 = 4'h2,  // bfloat16, RNE, canonical NaN
    RedTypeI32 = 4'h3  // 32-bit two's complement, sums modulo 2^32
  } red_type_e;

  // what FP32 elements are on the wire; sw/numerics/README.md, Wire formats
  typedef enum logic [2:0] {
    WireFormatNone = 3'h0,  // FP32, the bits as they are
    WireFormatFp16 = 3'h1,  // IEEE binary16
    WireFormatBf16 = 3'h2,  // bfloat16
    WireFormatE4m3 = 3'h3,  // OFP8 E4M3
    WireFormatE5m2 = 3'h4,  // OFP8 E5M2
    WireFormatInt4 = 3'h5,  // 4-bit integers, a scale for each 32 elements
    // 2 of each 4 elements as 4-bit integers, a scale for each 64 elements
    WireFormatSparse8 = 3'h6,
    WireFormatTopk = 3'h7  // FP32 elements of at least a threshold, and a mask
  } wire_format_e;

  // Ethernet II header
  // 14 bytes, big endian
  typedef struct packed {
    logic [47:0] dst_mac;  // destination
    logic [47:0] src_mac;  // source
    logic [15:0] ether_type;  // 0x0800
  } eth_t;
  localparam int unsigned EthBytes = 14;

  // IPv4 header. DSCP is the virtual channel times 8, so a capture shows it.
  // 20 bytes, big endian
  typedef struct packed {
    logic [3:0] version;  // 4
    logic [3:0] ihl;  // 5
    logic [5:0] dscp;  // 8 x vc
    logic [1:0] ecn;  // ECN
    logic [15:0] total_length;  // IP header to ICRC inclusive
    logic [15:0] identification;  // 0
    logic [15:0] flags;  // 0x4000
    logic [7:0] ttl;  // 64
    logic [7:0] protocol;  // 17
    logic [15:0] checksum;  // header checksum
    logic [31:0] src;  // source address
    logic [31:0] dst;  // destination address
  } ipv4_t;
  localparam int unsigned Ipv4Bytes = 20;

  // UDP header
  // 8 bytes, big endian
  typedef struct packed {
    logic [15:0] sport;  // 0xC000 | source QPN
    logic [15:0] dport;  // 4791
    logic [15:0] length;  // UDP header to ICRC inclusive
    logic [15:0] checksum;  // 0: unused
  } udp_t;
  localparam int unsigned UdpBytes = 8;

  // InfiniBand base transport header
  // 12 bytes, big endian
  typedef struct packed {
    logic [7:0] opcode;  // operation
    logic solicited;  // solicited event
    logic migreq;  // migration, sent as 0
    logic [1:0] pad;  // bytes of zero padding after the payload
    logic [3:0] tver;  // 0
    logic [15:0] pkey;  // 0xFFFF
    logic fecn;  // forward congestion, 0
    logic becn;  // on an acknowledgement: a packet since the last one carried CE
    logic [5:0] rsvd_0;  // reserved, zero
    logic [23:0] dest_qp;  // destination QPN
    logic ack_req;  // acknowledgement requested
    // SEND and immediates: receives that earlier messages of the QP consumed, modulo 128; else 0.
    // (In the specification these bits are reserved.)
    logic [6:0] rnum;
    logic [23:0] psn;  // packet sequence number
  } bth_t;
  localparam int unsigned BthBytes = 12;

  // RDMA extended transport header; address and length of this packet's own payload
  // 16 bytes, big endian
  typedef struct packed {
    logic [63:0] va;  // remote card address
    logic [31:0] rkey;  // remote key
    logic [31:0] length;  // payload bytes of this packet; READ request: bytes wanted
  } reth_t;
  localparam int unsigned RethBytes = 16;

  // vendor SEND header, in every SEND packet, behind an ImmDt if there is one. The packet is the
  // last of its message if offset + payload = length.
  // 12 bytes, big endian
  typedef struct packed {
    logic [7:0] rsvd_0;  // reserved, zero
    // message number: receives that earlier messages of the QP consumed, modulo 2^24
    logic [23:0] number;
    logic [31:0] offset;  // where this packet's payload starts in the message
    logic [31:0] length;  // bytes of the message
  } sendh_t;
  localparam int unsigned SendhBytes = 12;

  // vendor REDUCE header
  // 4 bytes, big endian
  typedef struct packed {
    logic [3:0] op;  // operation
    logic [3:0] dtype;  // element type
    logic [6:0] rsvd_0;  // reserved, zero
    logic ordered;  // to be applied behind all packets of the QP with lower PSN
    logic [15:0] rsvd_1;  // reserved, zero
  } redh_t;
  localparam int unsigned RedhBytes = 4;

  // immediate data
  // 4 bytes, big endian
  typedef struct packed {
    logic [31:0] imm;  // value handed to the receiver's completion
  } immdt_t;
  localparam int unsigned ImmdtBytes = 4;

  // atomic extended transport header
  // 28 bytes, big endian
  typedef struct packed {
    logic [63:0] va;  // remote card address, a multiple of 8
    logic [31:0] rkey;  // remote key
    logic [63:0] swap_add;  // number to add, or new value
    logic [63:0] compare;  // compare_swap: value to compare with; fetch_add: 0
  } atomiceth_t;
  localparam int unsigned AtomicethBytes = 28;

  // atomic acknowledgement extended transport header
  // 8 bytes, big endian
  typedef struct packed {
    logic [63:0] original;  // value before
  } atomicacketh_t;
  localparam int unsigned AtomicackethBytes = 8;

  // ACK extended transport header
  // 4 bytes, big endian
  typedef struct packed {
    logic [7:0] syndrome;  // kind
    logic [23:0] msn;  // messages completed by the responder, modulo 2^24
  } aeth_t;
  localparam int unsigned AethBytes = 4;

  // vendor header of an acknowledgement, behind AETH. done = the first PSN not placed.
  // 52 bytes, big endian
  typedef struct packed {
    // plane 0: s > 0: done + s - 1 is the highest PSN at or behind done that came by this plane and
    // was placed or dropped; 0: there is none
    logic [15:0] seen0;
    logic [15:0] seen1;  // plane 1
    logic [15:0] seen2;  // plane 2
    logic [15:0] seen3;  // plane 3
    logic [15:0] seen4;  // plane 4
    logic [15:0] seen5;  // plane 5
    logic [15:0] seen6;  // plane 6
    logic [15:0] seen7;  // plane 7
    // bytes 16..47 are 256 bits: bit i % 8 of byte 16 + i / 8 is PSN (done & ~63) + i: 1 = placed;
    // bits below done are 1
    logic [63:0] placed0;
    logic [63:0] placed1;  // bits 64..
    logic [63:0] placed2;  // bits 128..
    logic [63:0] placed3;  // bits 192..
    // mask of planes on which a packet of the QP carried CE since the last acknowledgement
    logic [7:0] ce_planes;
    logic [7:0] ce_count;  // how many, at most 255
    logic [15:0] rsvd_0;  // reserved, zero
  } sackh_t;
  localparam int unsigned SackhBytes = 52;

  // one cycle of one link direction
  typedef struct packed {
    logic valid;  // a flit is present
    logic sop;  // first flit of a frame
    logic eop;  // last flit of a frame
    logic [1:0] vc;  // virtual channel of the frame
    // unused bytes at the end of the eop flit, 0 elsewhere; unused bytes are zero
    logic [5:0] empty;
    logic [511:0] data;  // payload, byte 0 in bits 7:0
  } flit_t;
  localparam int unsigned FlitBits = 523;

  // ---------------------------------------------------------------------------------------------
  // nic
  // The RDMA NIC. nic_core holds QP, CQ and MR tables, fetches work requests, cuts messages into
  // packets, keeps sequence numbers and writes completions; one nic_port per plane builds and
  // checks frames and moves payload between the link and mem_if.

  localparam int unsigned NicNumQp = 1024;  // queue pairs of a card
  localparam int unsigned NicNumCq = 64;  // completion queues of a card
  localparam int unsigned NicNumMr = 256;  // memory regions of a card
  localparam int unsigned NicWqeShift = 6;  // log2 of the bytes of a work queue entry
  localparam int unsigned NicCqeShift = 6;  // log2 of the bytes of a completion queue entry
  localparam int unsigned NicMaxRingLog2 = 12;  // largest log2 of ring entries
  localparam int unsigned NicAckEvery = 16;  // packets between acknowledgements in steady state
  localparam int unsigned NicHostIovaBit = 63;  // address bit that selects host memory
  localparam int unsigned NicNumMsix = 64;  // MSI-X vectors
  // messages of a QP in flight, and ring entries read ahead; later entries wait in the ring
  localparam int unsigned NicMaxOutstanding = 32;
  // packets of a QP in flight: 8 planes at line rate with MTU 1024 over a round trip of 1.3 us,
  // with MTU 4096 over 5 us
  localparam int unsigned NicMaxWindow = 512;
  localparam int unsigned NicSackBits = 256;  // PSNs an acknowledgement reports one by one
  // packets lost in a row after which a plane counts as down
  localparam int unsigned NicPlaneFail = 32;
  // for how many of them a time-out counts at which only some planes lack acknowledgements
  localparam int unsigned NicTimeoutFail = 8;
  // READ packets of a QP in flight: what a responder must be able to keep; more than a round trip
  // at line rate
  localparam int unsigned NicMaxReads = 32;
  localparam int unsigned NicNumCtr = 256;  // counters of a card
  localparam int unsigned NicMaxInline = 16;  // payload bytes an entry can carry itself
  // entries of send rings being read at a time: one per 1.5 cycles over a read of 600 ns
  localparam int unsigned NicSqTags = 512;
  localparam int unsigned NicCwndFrac = 6;  // fraction bits of a congestion window
  localparam int unsigned NicDefaultCcStep = 64;  // one packet in a round trip
  // bytes that a packet counts for besides its payload: two flits
  localparam int unsigned NicPaceHeader = 128;
  localparam int unsigned NicPaceEarly = 32;  // cycles by which a packet may start before its time
  // cycles without progress before packets are sent again (21 us): several round trips through full
  // queues
  localparam int unsigned NicDefaultTimeout = 16384;
  // cycles before a request is sent again to a receiver that was not ready (10.5 us)
  localparam int unsigned NicDefaultRnrTimer = 8192;
  // packets by which planes may differ before one counts as silent: more than descriptors and
  // buffers of one plane hold
  localparam int unsigned NicDefaultReorder = 192;
  // cycles after which a plane that is down is tried again (1 ms)
  localparam int unsigned NicDefaultPlaneProbe = 781250;

  // work request opcode
  typedef enum logic [7:0] {
    WqeOpNop = 8'h00,  // completes without a packet, in order
    WqeOpWrite = 8'h01,  // write local bytes to remote memory
    WqeOpWriteImm = 8'h02,  // WRITE whose last packet raises a receive completion
    WqeOpReduce = 8'h03,  // combine local elements into remote memory
    WqeOpReduceImm = 8'h04,  // REDUCE whose last packet raises a receive completion
    WqeOpRead = 8'h05,  // read remote bytes into local memory; VC req
    WqeOpSend = 8'h06,  // send local bytes into the peer's next receive buffer
    WqeOpSendImm = 8'h07,  // SEND with immediate data
    WqeOpRecv = 8'h08,  // receive buffer; only in a receive ring
    WqeOpFetchAdd = 8'h09,  // add to remote 8 bytes, bring the old value; VC req
    // replace remote 8 bytes if they are equal, bring the old value; VC req
    WqeOpCompareSwap = 8'h0a,
    WqeOpWait = 8'h0b  // hold the ring until counter imm has reached length
  } wqe_op_e;

  // completion status
  typedef enum logic [7:0] {
    CqeStatusOk = 8'h00,  // done
    CqeStatusLocalProtection = 8'h01,  // lkey, bounds or rights of the local buffer
    // length not allowed (REDUCE not a multiple of the element, inline above max_inline, atomic not
    // 8); receive side: the message is longer than the buffer
    CqeStatusLocalLength = 8'h02,
    // unknown opcode, reserved bits set, or a counter that does not exist
    CqeStatusBadOpcode = 8'h03,
    CqeStatusRemoteAccess = 8'h04,  // rkey, bounds or rights refused by the responder
    CqeStatusRemoteInvalid = 8'h05,  // request refused by the responder
    CqeStatusRemoteOperation = 8'h06,  // the responder could not write its memory
    CqeStatusTimeout = 8'h08,  // no acknowledgement, however often sent again
    CqeStatusRnr = 8'h09,  // receiver not ready, however often asked
    CqeStatusFlushed = 8'h0a,  // the QP is in error; the request was not, or only partly, executed
    CqeStatusCounterFailed = 8'h0c,  // the counter that a wait waited for has a failure
    // reading the local buffer or the ring failed; receive side: reading the ring failed
    CqeStatusLocalMemory = 8'h0b
  } cqe_status_e;

  // queue pair state
  typedef enum logic [7:0] {
    QpStateReset = 8'h00,  // does nothing, answers nothing
    QpStateReady = 8'h01,  // sends and receives
    QpStateError = 8'h02  // flushes requests; drops incoming packets
  } qp_state_e;

  // payload bytes of a packet
  typedef enum logic [7:0] {
    MtuCodeB4096 = 8'h00,  // 4096
    MtuCodeB2048 = 8'h01,  // 2048
    MtuCodeB1024 = 8'h02  // 1024
  } mtu_code_e;

  // cause in the error log
  typedef enum logic [7:0] {
    ErrCauseNone = 8'h00,  // log empty
    ErrCauseFcs = 8'h01,  // frame check sequence wrong
    ErrCauseIcrc = 8'h02,  // invariant CRC wrong
    ErrCauseMalformed = 8'h03,  // header fields inconsistent or unknown opcode
    ErrCauseMisrouted = 8'h04,  // frame for another node or plane
    ErrCauseBadQp = 8'h05,  // QP does not exist or is not ready
    ErrCauseSequence = 8'h06,  // packet beyond the window, or an answer to nothing that was asked
    ErrCauseAccess = 8'h08,  // rkey, bounds or rights
    ErrCauseRnr = 8'h09,  // the peer was not ready too often; the QP fails
    ErrCauseTimeout = 8'h0a,  // no acknowledgement, however often sent again; the QP fails
    ErrCauseNak = 8'h0b,  // negative acknowledgement received
    ErrCauseCqOverflow = 8'h0c,  // completion queue full; the QP fails
    ErrCauseLocal = 8'h0d,  // local protection, length, opcode or memory error
    ErrCauseDma = 8'h0e,  // host memory access refused
    // writing received payload, or reading payload of a READ response, failed
    ErrCauseMemWrite = 8'h0f,
    ErrCauseFraming = 8'h10,  // flit sequence on the link broken (no sop, no eop, overflow)
    ErrCausePlaneDown = 8'h11  // everything sent on a plane was lost; QPs use the others
  } err_cause_e;

  // object command
  typedef enum logic [7:0] {
    ObjOpNone = 8'h00,  // nothing
    ObjOpWriteQp = 8'h01,  // load QP context from OBJ_DATA
    ObjOpWriteCq = 8'h02,  // load CQ context
    ObjOpWriteMr = 8'h03,  // load MR context
    // QP state, next PSN, oldest unacknowledged PSN, expected PSN into OBJ_DATA as a qp_status
    ObjOpReadQp = 8'h04,
    ObjOpSetError = 8'h05,  // move the QP to error
    ObjOpWriteCtr = 8'h06,  // load counter from obj_data
    ObjOpReadCtr = 8'h07  // counter to obj_data
  } obj_op_e;

  // result of an object command
  typedef enum logic [7:0] {
    ObjResultOk = 8'h00,  // done
    ObjResultBusy = 8'h01,  // still running
    ObjResultBadIndex = 8'h02,  // index out of range
    ObjResultBadValue = 8'h03,  // a field of the context is out of range
    ObjResultBadOp = 8'h04  // unknown command
  } obj_result_e;

  // what nic_port does with a received payload
  typedef enum logic [1:0] {
    RxActionDrop = 2'h0,  // discard; done event in its place (none for a READ response)
    RxActionWrite = 2'h1,  // write to memory; done event after the write response
    RxActionReduce = 2'h2,  // read, combine, write; done event after the write response
    // read 8 bytes, fetch-add or compare-swap with the operands of the payload, write; done event
    // with the old value after the write response
    RxActionAtomic = 2'h3
  } rx_action_e;

  // kind of a host access
  typedef enum logic [1:0] {
    DmaKindRead = 2'h0,  // read len bytes; a response with data follows
    // posted write; a response follows when it is ordered before everything later
    DmaKindWrite = 2'h1,
    DmaKindMsix = 2'h2  // raise MSI-X vector addr[15:0], ordered behind earlier writes; no response
  } dma_kind_e;

  // work request, an entry of a send ring. In a receive ring (opcode recv) only length, laddr, lkey
  // and wr_id may be set.
  // 64 bytes, little endian
  typedef struct packed {
    logic [63:0] operand1;  // compare_swap: value to compare with; inline: payload bytes 8..15
    logic [63:0] operand0;  // atomics: number to add, new value; inline: payload bytes 0..7
    logic [63:0] wr_id;  // returned in the completion
    logic [15:0] index;  // pushed entry: its index in the ring
    logic [15:0] ctr;  // counter of bump
    logic [31:0] imm;  // immediate data; wait: counter
    logic [31:0] rkey;  // remote key
    logic [31:0] lkey;  // local key
    logic [63:0] raddr;  // remote card address
    logic [63:0] laddr;  // local card address
    logic [31:0] length;  // bytes, 0 .. 2^31; atomics: 8; wait: threshold
    logic [3:0] red_op;  // REDUCE operation
    logic [3:0] red_dtype;  // REDUCE element type
    logic [5:0] rsvd_1;  // reserved, zero
    // virtual channel: req or bulk; READ and atomics: req (their responses use bulk)
    logic [1:0] vc;
    logic [2:0] rsvd_0;  // reserved, zero
    logic bump;  // count the completion in counter ctr
    logic inl;  // inline: the payload is in operand0, operand1; laddr and lkey are ignored
    // REDUCE: applied in the order of the ring, behind all earlier packets of the QP; it takes one
    // plane
    logic ordered;
    logic fence;  // start when all earlier requests of the QP are complete
    logic signalled;  // write a completion on success (errors always do)
    logic [7:0] opcode;  // operation
  } wqe_t;
  localparam int unsigned WqeBytes = 64;

  // completion. Byte 63 holds the phase and is the last byte to change.
  // 64 bytes, little endian
  typedef struct packed {
    logic [6:0] rsvd_3;  // reserved, zero
    logic phase;  // 1 on the first pass through the ring, then alternating
    logic [255:0] rsvd_2;  // reserved, zero
    logic [23:0] psn;  // last PSN of the message; for an error the PSN concerned
    logic [15:0] rsvd_1;  // reserved, zero
    logic [15:0] sq_head;  // ring entries consumed so far (modulo 2^16): frees send ring space
    logic [14:0] rsvd_0;  // reserved, zero
    logic recv;  // 1: receive completion
    logic [7:0] status;  // result
    logic [7:0] opcode;  // operation (receive side: of the peer; of an error: recv)
    logic [31:0] imm;  // immediate data of a receive
    // bytes of the message (receive side of WRITE and REDUCE: of the last packet; of an error: 0)
    logic [31:0] byte_len;
    logic [31:0] qpn;  // QP
    // of the work request; receive side of a QP without a receive ring: count of its receives, from
    // 0
    logic [63:0] wr_id;
  } cqe_t;
  localparam int unsigned CqeBytes = 64;

  // QP context as loaded by write_qp
  // 64 bytes, little endian
  typedef struct packed {
    logic [111:0] rsvd_4;  // reserved, zero
    // first congestion window in packets, 1..window; 0: none, window alone limits
    logic [15:0] cwnd;
    // card address of the receive ring (bit 63: host IOVA), 64-byte aligned; 0 without rq_ring
    logic [63:0] rq_base;
    logic [15:0] rsvd_3;  // reserved, zero
    logic [15:0] err_ctr;  // counter of its failure; 0 without err_ctr_v
    logic [3:0] rnr_retry;  // RNR answers in a row before the QP fails; 15: no limit
    logic [3:0] retry;  // time-outs without progress before the QP fails
    logic [7:0] mtu;  // payload bytes of a packet
    logic [15:0] window;  // packets in flight, 1..max_window
    logic [7:0] rsvd_2;  // reserved, zero
    logic [23:0] rq_psn;  // first PSN expected
    logic [7:0] rsvd_1;  // reserved, zero
    logic [23:0] sq_psn;  // first PSN to send
    logic [63:0] sq_base;  // card address of the send ring (bit 63: host IOVA), 64-byte aligned
    logic [28:0] rsvd_0;  // reserved, zero
    logic err_ctr_v;  // 1: a failure of the QP counts in err_ctr
    // 1: immediates of WRITE and REDUCE count in counter imm[15:0] and consume no receive; only
    // without rq_ring
    logic imm_ctr;
    // 1: receives are entries of a receive ring; 0: receives are only counted, have no buffer and
    // take immediates of WRITE and REDUCE, no SEND
    logic rq_ring;
    logic [7:0] rq_log2;  // log2 of receive ring entries, 0..max_ring_log2; 0 without rq_ring
    logic [23:0] remote_qpn;  // QPN at the peer
    logic [7:0] rcq;  // CQ of receive completions
    logic [7:0] scq;  // CQ of send completions
    logic [15:0] remote_node;  // peer
    logic [7:0] pd;  // protection domain
    logic [7:0] sq_log2;  // log2 of send ring entries, 0..max_ring_log2
    logic [7:0] planes;  // mask of the planes the QP sends on
    logic [7:0] state;  // new state
  } qp_ctx_t;
  localparam int unsigned QpCtxBytes = 64;

  // CQ context as loaded by write_cq
  // 64 bytes, little endian
  typedef struct packed {
    logic [383:0] rsvd_2;  // reserved, zero
    logic [63:0] base;  // card address of the ring, 64-byte aligned
    logic [31:0] rsvd_1;  // reserved, zero
    logic [15:0] vector;  // MSI-X vector
    logic [7:0] log2;  // log2 of entries
    logic [5:0] rsvd_0;  // reserved, zero
    logic irq_en;  // raise MSI-X after each completion
    logic valid;  // 1: exists
  } cq_ctx_t;
  localparam int unsigned CqCtxBytes = 64;

  // MR context as loaded by write_mr. rkey = lkey = index << 8 | key.
  // 64 bytes, little endian
  typedef struct packed {
    logic [319:0] rsvd_2;  // reserved, zero
    logic [63:0] length;  // bytes; base + length must not wrap
    logic [63:0] base;  // first card address
    logic [39:0] rsvd_1;  // reserved, zero
    logic [7:0] pd;  // protection domain, must equal the QP's
    logic [7:0] key;  // low byte of the key
    logic rsvd_0;  // reserved, zero
    logic remote_atomic;  // target of an atomic
    logic remote_read;  // source of a READ of the peer
    logic local_write;  // target of an own READ or atomic, receive buffer
    logic remote_reduce;  // target of REDUCE
    logic remote_write;  // target of WRITE
    logic local_read;  // source of WRITE, REDUCE and SEND
    logic valid;  // 1: exists
  } mr_ctx_t;
  localparam int unsigned MrCtxBytes = 64;

  // counter, as loaded by write_ctr and answered by read_ctr
  // 64 bytes, little endian
  typedef struct packed {
    logic [447:0] rsvd_0;  // reserved, zero
    logic [31:0] failure;  // counts of failure, modulo 2^32
    logic [31:0] success;  // counts of success, modulo 2^32
  } ctr_t;
  localparam int unsigned CtrBytes = 64;

  // answer of read_qp
  // 64 bytes, little endian
  typedef struct packed {
    logic [271:0] rsvd_5;  // reserved, zero
    logic [15:0] retransmits;  // packets sent again, modulo 2^16
    logic [15:0] marks;  // packets of the QP that met congestion, modulo 2^16
    logic [15:0] cwnd;  // congestion window in 1/64 packets
    logic [15:0] sq_tail;  // ring entries posted
    logic [15:0] sq_head;  // ring entries consumed
    logic [7:0] rsvd_4;  // reserved, zero
    logic [23:0] msn;  // messages completed as responder
    logic [7:0] rsvd_3;  // reserved, zero
    logic [23:0] expected_psn;  // next PSN expected
    logic [7:0] rsvd_2;  // reserved, zero
    logic [23:0] una_psn;  // oldest unacknowledged PSN
    logic [7:0] rsvd_1;  // reserved, zero
    logic [23:0] next_psn;  // next PSN to send
    logic [23:0] rsvd_0;  // reserved, zero
    logic [7:0] state;  // state
  } qp_status_t;
  localparam int unsigned QpStatusBytes = 64;

  // packet descriptor, nic_core to nic_port; one frame each
  typedef struct packed {
    logic [7:0] opcode;  // pkt_op
    logic [1:0] vc;  // virtual channel
    logic [15:0] dst_node;  // destination node
    logic [23:0] dst_qpn;  // destination QPN
    logic [15:0] src_qpn;  // own QPN (UDP source port, error reports)
    logic [23:0] psn;  // PSN
    logic ack_req;  // BTH acknowledge request
    logic becn;  // BTH BECN
    logic [63:0] laddr;  // payload source
    logic [12:0] len;  // payload bytes 0..4096; READ request: bytes wanted
    logic [63:0] raddr;  // RETH address; SEND: SENDH number (63:32) and offset (31:0)
    logic [31:0] rkey;  // RETH key; SEND: SENDH length
    logic [3:0] red_op;  // REDH operation
    logic [3:0] red_dtype;  // REDH type
    logic red_ordered;  // REDH: applied in PSN order
    logic [31:0] imm;  // immediate
    logic [7:0] syndrome;  // AETH syndrome
    logic [23:0] msn;  // AETH MSN
    logic [6:0] rnum;  // BTH receive number
    logic inl;  // the payload (len 0..16) is in sack, its byte 0 in bits 7:0; no memory is read
    logic [415:0] sack;  // acknowledgement: SACKH, its byte 0 in bits 7:0
  } txd_t;
  localparam int unsigned TxdBits = 762;

  // nic_port to nic_core, one per request and READ response descriptor (not per acknowledgement),
  // in order, when its last payload byte has been read
  typedef struct packed {
    logic [15:0] qpn;  // own QPN
    logic [23:0] psn;  // PSN
    logic rsp;  // of a READ response: the PSN is one of the peer's
    // payload could not be read; the frame was sent with its FCS and ICRC complemented, so that
    // nobody accepts it
    logic err;
  } txc_t;
  localparam int unsigned TxcBits = 42;

  // header of a received frame, nic_port to nic_core, in arrival order per virtual channel
  typedef struct packed {
    // err_cause: 0, or fcs, icrc, malformed, misrouted, framing: log it, no verdict
    logic [7:0] err;
    logic [7:0] opcode;  // pkt_op
    logic [1:0] vc;  // virtual channel
    logic [15:0] src_node;  // source node
    logic [23:0] dst_qpn;  // destination QPN (best effort when err)
    logic [23:0] psn;  // PSN (best effort when err)
    logic ack_req;  // acknowledge request
    logic becn;  // BECN
    logic ce;  // the IP header carries CE
    logic [63:0] raddr;  // RETH address; SEND: SENDH number (63:32) and offset (31:0)
    logic [31:0] rkey;  // RETH key; SEND: SENDH length
    logic [12:0] len;  // payload bytes (= RETH length); READ request: bytes wanted
    logic [3:0] red_op;  // REDH operation
    logic [3:0] red_dtype;  // REDH type
    logic red_ordered;  // REDH: applied in PSN order
    logic [31:0] imm;  // immediate
    logic [7:0] syndrome;  // AETH syndrome
    logic [23:0] msn;  // AETH MSN
    logic [6:0] rnum;  // BTH receive number
    logic [415:0] sack;  // acknowledgement: SACKH, its byte 0 in bits 7:0
  } rxh_t;
  localparam int unsigned RxhBits = 690;

  // verdict on a frame without err that may carry payload, nic_core to nic_port, in the order of
  // rxh (acknowledgements and READ requests get none)
  typedef struct packed {
    logic [1:0] action;  // rx_action
    logic rsp;  // the frame is a READ response; returned in rxd
    logic [15:0] qpn;  // own QPN, returned in rxd
    logic [23:0] psn;  // PSN, returned in rxd
    logic [63:0] addr;  // target
    logic [12:0] len;  // bytes
    logic [3:0] red_op;  // operation
    logic [3:0] red_dtype;  // type; atomic: 0 fetch-add, 1 compare-swap
    logic swap8;  // write: the payload is one big-endian 64-bit number, written little-endian
  } rxv_t;
  localparam int unsigned RxvBits = 129;

  // payload placed or dropped, nic_port to nic_core, in verdict order, after the memory's write
  // response (at once for zero length and drops)
  typedef struct packed {
    logic rsp;  // of a READ response
    logic [15:0] qpn;  // own QPN
    logic [23:0] psn;  // PSN
    logic err;  // memory refused
    logic [63:0] old;  // atomic: value before
  } rxd_t;
  localparam int unsigned RxdBits = 106;

  // memory access of 1..4096 bytes at any byte address; mem_if aligns, so data beats start at addr
  typedef struct packed {
    logic [63:0] addr;  // card address
    logic [12:0] len;  // bytes
  } mem_req_t;
  localparam int unsigned MemReqBits = 77;

  // read data beat of 64 bytes, the last one padded with zero; responses in request order
  typedef struct packed {
    logic err;  // address refused (data zero); set on every beat of the access
    logic last;  // last beat of the access
    logic [511:0] data;  // byte 0 in bits 7:0
  } mem_rdata_t;
  localparam int unsigned MemRdataBits = 514;

  // access to host memory or a card address by nic_core or host_if, up to 64 bytes, not crossing a
  // 64-byte boundary
  typedef struct packed {
    logic [1:0] kind;  // dma_kind
    logic [9:0] tag;  // returned in the response; below sq_tags: a read of a send ring
    logic [63:0] addr;  // card address; bit 63: host IOVA
    logic [6:0] len;  // bytes 1..64
    logic [511:0] data;  // write data
  } dma_req_t;
  localparam int unsigned DmaReqBits = 595;

  // answer to a read or a posted write
  typedef struct packed {
    logic [9:0] tag;  // of the request
    logic err;  // refused
    logic [511:0] data;  // read data
  } dma_rsp_t;
  localparam int unsigned DmaRspBits = 523;

  // register access, host_if to nic_core; offset inside the NIC's register block
  typedef struct packed {
    logic write;  // 1: write
    logic [15:0] addr;  // byte offset, multiple of 4
    logic [31:0] wdata;  // data
  } csr_req_t;
  localparam int unsigned CsrReqBits = 49;

  // answer to every csr_req, in order
  typedef struct packed {
    logic err;  // no such register, or read-only
    logic [31:0] rdata;  // data, 0 for writes
  } csr_rsp_t;
  localparam int unsigned CsrRspBits = 33;

  // doorbell, host_if to nic_core
  typedef struct packed {
    // 0 send ring tail, 1 receives posted (total, modulo 2^16; a QP with a receive ring: its tail),
    // 2 CQ consumer index (modulo 2^16), 3 counter: value is added to its success
    logic [1:0] kind;
    logic [15:0] index;  // QPN, CQN or counter
    logic [15:0] value;  // new free-running index
  } doorbell_t;
  localparam int unsigned DoorbellBits = 34;

  // entry written by the host, host_if to nic_core
  typedef struct packed {
    logic [15:0] index;  // QPN
    logic [511:0] data;  // the entry, byte 0 in bits 7:0
  } push_t;
  localparam int unsigned PushBits = 528;

  // Registers of nic: BAR0, base 0x1000
  // NIC registers
  localparam logic [31:0] RegNicVersion = 32'h00001000;  // ro: major << 16 | minor
  localparam logic [31:0] RegNicVersionReset = 32'h00010000;
  localparam logic [31:0] RegNicCaps = 32'h00001004;  // ro: capabilities
  localparam int unsigned RegNicCapsPlanesLsb = 0;  // port engines
  localparam int unsigned RegNicCapsPlanesBits = 8;
  localparam int unsigned RegNicCapsQpLog2Lsb = 8;  // log2 of QPs
  localparam int unsigned RegNicCapsQpLog2Bits = 8;
  localparam int unsigned RegNicCapsCqLog2Lsb = 16;  // log2 of CQs
  localparam int unsigned RegNicCapsCqLog2Bits = 8;
  localparam int unsigned RegNicCapsMrLog2Lsb = 24;  // log2 of MRs
  localparam int unsigned RegNicCapsMrLog2Bits = 8;
  localparam logic [31:0] RegNicCtrl = 32'h00001008;  // rw: control
  localparam logic [31:0] RegNicCtrlReset = 32'h00000000;
  // 0: send rings are not read and request packets are dropped as bad_qp
  localparam int unsigned RegNicCtrlEnableLsb = 0;
  localparam int unsigned RegNicCtrlEnableBits = 1;
  // rw: cycles without acknowledgement progress before packets are sent again
  localparam logic [31:0] RegNicTimeout = 32'h0000100c;
  localparam logic [31:0] RegNicTimeoutReset = 32'h00004000;
  localparam logic [31:0] RegNicObjCmd = 32'h00001010;  // wo: writing runs a command
  localparam int unsigned RegNicObjCmdOpLsb = 0;  // obj_op
  localparam int unsigned RegNicObjCmdOpBits = 8;
  localparam int unsigned RegNicObjCmdIndexLsb = 16;  // object
  localparam int unsigned RegNicObjCmdIndexBits = 16;
  localparam logic [31:0] RegNicObjResult = 32'h00001014;  // ro: obj_result of the last command
  // rw: cycles before a request is sent again to a receiver that was not ready
  localparam logic [31:0] RegNicRnrTimer = 32'h00001018;
  localparam logic [31:0] RegNicRnrTimerReset = 32'h00002000;
  // rw: packets by which planes may differ before those of a silent plane count as lost
  localparam logic [31:0] RegNicReorder = 32'h0000101c;
  localparam logic [31:0] RegNicReorderReset = 32'h000000c0;
  localparam int unsigned RegNicReorderPacketsLsb = 0;  // packets
  localparam int unsigned RegNicReorderPacketsBits = 10;
  // rw: planes on which everything was lost; writing sets or clears
  localparam logic [31:0] RegNicPlanesDown = 32'h00001020;
  localparam logic [31:0] RegNicPlanesDownReset = 32'h00000000;
  localparam int unsigned RegNicPlanesDownMaskLsb = 0;  // mask of planes
  localparam int unsigned RegNicPlanesDownMaskBits = 8;
  // rw: cycles after which a plane that is down is tried again
  localparam logic [31:0] RegNicPlaneProbe = 32'h00001024;
  localparam logic [31:0] RegNicPlaneProbeReset = 32'h000bebc2;
  // rw: growth of a congestion window in a round trip without marks, in 1/64 packets
  localparam logic [31:0] RegNicCcStep = 32'h00001028;
  localparam logic [31:0] RegNicCcStepReset = 32'h00000040;
  localparam int unsigned RegNicCcStepStepLsb = 0;  // 1/64 packets
  localparam int unsigned RegNicCcStepStepBits = 8;
  // rw: pacing of VC req: time of a byte in 1/65536 cycles, 0: none
  localparam logic [31:0] RegNicPaceReq = 32'h0000102c;
  localparam logic [31:0] RegNicPaceReqReset = 32'h00000000;
  localparam int unsigned RegNicPaceReqCostLsb = 0;  // 1/65536 cycles
  localparam int unsigned RegNicPaceReqCostBits = 16;
  localparam logic [31:0] RegNicPaceBulk = 32'h00001030;  // rw: pacing of VC bulk
  localparam logic [31:0] RegNicPaceBulkReset = 32'h00000000;
  localparam int unsigned RegNicPaceBulkCostLsb = 0;  // 1/65536 cycles
  localparam int unsigned RegNicPaceBulkCostBits = 16;
  localparam logic [31:0] RegNicObjData = 32'h00001040;  // rw: context words, little-endian
  localparam int unsigned RegNicObjDataStride = 4;
  localparam int unsigned RegNicObjDataCount = 16;
  // ro: errors logged since reset (log entries beyond 16 unread ones are counted here, not stored)
  localparam logic [31:0] RegNicErrCount = 32'h00001080;
  localparam logic [31:0] RegNicErrPop = 32'h00001084;  // wo: writing removes the oldest log entry
  localparam logic [31:0] RegNicErrInfo = 32'h00001088;  // ro: oldest log entry, 0 when empty
  localparam int unsigned RegNicErrInfoCauseLsb = 0;  // err_cause
  localparam int unsigned RegNicErrInfoCauseBits = 8;
  localparam int unsigned RegNicErrInfoPlaneLsb = 8;  // plane
  localparam int unsigned RegNicErrInfoPlaneBits = 8;
  localparam int unsigned RegNicErrInfoQpnLsb = 16;  // own QPN
  localparam int unsigned RegNicErrInfoQpnBits = 16;
  localparam logic [31:0] RegNicErrPsn = 32'h0000108c;  // ro: PSN of the oldest log entry
  localparam int unsigned RegNicErrPsnPsnLsb = 0;  // PSN
  localparam int unsigned RegNicErrPsnPsnBits = 24;
  // ro: request packets handed to each plane
  localparam logic [31:0] RegNicCntTxPackets = 32'h00001100;
  localparam int unsigned RegNicCntTxPacketsStride = 4;
  localparam int unsigned RegNicCntTxPacketsCount = 8;
  // ro: acknowledgements and READ responses handed to each plane
  localparam logic [31:0] RegNicCntTxAcks = 32'h00001120;
  localparam int unsigned RegNicCntTxAcksStride = 4;
  localparam int unsigned RegNicCntTxAcksCount = 8;
  // ro: good request frames received from each plane
  localparam logic [31:0] RegNicCntRxPackets = 32'h00001140;
  localparam int unsigned RegNicCntRxPacketsStride = 4;
  localparam int unsigned RegNicCntRxPacketsCount = 8;
  // ro: good acknowledgements and READ responses received
  localparam logic [31:0] RegNicCntRxAcks = 32'h00001160;
  localparam int unsigned RegNicCntRxAcksStride = 4;
  localparam int unsigned RegNicCntRxAcksCount = 8;
  localparam logic [31:0] RegNicCntRxBad = 32'h00001180;  // ro: frames received with an error
  localparam int unsigned RegNicCntRxBadStride = 4;
  localparam int unsigned RegNicCntRxBadCount = 8;
  localparam logic [31:0] RegNicCntRxCe = 32'h000011a0;  // ro: frames received with CE
  localparam int unsigned RegNicCntRxCeStride = 4;
  localparam int unsigned RegNicCntRxCeCount = 8;
  // ro: packets sent on the plane that count as lost (but for time-outs)
  localparam logic [31:0] RegNicCntLost = 32'h000011c0;
  localparam int unsigned RegNicCntLostStride = 4;
  localparam int unsigned RegNicCntLostCount = 8;
  // ro: payload bytes sent per plane, low word
  localparam logic [31:0] RegNicCntTxBytes = 32'h00001200;
  localparam int unsigned RegNicCntTxBytesStride = 8;
  localparam int unsigned RegNicCntTxBytesCount = 8;
  localparam logic [31:0] RegNicCntTxBytesHi = 32'h00001204;  // ro: high word
  localparam int unsigned RegNicCntTxBytesHiStride = 8;
  localparam int unsigned RegNicCntTxBytesHiCount = 8;
  localparam logic [31:0] RegNicCntCqes = 32'h00001240;  // ro: completions written
  // ro: work requests fetched from send rings
  localparam logic [31:0] RegNicCntWqes = 32'h00001244;
  localparam logic [31:0] RegNicCntRetransmits = 32'h00001248;  // ro: packets sent again
  localparam logic [31:0] RegNicCntTimeouts = 32'h0000124c;  // ro: time-outs of QPs
  localparam logic [31:0] RegNicCntDuplicates = 32'h00001250;  // ro: packets received again
  // ro: packets dropped because they could not be accepted before their turn
  localparam logic [31:0] RegNicCntDeferred = 32'h00001254;
  localparam logic [31:0] RegNicCntRnrSent = 32'h00001258;  // ro: RNR answers sent
  localparam logic [31:0] RegNicCntRnrReceived = 32'h0000125c;  // ro: RNR answers received
  localparam logic [31:0] RegNicCntBumps = 32'h00001260;  // ro: counts in counters, of all kinds
  localparam logic [31:0] RegNicCntWaits = 32'h00001264;  // ro: entries wait that completed ok
  localparam logic [31:0] RegNicCntAtomics = 32'h00001268;  // ro: atomics executed as responder
  localparam logic [31:0] RegNicCntPushes = 32'h0000126c;  // ro: entries taken from a push

endpackage : ubl_pkg
/* verilator lint_on SYMRSVDWORD */
/* verilator lint_on UNUSEDPARAM */
