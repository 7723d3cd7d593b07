// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// generated from rtl/spec/nic.yaml by rtl/spec/gen/generate, do not edit
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ubl::spec {

inline constexpr uint32_t kNicNumQp = 1024u;  // queue pairs of a card
inline constexpr uint32_t kNicNumCq = 64u;  // completion queues of a card
inline constexpr uint32_t kNicNumMr = 256u;  // memory regions of a card
inline constexpr uint32_t kNicWqeShift = 6u;  // log2 of the bytes of a work queue entry
inline constexpr uint32_t kNicCqeShift = 6u;  // log2 of the bytes of a completion queue entry
inline constexpr uint32_t kNicMaxRingLog2 = 12u;  // largest log2 of ring entries
inline constexpr uint32_t kNicAckEvery = 16u;  // packets between acknowledgements in steady state
inline constexpr uint32_t kNicHostIovaBit = 63u;  // address bit that selects host memory
inline constexpr uint32_t kNicNumMsix = 64u;  // MSI-X vectors
// messages of a QP in flight, and ring entries read ahead; later entries wait in the ring
inline constexpr uint32_t kNicMaxOutstanding = 32u;
// packets of a QP in flight: 8 planes at line rate with MTU 1024 over a round trip of 1.3 us, with
// MTU 4096 over 5 us
inline constexpr uint32_t kNicMaxWindow = 512u;
inline constexpr uint32_t kNicSackBits = 256u;  // PSNs an acknowledgement reports one by one
// packets lost in a row after which a plane counts as down
inline constexpr uint32_t kNicPlaneFail = 32u;
// for how many of them a time-out counts at which only some planes lack acknowledgements
inline constexpr uint32_t kNicTimeoutFail = 8u;
// READ packets of a QP in flight: what a responder must be able to keep; more than a round trip at
// line rate
inline constexpr uint32_t kNicMaxReads = 32u;
inline constexpr uint32_t kNicNumCtr = 256u;  // counters of a card
inline constexpr uint32_t kNicMaxInline = 16u;  // payload bytes an entry can carry itself
// entries of send rings being read at a time: one per 1.5 cycles over a read of 600 ns
inline constexpr uint32_t kNicSqTags = 512u;
inline constexpr uint32_t kNicCwndFrac = 6u;  // fraction bits of a congestion window
inline constexpr uint32_t kNicDefaultCcStep = 64u;  // one packet in a round trip
// bytes that a packet counts for besides its payload: two flits
inline constexpr uint32_t kNicPaceHeader = 128u;
// cycles by which a packet may start before its time
inline constexpr uint32_t kNicPaceEarly = 32u;
// cycles without progress before packets are sent again (21 us): several round trips through full
// queues
inline constexpr uint32_t kNicDefaultTimeout = 16384u;
// cycles before a request is sent again to a receiver that was not ready (10.5 us)
inline constexpr uint32_t kNicDefaultRnrTimer = 8192u;
// packets by which planes may differ before one counts as silent: more than descriptors and buffers
// of one plane hold
inline constexpr uint32_t kNicDefaultReorder = 192u;
// cycles after which a plane that is down is tried again (1 ms)
inline constexpr uint32_t kNicDefaultPlaneProbe = 781250u;

// work request opcode
enum class WqeOp : uint8_t {
  kNop = 0x00,  // completes without a packet, in order
  kWrite = 0x01,  // write local bytes to remote memory
  kWriteImm = 0x02,  // WRITE whose last packet raises a receive completion
  kReduce = 0x03,  // combine local elements into remote memory
  kReduceImm = 0x04,  // REDUCE whose last packet raises a receive completion
  kRead = 0x05,  // read remote bytes into local memory; VC req
  kSend = 0x06,  // send local bytes into the peer's next receive buffer
  kSendImm = 0x07,  // SEND with immediate data
  kRecv = 0x08,  // receive buffer; only in a receive ring
  kFetchAdd = 0x09,  // add to remote 8 bytes, bring the old value; VC req
  kCompareSwap = 0x0a,  // replace remote 8 bytes if they are equal, bring the old value; VC req
  kWait = 0x0b,  // hold the ring until counter imm has reached length
};

inline const char* to_string(WqeOp v) {
  switch (v) {
    case WqeOp::kNop:
      return "nop";
    case WqeOp::kWrite:
      return "write";
    case WqeOp::kWriteImm:
      return "write_imm";
    case WqeOp::kReduce:
      return "reduce";
    case WqeOp::kReduceImm:
      return "reduce_imm";
    case WqeOp::kRead:
      return "read";
    case WqeOp::kSend:
      return "send";
    case WqeOp::kSendImm:
      return "send_imm";
    case WqeOp::kRecv:
      return "recv";
    case WqeOp::kFetchAdd:
      return "fetch_add";
    case WqeOp::kCompareSwap:
      return "compare_swap";
    case WqeOp::kWait:
      return "wait";
  }
  return "?";
}

// completion status
enum class CqeStatus : uint8_t {
  kOk = 0x00,  // done
  kLocalProtection = 0x01,  // lkey, bounds or rights of the local buffer
  // length not allowed (REDUCE not a multiple of the element, inline above max_inline, atomic not
  // 8); receive side: the message is longer than the buffer
  kLocalLength = 0x02,
  kBadOpcode = 0x03,  // unknown opcode, reserved bits set, or a counter that does not exist
  kRemoteAccess = 0x04,  // rkey, bounds or rights refused by the responder
  kRemoteInvalid = 0x05,  // request refused by the responder
  kRemoteOperation = 0x06,  // the responder could not write its memory
  kTimeout = 0x08,  // no acknowledgement, however often sent again
  kRnr = 0x09,  // receiver not ready, however often asked
  kFlushed = 0x0a,  // the QP is in error; the request was not, or only partly, executed
  kCounterFailed = 0x0c,  // the counter that a wait waited for has a failure
  // reading the local buffer or the ring failed; receive side: reading the ring failed
  kLocalMemory = 0x0b,
};

inline const char* to_string(CqeStatus v) {
  switch (v) {
    case CqeStatus::kOk:
      return "ok";
    case CqeStatus::kLocalProtection:
      return "local_protection";
    case CqeStatus::kLocalLength:
      return "local_length";
    case CqeStatus::kBadOpcode:
      return "bad_opcode";
    case CqeStatus::kRemoteAccess:
      return "remote_access";
    case CqeStatus::kRemoteInvalid:
      return "remote_invalid";
    case CqeStatus::kRemoteOperation:
      return "remote_operation";
    case CqeStatus::kTimeout:
      return "timeout";
    case CqeStatus::kRnr:
      return "rnr";
    case CqeStatus::kFlushed:
      return "flushed";
    case CqeStatus::kCounterFailed:
      return "counter_failed";
    case CqeStatus::kLocalMemory:
      return "local_memory";
  }
  return "?";
}

// queue pair state
enum class QpState : uint8_t {
  kReset = 0x00,  // does nothing, answers nothing
  kReady = 0x01,  // sends and receives
  kError = 0x02,  // flushes requests; drops incoming packets
};

inline const char* to_string(QpState v) {
  switch (v) {
    case QpState::kReset:
      return "reset";
    case QpState::kReady:
      return "ready";
    case QpState::kError:
      return "error";
  }
  return "?";
}

// payload bytes of a packet
enum class MtuCode : uint8_t {
  kB4096 = 0x00,  // 4096
  kB2048 = 0x01,  // 2048
  kB1024 = 0x02,  // 1024
};

inline const char* to_string(MtuCode v) {
  switch (v) {
    case MtuCode::kB4096:
      return "b4096";
    case MtuCode::kB2048:
      return "b2048";
    case MtuCode::kB1024:
      return "b1024";
  }
  return "?";
}

// cause in the error log
enum class ErrCause : uint8_t {
  kNone = 0x00,  // log empty
  kFcs = 0x01,  // frame check sequence wrong
  kIcrc = 0x02,  // invariant CRC wrong
  kMalformed = 0x03,  // header fields inconsistent or unknown opcode
  kMisrouted = 0x04,  // frame for another node or plane
  kBadQp = 0x05,  // QP does not exist or is not ready
  kSequence = 0x06,  // packet beyond the window, or an answer to nothing that was asked
  kAccess = 0x08,  // rkey, bounds or rights
  kRnr = 0x09,  // the peer was not ready too often; the QP fails
  kTimeout = 0x0a,  // no acknowledgement, however often sent again; the QP fails
  kNak = 0x0b,  // negative acknowledgement received
  kCqOverflow = 0x0c,  // completion queue full; the QP fails
  kLocal = 0x0d,  // local protection, length, opcode or memory error
  kDma = 0x0e,  // host memory access refused
  kMemWrite = 0x0f,  // writing received payload, or reading payload of a READ response, failed
  kFraming = 0x10,  // flit sequence on the link broken (no sop, no eop, overflow)
  kPlaneDown = 0x11,  // everything sent on a plane was lost; QPs use the others
};

inline const char* to_string(ErrCause v) {
  switch (v) {
    case ErrCause::kNone:
      return "none";
    case ErrCause::kFcs:
      return "fcs";
    case ErrCause::kIcrc:
      return "icrc";
    case ErrCause::kMalformed:
      return "malformed";
    case ErrCause::kMisrouted:
      return "misrouted";
    case ErrCause::kBadQp:
      return "bad_qp";
    case ErrCause::kSequence:
      return "sequence";
    case ErrCause::kAccess:
      return "access";
    case ErrCause::kRnr:
      return "rnr";
    case ErrCause::kTimeout:
      return "timeout";
    case ErrCause::kNak:
      return "nak";
    case ErrCause::kCqOverflow:
      return "cq_overflow";
    case ErrCause::kLocal:
      return "local";
    case ErrCause::kDma:
      return "dma";
    case ErrCause::kMemWrite:
      return "mem_write";
    case ErrCause::kFraming:
      return "framing";
    case ErrCause::kPlaneDown:
      return "plane_down";
  }
  return "?";
}

// object command
enum class ObjOp : uint8_t {
  kNone = 0x00,  // nothing
  kWriteQp = 0x01,  // load QP context from OBJ_DATA
  kWriteCq = 0x02,  // load CQ context
  kWriteMr = 0x03,  // load MR context
  // QP state, next PSN, oldest unacknowledged PSN, expected PSN into OBJ_DATA as a qp_status
  kReadQp = 0x04,
  kSetError = 0x05,  // move the QP to error
  kWriteCtr = 0x06,  // load counter from obj_data
  kReadCtr = 0x07,  // counter to obj_data
};

inline const char* to_string(ObjOp v) {
  switch (v) {
    case ObjOp::kNone:
      return "none";
    case ObjOp::kWriteQp:
      return "write_qp";
    case ObjOp::kWriteCq:
      return "write_cq";
    case ObjOp::kWriteMr:
      return "write_mr";
    case ObjOp::kReadQp:
      return "read_qp";
    case ObjOp::kSetError:
      return "set_error";
    case ObjOp::kWriteCtr:
      return "write_ctr";
    case ObjOp::kReadCtr:
      return "read_ctr";
  }
  return "?";
}

// result of an object command
enum class ObjResult : uint8_t {
  kOk = 0x00,  // done
  kBusy = 0x01,  // still running
  kBadIndex = 0x02,  // index out of range
  kBadValue = 0x03,  // a field of the context is out of range
  kBadOp = 0x04,  // unknown command
};

inline const char* to_string(ObjResult v) {
  switch (v) {
    case ObjResult::kOk:
      return "ok";
    case ObjResult::kBusy:
      return "busy";
    case ObjResult::kBadIndex:
      return "bad_index";
    case ObjResult::kBadValue:
      return "bad_value";
    case ObjResult::kBadOp:
      return "bad_op";
  }
  return "?";
}

// what nic_port does with a received payload
enum class RxAction : uint8_t {
  kDrop = 0x0,  // discard; done event in its place (none for a READ response)
  kWrite = 0x1,  // write to memory; done event after the write response
  kReduce = 0x2,  // read, combine, write; done event after the write response
  // read 8 bytes, fetch-add or compare-swap with the operands of the payload, write; done event
  // with the old value after the write response
  kAtomic = 0x3,
};

inline const char* to_string(RxAction v) {
  switch (v) {
    case RxAction::kDrop:
      return "drop";
    case RxAction::kWrite:
      return "write";
    case RxAction::kReduce:
      return "reduce";
    case RxAction::kAtomic:
      return "atomic";
  }
  return "?";
}

// kind of a host access
enum class DmaKind : uint8_t {
  kRead = 0x0,  // read len bytes; a response with data follows
  kWrite = 0x1,  // posted write; a response follows when it is ordered before everything later
  kMsix = 0x2,  // raise MSI-X vector addr[15:0], ordered behind earlier writes; no response
};

inline const char* to_string(DmaKind v) {
  switch (v) {
    case DmaKind::kRead:
      return "read";
    case DmaKind::kWrite:
      return "write";
    case DmaKind::kMsix:
      return "msix";
  }
  return "?";
}

// work request, an entry of a send ring. In a receive ring (opcode recv) only length, laddr, lkey
// and wr_id may be set.
// little endian
struct Wqe {
  uint8_t opcode = 0;  // wqe_op: operation
  uint8_t signalled = 0;  // 1 bit: write a completion on success (errors always do)
  uint8_t fence = 0;  // 1 bit: start when all earlier requests of the QP are complete
  // 1 bit: REDUCE: applied in the order of the ring, behind all earlier packets of the QP; it takes
  // one plane
  uint8_t ordered = 0;
  // 1 bit: inline: the payload is in operand0, operand1; laddr and lkey are ignored
  uint8_t inl = 0;
  uint8_t bump = 0;  // 1 bit: count the completion in counter ctr
  // 2 bits: vc: virtual channel: req or bulk; READ and atomics: req (their responses use bulk)
  uint8_t vc = 0;
  uint8_t red_op = 0;  // 4 bits: red_op: REDUCE operation
  uint8_t red_dtype = 0;  // 4 bits: red_type: REDUCE element type
  uint32_t length = 0;  // bytes, 0 .. 2^31; atomics: 8; wait: threshold
  uint64_t laddr = 0;  // local card address
  uint64_t raddr = 0;  // remote card address
  uint32_t lkey = 0;  // local key
  uint32_t rkey = 0;  // remote key
  uint32_t imm = 0;  // immediate data; wait: counter
  uint16_t ctr = 0;  // counter of bump
  uint16_t index = 0;  // pushed entry: its index in the ring
  uint64_t operand0 = 0;  // atomics: number to add, new value; inline: payload bytes 0..7
  uint64_t operand1 = 0;  // compare_swap: value to compare with; inline: payload bytes 8..15
  uint64_t wr_id = 0;  // returned in the completion

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(opcode);
    p[1] = static_cast<uint8_t>(
        (signalled & 0x1u) |
        ((fence & 0x1u) << 1) |
        ((ordered & 0x1u) << 2) |
        ((inl & 0x1u) << 3) |
        ((bump & 0x1u) << 4));
    p[2] = static_cast<uint8_t>((vc & 0x3u));
    p[3] = static_cast<uint8_t>(((red_op & 0xfu) << 4) | (red_dtype & 0xfu));
    p[4] = static_cast<uint8_t>(length);
    p[5] = static_cast<uint8_t>((length >> 8));
    p[6] = static_cast<uint8_t>((length >> 16));
    p[7] = static_cast<uint8_t>((length >> 24));
    p[8] = static_cast<uint8_t>(laddr);
    p[9] = static_cast<uint8_t>((laddr >> 8));
    p[10] = static_cast<uint8_t>((laddr >> 16));
    p[11] = static_cast<uint8_t>((laddr >> 24));
    p[12] = static_cast<uint8_t>((laddr >> 32));
    p[13] = static_cast<uint8_t>((laddr >> 40));
    p[14] = static_cast<uint8_t>((laddr >> 48));
    p[15] = static_cast<uint8_t>((laddr >> 56));
    p[16] = static_cast<uint8_t>(raddr);
    p[17] = static_cast<uint8_t>((raddr >> 8));
    p[18] = static_cast<uint8_t>((raddr >> 16));
    p[19] = static_cast<uint8_t>((raddr >> 24));
    p[20] = static_cast<uint8_t>((raddr >> 32));
    p[21] = static_cast<uint8_t>((raddr >> 40));
    p[22] = static_cast<uint8_t>((raddr >> 48));
    p[23] = static_cast<uint8_t>((raddr >> 56));
    p[24] = static_cast<uint8_t>(lkey);
    p[25] = static_cast<uint8_t>((lkey >> 8));
    p[26] = static_cast<uint8_t>((lkey >> 16));
    p[27] = static_cast<uint8_t>((lkey >> 24));
    p[28] = static_cast<uint8_t>(rkey);
    p[29] = static_cast<uint8_t>((rkey >> 8));
    p[30] = static_cast<uint8_t>((rkey >> 16));
    p[31] = static_cast<uint8_t>((rkey >> 24));
    p[32] = static_cast<uint8_t>(imm);
    p[33] = static_cast<uint8_t>((imm >> 8));
    p[34] = static_cast<uint8_t>((imm >> 16));
    p[35] = static_cast<uint8_t>((imm >> 24));
    p[36] = static_cast<uint8_t>(ctr);
    p[37] = static_cast<uint8_t>((ctr >> 8));
    p[38] = static_cast<uint8_t>(index);
    p[39] = static_cast<uint8_t>((index >> 8));
    p[40] = static_cast<uint8_t>(wr_id);
    p[41] = static_cast<uint8_t>((wr_id >> 8));
    p[42] = static_cast<uint8_t>((wr_id >> 16));
    p[43] = static_cast<uint8_t>((wr_id >> 24));
    p[44] = static_cast<uint8_t>((wr_id >> 32));
    p[45] = static_cast<uint8_t>((wr_id >> 40));
    p[46] = static_cast<uint8_t>((wr_id >> 48));
    p[47] = static_cast<uint8_t>((wr_id >> 56));
    p[48] = static_cast<uint8_t>(operand0);
    p[49] = static_cast<uint8_t>((operand0 >> 8));
    p[50] = static_cast<uint8_t>((operand0 >> 16));
    p[51] = static_cast<uint8_t>((operand0 >> 24));
    p[52] = static_cast<uint8_t>((operand0 >> 32));
    p[53] = static_cast<uint8_t>((operand0 >> 40));
    p[54] = static_cast<uint8_t>((operand0 >> 48));
    p[55] = static_cast<uint8_t>((operand0 >> 56));
    p[56] = static_cast<uint8_t>(operand1);
    p[57] = static_cast<uint8_t>((operand1 >> 8));
    p[58] = static_cast<uint8_t>((operand1 >> 16));
    p[59] = static_cast<uint8_t>((operand1 >> 24));
    p[60] = static_cast<uint8_t>((operand1 >> 32));
    p[61] = static_cast<uint8_t>((operand1 >> 40));
    p[62] = static_cast<uint8_t>((operand1 >> 48));
    p[63] = static_cast<uint8_t>((operand1 >> 56));
  }

  static Wqe unpack(const uint8_t* p) {
    Wqe r;
    r.opcode = static_cast<uint8_t>(static_cast<uint32_t>(p[0]));
    r.signalled = static_cast<uint8_t>(static_cast<uint32_t>((p[1] & 0x1u)));
    r.fence = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 1) & 0x1u)));
    r.ordered = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 2) & 0x1u)));
    r.inl = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 3) & 0x1u)));
    r.bump = static_cast<uint8_t>(static_cast<uint32_t>(((p[1] >> 4) & 0x1u)));
    r.vc = static_cast<uint8_t>(static_cast<uint32_t>((p[2] & 0x3u)));
    r.red_op = static_cast<uint8_t>(static_cast<uint32_t>(((p[3] >> 4) & 0xfu)));
    r.red_dtype = static_cast<uint8_t>(static_cast<uint32_t>((p[3] & 0xfu)));
    r.length = static_cast<uint32_t>(
        static_cast<uint32_t>(p[4]) |
        (static_cast<uint32_t>(p[5]) << 8) |
        (static_cast<uint32_t>(p[6]) << 16) |
        (static_cast<uint32_t>(p[7]) << 24));
    r.laddr = static_cast<uint64_t>(
        static_cast<uint64_t>(p[8]) |
        (static_cast<uint64_t>(p[9]) << 8) |
        (static_cast<uint64_t>(p[10]) << 16) |
        (static_cast<uint64_t>(p[11]) << 24) |
        (static_cast<uint64_t>(p[12]) << 32) |
        (static_cast<uint64_t>(p[13]) << 40) |
        (static_cast<uint64_t>(p[14]) << 48) |
        (static_cast<uint64_t>(p[15]) << 56));
    r.raddr = static_cast<uint64_t>(
        static_cast<uint64_t>(p[16]) |
        (static_cast<uint64_t>(p[17]) << 8) |
        (static_cast<uint64_t>(p[18]) << 16) |
        (static_cast<uint64_t>(p[19]) << 24) |
        (static_cast<uint64_t>(p[20]) << 32) |
        (static_cast<uint64_t>(p[21]) << 40) |
        (static_cast<uint64_t>(p[22]) << 48) |
        (static_cast<uint64_t>(p[23]) << 56));
    r.lkey = static_cast<uint32_t>(
        static_cast<uint32_t>(p[24]) |
        (static_cast<uint32_t>(p[25]) << 8) |
        (static_cast<uint32_t>(p[26]) << 16) |
        (static_cast<uint32_t>(p[27]) << 24));
    r.rkey = static_cast<uint32_t>(
        static_cast<uint32_t>(p[28]) |
        (static_cast<uint32_t>(p[29]) << 8) |
        (static_cast<uint32_t>(p[30]) << 16) |
        (static_cast<uint32_t>(p[31]) << 24));
    r.imm = static_cast<uint32_t>(
        static_cast<uint32_t>(p[32]) |
        (static_cast<uint32_t>(p[33]) << 8) |
        (static_cast<uint32_t>(p[34]) << 16) |
        (static_cast<uint32_t>(p[35]) << 24));
    r.ctr = static_cast<uint16_t>(
        static_cast<uint32_t>(p[36]) |
        (static_cast<uint32_t>(p[37]) << 8));
    r.index = static_cast<uint16_t>(
        static_cast<uint32_t>(p[38]) |
        (static_cast<uint32_t>(p[39]) << 8));
    r.operand0 = static_cast<uint64_t>(
        static_cast<uint64_t>(p[48]) |
        (static_cast<uint64_t>(p[49]) << 8) |
        (static_cast<uint64_t>(p[50]) << 16) |
        (static_cast<uint64_t>(p[51]) << 24) |
        (static_cast<uint64_t>(p[52]) << 32) |
        (static_cast<uint64_t>(p[53]) << 40) |
        (static_cast<uint64_t>(p[54]) << 48) |
        (static_cast<uint64_t>(p[55]) << 56));
    r.operand1 = static_cast<uint64_t>(
        static_cast<uint64_t>(p[56]) |
        (static_cast<uint64_t>(p[57]) << 8) |
        (static_cast<uint64_t>(p[58]) << 16) |
        (static_cast<uint64_t>(p[59]) << 24) |
        (static_cast<uint64_t>(p[60]) << 32) |
        (static_cast<uint64_t>(p[61]) << 40) |
        (static_cast<uint64_t>(p[62]) << 48) |
        (static_cast<uint64_t>(p[63]) << 56));
    r.wr_id = static_cast<uint64_t>(
        static_cast<uint64_t>(p[40]) |
        (static_cast<uint64_t>(p[41]) << 8) |
        (static_cast<uint64_t>(p[42]) << 16) |
        (static_cast<uint64_t>(p[43]) << 24) |
        (static_cast<uint64_t>(p[44]) << 32) |
        (static_cast<uint64_t>(p[45]) << 40) |
        (static_cast<uint64_t>(p[46]) << 48) |
        (static_cast<uint64_t>(p[47]) << 56));
    return r;
  }

  bool operator==(const Wqe& o) const {
    return opcode == o.opcode &&
           signalled == o.signalled &&
           fence == o.fence &&
           ordered == o.ordered &&
           inl == o.inl &&
           bump == o.bump &&
           vc == o.vc &&
           red_op == o.red_op &&
           red_dtype == o.red_dtype &&
           length == o.length &&
           laddr == o.laddr &&
           raddr == o.raddr &&
           lkey == o.lkey &&
           rkey == o.rkey &&
           imm == o.imm &&
           ctr == o.ctr &&
           index == o.index &&
           operand0 == o.operand0 &&
           operand1 == o.operand1 &&
           wr_id == o.wr_id;
  }
  bool operator!=(const Wqe& o) const { return !(*this == o); }
};

// completion. Byte 63 holds the phase and is the last byte to change.
// little endian
struct Cqe {
  // of the work request; receive side of a QP without a receive ring: count of its receives, from 0
  uint64_t wr_id = 0;
  uint32_t qpn = 0;  // QP
  // bytes of the message (receive side of WRITE and REDUCE: of the last packet; of an error: 0)
  uint32_t byte_len = 0;
  uint32_t imm = 0;  // immediate data of a receive
  uint8_t opcode = 0;  // wqe_op: operation (receive side: of the peer; of an error: recv)
  uint8_t status = 0;  // cqe_status: result
  uint8_t recv = 0;  // 1 bit: 1: receive completion
  uint16_t sq_head = 0;  // ring entries consumed so far (modulo 2^16): frees send ring space
  uint32_t psn = 0;  // 24 bits: last PSN of the message; for an error the PSN concerned
  uint8_t phase = 0;  // 1 bit: 1 on the first pass through the ring, then alternating

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(wr_id);
    p[1] = static_cast<uint8_t>((wr_id >> 8));
    p[2] = static_cast<uint8_t>((wr_id >> 16));
    p[3] = static_cast<uint8_t>((wr_id >> 24));
    p[4] = static_cast<uint8_t>((wr_id >> 32));
    p[5] = static_cast<uint8_t>((wr_id >> 40));
    p[6] = static_cast<uint8_t>((wr_id >> 48));
    p[7] = static_cast<uint8_t>((wr_id >> 56));
    p[8] = static_cast<uint8_t>(qpn);
    p[9] = static_cast<uint8_t>((qpn >> 8));
    p[10] = static_cast<uint8_t>((qpn >> 16));
    p[11] = static_cast<uint8_t>((qpn >> 24));
    p[12] = static_cast<uint8_t>(byte_len);
    p[13] = static_cast<uint8_t>((byte_len >> 8));
    p[14] = static_cast<uint8_t>((byte_len >> 16));
    p[15] = static_cast<uint8_t>((byte_len >> 24));
    p[16] = static_cast<uint8_t>(imm);
    p[17] = static_cast<uint8_t>((imm >> 8));
    p[18] = static_cast<uint8_t>((imm >> 16));
    p[19] = static_cast<uint8_t>((imm >> 24));
    p[20] = static_cast<uint8_t>(opcode);
    p[21] = static_cast<uint8_t>(status);
    p[22] = static_cast<uint8_t>((recv & 0x1u));
    p[23] = 0;
    p[24] = static_cast<uint8_t>(sq_head);
    p[25] = static_cast<uint8_t>((sq_head >> 8));
    p[26] = 0;
    p[27] = 0;
    p[28] = static_cast<uint8_t>(psn);
    p[29] = static_cast<uint8_t>((psn >> 8));
    p[30] = static_cast<uint8_t>((psn >> 16));
    p[31] = 0;
    p[32] = 0;
    p[33] = 0;
    p[34] = 0;
    p[35] = 0;
    p[36] = 0;
    p[37] = 0;
    p[38] = 0;
    p[39] = 0;
    p[40] = 0;
    p[41] = 0;
    p[42] = 0;
    p[43] = 0;
    p[44] = 0;
    p[45] = 0;
    p[46] = 0;
    p[47] = 0;
    p[48] = 0;
    p[49] = 0;
    p[50] = 0;
    p[51] = 0;
    p[52] = 0;
    p[53] = 0;
    p[54] = 0;
    p[55] = 0;
    p[56] = 0;
    p[57] = 0;
    p[58] = 0;
    p[59] = 0;
    p[60] = 0;
    p[61] = 0;
    p[62] = 0;
    p[63] = static_cast<uint8_t>((phase & 0x1u));
  }

  static Cqe unpack(const uint8_t* p) {
    Cqe r;
    r.wr_id = static_cast<uint64_t>(
        static_cast<uint64_t>(p[0]) |
        (static_cast<uint64_t>(p[1]) << 8) |
        (static_cast<uint64_t>(p[2]) << 16) |
        (static_cast<uint64_t>(p[3]) << 24) |
        (static_cast<uint64_t>(p[4]) << 32) |
        (static_cast<uint64_t>(p[5]) << 40) |
        (static_cast<uint64_t>(p[6]) << 48) |
        (static_cast<uint64_t>(p[7]) << 56));
    r.qpn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[8]) |
        (static_cast<uint32_t>(p[9]) << 8) |
        (static_cast<uint32_t>(p[10]) << 16) |
        (static_cast<uint32_t>(p[11]) << 24));
    r.byte_len = static_cast<uint32_t>(
        static_cast<uint32_t>(p[12]) |
        (static_cast<uint32_t>(p[13]) << 8) |
        (static_cast<uint32_t>(p[14]) << 16) |
        (static_cast<uint32_t>(p[15]) << 24));
    r.imm = static_cast<uint32_t>(
        static_cast<uint32_t>(p[16]) |
        (static_cast<uint32_t>(p[17]) << 8) |
        (static_cast<uint32_t>(p[18]) << 16) |
        (static_cast<uint32_t>(p[19]) << 24));
    r.opcode = static_cast<uint8_t>(static_cast<uint32_t>(p[20]));
    r.status = static_cast<uint8_t>(static_cast<uint32_t>(p[21]));
    r.recv = static_cast<uint8_t>(static_cast<uint32_t>((p[22] & 0x1u)));
    r.sq_head = static_cast<uint16_t>(
        static_cast<uint32_t>(p[24]) |
        (static_cast<uint32_t>(p[25]) << 8));
    r.psn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[28]) |
        (static_cast<uint32_t>(p[29]) << 8) |
        (static_cast<uint32_t>(p[30]) << 16));
    r.phase = static_cast<uint8_t>(static_cast<uint32_t>((p[63] & 0x1u)));
    return r;
  }

  bool operator==(const Cqe& o) const {
    return wr_id == o.wr_id &&
           qpn == o.qpn &&
           byte_len == o.byte_len &&
           imm == o.imm &&
           opcode == o.opcode &&
           status == o.status &&
           recv == o.recv &&
           sq_head == o.sq_head &&
           psn == o.psn &&
           phase == o.phase;
  }
  bool operator!=(const Cqe& o) const { return !(*this == o); }
};

// QP context as loaded by write_qp
// little endian
struct QpCtx {
  uint8_t state = 0;  // qp_state: new state
  uint8_t planes = 0;  // mask of the planes the QP sends on
  uint8_t sq_log2 = 0;  // log2 of send ring entries, 0..max_ring_log2
  uint8_t pd = 0;  // protection domain
  uint16_t remote_node = 0;  // peer
  uint8_t scq = 0;  // CQ of send completions
  uint8_t rcq = 0;  // CQ of receive completions
  uint32_t remote_qpn = 0;  // 24 bits: QPN at the peer
  uint8_t rq_log2 = 0;  // log2 of receive ring entries, 0..max_ring_log2; 0 without rq_ring
  // 1 bit: 1: receives are entries of a receive ring; 0: receives are only counted, have no buffer
  // and take immediates of WRITE and REDUCE, no SEND
  uint8_t rq_ring = 0;
  // 1 bit: 1: immediates of WRITE and REDUCE count in counter imm[15:0] and consume no receive;
  // only without rq_ring
  uint8_t imm_ctr = 0;
  uint8_t err_ctr_v = 0;  // 1 bit: 1: a failure of the QP counts in err_ctr
  uint64_t sq_base = 0;  // card address of the send ring (bit 63: host IOVA), 64-byte aligned
  uint32_t sq_psn = 0;  // 24 bits: first PSN to send
  uint32_t rq_psn = 0;  // 24 bits: first PSN expected
  uint16_t window = 0;  // packets in flight, 1..max_window
  uint8_t mtu = 0;  // mtu_code: payload bytes of a packet
  uint8_t retry = 0;  // 4 bits: time-outs without progress before the QP fails
  uint8_t rnr_retry = 0;  // 4 bits: RNR answers in a row before the QP fails; 15: no limit
  uint16_t err_ctr = 0;  // counter of its failure; 0 without err_ctr_v
  // card address of the receive ring (bit 63: host IOVA), 64-byte aligned; 0 without rq_ring
  uint64_t rq_base = 0;
  uint16_t cwnd = 0;  // first congestion window in packets, 1..window; 0: none, window alone limits

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(state);
    p[1] = static_cast<uint8_t>(planes);
    p[2] = static_cast<uint8_t>(sq_log2);
    p[3] = static_cast<uint8_t>(pd);
    p[4] = static_cast<uint8_t>(remote_node);
    p[5] = static_cast<uint8_t>((remote_node >> 8));
    p[6] = static_cast<uint8_t>(scq);
    p[7] = static_cast<uint8_t>(rcq);
    p[8] = static_cast<uint8_t>(remote_qpn);
    p[9] = static_cast<uint8_t>((remote_qpn >> 8));
    p[10] = static_cast<uint8_t>((remote_qpn >> 16));
    p[11] = static_cast<uint8_t>(rq_log2);
    p[12] = static_cast<uint8_t>(
        (rq_ring & 0x1u) |
        ((imm_ctr & 0x1u) << 1) |
        ((err_ctr_v & 0x1u) << 2));
    p[13] = 0;
    p[14] = 0;
    p[15] = 0;
    p[16] = static_cast<uint8_t>(sq_base);
    p[17] = static_cast<uint8_t>((sq_base >> 8));
    p[18] = static_cast<uint8_t>((sq_base >> 16));
    p[19] = static_cast<uint8_t>((sq_base >> 24));
    p[20] = static_cast<uint8_t>((sq_base >> 32));
    p[21] = static_cast<uint8_t>((sq_base >> 40));
    p[22] = static_cast<uint8_t>((sq_base >> 48));
    p[23] = static_cast<uint8_t>((sq_base >> 56));
    p[24] = static_cast<uint8_t>(sq_psn);
    p[25] = static_cast<uint8_t>((sq_psn >> 8));
    p[26] = static_cast<uint8_t>((sq_psn >> 16));
    p[27] = 0;
    p[28] = static_cast<uint8_t>(rq_psn);
    p[29] = static_cast<uint8_t>((rq_psn >> 8));
    p[30] = static_cast<uint8_t>((rq_psn >> 16));
    p[31] = 0;
    p[32] = static_cast<uint8_t>(window);
    p[33] = static_cast<uint8_t>((window >> 8));
    p[34] = static_cast<uint8_t>(mtu);
    p[35] = static_cast<uint8_t>((retry & 0xfu) | ((rnr_retry & 0xfu) << 4));
    p[36] = static_cast<uint8_t>(err_ctr);
    p[37] = static_cast<uint8_t>((err_ctr >> 8));
    p[38] = 0;
    p[39] = 0;
    p[40] = static_cast<uint8_t>(rq_base);
    p[41] = static_cast<uint8_t>((rq_base >> 8));
    p[42] = static_cast<uint8_t>((rq_base >> 16));
    p[43] = static_cast<uint8_t>((rq_base >> 24));
    p[44] = static_cast<uint8_t>((rq_base >> 32));
    p[45] = static_cast<uint8_t>((rq_base >> 40));
    p[46] = static_cast<uint8_t>((rq_base >> 48));
    p[47] = static_cast<uint8_t>((rq_base >> 56));
    p[48] = static_cast<uint8_t>(cwnd);
    p[49] = static_cast<uint8_t>((cwnd >> 8));
    p[50] = 0;
    p[51] = 0;
    p[52] = 0;
    p[53] = 0;
    p[54] = 0;
    p[55] = 0;
    p[56] = 0;
    p[57] = 0;
    p[58] = 0;
    p[59] = 0;
    p[60] = 0;
    p[61] = 0;
    p[62] = 0;
    p[63] = 0;
  }

  static QpCtx unpack(const uint8_t* p) {
    QpCtx r;
    r.state = static_cast<uint8_t>(static_cast<uint32_t>(p[0]));
    r.planes = static_cast<uint8_t>(static_cast<uint32_t>(p[1]));
    r.sq_log2 = static_cast<uint8_t>(static_cast<uint32_t>(p[2]));
    r.pd = static_cast<uint8_t>(static_cast<uint32_t>(p[3]));
    r.remote_node = static_cast<uint16_t>(
        static_cast<uint32_t>(p[4]) |
        (static_cast<uint32_t>(p[5]) << 8));
    r.scq = static_cast<uint8_t>(static_cast<uint32_t>(p[6]));
    r.rcq = static_cast<uint8_t>(static_cast<uint32_t>(p[7]));
    r.remote_qpn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[8]) |
        (static_cast<uint32_t>(p[9]) << 8) |
        (static_cast<uint32_t>(p[10]) << 16));
    r.rq_log2 = static_cast<uint8_t>(static_cast<uint32_t>(p[11]));
    r.rq_ring = static_cast<uint8_t>(static_cast<uint32_t>((p[12] & 0x1u)));
    r.imm_ctr = static_cast<uint8_t>(static_cast<uint32_t>(((p[12] >> 1) & 0x1u)));
    r.err_ctr_v = static_cast<uint8_t>(static_cast<uint32_t>(((p[12] >> 2) & 0x1u)));
    r.sq_base = static_cast<uint64_t>(
        static_cast<uint64_t>(p[16]) |
        (static_cast<uint64_t>(p[17]) << 8) |
        (static_cast<uint64_t>(p[18]) << 16) |
        (static_cast<uint64_t>(p[19]) << 24) |
        (static_cast<uint64_t>(p[20]) << 32) |
        (static_cast<uint64_t>(p[21]) << 40) |
        (static_cast<uint64_t>(p[22]) << 48) |
        (static_cast<uint64_t>(p[23]) << 56));
    r.sq_psn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[24]) |
        (static_cast<uint32_t>(p[25]) << 8) |
        (static_cast<uint32_t>(p[26]) << 16));
    r.rq_psn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[28]) |
        (static_cast<uint32_t>(p[29]) << 8) |
        (static_cast<uint32_t>(p[30]) << 16));
    r.window = static_cast<uint16_t>(
        static_cast<uint32_t>(p[32]) |
        (static_cast<uint32_t>(p[33]) << 8));
    r.mtu = static_cast<uint8_t>(static_cast<uint32_t>(p[34]));
    r.retry = static_cast<uint8_t>(static_cast<uint32_t>((p[35] & 0xfu)));
    r.rnr_retry = static_cast<uint8_t>(static_cast<uint32_t>(((p[35] >> 4) & 0xfu)));
    r.err_ctr = static_cast<uint16_t>(
        static_cast<uint32_t>(p[36]) |
        (static_cast<uint32_t>(p[37]) << 8));
    r.rq_base = static_cast<uint64_t>(
        static_cast<uint64_t>(p[40]) |
        (static_cast<uint64_t>(p[41]) << 8) |
        (static_cast<uint64_t>(p[42]) << 16) |
        (static_cast<uint64_t>(p[43]) << 24) |
        (static_cast<uint64_t>(p[44]) << 32) |
        (static_cast<uint64_t>(p[45]) << 40) |
        (static_cast<uint64_t>(p[46]) << 48) |
        (static_cast<uint64_t>(p[47]) << 56));
    r.cwnd = static_cast<uint16_t>(
        static_cast<uint32_t>(p[48]) |
        (static_cast<uint32_t>(p[49]) << 8));
    return r;
  }

  bool operator==(const QpCtx& o) const {
    return state == o.state &&
           planes == o.planes &&
           sq_log2 == o.sq_log2 &&
           pd == o.pd &&
           remote_node == o.remote_node &&
           scq == o.scq &&
           rcq == o.rcq &&
           remote_qpn == o.remote_qpn &&
           rq_log2 == o.rq_log2 &&
           rq_ring == o.rq_ring &&
           imm_ctr == o.imm_ctr &&
           err_ctr_v == o.err_ctr_v &&
           sq_base == o.sq_base &&
           sq_psn == o.sq_psn &&
           rq_psn == o.rq_psn &&
           window == o.window &&
           mtu == o.mtu &&
           retry == o.retry &&
           rnr_retry == o.rnr_retry &&
           err_ctr == o.err_ctr &&
           rq_base == o.rq_base &&
           cwnd == o.cwnd;
  }
  bool operator!=(const QpCtx& o) const { return !(*this == o); }
};

// CQ context as loaded by write_cq
// little endian
struct CqCtx {
  uint8_t valid = 0;  // 1 bit: 1: exists
  uint8_t irq_en = 0;  // 1 bit: raise MSI-X after each completion
  uint8_t log2 = 0;  // log2 of entries
  uint16_t vector = 0;  // MSI-X vector
  uint64_t base = 0;  // card address of the ring, 64-byte aligned

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>((valid & 0x1u) | ((irq_en & 0x1u) << 1));
    p[1] = static_cast<uint8_t>(log2);
    p[2] = static_cast<uint8_t>(vector);
    p[3] = static_cast<uint8_t>((vector >> 8));
    p[4] = 0;
    p[5] = 0;
    p[6] = 0;
    p[7] = 0;
    p[8] = static_cast<uint8_t>(base);
    p[9] = static_cast<uint8_t>((base >> 8));
    p[10] = static_cast<uint8_t>((base >> 16));
    p[11] = static_cast<uint8_t>((base >> 24));
    p[12] = static_cast<uint8_t>((base >> 32));
    p[13] = static_cast<uint8_t>((base >> 40));
    p[14] = static_cast<uint8_t>((base >> 48));
    p[15] = static_cast<uint8_t>((base >> 56));
    p[16] = 0;
    p[17] = 0;
    p[18] = 0;
    p[19] = 0;
    p[20] = 0;
    p[21] = 0;
    p[22] = 0;
    p[23] = 0;
    p[24] = 0;
    p[25] = 0;
    p[26] = 0;
    p[27] = 0;
    p[28] = 0;
    p[29] = 0;
    p[30] = 0;
    p[31] = 0;
    p[32] = 0;
    p[33] = 0;
    p[34] = 0;
    p[35] = 0;
    p[36] = 0;
    p[37] = 0;
    p[38] = 0;
    p[39] = 0;
    p[40] = 0;
    p[41] = 0;
    p[42] = 0;
    p[43] = 0;
    p[44] = 0;
    p[45] = 0;
    p[46] = 0;
    p[47] = 0;
    p[48] = 0;
    p[49] = 0;
    p[50] = 0;
    p[51] = 0;
    p[52] = 0;
    p[53] = 0;
    p[54] = 0;
    p[55] = 0;
    p[56] = 0;
    p[57] = 0;
    p[58] = 0;
    p[59] = 0;
    p[60] = 0;
    p[61] = 0;
    p[62] = 0;
    p[63] = 0;
  }

  static CqCtx unpack(const uint8_t* p) {
    CqCtx r;
    r.valid = static_cast<uint8_t>(static_cast<uint32_t>((p[0] & 0x1u)));
    r.irq_en = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 1) & 0x1u)));
    r.log2 = static_cast<uint8_t>(static_cast<uint32_t>(p[1]));
    r.vector = static_cast<uint16_t>(
        static_cast<uint32_t>(p[2]) |
        (static_cast<uint32_t>(p[3]) << 8));
    r.base = static_cast<uint64_t>(
        static_cast<uint64_t>(p[8]) |
        (static_cast<uint64_t>(p[9]) << 8) |
        (static_cast<uint64_t>(p[10]) << 16) |
        (static_cast<uint64_t>(p[11]) << 24) |
        (static_cast<uint64_t>(p[12]) << 32) |
        (static_cast<uint64_t>(p[13]) << 40) |
        (static_cast<uint64_t>(p[14]) << 48) |
        (static_cast<uint64_t>(p[15]) << 56));
    return r;
  }

  bool operator==(const CqCtx& o) const {
    return valid == o.valid &&
           irq_en == o.irq_en &&
           log2 == o.log2 &&
           vector == o.vector &&
           base == o.base;
  }
  bool operator!=(const CqCtx& o) const { return !(*this == o); }
};

// MR context as loaded by write_mr. rkey = lkey = index << 8 | key.
// little endian
struct MrCtx {
  uint8_t valid = 0;  // 1 bit: 1: exists
  uint8_t local_read = 0;  // 1 bit: source of WRITE, REDUCE and SEND
  uint8_t remote_write = 0;  // 1 bit: target of WRITE
  uint8_t remote_reduce = 0;  // 1 bit: target of REDUCE
  uint8_t local_write = 0;  // 1 bit: target of an own READ or atomic, receive buffer
  uint8_t remote_read = 0;  // 1 bit: source of a READ of the peer
  uint8_t remote_atomic = 0;  // 1 bit: target of an atomic
  uint8_t key = 0;  // low byte of the key
  uint8_t pd = 0;  // protection domain, must equal the QP's
  uint64_t base = 0;  // first card address
  uint64_t length = 0;  // bytes; base + length must not wrap

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(
        (valid & 0x1u) |
        ((local_read & 0x1u) << 1) |
        ((remote_write & 0x1u) << 2) |
        ((remote_reduce & 0x1u) << 3) |
        ((local_write & 0x1u) << 4) |
        ((remote_read & 0x1u) << 5) |
        ((remote_atomic & 0x1u) << 6));
    p[1] = static_cast<uint8_t>(key);
    p[2] = static_cast<uint8_t>(pd);
    p[3] = 0;
    p[4] = 0;
    p[5] = 0;
    p[6] = 0;
    p[7] = 0;
    p[8] = static_cast<uint8_t>(base);
    p[9] = static_cast<uint8_t>((base >> 8));
    p[10] = static_cast<uint8_t>((base >> 16));
    p[11] = static_cast<uint8_t>((base >> 24));
    p[12] = static_cast<uint8_t>((base >> 32));
    p[13] = static_cast<uint8_t>((base >> 40));
    p[14] = static_cast<uint8_t>((base >> 48));
    p[15] = static_cast<uint8_t>((base >> 56));
    p[16] = static_cast<uint8_t>(length);
    p[17] = static_cast<uint8_t>((length >> 8));
    p[18] = static_cast<uint8_t>((length >> 16));
    p[19] = static_cast<uint8_t>((length >> 24));
    p[20] = static_cast<uint8_t>((length >> 32));
    p[21] = static_cast<uint8_t>((length >> 40));
    p[22] = static_cast<uint8_t>((length >> 48));
    p[23] = static_cast<uint8_t>((length >> 56));
    p[24] = 0;
    p[25] = 0;
    p[26] = 0;
    p[27] = 0;
    p[28] = 0;
    p[29] = 0;
    p[30] = 0;
    p[31] = 0;
    p[32] = 0;
    p[33] = 0;
    p[34] = 0;
    p[35] = 0;
    p[36] = 0;
    p[37] = 0;
    p[38] = 0;
    p[39] = 0;
    p[40] = 0;
    p[41] = 0;
    p[42] = 0;
    p[43] = 0;
    p[44] = 0;
    p[45] = 0;
    p[46] = 0;
    p[47] = 0;
    p[48] = 0;
    p[49] = 0;
    p[50] = 0;
    p[51] = 0;
    p[52] = 0;
    p[53] = 0;
    p[54] = 0;
    p[55] = 0;
    p[56] = 0;
    p[57] = 0;
    p[58] = 0;
    p[59] = 0;
    p[60] = 0;
    p[61] = 0;
    p[62] = 0;
    p[63] = 0;
  }

  static MrCtx unpack(const uint8_t* p) {
    MrCtx r;
    r.valid = static_cast<uint8_t>(static_cast<uint32_t>((p[0] & 0x1u)));
    r.local_read = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 1) & 0x1u)));
    r.remote_write = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 2) & 0x1u)));
    r.remote_reduce = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 3) & 0x1u)));
    r.local_write = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 4) & 0x1u)));
    r.remote_read = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 5) & 0x1u)));
    r.remote_atomic = static_cast<uint8_t>(static_cast<uint32_t>(((p[0] >> 6) & 0x1u)));
    r.key = static_cast<uint8_t>(static_cast<uint32_t>(p[1]));
    r.pd = static_cast<uint8_t>(static_cast<uint32_t>(p[2]));
    r.base = static_cast<uint64_t>(
        static_cast<uint64_t>(p[8]) |
        (static_cast<uint64_t>(p[9]) << 8) |
        (static_cast<uint64_t>(p[10]) << 16) |
        (static_cast<uint64_t>(p[11]) << 24) |
        (static_cast<uint64_t>(p[12]) << 32) |
        (static_cast<uint64_t>(p[13]) << 40) |
        (static_cast<uint64_t>(p[14]) << 48) |
        (static_cast<uint64_t>(p[15]) << 56));
    r.length = static_cast<uint64_t>(
        static_cast<uint64_t>(p[16]) |
        (static_cast<uint64_t>(p[17]) << 8) |
        (static_cast<uint64_t>(p[18]) << 16) |
        (static_cast<uint64_t>(p[19]) << 24) |
        (static_cast<uint64_t>(p[20]) << 32) |
        (static_cast<uint64_t>(p[21]) << 40) |
        (static_cast<uint64_t>(p[22]) << 48) |
        (static_cast<uint64_t>(p[23]) << 56));
    return r;
  }

  bool operator==(const MrCtx& o) const {
    return valid == o.valid &&
           local_read == o.local_read &&
           remote_write == o.remote_write &&
           remote_reduce == o.remote_reduce &&
           local_write == o.local_write &&
           remote_read == o.remote_read &&
           remote_atomic == o.remote_atomic &&
           key == o.key &&
           pd == o.pd &&
           base == o.base &&
           length == o.length;
  }
  bool operator!=(const MrCtx& o) const { return !(*this == o); }
};

// counter, as loaded by write_ctr and answered by read_ctr
// little endian
struct Ctr {
  uint32_t success = 0;  // counts of success, modulo 2^32
  uint32_t failure = 0;  // counts of failure, modulo 2^32

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(success);
    p[1] = static_cast<uint8_t>((success >> 8));
    p[2] = static_cast<uint8_t>((success >> 16));
    p[3] = static_cast<uint8_t>((success >> 24));
    p[4] = static_cast<uint8_t>(failure);
    p[5] = static_cast<uint8_t>((failure >> 8));
    p[6] = static_cast<uint8_t>((failure >> 16));
    p[7] = static_cast<uint8_t>((failure >> 24));
    p[8] = 0;
    p[9] = 0;
    p[10] = 0;
    p[11] = 0;
    p[12] = 0;
    p[13] = 0;
    p[14] = 0;
    p[15] = 0;
    p[16] = 0;
    p[17] = 0;
    p[18] = 0;
    p[19] = 0;
    p[20] = 0;
    p[21] = 0;
    p[22] = 0;
    p[23] = 0;
    p[24] = 0;
    p[25] = 0;
    p[26] = 0;
    p[27] = 0;
    p[28] = 0;
    p[29] = 0;
    p[30] = 0;
    p[31] = 0;
    p[32] = 0;
    p[33] = 0;
    p[34] = 0;
    p[35] = 0;
    p[36] = 0;
    p[37] = 0;
    p[38] = 0;
    p[39] = 0;
    p[40] = 0;
    p[41] = 0;
    p[42] = 0;
    p[43] = 0;
    p[44] = 0;
    p[45] = 0;
    p[46] = 0;
    p[47] = 0;
    p[48] = 0;
    p[49] = 0;
    p[50] = 0;
    p[51] = 0;
    p[52] = 0;
    p[53] = 0;
    p[54] = 0;
    p[55] = 0;
    p[56] = 0;
    p[57] = 0;
    p[58] = 0;
    p[59] = 0;
    p[60] = 0;
    p[61] = 0;
    p[62] = 0;
    p[63] = 0;
  }

  static Ctr unpack(const uint8_t* p) {
    Ctr r;
    r.success = static_cast<uint32_t>(
        static_cast<uint32_t>(p[0]) |
        (static_cast<uint32_t>(p[1]) << 8) |
        (static_cast<uint32_t>(p[2]) << 16) |
        (static_cast<uint32_t>(p[3]) << 24));
    r.failure = static_cast<uint32_t>(
        static_cast<uint32_t>(p[4]) |
        (static_cast<uint32_t>(p[5]) << 8) |
        (static_cast<uint32_t>(p[6]) << 16) |
        (static_cast<uint32_t>(p[7]) << 24));
    return r;
  }

  bool operator==(const Ctr& o) const {
    return success == o.success &&
           failure == o.failure;
  }
  bool operator!=(const Ctr& o) const { return !(*this == o); }
};

// answer of read_qp
// little endian
struct QpStatus {
  uint8_t state = 0;  // qp_state: state
  uint32_t next_psn = 0;  // 24 bits: next PSN to send
  uint32_t una_psn = 0;  // 24 bits: oldest unacknowledged PSN
  uint32_t expected_psn = 0;  // 24 bits: next PSN expected
  uint32_t msn = 0;  // 24 bits: messages completed as responder
  uint16_t sq_head = 0;  // ring entries consumed
  uint16_t sq_tail = 0;  // ring entries posted
  uint16_t cwnd = 0;  // congestion window in 1/64 packets
  uint16_t marks = 0;  // packets of the QP that met congestion, modulo 2^16
  uint16_t retransmits = 0;  // packets sent again, modulo 2^16

  static constexpr size_t kBytes = 64;

  // Writes kBytes bytes; reserved bits are written as zero.
  void pack(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(state);
    p[1] = 0;
    p[2] = 0;
    p[3] = 0;
    p[4] = static_cast<uint8_t>(next_psn);
    p[5] = static_cast<uint8_t>((next_psn >> 8));
    p[6] = static_cast<uint8_t>((next_psn >> 16));
    p[7] = 0;
    p[8] = static_cast<uint8_t>(una_psn);
    p[9] = static_cast<uint8_t>((una_psn >> 8));
    p[10] = static_cast<uint8_t>((una_psn >> 16));
    p[11] = 0;
    p[12] = static_cast<uint8_t>(expected_psn);
    p[13] = static_cast<uint8_t>((expected_psn >> 8));
    p[14] = static_cast<uint8_t>((expected_psn >> 16));
    p[15] = 0;
    p[16] = static_cast<uint8_t>(msn);
    p[17] = static_cast<uint8_t>((msn >> 8));
    p[18] = static_cast<uint8_t>((msn >> 16));
    p[19] = 0;
    p[20] = static_cast<uint8_t>(sq_head);
    p[21] = static_cast<uint8_t>((sq_head >> 8));
    p[22] = static_cast<uint8_t>(sq_tail);
    p[23] = static_cast<uint8_t>((sq_tail >> 8));
    p[24] = static_cast<uint8_t>(cwnd);
    p[25] = static_cast<uint8_t>((cwnd >> 8));
    p[26] = static_cast<uint8_t>(marks);
    p[27] = static_cast<uint8_t>((marks >> 8));
    p[28] = static_cast<uint8_t>(retransmits);
    p[29] = static_cast<uint8_t>((retransmits >> 8));
    p[30] = 0;
    p[31] = 0;
    p[32] = 0;
    p[33] = 0;
    p[34] = 0;
    p[35] = 0;
    p[36] = 0;
    p[37] = 0;
    p[38] = 0;
    p[39] = 0;
    p[40] = 0;
    p[41] = 0;
    p[42] = 0;
    p[43] = 0;
    p[44] = 0;
    p[45] = 0;
    p[46] = 0;
    p[47] = 0;
    p[48] = 0;
    p[49] = 0;
    p[50] = 0;
    p[51] = 0;
    p[52] = 0;
    p[53] = 0;
    p[54] = 0;
    p[55] = 0;
    p[56] = 0;
    p[57] = 0;
    p[58] = 0;
    p[59] = 0;
    p[60] = 0;
    p[61] = 0;
    p[62] = 0;
    p[63] = 0;
  }

  static QpStatus unpack(const uint8_t* p) {
    QpStatus r;
    r.state = static_cast<uint8_t>(static_cast<uint32_t>(p[0]));
    r.next_psn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[4]) |
        (static_cast<uint32_t>(p[5]) << 8) |
        (static_cast<uint32_t>(p[6]) << 16));
    r.una_psn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[8]) |
        (static_cast<uint32_t>(p[9]) << 8) |
        (static_cast<uint32_t>(p[10]) << 16));
    r.expected_psn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[12]) |
        (static_cast<uint32_t>(p[13]) << 8) |
        (static_cast<uint32_t>(p[14]) << 16));
    r.msn = static_cast<uint32_t>(
        static_cast<uint32_t>(p[16]) |
        (static_cast<uint32_t>(p[17]) << 8) |
        (static_cast<uint32_t>(p[18]) << 16));
    r.sq_head = static_cast<uint16_t>(
        static_cast<uint32_t>(p[20]) |
        (static_cast<uint32_t>(p[21]) << 8));
    r.sq_tail = static_cast<uint16_t>(
        static_cast<uint32_t>(p[22]) |
        (static_cast<uint32_t>(p[23]) << 8));
    r.cwnd = static_cast<uint16_t>(
        static_cast<uint32_t>(p[24]) |
        (static_cast<uint32_t>(p[25]) << 8));
    r.marks = static_cast<uint16_t>(
        static_cast<uint32_t>(p[26]) |
        (static_cast<uint32_t>(p[27]) << 8));
    r.retransmits = static_cast<uint16_t>(
        static_cast<uint32_t>(p[28]) |
        (static_cast<uint32_t>(p[29]) << 8));
    return r;
  }

  bool operator==(const QpStatus& o) const {
    return state == o.state &&
           next_psn == o.next_psn &&
           una_psn == o.una_psn &&
           expected_psn == o.expected_psn &&
           msn == o.msn &&
           sq_head == o.sq_head &&
           sq_tail == o.sq_tail &&
           cwnd == o.cwnd &&
           marks == o.marks &&
           retransmits == o.retransmits;
  }
  bool operator!=(const QpStatus& o) const { return !(*this == o); }
};

// packet descriptor, nic_core to nic_port; one frame each
struct Txd {
  uint8_t opcode = 0;  // 8 bits: pkt_op
  uint8_t vc = 0;  // 2 bits: virtual channel
  uint16_t dst_node = 0;  // 16 bits: destination node
  uint32_t dst_qpn = 0;  // 24 bits: destination QPN
  uint16_t src_qpn = 0;  // 16 bits: own QPN (UDP source port, error reports)
  uint32_t psn = 0;  // 24 bits: PSN
  uint8_t ack_req = 0;  // 1 bit: BTH acknowledge request
  uint8_t becn = 0;  // 1 bit: BTH BECN
  uint64_t laddr = 0;  // 64 bits: payload source
  uint16_t len = 0;  // 13 bits: payload bytes 0..4096; READ request: bytes wanted
  uint64_t raddr = 0;  // 64 bits: RETH address; SEND: SENDH number (63:32) and offset (31:0)
  uint32_t rkey = 0;  // 32 bits: RETH key; SEND: SENDH length
  uint8_t red_op = 0;  // 4 bits: REDH operation
  uint8_t red_dtype = 0;  // 4 bits: REDH type
  uint8_t red_ordered = 0;  // 1 bit: REDH: applied in PSN order
  uint32_t imm = 0;  // 32 bits: immediate
  uint8_t syndrome = 0;  // 8 bits: AETH syndrome
  uint32_t msn = 0;  // 24 bits: AETH MSN
  uint8_t rnum = 0;  // 7 bits: BTH receive number
  // 1 bit: the payload (len 0..16) is in sack, its byte 0 in bits 7:0; no memory is read
  uint8_t inl = 0;
  std::array<uint32_t, 13> sack{};  // 416 bits: acknowledgement: SACKH, its byte 0 in bits 7:0

  static constexpr size_t kBits = 762;
  static constexpr size_t kWords = 24;
  static constexpr size_t kOpcodeLsb = 754;
  static constexpr size_t kOpcodeBits = 8;
  static constexpr size_t kVcLsb = 752;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kDstNodeLsb = 736;
  static constexpr size_t kDstNodeBits = 16;
  static constexpr size_t kDstQpnLsb = 712;
  static constexpr size_t kDstQpnBits = 24;
  static constexpr size_t kSrcQpnLsb = 696;
  static constexpr size_t kSrcQpnBits = 16;
  static constexpr size_t kPsnLsb = 672;
  static constexpr size_t kPsnBits = 24;
  static constexpr size_t kAckReqLsb = 671;
  static constexpr size_t kAckReqBits = 1;
  static constexpr size_t kBecnLsb = 670;
  static constexpr size_t kBecnBits = 1;
  static constexpr size_t kLaddrLsb = 606;
  static constexpr size_t kLaddrBits = 64;
  static constexpr size_t kLenLsb = 593;
  static constexpr size_t kLenBits = 13;
  static constexpr size_t kRaddrLsb = 529;
  static constexpr size_t kRaddrBits = 64;
  static constexpr size_t kRkeyLsb = 497;
  static constexpr size_t kRkeyBits = 32;
  static constexpr size_t kRedOpLsb = 493;
  static constexpr size_t kRedOpBits = 4;
  static constexpr size_t kRedDtypeLsb = 489;
  static constexpr size_t kRedDtypeBits = 4;
  static constexpr size_t kRedOrderedLsb = 488;
  static constexpr size_t kRedOrderedBits = 1;
  static constexpr size_t kImmLsb = 456;
  static constexpr size_t kImmBits = 32;
  static constexpr size_t kSyndromeLsb = 448;
  static constexpr size_t kSyndromeBits = 8;
  static constexpr size_t kMsnLsb = 424;
  static constexpr size_t kMsnBits = 24;
  static constexpr size_t kRnumLsb = 417;
  static constexpr size_t kRnumBits = 7;
  static constexpr size_t kInlLsb = 416;
  static constexpr size_t kInlBits = 1;
  static constexpr size_t kSackLsb = 0;
  static constexpr size_t kSackBits = 416;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = sack[0];
    w[1] = sack[1];
    w[2] = sack[2];
    w[3] = sack[3];
    w[4] = sack[4];
    w[5] = sack[5];
    w[6] = sack[6];
    w[7] = sack[7];
    w[8] = sack[8];
    w[9] = sack[9];
    w[10] = sack[10];
    w[11] = sack[11];
    w[12] = sack[12];
    w[13] =
        ((static_cast<uint32_t>(msn) & 0xffffffu) << 8) |
        ((static_cast<uint32_t>(rnum) & 0x7fu) << 1) |
        (static_cast<uint32_t>(inl) & 0x1u);
    w[14] =
        ((static_cast<uint32_t>(imm) & 0xffffffu) << 8) |
        (static_cast<uint32_t>(syndrome) & 0xffu);
    w[15] =
        ((static_cast<uint32_t>(rkey) & 0x7fffu) << 17) |
        ((static_cast<uint32_t>(red_op) & 0xfu) << 13) |
        ((static_cast<uint32_t>(red_dtype) & 0xfu) << 9) |
        ((static_cast<uint32_t>(red_ordered) & 0x1u) << 8) |
        ((static_cast<uint32_t>(imm) >> 24) & 0xffu);
    w[16] =
        ((static_cast<uint32_t>(raddr) & 0x7fffu) << 17) |
        ((static_cast<uint32_t>(rkey) >> 15) & 0x1ffffu);
    w[17] =
        ((static_cast<uint32_t>(raddr) >> 15) & 0x1ffffu) |
        ((static_cast<uint32_t>(raddr >> 32) & 0x7fffu) << 17);
    w[18] =
        ((static_cast<uint32_t>(laddr) & 0x3u) << 30) |
        ((static_cast<uint32_t>(len) & 0x1fffu) << 17) |
        ((static_cast<uint32_t>(raddr >> 32) >> 15) & 0x1ffffu);
    w[19] =
        ((static_cast<uint32_t>(laddr) >> 2) & 0x3fffffffu) |
        ((static_cast<uint32_t>(laddr >> 32) & 0x3u) << 30);
    w[20] =
        ((static_cast<uint32_t>(ack_req) & 0x1u) << 31) |
        ((static_cast<uint32_t>(becn) & 0x1u) << 30) |
        ((static_cast<uint32_t>(laddr >> 32) >> 2) & 0x3fffffffu);
    w[21] =
        ((static_cast<uint32_t>(src_qpn) & 0xffu) << 24) |
        (static_cast<uint32_t>(psn) & 0xffffffu);
    w[22] =
        ((static_cast<uint32_t>(dst_qpn) & 0xffffffu) << 8) |
        ((static_cast<uint32_t>(src_qpn) >> 8) & 0xffu);
    w[23] =
        ((static_cast<uint32_t>(opcode) & 0xffu) << 18) |
        ((static_cast<uint32_t>(vc) & 0x3u) << 16) |
        (static_cast<uint32_t>(dst_node) & 0xffffu);
  }

  static Txd from_words(const uint32_t* w) {
    Txd r;
    r.opcode = static_cast<uint8_t>(((w[23] >> 18) & 0xffu));
    r.vc = static_cast<uint8_t>(((w[23] >> 16) & 0x3u));
    r.dst_node = static_cast<uint16_t>((w[23] & 0xffffu));
    r.dst_qpn = static_cast<uint32_t>(((w[22] >> 8) & 0xffffffu));
    r.src_qpn = static_cast<uint16_t>(((w[21] >> 24) & 0xffu) | ((w[22] & 0xffu) << 8));
    r.psn = static_cast<uint32_t>((w[21] & 0xffffffu));
    r.ack_req = static_cast<uint8_t>(((w[20] >> 31) & 0x1u));
    r.becn = static_cast<uint8_t>(((w[20] >> 30) & 0x1u));
    r.laddr = static_cast<uint64_t>(
        static_cast<uint64_t>(((w[18] >> 30) & 0x3u)) |
        (static_cast<uint64_t>((w[19] & 0x3fffffffu)) << 2) |
        (static_cast<uint64_t>(((w[19] >> 30) & 0x3u)) << 32) |
        (static_cast<uint64_t>((w[20] & 0x3fffffffu)) << 34));
    r.len = static_cast<uint16_t>(((w[18] >> 17) & 0x1fffu));
    r.raddr = static_cast<uint64_t>(
        static_cast<uint64_t>(((w[16] >> 17) & 0x7fffu)) |
        (static_cast<uint64_t>((w[17] & 0x1ffffu)) << 15) |
        (static_cast<uint64_t>(((w[17] >> 17) & 0x7fffu)) << 32) |
        (static_cast<uint64_t>((w[18] & 0x1ffffu)) << 47));
    r.rkey = static_cast<uint32_t>(((w[15] >> 17) & 0x7fffu) | ((w[16] & 0x1ffffu) << 15));
    r.red_op = static_cast<uint8_t>(((w[15] >> 13) & 0xfu));
    r.red_dtype = static_cast<uint8_t>(((w[15] >> 9) & 0xfu));
    r.red_ordered = static_cast<uint8_t>(((w[15] >> 8) & 0x1u));
    r.imm = static_cast<uint32_t>(((w[14] >> 8) & 0xffffffu) | ((w[15] & 0xffu) << 24));
    r.syndrome = static_cast<uint8_t>((w[14] & 0xffu));
    r.msn = static_cast<uint32_t>(((w[13] >> 8) & 0xffffffu));
    r.rnum = static_cast<uint8_t>(((w[13] >> 1) & 0x7fu));
    r.inl = static_cast<uint8_t>((w[13] & 0x1u));
    r.sack[0] = w[0];
    r.sack[1] = w[1];
    r.sack[2] = w[2];
    r.sack[3] = w[3];
    r.sack[4] = w[4];
    r.sack[5] = w[5];
    r.sack[6] = w[6];
    r.sack[7] = w[7];
    r.sack[8] = w[8];
    r.sack[9] = w[9];
    r.sack[10] = w[10];
    r.sack[11] = w[11];
    r.sack[12] = w[12];
    return r;
  }

  bool operator==(const Txd& o) const {
    return opcode == o.opcode &&
           vc == o.vc &&
           dst_node == o.dst_node &&
           dst_qpn == o.dst_qpn &&
           src_qpn == o.src_qpn &&
           psn == o.psn &&
           ack_req == o.ack_req &&
           becn == o.becn &&
           laddr == o.laddr &&
           len == o.len &&
           raddr == o.raddr &&
           rkey == o.rkey &&
           red_op == o.red_op &&
           red_dtype == o.red_dtype &&
           red_ordered == o.red_ordered &&
           imm == o.imm &&
           syndrome == o.syndrome &&
           msn == o.msn &&
           rnum == o.rnum &&
           inl == o.inl &&
           sack == o.sack;
  }
  bool operator!=(const Txd& o) const { return !(*this == o); }
};

// nic_port to nic_core, one per request and READ response descriptor (not per acknowledgement), in
// order, when its last payload byte has been read
struct Txc {
  uint16_t qpn = 0;  // 16 bits: own QPN
  uint32_t psn = 0;  // 24 bits: PSN
  uint8_t rsp = 0;  // 1 bit: of a READ response: the PSN is one of the peer's
  // 1 bit: payload could not be read; the frame was sent with its FCS and ICRC complemented, so
  // that nobody accepts it
  uint8_t err = 0;

  static constexpr size_t kBits = 42;
  static constexpr size_t kWords = 2;
  static constexpr size_t kQpnLsb = 26;
  static constexpr size_t kQpnBits = 16;
  static constexpr size_t kPsnLsb = 2;
  static constexpr size_t kPsnBits = 24;
  static constexpr size_t kRspLsb = 1;
  static constexpr size_t kRspBits = 1;
  static constexpr size_t kErrLsb = 0;
  static constexpr size_t kErrBits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(qpn) & 0x3fu) << 26) |
        ((static_cast<uint32_t>(psn) & 0xffffffu) << 2) |
        ((static_cast<uint32_t>(rsp) & 0x1u) << 1) |
        (static_cast<uint32_t>(err) & 0x1u);
    w[1] = ((static_cast<uint32_t>(qpn) >> 6) & 0x3ffu);
  }

  static Txc from_words(const uint32_t* w) {
    Txc r;
    r.qpn = static_cast<uint16_t>(((w[0] >> 26) & 0x3fu) | ((w[1] & 0x3ffu) << 6));
    r.psn = static_cast<uint32_t>(((w[0] >> 2) & 0xffffffu));
    r.rsp = static_cast<uint8_t>(((w[0] >> 1) & 0x1u));
    r.err = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static Txc from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const Txc& o) const {
    return qpn == o.qpn &&
           psn == o.psn &&
           rsp == o.rsp &&
           err == o.err;
  }
  bool operator!=(const Txc& o) const { return !(*this == o); }
};

// header of a received frame, nic_port to nic_core, in arrival order per virtual channel
struct Rxh {
  // 8 bits: err_cause: 0, or fcs, icrc, malformed, misrouted, framing: log it, no verdict
  uint8_t err = 0;
  uint8_t opcode = 0;  // 8 bits: pkt_op
  uint8_t vc = 0;  // 2 bits: virtual channel
  uint16_t src_node = 0;  // 16 bits: source node
  uint32_t dst_qpn = 0;  // 24 bits: destination QPN (best effort when err)
  uint32_t psn = 0;  // 24 bits: PSN (best effort when err)
  uint8_t ack_req = 0;  // 1 bit: acknowledge request
  uint8_t becn = 0;  // 1 bit: BECN
  uint8_t ce = 0;  // 1 bit: the IP header carries CE
  uint64_t raddr = 0;  // 64 bits: RETH address; SEND: SENDH number (63:32) and offset (31:0)
  uint32_t rkey = 0;  // 32 bits: RETH key; SEND: SENDH length
  uint16_t len = 0;  // 13 bits: payload bytes (= RETH length); READ request: bytes wanted
  uint8_t red_op = 0;  // 4 bits: REDH operation
  uint8_t red_dtype = 0;  // 4 bits: REDH type
  uint8_t red_ordered = 0;  // 1 bit: REDH: applied in PSN order
  uint32_t imm = 0;  // 32 bits: immediate
  uint8_t syndrome = 0;  // 8 bits: AETH syndrome
  uint32_t msn = 0;  // 24 bits: AETH MSN
  uint8_t rnum = 0;  // 7 bits: BTH receive number
  std::array<uint32_t, 13> sack{};  // 416 bits: acknowledgement: SACKH, its byte 0 in bits 7:0

  static constexpr size_t kBits = 690;
  static constexpr size_t kWords = 22;
  static constexpr size_t kErrLsb = 682;
  static constexpr size_t kErrBits = 8;
  static constexpr size_t kOpcodeLsb = 674;
  static constexpr size_t kOpcodeBits = 8;
  static constexpr size_t kVcLsb = 672;
  static constexpr size_t kVcBits = 2;
  static constexpr size_t kSrcNodeLsb = 656;
  static constexpr size_t kSrcNodeBits = 16;
  static constexpr size_t kDstQpnLsb = 632;
  static constexpr size_t kDstQpnBits = 24;
  static constexpr size_t kPsnLsb = 608;
  static constexpr size_t kPsnBits = 24;
  static constexpr size_t kAckReqLsb = 607;
  static constexpr size_t kAckReqBits = 1;
  static constexpr size_t kBecnLsb = 606;
  static constexpr size_t kBecnBits = 1;
  static constexpr size_t kCeLsb = 605;
  static constexpr size_t kCeBits = 1;
  static constexpr size_t kRaddrLsb = 541;
  static constexpr size_t kRaddrBits = 64;
  static constexpr size_t kRkeyLsb = 509;
  static constexpr size_t kRkeyBits = 32;
  static constexpr size_t kLenLsb = 496;
  static constexpr size_t kLenBits = 13;
  static constexpr size_t kRedOpLsb = 492;
  static constexpr size_t kRedOpBits = 4;
  static constexpr size_t kRedDtypeLsb = 488;
  static constexpr size_t kRedDtypeBits = 4;
  static constexpr size_t kRedOrderedLsb = 487;
  static constexpr size_t kRedOrderedBits = 1;
  static constexpr size_t kImmLsb = 455;
  static constexpr size_t kImmBits = 32;
  static constexpr size_t kSyndromeLsb = 447;
  static constexpr size_t kSyndromeBits = 8;
  static constexpr size_t kMsnLsb = 423;
  static constexpr size_t kMsnBits = 24;
  static constexpr size_t kRnumLsb = 416;
  static constexpr size_t kRnumBits = 7;
  static constexpr size_t kSackLsb = 0;
  static constexpr size_t kSackBits = 416;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = sack[0];
    w[1] = sack[1];
    w[2] = sack[2];
    w[3] = sack[3];
    w[4] = sack[4];
    w[5] = sack[5];
    w[6] = sack[6];
    w[7] = sack[7];
    w[8] = sack[8];
    w[9] = sack[9];
    w[10] = sack[10];
    w[11] = sack[11];
    w[12] = sack[12];
    w[13] =
        ((static_cast<uint32_t>(syndrome) & 0x1u) << 31) |
        ((static_cast<uint32_t>(msn) & 0xffffffu) << 7) |
        (static_cast<uint32_t>(rnum) & 0x7fu);
    w[14] =
        ((static_cast<uint32_t>(imm) & 0x1ffffffu) << 7) |
        ((static_cast<uint32_t>(syndrome) >> 1) & 0x7fu);
    w[15] =
        ((static_cast<uint32_t>(rkey) & 0x7u) << 29) |
        ((static_cast<uint32_t>(len) & 0x1fffu) << 16) |
        ((static_cast<uint32_t>(red_op) & 0xfu) << 12) |
        ((static_cast<uint32_t>(red_dtype) & 0xfu) << 8) |
        ((static_cast<uint32_t>(red_ordered) & 0x1u) << 7) |
        ((static_cast<uint32_t>(imm) >> 25) & 0x7fu);
    w[16] =
        ((static_cast<uint32_t>(raddr) & 0x7u) << 29) |
        ((static_cast<uint32_t>(rkey) >> 3) & 0x1fffffffu);
    w[17] =
        ((static_cast<uint32_t>(raddr) >> 3) & 0x1fffffffu) |
        ((static_cast<uint32_t>(raddr >> 32) & 0x7u) << 29);
    w[18] =
        ((static_cast<uint32_t>(ack_req) & 0x1u) << 31) |
        ((static_cast<uint32_t>(becn) & 0x1u) << 30) |
        ((static_cast<uint32_t>(ce) & 0x1u) << 29) |
        ((static_cast<uint32_t>(raddr >> 32) >> 3) & 0x1fffffffu);
    w[19] =
        ((static_cast<uint32_t>(dst_qpn) & 0xffu) << 24) |
        (static_cast<uint32_t>(psn) & 0xffffffu);
    w[20] =
        ((static_cast<uint32_t>(src_node) & 0xffffu) << 16) |
        ((static_cast<uint32_t>(dst_qpn) >> 8) & 0xffffu);
    w[21] =
        ((static_cast<uint32_t>(err) & 0xffu) << 10) |
        ((static_cast<uint32_t>(opcode) & 0xffu) << 2) |
        (static_cast<uint32_t>(vc) & 0x3u);
  }

  static Rxh from_words(const uint32_t* w) {
    Rxh r;
    r.err = static_cast<uint8_t>(((w[21] >> 10) & 0xffu));
    r.opcode = static_cast<uint8_t>(((w[21] >> 2) & 0xffu));
    r.vc = static_cast<uint8_t>((w[21] & 0x3u));
    r.src_node = static_cast<uint16_t>(((w[20] >> 16) & 0xffffu));
    r.dst_qpn = static_cast<uint32_t>(((w[19] >> 24) & 0xffu) | ((w[20] & 0xffffu) << 8));
    r.psn = static_cast<uint32_t>((w[19] & 0xffffffu));
    r.ack_req = static_cast<uint8_t>(((w[18] >> 31) & 0x1u));
    r.becn = static_cast<uint8_t>(((w[18] >> 30) & 0x1u));
    r.ce = static_cast<uint8_t>(((w[18] >> 29) & 0x1u));
    r.raddr = static_cast<uint64_t>(
        static_cast<uint64_t>(((w[16] >> 29) & 0x7u)) |
        (static_cast<uint64_t>((w[17] & 0x1fffffffu)) << 3) |
        (static_cast<uint64_t>(((w[17] >> 29) & 0x7u)) << 32) |
        (static_cast<uint64_t>((w[18] & 0x1fffffffu)) << 35));
    r.rkey = static_cast<uint32_t>(((w[15] >> 29) & 0x7u) | ((w[16] & 0x1fffffffu) << 3));
    r.len = static_cast<uint16_t>(((w[15] >> 16) & 0x1fffu));
    r.red_op = static_cast<uint8_t>(((w[15] >> 12) & 0xfu));
    r.red_dtype = static_cast<uint8_t>(((w[15] >> 8) & 0xfu));
    r.red_ordered = static_cast<uint8_t>(((w[15] >> 7) & 0x1u));
    r.imm = static_cast<uint32_t>(((w[14] >> 7) & 0x1ffffffu) | ((w[15] & 0x7fu) << 25));
    r.syndrome = static_cast<uint8_t>(((w[13] >> 31) & 0x1u) | ((w[14] & 0x7fu) << 1));
    r.msn = static_cast<uint32_t>(((w[13] >> 7) & 0xffffffu));
    r.rnum = static_cast<uint8_t>((w[13] & 0x7fu));
    r.sack[0] = w[0];
    r.sack[1] = w[1];
    r.sack[2] = w[2];
    r.sack[3] = w[3];
    r.sack[4] = w[4];
    r.sack[5] = w[5];
    r.sack[6] = w[6];
    r.sack[7] = w[7];
    r.sack[8] = w[8];
    r.sack[9] = w[9];
    r.sack[10] = w[10];
    r.sack[11] = w[11];
    r.sack[12] = w[12];
    return r;
  }

  bool operator==(const Rxh& o) const {
    return err == o.err &&
           opcode == o.opcode &&
           vc == o.vc &&
           src_node == o.src_node &&
           dst_qpn == o.dst_qpn &&
           psn == o.psn &&
           ack_req == o.ack_req &&
           becn == o.becn &&
           ce == o.ce &&
           raddr == o.raddr &&
           rkey == o.rkey &&
           len == o.len &&
           red_op == o.red_op &&
           red_dtype == o.red_dtype &&
           red_ordered == o.red_ordered &&
           imm == o.imm &&
           syndrome == o.syndrome &&
           msn == o.msn &&
           rnum == o.rnum &&
           sack == o.sack;
  }
  bool operator!=(const Rxh& o) const { return !(*this == o); }
};

// verdict on a frame without err that may carry payload, nic_core to nic_port, in the order of rxh
// (acknowledgements and READ requests get none)
struct Rxv {
  uint8_t action = 0;  // 2 bits: rx_action
  uint8_t rsp = 0;  // 1 bit: the frame is a READ response; returned in rxd
  uint16_t qpn = 0;  // 16 bits: own QPN, returned in rxd
  uint32_t psn = 0;  // 24 bits: PSN, returned in rxd
  uint64_t addr = 0;  // 64 bits: target
  uint16_t len = 0;  // 13 bits: bytes
  uint8_t red_op = 0;  // 4 bits: operation
  uint8_t red_dtype = 0;  // 4 bits: type; atomic: 0 fetch-add, 1 compare-swap
  // 1 bit: write: the payload is one big-endian 64-bit number, written little-endian
  uint8_t swap8 = 0;

  static constexpr size_t kBits = 129;
  static constexpr size_t kWords = 5;
  static constexpr size_t kActionLsb = 127;
  static constexpr size_t kActionBits = 2;
  static constexpr size_t kRspLsb = 126;
  static constexpr size_t kRspBits = 1;
  static constexpr size_t kQpnLsb = 110;
  static constexpr size_t kQpnBits = 16;
  static constexpr size_t kPsnLsb = 86;
  static constexpr size_t kPsnBits = 24;
  static constexpr size_t kAddrLsb = 22;
  static constexpr size_t kAddrBits = 64;
  static constexpr size_t kLenLsb = 9;
  static constexpr size_t kLenBits = 13;
  static constexpr size_t kRedOpLsb = 5;
  static constexpr size_t kRedOpBits = 4;
  static constexpr size_t kRedDtypeLsb = 1;
  static constexpr size_t kRedDtypeBits = 4;
  static constexpr size_t kSwap8Lsb = 0;
  static constexpr size_t kSwap8Bits = 1;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(addr) & 0x3ffu) << 22) |
        ((static_cast<uint32_t>(len) & 0x1fffu) << 9) |
        ((static_cast<uint32_t>(red_op) & 0xfu) << 5) |
        ((static_cast<uint32_t>(red_dtype) & 0xfu) << 1) |
        (static_cast<uint32_t>(swap8) & 0x1u);
    w[1] =
        ((static_cast<uint32_t>(addr) >> 10) & 0x3fffffu) |
        ((static_cast<uint32_t>(addr >> 32) & 0x3ffu) << 22);
    w[2] =
        ((static_cast<uint32_t>(psn) & 0x3ffu) << 22) |
        ((static_cast<uint32_t>(addr >> 32) >> 10) & 0x3fffffu);
    w[3] =
        ((static_cast<uint32_t>(action) & 0x1u) << 31) |
        ((static_cast<uint32_t>(rsp) & 0x1u) << 30) |
        ((static_cast<uint32_t>(qpn) & 0xffffu) << 14) |
        ((static_cast<uint32_t>(psn) >> 10) & 0x3fffu);
    w[4] = ((static_cast<uint32_t>(action) >> 1) & 0x1u);
  }

  static Rxv from_words(const uint32_t* w) {
    Rxv r;
    r.action = static_cast<uint8_t>(((w[3] >> 31) & 0x1u) | ((w[4] & 0x1u) << 1));
    r.rsp = static_cast<uint8_t>(((w[3] >> 30) & 0x1u));
    r.qpn = static_cast<uint16_t>(((w[3] >> 14) & 0xffffu));
    r.psn = static_cast<uint32_t>(((w[2] >> 22) & 0x3ffu) | ((w[3] & 0x3fffu) << 10));
    r.addr = static_cast<uint64_t>(
        static_cast<uint64_t>(((w[0] >> 22) & 0x3ffu)) |
        (static_cast<uint64_t>((w[1] & 0x3fffffu)) << 10) |
        (static_cast<uint64_t>(((w[1] >> 22) & 0x3ffu)) << 32) |
        (static_cast<uint64_t>((w[2] & 0x3fffffu)) << 42));
    r.len = static_cast<uint16_t>(((w[0] >> 9) & 0x1fffu));
    r.red_op = static_cast<uint8_t>(((w[0] >> 5) & 0xfu));
    r.red_dtype = static_cast<uint8_t>(((w[0] >> 1) & 0xfu));
    r.swap8 = static_cast<uint8_t>((w[0] & 0x1u));
    return r;
  }

  bool operator==(const Rxv& o) const {
    return action == o.action &&
           rsp == o.rsp &&
           qpn == o.qpn &&
           psn == o.psn &&
           addr == o.addr &&
           len == o.len &&
           red_op == o.red_op &&
           red_dtype == o.red_dtype &&
           swap8 == o.swap8;
  }
  bool operator!=(const Rxv& o) const { return !(*this == o); }
};

// payload placed or dropped, nic_port to nic_core, in verdict order, after the memory's write
// response (at once for zero length and drops)
struct Rxd {
  uint8_t rsp = 0;  // 1 bit: of a READ response
  uint16_t qpn = 0;  // 16 bits: own QPN
  uint32_t psn = 0;  // 24 bits: PSN
  uint8_t err = 0;  // 1 bit: memory refused
  uint64_t old = 0;  // 64 bits: atomic: value before

  static constexpr size_t kBits = 106;
  static constexpr size_t kWords = 4;
  static constexpr size_t kRspLsb = 105;
  static constexpr size_t kRspBits = 1;
  static constexpr size_t kQpnLsb = 89;
  static constexpr size_t kQpnBits = 16;
  static constexpr size_t kPsnLsb = 65;
  static constexpr size_t kPsnBits = 24;
  static constexpr size_t kErrLsb = 64;
  static constexpr size_t kErrBits = 1;
  static constexpr size_t kOldLsb = 0;
  static constexpr size_t kOldBits = 64;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = static_cast<uint32_t>(old);
    w[1] = static_cast<uint32_t>(old >> 32);
    w[2] =
        ((static_cast<uint32_t>(qpn) & 0x7fu) << 25) |
        ((static_cast<uint32_t>(psn) & 0xffffffu) << 1) |
        (static_cast<uint32_t>(err) & 0x1u);
    w[3] =
        ((static_cast<uint32_t>(rsp) & 0x1u) << 9) |
        ((static_cast<uint32_t>(qpn) >> 7) & 0x1ffu);
  }

  static Rxd from_words(const uint32_t* w) {
    Rxd r;
    r.rsp = static_cast<uint8_t>(((w[3] >> 9) & 0x1u));
    r.qpn = static_cast<uint16_t>(((w[2] >> 25) & 0x7fu) | ((w[3] & 0x1ffu) << 7));
    r.psn = static_cast<uint32_t>(((w[2] >> 1) & 0xffffffu));
    r.err = static_cast<uint8_t>((w[2] & 0x1u));
    r.old = static_cast<uint64_t>(
        static_cast<uint64_t>(w[0]) |
        (static_cast<uint64_t>(w[1]) << 32));
    return r;
  }

  bool operator==(const Rxd& o) const {
    return rsp == o.rsp &&
           qpn == o.qpn &&
           psn == o.psn &&
           err == o.err &&
           old == o.old;
  }
  bool operator!=(const Rxd& o) const { return !(*this == o); }
};

// memory access of 1..4096 bytes at any byte address; mem_if aligns, so data beats start at addr
struct MemReq {
  uint64_t addr = 0;  // 64 bits: card address
  uint16_t len = 0;  // 13 bits: bytes

  static constexpr size_t kBits = 77;
  static constexpr size_t kWords = 3;
  static constexpr size_t kAddrLsb = 13;
  static constexpr size_t kAddrBits = 64;
  static constexpr size_t kLenLsb = 0;
  static constexpr size_t kLenBits = 13;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(addr) & 0x7ffffu) << 13) |
        (static_cast<uint32_t>(len) & 0x1fffu);
    w[1] =
        ((static_cast<uint32_t>(addr) >> 19) & 0x1fffu) |
        ((static_cast<uint32_t>(addr >> 32) & 0x7ffffu) << 13);
    w[2] = ((static_cast<uint32_t>(addr >> 32) >> 19) & 0x1fffu);
  }

  static MemReq from_words(const uint32_t* w) {
    MemReq r;
    r.addr = static_cast<uint64_t>(
        static_cast<uint64_t>(((w[0] >> 13) & 0x7ffffu)) |
        (static_cast<uint64_t>((w[1] & 0x1fffu)) << 19) |
        (static_cast<uint64_t>(((w[1] >> 13) & 0x7ffffu)) << 32) |
        (static_cast<uint64_t>((w[2] & 0x1fffu)) << 51));
    r.len = static_cast<uint16_t>((w[0] & 0x1fffu));
    return r;
  }

  bool operator==(const MemReq& o) const {
    return addr == o.addr &&
           len == o.len;
  }
  bool operator!=(const MemReq& o) const { return !(*this == o); }
};

// read data beat of 64 bytes, the last one padded with zero; responses in request order
struct MemRdata {
  uint8_t err = 0;  // 1 bit: address refused (data zero); set on every beat of the access
  uint8_t last = 0;  // 1 bit: last beat of the access
  std::array<uint32_t, 16> data{};  // 512 bits: byte 0 in bits 7:0

  static constexpr size_t kBits = 514;
  static constexpr size_t kWords = 17;
  static constexpr size_t kErrLsb = 513;
  static constexpr size_t kErrBits = 1;
  static constexpr size_t kLastLsb = 512;
  static constexpr size_t kLastBits = 1;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 512;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = data[0];
    w[1] = data[1];
    w[2] = data[2];
    w[3] = data[3];
    w[4] = data[4];
    w[5] = data[5];
    w[6] = data[6];
    w[7] = data[7];
    w[8] = data[8];
    w[9] = data[9];
    w[10] = data[10];
    w[11] = data[11];
    w[12] = data[12];
    w[13] = data[13];
    w[14] = data[14];
    w[15] = data[15];
    w[16] = ((static_cast<uint32_t>(err) & 0x1u) << 1) | (static_cast<uint32_t>(last) & 0x1u);
  }

  static MemRdata from_words(const uint32_t* w) {
    MemRdata r;
    r.err = static_cast<uint8_t>(((w[16] >> 1) & 0x1u));
    r.last = static_cast<uint8_t>((w[16] & 0x1u));
    r.data[0] = w[0];
    r.data[1] = w[1];
    r.data[2] = w[2];
    r.data[3] = w[3];
    r.data[4] = w[4];
    r.data[5] = w[5];
    r.data[6] = w[6];
    r.data[7] = w[7];
    r.data[8] = w[8];
    r.data[9] = w[9];
    r.data[10] = w[10];
    r.data[11] = w[11];
    r.data[12] = w[12];
    r.data[13] = w[13];
    r.data[14] = w[14];
    r.data[15] = w[15];
    return r;
  }

  bool operator==(const MemRdata& o) const {
    return err == o.err &&
           last == o.last &&
           data == o.data;
  }
  bool operator!=(const MemRdata& o) const { return !(*this == o); }
};

// access to host memory or a card address by nic_core or host_if, up to 64 bytes, not crossing a
// 64-byte boundary
struct DmaReq {
  uint8_t kind = 0;  // 2 bits: dma_kind
  uint16_t tag = 0;  // 10 bits: returned in the response; below sq_tags: a read of a send ring
  uint64_t addr = 0;  // 64 bits: card address; bit 63: host IOVA
  uint8_t len = 0;  // 7 bits: bytes 1..64
  std::array<uint32_t, 16> data{};  // 512 bits: write data

  static constexpr size_t kBits = 595;
  static constexpr size_t kWords = 19;
  static constexpr size_t kKindLsb = 593;
  static constexpr size_t kKindBits = 2;
  static constexpr size_t kTagLsb = 583;
  static constexpr size_t kTagBits = 10;
  static constexpr size_t kAddrLsb = 519;
  static constexpr size_t kAddrBits = 64;
  static constexpr size_t kLenLsb = 512;
  static constexpr size_t kLenBits = 7;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 512;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = data[0];
    w[1] = data[1];
    w[2] = data[2];
    w[3] = data[3];
    w[4] = data[4];
    w[5] = data[5];
    w[6] = data[6];
    w[7] = data[7];
    w[8] = data[8];
    w[9] = data[9];
    w[10] = data[10];
    w[11] = data[11];
    w[12] = data[12];
    w[13] = data[13];
    w[14] = data[14];
    w[15] = data[15];
    w[16] =
        ((static_cast<uint32_t>(addr) & 0x1ffffffu) << 7) |
        (static_cast<uint32_t>(len) & 0x7fu);
    w[17] =
        ((static_cast<uint32_t>(addr) >> 25) & 0x7fu) |
        ((static_cast<uint32_t>(addr >> 32) & 0x1ffffffu) << 7);
    w[18] =
        ((static_cast<uint32_t>(kind) & 0x3u) << 17) |
        ((static_cast<uint32_t>(tag) & 0x3ffu) << 7) |
        ((static_cast<uint32_t>(addr >> 32) >> 25) & 0x7fu);
  }

  static DmaReq from_words(const uint32_t* w) {
    DmaReq r;
    r.kind = static_cast<uint8_t>(((w[18] >> 17) & 0x3u));
    r.tag = static_cast<uint16_t>(((w[18] >> 7) & 0x3ffu));
    r.addr = static_cast<uint64_t>(
        static_cast<uint64_t>(((w[16] >> 7) & 0x1ffffffu)) |
        (static_cast<uint64_t>((w[17] & 0x7fu)) << 25) |
        (static_cast<uint64_t>(((w[17] >> 7) & 0x1ffffffu)) << 32) |
        (static_cast<uint64_t>((w[18] & 0x7fu)) << 57));
    r.len = static_cast<uint8_t>((w[16] & 0x7fu));
    r.data[0] = w[0];
    r.data[1] = w[1];
    r.data[2] = w[2];
    r.data[3] = w[3];
    r.data[4] = w[4];
    r.data[5] = w[5];
    r.data[6] = w[6];
    r.data[7] = w[7];
    r.data[8] = w[8];
    r.data[9] = w[9];
    r.data[10] = w[10];
    r.data[11] = w[11];
    r.data[12] = w[12];
    r.data[13] = w[13];
    r.data[14] = w[14];
    r.data[15] = w[15];
    return r;
  }

  bool operator==(const DmaReq& o) const {
    return kind == o.kind &&
           tag == o.tag &&
           addr == o.addr &&
           len == o.len &&
           data == o.data;
  }
  bool operator!=(const DmaReq& o) const { return !(*this == o); }
};

// answer to a read or a posted write
struct DmaRsp {
  uint16_t tag = 0;  // 10 bits: of the request
  uint8_t err = 0;  // 1 bit: refused
  std::array<uint32_t, 16> data{};  // 512 bits: read data

  static constexpr size_t kBits = 523;
  static constexpr size_t kWords = 17;
  static constexpr size_t kTagLsb = 513;
  static constexpr size_t kTagBits = 10;
  static constexpr size_t kErrLsb = 512;
  static constexpr size_t kErrBits = 1;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 512;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = data[0];
    w[1] = data[1];
    w[2] = data[2];
    w[3] = data[3];
    w[4] = data[4];
    w[5] = data[5];
    w[6] = data[6];
    w[7] = data[7];
    w[8] = data[8];
    w[9] = data[9];
    w[10] = data[10];
    w[11] = data[11];
    w[12] = data[12];
    w[13] = data[13];
    w[14] = data[14];
    w[15] = data[15];
    w[16] = ((static_cast<uint32_t>(tag) & 0x3ffu) << 1) | (static_cast<uint32_t>(err) & 0x1u);
  }

  static DmaRsp from_words(const uint32_t* w) {
    DmaRsp r;
    r.tag = static_cast<uint16_t>(((w[16] >> 1) & 0x3ffu));
    r.err = static_cast<uint8_t>((w[16] & 0x1u));
    r.data[0] = w[0];
    r.data[1] = w[1];
    r.data[2] = w[2];
    r.data[3] = w[3];
    r.data[4] = w[4];
    r.data[5] = w[5];
    r.data[6] = w[6];
    r.data[7] = w[7];
    r.data[8] = w[8];
    r.data[9] = w[9];
    r.data[10] = w[10];
    r.data[11] = w[11];
    r.data[12] = w[12];
    r.data[13] = w[13];
    r.data[14] = w[14];
    r.data[15] = w[15];
    return r;
  }

  bool operator==(const DmaRsp& o) const {
    return tag == o.tag &&
           err == o.err &&
           data == o.data;
  }
  bool operator!=(const DmaRsp& o) const { return !(*this == o); }
};

// register access, host_if to nic_core; offset inside the NIC's register block
struct CsrReq {
  uint8_t write = 0;  // 1 bit: 1: write
  uint16_t addr = 0;  // 16 bits: byte offset, multiple of 4
  uint32_t wdata = 0;  // 32 bits: data

  static constexpr size_t kBits = 49;
  static constexpr size_t kWords = 2;
  static constexpr size_t kWriteLsb = 48;
  static constexpr size_t kWriteBits = 1;
  static constexpr size_t kAddrLsb = 32;
  static constexpr size_t kAddrBits = 16;
  static constexpr size_t kWdataLsb = 0;
  static constexpr size_t kWdataBits = 32;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = static_cast<uint32_t>(wdata);
    w[1] = ((static_cast<uint32_t>(write) & 0x1u) << 16) | (static_cast<uint32_t>(addr) & 0xffffu);
  }

  static CsrReq from_words(const uint32_t* w) {
    CsrReq r;
    r.write = static_cast<uint8_t>(((w[1] >> 16) & 0x1u));
    r.addr = static_cast<uint16_t>((w[1] & 0xffffu));
    r.wdata = static_cast<uint32_t>(w[0]);
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static CsrReq from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const CsrReq& o) const {
    return write == o.write &&
           addr == o.addr &&
           wdata == o.wdata;
  }
  bool operator!=(const CsrReq& o) const { return !(*this == o); }
};

// answer to every csr_req, in order
struct CsrRsp {
  uint8_t err = 0;  // 1 bit: no such register, or read-only
  uint32_t rdata = 0;  // 32 bits: data, 0 for writes

  static constexpr size_t kBits = 33;
  static constexpr size_t kWords = 2;
  static constexpr size_t kErrLsb = 32;
  static constexpr size_t kErrBits = 1;
  static constexpr size_t kRdataLsb = 0;
  static constexpr size_t kRdataBits = 32;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = static_cast<uint32_t>(rdata);
    w[1] = (static_cast<uint32_t>(err) & 0x1u);
  }

  static CsrRsp from_words(const uint32_t* w) {
    CsrRsp r;
    r.err = static_cast<uint8_t>((w[1] & 0x1u));
    r.rdata = static_cast<uint32_t>(w[0]);
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static CsrRsp from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const CsrRsp& o) const {
    return err == o.err &&
           rdata == o.rdata;
  }
  bool operator!=(const CsrRsp& o) const { return !(*this == o); }
};

// doorbell, host_if to nic_core
struct Doorbell {
  // 2 bits: 0 send ring tail, 1 receives posted (total, modulo 2^16; a QP with a receive ring: its
  // tail), 2 CQ consumer index (modulo 2^16), 3 counter: value is added to its success
  uint8_t kind = 0;
  uint16_t index = 0;  // 16 bits: QPN, CQN or counter
  uint16_t value = 0;  // 16 bits: new free-running index

  static constexpr size_t kBits = 34;
  static constexpr size_t kWords = 2;
  static constexpr size_t kKindLsb = 32;
  static constexpr size_t kKindBits = 2;
  static constexpr size_t kIndexLsb = 16;
  static constexpr size_t kIndexBits = 16;
  static constexpr size_t kValueLsb = 0;
  static constexpr size_t kValueBits = 16;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] =
        ((static_cast<uint32_t>(index) & 0xffffu) << 16) |
        (static_cast<uint32_t>(value) & 0xffffu);
    w[1] = (static_cast<uint32_t>(kind) & 0x3u);
  }

  static Doorbell from_words(const uint32_t* w) {
    Doorbell r;
    r.kind = static_cast<uint8_t>((w[1] & 0x3u));
    r.index = static_cast<uint16_t>(((w[0] >> 16) & 0xffffu));
    r.value = static_cast<uint16_t>((w[0] & 0xffffu));
    return r;
  }

  uint64_t to_u64() const {
    uint32_t w[2] = {0, 0};
    to_words(w);
    return (static_cast<uint64_t>(w[1]) << 32) | w[0];
  }

  static Doorbell from_u64(uint64_t v) {
    const uint32_t w[2] = {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
    return from_words(w);
  }

  bool operator==(const Doorbell& o) const {
    return kind == o.kind &&
           index == o.index &&
           value == o.value;
  }
  bool operator!=(const Doorbell& o) const { return !(*this == o); }
};

// entry written by the host, host_if to nic_core
struct Push {
  uint16_t index = 0;  // 16 bits: QPN
  std::array<uint32_t, 16> data{};  // 512 bits: the entry, byte 0 in bits 7:0

  static constexpr size_t kBits = 528;
  static constexpr size_t kWords = 17;
  static constexpr size_t kIndexLsb = 512;
  static constexpr size_t kIndexBits = 16;
  static constexpr size_t kDataLsb = 0;
  static constexpr size_t kDataBits = 512;

  // 32-bit words of the packed port, least significant first.
  void to_words(uint32_t* w) const {
    w[0] = data[0];
    w[1] = data[1];
    w[2] = data[2];
    w[3] = data[3];
    w[4] = data[4];
    w[5] = data[5];
    w[6] = data[6];
    w[7] = data[7];
    w[8] = data[8];
    w[9] = data[9];
    w[10] = data[10];
    w[11] = data[11];
    w[12] = data[12];
    w[13] = data[13];
    w[14] = data[14];
    w[15] = data[15];
    w[16] = (static_cast<uint32_t>(index) & 0xffffu);
  }

  static Push from_words(const uint32_t* w) {
    Push r;
    r.index = static_cast<uint16_t>((w[16] & 0xffffu));
    r.data[0] = w[0];
    r.data[1] = w[1];
    r.data[2] = w[2];
    r.data[3] = w[3];
    r.data[4] = w[4];
    r.data[5] = w[5];
    r.data[6] = w[6];
    r.data[7] = w[7];
    r.data[8] = w[8];
    r.data[9] = w[9];
    r.data[10] = w[10];
    r.data[11] = w[11];
    r.data[12] = w[12];
    r.data[13] = w[13];
    r.data[14] = w[14];
    r.data[15] = w[15];
    return r;
  }

  bool operator==(const Push& o) const {
    return index == o.index &&
           data == o.data;
  }
  bool operator!=(const Push& o) const { return !(*this == o); }
};

namespace reg {

// nic: BAR0, base 0x1000
// NIC registers
inline constexpr uint32_t kNicVersion = 0x00001000u;  // ro: major << 16 | minor
inline constexpr uint32_t kNicVersionReset = 0x00010000u;
inline constexpr uint32_t kNicCaps = 0x00001004u;  // ro: capabilities
inline constexpr uint32_t kNicCapsPlanesLsb = 0u;  // port engines
inline constexpr uint32_t kNicCapsPlanesBits = 8u;
inline constexpr uint32_t kNicCapsPlanesMask = 0x000000ffu;
inline constexpr uint32_t kNicCapsQpLog2Lsb = 8u;  // log2 of QPs
inline constexpr uint32_t kNicCapsQpLog2Bits = 8u;
inline constexpr uint32_t kNicCapsQpLog2Mask = 0x0000ff00u;
inline constexpr uint32_t kNicCapsCqLog2Lsb = 16u;  // log2 of CQs
inline constexpr uint32_t kNicCapsCqLog2Bits = 8u;
inline constexpr uint32_t kNicCapsCqLog2Mask = 0x00ff0000u;
inline constexpr uint32_t kNicCapsMrLog2Lsb = 24u;  // log2 of MRs
inline constexpr uint32_t kNicCapsMrLog2Bits = 8u;
inline constexpr uint32_t kNicCapsMrLog2Mask = 0xff000000u;
inline constexpr uint32_t kNicCtrl = 0x00001008u;  // rw: control
inline constexpr uint32_t kNicCtrlReset = 0x00000000u;
// 0: send rings are not read and request packets are dropped as bad_qp
inline constexpr uint32_t kNicCtrlEnableLsb = 0u;
inline constexpr uint32_t kNicCtrlEnableBits = 1u;
inline constexpr uint32_t kNicCtrlEnableMask = 0x00000001u;
// rw: cycles without acknowledgement progress before packets are sent again
inline constexpr uint32_t kNicTimeout = 0x0000100cu;
inline constexpr uint32_t kNicTimeoutReset = 0x00004000u;
inline constexpr uint32_t kNicObjCmd = 0x00001010u;  // wo: writing runs a command
inline constexpr uint32_t kNicObjCmdOpLsb = 0u;  // obj_op
inline constexpr uint32_t kNicObjCmdOpBits = 8u;
inline constexpr uint32_t kNicObjCmdOpMask = 0x000000ffu;
inline constexpr uint32_t kNicObjCmdIndexLsb = 16u;  // object
inline constexpr uint32_t kNicObjCmdIndexBits = 16u;
inline constexpr uint32_t kNicObjCmdIndexMask = 0xffff0000u;
inline constexpr uint32_t kNicObjResult = 0x00001014u;  // ro: obj_result of the last command
// rw: cycles before a request is sent again to a receiver that was not ready
inline constexpr uint32_t kNicRnrTimer = 0x00001018u;
inline constexpr uint32_t kNicRnrTimerReset = 0x00002000u;
// rw: packets by which planes may differ before those of a silent plane count as lost
inline constexpr uint32_t kNicReorder = 0x0000101cu;
inline constexpr uint32_t kNicReorderReset = 0x000000c0u;
inline constexpr uint32_t kNicReorderPacketsLsb = 0u;  // packets
inline constexpr uint32_t kNicReorderPacketsBits = 10u;
inline constexpr uint32_t kNicReorderPacketsMask = 0x000003ffu;
// rw: planes on which everything was lost; writing sets or clears
inline constexpr uint32_t kNicPlanesDown = 0x00001020u;
inline constexpr uint32_t kNicPlanesDownReset = 0x00000000u;
inline constexpr uint32_t kNicPlanesDownMaskLsb = 0u;  // mask of planes
inline constexpr uint32_t kNicPlanesDownMaskBits = 8u;
inline constexpr uint32_t kNicPlanesDownMaskMask = 0x000000ffu;
// rw: cycles after which a plane that is down is tried again
inline constexpr uint32_t kNicPlaneProbe = 0x00001024u;
inline constexpr uint32_t kNicPlaneProbeReset = 0x000bebc2u;
// rw: growth of a congestion window in a round trip without marks, in 1/64 packets
inline constexpr uint32_t kNicCcStep = 0x00001028u;
inline constexpr uint32_t kNicCcStepReset = 0x00000040u;
inline constexpr uint32_t kNicCcStepStepLsb = 0u;  // 1/64 packets
inline constexpr uint32_t kNicCcStepStepBits = 8u;
inline constexpr uint32_t kNicCcStepStepMask = 0x000000ffu;
// rw: pacing of VC req: time of a byte in 1/65536 cycles, 0: none
inline constexpr uint32_t kNicPaceReq = 0x0000102cu;
inline constexpr uint32_t kNicPaceReqReset = 0x00000000u;
inline constexpr uint32_t kNicPaceReqCostLsb = 0u;  // 1/65536 cycles
inline constexpr uint32_t kNicPaceReqCostBits = 16u;
inline constexpr uint32_t kNicPaceReqCostMask = 0x0000ffffu;
inline constexpr uint32_t kNicPaceBulk = 0x00001030u;  // rw: pacing of VC bulk
inline constexpr uint32_t kNicPaceBulkReset = 0x00000000u;
inline constexpr uint32_t kNicPaceBulkCostLsb = 0u;  // 1/65536 cycles
inline constexpr uint32_t kNicPaceBulkCostBits = 16u;
inline constexpr uint32_t kNicPaceBulkCostMask = 0x0000ffffu;
inline constexpr uint32_t kNicObjData = 0x00001040u;  // rw: context words, little-endian
inline constexpr uint32_t kNicObjDataStride = 4u;
inline constexpr uint32_t kNicObjDataCount = 16u;
// ro: errors logged since reset (log entries beyond 16 unread ones are counted here, not stored)
inline constexpr uint32_t kNicErrCount = 0x00001080u;
inline constexpr uint32_t kNicErrPop = 0x00001084u;  // wo: writing removes the oldest log entry
inline constexpr uint32_t kNicErrInfo = 0x00001088u;  // ro: oldest log entry, 0 when empty
inline constexpr uint32_t kNicErrInfoCauseLsb = 0u;  // err_cause
inline constexpr uint32_t kNicErrInfoCauseBits = 8u;
inline constexpr uint32_t kNicErrInfoCauseMask = 0x000000ffu;
inline constexpr uint32_t kNicErrInfoPlaneLsb = 8u;  // plane
inline constexpr uint32_t kNicErrInfoPlaneBits = 8u;
inline constexpr uint32_t kNicErrInfoPlaneMask = 0x0000ff00u;
inline constexpr uint32_t kNicErrInfoQpnLsb = 16u;  // own QPN
inline constexpr uint32_t kNicErrInfoQpnBits = 16u;
inline constexpr uint32_t kNicErrInfoQpnMask = 0xffff0000u;
inline constexpr uint32_t kNicErrPsn = 0x0000108cu;  // ro: PSN of the oldest log entry
inline constexpr uint32_t kNicErrPsnPsnLsb = 0u;  // PSN
inline constexpr uint32_t kNicErrPsnPsnBits = 24u;
inline constexpr uint32_t kNicErrPsnPsnMask = 0x00ffffffu;
// ro: request packets handed to each plane
inline constexpr uint32_t kNicCntTxPackets = 0x00001100u;
inline constexpr uint32_t kNicCntTxPacketsStride = 4u;
inline constexpr uint32_t kNicCntTxPacketsCount = 8u;
// ro: acknowledgements and READ responses handed to each plane
inline constexpr uint32_t kNicCntTxAcks = 0x00001120u;
inline constexpr uint32_t kNicCntTxAcksStride = 4u;
inline constexpr uint32_t kNicCntTxAcksCount = 8u;
// ro: good request frames received from each plane
inline constexpr uint32_t kNicCntRxPackets = 0x00001140u;
inline constexpr uint32_t kNicCntRxPacketsStride = 4u;
inline constexpr uint32_t kNicCntRxPacketsCount = 8u;
// ro: good acknowledgements and READ responses received
inline constexpr uint32_t kNicCntRxAcks = 0x00001160u;
inline constexpr uint32_t kNicCntRxAcksStride = 4u;
inline constexpr uint32_t kNicCntRxAcksCount = 8u;
inline constexpr uint32_t kNicCntRxBad = 0x00001180u;  // ro: frames received with an error
inline constexpr uint32_t kNicCntRxBadStride = 4u;
inline constexpr uint32_t kNicCntRxBadCount = 8u;
inline constexpr uint32_t kNicCntRxCe = 0x000011a0u;  // ro: frames received with CE
inline constexpr uint32_t kNicCntRxCeStride = 4u;
inline constexpr uint32_t kNicCntRxCeCount = 8u;
// ro: packets sent on the plane that count as lost (but for time-outs)
inline constexpr uint32_t kNicCntLost = 0x000011c0u;
inline constexpr uint32_t kNicCntLostStride = 4u;
inline constexpr uint32_t kNicCntLostCount = 8u;
// ro: payload bytes sent per plane, low word
inline constexpr uint32_t kNicCntTxBytes = 0x00001200u;
inline constexpr uint32_t kNicCntTxBytesStride = 8u;
inline constexpr uint32_t kNicCntTxBytesCount = 8u;
inline constexpr uint32_t kNicCntTxBytesHi = 0x00001204u;  // ro: high word
inline constexpr uint32_t kNicCntTxBytesHiStride = 8u;
inline constexpr uint32_t kNicCntTxBytesHiCount = 8u;
inline constexpr uint32_t kNicCntCqes = 0x00001240u;  // ro: completions written
inline constexpr uint32_t kNicCntWqes = 0x00001244u;  // ro: work requests fetched from send rings
inline constexpr uint32_t kNicCntRetransmits = 0x00001248u;  // ro: packets sent again
inline constexpr uint32_t kNicCntTimeouts = 0x0000124cu;  // ro: time-outs of QPs
inline constexpr uint32_t kNicCntDuplicates = 0x00001250u;  // ro: packets received again
// ro: packets dropped because they could not be accepted before their turn
inline constexpr uint32_t kNicCntDeferred = 0x00001254u;
inline constexpr uint32_t kNicCntRnrSent = 0x00001258u;  // ro: RNR answers sent
inline constexpr uint32_t kNicCntRnrReceived = 0x0000125cu;  // ro: RNR answers received
inline constexpr uint32_t kNicCntBumps = 0x00001260u;  // ro: counts in counters, of all kinds
inline constexpr uint32_t kNicCntWaits = 0x00001264u;  // ro: entries wait that completed ok
inline constexpr uint32_t kNicCntAtomics = 0x00001268u;  // ro: atomics executed as responder
inline constexpr uint32_t kNicCntPushes = 0x0000126cu;  // ro: entries taken from a push

}  // namespace reg

}  // namespace ubl::spec
